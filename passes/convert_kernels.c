// What bfloat16 costs and saves in Cameo's own kernels, node by node.
//
// They compute in float32 but for products in tiles. So a convolution gains in its multiply-adds
// and pays for each element that is copied for the tiles; one in groups, which has none, only pays,
// unless each channel is a group and values lie in pixels (codegen/cpu/layouts.h).
// A product of two computed factors that is no work for tiles, as attention of one row over what
// came before, is float32's: in bfloat16 it only pays for both factors, which are widened.
// What works element by element takes as long either way. A Cast to bfloat16 is a kernel of its own
// where a convolution of float32 is behind it, and one from bfloat16 goes into whatever reads it.

#include "passes/convert_parts.h"

enum { TILE_ROWS = 16 /* of matrix registers */, LEAST_CHANNELS = 8, CONSTANT_NODES = 4 };

const ConvertHalves *convert_kernels(const Conversion *c)
{
    return c->o->in_memory && c->o->to == DT_BF16 ? c->o->halves : NULL;
}

static bool is_convolution(const Node *n)
{
    return str_is(n->op, "Conv") || str_is(n->op, "FusedConv") || str_is(n->op, "ConvTranspose");
}

// Is the value computed of constants alone, by no more than some nodes?
static bool is_constant(const Model *m, ValueId v, int nodes)
{
    const Value *value = value_at(m, v);
    if (value->init || value->def != DEF_NODE || !nodes)
        return value->init;
    const Node *n = node_at(m, value->node);
    bool all = true;
    for (uint32_t i = 0; i < n->nin && all; i++)
        all = !n->in[i] || is_constant(m, n->in[i], nodes - 1);
    return all;
}

static bool is_computed(const Model *m, ValueId v)
{
    return v && !is_constant(m, v, CONSTANT_NODES) && value_at(m, v)->rank >= 2;
}

// Fewer than a tile of matrix registers has, or none of these? What is not known is enough.
static bool is_few(const Model *m, ValueId v, int32_t axis)
{
    int64_t n;
    const Value *value = value_at(m, v);
    return value->rank >= axis && poly_is_const(value->dims[value->rank - axis], &n) &&
           n < TILE_ROWS;
}

// Is it a product of two computed factors whose kernel widens them?
static bool is_widened(const Conversion *c, const Node *n)
{
    const ConvertHalves *t = convert_kernels(c);
    const Model *m = c->m;
    if (!str_is(n->op, "MatMul") || n->nin != 2 || !is_computed(m, n->in[0]) ||
        !is_computed(m, n->in[1]))
        return false;
    return t->products <= 1 || is_few(m, n->in[0], 2) || is_few(m, n->in[0], 1) ||
           is_few(m, n->in[1], 1);
}

bool convert_by_kernel(const Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    return convert_kernels(c) && (is_convolution(n) || is_widened(c, n));
}

// Has each channel a window of its own, in one plane?
static bool are_windows(const Model *m, const Node *n, int64_t groups)
{
    const Value *w = value_at(m, n->in[1]);
    return str_is(n->op, "Conv") && w->rank == 4 && poly_equals(w->dims[0], groups) &&
           poly_equals(w->dims[1], 1);
}

// May it lie in pixels, which convolutions read where they lie?
static bool is_in_pixels(const Model *m, ValueId v)
{
    const Value *x = value_at(m, v);
    bool known = x->def == DEF_NODE && x->rank == 4;
    for (int32_t i = 1; i < 4 && known; i++) {
        int64_t n;
        known = poly_is_const(x->dims[i], &n) && (i > 1 || n >= LEAST_CHANNELS);
    }
    return known;
}

double convert_kernel_price(const Conversion *c, NodeId id, uint32_t label)
{
    const ConvertHalves *t = convert_kernels(c);
    const Node *n = node_at(c->m, id);
    double products = convert_products(c->m, id);
    if (!is_convolution(n)) {
        double both = convert_weight(c, n->in[0]) + convert_weight(c, n->in[1]);
        return products + (label == LABEL_LOW ? t->copied * both : 0);
    }
    int64_t groups = node_int(n, "group", 1);
    bool tiles = !str_is(n->op, "ConvTranspose") && groups == 1;
    if (label == LABEL_OWN || (t->windows && !tiles && are_windows(c->m, n, groups)))
        return products;
    double copied = convert_weight(c, n->out[0]) +
                    (t->windows && is_in_pixels(c->m, n->in[0]) ? 0 : convert_weight(c, n->in[0]));
    return products / (tiles ? t->products : 1) + t->copied * copied;
}

double convert_kernel_cast(const Conversion *c, ValueId v, uint32_t label)
{
    const Value *value = value_at(c->m, v);
    bool of_tiles = value->def == DEF_NODE && convert_products(c->m, value->node) > 0;
    return label == LABEL_OWN && of_tiles ? 0 : convert_kernels(c)->copied * convert_weight(c, v);
}
