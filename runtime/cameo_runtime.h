/* What every compiled model stands on: its context, the checks of inputs, memory. */
#ifndef CAMEO_RUNTIME_H
#define CAMEO_RUNTIME_H

#include "cameo_math.h"
#include "cameo_model.h"
#include "cameo_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef CAMEO_APART
#include <malloc.h>
#if defined(__clang__) && defined(__has_feature)
#define CAMEO_ADDRESSES __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define CAMEO_ADDRESSES 1
#else
#define CAMEO_ADDRESSES 0
#endif
#if CAMEO_ADDRESSES
void __asan_poison_memory_region(void const volatile *at, size_t size);
#endif
enum { CAMEO_BEHIND = 1 << 20 }; /* bytes behind each value that nobody may touch */
#endif
#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { CAMEO_MAX_RANK = 16, CAMEO_HUGE_PAGE = 2 << 20, CAMEO_WEIGHTS_TAG = 8 };

typedef struct cameo_block { /* memory that grows and keeps its contents */
    unsigned char *at;
    int64_t size;
} cameo_block;

typedef struct cameo_value {
    const void *at;
    int32_t rank;
    int64_t dims[CAMEO_MAX_RANK];
} cameo_value;

/* Memory of the caller's for an output. */
typedef struct cameo_lent {
    void *at; /* NULL: none */
    int64_t bytes;
} cameo_lent;

/* A model as its emitted code describes it. */
typedef struct cameo_program {
    const cameo_model *model;
    int32_t ndims;        /* dims are numbered 1..ndims-1 */
    int32_t nplanned;     /* values in the arena */
    const int32_t *lives; /* first and last step of each */
    int64_t arena;        /* bytes where sizes are fixed, -1: planned when dims are known */
    int32_t nblocks;      /* values whose size is known only in the middle of a run */
    const unsigned char *weights;
    int64_t weights_size;
    const char *weights_path; /* NULL: embedded, or none */
    /* What their file ends in, made of all that is before it: so that a program knows its own, and
     * reads no more of it than that. CAMEO_WEIGHTS_TAG bytes; NULL: nothing. */
    const unsigned char *weights_tag;
    int32_t nkernels; /* that are timed; 0 without --profile */
    const char *const *kernels;
    /* Sets the dims that inputs give and checks the rest; sizes of planned values. 0 or -1. */
    int (*bind)(cameo_context *c, int64_t *sizes);
    int (*plan)(cameo_context *c, const int64_t *sizes); /* NULL: sizes are fixed */
    int (*steps)(cameo_context *c);
    /* Where values are not in host memory: opens the device (before bind), makes room there. */
    int (*open)(cameo_context *c);
    int (*resize_arena)(cameo_context *c, int64_t bytes);
    int (*prepare)(void); /* asked once before threads begin, may be NULL: cameo_amx.h */
    /* Where threads share kernels (cameo_share.h), else NULL: gets the context a pool, frees it. */
    int (*open_threads)(cameo_context *c, const cameo_options *options);
    void (*close_threads)(cameo_context *c);
    int32_t threads; /* where the options say nothing */
    int64_t scratch; /* bytes for each further thread, where sizes are fixed */
} cameo_program;

/* The threads of a context. */
typedef struct cameo_threads {
    cameo_pool *pool;       /* NULL: the caller's alone */
    int own;                /* the context made it */
    unsigned char *scratch; /* of the threads but the first, `each` bytes one after another */
    int64_t each;
} cameo_threads;

enum { CAMEO_EVENTS = 1 << 16 };

struct cameo_context {
    const cameo_program *program;
    const unsigned char *weights;
    unsigned char *arena, *own_weights;
    int64_t arena_size;
    int64_t *dims, *offsets;
    cameo_life *lives;
    int32_t *planning; /* the planner's own */
    cameo_value *inputs, *outputs;
    cameo_lent *lent; /* for each output; NULL: for none */
    cameo_block *blocks;
    cameo_kernel_time *profile; /* of each kernel that is timed; names are the program's */
    cameo_kernel_event *events; /* the last CAMEO_EVENTS of them, in a ring */
    int64_t nevents;
    int bound;    /* dims and offsets fit the inputs */
    void *device; /* state of the device that values are on, NULL: the host */
    void (*free_device)(void *device);
    void *objects; /* strings and lists of the run, NULL: none */
    void (*free_objects)(void *objects);
    cameo_threads threads;
    char error[512];
};

CAMEO_ONCE __attribute__((format(printf, 2, 3))) int cameo_fail(cameo_context *c,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error, sizeof c->error, format, args);
    va_end(args);
    return -1;
}

