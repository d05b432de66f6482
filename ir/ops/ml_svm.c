// SVMClassifier, SVMRegressor. Spec: ai.onnx.ml 1.
//
// kernels[n, v] = K(x[n], support vector v) with K one of
//   LINEAR x.v   POLY (gamma x.v + coef0)^degree   RBF exp(-gamma |x - v|^2)
//   SIGMOID tanh(gamma x.v + coef0);
// a pair (i, j) of classes scores rho + the coefficients of both classes' vectors times kernels.
// Without support vectors coefficients are rows of a linear model.

#include "ir/ops/ml.h"

#define INTS "classlabels_ints"
#define STRINGS "classlabels_strings"

typedef enum KernelKind { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID, SVM_COUNT } KernelKind;

typedef struct Machine {
    Rows rows;
    DType t;
    KernelKind kind;
    double gamma, coef0, degree;
    uint32_t nvectors, nfeatures, ncoefficients, nrho;
    const double *coefficients, *rho;
    Tensor coef, vectors;
} Machine;

static bool read_kernel(Lower *l, Machine *m)
{
    static const char *const names[SVM_COUNT] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    Str name = node_str(l->n, "kernel_type", "LINEAR");
    uint32_t n;
    const double *p = ml_numbers(l->model, l->n, "kernel_params", &n);
    while (m->kind < SVM_COUNT && !str_is(name, names[m->kind]))
        m->kind++;
    if (m->kind == SVM_COUNT || (n != 0 && n != 3)) {
        not_supported(l, "%.*s with kernel_type \"%.*s\" and %u kernel_params",
                      STR_ARG(str_escaped(l->arena, l->n->op)),
                      STR_ARG(str_escaped(l->arena, name)), n);
        return false;
    }
    m->gamma = n ? p[0] : 0;
    m->coef0 = n ? p[1] : 0;
    m->degree = n ? p[2] : 0;
    return true;
}

// The attributes of both operators; nvectors says how many support vectors there are.
static bool read_machine(Lower *l, Machine *m)
{
    uint32_t nv;
    m->rows = ml_rows(l);
    m->t = ml_score_type(m->rows.x.dtype);
    const double *vectors = ml_numbers(l->model, l->n, "support_vectors", &nv);
    m->coefficients = ml_numbers(l->model, l->n, "coefficients", &m->ncoefficients);
    m->rho = ml_numbers(l->model, l->n, "rho", &m->nrho);
    if (l->failed || !read_kernel(l, m))
        return false;
    if (m->ncoefficients == 0 || m->nrho == 0 || (m->nvectors && nv % m->nvectors)) {
        not_supported(l, "%.*s with %u coefficients, %u rho and %u numbers in %u support vectors",
                      STR_ARG(str_escaped(l->arena, l->n->op)), m->ncoefficients, m->nrho, nv,
                      m->nvectors);
        return false;
    }
    m->coef = ml_table(l, "coefficients", m->t, m->ncoefficients, m->coefficients);
    if (m->nvectors) {
        m->nfeatures = nv / m->nvectors;
        m->vectors = ml_table(l, "support_vectors", m->t, nv, vectors);
    }
    return true;
}

static void check_features(Lower *l, const Machine *m)
{
    check(l, index_eq(l, m->rows.f, ix(l, m->nfeatures)), "%.*s: X has not %u features",
          STR_ARG(str_escaped(l->arena, l->n->op)), m->nfeatures);
}

// x[n] . v, or |x[n] - v|^2, with v at `begin` of a table.
static const Expr *product(Lower *l, const Machine *m, Index n, Tensor v, Index begin,
                           bool distance)
{
    Index k = red(l, ix(l, m->nfeatures));
    const Expr *x = cast(l, m->t, ml_feature(l, &m->rows, n, k)),
               *w = ml_at(l, v, ix_add(l, begin, k));
    const Expr *d = sub(l, x, w);
    return reduce_add(l, 1, &k, NULL, distance ? mul(l, d, d) : mul(l, x, w));
}

static const Expr *kernel_of(Lower *l, const Machine *m, Index n, Index v)
{
    const Expr *p = product(l, m, n, m->vectors, ix_scale(l, v, m->nfeatures), m->kind == SVM_RBF);
    const Expr *gamma = num(l, m->t, m->gamma), *coef0 = num(l, m->t, m->coef0);
    switch (m->kind) {
    case SVM_POLY:
        return pow_(l, add(l, mul(l, gamma, p), coef0), num(l, m->t, m->degree));
    case SVM_RBF:
        return exp_(l, neg(l, mul(l, gamma, p)));
    case SVM_SIGMOID:
        return tanh_(l, add(l, mul(l, gamma, p), coef0));
    default:
        return p;
    }
}

