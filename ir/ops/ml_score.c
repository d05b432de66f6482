// Rows, tables, scores and labels of the classifiers and regressors of ai.onnx.ml.
//
// The transforms are those of the standard's reference implementation: SOFTMAX_ZERO leaves out
// scores that are 0, PROBIT takes the inverse of the error function in Winitzki's form.

#include "ir/ops/ml.h"

#include <string.h>

// ---- rows

Rows ml_rows(Lower *l)
{
    Tensor x = input(l, 0);
    if (x.rank != 1 && x.rank != 2) {
        not_supported(l, "%.*s: features of rank %u", STR_ARG(str_escaped(l->arena, l->n->op)),
                      x.rank);
        return (Rows){x, ix(l, 1), ix(l, 1)};
    }
    return (Rows){x, x.rank == 1 ? ix(l, 1) : x.dims[0], x.dims[x.rank - 1]};
}

const Expr *ml_feature(Lower *l, const Rows *r, Index n, Index f)
{
    Index at[2] = {n, f};
    return load(l, r->x, r->x.rank == 1 ? at + 1 : at);
}

DType ml_score_type(DType x)
{
    return x == DT_F64 ? DT_F64 : DT_F32;
}

void ml_infer_rows(Infer *s, uint32_t labels, uint32_t scores, Index columns)
{
    int32_t rank = infer_rank(s, 0);
    if (rank < 0)
        return;
    if (rank != 1 && rank != 2) {
        infer_error(s, "input X has rank %d, not 1 or 2", rank);
        return;
    }
    Index dims[2] = {rank == 1 ? poly_const(s->polys, 1) : infer_dim(s, 0, 0), columns};
    if (labels != UINT32_MAX)
        infer_shape(s, labels, 1, dims);
    if (scores != UINT32_MAX && columns)
        infer_shape(s, scores, 2, dims);
}

// ---- attributes that are tables

const double *ml_tensor_numbers(Model *m, const Node *n, const char *name, uint32_t *len)
{
    const Attr *a = attr_find(n, name);
    Str error;
    *len = 0;
    const unsigned char *at = a && a->t ? tensor_elements(m, a->t, &error) : NULL;
    if (!at || a->t->nelements > UINT32_MAX / 2)
        return NULL;
    DType t = (DType)a->t->dtype;
    DTypeKind kind = dtype_info(t)->kind;
    if (kind != KIND_FLOAT && kind != KIND_SIGNED && kind != KIND_UNSIGNED && kind != KIND_BOOL)
        return NULL;
    *len = (uint32_t)a->t->nelements;
    double *values = NEWS(m->arena, double, *len + 1u);
    for (uint32_t i = 0; i < *len; i++) {
        Scalar v = scalar_load(t, at + (size_t)i * dtype_info(t)->bytes);
        values[i] = kind == KIND_FLOAT ? v.f : (double)v.i;
    }
    return values;
}

const double *ml_numbers(Model *m, const Node *n, const char *name, uint32_t *len)
{
    const float *at;
    if (node_floats(n, name, &at, len) && *len) {
        double *values = NEWS(m->arena, double, *len);
        for (uint32_t i = 0; i < *len; i++)
            values[i] = (double)at[i];
        return values;
    }
    return ml_tensor_numbers(m, n, str_printf(m->arena, "%s_as_tensor", name).at, len);
}

Tensor ml_table(Lower *l, const char *name, DType t, uint32_t n, const double *values)
{
    uint32_t width = dtype_info(t)->bytes;
    unsigned char *bytes = NEWS(l->arena, unsigned char, (size_t)n *width + 1);
    for (uint32_t i = 0; i < n; i++)
        scalar_store(t, bytes + (size_t)i * width,
                     scalar_cast(DT_F64, t, (Scalar){.f = values[i]}, true));
    return table(l, name, t, n, bytes);
}

Tensor ml_table_ints(Lower *l, const char *name, DType t, uint32_t n, const int64_t *values)
{
    uint32_t width = dtype_info(t)->bytes;
    unsigned char *bytes = NEWS(l->arena, unsigned char, (size_t)n *width + 1);
    for (uint32_t i = 0; i < n; i++)
        scalar_store(t, bytes + (size_t)i * width, (Scalar){.i = values[i]});
    return table(l, name, t, n, bytes);
}

const Expr *ml_at(Lower *l, Tensor table, Index i)
{
    return load(l, table, &i);
}

// ---- transforms of scores

bool ml_post(Lower *l, Post *post)
{
    static const char *const names[POST_COUNT] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                  "PROBIT"};
    Str name = node_str(l->n, "post_transform", "NONE");
    for (*post = POST_NONE; *post < POST_COUNT; (*post)++)
        if (str_is(name, names[*post]))
            return true;
    not_supported(l, "%.*s with post_transform \"%.*s\"", STR_ARG(str_escaped(l->arena, l->n->op)),
                  STR_ARG(str_escaped(l->arena, name)));
    return false;
}

