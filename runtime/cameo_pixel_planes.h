/* What became of the sums of a convolution of pixels, to planes of float32: places lie behind one
 * another there, and channels apart. */
#ifndef CAMEO_PIXEL_PLANES_H
#define CAMEO_PIXEL_PLANES_H

#include "cameo_transpose.h"

/* y[k * apart + i] = from[i * columns + k] for i below n and k below channels. */
static __attribute__((noinline, unused)) void cameo_pixel_planes(float *restrict y, int64_t apart,
                                                                 const float *restrict from,
                                                                 int64_t columns, int64_t channels,
                                                                 int64_t n)
{
    int64_t done = 0;
#ifdef CAMEO_TRANSPOSE_VECTORS
    enum { SIDE = 4, BYTES = sizeof(float) };
    done = n < SIDE ? 0 : channels / SIDE * SIDE;
    for (int64_t i = 0; done && i < n; i += SIDE) {
        const int64_t at = i < n - SIDE ? i : n - SIDE; /* the last ones end where the piece does */
        for (int64_t k = 0; k < done; k += SIDE)
            cameo_transpose_16((char *)(y + k * apart + at), BYTES * apart,
                               (const char *)(from + at * columns + k), BYTES * columns, SIDE);
    }
#endif
    for (int64_t k = done; k < channels; k++)
        for (int64_t i = 0; i < n; i++)
            y[k * apart + i] = from[i * columns + k];
}

#endif
