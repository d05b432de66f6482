// How much values move the outputs: the operators of ir/ops/sensitivity.h.

#include "ir/ops/sensitivity.h"
#include "ir/adjoint.h"
#include "ir/lower_state.h"
#include "ir/ops/shadow.h"
#include "runtime/cameo_sensitivity.h"

enum { MAX_OPERANDS = 64 };

// ---- random signs ------------------------------------------------------------------------------

static const Expr *mixed(Lower *l, const Expr *h, int shift, uint32_t factor)
{
    h = binary(l, B_XOR, h, binary(l, B_SHR, h, int_(l, DT_U32, shift)));
    return factor ? let(l, mul(l, h, int_(l, DT_U32, factor))) : h;
}

// +-1 by the element's place and two numbers: the finalizer of MurmurHash3 over their mix.
static const Expr *sign_at(Lower *l, Index place, const Expr *number, uint32_t salt, DType t)
{
    const Expr *p = cast(l, DT_U32, from_index(l, place, DT_I64));
    const Expr *k = mul(l, cast(l, DT_U32, number), int_(l, DT_U32, 0x85EBCA6B));
    const Expr *h = add(l, mul(l, p, int_(l, DT_U32, 0x9E3779B1)), k);
    h = add(l, h, int_(l, DT_U32, (int64_t)(uint32_t)(salt * 0xC2B2AE35u + 0x165667B1u)));
    h = mixed(l, mixed(l, mixed(l, let(l, h), 16, 0x85EBCA6B), 13, 0xC2B2AE35), 16, 0);
    const Expr *odd = eq(l, binary(l, B_AND, h, int_(l, DT_U32, 1)), int_(l, DT_U32, 1));
    return select_(l, odd, one(l, t), num(l, t, -1));
}

static const Expr *probe_at(Lower *l, Tensor probe, int64_t k)
{
    Index at[1] = {ix(l, k)};
    return load(l, probe, at);
}

static bool is_probe(Tensor t)
{
    return t.rank == 1 && t.dtype == DT_I64;
}

static void infer_probe(Infer *s)
{
    same_as_0(s);
    infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_F32));
}

static void lower_probe(Lower *l)
{
    Tensor y = output(l, 0), probe = input(l, 1);
    Index o[MAX_RANK];
    if (!is_probe(probe)) {
        lower_unfit(l, "a probe is expected");
        return;
    }
    kernel(l, "probe");
    par_all(l, y, o);
    Index place = ix_linear(l, y.rank, y.dims, o);
    const Expr *number = probe_at(l, probe, 2);
    const Expr *unit = eq(l, probe_at(l, probe, 1), int_(l, DT_I64, SENS_PROBE_UNIT));
    const Expr *here = eq(l, from_index(l, place, DT_I64), number);
    const Expr *mine = eq(l, probe_at(l, probe, 0), int_(l, DT_I64, node_int(l->n, "output", 0)));
    const Expr *signs = sign_at(l, place, number, 0, y.dtype);
    const Expr *r = select_(l, unit, select_(l, here, one(l, y.dtype), zero(l, y.dtype)), signs);
    store(l, y, o, select_(l, mine, r, zero(l, y.dtype)));
    kernel_end(l);
}

// ---- derivatives of a node ---------------------------------------------------------------------

static void infer_back(Infer *s)
{
    for (uint32_t o = 0; o < s->n->nout && o < s->n->nin; o++) {
        const Value *x = infer_in(s, o);
        if (!s->n->out[o] || !x || x->dtype == DT_NONE)
            continue;
        infer_dtype_of(s, o, o);
        infer_same(s, o, o);
    }
}

// The node that is derived, on the same operands; its own attributes are the last four.
static Node derived_node(const Node *back, uint32_t operands, uint32_t results)
{
    Node n = *back;
    n.op = node_str(back, "cameo.op", "");
    n.domain = node_str(back, "cameo.domain", "");
    n.nattrs -= 4;
    n.nin = operands;
    n.out = back->in + operands;
    n.nout = results;
    n.schema = NULL;
    n.def = NULL;
    return n;
}

