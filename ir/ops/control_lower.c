// Control flow as steps: branches and bodies are lowered in place, values that cross are copied.
//
// A carried value lives in a buffer whose dims may change from one iteration to the next. Where
// they can, the body's result goes to a staging buffer under dims of its own first, since the
// carried buffer's dims are part of how the result is read.

#include "ir/ops/control.h"
#include "ir/lower_state.h"
#include "ir/ops/lists.h"

// Gives a data dim its value; any other dim must agree with it.
static void define_or_check(Lower *l, Index dim, Index value)
{
    bool variable = dim->nterms == 1 && dim->terms[0].natoms == 1 && dim->terms[0].coeff == 1 &&
                    dim->terms[0].atoms[0]->kind == ATOM_DIM;
    DimId d = variable ? dim->terms[0].atoms[0]->var : 0;
    if (variable && !dim_is_input(l->model, d))
        define_dim(l, dim, value);
    else
        check(l, index_eq(l, dim, value), "%.*s: shapes differ between branches or iterations",
              STR_ARG(str_escaped(l->arena, l->n->op)));
}

// y = x where the program may have to define y's dims first.
static void assign(Lower *l, Tensor y, Tensor x)
{
    for (uint32_t i = 0; i < y.rank && i < x.rank; i++)
        define_or_check(l, y.dims[i], x.dims[i]);
    copy_tensor(l, y, x);
}

static const Expr *scalar(Lower *l, Tensor t)
{
    Index at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < t.rank; i++)
        at[i] = ix(l, 0);
    return load(l, t, at);
}

static void store_scalar(Lower *l, Tensor t, const Expr *value, const char *name)
{
    Index at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < t.rank; i++)
        at[i] = ix(l, 0);
    kernel(l, name);
    store(l, t, at, value);
    kernel_end(l);
}

static bool same_kind(Lower *l, Tensor y, Tensor x, const char *what, uint32_t i)
{
    if (x.buffer && y.buffer && x.rank == y.rank && x.dtype == y.dtype)
        return true;
    if (!l->state->failed)
        not_supported(l, "%.*s whose %s %u changes rank or dtype",
                      STR_ARG(str_escaped(l->arena, l->n->op)), what, i);
    return false;
}

static void lower_branch(Lower *l, GraphId g)
{
    lower_graph(l, g);
    const Graph *graph = graph_at(l->model, g);
    if (graph->fails)
        return;
    if (graph->inputs.len || graph->outputs.len < l->n->nout) {
        not_supported(l, "If with a branch of %u inputs and %u outputs for %u results",
                      graph->inputs.len, graph->outputs.len, l->n->nout);
        return;
    }
    for (uint32_t i = 0; i < l->n->nout; i++) {
        ValueId from = graph->outputs.at[i].value;
        Tensor y = output(l, i), x = tensor_of_value(l, from);
        if (y.buffer)
            x = list_fit(l, l->n->out[i], from, x);
        if (y.buffer && same_kind(l, y, x, "output", i))
            assign(l, y, x);
    }
}

// If-1. A condition known when compiling lowers one branch only.
void lower_if(Lower *l)
{
    GraphId yes = node_graph(l->n, "then_branch"), no = node_graph(l->n, "else_branch");
    if (!yes || !no || !has_input(l, 0)) {
        not_supported(l, "If without condition, then_branch or else_branch");
        return;
    }
    if (input(l, 0).dtype != DT_BOOL) {
        lower_unfit(l, "its condition is no bool");
        return;
    }
    const unsigned char *known = constant_input(l, 0, NULL);
    if (known) {
        lower_branch(l, *known ? yes : no);
        return;
    }
    step_if(l, scalar(l, input(l, 0)));
    lower_branch(l, yes);
    step_else(l);
    lower_branch(l, no);
    step_end(l);
}

// ---- loops

