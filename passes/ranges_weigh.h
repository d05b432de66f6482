// Sums over constant weights while they are taken: between ranges_weigh.c, which goes over the
// weights, and ranges_scales.c, which finds what these share.
#ifndef CAMEO_PASSES_RANGES_WEIGH_H
#define CAMEO_PASSES_RANGES_WEIGH_H

#include "passes/elements.h"
#include "passes/ranges_state.h"
#include "passes/weigh.h"

enum { TILE = 1024, WIDE_TILE = 4096, CHUNK = WORD_RUN, UNPACKED = SHORT_ROWS * TILE };

typedef enum Way { AS_FLOATS, AS_SHORT_FLOATS, AS_BYTES, AS_HALVES, AS_WORDS, AS_READ } Way;

// Where parts of weights and of sums are kept while they are added.
struct WeighScratch {
    double lone[3][CHUNK], taken[3][CHUNK], sums[3][WIDE_TILE], numbers[CHUNK];
    float brief[3][CHUNK], short_taken[3][CHUNK], placed[3][CHUNK], short_sums[3][TILE];
    float scale[WIDE_TILE], parameters[WIDE_TILE]; // of columns
    float word_scale[CHUNK], word_zero[CHUNK];     // of words, or columns in places
    uint32_t points[CHUNK];                        // of words of halves, in each byte
    uint16_t byte_sums[2][WIDE_TILE];
    unsigned char zero[WIDE_TILE], bytes[UNPACKED];
};

typedef struct Weighing {
    const Weights *at;
    const Factor *f;
    struct WeighScratch *s;
    uint64_t tile;      // of columns that are added at a time
    uint64_t width;     // of a row: [second][third]
    ElementsPass *pass; // over the elements, for what else is to be known of them; NULL: none
    Way way;
    WeightForm form;    // of floats
    unsigned char flip; // of bytes: what makes them go from 0 on
    double offset;      // what that adds to them
    WordForm word;      // of integers in words, unpacked where they have 8 bits there
    double filled;      // the zero point that all of word_zero, or points, is; NaN: no such one
    bool lone;          // all inputs lie in one interval: arrays of CHUNK of it
    double share;       // |w| * most is at most so many times |w| * radius; 0: added itself
    Intervals x, sums;  // of inputs; for each output
    ShortIntervals brief;
} Weighing;

// ---- scales and zero points, to the scratch memory
// Of all words of a row: `point`, nothing where that is there.
void weighing_point(Weighing *g, double point);
// Of the words of n weights of a row, of which `run` are the first that share theirs.
void weighing_blocks(Weighing *g, const FactorRun *run, uint64_t n);
// Of n columns from index i on; AS_HALVES: in places, those of low halves first.
void weighing_columns(Weighing *g, uint64_t i, uint64_t n);
// The same for words, in their places.
void weighing_word_columns(Weighing *g, uint64_t i, uint64_t n);
// The place of column k of n.
static inline uint64_t weighing_place(const Weighing *g, uint64_t k, uint64_t n)
{
    return g->way == AS_WORDS    ? weigh_place_of(&g->word, k)
           : g->way == AS_HALVES ? k % 2 * (n / 2) + k / 2
                                 : k;
}

#endif
