// Operators that move elements without changing them.

#include "ir/ops/common.h"

#include <string.h>

// y[o] = x[at(o)] with the same linear position: Reshape and its kin.
void lower_reshape(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    ix_delinear(l, ix_linear(l, y.rank, y.dims, o), x.rank, x.dims, at);
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

static Index product(Polys *p, const Index *dims, uint32_t n)
{
    Index all = poly_const(p, 1);
    for (uint32_t i = 0; i < n; i++)
        all = poly_mul(p, all, dims[i]);
    return all;
}

// The dim that -1 stands for: all of x over the product of the others.
static Index missing_dim(Infer *s, Index all, Index others)
{
    int64_t k, n;
    if (poly_is_const(others, &k) && poly_is_const(all, &n) && (k == 0 || n % k)) {
        infer_error(s, "%lld elements do not fit a shape with a multiple of %lld", (long long)n,
                    (long long)k);
        return all;
    }
    return poly_floordiv(s->polys, all, others);
}

static void reshape_known(Infer *s, const Index *want, uint32_t rank)
{
    Index dims[MAX_RANK] = {0}, others = poly_const(s->polys, 1);
    const Value *x = infer_in(s, 0);
    bool allow_zero = node_int(s->n, "allowzero", 0) != 0;
    int missing = -1;
    if (rank > MAX_RANK || !x)
        return;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = want[i];
        if (poly_equals(want[i], 0) && !allow_zero) {
            if (x->rank >= 0 && i >= (uint32_t)x->rank) {
                infer_error(s, "shape[%u] is 0, but the input has no dimension %u", i, i);
                return;
            }
            dims[i] = x->rank >= 0 ? x->dims[i] : infer_data_dim(s, 0, i, "reshaped");
        }
        if (poly_equals(want[i], -1)) {
            if (missing >= 0) {
                infer_error(s, "shape has more than one -1");
                return;
            }
            missing = (int)i;
            continue;
        }
        others = poly_mul(s->polys, others, dims[i]);
    }
    if (missing >= 0)
        dims[missing] = x->rank >= 0
                            ? missing_dim(s, product(s->polys, x->dims, (uint32_t)x->rank), others)
                            : infer_data_dim(s, 0, (uint32_t)missing, "reshaped");
    int64_t a, b;
    if (missing < 0 && x->rank >= 0 &&
        poly_is_const(product(s->polys, x->dims, (uint32_t)x->rank), &a) &&
        poly_is_const(others, &b) && a != b) {
        infer_error(s, "cannot give %lld elements a shape of %lld", (long long)a, (long long)b);
        return;
    }
    infer_shape(s, 0, rank, dims);
    if (rank <= 1)
        infer_content_copy(s, 0, 0);
}

static void infer_reshape(Infer *s)
{
    uint32_t n;
    const int64_t *ints;
    Index want[MAX_RANK] = {0};
    const Index *content = infer_content(s, 1, &n);
    if (content) {
        reshape_known(s, content, n);
    } else if (node_ints(s->n, "shape", &ints, &n) && n <= MAX_RANK) { // before 5
        for (uint32_t i = 0; i < n; i++)
            want[i] = poly_const(s->polys, ints[i]);
        reshape_known(s, want, n);
    } else if (infer_rank(s, 1) == 1) {
        int64_t rank;
        if (poly_is_const(infer_dim(s, 1, 0), &rank) && rank <= MAX_RANK) {
            for (int64_t i = 0; i < rank; i++)
                want[i] = infer_data_dim(s, 0, (uint32_t)i, "reshaped");
            infer_shape(s, 0, (uint32_t)rank, want);
        }
    }
}

