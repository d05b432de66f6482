// DT017: what conversions and transfers cost.

#include "passes/config.h"
#include "passes/devices.h"
#include "passes/lint/cost.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"

// A conversion that takes less of the run is not worth a word.
static const double SHARE = 0.01;
static const double ITERATIONS = 16; // of loops whose number is not known

static double loops_around(const Model *m, const Node *n)
{
    double times = 1;
    for (GraphId g = n->graph; g; g = graph_at(m, g)->parent) {
        NodeId owner = graph_at(m, g)->owner;
        if (owner && (node_is(node_at(m, owner), "Loop") || node_is(node_at(m, owner), "Scan")))
            times *= ITERATIONS;
    }
    return times;
}

double cost_elements(const Model *m, ValueId v, double unknown)
{
    const Value *value = value_at(m, v);
    double n = 1;
    for (int32_t i = 0; i < value->rank; i++) {
        int64_t k;
        n *= poly_is_const(value->dims[i], &k) ? (double)(k > 0 ? k : 0) : unknown;
    }
    return n;
}

bool cost_worth_telling(const Lint *l, const char *rule, NodeId node, double bytes)
{
    double all = bytes * loops_around(l->m, node_at(l->m, node));
    return all >= config_param(l->m->config, rule, "min-bytes") || lint_named(l, rule);
}

// Elements; dims that are not known count as 1 and set *assumed.
static double elements(const Model *m, ValueId v, bool *assumed)
{
    const Value *value = value_at(m, v);
    int64_t k;
    *assumed |= value->rank < 0;
    for (int32_t i = 0; i < value->rank; i++)
        *assumed |= !poly_is_const(value->dims[i], &k);
    return cost_elements(m, v, 1);
}

static double bytes_of_node(const Model *m, const Node *n, bool *assumed)
{
    double bytes = 0;
    for (uint32_t i = 0; i < n->nin + n->nout; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        if (v)
            bytes += elements(m, v, assumed) * dtype_info(lint_dtype(m, v))->bytes;
    }
    return bytes;
}

// Floating-point operations of products; of all else the bytes decide.
static double operations(const Model *m, const Node *n)
{
    bool assumed = false, conv = node_is(n, "Conv") || node_is(n, "ConvTranspose");
    bool product = node_is(n, "MatMul") || node_is(n, "Gemm");
    if ((!conv && !product) || n->nin < 2 || !n->in[0] || !n->in[1] || !n->nout || !n->out[0])
        return 0;
    const Value *w = value_at(m, n->in[1]);
    double y = elements(m, node_is(n, "ConvTranspose") ? n->in[0] : n->out[0], &assumed);
    int64_t k = 1;
    if (conv && w->rank > 0 && poly_is_const(w->dims[0], &k) && k > 0)
        return 2 * y * elements(m, n->in[1], &assumed) / (double)k;
    const Value *x = value_at(m, n->in[0]);
    if (product && x->rank > 0 && poly_is_const(x->dims[x->rank - 1], &k) && k > 0)
        return 2 * y * (double)k;
    return 2 * y;
}

// Estimated microseconds of one node.
static double time_of(const Model *m, NodeId id, const TargetSpeed *s, double *bytes, bool *assumed)
{
    const Node *n = node_at(m, id);
    bool control = node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan");
    bool crosses = is_transfer(m, id) && s->link > 0;
    *bytes = control ? 0 : bytes_of_node(m, n, assumed);
    double moved = *bytes / (crosses ? s->link : s->memory) * 1e-3;
    double computed = operations(m, n) / s->flops * 1e-3;
    return loops_around(m, n) * (moved > computed ? moved : computed);
}

static const Target *target_of(const Model *m)
{
    const Target *t = m->config ? m->config->target : NULL;
    return t ? t : target_find(STR("cpu-x86-64"));
}

// Is v read on the other side than it is made?
static bool crosses(const Model *m, const Uses *uses, const bool *in, ValueId v)
{
    const Value *at = value_at(m, v);
    bool inside = at->def == DEF_NODE && in[at->node];
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
        NodeId by = uses->uses[k].node;
        if ((by && in[by]) != inside)
            return true;
    }
    return false;
}

double cost_of_widening(Lint *l, const bool *in, DType from)
{
    const Model *m = l->m;
    const TargetSpeed *s = target_speed(target_of(m));
    double all = 0, more = 0, bytes, width = dtype_info(from)->bytes;
    bool assumed = false;
    for (NodeId id = 1; s && id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        if (n->dead)
            continue;
        double now = time_of(m, id, s, &bytes, &assumed), wider = 0;
        all += now;
        for (uint32_t i = 0; in[id] && i < n->nin + n->nout; i++) {
            ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
            wider += v && lint_dtype(m, v) == from ? elements(m, v, &assumed) * (4 - width) : 0;
        }
        double moved = loops_around(m, n) * (bytes + wider) / s->memory * 1e-3;
        more += in[id] && moved > now ? moved - now : 0;
    }
    for (ValueId v = 1; s && v < m->values.len; v++)
        if (lint_dtype(m, v) == from && crosses(m, lint_uses(l), in, v))
            more += elements(m, v, &assumed) * (4 + width) / s->memory * 1e-3;
    return all > 0 ? more / all : -1;
}

static void report_cost(Lint *l, NodeId id, const Target *t, double time, double all, double bytes,
                        bool assumed)
{
    const Node *n = node_at(l->m, id);
    bool transfer = is_transfer(l->m, id);
    Diag *d = diag(l->diags, "DT017", SEV_INFO, location_node(l->m, l->arena, id),
                   "%s takes about %.1f%% of a run on %s", transfer ? "a transfer" : "a conversion",
                   100 * time / all, t->name);
    d->value = lint_name(l, n->nout ? n->out[0] : 0);
    lint_about_node(l, d, id);
    if (transfer)
        diag_note(l->diags, d, "%.0f bytes, %s", bytes / 2, "between host and device");
    else
        diag_note(l->diags, d, "%s to %s: %.0f bytes read and written",
                  dtype_name(cast_from(l->m, id)), dtype_name(cast_to(l->m, id)), bytes);
    diag_help(l->diags, d,
              transfer ? "keep \"%.*s\" where it is read, or compute it there"
                       : "let what makes \"%.*s\", or what reads it, have the other's dtype",
              STR_ARG(lint_name(l, n->in[0])));
    diag_note(l->diags, d,
              "assumed: bytes take the target's bandwidth, products its arithmetic%s%s",
              assumed ? ", dims that are not known are 1" : "",
              loops_around(l->m, n) > 1 ? ", loops run 16 times" : "");
}

void lint_conversion_cost(Lint *l)
{
    const Target *t = target_of(l->m);
    const TargetSpeed *s = target_speed(t);
    double all = 0, bytes;
    bool assumed = false, ignored = false;
    for (NodeId id = 1; s && id < l->m->nodes.len; id++)
        if (!node_at(l->m, id)->dead)
            all += time_of(l->m, id, s, &bytes, &assumed);
    for (NodeId id = 1; s && all > 0 && id < l->m->nodes.len; id++) {
        if (node_at(l->m, id)->dead || (!is_cast(l->m, id) && !is_transfer(l->m, id)))
            continue;
        double time = time_of(l->m, id, s, &bytes, &ignored);
        if (time >= SHARE * all && lint_first_time(l, "DT017", id))
            report_cost(l, id, t, time, all, bytes, assumed);
    }
}
