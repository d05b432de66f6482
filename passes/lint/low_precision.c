// PR005 to PR007 and PR009 to PR011: what float16 and bfloat16 lose in sums, squares, decisions and
// indices, and thresholds of trees that were float64.

#include "ir/ops/einsum.h"
#include "passes/config.h"
#include "passes/lint/rewrite.h"

#include <math.h>
#include <string.h>

static bool is_low(DType t)
{
    return t == DT_F16 || t == DT_BF16;
}

static DType low_of(const NumberFacts *x, NodeId id, uint32_t operand)
{
    DType t = numbers_dtype(x, numbers_in(x, id, operand));
    return is_low(t) ? t : DT_NONE;
}

static bool any_of(const Node *n, const char *const *names)
{
    for (; *names; names++)
        if (node_is(n, *names))
            return true;
    return false;
}

// What sums of products of t are computed in on the target: DT_NONE: nobody says.
static DType accumulator(const Model *m, DType t)
{
    const Target *target = m->config ? m->config->target : NULL;
    DType of = target ? t == DT_F16 ? target->acc_f16 : target->acc_bf16 : DT_NONE;
    return target && of == DT_NONE ? DT_F32 : of; // without such a kernel it converts
}

static Str accumulator_words(Lint *l, DType t)
{
    const Target *target = l->m->config ? l->m->config->target : NULL;
    if (target)
        return str_printf(l->arena, "target %s sums in %s", target->name,
                          dtype_name(accumulator(l->m, t)));
    return str_printf(l->arena, "no target is named: that it sums in %s is assumed", dtype_name(t));
}

static Stretch alone(NodeId id)
{
    return (Stretch){.nodes = {id}, .n = 1};
}

static void offer_float32(Lint *l, Diag *d, const Stretch *s, DType low)
{
    NumberFacts *x = lint_numbers(l);
    uint32_t casts = stretch_casts(x, s, low);
    if (s->n == 1)
        diag_fix(l->diags, d, false, "run this node in float32: +%u casts", casts);
    else
        diag_fix(l->diags, d, false, "run these %u nodes in float32: +%u casts", s->n, casts);
}

// ---- PR005

// Products of all letters that the result of an Einsum does not have.
static double einsum_length(NumberFacts *x, NodeId id, RangeBasis *by)
{
    const Node *n = node_at(x->m, id);
    int32_t ranks[MAX_OPERANDS];
    double dims[LETTERS + DOTS] = {0}, length = 1;
    Equation q;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (i >= MAX_OPERANDS || !n->in[i] || value_at(x->m, n->in[i])->rank < 0)
            return 0;
        ranks[i] = value_at(x->m, n->in[i])->rank;
    }
    if (n->nin < 2 || !einsum_read(n, ranks, &q))
        return 0;
    for (uint32_t i = 0; i < q.n; i++)
        for (uint32_t k = 0; k < q.in[i].n; k++) {
            RangeBasis of_dim;
            bool kept = false;
            for (uint32_t o = 0; o < q.out.n; o++)
                kept = kept || q.out.label[o] == q.in[i].label[k];
            double d = kept ? 1 : range_of_axis(x->ranges, n->in[i], (int32_t)k, &of_dim);
            *by = !kept && of_dim > *by ? of_dim : *by;
            dims[q.in[i].label[k]] = fmax(dims[q.in[i].label[k]], d);
        }
    for (uint32_t k = 0; k < LETTERS + DOTS; k++)
        length *= dims[k] > 0 ? dims[k] : 1;
    return length;
}

