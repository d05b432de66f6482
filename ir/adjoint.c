// Reverse mode on the kernel IR.
//
// A kernel that stores y[o] = e(x[i], ...) becomes one with the same loops that adds, for every
// load of a buffer that counts, dy[o] * de/dx[i] to dx[i]. Reductions become loops, guards and arms
// of selects become ifs, so that nothing is evaluated that the kernel itself did not evaluate.
// Adjoints begin as 0 (that of y as 1) and kernels are visited from the last to the first. Sums of
// loads and of products whose places solve for the loops are gathered instead
// (ir/adjoint_gather.h), which leaves a product a product; reductions that elements share are
// stored apart first (ir/adjoint_rows.h).

#include "ir/adjoint.h"
#include "ir/adjoint_gather.h"
#include "ir/adjoint_rows.h"
#include "ir/lower_state.h"

#include <math.h>

enum { MAX_VISITS = 20000 }; // expressions differentiated in one kernel

typedef struct Adjoint {
    Lower *l;
    uint32_t nbuffers;
    uint8_t *active; // by buffer: floats that depend on some x, and y on them
    uint8_t *needed; // by buffer: some y depends on it
    uint8_t *opaque; // by buffer: it depends on what a call made of them
    bool any_opaque;
    uint8_t *writers; // by buffer: kernels that write it, counted up to 2
    Tensor *bar;      // by buffer: its adjoint
    bool *begun;      // by buffer: something was stored there
    Kernels kernels;
    // Of the kernel in hand:
    VEC(LoopId) from; // its loops, and what they are in the new kernel
    VEC(Index) to;
    VEC(LocalId) lets;
    VEC(const Expr *) values;
    const GatherPlan *plan; // what of its sum is gathered; NULL: nothing
    uint32_t visits;
    bool found, refused;
} Adjoint;

static void refuse(Adjoint *a, const char *what)
{
    if (!a->refused)
        not_supported(a->l, "Gradient: %s has no derivative here", what);
    a->refused = true;
}

// ---- what counts

static void find_active(void *context, const Expr *e)
{
    Adjoint *a = context;
    a->found = a->found || (e->kind == EX_LOAD && e->buffer < a->nbuffers && a->active[e->buffer]);
}

static bool depends(Adjoint *a, const Expr *e)
{
    a->found = false;
    if (e)
        expr_walk(a->l->module, e, find_active, a);
    return a->found;
}

static bool body_reads_active(Adjoint *a, const Stmt *s)
{
    for (; s; s = s->next)
        if (depends(a, s->value) || body_reads_active(a, s->body) || body_reads_active(a, s->other))
            return true;
    return false;
}

static void mark_written(Adjoint *a, const Stmt *s, uint8_t *marks)
{
    for (; s; s = s->next) {
        if ((s->kind == S_STORE || s->kind == S_UPDATE) &&
            dtype_is_float(buffer_at(a->l->module, s->buffer)->dtype))
            marks[s->buffer] = 1;
        mark_written(a, s->body, marks);
        mark_written(a, s->other, marks);
    }
}

static bool writes_marked(const Stmt *s, const uint8_t *marks)
{
    for (; s; s = s->next)
        if (((s->kind == S_STORE || s->kind == S_UPDATE) && marks[s->buffer]) ||
            writes_marked(s->body, marks) || writes_marked(s->other, marks))
            return true;
    return false;
}

static void count_writes(Adjoint *a, const Stmt *s)
{
    for (; s; s = s->next) {
        if ((s->kind == S_STORE || s->kind == S_UPDATE) && a->writers[s->buffer] < 2)
            a->writers[s->buffer]++;
        count_writes(a, s->body);
        count_writes(a, s->other);
    }
}

static bool body_reads_opaque(Adjoint *a, const Stmt *s)
{
    uint8_t *active = a->active;
    a->active = a->opaque;
    bool found = a->any_opaque && body_reads_active(a, s);
    a->active = active;
    return found;
}

// What a call gives has no derivative, which matters where y depends on it.
static void collect_call(Adjoint *a, const Call *c)
{
    bool reads = false;
    for (uint32_t i = 0; i < c->nreads; i++)
        reads = reads ||
                (c->reads[i] < a->nbuffers && (a->active[c->reads[i]] || a->opaque[c->reads[i]]));
    for (uint32_t i = 0; reads && i < c->nwrites; i++)
        a->opaque[c->writes[i]] = a->any_opaque = true;
}

