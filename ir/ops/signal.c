// Signals: windows, DFT, STFT, MelWeightMatrix. Transforms are fast ones (ir/ops/fourier.h). Along
// an axis that only the program knows, and of an open length where derivatives are asked for, they
// are the defining sums, where the turn of a term is that of (k * n) mod N, an exact integer; a DFT
// has tables of all N turns. Both are taken in float64: where terms cancel, float32 leaves 5e-5 in
// bins that are 0.

#include "ir/ops/fourier.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static DType output_datatype(const Node *n)
{
    return node_dtype(n, "output_datatype", DT_F32);
}

// Element k of integer input i, or a dim found when the program runs.
static Index dim_from_input(Infer *s, uint32_t i, uint32_t k, const char *name)
{
    uint32_t n;
    const Index *at = infer_content(s, i, &n);
    return at && n == 1 ? at[0] : infer_data_dim(s, 0, k, name);
}

// The same in a lowering: the dim, defined where it is one of data.
static Index dim_in_program(Lower *l, uint32_t i, uint32_t k, const char *name)
{
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Index value = input_element(l, i, 0), dim = dim_from_input(&s, i, k, name);
    if (dim != value)
        define_dim(l, dim, ix_max(l, value, ix(l, 0)));
    return dim;
}

// ---- windows

static void infer_window(Infer *s)
{
    Index n = dim_from_input(s, 0, 0, "size");
    infer_shape(s, 0, 1, &n);
    infer_dtype(s, 0, output_datatype(s->n));
}

typedef enum WindowKind { HANN, HAMMING, BLACKMAN } WindowKind;