static bool only_kernels(const Step *s)
{
    for (; s; s = s->next)
        if (s->kind != STEP_KERNEL && s->kind != STEP_CHECK)
            return false;
    return true;
}

// Lowers the node into temporaries; its first step.
static const Step *lower_again(Lower *l, Node *n, Tensor *y)
{
    Lower inner = *l;
    Step **tail = l->state->tail;
    Tensor kept[MAX_OPERANDS];
    inner.n = n;
    inner.opset = opset_of(l->model, n);
    n->schema = schema_find(n->domain, n->op, inner.opset);
    n->def = op_find(n->domain, n->op, inner.opset);
    if (!n->def || !n->def->lower) {
        lower_unfit(l, "an operator that is derived is not there");
        return NULL;
    }
    for (uint32_t o = 0; o < n->nout; o++) {
        Tensor t = kept[o] = n->out[o] ? tensor_of_value(l, n->out[o]) : (Tensor){0};
        y[o] = t.buffer ? temp(l, "again", t.dtype, t.rank, t.dims) : t;
        if (t.buffer)
            bind_value(l, n->out[o], y[o]);
    }
    bool before = l->state->written_out;
    l->state->written_out = true;
    n->def->lower(&inner);
    l->state->written_out = before;
    if (l->state->kernel)
        kernel_end(l);
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o])
            bind_value(l, n->out[o], kept[o]);
    l->failed |= inner.failed;
    return *tail;
}

static void store_bar(Lower *l, Tensor to, Tensor from)
{
    Index o[MAX_RANK] = {0};
    if (from.buffer) {
        copy_tensor(l, to, from);
        return;
    }
    kernel(l, "no_bar");
    par_all(l, to, o);
    store(l, to, o, zero(l, to.dtype));
    kernel_end(l);
}

static void lower_back(Lower *l)
{
    int64_t operands = node_int(l->n, "cameo.operands", -1),
            results = node_int(l->n, "cameo.results", -1);
    bool fits = operands >= 0 && results >= 0 && operands <= MAX_OPERANDS &&
                results <= MAX_OPERANDS && l->n->nattrs >= 4 &&
                l->n->nin == (uint64_t)(operands + 2 * results) && l->n->nout <= operands;
    if (!fits) {
        lower_unfit(l, "operands, results and their adjoints are expected");
        return;
    }
    uint32_t nx = (uint32_t)operands, ny = (uint32_t)results, nseeds = 0;
    Tensor y[MAX_OPERANDS], seeds[MAX_OPERANDS], x[MAX_OPERANDS] = {{0}}, grads[MAX_OPERANDS];
    Node n = derived_node(l->n, nx, ny);
    const Step *first = lower_again(l, &n, y);
    if (l->failed || l->state->failed)
        return;
    if (!only_kernels(first)) {
        not_supported(l, "%.*s: its steps have no derivative here", STR_ARG(n.op));
        return;
    }
    for (uint32_t i = 0; i < l->n->nout; i++)
        x[i] = has_output(l, i) ? input(l, i) : (Tensor){0};
    for (uint32_t o = 0; o < ny; o++)
        if (y[o].buffer && has_input(l, nx + ny + o)) {
            y[nseeds] = y[o];
            seeds[nseeds++] = input(l, nx + ny + o);
        }
    AdjointEnds ends = {nseeds, y, seeds, l->n->nout, x};
    if (!adjoint_of_part(l, first, &ends, grads))
        return;
    for (uint32_t i = 0; i < l->n->nout; i++)
        if (has_output(l, i))
            store_bar(l, output(l, i), grads[i]);
}

// ---- sums --------------------------------------------------------------------------------------

static void infer_total(Infer *s)
{
    same_as_0(s);
    infer_dtype_of(s, 0, 0);
}

