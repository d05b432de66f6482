// Operators that join tensors or take parts of them: Concat, Split, Slice.

#include "ir/ops/common.h"

#include <string.h>

// ---- Concat

static void concat_content(Infer *s)
{
    Index all[256] = {0};
    uint32_t n = 0, len;
    for (uint32_t i = 0; i < s->n->nin; i++) {
        const Index *part = infer_content(s, i, &len);
        if (!part || n + len > 256)
            return;
        memcpy(all + n, part, len * sizeof *part);
        n += len;
    }
    infer_set_content(s, 0, n, all);
}

static void infer_concat(Infer *s)
{
    const Value *first = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    if (!first || first->rank < 1 || first->rank > MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 1), first->rank);
    if (axis < 0)
        return;
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (uint32_t i = 1; i < s->n->nin; i++) {
        const Value *v = infer_in(s, i);
        if (!v || v->rank < 0)
            return;
        if (v->rank != first->rank) {
            infer_error(s, "input %u has rank %d, input 0 has rank %d", i, v->rank, first->rank);
            return;
        }
        dims[axis] = poly_add(s->polys, dims[axis], v->dims[axis]);
        for (int32_t k = 0; k < v->rank; k++) {
            int64_t a, b;
            bool known = k != axis && poly_is_const(v->dims[k], &b);
            if (k != axis && !infer_require(s, dims[k], v->dims[k]) && poly_is_const(dims[k], &a))
                infer_error(s, "dimension %d is %lld in input %u and %lld in input 0", k,
                            (long long)b, i, (long long)a);
            if (known)
                dims[k] = v->dims[k];
        }
    }
    infer_shape(s, 0, (uint32_t)first->rank, dims);
    if (first->rank == 1)
        concat_content(s);
}

// One store a part: disjoint regions of the one output, whose loops have its dims: a part's own are
// equal, but may be written otherwise, and rows are joined where loops and output agree.
static void lower_concat(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0}, dims[MAX_RANK] = {0}, from = ix(l, 0);
    int64_t axis = node_int(l->n, "axis", 1);
    uint32_t a = (uint32_t)(axis < 0 ? axis + y.rank : axis);
    memcpy(dims, y.dims, y.rank * sizeof *dims);
    for (uint32_t i = 0; i < l->n->nin; i++) {
        Tensor x = input(l, i);
        if (!poly_equals(x.dims[a], 0)) {
            kernel(l, "concat");
            dims[a] = x.dims[a];
            par_all(l, (Tensor){x.buffer, x.dtype, y.rank, dims}, o);
            const Expr *e = load(l, x, o);
            o[a] = ix_add(l, o[a], from);
            store(l, y, o, e);
            kernel_end(l);
        }
        from = ix_add(l, from, x.dims[a]);
    }
}

// ---- Split

// Where part i begins and how long it is; false if that is known only when the program runs.
static bool split_part(Polys *p, const Node *n, const Index *sizes, uint32_t nsizes, Index whole,
                       uint32_t i, Index *from, Index *len)
{
    *from = poly_const(p, 0);
    if (sizes) {
        for (uint32_t k = 0; k < i && k < nsizes; k++)
            *from = poly_add(p, *from, sizes[k]);
        *len = i < nsizes ? sizes[i] : NULL;
        return i < nsizes;
    }
    int64_t parts = node_int(n, "num_outputs", n->nout);
    Index each = poly_ceildiv(p, whole, poly_const(p, parts > 0 ? parts : 1));
    *from = poly_scale(p, each, i);
    *len = i + 1 == parts ? poly_sub(p, whole, *from) : each;
    return true;
}

static const Index *split_sizes(Infer *s, uint32_t *n)
{
    const int64_t *at;
    const Index *content = infer_content(s, 1, n);
    if (content || !node_ints(s->n, "split", &at, n))
        return content;
    Index *sizes = NEWS(s->arena, Index, *n);
    for (uint32_t i = 0; i < *n; i++)
        sizes[i] = poly_const(s->polys, at[i]);
    return sizes;
}

// As many parts as outputs, which make up the whole.
static bool split_fits(Infer *s, Index whole, const Index *sizes, uint32_t n)
{
    int64_t parts = node_int(s->n, "num_outputs", s->n->nout);
    Index outputs = poly_const(s->polys, s->n->nout), sum = poly_const(s->polys, 0);
    infer_fits(s, 1, 1, &outputs);
    for (uint32_t k = 0; sizes && k < n; k++)
        sum = poly_add(s->polys, sum, sizes[k]);
    if (!infer_in(s, 1) && (sizes ? n : parts) != s->n->nout)
        infer_error(s, "%lld parts are asked for and %u outputs given",
                    (long long)(sizes ? n : parts), s->n->nout);
    else if (sizes && !infer_require(s, sum, whole))
        infer_error(s, "the parts do not make up the whole");
    return !s->failed;
}

