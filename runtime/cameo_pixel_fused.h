/* Convolutions in pixels by vectors (cameo_words.h) whose sums stay in registers until what
 * surrounds them is done: to 32 channels of up to 8 places at a time, or 16 of up to 16, from there
 * to y. Where the sums of a place are of few products, storing and reading them would take as long.
 */
#ifndef CAMEO_PIXEL_FUSED_H
#define CAMEO_PIXEL_FUSED_H

#include "cameo_pixel_bytes.h"
#include "cameo_pixel_conv.h"

#if defined(CAMEO_AMX) && defined(__AVX512BW__) && defined(__AVX512DQ__)

/* y and what is added, NULL: nothing: the first place's pixel of the block, and where the places of
 * a group lie from there; so many count, the others are the last one again. */
typedef struct cameo_pixel_places {
    char *y;
    const int64_t *at;
    const char *added;
    int64_t n;
    const int64_t *added_at;
} cameo_pixel_places;

/* The first place's pixels of a block, and bytes from line to line and from block to block. */
typedef struct cameo_pixel_fuse {
    char *y;
    const char *added;
    int64_t down, added_down, apart, added_apart;
} cameo_pixel_fuse;

/* Places of a turn, which blocks share: a panel does all their groups before the next one. */
enum { CAMEO_PIXEL_TURN = CAMEO_PIXEL_EXACT * CAMEO_PIXEL_TILE };

/* Places behind those of a turn: a group's that are the last one again, and what is stored eight at
 * a time. */
enum { CAMEO_PIXEL_BEHIND = 8 };

/* Where they lie: in x, y and what is added. */
typedef struct cameo_pixel_kept {
    int64_t first, last; /* behind the last place; 0: they are nobody's */
    const char *rows[CAMEO_PIXEL_TURN + CAMEO_PIXEL_BEHIND];
    int64_t at[CAMEO_PIXEL_TURN + CAMEO_PIXEL_BEHIND];
    int64_t added_at[CAMEO_PIXEL_TURN + CAMEO_PIXEL_BEHIND];
} cameo_pixel_kept;

/* Groups that a panel does one behind another, `times` of them: their sums begin with `less`, and
 * `ends` says how they are finished. Rows and places are those of the next group and all behind.
 * beside: behind a number of each place, which is added as often as `often` says (_beside). */
typedef struct cameo_pixel_run {
    cameo_words_job job;
    int64_t times;
    cameo_words_panel panel;
    cameo_words_asking ask;
    cameo_words_vector less[2];
    cameo_pixel_places places;
    const void *ends;
    const int32_t *beside, *often;
} cameo_pixel_run;

typedef void cameo_pixel_group(cameo_pixel_run *run);

/* Behind groups of 4, 6 and 8 places: one of 16, 8 and 9 that lie one behind the other, and 9 that
 * lie anywhere. */
enum { CAMEO_PIXEL_TWICE = 3, CAMEO_PIXEL_EVEN, CAMEO_PIXEL_MORE, CAMEO_PIXEL_ANY };

/* Groups by one vector, by two and by one and a half; NULL: no panel of the convolution has such
 * columns. Of 16 places there is one for one vector, whose 8 sums of 8 places would wait for one
 * another; of places one behind the other, which need one address, for two. NULL: there is none. */
typedef struct cameo_pixel_groups {
    cameo_pixel_group *const *widths[3];
} cameo_pixel_groups;

/* Of those that are called `name`, as many as `one`, `two` and `half`, 0 or 1, say. */
#define CAMEO_PIXEL_GROUPS_OF(name, one, two, half)                                                \
    {                                                                                              \
        {                                                                                          \
            (one) ? name##_1_0 : NULL, (two) ? name##_2_0 : NULL, (half) ? name##_2_1 : NULL       \
        }                                                                                          \
    }

