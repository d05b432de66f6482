// The verifier of the kernel IR: every name defined before it is used, every rank and dtype as
// declared.
//
// What an expression says of itself is checked once; what it needs of its surroundings (bound loop
// variables, defined locals, dims and buffers) is a set that is computed once and compared wherever
// the expression stands. Shared expressions cost no more than they print.

#include "ir/kernel.h"

#include <stdlib.h>
#include <string.h>

// A need is its kind in the top bits and what is needed below.
enum { NEED_LOOP = 1, NEED_LOCAL, NEED_BUFFER, NEED_DIM, NEED_UNBOUND };
enum { MAX_NEEDS = 1024 };

typedef struct Needs {
    bool known;
    uint32_t n;
    const uint64_t *at; // sorted
} Needs;

typedef struct LocalState {
    bool defined, row;
    DType dtype;
    uint32_t rank;
} LocalState;

typedef struct Check {
    const Module *mod;
    Arena *arena;
    Needs *needs;         // by Expr.id
    unsigned char *loops; // bound loop variables
    uint32_t nloops;
    LocalState *locals;
    VEC(LocalId) trail;     // locals in order of definition
    unsigned char *written; // by BufferId
    unsigned char *dims;    // by DimId: defined
    uint32_t ndims;
    Str *error;
    const Kernel *kernel;
    bool ok;
} Check;

static void fault(Check *c, const char *what, uint32_t id)
{
    if (c->ok)
        *c->error =
            str_printf(c->mod->arena, "kernel %u (%.*s): %s %u", c->kernel ? c->kernel->id : 0,
                       c->kernel ? (int)c->kernel->name.len : 0,
                       c->kernel ? c->kernel->name.at : "", what, id);
    c->ok = false;
}

// ---- needs

static uint64_t need(int kind, uint64_t what)
{
    return (uint64_t)kind << 56 | what;
}

static uint64_t need_local(LocalId v, DType t, uint32_t rank)
{
    return need(NEED_LOCAL, (uint64_t)v << 16 | (uint64_t)t << 8 | (rank & 255));
}

static Needs need_one(Check *c, uint64_t what)
{
    uint64_t *at = NEWS(c->arena, uint64_t, 1);
    *at = what;
    return (Needs){true, 1, at};
}

static Needs join(Check *c, Needs a, Needs b)
{
    if (b.n == 0 || (a.n == b.n && a.at == b.at))
        return a;
    if (a.n == 0)
        return b;
    uint64_t *at = NEWS(c->arena, uint64_t, a.n + b.n);
    uint32_t n = 0, i = 0, j = 0;
    while (i < a.n || j < b.n) {
        bool first = j == b.n || (i < a.n && a.at[i] <= b.at[j]);
        uint64_t next = first ? a.at[i] : b.at[j];
        j += j < b.n && b.at[j] == next;
        i += i < a.n && a.at[i] == next;
        at[n++] = next;
    }
    if (n > MAX_NEEDS)
        fault(c, "more variables than an expression may use,", n);
    return n == a.n ? a : n == b.n ? b : (Needs){true, n, at};
}

static bool has_need(Needs a, uint64_t what)
{
    for (uint32_t i = 0; i < a.n; i++)
        if (a.at[i] == what)
            return true;
    return false;
}

// a without loop variable v, which must not be bound anywhere inside; it is bound here then.
static Needs bind_loop(Check *c, Needs a, LoopId v)
{
    uint64_t *at = NEWS(c->arena, uint64_t, a.n);
    uint32_t n = 0;
    if (has_need(a, need(NEED_UNBOUND, v)))
        fault(c, "a reduction rebinds loop variable", v);
    for (uint32_t i = 0; i < a.n; i++)
        if (a.at[i] != need(NEED_LOOP, v))
            at[n++] = a.at[i];
    return join(c, (Needs){true, n, at}, need_one(c, need(NEED_UNBOUND, v)));
}

// ---- expressions

static Needs needs_of(Check *c, const Expr *e);

typedef struct IndexNeeds {
    Check *c;
    Needs all;
} IndexNeeds;

static bool atom_needs(void *context, const Atom *a)
{
    IndexNeeds *n = context;
    Needs one = {.known = true};
    if (a->kind == ATOM_LOOP)
        one = need_one(n->c, need(NEED_LOOP, a->var));
    if (a->kind == ATOM_DIM)
        one = need_one(n->c, need(NEED_DIM, a->var));
    if (a->kind == ATOM_EXPR) {
        if (a->e->dtype != DT_I64)
            fault(n->c, "an index that is no int64, expression", a->e->id);
        one = needs_of(n->c, a->e);
    }
    n->all = join(n->c, n->all, one);
    return !n->c->ok;
}

