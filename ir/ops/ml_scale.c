// Preparing features: Scaler, Normalizer, Imputer, Binarizer, ArrayFeatureExtractor,
// FeatureVectorizer. Spec: ai.onnx.ml 1.

#include "ir/ops/ml.h"

#include <math.h>
#include <string.h>

// The values of a per-feature attribute: one for all, or one for each entry of the last dim.
typedef struct PerFeature {
    uint32_t count;
    Tensor table;
} PerFeature;

static PerFeature per_feature(Lower *l, const char *name, DType t, uint32_t n, const double *values)
{
    Tensor x = input(l, 0);
    if (n != 1 && x.rank == 0)
        not_supported(l, "%.*s: %u entries of %s for a scalar",
                      STR_ARG(str_escaped(l->arena, l->n->op)), n, name);
    else if (n != 1)
        check(l, index_eq(l, x.dims[x.rank - 1], ix(l, n)),
              "%.*s: X has not as many features as %s", STR_ARG(str_escaped(l->arena, l->n->op)),
              name);
    return (PerFeature){n, ml_table(l, name, t, n, values)};
}

static const Expr *value_for(Lower *l, const PerFeature *p, const Index *o)
{
    return ml_at(l, p->table, p->count == 1 ? ix(l, 0) : o[input(l, 0).rank - 1]);
}

static void infer_float_like_0(Infer *s)
{
    infer_dtype(s, 0, DT_F32);
    same_as_0(s);
}

// ---- Scaler: (x - offset) * scale

static void lower_scaler(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    uint32_t no, ns;
    const double *offset = ml_numbers(l->model, l->n, "offset", &no),
                 *scale = ml_numbers(l->model, l->n, "scale", &ns);
    DType t = ml_score_type(x.dtype);
    Index o[MAX_RANK] = {0};
    if (no == 0 || ns == 0) {
        not_supported(l, "Scaler without offset or scale");
        return;
    }
    PerFeature a = per_feature(l, "offset", t, no, offset),
               b = per_feature(l, "scale", t, ns, scale);
    kernel(l, "scaler");
    par_all(l, y, o);
    const Expr *e = sub(l, cast(l, t, load(l, x, o)), value_for(l, &a, o));
    store(l, y, o, cast(l, DT_F32, mul(l, e, value_for(l, &b, o))));
    kernel_end(l);
}

// ---- Normalizer: by the greatest, the sum of sizes or the length of a row; x where that is 0

static void lower_normalizer(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Str norm = node_str(l->n, "norm", "MAX");
    DType t = ml_score_type(x.dtype);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    bool max = str_is(norm, "MAX"), l1 = str_is(norm, "L1");
    if (!max && !l1 && !str_is(norm, "L2")) {
        not_supported(l, "Normalizer with norm \"%.*s\"", STR_ARG(str_escaped(l->arena, norm)));
        return;
    }
    if (x.rank != 1 && x.rank != 2) {
        not_supported(l, "Normalizer of rank %u", x.rank);
        return;
    }
    kernel(l, "normalizer");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    Index k = at[x.rank - 1] = red(l, x.dims[x.rank - 1]);
    const Expr *own = cast(l, t, load(l, x, o)), *v = cast(l, t, load(l, x, at));
    const Expr *d = max  ? reduce(l, R_MAX, 1, &k, NULL, v)
                    : l1 ? reduce_add(l, 1, &k, NULL, abs_(l, v))
                         : sqrt_(l, reduce_add(l, 1, &k, NULL, mul(l, v, v)));
    const Expr *e = select_(l, eq(l, d, zero(l, t)), own, div_(l, own, d));
    store(l, y, o, cast(l, DT_F32, e));
    kernel_end(l);
}

// ---- Imputer, Binarizer

static void lower_imputer(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    bool real = dtype_is_float(x.dtype);
    const Attr *floats = attr_find(l->n, "imputed_value_floats"),
               *ints = attr_find(l->n, "imputed_value_int64s");
    uint32_t n = real ? (floats ? floats->nfloats : 0) : ints ? ints->nints : 0;
    Index o[MAX_RANK] = {0};
    if (n == 0) {
        not_supported(l, "Imputer of %s without values to put there", real ? "floats" : "integers");
        return;
    }
    PerFeature to;
    if (real) {
        to = per_feature(l, "imputed", x.dtype, n,
                         ml_numbers(l->model, l->n, "imputed_value_floats", &n));
    } else {
        double *places = NEWS(l->arena, double, n);
        to = per_feature(l, "imputed", x.dtype, n, places);
        to.table = ml_table_ints(l, "imputed", x.dtype, n, ints->ints);
    }
    double missing = node_float(l->n, "replaced_value_float", 0);
    int64_t code = node_int(l->n, "replaced_value_int64", 0);
    kernel(l, "imputer");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    const Expr *is = !real            ? eq(l, cast(l, DT_I64, e), int_(l, DT_I64, code))
                     : isnan(missing) ? unary(l, U_ISNAN, e)
                                      : eq(l, e, num(l, x.dtype, missing));
    store(l, y, o, select_(l, is, value_for(l, &to, o), e));
    kernel_end(l);
}

