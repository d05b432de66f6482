// com.microsoft: Attention, MultiHeadAttention and RotaryEmbedding, on the standard's Attention.
//
// What they add is where queries, keys and values come from, and masks of their own. Everything is
// brought to queries [batch, position, head * channel], keys and values [batch, head, position,
// channel] and one mask that is added to the scores.

#include "ir/ops/ms_attention.h"

#include <string.h>

// ---- sources of queries, keys and values

const Expr *ms_head_element(Lower *l, const HeadSource *h, Index b, Index head, Index i, Index c)
{
    Index channel = ix_add(l, ix_mul(l, head, h->channels), c);
    Index flat[3] = {b, i, ix_add(l, channel, h->offset)}, full[4] = {b, head, i, c},
          packed[5] = {b, i, head, h->offset, c};
    const Expr *e = load(l, h->t, h->t.rank == 3 ? flat : h->t.rank == 4 ? full : packed);
    if (!h->bias.buffer)
        return e;
    Index at[1] = {ix_add(l, channel, h->bias_offset)};
    return add(l, e, load(l, h->bias, at));
}

Tensor ms_queries(Lower *l, const HeadSource *h)
{
    Index dims[3] = {h->t.dims[0], h->length, ix_mul(l, h->heads, h->channels)}, o[3] = {0};
    Tensor y = temp(l, "queries", h->t.dtype, 3, dims);
    kernel(l, "queries");
    o[0] = par(l, dims[0]);
    o[1] = par(l, dims[1]);
    Index head = par(l, h->heads), c = par(l, h->channels);
    o[2] = ix_add(l, ix_mul(l, head, h->channels), c);
    store(l, y, o, ms_head_element(l, h, o[0], head, o[1], c));
    kernel_end(l);
    return y;
}

// The cache's elements at dim 0 of `cached` where it holds keys and values both.
static const Expr *cached_at(Lower *l, Tensor cached, uint32_t which, const Index *o)
{
    Index both[5] = {ix(l, which), o[0], o[1], o[2], o[3]};
    return load(l, cached, cached.rank == 5 ? both : o);
}

Tensor ms_joined(Lower *l, Tensor y, Tensor cached, uint32_t which, const HeadSource *h)
{
    Index past = cached.buffer ? cached.dims[cached.rank - 2] : ix(l, 0), o[4] = {0};
    Index dims[4] = {h->t.dims[0], h->heads, ix_add(l, past, h->length), h->channels};
    if (!y.buffer)
        y = temp(l, which ? "values" : "keys", h->t.dtype, 4, dims);
    for (int part = cached.buffer ? 0 : 1; part < 2; part++) {
        kernel(l, part == 0 ? "cached" : which ? "values" : "keys");
        for (uint32_t i = 0; i < 4; i++)
            o[i] = par(l, i != 2 ? dims[i] : part == 0 ? past : h->length);
        const Expr *e = part == 0 ? cached_at(l, cached, which, o)
                                  : ms_head_element(l, h, o[0], o[1], o[2], o[3]);
        o[2] = part == 0 ? o[2] : ix_add(l, o[2], past);
        store(l, y, o, e);
        kernel_end(l);
    }
    return y;
}

// ---- masks

typedef struct Masking {
    Tensor index, bias; // the mask of tokens, and what is added to the scores
    Index batch, length, past, total;
    bool causal, pairs; // pairs: index holds ends, then starts
} Masking;

// Does the mask of tokens keep key o[3]? NULL: all are kept.
static const Expr *kept(Lower *l, const Masking *m, const Index *o)
{
    Tensor x = m->index;
    if (!x.buffer)
        return NULL;
    if (x.rank == 1) {
        Index first[1] = {o[0]}, second[1] = {ix_add(l, o[0], m->batch)};
        const Expr *j = cast(l, x.dtype, expr_index(l->module, o[3])),
                   *k = lt(l, j, load(l, x, first));
        return m->pairs ? and_(l, k, le(l, load(l, x, second), j)) : k;
    }
    Index flat[2] = {o[0], o[3]}, full[3] = {o[0], o[2], o[3]};
    return lt(l, zero(l, x.dtype), load(l, x, x.rank == 2 ? flat : full));
}

