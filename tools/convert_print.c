// The report of cameo convert.

#include "base/json.h"
#include "ir/registry.h"
#include "tools/convert.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

// Reasons in the order in which they first occur, each with its nodes.
typedef struct Reason {
    Str why;
    uint32_t count;
    Str first; // the location of the first node
    Str of;    // the value that it is said of there; empty: the node itself
} Reason;
typedef VEC(Reason) Reasons;

// Another node's value that it is said of; empty: none, or the node's own result.
static Str value_of(const Model *m, const ConvertKept *k)
{
    const Value *v = k->of ? value_at(m, k->of) : NULL;
    return !v || (v->def == DEF_NODE && v->node == k->node) ? STR_NONE : v->name;
}

static Reasons reasons_of(const ConvertRun *r, const Model *m)
{
    Reasons all = {0};
    Map at = {.arena = r->arena};
    for (uint32_t i = 0; i < r->report.kept.len; i++) {
        const ConvertKept *k = &r->report.kept.at[i];
        bool added = false;
        uint32_t *place = map_put(&at, k->why, &added);
        if (added) {
            *place = all.len;
            vec_push(r->arena, &all,
                     ((Reason){k->why, 0, location_node(m, r->arena, k->node), value_of(m, k)}));
        }
        all.at[*place].count++;
    }
    return all;
}

// What an error on other data than these is reckoned as.
static void print_bound(const ConvertError *e, double margin, Buf *out)
{
    buf_printf(out, "%.3g on others (", e->bound);
    if (e->times == 0 && e->mixed.len)
        buf_printf(out, "1 of 1000, by %u mixtures of the sets)", e->mixed.len);
    else if (e->times == 0)
        buf_printf(out, "1 of 1000)");
    else if (margin > 0 || e->times < 3)
        buf_printf(out, "%.3g times the worst%s)", e->times,
                   margin > 0 ? "" : ", as even as its parts are");
    else
        buf_printf(out, "three times the worst)");
}

// What is written in float64 is the nearer to the truth: the difference is the model's own error.
static bool errors_are_of_model(const ConvertRun *r)
{
    return r->options.to == DT_F64;
}

// Errors on the data of --calib (the bound is what a budget is held to) or of --check (each data
// set is).
static void print_errors(const ConvertRun *r, const ConvertError *errors, uint32_t n, bool held,
                         Buf *out)
{
    const uint32_t sets = held ? r->held_sets : r->sets;
    for (uint32_t i = 0; i < n; i++) {
        const ConvertError *e = &errors[i];
        buf_printf(out, "  error of %s", errors_are_of_model(r) ? "the model's own " : "");
        buf_quoted(out, str_of(e->output));
        buf_printf(out, "%s: %.3g relative, %.3g at most (measured on %u %sset%s), ",
                   errors_are_of_model(r) ? ", beside what is written" : "", e->relative,
                   e->greatest, sets, held ? "held-out " : "", sets == 1 ? "" : "s");
        if (held)
            buf_printf(out, "%.3g on the worst", e->worst);
        else
            print_bound(e, r->margin, out);
        if (e->budget >= 0)
            buf_printf(out, ", budget %g: %s", e->budget,
                       (held ? e->worst : e->bound) <= e->budget ? "met" : "NOT met");
        buf_char(out, '\n');
        if (e->wild)
            buf_printf(out, "    mixtures of the sets: %u of %u give what is not finite\n", e->wild,
                       e->wild + e->mixed.len);
        if (e->lost)
            buf_printf(out,
                       "    left out: %" PRIu64 " element%s that the model itself gives as inf or "
                       "NaN, the first %" PRId64 " of data set %u\n",
                       e->lost, e->lost == 1 ? "" : "s", e->lost_at, e->lost_set + 1);
    }
}

typedef VEC(Str) Operators;

// Operators that ONNX Runtime's CPU provider has no kernel of in bfloat16, in order of occurrence,
// each once: where no other target is meant, it is what most files are loaded by. In float16 it
// casts by itself.
static Operators without_kernels(const ConvertRun *r, const Model *m)
{
    const Target *loader = target_find(STR("onnxruntime-cpu"));
    Operators all = {0};
    Map at = {.arena = r->arena};
    bool added = false;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        const ValueId x = n->nin ? n->in[0] : 0;
        const TypeSet types = x ? target_types(loader, n->op) : 0;
        if (n->dead || r->options.to != DT_BF16 || r->options.target || !types ||
            value_at(m, x)->dtype != DT_BF16 || types >> DT_BF16 & 1)
            continue;
        map_put(&at, n->op, &added);
        if (added)
            vec_push(r->arena, &all, n->op);
    }
    return all;
}

static void print_without_kernels(const ConvertRun *r, const Model *m, Buf *out)
{
    const Operators all = without_kernels(r, m);
    for (uint32_t i = 0; i < all.len; i++) {
        buf_printf(out, i ? ", " : "  onnxruntime-cpu does not load it: no bfloat16 kernels of ");
        buf_str(out, str_escaped(r->arena, all.at[i]));
    }
    if (all.len)
        buf_printf(out, " (--target onnxruntime-cpu keeps them in float32)\n");
}

