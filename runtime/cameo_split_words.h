/* Numbers of float32 as sums of three of bfloat16, x = h + m + l: h is x rounded to eight bits, m
 * the rest rounded to eight bits, l what is left of it, which has no more. So |m| is at most 2^-8
 * |x| and |l| at most 2^-17 |x|, and nothing is lost but terms below 2^-126, which matrix registers
 * take for 0.
 *
 * The second factor of a product, float32 in rows of a panel, is taken apart beside the products of
 * what was taken apart before it: matrix registers leave those of vectors idle. */
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

/* The terms, each in the upper half of its word. */
static inline __attribute__((always_inline)) void cameo_split_number(const float *from,
                                                                     cameo_split_bits *to)
{
    const cameo_split_vec x = *(const cameo_split_vec *)from;
    to[0] = ((cameo_split_bits)x + 0x8000u) & 0xffff0000u;
    const cameo_split_vec rest = x - (cameo_split_vec)to[0];
    to[1] = ((cameo_split_bits)rest + 0x8000u) & 0xffff0000u;
    to[2] = (cameo_split_bits)(rest - (cameo_split_vec)to[1]);
}

/* Rows of a panel that are to be taken apart, two at a time. */
typedef struct cameo_split_feed {
    const float *from;  /* the next pair */
    int64_t done, rows; /* of all rows; an odd last one has zeros beside it */
    int64_t vectors;    /* of 16 columns in a row */
    int64_t each;       /* pairs for each step of products */
    char *to;           /* for each vector of columns its tiles, `column` bytes apart */
    int64_t column;
    const char *ahead; /* what is asked for meanwhile, a row of it for each row */
} cameo_split_feed;

static inline __attribute__((always_inline)) void
cameo_split_pair(const cameo_split_feed *f, const float *second, char *to, int64_t vectors)
{
    for (int64_t v = 0; v < vectors; v++, to += f->column) {
        cameo_split_bits even[CAMEO_SPLIT_TERMS], odd[CAMEO_SPLIT_TERMS];
        cameo_split_number(f->from + 16 * v, even);
        cameo_split_number(second + 16 * v, odd);
        for (int t = 0; t < CAMEO_SPLIT_TERMS; t++) {
            __builtin_prefetch(to + t * CAMEO_SPLIT_TILE + 256, 1);
            *(cameo_split_bits *)(to + t * CAMEO_SPLIT_TILE) = odd[t] | even[t] >> 16;
        }
        __builtin_prefetch(f->ahead + 64 * v, 0, 2);
        __builtin_prefetch(f->ahead + 64 * (vectors + v), 0, 2);
    }
}

/* The next `pairs` of rows, if there are. */
static inline __attribute__((always_inline)) void cameo_split_some(cameo_split_feed *f,
                                                                   int64_t pairs)
{
    enum { WHOLE = 3, DEEP = CAMEO_SPLIT_DEEP };
    static const float zeros[16 * WHOLE];
    for (; pairs > 0 && f->done < f->rows; pairs--, f->done += 2) {
        const float *second = f->done + 1 < f->rows ? f->from + 16 * f->vectors : zeros;
        char *to = f->to + f->done / DEEP * CAMEO_SPLIT_STEP + f->done % DEEP / 2 * 64;
        if (f->vectors == WHOLE)
            cameo_split_pair(f, second, to, WHOLE);
        else
            cameo_split_pair(f, second, to, f->vectors);
        f->from += 32 * f->vectors;
        f->ahead += 128 * f->vectors;
    }
}

#endif
#endif
