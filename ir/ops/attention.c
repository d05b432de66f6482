// Attention: softmax(Q K' * scale + bias) V, with grouped heads, caches, masks and windows.
//
// Heads may be packed in the last dim (rank 3) or stand on their own (rank 4); everything below
// speaks of [batch, head, position, channel]. Each step rounds to the tensors' type. Spec:
// Attention-24, -25.

#include "ir/ops/common.h"

#include <math.h>

typedef struct Heads {
    Tensor t;
    bool packed; // [batch, position, head * channel]
    Index heads, length, channels;
} Heads;

static bool heads_of(Polys *p, const Node *n, const char *attr, uint32_t rank, const Index *dims,
                     Heads *h)
{
    h->packed = rank == 3;
    if (rank == 4) {
        h->heads = dims[1];
        h->length = dims[2];
        h->channels = dims[3];
        return true;
    }
    int64_t count = node_int(n, attr, 0);
    int64_t all;
    if (rank != 3 || count < 1 || (poly_is_const(dims[2], &all) && all % count))
        return false;
    h->heads = poly_const(p, count);
    h->length = dims[1];
    h->channels = poly_floordiv(p, dims[2], h->heads);
    return true;
}

// Input i is that of h: packed, or one dim for each of batch, heads, length and channels.
static void fit_head(Infer *s, uint32_t i, const Heads *h, Index batch, Index heads, Index length,
                     Index channels)
{
    Index full[4] = {batch, heads, length, channels},
          packed[3] = {batch, length, poly_mul(s->polys, heads, channels)};
    infer_fits(s, i, h->packed ? 3 : 4, h->packed ? packed : full);
}

// Keys and values have heads and positions in common, queries and keys have channels, and each head
// of the keys serves the same number of heads of the queries.
static void fit_heads(Infer *s, const Heads *q, const Heads *k, const Heads *v)
{
    Polys *p = s->polys;
    Index batch = infer_in(s, 0)->dims[0], each = poly_floordiv(p, q->heads, k->heads);
    const Value *past = infer_in(s, 4);
    fit_head(s, 1, k, batch, k->heads, k->length, q->channels);
    fit_head(s, 2, v, batch, k->heads, k->length, v->channels);
    if (!infer_require(s, q->heads, poly_mul(p, each, k->heads)))
        infer_error(s, "the heads of queries are no multiple of the heads of keys");
    if (past && past->rank == 4) {
        infer_fits(s, 4, 4, (const Index[4]){batch, k->heads, past->dims[2], q->channels});
        infer_fits(s, 5, 4, (const Index[4]){batch, k->heads, past->dims[2], v->channels});
    }
    if ((past != NULL) != (infer_in(s, 5) != NULL))
        infer_error(s, "past keys and past values are not both given");
    infer_fits(s, 6, 1, &batch);
}

// A mask has one entry for each score along a dim, or one for all; its last dim may be shorter.
static void fit_mask(Infer *s, const Index *scores)
{
    const Value *m = infer_in(s, 3);
    for (int32_t i = 0; m && m->rank <= 4 && i + 1 < m->rank; i++) {
        Index want = scores[4 - m->rank + i];
        if (!infer_require_into(s, m->dims[i], want))
            infer_error(s, "dimension %d of the mask does not fit the scores", i);
    }
}

static void infer_attention(Infer *s)
{
    const Value *q = infer_in(s, 0), *k = infer_in(s, 1), *v = infer_in(s, 2),
                *past = infer_in(s, 4);
    Heads hq, hk, hv;
    Polys *p = s->polys;
    if (!q || !k || !v || !heads_of(p, s->n, "q_num_heads", (uint32_t)q->rank, q->dims, &hq) ||
        !heads_of(p, s->n, "kv_num_heads", (uint32_t)k->rank, k->dims, &hk) ||
        !heads_of(p, s->n, "kv_num_heads", (uint32_t)v->rank, v->dims, &hv))
        return;
    fit_heads(s, &hq, &hk, &hv);
    Index length = past && past->rank == 4 ? poly_add(p, past->dims[2], hk.length) : hk.length;
    Index flat[3] = {q->dims[0], hq.length, poly_mul(p, hq.heads, hv.channels)};
    Index full[4] = {q->dims[0], hq.heads, hq.length, hv.channels};
    Index key[4] = {q->dims[0], hk.heads, length, hk.channels},
          value[4] = {q->dims[0], hv.heads, length, hv.channels};
    Index scores[4] = {q->dims[0], hq.heads, hq.length, length};
    fit_mask(s, scores);
    infer_shape(s, 0, hq.packed ? 3 : 4, hq.packed ? flat : full);
    infer_shape(s, 1, 4, key);
    infer_shape(s, 2, 4, value);
    infer_shape(s, 3, 4, scores);
}

