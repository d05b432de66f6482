// QN002, QN003, QN004, QN005: scales and zero points that do not fit what they belong to.

#include "passes/elements.h"
#include "passes/lint/edit.h"
#include "passes/lint/motion.h"
#include "passes/lint/numbers.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

// Where an operator takes what is quantized, its scale and its zero point. NONE: it makes the
// value.
enum { NONE = 255 };
static const struct Scaled {
    const char *op;
    uint8_t data, scale, zero_point;
} scaled[] = {
    {"QuantizeLinear", 0, 1, 2},
    {"DequantizeLinear", 0, 1, 2},
    {"QLinearConv", 0, 1, 2},
    {"QLinearConv", 3, 4, 5},
    {"QLinearConv", NONE, 6, 7},
    {"QLinearMatMul", 0, 1, 2},
    {"QLinearMatMul", 3, 4, 5},
    {"QLinearMatMul", NONE, 6, 7},
    {"QLinearAdd", 0, 1, 2},
    {"QLinearAdd", 3, 4, 5},
    {"QLinearAdd", NONE, 6, 7},
    {"QLinearMul", 0, 1, 2},
    {"QLinearMul", 3, 4, 5},
    {"QLinearMul", NONE, 6, 7},
    {"QLinearSigmoid", 0, 1, 2},
    {"QLinearSigmoid", NONE, 3, 4},
    {"QLinearLeakyRelu", 0, 1, 2},
    {"QLinearLeakyRelu", NONE, 3, 4},
    {"QLinearSoftmax", 0, 1, 2},
    {"QLinearSoftmax", NONE, 3, 4},
    {"QLinearAveragePool", 0, 1, 2},
    {"QLinearAveragePool", NONE, 3, 4},
    {"QLinearGlobalAveragePool", 0, 1, 2},
    {"QLinearGlobalAveragePool", NONE, 3, 4},
    {"QLinearWhere", 1, 2, 3},
    {"QLinearWhere", 4, 5, 6},
    {"QLinearWhere", NONE, 7, 8},
    {"QGemm", 0, 1, 2},
    {"QGemm", 3, 4, 5},
    {"QGemm", NONE, 7, 8},
    {"MatMulIntegerToFloat", 0, 2, 4},
    {"MatMulIntegerToFloat", 1, 3, 5},
    {"DynamicQuantizeMatMul", 1, 2, 3},
};
enum { NSCALED = sizeof scaled / sizeof *scaled };

static bool is_scaled(const Node *n, const struct Scaled *s)
{
    bool known = is_standard_domain(n->domain) || str_is(n->domain, "com.microsoft");
    return known && str_is(n->op, s->op) && s->scale < n->nin && n->in[s->scale];
}

// Rows of one operator stand next to each other.
static NodeIds scaled_nodes(Lint *l)
{
    const char *operators[NSCALED + 1] = {NULL};
    uint32_t n = 0;
    for (uint32_t k = 0; k < NSCALED; k++)
        if (k == 0 || strcmp(scaled[k].op, scaled[k - 1].op) != 0)
            operators[n++] = scaled[k].op;
    return lint_nodes_of(l, operators);
}

// A scale for each of n channels, or one for all.
static double scale_at(const Elements *x, uint64_t i)
{
    return element_at(x, x->n == 1 ? 0 : i);
}

static const char *scale_name(const Node *n, uint32_t i)
{
    const SchemaParam *p = param_of_operand(n, i);
    if (str_is(n->op, "QLinearConcat") && i > 0) // one list of tensors, scales and zero points
        return "of a tensor";
    return p ? p->name : "scale";
}

// ---- QN002 --------------------------------------------------------------------------------------

