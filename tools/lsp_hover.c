// What is known of what stands at a place: a value's type and why it has it, an operator's
// signature, a lint rule.

#include "tools/lsp.h"
#include "tools/pipeline.h"
#include "tools/rules.h"
#include "tools/why.h"

#include <string.h>

// ---- values
// --------------------------------------------------------------------------------------------

// The value as lint looks at it: of one in a function's body, that of its first call.
static ValueId inferred(const Model *m, ValueId v)
{
    if (value_at(m, v)->dtype != DT_NONE)
        return v;
    for (ValueId c = 1; c < m->values.len; c++)
        if (value_written(m, c) == v && c != v)
            return c;
    return v;
}

static void put_value(LspModel *l, ValueId written, Buf *b)
{
    lsp_prepare(l);
    ValueId v = inferred(l->m, written);
    const Value *value = value_at(l->m, v);
    buf_printf(b, "```\n%.*s: ", STR_ARG(str_escaped(l->arena, value_at(l->m, written)->name)));
    type_print(l->m, value, b);
    if (value->device)
        buf_printf(b, " @%.*s", STR_ARG(str_escaped(l->arena, l->m->devices.at[value->device])));
    buf_printf(b, "\n```\n%.*s\n\n", STR_ARG(location_value(l->m, l->arena, written)));
    static const struct {
        int what;
        const char *title;
    } chains[] = {{WHY_OF_DTYPE, "dtype"}, {WHY_OF_SHAPE, "shape"}, {WHY_OF_DEVICE, "device"}};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        if (chains[i].what == WHY_OF_DEVICE && !value->device)
            continue;
        buf_printf(b, "why its %s:\n```\n", chains[i].title);
        why_chain(l->m, v, chains[i].what, b);
        buf_printf(b, "```\n");
    }
}

// ---- operators
// -----------------------------------------------------------------------------------------

static void put_types(TypeSet set, Buf *b)
{
    static const struct {
        TypeSet bit;
        const char *name;
    } lists[] = {{TYPESET_SEQUENCE, "sequences"},
                 {TYPESET_OPTIONAL, "optionals"},
                 {TYPESET_MAP, "maps"},
                 {TYPESET_SPARSE, "sparse tensors"}};
    uint32_t put = 0;
    for (DType t = 1; t < DT_COUNT; t++)
        if (set >> t & 1)
            buf_printf(b, "%s%s", put++ ? ", " : "", dtype_info(t)->abbrev);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (set & lists[i].bit)
            buf_printf(b, "%s%s", put++ ? ", " : "", lists[i].name);
}

static void put_params(const char *title, const SchemaParam *at, uint32_t n, Buf *b)
{
    static const char *const options[] = {"", " (optional)", " (any number)"};
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(b, "- %s `%s`%s: %s%s", title, at[i].name, options[at[i].option],
                   at[i].type_var ? at[i].type_var : "", at[i].type_var ? " of " : "");
        put_types(at[i].types, b);
        buf_char(b, '\n');
    }
}

static void put_default(const SchemaAttr *a, Buf *b)
{
    if (a->type == ATTR_INT)
        buf_printf(b, " = %lld", (long long)a->i);
    else if (a->type == ATTR_FLOAT)
        buf_printf(b, " = %g", (double)a->f);
    else if (a->type == ATTR_STRING)
        buf_printf(b, " = \"%s\"", a->s ? a->s : "");
    for (uint32_t i = 0; a->type == ATTR_INTS && i < a->nints; i++)
        buf_printf(b, "%s%lld", i ? ", " : " = ", (long long)a->ints[i]);
}

