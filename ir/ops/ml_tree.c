// TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble. Spec: ai.onnx.ml 1, 3, 5.
//
// The forest is constant tables; each row walks each tree from its root to a leaf:
//   place = root;  while place >= 0: place = next[2 * place + test(x[n, feature[place]])]
// and the leaf -1 - place adds its votes to the row's scores. What follows a test stands side by
// side, so that no processor guesses which it will be.

#include "ir/ops/ml_forest.h"

typedef enum Aggregate { AGG_AVERAGE, AGG_SUM, AGG_MIN, AGG_MAX, AGG_COUNT } Aggregate;

typedef struct Tables {
    const Forest *f;
    DType t; // of features, thresholds and scores
    Tensor feature, threshold, mode, next, missing, first_member, members, roots, first_vote,
        target, weight;
    bool one_mode, one_vote; // all nodes test alike; each leaf votes once
} Tables;

// Where the walk goes on behind each node, if it says no and if it says yes.
static const int64_t *next_of(Lower *l, const Forest *f)
{
    int64_t *next = NEWS(l->arena, int64_t, 2 * (size_t)f->nnodes);
    for (uint32_t i = 0; i < f->nnodes; i++) {
        next[2 * i] = f->no[i];
        next[2 * i + 1] = f->yes[i];
    }
    return next;
}

static Tables tables_of(Lower *l, const Forest *f, DType t)
{
    Tables b = {.f = f, .t = t, .one_mode = true, .one_vote = f->nvotes == f->nleaves};
    bool missing = false;
    for (uint32_t i = 0; i < f->nnodes; i++) {
        b.one_mode = b.one_mode && f->mode[i] == f->mode[0];
        missing = missing || f->missing[i];
    }
    for (uint32_t i = 0; i < f->nleaves; i++)
        b.one_vote = b.one_vote && f->first_vote[i] == (int64_t)i;
    b.roots = ml_table_ints(l, "roots", DT_I32, f->ntrees, f->roots);
    if (f->nnodes) {
        b.feature = ml_table_ints(l, "features", DT_I32, f->nnodes, f->feature);
        b.threshold = ml_table(l, "thresholds", t, f->nnodes, f->threshold);
        b.next = ml_table_ints(l, "next", DT_I32, 2 * f->nnodes, next_of(l, f));
    }
    if (!b.one_mode)
        b.mode = ml_table_ints(l, "modes", DT_U8, f->nnodes, f->mode);
    if (missing)
        b.missing = ml_table_ints(l, "missing", DT_BOOL, f->nnodes, f->missing);
    if (f->nmembers) {
        b.first_member = ml_table_ints(l, "first_member", DT_I32, f->nnodes + 1, f->first_member);
        b.members = ml_table(l, "members", t, f->nmembers, f->members);
    }
    if (!b.one_vote)
        b.first_vote = ml_table_ints(l, "first_vote", DT_I32, f->nleaves + 1, f->first_vote);
    if (f->nvotes) {
        b.target = ml_table_ints(l, "targets", DT_I32, f->nvotes, f->target);
        b.weight = ml_table(l, "weights", t, f->nvotes, f->weight);
    }
    return b;
}

static const Expr *compared(Lower *l, int64_t mode, const Expr *x, const Expr *v)
{
    switch (mode) {
    case MODE_LEQ:
        return le(l, x, v);
    case MODE_LT:
        return lt(l, x, v);
    case MODE_GTE:
        return le(l, v, x);
    case MODE_GT:
        return lt(l, v, x);
    case MODE_EQ:
        return eq(l, x, v);
    case MODE_NEQ:
        return ne(l, x, v);
    default:
        return int_(l, DT_BOOL, 0);
    }
}