// What is added to the scores, [batch, heads or 1, position, key]; no tensor where nothing is.
static Tensor lower_mask(Lower *l, const Masking *m, Index heads, DType t)
{
    Index dims[4] = {m->batch, m->bias.buffer ? heads : ix(l, 1), m->length, m->total},
          o[MAX_RANK] = {0};
    if (!m->index.buffer && !m->bias.buffer && !m->causal)
        return (Tensor){0};
    Tensor y = temp(l, "mask", t, 4, dims);
    kernel(l, "mask");
    par_all(l, y, o);
    const Expr *e = zero(l, t), *keep = kept(l, m, o);
    if (keep)
        e = select_(l, keep, e, num(l, t, node_float(l->n, "mask_filter_value", -10000)));
    if (m->causal) {
        Index last = ix_add(l, o[2], m->past);
        e = select_(l, index_le(l, o[3], last), e, num(l, t, t == DT_F16 ? -65504 : -3.4028234e38));
    }
    if (m->bias.buffer)
        e = add(l, e, load_broadcast(l, m->bias, 4, o));
    store(l, y, o, e);
    kernel_end(l);
    return y;
}

// A 1-D mask holds an end for each row, or ends and then starts.
static bool has_pairs(Polys *p, Index dim, Index batch)
{
    return dim != batch && poly_equals(poly_sub(p, dim, poly_scale(p, batch, 2)), 0);
}

static void fit_mask(Infer *s, uint32_t i, Index batch, Index length, Index total)
{
    const Value *v = infer_in(s, i);
    if (v && v->rank == 1 && !has_pairs(s->polys, v->dims[0], batch))
        infer_fits(s, i, 1, &batch);
    infer_fits(s, i, 2, (const Index[]){batch, total});
    infer_fits(s, i, 3, (const Index[]){batch, length, total});
}

static void fit_bias(Infer *s, uint32_t i, Index batch, Index heads, Index length, Index total)
{
    const Value *v = infer_in(s, i);
    if (!v || v->rank != 4)
        return;
    infer_fits(s, i, 4,
               (const Index[]){poly_equals(v->dims[0], 1) ? NULL : batch,
                               poly_equals(v->dims[1], 1) ? NULL : heads, length, total});
}

// ---- the core

static void lower_core(Lower *l, Tensor q, Tensor k, Tensor v, Tensor mask, Index heads)
{
    int64_t n = 0;
    double scale = node_float(l->n, "scale", 0);
    poly_is_const(heads, &n);
    Attr attrs[3] = {attr_int("q_num_heads", n), attr_int("kv_num_heads", n),
                     attr_float("scale", scale)};
    Tensor scores = l->n->nout > 3 ? output(l, 3) : (Tensor){0};
    lower_part(l, &(Part){.op = "Attention",
                          .in = {q, k, v, mask},
                          .out = {output(l, 0), {0}, {0}, scores},
                          .attrs = attrs,
                          .nattrs = scale != 0 ? 3 : 2});
}

// ---- Attention

typedef struct Sizes {
    Index heads, q, k, v; // heads, and widths of queries, keys and values in the product
} Sizes;

static bool sizes_of(Polys *p, const Node *n, Index width, Sizes *z)
{
    const int64_t *at;
    uint32_t len;
    int64_t heads = node_int(n, "num_heads", 0);
    if (heads < 1 || heads > INT32_MAX)
        return false;
    z->heads = poly_const(p, heads);
    if (!node_ints(n, "qkv_hidden_sizes", &at, &len) || len == 0) {
        z->q = z->k = z->v = poly_floordiv(p, width, poly_const(p, 3));
        return true;
    }
    for (uint32_t i = 0; i < len; i++)
        if (at[i] < 1 || at[i] > INT32_MAX || at[i] % heads)
            return false;
    if (len != 3 || at[0] != at[1])
        return false;
    z->q = poly_const(p, at[0]);
    z->k = poly_const(p, at[1]);
    z->v = poly_const(p, at[2]);
    return true;
}

