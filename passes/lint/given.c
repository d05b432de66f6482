// ST011, beyond the schemas' numbers: calls, results without a name, words, references, and what
// single operators ask for.

#include "passes/lint/given.h"
#include "passes/lint/choices.h"

#include <string.h>

// ---- any node

static void tell_as(Lint *l, Severity severity, NodeId id, Str what, Str note, Str help)
{
    if (!lint_first_time(l, "ST011", id))
        return;
    Str op = str_escaped(l->arena, node_at(l->m, id)->op);
    Diag *d = diag(l->diags, "ST011", severity, location_node(l->m, l->arena, id), "%.*s: %.*s",
                   STR_ARG(op), STR_ARG(what));
    lint_about_node(l, d, id);
    if (note.len)
        diag_note(l->diags, d, "%.*s", STR_ARG(note));
    diag_help(l->diags, d, "%.*s", STR_ARG(help));
}

static void tell(Lint *l, NodeId id, Str what, const char *help)
{
    tell_as(l, SEV_ERROR, id, what, STR_NONE, str_of(help));
}

static void check_results(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    for (uint32_t i = 0; i < n->nout && i < n->schema->noutputs; i++)
        if (!n->out[i] && n->schema->outputs[i].option == PARAM_SINGLE)
            tell(l, id,
                 str_printf(l->arena, "output %s has no name, and the operator always gives it",
                            n->schema->outputs[i].name),
                 "give it a name, which nothing has to read");
}

// The word, of those between spaces, that a misspelt one was probably meant to be; NULL: none.
static const char *nearest_word(Lint *l, Str word, const char *words)
{
    enum { MOST = 32 };
    const char *at[MOST];
    uint32_t n = 0;
    for (const char *p = words; *p && n < MOST;) {
        size_t len = strcspn(p, " ");
        if (len)
            at[n++] = str_printf(l->arena, "%.*s", (int)len, p).at;
        p += len + (p[len] == ' ');
    }
    return str_nearest(word, at, n);
}

static void check_words(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *a = &n->attrs[i];
        const char *words = a->type == ATTR_STRING && !a->ref.len ? lint_choices(n, a) : NULL;
        const char *near = words ? nearest_word(l, a->s, words) : NULL;
        if (words)
            tell_as(l, SEV_ERROR, id,
                    str_printf(l->arena, "%.*s is \"%.*s\", which it cannot be",
                               STR_ARG(str_escaped(l->arena, a->name)),
                               STR_ARG(str_escaped(l->arena, a->s))),
                    str_printf(l->arena, "it is one of: %s", words),
                    near ? str_printf(l->arena, "did you mean \"%s\"?", near)
                         : STR("set it to one of them"));
    }
}

// ---- calls

static bool has_attribute(const Function *f, Str name)
{
    for (uint32_t i = 0; i < f->nattributes; i++)
        if (str_eq(f->attributes[i], name))
            return true;
    for (uint32_t i = 0; i < f->ndefaults; i++)
        if (str_eq(f->defaults[i].name, name))
            return true;
    return false;
}

void lint_given_references(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    GraphId g = n->graph;
    if (n->copy_of)
        return; // inlining has put the call's values in place
    while (g && !graph_at(l->m, g)->function)
        g = graph_at(l->m, g)->parent;
    const Function *f = g ? &l->m->functions.at[graph_at(l->m, g)->function - 1] : NULL;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *a = &n->attrs[i];
        if (!a->ref.len || (f && has_attribute(f, a->ref)))
            continue;
        tell_as(l, SEV_WARNING, id,
                str_printf(l->arena, "attribute %.*s is that of a function, \"%.*s\", %s",
                           STR_ARG(str_escaped(l->arena, a->name)),
                           STR_ARG(str_escaped(l->arena, a->ref)),
                           f ? "which this one does not have" : "but the node is in none"),
                STR("runtimes take the attribute for not given"),
                f ? str_printf(l->arena,
                               "list \"%.*s\" among the function's attributes, or set a "
                               "value here",
                               STR_ARG(str_escaped(l->arena, a->ref)))
                  : STR("set a value here, or delete the attribute"));
    }
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

void lint_given_call(Lint *l, NodeId id, const Function *f)
{
    const Node *n = node_at(l->m, id);
    uint32_t takes = graph_at(l->m, f->body)->inputs.len,
             gives = graph_at(l->m, f->body)->outputs.len;
    if (n->nin > takes)
        tell(l, id,
             str_printf(l->arena, "it is given %u operands, and the function takes %u", n->nin,
                        takes),
             "leave out those that the function has no input for, or add the inputs to it");
    if (n->nout > gives)
        tell(l, id,
             str_printf(l->arena, "%u results are asked of it, and the function gives %u", n->nout,
                        gives),
             "leave out the results that the function does not have, or add them to its outputs");
}

// ---- single operators

static void check_constant(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    uint32_t values = 0;
    for (uint32_t i = 0; i < n->nattrs; i++)
        values += str_starts(n->attrs[i].name, "value") || str_is(n->attrs[i].name, "sparse_value");
    if (values != 1)
        tell(l, id, values ? STR("it has more than one value") : STR("it has no value"),
             values ? "delete the values that are not meant" : "set attribute value");
}

static void check_statistics(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    if (opset_of(l->m, n) >= 14 && n->nout > 1 && !node_int(n, "training_mode", 0))
        tell(l, id, STR("it gives statistics only where training_mode is 1"),
             "leave the outputs behind Y out, or export the model for training");
}

static void check_scanned(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    int64_t scanned = node_int(n, "num_scan_inputs", 0);
    if (attr_find(n, "num_scan_inputs") && (scanned < 1 || scanned > n->nin))
        tell(l, id,
             str_printf(l->arena, "num_scan_inputs is %lld, and it has %u input%s",
                        (long long)scanned, n->nin, plural(n->nin)),
             "set it to as many of the last inputs as are scanned, element by element");
}

void lint_given_node(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    check_results(l, id);
    check_words(l, id);
    if (node_is(n, "Constant"))
        check_constant(l, id);
    else if (node_is(n, "BatchNormalization"))
        check_statistics(l, id);
    else if (node_is(n, "Scan"))
        check_scanned(l, id);
}
