// GroupQueryAttention: heads of queries share heads of keys and values, which are kept in a cache
// whose rows are filled to different lengths.
//
// Row b holds seqlens_k[b] + 1 positions once the new ones are in: those of a first prompt (as many
// as total_sequence_length) from 0 on, others behind what the row had. A sink is a key of no
// content behind all others, whose score is given. Heads are turned and scores computed in float32
// where operands have 16 bits.

#include "ir/ops/ms_attention.h"

typedef struct Group {
    Index batch, length, channels, heads, kv_heads; // dims
    Index past, total;                              // positions of the cache, before and after
    Index seen;                                     // those of them that may be filled
    bool packed;                                    // keys and values stand behind the queries
} Group;

static bool group_of(Polys *p, const Node *n, const Index *q, const Value *key, Group *g)
{
    int64_t heads = node_int(n, "num_heads", 0), kv = node_int(n, "kv_num_heads", 0);
    if (heads < 1 || kv < 1 || heads > INT32_MAX || kv > INT32_MAX || heads % kv)
        return false;
    g->packed = !key;
    g->batch = q[0];
    g->length = q[1];
    g->heads = poly_const(p, heads);
    g->kv_heads = poly_const(p, kv);
    g->channels = poly_floordiv(p, q[2], poly_const(p, g->packed ? heads + 2 * kv : heads));
    return true;
}

static void infer_group_query(Infer *s)
{
    const Value *q = infer_in(s, 0), *key = infer_in(s, 1), *past = infer_in(s, 3);
    Polys *p = s->polys;
    Group g;
    uint32_t len;
    if (!q || q->rank != 3)
        return;
    if (!group_of(p, s->n, q->dims, key, &g)) {
        infer_error(s, "num_heads and kv_num_heads do not fit");
        return;
    }
    Index width = poly_mul(p, g.kv_heads, g.channels), one_ = poly_const(p, 1);
    Index heads = g.packed ? poly_add(p, g.heads, poly_scale(p, g.kv_heads, 2)) : g.heads;
    if (!infer_require(s, q->dims[2], poly_mul(p, heads, g.channels)))
        infer_error(s, "the width of query is no multiple of the heads");
    const Index *content = infer_content(s, 6, &len);
    g.past = past && past->rank == 4 ? past->dims[2] : poly_const(p, 0);
    g.total = content && len == 1 ? poly_max(p, g.past, content[0])
                                  : infer_data_dim(s, 1, 0, "total_sequence_length");
    Index cache[4] = {g.batch, g.kv_heads, g.total, g.channels},
          before[4] = {g.batch, g.kv_heads, g.past, g.channels};
    infer_shape(s, 0, 3, (const Index[]){g.batch, g.length, poly_mul(p, g.heads, g.channels)});
    for (uint32_t i = 1; i < 3; i++) {
        infer_shape(s, i, 4, cache);
        if (!infer_in(s, i + 2))
            infer_dtype_of(s, i, 0);
        infer_fits(s, i, 3, (const Index[]){g.batch, g.length, width});
        infer_fits(s, i + 2, 4, before);
    }
    infer_fits(s, 5, 1, &g.batch);
    infer_fits(s, 6, 1, &one_);
    infer_fits(s, 9, 2, (const Index[]){g.batch, g.length});
    infer_fits(s, 11, 1, &g.heads);
}

// How many positions row b had before: 0 for a first prompt. No arm holds the load, so that loops
// over channels find it before they begin.
static const Expr *past_of(Lower *l, const Group *g, Index b)
{
    const Expr *len = cast(l, DT_I64, load(l, input(l, 5), &b)), *one_ = one(l, DT_I64);
    const Expr *before = sub(l, add(l, len, one_), expr_index(l->module, g->length));
    const Expr *first = index_eq(l, g->length, g->seen);
    return mul(l, before, select_(l, first, zero(l, DT_I64), one_));
}

// Each row's new positions must have their places in the cache.
static void check_lengths(Lower *l, const Group *g)
{
    Index b = red(l, g->batch);
    const Expr *past = past_of(l, g, b), *end = add(l, past, expr_index(l->module, g->length));
    const Expr *fits =
        and_(l, le(l, zero(l, DT_I64), past), le(l, end, expr_index(l->module, g->seen)));
    check(l, reduce(l, R_AND, 1, &b, NULL, fits), "GroupQueryAttention: seqlens_k is out of range");
}

