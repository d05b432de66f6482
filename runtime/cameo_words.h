/* What tiles of matrix registers multiply (codegen/cpu/amx.h), by vectors: one instruction
 * multiplies a word of a row, two numbers of bfloat16 or four bytes, by those of 16 columns and
 * adds what that gives. Up to eight rows at a time: their sums and a row of the panel fill the
 * registers, and each sum waits for others to be added to before it is again. Rows lie anywhere, so
 * that only places that are asked for are multiplied. */
#ifndef CAMEO_WORDS_H
#define CAMEO_WORDS_H

#include "cameo_matrix.h"

typedef enum cameo_words_kind {
    CAMEO_WORDS_BF16,
    CAMEO_WORDS_U8S8, /* the panel's bytes have signs */
    CAMEO_WORDS_S8S8
} cameo_words_kind;

#ifdef CAMEO_AMX

/* Rows of a group are 4, 6 or 8, columns vectors; words of a step of k. */
enum { CAMEO_WORDS_GROUPS = 3, CAMEO_WORDS_VECTORS = 3, CAMEO_WORDS_STEP = 16 };
enum { CAMEO_WORDS_MOST = 8 }; /* rows of a group */
enum { CAMEO_WORDS_TURN = 4 }; /* words of a step that are written out, of rows that lie evenly */
enum {
    CAMEO_WORDS_TWICE = 16
}; /* of one vector's that lie evenly: the second eight as the first */

typedef int32_t cameo_words_vector __attribute__((vector_size(64), aligned(4), may_alias));

/* How a panel lies: bytes from a step to the next, from a word's row to the next, and from 16
 * columns to those beside them. With each step so many lines are asked for, those at `next`
 * first. */
typedef struct cameo_words_panel {
    const char *at;
    int64_t step, word, column;
    const char *next;
    int64_t lines;
} cameo_words_panel;

/* Bytes of a word of 16 columns, and of 16 such rows. */
enum { CAMEO_WORDS_LINE = 64, CAMEO_WORDS_TILE = 1024 };

/* Steps of k: of each 64 bytes of a row, which begin at places[step], or `step` bytes behind those
 * of the one before. All have 16 words but those from `whole` on, which have `words`. */
typedef struct cameo_words_steps {
    int64_t n, whole, words;
    const int64_t *places;
    int64_t step;
} cameo_words_steps;

/* c = the sums of a group's rows, ldc bytes apart. less: what they begin with; NULL: what stands in
 * c. Of functions called placed steps have places, and 16 columns of a step are a tile that lies
 * together. */
typedef void cameo_words_group(const cameo_words_steps *steps, const char *const *rows,
                               const cameo_words_panel *b, char *c, int64_t ldc,
                               const cameo_words_vector *less);
typedef cameo_words_group *const cameo_words_table[CAMEO_WORDS_VECTORS];

/* Is there an instruction for it? */
static inline __attribute__((unused, always_inline)) int cameo_words_has(cameo_words_kind kind)
{
    int has = 0;
#ifdef __AVX512BF16__
    has |= kind == CAMEO_WORDS_BF16;
#endif
#ifdef __AVX512VNNI__
    has |= kind != CAMEO_WORDS_BF16;
#endif
    (void)kind;
    return has;
}

/* The table where there is one; NULL. */
#define CAMEO_WORDS_OF(kind, table) (cameo_words_has(CAMEO_WORDS_##kind) ? (table) : NULL)

/* sum + x * w. */
static inline __attribute__((unused, always_inline)) cameo_words_vector
cameo_words_dot(cameo_words_kind kind, cameo_words_vector sum, cameo_words_vector x,
                cameo_words_vector w)
{
#ifdef __AVX512BF16__
    if (kind == CAMEO_WORDS_BF16)
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
#endif
#ifdef __AVX512VNNI__
    if (kind != CAMEO_WORDS_BF16)
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
#endif
    (void)kind, (void)x, (void)w;
    return sum;
}

typedef int32_t cameo_words_eight __attribute__((vector_size(32), aligned(4), may_alias));

static inline __attribute__((unused, always_inline)) cameo_words_eight
cameo_words_first(cameo_words_vector x)
{
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
}

