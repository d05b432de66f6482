// Products of float64 (runtime/cameo_wide.h), whose factors may lie in memory as float32.
#ifndef CAMEO_CODEGEN_CPU_WIDE_H
#define CAMEO_CODEGEN_CPU_WIDE_H

#include "codegen/cpu/gemm.h"

// Kernels that do nothing but widen a weight or a value of float32: what reads their result may
// read that itself.
typedef struct Widened {
    Arena *arena;
    uint32_t nbuffers; // when it was made
    const Kernel **by; // by BufferId: the only kernel that writes it, NULL: none such
    const Expr **from; // of those: the load that it widens
} Widened;

Widened *widened_find(Module *mod, Arena *scratch);
// The load of the narrow element instead of this one's; the load itself where there is none.
const Expr *widened_source(const Widened *w, Module *mod, const Expr *load);
// Kernels without an override widen such elements where they read them. Was there any?
bool widened_read(const Widened *w, Module *mod, Step *s);

// Products of float64 read the constant matrices that products of float32 read packed from there.
void wide_share_panels(Module *mod);

// The product of an Override, or of a convolution, as a call: rows m0 .. m1 and columns n0 .. n1,
// which are text, of it. The product's own variables must count as 0.
void wide_print_product(Printer *p, const Override *o, const char *part);
// Is the convolution a plane by its own window that plain loops do no slower?
bool wide_leaves(Module *mod, const Conv *c);
// Is x of float32, has y rows or places enough, as far as they are known, and has a window
// neighbours in some dim? Then tiles of a line may compute it.
bool wide_has_lines(Module *mod, const Conv *c);
// Is what surrounds c's sum a number of each row that is added to it? Then c has it.
bool wide_find_bias(Printer *p, Conv *c);
void wide_print_conv(Printer *p, const Kernel *k, const Conv *c);
// What of a convolution is computed: rows m0 .. m1 and columns n0 .. n1, which are text, and where
// y lies that begins with column 0, and a row of it behind another; NULL: where it is stored.
typedef struct WidePart {
    const char *m0, *m1, *n0, *n1, *y, *row;
} WidePart;
// A part of the convolution, around which there are no loops that are left to print.
void wide_print_part(Printer *p, const Kernel *k, const Conv *c, const WidePart *part);
// Work of a convolution, in tenths of a nanosecond.
Index wide_work(Printer *p, const Conv *c);
// What a product reads where its loops would have read what was widened.
void wide_uses(Module *mod, const Expr *reduce, const Expr *a, const Expr *b, const Stmt *epilogue,
               KernelUses *u);
// Does any kernel of these steps have such a product?
bool wide_used(const Step *s);

#endif