typedef struct Turns {
    Tensor cosines, sines, ids; // ids: which row of them is whose
} Turns;

static Tensor turned(Lower *l, Tensor x, Index heads, const Turns *by)
{
    Tensor y = ms_like(l, "turned", x.dtype, x);
    int64_t n = 0;
    poly_is_const(heads, &n);
    Attr attrs[2] = {attr_int("num_heads", n),
                     attr_int("interleaved", node_int(l->n, "rotary_interleaved", 0))};
    lower_part(l, &(Part){.op = "RotaryEmbedding",
                          .in = {x, by->cosines, by->sines, by->ids},
                          .out = {y},
                          .attrs = attrs,
                          .nattrs = 2});
    return y;
}

// The place of each new position in its row, for the rotation.
static Tensor places(Lower *l, const Group *g)
{
    Index dims[2] = {g->batch, g->length}, o[MAX_RANK] = {0};
    Tensor y = temp(l, "places", DT_I64, 2, dims);
    kernel(l, "places");
    par_all(l, y, o);
    const Expr *e = has_input(l, 9) ? cast(l, DT_I64, load(l, input(l, 9), o))
                                    : add(l, past_of(l, g, o[0]), expr_index(l->module, o[1]));
    store(l, y, o, e);
    kernel_end(l);
    return y;
}

// Rows whose positions stand behind one another, new ones from 0 on; 0 behind those that are.
static void fill_anew(Lower *l, const Group *g, Tensor y, Tensor fresh)
{
    Index o[MAX_RANK] = {0}, last = ix_addc(l, g->length, -1);
    const DType t = input(l, 0).dtype;
    kernel(l, "cache");
    par_all(l, y, o);
    const Expr *past = past_of(l, g, o[0]), *j = expr_index(l->module, o[2]);
    const Expr *end = add(l, past, expr_index(l->module, g->length));
    Index i = to_index(l, sub(l, j, past));
    Index at[3] = {o[0], ix_max(l, ix(l, 0), ix_min(l, i, last)),
                   ix_add(l, ix_mul(l, o[1], g->channels), o[3])};
    store(l, y, o, select_(l, lt(l, j, end), cast(l, t, load(l, fresh, at)), zero(l, t)));
    kernel_end(l);
}

// A cache as it was, 0 behind what its rows held, then the new positions: where it lies in the
// memory of the one before, that is left as it is and nothing else written (share_outputs).
static void fill_behind(Lower *l, const Group *g, Tensor y, Tensor fresh, Tensor cache)
{
    Index o[MAX_RANK] = {0};
    const DType t = input(l, 0).dtype;
    kernel(l, "cache");
    kernel_rest(l);
    par_all(l, cache, o);
    const Expr *had = lt(l, expr_index(l->module, o[2]), past_of(l, g, o[0]));
    store(l, y, o, select_(l, had, load(l, cache, o), zero(l, t)));
    kernel_end(l);
    Index more[4] = {g->batch, g->kv_heads, ix_sub(l, g->total, g->past), g->channels};
    kernel(l, "longer");
    for (uint32_t i = 0; i < 4; i++)
        o[i] = par(l, more[i]);
    o[2] = ix_add(l, g->past, o[2]);
    store(l, y, o, zero(l, t));
    kernel_end(l);
    kernel(l, "new");
    o[0] = par(l, g->batch);
    o[1] = par(l, g->kv_heads);
    Index i = par(l, g->length);
    o[3] = par(l, g->channels);
    o[2] = to_index(l, add(l, past_of(l, g, o[0]), expr_index(l->module, i)));
    Index at[3] = {o[0], i, ix_add(l, ix_mul(l, o[1], g->channels), o[3])};
    store(l, y, o, cast(l, t, load(l, fresh, at)));
    kernel_end(l);
}

