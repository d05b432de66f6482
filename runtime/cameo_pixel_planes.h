/* What became of the sums of a convolution of pixels, to planes of float32 or int32: places lie
 * behind one another there, and channels apart. */
#ifndef CAMEO_PIXEL_PLANES_H
#define CAMEO_PIXEL_PLANES_H

#include "cameo_transpose.h"

/* y[k * apart + i] = from[i * columns + k] for i below n and k below channels, of 4 bytes each. */
static __attribute__((noinline, unused)) void cameo_pixel_planes(void *restrict y, int64_t apart,
                                                                 const void *restrict from,
                                                                 int64_t columns, int64_t channels,
                                                                 int64_t n)
{
    enum { SIDE = 4, BYTES = 4 };
    char *to = y;
    const char *x = from;
    int64_t done = 0;
#ifdef CAMEO_TRANSPOSE_VECTORS
    done = n < SIDE ? 0 : channels / SIDE * SIDE;
    for (int64_t i = 0; done && i < n; i += SIDE) {
        const int64_t at = i < n - SIDE ? i : n - SIDE; /* the last ones end where the piece does */
        for (int64_t k = 0; k < done; k += SIDE)
            cameo_transpose_16(to + BYTES * (k * apart + at), BYTES * apart,
                               x + BYTES * (at * columns + k), BYTES * columns, SIDE);
    }
#endif
    for (int64_t k = done; k < channels; k++)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + BYTES * (k * apart + i), x + BYTES * (i * columns + k), BYTES);
}

#endif
