// The back end as a script: lower, plan, print, call the C compiler, put the result in its place.

#include "codegen/alike.h"
#include "codegen/attach.h"
#include "codegen/check_bounds.h"
#include "codegen/compile.h"
#include "codegen/cpu/figures.h"
#include "base/file.h"
#include "codegen/cpus.h"
#include "codegen/cuda/cuda.h"
#include "codegen/emit_products.h"
#include "codegen/fix_sizes.h"
#include "codegen/kernel_pass.h"
#include "codegen/lowered.h"
#include "codegen/offsets.h"
#include "codegen/shelf.h"
#include "codegen/toolchain.h"
#include "codegen/units.h"
#include "passes/insert_casts.h"
#include "passes/lint/lint.h"
#include "passes/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *prefix_of(Arena *a, const char *path)
{
    const char *stem = path_base(path), *dot = strchr(stem, '.');
    size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
    char *out = arena_alloc(a, n + 8);
    size_t k = 0;
    const bool ours = strncmp(stem, "cameo", 5) == 0; // names of what programs are made of
    if (n == 0 || ours || (stem[0] >= '0' && stem[0] <= '9'))
        out[k++] = 'm';
    for (size_t i = 0; i < n; i++) {
        char c = stem[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out[k++] = plain ? c : '_';
    }
    return out;
}

static const char *join(Arena *a, const char *dir, const char *name, const char *ending)
{
    return str_printf(a, "%s/%s%s", dir, name, ending).at;
}

// A device's kernels change their form after fusion, before what it lacks is rewritten.
static bool run_kernel_passes(Model *m, const CompileOptions *o, PassContext *c)
{
    for (const Pass *p = kernel_passes; p->name; p++) {
        if (o->no_fuse && strcmp(p->name, "fuse") == 0)
            continue;
        if (o->device == ON_CUDA && strcmp(p->name, "legalize") == 0 &&
            !cuda_prepare_module(m->kernels, c->diags))
            return false;
        if (!pass_run(p, m, c))
            return false;
        if (o->device == ON_CUDA && p->gives & FACT_LOWERED)
            cuda_place_kernels(m->kernels);
    }
    return true;
}

static bool rewrite_model(Model *m, const CompileOptions *o, const Processor *best, PassContext *c)
{
    if (!o->rewrite)
        return true;
    if (o->aim)
        o->aim(o->rewriter, best);
    bool done = pass_pipeline(m, c) && !c->diags->errors && o->rewrite(o->rewriter, m, c->diags);
    c->facts = 0;
    return done;
}

// What is compiled is what is computed: rules about what the file says of it block nothing.
static const char only_declared[] = "ST013,ST014";

Module *compile_to_module(Model *m, const CompileOptions *o, Diags *diags, CompileReport *report)
{
    double since = stage_clock();
    if (!fix_sizes(m, o, &report->error))
        return NULL;
    m->for_device = o->device == ON_CUDA;
    Repair repair = {.unsafe = o->unsafe_fixes};
    if (o->fix || o->unsafe_fixes) {
        lint_prepare(m, diags);
        insert_casts(m, &repair);
        insert_transfers(m, &repair);
        report->casts = repair.casts;
        report->transfers = repair.transfers;
        report->retyped = repair.retyped;
    }
    if (!o->checked)
        lint_model(m, diags, NULL, only_declared);
    stage_end(m->arena, &report->stages, "checks", &since);
    model_forget(m, NULL, 0);
    if (diags->errors)
        return NULL;
    Processor rows[MAX_CPUS];
    const uint32_t n = processors_of(o->cpu, &o->tuned, rows);
    PassContext passes = {.diags = diags,
                          .after = o->after,
                          .user = o->user,
                          .on_device = o->device == ON_CUDA,
                          .strict = o->strict_fp,
                          .wide = o->wide && !o->strict_fp,
                          .words = processor_has_words(&rows[n - 1]) && !o->no_override,
                          .direct = o->no_winograd || o->strict_fp || o->no_override ||
                                    rows[n - 1].terms > 0,
                          .fused = &report->fused};
    bool passed = rewrite_model(m, o, &rows[n - 1], &passes) && pass_pipeline(m, &passes) &&
                  !diags->errors && run_kernel_passes(m, o, &passes);
    report->bug = passes.broken != NULL;
    stage_end(m->arena, &report->stages, "passes", &since);
    model_forget(m, NULL, 0);
    if (!passed)
        return NULL;
    Module *mod = m->kernels;
    GemmKind gemm = o->device == ON_CUDA ? GEMM_CUBLASLT : o->gemm;
    double band = 0;
    for (uint32_t i = 0; i < n; i++)
        band = rows[i].band > band ? rows[i].band : band;
    const ConvChoice form = {.cpu = &rows[n - 1],
                             .band = (int64_t)band,
                             .direct = o->no_winograd || o->strict_fp,
                             .exact = o->strict_fp,
                             .unsplit = o->no_split,
                             .wide = o->wide && !o->strict_fp,
                             .tile = o->tile};
    if (!o->no_override && o->gemm != GEMM_LOOPS &&
        !override_module(mod, gemm, &form, &report->error))
        return NULL;
    if (o->device == ON_CUDA)
        cuda_split_products(mod);
    else
        alike_module(mod);
    check_bounds(mod);
    if (o->device != ON_CUDA)
        name_offsets(mod);
    stage_end(m->arena, &report->stages, "products", &since);
    report->nkernels = mod->nkernels;
    return mod;
}

// ---- putting it in place -----------------------------------------------------------------------

// A file of the build's folder to where it was asked for.
static int place_file(Build *b, const char *name, const char *to, unsigned mode)
{
    const char *from = join(b->arena, b->dir, name, "");
    return file_copy(from, to, mode, &b->report->error, b->arena) ? 0 : 3;
}

// Nothing is written over what the model is read from.
static int refuse_input(Build *b, const Model *m, const char *path)
{
    if (!model_reads(m, path))
        return 0;
    b->report->error = str_printf(b->arena, "%s is what the model is read from", path);
    return 2;
}

const char *compile_beside(Arena *a, const CompileOptions *o, const char *ending)
{
    if (!*ending)
        return o->out;
    const char *out = o->out, *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - out) : strlen(out);
    return str_printf(a, "%.*s%s", (int)n, out, ending).at;
}