static void infer_ms_attention(Infer *s)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, 1), *past = infer_in(s, 4);
    Polys *p = s->polys;
    Sizes z;
    if (!x || !w || x->rank != 3 || w->rank != 2)
        return;
    if (!sizes_of(p, s->n, w->dims[1], &z)) {
        infer_error(s, "num_heads or qkv_hidden_sizes do not fit");
        return;
    }
    Index width = poly_add(p, poly_add(p, z.q, z.k), z.v), batch = x->dims[0], length = x->dims[1];
    if (!infer_require(s, x->dims[2], w->dims[0]) || !infer_require(s, width, w->dims[1])) {
        infer_error(s, "the weights do not fit the input");
        return;
    }
    infer_fits(s, 2, 1, &width);
    Index h = poly_floordiv(p, z.k, z.heads), total = length;
    if (past && past->rank == 5) {
        total = poly_add(p, past->dims[3], length);
        infer_fits(s, 4, 5, (const Index[]){poly_const(p, 2), batch, z.heads, NULL, h});
    }
    infer_shape(s, 0, 3, (const Index[]){batch, length, z.v});
    infer_shape(s, 1, 5, (const Index[]){poly_const(p, 2), batch, z.heads, total, h});
    fit_mask(s, 3, batch, length, total);
    fit_bias(s, 5, batch, z.heads, length, total);
}

// present[0] are the keys, present[1] the values.
static void store_present(Lower *l, Tensor present, Tensor k, Tensor v)
{
    Index o[MAX_RANK] = {0}, at[5] = {0};
    for (uint32_t i = 0; present.buffer && i < 2; i++) {
        Tensor x = i ? v : k;
        kernel(l, "present");
        par_all(l, x, o);
        at[0] = ix(l, i);
        memcpy(at + 1, o, 4 * sizeof *at);
        store(l, present, at, load(l, x, o));
        kernel_end(l);
    }
}

static bool refuse_attribute(Lower *l, const char *name)
{
    bool set = node_int(l->n, name, 0) != 0;
    if (set)
        not_supported(l, "%.*s with %s", STR_ARG(l->n->op), name);
    return set;
}

static void lower_ms_attention(Lower *l)
{
    Tensor x = input(l, 0), w = input(l, 1), bias = input(l, 2), past = input(l, 4);
    Sizes z;
    if (!sizes_of(l->polys, l->n, w.dims[1], &z)) {
        not_supported(l, "Attention with these num_heads or qkv_hidden_sizes");
        return;
    }
    if (refuse_attribute(l, "do_rotary") || refuse_attribute(l, "past_present_share_buffer"))
        return;
    Index dims[3] = {x.dims[0], x.dims[1], w.dims[1]}, widths[3] = {z.q, z.k, z.v},
          zero_ = ix(l, 0);
    Tensor product = temp(l, "product", x.dtype, 3, dims);
    lower_part(l, &(Part){.op = "MatMul", .in = {x, w}, .out = {product}});
    HeadSource h[3];
    for (uint32_t i = 0; i < 3; i++) {
        Index offset = i == 0 ? zero_ : i == 1 ? z.q : ix_add(l, z.q, z.k);
        h[i] = (HeadSource){product, bias,  z.heads, x.dims[1], ix_div(l, widths[i], z.heads),
                            offset,  offset};
    }
    Tensor q = ms_queries(l, &h[0]), k = ms_joined(l, (Tensor){0}, past, 0, &h[1]),
           v = ms_joined(l, (Tensor){0}, past, 1, &h[2]);
    store_present(l, output(l, 1), k, v);
    Masking m = {.index = input(l, 3),
                 .bias = input(l, 5),
                 .batch = x.dims[0],
                 .length = x.dims[1],
                 .total = k.dims[2]};
    m.causal = node_int(l->n, "unidirectional", 0) != 0;
    m.past = past.buffer ? past.dims[3] : ix(l, 0);
    m.pairs = m.index.rank == 1 && has_pairs(l->polys, m.index.dims[0], m.batch);
    lower_core(l, q, k, v, lower_mask(l, &m, z.heads, x.dtype), z.heads);
}

// ---- MultiHeadAttention

// Queries, keys and values apart; keys and values in one tensor of rank 5; or all three in one.
typedef struct Shared {
    Index heads, batch, length, width, kv_length, value_width;
} Shared;

