#include "codegen/cpu/halves.h"

#include "codegen/print_parts.h"

#include <stdlib.h>

enum { MOST_RANK = 16 };

typedef struct Wide {
    BufferId from, to;
} Wide;

typedef struct Halves {
    Module *mod;
    Arena *scratch;
    Printer *p;    // for indices; prints nothing
    VEC(Wide) now; // what is there in float32 where the next kernel begins
    VEC(Wide) constants;
    Str *error;
    bool failed;
} Halves;

typedef struct Found {
    const Stmt *store;
    const Expr *reduce;
    LoopId inner; // the variable along which elements of y are neighbours
    bool several;
} Found;

bool halves_dtype(DType t)
{
    return t == DT_F16 || t == DT_BF16;
}

const Expr *halves_load(const Expr *e)
{
    bool is = e->kind == EX_CAST && e->dtype == DT_F32 && e->a->kind == EX_LOAD &&
              halves_dtype(e->a->dtype);
    return is ? e->a : NULL;
}

// ---- finding -----------------------------------------------------------------------------------

static void find_reduce(void *context, const Expr *e)
{
    Found *f = context;
    if (e->kind != EX_REDUCE)
        return;
    f->several |= f->reduce != NULL;
    f->reduce = e;
}

static bool is_factor(const Expr *e)
{
    return halves_load(e) || (e->kind == EX_LOAD && e->dtype == DT_F32);
}

// Elements of a constant that data pick: all of it would be widened, and few are read.
static bool is_picked(const Module *mod, const Expr *e)
{
    const Expr *load = halves_load(e);
    bool picked = false;
    for (uint32_t i = 0; load && i < load->rank; i++)
        picked |= poly_reads_data(load->at[i]);
    return picked && buffer_at(mod, load->buffer)->kind == BUF_WEIGHT;
}

// One sum for all elements of a row, of the row itself, is no product: its squares.
static bool is_for_row(const Halves *w, const Expr *r, LoopId inner)
{
    return r->b->a == r->b->b && (!inner || !expr_uses_loop(w->mod, r, inner));
}

static bool find(Halves *w, const Kernel *k, Found *f)
{
    const Stmt *s = k->body;
    *f = (Found){0};
    for (; s && s->kind == S_FOR && s->par && !s->next; s = s->body)
        ;
    if (!s || s->kind != S_STORE || s->next)
        return false;
    f->store = s;
    expr_walk(w->mod, s->value, find_reduce, f);
    const Expr *r = f->reduce;
    const Buffer *y = buffer_at(w->mod, s->buffer);
    Index at = linear_index(w->p, y->rank, y->dims, s->at), factor;
    for (const Stmt *loop = k->body; loop != s; loop = loop->body)
        if (factor_of(w->p, at, loop->var, &factor) && poly_equals(factor, 1))
            f->inner = loop->var;
    return r && !f->several && r->op == R_ADD && r->dtype == DT_F32 && r->b->kind == EX_BINARY &&
           r->b->op == B_MUL && is_factor(r->b->a) && is_factor(r->b->b) &&
           (halves_load(r->b->a) || halves_load(r->b->b) || halves_dtype(y->dtype)) &&
           !is_picked(w->mod, r->b->a) && !is_picked(w->mod, r->b->b) &&
           !is_for_row(w, r, f->inner);
}

// ---- factors -----------------------------------------------------------------------------------

static BufferId known(const Wide *at, uint32_t n, BufferId from)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i].from == from)
            return at[i].to;
    return 0;
}

static BufferId like(Module *mod, BufferId b, BufferKind kind)
{
    Buffer from = *buffer_at(mod, b);
    return buffer_new(mod, kind, from.name, DT_F32, from.rank, from.dims);
}

// The constant in float32, made when compiling; 0 where it cannot be.
static BufferId widen_constant(Halves *w, BufferId b)
{
    Module *mod = w->mod;
    BufferId to = known(w->constants.at, w->constants.len, b);
    TensorData *t = (TensorData *)(uintptr_t)buffer_at(mod, b)->data;
    if (to)
        return to;
    const unsigned char *from = t ? tensor_elements(mod->model, t, w->error) : NULL;
    w->failed |= t && !from;
    float *wide = from && t->nelements < (uint64_t)1 << 30 ? calloc(t->nelements + 1, 4) : NULL;
    if (!wide)
        return 0;
    for (uint64_t i = 0; i < t->nelements; i++)
        wide[i] = (float)scalar_load((DType)t->dtype, from + 2 * i).f;
    to = like(mod, b, BUF_WEIGHT);
    buffer_at(mod, to)->data = tensor_new(mod->arena, DT_F32, t->rank, t->dims, wide);
    free(wide);
    vec_push(w->scratch, &w->constants, ((Wide){b, to}));
    return to;
}

// A step like `of` with this body. `before`: what follows it, may be NULL.
static Step *insert_kernel(Module *mod, Step *before, const Step *of, Stmt *body)
{
    Kernel *k = NEW(mod->arena, Kernel);
    *k = *of->kernel;
    k->id = mod->nkernels++;
    k->body = body;
    Step *s = NEW(mod->arena, Step);
    *s = (Step){.kind = STEP_KERNEL, .node = of->node, .kernel = k, .next = before};
    return s;
}

static Stmt *new_store(Module *mod, BufferId to, uint32_t rank, const Index *at, const Expr *value)
{
    Stmt *s = NEW(mod->arena, Stmt);
    *s = (Stmt){.kind = S_STORE, .buffer = to, .rank = rank, .at = at, .value = value};
    return s;
}

