// TfIdfVectorizer: how often the n-grams of a pool occur in each row.
//
// The pool lists n-grams by their length; n-gram number g is counted into column ngram_indexes[g].
// An occurrence begins anywhere and takes every d-th element, d from 1 to max_skip_count + 1;
// weight i is the i-th n-gram's. Spec: TfIdfVectorizer-9.

#include "ir/ops/common.h"

typedef struct Pool {
    const int64_t *counts, *columns; // ngram_counts, ngram_indexes
    uint32_t ncounts, ncolumns;
    const Attr *strings, *numbers;
    int64_t total; // items of the pool
} Pool;

static bool pool_of(const Node *n, Pool *p)
{
    *p = (Pool){0};
    p->strings = attr_find(n, "pool_strings");
    p->numbers = attr_find(n, "pool_int64s");
    p->total = p->strings && p->strings->nstrings ? p->strings->nstrings
               : p->numbers                       ? p->numbers->nints
                                                  : 0;
    return node_ints(n, "ngram_counts", &p->counts, &p->ncounts) &&
           node_ints(n, "ngram_indexes", &p->columns, &p->ncolumns);
}

static void infer_tfidf(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Pool p;
    int64_t last = -1;
    if (!pool_of(s->n, &p) || !x || x->rank < 0)
        return;
    for (uint32_t i = 0; i < p.ncolumns; i++) {
        last = p.columns[i] > last ? p.columns[i] : last;
        if (p.columns[i] < 0 || p.columns[i] > INT32_MAX) {
            infer_error(s, "ngram_indexes holds %lld", (long long)p.columns[i]);
            return;
        }
    }
    if (x->rank > 2) {
        infer_error(s, "its input has rank %d, not 1 or 2", (int)x->rank);
        return;
    }
    Index dims[2] = {NULL, poly_const(s->polys, last + 1)};
    if (x->rank == 2)
        dims[0] = x->dims[0];
    infer_shape(s, 0, x->rank == 2 ? 2 : 1, x->rank == 2 ? dims : dims + 1);
    infer_dtype(s, 0, DT_F32);
}

typedef struct Counting {
    Tensor x, pool, columns, y, weights; // weights: buffer 0 where there are none
    bool once;                           // IDF: that there are any counts, not how many
    int64_t length;                      // n of the n-grams
    int64_t first, ngram; // where they begin in the pool; the number of the first of them
    int64_t ngrams;
    int64_t skips; // max_skip_count + 1, 1 for single elements
} Counting;

static const Expr *item(Lower *l, const Counting *c, Index row, Index at)
{
    Index place[2] = {row, at};
    const Expr *e = load(l, c->x, c->x.rank == 2 ? place : place + 1);
    return e->dtype == DT_STRING ? e : cast(l, DT_I64, e);
}

// y[row, columns[g]] += weights[g] * occurrences of n-gram g, for the n-grams of one length.
static void count_ngrams(Lower *l, const Counting *c)
{
    Index size = c->x.rank ? c->x.dims[c->x.rank - 1] : ix(l, 1), row = NULL, to[2] = {0},
          vars[2] = {0};
    kernel(l, "count_ngrams");
    if (c->x.rank == 2)
        row = par(l, c->x.dims[0]);
    Index g = seq(l, ix(l, c->ngrams)), own = ix_addc(l, g, c->ngram);
    Index start = red(l, size), skip = red(l, ix_min(l, ix(l, c->skips), size));
    Index step = ix_addc(l, skip, 1), last = ix_add(l, start, ix_scale(l, step, c->length - 1));
    Index j = c->length > 1 ? red(l, ix(l, c->length)) : ix(l, 0);
    Index at = ix_addc(l, ix_add(l, ix_scale(l, g, c->length), j), c->first);
    const Expr *same =
        eq(l, item(l, c, row, ix_add(l, start, ix_mul(l, j, step))), load(l, c->pool, &at));
    if (c->length > 1)
        same = reduce(l, R_AND, 1, &j, NULL, same);
    vars[0] = start;
    vars[1] = skip;
    const Expr *n = reduce_add(l, 2, vars, index_lt(l, last, size), cast(l, DT_F32, same));
    const Expr *weight = c->weights.buffer ? load(l, c->weights, &own) : one(l, DT_F32);
    to[0] = row;
    to[1] = to_index(l, load(l, c->columns, &own));
    const Index *at_y = c->x.rank == 2 ? to : to + 1;
    if (c->once) {
        if_(l, lt(l, zero(l, DT_F32), n));
        store(l, c->y, at_y, weight);
    } else {
        update(l, B_ADD, c->y, at_y, mul(l, weight, n));
    }
    kernel_end(l);
}

// false: the attributes contradict each other.
static bool count_all(Lower *l, Counting *c, const Pool *p)
{
    int64_t least = node_int(l->n, "min_gram_length", 1),
            most = node_int(l->n, "max_gram_length", 1);
    int64_t skips = node_int(l->n, "max_skip_count", 0);
    c->ngram = 0;
    for (uint32_t i = 0; i < p->ncounts; i++) {
        int64_t end = i + 1 < p->ncounts ? p->counts[i + 1] : p->total;
        c->first = p->counts[i];
        c->length = i + 1;
        if (c->first < 0 || end < c->first || end > p->total)
            return false;
        c->ngrams = (end - c->first) / c->length;
        if (c->ngram + c->ngrams > p->ncolumns)
            return false;
        c->skips = c->length == 1 || skips < 0 ? 1 : skips < INT32_MAX ? skips + 1 : INT32_MAX;
        if (c->length >= least && c->length <= most && c->ngrams > 0)
            count_ngrams(l, c);
        c->ngram += c->ngrams;
    }
    return true;
}

static void lower_tfidf(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Str mode = node_str(l->n, "mode", "TF");
    bool tf = str_is(mode, "TF"), idf = str_is(mode, "IDF"), both_ = str_is(mode, "TFIDF");
    const float *weights;
    uint32_t nweights = 0;
    Pool p;
    Index o[MAX_RANK] = {0};
    bool weighted = node_floats(l->n, "weights", &weights, &nweights) && nweights > 0 && !tf;
    if (!pool_of(l->n, &p) || (!tf && !idf && !both_) || (weighted && nweights < p.ncolumns)) {
        not_supported(l, "TfIdfVectorizer with mode \"%.*s\" and %u weights",
                      STR_ARG(str_escaped(l->arena, mode)), nweights);
        return;
    }
    const Attr *pool = x.dtype == DT_STRING ? p.strings : p.numbers;
    if (!pool || p.total != (x.dtype == DT_STRING ? pool->nstrings : pool->nints)) {
        not_supported(l, "TfIdfVectorizer without a pool of its input's type");
        return;
    }
    Counting c = {.x = x, .y = y, .once = idf};
    c.pool = x.dtype == DT_STRING ? table(l, "pool", DT_STRING, pool->nstrings, pool->strings)
                                  : table(l, "pool", DT_I64, pool->nints, pool->ints);
    c.columns = table(l, "columns", DT_I64, p.ncolumns, p.columns);
    kernel(l, "no_ngrams");
    par_all(l, y, o);
    store(l, y, o, zero(l, DT_F32));
    kernel_end(l);
    if (weighted)
        c.weights = table(l, "weights", DT_F32, nweights, weights);
    if (!count_all(l, &c, &p))
        not_supported(l, "TfIdfVectorizer whose ngram_counts do not fit pool and ngram_indexes");
}

const OpDef ops_tfidf[] = {
    {"TfIdfVectorizer", 9, infer_tfidf, lower_tfidf, {NULL}, NULL},
    {0},
};
