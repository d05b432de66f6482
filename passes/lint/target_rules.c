// PF001, PF002, QN006: what a target makes of a graph as it is.

#include "ir/infer.h"
#include "passes/config.h"
#include "passes/elements.h"
#include "passes/lint/island.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"

#include <math.h>
#include <string.h>

enum { MAX_NAMED = 3 };

static const Target *target_of(const Model *m)
{
    return m->config ? m->config->target : NULL;
}

// ---- PF001 --------------------------------------------------------------------------------------

static bool has_kernel_for(const Target *t, const Node *n, DType d)
{
    return target_types(t, n->op) >> d & 1;
}

// Does the target run the node in float32 between Casts, for want of a float16 kernel?
static bool is_wrapped(const Model *m, const Target *t, NodeId id)
{
    const Node *n = node_at(m, id);
    return !n->dead && is_standard_domain(n->domain) && n->nin &&
           lint_dtype(m, n->in[0]) == DT_F16 && !has_kernel_for(t, n, DT_F16) &&
           has_kernel_for(t, n, DT_F32) && island_allows(m, id, DT_F16, DT_F32);
}

// All that runs in float16 and may run in float32: one island.
static bool *float16_island(const Model *m, const Target *t, Arena *a)
{
    bool *in = NEWS(a, bool, m->nodes.len);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        in[id] = !n->dead && is_standard_domain(n->domain) && !node_is(n, "Cast") &&
                 has_kernel_for(t, n, DT_F32) && island_allows(m, id, DT_F16, DT_F32);
    }
    return in;
}

void lint_float16_on_cpu(Lint *l)
{
    const Target *t = target_of(l->m);
    NodeId first = 0;
    uint32_t wrapped = 0, all = 0, named = 0;
    const char *names[MAX_NAMED];
    if (!t || !target_casts_around(t))
        return;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        all += !n->dead && n->nin && lint_dtype(l->m, n->in[0]) == DT_F16;
        if (!is_wrapped(l->m, t, id))
            continue;
        first = first ? first : id;
        wrapped++;
        bool known = false;
        for (uint32_t i = 0; i < named; i++)
            known |= str_is(n->op, names[i]);
        if (!known && named < MAX_NAMED)
            names[named++] = n->schema->name;
    }
    if (!wrapped)
        return;
    const bool *island = float16_island(l->m, t, l->arena);
    uint32_t casts = island_casts(l->m, lint_uses(l), island, DT_F16);
    uint32_t once = island_constant_casts(l->m, lint_uses(l), island, DT_F16);
    Diag *d =
        diag(l->diags, "PF001", SEV_WARNING, location_node(l->m, l->arena, first),
             "%u of %u float16 nodes run in float32 between Casts on %s", wrapped, all, t->name);
    lint_about_node(l, d, first);
    diag_note(l->diags, d,
              "it has no float16 kernel for %s%s%s%s%s%s and puts Casts around each node", names[0],
              named > 1 ? ", " : "", named > 1 ? names[1] : "", named > 2 ? ", " : "",
              named > 2 ? names[2] : "", wrapped > named ? " (...)" : "");
    diag_note(l->diags, d, "estimated: up to %u Casts a run", 2 * wrapped);
    diag_fix(l->diags, d, false, "run all of it in float32 as one island: %u Cast%s at its edges%s",
             casts - once, casts - once == 1 ? "" : "s",
             once ? str_printf(l->arena, ", %u of constants, done once", once).at : "")
        ->casts = casts;
    diag_help(l->diags, d, "see `cameo explain PF001`");
}

uint32_t repair_float16_on_cpu(Model *m, bool unsafe)
{
    const Target *t = target_of(m);
    bool any = false;
    for (NodeId id = 1; unsafe && t && target_casts_around(t) && id < m->nodes.len && !any; id++)
        any = is_wrapped(m, t, id);
    if (!any)
        return 0;
    Arena *a = arena_new();
    uint32_t made = island_run(m, float16_island(m, t, a), DT_F16, DT_F32);
    arena_free(a);
    return made + 1;
}

// ---- PF002 --------------------------------------------------------------------------------------

static bool is_product(const Node *n)
{
    return node_is(n, "MatMul") || node_is(n, "Gemm") || node_is(n, "Conv") ||
           node_is(n, "ConvTranspose");
}

static bool known_product(const Value *v, int32_t from, double *n)
{
    for (int32_t i = from; i < v->rank; i++) {
        int64_t k;
        *n *= poly_is_const(v->dims[i], &k) ? (double)(k > 0 ? k : 0) : 1;
    }
    return v->rank >= 0;
}

