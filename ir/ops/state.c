// Operators that hand a state from one call to the next: LinearAttention, CausalConvWithState.

#include "ir/ops/common.h"

#include <math.h>

static bool one_of(Str s, const char *const *names)
{
    for (; *names; names++)
        if (str_is(s, *names))
            return true;
    return false;
}

// ---- LinearAttention

// A head's state S is a matrix [d_k, d_v]. Each token, with decay a = exp(g) and rate b (1
// without):
//     S' = a S + k (b (v - (a S)' k))'     (v alone where the rule has no correction)
//     o  = scale S'' q                     for every query head that shares the state
// Columns of S know nothing of each other. The chunk-parallel forms compute the same numbers, so
// chunk_size has no meaning here. Spec: LinearAttention-27.
typedef struct Linear {
    Tensor q, k, v, past, decay, beta;
    Tensor factors, state; // exp(decay); [b, h, m, d], so that a column lies together
    Index batch, tokens, heads, group, dk, dv; // heads: of keys and values
    bool gated, corrected;
} Linear;

static bool linear_of(Polys *p, const Node *n, const Index *q, const Index *v, Linear *a)
{
    static const char *const gated[] = {"gated", "gated_delta", NULL}, *const corrected[] = {
                                                                           "delta", "gated_delta",
                                                                           NULL};
    int64_t hq = node_int(n, "q_num_heads", 0), hkv = node_int(n, "kv_num_heads", 0);
    Str rule = node_str(n, "update_rule", "gated_delta");
    if (hq < 1 || hkv < 1 || hq % hkv)
        return false;
    a->gated = one_of(rule, gated);
    a->corrected = one_of(rule, corrected);
    a->batch = q[0];
    a->tokens = q[1];
    a->heads = poly_const(p, hkv);
    a->group = poly_const(p, hq / hkv);
    a->dk = poly_floordiv(p, q[2], poly_const(p, hq));
    a->dv = poly_floordiv(p, v[2], a->heads);
    return true;
}

static void infer_linear(Infer *s)
{
    const Value *q = infer_in(s, 0), *v = infer_in(s, 2), *past = infer_in(s, 3);
    Polys *p = s->polys;
    Linear a;
    infer_dtype_of(s, 1, past && past->dtype != DT_NONE ? 3 : 0);
    if (!q || !v || q->rank != 3 || v->rank != 3)
        return;
    if (!linear_of(p, s->n, q->dims, v->dims, &a)) {
        infer_error(s, "q_num_heads is no positive multiple of kv_num_heads");
        return;
    }
    Index heads = poly_mul(p, a.heads, a.group);
    infer_fits(s, 0, 3, (Index[]){NULL, NULL, poly_mul(p, heads, a.dk)});
    infer_fits(s, 1, 3, (Index[]){a.batch, a.tokens, poly_mul(p, a.heads, a.dk)});
    infer_fits(s, 2, 3, (Index[]){a.batch, a.tokens, poly_mul(p, a.heads, a.dv)});
    infer_fits(s, 3, 4, (Index[]){a.batch, a.heads, a.dk, a.dv});
    infer_fits(s, 4, 3, (Index[]){a.batch, a.tokens, NULL});
    infer_fits(s, 5, 3, (Index[]){a.batch, a.tokens, NULL});
    infer_shape(s, 0, 3, (Index[]){a.batch, a.tokens, poly_mul(p, heads, a.dv)});
    infer_shape(s, 1, 4, (Index[]){a.batch, a.heads, a.dk, a.dv});
}

// exp(decay), with one element for each head or for each row of its state.
static Tensor decay_factors(Lower *l, const Linear *a)
{
    Index o[MAX_RANK] = {0};
    Tensor t = temp(l, "decay_factor", DT_F32, 3, a->decay.dims);
    kernel(l, "decay_factor");
    par_all(l, t, o);
    store(l, t, o, exp_(l, cast(l, DT_F32, load(l, a->decay, o))));
    kernel_end(l);
    return t;
}

// Element d of a column of the state, decayed at token t.
static const Expr *decayed(Lower *l, const Linear *a, Index t, const Index *column, Index d)
{
    Index at[4] = {column[0], column[1], column[2], d};
    const Expr *e = load(l, a->state, at);
    if (!a->gated)
        return e;
    Index width = ix_div(l, a->factors.dims[2], a->heads), row = ix_mul(l, column[1], width);
    Index from[3] = {column[0], t, ix_add(l, row, ix_min(l, d, ix_addc(l, width, -1)))};
    return mul(l, e, load(l, a->factors, from));
}

