/* Text as UTF-8. */
#ifndef CAMEO_TEXT_H
#define CAMEO_TEXT_H

#include <stdint.h>

#ifndef CAMEO_FN
#define CAMEO_FN static inline __attribute__((unused))
#endif

#define CAMEO_NO_CHARACTER UINT32_MAX

/* The code point at the beginning of len > 0 bytes, and how many bytes it takes: a byte that begins
 * none is one byte and CAMEO_NO_CHARACTER. */
CAMEO_FN int cameo_decode_utf8(const char *text, int64_t len, uint32_t *c)
{
    const unsigned char *at = (const unsigned char *)text;
    int more = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : at[0] < 0xf5 ? 3 : 0;
    *c = at[0] < 0x80 ? at[0] : CAMEO_NO_CHARACTER;
    if (!more || more >= len)
        return 1;
    uint32_t v = at[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        v = v << 6 | (at[i] & 0x3f);
    }
    if ((more == 2 && v < 0x800) || (more == 3 && v < 0x10000) || v > 0x10ffff ||
        (v >= 0xd800 && v < 0xe000))
        return 1;
    *c = v;
    return more + 1;
}

/* Writes a code point; how many bytes it took, at most four. */
CAMEO_FN int cameo_encode_utf8(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[0] = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | c >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

CAMEO_FN int cameo_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

#endif
