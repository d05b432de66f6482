// MatMulNBits: A times the transpose of B [N, K], whose elements of 2, 4 or 8 bits lie in blocks
// along K, each block with a scale and a zero point of its own. GatherBlockQuantized: rows of such
// numbers, as embeddings are.

#include "ir/ops/microsoft.h"

#include <string.h>

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

// By accuracy_level 4 the model lets A be rounded to bytes, a block at a time: where ONNX Runtime
// does so, which has no such products of zero points that are floats, nor of 2 bits in blocks of
// other sizes.
static void allow_bytes(Lower *l, const Blocks *b, Tensor weights)
{
    const Tensor points = input(l, 3);
    const bool rounds = (!points.buffer || points.dtype == DT_U8) &&
                        (b->bits != 2 || (b->size >= 32 && b->size <= 128));
    if (rounds && node_int(l->n, "accuracy_level", 0) == 4)
        buffer_at(l->module, weights.buffer)->coarse = b->size;
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
    Tensor rows = dequantized(l, &b, accumulator(a.dtype)), weights = ms_permuted(l, rows, swap);
    allow_bytes(l, &b, rows);
    allow_bytes(l, &b, weights);
    a = ms_cast(l, a, weights.dtype);
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

// ---- GatherBlockQuantized

typedef struct Picked {
    uint32_t gather, quantize; // axes of the data
    int64_t size, each;        // values that have one scale; numbers in an element of uint8
} Picked;

// false with *fault naming the attribute that does not fit.
static bool picked_of(const Node *n, DType t, int64_t rank, Picked *p, const char **fault)
{
    const int64_t gather = node_int(n, "gather_axis", 0),
                  quantize = node_int(n, "quantize_axis", 1), bits = node_int(n, "bits", 4),
                  size = node_int(n, "block_size", 128);
    const bool bytes = t == DT_U8;
    *p = (Picked){(uint32_t)(gather < 0 ? gather + rank : gather),
                  (uint32_t)(quantize < 0 ? quantize + rank : quantize), size,
                  bytes && bits > 0 && bits <= 8 ? 8 / bits : 1};
    *fault = p->gather >= rank || (bytes && p->gather != 0) ? "gather_axis"
             : p->quantize >= rank || p->quantize == p->gather || (bytes && p->quantize + 1 != rank)
                 ? "quantize_axis"
             : size < 16 || size > 1 << 20 || (size & (size - 1)) ? "block_size"
             : bytes     ? (bits != 2 && bits != 4 && bits != 8 ? "bits" : NULL)
             : bits != 4 ? "bits"
                         : NULL;
    return !*fault;
}

static void infer_picked(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1), *points = infer_in(s, 3);
    Polys *polys = s->polys;
    Index dims[2 * MAX_RANK] = {0}, scales[MAX_RANK] = {0};
    uint32_t n = 0;
    Picked p;
    const char *fault;
    if (!x || !i || x->rank < 1 || i->rank < 0 || x->rank + i->rank - 1 > MAX_RANK)
        return;
    if (!picked_of(s->n, x->dtype, x->rank, &p, &fault)) {
        infer_error(s, "attribute %s does not fit", fault);
        return;
    }
    for (uint32_t k = 0; k < (uint32_t)x->rank; k++) {
        const Index all = k == p.quantize ? poly_scale(polys, x->dims[k], p.each) : x->dims[k];
        scales[k] = k == p.quantize ? poly_ceildiv(polys, all, poly_const(polys, p.size)) : all;
        for (int32_t j = 0; k == p.gather && j < i->rank; j++)
            dims[n++] = i->dims[j];
        if (k != p.gather)
            dims[n++] = all;
    }
    infer_shape(s, 0, n, dims);
    infer_fits(s, 2, (uint32_t)x->rank, scales);
    if (points)
        scales[p.quantize] = poly_ceildiv(polys, scales[p.quantize], poly_const(polys, p.each));
    infer_fits(s, 3, (uint32_t)x->rank, scales);
}

// What the indices pick of an input along the axis.
static Tensor picked(Lower *l, uint32_t in, const Picked *p)
{
    Tensor x = input(l, in), i = input(l, 1);
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0;
    for (uint32_t k = 0; k < x.rank; k++)
        if (k == p->gather)
            for (uint32_t j = 0; j < i.rank; j++)
                dims[n++] = i.dims[j];
        else
            dims[n++] = x.dims[k];
    Tensor y = temp(l, "picked", x.dtype, n, dims);
    Attr axis = attr_int("axis", p->gather);
    lower_part(l, &(Part){.op = "Gather", .in = {x, i}, .out = {y}, .attrs = &axis, .nattrs = 1});
    return y;
}

static void lower_picked(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Picked p;
    const char *fault;
    if (!picked_of(l->n, x.dtype, x.rank, &p, &fault)) {
        not_supported(l, "GatherBlockQuantized with this %s", fault);
        return;
    }
    Tensor q = picked(l, 0, &p), scales = picked(l, 2, &p), points = {0};
    if (has_input(l, 3))
        points = picked(l, 3, &p);
    const Blocks b = {.bits = 8 / p.each};
    const uint32_t along = p.quantize > p.gather ? p.quantize + input(l, 1).rank - 1 : p.quantize;
    const DType t = accumulator(y.dtype);
    Index o[MAX_RANK] = {0}, at[MAX_RANK];
    kernel(l, "dequantize_picked");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    const Index each = ix(l, p.each), block = ix_div(l, o[along], ix(l, p.size));
    at[along] = ix_div(l, o[along], each);
    const Expr *code = load(l, q, at);
    code = cast(l, t, p.each > 1 ? unpacked(l, &b, code, o[along]) : code);
    at[along] = block;
    const Expr *s = cast(l, t, load(l, scales, at));
    const Expr *z = num(l, t, x.dtype == DT_U8 ? (double)(1 << (b.bits - 1)) : 0);
    if (points.buffer) {
        at[along] = ix_div(l, block, each);
        z = load(l, points, at);
        z = cast(l, t, p.each > 1 ? unpacked(l, &b, z, block) : z);
    }
    store(l, y, o, cast(l, y.dtype, mul(l, sub(l, code, z), s)));
    kernel_end(l);
}

const OpDef ops_ms_nbits[] = {
    {"GatherBlockQuantized", 1, infer_picked, lower_picked, {NULL}, MS},
    {"MatMulNBits", 1, infer_nbits, lower_nbits, {NULL}, MS},
    {0},
};
