// Transposed convolutions of any rank.
//
// ConvTranspose: y[n,k,o] = b[k] + the sum over c and r of x[n,c,(o + before - r * dilation) /
// stride] * w[c,k,r] where that is whole and inside of x. Spec: ConvTranspose-1, ConvTranspose-11
// (same meaning).
//
// Along a dim with a stride s, outputs o = s * q + f of one *phase* f see the taps p, p + s, p + 2s
// ... alone, where p is the rest of (f + before) divided by s, and x at neighbouring places: they
// are an ordinary convolution by a window of T taps, T = ceil((taps - p) / s) (Shi et al. 2016, "Is
// the deconvolution layer the same as a convolutional layer?"). So:
//
// 1. Phases one behind the other with equally many taps, whose windows begin at the same place of
//    x, are a *range*, three at most. For each choice of a range for each dim a kernel computes
//    its part of t[n,f,k,q], all windows turned round.
//    Where each phase sees one tap (windows that touch and do not overlap), rows of x times w, as
//    it lies, are all of it: t[n,(k,f),q].
//    With a dilation d a phase sees no tap or every s / g-th one, whose places of x are d / g
//    apart, where g is the greatest that divides both. Each is a range by itself then.
// 2. One kernel moves y[n,k,o] = t[n, o mod s, k, o div s]. Without strides t is y.

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

// ---- by phases

// Phases first .. first + count, which see `taps` taps each, the first of them those from `rest`
// on. At q the window ends at q + shift of x.
typedef struct Range {
    int64_t first, count, taps, rest;
    Index shift;
} Range;

enum { RANGES = 8, MOST_CHOICES = 27 };

typedef struct Phases {
    const Transposed *t;
    uint32_t rank, choices;        // of the spatial part; of a range for each dim
    Range range[MAX_RANK][RANGES]; // of each dim
    uint32_t nranges[MAX_RANK];    // of those
    int64_t step[MAX_RANK];        // from one tap that a phase sees to the next,
    int64_t apart[MAX_RANK];       // and between their places of x
    bool one;                      // there are several, and each sees one tap
    Index places[MAX_RANK];        // of t
} Phases;

static void add_range(Lower *l, Phases *r, uint32_t i, Range range)
{
    range.shift = r->t->before[i];
    if (r->t->stride[i] != 1) {
        int64_t before = 0;
        poly_is_const(r->t->before[i], &before);
        const int64_t at = before + range.first - range.rest * r->t->dilation[i];
        range.shift = ix(l, floor_divide(at, r->t->stride[i]));
    }
    r->range[i][r->nranges[i]++] = range;
}

// The ranges of dim i, in which a stride and a dilation meet. false: too many.
static bool add_dilated(Lower *l, Phases *r, uint32_t i, int64_t taps, int64_t before)
{
    const int64_t s = r->t->stride[i], d = r->t->dilation[i], step = r->step[i];
    for (int64_t f = 0; f < s; f++) {
        int64_t rest = 0;
        while (rest < step && rest < taps && (f + before - rest * d) % s != 0)
            rest++;
        const bool none = rest == step || rest == taps;
        if (r->nranges[i] == RANGES)
            return false;
        add_range(l, r, i, (Range){f, 1, none ? 0 : (taps - rest + step - 1) / step, rest, NULL});
    }
    return true;
}

// false: taps or padding are not known, or kernels would be too many.
static bool read_phases(Lower *l, const Transposed *t, Tensor w, Phases *r)
{
    uint32_t strides = 0;
    *r = (Phases){.t = t, .rank = w.rank - 2, .one = true, .choices = 1};
    for (uint32_t i = 0; i < r->rank; i++) {
        int64_t s = t->stride[i], taps, before = 0;
        if (!poly_is_const(w.dims[i + 2], &taps) ||
            (s != 1 && !poly_is_const(t->before[i], &before)))
            return false;
        const bool meet = s != 1 && t->dilation[i] != 1 && taps > 1;
        for (r->step[i] = 1; r->step[i] * t->dilation[i] % s != 0;)
            r->step[i]++;
        r->apart[i] = r->step[i] * t->dilation[i] / s;
        if (meet && !add_dilated(l, r, i, taps, before))
            return false;
        for (int64_t f = 0, count; !meet && f < s; f += count) {
            const int64_t rest = ((f + before) % s + s) % s, more = taps % s;
            const int64_t end = f + (rest < more ? more : s) - rest;
            count = (end < s ? end : s) - f;
            add_range(l, r, i, (Range){f, count, taps / s + (rest < more), rest, NULL});
        }
        r->places[i] = s == 1 ? t->out[i] : ix_div(l, ix_add(l, t->out[i], ix(l, s - 1)), ix(l, s));
        r->choices *= r->nranges[i];
        strides += s != 1;
        r->one &= taps == s && before % s == 0 && !meet;
        if (r->choices > MOST_CHOICES)
            return false;
    }
    r->one = r->one && strides;
    return strides + w.rank <= MAX_RANK;
}