// x[b, t, h * width + c], in float32.
static const Expr *packed(Lower *l, Tensor x, Index b, Index t, Index h, Index width, Index c)
{
    Index at[3] = {b, t, ix_add(l, ix_mul(l, h, width), c)};
    return cast(l, DT_F32, load(l, x, at));
}

// One column (b, h, m) of the state through time.
static void run_column(Lower *l, const Linear *a, const Index *column)
{
    Tensor y = output(l, 0);
    Index b = column[0], h = column[1], m = column[2], t = seq(l, a->tokens), d = red(l, a->dk);
    const Expr *scale = attr_num(l, DT_F32, "scale", 0);
    if (scale->value.f == 0)
        scale = div_(l, one(l, DT_F32), sqrt_(l, from_index(l, a->dk, DT_F32)));
    const Expr *v = packed(l, a->v, b, t, h, a->dv, m);
    if (a->corrected) {
        Index rate[3] = {b, t, ix_min(l, h, ix_addc(l, a->beta.dims[2], -1))};
        const Expr *k = packed(l, a->k, b, t, h, a->dk, d);
        const Expr *known = reduce_add(l, 1, &d, NULL, mul(l, decayed(l, a, t, column, d), k));
        v = mul(l, cast(l, DT_F32, load(l, a->beta, rate)), sub(l, v, known));
    }
    v = let(l, v);
    d = seq(l, a->dk);
    Index at[4] = {b, h, m, d};
    const Expr *k = packed(l, a->k, b, t, h, a->dk, d);
    store(l, a->state, at, add(l, decayed(l, a, t, column, d), mul(l, k, v)));
    end(l);
    Index g = seq(l, a->group), head = ix_add(l, ix_mul(l, h, a->group), g);
    d = at[3] = red(l, a->dk);
    const Expr *q = packed(l, a->q, b, t, head, a->dk, d);
    const Expr *o = reduce_add(l, 1, &d, NULL, mul(l, q, load(l, a->state, at)));
    Index to[3] = {b, t, ix_add(l, ix_mul(l, head, a->dv), m)};
    store(l, y, to, cast(l, y.dtype, mul(l, scale, o)));
    end(l);
    end(l);
}

static bool linear_operands(Lower *l, Linear *a)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta", NULL};
    Str rule = node_str(l->n, "update_rule", "gated_delta"), said = str_escaped(l->arena, rule);
    a->q = input(l, 0), a->k = input(l, 1), a->v = input(l, 2), a->past = input(l, 3);
    a->decay = input(l, 4), a->beta = input(l, 5);
    if (!one_of(rule, rules))
        not_supported(l, "LinearAttention with update_rule \"%.*s\"", STR_ARG(said));
    else if (a->q.rank != 3 || a->k.rank != 3 || a->v.rank != 3 ||
             (a->past.buffer && a->past.rank != 4) || (a->decay.buffer && a->decay.rank != 3) ||
             (a->beta.buffer && a->beta.rank != 3))
        not_supported(l, "LinearAttention with operands of other ranks than 3 and a state of 4");
    else if (!linear_of(l->polys, l->n, a->q.dims, a->v.dims, a))
        not_supported(l, "LinearAttention whose q_num_heads is no multiple of kv_num_heads");
    else if (a->gated != (a->decay.buffer != 0) || a->corrected != (a->beta.buffer != 0))
        not_supported(l, "LinearAttention with update_rule \"%.*s\" %s", STR_ARG(said),
                      a->gated != (a->decay.buffer != 0)
                          ? (a->gated ? "without decay" : "and a decay")
                          : (a->corrected ? "without beta" : "and a beta"));
    else
        return true;
    return false;
}

