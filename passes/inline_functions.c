// Replaces calls of the model's own functions by their bodies, innermost last, until none is left.
//
// The body is copied once a call: values get fresh ids, attributes that refer to the function's own
// are resolved to the call's (or the function's default; without either they vanish), subgraphs are
// copied too. A call keeps its place in the order; names of copies carry the call's name in front.

#include "passes/inline_functions.h"
#include "passes/clone.h"
#include "passes/pass.h"

#include <string.h>

typedef VEC(NodeId) NodeList;

// The model's functions by name: first[hash] and next[] hold 1 + index.
typedef struct Calls {
    const Model *m;
    uint32_t buckets, *first, *next;
} Calls;

typedef struct Inliner {
    Model *m;
    Arena *scratch;
    Calls calls;
    Diags *diags;
    Clone clone;       // from one call to the next; its map is empty between them
    NodeList *to;      // where the copies of the body's own nodes are listed
    Node call;         // a copy: tables move
    uint32_t function; // index
    bool any_opset;    // copies keep their function's opset versions
} Inliner;

// ---- which function a node calls

static uint64_t hash_of(Str name)
{
    return hash_bytes(name.at, name.len, 0);
}

static Calls calls_of(const Model *m, Arena *a)
{
    Calls c = {m, 1, NULL, NULL};
    while (c.buckets < m->functions.len)
        c.buckets *= 2;
    c.first = NEWS(a, uint32_t, c.buckets);
    c.next = NEWS(a, uint32_t, m->functions.len + 1);
    for (uint32_t i = m->functions.len; i > 0; i--) { // the first of a name is found first
        uint32_t *head = &c.first[hash_of(m->functions.at[i - 1].name) & (c.buckets - 1)];
        c.next[i] = *head;
        *head = i;
    }
    return c;
}

