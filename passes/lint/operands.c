// ST011: nodes that lack what their operator needs, or have what excludes each other.

#include "passes/lint/lint.h"
#include "passes/lint/story.h"

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
        return;
    }
    diag_note(l->diags, d,
              "\"%.*s\" is empty, which would mean \"not given\" if it were a constant, "
              "but it is made by %.*s",
              STR_ARG(lint_name(l, v)), STR_ARG(lint_source_words(l, v)));
    if (opset_of(l->m, n) >= 13)
        diag_fix(l->diags, d, true, "leave the operand out: sizes decide");
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
        diag_note(l->diags, d, "it has %u inputs; since opset %d it takes %u%s", n->nin, s->since,
                  n->nin < s->min_in ? s->min_in : s->max_in,
                  s->max_in == s->min_in ? ""
                  : n->nin < s->min_in   ? " or more"
                                         : " at the most");
    for (uint32_t i = 0; i < s->ninputs; i++)
        if (s->inputs[i].option == PARAM_SINGLE && (i >= n->nin || !n->in[i]))
            diag_note(l->diags, d, "input %s is missing", s->inputs[i].name);
    for (uint32_t i = 0; i < s->nattrs; i++)
        if (s->attrs[i].required && !attr_find(n, s->attrs[i].name))
            diag_note(l->diags, d, "attribute %s is missing", s->attrs[i].name);
}

void lint_given(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (n->dead || !n->schema)
            continue;
        check_schema(l, id);
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