// a - b cos(2 pi i / N) + c cos(4 pi i / N), N = size, or size - 1 where symmetric. Spec: 17.
static void lower_window(Lower *l)
{
    static const double a[] = {0.5, 25.0 / 46, 0.42}, b[] = {0.5, 21.0 / 46, 0.5},
                        c[] = {0, 0, 0.08};
    Tensor y = output(l, 0);
    WindowKind kind = (WindowKind)l->n->def->fn.mode;
    bool periodic = node_int(l->n, "periodic", 1) != 0;
    DType t = accumulator(y.dtype);
    Index n = dim_in_program(l, 0, 0, "size");
    t = dtype_is_float(t) ? t : DT_F32;
    kernel(l, str_escaped(l->arena, l->n->op).at);
    Index i = par(l, y.dims[0]), at[1] = {i};
    const Expr *size = from_index(l, periodic ? n : ix_addc(l, n, -1), t);
    const Expr *angle = div_(l, mul(l, from_index(l, i, t), num(l, t, 2 * pi)), size);
    const Expr *e = sub(l, num(l, t, a[kind]), mul(l, num(l, t, b[kind]), unary(l, U_COS, angle)));
    if (kind == BLACKMAN)
        e = add(l, e, mul(l, num(l, t, c[kind]), unary(l, U_COS, mul(l, num(l, t, 2), angle))));
    store(l, y, at, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- DFT

enum { LENGTH = 64 }; // the number of the data dim that holds the length of a transform

// Is the signal one of complex numbers? Its last dim, 1 or 2, is compared where it is not known.
typedef enum Parts { PARTS_REAL, PARTS_COMPLEX, PARTS_OPEN } Parts;

typedef struct Dft {
    bool inverse, onesided, axis_known;
    Parts parts;
    uint32_t axis;
    Index length;          // NULL: not settled by an input
    Tensor cosines, sines; // of a length that is not known
} Dft;

// false: an axis that does not fit. An axis that is data leaves axis_known false.
static bool dft_of(Infer *s, int64_t rank, Dft *d)
{
    uint32_t n = 0;
    int64_t axis = node_int(s->n, "axis", s->n->schema && s->n->schema->since >= 20 ? -2 : 1);
    d->inverse = node_int(s->n, "inverse", 0) != 0;
    d->onesided = node_int(s->n, "onesided", 0) != 0;
    d->axis_known = true;
    if (infer_in(s, 2)) {
        const Index *at = infer_content(s, 2, &n);
        d->axis_known = at && n == 1 && poly_is_const(at[0], &axis);
    }
    d->length = infer_in(s, 1) ? dim_from_input(s, 1, LENGTH, "dft_length") : NULL;
    if (d->axis_known && (axis = infer_axis(s, axis, rank)) < 0)
        return false;
    d->axis = (uint32_t)axis;
    return true;
}

// How long the transform of a dim x is, and how many values of it are given out.
static Index dft_length(Polys *p, const Dft *d, Index x)
{
    if (d->length)
        return d->length;
    return d->inverse && d->onesided ? poly_scale(p, poly_add_const(p, x, -1), 2) : x;
}

static Index dft_given(Polys *p, const Dft *d, Index length)
{
    if (!d->onesided || d->inverse)
        return length;
    return poly_add_const(p, poly_floordiv(p, length, poly_const(p, 2)), 1);
}

// A number of a signal is real or complex, as its last dim says.
static bool signal_fits(Infer *s, Index dim)
{
    int64_t parts;
    if (!poly_is_const(dim, &parts) || parts == 1 || parts == 2)
        return true;
    infer_error(s, "the last dimension of the signal is %lld, neither 1 nor 2", (long long)parts);
    return false;
}

static void infer_dft(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    Dft d;
    int64_t length;
    if (!x || x->rank < 2 || x->rank > MAX_RANK || !dft_of(s, x->rank, &d))
        return;
    if (d.length && poly_is_const(d.length, &length) && length < 1) {
        infer_error(s, "dft_length is %lld", (long long)length);
        return;
    }
    if (!signal_fits(s, x->dims[x->rank - 1]))
        return;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (uint32_t k = 0; k + 1 < (uint32_t)x->rank; k++) {
        if (!d.axis_known && (d.onesided || d.length))
            dims[k] = infer_data_dim(s, 0, k, "dft");
        else if (d.axis_known && k == d.axis)
            dims[k] = dft_given(s->polys, &d, dft_length(s->polys, &d, x->dims[k]));
    }
    dims[x->rank - 1] = poly_const(s->polys, d.inverse && d.onesided ? 1 : 2);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// The axis as a number of the program, and a select over the dims it may name.
static const Expr *axis_in_program(Lower *l, const Dft *d, Tensor x)
{
    if (d->axis_known)
        return int_(l, DT_I64, d->axis);
    const Expr *a = expr_index(l->module, input_element(l, 2, 0));
    a = select_(l, lt(l, a, zero(l, DT_I64)), add(l, a, int_(l, DT_I64, x.rank)), a);
    check(l, and_(l, le(l, zero(l, DT_I64), a), lt(l, a, int_(l, DT_I64, (int64_t)x.rank - 1))),
          "DFT: the axis is out of range");
    return a;
}

static Index pick(Lower *l, const Expr *axis, uint32_t k, Index yes, Index no)
{
    if (axis->kind == EX_CONST)
        return axis->value.i == k ? yes : no;
    return to_index(l, select_(l, eq(l, axis, int_(l, DT_I64, k)), expr_index(l->module, yes),
                               expr_index(l->module, no)));
}

static Index fixed_dim(Lower *l, uint32_t k, Index value, const char *name)
{
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Index dim = infer_data_dim(&s, 0, k, name);
    define_dim(l, dim, value);
    return dim;
}

static Parts signal_parts(Lower *l, Index dim)
{
    int64_t parts;
    if (poly_is_const(dim, &parts))
        return parts == 1 ? PARTS_REAL : PARTS_COMPLEX;
    check(l, and_(l, index_le(l, ix(l, 1), dim), index_le(l, dim, ix(l, 2))),
          "%.*s: the last dimension of the signal is neither 1 nor 2",
          STR_ARG(str_escaped(l->arena, l->n->op)));
    return PARTS_OPEN;
}

// The imaginary part at a place; NULL where there is none.
static const Expr *imaginary_at(Lower *l, Tensor x, Parts parts, const Index *place, DType t)
{
    Index at[MAX_RANK] = {0}, dim = x.dims[x.rank - 1];
    if (parts == PARTS_REAL)
        return NULL;
    memcpy(at, place, x.rank * sizeof *at);
    at[x.rank - 1] = ix(l, 1);
    const Expr *im = cast(l, t, load(l, x, at));
    return parts == PARTS_OPEN ? select_(l, index_lt(l, ix(l, 1), dim), im, zero(l, t)) : im;
}

// Cosines and sines of the `length` parts of a turn.
static void turns_of(Lower *l, Index length, Tensor *cosines, Tensor *sines)
{
    *cosines = temp(l, "cosines", DT_F64, 1, &length);
    *sines = temp(l, "sines", DT_F64, 1, &length);
    kernel(l, "turns");
    Index i = par(l, length);
    const Expr *part = mul(l, from_index(l, i, DT_F64), num(l, DT_F64, 2 * pi));
    const Expr *angle = let(l, div_(l, part, from_index(l, length, DT_F64)));
    store(l, *cosines, &i, unary(l, U_COS, angle));
    store(l, *sines, &i, unary(l, U_SIN, angle));
    kernel_end(l);
}

// The sum of one output value: part 0 is the real one. at: the place in x but for dim `axis`.
static const Expr *dft_sum(Lower *l, const Dft *d, Tensor x, const Expr *axis, const Index *o,
                           Index length, Index given, bool imaginary)
{
    Index at[MAX_RANK] = {0}, bin = ix(l, 0), zero_ix = ix(l, 0);
    DType t = DT_F64;
    uint32_t last = x.rank - 1;
    Index n = red(l, given);
    for (uint32_t k = 0; k < last; k++) {
        at[k] = pick(l, axis, k, n, o[k]);
        bin = ix_add(l, bin, pick(l, axis, k, o[k], zero_ix));
    }
    Index turn = ix_mod(l, ix_mul(l, bin, n), length);
    const Expr *c = load(l, d->cosines, &turn), *sn = load(l, d->sines, &turn);
    if (!d->inverse)
        sn = neg(l, sn);
    at[last] = zero_ix;
    const Expr *re = cast(l, t, load(l, x, at));
    const Expr *e = mul(l, re, imaginary ? sn : c);
    const Expr *im = imaginary_at(l, x, d->parts, at, t);
    if (im)
        e = imaginary ? add(l, e, mul(l, im, c)) : sub(l, e, mul(l, im, sn));
    if (d->inverse && d->onesided) { // the other half is the conjugate of this one
        const Expr *alone = or_(l, index_eq(l, n, zero_ix), index_eq(l, ix_scale(l, n, 2), length));
        e = mul(l, e, select_(l, alone, one(l, t), num(l, t, 2)));
    }
    e = reduce_add(l, 1, &n, NULL, e);
    return d->inverse ? div_(l, e, from_index(l, length, t)) : e;
}

// The places of x but for its axis, and the number of each among all of them; the innermost loops
// are that over the axis, of `size`, and that over the last of the others.
static Index open_places(Lower *l, const Dft *d, Tensor x, Index size, Index *o, Index *batch)
{
    uint32_t last = x.rank - 1, inner = d->axis + 1 == last ? d->axis : last;
    Index dims[MAX_RANK] = {0}, at[MAX_RANK] = {0}, along = NULL;
    uint32_t n = 0;
    inner = inner == last ? last - 1 : inner > 0 ? inner - 1 : last;
    for (uint32_t k = 0; k < last; k++) {
        if (k == inner)
            along = par(l, size);
        if (k != d->axis) {
            dims[n] = x.dims[k];
            at[n++] = o[k] = poly_equals(x.dims[k], 1) ? ix(l, 0) : par(l, x.dims[k]);
        }
    }
    along = along ? along : par(l, size);
    o[d->axis] = along;
    *batch = ix_linear(l, n, dims, at);
    return along;
}

static const Expr *part_at(Lower *l, const Dft *d, Tensor x, Index *at, int part)
{
    at[x.rank - 1] = ix(l, 0);
    return part ? imaginary_at(l, x, d->parts, at, DT_F64) : cast(l, DT_F64, load(l, x, at));
}

// Element k of the spectrum or signal x, 0 beyond `given`. Of a spectrum that is given by half the
// other half is the conjugate.
static const Expr *wave_part(Lower *l, const Dft *d, Tensor x, const Index *o, Index given, Index n,
                             int part)
{
    Index at[MAX_RANK] = {0};
    memcpy(at, o, (x.rank - 1) * sizeof *at);
    const Expr *none = zero(l, DT_F64), *there = inside(l, at[d->axis], given);
    if (part && d->parts == PARTS_REAL)
        return none;
    const Expr *e = part_at(l, d, x, at, part);
    if (d->inverse && d->onesided) {
        Index k = at[d->axis], mirror = ix_sub(l, n, k);
        at[d->axis] = mirror;
        const Expr *other = part_at(l, d, x, at, part);
        other = select_(l, inside(l, mirror, given) ? inside(l, mirror, given) : one(l, DT_BOOL),
                        part ? neg(l, other) : other, none);
        return select_(l, index_le(l, ix_scale(l, k, 2), n), there ? select_(l, there, e, none) : e,
                       other);
    }
    return there ? select_(l, there, e, none) : e;
}

// A transform of n elements along a known axis.
static void dft_of_length(Lower *l, const Dft *d, Tensor x, Tensor y, Index n, Index given)
{
    Index o[MAX_RANK] = {0}, b, size = ix(l, 1);
    uint32_t last = x.rank - 1;
    int64_t known;
    for (uint32_t k = 0; k < last; k++)
        size = k == d->axis ? size : ix_mul(l, size, x.dims[k]);
    Waves w = waves_new(l, n, size, d->parts == PARTS_REAL && poly_is_const(n, &known));
    kernel(l, "waves");
    Index k = open_places(l, d, x, n, o, &b), at = waves_at(l, &w, k, b);
    store(l, w.re, &at, wave_part(l, d, x, o, given, n, 0));
    if (w.im.buffer)
        store(l, w.im, &at, wave_part(l, d, x, o, given, n, 1));
    kernel_end(l);
    w = waves_transform(l, w, d->inverse);
    kernel(l, "dft");
    k = open_places(l, d, y, y.dims[d->axis], o, &b);
    at = waves_at(l, &w, k, b);
    for (int part = 0; part < (d->inverse && d->onesided ? 1 : 2); part++) {
        Tensor from = part ? w.im : w.re;
        const Expr *e = from.buffer ? load(l, from, &at) : zero(l, DT_F64);
        e = d->inverse ? div_(l, e, from_index(l, n, DT_F64)) : e;
        o[last] = ix(l, part);
        store(l, y, o, cast(l, y.dtype, e));
    }
    kernel_end(l);
}

static void lower_dft(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Dft d;
    Index o[MAX_RANK] = {0}, own = ix(l, 0), length, given;
    if (!dft_of(&s, x.rank, &d) || (d.axis_known && d.axis + 1 >= x.rank)) {
        not_supported(l, "DFT along its last dimension");
        return;
    }
    d.parts = signal_parts(l, x.dims[x.rank - 1]);
    if (d.length)
        d.length = dim_in_program(l, 1, LENGTH, "dft_length");
    const Expr *axis = axis_in_program(l, &d, x);
    for (uint32_t k = 0; k + 1 < x.rank; k++)
        own = ix_add(l, own, pick(l, axis, k, x.dims[k], ix(l, 0)));
    if (!d.axis_known)
        own = fixed_dim(l, LENGTH + 1, own, "signal");
    length = dft_length(l->polys, &d, own);
    for (uint32_t k = 0; k + 1 < x.rank && !d.axis_known && (d.onesided || d.length); k++)
        define_dim(l, y.dims[k], pick(l, axis, k, dft_given(l->polys, &d, length), x.dims[k]));
    given = ix_min(l, own,
                   d.inverse && d.onesided ? ix_addc(l, ix_div(l, length, ix(l, 2)), 1) : length);
    if (d.axis_known && waves_can(l, length)) {
        dft_of_length(l, &d, x, y, length, given);
        return;
    }
    turns_of(l, length, &d.cosines, &d.sines);
    for (uint32_t part = 0; part < (d.inverse && d.onesided ? 1u : 2u); part++) {
        Tensor half = y;
        half.rank--;
        kernel(l, "dft");
        par_all(l, half, o);
        o[half.rank] = ix(l, part);
        store(l, y, o, cast(l, y.dtype, dft_sum(l, &d, x, axis, o, length, given, part == 1)));
        kernel_end(l);
    }
}

// ---- STFT

// Frames of `length` samples, `step` apart. Spec: STFT-17.
static Index stft_frames(Polys *p, Index samples, Index length, Index step)
{
    Index n = poly_floordiv(p, poly_sub(p, samples, length), step);
    return poly_max(p, poly_const(p, 0), poly_add_const(p, n, 1));
}

static void infer_stft(Infer *s)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, 2);
    bool onesided = node_int(s->n, "onesided", 1) != 0;
    if (!x || x->rank < 2 || (x->rank == 3 && !signal_fits(s, x->dims[2])))
        return;
    Index step = dim_from_input(s, 1, LENGTH, "frame_step"), length = NULL;
    if (infer_in(s, 3))
        length = dim_from_input(s, 3, LENGTH + 1, "frame_length");
    else if (w && w->rank == 1)
        length = w->dims[0];
    if (!length) {
        infer_error(s, "neither a window nor a frame length is given");
        return;
    }
    int64_t known, size;
    if ((poly_is_const(step, &known) && known < 1) || (poly_is_const(length, &size) && size < 1)) {
        infer_error(s, "the frame step or the frame length is not positive");
        return;
    }
    Index frames = poly_is_const(step, &known) ? stft_frames(s->polys, x->dims[1], length, step)
                                               : infer_data_dim(s, 0, 1, "frames");
    Index bins =
        onesided
            ? poly_add_const(s->polys, poly_floordiv(s->polys, length, poly_const(s->polys, 2)), 1)
            : length;
    Index dims[4] = {x->dims[0], frames, bins, poly_const(s->polys, 2)};
    infer_shape(s, 0, 4, dims);
}

// Frames of n samples of x, times the window.
static Waves stft_waves(Lower *l, Tensor x, Tensor w, Index n, Index frames, Index step,
                        Parts parts)
{
    int64_t known;
    bool real = parts == PARTS_REAL && poly_is_const(n, &known);
    Waves waves = waves_new(l, n, ix_mul(l, x.dims[0], frames), real);
    kernel(l, "frames");
    Index s = poly_equals(x.dims[0], 1) ? ix(l, 0) : par(l, x.dims[0]), k = par(l, n),
          f = par(l, frames), at[3] = {s, ix_add(l, ix_mul(l, f, step), k), ix(l, 0)};
    Index to = waves_at(l, &waves, k, ix_add(l, ix_mul(l, s, frames), f));
    for (int part = 0; part < (real ? 1 : 2); part++) {
        const Expr *e =
            part ? imaginary_at(l, x, parts, at, DT_F64) : cast(l, DT_F64, load(l, x, at));
        if (w.buffer && e)
            e = mul(l, e, cast(l, DT_F64, load(l, w, &k)));
        store(l, part ? waves.im : waves.re, &to, e ? e : zero(l, DT_F64));
    }
    kernel_end(l);
    return waves;
}

static void stft_of_length(Lower *l, Tensor x, Tensor w, Tensor y, Index n, Index step, Parts parts)
{
    Waves waves = stft_waves(l, x, w, n, y.dims[1], step, parts);
    waves = waves_transform(l, waves, false);
    Tensor half = y;
    Index o[4] = {0};
    half.rank = 3;
    kernel(l, "stft");
    par_all(l, half, o);
    Index at = waves_at(l, &waves, o[2], ix_add(l, ix_mul(l, o[0], y.dims[1]), o[1]));
    for (int part = 0; part < 2; part++) {
        Tensor from = part ? waves.im : waves.re;
        o[3] = ix(l, part);
        store(l, y, o, cast(l, y.dtype, from.buffer ? load(l, from, &at) : zero(l, DT_F64)));
    }
    kernel_end(l);
}

static void lower_stft(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 2), y = output(l, 0);
    Index o[4] = {0}, at[3] = {0}, zero_ix = ix(l, 0);
    DType t = DT_F64;
    Index step = dim_in_program(l, 1, LENGTH, "frame_step"),
          length = has_input(l, 3) ? dim_in_program(l, 3, LENGTH + 1, "frame_length") : w.dims[0];
    int64_t known;
    Parts parts = x.rank == 3 ? signal_parts(l, x.dims[2]) : PARTS_REAL;
    check(l, index_lt(l, zero_ix, step), "STFT: the frame step is not positive");
    if (!poly_is_const(step, &known))
        define_dim(l, y.dims[1], stft_frames(l->polys, x.dims[1], length, step));
    if (w.buffer)
        check(l, index_eq(l, w.dims[0], length), "STFT: the window is not as long as a frame");
    if (waves_can(l, length)) {
        stft_of_length(l, x, w, y, length, step, parts);
        return;
    }
    for (uint32_t part = 0; part < 2; part++) {
        Tensor half = y;
        half.rank = 3;
        kernel(l, "stft");
        par_all(l, half, o);
        o[3] = ix(l, part);
        Index n = red(l, length);
        const Expr *turn = from_index(l, ix_mod(l, ix_mul(l, o[2], n), length), t),
                   *angle = div_(l, mul(l, turn, num(l, t, 2 * pi)), from_index(l, length, t)),
                   *c = unary(l, U_COS, angle), *sn = neg(l, unary(l, U_SIN, angle));
        at[0] = o[0];
        at[1] = ix_add(l, ix_mul(l, o[1], step), n);
        at[2] = zero_ix;
        const Expr *e = mul(l, cast(l, t, load(l, x, at)), part ? sn : c);
        const Expr *im = imaginary_at(l, x, parts, at, t);
        if (im)
            e = part ? add(l, e, mul(l, im, c)) : sub(l, e, mul(l, im, sn));
        if (w.buffer)
            e = mul(l, e, cast(l, t, load(l, w, &n)));
        store(l, y, o, cast(l, y.dtype, reduce_add(l, 1, &n, NULL, e)));
        kernel_end(l);
    }
}