// Multiply-adds of a product of matrices or a convolution; dims that are not known count as 1.
static double multiply_adds(const Model *m, const Node *n)
{
    double macs = 1;
    int64_t k = 1;
    if (n->nin < 2 || !n->in[0] || !n->in[1] || !n->nout || !n->out[0])
        return 0;
    const Value *y = value_at(m, n->out[0]), *w = value_at(m, n->in[1]), *x = value_at(m, n->in[0]);
    bool conv = node_is(n, "Conv") || node_is(n, "ConvTranspose");
    if (!known_product(node_is(n, "ConvTranspose") ? x : y, 0, &macs))
        return 0;
    if (conv)
        return known_product(w, 1, &macs) ? macs : 0;
    int32_t axis = node_int(n, "transA", 0) ? 0 : x->rank - 1;
    bool known = x->rank > 0 && poly_is_const(x->dims[axis], &k);
    return macs * (known ? (double)(k > 0 ? k : 0) : 1);
}

static bool is_float32(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    return !n->dead && is_product(n) && n->nin > 1 && lint_dtype(m, n->in[0]) == DT_F32;
}

void lint_typed_target(Lint *l)
{
    const Target *t = target_of(l->m);
    double wide = 0, low = 0;
    uint32_t nodes = 0, others = 0;
    NodeId first = 0;
    if (!t || !t->strongly_typed)
        return;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (n->dead || !is_product(n) || !n->nin)
            continue;
        bool float32 = is_float32(l->m, id);
        *(float32 ? &wide : &low) += multiply_adds(l->m, n);
        ++*(float32 ? &nodes : &others);
        first = first || !float32 ? first : id;
    }
    if (!nodes || others)
        return;
    Diag *d =
        diag(l->diags, "PF002", SEV_WARNING, location_node(l->m, l->arena, first),
             "nothing of the model runs in float16 on %s: it takes dtypes as the graph has them",
             t->name);
    lint_about_node(l, d, first);
    diag_note(l->diags, d, "0%% of about %.3g multiply-adds (%u node%s) are in float16 or bfloat16",
              wide, nodes, nodes == 1 ? "" : "s");
    diag_note(l->diags, d, "a strongly typed network ignores flags that ask for float16");
    diag_fix(l->diags, d, false,
             "run products of matrices and convolutions, and what only follows them, "
             "in float16");
    diag_help(l->diags, d,
              "where float32 is wanted, allow it in cameo.yaml; see `cameo explain PF002`");
}

static const char *const follows[] = {
    "Add",           "AveragePool", "Clip",      "GlobalAveragePool",
    "GlobalMaxPool", "HardSigmoid", "HardSwish", "LeakyRelu",
    "MaxPool",       "Mul",         "PRelu",     "Relu",
    "Sigmoid",       "Sub",         "Tanh",      NULL};

static bool does_follow(const Model *m, const Node *n, const bool *in)
{
    bool any = false, listed = motion_of(n) != MOTION_NONE;
    for (const char *const *op = follows; *op; op++)
        listed |= node_is(n, *op);
    for (uint32_t i = 0; listed && i < n->nin; i++) {
        const Value *v = n->in[i] ? value_at(m, n->in[i]) : NULL;
        if (!v || lint_dtype(m, n->in[i]) != DT_F32 || v->constant)
            continue;
        if (v->def != DEF_NODE || !in[v->node])
            return false;
        any = true;
    }
    return listed && any;
}

// No finite constant that the node reads may become infinite.
static bool fits_float16(Model *m, const Node *n)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        Elements x = lint_dtype(m, n->in[i]) == DT_F32 ? elements_of(m, n->in[i]) : (Elements){0};
        for (uint64_t k = 0; k < x.n; k++)
            if (fabs(element_at(&x, k)) >= 65520)
                return false;
    }
    return true;
}

uint32_t repair_typed_target(Model *m, bool unsafe)
{
    const Target *t = target_of(m);
    Arena *a = arena_new();
    bool *in = NEWS(a, bool, m->nodes.len), any = false, low = false;
    for (NodeId id = 1; unsafe && t && t->strongly_typed && id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool product = is_float32(m, id);
        low |= !n->dead && is_product(n) && !product;
        in[id] = !n->dead && (product || does_follow(m, n, in)) &&
                 island_allows(m, id, DT_F32, DT_F16) && fits_float16(m, n);
        any |= in[id];
    }
    uint32_t made = any && !low ? island_run(m, in, DT_F32, DT_F16) + 1 : 0;
    arena_free(a);
    return made;
}

