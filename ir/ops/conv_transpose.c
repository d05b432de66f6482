// Transposed convolutions of any rank.
//
// ConvTranspose: y[n,k,o] = b[k] + the sum over c and r of x[n,c,(o + before - r * dilation) /
// stride] * w[c,k,r] where that is whole and inside of x. Spec: ConvTranspose-1, ConvTranspose-11
// (same meaning).
//
// Along a dim with a stride s, outputs whose (o + before) leaves the same rest p when divided by s
// see the taps p, p + s, p + 2s ... alone, and x at neighbouring places: they are an ordinary
// convolution by a window of T taps, T = ceil((taps - p) / s) (Shi et al. 2016, "Is the
// deconvolution layer the same as a convolutional layer?"). So:
//
// 1. Rests with equally many taps are a *range*: [0, taps mod s) and [taps mod s, s). For each
// choice
//    of a range for each dim a kernel computes t[n,p,k,q], all windows turned round.
//    Where each rest sees one tap (windows that touch and do not overlap), rows of x times w, as it
//    lies, are all of it: t[n,(k,p),q].
// 2. One kernel moves y[n,k,o] = t[n, (o + before) mod s, k, (o + before) div s - the first q].
//    Without strides there is one t, which is y.

#include "ir/ops/conv.h"
#include "ir/ops/window.h"

#include <string.h>

typedef struct Transposed {
    int64_t stride[MAX_RANK], dilation[MAX_RANK];
    Index before[MAX_RANK], out[MAX_RANK];
} Transposed;

static int64_t listed(const Node *n, const char *name, uint32_t i, int64_t otherwise)
{
    const int64_t *at;
    uint32_t len;
    return node_ints(n, name, &at, &len) && i < len ? at[i] : otherwise;
}

// Output sizes and leading pads. Spec: ConvTranspose-11 (output_shape, auto_pad and pads).
static void transposed_of(Polys *p, const Node *n, uint32_t rank, const Index *x, const Index *w,
                          Transposed *t)
{
    Str mode = node_str(n, "auto_pad", "NOTSET");
    bool same = str_is(mode, "SAME_UPPER") || str_is(mode, "SAME_LOWER");
    const int64_t *shape;
    uint32_t nshape;
    bool given = node_ints(n, "output_shape", &shape, &nshape) && nshape >= rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t s = t->stride[i] = listed(n, "strides", i, 1),
                d = t->dilation[i] = listed(n, "dilations", i, 1);
        Index span = poly_add_const(p, poly_scale(p, poly_add_const(p, w[i], -1), d), 1);
        Index full = poly_add(p, poly_scale(p, poly_add_const(p, x[i], -1), s), span);
        full = poly_add_const(p, full, listed(n, "output_padding", i, 0));
        if (given || same) {
            t->out[i] = given ? poly_const(p, shape[nshape - rank + i]) : poly_scale(p, x[i], s);
            Index pads = poly_max(p, poly_const(p, 0), poly_sub(p, full, t->out[i])),
                  two = poly_const(p, 2);
            t->before[i] = str_is(mode, "SAME_UPPER")
                               ? poly_floordiv(p, pads, two)
                               : poly_sub(p, pads, poly_floordiv(p, pads, two));
            if (given && !same)
                t->before[i] = poly_sub(p, pads, poly_floordiv(p, pads, two));
            continue;
        }
        bool valid = str_is(mode, "VALID");
        int64_t before = valid ? 0 : listed(n, "pads", i, 0),
                after = valid ? 0 : listed(n, "pads", i + rank, 0);
        t->before[i] = poly_const(p, before);
        t->out[i] = poly_add_const(p, full, -before - after);
    }
}

