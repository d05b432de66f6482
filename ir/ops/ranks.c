// The ranks that the standard fixes for operands, where no shape rule has to look at them.

#include "ir/ops/ranks.h"
#include "ir/infer.h"

#include <string.h>

enum { ANY = ANY_RANK };

static const RankRule ranks[] = {
    {"InstanceNormalization", 0, 2, ANY},
    {"InstanceNormalization", 1, 1, 1},
    {"InstanceNormalization", 2, 1, 1},
    {"GroupNormalization", 0, 2, ANY},
    {"GroupNormalization", 1, 1, 1},
    {"GroupNormalization", 2, 1, 1},
    {"LRN", 0, 2, ANY},
    {"LpNormalization", 0, 1, ANY},
    {"LayerNormalization", 0, 1, ANY},
    {"RMSNormalization", 0, 1, ANY},
    {"MatMul", 0, 1, ANY},
    {"MatMul", 1, 1, ANY},
    {"Gemm", 0, 2, 2},
    {"Gemm", 1, 2, 2},
    {"Conv", 0, 3, ANY},
    {"Conv", 1, 3, ANY},
    {"Conv", 1, LIKE_FIRST, 0},
    {"Conv", 2, 1, 1},
    {"ConvTranspose", 0, 3, ANY},
    {"ConvTranspose", 1, 3, ANY},
    {"ConvTranspose", 1, LIKE_FIRST, 0},
    {"ConvTranspose", 2, 1, 1},
    {"MaxPool", 0, 3, ANY},
    {"AveragePool", 0, 3, ANY},
    {"LpPool", 0, 3, ANY},
    {"GlobalMaxPool", 0, 2, ANY},
    {"GlobalAveragePool", 0, 2, ANY},
    {"GlobalLpPool", 0, 2, ANY},
    {"DepthToSpace", 0, 4, 4},
    {"SpaceToDepth", 0, 4, 4},
    {"Concat", 0, 1, ANY},
    {"Gather", 0, 1, ANY},
    {"Slice", 0, 1, ANY},
    {"ConvInteger", 0, 3, ANY},
    {"ConvInteger", 1, 3, ANY},
    {"ConvInteger", 1, LIKE_FIRST, 0},
    {"ConvInteger", 2, 0, 1},
    {"ConvInteger", 3, 0, 1},
    {"QLinearConv", 0, 3, ANY},
    {"QLinearConv", 1, 0, 1},
    {"QLinearConv", 2, 0, 1},
    {"QLinearConv", 3, 3, ANY},
    {"QLinearConv", 3, LIKE_FIRST, 0},
    {"QLinearConv", 4, 0, 1},
    {"QLinearConv", 5, 0, 1},
    {"QLinearConv", 6, 0, 1},
    {"QLinearConv", 7, 0, 1},
    {"QLinearConv", 8, 1, 1},
    {"Compress", 1, 1, 1},
    {"EyeLike", 0, 2, 2},
    {"Trilu", 0, 2, ANY},
    {"GatherElements", 0, 1, ANY},
    {"GatherElements", 1, LIKE_FIRST, 0},
    {"Scatter", 0, 1, ANY},
    {"Scatter", 1, LIKE_FIRST, 0},
    {"Scatter", 2, LIKE_FIRST, 0},
    {"ScatterElements", 0, 1, ANY},
    {"ScatterElements", 1, LIKE_FIRST, 0},
    {"ScatterElements", 2, LIKE_FIRST, 0},
    {"GatherND", 0, 1, ANY},
    {"GatherND", 1, 1, ANY},
    {"ScatterND", 0, 1, ANY},
    {"ScatterND", 1, 1, ANY},
    {"ReverseSequence", 0, 2, ANY},
    {"ReverseSequence", 1, 1, 1},
    {"Softmax", 0, 1, ANY},
    {"LogSoftmax", 0, 1, ANY},
    {"Hardmax", 0, 1, ANY},
    {"NegativeLogLikelihoodLoss", 0, 2, ANY},
    {"NegativeLogLikelihoodLoss", 1, 1, ANY},
    {"NegativeLogLikelihoodLoss", 2, 1, 1},
    {"SoftmaxCrossEntropyLoss", 0, 2, ANY},
    {"SoftmaxCrossEntropyLoss", 1, 1, ANY},
    {"SoftmaxCrossEntropyLoss", 2, 1, 1},
    {"Clip", 1, NUMBER, 1},
    {"Clip", 2, NUMBER, 1},
    {"OneHot", 1, NUMBER, 1},
    {"OneHot", 2, 1, 1},
    {"Pad", 1, 1, 1},
    {"Pad", 2, NUMBER, 1},
    {"Pad", 3, 1, 1},
    {"Resize", 1, 1, 1},
    {"Resize", 2, 1, 1},
    {"Resize", 3, 1, 1},
    {"Upsample", 1, 1, 1},
    {"Slice", 1, 1, 1},
    {"Slice", 2, 1, 1},
    {"Slice", 3, 1, 1},
    {"Slice", 4, 1, 1},
    {"Split", 1, 1, 1},
    {"Reshape", 1, 1, 1},
    {"Expand", 1, 1, 1},
    {"Tile", 1, 1, 1},
    {"Unsqueeze", 1, 0, 1},
    {"Squeeze", 1, 0, 1},
    {"ConstantOfShape", 0, 1, 1},
    {"ReduceSum", 1, 1, 1},
    {"ReduceMean", 1, 1, 1},
    {"ReduceProd", 1, 1, 1},
    {"ReduceMax", 1, 1, 1},
    {"ReduceMin", 1, 1, 1},
    {"ReduceL1", 1, 1, 1},
    {"ReduceL2", 1, 1, 1},
    {"ReduceLogSum", 1, 1, 1},
    {"ReduceLogSumExp", 1, 1, 1},
    {"ReduceSumSquare", 1, 1, 1},
    {"CumSum", 0, 1, ANY},
    {"CumSum", 1, NUMBER, 1},
    {"CumProd", 0, 1, ANY},
    {"CumProd", 1, NUMBER, 1},
    {"TopK", 0, 1, ANY},
    {"TopK", 1, NUMBER, 1},
    {"Trilu", 1, NUMBER, 1},
    {"LSTM", 0, 3, 3},
    {"LSTM", 1, 3, 3},
    {"LSTM", 2, 3, 3},
    {"LSTM", 3, 2, 2},
    {"LSTM", 4, 1, 1},
    {"LSTM", 5, 3, 3},
    {"LSTM", 6, 3, 3},
    {"LSTM", 7, 2, 2},
    {"GRU", 0, 3, 3},
    {"GRU", 1, 3, 3},
    {"GRU", 2, 3, 3},
    {"GRU", 3, 2, 2},
    {"GRU", 4, 1, 1},
    {"GRU", 5, 3, 3},
    {"RNN", 0, 3, 3},
    {"RNN", 1, 3, 3},
    {"RNN", 2, 3, 3},
    {"RNN", 3, 2, 2},
    {"RNN", 4, 1, 1},
    {"RNN", 5, 3, 3},
    {"Attention", 0, 3, 4},
    {"Attention", 1, LIKE_FIRST, 0},
    {"Attention", 2, LIKE_FIRST, 0},
    {"Attention", 3, 1, 4},
    {"Attention", 4, 4, 4},
    {"Attention", 5, 4, 4},
    {"Attention", 6, 1, 1},
    {"RotaryEmbedding", 0, 3, 4},
    {"RotaryEmbedding", 1, 2, 3},
    {"RotaryEmbedding", 2, 2, 3},
    {"RotaryEmbedding", 3, 2, 2},
    {"CausalConvWithState", 0, 3, 3},
    {"CausalConvWithState", 1, 3, 3},
    {"CausalConvWithState", 2, 1, 1},
    {"CausalConvWithState", 3, 3, 3},
    {"HannWindow", 0, NUMBER, 1},
    {"HammingWindow", 0, NUMBER, 1},
    {"BlackmanWindow", 0, NUMBER, 1},
    {"DFT", 0, 2, ANY},
    {"DFT", 1, NUMBER, 1},
    {"DFT", 2, NUMBER, 1},
    {"STFT", 0, 2, 3},
    {"STFT", 1, NUMBER, 1},
    {"STFT", 2, 1, 1},
    {"STFT", 3, NUMBER, 1},
    {"MelWeightMatrix", 0, NUMBER, 1},
    {"MelWeightMatrix", 1, NUMBER, 1},
    {"MelWeightMatrix", 2, 0, 0},
    {"MelWeightMatrix", 3, 0, 0},
    {"MelWeightMatrix", 4, 0, 0},
    {"AffineGrid", 0, 3, 3},
    {"AffineGrid", 1, 1, 1},
    {"GridSample", 0, 3, ANY},
    {"GridSample", 1, LIKE_FIRST, 0},
    {"RoiAlign", 0, 4, 4},
    {"RoiAlign", 1, 2, 2},
    {"RoiAlign", 2, 1, 1},
    {"CenterCropPad", 0, 1, ANY},
    {"CenterCropPad", 1, 1, 1},
    {"Col2Im", 0, 3, 3},
    {"Col2Im", 1, 1, 1},
    {"Col2Im", 2, 1, 1},
    {"MaxUnpool", 0, 3, ANY},
    {"MaxUnpool", 1, LIKE_FIRST, 0},
    {"MaxUnpool", 2, 1, 1},
    {"DeformConv", 0, 3, ANY},
    {"DeformConv", 1, LIKE_FIRST, 0},
    {"DeformConv", 2, LIKE_FIRST, 0},
    {"DeformConv", 3, 1, 1},
    {"DeformConv", 4, LIKE_FIRST, 0},
    {"MaxRoiPool", 0, 4, 4},
    {"MaxRoiPool", 1, 2, 2},
    {"Det", 0, 2, ANY},
    {"NonMaxSuppression", 0, 3, 3},
    {"NonMaxSuppression", 1, 3, 3},
    {"NonMaxSuppression", 2, NUMBER, 1},
    {"NonMaxSuppression", 3, NUMBER, 1},
    {"NonMaxSuppression", 4, NUMBER, 1},
    {"TensorScatter", 0, 2, ANY},
    {"TensorScatter", 1, LIKE_FIRST, 0},
    {"TensorScatter", 2, 1, 1},
    {"SimplifiedLayerNormalization", 0, 1, ANY},
    {"Range", 0, NUMBER, 1},
    {"Range", 1, NUMBER, 1},
    {"Range", 2, NUMBER, 1},
    {"If", 0, NUMBER, ANY},
    {"Loop", 0, NUMBER, ANY},
    {"Loop", 1, NUMBER, ANY},
    {NULL, 0, 0, 0},
};

