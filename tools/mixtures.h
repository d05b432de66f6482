// Data sets made of those at hand, to see what others like them may bring.
#ifndef CAMEO_TOOLS_MIXTURES_H
#define CAMEO_TOOLS_MIXTURES_H

#include "tools/inputs.h"

enum {
    MIXTURES_ALL = 128, // data sets, together with those at hand
    MIXTURES_EACH = 16  // the same, for each at hand
};

// With x_1 to x_n the data sets and m their mean, a mixture is
//     m + sqrt(n / (n - 1)) (c_1 (x_1 - m) + ... + c_n (x_n - m)),    c random of length 1,
// whose mean and covariances are those of the data sets, element by element. It is kept between
// the least and the greatest number of all sets, and where all of these are integers it is rounded
// to one. An input of no floats, or with elements that are not finite, is that of the set that has
// the greatest c.
typedef struct Mixtures {
    Arena *arena; // of the copies
    const cameo_model *model;
    VEC(Inputs) sets;
    Inputs made;
    struct MixturesSpan *spans; // by input
    double *weights;            // c, by set
    uint64_t seed;
    size_t bytes;
    bool unlike; // sizes or dtypes differ, or an input cannot be mixed or kept: there are none
} Mixtures;

// Copies a data set, all of whose inputs are given.
void mixtures_take(Mixtures *x, const Inputs *set);
// How many there are to make: as many as MIXTURES_ALL and MIXTURES_EACH leave, and none of fewer
// than TAILS_LEAST sets or where no input has floats.
uint32_t mixtures_count(const Mixtures *x);
// The next one, the same ones in each run of the program; it lives until the next call.
const Inputs *mixtures_next(Mixtures *x);

#endif
