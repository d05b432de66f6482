// Tokens of the textual forms, and the small readers on top of them.

#include "ir/text_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void parse_fail(Parser *p, const char *what)
{
    uint32_t line = 1, column = 1;
    if (p->failed)
        return;
    for (size_t i = 0; i < p->start && i < p->text.len; i++) {
        column = p->text.at[i] == '\n' ? 1 : column + 1;
        line += p->text.at[i] == '\n';
    }
    Str found = str_escaped(
        p->arena, (Str){p->text.at + p->start, p->at - p->start < 40 ? p->at - p->start : 40});
    diag(p->diags, "", SEV_ERROR, str_printf(p->arena, "%u:%u", line, column), "%s, found %s%.*s%s",
         what, p->tok == TOK_END ? "the end" : "\"", STR_ARG(found), p->tok == TOK_END ? "" : "\"");
    p->failed = true;
    p->tok = TOK_END;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(const Parser *p, size_t ahead)
{
    return p->at + ahead < p->text.len ? p->text.at[p->at + ahead] : 0;
}

static void skip_space(Parser *p)
{
    for (;;) {
        char c = peek(p, 0);
        if (p->at < p->text.len && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            p->at++;
        else if (c == '#' && p->at < p->text.len)
            while (p->at < p->text.len && peek(p, 0) != '\n')
                p->at++;
        else
            return;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The plain form knows only "\c" for c; CIR writes \n, \t, \r and \xHH as well.
static void lex_string(Parser *p)
{
    Buf b = {0};
    buf_put(&b, "", 0);
    for (p->at++; p->at < p->text.len && peek(p, 0) != '"'; p->at++) {
        char c = peek(p, 0);
        if (c == '\\' && p->at + 1 < p->text.len) {
            c = peek(p, 1);
            p->at++;
            if (p->cir && c == 'x' && hex_digit(peek(p, 1)) >= 0 && hex_digit(peek(p, 2)) >= 0) {
                c = (char)(hex_digit(peek(p, 1)) * 16 + hex_digit(peek(p, 2)));
                p->at += 2;
            } else if (p->cir) {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
            }
        }
        buf_char(&b, c);
    }
    p->lexeme = (Str){arena_copy(p->arena, b.at, b.len), b.len};
    buf_free(&b);
    if (p->at >= p->text.len)
        parse_fail(p, "a string has no end");
    else
        p->at++;
    p->tok = p->failed ? TOK_END : TOK_STRING;
}

static void lex_bytes(Parser *p)
{
    p->at += 2;
    size_t begin = p->at;
    while (hex_digit(peek(p, 0)) >= 0)
        p->at++;
    size_t n = (p->at - begin) / 2;
    char *bytes = arena_alloc(p->arena, n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(hex_digit(p->text.at[begin + 2 * i]) * 16 +
                          hex_digit(p->text.at[begin + 2 * i + 1]));
    p->lexeme = (Str){bytes, n};
    p->tok = TOK_BYTES;
    if (peek(p, 0) == '"' && (p->at - begin) % 2 == 0)
        p->at++;
    else
        parse_fail(p, "bytes are written x\"00ff\"");
}

static void lex_number(Parser *p)
{
    size_t begin = p->at;
    if (peek(p, 0) == '-' || peek(p, 0) == '+')
        p->at++;
    for (; p->at < p->text.len; p->at++) {
        char c = peek(p, 0), before = p->text.at[p->at - (p->at > begin)];
        bool sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
        if (!is_digit(c) && !is_letter(c) && c != '.' && !sign)
            break;
    }
    p->lexeme = (Str){p->text.at + begin, p->at - begin};
    p->tok = TOK_NUMBER;
}

// How many characters a mark has: two for "=>", "@{" and the operators of kernels.
static size_t punct_length(const Parser *p)
{
    static const char *const pairs[] = {"=>", "@{"};
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<<", ">>"};
    const char *const *list = p->kernels ? operators : pairs;
    for (size_t i = 0; i < (p->kernels ? 6 : 2); i++)
        if (peek(p, 0) == list[i][0] && peek(p, 1) == list[i][1])
            return 2;
    return 1;
}

void parse_next(Parser *p)
{
    if (p->failed)
        return;
    p->end = p->at;
    skip_space(p);
    p->start = p->at;
    char c = peek(p, 0);
    if (p->at >= p->text.len) {
        p->tok = TOK_END;
        p->lexeme = STR_NONE;
    } else if (c == '"') {
        lex_string(p);
    } else if (c == 'x' && peek(p, 1) == '"' && p->cir) {
        lex_bytes(p);
    } else if (is_letter(c)) {
        while (is_letter(peek(p, 0)) || is_digit(peek(p, 0)))
            p->at++;
        p->tok = TOK_NAME;
        p->lexeme = (Str){p->text.at + p->start, p->at - p->start};
    } else if (is_digit(c) || (c == '.' && is_digit(peek(p, 1))) ||
               (!p->kernels && (c == '-' || c == '+') &&
                (is_digit(peek(p, 1)) || is_letter(peek(p, 1)) || peek(p, 1) == '.'))) {
        lex_number(p);
    } else {
        size_t n = punct_length(p);
        p->at += n;
        p->tok = TOK_PUNCT;
        p->lexeme = (Str){p->text.at + p->start, n};
    }
}

uint32_t parse_place(Parser *p, TextPlaceKind kind, size_t from, TextPlace what)
{
    if (!p->places)
        return 0;
    what.kind = kind;
    what.from = from;
    what.to = p->end;
    vec_push(p->arena, p->places, what);
    return p->places->len;
}

bool parse_is(const Parser *p, const char *word)
{
    return (p->tok == TOK_PUNCT || p->tok == TOK_NAME) && str_is(p->lexeme, word);
}

bool parse_take(Parser *p, const char *word)
{
    bool is = !p->failed && parse_is(p, word);
    if (is)
        parse_next(p);
    return is;
}

void parse_expect(Parser *p, const char *word)
{
    char what[64];
    snprintf(what, sizeof what, "expected \"%s\"", word);
    if (!parse_take(p, word))
        parse_fail(p, what);
}

Str parse_name(Parser *p)
{
    Str s = p->lexeme;
    if (p->tok == TOK_NAME || p->tok == TOK_STRING)
        parse_next(p);
    else
        parse_fail(p, "expected a name");
    return p->failed ? STR("") : s;
}

Str parse_string(Parser *p)
{
    Str s = p->lexeme;
    if (p->tok == TOK_STRING)
        parse_next(p);
    else
        parse_fail(p, "expected a string");
    return p->failed ? STR("") : s;
}

Str parse_bytes(Parser *p)
{
    Str s = p->lexeme;
    if (p->tok == TOK_BYTES)
        parse_next(p);
    else
        parse_fail(p, "expected bytes, x\"...\"");
    return p->failed ? STR("") : s;
}

// The lexeme as a C string; numbers are short.
static bool number_text(Parser *p, char *out, size_t size)
{
    bool ok = (p->tok == TOK_NUMBER || p->tok == TOK_NAME) && p->lexeme.len < size;
    if (ok) {
        memcpy(out, p->lexeme.at, p->lexeme.len);
        out[p->lexeme.len] = 0;
    } else {
        parse_fail(p, "expected a number");
    }
    return ok;
}

int64_t parse_int(Parser *p)
{
    char s[64], *stop;
    if (!number_text(p, s, sizeof s))
        return 0;
    errno = 0;
    long long v = strtoll(s, &stop, 0);
    if (*stop || errno || p->tok != TOK_NUMBER)
        parse_fail(p, "expected an integer of 64 bits");
    else
        parse_next(p);
    return v;
}

uint64_t parse_unsigned(Parser *p)
{
    char s[64], *stop;
    if (!number_text(p, s, sizeof s))
        return 0;
    errno = 0;
    unsigned long long v = strtoull(s, &stop, 0);
    if (*stop || errno || p->tok != TOK_NUMBER)
        parse_fail(p, "expected an integer of 64 bits");
    else
        parse_next(p);
    return v;
}

double parse_real(Parser *p)
{
    char s[64], *stop;
    if (!number_text(p, s, sizeof s))
        return 0;
    double v = strtod(s, &stop);
    if (*stop)
        parse_fail(p, "expected a number");
    else
        parse_next(p);
    return v;
}

bool parse_ext(Parser *p)
{
    return p->cir && parse_take(p, "@{");
}

bool ext_next(Parser *p, Str *key, bool *first)
{
    if (p->failed || parse_take(p, "}"))
        return false;
    if (!*first)
        parse_expect(p, ",");
    *first = false;
    *key = parse_name(p);
    parse_expect(p, ":");
    return !p->failed;
}

void parse_props(Parser *p, Props *out)
{
    parse_expect(p, "[");
    while (!p->failed && !parse_is(p, "]")) {
        Prop q = {.has = 3};
        Str key;
        bool first = true;
        q.key = parse_string(p);
        parse_expect(p, ":");
        q.value = parse_string(p);
        if (parse_ext(p))
            while (ext_next(p, &key, &first)) {
                if (str_is(key, "has"))
                    q.has = (uint32_t)parse_int(p);
                else
                    q.unknown = parse_bytes(p);
            }
        vec_push(p->arena, out, q);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, "]");
}