// A shape that is known only when the program runs: 0 copies, -1 is what is left.
static void lower_reshape_runtime(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    bool known = !has_input(l, 1) || value_at(l->model, l->n->in[1])->content;
    if (!known) {
        bool allow_zero = node_int(l->n, "allowzero", 0) != 0;
        const Expr *others = int_(l, DT_I64, 1), *zero64 = zero(l, DT_I64),
                   *all = expr_index(l->module, ix_product(l, x.rank, x.dims));
        const Expr *want[MAX_RANK];
        for (uint32_t i = 0; i < y.rank; i++) {
            want[i] = expr_index(l->module, input_element(l, 1, i));
            if (!allow_zero && i < x.rank)
                want[i] =
                    select_(l, eq(l, want[i], zero64), expr_index(l->module, x.dims[i]), want[i]);
            others = mul(l, others, select_(l, lt(l, want[i], zero64), one(l, DT_I64), want[i]));
        }
        for (uint32_t i = 0; i < y.rank; i++)
            define_dim(
                l, y.dims[i],
                to_index(l, select_(l, lt(l, want[i], zero64), div_(l, all, others), want[i])));
        check(l, index_eq(l, ix_product(l, y.rank, y.dims), ix_product(l, x.rank, x.dims)),
              "Reshape: the shape does not fit the number of elements");
    }
    lower_reshape(l);
}

static void infer_flatten(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0)
        return;
    int64_t axis = node_int(s->n, "axis", 1);
    axis = axis < 0 ? axis + x->rank : axis;
    if (axis < 0 || axis > x->rank) {
        infer_error(s, "axis is out of range");
        return;
    }
    Index dims[2] = {product(s->polys, x->dims, (uint32_t)axis),
                     product(s->polys, x->dims + axis, (uint32_t)(x->rank - axis))};
    infer_shape(s, 0, 2, dims);
}

static void infer_identity(Infer *s)
{
    same_as_0(s);
    infer_content_copy(s, 0, 0);
    const Value *x = infer_in(s, 0);
    if (x && x->constant && x->kind == TYPE_TENSOR)
        infer_set_constant(s, 0, x->constant);
}

static const Expr *same(Lower *l, const Expr *x)
{
    (void)l;
    return x;
}

// ---- Transpose

// Which dim of x is dim i of y; not below rank where perm does not fit.
static uint32_t permuted(const Node *n, uint32_t i, uint32_t rank)
{
    const int64_t *perm;
    uint32_t len;
    if (!node_ints(n, "perm", &perm, &len))
        return rank - 1 - i;
    int64_t from = i >= len ? -1 : perm[i] < 0 ? perm[i] + rank : perm[i];
    return from >= 0 && from < rank ? (uint32_t)from : UINT32_MAX;
}

