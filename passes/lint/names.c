// SE004, SE005: what names and texts of a model give away, or do to whoever prints them.

#include "passes/lint/lint.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SHOWN = 5 };

// ---- SE004

static bool is_path_byte(char c)
{
    return isalnum((unsigned char)c) || strchr("._-+~/\\@", c ? c : ' ');
}

// Where a path of somebody's machine begins in the text, from `from` on; its length in *len. Only
// folders that are such on their own: "/conv1/Conv" is a name.
static size_t find_path(Str s, size_t from, size_t *len)
{
    static const char *const roots[] = {"/home/",      "/Users/", "/root/", "/mnt/",
                                        "/opt/",       "/usr/",   "/var/",  "/tmp/",
                                        "/workspace/", "/data/",  "/srv/"};
    for (size_t i = from; i < s.len; i++) {
        bool begins = i == 0 || !is_path_byte(s.at[i - 1]);
        bool drive = i + 3 < s.len && isalpha((unsigned char)s.at[i]) && s.at[i + 1] == ':' &&
                     s.at[i + 2] == '\\' && is_path_byte(s.at[i + 3]);
        bool found = false;
        for (size_t k = 0; k < sizeof roots / sizeof *roots && s.at[i] == '/'; k++)
            found |= str_starts((Str){s.at + i, s.len - i}, roots[k]);
        if (!begins || (!found && !drive))
            continue;
        size_t end = i + (drive ? 2 : 0);
        while (end < s.len && is_path_byte(s.at[end]))
            end++;
        *len = end - i;
        return i;
    }
    return s.len;
}

typedef struct Texts {
    Lint *l; // NULL: they are rewritten
    Arena *arena;
    uint32_t count;
    Str shown[MAX_SHOWN];
} Texts;

static void look_at(Texts *t, Str *text)
{
    size_t len = 0, at = find_path(*text, 0, &len);
    if (at == text->len || !text->at)
        return;
    if (t->l && t->count < MAX_SHOWN)
        t->shown[t->count] = str_escaped(t->arena, (Str){text->at + at, len});
    t->count++;
    if (t->l)
        return;
    // The file's own name stays of each path.
    Buf b = {0};
    size_t from = 0;
    while (at < text->len) {
        size_t name = at + len;
        while (name > at && text->at[name - 1] != '/' && text->at[name - 1] != '\\')
            name--;
        buf_put(&b, text->at + from, at - from);
        from = name;
        at = find_path(*text, at + len, &len);
    }
    buf_put(&b, text->at + from, text->len - from);
    *text = str_copy(t->arena, (Str){b.at, b.len});
    buf_free(&b);
}

static void look_at_props(Texts *t, Props *props)
{
    for (uint32_t i = 0; i < props->len; i++)
        look_at(t, &props->at[i].value);
}

static void look_at_infos(Texts *t, ValueInfo *infos, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        look_at(t, &infos[i].doc);
        look_at_props(t, &infos[i].metadata);
    }
}

static void look_at_all(Texts *t, Model *m)
{
    look_at(t, &m->doc);
    look_at_props(t, &m->metadata);
    for (uint32_t i = 0; i < m->functions.len; i++) {
        look_at(t, &m->functions.at[i].doc);
        look_at_props(t, &m->functions.at[i].metadata);
    }
    for (GraphId g = 1; g < m->graphs.len; g++) {
        Graph *graph = graph_at(m, g);
        look_at(t, &graph->doc);
        look_at_props(t, &graph->metadata);
        look_at_infos(t, graph->inputs.at, graph->inputs.len);
        look_at_infos(t, graph->outputs.at, graph->outputs.len);
        look_at_infos(t, graph->infos.at, graph->infos.len);
        for (uint32_t i = 0; i < graph->initializers.len; i++) {
            look_at(t, &graph->initializers.at[i].data->doc);
            look_at_props(t, &graph->initializers.at[i].data->metadata);
        }
    }
    for (NodeId n = 1; n < m->nodes.len; n++) {
        if (node_at(m, n)->dead)
            continue;
        look_at(t, &node_at(m, n)->doc);
        look_at_props(t, &node_at(m, n)->metadata);
    }
}

void lint_leaks(Lint *l)
{
    Texts t = {.l = l, .arena = l->arena};
    look_at_all(&t, l->m);
    if (!t.count)
        return;
    Diag *d = diag(l->diags, "SE004", SEV_INFO, STR("graph"),
                   "%u text%s of the model name%s a path of the machine it was made on", t.count,
                   t.count == 1 ? "" : "s", t.count == 1 ? "s" : "");
    for (uint32_t i = 0; i < t.count && i < MAX_SHOWN; i++)
        diag_note(l->diags, d, "%.*s", STR_ARG(t.shown[i]));
    diag_fix(l->diags, d, false, "keep the names of the files only");
}

uint32_t repair_leaks(Model *m, bool unsafe)
{
    Texts t = {.arena = m->arena};
    if (unsafe)
        look_at_all(&t, m);
    return t.count;
}

// ---- SE005

// Are all bytes of ASCII that say nothing to whoever prints them? Of nearly all names, at a glance.
static bool is_plain(Str s)
{
    unsigned char other = 0;
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.at[i];
        other |= (unsigned char)((unsigned char)(c - 0x20) > 0x7e - 0x20) | (c == '*');
    }
    return !other;
}

