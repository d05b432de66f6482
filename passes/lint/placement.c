// MP004: Casts that would convert fewer bytes elsewhere.
//
// Moving data commutes with casting it, bit for bit. A region of moving nodes has one dtype,
// `wide`; Casts into it widen from `narrow`, or Casts out of it narrow to `narrow`, not both. Each
// node may run in either dtype: one label each, and a Cast for each (value, label) asked for that
// the value has not, priced by its bytes. What would need the other Cast (back to the dtype that
// has more digits, after they are gone; or down again before they were there) has no price. The
// least cut is the best placement (passes/solver/labels.h).

#include "passes/adaptor.h"
#include "passes/lint/cost.h"
#include "passes/lint/edit.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"
#include "passes/retype.h"
#include "passes/solver/labels.h"

enum { WIDE, NARROW, NLABELS };
enum { MANY = 4096 };

// Above the price of any Cast; so many of them stay below COST_NEVER.
static const Cost NEVER_CAST = (Cost)1 << 42;

typedef struct Placement {
    const Regions *x;
    const Region *r;
    DType narrow;
    bool widens; // Casts stand at the entrance
    Labels *l;
    uint32_t *variable; // by node of the model, those of the region
    uint32_t fixed[NLABELS];
    Cost least;
} Placement;

static uint32_t *index_of_nodes(const Model *m, Arena *a)
{
    return NEWS(a, uint32_t, m->nodes.len);
}

static bool is_leave(const Placement *p, const Use *u)
{
    return u->node && is_cast(p->x->m, u->node);
}

static bool all_known(const Model *m, const Region *r)
{
    for (uint32_t i = 0; i < r->values.len; i++)
        if (value_at(m, r->values.at[i])->rank < 0 || cost_elements(m, r->values.at[i], MANY) > 1e9)
            return false;
    return r->values.len < 1 << 16;
}

// What runs more or less often than the rest is left where it is.
static bool is_one_graph(const Model *m, const Region *r)
{
    GraphId g = node_at(m, r->nodes.at[0])->graph;
    for (uint32_t i = 0; i < r->nodes.len; i++)
        if (node_at(m, r->nodes.at[i])->graph != g)
            return false;
    for (uint32_t i = 0; i < r->values.len; i++)
        if (value_at(m, r->values.at[i])->graph != g)
            return false;
    for (uint32_t i = 0; i < r->leave.len; i++)
        if (node_at(m, r->leave.at[i])->graph != g)
            return false;
    return true;
}

// Is there anything to place, and which way do its Casts go?
static bool begin(Placement *p)
{
    const Model *m = p->x->m;
    const Region *r = p->r;
    uint32_t in = 0;
    if (!r->nodes.len || r->orders || !is_one_graph(m, r) || !all_known(m, r))
        return false;
    for (uint32_t i = 0; i < r->enter.len; i++)
        in += dtype_is_float(cast_from(m, r->enter.at[i])) &&
              dtype_holds(r->dtype, cast_from(m, r->enter.at[i]));
    if (in && in == r->enter.len && !r->leave.len && r->from != DT_NONE && r->from != r->dtype) {
        p->widens = true;
        p->narrow = r->from;
        return region_allows(p->x, r, p->narrow);
    }
    if (r->enter.len || !r->leave.len)
        return false;
    p->narrow = cast_to(m, r->leave.at[0]);
    for (uint32_t i = 0; i < r->leave.len; i++)
        if (cast_to(m, r->leave.at[i]) != p->narrow)
            return false;
    return dtype_is_float(p->narrow) && dtype_holds(r->dtype, p->narrow) && p->narrow != r->dtype &&
           dtype_info(p->narrow)->bits >= 16 && region_allows(p->x, r, p->narrow);
}

// What decides the label of a value as it is made.
static uint32_t maker_of(const Placement *p, ValueId v)
{
    const Model *m = p->x->m;
    const Value *value = value_at(m, v);
    NodeId id = value->def == DEF_NODE ? value->node : 0;
    if (id && motion_of(node_at(m, id)) != MOTION_NONE)
        return p->variable[id];
    bool narrow = p->widens && id && is_cast(m, id);
    return p->fixed[narrow ? NARROW : WIDE];
}

static uint32_t user_of(const Placement *p, const Use *u)
{
    const Model *m = p->x->m;
    if (is_leave(p, u))
        return p->fixed[NARROW];
    if (u->node && motion_is_data(node_at(m, u->node), u->index))
        return p->variable[u->node];
    return p->fixed[WIDE];
}

