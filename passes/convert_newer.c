// Operators that a later opset defines as before, for more dtypes: bfloat16 came to most at opset
// 13, to others at 22. Where no file is written, a model of an older opset has them in bfloat16
// too: what they compute is what its own opset says.

#include "passes/convert_parts.h"

#include <string.h>

enum { OPSET = 22, LEAST = 7 };

// Do `n` parameters that fit the old ones, the last of which may stand for several, fit the new?
static bool takes_all(const SchemaParam *own, uint32_t nown, const SchemaParam *newer,
                      uint32_t nnewer, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < nown; i++)
        if (i >= nnewer || (own[i].types & ~newer[i].types) != 0 ||
            (own[i].option == PARAM_VARIADIC) != (newer[i].option == PARAM_VARIADIC))
            return false;
    return true;
}

static const SchemaAttr *attr_of(const Schema *s, const char *name)
{
    for (uint32_t i = 0; i < s->nattrs; i++)
        if (strcmp(s->attrs[i].name, name) == 0)
            return &s->attrs[i];
    return NULL;
}

static bool is_default_same(const SchemaAttr *a, const SchemaAttr *b)
{
    if (a->type != b->type || a->has_default != b->has_default || a->required != b->required)
        return false;
    return a->i == b->i && a->f == b->f && !a->s == !b->s && (!a->s || strcmp(a->s, b->s) == 0) &&
           a->nints == b->nints &&
           (!a->nints || memcmp(a->ints, b->ints, a->nints * sizeof *a->ints) == 0);
}

// Is the node, which fits `own`, said by `newer` too, with the same defaults?
static bool only_adds(const Node *n, const Schema *own, const Schema *newer)
{
    if (newer->deprecated || newer->min_in > own->min_in || newer->min_out > own->min_out ||
        newer->max_in < n->nin || newer->max_out < n->nout ||
        !takes_all(own->inputs, own->ninputs, newer->inputs, newer->ninputs, n->nin) ||
        !takes_all(own->outputs, own->noutputs, newer->outputs, newer->noutputs, n->nout))
        return false;
    for (uint32_t i = 0; i < own->nattrs; i++) {
        const SchemaAttr *a = attr_of(newer, own->attrs[i].name);
        if (!a || !is_default_same(&own->attrs[i], a))
            return false;
    }
    for (uint32_t i = 0; i < newer->nattrs; i++)
        if (newer->attrs[i].required && !attr_of(own, newer->attrs[i].name))
            return false;
    return true;
}

void convert_bind_newer(Model *m, NodeId id)
{
    Node *n = node_at(m, id);
    int64_t opset = n->dead || !is_standard_domain(n->domain) ? OPSET : opset_of(m, n);
    if (opset < LEAST || opset >= OPSET)
        return;
    const Schema *own = schema_find(n->domain, n->op, opset);
    const Schema *newer = schema_find(n->domain, n->op, OPSET);
    if (!own || own->deprecated || newer->since == own->since || !only_adds(n, own, newer))
        return;
    n->types_opset = OPSET;
    registry_bind_node(m, id);
}

void convert_take_newer(Model *m)
{
    for (NodeId id = 1; id < m->nodes.len; id++)
        convert_bind_newer(m, id);
}
