#include "codegen/cpu/constants.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 40 };

// ---- what can be computed ----------------------------------------------------------------------

static bool load_fits(const Iterations *x, const Expr *e)
{
    const Buffer *b = buffer_at(x->mod, e->buffer);
    Str error;
    if (b->kind != BUF_WEIGHT || !b->data || b->data->rank != e->rank ||
        !tensor_elements(x->mod->model, (TensorData *)(uintptr_t)b->data, &error))
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (!iterations_know(x, e->at[i]) || !poly_equals(b->dims[i], b->data->dims[i]))
            return false;
    return true;
}

static bool integer_op(BinaryOp op)
{
    return op == B_ADD || op == B_SUB || op == B_MUL || op == B_AND || op == B_OR || op == B_XOR ||
           op == B_SHL || op == B_SHR;
}

static bool computes(const Iterations *x, const Expr *e, int depth)
{
    const bool whole = dtype_is_integer(e->dtype);
    if (depth > MAX_DEPTH)
        return false;
    if (e->kind == EX_LOAD) // a narrow float stands behind a cast
        return (whole || dtype_is_float(e->dtype)) && dtype_stored_bytes(e->dtype) <= 4 &&
               load_fits(x, e);
    if (!whole && e->dtype != DT_F32)
        return false;
    switch (e->kind) {
    case EX_CONST:
        return true;
    case EX_INDEX:
        return iterations_know(x, e->index);
    case EX_CAST: {
        bool narrow = e->a->dtype == DT_F16 || e->a->dtype == DT_BF16;
        bool from = dtype_is_integer(e->a->dtype) ||
                    (!whole && (e->a->dtype == DT_F32 || (narrow && e->a->kind == EX_LOAD)));
        return from && dtype_info(e->dtype)->bytes * 8u == dtype_info(e->dtype)->bits &&
               computes(x, e->a, depth + 1);
    }
    case EX_UNARY:
        return !whole && (e->op == U_SQRT || e->op == U_NEG) && computes(x, e->a, depth + 1);
    case EX_BINARY: {
        BinaryOp op = (BinaryOp)e->op;
        bool can =
            whole ? integer_op(op) : op == B_ADD || op == B_SUB || op == B_MUL || op == B_DIV;
        return can && e->a->dtype == e->dtype && e->b->dtype == e->dtype &&
               computes(x, e->a, depth + 1) && computes(x, e->b, depth + 1);
    }
    default:
        return false;
    }
}

bool constant_computes(const Iterations *x, const Expr *e)
{
    return computes(x, e, 0);
}

// ---- expressions -------------------------------------------------------------------------------

static const void *elements_of(Iterations *x, const Expr *load, int64_t *places)
{
    const Buffer *b = buffer_at(x->mod, load->buffer);
    Str error;
    iterations_places(x, load->rank, b->dims, load->at, places);
    const void *at = tensor_elements(x->mod->model, (TensorData *)(uintptr_t)b->data, &error);
    x->failed |= !at;
    return x->failed ? NULL : at;
}

static void load_integers(Iterations *x, const Expr *e, int64_t *to)
{
    int64_t places[CONSTANT_LANES];
    const unsigned char *from = elements_of(x, e, places);
    const uint32_t bytes = dtype_stored_bytes(e->dtype), n = from ? x->n : 0;
    for (uint32_t i = n; i < x->n; i++)
        to[i] = 0;
    for (uint32_t i = 0; e->dtype == DT_U8 && i < n; i++)
        to[i] = from[places[i]];
    for (uint32_t i = 0; e->dtype == DT_I8 && i < n; i++)
        to[i] = (int8_t)from[places[i]];
    for (uint32_t i = 0; e->dtype != DT_U8 && e->dtype != DT_I8 && i < n; i++)
        to[i] = scalar_load(e->dtype, from + (uint64_t)places[i] * bytes).i;
}

static void load_floats(Iterations *x, const Expr *e, float *to)
{
    int64_t places[CONSTANT_LANES];
    const unsigned char *from = elements_of(x, e, places);
    const uint32_t bytes = dtype_stored_bytes(e->dtype);
    for (uint32_t i = 0; i < x->n; i++)
        to[i] = from ? (float)scalar_load(e->dtype, from + (uint64_t)places[i] * bytes).f : 0;
}

// What is left of an integer in this dtype.
static void wrap(DType t, uint32_t n, int64_t *to)
{
    const uint32_t shift = 64 - dtype_info(t)->bits;
    if (shift == 0)
        return;
    if (dtype_is_signed(t))
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] << shift) >> shift;
    else
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] << shift >> shift);
}

static void shift(bool left, int64_t bits, uint32_t n, int64_t *to, const int64_t *by)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = by[i] < 0 || by[i] >= bits ? 0
                : left                     ? (int64_t)((uint64_t)to[i] << by[i])
                                           : to[i] >> by[i];
}

// to = to op by, before it is wrapped.
static void operate(BinaryOp op, int64_t bits, uint32_t n, int64_t *to, const int64_t *by)
{
    switch (op) {
    case B_ADD:
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)by[i]);
        return;
    case B_SUB:
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] - (uint64_t)by[i]);
        return;
    case B_MUL:
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] * (uint64_t)by[i]);
        return;
    case B_AND:
        for (uint32_t i = 0; i < n; i++)
            to[i] &= by[i];
        return;
    case B_OR:
        for (uint32_t i = 0; i < n; i++)
            to[i] |= by[i];
        return;
    case B_XOR:
        for (uint32_t i = 0; i < n; i++)
            to[i] ^= by[i];
        return;
    default:
        shift(op == B_SHL, bits, n, to, by);
    }
}