// All input channels of a group, and of a transposed window the taps that meet in one place.
static double transposed_length(NumberFacts *x, NodeId id, RangeBasis *by)
{
    const Node *n = node_at(x->m, id);
    const Value *w = value_at(x->m, n->in[1]);
    const int64_t *strides;
    uint32_t nstrides = 0;
    bool given = node_ints(n, "strides", &strides, &nstrides);
    double length = range_of_axis(x->ranges, n->in[1], 0, by) /
                    (double)(node_int(n, "group", 1) > 0 ? node_int(n, "group", 1) : 1);
    for (int32_t k = 2; k < w->rank; k++) {
        RangeBasis of_dim;
        double taps = range_of_axis(x->ranges, n->in[1], k, &of_dim);
        int64_t stride = given && (uint32_t)k - 2 < nstrides ? strides[k - 2] : 1;
        length *= ceil(taps / (double)(stride > 0 ? stride : 1));
        *by = of_dim > *by ? of_dim : *by;
    }
    return length;
}

static double dot_length(NumberFacts *x, NodeId id, RangeBasis *by)
{
    const Node *n = node_at(x->m, id);
    ValueId v = numbers_in(x, id, node_is(n, "Conv") ? 1 : 0);
    const Value *value = v ? value_at(x->m, v) : NULL;
    double length = 1;
    *by = RANGE_PROVED;
    if (!value || value->rank < 1)
        return 0;
    if (node_is(n, "Einsum"))
        return einsum_length(x, id, by);
    if (node_is(n, "ConvTranspose"))
        return numbers_in(x, id, 1) ? transposed_length(x, id, by) : 0;
    if (!node_is(n, "Conv")) {
        int32_t k = node_is(n, "Gemm") && node_int(n, "transA", 0) ? 0 : value->rank - 1;
        return range_of_axis(x->ranges, v, k, by);
    }
    for (int32_t k = 1; k < value->rank; k++)
        length *= range_of_axis(x->ranges, v, k, by);
    return length;
}

static const char *const dots[] = {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", NULL};

static double find_long_dot(NumberFacts *x, NodeId id, RangeBasis *by)
{
    if (!any_of(node_at(x->m, id), dots) || !low_of(x, id, 0) ||
        accumulator(x->m, low_of(x, id, 0)) == DT_F32)
        return 0;
    double n = dot_length(x, id, by);
    return *by != RANGE_ASSUMED && n > config_param(x->m->config, "PR005", "max-k") ? n : 0;
}

void lint_long_dot(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    const NodeIds of = lint_nodes_of(l, dots);
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        RangeBasis by;
        double n = numbers_alive(x, id) ? find_long_dot(x, id, &by) : 0;
        DType t = n > 0 ? low_of(x, id, 0) : DT_NONE;
        Diag *d = n > 0 ? numbers_report(l, "PR005", id, UINT32_MAX,
                                         "%.*s sums %.0f products (%s) in %s: the error of the "
                                         "sum is about %.2g of its terms' magnitude (assumed: "
                                         "roundings that do not agree)",
                                         STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)), n,
                                         range_basis(by), dtype_name(t),
                                         sqrt(n) * ldexp(1, -range_digits(t)))
                        : NULL;
        if (!d)
            continue;
        diag_note(l->diags, d, "%.*s", STR_ARG(accumulator_words(l, t)));
        Stretch s = alone(id);
        offer_float32(l, d, &s, t);
    }
}

static uint32_t mend_long_dot(Rewrite *e, NodeId id)
{
    Stretch s = alone(id);
    RangeBasis by;
    return find_long_dot(e->numbers, id, &by) > 0 ? stretch_widen(e, &s, low_of(e->numbers, id, 0))
                                                  : 0;
}

uint32_t repair_long_dot(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_long_dot);
}

// ---- PR006

static double taps_of(const Node *n)
{
    const int64_t *kernel;
    uint32_t rank;
    double taps = 1;
    if (!node_ints(n, "kernel_shape", &kernel, &rank))
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        taps *= (double)kernel[i];
    return taps;
}

