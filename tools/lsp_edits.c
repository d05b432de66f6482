// A repair as edits of the text that somebody wrote: the lines that differ.

#include "tools/lsp.h"
#include "tools/rewrite_text.h"

#include <string.h>

typedef VEC(Str) LineList;

static LineList lines_of(Arena *a, Str text)
{
    LineList lines = {0};
    while (text.len) {
        const char *end = memchr(text.at, '\n', text.len);
        Str line = {text.at, end ? (size_t)(end + 1 - text.at) : text.len};
        vec_push(a, &lines, line);
        text = (Str){text.at + line.len, text.len - line.len};
    }
    return lines;
}

static json_t *edits_between(Arena *a, const LspDocument *d, Str fresh)
{
    LineList old = lines_of(a, lsp_text(d)), new = lines_of(a, fresh);
    bool *gone = NEWS(a, bool, old.len + 1u), *added = NEWS(a, bool, new.len + 1u);
    json_t *edits = json_array();
    size_t at = 0;
    lint_compare(a, old.at, old.len, new.at, new.len, gone, added);
    for (uint32_t i = 0, k = 0; i < old.len || k < new.len;) {
        const size_t from = at;
        Str put = {k < new.len ? new.at[k].at : "", 0};
        for (; i < old.len && gone[i]; i++)
            at += old.at[i].len;
        for (; k < new.len &&added[k]; k++)
            put.len += new.at[k].len;
        if (at > from || put.len) {
            json_array_append_new(edits, json_pack("{s:o, s:o}", "range", lsp_range(d, from, at),
                                                   "newText", lsp_string(put)));
            continue;
        }
        at += old.at[i].len;
        i++, k++;
    }
    return edits;
}

json_t *lsp_edits(const LspDocument *d, Str before, Str after)
{
    Arena *a = arena_new();
    Buf out = {0};
    text_rewrite(d->path, lsp_text(d), before, after, &out);
    json_t *edits = edits_between(a, d, (Str){out.at, out.len});
    buf_free(&out);
    arena_free(a);
    return edits;
}
