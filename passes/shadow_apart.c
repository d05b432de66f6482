// What an operator gives is moved by what moved its operands: Y - y of X - x, in float32.
//
// A compact shadow is kept as that difference, so a node needs no float64 on its shadows where one
// of these says what it is:
//
// 1. A product, a sum or a mean of x: the same of X - x.
// 2. What only moves numbers: the same, and nothing is made.
// 3. An operator with a formula (ir/ops/apart.h).
// 4. What moves or picks numbers that are exact is exact, and so is what a Cast makes of integers
//    of up to 16 bits.

#include "ir/infer.h"
#include "ir/ops/apart.h"
#include "ir/ops/shadow.h"
#include "passes/shadow_parts.h"

#include <string.h>

enum { SUB_BROADCASTS = 7 }; // since this opset
enum { SINCE_GEMM_WITHOUT_C = 11 };
enum { SINCE_INFERENCE_ALONE = 7 }; // of BatchNormalization that is not told otherwise

// A node of the standard domain, typed and in the graph's list; what it gives.
ValueId shadow_plain(Shadow *s, GraphId g, const char *op, ValueId a, ValueId b, ValueId like)
{
    Str name = str_printf(s->m->arena, "%.*s#diff.%u", STR_ARG(value_at(s->m, like)->name),
                          s->m->values.len);
    ValueId in[2] = {a, b};
    NodeId n = node_build(s->m, g, op, in, b ? 2 : 1, name);
    node_at(s->m, n)->reason = STR("shadow");
    if (!b)
        node_set_int(s->m, n, "to", DT_F32);
    infer_node(s->m, n, NULL);
    graph_append(s->m, g, n);
    return node_at(s->m, n)->out[0];
}

// The operand in which the node is linear, if it alone has a shadow of its own and all is float32;
// -1: it is none of these.
int32_t shadow_linear(const Shadow *s, const Node *n)
{
    bool product = node_is(n, "Conv") || node_is(n, "ConvTranspose") || node_is(n, "MatMul") ||
                   node_is(n, "Gemm");
    int32_t at = -1;
    int64_t opset = opset_of(s->m, n);
    if (!product || s->pairs || opset < SUB_BROADCASTS || n->nout != 1 || n->nin < 2)
        return -1;
    if (node_is(n, "Gemm") && opset < SINCE_GEMM_WITHOUT_C)
        return -1;
    for (uint32_t i = 0; i < n->nin; i++) {
        ValueId v = n->in[i];
        if (v && value_at(s->m, v)->dtype != DT_F32)
            return -1;
        if (!v || !s->shadow[v] || s->shadow[v] == s->wide[v])
            continue;
        if (at >= 0 || i > 1)
            return -1;
        at = (int32_t)i;
    }
    bool weights_first = at == 1 && !node_is(n, "MatMul") && !node_is(n, "Gemm");
    return weights_first || value_at(s->m, n->out[0])->dtype != DT_F32 ? -1 : at;
}

// X - x in float32: what compares the two gives it on the way, where there is such a node.
ValueId shadow_apart(Shadow *s, ValueId x)
{
    Model *m = s->m;
    NodeId drift = s->drift[x];
    if (s->apart[x])
        return s->apart[x];
    if (drift && value_at(m, node_at(m, drift)->in[1])->dtype == DT_F64) {
        Node *node = node_at(m, drift);
        ValueId *out = NEWS(m->arena, ValueId, 2);
        GraphId g = value_at(m, x)->graph;
        out[0] = node->out[0];
        out[1] = s->apart[x] = shadow_value(s, g, x, "apart");
        node = node_at(m, drift);
        node->out = out;
        node->nout = 2;
        Value *v = value_at(m, out[1]);
        v->def = DEF_NODE;
        v->node = drift;
        v->index = 1;
        infer_node(m, drift, NULL);
        return out[1];
    }
    ValueId apart =
        shadow_plain(s, value_at(m, x)->graph, "Sub", s->shadow[x], shadow_wide(s, x), x);
    return s->apart[x] = shadow_plain(s, value_at(m, x)->graph, "Cast", apart, 0, x);
}

