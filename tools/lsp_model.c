// A document's model, and what stands where in its text.

#include "frontend/load.h"
#include "tools/config.h"
#include "tools/lsp.h"

#include <ctype.h>
#include <string.h>

bool lsp_parse(LspServer *s, const LspDocument *d, LspModel *l)
{
    Diags diags;
    *l = (LspModel){.arena = arena_new()};
    l->config = NEW(l->arena, Config);
    diags_init(&diags, l->arena, str_of(d->path));
    if (d->form == LSP_TEXT)
        l->m = text_parse_places(l->arena, d->path, lsp_text(d), &diags, &l->places);
    if (l->m && tool_config(s->tool, l->arena, d->path, l->config)) {
        l->config->target = s->lint.target ? s->lint.target : l->config->target;
        l->m->config = l->config;
    }
    return l->m != NULL;
}

void lsp_prepare(LspModel *l)
{
    Diags diags;
    Arena *scratch = arena_new();
    diags_init(&diags, l->arena, STR_NONE);
    model_sort(l->m, scratch);
    arena_free(scratch);
    lint_prepare(l->m, &diags);
}

static bool is_name(const TextPlace *p)
{
    return p->kind >= PLACE_TITLE && p->kind <= PLACE_DECLARED && p->kind != PLACE_ENTRY;
}

const TextPlace *lsp_place_at(const LspModel *l, size_t offset)
{
    const TextPlace *found = NULL;
    for (uint32_t i = 0; i < l->places.len; i++) {
        const TextPlace *p = &l->places.at[i];
        bool name = is_name(p) || p->kind == PLACE_GRAPH;
        if (name && p->from <= offset && offset <= p->to &&
            (!found || p->to - p->from < found->to - found->from))
            found = p;
    }
    return found;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

Str lsp_word_at(const LspDocument *d, size_t offset)
{
    const Str t = lsp_text(d);
    size_t from = offset < t.len ? offset : t.len, to = from;
    while (from && is_word(t.at[from - 1]))
        from--;
    while (to < t.len && is_word(t.at[to]))
        to++;
    return (Str){t.at + from, to - from};
}
