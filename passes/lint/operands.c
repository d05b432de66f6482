// ST011: nodes that lack what their operator needs, or have what excludes each other. ST012: nodes
// whose operands do not fit by shape or number, as inference found them.

#include "ir/ops/ranks.h"
#include "passes/elements.h"
#include "passes/lint/given.h"
#include "passes/lint/story.h"

#include <inttypes.h>
#include <string.h>

enum { RESIZE_SCALES = 2, RESIZE_SIZES = 3 };

static bool is_empty(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    int64_t k;
    for (int32_t i = 0; i < value->rank; i++)
        if (poly_is_const(value->dims[i], &k) && k == 0)
            return true;
    return false;
}

// A constant without elements says that an operand is not given; so it was asked for before
// opset 13, where it could not be left out.
static bool is_given(const Model *m, const Node *n, uint32_t i)
{
    ValueId v = i < n->nin ? n->in[i] : 0;
    return v && !(is_empty(m, v) && (value_at(m, v)->init ||
                                     (value_at(m, v)->def == DEF_NODE &&
                                      node_is(node_at(m, value_at(m, v)->node), "Constant"))));
}

// Resize whose scales are computed, so that readers take them for given, and empty.
static bool has_idle_scales(const Model *m, const Node *n)
{
    return node_is(n, "Resize") && is_given(m, n, RESIZE_SCALES) && is_given(m, n, RESIZE_SIZES) &&
           is_empty(m, n->in[RESIZE_SCALES]) && opset_of(m, n) >= 13;
}

static void check_resize(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    if (opset_of(l->m, n) >= 11 && !is_given(l->m, n, RESIZE_SIZES) &&
        !is_given(l->m, n, RESIZE_SCALES) && lint_first_time(l, "ST011", id)) {
        Diag *d = diag(l->diags, "ST011", SEV_ERROR, location_node(l->m, l->arena, id),
                       "Resize has neither scales nor sizes");
        lint_about_node(l, d, id);
        diag_help(l->diags, d, "give it sizes, or scales, one number for each dim of X");
        return;
    }
    if (n->nin <= RESIZE_SIZES || !is_given(l->m, n, RESIZE_SIZES) ||
        !is_given(l->m, n, RESIZE_SCALES) || !lint_first_time(l, "ST011", id))
        return;
    ValueId v = n->in[RESIZE_SCALES];
    Diag *d =
        diag(l->diags, "ST011", SEV_ERROR, location_operand(l->m, l->arena, id, RESIZE_SCALES),
             "Resize has scales and sizes, and only one of them may be given");
    d->value = lint_name(l, v);
    lint_about_node(l, d, id);
    if (!is_empty(l->m, v)) {
        diag_note(l->diags, d, "which of them was meant is not in the file");
        diag_help(l->diags, d, "write the one that is not meant as \"\"");
        return;
    }
    diag_note(l->diags, d,
              "\"%.*s\" is empty, which would mean \"not given\" if it were a constant, "
              "but it is made by %.*s",
              STR_ARG(lint_name(l, v)), STR_ARG(lint_source_words(l, v)));
    if (opset_of(l->m, n) >= 13)
        diag_fix(l->diags, d, true, "leave the operand out: sizes decide");
}

bool lint_fits_version(const Schema *s, const Node *n)
{
    if (schema_refuses(s, n))
        return false;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        bool known = false;
        for (uint32_t k = 0; k < s->nattrs && !known; k++)
            known = str_is(n->attrs[i].name, s->attrs[k].name) &&
                    n->attrs[i].type == (int32_t)s->attrs[k].type;
        if (!known)
            return false;
    }
    return true;
}

// Models are made for another opset than they import: the next later version of the operator that
// is as the node is written, or the last earlier one. False: there is none.
static bool help_version(Lint *l, Diag *d, const Node *n)
{
    const Schema *now = n->schema, *found = NULL, *s;
    for (uint32_t i = 0; (s = schema_at(i)); i++)
        if (strcmp(s->name, now->name) == 0 && strcmp(s->domain, now->domain) == 0 &&
            !s->deprecated && lint_fits_version(s, n) &&
            (!found || found->since < now->since)) // versions ascend
            found = s;
    if (found)
        diag_help(l->diags, d,
                  "it is written as %s of opset %d is: import the opset it was made for",
                  found->name, found->since);
    return found != NULL;
}