static double reduced_count(NumberFacts *x, NodeId id, RangeBasis *by)
{
    static const char *const reductions[] = {
        "ReduceSum",       "ReduceMean",   "ReduceL1",        "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", NULL};
    const Node *n = node_at(x->m, id);
    ValueId v = numbers_in(x, id, 0);
    int64_t axes[MAX_AXES];
    uint32_t naxes = 0;
    double length = 1, axis;
    *by = RANGE_PROVED;
    if (!v || value_at(x->m, v)->rank < 1 || value_at(x->m, v)->rank > MAX_AXES)
        return 0;
    const Value *value = value_at(x->m, v);
    if (node_is(n, "AveragePool"))
        return taps_of(n);
    if (any_of(n, reductions) && numbers_axes(x, id, axes, &naxes)) {
        // counted below
    } else if (node_is(n, "CumSum") && numbers_constant(x, numbers_in(x, id, 1), &axis) &&
               fabs(axis) <= value->rank) {
        axes[naxes++] = axis < 0 ? (int64_t)axis + value->rank : (int64_t)axis;
    } else if (node_is(n, "GlobalAveragePool")) {
        for (int32_t k = 2; k < value->rank; k++)
            axes[naxes++] = k;
    } else {
        return 0;
    }
    for (uint32_t i = 0; i < naxes; i++) {
        RangeBasis of_dim;
        if (axes[i] >= value->rank)
            return 0;
        length *= range_of_axis(x->ranges, v, (int32_t)axes[i], &of_dim);
        *by = of_dim > *by ? of_dim : *by;
    }
    return *by != RANGE_ASSUMED ? length : 0;
}

static double find_long_sum(NumberFacts *x, NodeId id, RangeBasis *by)
{
    DType t = low_of(x, id, 0);
    if (!t || accumulator(x->m, t) == DT_F32)
        return 0;
    double n = reduced_count(x, id, by);
    return n > (t == DT_F16 ? 2048 : 256) ? n : 0;
}

// Where the sum itself, before a mean is taken of it, is more than float16 has.
static void note_sum(Lint *l, Diag *d, NodeId id, double n, DType t)
{
    NumberFacts *x = lint_numbers(l);
    ValueId v = numbers_in(x, id, 0);
    Range r = range_of(x->ranges, v);
    RangeBasis by;
    double most = r.known ? range_magnitude(&r, &by) * n : 0;
    if (t != DT_F16)
        return;
    if (r.known && range_has_lo(&r, t) && range_has_hi(&r, t)) {
        if (most > 65504)
            diag_note(
                l->diags, d,
                "the sum is up to %.6g (%s), and beyond 65504 it is infinite: \"%.*s\" is %.*s",
                most, range_basis((uint8_t)by), STR_ARG(lint_name(l, v)),
                STR_ARG(numbers_words(l->arena, &r, t)));
        return;
    }
    diag_note(l->diags, d, "where elements are above %.3g on average it is infinite: beyond 65504",
              65504 / n);
}

void lint_long_sum(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        RangeBasis by;
        double n = numbers_alive(x, id) ? find_long_sum(x, id, &by) : 0;
        DType t = n > 0 ? low_of(x, id, 0) : DT_NONE;
        Diag *d = n > 0 ? numbers_report(l, "PR006", id, UINT32_MAX,
                                         "%.*s sums %.0f elements (%s) in %s: %.0f ones sum to "
                                         "%d there",
                                         STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)), n,
                                         range_basis(by), dtype_name(t), n, 1 << range_digits(t))
                        : NULL;
        if (!d)
            continue;
        note_sum(l, d, id, n, t);
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_note(l->diags, d, "%.*s", STR_ARG(accumulator_words(l, t)));
        Stretch s = alone(id);
        offer_float32(l, d, &s, t);
    }
}

static uint32_t mend_long_sum(Rewrite *e, NodeId id)
{
    Stretch s = alone(id);
    RangeBasis by;
    return find_long_sum(e->numbers, id, &by) > 0 ? stretch_widen(e, &s, low_of(e->numbers, id, 0))
                                                  : 0;
}

uint32_t repair_long_sum(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_long_sum);
}

// ---- PR007

