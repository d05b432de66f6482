// Brings every operand to the device that its node runs on, with the fewest transfers.
//
// Nodes are the variables of a label problem (passes/solver/labels.h), devices its labels: a placed
// node has one, any other runs wherever that needs fewest transfers, then fewest bytes. Inputs and
// weights lie wherever they are needed. In a file a transfer is an Identity that names the device
// of its result; those that are there take their operand from anywhere.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/devices.h"
#include "passes/insert_casts.h"
#include "passes/solver/labels.h"

#include <string.h>

enum { FINE = 1 << 20, MAX_ROUNDS = 4 };

typedef struct Moves {
    Model *m;
    Arena *a;
    Repair *r;
    uint32_t nnodes, nvalues;
    DeviceId *at;       // by node; 0: nothing says
    DeviceId *from;     // by value: where it lies; 0: anywhere
    bool *counts;       // by use: has the value to lie where the node runs?
    uint32_t *variable; // by node
    uint32_t *maker;    // by value
    Uses uses;
    Labels *l;
} Moves;

static void find_places(Moves *w)
{
    devices_place(w->m);
    for (NodeId n = 1; n < w->nnodes; n++)
        w->at[n] = node_at(w->m, n)->dead ? 0 : device_of_node(w->m, n);
    for (ValueId v = 1; v < w->nvalues; v++) {
        const Value *value = value_at(w->m, v);
        if (value->def == DEF_NODE && !node_at(w->m, value->node)->dead)
            w->from[v] = device_of_value(w->m, v);
    }
}

// The node at which each value's device begins, in one go along all chains.
static NodeId *find_origins(Moves *w)
{
    NodeId *origin = NEWS(w->a, NodeId, w->nvalues);
    ValueId *path = NEWS(w->a, ValueId, w->nvalues);
    for (ValueId v = 1; v < w->nvalues; v++) {
        uint32_t n = 0;
        ValueId at = v;
        while (at && !origin[at] && n < w->nvalues) {
            const Why *why = &value_at(w->m, at)->why_device;
            bool follows = why->kind == WHY_OPERAND || why->kind == WHY_BRANCH;
            path[n++] = at;
            at = follows && why->from != at ? why->from : 0;
        }
        const Value *last = n ? value_at(w->m, path[n - 1]) : NULL;
        NodeId from = at ? origin[at] : last && last->def == DEF_NODE ? last->node : 0;
        while (n)
            origin[path[--n]] = from;
    }
    return origin;
}

enum { SAID = 1, IMPLICIT = 2 };

// Is the place of a node said explicitly, or is it one whose transfers are implicit?
static int kind_of(const Moves *w, NodeId n)
{
    int kind = n ? (int)node_at(w->m, n)->why_device.kind : WHY_NONE;
    bool said = kind == WHY_CONFIG || kind == WHY_METADATA;
    return said ? SAID : kind == WHY_SHARDING ? IMPLICIT : 0;
}

// A use asks for its device where something at either end was placed explicitly and no transfer is
// implicit; of a node that nothing places, always, so that a device begins where something placed
// says so.
static void find_uses(Moves *w)
{
    const NodeId *origin = find_origins(w);
    int *around = NEWS(w->a, int, w->nnodes); // by node: what its operands are
    for (NodeId n = 1; n < w->nnodes; n++)
        for (uint32_t i = 0; i < node_at(w->m, n)->nin; i++) {
            ValueId v = node_at(w->m, n)->in[i];
            if (device_matters(w->m, n, i) && device_of_value(w->m, v))
                around[n] |= kind_of(w, origin[v]);
        }
    for (ValueId v = 1; v < w->nvalues; v++)
        for (uint32_t i = w->uses.first[v]; i < w->uses.first[v + 1]; i++) {
            const Use *u = &w->uses.uses[i];
            if (!w->from[v] || !u->node || !device_matters(w->m, u->node, u->index))
                continue;
            bool free = !w->at[u->node];
            int kinds = free ? SAID | around[u->node] : kind_of(w, u->node) | kind_of(w, origin[v]);
            w->counts[i] = kinds == SAID;
        }
}

static bool any_crossing(const Moves *w)
{
    for (NodeId n = 1; n < w->nnodes; n++)
        for (uint32_t i = 0; i < node_at(w->m, n)->nin; i++)
            if (device_crosses(w->m, n, i))
                return true;
    return false;
}

static uint32_t variable_of(Moves *w, NodeId n)
{
    LabelSet all = (LabelSet)(((uint64_t)1 << w->m->devices.len) - 2);
    if (!w->variable[n])
        w->variable[n] = 1 + labels_variable(w->l, w->at[n] ? (LabelSet)1 << w->at[n] : all);
    return w->variable[n] - 1;
}

// What makes v: its node; of If, Loop and Scan, whatever inside makes it lie there.
static uint32_t maker_of(Moves *w, ValueId v)
{
    NodeId n = value_at(w->m, v)->node;
    DeviceId d = device_of_value(w->m, v);
    for (uint32_t i = 0; i < node_at(w->m, n)->nattrs; i++)
        if (node_at(w->m, n)->attrs[i].g)
            return labels_variable(w->l, (LabelSet)1 << d);
    return variable_of(w, n);
}

static double bytes_of(const Model *m, ValueId v)
{
    return value_weight(m, v) * (dtype_info(value_at(m, v)->dtype)->bytes + 1);
}

