// What two models say of themselves: versions, opsets, producer, functions, devices.

#include "tools/diff.h"

#include <string.h>

static Str number(Arena *a, int64_t v)
{
    return str_printf(a, "%lld", (long long)v);
}

static const OpsetImport *opset_in(const OpsetImport *at, uint32_t n, Str domain)
{
    for (uint32_t i = 0; i < n; i++) {
        bool standard = is_standard_domain(at[i].domain) && is_standard_domain(domain);
        if (standard || str_eq(at[i].domain, domain))
            return &at[i];
    }
    return NULL;
}

static Str opset_name(Arena *a, Str domain)
{
    return str_printf(
        a, "opset %.*s",
        STR_ARG(is_standard_domain(domain) ? STR("ai.onnx") : str_escaped(a, domain)));
}

static void compare_opsets(DiffReport *r, Difference *d, const OpsetImport *a, uint32_t na,
                           const OpsetImport *b, uint32_t nb)
{
    for (uint32_t i = 0; i < na; i++) {
        const OpsetImport *o = opset_in(b, nb, a[i].domain);
        diff_field(r, d, opset_name(r->arena, a[i].domain).at, number(r->arena, a[i].version),
                   o ? number(r->arena, o->version) : STR_NONE);
    }
    for (uint32_t i = 0; i < nb; i++)
        if (!opset_in(a, na, b[i].domain))
            diff_field(r, d, opset_name(r->arena, b[i].domain).at, STR_NONE,
                       number(r->arena, b[i].version));
}

static Str configurations_of(Arena *a, const Model *m)
{
    Buf b = {0};
    for (uint32_t i = 0; i < m->configurations.len; i++) {
        const DeviceConfiguration *c = &m->configurations.at[i];
        buf_printf(&b, "%s", i ? "; " : "");
        buf_escaped(&b, c->name);
        buf_printf(&b, " of %d", (int)c->num_devices);
        for (uint32_t k = 0; k < c->ndevices; k++) {
            buf_char(&b, k ? ',' : ' ');
            buf_escaped(&b, c->devices[k]);
        }
    }
    Str s = b.len ? str_copy(a, (Str){b.at, b.len}) : STR_NONE;
    buf_free(&b);
    return s;
}

static Str training_of(Arena *a, const Model *m)
{
    Buf b = {0};
    for (uint32_t i = 0; i < m->training.len; i++) {
        const TrainingInfo *t = &m->training.at[i];
        const Props *both[] = {&t->initialization_binding, &t->update_binding};
        buf_printf(&b, "%s%s%s", i ? "; " : "", t->initialization ? "initialization" : "",
                   t->algorithm ? " algorithm" : "");
        for (int k = 0; k < 2; k++)
            for (uint32_t q = 0; q < both[k]->len; q++) {
                buf_printf(&b, ", ");
                buf_escaped(&b, both[k]->at[q].key);
                buf_printf(&b, k ? " <- " : " = ");
                buf_escaped(&b, both[k]->at[q].value);
            }
    }
    Str s = b.len ? str_copy(a, (Str){b.at, b.len}) : STR_NONE;
    buf_free(&b);
    return s;
}

static void take(DiffReport *r, DiffKind kind, const Difference *from, Str path_a, Str path_b)
{
    Difference *d = from->fields.len ? diff_add(r, kind, DIFF_CHANGED, path_a, path_b) : NULL;
    if (d)
        memcpy(&d->fields, &from->fields, sizeof d->fields);
}

static Str optional(Arena *a, Str s)
{
    return s.at ? str_escaped(a, s) : STR_NONE;
}

// ---- functions ----------------------------------------------------------------------------------

static Str joined(Arena *a, const Str *at, uint32_t n)
{
    Buf b = {0};
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(&b, "%s", i ? ", " : "");
        buf_escaped(&b, at[i]);
    }
    Str s = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return s;
}

static Str defaults_of(const Model *m, Arena *a, const Function *f)
{
    Buf b = {0};
    for (uint32_t i = 0; i < f->ndefaults; i++) {
        buf_printf(&b, "%s", i ? ", " : "");
        buf_escaped(&b, f->defaults[i].name);
        buf_printf(&b, " = %.*s", STR_ARG(diff_attr_text(m, a, &f->defaults[i])));
    }
    Str s = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return s;
}

static void compare_function(DiffPair *p, DiffReport *r, const Function *x)
{
    GraphId other = p->a.graph[x->body];
    Str path_a = location_graph(p->a.m, r->arena, x->body);
    if (!other) {
        diff_add(r, DIFF_FUNCTION, DIFF_REMOVED, path_a, STR_NONE);
        return;
    }
    const Function *y = &p->b.m->functions.at[graph_at(p->b.m, other)->function - 1];
    Str path_b = location_graph(p->b.m, r->arena, other);
    Difference d = {0};
    diff_field(r, &d, "attributes", joined(r->arena, x->attributes, x->nattributes),
               joined(r->arena, y->attributes, y->nattributes));
    diff_field(r, &d, "defaults", defaults_of(p->a.m, r->arena, x),
               defaults_of(p->b.m, r->arena, y));
    compare_opsets(r, &d, x->opsets, x->nopsets, y->opsets, y->nopsets);
    take(r, DIFF_FUNCTION, &d, path_a, path_b);
    diff_compare_props(r, &x->metadata, &y->metadata, x->doc, y->doc, path_a, path_b);
}

// ---- the model ----------------------------------------------------------------------------------

void diff_compare_header(DiffPair *p, DiffReport *r)
{
    const Model *a = p->a.m, *b = p->b.m;
    Arena *arena = r->arena;
    Difference d = {0}, made = {0};
    diff_field(r, &d, "ir_version", number(arena, a->ir_version), number(arena, b->ir_version));
    compare_opsets(r, &d, a->opsets.at, a->opsets.len, b->opsets.at, b->opsets.len);
    diff_field(r, &d, "domain", optional(arena, a->domain), optional(arena, b->domain));
    diff_field(r, &d, "model_version", number(arena, a->model_version),
               number(arena, b->model_version));
    diff_field(r, &d, "device configurations", configurations_of(arena, a),
               configurations_of(arena, b));
    diff_field(r, &d, "training", number(arena, a->training.len), number(arena, b->training.len));
    diff_field(r, &d, "training graphs", training_of(arena, a), training_of(arena, b));
    if (!str_eq(a->unknown, b->unknown))
        diff_field(r, &d, "unknown fields", str_printf(arena, "%zu bytes", a->unknown.len),
                   str_printf(arena, "%zu bytes, others", b->unknown.len));
    take(r, DIFF_HEADER, &d, STR("model"), STR("model"));
    diff_field(r, &made, "producer", optional(arena, a->producer_name),
               optional(arena, b->producer_name));
    diff_field(r, &made, "producer_version", optional(arena, a->producer_version),
               optional(arena, b->producer_version));
    take(r, DIFF_METADATA, &made, STR("model"), STR("model"));
    diff_compare_props(r, &a->metadata, &b->metadata, a->doc, b->doc, STR("model"), STR("model"));
    for (uint32_t i = 0; i < a->functions.len; i++)
        compare_function(p, r, &a->functions.at[i]);
    for (uint32_t i = 0; i < b->functions.len; i++)
        if (!p->b.graph[b->functions.at[i].body])
            diff_add(r, DIFF_FUNCTION, DIFF_ADDED, STR_NONE,
                     location_graph(b, arena, b->functions.at[i].body));
}
