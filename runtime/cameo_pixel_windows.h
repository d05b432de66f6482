/* Convolutions of each channel by its own window (depthwise) whose x lies in pixels (see
 * cameo_pixel_conv.h) of bfloat16. Lanes are channels, so a weight is a vector, and neighbours in a
 * row of the output share the pixels that their windows share. The functions that are printed for a
 * width of window (codegen/cpu/pixel_windows.c) do it for CAMEO_PIXEL_WINDOWS of them, or for one.
 * Sums are float32, in the order of the window; where vectors multiply words, of two lines at once.
 */
#ifndef CAMEO_PIXEL_WINDOWS_H
#define CAMEO_PIXEL_WINDOWS_H

#include "cameo_pixel_bands.h"
#include "cameo_pixel_conv.h"

#if defined(CAMEO_PIXEL_SILU) && defined(__AVX512BW__)
#define CAMEO_PIXEL_WINDOW_ENDS 1 /* the functions take ends */
#endif

enum {
    CAMEO_PIXEL_WINDOWS = 7,       /* neighbours at a time */
    CAMEO_PIXEL_WINDOW_LANES = 32, /* of a pixel */
    CAMEO_PIXEL_WINDOW_PLACES = 32 /* of which sums are kept */
};

typedef struct cameo_pixel_windows {
    int64_t blocks, lines, across; /* of x with its border: pixels of a line */
    int64_t rows, row;             /* of the output */
    int64_t taps[2], stride[2];
    int64_t dilation, origin; /* of rows; pixels before the first window */
    int pairs;                /* weights of two lines are words */
} cameo_pixel_windows;

/* `many` for CAMEO_PIXEL_WINDOWS neighbours, `one` for each by itself. */
typedef struct cameo_pixel_window_tiles {
    cameo_pixel_window_tile *many, *one;
} cameo_pixel_window_tiles;

/* A unit is a row of a block of channels (cameo_pixel_band). */
static inline __attribute__((unused)) int64_t
cameo_pixel_windows_units(const cameo_pixel_windows *h)
{
    return h->blocks * h->rows;
}

/* Where the places behind `low` end whose sums are kept together. */
static inline __attribute__((unused)) int64_t cameo_pixel_windows_next(const cameo_pixel_windows *h,
                                                                       int64_t low)
{
    const int64_t parts = (h->row + CAMEO_PIXEL_WINDOW_PLACES - 1) / CAMEO_PIXEL_WINDOW_PLACES;
    const int64_t high = low + (h->row + parts - 1) / parts;
    return high < h->row ? high : h->row;
}

/* The sums of places low .. high of a row, or with ends the pixels, which begin at `to`. What is
 * left of a row takes places before once more. */
static __attribute__((noinline, unused)) void
cameo_pixel_windows_sums(const cameo_pixel_windows *h, const cameo_pixel_window_tiles *tiles,
                         const void *x, const float *w, int64_t block, int64_t row, int64_t low,
                         int64_t high, float *sums, char *to, const cameo_pixel_window_ends *ends)
{
    const int64_t n = high - low, step = h->stride[1] * CAMEO_PIXEL;
    const int64_t line = h->dilation * h->across * CAMEO_PIXEL;
    const int64_t first = (block * h->lines + row * h->stride[0]) * h->across + h->origin;
    const char *from = (const char *)x + first * CAMEO_PIXEL + low * step;
    const int64_t lines = h->pairs ? (h->taps[0] + 1) / 2 : h->taps[0];
    w += block * lines * h->taps[1] * CAMEO_PIXEL_WINDOW_LANES;
    if (n < CAMEO_PIXEL_WINDOWS) {
        for (int64_t i = 0; i < n; i++)
            tiles->one(h->taps[0], line, from + i * step, w, sums + i * CAMEO_PIXEL_WINDOW_LANES,
                       to + i * CAMEO_PIXEL, ends);
        return;
    }
    for (int64_t i = 0; i < n; i += CAMEO_PIXEL_WINDOWS) {
        const int64_t at = i + CAMEO_PIXEL_WINDOWS <= n ? i : n - CAMEO_PIXEL_WINDOWS;
        tiles->many(h->taps[0], line, from + at * step, w, sums + at * CAMEO_PIXEL_WINDOW_LANES,
                    to + at * CAMEO_PIXEL, ends);
    }
}

#endif
