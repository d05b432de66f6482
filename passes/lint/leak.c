// DT006: float64 that nobody asked for, in a float32 model.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/insert_casts.h"
#include "passes/lint/edit.h"
#include "passes/lint/faults.h"
#include "passes/lint/motion.h"
#include "passes/retype.h"

#include <string.h>

// Of the float weights, by bytes, so many have to be float32.
static const double SHARE = 0.95;
enum { GIVEN = INT32_MAX }; // the number of what is no leak

// The values that outputs of the model hang on.
typedef struct Live {
    const Model *m;
    bool *seen;
    ValueId *stack;
    uint32_t len;
} Live;

static void push(Live *x, ValueId v)
{
    if (!v || x->seen[v])
        return;
    x->seen[v] = true;
    x->stack[x->len++] = v;
}

static void push_outputs(Live *x, GraphId g)
{
    for (uint32_t i = 0; g && i < graph_at(x->m, g)->outputs.len; i++)
        push(x, graph_at(x->m, g)->outputs.at[i].value);
}

static bool *find_live(const Model *m, Arena *a)
{
    Live x = {.m = m, .seen = NEWS(a, bool, m->values.len)};
    x.stack = NEWS(a, ValueId, m->values.len);
    push_outputs(&x, m->main);
    while (x.len) {
        ValueId v = x.stack[--x.len];
        const Value *value = value_at(m, v);
        NodeId id = value->def == DEF_NODE ? value->node : graph_at(m, value->graph)->owner;
        const Node *n = id ? node_at(m, id) : NULL;
        for (uint32_t i = 0; n && i < n->nin; i++)
            push(&x, n->in[i]);
        for (uint32_t k = 0; n && k < n->nattrs; k++) {
            push_outputs(&x, n->attrs[k].g);
            for (uint32_t i = 0; i < n->attrs[k].ngraphs; i++)
                push_outputs(&x, n->attrs[k].graphs[i]);
        }
    }
    return x.seen;
}

// What a node computes in float64, or with it where its result is none; 0: it does not.
static ValueId computes(const Model *m, const Node *n)
{
    bool control = node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan");
    if (n->dead || !n->schema || control || node_is(n, "Cast") || node_is(n, "CastLike") ||
        motion_of(n) == MOTION_MOVES)
        return 0;
    ValueId found = 0;
    for (uint32_t i = n->nin; i-- > 0;)
        found = lint_dtype(m, n->in[i]) == DT_F64 ? n->in[i] : found;
    for (uint32_t o = n->nout; found && o-- > 0;)
        found = lint_dtype(m, n->out[o]) == DT_F64 ? n->out[o] : found;
    return found;
}

static bool is_float32_model(Lint *l)
{
    double all = 0;
    lint_weigh(l);
    for (int t = 1; t < DT_COUNT; t++)
        all += (double)l->weight_bytes[t];
    return all > 0 && (double)l->weight_bytes[DT_F32] >= SHARE * all;
}

typedef struct Leak {
    NodeId node; // the first that computes with it
    ValueId value, origin;
    uint32_t nodes;
} Leak;
typedef VEC(Leak) Leaks;

// Is float64 what the inputs give, and nothing else? That is the model's interface and no leak: it
// is narrowed where that takes the fewest Casts.
static bool is_given(Lint *l, ValueId v)
{
    Origin o = origin_find(lint_origins(l), v);
    origin_trace(lint_origins(l), v, &o);
    vec_push(l->arena, &o.others, o.value);
    for (uint32_t i = 0; i < o.others.len; i++) {
        const Value *source = value_at(l->m, o.others.at[i]);
        if (source->def != DEF_INPUT || source->graph != l->m->main)
            return false;
    }
    return true;
}

// Leaks by their origins. Those that end in an error are that error's.
static Leaks find_leaks(Lint *l)
{
    Leaks found = {0};
    if (!is_float32_model(l))
        return found;
    const Model *m = l->m;
    bool *live = NULL;
    uint32_t *number = NULL;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        ValueId v = computes(m, n);
        if (!v)
            continue;
        live = live ? live : find_live(m, l->arena);
        number = number ? number : NEWS(l->arena, uint32_t, m->values.len);
        bool reaches = false;
        for (uint32_t o = 0; o < n->nout; o++)
            reaches |= n->out[o] && live[n->out[o]];
        ValueId origin = reaches ? origin_find(lint_origins(l), v).value : 0;
        ValueId key = origin ? value_written(m, origin) : 0;
        if (!origin || lint_faults(l)->told[key])
            continue;
        if (!number[key] && is_given(l, v))
            number[key] = GIVEN;
        if (number[key] == GIVEN)
            continue;
        if (!number[key]) {
            vec_push(l->arena, &found, ((Leak){id, v, origin, 0}));
            number[key] = found.len;
        }
        found.at[number[key] - 1].nodes++;
    }
    return found;
}