// sqrt(2) * erfinv(2x - 1), erfinv by Winitzki with a = 0.147.
static const Expr *probit(Lower *l, const Expr *x)
{
    DType t = x->dtype;
    const Expr *u = sub(l, mul(l, num(l, t, 2), x), one(l, t));
    const Expr *w = log_(l, mul(l, sub(l, one(l, t), u), add(l, one(l, t), u)));
    const Expr *v = add(l, num(l, t, 2 / (3.14159265358979 * 0.147)), mul(l, num(l, t, 0.5), w));
    const Expr *r = sqrt_(l, sub(l, mul(l, v, v), mul(l, num(l, t, 1 / 0.147), w)));
    const Expr *size = mul(l, num(l, t, 1.41421356), sqrt_(l, sub(l, r, v)));
    return select_(l, lt(l, u, zero(l, t)), neg(l, size), size);
}

static const Expr *is_counted(Lower *l, const Expr *x)
{
    return lt(l, num(l, x->dtype, 1e-7), abs_(l, x));
}

// exp(x - m) / sum of exp(x - m); with `zeros` scores of 0 stay 0 and do not count in the sum.
static const Expr *softmax_of(Lower *l, Tensor raw, Index n, Index k, bool zeros)
{
    Index a = red(l, raw.dims[1]), b = red(l, raw.dims[1]), at[2] = {n, a}, in[2] = {n, b},
          own[2] = {n, k};
    const Expr *m = reduce(l, R_MAX, 1, &a, NULL, load(l, raw, at));
    const Expr *x = load(l, raw, own), *y = load(l, raw, in);
    const Expr *sum = reduce_add(l, 1, &b, zeros ? is_counted(l, y) : NULL, exp_(l, sub(l, y, m)));
    const Expr *e = exp_(l, sub(l, x, m));
    if (!zeros)
        return div_(l, e, sum);
    const Expr *small = mul(l, x, exp_(l, neg(l, m)));
    const Expr *half = num(l, x->dtype, 0.5);
    return select_(l, eq(l, sum, zero(l, x->dtype)), half,
                   div_(l, select_(l, is_counted(l, x), e, small), sum));
}

void ml_store_scores(Lower *l, Tensor y, Tensor raw, Post post)
{
    Index o[MAX_RANK] = {0};
    if (!y.buffer)
        return;
    kernel(l, "scores");
    par_all(l, y, o);
    const Expr *x = load(l, raw, o);
    if (post == POST_LOGISTIC)
        x = sigmoid(l, x);
    else if (post == POST_PROBIT)
        x = probit(l, x);
    else if (post != POST_NONE)
        x = softmax_of(l, raw, o[0], o[1], post == POST_SOFTMAX_ZERO);
    store(l, y, o, cast(l, y.dtype, x));
    kernel_end(l);
}

void ml_store_margin(Lower *l, Tensor y, Tensor margin, Post post, bool complement)
{
    Index dims[2] = {margin.dims[0], ix(l, 2)}, o[MAX_RANK] = {0};
    if (!y.buffer)
        return;
    Tensor raw = temp(l, "sides", margin.dtype, 2, dims);
    kernel(l, "sides");
    par_all(l, raw, o);
    Index at[2] = {o[0], ix(l, 0)};
    const Expr *m = load(l, margin, at);
    bool one_minus = post == POST_PROBIT || (post == POST_NONE && complement);
    const Expr *first = one_minus ? sub(l, one(l, m->dtype), m) : neg(l, m);
    store(l, raw, o, select_(l, index_eq(l, o[1], ix(l, 0)), first, m));
    kernel_end(l);
    ml_store_scores(l, y, raw, post);
}

// ---- labels

uint32_t ml_label_count(const Node *n, const char *ints, const char *strings)
{
    const Attr *a = attr_find(n, ints), *b = attr_find(n, strings);
    return a && a->nints ? a->nints : b ? b->nstrings : 0;
}

DType ml_label_dtype(const Node *n, const char *strings)
{
    const Attr *b = attr_find(n, strings);
    return b && b->nstrings ? DT_STRING : DT_I64;
}

Labels ml_labels(Lower *l, const char *ints, const char *strings)
{
    const Attr *a = attr_find(l->n, ints), *b = attr_find(l->n, strings);
    if (b && b->nstrings)
        return (Labels){b->nstrings, table(l, "labels", DT_STRING, b->nstrings, b->strings),
                        DT_STRING};
    if (a && a->nints)
        return (Labels){a->nints, table(l, "labels", DT_I64, a->nints, a->ints), DT_I64};
    not_supported(l, "%.*s without class labels", STR_ARG(str_escaped(l->arena, l->n->op)));
    return (Labels){0};
}

void ml_store_top(Lower *l, Tensor y, const Labels *labels, Tensor raw)
{
    Index o[MAX_RANK] = {0};
    if (!y.buffer)
        return;
    kernel(l, "top_label");
    par_all(l, y, o);
    Index k = red(l, raw.dims[1]), at[2] = {o[0], k};
    const Expr *best = reduce(l, R_ARGMAX, 1, &k, NULL, load(l, raw, at));
    store(l, y, o, ml_at(l, labels->table, to_index(l, best)));
    kernel_end(l);
}

void ml_store_side(Lower *l, Tensor y, const Labels *labels, Tensor margin, double threshold)
{
    Index o[MAX_RANK] = {0};
    if (!y.buffer)
        return;
    kernel(l, "side");
    par_all(l, y, o);
    Index at[2] = {o[0], ix(l, 0)};
    const Expr *above = lt(l, num(l, margin.dtype, threshold), load(l, margin, at));
    store(l, y, o,
          select_(l, above, ml_at(l, labels->table, ix(l, 1)), ml_at(l, labels->table, ix(l, 0))));
    kernel_end(l);
}