// A name in the build's folder.
static const char *within(Build *b, const char *ending)
{
    return str_printf(b->arena, "%s%s", b->prefix, ending).at;
}

static WeightsMode choose_weights(const Build *b, const Plan *plan)
{
    const CompileOptions *o = b->o;
    const bool linked = o->kind == EMIT_EXE || o->kind == EMIT_SHARED;
    if (o->kind == EMIT_LOADED || o->weights_file)
        return WEIGHTS_FILE;
    const bool shared = b->ncpus > 1 && plan->weights_size > 0; // by several programs: once
    if (o->device != ON_CUDA && !shared && weights_fit_arrays(plan))
        return WEIGHTS_ARRAYS;
    return linked && plan->weights_size > 0 ? WEIGHTS_ATTACHED : WEIGHTS_INCBIN;
}

// ---- CUDA ------------------------------------------------------------------------------------

// The kernels' file, compiled unless sources are asked for; then the host's.
static int emit_cuda(Build *b, Module *mod, const Plan *plan, EmitOptions *emit, Buf *host)
{
    Arena *scratch = arena_new();
    CudaTarget target = {.arena = scratch};
    Buf text = {0};
    Printer *p = printer_new(mod, &dialect_cuda, scratch, &text, b->prefix);
    p->target = &target;
    const char *source = within(b, ".cu"), *image = within(b, ".fatbin");
    emit->image_path =
        b->o->kind == EMIT_C ? path_base(compile_beside(b->arena, b->o, ".fatbin")) : image;
    emit_cu(mod, p, emit);
    bool read = custom_emit_kernels(p, &b->report->error);
    int status = read ? build_write_text(b, source, &text) : 3;
    const char *beside = compile_beside(b->arena, b->o, ".cu");
    if (!status && b->o->kind == EMIT_C)
        status = refuse_input(b, mod->model, beside);
    if (!status && b->o->kind == EMIT_C)
        status = place_file(b, source, beside, 0644);
    else if (!status)
        status = toolchain_compile_kernels(b, source, image);
    if (!status)
        emit_cuda_host(mod, plan, emit, p, host);
    buf_free(&text);
    arena_free(scratch);
    return status;
}