// Y - L of a product of x and what is exact is f(X - x): no second product in float64. float32
// does, whose error is that small a part of a difference that is small. `at`: x's operand.
NodeId shadow_by_product(Shadow *s, NodeId id, int32_t at)
{
    Node n = *node_at(s->m, id);
    ValueId *in = NEWS(s->scratch, ValueId, n.nin + 1u); // a bias is in both
    in[0] = n.in[0];
    in[1] = n.in[1];
    in[at] = shadow_apart(s, n.in[at]);
    NodeId product = shadow_copy_as_is(s, id, in, "diff");
    node_at(s->m, product)->nin = 2;
    infer_node(s->m, product, NULL);
    graph_append(s->m, n.graph, product);
    s->brought[n.out[0]] = node_at(s->m, product)->out[0];
    return product;
}

// ---- compact shadows ---------------------------------------------------------------------------

// They give numbers of their operands, each as it is, whatever they are.
static const char *const moving_ops[] = {
    "Identity",       "Reshape",      "Transpose",    "Squeeze",        "Unsqueeze",
    "Flatten",        "Slice",        "Gather",       "GatherElements", "GatherND",
    "Concat",         "Split",        "Expand",       "Tile",           "Pad",
    "Where",          "DepthToSpace", "SpaceToDepth", "Compress",       "ReverseSequence",
    "ScatterElements"};
static const char *const summing_ops[] = {"ReduceSum", "ReduceMean", "AveragePool",
                                          "GlobalAveragePool"};
// Exact in numbers that are. Those that decide are not among them.
static const char *const picking_ops[] = {"Relu",      "Max",      "Min",           "Clip",
                                          "Neg",       "Abs",      "GlobalMaxPool", "MaxPool",
                                          "ReduceMax", "ReduceMin"};

static bool is_listed(const Node *n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(n->op, names[i]))
            return !node_has_attr(n, "reduction");
    return false;
}
#define IS_LISTED(n, names) is_listed(n, names, sizeof(names) / sizeof *(names))

static bool is_moved(const Shadow *s, ValueId v)
{
    return v && v < s->nvalues && s->shadow[v] && s->shadow[v] != s->wide[v];
}

static bool is_data(const Shadow *s, const Node *n, uint32_t i)
{
    return n->in[i] && shadow_is_float(s, n->in[i]) && shadow_is_variable(n, i);
}

// All results and the operands that are numbers are float32; is any operand not exact?
static bool all_f32(const Shadow *s, const Node *n, bool *any)
{
    bool all = n->nout > 0;
    *any = false;
    for (uint32_t i = 0; i < n->nin; i++)
        if (is_data(s, n, i)) {
            all = all && n->in[i] < s->nvalues && value_at(s->m, n->in[i])->dtype == DT_F32;
            *any = *any || is_moved(s, n->in[i]);
        }
    for (uint32_t o = 0; o < n->nout; o++)
        all = all && (!n->out[o] ||
                      (value_at(s->m, n->out[o])->dtype == DT_F32 &&
                       shadow_is_float(s, n->out[o]) && !value_at(s->m, n->out[o])->constant));
    return all;
}

// Is the node linear in its first operand but for what is_shift says, and all others exact?
static bool is_sum(const Shadow *s, const Node *n)
{
    if (n->nout != 1 || !n->out[0] || !is_moved(s, n->in[0]))
        return false;
    for (uint32_t i = 1; i < n->nin; i++)
        if (is_moved(s, n->in[i]))
            return false;
    return IS_LISTED(n, summing_ops) ||
           (node_is(n, "BatchNormalization") && !node_int(n, "training_mode", 0) &&
            opset_of(s->m, n) >= SINCE_INFERENCE_ALONE);
}

static ValueId apart_node(Shadow *s, NodeId from, const char *of, const ValueId *in, uint32_t nin)
{
    const GraphId g = node_at(s->m, from)->graph;
    NodeId n = shadow_own(s, g, APART_OP, in, nin, in[0], "diff");
    node_set_str(s->m, n, "of", str_of(of));
    infer_node(s->m, n, NULL);
    graph_append(s->m, g, n);
    return node_at(s->m, n)->out[0];
}

// X - x of an operand, exact ones too.
static ValueId moved_by(Shadow *s, NodeId n, ValueId v)
{
    const ValueId in[3] = {v, v, 0};
    return is_moved(s, v) ? shadow_apart(s, v) : apart_node(s, n, "Identity", in, 3);
}

// Of what normalises by constants the numbers that it takes off and adds are none of differences.
static bool is_shift(const Node *n, uint32_t i)
{
    enum { BIAS = 2, MEAN = 3 };
    return node_is(n, "BatchNormalization") && (i == BIAS || i == MEAN);
}

