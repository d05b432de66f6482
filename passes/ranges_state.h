// What the files of the interval analysis share.
#ifndef CAMEO_PASSES_RANGES_STATE_H
#define CAMEO_PASSES_RANGES_STATE_H

#include "passes/ranges.h"

typedef struct RangeWalk RangeWalk;

// What an operator does to intervals: a row, as its meaning is one in ir/ops.
typedef struct RangeRow {
    const char *name;
    void (*rule)(RangeWalk *w);
    union {
        Range (*unary)(RangeWalk *w, Range x);
        Range (*binary)(RangeWalk *w, Range a, Range b);
        double bounds[2];
    } fn;
    int how; // RangeRounding of unary and binary rows
} RangeRow;

// How a bound that was computed in double becomes one of the result's dtype.
typedef enum RangeRounding {
    ROUND_NOT,     // it is one of the operands' values, or exact
    ROUND_NEAREST, // the operation is correctly rounded in the result's dtype
    ROUND_LOOSE    // a library's function: some units in the last place
} RangeRounding;

struct Ranges {
    Model *m;
    Arena *a;
    bool analysed, without_data;
    Range *at; // by value
    uint32_t n;
    const ConstantStats **stats; // by value
    const RangeRow **rows;       // by node; NULL: no rule
    uint64_t work, most;         // bounds of single channels computed, and how many may be
};

struct RangeWalk {
    Ranges *r;
    Model *m;
    NodeId id;
    const Node *n;
    const RangeRow *row;
    uint32_t depth; // of loops around
};

// ---- operands and results
const Value *walk_value(RangeWalk *w, uint32_t i); // NULL: absent
Range walk_in(RangeWalk *w, uint32_t i);           // absent or no tensor: not known
DType walk_dtype(RangeWalk *w, uint32_t i);
DType walk_result(RangeWalk *w, uint32_t o);
const TensorData *walk_constant(RangeWalk *w, uint32_t i); // with its elements readable, or NULL
double walk_scalar(RangeWalk *w, uint32_t i, double otherwise); // a constant of one element
void walk_give(RangeWalk *w, uint32_t o, Range x, RangeRounding how);
// How many elements of input i stand at each index of the axes that are left: the product of the
// dims that `axis` names (INT32_MIN: all of them).
double walk_count(RangeWalk *w, uint32_t i, int64_t axis, RangeBasis *by);
// May so much more work be spent on channels? It is counted then.
bool walk_afford(RangeWalk *w, uint64_t work);

// ---- intervals
Range range_none(void);
Range range_between(double lo, double hi); // proved
Range range_full(DType t);                 // all that a value of the dtype may be: NaN, infinite
Range range_finite(DType t);               // all finite numbers of the dtype: assumed of an input
Range range_join(Range a, Range b);
Range range_plain(Range x); // without channels
Range range_channel(const Range *x, uint32_t k);
// lo and hi of all channels; the arrays stay the caller's arena's.
Range range_of_channels(RangeWalk *w, Range like, uint32_t axis, uint32_t n, const double *lo,
                        const double *hi);
// Bounds of what a library's function gives, in the dtype of result 0.
Range range_loosen(RangeWalk *w, Range x);
// Moves both bounds outward by `by`.
Range range_widen(Range x, double by);
double range_product(double a, double b); // of bounds: 0 * inf is 0
Range range_add(RangeWalk *w, Range a, Range b);
Range range_sub(RangeWalk *w, Range a, Range b);
Range range_mul(RangeWalk *w, Range a, Range b);
Range range_div(RangeWalk *w, Range a, Range b);
// The relative error of a sum of n terms in the accumulator of a dtype.
double range_sum_error(DType t, double n);

// Rules shared by families.
void range_unary(RangeWalk *w);
void range_binary(RangeWalk *w);
void range_variadic(RangeWalk *w);
void range_bounds(RangeWalk *w); // row->fn.bounds, whatever the operand is

extern const RangeRow ranges_elementwise[], ranges_movement[], ranges_sums[], ranges_numbers[];

#endif
