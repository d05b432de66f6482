#include "base/str.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

Str str_of(const char *c_string)
{
    return (Str){c_string, c_string ? strlen(c_string) : 0};
}

bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

int str_cmp(Str a, Str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.at, b.at, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool str_starts(Str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.len >= n && memcmp(a.at, prefix, n) == 0;
}

bool str_ends(Str a, const char *suffix)
{
    size_t n = strlen(suffix);
    return a.len >= n && memcmp(a.at + a.len - n, suffix, n) == 0;
}

// FNV-1a with a final mix (murmur3's finaliser), so that power-of-two tables spread.
uint64_t hash_bytes(const void *at, size_t len, uint64_t seed)
{
    const unsigned char *p = at;
    uint64_t h = (0xcbf29ce484222325u ^ seed) + len, word;
    for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * 0x9ddfea08eb382d69u;
        h ^= h >> 32;
    }
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    return h;
}

Str str_copy(Arena *a, Str s)
{
    return s.at ? (Str){arena_copy(a, s.at, s.len), s.len} : s;
}

Str str_printf(Arena *a, const char *format, ...)
{
    Buf b = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&b, format, args);
    va_end(args);
    Str s = {arena_copy(a, b.at, b.len), b.len};
    buf_free(&b);
    return s;
}

static void reserve(Buf *b, size_t more)
{
    if (b->cap - b->len > more)
        return;
    size_t cap = b->cap ? b->cap * 2 : 256;
    while (cap - b->len <= more)
        cap *= 2;
    char *at = realloc(b->at, cap);
    if (!at)
        abort();
    b->at = at;
    b->cap = cap;
}

void buf_put(Buf *b, const void *bytes, size_t len)
{
    reserve(b, len);
    if (len)
        memcpy(b->at + b->len, bytes, len);
    b->len += len;
    b->at[b->len] = 0;
}

void buf_str(Buf *b, Str s)
{
    buf_put(b, s.at, s.len);
}

void buf_char(Buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_vprintf(Buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0) {
        reserve(b, (size_t)n);
        vsnprintf(b->at + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_printf(Buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_free(Buf *b)
{
    free(b->at);
    *b = (Buf){0};
}

size_t utf8_decode(const char *bytes, size_t n, uint32_t *cp)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t len = p[0] < 0x80                   ? 1
                 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                               : 0;
    if (len == 0 || len > n)
        return 0;
    *cp = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *cp = *cp << 6 | (p[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (*cp < least[len] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000))
        return 0;
    return len;
}

static bool is_unseen(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x200b && cp <= 0x200f) ||
           (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

void buf_escaped(Buf *b, Str s)
{
    const unsigned char *p = (const unsigned char *)s.at;
    for (size_t i = 0; i < s.len;) {
        uint32_t cp = 0;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        if (n == 0 || is_unseen(cp)) {
            n = n ? n : 1;
            if (cp == '\n' || cp == '\t' || cp == '\r')
                buf_printf(b, "\\%c", cp == '\n' ? 'n' : cp == '\t' ? 't' : 'r');
            else
                for (size_t k = 0; k < n; k++)
                    buf_printf(b, "\\x%02x", p[i + k]);
        } else if (cp == '"' || cp == '\\') {
            buf_printf(b, "\\%c", (char)cp);
        } else if (cp == '/' && i && p[i - 1] == '*') {
            buf_printf(b, "\\x2f");
        } else {
            buf_put(b, p + i, n);
        }
        i += n;
    }
}

void buf_quoted(Buf *b, Str s)
{
    buf_char(b, '"');
    buf_escaped(b, s);
    buf_char(b, '"');
}

void buf_name(Buf *b, Str s)
{
    bool plain = true;
    for (size_t i = 0, n; plain && i < s.len; i += n) {
        uint32_t cp = 0;
        n = utf8_decode(s.at + i, s.len - i, &cp);
        plain = n != 0 && !is_unseen(cp);
    }
    if (plain)
        buf_str(b, s);
    else
        buf_escaped(b, s);
}

Str str_escaped(Arena *a, Str s)
{
    Buf b = {0};
    buf_escaped(&b, s);
    Str out = {arena_copy(a, b.at, b.len), b.len};
    buf_free(&b);
    return out;
}

// ---- what was meant

// How many bytes have to be put in, taken out or replaced to make the one of the other.
static uint32_t distance(Str a, Str b)
{
    enum { LONGEST = 32 };
    uint32_t row[LONGEST + 1];
    if (a.len > LONGEST || b.len > LONGEST)
        return UINT32_MAX;
    for (uint32_t k = 0; k <= b.len; k++)
        row[k] = k;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t corner = row[0];
        row[0] = i;
        for (uint32_t k = 1; k <= b.len; k++) {
            uint32_t best = corner + (a.at[i - 1] != b.at[k - 1]);
            best = best < row[k] + 1 ? best : row[k] + 1;
            best = best < row[k - 1] + 1 ? best : row[k - 1] + 1;
            corner = row[k];
            row[k] = best;
        }
    }
    return row[b.len];
}

const char *str_nearest(Str word, const char *const *known, uint32_t n)
{
    const char *best = NULL;
    uint32_t least = 3;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = distance(word, str_of(known[i]));
        if (d < least && d < word.len) {
            least = d;
            best = known[i];
        }
    }
    return best;
}
