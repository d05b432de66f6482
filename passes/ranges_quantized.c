// Interval rules of quantization and of products of quantized operands.
//
// What a number (q - zero) * scale stands for is bounded as other numbers are, channels apart; a
// result that is quantized again keeps the integers next to its bounds, within those of its dtype.

#include "passes/ranges_state.h"

#include <math.h>

// ---- QuantizeLinear, DequantizeLinear

// (q - zero) * scale of one channel.
static Range real_one(RangeWalk *w, Range q, Range zero, Range scale)
{
    Range y = range_mul(w, range_sub(w, q, zero), scale);
    y.integer = false;
    y.bits = 0;
    return y;
}

// A parameter's range at index k of n: its element where it has one for each.
static Range parameter_at(const Elements *p, const Range *whole, uint32_t k, uint32_t n)
{
    bool apart = p->n == n && p->rank == 1;
    return apart ? range_between(element_at(p, k), element_at(p, k)) : range_plain(*whole);
}

// What operand i stands for: its scale and zero point are operands too. Channels are the operand's,
// or the scale's along `axis`.
static Range real_of(RangeWalk *w, uint32_t i, uint32_t scale, uint32_t zero, int64_t axis)
{
    Range q = walk_in(w, i), s = walk_in(w, scale);
    Range z = walk_value(w, zero) ? walk_in(w, zero) : range_between(0, 0);
    const Elements scales = walk_constant(w, scale), zeros = walk_constant(w, zero);
    if (!q.known || !s.known || !z.known || q.lo > q.hi || s.lo > s.hi || z.lo > z.hi)
        return range_none();
    Range whole = real_one(w, range_plain(q), range_plain(z), range_plain(s));
    bool many = scales.n > 1 && scales.rank == 1 && axis >= 0;
    if (many && q.channels && (q.channels->axis != axis || q.channels->n != scales.n))
        q.channels = NULL;
    if ((!many && !q.channels) || (!many && zeros.n > 1))
        return whole;
    Channels *c =
        channels_new(w, many ? (uint32_t)axis : q.channels->axis, many ? scales.n : q.channels->n);
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k,
                     real_one(w, range_channel(&q, k), parameter_at(&zeros, &z, k, c->n),
                              parameter_at(&scales, &s, k, c->n)));
    return range_with_channels(w, whole, c);
}

// The axis that a node's scales are along, counted from the front; -1: none, or blocks of one.
static int64_t scale_axis(RangeWalk *w)
{
    const Value *x = walk_value(w, 0);
    int64_t axis = node_int(w->n, "axis", 1);
    if (!x || x->rank < 1 || node_int(w->n, "block_size", 0) != 0)
        return -1;
    axis = x->rank == 1 && axis == 1 ? 0 : axis;
    return axis < 0 ? axis + x->rank : axis < x->rank ? axis : -1;
}

// One number each: of a bias all are known.
static Channels *elements_apart(RangeWalk *w, const Factor *f)
{
    enum { READ = 64 };
    Channels *c = channels_new(w, 0, f->data.n);
    double v[READ];
    for (uint64_t i = 0; c && i < f->data.n; i++) {
        if (i % READ == 0)
            factor_read(f, i, f->data.n - i < READ ? f->data.n - i : READ, v);
        channels_set(c, (uint32_t)i, range_between(v[i % READ], v[i % READ]));
    }
    return c;
}

static void dequantize(RangeWalk *w)
{
    Range y = real_of(w, 0, 1, 2, scale_axis(w));
    const Value *x = walk_value(w, 0);
    const Elements data = x && x->rank == 1 ? walk_constant(w, 0) : (Elements){0};
    Factor f = {.data = data, .dtype = walk_result(w, 0)};
    if (!y.known)
        return;
    if (data.n > 1 && data.rank == 1 &&
        range_quantized(w, &f, walk_constant(w, 1), walk_constant(w, 2), 0,
                        node_int(w->n, "block_size", 0)))
        y = range_with_channels(w, range_plain(y), elements_apart(w, &f));
    // Differences of short integers are exact: the product alone is rounded.
    bool exact = dtype_is_integer(walk_dtype(w, 0)) && dtype_info(walk_dtype(w, 0))->bits <= 16;
    walk_give(w, 0, y, exact ? ROUND_NEAREST : ROUND_LOOSE);
}

