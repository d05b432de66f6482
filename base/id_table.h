// An open hash table from hashes to ids of things that are kept elsewhere: what hash-consing needs.
//
//     IdSlot *s = id_table_first(&t, arena, hash);
//     for (; s->used; s = id_table_next(&t, s))
//         if (s->hash == hash && same(things[s->id], key))
//             return things[s->id];
//     id_table_take(&t, s, hash, id);
#ifndef CAMEO_BASE_ID_TABLE_H
#define CAMEO_BASE_ID_TABLE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct IdSlot {
    uint32_t hash, id : 31, used : 1;
} IdSlot;

typedef struct IdTable {
    IdSlot *slots;
    uint32_t len, cap; // cap: a power of two
} IdTable;

// Twice the slots; nothing but the hashes is looked at.
void id_table_grow(IdTable *t, Arena *a);

static inline IdSlot *id_table_first(IdTable *t, Arena *a, uint32_t hash)
{
    if ((t->len + 1) * 2 > t->cap)
        id_table_grow(t, a);
    return &t->slots[hash & (t->cap - 1)];
}

static inline IdSlot *id_table_next(IdTable *t, IdSlot *s)
{
    return ++s == t->slots + t->cap ? t->slots : s;
}

static inline void id_table_take(IdTable *t, IdSlot *s, uint32_t hash, uint32_t id)
{
    *s = (IdSlot){.hash = hash, .id = id, .used = 1};
    t->len++;
}

#endif
