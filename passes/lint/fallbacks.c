// DV005: nodes that the target has no kernel for, and the dtype that it has one for.

#include "ir/infer.h"
#include "passes/config.h"
#include "passes/devices.h"
#include "passes/lint/island.h"
#include "passes/lint/numbers.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <string.h>

typedef struct Fallback {
    NodeId first;
    DType lacks;
    uint32_t count, mends; // nodes; of them, those that a repair runs in another dtype
    double bytes;          // to the host and back
} Fallback;

static const Target *target_of(const Model *m)
{
    return m->config ? m->config->target : NULL;
}

static bool is_host(const Target *t)
{
    return strcmp(t->device, "cpu") == 0;
}

// Does nothing of the target run the node? A device's falls back to the host. A host's has no
// other: there the table has to list the operator, since it does not list functions, and the target
// must not put Casts around float16 by itself (PF001).
static bool lacks_kernel(Model *m, const Target *t, NodeId id, DType *lacks)
{
    const Node *n = node_at(m, id);
    *lacks = DT_NONE;
    if (n->dead ||
        (!is_host(t) && (n->why_device.kind != WHY_TARGET || device_of_node(m, id) != DEVICE_HOST)))
        return false;
    if (target_has_kernel(t, m, id, lacks))
        return false;
    return !is_host(t) || (is_standard_domain(n->domain) && target_types(t, n->op) &&
                           !(*lacks == DT_F16 && target_casts_around(t)));
}

static double price_of_fallback(Lint *l, NodeId id)
{
    const Model *m = l->m;
    const Node *n = node_at(m, id);
    const Uses *uses = lint_uses(l);
    double bytes = 0;
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] && device_of_value(l->m, n->in[i]) > DEVICE_HOST)
            bytes += lint_bytes(m, n->in[i]);
    for (uint32_t o = 0; o < n->nout; o++) {
        bool back = false;
        for (uint32_t u = n->out[o] ? uses->first[n->out[o]] : 0;
             n->out[o] && u < uses->first[n->out[o] + 1]; u++)
            back |= uses->uses[u].node && device_run(l->m, uses->uses[u].node) > DEVICE_HOST;
        bytes += back ? lint_bytes(m, n->out[o]) : 0;
    }
    return bytes;
}

// ---- another dtype that the target has kernels for

// float32 for what has fewer digits; int32 for int64 whose every value is proved to fit.
static DType substitute(DType lacks)
{
    return lacks == DT_BF16 || lacks == DT_F16 ? DT_F32 : lacks == DT_I64 ? DT_I32 : DT_NONE;
}

static bool fits(NumberFacts *x, ValueId v, DType from, DType to)
{
    double lo, hi;
    if (numbers_dtype(x, v) != from || dtype_is_float(to))
        return true;
    range_of_dtype(to, &lo, &hi);
    if (value_at(x->m, v)->constant) {
        const ConstantStats *s = range_stats(x->ranges, v);
        return s->read && s->lo >= lo && s->hi <= hi;
    }
    Range r = range_of(x->proofs, v);
    return r.known && range_within(&r, lo, hi) && r.lo_by == RANGE_PROVED &&
           r.hi_by == RANGE_PROVED;
}

// Casts to and from the dtype belong to an island: they get another target, or another operand.
static bool is_edge(const NumberFacts *x, const Node *n, DType from)
{
    return node_is(n, "Cast") && n->nin == 1 && n->out[0] &&
           (numbers_dtype(x, n->in[0]) == from) != (numbers_dtype(x, n->out[0]) == from);
}

static bool may_run(NumberFacts *x, const Target *t, NodeId id, DType from, DType to)
{
    const Node *n = node_at(x->m, id);
    if (n->dead || !is_standard_domain(n->domain) || !n->nin)
        return false;
    for (uint32_t i = 0; i < n->nin + n->nout; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        if (v && !fits(x, v, from, to))
            return false;
    }
    if (is_edge(x, n, from))
        return target_types(t, STR("Cast")) >> to & 1;
    return !node_is(n, "Cast") && target_types(t, n->op) >> to & 1 &&
           island_allows(x->m, id, from, to);
}

