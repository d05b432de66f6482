// Expressions and indices of the interpreter.

#include "ir/interp_state.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 4000 };

// ---- indices ---------------------------------------------------------------------------------

static int64_t eval_atom(Interp *s, const Atom *x)
{
    if (x->kind == ATOM_LOOP)
        return s->loops[x->var];
    if (x->kind == ATOM_DIM)
        return s->dims[x->var];
    if (x->kind == ATOM_EXPR)
        return interp_expr(s, x->e).i;
    int64_t a = interp_index(s, x->a), b = interp_index(s, x->b);
    switch (x->kind) {
    case ATOM_FLOORDIV:
        return floor_divide(a, b);
    case ATOM_MOD:
        return b ? (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)floor_divide(a, b)) : 0;
    case ATOM_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

int64_t interp_index(Interp *s, Index i)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < i->nterms; n++) {
        const Term *t = &i->terms[n];
        uint64_t product = (uint64_t)t->coeff;
        for (uint32_t k = 0; k < t->natoms; k++)
            product *= (uint64_t)eval_atom(s, t->atoms[k]);
        sum += product;
    }
    return (int64_t)sum;
}

uint64_t interp_position(Interp *s, uint32_t rank, const int64_t *dims, const Index *at,
                         const char *what, uint32_t id)
{
    uint64_t position = 0;
    for (uint32_t k = 0; k < rank; k++) {
        int64_t i = interp_index(s, at[k]);
        if (i < 0 || i >= dims[k]) {
            interp_fail(s, "index %lld of dim %u of %s %u is not below %lld", (long long)i, k, what,
                        id, (long long)dims[k]);
            return UINT64_MAX;
        }
        position = position * (uint64_t)dims[k] + (uint64_t)i;
    }
    return position;
}

const int64_t *interp_dims(Interp *s, BufferId b)
{
    Memory *m = &s->memory[b];
    const Buffer *buf = buffer_at(s->mod, b);
    if (m->dims_epoch != s->epoch) {
        for (uint32_t k = 0; k < buf->rank; k++)
            m->dims[k] = interp_index(s, buf->dims[k]);
        m->dims_epoch = s->epoch;
    }
    return m->dims;
}

// ---- reductions ------------------------------------------------------------------------------

typedef struct Reduction {
    const Expr *e;
    Scalar acc, best;
} Reduction;

static void combine(Reduction *r, Scalar v, int64_t at)
{
    DType t = r->e->b->dtype;
    bool most = r->e->op == R_ARGMAX, better;
    switch ((ReduceOp)r->e->op) {
    case R_ADD:
        r->acc = scalar_binary(B_ADD, t, r->acc, v);
        return;
    case R_MUL:
        r->acc = scalar_binary(B_MUL, t, r->acc, v);
        return;
    case R_MAX:
        r->acc = scalar_binary(B_MAX, t, r->acc, v);
        return;
    case R_MIN:
        r->acc = scalar_binary(B_MIN, t, r->acc, v);
        return;
    case R_AND:
        r->acc = scalar_binary(B_AND, t, r->acc, v);
        return;
    case R_OR:
        r->acc = scalar_binary(B_OR, t, r->acc, v);
        return;
    case R_ARGMAX:
    case R_ARGMIN:
        better = r->acc.i < 0 || scalar_compare(C_LT, t, most ? r->best : v, most ? v : r->best) ||
                 (dtype_is_float(t) && isnan(v.f) && !isnan(r->best.f));
        if (better) {
            r->best = v;
            r->acc.i = at;
        }
        return;
    }
}

static void reduce_from(Interp *s, Reduction *r, uint32_t level)
{
    const Expr *e = r->e;
    if (level == e->rank) {
        if (!e->a || interp_expr(s, e->a).i)
            combine(r, interp_expr(s, e->b), e->rank ? s->loops[e->vars[0]] : 0);
        return;
    }
    LoopId v = e->vars[level];
    int64_t n = interp_index(s, loop_extent(s->mod->polys, v));
    for (int64_t i = 0; i < n && !s->failed; i++) {
        s->loops[v] = i;
        reduce_from(s, r, level + 1);
    }
}

// ---- memos: a reduction is computed once for all iterations that give it the same variables ----

typedef struct Free {
    Interp *s;
    Memo *memo;
    bool collect;
    VEC(LoopId) bound;
} Free;

static bool note_atom(void *context, const Atom *a)
{
    Free *f = context;
    bool known = a->kind != ATOM_LOOP;
    for (uint32_t i = 0; !known && i < f->memo->vars.len; i++)
        known = f->memo->vars.at[i] == a->var;
    if (!known)
        vec_push(f->s->arena, &f->memo->vars, a->var);
    return false;
}

static void note_expr(void *context, const Expr *e)
{
    Free *f = context;
    if (e->kind == EX_LOCAL || (e->kind == EX_LOAD && f->s->written[e->buffer]))
        f->memo->usable = false;
    if (!f->collect)
        return;
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], note_atom, f);
    if (e->kind == EX_INDEX)
        poly_any(e->index, note_atom, f);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++) {
        vec_push(f->s->arena, &f->bound, e->vars[i]);
        poly_any(loop_extent(f->s->mod->polys, e->vars[i]), note_atom, f);
    }
}

