// Counting by dependence: an expression is computed once for each combination of the loop variables
// that it depends on, however a schedule orders them. So what a kernel does is a sum over its
// expressions of products of extents, a polynomial in dims, that a program evaluates for the sizes
// it was given.

#include "codegen/cpu/away.h"
#include "codegen/cpu/heads.h"
#include "codegen/count.h"

#include <string.h>

// The loop variables that an expression depends on, sorted. `moves`: it reads what statements set,
// so that it is another one in each iteration around them.
typedef struct Loops {
    uint32_t n;
    LoopId *at;
    bool moves, seen;
    uint32_t counted; // in this kernel, by its number + 1
} Loops;

typedef struct Touch {
    Index read, written; // accesses
} Touch;

typedef struct Count {
    Module *mod;
    Arena *arena;
    Polys *polys;
    Loops *of_expr;        // by expression
    const Expr **of_let;   // by local
    Touch *touched;        // by buffer
    VEC(BufferId) buffers; // those touched
    uint32_t round;        // the kernel's number + 1
    VEC(LoopId) around;    // loops of statements around this one
    Index operations;
    Factors factors;
    bool unknown;
} Count;

static void loops_add(Count *c, Loops *l, LoopId v)
{
    uint32_t i = 0;
    while (i < l->n && l->at[i] < v)
        i++;
    if (i < l->n && l->at[i] == v)
        return;
    LoopId *grown = NEWS(c->arena, LoopId, l->n + 1);
    if (l->n)
        memcpy(grown, l->at, i * sizeof *grown);
    grown[i] = v;
    if (l->n > i)
        memcpy(grown + i + 1, l->at + i, (l->n - i) * sizeof *grown);
    l->at = grown;
    l->n++;
}

static void loops_join(Count *c, Loops *to, const Loops *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        loops_add(c, to, from->at[i]);
    to->moves |= from->moves;
}

static const Loops *loops_of(Count *c, const Expr *e);

typedef struct IndexLoops {
    Count *count;
    Loops *to;
} IndexLoops;

static bool add_atom(void *context, const Atom *a)
{
    IndexLoops *x = context;
    if (a->kind == ATOM_LOOP)
        loops_add(x->count, x->to, a->var);
    if (a->kind == ATOM_EXPR)
        loops_join(x->count, x->to, loops_of(x->count, a->e));
    return false;
}

static void add_index(Count *c, Loops *to, Index i)
{
    IndexLoops x = {c, to};
    if (i)
        poly_any(i, add_atom, &x);
}

static const Loops *loops_of(Count *c, const Expr *e)
{
    Loops *l = &c->of_expr[e->id];
    if (l->seen)
        return l;
    const Expr *operands[] = {e->a, e->b, e->c, e->kind == EX_LOCAL ? c->of_let[e->local] : NULL};
    Loops found = {.moves = e->kind == EX_LOCAL && !c->of_let[e->local], .seen = true};
    add_index(c, &found, e->index);
    for (uint32_t i = 0; (e->kind == EX_LOAD || e->kind == EX_LOCAL) && i < e->rank; i++)
        add_index(c, &found, e->at[i]);
    for (int i = 0; i < 4; i++)
        if (operands[i])
            loops_join(c, &found, loops_of(c, operands[i]));
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < found.n; k++)
            if (found.at[k] != e->vars[i])
                found.at[n++] = found.at[k];
        found.n = n;
    }
    *l = found;
    return l;
}

// ---- sizes -----------------------------------------------------------------------------------

// An extent that depends on another loop counts as in that loop's middle.
static Index middle(void *context, const Atom *a)
{
    Count *c = context;
    c->unknown |= a->kind == ATOM_EXPR;
    return a->kind == ATOM_LOOP
               ? poly_floordiv(c->polys, loop_extent(c->polys, a->var), poly_const(c->polys, 2))
               : NULL;
}

static Index size_of(Count *c, Index i)
{
    for (int depth = 0; depth < 4; depth++) // nests of triangles are not deeper
        i = poly_map(c->polys, i, middle, c);
    return i;
}

