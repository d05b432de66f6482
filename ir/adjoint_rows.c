// Shared reductions stored apart: see ir/adjoint_rows.h.

#include "ir/adjoint_rows.h"
#include "ir/lower_state.h"

enum { MAX_LOOPS = MAX_RANK };

// A kernel of loops around one store.
typedef struct Rows {
    Lower *l;
    bool (*counts)(void *user, const Expr *e);
    void *user;
    uint32_t nloops;
    LoopId loops[MAX_LOOPS];
    Index to[MAX_LOOPS]; // what they are in another kernel
    const Stmt *store;
    const Expr *value;    // what it stores by now
    const Expr *inner;    // a reduction that is asked about
    bool shared, foreign; // it is in another one; it depends on what that one sums over
    const Expr *found;
} Rows;

static bool take_form(Rows *r, const Kernel *k)
{
    const Stmt *s = k->body;
    for (; s && s->kind == S_FOR && s->par && !s->next; s = s->body) {
        if (r->nloops == MAX_LOOPS)
            return false;
        r->loops[r->nloops++] = s->var;
    }
    r->store = s;
    r->value = s ? s->value : NULL;
    return s && s->kind == S_STORE && !s->next;
}

static void find_inner(void *context, const Expr *e)
{
    Rows *r = context;
    r->shared |= e == r->inner;
}

static void look_into(void *context, const Expr *e)
{
    Rows *r = context;
    if (e->kind != EX_REDUCE || e == r->inner)
        return;
    const bool before = r->shared;
    r->shared = false;
    expr_walk(r->l->module, e, find_inner, r);
    for (uint32_t k = 0; r->shared && k < e->rank; k++)
        r->foreign |= expr_uses_loop(r->l->module, r->inner, e->vars[k]);
    r->shared |= before;
}

// Do several elements compute e, each the same?
static bool is_shared(Rows *r, const Expr *e)
{
    Polys *polys = r->l->polys;
    if (e->kind != EX_REDUCE || !dtype_is_float(e->dtype) || !r->counts(r->user, e))
        return false;
    r->inner = e;
    r->shared = r->foreign = false;
    expr_walk(r->l->module, r->value, look_into, r);
    for (uint32_t i = 0; i < r->nloops; i++) {
        const LoopId v = r->loops[i];
        if (!expr_uses_loop(r->l->module, e, v))
            r->shared |= !poly_equals(loop_extent(polys, v), 1);
        else if (poly_varies(loop_extent(polys, v)))
            return false;
    }
    return r->shared && !r->foreign;
}

// Operands come first, so what is found holds no other such reduction.
static void find_shared(void *context, const Expr *e)
{
    Rows *r = context;
    if (!r->found && is_shared(r, e))
        r->found = e;
}

static Index at_new_loop(void *context, const Atom *a)
{
    const Rows *r = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < r->nloops; i++)
        if (a->var == r->loops[i])
            return r->to[i];
    return NULL;
}

// A kernel that stores r->found for all of the loops that it depends on, at which the value loads
// it.
static const Kernel *store_apart(Rows *r)
{
    Lower *l = r->l;
    Index at[MAX_LOOPS], dims[MAX_LOOPS], stored[MAX_LOOPS];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < r->nloops; i++) {
        if (!expr_uses_loop(l->module, r->found, r->loops[i]))
            continue;
        dims[rank] = loop_extent(l->polys, r->loops[i]);
        at[rank++] = poly_loop(l->polys, r->loops[i]);
    }
    const Tensor t = temp(l, "row", r->found->dtype, rank, dims);
    kernel(l, "row");
    const Kernel *made = l->state->kernel;
    rank = 0;
    for (uint32_t i = 0; i < r->nloops; i++) {
        r->to[i] = NULL;
        if (expr_uses_loop(l->module, r->found, r->loops[i]))
            r->to[i] = stored[rank++] = par(l, loop_extent(l->polys, r->loops[i]));
    }
    const ExprMap map = {r, NULL, at_new_loop};
    const Expr *value = expr_map(l->module, r->found, &map);
    store(l, t, stored, expr_fresh(l->module, value));
    kernel_end(l);
    ExprSwap swap = {r->found, load(l, t, at)};
    const ExprMap loaded = {&swap, expr_swap, NULL};
    r->value = expr_map(l->module, r->value, &loaded);
    return made;
}

// k with another value.
static const Kernel *with_value(const Rows *r, const Kernel *k)
{
    Arena *a = r->l->arena;
    Kernel *copy = NEW(a, Kernel);
    *copy = *k;
    Stmt **at = &copy->body;
    for (const Stmt *s = k->body; s; s = s->body, at = &(*at)->body) {
        *at = NEW(a, Stmt);
        **at = *s;
        if (s == r->store)
            (*at)->value = r->value;
    }
    return copy;
}

const Kernel *rows_apart(Lower *l, const Kernel *k, bool (*counts)(void *user, const Expr *e),
                         void *user, Kernels *made)
{
    Rows r = {.l = l, .counts = counts, .user = user};
    if (!take_form(&r, k))
        return k;
    for (;;) {
        r.found = NULL;
        expr_walk(l->module, r.value, find_shared, &r);
        if (!r.found)
            break;
        vec_push(l->arena, made, store_apart(&r));
    }
    return r.value == r.store->value ? k : with_value(&r, k);
}
