/* Eight rows of words of 32 bits, turned in registers: squares of 4 x 4, two side by side where a
 * vector holds as many, since what moves a word from one half of it to the other takes several
 * times as long as what moves it within. */
#ifndef CAMEO_TURN_H
#define CAMEO_TURN_H

#include <stdint.h>

enum { CAMEO_TURN_ROWS = 8 };

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define CAMEO_TURNS
#endif
#endif

#ifdef CAMEO_TURNS
typedef uint32_t cameo_turn_quad __attribute__((vector_size(16), aligned(1), may_alias));
#ifdef __AVX__
typedef uint32_t cameo_turn_vec __attribute__((vector_size(32), aligned(4), may_alias));
enum { CAMEO_TURN_STEP = 8 };
#define CAMEO_TURN_JOIN(a, b)                                                                      \
    __builtin_shufflevector(*(const cameo_turn_quad *)(a), *(const cameo_turn_quad *)(b), 0, 1, 2, \
                            3, 4, 5, 6, 7)
#define CAMEO_TURN_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define CAMEO_TURN_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define CAMEO_TURN_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define CAMEO_TURN_LAST(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
typedef uint32_t cameo_turn_vec __attribute__((vector_size(16), aligned(4), may_alias));
enum { CAMEO_TURN_STEP = 4 };
#define CAMEO_TURN_JOIN(a, b) (*(const cameo_turn_quad *)(a))
#define CAMEO_TURN_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define CAMEO_TURN_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define CAMEO_TURN_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define CAMEO_TURN_LAST(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif
#endif

/* to[8 * x + r] = word x of row r, each bit of `flip` changed, for as many of the n words of eight
 * rows, `step` bytes apart, as squares hold; how many these are. */
static inline __attribute__((unused)) int64_t cameo_turn_rows(int64_t n, const void *rows,
                                                              int64_t step, uint32_t flip, void *to)
{
#ifdef CAMEO_TURNS
    const char *from = (const char *)rows;
    char *at = (char *)to;
    int64_t x = 0;
    for (; x + 4 <= n; x += 4, from += 16, at += 16 * CAMEO_TURN_ROWS)
        for (int half = 0; half < CAMEO_TURN_ROWS; half += CAMEO_TURN_STEP) {
            const char *row = from + half * step;
            cameo_turn_vec r[4];
            for (int i = 0; i < 4; i++)
                r[i] = CAMEO_TURN_JOIN(row + i * step, row + (i + 4) * step) ^ flip;
            const cameo_turn_vec a = CAMEO_TURN_LOW(r[0], r[1]), b = CAMEO_TURN_LOW(r[2], r[3]);
            const cameo_turn_vec c = CAMEO_TURN_HIGH(r[0], r[1]), d = CAMEO_TURN_HIGH(r[2], r[3]);
            char *put = at + 4 * half;
            *(cameo_turn_vec *)put = CAMEO_TURN_FIRST(a, b);
            *(cameo_turn_vec *)(put + 4 * CAMEO_TURN_ROWS) = CAMEO_TURN_LAST(a, b);
            *(cameo_turn_vec *)(put + 8 * CAMEO_TURN_ROWS) = CAMEO_TURN_FIRST(c, d);
            *(cameo_turn_vec *)(put + 12 * CAMEO_TURN_ROWS) = CAMEO_TURN_LAST(c, d);
        }
    return x;
#else
    (void)n, (void)rows, (void)step, (void)flip, (void)to;
    return 0;
#endif
}

#endif