static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_begin(int height, int vectors, const cameo_words_vector *less,
                        cameo_words_vector sums[][CAMEO_WORDS_VECTORS])
{
#pragma GCC unroll 16
    for (int i = 0; i < height; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sums[i][v] = less[v];
}

/* What sums begin with beside `less`: nothing, or some of a number of their place. Those behind the
 * last place are the last one's again. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_begin_alone(int height, int vectors, const cameo_pixel_run *run,
                        cameo_words_vector sums[][CAMEO_WORDS_VECTORS])
{
    (void)height, (void)vectors, (void)run, (void)sums;
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_begin_beside(int height, int vectors, const cameo_pixel_run *run,
                         cameo_words_vector sums[][CAMEO_WORDS_VECTORS])
{
    typedef uint32_t cameo_wrapping __attribute__((vector_size(64), aligned(4), may_alias));
    const int64_t n = run->places.n;
    cameo_wrapping often[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
        often[v] = *(const cameo_wrapping *)(run->often + 16 * v);
#pragma GCC unroll 16
    for (int i = 0; i < height; i++) {
        const uint32_t number = (uint32_t)run->beside[i < n ? i - n : -1];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sums[i][v] = (cameo_words_vector)((cameo_wrapping)sums[i][v] + often[v] * number);
    }
}

/* Behind a group of so many places: is there another one to multiply? */
static inline __attribute__((unused, always_inline)) int
cameo_pixel_run_next(cameo_pixel_run *run, int64_t height)
{
    run->job.rows += height;
    run->places.at += height;
    run->places.added_at += height;
    run->places.n -= height;
    cameo_words_ask_next(&run->panel, &run->ask, 0);
    return --run->times > 0;
}

#define CAMEO_PIXEL_GROUP(name, kind, begin, end, height, vectors, half)                           \
    static __attribute__((noinline, unused)) void name##_##height##_##vectors##_##half(            \
        cameo_pixel_run *run)                                                                      \
    {                                                                                              \
        do {                                                                                       \
            enum { ROOM = (height) > CAMEO_WORDS_MOST ? (height) : CAMEO_WORDS_MOST };             \
            cameo_words_vector sums[ROOM][CAMEO_WORDS_VECTORS];                                    \
            cameo_pixel_fused_begin(height, vectors, run->less, sums);                             \
            begin(height, vectors, run, sums);                                                     \
            CAMEO_WORDS_AWAY(run);                                                                 \
            cameo_words_sums(kind, 1, height, vectors, half, &run->job, sums);                     \
            CAMEO_WORDS_AWAY(run);                                                                 \
            end(height, vectors, sums, &run->places, run->ends);                                   \
        } while (cameo_pixel_run_next(run, height));                                               \
    }

#define CAMEO_PIXEL_UNROLL(times) CAMEO_PIXEL_PRAGMA(GCC unroll times)
#define CAMEO_PIXEL_PRAGMA(what) _Pragma(#what)

/* 16 places by one vector, finished four at a time. */
#define CAMEO_PIXEL_GROUP_TWICE(name, kind, begin, end)                                            \
    static __attribute__((noinline, unused)) void name##_16_1_0(cameo_pixel_run *run)              \
    {                                                                                              \
        enum { ALL = CAMEO_WORDS_TWICE, SOME = 4 };                                                \
        do {                                                                                       \
            cameo_words_vector sums[ALL][CAMEO_WORDS_VECTORS],                                     \
                part[CAMEO_WORDS_MOST][CAMEO_WORDS_VECTORS];                                       \
            cameo_words_vector kept[ALL];                                                          \
            cameo_pixel_places some = run->places;                                                 \
            cameo_pixel_fused_begin(ALL, 1, run->less, sums);                                      \
            begin(ALL, 1, run, sums);                                                              \
            CAMEO_WORDS_AWAY(run);                                                                 \
            cameo_words_sums(kind, 1, ALL, 1, 0, &run->job, sums);                                 \
            CAMEO_WORDS_AWAY(run);                                                                 \
            CAMEO_PIXEL_UNROLL(16)                                                                 \
            for (int i = 0; i < ALL; i++)                                                          \
                kept[i] = sums[i][0];                                                              \
            CAMEO_PIXEL_UNROLL(1)                                                                  \
            for (int j = 0; j < ALL; j += SOME, some.at += SOME, some.added_at += SOME) {          \
                CAMEO_PIXEL_UNROLL(4)                                                              \
                for (int i = 0; i < SOME; i++)                                                     \
                    part[i][0] = kept[j + i];                                                      \
                end(SOME, 1, part, &some, run->ends);                                              \
            }                                                                                      \
        } while (cameo_pixel_run_next(run, ALL));                                                  \
    }

/* So many places of bfloat16 by two vectors, which lie one behind the other: all of them count. */
#define CAMEO_PIXEL_GROUP_EVEN(name, end, height)                                                  \
    static __attribute__((noinline, unused)) void name##_##height##_even(cameo_pixel_run *run)     \
    {                                                                                              \
        do {                                                                                       \
            cameo_words_vector sums[height][CAMEO_WORDS_VECTORS];                                  \
            cameo_pixel_places own = run->places;                                                  \
            own.n = height;                                                                        \
            cameo_pixel_fused_begin(height, 2, run->less, sums);                                   \
            CAMEO_WORDS_AWAY(run);                                                                 \
            cameo_words_even(height, run->job.steps, run->job.rows[0], &run->panel, sums);         \
            CAMEO_WORDS_AWAY(run);                                                                 \
            end(height, 2, sums, &own, run->ends);                                                 \
        } while (cameo_pixel_run_next(run, height));                                               \
    }

#define CAMEO_PIXEL_HEIGHTS(name, kind, begin, end, vectors, half, twice, even, more, nine)        \
    CAMEO_PIXEL_GROUP(name, kind, begin, end, 4, vectors, half)                                    \
    CAMEO_PIXEL_GROUP(name, kind, begin, end, 6, vectors, half)                                    \
    CAMEO_PIXEL_GROUP(name, kind, begin, end, 8, vectors, half)                                    \
    static __attribute__((unused)) cameo_pixel_group *const name##_##vectors##_##half[] = {        \
        name##_4_##vectors##_##half, name##_6_##vectors##_##half, name##_8_##vectors##_##half,     \
        twice, even, more, nine};

