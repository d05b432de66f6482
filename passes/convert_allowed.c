// Which nodes and constants may be in the dtype that a model is converted to, and why not.
//
// By the schema and the target's kernels always. By the policy: PyTorch's autocast lists, or, for
// Cameo's own, what is known of the numbers: constants that overflow or become 0, integers that are
// not exact, squares, exponentials, sums, quotients and angles of what nothing bounds.

#include "passes/convert_parts.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

enum { MARGIN = 8, MAX_MASK_STEPS = 12, MAX_MASK_USES = 512, FEW = 8 };
static const double ANGLE = 64; // float16 has a unit of 1/32 there

static bool is_any(const Node *n, const char *const *names)
{
    for (; *names; names++)
        if (str_is(n->op, *names))
            return true;
    return false;
}

bool convert_moves(const Node *n)
{
    static const char *const more[] = {
        "Concat", "Pad",   "Relu", "Max",      "Min",       "Neg",       "Abs",  "Clip", "MaxPool",
        "Where",  "Trilu", "TopK", "GatherND", "ReduceMax", "ReduceMin", "Cast", NULL};
    return numbers_moves(n) || is_any(n, more);
}

void convert_forbid(Conversion *c, uint32_t tie, Str why, ValueId of)
{
    const uint32_t group = convert_group(c, tie);
    if (c->why[group].len)
        return;
    c->why[group] = why;
    c->of[group] = of;
}

static double greatest(const Conversion *c)
{
    double lo, hi;
    range_of_dtype(c->o->to, &lo, &hi);
    return hi;
}

static const ConvertSeen *measured(const Conversion *c, ValueId v)
{
    const ConvertSeen *x = c->o->measured && v < c->o->nfacts ? &c->o->measured[v] : NULL;
    return x && x->greatest >= 0 ? x : NULL;
}

bool convert_is_bounded(const Conversion *c, ValueId v)
{
    const ConvertSeen *x = measured(c, v);
    RangeBasis by;
    if (x)
        return x->greatest * MARGIN <= greatest(c);
    Range r = range_of(c->facts->ranges, v);
    return r.known && range_magnitude(&r, &by) <= greatest(c);
}

// ---- masks --------------------------------------------------------------------------------------

// Does everything that reads v only add it to, or pick it instead of, what a Softmax takes? *steps:
// how many more uses are looked at.
static bool reaches_softmax(const Conversion *c, ValueId v, uint32_t depth, uint32_t *steps)
{
    static const char *const passes[] = {"Add",       "Where",   "Mul",   "Min",   "Max",  "Concat",
                                         "Transpose", "Reshape", "Slice", "Trilu", "Cast", NULL};
    const Uses *u = &c->uses;
    if (depth == 0 || u->first[v] == u->first[v + 1])
        return false;
    for (uint32_t i = u->first[v]; i < u->first[v + 1]; i++) {
        const Node *n = u->uses[i].node ? node_at(c->m, u->uses[i].node) : NULL;
        if (!n || !n->nout || !n->out[0] || (*steps)-- == 0)
            return false;
        if (node_is(n, "Softmax") || node_is(n, "LogSoftmax"))
            continue;
        if ((!is_any(n, passes) && !numbers_moves(n)) ||
            !reaches_softmax(c, n->out[0], depth - 1, steps))
            return false;
    }
    return true;
}

static bool leads_to_softmax(const Conversion *c, ValueId v)
{
    uint32_t steps = MAX_MASK_USES;
    return reaches_softmax(c, v, MAX_MASK_STEPS, &steps);
}

// ---- values -------------------------------------------------------------------------------------

static Str constant_fault(Conversion *c, ValueId v, const ConstantStats *s)
{
    double max = greatest(c);
    bool under = isfinite(s->lo) && s->lo < -max, over = isfinite(s->hi) && s->hi > max;
    bool mask = under && !over && s->hi <= 1 && leads_to_softmax(c, v);
    if (mask) {
        c->clamp[v] = true;
        return STR_NONE;
    }
    if (under || over)
        return str_printf(c->m->arena, "%g is infinite in %s", over ? s->hi : s->lo,
                          dtype_name(c->o->to));
    if (c->o->to == DT_F16 && s->count <= FEW && s->least > 0 && s->least <= 0x1p-25)
        return str_printf(c->m->arena, "%g is 0 in float16", s->least);
    if (s->integer && s->count <= FEW && s->bits > range_digits(c->o->to))
        return str_printf(c->m->arena, "the integer %g is not exact in %s",
                          fabs(s->lo) > s->hi ? s->lo : s->hi, dtype_name(c->o->to));
    return STR_NONE;
}

