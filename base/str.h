// Borrowed byte strings and a growing text buffer.
#ifndef CAMEO_BASE_STR_H
#define CAMEO_BASE_STR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Bytes that somebody else owns; may hold NULs. at == NULL means absent, len == 0 with at set:
// empty.
typedef struct Str {
    const char *at;
    size_t len;
} Str;

#define STR(literal) ((Str){"" literal, sizeof(literal) - 1})
#define STR_NONE ((Str){NULL, 0})
// For printf: printf("%.*s", STR_ARG(s)).
#define STR_ARG(s) (int)((s).len < 65536 ? (s).len : 65536), (s).at ? (s).at : ""

Str str_of(const char *c_string);
bool str_eq(Str a, Str b); // absent equals empty
// Here, so that the length of a literal is known: names of operators are compared by the million.
static inline bool str_is(Str a, const char *c_string)
{
    // Of a table's word the first character says enough mostly.
    if (!__builtin_constant_p(*c_string) && a.len && *a.at != *c_string)
        return false;
    size_t n = strlen(c_string);
    return a.len == n && (n == 0 || memcmp(a.at, c_string, n) == 0);
}
int str_cmp(Str a, Str b); // bytewise order
bool str_starts(Str a, const char *prefix);
bool str_ends(Str a, const char *suffix);
uint64_t hash_bytes(const void *at, size_t len, uint64_t seed);
// One word more in a hash that hash_end makes even.
static inline uint64_t hash_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9ddfea08eb382d69u;
    return h ^ h >> 32;
}
static inline uint32_t hash_end(uint64_t h)
{
    h *= 0xff51afd7ed558ccdu;
    return (uint32_t)(h ^ h >> 33);
}
Str str_copy(Arena *a, Str s);
Str str_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A growing text; zero-initialise, free with buf_free. Always NUL-terminated once something is in
// it.
typedef struct Buf {
    char *at;
    size_t len, cap;
} Buf;

void buf_printf(Buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *b, const char *format, va_list args);
void buf_put(Buf *b, const void *bytes, size_t len);
void buf_str(Buf *b, Str s);
void buf_char(Buf *b, char c);
void buf_free(Buf *b);

// What may stand in text that people or compilers read: model strings reach emitted code, reports
// and diagnostics through these only. Control characters, bidirectional controls (U+202A..E,
// U+2066..9), quotes, backslashes and invalid UTF-8 become \n, \", \\, \xHH; a comment end becomes
// "*\x2f".
void buf_escaped(Buf *b, Str s); // without quotes
void buf_quoted(Buf *b, Str s);  // "..." as C and onnxtxt read it
void buf_name(Buf *b, Str s);    // a file's name: as it stands, escaped if that were more than text
Str str_escaped(Arena *a, Str s); // buf_escaped into the arena

// Length of the valid UTF-8 sequence at `bytes` (n > 0 of them), 0 if there is none; its code point
// in *cp.
size_t utf8_decode(const char *bytes, size_t n, uint32_t *cp);

// Of the n words that are known, the one that `word` was probably meant to be: two bytes put in,
// taken out or replaced at most. NULL: nothing like it.
const char *str_nearest(Str word, const char *const *known, uint32_t n);

#endif