// What the node at `i` says of x, its members left aside.
static const Expr *test_of(Lower *l, const Tables *b, Index i, const Expr *x)
{
    const Expr *v = ml_at(l, b->threshold, i), *e;
    if (b->one_mode) {
        e = compared(l, b->f->mode[0], x, v);
    } else {
        const Expr *mode = ml_at(l, b->mode, i);
        e = int_(l, DT_BOOL, 0);
        for (int64_t m = MODE_NEQ; m >= MODE_LEQ; m--)
            e = select_(l, eq(l, mode, int_(l, DT_U8, m)), compared(l, m, x, v), e);
    }
    if (b->missing.buffer)
        e = or_(l, e, and_(l, ml_at(l, b->missing, i), unary(l, U_ISNAN, x)));
    return e;
}

static const Expr *integer_at(Lower *l, Tensor t, Index i)
{
    return cast(l, DT_I64, ml_at(l, t, i));
}

// The leaf that tree t takes row n to.
static const Expr *leaf_of(Lower *l, const Tables *b, const Rows *r, Index n, Index t)
{
    const Expr *root = integer_at(l, b->roots, t), *below = int_(l, DT_I64, -1);
    if (b->f->nnodes == 0)
        return sub(l, below, root);
    LocalId place = row(l, DT_I64, 0, NULL);
    set(l, place, NULL, root);
    while_(l, le(l, zero(l, DT_I64), get(l, place, NULL)));
    const Expr *here = let(l, get(l, place, NULL));
    Index i = to_index(l, here), f = to_index(l, integer_at(l, b->feature, i));
    const Expr *x = let(l, cast(l, b->t, ml_feature(l, r, n, f)));
    const Expr *yes = test_of(l, b, i, x);
    if (b->members.buffer) { // a node of another mode has no members
        LocalId found = row(l, DT_BOOL, 0, NULL), at = row(l, DT_I64, 0, NULL);
        set(l, found, NULL, yes);
        set(l, at, NULL, integer_at(l, b->first_member, i));
        const Expr *behind = let(l, integer_at(l, b->first_member, ix_addc(l, i, 1)));
        while_(l, lt(l, get(l, at, NULL), behind));
        const Expr *k = let(l, get(l, at, NULL));
        const Expr *same = eq(l, x, ml_at(l, b->members, to_index(l, k)));
        set(l, found, NULL, or_(l, get(l, found, NULL), same));
        set(l, at, NULL, add(l, k, one(l, DT_I64)));
        end(l);
        yes = get(l, found, NULL);
    }
    Index side = to_index(l, cast(l, DT_I64, yes));
    set(l, place, NULL, integer_at(l, b->next, ix_add(l, ix_scale(l, i, 2), side)));
    end(l);
    return let(l, sub(l, below, get(l, place, NULL)));
}

typedef struct Sum { // a row's scores while trees are walked
    Aggregate how;
    LocalId score, voted;
} Sum;

static void vote(Lower *l, const Tables *b, const Sum *s, Index i)
{
    Index k = to_index(l, integer_at(l, b->target, i));
    const Expr *w = ml_at(l, b->weight, i), *before = get(l, s->score, &k);
    if (s->how == AGG_SUM || s->how == AGG_AVERAGE) {
        set(l, s->score, &k, add(l, before, w));
        return;
    }
    const Expr *better = s->how == AGG_MIN ? lt(l, w, before) : lt(l, before, w);
    const Expr *taken = or_(l, not_(l, get(l, s->voted, &k)), better);
    set(l, s->score, &k, select_(l, taken, w, before));
    set(l, s->voted, &k, int_(l, DT_BOOL, 1));
}

static void vote_of_leaf(Lower *l, const Tables *b, const Sum *s, const Expr *leaf)
{
    if (b->f->nvotes == 0)
        return;
    if (b->one_vote) {
        vote(l, b, s, to_index(l, leaf));
        return;
    }
    LocalId at = row(l, DT_I64, 0, NULL);
    set(l, at, NULL, integer_at(l, b->first_vote, to_index(l, leaf)));
    const Expr *behind = let(l, integer_at(l, b->first_vote, ix_addc(l, to_index(l, leaf), 1)));
    while_(l, lt(l, get(l, at, NULL), behind));
    const Expr *i = let(l, get(l, at, NULL));
    vote(l, b, s, to_index(l, i));
    set(l, at, NULL, add(l, i, one(l, DT_I64)));
    end(l);
}

