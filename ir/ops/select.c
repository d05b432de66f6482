// Operators that pick out of many: NonMaxSuppression, Unique; and TensorScatter.

#include "ir/ops/common.h"

#include <math.h>
#include <string.h>

// ---- NonMaxSuppression

static void infer_nms(Infer *s)
{
    Index dims[2] = {infer_data_dim(s, 0, 0, "selected"), poly_const(s->polys, 3)};
    infer_shape(s, 0, 2, dims);
    infer_dtype(s, 0, DT_I64);
}

// A scalar input (rank 0, or the first element of rank 1), or a number where it is absent.
static const Expr *scalar_or(Lower *l, uint32_t i, DType t, double otherwise)
{
    Index at[1] = {ix(l, 0)};
    return has_input(l, i) ? cast(l, t, load(l, input(l, i), at)) : num(l, t, otherwise);
}

typedef struct Box {
    const Expr *low[2], *high[2], *area;
} Box;

// Corners in any order, or centre and size where center_point_box. Spec: NonMaxSuppression-10.
static Box box_of(Lower *l, Tensor boxes, Index batch, Index i, bool center)
{
    Box b;
    const Expr *c[4];
    DType t = boxes.dtype;
    for (uint32_t k = 0; k < 4; k++) {
        Index at[3] = {batch, i, ix(l, k)};
        c[k] = load(l, boxes, at);
    }
    for (uint32_t k = 0; k < 2; k++) {
        const Expr *half = div_(l, c[k + 2], num(l, t, 2));
        b.low[k] = let(l, center ? sub(l, c[k], half) : min_(l, c[k], c[k + 2]));
        b.high[k] = let(l, center ? add(l, c[k], half) : max_(l, c[k], c[k + 2]));
    }
    b.area = let(l, mul(l, sub(l, b.high[0], b.low[0]), sub(l, b.high[1], b.low[1])));
    return b;
}

enum { CHOSEN_ROWS = 5, CHOSEN_AREA = 4, CHOSEN_BLOCK = 64 };

// Box i of `chosen`: a row for each number of a Box, so that those of neighbours are neighbours.
static Box chosen_box(Lower *l, Tensor chosen, Index i)
{
    const Expr *row[CHOSEN_ROWS];
    for (uint32_t k = 0; k < CHOSEN_ROWS; k++) {
        Index at[2] = {ix(l, k), i};
        row[k] = load(l, chosen, at);
    }
    return (Box){{row[0], row[1]}, {row[2], row[3]}, row[CHOSEN_AREA]};
}

static void put_chosen(Lower *l, Tensor chosen, Index i, const Box *b)
{
    const Expr *row[CHOSEN_ROWS] = {b->low[0], b->low[1], b->high[0], b->high[1], b->area};
    for (uint32_t k = 0; k < CHOSEN_ROWS; k++) {
        Index at[2] = {ix(l, k), i};
        store(l, chosen, at, row[k]);
    }
}

// Is the overlap of two boxes, as a part of their union, greater than the threshold?
static const Expr *overlaps(Lower *l, const Box *a, const Box *b, const Expr *threshold)
{
    const Expr *side[2], *z = zero(l, threshold->dtype);
    for (uint32_t k = 0; k < 2; k++)
        side[k] =
            max_(l, z, sub(l, min_(l, a->high[k], b->high[k]), max_(l, a->low[k], b->low[k])));
    const Expr *common = mul(l, side[0], side[1]);
    const Expr *together = sub(l, add(l, a->area, b->area), common);
    return and_(l, lt(l, z, together), lt(l, threshold, div_(l, common, together)));
}

// What a selection works on: candidates and their scores, a heap whose first is the best; what is
// picked of all classes.
typedef struct Picks {
    Tensor heap, keys, picked, count;
    Tensor chosen; // boxes that were picked of a class
    bool center;
} Picks;

// A candidate: a box and its score.
typedef struct Candidate {
    const Expr *box, *score;
} Candidate;

