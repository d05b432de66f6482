// A repair in the text that somebody wrote: what the repair leaves alone stays as it is written,
// comments and blanks too.
//
// 1. The model is printed before and after the repair; both texts and the written one are cut into
//    elements: the entries of lists, and the nodes of bodies, by their places.
// 2. Elements that both printed texts have are taken as they are written, what is new as it is
//    printed. Nodes of branches and bodies belong to the element of the node around them.
// 3. What comes of it is parsed and printed; unless that is the repaired text, the whole text is
//    replaced by it. So a rewriting is never wrong, at worst it is large.

#include "tools/rewrite_text.h"

#include "frontend/load.h"
#include "ir/text.h"
#include "tools/lint.h"

#include <string.h>

enum { LISTS = 4 }; // inputs, outputs, constants, body

typedef struct Element {
    size_t from, to;
    Str key; // of an entry: what it declares
} Element;
typedef VEC(Element) ElementList;
typedef struct List {
    bool there;
    size_t from, to; // with brackets
    ElementList at;
} List;
typedef struct Cut {
    Arena *arena;
    Str text, header;
    size_t header_from;
    Model *m;
    VEC(GraphId) graphs; // outermost ones, in order
    List (*lists)[LISTS];
} Cut;

// ---- cutting ------------------------------------------------------------------------------------

static uint32_t graph_number(const Cut *c, GraphId g)
{
    for (uint32_t i = 0; i < c->graphs.len; i++)
        if (c->graphs.at[i] == g)
            return i;
    return UINT32_MAX;
}

static int list_of(const TextPlace *p)
{
    return p->kind == PLACE_INPUTS      ? 0
           : p->kind == PLACE_OUTPUTS   ? 1
           : p->kind == PLACE_CONSTANTS ? 2
           : p->kind == PLACE_BODY      ? 3
           : p->kind == PLACE_ENTRY     ? (int)p->index
           : p->kind == PLACE_NODE      ? 3
                                        : -1;
}

// "initializer w": the last name in front of the entry's end.
static Str key_of(const Cut *c, const TextPlace *name)
{
    const char *what = name->kind == PLACE_INITIALIZER ? "=" : ":";
    return str_printf(c->arena, "%s%.*s", what, (int)(name->to - name->from),
                      c->text.at + name->from);
}

static void take_place(Cut *c, const TextPlace *p, const TextPlace *name)
{
    const uint32_t g = graph_number(c, p->graph);
    const int kind = list_of(p);
    if (p->kind == PLACE_HEADER) {
        c->header = (Str){c->text.at + p->from, p->to - p->from};
        c->header_from = p->from;
    }
    if (g == UINT32_MAX || kind < 0)
        return;
    List *l = &c->lists[g][kind];
    if (p->kind == PLACE_ENTRY || p->kind == PLACE_NODE)
        vec_push(c->arena, &l->at,
                 ((Element){p->from, p->to,
                            p->kind == PLACE_ENTRY && name ? key_of(c, name) : STR_NONE}));
    else
        l->there = true, l->from = p->from, l->to = p->to;
}

static bool cut(Arena *a, const char *path, Str text, Cut *c)
{
    Diags diags;
    TextPlaces places = {0};
    *c = (Cut){.arena = a, .text = text, .header = STR("")};
    diags_init(&diags, a, STR_NONE);
    c->m = text_parse_places(a, path, text, &diags, &places);
    for (uint32_t i = 0; c->m && i < places.len; i++)
        if (places.at[i].kind == PLACE_BODY && !graph_at(c->m, places.at[i].graph)->owner)
            vec_push(a, &c->graphs, places.at[i].graph);
    c->lists = arena_alloc(a, (c->graphs.len + 1) * sizeof *c->lists);
    const TextPlace *name = NULL;
    for (uint32_t i = 0; c->m && i < places.len; i++) {
        const TextPlace *p = &places.at[i];
        take_place(c, p, name);
        bool outer = graph_number(c, p->graph) != UINT32_MAX;
        if (outer && (p->kind == PLACE_INITIALIZER || p->kind == PLACE_DECLARED ||
                      p->kind == PLACE_INPUT || p->kind == PLACE_OUTPUT))
            name = p;
    }
    return c->m != NULL;
}

// ---- written elements beside printed ones -------------------------------------------------------

static Str element_text(const Cut *c, const Element *e)
{
    return (Str){c->text.at + e->from, e->to - e->from};
}