static Tensor filled(Lower *l, const Group *g, Tensor y, Tensor fresh, Tensor cache)
{
    Index dims[4] = {g->batch, g->kv_heads, g->total, g->channels};
    if (!y.buffer)
        y = temp(l, "cache", input(l, 0).dtype, 4, dims);
    if (cache.buffer)
        fill_behind(l, g, y, fresh, cache);
    else
        fill_anew(l, g, y, fresh);
    return y;
}

// The positions of the cache that may be filled, and one of zeros behind them if there is a sink.
static Tensor seen_of(Lower *l, const Group *g, Tensor x, bool sink)
{
    Index dims[4] = {g->batch, g->kv_heads, ix_addc(l, g->seen, sink), g->channels},
          o[MAX_RANK] = {0};
    if (dims[2] == x.dims[2])
        return x;
    Tensor y = temp(l, "seen", x.dtype, 4, dims);
    kernel(l, "seen");
    par_all(l, y, o);
    Index at[4] = {o[0], o[1], sink ? ix_min(l, o[2], ix_addc(l, g->seen, -1)) : o[2], o[3]};
    const Expr *e = load(l, x, at);
    store(l, y, o, sink ? select_(l, index_lt(l, o[2], g->seen), e, zero(l, x.dtype)) : e);
    kernel_end(l);
    return y;
}

// May position o[2] of the new ones see position o[3]?
static const Expr *allowed(Lower *l, const Group *g, const Index *o)
{
    int64_t window = node_int(l->n, "local_window_size", -1);
    const Expr *j = expr_index(l->module, o[3]), *past = past_of(l, g, o[0]);
    const Expr *own = add(l, past, expr_index(l->module, o[2])),
               *end = add(l, past, expr_index(l->module, g->length));
    const Expr *e = node_int(l->n, "causal", 1) ? le(l, j, own) : lt(l, j, end);
    if (window > 0)
        e = and_(l, e, lt(l, sub(l, own, int_(l, DT_I64, window)), j));
    return e;
}

static Tensor lower_group_mask(Lower *l, const Group *g, DType t, bool sink)
{
    Tensor bias = input(l, 10), sinks = input(l, 11);
    bool by_head = sinks.buffer || (bias.buffer && !poly_equals(bias.dims[1], 1));
    Index dims[4] = {g->batch, by_head ? g->heads : ix(l, 1), g->length,
                     sink ? ix_addc(l, g->seen, 1) : g->seen};
    Index o[MAX_RANK] = {0};
    Tensor y = temp(l, "mask", t, 4, dims);
    kernel(l, "mask");
    par_all(l, y, o);
    const Expr *e = zero(l, t);
    if (bias.buffer) {
        Index at[4] = {o[0], o[1], o[2], o[3]};
        for (uint32_t i = 0; i < 4; i++)
            at[i] = ix_min(l, at[i], ix_addc(l, bias.dims[i], -1));
        e = cast(l, t, load(l, bias, at));
    }
    e = select_(l, allowed(l, g, o), e, num(l, t, -3.4028234e38));
    if (sink)
        e = select_(l, index_lt(l, o[3], g->seen), e,
                    sinks.buffer ? cast(l, t, load(l, sinks, &o[1])) : zero(l, t));
    store(l, y, o, e);
    kernel_end(l);
    return y;
}

// The attributes and operands that are not lowered; true if one is used.
static bool refused(Lower *l)
{
    static const struct {
        uint32_t input;
        const char *name;
    } inputs[] = {{12, "k_scale"}, {13, "v_scale"}, {14, "q_norm_weight"}, {15, "k_norm_weight"}};
    const char *what = NULL;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        what = has_input(l, inputs[i].input) ? inputs[i].name : what;
    if (!str_is(node_str(l->n, "k_quant_type", "NONE"), "NONE"))
        what = "k_quant_type";
    if (!str_is(node_str(l->n, "v_quant_type", "NONE"), "NONE"))
        what = "v_quant_type";
    if (node_int(l->n, "sliding_window_cache", 0))
        what = "sliding_window_cache";
    if (has_output(l, 3))
        what = "output output_qk";
    if (node_int(l->n, "do_rotary", 0) && (!has_input(l, 7) || !has_input(l, 8)))
        what = "do_rotary but no cos_cache and sin_cache";
    if (has_input(l, 1) != has_input(l, 2) || has_input(l, 3) != has_input(l, 4))
        what = "one of keys and values alone";
    if (what)
        not_supported(l, "GroupQueryAttention with %s", what);
    return what != NULL;
}

