#include "codegen/byte_function.h"
#include "ir/interp_state.h"

enum { MOST = 128 }; // distinct expressions of a function
enum { DEAR = 14 };  // operations that take longer than to store a byte, load it and look it up

// What a function computes, operands first.
typedef struct ByteFunction {
    const Expr *at[MOST];
    uint32_t operands[MOST][3]; // numbers of a, b and c
    uint32_t n, operations;
    const Expr *load;
    bool fits, curved; // curved: exponentials and their like, which take many operations
} ByteFunction;

static bool is_curved(const Expr *e)
{
    return (e->kind == EX_UNARY && e->op >= U_EXP && e->op <= U_LOG1P) ||
           (e->kind == EX_BINARY && e->op == B_POW);
}

static uint32_t add(ByteFunction *f, const Expr *e)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->at[i] == e)
            return i;
    const bool leaf = e->kind == EX_LOAD || e->kind == EX_CONST;
    if (e->kind == EX_LOAD) {
        f->fits &= !f->load && (e->dtype == DT_U8 || e->dtype == DT_I8);
        f->load = e;
    }
    f->fits &= e->kind != EX_INDEX && e->kind != EX_LOCAL && e->kind != EX_REDUCE &&
               e->kind != EX_BITCAST && f->n < MOST;
    f->curved |= is_curved(e);
    f->operations += !leaf;
    const Expr *const of[] = {e->a, e->b, e->c};
    uint32_t at[3] = {0};
    for (int i = 0; i < 3 && f->fits && !leaf; i++)
        at[i] = of[i] ? add(f, of[i]) : 0;
    if (!f->fits || f->n == MOST) {
        f->fits = false;
        return 0;
    }
    for (int i = 0; i < 3; i++)
        f->operands[f->n][i] = at[i];
    f->at[f->n] = e;
    return f->n++;
}

static bool read(const Expr *e, ByteFunction *f)
{
    *f = (ByteFunction){.fits = true};
    add(f, e);
    return f->fits && f->load && f->load != e;
}

const Expr *byte_function(const Expr *e)
{
    ByteFunction f;
    return read(e, &f) ? f.load : NULL;
}

const Expr *byte_dear(const Expr *e)
{
    ByteFunction f;
    const bool dear = read(e, &f) && (f.curved || (e->dtype != DT_F32 && f.operations >= DEAR));
    return dear ? f.load : NULL;
}

static Scalar evaluate(const Expr *e, const Scalar *values, const uint32_t *operands, Scalar byte)
{
    const Scalar a = values[operands[0]], b = values[operands[1]], c = values[operands[2]];
    switch (e->kind) {
    case EX_LOAD:
        return byte;
    case EX_UNARY:
        return scalar_unary((UnaryOp)e->op, e->a->dtype, a);
    case EX_BINARY:
        return scalar_binary((BinaryOp)e->op, e->dtype, a, b);
    case EX_COMPARE:
        return (Scalar){.i = scalar_compare((CompareOp)e->op, e->a->dtype, a, b)};
    case EX_SELECT:
        return a.i ? b : c;
    case EX_CAST:
        return scalar_cast(e->a->dtype, e->dtype, a, e->saturate);
    default:
        return e->value;
    }
}

BufferId byte_table(Module *mod, const Expr *e, Str name)
{
    ByteFunction f;
    const DType t = e->dtype;
    if (!read(e, &f) || (t != DT_U8 && t != DT_I8 && t != DT_F32))
        return 0;
    const uint32_t size = dtype_stored_bytes(t);
    unsigned char elements[BYTE_VALUES * sizeof(float)];
    for (int byte = 0; byte < BYTE_VALUES; byte++) {
        Scalar values[MOST];
        const unsigned char bits = (unsigned char)byte;
        const Scalar of = scalar_load(f.load->dtype, &bits);
        for (uint32_t i = 0; i < f.n; i++)
            values[i] = evaluate(f.at[i], values, f.operands[i], of);
        scalar_store(t, elements + (uint32_t)byte * size, values[f.n - 1]);
    }
    const int64_t dims[] = {BYTE_VALUES};
    const Index shape[] = {poly_const(mod->polys, BYTE_VALUES)};
    const BufferId b = buffer_new(mod, BUF_WEIGHT, name, t, 1, shape);
    buffer_at(mod, b)->data = tensor_new(mod->arena, t, 1, dims, elements);
    return b;
}

const Expr *byte_looked_up(const Module *mod, const Expr *e)
{
    const Buffer *b = e->kind == EX_LOAD ? buffer_at(mod, e->buffer) : NULL;
    if (!b || b->kind != BUF_WEIGHT || b->rank != 1 || !poly_equals(b->dims[0], BYTE_VALUES))
        return NULL;
    const Index i = e->at[0];
    if (i->nterms != 1 || i->terms[0].coeff != 1 || i->terms[0].natoms != 1 ||
        i->terms[0].atoms[0]->kind != ATOM_EXPR)
        return NULL;
    const Expr *of = i->terms[0].atoms[0]->e;
    of = of->kind == EX_CAST && of->dtype == DT_I64 ? of->a : NULL;
    of = of && of->kind == EX_BITCAST && of->a->dtype == DT_I8 ? of->a : of;
    return of && of->kind == EX_LOAD && (of->dtype == DT_U8 || of->dtype == DT_I8) ? of : NULL;
}
