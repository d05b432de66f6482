// A one-hot product is a look-up: reduce add k : (k == e ? 1 : 0) * w[k] is w[e] where 0 <= e < K,
// else 0. The elements of w must be finite, since 0 times infinity is no 0.

#include "codegen/fuse_parts.h"

#include <math.h>

typedef struct Lookup {
    Fuse *f;
    ExprMap map;
} Lookup;

static bool is_number(const Expr *e, int v)
{
    if (e->kind != EX_CONST || dtype_is_complex(e->dtype))
        return false;
    return dtype_is_float(e->dtype) ? e->value.f == v : e->value.i == v;
}

// The condition under which e is 1; else it is 0. NULL: e is no such thing.
static const Expr *one_where(const Expr *e)
{
    if (e->kind == EX_CAST && e->a->dtype == DT_BOOL)
        return e->a;
    if (e->kind == EX_CAST)
        return one_where(e->a);
    if (e->kind == EX_SELECT && is_number(e->b, 1) && is_number(e->c, 0))
        return e->a;
    return NULL;
}

// An integer expression as an index; a cast to a type that holds all values changes none.
static Index as_index(const Expr *e)
{
    int64_t k;
    if (e->kind == EX_CAST && e->a->kind == EX_INDEX && e->dtype == DT_I32) {
        Index i = e->a->index;
        bool fits = i->nterms == 1 && i->terms[0].natoms == 1 && i->terms[0].coeff == 1 &&
                    i->terms[0].atoms[0]->kind == ATOM_LOOP &&
                    poly_is_const(i->terms[0].atoms[0]->a, &k) && k <= INT32_MAX;
        return fits ? i : NULL;
    }
    return e->kind == EX_INDEX && e->dtype == DT_I64 ? e->index : NULL;
}

// v as the condition fixes it: k == e gives e, as an int64. NULL: it does not.
static Index solved(Fuse *f, const Expr *cond, LoopId v)
{
    if (cond->kind != EX_COMPARE || cond->op != C_EQ || !dtype_is_integer(cond->a->dtype))
        return NULL;
    for (int side = 0; side < 2; side++) {
        Index i = as_index(side ? cond->b : cond->a);
        const Expr *e = side ? cond->a : cond->b;
        if (i != NULL && i == poly_loop(f->mod->polys, v) && !expr_depends(f, e, v)) {
            const Expr *wide = expr_cast(f->mod, DT_I64, e, false);
            return wide->kind == EX_INDEX   ? wide->index
                   : wide->kind == EX_CONST ? poly_const(f->mod->polys, wide->value.i)
                                            : poly_expr(f->mod->polys, wide);
        }
    }
    return NULL;
}

static bool is_finite(Fuse *f, const Expr *e)
{
    if (dtype_is_integer(e->dtype))
        return true;
    if (e->kind != EX_LOAD || (e->dtype != DT_F32 && e->dtype != DT_F64))
        return false;
    const Buffer *b = buffer_at(f->mod, e->buffer);
    Str error;
    if (b->kind != BUF_WEIGHT || !b->data)
        return false;
    const void *at = tensor_elements(f->mod->model, (TensorData *)(uintptr_t)b->data, &error);
    int64_t n = at ? tensor_count(b->data) : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(e->dtype == DT_F32 ? (double)((const float *)at)[i]
                                         : ((const double *)at)[i]))
            return false;
    return at != NULL;
}

static const Expr *look_up(Lookup *l, const Expr *e, const Expr *cond, const Expr *other)
{
    Fuse *f = l->f;
    Module *mod = f->mod;
    Index i = solved(f, cond, e->vars[0]);
    if (!i || !is_finite(f, other))
        return NULL;
    LoopSwap p = {e->vars[0], i};
    ExprMap map = {&p, NULL, loop_swap};
    const Expr *zero = expr_const(mod, e->dtype, (Scalar){.i = 0});
    const Expr *at = expr_index(mod, i);
    const Expr *least = expr_const(mod, DT_I64, (Scalar){.i = 0});
    const Expr *end = expr_index(mod, loop_extent(mod->polys, e->vars[0]));
    const Expr *inside = expr_binary(mod, B_AND, expr_compare(mod, C_LE, least, at),
                                     expr_compare(mod, C_LT, at, end));
    // The sum begins with 0, which makes 0 of -0.
    const Expr *value = expr_binary(mod, B_ADD, zero, expr_map(mod, other, &map));
    return expr_select(mod, inside, value, zero);
}

static const Expr *solve_reduce(void *context, const Expr *e)
{
    Lookup *l = context;
    if (e->kind != EX_REDUCE || e->op != R_ADD || e->rank != 1 || e->a || e->b->kind != EX_BINARY ||
        e->b->op != B_MUL ||
        !(e->dtype == DT_F32 || e->dtype == DT_F64 || dtype_is_integer(e->dtype)))
        return NULL;
    const Expr *a = one_where(e->b->a), *b = one_where(e->b->b);
    const Expr *found = a ? look_up(l, e, a, e->b->b) : NULL;
    return found || !b ? found : look_up(l, e, b, e->b->a);
}

Stmt *solve_lookups(Fuse *f, Stmt *body)
{
    Lookup l = {.f = f};
    l.map = (ExprMap){&l, solve_reduce, NULL};
    return stmts_map(f, body, &l.map);
}

// What is 1 under a condition on a loop variable and 0 else: it must stand inside a product to be
// solved there, so casts of conditions are inlined before all else.
bool is_condition(const Expr *e)
{
    return e->kind == EX_COMPARE && e->op == C_EQ && dtype_is_integer(e->a->dtype);
}

bool is_one_hot(const Expr *e)
{
    const Expr *cond = one_where(e);
    return cond && is_condition(cond);
}
