/* Products of bytes: sums of 32 bits over k of A[m,k] * B[k,n], A without a sign (made so by
 * 0x80 where it has one), B signed. A word holds four values of k. B is packed: panels of
 * CAMEO_TILE_COLUMNS columns, the last as narrow as vectors of 16 allow, in each all groups of
 * four k, in each the words of the columns. */
#ifndef CAMEO_BYTES_H
#define CAMEO_BYTES_H

#include "cameo_processor.h"
#include "cameo_turn.h"

#include <stdint.h>
#include <string.h>

enum {
    CAMEO_BYTES_M = 128,  /* most rows of a block */
    CAMEO_BYTES_OWN = 64, /* rows for which a thread reads all of B, rather than others' A */
    CAMEO_BYTES_K = 256,  /* words of k that a tile takes at once */
    CAMEO_BYTES_SIGN = 0x80,
    CAMEO_BYTES_UNIT = 16, /* rows that are packed at once */
    CAMEO_BYTES_FEW = 8    /* rows that need no matrix registers */
};

/* Are so many rows multiplied in matrix registers? */
static inline __attribute__((unused)) int cameo_bytes_squares(int64_t rows)
{
    return rows > CAMEO_BYTES_FEW && cameo_amx_on();
}

/* Four bytes from `from` on, `step` apart, `count` of which there are. */
static inline __attribute__((unused)) uint32_t cameo_bytes_word(const unsigned char *from,
                                                                int64_t step, int64_t count)
{
    uint32_t word = 0;
    if (step == 1 && count >= 4)
        memcpy(&word, from, 4);
    else
        for (int64_t i = 0; i < 4 && i < count; i++)
            word |= (uint32_t)from[i * step] << 8 * i;
    return word;
}

/* Rows of A as panels of CAMEO_TILE_ROWS: for each group of four k the words of its rows. What is
 * past k meets zeros of B. */
static inline __attribute__((unused)) void cameo_bytes_panels(int64_t m, int64_t k,
                                                              const unsigned char *a, int64_t am,
                                                              int64_t ak, int flip, cameo_word *to)
{
    const uint32_t sign = (uint32_t)flip * 0x01010101u;
    const int64_t groups = (k + 3) / 4;
    for (int64_t i = 0, turned = 0; i < m; i++) {
        cameo_word *row = to + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * groups + i % CAMEO_TILE_ROWS;
        const unsigned char *from = a + i * am;
        if (i % CAMEO_TILE_ROWS == 0)
            turned = ak == 1 && m - i >= CAMEO_TURN_ROWS
                         ? cameo_turn_rows(k / 4, from, am, sign, row)
                         : 0;
        int64_t x = turned;
        for (; ak == 1 && x < k / 4; x++) {
            uint32_t word;
            memcpy(&word, from + 4 * x, 4);
            row[x * CAMEO_TILE_ROWS] = (int32_t)(word ^ sign);
        }
        for (; x < groups; x++)
            row[x * CAMEO_TILE_ROWS] =
                (int32_t)(cameo_bytes_word(from + 4 * x * ak, ak, k - 4 * x) ^ sign);
    }
}

/* Are so many rows of A multiplied by near tiles if B may be? */
static inline __attribute__((unused)) int cameo_bytes_nearly(int64_t rows)
{
#ifdef CAMEO_NEAR
    return rows > CAMEO_BYTES_FEW;
#else
    (void)rows;
    return 0;
#endif
}

/* Units from .. until of CAMEO_BYTES_UNIT rows of A, which has m, as they are multiplied: in the
 * order of tiles of matrix registers, or as panels. totals: of each row the sum of its bytes; NULL:
 * nobody asks. near: B may be multiplied by near tiles; behind all units are the tops of each. */