/* Tables of groups for CAMEO_PIXEL_GROUPS_OF, whose sums `begin` begins and `end` finishes. twice:
 * the group of 16 places by one vector, even and more: those of 8 and 9 by two that lie one behind
 * the other, nine: of 9 that lie anywhere; NULL: there is none. */
#define CAMEO_PIXEL_GROUPS(name, kind, begin, end, twice, even, more, nine)                        \
    CAMEO_PIXEL_HEIGHTS(name, kind, begin, end, 1, 0, twice, NULL, NULL, NULL)                     \
    CAMEO_PIXEL_HEIGHTS(name, kind, begin, end, 2, 0, NULL, even, more, nine)                      \
    CAMEO_PIXEL_HEIGHTS(name, kind, begin, end, 2, 1, NULL, NULL, NULL, NULL)

/* to[i], numbers or addresses: of n places in lines of `row`, the first one place `across` of its
 * line and `at`; places are `step` bytes apart and lines `down`. Up to 7 behind them are written.
 */
static inline __attribute__((unused)) void cameo_pixel_lines(int64_t row, int64_t across, int64_t n,
                                                             int64_t at, int64_t step, int64_t down,
                                                             void *to)
{
    typedef int64_t cameo_one __attribute__((may_alias));
    typedef int64_t cameo_eight __attribute__((vector_size(64), aligned(8), may_alias));
    const cameo_eight steps = (cameo_eight){0, 1, 2, 3, 4, 5, 6, 7} * step;
    cameo_one *places = (cameo_one *)to;
    for (int64_t i = 0, end; i < n; i = end, across = 0) {
        end = n - i < row - across ? n : i + row - across;
        for (int64_t j = i; j < end; j += 8)
            *(cameo_eight *)(places + j) = steps + (at + (j - i) * step);
        at += down - across * step;
    }
    for (int64_t i = n; i < n + 3; i++)
        places[i] = places[n - 1];
}

/* Those of n places from `first` on. */
static inline __attribute__((unused)) void
cameo_pixel_keep(const cameo_pixel_conv *c, const cameo_pixel_cut *cut, int64_t first, int64_t n,
                 const cameo_pixel_fuse *f, cameo_pixel_kept *kept)
{
    enum { STEP = CAMEO_PIXEL };
    if (kept->last == first + n && kept->first == first)
        return;
    kept->first = first;
    kept->last = first + n;
    const int64_t line = first / c->row, across = first - line * c->row;
    const char *x = cut->x + line * c->down + across * c->step;
    cameo_pixel_lines(c->row, across, n, (int64_t)(intptr_t)x, c->step, c->down, kept->rows);
    cameo_pixel_lines(c->row, across, n, line * f->down + across * STEP, STEP, f->down, kept->at);
    if (f->added)
        cameo_pixel_lines(c->row, across, n, line * f->added_down + across * STEP, STEP,
                          f->added_down, kept->added_at);
}

/* Zeros to channels of a pixel's second panel, which nobody reads. */
static inline __attribute__((unused)) void cameo_pixel_unmade(char *y, const int64_t *at, int64_t n)
{
    typedef char cameo_panel __attribute__((vector_size(32), aligned(1), may_alias));
    for (int64_t i = 0; i < n; i++)
        *(cameo_panel *)(y + at[i] + CAMEO_PIXEL_PANEL) = (cameo_panel){0};
}

/* What a panel's columns are finished by, and where they are in a pixel of y: bytes. */
typedef struct cameo_pixel_panel_ends {
    const void *ends;
    const int32_t *less;           /* of the block's first column; NULL: nothing */
    int64_t each;                  /* bytes of y's pixel that a panel makes */
    const int32_t *beside, *often; /* of all places; of the first column; NULL: nothing */
} cameo_pixel_panel_ends;

/* What the sums of a panel's columns begin with; from: what is taken off them; NULL: nothing. */
static inline __attribute__((unused)) void
cameo_pixel_fused_less(cameo_pixel_kind kind, const cameo_words_steps *steps, int64_t vectors,
                       const cameo_words_panel *panel, const int32_t *from,
                       cameo_words_vector less[2])
{
    const cameo_words_vector *table = (const cameo_words_vector *)from;
    cameo_words_vector low = {0}, high = {0};
    if (kind == CAMEO_PIXEL_S8) {
        less[1] = high;
        cameo_words_less(steps, vectors, panel, less);
        low = less[0];
        high = less[1];
    }
    if (table) {
        low -= table[0];
        high -= table[1];
    }
    less[0] = low;
    less[1] = high;
}

/* Do n places lie one behind the other? */
static inline __attribute__((unused)) int cameo_pixel_even(const char *const *rows, int64_t n)
{
    return rows[n - 1] - rows[0] == (n - 1) * CAMEO_PIXEL;
}

/* Which of a table is the group of nine that n places end with, one of eight leaving a place alone;
 * 0: none. full: pixels are. */
