#include "codegen/cpu/constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 40 };

// ---- iterations --------------------------------------------------------------------------------

bool iterations_begin(Iterations *x, Module *mod, uint32_t nloops, const LoopId *vars, int64_t most)
{
    *x = (Iterations){.mod = mod, .nloops = nloops, .left = 1};
    if (nloops > CONSTANT_LOOPS)
        return false;
    for (uint32_t i = 0; i < nloops; i++) {
        x->vars[i] = vars[i];
        if (!poly_is_const(loop_extent(mod->polys, vars[i]), &x->extents[i]) || x->extents[i] < 1 ||
            x->extents[i] > most / x->left)
            return false;
        x->left *= x->extents[i];
    }
    x->values = calloc(nloops + 1, sizeof *x->values);
    return x->values != NULL;
}

bool iterations_next(Iterations *x)
{
    x->n = (uint32_t)(x->left < CONSTANT_LANES ? x->left : CONSTANT_LANES);
    x->left -= x->n;
    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < x->nloops; k++)
            x->values[k][i] = x->next[k];
        for (uint32_t k = x->nloops; k > 0 && ++x->next[k - 1] == x->extents[k - 1]; k--)
            x->next[k - 1] = 0;
    }
    return x->n > 0;
}

void iterations_end(Iterations *x)
{
    free(x->values);
    x->values = NULL;
}

// ---- what can be computed ----------------------------------------------------------------------

static bool index_fits(const Iterations *x, Index i, int depth)
{
    if (!i || poly_is_overflow(i) || depth > MAX_DEPTH)
        return false;
    for (uint32_t t = 0; t < i->nterms; t++)
        for (uint32_t k = 0; k < i->terms[t].natoms; k++) {
            const Atom *a = i->terms[t].atoms[k];
            bool known = false;
            for (uint32_t v = 0; a->kind == ATOM_LOOP && v < x->nloops; v++)
                known |= x->vars[v] == a->var;
            if (a->kind == ATOM_DIM || a->kind == ATOM_EXPR || (a->kind == ATOM_LOOP && !known) ||
                (a->kind != ATOM_LOOP &&
                 !(index_fits(x, a->a, depth + 1) && index_fits(x, a->b, depth + 1))))
                return false;
        }
    return true;
}

bool constant_indexes(const Iterations *x, Index i)
{
    return index_fits(x, i, 0);
}

static bool load_fits(const Iterations *x, const Expr *e)
{
    const Buffer *b = buffer_at(x->mod, e->buffer);
    Str error;
    if (b->kind != BUF_WEIGHT || !b->data || b->data->rank != e->rank ||
        !tensor_elements(x->mod->model, (TensorData *)(uintptr_t)b->data, &error))
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (!constant_indexes(x, e->at[i]) || !poly_equals(b->dims[i], b->data->dims[i]))
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
        return constant_indexes(x, e->index);
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

// ---- indices -----------------------------------------------------------------------------------

static void eval_atom(Iterations *x, const Atom *a, int64_t *to)
{
    if (a->kind == ATOM_LOOP) {
        for (uint32_t v = 0; v < x->nloops; v++)
            if (x->vars[v] == a->var)
                memcpy(to, x->values[v], x->n * sizeof *to);
        return;
    }
    int64_t other[CONSTANT_LANES];
    constant_index(x, a->a, to);
    constant_index(x, a->b, other);
    for (uint32_t i = 0; i < x->n; i++) {
        const int64_t p = to[i], q = other[i];
        if (a->kind == ATOM_FLOORDIV)
            to[i] = floor_divide(p, q);
        else if (a->kind == ATOM_MOD)
            to[i] = q ? p - q * floor_divide(p, q) : 0;
        else
            to[i] = (a->kind == ATOM_MIN) == (p < q) ? p : q;
    }
}

void constant_index(Iterations *x, Index index, int64_t *to)
{
    memset(to, 0, x->n * sizeof *to);
    for (uint32_t t = 0; t < index->nterms; t++) {
        const Term *term = &index->terms[t];
        int64_t product[CONSTANT_LANES], atom[CONSTANT_LANES];
        for (uint32_t i = 0; i < x->n; i++)
            product[i] = term->coeff;
        for (uint32_t k = 0; k < term->natoms; k++) {
            eval_atom(x, term->atoms[k], atom);
            for (uint32_t i = 0; i < x->n; i++)
                product[i] = (int64_t)((uint64_t)product[i] * (uint64_t)atom[i]);
        }
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)product[i]);
    }
}

