// Operators about shapes, and tensors made from nothing else: Shape, Size, ConstantOfShape, Range,
// NonZero.

#include "ir/ops/common.h"

#include <math.h>
#include <string.h>

// Shape-15: dims start..end-1, both clamped.
static void shape_bounds(const Node *n, int64_t rank, int64_t *from, int64_t *to)
{
    *from = node_int(n, "start", 0);
    *to = node_has_attr(n, "end") ? node_int(n, "end", rank) : rank;
    *from += *from < 0 ? rank : 0;
    *to += *to < 0 ? rank : 0;
    *from = *from < 0 ? 0 : *from > rank ? rank : *from;
    *to = *to < *from ? *from : *to > rank ? rank : *to;
}

static void infer_shape_of(Infer *s)
{
    const Value *x = infer_in(s, 0);
    int64_t from, to;
    if (!x || x->rank < 0)
        return;
    shape_bounds(s->n, x->rank, &from, &to);
    Index n = poly_const(s->polys, to - from);
    infer_shape(s, 0, 1, &n);
    infer_set_content(s, 0, (uint32_t)(to - from), x->dims + from);
}

static void lower_shape_of(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    int64_t from, to;
    shape_bounds(l->n, x.rank, &from, &to);
    kernel(l, "shape");
    for (int64_t i = from; i < to; i++) {
        Index at[1] = {ix(l, i - from)};
        store(l, y, at, from_index(l, x.dims[i], DT_I64));
    }
    kernel_end(l);
}

static void infer_size(Infer *s)
{
    const Value *x = infer_in(s, 0);
    infer_shape(s, 0, 0, NULL);
    if (!x || x->rank < 0)
        return;
    Index n = poly_const(s->polys, 1);
    for (int32_t i = 0; i < x->rank; i++)
        n = poly_mul(s->polys, n, x->dims[i]);
    infer_set_content(s, 0, 1, &n);
}

static void lower_size(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    kernel(l, "size");
    store(l, y, NULL, from_index(l, ix_product(l, x.rank, x.dims), DT_I64));
    kernel_end(l);
}

// ---- ConstantOfShape

// A shape given as a tensor: known dims, or data dims of output 0.
static void shape_from_input(Infer *s, uint32_t i)
{
    uint32_t n = 0;
    int64_t rank;
    Index dims[MAX_RANK] = {0};
    const Index *content = infer_content(s, i, &n);
    if (content && n <= MAX_RANK) {
        infer_shape(s, 0, n, content);
    } else if (infer_rank(s, i) == 1 && poly_is_const(infer_dim(s, i, 0), &rank) &&
               rank <= MAX_RANK) {
        for (int64_t k = 0; k < rank; k++)
            dims[k] = infer_data_dim(s, 0, (uint32_t)k, "shape");
        infer_shape(s, 0, (uint32_t)rank, dims);
    }
}

static void infer_constant_of_shape(Infer *s)
{
    const Attr *a = attr_find(s->n, "value");
    const Index *dims = NULL;
    uint32_t n = 0;
    int64_t k;
    DType t = a && a->t ? (DType)a->t->dtype : DT_F32;
    if (a && a->t && tensor_count(a->t) != 1) {
        infer_error(s, "value has not one element");
        return;
    }
    infer_dtype(s, 0, t);
    if (s->failed)
        return;
    shape_from_input(s, 0);
    dims = infer_content(s, 0, &n);
    // Small integer vectors take part in shape arithmetic.
    Str error;
    if (!dims || n > 1 || !dtype_is_integer(t) ||
        (n == 1 && (!poly_is_const(dims[0], &k) || k > 64 || k < 0)))
        return;
    const void *at = a && a->t ? tensor_elements(s->model, a->t, &error) : NULL;
    Index all[64] = {0};
    for (int64_t i = 0; i < (n ? k : 1); i++)
        all[i] = poly_const(s->polys, at ? scalar_load(t, at).i : 0);
    infer_set_content(s, 0, (uint32_t)(n ? k : 1), all);
}

static void lower_constant_of_shape(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    Str error;
    const Attr *a = attr_find(l->n, "value");
    const void *at = a && a->t ? tensor_elements(l->model, a->t, &error) : NULL;
    for (uint32_t i = 0; i < y.rank; i++)
        define_dim(l, y.dims[i], input_element(l, 0, i));
    kernel(l, "constant_of_shape");
    par_all(l, y, o);
    store(l, y, o,
          at ? expr_const(l->module, y.dtype, scalar_load(y.dtype, at)) : zero(l, y.dtype));
    kernel_end(l);
}

