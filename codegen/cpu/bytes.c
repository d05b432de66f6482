#include "codegen/cpu/bytes.h"

#include <string.h>

enum { MIDDLE = 128 };

static bool is_byte_load(const Expr *e)
{
    return e->kind == EX_CAST && e->dtype == DT_I32 && e->a->kind == EX_LOAD &&
           (e->a->dtype == DT_U8 || e->a->dtype == DT_I8);
}

bool byte_factor(const Expr *e, ByteFactor *f)
{
    const Expr *zero = NULL;
    if (e->kind == EX_BINARY && e->op == B_SUB && e->dtype == DT_I32) {
        zero = e->b;
        e = e->a;
    }
    if (!is_byte_load(e))
        return false;
    *f = (ByteFactor){e->a, zero};
    return true;
}

bool bytes_known(Module *mod, const Expr *load)
{
    const Buffer *b = buffer_at(mod, load->buffer);
    return b->kind == BUF_WEIGHT && b->data;
}

Bytes *bytes_of(Module *mod, const Expr *reduce)
{
    ByteFactor a, b;
    if (reduce->op != R_ADD || reduce->dtype != DT_I32 || reduce->b->kind != EX_BINARY ||
        reduce->b->op != B_MUL || !byte_factor(reduce->b->a, &a) ||
        !byte_factor(reduce->b->b, &b) || a.load->buffer == b.load->buffer)
        return NULL;
    bool swap = bytes_known(mod, a.load);
    if (swap && bytes_known(mod, b.load))
        return NULL;
    Bytes *found = NEW(mod->arena, Bytes);
    found->x = swap ? b : a;
    found->w = swap ? a : b;
    found->flip = found->x.load->dtype == DT_I8;
    return found;
}

static int64_t byte_at(DType t, const void *bytes, int64_t i)
{
    return t == DT_I8 ? ((const int8_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
}

static bool is_other_loop(void *context, const Atom *a)
{
    return a->kind != ATOM_LOOP || a->var != *(const LoopId *)context;
}

bool bytes_constant(Printer *p, const Expr *e, LoopId v, int64_t n, int64_t *to)
{
    Module *mod = p->mod;
    if (e->kind == EX_CONST && dtype_is_integer(e->dtype)) {
        for (int64_t i = 0; i < n; i++)
            to[i] = e->value.i;
        return true;
    }
    if (!is_byte_load(e) || !bytes_known(mod, e->a))
        return false;
    const Buffer *b = buffer_at(mod, e->a->buffer);
    Index at = linear_index(p, b->rank, b->dims, e->a->at), f;
    int64_t step, start;
    Str error;
    if (poly_any(at, is_other_loop, &v) || !factor_of(p, at, v, &f) || !poly_is_const(f, &step) ||
        !poly_is_const(poly_sub(mod->polys, at, poly_mul(mod->polys, f, poly_loop(mod->polys, v))),
                       &start))
        return false;
    const void *bytes = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    int64_t size = b->data->nelements;
    if (!bytes || n <= 0 || start < 0 || start >= size || start + (n - 1) * step < 0 ||
        start + (n - 1) * step >= size)
        return false;
    for (int64_t i = 0; i < n; i++)
        to[i] = byte_at(e->a->dtype, bytes, start + i * step);
    return true;
}

bool bytes_listed(Printer *p, const Expr *e, Index at, int64_t n, int64_t *to)
{
    Module *mod = p->mod;
    Str error;
    if (!is_byte_load(e) || !bytes_known(mod, e->a))
        return false;
    const Buffer *b = buffer_at(mod, e->a->buffer);
    const void *bytes = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    if (!bytes || (int64_t)b->data->nelements != n ||
        linear_index(p, b->rank, b->dims, e->a->at) != at)
        return false;
    for (int64_t i = 0; i < n; i++)
        to[i] = byte_at(e->a->dtype, bytes, i);
    return true;
}

bool bytes_all_are(Printer *p, const Expr *e, int64_t number)
{
    Module *mod = p->mod;
    if (e->kind == EX_CONST)
        return dtype_is_integer(e->dtype) && e->value.i == number;
    if (!is_byte_load(e) || !bytes_known(mod, e->a))
        return false;
    TensorData *t = (TensorData *)(uintptr_t)buffer_at(mod, e->a->buffer)->data;
    Str error;
    const void *bytes = tensor_elements(mod->model, t, &error);
    for (uint64_t i = 0; bytes && i < t->nelements; i++)
        if (byte_at(e->a->dtype, bytes, (int64_t)i) != number)
            return false;
    return bytes != NULL;
}

static const Expr *number(Module *mod, int64_t i)
{
    return expr_const(mod, DT_I32, (Scalar){.i = i});
}

const Expr *bytes_zero(Module *mod, const Bytes *b)
{
    const Expr *zero = b->x.zero ? b->x.zero : number(mod, 0);
    return b->flip ? expr_binary(mod, B_ADD, zero, number(mod, MIDDLE)) : zero;
}

static BufferId weight_of(Module *mod, DType t, int64_t n, const TensorData *data)
{
    Index dim = poly_const(mod->polys, n);
    BufferId b = buffer_new(mod, BUF_WEIGHT, STR("packed"), t, 1, &dim);
    buffer_at(mod, b)->data = data;
    return b;
}

BufferId bytes_buffer(Module *mod, DType t, int64_t n, const void *elements)
{
    return weight_of(mod, t, n, tensor_new(mod->arena, t, 1, &n, elements));
}

BufferId bytes_keep(Module *mod, DType t, int64_t n, void *lent)
{
    return bytes_around(mod, t, n, arena_keep(mod->arena, lent, (size_t)n * dtype_stored_bytes(t)));
}

BufferId bytes_around(Module *mod, DType t, int64_t n, const void *elements)
{
    return weight_of(mod, t, n, tensor_around(mod->arena, t, 1, &n, elements));
}

BufferId bytes_scratch(Module *mod, DType t, Index n)
{
    return buffer_new(mod, BUF_TEMP, STR("scratch"), t, 1, &n);
}

// ---- uses --------------------------------------------------------------------------------------

void bytes_uses(Module *mod, const Bytes *b, const Stmt *epilogue, KernelUses *u)
{
    const BufferId beside[] = {b->rows, b->sums, b->row_sum};
    for (int i = 0; i < 3; i++)
        if (beside[i])
            access_note(u->arena, &u->buffers, beside[i], ACCESS_READ | ACCESS_WRITE);
    const uint32_t made = b->computed ? ACCESS_READ | ACCESS_WRITE : ACCESS_READ;
    access_note(u->arena, &u->buffers, b->packed, made);
    if (b->totals)
        access_note(u->arena, &u->buffers, b->totals, made);
    if (b->near)
        access_note(u->arena, &u->buffers, b->near, ACCESS_READ);
    if (b->behind)
        uses_add_index(mod, u, b->behind);
    if (b->beside)
        uses_add_index(mod, u, b->beside);
    if (!b->computed)
        uses_drop_packed(mod, u, b->w.load->buffer, epilogue);
}

// ---- printing ----------------------------------------------------------------------------------

const char *bytes_name(Printer *p, BufferId b)
{
    if (!b)
        return "NULL";
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    return str_printf(p->arena, "b%u", b).at;
}
