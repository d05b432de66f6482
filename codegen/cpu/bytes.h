// Sums of products of bytes inside kernels: what quantised operators are made of.
//
// A factor is cast(load) or cast(load) - zero point, in int32. One (w) is constant, or both are
// computed; the other is x. Both are brought into the form that one instruction takes, x without a
// sign and w signed: 128 more or less, in the element and in its zero point. Then, with x and w as
// they are read,
//
//     sum (x - zx) * (w - zw)  =  sum x * w  -  zx * sum (w - zw)  -  zw * sum x
//
// where the sums over constants w are known when compiling, and sum x is needed only where zw is
// not 0. All of it is arithmetic modulo 2^32, as the loops' own.
#ifndef CAMEO_CODEGEN_CPU_BYTES_H
#define CAMEO_CODEGEN_CPU_BYTES_H

#include "codegen/cpu/block.h"

typedef struct ByteFactor {
    const Expr *load, *zero; // zero: in int32; NULL: none
} ByteFactor;

// How a convolution by square tiles (byte_squares.h) cuts k.
typedef struct ByteSquares {
    int64_t depth, tiles; // words of k in a tile, tiles along k; depth 0: it goes by vectors
    bool gathered;        // places of the window are one row of words; else each has its own tiles
} ByteSquares;

typedef struct Bytes {
    ByteFactor x, w;
    bool flip;               // x has a sign: read with 0x80
    BufferId packed, totals; // w in panels; for each column (row of a convolution) sum (w - zw)
    bool computed;           // of a product: they are made when it runs, and totals are sum w
    BufferId near;           // of a product: where near tiles may be wrong (cameo_near.h); 0: they
                             // are not for it
    BufferId rows, sums, row_sum; // of a block: x in panels, the sums, sum x; row_sum may be 0
    Index channels;               // how many a convolution sums over
    ByteSquares squares;
    Index beside;          // of a convolution: words of `sums` before sums of x; NULL: of no use
    int64_t ones;          // and bytes of `packed` before the row of ones that makes them
    Index behind;          // of a convolution: words of `sums` before other scratch, in which
    int64_t places, width; // places begin; columns of a block
    Index depth;           // values of k
    LoopId m0, n0;         // where the block begins
    const Expr *value;     // the sum, read from `sums`
} Bytes;

// Is e such a factor?
bool byte_factor(const Expr *e, ByteFactor *f);
// The product inside `reduce`, told apart by which factor is constant, in order where none is;
// NULL: it is none, or both are.
Bytes *bytes_of(Module *mod, const Expr *reduce);
// Is what is loaded a constant?
bool bytes_known(Module *mod, const Expr *load);
// The constant e at v = 0 .. n - 1, other variables 0; false: it is none, or depends on others.
bool bytes_constant(Printer *p, const Expr *e, LoopId v, int64_t n, int64_t *to);
// The same of e that is read at `at` of its n elements: all of them.
bool bytes_listed(Printer *p, const Expr *e, Index at, int64_t n, int64_t *to);
// Is e this number, or read from a constant of which every element is?
bool bytes_all_are(Printer *p, const Expr *e, int64_t number);
// x's zero point as it is read.
const Expr *bytes_zero(Module *mod, const Bytes *b);
// The element of w that goes into a panel.
static inline int8_t bytes_weight(const Bytes *b, const void *elements, int64_t at)
{
    const uint8_t flip = b->w.load->dtype == DT_I8 ? 0 : 0x80;
    return (int8_t)(((const uint8_t *)elements)[at] ^ flip);
}
// A constant buffer of these elements, or one of the memory plan.
BufferId bytes_buffer(Module *mod, DType t, int64_t n, const void *elements);
// The first without a copy: of elements that the module's arena lent (arena_lend).
BufferId bytes_keep(Module *mod, DType t, int64_t n, void *lent);
// Of elements that lie in the module's arena.
BufferId bytes_around(Module *mod, DType t, int64_t n, const void *elements);
BufferId bytes_scratch(Module *mod, DType t, Index n);

// What a kernel with it reads and writes.
void bytes_uses(Module *mod, const Bytes *b, const Stmt *epilogue, KernelUses *u);
// "b7" of a buffer, noted as used.
const char *bytes_name(Printer *p, BufferId b);

#endif
