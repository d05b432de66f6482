// ST014: what can be read although the format forbids it: fields that it asks for are missing or
// given twice, versions and operators that it does not have any more, or not yet, and outputs of
// branches and bodies that no node there gives.

#include "ir/builder.h"
#include "passes/lint/lint.h"

#include <string.h>

// frontend/onnx.proto, Version
enum { NEWEST_IR = 14, IR_OF_FREE_WEIGHTS = 4, IR_OF_ATTRIBUTE_TYPES = 2 };

// ---- the model

static void check_versions(Lint *l)
{
    const Model *m = l->m;
    long long ir = m->ir_version;
    if (ir <= 0)
        diag_help(
            l->diags,
            diag(l->diags, "ST014", SEV_ERROR, STR("graph"),
                 "the model does not say its ir_version"),
            "set it: onnx.helper.find_min_ir_version_for of its opset_import gives the least");
    else if (ir > NEWEST_IR)
        diag_help(l->diags,
                  diag(l->diags, "ST014", SEV_ERROR, STR("graph"),
                       "the model is of IR version %lld, and the newest known is %d", ir,
                       NEWEST_IR),
                  "export for IR version %d or earlier; if the file says what no version is, it is "
                  "damaged",
                  NEWEST_IR);
}

// The newest version of a domain of the standard; 0: somebody else's, who may be ahead.
static int newest_opset(Str domain)
{
    int newest = 0;
    if (domain.len && !str_starts(domain, "ai.onnx"))
        return 0;
    Str wanted = str_is(domain, "ai.onnx") ? STR("") : domain;
    for (uint32_t i = 0; schema_at(i); i++)
        if (str_is(wanted, schema_at(i)->domain) && schema_at(i)->since > newest)
            newest = schema_at(i)->since;
    return newest;
}

static bool same_domain(Str a, Str b)
{
    return str_eq(a, b) || (is_standard_domain(a) && is_standard_domain(b));
}

static void check_imports(Lint *l, const OpsetImport *at, uint32_t n, Str where)
{
    for (uint32_t i = 0; i < n; i++) {
        int newest = newest_opset(at[i].domain);
        Str domain =
            is_standard_domain(at[i].domain) ? STR("ai.onnx") : str_escaped(l->arena, at[i].domain);
        if (newest && at[i].version > newest)
            diag_help(l->diags,
                      diag(l->diags, "ST014", SEV_ERROR, where,
                           "opset %lld of %.*s is imported, and the newest known is %d",
                           (long long)at[i].version, STR_ARG(domain), newest),
                      "export for opset %d or earlier", newest);
        for (uint32_t k = 0; k < i; k++)
            if (same_domain(at[k].domain, at[i].domain) && at[k].version != at[i].version) {
                Diag *d = diag(l->diags, "ST014", SEV_WARNING, where,
                               "%.*s is imported twice, as opset %lld and %lld", STR_ARG(domain),
                               (long long)at[k].version, (long long)at[i].version);
                diag_note(l->diags, d, "the greater one holds");
                diag_help(l->diags, d, "delete the entry of the lesser one from opset_import");
                break;
            }
    }
}

static void check_metadata(Lint *l)
{
    Map seen = {.arena = l->arena};
    for (uint32_t i = 0; i < l->m->metadata.len; i++) {
        Str key = l->m->metadata.at[i].key;
        bool added = true;
        if (key.len)
            map_put(&seen, key, &added);
        if (!added)
            diag_help(l->diags,
                      diag(l->diags, "ST014", SEV_ERROR, STR("graph"),
                           "the model's metadata_props hold key \"%.*s\" twice",
                           STR_ARG(str_escaped(l->arena, key))),
                      "delete the entry that is not meant");
    }
}

// A function may import another version of a domain than the model, if its operators are the same
// in both.
static void check_function_opsets(Lint *l, const Function *f)
{
    const Graph *body = graph_at(l->m, f->body);
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *n = node_at(l->m, body->nodes.at[i]);
        Node outside = {.domain = n->domain, .graph = l->m->main};
        int64_t own = opset_of(l->m, n), model = opset_of(l->m, &outside);
        const Schema *there =
            model > 0 ? schema_find(n->domain, n->op, model) : n->schema; // not imported: ST002
        if (!n->schema || own == model || there == n->schema)
            continue;
        // Runtimes that inline the body read it as the model's.
        const bool runs = there && lint_fits_version(there, n);
        Diag *d = diag(l->diags, "ST014", runs ? SEV_WARNING : SEV_ERROR,
                       location_node(l->m, l->arena, body->nodes.at[i]),
                       "%.*s is that of opset %lld, which the function imports, and another "
                       "operator in the model's %lld",
                       STR_ARG(str_escaped(l->arena, n->op)), (long long)own, (long long)model);
        if (!runs)
            diag_note(l->diags, d, "runtimes take the model's, which is not written so");
        lint_about_node(l, d, body->nodes.at[i]);
        diag_help(
            l->diags, d,
            "let the function import opset %lld, and write its body with that one's operators",
            (long long)model);
        return;
    }
}