// The integer that round(v) is, or the one towards `by` of it where that is near a half.
static double stepped(double v, double by)
{
    return fabs(v - nearbyint(v)) < 0.25 ? nearbyint(v) : by < 0 ? floor(v) : ceil(v);
}

// round(x / scale) + zero, not below or above what the dtype holds. `off`: by how many steps
// integer arithmetic may be off.
static Range quantized_one(Range x, double scale, double zero, DType t, double off)
{
    double lo, hi;
    Range y = {.known = true, .integer = true};
    range_of_dtype(t, &lo, &hi);
    double a = stepped(x.lo / scale, -1) + zero - off, b = stepped(x.hi / scale, 1) + zero + off;
    y.lo = a > lo ? fmin(a, hi) : lo;
    y.hi = b < hi ? fmax(b, lo) : hi;
    y.lo_by = a > lo ? x.lo_by : (uint8_t)RANGE_PROVED;
    y.hi_by = b < hi ? x.hi_by : (uint8_t)RANGE_PROVED;
    return y;
}

// The quotient by a scale may be one of float16: as if x itself were off by so much.
static Range divided(RangeWalk *w, Range x)
{
    int digits = range_digits(walk_dtype(w, 0));
    x.lo -= digits && digits < 24 ? fabs(x.lo) * ldexp(1, 1 - digits) : 0;
    x.hi += digits && digits < 24 ? fabs(x.hi) * ldexp(1, 1 - digits) : 0;
    return x;
}

// Result 0 is x, quantized by constant operands; it may be anything where they are not known.
static void give_quantized(RangeWalk *w, Range x, uint32_t scale, uint32_t zero, int64_t axis,
                           double off)
{
    const Elements s = walk_constant(w, scale), z = walk_constant(w, zero);
    DType t = walk_result(w, 0);
    if (!x.known || x.nan || x.lo > x.hi || !s.n || (walk_value(w, zero) && !z.n) ||
        !dtype_is_integer(t) || dtype_info(t)->bits > 16 || (z.n > 1 && z.n != s.n))
        return;
    bool many = s.n > 1;
    if (many && (s.rank != 1 || axis < 0))
        return;
    if (many && x.channels && (x.channels->axis != axis || x.channels->n != s.n))
        x.channels = NULL;
    uint32_t n = many ? (uint32_t)s.n : x.channels ? x.channels->n : 1;
    Channels *c = n > 1 ? channels_new(w, many ? (uint32_t)axis : x.channels->axis, n) : NULL;
    Range y = range_between(INFINITY, -INFINITY);
    y.integer = true;
    for (uint32_t k = 0; k < n; k++) {
        double scale_k = element_at(&s, many ? k : 0);
        if (!(scale_k > 0) || isinf(scale_k))
            return;
        Range one = quantized_one(divided(w, range_channel(&x, k)), scale_k,
                                  z.n ? element_at(&z, z.n > 1 ? k : 0) : 0, t, off);
        y = range_join(y, one);
        if (c)
            channels_set(c, k, one);
    }
    walk_give(w, 0, range_with_channels(w, y, c), ROUND_NOT);
}

static void quantize(RangeWalk *w)
{
    if (node_int(w->n, "block_size", 0) == 0)
        give_quantized(w, walk_in(w, 0), 1, 2, scale_axis(w), 0);
}

// y = x in 255 steps from min(x, 0) to max(x, 0).
static void quantize_dynamically(RangeWalk *w)
{
    Range x = walk_in(w, 0), point = range_finite(DT_U8);
    walk_give(w, 0, point, ROUND_NOT);
    walk_give(w, 2, point, ROUND_NOT);
    if (!x.known || x.nan || x.lo > x.hi)
        return;
    Range scale = range_between(0, (fmax(x.hi, 0) - fmin(x.lo, 0)) / 255);
    if (x.lo <= 0 && x.hi >= 0) // where all is 0, runtimes take a scale of 1
        scale.hi = fmax(scale.hi, 1);
    scale.hi_by = x.lo_by | x.hi_by;
    walk_give(w, 1, scale, ROUND_LOOSE);
}

// ---- integer products

