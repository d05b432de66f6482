// Convolutions of any rank.
//
// Conv: y[n,k,o] = b[k] + sum over c, r of x[n, group(k)*C + c, o*stride + r*dilation - pad] *
// w[k,c,r]. Padding is a guard, never a copy. Spec: Conv-1, Conv-11 (same meaning).

#include "ir/ops/conv.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/window.h"

#include <string.h>

static bool conv_window(Polys *p, const Node *n, uint32_t rank, const Index *x, const Index *w,
                        Window *win, const char **fault)
{
    return window_of(p, n, rank - 2, x + 2, w + 2, win, fault);
}

bool conv_groups_fit(Infer *s, Index channels, int64_t group)
{
    Index each = poly_floordiv(s->polys, channels, poly_const(s->polys, group));
    int64_t none;
    bool ok = infer_require(s, channels, poly_scale(s->polys, each, group)) &&
              !(poly_is_const(each, &none) && none == 0 && group > 1);
    if (!ok)
        infer_error(s, "the channels do not divide into %lld groups", (long long)group);
    return ok;
}

// Zero points and scales of integer convolutions: one number, or (of the weights, QLinearConv) one
// a channel.
static void fit_scales(Infer *s, uint32_t weight, Index channels)
{
    Index one = poly_const(s->polys, 1);
    bool quantized = weight == 3;
    for (uint32_t i = 1; i < s->n->nin && i < 8; i++) {
        bool of_weight = quantized ? i == 4 || i == 5 : i == 3;
        const Value *v = infer_in(s, i);
        if (i == weight || (!quantized && i == 1) || !v || v->rank != 1 ||
            poly_equals(v->dims[0], 1))
            continue;
        infer_fits(s, i, 1, of_weight ? &channels : &one);
    }
    if (quantized)
        infer_fits(s, 8, 1, &channels);
}

static void infer_conv(Infer *s, uint32_t weight)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, weight);
    Index dims[MAX_RANK] = {0};
    Window win;
    const char *fault;
    if (!x || !w || x->rank < 3 || w->rank < 0)
        return;
    if (x->rank != w->rank) {
        infer_error(s, "the input has rank %d, the weights have rank %d", x->rank, w->rank);
        return;
    }
    if (!conv_window(s->polys, s->n, (uint32_t)x->rank, x->dims, w->dims, &win, &fault)) {
        infer_error(s, "attribute %s does not fit", fault);
        return;
    }
    int64_t c = 0, wc = 0, group = node_int(s->n, "group", 1);
    poly_is_const(x->dims[1], &c);
    poly_is_const(w->dims[1], &wc);
    if (group < 1 || !infer_require(s, x->dims[1], poly_scale(s->polys, w->dims[1], group))) {
        infer_error(s, "%lld input channels do not fit weights of %lld channels in %lld groups",
                    (long long)c, (long long)wc, (long long)group);
        return;
    }
    if (!conv_groups_fit(s, w->dims[0], group))
        return;
    if (weight == 1 && !str_is(s->n->op, "ConvInteger"))
        infer_fits(s, 2, 1, &w->dims[0]);
    else
        fit_scales(s, weight, w->dims[0]);
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    memcpy(dims + 2, win.out, win.rank * sizeof *dims);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

void infer_conv_float(Infer *s)
{
    infer_conv(s, 1);
}

static void infer_qlinear_conv(Infer *s)
{
    infer_conv(s, 3);
}

// What an operand contributes: its element, less its zero point, in the type of the sum.
static const Expr *operand(Lower *l, Tensor x, const Index *at, uint32_t zero_point, Index channel,
                           DType t)
{
    const Expr *e = cast(l, t, load(l, x, at));
    if (!has_input(l, zero_point))
        return e;
    Tensor z = input(l, zero_point);
    Index zat[MAX_RANK] = {0};
    for (uint32_t i = 0; i < z.rank; i++)
        zat[i] = poly_equals(z.dims[i], 1) ? ix(l, 0) : channel;
    return sub(l, e, cast(l, t, load(l, z, zat)));
}

