// Two products and the Softmax between them, as attention has for each of its heads, as one kernel
// that does them a band of rows at a time: scores stay in a core's cache, and are no buffer of the
// module.
#ifndef CAMEO_CODEGEN_CPU_HEADS_H
#define CAMEO_CODEGEN_CPU_HEADS_H

#include "codegen/cpu/chain.h"
#include "codegen/cpu/gemm.h"

enum { HEADS_BEFORE = 2, HEADS_DIMS = 8 };

// A loop around one of the kernels, and where it stands within those around the last one.
typedef struct HeadsLoop {
    LoopId var;
    Index at;
} HeadsLoop;

// Of the kernel of the last product.
struct Heads {
    Kernel *scores;         // the first product
    const Kernel *parts;    // rows of it, raised and divided by their sum
    BufferId band;          // of a thread: rows of scores, then of parts
    LoopId first, row;      // of the band; of parts
    const Stmt *ends;       // what is done to a row's scores first; NULL: nothing
    const Stmt *rows;       // what is done to a row, in the band
    LoopId group;           // heads that share both other factors: of one row each they are done
    LoopId turn;            // as rows of one product, one turn for each; 0: none
    Index group_a, group_y; // steps of them in the first product's rows and in y
    const Expr *shown;      // what a row raises without the product, where a mask may hide columns;
    LoopId seen;            // columns that a band sees; NULL, 0: there is no mask
    uint32_t n;
    HeadsLoop around[HEADS_BEFORE * HEADS_DIMS]; // of the kernels before
};

// One of the two products as text: rows times columns over `depth`.
typedef struct HeadsProduct {
    const char *rows;
    Index columns, depth;
    const char *a;
    Index am, ak;
    const char *y;
    Index ym;
} HeadsProduct;

// ---- heads_half.c
// The factor b of a product, the one of scores or the other, is read as 16 bits where a kernel
// before `end` in the list does nothing but widen them; that kernel goes.
void heads_read_half(Printer *p, Step **list, const Step *end, Kernel *k, bool scores);
// The call that makes y of the product.
void heads_print_product(Printer *p, const Override *o, bool scores, const HeadsProduct *x);

// ---- heads_masked.c
// Sets h->shown and h->seen where rows have masks of their own.
void heads_find_mask(Module *mod, Heads *h, Index columns);
// Prints how many columns the rows i(first) .. high see: a variable of that number, i(seen).
void heads_print_seen(Printer *p, const Heads *h);
// Loops over columns of a row end with those, until it is off again.
void heads_limit(Printer *p, const Heads *h, bool on);
// ---- heads.c
// Joins such kernels, and takes the steps of the first two from the module.
void heads_find(Module *mod, Printer *p);
// What the kernels before the last one use, and what lies between them no more.
void heads_uses(Module *mod, const Heads *h, KernelUses *u);
void heads_print(Printer *p, const Override *o, Bounds *outer);
// The kernels whose work k does before its own, first to last; returns how many.
uint32_t heads_before(const Kernel *k, const Kernel *before[HEADS_BEFORE]);
// What a kernel before another one stores.
BufferId heads_between(const Kernel *k);

#endif