static void print_text(const ConvertRun *r, const Model *m, Buf *out)
{
    const ConvertReport *x = &r->report;
    const char *to = dtype_name(r->options.to);
    buf_printf(out, "%s: %s, policy %s%s%s\n", r->out ? r->out : "-", r->precision, r->policy,
               r->options.target ? ", target " : "",
               r->options.target ? r->options.target->name : "");
    buf_printf(out, "  products in %s: %.1f%% of %.4g multiply-adds; nodes: %u of %u\n", to,
               share(x->low_products, x->products), x->products, x->low_nodes, x->nodes);
    buf_printf(out, "  casts: %u inserted, %u deleted; cost %lld, bound %lld (%s)\n", x->casts,
               x->dropped, (long long)x->total, (long long)x->bound,
               x->total == x->bound ? "proved least" : "not proved least");
    buf_printf(out, "  weights: %llu to %llu bytes; constants stored in %s: %u",
               (unsigned long long)x->weights_before, (unsigned long long)x->weights_after, to,
               x->constants);
    if (x->clamped)
        buf_printf(out, "; elements beyond its range made the greatest it holds: %u", x->clamped);
    buf_char(out, '\n');
    if (x->defaults)
        buf_printf(out, "  weights that are listed as inputs too, in %s there: %u\n", to,
                   x->defaults);
    if (r->options.to == DT_F16)
        buf_printf(out, "  ranges of values in float16: %u measured, %u assumed\n", x->measured,
                   x->assumed);
    if (r->predicted >= 0)
        buf_printf(out, "  predicted error of the outputs: %.3g relative (%s)\n", r->predicted,
                   r->noises.len ? "by sensitivities measured on the data"
                                 : "assumed: every rounding reaches the output as large as it is");
    print_errors(r, r->errors.at, r->errors.len, false, out);
    print_errors(r, r->held_errors.at, r->held_errors.len, true, out);
    print_without_kernels(r, m, out);
    Reasons reasons = reasons_of(r, m);
    for (uint32_t i = 0; i < reasons.len; i++) {
        const Reason *reason = &reasons.at[i];
        buf_printf(out, "  kept: %u node%s: %.*s (first: %.*s", reason->count,
                   reason->count == 1 ? "" : "s", STR_ARG(reason->why), STR_ARG(reason->first));
        if (reason->of.len) {
            buf_printf(out, ": ");
            buf_quoted(out, reason->of);
        }
        buf_printf(out, ")\n");
    }
}

static void json_field(Json *j, const char *key, double v)
{
    json_key(j, key);
    json_num(j, v);
}

static void json_count(Json *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_int(j, (int64_t)v);
}

static void json_errors(Json *j, const char *key, const ConvertError *errors, uint32_t n)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const ConvertError *e = &errors[i];
        json_object(j);
        json_key(j, "output");
        json_str(j, str_of(e->output));
        json_field(j, "relative", e->relative);
        json_field(j, "greatest", e->greatest);
        json_field(j, "worst", e->worst);
        json_field(j, "bound", e->bound);
        json_count(j, "mixtures", e->mixed.len);
        json_count(j, "mixtures_not_finite", e->wild);
        json_count(j, "not_finite", e->lost);
        json_key(j, "budget");
        if (e->budget >= 0)
            json_num(j, e->budget);
        else
            json_null(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_kept(Json *j, const ConvertRun *r, const Model *m)
{
    json_key(j, "kept");
    json_array(j);
    for (uint32_t i = 0; i < r->report.kept.len; i++) {
        const ConvertKept *k = &r->report.kept.at[i];
        json_object(j);
        json_key(j, "path");
        json_str(j, location_node(m, r->arena, k->node));
        json_key(j, "op");
        json_str(j, node_at(m, k->node)->op);
        json_key(j, "why");
        json_str(j, k->why);
        json_key(j, "value");
        Str of = value_of(m, k);
        if (of.len)
            json_str(j, of);
        else
            json_null(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_without_kernels(Json *j, const ConvertRun *r, const Model *m)
{
    const Operators all = without_kernels(r, m);
    json_key(j, "without_kernels");
    json_array(j);
    for (uint32_t i = 0; i < all.len; i++)
        json_str(j, all.at[i]);
    json_end_array(j);
}

static void print_json(const ConvertRun *r, const Model *m, Buf *out)
{
    const ConvertReport *x = &r->report;
    Json j = {.out = out};
    json_object(&j);
    json_key(&j, "schema");
    json_str(&j, STR("cameo.convert/1"));
    json_key(&j, "precision");
    json_str(&j, str_of(r->precision));
    json_key(&j, "policy");
    json_str(&j, str_of(r->policy));
    json_key(&j, "target");
    if (r->options.target)
        json_str(&j, str_of(r->options.target->name));
    else
        json_null(&j);
    json_field(&j, "products", x->products);
    json_field(&j, "low_products", x->low_products);
    json_count(&j, "nodes", x->nodes);
    json_count(&j, "low_nodes", x->low_nodes);
    json_count(&j, "casts", x->casts);
    json_count(&j, "casts_deleted", x->dropped);
    json_count(&j, "constants", x->constants);
    json_count(&j, "clamped", x->clamped);
    json_count(&j, "weights_before", x->weights_before);
    json_count(&j, "weights_after", x->weights_after);
    json_count(&j, "ranges_measured", x->measured);
    json_count(&j, "ranges_assumed", x->assumed);
    json_count(&j, "cost", (uint64_t)x->total);
    json_count(&j, "bound", (uint64_t)x->bound);
    json_count(&j, "sets", r->sets);
    json_count(&j, "tries", r->tries);
    json_key(&j, "predicted");
    if (r->predicted >= 0)
        json_num(&j, r->predicted);
    else
        json_null(&j);
    json_key(&j, "errors_of");
    json_str(&j, errors_are_of_model(r) ? STR("model") : STR("written"));
    json_errors(&j, "errors", r->errors.at, r->errors.len);
    json_errors(&j, "held_out", r->held_errors.at, r->held_errors.len);
    json_without_kernels(&j, r, m);
    json_kept(&j, r, m);
    json_end_object(&j);
    buf_char(out, '\n');
}

void convert_print(const ConvertRun *r, const Model *m, Buf *out)
{
    if (r->json)
        print_json(r, m, out);
    else
        print_text(r, m, out);
}