// ---- Range

static void infer_range(Infer *s)
{
    uint32_t nstart = 0, nlimit = 0, ndelta = 0;
    int64_t step = 0, count;
    const TensorData *data[3];
    const Index *start = infer_content(s, 0, &nstart), *limit = infer_content(s, 1, &nlimit),
                *delta = infer_content(s, 2, &ndelta);
    Index len = NULL, unit = poly_const(s->polys, 1);
    if (!infer_in(s, 2)) { // com.microsoft may leave it out
        delta = &unit;
        ndelta = 1;
    }
    bool known = start && nstart && limit && nlimit && delta && ndelta;
    if (known && poly_is_const(delta[0], &step) && step != 0 && step != INT64_MIN) {
        Index span = step > 0 ? poly_sub(s->polys, limit[0], start[0])
                              : poly_sub(s->polys, start[0], limit[0]);
        len = poly_max(s->polys, poly_const(s->polys, 0),
                       poly_ceildiv(s->polys, span, poly_const(s->polys, step > 0 ? step : -step)));
    } else {
        const void *a = infer_constant(s, 0, &data[0]), *b = infer_constant(s, 1, &data[1]),
                   *d = infer_constant(s, 2, &data[2]);
        DType t = a ? (DType)data[0]->dtype : DT_NONE;
        if (a && b && d && dtype_is_float(t) && data[1]->dtype == data[0]->dtype &&
            data[2]->dtype == data[0]->dtype) {
            double steps = ceil((scalar_load(t, b).f - scalar_load(t, a).f) / scalar_load(t, d).f);
            if (steps <= 1e15)
                len = poly_const(s->polys, steps > 0 ? (int64_t)steps : 0);
        }
    }
    if (!len)
        len = infer_data_dim(s, 0, 0, "range");
    infer_shape(s, 0, 1, &len);
    if (known && step && poly_is_const(len, &count) && count <= 256) {
        Index all[256] = {0};
        for (int64_t i = 0; i < count; i++)
            all[i] = poly_add_const(s->polys, start[0], i * step);
        infer_set_content(s, 0, (uint32_t)count, all);
    }
}

static const Expr *scalar_of(Lower *l, uint32_t i)
{
    Tensor t = input(l, i);
    Index at[MAX_RANK] = {0};
    for (uint32_t k = 0; k < t.rank; k++)
        at[k] = ix(l, 0);
    return load(l, t, at);
}

static void lower_range(Lower *l)
{
    Tensor y = output(l, 0);
    const Expr *start = scalar_of(l, 0), *limit = scalar_of(l, 1),
               *delta = has_input(l, 2) ? scalar_of(l, 2) : one(l, y.dtype);
    DType wide = dtype_is_float(y.dtype) ? DT_F64 : DT_I64;
    const Expr *a = cast(l, wide, start), *b = cast(l, wide, limit), *d = cast(l, wide, delta),
               *z = zero(l, wide), *count;
    if (wide == DT_F64) {
        count = cast(l, DT_I64, unary(l, U_CEIL, div_(l, sub(l, b, a), d)));
    } else {
        const Expr *up = lt(l, z, d), *size = unary(l, U_ABS, d),
                   *span = select_(l, up, sub(l, b, a), sub(l, a, b));
        count = div_(l, sub(l, add(l, span, size), one(l, DT_I64)), size);
        count = select_(l, lt(l, z, span), count, zero(l, DT_I64));
    }
    check(l, ne(l, d, z), "Range: delta is 0");
    define_dim(l, y.dims[0], to_index(l, max_(l, count, zero(l, DT_I64))));
    kernel(l, "range");
    Index i = par(l, y.dims[0]), at[1] = {i};
    store(l, y, at, add(l, start, mul(l, from_index(l, i, y.dtype), delta)));
    kernel_end(l);
}

// ---- NonZero, Compress

static void infer_nonzero(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0)
        return;
    Index dims[2] = {poly_const(s->polys, x->rank ? x->rank : 1),
                     infer_data_dim(s, 0, 1, "nonzero")};
    infer_shape(s, 0, 2, dims);
}