// Operators whose attribute "axis" names a dim of input 0.
static const char *const axis_of_first[] = {"Softmax",
                                            "LogSoftmax",
                                            "Hardmax",
                                            "LpNormalization",
                                            "LayerNormalization",
                                            "RMSNormalization",
                                            "GatherElements",
                                            "Scatter",
                                            "ScatterElements",
                                            "SimplifiedLayerNormalization"};

bool rank_is_number(const Value *v, int32_t most)
{
    int64_t k;
    for (int32_t i = 0; i < v->rank; i++)
        if (poly_is_const(v->dims[i], &k) && k != 1)
            return false;
    return v->rank <= most;
}

// The rows of the node's domain.
static const RankRule *rules_of(const Node *n)
{
    static const RankRule none = {NULL, 0, 0, 0};
    return is_standard_domain(n->domain)        ? ranks
           : str_is(n->domain, "com.microsoft") ? ms_ranks
                                                : &none;
}

bool rank_wants_number(const Node *n, uint32_t input)
{
    for (const RankRule *r = rules_of(n); r->op; r++)
        if (r->least == NUMBER && r->input == input && str_is(n->op, r->op))
            return true;
    return false;
}

// What the standard calls an operand, or its number.
static const char *operand_name(const Model *m, const Node *n, uint32_t i)
{
    const Schema *s = n->schema;
    return s && i < s->ninputs && s->inputs[i].option != PARAM_VARIADIC
               ? s->inputs[i].name
               : str_printf(m->arena, "input %u", i).at;
}