typedef struct Attention {
    Heads q, k, v;
    Tensor mask, lens, keys, values, scores; // keys and values with what was cached before them
    Index past;                              // positions of the cache
    DType t;
} Attention;

static const Expr *element(Lower *l, const Heads *h, Index b, Index head, Index i, Index c)
{
    Index packed[3] = {b, i, ix_add(l, ix_mul(l, head, h->channels), c)}, full[4] = {b, head, i, c};
    return load(l, h->t, h->packed ? packed : full);
}

// The cache, then what is new.
static Tensor joined(Lower *l, uint32_t out, uint32_t cache, const Heads *h, Index past,
                     const char *name)
{
    Tensor y = output(l, out), old = input(l, cache);
    Index dims[4] = {h->t.dims[0], h->heads, ix_add(l, past, h->length), h->channels},
          o[MAX_RANK] = {0};
    if (!y.buffer)
        y = temp(l, name, h->t.dtype, 4, dims);
    if (old.buffer)
        copy_tensor(l, (Tensor){y.buffer, y.dtype, 4, old.dims}, old);
    kernel(l, name);
    for (uint32_t i = 0; i < 4; i++)
        o[i] = par(l, i == 2 ? h->length : dims[i]);
    const Expr *e = element(l, h, o[0], o[1], o[2], o[3]);
    o[2] = ix_add(l, o[2], past);
    store(l, y, o, e);
    kernel_end(l);
    return y;
}

static const Expr *minus_infinity(Lower *l, DType t)
{
    return num(l, t, -INFINITY);
}

// What the mask adds at (b, h, i, j): its number, or 0 and minus infinity for a truth value.
static const Expr *mask_at(Lower *l, const Attention *a, const Index *o)
{
    Tensor m = a->mask;
    Index at[MAX_RANK] = {0};
    const Expr *z = zero(l, a->t), *low = minus_infinity(l, a->t);
    if (!m.buffer)
        return z;
    for (uint32_t i = 0; i < m.rank; i++)
        at[i] = i + 1 == m.rank ? o[3] : ix_min(l, o[4 - m.rank + i], ix_addc(l, m.dims[i], -1));
    const Expr *e = load(l, m, at);
    e = m.dtype == DT_BOOL ? select_(l, e, z, low) : cast(l, a->t, e);
    if (a->scores.dims[3] == m.dims[m.rank - 1])
        return e;
    return select_(l, index_lt(l, o[3], m.dims[m.rank - 1]), e,
                   low); // a short mask hides what is behind it
}

static const Expr *bias_at(Lower *l, const Attention *a, const Index *o)
{
    int64_t left = node_int(l->n, "left_window_size", -1),
            right = node_int(l->n, "right_window_size", -1);
    const Expr *e = mask_at(l, a, o), *allowed = NULL, *j = expr_index(l->module, o[3]);
    const Expr *frontier = expr_index(l->module, ix_add(l, o[2], a->past));
    if (a->lens.buffer) {
        Index b[1] = {o[0]};
        const Expr *len = cast(l, DT_I64, load(l, a->lens, b));
        if (!has_input(l, 4))
            frontier = add(l, expr_index(l->module, o[2]),
                           sub(l, len, expr_index(l->module, a->q.length)));
        allowed = lt(l, j, len);
    }
    if (node_int(l->n, "is_causal", 0))
        allowed = both(l, allowed, le(l, j, frontier));
    if (left >= 0)
        allowed = both(l, allowed, le(l, sub(l, frontier, int_(l, DT_I64, left)), j));
    if (right >= 0)
        allowed = both(l, allowed, le(l, j, add(l, frontier, int_(l, DT_I64, right))));
    return allowed ? select_(l, allowed, e, minus_infinity(l, a->t)) : e;
}

static const Expr *scale_of(Lower *l, const Attention *a)
{
    if (node_has_attr(l->n, "scale"))
        return num(l, DT_F64, node_float(l->n, "scale", 0));
    const Expr *c = cast(l, DT_F64, expr_index(l->module, a->q.channels));
    return div_(l, num(l, DT_F64, 1), sqrt_(l, c));
}