// The variables are the expression's own; whether it may be kept depends on the kernel.
static void memo_begin(Interp *s, Memo *m, const Expr *e)
{
    m->kernel = s->kernel;
    m->usable = true;
    m->filled = false;
    Free f = {.s = s, .memo = m, .collect = m->at == NULL};
    expr_walk(s->mod, e, note_expr, &f);
    if (!f.collect)
        return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->vars.len; i++) {
        bool bound = false;
        for (uint32_t k = 0; k < f.bound.len; k++)
            bound |= f.bound.at[k] == m->vars.at[i];
        if (!bound)
            m->vars.at[n++] = m->vars.at[i];
    }
    m->vars.len = n;
    m->at = NEWS(s->arena, int64_t, n + 1);
}

static bool memo_holds(const Interp *s, const Memo *m)
{
    bool same = m->usable && m->filled;
    for (uint32_t i = 0; same && i < m->vars.len; i++)
        same = m->at[i] == s->loops[m->vars.at[i]];
    return same;
}

static Scalar eval_reduce(Interp *s, const Expr *e)
{
    Memo *m = e->id < s->nexprs ? &s->memos[e->id] : NULL;
    if (m && m->kernel != s->kernel)
        memo_begin(s, m, e);
    if (m && memo_holds(s, m))
        return m->value;
    Reduction r = {.e = e, .acc = scalar_neutral((ReduceOp)e->op, e->b->dtype)};
    if (e->op == R_ARGMAX || e->op == R_ARGMIN)
        r.acc.i = -1;
    reduce_from(s, &r, 0);
    if (m && m->usable) {
        for (uint32_t i = 0; i < m->vars.len; i++)
            m->at[i] = s->loops[m->vars.at[i]];
        m->value = r.acc;
        m->filled = true;
    }
    return r.acc;
}

// ---- expressions -----------------------------------------------------------------------------

static Scalar eval_load(Interp *s, const Expr *e)
{
    uint64_t at =
        interp_position(s, e->rank, interp_dims(s, e->buffer), e->at, "buffer", e->buffer);
    const Memory *m = &s->memory[e->buffer];
    uint64_t size = dtype_stored_bytes(e->dtype);
    if (s->failed)
        return (Scalar){.i = 0};
    if (at >= m->bytes / size) {
        interp_fail(s, "buffer %u is read before it is written", e->buffer);
        return (Scalar){.i = 0};
    }
    return scalar_load(e->dtype, m->at + at * size);
}

static Scalar eval_local(Interp *s, const Expr *e)
{
    const Local *v = &s->locals[e->local];
    if (e->rank == 0)
        return v->value;
    uint64_t at = interp_position(s, e->rank, v->dims, e->at, "row", e->local);
    return s->failed || at >= v->room ? (Scalar){.i = 0} : v->row[at];
}

static Scalar eval_bitcast(DType to, DType from, Scalar v)
{
    unsigned char bits[16] = {0};
    scalar_store(from, bits, v);
    return scalar_load(to, bits);
}

static Scalar eval(Interp *s, const Expr *e)
{
    switch (e->kind) {
    case EX_CONST:
        return e->value;
    case EX_INDEX:
        return (Scalar){.i = interp_index(s, e->index)};
    case EX_LOAD:
        return eval_load(s, e);
    case EX_LOCAL:
        return eval_local(s, e);
    case EX_UNARY:
        return scalar_unary((UnaryOp)e->op, e->a->dtype, interp_expr(s, e->a));
    case EX_BINARY: {
        Scalar a = interp_expr(s, e->a);
        return scalar_binary((BinaryOp)e->op, e->dtype, a, interp_expr(s, e->b));
    }
    case EX_COMPARE: {
        Scalar a = interp_expr(s, e->a);
        bool holds = scalar_compare((CompareOp)e->op, e->a->dtype, a, interp_expr(s, e->b));
        return (Scalar){.i = holds};
    }
    case EX_SELECT:
        return interp_expr(s, interp_expr(s, e->a).i ? e->b : e->c);
    case EX_CAST:
        return scalar_cast(e->a->dtype, e->dtype, interp_expr(s, e->a), e->saturate);
    case EX_BITCAST:
        return eval_bitcast(e->dtype, e->a->dtype, interp_expr(s, e->a));
    case EX_REDUCE:
        return eval_reduce(s, e);
    }
    return (Scalar){.i = 0};
}

Scalar interp_expr(Interp *s, const Expr *e)
{
    if (s->failed)
        return (Scalar){.i = 0};
    s->operations++;
    if (s->limits.max_operations && s->operations > s->limits.max_operations)
        interp_fail(s, "more than %llu operations", (unsigned long long)s->limits.max_operations);
    else if (s->depth >= MAX_DEPTH)
        interp_fail(s, "an expression nested deeper than %d", MAX_DEPTH);
    if (s->failed)
        return (Scalar){.i = 0};
    s->depth++;
    Scalar v = eval(s, e);
    s->depth--;
    return v;
}
