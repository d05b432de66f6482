// Rewrites what C lacks before printing.
//
// Floats narrower than 32 bits are bits in memory: every operation on them becomes float32
// arithmetic between explicit conversions, so that each result is rounded as the definition says.
// A sum or product over many elements is rounded once, at its end; the greatest and the least of
// windows are found among integers.
//
// Where the model was given bfloat16 when it was compiled, its intermediate results are nobody's
// definition: what operations of bfloat16 hand to one another inside of an expression stays
// float32, which has the same range, and is rounded where it is stored, compared or made something
// else. A Cast down that a Cast takes up again is rounded: it stands in the model for that.

#include "codegen/printer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct Legalize {
    Module *mod;
    bool keeps_wide;
    ExprMap map;
    const Expr **done; // by id of an expression of before: what it became
    const Expr **wide; // the same, in float32 and not rounded
    uint32_t ndone;
} Legalize;

// Once for each expression, however often it is shared.
static const Expr *legal(Legalize *l, const Expr *e)
{
    if (e->id >= l->ndone)
        return expr_map(l->mod, e, &l->map);
    if (!l->done[e->id])
        l->done[e->id] = expr_map(l->mod, e, &l->map);
    return l->done[e->id];
}

static const Expr *widened(Legalize *l, const Expr *e)
{
    const Expr *x = legal(l, e);
    return dtype_is_small_float(x->dtype) ? expr_cast(l->mod, DT_F32, x, false) : x;
}

static const Expr *wide(Legalize *l, const Expr *e);

// Does the result jump where an operand crosses a number, so that rounding may move it far?
static bool jumps(const Expr *e)
{
    if (e->kind == EX_UNARY)
        return e->op == U_FLOOR || e->op == U_CEIL || e->op == U_ROUND || e->op == U_TRUNC ||
               e->op == U_ISNAN || e->op == U_ISINF;
    return e->kind == EX_BINARY && (e->op == B_MOD || e->op == B_FMOD);
}

static const Expr *operand(Legalize *l, const Expr *e, const Expr *of)
{
    return jumps(of) ? widened(l, e) : wide(l, e);
}

// A quotient by a constant is a product with its reciprocal where 2^-24 more of it are no matter.
static const Expr *binary(Legalize *l, const Expr *e)
{
    const Expr *a = operand(l, e->a, e), *b = operand(l, e->b, e);
    const bool divides = l->keeps_wide && e->dtype == DT_BF16 && e->op == B_DIV;
    if (divides && b->kind == EX_CONST && isnormal(1 / (float)b->value.f))
        return expr_binary(l->mod, B_MUL, a,
                           expr_const(l->mod, DT_F32, (Scalar){.f = 1 / (float)b->value.f}));
    return expr_binary(l->mod, (BinaryOp)e->op, a, b);
}

// x * c of erf's operand with c at what bfloat16 makes of the root of 1/2: with that root, as GELU
// had it before it was given bfloat16. Else x.
static const Expr *of_normal(Legalize *l, const Expr *x)
{
    const double root = sqrt(0.5), most = ldexp(root, -8);
    if (x->kind != EX_BINARY || x->op != B_MUL)
        return x;
    const Expr *c = x->b->kind == EX_CONST ? x->b : x->a, *v = c == x->b ? x->a : x->b;
    if (c->kind != EX_CONST || !(fabs(c->value.f - root) < most))
        return x;
    return expr_binary(l->mod, B_MUL, v, expr_const(l->mod, DT_F32, (Scalar){.f = (float)root}));
}

// What an operation on bfloat16 is in float32; NULL: e is none.
static const Expr *wide_operation(Legalize *l, const Expr *e)
{
    Module *mod = l->mod;
    switch (e->kind) {
    case EX_UNARY: {
        const Expr *a = operand(l, e->a, e);
        return expr_unary(mod, (UnaryOp)e->op,
                          l->keeps_wide && e->op == U_ERF ? of_normal(l, a) : a);
    }
    case EX_BINARY:
        return binary(l, e);
    case EX_SELECT:
        return expr_select(mod, legal(l, e->a), wide(l, e->b), wide(l, e->c));
    case EX_REDUCE:
        return expr_reduce(mod, (ReduceOp)e->op, e->rank, e->vars, e->a ? legal(l, e->a) : NULL,
                           wide(l, e->b));
    case EX_CAST:
        return e->a->dtype == DT_F32 ? legal(l, e->a) : NULL;
    default:
        return NULL;
    }
}

// A small float as an operand in float32: rounded only where that is asked for.
static const Expr *wide(Legalize *l, const Expr *e)
{
    if (!l->keeps_wide || e->dtype != DT_BF16 || e->id >= l->ndone)
        return widened(l, e);
    if (!l->wide[e->id]) {
        const Expr *x = wide_operation(l, e);
        l->wide[e->id] = x ? x : widened(l, e);
    }
    return l->wide[e->id];
}

static const Expr *narrowed(Legalize *l, DType t, const Expr *e)
{
    return e->dtype == t ? e : expr_cast(l->mod, t, e, true);
}

static const Expr *legal_cast(Legalize *l, const Expr *e)
{
    DType from = e->a->dtype, to = e->dtype;
    if (to == DT_F32 && dtype_is_small_float(from) && e->a->kind != EX_CAST)
        return wide(l, e->a);
    const Expr *a = legal(l, e->a);
    if (dtype_is_small_float(from) && to != DT_F32)
        a = expr_cast(l->mod, DT_F32, a, false);
    else if (dtype_is_small_float(to) && !dtype_is_float(from))
        a = expr_cast(l->mod, DT_F64, a, false);
    return expr_cast(l->mod, to, a, e->saturate);
}

