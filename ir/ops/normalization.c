// Normalizations: all are (x - mean) / sqrt(variance + epsilon), over different dims, scaled and
// shifted.

#include "ir/ops/common.h"

#include <string.h>

typedef struct Moments {
    const Expr *mean, *variance;
} Moments;

// Mean and variance of x over the dims that are marked, at output o. Each sum has variables of its
// own.
static Moments moments(Lower *l, Tensor x, const Index *o, const bool *over, DType t)
{
    Index at[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, count = ix(l, 1);
    const Expr *sum = NULL, *mean = NULL;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        memcpy(at, o, sizeof at);
        for (uint32_t i = 0; i < x.rank; i++)
            if (over[i]) {
                at[i] = vars[n++] = red(l, x.dims[i]);
                if (pass == 0)
                    count = ix_mul(l, count, x.dims[i]);
            }
        const Expr *e = cast(l, t, load(l, x, at));
        const Expr *d = pass ? sub(l, e, mean) : e;
        sum =
            div_(l, reduce_add(l, n, vars, NULL, pass ? mul(l, d, d) : d), from_index(l, count, t));
        mean = pass ? mean : sum;
    }
    return (Moments){mean, sum};
}

static const Expr *epsilon(Lower *l, DType t)
{
    return attr_num(l, t, "epsilon", 1e-5);
}

static const Expr *at_channel(Lower *l, uint32_t i, Index c, DType t)
{
    Index at[1] = {c};
    if (input(l, i).rank != 1) {
        if (!l->failed)
            not_supported(l, "%.*s: input %u has rank %u, not 1",
                          STR_ARG(str_escaped(l->arena, l->n->op)), i, input(l, i).rank);
        return zero(l, t);
    }
    return cast(l, t, load(l, input(l, i), at));
}

// ---- BatchNormalization

// Operands first .. last hold one number a channel.
static void fit_channels(Infer *s, uint32_t first, uint32_t last)
{
    const Value *x = infer_in(s, 0);
    for (uint32_t i = first; x && x->rank > 1 && i <= last; i++)
        infer_fits(s, i, 1, &x->dims[1]);
}

// How a version says that it trains.
typedef enum BatchNormMode { TRAINS_BY_OUTPUTS, TRAINS_BY_ATTRIBUTE } BatchNormMode;

// Before opset 9 statistics may be one number a feature, of all dims but the first.
static bool is_spatial(const Node *n)
{
    return node_int(n, "spatial", 1) != 0;
}

static void infer_batch_norm(Infer *s)
{
    const Value *x = infer_in(s, 0);
    infer_same(s, 0, 0);
    if (is_spatial(s->n))
        fit_channels(s, 1, 4);
    else
        for (uint32_t i = 1; x && x->rank > 1 && i <= 4; i++)
            infer_fits(s, i, (uint32_t)x->rank - 1, &x->dims[1]);
    for (uint32_t o = 1; o < s->n->nout; o++)
        infer_same(s, o, o < 3 ? o + 2 : o);
}

// Operand i of a batch normalization where x is at o.
static const Expr *statistic(Lower *l, uint32_t i, Tensor x, const Index *o, DType t)
{
    if (is_spatial(l->n))
        return at_channel(l, i, x.rank > 1 ? o[1] : ix(l, 0), t);
    if (input(l, i).rank + 1 != x.rank) {
        not_supported(l, "BatchNormalization with spatial = 0: input %u has rank %u, not %u", i,
                      input(l, i).rank, x.rank - 1);
        return zero(l, t);
    }
    return cast(l, t, load(l, input(l, i), o + 1));
}

// Statistics of the batch, where x is at o.
static Moments batch_moments(Lower *l, Tensor x, const Index *o, DType t)
{
    bool over[MAX_RANK] = {false};
    for (uint32_t i = 0; i < x.rank; i++)
        over[i] = is_spatial(l->n) ? i != 1 : i == 0;
    return moments(l, x, o, over, t);
}

