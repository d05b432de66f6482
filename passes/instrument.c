// Outputs for all values, and values told apart by how they are computed.

#include "passes/instrument.h"
#include "ir/lists.h"

static DeclDim declared_dim(const Model *m, Index dim)
{
    DeclDim d = {.kind = DIM_UNSET};
    int64_t size;
    if (poly_is_const(dim, &size)) {
        d.kind = DIM_VALUE;
        d.value = size;
        return d;
    }
    bool alone = dim->nterms == 1 && dim->terms[0].natoms == 1 && dim->terms[0].coeff == 1 &&
                 dim->terms[0].atoms[0]->kind == ATOM_DIM;
    Str name = alone ? dim_name(m->polys, dim->terms[0].atoms[0]->var) : STR_NONE;
    if (name.len && map_get(&m->dim_params, name)) { // a name of the model's, for that very dim
        d.kind = DIM_PARAM;
        d.param = name;
    }
    return d;
}

Type *instrument_type(Model *m, const Value *v)
{
    const Type *t = value_type(m->arena, v);
    if (!t || (v->kind == TYPE_TENSOR && v->rank < 0)) // an output has a rank
        return NULL;
    Type *own = NEW(m->arena, Type);
    *own = *t;
    if (v->kind != TYPE_TENSOR)
        return own;
    own->has_shape = true;
    own->rank = (uint32_t)v->rank;
    own->dims = NEWS(m->arena, DeclDim, own->rank + 1u);
    for (uint32_t i = 0; i < own->rank; i++)
        own->dims[i] = declared_dim(m, v->dims[i]);
    return own;
}

typedef struct Count {
    const Model *m;
    uint32_t inner;
} Count;

static void count_inner(void *context, NodeId n)
{
    Count *c = context;
    if (node_at(c->m, n)->graph != c->m->main)
        for (uint32_t o = 0; o < node_at(c->m, n)->nout; o++)
            c->inner += node_at(c->m, n)->out[o] != 0;
}

uint32_t instrument_model(Model *m, uint32_t *left)
{
    Arena *scratch = arena_new();
    uint8_t *given = NEWS(scratch, uint8_t, m->values.len);
    Count count = {.m = m};
    uint32_t added = 0;
    graph_walk(m, m->main, count_inner, &count);
    *left = count.inner;
    Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        given[g->outputs.at[i].value] = 1;
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        const Node *n = node_at(m, g->nodes.at[i]);
        for (uint32_t o = 0; o < n->nout; o++) {
            ValueId v = n->out[o];
            if (!v || given[v])
                continue;
            Type *t = instrument_type(m, value_at(m, v));
            given[v] = 1;
            *left += t == NULL;
            if (!t)
                continue;
            vec_push(m->arena, &g->outputs, ((ValueInfo){.value = v, .type = t, .has = 1}));
            added++;
        }
    }
    arena_free(scratch);
    return added;
}

// ---- structure ---------------------------------------------------------------------------------

static uint64_t hash_of_constant(const Model *m, ValueId v)
{
    const TensorData *t = value_at(m, v)->constant;
    uint64_t h = 0x51;
    for (uint32_t i = 0; t && i < t->rank; i++)
        h = hash_word(h, (uint64_t)t->dims[i]);
    return h;
}

static bool is_float_cast(const Model *m, const Node *n)
{
    return (node_is(n, "Cast") || node_is(n, "CastLike")) && n->nin && n->nout == 1 && n->in[0] &&
           dtype_is_float(value_at(m, n->in[0])->dtype) &&
           dtype_is_float(value_at(m, n->out[0])->dtype);
}

const uint64_t *structure_of(const Model *m, Arena *scratch)
{
    uint64_t *hash = NEWS(scratch, uint64_t, m->values.len);
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++)
        hash[g->inputs.at[i].value] = hash_word(0x1f, i);
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        const Node *n = node_at(m, g->nodes.at[i]);
        uint64_t h = hash_bytes(n->op.at, n->op.len, n->nin);
        for (uint32_t k = 0; k < n->nin; k++) {
            ValueId v = n->in[k];
            h = hash_word(h, !v ? 0 : hash[v] ? hash[v] : hash_of_constant(m, v));
        }
        if (is_float_cast(m, n)) {
            hash[n->out[0]] = hash[n->in[0]];
            continue;
        }
        for (uint32_t o = 0; o < n->nout; o++)
            if (n->out[o])
                hash[n->out[o]] = hash_word(h, o + 1u);
    }
    return hash;
}
