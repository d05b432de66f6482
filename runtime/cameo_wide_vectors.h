/* Vectors of float64, and how many of them a tile of cameo_wide.h is. */
#ifndef CAMEO_WIDE_VECTORS_H
#define CAMEO_WIDE_VECTORS_H

#include <stdint.h>
#include <string.h>

/* A tile of so many rows and vectors of lanes is as many sums as registers hold. */
#if defined(__AVX512F__)
enum { CAMEO_WIDE_LANES = 8, CAMEO_WIDE_ROWS = 8, CAMEO_WIDE_VECTORS = 3 };
#elif defined(__AVX__)
enum { CAMEO_WIDE_LANES = 4, CAMEO_WIDE_ROWS = 4, CAMEO_WIDE_VECTORS = 3 };
#elif defined(__aarch64__)
enum { CAMEO_WIDE_LANES = 2, CAMEO_WIDE_ROWS = 8, CAMEO_WIDE_VECTORS = 3 };
#else
enum { CAMEO_WIDE_LANES = 2, CAMEO_WIDE_ROWS = 4, CAMEO_WIDE_VECTORS = 2 };
#endif

enum {
    CAMEO_WIDE_PANEL = CAMEO_WIDE_LANES * CAMEO_WIDE_VECTORS,
    CAMEO_WIDE_K = 128, /* values of k, rows and columns in a block; whole tiles on every target */
    CAMEO_WIDE_M = 64,
    CAMEO_WIDE_N = 192,
    CAMEO_WIDE_TALL = 128 /* rows of a share where columns are few */
};

/* clang takes vectors of 512 bits apart unless it is told. */
#if defined(__clang__) && defined(__AVX512F__)
#define CAMEO_WIDE_WHOLE __attribute__((min_vector_width(512)))
#else
#define CAMEO_WIDE_WHOLE
#endif

typedef double cameo_wide_vec
    __attribute__((vector_size(8 * CAMEO_WIDE_LANES), aligned(8), may_alias));

typedef float cameo_wide_narrow
    __attribute__((vector_size(4 * CAMEO_WIDE_LANES), aligned(4), may_alias));

/* Neighbours of float32. */
static inline __attribute__((always_inline)) cameo_wide_vec cameo_wide_widen(const float *at)
{
    return __builtin_convertvector(*(const cameo_wide_narrow *)at, cameo_wide_vec);
}

/* Neighbours of a factor of float32 or, where that is NULL, of float64. */
static inline __attribute__((always_inline)) cameo_wide_vec cameo_wide_load_of(const float *narrow,
                                                                               const double *wide,
                                                                               int64_t at)
{
    if (narrow)
        return cameo_wide_widen(narrow + at);
    return *(const cameo_wide_vec *)(wide + at);
}

#endif
