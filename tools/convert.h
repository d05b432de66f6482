// What cameo convert is asked for, and its report.
#ifndef CAMEO_TOOLS_CONVERT_H
#define CAMEO_TOOLS_CONVERT_H

#include "passes/convert_precision.h"
#include "passes/measured.h"
#include "tools/tool.h"

// "OUT=1e-3", or "1e-3" for every output.
typedef struct ConvertBudget {
    Str output; // empty: all
    double relative;
} ConvertBudget;
enum { CONVERT_BUDGETS = 64, CONVERT_TAIL = 8 };

// How far an output is from the model's own, over all data: rms of the difference by rms.
typedef struct ConvertError {
    const char *output;
    double relative, greatest; // greatest |difference|
    double budget;             // negative: none
    int32_t number;            // of the model's outputs
    double squares, all;       // sums of squares: of the difference, of the output
    VEC(double) sets;          // the same as `relative`, of each data set
    double worst;              // of them
    // What other data may bring, which is what a budget bounds: what one data set in a thousand
    // exceeds (tools/tails.h), the worst at least; of fewer sets than CONVERT_TAIL, whose greatest
    // quarter is one set, three times the worst; as many times the worst as --margin says.
    double bound;
} ConvertError;

typedef struct ConvertOutput {
    double *at;
    int64_t count;
} ConvertOutput;

typedef struct ConvertRun {
    const Tool *tool;
    Arena *arena;
    const char *model, *out, *calibration;
    const char *precision, *policy;
    bool json, io;
    double loss_scale; // a power of two; 0: the pass's own
    double margin;     // of --margin; 0: not given
    ConvertOptions options;
    ConvertBudget budgets[CONVERT_BUDGETS];
    uint32_t nbudgets;
    ConvertReport report;
    VEC(ConvertError) errors;      // measured; empty without data
    uint32_t sets;                 // of data that was run
    const char *held;              // data that nothing was chosen by; NULL: none
    VEC(ConvertError) held_errors; // measured on them
    uint32_t held_sets;
    MeasuredSet *measured; // ranges of values; NULL: not measured
    Map noise_ids;         // by name: index in `noises`
    VEC(double) noises;    // relative variance of the outputs that rounding the value makes
    int32_t noutputs;
    VEC(ConvertOutput) wanted; // the model's own outputs, set by set
    uint32_t tries;            // conversions until the budget was met
    double predicted;          // relative error of the outputs; negative: not predicted
    double milliseconds;
} ConvertRun;

// Run the model on the data sets of --calib: the ranges of its values; how much the rounding of
// each moves the outputs; its outputs. 0, or an exit status with everything said.
int convert_measure_values(ConvertRun *r);
int convert_measure_noise(ConvertRun *r);
int convert_measure_outputs(ConvertRun *r);
// Runs the converted model on them: r->errors.
int convert_measure_errors(ConvertRun *r, const char *converted);
// Both models on the data sets of --check: r->held_errors.
int convert_measure_held(ConvertRun *r);

void convert_print(const ConvertRun *r, const Model *m, Buf *out);

#endif