// raw[n, k] of a forest: its votes, aggregated, plus base values (one a target, or none).
static Tensor forest_scores(Lower *l, const Rows *r, const Forest *f, uint32_t targets,
                            Aggregate how, const double *base, uint32_t nbase)
{
    DType t = r->x.dtype == DT_F64 ? DT_F64 : DT_F32;
    Tables b = tables_of(l, f, t);
    Index dims[2] = {r->n, ix(l, targets)};
    Tensor raw = temp(l, "raw_scores", t, 2, dims),
           bases = nbase ? ml_table(l, "base_values", t, nbase, base) : (Tensor){0};
    check(l, index_le(l, ix(l, f->features), r->f), "%.*s: X has fewer than %lld features",
          STR_ARG(str_escaped(l->arena, l->n->op)), (long long)f->features);
    kernel(l, "trees");
    Index n = par(l, r->n);
    Sum s = {how, row(l, t, 1, dims + 1), 0};
    bool extreme = how == AGG_MIN || how == AGG_MAX;
    if (extreme)
        s.voted = row(l, DT_BOOL, 1, dims + 1);
    Index k = seq(l, dims[1]);
    set(l, s.score, &k, zero(l, t));
    if (extreme)
        set(l, s.voted, &k, int_(l, DT_BOOL, 0));
    end(l);
    Index tree = seq(l, ix(l, f->ntrees));
    vote_of_leaf(l, &b, &s, leaf_of(l, &b, r, n, tree));
    end(l);
    k = seq(l, dims[1]);
    Index at[2] = {n, k};
    const Expr *e = get(l, s.score, &k);
    if (how == AGG_AVERAGE)
        e = div_(l, e, num(l, t, f->ntrees));
    store(l, raw, at, nbase ? add(l, e, ml_at(l, bases, nbase == targets ? k : ix(l, 0))) : e);
    kernel_end(l);
    return raw;
}

// ---- rows

// base_values, one a target; false (not_supported said) for another number of them.
static bool base_values(Lower *l, uint32_t targets, const double **base, uint32_t *n)
{
    *base = ml_numbers(l->model, l->n, "base_values", n);
    if (*n == 0 || *n == targets)
        return true;
    not_supported(l, "%.*s with %u base values for %u scores",
                  STR_ARG(str_escaped(l->arena, l->n->op)), *n, targets);
    return false;
}

static bool is_too_many(Lower *l, int64_t targets)
{
    if (targets >= 1 && targets <= 65536)
        return false;
    not_supported(l, "%.*s with %lld targets", STR_ARG(str_escaped(l->arena, l->n->op)),
                  (long long)targets);
    return true;
}

static void infer_targets(Infer *s)
{
    int64_t targets = node_int(s->n, "n_targets", 1);
    if (str_is(s->n->op, "TreeEnsembleRegressor"))
        infer_dtype(s, 0, DT_F32);
    ml_infer_rows(s, UINT32_MAX, 0, targets >= 1 ? poly_const(s->polys, targets) : NULL);
}

static void lower_regressor(Lower *l)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    Rows r = ml_rows(l);
    int64_t targets = node_int(l->n, "n_targets", 1);
    Str said = node_str(l->n, "aggregate_function", "SUM");
    Aggregate how = AGG_AVERAGE;
    const double *base;
    uint32_t nbase;
    Post post;
    while (how < AGG_COUNT && !str_is(said, names[how]))
        how++;
    if (how == AGG_COUNT)
        not_supported(l, "TreeEnsembleRegressor with aggregate_function \"%.*s\"",
                      STR_ARG(str_escaped(l->arena, said)));
    if (l->failed || is_too_many(l, targets) || !ml_post(l, &post) ||
        !base_values(l, (uint32_t)targets, &base, &nbase))
        return;
    const Forest *f = forest_read_nodes(l, "target", (uint32_t)targets);
    if (f)
        ml_store_scores(l, output(l, 0),
                        forest_scores(l, &r, f, (uint32_t)targets, how, base, nbase), post);
}