static void lower_linear(Lower *l)
{
    Tensor present = output(l, 1);
    Linear a = {0};
    if (!linear_operands(l, &a))
        return;
    if (a.gated) {
        Index wide = a.decay.dims[2];
        check(l, or_(l, index_eq(l, wide, a.heads), index_eq(l, wide, ix_mul(l, a.heads, a.dk))),
              "LinearAttention: decay has neither one element a head nor one a key channel");
        a.factors = decay_factors(l, &a);
    }
    if (a.corrected)
        check(l,
              or_(l, index_eq(l, a.beta.dims[2], a.heads), index_eq(l, a.beta.dims[2], ix(l, 1))),
              "LinearAttention: beta has neither one element a head nor one in all");
    Index dims[4] = {a.batch, a.heads, a.dv, a.dk};
    a.state = temp(l, "state", DT_F32, 4, dims);
    kernel(l, "linear_attention");
    Index b = par(l, a.batch), h = par(l, a.heads), m = par(l, a.dv), d = seq(l, a.dk);
    Index at[4] = {b, h, m, d}, outer[4] = {b, h, d, m};
    store(l, a.state, at,
          a.past.buffer ? cast(l, DT_F32, load(l, a.past, outer)) : zero(l, DT_F32));
    end(l);
    run_column(l, &a, (Index[]){b, h, m});
    kernel_end(l);
    if (!present.buffer)
        return;
    Index o[MAX_RANK] = {0};
    kernel(l, "present_state");
    par_all(l, present, o);
    store(l, present, o,
          cast(l, present.dtype, load(l, a.state, (Index[]){o[0], o[1], o[3], o[2]})));
    kernel_end(l);
}

// ---- CausalConvWithState

static void infer_causal_conv(Infer *s)
{
    const Value *x = infer_in(s, 0), *w = infer_in(s, 1);
    if (!x || x->rank != 3)
        return;
    infer_same(s, 0, 0);
    if (!w || w->rank != 3)
        return;
    Index before = poly_add_const(s->polys, w->dims[2], -1),
          state[3] = {x->dims[0], x->dims[1], before};
    infer_fits(s, 1, 3, (Index[]){x->dims[1], poly_const(s->polys, 1), NULL});
    infer_fits(s, 2, 1, &x->dims[1]);
    infer_fits(s, 3, 3, state);
    infer_shape(s, 1, 3, state);
}

// Element p of x with the state in front of it: p < 0 is the state's, or zero without one.
static const Expr *with_state(Lower *l, Tensor x, Tensor past, Index n, Index c, Index p,
                              Index before)
{
    const Expr *e = load(l, x, (Index[]){n, c, p});
    if (poly_nonnegative(l->polys, p))
        return e;
    const Expr *old =
        past.buffer ? load(l, past, (Index[]){n, c, ix_add(l, p, before)}) : zero(l, x.dtype);
    return select_(l, index_lt(l, p, ix(l, 0)), old, e);
}

// y[n,c,i] = f(b[c] + sum over r of xs[n,c,i+r-(k-1)] w[c,0,r]) with the state before x; the new
// state is the last k-1 elements. Spec: CausalConvWithState-27.
static void lower_causal_conv(Lower *l)
{
    static const char *const swish[] = {"silu", "swish", NULL};
    Tensor x = input(l, 0), w = input(l, 1), bias = input(l, 2), past = input(l, 3);
    Tensor y = output(l, 0), present = output(l, 1);
    Str activation = node_str(l->n, "activation", "none");
    Index o[MAX_RANK] = {0};
    if (!one_of(activation, swish) && !str_is(activation, "none")) {
        not_supported(l, "CausalConvWithState with activation \"%.*s\"",
                      STR_ARG(str_escaped(l->arena, activation)));
        return;
    }
    DType t = accumulator(x.dtype);
    Index before = ix_addc(l, w.dims[2], -1);
    check(l, index_le(l, ix(l, 1), w.dims[2]), "CausalConvWithState: the kernel is empty");
    kernel(l, "causal_conv");
    par_all(l, y, o);
    Index r = red(l, w.dims[2]), p = ix_sub(l, ix_add(l, o[2], r), before);
    const Expr *e = reduce_add(l, 1, &r, NULL,
                               mul(l, cast(l, t, with_state(l, x, past, o[0], o[1], p, before)),
                                   cast(l, t, load(l, w, (Index[]){o[1], ix(l, 0), r}))));
    if (bias.buffer)
        e = add(l, e, cast(l, t, load(l, bias, &o[1])));
    e = cast(l, x.dtype, e);
    if (one_of(activation, swish)) {
        e = cast(l, t, e);
        e = mul(l, e, sigmoid(l, e));
    }
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
    if (!present.buffer)
        return;
    kernel(l, "present_state");
    par_all(l, present, o);
    p = ix_sub(l, ix_add(l, o[2], x.dims[2]), before);
    store(l, present, o, with_state(l, x, past, o[0], o[1], p, before));
    kernel_end(l);
}

const OpDef ops_state[] = {
    {"LinearAttention", 27, infer_linear, lower_linear, {NULL}, NULL},
    {"CausalConvWithState", 27, infer_causal_conv, lower_causal_conv, {NULL}, NULL},
    {0},
};
