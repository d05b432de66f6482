// MatMulNBits: A times the transpose of B [N, K], whose elements of 2, 4 or 8 bits lie in blocks
// along K, each block with a scale and a zero point of its own.

#include "ir/ops/microsoft.h"

typedef struct Blocks {
    int64_t n, k, size, bits, per_row; // per_row: blocks of one row of B
} Blocks;

// false with *fault naming the attribute that does not fit.
static bool blocks_of(const Node *n, Blocks *b, const char **fault)
{
    b->n = node_int(n, "N", 0);
    b->k = node_int(n, "K", 0);
    b->size = node_int(n, "block_size", 0);
    b->bits = node_int(n, "bits", 4);
    *fault = b->n < 1 || b->n > INT32_MAX                                     ? "N"
             : b->k < 1 || b->k > INT32_MAX                                   ? "K"
             : b->size < 16 || b->size > 1 << 20 || (b->size & (b->size - 1)) ? "block_size"
             : b->bits != 2 && b->bits != 4 && b->bits != 8                   ? "bits"
                                                                              : NULL;
    b->per_row = *fault ? 0 : (b->k + b->size - 1) / b->size;
    return !*fault;
}

static void infer_nbits(Infer *s)
{
    const Value *a = infer_in(s, 0), *points = infer_in(s, 3);
    Polys *p = s->polys;
    Index dims[MAX_RANK] = {0};
    Blocks b;
    const char *fault;
    if (!blocks_of(s->n, &b, &fault)) {
        infer_error(s, "attribute %s does not fit", fault);
        return;
    }
    if (!a || a->rank < 1)
        return;
    if (!infer_require(s, a->dims[a->rank - 1], poly_const(p, b.k)))
        infer_error(s, "the last dimension of A is not K");
    for (int32_t i = 0; i + 1 < a->rank; i++)
        dims[i] = a->dims[i];
    dims[a->rank - 1] = poly_const(p, b.n);
    infer_shape(s, 0, (uint32_t)a->rank, dims);
    Index n = poly_const(p, b.n), rows = poly_const(p, b.per_row),
          all = poly_const(p, b.n * b.per_row);
    int64_t packed = (b.per_row * b.bits + 7) / 8;
    bool bytes = points && points->dtype == DT_U8;
    infer_fits(s, 1, 3, (const Index[]){n, rows, poly_const(p, b.size * b.bits / 8)});
    infer_fits(s, 2, 1, &all);
    infer_fits(s, 2, 2, (const Index[]){n, rows});
    infer_fits(s, 3, 1, (const Index[]){bytes ? poly_const(p, b.n * packed) : all});
    infer_fits(s, 3, 2, (const Index[]){n, bytes ? poly_const(p, packed) : rows});
    infer_fits(s, 5, 1, &n);
}

// Element i of a row of bytes that hold 8 / bits numbers each, the lowest bits first.
static const Expr *unpacked(Lower *l, const Blocks *b, const Expr *byte, Index i)
{
    int64_t each = 8 / b->bits;
    if (each == 1)
        return byte;
    Index shift = ix_scale(l, ix_mod(l, i, ix(l, each)), b->bits);
    const Expr *e = binary(l, B_SHR, byte, from_index(l, shift, DT_U8));
    return and_(l, e, int_(l, DT_U8, (1 << b->bits) - 1));
}

// The number of row n and block: parameters may be given as one list.
static const Expr *of_block(Lower *l, Tensor p, int64_t columns, Index n, Index block)
{
    Index flat[1] = {ix_add(l, ix_scale(l, n, columns), block)}, at[2] = {n, block};
    return load(l, p, p.rank == 1 ? flat : at);
}

static const Expr *zero_point(Lower *l, const Blocks *b, Index n, Index block, DType t)
{
    Tensor points = input(l, 3);
    if (!points.buffer)
        return num(l, t, (double)(1 << (b->bits - 1)));
    if (points.dtype != DT_U8)
        return cast(l, t, of_block(l, points, b->per_row, n, block));
    Index byte = ix_div(l, block, ix(l, 8 / b->bits));
    const Expr *e = of_block(l, points, (b->per_row * b->bits + 7) / 8, n, byte);
    return cast(l, t, unpacked(l, b, e, block));
}

// B in the type of A: a view of [K, N] on rows of K.
static Tensor dequantized(Lower *l, const Blocks *b, DType t)
{
    Index dims[2] = {ix(l, b->n), ix(l, b->k)}, o[MAX_RANK] = {0};
    Tensor w = input(l, 1), scales = input(l, 2), groups = input(l, 4);
    Tensor y = temp(l, "weights", t, 2, dims);
    kernel(l, "dequantize_blocks");
    par_all(l, y, o);
    Index own = ix_div(l, o[1], ix(l, b->size)), in = ix_mod(l, o[1], ix(l, b->size)), block = own;
    if (groups.buffer) // whose parameters row k of the product takes
        block = ix_max(l, ix(l, 0),
                       ix_min(l, to_index(l, load(l, groups, &o[1])), ix(l, b->per_row - 1)));
    Index at[3] = {o[0], own, ix_div(l, in, ix(l, 8 / b->bits))};
    const Expr *q = cast(l, t, unpacked(l, b, load(l, w, at), in));
    const Expr *e = sub(l, q, zero_point(l, b, o[0], block, t));
    store(l, y, o, mul(l, e, cast(l, t, of_block(l, scales, b->per_row, o[0], block))));
    kernel_end(l);
    return y;
}

static void lower_nbits(Lower *l)
{
    Tensor a = input(l, 0), y = output(l, 0), groups = input(l, 4), bias = input(l, 5);
    static const uint32_t swap[2] = {1, 0};
    Blocks b;
    const char *fault;
    if (!blocks_of(l->n, &b, &fault)) {
        not_supported(l, "MatMulNBits with this %s", fault);
        return;
    }
    if (node_int(l->n, "weight_prepacked", 0) != 0) {
        not_supported(l, "MatMulNBits with weight_prepacked");
        return;
    }
    if (groups.buffer)
        check(l, index_le(l, ix(l, b.k), groups.dims[0]), "MatMulNBits: g_idx is shorter than K");
    Tensor weights = ms_permuted(l, dequantized(l, &b, accumulator(a.dtype)), swap);
    if (a.dtype != weights.dtype) {
        Tensor wide = ms_like(l, "wide", weights.dtype, a);
        Attr to = attr_int("to", weights.dtype);
        lower_part(l, &(Part){.op = "Cast", .in = {a}, .out = {wide}, .attrs = &to, .nattrs = 1});
        a = wide;
    }
    Tensor product = bias.buffer ? ms_like(l, "product", a.dtype, y) : y;
    lower_part(l, &(Part){.op = "MatMul", .in = {a, weights}, .out = {product}});
    if (!bias.buffer)
        return;
    Index o[MAX_RANK] = {0};
    kernel(l, "bias");
    par_all(l, y, o);
    const Expr *e = add(l, load(l, product, o), cast(l, a.dtype, load(l, bias, &o[y.rank - 1])));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

const OpDef ops_ms_nbits[] = {
    {"MatMulNBits", 1, infer_nbits, lower_nbits, {NULL}, MS},
    {0},
};
