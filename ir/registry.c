// Binding nodes to their rows and schemas, and reading attributes with the schema's defaults.

#include "ir/registry.h"
#include "base/map.h"
#include "ir/ops/all.h"

#include <string.h>

const OpDef *op_at(uint32_t i)
{
    for (const OpDef *const *family = op_families; *family; family++)
        for (const OpDef *d = *family; d->name; d++)
            if (i-- == 0)
                return d;
    return NULL;
}

const OpDef *op_find(Str domain, Str op, int64_t opset)
{
    const OpDef *best = NULL;
    if (str_is(domain, "ai.onnx"))
        domain = STR("");
    for (const OpDef *const *family = op_families; *family; family++)
        for (const OpDef *d = *family; d->name; d++)
            if (d->since <= opset && (!best || d->since > best->since) && str_is(op, d->name) &&
                str_is(domain, d->domain ? d->domain : ""))
                best = d;
    return best;
}

// Is the node a call of a function of the model itself? Those come before the standard's operators.
static bool is_function_call(const Model *m, const Node *n)
{
    for (uint32_t i = 0; i < m->functions.len; i++) {
        const Function *f = &m->functions.at[i];
        if (str_eq(f->name, n->op) && str_eq(f->domain, n->domain) &&
            str_eq(f->overload, n->overload))
            return true;
    }
    return false;
}

void registry_bind_node(Model *m, NodeId id)
{
    Node *n = node_at(m, id);
    int64_t opset = opset_of(m, n);
    n->schema = NULL;
    n->def = NULL;
    if (opset <= 0 || is_function_call(m, n))
        return;
    n->schema = schema_find(n->domain, n->op, n->types_opset ? n->types_opset : opset);
    if (n->schema && n->schema->deprecated) {
        // A deprecated operator keeps the meaning of its last version where a row gives one.
        n->def = op_find(n->domain, n->op, n->schema->since - 1);
        return;
    }
    n->def = op_find(n->domain, n->op, opset);
}

// What nodes of one kind are bound to.
typedef struct Kind {
    const Node *first;
    int64_t opset;
    uint32_t next; // kind of the same operator's name, plus 1
} Kind;

typedef struct Kinds {
    Map by_op; // the first of its name, plus 1
    VEC(Kind) all;
} Kinds;

// The kind of the node, or 0 with *last where one is to be added.
static uint32_t kind_of(Kinds *k, const Node *n, int64_t opset, uint32_t **last)
{
    *last = map_put(&k->by_op, n->op, NULL);
    for (uint32_t i = **last; i; i = **last) {
        Kind *kind = &k->all.at[i - 1];
        if (kind->opset == opset && str_eq(kind->first->domain, n->domain) &&
            str_eq(kind->first->overload, n->overload))
            return i;
        *last = &kind->next;
    }
    return 0;
}

void registry_bind(Model *m)
{
    Arena *scratch = arena_new();
    Kinds kinds = {.by_op = {.arena = scratch}};
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        if (n->dead)
            continue;
        if (n->types_opset) {
            registry_bind_node(m, id);
            continue;
        }
        int64_t opset = opset_of(m, n);
        uint32_t *last, i = kind_of(&kinds, n, opset, &last);
        if (i) {
            n->schema = kinds.all.at[i - 1].first->schema;
            n->def = kinds.all.at[i - 1].first->def;
            continue;
        }
        registry_bind_node(m, id);
        *last = kinds.all.len + 1;
        vec_push(scratch, &kinds.all, ((Kind){.first = n, .opset = opset}));
    }
    arena_free(scratch);
}

const SchemaParam *schema_param(const SchemaParam *params, uint32_t n, uint32_t i)
{
    if (i < n)
        return &params[i];
    return n && params[n - 1].option == PARAM_VARIADIC ? &params[n - 1] : NULL;
}

const char *schema_refuses(const Schema *s, const Node *n)
{
    if (n->nin < s->min_in || n->nin > s->max_in)
        return n->nin < s->min_in ? "there are too few inputs" : "there are too many inputs";
    if (n->nout < s->min_out || n->nout > s->max_out)
        return n->nout < s->min_out ? "there are too few outputs" : "there are too many outputs";
    for (uint32_t i = 0; i < s->ninputs; i++)
        if (s->inputs[i].option == PARAM_SINGLE && (i >= n->nin || !n->in[i]))
            return "a required input is missing";
    for (uint32_t i = 0; i < n->nin; i++)
        if (!n->in[i] && (i >= s->ninputs || s->inputs[i].option == PARAM_VARIADIC))
            return "an input of a list is missing";
    for (uint32_t i = 0; i < s->nattrs; i++)
        if (s->attrs[i].required && !attr_find(n, s->attrs[i].name))
            return "a required attribute is missing";
    return NULL;
}

const char *schema_fault(const Node *n)
{
    return n->schema ? schema_refuses(n->schema, n) : NULL;
}

// ---- attributes

bool node_has_attr(const Node *n, const char *name)
{
    return attr_find(n, name) != NULL;
}

static const SchemaAttr *schema_default(const Node *n, const char *name)
{
    for (uint32_t i = 0; n->schema && i < n->schema->nattrs; i++)
        if (strcmp(n->schema->attrs[i].name, name) == 0)
            return n->schema->attrs[i].has_default ? &n->schema->attrs[i] : NULL;
    return NULL;
}

int64_t node_int(const Node *n, const char *name, int64_t otherwise)
{
    const Attr *a = attr_find(n, name);
    const SchemaAttr *d = schema_default(n, name);
    return a ? a->i : d ? d->i : otherwise;
}

DType node_dtype(const Node *n, const char *name, DType otherwise)
{
    int64_t t = node_int(n, name, otherwise);
    return t > DT_NONE && t < DT_COUNT ? (DType)t : DT_NONE;
}

double node_float(const Node *n, const char *name, double otherwise)
{
    const Attr *a = attr_find(n, name);
    const SchemaAttr *d = schema_default(n, name);
    return a ? (double)a->f : d ? (double)d->f : otherwise;
}

Str node_str(const Node *n, const char *name, const char *otherwise)
{
    const Attr *a = attr_find(n, name);
    const SchemaAttr *d = schema_default(n, name);
    return a ? a->s : str_of(d && d->s ? d->s : otherwise);
}

bool node_ints(const Node *n, const char *name, const int64_t **at, uint32_t *len)
{
    const Attr *a = attr_find(n, name);
    const SchemaAttr *d = schema_default(n, name);
    *at = a ? a->ints : d ? d->ints : NULL;
    *len = a ? a->nints : d ? d->nints : 0;
    return a || d;
}

int64_t node_ints_item(const Node *n, const char *name, uint32_t count, uint32_t i,
                       int64_t otherwise)
{
    const int64_t *at;
    uint32_t len;
    return node_ints(n, name, &at, &len) && len == count ? at[i] : otherwise;
}

bool node_floats(const Node *n, const char *name, const float **at, uint32_t *len)
{
    const Attr *a = attr_find(n, name);
    *at = a ? a->floats : NULL;
    *len = a ? a->nfloats : 0;
    return a != NULL;
}

GraphId node_graph(const Node *n, const char *name)
{
    const Attr *a = attr_find(n, name);
    return a ? a->g : 0;
}