// What a product adds up: a factor of constants, x, and a bias; and what becomes of the sum.
typedef struct Product {
    Range x;
    Factor f;
    Weights at;
    uint32_t axis; // of the result, that channels are along
    uint32_t bias; // operand; integers in steps of both scales
    double scale;  // of x, for the bias
    double error;  // of the sum, relative to the sum of magnitudes
} Product;

static Range product_channel(RangeWalk *w, const Product *p, const Sums *s, uint32_t k)
{
    const Elements bias = walk_constant(w, p->bias);
    Range y = range_between(s->lo[k], s->hi[k]);
    y.lo_by = y.hi_by = range_by_all(&p->x);
    if (walk_value(w, p->bias)) {
        double step = p->scale;
        step *= factor_scale(&p->f, k);
        Range b = bias.n == s->n ? range_between(element_at(&bias, k), element_at(&bias, k))
                                 : range_plain(walk_in(w, p->bias));
        y = range_add(w, y, range_mul(w, b, range_between(step, step)));
    }
    return range_widen(y, p->error * s->magnitude[k]);
}

// The sums with their channels; not known: no constant factor, or too much work.
static Range product(RangeWalk *w, const Product *p)
{
    Sums s;
    double most = 0;
    if (!p->x.known || p->x.lo > p->x.hi || range_is_large(&p->x) ||
        !range_weigh(w, &p->at, &p->x, &s))
        return range_none();
    Channels *c = channels_new(w, p->axis, s.n);
    Range y = range_between(INFINITY, -INFINITY);
    for (uint32_t k = 0; k < s.n; k++) {
        Range one = product_channel(w, p, &s, k);
        if (!one.known || isnan(one.lo) || isnan(one.hi))
            return range_none();
        most = fmax(most, s.magnitude[k]);
        y = range_join(y, one);
        if (c)
            channels_set(c, k, one);
    }
    y.nan = dtype_is_float(walk_result(w, 0)) ? range_overflows(w, most, p->x.nan) : NAN_NEVER;
    return range_with_channels(w, y, c);
}

// Of a convolution with kernel operand i: false: it is no constant.
static bool windows(RangeWalk *w, Product *p, uint32_t i, Elements scale, Elements zero)
{
    p->f = (Factor){.data = walk_constant(w, i), .dtype = scale.n ? DT_F64 : DT_I32};
    p->f.value = p->f.data.n ? w->n->in[i] : 0;
    p->axis = 1;
    p->x = range_window(w, p->x, false);
    return p->f.data.n && range_quantized(w, &p->f, scale, zero, 0, 0) &&
           range_kernel(w, &p->f, false, &p->at);
}

// Of a product with matrix operand i, [K, N] or transposed.
static bool rows_times(RangeWalk *w, Product *p, uint32_t i, Elements scale, Elements zero,
                       bool transposed)
{
    const Value *a = walk_value(w, 0), *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    p->f = (Factor){.data = walk_constant(w, i), .dtype = scale.n ? DT_F64 : DT_I32};
    p->f.value = p->f.data.n ? w->n->in[i] : 0;
    if (p->f.data.rank != 2 || !a || a->rank < 2 || !y || y->rank < 2 ||
        !range_quantized(w, &p->f, scale, zero, transposed ? 0 : 1, 0))
        return false;
    if (p->x.channels && p->x.channels->axis + 1 != (uint32_t)a->rank)
        p->x.channels = NULL;
    p->axis = (uint32_t)y->rank - 1;
    const int64_t *dims = p->f.data.dims;
    p->at = (Weights){&p->f, (uint64_t)dims[0], (uint64_t)dims[1], 1, 1, !transposed};
    return true;
}

// x - zero, of integers; a zero point that varies is taken as a whole.
static Range without_zero(RangeWalk *w, uint32_t i, uint32_t zero)
{
    Range x = walk_in(w, i), z = walk_value(w, zero) ? walk_in(w, zero) : range_between(0, 0);
    if (!x.known || !z.known || x.lo > x.hi || z.lo > z.hi)
        return range_none();
    Range y = range_sub(w, range_plain(x), range_plain(z));
    Channels *c = x.channels ? channels_new(w, x.channels->axis, x.channels->n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k, range_sub(w, range_channel(&x, k), range_plain(z)));
    return range_with_channels(w, y, c);
}

