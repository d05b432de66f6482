/* Convolutions of bytes: sums of 32 bits. x is copied once, four channels to a word, with its
 * border and without a sign; then words are to cameo_conv.h what numbers are to a convolution of
 * float32, and a panel is read where it lies. Weights are signed and packed: panels of
 * CAMEO_TILE_ROWS rows, in each for every group of four channels and place of the window the words
 * of the rows. */
#ifndef CAMEO_BYTE_CONV_H
#define CAMEO_BYTE_CONV_H

#include <stdint.h>
#include <string.h>

enum {
    CAMEO_BYTE_BLOCK = 131072,                 /* words of x that the tiles of a block read */
    CAMEO_BYTE_SUMS = CAMEO_CONV_WIDE * 5 / 4, /* from a row of sums to the next */
    CAMEO_BYTE_REST = 4 /* places of words behind the last, which meet weights of 0 */
};

/* 16 bytes of each of four rows as words. */
typedef uint8_t cameo_byte_vector __attribute__((vector_size(16), aligned(1), may_alias));

/* `to`: 16 words of the bytes at a, b, c and d, each changed by `sign`. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_words(const unsigned char *a, const unsigned char *b, const unsigned char *c,
                 const unsigned char *d, uint32_t sign, cameo_word *to)
{
    const cameo_byte_vector x = *(const cameo_byte_vector *)a, y = *(const cameo_byte_vector *)b;
    const cameo_byte_vector z = *(const cameo_byte_vector *)c, w = *(const cameo_byte_vector *)d;
#ifdef __AVX512F__
    typedef uint8_t cameo_pair __attribute__((vector_size(32)));
    typedef uint8_t cameo_lines __attribute__((vector_size(64), aligned(4), may_alias));
    const cameo_pair low = __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                                   13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                                                   25, 26, 27, 28, 29, 30, 31),
                     high = __builtin_shufflevector(z, w, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                                    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                                                    25, 26, 27, 28, 29, 30, 31);
    const cameo_lines all = __builtin_shufflevector(
        low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
        23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45,
        46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63);
    *(cameo_lines *)to =
        __builtin_shufflevector(all, all, 0, 16, 32, 48, 1, 17, 33, 49, 2, 18, 34, 50, 3, 19, 35,
                                51, 4, 20, 36, 52, 5, 21, 37, 53, 6, 22, 38, 54, 7, 23, 39, 55, 8,
                                24, 40, 56, 9, 25, 41, 57, 10, 26, 42, 58, 11, 27, 43, 59, 12, 28,
                                44, 60, 13, 29, 45, 61, 14, 30, 46, 62, 15, 31, 47, 63) ^
        ((uint8_t)(sign & 255) + (cameo_lines){0});
#else /* compilers make vectors of 64 bytes, where there are none, byte by byte */
    typedef uint16_t cameo_shorts __attribute__((vector_size(16), aligned(4), may_alias));
    const cameo_byte_vector signs = (uint8_t)(sign & 255) + (cameo_byte_vector){0};
#define LOW(x, y)                                                                                  \
    __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(x, y)                                                                                 \
    __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
    const cameo_shorts p = (cameo_shorts)(LOW(x, y) ^ signs), q = (cameo_shorts)(LOW(z, w) ^ signs);
    const cameo_shorts r = (cameo_shorts)(HIGH(x, y) ^ signs),
                       s = (cameo_shorts)(HIGH(z, w) ^ signs);
#undef LOW
#undef HIGH
    cameo_shorts *out = (cameo_shorts *)to;
    out[0] = __builtin_shufflevector(p, q, 0, 8, 1, 9, 2, 10, 3, 11);
    out[1] = __builtin_shufflevector(p, q, 4, 12, 5, 13, 6, 14, 7, 15);
    out[2] = __builtin_shufflevector(r, s, 0, 8, 1, 9, 2, 10, 3, 11);
    out[3] = __builtin_shufflevector(r, s, 4, 12, 5, 13, 6, 14, 7, 15);
#endif
}