CAMEO_FN const char *cameo_dtype_name(int32_t t)
{
    static const char *const names[] = {
        "unknown",        "float32",    "uint8",          "int8",       "uint16",    "int16",
        "int32",          "int64",      "string",         "bool",       "float16",   "float64",
        "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
        "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};
    return t > 0 && t < (int32_t)(sizeof names / sizeof *names) ? names[t] : names[0];
}

/* Bytes of an element in memory. */
CAMEO_FN int64_t cameo_dtype_size(int32_t t)
{
    static const unsigned char sizes[] = {
        0, 4, 1, 1, 2, 2, 4, 8, sizeof(cameo_str), 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1};
    return t > 0 && t < (int32_t)sizeof sizes ? sizes[t] : 0;
}

/* Bytes of n elements a dim, or -1 if that is more than memory can hold or a dim is negative. */
CAMEO_ONCE int64_t cameo_bytes(int64_t size, int32_t rank, const int64_t *dims)
{
    int empty = 0;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return -1;
        empty |= dims[i] == 0;
    }
    for (int32_t i = 0; i < rank && !empty; i++) {
        if (size > (INT64_C(1) << 46) / dims[i])
            return -1;
        size *= dims[i];
    }
    return empty ? 0 : size;
}

/* What holds huge pages begins with one, and the system is asked for them: a page that is written
 * for the first time costs about as much whether it has 4 KB or 2 MB. */
CAMEO_ONCE void *cameo_aligned_alloc(int64_t size)
{
#ifdef CAMEO_APART /* not a byte more, as the address sanitizer knows it */
    void *exact = NULL;
    if (posix_memalign(&exact, CAMEO_ALIGN, (size_t)size + CAMEO_BEHIND))
        return NULL;
#if CAMEO_ADDRESSES
    __asan_poison_memory_region((unsigned char *)exact + size, CAMEO_BEHIND);
#endif
    return exact;
#endif
#ifdef MADV_HUGEPAGE
    if (size >= CAMEO_HUGE_PAGE) {
        const size_t pages = ((size_t)size + CAMEO_HUGE_PAGE - 1) / CAMEO_HUGE_PAGE;
        void *at = aligned_alloc(CAMEO_HUGE_PAGE, pages * CAMEO_HUGE_PAGE);
        if (at) /* as it was where the system has none */
            madvise(at, (size_t)size / CAMEO_HUGE_PAGE * CAMEO_HUGE_PAGE, MADV_HUGEPAGE);
        return at;
    }
#endif
    return aligned_alloc(CAMEO_ALIGN, (size_t)cameo_aligned(size < 1 ? 1 : size));
}

/* Makes a block hold at least `size` bytes, keeping what is in it. NULL: no memory. */
CAMEO_ONCE void *cameo_reserve(cameo_block *b, int64_t size)
{
    if (size < 0)
        return NULL;
    if (b->at && size <= b->size)
        return b->at;
    int64_t more = b->size + b->size / 2;
#ifdef CAMEO_APART
    more = size;
#endif
    more = more > size ? more : size;
    unsigned char *at = (unsigned char *)cameo_aligned_alloc(more);
    if (!at)
        return NULL;
    if (b->at && b->size > 0)
        memcpy(at, b->at, (size_t)b->size);
    free(b->at);
    b->at = at;
    b->size = more;
    return at;
}

/* The first `size` bytes of a file of weights that ends in `tag` behind them; NULL: they cannot be
 * had. Mapped where that is known how to: programs that are given the same file share its pages,
 * and read of it what they need. */
#ifdef __linux__
CAMEO_FN unsigned char *cameo_enter_weights(const char *path, int64_t size,
                                            const unsigned char *tag)
{
    unsigned char end[CAMEO_WEIGHTS_TAG];
    const int file = open(path, O_RDONLY);
    const int whole = file >= 0 && lseek(file, (off_t)size, SEEK_SET) == (off_t)size &&
                      read(file, end, sizeof end) == (ssize_t)sizeof end &&
                      memcmp(end, tag, sizeof end) == 0;
    void *at = whole ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    return at == MAP_FAILED ? NULL : (unsigned char *)at;
}