static void check_functions(Lint *l)
{
    for (uint32_t i = 0; i < l->m->functions.len; i++) {
        const Function *f = &l->m->functions.at[i];
        check_imports(l, f->opsets, f->nopsets, location_graph(l->m, l->arena, f->body));
        check_function_opsets(l, f);
    }
}

// ---- graphs

static Str entry_path(Lint *l, GraphId g, const char *list, Str name, uint32_t i)
{
    Str where = location_graph(l->m, l->arena, g);
    return name.len ? str_printf(l->arena, "%.*s/%s(%.*s)", STR_ARG(where), list,
                                 STR_ARG(str_escaped(l->arena, name)))
                    : str_printf(l->arena, "%.*s/%s[%u]", STR_ARG(where), list, i);
}

// What the format asks of the type of a main graph's input or output, and what to do; NULL: nothing
// is missing.
static const char *type_fault(Lint *l, const Type *t, Severity *severity, const char **help)
{
    *severity = SEV_ERROR;
    *help = "declare its type: onnx.helper.make_tensor_value_info writes one";
    if (!t || t->kind == TYPE_NONE)
        return "is declared without a type";
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE)
        return NULL;
    if (t->elem == 0)
        return "is declared without an element type";
    if (t->elem < 0 || t->elem >= DT_COUNT)
        return str_printf(l->arena, "is declared with element type %d, which the format has not",
                          t->elem)
            .at;
    *severity = SEV_WARNING;
    *help = "declare as many dims as it has; those of open size by a name, or empty";
    return t->has_shape ? NULL : "is declared without a shape, of which not even the rank is known";
}

static void check_entry(Lint *l, GraphId g, const char *list, const ValueInfo *info, uint32_t i)
{
    Str name = value_at(l->m, info->value)->name;
    Severity severity = SEV_ERROR;
    const char *fault = !info->value || name.len == 0 ? "has no name" : NULL;
    const char *help = "give it the name by which nodes and callers mean it";
    if (!fault && g == l->m->main)
        fault = type_fault(l, info->type, &severity, &help);
    if (!fault)
        return;
    Str shown = name.len ? str_printf(l->arena, " \"%.*s\"", STR_ARG(str_escaped(l->arena, name)))
                         : str_printf(l->arena, " %u", i);
    Diag *d = diag(l->diags, "ST014", severity, entry_path(l, g, list, name, i), "%s%.*s %s", list,
                   STR_ARG(shown), fault);
    d->value = str_escaped(l->arena, name);
    diag_help(l->diags, d, "%s", help);
}

static void check_initializers(Lint *l, GraphId g)
{
    const Graph *graph = graph_at(l->m, g);
    bool listed = l->m->ir_version > 0 && l->m->ir_version < IR_OF_FREE_WEIGHTS;
    for (uint32_t i = 0; i < graph->initializers.len; i++) {
        const Initializer *init = &graph->initializers.at[i];
        Str name = init->data->name;
        bool stray = listed && value_at(l->m, init->value)->def == DEF_INITIALIZER;
        if (name.len && !stray)
            continue;
        Str where = entry_path(l, g, "initializer", name, i);
        if (!name.len)
            diag_help(
                l->diags,
                diag(l->diags, "ST014", SEV_ERROR, where, "initializer %u has no name", i),
                "give it the name by which nodes mean it, or delete it: nothing can read it so");
        else
            diag_help(l->diags,
                      diag(l->diags, "ST014", SEV_ERROR, where,
                           "initializer \"%.*s\" is no input, as IR version %lld asks for",
                           STR_ARG(str_escaped(l->arena, name)), (long long)l->m->ir_version),
                      "list it among the graph's inputs too, or set ir_version to %d or later",
                      IR_OF_FREE_WEIGHTS);
    }
}

static void check_graph(Lint *l, GraphId g)
{
    const Graph *graph = graph_at(l->m, g);
    if (graph->function)
        return;
    if (graph->name.len == 0)
        diag_help(l->diags,
                  diag(l->diags, "ST014", SEV_ERROR, location_graph(l->m, l->arena, g),
                       "the graph has no name"),
                  "give it one: the format asks for it, and any will do");
    for (uint32_t i = 0; i < graph->inputs.len; i++)
        check_entry(l, g, "input", &graph->inputs.at[i], i);
    for (uint32_t i = 0; i < graph->outputs.len; i++)
        check_entry(l, g, "output", &graph->outputs.at[i], i);
    check_initializers(l, g);
}

// ---- nodes

// The type of the payload that an attribute has, beside those of its own type; ATTR_UNDEFINED:
// none.
static AttrType other_payload(const Attr *a)
{
    const struct {
        AttrType type;
        bool given;
    } payloads[] = {
        {ATTR_FLOAT, a->has & ATTR_HAS_F},
        {ATTR_INT, a->has & ATTR_HAS_I},
        {ATTR_STRING, a->has & ATTR_HAS_S},
        {ATTR_TENSOR, a->t},
        {ATTR_GRAPH, a->g},
        {ATTR_SPARSE, a->sparse},
        {ATTR_TYPE, a->tp},
        {ATTR_FLOATS, a->nfloats},
        {ATTR_INTS, a->nints},
        {ATTR_STRINGS, a->nstrings},
        {ATTR_TENSORS, a->ntensors},
        {ATTR_GRAPHS, a->ngraphs},
        {ATTR_SPARSES, a->nsparses},
        {ATTR_TYPES, a->ntypes},
    };
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++)
        if (payloads[i].given && (int32_t)payloads[i].type != a->type)
            return payloads[i].type;
    return ATTR_UNDEFINED;
}