static Tensor carried_buffer(Lower *l, ValueId inner, uint32_t from)
{
    const Value *v = value_at(l->model, inner);
    Tensor t = {0}, first = input(l, from);
    if (kind_is_list(v->kind)) {
        t = object_temp(l, "carried");
        bind_value(l, inner, t);
        first = has_input(l, from) ? list_fit(l, inner, l->n->in[from], first) : first;
        if (first.buffer && first.dtype == DT_OBJECT)
            assign(l, t, first);
        return t;
    }
    if (v->rank < 0 || v->rank > MAX_RANK || v->dtype == DT_NONE)
        return t;
    t = temp(l, "carried", v->dtype, (uint32_t)v->rank, v->dims);
    bind_value(l, inner, t);
    if (first.buffer && t.rank == first.rank && t.dtype == first.dtype)
        assign(l, t, first);
    return t;
}

static bool dims_are_same(Tensor a, Tensor b)
{
    for (uint32_t i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i])
            return false;
    return true;
}

// Is the body's result held in a buffer that no carried update overwrites?
static bool is_own_buffer(const Tensor *carried, uint32_t n, Tensor result)
{
    for (uint32_t i = 0; i < n; i++)
        if (carried[i].buffer == result.buffer)
            return false;
    return true;
}

static void update_carried(Lower *l, const Tensor *carried, const Tensor *results, uint32_t n)
{
    Tensor *staged = NEWS(l->arena, Tensor, n);
    bool any_moves = false;
    for (uint32_t i = 0; i < n; i++)
        any_moves |= !dims_are_same(carried[i], results[i]);
    for (uint32_t i = 0; i < n; i++) {
        staged[i] = results[i];
        if (results[i].buffer == carried[i].buffer ||
            (!any_moves && is_own_buffer(carried, n, results[i])))
            continue;
        Index dims[MAX_RANK] = {0};
        for (uint32_t k = 0; k < results[i].rank; k++) {
            int64_t known;
            dims[k] = results[i].dims[k];
            if (!poly_is_const(dims[k], &known))
                dims[k] = poly_dim(l->polys, dim_new(l->polys, STR("next"), 0));
        }
        staged[i] = temp(l, "next", results[i].dtype, results[i].rank, dims);
        assign(l, staged[i], results[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < carried[i].rank && staged[i].buffer != carried[i].buffer; k++)
            define_dim(l, carried[i].dims[k], staged[i].dims[k]);
    for (uint32_t i = 0; i < n; i++)
        if (staged[i].buffer != carried[i].buffer)
            copy_tensor(l, carried[i], staged[i]);
}

// Is dim i of an output the output's own? Others were there before the loop, which must not set
// them.
static bool is_own_dim(Lower *l, uint32_t output_number, uint32_t i)
{
    uint32_t key[2] = {l->n->out[output_number], i};
    const uint32_t *own = map_get(&l->model->data_dims, (Str){(const char *)key, sizeof key});
    return own && output(l, output_number).dims[i] == poly_dim(l->polys, *own);
}

// out[count, ...] = row, with the first dim growing to count + 1 where the trip count is not known.
static void append_row(Lower *l, uint32_t output_number, Tensor element, Index at_row)
{
    Tensor out = output(l, output_number);
    Index o[MAX_RANK] = {0}, to[MAX_RANK] = {at_row};
    for (uint32_t i = 0; i < out.rank; i++)
        if (is_own_dim(l, output_number, i))
            define_dim(l, out.dims[i], i ? element.dims[i - 1] : ix_addc(l, at_row, 1));
    kernel(l, "append");
    par_all(l, element, o);
    for (uint32_t i = 0; i < element.rank; i++)
        to[i + 1] = o[i];
    store(l, out, to, load(l, element, o));
    kernel_end(l);
}

// A body, and the values that it carries, whose dims the program defines before it.
typedef struct Carrying {
    Lower *l;
    GraphId body;
    const Tensor *carried;
    uint32_t n;
} Carrying;

static bool is_of_iteration(void *context, const Atom *a)
{
    const Carrying *c = context;
    Infer s = {.model = c->l->model};
    if (a->kind != ATOM_DIM)
        return a->kind == ATOM_LOOP || a->kind == ATOM_EXPR;
    Index dim = poly_dim(c->l->polys, a->var);
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < c->carried[i].rank; k++)
            if (c->carried[i].dims[k] == dim)
                return false;
    return infer_dim_is_local(&s, dim, c->body);
}

// Dim k of what an iteration would give, before there was one: as the body declares it, else as it
// follows from the first carried values, else 0.
static Index dim_of_result(Carrying *c, ValueId result, uint32_t k)
{
    const Value *v = value_at(c->l->model, result);
    const Type *t = v->declared;
    if (t && t->has_shape && (int32_t)t->rank == v->rank && t->dims[k].kind == DIM_VALUE &&
        t->dims[k].value >= 0)
        return ix(c->l, t->dims[k].value);
    return poly_any(v->dims[k], is_of_iteration, c) ? ix(c->l, 0) : v->dims[k];
}

// The dims of an output that gathers `result` are those of no iteration until there is one. `lead`
// of them from `axis` on are not the result's: they count.
static void begin_gathered(Carrying *c, uint32_t output_number, ValueId result, uint32_t axis,
                           uint32_t lead)
{
    Tensor t = output(c->l, output_number);
    int32_t rank = value_at(c->l->model, result)->rank;
    if (!t.buffer || rank < 0 || t.rank != (uint32_t)rank + lead)
        return;
    for (uint32_t i = 0, k = 0; i < t.rank; i++) {
        bool counts = i >= axis && i < axis + lead;
        if (is_own_dim(c->l, output_number, i))
            define_dim(c->l, t.dims[i], counts ? ix(c->l, 0) : dim_of_result(c, result, k));
        k += !counts;
    }
}

// `in`: the first of the body's inputs that the results are carried to, with `expect`.
static bool body_results(Lower *l, const Graph *body, uint32_t from, uint32_t n, Tensor *results,
                         const Tensor *expect, uint32_t in)
{
    for (uint32_t i = 0; i < n; i++) {
        ValueId result = body->outputs.at[from + i].value;
        results[i] = tensor_of_value(l, result);
        if (expect)
            results[i] = list_fit(l, body->inputs.at[in + i].value, result, results[i]);
        if (expect ? !same_kind(l, expect[i], results[i], "carried value", i) : !results[i].buffer)
            return false;
    }
    return true;
}

// Does y have one dim more than what it gathers?
static bool gathers(Lower *l, Tensor y, Tensor element)
{
    bool ok = y.rank == element.rank + 1 && y.dtype == element.dtype;
    if (!ok)
        lower_unfit(l, "a result gathers what has not its rank or dtype");
    return ok;
}

static void carry_out(Lower *l, const Graph *body, uint32_t in, uint32_t n, const Tensor *carried)
{
    for (uint32_t i = 0; i < n; i++) {
        Tensor y = output(l, i), x = carried[i];
        if (y.buffer)
            x = list_fit(l, l->n->out[i], body->inputs.at[in + i].value, x);
        if (y.buffer && same_kind(l, y, x, "output", i))
            assign(l, y, x);
    }
}

static Index trip_count(Lower *l)
{
    if (!has_input(l, 0))
        return NULL;
    const Value *v = value_at(l->model, l->n->in[0]);
    if (v->content && v->ncontent == 1)
        return v->content[0];
    return to_index(l, cast(l, DT_I64, scalar(l, input(l, 0))));
}

static bool loop_fits(Lower *l, const Graph *body, uint32_t ncarried, uint32_t nscan)
{
    if (body && body->inputs.len == ncarried + 2 && body->outputs.len == ncarried + 1 + nscan &&
        l->n->nout <= ncarried + nscan)
        return true;
    not_supported(l, "Loop whose body has %u inputs and %u outputs for %u carried values",
                  body ? body->inputs.len : 0, body ? body->outputs.len : 0, ncarried);
    return false;
}

// Loop-1: while iteration < M and cond: (cond, carried, scans) = body(iteration, cond, carried).
void lower_loop(Lower *l)
{
    GraphId g = node_graph(l->n, "body");
    const Graph *body = g ? graph_at(l->model, g) : NULL;
    uint32_t ncarried = l->n->nin > 2 ? l->n->nin - 2 : 0;
    uint32_t nscan =
        body && body->outputs.len > ncarried + 1 ? body->outputs.len - ncarried - 1 : 0;
    if (!loop_fits(l, body, ncarried, nscan))
        return;
    Tensor *carried = NEWS(l->arena, Tensor, ncarried), *results = NEWS(l->arena, Tensor, ncarried);
    Tensor *scans = NEWS(l->arena, Tensor, nscan);
    for (uint32_t i = 0; i < ncarried; i++)
        carried[i] = carried_buffer(l, body->inputs.at[i + 2].value, i + 2);
    Tensor counter = temp(l, "iteration", DT_I64, 0, NULL),
           cond = temp(l, "cond", DT_BOOL, 0, NULL);
    bind_value(l, body->inputs.at[0].value, counter);
    bind_value(l, body->inputs.at[1].value, cond);
    store_scalar(l, cond, has_input(l, 1) ? scalar(l, input(l, 1)) : int_(l, DT_BOOL, 1), "cond");
    Carrying before = {l, g, carried, ncarried};
    for (uint32_t i = 0; i < nscan; i++)
        begin_gathered(&before, ncarried + i, body->outputs.at[1 + ncarried + i].value, 0, 1);
    Index t = step_loop(l, trip_count(l));
    step_break(l, not_(l, scalar(l, cond)));
    store_scalar(l, counter, from_index(l, t, DT_I64), "iteration");
    lower_graph(l, g);
    bool ok = body_results(l, body, 1, ncarried, results, carried, 2) &&
              body_results(l, body, 1 + ncarried, nscan, scans, NULL, 0);
    Tensor again = tensor_of_value(l, body->outputs.at[0].value);
    if (ok && !again.buffer)
        lower_unfit(l, "the body gives no condition");
    if (ok && again.buffer) {
        for (uint32_t i = 0; i < nscan; i++) {
            Tensor y = output(l, ncarried + i);
            if (y.buffer && gathers(l, y, scans[i]))
                append_row(l, ncarried + i, scans[i], t);
        }
        update_carried(l, carried, results, ncarried);
        if (again.buffer != cond.buffer)
            store_scalar(l, cond, scalar(l, again), "cond");
    }
    step_end(l);
    if (ok)
        carry_out(l, body, 2, ncarried, carried);
}

// ---- Scan

static int64_t listed(Lower *l, const char *name, uint32_t i, int64_t otherwise)
{
    const int64_t *at;
    uint32_t n;
    return node_ints(l->n, name, &at, &n) && i < n ? at[i] : otherwise;
}

// 0 and a refusal where the axis is none of that rank.
static uint32_t scan_axis(Lower *l, int64_t axis, uint32_t rank)
{
    axis += axis < 0 ? rank : 0;
    if (axis >= 0 && axis < rank)
        return (uint32_t)axis;
    lower_unfit(l, "an axis is out of range");
    return 0;
}

// inner = x[..., t (or from the end), ...] at `axis`.
static void take_slice(Lower *l, ValueId inner, Tensor x, uint32_t axis, Index t)
{
    Index dims[MAX_RANK] = {0}, o[MAX_RANK] = {0}, from[MAX_RANK] = {0};
    for (uint32_t i = 0; i + 1 < x.rank; i++)
        dims[i] = x.dims[i + (i >= axis)];
    Tensor y = temp(l, "slice", x.dtype, x.rank - 1, dims);
    bind_value(l, inner, y);
    kernel(l, "slice");
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++)
        from[i] = i == axis ? t : o[i - (i > axis)];
    store(l, y, o, load(l, x, from));
    kernel_end(l);
}