static Needs index_needs(Check *c, Index i)
{
    IndexNeeds n = {c, {.known = true}};
    if (!i)
        fault(c, "an index is missing,", 0);
    else if (poly_is_overflow(i))
        fault(c, "an index overflows in", i->id);
    else
        poly_any(i, atom_needs, &n);
    return n.all;
}

static Needs reduce_needs(Check *c, const Expr *e)
{
    Needs all = needs_of(c, e->b);
    if (expr_misuse(e))
        fault(c, "a reduction of what has none at expression", e->id);
    if (e->a && e->a->dtype != DT_BOOL)
        fault(c, "a guard that is no bool, expression", e->a->id);
    if ((e->op == R_ARGMAX || e->op == R_ARGMIN) && e->rank != 1)
        fault(c, "argmax over other than one variable, expression", e->id);
    if (e->a)
        all = join(c, all, needs_of(c, e->a));
    // An extent may use the variables before its own.
    for (uint32_t i = e->rank; i-- > 0 && c->ok;) {
        all = bind_loop(c, all, e->vars[i]);
        all = join(c, all, index_needs(c, loop_extent(c->mod->polys, e->vars[i])));
    }
    return all;
}

static Needs load_needs(Check *c, const Expr *e)
{
    const Module *mod = c->mod;
    if (!e->buffer || e->buffer >= mod->buffers.len)
        fault(c, "no buffer", e->buffer);
    else if (buffer_at(mod, e->buffer)->rank != e->rank ||
             buffer_at(mod, e->buffer)->dtype != e->dtype)
        fault(c, "rank or dtype differs at a load of buffer", e->buffer);
    return need_one(c, need(NEED_BUFFER, e->buffer));
}

static Needs operand_needs(Check *c, const Expr *e)
{
    Needs all = needs_of(c, e->a);
    if (e->b)
        all = join(c, all, needs_of(c, e->b));
    if (e->c)
        all = join(c, all, needs_of(c, e->c));
    const Expr *x = e->kind == EX_SELECT ? e->c : e->a;
    if (e->b && x->dtype != e->b->dtype)
        fault(c, "operands of two dtypes at expression", e->id);
    const char *misuse = expr_misuse(e);
    if (misuse)
        fault(c, str_printf(c->mod->arena, "%s at expression", misuse).at, e->id);
    if (e->kind == EX_SELECT && e->a->dtype != DT_BOOL)
        fault(c, "a condition that is no bool at expression", e->id);
    return all;
}

static Needs compute_needs(Check *c, const Expr *e)
{
    Needs all = {.known = true};
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        all = join(c, all, index_needs(c, e->at[i]));
    switch (e->kind) {
    case EX_CONST:
        return all;
    case EX_INDEX:
        return index_needs(c, e->index);
    case EX_LOAD:
        return join(c, all, load_needs(c, e));
    case EX_LOCAL:
        return join(c, all, need_one(c, need_local(e->local, e->dtype, e->rank)));
    case EX_REDUCE:
        return reduce_needs(c, e);
    default:
        return operand_needs(c, e);
    }
}

static Needs needs_of(Check *c, const Expr *e)
{
    if (!c->ok)
        return (Needs){.known = true};
    if (!c->needs[e->id].known)
        c->needs[e->id] = compute_needs(c, e);
    return c->needs[e->id];
}

// ---- what holds here

static void meet_local(Check *c, uint64_t what)
{
    uint32_t v = (uint32_t)(what >> 16);
    const LocalState *s = v < c->mod->nlocals ? &c->locals[v] : NULL;
    if (!s || !s->defined)
        fault(c, "a use before its definition of local", v);
    else if (need_local(v, s->dtype, s->rank) != (need(NEED_LOCAL, 0) | what))
        fault(c, "dtype or rank differs at local", v);
}

static bool is_empty(const Buffer *b)
{
    for (uint32_t i = 0; i < b->rank; i++)
        if (poly_equals(b->dims[i], 0))
            return true;
    return false;
}

static void meet(Check *c, Needs needs)
{
    for (uint32_t i = 0; i < needs.n && c->ok; i++) {
        uint64_t what = needs.at[i] & (((uint64_t)1 << 56) - 1);
        uint32_t id = (uint32_t)what;
        switch (needs.at[i] >> 56) {
        case NEED_LOOP:
            if (id >= c->nloops || !c->loops[id])
                fault(c, "unbound loop variable", id);
            break;
        case NEED_UNBOUND:
            if (id >= c->nloops || c->loops[id])
                fault(c, "a reduction rebinds loop variable", id);
            break;
        case NEED_LOCAL:
            meet_local(c, what);
            break;
        case NEED_BUFFER:
            if (!c->written[id] && !is_empty(buffer_at(c->mod, id)))
                fault(c, "a use before its definition of buffer", id);
            break;
        default:
            if (id > c->ndims || !c->dims[id])
                fault(c, "a use before its definition of dim", id);
        }
    }
}

