// Resize and Upsample: each output place is mapped to a place in the input, and the neighbours are
// weighted.
//
// Separable: along each axis an output reads `taps` input elements with weights that add up to 1.
// The tables of weights and places are computed by kernels of their own, one line for each output
// place, so that what depends on scales read from data works too. Spec: Resize-19.

#include "ir/interp_state.h"
#include "ir/ops/common.h"

#include <math.h>
#include <string.h>

typedef struct Axis {
    const Expr *scale; // output size / input size, float64
    Index taps;        // NULL: the axis is copied
    Tensor weight;     // [taps, out]; absent for nearest
    Tensor place;      // [taps, out] int32; absent where up or down is given
    int64_t up, down;  // nearest: element o is x[o div up], or x[o * down + shift]; 0: by place
    int64_t shift;
    bool done; // x is resized along this axis already
} Axis;

enum {
    SIZES_FIRST_OPSET = 11,
    MAX_SHRINK =
        1 << 16 // by an antialiased reduction, whose table has 2 to 4 taps for each element
};

static uint32_t scales_slot(int64_t opset)
{
    return opset < SIZES_FIRST_OPSET ? 1 : 2;
}

static bool is_given(const Model *m, const Node *n, uint32_t i)
{
    if (i >= n->nin || !n->in[i])
        return false;
    const Value *v = value_at(m, n->in[i]);
    return !(v->constant && tensor_count(v->constant) == 0);
}

// Which dims an entry of scales, sizes or roi is for; -1: none.
static int slot_of(const Node *n, uint32_t dim, uint32_t rank, uint32_t *count)
{
    const int64_t *axes;
    uint32_t len;
    *count = rank;
    if (!node_ints(n, "axes", &axes, &len))
        return (int)dim;
    *count = len;
    for (uint32_t k = 0; k < len; k++)
        if ((axes[k] < 0 ? axes[k] + rank : axes[k]) == dim)
            return (int)k;
    return -1;
}

static bool constant_scale(Infer *s, uint32_t i, uint32_t k, double *scale)
{
    const TensorData *data;
    const float *list;
    uint32_t n;
    if (node_floats(s->n, "scales", &list, &n) && k < n) { // Upsample-7
        *scale = (double)list[k];
        return true;
    }
    const unsigned char *at = infer_constant(s, i, &data);
    if (!at || k >= tensor_count(data))
        return false;
    *scale = scalar_load((DType)data->dtype, at + k * dtype_info((DType)data->dtype)->bytes).f;
    return true;
}

// Half up; what no tensor has is refused as too large.
static Index rounded_size(Polys *p, double size)
{
    size = floor(size + 0.5);
    return poly_const(p, size >= 0 && size < 0x1p62 ? (int64_t)size : INT64_MAX);
}

// The dims that sizes ask for where the aspect ratio is kept: all of them change by the least or
// greatest of the axes' scales. Dims that only the running program knows are data dims.
static void sizes_with_policy(Infer *s, const Value *x, const Index *sizes, Index *dims)
{
    bool larger = str_is(node_str(s->n, "keep_aspect_ratio_policy", ""), "not_larger");
    bool known = true;
    double best = larger ? INFINITY : -INFINITY;
    uint32_t count, rank = (uint32_t)x->rank;
    for (uint32_t i = 0; i < rank; i++) {
        int k = slot_of(s->n, i, rank, &count);
        int64_t want, have;
        if (k < 0)
            continue;
        if (!poly_is_const(sizes[k], &want) || !poly_is_const(x->dims[i], &have) || have == 0) {
            known = false;
            continue;
        }
        double scale = (double)want / (double)have;
        best = larger ? fmin(best, scale) : fmax(best, scale);
    }
    for (uint32_t i = 0; i < rank; i++) {
        int64_t have = 0;
        if (slot_of(s->n, i, rank, &count) < 0)
            continue;
        if (known && poly_is_const(x->dims[i], &have))
            dims[i] = rounded_size(s->polys, best * (double)have);
        else
            dims[i] = infer_data_dim(s, 0, i, "resized");
    }
}