static Index directed(Lower *l, const char *name, uint32_t i, Index t, Index n)
{
    return listed(l, name, i, 0) ? ix_addc(l, ix_sub(l, n, t), -1) : t;
}

// out[..., t, ...] = element.
static void put_slice(Lower *l, Tensor out, Tensor element, uint32_t axis, Index t)
{
    Index o[MAX_RANK] = {0}, to[MAX_RANK] = {0};
    kernel(l, "scan_output");
    par_all(l, element, o);
    for (uint32_t i = 0; i < out.rank; i++)
        to[i] = i == axis ? t : o[i - (i > axis)];
    store(l, out, to, load(l, element, o));
    kernel_end(l);
}

// Scan-9, 11 ...: inputs are N states and M scanned tensors; outputs N states and K scanned
// results.
void lower_scan(Lower *l)
{
    GraphId g = node_graph(l->n, "body");
    const Graph *body = g ? graph_at(l->model, g) : NULL;
    int64_t scanned = node_int(l->n, "num_scan_inputs", 0);
    if (opset_of(l->model, l->n) < 9 || !body || scanned < 1 || scanned > l->n->nin ||
        body->inputs.len != l->n->nin || body->outputs.len < l->n->nin - (uint32_t)scanned ||
        body->outputs.len < l->n->nout) {
        not_supported(l, "Scan of opset %lld with %u inputs of which %lld are scanned",
                      (long long)opset_of(l->model, l->n), l->n->nin, (long long)scanned);
        return;
    }
    uint32_t m = (uint32_t)scanned, n = l->n->nin - m, k = body->outputs.len - n;
    Tensor *carried = NEWS(l->arena, Tensor, n), *results = NEWS(l->arena, Tensor, n),
           *scans = NEWS(l->arena, Tensor, k);
    for (uint32_t i = 0; i < n; i++)
        carried[i] = carried_buffer(l, body->inputs.at[i].value, i);
    Tensor lead = input(l, n);
    for (uint32_t i = n; i < l->n->nin; i++)
        if (input(l, i).rank == 0) {
            not_supported(l, "Scan over a scalar");
            return;
        }
    Index trip = lead.dims[scan_axis(l, listed(l, "scan_input_axes", 0, 0), lead.rank)];
    Carrying before = {l, g, carried, n};
    for (uint32_t i = 0; i < k && n + i < l->n->nout; i++) {
        uint32_t rank = output(l, n + i).rank;
        uint32_t axis = rank ? scan_axis(l, listed(l, "scan_output_axes", i, 0), rank) : 0;
        begin_gathered(&before, n + i, body->outputs.at[n + i].value, axis, 1);
    }
    Index t = step_loop(l, trip);
    for (uint32_t i = 0; i < m; i++) {
        Tensor x = input(l, n + i);
        uint32_t axis = scan_axis(l, listed(l, "scan_input_axes", i, 0), x.rank);
        take_slice(l, body->inputs.at[n + i].value, x, axis,
                   directed(l, "scan_input_directions", i, t, trip));
    }
    lower_graph(l, g);
    bool ok = body_results(l, body, 0, n, results, carried, 0) &&
              body_results(l, body, n, k, scans, NULL, 0);
    for (uint32_t i = 0; ok && i < k; i++) {
        Tensor y = output(l, n + i);
        if (!y.buffer || !gathers(l, y, scans[i]))
            continue;
        uint32_t axis = scan_axis(l, listed(l, "scan_output_axes", i, 0), y.rank);
        for (uint32_t d = 0; d < scans[i].rank; d++)
            define_dim(l, y.dims[d + (d >= axis)], scans[i].dims[d]);
        define_dim(l, y.dims[axis], trip);
        put_slice(l, y, scans[i], axis, directed(l, "scan_output_directions", i, t, trip));
    }
    if (ok)
        update_carried(l, carried, results, n);
    step_end(l);
    if (ok)
        carry_out(l, body, 0, n, carried);
}