// The nodes of the island that runs in `to`: those without a kernel, and what lies between them and
// the Casts at its edge. NULL: there is no node that it would help.
static bool *island_for(NumberFacts *x, const Target *t, DType from, Arena *a)
{
    Model *m = x->m;
    DType to = substitute(from), lacks;
    bool *in = NEWS(a, bool, m->nodes.len), any = false, grew = true;
    for (NodeId id = 1; to != DT_NONE && id < m->nodes.len; id++) {
        in[id] = lacks_kernel(m, t, id, &lacks) && lacks == from && may_run(x, t, id, from, to);
        any |= in[id];
    }
    for (int round = 0; grew && round < 64; round++) {
        grew = false;
        for (ValueId v = 1; any && v < x->nvalues; v++) {
            const Value *value = value_at(m, v);
            if (numbers_dtype(x, v) != from || value->def != DEF_NODE)
                continue;
            bool touched = in[value->node];
            for (uint32_t k = x->uses.first[v]; k < x->uses.first[v + 1]; k++)
                touched |= x->uses.uses[k].node && in[x->uses.uses[k].node];
            if (touched && !in[value->node] && may_run(x, t, value->node, from, to))
                grew = in[value->node] = true;
            for (uint32_t k = x->uses.first[v]; touched && k < x->uses.first[v + 1]; k++) {
                NodeId user = x->uses.uses[k].node;
                if (user && !in[user] && may_run(x, t, user, from, to))
                    grew = in[user] = true;
            }
        }
    }
    return any ? in : NULL;
}

// ---- what is told -------------------------------------------------------------------------------

static void offer(Lint *l, Diag *d, const Target *t, const Fallback *f)
{
    NumberFacts *x = lint_numbers(l);
    DType to = substitute(f->lacks);
    if (to == DT_NONE || !(target_types(t, node_at(l->m, f->first)->op) >> to & 1))
        return;
    if (!f->mends) {
        if (f->lacks == DT_I64)
            diag_note(l->diags, d,
                      "not every value of it is proved to fit int32: bounds of inputs can "
                      "be said in cameo.yaml (ranges)");
        return;
    }
    bool *in = island_for(x, t, f->lacks, l->arena);
    uint32_t casts = in ? island_casts(l->m, lint_uses(l), in, f->lacks) : 0;
    if (f->lacks == DT_I64)
        diag_note(l->diags, d, "every value is proved to fit int32");
    diag_fix(l->diags, d, f->lacks == DT_I64,
             "run %s in %s, with all that lies between, as one island: %u Cast%s at its edges",
             f->count == 1          ? "it"
             : f->mends == f->count ? "them"
                                    : str_printf(l->arena, "%u of them", f->mends).at,
             dtype_name(to), casts, casts == 1 ? "" : "s")
        ->casts = casts;
}