static Tensor kernels_of(Lower *l, const Machine *m)
{
    Index dims[2] = {m->rows.n, ix(l, m->nvectors)}, o[MAX_RANK] = {0};
    Tensor t = temp(l, "kernels", m->t, 2, dims);
    kernel(l, "svm_kernels");
    par_all(l, t, o);
    store(l, t, o, kernel_of(l, m, o[0], o[1]));
    kernel_end(l);
    return t;
}

// raw[n, k] = x[n] . coefficients[k] + rho[0]: what a machine without support vectors is.
static Tensor linear_scores(Lower *l, const Machine *m, uint32_t columns)
{
    Index dims[2] = {m->rows.n, ix(l, columns)}, o[MAX_RANK] = {0};
    Tensor t = temp(l, "raw_scores", m->t, 2, dims);
    kernel(l, "svm_linear");
    par_all(l, t, o);
    const Expr *e = product(l, m, o[0], m->coef, ix_scale(l, o[1], m->nfeatures), false);
    store(l, t, o, add(l, e, num(l, m->t, m->rho[0])));
    kernel_end(l);
    return t;
}

// ---- SVMRegressor

static void infer_regressor(Infer *s)
{
    infer_dtype(s, 0, DT_F32);
    ml_infer_rows(s, UINT32_MAX, 0, poly_const(s->polys, 1));
}

static void lower_regressor(Lower *l)
{
    int64_t supports = node_int(l->n, "n_supports", 0);
    Machine m = {.nvectors = supports > 0 && supports < INT32_MAX ? (uint32_t)supports : 0};
    Tensor raw;
    Post post;
    Index o[MAX_RANK] = {0};
    if (!read_machine(l, &m) || !ml_post(l, &post))
        return;
    if (m.nvectors > m.ncoefficients) {
        not_supported(l, "SVMRegressor with %u coefficients for %u support vectors",
                      m.ncoefficients, m.nvectors);
        return;
    }
    m.nfeatures = m.nvectors ? m.nfeatures : m.ncoefficients;
    check_features(l, &m);
    if (m.nvectors) {
        Tensor kernels = kernels_of(l, &m);
        Index dims[2] = {m.rows.n, ix(l, 1)};
        raw = temp(l, "raw_scores", m.t, 2, dims);
        kernel(l, "svm_regression");
        par_all(l, raw, o);
        Index v = red(l, ix(l, m.nvectors)), at[2] = {o[0], v};
        const Expr *e = mul(l, load(l, kernels, at), ml_at(l, m.coef, v));
        store(l, raw, o, add(l, reduce_add(l, 1, &v, NULL, e), num(l, m.t, m.rho[0])));
        kernel_end(l);
    } else {
        raw = linear_scores(l, &m, 1);
    }
    if (node_int(l->n, "one_class", 0)) {
        Tensor y = output(l, 0);
        kernel(l, "svm_side");
        par_all(l, y, o);
        store(l, y, o,
              select_(l, lt(l, zero(l, m.t), load(l, raw, o)), num(l, y.dtype, 1),
                      num(l, y.dtype, -1)));
        kernel_end(l);
    } else {
        ml_store_scores(l, output(l, 0), raw, post);
    }
}

// ---- SVMClassifier

