// Prices of a conversion, and the choice: see convert_precision.c.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/convert_parts.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

// Bytes that are moved in the time that it takes to start a kernel, where kernels are queued.
static const double COST_OF_LAUNCH = 65536;
enum { FASTER_PRODUCTS = 8 };      // of float16 and bfloat16 against float32, on devices
static const double MOST = 0x1p55; // all prices together

// ---- prices -------------------------------------------------------------------------------------

static double count_of(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    double n = value->rank < 0 ? 256 : 1;
    for (int32_t i = 0; i < value->rank; i++) {
        int64_t k;
        n *= poly_is_const(value->dims[i], &k) ? (double)(k > 0 ? k : 0) : 16;
    }
    return n;
}

static double dim_of(const Model *m, ValueId v, int32_t axis)
{
    const Value *value = value_at(m, v);
    int64_t k;
    if (axis < 0)
        axis += value->rank;
    if (axis < 0 || axis >= value->rank)
        return 16;
    return poly_is_const(value->dims[axis], &k) && k > 0 ? (double)k : 16;
}

static bool is_any(const Node *n, const char *const *names)
{
    for (; *names; names++)
        if (str_is(n->op, *names))
            return true;
    return false;
}

static double loops_around(const Model *m, GraphId g)
{
    double times = 1;
    for (; g; g = graph_at(m, g)->parent) {
        NodeId owner = graph_at(m, g)->owner;
        if (owner && (node_is(node_at(m, owner), "Loop") || node_is(node_at(m, owner), "Scan")))
            times *= 16;
    }
    return times;
}

double convert_products(const Model *m, NodeId id)
{
    static const char *const cells[] = {"LSTM", "GRU", "RNN", NULL};
    static const char *const rows[] = {"MatMul",    "FusedMatMul",        "Einsum",
                                       "Attention", "MultiHeadAttention", NULL};
    const Node *n = node_at(m, id);
    bool conv = str_is(n->op, "Conv") || str_is(n->op, "FusedConv");
    bool transposed = str_is(n->op, "ConvTranspose"), gemm = str_is(n->op, "Gemm");
    if (n->nin < 2 || !n->in[0] || !n->in[1] || !n->nout)
        return 0;
    double times = loops_around(m, n->graph);
    if (is_any(n, cells) && n->nin > 2 && n->in[2])
        return times * dim_of(m, n->in[0], 0) * dim_of(m, n->in[0], 1) *
               (count_of(m, n->in[1]) + count_of(m, n->in[2]));
    ValueId y = n->out[0];
    if (!y || value_at(m, y)->kind != TYPE_TENSOR)
        return 0;
    if (conv || transposed)
        return times * count_of(m, transposed ? n->in[0] : y) * count_of(m, n->in[1]) /
               dim_of(m, n->in[1], 0);
    if (gemm)
        return times * count_of(m, y) * dim_of(m, n->in[0], node_int(n, "transA", 0) ? 0 : 1);
    return is_any(n, rows) ? times * count_of(m, y) * dim_of(m, n->in[0], -1) : 0;
}

// What a byte of memory's time buys in multiply-adds of float32.
static double products_a_byte(const Conversion *c)
{
    const TargetSpeed *s = c->o->target ? target_speed(c->o->target) : NULL;
    return s ? s->flops / 2 / s->memory : 19500.0 / 2 / 1555;
}

static double gain(const Conversion *c)
{
    const Target *t = c->o->target;
    bool host = t && strcmp(t->device, "cpu") == 0;
    return host || c->o->to == DT_F64 ? 1 : FASTER_PRODUCTS;
}

bool convert_is_measured(const Conversion *c, ValueId v)
{
    return c->o->measured && v < c->o->nfacts && c->o->measured[v].greatest >= 0;
}

double convert_noise(const Conversion *c, ValueId v)
{
    return c->o->noise && v < c->o->nfacts ? c->o->noise[v] : 0;
}

double convert_weight(const Conversion *c, ValueId v)
{
    bool known = convert_is_measured(c, v) && c->o->measured[v].elements > 0;
    return known ? c->o->measured[v].elements : value_weight(c->m, v);
}

static double cast_bytes(const Conversion *c, ValueId v)
{
    double width = dtype_info(ties_dtype(c->m, v))->bytes + dtype_info(c->o->to)->bytes;
    return convert_weight(c, v) * width + COST_OF_LAUNCH;
}

// Time of everything as it is, in bytes moved.
static double whole_time(const Conversion *c)
{
    double all = 1;
    for (NodeId n = 1; n < c->m->nodes.len; n++)
        if (c->of_node[n] != NO_TIE)
            all += convert_products(c->m, n) / products_a_byte(c);
    for (uint32_t i = 0; i < c->t->at.len; i++)
        if (convert_is_float(c, i))
            all += c->weight[i] * dtype_info(c->own[i])->bytes;
    return all;
}

