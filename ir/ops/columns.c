// Windows laid out or moved: Col2Im, MaxUnpool, DeformConv, MaxRoiPool; and Det.

#include "ir/ops/window.h"

#include <string.h>

enum { BLOCK = 32 }; // data dims from here on hold the sizes of a block

static Infer infer_of(Lower *l)
{
    return (Infer){
        .model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
}

// Element k of integer input i, or a dim of data with number `dim`.
static Index element_or_dim(Infer *s, uint32_t i, uint32_t k, uint32_t dim, const char *name)
{
    uint32_t n;
    const Index *at = infer_content(s, i, &n);
    return at && k < n ? at[k] : infer_data_dim(s, 0, dim, name);
}

static int64_t attr_at(const Node *n, const char *name, uint32_t i, int64_t otherwise)
{
    const int64_t *at;
    uint32_t len;
    return node_ints(n, name, &at, &len) && i < len ? at[i] : otherwise;
}

// ---- Col2Im

// The spatial rank and the block's dims; false if they are not known or do not fit.
static bool block_of(Infer *s, uint32_t *rank, Index *block)
{
    const Value *image = infer_in(s, 1), *b = infer_in(s, 2);
    int64_t r, rb;
    if (!image || !b || image->rank != 1 || b->rank != 1 || !poly_is_const(image->dims[0], &r) ||
        !poly_is_const(b->dims[0], &rb) || r != rb || r < 1 || r + 2 > MAX_RANK)
        return false;
    *rank = (uint32_t)r;
    for (uint32_t k = 0; k < *rank; k++)
        block[k] = element_or_dim(s, 2, k, BLOCK + k, "block");
    return true;
}

static Index product(Polys *p, uint32_t n, const Index *dims)
{
    Index all = poly_const(p, 1);
    for (uint32_t k = 0; k < n; k++)
        all = poly_mul(p, all, dims[k]);
    return all;
}

static void infer_col2im(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0}, block[MAX_RANK] = {0};
    uint32_t r;
    int64_t size;
    if (!x || x->rank != 3 || !block_of(s, &r, block))
        return;
    Index all = product(s->polys, r, block);
    dims[0] = x->dims[0];
    dims[1] = poly_is_const(all, &size) && size > 0 ? poly_floordiv(s->polys, x->dims[1], all)
                                                    : infer_data_dim(s, 0, 1, "channels");
    for (uint32_t k = 0; k < r; k++)
        dims[k + 2] = element_or_dim(s, 1, k, k + 2, "image");
    infer_shape(s, 0, r + 2, dims);
}