// As the operator is defined query and key are multiplied by the root of the scale, and rounded: so
// they are where that rounding is seen. A product's factors are plain then.
typedef struct Scaled {
    Tensor query, key; // no buffer: in the wide dtypes the sum of products is scaled
} Scaled;

static Scaled scaled_operands(Lower *l, const Attention *a)
{
    Scaled s = {0};
    Index o[MAX_RANK] = {0};
    Index query[4] = {a->q.t.dims[0], a->q.heads, a->q.length, a->q.channels};
    if (a->t == accumulator(a->t))
        return s;
    const Expr *root = cast(l, a->t, sqrt_(l, scale_of(l, a)));
    s.query = temp(l, "scaled_query", a->t, 4, query);
    kernel(l, "scaled_query");
    par_all(l, s.query, o);
    store(l, s.query, o, mul(l, element(l, &a->q, o[0], o[1], o[2], o[3]), root));
    kernel_end(l);
    s.key = temp(l, "scaled_key", a->t, 4, a->keys.dims);
    kernel(l, "scaled_key");
    par_all(l, s.key, o);
    store(l, s.key, o, mul(l, load(l, a->keys, o), root));
    kernel_end(l);
    return s;
}

// Scaled products of query and key at (b, h, i, j).
static const Expr *score_at(Lower *l, const Attention *a, const Scaled *by, Tensor products,
                            Index *o)
{
    const DType t = a->t, acc = accumulator(t);
    Index reps = ix_div(l, a->q.heads, a->k.heads), head = ix_div(l, o[1], reps),
          c = red(l, a->q.channels);
    Index kat[4] = {o[0], head, o[3], c}, qat[4] = {o[0], o[1], o[2], c};
    const bool scaled = by->query.buffer;
    const Expr *q = scaled ? load(l, by->query, qat) : element(l, &a->q, o[0], o[1], o[2], c);
    const Expr *k = load(l, scaled ? by->key : a->keys, kat);
    const Expr *sum = reduce_add(l, 1, &c, NULL, mul(l, cast(l, acc, q), cast(l, acc, k)));
    if (scaled)
        return cast(l, t, sum);
    // a kernel of its own, so that the product's scale can go where the scores are read
    store(l, products, o, sum);
    kernel_end(l);
    kernel(l, "attention_scale");
    par_all(l, products, o);
    return mul(l, load(l, products, o), cast(l, acc, scale_of(l, a)));
}

static void lower_scores(Lower *l, Attention *a, Tensor raw)
{
    Index o[MAX_RANK] = {0};
    const double softcap = node_float(l->n, "softcap", 0);
    const DType t = a->t;
    Tensor products = temp(l, "products", t, 4, raw.dims);
    const Scaled by = scaled_operands(l, a);
    kernel(l, "attention_scores");
    par_all(l, raw, o);
    const Expr *e = score_at(l, a, &by, products, o);
    if (has_output(l, 3) && node_int(l->n, "qk_matmul_output_mode", 0) == 0)
        store(l, output(l, 3), o, e);
    if (softcap > 0)
        e = mul(l, tanh_(l, div_(l, e, num(l, t, softcap))), num(l, t, softcap));
    store(l, raw, o, e);
    kernel_end(l);
    kernel(l, "attention_bias");
    par_all(l, a->scores, o);
    store(l, a->scores, o, add(l, load(l, raw, o), bias_at(l, a, o)));
    kernel_end(l);
}

// Softmax over the keys in the precision that is asked for; a row that is masked as a whole gives
// zeros.
static Tensor lower_probabilities(Lower *l, const Attention *a)
{
    Tensor s = a->scores, p = temp(l, "probabilities", a->t, 4, s.dims);
    Index o[MAX_RANK] = {0}, at[4] = {0};
    DType precision = node_dtype(l->n, "softmax_precision", a->t);
    DType sum_type = softmax_sum(precision, s.dims[3]);
    kernel(l, "attention_softmax");
    par_all(l, p, o);
    for (int i = 0; i < 3; i++)
        at[i] = o[i];
    Index j = at[3] = red(l, s.dims[3]);
    const Expr *m = reduce(l, R_MAX, 1, &j, NULL, cast(l, precision, load(l, s, at))),
               *z = zero(l, precision);
    m = select_(l, eq(l, m, minus_infinity(l, precision)), z, m);
    j = at[3] = red(l, s.dims[3]);
    const Expr *e = cast(l, sum_type, exp_(l, sub(l, cast(l, precision, load(l, s, at)), m)));
    const Expr *sum = cast(l, precision, reduce_add(l, 1, &j, NULL, e));
    sum = select_(l, eq(l, sum, z), one(l, precision), sum);
    store(l, p, o,
          cast(l, a->t, div_(l, exp_(l, sub(l, cast(l, precision, load(l, s, o)), m)), sum)));
    kernel_end(l);
    return p;
}