// ---- the problem --------------------------------------------------------------------------------

// The labels that a tie may have, whatever its group says.
static LabelSet labels_of_tie(const Conversion *c, uint32_t i)
{
    const Tie *tie = &c->t->at.at[i];
    LabelSet low = 1u << LABEL_LOW, own = 1u << LABEL_OWN;
    if (!convert_is_float(c, i))
        return low | own; // of a value that is not in the problem
    if (c->own[i] == c->o->to)
        return low;
    if (tie->kind == TIE_FIXED || !(tie->allowed >> c->o->to & 1))
        return own;
    return low | own;
}

// Has the node of a group to be in `to`, if it may be?
static bool is_wanted(const Conversion *c, uint32_t group)
{
    NodeId n = c->node[group];
    if (!c->makes[group])
        return false; // it only looks at numbers: as is cheapest
    if (c->o->to == DT_F64 || c->o->policy != CONVERT_CAMEO)
        return true;
    if (n && convert_by_kernel(c, n))
        return false; // as is quickest
    if (n && n < c->o->nlowered && c->o->lowered[n])
        return true;
    return n && !c->o->mixed && c->o->lambda <= 0 && convert_products(c->m, n) > 0;
}

static void make_variables(Conversion *c)
{
    uint32_t n = c->t->at.len;
    LabelSet *allowed = NEWS(c->a, LabelSet, n + 1u);
    memset(allowed, 0xff, n * sizeof *allowed);
    for (uint32_t i = 0; i < n; i++)
        allowed[convert_group(c, i)] &= labels_of_tie(c, i);
    c->l = labels_new(c->a, CONVERT_LABELS);
    for (int k = 0; k < CONVERT_LABELS; k++)
        c->fixed[k] = labels_variable(c->l, 1u << k);
    for (uint32_t i = 0; i < n; i++) {
        LabelSet set = allowed[i] & ((1u << CONVERT_LABELS) - 1);
        if (convert_group(c, i) != i)
            continue;
        if (!set)
            set = 1u << LABEL_OWN;
        bool both = (set & (set - 1)) != 0;
        c->priced[i] = both && !c->why[i].len;
        if (both && c->why[i].len)
            set = 1u << LABEL_OWN;
        else if (both && c->t->at.at[i].kind == TIE_NODE && is_wanted(c, i))
            set = 1u << LABEL_LOW;
        c->variable[i] = labels_variable(c->l, set);
    }
}

uint32_t convert_variable(const Conversion *c, uint32_t tie)
{
    return tie == NO_TIE ? c->fixed[LABEL_OWN] : c->variable[convert_group(c, tie)];
}

static bool in_problem(const Conversion *c, ValueId v)
{
    DType d = ties_dtype(c->m, v);
    bool tensor = value_at(c->m, v)->kind == TYPE_TENSOR || value_at(c->m, v)->kind == TYPE_NONE;
    return tensor && (convert_is_from(c, d) || d == c->o->to) &&
           (c->t->first_use[v] != c->t->first_use[v + 1] ||
            c->first_loose[v] != c->first_loose[v + 1]);
}

bool convert_is_initializer(const Conversion *c, ValueId v)
{
    uint32_t maker = c->t->maker[v];
    return maker != NO_TIE && c->t->at.at[maker].kind == TIE_CONSTANT && value_at(c->m, v)->init &&
           constant_data(c->m, v);
}

// Where not all products that may be in `to` can be, as many multiply-adds as noise allows are:
// those that are not cost their share of this, in bytes moved.
static double reward(const Conversion *c, double all)
{
    bool asked = c->o->lambda > 0 && !c->o->mixed && c->o->policy == CONVERT_CAMEO;
    double products = 0;
    for (NodeId n = 1; asked && n < c->m->nodes.len; n++)
        products += c->of_node[n] == NO_TIE ? 0 : convert_products(c->m, n);
    return products > 0 ? all / products : 0;
}

