/* Numbers of float32 as sums of three of bfloat16, x = h + m + l: h is x rounded to eight bits, m
 * the rest rounded to eight bits, l what is left of it, which has no more. So |m| is at most 2^-8
 * |x| and |l| at most 2^-17 |x|, and nothing is lost but terms below 2^-126, which matrix registers
 * take for 0.
 *
 * A step is 32 values of k. A word of its tiles holds the value i of the first sixteen below the
 * value 16 + i, in both factors, so that two vectors are taken apart alike in each of them.
 *
 * The second factor of a product, float32 in rows of a panel, is taken apart between the products
 * of what was taken apart before it: matrix registers leave those of vectors idle. */
#ifndef CAMEO_SPLIT_WORDS_H
#define CAMEO_SPLIT_WORDS_H

#ifdef CAMEO_AMX

#include <string.h>

enum {
    CAMEO_SPLIT_TERMS = 3,
    CAMEO_SPLIT_TILE = 1024,                                 /* bytes of a tile of one term */
    CAMEO_SPLIT_STEP = CAMEO_SPLIT_TERMS * CAMEO_SPLIT_TILE, /* and of all, for 32 values of k */
    CAMEO_SPLIT_DEEP = 32
};

/* clang takes vectors of 512 bits apart unless it is told. */
#ifdef __clang__
#define CAMEO_SPLIT_WHOLE __attribute__((min_vector_width(512)))
#else
#define CAMEO_SPLIT_WHOLE
#endif

typedef float cameo_split_vec __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t cameo_split_bits __attribute__((vector_size(64), aligned(4), may_alias));

/* 16 numbers' terms, each in the upper half of its word. */
typedef struct cameo_split_terms {
    cameo_split_bits h, m, l;
} cameo_split_terms;

static inline __attribute__((always_inline)) cameo_split_terms cameo_split_number(const float *from)
{
    const cameo_split_vec x = *(const cameo_split_vec *)from;
    cameo_split_terms t;
    t.h = ((cameo_split_bits)x + 0x8000u) & 0xffff0000u;
    const cameo_split_vec rest = x - (cameo_split_vec)t.h;
    t.m = ((cameo_split_bits)rest + 0x8000u) & 0xffff0000u;
    t.l = (cameo_split_bits)(rest - (cameo_split_vec)t.m);
    return t;
}

/* 16 values of the first half of a step and of the second to a row of each term's tile. */
static inline __attribute__((always_inline)) void cameo_split_pair(const float *first,
                                                                   const float *second, char *to)
{
    const cameo_split_terms low = cameo_split_number(first), high = cameo_split_number(second);
    *(cameo_split_bits *)to = high.h | low.h >> 16;
    *(cameo_split_bits *)(to + CAMEO_SPLIT_TILE) = high.m | low.m >> 16;
    /* what is left of a tiny number may be more than the upper half */
    *(cameo_split_bits *)(to + 2 * CAMEO_SPLIT_TILE) = (high.l & 0xffff0000u) | low.l >> 16;
}

/* A square of sums on its way to y, some of its rows at a time: one vector of 16 columns, or two of
 * which the second one ends where the square does. */
typedef struct cameo_split_goal {
    const float *sums;  /* NULL: there is no square */
    float *y;           /* its first element there */
    const float *added; /* of what is added, or NULL */
    const float *bias;  /* of its rows; NULL: sums are not finished */
    int64_t lds, row;   /* numbers from one row of sums and of y to the next one */
    int64_t rows, each; /* all; those that are due of a turn */
    int64_t done;       /* rows */
    int64_t width;      /* columns, at most 32 */
    int more;           /* y holds a part of the sums */
    float low, high;
    cameo_split_vec none; /* NaN, where a sum is not finite */
} cameo_split_goal;

/* Two vectors of 16 columns that are to be taken apart, a pair of their rows at a time. */
typedef struct cameo_split_feed {
    const float *from[2]; /* the next row of each; its partner is 16 rows on */
    int64_t row[2];       /* numbers from a row to the next one */
    int64_t ahead[2];     /* bytes from there to what is asked for meanwhile */
    const float *end;     /* the last step, 32 numbers a row, if some of its rows are not there */
    int64_t left;         /* pairs */
    char *to;             /* of the first vector; the second one's tiles are `column` bytes on */
    int64_t column;
    int64_t due, all, turns; /* `all` pairs are done in so many turns: what is due of one */
    cameo_split_goal *goal;  /* the square before this one, if it is not in y yet */
} cameo_split_feed;

enum { CAMEO_SPLIT_HALF = CAMEO_SPLIT_DEEP / 2 };

/* A pair of rows of vector v. */
static inline __attribute__((always_inline)) void cameo_split_vector(cameo_split_feed *f, int v)
{
    const float *first = f->from[v], *second = first + CAMEO_SPLIT_HALF * f->row[v];
    __builtin_prefetch((const char *)first + f->ahead[v], 0, 2);
    __builtin_prefetch((const char *)second + f->ahead[v], 0, 2);
    cameo_split_pair(first, second, f->to + v * f->column);
    f->from[v] = first + f->row[v];
}

