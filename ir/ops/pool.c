// Pooling: windows that keep the greatest element, the mean or a norm.

#include "ir/ops/microsoft.h"
#include "ir/ops/window.h"

#include <string.h>

static bool pool_window(Polys *p, const Node *n, uint32_t rank, const Index *x, Window *w,
                        const char **fault)
{
    const int64_t *at;
    uint32_t len;
    Index size[MAX_RANK] = {0};
    *fault = "kernel_shape";
    if (!node_ints(n, "kernel_shape", &at, &len) || len != rank - 2)
        return false;
    for (uint32_t i = 0; i < len; i++) {
        if (at[i] < 1 || at[i] > INT32_MAX)
            return false;
        size[i] = poly_const(p, at[i]);
    }
    return window_of(p, n, len, x + 2, size, w, fault);
}

bool infer_pool_of(Infer *s, uint32_t rank, const Index *x, Index *y)
{
    Window w;
    const char *fault;
    if (!pool_window(s->polys, s->n, rank, x, &w, &fault)) {
        infer_error(s, "attribute %s does not fit", fault);
        return false;
    }
    y[0] = x[0];
    y[1] = x[1];
    memcpy(y + 2, w.out, w.rank * sizeof *y);
    return true;
}

static void infer_pool(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 3 || !infer_pool_of(s, (uint32_t)x->rank, x->dims, dims))
        return;
    infer_shape(s, 0, (uint32_t)x->rank, dims);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
}

// Opens a kernel of windows over the spatial dims from..to of x, and gives the taps' places and
// their guard. A window of one element is no reduction.
static void open_taps(Lower *l, const Window *w, Tensor x, Tensor y, uint32_t from, uint32_t to,
                      Index *o, Index *at, Index *vars, const Expr **where)
{
    *where = NULL;
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    memcpy(at, o, y.rank * sizeof *at);
    for (uint32_t i = from; i < to; i++) {
        vars[i] = poly_equals(w->size[i], 1) ? ix(l, 0) : red(l, w->size[i]);
        at[i + 2] = window_at(l, w, i, o[i + 2], vars[i]);
        *where = both(l, *where, inside(l, at[i + 2], x.dims[i + 2]));
    }
}

static bool pool_of(Lower *l, Window *w)
{
    const char *fault;
    bool fits = pool_window(l->polys, l->n, input(l, 0).rank, input(l, 0).dims, w, &fault);
    if (!fits)
        not_supported(l, "attribute %s", fault);
    return fits;
}

// Opens the node's kernel.
static bool open_window(Lower *l, Window *w, Index *o, Index *at, Index *vars, const Expr **where)
{
    if (!pool_of(l, w))
        return false;
    open_taps(l, w, input(l, 0), output(l, 0), 0, w->rank, o, at, vars, where);
    return true;
}

// The linear place of the greatest element: the window is walked in order, the first of equals
// stays.
static void lower_max_indices(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 1);
    Window w;
    const char *fault;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, tap[MAX_RANK] = {0}, line[MAX_RANK] = {0},
          dims[MAX_RANK] = {0};
    bool column_major = node_int(l->n, "storage_order", 0) != 0;
    if (!pool_window(l->polys, l->n, x.rank, x.dims, &w, &fault))
        return;
    kernel(l, "max_pool_indices");
    par_all(l, y, o);
    LocalId best = row(l, x.dtype, 0, NULL), place = row(l, DT_I64, 0, NULL);
    set(l, place, NULL, int_(l, DT_I64, -1));
    set(l, best, NULL, zero(l, x.dtype));
    at[0] = o[0];
    at[1] = o[1];
    const Expr *where = NULL;
    for (uint32_t i = 0; i < w.rank; i++) {
        tap[i] = seq(l, w.size[i]);
        at[i + 2] = window_at(l, &w, i, o[i + 2], tap[i]);
        where = both(l, where, inside(l, at[i + 2], x.dims[i + 2]));
    }
    if (where)
        if_(l, where);
    const Expr *e = load(l, x, at), *first = lt(l, get(l, place, NULL), zero(l, DT_I64));
    if_(l, or_(l, first, lt(l, get(l, best, NULL), e)));
    for (uint32_t i = 0; i < x.rank; i++) { // the spatial part reversed where columns come first
        uint32_t from = column_major && i >= 2 ? x.rank + 1 - i : i;
        line[i] = at[from];
        dims[i] = x.dims[from];
    }
    set(l, best, NULL, e);
    set(l, place, NULL, from_index(l, ix_linear(l, x.rank, dims, line), DT_I64));
    end(l);
    if (where)
        end(l);
    for (uint32_t i = 0; i < w.rank; i++)
        end(l);
    store(l, y, o, get(l, place, NULL));
    kernel_end(l);
}

static void max_over(Lower *l, const Window *w, Tensor x, Tensor y, uint32_t from, uint32_t to)
{
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    const Expr *where;
    open_taps(l, w, x, y, from, to, o, at, vars, &where);
    store(l, y, o, reduce(l, R_MAX, to - from, vars + from, where, load(l, x, at)));
    kernel_end(l);
}

// Is the greatest of a window taken of its planes first? Not where some planes are in no window.
static bool by_planes(const Window *w)
{
    bool wide = w->rank == 3 && !(poly_equals(w->size[1], 1) && poly_equals(w->size[2], 1));
    int64_t depth = 0;
    return wide && poly_is_const(w->size[0], &depth) && depth > 1 && w->stride[0] <= depth &&
           w->dilation[0] == 1;
}