static inline __attribute__((unused, always_inline)) cameo_words_eight
cameo_words_second(cameo_words_vector x)
{
    return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* The first halves of both. */
static inline __attribute__((unused, always_inline)) cameo_words_vector
cameo_words_firsts(cameo_words_vector x, cameo_words_vector y)
{
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}

/* The first half of x and the second one of y. */
static inline __attribute__((unused, always_inline)) cameo_words_vector
cameo_words_beside(cameo_words_vector x, cameo_words_vector y)
{
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31);
}

/* Eight columns of two rows are a vector where a processor multiplies 16 columns in one piece. */
#if defined CAMEO_CPU_WHOLE && CAMEO_CPU_WHOLE
enum { CAMEO_WORDS_WHOLE = 1 };
#else
enum { CAMEO_WORDS_WHOLE = 0 };
#endif

/* The same of eight columns of a row: half the work where a processor does 16 in halves. */
static inline __attribute__((unused, always_inline)) cameo_words_eight
cameo_words_dot_half(cameo_words_kind kind, cameo_words_eight sum, cameo_words_eight x,
                     cameo_words_eight w)
{
#ifdef __AVX512BF16__
    if (kind == CAMEO_WORDS_BF16)
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
#endif
#ifdef __AVX512VNNI__
    if (kind != CAMEO_WORDS_BF16)
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
#endif
    (void)kind, (void)x, (void)w;
    return sum;
}

/* The instruction's first factor has no sign: it is 128 more than a byte that has one, and sums
 * begin with that much less. */
static inline __attribute__((unused)) void cameo_words_less(const cameo_words_steps *steps,
                                                            int64_t vectors,
                                                            const cameo_words_panel *b,
                                                            cameo_words_vector *less)
{
    const cameo_words_vector all = (cameo_words_vector){0} + (int32_t)0x80808080u;
    for (int64_t v = 0; v < vectors; v++) {
        cameo_words_vector sum = {0};
        const char *w = b->at + v * b->column;
        for (int64_t s = 0; s < steps->n; s++)
            for (int64_t i = 0; i < CAMEO_WORDS_STEP; i++)
                sum = cameo_words_dot(CAMEO_WORDS_S8S8, sum, all,
                                      *(const cameo_words_vector *)(w + s * b->step + i * b->word));
        less[v] = -sum;
    }
}

/* The address as it is, which compilers would else compute for all rows before the first step and
 * keep. */
#define CAMEO_WORDS_HERE(address) __asm__("" : "+r"(address))

/* The variable stays in memory: of what they have no register for compilers put some into vectors,
 * where reading it waits for products that were begun before. */
#define CAMEO_WORDS_AWAY(variable) __asm__("" : "+m"(variable))

/* Where the sums of a group are read. */
typedef struct cameo_words_job {
    const cameo_words_steps *steps;
    const char *const *rows;
    const cameo_words_panel *panel;
} cameo_words_job;

/* sums += those of so many rows and vectors; half: of the last vector eight columns are read, and
 * the others become 0. Of more rows than CAMEO_WORDS_MOST the second eight lie from one another as
 * the first do. The job is read for each step anew, so that addresses of the next group do not wait
 * for the products of this one. */