/* To the next step. */
static inline __attribute__((always_inline)) void cameo_split_step(cameo_split_feed *f, int v)
{
    f->from[v] += CAMEO_SPLIT_HALF * f->row[v];
    if (f->left == CAMEO_SPLIT_HALF && f->end) {
        f->from[v] = f->end + CAMEO_SPLIT_HALF * v;
        f->row[v] = CAMEO_SPLIT_DEEP;
    }
}

static inline __attribute__((always_inline)) void cameo_split_one(cameo_split_feed *f)
{
    cameo_split_vector(f, 0);
    cameo_split_vector(f, 1);
    f->to += 64;
    if (--f->left % CAMEO_SPLIT_HALF == 0) {
        f->to += CAMEO_SPLIT_STEP - CAMEO_SPLIT_TILE;
        cameo_split_step(f, 0);
        cameo_split_step(f, 1);
    }
}

/* n numbers, at most 16, with zeros behind them, and back. */
static inline __attribute__((always_inline)) cameo_split_vec cameo_split_take(const float *from,
                                                                              int64_t n)
{
    _Alignas(64) float some[16] = {0};
    if (n >= 16)
        return *(const cameo_split_vec *)from;
    for (int64_t i = 0; i < n; i++)
        some[i] = from[i];
    return *(const cameo_split_vec *)some;
}

static inline __attribute__((always_inline)) void cameo_split_give(float *to, int64_t n,
                                                                   cameo_split_vec v)
{
    if (n >= 16) {
        *(cameo_split_vec *)to = v;
    } else {
        _Alignas(64) float some[16];
        *(cameo_split_vec *)some = v;
        for (int64_t i = 0; i < n; i++)
            to[i] = some[i];
    }
}

/* Of a square what its rows need: in registers, where nothing that is stored changes it. */
typedef struct cameo_split_row {
    const float *sums, *added, *bias;
    float *y;
} cameo_split_row;

/* n sums of a row, from column `at` on, what y holds of them being added. */
static inline __attribute__((always_inline)) cameo_split_vec
cameo_split_sum_of(const cameo_split_row *r, int more, int64_t at, int64_t n)
{
    cameo_split_vec v = *(const cameo_split_vec *)(r->sums + at);
    if (more)
        v += cameo_split_take(r->y + at, n);
    return v;
}

/* The same finished, to y. */
static inline __attribute__((always_inline)) void
cameo_split_finished(const cameo_split_row *r, cameo_split_vec low, cameo_split_vec high,
                     cameo_split_vec v, int64_t at, int64_t n)
{
    if (r->bias) {
        v += *r->bias;
        if (r->added)
            v += cameo_split_take(r->added + at, n);
        v = cameo_clip(v, low, high);
    }
    cameo_split_give(r->y + at, n, v);
}

/* `rows` rows of `some` vectors, of `n` columns in each. What y holds is read before any is
 * written. */
static inline __attribute__((always_inline)) void
cameo_split_end_some(cameo_split_goal *g, int64_t rows, int some, int64_t n)
{
    const int64_t from = g->done, second = g->width - 16, lds = g->lds, row = g->row;
    const cameo_split_vec zero = {0}, low = zero + g->low, high = zero + g->high;
    const int more = g->more;
    cameo_split_vec none[2] = {zero, zero};
    cameo_split_row r = {g->sums + from * lds, g->added, g->bias, g->y + from * row};
    if (r.added)
        r.added += from * row;
    if (r.bias)
        r.bias += from;
    for (int64_t i = 0; i < rows; i++) {
        const cameo_split_vec a = cameo_split_sum_of(&r, more, 0, n);
        none[0] += 0.0f * a;
        if (some > 1) {
            const cameo_split_vec b = cameo_split_sum_of(&r, more, second, n);
            none[1] += 0.0f * b;
            cameo_split_finished(&r, low, high, b, second, n);
        }
        cameo_split_finished(&r, low, high, a, 0, n);
        r.sums += lds;
        r.y += row;
        if (r.added)
            r.added += row;
        if (r.bias)
            r.bias++;
    }
    g->none += none[0] + none[1];
    g->done = from + rows;
}

/* So many rows of a square, or all that are left, to y. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_end_rows(cameo_split_goal *g, int64_t rows)
{
    const int64_t left = g->rows - g->done, n = rows < left ? rows : left;
    if (g->width > 16)
        cameo_split_end_some(g, n, 2, 16);
    else if (g->width == 16)
        cameo_split_end_some(g, n, 1, 16);
    else
        cameo_split_end_some(g, n, 1, g->width);
}

/* What is due in a turn. */
static inline __attribute__((always_inline)) void cameo_split_turn(cameo_split_feed *f)
{
    if (f->goal && f->goal->done < f->goal->rows)
        cameo_split_end_rows(f->goal, f->goal->each);
    for (f->due += f->all; f->due >= f->turns && f->left > 0; f->due -= f->turns)
        cameo_split_one(f);
}

/* The same where no products are beside it. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_turns(cameo_split_feed *f)
{
    cameo_split_turn(f);
}

#endif
#endif
