/* Convolutions of each channel by its own window (depthwise) whose x lies in pixels of bytes (see
 * cameo_pixel_windows.h). Four lines of the window at a time: the bytes of a channel in four
 * pixels, one below the other, become one word, which one instruction multiplies by four weights
 * and adds up. So words lie as the interleaving of bytes leaves them: of each 16 channels, four in
 * each of four vectors; weights and constants of a channel lie so too, and packing undoes it. The
 * functions that are printed for a window (codegen/cpu/pixel_byte_windows.c) do it for several
 * neighbours.
 *
 * w: for 64 channels the word that sums begin with, and for four lines, each column and each of
 * four vectors 16 words; lines that the window does not have are 0. Of groups of several channels
 * (codegen/cpu/pixel_byte_groups.c) a word is four of these, and there is one for each line. */
#ifndef CAMEO_PIXEL_BYTE_WINDOWS_H
#define CAMEO_PIXEL_BYTE_WINDOWS_H

#include "cameo_pixel_bands.h"
#include "cameo_pixel_bytes.h"

enum {
    CAMEO_PIXEL_BYTE_WINDOWS = 4, /* neighbours at a time */
    CAMEO_PIXEL_BYTE_PLACES = 32, /* of which sums are kept */
    CAMEO_PIXEL_BYTE_SIZE = 64, /* of a pixel, and of a vector */
    CAMEO_PIXEL_BYTE_WORDS = 4 * CAMEO_PIXEL_BYTE_SIZE
};

/* Sums of neighbouring windows of `lines` lines, `line` bytes apart: to `sums`, in the order of
 * channels, or by e to pixels. */
typedef void cameo_pixel_byte_tile(int64_t lines, int64_t line, const char *x, const char *w,
                                   int32_t *sums, unsigned char *to,
                                   const cameo_pixel_byte_ends *e);

/* A convolution: blocks of 64 channels, and 64s of words that the weights of one are; lines and
 * pixels of a line of x with its border; rows of the output, places of each; origin: pixels before
 * the first window. */
typedef struct cameo_pixel_byte_windows {
    int64_t blocks, words, lines, across, rows, row;
    int64_t taps[2], stride[2], dilation, origin;
} cameo_pixel_byte_windows;

/* `many` for CAMEO_PIXEL_BYTE_WINDOWS neighbours, `one` for each by itself; [1]: of the last block,
 * which may have half of the channels. */
typedef struct cameo_pixel_byte_tiles {
    cameo_pixel_byte_tile *many[2], *one[2];
} cameo_pixel_byte_tiles;

/* A unit is a row of a block of channels (cameo_pixel_band). */
static inline __attribute__((unused)) int64_t
cameo_pixel_byte_units(const cameo_pixel_byte_windows *h)
{
    return h->blocks * h->rows;
}

/* Places low .. high of a row, whose pixels begin at `to` or whose sums do at `sums`, if there are
 * no ends. What is left of a row takes places before once more. */
static __attribute__((noinline, unused)) void
cameo_pixel_byte_row(const cameo_pixel_byte_windows *h, const cameo_pixel_byte_tiles *tiles,
                     const void *x, const void *w, int64_t block, int64_t row, int64_t low,
                     int64_t high, int32_t *sums, void *to, const cameo_pixel_byte_ends *e)
{
    enum { SIZE = CAMEO_PIXEL_BYTE_SIZE, WORDS = CAMEO_PIXEL_BYTE_WORDS };
    const int64_t n = high - low, step = h->stride[1] * SIZE, line = h->dilation * h->across * SIZE;
    const int64_t first = (block * h->lines + row * h->stride[0]) * h->across + h->origin;
    const char *from = (const char *)x + first * SIZE + low * step;
    const char *weights = (const char *)w + block * h->words * WORDS;
    const int64_t some = n < CAMEO_PIXEL_BYTE_WINDOWS ? 1 : CAMEO_PIXEL_BYTE_WINDOWS;
    cameo_pixel_byte_tile *tile = (some == 1 ? tiles->one : tiles->many)[block == h->blocks - 1];
    for (int64_t i = 0; i < n; i += some) {
        const int64_t at = i + some <= n ? i : n - some;
        tile(h->taps[0], line, from + at * step, weights, sums + at * SIZE,
             (unsigned char *)to + at * SIZE, e);
    }
}

#endif