CAMEO_FN void cameo_leave_weights(unsigned char *at, int64_t size)
{
    if (at)
        munmap(at, (size_t)size);
}
#else
CAMEO_FN unsigned char *cameo_enter_weights(const char *path, int64_t size,
                                            const unsigned char *tag)
{
    const size_t all = (size_t)size + CAMEO_WEIGHTS_TAG;
    FILE *f = fopen(path, "rb");
    unsigned char *at = f ? (unsigned char *)cameo_aligned_alloc((int64_t)all) : NULL;
    const size_t n = at ? fread(at, 1, all, f) : 0;
    if (f)
        fclose(f);
    if (n == all && memcmp(at + size, tag, CAMEO_WEIGHTS_TAG) == 0)
        return at;
    free(at);
    return NULL;
}

CAMEO_FN void cameo_leave_weights(unsigned char *at, int64_t size)
{
    (void)size;
    free(at);
}
#endif

CAMEO_ONCE void cameo_destroy(cameo_context *c)
{
    if (!c)
        return;
    if (c->device)
        c->free_device(c->device);
    if (c->objects)
        c->free_objects(c->objects);
    if (c->program->close_threads)
        c->program->close_threads(c);
    for (int32_t i = 0; c->blocks && i < c->program->nblocks; i++)
        free(c->blocks[i].at);
    free(c->blocks);
    free(c->profile);
    free(c->events);
    free(c->dims);
    free(c->offsets);
    free(c->lives);
    free(c->planning);
    free(c->inputs);
    free(c->outputs);
    free(c->lent);
    free(c->arena);
    cameo_leave_weights(c->own_weights, c->program->weights_size);
    free(c);
}

/* Many weights are read in huge pages where their file's cache has some: where it is yet to be
 * read, the system is asked for such. */
CAMEO_FN void cameo_ask_for_huge_pages(const unsigned char *at, int64_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t begin = ((uintptr_t)at + 4095) / 4096 * 4096,
                    end = (uintptr_t)at + (uintptr_t)size;
    if (size >= 4 * CAMEO_HUGE_PAGE)
        madvise((void *)begin, (size_t)(end - begin), MADV_HUGEPAGE);
#else
    (void)at, (void)size;
#endif
}

CAMEO_FN int cameo_load_weights(cameo_context *c, const cameo_options *options)
{
    const cameo_program *p = c->program;
    const int given = options && options->weights;
    const unsigned char *tag = p->weights_size > 0 ? p->weights_tag : NULL;
    c->weights = given ? (const unsigned char *)options->weights : p->weights;
    if (given && tag && memcmp(c->weights + p->weights_size, tag, CAMEO_WEIGHTS_TAG) != 0)
        return -1;
    if (!c->weights && tag) {
        const char *other = options ? options->weights_path : NULL;
        c->own_weights = cameo_enter_weights(other ? other : p->weights_path, p->weights_size, tag);
        c->weights = c->own_weights;
        if (!c->weights)
            return -1;
    }
    if (c->weights && !given)
        cameo_ask_for_huge_pages(c->weights, p->weights_size);
    return 0;
}

CAMEO_ONCE cameo_context *cameo_create(const cameo_program *p, const cameo_options *options)
{
    cameo_context *c = (cameo_context *)calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->program = p;
    if (p->prepare)
        p->prepare();
    c->dims = (int64_t *)calloc((size_t)p->ndims + 1, sizeof *c->dims);
    c->offsets = (int64_t *)calloc((size_t)p->nplanned + 1, sizeof *c->offsets);
    c->lives = (cameo_life *)calloc((size_t)p->nplanned + 1, sizeof *c->lives);
    c->planning = (int32_t *)calloc(3 * (size_t)p->nplanned + 1, sizeof *c->planning);
    c->inputs = (cameo_value *)calloc((size_t)p->model->ninputs + 1, sizeof *c->inputs);
    c->outputs = (cameo_value *)calloc((size_t)p->model->noutputs + 1, sizeof *c->outputs);
    c->blocks = (cameo_block *)calloc((size_t)p->nblocks + 1, sizeof *c->blocks);
    if (p->nkernels) {
        c->profile = (cameo_kernel_time *)calloc((size_t)p->nkernels, sizeof *c->profile);
        c->events = (cameo_kernel_event *)calloc(CAMEO_EVENTS, sizeof *c->events);
    }
    if (p->arena >= 0)
        c->arena = (unsigned char *)cameo_aligned_alloc(p->arena);
    int whole = c->dims && c->offsets && c->lives && c->planning && c->inputs && c->outputs &&
                c->blocks && (p->arena < 0 || c->arena) &&
                (!p->nkernels || (c->profile && c->events)) &&
                cameo_load_weights(c, options) == 0 &&
                (!p->open_threads || p->open_threads(c, options) == 0);
    if (!whole) {
        cameo_destroy(c);
        return NULL;
    }
    return c;
}