// A counter kept from one statement to the next, in a buffer of one int64.
static Tensor counter(Lower *l, const char *name)
{
    Index at[1] = {ix(l, 0)}, dims[1] = {ix(l, 1)};
    Tensor t = temp(l, name, DT_I64, 1, dims);
    kernel(l, name);
    store(l, t, at, zero(l, DT_I64));
    kernel_end(l);
    return t;
}

static void lower_nonzero(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, zero_at[1] = {ix(l, 0)};
    Tensor count = counter(l, "count"), next = counter(l, "next");
    for (uint32_t i = 0; i < x.rank; i++)
        vars[i] = red(l, x.dims[i]);
    kernel(l, "count_nonzero");
    const Expr *hit = ne(l, load(l, x, vars), zero(l, x.dtype));
    store(l, count, zero_at, reduce_add(l, x.rank, vars, NULL, cast(l, DT_I64, hit)));
    kernel_end(l);
    define_dim(l, y.dims[1], to_index(l, load(l, count, zero_at)));
    kernel(l, "nonzero");
    for (uint32_t i = 0; i < x.rank; i++)
        o[i] = seq(l, x.dims[i]);
    if_(l, ne(l, load(l, x, o), zero(l, x.dtype)));
    const Expr *at = let(l, load(l, next, zero_at));
    for (uint32_t i = 0; i < (x.rank ? x.rank : 1); i++) {
        Index to[2] = {ix(l, i), to_index(l, at)};
        store(l, y, to, from_index(l, x.rank ? o[i] : ix(l, 0), DT_I64));
    }
    store(l, next, zero_at, add(l, at, one(l, DT_I64)));
    kernel_end(l);
}

static void infer_compress(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    int64_t axis = 0;
    if (!x || x->rank < 0)
        return;
    if (!node_has_attr(s->n, "axis")) {
        dims[0] = infer_data_dim(s, 0, 0, "compressed");
        infer_shape(s, 0, 1, dims);
        return;
    }
    if ((axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank)) < 0)
        return;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[axis] = infer_data_dim(s, 0, (uint32_t)axis, "compressed");
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// The places of the true entries of the condition, in order; then a gather.
static void lower_compress(Lower *l)
{
    Tensor x = input(l, 0), c = input(l, 1), y = output(l, 0);
    bool flat = !node_has_attr(l->n, "axis");
    int64_t axis = flat ? 0 : node_int(l->n, "axis", 0);
    uint32_t a = (uint32_t)(axis < 0 ? axis + x.rank : axis);
    Index zero_at[1] = {ix(l, 0)},
          n = ix_min(l, c.dims[0], flat ? ix_product(l, x.rank, x.dims) : x.dims[a]), dims[1] = {n};
    Tensor count = counter(l, "count"), places = temp(l, "places", DT_I64, 1, dims);
    kernel(l, "places");
    Index i = seq(l, n), at[1] = {i};
    if_(l, load(l, c, at));
    const Expr *k = let(l, load(l, count, zero_at));
    Index to[1] = {to_index(l, k)};
    store(l, places, to, from_index(l, i, DT_I64));
    store(l, count, zero_at, add(l, k, one(l, DT_I64)));
    kernel_end(l);
    define_dim(l, y.dims[flat ? 0 : a], to_index(l, load(l, count, zero_at)));
    Index o[MAX_RANK] = {0}, from[MAX_RANK] = {0};
    kernel(l, "compress");
    par_all(l, y, o);
    Index p[1] = {o[flat ? 0 : a]}, place = to_index(l, load(l, places, p));
    if (flat) {
        ix_delinear(l, place, x.rank, x.dims, from);
    } else {
        memcpy(from, o, sizeof from);
        from[a] = place;
    }
    store(l, y, o, load(l, x, from));
    kernel_end(l);
}

// ---- EyeLike, Trilu, OneHot

static void infer_eye_like(Infer *s)
{
    if (node_has_attr(s->n, "dtype"))
        infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_F32));
    else
        infer_dtype_of(s, 0, 0);
    same_as_0(s);
}

static void lower_eye_like(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "eye_like");
    par_all(l, y, o);
    const Expr *on = index_eq(l, o[1], ix_addc(l, o[0], node_int(l->n, "k", 0)));
    store(l, y, o, select_(l, on, one(l, y.dtype), zero(l, y.dtype)));
    kernel_end(l);
}