static bool find_square(NumberFacts *x, NodeId id, Range *r)
{
    const Node *n = node_at(x->m, id);
    ValueId v = n->out[0] ? numbers_square_of(x, n->out[0]) : 0;
    if (node_is(n, "ReduceSumSquare") || node_is(n, "ReduceL2"))
        v = numbers_in(x, id, 0);
    if (!v || numbers_dtype(x, v) != DT_F16 ||
        (!node_is(n, "Mul") && !node_is(n, "Pow") && accumulator(x->m, DT_F16) == DT_F32))
        return false;
    RangeBasis by;
    *r = range_of(x->ranges, v);
    return !r->known || range_magnitude(r, &by) > 255.9;
}

static Stretch square_stretch(const NumberFacts *x, NodeId id)
{
    return stretch_from(
        x, id, "ReduceMean ReduceSum Add Sqrt Reciprocal Pow Max Identity Unsqueeze", "Div Mul");
}

void lint_square(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Range r;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        if (!numbers_alive(x, id) || !find_square(x, id, &r))
            continue;
        ValueId v = numbers_in(x, id, 0);
        Diag *d =
            numbers_report(l, "PR007", id, 0,
                           "the square of \"%.*s\" is inf in float16 from 255.9 on, and it is "
                           "%.*s",
                           STR_ARG(lint_name(l, v)), STR_ARG(numbers_words(l->arena, &r, DT_F16)));
        if (!d)
            continue;
        Stretch s = square_stretch(x, id);
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_note(l->diags, d, "256 * 256 = 65536, and the largest float16 is 65504");
        offer_float32(l, d, &s, DT_F16);
    }
}

static uint32_t mend_square(Rewrite *e, NodeId id)
{
    Range r;
    if (!find_square(e->numbers, id, &r))
        return 0;
    Stretch s = square_stretch(e->numbers, id);
    return stretch_widen(e, &s, DT_F16);
}

uint32_t repair_square(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_square);
}

// ---- PR009

// A Cast to float16 or bfloat16 behind which a decision is taken, by way of what only moves values.
static NodeId narrowed_by(const NumberFacts *x, ValueId v)
{
    NodeId cast = numbers_made_by(x, numbers_moved(x, v), "Cast");
    bool low = cast && is_low(numbers_dtype(x, node_at(x->m, cast)->out[0]));
    return low && range_digits(numbers_dtype(x, numbers_in(x, cast, 0))) >= 24 ? cast : 0;
}

static const char *const decisions[] = {
    "ArgMax", "ArgMin", "TopK",    "Round",          "Floor",       "Ceil",
    "Equal",  "Less",   "Greater", "GreaterOrEqual", "LessOrEqual", "NonMaxSuppression",
    NULL};

static NodeId find_drift(NumberFacts *x, NodeId id, uint32_t *operand)
{
    const Node *n = node_at(x->m, id);
    if (!any_of(n, decisions))
        return 0;
    for (*operand = 0; *operand < n->nin && *operand < 2; ++*operand) {
        NodeId cast = n->in[*operand] ? narrowed_by(x, n->in[*operand]) : 0;
        if (cast && !value_at(x->m, numbers_in(x, cast, 0))->constant)
            return cast;
    }
    return 0;
}

void lint_drift(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    const NodeIds of = lint_nodes_of(l, decisions);
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        uint32_t operand;
        RangeBasis by;
        NodeId cast = numbers_alive(x, id) ? find_drift(x, id, &operand) : 0;
        if (!cast)
            continue;
        ValueId v = numbers_in(x, id, operand);
        DType t = numbers_dtype(x, v);
        Range r = range_of(x->ranges, v);
        double relative = ldexp(1, -range_digits(t)), most = range_magnitude(&r, &by);
        bool bounded = r.known && range_has_lo(&r, t) && range_has_hi(&r, t);
        Str error = bounded ? str_printf(l->arena, "%.3g (%s)", most * relative, range_basis(by))
                            : str_printf(l->arena, "%.3g of their size (proved)", relative);
        Diag *d = numbers_report(l, "PR009", id, operand,
                                 "%.*s decides on numbers that rounding to %s moved by up to %.*s: "
                                 "closer ones tie or change places",
                                 STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)),
                                 dtype_name(t), STR_ARG(error));
        if (!d)
            continue;
        diag_note(l->diags, d, "%s begins at Cast %.*s; in front of it \"%.*s\" is %s",
                  dtype_name(t), STR_ARG(lint_short(l, cast)),
                  STR_ARG(lint_name(l, numbers_in(x, cast, 0))),
                  dtype_name(numbers_dtype(x, numbers_in(x, cast, 0))));
        diag_help(l->diags, d, "let it read what the Cast reads");
    }
}