// The ranges of a choice.
static void ranges_of(const Phases *r, uint32_t choice, const Range **of)
{
    for (uint32_t i = 0; i < r->rank; choice /= r->nranges[i], i++)
        of[i] = &r->range[i][choice % r->nranges[i]];
}

// t's indices: image, phases of dims with strides, channel, places; or image, channel and phases as
// one, places.
static uint32_t place_of(Lower *l, const Phases *r, Index image, const Index *phase, Index channel,
                         const Index *q, Index *at)
{
    uint32_t n = 0;
    at[n++] = image;
    for (uint32_t i = 0; i < r->rank && !r->one; i++)
        if (r->t->stride[i] != 1)
            at[n++] = phase[i];
    for (uint32_t i = 0; i < r->rank && r->one; i++)
        channel = ix_add(l, ix_scale(l, channel, r->t->stride[i]), phase[i]);
    at[n++] = channel;
    for (uint32_t i = 0; i < r->rank; i++)
        at[n++] = q[i];
    return n;
}

static int64_t window_size(const Phases *r)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < r->rank; i++)
        size *= r->t->stride[i];
    return size;
}

static Tensor buffer_of(Lower *l, const Phases *r, Tensor y)
{
    Index dims[MAX_RANK], counts[MAX_RANK];
    for (uint32_t i = 0; i < r->rank; i++)
        counts[i] = ix(l, r->t->stride[i]);
    uint32_t rank = place_of(l, r, y.dims[0], counts, y.dims[1], r->places, dims);
    if (r->one)
        dims[1] = ix_scale(l, y.dims[1], window_size(r));
    // What a bias is added to later is not rounded before.
    DType t = r->one && has_input(l, 2) ? accumulator(y.dtype) : y.dtype;
    return temp(l, "phases", t, rank, dims);
}

// Channels of x and of w that output channel k sums over: the variable of the sum.
static Index channels_at(Lower *l, Index k, Index *xat, Index *wat)
{
    Tensor x = input(l, 0), w = input(l, 1);
    int64_t group = node_int(l->n, "group", 1);
    Index channels = ix_known(x.dims[1], w.dims[0]);
    Index per_group = ix_div(l, channels, ix(l, group)), c = red(l, per_group);
    Index g = group == 1 ? ix(l, 0) : ix_div(l, k, w.dims[1]);
    xat[1] = wat[0] = ix_add(l, ix_mul(l, g, per_group), c);
    wat[1] = group == 1 ? k : ix_mod(l, k, w.dims[1]);
    return c;
}

// The phase along dim i, of channel and phases as one.
static Index phase_of(Lower *l, const Phases *r, Index one, uint32_t i)
{
    for (uint32_t k = r->rank - 1; k > i; k--)
        one = ix_div(l, one, ix(l, r->t->stride[k]));
    return ix_mod(l, one, ix(l, r->t->stride[i]));
}

// Loops over the part of t that a choice is, and their variables: the places that it stores, and
// how far each phase is from the first of its range.
static void open_part(Lower *l, const Phases *r, const Range *const *of, Tensor to, Index *o,
                      Index *phase)
{
    if (r->one) {
        par_all(l, to, o);
        return;
    }
    Index dims[MAX_RANK];
    Tensor part = to;
    part.dims = memcpy(dims, to.dims, to.rank * sizeof *dims);
    for (uint32_t i = 0, n = 1; i < r->rank; i++)
        if (r->t->stride[i] != 1)
            dims[n++] = ix(l, of[i]->count);
    par_all(l, part, o);
    for (uint32_t i = 0, n = 1; i < r->rank; i++)
        if (r->t->stride[i] != 1) {
            phase[i] = o[n];
            o[n] = ix_add(l, phase[i], ix(l, of[i]->first));
            n++;
        }
}

