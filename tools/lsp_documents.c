// Documents: their texts, and where in them lines and UTF-16 code units are.

#include "tools/lsp.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

// ---- names --------------------------------------------------------------------------------------

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The path of "file:///tmp/a%20b.onnxtxt"; of another scheme its last part, which is no file's.
static char *path_of(const char *uri)
{
    const bool file = strncmp(uri, "file://", 7) == 0;
    const char *at = file ? strchr(uri + 7, '/') : strrchr(uri, '/');
    at = at ? at + !file : strchr(uri, ':') ? strchr(uri, ':') + 1 : uri;
    char *path = malloc(strlen(at) + 1), *to = path;
    for (; path && *at; at++) {
        int hi = *at == '%' ? hex_digit(at[1]) : -1, lo = hi >= 0 ? hex_digit(at[2]) : -1;
        *to++ = lo > 0 || (lo == 0 && hi > 0) ? (char)(hi * 16 + lo) : *at;
        at += lo > 0 || (lo == 0 && hi > 0) ? 2 : 0;
    }
    if (path)
        *to = 0;
    return path;
}

static LspForm form_of(const char *path)
{
    Str name = str_of(path_base(path));
    return str_ends(name, ".onnxtxt") || str_ends(name, ".cir") ? LSP_TEXT
           : str_ends(name, ".onnx")                            ? LSP_BINARY
           : str_is(name, "cameo.yaml")                         ? LSP_CONFIG
                                                                : LSP_OTHER;
}

LspDocument *lsp_document(LspServer *s, const char *uri)
{
    for (uint32_t i = 0; i < s->ndocuments; i++)
        if (strcmp(s->documents[i]->uri, uri) == 0)
            return s->documents[i];
    return NULL;
}

LspDocument *lsp_open(LspServer *s, const char *uri, Str text, json_int_t version)
{
    LspDocument *d = lsp_document(s, uri);
    if (!d && s->ndocuments == sizeof s->documents / sizeof *s->documents)
        return NULL;
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d)
            return NULL;
        d->uri = strdup(uri);
        d->path = path_of(uri);
        d->form = form_of(d->path);
        s->documents[s->ndocuments++] = d;
    }
    lsp_set_text(d, d->form == LSP_BINARY ? STR("") : text);
    d->version = version;
    return d;
}

void lsp_close(LspServer *s, LspDocument *d)
{
    for (uint32_t i = 0; i < s->ndocuments; i++)
        if (s->documents[i] == d)
            s->documents[i] = s->documents[--s->ndocuments];
    buf_free(&d->text);
    free(d->lines);
    free(d->uri);
    free(d->path);
    free(d);
}

// ---- texts --------------------------------------------------------------------------------------

Str lsp_text(const LspDocument *d)
{
    return (Str){d->text.at ? d->text.at : "", d->text.len};
}

// Lines end with "\n", "\r\n" or "\r".
static void find_lines(LspDocument *d)
{
    const Str t = lsp_text(d);
    uint32_t n = 1;
    for (size_t i = 0; i < t.len; i++)
        n += t.at[i] == '\n' || (t.at[i] == '\r' && !(i + 1 < t.len && t.at[i + 1] == '\n'));
    free(d->lines);
    d->lines = malloc(n * sizeof *d->lines);
    if (!d->lines)
        _Exit(EXIT_BYTES);
    d->nlines = 0;
    d->lines[d->nlines++] = 0;
    for (size_t i = 0; i < t.len; i++)
        if (t.at[i] == '\n' || (t.at[i] == '\r' && !(i + 1 < t.len && t.at[i + 1] == '\n')))
            d->lines[d->nlines++] = i + 1;
}

void lsp_set_text(LspDocument *d, Str text)
{
    Buf fresh = {0};
    buf_put(&fresh, text.at, text.len);
    buf_free(&d->text);
    d->text = fresh;
    find_lines(d);
}