static uint32_t vector_count(const Node *n)
{
    const Attr *a = attr_find(n, "vectors_per_class");
    uint64_t sum = 0;
    for (uint32_t i = 0; a && i < a->nints; i++) {
        if (a->ints[i] < 0 || a->ints[i] > INT32_MAX)
            return UINT32_MAX;
        sum += (uint64_t)a->ints[i];
    }
    return sum > INT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static uint64_t pair_count(uint64_t classes)
{
    return classes * (classes - (classes > 0)) / 2;
}

static bool has_probabilities(const Node *n)
{
    const Attr *a = attr_find(n, "prob_a");
    return a && a->nfloats && vector_count(n) != 0;
}

static void infer_classifier(Infer *s)
{
    uint32_t classes = ml_label_count(s->n, INTS, STRINGS);
    bool pairs = vector_count(s->n) != 0 && !has_probabilities(s->n) && classes > 2;
    infer_dtype(s, 0, ml_label_dtype(s->n, STRINGS));
    infer_dtype(s, 1, DT_F32);
    ml_infer_rows(s, 0, 1,
                  poly_const(s->polys, pairs ? (int64_t)pair_count(classes) : (int64_t)classes));
}

// Where the vectors of each class begin, and the classes of each pair, as tables.
typedef struct Pairs {
    uint32_t classes, pairs;
    Tensor begin, low, high, rho;
} Pairs;

static Pairs pairs_of(Lower *l, const Machine *m, uint32_t classes)
{
    const Attr *per_class = attr_find(l->n, "vectors_per_class");
    uint32_t pairs = (uint32_t)pair_count(classes), p = 0;
    int64_t *begin = NEWS(l->arena, int64_t, classes + 1u);
    int64_t *low = NEWS(l->arena, int64_t, pairs + 1u), *high = NEWS(l->arena, int64_t, pairs + 1u);
    for (uint32_t i = 0; i < classes; i++) {
        begin[i + 1] = begin[i] + per_class->ints[i];
        for (uint32_t j = i + 1; j < classes; j++, p++) {
            low[p] = i;
            high[p] = j;
        }
    }
    return (Pairs){classes,
                   pairs,
                   ml_table_ints(l, "begin", DT_I64, classes + 1, begin),
                   ml_table_ints(l, "low", DT_I64, pairs, low),
                   ml_table_ints(l, "high", DT_I64, pairs, high),
                   ml_table(l, "rho", m->t, pairs, m->rho)};
}

// Sum over the vectors v of class c: coefficients[row, v] * kernels[n, v], in double precision.
static const Expr *share(Lower *l, const Machine *m, const Pairs *p, Tensor kernels, Index n,
                         const Expr *c, const Expr *coef_row)
{
    Index v = red(l, ix(l, m->nvectors)), at[2] = {n, v};
    Index i = to_index(l, c);
    const Expr *k = expr_index(l->module, v);
    const Expr *own =
        and_(l, le(l, ml_at(l, p->begin, i), k), lt(l, k, ml_at(l, p->begin, ix_addc(l, i, 1))));
    Index w = ix_add(l, ix_scale(l, to_index(l, coef_row), m->nvectors), v);
    const Expr *e = mul(l, ml_at(l, m->coef, w), load(l, kernels, at));
    return reduce_add(l, 1, &v, own, cast(l, DT_F64, e));
}

// raw[n, p]: above 0 the pair's first class wins.
static Tensor pair_scores(Lower *l, const Machine *m, const Pairs *p)
{
    Tensor kernels = kernels_of(l, m);
    Index dims[2] = {m->rows.n, ix(l, p->pairs)}, o[MAX_RANK] = {0};
    Tensor raw = temp(l, "pair_scores", m->t, 2, dims);
    kernel(l, "svm_pairs");
    par_all(l, raw, o);
    const Expr *i = ml_at(l, p->low, o[1]), *j = ml_at(l, p->high, o[1]);
    const Expr *first = share(l, m, p, kernels, o[0], i, sub(l, j, one(l, DT_I64))),
               *second = share(l, m, p, kernels, o[0], j, i);
    const Expr *e = add(l, add(l, first, second), cast(l, DT_F64, ml_at(l, p->rho, o[1])));
    store(l, raw, o, cast(l, m->t, e));
    kernel_end(l);
    return raw;
}

// votes[n, c]: the pairs that class c wins.
static Tensor votes_of(Lower *l, const Machine *m, const Pairs *p, Tensor raw)
{
    Index dims[2] = {m->rows.n, ix(l, p->classes)}, o[MAX_RANK] = {0};
    Tensor votes = temp(l, "votes", DT_I64, 2, dims);
    kernel(l, "svm_votes");
    par_all(l, votes, o);
    Index k = red(l, ix(l, p->pairs)), at[2] = {o[0], k};
    const Expr *c = expr_index(l->module, o[1]);
    const Expr *winner = select_(l, lt(l, zero(l, m->t), load(l, raw, at)), ml_at(l, p->low, k),
                                 ml_at(l, p->high, k));
    store(l, votes, o, reduce_add(l, 1, &k, NULL, cast(l, DT_I64, eq(l, c, winner))));
    kernel_end(l);
    return votes;
}

// r[n, i, j]: how probable class i is against j, by the pair's logistic curve, kept off 0 and 1.
static Tensor pair_probabilities(Lower *l, const Machine *m, const Pairs *p, Tensor raw)
{
    uint32_t na, nb;
    const double *a = ml_numbers(l->model, l->n, "prob_a", &na),
                 *b = ml_numbers(l->model, l->n, "prob_b", &nb);
    Index c = ix(l, p->classes), dims[3] = {m->rows.n, c, c}, o[MAX_RANK] = {0};
    Tensor r = temp(l, "pair_probabilities", m->t, 3, dims);
    if (na < p->pairs || nb < p->pairs) {
        not_supported(l, "SVMClassifier with %u prob_a and %u prob_b for %u pairs of classes", na,
                      nb, p->pairs);
        return r;
    }
    Tensor ta = ml_table(l, "prob_a", m->t, na, a), tb = ml_table(l, "prob_b", m->t, nb, b);
    kernel(l, "svm_pair_probabilities");
    o[0] = par(l, dims[0]);
    o[1] = par(l, ix(l, p->pairs));
    const Expr *s = add(l, mul(l, load(l, raw, o), ml_at(l, ta, o[1])), ml_at(l, tb, o[1]));
    const Expr *e = sub(l, one(l, m->t), sigmoid(l, s));
    e = let(l, min_(l, max_(l, e, num(l, m->t, 1e-7)), num(l, m->t, 1 - 1e-7)));
    Index i = to_index(l, ml_at(l, p->low, o[1])), j = to_index(l, ml_at(l, p->high, o[1]));
    Index at[3] = {o[0], i, j}, mirrored[3] = {o[0], j, i};
    store(l, r, at, e);
    store(l, r, mirrored, sub(l, one(l, m->t), e));
    kernel_end(l);
    return r;
}

// Q[n, t, t] = sum of r[j, t]^2, Q[n, t, j] = -r[j, t] * r[t, j], j != t.
static Tensor coupling_matrix(Lower *l, const Machine *m, Tensor r)
{
    Index o[MAX_RANK] = {0};
    Tensor q = temp(l, "coupling", m->t, 3, r.dims);
    kernel(l, "svm_coupling");
    par_all(l, q, o);
    Index j = red(l, r.dims[1]), at[3] = {o[0], j, o[1]}, turned[3] = {o[0], o[2], o[1]};
    const Expr *e = load(l, r, at);
    const Expr *apart = ne(l, expr_index(l->module, j), expr_index(l->module, o[1]));
    const Expr *diagonal = reduce_add(l, 1, &j, apart, mul(l, e, e));
    const Expr *cross = neg(l, mul(l, load(l, r, turned), load(l, r, o)));
    store(l, q, o, select_(l, index_eq(l, o[1], o[2]), diagonal, cross));
    kernel_end(l);
    return q;
}

// One pass of the coupling over all classes: each in turn moves to its optimum, then all are
// scaled to the sum 1. `p` and `qp` are rows of C, `pqp` is p.Q.p.
static void couple_once(Lower *l, DType t, Tensor q, Index n, Index c, LocalId p, LocalId qp,
                        LocalId pqp)
{
    const Expr *one_ = one(l, t);
    Index k = seq(l, c), diagonal[3] = {n, k, k};
    const Expr *own = let(l, load(l, q, diagonal)), *slope = get(l, qp, &k);
    const Expr *d = let(l, div_(l, sub(l, get(l, pqp, NULL), slope), own)),
               *scale = let(l, add(l, one_, d));
    const Expr *gain = mul(l, d, add(l, mul(l, d, own), mul(l, num(l, t, 2), get(l, qp, &k))));
    set(l, p, &k, add(l, get(l, p, &k), d));
    set(l, pqp, NULL, div_(l, add(l, get(l, pqp, NULL), gain), mul(l, scale, scale)));
    Index j = seq(l, c), at[3] = {n, k, j};
    set(l, qp, &j, div_(l, add(l, get(l, qp, &j), mul(l, d, load(l, q, at))), scale));
    set(l, p, &j, div_(l, get(l, p, &j), scale));
    end(l);
    end(l);
}

// Class probabilities that agree best with those of the pairs (Wu, Lin and Weng, 2004, second
// method): minimise p.Q.p where sum p = 1, to 0.005 / C or for 100 passes.
static Tensor couple(Lower *l, const Machine *m, const Pairs *pairs, Tensor q)
{
    DType t = m->t;
    Index c = ix(l, pairs->classes), dims[2] = {m->rows.n, c};
    int64_t passes = pairs->classes > 100 ? pairs->classes : 100;
    Tensor y = temp(l, "probabilities", t, 2, dims);
    kernel(l, "svm_couple");
    Index n = par(l, m->rows.n);
    LocalId p = row(l, t, 1, &c), qp = row(l, t, 1, &c), pqp = row(l, t, 0, NULL),
            left = row(l, DT_I64, 0, NULL), worst = row(l, t, 0, NULL);
    Index k = seq(l, c);
    set(l, p, &k, num(l, t, 1.0 / pairs->classes));
    end(l);
    set(l, left, NULL, int_(l, DT_I64, passes));
    while_(l, lt(l, zero(l, DT_I64), get(l, left, NULL)));
    set(l, pqp, NULL, zero(l, t));
    set(l, worst, NULL, zero(l, t));
    k = seq(l, c);
    Index j = red(l, c), at[3] = {n, k, j};
    const Expr *dot = reduce_add(l, 1, &j, NULL, mul(l, load(l, q, at), get(l, p, &j)));
    set(l, qp, &k, dot);
    set(l, pqp, NULL, add(l, get(l, pqp, NULL), mul(l, get(l, p, &k), get(l, qp, &k))));
    end(l);
    k = seq(l, c);
    const Expr *off = abs_(l, sub(l, get(l, qp, &k), get(l, pqp, NULL)));
    set(l, worst, NULL, max_(l, get(l, worst, NULL), off));
    end(l);
    const Expr *enough = lt(l, get(l, worst, NULL), num(l, t, 0.005 / pairs->classes));
    if_(l, enough);
    set(l, left, NULL, zero(l, DT_I64));
    else_(l);
    set(l, left, NULL, sub(l, get(l, left, NULL), one(l, DT_I64)));
    couple_once(l, t, q, n, c, p, qp, pqp);
    end(l);
    end(l);
    k = seq(l, c);
    Index to[2] = {n, k};
    store(l, y, to, get(l, p, &k));
    kernel_end(l);
    return y;
}

static void lower_pairs(Lower *l, const Machine *m, const Labels *labels, Post post)
{
    Pairs pairs = pairs_of(l, m, labels->count);
    Tensor raw = pair_scores(l, m, &pairs), votes = votes_of(l, m, &pairs, raw);
    ml_store_top(l, output(l, 0), labels, votes);
    if (has_probabilities(l->n)) {
        Tensor r = pair_probabilities(l, m, &pairs, raw);
        if (!l->failed)
            ml_store_scores(l, output(l, 1), couple(l, m, &pairs, coupling_matrix(l, m, r)), post);
    } else if (labels->count == 2) {
        ml_store_margin(l, output(l, 1), raw, post, false);
    } else {
        ml_store_scores(l, output(l, 1), raw, post);
    }
}

static void lower_classifier(Lower *l)
{
    Machine m = {.nvectors = vector_count(l->n)};
    Labels labels = ml_labels(l, INTS, STRINGS);
    const Attr *per_class = attr_find(l->n, "vectors_per_class");
    uint32_t classes = labels.count;
    Post post;
    if (m.nvectors == UINT32_MAX || classes < 2 || classes > 4096) {
        not_supported(l, "SVMClassifier with %u classes and these vectors_per_class", classes);
        return;
    }
    if (l->failed || !read_machine(l, &m) || !ml_post(l, &post))
        return;
    bool fits = m.nvectors ? per_class->nints == classes &&
                                 m.ncoefficients >= (uint64_t)(classes - 1) * m.nvectors &&
                                 m.nrho >= pair_count(classes)
                           : m.ncoefficients % classes == 0;
    if (!fits) {
        not_supported(l, "SVMClassifier with %u coefficients and %u rho for %u classes",
                      m.ncoefficients, m.nrho, classes);
        return;
    }
    m.nfeatures = m.nvectors ? m.nfeatures : m.ncoefficients / classes;
    check_features(l, &m);
    if (m.nvectors) {
        lower_pairs(l, &m, &labels, post);
        return;
    }
    Tensor raw = linear_scores(l, &m, classes);
    ml_store_top(l, output(l, 0), &labels, raw);
    ml_store_scores(l, output(l, 1), raw, post);
}

const OpDef ops_ml_svm[] = {
    {"SVMClassifier", 1, infer_classifier, lower_classifier, {NULL}, ML_DOMAIN},
    {"SVMRegressor", 1, infer_regressor, lower_regressor, {NULL}, ML_DOMAIN},
    {0},
};