CAMEO_ONCE int cameo_set_input(cameo_context *c, int32_t i, int32_t dtype, int32_t rank,
                               const int64_t *dims, const void *elements)
{
    const cameo_model *m = c->program->model;
    if (i < 0 || i >= m->ninputs)
        return cameo_fail(c, "there is no input %d: the model has %d", (int)i, (int)m->ninputs);
    const cameo_port *port = &m->inputs[i];
    if (dtype != port->dtype)
        return cameo_fail(c, "input %s is %s, but the data is %s", port->name,
                          cameo_dtype_name(port->dtype), cameo_dtype_name(dtype));
    if (rank != port->rank || rank > CAMEO_MAX_RANK)
        return cameo_fail(c, "input %s has rank %d, but the data has rank %d", port->name,
                          (int)port->rank, (int)rank);
    if (rank > 0 && !dims)
        return cameo_fail(c, "input %s has rank %d, but the data has no dims", port->name,
                          (int)rank);
    int64_t all = 1; /* of what sizes are computed from: also where there are no elements */
    for (int32_t k = 0; k < rank; k++) { /* all of them, before what was set is touched */
        if (dims[k] < 0 || (port->dims[k] >= 0 && dims[k] != port->dims[k]) ||
            (dims[k] > 0 && all > (INT64_C(1) << 46) / dims[k]))
            return cameo_fail(c, "input %s has %lld as dim %d, but the data has %lld", port->name,
                              (long long)port->dims[k], (int)k, (long long)dims[k]);
        all *= dims[k] > 0 ? dims[k] : 1;
    }
    cameo_value *v = &c->inputs[i];
    int none = 0;
    for (int32_t k = 0; k < rank; k++) {
        c->bound &= v->at != NULL && v->dims[k] == dims[k];
        v->dims[k] = dims[k];
        none |= dims[k] == 0;
    }
    v->rank = rank;
    v->at = none && !elements ? v : elements; /* no elements may lie nowhere */
    return 0;
}

CAMEO_ONCE int cameo_plan_arena(cameo_context *c, const int64_t *sizes)
{
    const cameo_program *p = c->program;
    for (int32_t i = 0; i < p->nplanned; i++) {
        if (sizes[i] < 0)
            return cameo_fail(c, "these input shapes need more memory than there is");
        c->lives[i].size = sizes[i];
        c->lives[i].first = p->lives[2 * i];
        c->lives[i].last = p->lives[2 * i + 1];
    }
    int64_t need = cameo_plan(p->nplanned, c->lives, c->offsets, c->planning, CAMEO_PLAN_HASTE);
    if (p->resize_arena)
        return p->resize_arena(c, need);
    if (c->arena && need <= c->arena_size)
        return 0;
    free(c->arena);
    c->arena = (unsigned char *)cameo_aligned_alloc(need);
    c->arena_size = need;
    return c->arena ? 0 : cameo_fail(c, "no memory: %lld bytes are needed", (long long)need);
}

CAMEO_ONCE int cameo_set_output(cameo_context *c, int32_t i, void *elements, int64_t bytes)
{
    const cameo_model *m = c->program->model;
    if (i < 0 || i >= m->noutputs)
        return cameo_fail(c, "there is no output %d: the model has %d", (int)i, (int)m->noutputs);
    const cameo_port *port = &m->outputs[i];
    if (elements && (port->dtype == 8 || cameo_dtype_size(port->dtype) < 1))
        return cameo_fail(c,
                          "output %s is no tensor of numbers, which alone can be written to "
                          "memory of the caller's",
                          port->name);
    if (elements && ((uintptr_t)elements % CAMEO_ALIGN || bytes < 0))
        return cameo_fail(c,
                          "the memory for output %s has %lld bytes at %p; it has to begin at a "
                          "multiple of %d",
                          port->name, (long long)bytes, elements, (int)CAMEO_ALIGN);
    if (!c->lent)
        c->lent = (cameo_lent *)calloc((size_t)m->noutputs, sizeof *c->lent);
    if (!c->lent)
        return cameo_fail(c, "no memory");
    c->lent[i] = (cameo_lent){elements, elements ? bytes : 0};
    return 0;
}

CAMEO_FN int64_t cameo_input_bytes(const cameo_context *c, int32_t i)
{
    const cameo_value *v = &c->inputs[i];
    return cameo_bytes(cameo_dtype_size(c->program->model->inputs[i].dtype), v->rank, v->dims);
}

/* Where output i is written, if `own` is the context's memory for it. NULL, with an error: what the
 * caller lent is too small. */
