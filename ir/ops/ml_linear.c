// LinearClassifier, LinearRegressor. Spec: ai.onnx.ml 1.
//
// scores[n, k] = sum over f of x[n, f] * coefficients[k, f] + intercepts[k], then post_transform.

#include "ir/ops/ml.h"

#define INTS "classlabels_ints"
#define STRINGS "classlabels_strings"

// Rows of coefficients: as many as intercepts, else as the features say, else one a class.
static uint32_t coefficient_rows(const Node *n, Index features)
{
    const float *at;
    uint32_t intercepts, coefficients;
    int64_t f;
    node_floats(n, "intercepts", &at, &intercepts);
    node_floats(n, "coefficients", &at, &coefficients);
    if (intercepts)
        return intercepts;
    if (features && poly_is_const(features, &f) && f > 0 && coefficients % f == 0)
        return (uint32_t)(coefficients / f);
    return ml_label_count(n, INTS, STRINGS);
}

// raw[n, k]; false (not_supported said) where the attributes do not fit each other.
static bool linear_scores(Lower *l, const Rows *r, uint32_t rows, Tensor *raw)
{
    uint32_t nc, ni;
    const double *c = ml_numbers(l->model, l->n, "coefficients", &nc),
                 *b = ml_numbers(l->model, l->n, "intercepts", &ni);
    Str op = str_escaped(l->arena, l->n->op);
    if (l->failed)
        return false;
    if (rows == 0 || nc == 0 || nc % rows || (ni && ni != rows)) {
        not_supported(l, "%.*s with %u coefficients and %u intercepts for %u rows of scores",
                      STR_ARG(op), nc, ni, rows);
        return false;
    }
    int64_t f = nc / rows;
    DType t = ml_score_type(r->x.dtype);
    check(l, index_eq(l, r->f, ix(l, f)), "%.*s: X has not as many features as coefficients",
          STR_ARG(op));
    Index dims[2] = {r->n, ix(l, rows)}, o[MAX_RANK] = {0};
    Tensor w = ml_table(l, "coefficients", t, nc, c),
           bias = ni ? ml_table(l, "intercepts", t, ni, b) : (Tensor){0};
    *raw = temp(l, "raw_scores", t, 2, dims);
    kernel(l, "linear_scores");
    par_all(l, *raw, o);
    Index k = red(l, ix(l, f));
    const Expr *x = cast(l, t, ml_feature(l, r, o[0], k));
    const Expr *e =
        reduce_add(l, 1, &k, NULL, mul(l, x, ml_at(l, w, ix_add(l, ix_scale(l, o[1], f), k))));
    store(l, *raw, o, ni ? add(l, e, ml_at(l, bias, o[1])) : e);
    kernel_end(l);
    return true;
}

static void infer_linear_regressor(Infer *s)
{
    int64_t targets = node_int(s->n, "targets", 1);
    infer_dtype(s, 0, DT_F32);
    if (targets < 1 || targets > INT32_MAX)
        infer_error(s, "targets is %lld", (long long)targets);
    else
        ml_infer_rows(s, UINT32_MAX, 0, poly_const(s->polys, targets));
}

static void lower_linear_regressor(Lower *l)
{
    Rows r = ml_rows(l);
    Tensor raw;
    Post post;
    if (ml_post(l, &post) && linear_scores(l, &r, (uint32_t)node_int(l->n, "targets", 1), &raw))
        ml_store_scores(l, output(l, 0), raw, post);
}

static void infer_linear_classifier(Infer *s)
{
    int32_t rank = infer_rank(s, 0);
    uint32_t classes = ml_label_count(s->n, INTS, STRINGS);
    infer_dtype(s, 0, ml_label_dtype(s->n, STRINGS));
    infer_dtype(s, 1, DT_F32);
    if (rank < 1)
        return;
    uint32_t rows = coefficient_rows(s->n, infer_dim(s, 0, -1));
    ml_infer_rows(s, 0, 1, poly_const(s->polys, rows == 1 && classes == 2 ? 2 : rows));
}

static void lower_linear_classifier(Lower *l)
{
    Rows r = ml_rows(l);
    Labels labels = ml_labels(l, INTS, STRINGS);
    uint32_t rows = coefficient_rows(l->n, r.f);
    Tensor raw;
    Post post;
    if (l->failed || !ml_post(l, &post))
        return;
    if (rows != labels.count && !(rows == 1 && labels.count == 2)) {
        not_supported(l, "LinearClassifier with %u rows of coefficients for %u classes", rows,
                      labels.count);
        return;
    }
    if (!linear_scores(l, &r, rows, &raw))
        return;
    if (rows == 1 && labels.count == 2) {
        ml_store_side(l, output(l, 0), &labels, raw, 0);
        ml_store_margin(l, output(l, 1), raw, post, false);
    } else {
        ml_store_top(l, output(l, 0), &labels, raw);
        ml_store_scores(l, output(l, 1), raw, post);
    }
}

const OpDef ops_ml_linear[] = {
    {"LinearClassifier", 1, infer_linear_classifier, lower_linear_classifier, {NULL}, ML_DOMAIN},
    {"LinearRegressor", 1, infer_linear_regressor, lower_linear_regressor, {NULL}, ML_DOMAIN},
    {0},
};