// No loop of one turn: as other kernels of heads have none either.
static Index par_of(Lower *l, Index extent)
{
    return poly_equals(extent, 1) ? ix(l, 0) : par(l, extent);
}

static void lower_result(Lower *l, const Attention *a, Tensor p)
{
    Tensor y = output(l, 0);
    Index o[4] = {0}, dims[4] = {a->q.t.dims[0], a->q.heads, a->q.length, a->v.channels};
    DType acc = accumulator(a->t);
    kernel(l, "attention_result");
    o[0] = par_of(l, dims[0]);
    if (a->q.packed) { // the order of the loops is that of the result in memory
        o[2] = par_of(l, dims[2]);
        o[1] = par_of(l, dims[1]);
    } else {
        o[1] = par_of(l, dims[1]);
        o[2] = par_of(l, dims[2]);
    }
    o[3] = par_of(l, dims[3]);
    Index reps = ix_div(l, a->q.heads, a->v.heads), j = red(l, a->scores.dims[3]);
    Index pat[4] = {o[0], o[1], o[2], j}, vat[4] = {o[0], ix_div(l, o[1], reps), j, o[3]};
    const Expr *e =
        reduce_add(l, 1, &j, NULL,
                   mul(l, cast(l, acc, load(l, p, pat)), cast(l, acc, load(l, a->values, vat))));
    Index packed[3] = {o[0], o[2], ix_add(l, ix_mul(l, o[1], a->v.channels), o[3])};
    store(l, y, a->q.packed ? packed : o, cast(l, y.dtype, e));
    kernel_end(l);
}

static void lower_attention(Lower *l)
{
    Tensor q = input(l, 0), k = input(l, 1), v = input(l, 2), qk = output(l, 3);
    Attention a = {.mask = input(l, 3), .lens = input(l, 6), .t = q.dtype};
    int64_t mode = node_int(l->n, "qk_matmul_output_mode", 0);
    a.q.t = q, a.k.t = k, a.v.t = v;
    if (!dtype_is_float(node_dtype(l->n, "softmax_precision", a.t)) || mode < 0 || mode > 3) {
        not_supported(l, "Attention with this softmax_precision or qk_matmul_output_mode");
        return;
    }
    if (!heads_of(l->polys, l->n, "q_num_heads", q.rank, q.dims, &a.q) ||
        !heads_of(l->polys, l->n, "kv_num_heads", k.rank, k.dims, &a.k) ||
        !heads_of(l->polys, l->n, "kv_num_heads", v.rank, v.dims, &a.v)) {
        not_supported(l, "Attention whose heads are not given");
        return;
    }
    a.past = has_input(l, 4) ? input(l, 4).dims[2] : ix(l, 0);
    a.keys = joined(l, 1, 4, &a.k, a.past, "present_key");
    a.values = joined(l, 2, 5, &a.v, a.past, "present_value");
    Index dims[4] = {q.dims[0], a.q.heads, a.q.length, ix_add(l, a.past, a.k.length)};
    Tensor raw = temp(l, "scores", a.t, 4, dims);
    a.scores = temp(l, "biased_scores", a.t, 4, dims);
    lower_scores(l, &a, raw);
    Tensor p = lower_probabilities(l, &a);
    lower_result(l, &a, p);
    if (qk.buffer && mode != 0)
        copy_tensor(l, qk, mode == 3 ? p : mode == 2 ? a.scores : raw);
}

// ---- RotaryEmbedding