// Integers by integers, of which none is constant: n products each.
static void give_integers(RangeWalk *w, double n, RangeBasis by)
{
    Range a = range_plain(without_zero(w, 0, 2)), b = range_plain(without_zero(w, 1, 3));
    if (!a.known || !b.known)
        return;
    Range y = range_sum_of(w, range_mul(w, a, b), n, by, false);
    y.integer = true;
    walk_give(w, 0, y, ROUND_NOT);
}

static void give_sum(RangeWalk *w, const Product *p)
{
    Range y = product(w, p);
    y.integer = true;
    if (y.known)
        walk_give(w, 0, y, ROUND_NOT);
}

static void conv_integer(RangeWalk *w)
{
    Product p = {.x = without_zero(w, 0, 2), .bias = UINT32_MAX};
    const Value *v = walk_value(w, 1);
    RangeBasis by;
    bool zero = walk_value(w, 3) && !walk_constant(w, 3).n;
    if (!p.x.known || !v || v->rank < 3)
        return;
    if (!zero && windows(w, &p, 1, (Elements){0}, walk_constant(w, 3))) {
        give_sum(w, &p);
        return;
    }
    double n = range_dims_product(w, v, 1, &by);
    give_integers(w, n, by);
}

static void matmul_integer(RangeWalk *w)
{
    Product p = {.x = without_zero(w, 0, 2), .bias = UINT32_MAX};
    RangeBasis by;
    bool zero = walk_value(w, 3) && !walk_constant(w, 3).n;
    if (!p.x.known)
        return;
    if (!zero && rows_times(w, &p, 1, (Elements){0}, walk_constant(w, 3), false)) {
        give_sum(w, &p);
        return;
    }
    double n = walk_count(w, 0, -1, &by);
    give_integers(w, n, by);
}

// Kernels round the product of scales and the scaled sum in float32.
static const double SCALED = 0x1p-20;

static void qlinear_conv(RangeWalk *w)
{
    const Elements scale = walk_constant(w, 4), zero = walk_constant(w, 5);
    Product p = {.x = real_of(w, 0, 1, 2, -1), .bias = 8, .error = SCALED};
    p.scale = walk_scalar(w, 1, NAN);
    if (p.x.known && scale.n && (zero.n || !walk_value(w, 5)) && !isnan(p.scale) &&
        windows(w, &p, 3, scale, zero))
        give_quantized(w, product(w, &p), 6, 7, -1, 1);
}

static void qlinear_matmul(RangeWalk *w)
{
    const Elements scale = walk_constant(w, 4), zero = walk_constant(w, 5);
    Product p = {.x = real_of(w, 0, 1, 2, -1), .bias = UINT32_MAX, .error = SCALED};
    if (p.x.known && scale.n && (zero.n || !walk_value(w, 5)) &&
        rows_times(w, &p, 3, scale, zero, false))
        give_quantized(w, product(w, &p), 6, 7, -1, 1);
}

// A float bias is added where the sum is a float.
static void give_floats(RangeWalk *w, const Product *p, uint32_t bias)
{
    Range y = product(w, p);
    if (!y.known)
        return;
    if (walk_value(w, bias)) {
        Range b = walk_in(w, bias);
        y = b.known ? range_add(w, range_plain(y), range_plain(b)) : range_none();
    }
    walk_give(w, 0, y, ROUND_LOOSE);
}

// com.microsoft: A, B, scales, zero points, bias.
static void integer_to_float(RangeWalk *w)
{
    const Elements scale = walk_constant(w, 3), zero = walk_constant(w, 5);
    Product p = {.x = real_of(w, 0, 2, 4, -1), .bias = UINT32_MAX, .error = SCALED};
    if (p.x.known && scale.n && (zero.n || !walk_value(w, 5)) &&
        rows_times(w, &p, 1, scale, zero, false))
        give_floats(w, &p, 6);
}

// A in 255 steps is at most one step outside of its bounds.
static void dynamic_matmul(RangeWalk *w)
{
    const Elements scale = walk_constant(w, 2), zero = walk_constant(w, 3);
    Range x = walk_in(w, 0);
    if (!x.known || x.lo > x.hi || x.nan || range_is_large(&x))
        return;
    x = range_joined(w, range_plain(x), range_between(0, 0));
    double step = (x.hi - x.lo) / 255;
    x.lo_by = x.hi_by = x.lo_by | x.hi_by;
    Product p = {.x = range_widen(x, step), .bias = UINT32_MAX, .error = SCALED};
    if (scale.n && (zero.n || !walk_value(w, 3)) && rows_times(w, &p, 1, scale, zero, false))
        give_floats(w, &p, 4);
}

