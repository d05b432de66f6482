// `compile --report json`: what was compiled, how, and what came of it, as one document on stdout.

#include "tools/report.h"
#include "base/json.h"
#include "codegen/cpu/winograd.h"
#include "ir/kernel.h"

static void field(Json *j, const char *key, Str value)
{
    json_key(j, key);
    json_str(j, value);
}

static void number(Json *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_int(j, value);
}

static void flag(Json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

typedef struct Counts {
    uint32_t kernels, products, nodes;
} Counts;

static void count_steps(const Step *s, Counts *c)
{
    for (; s; s = s->next) {
        c->kernels += s->kernel != NULL;
        c->products += s->kernel && s->kernel->override;
        c->nodes += s->kernel ? s->kernel->fused.len : 0;
        count_steps(s->body, c);
        count_steps(s->other, c);
    }
}

static void put_options(Json *j, const CompileOptions *o)
{
    static const char *const kinds[] = {"exe", "shared", "static", "obj", "c", "loaded"};
    static const char *const gemms[] = {"auto", "packed", "openblas", "loops"};
    field(j, "emit", str_of(kinds[o->kind]));
    field(j, "device", o->device == ON_CUDA ? STR("cuda") : STR("cpu"));
    field(j, "cpu", o->cpu ? str_of(o->cpu) : STR("native"));
    field(j, "gemm", (size_t)o->gemm < 4 ? str_of(gemms[o->gemm]) : STR("cublaslt"));
    field(j, "weights", o->weights_file ? STR("file") : STR("embed"));
    flag(j, "overrides", !o->no_override);
    flag(j, "fuse", !o->no_fuse);
    flag(j, "strict_fp", o->strict_fp);
}

// Each convolution: the kernel, its nodes, the form and what it was chosen by.
static void put_convolutions(Json *j, const Model *m, const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if (o && o->conv && !o->conv->depthwise) {
            int64_t channels = 1;
            poly_is_const(o->conv->channels, &channels);
            json_object(j);
            number(j, "kernel", s->kernel->id);
            field(j, "output", buffer_at(m->kernels, o->conv->store->buffer)->name);
            field(j, "form", str_of(winograd_form(o->conv->tile)));
            number(j, "tile", o->conv->tile);
            if (o->conv->cost[0] > 0) {
                json_key(j, "cycles");
                json_object(j);
                for (int i = 0; i < 3; i++)
                    number(j, winograd_form(2 * i), (int64_t)o->conv->cost[i]);
                json_end_object(j);
            }
            json_key(j, "error_rms");
            json_num(j, winograd_error(o->conv->tile, channels));
            field(j, "layout", o->conv->pixels ? STR("pixels") : STR("planes"));
            json_end_object(j);
        }
        put_convolutions(j, m, s->body);
        put_convolutions(j, m, s->other);
    }
}

static void put_result(Json *j, const Model *m, const CompileReport *r)
{
    Counts c = {0};
    if (m->kernels)
        count_steps(m->kernels->steps, &c);
    number(j, "kernels", c.kernels);
    number(j, "products", c.products);
    number(j, "nodes", c.nodes);
    json_key(j, "convolutions");
    json_array(j);
    if (m->kernels)
        put_convolutions(j, m, m->kernels->steps);
    json_end_array(j);
    number(j, "weights_bytes", r->weights_size);
    json_key(j, "arena");
    json_object(j);
    flag(j, "fixed", r->fixed);
    if (r->fixed) {
        number(j, "peak_bytes", r->peak);
        number(j, "bound_bytes", r->bound);
    }
    json_end_object(j);
    json_key(j, "repair");
    json_object(j);
    number(j, "retyped", r->retyped);
    number(j, "casts", r->casts);
    number(j, "transfers", r->transfers);
    json_end_object(j);
}

// What each stage took. Compilers run side by side: theirs are more than they take together.
static void put_stages(Json *j, const Stages *s)
{
    json_key(j, "stages");
    json_array(j);
    for (uint32_t i = 0; i < s->len; i++) {
        json_object(j);
        field(j, "name", str_of(s->at[i].name));
        json_key(j, "seconds");
        json_num(j, s->at[i].seconds);
        json_end_object(j);
    }
    json_end_array(j);
}

void report_print(const Model *m, const CompileOptions *o, const CompileReport *r,
                  const Diags *diags, int status)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    field(&j, "schema", STR("cameo.compile/1"));
    field(&j, "model", diags->file);
    field(&j, "out", str_of(o->out));
    number(&j, "status", status);
    put_options(&j, o);
    if (m)
        put_result(&j, m, r);
    put_stages(&j, &r->stages);
    if (m && r->error.len)
        field(&j, "error", r->error);
    json_key(&j, "findings");
    json_array(&j);
    for (uint32_t i = 0; i < diags->all.len; i++)
        json_finding(&j, diags->all.at[i]);
    json_end_array(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}