// Why v cannot be held in `to`; absent: it can, as far as is known.
static Str value_fault(Conversion *c, ValueId v)
{
    const ConstantStats *s = range_stats(c->facts->ranges, v);
    const ConvertSeen *x = measured(c, v);
    double max = greatest(c), exact = ldexp(1, range_digits(c->o->to));
    RangeBasis by = RANGE_ASSUMED;
    if (s->read)
        return constant_fault(c, v, s);
    Range r = range_of(c->facts->ranges, v);
    double magnitude = r.known ? range_magnitude(&r, &by) : INFINITY;
    bool beyond = x ? x->greatest * MARGIN > max : isfinite(magnitude) && magnitude > max;
    if (beyond && (x ? x->negative : r.hi <= 1) && leads_to_softmax(c, v))
        return STR_NONE; // a mask: whatever is beyond is 0 behind the Softmax
    if (x && beyond)
        return str_printf(c->m->arena, "reaches %.3g (measured), within %d times of %s's end",
                          x->greatest, MARGIN, dtype_name(c->o->to));
    if (r.integer && isfinite(magnitude) && (x ? x->greatest : magnitude) > exact)
        return str_printf(c->m->arena, "integers up to %.3g (%s) are not exact in %s",
                          x ? x->greatest : magnitude, x ? "measured" : range_basis(by),
                          dtype_name(c->o->to));
    return STR_NONE;
}

// A value that cannot be held is neither made nor read in `to`.
static void forbid_values(Conversion *c)
{
    const Ties *t = c->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (!convert_is_from(c, ties_dtype(c->m, v)) ||
            (t->maker[v] == NO_TIE && t->first_use[v] == t->first_use[v + 1]))
            continue;
        Str fault = value_fault(c, v);
        if (!fault.len)
            continue;
        if (t->maker[v] != NO_TIE)
            convert_forbid(c, t->maker[v], fault, v);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            convert_forbid(c, t->uses.at[i].tie, fault, v);
    }
}

// Constants that overflow become the greatest number.
static void clamp_all(Conversion *c)
{
    for (ValueId v = 1; v < c->t->nvalues; v++)
        if (c->t->maker[v] != NO_TIE && c->t->at.at[c->t->maker[v]].kind == TIE_CONSTANT)
            c->clamp[v] = true;
}

// ---- nodes: what is known of the numbers --------------------------------------------------------

static bool is_square(const Conversion *c, NodeId id)
{
    static const char *const squares[] = {"ReduceSumSquare", "ReduceL2",     "LpNormalization",
                                          "LpPool",          "GlobalLpPool", NULL};
    const Node *n = node_at(c->m, id);
    return is_any(n, squares) || (n->nout && n->out[0] && numbers_square_of(c->facts, n->out[0]));
}

// What the node divides by, where nothing is known to keep it away from 0; 0: something does.
static ValueId loose_divisor(const Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    ValueId by = numbers_in(c->facts, id, node_is(n, "Div") ? 1 : 0);
    if (!by || range_stats(c->facts->ranges, by)->read)
        return 0; // a constant is looked at as one
    Range r = range_of(c->facts->ranges, by);
    return r.known && (r.lo >= 0x1p-14 || r.hi <= -0x1p-14) ? 0 : by;
}

// The angle that the node takes, where it may be a large one; 0: it is not.
static ValueId wide_angle(const Conversion *c, NodeId id)
{
    ValueId x = numbers_in(c->facts, id, 0);
    const ConvertSeen *seen = x ? measured(c, x) : NULL;
    RangeBasis by;
    if (!x)
        return 0;
    Range r = range_of(c->facts->ranges, x);
    bool wide = seen ? seen->greatest > ANGLE : !r.known || range_magnitude(&r, &by) > ANGLE;
    return wide ? x : 0;
}

// A variance is stored with an error of 2^-25: beside 2^-17 that moves its root by two units of
// float16, beside less by more.
static Str normalization_fault(const Conversion *c, NodeId id)
{
    ValueId v = numbers_in(c->facts, id, 4);
    const ConstantStats *s = v ? range_stats(c->facts->ranges, v) : NULL;
    double epsilon = node_float(node_at(c->m, id), "epsilon", 1e-5);
    if (c->o->to == DT_F16 && s && s->read && s->lo + epsilon < 0x1p-17)
        return STR("a variance is too near to float16's least number");
    return STR_NONE;
}