static void lower_total(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK];
    kernel(l, "total");
    par_all(l, y, o);
    const Expr *sum = NULL;
    for (uint32_t i = 0; i < l->n->nin; i++) {
        Tensor x = input(l, i);
        if (x.rank != y.rank || x.dtype != y.dtype) {
            lower_unfit(l, "operands of one shape are expected");
            break;
        }
        const Expr *e = load(l, x, o);
        sum = sum ? add(l, sum, e) : e;
    }
    store(l, y, o, sum ? sum : zero(l, y.dtype));
    kernel_end(l);
}

// ---- nodes taken as a whole --------------------------------------------------------------------

static const Expr *size_of(Lower *l, Tensor x)
{
    return from_index(l, ix_max(l, ix_product(l, x.rank, x.dims), ix(l, 1)), DT_F64);
}

// 2^-20 of the root of the mean square, in a buffer of one number.
static Tensor step_of(Lower *l, Tensor x)
{
    Tensor h = temp(l, "nudge", DT_F64, 0, NULL);
    Index at[MAX_RANK];
    kernel(l, "nudge_size");
    for (uint32_t k = 0; k < x.rank; k++)
        at[k] = red(l, x.dims[k]);
    const Expr *e = load(l, x, at);
    const Expr *sum = x.rank ? reduce_add(l, x.rank, at, NULL, mul(l, e, e)) : mul(l, e, e);
    const Expr *size = sqrt_(l, div_(l, sum, size_of(l, x)));
    const Expr *least = num(l, DT_F64, 1e-30);
    store(l, h, NULL, mul(l, max_(l, size, least), num(l, DT_F64, 0x1p-20)));
    kernel_end(l);
    return h;
}

static void lower_nudge(Lower *l)
{
    Tensor x = input(l, 0), probe = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK];
    if (x.dtype != DT_F64 || !is_probe(probe)) {
        lower_unfit(l, "a float64 operand and a probe are expected");
        return;
    }
    Tensor h = step_of(l, x);
    kernel(l, "nudge");
    par_all(l, y, o);
    Index place = ix_linear(l, y.rank, y.dims, o);
    uint32_t salt = (uint32_t)node_int(l->n, "salt", 0);
    const Expr *sign = sign_at(l, place, probe_at(l, probe, 2), salt, DT_F64);
    store(l, y, o, add(l, load(l, x, o), mul(l, load(l, h, NULL), sign)));
    kernel_end(l);
}

static void infer_follow(Infer *s)
{
    same_as_0(s);
    infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_F32));
}

// sum over the results of bar . (y' - y)
static const Expr *followed(Lower *l, uint32_t i)
{
    Tensor bar = input(l, i), moved = input(l, i + 1), y = input(l, i + 2);
    Index at[MAX_RANK];
    if (bar.rank != y.rank || moved.rank != y.rank || y.dtype != DT_F64 || moved.dtype != DT_F64) {
        lower_unfit(l, "an adjoint and two results are expected");
        return zero(l, DT_F64);
    }
    for (uint32_t k = 0; k < y.rank; k++)
        at[k] = red(l, y.dims[k]);
    const Expr *difference = sub(l, load(l, moved, at), load(l, y, at));
    const Expr *term = mul(l, cast(l, DT_F64, load(l, bar, at)), difference);
    return y.rank ? reduce_add(l, y.rank, at, NULL, term) : term;
}