static bool is_call(const Calls *c, const Node *n, uint32_t *index)
{
    uint32_t i = c->first[hash_of(n->op) & (c->buckets - 1)];
    for (; i; i = c->next[i]) {
        const Function *f = &c->m->functions.at[i - 1];
        if (str_eq(f->name, n->op) && str_eq(f->domain, n->domain) &&
            str_eq(f->overload, n->overload)) {
            *index = i - 1;
            return true;
        }
    }
    return false;
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
static void bind_results(Inliner *in, const Graph *body, GraphId to)
{
    Model *m = in->m;
    for (uint32_t i = 0; i < body->outputs.len && i < in->call.nout; i++) {
        ValueId inner = body->outputs.at[i].value, outer = in->call.out[i];
        bool made_here = value_at(m, inner)->def == DEF_NODE && !in->clone.map[inner];
        if (outer && made_here)
            clone_map(&in->clone, inner, outer);
    }
    for (uint32_t i = 0; i < body->nodes.len && !in->clone.failed; i++)
        vec_push(m->arena, in->to, clone_node(&in->clone, body->nodes.at[i], to));
    for (uint32_t i = 0; i < body->outputs.len && i < in->call.nout; i++) {
        ValueId outer = in->call.out[i];
        ValueId from = clone_mapped(&in->clone, body->outputs.at[i].value);
        if (!outer || from == outer)
            continue; // else an input handed through, or one result given twice
        NodeId id = node_build(m, to, "Identity", &from, 1,
                               str_printf(m->arena, "unused#%u", m->values.len));
        node_at(m, id)->out[0] = outer;
        value_at(m, outer)->node = id;
        value_at(m, outer)->index = 0;
        vec_push(m->arena, in->to, id);
    }
}

static void inline_call(Inliner *in, NodeId call, uint32_t function)
{
    Model *m = in->m;
    Clone *c = &in->clone;
    in->call = *node_at(m, call);
    in->function = function;
    c->call = call;
    c->position = in->call.position;
    c->prefix = in->call.name.len ? in->call.name : in->call.op;
    Graph body = *graph_at(m, m->functions.at[function].body);
    for (uint32_t i = 0; i < body.inputs.len; i++) {
        ValueId given = i < in->call.nin ? in->call.in[i] : 0;
        clone_map(c, body.inputs.at[i].value, given ? given : CLONE_NOTHING);
    }
    bind_results(in, &body, in->call.graph);
    node_at(m, call)->dead = true;
    clone_forget(c);
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

// Inlines the calls that a graph itself holds; false on failure, *any: something was inlined.
static bool inline_graph(Inliner *in, GraphId g, bool *any)
{
    Model *m = in->m;
    NodeList fresh = {0};
    Graph old = *graph_at(m, g);
    bool here = false, ok = true;
    in->to = &fresh;
    for (uint32_t i = 0; i < old.nodes.len; i++) {
        NodeId n = old.nodes.at[i];
        uint32_t index;
        if (!ok || in->clone.failed || !is_call(&in->calls, node_at(m, n), &index)) {
            vec_push(m->arena, &fresh, n);
        } else if (!in->any_opset && !opsets_agree(m, &m->functions.at[index])) {
            ok = refuse(in, n, "imports another opset version than the model");
            vec_push(m->arena, &fresh, n);
        } else {
            if (!in->any_opset)
                import_opsets(m, &m->functions.at[index]);
            inline_call(in, n, index);
            here = true;
        }
    }
    if (here) {
        graph_at(m, g)->nodes.at = fresh.at;
        graph_at(m, g)->nodes.len = fresh.len;
        graph_at(m, g)->nodes.cap = fresh.cap;
    }
    *any |= here;
    return ok && !in->clone.failed;
}

static bool is_part_of_main(const Model *m, GraphId g)
{
    while (graph_at(m, g)->parent)
        g = graph_at(m, g)->parent;
    return g == m->main;
}

// ---- functions that call themselves

typedef struct Frame {
    uint32_t function;
    NodeId next; // the body's node to look at
} Frame;

// A function from which calls lead back to itself; UINT32_MAX: none does. The nodes of every body
// are looked at once, with a stack of our own.
static uint32_t recursive_function(const Calls *c, Arena *scratch)
{
    const Model *m = c->m;
    uint32_t n = m->functions.len, depth = 0;
    unsigned char *state = NEWS(scratch, unsigned char, n + 1); // 1 open, 2 done
    Frame *stack = NEWS(scratch, Frame, n + 1);
    // Calls by function: lists in one array, heads by function.
    NodeId *first = NEWS(scratch, NodeId, n + 1), *next = NEWS(scratch, NodeId, m->nodes.len);
    uint32_t *callee = NEWS(scratch, uint32_t, m->nodes.len);
    for (NodeId id = m->nodes.len; id-- > 1;) {
        GraphId g = node_at(m, id)->graph;
        uint32_t index;
        if (node_at(m, id)->dead || !is_call(c, node_at(m, id), &index))
            continue;
        while (g && graph_at(m, g)->parent)
            g = graph_at(m, g)->parent;
        if (!g || !graph_at(m, g)->function)
            continue;
        uint32_t owner = graph_at(m, g)->function - 1;
        callee[id] = index;
        next[id] = first[owner];
        first[owner] = id;
    }
    for (uint32_t f = 0; f < n; f++) {
        if (state[f])
            continue;
        state[f] = 1;
        stack[depth++] = (Frame){f, first[f]};
        while (depth) {
            Frame *top = &stack[depth - 1];
            if (!top->next) {
                state[top->function] = 2;
                depth--;
                continue;
            }
            uint32_t to = callee[top->next];
            top->next = next[top->next];
            if (state[to] == 1)
                return to;
            if (state[to] == 0) {
                state[to] = 1;
                stack[depth++] = (Frame){to, first[to]};
            }
        }
    }
    return UINT32_MAX;
}

static bool refuse_recursion(const Model *m, uint32_t f, Diags *diags)
{
    diag(diags, "ST002", SEV_ERROR, location_graph(m, m->arena, m->functions.at[f].body),
         "function %.*s calls itself, directly or through others",
         STR_ARG(str_escaped(m->arena, m->functions.at[f].name)));
    return false;
}

bool inline_functions(Model *m, Diags *diags, bool any_opset, uint32_t max_copies)
{
    if (!m->functions.len || !m->main)
        return true;
    Arena *scratch = arena_new();
    Inliner in = {.m = m,
                  .diags = diags,
                  .any_opset = any_opset,
                  .scratch = scratch,
                  .calls = calls_of(m, scratch)};
    in.clone = (Clone){.m = m,
                       .nmap = m->values.len,
                       .map = NEWS(scratch, ValueId, m->values.len),
                       .scratch = scratch,
                       .at_position = true,
                       .argument = argument,
                       .context = &in,
                       .limit = max_copies};
    uint32_t recursive = recursive_function(&in.calls, scratch);
    bool any = recursive == UINT32_MAX;
    bool ok = any || refuse_recursion(m, recursive, diags);
    while (any && ok) { // as often as calls are nested
        any = false;
        uint32_t last = m->graphs.len;
        for (GraphId g = 1; g < last && ok; g++)
            if (is_part_of_main(m, g))
                ok = inline_graph(&in, g, &any);
    }
    if (in.clone.failed)
        diag(diags, "SE006", SEV_ERROR, STR("graph"), "inlining functions makes more than %u nodes",
             max_copies);
    arena_free(scratch);
    return ok && !in.clone.failed;
}

bool pass_inline_functions(Model *m, PassContext *c)
{
    return inline_functions(m, c->diags, false, 1000000);
}