static void lower_max_pool(Lower *l)
{
    Window w;
    Tensor x = input(l, 0), y = output(l, 0);
    if (!pool_of(l, &w))
        return;
    bool planes = by_planes(&w);
    if (planes) { // of which each is in several windows, and known how to walk
        Index dims[5];
        memcpy(dims, y.dims, sizeof dims);
        dims[2] = x.dims[2];
        x = temp(l, "planes", x.dtype, 5, dims);
        max_over(l, &w, input(l, 0), x, 1, 3);
    }
    max_over(l, &w, x, y, 0, planes ? 1 : w.rank);
    if (has_output(l, 1))
        lower_max_indices(l);
}

// How many taps lie inside what counts: the input, or the input with its padding
// (count_include_pad).
static const Expr *tap_count(Lower *l, const Window *w, const Index *o, DType t)
{
    Tensor x = input(l, 0);
    bool padded = node_int(l->n, "count_include_pad", 0) != 0;
    const int64_t *pads;
    uint32_t npads;
    bool has_pads = node_ints(l->n, "pads", &pads, &npads) && npads == 2 * w->rank;
    const Expr *count = one(l, t);
    for (uint32_t i = 0; i < w->rank; i++) {
        Index v = red(l, w->size[i]), at = window_at(l, w, i, o[i + 2], v), limit = x.dims[i + 2];
        const Expr *where = NULL;
        if (padded) { // a window of ceil_mode may reach beyond the padding behind
            limit =
                has_pads ? ix_addc(l, limit, pads[w->rank + i]) : ix_add(l, limit, w->before[i]);
            where = poly_less(l->polys, at, limit) ? NULL : index_lt(l, at, limit);
            if (!has_pads && !str_is(node_str(l->n, "auto_pad", "NOTSET"), "NOTSET"))
                where = NULL;
        } else {
            where = inside(l, at, limit);
        }
        count = mul(l, count,
                    where ? reduce_add(l, 1, &v, where, one(l, t)) : from_index(l, w->size[i], t));
    }
    return count;
}

static void lower_average_pool(Lower *l)
{
    Window w;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    const Expr *where;
    Tensor x = input(l, 0), y = output(l, 0);
    DType t = accumulator(x.dtype);
    if (!open_window(l, &w, o, at, vars, &where))
        return;
    const Expr *sum = reduce_add(l, w.rank, vars, where, cast(l, t, load(l, x, at)));
    store(l, y, o, cast(l, y.dtype, div_(l, sum, tap_count(l, &w, o, t))));
    kernel_end(l);
}

static const Expr *power(Lower *l, const Expr *e, int64_t p)
{
    e = abs_(l, e);
    return p == 1 ? e : p == 2 ? mul(l, e, e) : pow_(l, e, num(l, e->dtype, (double)p));
}

static const Expr *root(Lower *l, const Expr *e, int64_t p)
{
    return p == 1 ? e : p == 2 ? sqrt_(l, e) : pow_(l, e, num(l, e->dtype, 1.0 / (double)p));
}

static void lower_lp_pool(Lower *l)
{
    Window w;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    const Expr *where;
    Tensor x = input(l, 0), y = output(l, 0);
    int64_t p = node_int(l->n, "p", 2);
    DType t = accumulator(x.dtype);
    if (!open_window(l, &w, o, at, vars, &where))
        return;
    store(l, y, o,
          cast(l, y.dtype,
               root(l, reduce_add(l, w.rank, vars, where, power(l, cast(l, t, load(l, x, at)), p)),
                    p)));
    kernel_end(l);
}

// ---- global pools

static void infer_global(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 2)
        return;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i < 2 ? x->dims[i] : poly_const(s->polys, 1);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

typedef enum GlobalKind { GLOBAL_MAX, GLOBAL_AVERAGE, GLOBAL_LP } GlobalKind;

static void lower_global(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    GlobalKind kind = (GlobalKind)l->n->def->fn.mode;
    DType t = accumulator(x.dtype);
    int64_t p = node_int(l->n, "p", 2);
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    at[0] = o[0];
    at[1] = o[1];
    for (uint32_t i = 2; i < x.rank; i++)
        at[i] = red(l, x.dims[i]);
    const Expr *e = cast(l, t, load(l, x, at));
    e = kind == GLOBAL_LP ? power(l, e, p) : e;
    e = reduce(l, kind == GLOBAL_MAX ? R_MAX : R_ADD, x.rank - 2, at + 2, NULL, e);
    if (kind == GLOBAL_AVERAGE)
        e = div_(l, e, from_index(l, ix_product(l, x.rank - 2, x.dims + 2), t));
    store(l, y, o, cast(l, y.dtype, kind == GLOBAL_LP ? root(l, e, p) : e));
    kernel_end(l);
}

const OpDef ops_pool[] = {
    {"MaxPool", 1, infer_pool, lower_max_pool, {NULL}, NULL},
    {"AveragePool", 1, infer_pool, lower_average_pool, {NULL}, NULL},
    {"LpPool", 2, infer_pool, lower_lp_pool, {NULL}, NULL},
    {"GlobalMaxPool", 1, infer_global, lower_global, {.mode = GLOBAL_MAX}, NULL},
    {"GlobalAveragePool", 1, infer_global, lower_global, {.mode = GLOBAL_AVERAGE}, NULL},
    {"GlobalLpPool", 2, infer_global, lower_global, {.mode = GLOBAL_LP}, NULL},
    {0},
};