static inline __attribute__((unused)) int cameo_pixel_nine(cameo_pixel_group *const *of, int full,
                                                           const char *const *rows, int64_t n)
{
    enum { MOST = CAMEO_WORDS_MOST, EVEN = CAMEO_PIXEL_MORE, ANY = CAMEO_PIXEL_ANY };
    if (n <= MOST || n % MOST != 1)
        return 0;
    if (full && of[EVEN] && cameo_pixel_even(rows + n - MOST - 1, MOST + 1))
        return EVEN;
    return of[ANY] ? ANY : 0;
}

/* How groups of a panel are cut. apart: bytes between the ends of 16 places by one vector, 0: they
 * are not done together; full: pixels are, so that places one behind the other need one address;
 * nine: the last group, of nine, 0: it has fewer. */
typedef struct cameo_pixel_cutting {
    cameo_pixel_group *const *of;
    int64_t apart;
    int full, nine;
} cameo_pixel_cutting;

/* Which of the table the next group is, `left` places from the end, and how many it has. */
static __attribute__((noinline, unused)) int
cameo_pixel_which(const cameo_pixel_cutting *c, const char *const *rows, int64_t left,
                  int64_t *some)
{
    enum { MOST = CAMEO_WORDS_MOST, TWICE = CAMEO_WORDS_TWICE };
    *some = TWICE;
    if (c->apart && left >= TWICE && rows[TWICE - 1] - rows[0] == c->apart)
        return CAMEO_PIXEL_TWICE;
    *some = left;
    if (c->nine && left == MOST + 1)
        return c->nine;
    *some = c->nine ? MOST : cameo_words_height(left);
    return c->full && *some == MOST && c->of[CAMEO_PIXEL_EVEN] && cameo_pixel_even(rows, MOST)
               ? CAMEO_PIXEL_EVEN
               : (int)(*some / 2 - 2);
}

/* How many of the groups that are left are alike, and what does them. */
static inline __attribute__((unused)) cameo_pixel_group *
cameo_pixel_fused_next(const cameo_pixel_cutting *c, cameo_pixel_run *run)
{
    const char *const *rows = run->job.rows;
    int64_t left = run->places.n, some;
    const int which = cameo_pixel_which(c, rows, left, &some);
    run->times = 0;
    do {
        run->times++;
        rows += some;
        left -= some;
    } while (left > 0 && cameo_pixel_which(c, rows, left, &some) == which);
    return c->of[which];
}

/* Tile t of block b and those behind it that the cut has, as many as make a turn, to y. */
static __attribute__((noinline, unused)) void
cameo_pixel_fused(const cameo_pixel_groups *groups, const cameo_pixel_conv *c,
                  const cameo_pixel_cut *cut, int64_t b, int64_t t, const cameo_pixel_fuse *f,
                  const cameo_pixel_panel_ends *ends, cameo_pixel_kept *kept)
{
    enum { PANEL = CAMEO_PIXEL_PANEL, LINE = 4 * PANEL, TILE = CAMEO_PIXEL_TILE };
    enum { TURN = CAMEO_PIXEL_EXACT };
    const int64_t panels = c->columns / PANEL, read = b == c->blocks - 1 ? c->last : panels;
    const int64_t size = c->steps * TILE * LINE, lines = cut->ahead ? size / CAMEO_AMX_LINE : 0;
    const int64_t after = (t + TURN < cut->t1 ? t + TURN : cut->t1) * TILE, first = t * TILE;
    const int64_t n = (after < c->places ? after : c->places) - first;
    const int64_t turns = (cut->t1 - cut->t0 + TURN - 1) / TURN, turn = (t - cut->t0) / TURN;
    const cameo_words_steps steps = {c->steps, c->whole, c->words, cut->at, 0};
    const char *w = cut->w + b * panels * size;
    cameo_pixel_run run;
    cameo_pixel_keep(c, cut, first, n, f, kept);
    for (int64_t p = 0; p < read; p++, w += size) {
        const int64_t last = b == c->blocks - 1 && p == read - 1;
        const int64_t edge = (c->edge && last) || c->narrow;
        cameo_pixel_group *const *const of = groups->widths[edge ? 0 : 1 + (c->half && last)];
        const int full = c->whole == c->steps;
        const cameo_pixel_cutting cutting = {
            of, of[CAMEO_PIXEL_TWICE] ? (CAMEO_WORDS_TWICE - 1) * c->step : 0, full,
            cameo_pixel_nine(of, full, kept->rows, n)};
        run.panel =
            (cameo_words_panel){w, LINE * TILE, LINE / 2, LINE * TILE / 2, w + cut->ahead, 0};
        run.ask = cameo_words_ask(&run.panel, n - (cutting.nine > 0), c->steps, lines, turn, turns);
        cameo_words_ask_next(&run.panel, &run.ask, 1);
        cameo_pixel_fused_less(c->kind, &steps, 2 - edge, &run.panel,
                               ends->less ? ends->less + p * PANEL : NULL, run.less);
        run.ends = (const char *)ends->ends + p * ends->each;
        if (ends->beside) {
            run.beside = ends->beside + first + n;
            run.often = ends->often + p * PANEL;
        }
        run.job = (cameo_words_job){&steps, kept->rows, &run.panel};
        run.places = (cameo_pixel_places){f->y, kept->at, f->added, n, kept->added_at};
        while (run.places.n > 0)
            cameo_pixel_fused_next(&cutting, &run)(&run);
    }
    if (read < panels)
        cameo_pixel_unmade(f->y, kept->at, n);
}

