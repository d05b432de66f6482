// Integers that kernels compute of places alone are computed where they are read, as indices:
//
//     i[a, b, 0] = a,  i[a, b, 1] = b + 64     (what exporters write for x[:, 64:] = u)
//     y[i[a, b, 0], i[a, b, 1]] = u[a, b]      is    y[a, b + 64] = u[a, b]
//
// So a ScatterND at such indices moves a box, a Gather is a view, and neither asks of each index
// whether it is within bounds. Of a sequential loop that stores each element at another place,
// iterations are independent then.

#include "codegen/fuse_parts.h"

enum { MOST_RANK = 16 };

// What one kernel stores of a buffer: the value of its element at dim[i] = vars[i] + from[i], or
// at from[i] where vars[i] is 0.
typedef struct KnownPart {
    const struct KnownPart *before; // written before it
    LoopId vars[MOST_RANK];
    int64_t from[MOST_RANK];
    const Expr *value;
} KnownPart;

typedef struct Known {
    Fuse *f;
    uint32_t nbuffers;
    uint32_t *writers;       // by BufferId: steps that write it, and have not been seen
    const KnownPart **parts; // by BufferId: the last one; NULL: it is not known
    bool *other;             // by BufferId: something else is written there
    bool changed;
    ExprMap map, sums; // what is known put in; sums of it made indices
} Known;

// ---- what is written ---------------------------------------------------------------------------

static void count_stores(Known *x, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            x->writers[s->buffer]++;
        count_stores(x, s->body);
        count_stores(x, s->other);
    }
}

static void count_writers(Known *x, const Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            count_stores(x, s->kernel->body);
        for (uint32_t i = 0; s->call && i < s->call->nwrites; i++)
            x->other[s->call->writes[i]] = true;
        count_writers(x, s->body);
        count_writers(x, s->other);
    }
}

// A division costs more than to load what it gives.
static bool divides(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_FLOORDIV || a->kind == ATOM_MOD;
}

// A sum of indices as one index; NULL: e is something else, reads data, or is dear.
static Index linear(Module *mod, const Expr *e)
{
    const bool sum = e->kind == EX_BINARY && (e->op == B_ADD || e->op == B_SUB);
    Index i = expr_as_index(mod, e);
    if (!i && sum && e->dtype == DT_I64) {
        Index a = linear(mod, e->a), b = linear(mod, e->b);
        i = !a || !b         ? NULL
            : e->op == B_ADD ? poly_add(mod->polys, a, b)
                             : poly_sub(mod->polys, a, b);
    }
    if (!i && e->kind == EX_UNARY && e->op == U_NEG && e->dtype == DT_I64)
        i = linear(mod, e->a) ? poly_scale(mod->polys, linear(mod, e->a), -1) : NULL;
    if (!i || poly_is_overflow(i) || poly_reads_data(i))
        return NULL;
    return poly_any(i, divides, NULL) ? NULL : i;
}

// The value as an index, or one cast to int32.
static const Expr *known_value(Module *mod, const Expr *e)
{
    const bool cast = e->kind == EX_CAST && e->dtype == DT_I32 && e->a->dtype == DT_I64;
    Index i = linear(mod, cast ? e->a : e);
    return !i     ? NULL
           : cast ? expr_cast(mod, DT_I32, expr_index(mod, i), e->saturate)
                  : expr_index(mod, i);
}

// Each loop runs over one dim.
static bool take_places(Known *x, const Point *p, KnownPart *part)
{
    Polys *polys = x->f->mod->polys;
    for (uint32_t i = 0; i < p->store->rank; i++) {
        for (uint32_t k = 0; k < p->nloops && !part->vars[i]; k++) {
            const LoopId v = p->loops[k]->var;
            if (poly_has_loop(p->store->at[i], v))
                part->vars[i] = v;
        }
        Index rest = p->store->at[i];
        if (part->vars[i])
            rest = poly_sub(polys, rest, poly_loop(polys, part->vars[i]));
        if (!poly_is_const(rest, &part->from[i]))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (part->vars[i] && part->vars[k] == part->vars[i])
                return false;
    }
    for (uint32_t k = 0; k < p->nloops; k++) {
        bool found = poly_equals(loop_extent(polys, p->loops[k]->var), 1);
        for (uint32_t i = 0; i < p->store->rank; i++)
            found |= part->vars[i] == p->loops[k]->var;
        if (!found)
            return false;
    }
    return true;
}

// A kernel of the outermost list, whose indices are what they will be whenever it is read.
static void take_kernel(Known *x, const Kernel *k)
{
    const Point p = point_of(k->body);
    const BufferId b = p.store ? p.store->buffer : 0;
    if (!b || p.store->rank > MOST_RANK || buffer_at(x->f->mod, b)->kind != BUF_TEMP)
        return;
    KnownPart part = {.before = x->parts[b]};
    part.value = known_value(x->f->mod, p.store->value);
    if (!part.value || p.store->kind != S_STORE || !take_places(x, &p, &part))
        return;
    KnownPart *own = NEW(x->f->arena, KnownPart);
    *own = part;
    x->parts[b] = own;
    x->writers[b]--;
}

// ---- what is read ------------------------------------------------------------------------------

typedef struct Element {
    Known *x;
    const KnownPart *part;
    const Index *at;
} Element;

static Index at_element(void *context, const Atom *a)
{
    const Element *e = context;
    const uint32_t rank = MOST_RANK;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < rank; i++)
        if (e->part->vars[i] == a->var)
            return poly_add_const(e->x->f->mod->polys, e->at[i], -e->part->from[i]);
    return NULL;
}

typedef enum Covers { COVERS_NOT, COVERS, COVERS_PERHAPS } Covers;