// What brings v to a device already, a node of v's own graph: its result, or 0.
static ValueId brought(const Moves *w, ValueId v, DeviceId to)
{
    for (uint32_t i = w->uses.first[v]; i < w->uses.first[v + 1]; i++) {
        const Use *u = &w->uses.uses[i];
        if (u->node && is_transfer(w->m, u->node) && w->at[u->node] == to &&
            u->graph == value_at(w->m, v)->graph)
            return node_at(w->m, u->node)->out[0];
    }
    return 0;
}

// More devices than the solver takes: a node that nothing places runs where its operand lies.
static void follow(Moves *w)
{
    for (ValueId v = 1; v < w->nvalues; v++)
        if (w->from[v] && !w->at[value_at(w->m, v)->node])
            w->at[value_at(w->m, v)->node] = w->from[v];
}

// Places the nodes that nothing else does.
static void choose(Moves *w)
{
    double bytes = 1;
    Cost transfer = 2 * FINE;
    w->l = labels_new(w->a, w->m->devices.len);
    for (ValueId v = 1; v < w->nvalues; v++)
        bytes += w->from[v] ? bytes_of(w->m, v) * w->m->devices.len : 0;
    for (ValueId v = 1; v < w->nvalues; v++) {
        if (!w->from[v])
            continue;
        uint32_t value = labels_value(w->l, w->maker[v] = maker_of(w, v));
        for (DeviceId d = 1; d < w->m->devices.len; d++)
            labels_adaptor(w->l, value, d,
                           brought(w, v, d) ? 0
                                            : transfer + (Cost)(FINE / bytes * bytes_of(w->m, v)));
        for (uint32_t i = w->uses.first[v]; i < w->uses.first[v + 1]; i++)
            if (w->counts[i])
                labels_use(w->l, value, variable_of(w, w->uses.uses[i].node));
    }
    labels_solve(w->l);
    Cost bound = labels_bound(w->l);
    w->r->lower_bound += (uint32_t)(bound / transfer) + (bound % transfer > FINE);
    for (NodeId n = 1; n < w->nnodes; n++)
        if (w->variable[n])
            w->at[n] = labels_of(w->l, w->variable[n] - 1);
    for (ValueId v = 1; v < w->nvalues; v++)
        if (w->from[v])
            w->from[v] = labels_of(w->l, w->maker[v]);
}

static bool transfer_value(Moves *w, Builder *a, ValueId v, DeviceId to)
{
    uint32_t first = w->uses.first[v], n = w->uses.first[v + 1] - first, count = 0;
    Use *uses = NEWS(w->a, Use, n);
    ValueId there = brought(w, v, to);
    for (uint32_t i = 0; i < n; i++) {
        const Use *u = &w->uses.uses[first + i];
        if (w->counts[first + i] && w->at[u->node] == to && to != w->from[v])
            uses[count++] = *u;
    }
    if (count == 0 || (!there && !device_may_transfer(w->m, v)))
        return false;
    if (there) {
        adaptor_redirect(a, v, there, uses, count);
        return true;
    }
    NodeId id = adaptor_insert(a, v, "Identity", "transfer", uses, count);
    Prop p = {STR("cameo.device"), w->m->devices.at[to], 3, STR_NONE};
    vec_push(w->m->arena, &node_at(w->m, id)->metadata, p);
    w->r->transfers++;
    return true;
}

static bool move_values(Moves *w)
{
    Builder a = builder_of(w->m, w->a);
    bool any = false;
    for (ValueId v = 1; v < w->nvalues; v++)
        for (DeviceId d = 1; w->from[v] && d < w->m->devices.len; d++)
            any |= transfer_value(w, &a, v, d);
    return any;
}

static bool move_once(Model *m, Repair *r, uint32_t round)
{
    Arena *scratch = arena_new();
    Moves w = {.m = m, .a = scratch, .r = r, .nnodes = m->nodes.len, .nvalues = m->values.len};
    w.at = NEWS(scratch, DeviceId, w.nnodes);
    w.from = NEWS(scratch, DeviceId, w.nvalues);
    w.variable = NEWS(scratch, uint32_t, w.nnodes);
    w.maker = NEWS(scratch, uint32_t, w.nvalues);
    w.uses = uses_of(m, scratch);
    w.counts = NEWS(scratch, bool, w.uses.first[w.nvalues] + 1);
    bool any = false;
    uint32_t bound = r->lower_bound, before = r->transfers;
    find_places(&w);
    if (any_crossing(&w)) {
        find_uses(&w);
        bool few = m->devices.len <= LABELS_MAX;
        if (few)
            choose(&w);
        else
            follow(&w);
        any = move_values(&w);
        if (!few) // every node has its place: one for each value and device is the least
            r->lower_bound += r->transfers - before;
    }
    if (round > 0)
        r->lower_bound = bound;
    if (any) {
        repair_sort(m, scratch);
        infer_model(m, NULL);
    }
    arena_free(scratch);
    return any;
}

// Free nodes may come to run elsewhere once others have moved: looked at again.
bool insert_transfers(Model *m, Repair *r)
{
    bool any = false, again = true;
    for (uint32_t round = 0; again && round < MAX_ROUNDS; round++) {
        again = move_once(m, r, round);
        any |= again;
    }
    return any;
}
