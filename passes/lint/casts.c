// DT007, DT009, DT010: Casts there and back, and Casts by way of a dtype between.

#include "passes/insert_casts.h"
#include "passes/lint/edit.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <math.h>

static bool is_lossy(DType from, DType to)
{
    return dtype_is_float(from) && dtype_is_float(to) && !dtype_holds(to, from);
}

// The first Cast out of a region to t; 0: there is none. *all: do all go to t?
static NodeId leaves_to(const Model *m, const Region *r, DType t, bool *all)
{
    NodeId found = 0;
    *all = true;
    for (uint32_t i = 0; i < r->leave.len; i++) {
        bool same = cast_to(m, r->leave.at[i]) == t;
        found = found || !same ? found : r->leave.at[i];
        *all &= same;
    }
    return found;
}

static bool has_source(const Region *r)
{
    return r->enter.len && !r->foreign && r->from != DT_NONE && r->from != r->dtype;
}

// Wider, and nothing is made of that before it is narrowed again.
static bool is_useless(const Regions *x, const Region *r)
{
    bool all;
    return has_source(r) && !r->used && dtype_is_float(r->from) && dtype_holds(r->dtype, r->from) &&
           leaves_to(x->m, r, r->from, &all) && region_allows(x, r, r->from);
}

// What enters was only widened before, from a dtype that the region's holds: nothing is rounded on
// the way in.
static bool enters_exact(const Regions *x, const Region *r)
{
    bool exact = true;
    for (uint32_t i = 0; i < r->enter.len && exact; i++) {
        uint32_t from = x->of[node_at(x->m, r->enter.at[i])->in[0]];
        const Region *s = from ? &x->at[from - 1] : NULL;
        exact = s && has_source(s) && dtype_is_float(s->from) && dtype_holds(s->dtype, s->from) &&
                dtype_holds(r->dtype, s->from);
    }
    return exact;
}

// Narrower, and then as wide as before.
static NodeId round_trip(const Regions *x, const Region *r)
{
    bool all;
    return has_source(r) && is_lossy(r->from, r->dtype) && !enters_exact(x, r) &&
                   dtype_info(r->dtype)->bits >= 16
               ? leaves_to(x->m, r, r->from, &all)
               : 0;
}

// Narrowed twice.
static NodeId rounded_twice(const Regions *x, const Region *r)
{
    if (!has_source(r) || !is_lossy(r->from, r->dtype) || enters_exact(x, r))
        return 0;
    for (uint32_t i = 0; i < r->leave.len; i++)
        if (is_lossy(r->dtype, cast_to(x->m, r->leave.at[i])) &&
            cast_to(x->m, r->leave.at[i]) != r->from)
            return r->leave.at[i];
    return 0;
}

// ---- what is said -------------------------------------------------------------------------------

static void note_way(Lint *l, Diag *d, const Region *r, NodeId last)
{
    NodeId first = r->enter.at[0];
    uint32_t moved = r->nodes.len;
    d->value = lint_name(l, node_at(l->m, last)->out[0]);
    d->origin_kind = STR("cast");
    d->origin_name = lint_name(l, node_at(l->m, first)->out[0]);
    vec_push(l->arena, &d->chain, location_node(l->m, l->arena, first));
    vec_push(l->arena, &d->chain, location_node(l->m, l->arena, last));
    if (moved)
        diag_note(l->diags, d, "%s -> Cast %.*s -> %u node%s that only move%s data -> Cast %.*s",
                  dtype_name(r->from), STR_ARG(lint_short(l, first)), moved, moved == 1 ? "" : "s",
                  moved == 1 ? "s" : "", STR_ARG(lint_short(l, last)));
    else
        diag_note(l->diags, d, "%s -> Cast %.*s -> Cast %.*s", dtype_name(r->from),
                  STR_ARG(lint_short(l, first)), STR_ARG(lint_short(l, last)));
}

static uint32_t casts_there_and_back(const Model *m, const Region *r)
{
    uint32_t n = r->enter.len;
    for (uint32_t i = 0; i < r->leave.len; i++)
        n += cast_to(m, r->leave.at[i]) == r->from;
    return n;
}