static int place_header(Build *b, const EmitOptions *emit)
{
    Buf header = {0};
    emit_header(emit, &header);
    bool ok = file_write(compile_beside(b->arena, b->o, ".h"), header.at ? header.at : "",
                         header.len, 0644, &b->report->error, b->arena);
    buf_free(&header);
    return ok ? 0 : 3;
}

// What is compiled: a model, lowered once or for several kinds of processors.
typedef struct Texted {
    const Lowered *all[MAX_CPUS]; // in the order in which their weights lie
    uint32_t n;
} Texted;

static bool put_weights(const Texted *t, ByteSink *out, Str *error)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!emit_weights(t->all[i]->mod, t->all[i]->plan, out, error))
            return false;
    return true;
}

// Behind what is in the file, and into `tag`.
static bool put_tag(FILE *f, unsigned char *tag)
{
    struct stat st;
    uint64_t made = 0;
    if (fstat(fileno(f), &st) != 0)
        return false;
    if (st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
        if (at == MAP_FAILED)
            return false;
        made = hash_bytes(at, (size_t)st.st_size, 0);
        munmap(at, (size_t)st.st_size);
    }
    memcpy(tag, &made, WEIGHTS_TAG);
    return fwrite(tag, 1, WEIGHTS_TAG, f) == WEIGHTS_TAG;
}

// As they lie in memory: to a file of the build's folder, or where they are run from here into the
// report.
static int write_weights(Build *b, const Texted *t, EmitOptions *emit)
{
    Str *error = &b->report->error;
    if (b->o->kind == EMIT_LOADED)
        return put_weights(t, &(ByteSink){.buf = &b->report->weights}, error) ? 0 : 1;
    FILE *f = fopen(join(b->arena, b->dir, within(b, ".weights"), ""), "w+b");
    if (!f) {
        *error = str_printf(b->arena, "%s: %s", b->dir, strerror(errno));
        return 3;
    }
    bool ok = put_weights(t, &(ByteSink){.file = f}, error), written = !ferror(f);
    if (emit->weights_tagged)
        written = fflush(f) == 0 && put_tag(f, emit->weights_tag) && written;
    written = fclose(f) == 0 && written;
    if (!written)
        *error = STR("the weights cannot be written");
    return ok && written ? 0 : written ? 1 : 3;
}

// ---- programs with their weights ---------------------------------------------------------------

typedef struct Attached {
    Texted of;
    int64_t size; // of the weights
    const unsigned char *program;
    size_t len;
    int64_t offset;
    bool unread; // a weight cannot be had: the file could be written
} Attached;

static bool put_attached(void *user, void *file, Str *error)
{
    Attached *w = user;
    ByteSink out = {.file = file};
    static const char zeros[4096];
    bool ok = sink_put(&out, w->program, w->len);
    while (ok && (int64_t)out.put < w->offset) {
        const uint64_t left = (uint64_t)w->offset - out.put;
        ok = sink_put(&out, zeros, left < sizeof zeros ? left : sizeof zeros);
    }
    ok = ok && put_weights(&w->of, &(ByteSink){.file = file}, error);
    w->unread = !ok && !ferror(file);
    return ok;
}

// A program that is made while its weights are written where they are expected to be.
typedef struct Making {
    Build *b;
    Attached weights;
    int status; // of the compilers
    bool fits;  // the linker left room for the weights
} Making;

typedef struct Early {
    Attached weights;
    void *file;
} Early;

