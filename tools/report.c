// `compile --report json`: what was compiled, how, and what came of it, as one document on stdout.

#include "tools/report.h"
#include "base/json.h"
#include "codegen/cpu/pixel_winograd.h"
#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/strassen.h"
#include "codegen/cpu/winograd.h"
#include "codegen/count.h"
#include "codegen/moves.h"
#include "ir/kernel.h"

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
    json_put_str(j, "emit", str_of(kinds[o->kind]));
    json_put_str(j, "device", o->device == ON_CUDA ? STR("cuda") : STR("cpu"));
    json_put_str(j, "cpu", o->cpu ? str_of(o->cpu) : STR("native"));
    json_put_str(j, "gemm", (size_t)o->gemm < 4 ? str_of(gemms[o->gemm]) : STR("cublaslt"));
    json_put_str(j, "weights", o->weights_file ? STR("file") : STR("embed"));
    json_put_bool(j, "overrides", !o->no_override);
    json_put_bool(j, "fuse", !o->no_fuse);
    json_put_bool(j, "strict_fp", o->strict_fp);
}

static void put_cycles(Json *j, const Conv *c)
{
    json_key(j, "cycles");
    json_object(j);
    for (int i = 0; i < 3; i++)
        if (c->cost[i] > 0)
            json_put_int(j, winograd_form(c, 2 * i), (int64_t)c->cost[i]);
    if (c->cost[3] > 0)
        json_put_int(j, "terms", (int64_t)c->cost[3]);
    if (c->cost[4] > 0)
        json_put_int(j, "Strassen", (int64_t)c->cost[4]);
    json_end_object(j);
}

static double error_of(Polys *polys, const Conv *c, int64_t channels)
{
    int64_t depth;
    if (c->pixels && c->pixels->tiles)
        return PIXEL_WINOGRAD_ERROR;
    if (c->sevens)
        return poly_is_const(conv_depth(polys, c), &depth) ? strassen_error(depth) : 0;
    return c->split ? split_conv_error(c) : winograd_error(c, channels);
}

// Each convolution: the kernel, its nodes, the form and what it was chosen by.
static void put_convolutions(Json *j, const Model *m, const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if (o && o->conv && !o->conv->depthwise) {
            const bool split = o->conv->split != SPLIT_NONE;
            int64_t channels = 1;
            poly_is_const(o->conv->channels, &channels);
            json_object(j);
            json_put_int(j, "kernel", s->kernel->id);
            json_put_str(j, "output", buffer_at(m->kernels, o->conv->store->buffer)->name);
            json_put_str(j, "form",
                         str_of(split             ? "terms"
                                : o->conv->sevens ? "Strassen"
                                                  : winograd_form(o->conv, o->conv->tile)));
            json_put_int(j, "tile", o->conv->tile);
            if (o->conv->cost[0] > 0)
                put_cycles(j, o->conv);
            json_key(j, "error_rms");
            json_num(j, error_of(m->kernels->polys, o->conv, channels));
            json_put_str(j, "layout", o->conv->pixels ? STR("pixels") : STR("planes"));
            json_end_object(j);
        }
        put_convolutions(j, m, s->body);
        put_convolutions(j, m, s->other);
    }
}

// Each product of float32 by terms of bfloat16: the kernel, its sizes, 0 where only inputs say
// them, and its error.
static void put_splits(Json *j, const Model *m, const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if (o && o->split) {
            int64_t rows = 0, columns = 0, depth = 0;
            poly_is_const(o->rows, &rows);
            poly_is_const(o->columns, &columns);
            poly_is_const(loop_extent(m->kernels->polys, o->k), &depth);
            json_object(j);
            json_put_int(j, "kernel", s->kernel->id);
            json_put_str(j, "output", buffer_at(m->kernels, o->store->buffer)->name);
            json_put_int(j, "rows", rows);
            json_put_int(j, "columns", columns);
            json_put_int(j, "depth", depth);
            json_key(j, "error_rms");
            json_num(j, SPLIT_ERROR);
            json_end_object(j);
        }
        put_splits(j, m, s->body);
        put_splits(j, m, s->other);
    }
}