// ---- QN006 --------------------------------------------------------------------------------------

// Where an integer product takes its two operands; dequantized ones are looked through.
typedef struct Dot {
    ValueId data, weight; // uint8 and a constant of int8
    bool rows; // products run along all axes but the first; else along the one before last
} Dot;

static ValueId quantized_operand(const Model *m, const Node *n, uint32_t i)
{
    const Value *v = i < n->nin && n->in[i] ? value_at(m, n->in[i]) : NULL;
    const Node *maker = v && v->def == DEF_NODE ? node_at(m, v->node) : NULL;
    return maker && node_is(maker, "DequantizeLinear") && maker->nin ? maker->in[0] : 0;
}

static bool find_dot(const Model *m, const Node *n, Dot *d)
{
    if (node_is(n, "QLinearConv") || node_is(n, "QLinearMatMul"))
        *d = (Dot){n->nin > 3 ? n->in[0] : 0, n->nin > 3 ? n->in[3] : 0, node_is(n, "QLinearConv")};
    else if (node_is(n, "ConvInteger") || node_is(n, "MatMulInteger"))
        *d = (Dot){n->nin > 1 ? n->in[0] : 0, n->nin > 1 ? n->in[1] : 0, node_is(n, "ConvInteger")};
    else if (node_is(n, "Conv") || node_is(n, "MatMul") || node_is(n, "Gemm"))
        *d = (Dot){quantized_operand(m, n, 0), quantized_operand(m, n, 1),
                   node_is(n, "Conv") || node_int(n, "transB", 0)};
    else
        return false;
    return d->data && d->weight && lint_dtype(m, d->data) == DT_U8 &&
           lint_dtype(m, d->weight) == DT_I8;
}

// Pairs of weights that with two inputs of 255 leave 16 bits, of all pairs; the worst of them.
static uint64_t count_pairs(Model *m, const Dot *d, uint64_t *all, int *a, int *b)
{
    Elements x = elements_of(m, d->weight);
    const Value *w = value_at(m, d->weight);
    uint64_t bad = 0, step = 1, inner;
    int64_t k = 0, n = 0;
    int worst = 0;
    *all = 0;
    if (!x.n || w->rank < 2 || !poly_is_const(w->dims[0], &k) ||
        !poly_is_const(w->dims[w->rank - 1], &n) || k < 1 || n < 1)
        return 0;
    inner = d->rows ? x.n / (uint64_t)k : 0; // elements of one output channel
    step = d->rows ? 1 : (uint64_t)n;
    for (uint64_t i = 0; i + step < x.n; i++) {
        bool first = d->rows ? i % inner % 2 == 0 && i % inner + 1 < inner : i / step % 2 == 0;
        if (!first)
            continue;
        int p = (int)element_at(&x, i), q = (int)element_at(&x, i + step), sum = 0;
        int high = (p > 0 ? p : 0) + (q > 0 ? q : 0), low = (p < 0 ? p : 0) + (q < 0 ? q : 0);
        sum = high > -low ? high : -low;
        ++*all;
        bad += 255 * high > INT16_MAX || 255 * low < INT16_MIN;
        if (sum > worst) {
            worst = sum;
            *a = p;
            *b = q;
        }
    }
    return bad;
}

// The node that reads the weight beside its scale, and their operands; node 0: there is none.
typedef struct Scaled {
    NodeId node;
    uint32_t weight, scale, zero_point;
} Scaled;

static Scaled scaled_weight(Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    Scaled s = {id, 3, 4, 5};
    if (!node_is(n, "QLinearConv") && !node_is(n, "QLinearMatMul")) {
        const Value *v = n->nin > 1 && n->in[1] ? value_at(m, n->in[1]) : NULL;
        s = (Scaled){v && v->def == DEF_NODE ? v->node : 0, 0, 1, 2};
        if (!s.node || !node_is(node_at(m, s.node), "DequantizeLinear"))
            return (Scaled){0, 0, 0, 0};
    }
    n = node_at(m, s.node);
    Elements scale = elements_of(m, s.scale < n->nin ? n->in[s.scale] : 0);
    Elements zero = elements_of(m, s.zero_point < n->nin ? n->in[s.zero_point] : 0);
    bool given = s.zero_point < n->nin && n->in[s.zero_point];
    bool symmetric = scale.n && scale.dtype == DT_F32 && (zero.n || !given);
    for (uint64_t i = 0; i < zero.n; i++)
        symmetric &= element_at(&zero, i) == 0;
    return symmetric ? s : (Scaled){0, 0, 0, 0};
}