// The ranks that a row asks for, in words.
static const char *ranks_asked(const Model *m, const Node *n, const RankRule *r)
{
    if (r->least == LIKE_FIRST)
        return str_printf(m->arena, "%d as %s has", value_at(m, n->in[0])->rank,
                          operand_name(m, n, 0))
            .at;
    return r->least == r->most ? str_printf(m->arena, "%d", r->least).at
           : r->most == ANY    ? str_printf(m->arena, "%d or more", r->least).at
                               : str_printf(m->arena, "%d to %d", r->least, r->most).at;
}

// What is wrong with the operand that a row speaks of, NULL if nothing is.
static const char *operand_fault(const Model *m, const Node *n, const RankRule *r)
{
    const Value *v = value_at(m, n->in[r->input]);
    const char *name = operand_name(m, n, r->input);
    if (r->least == NUMBER)
        return rank_is_number(v, r->most)
                   ? NULL
                   : str_printf(m->arena, "%s is not one number", name).at;
    bool fits = r->least == LIKE_FIRST ? v->rank == value_at(m, n->in[0])->rank
                                       : v->rank >= r->least && v->rank <= r->most;
    return fits
               ? NULL
               : str_printf(m->arena, "%s has rank %d, not %s", name, v->rank, ranks_asked(m, n, r))
                     .at;
}