void constant_integers(Iterations *x, const Expr *e, int64_t *to)
{
    int64_t other[CONSTANT_LANES];
    switch (e->kind) {
    case EX_LOAD:
        load_integers(x, e, to);
        return;
    case EX_INDEX:
        iterations_index(x, e->index, to);
        return;
    case EX_CAST:
        constant_integers(x, e->a, to);
        wrap(e->dtype, x->n, to);
        return;
    case EX_BINARY:
        constant_integers(x, e->a, to);
        constant_integers(x, e->b, other);
        operate((BinaryOp)e->op, dtype_info(e->dtype)->bits, x->n, to, other);
        wrap(e->dtype, x->n, to);
        return;
    default:
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = e->value.i;
    }
}

void constant_floats(Iterations *x, const Expr *e, float *to)
{
    int64_t whole[CONSTANT_LANES];
    float other[CONSTANT_LANES];
    switch (e->kind) {
    case EX_LOAD:
        load_floats(x, e, to);
        return;
    case EX_CAST:
        if (!dtype_is_integer(e->a->dtype)) {
            constant_floats(x, e->a, to);
            return;
        }
        constant_integers(x, e->a, whole);
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = (float)whole[i];
        return;
    case EX_BINARY:
        constant_floats(x, e->a, to);
        constant_floats(x, e->b, other);
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = e->op == B_ADD   ? to[i] + other[i]
                    : e->op == B_SUB ? to[i] - other[i]
                    : e->op == B_DIV ? to[i] / other[i]
                                     : to[i] * other[i];
        return;
    case EX_UNARY:
        constant_floats(x, e->a, to);
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = e->op == U_NEG ? -to[i] : sqrtf(to[i]);
        return;
    default:
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = (float)e->value.f;
    }
}

void constant_forget(const Iterations *x, const Expr *e)
{
    Str error;
    if (e->kind == EX_LOAD) {
        const TensorData *data = buffer_at(x->mod, e->buffer)->data;
        const void *at = tensor_elements(x->mod->model, (TensorData *)(uintptr_t)data, &error);
        if (at)
            model_forget(x->mod->model, at, data->nelements * dtype_stored_bytes(e->dtype));
    }
    if (e->kind == EX_CAST || e->kind == EX_UNARY || e->kind == EX_BINARY)
        constant_forget(x, e->a);
    if (e->kind == EX_BINARY)
        constant_forget(x, e->b);
}

static void describe_load(const Iterations *x, const Expr *e, Buf *out)
{
    Str error;
    const TensorData *data = buffer_at(x->mod, e->buffer)->data;
    const void *at = tensor_elements(x->mod->model, (TensorData *)(uintptr_t)data, &error);
    buf_printf(out, "load %d %p", e->dtype, at);
    for (uint32_t i = 0; i < e->rank; i++) {
        buf_printf(out, "[%lld: ", (long long)data->dims[i]);
        iterations_describe(x, e->at[i], out);
        buf_printf(out, "]");
    }
}

void constant_describe(const Iterations *x, const Expr *e, Buf *out)
{
    if (e->kind == EX_LOAD) {
        describe_load(x, e, out);
        return;
    }
    buf_printf(out, "%d.%d.%d(", e->kind, e->op, e->dtype);
    if (e->kind == EX_INDEX)
        iterations_describe(x, e->index, out);
    else if (e->kind == EX_CONST)
        buf_put(out, &e->value, sizeof e->value);
    else
        constant_describe(x, e->a, out);
    if (e->kind == EX_BINARY)
        constant_describe(x, e->b, out);
    buf_printf(out, ")");
}

bool constant_even(Iterations *x, const Expr *e, uint32_t step)
{
    bool even = true;
    if (e->kind == EX_INDEX)
        return iterations_even(x, e->index, step);
    for (uint32_t i = 0; e->kind == EX_LOAD && even && i < e->rank; i++)
        even = iterations_even(x, e->at[i], step);
    if (e->kind == EX_CAST || e->kind == EX_UNARY || e->kind == EX_BINARY)
        even = constant_even(x, e->a, step);
    return even && (e->kind != EX_BINARY || constant_even(x, e->b, step));
}

// ---- packed weights ----------------------------------------------------------------------------

static bool is_equal(const Module *mod, const Buffer *b, Str name, uint32_t rank,
                     const int64_t *dims, const float *elements)
{
    size_t count = 1;
    Str error;
    if (b->kind != BUF_WEIGHT || !b->data || b->dtype != DT_F32 || b->rank != rank ||
        !str_eq(b->name, name))
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (!poly_equals(b->dims[i], dims[i]))
            return false;
        count *= (size_t)dims[i];
    }
    const float *there = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    return there && memcmp(there, elements, count * sizeof *elements) == 0;
}

BufferId constants_weight(Module *mod, BufferId of, uint32_t rank, const int64_t *dims,
                          float *lent)
{
    const Str name = buffer_at(mod, of)->name;
    Index shape[4];
    size_t size = sizeof *lent;
    for (uint32_t i = 0; i < rank; i++)
        size *= (size_t)dims[i];
    const float *elements = arena_keep(mod->arena, lent, size);
    for (BufferId b = 1; b < mod->buffers.len; b++)
        if (b != of && is_equal(mod, buffer_at(mod, b), name, rank, dims, elements))
            return b;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = poly_const(mod->polys, dims[i]);
    BufferId b = buffer_new(mod, BUF_WEIGHT, name, DT_F32, rank, shape);
    buffer_at(mod, b)->data = tensor_around(mod->arena, DT_F32, rank, dims, elements);
    return b;
}
