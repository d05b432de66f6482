// Moves what depends on an If's output whose rank the branches do not agree on into both branches.
//
// A program has one layout for every value, so a value of two ranks has no place in it. Inside a
// branch the rank is known. For an If whose condition is not known when compiling:
//
// 1. The nodes behind it in its graph are visited in order. One that uses an output of unknown rank
//    is copied into both branches, and the types of the two copies are inferred. Where they agree
//    the results are outputs of the If from then on; where they do not, whatever uses them follows.
//    Small integers that are known in a branch count as disagreeing, since shapes are made of them.
// 2. A node between (it depends on the If, and a moved node depends on it) has to move as well.
// 3. A copy that does not fit in its branch has a fault (Node.fault): that branch stops the program
//    with an error that names the node. The types are those of the other branch then.
//
// After each If constants are folded and decided branches inlined anew, as copies know more. Ifs in
// a row multiply the code; a limit ends that.
//
// in:  inferred types, sorted nodes.   out: the same. What is left of unknown rank is an output of
// the model, or has no rank for other reasons.

#include "ir/infer.h"
#include "passes/clone.h"
#include "passes/pass.h"

#include <string.h>

enum { MAX_COPIES = 50000, MAX_IFS = 128 };

typedef struct Sink {
    Model *m;
    Arena *scratch;
    NodeId holder; // the If
    GraphId graph; // that it is in
    uint32_t at;   // its place there
    GraphId branch[2];
    uint32_t nvalues;   // before the first copy
    uint32_t room;      // for outputs of the If
    uint8_t *depends;   // by value: on an output of the If
    uint8_t *behind;    // by value: on an output of the If, and its node has not moved
    uint8_t *unsettled; // by value: of a rank that differs
    uint8_t *used;      // by value: scratch of searches
    uint8_t *moved;     // by place in the graph: copied into the branches
    Clone clone[2];
} Sink;

// ---- uses --------------------------------------------------------------------------------------

typedef struct UseSearch {
    const Model *m;
    const uint8_t *wanted; // by value, or NULL
    uint8_t *mark;         // by value, or NULL: uses are marked here
    uint32_t nvalues;
    bool found;
} UseSearch;

static void see_use(UseSearch *u, ValueId v)
{
    if (v == 0 || v >= u->nvalues)
        return;
    if (u->mark)
        u->mark[v] = 1;
    u->found = u->found || (u->wanted && u->wanted[v]);
}

static void see_node(void *context, NodeId n)
{
    UseSearch *u = context;
    const Node *node = node_at(u->m, n);
    for (uint32_t i = 0; i < node->nin; i++)
        see_use(u, node->in[i]);
    for (uint32_t i = 0; i < node->nattrs; i++) {
        const Graph *g = node->attrs[i].g ? graph_at(u->m, node->attrs[i].g) : NULL;
        for (uint32_t k = 0; g && k < g->outputs.len; k++)
            if (value_at(u->m, g->outputs.at[k].value)->graph != node->attrs[i].g)
                see_use(u, g->outputs.at[k].value);
    }
}

// What a node, or a node in a graph that it holds, uses.
static void see_all(UseSearch *u, NodeId n)
{
    const Node *node = node_at(u->m, n);
    see_node(u, n);
    for (uint32_t i = 0; i < node->nattrs; i++)
        if (node->attrs[i].g)
            graph_walk(u->m, node->attrs[i].g, see_node, u);
}

static bool uses_any(const Sink *s, NodeId n, const uint8_t *wanted)
{
    UseSearch u = {.m = s->m, .wanted = wanted, .nvalues = s->nvalues};
    see_all(&u, n);
    return u.found;
}

static void mark_uses(const Sink *s, NodeId n, uint8_t *mark)
{
    UseSearch u = {.m = s->m, .mark = mark, .nvalues = s->nvalues};
    see_all(&u, n);
}

// ---- finding an If -----------------------------------------------------------------------------

static bool is_undecided(const Model *m, const Node *n)
{
    GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
    return node_is(n, "If") && n->nin && n->in[0] && !value_at(m, n->in[0])->constant && yes &&
           no && graph_at(m, yes)->outputs.len >= n->nout &&
           graph_at(m, no)->outputs.len >= n->nout && !n->fault.at;
}