// *of: the value that it is said of, 0: the node. *endless: the result itself may be beyond what
// float16 holds.
static Str node_fault(const Conversion *c, NodeId id, ValueId *of, bool *endless)
{
    static const char *const grows[] = {"Exp", "Sinh", "Cosh", "Pow", "Tan", NULL};
    static const char *const sums[] = {"ReduceSum", "CumSum",       "ReduceL1",        "ReduceProd",
                                       "CumProd",   "ReduceLogSum", "ReduceLogSumExp", NULL};
    static const char *const divides[] = {"Div", "Reciprocal", "Log", NULL};
    static const char *const angles[] = {"Sin", "Cos", NULL};
    static const char *const places[] = {"GridSample", "RoiAlign", "AffineGrid", "Range", NULL};
    static const char *const scales[] = {"QuantizeLinear", "DequantizeLinear", NULL};
    const Node *n = node_at(c->m, id);
    ValueId y = n->nout ? n->out[0] : 0;
    bool half = c->o->to == DT_F16, bounded = y && convert_is_bounded(c, y);
    if (is_any(n, scales))
        return STR("a scale of quantization is not rounded");
    if (is_any(n, places))
        return STR("it computes places, which float32 tells apart");
    if (is_any(n, angles) && (*of = wide_angle(c, id)))
        return STR("nothing bounds the angles: their fraction would be lost");
    if (node_is(n, "BatchNormalization"))
        return normalization_fault(c, id);
    if (c->o->target && half && target_low_sums(c->o->target, n))
        return STR("the target sums its squares in float16");
    if (!half || bounded)
        return STR_NONE;
    *endless = true;
    if (is_square(c, id))
        return STR("squares overflow beyond 255, and nothing bounds them");
    if (is_any(n, grows))
        return STR("it overflows float16, and nothing bounds its result");
    if (is_any(n, sums))
        return STR("a sum of many elements, and nothing bounds it");
    if (is_any(n, divides) && (*of = loose_divisor(c, id)))
        return STR("nothing keeps what it divides by away from 0");
    *endless = false;
    return STR_NONE;
}

// ---- nodes: autocast ----------------------------------------------------------------------------

typedef struct Autocast {
    Conversion *c;
    bool *low; // by value
} Autocast;

// PyTorch's lists for CUDA, by the operators that its exporter writes.
static const char *const autocast_low[] = {"MatMul", "Gemm",      "Conv", "ConvTranspose",
                                           "Einsum", "LSTM",      "GRU",  "RNN",
                                           "PRelu",  "Attention", NULL};
static const char *const autocast_wide[] = {"Acos",
                                            "Asin",
                                            "Cosh",
                                            "Exp",
                                            "Log",
                                            "Pow",
                                            "Reciprocal",
                                            "Sinh",
                                            "Softplus",
                                            "Tan",
                                            "CumSum",
                                            "CumProd",
                                            "ReduceProd",
                                            "ReduceSum",
                                            "ReduceL1",
                                            "ReduceL2",
                                            "Softmax",
                                            "LogSoftmax",
                                            "ReduceLogSum",
                                            "ReduceLogSumExp",
                                            "ReduceSumSquare",
                                            "LayerNormalization",
                                            "GroupNormalization",
                                            "LpNormalization",
                                            "NegativeLogLikelihoodLoss",
                                            "SoftmaxCrossEntropyLoss",
                                            "RMSNormalization",
                                            "SimplifiedLayerNormalization",
                                            "SkipLayerNormalization",
                                            NULL};

static bool is_float_value(const Conversion *c, ValueId v)
{
    return v && value_at(c->m, v)->kind == TYPE_TENSOR && convert_is_from(c, ties_dtype(c->m, v));
}

// What is on no list runs in the widest dtype of what it is given; constants follow.
static bool follows_low(const Autocast *x, const Node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!is_float_value(x->c, n->in[i]) || constant_data(x->c->m, n->in[i]))
            continue;
        if (!x->low[n->in[i]])
            return false;
        any = true;
    }
    return any;
}