static void lower_follow(Lower *l)
{
    Tensor x = input(l, 0), probe = input(l, 1), y = output(l, 0);
    Tensor size = temp(l, "follow", DT_F64, 0, NULL);
    Index o[MAX_RANK];
    if (x.dtype != DT_F64 || !is_probe(probe) || l->n->nin < 5 || (l->n->nin - 2) % 3 != 0) {
        lower_unfit(l, "an operand, a probe, adjoints and results are expected");
        return;
    }
    Tensor h = step_of(l, x);
    kernel(l, "follow_size");
    const Expr *sum = NULL;
    for (uint32_t i = 2; i + 2 < l->n->nin; i += 3) {
        const Expr *e = followed(l, i);
        sum = sum ? add(l, sum, e) : e;
    }
    const Expr *all = mul(l, load(l, h, NULL), sqrt_(l, size_of(l, x)));
    store(l, size, NULL, div_(l, sum, all));
    kernel_end(l);
    kernel(l, "follow");
    par_all(l, y, o);
    Index place = ix_linear(l, y.rank, y.dims, o);
    uint32_t salt = (uint32_t)node_int(l->n, "salt", 0);
    const Expr *sign = sign_at(l, place, probe_at(l, probe, 2), salt, DT_F64);
    store(l, y, o, cast(l, y.dtype, mul(l, load(l, size, NULL), sign)));
    kernel_end(l);
}

// ---- numbers -----------------------------------------------------------------------------------

static void infer_sense(Infer *s)
{
    Index dims[1] = {poly_const(s->polys, SENS_FIELDS)};
    infer_dtype(s, 0, DT_F64);
    infer_shape(s, 0, 1, dims);
}

static bool is_plain_float(DType t)
{
    return t == DT_F32 || t == DT_F64 || t == DT_F16 || t == DT_BF16;
}

static void lower_sense(Lower *l)
{
    Tensor reads[4] = {{0}}, y = output(l, 0);
    uint32_t n = l->n->nin;
    Index numbers[3] = {ix(l, node_int(l->n, "bar", 0)), ix(l, node_int(l->n, "made", 0)),
                        ix(l, node_int(l->n, "exact", 0))};
    bool fits = n >= 1 && n <= 4;
    for (uint32_t i = 0; fits && i < n; i++) {
        reads[i] = input(l, i);
        fits = reads[i].buffer != 0 && is_plain_float(reads[i].dtype);
    }
    if (fits)
        step_call(l, "sense", n, reads, 1, &y, 3, numbers);
    else
        lower_unfit(l, "a value and its adjoint are expected");
}

static void infer_margin(Infer *s)
{
    Index dims[1] = {poly_const(s->polys, MARGIN_FIELDS)};
    infer_dtype(s, 0, DT_F64);
    infer_shape(s, 0, 1, dims);
}

static void lower_margin(Lower *l)
{
    Tensor reads[2] = {input(l, 0), input(l, 1)}, y = output(l, 0);
    int64_t axis = node_int(l->n, "axis", 0), kind = node_int(l->n, "kind", 0);
    Index numbers[2] = {ix(l, kind), ix(l, axis)};
    bool fits = is_plain_float(reads[0].dtype) && reads[0].buffer && axis >= 0 &&
                (kind < MARGIN_GREATEST || (uint64_t)axis < reads[0].rank) &&
                (!reads[1].buffer || reads[1].dtype == DT_I64);
    if (fits)
        step_call(l, "margin", reads[1].buffer ? 2 : 1, reads, 1, &y, 2, numbers);
    else
        lower_unfit(l, "floats that something is decided by are expected");
}

const OpDef ops_sensitivity[] = {
    {PROBE_OP, 1, infer_probe, lower_probe, {NULL}, SHADOW_DOMAIN},
    {BACK_OP, 1, infer_back, lower_back, {NULL}, SHADOW_DOMAIN},
    {TOTAL_OP, 1, infer_total, lower_total, {NULL}, SHADOW_DOMAIN},
    {NUDGE_OP, 1, infer_total, lower_nudge, {NULL}, SHADOW_DOMAIN},
    {FOLLOW_OP, 1, infer_follow, lower_follow, {NULL}, SHADOW_DOMAIN},
    {SENSE_OP, 1, infer_sense, lower_sense, {NULL}, SHADOW_DOMAIN},
    {MARGIN_OP, 1, infer_margin, lower_margin, {NULL}, SHADOW_DOMAIN},
    {0},
};
