// QN005: biases quantized with another scale than the products they are added to.

#include "passes/elements.h"
#include "passes/lint/story.h"

#include <math.h>

// Relative; scales are float32, products of them rounded once or twice.
static const double TOLERANCE = 1e-4;

typedef struct Bias {
    NodeId dequantizer; // of the bias
    Elements input, weight, bias;
    uint64_t channels, worst; // the channel whose scale is furthest off
    double have, want;        // there
} Bias;

static const Node *dequantizer_of(const Model *m, ValueId v, NodeId *id)
{
    const Value *value = v ? value_at(m, v) : NULL;
    *id = value && value->def == DEF_NODE ? value->node : 0;
    const Node *n = *id ? node_at(m, *id) : NULL;
    return n && node_is(n, "DequantizeLinear") && n->nin > 1 && n->in[0] && n->in[1] ? n : NULL;
}

// Weights are often transposed behind it: one scale stays one to a column.
static const Node *weight_of(const Model *m, ValueId v)
{
    const Value *value = v ? value_at(m, v) : NULL;
    const Node *n = value && value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    NodeId maker;
    return dequantizer_of(m, n && node_is(n, "Transpose") && n->nin ? n->in[0] : v, &maker);
}

static bool adds_bias(const Node *n)
{
    bool gemm =
        node_is(n, "Gemm") && node_float(n, "alpha", 1) == 1 && node_float(n, "beta", 1) == 1;
    return !n->dead && n->nin == 3 && (gemm || node_is(n, "Conv") || node_is(n, "ConvTranspose"));
}

static double nth(const Elements *x, uint64_t i)
{
    return element_at(x, x->n == 1 ? 0 : i);
}

// Does the node add a bias whose scale is not the product of the other two?
static bool find_bias(Model *m, NodeId id, Bias *b)
{
    const Node *n = node_at(m, id);
    NodeId maker;
    if (!adds_bias(n))
        return false;
    const Node *x = dequantizer_of(m, n->in[0], &maker), *w = weight_of(m, n->in[1]);
    const Node *y = dequantizer_of(m, n->in[2], &b->dequantizer);
    if (!x || !w || !y || lint_dtype(m, y->in[0]) != DT_I32)
        return false;
    b->input = elements_of(m, x->in[1]);
    b->weight = elements_of(m, w->in[1]);
    b->bias = elements_of(m, y->in[1]);
    b->channels = b->weight.n > b->bias.n ? b->weight.n : b->bias.n;
    bool many = (b->weight.n > 1 && b->weight.n != b->channels) ||
                (b->bias.n > 1 && b->bias.n != b->channels);
    if (b->input.n != 1 || !b->weight.n || !b->bias.n || many || b->weight.rank > 1 ||
        b->bias.rank > 1)
        return false;
    double worst = TOLERANCE;
    for (uint64_t i = 0; i < b->channels; i++) {
        double want = nth(&b->input, 0) * nth(&b->weight, i), have = nth(&b->bias, i);
        double off = fabs(have - want) / want;
        if (!(want > 0) || !(off > worst))
            continue;
        worst = off;
        b->worst = i;
        b->have = have;
        b->want = want;
    }
    return worst > TOLERANCE;
}

void lint_bias_scales(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Conv", "ConvTranspose", "Gemm");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        Bias b = {0};
        if (!find_bias(l->m, id, &b) || !lint_first_time(l, "QN005", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d =
            diag(l->diags, "QN005", SEV_WARNING, location_operand(l->m, l->arena, id, 2),
                 "%.*s bias is quantized with scale %g, but input scale times weight scale is %g",
                 STR_ARG(n->op), b.have, b.want);
        d->value = lint_name(l, n->in[2]);
        lint_about_node(l, d, id);
        if (b.channels > 1)
            diag_note(l->diags, d, "in channel %llu of %llu, where they differ most",
                      (unsigned long long)b.worst, (unsigned long long)b.channels);
        diag_note(
            l->diags, d,
            "kernels that compute in integers add the bias to the products as it is: it counts "
            "%.4g times what the float model adds",
            b.want / b.have);
        diag_fix(
            l->diags, d, false,
            "quantize the bias again with the product of the scales: 0 casts added, each value "
            "off by at most half of %g",
            b.want);
        diag_help(l->diags, d, "see `cameo explain QN005`");
    }
}

// ---- repair -------------------------------------------------------------------------------------

static ValueId add_constant(Model *m, NodeId before, TensorData *t, Str name)
{
    NodeId id = node_build(m, node_at(m, before)->graph, "Constant", NULL, 0, name);
    node_set_attr(m, id, "value", ATTR_TENSOR)->t = t;
    graph_insert_before(m, before, id);
    return node_at(m, id)->out[0];
}

static int32_t rounded(double x)
{
    return x >= INT32_MAX ? INT32_MAX : x <= INT32_MIN ? INT32_MIN : (int32_t)nearbyint(x);
}

static Str fresh_name(Model *m, ValueId v, const char *what)
{
    return str_printf(m->arena, "%.*s_%s_%u", STR_ARG(value_at(m, v)->name), what, m->values.len);
}

static bool quantize_again(Model *m, const Bias *b)
{
    Node *n = node_at(m, b->dequantizer);
    Elements data = elements_of(m, n->in[0]), zero = elements_of(m, n->nin > 2 ? n->in[2] : 0);
    bool known = data.n && (data.n == b->channels || b->channels == 1) && data.rank == 1;
    if (!known || (n->nin > 2 && n->in[2] && zero.n != 1))
        return false;
    int32_t *values = NEWS(m->arena, int32_t, data.n);
    float *scales = NEWS(m->arena, float, b->channels);
    for (uint64_t i = 0; i < b->channels; i++)
        scales[i] = (float)(nth(&b->input, 0) * nth(&b->weight, i));
    for (uint64_t i = 0; i < data.n; i++) {
        double real =
            (element_at(&data, i) - (zero.n ? element_at(&zero, 0) : 0)) * nth(&b->bias, i);
        values[i] = rounded(real / scales[b->channels == 1 ? 0 : i]);
    }
    int64_t dims[1] = {(int64_t)data.n}, channels[1] = {(int64_t)b->channels};
    TensorData *t = tensor_new(m->arena, DT_I32, 1, dims, values);
    TensorData *s = tensor_new(m->arena, DT_F32, b->channels > 1, channels, scales);
    if (b->bias.dtype != DT_F32)
        return false;
    ValueId v = add_constant(m, b->dequantizer, t, fresh_name(m, n->in[0], "requantized"));
    ValueId scale = add_constant(m, b->dequantizer, s,
                                 fresh_name(m, node_at(m, b->dequantizer)->in[1], "product"));
    n = node_at(m, b->dequantizer);
    n->in = NEWS(m->arena, ValueId, 2);
    n->in[0] = v;
    n->in[1] = scale;
    n->nin = 2;
    if (b->channels > 1)
        node_set_int(m, b->dequantizer, "axis", 0);
    return true;
}

uint32_t repair_bias_scales(Model *m, bool unsafe)
{
    uint32_t made = 0, nodes = m->nodes.len;
    for (NodeId id = 1; unsafe && id < nodes; id++) {
        Bias b = {0};
        if (find_bias(m, id, &b))
            made += quantize_again(m, &b);
    }
    return made;
}