static void autocast_node(void *context, NodeId id)
{
    Autocast *x = context;
    Conversion *c = x->c;
    const Node *n = node_at(c->m, id);
    uint32_t tie = c->of_node[id];
    if (tie == NO_TIE)
        return;
    Str why = STR_NONE;
    if (node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan"))
        why = STR("autocast: what passes through a graph inside");
    else if (is_any(n, autocast_wide))
        why = STR("on autocast's list of float32");
    else if (!is_any(n, autocast_low) && !follows_low(x, n))
        why = STR("autocast: an operand is float32");
    if (why.len)
        convert_forbid(c, tie, why, 0);
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o])
            x->low[n->out[o]] = !c->why[convert_group(c, tie)].len;
}

static void autocast(Conversion *c)
{
    Autocast x = {c, NEWS(c->a, bool, c->m->values.len + 1u)};
    graph_walk(c->m, c->m->main, autocast_node, &x);
}

// ---- schemas and targets ------------------------------------------------------------------------

static bool holds_lists(const Model *m, const Node *n)
{
    bool control = node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan");
    for (uint32_t i = 0; !control && i < n->nin + n->nout; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        TypeKind kind = v ? value_at(m, v)->kind : TYPE_NONE;
        if (kind != TYPE_NONE && kind != TYPE_TENSOR)
            return true;
    }
    return false;
}

// Rows of kernels are of the first operand's dtype (of a node without operands, the result's): of
// the numbers behind a condition or an index they say nothing.
static bool is_told_by_rows(const Model *m, const Node *n)
{
    ValueId v = n->nin ? n->in[0] : n->nout ? n->out[0] : 0;
    return v && dtype_is_float(ties_dtype(m, v));
}

static Str schema_refusal(const Conversion *c, uint32_t tie)
{
    static const char *const follows[] = {"EyeLike",   "RandomNormalLike", "RandomUniformLike",
                                          "Bernoulli", "BitCast",          NULL};
    const Node *n = node_at(c->m, c->node[tie]);
    const char *to = dtype_name(c->o->to);
    TypeSet types = c->o->target ? target_types(c->o->target, n->op) : 0;
    Str op = str_escaped(c->m->arena, n->op);
    if (!(c->t->at.at[tie].allowed >> c->o->to & 1))
        return str_printf(c->m->arena, "%.*s of the model's opset takes no %s", STR_ARG(op), to);
    if (types && !(types >> c->o->to & 1) && is_told_by_rows(c->m, n))
        return str_printf(c->m->arena, "%s has no %s kernel of %.*s", c->o->target->name, to,
                          STR_ARG(op));
    if (holds_lists(c->m, n))
        return STR("a sequence or optional that it reads or makes keeps its dtype");
    if (is_any(n, follows))
        return STR("its result follows the dtype that it reads");
    return convert_load_fault(c, c->node[tie]);
}

// A node keeps its dtype where one of its operands or results has a dtype that nobody knows.
static void forbid_unknown(Conversion *c)
{
    const Ties *t = c->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (ties_dtype(c->m, v) != DT_NONE || value_at(c->m, v)->def == DEF_NONE)
            continue;
        Str why = STR("the dtype of an operand or result is not known");
        if (t->maker[v] != NO_TIE)
            convert_forbid(c, t->maker[v], why, v);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            convert_forbid(c, t->uses.at[i].tie, why, v);
    }
}

void convert_find_allowed(Conversion *c)
{
    forbid_unknown(c);
    for (uint32_t i = 0; i < c->t->at.len; i++) {
        bool node = c->node[i] && convert_is_float(c, i) && c->own[i] != c->o->to;
        Str why = node ? schema_refusal(c, i) : STR_NONE;
        if (why.len)
            convert_forbid(c, i, why, 0);
    }
    if (c->o->policy == CONVERT_AUTOCAST && c->o->to != DT_F64) // the lists are of 16 bits
        autocast(c);
    if (c->o->policy != CONVERT_CAMEO || c->o->to == DT_F64) {
        clamp_all(c);
        return;
    }
    bool *endless = NEWS(c->a, bool, c->m->nodes.len + 1u);
    for (NodeId id = 1; id < c->m->nodes.len; id++) {
        if (c->of_node[id] == NO_TIE || !c->t->at.at[c->of_node[id]].allowed)
            continue;
        ValueId of = 0;
        Str why = node_fault(c, id, &of, &endless[id]);
        if (why.len)
            convert_forbid(c, c->of_node[id], why, of);
    }
    forbid_values(c);
    for (NodeId id = 1; id < c->m->nodes.len; id++) {
        if (endless[id])
            convert_forbid_readers(c, id);
        if (c->of_node[id] == NO_TIE)
            continue;
        convert_forbid_difference(c, id);
        convert_forbid_cancelled(c, id);
    }
}
