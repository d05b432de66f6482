// Value ranges: between which bounds the elements of every value lie when the model runs.
//
// Interval analysis over the inferred model, forward, through branches, loops and called bodies;
// what is found of a value holds for every one of its elements. Constants are read once. The bounds
// are those of the values as they are computed, rounding included, not of exact arithmetic.
#ifndef CAMEO_PASSES_RANGES_H
#define CAMEO_PASSES_RANGES_H

#include "ir/registry.h"
#include "passes/elements.h"

// What a bound rests on. PROVED: constants, dtypes of at most 16 bits, shapes that are known and
// operators that bound their result. ASSUMED: also that an input, or what an unknown operator
// gives, may be all that its dtype holds, or that a dim of unknown size is below RANGE_MAX_DIM.
// MEASURED: also that calibration data (passes/measured.h) show what comes. Of what is computed
// from several bounds the last of these holds.
typedef enum RangeBasis { RANGE_PROVED, RANGE_MEASURED, RANGE_ASSUMED } RangeBasis;
enum { RANGE_MAX_DIM = 1 << 24 };

// May an element be NaN? BY_OVERFLOW: only because values that nothing bounds may overflow (inf -
// inf). MADE: an operation gives it on finite operands (the root of a negative number), or a
// constant holds it.
typedef enum RangeNan { NAN_NEVER, NAN_BY_OVERFLOW, NAN_MADE } RangeNan;

// Bounds for each index of one axis, and what they rest on (RangeBasis). What the whole is bounded
// by bounds each of them too.
typedef struct Channels {
    uint32_t axis, n;
    double *lo, *hi;
    uint8_t lo_by, hi_by;
    bool own; // no value has them so far
} Channels;

typedef struct Range {
    bool known;           // false: not a tensor of real numbers, or nothing was found of it
    double lo, hi;        // every element that is not NaN; an infinite bound: it may be infinite.
                          // lo > hi: there is no such element. bool: 0 and 1
    uint8_t lo_by, hi_by; // RangeBasis
    uint8_t nan;          // RangeNan
    bool integer;         // every finite element is an integer
    uint8_t bits;         // so many significant bits hold every element; 0: not known
    const Channels *channels; // NULL: not known
} Range;

typedef struct Ranges Ranges;

// Nothing is computed yet. The model has to be inferred, and to stay as it is. What was measured of
// its values is heeded where it is tighter, or, by the second, is not.
Ranges *ranges_of(Model *m, Arena *a);
Ranges *ranges_without_data(Model *m, Arena *a);
// The same with one range for all channels of a value: what they gain is measured against it.
Ranges *ranges_of_whole(Model *m, Arena *a);

// The range of a value; of values that no node of the main graph's program computes, by dtype. The
// first call analyses the model and reads its weights.
Range range_of(Ranges *r, ValueId v);
// The same without channels that cost time to look at: true if [lo, hi] is all within [min, max]
// and no NaN can occur.
bool range_within(const Range *x, double min, double max);

// The value whose bounds decide v's upper or lower one; 0: its operator, its content or nothing
// does, or it is a constant or an input. Has an operator a rule of its own?
ValueId range_source(Ranges *r, ValueId v, bool upper);
bool range_has_row(Ranges *r, NodeId n);

// Of a constant value (Value.constant); cached, read = false for other values.
const ConstantStats *range_stats(Ranges *r, ValueId v);

// Is a bound more than what the dtype alone says?
bool range_has_lo(const Range *x, DType t);
bool range_has_hi(const Range *x, DType t);
// The greatest magnitude, and what that bound rests on.
double range_magnitude(const Range *x, RangeBasis *by);
const char *range_basis(uint8_t by); // "proved", "measured", "assumed"

// How many elements, at most, of a dim or a product of dims; INFINITY: not known.
double range_of_dim(Ranges *r, Index dim, RangeBasis *by);
// The same of a value's own dim, which may have been measured.
double range_of_axis(Ranges *r, ValueId v, int32_t axis, RangeBasis *by);
// The bounds of a dtype's finite numbers; 0 and 0 for what has none.
void range_of_dtype(DType t, double *lo, double *hi);
// Binary digits of a float dtype's significand, the leading one included: 24 of float32, 11 of
// float16, 8 of bfloat16; 0 of other dtypes.
int range_digits(DType t);

#endif
