// Where values are made, read and named; the outline of a text.

#include "tools/lsp.h"

#include <string.h>

enum { MAX_SYMBOLS = 20000 };

static bool names_value(const TextPlace *p)
{
    return p->value &&
           (p->kind == PLACE_RESULT || p->kind == PLACE_OPERAND || p->kind == PLACE_INPUT ||
            p->kind == PLACE_OUTPUT || p->kind == PLACE_INITIALIZER || p->kind == PLACE_DECLARED);
}

static bool makes_value(const TextPlace *p)
{
    return p->kind == PLACE_RESULT || p->kind == PLACE_INPUT || p->kind == PLACE_INITIALIZER;
}

// The name at the position that the request speaks of; NULL: there is none.
static const TextPlace *place_of(LspServer *s, LspDocument *d, const json_t *params, LspModel *l)
{
    size_t offset = 0;
    lsp_position(d, json_object_get(params, "position"), &offset);
    return lsp_parse(s, d, l) ? lsp_place_at(l, offset) : NULL;
}

json_t *lsp_definition(LspServer *s, LspDocument *d, const json_t *params)
{
    LspModel l;
    const TextPlace *p = place_of(s, d, params, &l);
    const Function *f =
        p && p->kind == PLACE_OPERATOR ? lsp_function_of(l.m, node_at(l.m, p->node)) : NULL;
    for (uint32_t i = 0; p && i < l.places.len; i++) {
        const TextPlace *q = &l.places.at[i];
        bool value = names_value(p) && q->value == p->value && makes_value(q);
        bool function = f && q->kind == PLACE_GRAPH && q->graph == f->body;
        if (value || function)
            return lsp_location(d, q->from, q->to);
    }
    return json_null();
}

json_t *lsp_references(LspServer *s, LspDocument *d, const json_t *params)
{
    LspModel l;
    json_t *list = json_array();
    const TextPlace *p = place_of(s, d, params, &l);
    const json_t *context = json_object_get(params, "context");
    bool makers = json_is_true(json_object_get(context, "includeDeclaration"));
    for (uint32_t i = 0; p && names_value(p) && i < l.places.len; i++) {
        const TextPlace *q = &l.places.at[i];
        if (names_value(q) && q->value == p->value && (makers || !makes_value(q)))
            json_array_append_new(list, lsp_location(d, q->from, q->to));
    }
    return list;
}

json_t *lsp_highlights(LspServer *s, LspDocument *d, const json_t *params)
{
    LspModel l;
    json_t *list = json_array();
    const TextPlace *p = place_of(s, d, params, &l);
    for (uint32_t i = 0; p && names_value(p) && i < l.places.len; i++) {
        const TextPlace *q = &l.places.at[i];
        if (names_value(q) && q->value == p->value)
            json_array_append_new(list,
                                  json_pack("{s:o, s:i}", "range", lsp_range(d, q->from, q->to),
                                            "kind", makes_value(q) ? 3 : 2));
    }
    return list;
}

// ---- another name
// --------------------------------------------------------------------------------------

// As the text writes a name: words as they are, all else in quotes.
static bool put_name(Str name, Buf *b)
{
    bool word =
        name.len && (name.at[0] == '_' || ((name.at[0] | 32) >= 'a' && (name.at[0] | 32) <= 'z'));
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        word = word && (c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'));
        if ((unsigned char)c < 0x20)
            return false;
    }
    if (word && dtype_of(name) == DT_NONE)
        buf_str(b, name);
    else
        buf_quoted(b, name);
    return name.len > 0;
}

json_t *lsp_rename(LspServer *s, LspDocument *d, const json_t *params)
{
    LspModel l;
    Buf text = {0};
    const TextPlace *p = place_of(s, d, params, &l);
    const json_t *name = json_object_get(params, "newName");
    const Str fresh = {json_string_value(name), json_string_length(name)};
    if (!p || !names_value(p))
        return json_pack("{s:s}", "error", "there is no value's name here");
    if (!fresh.at || !put_name(fresh, &text))
        return json_pack("{s:s}", "error", "this is no name for a value");
    for (ValueId v = 1; v < l.m->values.len; v++)
        if (str_eq(value_at(l.m, v)->name, fresh))
            return json_pack("{s:s}", "error", "a value has this name already");
    json_t *edits = json_array();
    for (uint32_t i = 0; i < l.places.len; i++) {
        const TextPlace *q = &l.places.at[i];
        if (names_value(q) && q->value == p->value)
            json_array_append_new(edits,
                                  json_pack("{s:o, s:o}", "range", lsp_range(d, q->from, q->to),
                                            "newText", lsp_string((Str){text.at, text.len})));
    }
    return json_pack("{s:{s:o}}", "changes", d->uri, edits);
}

// ---- outline
// -------------------------------------------------------------------------------------------

enum { SYMBOL_MODULE = 2, SYMBOL_FUNCTION = 12, SYMBOL_VARIABLE = 13, SYMBOL_CONSTANT = 14 };

static json_t *symbol(const LspDocument *d, Str name, Str detail, int kind, const TextPlace *whole,
                      const TextPlace *part)
{
    json_t *j = json_pack("{s:o, s:i, s:o, s:o}", "name", lsp_string(name.len ? name : STR("_")),
                          "kind", kind, "range", lsp_range(d, whole->from, whole->to),
                          "selectionRange", lsp_range(d, part->from, part->to));
    if (detail.len)
        json_object_set_new(j, "detail", lsp_string(detail));
    return j;
}

static json_t *symbol_of_node(const LspModel *l, const LspDocument *d, const TextPlace *whole,
                              const TextPlace *op)
{
    const Node *n = node_at(l->m, whole->node);
    Str name = n->name.len            ? n->name
               : n->nout && n->out[0] ? value_at(l->m, n->out[0])->name
                                      : n->op;
    return symbol(d, name, n->op, SYMBOL_FUNCTION, whole, op);
}

// Nodes of branches and bodies are left to their own graph's holder.
json_t *lsp_symbols(LspServer *s, LspDocument *d, const json_t *params)
{
    LspModel l;
    json_t *all = json_array(), *inside = json_array();
    const TextPlace *name = NULL, *op = NULL;
    uint32_t put = 0;
    (void)params;
    if (!lsp_parse(s, d, &l))
        return all;
    for (uint32_t i = 0; i < l.places.len; i++) {
        const TextPlace *p = &l.places.at[i];
        bool outer = p->graph && !graph_at(l.m, p->graph)->owner;
        if (!outer)
            continue;
        if (p->kind == PLACE_GRAPH)
            name = p;
        else if (p->kind == PLACE_OPERATOR)
            op = p;
        else if (p->kind == PLACE_NODE && op && put++ < MAX_SYMBOLS)
            json_array_append_new(inside, symbol_of_node(&l, d, p, op));
        else if ((p->kind == PLACE_INPUT || p->kind == PLACE_INITIALIZER) && p->value &&
                 put++ < MAX_SYMBOLS)
            json_array_append_new(
                inside, symbol(d, value_at(l.m, p->value)->name, STR_NONE,
                               p->kind == PLACE_INPUT ? SYMBOL_VARIABLE : SYMBOL_CONSTANT, p, p));
        else if (p->kind == PLACE_BODY && name) {
            const TextPlace whole = {.from = name->from, .to = p->to};
            const Str text = {lsp_text(d).at + name->from, name->to - name->from};
            json_t *graph = symbol(d, text, STR_NONE, SYMBOL_MODULE, &whole, name);
            json_object_set_new(graph, "children", inside);
            json_array_append_new(all, graph);
            inside = json_array();
        }
    }
    json_decref(inside);
    return all;
}
