// Sampling at places that are data: AffineGrid, GridSample, RoiAlign; and CenterCropPad.

#include "ir/ops/common.h"
#include "ir/ops/gradient.h"

#include <string.h>

static Index content_or_dim(Infer *s, uint32_t i, uint32_t k, uint32_t o)
{
    uint32_t n;
    const Index *at = infer_content(s, i, &n);
    return at && k < n ? at[k] : infer_data_dim(s, 0, o, "size");
}

// ---- AffineGrid

static void infer_affine_grid(Infer *s)
{
    const Value *theta = infer_in(s, 0);
    Index dims[5] = {0};
    int64_t r;
    if (!theta || theta->rank != 3)
        return;
    if (!poly_is_const(theta->dims[1], &r)) { // the size [N, C, ...] says it too
        if (infer_rank(s, 1) != 1 || !poly_is_const(infer_dim(s, 1, 0), &r))
            return;
        r -= 2;
        infer_require(s, theta->dims[1], poly_const(s->polys, r));
    }
    if (r != 2 && r != 3) {
        infer_error(s, "theta is neither [N,2,3] nor [N,3,4]");
        return;
    }
    infer_fits(s, 0, 3, (const Index[3]){NULL, NULL, poly_const(s->polys, r + 1)});
    infer_fits(s, 1, 1, (const Index[1]){poly_const(s->polys, r + 2)});
    dims[0] = theta->dims[0];
    for (int64_t k = 0; k < r; k++)
        dims[k + 1] = content_or_dim(s, 1, (uint32_t)k + 2, (uint32_t)k + 1);
    dims[r + 1] = poly_const(s->polys, r);
    infer_shape(s, 0, (uint32_t)r + 2, dims);
}

// y[n,o,k] = theta[n,k,r] + sum over j of theta[n,k,j] * place j of o in -1..1; x comes first.
static void lower_affine_grid(Lower *l)
{
    Tensor theta = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[3] = {0};
    uint32_t r = y.rank - 2;
    bool align = node_int(l->n, "align_corners", 0) != 0;
    DType t = accumulator(y.dtype);
    for (uint32_t k = 0; k < r; k++)
        define_dim(l, y.dims[k + 1], input_element(l, 1, k + 2));
    check(l, index_eq(l, theta.dims[0], input_element(l, 1, 0)),
          "AffineGrid: theta and size have different batches");
    kernel(l, "affine_grid");
    par_all(l, y, o);
    at[0] = o[0];
    at[1] = o[r + 1];
    at[2] = ix(l, r);
    const Expr *e = cast(l, t, load(l, theta, at));
    for (uint32_t j = 0; j < r; j++) {
        Index i = o[r - j], n = y.dims[r - j];
        const Expr *size = from_index(l, align ? ix_addc(l, n, -1) : n, t);
        const Expr *twice =
            from_index(l, align ? ix_scale(l, i, 2) : ix_addc(l, ix_scale(l, i, 2), 1), t);
        at[2] = ix(l, j);
        e = add(l, e,
                mul(l, cast(l, t, load(l, theta, at)), sub(l, div_(l, twice, size), one(l, t))));
    }
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- GridSample

typedef enum GridMode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } GridMode;
typedef enum GridPad { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } GridPad;

typedef struct Grid {
    GridMode mode;
    GridPad pad;
    bool align, stays; // stays: cubic places beyond the border, as com.microsoft has it
    DType t; // in which places and weights are computed
    uint32_t rank, taps;
} Grid;

enum { MAX_SPATIAL = 3, MAX_TAPS = 4 };

static bool grid_of(const Node *n, Grid *g)
{
    Str mode = node_str(n, "mode", "linear"), pad = node_str(n, "padding_mode", "zeros");
    bool linear = str_is(mode, "linear") || str_is(mode, "bilinear"),
         cubic = str_is(mode, "cubic") || str_is(mode, "bicubic"), border = str_is(pad, "border"),
         reflection = str_is(pad, "reflection");
    g->mode = linear ? GRID_LINEAR : cubic ? GRID_CUBIC : GRID_NEAREST;
    g->taps = linear ? 2 : cubic ? 4 : 1;
    g->pad = border ? PAD_BORDER : reflection ? PAD_REFLECTION : PAD_ZEROS;
    g->align = node_int(n, "align_corners", 0) != 0;
    g->stays = cubic && !is_standard_domain(n->domain);
    return (linear || cubic || str_is(mode, "nearest")) &&
           (border || reflection || str_is(pad, "zeros"));
}

