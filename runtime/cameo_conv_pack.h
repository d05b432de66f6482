/* Weights of convolutions that the program computes, as the panels that constants are packed in. */
#ifndef CAMEO_CONV_PACK_H
#define CAMEO_CONV_PACK_H

#include "cameo_conv_panels.h"

/* Weights as they lie: rows of a group and from one to the next; groups, and values of k, as places
 * of four dims each, of which the last is the fastest. */
typedef struct cameo_conv_packing {
    int64_t rows, row;
    int64_t groups[4], group[4];
    int64_t k[4], apart[4];
} cameo_conv_packing;

static inline __attribute__((unused)) int64_t cameo_conv_packing_at(const int64_t *n,
                                                                    const int64_t *by, int64_t i)
{
    int64_t at = i % n[3] * by[3];
    for (int d = 3; d > 0 && i > 0; d--) {
        i /= n[d];
        at += i % n[d - 1] * by[d - 1];
    }
    return at;
}

/* Units from .. until: panels of CAMEO_TILE_ROWS rows, of one group after the other. w: where all
 * weights begin; to: where all panels do. */
static __attribute__((noinline, unused)) void cameo_conv_pack_weights(const cameo_conv_packing *g,
                                                                      const float *w, float *to,
                                                                      int64_t from, int64_t until)
{
    const int64_t panels = (g->rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS;
    const int64_t all = g->k[0] * g->k[1] * g->k[2] * g->k[3];
    for (int64_t u = from; u < until; u++) {
        const int64_t group = u / panels, m = u % panels * CAMEO_TILE_ROWS, left = g->rows - m;
        const int64_t rows = left < CAMEO_TILE_ROWS ? left : CAMEO_TILE_ROWS;
        const float *a = w + cameo_conv_packing_at(g->groups, g->group, group) + m * g->row;
        float *block = to + group * panels * CAMEO_TILE_ROWS * all;
        for (int64_t k = 0, n; k < all; k += n) {
            const int64_t k0 = k / CAMEO_CONV_K * CAMEO_CONV_K, run = g->k[3] - k % g->k[3];
            const int64_t depth = all - k0 < CAMEO_CONV_K ? all - k0 : CAMEO_CONV_K;
            n = run < k0 + depth - k ? run : k0 + depth - k;
            cameo_gemm_pack_a(
                rows, n, a + cameo_conv_packing_at(g->k, g->apart, k), g->row, g->apart[3],
                block + k0 * panels * CAMEO_TILE_ROWS + m * depth + (k - k0) * CAMEO_TILE_ROWS);
        }
    }
}

#endif
