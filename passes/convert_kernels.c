// What bfloat16 costs and saves in Cameo's own kernels, node by node.
//
// They compute in float32 but for products in tiles. So a convolution gains in its multiply-adds
// and pays for each element that is copied for the tiles; one in groups, which has none, only pays,
// unless each channel is a group and values lie in pixels (codegen/cpu/layouts.h).
// What works element by element takes as long either way. A Cast to bfloat16 is a kernel of its own
// where a convolution of float32 is behind it, and one from bfloat16 goes into whatever reads it.

#include "passes/convert_parts.h"

const ConvertHalves *convert_kernels(const Conversion *c)
{
    return c->o->in_memory && c->o->to == DT_BF16 ? c->o->halves : NULL;
}

bool convert_is_convolution(const Node *n)
{
    return str_is(n->op, "Conv") || str_is(n->op, "FusedConv") || str_is(n->op, "ConvTranspose");
}

// Has each channel a window of its own, in one plane?
static bool are_windows(const Model *m, const Node *n, int64_t groups)
{
    const Value *w = value_at(m, n->in[1]);
    return str_is(n->op, "Conv") && w->rank == 4 && poly_equals(w->dims[0], groups) &&
           poly_equals(w->dims[1], 1);
}

double convert_kernel_price(const Conversion *c, NodeId id, uint32_t label)
{
    const ConvertHalves *t = convert_kernels(c);
    const Node *n = node_at(c->m, id);
    double products = convert_products(c->m, id);
    int64_t groups = node_int(n, "group", 1);
    bool tiles = !str_is(n->op, "ConvTranspose") && groups == 1;
    if (label == LABEL_OWN || (t->windows && !tiles && are_windows(c->m, n, groups)))
        return products;
    double copied = convert_weight(c, n->in[0]) + convert_weight(c, n->out[0]);
    return products / (tiles ? t->products : 1) + t->copied * copied;
}

double convert_kernel_cast(const Conversion *c, ValueId v, uint32_t label)
{
    const Value *value = value_at(c->m, v);
    bool of_tiles = value->def == DEF_NODE && convert_products(c->m, value->node) > 0;
    return label == LABEL_OWN && of_tiles ? 0 : convert_kernels(c)->copied * convert_weight(c, v);
}
