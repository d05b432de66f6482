// What the files of the interval analysis share.
#ifndef CAMEO_PASSES_RANGES_STATE_H
#define CAMEO_PASSES_RANGES_STATE_H

#include "passes/ranges.h"
#include "passes/weigh.h"

typedef struct RangeWalk RangeWalk;

typedef Range RangeOfOne(RangeWalk *w, Range x);
typedef Range RangeOfTwo(RangeWalk *w, Range a, Range b);

// What an operator does to intervals: a row, as its meaning is one in ir/ops.
typedef struct RangeRow {
    const char *name;
    void (*rule)(RangeWalk *w);
    union {
        RangeOfOne *unary;
        RangeOfTwo *binary;
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

// Is what Ranges.at says of a value still to be computed, or was it?
enum RangeLater { RANGE_NOW, RANGE_LATER, RANGE_WAS_LATER };

struct Ranges {
    Model *m;
    Arena *a;
    bool analysed, without_data, whole;
    Range *at;      // by value; asked for by range_at
    uint8_t *later; // by value: RangeLater
    uint32_t n;
    const ConstantStats **stats; // by value
    const RangeRow **rows;       // by node; NULL: no rule
    uint64_t work, most;         // bounds of single channels computed, and how many may be
    const double
        *numbers[DT_COUNT];       // of codes, by dtype (ranges_factors.c); NULL: not needed so far
    struct WeighScratch *scratch; // of ranges_weigh.c; NULL: not needed so far
    Channels *spare;              // that nobody looks at; NULL: none
    double *room;                 // of the sums of one product, and of what it multiplies
    uint64_t rooms;
};

struct RangeWalk {
    Ranges *r;
    Model *m;
    NodeId id;
    const Node *n;
    const RangeRow *row;
    uint32_t depth; // of loops around
};

// ---- what is computed when it is asked for: large constants, and what only converts them. A
// product with one reads it once, for its sums and its bounds.
Range *range_at(Ranges *r, ValueId v);
bool walk_waits(RangeWalk *w, uint32_t i); // is operand i such a one, not asked for so far?
// A pass over the elements of a constant, packed or not, that nobody has measured; NULL: somebody
// has.
bool range_stats_known(Ranges *r, ValueId v);
// So much more may be spent on channels for a constant of so many elements.
uint64_t range_more_work(uint64_t count);
ElementsPass *range_stats_open(Ranges *r, ValueId v, bool packed);
void range_stats_close(Ranges *r, ValueId v, ElementsPass *pass);

// ---- operands and results
const Value *walk_value(RangeWalk *w, uint32_t i); // NULL: absent
Range walk_in(RangeWalk *w, uint32_t i);           // absent or no tensor: not known
DType walk_dtype(RangeWalk *w, uint32_t i);
DType walk_result(RangeWalk *w, uint32_t o);
Elements walk_constant(RangeWalk *w, uint32_t i); // none: not a constant of its own dtype
double walk_scalar(RangeWalk *w, uint32_t i, double otherwise); // a constant of one element
void walk_give(RangeWalk *w, uint32_t o, Range x, RangeRounding how);
// How many elements of input i stand at each index of the axes that are left: the product of the
// dims that `axis` names (INT32_MIN: all of them).
double walk_count(RangeWalk *w, uint32_t i, int64_t axis, RangeBasis *by);
// May so much more work be spent on channels? It is counted then.
bool walk_afford(RangeWalk *w, uint64_t work);

// ---- intervals
bool range_of_numbers(DType t);
Range range_none(void);
Range range_between(double lo, double hi); // proved
Range range_full(DType t);                 // all that a value of the dtype may be: NaN, infinite
Range range_finite(DType t);               // all finite numbers of the dtype: assumed of an input
Range range_join(Range a, Range b);        // without channels, unless they are the same
Range range_join_two(RangeWalk *w, Range a, Range b);
Range range_plain(Range x); // without channels
// Bounds of what a library's function gives, in the dtype of result 0.
Range range_loosen(RangeWalk *w, Range x);
// Moves both bounds outward by `by`.
Range range_widen(Range x, double by);
// The same by what rounding adds to a sum or mean of numbers within x, which is as large as they
// are: both bounds rest on both then. What is not negative sums to no less.
Range range_rounded(Range x, double error);
double range_product(double a, double b); // of bounds: 0 * inf is 0
Range range_add(RangeWalk *w, Range a, Range b);
Range range_sub(RangeWalk *w, Range a, Range b);
Range range_mul(RangeWalk *w, Range a, Range b);
Range range_div(RangeWalk *w, Range a, Range b);
// The relative error of a sum of n terms in the accumulator of a dtype.
double range_sum_error(DType t, double n);

// ---- channels
// n of them, to be set one by one; NULL: none, or too much work.
Channels *channels_new(RangeWalk *w, uint32_t axis, uint64_t n);
void channels_set(Channels *c, uint32_t k, Range one); // a range that is not known: anything
// The whole, also within the channels' bounds, with them. NULL: the whole without channels.
Range range_with_channels(RangeWalk *w, Range whole, const Channels *c);
Range range_channel(const Range *x, uint32_t k);
Range range_on_axis(RangeWalk *w, Range x, uint32_t axis); // the same channels along another axis
// n channels, the kth being channel from[k] of x.
Range range_picked(RangeWalk *w, Range x, uint32_t axis, uint64_t n, const uint32_t *from);
// Operand i as it stands along an axis of n indices of a result of that rank, to which it is
// broadcast: with its channels there, computed or of a constant, or without.
Range range_along(RangeWalk *w, uint32_t i, uint32_t rank, uint32_t axis, uint32_t n);
// Operands first .. first + count - 1, broadcast, folded; a function of one operand; a join: of the
// whole and of each channel.
Range range_fold(RangeWalk *w, uint32_t first, uint32_t count, RangeOfTwo *f);
Range range_each(RangeWalk *w, Range x, RangeOfOne *f);
Range range_joined(RangeWalk *w, Range a, Range b);
bool range_is_large(const Range *x); // beyond 2^100, or infinite

// Operand 0 with channels only where they are those of images, and as many in result 0.
Range range_of_images(RangeWalk *w);

// ---- constant factors of products
// What is multiplied: data, or (data - zero) * scale rounded to `dtype`. Scales and zero points are
// one for all, one for each index of an axis, or one for each block of its indices.
typedef struct Factor {
    Elements data;
    ValueId value;           // the constant whose data they are; 0: of none as a whole
    DType dtype;             // what elements are rounded to; of an integer: not at all
    bool transposed, scaled; // a matrix whose rows and columns changed places; there is a scale
    const double *numbers;   // what the codes of a float of at most 8 bits stand for; else NULL
    ValueId scale_value;     // the constant that `scale` is; 0: of none
    uint32_t packed;         // bits of each, several to a byte, the lowest first; 0: as stored
    Elements scale, zero;    // one for all or nscales each; of no elements: 1, `middle`
    double middle;
    uint64_t nscales; // 0: the data as they are
    uint64_t inner, along, block;
} Factor;
// Operand i, through DequantizeLinear, Transpose of a matrix and widening Casts; false: it is no
// constant.
bool walk_factor(RangeWalk *w, uint32_t i, Factor *f);
// Gives a factor with data its scales and zero points; false: they do not fit.
bool range_quantized(RangeWalk *w, Factor *f, Elements scale, Elements zero, int64_t axis,
                     int64_t block);
// n elements from index `first` on, as they are computed.
void factor_read(const Factor *f, uint64_t first, uint64_t n, double *to);
// How the data are stored, where they are floats of 16, 32 or 64 bits; else false.
bool factor_form(const Factor *f, WeightForm *form);
// The parameters of at most n elements from index `first` on: the kth for all of them, where step
// is 0, or those from the kth on.
typedef struct FactorRun {
    uint64_t n, step, k;
} FactorRun;
FactorRun factor_run(const Factor *f, uint64_t first, uint64_t n);
double factor_scale(const Factor *f, uint64_t k);
double factor_zero(const Factor *f, uint64_t k);
// The same of the kth and those behind it, n in all.
void factor_scales(const Factor *f, uint64_t k, uint64_t n, float *to);
void factor_zeros(const Factor *f, uint64_t k, uint64_t n, float *to);
bool range_dequantizes(const Node *n); // DequantizeLinear of either domain
// The node of that standard operator whose result 0 the value is; NULL: another, or none.
const Node *range_made_by(RangeWalk *w, ValueId v, const char *op);

// The elements of weights in memory order are at [first][second][third]; which output and which
// input channel one belongs to follows from the first two.
typedef struct Weights {
    const Factor *data;
    uint64_t first, second, third;
    uint64_t groups;
    bool in_first; // [in][out][taps], else [out][in][taps]
} Weights;

// For each output channel: bounds of the sum of products with x, the sum of their magnitudes. They
// hold until the next are asked for.
typedef struct Sums {
    uint32_t n;
    double *lo, *hi, *magnitude;
    double terms;
    double error; // of one factor, relative
} Sums;

// x: whole, or with channels that are the products' inputs. false: too much work, or a weight is no
// finite number.
bool range_weigh(RangeWalk *w, const Weights *at, const Range *x, Sums *s);
// What is added to sums, and what both are multiplied by.
typedef struct Bias {
    uint32_t operand; // beyond all operands: none
    bool apart;       // it may vary along the sums' axis
    double alpha, beta;
} Bias;
// The sums as the range of result 0, its channels along `axis`; a bias is added to each.
void range_give_sums(RangeWalk *w, const Sums *s, Range x, uint32_t axis, const Bias *bias);
uint8_t range_by_all(const Range *x); // what all of its bounds rest on
// Of a convolution: what it multiplies, zeros of its padding counted; how its weights lie.
Range range_window(RangeWalk *w, Range x, bool transposed);
bool range_kernel(RangeWalk *w, const Factor *f, bool transposed, Weights *at);

// ---- operands that are computed from one another; false: they are not
bool range_related_product(RangeWalk *w); // gives result 0
bool range_related_quotient(RangeWalk *w);
bool range_related_matmul(RangeWalk *w);
// Gives result 0, x / divisor, or x times the inverse of the divisor, where the divisor is at least
// a part of |x|, so that the quotient is bounded whatever x is, and that says more than the
// operands' bounds.
bool range_covered(RangeWalk *w, ValueId x, ValueId divisor, bool inverse);

// ---- sums
// n terms, each within `term`; fewer, unless `all` and n is proved: dims that are known.
Range range_sum_of(RangeWalk *w, Range term, double n, RangeBasis by, bool all);
uint8_t range_overflows(RangeWalk *w, double magnitude, uint8_t nan); // its NaN, of such a sum
double range_dims_product(RangeWalk *w, const Value *v, uint32_t from, RangeBasis *by);

// Rules shared by families.
// scale * z + shift with |z| <= bound, for each index of an axis; scale and shift are operands,
// beyond all of them: none.
void range_normalized(RangeWalk *w, double bound, RangeBasis by, int64_t axis, uint32_t scale,
                      uint32_t shift);
// Rows that sum to at most 1, n numbers each, times numbers within x.
Range range_weighted(RangeWalk *w, Range x, double n);
// The sum of products with a constant matrix at operand 1 or 0: how, and what is added.
typedef struct Matrix {
    bool first, transposed; // the constant is operand 0; the node transposes it
    bool across;            // of the other operand, the axis that is summed is the last but one
} Matrix;
bool range_matrix(RangeWalk *w, Range x, const Matrix *m, const Bias *bias);
// The same where the matrix is still to be read; false: it is not, or the sums are not known.
bool range_first_matrix(RangeWalk *w, const Matrix *m, const Bias *bias);
// Products of which none is constant: n to a sum.
Range range_products(RangeWalk *w, Range a, Range b, double n, RangeBasis by);
void range_unary(RangeWalk *w);
void range_binary(RangeWalk *w);
void range_variadic(RangeWalk *w);
void range_bounds(RangeWalk *w); // row->fn.bounds, whatever the operand is

extern const RangeRow ranges_elementwise[], ranges_movement[], ranges_layout[], ranges_sums[],
    ranges_reductions[], ranges_norms[], ranges_numbers[], ranges_quantized[], ranges_einsum[],
    ranges_sampled[], ranges_microsoft[], ranges_attention[], ranges_ml[];

#endif
