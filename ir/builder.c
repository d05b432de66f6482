#include "ir/builder.h"

Builder builder_of(Model *m, Arena *scratch)
{
    Builder b = {.m = m, .names = {.arena = scratch}};
    for (ValueId v = 1; v < m->values.len; v++)
        map_put(&b.names, value_at(m, v)->name, NULL);
    return b;
}

Str builder_name(Builder *b, Str base, const char *what)
{
    Str name = STR_NONE;
    bool added = false;
    for (uint32_t i = 0; !added; i++) {
        name = i ? str_printf(b->m->arena, "%.*s_%s_%u", STR_ARG(base), what, i)
                 : str_printf(b->m->arena, "%.*s_%s", STR_ARG(base), what);
        map_put(&b->names, name, &added);
    }
    return name;
}

void value_initialize(Model *m, GraphId g, ValueId id, TensorData *t)
{
    Value *v = value_at(m, id);
    t->name = v->name;
    t->has |= TENSOR_HAS_NAME;
    v->def = DEF_INITIALIZER;
    v->init = t;
    v->constant = t;
    vec_push(m->arena, &graph_at(m, g)->initializers, ((Initializer){id, t}));
}

ValueId builder_constant(Builder *b, GraphId g, Str base, const char *what, TensorData *t)
{
    ValueId id = value_new(b->m, g, builder_name(b, base, what));
    value_initialize(b->m, g, id, t);
    return id;
}

NodeId builder_node(Builder *b, GraphId g, NodeId origin, const char *op, const ValueId *in,
                    uint32_t nin)
{
    Str base = value_at(b->m, node_at(b->m, origin)->out[0])->name;
    NodeId id = node_build(b->m, g, op, in, nin, builder_name(b, base, op));
    Node *n = node_at(b->m, id);
    const Node *from = node_at(b->m, origin);
    n->name = from->name;
    n->has |= from->has & NODE_HAS_NAME;
    n->position = from->position;
    n->copy_of = from->copy_of;
    n->call = from->call;
    return id;
}

ValueId builder_before(Builder *b, NodeId origin, const char *op, const ValueId *in, uint32_t nin)
{
    const NodeId made = builder_node(b, node_at(b->m, origin)->graph, origin, op, in, nin);
    graph_insert_before(b->m, origin, made);
    return node_at(b->m, made)->out[0];
}

ValueId builder_integers(Builder *b, NodeId origin, const char *what, uint32_t n,
                         const int64_t *from)
{
    const int64_t dims[] = {n};
    const Node *node = node_at(b->m, origin);
    return builder_constant(b, node->graph, value_at(b->m, node->out[0])->name, what,
                            tensor_new(b->m->arena, DT_I64, 1, dims, from));
}

void builder_replace(Builder *b, NodeId old, NodeId made)
{
    ValueId result = node_at(b->m, old)->out[0];
    node_at(b->m, made)->out[0] = result;
    value_at(b->m, result)->node = made;
    value_at(b->m, result)->index = 0;
    graph_remove(b->m, old);
}

ValueId builder_vector_input(Model *m, GraphId g, const char *name, DType t, int64_t n)
{
    ValueId id = value_new(m, g, str_of(name));
    Type *type = NEW(m->arena, Type);
    DeclDim *dim = NEW(m->arena, DeclDim);
    Index *dims = NEWS(m->arena, Index, 1);
    *dim = (DeclDim){.kind = DIM_VALUE, .value = n};
    *type = (Type){.kind = TYPE_TENSOR,
                   .elem = (int32_t)t,
                   .has_elem = true,
                   .has_shape = true,
                   .rank = 1,
                   .dims = dim};
    dims[0] = poly_const(m->polys, n);
    Value *v = value_at(m, id);
    v->def = DEF_INPUT;
    v->index = graph_at(m, g)->inputs.len;
    v->declared = type;
    v->kind = TYPE_TENSOR;
    v->dtype = t;
    v->rank = 1;
    v->dims = dims;
    vec_push(m->arena, &graph_at(m, g)->inputs, ((ValueInfo){.value = id, .type = type, .has = 1}));
    return id;
}