// What a name holds that it should not; NULL: nothing.
static const char *hostile(Str s)
{
    if (is_plain(s))
        return NULL;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        if (c == '\n' || c == '\r')
            return "a line break";
        if (c < 0x20 || c == 0x7f)
            return "a control character";
        if (n == 0)
            return "bytes that are no UTF-8";
        if ((cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069))
            return "a control of the direction of writing";
        if (c == '*' && i + 1 < s.len && s.at[i + 1] == '/')
            return "the end of a C comment";
        i += n - 1;
    }
    return NULL;
}

static void report_name(Lint *l, Str where, const char *kind, Str name, const char *what)
{
    Str shown = str_escaped(l->arena, name);
    Diag *d = diag(l->diags, "SE005", SEV_WARNING, where, "the name of %s holds %s: \"%.*s\"", kind,
                   what, STR_ARG(shown));
    d->value = shown;
    diag_note(l->diags, d, "tools that print it, or write it into code, do what the name says");
    diag_fix(l->diags, d, false, "replace what it holds by \"_\"");
}

static void check_interface(Lint *l)
{
    Map seen = {.arena = l->arena};
    const Graph *g = graph_at(l->m, l->m->main);
    for (uint32_t i = 0; i < g->inputs.len + g->outputs.len; i++) {
        bool in = i < g->inputs.len, added;
        ValueId v = in ? g->inputs.at[i].value : g->outputs.at[i - g->inputs.len].value;
        Str name = value_at(l->m, v)->name;
        char *mangled = arena_copy(l->arena, name.at ? name.at : "", name.len);
        for (size_t k = 0; k < name.len; k++)
            if (!isalnum((unsigned char)mangled[k]))
                mangled[k] = '_';
        uint32_t *first = map_put(&seen, str_printf(l->arena, "%d%s", in, mangled), &added);
        if (added) {
            *first = v;
            continue;
        }
        if (str_eq(name, value_at(l->m, *first)->name))
            continue;
        Str shown = str_escaped(l->arena, name);
        Diag *d = diag(l->diags, "SE005", SEV_WARNING, location_value(l->m, l->arena, v),
                       "%s \"%.*s\" and \"%.*s\" are one name where only letters and digits count",
                       in ? "inputs" : "outputs", STR_ARG(lint_name(l, *first)), STR_ARG(shown));
        d->value = shown;
        diag_note(l->diags, d, "files and fields that bear their names would be one");
        diag_help(l->diags, d, "rename one of them, here and where it is called");
    }
}

void lint_names(Lint *l)
{
    const Model *m = l->m;
    const char *what;
    for (ValueId v = 1; v < m->values.len; v++)
        if ((what = hostile(value_at(m, v)->name)))
            report_name(l, location_value(m, l->arena, v), "a value", value_at(m, v)->name, what);
    for (NodeId n = 1; n < m->nodes.len; n++) {
        const Node *node = node_at(m, n);
        if (!node->dead && (what = hostile(node->name)))
            report_name(l, location_node(m, l->arena, n), "a node", node->name, what);
        if (!node->dead && (what = hostile(node->op)))
            report_name(l, location_node(m, l->arena, n), "an operator", node->op, what);
    }
    for (GraphId g = 1; g < m->graphs.len; g++)
        if ((what = hostile(graph_at(m, g)->name)))
            report_name(l, location_graph(m, l->arena, g), "a graph", graph_at(m, g)->name, what);
    check_interface(l);
}

static Str tame(Arena *a, Str s)
{
    Buf b = {0};
    for (size_t i = 0; i < s.len; i++) {
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        bool bad = hostile((Str){s.at + i, n ? n : 1}) ||
                   (s.at[i] == '*' && i + 1 < s.len && s.at[i + 1] == '/');
        if (bad)
            buf_char(&b, '_');
        else
            buf_put(&b, s.at + i, n);
        i += n ? n - 1 : 0;
    }
    Str t = str_copy(a, (Str){b.at, b.len});
    buf_free(&b);
    return t;
}

// A name that no value of the model bears yet.
static Str fresh_name(Model *m, Map *names, Str wanted)
{
    Str name = wanted;
    bool added;
    map_put(names, name, &added);
    for (uint32_t k = 2; !added; k++) {
        name = str_printf(m->arena, "%.*s_%u", STR_ARG(wanted), k);
        map_put(names, name, &added);
    }
    return name;
}

uint32_t repair_names(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Map names = {.arena = m->arena};
    for (ValueId v = 1; v < m->values.len && unsafe; v++)
        map_put(&names, value_at(m, v)->name, NULL);
    for (ValueId v = 1; v < m->values.len && unsafe; v++) {
        Value *value = value_at(m, v);
        if (!hostile(value->name))
            continue;
        value->name = fresh_name(m, &names, tame(m->arena, value->name));
        if (value->init)
            value->init->name = value->name;
        changes++;
    }
    for (NodeId n = 1; n < m->nodes.len && unsafe; n++) {
        Node *node = node_at(m, n);
        if (node->dead || !hostile(node->name))
            continue;
        node->name = tame(m->arena, node->name);
        changes++;
    }
    for (GraphId g = 1; g < m->graphs.len && unsafe; g++)
        if (hostile(graph_at(m, g)->name)) {
            graph_at(m, g)->name = tame(m->arena, graph_at(m, g)->name);
            changes++;
        }
    return changes;
}