/* A row of each of four channels as words; the places before `low` and from low + count on are
 * border. every: of the places of x those that follow one another in this row are so far apart. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_row(const unsigned char *a, const unsigned char *b, const unsigned char *c,
               const unsigned char *d, int64_t every, int64_t low, int64_t count, int64_t length,
               uint32_t sign, cameo_word border, cameo_word *to)
{
    int64_t i = 0;
    for (int64_t k = 0; k < low; k++)
        to[k] = border;
    for (; every == 1 && i + 16 <= count; i += 16)
        cameo_byte_words(a + i, b + i, c + i, d + i, sign, to + low + i);
    for (; i < count; i++)
        to[low + i] = (int32_t)(((uint32_t)a[i * every] | (uint32_t)b[i * every] << 8 |
                                 (uint32_t)c[i * every] << 16 | (uint32_t)d[i * every] << 24) ^
                                sign);
    for (i = low + count; i < length; i++)
        to[i] = border;
}

/* The four rows x[0..3] of one line, sorted into `stride` rows by the place modulo it. */
static inline __attribute__((unused)) void cameo_byte_line(const cameo_conv *g,
                                                           const unsigned char *const *x,
                                                           int64_t length, uint32_t sign,
                                                           cameo_word border, cameo_word *to)
{
    const int64_t phases = g->stride[2], in = g->in[2], pad = g->pad[2], step = g->step[2];
    for (int64_t f = 0; f < phases; f++, to += length) {
        int64_t low = f >= pad ? 0 : (pad - f + phases - 1) / phases;
        int64_t high = in + pad > f ? (in + pad - f + phases - 1) / phases : 0;
        low = low < length ? low : length;
        high = high < length ? high : length;
        high = high > low ? high : low;
        const int64_t from = (low * phases + f - pad) * step, every = phases * step;
        const unsigned char *a = x[0] + from, *b = x[1] + from, *c = x[2] + from, *d = x[3] + from;
        if (every == 1)
            cameo_byte_row(a, b, c, d, 1, low, high - low, length, sign, border, to);
        else if (every == 2)
            cameo_byte_row(a, b, c, d, 2, low, high - low, length, sign, border, to);
        else
            cameo_byte_row(a, b, c, d, every, low, high - low, length, sign, border, to);
    }
}

/* Planes from .. until of x with its border, of `channels` channels `channel` bytes apart; of
 * channels that there are not the last one stands, which meets weights of 0. zero: the byte that
 * counts as 0, before `flip`. tiled: window tiles read the copy. Where these are near ones, the
 * least byte of each channel is subtracted; it is kept behind all planes and CAMEO_CONV_SLACK words
 * more, and behind these words is what is greatest then. */
static __attribute__((noinline, unused)) void
cameo_byte_copy(const cameo_conv *g, int64_t channels, int64_t channel, const void *bytes, int zero,
                int flip, void *words, int64_t from, int64_t until, int tiled)
{
    const int64_t length = (cameo_conv_reach(g, 2) + g->stride[2] - 1) / g->stride[2];
    const unsigned char *x = bytes;
    const uint32_t sign = (uint32_t)flip * 0x01010101u;
    const cameo_word border = (int32_t)(((uint32_t)zero & 255) * 0x01010101u ^ sign);
    const int64_t deep = cameo_conv_reach(g, 0), lines = cameo_conv_reach(g, 1);
    /* rows that follow one another as they lie are one */
    const int flat = g->stride[2] == 1 && g->step[2] == 1 && g->pad[1] == 0 && g->pad[2] == 0 &&
                     g->in[1] == lines && g->in[2] == length && g->step[1] == length;
    const int64_t high = flat ? 1 : lines, width = length * (flat ? lines : g->stride[2]);
    const int64_t plane = deep * high * width;
    cameo_word *to = (cameo_word *)words + from * plane;
    const int64_t end = 4 * until < channels ? 4 * until : channels;
    for (int64_t c = 4 * from; c < end; c += 4) {
        for (int64_t i = 0; i < deep; i++)
            for (int64_t j = 0; j < high; j++, to += width) {
                const int64_t a = i - g->pad[0], b = j - g->pad[1];
                const unsigned char *rows[4];
                for (int64_t r = 0; r < 4; r++)
                    rows[r] = x + (c + r < channels ? c + r : channels - 1) * channel +
                              a * g->step[0] + b * g->step[1];
                if (a < 0 || a >= g->in[0] || b < 0 || b >= g->in[1])
                    for (int64_t n = 0; n < width; n++)
                        to[n] = border;
                else if (flat)
                    cameo_byte_row(rows[0], rows[1], rows[2], rows[3], 1, 0, width, width, sign,
                                   border, to);
                else
                    cameo_byte_line(g, rows, length, sign, border, to);
            }
#ifdef CAMEO_NEAR
        const int64_t planes = (channels + 3) / 4;
        cameo_word *behind = (cameo_word *)words + planes * plane + CAMEO_CONV_SLACK + c / 4;
        if (tiled)
            cameo_near_lower(to - plane, plane, behind, behind + planes);
#else
        (void)tiled;
#endif
    }
    for (int64_t n = 0; n < CAMEO_CONV_SLACK && end == channels; n++)
        to[n] = border;
}

