// DV002, DV003, DV006, DV007: transfers that cost more than they need, or that nothing needs.

#include "passes/adaptor.h"
#include "passes/config.h"
#include "passes/devices.h"
#include "passes/lint/lint.h"

#include <string.h>

enum { MAX_NAMES = 5 };

static Str device_name(Lint *l, DeviceId d)
{
    return str_escaped(l->arena, l->m->devices.at[d]);
}

static bool is_loop_body(const Model *m, GraphId g)
{
    NodeId owner = graph_at(m, g)->owner;
    return owner && (node_is(node_at(m, owner), "Loop") || node_is(node_at(m, owner), "Scan"));
}

// ---- DV002: islands on the host between nodes of one device

// Islands: nodes on the host, joined by the values that they hand on. Their number is that of their
// first node.
typedef struct Islands {
    const Model *m;
    NodeId *parent; // by node; 0: not on the host
} Islands;

static NodeId island_of(Islands *s, NodeId n)
{
    while (s->parent[n] != n)
        n = s->parent[n] = s->parent[s->parent[n]];
    return n;
}

static bool is_movable(Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    DType lacks;
    const Target *t = m->config ? m->config->target : NULL;
    bool runs = !t || (target_has_kernel(t, m, id, &lacks) && !target_host_reason(t, n));
    return !n->dead && runs && device_run(m, id) == DEVICE_HOST &&
           n->why_device.kind != WHY_SHARDING;
}

static Islands islands_of(Model *m, Arena *a)
{
    Islands s = {m, NEWS(a, NodeId, m->nodes.len)};
    for (NodeId n = 1; n < m->nodes.len; n++)
        if (is_movable(m, n))
            s.parent[n] = n;
    for (NodeId n = 1; n < m->nodes.len; n++) {
        const Node *node = node_at(m, n);
        for (uint32_t i = 0; s.parent[n] && i < node->nin; i++) {
            const Value *v = node->in[i] ? value_at(m, node->in[i]) : NULL;
            if (!v || v->def != DEF_NODE || !s.parent[v->node])
                continue;
            NodeId x = island_of(&s, n), y = island_of(&s, v->node);
            s.parent[x > y ? x : y] = x < y ? x : y;
        }
    }
    return s;
}

typedef struct Island {
    uint32_t nodes;
    DeviceId from, to; // devices that values come from and go to
    bool mixed;        // not one device, or something that has to stay
    double moved, work;
} Island;

static void count_uses(Lint *l, Islands *s, Island *all, NodeId n, ValueId v)
{
    const Uses *uses = lint_uses(l);
    Island *island = &all[island_of(s, n)];
    bool moved = false;
    for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++) {
        NodeId user = uses->uses[u].node;
        if (!user) {
            island->mixed = true; // an output of the program lies on the host
            continue;
        }
        DeviceId d = s->parent[user] || !device_matters(l->m, user, uses->uses[u].index)
                         ? DEVICE_HOST
                         : device_run(l->m, user);
        bool transfer = is_transfer(l->m, user);
        d = transfer && !s->parent[user] ? device_of_node(l->m, user) : d;
        if (!s->parent[user] && d <= DEVICE_HOST && !transfer)
            island->mixed |= device_matters(l->m, user, uses->uses[u].index);
        if (d <= DEVICE_HOST)
            continue;
        island->mixed |= island->to && island->to != d;
        island->to = d;
        moved = true;
    }
    island->moved += moved ? lint_bytes(l->m, v) : 0;
}

static Island *islands_weigh(Lint *l, Islands *s)
{
    Model *m = l->m;
    Island *all = NEWS(l->arena, Island, m->nodes.len);
    for (NodeId n = 1; n < m->nodes.len; n++) {
        if (!s->parent[n])
            continue;
        const Node *node = node_at(m, n);
        Island *island = &all[island_of(s, n)];
        island->nodes++;
        for (uint32_t i = 0; i < node->nin; i++) {
            const Value *v = node->in[i] ? value_at(m, node->in[i]) : NULL;
            DeviceId d = v ? device_of_value(m, node->in[i]) : 0;
            if (!v || d <= DEVICE_HOST)
                continue;
            island->mixed |= island->from && island->from != d;
            island->from = d;
            island->moved += lint_bytes(m, node->in[i]);
        }
        for (uint32_t o = 0; o < node->nout; o++)
            if (node->out[o]) {
                island->work += lint_bytes(m, node->out[o]);
                count_uses(l, s, all, n, node->out[o]);
            }
    }
    return all;
}

// Is it worth less than it costs to bring its data over and back?
static bool is_ping_pong(const Island *i)
{
    return i->nodes && !i->mixed && i->from && i->from == i->to && i->work < 4 * i->moved;
}

