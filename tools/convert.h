// What cameo convert is asked for, and its report.
#ifndef CAMEO_TOOLS_CONVERT_H
#define CAMEO_TOOLS_CONVERT_H

#include "passes/convert_precision.h"
#include "passes/config.h"
#include "passes/measured.h"
#include "tools/tool.h"

// "OUT=1e-3", or "1e-3" for every output.
typedef struct ConvertBudget {
    Str output; // empty: all
    double relative;
} ConvertBudget;
enum {
    CONVERT_BUDGETS = 64,
    CONVERT_TAIL = 8,     // data sets whose errors show how they fall off
    CONVERT_PARTS = 64,   // of an output, each taken as if it were a little data set
    CONVERT_ELEMENTS = 16, // at least, of a part
    CONVERT_KEPT = 1 << 25 // numbers of the model's own outputs: beyond them no more mixtures
};

// How far an output is from the model's own, over all data: rms of the difference by rms.
typedef struct ConvertError {
    const char *output;
    double relative, greatest; // greatest |difference|
    double budget;             // negative: none
    int32_t number;            // of the model's outputs
    double squares, all;       // sums of squares: of the difference, of the output
    VEC(double) sets;          // the same as `relative`, of each data set
    double worst;              // of them
    double apart;              // how far they may be apart: see convert_measure_errors
    uint64_t lost;             // elements of its own that are not finite, and left out
    uint32_t lost_set;         // the data set of the first, from 0 on
    int64_t lost_at;           // its number in the output
    VEC(double) mixed;         // of each mixture of the data sets that gives numbers
    uint32_t wild;             // mixtures that give others than the model itself
    double times, bound;       // what other data may bring, `times` the worst; 0: by the tail
} ConvertError;

typedef struct ConvertOutput {
    double *at;
    int64_t count;
} ConvertOutput;

// A node that stays in its dtype by prices alone, and its multiply-adds.
typedef struct ConvertLeft {
    NodeId node;
    double products;
} ConvertLeft;

typedef struct ConvertRun {
    const Tool *tool;
    Arena *arena;
    const char *model, *out, *calibration;
    const char *precision, *policy;
    bool json;
    double loss_scale; // a power of two; 0: the pass's own
    double margin;     // of --margin; 0: not given
    ConvertOptions options;
    ConvertBudget budgets[CONVERT_BUDGETS];
    uint32_t nbudgets;
    ConvertReport report;
    VEC(ConvertLeft) left;         // by the last conversion
    uint32_t nnodes;               // nodes that the last conversion ended with
    VEC(ConvertError) errors;      // measured; empty without data
    uint32_t sets;                 // of data that was run
    const char *held;              // data that nothing was chosen by; NULL: none
    VEC(ConvertError) held_errors; // measured on them
    uint32_t held_sets;
    MeasuredSet *measured; // ranges of values; NULL: not measured
    Map noise_ids;         // by name: index in `noises`
    VEC(double) noises;    // relative variance of the outputs that rounding the value makes
    int32_t *given; // the dtypes of the model's inputs before, that data come in
    int32_t noutputs;
    VEC(ConvertOutput) wanted; // the model's own outputs, set by set, then of mixtures of them
    bool mixing;               // what runs is a mixture
    uint32_t tries;            // conversions until the budget was met
    double predicted;          // relative error of the outputs; negative: not predicted
    double milliseconds;
} ConvertRun;

// Run the model on the data sets of --calib: the ranges of its values; how much the rounding of
// each moves the outputs; its outputs. 0, or an exit status with everything said.
int convert_measure_values(ConvertRun *r);
int convert_measure_noise(ConvertRun *r);
int convert_measure_outputs(ConvertRun *r);
// Runs the converted model on them: r->errors. What a budget bounds is what others than these data
// may bring:
//     of CONVERT_TAIL data sets and more, what one in a thousand exceeds (tools/tails.h), at least
//     the worst of them;
//     of fewer, three times the worst, or less where the output is large and its error even:
//     max(1 + 6 c, greatest by least data set), at least 1.5, c the standard error of its relative
//     rms by how the errors s of its parts differ where their squares are a,
//         c = 1/2 sqrt(n / (n - 1) sum (s - R a)^2) / sum s,   R = sum s / sum a
//     (a ratio estimator's: Cochran, Sampling Techniques, 1977, 6.3), n = CONVERT_PARTS;
//     as many times the worst as --margin says;
// and, without --margin, what mixtures of the data sets (tools/mixtures.h) show: tails_mixed.
int convert_measure_errors(ConvertRun *r, const char *converted);
// Both models on the data sets of --check: r->held_errors.
int convert_measure_held(ConvertRun *r);

// One conversion by r->options: r->report, and in `report` what is said of it. `out`: written to
// OUT; `measured`: run on the data too.
int convert_once(ConvertRun *r, const Config *config, bool out, bool measured, Buf *report);
// What comes of r->options, without it: of r->report what is chosen, no Casts, and r->predicted.
int convert_predict(ConvertRun *r, const Config *config);
// Conversions until every budget is met, the last of them written. EXIT_FINDINGS: the nearest to
// the budgets is.
int convert_within(ConvertRun *r, const Config *config, Buf *report);
// How far over its budget the worst output is: at most 1 where all are met.
double convert_excess(const ConvertRun *r);

void convert_print(const ConvertRun *r, const Model *m, Buf *out);

#endif