// What the schema asks for, by number.
static void check_schema(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    const char *fault = schema_fault(n);
    if (!fault || !lint_first_time(l, "ST011", id))
        return;
    Str op = str_escaped(l->arena, n->op);
    Diag *d = diag(l->diags, "ST011", SEV_ERROR, location_node(l->m, l->arena, id), "%.*s: %s",
                   STR_ARG(op), fault);
    lint_about_node(l, d, id);
    const Schema *s = n->schema;
    if (n->nin < s->min_in || n->nin > s->max_in)
        diag_note(l->diags, d, "it has %u input%s; since opset %d it takes %u%s", n->nin,
                  n->nin == 1 ? "" : "s", s->since, n->nin < s->min_in ? s->min_in : s->max_in,
                  s->max_in == s->min_in ? ""
                  : n->nin < s->min_in   ? " or more"
                                         : " at the most");
    for (uint32_t i = 0; i < s->ninputs; i++)
        if (s->inputs[i].option == PARAM_SINGLE && (i >= n->nin || !n->in[i]))
            diag_note(l->diags, d, "input %s is missing", s->inputs[i].name);
    for (uint32_t i = 0; i < s->nattrs; i++)
        if (s->attrs[i].required && !attr_find(n, s->attrs[i].name))
            diag_note(l->diags, d, "attribute %s is missing", s->attrs[i].name);
    if (!help_version(l, d, n))
        diag_help(l->diags, d, "give the node what it lacks, and take away what is too much");
}

static const char *const attribute_types[] = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

static void help_attribute(Lint *l, Diag *d, const Node *n, const Attr *a, const SchemaAttr *known)
{
    const char **names = NEWS(l->arena, const char *, n->schema->nattrs + 1);
    for (uint32_t i = 0; i < n->schema->nattrs; i++)
        names[i] = n->schema->attrs[i].name;
    const char *near = known ? NULL : str_nearest(a->name, names, n->schema->nattrs);
    if (help_version(l, d, n))
        return;
    if (near)
        diag_help(l->diags, d, "did you mean %s?", near);
    else if (known)
        diag_help(l->diags, d, "store it as %s", attribute_types[known->type]);
    else
        diag_help(l->diags, d, "delete it, or import the opset that the node was made for");
}

// Attributes that the operator does not have at this opset, or has of another type. Those of two
// underscores are tools' own.
static void check_attributes(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    const Schema *s = n->schema;
    enum { TYPES = sizeof attribute_types / sizeof *attribute_types };
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *a = &n->attrs[i];
        const SchemaAttr *known = NULL;
        for (uint32_t k = 0; k < s->nattrs && !known; k++)
            known = str_is(a->name, s->attrs[k].name) ? &s->attrs[k] : NULL;
        bool own = a->name.len > 1 && memcmp(a->name.at, "__", 2) == 0;
        bool typed = a->type > 0 && a->type < TYPES;
        if (own || (known && (!typed || a->type == (int32_t)known->type)) ||
            !lint_first_time(l, "ST011", id))
            continue;
        Str op = str_escaped(l->arena, n->op), name = str_escaped(l->arena, a->name);
        Diag *d = diag(l->diags, "ST011", SEV_ERROR, location_node(l->m, l->arena, id),
                       known ? "%.*s: attribute %.*s is not of the right type"
                             : "%.*s has no attribute %.*s",
                       STR_ARG(op), STR_ARG(name));
        lint_about_node(l, d, id);
        if (known)
            diag_note(l->diags, d, "it is of type %s; since opset %d the operator takes %s",
                      attribute_types[a->type], s->since, attribute_types[known->type]);
        else
            diag_note(l->diags, d, "the model imports opset %lld, where the operator is that of %d",
                      (long long)opset_of(l->m, n), s->since);
        help_attribute(l, d, n, a, known);
    }
}

// ---- ST012

// The node's part of a path: "graph/node[/c]" of "graph/node[/c]:in1(w)".
static Str node_part(Str path)
{
    for (size_t i = path.len; i > 1; i--)
        if (path.at[i - 1] == ':' && path.at[i - 2] == ']')
            return (Str){path.at, i - 1};
    return path;
}

static uint32_t results_of(const Model *m, GraphId g)
{
    return g ? graph_at(m, g)->outputs.len : 0;
}

// What a constant that says how (axes, sizes) holds: "[3, 4]"; of many numbers nothing.
static Str numbers_words(Lint *l, ValueId v)
{
    enum { MOST = 12 };
    const Elements of = elements_of(l->m, v);
    Buf b = {0};
    if (!of.n || of.n > MOST)
        return (Str){0};
    for (uint64_t i = 0; i < of.n; i++)
        buf_printf(&b, "%s%" PRId64, i ? ", " : "[", element_scalar(&of, i).i);
    buf_char(&b, ']');
    const Str words = str_copy(l->arena, (Str){b.at, b.len});
    buf_free(&b);
    return words;
}

// Both sides of a misfit: the operands as they are, of those that say how what they hold.
static void note_operands(Lint *l, Diag *d, const Node *n)
{
    enum { MOST = 4 };
    for (uint32_t i = 0, told = 0; i < n->nin && told < MOST; i++) {
        const Value *v = value_at(l->m, n->in[i]);
        const SchemaParam *p = param_of_operand(n, i);
        const bool says_how = i && lint_dtype(l->m, n->in[i]) == DT_I64 && v->rank == 1 &&
                              lint_dtype(l->m, n->in[0]) != DT_I64;
        const Str words = !n->in[i] || v->rank < 0 ? (Str){0}
                          : says_how               ? numbers_words(l, n->in[i])
                                                   : lint_shape_words(l, v);
        if (!words.len)
            continue;
        bool named = p && p->option != PARAM_VARIADIC;
        diag_note(l->diags, d, "%s%s\"%.*s\" %s %.*s", named ? p->name : "", named ? " " : "",
                  STR_ARG(lint_name(l, n->in[i])), says_how ? "holds" : "is", STR_ARG(words));
        told++;
    }
}

