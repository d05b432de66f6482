// Pad: constant, edge, reflect and wrap, with pads for all dims or for listed axes; negative pads
// crop.

#include "ir/ops/common.h"

#include <string.h>

// Pads in front of and behind each dim; data dims where they are known only when the program runs.
typedef struct Pads {
    Index before[MAX_RANK], after[MAX_RANK];
} Pads;

// The position of dim i among the axes, i itself without axes, -1 if it is not padded.
static int pad_slot(const Index *axes, uint32_t naxes, uint32_t i, uint32_t rank)
{
    if (!axes)
        return (int)i;
    for (uint32_t k = 0; k < naxes; k++) {
        int64_t a;
        if (poly_is_const(axes[k], &a) && (a < 0 ? a + rank : a) == i)
            return (int)k;
    }
    return -1;
}

static bool are_known(const Index *axes, uint32_t n)
{
    for (uint32_t k = 0; axes && k < n; k++)
        if (!poly_is_const(axes[k], NULL))
            return false;
    return axes != NULL;
}

static bool pads_of(Infer *s, uint32_t rank, Pads *p)
{
    const int64_t *ints;
    uint32_t n, naxes = 0;
    const Index *content = infer_content(s, 1, &n), *axes = infer_content(s, 3, &naxes);
    bool attr = !infer_in(s, 1) &&
                (node_ints(s->n, "pads", &ints, &n) || node_ints(s->n, "paddings", &ints, &n));
    if ((!content && !attr) || (infer_in(s, 3) && !are_known(axes, naxes)) ||
        n != 2 * (axes ? naxes : rank))
        return false;
    for (uint32_t k = 0; k < naxes; k++) {
        int64_t a = 0;
        if (poly_is_const(axes[k], &a) && infer_axis(s, a, rank) < 0)
            return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        int k = pad_slot(axes, naxes, i, rank);
        p->before[i] = k < 0     ? poly_const(s->polys, 0)
                       : content ? content[k]
                                 : poly_const(s->polys, ints[k]);
        p->after[i] = k < 0     ? poly_const(s->polys, 0)
                      : content ? content[k + n / 2]
                                : poly_const(s->polys, ints[k + n / 2]);
    }
    return true;
}

// Two pads for each axis that is padded, and each axis a dim of x.
static bool pads_fit(Infer *s, int32_t rank)
{
    const int64_t *ints;
    uint32_t n, naxes = 0;
    int64_t a;
    const Value *list = infer_in(s, 3);
    const Index *axes = infer_content(s, 3, &naxes);
    for (uint32_t i = 0; axes && i < naxes; i++)
        if (poly_is_const(axes[i], &a) && infer_axis(s, a, rank) < 0)
            return false;
    bool counted = !list || axes;
    Index want = poly_const(s->polys, 2 * (int64_t)(axes ? naxes : (uint32_t)rank));
    if (counted)
        infer_fits(s, 1, 1, &want);
    bool attr = node_ints(s->n, "pads", &ints, &n) || node_ints(s->n, "paddings", &ints, &n);
    if (!infer_in(s, 1) && (!attr || n != 2 * (uint32_t)rank)) {
        infer_error(s, "there are not two pads for each of %d dimensions", rank);
        return false;
    }
    return !s->failed;
}

static void infer_pad(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Pads p;
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 0 || x->rank > MAX_RANK)
        return;
    if (!pads_fit(s, x->rank))
        return;
    bool known = pads_of(s, (uint32_t)x->rank, &p);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = known
                      ? poly_add(s->polys, x->dims[i], poly_add(s->polys, p.before[i], p.after[i]))
                      : infer_data_dim(s, 0, (uint32_t)i, "padded");
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// Pads of axes that only the program knows, gathered for all dims.
static bool pads_by_axes(Lower *l, Tensor x, Pads *p)
{
    Tensor pads = input(l, 1), axes = input(l, 3);
    Index size = ix(l, 2 * (int64_t)x.rank), at;
    if (axes.rank != 1 || pads.rank != 1) {
        not_supported(l, "Pad with pads or axes of another rank than 1");
        return false;
    }
    Index n = axes.dims[0];
    check(l, index_eq(l, pads.dims[0], ix_scale(l, n, 2)), "Pad: there are not two pads an axis");
    check_axes(l, axes, x.rank);
    Tensor all = temp(l, "pads", DT_I64, 1, &size);
    kernel(l, "pads");
    for (uint32_t i = 0; i < 2 * x.rank; i++) {
        Index k = red(l, n), from = i < x.rank ? k : ix_add(l, k, n);
        const Expr *mine = axis_is(l, load(l, axes, &k), i % x.rank, x.rank);
        at = ix(l, i);
        store(l, all, &at, reduce_add(l, 1, &k, mine, cast(l, DT_I64, load(l, pads, &from))));
    }
    kernel_end(l);
    for (uint32_t i = 0; i < x.rank; i++) {
        Index before = ix(l, i), after = ix(l, i + x.rank);
        p->before[i] = to_index(l, load(l, all, &before));
        p->after[i] = to_index(l, load(l, all, &after));
    }
    return true;
}

// No tensor is that long: sums of such pads and of sizes stay within int64.
static void check_pad(Lower *l, Index pad)
{
    const Expr *most = int_(l, DT_I64, (int64_t)1 << 40), *e = expr_index(l->module, pad);
    check(l, and_(l, le(l, neg(l, most), e), le(l, e, most)), "Pad: a pad is out of range");
}