void lint_ping_pong(Lint *l)
{
    Islands s = islands_of(l->m, l->arena);
    Island *all = islands_weigh(l, &s);
    for (NodeId n = 1; n < l->m->nodes.len; n++) {
        const Island *i = &all[n];
        if (!s.parent[n] || island_of(&s, n) != n || !is_ping_pong(i))
            continue;
        Str device = device_name(l, i->from);
        Diag *d =
            diag(l->diags, "DV002", SEV_WARNING, location_node(l->m, l->arena, n),
                 "%u node%s on cpu between nodes on %.*s: %.*s go there and back", i->nodes,
                 i->nodes == 1 ? "" : "s", STR_ARG(device), STR_ARG(lint_shown_bytes(l, i->moved)));
        lint_about_node(l, d, n);
        if (node_at(l->m, n)->why_device.what)
            diag_note(l->diags, d, "placed on cpu by %.*s", STR_ARG(device_reason(l->m, n)));
        diag_note(l->diags, d, "what is computed there writes %.*s: less than the way costs",
                  STR_ARG(lint_shown_bytes(l, i->work)));
        diag_fix(l->diags, d, false, "place %s on %.*s: 2 transfers fewer",
                 i->nodes == 1 ? "it" : "them", STR_ARG(device));
    }
}

static void set_device(Model *m, Node *n, Str device)
{
    for (uint32_t i = 0; i < n->metadata.len; i++)
        if (str_is(n->metadata.at[i].key, "cameo.device")) {
            n->metadata.at[i].value = device;
            return;
        }
    vec_push(m->arena, &n->metadata, ((Prop){STR("cameo.device"), device, 3, STR_NONE}));
}

uint32_t repair_ping_pong(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    devices_place(m);
    Lint l = {.m = m, .arena = m->arena};
    Islands s = islands_of(m, m->arena);
    Island *all = islands_weigh(&l, &s);
    for (NodeId n = 1; n < m->nodes.len && unsafe; n++) {
        const Island *i = s.parent[n] ? &all[island_of(&s, n)] : NULL;
        if (!i || !is_ping_pong(i) || node_at(m, n)->why_device.kind == WHY_CONFIG)
            continue;
        set_device(m, node_at(m, n), m->devices.at[i->from]);
        changes++;
    }
    return changes;
}

// ---- DV003: weights that are sent every run

// A Constant node that something places on a device lies there, and has to be sent.
static bool is_stored(Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->def == DEF_NODE)
        return node_is(node_at(m, value->node), "Constant") && !device_of_value(m, v);
    return value->def == DEF_INITIALIZER || value->def == DEF_SPARSE || value_is_weight(m, v);
}

static bool sends_weight(Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    return !n->dead && is_transfer(m, id) && n->nin == 1 && n->nout == 1 && n->in[0] && n->out[0] &&
           is_stored(m, n->in[0]);
}

void lint_constant_transfers(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Identity");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!sends_weight(l->m, id))
            continue;
        ValueId v = node_at(l->m, id)->in[0];
        Str name = lint_name(l, v);
        Diag *d = diag(l->diags, "DV003", SEV_WARNING, location_operand(l->m, l->arena, id, 0),
                       "weight \"%.*s\" (%.*s) is copied to %.*s in every run", STR_ARG(name),
                       STR_ARG(lint_shown_bytes(l, lint_bytes(l->m, v))),
                       STR_ARG(device_name(l, device_of_node(l->m, id))));
        d->value = name;
        lint_about_node(l, d, id);
        diag_note(l->diags, d, "a weight lies wherever it is needed once the model is loaded");
        diag_fix(l->diags, d, true, "delete the transfer: its uses read \"%.*s\"", STR_ARG(name));
    }
}

// Every use of `from` reads `to`.
static void replace_uses(Model *m, const Uses *uses, ValueId from, ValueId to)
{
    for (uint32_t u = uses->first[from]; u < uses->first[from + 1]; u++) {
        const Use *use = &uses->uses[u];
        if (use->node)
            node_at(m, use->node)->in[use->index] = to;
    }
}

static bool is_output(const Model *m, const Uses *uses, ValueId v)
{
    (void)m;
    for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
        if (!uses->uses[u].node)
            return true;
    return false;
}

uint32_t repair_constant_transfers(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Uses uses = uses_of(m, m->arena);
    (void)unsafe;
    for (NodeId id = m->nodes.len; id-- > 1;) {
        if (!sends_weight(m, id) || is_output(m, &uses, node_at(m, id)->out[0]))
            continue;
        replace_uses(m, &uses, node_at(m, id)->out[0], node_at(m, id)->in[0]);
        graph_remove(m, id);
        changes++;
    }
    return changes;
}