// Caches of cosines and sines: a line for each position in the batch, or (with position_ids) for
// each number that a position may have; half as wide as the channels that turn.
static void infer_rotary(Infer *s)
{
    const Value *x = infer_in(s, 0), *c = infer_in(s, 1);
    Heads h;
    int64_t width, turned = node_int(s->n, "rotary_embedding_dim", 0);
    infer_same(s, 0, 0);
    if (!x || !c || c->rank < 2 || c->rank > 3 ||
        !heads_of(s->polys, s->n, "num_heads", (uint32_t)x->rank, x->dims, &h))
        return;
    Index half = c->dims[c->rank - 1];
    if (turned && !infer_require(s, half, poly_const(s->polys, turned / 2)))
        infer_error(s, "the caches are not half as wide as rotary_embedding_dim");
    if (!turned && !infer_require(s, poly_scale(s->polys, half, 2), h.channels))
        infer_error(s, "the caches are not half as wide as a head");
    if (poly_is_const(poly_sub(s->polys, h.channels, poly_scale(s->polys, half, 2)), &width) &&
        width < 0)
        infer_error(s, "the caches are wider than a head");
    Index lines[3] = {x->dims[0], h.length, half};
    if (!infer_in(s, 3))
        infer_fits(s, 1, 3, lines);
    infer_fits(s, 2, (uint32_t)c->rank, c->dims);
    infer_fits(s, 3, 2, lines);
}

static void check_positions(Lower *l, Tensor ids, Index n)
{
    Index vars[2] = {red(l, ids.dims[0]), red(l, ids.dims[1])};
    const Expr *k = cast(l, DT_I64, load(l, ids, vars));
    const Expr *ok = both(l, le(l, zero(l, DT_I64), k), lt(l, k, expr_index(l->module, n)));
    check(l, reduce(l, R_AND, 2, vars, NULL, ok), "RotaryEmbedding: a position is out of range");
}

// Pairs of channels (c, c + half), or neighbours, turned by the angle of their position. Spec:
// RotaryEmbedding-23.
static void lower_rotary(Lower *l)
{
    Tensor x = input(l, 0), cosines = input(l, 1), sines = input(l, 2), ids = input(l, 3),
           y = output(l, 0);
    Heads h = {.t = x};
    Index o[MAX_RANK] = {0}, b, head, i, c;
    bool interleaved = node_int(l->n, "interleaved", 0) != 0;
    if (!heads_of(l->polys, l->n, "num_heads", x.rank, x.dims, &h)) {
        not_supported(l, "RotaryEmbedding whose heads are not given");
        return;
    }
    uint32_t rank = ids.buffer ? 2 : 3;
    if (cosines.rank != rank || sines.rank != rank) {
        not_supported(l, "RotaryEmbedding with caches whose rank is not %u", rank);
        return;
    }
    Index half = cosines.dims[cosines.rank - 1], turned = ix_scale(l, half, 2);
    if (ids.buffer)
        check_positions(l, ids, cosines.dims[0]);
    kernel(l, "rotary_embedding");
    par_all(l, y, o);
    b = o[0];
    i = h.packed ? o[1] : o[2];
    head = h.packed ? ix_div(l, o[2], h.channels) : o[1];
    c = h.packed ? ix_mod(l, o[2], h.channels) : o[3];
    const Expr *second =
        interleaved ? index_eq(l, ix_mod(l, c, ix(l, 2)), ix(l, 1)) : index_le(l, half, c);
    Index pair = interleaved ? ix_div(l, c, ix(l, 2)) : ix_mod(l, c, half), at[3] = {0};
    if (ids.buffer) {
        Index id[2] = {b, i};
        at[0] = to_index(l, load(l, ids, id));
        at[1] = pair;
    } else {
        at[0] = b, at[1] = i, at[2] = pair;
    }
    Index first = interleaved ? ix_scale(l, pair, 2) : pair,
          other = interleaved ? ix_addc(l, first, 1) : ix_add(l, pair, half);
    const Expr *u = element(l, &h, b, head, i, first), *v = element(l, &h, b, head, i, other);
    const Expr *cs = load(l, cosines, at), *sn = load(l, sines, at);
    const Expr *low = sub(l, mul(l, cs, u), mul(l, sn, v)),
               *high = add(l, mul(l, sn, u), mul(l, cs, v));
    const Expr *e = select_(l, second, high, low);
    store(l, y, o, select_(l, index_lt(l, c, turned), e, load(l, x, o)));
    kernel_end(l);
}

const OpDef ops_attention[] = {
    {"Attention", 23, infer_attention, lower_attention, {NULL}, NULL},
    {"RotaryEmbedding", 23, infer_rotary, lower_rotary, {NULL}, NULL},
    {0},
};