// `unit`: of noise, in bytes moved.
static void price_variables(Conversion *c, double scale, double by_product, double unit)
{
    double *price = NEWS(c->a, double, (c->t->at.len + 1u) * 2);
    for (uint32_t i = 0; i < c->t->at.len; i++) {
        uint32_t g = convert_group(c, i);
        if (!convert_is_float(c, i))
            continue;
        price[2 * g + LABEL_LOW] +=
            c->weight[i] * dtype_info(convert_kernels(c) ? c->own[i] : c->o->to)->bytes;
        price[2 * g + LABEL_OWN] += c->weight[i] * dtype_info(c->own[i])->bytes;
    }
    for (NodeId n = 1; n < c->m->nodes.len; n++) {
        double products = c->of_node[n] == NO_TIE ? 0 : convert_products(c->m, n);
        uint32_t g = products > 0 ? convert_group(c, c->of_node[n]) : 0;
        if (products > 0 && convert_by_kernel(c, n)) {
            for (uint32_t k = 0; k < CONVERT_LABELS; k++)
                price[2 * g + k] += convert_kernel_price(c, n, k) / products_a_byte(c);
        } else if (products > 0) {
            price[2 * g + LABEL_OWN] += products / products_a_byte(c) + products * by_product;
            price[2 * g + LABEL_LOW] += products / products_a_byte(c) / gain(c);
        }
    }
    for (ValueId v = 1; unit > 0 && v < c->t->nvalues; v++)
        if (c->t->maker[v] != NO_TIE && convert_is_float(c, c->t->maker[v]))
            price[2 * convert_group(c, c->t->maker[v]) + LABEL_LOW] += unit * convert_noise(c, v);
    for (uint32_t i = 0; i < c->t->at.len; i++)
        for (uint32_t k = 0; k < CONVERT_LABELS && convert_group(c, i) == i; k++)
            labels_price(c->l, c->variable[i], k,
                         (Cost)fmin(MOST, price[2 * i + k] * scale) +
                             (k == LABEL_LOW && convert_kernels(c)));
}

static void price_adaptors(Conversion *c, ValueId v, double scale, double unit)
{
    double bytes = cast_bytes(c, v);
    double back = bytes;
    bool stored = convert_is_initializer(c, v);
    if (convert_kernels(c)) {
        bytes = convert_kernel_cast(c, v, LABEL_LOW) / products_a_byte(c);
        back = convert_kernel_cast(c, v, LABEL_OWN) / products_a_byte(c);
    }
    double copy = count_of(c->m, v) * dtype_info(c->o->to)->bytes;
    double low = (stored ? copy : bytes) + unit * convert_noise(c, v);
    labels_adaptor(c->l, c->value[v], LABEL_LOW, 1 + (Cost)fmin(MOST, low * scale));
    // What is rounded once is not what it was.
    labels_adaptor(c->l, c->value[v], LABEL_OWN,
                   stored ? (Cost)MOST : 1 + (Cost)fmin(MOST, back * scale));
}

void convert_choose(Conversion *c)
{
    const Ties *t = c->t;
    double all = whole_time(c), scale = 1;
    const double unit = c->o->lambda > 0 ? c->o->lambda * all : 0;
    for (ValueId v = 1; v < t->nvalues; v++)
        if (in_problem(c, v))
            all += 2 * cast_bytes(c, v);
    const double by_product = reward(c, all);
    if (by_product > 0)
        all *= 2;
    if (all > 0x1p44)
        scale = 0x1p44 / all;
    make_variables(c);
    price_variables(c, scale, by_product, unit);
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (!in_problem(c, v))
            continue;
        bool low = ties_dtype(c->m, v) == c->o->to;
        c->value[v] =
            labels_value(c->l, low ? c->fixed[LABEL_LOW] : convert_variable(c, t->maker[v]));
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            labels_use(c->l, c->value[v],
                       low ? c->fixed[LABEL_LOW] : convert_variable(c, t->uses.at[i].tie));
        if (!low && c->first_loose[v] != c->first_loose[v + 1])
            labels_use(c->l, c->value[v], c->fixed[LABEL_OWN]);
        if (!low)
            price_adaptors(c, v, scale, unit);
    }
    labels_solve(c->l);
}

// ---- what was chosen ----------------------------------------------------------------------------

bool convert_is_low(const Conversion *c, uint32_t tie)
{
    return tie != NO_TIE && labels_of(c->l, convert_variable(c, tie)) == LABEL_LOW;
}

// Does the value come to have `to`, and has it another dtype now?
bool convert_becomes_low(const Conversion *c, ValueId v)
{
    return c->value[v] != NO_TIE && ties_dtype(c->m, v) != c->o->to &&
           convert_is_low(c, c->t->maker[v]);
}

// Is the value one that `to` does not hold, and some node reads it in `to`?
static bool is_read_low(const Conversion *c, ValueId v)
{
    bool low = false;
    for (uint32_t i = c->t->first_use[v]; !low && i < c->t->first_use[v + 1]; i++)
        low = convert_is_low(c, c->t->uses.at[i].tie);
    return low && convert_is_from(c, ties_dtype(c->m, v));
}

bool convert_is_rounded(const Conversion *c, ValueId v)
{
    return convert_becomes_low(c, v) || (c->value[v] != NO_TIE && is_read_low(c, v));
}
