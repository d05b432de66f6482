// cameo drift: what the files of the command share.
#ifndef CAMEO_TOOLS_DRIFT_H
#define CAMEO_TOOLS_DRIFT_H

#include "base/json.h"
#include "passes/trial.h"
#include "tools/mixtures.h"
#include "tools/sensitivity.h"

// What is asked about: the model as it is, with every value rounded to one dtype, or each as a
// file says.
typedef enum DriftPrecision {
    DRIFT_OWN,
    DRIFT_F16,
    DRIFT_BF16,
    DRIFT_F32,
    DRIFT_MIXED
} DriftPrecision;

typedef struct DriftBudget {
    const char *output; // NULL: every one
    size_t len;
    double relative;
} DriftBudget;

typedef enum DriftBasis {
    BASIS_PROVED,   // holds whatever the data: a weight that the dtype holds, a node that is exact
    BASIS_MEASURED, // on the data given
    BASIS_ASSUMED,  // the data are made up, or a node on the way was taken as a whole
    BASIS_NONE      // nothing is known: the node has no derivative, or no float64 to compare with
} DriftBasis;

// The error of a value, or of all nodes of an operator, as parts of the variance of the outputs.
typedef struct DriftPart {
    uint32_t value;  // of the table's values; the first of an operator's
    uint32_t count;  // nodes of the operator
    double variance; // relative, the sum over the outputs
    double share;    // of all values
    DriftBasis basis;
} DriftPart;

// What would keep an output's budget: so many values, those that overflow and then the greatest
// contributors (Drift.remedy), in a wider dtype; predicted, and what came of it when the model was
// run so.
typedef struct DriftAdvice {
    uint32_t values;
    double predicted;     // bound of the error then
    double before, after; // relative rms of the error, measured; before negative: it cannot be run
    bool tried, holds;    // the model was run with it; the budget was kept
} DriftAdvice;

// A formula written otherwise, by the repair of a rule of lint, and what came of it.
typedef struct DriftRewrite {
    const struct LintRule *rule;
    uint32_t places;
    bool ran;          // the changed model was run
    double *predicted; // by output: without what the nodes that go contribute
    double *after;     // by output: relative rms of the error, measured
} DriftRewrite;

// What an output's bound is of.
typedef enum DriftBoundBasis { BOUND_PREDICTED, BOUND_MEASURED, BOUND_TAILS } DriftBoundBasis;

typedef struct DriftOutput {
    double predicted; // relative standard deviation: rms of the error / rms of the output
    double signed_;   // the same of the very errors of these data
    double measured;  // relative rms of the output's error against the shadow; negative: not known
    const double *sets;  // the same of each of nsets data sets, those left out elsewhere too
    uint32_t nsets;      // 0: nothing is measured
    uint32_t worst_set;  // from 0
    double worst;        // the greatest of them
    const double *mixed; // the same of each of nmixed mixtures of the data sets (tools/mixtures.h)
    uint32_t nmixed;
    uint32_t wild; // mixtures beside these whose error is no finite number
    double linear; // three predicted standard deviations on the worst data set
    // What one data set in TAILS_RARE exceeds, by the tails of what is predicted and measured of
    // these, and measured of them and their mixtures; 0: nothing is known of it.
    double rare;
    // What is to be reckoned with: `linear`, or, where a run went beyond that, three times `worst`;
    // or `rare`, where it is more.
    double bound;
    double budget;      // of the bound; negative: none
    bool lost;          // no element but zeros is finite: the error is not known
    DriftAdvice advice; // where the budget is exceeded
} DriftOutput;

// A node whose function diverges where an operand is 0, and how far that was away when the model
// was run with its values rounded.
typedef struct DriftPole {
    NodeId node;
    uint32_t operand, number; // of the program's outputs: the operand's numbers
    bool known;               // it has numbers
    Str op, path, name;       // of the node, of the operand
    double relative;          // the greatest error of an element as a part of it, of all data sets
    uint32_t set;             // where that was, from 0
} DriftPole;

typedef VEC(DriftPole) DriftPoles;

typedef struct Drift {
    const char *model;
    SensTable table;
    DriftPrecision precision;
    const char *mix;      // DRIFT_MIXED: the file that says what each value is rounded to
    DriftPrecision *each; // then, by value
    DriftPart *values;    // by value of the table
    uint32_t *order;      // of values, the greatest first
    uint32_t *remedy;     // the same, behind those that overflow: what advice widens, in order
    uint32_t noverflows;  // of them
    DriftPart *operators; // the greatest first
    uint32_t noperators;
    DriftOutput *outputs;
    DriftRewrite *rewrites;
    uint32_t nrewrites;
    DriftPoles poles; // of a model run with its values rounded
    bool unrun;       // the model could not be run with its values rounded
    double total;     // sum of all relative variances
    uint32_t listed;  // in text
} Drift;

