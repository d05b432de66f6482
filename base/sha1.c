#include "base/sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static void block(uint32_t h[5], const unsigned char *at)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)at[4 * i] << 24 | (uint32_t)at[4 * i + 1] << 16 |
               (uint32_t)at[4 * i + 2] << 8 | at[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t next = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1_hex(const void *bytes, size_t len, char hex[41])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const unsigned char *at = bytes;
    unsigned char last[128] = {0};
    size_t rest = len % 64, size = rest < 56 ? 64 : 128;
    for (size_t i = 0; i + 64 <= len; i += 64)
        block(h, at + i);
    if (rest)
        memcpy(last, at + len - rest, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[size - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    block(h, last);
    if (size == 128)
        block(h, last + 64);
    for (int i = 0; i < 5; i++)
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
}