static bool shared_of(Polys *p, const Node *n, int32_t rq, const Index *q, int32_t rk,
                      const Index *k, const Index *v, Shared *out)
{
    int64_t heads = node_int(n, "num_heads", 0);
    if (heads < 1 || heads > INT32_MAX || (rq != 3 && rq != 5) || (rq == 3 && rk < 3))
        return false;
    out->heads = poly_const(p, heads);
    out->batch = q[0];
    out->length = q[1];
    out->width = rq == 3 ? q[2] : poly_mul(p, q[2], q[4]);
    out->kv_length = rq == 5 ? q[1] : rk == 4 ? k[2] : k[1];
    out->value_width = rq == 5 || rk == 5 ? out->width
                       : !v               ? NULL
                       : rk == 4          ? poly_mul(p, v[1], v[3])
                                          : v[2];
    return out->value_width != NULL;
}

static void infer_multi_head(Infer *s)
{
    const Value *q = infer_in(s, 0), *k = infer_in(s, 1), *v = infer_in(s, 2),
                *past = infer_in(s, 6);
    Polys *p = s->polys;
    Shared z;
    if (!q || q->rank < 0 || (k && k->rank < 0) || (v && v->rank < 0))
        return;
    if (k && v && k->rank != v->rank) {
        infer_error(s, "key and value have ranks %d and %d", k->rank, v->rank);
        return;
    }
    if (!shared_of(p, s->n, q->rank, q->dims, k ? k->rank : 0, k ? k->dims : NULL,
                   v ? v->dims : NULL, &z)) {
        infer_error(s, "num_heads, query, key and value do not fit each other");
        return;
    }
    Index h = poly_floordiv(p, z.width, z.heads), hv = poly_floordiv(p, z.value_width, z.heads);
    Index total = past && past->rank == 4 ? poly_add(p, past->dims[2], z.kv_length) : z.kv_length;
    Index biases = poly_add(p, poly_scale(p, z.width, 2), z.value_width);
    infer_shape(s, 0, 3, (const Index[]){z.batch, z.length, z.value_width});
    infer_shape(s, 1, 4, (const Index[]){z.batch, z.heads, total, h});
    infer_shape(s, 2, 4, (const Index[]){z.batch, z.heads, total, hv});
    infer_shape(s, 3, 4, (const Index[]){z.batch, z.heads, z.length, total});
    infer_dtype_of(s, 3, 0);
    infer_fits(s, 0, 5, (const Index[]){z.batch, z.length, z.heads, poly_const(p, 3), NULL});
    infer_fits(s, 1, 3, (const Index[]){z.batch, z.kv_length, z.width});
    infer_fits(s, 1, 4, (const Index[]){z.batch, z.heads, z.kv_length, h});
    infer_fits(s, 1, 5, (const Index[]){z.batch, z.kv_length, z.heads, poly_const(p, 2), h});
    infer_fits(s, 2, 3, (const Index[]){z.batch, z.kv_length, NULL});
    infer_fits(s, 2, 4, (const Index[]){z.batch, z.heads, z.kv_length, NULL});
    infer_fits(s, 3, 1, &biases);
    infer_fits(s, 6, 4, (const Index[]){z.batch, z.heads, NULL, h});
    infer_fits(
        s, 7, 4,
        (const Index[]){z.batch, z.heads, past && past->rank == 4 ? past->dims[2] : NULL, hv});
    fit_mask(s, 4, z.batch, z.length, total);
    fit_bias(s, 5, z.batch, z.heads, z.length, total);
}

