/* Few planes as pixels of `lanes` neighbouring channels, with a border that holds `around`, for
 * convolutions whose windows are stretches of a line (see codegen/cpu/pixel_few.h). Behind the last
 * line are 64 bytes of 0, which tiles read. */
#ifndef CAMEO_PIXEL_FEW_H
#define CAMEO_PIXEL_FEW_H

#include <stdint.h>
#include <string.h>

#include "cameo_brief.h"
#include "cameo_pixel_conv.h"

typedef struct cameo_pixel_few {
    int64_t size, channels, lanes; /* size: bytes of an element, 1 or 2 */
    int64_t in[2], border;
    int around;
    int wide; /* x is float32, which becomes bfloat16 on the way */
} cameo_pixel_few;

enum { CAMEO_FEW_MOST = 8, CAMEO_FEW_SOME = 64 }; /* channels; pixels that are rounded at once */

/* Four halves, or bytes, as one number, the first the lowest. */
static inline __attribute__((unused)) void cameo_few_halves(const uint16_t *x, int64_t plane,
                                                            int64_t n, uint64_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint64_t)x[i] | (uint64_t)x[plane + i] << 16 | (uint64_t)x[2 * plane + i] << 32;
}

static inline __attribute__((unused)) void cameo_few_bytes(const uint8_t *x, int64_t plane,
                                                           int64_t n, uint32_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint32_t)x[i] | (uint32_t)x[plane + i] << 8 | (uint32_t)x[2 * plane + i] << 16;
}

/* Number q of pixels of three channels that lie one behind another is channel q % 3 of pixel q / 3:
 * what takes it from the vectors of two channels, and then from that and the third one's, of so
 * many lanes each. */
#define CAMEO_FEW_TWO(q, lanes) ((q) % 3 == 1 ? (lanes) + (q) / 3 : (q) / 3)
#define CAMEO_FEW_LAST(q, lanes) ((q) % 3 == 2 ? (lanes) + (q) / 3 : (q) % (lanes))
#define CAMEO_FEW_8(f, q, n)                                                                       \
    f(q, n), f((q) + 1, n), f((q) + 2, n), f((q) + 3, n), f((q) + 4, n), f((q) + 5, n),            \
        f((q) + 6, n), f((q) + 7, n)
#define CAMEO_FEW_32(f, q, n)                                                                      \
    CAMEO_FEW_8(f, q, n), CAMEO_FEW_8(f, (q) + 8, n), CAMEO_FEW_8(f, (q) + 16, n),                 \
        CAMEO_FEW_8(f, (q) + 24, n)