// Of each printed element the written one. False: they cannot be told to be the same, or stand in
// another order.
static bool pair_up(const Cut *written, const List *w, const List *b, GraphId g, bool body,
                    uint32_t *at)
{
    Map keys = {.arena = written->arena};
    const Graph *graph = graph_at(written->m, g);
    if (w->at.len != b->at.len)
        return false;
    for (uint32_t i = 0; !body && i < w->at.len; i++)
        *map_put(&keys, w->at.at[i].key, NULL) = i;
    for (uint32_t i = 0; i < b->at.len; i++) {
        const uint32_t *known = body ? NULL : map_get(&keys, b->at.at[i].key);
        at[i] = body    ? node_at(written->m, graph->nodes.at[i])->position
                : known ? *known
                        : UINT32_MAX;
        if (at[i] >= w->at.len || (body && i && at[i] < at[i - 1]))
            return false;
    }
    return true;
}

// ---- putting together ---------------------------------------------------------------------------

typedef struct Rebuilt {
    const Cut *written, *before, *after;
    const List *w, *b, *a;
    bool body;
    const uint32_t *at; // of each element before: the written one
    bool *gone, *fresh;
    Buf *out;
    uint32_t put;
} Rebuilt;

// What stands in front of written element i: blanks, comments, a comma.
static Str gap(const Rebuilt *r, uint32_t i)
{
    const size_t from = i ? r->w->at.at[i - 1].to : r->w->from + 1;
    return (Str){r->written->text.at + from, r->w->at.at[i].from - from};
}

// A comment at the end of the line before belongs to that line.
static Str line_end(Str g)
{
    const char *hash = memchr(g.at, '#', g.len), *end = memchr(g.at, '\n', g.len);
    return hash && end && hash < end ? (Str){g.at, (size_t)(end - g.at)} : (Str){g.at, 0};
}

// The blanks at the end of a gap that has a line of its own; false: it is within a line.
static bool indent_of(Str g, Str *indent)
{
    size_t n = g.len;
    while (n && (g.at[n - 1] == ' ' || g.at[n - 1] == '\t'))
        n--;
    *indent = (Str){g.at + n, g.len - n};
    return n && g.at[n - 1] == '\n';
}

static void put_fresh(Rebuilt *r, Str text, uint32_t next)
{
    Str indent = STR("   ");
    bool lines = r->body;
    if (r->w->at.len)
        lines =
            indent_of(gap(r, next < r->w->at.len ? next : r->w->at.len - 1), &indent) || r->body;
    if (!r->body && r->put)
        buf_char(r->out, ',');
    if (lines)
        buf_printf(r->out, "\n%.*s", STR_ARG(indent.len ? indent : STR("   ")));
    else if (r->put)
        buf_char(r->out, ' ');
    buf_str(r->out, text);
    r->put++;
}

// What stands in front of a written element, as it goes behind what was put.
static void put_gap(Rebuilt *r, uint32_t i, bool line_end_put)
{
    Str g = gap(r, i);
    if (line_end_put)
        g = (Str){g.at + line_end(g).len, g.len - line_end(g).len};
    if (!r->body && !r->put && i) { // the first one has no comma before it
        const char *comma = memchr(g.at, ',', g.len);
        g = comma ? (Str){comma + 1, g.len - (size_t)(comma + 1 - g.at)} : g;
    } else if (!r->body && r->put && !i) {
        buf_char(r->out, ',');
    }
    buf_str(r->out, g);
}

// What replaces a written element stands where that stood.
static void put_instead(Rebuilt *r, uint32_t i, Str text)
{
    put_gap(r, i, false);
    buf_str(r->out, text);
    r->put++;
}

// Elements that only the repaired text has, in front of the written element `here`; true: the end
// of the line before was put.
static bool put_inserted(Rebuilt *r, uint32_t *k, uint32_t here)
{
    bool ended = false;
    for (; *k < r->a->at.len && r->fresh[*k]; ++*k) {
        if (r->body && !ended && here < r->w->at.len) {
            buf_str(r->out, line_end(gap(r, here)));
            ended = true;
        }
        put_fresh(r, element_text(r->after, &r->a->at.at[*k]), here);
    }
    return ended;
}

static void rebuild(Rebuilt *r)
{
    uint32_t i = 0, k = 0; // of the elements before and behind the repair
    while (i < r->b->at.len || k < r->a->at.len) {
        while (i < r->b->at.len && k < r->a->at.len && r->gone[i] && r->fresh[k])
            put_instead(r, r->at[i++], element_text(r->after, &r->a->at.at[k++]));
        while (i < r->b->at.len && r->gone[i])
            i++;
        const bool ended = put_inserted(r, &k, i < r->b->at.len ? r->at[i] : r->w->at.len);
        if (i < r->b->at.len && k < r->a->at.len) {
            put_gap(r, r->at[i], ended);
            buf_str(r->out, element_text(r->written, &r->w->at.at[r->at[i]]));
            r->put++;
            i++, k++;
        }
    }
    const size_t end = r->w->at.len ? r->w->at.at[r->w->at.len - 1].to : r->w->from + 1;
    buf_put(r->out, r->written->text.at + end, r->w->to - 1 - end);
}