/* ---- shares: units are blocks of columns where there are many, else CAMEO_BYTE_UNIT rows */

enum { CAMEO_BYTE_UNIT = 32, CAMEO_BYTE_BLOCKS = 8 };

static inline __attribute__((unused)) int cameo_byte_by_columns(int64_t rows, int64_t all,
                                                                int64_t width)
{
    return rows <= CAMEO_BYTE_UNIT || cameo_conv_blocks(all, width) >= CAMEO_BYTE_BLOCKS;
}

static __attribute__((noinline, unused)) int64_t cameo_byte_units(int64_t rows, int64_t all,
                                                                  int64_t width)
{
    return cameo_byte_by_columns(rows, all, width)
               ? cameo_conv_blocks(all, width)
               : (all > 0) * ((rows + CAMEO_BYTE_UNIT - 1) / CAMEO_BYTE_UNIT);
}

static __attribute__((noinline, unused)) cameo_conv_cut
cameo_byte_share(int64_t rows, int64_t all, int64_t width, int64_t from, int64_t to)
{
    cameo_conv_cut c = {0, rows, 0, all};
    if (cameo_byte_by_columns(rows, all, width)) {
        c.begin = from * width;
        c.end = to >= cameo_conv_blocks(all, width) ? all : to * width;
    } else {
        c.low = from * CAMEO_BYTE_UNIT;
        c.high = to * CAMEO_BYTE_UNIT < rows ? to * CAMEO_BYTE_UNIT : rows;
    }
    return c;
}

/* Columns n0 .. n1, all values of k. */
typedef struct cameo_byte_block {
    int64_t all, n0;
    const cameo_word *few; /* the words of a few last columns, one after the other */
    int64_t taps;
    const cameo_word *lows, *tops; /* as cameo_byte_copy has them */
    cameo_word *room;              /* of cameo_near_room */
    int count;
    cameo_conv_panel panels[CAMEO_CONV_WIDE * 5 / 4 / CAMEO_LANES + 2];
} cameo_byte_block;

/* places: as cameo_byte_places has them, and behind them cameo_near_room. scratch: a word for each
 * word of k and column, and some more. */
static __attribute__((noinline, unused)) void cameo_byte_start(const cameo_conv_view *v, int64_t n0,
                                                               int64_t n1, int64_t *places,
                                                               void *scratch, cameo_byte_block *b)
{
    b->all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    b->n0 = n0;
    cameo_word *few = scratch;
    float *panels = (float *)scratch + CAMEO_FEW * b->all;
    const int64_t *packed = places + b->all + CAMEO_BYTE_REST;
    b->count = cameo_conv_panels(v, n0, n1, cameo_conv_ends_few(v) ? CAMEO_FEW : 0, b->all, places,
                                 packed, panels, b->panels);
    b->few = few;
    b->taps = v->taps[0] * v->taps[1] * v->taps[2];
    b->lows = (const cameo_word *)(const void *)v->x + v->size;
    b->tops = b->lows + v->channels;
    b->room = (cameo_word *)(void *)(places + 2 * (b->all + CAMEO_BYTE_REST));
    const cameo_conv_panel *p = &b->panels[b->count - 1];
    for (int64_t j = 0; p->width <= CAMEO_FEW && j < p->width; j++, few += b->all)
        for (int64_t k = 0; k < b->all; k++)
            few[k] = ((const cameo_word *)(const void *)p->b)[p->at[k] + j];
}