void lint_double_leaks(Lint *l)
{
    Leaks leaks = find_leaks(l);
    for (uint32_t i = 0; i < leaks.len; i++) {
        const Leak *k = &leaks.at[i];
        Diag *d = diag(l->diags, "DT006", SEV_WARNING, location_node(l->m, l->arena, k->node),
                       "%u node%s of a float32 model compute%s in float64", k->nodes,
                       k->nodes == 1 ? "" : "s", k->nodes == 1 ? "s" : "");
        d->value = lint_name(l, k->value);
        lint_about_node(l, d, k->node);
        Origin o = origin_find(lint_origins(l), k->value);
        origin_trace(lint_origins(l), k->value, &o);
        lint_note_begin(l, d, DT_F64, o.value);
        lint_note_path(l, d, &o, k->node);
        lint_note_side(l, d, DT_F32);
        diag_note(l->diags, d,
                  "an element takes 8 bytes instead of 4, and GPUs compute float64 at a "
                  "fraction of the speed");
        diag_fix(l->diags, d, false,
                 "make %.*s float32, and what follows from it: results change by "
                 "rounding",
                 STR_ARG(lint_source_words(l, o.value)));
        diag_help(l->diags, d, "see `cameo explain DT006`");
    }
}

// ---- repair -------------------------------------------------------------------------------------

static void narrow_source(Model *m, Builder *a, const Uses *uses, ValueId v)
{
    const Value *value = value_at(m, v);
    Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    if (origin_payload(m, v) || (n && node_is(n, "ConstantOfShape"))) {
        constant_retype(m, v, DT_F32);
    } else if (n && node_is(n, "Cast")) {
        node_set_int(m, value->node, "to", DT_F32);
    } else if (n && node_has_attr(n, "dtype")) {
        node_set_int(m, value->node, "dtype", DT_F32);
    } else {
        uint32_t first = uses->first[v], count = uses->first[v + 1] - first, kept = 0;
        Use *inner = NEWS(m->arena, Use, count + 1);
        for (uint32_t i = 0; i < count; i++)
            if (uses->uses[first + i].node)
                inner[kept++] = uses->uses[first + i];
        if (kept)
            node_set_int(m, adaptor_insert(a, v, "Cast", "f32", inner, kept), "to", DT_F32);
    }
}

// Casts from float64 that have nothing to do any more.
static void drop_idle(Model *m, const NodeId *casts, uint32_t n)
{
    Edit e = edit_begin(m);
    for (uint32_t i = 0; i < n; i++)
        if (!node_at(m, casts[i])->dead && is_cast(m, casts[i]) &&
            cast_from(m, casts[i]) == cast_to(m, casts[i]))
            edit_drop(&e, casts[i], node_at(m, casts[i])->in[0]);
    edit_end(&e);
}

uint32_t repair_double_leaks(Model *m, bool unsafe)
{
    Arena *scratch = arena_new();
    Diags none;
    diags_init(&none, scratch, STR_NONE);
    Lint l = {.m = m, .diags = &none, .arena = scratch};
    Leaks leaks = unsafe ? find_leaks(&l) : (Leaks){0};
    VEC(NodeId) casts = {0};
    VEC(ValueId) sources = {0};
    bool *taken = leaks.len ? NEWS(scratch, bool, m->values.len) : NULL;
    for (NodeId id = 1; leaks.len && id < m->nodes.len; id++)
        if (!node_at(m, id)->dead && is_cast(m, id) && cast_from(m, id) == DT_F64)
            vec_push(scratch, &casts, id);
    for (uint32_t i = 0; i < leaks.len; i++) {
        Origin o = origin_find(lint_origins(&l), leaks.at[i].value);
        origin_trace(lint_origins(&l), leaks.at[i].value, &o);
        vec_push(scratch, &o.others, o.value);
        for (uint32_t k = 0; k < o.others.len; k++)
            if (!taken[o.others.at[k]]) {
                const Value *v = value_at(m, o.others.at[k]);
                taken[o.others.at[k]] = true;
                vec_push(scratch, &sources, o.others.at[k]);
                if (v->def == DEF_NODE && is_cast(m, v->node))
                    vec_push(scratch, &casts, v->node);
            }
    }
    if (leaks.len) {
        Builder a = builder_of(m, scratch);
        const Uses *uses = lint_uses(&l);
        for (uint32_t i = 0; i < sources.len; i++)
            narrow_source(m, &a, uses, sources.at[i]);
        infer_model(m, NULL);
        drop_idle(m, casts.at, casts.len);
        Repair rest = {.unsafe = true};
        insert_casts(m, &rest);
    }
    arena_free(scratch);
    return leaks.len;
}