static void pose(Placement *p, Arena *a, double unknown)
{
    const Model *m = p->x->m;
    const Uses *uses = p->x->uses;
    double bytes = dtype_info(p->narrow)->bytes + dtype_info(p->r->dtype)->bytes;
    p->l = labels_new(a, NLABELS);
    p->fixed[WIDE] = labels_variable(p->l, 1 << WIDE);
    p->fixed[NARROW] = labels_variable(p->l, 1 << NARROW);
    for (uint32_t i = 0; i < p->r->nodes.len; i++)
        p->variable[p->r->nodes.at[i]] = labels_variable(p->l, 1 << WIDE | 1 << NARROW);
    for (uint32_t i = 0; i < p->r->values.len; i++) {
        ValueId v = p->r->values.at[i];
        uint32_t value = labels_value(p->l, maker_of(p, v));
        Cost price = (Cost)(bytes * cost_elements(m, v, unknown)) + 1;
        labels_adaptor(p->l, value, NARROW, p->widens ? NEVER_CAST : price);
        labels_adaptor(p->l, value, WIDE, p->widens ? price : NEVER_CAST);
        for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++)
            labels_use(p->l, value, user_of(p, &uses->uses[k]));
    }
}

static uint32_t label_of(const Placement *p, uint32_t variable)
{
    return labels_of(p->l, variable);
}

// Bytes that Casts convert: as they stand, or as they were placed.
static double bytes_of(const Placement *p, double unknown, bool placed)
{
    const Model *m = p->x->m;
    const Uses *uses = p->x->uses;
    double all = 0, bytes = dtype_info(p->narrow)->bytes + dtype_info(p->r->dtype)->bytes;
    for (uint32_t i = 0; i < p->r->values.len; i++) {
        ValueId v = p->r->values.at[i];
        bool enters = value_at(m, v)->def == DEF_NODE && is_cast(m, value_at(m, v)->node);
        bool cast = !placed && p->widens && enters;
        uint32_t made = label_of(p, maker_of(p, v));
        for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
            const Use *u = &uses->uses[k];
            cast |= placed ? label_of(p, user_of(p, u)) != made : is_leave(p, u);
        }
        all += cast ? bytes * cost_elements(m, v, unknown) : 0;
    }
    return all;
}

// Is another placement better, whatever dims that are not known turn out to be?
static bool improve(Placement *p, Arena *a)
{
    if (!begin(p))
        return false;
    pose(p, a, COST_UNKNOWN_DIM);
    labels_solve(p->l);
    if (labels_total(p->l) >= NEVER_CAST)
        return false;
    bool better = bytes_of(p, COST_UNKNOWN_DIM, true) < bytes_of(p, COST_UNKNOWN_DIM, false);
    return better && bytes_of(p, 1, true) <= bytes_of(p, 1, false) &&
           bytes_of(p, MANY, true) <= bytes_of(p, MANY, false);
}

void lint_cast_placement(Lint *l)
{
    const Regions *x = lint_regions(l);
    uint32_t *variable = index_of_nodes(l->m, l->arena);
    for (uint32_t i = 0; i < x->len; i++) {
        Placement p = {.x = x, .r = &x->at[i], .variable = variable};
        Arena *a = arena_new();
        bool better = improve(&p, a);
        NodeId cast = better ? (p.widens ? p.r->enter.at[0] : p.r->leave.at[0]) : 0;
        double now = better ? bytes_of(&p, 1, false) : 0, then = better ? bytes_of(&p, 1, true) : 0;
        double saved =
            better ? bytes_of(&p, COST_UNKNOWN_DIM, false) - bytes_of(&p, COST_UNKNOWN_DIM, true)
                   : 0;
        bool open = better && bytes_of(&p, MANY, false) != now;
        arena_free(a);
        if (!better || !cost_worth_telling(l, "MP004", cast, saved) ||
            !lint_first_time(l, "MP004", cast))
            continue;
        Diag *d = diag(l->diags, "MP004", SEV_WARNING, location_node(l->m, l->arena, cast),
                       "the Cast to %s converts more bytes here than it would %s the data is moved",
                       dtype_name(cast_to(l->m, cast)), p.widens ? "after" : "before");
        d->value = lint_name(l, node_at(l->m, cast)->out[0]);
        lint_about_node(l, d, cast);
        diag_note(l->diags, d, "%.0f bytes are read and written, and %.0f would do%s", now, then,
                  !open ? "" : " (dims that are not known count as 1)");
        diag_note(l->diags, d,
                  "%u node%s around it only move%s data: casting before or after gives the "
                  "same bits",
                  p.r->nodes.len, p.r->nodes.len == 1 ? "" : "s", p.r->nodes.len == 1 ? "s" : "");
        diag_fix(l->diags, d, true, "move it: %s",
                 p.widens ? "narrow data is moved, then widened" : "data is narrowed, then moved");
        diag_help(l->diags, d, "see `cameo explain MP004`");
    }
}

// ---- repair -------------------------------------------------------------------------------------

