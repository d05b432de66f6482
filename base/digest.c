#include "base/digest.h"
#include "base/sha1.h"
#include "base/str.h"

#include <string.h>

__extension__ typedef unsigned __int128 Wide;

// The sum of (m[i] + k[i]) * (m[i + 1] + k[i + 1]) over even i, in 128 bits.
static Wide sum_block(const DigestKey *key, const unsigned char *at)
{
    Wide sum = 0;
    for (int i = 0; i < DIGEST_WORDS; i += 2) {
        uint64_t m[2];
        memcpy(m, at + 8 * i, sizeof m);
        sum += (Wide)(m[0] + key->words[i]) * (m[1] + key->words[i + 1]);
    }
    return sum;
}

void digest_hex(const DigestKey *key, const void *bytes, size_t len, char hex[41])
{
    enum { BLOCK = DIGEST_WORDS * 8 };
    const unsigned char *at = bytes;
    const uint64_t length = len;
    Buf sums = {0};
    for (; len >= BLOCK; at += BLOCK, len -= BLOCK) {
        const Wide sum = sum_block(key, at);
        buf_put(&sums, &sum, sizeof sum);
    }
    if (len) { // zeros behind it: the length is a part of the digest
        unsigned char last[BLOCK] = {0};
        memcpy(last, at, len);
        const Wide sum = sum_block(key, last);
        buf_put(&sums, &sum, sizeof sum);
    }
    buf_put(&sums, &length, sizeof length);
    sha1_hex(sums.at, sums.len, hex);
    buf_free(&sums);
}