// The node that a finding of inference is about; 0: it is not known.
static NodeId node_of(Lint *l, const Diag *found)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (!n->dead && str_eq(n->op, found->op) &&
            str_eq(str_escaped(l->arena, n->name), found->node) &&
            str_eq(location_node(l->m, l->arena, id), node_part(found->path)))
            return id;
    }
    return 0;
}

// Branches of one If give as many results.
static void check_branches(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
    uint32_t a = results_of(l->m, yes), b = results_of(l->m, no);
    if (!yes || !no || (a == b && n->nout <= a) || !lint_first_time(l, "ST012", id))
        return;
    Diag *d = diag(l->diags, "ST012", SEV_ERROR, location_node(l->m, l->arena, id),
                   "If has %u result%s, its then_branch gives %u and its else_branch %u", n->nout,
                   n->nout == 1 ? "" : "s", a, b);
    lint_about_node(l, d, id);
    diag_help(l->diags, d, "see `cameo explain ST012`");
}

// Operators whose operands have ranks of the table's, by name: models have few kinds of operators.
static bool is_ranked(Map *known, const Node *n)
{
    bool added;
    uint32_t *ranked = map_put(known, n->op, &added);
    if (added)
        *ranked = ranks_has(n);
    return *ranked != 0;
}

// Operands of ranks that the operator does not take, where no shape rule had to look at them.
static void check_ranks(Lint *l, Map *told)
{
    Map known = {.arena = l->arena};
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (n->dead || !n->schema || !is_ranked(&known, n) || n->moved || schema_fault(n))
            continue;
        bool all = true, added;
        for (uint32_t i = 0; i < n->nin; i++)
            all = all && (!n->in[i] || value_at(l->m, n->in[i])->rank >= 0);
        const char *fault = all ? rank_fault(l->m, n) : NULL;
        if (fault)
            map_put(told, location_node(l->m, l->arena, id), &added);
        if (!fault || !added)
            continue;
        Diag *d = diag(l->diags, "ST012", SEV_ERROR, location_node(l->m, l->arena, id), "%.*s: %s",
                       STR_ARG(str_escaped(l->arena, n->op)), fault);
        lint_about_node(l, d, id);
        note_operands(l, d, n);
        diag_help(l->diags, d, "see `cameo explain ST012`");
    }
}

// Once for each node, and not where an error says already what is wrong with it.
void lint_misfits(Lint *l)
{
    Map told = {.arena = l->arena};
    bool added;
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        if (!node_at(l->m, id)->dead && node_is(node_at(l->m, id), "If"))
            check_branches(l, id);
    // Before opset 7 an attribute says along which axes operands are broadcast, and inference knows
    // the newer way alone.
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        if (node_has_attr(node_at(l->m, id), "broadcast"))
            map_put(&told, location_node(l->m, l->arena, id), &added);
    for (uint32_t i = 0; i < l->diags->all.len; i++)
        if (l->diags->all.at[i]->severity == SEV_ERROR)
            map_put(&told, node_part(l->diags->all.at[i]->path), &added);
    for (uint32_t i = 0; l->inferred && i < l->inferred->all.len; i++) {
        const Diag *found = l->inferred->all.at[i];
        map_put(&told, node_part(found->path), &added);
        NodeId id = added ? node_of(l, found) : 0;
        if (!added || (id && lint_optimizes_halves(l->m, id)))
            continue;
        Diag *d = diag(l->diags, "ST012", SEV_ERROR, found->path, "%.*s", STR_ARG(found->message));
        d->node = found->node;
        d->op = found->op;
        if (id) {
            lint_about_node(l, d, id);
            note_operands(l, d, node_at(l->m, id));
        }
        diag_help(l->diags, d, "see `cameo explain ST012`");
    }
    check_ranks(l, &told);
}

// Calls are inlined and dead by now; each is still there to be looked at.
static void check_calls(Lint *l)
{
    Map functions = lint_functions(l);
    for (NodeId id = 1; functions.len && id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        const uint32_t *f =
            n->schema ? NULL
                      : map_get(&functions, lint_function_key(l, n->domain, n->op, n->overload));
        if (f)
            lint_given_call(l, id, &l->m->functions.at[*f]);
    }
}

void lint_given(Lint *l)
{
    check_calls(l);
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (!n->dead)
            lint_given_references(l, id);
        if (n->dead || !n->schema)
            continue;
        lint_given_node(l, id);
        check_schema(l, id);
        check_attributes(l, id);
        if (node_is(n, "Resize"))
            check_resize(l, id);
    }
}

uint32_t repair_given(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    (void)unsafe;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        if (n->dead || !n->schema || !has_idle_scales(m, n))
            continue;
        n->in[RESIZE_SCALES] = 0;
        changes++;
    }
    return changes;
}