typedef struct Mover {
    Placement *p;
    Edit *e;
    Builder *names;
    Arena *a;
} Mover;

// Uses of v that ask for the other label get one Cast; Casts that did so go.
static void place_value(Mover *w, ValueId v)
{
    const Placement *p = w->p;
    Model *m = w->e->m;
    const Uses *uses = p->x->uses;
    uint32_t made = label_of(p, maker_of(p, v)), n = 0;
    uint32_t count = uses->first[v + 1] - uses->first[v];
    NodeId enter = value_at(m, v)->def == DEF_NODE && is_cast(m, value_at(m, v)->node)
                       ? value_at(m, v)->node
                       : 0;
    ValueId source = p->widens && enter ? node_at(m, enter)->in[0] : v;
    Use *others = NEWS(w->a, Use, count + 1);
    bool moved = false;
    for (uint32_t k = 0; k < count; k++) {
        const Use *u = &uses->uses[uses->first[v] + k];
        bool differs = label_of(p, user_of(p, u)) != made;
        if (is_leave(p, u)) {
            if (!differs)
                edit_drop(w->e, u->node, v); // it is narrow already
            continue;
        }
        moved |= differs;
        if (differs)
            others[n++] = *u;
        else if (source != v)
            node_at(m, u->node)->in[u->index] = source; // narrow: not through the Cast
    }
    if (!moved || (p->widens && enter)) // a Cast at the entrance serves those who ask for wide
        return;
    DType to = made == WIDE ? p->narrow : p->r->dtype;
    NodeId fresh = adaptor_insert(w->names, v, "Cast", dtype_info(to)->abbrev, others, n);
    node_set_int(m, fresh, "to", to);
    for (uint32_t k = 0; k < count; k++) {
        const Use *u = &uses->uses[uses->first[v] + k];
        if (is_leave(p, u) && label_of(p, user_of(p, u)) != made)
            edit_drop(w->e, u->node, node_at(m, fresh)->out[0]);
    }
}

// Casts at entrances that nobody reads any more.
static void drop_unused(Model *m, Edit *e, const bool *at_entrance)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    for (NodeId id = 1; id < m->nodes.len && id < e->nodes; id++) {
        ValueId v = at_entrance[id] && !node_at(m, id)->dead ? node_at(m, id)->out[0] : 0;
        if (v && uses.first[v] == uses.first[v + 1]) {
            graph_remove(m, id);
            e->count++;
        }
    }
    arena_free(a);
}

static void place(Mover *w)
{
    const Placement *p = w->p;
    Model *m = w->e->m;
    for (uint32_t i = 0; i < p->r->values.len; i++) {
        ValueId v = p->r->values.at[i];
        if (label_of(p, maker_of(p, v)) == NARROW &&
            !(p->widens && is_cast(m, value_at(m, v)->node)))
            edit_declare(w->e, v, p->narrow);
    }
    for (uint32_t i = 0; i < p->r->values.len; i++)
        place_value(w, p->r->values.at[i]);
    w->e->count++;
}

// One region at a time: what is beside it is looked at in the next run, with its new uses.
uint32_t repair_cast_placement(Model *m, bool unsafe)
{
    (void)unsafe;
    uint32_t made = 0;
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Regions x = regions_of(m, &uses, a);
    uint32_t *variable = index_of_nodes(m, a);
    bool *near = NEWS(a, bool, x.len + 1);
    bool *at_entrance = NEWS(a, bool, m->nodes.len);
    Edit e = edit_begin(m);
    Builder names = builder_of(m, a);
    for (uint32_t i = 0; i < x.len; i++) {
        Placement p = {.x = &x, .r = &x.at[i], .variable = variable};
        Mover w = {&p, &e, &names, a};
        bool touched = false;
        for (uint32_t k = 0; k < p.r->enter.len; k++)
            touched |= near[x.of[node_at(m, p.r->enter.at[k])->in[0]]];
        for (uint32_t k = 0; k < p.r->leave.len; k++)
            touched |= near[x.of[node_at(m, p.r->leave.at[k])->out[0]]];
        if (touched || near[i + 1] || !improve(&p, a))
            continue;
        for (uint32_t k = 0; k < p.r->enter.len; k++)
            near[x.of[node_at(m, p.r->enter.at[k])->in[0]]] = true;
        for (uint32_t k = 0; k < p.r->leave.len; k++)
            near[x.of[node_at(m, p.r->leave.at[k])->out[0]]] = true;
        near[0] = false;
        for (uint32_t k = 0; p.widens && k < p.r->enter.len; k++)
            at_entrance[p.r->enter.at[k]] = true;
        place(&w);
        made++;
    }
    drop_unused(m, &e, at_entrance);
    edit_end(&e);
    arena_free(a);
    return made;
}