#define CAMEO_FEW_64(f, q, n) CAMEO_FEW_32(f, q, n), CAMEO_FEW_32(f, (q) + 32, n)
#define CAMEO_FEW_WOVEN(v, lanes)                                                                  \
    __builtin_shufflevector(                                                                       \
        __builtin_shufflevector(r, g, CAMEO_FEW_##lanes(CAMEO_FEW_TWO, (v) * (lanes), lanes)), b,  \
        CAMEO_FEW_##lanes(CAMEO_FEW_LAST, (v) * (lanes), lanes))

/* The first of n pixels, as many vectors of each channel as are full: how many these were. */
#define CAMEO_FEW_THREE(name, number, lanes)                                                       \
    static inline __attribute__((unused)) int64_t name(const number *x, int64_t plane, int64_t n,  \
                                                       unsigned char *to)                          \
    {                                                                                              \
        typedef number cameo_few_vector                                                            \
            __attribute__((vector_size(64), aligned(1), may_alias));                               \
        int64_t i = 0;                                                                             \
        for (; i + (lanes) <= n; i += (lanes), x += (lanes)) {                                     \
            cameo_few_vector *y = (cameo_few_vector *)(to + 3 * i * (int64_t)sizeof *x);           \
            const cameo_few_vector r = *(const cameo_few_vector *)x;                               \
            const cameo_few_vector g = *(const cameo_few_vector *)(x + plane);                     \
            const cameo_few_vector b = *(const cameo_few_vector *)(x + 2 * plane);                 \
            y[0] = CAMEO_FEW_WOVEN(0, lanes);                                                      \
            y[1] = CAMEO_FEW_WOVEN(1, lanes);                                                      \
            y[2] = CAMEO_FEW_WOVEN(2, lanes);                                                      \
        }                                                                                          \
        return i;                                                                                  \
    }
#ifdef __AVX512BW__
CAMEO_FEW_THREE(cameo_few_three_halves, uint16_t, 32)
#endif
#ifdef __AVX512VBMI__
CAMEO_FEW_THREE(cameo_few_three_bytes, uint8_t, 64)
#endif

/* Of those that make whole vectors, where the processor turns these: how many they are. */
static inline __attribute__((unused)) int64_t cameo_few_woven(const unsigned char *x, int64_t plane,
                                                              int64_t n, int64_t size,
                                                              unsigned char *to)
{
    (void)x, (void)plane, (void)n, (void)size, (void)to;
#ifdef __AVX512BW__
    if (size == 2)
        return cameo_few_three_halves((const uint16_t *)x, plane, n, to);
#endif
#ifdef __AVX512VBMI__
    if (size == 1)
        return cameo_few_three_bytes(x, plane, n, to);
#endif
    return 0;
}

/* The same with nothing between pixels of three channels. */
static inline __attribute__((unused)) void
cameo_few_three(const unsigned char *x, int64_t plane, int64_t n, int64_t size, unsigned char *to)
{
    enum { SOME = 64 };
    const int64_t woven = cameo_few_woven(x, plane, n, size, to);
    to += 3 * woven * size;
    for (int64_t i = woven, some; i < n; i += some) {
        some = n - i < SOME ? n - i : SOME;
        const unsigned char *from = x + i * size;
        if (size == 2) {
            uint64_t pixels[SOME];
            cameo_few_halves((const uint16_t *)from, plane, some, pixels);
            for (int64_t j = 0; j < some; j++, to += 6)
                memcpy(to, pixels + j, 6);
        } else {
            uint32_t pixels[SOME];
            cameo_few_bytes(from, plane, some, pixels);
            for (int64_t j = 0; j < some; j++, to += 3)
                memcpy(to, pixels + j, 3);
        }
    }
}

/* Any number of channels, a byte or two each. */
static __attribute__((noinline, unused)) CAMEO_SMALL void
cameo_few_any(const cameo_pixel_few *f, const unsigned char *x, int64_t plane, int64_t n,
              unsigned char *to)
{
    const int64_t size = f->size, pixel = f->lanes * size;
    memset(to, 0, (size_t)(n * pixel));
    for (int64_t c = 0; c < f->channels; c++) {
        const unsigned char *from = x + c * plane * size;
        unsigned char *at = to + c * size;
        for (int64_t i = 0; i < n; i++, at += pixel, from += size) {
            at[0] = from[0];
            at[size - 1] = from[size - 1];
        }
    }
}

/* n pixels of a line of x, whose channels lie `plane` elements apart. */
static __attribute__((noinline, unused)) void cameo_few_pixels(const cameo_pixel_few *f,
                                                               const unsigned char *x,
                                                               int64_t plane, int64_t n,
                                                               unsigned char *to)
{
    if (f->channels == 3 && f->lanes == 3) {
        cameo_few_three(x, plane, n, f->size, to);
        return;
    }
    if (f->channels == 3 && f->size == 2) {
        cameo_few_halves((const uint16_t *)x, plane, n, (uint64_t *)to);
        return;
    }
    if (f->channels == 3) {
        cameo_few_bytes(x, plane, n, (uint32_t *)to);
        return;
    }
    cameo_few_any(f, x, plane, n, to);
}

/* The same of float32. Memory is asked for what comes next of each plane, since a processor that
 * watches reads sees few neighbours before they go on elsewhere. */
static inline __attribute__((unused)) void cameo_few_rounded(const cameo_pixel_few *f,
                                                             const float *x, int64_t plane,
                                                             int64_t n, unsigned char *to)
{
    enum { SOME = CAMEO_FEW_SOME, STEP = 32 /* numbers rounded together */, AHEAD = 1024 };
    const int64_t pixel = f->lanes * f->size;
    uint16_t halves[CAMEO_FEW_MOST * SOME];
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < SOME ? n - i : SOME;
        const int64_t whole = some / STEP * STEP;
        for (int64_t c = 0; c < f->channels; c++) {
            const float *from = x + c * plane + i;
            for (int64_t j = 0; j < some; j += STEP / 2)
                __builtin_prefetch(from + AHEAD + j);
            cameo_pixel_halves(halves + c * SOME, from, whole);
            float last[STEP] = {0};
            if (whole < some) {
                memcpy(last, from + whole, (size_t)(some - whole) * sizeof *last);
                cameo_pixel_halves(halves + c * SOME + whole, last, STEP);
            }
        }
        cameo_few_pixels(f, (const unsigned char *)halves, SOME, some, to + i * pixel);
    }
}

/* Line `row` of x. */
static inline __attribute__((unused)) void cameo_few_line(const cameo_pixel_few *f, const void *x,
                                                          int64_t row, unsigned char *to)
{
    const int64_t n = f->in[1], plane = f->in[0] * n;
    if (f->wide)
        cameo_few_rounded(f, (const float *)x + row * n, plane, n, to);
    else
        cameo_few_pixels(f, (const unsigned char *)x + row * n * f->size, plane, n, to);
}

/* Lines from .. end of the copy; x: the first plane of an image. */
static __attribute__((noinline, unused)) void
cameo_pixel_few_copy(const cameo_pixel_few *f, const void *x, int64_t from, int64_t end, void *copy)
{
    const int64_t pixel = f->lanes * f->size, side = f->border * pixel;
    const int64_t line = f->in[1] * pixel + 2 * side, lines = f->in[0] + 2 * f->border;
    for (int64_t i = from; i < end; i++) {
        unsigned char *to = (unsigned char *)copy + i * line;
        const int64_t row = i - f->border;
        if (row < 0 || row >= f->in[0]) {
            memset(to, f->around, (size_t)line);
        } else {
            memset(to, f->around, (size_t)side);
            cameo_few_line(f, x, row, to + side);
            memset(to + line - side, f->around, (size_t)side);
        }
        if (i == lines - 1)
            memset(to + line, 0, 64);
    }
}

#endif
