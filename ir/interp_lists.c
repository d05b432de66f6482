// Lists as inputs and outputs of the interpreter.

#include "ir/interp_state.h"
#include "ir/lists.h"
#include "runtime/cameo_list_ports.h"

const cameo_type *interp_list_type(const Module *mod, Arena *a, BufferId b)
{
    static const cameo_kind kinds[] = {
        [TYPE_SEQUENCE] = CAMEO_SEQUENCE, [TYPE_OPTIONAL] = CAMEO_OPTIONAL, [TYPE_MAP] = CAMEO_MAP};
    ValueId id = mod->buffers.at[b].value;
    const Value *v = id ? value_at(mod->model, id) : NULL;
    uint32_t depth = 0;
    for (const Type *t = v ? v->type : NULL; t && kind_is_list(t->kind); t = t->sub)
        depth++;
    cameo_type *types = NEWS(a, cameo_type, depth + 1);
    int64_t *dims = NEWS(a, int64_t, MAX_RANK);
    for (int32_t i = 0; v && i < v->rank; i++)
        if (!poly_is_const(v->dims[i], &dims[i]))
            dims[i] = -1;
    const Type *t = v ? v->type : NULL;
    for (uint32_t i = 0; i < depth; i++, t = t->sub)
        types[i] = (cameo_type){kinds[t->kind],
                                t->kind == TYPE_MAP ? t->elem : 0,
                                i + 1 < depth ? &types[i + 1] : NULL,
                                (int32_t)v->dtype,
                                v->rank < 0 ? -1 : v->rank,
                                dims};
    return depth ? types : NULL;
}

void interp_bind_list(Interp *s, BufferId b, const void *object)
{
    const cameo_type *type = interp_list_type(s->mod, s->arena, b);
    const char *fault = NULL;
    cameo_item item;
    int64_t *at = malloc(sizeof *at);
    s->memory[b].at = s->memory[b].own = (unsigned char *)at;
    s->memory[b].bytes = sizeof *at;
    if (s->failed || !at || !type) {
        interp_fail(s, "an input that is a list has no type, or there is no memory");
    } else if (cameo_check_object(object, type, &fault) != 0) {
        interp_fail(s, "an input is %s", fault);
    } else if (cameo_import_object(s->objects, object, &item) != 0) {
        interp_fail(s, "%s", s->objects->error);
    } else {
        *at = item.list;
    }
}

// ---- one block of memory for a value and all that it holds

typedef struct Block {
    char *at; // NULL: only the size is wanted
    uint64_t used;
} Block;

static void *take(Block *b, const void *from, uint64_t n)
{
    char *to = b->at ? b->at + b->used : NULL;
    b->used += (n + 15) / 16 * 16;
    if (to && n)
        memcpy(to, from, n);
    return to;
}

static void pack(Block *b, const cameo_object *from, cameo_object *to)
{
    uint64_t count = 1;
    if (to)
        *to = *from;
    if (from->kind != CAMEO_TENSOR) {
        cameo_object *items = take(b, from->items, (uint64_t)from->count * sizeof *items);
        if (to)
            to->items = items;
        for (int64_t i = 0; i < from->count; i++)
            pack(b, &from->items[i], items ? &items[i] : NULL);
        return;
    }
    for (int32_t i = 0; i < from->rank; i++)
        count *= (uint64_t)from->dims[i];
    bool text = from->dtype == DT_STRING;
    uint64_t each = text ? sizeof(cameo_str) : dtype_info((DType)from->dtype)->bytes;
    int64_t *dims = take(b, from->dims, (uint64_t)from->rank * sizeof *dims);
    void *elements = take(b, from->elements, count * each);
    for (uint64_t i = 0; text && i < count; i++) {
        cameo_str one = ((const cameo_str *)from->elements)[i];
        one.at = take(b, one.at, (uint64_t)one.len);
        if (elements)
            ((cameo_str *)elements)[i] = one;
    }
    if (to) {
        to->dims = dims;
        to->elements = elements;
    }
}

void *interp_take_list(Interp *s, BufferId b)
{
    cameo_object value;
    cameo_item item = {.dtype = CAMEO_OBJECT,
                       .list = *(const int64_t *)(const void *)s->memory[b].at};
    const cameo_type *type = interp_list_type(s->mod, s->arena, b);
    if (cameo_export_item(s->objects, &item, type, &value) != 0) {
        interp_fail(s, "%s", s->objects->error);
        return NULL;
    }
    Block block = {NULL, 0};
    cameo_object *to = take(&block, &value, sizeof value);
    pack(&block, &value, to);
    if (!interp_take(s, block.used))
        return NULL;
    block = (Block){malloc(block.used), 0};
    if (!block.at) {
        interp_fail(s, "no memory for an output");
        return NULL;
    }
    to = take(&block, &value, sizeof value);
    pack(&block, &value, to);
    return to;
}