static void infer_split(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0}, from, len;
    uint32_t n = 0, nc;
    if (!x || x->rank < 1 || x->rank > MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank);
    const Index *sizes = split_sizes(s, &n);
    if (axis < 0)
        return;
    const Index *content = x->rank == 1 ? infer_content(s, 0, &nc) : NULL;
    if (!split_fits(s, x->dims[axis], sizes, n))
        return;
    for (uint32_t o = 0; o < s->n->nout; o++) {
        int64_t a, b;
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
        bool known = (!infer_in(s, 1) || sizes) &&
                     split_part(s->polys, s->n, sizes, n, x->dims[axis], o, &from, &len);
        dims[axis] = known ? len : infer_data_dim(s, o, (uint32_t)axis, "part");
        infer_shape(s, o, (uint32_t)x->rank, dims);
        if (known && content && poly_is_const(from, &a) && poly_is_const(len, &b) && a >= 0 &&
            b >= 0 && b <= nc - a)
            infer_set_content(s, o, (uint32_t)b, content + a);
    }
}

// Sizes that only the program knows: none is negative, and they make up the whole.
static void check_sizes(Lower *l, Index whole)
{
    Index sum = ix(l, 0);
    for (uint32_t i = 0; i < l->n->nout; i++) {
        Index size = input_element(l, 1, i);
        check(l, index_le(l, ix(l, 0), size), "Split: a size is negative");
        sum = ix_add(l, sum, size);
    }
    check(l, index_eq(l, sum, whole), "Split: the parts do not make up the whole");
}

static void lower_split(Lower *l)
{
    Tensor x = input(l, 0);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    uint32_t n = 0;
    Index o[MAX_RANK] = {0}, from = ix(l, 0), len;
    int64_t axis = node_int(l->n, "axis", 0);
    uint32_t a = (uint32_t)(axis < 0 ? axis + x.rank : axis);
    const Index *sizes = split_sizes(&s, &n);
    if (has_input(l, 1) && !sizes)
        check_sizes(l, x.dims[a]);
    for (uint32_t i = 0; i < l->n->nout; i++) {
        Tensor y = output(l, i);
        if (has_input(l, 1) && !sizes) {
            len = input_element(l, 1, i);
            if (y.buffer)
                define_dim(l, y.dims[a], len);
        } else if (!split_part(l->polys, l->n, sizes, n, x.dims[a], i, &from, &len)) {
            not_supported(l, "Split into more parts than sizes");
            return;
        }
        if (y.buffer) {
            kernel(l, "split");
            par_all(l, y, o);
            Index at[MAX_RANK] = {0};
            memcpy(at, o, sizeof at);
            at[a] = ix_add(l, o[a], from);
            store(l, y, o, load(l, x, at));
            kernel_end(l);
        }
        if (has_input(l, 1) && !sizes)
            from = ix_add(l, from, len);
    }
}

// ---- Slice

typedef struct SliceRange {
    Index start, step, count; // count elements: start, start + step ...
} SliceRange;

// A slice of a dim of size n: negative bounds count from the end, then they are clamped, the start
// of a negative step to 0 .. n-1. Spec: Slice-13.
static SliceRange slice_range(Polys *p, Index n, Index start, Index end, int64_t step)
{
    Index zero = poly_const(p, 0), one = poly_const(p, 1),
          low = step > 0 ? zero : poly_const(p, -1);
    Index high = step > 0 ? n : poly_sub(p, n, one);
    Index bound[2] = {start, end};
    for (int i = 0; i < 2; i++) {
        int64_t k;
        bool known = poly_is_const(bound[i], &k);
        Index least = i == 0 && step < 0 ? zero : low;
        if (known && (k >= INT32_MAX || k <= INT32_MIN)) {
            bound[i] = k > 0 ? high : poly_min(p, least, high);
            continue;
        }
        if (known && k < 0)
            bound[i] = poly_add(p, bound[i], n);
        bound[i] = poly_min(p, poly_max(p, bound[i], least), high);
    }
    if (poly_equals(n, 0))
        return (SliceRange){zero, poly_const(p, step), zero};
    Index span = step > 0 ? poly_sub(p, bound[1], bound[0]) : poly_sub(p, bound[0], bound[1]);
    Index count = poly_max(p, zero, poly_ceildiv(p, span, poly_const(p, step > 0 ? step : -step)));
    return (SliceRange){bound[0], poly_const(p, step), count};
}

