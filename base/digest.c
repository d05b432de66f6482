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

// The sums of the blocks that `len` bytes are; zeros stand behind the last one.
static void add_blocks(const DigestKey *key, Buf *sums, const unsigned char *at, size_t len)
{
    enum { BLOCK = DIGEST_WORDS * 8 };
    for (; len >= BLOCK; at += BLOCK, len -= BLOCK) {
        const Wide sum = sum_block(key, at);
        buf_put(sums, &sum, sizeof sum);
    }
    if (len) {
        unsigned char last[BLOCK] = {0};
        memcpy(last, at, len);
        const Wide sum = sum_block(key, last);
        buf_put(sums, &sum, sizeof sum);
    }
}

static void finish(Buf *sums, uint64_t length, char hex[41])
{
    buf_put(sums, &length, sizeof length);
    sha1_hex(sums->at, sums->len, hex);
    buf_free(sums);
}

void digest_hex(const DigestKey *key, const void *bytes, size_t len, char hex[41])
{
    Buf sums = {0};
    add_blocks(key, &sums, bytes, len);
    finish(&sums, len, hex);
}

void digest_view(const DigestKey *key, FileView *view, char hex[41])
{
    enum { PIECE = 1 << 24 };
    Buf sums = {0};
    for (size_t at = 0; at < view->len; at += PIECE) {
        const size_t left = view->len - at, piece = left < PIECE ? left : PIECE;
        add_blocks(key, &sums, view->at + at, piece);
        file_forget(view, view->at + at, piece);
    }
    finish(&sums, view->len, hex);
}