static __attribute__((noinline, unused)) void
cameo_bytes_rows(int64_t m, int64_t k, const void *bytes, int64_t am, int64_t ak, int flip,
                 cameo_word *to, int32_t *totals, int near, int64_t from, int64_t until)
{
    const int64_t first = from * CAMEO_BYTES_UNIT, end = until * CAMEO_BYTES_UNIT;
    const int64_t rows = (end < m ? end : m) - first;
    const unsigned char *a = (const unsigned char *)bytes + first * am;
    for (int64_t i = 0; totals && i < rows; i++) {
        int32_t sum = 0;
        for (int64_t x = 0; x < k; x++)
            sum += a[i * am + x * ak] ^ flip;
        totals[first + i] = sum;
    }
#ifdef CAMEO_AMX
    if (cameo_bytes_squares(m)) {
        cameo_amx_pack(rows, k, 1, a, am, ak, flip, to + cameo_amx_size(first, k) / 4);
        return;
    }
#endif
    cameo_bytes_panels(rows, k, a, am, ak, flip, to + first * ((k + 3) / 4));
#ifdef CAMEO_NEAR
    const int64_t words = (k + 3) / 4, units = (m + CAMEO_BYTES_UNIT - 1) / CAMEO_BYTES_UNIT;
    for (int64_t u = from; near && cameo_bytes_nearly(m) && u < until; u++) {
        const int64_t left = m - u * CAMEO_BYTES_UNIT;
        cameo_near_tops(left < CAMEO_BYTES_UNIT ? left : CAMEO_BYTES_UNIT, words,
                        to + u * CAMEO_BYTES_UNIT * words,
                        to + (units * CAMEO_BYTES_UNIT + u) * words);
    }
#else
    (void)near;
#endif
}

/* A panel of B: `used` columns of it as `width` ones, for all groups of four k. */
static inline __attribute__((unused)) void cameo_bytes_pack_panel(int64_t used, int64_t width,
                                                                  int64_t k,
                                                                  const unsigned char *restrict b,
                                                                  int64_t bk, int64_t bn,
                                                                  uint32_t sign,
                                                                  cameo_word *restrict to)
{
    int64_t x = 0;
    for (; (bn == 1 || bk == 1) && x + 4 <= k; x += 4, to += width) {
        const unsigned char *r = b + x * bk;
        if (bk == 1)
            for (int64_t j = 0; j < used; j++) {
                uint32_t word;
                memcpy(&word, r + j * bn, 4);
                to[j] = (cameo_word)(word ^ sign);
            }
        else
            for (int64_t j = 0; j < used; j++)
                to[j] = (cameo_word)(((uint32_t)r[j] | (uint32_t)r[j + bk] << 8 |
                                      (uint32_t)r[j + 2 * bk] << 16 |
                                      (uint32_t)r[j + 3 * bk] << 24) ^
                                     sign);
        for (int64_t j = used; j < width; j++)
            to[j] = 0;
    }
    for (; x < k; x += 4, to += width)
        for (int64_t j = 0; j < width; j++) {
            const int64_t left = k - x;
            const uint32_t kept = left < 4 ? (1u << 8 * left) - 1 : ~0u;
            to[j] = j >= used ? 0
                              : (cameo_word)((cameo_bytes_word(b + x * bk + j * bn, bk, left) ^
                                              sign) &
                                             kept);
        }
}

/* Panels from .. until of B, k x n bytes with these strides, made signed by `flip`, as they are
 * multiplied. totals: of each column the sum of its bytes. */
static __attribute__((noinline, unused)) void
cameo_bytes_pack(int64_t n, int64_t k, const void *bytes, int64_t bk, int64_t bn, int flip,
                 cameo_word *to, int32_t *totals, int64_t from, int64_t until)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS };
    const int64_t groups = (k + 3) / 4, end = until * WIDTH < n ? until * WIDTH : n;
    for (int64_t j = from * WIDTH; j < end; j += WIDTH) {
        const int64_t left = n - j, used = left < WIDTH ? left : WIDTH;
        const int64_t width = (used + 15) / 16 * 16;
        const cameo_word *panel = to + j * groups;
        int32_t sums[WIDTH] = {0};
        cameo_bytes_pack_panel(used, width, k, (const unsigned char *)bytes + j * bn, bk, bn,
                               (uint32_t)flip * 0x01010101u, to + j * groups);
        for (int64_t x = 0; x < groups; x++)
            for (int64_t i = 0; i < width; i++) {
                const cameo_word four = panel[x * width + i];
                sums[i] += (int8_t)four + (int8_t)(four >> 8) + (int8_t)(four >> 16) + (four >> 24);
            }
        memcpy(totals + j, sums, (size_t)used * sizeof *sums);
    }
}

#ifdef CAMEO_BYTE_WIDE
/* cameo_bytes_panel, eight rows at a time, which are widened first. What is read of B and of these
 * rows stays in the first cache. */
