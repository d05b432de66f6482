#include "base/map.h"

static MapSlot *find(const Map *m, Str key, uint64_t hash)
{
    for (uint32_t i = (uint32_t)hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        MapSlot *s = &m->slots[i];
        if (!s->used || (s->hash == hash && str_eq(s->key, key)))
            return s;
    }
}

uint32_t *map_get(const Map *m, Str key)
{
    if (m->cap == 0)
        return NULL;
    MapSlot *s = find(m, key, hash_bytes(key.at, key.len, 0));
    return s->used ? &s->value : NULL;
}

static void grow(Map *m)
{
    Map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = NEWS(m->arena, MapSlot, m->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slots[i].used)
            *find(m, old.slots[i].key, old.slots[i].hash) = old.slots[i];
}

uint32_t *map_put(Map *m, Str key, bool *added)
{
    if ((m->len + 1) * 4 > m->cap * 3)
        grow(m);
    uint64_t hash = hash_bytes(key.at, key.len, 0);
    MapSlot *s = find(m, key, hash);
    if (added)
        *added = !s->used;
    if (!s->used) {
        *s = (MapSlot){key, hash, 0, true};
        m->len++;
    }
    return &s->value;
}