// Outputs 1 and 2 mix the statistics of the batch into the running ones, 3 and 4 (before opset 14)
// are those of the batch.
static void lower_batch_norm_training(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    kernel(l, "batch_norm_training");
    par_all(l, y, o);
    Moments m = batch_moments(l, x, o, t);
    const Expr *d = div_(l, sub(l, cast(l, t, load(l, x, o)), m.mean),
                         sqrt_(l, add(l, m.variance, epsilon(l, t))));
    const Expr *scale = statistic(l, 1, x, o, t), *bias = statistic(l, 2, x, o, t);
    store(l, y, o, cast(l, y.dtype, add(l, mul(l, d, scale), bias)));
    kernel_end(l);
    for (uint32_t i = 1; i < l->n->nout && i < 5; i++) {
        Tensor to = output(l, i);
        if (!to.buffer)
            continue;
        kernel(l, "running");
        par_all(l, to, at);
        memset(o, 0, sizeof o);
        memcpy(o + 1, at, (x.rank - 1) * sizeof *o);
        m = batch_moments(l, x, o, t);
        const Expr *keep = attr_num(l, t, "momentum", 0.9), *now = i % 2 ? m.mean : m.variance;
        if (i < 3)
            now = add(l, mul(l, statistic(l, 2 + i, x, o, t), keep),
                      mul(l, now, sub(l, one(l, t), keep)));
        store(l, to, at, cast(l, to.dtype, now));
        kernel_end(l);
    }
}

static void lower_batch_norm(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    bool more = false, by_outputs = l->n->def->fn.mode == TRAINS_BY_OUTPUTS;
    for (uint32_t i = 1; i < l->n->nout; i++)
        more = more || has_output(l, i);
    if ((by_outputs ? more : node_int(l->n, "training_mode", 0) != 0) && x.rank > 1) {
        lower_batch_norm_training(l);
        return;
    }
    if (more) {
        not_supported(l, "BatchNormalization with more than one output outside of training");
        return;
    }
    kernel(l, "batch_norm");
    par_all(l, y, o);
    const Expr *d = sub(l, cast(l, t, load(l, x, o)), statistic(l, 3, x, o, t));
    const Expr *s = sqrt_(l, add(l, statistic(l, 4, x, o, t), epsilon(l, t)));
    const Expr *scale = statistic(l, 1, x, o, t), *bias = statistic(l, 2, x, o, t);
    // The quotient is one for a whole channel: compilers take it out of the loop over elements.
    store(l, y, o, cast(l, y.dtype, add(l, mul(l, d, div_(l, scale, s)), bias)));
    kernel_end(l);
}

static void lower_instance_norm(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    bool over[MAX_RANK] = {false};
    DType t = accumulator(x.dtype);
    for (uint32_t i = 0; i < x.rank; i++)
        over[i] = i > 1;
    kernel(l, "instance_norm");
    par_all(l, y, o);
    Moments m = moments(l, x, o, over, t);
    const Expr *d = div_(l, sub(l, cast(l, t, load(l, x, o)), m.mean),
                         sqrt_(l, add(l, m.variance, epsilon(l, t))));
    store(
        l, y, o,
        cast(l, y.dtype, add(l, mul(l, at_channel(l, 1, o[1], t), d), at_channel(l, 2, o[1], t))));
    kernel_end(l);
}

// ---- LayerNormalization, RMSNormalization

// Input i broadcasts to the shape of input 0, which stays what it is.
static void fit_broadcast(Infer *s, uint32_t i)
{
    const Value *x = infer_in(s, 0), *v = infer_in(s, i);
    if (!v || v->rank > x->rank)
        return;
    for (int32_t k = 1; k <= v->rank; k++) {
        Index own = v->dims[v->rank - k], whole = x->dims[x->rank - k];
        if (poly_equals(whole, 1) && poly_is_const(own, NULL) && !poly_equals(own, 1))
            infer_error(s, "dimension %d of input %u does not fit", v->rank - k, i);
        else if (!poly_equals(own, 1))
            infer_broadcast_dim(s, whole, own);
    }
}