// ---- com.microsoft: elementwise, in float32, and quantized again

static Range operand_of(RangeWalk *w, uint32_t i)
{
    return range_plain(real_of(w, i, i + 1, i + 2, -1));
}

static void qlinear_binary(RangeWalk *w)
{
    Range a = operand_of(w, 0), b = operand_of(w, 3);
    if (a.known && b.known)
        give_quantized(w, w->row->fn.binary(w, a, b), 6, 7, -1, 1);
}

static void qlinear_unary(RangeWalk *w)
{
    Range x = operand_of(w, 0);
    if (x.known)
        give_quantized(w, w->row->fn.unary(w, x), 3, 4, -1, 1);
}

// A mean of numbers, none where padding counts, is between them.
static Range mean_or_zero(RangeWalk *w, Range x)
{
    return node_int(w->n, "count_include_pad", 0) ? range_join(x, range_between(0, 0)) : x;
}

static Range logistic(RangeWalk *w, Range x)
{
    (void)w;
    x.lo = 1 / (1 + exp(-x.lo)) - 1e-5;
    x.hi = 1 / (1 + exp(-x.hi)) + 1e-5;
    return x;
}

static Range leaky(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 0.01);
    Range low = x, a;
    low.hi = fmin(x.hi, 0);
    low.lo = fmin(x.lo, 0);
    a = range_mul(w, low, range_between(alpha, alpha));
    x.lo = fmax(x.lo, 0);
    x.hi = fmax(x.hi, 0);
    return range_join(a, x);
}

static Range probability(RangeWalk *w, Range x)
{
    (void)w, (void)x;
    return range_between(0, 1);
}

static void qlinear_where(RangeWalk *w)
{
    Range a = operand_of(w, 1), b = operand_of(w, 4);
    if (a.known && b.known)
        give_quantized(w, range_join(a, b), 7, 8, -1, 1);
}

static void qlinear_concat(RangeWalk *w)
{
    Range y = range_between(INFINITY, -INFINITY);
    for (uint32_t i = 2; i + 2 < w->n->nin; i += 3)
        y = range_join(y, operand_of(w, i));
    give_quantized(w, y, 0, 1, -1, 1);
}

#define MS "com.microsoft::"
const RangeRow ranges_quantized[] = {
    {"QuantizeLinear", quantize, {NULL}, 0},
    {"DequantizeLinear", dequantize, {NULL}, 0},
    {"DynamicQuantizeLinear", quantize_dynamically, {NULL}, 0},
    {"ConvInteger", conv_integer, {NULL}, 0},
    {"MatMulInteger", matmul_integer, {NULL}, 0},
    {"QLinearConv", qlinear_conv, {NULL}, 0},
    {"QLinearMatMul", qlinear_matmul, {NULL}, 0},
    {MS "QuantizeLinear", quantize, {NULL}, 0},
    {MS "DequantizeLinear", dequantize, {NULL}, 0},
    {MS "QLinearConv", qlinear_conv, {NULL}, 0},
    {MS "MatMulIntegerToFloat", integer_to_float, {NULL}, 0},
    {MS "DynamicQuantizeMatMul", dynamic_matmul, {NULL}, 0},
    {MS "QLinearAdd", qlinear_binary, {.binary = range_add}, 0},
    {MS "QLinearMul", qlinear_binary, {.binary = range_mul}, 0},
    {MS "QLinearSigmoid", qlinear_unary, {.unary = logistic}, 0},
    {MS "QLinearLeakyRelu", qlinear_unary, {.unary = leaky}, 0},
    {MS "QLinearSoftmax", qlinear_unary, {.unary = probability}, 0},
    {MS "QLinearAveragePool", qlinear_unary, {.unary = mean_or_zero}, 0},
    {MS "QLinearGlobalAveragePool", qlinear_unary, {.unary = mean_or_zero}, 0},
    {MS "QLinearWhere", qlinear_where, {NULL}, 0},
    {MS "QLinearConcat", qlinear_concat, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