static Index times_of(Count *c, const Loops *l)
{
    Loops all = {0};
    loops_join(c, &all, l);
    for (uint32_t i = 0; l->moves && i < c->around.len; i++)
        loops_add(c, &all, c->around.at[i]);
    Index n = poly_const(c->polys, 1);
    for (uint32_t i = 0; i < all.n; i++)
        n = poly_mul(c->polys, n, size_of(c, loop_extent(c->polys, all.at[i])));
    return n;
}

static void add_to(Count *c, Index *sum, Index n)
{
    *sum = *sum ? poly_add(c->polys, *sum, n) : n;
}

static void touch(Count *c, BufferId b, Index *accesses, Index n)
{
    if (!c->touched[b].read && !c->touched[b].written)
        vec_push(c->arena, &c->buffers, b);
    add_to(c, accesses, n);
}

// ---- expressions and statements -----------------------------------------------------------------

static bool is_arithmetic(const Expr *e)
{
    return (e->kind == EX_UNARY || e->kind == EX_BINARY) && dtype_is_float(e->dtype);
}

static void count_expr(Count *c, const Expr *e);

static bool count_atom(void *context, const Atom *a)
{
    if (a->kind == ATOM_EXPR)
        count_expr(context, a->e);
    return false;
}

// The dtype of what a factor is read from: by casts, and less a zero point. DT_NONE: of nothing.
static DType factor_dtype(const Count *c, const Expr *e)
{
    while (e && e->kind != EX_LOAD) {
        const bool passes = e->kind == EX_CAST || e->kind == EX_SELECT || e->kind == EX_LOCAL ||
                            (e->kind == EX_BINARY && (e->op == B_SUB || e->op == B_ADD));
        if (!passes)
            return DT_NONE;
        e = e->kind == EX_SELECT ? e->b : e->kind == EX_LOCAL ? c->of_let[e->local] : e->a;
    }
    return e ? e->dtype : DT_NONE;
}

static Factors factors_of(const Count *c, const Expr *e)
{
    if (e->op != R_ADD || e->b->kind != EX_BINARY || e->b->op != B_MUL)
        return FACTORS_FLOAT32;
    const DType a = factor_dtype(c, e->b->a), b = factor_dtype(c, e->b->b);
    if (a == DT_BF16 && b == DT_BF16)
        return FACTORS_BFLOAT16;
    const bool bytes = dtype_is_integer(e->b->dtype) && (a == DT_U8 || a == DT_I8) &&
                       (b == DT_U8 || b == DT_I8);
    return bytes ? FACTORS_BYTES : FACTORS_FLOAT32;
}

static void count_reduce(Count *c, const Expr *e)
{
    Loops l = {0};
    loops_join(c, &l, loops_of(c, e));
    for (uint32_t i = 0; i < e->rank; i++)
        loops_add(c, &l, e->vars[i]);
    const Factors factors = factors_of(c, e);
    if (factors > c->factors)
        c->factors = factors;
    if (factors == FACTORS_BYTES)
        add_to(c, &c->operations, poly_scale(c->polys, times_of(c, &l), 2));
    else if (dtype_is_float(e->b->dtype))
        add_to(c, &c->operations, times_of(c, &l));
}

static void count_expr(Count *c, const Expr *e)
{
    const Loops *l = loops_of(c, e);
    if (c->of_expr[e->id].counted == c->round)
        return;
    c->of_expr[e->id].counted = c->round;
    if (e->index)
        poly_any(e->index, count_atom, c);
    for (uint32_t i = 0; (e->kind == EX_LOAD || e->kind == EX_LOCAL) && i < e->rank; i++)
        poly_any(e->at[i], count_atom, c);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            count_expr(c, operands[i]);
    if (is_arithmetic(e))
        add_to(c, &c->operations, times_of(c, l));
    if (e->kind == EX_REDUCE)
        count_reduce(c, e);
    if (e->kind == EX_LOAD)
        touch(c, e->buffer, &c->touched[e->buffer].read, times_of(c, l));
}