static const char *attribute_fault(const Model *m, const Node *n, uint32_t i, const char **help)
{
    const Attr *a = &n->attrs[i];
    *help = "delete the one that is not meant";
    for (uint32_t k = 0; k < i; k++)
        if (a->name.len && str_eq(n->attrs[k].name, a->name))
            return "is given twice";
    *help = "set its field type, which the format asks for since IR version 2";
    if (a->type == ATTR_UNDEFINED && m->ir_version >= IR_OF_ATTRIBUTE_TYPES)
        return "does not say its type";
    *help = "leave only the field of the type that is meant: onnx.helper.make_attribute does";
    if (a->type != ATTR_UNDEFINED && other_payload(a) != ATTR_UNDEFINED)
        return "holds a value of another type than it says";
    return NULL;
}

// What took the place of an operator that is no longer there, by the text of its last version.
static void help_instead(Lint *l, Diag *d, const Node *n)
{
    static const struct {
        const char *op, *now;
    } instead[] = {{"Upsample", "Resize"}, {"Scatter", "ScatterElements"}};
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (node_is(n, instead[i].op)) {
            diag_help(l->diags, d, "use %s, which took its place", instead[i].now);
            return;
        }
    diag_help(l->diags, d, "import an opset below %d, or write the node with operators of today",
              n->schema->since);
}

static void check_node(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    Str op = str_escaped(l->arena, n->op);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const char *help, *fault = attribute_fault(l->m, n, i, &help);
        if (!fault)
            continue;
        Diag *d = diag(l->diags, "ST014", SEV_ERROR, location_node(l->m, l->arena, id),
                       "%.*s: attribute %.*s %s", STR_ARG(op),
                       STR_ARG(str_escaped(l->arena, n->attrs[i].name)), fault);
        lint_about_node(l, d, id);
        diag_help(l->diags, d, "%s", help);
    }
    if (!n->schema || !n->schema->deprecated)
        return;
    Diag *d =
        diag(l->diags, "ST014", SEV_ERROR, location_node(l->m, l->arena, id),
             "%.*s was taken out of the standard with opset %d", STR_ARG(op), n->schema->since);
    lint_about_node(l, d, id);
    diag_note(l->diags, d, "the model imports opset %lld", (long long)opset_of(l->m, n));
    help_instead(l, d, n);
}

// Does a graph inside of another give on what is that one's? It has to come from a node here.
static bool is_from_around(const Model *m, GraphId g, ValueId v)
{
    const Value *value = value_at(m, v);
    return graph_at(m, g)->parent && value->def != DEF_NONE && value->graph != g;
}

static void outputs_from_around(Lint *l)
{
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(l->m, g)->outputs.len; i++) {
            ValueId v = graph_at(l->m, g)->outputs.at[i].value;
            if (!v || !is_from_around(l->m, g, v))
                continue;
            Str name = lint_name(l, v), where = location_graph(l->m, l->arena, g);
            Diag *d =
                diag(l->diags, "ST014", SEV_ERROR,
                     str_printf(l->arena, "%.*s/output(%.*s)", STR_ARG(where), STR_ARG(name)),
                     "output \"%.*s\" is a value of the graph around, and no node here gives it",
                     STR_ARG(name));
            d->value = name;
            diag_note(l->diags, d, "onnx.checker and ONNX Runtime refuse that");
            diag_fix(l->diags, d, true, "insert 1 Identity, whose result is the output");
        }
}

void lint_format(Lint *l)
{
    if (!(l->m->has & 1u << 6)) {
        diag_help(l->diags,
                  diag(l->diags, "ST014", SEV_ERROR, STR("graph"), "the file holds no graph"),
                  "export the model again: an empty file, or one of another kind, decodes so too");
        return;
    }
    check_versions(l);
    check_imports(l, l->m->opsets.at, l->m->opsets.len, STR("graph"));
    check_metadata(l);
    check_functions(l);
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        check_graph(l, g);
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        if (!node_at(l->m, id)->dead)
            check_node(l, id);
    outputs_from_around(l);
}

uint32_t repair_outputs_from_around(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Arena *a = arena_new();
    Builder names = builder_of(m, a);
    (void)unsafe;
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++) {
            ValueId v = graph_at(m, g)->outputs.at[i].value;
            if (!v || !is_from_around(m, g, v))
                continue;
            Str name = builder_name(&names, value_at(m, v)->name, "given");
            NodeId fresh = node_build(m, g, "Identity", &v, 1, name);
            graph_append(m, g, fresh);
            graph_at(m, g)->outputs.at[i].value = node_at(m, fresh)->out[0];
            changes++;
        }
    arena_free(a);
    return changes;
}