// The ranks that v may have, by the branches that it may come from; false if one is not known.
static bool ranks_of(const Model *m, ValueId v, uint32_t *ranks)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    bool ok = true;
    if (value->rank >= 0) {
        *ranks |= 1u << (value->rank < 31 ? value->rank : 31);
        return true;
    }
    if (!n || !is_undecided(m, n))
        return false;
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
        const Graph *g = graph_at(m, node_graph(n, names[i]));
        if (!g->fails)
            ok = ok && value->index < g->outputs.len &&
                 ranks_of(m, g->outputs.at[value->index].value, ranks);
    }
    return ok;
}

static bool is_of_two_ranks(const Model *m, ValueId v)
{
    uint32_t ranks = 0;
    return v && value_at(m, v)->rank < 0 && ranks_of(m, v, &ranks) && (ranks & (ranks - 1));
}

// Marks what nodes use; what a graph only hands out stays unmarked, unless it comes from outside.
static void mark_used_by_nodes(Sink *s)
{
    UseSearch u = {.m = s->m, .mark = s->used, .nvalues = s->nvalues};
    graph_walk(s->m, s->m->main, see_node, &u);
}

// Does a node use an output of the If that has two ranks? They are marked then.
static bool has_work(Sink *s, NodeId n)
{
    const Node *node = node_at(s->m, n);
    bool any = false;
    if (!is_undecided(s->m, node))
        return false;
    for (uint32_t o = 0; o < node->nout; o++)
        any |= s->used[node->out[o]] && is_of_two_ranks(s->m, node->out[o]);
    for (uint32_t o = 0; any && o < node->nout; o++)
        s->unsettled[node->out[o]] = is_of_two_ranks(s->m, node->out[o]);
    return any;
}

// The first If to work on in a graph or below, of what can run at all; 0 if there is none.
static NodeId find_if(Sink *s, GraphId g)
{
    NodeId found = 0;
    for (uint32_t i = 0; i < graph_at(s->m, g)->nodes.len && !found; i++) {
        NodeId n = graph_at(s->m, g)->nodes.at[i];
        if (n == graph_at(s->m, g)->fails)
            break;
        if (has_work(s, n))
            return n;
        for (uint32_t k = 0; k < node_at(s->m, n)->nattrs && !found; k++)
            if (node_at(s->m, n)->attrs[k].g)
                found = find_if(s, node_at(s->m, n)->attrs[k].g);
    }
    return found;
}

// ---- moving ------------------------------------------------------------------------------------

// v becomes an output of the If, and its copies results of the branches.
static uint32_t add_output(Sink *s, ValueId v)
{
    Model *m = s->m;
    Node *n = node_at(m, s->holder);
    if (n->nout == s->room) {
        ValueId *out = NEWS(m->arena, ValueId, s->room = 2 * s->room + 8);
        memcpy(out, n->out, n->nout * sizeof *out);
        n->out = out;
    }
    n->out[n->nout] = v;
    for (int b = 0; b < 2; b++)
        vec_push(m->arena, &graph_at(m, s->branch[b])->outputs,
                 ((ValueInfo){.value = clone_mapped(&s->clone[b], v), .has = 1}));
    return n->nout++;
}

// Do the copies of v agree, so that the If can hand it on? A branch that fails agrees with all.
static bool copies_agree(const Sink *s, ValueId v)
{
    const Value *copy[2];
    for (int b = 0; b < 2; b++)
        copy[b] = value_at(s->m, clone_mapped(&s->clone[b], v));
    if (graph_at(s->m, s->branch[0])->fails || graph_at(s->m, s->branch[1])->fails)
        return copy[graph_at(s->m, s->branch[0])->fails != 0]->rank >= 0;
    return copy[0]->rank >= 0 && copy[0]->rank == copy[1]->rank &&
           copy[0]->dtype == copy[1]->dtype && copy[0]->kind == copy[1]->kind &&
           !copy[0]->content && !copy[1]->content;
}

