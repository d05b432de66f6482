// Matrix products: MatMul and its integer forms, Gemm.

#include "ir/ops/microsoft.h"

#include <string.h>

// The shape of a matrix product with NumPy's rules: 1-D operands are a row and a column that vanish
// again.
static bool inner_agree(Infer *s, Index a, Index b)
{
    int64_t p, q;
    bool ok = infer_require(s, a, b);
    if (!ok && poly_is_const(a, &p) && poly_is_const(b, &q))
        infer_error(s, "inner dimensions %lld and %lld differ", (long long)p, (long long)q);
    return ok;
}

void infer_product_of(Infer *s, int32_t ra, const Index *a, int32_t rb, const Index *b)
{
    Index dims[MAX_RANK + 2] = {0};
    uint32_t n = 0;
    if (!inner_agree(s, a[ra - 1], b[rb == 1 ? 0 : rb - 2]))
        return;
    int32_t ba = ra > 2 ? ra - 2 : 0, bb = rb > 2 ? rb - 2 : 0, batch = ba > bb ? ba : bb;
    for (int32_t i = 0; i < batch; i++) {
        Index x = i >= batch - ba ? a[i - (batch - ba)] : NULL,
              y = i >= batch - bb ? b[i - (batch - bb)] : NULL;
        dims[n++] = x && y ? infer_broadcast_dim(s, x, y) : x ? x : y;
    }
    if (ra > 1)
        dims[n++] = a[ra - 2];
    if (rb > 1)
        dims[n++] = b[rb - 1];
    infer_shape(s, 0, n, dims);
}

static void infer_product(Infer *s, uint32_t ia, uint32_t ib)
{
    const Value *a = infer_in(s, ia), *b = infer_in(s, ib);
    if (a && b && a->rank > 0 && b->rank > 0)
        infer_product_of(s, a->rank, a->dims, b->rank, b->dims);
}

void infer_matmul(Infer *s)
{
    infer_product(s, 0, 1);
}

static void infer_qlinear_matmul(Infer *s)
{
    infer_product(s, 0, 3);
}

typedef struct Product {
    Tensor a, b, y;
    Index o[MAX_RANK], aat[MAX_RANK], bat[MAX_RANK], k;
} Product;

static Index batch_index(Lower *l, Tensor x, uint32_t i, Index o)
{
    return ix_min(l, o, ix_addc(l, x.dims[i], -1)); // 0 where the dim is 1
}

static void open_product(Lower *l, const char *name, uint32_t ia, uint32_t ib, Product *p)
{
    p->a = input(l, ia);
    p->b = input(l, ib);
    p->y = output(l, 0);
    uint32_t ra = p->a.rank, rb = p->b.rank, r = p->y.rank, tail = (ra > 1) + (rb > 1),
             batch = r - tail;
    kernel(l, name);
    par_all(l, p->y, p->o);
    p->k = red(l, p->a.dims[ra - 1]);
    for (uint32_t i = 0; i + 2 < ra; i++)
        p->aat[i] = batch_index(l, p->a, i, p->o[batch - (ra - 2) + i]);
    for (uint32_t i = 0; i + 2 < rb; i++)
        p->bat[i] = batch_index(l, p->b, i, p->o[batch - (rb - 2) + i]);
    if (ra > 1)
        p->aat[ra - 2] = p->o[batch];
    p->aat[ra - 1] = p->k;
    p->bat[rb > 1 ? rb - 2 : 0] = p->k;
    if (rb > 1)
        p->bat[rb - 1] = p->o[r - 1];
}

static void lower_matmul(Lower *l)
{
    Product p;
    open_product(l, "matmul", 0, 1, &p);
    DType t = accumulator(p.a.dtype);
    const Expr *e = mul(l, cast(l, t, load(l, p.a, p.aat)), cast(l, t, load(l, p.b, p.bat)));
    store(l, p.y, p.o, cast(l, p.y.dtype, reduce_add(l, 1, &p.k, NULL, e)));
    kernel_end(l);
}

// A zero point or scale of one element, or one a row (of A) or a column (of B).
static const Expr *parameter(Lower *l, uint32_t i, Index along, uint32_t rank, const Index *at)
{
    Tensor z = input(l, i);
    Index own[MAX_RANK] = {0};
    if (z.rank == 1)
        own[0] = poly_equals(z.dims[0], 1) ? ix(l, 0) : along;
    else if (z.rank > 1)
        return load_broadcast(l, z, rank, at);
    return load(l, z, own);
}

static const Expr *quantized(Lower *l, Tensor x, const Index *at, uint32_t zero_point, Index along)
{
    const Expr *e = cast(l, DT_I32, load(l, x, at));
    return has_input(l, zero_point)
               ? sub(l, e, cast(l, DT_I32, parameter(l, zero_point, along, x.rank, at)))
               : e;
}

static const Expr *integer_sum(Lower *l, Product *p, uint32_t za, uint32_t zb)
{
    Index rows = p->a.rank > 1 ? p->aat[p->a.rank - 2] : ix(l, 0),
          columns = p->b.rank > 1 ? p->bat[p->b.rank - 1] : ix(l, 0);
    const Expr *a = quantized(l, p->a, p->aat, za, rows),
               *b = quantized(l, p->b, p->bat, zb, columns);
    return reduce_add(l, 1, &p->k, NULL, mul(l, a, b));
}

