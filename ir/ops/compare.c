// Comparisons, logic on bools, and bits.

#include "ir/ops/common.h"

static const Expr *greater(Lower *l, const Expr *a, const Expr *b)
{
    return lt(l, b, a);
}

static const Expr *greater_equal(Lower *l, const Expr *a, const Expr *b)
{
    return le(l, b, a);
}

static const Expr *bit_shift(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, str_is(node_str(l->n, "direction", ""), "LEFT") ? B_SHL : B_SHR, a, b);
}

// IsInf-10: either sign may be left out.
static const Expr *is_inf(Lower *l, const Expr *x)
{
    const Expr *z = zero(l, x->dtype), *inf = unary(l, U_ISINF, x);
    bool up = node_int(l->n, "detect_positive", 1) != 0,
         down = node_int(l->n, "detect_negative", 1) != 0;
    if (up && down)
        return inf;
    const Expr *sign = up ? lt(l, z, x) : down ? lt(l, x, z) : int_(l, DT_BOOL, 0);
    return and_(l, inf, sign);
}

static Index content_equal(Polys *p, Index a, Index b)
{
    Index gap = poly_sub(p, a, b);
    if (a == b)
        return poly_const(p, 1);
    bool apart = poly_nonnegative(p, poly_add_const(p, gap, -1)) ||
                 poly_nonnegative(p, poly_add_const(p, poly_scale(p, gap, -1), -1));
    return apart ? poly_const(p, 0) : NULL;
}

static Index content_less(Polys *p, Index a, Index b)
{
    if (poly_less(p, a, b))
        return poly_const(p, 1);
    return poly_nonnegative(p, poly_sub(p, a, b)) ? poly_const(p, 0) : NULL;
}

static Index content_greater(Polys *p, Index a, Index b)
{
    return content_less(p, b, a);
}

static Index content_less_equal(Polys *p, Index a, Index b)
{
    return content_less(p, a, poly_add_const(p, b, 1));
}

static Index content_greater_equal(Polys *p, Index a, Index b)
{
    return content_less_equal(p, b, a);
}

static Index content_and(Polys *p, Index a, Index b)
{
    return poly_mul(p, a, b);
}

static Index content_or(Polys *p, Index a, Index b)
{
    return poly_equals(a, 0)                        ? b
           : poly_equals(b, 0)                      ? a
           : poly_equals(a, 1) || poly_equals(b, 1) ? poly_const(p, 1)
                                                    : NULL;
}

// A truth value that is known when compiling decides an If then; as a constant it is a bool tensor.
static void bool_content(Infer *s, ContentFn fn)
{
    int64_t k, n = 0;
    uint32_t len;
    broadcast(s);
    infer_content_binary(s, fn);
    const Value *out = value_at(s->model, s->n->out[0]);
    if (!out->content || out->rank > 1 || out->rank < 0)
        return;
    len = out->ncontent;
    unsigned char *bytes = NEWS(s->arena, unsigned char, len + 1);
    for (uint32_t i = 0; i < len; i++) {
        if (!poly_is_const(out->content[i], &k))
            return;
        bytes[i] = k != 0;
    }
    n = len;
    infer_set_constant(s, 0, tensor_new(s->arena, DT_BOOL, (uint32_t)out->rank, &n, bytes));
}

static void infer_equal(Infer *s)
{
    bool_content(s, content_equal);
}

static void infer_less(Infer *s)
{
    bool_content(s, content_less);
}

static void infer_greater(Infer *s)
{
    bool_content(s, content_greater);
}

static void infer_less_equal(Infer *s)
{
    bool_content(s, content_less_equal);
}

static void infer_greater_equal(Infer *s)
{
    bool_content(s, content_greater_equal);
}

static void infer_and(Infer *s)
{
    bool_content(s, content_and);
}

static void infer_or(Infer *s)
{
    bool_content(s, content_or);
}

static void lower_where(Lower *l)
{
    Tensor c = input(l, 0), a = input(l, 1), b = input(l, 2), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "where");
    par_all(l, y, o);
    const Expr *cond = load_broadcast(l, c, y.rank, o);
    store(l, y, o,
          select_(l, cond, load_broadcast(l, a, y.rank, o), load_broadcast(l, b, y.rank, o)));
    kernel_end(l);
}

// Where on known truth values picks symbolic integers: how exporters write "dim or -1".
static void infer_where(Infer *s)
{
    uint32_t nc = 0, na = 0, nb = 0;
    const Index *c = infer_content(s, 0, &nc), *a = infer_content(s, 1, &na),
                *b = infer_content(s, 2, &nb);
    broadcast(s);
    if (!c || !a || !b)
        return;
    uint32_t n = nc > na ? nc : na;
    n = n > nb ? n : nb;
    if ((nc != n && nc != 1) || (na != n && na != 1) || (nb != n && nb != 1))
        return;
    Index *out = NEWS(s->arena, Index, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t k;
        if (!poly_is_const(c[nc == 1 ? 0 : i], &k))
            return;
        out[i] = k ? a[na == 1 ? 0 : i] : b[nb == 1 ? 0 : i];
    }
    infer_set_content(s, 0, n, out);
}

// Operands of And and Or that are elements of tensors are there: the least and the greatest skip
// none, so that loops are of vectors.
const OpDef ops_compare[] = {
    {"Equal", 1, infer_equal, BINARY(eq), NULL},
    {"Less", 1, infer_less, BINARY(lt), NULL},
    {"Greater", 1, infer_greater, BINARY(greater), NULL},
    {"LessOrEqual", 12, infer_less_equal, BINARY(le), NULL},
    {"GreaterOrEqual", 12, infer_greater_equal, BINARY(greater_equal), NULL},
    {"And", 1, infer_and, BINARY(min_), NULL},
    {"Or", 1, infer_or, BINARY(max_), NULL},
    {"Xor", 1, broadcast, BINARY(xor_), NULL},
    {"BitwiseAnd", 18, broadcast, BINARY(and_), NULL},
    {"BitwiseOr", 18, broadcast, BINARY(or_), NULL},
    {"BitwiseXor", 18, broadcast, BINARY(xor_), NULL},
    {"BitShift", 11, broadcast, BINARY(bit_shift), NULL},
    {"IsInf", 10, same_as_0, UNARY(is_inf), NULL},
    {"Where", 9, infer_where, lower_where, {NULL}, NULL},
    {0},
};