static inline __attribute__((unused, always_inline)) void
cameo_words_sums(cameo_words_kind kind, int placed, int height, int vectors, int half,
                 const cameo_words_job *job, cameo_words_vector sums[][CAMEO_WORDS_VECTORS])
{
    enum { MOST = CAMEO_WORDS_MOST, WORD = 4 };
    const cameo_words_vector flip = (cameo_words_vector){0} + (int32_t)0x80808080u;
    cameo_words_eight eight[MOST];
    cameo_words_vector pairs[MOST / 2];
#pragma GCC unroll 8
    for (int i = 0; i < height && i < MOST; i++) {
        eight[i] = cameo_words_first(sums[i][vectors - 1]);
        if (i % 2)
            pairs[i / 2] = cameo_words_firsts(sums[i - 1][vectors - 1], sums[i][vectors - 1]);
    }
    for (int64_t step = 0; step < job->steps->n; step++) {
        CAMEO_WORDS_AWAY(step);
        CAMEO_WORDS_AWAY(job);
        const int64_t s = step;
        const cameo_words_steps *steps = job->steps;
        const cameo_words_panel *b = job->panel;
        const char *next = b->next + s * b->lines * CAMEO_WORDS_LINE, *x[MOST];
        for (int64_t i = b->lines; i > 0; i--, next += CAMEO_WORDS_LINE)
            __builtin_prefetch(next, 0, 3);
        const int64_t word = placed ? CAMEO_WORDS_LINE : b->word;
        const int64_t column = placed ? CAMEO_WORDS_TILE : CAMEO_WORDS_LINE;
        const int64_t first = placed ? steps->places[s] : s * steps->step;
        const int64_t second = height > MOST ? job->rows[MOST] - job->rows[0] : 0;
        const int64_t end = WORD * (s < steps->whole ? CAMEO_WORDS_STEP : steps->words);
        const char *w = b->at + s * (placed ? 2 * CAMEO_WORDS_TILE : b->step);
#pragma GCC unroll 8
        for (int i = 0; i < height && i < MOST; i++)
            x[i] = job->rows[i] + first;
        for (int64_t at = 0; at < end; at += WORD, w += word) {
            cameo_words_vector y[CAMEO_WORDS_VECTORS];
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                y[v] = *(const cameo_words_vector *)(w + v * column);
            if (half && CAMEO_WORDS_WHOLE)
                y[vectors - 1] = cameo_words_firsts(y[vectors - 1], y[vectors - 1]);
            cameo_words_vector before = {0};
            const int64_t beyond = at + second;
#pragma GCC unroll 16
            for (int i = 0; i < height; i++) {
                const char *word_at = x[i % MOST] + (i < MOST ? at : beyond);
                cameo_words_vector all;
                __asm__("vpbroadcastd %1, %0" : "=v"(all) : "m"(*(const int32_t *)word_at));
                if (kind == CAMEO_WORDS_S8S8)
                    all ^= flip;
#pragma GCC unroll 3
                for (int v = 0; v < vectors - half; v++)
                    sums[i][v] = cameo_words_dot(kind, sums[i][v], all, y[v]);
                if (half && !CAMEO_WORDS_WHOLE)
                    eight[i] = cameo_words_dot_half(kind, eight[i], cameo_words_first(all),
                                                    cameo_words_first(y[vectors - 1]));
                else if (half && i % 2)
                    pairs[i / 2] = cameo_words_dot(
                        kind, pairs[i / 2], cameo_words_beside(before, all), y[vectors - 1]);
                before = all;
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; half && i < height; i++) {
        if (CAMEO_WORDS_WHOLE)
            eight[i] = i % 2 ? cameo_words_second(pairs[i / 2]) : cameo_words_first(pairs[i / 2]);
        sums[i][vectors - 1] = __builtin_shufflevector(eight[i], (cameo_words_eight){0}, 0, 1, 2, 3,
                                                       4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
}

/* sums += those of so many rows of bfloat16, which lie CAMEO_WORDS_LINE bytes apart, by two vectors
 * of a placed panel; all steps are whole. Rows need one address, so that nothing else of a group is
 * kept in memory, and the end of a loop of so few turns is foreseen. */
static inline __attribute__((unused, always_inline)) void
cameo_words_even(int height, const cameo_words_steps *steps, const char *row,
                 const cameo_words_panel *b, cameo_words_vector sums[][CAMEO_WORDS_VECTORS])
{
    enum { LINE = CAMEO_WORDS_LINE, TILE = CAMEO_WORDS_TILE, TURN = CAMEO_WORDS_TURN };
    const cameo_words_kind kind = CAMEO_WORDS_BF16;
    const int64_t *place = steps->places, *const last = place + steps->n, lines = b->lines;
    const char *w = b->at, *next = b->next;
    for (; place < last; place++, w += TILE) {
        const char *x = row + *place;
        for (int64_t i = lines; i > 0; i--, next += LINE)
            __builtin_prefetch(next, 0, 3);
        for (const char *end = w + TILE; w < end; w += TURN * LINE, x += 4 * TURN)
#pragma GCC unroll 4
            for (int k = 0; k < TURN; k++) {
                const cameo_words_vector low = *(const cameo_words_vector *)(w + k * LINE);
                const cameo_words_vector high = *(const cameo_words_vector *)(w + k * LINE + TILE);
#pragma GCC unroll 16
                for (int i = 0; i < height; i++) {
                    const char *at = x + i * LINE + 4 * k;
                    cameo_words_vector all;
                    __asm__("vpbroadcastd %1, %0" : "=v"(all) : "m"(*(const int32_t *)at));
                    sums[i][0] = cameo_words_dot(kind, sums[i][0], all, low);
                    sums[i][1] = cameo_words_dot(kind, sums[i][1], all, high);
                }
            }
    }
}

/* One of the functions above, of so many rows and vectors. */
static inline __attribute__((unused, always_inline)) void
cameo_words_of(cameo_words_kind kind, int placed, int height, int vectors,
               const cameo_words_steps *steps, const char *const *rows, const cameo_words_panel *b,
               char *c, int64_t ldc, const cameo_words_vector *less)
{
    cameo_words_vector sums[CAMEO_WORDS_MOST][CAMEO_WORDS_VECTORS];
    const char *from = less ? (const char *)less : c;
    const int64_t ldf = less ? 0 : ldc;
#pragma GCC unroll 8
    for (int i = 0; i < height; i++, from += ldf) {
        CAMEO_WORDS_HERE(from);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            sums[i][v] = *(const cameo_words_vector *)(from + 64 * v);
    }
    const cameo_words_job job = {steps, rows, b};
    cameo_words_sums(kind, placed, height, vectors, 0, &job, sums);
#pragma GCC unroll 8
    for (int i = 0; i < height; i++, c += ldc) {
        CAMEO_WORDS_HERE(c);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            *(cameo_words_vector *)(c + 64 * v) = sums[i][v];
    }
}

/* Rows of the next group where so many are left: as few as make the groups that follow fill up. */
static inline __attribute__((unused)) int64_t cameo_words_height(int64_t left)
{
    if (left <= 4)
        return 4;
    return left <= 6 || (left > 8 && left <= 12) || left == 17 || left == 18 ? 6 : 8;
}

/* How a panel's groups ask for the lines at b->next: of each turn, of n rows, its part, a few with
 * each step, so that memory never rests. */
typedef struct cameo_words_asking {
    const char *end;
    int64_t each, step;
} cameo_words_asking;

static inline __attribute__((unused)) cameo_words_asking
cameo_words_ask(cameo_words_panel *b, int64_t n, int64_t steps, int64_t lines, int64_t turn,
                int64_t turns)
{
    const int64_t groups = (n + CAMEO_WORDS_MOST - 1) / CAMEO_WORDS_MOST, all = groups * turns;
    if (lines == 0) /* dividing takes as long as a short group */
        return (cameo_words_asking){b->next, 0, 0};
    const int64_t each = (lines + all - 1) / all;
    const cameo_words_asking ask = {b->next + lines * CAMEO_WORDS_LINE, each * CAMEO_WORDS_LINE,
                                    (each + steps - 1) / steps};
    b->next += turn * groups * ask.each;
    return ask;
}

/* The next group's part. */
static inline __attribute__((unused)) void
cameo_words_ask_next(cameo_words_panel *b, const cameo_words_asking *ask, int first)
{
    b->next += first ? 0 : ask->each;
    b->lines = b->next < ask->end ? ask->step : 0;
}

/* n rows of c by a panel, from rows[0] on; behind rows[n - 1] up to 3 more pointers are read, and
 * rows of c written. Of the lines at b->next those of turn `turn` of so many are asked for. */
static __attribute__((noinline, unused)) void
cameo_words_rows(const cameo_words_table *groups, const cameo_words_steps *steps, int64_t n,
                 const char *const *rows, int64_t vectors, const cameo_words_panel *b,
                 int64_t lines, int64_t turn, int64_t turns, char *c, int64_t ldc,
                 const cameo_words_vector *less)
{
    cameo_words_panel panel = *b;
    const cameo_words_asking ask = cameo_words_ask(&panel, n, steps->n, lines, turn, turns);
    for (int64_t i = 0, some; i < n; i += some) {
        some = cameo_words_height(n - i);
        cameo_words_ask_next(&panel, &ask, i == 0);
        groups[some / 2 - 2][vectors - 1](steps, rows + i, &panel, c + i * ldc, ldc, less);
    }
}
#endif
#endif
