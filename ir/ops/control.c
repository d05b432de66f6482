// Control flow: what If, Loop and Scan give, from what their subgraphs give.

#include "ir/lists.h"
#include "ir/ops/control.h"
#include "ir/ops/ranks.h"
#include "ir/said.h"

#include <string.h>

enum { MAX_ROUNDS = 8 };

// The type of output o from a branch's result.
static void join_first(Infer *s, uint32_t o, const Value *v, GraphId g)
{
    Index dims[MAX_RANK] = {0};
    Value *out = value_at(s->model, s->n->out[o]);
    out->kind = v->kind;
    out->type = v->type;
    out->dtype = v->dtype;
    out->why_dtype = out->why_shape =
        (Why){.kind = WHY_BRANCH, .node = s->node, .from = (ValueId)(v - s->model->values.at)};
    if (v->rank < 0 || v->rank > MAX_RANK)
        return;
    for (int32_t i = 0; i < v->rank; i++)
        dims[i] = infer_dim_is_local(s, v->dims[i], g) ? infer_data_dim(s, o, (uint32_t)i, "branch")
                                                       : v->dims[i];
    infer_shape(s, o, (uint32_t)v->rank, dims);
}

// Of two tensors that ought to be of one dtype and are not, the result is as declarations say.
static void join_dtype(Infer *s, uint32_t o, const Value *v)
{
    Value *out = value_at(s->model, s->n->out[o]);
    if (v->kind != TYPE_TENSOR || out->kind != TYPE_TENSOR || v->dtype == DT_NONE ||
        v->dtype == out->dtype || said_dtype(s->model, s->n->out[o]) != v->dtype)
        return;
    out->dtype = v->dtype;
    out->why_dtype.from = (ValueId)(v - s->model->values.at);
}

static void join_second(Infer *s, uint32_t o, const Value *v, GraphId g)
{
    Value *out = value_at(s->model, s->n->out[o]);
    join_dtype(s, o, v);
    if (v->rank != out->rank) {
        out->rank = -1;
        return;
    }
    for (int32_t i = 0; i < v->rank; i++)
        if (out->dims[i] != v->dims[i] || infer_dim_is_local(s, v->dims[i], g))
            out->dims[i] = infer_data_dim(s, o, (uint32_t)i, "branch");
}

static const Value *result_of(const Infer *s, GraphId g, uint32_t o)
{
    const Graph *graph = graph_at(s->model, g);
    return o < graph->outputs.len ? value_at(s->model, graph->outputs.at[o].value) : NULL;
}

// Where only one branch gives an optional, what the other gives becomes one. b may be NULL.
static void join_lists(Infer *s, uint32_t o, const Value *a, GraphId yes, const Value *b,
                       GraphId no)
{
    const Type *type = value_type(s->arena, a);
    Item item = item_outside(s, item_of(a), yes);
    if (b) {
        type = type_join(type, value_type(s->arena, b));
        item_join(s->model, &item, item_outside(s, item_of(b), no));
    }
    if (type)
        infer_list(s, s->n->out[o], type, item);
    else
        infer_error(s, "the branches give output %u different types", o);
}

// A branch that cannot come to its end says nothing of the outputs.
static void join_output(Infer *s, uint32_t o, GraphId yes, GraphId no)
{
    if (graph_at(s->model, yes)->fails) {
        yes = no;
        no = 0;
    }
    bool both = no && !graph_at(s->model, no)->fails;
    const Value *first = result_of(s, yes, o), *second = both ? result_of(s, no, o) : NULL;
    if (first && (kind_is_list(first->kind) || (second && kind_is_list(second->kind)))) {
        join_lists(s, o, first, yes, second, no);
        return;
    }
    if (first)
        join_first(s, o, first, yes);
    if (second)
        join_second(s, o, second, no);
}

static void join_branches(Infer *s, GraphId yes, GraphId no)
{
    const Graph *a = graph_at(s->model, yes), *b = no ? graph_at(s->model, no) : a;
    if (a->fails && b->fails) {
        node_at(s->model, s->node)->fault = node_at(s->model, a->fails)->fault;
        return;
    }
    for (uint32_t o = 0; o < s->n->nout; o++)
        if (s->n->out[o])
            join_output(s, o, yes, no);
}

static void infer_if(Infer *s)
{
    GraphId yes = node_graph(s->n, "then_branch"), no = node_graph(s->n, "else_branch");
    const unsigned char *known = infer_constant(s, 0, NULL);
    if (!yes || !no)
        return;
    if (graph_at(s->model, yes)->inputs.len || graph_at(s->model, no)->inputs.len) {
        infer_error(s, "a branch has inputs");
        return;
    }
    if (known) {
        GraphId taken = *known ? yes : no;
        Infer quiet = *s; // shapes in the branch that is not taken need not fit
        quiet.diags = NULL;
        infer_graph(&quiet, *known ? no : yes);
        infer_graph(s, taken);
        join_branches(s, taken, 0);
        return;
    }
    infer_graph(s, yes);
    infer_graph(s, no);
    join_branches(s, yes, no);
}

