/* The host side of a model on a CUDA device. A run records what is to be done: copies, launches,
 * products. What was recorded up to a point where the host must know a value is one CUDA graph,
 * kept for the next run that records the same. */
#ifndef CAMEO_CUDA_H
#define CAMEO_CUDA_H

#include "cameo_cublaslt.h"
#include "cameo_cuda_api.h"
#include "cameo_runtime.h"

enum { CAMEO_CUDA_SEGMENTS = 32, CAMEO_CUDA_MAX_BLOCKS = 65535 };

typedef enum cameo_op_kind {
    CAMEO_OP_COPY_IN,
    CAMEO_OP_COPY_OUT,
    CAMEO_OP_LAUNCH,
    CAMEO_OP_PRODUCT /* its arguments are a cameo_product */
} cameo_op_kind;

typedef struct cameo_op {
    int32_t kind, kernel;
    uint32_t blocks;
    uint16_t threads, slices; /* a block is threads * slices */
    uint32_t first, count;    /* arguments of a launch */
    uint64_t device;          /* copies */
    void *host;
    int64_t bytes;
} cameo_op;

typedef struct cameo_record {
    cameo_op *ops;
    uint64_t *args;
    uint32_t nops, nargs, room_ops, room_args;
} cameo_record;

typedef struct cameo_segment {
    cameo_record record;
    void *graph, *exec;
} cameo_segment;

/* What the emitted file says of its kernels. */
typedef struct cameo_cuda_module {
    const unsigned char *image; /* the fatbin */
    const char *const *kernels; /* names, NULL where a number is not used */
    int32_t nkernels;
    int64_t arena; /* bytes, -1: planned when sizes are known */
    int mirrored;  /* kernels on the host have an arena like that of the device */
} cameo_cuda_module;

typedef struct cameo_pinned {
    void *at;
    int64_t size;
} cameo_pinned;

typedef struct cameo_cuda {
    const cameo_cuda_module *module;
    cameo_cu cu;
    int device, has_context;
    void *context, *library, *stream;
    void **functions; /* by kernel */
    uint64_t weights, arena;
    int64_t arena_size;
    uint64_t *inputs, *blocks; /* device memory of each */
    int64_t *input_sizes, *block_sizes;
    cameo_pinned *pinned_inputs, *pinned_outputs, mirror;
    cameo_record record;
    cameo_segment segments[CAMEO_CUDA_SEGMENTS];
    cameo_lt lt;
    uint64_t workspace; /* of products */
    int32_t nsegments, nblocks, ninputs, noutputs;
    int ready;  /* all is loaded */
    int failed; /* an error stands in the context */
} cameo_cuda;

CAMEO_FN cameo_cuda *cameo_cuda_of(cameo_context *c)
{
    return (cameo_cuda *)c->device;
}

CAMEO_FN int cameo_cuda_failed(cameo_context *c, const char *what, int result)
{
    cameo_cuda *g = cameo_cuda_of(c);
    const char *text = NULL;
    if (g->failed)
        return -1;
    g->failed = 1;
    if (!g->cu.cuGetErrorString || g->cu.cuGetErrorString(result, &text) != 0 || !text)
        text = "unknown error";
    return cameo_fail(c, "CUDA: %s: %s (%d)", what, text, result);
}