// The sum over channels and taps at output o.
static const Expr *conv_sum(Lower *l, Tensor x, Tensor w, const Window *win, const Index *o,
                            DType t, uint32_t xz, uint32_t wz)
{
    Index vars[MAX_RANK] = {0}, xat[MAX_RANK] = {0}, wat[MAX_RANK] = {0};
    const Expr *where = NULL;
    int64_t group = node_int(l->n, "group", 1);
    vars[0] = red(l, w.dims[1]);
    Index per_group = ix_div(l, w.dims[0], ix(l, group));
    Index g = group == 1 ? ix(l, 0) : ix_div(l, o[1], per_group);
    xat[0] = o[0];
    xat[1] = ix_add(l, ix_mul(l, g, w.dims[1]), vars[0]);
    wat[0] = o[1];
    wat[1] = vars[0];
    for (uint32_t i = 0; i < win->rank; i++) {
        vars[i + 1] = red(l, w.dims[i + 2]);
        wat[i + 2] = vars[i + 1];
        xat[i + 2] = window_at(l, win, i, o[i + 2], vars[i + 1]);
        where = both(l, where, inside(l, xat[i + 2], x.dims[i + 2]));
    }
    const Expr *product =
        mul(l, operand(l, x, xat, xz, ix(l, 0), t), operand(l, w, wat, wz, o[1], t));
    return reduce_add(l, win->rank + 1, vars, where, product);
}

static bool lower_window(Lower *l, Tensor x, Tensor w, Window *win)
{
    const char *fault;
    bool ok = conv_window(l->polys, l->n, x.rank, x.dims, w.dims, win, &fault);
    if (!ok)
        not_supported(l, "attribute %s", fault);
    return ok;
}

const Expr *conv_bias_at(Lower *l, uint32_t i, Index k, DType t)
{
    Index at[1] = {k};
    return has_input(l, i) ? cast(l, t, load(l, input(l, i), at)) : NULL;
}

static void lower_conv(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    Window win;
    DType t = accumulator(x.dtype);
    if (!lower_window(l, x, w, &win))
        return;
    kernel(l, "conv");
    par_all(l, y, o);
    const Expr *sum = conv_sum(l, x, w, &win, o, t, UINT32_MAX, UINT32_MAX),
               *bias = conv_bias_at(l, 2, o[1], t);
    store(l, y, o, cast(l, y.dtype, bias ? add(l, sum, bias) : sum));
    kernel_end(l);
}

static void lower_conv_integer(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    Window win;
    if (!lower_window(l, x, w, &win))
        return;
    kernel(l, "conv_integer");
    par_all(l, y, o);
    store(l, y, o, conv_sum(l, x, w, &win, o, DT_I32, 2, 3));
    kernel_end(l);
}

static const Expr *scale_at(Lower *l, uint32_t i, Index channel)
{
    Tensor z = input(l, i);
    Index at[MAX_RANK] = {0};
    for (uint32_t k = 0; k < z.rank; k++)
        at[k] = poly_equals(z.dims[k], 1) ? ix(l, 0) : channel;
    return load(l, z, at);
}

// saturate(round(sum * (x_scale * w_scale / y_scale)) + y_zero_point). Spec: QLinearConv-10.
static void lower_qlinear_conv(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 3), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    Window win;
    if (!lower_window(l, x, w, &win))
        return;
    kernel(l, "qlinear_conv");
    par_all(l, y, o);
    const Expr *sum = conv_sum(l, x, w, &win, o, DT_I32, 2, 5),
               *bias = conv_bias_at(l, 8, o[1], DT_I32);
    sum = bias ? add(l, sum, bias) : sum;
    const Expr *scale = div_(
        l, mul(l, cast(l, DT_F32, scale_at(l, 1, o[1])), cast(l, DT_F32, scale_at(l, 4, o[1]))),
        cast(l, DT_F32, scale_at(l, 6, o[1])));
    const Expr *r = unary(l, U_ROUND, mul(l, cast(l, DT_F32, sum), scale));
    r = add(l, r, cast(l, DT_F32, scale_at(l, 7, o[1])));
    double low = y.dtype == DT_I8 ? -128 : 0, high = y.dtype == DT_I8 ? 127 : 255;
    r = min_(l, max_(l, r, num(l, DT_F32, low)), num(l, DT_F32, high));
    store(l, y, o, cast(l, y.dtype, r));
    kernel_end(l);
}

const OpDef ops_conv[] = {
    {"Conv", 1, infer_conv_float, lower_conv, {NULL}, NULL},
    {"ConvInteger", 10, infer_conv_float, lower_conv_integer, {NULL}, NULL},
    {"QLinearConv", 10, infer_qlinear_conv, lower_qlinear_conv, {NULL}, NULL},
    {0},
};
