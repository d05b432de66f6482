// NS004, NS005 and NS009: divisors that may be 0, roots of what may be negative, and variances as
// the difference of two means.

#include "passes/lint/rewrite.h"

#include <math.h>

// ---- NS005: E[x^2] - E[x]^2

typedef struct Variance {
    ValueId x;
    NodeId of_square, of_x;
} Variance;

static bool is_pool(const NumberFacts *x, NodeId n)
{
    return node_is(node_at(x->m, n), "GlobalAveragePool");
}

static bool same_axes(const NumberFacts *x, NodeId a, NodeId b)
{
    if (is_pool(x, a) || is_pool(x, b))
        return is_pool(x, a) && is_pool(x, b);
    int64_t p[MAX_AXES], q[MAX_AXES];
    uint32_t np, nq;
    if (!numbers_axes(x, a, p, &np) || !numbers_axes(x, b, q, &nq) || np != nq)
        return false;
    for (uint32_t i = 0; i < np; i++)
        if (p[i] != q[i])
            return false;
    return true;
}

// The product of the dims that a reduction takes away; 0: they are not all known.
static double reduced_count(const NumberFacts *x, NodeId id)
{
    int64_t axes[MAX_AXES], dim;
    uint32_t n;
    double count = 1;
    if (!numbers_axes(x, id, axes, &n))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!poly_is_const(value_at(x->m, numbers_in(x, id, 0))->dims[axes[i]], &dim))
            return 0;
        count *= (double)dim;
    }
    return count;
}

// The reduction whose result v is the mean: ReduceMean, GlobalAveragePool, or `sums`, divided by
// how many there are or multiplied by the reciprocal of that. 0: v is none.
static NodeId mean_of(const NumberFacts *x, ValueId v, const char *sums)
{
    NodeId mean = numbers_made_by(x, v, "ReduceMean"), mul = numbers_made_by(x, v, "Mul"),
           div = numbers_made_by(x, v, "Div");
    mean = mean ? mean : numbers_made_by(x, v, "GlobalAveragePool");
    for (uint32_t i = 0; !mean && (mul || div) && i < (mul ? 2u : 1u); i++) {
        NodeId by = mul ? mul : div, sum = numbers_made_by(x, numbers_in(x, by, i), sums);
        double factor, count = sum ? reduced_count(x, sum) : 0;
        if (!sum || !numbers_constant(x, numbers_in(x, by, 1 - i), &factor) || !(count > 0))
            continue;
        double one = mul ? factor * count : factor / count; // but for the constant's rounding
        mean = fabs(one - 1) <= ldexp(1, -range_digits(numbers_dtype(x, v))) ? sum : 0;
    }
    return mean;
}

static bool find_variance(const NumberFacts *x, NodeId id, Variance *f)
{
    if (!node_is(node_at(x->m, id), "Sub"))
        return false;
    ValueId squares = numbers_in(x, id, 0);
    f->of_square = mean_of(x, squares, "ReduceSum");
    f->of_square = f->of_square ? f->of_square : mean_of(x, squares, "ReduceSumSquare");
    ValueId mean = numbers_square_of(x, numbers_in(x, id, 1));
    f->of_x = mean ? mean_of(x, mean, "ReduceSum") : 0;
    if (!f->of_square || !f->of_x)
        return false;
    f->x = numbers_in(x, f->of_x, 0);
    ValueId squared = numbers_in(x, f->of_square, 0);
    bool squares_itself = node_is(node_at(x->m, f->of_square), "ReduceSumSquare");
    squared = squares_itself ? squared : numbers_square_of(x, squared);
    return f->x && squared == f->x && range_digits(numbers_dtype(x, f->x)) &&
           same_axes(x, f->of_square, f->of_x);
}

// How many of the binary digits cancel at most, by calibration data: the greatest mean of squares
// beside the least difference. INFINITY: all of them; negative: nothing was measured.
static double cancelled_digits(const NumberFacts *x, NodeId id)
{
    const Measured *squares = measured_of(x->m, numbers_in(x, id, 0));
    const Measured *left = measured_of(x->m, node_at(x->m, id)->out[0]);
    if (!squares || !left || left->least > left->greatest || squares->above > 0)
        return squares && left ? INFINITY : -1;
    return left->least > 0 ? log2(fmax(1, squares->greatest / left->least)) : INFINITY;
}

// Data on which half of the digits stay show no fault.
static bool loses_digits(const NumberFacts *x, NodeId id, Variance *f)
{
    if (!find_variance(x, id, f))
        return false;
    double digits = cancelled_digits(x, id);
    return digits < 0 || 2 * digits > range_digits(numbers_dtype(x, f->x));
}