void infer_if_output(Model *m, NodeId n, uint32_t o)
{
    Infer s = {.model = m, .polys = m->polys, .arena = m->arena, .node = n, .n = node_at(m, n)};
    join_output(&s, o, node_graph(s.n, "then_branch"), node_graph(s.n, "else_branch"));
}

// ---- carried values

static void carry_in(Infer *s, const Graph *body, uint32_t first, uint32_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const Value *v = infer_in(s, from + i);
        ValueId inner = body->inputs.at[first + i].value;
        if (!v)
            continue;
        if (kind_is_list(v->kind))
            infer_list(s, inner, v->type, item_of(v));
        else
            infer_value(s, inner, v->dtype, v->rank, v->dims);
        Value *carried = value_at(s->model, inner);
        carried->why_dtype = carried->why_shape =
            (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->in[from + i]};
    }
}

// A body that cannot come to its end is refused, though a loop without iterations would not run it.
bool infer_body_fails(Infer *s, GraphId g)
{
    NodeId n = infer_failing_node(s->model, g);
    if (n)
        infer_error(s, "%.*s in the body: %.*s",
                    STR_ARG(str_escaped(s->arena, node_at(s->model, n)->op)),
                    STR_ARG(node_at(s->model, n)->fault));
    return n != 0;
}

// A carried list takes what the body makes of it; a carried value that the body makes an optional
// (or that begins as one) is an optional. true if something changed.
static bool widen_list(Infer *s, ValueId inner, const Value *after)
{
    const Value *before = value_at(s->model, inner);
    const Type *type = type_join(value_type(s->arena, before), value_type(s->arena, after));
    Item item = item_of(before);
    if (!type)
        return false; // an iteration has no result yet, or one that the lowering refuses
    bool changed = !type_same(type, value_type(s->arena, before));
    changed |= item_join(s->model, &item, item_outside(s, item_of(after), before->graph));
    infer_list(s, inner, type, item);
    return changed;
}

// Makes dims that the body changes data dims of the carried value; true if something had to be
// widened.
static bool widen(Infer *s, const Graph *body, uint32_t in, uint32_t out, uint32_t n)
{
    bool changed = false;
    for (uint32_t i = 0; i < n; i++) {
        ValueId inner = body->inputs.at[in + i].value;
        Value *before = value_at(s->model, inner);
        const Value *after = value_at(s->model, body->outputs.at[out + i].value);
        if (kind_is_list(before->kind) || kind_is_list(after->kind)) {
            changed |= widen_list(s, inner, after);
            continue;
        }
        if (before->rank < 0)
            continue;
        if (after->rank != before->rank) {
            before->rank = -1;
            changed = true;
            continue;
        }
        for (int32_t k = 0; k < before->rank; k++) {
            Index own = infer_dim_of_value(s, inner, (uint32_t)k, "carried");
            if (before->dims[k] == after->dims[k] || before->dims[k] == own)
                continue;
            before->dims[k] = own;
            changed = true;
        }
    }
    return changed;
}

// The outputs have the types of the body's results: where the first value is an optional and the
// results are none, only the carried value is one.
static void carry_out(Infer *s, GraphId g, uint32_t in, uint32_t out, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < s->n->nout; i++) {
        const Graph *body = graph_at(s->model, g);
        const Value *carried = value_at(s->model, body->inputs.at[in + i].value);
        const Type *type =
            value_type(s->arena, value_at(s->model, body->outputs.at[out + i].value));
        if (!s->n->out[i])
            continue;
        if (type && kind_is_list(type->kind))
            infer_list(s, s->n->out[i], type, item_outside(s, item_of(carried), g));
        else if (type && carried->kind == TYPE_OPTIONAL)
            infer_taken(s, s->n->out[i], type_leaf(type), item_outside(s, item_of(carried), g));
        else {
            join_first(s, i, carried, g);
            join_dtype(s, i, value_at(s->model, body->outputs.at[out + i].value));
        }
    }
}

