// What cameo convert is asked for, and its report.
#ifndef CAMEO_TOOLS_CONVERT_H
#define CAMEO_TOOLS_CONVERT_H

#include "passes/convert_precision.h"
#include "passes/shadow.h"
#include "tools/tool.h"

// "OUT=1e-3", or "1e-3" for every output.
typedef struct ConvertBudget {
    Str output; // empty: all
    double relative;
} ConvertBudget;
enum { CONVERT_BUDGETS = 64 };

// How far an output is from the model's own, over all data: rms of the difference by rms.
typedef struct ConvertError {
    const char *output;
    double relative, greatest; // greatest |difference|
    double budget;             // negative: none
    int32_t number;            // of the model's outputs
    double squares, all;       // sums of squares: of the difference, of the output
} ConvertError;

typedef struct ConvertRun {
    const Tool *tool;
    Arena *arena;
    const char *model, *out, *calibration;
    const char *precision, *policy;
    bool json, io;
    ConvertOptions options;
    ConvertBudget budgets[CONVERT_BUDGETS];
    uint32_t nbudgets;
    ConvertReport report;
    VEC(ConvertError) errors;  // measured; empty without data
    uint32_t sets;             // of data that was run
    VEC(const char *) folders; // of data sets
    ShadowReport shadow;
    Map seen_ids; // by name: index in `seen`
    VEC(ConvertSeen) seen;
    int32_t noutputs;
    void *wanted;     // the model's own outputs, set by set
    uint32_t tries;   // conversions until the budget was met
    double predicted; // relative error of the outputs; negative: not predicted
    double milliseconds;
} ConvertRun;

// Finds the data sets of --calib: the folder itself where it holds input_0.pb, else its folders
// that do. 0, or an exit status with everything said, as the others here.
int convert_find_sets(ConvertRun *r);
// Runs the model on them: the magnitudes of its values, by name; its outputs.
int convert_measure_values(ConvertRun *r);
int convert_measure_outputs(ConvertRun *r);
// Runs the converted model on them: r->errors.
int convert_measure_errors(ConvertRun *r, const char *converted);

void convert_print(const ConvertRun *r, const Model *m, Buf *out);

#endif