/* The same of block b, f being block 0's. */
static inline __attribute__((unused)) cameo_pixel_fuse
cameo_pixel_fuse_at(const cameo_pixel_fuse *f, int64_t b)
{
    cameo_pixel_fuse to = *f;
    to.y += b * f->apart;
    if (f->added)
        to.added += b * f->added_apart;
    return to;
}

#ifdef __AVX512BF16__
#ifdef CAMEO_AMX_bf16_placed
#define CAMEO_PIXEL_FUSED_BF16 1

/* Block b's numbers of a table; NULL: there is none. */
static inline __attribute__((unused)) const float *
cameo_pixel_of(const float *table, const cameo_pixel_conv *c, int64_t b)
{
    return table ? table + b * c->columns : NULL;
}

/* What is added to vector v of a place. */
static inline __attribute__((unused, always_inline)) cameo_pixel_floats
cameo_pixel_fused_added(const char *added, int v)
{
    cameo_pixel_byte_words x; /* converting, compilers take 16 apart */
    __asm__("vpmovzxwd %1, %0" : "=v"(x) : "m"(*(const cameo_pixel_half *)(added + 32 * v)));
    return (cameo_pixel_floats)(x << 16);
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_store(char *to, cameo_pixel_floats x, cameo_pixel_floats y)
{
    cameo_pixel_byte_pixel both;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(x), "v"(y));
    *(cameo_pixel_byte_pixel *)to = both;
}

/* As cameo_pixel_finish does it. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_finish_of(int height, int vectors, int more,
                            cameo_words_vector sums[][CAMEO_WORDS_VECTORS],
                            const cameo_pixel_places *places, const cameo_pixel_ends *e)
{
    const cameo_pixel_floats zero = {0}, low = e->low - zero, high = e->high - zero;
    cameo_pixel_floats scale[2] = {zero + 1, zero + 1}, bias[2] = {zero, zero};
    cameo_pixel_floats by[2] = {zero + 1, zero + 1};
    const int64_t n = places->n, *at = places->at, *added_at = places->added_at;
    const char *added = places->added;
    char *to = places->y;
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        scale[v] = e->scale ? *(const cameo_pixel_floats *)(e->scale + 16 * v) : scale[v];
        bias[v] = e->bias ? *(const cameo_pixel_floats *)(e->bias + 16 * v) : bias[v];
        by[v] = e->by ? *(const cameo_pixel_floats *)(e->by + 16 * v) : by[v];
    }
#pragma GCC unroll 16
    for (int i = 0; i < height; i++) {
        cameo_pixel_floats x[2];
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            const cameo_pixel_floats s = v < vectors ? (cameo_pixel_floats)sums[i][v] : zero;
            x[v] = cameo_pixel_muladd(s, scale[v], bias[v]);
            if (more)
                x[v] = cameo_pixel_muladd(cameo_pixel_fused_added(added + added_at[i], v), by[v],
                                          x[v]);
            __asm__("vmaxps %1, %2, %0" : "=v"(x[v]) : "v"(x[v]), "v"(low));
            __asm__("vminps %1, %2, %0" : "=v"(x[v]) : "v"(x[v]), "v"(high));
        }
        if (i < n)
            cameo_pixel_fused_store(to + at[i], x[0], x[1]);
    }
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_finish(int height, int vectors,
                         cameo_words_vector sums[][CAMEO_WORDS_VECTORS],
                         const cameo_pixel_places *places, const void *ends)
{
    const cameo_pixel_ends *e = (const cameo_pixel_ends *)ends;
    if (places->added)
        cameo_pixel_fused_finish_of(height, vectors, 1, sums, places, e);
    else
        cameo_pixel_fused_finish_of(height, vectors, 0, sums, places, e);
}

/* As cameo_pixel_silu does it. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_silu(int height, int vectors,
                       cameo_words_vector sums[][CAMEO_WORDS_VECTORS],
                       const cameo_pixel_places *places, const void *ends)
{
    const cameo_pixel_ends *e = (const cameo_pixel_ends *)ends;
    const cameo_pixel_floats zero = {0};
    cameo_pixel_floats scale[2] = {zero + 1, zero + 1}, bias[2] = {zero, zero};
    const int64_t n = places->n, *at = places->at, *added_at = places->added_at;
    const char *added = places->added;
    char *to = places->y;
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        scale[v] = e->scale ? *(const cameo_pixel_floats *)(e->scale + 16 * v) : scale[v];
        bias[v] = e->bias ? *(const cameo_pixel_floats *)(e->bias + 16 * v) : bias[v];
        scale[v] *= CAMEO_PIXEL_SILU_BY;
        bias[v] *= CAMEO_PIXEL_SILU_BY;
    }
#pragma GCC unroll 16
    for (int i = 0; i < height; i++) {
        cameo_pixel_floats x[2] = {zero, zero};
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const cameo_pixel_floats s = (cameo_pixel_floats)sums[i][v];
            x[v] = cameo_pixel_silu_of(cameo_pixel_muladd(s, scale[v], bias[v]));
            if (added)
                x[v] += cameo_pixel_fused_added(added + added_at[i], v);
        }
        if (i < n)
            cameo_pixel_fused_store(to + at[i], x[0], x[1]);
    }
}

/* Eight sums of bfloat16 wait for one another: a product takes six cycles, of which some processors
 * begin two in each. */