// Entry k of starts (1), ends (2), axes (3) or steps (4): input, or attribute before 10.
static bool slice_entries(Infer *s, uint32_t i, const char *attr, const Index **at, uint32_t *n)
{
    const int64_t *ints;
    *at = infer_content(s, i, n);
    if (*at || !node_ints(s->n, attr, &ints, n))
        return *at != NULL;
    Index *list = NEWS(s->arena, Index, *n);
    for (uint32_t k = 0; k < *n; k++)
        list[k] = poly_const(s->polys, ints[k]);
    *at = list;
    return true;
}

static bool slice_axis(Infer *s, const Index *axes, uint32_t k, int32_t rank, int64_t *axis)
{
    *axis = k;
    if (axes && !poly_is_const(axes[k], axis))
        return false;
    *axis = infer_axis(s, *axis, rank);
    return *axis >= 0;
}

// The ranges of all dims; false if they are not known when compiling.
static bool slice_ranges(Infer *s, SliceRange *ranges, bool *touched)
{
    const Value *x = infer_in(s, 0);
    const Index *starts, *ends, *axes = NULL, *steps = NULL;
    uint32_t n, m, na = 0, ns = 0;
    memset(touched, 0, MAX_RANK * sizeof *touched);
    if (!slice_entries(s, 1, "starts", &starts, &n) || !slice_entries(s, 2, "ends", &ends, &m) ||
        n != m)
        return false;
    bool has_axes = slice_entries(s, 3, "axes", &axes, &na),
         has_steps = slice_entries(s, 4, "steps", &steps, &ns);
    if ((infer_in(s, 3) && !has_axes) || (infer_in(s, 4) && !has_steps) || (has_axes && na != n) ||
        (has_steps && ns != n))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        int64_t axis, step = 1;
        if (!slice_axis(s, has_axes ? axes : NULL, k, x->rank, &axis) ||
            (has_steps && !poly_is_const(steps[k], &step)))
            return false;
        if (step == 0 || step == INT64_MIN) {
            infer_error(s, "a step is %lld", (long long)step);
            return false;
        }
        int64_t sign;
        // A symbolic bound may be negative: its sign decides what it means.
        if ((!poly_is_const(starts[k], &sign) && !poly_nonnegative(s->polys, starts[k])) ||
            (!poly_is_const(ends[k], &sign) && !poly_nonnegative(s->polys, ends[k])))
            return false;
        ranges[axis] = slice_range(s->polys, x->dims[axis], starts[k], ends[k], step);
        touched[axis] = true;
    }
    return true;
}

static void slice_content(Infer *s, const SliceRange *range)
{
    uint32_t n;
    int64_t from, step, count;
    Index out[256] = {0};
    const Index *content = infer_content(s, 0, &n);
    if (!content || !poly_is_const(range->start, &from) || !poly_is_const(range->step, &step) ||
        !poly_is_const(range->count, &count) || count > 256)
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = from + i * step;
        if (at < 0 || at >= n)
            return;
        out[i] = content[at];
    }
    infer_set_content(s, 0, (uint32_t)count, out);
}

static void infer_slice(Infer *s)
{
    const Value *x = infer_in(s, 0);
    SliceRange ranges[MAX_RANK];
    bool touched[MAX_RANK];
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 0 || x->rank > MAX_RANK)
        return;
    for (uint32_t i = 2; i < 5 && infer_rank(s, 1) == 1; i++)
        infer_fits(s, i, 1, infer_in(s, 1)->dims);
    bool known = slice_ranges(s, ranges, touched);
    uint32_t na;
    const Index *axes = infer_content(s, 3, &na);
    for (int32_t i = 0; i < x->rank; i++) {
        bool stays = !known && axes;
        for (uint32_t k = 0; stays && k < na; k++) {
            int64_t a;
            stays = poly_is_const(axes[k], &a) && a != i && a != i - x->rank;
        }
        dims[i] = known   ? touched[i] ? ranges[i].count : x->dims[i]
                    : stays ? x->dims[i]
                          : infer_data_dim(s, 0, (uint32_t)i, "sliced");
    }
    infer_shape(s, 0, (uint32_t)x->rank, dims);
    if (known && x->rank == 1 && touched[0])
        slice_content(s, &ranges[0]);
    else if (known && x->rank == 1)
        infer_content_copy(s, 0, 0);
}