// y[to...] = x[from...] where the leading indices of one of them are fixed.
static void copy_part(Lower *l, Tensor y, uint32_t nto, const Index *to, Tensor x, uint32_t nfrom,
                      const Index *from)
{
    Index o[MAX_RANK] = {0}, yat[MAX_RANK] = {0}, xat[MAX_RANK] = {0};
    kernel(l, "slice");
    par_all(l, nfrom ? y : x, o);
    for (uint32_t i = 0; i < y.rank; i++)
        yat[i] = i < nto ? to[i] : o[i - nto];
    for (uint32_t i = 0; i < x.rank; i++)
        xat[i] = i < nfrom ? from[i] : o[i - nfrom];
    store(l, y, yat, load(l, x, xat));
    kernel_end(l);
}

static void fill_zero(Lower *l, Tensor y)
{
    Index o[MAX_RANK] = {0};
    kernel(l, "zero");
    par_all(l, y, o);
    store(l, y, o, zero(l, y.dtype));
    kernel_end(l);
}

// One sequence after the other; what lies behind the end of a short one is zero. Spec: Scan-8.
void lower_scan_batch(Lower *l)
{
    GraphId g = node_graph(l->n, "body");
    const Graph *body = g ? graph_at(l->model, g) : NULL;
    uint32_t m = (uint32_t)node_int(l->n, "num_scan_inputs", 0), n = l->n->nin - 1 - m;
    if (!body || m == 0 || m + 1 > l->n->nin || body->inputs.len != n + m ||
        body->outputs.len < n || l->n->nout > body->outputs.len) {
        not_supported(l, "Scan whose body does not fit its %u inputs", l->n->nin);
        return;
    }
    Tensor lens = input(l, 0), lead = input(l, 1 + n);
    uint32_t k = body->outputs.len - n;
    Tensor *carried = NEWS(l->arena, Tensor, n), *results = NEWS(l->arena, Tensor, n),
           *scans = NEWS(l->arena, Tensor, k);
    if (lead.rank < 2) {
        not_supported(l, "Scan over a tensor without batch and time");
        return;
    }
    for (uint32_t i = 0; lens.buffer && i < k; i++)
        if (has_output(l, n + i))
            fill_zero(l, output(l, n + i));
    Carrying before = {.l = l, .body = g};
    for (uint32_t i = 0; i < k && n + i < l->n->nout; i++)
        begin_gathered(&before, n + i, body->outputs.at[n + i].value, 0, 2);
    Index at[2] = {0}, from[2] = {0}, b = at[0] = from[0] = step_loop(l, lead.dims[0]),
          trip = lead.dims[1];
    if (lens.buffer) {
        const Expr *len = cast(l, DT_I64, load(l, lens, &b));
        check(l, and_(l, le(l, zero(l, DT_I64), len), le(l, len, from_index(l, trip, DT_I64))),
              "Scan: the length of a sequence is out of range");
        trip = to_index(l, len);
    }
    for (uint32_t i = 0; i < n; i++) {
        carried[i] = carried_buffer(l, body->inputs.at[i].value, l->n->nin);
        copy_part(l, carried[i], 0, NULL, input(l, 1 + i), 1, &b);
    }
    Index t = at[1] = step_loop(l, trip);
    for (uint32_t i = 0; i < m; i++) {
        Tensor x = input(l, 1 + n + i);
        Tensor y = temp(l, "slice", x.dtype, x.rank - 2, x.dims + 2);
        from[1] = directed(l, "directions", i, t, trip);
        bind_value(l, body->inputs.at[n + i].value, y);
        copy_part(l, y, 0, NULL, x, 2, from);
    }
    lower_graph(l, g);
    bool ok = body_results(l, body, 0, n, results, carried, 0) &&
              body_results(l, body, n, k, scans, NULL, 0);
    for (uint32_t i = 0; ok && i < k; i++) {
        Tensor y = output(l, n + i);
        if (y.buffer && (y.dtype != scans[i].dtype || y.rank != scans[i].rank + 2)) {
            lower_unfit(l, "a result gathers what has not its rank or dtype");
            break;
        }
        for (uint32_t d = 0; y.buffer && d < scans[i].rank; d++)
            define_dim(l, y.dims[d + 2], scans[i].dims[d]);
        if (y.buffer)
            copy_part(l, y, 2, at, scans[i], 0, NULL);
    }
    if (ok)
        update_carried(l, carried, results, n);
    step_end(l);
    for (uint32_t i = 0; ok && i < n; i++)
        if (has_output(l, i))
            copy_part(l, output(l, i), 1, &b, carried[i], 0, NULL);
    step_end(l);
}