// Output o gathers the body's result v along a new dim of size `count` (NULL: known when it has
// run).
static void scan_out(Infer *s, uint32_t o, ValueId result, GraphId g, Index count, int64_t axis)
{
    const Value *v = value_at(s->model, result);
    Index dims[MAX_RANK] = {0};
    if (o >= s->n->nout || !s->n->out[o] || v->dtype == DT_NONE)
        return;
    if (kind_is_list(v->kind)) {
        infer_error(s, "result %u of the body is gathered, but is no tensor", o);
        return;
    }
    infer_dtype(s, o, v->dtype);
    value_at(s->model, s->n->out[o])->why_dtype =
        (Why){.kind = WHY_BRANCH, .node = s->node, .from = result};
    if (v->rank < 0 || v->rank + 1 > MAX_RANK || (axis = infer_axis(s, axis, v->rank + 1)) < 0)
        return;
    uint32_t rank = (uint32_t)v->rank + 1, at = (uint32_t)axis;
    for (uint32_t i = 0; i + 1 < rank; i++) {
        uint32_t to = i + (i >= at);
        dims[to] =
            infer_dim_is_local(s, v->dims[i], g) ? infer_data_dim(s, o, to, "scanned") : v->dims[i];
    }
    dims[at] = count ? count : infer_data_dim(s, o, at, "iterations");
    infer_shape(s, o, rank, dims);
}

static bool is_true(Infer *s, ValueId v)
{
    Str error;
    const TensorData *t = value_at(s->model, v)->constant;
    const unsigned char *at =
        t ? tensor_elements(s->model, (TensorData *)(uintptr_t)t, &error) : NULL;
    return at && *at;
}

// Does the body hand its condition on unchanged, or give true?
static bool keeps_going(Infer *s, const Graph *body)
{
    ValueId v = body->outputs.at[0].value;
    uint32_t left = body->nodes.len; // one that makes its own operand ends the way too
    while (left-- && value_at(s->model, v)->def == DEF_NODE &&
           node_is(node_at(s->model, value_at(s->model, v)->node), "Identity") &&
           node_at(s->model, value_at(s->model, v)->node)->nin > 0)
        v = node_at(s->model, value_at(s->model, v)->node)->in[0];
    return v == body->inputs.at[1].value || is_true(s, v);
}

static void infer_loop(Infer *s)
{
    GraphId g = node_graph(s->n, "body");
    if (!g)
        return;
    const Graph *body = graph_at(s->model, g);
    uint32_t n = s->n->nin > 2 ? s->n->nin - 2 : 0, len;
    if (body->inputs.len != n + 2 || body->outputs.len < n + 1) {
        infer_error(s, "the body has %u inputs and %u outputs for %u carried values",
                    body->inputs.len, body->outputs.len, n);
        return;
    }
    infer_value(s, body->inputs.at[0].value, DT_I64, 0, NULL);
    infer_value(s, body->inputs.at[1].value, DT_BOOL, 0, NULL);
    carry_in(s, body, 2, 2, n);
    for (int round = 0; round < MAX_ROUNDS + 3 * (int)n; round++) {
        infer_graph(s, g);
        if (!widen(s, graph_at(s->model, g), 2, 1, n))
            break;
    }
    body = graph_at(s->model, g);
    if (infer_body_fails(s, g))
        return;
    if (!rank_is_number(value_at(s->model, body->outputs.at[0].value), ANY_RANK)) {
        infer_error(s, "what its body gives for going on is not one number");
        return;
    }
    carry_out(s, g, 2, 1, n);
    const Index *m = infer_content(s, 0, &len);
    bool counted =
        m && len == 1 && keeps_going(s, body) && (!infer_in(s, 1) || is_true(s, s->n->in[1]));
    Index count = counted ? poly_max(s->polys, m[0], poly_const(s->polys, 0)) : NULL;
    for (uint32_t i = 0; 1 + n + i < body->outputs.len; i++)
        scan_out(s, n + i, body->outputs.at[1 + n + i].value, g, count, 0);
}

static int64_t listed(Infer *s, const char *name, uint32_t i)
{
    const int64_t *at;
    uint32_t n;
    return node_ints(s->n, name, &at, &n) && i < n ? at[i] : 0;
}

static void slice_in(Infer *s, const Graph *body, uint32_t i, uint32_t n, Index *count)
{
    const Value *v = infer_in(s, n + i);
    Index dims[MAX_RANK] = {0};
    if (!v || v->kind != TYPE_TENSOR || v->rank < 0 || v->rank > MAX_RANK)
        return;
    if (v->rank == 0) {
        infer_error(s, "input %u is scanned and has no dimension", n + i);
        return;
    }
    int64_t axis = infer_axis(s, listed(s, "scan_input_axes", i), v->rank);
    if (axis < 0)
        return;
    for (int32_t k = 0; k + 1 < v->rank; k++)
        dims[k] = v->dims[k + (k >= axis)];
    if (!*count)
        *count = v->dims[axis];
    else if (!infer_require(s, *count, v->dims[axis]))
        infer_error(s, "input %u is scanned along a dimension that is not that of the others",
                    n + i);
    ValueId inner = body->inputs.at[n + i].value;
    infer_value(s, inner, v->dtype, v->rank - 1, dims);
    value_at(s->model, inner)->why_dtype = value_at(s->model, inner)->why_shape =
        (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->in[n + i]};
}