static Candidate candidate_at(Lower *l, const Picks *p, const Expr *i)
{
    Index at = to_index(l, i);
    return (Candidate){let(l, load(l, p->heap, &at)), let(l, load(l, p->keys, &at))};
}

static void put_candidate(Lower *l, const Picks *p, const Expr *i, Candidate c)
{
    Index at = to_index(l, i);
    store(l, p->heap, &at, c.box);
    store(l, p->keys, &at, c.score);
}

// The better score first, NaN before all, the first box of those alike.
static const Expr *better(Lower *l, Candidate a, Candidate b)
{
    const Expr *a_nan = unary(l, U_ISNAN, a.score), *b_nan = unary(l, U_ISNAN, b.score);
    const Expr *alike = or_(l, eq(l, a.score, b.score), and_(l, a_nan, b_nan));
    const Expr *above = or_(l, lt(l, b.score, a.score), and_(l, a_nan, not_(l, b_nan)));
    return or_(l, above, and_(l, alike, lt(l, a.box, b.box)));
}

// Puts c where place i of a heap of n is free: what is better moves up.
static void sift(Lower *l, const Picks *p, const Expr *i, const Expr *n, Candidate c)
{
    const Expr *step = one(l, DT_I64);
    LocalId hole = row(l, DT_I64, 0, NULL), child = row(l, DT_I64, 0, NULL);
    set(l, hole, NULL, i);
    set(l, child, NULL, add(l, add(l, i, i), step));
    while_(l, lt(l, get(l, child, NULL), n));
    const Expr *left = let(l, get(l, child, NULL));
    const Expr *right = let(l, min_(l, add(l, left, step), sub(l, n, step)));
    Candidate a = candidate_at(l, p, left), b = candidate_at(l, p, right);
    const Expr *second = let(l, better(l, b, a)), *up = let(l, select_(l, second, right, left));
    a.box = let(l, select_(l, second, b.box, a.box));
    a.score = let(l, select_(l, second, b.score, a.score));
    if_(l, better(l, a, c));
    put_candidate(l, p, get(l, hole, NULL), a);
    set(l, hole, NULL, up);
    set(l, child, NULL, add(l, add(l, up, up), step));
    else_(l);
    set(l, child, NULL, n);
    end(l);
    end(l);
    put_candidate(l, p, get(l, hole, NULL), c);
}

// The boxes whose score is above the threshold, as a heap; how many there are. Of a detector's
// thousands few are picked, and what is worse than the last of them is never brought in order.
static const Expr *heap_candidates(Lower *l, const Picks *p, Index batch, Index class)
{
    Tensor scores = input(l, 1);
    LocalId fits = row(l, DT_I64, 0, NULL), next = row(l, DT_I64, 0, NULL);
    set(l, fits, NULL, zero(l, DT_I64));
    Index at[3] = {batch, class, seq(l, scores.dims[2])};
    const Expr *n = let(l, get(l, fits, NULL)), *score = load(l, scores, at);
    if (has_input(l, 4))
        if_(l, lt(l, scalar_or(l, 4, scores.dtype, 0), score));
    put_candidate(l, p, n, (Candidate){expr_index(l->module, at[2]), score});
    set(l, fits, NULL, add(l, n, one(l, DT_I64)));
    if (has_input(l, 4))
        end(l);
    end(l);
    n = let(l, get(l, fits, NULL));
    set(l, next, NULL, div_(l, n, int_(l, DT_I64, 2)));
    while_(l, lt(l, zero(l, DT_I64), get(l, next, NULL)));
    const Expr *i = let(l, sub(l, get(l, next, NULL), one(l, DT_I64)));
    sift(l, p, i, n, candidate_at(l, p, i));
    set(l, next, NULL, i);
    end(l);
    return n;
}