// Kernels in the order of execution, and what they make depend on x. Branches and loops of the
// program may not take part.
static void collect(Adjoint *a, const Step *s, bool inside)
{
    for (; s && !a->refused; s = s->next) {
        bool reads = s->kind == STEP_KERNEL && body_reads_active(a, s->kernel->body);
        if (s->kind == STEP_KERNEL && !inside) {
            vec_push(a->l->arena, &a->kernels, s->kernel);
            count_writes(a, s->kernel->body);
            if (body_reads_opaque(a, s->kernel->body))
                mark_written(a, s->kernel->body, a->opaque);
            if (reads)
                mark_written(a, s->kernel->body, a->active);
        } else if (reads) {
            refuse(a, "a loop or branch of the program");
        }
        if (s->kind == STEP_CALL)
            collect_call(a, s->call);
        collect(a, s->body, true);
        collect(a, s->other, true);
    }
}

static void note_needed(void *context, const Expr *e)
{
    Adjoint *a = context;
    if (e->kind == EX_LOAD && e->buffer < a->nbuffers)
        a->needed[e->buffer] = 1;
}

static void need_read(Adjoint *a, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->value)
            expr_walk(a->l->module, s->value, note_needed, a);
        need_read(a, s->body);
        need_read(a, s->other);
    }
}

// What is computed of x for others than y does not count: its adjoint is 0, and 0 times an infinite
// slope would not be.
static void keep_needed(Adjoint *a, const AdjointEnds *ends)
{
    for (uint32_t i = 0; i < ends->ny; i++)
        a->needed[ends->y[i].buffer] = 1;
    for (uint32_t k = a->kernels.len; k-- > 0;)
        if (writes_marked(a->kernels.at[k]->body, a->needed))
            need_read(a, a->kernels.at[k]->body);
    for (BufferId b = 0; b < a->nbuffers; b++)
        a->active[b] = a->active[b] && a->needed[b];
}

// ---- expressions in the new kernel

static Index map_loop(void *context, const Atom *atom)
{
    const Adjoint *a = context;
    if (atom->kind == ATOM_LOOP)
        for (uint32_t i = a->from.len; i-- > 0;)
            if (a->from.at[i] == atom->var)
                return a->to.at[i];
    return NULL;
}

static const Expr *map_let(void *context, const Expr *e)
{
    const Adjoint *a = context;
    if (e->kind == EX_LOCAL && e->rank == 0)
        for (uint32_t i = a->lets.len; i-- > 0;)
            if (a->lets.at[i] == e->local)
                return a->values.at[i];
    return NULL;
}

static const Expr *mapped(Adjoint *a, const Expr *e)
{
    ExprMap map = {a, map_let, map_loop};
    return e ? expr_map(a->l->module, e, &map) : NULL;
}

static Index mapped_index(Adjoint *a, Index i)
{
    ExprMap map = {a, map_let, map_loop};
    return index_map(a->l->module, i, &map);
}

static void back(Adjoint *a, const Expr *e, const Expr *g);

// ---- rules

static const Expr *square(Lower *l, const Expr *x)
{
    return mul(l, x, x);
}

static const Expr *sign_of(Lower *l, const Expr *x)
{
    const Expr *z = zero(l, x->dtype), *one_ = one(l, x->dtype);
    return select_(l, lt(l, z, x), one_, select_(l, lt(l, x, z), neg(l, one_), z));
}

static const Expr *inverse_root(Lower *l, const Expr *x)
{
    return div_(l, one(l, x->dtype), sqrt_(l, x));
}