static void lower_ensemble(Lower *l)
{
    Rows r = ml_rows(l);
    int64_t targets = node_int(l->n, "n_targets", 1),
            how = node_int(l->n, "aggregate_function", AGG_SUM),
            post = node_int(l->n, "post_transform", POST_NONE);
    if (l->failed || is_too_many(l, targets))
        return;
    if (how < 0 || how >= AGG_COUNT || post < 0 || post >= POST_COUNT) {
        not_supported(l, "TreeEnsemble with aggregate_function %lld and post_transform %lld",
                      (long long)how, (long long)post);
        return;
    }
    const Forest *f = forest_read_5(l, (uint32_t)targets);
    if (f)
        ml_store_scores(l, output(l, 0),
                        forest_scores(l, &r, f, (uint32_t)targets, (Aggregate)how, NULL, 0),
                        (Post)post);
}

#define INTS "classlabels_int64s"
#define STRINGS "classlabels_strings"

static void infer_classifier(Infer *s)
{
    uint32_t classes = ml_label_count(s->n, INTS, STRINGS);
    infer_dtype(s, 0, ml_label_dtype(s->n, STRINGS));
    infer_dtype(s, 1, DT_F32);
    ml_infer_rows(s, 0, 1, poly_const(s->polys, classes));
}

// Two classes and votes for the first id alone: the votes are those of the second class.
static bool is_margin(const Forest *f, uint32_t classes, bool *positive)
{
    bool only = classes == 2;
    *positive = true;
    for (uint32_t i = 0; i < f->nvotes; i++) {
        only = only && f->target[i] == 0;
        *positive = *positive && f->weight[i] >= 0;
    }
    return only;
}

static void lower_classifier(Lower *l)
{
    Rows r = ml_rows(l);
    Labels labels = ml_labels(l, INTS, STRINGS);
    uint32_t nbase;
    const double *base = ml_numbers(l->model, l->n, "base_values", &nbase);
    Post post;
    if (l->failed || !ml_post(l, &post) || is_too_many(l, labels.count))
        return;
    const Forest *f = forest_read_nodes(l, "class", labels.count);
    bool positive;
    if (!f)
        return;
    if (!is_margin(f, labels.count, &positive)) {
        if (!base_values(l, labels.count, &base, &nbase))
            return;
        Tensor raw = forest_scores(l, &r, f, labels.count, AGG_SUM, base, nbase);
        ml_store_top(l, output(l, 0), &labels, raw);
        ml_store_scores(l, output(l, 1), raw, post);
        return;
    }
    if (nbase > 1) {
        not_supported(l, "TreeEnsembleClassifier with %u base values for one score", nbase);
        return;
    }
    // Votes that cannot be negative are a probability of the second class.
    bool probability = post == POST_PROBIT || (post == POST_NONE && positive);
    Tensor margin = forest_scores(l, &r, f, 1, AGG_SUM, base, nbase);
    ml_store_side(l, output(l, 0), &labels, margin, probability ? 0.5 : 0);
    ml_store_margin(l, output(l, 1), margin, post, positive);
}

const OpDef ops_ml_tree[] = {
    {"TreeEnsemble", 5, infer_targets, lower_ensemble, {NULL}, ML_DOMAIN},
    {"TreeEnsembleClassifier", 1, infer_classifier, lower_classifier, {NULL}, ML_DOMAIN},
    {"TreeEnsembleRegressor", 1, infer_targets, lower_regressor, {NULL}, ML_DOMAIN},
    {0},
};