// Makes a block of chosen boxes that overlap nothing, from place `first` on.
static void clear_block(Lower *l, Tensor chosen, Index first)
{
    const Expr *nan = num(l, chosen.dtype, NAN);
    const Box none = {{nan, nan}, {nan, nan}, nan};
    put_chosen(l, chosen, ix_add(l, first, seq(l, ix(l, CHOSEN_BLOCK))), &none);
    end(l);
}

// Does the candidate overlap one of the first `n` chosen boxes? They are looked at in blocks, whose
// last one is filled with boxes that overlap none: that their areas are NaN fails each comparison.
static const Expr *overlaps_chosen(Lower *l, const Picks *p, const Box *candidate, const Expr *n,
                                   const Expr *iou)
{
    const Expr *size = int_(l, DT_I64, CHOSEN_BLOCK);
    LocalId first = row(l, DT_I64, 0, NULL), hit = row(l, DT_I64, 0, NULL);
    set(l, first, NULL, zero(l, DT_I64));
    set(l, hit, NULL, zero(l, DT_I64));
    while_(l, lt(l, add(l, get(l, first, NULL), get(l, hit, NULL)), n));
    const Expr *from = let(l, get(l, first, NULL));
    Index i = red(l, ix(l, CHOSEN_BLOCK));
    Box chosen = chosen_box(l, p->chosen, ix_add(l, to_index(l, from), i));
    const Expr *over = cast(l, DT_I32, overlaps(l, &chosen, candidate, iou));
    const Expr *any = reduce(l, R_MAX, 1, &i, NULL, over);
    set(l, hit, NULL, select_(l, lt(l, zero(l, DT_I32), any), n, zero(l, DT_I64)));
    set(l, first, NULL, add(l, from, size));
    end(l);
    return lt(l, zero(l, DT_I64), get(l, hit, NULL));
}

// One class of one batch: the best boxes are taken but for those that overlap one taken before.
static void select_boxes(Lower *l, const Picks *p, Index batch, Index class)
{
    Tensor boxes = input(l, 0);
    Index zero_at[1] = {ix(l, 0)};
    const Expr *iou = let(l, scalar_or(l, 3, boxes.dtype, 0)), *step = one(l, DT_I64);
    const Expr *most = let(l, scalar_or(l, 2, DT_I64, 0)), *none = zero(l, DT_I64);
    const Expr *all = heap_candidates(l, p, batch, class),
               *start = let(l, load(l, p->count, zero_at));
    LocalId taken = row(l, DT_I64, 0, NULL), left = row(l, DT_I64, 0, NULL);
    set(l, taken, NULL, none);
    set(l, left, NULL, all);
    while_(l, and_(l, lt(l, none, get(l, left, NULL)), lt(l, get(l, taken, NULL), most)));
    const Expr *own = candidate_at(l, p, none).box, *so_far = let(l, get(l, taken, NULL));
    const Expr *rest = let(l, sub(l, get(l, left, NULL), step));
    set(l, left, NULL, rest);
    sift(l, p, none, rest, candidate_at(l, p, rest));
    Box candidate = box_of(l, boxes, batch, to_index(l, own), p->center);
    if_(l, eq(l, mod_(l, so_far, int_(l, DT_I64, CHOSEN_BLOCK)), none));
    clear_block(l, p->chosen, to_index(l, so_far));
    end(l);
    if_(l, not_(l, overlaps_chosen(l, p, &candidate, so_far, iou)));
    put_chosen(l, p->chosen, to_index(l, so_far), &candidate);
    Index row_ = to_index(l, add(l, start, so_far));
    const Expr *triple[3] = {from_index(l, batch, DT_I64), from_index(l, class, DT_I64), own};
    for (uint32_t c = 0; c < 3; c++) {
        Index to[2] = {row_, ix(l, c)};
        store(l, p->picked, to, triple[c]);
    }
    set(l, taken, NULL, add(l, so_far, step));
    end(l);
    end(l);
    store(l, p->count, zero_at, add(l, start, get(l, taken, NULL)));
}

