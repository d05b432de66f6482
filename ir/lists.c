// Types of lists, and what is known of the tensors that they hold.

#include "ir/lists.h"

#include <string.h>

enum { MAX_TYPE_DEPTH = 64 };

// ---- types

const Type *type_tensor(Arena *a, DType t)
{
    Type *type = NEW(a, Type);
    *type = (Type){.kind = TYPE_TENSOR, .elem = (int32_t)t, .has_elem = true};
    return type;
}

const Type *type_around(Arena *a, TypeKind kind, const Type *sub)
{
    Type *type = NEW(a, Type);
    *type = (Type){.kind = kind, .sub = (Type *)(uintptr_t)sub};
    return type;
}

const Type *value_type(Arena *a, const Value *v)
{
    if (!v || v->kind == TYPE_NONE || v->kind == TYPE_SPARSE || v->kind == TYPE_OPAQUE)
        return NULL;
    if (v->kind != TYPE_TENSOR)
        return v->type;
    return v->dtype == DT_NONE ? NULL : type_tensor(a, v->dtype);
}

DType type_leaf(const Type *t)
{
    for (int depth = 0; t && depth < MAX_TYPE_DEPTH; depth++, t = t->sub)
        if (t->kind == TYPE_TENSOR)
            return t->elem > 0 && t->elem < DT_COUNT ? (DType)t->elem : DT_NONE;
        else if (!kind_is_list(t->kind))
            return DT_NONE;
    return DT_NONE;
}

bool type_same(const Type *a, const Type *b)
{
    for (int depth = 0; a && b && a->kind == b->kind && depth < MAX_TYPE_DEPTH; depth++) {
        bool has_elem = a->kind == TYPE_TENSOR || a->kind == TYPE_MAP;
        if (has_elem && a->elem != b->elem)
            return false;
        if (!kind_is_list(a->kind))
            return true;
        a = a->sub;
        b = b->sub;
    }
    return false;
}

const Type *type_join(const Type *a, const Type *b)
{
    if (!a || !b)
        return NULL;
    if (type_same(a, b))
        return a;
    if (a->kind == TYPE_OPTIONAL && type_same(a->sub, b))
        return a;
    return b->kind == TYPE_OPTIONAL && type_same(b->sub, a) ? b : NULL;
}

const char *param_variable(const SchemaParam *p)
{
    bool list = p->types & (TYPESET_SEQUENCE | TYPESET_OPTIONAL);
    return p->type_var && list ? "T" : p->type_var;
}

// ---- what lists hold

Index dim_varies(Model *m)
{
    if (!m->varies)
        m->varies = dim_new(m->polys, STR("varies"), 0);
    return poly_dim(m->polys, m->varies);
}

static bool is_varied_atom(void *context, const Atom *a)
{
    const Model *m = context;
    return a->kind == ATOM_DIM && m->varies && a->var == m->varies;
}

bool dim_is_varied(const Model *m, Index dim)
{
    return poly_any(dim, is_varied_atom, (void *)(uintptr_t)m);
}

Item item_none(void)
{
    return (Item){RANK_NONE, NULL};
}

Item item_of(const Value *v)
{
    return (Item){v->rank, v->dims};
}

static Item item_copy(Model *m, Item item)
{
    Index *dims = NEWS(m->arena, Index, item.rank > 0 ? item.rank : 0);
    for (int32_t i = 0; i < item.rank; i++)
        dims[i] = item.dims[i];
    return (Item){item.rank, dims};
}

bool item_join(Model *m, Item *into, Item other)
{
    bool changed = false;
    if (other.rank == RANK_NONE || into->rank == -1)
        return false;
    if (into->rank == RANK_NONE) {
        *into = item_copy(m, other);
        return true;
    }
    if (into->rank != other.rank) {
        into->rank = -1;
        return true;
    }
    for (int32_t i = 0; i < into->rank; i++) {
        if (into->dims[i] == other.dims[i] || into->dims[i] == dim_varies(m))
            continue;
        if (!changed)
            *into = item_copy(m, *into);
        into->dims[i] = dim_varies(m);
        changed = true;
    }
    return changed;
}

Item item_outside(Infer *s, Item item, GraphId g)
{
    Item copy = item_copy(s->model, item);
    for (int32_t i = 0; i < copy.rank; i++)
        if (infer_dim_is_local(s, copy.dims[i], g))
            copy.dims[i] = dim_varies(s->model);
    return copy;
}

// ---- what rules say

void infer_list(Infer *s, ValueId id, const Type *type, Item item)
{
    if (!id || !type)
        return;
    Value *v = value_at(s->model, id);
    item = item_copy(s->model, item);
    v->kind = type->kind;
    v->type = type;
    v->dtype = type_leaf(type);
    v->rank = item.rank > MAX_RANK ? -1 : item.rank;
    v->dims = item.dims;
    v->items = NULL;
    v->nitems = 0;
    v->why_shape = (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->nin ? s->n->in[0] : 0};
}

void infer_items(Infer *s, uint32_t o, uint32_t n, const Item *items)
{
    if (o >= s->n->nout || !s->n->out[o] || n > MAX_ITEMS)
        return;
    Value *v = value_at(s->model, s->n->out[o]);
    v->items = NEWS(s->arena, Item, n + 1);
    v->nitems = n;
    for (uint32_t i = 0; i < n; i++)
        v->items[i] = item_copy(s->model, items[i]);
}

void infer_taken(Infer *s, ValueId id, DType t, Item item)
{
    Index dims[MAX_RANK];
    if (!id)
        return;
    if (item.rank > MAX_RANK)
        item.rank = -1;
    for (int32_t i = 0; i < item.rank; i++)
        dims[i] = dim_is_varied(s->model, item.dims[i])
                      ? infer_dim_of_value(s, id, (uint32_t)i, "item")
                      : item.dims[i];
    infer_value(s, id, t, item.rank < 0 ? -1 : item.rank, dims);
    Value *v = value_at(s->model, id);
    v->why_dtype = v->why_shape =
        (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->nin ? s->n->in[0] : 0};
}

void infer_declared_list(Model *m, ValueId id, const Type *t)
{
    Value *v = value_at(m, id);
    v->kind = t->kind;
    v->type = t;
    v->dtype = type_leaf(t);
    v->rank = -1;
    v->items = NULL;
    while (t && kind_is_list(t->kind))
        t = t->sub;
    // A shape without dims is what exporters write where items have several shapes.
    if (!t || t->kind != TYPE_TENSOR || !t->has_shape || t->rank == 0 || t->rank > MAX_RANK)
        return;
    v->rank = (int32_t)t->rank;
    v->dims = NEWS(m->arena, Index, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) {
        bool known = t->dims[i].kind == DIM_VALUE && t->dims[i].value >= 0;
        v->dims[i] = known ? poly_const(m->polys, t->dims[i].value) : dim_varies(m);
    }
}