static void infer_conv_transpose(Infer *s)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    Transposed t;
    if (!x || !w || x->rank < 3 || w->rank != x->rank)
        return;
    const char *fault = window_fault(s->n, (uint32_t)x->rank - 2);
    if (fault) {
        infer_error(s, "attribute %s does not fit", fault);
        return;
    }
    int64_t group = node_int(s->n, "group", 1);
    if (group < 1 || !conv_groups_fit(s, x->dims[1], group)) {
        if (group < 1)
            infer_error(s, "group is %lld", (long long)group);
        return;
    }
    transposed_of(s->polys, s->n, (uint32_t)x->rank - 2, x->dims + 2, w->dims + 2, &t);
    dims[0] = x->dims[0];
    dims[1] = poly_scale(s->polys, w->dims[1], group);
    infer_fits(s, 1, (uint32_t)w->rank, (const Index[MAX_RANK]){x->dims[1]});
    infer_fits(s, 2, 1, &dims[1]);
    memcpy(dims + 2, t.out, ((size_t)x->rank - 2) * sizeof *dims);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// ---- by rests

// Rests first .. first + count, which see `taps` taps each.
typedef struct Range {
    int64_t first, count, taps;
} Range;

typedef struct Rests {
    const Transposed *t;
    uint32_t rank;                           // of the spatial part
    Range range[MAX_RANK][2];                // of each dim
    uint32_t nranges[MAX_RANK];              // of those
    bool one;                                // there are several, and each sees one tap
    Index first[MAX_RANK], places[MAX_RANK]; // q of t begins where x does, and how many there are
} Rests;

// false: taps or padding are not known, or a stride and a dilation meet.
static bool read_rests(Lower *l, const Transposed *t, Tensor w, Rests *r)
{
    uint32_t rests = 0;
    *r = (Rests){.t = t, .rank = w.rank - 2, .one = true};
    for (uint32_t i = 0; i < r->rank; i++) {
        int64_t s = t->stride[i], taps, before;
        if (!poly_is_const(w.dims[i + 2], &taps) ||
            (s != 1 &&
             (!poly_is_const(t->before[i], &before) || (t->dilation[i] != 1 && taps > 1))))
            return false;
        const Range more = {0, taps % s, taps / s + 1}, fewer = {taps % s, s - taps % s, taps / s};
        if (more.count)
            r->range[i][r->nranges[i]++] = more;
        r->range[i][r->nranges[i]++] = fewer;
        r->first[i] = s == 1 ? ix(l, 0) : ix_div(l, t->before[i], ix(l, s));
        Index last = ix_add(l, ix_sub(l, t->out[i], ix(l, 1)), s == 1 ? ix(l, 0) : t->before[i]);
        r->places[i] = ix_add(l, ix_sub(l, ix_div(l, last, ix(l, s)), r->first[i]), ix(l, 1));
        rests += s != 1;
        r->one &= taps == s;
    }
    r->one = r->one && rests;
    return rests + w.rank <= MAX_RANK;
}

static const Range *range_of(const Rests *r, uint32_t choice, uint32_t i)
{
    return &r->range[i][r->nranges[i] == 1 ? 0 : choice >> i & 1];
}

// Choices of the second range where there is one only are none.
static bool is_choice(const Rests *r, uint32_t choice)
{
    for (uint32_t i = 0; i < r->rank; i++)
        if (r->nranges[i] == 1 && (choice >> i & 1))
            return false;
    return true;
}

static bool has_taps(const Rests *r, uint32_t choice)
{
    for (uint32_t i = 0; i < r->rank; i++)
        if (range_of(r, choice, i)->taps == 0)
            return false;
    return true;
}

// t's indices: image, rests of dims with strides, channel, places; or image, channel and rests as
// one, places.
static uint32_t place_of(Lower *l, const Rests *r, Index image, const Index *rest, Index channel,
                         const Index *q, Index *at)
{
    uint32_t n = 0;
    at[n++] = image;
    for (uint32_t i = 0; i < r->rank && !r->one; i++)
        if (r->t->stride[i] != 1)
            at[n++] = rest[i];
    for (uint32_t i = 0; i < r->rank && r->one; i++)
        channel = ix_add(l, ix_scale(l, channel, r->t->stride[i]), rest[i]);
    at[n++] = channel;
    for (uint32_t i = 0; i < r->rank; i++)
        at[n++] = q[i];
    return n;
}

static int64_t window_size(const Rests *r)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < r->rank; i++)
        size *= r->t->stride[i];
    return size;
}