static void lower_nms(Lower *l)
{
    Tensor boxes = input(l, 0), scores = input(l, 1), y = output(l, 0);
    Index o[2] = {0}, zero_at[1] = {ix(l, 0)}, one_dim[1] = {ix(l, 1)};
    int64_t four;
    if (poly_is_const(boxes.dims[2], &four) && four != 4) {
        not_supported(l, "NonMaxSuppression of boxes that have not 4 numbers");
        return;
    }
    check(l, index_eq(l, boxes.dims[2], ix(l, 4)), "NonMaxSuppression: a box has not 4 numbers");
    check(l,
          and_(l, index_eq(l, boxes.dims[0], scores.dims[0]),
               index_eq(l, boxes.dims[1], scores.dims[2])),
          "NonMaxSuppression: boxes and scores do not fit");
    for (uint32_t i = 2; i < 5; i++)
        if (has_input(l, i) && input(l, i).rank == 1)
            check(l, index_lt(l, ix(l, 0), input(l, i).dims[0]),
                  "NonMaxSuppression: an operand is empty");
    Index all[2] = {ix_product(l, 3, scores.dims), ix(l, 3)};
    Tensor picked = temp(l, "picked", DT_I64, 2, all), count = temp(l, "count", DT_I64, 1, one_dim);
    Index nblocks = ix_div(l, ix_addc(l, boxes.dims[1], CHOSEN_BLOCK - 1), ix(l, CHOSEN_BLOCK));
    Index blocks[2] = {ix(l, CHOSEN_ROWS), ix_scale(l, nblocks, CHOSEN_BLOCK)};
    Picks p = {.heap = temp(l, "heap", DT_I64, 1, boxes.dims + 1),
               .keys = temp(l, "keys", scores.dtype, 1, boxes.dims + 1),
               .picked = picked,
               .count = count,
               .chosen = temp(l, "chosen", boxes.dtype, 2, blocks),
               .center = node_int(l->n, "center_point_box", 0) != 0};
    kernel(l, "non_max_suppression");
    store(l, count, zero_at, zero(l, DT_I64));
    Index batch = seq(l, scores.dims[0]), class = seq(l, scores.dims[1]);
    select_boxes(l, &p, batch, class);
    kernel_end(l);
    define_dim(l, y.dims[0], to_index(l, load(l, count, zero_at)));
    kernel(l, "selected");
    par_all(l, y, o);
    store(l, y, o, load(l, picked, o));
    kernel_end(l);
}

// ---- Unique

static void infer_unique(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0}, n = infer_data_dim(s, 0, 0, "unique"),
          all = poly_const(s->polys, 1);
    int64_t axis = -1;
    if (!x || x->rank < 0 || x->rank > MAX_RANK)
        return;
    for (int32_t k = 0; k < x->rank; k++)
        all = poly_mul(s->polys, all, x->dims[k]);
    if (node_has_attr(s->n, "axis")) {
        if ((axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank)) < 0)
            return;
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
        all = dims[axis];
        dims[axis] = n;
    }
    infer_shape(s, 0, axis < 0 ? 1 : (uint32_t)x->rank, axis < 0 ? &n : dims);
    infer_shape(s, 1, 1, &n);
    infer_shape(s, 2, 1, &all);
    infer_shape(s, 3, 1, &n);
    for (uint32_t o = 1; o < 4; o++)
        infer_dtype(s, o, DT_I64);
}

// x as slices along its axis (or as elements): slice i, position p of the `size` inside it.
typedef struct Slices {
    Tensor x;
    Tensor keys; // what is compared: x, or the ranks of its strings
    bool flat;
    uint32_t axis;
    Index count, rest[MAX_RANK]; // rest: dims without the axis
} Slices;

