// com.microsoft: normalizations with the sums before them.

#include "ir/ops/microsoft.h"

// ---- SkipLayerNormalization, SkipSimplifiedLayerNormalization

// How an operator of this file is called decides which normalization it is, and what it takes.
typedef enum NormKind { NORM_LAYER, NORM_SIMPLIFIED } NormKind;

// Outputs 1 and 2: one number for each position. Output 3: the sum.
static void infer_skip_norm(Infer *s)
{
    const Value *x = infer_in(s, 0), *skip = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    infer_same(s, 0, 0);
    infer_same(s, 3, 0);
    if (!x || x->rank < 1)
        return;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i + 1 < x->rank ? x->dims[i] : poly_const(s->polys, 1);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
    infer_shape(s, 2, (uint32_t)x->rank, dims);
    for (uint32_t i = 2; i < 5; i++)
        infer_fits(s, i, 1, &x->dims[x->rank - 1]);
    for (int32_t k = 1; skip && skip->rank <= x->rank && k <= skip->rank; k++)
        if (k > 2 && poly_equals(skip->dims[skip->rank - k], 1))
            continue; // one skip for the whole batch
        else if (!infer_require(s, x->dims[x->rank - k], skip->dims[skip->rank - k]))
            infer_error(s, "skip does not fit the input");
}

static void normalize(Lower *l, Tensor y, Tensor sum, Tensor gamma, Tensor beta, NormKind kind)
{
    Attr attrs[2] = {attr_int("axis", -1), attr_float("epsilon", node_float(l->n, "epsilon", 0))};
    Tensor mean = output(l, 1), inverse = output(l, 2);
    Part p = {.op = "LayerNormalization",
              .in = {sum, gamma, beta},
              .out = {y, mean, inverse},
              .attrs = attrs,
              .nattrs = 2};
    if (kind == NORM_SIMPLIFIED)
        p = (Part){.op = "SimplifiedLayerNormalization",
                   .in = {sum, gamma},
                   .out = {y, inverse},
                   .attrs = attrs,
                   .nattrs = 2};
    lower_part(l, &p);
}