static void infer_grid_sample(Infer *s)
{
    const Value *x = infer_in(s, 0), *g = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    if (!x || !g || x->rank < 3 || x->rank > MAX_RANK || g->rank < 0)
        return;
    if (x->rank != g->rank) {
        infer_error(s, "the grid has rank %d, X has rank %d", g->rank, x->rank);
        return;
    }
    dims[0] = x->dims[0];
    dims[g->rank - 1] = poly_const(s->polys, g->rank - 2);
    infer_fits(s, 1, (uint32_t)g->rank, dims);
    dims[1] = x->dims[1];
    for (int32_t k = 2; k < x->rank; k++)
        dims[k] = g->dims[k - 1];
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// Folds e into lo..hi by mirrors at both ends.
static const Expr *reflect(Lower *l, const Expr *e, const Expr *lo, const Expr *hi)
{
    DType t = e->dtype;
    const Expr *span = sub(l, hi, lo), *twice = add(l, span, span);
    const Expr *m = fmod_(l, abs_(l, sub(l, e, lo)), twice);
    m = add(l, lo, select_(l, lt(l, span, m), sub(l, twice, m), m));
    return select_(l, lt(l, zero(l, t), span), m, lo);
}

static const Expr *low_border(Lower *l, const Grid *g)
{
    return num(l, g->t, g->align ? 0 : -0.5);
}

static const Expr *high_border(Lower *l, const Grid *g, Index n)
{
    return sub(l, from_index(l, n, g->t), num(l, g->t, g->align ? 1 : 0.5));
}

// The place in a dim of size n that v in -1..1 names.
static const Expr *grid_place(Lower *l, const Grid *g, const Expr *v, Index n)
{
    DType t = g->t;
    const Expr *half = num(l, t, 0.5), *size = from_index(l, n, t), *e, *last;
    last = sub(l, size, one(l, t));
    e = add(l, v, one(l, t));
    e = g->align ? mul(l, mul(l, e, half), last) : mul(l, sub(l, mul(l, e, size), one(l, t)), half);
    if (g->mode == GRID_NEAREST)
        e = unary(l, U_ROUND, e);
    if (g->pad == PAD_BORDER && !g->stays) {
        // Only what lies beyond the border moves: cubic taps see the rest.
        const Expr *within = and_(l, le(l, low_border(l, g), e), le(l, e, high_border(l, g, n)));
        e = select_(l, within, e, max_(l, zero(l, t), min_(l, e, last)));
    } else if (g->pad == PAD_REFLECTION) {
        e = reflect(l, e, low_border(l, g), high_border(l, g, n));
    }
    return let(l, e);
}

// Weight of tap k (at floor + k, cubic: floor + k - 1) for a fraction f. Cubic: a = -0.75, as
// GridSample-16 has it.
static const Expr *tap_weight(Lower *l, const Grid *g, uint32_t k, const Expr *f)
{
    DType t = g->t;
    const double a = -0.75;
    if (g->mode == GRID_NEAREST)
        return NULL;
    if (g->mode == GRID_LINEAR)
        return k ? f : sub(l, one(l, t), f);
    const Expr *d = k == 0 ? add(l, f, one(l, t)) : k == 1 ? f : sub(l, num(l, t, k - 1.0), f);
    const Expr *e;
    if (k == 1 || k == 2) { // (a + 2) d^3 - (a + 3) d^2 + 1
        e = sub(l, mul(l, num(l, t, a + 2), d), num(l, t, a + 3));
        return let(l, add(l, mul(l, mul(l, e, d), d), one(l, t)));
    }
    e = sub(l, mul(l, num(l, t, a), d), num(l, t, 5 * a)); // a d^3 - 5a d^2 + 8a d - 4a
    e = add(l, mul(l, e, d), num(l, t, 8 * a));
    return let(l, sub(l, mul(l, e, d), num(l, t, 4 * a)));
}

// The index of a tap, always inside; *guard says where it counts (NULL: everywhere).
static Index tap_index(Lower *l, const Grid *g, const Expr *place, Index n, const Expr **guard)
{
    const Expr *z = zero(l, DT_I64), *last = expr_index(l->module, ix_addc(l, n, -1));
    if (g->pad == PAD_REFLECTION)
        place = unary(l, U_TRUNC, reflect(l, place, low_border(l, g), high_border(l, g, n)));
    if (g->pad == PAD_ZEROS)
        *guard = let(l, and_(l, le(l, zero(l, g->t), place), lt(l, place, from_index(l, n, g->t))));
    const Expr *i = cast(l, DT_I64, place);
    return to_index(l, let(l, max_(l, z, min_(l, i, last))));
}

// The elements of a plane of x that each place of y sums, `all` of them.
static Taps grid_taps(Lower *l, const Grid *g, Tensor x, Tensor grid, Tensor y, uint32_t all)
{
    Index dims[MAX_RANK] = {x.dims[0], ix(l, all)}, o[MAX_RANK] = {0}, at[MAX_RANK] = {0},
          tap[MAX_SPATIAL][MAX_TAPS] = {0};
    const Expr *weight[MAX_SPATIAL][MAX_TAPS], *guard[MAX_SPATIAL][MAX_TAPS] = {{NULL}};
    memcpy(dims + 2, y.dims + 2, g->rank * sizeof *dims);
    Taps taps = taps_new(l, x, g->mode == GRID_NEAREST ? DT_NONE : g->t, g->rank + 2, dims);
    kernel(l, "grid_places");
    for (uint32_t i = 0; i < y.rank; i++)
        o[i] = i == 1 ? NULL : par(l, y.dims[i]);
    at[0] = o[0];
    memcpy(at + 1, o + 2, g->rank * sizeof *at);
    for (uint32_t i = 0; i < g->rank; i++) {
        at[g->rank + 1] = ix(l, g->rank - 1 - i);
        const Expr *place = grid_place(l, g, cast(l, g->t, load(l, grid, at)), x.dims[i + 2]);
        const Expr *floor_ = g->mode == GRID_NEAREST ? place : let(l, unary(l, U_FLOOR, place));
        const Expr *f = let(l, sub(l, place, floor_));
        for (uint32_t k = 0; k < g->taps; k++) {
            double shift = (double)k - (g->mode == GRID_CUBIC);
            weight[i][k] = tap_weight(l, g, k, f);
            tap[i][k] =
                tap_index(l, g, add(l, floor_, num(l, g->t, shift)), x.dims[i + 2], &guard[i][k]);
        }
    }
    for (uint32_t c = 0; c < all; c++) {
        const Expr *where = NULL, *w = NULL;
        uint32_t rest = c;
        for (uint32_t i = 0; i < g->rank; i++, rest /= g->taps) {
            uint32_t k = rest % g->taps;
            at[i] = tap[i][k];
            where = both(l, where, guard[i][k]);
            w = !weight[i][k] ? w : w ? mul(l, w, weight[i][k]) : weight[i][k];
        }
        o[1] = ix(l, c);
        taps_store(l, &taps, o, at, where, w);
    }
    kernel_end(l);
    return taps;
}

// Bytes of tables that stay near while all channels read them; of tables that leave caches.
enum { KEPT = 1 << 17, MUCH = 1 << 22 };

// Places of y: bands of rows, channels, and the rows of a band, so that the tables of a band are
// read again while they are in a cache.
static void grid_bands(Lower *l, Tensor y, const Taps *taps, uint32_t all, Index *o)
{
    uint32_t bytes = dtype_info(taps->place.dtype)->bytes + dtype_info(taps->weight.dtype)->bytes;
    int64_t rows, row, band = 1, each = (int64_t)all * bytes;
    bool known = poly_is_const(y.dims[2], &rows) &&
                 poly_is_const(ix_product(l, y.rank - 3, y.dims + 3), &row);
    if (!known || rows < 1 || rows * row * each <= MUCH) {
        par_all(l, y, o);
        return;
    }
    for (int64_t b = 2; b <= rows && b * row * each <= KEPT; b++)
        band = rows % b ? band : b;
    o[0] = par(l, y.dims[0]);
    Index nth = par(l, ix(l, rows / band));
    o[1] = par(l, y.dims[1]);
    o[2] = ix_add(l, ix_scale(l, nth, band), par(l, ix(l, band)));
    for (uint32_t i = 3; i < y.rank; i++)
        o[i] = par(l, y.dims[i]);
}

static void lower_grid_sample(Lower *l)
{
    Tensor x = input(l, 0), grid = input(l, 1), y = output(l, 0);
    Grid g = {.rank = x.rank - 2};
    Index o[MAX_RANK] = {0};
    if (!grid_of(l->n, &g) || g.rank > MAX_SPATIAL) {
        not_supported(l, "GridSample with this mode, padding_mode or rank");
        return;
    }
    for (uint32_t i = 0; i < g.rank; i++)
        check(l, index_lt(l, ix(l, 0), x.dims[i + 2]), "GridSample: X is empty");
    bool wide = x.dtype == DT_F64 || x.dtype == DT_C128 || grid.dtype == DT_F64;
    g.t = wide ? DT_F64 : DT_F32;
    DType sum_of = dtype_is_complex(x.dtype) ? x.dtype : g.t;
    bool weighs = g.mode != GRID_NEAREST;
    uint32_t all = 1;
    for (uint32_t i = 0; i < g.rank; i++)
        all *= g.taps;
    Taps taps = grid_taps(l, &g, x, grid, y, all);
    kernel(l, "grid_sample");
    grid_bands(l, y, &taps, all, o);
    Index from[MAX_RANK] = {o[0]};
    memcpy(from + 2, o + 2, g.rank * sizeof *from);
    const Expr *sum = NULL;
    for (uint32_t c = 0; c < all; c++) {
        from[1] = ix(l, c);
        const Expr *v = taps_load(l, &taps, from, o[0], o[1], weighs ? sum_of : x.dtype);
        sum = sum ? add(l, sum, v) : v;
    }
    store(l, y, o, cast(l, y.dtype, sum));
    kernel_end(l);
}

// ---- RoiAlign

static void infer_roi_align(Infer *s)
{
    const Value *x = infer_in(s, 0), *rois = infer_in(s, 1);
    int64_t h = node_int(s->n, "output_height", 1), w = node_int(s->n, "output_width", 1);
    if (!x || !rois || x->rank != 4 || rois->rank != 2)
        return;
    if (h < 1 || w < 1) {
        infer_error(s, "output_height and output_width must be positive");
        return;
    }
    Index dims[4] = {rois->dims[0], x->dims[1], poly_const(s->polys, h), poly_const(s->polys, w)};
    infer_fits(s, 1, 2, (const Index[2]){NULL, poly_const(s->polys, 4)});
    infer_fits(s, 2, 1, &rois->dims[0]);
    infer_shape(s, 0, 4, dims);
}

// One direction of a region's sampling: the taps below and above the sample, and how far from the
// lower.
typedef struct RoiAxis {
    const Expr *ok, *fraction;
    Index sample, count, low, high; // count: samples in a bin
} RoiAxis;

// Bin b of `bins`, along a dim of x of size n; column: where rois hold the start, column + 2: the
// end. sample: which of the bin's, NULL for all of them, as a reduction has them.
static RoiAxis roi_axis(Lower *l, Tensor rois, Index roi, uint32_t column, Index b, int64_t bins,
                        Index n, DType t, Index sample)
{
    RoiAxis a;
    Str mode = node_str(l->n, "coordinate_transformation_mode", "output_half_pixel");
    bool half = str_is(mode, "half_pixel");
    int64_t ratio = node_int(l->n, "sampling_ratio", 0);
    const Expr *scale = attr_num(l, t, "spatial_scale", 1), *end_[2], *z = zero(l, t),
               *size = from_index(l, n, t), *last = sub(l, size, one(l, t));
    for (uint32_t k = 0; k < 2; k++) {
        Index at[2] = {roi, ix(l, column + 2 * k)};
        end_[k] = sub(l, mul(l, cast(l, t, load(l, rois, at)), scale), num(l, t, half ? 0.5 : 0));
    }
    const Expr *length = sub(l, end_[1], end_[0]);
    if (!half)
        length = max_(l, length, one(l, t));
    const Expr *bin = let(l, div_(l, length, num(l, t, (double)bins)));
    a.count = ix(l, ratio);
    if (ratio <= 0) {
        const Expr *c = cast(l, DT_I64, unary(l, U_CEIL, bin));
        a.count = to_index(l, let(l, max_(l, c, zero(l, DT_I64))));
    }
    Index i = a.sample = sample ? sample : red(l, a.count);
    const Expr *all = from_index(l, ix_max(l, a.count, ix(l, 1)), t);
    const Expr *part = div_(l, add(l, from_index(l, i, t), num(l, t, 0.5)), all);
    const Expr *p = add(l, end_[0], mul(l, add(l, from_index(l, b, t), part), bin));
    a.ok = and_(l, le(l, num(l, t, -1), p), le(l, p, size));
    p = min_(l, max_(l, p, z), last);
    const Expr *low = unary(l, U_FLOOR, p);
    a.fraction = sub(l, p, low);
    const Expr *k = cast(l, DT_I64, low), *top = expr_index(l->module, ix_addc(l, n, -1));
    k = max_(l, zero(l, DT_I64), min_(l, k, top));
    a.low = to_index(l, k);
    a.high = to_index(l, min_(l, add(l, k, one(l, DT_I64)), top));
    return a;
}

// Samples of y's place o in both directions.
static void roi_axes(Lower *l, Tensor x, Tensor y, const Index *o, const Index *sample, RoiAxis *r)
{
    for (uint32_t i = 0; i < 2; i++) {
        int64_t bins = 1;
        poly_is_const(y.dims[i + 2], &bins);
        r[i] = roi_axis(l, input(l, 1), o[0], 1 - i, o[i + 2], bins, x.dims[i + 2],
                        accumulator(x.dtype), sample ? sample[i] : NULL);
    }
}

// A corner of a sample: where it is in a plane of x, and its weight.
static const Expr *roi_corner(Lower *l, const RoiAxis *r, uint32_t corner, DType t, Index *at)
{
    const Expr *w[2];
    for (uint32_t i = 0; i < 2; i++) {
        bool high = i ? corner & 1 : corner >> 1;
        at[i] = high ? r[i].high : r[i].low;
        w[i] = high ? r[i].fraction : sub(l, one(l, t), r[i].fraction);
    }
    return mul(l, w[0], w[1]);
}

enum { TABLED_SAMPLES = 4 }; // in a direction: more are loops

// Sum or maximum of the corners of a few samples: they are found once for all channels. o: of y.
static const Expr *roi_by_tables(Lower *l, Tensor x, Tensor y, int64_t ratio, ReduceOp op, Index *o)
{
    DType t = accumulator(x.dtype);
    int64_t corners = 4 * ratio * ratio;
    Index bins = ix_product(l, 2, y.dims + 2), dims[3] = {y.dims[0], ix(l, corners), bins}, at[2],
          tap[3], sample[2];
    Taps taps = taps_new(l, x, t, 3, dims);
    kernel(l, "roi_places");
    o[0] = tap[0] = par(l, y.dims[0]);
    sample[0] = par(l, ix(l, ratio));
    sample[1] = par(l, ix(l, ratio));
    o[2] = par(l, y.dims[2]);
    o[3] = par(l, y.dims[3]);
    tap[2] = ix_linear(l, 2, y.dims + 2, o + 2);
    RoiAxis r[2];
    roi_axes(l, x, y, o, sample, r);
    Index nth = ix_add(l, ix_scale(l, sample[0], ratio), sample[1]);
    for (uint32_t c = 0; c < 4; c++) {
        const Expr *w = roi_corner(l, r, c, t, at);
        tap[1] = ix_addc(l, ix_scale(l, nth, 4), c);
        taps_store(l, &taps, tap, at, and_(l, r[0].ok, r[1].ok), w);
    }
    kernel_end(l);
    kernel(l, "roi_align");
    o[0] = tap[0] = par(l, y.dims[0]);
    o[1] = par(l, y.dims[1]);
    tap[2] = par(l, bins); // of both directions, so that there are neighbours enough
    ix_delinear(l, tap[2], 2, y.dims + 2, o + 2);
    Index batch = to_index(l, load(l, input(l, 2), o));
    const Expr *all = NULL;
    for (int64_t c = 0; c < corners; c++) {
        tap[1] = ix(l, c);
        const Expr *e = taps_load(l, &taps, tap, batch, o[1], t);
        all = !all ? e : op == R_MAX ? max_(l, all, e) : add(l, all, e);
    }
    return all;
}

// What the samples of each bin of each region weigh together along one direction: `used`
// neighbours of x from `first` on.
typedef struct RoiLine {
    Tensor count, first, used, weight; // [regions], [regions, bins] twice, [regions, bins, most]
} RoiLine;

enum { MOST = 64 }; // the number of the first data dim: most neighbours that a bin has

// As many neighbours as the greatest bin may have: a sample is at most one from the next.
static Index roi_most(Lower *l, const RoiLine *line, Index n, uint32_t i)
{
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Index most = infer_data_dim(&s, 0, MOST + i, "neighbours"), r = red(l, line->count.dims[0]);
    const Expr *count = load(l, line->count, &r), *none = zero(l, DT_I64);
    Tensor greatest = temp(l, "greatest", DT_I64, 0, NULL);
    kernel(l, "roi_most");
    store(l, greatest, NULL, reduce(l, R_MAX, 1, &r, NULL, max_(l, none, count)));
    kernel_end(l);
    Index bound = ix_addc(l, ix_max(l, to_index(l, load(l, greatest, NULL)), ix(l, 0)), 2);
    define_dim(l, most, ix_min(l, bound, n));
    return most;
}

// Direction i of x: 0 along rows, 1 along columns.
static RoiLine roi_line(Lower *l, Tensor x, Tensor y, uint32_t i)
{
    DType t = accumulator(x.dtype);
    Tensor rois = input(l, 1);
    Index n = x.dims[i + 2], dims[3] = {y.dims[0], y.dims[i + 2], NULL}, o[3], zero_ix = ix(l, 0);
    int64_t bins = 1;
    poly_is_const(dims[1], &bins);
    RoiLine line = {.count = temp(l, "samples", DT_I64, 1, dims)};
    kernel(l, "roi_samples");
    o[0] = par(l, dims[0]);
    RoiAxis a = roi_axis(l, rois, o[0], 1 - i, zero_ix, bins, n, t, zero_ix);
    store(l, line.count, o, expr_index(l->module, a.count));
    kernel_end(l);
    dims[2] = roi_most(l, &line, n, i);
    line.first = temp(l, "first", DT_I64, 2, dims);
    line.used = temp(l, "used", DT_I64, 2, dims);
    line.weight = temp(l, "weights", t, 3, dims);
    kernel(l, "roi_neighbours");
    par_all(l, line.first, o);
    Index count = to_index(l, let(l, load(l, line.count, o)));
    a = roi_axis(l, rois, o[0], 1 - i, o[1], bins, n, t, zero_ix);
    const Expr *first = let(l, expr_index(l->module, a.low)), *none = zero(l, DT_I64);
    a = roi_axis(l, rois, o[0], 1 - i, o[1], bins, n, t, ix_addc(l, count, -1));
    const Expr *used = sub(l, expr_index(l->module, ix_addc(l, a.high, 1)), first);
    used = min_(l, used, expr_index(l->module, dims[2]));
    store(l, line.first, o, first);
    store(l, line.used, o, select_(l, index_lt(l, zero_ix, count), used, none));
    kernel_end(l);
    kernel(l, "roi_weights");
    par_all(l, line.weight, o);
    const Expr *place = let(l, add(l, load(l, line.first, o), expr_index(l->module, o[2])));
    a = roi_axis(l, rois, o[0], 1 - i, o[1], bins, n, t, NULL);
    const Expr *z = zero(l, t), *f = a.fraction,
               *low =
                   select_(l, eq(l, expr_index(l->module, a.low), place), sub(l, one(l, t), f), z),
               *high = select_(l, eq(l, expr_index(l->module, a.high), place), f, z);
    store(l, line.weight, o,
          reduce_add(l, 1, &a.sample, NULL, select_(l, a.ok, add(l, low, high), z)));
    kernel_end(l);
    return line;
}

// The sum where regions say how many samples their bins have: of rows of sums along rows, since
// what a sample weighs is a product of what it does in each direction. count: the samples.
static const Expr *roi_by_lines(Lower *l, Tensor x, Tensor y, Index *o, Index *count)
{
    DType t = accumulator(x.dtype);
    RoiLine line[2] = {roi_line(l, x, y, 0), roi_line(l, x, y, 1)};
    Index at[4] = {NULL};
    const Expr *w = NULL;
    kernel(l, "roi_align");
    par_all(l, y, o);
    at[0] = to_index(l, let(l, cast(l, DT_I64, load(l, input(l, 2), o))));
    at[1] = o[1];
    *count = ix(l, 1);
    LocalId sum = row(l, t, 0, NULL);
    set(l, sum, NULL, zero(l, t));
    for (uint32_t i = 0; i < 2; i++) { // loops of few turns: not worth lanes
        Index bin[3] = {o[0], o[i + 2], NULL};
        Index first = to_index(l, let(l, load(l, line[i].first, bin)));
        *count = ix_mul(l, *count, to_index(l, load(l, line[i].count, o)));
        bin[2] = seq(l, to_index(l, let(l, load(l, line[i].used, bin))));
        at[i + 2] = ix_add(l, first, bin[2]);
        const Expr *e = load(l, line[i].weight, bin);
        w = let(l, w ? mul(l, w, e) : e);
    }
    set(l, sum, NULL, add(l, get(l, sum, NULL), mul(l, w, cast(l, t, load(l, x, at)))));
    end(l);
    end(l);
    return get(l, sum, NULL);
}

// The same where regions say how many samples their bins have; count: the number of them.
static const Expr *roi_by_regions(Lower *l, Tensor x, Tensor y, ReduceOp op, Index *o, Index *count)
{
    DType t = accumulator(x.dtype);
    Index at[4] = {0};
    const Expr *e = NULL;
    RoiAxis r[2];
    kernel(l, "roi_align");
    par_all(l, y, o);
    roi_axes(l, x, y, o, NULL, r);
    at[0] = to_index(l, load(l, input(l, 2), o));
    at[1] = o[1];
    for (uint32_t c = 0; c < 4; c++) {
        const Expr *w = roi_corner(l, r, c, t, at + 2), *corner;
        corner = mul(l, w, cast(l, t, load(l, x, at)));
        e = !e ? corner : op == R_MAX ? max_(l, e, corner) : add(l, e, corner);
    }
    e = select_(l, and_(l, r[0].ok, r[1].ok), e, zero(l, t));
    Index vars[2] = {r[0].sample, r[1].sample};
    *count = ix_mul(l, r[0].count, r[1].count);
    return reduce(l, op, 2, vars, NULL, e);
}

// The mean (or the greatest weighted corner) of bilinear samples in each bin. Spec:
// RoiAlign-10, 16.
static void lower_roi_align(Lower *l)
{
    Tensor x = input(l, 0), batch = input(l, 2), y = output(l, 0);
    Str mode = node_str(l->n, "mode", "avg");
    bool greatest = str_is(mode, "max");
    int64_t ratio = node_int(l->n, "sampling_ratio", 0);
    ReduceOp op = greatest ? R_MAX : R_ADD;
    DType t = accumulator(x.dtype);
    Index o[4] = {0}, count = ix(l, ratio * ratio);
    if (!greatest && !str_is(mode, "avg")) {
        not_supported(l, "RoiAlign with this mode");
        return;
    }
    for (uint32_t i = 2; i < 4; i++)
        check(l, index_lt(l, ix(l, 0), x.dims[i]), "RoiAlign: X is empty");
    Index v = red(l, batch.dims[0]);
    const Expr *b = cast(l, DT_I64, load(l, batch, &v)), *n = expr_index(l->module, x.dims[0]);
    check(l, reduce(l, R_AND, 1, &v, NULL, and_(l, le(l, zero(l, DT_I64), b), lt(l, b, n))),
          "RoiAlign: a batch index is out of range");
    bool few = ratio > 0 && ratio <= TABLED_SAMPLES,
         lines = ratio < 1 && !greatest && !may_be_derived(l);
    const Expr *e = few     ? roi_by_tables(l, x, y, ratio, op, o)
                    : lines ? roi_by_lines(l, x, y, o, &count)
                            : roi_by_regions(l, x, y, op, o, &count);
    if (greatest)
        e = select_(l, index_eq(l, count, ix(l, 0)), zero(l, t), e);
    else
        e = div_(l, e, max_(l, from_index(l, count, t), one(l, t)));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- CenterCropPad

static bool crop_axes(Infer *s, int64_t rank, uint32_t *axes, uint32_t *n)
{
    const int64_t *at;
    if (!node_ints(s->n, "axes", &at, n)) {
        *n = (uint32_t)rank;
        for (uint32_t k = 0; k < *n; k++)
            axes[k] = k;
        return true;
    }
    for (uint32_t k = 0; k < *n && k < MAX_RANK; k++) {
        int64_t a = infer_axis(s, at[k], rank);
        if (a < 0)
            return false;
        axes[k] = (uint32_t)a;
    }
    return *n <= MAX_RANK;
}

static void infer_center_crop_pad(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t axes[MAX_RANK], n;
    if (!x || x->rank < 1 || x->rank > MAX_RANK || !crop_axes(s, x->rank, axes, &n))
        return;
    infer_fits(s, 1, 1, (const Index[1]){poly_const(s->polys, n)});
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (uint32_t k = 0; k < n; k++)
        dims[axes[k]] = content_or_dim(s, 1, k, axes[k]);
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

// The middle of each dim: what is too long loses more behind, what is too short gains more behind.
static void lower_center_crop_pad(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, z = ix(l, 0), two = ix(l, 2);
    uint32_t axes[MAX_RANK], n;
    const Expr *where = NULL;
    if (!crop_axes(&s, x.rank, axes, &n))
        return;
    for (uint32_t k = 0; k < n; k++)
        define_dim(l, y.dims[axes[k]], input_element(l, 1, k));
    kernel(l, "center_crop_pad");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = axes[k];
        Index less = ix_max(l, z, ix_sub(l, x.dims[a], y.dims[a])),
              more = ix_max(l, z, ix_sub(l, y.dims[a], x.dims[a]));
        at[a] = ix_sub(l, ix_add(l, o[a], ix_div(l, less, two)), ix_div(l, more, two));
        where = both(l, where, inside(l, at[a], x.dims[a]));
    }
    const Expr *e = load(l, x, at);
    store(l, y, o, where ? select_(l, where, e, zero(l, y.dtype)) : e);
    kernel_end(l);
}

const OpDef ops_grid[] = {
    {"AffineGrid", 20, infer_affine_grid, lower_affine_grid, {NULL}, NULL},
    {"GridSample", 16, infer_grid_sample, lower_grid_sample, {NULL}, NULL},
    {"GridSample", 1, infer_grid_sample, lower_grid_sample, {NULL}, "com.microsoft"},
    {"RoiAlign", 10, infer_roi_align, lower_roi_align, {NULL}, NULL},
    {"CenterCropPad", 18, infer_center_crop_pad, lower_center_crop_pad, {NULL}, NULL},
    {0},
};