static const Expr *slice_element(Lower *l, const Slices *s, Index i, const Index *p)
{
    Index at[MAX_RANK] = {0};
    if (s->flat)
        ix_delinear(l, i, s->x.rank, s->x.dims, at);
    for (uint32_t k = 0, from = 0; !s->flat && k < s->x.rank; k++)
        at[k] = k == s->axis ? i : p[from++];
    const Expr *e = load(l, s->keys, at);
    return e->dtype == DT_BOOL ? cast(l, DT_I32, e) : e;
}

// Equality that counts NaNs as one value, and the order that puts it last.
static const Expr *same(Lower *l, const Expr *a, const Expr *b)
{
    const Expr *e = eq(l, a, b);
    return dtype_is_float(a->dtype) ? or_(l, e, and_(l, unary(l, U_ISNAN, a), unary(l, U_ISNAN, b)))
                                    : e;
}

static const Expr *before(Lower *l, const Expr *a, const Expr *b)
{
    const Expr *e = lt(l, a, b);
    return dtype_is_float(a->dtype)
               ? or_(l, e, and_(l, unary(l, U_ISNAN, b), not_(l, unary(l, U_ISNAN, a))))
               : e;
}

static const Expr *slices_same(Lower *l, const Slices *s, Index i, Index j)
{
    Index p[MAX_RANK] = {0};
    uint32_t n = s->flat ? 0 : s->x.rank - 1;
    for (uint32_t k = 0; k < n; k++)
        p[k] = red(l, s->rest[k]);
    const Expr *e = same(l, slice_element(l, s, i, p), slice_element(l, s, j, p));
    return n ? reduce(l, R_AND, n, p, NULL, e) : e;
}

// Lexicographic: the first place where they differ decides.
static const Expr *slices_before(Lower *l, const Slices *s, Index i, Index j)
{
    Index p[MAX_RANK] = {0};
    uint32_t n = s->flat ? 0 : s->x.rank - 1;
    if (n == 0)
        return before(l, slice_element(l, s, i, NULL), slice_element(l, s, j, NULL));
    Index size = ix_product(l, n, s->rest), v = red(l, size);
    ix_delinear(l, v, n, s->rest, p);
    const Expr *differ = not_(l, same(l, slice_element(l, s, i, p), slice_element(l, s, j, p)));
    const Expr *last = expr_index(l->module, size);
    const Expr *first = reduce(l, R_MIN, 1, &v, differ, expr_index(l->module, v));
    Index at = to_index(l, max_(l, zero(l, DT_I64), min_(l, first, sub(l, last, one(l, DT_I64)))));
    ix_delinear(l, at, n, s->rest, p);
    return and_(l, lt(l, first, last),
                before(l, slice_element(l, s, i, p), slice_element(l, s, j, p)));
}

// Each slice's first equal, and the place of each first among the firsts: by value, or as they
// come.
static const Expr *places_before(Lower *l, void *context, const Expr *i, const Expr *j)
{
    return slices_before(l, context, to_index(l, i), to_index(l, j));
}

// The places of elements in the order of these: all of them, the least first, as TopK has them.
static Tensor sorted_elements(Lower *l, const Slices *s)
{
    Tensor keys = s->keys, order = temp(l, "order", DT_I64, 1, &s->count);
    const Attr attrs[] = {attr_int("axis", 0), attr_int("largest", 0), attr_int("sorted", 1)};
    if (keys.rank != 1 || keys.dtype == DT_BOOL) {
        keys = temp(l, "keys", keys.dtype == DT_BOOL ? DT_I32 : keys.dtype, 1, &s->count);
        kernel(l, "unique_keys");
        Index i = par(l, s->count);
        store(l, keys, &i, slice_element(l, s, i, NULL));
        kernel_end(l);
    }
    lower_part(
        l, &(Part){.op = "TopK", .in = {keys}, .out = {{0}, order}, .attrs = attrs, .nattrs = 3});
    return order;
}

