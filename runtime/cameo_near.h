/* Products of bytes by tiles that add in 16 bits (cameo_near), which saturate, and what makes them
 * exact. Weights are constants, so that the places are known where four of them can leave 16 bits:
 * 255 times the sum of the positive ones, or of the others, does. near: for each panel of B where
 * its places begin, and where the last one's end; a place is pair of words * 2 *
 * CAMEO_TILE_COLUMNS + 2 * column + half of the words. Of each the sum is done again in 32 bits, if
 * the greatest bytes of A that the rows hold can leave 16 bits there at all, and what is missing is
 * added. */
#ifndef CAMEO_NEAR_H
#define CAMEO_NEAR_H

#ifdef CAMEO_NEAR
enum { CAMEO_NEAR_DEEP = 128 }; /* words of k that a tile takes at once, an even number */

/* The greatest bytes of rows of A, as panels (cameo_bytes.h): tops[words]. */
static inline __attribute__((unused)) void cameo_near_tops(int64_t rows, int64_t words,
                                                           const cameo_word *a, cameo_word *tops)
{
    unsigned char *most = (unsigned char *)tops;
    memset(tops, 0, (size_t)words * sizeof *tops);
    for (int64_t i = 0; i < rows; i++) {
        const unsigned char *row =
            (const unsigned char *)(a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * words +
                                    i % CAMEO_TILE_ROWS);
        for (int64_t x = 0; x < words; x++, row += 4 * CAMEO_TILE_ROWS)
            for (int t = 0; t < 4; t++)
                most[4 * x + t] = row[t] > most[4 * x + t] ? row[t] : most[4 * x + t];
    }
}

/* What is missing at one place in eight rows of the sums' column: a: their words of a pair, w and v
 * those of B, of which only a half is not 0. */
static inline __attribute__((unused)) void cameo_near_mend(int64_t rows, const cameo_word *a,
                                                           cameo_word w, cameo_word v,
                                                           int32_t *sums, int64_t lds)
{
    const cameo_sums zero = {0}, s = zero + w, t = zero + v;
    for (int64_t i = 0; i < rows; i += CAMEO_LANES) {
        const cameo_sums x = *(const cameo_sums *)(a + i);
        const cameo_sums y = *(const cameo_sums *)(a + i + CAMEO_TILE_ROWS);
        const cameo_sums missing =
            cameo_dot(cameo_dot(zero, x, s), y, t) - cameo_near(zero, x, y, s, t);
        for (int64_t j = 0; j < CAMEO_LANES && i + j < rows; j++)
            sums[(i + j) * lds] += missing[j];
    }
}

/* All places of a panel. units: the tops of A's rows, each units * words, for so many. */
static __attribute__((noinline, unused)) void
cameo_near_correct(int64_t m, int64_t words, const cameo_word *a, const cameo_word *b, int64_t ldb,
                   const cameo_word *tops, int64_t units, const int32_t *places, int64_t count,
                   int32_t *sums)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS, ROWS = CAMEO_TILE_ROWS };
    unsigned char most[4 * CAMEO_NEAR_DEEP];
    int64_t begin = -CAMEO_NEAR_DEEP;
    for (int64_t n = 0; n < count; n++) {
        const int64_t k = places[n] / (2 * WIDTH) * 2, lane = places[n] % (2 * WIDTH);
        const int64_t low = lane % 2 * 2;
        const cameo_word *from = b + k * ldb + lane / 2;
        const signed char *w = (const signed char *)from + low;
        const signed char *v = (const signed char *)(from + ldb) + low;
        if (k >= begin + CAMEO_NEAR_DEEP) {
            begin = k / CAMEO_NEAR_DEEP * CAMEO_NEAR_DEEP;
            const int64_t left = words - begin;
            const int64_t depth = left < CAMEO_NEAR_DEEP ? left : CAMEO_NEAR_DEEP;
            memset(most, 0, sizeof most);
            for (int64_t u = 0; u < units; u++) {
                const unsigned char *top = (const unsigned char *)(tops + u * words + begin);
                for (int64_t x = 0; x < 4 * depth; x++)
                    most[x] = top[x] > most[x] ? top[x] : most[x];
            }
        }
        const unsigned char *x = most + 4 * (k - begin) + low;
        int above = 0, below = 0;
        for (int t = 0; t < 4; t++) {
            const int e = t < 2 ? x[t] * w[t] : x[t + 2] * v[t - 2];
            above += e > 0 ? e : 0;
            below += e < 0 ? e : 0;
        }
        if (above <= INT16_MAX && below >= INT16_MIN)
            continue;
        const uint32_t half = 0xffffu << 8 * low;
        for (int64_t i = 0; i < m; i += ROWS)
            cameo_near_mend(m - i < ROWS ? m - i : ROWS, a + i * words + k * ROWS,
                            (int32_t)((uint32_t)from[0] & half),
                            (int32_t)((uint32_t)from[ldb] & half), sums + i * WIDTH + lane / 2,
                            WIDTH);
    }
}

/* As cameo_bytes_panel; words: of k, an even number. What is read of B stays in the first cache. */
static __attribute__((noinline, unused)) void cameo_near_panel(int64_t m, int64_t width,
                                                               int64_t words, const cameo_word *a,
                                                               const cameo_word *b, int64_t ldb,
                                                               int64_t next, int32_t *sums)
{
    enum { PANEL = CAMEO_LANES * CAMEO_NEAR_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    enum { ROWS = CAMEO_TILE_ROWS, DEEP = CAMEO_NEAR_DEEP };
    int64_t at[DEEP];
    for (int64_t x = 0; x < DEEP && x < words; x++)
        at[x] = x * ldb;
    for (int64_t p = 0; p < words; p += DEEP) {
        const int64_t depth = words - p < DEEP ? words - p : DEEP;
        for (int64_t i = 0; i < m; i += CAMEO_NEAR_ROWS) {
            const int64_t rows = m - i < CAMEO_NEAR_ROWS ? m - i : CAMEO_NEAR_ROWS;
            for (int64_t part = 0; part < width; part += PANEL) {
                const int64_t left = width - part, columns = left < PANEL ? left : PANEL;
                cameo_near_tiles[rows - 1][(columns + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                    depth / 2, a + i / ROWS * ROWS * words + p * ROWS + i % ROWS,
                    b + p * ldb + part, at, i ? 0 : 4 * next, sums + i * WIDTH + part, WIDTH,
                    columns, p > 0);
            }
        }
    }
}
#endif

#endif
