// MP007, MP008: what normalizations and attention compute in.

#include "ir/infer.h"
#include "passes/config.h"
#include "passes/lint/island.h"
#include "passes/lint/lint.h"
#include "passes/lint/story.h"

#include <math.h>

// ---- MP008 --------------------------------------------------------------------------------------

// The dtype that a normalization says it computes its statistics in, where that is less than
// float32; DT_NONE otherwise.
static DType low_stash(const Node *n)
{
    bool norm = node_is(n, "LayerNormalization") || node_is(n, "RMSNormalization") ||
                node_is(n, "GroupNormalization");
    if (n->dead || !norm || !node_has_attr(n, "stash_type"))
        return DT_NONE;
    DType t = node_dtype(n, "stash_type", DT_NONE);
    return dtype_is_float(t) && dtype_info(t)->bits < 32 ? t : DT_NONE;
}

// How the target is told to sum the node's squares in float32, which it does not; NULL: it does.
static const char *low_on_target(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    const Target *t = m->config ? m->config->target : NULL;
    bool low = t && !n->dead && n->nin && n->in[0] && lint_dtype(m, n->in[0]) == DT_F16;
    return low ? target_low_sums(t, n) : NULL;
}

static bool *only(const Model *m, NodeId id, Arena *a)
{
    bool *in = NEWS(a, bool, m->nodes.len);
    in[id] = true;
    return in;
}

static void lint_low_sums(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const char *remedy = low_on_target(l->m, id);
        if (!remedy || !lint_first_time(l, "MP008", id))
            continue;
        const Node *n = node_at(l->m, id);
        const Target *t = l->m->config->target;
        Diag *d = diag(l->diags, "MP008", SEV_WARNING, location_node(l->m, l->arena, id),
                       "%.*s sums squares in float16 on %s", STR_ARG(str_escaped(l->arena, n->op)),
                       t->name);
        d->value = lint_name(l, n->nout ? n->out[0] : 0);
        d->origin_kind = STR("target");
        d->origin_name = str_of(t->name);
        lint_about_node(l, d, id);
        const Value *v = value_at(l->m, n->in[0]);
        int64_t size;
        if (v->rank > 0 && poly_is_const(v->dims[v->rank - 1], &size) && size > 0)
            diag_note(
                l->diags, d,
                "where all %lld elements of a row are %.0f, or one is %.0f, the sum is infinite "
                "and every output 0, without NaN or warning (proved)",
                (long long)size, sqrt(65504), sqrt(65504 * (double)size));
        if (island_allows(l->m, id, DT_F16, DT_F32))
            diag_fix(l->diags, d, false, "run this node in float32: +%u casts",
                     island_casts(l->m, lint_uses(l), only(l->m, id, l->arena), DT_F16));
        diag_help(l->diags, d, "or %s; see `cameo explain MP008`", remedy);
    }
}

static uint32_t mend_low_sums(Model *m)
{
    uint32_t made = 0, nodes = m->nodes.len;
    for (NodeId id = 1; id < nodes; id++) {
        if (!low_on_target(m, id) || !island_allows(m, id, DT_F16, DT_F32))
            continue;
        Arena *a = arena_new();
        made += island_run(m, only(m, id, a), DT_F16, DT_F32) > 0;
        arena_free(a);
        infer_model(m, NULL);
    }
    return made;
}

void lint_norm_stash(Lint *l)
{
    lint_low_sums(l);
    const NodeIds of =
        LINT_NODES(l, "GroupNormalization", "LayerNormalization", "RMSNormalization");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        const Node *n = node_at(l->m, id);
        DType t = low_stash(n);
        if (t == DT_NONE || !lint_first_time(l, "MP008", id))
            continue;
        Diag *d = diag(l->diags, "MP008", SEV_WARNING, location_node(l->m, l->arena, id),
                       "%.*s computes mean and variance in %s", STR_ARG(n->op), dtype_name(t));
        d->value = lint_name(l, n->nout ? n->out[0] : 0);
        d->origin_kind = STR("attribute");
        d->origin_name = STR("stash_type");
        lint_about_node(l, d, id);
        if (t == DT_F16)
            diag_note(l->diags, d,
                      "proved: squares of what is above 255.9 are infinite in float16, and "
                      "5000 ones sum to 2048");
        else
            diag_note(l->diags, d, "proved: bfloat16 has 8 binary digits: 257 ones sum to 256");
        diag_fix(l->diags, d, false, "set stash_type to float32 (1): 0 casts added");
        diag_help(l->diags, d, "see `cameo explain MP008`");
    }
}

uint32_t repair_norm_stash(Model *m, bool unsafe)
{
    uint32_t made = 0;
    for (NodeId id = 1; unsafe && id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool statistics = n->nout > 1 && (n->out[1] || (n->nout > 2 && n->out[2]));
        if (low_stash(n) == DT_NONE || statistics) // what reads them has this dtype
            continue;
        node_set_int(m, id, "stash_type", DT_F32);
        made++;
    }
    return made + (unsafe ? mend_low_sums(m) : 0);
}

// ---- MP007 --------------------------------------------------------------------------------------

static bool is_low_attention(const Model *m, const Node *n)
{
    if (n->dead || !node_is(n, "Attention") || !n->nin || node_has_attr(n, "softmax_precision"))
        return false;
    return lint_dtype(m, n->in[0]) == DT_F16 || lint_dtype(m, n->in[0]) == DT_BF16;
}

void lint_attention_softmax(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Attention");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        const Node *n = node_at(l->m, id);
        if (!is_low_attention(l->m, n) || !lint_first_time(l, "MP007", id))
            continue;
        DType t = lint_dtype(l->m, n->in[0]);
        Diag *d = diag(l->diags, "MP007", SEV_WARNING, location_node(l->m, l->arena, id),
                       "Attention computes its softmax in %s", dtype_name(t));
        d->value = lint_name(l, n->nout ? n->out[0] : 0);
        d->origin_kind = STR("attribute");
        d->origin_name = STR("softmax_precision");
        lint_about_node(l, d, id);
        diag_note(l->diags, d,
                  "softmax_precision is not set, so the precision is that of the input");
        const Value *k = n->nin > 1 && n->in[1] ? value_at(l->m, n->in[1]) : NULL;
        int64_t length;
        if (k && k->rank > 2 && poly_is_const(k->dims[k->rank - 2], &length))
            diag_note(l->diags, d, "each row sums %lld exponentials (proved)", (long long)length);
        diag_fix(l->diags, d, false, "set softmax_precision to float32 (1): 0 casts in the graph");
        diag_help(l->diags, d, "see `cameo explain MP007`");
    }
}

uint32_t repair_attention_softmax(Model *m, bool unsafe)
{
    uint32_t made = 0;
    for (NodeId id = 1; unsafe && id < m->nodes.len; id++) {
        if (!is_low_attention(m, node_at(m, id)))
            continue;
        node_set_int(m, id, "softmax_precision", DT_F32);
        made++;
    }
    return made;
}