// An ordinary convolution for each phase of a choice. x is read at q + shift - (taps - 1) *
// dilation + tap * dilation, the window's last tap first.
static void lower_choice(Lower *l, const Phases *r, uint32_t choice, Tensor to)
{
    Tensor x = input(l, 0), w = input(l, 1);
    Index o[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, xat[MAX_RANK] = {0}, wat[MAX_RANK] = {0};
    Index phase[MAX_RANK] = {0};
    const Range *of[MAX_RANK] = {0};
    const Expr *where = NULL;
    DType acc = accumulator(x.dtype);
    bool taps = true;
    ranges_of(r, choice, of);
    kernel(l, "conv_transpose");
    open_part(l, r, of, to, o, phase);
    uint32_t q = to.rank - r->rank;
    Index k = r->one ? ix_div(l, o[1], ix(l, window_size(r))) : o[q - 1];
    vars[0] = channels_at(l, k, xat, wat);
    xat[0] = o[0];
    for (uint32_t i = 0; i < r->rank; i++) {
        int64_t s = r->t->stride[i], d = r->apart[i], last = of[i]->taps - 1;
        taps &= of[i]->taps > 0;
        vars[i + 1] = red(l, ix(l, of[i]->taps));
        Index tap = ix_scale(l, ix_sub(l, ix(l, last), vars[i + 1]), r->step[i]);
        wat[i + 2] = r->one   ? phase_of(l, r, o[1], i)
                     : s == 1 ? tap
                              : ix_add(l, tap, ix_add(l, phase[i], ix(l, of[i]->rest)));
        Index begin = ix_sub(l, of[i]->shift, ix(l, last * d));
        xat[i + 2] = ix_add(l, ix_add(l, o[q + i], begin), ix_scale(l, vars[i + 1], d));
        where = both(l, where, inside(l, xat[i + 2], x.dims[i + 2]));
    }
    const Expr *sum = taps ? reduce_add(l, r->rank + 1, vars, where,
                                        mul(l, cast(l, acc, load(l, x, xat)),
                                            cast(l, acc, load(l, w, wat))))
                           : zero(l, acc),
               *bias = r->one ? NULL : conv_bias_at(l, 2, k, acc);
    store(l, to, o, cast(l, to.dtype, bias ? add(l, sum, bias) : sum));
    kernel_end(l);
}

// y[n,k,o] of t.
static void lower_moves(Lower *l, const Phases *r, Tensor t)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0}, phase[MAX_RANK] = {0}, q[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    DType acc = accumulator(y.dtype);
    kernel(l, "conv_transpose_places");
    par_all(l, y, o);
    const Expr *bias = r->one ? conv_bias_at(l, 2, o[1], acc) : NULL;
    for (uint32_t i = 0; i < r->rank; i++) {
        Index s = ix(l, r->t->stride[i]);
        phase[i] = ix_mod(l, o[i + 2], s);
        q[i] = ix_div(l, o[i + 2], s);
    }
    place_of(l, r, o[0], phase, o[1], q, at);
    const Expr *value = load(l, t, at);
    store(l, y, o, bias ? cast(l, y.dtype, add(l, value, bias)) : value);
    kernel_end(l);
}

static void lower_phases(Lower *l, const Phases *r)
{
    Tensor y = output(l, 0), t = y;
    bool strides = false;
    for (uint32_t i = 0; i < r->rank; i++)
        strides |= r->t->stride[i] != 1;
    if (strides)
        t = buffer_of(l, r, y);
    for (uint32_t choice = 0; choice < (r->one ? 1 : r->choices); choice++)
        lower_choice(l, r, choice, t);
    if (strides)
        lower_moves(l, r, t);
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
    Phases r;
    transposed_of(l->polys, l->n, x.rank - 2, x.dims + 2, w.dims + 2, &t);
    if (x.rank <= 5 && read_phases(l, &t, w, &r))
        lower_phases(l, &r);
    else
        lower_gather(l, &t);
}

const OpDef ops_conv_transpose[] = {
    {"ConvTranspose", 1, infer_conv_transpose, lower_conv_transpose, {NULL}, NULL},
    {0},
};