// The bytes of a line without what ends it.
static Str line_of(const LspDocument *d, uint32_t line)
{
    const Str t = lsp_text(d);
    size_t from = d->lines[line], to = line + 1 < d->nlines ? d->lines[line + 1] : t.len;
    while (to > from && (t.at[to - 1] == '\n' || t.at[to - 1] == '\r'))
        to--;
    return (Str){t.at + from, to - from};
}

// Bytes and UTF-16 units of the character at i.
static void step(Str line, size_t i, size_t *bytes, uint32_t *units)
{
    uint32_t cp;
    size_t n = utf8_decode(line.at + i, line.len - i, &cp);
    *bytes = n ? n : 1;
    *units = n == 4 ? 2 : 1;
}

size_t lsp_offset(const LspDocument *d, json_int_t line, json_int_t character)
{
    if (line < 0 || character < 0)
        return line < 0 ? 0 : lsp_offset(d, line, 0);
    if (line >= d->nlines)
        return d->text.len;
    const Str text = line_of(d, (uint32_t)line);
    size_t i = 0, bytes;
    uint32_t units;
    for (json_int_t at = 0; i < text.len && at < character; i += bytes, at += units) {
        step(text, i, &bytes, &units);
        if (at + units > character)
            break; // within a pair
    }
    return d->lines[line] + i;
}

static json_t *position_of(const LspDocument *d, size_t offset)
{
    uint32_t lo = 0, hi = d->nlines;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (d->lines[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    const Str text = line_of(d, lo);
    const size_t end = offset - d->lines[lo];
    json_int_t character = 0;
    size_t bytes;
    uint32_t units;
    for (size_t i = 0; i < text.len && i < end; i += bytes, character += units)
        step(text, i, &bytes, &units);
    return json_pack("{s:I, s:I}", "line", (json_int_t)lo, "character", character);
}

json_t *lsp_range(const LspDocument *d, size_t from, size_t to)
{
    return json_pack("{s:o, s:o}", "start", position_of(d, from), "end", position_of(d, to));
}

json_t *lsp_location(const LspDocument *d, size_t from, size_t to)
{
    return json_pack("{s:s, s:o}", "uri", d->uri, "range", lsp_range(d, from, to));
}

bool lsp_position(const LspDocument *d, const json_t *position, size_t *offset)
{
    const json_t *line = json_object_get(position, "line");
    const json_t *character = json_object_get(position, "character");
    if (!json_is_integer(line) || !json_is_integer(character))
        return false;
    *offset = lsp_offset(d, json_integer_value(line), json_integer_value(character));
    return true;
}

bool lsp_change(LspDocument *d, const json_t *change)
{
    const json_t *text = json_object_get(change, "text"), *range = json_object_get(change, "range");
    size_t from, to;
    if (!json_is_string(text))
        return false;
    const Str put = {json_string_value(text), json_string_length(text)};
    if (d->form == LSP_BINARY)
        return true;
    if (!range) {
        lsp_set_text(d, put);
        return true;
    }
    if (!lsp_position(d, json_object_get(range, "start"), &from) ||
        !lsp_position(d, json_object_get(range, "end"), &to) || to < from)
        return false;
    Buf fresh = {0};
    buf_put(&fresh, lsp_text(d).at, from);
    buf_put(&fresh, put.at, put.len);
    buf_put(&fresh, lsp_text(d).at + to, d->text.len - to);
    buf_free(&d->text);
    d->text = fresh;
    find_lines(d);
    return true;
}

json_t *lsp_string(Str s)
{
    json_t *whole = json_stringn(s.at ? s.at : "", s.len);
    if (whole)
        return whole;
    Buf b = {0};
    for (size_t i = 0; i < s.len;) {
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        buf_put(&b, n ? s.at + i : "\xef\xbf\xbd", n ? n : 3);
        i += n ? n : 1;
    }
    json_t *mended = json_stringn(b.at, b.len);
    buf_free(&b);
    return mended ? mended : json_string("");
}