static void report(Lint *l, const Target *t, const Fallback *f)
{
    Model *m = l->m;
    const char *of = f->lacks ? dtype_name(f->lacks) : "any dtype";
    Str op = str_escaped(l->arena, node_at(m, f->first)->op);
    Str where = location_node(m, l->arena, f->first);
    Diag *d = is_host(t) ? diag(l->diags, "DV005", SEV_WARNING, where,
                                "%.*s of %s does not run: target %s has no kernel for it",
                                STR_ARG(op), of, t->name)
                         : diag(l->diags, "DV005", SEV_WARNING, where,
                                "%.*s of %s runs on cpu: target %s has no kernel for it",
                                STR_ARG(op), of, t->name);
    lint_about_node(l, d, f->first);
    d->origin_kind = STR("target");
    d->origin_name = str_of(t->name);
    if (is_host(t))
        diag_note(l->diags, d, "%u node%s of it, and nothing that they could fall back to",
                  f->count, f->count == 1 ? "" : "s");
    else
        diag_note(l->diags, d, "%u node%s of it; %.*s go to cpu and back in a run", f->count,
                  f->count == 1 ? "" : "s", STR_ARG(lint_shown_bytes(l, f->bytes)));
    TypeSet types = target_types(t, node_at(m, f->first)->op);
    Buf b = {0};
    for (DType k = 1; k < DT_COUNT && f->lacks; k++)
        if (types >> k & 1)
            buf_printf(&b, "%s%s", b.len ? ", " : "", dtype_name(k));
    if (b.len)
        diag_note(l->diags, d, "it has kernels of %s", b.at);
    buf_free(&b);
    offer(l, d, t, f);
    if (d->fixes.len)
        return;
    if (f->lacks && types)
        diag_help(l->diags, d, "compute it in a dtype that has a kernel, if the values allow it");
    else
        diag_help(l->diags, d,
                  is_host(t) ? "write it with operators that the target has, or take another target"
                             : "write it with operators that the target has, or leave it to the "
                               "host and pay for that");
}

void lint_fallbacks(Lint *l)
{
    Model *m = l->m;
    const Target *t = target_of(m);
    Map seen = {.arena = l->arena};
    VEC(Fallback) all = {0};
    for (NodeId id = 1; t && id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        DType lacks;
        bool added;
        if (!lacks_kernel(m, t, id, &lacks))
            continue;
        uint32_t *at = map_put(
            &seen,
            str_printf(l->arena, "%d %.*s %.*s", (int)lacks, STR_ARG(n->domain), STR_ARG(n->op)),
            &added);
        if (added) {
            *at = all.len;
            vec_push(l->arena, &all, ((Fallback){.first = id, .lacks = lacks}));
        }
        Fallback *f = &all.at[*at];
        DType to = substitute(lacks);
        f->count++;
        f->mends += to != DT_NONE && may_run(lint_numbers(l), t, id, lacks, to);
        f->bytes += is_host(t) ? 0 : price_of_fallback(l, id);
    }
    for (uint32_t i = 0; i < all.len; i++)
        report(l, t, &all.at[i]);
}

// ---- the repair ---------------------------------------------------------------------------------

// Casts of constants that the island asked for: the numbers are stored as they are needed.
static void store_constants(Model *m, NodeId from)
{
    for (NodeId id = from; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        TensorData *d = !n->dead && node_is(n, "Cast") ? constant_data(m, n->in[0]) : NULL;
        TensorData *as = d ? tensor_cast(m, d, DT_I32) : NULL;
        if (!as || d->dtype != DT_I64 || node_dtype(n, "to", DT_NONE) != DT_I32)
            continue;
        n->op = STR("Constant");
        n->nin = 0;
        n->nattrs = 1;
        n->attrs = NEW(m->arena, Attr);
        n->attrs[0] = (Attr){.name = STR("value"),
                             .type = ATTR_TENSOR,
                             .has = ATTR_HAS_NAME | ATTR_HAS_TYPE,
                             .t = as};
    }
}

static uint32_t mend(Model *m, DType from)
{
    Arena *a = arena_new();
    NumberFacts *x = numbers_open(m, a);
    bool *in = island_for(x, target_of(m), from, a);
    NodeId before = m->nodes.len;
    for (NodeId id = 1; in && id < before; id++)
        if (in[id] && node_is(node_at(m, id), "Cast") &&
            node_dtype(node_at(m, id), "to", DT_NONE) == from)
            node_set_int(m, id, "to", substitute(from));
    if (in) {
        island_run(m, in, from, substitute(from));
        if (from == DT_I64)
            store_constants(m, before);
        infer_model(m, NULL);
    }
    arena_free(a);
    return in != NULL;
}

uint32_t repair_fallbacks(Model *m, bool unsafe)
{
    if (!target_of(m))
        return 0;
    uint32_t made = mend(m, DT_I64);
    if (unsafe)
        made += mend(m, DT_BF16) + mend(m, DT_F16);
    return made;
}
