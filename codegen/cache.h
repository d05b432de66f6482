// What compilers made of the same text before: a folder of files, each named by a hash of all that
// it was made from.
//
// The folder is $XDG_CACHE_HOME/cameo, else ~/.cache/cameo; without either there is no cache.
// Entries appear whole (written beside, then renamed) and are only read, so that any number of
// processes share it. What was not used for longest goes when all are more than CACHE_BYTES.
#ifndef CAMEO_CODEGEN_CACHE_H
#define CAMEO_CODEGEN_CACHE_H

#include "base/digest.h"
#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>

#define CACHE_BYTES ((int64_t)4 << 30)

typedef struct Cache {
    Arena *arena;
    const char *dir;
    DigestKey *secret; // once asked for
} Cache;

// NULL: there is no folder, or none can be made.
Cache *cache_open(Arena *a);
// The name of what comes of this text: 40 digits.
const char *cache_key(const Cache *c, const Buf *made_from);
// The folder's own key of digests, made when it is first asked for. NULL: it cannot be had.
const DigestKey *cache_secret(Cache *c);

// A file's contents become an entry. What fails is no error: the entry is not there.
void cache_keep(Cache *c, const char *key, const char *from);
// Its contents to a file. False: there is no such entry, it is not what was kept any more, or it
// cannot be copied.
bool cache_take(Cache *c, const char *key, const char *to);

// Of these two the first is made: contents by their digest, which is given (NULL: they are not
// kept); one that does not fit it any more is removed when it is asked for.
const char *cache_keep_whole(Cache *c, const char *from, uint64_t *size);
bool cache_take_whole(Cache *c, const char *digest, uint64_t size, const char *to, unsigned mode);
// And bytes by a key, to be closed with file_close; whoever reads them sees whether they are whole.
void cache_put(Cache *c, const char *key, const void *bytes, size_t len);
bool cache_view(Cache *c, const char *key, FileView *view);

// What decides beside a compiler and its arguments: variables that it reads; which processor
// "native" is.
void cache_describe_environment(Buf *out);
void cache_describe_machine(Buf *out);

#endif