static void infer_scan(Infer *s)
{
    GraphId g = node_graph(s->n, "body");
    int64_t scanned = node_int(s->n, "num_scan_inputs", 0);
    if (!g || scanned < 1 || scanned > s->n->nin || opset_of(s->model, s->n) < 9)
        return;
    const Graph *body = graph_at(s->model, g);
    uint32_t m = (uint32_t)scanned, n = s->n->nin - m;
    Index count = NULL;
    if (body->inputs.len != s->n->nin || body->outputs.len < n) {
        infer_error(s, "the body has %u inputs and %u outputs for %u states and %u scanned inputs",
                    body->inputs.len, body->outputs.len, n, m);
        return;
    }
    carry_in(s, body, 0, 0, n);
    for (uint32_t i = 0; i < m; i++)
        slice_in(s, body, i, n, &count);
    for (int round = 0; round < MAX_ROUNDS + 3 * (int)n; round++) {
        infer_graph(s, g);
        if (!widen(s, graph_at(s->model, g), 0, 0, n))
            break;
    }
    body = graph_at(s->model, g);
    if (infer_body_fails(s, g))
        return;
    carry_out(s, g, 0, 0, n);
    for (uint32_t i = 0; n + i < body->outputs.len; i++)
        scan_out(s, n + i, body->outputs.at[n + i].value, g, count,
                 listed(s, "scan_output_axes", i));
}

// Scan-8: a batch of sequences. Inputs are their lengths (or nothing), then states [B, ...] and
// scanned tensors [B, T, ...]; the body sees one element of one sequence.
static void infer_scan_batch(Infer *s)
{
    GraphId g = node_graph(s->n, "body");
    uint32_t m = (uint32_t)node_int(s->n, "num_scan_inputs", 0);
    Index lead[2] = {NULL, NULL}, dims[MAX_RANK] = {0}; // batch, time
    if (!g || m == 0 || m + 1 > s->n->nin)
        return;
    const Graph *body = graph_at(s->model, g);
    uint32_t n = s->n->nin - 1 - m, outputs = body->outputs.len;
    if (body->inputs.len != n + m || outputs < n) {
        infer_error(s, "the body has %u inputs and %u outputs for %u states and %u scanned inputs",
                    body->inputs.len, outputs, n, m);
        return;
    }
    for (uint32_t i = 0; i < n + m; i++) {
        int32_t skip = i < n ? 1 : 2;
        const Value *v = infer_in(s, 1 + i);
        ValueId inner = body->inputs.at[i].value;
        if (!v || v->rank < skip || v->rank > MAX_RANK)
            return;
        for (int32_t k = 0; k < skip; k++)
            if (!lead[k])
                lead[k] = v->dims[k];
            else if (!infer_require(s, lead[k], v->dims[k]))
                infer_error(s, "dimension %d of input %u is not that of the others", k, 1 + i);
        infer_value(s, inner, v->dtype, v->rank - skip, v->dims + skip);
        value_at(s->model, inner)->why_dtype = value_at(s->model, inner)->why_shape =
            (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->in[1 + i]};
    }
    infer_fits(s, 0, 1, lead);
    infer_graph(s, g);
    if (infer_body_fails(s, g))
        return;
    body = graph_at(s->model, g);
    for (uint32_t o = 0; o < outputs && o < s->n->nout; o++) {
        const Value *v = value_at(s->model, body->outputs.at[o].value);
        const Value *state = o < n ? value_at(s->model, body->inputs.at[o].value) : v;
        uint32_t skip = o < n ? 1 : 2;
        if (kind_is_list(v->kind)) {
            infer_error(s, "result %u of the body is no tensor", o);
            continue;
        }
        infer_dtype(s, o, v->dtype);
        if (v->rank < 0 || v->rank + 2 > MAX_RANK)
            continue;
        if (state->rank != v->rank) {
            infer_error(s, "state %u changes its rank", o);
            continue;
        }
        memcpy(dims, lead, sizeof lead);
        for (int32_t k = 0; k < v->rank; k++) {
            if (!infer_require(s, state->dims[k], v->dims[k]))
                infer_error(s, "state %u changes its shape", o);
            dims[skip + (uint32_t)k] = infer_dim_is_local(s, state->dims[k], g)
                                           ? infer_data_dim(s, o, skip + (uint32_t)k, "scanned")
                                           : state->dims[k];
        }
        infer_shape(s, o, (uint32_t)v->rank + skip, dims);
    }
}

const OpDef ops_control[] = {
    {"If", 1, infer_if, lower_if, {NULL}, NULL},
    {"Loop", 1, infer_loop, lower_loop, {NULL}, NULL},
    {"Scan", 8, infer_scan_batch, lower_scan_batch, {NULL}, NULL},
    {"Scan", 9, infer_scan, lower_scan, {NULL}, NULL},
    {0},
};
