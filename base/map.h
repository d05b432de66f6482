// One hash table: byte-string or integer keys to 32-bit values. Iteration order is never exposed.
#ifndef CAMEO_BASE_MAP_H
#define CAMEO_BASE_MAP_H

#include "base/str.h"

typedef struct MapEntry {
    Str key;
    uint32_t value;
} MapEntry;

// Small, since one is looked for at a place that no cache holds.
typedef struct MapSlot {
    uint32_t hash, at; // the entry's index and 1; 0: empty
} MapSlot;

// Zero-initialise with the arena set: Map m = {.arena = a}. Keys are borrowed.
typedef struct Map {
    Arena *arena;
    MapSlot *slots;
    MapEntry *entries; // in the order in which they were added
    uint32_t len, cap, room;
} Map;

// The value's place for `key`, or NULL. Valid until the next map_put.
uint32_t *map_get(const Map *m, Str key);
// The value's place for `key`, added with value 0 where it was absent (*added says so; may be
// NULL).
uint32_t *map_put(Map *m, Str key, bool *added);
// Room for n keys more, so that none of the next n has the table made anew.
void map_reserve(Map *m, uint32_t n);

#endif