static void meet_index(Check *c, Index i)
{
    meet(c, index_needs(c, i));
}

// ---- statements

static void check_write(Check *c, const Stmt *s)
{
    const Buffer *b =
        s->buffer && s->buffer < c->mod->buffers.len ? buffer_at(c->mod, s->buffer) : NULL;
    if (!b || b->kind == BUF_INPUT || b->kind == BUF_WEIGHT)
        fault(c, "a store to what is no writable buffer", s->buffer);
    else if (b->rank != s->rank || b->dtype != s->value->dtype)
        fault(c, "rank or dtype differs at a store to buffer", s->buffer);
    else if (s->kind == S_UPDATE && update_misuse(b->dtype, s->op))
        fault(c, "an update that its dtype does not have in buffer", s->buffer);
    else if (s->kind == S_UPDATE && !c->written[s->buffer] && !is_empty(b))
        fault(c, "a use before its definition of buffer", s->buffer);
}

static void define_local(Check *c, const Stmt *s)
{
    bool let = s->kind == S_LET;
    if (s->local >= c->mod->nlocals || c->locals[s->local].defined) {
        fault(c, "a second definition of local", s->local);
        return;
    }
    c->locals[s->local] =
        (LocalState){true, !let, let ? s->value->dtype : s->dtype, let ? 0 : s->rank};
    vec_push(c->arena, &c->trail, s->local);
}

static void check_set(Check *c, const Stmt *s)
{
    const LocalState *v = s->local < c->mod->nlocals ? &c->locals[s->local] : NULL;
    if (!v || !v->row || v->dtype != s->value->dtype || v->rank != s->rank)
        fault(c, "set of what is no row of that dtype and rank, local", s->local);
}

static void check_stmts(Check *c, const Stmt *s);

static void check_block(Check *c, const Stmt *s)
{
    uint32_t mark = c->trail.len;
    check_stmts(c, s);
    while (c->trail.len > mark)
        c->locals[c->trail.at[--c->trail.len]].defined = false;
}

static void check_for(Check *c, const Stmt *s)
{
    if (s->var >= c->nloops || c->loops[s->var]) {
        fault(c, "a loop rebinds loop variable", s->var);
        return;
    }
    meet_index(c, loop_extent(c->mod->polys, s->var));
    c->loops[s->var] = 1;
    check_block(c, s->body);
    c->loops[s->var] = 0;
}

static void check_stmt(Check *c, const Stmt *s)
{
    for (uint32_t i = 0; s->at && i < s->rank; i++)
        meet_index(c, s->at[i]);
    if (s->value)
        meet(c, needs_of(c, s->value));
    if (!c->ok)
        return;
    switch (s->kind) {
    case S_LET:
    case S_ROW:
        define_local(c, s);
        return;
    case S_SET:
        check_set(c, s);
        return;
    case S_STORE:
    case S_UPDATE:
        check_write(c, s);
        return;
    case S_FOR:
        check_for(c, s);
        return;
    case S_IF:
    case S_WHILE:
        if (s->value->dtype != DT_BOOL)
            fault(c, "a condition that is no bool, expression", s->value->id);
        check_block(c, s->body);
        check_block(c, s->other);
    }
}

static void check_stmts(Check *c, const Stmt *s)
{
    for (; s && c->ok; s = s->next)
        check_stmt(c, s);
}

// A kernel may read back what it stores itself.
static void mark_stores(Check *c, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_STORE && s->buffer < c->mod->buffers.len)
            c->written[s->buffer] = 1;
        mark_stores(c, s->body);
        mark_stores(c, s->other);
    }
}

// ---- steps

static bool is_operand(const Buffer *b, char letter)
{
    static const struct {
        char letter;
        DType dtype;
    } dtypes[] = {{'l', DT_OBJECT}, {'n', DT_I64}, {'i', DT_I64}, {'s', DT_STRING},
                  {'b', DT_BOOL},   {'f', DT_F32}, {'d', DT_F64}};
    if (letter == 't' || ((letter == 'n' || letter == 'l') && b->rank > 0))
        return letter == 't' && (b->dtype != DT_OBJECT || b->rank == 0);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].letter == letter)
            return dtypes[i].dtype == b->dtype;
    return false;
}

static void check_operands(Check *c, const char *letters, uint32_t n, const BufferId *at)
{
    size_t each = 0;
    for (uint32_t i = 0; i < n && c->ok; i++) {
        const Buffer *b = at[i] && at[i] < c->mod->buffers.len ? buffer_at(c->mod, at[i]) : NULL;
        each -= each > 0 && letters[each] == '*';
        if (!b || !letters[each] || !is_operand(b, letters[each]))
            fault(c, "what its intrinsic does not take, buffer", at[i]);
        each++;
    }
    if (c->ok && letters[each] && letters[each] != '*' && letters[each + 1] != '*')
        fault(c, "a call with fewer operands than its intrinsic has,", n);
}