// ---- DV006

// What a transfer to the host copies: the host waits for that, whether the copy is written or not.
static ValueId before_transfer(Model *m, ValueId v)
{
    const Value *value = v ? value_at(m, v) : NULL;
    bool copied = value && value->def == DEF_NODE && device_of_value(m, v) <= DEVICE_HOST &&
                  is_transfer(m, value->node) && node_at(m, value->node)->nin == 1;
    return copied ? node_at(m, value->node)->in[0] : v;
}

static void report_sync(Lint *l, NodeId id, ValueId v, Str where, const char *when)
{
    Model *m = l->m;
    v = before_transfer(m, v);
    if (!v || device_of_value(m, v) <= DEVICE_HOST || value_at(m, v)->constant)
        return;
    Diag *d = diag(l->diags, "DV006", SEV_WARNING, where,
                   "%.*s waits for its condition \"%.*s\", which %.*s computes, %s",
                   STR_ARG(str_escaped(l->arena, node_at(m, id)->op)), STR_ARG(lint_name(l, v)),
                   STR_ARG(device_name(l, device_of_value(m, v))), when);
    d->value = lint_name(l, v);
    lint_about_node(l, d, id);
    NodeId origin = device_origin(m, v);
    if (origin)
        diag_note(l->diags, d, "it is computed there since %.*s: %.*s",
                  STR_ARG(lint_short(l, origin)), STR_ARG(device_reason(m, origin)));
    diag_note(l->diags, d, "the host decides what runs: nothing is queued before it has the value");
    diag_help(l->diags, d, "compute it from what the host knows, or choose with Where");
}

void lint_control_sync(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "If", "Loop");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        const Node *n = node_at(l->m, id);
        if (n->dead)
            continue;
        bool loop = node_is(n, "Loop");
        uint32_t operand = loop ? 1 : 0;
        if ((loop || node_is(n, "If")) && operand < n->nin)
            report_sync(l, id, n->in[operand], location_operand(l->m, l->arena, id, operand),
                        "once a run");
        GraphId body = loop ? node_graph(n, "body") : 0;
        if (body && graph_at(l->m, body)->outputs.len)
            report_sync(l, id, graph_at(l->m, body)->outputs.at[0].value,
                        location_graph(l->m, l->arena, body), "in every iteration");
    }
}

// ---- DV007

// The loop that a transfer can be taken out of: its operand comes from outside. 0: none.
static NodeId outermost_loop(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    NodeId loop = 0;
    if (n->dead || !is_transfer(m, id) || n->nin != 1 || n->nout != 1 || !n->in[0] || !n->out[0])
        return 0;
    GraphId home = value_at(m, n->in[0])->graph;
    for (GraphId g = n->graph; g && g != home; g = graph_at(m, g)->parent)
        if (is_loop_body(m, g))
            loop = graph_at(m, g)->owner;
    return loop;
}

void lint_loop_transfers(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Identity");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        NodeId loop = outermost_loop(l->m, id);
        if (!loop)
            continue;
        ValueId v = node_at(l->m, id)->in[0];
        Str name = lint_name(l, v);
        Diag *d = diag(l->diags, "DV007", SEV_WARNING, location_operand(l->m, l->arena, id, 0),
                       "\"%.*s\" is copied to %.*s in every iteration, and is the same in all",
                       STR_ARG(name), STR_ARG(device_name(l, device_of_node(l->m, id))));
        d->value = name;
        lint_about_node(l, d, id);
        diag_note(l->diags, d, "it comes from outside of the %.*s %.*s",
                  STR_ARG(str_escaped(l->arena, node_at(l->m, loop)->op)),
                  STR_ARG(lint_short(l, loop)));
        diag_fix(l->diags, d, true, "copy it once, in front of the loop");
    }
}

uint32_t repair_loop_transfers(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Builder a = builder_of(m, m->arena);
    Uses uses = uses_of(m, m->arena);
    (void)unsafe;
    for (NodeId id = m->nodes.len; id-- > 1;) {
        ValueId out = outermost_loop(m, id) ? node_at(m, id)->out[0] : 0;
        if (!out || is_output(m, &uses, out))
            continue;
        Str device = props_get(&node_at(m, id)->metadata, "cameo.device");
        uint32_t n = uses.first[out + 1] - uses.first[out];
        ValueId v = node_at(m, id)->in[0];
        if (n && device.len) {
            NodeId fresh =
                adaptor_insert(&a, v, "Identity", "_moved", &uses.uses[uses.first[out]], n);
            set_device(m, node_at(m, fresh), device);
        }
        graph_remove(m, id);
        changes++;
    }
    return changes;
}