static void infer_transpose(Infer *s)
{
    Index dims[MAX_RANK] = {0};
    bool taken[MAX_RANK] = {false};
    const Value *x = infer_in(s, 0);
    const int64_t *perm;
    uint32_t len;
    if (!x || x->rank < 0)
        return;
    if (node_ints(s->n, "perm", &perm, &len) && len != (uint32_t)x->rank) {
        infer_error(s, "perm has %u entries for rank %d", len, x->rank);
        return;
    }
    for (uint32_t i = 0; i < (uint32_t)x->rank; i++) {
        uint32_t from = permuted(s->n, i, (uint32_t)x->rank);
        if (from >= (uint32_t)x->rank || taken[from]) {
            infer_error(s, "perm[%u] is out of range or given twice", i);
            return;
        }
        taken[from] = true;
        dims[i] = x->dims[from];
    }
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

static void lower_transpose(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    kernel(l, "transpose");
    par_all(l, y, o);
    for (uint32_t i = 0; i < y.rank; i++)
        at[permuted(l->n, i, y.rank)] = o[i];
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// ---- Expand, Tile

static void infer_expand(Infer *s)
{
    uint32_t n, rank;
    Index dims[MAX_RANK + 1] = {0};
    const Index *want = infer_content(s, 1, &n);
    const Value *x = infer_in(s, 0);
    int64_t known = 0;
    if (!x || x->rank < 0)
        return;
    if (!want && infer_rank(s, 1) == 1 && poly_is_const(infer_dim(s, 1, 0), &known) &&
        known <= MAX_RANK) {
        rank = (uint32_t)known > (uint32_t)x->rank ? (uint32_t)known : (uint32_t)x->rank;
        for (uint32_t i = 0; i < rank; i++) {
            int64_t own = 1; // any other than 1 stays
            uint32_t before = rank - (uint32_t)x->rank;
            bool stays = i >= before && poly_is_const(x->dims[i - before], &own) && own != 1;
            dims[i] = stays ? x->dims[i - before] : infer_data_dim(s, 0, i, "expanded");
        }
        infer_shape(s, 0, rank, dims);
    }
    if (!want || n > MAX_RANK)
        return;
    rank = n > (uint32_t)x->rank ? n : (uint32_t)x->rank;
    for (uint32_t i = 0; i < rank; i++) {
        Index a = i + (uint32_t)x->rank >= rank ? x->dims[i + (uint32_t)x->rank - rank]
                                                : poly_const(s->polys, 1);
        dims[i] = i + n >= rank ? infer_broadcast_dim(s, a, want[i + n - rank]) : a;
    }
    infer_shape(s, 0, rank, dims);
    if (rank <= 1 && x->content && x->ncontent == 1 && rank == 1) {
        int64_t k;
        if (poly_is_const(dims[0], &k) && k > 0 && k <= 64) {
            Index all[64] = {0};
            for (int64_t i = 0; i < k; i++)
                all[i] = x->content[0];
            infer_set_content(s, 0, (uint32_t)k, all);
        }
    }
}

static void lower_expand(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (!value_at(l->model, l->n->in[1])->content) {
        uint32_t n = y.rank; // the shape input may be shorter than y
        int64_t k = 0;
        poly_is_const(input(l, 1).dims[0], &k);
        for (uint32_t i = 0; i < n; i++) {
            Index a = i + x.rank >= n ? x.dims[i + x.rank - n] : ix(l, 1);
            Index b = i + (uint32_t)k >= n ? input_element(l, 1, i + (uint32_t)k - n) : ix(l, 1);
            const Expr *ea = expr_index(l->module, a), *eb = expr_index(l->module, b);
            const Expr *u = one(l, DT_I64);
            check(l, or_(l, or_(l, eq(l, ea, u), eq(l, eb, u)), eq(l, ea, eb)),
                  "Expand: dimension %u does not broadcast to the shape", i);
            define_dim(l, y.dims[i], to_index(l, select_(l, eq(l, ea, one(l, DT_I64)), eb, ea)));
        }
    }
    kernel(l, "expand");
    par_all(l, y, o);
    store(l, y, o, load_broadcast(l, x, y.rank, o));
    kernel_end(l);
}

static void infer_tile(Infer *s)
{
    uint32_t n;
    Index dims[MAX_RANK] = {0};
    const Index *repeats = infer_content(s, 1, &n);
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0 || x->rank > MAX_RANK)
        return;
    Index rank = poly_const(s->polys, x->rank);
    infer_fits(s, 1, 1, &rank);
    for (uint32_t i = 0; i < (uint32_t)x->rank; i++)
        dims[i] = repeats && i < n ? poly_mul(s->polys, x->dims[i], repeats[i])
                                   : infer_data_dim(s, 0, i, "tiled");
    infer_shape(s, 0, (uint32_t)x->rank, dims);
}

static void lower_tile(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < y.rank; i++) {
        if (value_at(l->model, l->n->in[1])->content)
            continue;
        Index n = input_element(l, 1, i); // products of such sizes stay within int64
        check(l,
              and_(l, le(l, zero(l, DT_I64), expr_index(l->module, n)),
                   lt(l, expr_index(l->module, n), int_(l, DT_I64, (int64_t)1 << 24))),
              "Tile: a number of repeats is out of range");
        define_dim(l, y.dims[i], ix_mul(l, x.dims[i], n));
    }
    kernel(l, "tile");
    par_all(l, y, o);
    for (uint32_t i = 0; i < y.rank; i++)
        at[i] = ix_mod(l, o[i], x.dims[i]);
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// ---- DepthToSpace, SpaceToDepth

// How large blocks are, 0: no size that any tensor has.
static int64_t block_size(Infer *s)
{
    const int64_t b = node_int(s->n, "blocksize", 1);
    if (b > 0 && b <= 65536)
        return b;
    infer_error(s, "blocksize is %lld", (long long)b);
    return 0;
}

static void infer_depth_to_space(Infer *s)
{
    const Value *x = infer_in(s, 0);
    const int64_t b = block_size(s);
    if (!x || x->rank != 4 || !b)
        return;
    Index c = poly_floordiv(s->polys, x->dims[1], poly_const(s->polys, b * b));
    infer_fits(s, 0, 4, (const Index[4]){NULL, poly_scale(s->polys, c, b * b)});
    Index dims[4] = {x->dims[0], c, poly_scale(s->polys, x->dims[2], b),
                     poly_scale(s->polys, x->dims[3], b)};
    infer_shape(s, 0, 4, dims);
}

static void lower_depth_to_space(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, b = ix(l, node_int(l->n, "blocksize", 1));
    bool crd = str_is(node_str(l->n, "mode", "DCR"), "CRD");
    kernel(l, "depth_to_space");
    par_all(l, y, o);
    Index block = ix_add(l, ix_mul(l, ix_mod(l, o[2], b), b), ix_mod(l, o[3], b));
    Index c = crd ? ix_add(l, ix_mul(l, o[1], ix_mul(l, b, b)), block)
                  : ix_add(l, ix_mul(l, block, y.dims[1]), o[1]);
    Index at[4] = {o[0], c, ix_div(l, o[2], b), ix_div(l, o[3], b)};
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

static void infer_space_to_depth(Infer *s)
{
    const Value *x = infer_in(s, 0);
    const int64_t b = block_size(s);
    if (!x || x->rank != 4 || !b)
        return;
    Index k = poly_const(s->polys, b), h = poly_floordiv(s->polys, x->dims[2], k),
          w = poly_floordiv(s->polys, x->dims[3], k);
    Index dims[4] = {x->dims[0], poly_scale(s->polys, x->dims[1], b * b), h, w};
    infer_fits(
        s, 0, 4,
        (const Index[4]){NULL, NULL, poly_scale(s->polys, h, b), poly_scale(s->polys, w, b)});
    infer_shape(s, 0, 4, dims);
}

static void lower_space_to_depth(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, b = ix(l, node_int(l->n, "blocksize", 1));
    kernel(l, "space_to_depth");
    par_all(l, y, o);
    // DCR: the place in the block is the outer part of the channel; CRD: the inner.
    bool inner = str_is(node_str(l->n, "mode", "DCR"), "CRD");
    Index square = ix_mul(l, b, b);
    Index block = inner ? ix_mod(l, o[1], square) : ix_div(l, o[1], x.dims[1]);
    Index channel = inner ? ix_div(l, o[1], square) : ix_mod(l, o[1], x.dims[1]);
    Index at[4] = {o[0], channel, ix_add(l, ix_mul(l, o[2], b), ix_div(l, block, b)),
                   ix_add(l, ix_mul(l, o[3], b), ix_mod(l, block, b))};
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

const OpDef ops_movement[] = {
    {"Identity", 1, infer_identity, UNARY(same), NULL},
    {"Reshape", 1, infer_reshape, lower_reshape_runtime, {NULL}, NULL},
    {"Flatten", 1, infer_flatten, lower_reshape, {NULL}, NULL},
    {"Transpose", 1, infer_transpose, lower_transpose, {NULL}, NULL},
    {"Expand", 8, infer_expand, lower_expand, {NULL}, NULL},
    {"Tile", 6, infer_tile, lower_tile, {NULL}, NULL},
    {"DepthToSpace", 1, infer_depth_to_space, lower_depth_to_space, {NULL}, NULL},
    {"SpaceToDepth", 1, infer_space_to_depth, lower_space_to_depth, {NULL}, NULL},
    {0},
};