// de/dx of a unary operator whose result is e; NULL: 0 wherever it is defined.
static const Expr *slope(Adjoint *a, const Expr *e)
{
    Lower *l = a->l;
    const Expr *x = e->a, *c1 = one(l, x->dtype);
    switch ((UnaryOp)e->op) {
    case U_NEG:
        return num(l, x->dtype, -1);
    case U_ABS:
        return sign_of(l, x);
    case U_SQRT:
        return div_(l, num(l, x->dtype, 0.5), e);
    case U_EXP:
        return e;
    case U_EXPM1:
        return add(l, e, c1);
    case U_LOG:
        return div_(l, c1, x);
    case U_LOG1P:
        return div_(l, c1, add(l, c1, x));
    case U_SIN:
        return unary(l, U_COS, x);
    case U_COS:
        return neg(l, unary(l, U_SIN, x));
    case U_TAN:
        return add(l, c1, square(l, e));
    case U_ASIN:
        return inverse_root(l, sub(l, c1, square(l, x)));
    case U_ACOS:
        return neg(l, inverse_root(l, sub(l, c1, square(l, x))));
    case U_ATAN:
        return div_(l, c1, add(l, c1, square(l, x)));
    case U_SINH:
        return unary(l, U_COSH, x);
    case U_COSH:
        return unary(l, U_SINH, x);
    case U_TANH:
        return sub(l, c1, square(l, e));
    case U_ASINH:
        return inverse_root(l, add(l, square(l, x), c1));
    case U_ACOSH:
        return inverse_root(l, sub(l, square(l, x), c1));
    case U_ATANH:
        return div_(l, c1, sub(l, c1, square(l, x)));
    case U_ERF: // 2 / sqrt(pi) * exp(-x^2)
        return mul(l, num(l, x->dtype, 1.1283791670955126), exp_(l, neg(l, square(l, x))));
    default: // FLOOR, CEIL, ROUND, TRUNC
        return NULL;
    }
}

static void back_binary(Adjoint *a, const Expr *e, const Expr *g)
{
    Lower *l = a->l;
    const Expr *x = e->a, *y = e->b, *first;
    switch ((BinaryOp)e->op) {
    case B_ADD:
        back(a, x, g);
        back(a, y, g);
        return;
    case B_SUB:
        back(a, x, g);
        back(a, y, neg(l, g));
        return;
    case B_MUL:
        back(a, x, mul(l, g, y));
        back(a, y, mul(l, g, x));
        return;
    case B_DIV:
        back(a, x, div_(l, g, y));
        back(a, y, neg(l, mul(l, g, div_(l, e, y))));
        return;
    case B_MOD:
    case B_FMOD:
        back(a, x, g);
        back(a, y, neg(l, mul(l, g, unary(l, e->op == B_MOD ? U_FLOOR : U_TRUNC, div_(l, x, y)))));
        return;
    case B_MIN:
    case B_MAX: // of equals the first
        first = e->op == B_MIN ? le(l, x, y) : le(l, y, x);
        if_(l, first);
        back(a, x, g);
        else_(l);
        back(a, y, g);
        end(l);
        return;
    case B_POW:
        back(a, x, mul(l, g, mul(l, y, pow_(l, x, sub(l, y, one(l, y->dtype))))));
        if (depends(a, y)) { // at 0 the power does not depend on it
            if_(l, lt(l, zero(l, x->dtype), x));
            back(a, y, mul(l, g, mul(l, e, log_(l, x))));
            end(l);
        }
        return;
    case B_ATAN2:
        first = div_(l, g, add(l, square(l, x), square(l, y)));
        back(a, x, mul(l, first, y));
        back(a, y, neg(l, mul(l, first, x)));
        return;
    default:
        refuse(a, "an operation on bits");
    }
}

// Opens a loop for each variable of a reduction and its guard; *opened blocks are to be ended.
static void open_reduction(Adjoint *a, const Expr *e, const Expr **where, const Expr **body,
                           uint32_t *opened)
{
    uint32_t begin = a->from.len;
    for (uint32_t k = 0; k < e->rank; k++) {
        Index extent = mapped_index(a, loop_extent(a->l->polys, e->vars[k]));
        Index v = seq(a->l, extent);
        vec_push(a->l->arena, &a->from, e->vars[k]);
        vec_push(a->l->arena, &a->to, v);
    }
    *where = mapped(a, e->a);
    *body = mapped(a, e->b);
    *opened = e->rank;
    a->from.len = a->to.len = begin;
}

