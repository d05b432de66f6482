// What passes over large constants found, by where their elements lie (known.h).

#include "passes/known.h"

struct Known {
    Map at; // index into `found`
    VEC(const void *) found;
};

typedef struct KnownKey {
    const void *at;
    uint64_t count;
    uint16_t dtype, as;
    uint32_t cast;
} KnownKey;

enum { FEW = 256 };

const void **known_named(Model *m, Str bytes)
{
    if (!m->known) {
        m->known = NEW(m->arena, struct Known);
        *m->known = (struct Known){.at = {.arena = m->arena}};
    }
    const uint32_t *there = map_get(&m->known->at, bytes);
    if (there)
        return &m->known->found.at[*there];
    *map_put(&m->known->at, str_copy(m->arena, bytes), NULL) = m->known->found.len;
    vec_push(m->arena, &m->known->found, NULL);
    return &m->known->found.at[m->known->found.len - 1];
}

static const void **place_of(Model *m, const KnownKey *key)
{
    return key->count < FEW ? NULL : known_named(m, (Str){(const char *)key, sizeof *key});
}

const void **known_of(Model *m, const void *at, uint64_t count, DType t, DType as)
{
    return place_of(m, &(KnownKey){at, count, t, as, false});
}

const void **known_as(Model *m, const void *at, uint64_t count, DType t, DType as)
{
    return place_of(m, &(KnownKey){at, count, t, as, true});
}