static void count_stmts(Count *c, const Stmt *s)
{
    static const Loops everywhere = {.moves = true};
    for (; s; s = s->next) {
        if (s->kind == S_LET)
            c->of_let[s->local] = s->value;
        c->unknown |= s->kind == S_WHILE;
        for (uint32_t i = 0; s->kind != S_ROW && i < s->rank; i++)
            poly_any(s->at[i], count_atom, c);
        if (s->value)
            count_expr(c, s->value);
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            touch(c, s->buffer, &c->touched[s->buffer].written, times_of(c, &everywhere));
        if (s->kind == S_UPDATE && dtype_is_float(s->value->dtype))
            add_to(c, &c->operations, times_of(c, &everywhere));
        if (s->kind == S_FOR)
            vec_push(c->arena, &c->around, s->var);
        count_stmts(c, s->body);
        count_stmts(c, s->other);
        if (s->kind == S_FOR)
            c->around.len--;
    }
}

// Each element once, however often it is touched.
static Index moved_bytes(Count *c, BufferId b, Index accesses)
{
    const Buffer *buffer = buffer_at(c->mod, b);
    Index size = poly_const(c->polys, 1);
    for (uint32_t i = 0; i < buffer->rank; i++)
        size = poly_mul(c->polys, size, buffer->dims[i]);
    return poly_scale(c->polys, poly_min(c->polys, size, accesses),
                      dtype_stored_bytes(buffer->dtype));
}

static KernelCount count_kernel(Count *c, const Kernel *k)
{
    Index bytes = poly_const(c->polys, 0);
    c->operations = bytes;
    c->factors = FACTORS_FLOAT32;
    c->unknown = false;
    c->round = k->id + 1;
    count_stmts(c, k->body);
    const Kernel *before[CHAIN_BEFORE];
    for (uint32_t i = chain_before(k, before); i-- > 0;) {
        count_stmts(c, before[i]->body);
        c->touched[chain_link(before[i])->store->buffer] = (Touch){0}; // stays in a cache
    }
    const uint32_t heads = heads_before(k, before);
    for (uint32_t i = 0; i < heads; i++)
        count_stmts(c, before[i]->body);
    if (k->override && k->override->away)
        count_stmts(c, k->override->away->copy->body);
    for (uint32_t i = 0; i < heads; i++)
        c->touched[heads_between(before[i])] = (Touch){0};
    for (uint32_t i = 0; i < c->buffers.len; i++) {
        Touch *t = &c->touched[c->buffers.at[i]];
        if (t->read)
            bytes = poly_add(c->polys, bytes, moved_bytes(c, c->buffers.at[i], t->read));
        if (t->written)
            bytes = poly_add(c->polys, bytes, moved_bytes(c, c->buffers.at[i], t->written));
        *t = (Touch){0};
    }
    c->buffers.len = 0;
    return (KernelCount){
        .operations = c->unknown || poly_is_overflow(c->operations) ? NULL : c->operations,
        .factors = c->factors,
        .bytes = c->unknown || poly_is_overflow(bytes) ? NULL : bytes,
    };
}

static void count_steps(Count *c, const Step *s, KernelCount *counts)
{
    for (; s; s = s->next) {
        if (s->kernel)
            counts[s->kernel->id] = count_kernel(c, s->kernel);
        count_steps(c, s->body, counts);
        count_steps(c, s->other, counts);
    }
}

const KernelCount *module_counts(Module *mod, Arena *a)
{
    KernelCount *counts = NEWS(a, KernelCount, mod->nkernels + 1);
    Count c = {.mod = mod, .arena = arena_new(), .polys = mod->polys};
    c.of_expr = NEWS(c.arena, Loops, mod->nexprs + 1);
    c.of_let = NEWS(c.arena, const Expr *, mod->nlocals + 1);
    c.touched = NEWS(c.arena, Touch, mod->buffers.len);
    count_steps(&c, mod->steps, counts);
    arena_free(c.arena);
    return counts;
}