// The product over all but the entry that the loops stand at: nothing is divided by, which may be
// 0.
static const Expr *product_of_others(Adjoint *a, const Expr *e, const Index *at)
{
    Lower *l = a->l;
    const Expr *copy = expr_fresh(l->module, e), *other = NULL;
    if (copy->kind != EX_REDUCE)
        return copy;
    for (uint32_t k = 0; k < copy->rank; k++) {
        const Expr *differs = not_(l, index_eq(l, poly_loop(l->polys, copy->vars[k]), at[k]));
        other = other ? or_(l, other, differs) : differs;
    }
    return expr_reduce(l->module, R_MUL, copy->rank, copy->vars, both(l, copy->a, other), copy->b);
}

static void back_reduce(Adjoint *a, const Expr *e, const Expr *g)
{
    Lower *l = a->l;
    const Expr *where, *body, *m = NULL;
    uint32_t opened, begin = a->from.len;
    Index at[64];
    if (e->op != R_ADD && e->op != R_MUL && e->op != R_MAX && e->op != R_MIN) {
        refuse(a, "a reduction to an index");
        return;
    }
    if (e->op == R_MAX || e->op == R_MIN) { // equals share
        m = let(l, e);
        const Expr *same = cast(l, e->dtype, eq(l, e->b, m));
        g = div_(l, g, expr_reduce(l->module, R_ADD, e->rank, e->vars, e->a, same));
    }
    g = let(l, g);
    for (uint32_t k = 0; k < e->rank && k < 64; k++)
        at[k] = NULL;
    open_reduction(a, e, &where, &body, &opened);
    for (uint32_t k = 0; k < e->rank && k < 64; k++)
        at[k] = a->to.at[begin + k]; // what was there last still stands behind the end
    if (e->op == R_MUL)
        g = mul(l, g, product_of_others(a, e, at));
    if (where)
        if_(l, where);
    if (m) // read where the guard holds only
        if_(l, eq(l, body, m));
    back(a, body, g);
    for (uint32_t k = 0; k < opened + (where != NULL) + (m != NULL); k++)
        end(l);
}

// Adds g * de/d(load) to the adjoint of every load in e that counts.
static void back(Adjoint *a, const Expr *e, const Expr *g)
{
    Lower *l = a->l;
    const Expr *s;
    if (a->refused || !depends(a, e))
        return;
    if (++a->visits > MAX_VISITS) {
        refuse(a, "a formula of this size");
        return;
    }
    switch (e->kind) {
    case EX_LOAD:
        if (a->active[e->buffer])
            update(l, B_ADD, a->bar[e->buffer], e->at, g);
        return;
    case EX_UNARY:
        s = dtype_is_float(e->dtype) ? slope(a, e) : NULL;
        if (s)
            back(a, e->a, mul(l, g, s));
        return;
    case EX_BINARY:
        if (dtype_is_float(e->dtype))
            back_binary(a, e, g);
        return;
    case EX_SELECT:
        if (!dtype_is_float(e->dtype))
            return;
        g = let(l, g);
        if_(l, e->a);
        back(a, e->b, g);
        else_(l);
        back(a, e->c, g);
        end(l);
        return;
    case EX_CAST:
        if (dtype_is_float(e->dtype) && dtype_is_float(e->a->dtype))
            back(a, e->a, cast(l, e->a->dtype, g));
        return;
    case EX_REDUCE:
        if (dtype_is_float(e->dtype))
            back_reduce(a, e, g);
        return;
    default: // constants and indices do not depend; a bitcast of an integer neither
        return;
    }
}

// ---- kernels

static bool has_store(const Stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == S_STORE || has_store(s->body) || has_store(s->other))
            return true;
    return false;
}

static void back_body(Adjoint *a, const Stmt *s);

static void back_write(Adjoint *a, const Stmt *s)
{
    Lower *l = a->l;
    Index at[MAX_RANK];
    if (!a->active[s->buffer])
        return;
    if (s->kind == S_UPDATE && s->op != B_ADD) {
        refuse(a, "an update that is no sum");
        return;
    }
    for (uint32_t i = 0; i < s->rank; i++)
        at[i] = mapped_index(a, s->at[i]);
    Tensor bar = a->bar[s->buffer];
    const Expr *g = let(l, load(l, bar, at));
    if (s->kind == S_STORE && a->writers[s->buffer] > 1)
        store(l, bar, at, zero(l, bar.dtype)); // what stood there before is gone
    if (!a->plan)
        back(a, mapped(a, s->value), g);
    for (uint32_t i = 0; a->plan && i < a->plan->nrest; i++)
        back(a, mapped(a, a->plan->rest[i]), g);
}

