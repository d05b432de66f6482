// Replaces calls of the model's own functions by their bodies, innermost last, until none is left.
//
// The body is copied once a call: values get fresh ids, attributes that refer to the function's own
// are resolved to the call's (or the function's default; without either they vanish), subgraphs are
// copied too. A call keeps its place in the order; names of copies carry the call's name in front.

#include "passes/clone.h"
#include "passes/pass.h"

#include <string.h>

enum { MAX_DEPTH = 64, MAX_COPIES = 1000000 };

typedef struct Inliner {
    Model *m;
    Diags *diags;
    Node call;         // a copy: tables move
    uint32_t function; // index
    uint32_t copies;
    bool failed;
} Inliner;

static const Function *function_of(const Model *m, const Node *n, uint32_t *index)
{
    for (uint32_t i = 0; i < m->functions.len; i++) {
        const Function *f = &m->functions.at[i];
        if (str_eq(f->name, n->op) && str_eq(f->domain, n->domain) &&
            str_eq(f->overload, n->overload)) {
            *index = i;
            return f;
        }
    }
    return NULL;
}

static const Attr *argument(void *context, Str name)
{
    const Inliner *in = context;
    for (uint32_t i = 0; i < in->call.nattrs; i++)
        if (str_eq(in->call.attrs[i].name, name))
            return &in->call.attrs[i];
    const Function *f = &in->m->functions.at[in->function];
    for (uint32_t i = 0; i < f->ndefaults; i++)
        if (str_eq(f->defaults[i].name, name))
            return &f->defaults[i];
    return NULL;
}

// The body's results take the place of the call's: uses of the call's outputs stay as they are.
static void bind_results(Inliner *in, Clone *c, const Graph *body, NodeId call)
{
    GraphId to = in->call.graph;
    Model *m = in->m;
    for (uint32_t i = 0; i < body->outputs.len && i < in->call.nout; i++) {
        ValueId inner = body->outputs.at[i].value, outer = in->call.out[i];
        bool made_here = value_at(m, inner)->def == DEF_NODE && !c->map[inner];
        if (outer && made_here)
            c->map[inner] = outer;
    }
    for (uint32_t i = 0; i < body->nodes.len; i++)
        graph_insert_before(m, call, clone_node(c, body->nodes.at[i], to));
    for (uint32_t i = 0; i < body->outputs.len && i < in->call.nout; i++) {
        ValueId outer = in->call.out[i];
        ValueId from = clone_mapped(c, body->outputs.at[i].value);
        if (!outer || from == outer)
            continue; // else an input handed through, or one result given twice
        NodeId id = node_build(m, to, "Identity", &from, 1, STR("unused"));
        node_at(m, id)->out[0] = outer;
        value_at(m, outer)->node = id;
        value_at(m, outer)->index = 0;
        graph_insert_before(m, call, id);
    }
}

static void inline_call(Inliner *in, NodeId call, uint32_t function, Arena *scratch)
{
    Model *m = in->m;
    in->call = *node_at(m, call);
    in->function = function;
    Clone c = {.m = m,
               .nmap = m->values.len,
               .map = NEWS(scratch, ValueId, m->values.len),
               .prefix = in->call.name.len ? in->call.name : in->call.op,
               .at_position = true,
               .position = in->call.position,
               .argument = argument,
               .context = in,
               .limit = MAX_COPIES - in->copies};
    Graph body = *graph_at(m, m->functions.at[function].body);
    ValueId absent = 0;
    for (uint32_t i = 0; i < body.inputs.len; i++) {
        ValueId given = i < in->call.nin ? in->call.in[i] : 0;
        c.map[body.inputs.at[i].value] = given;
        absent = given ? absent : body.inputs.at[i].value;
    }
    bind_results(in, &c, &body, call);
    in->copies += c.copies;
    in->failed |= c.failed;
    // Inputs that the call leaves out are empty names inside.
    for (uint32_t i = 0; absent && i < m->nodes.len; i++) {
        Node *n = node_at(m, i);
        for (uint32_t k = 0; !n->dead && n->graph != m->functions.at[function].body && k < n->nin;
             k++)
            for (uint32_t b = 0; b < body.inputs.len; b++)
                if (n->in[k] == body.inputs.at[b].value)
                    n->in[k] = 0;
    }
    graph_remove(m, call);
}

static bool refuse(Inliner *in, NodeId n, const char *what)
{
    diag(in->diags, "", SEV_ERROR, location_node(in->m, in->m->arena, n), "function %.*s %s",
         STR_ARG(str_escaped(in->m->arena, node_at(in->m, n)->op)), what);
    return false;
}

// A copied node belongs to its function's opsets: what differs from the model's is refused.
static bool opsets_agree(const Model *m, const Function *f)
{
    for (uint32_t i = 0; i < f->nopsets; i++)
        for (uint32_t k = 0; k < m->opsets.len; k++) {
            Str a = f->opsets[i].domain, b = m->opsets.at[k].domain;
            bool same = str_eq(a, b) || (is_standard_domain(a) && is_standard_domain(b));
            if (same && f->opsets[i].version != m->opsets.at[k].version)
                return false;
        }
    return true;
}

// Domains that only a function imports become the model's own.
static void import_opsets(Model *m, const Function *f)
{
    for (uint32_t i = 0; i < f->nopsets; i++) {
        bool known = false;
        for (uint32_t k = 0; k < m->opsets.len; k++)
            known |= str_eq(f->opsets[i].domain, m->opsets.at[k].domain);
        if (!known)
            vec_push(m->arena, &m->opsets, f->opsets[i]);
    }
}

// One round over the graphs that are no function's body; false on failure, *any: something was
// inlined.
static bool inline_round(Inliner *in, bool *any, Arena *scratch)
{
    Model *m = in->m;
    NodeId last = m->nodes.len;
    *any = false;
    for (NodeId n = 1; n < last && !in->failed; n++) {
        uint32_t index;
        if (node_at(m, n)->dead || !function_of(m, node_at(m, n), &index))
            continue;
        GraphId g = node_at(m, n)->graph;
        while (graph_at(m, g)->parent)
            g = graph_at(m, g)->parent;
        if (g != m->main)
            continue;
        if (!opsets_agree(m, &m->functions.at[index]))
            return refuse(in, n, "imports another opset version than the model");
        import_opsets(m, &m->functions.at[index]);
        inline_call(in, n, index, scratch);
        *any = true;
    }
    return !in->failed;
}

bool pass_inline_functions(Model *m, PassContext *c)
{
    Arena *scratch = arena_new();
    Inliner in = {.m = m, .diags = c->diags};
    bool any = m->functions.len > 0, ok = true;
    for (int depth = 0; any && ok; depth++) {
        ok = inline_round(&in, &any, scratch);
        if (ok && any && depth == MAX_DEPTH) {
            diag(c->diags, "", SEV_ERROR, STR("graph"), "functions call each other without end");
            ok = false;
        }
    }
    if (in.failed)
        diag(c->diags, "SE006", SEV_ERROR, STR("graph"),
             "inlining functions makes more than %d nodes", MAX_COPIES);
    arena_free(scratch);
    return ok && !in.failed;
}