void constant_places(Iterations *x, uint32_t rank, const Index *dims, const Index *at, int64_t *to)
{
    memset(to, 0, x->n * sizeof *to);
    for (uint32_t k = 0; k < rank; k++) {
        int64_t i[CONSTANT_LANES], dim = 0;
        constant_index(x, at[k], i);
        poly_is_const(dims[k], &dim);
        for (uint32_t l = 0; l < x->n; l++) {
            x->failed |= i[l] < 0 || i[l] >= dim;
            to[l] = i[l] < 0 || i[l] >= dim ? 0 : to[l] * dim + i[l];
        }
    }
}

// ---- expressions -------------------------------------------------------------------------------

static const void *elements_of(Iterations *x, const Expr *load, int64_t *places)
{
    const Buffer *b = buffer_at(x->mod, load->buffer);
    TensorData *data = (TensorData *)(uintptr_t)b->data;
    Str error;
    constant_places(x, load->rank, b->dims, load->at, places);
    const void *at = tensor_elements(x->mod->model, data, &error);
    for (uint32_t i = 0; i < x->n; i++)
        x->failed |= (uint64_t)places[i] >= data->nelements;
    x->failed |= !at;
    return x->failed ? NULL : at;
}

static void load_integers(Iterations *x, const Expr *e, int64_t *to)
{
    int64_t places[CONSTANT_LANES];
    const unsigned char *from = elements_of(x, e, places);
    const uint32_t bytes = dtype_stored_bytes(e->dtype);
    for (uint32_t i = 0; i < x->n; i++) {
        const unsigned char *at = from ? from + (uint64_t)places[i] * bytes : NULL;
        to[i] = !at                 ? 0
                : e->dtype == DT_U8 ? *at
                : e->dtype == DT_I8 ? (int8_t)*at
                                    : scalar_load(e->dtype, at).i;
    }
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
    const uint32_t bits = dtype_info(t)->bits, shift = 64 - bits;
    for (uint32_t i = 0; bits < 64 && i < n; i++)
        to[i] = dtype_is_signed(t) ? (int64_t)((uint64_t)to[i] << shift) >> shift
                                   : (int64_t)((uint64_t)to[i] << shift >> shift);
}

static int64_t operate(BinaryOp op, int64_t p, int64_t q, int64_t bits)
{
    const uint64_t a = (uint64_t)p, b = (uint64_t)q;
    switch (op) {
    case B_ADD:
        return (int64_t)(a + b);
    case B_SUB:
        return (int64_t)(a - b);
    case B_MUL:
        return (int64_t)(a * b);
    case B_AND:
        return (int64_t)(a & b);
    case B_OR:
        return (int64_t)(a | b);
    case B_XOR:
        return (int64_t)(a ^ b);
    case B_SHL:
        return q < 0 || q >= bits ? 0 : (int64_t)(a << b);
    default:
        return q < 0 || q >= bits ? 0 : p >> q;
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
        constant_index(x, e->index, to);
        return;
    case EX_CAST:
        constant_integers(x, e->a, to);
        wrap(e->dtype, x->n, to);
        return;
    case EX_BINARY:
        constant_integers(x, e->a, to);
        constant_integers(x, e->b, other);
        for (uint32_t i = 0; i < x->n; i++)
            to[i] = operate((BinaryOp)e->op, to[i], other[i], dtype_info(e->dtype)->bits);
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