static void back_loop(Adjoint *a, const Stmt *s)
{
    Index extent = mapped_index(a, loop_extent(a->l->polys, s->var));
    if (!s->par && has_store(s->body)) {
        refuse(a, "a kernel whose iterations have an order");
        return;
    }
    Index v = s->par ? par(a->l, extent) : seq(a->l, extent);
    vec_push(a->l->arena, &a->from, s->var);
    vec_push(a->l->arena, &a->to, v);
    back_body(a, s->body);
    a->from.len--;
    a->to.len--;
    end(a->l);
}

static void back_body(Adjoint *a, const Stmt *s)
{
    for (; s && !a->refused; s = s->next)
        switch (s->kind) {
        case S_FOR:
            back_loop(a, s);
            break;
        case S_LET: {
            const Expr *value = mapped(a, s->value);
            vec_push(a->l->arena, &a->lets, s->local);
            vec_push(a->l->arena, &a->values, value);
            break;
        }
        case S_STORE:
        case S_UPDATE:
            back_write(a, s);
            break;
        case S_IF:
            if_(a->l, mapped(a, s->value));
            back_body(a, s->body);
            if (s->other) {
                else_(a->l);
                back_body(a, s->other);
            }
            end(a->l);
            break;
        default:
            refuse(a, "a kernel with variables");
        }
}

static void fill(Lower *l, Tensor t, double value)
{
    Index o[MAX_RANK];
    kernel(l, "adjoint_begin");
    par_all(l, t, o);
    store(l, t, o, num(l, t.dtype, value));
    kernel_end(l);
}

// Adjoints of all that counts at their beginning: those of the results as given, else 0.
static void begin_adjoints(Adjoint *a, uint32_t ny, const Tensor *y, const Tensor *seeds)
{
    for (BufferId b = 1; b < a->nbuffers; b++) {
        const Buffer *buf = buffer_at(a->l->module, b);
        if (!a->active[b])
            continue;
        DType t = buf->dtype;
        uint32_t rank = buf->rank, k = 0;
        const Index *dims = buf->dims;
        a->bar[b] = temp(a->l, "adjoint", t, rank, dims);
        while (k < ny && y[k].buffer != b)
            k++;
        a->begun[b] = k < ny;
        if (k < ny && seeds)
            copy_tensor(a->l, a->bar[b], seeds[k]);
        else if (k < ny)
            fill(a->l, a->bar[b], 1);
    }
}

// What nothing was stored in yet is 0.
static void begin_adjoint(Adjoint *a, BufferId b)
{
    if (b < a->nbuffers && a->active[b] && !a->begun[b])
        fill(a->l, a->bar[b], 0);
    a->begun[b] = true;
}

static void begin_load(void *context, const Expr *e)
{
    Adjoint *a = context;
    if (e->kind == EX_LOAD && e->buffer < a->nbuffers)
        begin_adjoint(a, e->buffer);
}

// The adjoints of all that the statements read and write.
static void begin_touched(Adjoint *a, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->value)
            expr_walk(a->l->module, s->value, begin_load, a);
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            begin_adjoint(a, s->buffer);
        begin_touched(a, s->body);
        begin_touched(a, s->other);
    }
}

// One kernel backwards: sums that are gathered, then what is left of it.
static void back_kernel(Adjoint *a, const Kernel *forward)
{
    Lower *l = a->l;
    GatherPlan plan;
    bool gathers = gather_plan(l, forward, a->active, a->nbuffers, &plan) &&
                   a->active[plan.store->buffer] && a->writers[plan.store->buffer] == 1;
    a->plan = gathers ? &plan : NULL;
    if (gathers)
        begin_adjoint(a, plan.store->buffer);
    for (uint32_t i = 0; gathers && i < plan.nparts; i++) {
        BufferId x = plan.parts[i].load->buffer;
        gather_emit(&plan, i, a->bar[plan.store->buffer], a->bar[x], a->begun[x]);
        a->begun[x] = true;
    }
    if (gathers && plan.nrest == 0)
        return;
    begin_touched(a, forward->body);
    a->visits = 0;
    a->lets.len = a->values.len = 0;
    kernel(l, str_printf(l->arena, "d_%.*s", STR_ARG(forward->name)).at);
    back_body(a, forward->body);
    kernel_end(l);
}