// Does the part hold the element?
static Covers covers(const Known *x, const KnownPart *part, BufferId b, const Index *at)
{
    Polys *polys = x->f->mod->polys;
    const Buffer *buffer = buffer_at(x->f->mod, b);
    Covers all = COVERS;
    for (uint32_t i = 0; i < buffer->rank; i++) {
        Index own = poly_add_const(polys, at[i], -part->from[i]), one = poly_const(polys, 1);
        Index extent = part->vars[i] ? loop_extent(polys, part->vars[i]) : one;
        if (part->from[i] == 0 && extent == buffer->dims[i])
            continue;
        if (poly_less(polys, own, poly_const(polys, 0)) ||
            poly_nonnegative(polys, poly_sub(polys, own, extent)))
            return COVERS_NOT;
        if (!poly_nonnegative(polys, own) || !poly_less(polys, own, extent))
            all = COVERS_PERHAPS;
    }
    return all;
}

static const Expr *known_load(Known *x, const Expr *e)
{
    if (e->kind != EX_LOAD || e->buffer >= x->nbuffers || !x->parts[e->buffer] ||
        x->writers[e->buffer] || x->other[e->buffer])
        return NULL;
    Index at[MOST_RANK];
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = index_map(x->f->mod, e->at[i], &x->map);
    for (const KnownPart *part = x->parts[e->buffer]; part; part = part->before) {
        const Covers held = covers(x, part, e->buffer, at);
        if (held == COVERS_NOT)
            continue;
        if (held == COVERS_PERHAPS)
            return NULL;
        Element of = {x, part, at};
        const ExprMap map = {&of, NULL, at_element};
        return expr_map(x->f->mod, part->value, &map);
    }
    return NULL;
}

// Sums of what has become indices are one.
static const Expr *sum_of_known(void *context, const Expr *e)
{
    const Known *x = context;
    const bool made = e->kind == EX_BINARY || e->kind == EX_UNARY;
    Index i = made ? linear(x->f->mod, e) : NULL;
    return i ? expr_index(x->f->mod, i) : NULL;
}

static const Expr *known_expr(void *context, const Expr *e)
{
    Known *x = context;
    const Expr *known = fuse_folded(x->f, e, &x->map);
    known = known ? known : known_load(x, e);
    x->changed |= known && e->kind == EX_LOAD;
    return known;
}

// ---- loops whose iterations are independent ----------------------------------------------------

// Is there a dim of the store that tells the variable's iterations apart?
static bool tells_apart(Polys *polys, const Stmt *store, LoopId v)
{
    for (uint32_t i = 0; i < store->rank; i++)
        for (uint32_t t = 0; t < store->at[i]->nterms; t++) {
            const Term *k = &store->at[i]->terms[t];
            if (k->natoms != 1 || k->atoms[0]->kind != ATOM_LOOP || k->atoms[0]->var != v)
                continue;
            Index own = poly_scale(polys, poly_loop(polys, v), k->coeff);
            if (!poly_varies(poly_sub(polys, store->at[i], own)))
                return true;
        }
    return false;
}

// Iterations of the loops around a single store are marked as independent, where each stores
// another element and none reads what is stored.
static void part_iterations(Known *x, Stmt *body)
{
    Module *mod = x->f->mod;
    const Stmt *store = body;
    while (store && store->kind == S_FOR && !store->next)
        store = store->body;
    if (!store || store->kind != S_STORE || store->next)
        return;
    const bool own = expr_reads(mod, store->value, store->buffer);
    for (uint32_t i = 0; i < store->rank; i++)
        if (poly_reads_data(store->at[i]))
            return;
    for (const Stmt *s = body; s != store; s = s->body)
        if (own || poly_varies(loop_extent(mod->polys, s->var)) ||
            !(poly_equals(loop_extent(mod->polys, s->var), 1) ||
              tells_apart(mod->polys, store, s->var)))
            return;
    for (; body != store; body = body->body)
        body->par = true;
}

// ---- the steps ---------------------------------------------------------------------------------

static bool always_holds(const Expr *e)
{
    if (e->kind == EX_REDUCE && e->op == R_AND)
        return always_holds(e->b);
    return e->kind == EX_CONST && e->value.i;
}

static void map_kernel(Known *x, Kernel *k)
{
    k->body = stmts_map(x->f, k->body, &x->map);
    if (!x->changed)
        return;
    k->body = stmts_map(x->f, k->body, &x->sums);
    part_iterations(x, k->body);
}

static Step *map_steps(Known *x, Step *s, bool outermost)
{
    Step *first = NULL, **tail = &first;
    for (; s; s = s->next) {
        x->changed = false;
        if (s->kernel)
            map_kernel(x, s->kernel);
        if (s->kind == STEP_CHECK) {
            s->cond = expr_map(x->f->mod, s->cond, &x->map);
            s->cond = expr_map(x->f->mod, s->cond, &x->sums);
            if (always_holds(s->cond))
                continue;
        }
        if (outermost && s->kernel)
            take_kernel(x, s->kernel);
        s->body = map_steps(x, s->body, false);
        s->other = map_steps(x, s->other, false);
        *tail = s;
        tail = &s->next;
    }
    *tail = NULL;
    return first;
}

void fuse_known(Fuse *f)
{
    Known x = {.f = f, .nbuffers = f->mod->buffers.len};
    x.writers = NEWS(f->arena, uint32_t, x.nbuffers);
    x.parts = NEWS(f->arena, const KnownPart *, x.nbuffers);
    x.other = NEWS(f->arena, bool, x.nbuffers);
    x.map = (ExprMap){&x, known_expr, NULL};
    x.sums = (ExprMap){&x, sum_of_known, NULL};
    count_writers(&x, f->mod->steps);
    f->mod->steps = map_steps(&x, f->mod->steps, true);
}
