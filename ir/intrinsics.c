// The table of intrinsics, and the strings that a module knows.

#include "ir/kernel.h"

const Intrinsic intrinsics[] = {
#define INTRINSIC(name, header, reads, writes, numbers) {#name, header, reads, writes, numbers},
#include "ir/intrinsics.def"
#undef INTRINSIC
    {.name = NULL},
};

const Intrinsic *intrinsic_find(Str name)
{
    for (const Intrinsic *i = intrinsics; i->name; i++)
        if (str_is(name, i->name))
            return i;
    return NULL;
}

bool call_is_custom(const Call *c)
{
    return c->what->numbers == INTRINSIC_ANY;
}

static bool has_calls(const Step *s)
{
    for (; s; s = s->next)
        if ((s->call && !call_is_custom(s->call)) || has_calls(s->body) || has_calls(s->other))
            return true;
    return false;
}

bool module_has_objects(const Module *mod)
{
    for (BufferId b = 1; b < mod->buffers.len; b++)
        if (dtype_is_reference(buffer_at(mod, b)->dtype))
            return true;
    return has_calls(mod->steps);
}

int64_t module_symbol(Module *mod, Str s)
{
    bool added;
    uint32_t *id = map_put(&mod->symbol_ids, s, &added);
    if (added) {
        *id = mod->symbols.len;
        vec_push(mod->arena, &mod->symbols, s);
    }
    return (int64_t)*id;
}