// y[n,c,p] = sum over the taps b of the blocks that cover p: x[n, c*B + b, (p + pad - b*dilation) /
// stride].
static void lower_col2im(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Infer s = infer_of(l);
    Index block[MAX_RANK] = {0}, dims[MAX_RANK] = {0}, columns[MAX_RANK] = {0}, o[MAX_RANK] = {0},
          b[MAX_RANK] = {0}, c[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, one_ = ix(l, 1);
    Window w;
    const char *fault;
    const Expr *where = NULL;
    uint32_t r;
    if (!block_of(&s, &r, block) || r + 2 != y.rank)
        return;
    for (uint32_t k = 0; k < r; k++) {
        Index size = input_element(l, 2, k);
        define_dim(l, block[k], size);
        check(l, index_le(l, one_, size), "Col2Im: a block is empty");
        define_dim(l, y.dims[k + 2], input_element(l, 1, k));
    }
    Index taps = ix_product(l, r, block);
    define_dim(l, y.dims[1], ix_div(l, x.dims[1], taps));
    check(l, index_eq(l, ix_mul(l, y.dims[1], taps), x.dims[1]),
          "Col2Im: the channels are no multiple of the block");
    memcpy(dims, y.dims + 2, r * sizeof *dims);
    if (!window_of(l->polys, l->n, r, dims, block, &w, &fault)) {
        not_supported(l, "Col2Im with these %s", fault);
        return;
    }
    memcpy(columns, w.out, r * sizeof *columns);
    check(l, index_eq(l, ix_product(l, r, columns), x.dims[2]),
          "Col2Im: there are not as many columns as blocks");
    kernel(l, "col2im");
    par_all(l, y, o);
    uint32_t nvars = 0;
    for (uint32_t k = 0; k < r; k++) {
        const int64_t step = w.stride[k];
        Index place = ix_add(l, o[k + 2], w.before[k]);
        int64_t size;
        if (step > 1 && w.dilation[k] == 1 && poly_is_const(block[k], &size)) {
            // Every step-th tap meets a place: those of one remainder.
            Index nth = size <= step ? ix(l, 0) : red(l, ix(l, (size + step - 1) / step));
            if (size > step)
                vars[nvars++] = nth;
            b[k] = ix_add(l, ix_mod(l, place, ix(l, step)), ix_scale(l, nth, step));
            c[k] = ix_sub(l, ix_div(l, place, ix(l, step)), nth);
            where = both(l, where, inside(l, b[k], block[k]));
            where = both(l, where, inside(l, c[k], columns[k]));
            continue;
        }
        b[k] = vars[nvars++] = red(l, block[k]);
        Index from = ix_sub(l, place, ix_scale(l, b[k], w.dilation[k]));
        c[k] = ix_div(l, from, ix(l, step));
        where = both(l, where, inside(l, c[k], columns[k]));
        if (step > 1)
            where = both(l, where, index_eq(l, ix_scale(l, c[k], step), from));
    }
    Index at[3] = {o[0], ix_add(l, ix_mul(l, o[1], taps), ix_linear(l, r, block, b)),
                   ix_linear(l, r, columns, c)};
    DType t = accumulator(x.dtype);
    const Expr *e = cast(l, t, load(l, x, at));
    if (nvars)
        e = reduce_add(l, nvars, vars, where, e);
    else if (where)
        e = select_(l, where, e, zero(l, t));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- MaxUnpool

// What MaxPool would have read: the shape in which the indices count.
static bool unpooled(Polys *p, const Node *n, uint32_t rank, const Index *x, Index *dims)
{
    const int64_t *at;
    uint32_t r;
    if (!node_ints(n, "kernel_shape", &at, &r) || r + 2 != rank)
        return false;
    dims[0] = x[0];
    dims[1] = x[1];
    for (uint32_t k = 0; k < r; k++) {
        int64_t stride = attr_at(n, "strides", k, 1), before = attr_at(n, "pads", k, 0),
                after = attr_at(n, "pads", k + r, 0);
        if (stride < 1 || stride > INT32_MAX || before < 0 || before > INT32_MAX || after < 0 ||
            after > INT32_MAX || at[k] < 1 || at[k] > INT32_MAX)
            return false;
        Index span = poly_scale(p, poly_add_const(p, x[k + 2], -1), stride);
        dims[k + 2] =
            poly_max(p, poly_const(p, 0), poly_add_const(p, span, at[k] - before - after));
    }
    return true;
}

static void infer_max_unpool(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 3 || x->rank > MAX_RANK)
        return;
    if (!unpooled(s->polys, s->n, (uint32_t)x->rank, x->dims, dims)) {
        infer_error(s, "kernel_shape, strides or pads do not fit");
        return;
    }
    for (uint32_t k = 0; infer_in(s, 2) && k < (uint32_t)x->rank; k++)
        dims[k] = element_or_dim(s, 2, k, k, "unpooled");
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

static void lower_max_unpool(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), y = output(l, 0);
    Index dims[MAX_RANK] = {0}, o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    const Expr *fits = NULL;
    unpooled(l->polys, l->n, x.rank, x.dims, dims);
    if (has_input(l, 2)) {
        check(l, index_eq(l, input(l, 2).dims[0], ix(l, x.rank)),
              "MaxUnpool: output_shape has not the rank of X");
        for (uint32_t k = 0; k < y.rank; k++)
            define_dim(l, y.dims[k], input_element(l, 2, k));
    }
    for (uint32_t k = 0; k < x.rank; k++) {
        check(l, index_eq(l, i.dims[k], x.dims[k]), "MaxUnpool: X and I have different shapes");
        o[k] = red(l, i.dims[k]);
    }
    const Expr *v = cast(l, DT_I64, load(l, i, o)),
               *all = expr_index(l->module, ix_product(l, x.rank, dims));
    check(l, reduce(l, R_AND, x.rank, o, NULL, and_(l, le(l, zero(l, DT_I64), v), lt(l, v, all))),
          "MaxUnpool: an index is out of range");
    kernel(l, "clear");
    par_all(l, y, o);
    store(l, y, o, zero(l, y.dtype));
    kernel_end(l);
    kernel(l, "max_unpool");
    for (uint32_t k = 0; k < x.rank; k++)
        o[k] = seq(l, x.dims[k]);
    Index place = to_index(l, let(l, cast(l, DT_I64, load(l, i, o))));
    ix_delinear(l, place, x.rank, dims, at);
    for (uint32_t k = 0; k < x.rank; k++)
        if (dims[k] != y.dims[k])
            fits = both(l, fits, inside(l, at[k], y.dims[k]));
    if (fits)
        if_(l, fits);
    store(l, y, at, load(l, x, o));
    kernel_end(l);
}

// ---- DeformConv

static void infer_deform_conv(Infer *s)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    Window win;
    const char *fault;
    if (!x || !w || x->rank < 3 || x->rank != w->rank || x->rank > MAX_RANK)
        return;
    if (!window_of(s->polys, s->n, (uint32_t)x->rank - 2, x->dims + 2, w->dims + 2, &win, &fault)) {
        infer_error(s, "attribute %s does not fit", fault);
        return;
    }
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    memcpy(dims + 2, win.out, win.rank * sizeof *dims);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// Tables of the 2^r elements of a plane around each place that the offsets give, and their weights,
// times the mask: dims are the batch, groups of offsets, elements, those of the window and of y.
static Taps deformed_taps(Lower *l, const Window *win, Tensor x, Tensor w, Tensor y)
{
    Tensor offset = input(l, 2), mask = input(l, 4);
    uint32_t r = x.rank - 2;
    Index groups = ix(l, node_int(l->n, "offset_group", 1));
    Index dims[MAX_RANK] = {x.dims[0], groups, ix(l, 1 << r)}, o[MAX_RANK] = {0},
          at[MAX_RANK] = {0};
    const Expr *low[3], *part[3];
    DType t = accumulator(x.dtype);
    memcpy(dims + 3, w.dims + 2, r * sizeof *dims);
    memcpy(dims + 3 + r, y.dims + 2, r * sizeof *dims);
    Taps taps = taps_new(l, x, t, 3 + 2 * r, dims);
    kernel(l, "deformed_places");
    for (uint32_t i = 0; i < 3 + 2 * r; i++)
        o[i] = i == 2 ? NULL : par(l, dims[i]);
    Index tap = ix_add(l, ix_mul(l, o[1], ix_product(l, r, w.dims + 2)),
                       ix_linear(l, r, w.dims + 2, o + 3));
    at[0] = o[0];
    memcpy(at + 2, o + 3 + r, r * sizeof *at);
    for (uint32_t k = 0; k < r; k++) {
        at[1] = ix_addc(l, ix_scale(l, tap, r), k);
        const Expr *place = add(l, from_index(l, window_at(l, win, k, at[k + 2], o[k + 3]), t),
                                cast(l, t, load(l, offset, at)));
        low[k] = let(l, unary(l, U_FLOOR, let(l, place)));
        part[k] = let(l, sub(l, place, low[k]));
    }
    at[1] = tap;
    const Expr *scale = mask.buffer ? let(l, cast(l, t, load(l, mask, at))) : NULL;
    for (uint32_t c = 0; c < 1u << r; c++) {
        const Expr *weight = scale, *where = NULL;
        Index in_plane[3];
        for (uint32_t k = 0; k < r; k++) {
            const Expr *e = c >> k & 1 ? add(l, low[k], one(l, t)) : low[k];
            const Expr *own = c >> k & 1 ? part[k] : sub(l, one(l, t), part[k]);
            weight = weight ? mul(l, weight, own) : own;
            where = both(l, where,
                         and_(l, le(l, zero(l, t), e), lt(l, e, from_index(l, x.dims[k + 2], t))));
            in_plane[k] = to_index(l, cast(l, DT_I64, e));
        }
        o[2] = ix(l, c);
        taps_store(l, &taps, o, in_plane, where, weight);
    }
    kernel_end(l);
    return taps;
}

static bool deform_fits(Lower *l, Tensor x, Tensor w, int64_t group, int64_t offset_group,
                        const Index *out, uint32_t r)
{
    Tensor offset = input(l, 2), mask = input(l, 4);
    if (group < 1 || offset_group < 1 || r > 3 || offset.rank != x.rank) {
        not_supported(l, "DeformConv with these groups or ranks");
        return false;
    }
    Index taps = ix_scale(l, ix_product(l, r, w.dims + 2), offset_group);
    const Expr *ok = index_eq(l, x.dims[1], ix_scale(l, w.dims[1], group));
    ok = both(l, ok, index_eq(l, ix_mod(l, x.dims[1], ix(l, offset_group)), ix(l, 0)));
    ok = both(l, ok, index_eq(l, ix_mod(l, w.dims[0], ix(l, group)), ix(l, 0)));
    ok = both(l, ok, index_le(l, ix(l, group), w.dims[0]));
    ok = both(l, ok, index_eq(l, offset.dims[1], ix_scale(l, taps, r)));
    if (mask.buffer)
        ok = both(l, ok, index_eq(l, mask.dims[1], taps));
    for (uint32_t k = 0; k < x.rank; k++) {
        Index want = k == 0 ? x.dims[0] : k == 1 ? NULL : out[k];
        ok = want ? both(l, ok, index_eq(l, offset.dims[k], want)) : ok;
        ok = want && mask.buffer ? both(l, ok, index_eq(l, mask.dims[k], want)) : ok;
    }
    if (has_input(l, 3))
        ok = both(l, ok, index_eq(l, input(l, 3).dims[0], w.dims[0]));
    check(l, ok, "DeformConv: the operands do not fit");
    return true;
}

// What a convolution's windows see at the places that offsets give: dims are x's batch, channels
// with the places of the window, those of y.
static Tensor deformed(Lower *l, const Window *win, Tensor x, Tensor w, Tensor y)
{
    uint32_t r = x.rank - 2;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, own[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    Taps taps = deformed_taps(l, win, x, w, y);
    Index window = ix_product(l, r, w.dims + 2), dims[MAX_RANK] = {x.dims[0]};
    dims[1] = ix_mul(l, x.dims[1], window);
    memcpy(dims + 2, y.dims + 2, r * sizeof *dims);
    Tensor seen = temp(l, "deformed", t, 2 + r, dims);
    kernel(l, "deformed");
    o[0] = par(l, dims[0]);
    own[0] = par(l, x.dims[1]);
    for (uint32_t k = 0; k < r; k++)
        own[k + 1] = par(l, w.dims[k + 2]);
    for (uint32_t k = 0; k < r; k++)
        o[k + 2] = par(l, y.dims[k + 2]);
    o[1] = ix_add(l, ix_mul(l, own[0], window), ix_linear(l, r, w.dims + 2, own + 1));
    at[0] = o[0];
    at[1] = ix_div(l, own[0], ix_div(l, x.dims[1], taps.place.dims[1]));
    memcpy(at + 3, own + 1, r * sizeof *at);
    memcpy(at + 3 + r, o + 2, r * sizeof *at);
    const Expr *sum = NULL;
    for (uint32_t c = 0; c < 1u << r; c++) {
        at[2] = ix(l, c);
        const Expr *e = taps_load(l, &taps, at, o[0], own[0], t);
        sum = sum ? add(l, sum, e) : e;
    }
    store(l, seen, o, sum);
    kernel_end(l);
    return seen;
}

// Conv whose taps are moved by offsets and scaled by a mask: what they see is found once, for all
// rows of the product with the weights. Spec: DeformConv-19.
static void lower_deform_conv(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 1), y = output(l, 0);
    int64_t group = node_int(l->n, "group", 1), moved = node_int(l->n, "offset_group", 1);
    uint32_t r = x.rank - 2;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, wat[MAX_RANK] = {0};
    Window win;
    const char *fault;
    DType t = accumulator(x.dtype);
    if (!deform_fits(l, x, w, group, moved, y.dims, r) ||
        !window_of(l->polys, l->n, r, x.dims + 2, w.dims + 2, &win, &fault))
        return;
    Tensor seen = deformed(l, &win, x, w, y);
    kernel(l, "deform_conv");
    par_all(l, y, o);
    Index each = ix_div(l, w.dims[0], ix(l, group)), taps = ix_product(l, r + 1, w.dims + 1);
    Index k = red(l, taps);
    wat[0] = o[1];
    ix_delinear(l, k, r + 1, w.dims + 1, wat + 1);
    memcpy(at, o, sizeof at);
    at[1] = ix_add(l, ix_mul(l, ix_div(l, o[1], each), taps), k);
    const Expr *e = mul(l, load(l, seen, at), cast(l, t, load(l, w, wat)));
    e = reduce_add(l, 1, &k, NULL, e);
    if (has_input(l, 3))
        e = add(l, e, cast(l, t, load(l, input(l, 3), o + 1)));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- MaxRoiPool

static void infer_max_roi_pool(Infer *s)
{
    const Value *x = infer_in(s, 0), *rois = infer_in(s, 1);
    const int64_t *at;
    uint32_t n;
    if (!x || !rois || x->rank != 4 || rois->rank != 2)
        return;
    if (!node_ints(s->n, "pooled_shape", &at, &n) || n != 2 || at[0] < 1 || at[1] < 1) {
        infer_error(s, "pooled_shape must be two positive numbers");
        return;
    }
    Index dims[4] = {rois->dims[0], x->dims[1], poly_const(s->polys, at[0]),
                     poly_const(s->polys, at[1])};
    infer_shape(s, 0, 4, dims);
}

// Bin b of `bins` of the region along a dim of size n of x: where it begins, and how many elements
// of x it has. column: where rois hold the start.
static Index bin_of(Lower *l, Tensor rois, Index roi, uint32_t column, Index b, int64_t bins,
                    Index n, Index *size)
{
    DType t = DT_F32;
    const Expr *scale = attr_num(l, t, "spatial_scale", 1), *edge[2], *half = num(l, t, 0.5),
               *z = zero(l, t);
    for (uint32_t k = 0; k < 2; k++) { // rounded half away from 0
        Index at[2] = {roi, ix(l, column + 2 * k)};
        const Expr *e = mul(l, cast(l, t, load(l, rois, at)), scale);
        edge[k] = select_(l, lt(l, e, z), unary(l, U_CEIL, sub(l, e, half)),
                          unary(l, U_FLOOR, add(l, e, half)));
    }
    const Expr *length = max_(l, one(l, t), add(l, sub(l, edge[1], edge[0]), one(l, t)));
    const Expr *bin = div_(l, length, num(l, t, (double)bins)), *first = edge[0];
    edge[0] = unary(l, U_FLOOR, mul(l, from_index(l, b, t), bin));
    edge[1] = unary(l, U_CEIL, mul(l, from_index(l, ix_addc(l, b, 1), t), bin));
    Index at[2];
    for (int k = 0; k < 2; k++) { // within x; what is no number is 0
        const Expr *e = add(l, first, edge[k]);
        e = select_(l, lt(l, z, e), min_(l, e, from_index(l, n, t)), z);
        at[k] = to_index(l, let(l, cast(l, DT_I64, e)));
    }
    *size =
        to_index(l, let(l, expr_index(l->module, ix_max(l, ix_sub(l, at[1], at[0]), ix(l, 0)))));
    return at[0];
}

static void lower_max_roi_pool(Lower *l)
{
    Tensor x = input(l, 0), rois = input(l, 1), y = output(l, 0);
    Index o[4] = {0}, at[4] = {0}, first[2], size[2], v = red(l, rois.dims[0]),
          who[2] = {v, ix(l, 0)};
    const Expr *b = cast(l, DT_I64, load(l, rois, who));
    check(l, index_eq(l, rois.dims[1], ix(l, 5)), "MaxRoiPool: a region has not 5 numbers");
    check(l,
          reduce(l, R_AND, 1, &v, NULL,
                 and_(l, le(l, zero(l, DT_I64), b), lt(l, b, expr_index(l->module, x.dims[0])))),
          "MaxRoiPool: a batch index is out of range");
    kernel(l, "max_roi_pool");
    o[0] = who[0] = par(l, y.dims[0]);
    at[0] = to_index(l, let(l, cast(l, DT_I64, load(l, rois, who))));
    for (uint32_t k = 0; k < 2; k++) {
        int64_t bins = 1;
        poly_is_const(y.dims[k + 2], &bins);
        o[k + 2] = par(l, y.dims[k + 2]);
        first[k] = bin_of(l, rois, o[0], 2 - k, o[k + 2], bins, x.dims[k + 2], &size[k]);
    }
    o[1] = at[1] = par(l, y.dims[1]);
    Index r[2] = {red(l, size[0]), red(l, size[1])};
    at[2] = ix_add(l, first[0], r[0]);
    at[3] = ix_add(l, first[1], r[1]);
    const Expr *most = reduce(l, R_MAX, 2, r, NULL, load(l, x, at));
    const Expr *any = and_(l, index_lt(l, ix(l, 0), size[0]), index_lt(l, ix(l, 0), size[1]));
    store(l, y, o, select_(l, any, most, zero(l, y.dtype)));
    kernel_end(l);
}

// ---- Det

static void infer_det(Infer *s)
{
    const Value *x = infer_in(s, 0);
    int64_t a, b;
    if (!x || x->rank < 2)
        return;
    if (poly_is_const(x->dims[x->rank - 1], &a) && poly_is_const(x->dims[x->rank - 2], &b) &&
        a != b) {
        infer_error(s, "the matrices are not square");
        return;
    }
    infer_shape(s, 0, (uint32_t)x->rank - 2, x->dims);
}

// Gaussian elimination with the greatest pivot of each column; a swap turns the sign.
static void lower_det(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    uint32_t b = x.rank - 2;
    DType t = accumulator(x.dtype);
    Tensor work = temp(l, "work", t, x.rank, x.dims);
    Index n = x.dims[b], o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, other[MAX_RANK] = {0};
    check(l, index_eq(l, n, x.dims[b + 1]), "Det: the matrices are not square");
    kernel(l, "copy");
    par_all(l, x, o);
    store(l, work, o, cast(l, t, load(l, x, o)));
    kernel_end(l);
    kernel(l, "det");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    memcpy(other, o, sizeof other);
    LocalId det = row(l, t, 0, NULL);
    set(l, det, NULL, one(l, t));
    Index k = seq(l, n), i = red(l, n);
    at[b] = i;
    at[b + 1] = k;
    const Expr *below = index_le(l, k, i);
    const Expr *p = let(l, reduce(l, R_ARGMAX, 1, &i, below, abs_(l, load(l, work, at))));
    const Expr *swap = let(l, ne(l, p, expr_index(l->module, k)));
    Index j = seq(l, n);
    if_(l, swap);
    at[b] = k;
    other[b] = to_index(l, p);
    at[b + 1] = other[b + 1] = j;
    const Expr *upper = let(l, load(l, work, at)), *lower = let(l, load(l, work, other));
    store(l, work, at, lower);
    store(l, work, other, upper);
    end(l);
    end(l);
    at[b + 1] = k;
    const Expr *pivot = let(l, load(l, work, at));
    const Expr *d = mul(l, get(l, det, NULL), pivot);
    set(l, det, NULL, select_(l, swap, neg(l, d), d));
    i = seq(l, n);
    if_(l, and_(l, index_lt(l, k, i), ne(l, pivot, zero(l, t))));
    other[b] = i;
    other[b + 1] = k;
    const Expr *factor = let(l, div_(l, load(l, work, other), pivot));
    j = seq(l, n);
    if_(l, index_lt(l, k, j));
    at[b + 1] = other[b + 1] = j;
    store(l, work, other, sub(l, load(l, work, other), mul(l, factor, load(l, work, at))));
    end(l);
    end(l);
    end(l);
    end(l);
    end(l);
    store(l, y, o, cast(l, y.dtype, get(l, det, NULL)));
    kernel_end(l);
}

const OpDef ops_columns[] = {
    {"Col2Im", 18, infer_col2im, lower_col2im, {NULL}, NULL},
    {"MaxUnpool", 9, infer_max_unpool, lower_max_unpool, {NULL}, NULL},
    {"DeformConv", 19, infer_deform_conv, lower_deform_conv, {NULL}, NULL},
    {"MaxRoiPool", 1, infer_max_roi_pool, lower_max_roi_pool, {NULL}, NULL},
    {"Det", 11, infer_det, lower_det, {NULL}, NULL},
    {0},
};