const char *rank_fault(const Model *m, const Node *n)
{
    bool standard = is_standard_domain(n->domain);
    if (n->nin == 0 || !n->in[0])
        return NULL;
    for (const RankRule *r = rules_of(n); r->op; r++) {
        bool given = r->input < n->nin && n->in[r->input] && str_is(n->op, r->op);
        const char *fault = given ? operand_fault(m, n, r) : NULL;
        if (fault)
            return fault;
    }
    int32_t first = value_at(m, n->in[0])->rank;
    for (size_t i = 0; standard && i < sizeof axis_of_first / sizeof *axis_of_first; i++) {
        const Attr *a = str_is(n->op, axis_of_first[i]) ? attr_find(n, "axis") : NULL;
        if (a && (a->i < -first || a->i >= first))
            return str_printf(m->arena, "axis %lld is out of range for rank %d", (long long)a->i,
                              first)
                .at;
    }
    return NULL;
}

bool ranks_has(const Node *n)
{
    for (const RankRule *r = rules_of(n); r->op; r++)
        if (str_is(n->op, r->op))
            return true;
    for (size_t i = 0; i < sizeof axis_of_first / sizeof *axis_of_first; i++)
        if (is_standard_domain(n->domain) && str_is(n->op, axis_of_first[i]))
            return true;
    return false;
}

// The rank of a node's operand as the table fixes it, by itself or by another's; -1 if it does not.
static int32_t fixed_rank(const Model *m, const Node *n, uint32_t input)
{
    for (const RankRule *r = rules_of(n); r->op; r++) {
        if (r->input >= n->nin || !n->in[r->input] || !str_is(n->op, r->op))
            continue;
        if (r->input == input && r->least == r->most)
            return r->least;
        if (r->least == LIKE_FIRST && (r->input == input || input == 0)) {
            int32_t other = value_at(m, n->in[input ? 0 : r->input])->rank;
            if (other >= 0)
                return other;
        }
    }
    return -1;
}

WantedRank *ranks_wanted(const Model *m)
{
    WantedRank *wanted = NEWS(m->arena, WantedRank, m->values.len);
    const Graph *g = graph_at(m, m->main);
    for (ValueId v = 0; v < m->values.len; v++)
        wanted[v].rank = -1;
    for (uint32_t i = g->nodes.len; i-- > 0;) {
        const Node *n = node_at(m, g->nodes.at[i]);
        bool same = n->def && n->def->infer == same_as_0 && n->nout && n->out[0];
        for (uint32_t k = 0; k < n->nin; k++) {
            if (!n->in[k] || value_at(m, n->in[k])->rank >= 0 || wanted[n->in[k]].rank >= 0)
                continue;
            WantedRank w = {fixed_rank(m, n, k), g->nodes.at[i]};
            if (w.rank < 0 && k == 0 && same)
                w = wanted[n->out[0]];
            wanted[n->in[k]] = w;
        }
    }
    return wanted;
}

static bool takes_kind(TypeSet types, TypeKind kind)
{
    const TypeSet lists = TYPESET_SEQUENCE | TYPESET_OPTIONAL | TYPESET_MAP | TYPESET_SPARSE;
    switch (kind) {
    case TYPE_TENSOR:
        return (types & ~lists) != 0;
    case TYPE_SEQUENCE:
        return (types & TYPESET_SEQUENCE) != 0;
    case TYPE_OPTIONAL:
        return (types & TYPESET_OPTIONAL) != 0;
    case TYPE_MAP:
        return (types & TYPESET_MAP) != 0;
    default:
        return true;
    }
}

// TYPE_NONE: nothing is known of it.
static TypeKind kind_known(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    bool known = value->kind != TYPE_TENSOR || value->dtype != DT_NONE || value->rank >= 0;
    return v && known ? value->kind : TYPE_NONE;
}

const char *kind_fault(const Model *m, const Node *n)
{
    const Schema *s = n->schema;
    for (uint32_t i = 0; s && s->ninputs && i < n->nin; i++) {
        const SchemaParam *p = &s->inputs[i < s->ninputs ? i : s->ninputs - 1];
        TypeKind kind = kind_known(m, n->in[i]);
        if (takes_kind(p->types, kind))
            continue;
        return kind == TYPE_TENSOR ? "an operand is a tensor, which the operator does not take"
               : kind == TYPE_SEQUENCE
                   ? "an operand is a sequence, which the operator does not take"
               : kind == TYPE_OPTIONAL
                   ? "an operand is an optional, which the operator does not take"
                   : "an operand is a map, which the operator does not take";
    }
    return NULL;
}