CAMEO_PIXEL_GROUP_TWICE(cameo_pixel_fused_clip, CAMEO_WORDS_BF16, cameo_pixel_begin_alone,
                        cameo_pixel_fused_finish)
CAMEO_PIXEL_GROUP_TWICE(cameo_pixel_fused_sigmoid, CAMEO_WORDS_BF16, cameo_pixel_begin_alone,
                        cameo_pixel_fused_silu)
CAMEO_PIXEL_GROUP_EVEN(cameo_pixel_fused_clip, cameo_pixel_fused_finish, 8)
CAMEO_PIXEL_GROUP_EVEN(cameo_pixel_fused_clip, cameo_pixel_fused_finish, 9)
CAMEO_PIXEL_GROUP_EVEN(cameo_pixel_fused_sigmoid, cameo_pixel_fused_silu, 8)
CAMEO_PIXEL_GROUP(cameo_pixel_fused_clip, CAMEO_WORDS_BF16, cameo_pixel_begin_alone,
                  cameo_pixel_fused_finish, 9, 2, 0)

CAMEO_PIXEL_GROUPS(cameo_pixel_fused_clip, CAMEO_WORDS_BF16, cameo_pixel_begin_alone,
                   cameo_pixel_fused_finish, cameo_pixel_fused_clip_16_1_0,
                   cameo_pixel_fused_clip_8_even, cameo_pixel_fused_clip_9_even,
                   cameo_pixel_fused_clip_9_2_0)
CAMEO_PIXEL_GROUPS(cameo_pixel_fused_sigmoid, CAMEO_WORDS_BF16, cameo_pixel_begin_alone,
                   cameo_pixel_fused_silu, cameo_pixel_fused_sigmoid_16_1_0,
                   cameo_pixel_fused_sigmoid_8_even, NULL, NULL)

/* Units from .. to; f and e: of block 0. */
static __attribute__((noinline, unused)) void
cameo_pixel_fused_halves(const cameo_pixel_groups *groups, const cameo_pixel_conv *c,
                         cameo_pixel_cut *cut, int64_t from, int64_t to, const cameo_pixel_fuse *f,
                         const cameo_pixel_ends *e)
{
    cameo_pixel_kept kept; /* setting the rest would take as long as few sums */
    kept.last = 0;
    cut->end = to;
    for (cut->u = cut->from = from; cut->u < cut->end; cut->u = cut->next) {
        cameo_pixel_unit(c, cut);
        for (int64_t b = cut->b0; b < cut->b1; b++) {
            const cameo_pixel_fuse block = cameo_pixel_fuse_at(f, b);
            const cameo_pixel_ends own = {cameo_pixel_of(e->scale, c, b),
                                          cameo_pixel_of(e->bias, c, b),
                                          NULL,
                                          cameo_pixel_of(e->by, c, b),
                                          e->low,
                                          e->high};
            const cameo_pixel_panel_ends ends = {&own, NULL, 0, NULL, NULL};
            for (int64_t t = cut->t0; t < cut->t1; t += CAMEO_PIXEL_EXACT)
                cameo_pixel_fused(groups, c, cut, b, t, &block, &ends, &kept);
        }
    }
}
#endif
#endif

#ifdef __AVX512VNNI__
#if defined(CAMEO_AMX_u8s8_placed) || defined(CAMEO_AMX_s8s8_placed)
#define CAMEO_PIXEL_FUSED_BYTES 1

typedef struct cameo_pixel_byte_panel {
    const cameo_pixel_byte_ends *ends;
    int64_t column; /* the first one */
    int bare;       /* cameo_pixel_byte_bare */
} cameo_pixel_byte_panel;

typedef int64_t cameo_pixel_fused_both __attribute__((vector_size(64), aligned(1), may_alias));
typedef int64_t cameo_pixel_fused_one __attribute__((vector_size(32), aligned(1), may_alias));

static inline __attribute__((unused, always_inline)) cameo_pixel_byte_floats
cameo_pixel_byte_all(float x)
{
    return x - (cameo_pixel_byte_floats){0};
}