// Loops over all of a buffer that make another of it in float32.
static Stmt *copy_of(Module *mod, BufferId from, BufferId to)
{
    const Buffer b = *buffer_at(mod, from);
    Index *at = NEWS(mod->arena, Index, b.rank + 1);
    LoopId vars[MOST_RANK];
    for (uint32_t i = 0; i < b.rank; i++) {
        vars[i] = loop_new(mod->polys, b.dims[i]);
        at[i] = poly_loop(mod->polys, vars[i]);
    }
    Stmt *s =
        new_store(mod, to, b.rank, at, expr_cast(mod, DT_F32, expr_load(mod, from, at), true));
    for (uint32_t i = b.rank; i > 0; i--) {
        Stmt *loop = NEW(mod->arena, Stmt);
        *loop = (Stmt){.kind = S_FOR, .par = true, .var = vars[i - 1], .body = s};
        s = loop;
    }
    return s;
}

// A constant matrix that the product reads in panels of 16 bits: its columns are those of y.
static bool stays(Halves *w, const Found *f, const Expr *load)
{
    const Buffer *b = buffer_at(w->mod, load->buffer);
    if (b->kind != BUF_WEIGHT || !b->data || f->reduce->a || f->reduce->rank != 1 || !f->inner ||
        load->rank != 2)
        return false;
    Index n = poly_loop(w->mod->polys, f->inner);
    Index k = poly_loop(w->mod->polys, f->reduce->vars[0]);
    return (load->at[0] == n && load->at[1] == k) || (load->at[0] == k && load->at[1] == n);
}

// The factor in float32; what makes it so is inserted before *at.
static const Expr *in_f32(Halves *w, const Found *f, const Expr *factor, Step **at)
{
    const Expr *load = halves_load(factor);
    Module *mod = w->mod;
    if (!load || stays(w, f, load))
        return factor;
    const Buffer *b = buffer_at(mod, load->buffer);
    BufferId to = 0;
    if (b->kind == BUF_WEIGHT) {
        to = widen_constant(w, load->buffer);
    } else if (b->rank <= MOST_RANK) {
        to = known(w->now.at, w->now.len, load->buffer);
        if (!to) {
            to = like(mod, load->buffer, BUF_TEMP);
            *at = insert_kernel(mod, *at, *at, copy_of(mod, load->buffer, to));
            vec_push(w->scratch, &w->now, ((Wide){load->buffer, to}));
        }
    }
    return to ? expr_load(mod, to, load->at) : factor;
}

// ---- the kernel --------------------------------------------------------------------------------

typedef struct Swap {
    const Expr *from, *to;
} Swap;

static const Expr *swap(void *context, const Expr *e)
{
    const Swap *s = context;
    return e == s->from ? s->to : NULL;
}

static Stmt *copy_loops(Module *mod, const Stmt *from, Stmt *store)
{
    if (from->kind != S_FOR)
        return store;
    Stmt *s = NEW(mod->arena, Stmt);
    *s = *from;
    s->body = copy_loops(mod, from->body, store);
    return s;
}

// The step *at is replaced by what it does, in float32. The one behind it is returned.
static Step **rewrite(Halves *w, Step **at, const Found *f)
{
    Module *mod = w->mod;
    Step *step = *at;
    Kernel *k = step->kernel;
    const Expr *r = f->reduce;
    const Expr *a = in_f32(w, f, r->b->a, at);
    while (*at != step)
        at = &(*at)->next;
    const Expr *b = in_f32(w, f, r->b->b, at);
    while (*at != step)
        at = &(*at)->next;
    const Expr *sum =
        expr_reduce(mod, R_ADD, r->rank, r->vars, r->a, expr_binary(mod, B_MUL, a, b));
    const Stmt *store = f->store;
    const bool in_place = buffer_at(mod, store->buffer)->dtype == DT_F32;
    const BufferId to = in_place ? store->buffer : like(mod, store->buffer, BUF_TEMP);
    const Expr *value = in_place ? sum : expr_load(mod, to, store->at);
    ExprMap map = {&(Swap){r, value}, swap, NULL};
    const Expr *whole = expr_map(mod, store->value, &map);
    Stmt *body = k->body;
    k->body =
        copy_loops(mod, body, new_store(mod, to, store->rank, store->at, in_place ? whole : sum));
    if (in_place)
        return &step->next;
    Step *last = insert_kernel(
        mod, step->next, step,
        copy_loops(mod, body, new_store(mod, store->buffer, store->rank, store->at, whole)));
    step->next = last;
    return &last->next;
}

// What the kernel stores is no more what was widened.
static void forget(Halves *w, const Stmt *s)
{
    for (; s; s = s->next) {
        for (uint32_t i = 0; i < w->now.len; i++)
            if ((s->kind == S_STORE || s->kind == S_UPDATE) && w->now.at[i].from == s->buffer)
                w->now.at[i--] = w->now.at[--w->now.len];
        forget(w, s->body);
        forget(w, s->other);
    }
}

static void widen_steps(Halves *w, Step **at)
{
    w->now.len = 0;
    while (*at && !w->failed) {
        Step *s = *at;
        Found f;
        if (s->kind != STEP_KERNEL) {
            widen_steps(w, &s->body);
            widen_steps(w, &s->other);
            w->now.len = 0;
            at = &s->next;
        } else if (!s->kernel->on_host && !s->kernel->override && find(w, s->kernel, &f)) {
            forget(w, s->kernel->body);
            at = rewrite(w, at, &f);
        } else {
            forget(w, s->kernel->body);
            at = &s->next;
        }
    }
}

bool halves_widen(Module *mod, Str *error)
{
    Halves w = {.mod = mod, .scratch = arena_new(), .error = error};
    w.p = printer_new(mod, &dialect_c, w.scratch, NULL, "");
    widen_steps(&w, &mod->steps);
    arena_free(w.scratch);
    return !w.failed;
}