static void check_scale(Lint *l, NodeId id, uint32_t operand)
{
    const Node *n = node_at(l->m, id);
    // nothing divides by it: a block of weights that are all 0 has a scale of 0
    const bool multiplies = str_is(n->op, "DequantizeLinear");
    const ConstantStats *all = range_stats(lint_numbers(l)->ranges, n->in[operand]);
    if (all->read && !all->nans && (all->lo > 0 || (multiplies && all->lo == 0)) &&
        isfinite(all->hi))
        return;
    Elements x = elements_of(l->m, n->in[operand]);
    uint64_t bad = 0, first = 0;
    for (uint64_t i = 0; i < x.n; i++) {
        double s = element_at(&x, i);
        if ((s > 0 || (multiplies && s == 0)) && isfinite(s))
            continue;
        first = bad++ ? first : i;
    }
    if (!bad || !lint_first_time(l, "QN002", id))
        return;
    double s = element_at(&x, first);
    Diag *d = diag(l->diags, "QN002", SEV_ERROR, location_operand(l->m, l->arena, id, operand),
                   "%.*s %s by scale %s, which is %g", STR_ARG(str_escaped(l->arena, n->op)),
                   multiplies ? "multiplies" : "divides", scale_name(n, operand), s);
    d->value = lint_name(l, n->in[operand]);
    lint_about_node(l, d, id);
    if (x.n > 1)
        diag_note(l->diags, d, "%llu of %llu values %s not above 0 and finite, the first at [%llu]",
                  (unsigned long long)bad, (unsigned long long)x.n, bad == 1 ? "is" : "are",
                  (unsigned long long)first);
    diag_note(l->diags, d,
              s == 0     ? "a scale of 0 often was an amax of 0: a channel without data "
                           "when the model was calibrated"
              : isnan(s) ? "nothing that is quantized with NaN has a value"
              : isinf(s) ? "everything quantized with it becomes the zero point"
                         : "a negative scale turns the order of values around, and "
                           "integer kernels take it for a positive one");
    diag_help(l->diags, d, "calibrate again; see `cameo explain QN002`");
}

void lint_bad_scales(Lint *l)
{
    const NodeIds of = scaled_nodes(l), joined = LINT_NODES(l, "QLinearConcat");
    for (uint32_t at = 0; at < of.len; at++)
        for (uint32_t k = 0; k < NSCALED && !node_at(l->m, of.at[at])->dead; k++)
            if (is_scaled(node_at(l->m, of.at[at]), &scaled[k]))
                check_scale(l, of.at[at], scaled[k].scale);
    for (uint32_t at = 0; at < joined.len; at++) {
        const NodeId id = joined.at[at];
        const Node *n = node_at(l->m, id); // the result's scale, then one a tensor
        if (n->dead || !str_is(n->op, "QLinearConcat") || !str_is(n->domain, "com.microsoft"))
            continue;
        for (uint32_t i = 0; i < n->nin; i += 3)
            if (n->in[i])
                check_scale(l, id, i);
    }
}

// ---- QN004 --------------------------------------------------------------------------------------

static bool known_dim(const Model *m, ValueId v, int64_t axis, int64_t *n)
{
    const Value *x = value_at(m, v);
    return x->rank >= 0 && axis >= 0 && axis < x->rank && poly_is_const(x->dims[axis], n);
}

static Diag *report_shape(Lint *l, NodeId id, uint32_t operand, Str message)
{
    const Node *n = node_at(l->m, id);
    if (!lint_first_time(l, "QN004", id))
        return NULL;
    Diag *d = diag(l->diags, "QN004", SEV_ERROR, location_operand(l->m, l->arena, id, operand),
                   "%.*s %.*s", STR_ARG(str_escaped(l->arena, n->op)), STR_ARG(message));
    d->value = lint_name(l, n->in[operand]);
    lint_about_node(l, d, id);
    diag_help(l->diags, d, "see `cameo explain QN004`");
    return d;
}