static void move_node(Sink *s, uint32_t place)
{
    Model *m = s->m;
    NodeId n = graph_at(m, s->graph)->nodes.at[place];
    s->moved[place] = 1;
    for (uint32_t o = 0; o < node_at(m, n)->nout; o++)
        s->behind[node_at(m, n)->out[o]] = 0;
    for (int b = 0; b < 2; b++) {
        NodeId copy = clone_node(&s->clone[b], n, s->branch[b]);
        graph_append(m, s->branch[b], copy);
        if (s->clone[b].failed || graph_at(m, s->branch[b])->fails)
            continue;
        infer_node(m, copy, NULL);
        if (node_at(m, copy)->fault.at)
            graph_at(m, s->branch[b])->fails = copy;
    }
    for (uint32_t o = 0; o < node_at(m, n)->nout; o++) {
        ValueId v = node_at(m, n)->out[o];
        if (!v)
            continue;
        s->unsettled[v] = !copies_agree(s, v);
        uint32_t at = add_output(s, v);
        if (!s->unsettled[v])
            infer_if_output(m, s->holder, at);
    }
}

// Moves the nodes that stand between the If and the node at `place`, which is going to move.
static void move_needed(Sink *s, uint32_t place)
{
    const Graph *g = graph_at(s->m, s->graph);
    uint8_t *need = NEWS(s->scratch, uint8_t, g->nodes.len);
    memset(s->used, 0, s->nvalues);
    mark_uses(s, g->nodes.at[place], s->used);
    for (uint32_t i = place; i-- > s->at + 1;) {
        const Node *n = node_at(s->m, g->nodes.at[i]);
        for (uint32_t o = 0; o < n->nout; o++)
            need[i] |= !s->moved[i] && n->out[o] && s->depends[n->out[o]] && s->used[n->out[o]];
        if (need[i])
            mark_uses(s, g->nodes.at[i], s->used);
    }
    for (uint32_t i = s->at + 1; i < place; i++)
        if (need[i])
            move_node(s, i);
}

static void visit(Sink *s, uint32_t place)
{
    NodeId n = graph_at(s->m, s->graph)->nodes.at[place];
    if (!uses_any(s, n, s->depends))
        return;
    bool gap = uses_any(s, n, s->behind);
    for (uint32_t o = 0; o < node_at(s->m, n)->nout; o++)
        s->depends[node_at(s->m, n)->out[o]] = s->behind[node_at(s->m, n)->out[o]] = 1;
    s->depends[0] = s->behind[0] = 0;
    if (!uses_any(s, n, s->unsettled)) {
        infer_node(s->m, n, NULL); // of settled operands more may be known now
        return;
    }
    if (gap)
        move_needed(s, place);
    move_node(s, place);
}

// ---- the end -----------------------------------------------------------------------------------

// The If keeps the outputs that somebody uses.
static void keep_used_outputs(Sink *s)
{
    Model *m = s->m;
    Node *n = node_at(m, s->holder);
    uint32_t kept = 0;
    for (uint32_t o = 0; o < n->nout; o++) {
        ValueId v = n->out[o];
        if (!v || !s->used[v])
            continue;
        for (int b = 0; b < 2; b++) {
            Graph *g = graph_at(m, s->branch[b]);
            g->outputs.at[kept] = g->outputs.at[o];
        }
        value_at(m, v)->def = DEF_NODE;
        value_at(m, v)->node = s->holder;
        value_at(m, v)->index = kept;
        n->out[kept++] = v;
    }
    n->nout = kept;
    for (int b = 0; b < 2; b++)
        graph_at(m, s->branch[b])->outputs.len = kept;
}

static void drop_infos(Model *m, GraphId g)
{
    Graph *graph = graph_at(m, g);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->infos.len; i++) {
        const Value *v = value_at(m, graph->infos.at[i].value);
        if (v->def != DEF_NODE || !node_at(m, v->node)->dead)
            graph->infos.at[kept++] = graph->infos.at[i];
    }
    graph->infos.len = kept;
}

