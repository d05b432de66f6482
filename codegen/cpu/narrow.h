// Products of float32 by constants of few bits, dequantised where they are multiplied:
//
//     sum over k of a[m,k] * w[k,n]        w[k,n] = (q[k,n] - z[block of k, n]) * s[block of k, n]
//
// q has 2, 4 or 8 bits. A factor that another kernel computes from constants alone is told by the
// form of that kernel's expression; its elements are computed here and packed, and the kernel goes
// where nothing else reads what it made.
#ifndef CAMEO_CODEGEN_CPU_NARROW_H
#define CAMEO_CODEGEN_CPU_NARROW_H

#include "codegen/print_parts.h"

typedef struct Override Override;

enum { NARROW_PAIRS = 32 }; // a step of matrix registers (codegen/cpu/amx.h)

typedef struct Narrow {
    int64_t n, k;
    int64_t block; // values of k that have one scale: a multiple of 16
    bool half;     // float16 instead of bfloat16
    uint32_t bits; // of an element of q
    bool zeros;    // some block has a zero point beside the middle of q
    bool exact;    // (q - z) * s is rounded before it is multiplied
    bool bytes;    // rows may be bytes too (narrow_bytes.h)
    BufferId packed;
} Narrow;

// Packs the factor o->b = w[k * bk + n * bn], n x k of them; NULL: it is no such factor.
Narrow *narrow_pack(Printer *p, const Override *o, bool exact);
// The same of a factor of constants in 16 bits, bfloat16 or float16, none of them infinite or NaN:
// pairs of values of k, up to a multiple of NARROW_PAIRS.
Narrow *narrow_pack_halves(Printer *p, const Override *o, Str *error);

// "cameo_narrow_product(...)" over rows and columns as text; `column`: the first of them, which
// a multiple of a panel's columns precedes; NULL: 0.
void narrow_print(Printer *p, const Override *o, const char *rows, const char *columns,
                  const char *a, const char *column, const char *y);
// The same of rows that lie in o->block (cameo_gemm_pack_all).
void narrow_print_packed(Printer *p, const Override *o, const char *rows, const char *columns,
                         const char *column, const char *y);
// Functions for these kinds: 1 for elements of 2 bits, 2 for 4, 4 for 8, 8 for bfloat16, 16 for
// float16, and those of narrow_bytes.h. After tiles_print.
void narrow_tiles_print(Buf *out, uint32_t kinds);
// Words of a panel for each of its columns.
int64_t narrow_words(const Narrow *w);
// The kinds that the kernels of these steps need.
uint32_t narrow_kinds(const Step *s);

#endif