static void lower_multi_head(Lower *l)
{
    Tensor q = input(l, 0), k = input(l, 1), v = input(l, 2), bias = input(l, 3);
    Shared z;
    if (!shared_of(l->polys, l->n, (int32_t)q.rank, q.dims, (int32_t)k.rank, k.dims,
                   v.buffer ? v.dims : NULL, &z) ||
        (has_input(l, 6) != has_input(l, 7))) {
        not_supported(l, "MultiHeadAttention with these query, key, value and past");
        return;
    }
    if (has_input(l, 8) || has_input(l, 9)) {
        not_supported(l, "MultiHeadAttention with %s",
                      has_input(l, 8) ? "past_sequence_length" : "cache_indirection");
        return;
    }
    Index none = ix(l, 0), h = ix_div(l, z.width, z.heads), hv = ix_div(l, z.value_width, z.heads);
    Tensor key = q.rank == 5 ? q : k, value = q.rank == 5 ? q : k.rank == 5 ? k : v;
    Tensor kv_bias = k.rank == 4 ? (Tensor){0} : bias; // keys and values by head had theirs before
    int64_t part = q.rank == 5 ? 1 : 0;
    HeadSource hq = {q, bias, z.heads, z.length, h, none, none},
               hk = {key,    kv_bias, z.heads, z.kv_length, h, ix(l, key.rank == 5 ? part : 0),
                     z.width},
               hd = {value,
                     kv_bias,
                     z.heads,
                     z.kv_length,
                     hv,
                     ix(l, value.rank == 5 ? part + 1 : 0),
                     ix_scale(l, z.width, 2)};
    Tensor queries = ms_queries(l, &hq), keys = ms_joined(l, output(l, 1), input(l, 6), 0, &hk),
           values = ms_joined(l, output(l, 2), input(l, 7), 1, &hd);
    Masking m = {.index = input(l, 4),
                 .bias = input(l, 5),
                 .batch = z.batch,
                 .length = z.length,
                 .total = keys.dims[2]};
    m.causal = node_int(l->n, "unidirectional", 0) != 0;
    m.past = has_input(l, 6) ? input(l, 6).dims[2] : ix(l, 0);
    lower_core(l, queries, keys, values, lower_mask(l, &m, z.heads, q.dtype), z.heads);
}

// ---- RotaryEmbedding

static void infer_ms_rotary(Infer *s)
{
    const Value *x = infer_in(s, 0), *ids = infer_in(s, 1), *c = infer_in(s, 2);
    Index one_ = poly_const(s->polys, 1);
    infer_same(s, 0, 0);
    if (!x || x->rank < 3 || !ids)
        return;
    infer_fits(s, 1, 1, &one_);
    infer_fits(s, 1, 2, (const Index[]){x->dims[0], x->dims[x->rank == 3 ? 1 : 2]});
    if (c && c->rank == 2)
        infer_fits(s, 3, 2, c->dims);
}

// Positions [batch, position]: as given, or counted from the only one that is.
static Tensor positions(Lower *l, Tensor ids, Index batch, Index length)
{
    Index dims[2] = {batch, length}, o[MAX_RANK] = {0};
    if (ids.rank == 2)
        return ids;
    Tensor y = temp(l, "positions", DT_I64, 2, dims);
    kernel(l, "positions");
    par_all(l, y, o);
    Index first[1] = {ix(l, 0)};
    store(l, y, o, add(l, cast(l, DT_I64, load(l, ids, first)), from_index(l, o[1], DT_I64)));
    kernel_end(l);
    return y;
}

static void lower_ms_rotary(Lower *l)
{
    Tensor x = input(l, 0), cosines = input(l, 2);
    Index width = x.rank == 3 ? x.dims[2] : NULL;
    int64_t heads = node_int(l->n, "num_heads", 0), d = 0, c = 0;
    if (refuse_attribute(l, "is_packed_batching"))
        return;
    if (heads == 0 && width && poly_is_const(width, &d) && poly_is_const(cosines.dims[1], &c) &&
        c > 0)
        heads = d / (2 * c); // heads are turned as a whole
    if (x.rank == 3 && heads < 1) {
        not_supported(l, "RotaryEmbedding without num_heads");
        return;
    }
    Tensor ids = positions(l, input(l, 1), x.dims[0], x.dims[x.rank == 3 ? 1 : 2]);
    Attr attrs[2] = {attr_int("num_heads", heads),
                     attr_int("interleaved", node_int(l->n, "interleaved", 0))};
    lower_part(l, &(Part){.op = "RotaryEmbedding",
                          .in = {x, cosines, input(l, 3), ids},
                          .out = {output(l, 0)},
                          .attrs = attrs,
                          .nattrs = 2});
}

const OpDef ops_ms_attention[] = {
    {"Attention", 1, infer_ms_attention, lower_ms_attention, {NULL}, MS},
    {"MultiHeadAttention", 1, infer_multi_head, lower_multi_head, {NULL}, MS},
    {"RotaryEmbedding", 1, infer_ms_rotary, lower_ms_rotary, {NULL}, MS},
    {0},
};
