// Weights of one element become constants, and a square becomes a product: what a kernel reads
// from them is known when it is compiled.

#include "codegen/fuse_parts.h"

static const Expr *scalar_weight(Fuse *f, const Expr *e)
{
    if (e->kind != EX_LOAD)
        return NULL;
    const Buffer *b = buffer_at(f->mod, e->buffer);
    if (b->kind != BUF_WEIGHT || !b->data || b->dtype == DT_STRING)
        return NULL;
    for (uint32_t i = 0; i < b->rank; i++)
        if (!poly_equals(b->dims[i], 1))
            return NULL;
    Str error;
    const void *bytes = tensor_elements(f->mod->model, (TensorData *)(uintptr_t)b->data, &error);
    return bytes ? expr_const(f->mod, b->dtype, scalar_load(b->dtype, bytes)) : NULL;
}

// x^2 is x*x, rounded once as the power is.
static const Expr *square(Fuse *f, const Expr *e, const ExprMap *map)
{
    bool real = e->dtype == DT_F32 || e->dtype == DT_F64;
    if (e->kind != EX_BINARY || e->op != B_POW || !real)
        return NULL;
    const Expr *power = scalar_weight(f, e->b);
    power = power ? power : e->b;
    if (power->kind != EX_CONST || power->value.f != 2)
        return NULL;
    const Expr *x = expr_map(f->mod, e->a, map);
    return expr_binary(f->mod, B_MUL, x, x);
}

typedef struct Fold {
    Fuse *f;
    ExprMap map;
} Fold;

static const Expr *fold(void *context, const Expr *e)
{
    Fold *x = context;
    const Expr *known = scalar_weight(x->f, e);
    return known ? known : square(x->f, e, &x->map);
}

static void fold_steps(Fold *x, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            s->kernel->body = stmts_map(x->f, s->kernel->body, &x->map);
        fold_steps(x, s->body);
        fold_steps(x, s->other);
    }
}

void fuse_fold(Fuse *f)
{
    Fold x = {.f = f};
    x.map = (ExprMap){&x, fold, NULL};
    fold_steps(&x, f->mod->steps);
}
