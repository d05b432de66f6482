#include "base/map.h"

// Where a key of this hash is, or goes. Keys are looked at only where the hash is theirs.
static MapSlot *find(const Map *m, Str key, uint32_t hash)
{
    for (uint32_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        MapSlot *s = &m->slots[i];
        if (!s->at || (s->hash == hash && str_eq(m->entries[s->at - 1].key, key)))
            return s;
    }
}

static uint32_t hash_of(Str key)
{
    return (uint32_t)hash_bytes(key.at, key.len, 0);
}

uint32_t *map_get(const Map *m, Str key)
{
    if (m->cap == 0)
        return NULL;
    const MapSlot *s = find(m, key, hash_of(key));
    return s->at ? &m->entries[s->at - 1].value : NULL;
}

// All keys differ: each goes to the next free slot.
static void grow(Map *m, uint32_t cap)
{
    const Map old = *m;
    m->cap = cap;
    m->slots = NEWS(m->arena, MapSlot, cap);
    for (uint32_t i = 0; i < old.cap; i++) {
        uint32_t to = old.slots[i].hash & (cap - 1);
        while (old.slots[i].at && m->slots[to].at)
            to = (to + 1) & (cap - 1);
        if (old.slots[i].at)
            m->slots[to] = old.slots[i];
    }
}

void map_reserve(Map *m, uint32_t n)
{
    uint32_t cap = m->cap ? m->cap : 16;
    while (cap < UINT32_C(1) << 31 && ((uint64_t)m->len + n) * 4 > (uint64_t)cap * 3)
        cap *= 2;
    if (cap > m->cap)
        grow(m, cap);
    m->entries = vec_reserve_(m->arena, m->entries, &m->room, sizeof *m->entries, m->len, n);
}

uint32_t *map_put(Map *m, Str key, bool *added)
{
    if ((m->len + 1) * 4 > m->cap * 3)
        grow(m, m->cap ? m->cap * 2 : 16);
    const uint32_t hash = hash_of(key);
    MapSlot *s = find(m, key, hash);
    if (added)
        *added = !s->at;
    if (!s->at) {
        if (m->len == m->room)
            m->entries = vec_grow_(m->arena, m->entries, &m->room, sizeof *m->entries, m->len);
        m->entries[m->len++] = (MapEntry){key, 0};
        *s = (MapSlot){hash, m->len};
    }
    return &m->entries[s->at - 1].value;
}