static void put_schema(const Schema *s, Buf *b)
{
    static const char *const kinds[] = {
        [ATTR_FLOAT] = "float",     [ATTR_INT] = "int",          [ATTR_STRING] = "string",
        [ATTR_TENSOR] = "tensor",   [ATTR_GRAPH] = "graph",      [ATTR_FLOATS] = "floats",
        [ATTR_INTS] = "ints",       [ATTR_STRINGS] = "strings",  [ATTR_TENSORS] = "tensors",
        [ATTR_GRAPHS] = "graphs",   [ATTR_SPARSE] = "sparse",    [ATTR_SPARSES] = "sparses",
        [ATTR_TYPE] = "type_proto", [ATTR_TYPES] = "type_protos"};
    buf_printf(b, "**%s** of %s, since version %d%s\n\n", s->name,
               s->domain[0] ? s->domain : "ai.onnx", s->since, s->deprecated ? ", deprecated" : "");
    put_params("input", s->inputs, s->ninputs, b);
    put_params("output", s->outputs, s->noutputs, b);
    for (uint32_t i = 0; i < s->nattrs; i++) {
        const SchemaAttr *a = &s->attrs[i];
        const char *kind = (size_t)a->type < sizeof kinds / sizeof *kinds ? kinds[a->type] : NULL;
        buf_printf(b, "- attribute `%s`: %s%s", a->name, kind ? kind : "?",
                   a->required ? ", required" : "");
        if (a->has_default)
            put_default(a, b);
        buf_char(b, '\n');
    }
}

static void put_function(const Model *m, const Function *f, Buf *b)
{
    const Graph *g = graph_at(m, f->body);
    buf_printf(b, "function **%.*s** of this model, domain \"", STR_ARG(f->name));
    buf_escaped(b, f->domain);
    buf_printf(b, "\"\n\n");
    for (uint32_t i = 0; i < g->inputs.len; i++)
        buf_printf(b, "- input `%.*s`\n", STR_ARG(value_at(m, g->inputs.at[i].value)->name));
    for (uint32_t i = 0; i < g->outputs.len; i++)
        buf_printf(b, "- output `%.*s`\n", STR_ARG(value_at(m, g->outputs.at[i].value)->name));
    for (uint32_t i = 0; i < f->nattributes; i++)
        buf_printf(b, "- attribute `%.*s`\n", STR_ARG(f->attributes[i]));
    if (f->doc.len)
        buf_printf(b, "\n%.*s\n", STR_ARG(f->doc));
}

const Function *lsp_function_of(const Model *m, const Node *n)
{
    for (uint32_t i = 0; i < m->functions.len; i++) {
        const Function *f = &m->functions.at[i];
        if (str_eq(f->name, n->op) && str_eq(f->domain, n->domain) &&
            str_eq(f->overload, n->overload))
            return f;
    }
    return NULL;
}

static void put_operator(const LspModel *l, NodeId id, Buf *b)
{
    const Node *n = node_at(l->m, id);
    const Function *f = lsp_function_of(l->m, n);
    registry_bind(l->m);
    if (f)
        put_function(l->m, f, b);
    else if (node_at(l->m, id)->schema)
        put_schema(node_at(l->m, id)->schema, b);
    else
        buf_printf(b, "**%.*s**: neither the imported opsets nor the model's functions have it",
                   STR_ARG(str_escaped(l->arena, n->op)));
}

// ---- rules
// ---------------------------------------------------------------------------------------------

static bool put_rule(Str word, Buf *b)
{
    for (const LintRule *r = lint_rules; r->id; r++)
        if (str_is(word, r->id)) {
            buf_printf(b, "**%s %s**: %s.\n\n```\n%s\n```\n", r->id, r->name, r->doc,
                       rules_page(r->id));
            return true;
        }
    return false;
}

json_t *lsp_hover(LspServer *s, LspDocument *d, const json_t *params)
{
    size_t offset = 0;
    Buf b = {0};
    LspModel l;
    lsp_position(d, json_object_get(params, "position"), &offset);
    const Str word = lsp_word_at(d, offset);
    size_t from = (size_t)(word.at - lsp_text(d).at), to = from + word.len;
    if (!put_rule(word, &b)) {
        const TextPlace *p = lsp_parse(s, d, &l) ? lsp_place_at(&l, offset) : NULL;
        if (!p)
            return json_null();
        from = p->from, to = p->to;
        if (p->kind == PLACE_OPERATOR)
            put_operator(&l, p->node, &b);
        else if (p->value)
            put_value(&l, p->value, &b);
        else
            return json_null();
    }
    return json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value",
                     lsp_string((Str){b.at, b.len}), "range", lsp_range(d, from, to));
}