static Tensor buffer_of(Lower *l, const Rests *r, uint32_t choice, Tensor y)
{
    Index dims[MAX_RANK], counts[MAX_RANK];
    for (uint32_t i = 0; i < r->rank; i++)
        counts[i] = ix(l, range_of(r, choice, i)->count);
    uint32_t rank = place_of(l, r, y.dims[0], counts, y.dims[1], r->places, dims);
    if (r->one)
        dims[1] = ix_scale(l, y.dims[1], window_size(r));
    // What a bias is added to later is not rounded before.
    DType t = r->one && has_input(l, 2) ? accumulator(y.dtype) : y.dtype;
    return temp(l, "rests", t, rank, dims);
}

// Channels of x and of w that output channel k sums over: the variable of the sum.
static Index channels_at(Lower *l, Index k, Index *xat, Index *wat)
{
    Tensor x = input(l, 0), w = input(l, 1);
    int64_t group = node_int(l->n, "group", 1);
    Index per_group = ix_div(l, x.dims[1], ix(l, group)), c = red(l, per_group);
    Index g = group == 1 ? ix(l, 0) : ix_div(l, k, w.dims[1]);
    xat[1] = wat[0] = ix_add(l, ix_mul(l, g, per_group), c);
    wat[1] = group == 1 ? k : ix_mod(l, k, w.dims[1]);
    return c;
}

// The rest along dim i, of channel and rests as one.
static Index rest_of(Lower *l, const Rests *r, Index one, uint32_t i)
{
    for (uint32_t k = r->rank - 1; k > i; k--)
        one = ix_div(l, one, ix(l, r->t->stride[k]));
    return ix_mod(l, one, ix(l, r->t->stride[i]));
}

// An ordinary convolution for each rest of a choice. x is read at q + first - (taps - 1) * dilation
// + tap * dilation, the window's last tap first.
static void lower_choice(Lower *l, const Rests *r, uint32_t choice, Tensor to)
{
    Tensor x = input(l, 0), w = input(l, 1);
    Index o[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, xat[MAX_RANK] = {0}, wat[MAX_RANK] = {0};
    const Expr *where = NULL;
    DType acc = accumulator(x.dtype);
    kernel(l, "conv_transpose");
    par_all(l, to, o);
    uint32_t rest = 1, q = to.rank - r->rank;
    Index k = r->one ? ix_div(l, o[1], ix(l, window_size(r))) : o[q - 1];
    vars[0] = channels_at(l, k, xat, wat);
    xat[0] = o[0];
    for (uint32_t i = 0; i < r->rank; i++) {
        const Range *range = range_of(r, choice, i);
        int64_t s = r->t->stride[i], d = r->t->dilation[i], last = range->taps - 1;
        vars[i + 1] = red(l, ix(l, range->taps));
        Index tap = ix_scale(l, ix_sub(l, ix(l, last), vars[i + 1]), s);
        wat[i + 2] = r->one   ? rest_of(l, r, o[1], i)
                     : s == 1 ? tap
                              : ix_add(l, tap, ix_add(l, o[rest++], ix(l, range->first)));
        Index begin = ix_sub(l, s == 1 ? r->t->before[i] : r->first[i], ix(l, last * d));
        xat[i + 2] = ix_add(l, ix_add(l, o[q + i], begin), ix_scale(l, vars[i + 1], d));
        where = both(l, where, inside(l, xat[i + 2], x.dims[i + 2]));
    }
    const Expr *sum =
                   reduce_add(l, r->rank + 1, vars, where,
                              mul(l, cast(l, acc, load(l, x, xat)), cast(l, acc, load(l, w, wat)))),
               *bias = r->one ? NULL : conv_bias_at(l, 2, k, acc);
    store(l, to, o, cast(l, to.dtype, bias ? add(l, sum, bias) : sum));
    kernel_end(l);
}

// y[n,k,o] of the results of all choices.
static void lower_moves(Lower *l, const Rests *r, const Tensor *of)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    DType acc = accumulator(y.dtype);
    const Expr *value = NULL;
    kernel(l, "conv_transpose_places");
    par_all(l, y, o);
    const Expr *bias = conv_bias_at(l, 2, o[1], acc);
    const Expr *begin = cast(l, y.dtype, bias ? bias : zero(l, acc)); // where there are no taps
    for (uint32_t choice = 0; choice < 1u << r->rank; choice++) {
        Index rest[MAX_RANK], q[MAX_RANK], at[MAX_RANK];
        const Expr *here = NULL;
        if (!is_choice(r, choice))
            continue;
        for (uint32_t i = 0; i < r->rank; i++) {
            const Range *range = range_of(r, choice, i);
            Index s = ix(l, r->t->stride[i]), p = o[i + 2];
            if (r->t->stride[i] != 1)
                p = ix_add(l, p, r->t->before[i]);
            rest[i] = ix_mod(l, p, s);
            if (r->nranges[i] == 2) // the last choice of all is what is left
                here = both(l, here,
                            choice >> i & 1 ? index_le(l, ix(l, range->first), rest[i])
                                            : index_lt(l, rest[i], ix(l, range->count)));
            rest[i] = ix_sub(l, rest[i], ix(l, range->first));
            q[i] = ix_sub(l, ix_div(l, p, s), r->first[i]);
        }
        place_of(l, r, o[0], rest, o[1], q, at);
        const Expr *e = of[choice].buffer ? load(l, of[choice], at) : begin;
        value = value ? select_(l, here, e, value) : e;
    }
    store(l, y, o, r->one && bias ? cast(l, y.dtype, add(l, value, bias)) : value);
    kernel_end(l);
}

