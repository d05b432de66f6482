// What a kernel reads of weights and what can be known when it is compiled: an element at a known
// place is a constant, 0, 1, 2 ... is an index. A square becomes a product.

#include "codegen/fuse_parts.h"

enum { MOST_RANK = 8, LONGEST_RAMP = 65536 };

// The weight that a load reads, and its dims; NULL where they are not known.
static const void *weight_of(Fuse *f, const Expr *e, int64_t *dims)
{
    Str error;
    if (e->kind != EX_LOAD || e->dtype == DT_STRING || e->rank > MOST_RANK)
        return NULL;
    const Buffer *b = buffer_at(f->mod, e->buffer);
    if (b->kind != BUF_WEIGHT || !b->data || dtype_info(b->dtype)->bits < 8)
        return NULL;
    for (uint32_t i = 0; i < b->rank; i++)
        if (!poly_is_const(b->dims[i], &dims[i]) || dims[i] <= 0)
            return NULL;
    return tensor_elements(f->mod->model, (TensorData *)(uintptr_t)b->data, &error);
}

static Scalar element(const Expr *e, const void *bytes, int64_t i)
{
    return scalar_load(e->dtype, (const char *)bytes + i * dtype_info(e->dtype)->bytes);
}

// An element at a place that is known.
static const Expr *known_element(Fuse *f, const Expr *e)
{
    int64_t dims[MOST_RANK], at, place = 0;
    if (e->kind != EX_LOAD || buffer_at(f->mod, e->buffer)->kind != BUF_WEIGHT)
        return NULL;
    const void *bytes = weight_of(f, e, dims);
    for (uint32_t i = 0; bytes && i < e->rank; i++) {
        if (dims[i] == 1)
            at = 0;
        else if (!poly_is_const(e->at[i], &at) || at < 0 || at >= dims[i])
            return NULL;
        place = place * dims[i] + at;
    }
    return bytes ? expr_const(f->mod, e->dtype, element(e, bytes, place)) : NULL;
}

// An integer weight whose elements are a linear function of their place is an index (0, 1, 2 ...).
static const Expr *ramp(Fuse *f, const Expr *e, const ExprMap *map)
{
    int64_t dims[MOST_RANK], step[MOST_RANK], stride = 1, count = 1;
    if ((e->dtype != DT_I32 && e->dtype != DT_I64) || e->kind != EX_LOAD || e->rank == 0)
        return NULL;
    const void *bytes = weight_of(f, e, dims);
    for (uint32_t i = 0; bytes && i < e->rank; i++)
        if (__builtin_mul_overflow(count, dims[i], &count) || count > LONGEST_RAMP)
            return NULL;
    if (!bytes)
        return NULL;
    int64_t first = element(e, bytes, 0).i;
    for (uint32_t i = e->rank; i > 0; i--) {
        step[i - 1] = dims[i - 1] > 1 ? element(e, bytes, stride).i : first;
        if (__builtin_sub_overflow(step[i - 1], first, &step[i - 1]) ||
            step[i - 1] > LONGEST_RAMP || step[i - 1] < -LONGEST_RAMP)
            return NULL;
        stride *= dims[i - 1];
    }
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, want = first;
        for (uint32_t i = e->rank; i > 0; i--) {
            want += rest % dims[i - 1] * step[i - 1];
            rest /= dims[i - 1];
        }
        if (element(e, bytes, n).i != want)
            return NULL;
    }
    Polys *polys = f->mod->polys;
    Index sum = poly_const(polys, first);
    for (uint32_t i = 0; i < e->rank; i++)
        sum = poly_add(polys, sum, poly_scale(polys, index_map(f->mod, e->at[i], map), step[i]));
    return poly_is_overflow(sum) ? NULL
                                 : expr_cast(f->mod, e->dtype, expr_index(f->mod, sum), true);
}

// x^2 is x*x, rounded once as the power is.
static const Expr *square(Fuse *f, const Expr *e, const ExprMap *map)
{
    bool real = e->dtype == DT_F32 || e->dtype == DT_F64;
    if (e->kind != EX_BINARY || e->op != B_POW || !real)
        return NULL;
    const Expr *power = known_element(f, e->b);
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
    const Expr *known = known_element(x->f, e);
    known = known ? known : ramp(x->f, e, &x->map);
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
