// How much the error of each value moves each output, measured on data: the pass of
// passes/sensitivity.h compiled and run. What drift, convert and lint read.
#ifndef CAMEO_TOOLS_SENSITIVITY_H
#define CAMEO_TOOLS_SENSITIVITY_H

#include "passes/sensitivity.h"
#include "tools/datasets.h"

enum { SENS_EXACT = 32, SENS_PROJECTIONS = 16 };

// What is known of each data set: what all values together that make an error add to an output in
// float16, bfloat16, float32 and as it is; and the square of its error, measured.
enum { SENS_EACH_MADE = 3, SENS_EACH_ERROR, SENS_EACH };

typedef struct SensOptions {
    const char *model;
    const char *const *data; // see DataSets
    int ndata;
    uint32_t projections; // random signs for an output of more than SENS_EXACT elements; 0: usual
    bool decisions;       // sensitivities of what is decided by are wanted
    bool may_only_decide; // as in SensReport
    CompileOptions compile;
} SensOptions;

// Of an output's figures: what is quadratic in the adjoint is the sum over the output's elements,
// the mean over data sets; SENS_GREATEST and SENS_LEAST are of all sets, elements counted are sums.
typedef struct SensTable {
    Arena *arena;
    SensReport report;
    double *numbers; // [outputs, or one of no adjoint][values][SENS_FIELDS]
    double *margins; // [decisions][MARGIN_FIELDS]: the least of all sets, decisions added up
    double *decided; // [decisions][values][SENS_FIELDS], as for an output; 0 unless asked for
    // [sets][outputs][SENS_EACH]: relative variances of one data set alone, 0 where the output is
    // 0.
    VEC(double) each;
    // By value: the first data set (of all that were given) where an element is not finite, which
    // SENS_NONFINITE_AT is of.
    uint32_t *nonfinite;
    uint32_t sets, runs;
    uint32_t left_out; // data sets that take another branch of an If than the first one does
    // Data sets of other sizes than the first one's, where a recurrent node's derivative needs to
    // know how many steps there are: they are left out too.
    uint32_t other_sizes;
    bool made_up; // the data were
    bool sampled; // some output by random signs
} SensTable;

// 0, or an exit status with everything said.
int sens_run(const Tool *t, SensOptions *o, SensTable *table);
void sens_free(SensTable *table);

// Of value k (of report.values) for output o (of report.outputs).
const double *sens_numbers(const SensTable *t, uint32_t o, uint32_t k);
// What makes variances of output o relative: the mean over data sets of the sum of its squares.
double sens_scale(const SensTable *t, uint32_t o);
// Of data set `set` (of t->sets): SENS_EACH relative variances.
const double *sens_each(const SensTable *t, uint32_t set, uint32_t o);
// How many times the standard deviation on average an error is at most. Three standard deviations
// of the worst data set; *rare: what one data set in TAILS_RARE exceeds, or 0 (tails_rare). field:
// SENS_F16 to SENS_MADE.
double sens_reach(const SensTable *t, uint32_t o, int field, double *rare);
// Mean over data sets of the squares of the output's error against the shadow, measured.
double sens_error(const SensTable *t, uint32_t o);

#endif
