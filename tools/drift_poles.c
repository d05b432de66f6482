// Numbers that are divided by, or of which a root or a logarithm is taken, and whose error is as
// large as they are. Next to a pole a function is no line, and what derivatives predict behind it
// is worth nothing: the model run with its values rounded shows it.

#include "runtime/cameo_drift.h"
#include "tools/drift_parts.h"

#include <math.h>

// The error from which on, as a part of the number, a pole is told of.
static const double NEAR = 0.25;

enum { MAX_POLES = 256, POLES_LISTED = 3 };

static const struct {
    const char *op;
    uint32_t operand;
} diverging[] = {{"Div", 1}, {"Reciprocal", 0}, {"Sqrt", 0}, {"Log", 0}};

void drift_poles_find(DriftTrial *x, const Model *m)
{
    Arena *a = x->d->table.arena;
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->nodes.len && x->poles.len < MAX_POLES; i++) {
        NodeId id = g->nodes.at[i];
        const Node *n = node_at(m, id);
        for (size_t k = 0; k < sizeof diverging / sizeof *diverging; k++) {
            uint32_t at = diverging[k].operand;
            if (!node_is(n, diverging[k].op) || at >= n->nin || value_at(m, n->in[at])->constant)
                continue;
            DriftPole p = {.node = id, .operand = at};
            p.op = str_copy(a, n->op);
            p.path = str_copy(a, location_node(m, a, id));
            p.name = str_copy(a, value_shown_name(m, n->in[at]));
            vec_push(a, &x->poles, p);
        }
    }
}

void drift_poles_look(DriftTrial *x, uint32_t set)
{
    for (uint32_t i = 0; i < x->poles.len; i++) {
        DriftPole *p = &x->poles.at[i];
        int32_t rank = 0;
        const int64_t *dims = NULL;
        if (!p->known)
            continue;
        const double *at = x->s.model->output(x->context, (int32_t)p->number, &rank, &dims);
        if (at[DRIFT_MAX_RELATIVE] > p->relative) {
            p->relative = at[DRIFT_MAX_RELATIVE];
            p->set = set;
        }
    }
}

bool drift_is_near_pole(const DriftPole *p)
{
    return p->relative >= NEAR;
}

void drift_print_poles(const Drift *d, Buf *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->poles.len; i++) {
        const DriftPole *p = &d->poles.at[i];
        if (!drift_is_near_pole(p) || ++count > POLES_LISTED)
            continue;
        buf_printf(out, "next to a pole: %.*s: an element of ", STR_ARG(p->path));
        buf_quoted(out, p->name);
        buf_printf(out,
                   " is off by %.2g times itself in data set %u: behind it no derivative holds\n",
                   p->relative, p->set + 1);
    }
    if (count > POLES_LISTED)
        buf_printf(out, "next to a pole: %u more\n", count - POLES_LISTED);
}

void drift_json_poles(const Drift *d, Json *j)
{
    json_key(j, "poles");
    json_array(j);
    for (uint32_t i = 0; i < d->poles.len; i++) {
        const DriftPole *p = &d->poles.at[i];
        json_object(j);
        json_key(j, "op");
        json_str(j, p->op);
        json_key(j, "path");
        json_str(j, p->path);
        json_key(j, "value");
        json_str(j, p->name);
        json_key(j, "relative");
        json_num(j, p->relative);
        json_key(j, "set");
        json_int(j, p->set);
        json_key(j, "near");
        json_bool(j, drift_is_near_pole(p));
        json_end_object(j);
    }
    json_end_array(j);
}