// Each kernel that only moves elements: what it stores, the bytes that it reads and writes, 0 where
// only inputs say how many, the nodes whose work it is, and whether it stands between other
// kernels or at an input or output. A layout's move is no node's work: the node that made the value
// stands for it. The bytes of all are added to *bytes.
static void put_moves(Json *j, Model *m, Arena *a, const KernelCount *counts, const Step *s,
                      int64_t *bytes)
{
    for (; s; s = s->next) {
        const Kernel *k = s->kernel;
        if (k && kernel_moves(k)) {
            int64_t n = 0;
            if (counts[k->id].bytes)
                poly_is_const(counts[k->id].bytes, &n);
            *bytes += n;
            json_object(j);
            json_put_int(j, "kernel", k->id);
            json_put_str(j, "name", k->name);
            json_put_int(j, "bytes", n);
            json_put_bool(j, "edge", kernel_moves_at_edge(m->kernels, k));
            json_key(j, "nodes");
            json_array(j);
            for (uint32_t i = 0; i < k->fused.len; i++)
                json_str(j, location_node(m, a, k->fused.at[i]));
            if (!k->fused.len && k->node)
                json_str(j, location_node(m, a, k->node));
            json_end_array(j);
            json_end_object(j);
        }
        put_moves(j, m, a, counts, s->body, bytes);
        put_moves(j, m, a, counts, s->other, bytes);
    }
}

static void put_all_moves(Json *j, Model *m)
{
    Arena *a = arena_new();
    int64_t bytes = 0;
    json_key(j, "moves");
    json_array(j);
    if (m->kernels)
        put_moves(j, m, a, module_counts(m->kernels, a), m->kernels->steps, &bytes);
    json_end_array(j);
    json_put_int(j, "moved_bytes", bytes);
    arena_free(a);
}

static void put_result(Json *j, Model *m, const CompileReport *r)
{
    Counts c = {0};
    if (m->kernels)
        count_steps(m->kernels->steps, &c);
    json_put_int(j, "kernels", c.kernels);
    json_put_int(j, "products", c.products);
    json_put_int(j, "nodes", c.nodes);
    json_key(j, "convolutions");
    json_array(j);
    if (m->kernels)
        put_convolutions(j, m, m->kernels->steps);
    json_end_array(j);
    json_key(j, "split_products");
    json_array(j);
    if (m->kernels)
        put_splits(j, m, m->kernels->steps);
    json_end_array(j);
    put_all_moves(j, m);
    json_put_int(j, "weights_bytes", r->weights_size);
    json_key(j, "arena");
    json_object(j);
    json_put_bool(j, "fixed", r->fixed);
    if (r->fixed) {
        json_put_int(j, "peak_bytes", r->peak);
        json_put_int(j, "bound_bytes", r->bound);
    }
    json_end_object(j);
    json_key(j, "repair");
    json_object(j);
    json_put_int(j, "retyped", r->retyped);
    json_put_int(j, "casts", r->casts);
    json_put_int(j, "transfers", r->transfers);
    json_end_object(j);
}

// What each stage took. Compilers run side by side: theirs are more than they take together.
static void put_stages(Json *j, const Stages *s)
{
    json_key(j, "stages");
    json_array(j);
    for (uint32_t i = 0; i < s->len; i++) {
        json_object(j);
        json_put_str(j, "name", str_of(s->at[i].name));
        json_key(j, "seconds");
        json_num(j, s->at[i].seconds);
        json_end_object(j);
    }
    json_end_array(j);
}

void report_print(Model *m, const CompileOptions *o, const CompileReport *r, const Diags *diags,
                  int status)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_put_str(&j, "schema", STR("cameo.compile/1"));
    json_put_str(&j, "model", diags->file);
    json_put_str(&j, "out", str_of(o->out));
    json_put_int(&j, "status", status);
    put_options(&j, o);
    if (m)
        put_result(&j, m, r);
    put_stages(&j, &r->stages);
    if (m && r->error.len)
        json_put_str(&j, "error", r->error);
    json_key(&j, "findings");
    json_array(&j);
    for (uint32_t i = 0; i < diags->all.len; i++)
        json_finding(&j, diags->all.at[i]);
    json_end_array(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}