static const Expr *bits_const(Legalize *l, int64_t bits)
{
    return expr_const(l->mod, DT_I16, (Scalar){.i = bits});
}

// Bits of two bytes to integers that are ordered as the numbers are, and back: those of a negative
// number but for the sign are turned round. Without an arm, for what surrounds a reduction.
static const Expr *ordered(Legalize *l, const Expr *bits)
{
    Module *mod = l->mod;
    const Expr *negative = expr_compare(mod, C_LT, bits, bits_const(l, 0));
    const Expr *turned = expr_binary(mod, B_MUL, expr_cast(mod, DT_I16, negative, false),
                                     bits_const(l, INT16_MAX));
    return expr_binary(mod, B_XOR, bits, turned);
}

// Does e compare elements of two bytes that windows see? Of whole dims the printer has lanes of
// float32.
static bool is_extreme_of_window(Legalize *l, const Expr *e)
{
    if ((e->op != R_MAX && e->op != R_MIN) || e->b->kind != EX_LOAD ||
        (e->dtype != DT_BF16 && e->dtype != DT_F16))
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        for (uint32_t j = 0; j < e->b->rank; j++)
            if (e->b->at[j] == poly_loop(l->mod->polys, e->vars[i]))
                return false;
    return true;
}

// The greatest or the least of elements of two bytes, compared as integers, of which a vector holds
// twice as many as of float32; as bits. A NaN is beyond all others on the side that is asked for,
// and of no element at all an infinity comes out.
static const Expr *extreme_bits(Legalize *l, const Expr *e)
{
    Module *mod = l->mod;
    const int64_t infinity = e->dtype == DT_BF16 ? 0x7f80 : 0x7c00;
    const bool greatest = e->op == R_MAX;
    const Expr *bits = expr_bitcast(mod, DT_I16, legal(l, e->b));
    const Expr *size = expr_binary(mod, B_AND, bits, bits_const(l, INT16_MAX));
    const Expr *x = expr_select(mod, expr_compare(mod, C_LT, bits_const(l, infinity), size),
                                bits_const(l, greatest ? INT16_MAX : INT16_MIN), ordered(l, bits));
    const Expr *found = expr_reduce(mod, (ReduceOp)e->op, e->rank, e->vars,
                                    e->a ? legal(l, e->a) : NULL, x);
    const Expr *none = bits_const(l, greatest ? -1 - infinity : infinity);
    found = expr_binary(mod, greatest ? B_MAX : B_MIN, found, none);
    return expr_bitcast(mod, e->dtype, ordered(l, found));
}

// A replacement for what touches a small float; NULL: e is legal once its operands are.
static const Expr *legal_node(void *context, const Expr *e)
{
    Legalize *l = context;
    Module *mod = l->mod;
    bool small = dtype_is_small_float(e->dtype) || (e->a && dtype_is_small_float(e->a->dtype)) ||
                 (e->kind == EX_REDUCE && dtype_is_small_float(e->b->dtype));
    if (!small)
        return NULL;
    switch (e->kind) {
    case EX_UNARY:
        return narrowed(l, e->dtype, expr_unary(mod, (UnaryOp)e->op, operand(l, e->a, e)));
    case EX_BINARY:
        return narrowed(l, e->dtype, binary(l, e));
    case EX_COMPARE:
        return expr_compare(mod, (CompareOp)e->op, widened(l, e->a), widened(l, e->b));
    case EX_CAST:
        return legal_cast(l, e);
    case EX_REDUCE:
        if (e->op == R_ADD) // a sum in a small float rounds at each addition: the printer does that
            return expr_reduce(mod, R_ADD, e->rank, e->vars, e->a ? legal(l, e->a) : NULL,
                               legal(l, e->b));
        if (is_extreme_of_window(l, e))
            return extreme_bits(l, e);
        return narrowed(l, e->dtype,
                        expr_reduce(mod, (ReduceOp)e->op, e->rank, e->vars,
                                    e->a ? legal(l, e->a) : NULL, wide(l, e->b)));
    default:
        return NULL;
    }
}

static Index legal_index(Legalize *l, Index i)
{
    return index_map(l->mod, i, &l->map);
}

static void legal_stmts(Legalize *l, Stmt *s)
{
    Module *mod = l->mod;
    for (; s; s = s->next) {
        if (s->kind == S_UPDATE && dtype_is_small_float(s->value->dtype)) {
            const Expr *old = expr_load(mod, s->buffer, s->at);
            s->value = expr_binary(mod, s->op, old, s->value);
            s->kind = S_STORE;
        }
        if (s->value)
            s->value = legal(l, s->value);
        Index *at = NEWS(mod->arena, Index, s->rank);
        for (uint32_t i = 0; i < s->rank; i++)
            at[i] = legal_index(l, s->at[i]);
        s->at = at;
        legal_stmts(l, s->body);
        legal_stmts(l, s->other);
    }
}

static void legal_steps(Legalize *l, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            legal_stmts(l, s->kernel->body);
        if (s->value)
            s->value = legal_index(l, s->value);
        if (s->cond)
            s->cond = legal(l, s->cond);
        legal_steps(l, s->body);
        legal_steps(l, s->other);
    }
}

void legalize_module(Module *mod, bool wide)
{
    bool small = false;
    for (BufferId b = 1; b < mod->buffers.len; b++)
        small |= dtype_is_small_float(buffer_at(mod, b)->dtype);
    if (!small)
        return;
    Legalize l = {.mod = mod, .keeps_wide = wide, .ndone = mod->nexprs};
    l.map = (ExprMap){&l, legal_node, NULL};
    l.done = calloc(2 * ((size_t)l.ndone + 1), sizeof *l.done);
    if (!l.done)
        abort();
    l.wide = l.done + l.ndone + 1;
    legal_steps(&l, mod->steps);
    free(l.done);
}
