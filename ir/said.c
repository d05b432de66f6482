// What declarations say of values that have none: a value that a node ties to a declared result is
// of the dtype that is declared there.
//
// One walk from the outputs back, into branches and bodies; a Cast ties nothing. Where two
// declarations disagree, neither counts.

#include "ir/said.h"

#include "ir/lists.h"
#include "ir/registry.h"

#include <string.h>

enum { DISPUTED = DT_COUNT };

static DType declared_dtype(const Value *v)
{
    const Type *t = v->declared;
    bool known = t && t->kind == TYPE_TENSOR && t->elem > 0 && t->elem < DT_COUNT;
    return known ? (DType)t->elem : DT_NONE;
}

static void say(Model *m, ValueId v, uint8_t t)
{
    if (!v || t == DT_NONE || declared_dtype(value_at(m, v)) != DT_NONE)
        return;
    m->said[v] = m->said[v] == DT_NONE || m->said[v] == t ? t : DISPUTED;
}

static const char *variable_of(const SchemaParam *params, uint32_t n, uint32_t i)
{
    const SchemaParam *p = schema_param(params, n, i);
    bool tied = p && p->type_var && (p->option != PARAM_VARIADIC || p->homogeneous);
    return tied ? param_variable(p) : NULL;
}

static void say_operands(Model *m, const Node *n)
{
    const Schema *s = n->schema;
    for (uint32_t o = 0; s && o < n->nout; o++) {
        const char *result = variable_of(s->outputs, s->noutputs, o);
        for (uint32_t i = 0; result && n->out[o] && i < n->nin; i++) {
            const char *operand = variable_of(s->inputs, s->ninputs, i);
            if (operand && strcmp(operand, result) == 0)
                say(m, n->in[i], m->said[n->out[o]]);
        }
    }
}

static void say_graph(Model *m, GraphId id);

// A branch gives what the node gives, a body what it carries and gathers.
static void say_held(Model *m, const Node *n, GraphId held)
{
    const Graph *g = graph_at(m, held);
    uint32_t skipped = node_is(n, "Loop") ? 1 : 0; // whether to go on
    bool known = skipped || node_is(n, "If") || node_is(n, "Scan");
    for (uint32_t o = 0; known && o < n->nout && o + skipped < g->outputs.len; o++)
        if (n->out[o])
            say(m, g->outputs.at[o + skipped].value, m->said[n->out[o]]);
    say_graph(m, held);
}

// What a loop begins with is of the dtype of the value in its body.
static void say_starts(Model *m, const Node *n)
{
    GraphId body = node_graph(n, "body");
    if (!body || !(node_is(n, "Loop") || node_is(n, "Scan")))
        return;
    const Graph *g = graph_at(m, body);
    for (uint32_t i = node_is(n, "Loop") ? 2 : 0; i < n->nin && i < g->inputs.len; i++)
        say(m, n->in[i], m->said[g->inputs.at[i].value]);
}

static void say_graph(Model *m, GraphId id)
{
    for (uint32_t i = graph_at(m, id)->nodes.len; i-- > 0;) {
        const Node *n = node_at(m, graph_at(m, id)->nodes.at[i]);
        for (uint32_t a = 0; a < n->nattrs; a++) {
            if (n->attrs[a].g)
                say_held(m, n, n->attrs[a].g);
            for (uint32_t k = 0; k < n->attrs[a].ngraphs; k++)
                say_graph(m, n->attrs[a].graphs[k]);
        }
        say_starts(m, n);
        say_operands(m, n);
    }
}

void said_forget(Model *m)
{
    m->said = NULL;
}

DType said_dtype(Model *m, ValueId v)
{
    if (!m->said) {
        m->nsaid = m->values.len;
        m->said = NEWS(m->arena, uint8_t, m->nsaid);
        for (ValueId i = 1; i < m->nsaid; i++)
            m->said[i] = (uint8_t)declared_dtype(value_at(m, i));
        say_graph(m, m->main);
        for (uint32_t f = 0; f < m->functions.len; f++)
            say_graph(m, m->functions.at[f].body);
    }
    if (v >= m->nsaid)
        return declared_dtype(value_at(m, v));
    return m->said[v] == DISPUTED ? DT_NONE : (DType)m->said[v];
}