static Str *texts_of(const Cut *c, const List *l)
{
    Str *texts = NEWS(c->arena, Str, l->at.len + 1u);
    for (uint32_t i = 0; i < l->at.len; i++)
        texts[i] = element_text(c, &l->at.at[i]);
    return texts;
}

// A list as it is written, changed as the printed ones differ; false: it cannot be told how.
static bool put_list(const Cut *c, uint32_t g, int kind, Buf *out)
{
    const List *w = &c[0].lists[g][kind], *b = &c[1].lists[g][kind], *a = &c[2].lists[g][kind];
    Arena *arena = c[0].arena;
    Rebuilt r = {&c[0], &c[1], &c[2], w, b, a, kind == 3, .out = out};
    r.gone = NEWS(arena, bool, b->at.len + 1u);
    r.fresh = NEWS(arena, bool, a->at.len + 1u);
    lint_compare(arena, texts_of(&c[1], b), b->at.len, texts_of(&c[2], a), a->at.len, r.gone,
                 r.fresh);
    bool any = false;
    for (uint32_t i = 0; i < b->at.len; i++)
        any |= r.gone[i];
    for (uint32_t i = 0; i < a->at.len; i++)
        any |= r.fresh[i];
    if (!w->there && !any)
        return true;
    if (!w->there) { // a list that was not there
        buf_printf(out, " <");
        for (uint32_t i = 0; i < a->at.len; i++)
            buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(element_text(&c[2], &a->at.at[i])));
        buf_char(out, '>');
        return true;
    }
    if (any && kind == 2 && !a->at.len)
        return true; // none is left
    const Str written = {c[0].text.at + w->from, w->to - w->from};
    if (!any) {
        buf_str(out, written);
        return true;
    }
    uint32_t *at = NEWS(arena, uint32_t, b->at.len + 1u);
    r.at = at;
    if (!pair_up(&c[0], w, b, c[0].graphs.at[g], r.body, at))
        return false;
    buf_char(out, written.at[0]);
    rebuild(&r);
    buf_char(out, written.at[written.len - 1]);
    return true;
}

// The written text with the repair in it; false: it cannot be told where.
static bool put_together(const Cut *c, Buf *out)
{
    size_t done = 0;
    if (c[0].graphs.len != c[1].graphs.len || c[0].graphs.len != c[2].graphs.len)
        return false;
    if (!str_eq(c[1].header, c[2].header)) {
        buf_put(out, c[0].text.at, c[0].header_from);
        buf_str(out, c[2].header);
        done = c[0].header_from + c[0].header.len;
    }
    for (uint32_t g = 0; g < c[0].graphs.len; g++)
        for (int kind = 0; kind < LISTS; kind++) {
            const List *w = &c[0].lists[g][kind];
            if (w->there && w->from >= done) {
                buf_put(out, c[0].text.at + done, w->from - done);
                done = w->to;
            }
            if (!put_list(c, g, kind, out))
                return false;
        }
    buf_put(out, c[0].text.at + done, c[0].text.len - done);
    return true;
}

// ---- what comes of it

// Nodes in another order are another text: the repair may be that they are sorted.
static bool prints_as(const char *path, Str text, Str wanted)
{
    Diags diags;
    Buf out = {0};
    Dropped lost = {0};
    Arena *a = arena_new();
    diags_init(&diags, a, STR_NONE);
    Model *m = text_parse(a, path, text, &diags);
    if (m)
        text_print(m, str_ends(str_of(path), ".cir") ? TEXT_CIR : TEXT_PLAIN, false, &out, &lost);
    bool same = m && str_eq((Str){out.at, out.len}, wanted);
    buf_free(&out);
    arena_free(a);
    return same;
}

void text_rewrite(const char *path, Str written, Str before, Str after, Buf *out)
{
    Arena *a = arena_new(), *scratch = arena_new();
    Cut c[3];
    Buf whole = {0};
    bool known =
        cut(a, path, written, &c[0]) && cut(a, path, before, &c[1]) && cut(a, path, after, &c[2]);
    if (known) {
        model_sort(c[0].m, scratch);
        known = put_together(c, &whole) && prints_as(path, (Str){whole.at, whole.len}, after);
    }
    buf_str(out, known ? (Str){whole.at, whole.len} : after);
    buf_free(&whole);
    arena_free(scratch);
    arena_free(a);
}