// What sums many numbers in the narrower dtype, and is widened afterwards: whoever asked for the
// wider dtype meant the sum.
static void note_late(Lint *l, Diag *d, const Region *r)
{
    ValueId v = node_at(l->m, r->enter.at[0])->in[0];
    const Value *value = value_at(l->m, v);
    const Node *n = value->def == DEF_NODE ? node_at(l->m, value->node) : NULL;
    if (n && n->schema && (node_is(n, "Softmax") || str_starts(n->op, "Reduce")))
        diag_note(l->diags, d,
                  "%.*s %.*s computes in %s: if %s was asked for (softmax(dtype=...)), the first "
                  "Cast belongs in front of it",
                  STR_ARG(n->op), STR_ARG(lint_short(l, value->node)), dtype_name(r->from),
                  dtype_name(r->dtype));
}

void lint_useless_widening(Lint *l)
{
    const Regions *x = lint_regions(l);
    for (uint32_t i = 0; i < x->len; i++) {
        const Region *r = &x->at[i];
        bool all;
        if (!is_useless(x, r) || !lint_first_time(l, "DT007", r->enter.at[0]))
            continue;
        uint32_t casts = casts_there_and_back(l->m, r);
        Diag *d =
            diag(l->diags, "DT007", SEV_WARNING, location_node(l->m, l->arena, r->enter.at[0]),
                 "%s is widened to %s and narrowed again, and nothing is computed between",
                 dtype_name(r->from), dtype_name(r->dtype));
        lint_about_node(l, d, r->enter.at[0]);
        note_way(l, d, r, leaves_to(l->m, r, r->from, &all));
        note_late(l, d, r);
        diag_fix(l->diags, d, true,
                 "delete %u Casts%s: every %s has its value in %s, so no bit changes", casts,
                 r->nodes.len ? " and move the data as it is" : "", dtype_name(r->from),
                 dtype_name(r->dtype));
        diag_help(l->diags, d, "see `cameo explain DT007`");
    }
}

void lint_round_trips(Lint *l)
{
    const Regions *x = lint_regions(l);
    for (uint32_t i = 0; i < x->len; i++) {
        const Region *r = &x->at[i];
        NodeId last = round_trip(x, r);
        if (!last || !lint_first_time(l, "DT009", last))
            continue;
        Diag *d = diag(l->diags, "DT009", SEV_WARNING, location_node(l->m, l->arena, last),
                       "%s goes through %s and comes back rounded", dtype_name(r->from),
                       dtype_name(r->dtype));
        lint_about_node(l, d, last);
        note_way(l, d, r, last);
        diag_note(l->diags, d, "nothing says that the digits are gone: the result is %s again",
                  dtype_name(r->from));
        diag_fix(l->diags, d, false,
                 "read the %s before the Cast: 0 casts added, results get more exact",
                 dtype_name(r->from));
        diag_help(l->diags, d,
                  "where the rounding is wanted (quantization-aware training), allow it in "
                  "cameo.yaml");
    }
}

// A number that the two ways give different results for, found by trying what is next to the
// middle of two numbers of the last dtype.
static bool differing(DType a, DType b, DType c, double *x, double *direct, double *twice)
{
    for (int step = 0; step < 2 * 60 * 2; step++) {
        double tiny = ldexp(1, -(step / 4) % 60), middle = ldexp(1, -(step % 60));
        double tries[] = {100000, 1 + middle + tiny * middle, 1 + middle + tiny};
        for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
            Scalar s = scalar_cast(DT_F64, a, (Scalar){.f = tries[k]}, false);
            *x = s.f;
            *direct = scalar_cast(a, c, s, false).f;
            *twice = scalar_cast(b, c, scalar_cast(a, b, s, false), false).f;
            if (*direct != *twice)
                return true;
        }
    }
    return false;
}

void lint_double_rounding(Lint *l)
{
    const Regions *x = lint_regions(l);
    for (uint32_t i = 0; i < x->len; i++) {
        const Region *r = &x->at[i];
        NodeId last = rounded_twice(x, r);
        double v, direct, twice;
        if (!last || !lint_first_time(l, "DT010", last))
            continue;
        DType to = cast_to(l->m, last);
        if (!differing(r->from, r->dtype, to, &v, &direct, &twice))
            continue;
        Diag *d = diag(l->diags, "DT010", SEV_WARNING, location_node(l->m, l->arena, last),
                       "%s is rounded to %s by way of %s", dtype_name(r->from), dtype_name(to),
                       dtype_name(r->dtype));
        lint_about_node(l, d, last);
        note_way(l, d, r, last);
        diag_note(l->diags, d, "proved: %.17g becomes %.10g on this way and %.10g directly", v,
                  twice, direct);
        diag_fix(l->diags, d, false, "cast %s to %s directly", dtype_name(r->from), dtype_name(to));
        diag_help(l->diags, d, "see `cameo explain DT010`");
    }
}

