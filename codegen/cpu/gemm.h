// Matrix products inside kernels, found by structure, computed by faster code.
#ifndef CAMEO_CODEGEN_CPU_GEMM_H
#define CAMEO_CODEGEN_CPU_GEMM_H

#include "codegen/cpu/bytes.h"
#include "codegen/cpu/conv.h"
#include "codegen/cpu/figures.h"
#include "codegen/cpu/half_product.h"
#include "codegen/cpu/narrow.h"

typedef enum GemmKind {
    GEMM_AUTO,
    GEMM_PACKED,
    GEMM_OPENBLAS,
    GEMM_LOOPS,
    GEMM_CUBLASLT // on a CUDA device: the body stays beside it, without the epilogue
} GemmKind;

typedef struct Heads Heads; // codegen/cpu/heads.h
typedef struct Away Away;   // codegen/cpu/away.h

// y[.., m, n] = f(sum over k of a[.., m, k] * b[.., k, n]): y begins as 0 or as what f adds first,
// a product of matrices adds to it, then the rest of f is applied to y where it stands.
struct Override {
    GemmKind kind;            // PACKED, OPENBLAS or CUBLASLT
    const Conv *conv;         // a convolution, PACKED: nothing else holds; NULL: none
    const Figures *figures;   // values and their figures: nothing else holds; NULL: none
    const Bytes *bytes;       // a product of bytes, PACKED; NULL: of floats
    const Narrow *narrow;     // b has few bits, PACKED; NULL: it has not
    const HalfProduct *half;  // both have 16 bits; NULL: not both
    const Expr *reduce;       // the sum
    const Stmt *store;        // y[..] = f(..)
    const Expr *a, *b;        // its factors, loads: a holds m, b holds n
    LoopId m, n, k;           // m may be 0: one row
    LoopId outer_m, outer_n;  // run on where m and n end, 0: none
    Index rows, columns;      // extents of m with outer_m, and of n with outer_n
    Index am, ak, bk, bn, ym; // strides in elements
    BufferId packed;          // b's weights in panels; 0: b as it is
    bool whole;               // b is all of a constant matrix
    bool split;               // PACKED, of float32: by three terms of bfloat16 (cameo_split.h)
    bool wide;                // PACKED, of float64; a and b may be loads of float32
    BufferId block;           // room for a in panels, where threads share it; 0: none
    Stmt *begin;              // what y is before the product adds to it; NULL: 0
    const Heads *heads;       // what is done before it, row by row; NULL: nothing
    const Away *away;         // a copy of b that it makes (codegen/cpu/away.h); NULL: none
    Stmt *epilogue;           // loops that apply what is left of f to y; NULL: nothing is
};

// Sets Kernel.override where a kernel is such a product and worth it. Packs constant weights.
// false with *error where weights cannot be read.
bool override_module(Module *mod, GemmKind kind, const ConvChoice *how, Str *error);
// Corrects what the loops of an overridden kernel use to what its faster form does.
void override_uses(const Module *mod, const Kernel *k, KernelUses *u);
// A value that may lie where what the kernel stores does (pixel_conv_replaces), which goes to *y;
// 0: there is none.
BufferId override_replaces(Module *mod, const Kernel *k, BufferId *y);
// The column of the product: n, or n with outer_n.
Index override_column(Polys *polys, const Override *o);
// Prints the body of an overridden kernel.
void override_print(Printer *p, const Kernel *k);
// The product's own variables count as 0 in indices, until they are set back.
void override_zero(Printer *p, const Override *o, bool on);
// Is v one of m, n, k, outer_m, outer_n?
bool override_owns(const Override *o, LoopId v);

// ---- what y begins with (codegen/cpu/gemm_begin.c)
// Sets o->begin where f adds something to the sum of float32 before all else. What y holds then
// after the product: the sum, or the sum and that.
const Expr *gemm_find_begin(Module *mod, Override *o);
// y as it is before the product, within the loops around it. Part: the rectangle r of it, which
// the printed text has.
void gemm_print_begin(Printer *p, const Override *o, bool part);
// Does the product itself set y, so that nothing clears it before?
bool gemm_is_first(const Override *o);
// A store of each element of y, or of r, within these loops.
void gemm_print_each(Printer *p, const Override *o, const Stmt *store, bool part);

// ---- parts (codegen/cpu/gemm_parts.c)
// How many rows of a factor loop v is likely to be: the first dim of an input is its batch, and so
// is that of a factor of three dims and more.
int64_t gemm_rows_likely(const Module *mod, BufferId factor, LoopId v);
// A buffer for Override.block, where it may be needed.
BufferId gemm_block(Module *mod, const Override *o);
// Tenths of a nanosecond of the product, with what it reads of b where another kernel wrote that:
// of few rows it takes longer to come than to be multiplied. Are there several of it around?
Index gemm_work(Printer *p, const Override *o);
bool gemm_several(Printer *p, const Bounds *outer);
// Prints a packed product as parts that threads share; false: it is not worth it, and nothing was
// printed. `outer`, `sums`: loops around the product, and of further summed variables.
bool gemm_print_parts(Printer *p, const Override *o, Bounds *outer, Bounds *sums);
// "b3 + 64 * i1": where a factor or y begins once all variables of the product are 0.
const char *gemm_start(Printer *p, BufferId b, const Index *at);
void gemm_print_product(Printer *p, const Override *o);
// The function that multiplies by b as it lies.
const char *gemm_unpacked(const Override *o);
// ---- products of float32 by three terms of bfloat16 each (codegen/cpu/split.c)
// Is it worth it for o on this processor? May constants be taken apart, so many numbers?
bool split_fits(Polys *polys, const Override *o, const Processor *cpu);
bool split_takes(const float *b, int64_t all);
bool splits_any(const Step *s);
// The rms error over the rms of the result, which is not exceeded for factors without order
// (tests/models/split.py): tiles of float32 have twice as much.
#define SPLIT_ERROR 2e-7

#endif