static bool put_early(void *of)
{
    Early *e = of;
    Str error = STR_NONE;
    return put_attached(&e->weights, e->file, &error) && fflush(e->file) == 0;
}

// By a process of its own: 0 where there is none.
static pid_t begin_weights(const Making *m, int64_t at, void *file)
{
    struct stat st;
    Early early = {m->weights, file};
    if (!at || !m->b->o->beside || fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    early.weights.offset = at;
    const pid_t pid = (pid_t)m->b->o->beside(put_early, &early);
    return pid < 0 ? 0 : pid;
}

static bool end_weights(pid_t pid)
{
    int status = 0;
    pid_t ended = pid ? waitpid(pid, &status, 0) : -1;
    while (ended < 0 && pid && errno == EINTR)
        ended = waitpid(pid, &status, 0);
    return ended > 0 && status == 0;
}

// Before weights that are there.
static bool put_before(const Attached *w, int fd)
{
    bool ok = true;
    for (size_t at = 0; ok && at < w->len;) {
        const ssize_t n = pwrite(fd, w->program + at, w->len - at, (off_t)at);
        ok = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    return ok;
}

static bool empty(int fd)
{
    return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

static bool make_and_put(void *user, void *file, Str *error)
{
    Making *m = user;
    Build *b = m->b;
    Attached *w = &m->weights;
    FileView view;
    const int64_t expected = attach_expected(w->size, b->ncpus);
    const pid_t writer = begin_weights(m, expected, file);
    m->status = toolchain_compile(b);
    double since = stage_clock();
    const bool written = end_weights(writer);
    const char *built = toolchain_result(b);
    if (m->status || !file_open(b->arena, join(b->arena, b->dir, built, ""), &view, error))
        return false;
    unsigned char *program = memcpy(arena_alloc(b->arena, view.len), view.at, view.len);
    w->program = program;
    w->len = view.len;
    file_close(&view);
    w->offset = attach_to(program, w->len, w->size);
    m->fits = w->offset >= 0;
    bool done = m->fits;
    if (done && written && w->offset == expected)
        done = put_before(w, fileno(file));
    else if (done)
        done = (!writer || empty(fileno(file))) && put_attached(w, file, error);
    stage_end(b->arena, &b->report->stages, "weights", &since);
    return done;
}

// Again, for linkers that have their own ways: weights that the assembler includes.
static int include_weights(Build *b, const Attached *w, EmitOptions *emit)
{
    Buf blobs = {0};
    emit->weights = WEIGHTS_INCBIN;
    b->attaches = false;
    b->includes = true;
    emit_weights_blob(emit, w->size, &blobs);
    if (emit->image_path)
        blob_print(&blobs, b->prefix, "image", emit->image_path);
    int status = write_weights(b, &w->of, emit);
    status = status ? status : build_write_text(b, within(b, "_blobs.c"), &blobs);
    buf_free(&blobs);
    status = status ? status : toolchain_compile(b);
    return status ? status : place_file(b, toolchain_result(b), b->o->out, 0755);
}

static int make_program(Build *b, const Attached *w, EmitOptions *emit)
{
    Making m = {.b = b, .weights = *w};
    Buf script = {0};
    Str error = STR_NONE;
    attach_print_script(&script, attach_expected(w->size, b->ncpus));
    int status = build_write_text(b, within(b, "_weights.ld"), &script);
    buf_free(&script);
    if (status)
        return status;
    b->attaches = true;
    if (file_produce(b->o->out, make_and_put, &m, 0755, &error, b->arena))
        return 0;
    if (!m.fits)
        return include_weights(b, w, emit);
    b->report->error = error;
    return m.weights.unread ? 1 : 3;
}

static int finish(Build *b, const Attached *w, EmitOptions *emit)
{
    const CompileOptions *o = b->o;
    const bool runs = o->kind == EMIT_EXE || o->kind == EMIT_SHARED;
    const char *built = o->kind == EMIT_C ? within(b, ".c") : toolchain_result(b);
    const bool blob_beside = o->kind == EMIT_C
                                 ? emit->weights != WEIGHTS_ARRAYS
                                 : emit->weights == WEIGHTS_FILE && o->kind != EMIT_LOADED;
    const Model *m = w->of.all[0]->mod->model;
    uint32_t n = 0;
    if (blob_beside)
        b->report->beside[n++] = ".weights";
    if (o->kind != EMIT_EXE && o->kind != EMIT_LOADED)
        b->report->beside[n++] = ".h";
    int status = o->kind == EMIT_LOADED ? 0 : refuse_input(b, m, o->out);
    for (uint32_t i = 0; !status && i < n; i++)
        status = refuse_input(b, m, compile_beside(b->arena, o, b->report->beside[i]));
    if (status)
        return status;
    if (emit->weights == WEIGHTS_ATTACHED) {
        status = make_program(b, w, emit);
    } else {
        status = o->kind == EMIT_C ? 0 : toolchain_compile(b);
        status = status ? status : place_file(b, built, o->out, runs ? 0755 : 0644);
    }
    if (!status && blob_beside)
        status =
            place_file(b, within(b, ".weights"), compile_beside(b->arena, b->o, ".weights"), 0644);
    if (!status && o->kind != EMIT_EXE && o->kind != EMIT_LOADED)
        status = place_header(b, emit);
    return status;
}

static EmitOptions emit_options(Build *b, Module *mod, const Plan *plan)
{
    const CompileOptions *o = b->o;
    EmitOptions emit = {.prefix = b->prefix, .source = mod->model->path, .profile = o->profile};
    emit.strict = o->strict_fp;
    emit.has_lists = b->has_lists;
    emit.shared = o->kind == EMIT_C;
    emit.threads = o->threads;
    emit.grain = o->grain;
    emit.apart = plan->apart;
    emit.libraries = libraries_flags(mod, b->arena);
    emit.several = b->ncpus > 1;
    emit.beside =
        (o->kind == EMIT_EXE || o->kind == EMIT_SHARED) && o->device == ON_CPU && !o->apart;
    emit.weights = choose_weights(b, plan);
    emit.weights_tagged = emit.weights == WEIGHTS_FILE && o->kind != EMIT_LOADED;
    emit.weights_path = o->kind == EMIT_C || emit.weights == WEIGHTS_FILE
                            ? path_base(compile_beside(b->arena, b->o, ".weights"))
                            : within(b, ".weights");
    return emit;
}

// What is emitted, a unit each.
typedef struct Texts {
    Buf model, products, tiles, blobs, api;
} Texts;

// A build on its way from text to text.
typedef struct Texting {
    Build *b;
    Blob *blob; // of weights, where several texts share it
    Texted done;
    EmitOptions emit;
    Texts texts; // but for `model` of all
    bool weights_written;
} Texting;

// What is around the model.
static int write_texts(Texting *x)
{
    Build *b = x->b;
    Texts *t = &x->texts;
    uint32_t cpus[MAX_CPUS], n = 0;
    int status = 0;
    for (uint32_t i = 0; i < b->ncpus; i++)
        if (!b->left_out[i])
            cpus[n++] = i;
    if (x->emit.several)
        emit_choice(b->prefix, cpus, n, &t->api);
    if (x->emit.blobs)
        emit_weights_blob(&x->emit, b->report->weights_size, &t->blobs);
    if (x->emit.blobs && x->emit.weights_tagged)
        emit_weights_tag(&x->emit, x->emit.weights_tag, &t->blobs);
    b->has_products = t->products.len > 0;
    b->has_tiles = t->tiles.len > 0;
    b->has_blobs = t->blobs.len > 0;
    b->includes = x->emit.weights == WEIGHTS_INCBIN || x->emit.image_path;
    if (b->has_products)
        status = build_write_text(b, within(b, "_products.c"), &t->products);
    if (!status && b->has_tiles)
        status = build_write_text(b, within(b, "_tiles.c"), &t->tiles);
    if (!status && b->has_blobs)
        status = build_write_text(b, within(b, "_blobs.c"), &t->blobs);
    if (!status && t->api.len)
        status = build_write_text(b, within(b, "_api.c"), &t->api);
    return status;
}

static int plan_text(Texting *x, Lowered *l)
{
    Build *b = x->b;
    const int64_t patience = b->o->once ? CAMEO_PLAN_HASTE : CAMEO_PLAN_PATIENCE;
    CompileReport *r = b->report;
    const bool apart = b->o->apart && b->o->device == ON_CPU;
    l->plan = plan_module(l->mod, patience, apart, b->arena);
    if (l->plan->fault) {
        r->error = str_of(l->plan->fault);
        return 4;
    }
    if (b->ncpus > 1 && !blob_place(x->blob, l, &r->error))
        return 1;
    r->weights_size = l->plan->weights_size;
    if (x->done.n)
        return 0;
    r->fixed = l->plan->fixed;
    r->peak = l->plan->peak;
    r->bound = l->plan->bound;
    return 0;
}

// What no function needs is not for a compiler to read; who keeps the text may want to.
static void leave_unneeded(Buf *text)
{
    Buf whole = *text;
    *text = (Buf){0};
    unit_prune(text, (Str){whole.at ? whole.at : "", whole.len});
    buf_free(&whole);
}

// The model's text as one of them has it; of what is around it, that of the first counts.
static int emit_text(Texting *x, const Lowered *l, const char *name)
{
    Build *b = x->b;
    const CompileOptions *o = b->o;
    EmitOptions *emit = &x->emit;
    Texts *t = &x->texts;
    const bool linked = o->kind == EMIT_EXE || o->kind == EMIT_SHARED;
    emit->blobs = linked || emit->several ? &t->blobs : NULL;
    emit->api = emit->several && !x->done.n ? &t->api : NULL;
    emit->rows = l->rows;
    emit->nrows = l->n;
    emit->kept =
        !o->strict_fp && products_kept(l->mod) && shelf_products(b, l->rows, l->first, l->n);
    emit->products = linked && !emit->several && !emit->kept ? &t->products : NULL;
    emit->tiles = emit->products ? &t->tiles : NULL;
    int status = 0;
    if (emit->weights_tagged && !emit->blobs) { // the tag is part of this text
        status = write_weights(b, &(Texted){.all = {l}, .n = 1}, emit);
        x->weights_written = true;
    }
    if (status)
        return status;
    if (o->device == ON_CUDA)
        status = emit_cuda(b, l->mod, l->plan, emit, &t->model);
    else if (!emit_c(l->mod, l->plan, emit, &t->model, &b->report->error))
        status = 1;
    else if (o->kind != EMIT_C && !o->keep)
        leave_unneeded(&t->model);
    const char *file = str_printf(b->arena, "%s.c", name).at;
    status = status ? status : build_write_text(b, file, &t->model);
    buf_free(&t->model);
    t->model = (Buf){0};
    return status;
}

static void free_texts(Texts *t)
{
    buf_free(&t->model);
    buf_free(&t->products);
    buf_free(&t->tiles);
    buf_free(&t->blobs);
    buf_free(&t->api);
    *t = (Texts){0};
}

// What all texts need, known by the first.
static int begin(Texting *x, const Lowered *l)
{
    Build *b = x->b;
    const CompileOptions *o = b->o;
    CompileReport *r = b->report;
    const bool linked = o->kind == EMIT_EXE || o->kind == EMIT_SHARED;
    b->cache = o->no_cache ? NULL : cache_open(b->arena);
    const bool made = o->keep ? dir_make(b->arena, o->keep, &r->error)
                              : dir_temporary(b->arena, &b->dir, &r->error);
    if (!made)
        return 3;
    b->has_lists = module_has_list_ports(l->mod);
    b->custom = custom_sources(l->mod, b->arena, b->prefix, false);
    b->custom_kernels = custom_sources(l->mod, b->arena, b->prefix, true);
    b->shelf = linked && !o->keep && !o->apart ? shelf_folder(b->arena) : NULL;
    const uint32_t n = libraries_of(l->mod, b->libraries);
    for (uint32_t i = 0; i < n; i++)
        r->libraries[i] = b->libraries[i]->name;
    return 0;
}

// Its text goes to the compilers, which run while the next one is made.
static int take(void *of, Lowered *l)
{
    Texting *x = of;
    Build *b = x->b;
    const bool first = x->done.n == 0;
    double since = stage_clock();
    int status = first ? begin(x, l) : 0;
    status = status ? status : plan_text(x, l);
    if (status)
        return status;
    if (first)
        x->emit = emit_options(b, l->mod, l->plan);
    else
        x->emit.weights = choose_weights(b, l->plan);
    b->has_figures = figures_used(l->mod->steps);
    const char *name =
        first ? b->prefix : str_printf(b->arena, "%s_text%u", b->prefix, l->number).at;
    status = emit_text(x, l, name);
    x->done.all[x->done.n++] = l;
    if (!status && first && b->o->kind != EMIT_C)
        status = toolchain_find(b);
    stage_more(b->arena, &b->report->stages, "text", &since);
    if (!status && b->o->kind != EMIT_C)
        toolchain_begin(b, &(ModelText){name, l->first, l->n});
    return status;
}

static int build(Build *b, Model *m, Diags *diags)
{
    Lowered all[MAX_CPUS];
    Texting x = {.b = b, .blob = blob_new(b->arena)};
    int status = lower_for_processors(b, m, diags, all, take, &x);
    double since = stage_clock();
    if (!status && !x.weights_written &&
        (x.emit.weights == WEIGHTS_INCBIN || x.emit.weights == WEIGHTS_FILE))
        status = write_weights(b, &x.done, &x.emit);
    status = status ? status : write_texts(&x);
    if (!status) {
        stage_more(b->arena, &b->report->stages, "text", &since);
        status = finish(b, &(Attached){.of = x.done, .size = b->report->weights_size}, &x.emit);
    }
    toolchain_abandon(b);
    free_texts(&x.texts);
    return status;
}

// Which processors: one where the text is one (it is to be compiled elsewhere, or kernels run on a
// device).
static int choose_processors(Build *b, const Model *m, CompileOptions *o)
{
    int status = o->cpu && o->kind != EMIT_C ? toolchain_find_compiler(b) : 0;
    status = status ? status : cpus_resolve(b, m, &o->cpu);
    if (status)
        return status;
    const bool several = o->cpu && strchr(o->cpu, ',') && o->kind != EMIT_C;
    if (several && (o->profile || o->device == ON_CUDA || o->kind == EMIT_LOADED)) {
        b->report->error = o->profile ? STR("--profile is for one processor: name it by --cpu")
                                      : STR("several processors are for programs and libraries "
                                            "whose kernels run on them");
        return 2;
    }
    b->ncpus = several ? cpus_split(b->arena, o->cpu, b->cpus) : 1;
    if (!several)
        b->cpus[0] = o->cpu;
    return 0;
}

// Whose stem is the prefix of symbols: a library's own. A program's are nobody else's and are
// called by its model, so that the same program comes of it under any name.
static const char *names_symbols(const Model *m, const CompileOptions *o)
{
    return o->kind == EMIT_EXE && m->path ? m->path : o->out;
}

int compile_model(Model *m, const CompileOptions *options, Diags *diags, CompileReport *report)
{
    *report = (CompileReport){0};
    CompileOptions with = *options, *o = &with;
    Build b = {.arena = m->arena, .o = o, .report = report, .dir = o->keep};
    int status = choose_processors(&b, m, o);
    if (status)
        return status;
    b.prefix = o->prefix ? o->prefix : prefix_of(m->arena, names_symbols(m, o));
    status = build(&b, m, diags);
    if (!o->keep && b.dir)
        dir_remove(b.dir);
    return status;
}