static bool is_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR || a->kind == ATOM_LOOP;
}

static void check_call(Check *c, const Call *call)
{
    check_operands(c, call->what->reads, call->nreads, call->reads);
    check_operands(c, call->what->writes, call->nwrites, call->writes);
    if (call->nnumbers != call->what->numbers && !call_is_custom(call))
        fault(c, "a call with another number of numbers than", call->what->numbers);
    for (uint32_t i = 0; i < call->nnumbers && c->ok; i++) {
        meet_index(c, call->numbers[i]);
        if (c->ok && poly_any(call->numbers[i], is_data, NULL))
            fault(c, "a call's number reads data, number", i);
    }
    for (uint32_t i = 0; i < call->nreads + call->nwrites && c->ok; i++) {
        BufferId b = i < call->nreads ? call->reads[i] : call->writes[i - call->nreads];
        for (uint32_t k = 0; k < buffer_at(c->mod, b)->rank; k++)
            meet_index(c, buffer_at(c->mod, b)->dims[k]);
        if (i < call->nreads)
            meet(c, need_one(c, need(NEED_BUFFER, b)));
        else if (buffer_at(c->mod, b)->kind == BUF_INPUT ||
                 buffer_at(c->mod, b)->kind == BUF_WEIGHT)
            fault(c, "a store to what is no writable buffer", b);
        else
            c->written[b] = 1;
    }
}

static void check_steps(Check *c, const Step *s)
{
    for (; s && c->ok; s = s->next) {
        c->kernel = s->kernel;
        if (s->kernel) {
            mark_stores(c, s->kernel->body);
            check_block(c, s->kernel->body);
        }
        c->kernel = NULL;
        if (s->call)
            check_call(c, s->call);
        if (s->value)
            meet_index(c, s->value);
        if (s->cond)
            meet(c, needs_of(c, s->cond));
        if (s->cond && s->cond->dtype != DT_BOOL)
            fault(c, "a step's condition is no bool, expression", s->cond->id);
        if ((s->kind == STEP_DIM || s->kind == STEP_LOOP) && s->dim <= c->ndims)
            c->dims[s->dim] = 1;
        check_steps(c, s->body);
        check_steps(c, s->other);
    }
}

static bool define_dim(void *context, const Atom *a)
{
    Check *c = context;
    if (a->kind == ATOM_DIM && a->var <= c->ndims)
        c->dims[a->var] = 1;
    return false;
}

// Inputs and weights, and the dims that the inputs' shapes bind.
static void define_inputs(Check *c)
{
    const Module *mod = c->mod;
    for (BufferId b = 1; b < mod->buffers.len; b++) {
        const Buffer *buffer = buffer_at(mod, b);
        c->written[b] = buffer->kind == BUF_INPUT || buffer->kind == BUF_WEIGHT;
        for (uint32_t i = 0; buffer->kind == BUF_INPUT && i < buffer->rank; i++)
            poly_any(buffer->dims[i], define_dim, c);
    }
}

bool module_verify(const Module *mod, Str *error)
{
    Check c = {.mod = mod, .arena = arena_new(), .error = error, .ok = true};
    c.nloops = loop_count(mod->polys) + 1;
    c.ndims = dim_count(mod->polys);
    c.needs = NEWS(c.arena, Needs, mod->nexprs + 1);
    c.loops = NEWS(c.arena, unsigned char, c.nloops);
    c.dims = NEWS(c.arena, unsigned char, c.ndims + 1);
    c.locals = NEWS(c.arena, LocalState, mod->nlocals + 1);
    c.written = NEWS(c.arena, unsigned char, mod->buffers.len);
    define_inputs(&c);
    for (BufferId b = 1; b < mod->buffers.len && c.ok; b++)
        for (uint32_t i = 0; i < buffer_at(mod, b)->rank; i++)
            index_needs(&c, buffer_at(mod, b)->dims[i]);
    check_steps(&c, mod->steps);
    for (uint32_t i = 0; i < mod->outputs.len && c.ok; i++) {
        BufferId b = mod->outputs.at[i];
        if (buffer_at(mod, b)->kind != BUF_OUTPUT || buffer_at(mod, b)->port != i)
            fault(&c, "no output of this number is buffer", b);
        if (!c.written[b] && !is_empty(buffer_at(mod, b)))
            fault(&c, "nothing stores to the output that is buffer", b);
    }
    arena_free(c.arena);
    return c.ok;
}