// ---- MelWeightMatrix

static void infer_mel(Infer *s)
{
    uint32_t n;
    const Index *length = infer_content(s, 1, &n);
    Polys *p = s->polys;
    Index dims[2] = {length && n == 1
                         ? poly_add_const(p, poly_floordiv(p, length[0], poly_const(p, 2)), 1)
                         : infer_data_dim(s, 0, 0, "spectrogram_bins"),
                     dim_from_input(s, 0, 1, "mel_bins")};
    infer_shape(s, 0, 2, dims);
    infer_dtype(s, 0, output_datatype(s->n));
}

// The spectrogram bin where edge k of the triangles lies: the edges are evenly spaced in mel.
static const Expr *mel_edge(Lower *l, Index k, Index bins, Index length)
{
    DType t = DT_F64;
    const Expr *hz[2], *at[2], *ten = num(l, t, 10);
    for (uint32_t i = 0; i < 2; i++) {
        hz[i] = cast(l, t, load(l, input(l, 3 + i), NULL));
        const Expr *ratio = add(l, one(l, t), div_(l, hz[i], num(l, t, 700)));
        at[i] = mul(l, num(l, t, 2595 / log(10)), log_(l, ratio));
    }
    const Expr *step = div_(l, sub(l, at[1], at[0]), from_index(l, ix_addc(l, bins, 2), t));
    const Expr *mel = add(l, mul(l, from_index(l, k, t), step), at[0]);
    const Expr *f =
        mul(l, num(l, t, 700), sub(l, pow_(l, ten, div_(l, mel, num(l, t, 2595))), one(l, t)));
    const Expr *rate = cast(l, t, load(l, input(l, 2), NULL));
    f = div_(l, mul(l, from_index(l, ix_addc(l, length, 1), t), f), rate);
    return unary(l, U_FLOOR, f);
}