static void infer_layer_norm(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    infer_same(s, 0, 0);
    if (!x || x->rank < 1)
        return;
    fit_broadcast(s, 1);
    fit_broadcast(s, 2);
    int64_t axis = infer_axis(s, node_int(s->n, "axis", -1), x->rank);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i < axis ? x->dims[i] : poly_const(s->polys, 1);
    for (uint32_t o = 1; axis >= 0 && o < s->n->nout; o++) {
        infer_shape(s, o, (uint32_t)x->rank, dims);
        if (s->n->out[o] && value_at(s->model, s->n->out[o])->dtype == DT_NONE) // nothing binds U
            infer_dtype(s, o, node_dtype(s->n, "stash_type", DT_F32));
    }
}

static void infer_rms_norm(Infer *s)
{
    infer_same(s, 0, 0);
    if (infer_rank(s, 0) > 0)
        fit_broadcast(s, 1);
}

static void infer_instance_norm(Infer *s)
{
    infer_same(s, 0, 0);
    fit_channels(s, 1, 2);
}

// Before opset 21 scale and bias hold one number a group.
static void infer_group_norm(Infer *s)
{
    int64_t count = node_int(s->n, "num_groups", 0);
    Index groups = poly_const(s->polys, count);
    const Value *x = infer_in(s, 0);
    if (count < 1) {
        infer_error(s, "num_groups is %lld", (long long)count);
        return;
    }
    infer_same(s, 0, 0);
    if (x && x->rank >= 2) {
        Index whole = poly_mul(s->polys, poly_floordiv(s->polys, x->dims[1], groups), groups);
        if (!infer_require(s, x->dims[1], whole))
            infer_error(s, "the channels are no multiple of num_groups");
    }
    if (opset_of(s->model, s->n) >= 21)
        fit_channels(s, 1, 2);
    for (uint32_t i = 1; opset_of(s->model, s->n) < 21 && i < 3; i++)
        infer_fits(s, i, 1, &groups);
}

static void normalized_dims(Lower *l, Tensor x, bool *over)
{
    int64_t axis = node_int(l->n, "axis", -1);
    axis += axis < 0 ? x.rank : 0;
    for (uint32_t i = 0; i < x.rank; i++)
        over[i] = i >= axis;
}

// Outputs 1 and 2: the mean and the inverse deviation. Computed in stash_type, scaled in the
// input's. Spec: LayerNormalization-17.
static void lower_layer_norm(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    bool over[MAX_RANK] = {false};
    DType t = x.dtype == DT_F64 ? DT_F64 : DT_F32;
    normalized_dims(l, x, over);
    if (y.buffer) {
        kernel(l, "layer_norm");
        par_all(l, y, o);
        Moments m = moments(l, x, o, over, t);
        const Expr *d = div_(l, sub(l, cast(l, t, load(l, x, o)), m.mean),
                             sqrt_(l, add(l, m.variance, epsilon(l, t))));
        const Expr *e = mul(l, cast(l, y.dtype, d), load_broadcast(l, input(l, 1), x.rank, o));
        store(l, y, o, has_input(l, 2) ? add(l, e, load_broadcast(l, input(l, 2), x.rank, o)) : e);
        kernel_end(l);
    }
    for (uint32_t i = 1; i < 3; i++) {
        Tensor s = output(l, i);
        if (!s.buffer)
            continue;
        kernel(l, "statistics");
        par_all(l, s, o);
        Moments m = moments(l, x, o, over, t);
        const Expr *inverse = div_(l, one(l, t), sqrt_(l, add(l, m.variance, epsilon(l, t))));
        store(l, s, o, cast(l, s.dtype, i == 1 ? m.mean : inverse));
        kernel_end(l);
    }
}

