// The interpreter: memory, steps, inputs and outputs. Expressions are in interp_expr.c, statements
// in interp_stmt.c, arithmetic in interp_scalar.c.
//
// Buffers have the dims that hold when they are touched. A buffer that grows keeps what it holds,
// since loops append to it.

#include "ir/interp.h"
#include "ir/interp_state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void interp_fail(Interp *s, const char *format, ...)
{
    if (s->failed)
        return;
    va_list args;
    Buf text = {0};
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    *s->error = (Str){arena_copy(s->mod->arena, text.at, text.len), text.len};
    buf_free(&text);
    s->failed = true;
}

bool interp_take(Interp *s, uint64_t bytes)
{
    if (bytes > s->limits.max_bytes || s->bytes > s->limits.max_bytes - bytes)
        interp_fail(s, "more than %llu bytes", (unsigned long long)s->limits.max_bytes);
    else
        s->bytes += bytes;
    return !s->failed;
}

// Bytes of a tensor; false where that overflows or a dim is negative.
static bool bytes_of(DType t, uint32_t rank, const int64_t *dims, uint64_t *bytes)
{
    bool empty = false;
    *bytes = dtype_stored_bytes(t);
    for (uint32_t k = 0; k < rank; k++) {
        if (dims[k] < 0)
            return false;
        empty |= dims[k] == 0;
    }
    for (uint32_t k = 0; k < rank && !empty; k++)
        if (__builtin_mul_overflow(*bytes, (uint64_t)dims[k], bytes))
            return false;
    if (empty)
        *bytes = 0;
    return *bytes <= INT64_MAX;
}

bool interp_reserve(Interp *s, BufferId b)
{
    Memory *m = &s->memory[b];
    uint64_t bytes;
    if (buffer_at(s->mod, b)->dtype == DT_F64X2) {
        interp_fail(s, "double-double numbers are computed by programs alone");
        return false;
    }
    if (!bytes_of(buffer_at(s->mod, b)->dtype, buffer_at(s->mod, b)->rank, interp_dims(s, b),
                  &bytes)) {
        interp_fail(s, "the size of buffer %u is no size", b);
        return false;
    }
    if (bytes > m->bytes) {
        if (!interp_take(s, bytes - m->bytes))
            return false;
        unsigned char *more = realloc(m->own, bytes);
        if (!more) {
            interp_fail(s, "no memory for buffer %u", b);
            return false;
        }
        memset(more + m->bytes, 0, bytes - m->bytes);
        m->at = m->own = more;
        m->bytes = bytes;
    }
    m->reserved = s->epoch;
    return !s->failed;
}

// ---- steps -----------------------------------------------------------------------------------

typedef enum Outcome { GO_ON, LEAVE } Outcome;

static Outcome run_steps(Interp *s, const Step *step);

static void set_dim(Interp *s, DimId d, int64_t v)
{
    if (s->dims[d] != v) {
        s->dims[d] = v;
        s->epoch++;
    }
}

static void run_loop(Interp *s, const Step *step)
{
    int64_t n = step->value ? interp_index(s, step->value) : INT64_MAX;
    for (int64_t i = 0; !s->failed; i++) {
        set_dim(s, step->dim, i);
        s->kernel++; // conditions of steps read anew what bodies have written
        if (s->limits.max_operations && ++s->operations > s->limits.max_operations)
            interp_fail(s, "more than %llu operations",
                        (unsigned long long)s->limits.max_operations);
        if (i >= n || s->failed || run_steps(s, step->body) == LEAVE)
            return;
    }
}

static Outcome run_step(Interp *s, const Step *step)
{
    s->kernel++;
    switch (step->kind) {
    case STEP_KERNEL:
        interp_kernel(s, step->kernel);
        return GO_ON;
    case STEP_DIM:
        set_dim(s, step->dim, interp_index(s, step->value));
        return GO_ON;
    case STEP_CHECK:
        if (!interp_expr(s, step->cond).i)
            interp_fail(s, "%.*s", STR_ARG(step->message));
        return GO_ON;
    case STEP_IF:
        return run_steps(s, interp_expr(s, step->cond).i ? step->body : step->other);
    case STEP_LOOP:
        run_loop(s, step);
        return GO_ON;
    case STEP_CALL:
        interp_call(s, step);
        return GO_ON;
    case STEP_BREAK:
        return interp_expr(s, step->cond).i ? LEAVE : GO_ON;
    }
    return GO_ON;
}

static Outcome run_steps(Interp *s, const Step *step)
{
    for (; step && !s->failed; step = step->next)
        if (run_step(s, step) == LEAVE)
            return LEAVE;
    return GO_ON;
}

// ---- inputs and outputs ----------------------------------------------------------------------

static DimId lone_dim(Index i)
{
    bool lone = i->nterms == 1 && i->terms[0].natoms == 1 && i->terms[0].coeff == 1;
    return lone && i->terms[0].atoms[0]->kind == ATOM_DIM ? i->terms[0].atoms[0]->var : 0;
}