// ---- repairs ------------------------------------------------------------------------------------

// The region holds t from now on: Casts into it from t go, so do Casts out of it to t.
static void make_region(Edit *e, const Region *r, DType t)
{
    const Model *m = e->m;
    for (uint32_t i = 0; i < r->values.len; i++)
        edit_declare(e, r->values.at[i], t);
    for (uint32_t i = 0; i < r->leave.len; i++)
        if (cast_to(m, r->leave.at[i]) == t)
            edit_drop(e, r->leave.at[i], node_at(m, r->leave.at[i])->in[0]);
    for (uint32_t i = 0; i < r->enter.len; i++) {
        NodeId cast = r->enter.at[i];
        if (r->from == t)
            edit_drop(e, cast, node_at(m, cast)->in[0]);
        else
            node_set_int(e->m, cast, "to", t);
    }
    e->count++;
}

typedef void (*RegionRepair)(Edit *e, const Regions *x, const Region *r);

// Each region that a Cast touches is changed once a run: where one leads into the next, the next
// run finds what is left.
static uint32_t repair_regions(Model *m, RegionRepair repair)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Regions x = regions_of(m, &uses, a);
    bool *touched = NEWS(a, bool, x.len + 1);
    Edit e = edit_begin(m);
    for (uint32_t i = 0; i < x.len; i++) {
        const Region *r = &x.at[i];
        bool near = false;
        for (uint32_t k = 0; k < r->enter.len; k++)
            near |= touched[x.of[node_at(m, r->enter.at[k])->in[0]]];
        if (near)
            continue;
        uint32_t before = e.count;
        repair(&e, &x, r);
        for (uint32_t k = 0; e.count > before && k < r->leave.len; k++)
            touched[x.of[node_at(m, r->leave.at[k])->out[0]]] = true;
        touched[i + 1] |= e.count > before;
        touched[0] = false; // of values in no region
    }
    uint32_t made = edit_end(&e);
    arena_free(a);
    return made;
}

static void narrow_again(Edit *e, const Regions *x, const Region *r)
{
    if (is_useless(x, r))
        make_region(e, r, r->from);
}

uint32_t repair_useless_widening(Model *m, bool unsafe)
{
    (void)unsafe;
    return repair_regions(m, narrow_again);
}

// A Cast that reads what another Cast made reads what that one read.
static void read_before(Edit *e, const Region *r, DType to)
{
    for (uint32_t i = 0; i < r->leave.len; i++) {
        Node *n = node_at(e->m, r->leave.at[i]);
        const Value *v = value_at(e->m, n->in[0]);
        bool behind = v->def == DEF_NODE && is_cast(e->m, v->node);
        if (!behind || cast_to(e->m, r->leave.at[i]) != to)
            continue;
        n->in[0] = node_at(e->m, v->node)->in[0];
        if (to == r->from)
            edit_drop(e, r->leave.at[i], n->in[0]);
        e->count++;
    }
}

static void go_directly(Edit *e, const Regions *x, const Region *r, DType to)
{
    bool all;
    leaves_to(x->m, r, to, &all);
    if (all && !r->used && region_allows(x, r, to))
        make_region(e, r, to);
    else
        read_before(e, r, to);
}

static void keep_digits(Edit *e, const Regions *x, const Region *r)
{
    if (round_trip(x, r))
        go_directly(e, x, r, r->from);
}

uint32_t repair_round_trips(Model *m, bool unsafe)
{
    return unsafe ? repair_regions(m, keep_digits) : 0;
}

static void round_once(Edit *e, const Regions *x, const Region *r)
{
    NodeId last = rounded_twice(x, r);
    if (last)
        go_directly(e, x, r, cast_to(x->m, last));
}

uint32_t repair_double_rounding(Model *m, bool unsafe)
{
    return unsafe ? repair_regions(m, round_once) : 0;
}
