// Convolutions of which each reads what the one before it wrote, as one kernel that does them a
// band of rows at a time (runtime/cameo_chain.h): what is between them stays in a core's cache, and
// is no buffer of the module.
#ifndef CAMEO_CODEGEN_CPU_CHAIN_H
#define CAMEO_CODEGEN_CPU_CHAIN_H

#include "codegen/cpu/conv.h"

enum { CHAIN_BEFORE = 2 };

// Of the kernel of the last convolution: the kernels whose work it does before its own.
typedef struct Chain {
    const Kernel *expand;  // a product of any window; NULL: missing
    const Kernel *windows; // planes by their own windows
    BufferId scratch;      // of a thread: panels, a band of what is between them
    int64_t panel;         // elements of it for panels, and what products by terms need beside
    bool terms;            // products are by terms (chain_terms.h)
} Chain;

// Joins such kernels where what surrounds their sums is done in registers and their sizes are
// known, and takes the steps of all but the last one from the module.
void chains_find(Module *mod, Printer *p, const ConvChoice *how);
// What the kernels before the last one use.
void chain_uses(Module *mod, const Conv *c, KernelUses *u);
void chain_print(Printer *p, const Kernel *k, const Conv *c);
// What a step uses, but for those in its body.
KernelUses chain_step_uses(Module *mod, Arena *a, const Step *s);
// Counts the kernels and other steps that read and write each buffer, by BufferId.
void chain_count_uses(Module *mod, Arena *a, const Step *s, uint32_t *reads, uint32_t *writes);
// k is made of the nodes of another kernel too, which come first.
void kernel_prepend_nodes(Module *mod, Kernel *k, const Kernel *before);
// The convolution that a kernel is; NULL: it is none.
const Conv *chain_link(const Kernel *k);
// Is a function that is no clip done to the sums of c, or of those that are done before it?
bool chain_curves(const Conv *c);
// The kernels whose work k does before its own, first to last; returns how many.
uint32_t chain_before(const Kernel *k, const Kernel *before[CHAIN_BEFORE]);

#endif