// Dims that stand alone in an input's shape are learnt from it; the others must agree.
static void bind_dims(Interp *s, const InterpTensor *inputs)
{
    uint8_t *seen = NEWS(s->arena, uint8_t, s->ndims);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < s->mod->inputs.len; i++) {
            const Buffer *b = buffer_at(s->mod, s->mod->inputs.at[i]);
            for (uint32_t k = 0; k < b->rank && !s->failed; k++) {
                DimId d = lone_dim(b->dims[k]);
                if (pass == 0 && d && !seen[d]) {
                    seen[d] = 1;
                    set_dim(s, d, inputs[i].dims[k]);
                } else if (pass == 1 && interp_index(s, b->dims[k]) != inputs[i].dims[k]) {
                    interp_fail(s, "input %u has %lld as dim %u, expected %lld", i,
                                (long long)inputs[i].dims[k], k,
                                (long long)interp_index(s, b->dims[k]));
                }
            }
        }
}

static void bind_inputs(Interp *s, const InterpTensor *inputs)
{
    for (uint32_t i = 0; i < s->mod->inputs.len && !s->failed; i++) {
        const Buffer *b = buffer_at(s->mod, s->mod->inputs.at[i]);
        Memory *m = &s->memory[s->mod->inputs.at[i]];
        m->at = inputs[i].elements;
        if (inputs[i].dtype != b->dtype || inputs[i].rank != b->rank)
            interp_fail(s, "input %u is %s of rank %u, expected %s of rank %u", i,
                        dtype_name(inputs[i].dtype), inputs[i].rank, dtype_name(b->dtype), b->rank);
        else if (!bytes_of(b->dtype, b->rank, inputs[i].dims, &m->bytes))
            interp_fail(s, "the size of input %u is no size", i);
        else if (b->dtype == DT_OBJECT)
            interp_bind_list(s, s->mod->inputs.at[i], inputs[i].elements);
        else if (b->dtype == DT_STRING)
            interp_bind_strings(s, s->mod->inputs.at[i], inputs[i].elements, m->bytes / 8);
    }
    if (!s->failed)
        bind_dims(s, inputs);
}

static void bind_weights(Interp *s)
{
    for (BufferId b = 1; b < s->mod->buffers.len && !s->failed; b++) {
        const Buffer *buf = buffer_at(s->mod, b);
        if (buf->kind != BUF_WEIGHT)
            continue;
        Str error = STR_NONE;
        TensorData *data = (TensorData *)(uintptr_t)buf->data;
        s->memory[b].at = tensor_elements(s->mod->model, data, &error);
        s->memory[b].bytes = tensor_count(data) * dtype_stored_bytes(buf->dtype);
        if (!s->memory[b].at)
            interp_fail(s, "%.*s", STR_ARG(error));
        else if (buf->dtype == DT_STRING)
            interp_bind_strings(s, b, (const Str *)(const void *)s->memory[b].at,
                                tensor_count(data));
    }
}

static void take_output(Interp *s, uint32_t i, InterpTensor *out)
{
    BufferId id = s->mod->outputs.at[i];
    const Buffer *b = buffer_at(s->mod, id);
    uint64_t bytes;
    if (!interp_reserve(s, id) || !bytes_of(b->dtype, b->rank, interp_dims(s, id), &bytes))
        return;
    *out = (InterpTensor){.dtype = b->dtype, .rank = b->rank};
    memcpy(out->dims, interp_dims(s, id), b->rank * sizeof *out->dims);
    if (dtype_is_reference(b->dtype)) {
        out->elements =
            b->dtype == DT_STRING ? interp_take_strings(s, id, bytes / 8) : interp_take_list(s, id);
        return;
    }
    out->elements = calloc(bytes ? bytes : 1, 1);
    if (!out->elements)
        interp_fail(s, "no memory for output %u", i);
    else if (bytes)
        memcpy(out->elements, s->memory[id].at, bytes);
}

// ---- running ---------------------------------------------------------------------------------

static Interp interp_begin(Module *mod, const InterpLimits *limits, Str *error)
{
    Interp s = {.mod = mod, .arena = arena_new(), .epoch = 1, .limits = *limits, .error = error};
    s.nexprs = mod->nexprs + 1;
    s.nlocals = mod->nlocals + 1;
    s.nloops = loop_count(mod->polys) + 1;
    s.ndims = dim_count(mod->polys) + 1;
    s.memory = NEWS(s.arena, Memory, mod->buffers.len);
    s.locals = NEWS(s.arena, Local, s.nlocals);
    s.memos = NEWS(s.arena, Memo, s.nexprs);
    s.dims = NEWS(s.arena, int64_t, s.ndims);
    s.loops = NEWS(s.arena, int64_t, s.nloops);
    s.written = NEWS(s.arena, uint8_t, mod->buffers.len);
    if (module_has_objects(mod))
        interp_begin_objects(&s);
    return s;
}

bool interp_run(Module *mod, const InterpTensor *inputs, InterpTensor *outputs,
                const InterpLimits *limits, Str *error)
{
    Interp s = interp_begin(mod, limits, error);
    memset(outputs, 0, mod->outputs.len * sizeof *outputs);
    bind_inputs(&s, inputs);
    bind_weights(&s);
    run_steps(&s, mod->steps);
    for (uint32_t i = 0; i < mod->outputs.len && !s.failed; i++)
        take_output(&s, i, &outputs[i]);
    for (uint32_t i = 0; i < mod->outputs.len && s.failed; i++)
        interp_free(&outputs[i]);
    for (BufferId b = 1; b < mod->buffers.len; b++)
        free(s.memory[b].own);
    for (uint32_t i = 0; i < s.nlocals; i++)
        free(s.locals[i].row);
    interp_end_objects(&s);
    arena_free(s.arena);
    return !s.failed;
}

void interp_free(InterpTensor *t)
{
    free(t->elements);
    *t = (InterpTensor){0};
}
