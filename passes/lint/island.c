#include "passes/lint/island.h"
#include "passes/adaptor.h"
#include "passes/lint/edit.h"
#include "passes/lint/story.h"

// An operand that is of an integer dtype and no other: axes, sizes.
static bool is_fixed(const Node *n, uint32_t i, DType from)
{
    const SchemaParam *p = param_of_operand(n, i);
    return p && !p->type_var && dtype_is_integer(from);
}

// Does result o have its dtype from an operand? A constant, or what an attribute names, has not; a
// Cast is the caller's to turn.
static bool follows_operand(const Model *m, const Node *n, uint32_t o, DType from)
{
    if (node_is(n, "Cast"))
        return true;
    for (uint32_t i = 0; i < n->nin; i++)
        if (lint_dtype(m, n->in[i]) == from &&
            params_are_tied(param_of_operand(n, i), param_of_result(n, o)))
            return true;
    return false;
}

bool island_allows(const Model *m, NodeId id, DType from, DType t)
{
    const Node *n = node_at(m, id);
    bool any = false;
    for (uint32_t i = 0; n->schema && i < n->nin + n->nout; i++) {
        bool operand = i < n->nin;
        ValueId v = operand ? n->in[i] : n->out[i - n->nin];
        const SchemaParam *p = operand ? param_of_operand(n, i) : param_of_result(n, i - n->nin);
        if (lint_dtype(m, v) != from || (operand && is_fixed(n, i, from)))
            continue;
        if (!p || !p->type_var || !(p->types >> t & 1) ||
            (!operand && !follows_operand(m, n, i - n->nin, from)))
            return false;
        any = true;
    }
    for (uint32_t k = 0; k < n->nattrs; k++)
        if (n->attrs[k].g || n->attrs[k].ngraphs)
            return false;
    return any;
}

static bool is_made_inside(const Model *m, ValueId v, const bool *in)
{
    return value_at(m, v)->def == DEF_NODE && in[value_at(m, v)->node];
}

// Uses of v on the other side than its maker, in `across`.
static uint32_t uses_across(const Model *m, const Uses *uses, const bool *in, ValueId v,
                            Use *across)
{
    bool inside = is_made_inside(m, v, in);
    uint32_t n = 0;
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
        const Use *u = &uses->uses[k];
        bool reads =
            u->node && in[u->node] && !is_fixed(node_at(m, u->node), u->index, lint_dtype(m, v));
        if (reads == inside)
            continue;
        if (across)
            across[n] = *u;
        n++;
    }
    return n;
}

uint32_t island_casts(const Model *m, const Uses *uses, const bool *in, DType from)
{
    uint32_t n = 0;
    for (ValueId v = 1; v < m->values.len; v++)
        n += lint_dtype(m, v) == from && uses_across(m, uses, in, v, NULL) > 0;
    return n;
}

uint32_t island_constant_casts(const Model *m, const Uses *uses, const bool *in, DType from)
{
    uint32_t n = 0;
    for (ValueId v = 1; v < m->values.len; v++)
        n += lint_dtype(m, v) == from && value_at(m, v)->constant &&
             uses_across(m, uses, in, v, NULL) > 0;
    return n;
}

uint32_t island_run(Model *m, const bool *in, DType from, DType t)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Builder names = builder_of(m, a);
    Edit e = edit_begin(m);
    uint32_t values = m->values.len, casts = 0;
    for (ValueId v = 1; v < values; v++) {
        if (lint_dtype(m, v) != from)
            continue;
        bool inside = is_made_inside(m, v, in);
        Use *across = NEWS(a, Use, uses.first[v + 1] - uses.first[v] + 1u);
        uint32_t n = uses_across(m, &uses, in, v, across);
        if (inside)
            edit_declare(&e, v, t);
        if (n == 0)
            continue;
        DType to = inside ? from : t;
        NodeId cast = adaptor_insert(&names, v, "Cast", dtype_info(to)->abbrev, across, n);
        node_set_int(m, cast, "to", to);
        casts++;
    }
    e.count += casts;
    edit_end(&e);
    arena_free(a);
    return casts;
}