// In the order of what slices hold, those that are equal stand together, the first of the input in
// front: `first` of each slice. A group's place is its number, or, unsorted, that of its first
// slice among such. Both are found in one walk.
static void rank_slices(Lower *l, const Slices *s, Tensor first, Tensor place, Tensor count)
{
    bool sorted = node_int(l->n, "sorted", 1) != 0;
    Index zero_at[1] = {ix(l, 0)};
    const Expr *none = zero(l, DT_I64), *step = one(l, DT_I64);
    Tensor order, spare;
    if (s->flat) {
        order = sorted_elements(l, s);
    } else {
        order = temp(l, "order", DT_I64, 1, &s->count);
        spare = temp(l, "spare", DT_I64, 1, &s->count);
    }
    kernel(l, "rank_slices");
    Index i = seq(l, s->count);
    if (!s->flat)
        store(l, order, &i, expr_index(l->module, i));
    store(l, place, &i, none);
    end(l);
    if (!s->flat)
        sort_places(l, order, spare, let(l, expr_index(l->module, s->count)), places_before,
                    (void *)s);
    LocalId groups = row(l, DT_I64, 0, NULL), head = row(l, DT_I64, 0, NULL),
            fresh = row(l, DT_BOOL, 0, NULL);
    set(l, groups, NULL, none);
    set(l, head, NULL, none);
    i = seq(l, s->count);
    const Expr *own = let(l, load(l, order, &i));
    Index at = to_index(l, own), before = to_index(l, let(l, get(l, head, NULL)));
    set(l, fresh, NULL, one(l, DT_BOOL));
    if_(l, index_lt(l, ix(l, 0), i));
    set(l, fresh, NULL, not_(l, slices_same(l, s, before, at)));
    end(l);
    if_(l, get(l, fresh, NULL));
    set(l, head, NULL, own);
    if (sorted)
        store(l, place, &at, get(l, groups, NULL));
    set(l, groups, NULL, add(l, get(l, groups, NULL), step));
    end(l);
    store(l, first, &at, get(l, head, NULL));
    end(l);
    store(l, count, zero_at, get(l, groups, NULL));
    if (!sorted) {
        set(l, groups, NULL, none);
        i = seq(l, s->count);
        if_(l, eq(l, load(l, first, &i), expr_index(l->module, i)));
        store(l, place, &i, get(l, groups, NULL));
        set(l, groups, NULL, add(l, get(l, groups, NULL), step));
        end(l);
        end(l);
    }
    kernel_end(l);
}

static void lower_unique(Lower *l)
{
    Tensor y = output(l, 0), indices = output(l, 1), inverse = output(l, 2), counts = output(l, 3);
    Slices s = {.x = input(l, 0)};
    int64_t axis = node_int(l->n, "axis", 0);
    Index one_dim[1] = {ix(l, 1)}, zero_at[1] = {ix(l, 0)}, o[MAX_RANK] = {0}, i, p;
    s.flat = !node_has_attr(l->n, "axis") || s.x.rank == 1;
    s.axis = (uint32_t)(axis < 0 ? axis + s.x.rank : axis);
    s.count = s.flat ? ix_product(l, s.x.rank, s.x.dims) : s.x.dims[s.axis];
    for (uint32_t k = 0, to = 0; !s.flat && k < s.x.rank; k++)
        if (k != s.axis)
            s.rest[to++] = s.x.dims[k];
    Tensor first = temp(l, "first", DT_I64, 1, &s.count),
           place = temp(l, "place", DT_I64, 1, &s.count),
           count = temp(l, "count", DT_I64, 1, one_dim);
    s.keys = s.x;
    if (s.x.dtype == DT_STRING) {
        s.keys = temp(l, "ranks", DT_I64, s.x.rank, s.x.dims);
        step_call(l, "string_rank", 1, &s.x, 1, &s.keys, 0, NULL);
    }
    rank_slices(l, &s, first, place, count);
    Index n = y.dims[s.flat ? 0 : s.axis];
    define_dim(l, n, to_index(l, load(l, count, zero_at)));
    Tensor source = indices.buffer ? indices : temp(l, "source", DT_I64, 1, &n);
    kernel(l, "unique_indices");
    i = par(l, s.count);
    if_(l, eq(l, load(l, first, &i), expr_index(l->module, i)));
    p = to_index(l, load(l, place, &i));
    store(l, source, &p, from_index(l, i, DT_I64));
    kernel_end(l);
    if (inverse.buffer) {
        kernel(l, "unique_inverse");
        i = par(l, s.count);
        p = to_index(l, load(l, first, &i));
        store(l, inverse, &i, load(l, place, &p));
        kernel_end(l);
    }
    if (counts.buffer) {
        kernel(l, "no_counts");
        i = par(l, n);
        store(l, counts, &i, zero(l, DT_I64));
        kernel_end(l);
        kernel(l, "unique_counts");
        i = seq(l, s.count);
        p = to_index(l, load(l, first, &i));
        Index group = to_index(l, load(l, place, &p));
        update(l, B_ADD, counts, &group, one(l, DT_I64));
        kernel_end(l);
    }
    Index at[MAX_RANK] = {0};
    kernel(l, "unique");
    par_all(l, y, o);
    p = to_index(l, load(l, source, o + (s.flat ? 0 : s.axis)));
    if (s.flat) {
        ix_delinear(l, p, s.x.rank, s.x.dims, at);
    } else {
        memcpy(at, o, sizeof at);
        at[s.axis] = p;
    }
    store(l, y, o, load(l, s.x, at));
    kernel_end(l);
}

