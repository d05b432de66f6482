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

static void grow(Map *m, uint32_t cap)
{
    Map old = *m;
    m->cap = cap;
    m->slots = NEWS(m->arena, MapSlot, m->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slots[i].used)
            *find(m, old.slots[i].key, old.slots[i].hash) = old.slots[i];
}

void map_reserve(Map *m, uint32_t n)
{
    uint32_t cap = m->cap ? m->cap : 16;
    while (cap < UINT32_C(1) << 31 && ((uint64_t)m->len + n) * 4 > (uint64_t)cap * 3)
        cap *= 2;
    if (cap > m->cap)
        grow(m, cap);
}

uint32_t *map_put(Map *m, Str key, bool *added)
{
    if ((m->len + 1) * 4 > m->cap * 3)
        grow(m, m->cap ? m->cap * 2 : 16);
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