static void note_cancelled(Lint *l, Diag *d, NodeId id)
{
    NumberFacts *x = lint_numbers(l);
    double digits = cancelled_digits(x, id);
    if (digits < 0)
        return;
    if (isinf(digits))
        diag_note(l->diags, d, "measured: somewhere all digits cancel, or more");
    else
        diag_note(l->diags, d, "measured: up to %.1f binary digits cancel", digits);
    numbers_note_measured(l, d, numbers_in(x, id, 0));
    numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
}

// The one node that reads a difference and lets nothing below 0 through: Max with 0, Relu, Abs,
// Clip. 0: none.
static NodeId cut_off_by(Lint *l, ValueId v)
{
    const Uses *uses = lint_uses(l);
    NodeId n = uses->first[v + 1] == uses->first[v] + 1 ? uses->uses[uses->first[v]].node : 0;
    if (!n || !(node_is(node_at(l->m, n), "Max") || node_is(node_at(l->m, n), "Relu") ||
                node_is(node_at(l->m, n), "Abs") || node_is(node_at(l->m, n), "Clip")))
        return 0;
    Range r = range_of(lint_numbers(l)->ranges, node_at(l->m, n)->out[0]);
    return r.known && r.lo >= 0 && r.lo_by == RANGE_PROVED ? n : 0;
}

static void note_negative(Lint *l, Diag *d, NodeId id)
{
    NodeId cut = cut_off_by(l, node_at(l->m, id)->out[0]);
    if (cut)
        diag_note(l->diags, d, "where rounding makes the difference negative, %.*s %.*s hides it",
                  STR_ARG(str_escaped(l->arena, node_at(l->m, cut)->op)),
                  STR_ARG(lint_short(l, cut)));
    else
        diag_note(l->diags, d, "the difference may also be negative, and its root NaN");
}

void lint_variance(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Variance f;
    const NodeIds of = LINT_NODES(l, "Sub");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !loses_digits(x, id, &f))
            continue;
        DType t = numbers_dtype(x, f.x);
        Diag *d =
            numbers_report(l, "NS005", id, UINT32_MAX,
                           "variance as E[x^2] - E[x]^2 has no digit left where the mean is "
                           "%.0f standard deviations or more (proved: %d bits of %s)",
                           ldexp(1, (range_digits(t) + 1) / 2), range_digits(t), dtype_name(t));
        if (!d)
            continue;
        Range r = range_of(x->ranges, f.x);
        diag_note(l->diags, d, "x is \"%.*s\", in %.*s", STR_ARG(lint_name(l, f.x)),
                  STR_ARG(numbers_words(l->arena, &r, t)));
        note_cancelled(l, d, id);
        note_negative(l, d, id);
        diag_fix(l->diags, d, false, "E[(x - E[x])^2]: 1 more pass over x, 0 casts added");
    }
}

// A pool's are those of the image.
static bool reduced_axes(const NumberFacts *x, NodeId id, int64_t axes[MAX_AXES], uint32_t *n)
{
    if (!is_pool(x, id))
        return numbers_axes(x, id, axes, n);
    int32_t rank = value_at(x->m, numbers_in(x, id, 0))->rank;
    *n = 0;
    for (int32_t k = 2; k < rank && k < MAX_AXES; k++)
        axes[(*n)++] = k;
    return rank > 2 && rank <= MAX_AXES;
}

static uint32_t mend_variance(Rewrite *e, NodeId id)
{
    Variance f;
    int64_t axes[MAX_AXES];
    uint32_t n;
    NumberFacts *x = e->numbers;
    if (!loses_digits(x, id, &f) || !reduced_axes(x, f.of_x, axes, &n) || !rewrite_take(e, id))
        return 0;
    bool keep = node_int(node_at(e->m, f.of_square), "keepdims", 1) != 0;
    ValueId a = numbers_in(x, id, 0), b = numbers_in(x, id, 1);
    ValueId mean = rewrite_reduction(e, "ReduceMean", f.x, axes, n, true);
    ValueId off = rewrite_node(e, "Sub", (ValueId[]){f.x, mean}, 2);
    ValueId square = rewrite_node(e, "Mul", (ValueId[]){off, off}, 2);
    rewrite_replace(e, id, rewrite_reduction(e, "ReduceMean", square, axes, n, keep));
    rewrite_drop_unused(e, a);
    rewrite_drop_unused(e, b);
    return 1;
}

uint32_t repair_variance(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_variance);
}

// ---- NS004

typedef struct Divisor {
    uint32_t operand;
    Range range;
    const char *what, *result;
} Divisor;