// The node on what moved its operands: `all` of them, or those that are not exact.
static NodeId on_differences(Shadow *s, NodeId id, bool all)
{
    const Node n = *node_at(s->m, id);
    ValueId *in = NEWS(s->scratch, ValueId, n.nin + 1u);
    for (uint32_t i = 0; i < n.nin; i++) {
        in[i] = n.in[i];
        if (is_data(s, &n, i) && (all || is_moved(s, n.in[i]) || is_shift(&n, i)))
            in[i] = moved_by(s, id, n.in[i]);
    }
    NodeId copy = shadow_copy_as_is(s, id, in, "diff");
    infer_node(s->m, copy, NULL);
    graph_append(s->m, n.graph, copy);
    return copy;
}

// By its formula; `exact` is what it gives in float64 of its operands as they are.
static ValueId by_formula(Shadow *s, NodeId id, ValueId exact)
{
    const Node n = *node_at(s->m, id);
    ValueId *in = NEWS(s->scratch, ValueId, 2 * n.nin + 1u);
    in[0] = apart_is_wide(&n) ? exact : n.out[0];
    for (uint32_t i = 0; i < n.nin; i++) {
        in[1 + i] = n.in[i];
        in[1 + n.nin + i] = is_moved(s, n.in[i]) ? shadow_apart(s, n.in[i]) : 0;
    }
    char of[32];
    snprintf(of, sizeof of, "%.*s", STR_ARG(n.op));
    return apart_node(s, id, of, in, 1 + 2 * n.nin);
}

static void report_moved(Shadow *s, NodeId id, ValueId y, ValueId apart, ShadowList *list)
{
    s->apart[y] = s->shadow[y] = apart;
    shadow_report(s, id, y, apart, 0, SHADOW_EXACT, list);
}

// f(x) in float64 beside Y - f(x); false: it has no float64.
static bool report_brought(Shadow *s, NodeId id, bool formula, ShadowList *list)
{
    const Node n = *node_at(s->m, id);
    ValueId *own = NEWS(s->scratch, ValueId, n.nin + 1u);
    for (uint32_t i = 0; i < n.nin; i++)
        own[i] = !is_data(s, &n, i)                  ? n.in[i]
                 : value_at(s->m, n.in[i])->constant ? shadow_wide(s, n.in[i])
                                                     : shadow_widened(s, n.in[i]);
    const NodeId copy = shadow_copy(s, id, own, "own");
    if (!copy)
        return false;
    graph_append(s->m, n.graph, copy);
    const ValueId exact = node_at(s->m, copy)->out[0], y = n.out[0];
    const ValueId apart =
        formula ? by_formula(s, id, exact) : node_at(s->m, on_differences(s, id, false))->out[0];
    s->shadow[y] = exact;
    s->brought[y] = apart;
    shadow_report(s, id, y, exact, apart, SHADOW_FLOAT, list);
    return true;
}

// A cast from numbers of which float32 holds every one.
static bool is_narrow_cast(const Shadow *s, const Node *n)
{
    enum { NARROW = 16 }; // bits
    if ((!node_is(n, "Cast") && !node_is(n, "CastLike")) || !n->nin || !n->in[0])
        return false;
    const DType t = value_at(s->m, n->in[0])->dtype;
    return t == DT_BOOL || (dtype_is_integer(t) && dtype_info(t)->bits <= NARROW);
}

bool shadow_by_difference(Shadow *s, NodeId id, ShadowList *list)
{
    const Node n = *node_at(s->m, id);
    bool any;
    if (!s->report->compact || !all_f32(s, &n, &any))
        return false;
    const bool moves = IS_LISTED(&n, moving_ops), picks = IS_LISTED(&n, picking_ops);
    if (!any) {
        const bool exact = moves || picks || is_narrow_cast(s, &n);
        for (uint32_t o = 0; exact && o < n.nout; o++)
            if (n.out[o])
                shadow_report(s, id, n.out[o], 0, 0, SHADOW_EXACT, list);
        return exact;
    }
    if (moves) {
        const NodeId copy = on_differences(s, id, true);
        for (uint32_t o = 0; o < n.nout; o++)
            if (n.out[o])
                report_moved(s, id, n.out[o], node_at(s->m, copy)->out[o], list);
        return true;
    }
    const bool formula = apart_has(&n), sums = is_sum(s, &n);
    if (n.nout != 1 || !n.out[0] || (!formula && !sums))
        return false;
    if (formula && shadow_is_exact(&n)) {
        report_moved(s, id, n.out[0], by_formula(s, id, 0), list);
        return true;
    }
    return report_brought(s, id, formula, list);
}