// The inverse root of the mean of squares over the dims that are marked, at output o.
static const Expr *inverse_rms(Lower *l, Tensor x, const Index *o, const bool *over, DType t)
{
    Index at[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, count = ix(l, 1);
    uint32_t n = 0;
    memcpy(at, o, sizeof at);
    for (uint32_t i = 0; i < x.rank; i++)
        if (over[i]) {
            at[i] = vars[n++] = red(l, x.dims[i]);
            count = ix_mul(l, count, x.dims[i]);
        }
    const Expr *e = cast(l, t, load(l, x, at)),
               *mean = div_(l, reduce_add(l, n, vars, NULL, mul(l, e, e)), from_index(l, count, t));
    return div_(l, one(l, t), sqrt_(l, add(l, mean, epsilon(l, t))));
}

// x / sqrt(mean(x^2) + epsilon) * scale. Spec: RMSNormalization-23. SimplifiedLayerNormalization
// has the inverse of the root as output 1.
static void lower_rms_norm(Lower *l)
{
    Tensor x = input(l, 0), scale = input(l, 1), y = output(l, 0), inverse = output(l, 1);
    Index o[MAX_RANK] = {0};
    bool over[MAX_RANK] = {false};
    DType t = x.dtype == DT_F64 ? DT_F64 : DT_F32, st = scale.dtype;
    normalized_dims(l, x, over);
    kernel(l, "rms_norm");
    par_all(l, y, o);
    const Expr *d = mul(l, cast(l, t, load(l, x, o)), inverse_rms(l, x, o, over, t));
    store(l, y, o, cast(l, y.dtype, mul(l, cast(l, st, d), load_broadcast(l, scale, x.rank, o))));
    kernel_end(l);
    if (!inverse.buffer)
        return;
    kernel(l, "statistics");
    par_all(l, inverse, o);
    store(l, inverse, o, cast(l, inverse.dtype, inverse_rms(l, x, o, over, t)));
    kernel_end(l);
}

// ---- GroupNormalization

// Channels in groups; scale and bias a group (18) or a channel (21). Spec: GroupNormalization-21.
static void lower_group_norm(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    int64_t groups = node_int(l->n, "num_groups", 1);
    if (groups < 1) {
        not_supported(l, "num_groups %lld", (long long)groups);
        return;
    }
    DType t = accumulator(x.dtype);
    const bool whole = opset_of(l->model, l->n) >= 21; // a scale for each channel
    Index channels = whole ? ix_known(x.dims[1], input(l, 1).dims[0]) : x.dims[1];
    Index each = ix_div(l, channels, ix(l, groups)), count = each;
    kernel(l, "group_norm");
    par_all(l, y, o);
    Index g = ix_div(l, o[1], each);
    const Expr *mean = NULL, *variance = NULL;
    for (uint32_t i = 2; i < x.rank; i++)
        count = ix_mul(l, count, x.dims[i]);
    for (int pass = 0; pass < 2; pass++) {
        memcpy(at, o, sizeof at);
        vars[0] = red(l, each);
        at[1] = ix_add(l, ix_mul(l, g, each), vars[0]);
        for (uint32_t i = 2; i < x.rank; i++)
            at[i] = vars[i - 1] = red(l, x.dims[i]);
        const Expr *e = cast(l, t, load(l, x, at)), *d = pass ? sub(l, e, mean) : e;
        const Expr *m = div_(l, reduce_add(l, x.rank - 1, vars, NULL, pass ? mul(l, d, d) : d),
                             from_index(l, count, t));
        if (pass)
            variance = m;
        else
            mean = m;
    }
    Index p = whole ? o[1] : g;
    const Expr *d =
        div_(l, sub(l, cast(l, t, load(l, x, o)), mean), sqrt_(l, add(l, variance, epsilon(l, t))));
    store(l, y, o,
          cast(l, y.dtype, add(l, mul(l, d, at_channel(l, 1, p, t)), at_channel(l, 2, p, t))));
    kernel_end(l);
}

// ---- the rest

// x over its 1- or 2-norm along the axis; lines of zeros stay zero. Spec: LpNormalization-22.
static void lower_lp_norm(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    int64_t axis = node_int(l->n, "axis", -1), p = node_int(l->n, "p", 2);
    axis += axis < 0 ? x.rank : 0;
    DType t = accumulator(x.dtype);
    if (p != 1 && p != 2) {
        not_supported(l, "LpNormalization with p = %lld", (long long)p);
        return;
    }
    kernel(l, "lp_norm");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    Index v = at[axis] = red(l, x.dims[axis]);
    const Expr *e = cast(l, t, load(l, x, at));
    const Expr *norm = p == 1 ? reduce_add(l, 1, &v, NULL, abs_(l, e))
                              : sqrt_(l, reduce_add(l, 1, &v, NULL, mul(l, e, e)));
    const Expr *z = zero(l, t);
    store(
        l, y, o,
        cast(l, y.dtype, select_(l, eq(l, norm, z), z, div_(l, cast(l, t, load(l, x, o)), norm))));
    kernel_end(l);
}

static void lower_mean_variance(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    bool over[MAX_RANK] = {false};
    uint32_t axes[MAX_RANK] = {0, 2, 3}, n = 3; // the default, as far as x has such dims
    DType t = accumulator(x.dtype);
    if (node_has_attr(l->n, "axes") && !axes_of(l, UINT32_MAX, "axes", x.rank, axes, &n)) {
        not_supported(l, "MeanVarianceNormalization: an axis is out of range for rank %u", x.rank);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        over[axes[i]] = true;
    kernel(l, "mean_variance");
    par_all(l, y, o);
    Moments m = moments(l, x, o, over, t);
    const Expr *d = sub(l, cast(l, t, load(l, x, o)), m.mean);
    store(l, y, o, cast(l, y.dtype, div_(l, d, add(l, sqrt_(l, m.variance), num(l, t, 1e-9)))));
    kernel_end(l);
}

// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta. Spec: LRN-13.
static void lower_lrn(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    int64_t size = node_int(l->n, "size", 1);
    DType t = accumulator(x.dtype);
    if (size < 1 || size > INT32_MAX) {
        not_supported(l, "LRN with size %lld", (long long)size);
        return;
    }
    kernel(l, "lrn");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    Index v = red(l, ix(l, size));
    at[1] = ix_addc(l, ix_add(l, o[1], v), -((size - 1) / 2));
    const Expr *e = cast(l, t, load(l, x, at)),
               *sum = reduce_add(l, 1, &v, inside(l, at[1], x.dims[1]), mul(l, e, e));
    const Expr *scale = mul(l, num(l, t, node_float(l->n, "alpha", 0.0001) / (double)size), sum);
    const Expr *base = add(l, attr_num(l, t, "bias", 1), scale);
    store(l, y, o,
          cast(l, y.dtype,
               div_(l, cast(l, t, load(l, x, o)), pow_(l, base, attr_num(l, t, "beta", 0.75)))));
    kernel_end(l);
}

#define BATCH_NORM(how) infer_batch_norm, lower_batch_norm, {.mode = (how)}, NULL

const OpDef ops_normalization[] = {
    {"BatchNormalization", 1, BATCH_NORM(TRAINS_BY_OUTPUTS)},
    {"BatchNormalization", 14, BATCH_NORM(TRAINS_BY_ATTRIBUTE)},
    {"InstanceNormalization", 1, infer_instance_norm, lower_instance_norm, {NULL}, NULL},
    // ONNX Runtime has it since 1, and its optimizer writes it into models of any opset.
    {"LayerNormalization", 1, infer_layer_norm, lower_layer_norm, {NULL}, NULL},
    {"LayerNormalization", 17, infer_layer_norm, lower_layer_norm, {NULL}, NULL},
    {"RMSNormalization", 23, infer_rms_norm, lower_rms_norm, {NULL}, NULL},
    {"SimplifiedLayerNormalization", 1, infer_layer_norm, lower_rms_norm, {NULL}, NULL},
    {"GroupNormalization", 18, infer_group_norm, lower_group_norm, {NULL}, NULL},
    {"LpNormalization", 1, same_as_0, lower_lp_norm, {NULL}, NULL},
    {"MeanVarianceNormalization", 9, same_as_0, lower_mean_variance, {NULL}, NULL},
    {"LRN", 1, same_as_0, lower_lrn, {NULL}, NULL},
    {0},
};
