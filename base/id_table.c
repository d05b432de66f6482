// Growth of an open hash table.

#include "base/id_table.h"

void id_table_grow(IdTable *t, Arena *a)
{
    IdTable old = *t;
    t->cap = old.cap ? old.cap * 2 : 256;
    t->slots = NEWS(a, IdSlot, t->cap);
    for (uint32_t i = 0; i < old.cap; i++) {
        if (!old.slots[i].used)
            continue;
        IdSlot *s = &t->slots[old.slots[i].hash & (t->cap - 1)];
        while (s->used)
            s = id_table_next(t, s);
        *s = old.slots[i];
    }
}