// The steps so far that run whenever the next one does: of the program, or of the innermost body or
// branch, in which all between x and y stands (passes/bind_gradients.c).
static const Step *steps_around(const Lower *l)
{
    if (!l->state->nopen_steps)
        return l->module->steps;
    Step *open = l->state->open_steps[l->state->nopen_steps - 1], **end = &open->body;
    while (*end)
        end = &(*end)->next;
    return end == l->state->tail ? open->body : open->other;
}

static bool counts(void *user, const Expr *e)
{
    return depends(user, e);
}

static void *longer(Adjoint *a, const void *array, uint32_t n, size_t each)
{
    char *more = NEWS(a->l->arena, char, n *each);
    return memcpy(more, array, a->nbuffers * each);
}

// Reductions that elements of kernels share become kernels, each with a buffer that counts.
static void take_rows(Adjoint *a)
{
    Kernels all = {0};
    for (uint32_t k = 0; k < a->kernels.len; k++) {
        const Kernel *forward = a->kernels.at[k];
        if (writes_marked(forward->body, a->active))
            forward = rows_apart(a->l, forward, counts, a, &all);
        vec_push(a->l->arena, &all, forward);
    }
    const uint32_t n = a->l->module->buffers.len;
    a->kernels = all;
    a->active = longer(a, a->active, n, sizeof *a->active);
    a->writers = longer(a, a->writers, n, sizeof *a->writers);
    a->bar = longer(a, a->bar, n, sizeof *a->bar);
    a->begun = longer(a, a->begun, n, sizeof *a->begun);
    memset(a->active + a->nbuffers, 1, n - a->nbuffers);
    memset(a->writers + a->nbuffers, 1, n - a->nbuffers);
    a->nbuffers = n;
}

// The kernels from `first` on, backwards. x: what is derived by.
static bool adjoint_run(Lower *l, const Step *first, const AdjointEnds *ends, Tensor *grads)
{
    Arena *scratch = arena_new();
    Adjoint a = {.l = l, .nbuffers = l->module->buffers.len};
    a.active = NEWS(scratch, uint8_t, a.nbuffers);
    a.needed = NEWS(scratch, uint8_t, a.nbuffers);
    a.opaque = NEWS(scratch, uint8_t, a.nbuffers);
    a.writers = NEWS(scratch, uint8_t, a.nbuffers);
    a.bar = NEWS(scratch, Tensor, a.nbuffers);
    a.begun = NEWS(scratch, bool, a.nbuffers);
    for (uint32_t i = 0; i < ends->nx; i++)
        a.active[ends->x[i].buffer] = 1;
    a.active[0] = 0;
    collect(&a, first, false);
    keep_needed(&a, ends);
    for (uint32_t i = 0; i < ends->ny; i++)
        if (ends->y[i].buffer && a.opaque[ends->y[i].buffer])
            refuse(&a, "a call");
    if (!a.refused)
        take_rows(&a);
    if (!a.refused)
        begin_adjoints(&a, ends->ny, ends->y, ends->seeds);
    for (uint32_t k = a.kernels.len; k-- > 0 && !a.refused;) {
        const Kernel *forward = a.kernels.at[k];
        if (!writes_marked(forward->body, a.active) || !body_reads_active(&a, forward->body))
            continue;
        back_kernel(&a, forward);
    }
    for (uint32_t i = 0; i < ends->nx; i++) {
        if (!a.refused && ends->x[i].buffer)
            begin_adjoint(&a, ends->x[i].buffer);
        grads[i] = a.bar[ends->x[i].buffer];
    }
    arena_free(scratch);
    return !a.refused;
}

bool adjoint_of_steps(Lower *l, Tensor y, uint32_t n, const Tensor *x, Tensor *grads)
{
    AdjointEnds ends = {1, &y, NULL, n, x};
    return adjoint_run(l, steps_around(l), &ends, grads);
}

bool adjoint_of_part(Lower *l, const Step *first, const AdjointEnds *ends, Tensor *grads)
{
    return adjoint_run(l, first, ends, grads);
}