/* A byte as a number; one that may have a sign: `as`, 2^23 with the byte's sign turned, makes it
 * one, and `less` is what that adds. */
static inline __attribute__((unused, always_inline)) cameo_pixel_byte_floats
cameo_pixel_fused_byte(const char *at, int plain, cameo_pixel_byte_ints as,
                       cameo_pixel_byte_floats less)
{
    cameo_pixel_byte_ints x;
    __asm__("vpmovzxbd %1, %0" : "=v"(x) : "m"(*(const cameo_pixel_byte_few *)at));
    if (plain)
        return __builtin_convertvector(x, cameo_pixel_byte_floats);
    return (cameo_pixel_byte_floats)(x ^ as) - less;
}

/* A variable of its own for each constant: what is stored could else be one of them. low, high:
 * numbers that `whole` was added to are in the order of their bits, those below -whole first, so
 * that what is rounded by it is clipped as whole numbers: processors do that beside products, where
 * their units that compare numbers have all the rest to do. */
#define CAMEO_PIXEL_FUSED_ADDED(e)                                                                 \
    const cameo_pixel_byte_ints low =                                                              \
        (cameo_pixel_byte_ints)cameo_pixel_byte_all((e)->low + 12582912.0f);                       \
    const cameo_pixel_byte_ints high =                                                             \
        (cameo_pixel_byte_ints)cameo_pixel_byte_all((e)->high + 12582912.0f);                      \
    const cameo_pixel_byte_floats factor = cameo_pixel_byte_all((e)->factor);                      \
    const cameo_pixel_byte_floats by = cameo_pixel_byte_all((e)->by);                              \
    const cameo_pixel_byte_floats number = cameo_pixel_byte_all((e)->number);                      \
    const cameo_pixel_byte_floats whole = cameo_pixel_byte_all(12582912.0f); /* see CAMEO_WHOLE */ \
    const cameo_pixel_byte_floats start = cameo_pixel_byte_all(12582912.0f - (e)->start);          \
    const cameo_pixel_byte_ints as =                                                               \
        (cameo_pixel_byte_ints){0} + (0x4b000000 + ((e)->sign ? 0x80 : 0));                        \
    const cameo_pixel_byte_floats less = cameo_pixel_byte_all((e)->sign ? 8388736.0f : 8388608.0f)

/* From sums, less what x's zero point adds to them, to y, which saturating operations round and
 * clip (see cameo_pixel_bytes): two places at a time. more: 0, nothing is added; 1, something is,
 * to the sum's product; 2, before it. Where only one vector of a panel is read the other's bytes
 * are what 0 becomes. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_pack_of(int height, int vectors, int more, int bare,
                          cameo_words_vector sums[CAMEO_WORDS_MOST][CAMEO_WORDS_VECTORS],
                          const cameo_pixel_places *places, const cameo_pixel_byte_ends *e,
                          int64_t column)
{
    const cameo_pixel_byte_ints order = CAMEO_PIXEL_BYTE_ORDER;
    CAMEO_PIXEL_BYTE_BOUNDS(cameo_pixel_byte, e);
    CAMEO_PIXEL_FUSED_ADDED(e);
    const int64_t n = places->n, *at = places->at, *added_at = places->added_at;
    const char *added = places->added + column;
    char *to = places->y + column;
    CAMEO_WORDS_HERE(added);
    CAMEO_WORDS_HERE(to);
    cameo_pixel_byte_floats scale[2], bias[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        scale[v] = *(const cameo_pixel_byte_floats *)(e->scale + column + 16 * v);
        bias[v] = *(const cameo_pixel_byte_floats *)(e->bias + column + 16 * v);
    }
#pragma GCC unroll 4
    for (int i = 0; i < height; i += 2) {
        cameo_pixel_byte_ints r[4] = {{0}, {0}, {0}, {0}};
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                cameo_pixel_byte_floats f = cameo_pixel_byte_joined(
                    __builtin_convertvector(sums[i + j][v], cameo_pixel_byte_floats), scale[v],
                    bias[v]);
                if (more) {
                    const cameo_pixel_byte_floats other = cameo_pixel_fused_byte(
                        added + added_at[i + j] + 16 * v, bare == CAMEO_PIXEL_BYTE_PLAIN, as, less);
                    cameo_pixel_byte_ints q = (cameo_pixel_byte_ints)(f + whole);
                    __asm__("vpmaxsd %1, %0, %0" : "+v"(q) : "v"(low));
                    __asm__("vpminsd %1, %0, %0" : "+v"(q) : "v"(high));
                    f = (cameo_pixel_byte_floats)q - start;
                    f = more == 1
                            ? cameo_pixel_byte_joined(other, by,
                                                      cameo_pixel_byte_joined(f, factor, number))
                            : cameo_pixel_byte_joined(f, factor,
                                                      cameo_pixel_byte_joined(other, by, number));
                }
                r[2 * j + v] = cameo_pixel_byte_nearest(f);
            }
        cameo_pixel_byte_pixel y =
            cameo_pixel_byte_packed(r[0], r[1], r[2], r[3], zero, least, most, flip, bare);
        __asm__("vpermd %0, %1, %0" : "+v"(y) : "v"(order));
        if (i < n) { /* a place behind the last one is that again, which was added to already */
            *(cameo_pixel_fused_one *)(to + at[i]) = __builtin_shufflevector(
                (cameo_pixel_fused_both)y, (cameo_pixel_fused_both)y, 0, 1, 2, 3);
            __asm__("vextracti64x4 $1, %1, %0"
                    : "=m"(*(cameo_pixel_fused_one *)(to + at[i + 1]))
                    : "v"(y));
        }
    }
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_fused_pack(int height, int vectors,
                       cameo_words_vector sums[CAMEO_WORDS_MOST][CAMEO_WORDS_VECTORS],
                       const cameo_pixel_places *places, const void *ends)
{
    const cameo_pixel_byte_panel *panel = (const cameo_pixel_byte_panel *)ends;
#define CAMEO_PIXEL_FUSED_PACK(more, bare)                                                         \
    cameo_pixel_fused_pack_of(height, vectors, more, bare, sums, places, panel->ends, panel->column)
    const int plain = panel->bare == CAMEO_PIXEL_BYTE_PLAIN && !panel->ends->sign;
    if (places->added && panel->ends->last && plain)
        CAMEO_PIXEL_FUSED_PACK(2, CAMEO_PIXEL_BYTE_PLAIN);
    else if (places->added && panel->ends->last)
        CAMEO_PIXEL_FUSED_PACK(2, 0);
    else if (places->added && plain)
        CAMEO_PIXEL_FUSED_PACK(1, CAMEO_PIXEL_BYTE_PLAIN);
    else if (places->added)
        CAMEO_PIXEL_FUSED_PACK(1, 0);
    else if (panel->bare == CAMEO_PIXEL_BYTE_PLAIN)
        CAMEO_PIXEL_FUSED_PACK(0, CAMEO_PIXEL_BYTE_PLAIN);
    else if (panel->bare)
        CAMEO_PIXEL_FUSED_PACK(0, CAMEO_PIXEL_BYTE_BARE);
    else
        CAMEO_PIXEL_FUSED_PACK(0, 0);
#undef CAMEO_PIXEL_FUSED_PACK
}