// Entry k of starts, ends, axes or steps as a run-time integer.
static const Expr *entry(Lower *l, uint32_t i, uint32_t k, int64_t otherwise)
{
    return has_input(l, i) ? expr_index(l->module, input_element(l, i, k))
                           : int_(l, DT_I64, otherwise);
}

// One bound of a slice of a dim of size d, clamped. Spec: Slice-13.
static const Expr *clamp_bound(Lower *l, const Expr *e, const Expr *d, const Expr *up,
                               bool is_start)
{
    const Expr *z = zero(l, DT_I64), *last = sub(l, d, one(l, DT_I64));
    const Expr *low = select_(l, up, z, is_start ? min_(l, z, last) : int_(l, DT_I64, -1)),
               *high = select_(l, up, d, last);
    // A sentinel near the ends of int64 must not overflow when d is added.
    const Expr *wrapped = select_(l, lt(l, e, neg(l, d)), int_(l, DT_I64, -1), add(l, e, d));
    return min_(l, max_(l, select_(l, lt(l, e, z), wrapped, e), low), high);
}

// Bounds (and axes, and how many there are) that only the program knows: for each dim the entry
// that names it, if any.
static void slice_runtime(Lower *l, Tensor x, Tensor y, Index *start, Index *step)
{
    int64_t n = x.rank;
    const Expr *z = zero(l, DT_I64), *one64 = one(l, DT_I64);
    const bool known = has_input(l, 1) && poly_is_const(input(l, 1).dims[0], &n);
    if (!has_input(l, 1) || n > x.rank) {
        not_supported(l, "Slice along a number of axes that is greater than the rank");
        return;
    }
    const Expr *entries = expr_index(l->module, input(l, 1).dims[0]);
    if (!known)
        check(l, le(l, entries, int_(l, DT_I64, n)), "Slice: more starts than dims");
    for (uint32_t i = 0; i < x.rank; i++) {
        const Expr *d = expr_index(l->module, x.dims[i]), *from = z, *to = d, *by = one64;
        for (uint32_t k = 0; k < (uint32_t)n; k++) {
            const Expr *a = entry(l, 3, k, k);
            const Expr *hit = or_(l, eq(l, a, int_(l, DT_I64, i)),
                                  eq(l, a, int_(l, DT_I64, (int64_t)i - x.rank)));
            if (!known)
                hit = and_(l, lt(l, int_(l, DT_I64, k), entries), hit);
            from = select_(l, hit, entry(l, 1, k, 0), from);
            to = select_(l, hit, entry(l, 2, k, 0), to);
            by = select_(l, hit, entry(l, 4, k, 1), by);
        }
        const Expr *up = lt(l, z, by), *size = unary(l, U_ABS, by);
        from = clamp_bound(l, from, d, up, true);
        to = clamp_bound(l, to, d, up, false);
        const Expr *span = select_(l, up, sub(l, to, from), sub(l, from, to));
        const Expr *count = max_(l, z, div_(l, sub(l, add(l, span, size), one64), size));
        check(l, ne(l, by, z), "Slice: a step is 0");
        start[i] = to_index(l, from);
        step[i] = to_index(l, by);
        define_dim(l, y.dims[i], to_index(l, count));
    }
}

static void lower_slice(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    SliceRange ranges[MAX_RANK];
    bool touched[MAX_RANK];
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, start[MAX_RANK] = {0}, step[MAX_RANK] = {0};
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    if (slice_ranges(&s, ranges, touched))
        for (uint32_t i = 0; i < x.rank; i++) {
            start[i] = touched[i] ? ranges[i].start : ix(l, 0);
            step[i] = touched[i] ? ranges[i].step : ix(l, 1);
        }
    else
        slice_runtime(l, x, y, start, step);
    if (l->failed)
        return;
    kernel(l, "slice");
    par_all(l, y, o);
    for (uint32_t i = 0; i < y.rank; i++)
        at[i] = ix_add(l, start[i], ix_mul(l, o[i], step[i]));
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

const OpDef ops_parts[] = {
    {"Concat", 1, infer_concat, lower_concat, {NULL}, NULL},
    {"Split", 2, infer_split, lower_split, {NULL}, NULL},
    {"Slice", 1, infer_slice, lower_slice, {NULL}, NULL},
    {0},
};
