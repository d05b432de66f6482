// Why a node keeps its dtype, as the report and the converted file say it.
//
// A node that has no reason of its own is where it is since others are: the minimum cut put it on
// the side of values that stay. So reasons spread from values that a node with a reason makes or
// reads, and from the model's own inputs and outputs, to the nodes beside them, breadth first: each
// names the value that it was reached by, and following these names leads to a reason.

#include "passes/convert_parts.h"

#include <string.h>

typedef struct Spread {
    Conversion *c;
    bool *seen;         // by value
    VEC(ValueId) queue; // values
    ValueId *by;        // by node: the value that it was reached by
} Spread;

static bool stays(const Conversion *c, uint32_t tie)
{
    return tie != NO_TIE && convert_is_float(c, tie) && !convert_is_low(c, tie);
}

// Does a tie stay by itself, not by what is around it?
static bool has_reason(const Conversion *c, uint32_t tie)
{
    return stays(c, tie) &&
           (c->why[convert_group(c, tie)].len || c->t->at.at[tie].kind == TIE_FIXED);
}

static bool begins(const Conversion *c, ValueId v)
{
    if (c->first_loose[v] != c->first_loose[v + 1] || has_reason(c, c->t->maker[v]))
        return true;
    for (uint32_t i = c->t->first_use[v]; i < c->t->first_use[v + 1]; i++)
        if (has_reason(c, c->t->uses.at[i].tie))
            return true;
    return false;
}

static void see(Spread *s, ValueId v)
{
    if (!v || v >= s->c->t->nvalues || s->seen[v] || !convert_is_from(s->c, ties_dtype(s->c->m, v)))
        return;
    s->seen[v] = true;
    vec_push(s->c->a, &s->queue, v);
}

static void reach(Spread *s, NodeId id, ValueId v)
{
    const Node *n = id ? node_at(s->c->m, id) : NULL;
    const uint32_t tie = id ? s->c->of_node[id] : NO_TIE;
    if (!n || s->by[id] || !stays(s->c, tie) || has_reason(s->c, tie))
        return;
    s->by[id] = v;
    for (uint32_t i = 0; i < n->nin; i++)
        see(s, n->in[i]);
    for (uint32_t i = 0; i < n->nout; i++)
        see(s, n->out[i]);
}

static ValueId *spread(Conversion *c)
{
    Spread s = {.c = c};
    s.seen = NEWS(c->a, bool, c->t->nvalues + 1u);
    s.by = NEWS(c->a, ValueId, c->m->nodes.len + 1u);
    for (ValueId v = 1; v < c->t->nvalues; v++)
        if (begins(c, v))
            see(&s, v);
    for (uint32_t i = 0; i < s.queue.len; i++) {
        const ValueId v = s.queue.at[i];
        const Value *value = value_at(c->m, v);
        reach(&s, value->def == DEF_NODE ? value->node : 0, v);
        for (uint32_t k = c->uses.first[v]; k < c->uses.first[v + 1]; k++) {
            const Use *use = &c->uses.uses[k]; // an output belongs to the node around its graph
            reach(&s, use->node ? use->node : graph_at(c->m, use->graph)->owner, v);
        }
    }
    return s.by;
}

static void note(Model *m, NodeId id, const char *key, Str text)
{
    Props *all = &node_at(m, id)->metadata;
    Prop p = {.key = str_of(key), .value = text, .has = 3};
    for (uint32_t i = 0; i < all->len; i++)
        if (str_eq(all->at[i].key, p.key)) {
            all->at[i].value = text;
            return;
        }
    vec_push(m->arena, all, p);
}

static bool is_any_of(const ValueId *at, uint32_t n, ValueId v)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i] == v)
            return true;
    return false;
}

// Is it another node's value, and is the reason to be looked for where that is made?
static bool leads_on(const Conversion *c, const ConvertKept *kept)
{
    const Node *n = node_at(c->m, kept->node);
    return kept->of && is_any_of(n->in, n->nin, kept->of) && !convert_becomes_low(c, kept->of);
}

// "float32: REASON: VALUE", where that is another node's.
static Str note_of(const Conversion *c, const ConvertKept *kept, bool around)
{
    const Node *n = node_at(c->m, kept->node);
    const char *own = dtype_name(c->own[c->of_node[kept->node]]);
    Buf b = {0};
    buf_printf(&b, "%s: %.*s", own, STR_ARG(kept->why));
    if (kept->of && (around || !is_any_of(n->out, n->nout, kept->of))) {
        buf_printf(&b, ": \"");
        buf_str(&b, value_at(c->m, kept->of)->name);
        buf_char(&b, '"');
        if (around)
            buf_printf(&b, leads_on(c, kept) ? " is %s" : " is read in %s", own);
    }
    Str text = str_copy(c->m->arena, (Str){b.at, b.len});
    buf_free(&b);
    return text;
}

void convert_note_kept(Conversion *c)
{
    const Str around = c->o->lambda > 0
                           ? STR("its rounding or the casts around it cost more than it saves")
                           : STR("the casts around it cost more than it saves");
    const ValueId *by = spread(c);
    for (NodeId id = 1; id < c->nnodes; id++) {
        const uint32_t tie = c->of_node[id];
        const Node *n = node_at(c->m, id);
        if (tie == NO_TIE || n->dead || node_is(n, "Cast") || convert_is_low(c, tie))
            continue;
        const uint32_t group = convert_group(c, tie);
        const bool own = c->why[group].len != 0;
        const ConvertKept kept = {id, own ? c->why[group] : around, own ? c->of[group] : by[id],
                                  c->priced[group]};
        vec_push(c->m->arena, &c->r->kept, kept);
        // Where all nodes stay, those that have to say why.
        if (c->r->low_nodes || own)
            note(c->m, id, "cameo.precision", note_of(c, &kept, !own));
        if ((c->r->low_nodes || own) && leads_on(c, &kept))
            note(c->m, id, "cameo.precision.of", value_at(c->m, kept.of)->name);
    }
}
