// What compilers made of the same text before: a folder of files, each named by a hash of all that
// it was made from.
//
// The folder is $XDG_CACHE_HOME/cameo, else ~/.cache/cameo; without either there is no cache.
// Entries appear whole (written beside, then renamed) and are only read, so that any number of
// processes share it. What was not used for longest goes when all are more than CACHE_BYTES.
#ifndef CAMEO_CODEGEN_CACHE_H
#define CAMEO_CODEGEN_CACHE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define CACHE_BYTES ((int64_t)1 << 30)

typedef struct Cache {
    Arena *arena;
    const char *dir;
} Cache;

// NULL: there is no folder, or none can be made.
Cache *cache_open(Arena *a);
// The name of what comes of this text: 40 digits.
const char *cache_key(const Cache *c, const Buf *made_from);
// The entry's contents to a file. False: there is no such entry, or it cannot be copied.
bool cache_take(Cache *c, const char *key, const char *to);
// A file's contents become an entry. What fails is no error: the entry is not there.
void cache_keep(Cache *c, const char *key, const char *from);
// What decides beside a compiler and its arguments: variables that it reads, and which processor
// "native" is.
void cache_describe_machine(Buf *out);

#endif