// Triangles over the bins of a spectrogram. Spec: MelWeightMatrix-17.
static void lower_mel(Lower *l)
{
    Tensor y = output(l, 0);
    Index bins = dim_in_program(l, 0, 1, "mel_bins"), length = input_element(l, 1, 0);
    DType t = DT_F64;
    define_dim(l, y.dims[0], ix_addc(l, ix_div(l, length, ix(l, 2)), 1));
    Index o[2] = {0}, nedges = ix_addc(l, bins, 2);
    Tensor edges = temp(l, "edges", t, 1, &nedges);
    kernel(l, "mel_edges");
    Index k = par(l, nedges);
    store(l, edges, &k, mel_edge(l, k, bins, length));
    kernel_end(l);
    kernel(l, "mel_weight_matrix");
    par_all(l, y, o);
    const Expr *edge[3], *j = from_index(l, o[0], t);
    for (int i = 0; i < 3; i++) {
        k = ix_addc(l, o[1], i);
        edge[i] = let(l, load(l, edges, &k));
    }
    const Expr *low = edge[0], *mid = edge[1], *high = edge[2];
    const Expr *up = select_(l, eq(l, low, mid), one(l, t),
                             div_(l, sub(l, j, low), sub(l, mid, low))),
               *down = div_(l, sub(l, high, j), sub(l, high, mid));
    const Expr *rises = and_(l, le(l, low, j), le(l, j, mid)),
               *falls = and_(l, le(l, mid, j), lt(l, j, high));
    const Expr *e = select_(l, falls, down, select_(l, rises, up, zero(l, t)));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

const OpDef ops_signal[] = {
    {"HannWindow", 17, infer_window, lower_window, {.mode = HANN}, NULL},
    {"HammingWindow", 17, infer_window, lower_window, {.mode = HAMMING}, NULL},
    {"BlackmanWindow", 17, infer_window, lower_window, {.mode = BLACKMAN}, NULL},
    {"DFT", 17, infer_dft, lower_dft, {NULL}, NULL},
    {"STFT", 17, infer_stft, lower_stft, {NULL}, NULL},
    {"MelWeightMatrix", 17, infer_mel, lower_mel, {NULL}, NULL},
    {0},
};