static void infer_sizes(Infer *s, const Value *x, const Index *sizes, Index *dims)
{
    uint32_t count;
    if (!str_is(node_str(s->n, "keep_aspect_ratio_policy", "stretch"), "stretch")) {
        sizes_with_policy(s, x, sizes, dims);
        return;
    }
    for (uint32_t i = 0; i < (uint32_t)x->rank; i++) {
        int k = slot_of(s->n, i, (uint32_t)x->rank, &count);
        if (k >= 0)
            dims[i] = sizes[k];
    }
}

// One scale or size for each axis that is resized, and each axis a dim of x, once.
static bool resized_axes_fit(Infer *s, uint32_t rank, uint32_t slot)
{
    const int64_t *axes;
    const float *list;
    uint32_t count, n, seen = 0;
    slot_of(s->n, 0, rank, &count);
    if (node_ints(s->n, "axes", &axes, &n))
        for (uint32_t k = 0; k < n; k++) {
            int64_t a = infer_axis(s, axes[k], rank);
            if (a < 0)
                return false;
            if (seen >> a & 1)
                infer_error(s, "axis %lld is given twice", (long long)a);
            seen |= 1u << a;
        }
    if (node_floats(s->n, "scales", &list, &n) && n != count)
        infer_error(s, "there are %u scales for %u dimensions", n, count);
    if (is_given(s->model, s->n, slot) && infer_rank(s, slot) != 1) {
        infer_error(s, "input %u has rank %d, not 1", slot, infer_rank(s, slot));
        return false;
    }
    Index want = poly_const(s->polys, count), corners = poly_const(s->polys, 2 * (int64_t)count);
    if (is_given(s->model, s->n, slot))
        infer_fits(s, slot, 1, &want);
    bool cropped =
        str_is(node_str(s->n, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
    if (cropped && slot != 1)
        infer_fits(s, 1, 1, &corners);
    return !s->failed;
}

// Float32, in which scales are given, has every whole number below.
static const double WHOLE_BELOW = 1 << 24;

// What a scale asks for, as scaled_length has it: 1.4 is a little less in float32, 5 * 1.4 is 7.
static int64_t resized_length(int64_t in, double scale)
{
    const double length = (double)in * scale;
    return (int64_t)floor(length < WHOLE_BELOW ? (double)(float)length : length);
}

static void infer_resize(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t n, count, slot = scales_slot(opset_of(s->model, s->n));
    if (!x || x->rank < 1 || x->rank > MAX_RANK)
        return;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    bool by_size = is_given(s->model, s->n, 3);
    if (!resized_axes_fit(s, (uint32_t)x->rank, by_size ? 3 : slot))
        return;
    const Index *sizes = by_size ? infer_content(s, 3, &n) : NULL;
    if (sizes) {
        infer_sizes(s, x, sizes, dims);
    } else {
        for (int32_t i = 0; i < x->rank; i++) {
            double scale;
            int64_t d;
            int k = slot_of(s->n, (uint32_t)i, (uint32_t)x->rank, &count);
            if (k < 0)
                continue;
            bool known = !by_size && constant_scale(s, slot, (uint32_t)k, &scale);
            if (known && !(scale > 0 && scale < INT32_MAX)) {
                infer_error(s, "a scale is %g", scale);
                return;
            }
            if (known && poly_is_const(x->dims[i], &d) && d <= INT32_MAX)
                dims[i] = poly_const(s->polys, resized_length(d, scale));
            else if (known && scale == floor(scale) && scale < 65536)
                dims[i] = poly_scale(s->polys, x->dims[i], (int64_t)scale);
            else
                dims[i] = infer_data_dim(s, 0, (uint32_t)i, "resized");
        }
    }
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// ---- coordinates

static const Expr *element_f64(Lower *l, uint32_t i, uint32_t k)
{
    Tensor t = input(l, i);
    Index at[1] = {ix(l, k)};
    return cast(l, DT_F64, load(l, t, at));
}

static const Expr *f64(Lower *l, double v)
{
    return num(l, DT_F64, v);
}

static const Expr *size_f64(Lower *l, Index i)
{
    return cast(l, DT_F64, expr_index(l->module, i));
}

static const Expr *rounded(Lower *l, const Expr *e)
{
    return cast(l, DT_F64, cast(l, DT_F32, e));
}

// The length that a scale asks for, before it is rounded down.
static const Expr *scaled_length(Lower *l, Index in, const Expr *scale)
{
    const Expr *length = mul(l, size_f64(l, in), scale);
    return select_(l, lt(l, length, f64(l, WHOLE_BELOW)), rounded(l, length), length);
}

// A place, which the nearest element is taken of as it is in float32: 3 / 0.6 is 5, not a little
// less, where another element would be nearest. What is interpolated needs no such care.
static const Expr *placed(Lower *l, const Expr *e)
{
    return str_is(node_str(l->n, "mode", "nearest"), "nearest") ? rounded(l, e) : e;
}

// The place in the input that output o stands for, as a real number. out is the length that the
// scale asks for, whole what it was rounded to.
static const Expr *source(Lower *l, Str mode, const Expr *o, const Expr *in, const Expr *out,
                          const Expr *whole, const Expr *scale, uint32_t k, uint32_t count)
{
    const Expr *half = f64(l, 0.5), *one64 = f64(l, 1), *z = f64(l, 0);
    if (str_is(mode, "asymmetric"))
        return placed(l, div_(l, o, scale));
    if (str_is(mode, "align_corners")) {
        const Expr *step = div_(l, sub(l, in, one64), sub(l, out, one64));
        return select_(l, eq(l, out, one64), z, placed(l, mul(l, o, step)));
    }
    if (str_is(mode, "tf_crop_and_resize")) {
        const Expr *from = element_f64(l, 1, k), *to = element_f64(l, 1, k + count),
                   *last = sub(l, in, one64);
        const Expr *step = div_(l, mul(l, sub(l, to, from), last), sub(l, out, one64));
        const Expr *many = add(l, mul(l, from, last), mul(l, o, step));
        return select_(l, lt(l, one64, out), many, mul(l, half, mul(l, add(l, from, to), last)));
    }
    const Expr *over = placed(l, div_(l, add(l, o, half), scale)), *centre = sub(l, over, half);
    if (str_is(mode, "pytorch_half_pixel"))
        return select_(l, lt(l, one64, out), centre, z);
    if (str_is(mode, "tf_half_pixel_for_nn"))
        return over;
    if (str_is(mode, "half_pixel_symmetric")) { // the rounding of the length is shared by both ends
        const Expr *adjust = div_(l, whole, out), *middle = mul(l, in, half);
        return add(l, mul(l, middle, sub(l, one64, adjust)), centre);
    }
    return centre;
}

static const Expr *nearest(Lower *l, Str mode, const Expr *x)
{
    const Expr *half = f64(l, 0.5);
    if (str_is(mode, "floor"))
        return unary(l, U_FLOOR, x);
    if (str_is(mode, "ceil"))
        return unary(l, U_CEIL, x);
    if (str_is(mode, "round_prefer_ceil"))
        return unary(l, U_FLOOR, add(l, x, half));
    return unary(l, U_CEIL, sub(l, x, half)); // round_prefer_floor
}

// The place that the nearest element has, as a number; below 0 and beyond x not clamped.
static const Expr *nearest_place(Lower *l, Axis *a, Str coordinates, const Expr *o, Index in,
                                 Index out, uint32_t k, uint32_t count)
{
    const Expr *in64 = size_f64(l, in), *length = scaled_length(l, in, a->scale);
    Str mode = opset_of(l->model, l->n) < SIZES_FIRST_OPSET
                   ? STR("floor")
                   : node_str(l->n, "nearest_mode", "round_prefer_floor");
    return nearest(l, mode,
                   source(l, coordinates, o, in64, length, size_f64(l, out), a->scale, k, count));
}

static bool is_open(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_DIM || a->kind == ATOM_EXPR;
}

static int64_t the_variable(void *context, const Atom *a)
{
    (void)a;
    return *(const int64_t *)context;
}

// The value of e where its one loop variable is o; false if the program decides it.
static bool number_at(const Expr *e, int64_t o, Scalar *v)
{
    Scalar a, b;
    switch (e->kind) {
    case EX_CONST:
        *v = e->value;
        return true;
    case EX_INDEX:
        v->i = poly_any(e->index, is_open, NULL) ? 0 : poly_eval(e->index, the_variable, &o);
        return !poly_any(e->index, is_open, NULL);
    case EX_CAST:
        if (!number_at(e->a, o, &a))
            return false;
        *v = scalar_cast(e->a->dtype, e->dtype, a, e->saturate);
        return true;
    case EX_UNARY:
        if (!number_at(e->a, o, &a))
            return false;
        *v = scalar_unary((UnaryOp)e->op, e->a->dtype, a);
        return true;
    case EX_BINARY:
        if (!number_at(e->a, o, &a) || !number_at(e->b, o, &b))
            return false;
        *v = scalar_binary((BinaryOp)e->op, e->a->dtype, a, b);
        return true;
    case EX_COMPARE:
        if (!number_at(e->a, o, &a) || !number_at(e->b, o, &b))
            return false;
        v->i = scalar_compare((CompareOp)e->op, e->a->dtype, a, b);
        return true;
    case EX_SELECT:
        return number_at(e->a, o, &a) && number_at(a.i ? e->b : e->c, o, v);
    default:
        return false;
    }
}

enum { PROVED = 4096, MOST = 256 }; // elements whose places are computed now; the largest factor

// Are the places those of repeated elements, or of every down-th one? Of a whole number of
// repetitions the places of four elements say those of all: where elements change, a place is at
// least half a step from where it would be rounded otherwise.
static bool regular_places(Lower *l, Axis *a, double scale, Str coordinates, Index in, Index out,
                           uint32_t k, uint32_t count)
{
    int64_t x = 0, y = 0;
    bool known = poly_is_const(in, &x) && poly_is_const(out, &y);
    if (known ? x < 1 || y < 1 : scale != floor(scale))
        return false;
    int64_t up = known ? (y % x == 0 ? y / x : 0) : (int64_t)scale,
            down = known && x % y == 0 ? x / y : 0;
    if ((up < 1 && down < 1) || up > MOST || down > MOST || (known && y > PROVED) ||
        (up && (scale != (double)up || out != poly_scale(l->polys, in, up))))
        return false;
    const Expr *e = nearest_place(l, a, coordinates, size_f64(l, red(l, out)), in, out, k, count);
    for (int64_t o = 0; o < (known ? y : 4 * up); o++) {
        Scalar v;
        if (!number_at(e, o, &v))
            return false;
        double p = v.f, last = known ? (double)(x - 1) : (double)o;
        int64_t place = (int64_t)fmin(fmax(p, 0), last);
        if (o == 0)
            a->shift = up ? 0 : place;
        if (place != (up ? o / up : o * down + a->shift))
            return false;
    }
    a->up = up;
    a->down = up ? 0 : down;
    return true;
}

// The weight of an element at distance d (in units of the filter). Keys' cubic, or the triangle.
static const Expr *filter(Lower *l, bool cubic, const Expr *d)
{
    const Expr *x = abs_(l, d), *one64 = f64(l, 1);
    if (!cubic)
        return max_(l, f64(l, 0), sub(l, one64, x));
    const Expr *a = num(l, DT_F64, node_float(l->n, "cubic_coeff_a", -0.75)), *x2 = mul(l, x, x),
               *x3 = mul(l, x2, x);
    const Expr *near_ =
        add(l, sub(l, mul(l, add(l, a, f64(l, 2)), x3), mul(l, add(l, a, f64(l, 3)), x2)), one64);
    const Expr *far_ = sub(l, mul(l, a, x3), mul(l, mul(l, f64(l, 5), a), x2));
    far_ = sub(l, add(l, far_, mul(l, mul(l, f64(l, 8), a), x)), mul(l, f64(l, 4), a));
    return select_(l, le(l, x, one64), near_, select_(l, lt(l, x, f64(l, 2)), far_, f64(l, 0)));
}

typedef struct Line {
    const Expr *x, *first,
        *stretch; // place in the input, first tap, 1 or the scale of an antialiased reduction
    bool cubic, exclude;
} Line;

static const Expr *tap_weight(Lower *l, const Line *line, Index tap, const Expr *in)
{
    const Expr *p = add(l, line->first, cast(l, DT_F64, expr_index(l->module, tap)));
    const Expr *w = filter(l, line->cubic, mul(l, sub(l, p, line->x), line->stretch));
    if (!line->exclude)
        return w;
    const Expr *in_range = and_(l, le(l, f64(l, 0), p), lt(l, p, in));
    return select_(l, in_range, w, f64(l, 0));
}

// In which type sums are taken: what becomes whole numbers is rounded from float64.
static DType sum_type(DType t)
{
    return dtype_is_complex(t) ? DT_C128 : dtype_is_float(t) ? accumulator(t) : DT_F64;
}

// Tables of one axis: for each output the taps' places (clamped) and weights (normalised).
static void build_tables(Lower *l, Axis *a, Index in, Index out, Str coordinates, uint32_t k,
                         uint32_t count, bool antialias)
{
    bool near_ = str_is(node_str(l->n, "mode", "nearest"), "nearest"),
         cubic = str_is(node_str(l->n, "mode", ""), "cubic");
    DType t = sum_type(output(l, 0).dtype) == DT_F32 ? DT_F32 : DT_F64;
    Index dims[2] = {a->taps, out};
    const Expr *in64 = size_f64(l, in), *z = f64(l, 0), *last = sub(l, in64, f64(l, 1));
    a->place = temp(l, "places", DT_I32, 2, dims);
    if (!near_)
        a->weight = temp(l, "weights", t, 2, dims);
    kernel(l, "resize_table");
    Index o = par(l, out), tap = par(l, a->taps), at[2] = {tap, o};
    // The resized length that the formulas mean is the real one, before it is rounded down.
    const Expr *length = scaled_length(l, in, a->scale), *o64 = size_f64(l, o), *p;
    const Expr *x = source(l, coordinates, o64, in64, length, size_f64(l, out), a->scale, k, count);
    if (near_) {
        p = nearest_place(l, a, coordinates, o64, in, out, k, count);
    } else {
        const Expr *stretch = antialias ? min_(l, a->scale, f64(l, 1)) : f64(l, 1);
        const Expr *radius = div_(l, f64(l, cubic ? 2 : 1), stretch);
        Line line = {.x = x, .stretch = stretch, .cubic = cubic};
        line.exclude = node_int(l->n, "exclude_outside", 0) != 0;
        line.first = add(l, unary(l, U_FLOOR, sub(l, x, radius)), f64(l, 1));
        Index r = red(l, a->taps);
        const Expr *total = reduce_add(l, 1, &r, NULL, tap_weight(l, &line, r, in64));
        store(l, a->weight, at, cast(l, t, div_(l, tap_weight(l, &line, tap, in64), total)));
        p = add(l, line.first, cast(l, DT_F64, expr_index(l->module, tap)));
    }
    bool marks = str_is(coordinates, "tf_crop_and_resize");
    const Expr *place = cast(l, DT_I32, min_(l, max_(l, p, z), last));
    if (marks) // outside of the input: the extrapolation value
        place = select_(l, or_(l, lt(l, x, z), lt(l, last, x)), int_(l, DT_I32, -1), place);
    store(l, a->place, at, place);
    kernel_end(l);
}

enum { TAPS = 32 }; // data dims from here on hold the taps of antialiased axes

// How many neighbours a place reads. A filter that is stretched to the scale of a reduction has
// more; where there is any output, that scale is at least 1 / (2 in).
static Index tap_count(Lower *l, const Axis *a, uint32_t i, Index in, bool near_, bool antialias)
{
    bool cubic = str_is(node_str(l->n, "mode", ""), "cubic");
    if (near_ || !antialias)
        return ix(l, near_ ? 1 : cubic ? 4 : 2);
    const Expr *stretch = min_(l, a->scale, f64(l, 1));
    const Expr *n = add(l, unary(l, U_CEIL, div_(l, f64(l, cubic ? 4 : 2), stretch)), f64(l, 1));
    n = cast(l, DT_I64, min_(l, n, size_f64(l, ix_addc(l, ix_scale(l, in, 8), 1))));
    Index taps = ix_max(l, ix(l, 1), to_index(l, n));
    if (poly_is_const(taps, NULL))
        return taps;
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Index dim = infer_data_dim(&s, 0, TAPS + i, "taps");
    define_dim(l, dim, taps);
    return dim;
}

enum { WRITTEN_OUT = 4 }; // taps: a sum of so few is no loop, so that compilers see neighbours

// Where in x a tap of an axis is. Where lines of the output are marked as outside, any place will
// do.
static Index tap_place(Lower *l, const Axis *a, const Index *tap, bool marks)
{
    const Expr *place = load(l, a->place, tap);
    return to_index(l, cast(l, DT_I64, marks ? max_(l, zero(l, DT_I32), place) : place));
}

// Sum over the taps of one axis of its weights times x; at: x's place, but of that axis y's.
static const Expr *weighted(Lower *l, Tensor x, const Index *at, uint32_t i, const Axis *a, DType t,
                            bool marks)
{
    Index from[MAX_RANK], tap[2] = {NULL, at[i]};
    const Expr *sum = NULL;
    int64_t taps;
    bool few = poly_is_const(a->taps, &taps) && taps <= WRITTEN_OUT;
    memcpy(from, at, x.rank * sizeof *from);
    for (int64_t k = 0; k < (few ? taps : 1); k++) {
        tap[0] = few ? ix(l, k) : red(l, a->taps);
        from[i] = tap_place(l, a, tap, marks);
        const Expr *w = cast(l, t, load(l, a->weight, tap));
        const Expr *e = mul(l, w, cast(l, t, load(l, x, from)));
        sum = sum ? add(l, sum, e) : e;
    }
    return few ? sum : reduce_add(l, 1, tap, NULL, sum);
}

// Elements of the last axis are gathered one by one, of others by rows: does x have no more rows
// than y, as far as is known?
static bool rows_grow(Tensor x, Tensor y, const Axis *axes)
{
    double growth = 1;
    for (uint32_t i = 0; i + 1 < x.rank; i++) {
        int64_t in, out;
        if (axes[i].weight.buffer && poly_is_const(x.dims[i], &in) &&
            poly_is_const(y.dims[i], &out) && in > 0)
            growth *= (double)out / (double)in;
    }
    return growth >= 1;
}

// Axes with weights but one, one after another: each is a sum over its own taps alone, where all at
// once would be one over their products. What is gathered goes where it is fewest.
static Tensor combine_first(Lower *l, Tensor x, Tensor y, Axis *axes, DType t, bool marks)
{
    uint32_t left = 0;
    Index dims[MAX_RANK], o[MAX_RANK] = {0};
    memcpy(dims, x.dims, x.rank * sizeof *dims);
    for (uint32_t i = 0; i < x.rank; i++)
        left += axes[i].weight.buffer != 0;
    bool backwards = rows_grow(x, y, axes);
    for (uint32_t k = 0; k < x.rank && left > 1; k++) {
        uint32_t i = backwards ? x.rank - 1 - k : k;
        if (!axes[i].weight.buffer)
            continue;
        dims[i] = y.dims[i];
        Tensor part = temp(l, "resized", t, x.rank, dims);
        kernel(l, "resize_axis");
        par_all(l, part, o);
        store(l, part, o, weighted(l, x, o, i, &axes[i], t, marks));
        kernel_end(l);
        axes[i].done = true;
        x = part;
        left--;
    }
    return x;
}

// y[o] = sum over taps of the product of the axes' weights times x at their places.
static void combine(Lower *l, Tensor x, Tensor y, Axis *axes, bool marks)
{
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, first[2] = {ix(l, 0)};
    uint32_t last = x.rank; // the axis whose weights are left
    const Expr *inside_all = NULL, *e;
    DType t = sum_type(y.dtype);
    x = combine_first(l, x, y, axes, t, marks);
    kernel(l, "resize");
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++) {
        const Axis *a = &axes[i];
        first[1] = at[i] = o[i];
        if (a->up)
            at[i] = ix_div(l, o[i], ix(l, a->up));
        else if (a->down)
            at[i] = ix_addc(l, ix_scale(l, o[i], a->down), a->shift);
        if (!a->taps)
            continue;
        if (marks) // one tap decides for all: a mark stands in every tap of its line
            inside_all = both(l, inside_all, le(l, zero(l, DT_I32), load(l, a->place, first)));
        if (!a->weight.buffer)
            at[i] = tap_place(l, a, first, marks);
        else if (!a->done)
            last = i;
    }
    e = last < x.rank ? weighted(l, x, at, last, &axes[last], t, marks) : load(l, x, at);
    if (last < x.rank && (dtype_is_integer(y.dtype) || y.dtype == DT_BOOL)) {
        const Expr *low = f64(l, y.dtype == DT_U8 ? 0 : y.dtype == DT_I8 ? -128 : -INFINITY);
        const Expr *high = f64(l, y.dtype == DT_U8 ? 255 : y.dtype == DT_I8 ? 127 : INFINITY);
        e = min_(l, max_(l, unary(l, U_ROUND, e), low), high);
    }
    e = last < x.rank ? cast(l, y.dtype, e) : e;
    if (inside_all)
        e = select_(l, inside_all, e, num(l, y.dtype, node_float(l->n, "extrapolation_value", 0)));
    store(l, y, o, e);
    kernel_end(l);
}

// The scale that sizes ask for: of this axis alone, or the least or greatest of all axes where the
// aspect ratio is kept.
static const Expr *size_scale(Lower *l, Tensor x, uint32_t i, uint32_t k)
{
    Str policy = node_str(l->n, "keep_aspect_ratio_policy", "stretch");
    uint32_t count;
    const Expr *best = NULL;
    if (str_is(policy, "stretch"))
        return div_(l, size_f64(l, input_element(l, 3, k)), size_f64(l, x.dims[i]));
    for (uint32_t d = 0; d < x.rank; d++) {
        int at = slot_of(l->n, d, x.rank, &count);
        if (at < 0)
            continue;
        const Expr *e =
            div_(l, size_f64(l, input_element(l, 3, (uint32_t)at)), size_f64(l, x.dims[d]));
        best = !best ? e : str_is(policy, "not_larger") ? min_(l, best, e) : max_(l, best, e);
    }
    return best;
}

static bool lower_axis(Lower *l, Tensor x, Tensor y, uint32_t i, Str coordinates, Axis *a)
{
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    bool near_ = str_is(node_str(l->n, "mode", "nearest"), "nearest");
    bool antialias = node_int(l->n, "antialias", 0) != 0, by_size = is_given(l->model, l->n, 3);
    uint32_t count, slot = scales_slot(opset_of(l->model, l->n));
    double scale = 0;
    int64_t in, out;
    int k = slot_of(l->n, i, x.rank, &count);
    if (k < 0)
        return true;
    bool known = !by_size && constant_scale(&s, slot, (uint32_t)k, &scale);
    if (!by_size && !known && !is_given(l->model, l->n, slot)) {
        not_supported(l, "Resize with neither scales nor sizes");
        return false;
    }
    if (by_size) {
        if (poly_is_const(x.dims[i], &in) && poly_is_const(y.dims[i], &out) && in > 0)
            scale = (double)out / (double)in;
        a->scale = size_scale(l, x, i, (uint32_t)k);
        if (!str_is(node_str(l->n, "keep_aspect_ratio_policy", "stretch"), "stretch")) {
            const Expr *d = add(l, mul(l, a->scale, size_f64(l, x.dims[i])), f64(l, 0.5));
            define_dim(l, y.dims[i], to_index(l, cast(l, DT_I64, unary(l, U_FLOOR, d))));
        } else {
            define_dim(l, y.dims[i], input_element(l, 3, (uint32_t)k));
        }
    } else {
        a->scale = known ? f64(l, scale) : element_f64(l, slot, (uint32_t)k);
        define_dim(
            l, y.dims[i],
            to_index(l, cast(l, DT_I64, unary(l, U_FLOOR, scaled_length(l, x.dims[i], a->scale)))));
    }
    // Sizes that are those of x, whatever they are, change nothing.
    bool stretch = str_is(node_str(l->n, "keep_aspect_ratio_policy", "stretch"), "stretch"),
         same = (scale == 1 || (by_size && stretch)) && x.dims[i] == y.dims[i] &&
                !str_is(coordinates, "tf_crop_and_resize");
    if (same)
        return true;
    if (antialias && !near_ && scale != 0 && scale < 1.0 / MAX_SHRINK) {
        not_supported(l, "Resize with antialias and a scale of %g", scale);
        return false;
    }
    check(l, or_(l, index_lt(l, ix(l, 0), x.dims[i]), index_le(l, y.dims[i], ix(l, 0))),
          "Resize: X is empty");
    check(l, index_le(l, x.dims[i], ix(l, INT32_MAX)), "Resize: X is too large");
    if (near_ && !str_is(coordinates, "tf_crop_and_resize") && scale > 0 &&
        regular_places(l, a, scale, coordinates, x.dims[i], y.dims[i], (uint32_t)k, count))
        return true;
    a->taps = tap_count(l, a, i, x.dims[i], near_, antialias);
    build_tables(l, a, x.dims[i], y.dims[i], coordinates, (uint32_t)k, count, antialias);
    return true;
}

static void lower_resize(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Axis axes[MAX_RANK];
    int64_t opset = opset_of(l->model, l->n);
    Str mode = node_str(l->n, "mode", "nearest");
    Str coordinates = opset < SIZES_FIRST_OPSET
                          ? STR("asymmetric")
                          : node_str(l->n, "coordinate_transformation_mode", "half_pixel");
    bool known_mode = str_is(mode, "nearest") || str_is(mode, "linear") || str_is(mode, "cubic");
    memset(axes, 0, sizeof axes);
    if (!known_mode ||
        (opset < SIZES_FIRST_OPSET && !str_is(mode, "nearest") && !str_is(mode, "linear"))) {
        not_supported(l, "Resize with mode \"%.*s\"", STR_ARG(str_escaped(l->arena, mode)));
        return;
    }
    if (str_is(coordinates, "tf_crop_and_resize") && !is_given(l->model, l->n, 1)) {
        not_supported(l, "Resize with tf_crop_and_resize and no roi");
        return;
    }
    for (uint32_t i = 0; i < x.rank; i++)
        if (!lower_axis(l, x, y, i, coordinates, &axes[i]))
            return;
    combine(l, x, y, axes, str_is(coordinates, "tf_crop_and_resize"));
}

const OpDef ops_resize[] = {
    {"Resize", 10, infer_resize, lower_resize, {NULL}, NULL},
    {"Upsample", 7, infer_resize, lower_resize, {NULL}, NULL},
    {0},
};
