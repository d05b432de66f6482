// What a repair changes in a file, as SARIF replacements.
//
// 1. Both files are cut into pieces that a repair leaves as they are or not: a text into lines, an
//    ONNX file into the fields of the model and of its graph, each a piece, and what stands in
//    front of the graph's fields.
// 2. Pieces of one file only (the shortest edit) make stretches; of bytes what both begin and end
//    with is left out.
// 3. A weight that is written anew is no fix that anybody reads: beyond MAX_REWRITE bytes there is
//    none.

#include "base/json.h"
#include "tools/lint.h"

#include <string.h>

enum { MAX_REWRITE = 64 << 10, MAX_PIECES = 1 << 22, FIELD_GRAPH = 7 };

typedef struct Pieces {
    Str *at;
    uint32_t len, cap;
} Pieces;

static void add_piece(Arena *a, Pieces *p, const char *from, const char *to)
{
    if (to > from)
        vec_push(a, p, ((Str){from, (size_t)(to - from)}));
}

static void cut_lines(Arena *a, Str text, Pieces *p)
{
    const char *at = text.at, *end = text.at + text.len;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *next = line ? line + 1 : end;
        add_piece(a, p, at, next);
        at = next;
    }
}

static bool take_varint(const char **at, const char *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char c = (unsigned char)*(*at)++;
        *v |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return true;
    }
    return false;
}

// The fields from `at` to `end`, a piece each; of a model the graph's fields instead of the graph.
// What cannot be cut is one piece.
static void cut_fields(Arena *a, const char *at, const char *end, bool model, Pieces *p)
{
    while (at < end && p->len < MAX_PIECES) {
        const char *from = at;
        uint64_t tag, n = 0;
        bool known = take_varint(&at, end, &tag);
        switch (known ? tag & 7 : 7) {
        case 0:
            known = take_varint(&at, end, &n);
            n = 0;
            break;
        case 1:
            n = 8;
            break;
        case 2:
            known = take_varint(&at, end, &n);
            break;
        case 5:
            n = 4;
            break;
        default:
            known = false;
        }
        if (!known || n > (uint64_t)(end - at)) {
            add_piece(a, p, from, end);
            return;
        }
        if (model && (tag & 7) == 2 && tag >> 3 == FIELD_GRAPH) {
            add_piece(a, p, from, at);
            cut_fields(a, at, at + n, false, p);
        } else {
            add_piece(a, p, from, at + n);
        }
        at += n;
    }
    add_piece(a, p, at, end);
}

static void put_int(Json *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_int(j, (int64_t)v);
}

static void put_base64(Json *j, Str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Buf b = {0};
    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t left = bytes.len - i < 3 ? (uint32_t)(bytes.len - i) : 3, v = 0;
        for (uint32_t k = 0; k < 3; k++)
            v = v << 8 | (k < left ? (unsigned char)bytes.at[i + k] : 0);
        for (uint32_t k = 0; k < 4; k++)
            buf_char(&b, k > left ? '=' : digits[v >> (18 - 6 * k) & 63]);
    }
    json_str(j, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
}

// UTF-16 code units, by which SARIF counts columns.
static uint64_t units_of(Str line)
{
    uint64_t units = 0;
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.at[i];
        units += (c & 0xC0) != 0x80;
        units += c >= 0xF0;
    }
    return units;
}

// Lines from..to, numbered from 0, become `put`.
static void put_lines(Json *j, const Pieces *old, uint32_t from, uint32_t to, Str put)
{
    Str last = to ? old->at[to - 1] : STR_NONE;
    bool open = to > from && last.at[last.len - 1] != '\n'; // the end of a file without a newline
    json_object(j);
    json_key(j, "deletedRegion");
    json_object(j);
    put_int(j, "startLine", from + 1u);
    put_int(j, "startColumn", 1);
    put_int(j, "endLine", open ? to : to + 1u);
    put_int(j, "endColumn", open ? units_of(last) + 1 : 1);
    json_end_object(j);
    json_key(j, "insertedContent");
    json_object(j);
    json_key(j, "text");
    json_str(j, put);
    json_end_object(j);
    json_end_object(j);
}

static void put_bytes(Json *j, uint64_t offset, Str was, Str put)
{
    while (was.len && put.len && was.at[0] == put.at[0]) {
        was = (Str){was.at + 1, was.len - 1};
        put = (Str){put.at + 1, put.len - 1};
        offset++;
    }
    while (was.len && put.len && was.at[was.len - 1] == put.at[put.len - 1])
        was.len--, put.len--;
    json_object(j);
    json_key(j, "deletedRegion");
    json_object(j);
    put_int(j, "byteOffset", offset);
    put_int(j, "byteLength", was.len);
    json_end_object(j);
    json_key(j, "insertedContent");
    json_object(j);
    json_key(j, "binary");
    put_base64(j, put);
    json_end_object(j);
    json_end_object(j);
}

// Each stretch of pieces that are in one file only; false: too much for MAX_REWRITE.
static bool put_stretches(Json *j, Str before, const Pieces *old, const Pieces *new,
                          const bool *gone, const bool *fresh, bool text)
{
    for (uint32_t i = 0, k = 0; i < old->len || k < new->len;) {
        uint32_t i0 = i, k0 = k;
        Str was = {i < old->len ? old->at[i].at : before.at + before.len, 0};
        Str put = {k < new->len ? new->at[k].at : "", 0};
        for (; i < old->len && gone[i]; i++)
            was.len += old->at[i].len;
        for (; k < new->len &&fresh[k]; k++)
            put.len += new->at[k].len;
        if (i == i0 && k == k0) {
            i++, k++;
            continue;
        }
        if (text)
            put_lines(j, old, i0, i, put);
        else
            put_bytes(j, (uint64_t)(was.at - before.at), was, put);
        if (j->out->len > MAX_REWRITE)
            return false;
    }
    return true;
}

Str lint_replacements(Arena *a, Str before, Str after, bool text)
{
    Buf out = {0};
    Json j = {.out = &out};
    Arena *scratch = arena_new();
    Pieces old = {0}, new = {0};
    Str made = STR_NONE;
    if (text) {
        cut_lines(scratch, before, &old);
        cut_lines(scratch, after, &new);
    } else {
        cut_fields(scratch, before.at, before.at + before.len, true, &old);
        cut_fields(scratch, after.at, after.at + after.len, true, &new);
    }
    bool *gone = NEWS(scratch, bool, old.len + 1u), *fresh = NEWS(scratch, bool, new.len + 1u);
    lint_compare(scratch, old.at, old.len, new.at, new.len, gone, fresh);
    json_array(&j);
    bool fits = put_stretches(&j, before, &old, &new, gone, fresh, text);
    json_end_array(&j);
    if (fits && out.len > 2)
        made = str_copy(a, (Str){out.at, out.len});
    buf_free(&out);
    arena_free(scratch);
    return made;
}