static bool runtime_pads(Lower *l, Tensor x, Pads *p)
{
    uint32_t naxes = 0;
    const Value *v = has_input(l, 3) ? value_at(l->model, l->n->in[3]) : NULL;
    const Index *axes = v ? v->content : NULL;
    if (!has_input(l, 1)) {
        not_supported(l, "Pad without pads");
        return false;
    }
    if (v && !are_known(axes, v->ncontent))
        return pads_by_axes(l, x, p);
    naxes = v ? v->ncontent : x.rank;
    if (input(l, 1).rank == 1)
        check(l, index_eq(l, input(l, 1).dims[0], ix(l, 2 * (int64_t)naxes)),
              "Pad: there are not two pads an axis");
    for (uint32_t i = 0; i < x.rank; i++) {
        int k = pad_slot(axes, naxes, i, x.rank);
        p->before[i] = k < 0 ? ix(l, 0) : input_element(l, 1, (uint32_t)k);
        p->after[i] = k < 0 ? ix(l, 0) : input_element(l, 1, (uint32_t)k + naxes);
        check_pad(l, p->before[i]);
        check_pad(l, p->after[i]);
    }
    return true;
}

static const Expr *pad_value(Lower *l, DType t)
{
    if (has_input(l, 2)) {
        Tensor v = input(l, 2);
        Index at[MAX_RANK] = {0};
        for (uint32_t i = 0; i < v.rank; i++)
            at[i] = ix(l, 0);
        return load(l, v, at);
    }
    return attr_num(l, t, "value", 0);
}

// Where a place outside reads from: the edge, or the mirror image (period 2n - 2), or one period
// on.
static Index outside(Lower *l, Str mode, Index i, Index n, Index before, Index after)
{
    int64_t size, front, back;
    if (str_is(mode, "edge"))
        return ix_min(l, ix_max(l, i, ix(l, 0)), ix_addc(l, n, -1));
    if (str_is(mode, "wrap"))
        return ix_mod(l, i, n);
    Index period = ix_max(l, ix_addc(l, ix_scale(l, n, 2), -2), ix(l, 1));
    Index distance = ix_max(l, i, ix_sub(l, ix(l, 0), i));
    if (!poly_is_const(n, &size) || !poly_is_const(before, &front) ||
        !poly_is_const(after, &back) || front >= size || back >= size)
        distance = ix_mod(l, distance, period); // there may be more than a reflection at either end
    return ix_min(l, distance, ix_sub(l, period, distance));
}

static void pad_kernel(Lower *l, Str mode, const Pads *p)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    const Expr *where = NULL;
    bool fixed = str_is(mode, "constant");
    kernel(l, "pad");
    for (uint32_t i = 0; i < y.rank; i++) { // in words of x, so that the cuts of parts.c are seen
        Index n = ix_add(l, x.dims[i], ix_add(l, p->before[i], p->after[i]));
        n = poly_varies(n) ? y.dims[i] : n;
        o[i] = poly_equals(n, 1) ? ix(l, 0) : par(l, n);
        at[i] = ix_sub(l, o[i], p->before[i]);
        if (fixed)
            where = both(l, where, inside(l, at[i], x.dims[i]));
        else if (!poly_equals(p->before[i], 0) || !poly_equals(p->after[i], 0))
            at[i] = outside(l, mode, at[i], x.dims[i], p->before[i], p->after[i]);
    }
    const Expr *e = load(l, x, at);
    store(l, y, o, where ? select_(l, where, e, pad_value(l, y.dtype)) : e);
    kernel_end(l);
}

// A pad that is read from data as it mostly is: none of a batch and its channels, which may be 1
// and have no mirror image then, else a dim.
static Index usual_pad(Lower *l, Index pad, bool none, const Expr **where)
{
    const Expr *zero = int_(l, DT_I64, 0),
               *e = poly_varies(pad) ? expr_index(l->module, pad) : NULL;
    if (!e)
        return pad;
    *where = both(l, *where, le(l, zero, e));
    if (none) {
        *where = both(l, *where, le(l, e, zero));
        return ix(l, 0);
    }
    Index dim = poly_dim(l->polys, dim_new(l->polys, STR("pad"), 0));
    define_dim(l, dim, ix_max(l, pad, ix(l, 0)));
    return dim;
}

static void lower_pad(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Pads p;
    Str mode = node_str(l->n, "mode", "constant");
    bool fixed = str_is(mode, "constant");
    const Expr *where = NULL;
    if (!fixed && !str_is(mode, "edge") && !str_is(mode, "reflect") && !str_is(mode, "wrap")) {
        not_supported(l, "Pad with mode \"%.*s\"", STR_ARG(str_escaped(l->arena, mode)));
        return;
    }
    if (!pads_of(&s, x.rank, &p) && !runtime_pads(l, x, &p))
        return;
    for (uint32_t i = 0; i < y.rank; i++)
        define_dim(l, y.dims[i], ix_add(l, x.dims[i], ix_add(l, p.before[i], p.after[i])));
    Pads dims = p;
    for (uint32_t i = 0; i < y.rank && !fixed; i++) {
        const bool none = i < 2 && i + 1 < y.rank;
        dims.before[i] = usual_pad(l, p.before[i], none, &where);
        dims.after[i] = usual_pad(l, p.after[i], none, &where);
    }
    if (where) // places are made of dims then, and their loops may be cut
        step_if(l, where);
    pad_kernel(l, mode, &dims);
    if (where) {
        step_else(l);
        pad_kernel(l, mode, &p);
        step_end(l);
    }
}

const OpDef ops_pad[] = {
    {"Pad", 1, infer_pad, lower_pad, {NULL}, NULL},
    {0},
};