/* Where words of k are in x, and in a copy of a panel; behind both the first word CAMEO_BYTE_REST
 * times. */
static __attribute__((noinline, unused)) void cameo_byte_places(const cameo_conv_view *v,
                                                                int64_t *places)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    int64_t *packed = places + all + CAMEO_BYTE_REST;
    cameo_conv_places(v, 0, all, places);
    for (int64_t k = 0; k < all; k++)
        packed[k] = k * PANEL;
    for (int64_t i = all; i < all + CAMEO_BYTE_REST; i++)
        places[i] = packed[i] = 0;
}

/* A few columns of all rows of a panel: lanes run over the rows, for two words of k at once. */
static inline __attribute__((unused)) cameo_sums cameo_byte_pair(cameo_word low, cameo_word high)
{
    cameo_sums zero = {0}, both = {0};
    for (int i = 0; i < CAMEO_TILE_ROWS && i < CAMEO_LANES; i++)
        both[i] = -1;
    return ((zero + low) & both) | ((zero + high) & ~both);
}

static __attribute__((noinline, unused)) void cameo_byte_columns(int64_t k, const cameo_word *a,
                                                                 const cameo_word *b, int64_t width,
                                                                 int64_t rows, int32_t *c,
                                                                 int64_t ldc)
{
    const cameo_sums zero = {0};
    for (int64_t j = 0; j < width; j++, b += k, c++) {
        cameo_sums even = zero, odd = zero;
        int64_t i = 0;
        for (; i + 4 <= k; i += 4) {
            const cameo_sums *w = (const cameo_sums *)(a + i * CAMEO_TILE_ROWS);
            even = cameo_dot(even, cameo_byte_pair(b[i], b[i + 1]), w[0]);
            odd = cameo_dot(odd, cameo_byte_pair(b[i + 2], b[i + 3]), w[1]);
        }
        even += odd;
        for (int64_t m = 0; m < rows; m++) {
            cameo_sums last = zero;
            for (int64_t x = i; x < k; x++)
                last = cameo_dot(last, zero + b[x], zero + a[x * CAMEO_TILE_ROWS + m]);
            c[m * ldc] = even[m] + even[(m + CAMEO_TILE_ROWS) % CAMEO_LANES] + last[0];
        }
    }
}