static void lower_trilu(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, k = ix(l, 0);
    bool upper = node_int(l->n, "upper", 1) != 0;
    if (has_input(l, 1))
        k = to_index(l, expr_index(l->module, input_element(l, 1, 0)));
    kernel(l, "trilu");
    par_all(l, y, o);
    Index diagonal = ix_add(l, o[y.rank - 2], k), column = o[y.rank - 1];
    const Expr *keep = upper ? index_le(l, diagonal, column) : index_le(l, column, diagonal);
    store(l, y, o, select_(l, keep, load(l, x, o), zero(l, y.dtype)));
    kernel_end(l);
}

static void infer_one_hot(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK + 1] = {0};
    uint32_t n, from = 0;
    const TensorData *data;
    if (!x || x->rank < 0 || x->rank >= MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", -1), x->rank + 1);
    Index two = poly_const(s->polys, 2);
    infer_fits(s, 2, 1, &two);
    const Index *depth = infer_content(s, 1, &n);
    const void *at = infer_constant(s, 1, &data);
    Index d = infer_data_dim(s, 0, (uint32_t)(axis < 0 ? 0 : axis), "depth");
    if (depth && n == 1) {
        d = depth[0];
    } else if (at) {
        DType t = (DType)data->dtype;
        d = poly_const(s->polys, scalar_cast(t, DT_I64, scalar_load(t, at), true).i);
    }
    for (int32_t i = 0; axis >= 0 && i <= x->rank; i++)
        dims[i] = i == axis ? d : x->dims[from++];
    if (axis >= 0)
        infer_shape(s, 0, (uint32_t)x->rank + 1, dims);
}

// From opset 11 on a negative index counts from the end; before, it is outside: all off.
typedef enum OneHotMode { ONE_HOT_FROM_0, ONE_HOT_WRAPS } OneHotMode;

static void lower_one_hot(Lower *l)
{
    Tensor x = input(l, 0), depth = input(l, 1), values = input(l, 2), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, zero_at[MAX_RANK] = {0}, off_at[1] = {ix(l, 0)},
          on_at[1] = {ix(l, 1)};
    int64_t axis = node_int(l->n, "axis", -1);
    uint32_t a = (uint32_t)(axis < 0 ? axis + y.rank : axis), from = 0;
    for (uint32_t i = 0; i < depth.rank; i++)
        zero_at[i] = ix(l, 0);
    define_dim(l, y.dims[a], to_index(l, cast(l, DT_I64, load(l, depth, zero_at))));
    kernel(l, "one_hot");
    par_all(l, y, o);
    for (uint32_t i = 0; i < y.rank; i++)
        if (i != a)
            at[from++] = o[i];
    const Expr *k = cast(l, DT_I64, load(l, x, at)), *d = expr_index(l->module, y.dims[a]);
    if (l->n->def->fn.mode == ONE_HOT_WRAPS)
        k = select_(l, lt(l, k, zero(l, DT_I64)), add(l, k, d), k);
    store(l, y, o,
          select_(l, eq(l, k, expr_index(l->module, o[a])), load(l, values, on_at),
                  load(l, values, off_at)));
    kernel_end(l);
}

const OpDef ops_shape[] = {
    {"Shape", 1, infer_shape_of, lower_shape_of, {NULL}, NULL},
    {"Size", 1, infer_size, lower_size, {NULL}, NULL},
    {"ConstantOfShape", 9, infer_constant_of_shape, lower_constant_of_shape, {NULL}, NULL},
    {"Range", 11, infer_range, lower_range, {NULL}, NULL},
    {"Range", 1, infer_range, lower_range, {NULL}, "com.microsoft"},
    {"NonZero", 9, infer_nonzero, lower_nonzero, {NULL}, NULL},
    {"Compress", 9, infer_compress, lower_compress, {NULL}, NULL},
    {"EyeLike", 9, infer_eye_like, lower_eye_like, {NULL}, NULL},
    {"Trilu", 14, same_as_0, lower_trilu, {NULL}, NULL},
    {"Trilu", 1, same_as_0, lower_trilu, {NULL}, "com.microsoft"},
    {"OneHot", 9, infer_one_hot, lower_one_hot, {.mode = ONE_HOT_FROM_0}, NULL},
    {"OneHot", 11, infer_one_hot, lower_one_hot, {.mode = ONE_HOT_WRAPS}, NULL},
    {0},
};