static void lower_matmul_integer(Lower *l)
{
    Product p;
    open_product(l, "matmul_integer", 0, 1, &p);
    store(l, p.y, p.o, integer_sum(l, &p, 2, 3));
    kernel_end(l);
}

// saturate(round(sum * (a_scale * b_scale / y_scale)) + y_zero_point). Spec: QLinearMatMul-10.
static void lower_qlinear_matmul(Lower *l)
{
    Product p;
    open_product(l, "qlinear_matmul", 0, 3, &p);
    Index rows = p.a.rank > 1 ? p.aat[p.a.rank - 2] : ix(l, 0),
          columns = p.b.rank > 1 ? p.bat[p.b.rank - 1] : ix(l, 0);
    const Expr *sum = integer_sum(l, &p, 2, 5);
    const Expr *sa = cast(l, DT_F32, parameter(l, 1, rows, p.y.rank, p.o)),
               *sb = cast(l, DT_F32, parameter(l, 4, columns, p.y.rank, p.o));
    const Expr *sy = cast(l, DT_F32, parameter(l, 6, columns, p.y.rank, p.o));
    const Expr *r = unary(l, U_ROUND, mul(l, cast(l, DT_F32, sum), div_(l, mul(l, sa, sb), sy)));
    r = add(l, r, cast(l, DT_F32, parameter(l, 7, columns, p.y.rank, p.o)));
    double low = p.y.dtype == DT_I8 ? -128 : 0, high = p.y.dtype == DT_I8 ? 127 : 255;
    if (p.y.dtype != DT_I8 && p.y.dtype != DT_U8) {
        kernel_end(l);
        not_supported(l, "QLinearMatMul to %s", dtype_name(p.y.dtype));
        return;
    }
    store(l, p.y, p.o,
          cast(l, p.y.dtype, min_(l, max_(l, r, num(l, DT_F32, low)), num(l, DT_F32, high))));
    kernel_end(l);
}

// ---- Gemm

void infer_gemm(Infer *s)
{
    const Value *a = infer_in(s, 0), *b = infer_in(s, 1);
    if (!a || !b || a->rank != 2 || b->rank != 2)
        return;
    int ta = node_int(s->n, "transA", 0) != 0, tb = node_int(s->n, "transB", 0) != 0;
    if (!inner_agree(s, a->dims[!ta], b->dims[tb]))
        return;
    Index dims[2] = {a->dims[ta], b->dims[!tb]};
    const Value *c = infer_in(s, 2);
    for (int32_t i = 0; c && i < c->rank && i < 2; i++) {
        Index own = c->dims[c->rank - 1 - i];
        if (poly_equals(own, 1))
            continue;
        if (!poly_equals(dims[1 - i], 1))
            infer_broadcast_dim(s, dims[1 - i], own);
        else if (!infer_require(s, own, dims[1 - i]))
            infer_error(s, "C is larger than the product");
    }
    infer_shape(s, 0, 2, dims);
}

// alpha * A' * B' + beta * C.
static void lower_gemm(Lower *l)
{
    Tensor a = input(l, 0), b = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    bool ta = node_int(l->n, "transA", 0) != 0, tb = node_int(l->n, "transB", 0) != 0;
    DType t = accumulator(a.dtype);
    kernel(l, "gemm");
    par_all(l, y, o);
    Index k = red(l, a.dims[ta ? 0 : 1]), aat[2] = {ta ? k : o[0], ta ? o[0] : k},
          bat[2] = {tb ? o[1] : k, tb ? k : o[1]};
    const Expr *sum = reduce_add(l, 1, &k, NULL,
                                 mul(l, cast(l, t, load(l, a, aat)), cast(l, t, load(l, b, bat))));
    bool real = dtype_is_float(t);
    DType scale_type = real ? t : DT_F64;
    double alpha = node_float(l->n, "alpha", 1), beta = node_float(l->n, "beta", 1);
    const Expr *e =
        alpha == 1 ? sum : cast(l, t, mul(l, num(l, scale_type, alpha), cast(l, scale_type, sum)));
    if (has_input(l, 2) && beta != 0) {
        const Expr *c = cast(l, t, load_broadcast(l, input(l, 2), y.rank, o));
        e = add(l, e,
                beta == 1 ? c
                          : cast(l, t, mul(l, num(l, scale_type, beta), cast(l, scale_type, c))));
    }
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

const OpDef ops_matmul[] = {
    {"MatMul", 1, infer_matmul, lower_matmul, {NULL}, NULL},
    {"MatMulInteger", 10, infer_matmul, lower_matmul_integer, {NULL}, NULL},
    {"QLinearMatMul", 10, infer_qlinear_matmul, lower_qlinear_matmul, {NULL}, NULL},
    {"Gemm", 1, infer_gemm, lower_gemm, {NULL}, NULL},
    {0},
};