#ifdef CAMEO_AMX_u8s8_placed
CAMEO_PIXEL_GROUPS(cameo_pixel_fused_u8, CAMEO_WORDS_U8S8, cameo_pixel_begin_alone,
                   cameo_pixel_fused_pack, NULL, NULL, NULL, NULL)
CAMEO_PIXEL_GROUPS(cameo_pixel_fused_u8_beside, CAMEO_WORDS_U8S8, cameo_pixel_begin_beside,
                   cameo_pixel_fused_pack, NULL, NULL, NULL, NULL)
#endif
#ifdef CAMEO_AMX_s8s8_placed
CAMEO_PIXEL_GROUPS(cameo_pixel_fused_s8, CAMEO_WORDS_S8S8, cameo_pixel_begin_alone,
                   cameo_pixel_fused_pack, NULL, NULL, NULL, NULL)
CAMEO_PIXEL_GROUPS(cameo_pixel_fused_s8_beside, CAMEO_WORDS_S8S8, cameo_pixel_begin_beside,
                   cameo_pixel_fused_pack, NULL, NULL, NULL, NULL)
#endif

/* Units from .. to; f and e: of block 0. Columns behind the last panel that is read are 0. */
static __attribute__((noinline, unused)) void
cameo_pixel_fused_bytes(const cameo_pixel_groups *groups, const cameo_pixel_conv *c,
                        cameo_pixel_cut *cut, int64_t from, int64_t to, const cameo_pixel_fuse *f,
                        const cameo_pixel_byte_ends *e)
{
    const int bare = cameo_pixel_byte_bare(e);
    cameo_pixel_byte_ends own = *e;
    const cameo_pixel_byte_panel panels[2] = {{&own, 0, bare}, {&own, CAMEO_PIXEL_PANEL, bare}};
    cameo_pixel_kept kept; /* setting the rest would take as long as few sums */
    kept.last = 0;
    cut->end = to;
    for (cut->u = cut->from = from; cut->u < cut->end; cut->u = cut->next) {
        cameo_pixel_unit(c, cut);
        for (int64_t b = cut->b0; b < cut->b1; b++) {
            const cameo_pixel_fuse block = cameo_pixel_fuse_at(f, b);
            own.scale = e->scale + b * c->columns;
            own.bias = e->bias + b * c->columns;
            own.less = e->less + b * c->columns;
            const cameo_pixel_panel_ends ends = {panels, own.less, sizeof *panels, e->beside,
                                                 e->beside ? e->often + b * c->columns : NULL};
            for (int64_t t = cut->t0; t < cut->t1; t += CAMEO_PIXEL_EXACT)
                cameo_pixel_fused(groups, c, cut, b, t, &block, &ends, &kept);
        }
    }
}
#endif
#endif
#endif
#endif