// What other rules speak of, or what is positive for a reason that bounds do not show.
static bool is_explained(const NumberFacts *x, ValueId v)
{
    ValueId of = numbers_moved(x, v);
    NodeId sum = numbers_made_by(x, of, "ReduceSum");
    NodeId where = numbers_made_by(x, of, "Where");
    Variance variance;
    double number;
    if (numbers_made_by(x, of, "Softmax") || numbers_made_by(x, of, "Sigmoid"))
        return true; // NS001, NS006
    if (sum && numbers_made_by(x, numbers_in(x, sum, 0), "Exp"))
        return true; // a softmax: NS002
    for (uint32_t i = 1; where && i < 3; i++)
        if (numbers_constant(x, numbers_in(x, where, i), &number) && number != 0)
            return true;
    const Value *value = value_at(x->m, of);
    return value->def == DEF_NODE && find_variance(x, value->node, &variance);
}

// Constants that are dequantized or cast on the way: does none become 0?
static bool holds_no_zero(const NumberFacts *x, ValueId v)
{
    ValueId of = numbers_moved(x, v);
    NodeId cast = numbers_made_by(x, of, "Cast");
    NodeId dequantized = numbers_made_by(x, of, "DequantizeLinear");
    if (cast) {
        const ConstantStats *s = range_stats(x->ranges, numbers_in(x, cast, 0));
        DType from = numbers_dtype(x, numbers_in(x, cast, 0)), to = numbers_dtype(x, of);
        Scalar least = {.f = s->least};
        return s->read && s->count && !s->zeros && dtype_is_float(from) && dtype_is_float(to) &&
               scalar_cast(DT_F64, to, least, false).f > 0;
    }
    if (!dequantized)
        return false;
    const Elements q = elements_of(x->m, numbers_in(x, dequantized, 0)),
                   zero = elements_of(x->m, numbers_in(x, dequantized, 2));
    if (!q.n || (numbers_in(x, dequantized, 2) && zero.n != 1))
        return false;
    for (uint64_t i = 0; i < q.n; i++)
        if (element_at(&q, i) == (zero.n ? element_at(&zero, 0) : 0))
            return false;
    return true;
}

static bool find_divisor(NumberFacts *x, NodeId id, Divisor *f)
{
    const Node *n = node_at(x->m, id);
    double exponent;
    bool root = node_is(n, "Sqrt"), log_ = node_is(n, "Log");
    bool power =
        node_is(n, "Pow") && numbers_constant(x, numbers_in(x, id, 1), &exponent) && exponent < 0;
    if (!node_is(n, "Div") && !node_is(n, "Reciprocal") && !root && !log_ && !power)
        return false;
    f->operand = node_is(n, "Div") ? 1 : 0;
    ValueId v = numbers_in(x, id, f->operand);
    DType t = numbers_dtype(x, v);
    if (t == DT_NONE || value_at(x->m, v)->constant || (root && !range_digits(t)))
        return false;
    f->range = range_of(x->ranges, v);
    f->what = root                ? "Sqrt's operand may be negative"
              : log_              ? "Log's operand may be 0 or less"
              : power             ? "the base of a negative power may be 0"
              : node_is(n, "Div") ? "Div's divisor may be 0"
                                  : "Reciprocal's operand may be 0";
    f->result = root              ? "NaN"
                : log_            ? "-inf or NaN"
                : range_digits(t) ? "inf or NaN"
                                  : "not defined";
    if (!f->range.known || f->range.lo > f->range.hi || is_explained(x, v))
        return false;
    if (root || log_)
        return root ? f->range.lo < 0 : f->range.lo <= 0;
    return f->range.lo <= 0 && f->range.hi >= 0 && !holds_no_zero(x, v);
}

static void help_divisor(Lint *l, Diag *d, NodeId id, const Divisor *f, DType t)
{
    if (!range_digits(t))
        diag_help(l->diags, d, "%s",
                  f->range.lo >= 0
                      ? "Max with 1 in front of it"
                      : "Where(Equal(d, 0), 1, d) in front of it, d being the divisor");
    else if (f->range.lo >= 0 || node_is(node_at(l->m, id), "Log"))
        diag_help(l->diags, d, "Max with an epsilon that %s holds in front of it, or add one",
                  dtype_name(t));
    else
        diag_help(l->diags, d,
                  "Where(Equal(d, 0), epsilon, d) in front of it, d being the divisor: Max would "
                  "change what is negative");
    if (f->range.lo_by == RANGE_ASSUMED && f->range.hi_by == RANGE_ASSUMED)
        diag_help(l->diags, d, "if the inputs keep it away from 0, say so in cameo.yaml (ranges)");
}