CAMEO_ONCE void *cameo_place_output(cameo_context *c, int32_t i, void *own, int64_t bytes)
{
    const cameo_model *m = c->program->model;
    if (!c->lent || !c->lent[i].at)
        return own;
    const int32_t k = m->outputs[i].shares - 1;
    if (k >= 0 && c->lent[i].at == c->inputs[k].at && bytes != cameo_input_bytes(c, k)) {
        cameo_fail(c, "output %s, of %lld bytes, cannot lie where input %s, of %lld bytes, does",
                   m->outputs[i].name, (long long)bytes, m->inputs[k].name,
                   (long long)cameo_input_bytes(c, k));
        return NULL;
    }
    if (bytes >= 0 && bytes <= c->lent[i].bytes)
        return c->lent[i].at;
    cameo_fail(c, "output %s takes %lld bytes, but the memory for it has %lld",
               m->outputs[i].name, (long long)bytes, (long long)c->lent[i].bytes);
    return NULL;
}

/* As cameo_reserve, of an output. NULL: with an error. */
CAMEO_ONCE void *cameo_reserve_output(cameo_context *c, int32_t i, cameo_block *b, int64_t bytes)
{
    if (c->lent && c->lent[i].at)
        return cameo_place_output(c, i, NULL, bytes);
    void *at = cameo_reserve(b, bytes);
    if (!at)
        cameo_fail(c, "no memory for output %s", c->program->model->outputs[i].name);
    return at;
}

CAMEO_FN int cameo_overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a && b && x < y + (uint64_t)b_bytes && y < x + (uint64_t)a_bytes;
}

/* Does lent memory lie apart from inputs, but the one that it may share, and from other lent
 * memory? */
CAMEO_ONCE int cameo_check_lent(cameo_context *c)
{
    const cameo_model *m = c->program->model;
    for (int32_t i = 0; i < m->noutputs; i++) {
        const cameo_lent *to = &c->lent[i];
        for (int32_t k = 0; to->at && k < m->ninputs; k++) {
            const void *at = c->inputs[k].at;
            if (at == to->at && m->outputs[i].shares == k + 1)
                continue;
            if (cameo_overlap(to->at, to->bytes, at, cameo_input_bytes(c, k)))
                return cameo_fail(c, "the memory for output %s lies over that of input %s",
                                  m->outputs[i].name, m->inputs[k].name);
        }
        for (int32_t k = 0; k < i; k++)
            if (cameo_overlap(to->at, to->bytes, c->lent[k].at, c->lent[k].bytes))
                return cameo_fail(c, "the memory for output %s lies over that of output %s",
                                  m->outputs[i].name, m->outputs[k].name);
    }
    return 0;
}

CAMEO_FN int cameo_bind(cameo_context *c)
{
    const cameo_program *p = c->program;
    int64_t none = 0, *sizes = &none;
    if (p->plan && p->nplanned > 0) {
        sizes = (int64_t *)calloc((size_t)p->nplanned, sizeof *sizes);
        if (!sizes)
            return cameo_fail(c, "no memory");
    }
    int status = p->bind(c, sizes);
    if (status == 0 && p->plan)
        status = p->plan(c, sizes);
    if (sizes != &none)
        free(sizes);
    c->bound = status == 0;
    return status;
}

CAMEO_ONCE int cameo_run(cameo_context *c)
{
    const cameo_model *m = c->program->model;
    for (int32_t i = 0; i < m->ninputs; i++)
        if (!c->inputs[i].at)
            return cameo_fail(c, "input %s is not set", m->inputs[i].name);
    if (c->program->open && c->program->open(c) != 0)
        return -1;
    if (!c->bound && cameo_bind(c) != 0)
        return -1;
    if (c->lent && cameo_check_lent(c) != 0)
        return -1;
    return c->program->steps(c);
}

CAMEO_FN const void *cameo_output(const cameo_context *c, int32_t i, int32_t *rank,
                                  const int64_t **dims)
{
    if (i < 0 || i >= c->program->model->noutputs)
        return NULL;
    if (rank)
        *rank = c->outputs[i].rank;
    if (dims)
        *dims = c->outputs[i].dims;
    return c->outputs[i].at;
}

CAMEO_FN const char *cameo_error(const cameo_context *c)
{
    return c->error;
}

CAMEO_FN void cameo_show_output(cameo_context *c, int32_t i, const void *at, int32_t rank,
                                const int64_t *dims)
{
    c->outputs[i].at = at;
    c->outputs[i].rank = rank;
    for (int32_t k = 0; k < rank && k < CAMEO_MAX_RANK; k++)
        c->outputs[i].dims[k] = dims[k];
}

#endif