/* Calls an entry of the driver; leaves the function with -1 if it fails. */
#define CAMEO_CU(c, entry, ...)                                                                    \
    do {                                                                                           \
        int result_ = cameo_cuda_of(c)->cu.entry(__VA_ARGS__);                                     \
        if (result_ != 0)                                                                          \
            return cameo_cuda_failed(c, #entry, result_);                                          \
    } while (0)

/* ---- recording ------------------------------------------------------------------------------ */

CAMEO_FN void *cameo_grown(void *at, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return at;
    uint32_t more = *room ? *room * 2 : 64;
    void *moved = realloc(at, more * size);
    if (moved)
        *room = more;
    return moved;
}

CAMEO_FN cameo_op *cameo_record_op(cameo_context *c, int32_t kind)
{
    cameo_cuda *g = cameo_cuda_of(c);
    cameo_record *r = &g->record;
    cameo_op *ops = (cameo_op *)cameo_grown(r->ops, r->nops, &r->room_ops, sizeof *ops);
    if (!ops) {
        g->failed = 1;
        cameo_fail(c, "no memory");
        return NULL;
    }
    r->ops = ops;
    cameo_op *op = &r->ops[r->nops++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    return op;
}

CAMEO_FN void cameo_record_arg(cameo_context *c, uint64_t value)
{
    cameo_cuda *g = cameo_cuda_of(c);
    cameo_record *r = &g->record;
    uint64_t *args = (uint64_t *)cameo_grown(r->args, r->nargs, &r->room_args, sizeof *args);
    if (!args) {
        g->failed = 1;
        cameo_fail(c, "no memory");
        return;
    }
    r->args = args;
    r->args[r->nargs++] = value;
}

CAMEO_FN void cameo_cuda_copy(cameo_context *c, int32_t kind, uint64_t device, void *host,
                              int64_t bytes)
{
    cameo_op *op = bytes > 0 ? cameo_record_op(c, kind) : NULL;
    if (!op)
        return;
    op->device = device;
    op->host = host;
    op->bytes = bytes;
}

/* Launches a kernel over `points`, each a block of `threads` threads, or (threads 0) a thread.
 * points -1: known on the device alone. */
CAMEO_FN void cameo_cuda_launch(cameo_context *c, int32_t kernel, int64_t points, uint32_t threads,
                                uint32_t nargs, const uint64_t *args)
{
    cameo_op *op = cameo_record_op(c, CAMEO_OP_LAUNCH);
    if (!op)
        return;
    int64_t blocks = points < 0 ? 128 : points, width = threads;
    if (!threads) {
        width = points < 0 || points >= 256 ? 256 : points < 1 ? 32 : (points + 31) / 32 * 32;
        blocks = points < 0 ? 128 : (points + width - 1) / width;
    }
    op->kernel = kernel;
    op->blocks = (uint32_t)(blocks < 1                       ? 1
                            : blocks > CAMEO_CUDA_MAX_BLOCKS ? CAMEO_CUDA_MAX_BLOCKS
                                                             : blocks);
    op->threads = (uint16_t)width;
    op->slices = 1;
    op->first = cameo_cuda_of(c)->record.nargs;
    op->count = nargs;
    for (uint32_t i = 0; i < nargs; i++)
        cameo_record_arg(c, args[i]);
}

/* Launches a kernel over `points`, each of which `least` to `parts` threads may share: as many as a
 * large device wants, so that few points fill it too; or one. */
CAMEO_FN void cameo_cuda_launch_slices(cameo_context *c, int32_t kernel, int64_t points,
                                       uint32_t least, uint32_t parts, uint32_t nargs,
                                       const uint64_t *args)
{
    enum { WANTED = 1 << 18, MOST = 16, THREADS = 256 /* CAMEO_SLICED_THREADS of the device */ };
    uint16_t slices = 1;
    while (slices < MOST && 2 * slices <= parts && points * 2 * slices <= WANTED)
        slices = (uint16_t)(2 * slices);
    cameo_cuda_launch(c, kernel, points, 0, nargs, args);
    if (cameo_cuda_of(c)->failed || points < 0 || slices < least)
        return;
    cameo_op *op = &cameo_cuda_of(c)->record.ops[cameo_cuda_of(c)->record.nops - 1];
    op->threads = (uint16_t)(THREADS / slices);
    op->slices = slices;
    op->blocks = (uint32_t)((points + op->threads - 1) / op->threads);
    if (op->blocks < 1)
        op->blocks = 1;
}

/* Launches a kernel with at least a thread for each element, in one dim. 0 or -1. */
CAMEO_FN int cameo_cuda_launch_each(cameo_context *c, int32_t kernel, int64_t elements,
                                    uint32_t nargs, const uint64_t *args)
{
    const int64_t blocks = (elements + 255) / 256;
    if (blocks > INT32_MAX)
        return cameo_fail(c, "CUDA: more elements than one launch has threads");
    cameo_cuda_launch(c, kernel, elements, 0, nargs, args);
    cameo_record *r = &cameo_cuda_of(c)->record;
    if (!cameo_cuda_of(c)->failed && blocks > CAMEO_CUDA_MAX_BLOCKS)
        r->ops[r->nops - 1].blocks = (uint32_t)blocks;
    return 0;
}

/* ---- products -------------------------------------------------------------------------------- */

/* An algorithm runs once before it is captured, on zeros of its own. */
CAMEO_FN int cameo_warm_product(cameo_context *c, cameo_lt_plan *plan, const cameo_product *s)
{
    cameo_cuda *g = cameo_cuda_of(c);
    cameo_product warm = *s;
    int64_t size = s->is_double ? 8 : 4, last = s->batch - 1;
    int64_t a = size * (last * s->a_stride + (s->a_transposed ? s->depth : s->rows) * s->a_ld);
    int64_t b = size * (last * s->b_stride + (s->b_transposed ? s->columns : s->depth) * s->b_ld);
    int64_t y = size * (last * s->y_stride + s->rows * s->y_ld);
    size_t bytes = (size_t)(cameo_aligned(a) + cameo_aligned(b) + y);
    if (!g->workspace)
        CAMEO_CU(c, cuMemAlloc, &g->workspace, CAMEO_LT_WORKSPACE);
    CAMEO_CU(c, cuMemAlloc, &warm.a, bytes);
    CAMEO_CU(c, cuMemsetD8, warm.a, 0, bytes);
    warm.b = warm.a + (uint64_t)cameo_aligned(a);
    warm.y = warm.b + (uint64_t)cameo_aligned(b);
    int status = cameo_lt_multiply(&g->lt, plan, &warm, g->workspace, g->stream);
    CAMEO_CU(c, cuStreamSynchronize, g->stream);
    CAMEO_CU(c, cuMemFree, warm.a);
    if (status != 0)
        cameo_lt_drop(&g->lt, plan);
    plan->is_warm = 1;
    return 0;
}

/* Records a product if the library does it; 0: the model's own kernel must. */
CAMEO_FN int cameo_cuda_product(cameo_context *c, const cameo_product *s)
{
    cameo_cuda *g = cameo_cuda_of(c);
    if (g->failed || s->rows < 1 || s->columns < 1 || s->depth < 1 || s->batch < 1 ||
        !cameo_lt_open(&g->lt))
        return 0;
    cameo_lt_plan *plan = cameo_lt_choose(&g->lt, s);
    if (plan && !plan->is_warm && cameo_warm_product(c, plan, s) != 0)
        return 0;
    cameo_op *op = plan && plan->desc ? cameo_record_op(c, CAMEO_OP_PRODUCT) : NULL;
    if (!op)
        return 0;
    uint64_t words[CAMEO_PRODUCT_WORDS];
    memcpy(words, s, sizeof words);
    op->first = g->record.nargs;
    op->count = CAMEO_PRODUCT_WORDS;
    for (uint32_t i = 0; i < CAMEO_PRODUCT_WORDS; i++)
        cameo_record_arg(c, words[i]);
    return 1;
}

/* ---- doing what was recorded ----------------------------------------------------------------- */

enum { CAMEO_CUDA_MAX_ARGS = 512 };

CAMEO_FN int cameo_add_launch(cameo_context *c, const cameo_record *r, const cameo_op *op,
                              void *graph, void **last)
{
    cameo_cuda *g = cameo_cuda_of(c);
    void *params[CAMEO_CUDA_MAX_ARGS];
    if (op->count > CAMEO_CUDA_MAX_ARGS)
        return cameo_fail(c, "a kernel has more than %d arguments", (int)CAMEO_CUDA_MAX_ARGS);
    for (uint32_t i = 0; i < op->count; i++)
        params[i] = &r->args[op->first + i];
    void *function = g->functions[op->kernel];
    if (!graph) {
        CAMEO_CU(c, cuLaunchKernel, function, op->blocks, 1, 1, op->threads, op->slices, 1, 0,
                 g->stream, params, NULL);
        return 0;
    }
    cameo_cu_kernel_node node = {.func = function,
                                 .grid_x = op->blocks,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .block_x = op->threads,
                                 .block_y = op->slices,
                                 .block_z = 1,
                                 .params = params};
    void *added = NULL;
    CAMEO_CU(c, cuGraphAddKernelNode, &added, graph, last, *last ? 1 : 0, &node);
    *last = added;
    return 0;
}

CAMEO_FN int cameo_add_copy(cameo_context *c, const cameo_op *op, void *graph, void **last)
{
    cameo_cuda *g = cameo_cuda_of(c);
    int in = op->kind == CAMEO_OP_COPY_IN;
    size_t bytes = (size_t)op->bytes;
    if (!graph && in)
        CAMEO_CU(c, cuMemcpyHtoDAsync, op->device, op->host, bytes, g->stream);
    else if (!graph)
        CAMEO_CU(c, cuMemcpyDtoHAsync, op->host, op->device, bytes, g->stream);
    if (!graph)
        return 0;
    cameo_cu_copy_node node = {.width = bytes, .height = 1, .depth = 1};
    cameo_cu_copy_side host = {.memory_type = 1, .host = op->host};
    cameo_cu_copy_side device = {.memory_type = 2, .device = op->device};
    node.from = in ? host : device;
    node.to = in ? device : host;
    void *added = NULL;
    CAMEO_CU(c, cuGraphAddMemcpyNode, &added, graph, last, *last ? 1 : 0, &node, g->context);
    *last = added;
    return 0;
}

CAMEO_FN int cameo_add_product(cameo_context *c, const cameo_record *r, const cameo_op *op,
                               void *graph, void **last)
{
    enum { RELAXED = 2 };
    cameo_cuda *g = cameo_cuda_of(c);
    cameo_product s;
    memcpy(&s, &r->args[op->first], sizeof s);
    cameo_lt_plan *plan = cameo_lt_choose(&g->lt, &s);
    if (!plan)
        return cameo_fail(c, "CUDA: a product's plan is gone");
    if (graph)
        CAMEO_CU(c, cuStreamBeginCaptureToGraph, g->stream, graph, last, NULL, *last ? 1 : 0,
                 RELAXED);
    int status = cameo_lt_multiply(&g->lt, plan, &s, g->workspace, g->stream);
    if (status != 0)
        return cameo_fail(c, "CUDA: cublasLtMatmul: status %d", status);
    if (!graph)
        return 0;
    int state = 0;
    uint64_t id = 0;
    size_t n = 0;
    void *captured = NULL, *const *ends = NULL;
    const void *edges = NULL;
    CAMEO_CU(c, cuStreamGetCaptureInfo, g->stream, &state, &id, &captured, &ends, &edges, &n);
    if (n == 1)
        *last = ends[0];
    else if (n > 1)
        CAMEO_CU(c, cuGraphAddEmptyNode, last, graph, ends, n);
    CAMEO_CU(c, cuStreamEndCapture, g->stream, &captured);
    return 0;
}

/* All that is recorded, to a graph or (NULL) to the stream. Each waits for the one before. */
CAMEO_FN int cameo_add_all(cameo_context *c, const cameo_record *r, void *graph)
{
    void *last = NULL;
    for (uint32_t i = 0; i < r->nops; i++) {
        const cameo_op *op = &r->ops[i];
        int status = op->kind == CAMEO_OP_LAUNCH    ? cameo_add_launch(c, r, op, graph, &last)
                     : op->kind == CAMEO_OP_PRODUCT ? cameo_add_product(c, r, op, graph, &last)
                                                    : cameo_add_copy(c, op, graph, &last);
        if (status != 0)
            return -1;
    }
    return 0;
}

CAMEO_FN int cameo_same_record(const cameo_record *a, const cameo_record *b)
{
    return a->nops == b->nops && a->nargs == b->nargs &&
           memcmp(a->ops, b->ops, a->nops * sizeof *a->ops) == 0 &&
           (a->nargs == 0 || memcmp(a->args, b->args, a->nargs * sizeof *a->args) == 0);
}

CAMEO_FN int cameo_cuda_build(cameo_context *c, cameo_segment *s)
{
    cameo_cuda *g = cameo_cuda_of(c);
    CAMEO_CU(c, cuGraphCreate, &s->graph, 0);
    if (cameo_add_all(c, &s->record, s->graph) != 0)
        return -1;
    CAMEO_CU(c, cuGraphInstantiateWithFlags, &s->exec, s->graph, 0);
    CAMEO_CU(c, cuGraphUpload, s->exec, g->stream);
    return 0;
}

/* Does what was recorded since the last time and waits for it. */
CAMEO_FN int cameo_cuda_flush(cameo_context *c)
{
    cameo_cuda *g = cameo_cuda_of(c);
    if (g->failed)
        return -1;
    cameo_record *r = &g->record;
    cameo_segment *s = NULL;
    for (int32_t i = 0; i < g->nsegments && r->nops; i++)
        if (cameo_same_record(r, &g->segments[i].record))
            s = &g->segments[i];
    if (!s && r->nops && g->nsegments < CAMEO_CUDA_SEGMENTS) {
        s = &g->segments[g->nsegments++];
        s->record = *r;
        memset(r, 0, sizeof *r);
        if (cameo_cuda_build(c, s) != 0)
            return -1;
    }
    if (s)
        CAMEO_CU(c, cuGraphLaunch, s->exec, g->stream);
    else if (cameo_add_all(c, r, NULL) != 0)
        return -1;
    r->nops = r->nargs = 0;
    CAMEO_CU(c, cuStreamSynchronize, g->stream);
    return 0;
}

/* Graphs hold addresses: they go when memory moves. */
CAMEO_FN void cameo_cuda_forget(cameo_cuda *g)
{
    for (int32_t i = 0; i < g->nsegments; i++) {
        cameo_segment *s = &g->segments[i];
        if (s->exec)
            g->cu.cuGraphExecDestroy(s->exec);
        if (s->graph)
            g->cu.cuGraphDestroy(s->graph);
        free(s->record.ops);
        free(s->record.args);
        memset(s, 0, sizeof *s);
    }
    g->nsegments = 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Device memory of at least `bytes`, with the first `keep` bytes of what it was. */
CAMEO_FN int cameo_cuda_grow(cameo_context *c, uint64_t *at, int64_t *size, int64_t bytes,
                             int64_t keep)
{
    cameo_cuda *g = cameo_cuda_of(c);
    uint64_t moved = 0;
    if (*at && bytes <= *size)
        return 0;
    CAMEO_CU(c, cuMemAlloc, &moved, (size_t)cameo_aligned(bytes < 1 ? 1 : bytes));
    if (*at && keep > 0)
        CAMEO_CU(c, cuMemcpyDtoD, moved, *at, (size_t)keep);
    if (*at) {
        cameo_cuda_forget(g);
        CAMEO_CU(c, cuMemFree, *at);
    }
    *at = moved;
    *size = bytes;
    return 0;
}

CAMEO_FN int cameo_cuda_pin(cameo_context *c, cameo_pinned *p, int64_t bytes)
{
    cameo_cuda *g = cameo_cuda_of(c);
    if (p->at && bytes <= p->size)
        return 0;
    if (p->at) {
        cameo_cuda_forget(g);
        CAMEO_CU(c, cuMemFreeHost, p->at);
    }
    p->at = NULL;
    CAMEO_CU(c, cuMemAllocHost, &p->at, (size_t)cameo_aligned(bytes < 1 ? 1 : bytes));
    p->size = bytes;
    return 0;
}

/* A value whose size is known only now: its address, 0 if there is no memory. */
CAMEO_FN uint64_t cameo_cuda_reserve(cameo_context *c, int32_t block, int64_t bytes)
{
    cameo_cuda *g = cameo_cuda_of(c);
    int64_t old = g->block_sizes[block];
    if (bytes < 0)
        return cameo_fail(c, "these sizes need more memory than there is"), 0;
    if (g->blocks[block] && bytes <= old)
        return g->blocks[block];
    if (cameo_cuda_flush(c) != 0 ||
        cameo_cuda_grow(c, &g->blocks[block], &g->block_sizes[block], bytes + bytes / 2, old) != 0)
        return 0;
    return g->blocks[block];
}

/* Memory for planned values once their sizes are known: cameo_program.resize_arena. */
CAMEO_FN int cameo_cuda_arena(cameo_context *c, int64_t bytes)
{
    cameo_cuda *g = cameo_cuda_of(c);
    if (g->module->mirrored && cameo_cuda_pin(c, &g->mirror, bytes) != 0)
        return -1;
    return cameo_cuda_grow(c, &g->arena, &g->arena_size, bytes, 0);
}

CAMEO_FN unsigned char *cameo_cuda_mirror(cameo_context *c)
{
    return (unsigned char *)cameo_cuda_of(c)->mirror.at;
}

/* A value on its way to a kernel on the host, and back, while nothing is under way. */
CAMEO_FN int cameo_cuda_pull(cameo_context *c, uint64_t at, void *host, int64_t bytes)
{
    if (bytes > 0)
        CAMEO_CU(c, cuMemcpyDtoH, host, at, (size_t)bytes);
    return 0;
}
CAMEO_FN int cameo_cuda_push(cameo_context *c, uint64_t at, const void *host, int64_t bytes)
{
    if (bytes > 0)
        CAMEO_CU(c, cuMemcpyHtoD, at, host, (size_t)bytes);
    return 0;
}

/* Input i on its way to the device. */
CAMEO_FN uint64_t cameo_cuda_input(cameo_context *c, int32_t i)
{
    cameo_cuda *g = cameo_cuda_of(c);
    const cameo_value *v = &c->inputs[i];
    int64_t bytes =
        cameo_bytes(cameo_dtype_size(c->program->model->inputs[i].dtype), v->rank, v->dims);
    if (bytes < 0 || cameo_cuda_grow(c, &g->inputs[i], &g->input_sizes[i], bytes, 0) != 0 ||
        cameo_cuda_pin(c, &g->pinned_inputs[i], bytes) != 0) {
        g->failed = 1;
        return 0;
    }
    if (bytes > 0)
        memcpy(g->pinned_inputs[i].at, v->at, (size_t)bytes);
    cameo_cuda_copy(c, CAMEO_OP_COPY_IN, g->inputs[i], g->pinned_inputs[i].at, bytes);
    return g->inputs[i];
}

/* Output i on its way back. */
CAMEO_FN int cameo_cuda_output(cameo_context *c, int32_t i, uint64_t at, int32_t rank,
                               const int64_t *dims)
{
    cameo_cuda *g = cameo_cuda_of(c);
    int64_t bytes = cameo_bytes(cameo_dtype_size(c->program->model->outputs[i].dtype), rank, dims);
    if (bytes < 0 || g->failed)
        return g->failed ? -1 : cameo_fail(c, "an output needs more memory than there is");
    if (cameo_cuda_pin(c, &g->pinned_outputs[i], bytes) != 0)
        return -1;
    cameo_cuda_copy(c, CAMEO_OP_COPY_OUT, at, g->pinned_outputs[i].at, bytes);
    cameo_show_output(c, i, g->pinned_outputs[i].at, rank, dims);
    return 0;
}

/* The end of a run: all outputs are there, also in memory that the caller lent. */
CAMEO_FN int cameo_cuda_end(cameo_context *c)
{
    if (cameo_cuda_flush(c) != 0)
        return -1;
    for (int32_t i = 0; c->lent && i < c->program->model->noutputs; i++) {
        cameo_value *v = &c->outputs[i];
        if (!c->lent[i].at)
            continue;
        const int64_t bytes =
            cameo_bytes(cameo_dtype_size(c->program->model->outputs[i].dtype), v->rank, v->dims);
        void *at = cameo_place_output(c, i, NULL, bytes);
        if (!at)
            return -1;
        memcpy(at, v->at, (size_t)bytes);
        v->at = at;
    }
    return 0;
}

/* A number that the host decides by. */
CAMEO_FN int cameo_cuda_read(cameo_context *c, uint64_t at, int64_t *value)
{
    if (cameo_cuda_flush(c) != 0)
        return -1;
    CAMEO_CU(c, cuMemcpyDtoH, value, at, sizeof *value);
    return 0;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

CAMEO_FN void cameo_cuda_free(void *device)
{
    cameo_cuda *g = (cameo_cuda *)device;
    if (g->has_context) {
        g->cu.cuCtxSetCurrent(g->context);
        cameo_cuda_forget(g);
        cameo_lt_close(&g->lt);
        if (g->workspace)
            g->cu.cuMemFree(g->workspace);
        for (int32_t i = 0; i < g->nblocks; i++)
            if (g->blocks[i])
                g->cu.cuMemFree(g->blocks[i]);
        for (int32_t i = 0; i < g->ninputs; i++) {
            if (g->inputs[i])
                g->cu.cuMemFree(g->inputs[i]);
            if (g->pinned_inputs[i].at)
                g->cu.cuMemFreeHost(g->pinned_inputs[i].at);
        }
        for (int32_t i = 0; i < g->noutputs; i++)
            if (g->pinned_outputs[i].at)
                g->cu.cuMemFreeHost(g->pinned_outputs[i].at);
        if (g->mirror.at)
            g->cu.cuMemFreeHost(g->mirror.at);
        if (g->arena)
            g->cu.cuMemFree(g->arena);
        if (g->weights)
            g->cu.cuMemFree(g->weights);
        if (g->library)
            g->cu.cuLibraryUnload(g->library);
        if (g->stream)
            g->cu.cuStreamDestroy(g->stream);
        g->cu.cuDevicePrimaryCtxRelease(g->device);
    }
    free(g->record.ops);
    free(g->record.args);
    free(g->functions);
    free(g->inputs);
    free(g->input_sizes);
    free(g->blocks);
    free(g->block_sizes);
    free(g->pinned_inputs);
    free(g->pinned_outputs);
    free(g);
}

CAMEO_FN int cameo_cuda_tables(cameo_context *c, const cameo_cuda_module *m)
{
    cameo_cuda *g = (cameo_cuda *)calloc(1, sizeof *g);
    if (!g)
        return cameo_fail(c, "no memory");
    c->device = g;
    c->free_device = cameo_cuda_free;
    g->module = m;
    g->ninputs = c->program->model->ninputs;
    g->noutputs = c->program->model->noutputs;
    g->nblocks = c->program->nblocks;
    size_t n = (size_t)g->ninputs + 1, blocks = (size_t)g->nblocks + 1;
    g->functions = (void **)calloc((size_t)m->nkernels + 1, sizeof *g->functions);
    g->inputs = (uint64_t *)calloc(n, sizeof *g->inputs);
    g->input_sizes = (int64_t *)calloc(n, sizeof *g->input_sizes);
    g->blocks = (uint64_t *)calloc(blocks, sizeof *g->blocks);
    g->block_sizes = (int64_t *)calloc(blocks, sizeof *g->block_sizes);
    g->pinned_inputs = (cameo_pinned *)calloc(n, sizeof *g->pinned_inputs);
    g->pinned_outputs = (cameo_pinned *)calloc((size_t)g->noutputs + 1, sizeof *g->pinned_outputs);
    if (!g->functions || !g->inputs || !g->input_sizes || !g->blocks || !g->block_sizes ||
        !g->pinned_inputs || !g->pinned_outputs)
        return cameo_fail(c, "no memory");
    return 0;
}

CAMEO_FN int cameo_cuda_load(cameo_context *c, const cameo_cuda_module *m)
{
    cameo_cuda *g = cameo_cuda_of(c);
    CAMEO_CU(c, cuInit, 0);
    CAMEO_CU(c, cuDeviceGet, &g->device, 0);
    CAMEO_CU(c, cuDevicePrimaryCtxRetain, &g->context, g->device);
    g->has_context = 1;
    CAMEO_CU(c, cuCtxSetCurrent, g->context);
    CAMEO_CU(c, cuStreamCreate, &g->stream, 1); /* 1: does not wait for the default stream */
    CAMEO_CU(c, cuLibraryLoadData, &g->library, m->image, NULL, NULL, 0, NULL, NULL, 0);
    for (int32_t i = 0; i < m->nkernels; i++) {
        void *kernel = NULL;
        if (!m->kernels[i])
            continue;
        CAMEO_CU(c, cuLibraryGetKernel, &kernel, g->library, m->kernels[i]);
        CAMEO_CU(c, cuKernelGetFunction, &g->functions[i], kernel);
    }
    int64_t size = c->program->weights_size;
    if (size > 0) {
        CAMEO_CU(c, cuMemAlloc, &g->weights, (size_t)size);
        CAMEO_CU(c, cuMemcpyHtoD, g->weights, c->weights, (size_t)size);
    }
    if (m->arena >= 0 && cameo_cuda_arena(c, m->arena) != 0)
        return -1;
    g->ready = 1;
    return 0;
}

/* Opens the device when a context first runs. */
CAMEO_FN int cameo_cuda_open(cameo_context *c, const cameo_cuda_module *m)
{
    if (!c->device) {
        if (cameo_cuda_tables(c, m) != 0)
            return -1;
        const char *missing = cameo_cu_open(&cameo_cuda_of(c)->cu);
        if (missing) {
            cameo_cuda_of(c)->failed = 1;
            return cameo_fail(c, "CUDA: %s cannot be loaded", missing);
        }
        return cameo_cuda_load(c, m);
    }
    cameo_cuda *g = cameo_cuda_of(c);
    if (!g->ready)
        return -1;
    g->failed = 0;
    g->record.nops = g->record.nargs = 0;
    CAMEO_CU(c, cuCtxSetCurrent, g->context);
    return 0;
}

#endif