void lint_divisors(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Divisor f;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        if (!numbers_alive(x, id) || !find_divisor(x, id, &f))
            continue;
        ValueId v = numbers_in(x, id, f.operand);
        Diag *d = numbers_report(l, "NS004", id, f.operand, "%s: it is %.*s", f.what,
                                 STR_ARG(numbers_words(l->arena, &f.range, numbers_dtype(x, v))));
        if (!d)
            continue;
        diag_note(l->diags, d,
                  "the result is %s then, and nothing on the way keeps the operand "
                  "away: no Max, Clip, Abs or added constant",
                  f.result);
        numbers_note_measured(l, d, v);
        if (node_is(node_at(l->m, id), "Sqrt"))
            diag_fix(l->diags, d, false, "Max with 0 in front of it: 1 node, 0 casts added");
        else
            help_divisor(l, d, id, &f, numbers_dtype(x, v));
    }
}

// Only a root has a bound that follows from what it means.
static uint32_t mend_root(Rewrite *e, NodeId id)
{
    Divisor f;
    if (!node_is(node_at(e->m, id), "Sqrt") || !find_divisor(e->numbers, id, &f) ||
        !rewrite_take(e, id))
        return 0;
    ValueId v = numbers_in(e->numbers, id, 0);
    node_at(e->m, id)->in[0] = rewrite_limit(e, v, numbers_dtype(e->numbers, v), 0, INFINITY);
    return 1;
}

uint32_t repair_roots(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_root);
}

// ---- NS009

static BadVariances look_at(const Elements *of, bool without_epsilon)
{
    BadVariances b = {0};
    for (uint64_t i = of->n; i-- > 0;) {
        double e = element_at(of, i);
        if (!(e < 0 || (e == 0 && without_epsilon)))
            continue;
        b = (BadVariances){i, b.n + 1, e};
    }
    return b;
}

// Each tensor is looked at once, with and without an epsilon, however many nodes share it.
static BadVariances bad_variances(NumberFacts *x, NodeId id)
{
    ValueId v = numbers_in(x, id, 4);
    DType t = numbers_dtype(x, v);
    NodeId cast = numbers_made_by(x, v, "Cast");
    v = cast && numbers_in(x, cast, 0) ? numbers_in(x, cast, 0) : v;
    const ConstantStats *s = range_stats(x->ranges, v);
    if (!s->read || !range_digits(t) || s->lo > 0 || !range_digits(numbers_dtype(x, v)))
        return (BadVariances){0};
    double given = node_float(node_at(x->m, id), "epsilon", 1e-5);
    uint32_t key[2] = {v, scalar_cast(DT_F64, t, (Scalar){.f = given}, false).f == 0};
    bool added;
    uint32_t *at =
        map_put(&x->variances, str_copy(x->a, (Str){(const char *)key, sizeof key}), &added);
    if (added) {
        const Elements of = elements_of(x->m, v);
        *at = x->bad.len;
        vec_push(x->a, &x->bad, look_at(&of, key[1]));
    }
    return x->bad.at[*at];
}

void lint_variances(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    const NodeIds of = LINT_NODES(l, "BatchNormalization");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !node_is(node_at(l->m, id), "BatchNormalization") ||
            node_int(node_at(l->m, id), "training_mode", 0))
            continue;
        BadVariances b = bad_variances(x, id);
        Diag *d =
            b.n ? numbers_report(l, "NS009", id, 4,
                                 b.value < 0 ? "variance %.6g of channel %llu is negative "
                                               "(proved)"
                                             : "variance %.6g of channel %llu plus epsilon is "
                                               "0 (proved)",
                                 b.value, (unsigned long long)b.first)
                : NULL;
        if (!d)
            continue;
        if (b.n > 1)
            diag_note(l->diags, d, "%llu channels are so", (unsigned long long)b.n);
        diag_note(l->diags, d, "epsilon is %.6g; what the channel is divided by is %s",
                  node_float(node_at(l->m, id), "epsilon", 1e-5),
                  b.value < 0 ? "the root of a variance that no data has" : "0");
        diag_note(l->diags, d,
                  "a variance like that is no trained one: the file was damaged, or the operands "
                  "stand in the wrong order (scale, B, mean, variance)");
        diag_help(l->diags, d,
                  b.value < 0 ? "export the model again, and compare its operands with the "
                                "framework's running_mean and running_var"
                              : "export it with the epsilon it was trained with: frameworks have "
                                "1e-5 or 1e-3");
    }
}