// One scale for each slice along `axis` of the data.
static void check_axis(Lint *l, NodeId id, const struct Scaled *s, int64_t axis)
{
    const Node *n = node_at(l->m, id);
    int64_t scales, dim;
    if (!known_dim(l->m, n->in[s->scale], 0, &scales) || scales == 1 ||
        !known_dim(l->m, n->in[s->data], axis, &dim) || dim == scales)
        return;
    Str name = lint_name(l, n->in[s->data]);
    Diag *d = report_shape(l, id, s->scale,
                           str_printf(l->arena,
                                      "has %lld scales in %s for the %lld slices along axis "
                                      "%lld of \"%.*s\"",
                                      (long long)scales, scale_name(n, s->scale), (long long)dim,
                                      (long long)axis, STR_ARG(name)));
    const Value *v = value_at(l->m, n->in[s->data]);
    for (int32_t k = 0; d && k < v->rank; k++)
        if (known_dim(l->m, n->in[s->data], k, &dim) && dim == scales)
            diag_note(l->diags, d, "axis %d has %lld", k, (long long)dim);
}

static void check_blocks(Lint *l, NodeId id, const struct Scaled *s, int64_t axis, int64_t block)
{
    const Node *n = node_at(l->m, id);
    const Value *x = value_at(l->m, n->in[s->data]), *y = value_at(l->m, n->in[s->scale]);
    if (y->rank >= 0 && x->rank != y->rank) {
        report_shape(l, id, s->scale,
                     str_printf(l->arena, "has scales of rank %d for blocks of data of rank %d",
                                y->rank, x->rank));
        return;
    }
    for (int32_t k = 0; k < x->rank && k < y->rank; k++) {
        int64_t have, dim;
        if (!known_dim(l->m, n->in[s->scale], k, &have) ||
            !known_dim(l->m, n->in[s->data], k, &dim))
            continue;
        int64_t want = k == axis ? dim / block + (dim % block != 0) : dim;
        if (have == want)
            continue;
        report_shape(l, id, s->scale,
                     str_printf(l->arena,
                                "has %lld scales along axis %d, but %lld elements in blocks of "
                                "%lld need %lld",
                                (long long)have, k, (long long)dim,
                                (long long)(k == axis ? block : 1), (long long)want));
        return;
    }
}

static void check_linear(Lint *l, NodeId id, const struct Scaled *s)
{
    const Node *n = node_at(l->m, id);
    const Value *x = value_at(l->m, n->in[0]), *y = value_at(l->m, n->in[s->scale]);
    int64_t axis = node_int(n, "axis", 1), block = node_int(n, "block_size", 0), scales;
    bool many = known_dim(l->m, n->in[s->scale], 0, &scales) && scales != 1 && y->rank == 1;
    if (x->rank < 0)
        return;
    if (opset_of(l->m, n) < 13 && is_standard_domain(n->domain)) {
        if (many)
            report_shape(l, id, s->scale,
                         str_printf(l->arena,
                                    "has %lld scales, but takes one axis only from opset 13 on",
                                    (long long)scales));
        return;
    }
    if (x->rank == 1 && axis == 1)
        axis = 0; // of one axis the attribute says nothing
    if ((many || block > 0) && (axis >= x->rank || axis < -x->rank)) {
        report_shape(l, id, s->scale,
                     str_printf(l->arena, "quantizes along axis %lld of data of rank %d",
                                (long long)axis, x->rank));
        return;
    }
    axis += axis < 0 ? x->rank : 0;
    if (block > 0)
        check_blocks(l, id, s, axis, block);
    else if (many)
        check_axis(l, id, s, axis);
}

