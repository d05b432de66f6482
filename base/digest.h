// Digests of long contents, for files that stand for others on this machine alone.
//
// With a secret key, two contents that differ have the same digest with probability 2^-64 a pair,
// also where someone chose them, as long as they do not know the key: NH (Black et al., UMAC) over
// blocks of 4 KiB, SHA-1 over what comes of them. As fast as memory is read.
#ifndef CAMEO_BASE_DIGEST_H
#define CAMEO_BASE_DIGEST_H

#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_WORDS = 512 };

typedef struct DigestKey {
    uint64_t words[DIGEST_WORDS]; // random
} DigestKey;

// The digest of `len` bytes as 40 lower-case hexadecimal digits and a NUL.
void digest_hex(const DigestKey *key, const void *bytes, size_t len, char hex[41]);
// The same of a file, whose pages take no memory for longer than they are read.
void digest_view(const DigestKey *key, FileView *view, char hex[41]);

#endif