void lint_dot_saturation(Lint *l)
{
    const Target *t = target_of(l->m);
    if (!t || !target_pairs_in_16_bits(t))
        return;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        Dot dot;
        uint64_t all, bad;
        int a = 0, b = 0;
        if (n->dead || !find_dot(l->m, n, &dot))
            continue;
        bad = count_pairs(l->m, &dot, &all, &a, &b);
        if (!bad || !lint_first_time(l, "QN006", id))
            continue;
        Diag *d =
            diag(l->diags, "QN006", SEV_WARNING, location_node(l->m, l->arena, id),
                 "sums of %.*s can saturate on %s: %llu of %llu pairs of weights leave 16 bits",
                 STR_ARG(str_escaped(l->arena, n->op)), t->name, (unsigned long long)bad,
                 (unsigned long long)all);
        d->value = lint_name(l, dot.weight);
        lint_about_node(l, d, id);
        int high = (a > 0 ? a : 0) + (b > 0 ? b : 0), low = (a < 0 ? a : 0) + (b < 0 ? b : 0);
        diag_note(l->diags, d,
                  "proved: weights %d and %d with inputs of 255 make %d, and 16 bits end at "
                  "%d",
                  a, b, 255 * (high > -low ? high : low), high > -low ? INT16_MAX : INT16_MIN);
        diag_note(l->diags, d,
                  "processors with AVX2 or AVX-512 but without VNNI add pairs of products of "
                  "uint8 and int8 in 16 bits");
        if (scaled_weight(l->m, id).node)
            diag_fix(l->diags, d, false,
                     "halve the weights and double their scale: 7 bits, each value "
                     "off by at most one step");
        else
            diag_help(l->diags, d,
                      "quantize the weights to 7 bits (reduce_range), or inputs to int8");
        diag_help(l->diags, d, "see `cameo explain QN006`");
    }
}

static ValueId constant_before(Model *m, NodeId before, ValueId like, TensorData *t)
{
    Str name =
        str_printf(m->arena, "%.*s_7bit_%u", STR_ARG(value_at(m, like)->name), m->values.len);
    NodeId id = node_build(m, node_at(m, before)->graph, "Constant", NULL, 0, name);
    Node *n = node_at(m, id);
    n->attrs = NEW(m->arena, Attr);
    n->nattrs = 1;
    n->attrs[0] = (Attr){
        .name = STR("value"), .type = ATTR_TENSOR, .has = ATTR_HAS_NAME | ATTR_HAS_TYPE, .t = t};
    graph_insert_before(m, before, id);
    return node_at(m, id)->out[0];
}

static void halve_weight(Model *m, const Scaled *s)
{
    ValueId w = node_at(m, s->node)->in[s->weight], scale = node_at(m, s->node)->in[s->scale];
    const TensorData *a = value_at(m, w)->constant, *b = value_at(m, scale)->constant;
    Elements x = elements_of(m, w), y = elements_of(m, scale);
    int8_t *halves = NEWS(m->arena, int8_t, x.n + 1);
    float *doubles = NEWS(m->arena, float, y.n + 1);
    for (uint64_t i = 0; i < x.n; i++)
        halves[i] = (int8_t)nearbyint(element_at(&x, i) / 2);
    for (uint64_t i = 0; i < y.n; i++)
        doubles[i] = (float)(2 * element_at(&y, i));
    TensorData *weights = tensor_new(m->arena, DT_I8, a->rank, a->dims, halves);
    TensorData *scales = tensor_new(m->arena, DT_F32, b->rank, b->dims, doubles);
    ValueId in = constant_before(m, s->node, w, weights);
    node_at(m, s->node)->in[s->weight] = in;
    in = constant_before(m, s->node, scale, scales);
    node_at(m, s->node)->in[s->scale] = in;
}

uint32_t repair_dot_saturation(Model *m, bool unsafe)
{
    const Target *t = target_of(m);
    uint32_t made = 0, nodes = m->nodes.len;
    for (NodeId id = 1; unsafe && t && target_pairs_in_16_bits(t) && id < nodes; id++) {
        Dot dot;
        uint64_t all;
        int a, b;
        if (node_at(m, id)->dead || !find_dot(m, node_at(m, id), &dot) ||
            !count_pairs(m, &dot, &all, &a, &b))
            continue;
        Scaled s = scaled_weight(m, id);
        if (!s.node)
            continue;
        halve_weight(m, &s);
        infer_node(m, value_at(m, node_at(m, s.node)->in[s.weight])->node, NULL);
        infer_node(m, value_at(m, node_at(m, s.node)->in[s.scale])->node, NULL);
        made++;
    }
    return made;
}