// ---- PR010

typedef struct Positions {
    double most;
    RangeBasis by;
    const char *what;
} Positions;

static bool counts_up(NumberFacts *x, ValueId v)
{
    const ConstantStats *s = range_stats(x->ranges, v);
    if (!s->read || !dtype_is_integer(numbers_dtype(x, v)) || s->count < 3 ||
        s->hi - s->lo + 1 != (double)s->count)
        return false;
    const Elements of = elements_of(x->m, v);
    for (uint64_t i = 1; i < of.n; i++)
        if (element_scalar(&of, i).i - element_scalar(&of, i - 1).i != 1)
            return false;
    return of.n == s->count && dtype_is_integer(of.dtype);
}

// What a whole number is added to, if v is such a sum: positions behind others.
static ValueId before_offset(const NumberFacts *x, ValueId v)
{
    NodeId add = numbers_made_by(x, v, "Add");
    double offset;
    for (uint32_t i = 0; add && i < 2; i++) {
        ValueId of = numbers_in(x, add, 1 - i);
        if (of && value_at(x->m, of)->rank == value_at(x->m, v)->rank &&
            numbers_constant(x, numbers_in(x, add, i), &offset) && offset == floor(offset))
            return of;
    }
    return v;
}

// Integers in a row: Range, or a constant that counts, also by way of a wider float.
static bool counts(NumberFacts *x, ValueId v)
{
    ValueId of = numbers_moved(x, before_offset(x, numbers_moved(x, v)));
    NodeId wide = numbers_made_by(x, of, "Cast");
    if (wide && dtype_is_integer(numbers_dtype(x, numbers_in(x, wide, 0))))
        of = numbers_moved(x, before_offset(x, numbers_moved(x, numbers_in(x, wide, 0))));
    NodeId range = numbers_made_by(x, of, "Range");
    double start, step;
    if (range && dtype_is_float(numbers_dtype(x, of)))
        return numbers_constant(x, numbers_in(x, range, 0), &start) && start == floor(start) &&
               numbers_constant(x, numbers_in(x, range, 2), &step) && step == floor(step);
    if (range)
        return true;
    if (of >= x->nvalues || dtype_is_float(numbers_dtype(x, of)))
        return false;
    if (!x->counting[of])
        x->counting[of] = counts_up(x, of) ? 1 : 2;
    return x->counting[of] == 1;
}

static bool find_positions(NumberFacts *x, NodeId id, Positions *f)
{
    const Node *n = node_at(x->m, id);
    DType t = n->out[0] ? numbers_dtype(x, n->out[0]) : DT_NONE;
    ValueId v = numbers_in(x, id, 0);
    bool wide =
        v && (dtype_is_integer(numbers_dtype(x, v)) || range_digits(numbers_dtype(x, v)) > 11);
    bool cast = node_is(n, "Cast") && wide && counts(x, v);
    if (!is_low(t) || (!cast && !node_is(n, "Range")))
        return false;
    Range r = range_of(x->ranges, cast ? v : n->out[0]);
    f->most = r.known ? range_magnitude(&r, &f->by) : 0;
    f->what = cast ? "positions" : "a Range";
    // A dim that nobody knows proves nothing.
    return f->by != RANGE_ASSUMED && isfinite(f->most) && f->most > ldexp(1, range_digits(t));
}

static Stretch position_stretch(const NumberFacts *x, NodeId id)
{
    return stretch_from(
        x, id, "Mul Add Unsqueeze Reshape Expand Transpose Concat MatMul Div Identity", "Sin Cos");
}