static void lower_rests(Lower *l, const Rests *r)
{
    Tensor y = output(l, 0), of[1 << 3] = {{0}};
    bool strides = false;
    for (uint32_t i = 0; i < r->rank; i++)
        strides |= r->t->stride[i] != 1;
    for (uint32_t choice = 0; choice < 1u << r->rank; choice++)
        if (is_choice(r, choice) && has_taps(r, choice)) {
            of[choice] = strides ? buffer_of(l, r, choice, y) : y;
            lower_choice(l, r, choice, of[choice]);
        }
    if (strides)
        lower_moves(l, r, of);
}

// ---- whatever the taps

// A gather: tap r of output o comes from x at (o + before - r*dilation) / stride, where that is
// whole.
static void lower_gather(Lower *l, const Transposed *t)
{
    Tensor x = input(l, 0), w = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, xat[MAX_RANK] = {0}, wat[MAX_RANK] = {0};
    DType acc = accumulator(x.dtype);
    const Expr *where = NULL;
    kernel(l, "conv_transpose");
    par_all(l, y, o);
    vars[0] = channels_at(l, o[1], xat, wat);
    xat[0] = o[0];
    for (uint32_t i = 0; i + 2 < x.rank; i++) {
        vars[i + 1] = wat[i + 2] = red(l, w.dims[i + 2]);
        Index p = ix_sub(l, ix_add(l, o[i + 2], t->before[i]),
                         ix_scale(l, vars[i + 1], t->dilation[i])),
              s = ix(l, t->stride[i]);
        xat[i + 2] = ix_div(l, p, s);
        if (t->stride[i] != 1)
            where = both(l, where, index_eq(l, ix_mod(l, p, s), ix(l, 0)));
        where = both(l, where, inside(l, xat[i + 2], x.dims[i + 2]));
    }
    const Expr *sum =
        reduce_add(l, x.rank - 1, vars, where,
                   mul(l, cast(l, acc, load(l, x, xat)), cast(l, acc, load(l, w, wat))));
    const Expr *bias = conv_bias_at(l, 2, o[1], acc);
    store(l, y, o, cast(l, y.dtype, bias ? add(l, sum, bias) : sum));
    kernel_end(l);
}

static void lower_conv_transpose(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 1);
    Transposed t;
    Rests r;
    transposed_of(l->polys, l->n, x.rank - 2, x.dims + 2, w.dims + 2, &t);
    if (x.rank <= 5 && read_rests(l, &t, w, &r))
        lower_rests(l, &r);
    else
        lower_gather(l, &t);
}

const OpDef ops_conv_transpose[] = {
    {"ConvTranspose", 1, infer_conv_transpose, lower_conv_transpose, {NULL}, NULL},
    {0},
};