// Elements of value k beyond the range of what it is rounded to.
double drift_overflows(const Drift *d, uint32_t k);
// Relative variance that value k adds to output o in the precision asked about; *basis says how
// that is known.
double drift_variance(const Drift *d, uint32_t o, uint32_t k, DriftBasis *basis);
// The same of numbers of any probe, not relative.
double drift_raw(const Drift *d, const double *numbers, uint32_t k);
DriftPrecision drift_precision_of(const Drift *d, uint32_t k); // of value k
// Runs the model (sens_run) and finds the figures of drift_find, for d->precision. 0, or an exit
// status with everything said; the table is the caller's to free either way.
int drift_measure(const Tool *t, SensOptions *o, Drift *d);
void drift_find(Drift *d); // values, order, operators, outputs but their budgets
bool drift_is_over(const DriftOutput *o);
// Relative standard deviation predicted for data set `set` alone.
double drift_predicted_of(const Drift *d, uint32_t o, uint32_t set);
DriftBoundBasis drift_bound_basis(const DriftOutput *o);
// What was measured on each data set: `worst` and what follows of it.
void drift_take_sets(DriftOutput *out, const double *sets, uint32_t n);
// What was measured on mixtures of the data sets, behind drift_take_sets: `rare` and the bound.
void drift_take_mixed(Arena *a, DriftOutput *out, const double *mixed, uint32_t n);
const char *drift_precision_name(DriftPrecision p);
const char *drift_basis_name(DriftBasis b);

// A decision (of report.decisions): how far its nearest one is from its threshold, and the error
// there.
typedef struct DriftFlip {
    double margin, at, second; // elements; second -1: there is none
    double decisions;
    double error; // standard deviation of an element of what is decided by
} DriftFlip;

// May it flip: is the threshold within three standard deviations?
bool drift_flip(const Drift *d, uint32_t i, DriftFlip *flip);
void drift_print_flips(const Drift *d, Buf *out);
void drift_json_flips(const Drift *d, Json *j);

// The model once more, with values that a run rounds or computes in float64 (passes/trial.h),
// beside its float64 shadow.
typedef struct DriftTrial {
    const Tool *tool;
    const SensOptions *sens;
    const Drift *d;
    DriftRewrite *rewrite; // is done before; NULL: none
    uint32_t widens;       // of the order's first values, how many may be computed in float64
    Session s;
    cameo_context *context;
    int32_t input;      // the modes
    uint8_t *modes;     // by value of the table, then of all that a rewrite made
    uint32_t set;       // of a run, from 0
    Mixtures *mixtures; // takes the data sets of a run; NULL: none are wanted
    bool wants_poles;
    DriftPoles poles;
    Trial trial;
    struct {
        ValueId value;
        uint32_t number;          // of the program's outputs
        bool known;               // it has numbers
        VEC(double) sets;         // relative rms of each data set
        double squares, all, rms; // rms: relative; negative: nothing is known
    } *outputs;                   // of the table
} DriftTrial;

// 0, or an exit status: the model cannot be compiled so.
int drift_trial_open(DriftTrial *x);
// Runs all data sets with these modes: `rms` and `worst` of the outputs.
int drift_trial_run(DriftTrial *x);
void drift_trial_close(DriftTrial *x);

// Runs the model with its values really rounded: the outputs' figures are measured then.
void drift_run_rounded(const Tool *t, const SensOptions *sens, Drift *d);
// Which formulas could be written otherwise; each is tried.
void drift_rewrite(const Tool *t, const SensOptions *sens, Drift *d);
// Finds the advice for all outputs that exceed their budgets, and tries it (tools/drift_check.c).
void drift_advise(const Tool *t, const SensOptions *sens, Drift *d);
// Where a budget is exceeded: the values that would have to be computed in a wider dtype.
void drift_print_advice(const Drift *d, Buf *out);
// The one that gains most, and the output that it does so of; NULL: none gains.
const DriftRewrite *drift_best_rewrite(const Drift *d, uint32_t *output);
void drift_print_rewrites(const Drift *d, Buf *out);
void drift_json_rewrites(const Drift *d, Json *j);
void drift_json_advice(const Drift *d, uint32_t o, Json *j);
void drift_print_poles(const Drift *d, Buf *out);
void drift_json_poles(const Drift *d, Json *j);
bool drift_is_near_pole(const DriftPole *p);
void drift_print_text(const Drift *d, Buf *out);
void drift_print_json(const Drift *d, Buf *out);

#endif