// To cast to float32 first, and to round then, mends nothing.
static bool is_lone_cast(const NumberFacts *x, const Stretch *s)
{
    return s->n == 1 && node_is(node_at(x->m, s->nodes[0]), "Cast");
}

void lint_positions(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Positions f;
    const NodeIds of = LINT_NODES(l, "Cast", "Range");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_positions(x, id, &f))
            continue;
        DType t = numbers_dtype(x, node_at(l->m, id)->out[0]);
        double most = t == DT_F16 && f.most > 65504 ? 65504 : f.most;
        Diag *d = numbers_report(l, "PR010", id, UINT32_MAX,
                                 "%s up to %.0f (%s) in %s: integers above %d are not exact there",
                                 f.what, f.most, range_basis((uint8_t)f.by), dtype_name(t),
                                 1 << range_digits(t));
        if (!d)
            continue;
        diag_note(l->diags, d,
                  "next to %.0f numbers are %.0f apart, so neighbours are one position%s", most,
                  ldexp(1, (int)floor(log2(most)) + 1 - range_digits(t)),
                  most < f.most ? "; from 65520 on they are infinite" : "");
        Stretch s = position_stretch(x, id);
        if (!is_lone_cast(x, &s))
            offer_float32(l, d, &s, t);
        else
            diag_help(l->diags, d,
                      "what reads it would have to be float32 too: cast behind that, or leave "
                      "positions integers");
    }
}

static uint32_t mend_positions(Rewrite *e, NodeId id)
{
    Positions f;
    if (!find_positions(e->numbers, id, &f))
        return 0;
    Stretch s = position_stretch(e->numbers, id);
    return is_lone_cast(e->numbers, &s)
               ? 0
               : stretch_widen(e, &s, numbers_dtype(e->numbers, node_at(e->m, id)->out[0]));
}

uint32_t repair_positions(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_positions);
}

// ---- PR011

static bool is_tree(const Node *n)
{
    return str_is(n->domain, "ai.onnx.ml") &&
           (str_is(n->op, "TreeEnsembleRegressor") || str_is(n->op, "TreeEnsembleClassifier"));
}

// Thresholds with so few digits were not drawn between two measured numbers.
static uint32_t fine_thresholds(const float *at, uint32_t n)
{
    uint32_t fine = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        float f = at[i];
        memcpy(&bits, &f, 4);
        fine += isfinite(f) && (bits & 0xfff) != 0;
    }
    return fine;
}

void lint_thresholds(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    const NodeIds of = LINT_NODES(l, "TreeEnsembleClassifier", "TreeEnsembleRegressor");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        const Node *n = node_at(l->m, id);
        const float *at;
        uint32_t count;
        if (!numbers_alive(x, id) || !is_tree(n) || !node_floats(n, "nodes_values", &at, &count))
            continue;
        ValueId v = numbers_in(x, id, 0);
        NodeId cast = v ? numbers_made_by(x, numbers_moved(x, v), "Cast") : 0;
        bool wide = numbers_dtype(x, v) == DT_F64 ||
                    (cast && numbers_dtype(x, numbers_in(x, cast, 0)) == DT_F64);
        uint32_t fine = fine_thresholds(at, count);
        Diag *d = wide && fine
                      ? numbers_report(l, "PR011", id, 0,
                                       "features are float64, but %u of %u thresholds are "
                                       "rounded to float32 (proved): a feature within 6e-8 "
                                       "of its threshold takes the other branch",
                                       fine, count)
                      : NULL;
        if (!d)
            continue;
        if (cast)
            diag_note(l->diags, d,
                      "the features are narrowed by Cast %.*s, each by its own rounding",
                      STR_ARG(lint_short(l, cast)));
        else
            diag_note(l->diags, d,
                      "the thresholds lie in the attribute nodes_values, which is "
                      "float32");
        diag_help(l->diags, d,
                  "export with nodes_values_as_tensor in float64 (ai.onnx.ml 3 and "
                  "later), or train on float32 features");
    }
}
