// One conversion: the model loaded, its facts found, converted, written and measured.

#include "frontend/load.h"
#include "ir/ops/gradient.h"
#include "passes/inline_functions.h"
#include "passes/pass.h"
#include "passes/restore_calls.h"
#include "passes/scale_loss.h"
#include "tools/convert.h"
#include "tools/pipeline.h"

#include <math.h>

// Is float16 what a loss is scaled for?
static bool scales_loss(const ConvertRun *r, const Model *m)
{
    return r->options.to == DT_F16 && model_has_gradient(m);
}

// A model that is inlined and inferred; NULL with *status set. `scaled`: losses of training are.
static Model *open_model(ConvertRun *r, const Config *config, Diags *diags, Inlined **inlined,
                         bool scaled, int *status)
{
    Model *m = tool_load(r->tool, r->arena, r->model, diags, status);
    PassContext c = {.diags = diags};
    uint32_t before = diags->all.len;
    if (!m)
        return NULL;
    m->config = config;
    uint32_t nopsets = m->opsets.len;
    bool calls = m->functions.len > 0;
    bool ok = pass_run_needed(pass_find(STR("sort_nodes")), m, &c);
    ok = ok && pass_run_needed(pass_find(STR("inline_functions")), m, &c);
    *inlined = ok && calls ? inlined_remember(m, r->arena, nopsets) : NULL;
    ok = ok && pass_run_needed(pass_find(STR("infer")), m, &c);
    if (ok && scaled && scales_loss(r, m)) { // what float16 would lose or overflow
        ok = r->loss_scale > 0 ? scale_loss(m, diags, r->loss_scale)
                               : pass_run_needed(pass_find(STR("scale_loss")), m, &c);
        c.facts &= ~(uint32_t)FACT_TYPED;
        ok = ok && pass_run_needed(pass_find(STR("infer")), m, &c);
    }
    if (ok)
        return m;
    if (diags->all.len > before)
        tool_print_diags(diags);
    *status = c.broken ? EXIT_BUG : EXIT_FINDINGS;
    load_close(m);
    return NULL;
}

static int write_model(ConvertRun *r, Model *m)
{
    Buf bytes = {0};
    uint32_t dropped;
    bool printed = form_print(r->tool, m, form_by_ending(r->out), false, &bytes, &dropped);
    int status = printed ? output_write(r->tool, r->arena, r->out, m, &bytes) : EXIT_BYTES;
    buf_free(&bytes);
    return status;
}

static void restore_calls(Model *m, Inlined *inlined)
{
    Repair r = {.unsafe = true};
    if (!inlined)
        return;
    inlined_mend_bodies(m, inlined, &r);
    inlined_restore(m, inlined);
    inlined_drop_casts(m, inlined, &r);
}

// Without sensitivities a rounding adds u^2 / 3 to the relative variance of every output; nodes
// that only move numbers round nothing.
static double noise_assumed(const ConvertRun *r, const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    if (r->options.to == DT_F64 || (n && convert_moves(n)))
        return 0;
    return ldexp(1.0 / 3, r->options.to == DT_F16 ? -22 : -16);
}

static void find_facts(ConvertRun *r, Model *m)
{
    ConvertSeen *seen = NEWS(r->arena, ConvertSeen, m->values.len);
    double *noise = NEWS(r->arena, double, m->values.len);
    m->measured = r->measured;
    for (ValueId v = 1; v < m->values.len; v++) {
        const Measured *x = measured_of(m, v);
        const uint32_t *at = map_get(&r->noise_ids, value_shown_name(m, v));
        seen[v].greatest =
            x && x->least <= x->greatest ? fmax(fabs(x->least), fabs(x->greatest)) : -1;
        seen[v].negative = x && x->greatest <= 1;
        seen[v].elements = x && r->measured->sets ? x->count / r->measured->sets : 0;
        noise[v] = r->noises.len == 0 ? noise_assumed(r, m, v) : at ? r->noises.at[*at] : 0;
    }
    m->measured = NULL;
    r->options.measured = r->measured ? seen : NULL;
    r->options.noise = noise;
    r->options.nfacts = m->values.len;
}

// The model, converted; NULL, or *status, where it cannot be. Where nothing becomes float16 a loss
// is not scaled either.
static Model *converted(ConvertRun *r, const Config *config, Inlined **inlined, bool scaled,
                        int *status)
{
    Diags diags;
    diags_init(&diags, r->arena, str_of(r->model));
    Model *m = open_model(r, config, &diags, inlined, scaled, status);
    if (!m)
        return NULL;
    uint32_t before = diags.all.len;
    find_facts(r, m);
    if (!convert_precision(m, &r->options, &diags, &r->report))
        *status = EXIT_FINDINGS;
    if (!*status && scaled && r->report.low_nodes == 0 && scales_loss(r, m)) {
        load_close(m);
        return converted(r, config, inlined, false, status);
    }
    if (diags.all.len > before)
        tool_print_diags(&diags);
    return m;
}

static void keep_left(ConvertRun *r, const Model *m)
{
    r->left.len = 0;
    r->nnodes = m->nodes.len;
    for (uint32_t i = 0; i < r->report.kept.len; i++) {
        const ConvertKept *k = &r->report.kept.at[i];
        if (k->by_price)
            vec_push(r->arena, &r->left, ((ConvertLeft){k->node, convert_products(m, k->node)}));
    }
}

int convert_predict(ConvertRun *r, const Config *config)
{
    Arena *const arena = r->arena;
    Inlined *inlined = NULL;
    int status = EXIT_CLEAN;
    r->arena = arena_new(); // a search asks many times
    r->options.predict = true;
    Model *m = converted(r, config, &inlined, true, &status);
    r->tries++;
    r->predicted = r->options.to == DT_F64 ? -1 : sqrt(r->report.noise);
    if (m)
        load_close(m);
    arena_free(r->arena);
    r->arena = arena;
    r->options.predict = false;
    r->options.measured = NULL;
    r->options.noise = NULL;
    r->options.nfacts = 0;
    return status;
}

int convert_once(ConvertRun *r, const Config *config, bool out, bool measured, Buf *report)
{
    int status = EXIT_CLEAN;
    Inlined *inlined = NULL;
    Model *m = converted(r, config, &inlined, true, &status);
    if (!m)
        return status;
    if (!status && out) {
        restore_calls(m, inlined);
        status = write_model(r, m);
    }
    r->tries++;
    r->predicted = r->options.to == DT_F64 ? -1 : sqrt(r->report.noise);
    if (!status && measured && r->calibration)
        status = convert_measure_errors(r, r->out);
    if (!status && measured && r->held)
        status = convert_measure_held(r);
    keep_left(r, m);
    report->len = 0;
    if (!status)
        convert_print(r, m, report);
    load_close(m);
    return status;
}