// 1 where x > threshold, compared as float32 does; the threshold of integers may have a fraction.
static const Expr *binarizer(Lower *l, const Expr *x)
{
    DType t = dtype_is_float(x->dtype) ? x->dtype : DT_F32;
    const Expr *above = lt(l, attr_num(l, t, "threshold", 0), cast(l, t, x));
    return select_(l, above, one(l, x->dtype), zero(l, x->dtype));
}

// ---- ArrayFeatureExtractor: entries of the last dim by indices

static void infer_extractor(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    if (!x || !i || x->rank < 0 || i->rank < 0)
        return;
    if (x->rank < 1 || x->rank > MAX_RANK) {
        infer_error(s, "input X has rank %d", x->rank);
        return;
    }
    Index n = poly_const(s->polys, 1);
    for (int32_t k = 0; k < i->rank; k++)
        n = poly_mul(s->polys, n, i->dims[k]);
    uint32_t rank = x->rank == 1 ? 2 : (uint32_t)x->rank; // a vector is one row
    dims[0] = poly_const(s->polys, 1);
    for (int32_t k = 0; k + 1 < x->rank; k++)
        dims[k] = x->dims[k];
    dims[rank - 1] = n;
    infer_shape(s, 0, rank, dims);
}

static void lower_extractor(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    Index n = x.dims[x.rank - 1];
    for (uint32_t k = 0; k < i.rank; k++)
        vars[k] = red(l, i.dims[k]);
    const Expr *e = load(l, i, vars);
    const Expr *ok = and_(l, le(l, zero(l, DT_I64), e), lt(l, e, expr_index(l->module, n)));
    check(l, reduce(l, R_AND, i.rank, vars, NULL, ok),
          "ArrayFeatureExtractor: an index is out of range");
    kernel(l, "array_feature_extractor");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    ix_delinear(l, o[y.rank - 1], i.rank, i.dims, vars);
    at[x.rank - 1] = to_index(l, load(l, i, vars));
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// ---- FeatureVectorizer: inputs side by side, as float32

// Columns of input i as inputdimensions says, else as its last dim.
static Index width_of(Polys *p, const Node *n, uint32_t i, Index last)
{
    const int64_t *at;
    uint32_t len;
    return node_ints(n, "inputdimensions", &at, &len) && i < len ? poly_const(p, at[i]) : last;
}

static void infer_vectorizer(Infer *s)
{
    Index dims[2] = {NULL, poly_const(s->polys, 0)};
    infer_dtype(s, 0, DT_F32);
    for (uint32_t i = 0; i < s->n->nin; i++) {
        int32_t rank = infer_rank(s, i);
        if (rank < 0)
            return;
        if (rank != 1 && rank != 2) {
            infer_error(s, "input %u has rank %d, not 1 or 2", i, rank);
            return;
        }
        Index rows = rank == 1 ? poly_const(s->polys, 1) : infer_dim(s, i, 0);
        if (dims[0] && !infer_require(s, dims[0], rows)) {
            infer_error(s, "input %u has another number of rows", i);
            return;
        }
        dims[0] = rows;
        dims[1] = poly_add(s->polys, dims[1], width_of(s->polys, s->n, i, infer_dim(s, i, -1)));
    }
    infer_shape(s, 0, 2, dims);
}

static void lower_vectorizer(Lower *l)
{
    Tensor y = output(l, 0);
    Index begin = ix(l, 0);
    for (uint32_t i = 0; i < l->n->nin; i++) {
        Tensor x = input(l, i);
        Index own = x.dims[x.rank - 1], width = width_of(l->polys, l->n, i, own);
        int64_t known;
        if (poly_is_const(width, &known) && known < 0) {
            not_supported(l, "FeatureVectorizer with a negative input dimension");
            return;
        }
        check(l, index_eq(l, own, width),
              "FeatureVectorizer: input %u has not as many features as inputdimensions says", i);
        kernel(l, "feature_vectorizer");
        Index n = par(l, y.dims[0]), k = par(l, width);
        Index from[2] = {n, k}, to[2] = {n, ix_add(l, begin, k)};
        store(l, y, to, cast(l, DT_F32, load(l, x, x.rank == 1 ? from + 1 : from)));
        kernel_end(l);
        begin = ix_add(l, begin, width);
    }
}

const OpDef ops_ml_scale[] = {
    {"ArrayFeatureExtractor", 1, infer_extractor, lower_extractor, {NULL}, ML_DOMAIN},
    {"Binarizer", 1, same_as_0, UNARY(binarizer), ML_DOMAIN},
    {"FeatureVectorizer", 1, infer_vectorizer, lower_vectorizer, {NULL}, ML_DOMAIN},
    {"Imputer", 1, same_as_0, lower_imputer, {NULL}, ML_DOMAIN},
    {"Normalizer", 1, infer_float_like_0, lower_normalizer, {NULL}, ML_DOMAIN},
    {"Scaler", 1, infer_float_like_0, lower_scaler, {NULL}, ML_DOMAIN},
    {0},
};