static void check_zero_point(Lint *l, NodeId id, const struct Scaled *s)
{
    const Node *n = node_at(l->m, id);
    ValueId z = s->zero_point < n->nin ? n->in[s->zero_point] : 0;
    int64_t a = 1, b = 1;
    if (!z || value_at(l->m, z)->rank < 0 || value_at(l->m, n->in[s->scale])->rank < 0)
        return;
    bool known =
        (value_at(l->m, z)->rank == 0 || known_dim(l->m, z, 0, &a)) &&
        (value_at(l->m, n->in[s->scale])->rank == 0 || known_dim(l->m, n->in[s->scale], 0, &b));
    if (known && a != b && value_at(l->m, z)->rank < 2)
        report_shape(l, id, s->zero_point,
                     str_printf(l->arena, "has %lld zero point%s but %lld scale%s in \"%.*s\"",
                                (long long)a, a == 1 ? "" : "s", (long long)b, b == 1 ? "" : "s",
                                STR_ARG(lint_name(l, n->in[s->scale]))));
}

void lint_scale_shapes(Lint *l)
{
    const NodeIds of = scaled_nodes(l);
    for (uint32_t at = 0; at < of.len; at++)
        for (uint32_t k = 0; k < NSCALED && !node_at(l->m, of.at[at])->dead; k++) {
            const NodeId id = of.at[at];
            const Node *n = node_at(l->m, id);
            const struct Scaled *s = &scaled[k];
            if (!is_scaled(n, s) || !n->in[0])
                continue;
            bool linear = s->data == 0 && s->scale == 1 && str_ends(n->op, "quantizeLinear");
            linear |= str_is(n->op, "QuantizeLinear");
            uint32_t before = l->diags->all.len;
            if (linear)
                check_linear(l, id, s);
            else if (str_is(n->op, "QLinearConv") && s->data == 3 && n->in[3])
                check_axis(l, id, s, 0);
            if (l->diags->all.len == before && (linear || s->data == 3))
                check_zero_point(l, id, s);
        }
}

// ---- QN003 --------------------------------------------------------------------------------------

static bool same_numbers(Model *m, ValueId a, ValueId b)
{
    Elements x = elements_of(m, a), y = elements_of(m, b);
    if (a == b)
        return true;
    if (x.n != y.n && x.n != 1 && y.n != 1)
        return false;
    for (uint64_t i = 0; i < (x.n > y.n ? x.n : y.n); i++)
        if (scale_at(&x, i) != scale_at(&y, i))
            return false;
    return true;
}

// The QuantizeLinear whose result a DequantizeLinear reads; 0: none. Through nodes that only move
// data where there is one scale for all.
static NodeId quantizer_of(Model *m, NodeId dequantizer)
{
    const Node *n = node_at(m, dequantizer);
    ValueId v = n->nin > 1 ? n->in[0] : 0;
    bool one = elements_of(m, n->nin > 1 ? n->in[1] : 0).n == 1;
    for (int steps = 0; v && steps < 64; steps++) {
        const Value *value = value_at(m, v);
        const Node *maker = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
        if (!maker || maker->nin == 0)
            return 0;
        if (node_is(maker, "QuantizeLinear"))
            return value->node;
        bool moves = one && (motion_of(maker) == MOTION_MOVES || node_is(maker, "MaxPool")) &&
                     !node_is(maker, "Concat") && !node_is(maker, "Where") &&
                     !node_is(maker, "Neg") && !node_is(maker, "Abs");
        v = moves ? maker->in[0] : 0;
    }
    return 0;
}

// Along which axis a node's scales are; a scale for all is along none.
static int64_t axis_of(const Model *m, const Node *n, uint64_t scales)
{
    const Value *v = value_at(m, n->in[0]);
    int64_t axis = node_int(n, "axis", 1);
    return scales < 2 || v->rank < 2 ? 0 : axis < 0 ? axis + v->rank : axis;
}