static inline __attribute__((unused)) void cameo_bytes_wide_panel(int64_t m, int64_t width,
                                                                  int64_t k, const cameo_word *a,
                                                                  const cameo_word *b, int64_t ldb,
                                                                  int64_t next, int32_t *sums)
{
    enum { PANEL = CAMEO_LANES * CAMEO_BYTE_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    enum { ROWS = CAMEO_TILE_ROWS, DEEP = CAMEO_BYTE_DEEP };
    const int64_t groups = (k + 3) / 4;
    int64_t at[DEEP];
    cameo_number numbers[DEEP * ROWS];
    for (int64_t x = 0; x < DEEP && x < groups; x++)
        at[x] = x * ldb;
    for (int64_t p = 0; p < groups; p += DEEP) {
        const int64_t depth = groups - p < DEEP ? groups - p : DEEP;
        int64_t ahead = m <= ROWS ? CAMEO_CPU_STREAM : 4 * next;
        for (int64_t m0 = 0; m0 < m; m0 += ROWS) {
            const int64_t m1 = m - m0 < ROWS ? m : m0 + ROWS;
            cameo_bytes_widen(depth * ROWS, a + m0 * groups + p * ROWS, 0, numbers);
            for (int64_t i = m0; i < m1; i += CAMEO_BYTE_ROWS) {
                const int64_t rows = m1 - i < CAMEO_BYTE_ROWS ? m1 - i : CAMEO_BYTE_ROWS;
                for (int64_t part = 0; part < width; part += PANEL) {
                    const int64_t left = width - part, columns = left < PANEL ? left : PANEL;
                    cameo_byte_tiles[rows - 1][(columns + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                        depth, numbers + (i - m0), b + p * ldb + part, at, i > m0 ? 0 : ahead,
                        sums + i * WIDTH + part, WIDTH, columns, p > 0);
                }
            }
            ahead = m <= ROWS ? ahead : 0;
        }
    }
}
#endif

/* Sums of m rows, packed as above, times one panel of B of `width` columns, its rows `ldb` words:
 * sums[m][CAMEO_TILE_COLUMNS]. next: words from this panel to the one that is read after it. */
static __attribute__((noinline, unused)) void cameo_bytes_panel(int64_t m, int64_t width, int64_t k,
                                                                const cameo_word *a,
                                                                const cameo_word *b, int64_t ldb,
                                                                int64_t next, int32_t *sums)
{
#ifdef CAMEO_BYTE_WIDE
    cameo_bytes_wide_panel(m, width, k, a, b, ldb, next, sums);
#else
    enum { PANEL = CAMEO_LANES * CAMEO_BYTE_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    int64_t at[CAMEO_BYTES_K];
    const int64_t groups = (k + 3) / 4;
    for (int64_t x = 0; x < CAMEO_BYTES_K && x < groups; x++)
        at[x] = x * ldb;
    for (int64_t p = 0; p < groups; p += CAMEO_BYTES_K) {
        const int64_t depth = groups - p < CAMEO_BYTES_K ? groups - p : CAMEO_BYTES_K;
        for (int64_t part = 0; part < width; part += PANEL) {
            const int64_t left = width - part, columns = left < PANEL ? left : PANEL;
            int64_t ahead = m <= CAMEO_TILE_ROWS ? CAMEO_CPU_STREAM : part ? 0 : 4 * next;
            for (int64_t i = 0; i < m; i += CAMEO_BYTE_ROWS) {
                const int64_t rows = m - i < CAMEO_BYTE_ROWS ? m - i : CAMEO_BYTE_ROWS;
                cameo_byte_tiles[rows - 1][(columns + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                    depth,
                    a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * groups + p * CAMEO_TILE_ROWS +
                        i % CAMEO_TILE_ROWS,
                    b + p * ldb + part, at, ahead, sums + i * WIDTH + part, WIDTH, columns, p > 0);
                ahead = ahead && i < 2 * CAMEO_BYTE_ROWS ? ahead + 64 : 0;
            }
        }
    }
#endif
    if (k <= 0)
        memset(sums, 0, (size_t)(m * CAMEO_TILE_COLUMNS) * sizeof *sums);
}

/* How many panels of those that are left from column n0 on, of which `units` are one's own, are
 * multiplied together: of one row as many as are read side by side. */
static inline __attribute__((unused)) int64_t cameo_bytes_together(int64_t m, int64_t n, int64_t n0,
                                                                   int64_t units)
{
    enum { MOST = CAMEO_BYTE_STREAMS };
    return m == 1 && units >= MOST && n - n0 >= MOST * CAMEO_TILE_COLUMNS ? MOST : 1;
}

/* Columns n0 and those after it that are in so many panels from its own on, for rows m0 .. m1 of A,
 * which has m; m0 is a multiple of CAMEO_BYTES_UNIT. near: as cameo_near.h has it, or NULL. */
static inline __attribute__((unused)) int64_t
cameo_bytes_columns(int64_t m, int64_t m0, int64_t m1, int64_t n, int64_t k, int64_t n0,
                    int64_t panels, const cameo_word *a, const void *packed, const int32_t *near,
                    int32_t *sums)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS };
    const int64_t groups = (k + 3) / 4, left = n - n0, width = left < WIDTH ? left : WIDTH;
    const int64_t ldb = left < WIDTH ? (left + 15) / 16 * 16 : WIDTH;
    const int64_t next = left > WIDTH ? groups * WIDTH : 0;
    const cameo_word *b = (const cameo_word *)packed + n0 * groups;
    if (m == 1 && panels == CAMEO_BYTE_STREAMS && left >= panels * WIDTH) {
        memset(sums, 0, (size_t)(panels * WIDTH) * sizeof *sums);
        CAMEO_BYTE_STREAM(groups, a, CAMEO_TILE_ROWS, b, groups * WIDTH, sums);
        return n0 + panels * WIDTH;
    }
#ifdef CAMEO_AMX
    if (cameo_bytes_squares(m)) {
        cameo_amx_rows rows = cameo_amx_packed(a + cameo_amx_size(m0, k) / 4, k);
        cameo_amx_begin();
        cameo_amx_panel(cameo_amx_u8s8, m1 - m0, ldb / 16, (groups + 15) / 16, &rows, b, 4 * ldb,
                        4 * next, sums, 4 * WIDTH, 0);
        cameo_amx_end();
        return n0 + width;
    }
#else
    (void)m;
#endif
#ifdef CAMEO_NEAR
    if (near && cameo_bytes_nearly(m)) {
        const int64_t unit = CAMEO_BYTES_UNIT, all = (m + unit - 1) / unit * unit, p = n0 / WIDTH;
        cameo_near_panel(m1 - m0, width, groups, a + m0 * groups, b, ldb, next, sums);
        cameo_near_correct(m1 - m0, groups, a + m0 * groups, b, ldb, a + (all + m0 / unit) * groups,
                           (m1 - m0 + unit - 1) / unit, near + near[p], near[p + 1] - near[p],
                           sums);
        return n0 + width;
    }
#else
    (void)near;
#endif
    cameo_bytes_panel(m1 - m0, width, k, a + m0 * groups, b, ldb, next, sums);
    return n0 + width;
}

/* Rows of a block where so many threads share a product of m rows, a multiple of CAMEO_BYTES_UNIT.
 * What comes before and after it is shared by rows as a rule: where each thread has rows enough
 * they are its own here too, and neither A nor y goes from core to core. Matrix registers are so
 * quick that B has to be read once, and what near tiles miss is looked for in all of B. */
static inline __attribute__((unused)) int64_t cameo_bytes_block(int64_t m, int64_t threads)
{
    enum { UNIT = CAMEO_BYTES_UNIT, MOST = CAMEO_BYTES_M };
    if (threads < 2 || m / threads < CAMEO_BYTES_OWN || cameo_bytes_squares(m) ||
        cameo_bytes_nearly(m))
        return MOST;
    const int64_t own = (m + threads - 1) / threads, blocks = (own + MOST - 1) / MOST;
    return ((own + blocks - 1) / blocks + UNIT - 1) / UNIT * UNIT;
}

/* Units of a product in blocks of so many rows: a panel's columns for a block, those of the same
 * rows together. */
static inline __attribute__((unused)) int64_t cameo_bytes_units(int64_t m, int64_t n, int64_t block)
{
    return (m + block - 1) / block * ((n + CAMEO_TILE_COLUMNS - 1) / CAMEO_TILE_COLUMNS);
}

#endif