// ---- TensorScatter

// A cache with new lines written from write_indices[batch] on, wrapping where circular.
// Spec: TensorScatter-24.
static void lower_tensor_scatter(Lower *l)
{
    Tensor x = input(l, 0), u = input(l, 1), w = input(l, 2), y = output(l, 0);
    bool circular = str_is(node_str(l->n, "mode", "linear"), "circular");
    int64_t axis = node_int(l->n, "axis", -2);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    axis += axis < 0 ? x.rank : 0;
    if (axis < 1 || axis >= x.rank || u.rank != x.rank) {
        not_supported(l, "TensorScatter along this axis");
        return;
    }
    Index n = x.dims[axis], lines = u.dims[axis];
    for (uint32_t k = 0; k < x.rank; k++)
        check(l, k == axis ? index_le(l, lines, n) : index_eq(l, u.dims[k], x.dims[k]),
              "TensorScatter: the update does not fit the cache");
    if (w.buffer) {
        Index b = red(l, w.dims[0]);
        const Expr *from = cast(l, DT_I64, load(l, w, &b)), *z = zero(l, DT_I64);
        const Expr *room =
            expr_index(l->module, circular ? ix_addc(l, n, -1) : ix_sub(l, n, lines));
        check(l, index_eq(l, w.dims[0], x.dims[0]),
              "TensorScatter: there are not as many write indices as batches");
        check(l, reduce(l, R_AND, 1, &b, NULL, and_(l, le(l, z, from), le(l, from, room))),
              "TensorScatter: a write index is out of range");
    }
    copy_tensor(l, y, x);
    kernel(l, "tensor_scatter");
    par_all(l, u, o);
    memcpy(at, o, sizeof at);
    if (w.buffer) {
        const Expr *all = expr_index(l->module, n);
        const Expr *line =
            add(l, expr_index(l->module, o[axis]), cast(l, DT_I64, load(l, w, o)));
        if (circular)
            line = select_(l, lt(l, line, all), line, sub(l, line, all));
        at[axis] = to_index(l, line);
    }
    store(l, y, at, load(l, u, o));
    kernel_end(l);
}

const OpDef ops_select[] = {
    {"NonMaxSuppression", 10, infer_nms, lower_nms, {NULL}, NULL},
    {"Unique", 11, infer_unique, lower_unique, {NULL}, NULL},
    {"TensorScatter", 24, same_as_0, lower_tensor_scatter, {NULL}, NULL},
    {0},
};