// What of the pair differs: 1 the scale, 2 the zero point, 3 the axis; 0: nothing, or not known.
static uint32_t pair_differs(Model *m, NodeId id, NodeId *from)
{
    const Node *n = node_at(m, id);
    *from = !n->dead && node_is(n, "DequantizeLinear") ? quantizer_of(m, id) : 0;
    const Node *q = *from ? node_at(m, *from) : NULL;
    if (!q || n->nin < 2 || q->nin < 2 || elements_of(m, n->in[1]).n == 0 ||
        elements_of(m, q->in[1]).n == 0)
        return 0;
    if (!same_numbers(m, n->in[1], q->in[1]))
        return 1;
    uint64_t scales = elements_of(m, q->in[1]).n;
    if (scales > 1 && axis_of(m, n, scales) != axis_of(m, q, scales))
        return 3;
    ValueId a = n->nin > 2 ? n->in[2] : 0, b = q->nin > 2 ? q->in[2] : 0;
    Elements x = elements_of(m, a), y = elements_of(m, b);
    if ((a && !x.n) || (b && !y.n))
        return 0;
    if (a && b)
        return same_numbers(m, a, b) ? 0 : 2;
    Elements *given = a ? &x : &y; // none is 0
    for (uint64_t i = 0; i < given->n; i++)
        if (element_at(given, i) != 0)
            return 2;
    return 0;
}

static void report_axes(Lint *l, NodeId id, NodeId from)
{
    const Node *n = node_at(l->m, id), *q = node_at(l->m, from);
    Diag *d = diag(l->diags, "QN003", SEV_WARNING, location_node(l->m, l->arena, id),
                   "DequantizeLinear takes its scales along axis %lld, QuantizeLinear %.*s along "
                   "axis %lld",
                   (long long)node_int(n, "axis", 1), STR_ARG(lint_short(l, from)),
                   (long long)node_int(q, "axis", 1));
    d->value = lint_name(l, n->in[0]);
    lint_about_node(l, d, id);
    diag_fix(l->diags, d, false, "give it the axis of %.*s", STR_ARG(lint_short(l, from)));
    diag_help(l->diags, d, "see `cameo explain QN003`");
}

void lint_quantize_pairs(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "DequantizeLinear");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        NodeId from;
        uint32_t k = pair_differs(l->m, id, &from);
        if (!k || !lint_first_time(l, "QN003", id))
            continue;
        const Node *n = node_at(l->m, id), *q = node_at(l->m, from);
        if (k == 3) {
            report_axes(l, id, from);
            continue;
        }
        Elements a = elements_of(l->m, q->nin > k ? q->in[k] : 0);
        Elements b = elements_of(l->m, n->nin > k ? n->in[k] : 0);
        Diag *d = diag(l->diags, "QN003", SEV_WARNING, location_node(l->m, l->arena, id),
                       "DequantizeLinear has another %s than QuantizeLinear %.*s: %g, not %g",
                       k == 1 ? "scale" : "zero point", STR_ARG(lint_short(l, from)),
                       b.n ? element_at(&b, 0) : 0.0, a.n ? element_at(&a, 0) : 0.0);
        d->value = lint_name(l, n->in[0]);
        lint_about_node(l, d, id);
        if (k == 1 && a.n && b.n)
            diag_note(l->diags, d, "what comes out is %g times what went in",
                      element_at(&b, 0) / element_at(&a, 0));
        diag_fix(l->diags, d, false, "give it the scale and zero point of %.*s",
                 STR_ARG(lint_short(l, from)));
        diag_help(l->diags, d, "see `cameo explain QN003`");
    }
}

uint32_t repair_quantize_pairs(Model *m, bool unsafe)
{
    uint32_t made = 0;
    for (NodeId id = 1; unsafe && id < m->nodes.len; id++) {
        NodeId from;
        uint32_t k = pair_differs(m, id, &from);
        if (!k)
            continue;
        Node *n = node_at(m, id);
        const Node *q = node_at(m, from);
        made++;
        if (k == 3) {
            node_set_int(m, id, "axis", node_int(q, "axis", 1));
            continue;
        }
        ValueId *in = NEWS(m->arena, ValueId, 3);
        in[0] = n->in[0];
        in[1] = q->in[1];
        in[2] = q->nin > 2 ? q->in[2] : 0;
        n->in = in;
        n->nin = in[2] ? 3 : 2;
    }
    return made;
}