/* `rows` rows of weights, at most CAMEO_TILE_ROWS, times the first `count` panels of the block. */
#ifdef CAMEO_BYTE_WIDE
static inline __attribute__((unused)) void cameo_byte_tiles_of(const cameo_byte_block *b, int count,
                                                               const cameo_word *w, int64_t rows,
                                                               int32_t *sums)
{
    enum { PART = CAMEO_LANES * CAMEO_BYTE_VECTORS, DEEP = CAMEO_BYTE_DEEP };
    cameo_number numbers[DEEP * CAMEO_TILE_ROWS];
    cameo_near_weights near;
    const cameo_conv_panel *end = &b->panels[count - 1];
    const int64_t columns = count ? end->n + end->width - b->n0 : 0;
    if (cameo_near_split(b->all, b->taps, w, b->tops, b->lows, columns, b->room, &near)) {
        cameo_near_tiles_of(&near, b->panels, count, b->n0, rows, sums, CAMEO_BYTE_SUMS);
        return;
    }
    for (int64_t m = 0; near.based && m < rows; m++)
        for (int64_t j = 0; j < CAMEO_BYTE_SUMS; j++)
            sums[m * CAMEO_BYTE_SUMS + j] = near.base[m];
    for (int64_t k = 0; k < b->all; k += DEEP) {
        const int64_t depth = b->all - k < DEEP ? b->all - k : DEEP;
        cameo_bytes_widen(depth * CAMEO_TILE_ROWS, w + k * CAMEO_TILE_ROWS, 1, numbers);
        for (int64_t m = 0; m < rows; m += CAMEO_BYTE_ROWS) {
            const int64_t height = rows - m < CAMEO_BYTE_ROWS ? rows - m : CAMEO_BYTE_ROWS;
            for (int i = 0; i < count; i++) {
                const cameo_conv_panel *p = &b->panels[i];
                int32_t *to = sums + m * CAMEO_BYTE_SUMS + p->n - b->n0;
                for (int64_t j = 0; j < p->width; j += PART) {
                    const int64_t width = p->width - j < PART ? p->width - j : PART;
                    cameo_window_tiles[height - 1][(width + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                        depth, numbers + m, (const cameo_word *)(const void *)p->b + j, p->at + k,
                        0, to + j, CAMEO_BYTE_SUMS, width, near.based || k > 0);
                }
            }
        }
    }
}
#else
static inline __attribute__((unused)) void cameo_byte_tiles_of(const cameo_byte_block *b, int count,
                                                               const cameo_word *w, int64_t rows,
                                                               int32_t *sums)
{
    for (int64_t m = 0; m < rows; m += CAMEO_BYTE_ROWS) {
        const int64_t height = rows - m < CAMEO_BYTE_ROWS ? rows - m : CAMEO_BYTE_ROWS;
        for (int i = 0; i < count; i++) {
            const cameo_conv_panel *p = &b->panels[i];
            cameo_window_tiles[height - 1][(p->width + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                b->all, w + m, (const cameo_word *)(const void *)p->b, p->at, 0,
                sums + m * CAMEO_BYTE_SUMS + p->n - b->n0, CAMEO_BYTE_SUMS, p->width, 0);
        }
    }
}
#endif

/* Rows m0 and up to CAMEO_TILE_ROWS - 1 more of the block: sums[row][n - n0]. Returns their end. */
static __attribute__((noinline, unused)) int64_t cameo_byte_rows(const cameo_byte_block *b,
                                                                 int64_t rows, const void *weights,
                                                                 int64_t m0, int32_t *sums)
{
    const int64_t m1 = rows - m0 < CAMEO_TILE_ROWS ? rows : m0 + CAMEO_TILE_ROWS;
    const cameo_word *w = (const cameo_word *)weights + m0 * b->all;
    const cameo_conv_panel *end = &b->panels[b->count - 1];
    const int apart = CAMEO_LANES == 2 * CAMEO_TILE_ROWS && end->width <= CAMEO_FEW;
    const int whole = b->count - apart;
    if (apart)
        cameo_byte_columns(b->all, w, b->few, end->width, m1 - m0, sums + end->n - b->n0,
                           CAMEO_BYTE_SUMS);
    cameo_byte_tiles_of(b, whole, w, m1 - m0, sums);
    return m1;
}

/* Planes by their own windows. A word holds four rows of the window in one column, so that a window
 * of three rows is one word, and its columns are neighbours. Rows of y are done together: x is
 * copied with its border, rows and columns sorted by their remainders of the strides, so that in
 * the copy what belongs to the next place of y is next to it, also from row to row. What is
 * computed between two rows of y, at the places of the border, is left out of the sums. */
enum {
    CAMEO_BYTE_PLANE = 8192, /* words of a block, if those of a row are no more */
    CAMEO_BYTE_WORDS = 16    /* that are made at once */
};

/* n bytes, with vectors that overlap. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_move(const unsigned char *from, int64_t n, unsigned char *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        *(cameo_byte_vector *)(to + i) = *(const cameo_byte_vector *)(from + i);
    if (i == n)
        return;
    if (n >= 16) {
        *(cameo_byte_vector *)(to + n - 16) = *(const cameo_byte_vector *)(from + n - 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (; i < n; i++)
            to[i] = from[i];
    }
}

/* Every second of 2 n - 1 bytes. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_second(const unsigned char *from, int64_t n, unsigned char *to)
{
    int64_t i = 0;
    for (; i + 16 < n; i += 16) {
        const cameo_byte_vector a = *(const cameo_byte_vector *)(from + 2 * i);
        const cameo_byte_vector b = *(const cameo_byte_vector *)(from + 2 * i + 16);
        *(cameo_byte_vector *)(to + i) = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14,
                                                                 16, 18, 20, 22, 24, 26, 28, 30);
    }
    if (n > 16) { /* the last of them, which may have nothing behind it */
        const cameo_byte_vector a = *(const cameo_byte_vector *)(from + 2 * n - 33);
        const cameo_byte_vector b = *(const cameo_byte_vector *)(from + 2 * n - 17);
        *(cameo_byte_vector *)(to + n - 16) = __builtin_shufflevector(
            a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        return;
    }
    typedef uint8_t cameo_8 __attribute__((vector_size(8), aligned(1), may_alias));
    typedef uint8_t cameo_4 __attribute__((vector_size(4), aligned(1), may_alias));
    if (n > 8) {
        const cameo_byte_vector a = *(const cameo_byte_vector *)from;
        const cameo_byte_vector b = *(const cameo_byte_vector *)(from + 2 * n - 17);
        *(cameo_8 *)to = __builtin_shufflevector(a, a, 0, 2, 4, 6, 8, 10, 12, 14);
        *(cameo_8 *)(to + n - 8) = __builtin_shufflevector(b, b, 1, 3, 5, 7, 9, 11, 13, 15);
    } else if (n > 4) {
        const cameo_8 a = *(const cameo_8 *)from, b = *(const cameo_8 *)(from + 2 * n - 9);
        *(cameo_4 *)to = __builtin_shufflevector(a, a, 0, 2, 4, 6);
        *(cameo_4 *)(to + n - 4) = __builtin_shufflevector(b, b, 1, 3, 5, 7);
    } else {
        for (; i < n; i++)
            to[i] = from[2 * i];
    }
}

/* Sums of neighbours: columns of the window at the words of each four rows, `next` words apart. at:
 * where each column begins. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_window(int64_t columns, int64_t groups, int64_t taps, const int64_t *at,
                  const cameo_word *w, const cameo_word *words, int64_t next, int32_t *sums)
{
    const cameo_sums zero = {0};
    for (int64_t j = 0; j < columns; j += CAMEO_LANES) {
        cameo_sums sum = zero;
        for (int64_t q = 0; q < groups; q++)
            for (int64_t t = 0; t < taps; t++)
                sum = cameo_dot(sum, *(const cameo_sums *)(words + q * next + at[t] + j),
                                zero + w[q * taps + t]);
        *(cameo_sums *)(sums + j) = sum;
    }
}

/* What holds of every plane of these sizes. */
typedef struct cameo_byte_planes {
    int64_t pairs;               /* rows of y in a block by cameo_byte_pairs.h; 0: the rest holds */
    int64_t groups, length;      /* of four rows each; places of a row of the copy */
    int64_t rows;                /* of y in a block */
    int64_t beyond;              /* rows that the window reaches past the last of y, in the copy */
    int64_t ahead;               /* words that its columns and vectors reach past the last place */
    int64_t at[CAMEO_CONV_TAPS]; /* where the window's columns begin */
    int64_t next;                /* words of a block for four rows */
} cameo_byte_planes;

static __attribute__((noinline, unused)) void cameo_byte_planes_plan(const cameo_conv *g,
                                                                     cameo_byte_planes *p)
{
    const int64_t down = g->stride[1], phases = g->stride[2];
#if CAMEO_BYTE_PAIRS
    p->pairs = cameo_pairs_rows(g);
#else
    p->pairs = 0;
#endif
    p->groups = (g->taps[1] + 3) / 4;
    p->length = (cameo_conv_reach(g, 2) + phases - 1) / phases;
    p->length = p->length > 0 ? p->length : 1;
    p->beyond = (g->taps[1] - 1) * g->dilation[1] / down;
    p->ahead = (g->taps[2] - 1) * g->dilation[2] / phases + CAMEO_BYTE_WORDS;
    const int64_t fixed = (down * phases * p->beyond * p->length + 3) / 4;
    const int64_t each = p->length * (1 + p->groups * phases) + (down * phases * p->length + 3) / 4;
    p->rows = (CAMEO_BYTE_PLANE - fixed) / each;
    p->rows = p->rows < 1 ? 1 : p->rows < g->out[1] ? p->rows : g->out[1];
    const int64_t words = p->rows * p->length + p->ahead;
    p->next = words * phases;
    for (int64_t t = 0; t < g->taps[2]; t++)
        p->at[t] = t * g->dilation[2] % phases * words + t * g->dilation[2] / phases;
}

/* The rows of x that `rows` rows of y from `line` on see: [row's remainder][column's][row][column],
 * what is no element set to `zero`. */
static inline __attribute__((always_inline, unused)) void
cameo_byte_sort(const cameo_conv *g, const cameo_byte_planes *p, const unsigned char *x, int zero,
                int64_t line, int64_t rows, unsigned char *to)
{
    const int64_t down = g->stride[1], phases = g->stride[2], high = rows + p->beyond;
    const int64_t in = g->in[2], pad = g->pad[2], plane = high * p->length;
    memset(to, zero & 255, (size_t)(down * phases * plane));
    for (int64_t f = 0; f < phases; f++) {
        int64_t low = f >= pad ? 0 : (pad - f + phases - 1) / phases;
        int64_t top = in + pad > f ? (in + pad - f + phases - 1) / phases : 0;
        top = top < p->length ? top : p->length;
        low = low < top ? low : top;
        const int64_t from = low * phases + f - pad, n = top - low;
        for (int64_t e = 0; e < down && n > 0; e++) {
            unsigned char *row = to + (e * phases + f) * plane + low;
            for (int64_t j = 0; j < high; j++, row += p->length) {
                const int64_t y = (line + j) * down + e - g->pad[1];
                if (y < 0 || y >= g->in[1])
                    continue;
                const unsigned char *a = x + y * g->step[1] + from;
                if (phases == 1)
                    cameo_byte_move(a, n, row);
                else if (phases == 2)
                    cameo_byte_second(a, n, row);
                else
                    for (int64_t i = 0; i < n; i++)
                        row[i] = a[i * phases];
            }
        }
    }
}

/* Rows from that of column n0 on, as many as there is room for: sums[n - n0]. Returns where they
 * end. x: the plane's first element, its columns neighbours. weights: for every four rows of the
 * window the words of its columns. */
static __attribute__((noinline, unused)) int64_t
cameo_byte_plane(const cameo_conv *g, const cameo_byte_planes *p, const void *x, int zero, int flip,
                 const void *weights, void *scratch, int64_t n0, int32_t *sums)
{
#if CAMEO_BYTE_PAIRS
    if (p->pairs)
        return cameo_pairs_plane(g, p->pairs, x, zero, flip, weights, scratch, n0, sums);
#endif
    const int64_t groups = p->groups, taps = g->taps[2], length = p->length;
    const int64_t line = n0 ? n0 / g->out[2] : 0, left = g->out[1] - line;
    const int64_t rows = left < p->rows ? left : p->rows, all = rows * length;
    const int64_t down = g->stride[1], phases = g->stride[2], words = p->next / phases;
    int32_t *flat = scratch;
    cameo_word *to = flat + p->rows * length + CAMEO_BYTE_WORDS;
    unsigned char *bytes = (unsigned char *)(to + groups * p->next + CAMEO_BYTE_WORDS);
    cameo_byte_sort(g, p, x, zero, line, rows, bytes);
    for (int64_t q = 0; q < groups; q++)
        for (int64_t f = 0; f < phases; f++) {
            const unsigned char *r[4];
            for (int64_t t = 0; t < 4; t++) { /* past the window: rows that meet weights of 0 */
                const int64_t i = 4 * q + t < g->taps[1] ? (4 * q + t) * g->dilation[1] : 0;
                r[t] = bytes + (i % down * phases + f) * (rows + p->beyond) * length +
                       i / down * length;
            }
            cameo_word *row = to + q * p->next + f * words;
            for (int64_t i = 0; i < all + p->ahead - CAMEO_BYTE_WORDS; i += CAMEO_BYTE_WORDS)
                cameo_byte_words(r[0] + i, r[1] + i, r[2] + i, r[3] + i, (uint32_t)flip, row + i);
        }
    const cameo_word *w = weights;
    if (groups == 1 && taps == 3)
        cameo_byte_window(all, 1, 3, p->at, w, to, p->next, flat);
    else
        cameo_byte_window(all, groups, taps, p->at, w, to, p->next, flat);
    for (int64_t i = 0; i < rows; i++, flat += length, sums += g->out[2])
        for (int64_t j = 0; j < g->out[2]; j += CAMEO_LANES)
            *(cameo_sums *)(sums + j) = *(const cameo_sums *)(flat + j);
    return n0 + rows * g->out[2];
}

#endif