// normalize(input + skip + bias) * gamma + beta.
static void lower_skip_norm(Lower *l)
{
    NormKind kind = (NormKind)l->n->def->fn.mode;
    Tensor x = input(l, 0), skip = input(l, 1), y = output(l, 0), sum = output(l, 3);
    Tensor beta = kind == NORM_LAYER ? input(l, 3) : (Tensor){0},
           bias = input(l, kind == NORM_LAYER ? 4 : 3);
    Index o[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    if (kind == NORM_SIMPLIFIED && has_output(l, 1)) {
        not_supported(l, "SkipSimplifiedLayerNormalization with output mean");
        return;
    }
    if (!sum.buffer)
        sum = ms_like(l, "sum", x.dtype, x);
    kernel(l, "skip_sum");
    par_all(l, sum, o);
    const Expr *e =
        add(l, cast(l, t, load(l, x, o)), cast(l, t, load_broadcast(l, skip, x.rank, o)));
    if (bias.buffer)
        e = add(l, e, cast(l, t, load_broadcast(l, bias, x.rank, o)));
    store(l, sum, o, cast(l, sum.dtype, e));
    kernel_end(l);
    normalize(l, y, sum, input(l, 2), beta, kind);
}

// ---- EmbedLayerNormalization

static void infer_embed_norm(Infer *s)
{
    const Value *ids = infer_in(s, 0), *word = infer_in(s, 2), *position_ids = infer_in(s, 8);
    if (!ids || !word || ids->rank != 2 || word->rank != 2)
        return;
    Index dims[3] = {ids->dims[0], ids->dims[1], word->dims[1]};
    infer_shape(s, 0, 3, dims);
    infer_shape(s, 1, 1, dims);
    infer_shape(s, 2, 3, dims);
    infer_fits(s, 1, 2, dims);
    infer_fits(s, 3, 2, (const Index[]){NULL, dims[2]});
    infer_fits(s, 4, 2, (const Index[]){NULL, dims[2]});
    infer_fits(s, 5, 1, &dims[2]);
    infer_fits(s, 6, 1, &dims[2]);
    infer_fits(s, 7, 2, dims);
    if (position_ids && position_ids->rank == 2 && poly_equals(position_ids->dims[0], 1))
        infer_fits(s, 8, 2, (const Index[]){NULL, dims[1]});
    else
        infer_fits(s, 8, 2, dims);
}

// table[ids], with the checks of Gather.
static Tensor looked_up(Lower *l, Tensor table, Tensor ids, Index length)
{
    Index dims[3] = {ids.dims[0], length, table.dims[1]};
    Tensor y = temp(l, "embedding", table.dtype, 3, dims);
    Attr axis = attr_int("axis", 0);
    lower_part(
        l, &(Part){.op = "Gather", .in = {table, ids}, .out = {y}, .attrs = &axis, .nattrs = 1});
    return y;
}

// How many tokens of each row the mask keeps; 0 without a mask.
static void lower_mask_index(Lower *l, Tensor y, Tensor mask)
{
    Index o[MAX_RANK] = {0};
    kernel(l, "mask_index");
    par_all(l, y, o);
    const Expr *e = zero(l, y.dtype);
    if (mask.buffer) {
        Index k = red(l, mask.dims[1]), at[2] = {o[0], k};
        const Expr *kept = eq(l, load(l, mask, at), one(l, mask.dtype));
        e = reduce_add(l, 1, &k, NULL, select_(l, kept, one(l, y.dtype), zero(l, y.dtype)));
    }
    store(l, y, o, e);
    kernel_end(l);
}

// normalize(word[ids] + position[position ids, or 0, 1 ...] + segment[segment ids]).
static void lower_embed_norm(Lower *l)
{
    Tensor ids = input(l, 0), table = input(l, 3), segments = input(l, 1), places = input(l, 8);
    Tensor y = output(l, 0), sum = output(l, 2);
    Index o[MAX_RANK] = {0}, length = ids.dims[1];
    if (segments.buffer && !has_input(l, 4)) {
        not_supported(l, "EmbedLayerNormalization with segment_ids but no segment_embedding");
        return;
    }
    Tensor word = looked_up(l, input(l, 2), ids, length), segment = {0}, position = {0};
    if (places.buffer)
        position = looked_up(l, table, places, length);
    if (segments.buffer)
        segment = looked_up(l, input(l, 4), segments, length);
    if (!places.buffer)
        check(l, index_le(l, length, table.dims[0]),
              "EmbedLayerNormalization: there are more positions than position_embedding has");
    if (!sum.buffer)
        sum = ms_like(l, "embedding_sum", y.dtype, y);
    kernel(l, "embedding_sum");
    par_all(l, sum, o);
    const Expr *e = load(l, word, o);
    Index at[3] = {places.buffer && poly_equals(places.dims[0], 1) ? ix(l, 0) : o[0], o[1], o[2]};
    e = add(l, e, places.buffer ? load(l, position, at) : load(l, table, o + 1));
    if (segment.buffer)
        e = add(l, e, load(l, segment, o));
    store(l, sum, o, e);
    kernel_end(l);
    Attr attrs[2] = {attr_int("axis", -1), attr_float("epsilon", node_float(l->n, "epsilon", 0))};
    lower_part(l, &(Part){.op = "LayerNormalization",
                          .in = {sum, input(l, 5), input(l, 6)},
                          .out = {y},
                          .attrs = attrs,
                          .nattrs = 2});
    if (has_output(l, 1))
        lower_mask_index(l, output(l, 1), input(l, 7));
}

const OpDef ops_ms_norm[] = {
    {"SkipLayerNormalization", 1, infer_skip_norm, lower_skip_norm, {.mode = NORM_LAYER}, MS},
    {"SkipSimplifiedLayerNormalization",
     1,
     infer_skip_norm,
     lower_skip_norm,
     {.mode = NORM_SIMPLIFIED},
     MS},
    {"EmbedLayerNormalization", 1, infer_embed_norm, lower_embed_norm, {NULL}, MS},
    {0},
};