static void finish(Sink *s)
{
    Model *m = s->m;
    VEC(NodeId) gone = {0};
    const Graph *g = graph_at(m, s->graph);
    memset(s->used, 0, s->nvalues);
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        if (s->moved[i])
            vec_push(s->scratch, &gone, g->nodes.at[i]);
        else
            mark_uses(s, g->nodes.at[i], s->used);
    }
    for (uint32_t i = 0; i < g->outputs.len; i++)
        s->used[g->outputs.at[i].value] = 1;
    keep_used_outputs(s);
    for (uint32_t i = gone.len; i-- > 0;)
        graph_remove(m, gone.at[i]);
    drop_infos(m, s->graph);
    if (node_at(m, s->holder)->nout == 0)
        graph_remove(m, s->holder);
}

static void begin(Sink *s, NodeId holder)
{
    Model *m = s->m;
    s->holder = holder;
    s->graph = node_at(m, holder)->graph;
    s->branch[0] = node_graph(node_at(m, holder), "then_branch");
    s->branch[1] = node_graph(node_at(m, holder), "else_branch");
    s->moved = NEWS(s->scratch, uint8_t, graph_at(m, s->graph)->nodes.len);
    for (s->at = 0; graph_at(m, s->graph)->nodes.at[s->at] != holder; s->at++)
        ;
    const Node *n = node_at(m, holder);
    s->room = n->nout;
    for (int b = 0; b < 2; b++) {
        s->clone[b].m = m;
        s->clone[b].nmap = s->nvalues;
        s->clone[b].map = NEWS(s->scratch, ValueId, s->nvalues);
        s->clone[b].moved = true;
        s->clone[b].failed = false;
        graph_at(m, s->branch[b])->outputs.len = n->nout;
        for (uint32_t o = 0; o < n->nout; o++)
            if (n->out[o])
                s->clone[b].map[n->out[o]] = graph_at(m, s->branch[b])->outputs.at[o].value;
    }
    for (uint32_t o = 0; o < n->nout; o++)
        s->depends[n->out[o]] = 1;
    s->depends[0] = s->unsettled[0] = 0;
}

// Works on one If; *any: there was one. False where the limit is reached.
static bool sink_one(Sink *s, bool *any)
{
    s->scratch = arena_new();
    s->nvalues = s->m->values.len;
    s->depends = NEWS(s->scratch, uint8_t, s->nvalues);
    s->behind = NEWS(s->scratch, uint8_t, s->nvalues);
    s->unsettled = NEWS(s->scratch, uint8_t, s->nvalues);
    s->used = NEWS(s->scratch, uint8_t, s->nvalues);
    mark_used_by_nodes(s);
    NodeId n = find_if(s, s->m->main);
    *any = n != 0;
    bool ok = true;
    if (n) {
        begin(s, n);
        uint32_t count = graph_at(s->m, s->graph)->nodes.len;
        for (uint32_t i = s->at + 1; i < count && ok; i++) {
            visit(s, i);
            ok = !s->clone[0].failed && !s->clone[1].failed;
        }
        finish(s);
    }
    arena_free(s->scratch);
    return ok;
}

static bool refuse(const Sink *s, const PassContext *c)
{
    diag(c->diags, "SE006", SEV_ERROR, location_node(s->m, s->m->arena, s->holder),
         "If: the branches give outputs of different rank; moving what follows into them makes "
         "more than %d nodes or %d branches",
         MAX_COPIES, 2 * MAX_IFS);
    return false;
}

bool pass_sink_if(Model *m, PassContext *c)
{
    Sink s = {.m = m, .clone = {{.limit = MAX_COPIES / 2}, {.limit = MAX_COPIES / 2}}};
    if (!pass_inline_branches(m, c) || !pass_split_squeeze(m, c))
        return false;
    for (uint32_t rounds = 0;; rounds++) {
        bool any;
        if (!sink_one(&s, &any))
            return refuse(&s, c);
        if (!any)
            return true;
        if (rounds == MAX_IFS)
            return refuse(&s, c);
        if (!pass_sort_nodes(m, c) || !pass_infer(m, c) || !pass_fold_constants(m, c) ||
            !pass_inline_branches(m, c) || !pass_split_squeeze(m, c))
            return false;
    }
}