static bool total_of(Lower *l, Group *g)
{
    Tensor past = input(l, 3), present = output(l, 1).buffer ? output(l, 1) : output(l, 2);
    g->past = past.buffer ? past.dims[2] : ix(l, 0);
    g->seen = input_element(l, 6, 0);
    if (poly_varies(g->seen)) {
        Index given = g->seen;
        g->seen = poly_dim(l->polys, dim_new(l->polys, STR("seen"), 0));
        define_dim(l, g->seen, given);
    }
    g->total = ix_max(l, g->past, g->seen);
    if (!present.buffer && !poly_is_const(g->total, NULL)) {
        not_supported(l,
                      "GroupQueryAttention without output present_key and total_sequence_length");
        return false;
    }
    if (present.buffer) {
        define_dim(l, present.dims[2], g->total);
        g->total = present.dims[2];
    }
    return true;
}

static void lower_group_core(Lower *l, const Group *g, Tensor q, Tensor k, Tensor v, Tensor mask)
{
    Tensor y = output(l, 0), wide = q.dtype == y.dtype ? y : ms_like(l, "attention", q.dtype, y);
    int64_t heads = 0, kv = 0;
    double scale = node_float(l->n, "scale", 0);
    poly_is_const(g->heads, &heads);
    poly_is_const(g->kv_heads, &kv);
    Attr attrs[4] = {attr_int("q_num_heads", heads), attr_int("kv_num_heads", kv),
                     attr_float("softcap", node_float(l->n, "softcap", 0)),
                     attr_float("scale", scale)};
    lower_part(l, &(Part){.op = "Attention",
                          .in = {q, k, v, mask},
                          .out = {wide},
                          .attrs = attrs,
                          .nattrs = scale != 0 ? 4 : 3});
    if (wide.buffer != y.buffer)
        ms_cast_to(l, y, wide);
}

static void lower_group_query(Lower *l)
{
    Tensor query = input(l, 0), x[3] = {query, input(l, 1), input(l, 2)}, none = {0};
    const Value *key = has_input(l, 1) ? value_at(l->model, l->n->in[1]) : NULL;
    const DType t = accumulator(query.dtype);
    Group g;
    if (!group_of(l->polys, l->n, query.dims, key, &g)) {
        not_supported(l, "GroupQueryAttention with these num_heads and kv_num_heads");
        return;
    }
    if (refused(l) || !total_of(l, &g))
        return;
    check_lengths(l, &g);
    Index offset = ix(l, 0);
    for (uint32_t i = 0; i < 3; i++) {
        Index heads = i == 0 ? g.heads : g.kv_heads;
        HeadSource h = {g.packed ? query : x[i], none, heads, g.length, g.channels, offset, offset};
        if (g.packed)
            offset = ix_add(l, offset, ix_mul(l, heads, g.channels));
        x[i] = ms_cast(l, ms_queries(l, &h), i < 2 ? t : query.dtype);
    }
    if (node_int(l->n, "do_rotary", 0)) {
        const Turns by = {ms_cast(l, input(l, 7), t), ms_cast(l, input(l, 8), t), places(l, &g)};
        x[0] = turned(l, x[0], g.heads, &by);
        x[1] = turned(l, x[1], g.kv_heads, &by);
    }
    bool sink = has_input(l, 11) || node_int(l->n, "smooth_softmax", -1) == 1;
    Tensor k = filled(l, &g, output(l, 1), x[1], input(l, 3)),
           v = filled(l, &g, output(l, 2), x[2], input(l, 4));
    Tensor mask = lower_group_mask(l, &g, t, sink);
    k = ms_cast(l, seen_of(l, &g, k, sink), t);
    v = ms_cast(l, seen_of(l, &g, v, sink), t);
    lower_group_core(l, &g, x[0], k, v, mask);
}

const OpDef ops_ms_gqa[] = {
    {"GroupQueryAttention", 1, infer_group_query, lower_group_query, {NULL}, MS},
    {0},
};
