// Expressions of the kernel IR: hash-consed constructors, mapping and walking.

#include "ir/kernel.h"
#include "base/id_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// What a walk or a mapping remembers by Expr.id. It is used again and again; what is not stamped
// with the present round is forgotten, so that small expressions of a large module cost little.
typedef struct Memo {
    uint32_t round, cap;
    uint32_t *stamp;
    const Expr **value;
    struct Memo *next;
} Memo;

struct ExprTable {
    VEC(const Expr *) all; // by id
    IdTable ids;           // by hash
    Memo *idle;            // as many as walks have been inside each other
};

static Memo *memo_take(Module *mod)
{
    Memo *m = mod->table->idle;
    if (m)
        mod->table->idle = m->next;
    else
        m = NEW(mod->arena, Memo);
    if (m->cap < mod->nexprs) {
        m->cap = 2 * mod->nexprs;
        m->round = 0;
        m->stamp = NEWS(mod->arena, uint32_t, m->cap);
        m->value = NEWS(mod->arena, const Expr *, m->cap);
    }
    if (++m->round == 0) {
        memset(m->stamp, 0, m->cap * sizeof *m->stamp);
        m->round = 1;
    }
    return m;
}

static void memo_give_back(Module *mod, Memo *m)
{
    m->next = mod->table->idle;
    mod->table->idle = m;
}

Module *module_new(Model *m)
{
    Module *mod = NEW(m->arena, Module);
    mod->arena = m->arena;
    mod->model = m;
    mod->polys = m->polys;
    mod->table = NEW(m->arena, struct ExprTable);
    vec_push(m->arena, &mod->buffers, (Buffer){0});
    mod->nlocals = 1;
    mod->symbol_ids.arena = m->arena;
    module_symbol(mod, STR(""));
    return mod;
}

BufferId buffer_new(Module *mod, BufferKind kind, Str name, DType t, uint32_t rank,
                    const Index *dims)
{
    Index *kept = NEWS(mod->arena, Index, rank);
    if (rank)
        memcpy(kept, dims, rank * sizeof *kept);
    Buffer b = {.kind = kind, .name = name, .dtype = t, .rank = rank, .dims = kept, .device = 1};
    vec_push(mod->arena, &mod->buffers, b);
    return mod->buffers.len - 1;
}

// ---- what overflows

ModuleMark module_mark(const Module *mod)
{
    return (ModuleMark){mod->nexprs, loop_count(mod->polys), mod->buffers.len};
}

static bool any_overflows(uint32_t n, const Index *at)
{
    for (uint32_t i = 0; at && i < n; i++)
        if (!at[i] || poly_is_overflow(at[i]))
            return true;
    return false;
}

bool dims_are_too_large(uint32_t rank, const Index *dims)
{
    int64_t count = 1, k;
    bool empty = false, large = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (!poly_is_const(dims[i], &k)) {
            for (uint32_t t = 0; t < dims[i]->nterms; t++)
                large |= dims[i]->terms[t].coeff > MAX_ELEMENTS ||
                         dims[i]->terms[t].coeff < -MAX_ELEMENTS;
            continue;
        }
        if (k < 0)
            return true;
        empty |= k == 0;
        large |= __builtin_mul_overflow(count, k ? k : 1, &count) || count > MAX_ELEMENTS;
    }
    return large && !empty;
}

bool module_overflows(const Module *mod, const ModuleMark *since)
{
    for (uint32_t i = since->nexprs; i < mod->nexprs; i++) {
        const Expr *e = mod->table->all.at[i];
        if ((e->kind == EX_INDEX && any_overflows(1, &e->index)) || any_overflows(e->rank, e->at))
            return true;
    }
    for (LoopId v = since->nloops + 1; v <= loop_count(mod->polys); v++) {
        Index extent = loop_extent(mod->polys, v);
        if (any_overflows(1, &extent))
            return true;
    }
    for (BufferId b = since->nbuffers; b < mod->buffers.len; b++)
        if (any_overflows(buffer_at(mod, b)->rank, buffer_at(mod, b)->dims) ||
            dims_are_too_large(buffer_at(mod, b)->rank, buffer_at(mod, b)->dims))
            return true;
    return false;
}

// What complex numbers can: be moved, chosen, compared for equality, added, subtracted, multiplied.
static bool complex_can(const Expr *e, const Expr *x)
{
    bool both = dtype_is_complex(x->dtype) && dtype_is_complex(e->dtype);
    switch (e->kind) {
    case EX_SELECT:
        return both;
    case EX_UNARY:
        return e->op == U_NEG;
    case EX_BINARY:
        return e->op == B_ADD || e->op == B_SUB || e->op == B_MUL;
    case EX_COMPARE:
        return e->op <= C_NE;
    case EX_CAST:
        return dtype_is_complex(e->dtype) && !dtype_is_reference(x->dtype);
    case EX_BITCAST:
        return dtype_info(e->dtype)->bits == dtype_info(x->dtype)->bits;
    case EX_REDUCE:
        return e->op == R_ADD || e->op == R_MUL;
    default:
        return true;
    }
}

const char *expr_misuse(const Expr *e)
{
    const Expr *x = e->kind == EX_SELECT ? e->c : e->kind == EX_REDUCE ? e->b : e->a;
    if (x && (dtype_is_complex(x->dtype) || dtype_is_complex(e->dtype)) && !complex_can(e, x))
        return "order or functions of complex numbers";
    if (!x || (!dtype_is_reference(x->dtype) && !dtype_is_reference(e->dtype)))
        return NULL;
    bool may = e->kind == EX_SELECT || (e->kind == EX_COMPARE && e->op <= C_NE) ||
               (e->kind == EX_BITCAST && (e->dtype == DT_I64 || x->dtype == DT_I64));
    return may ? NULL : "arithmetic on strings";
}

const char *update_misuse(DType t, BinaryOp op)
{
    if (dtype_is_complex(t) && op != B_ADD && op != B_MUL)
        return "order or functions of complex numbers";
    return dtype_is_reference(t) ? "arithmetic on strings" : NULL;
}

const char *module_misuse(const Module *mod, const ModuleMark *since)
{
    const char *what = NULL;
    for (uint32_t i = since->nexprs; i < mod->nexprs && !what; i++)
        what = expr_misuse(mod->table->all.at[i]);
    return what;
}

// ---- interning

static uint32_t id_of(const Expr *e)
{
    return e ? e->id + 1 : 0;
}

static uint32_t id_of_index(Index p)
{
    return p ? p->id + 1 : 0;
}

static double imaginary(const Expr *e)
{
    return dtype_is_complex(e->dtype) ? e->value.c.im : 0;
}

// By ids, not by addresses: the same input probes the same slots in every process.
static uint32_t hash_expr(const Expr *e)
{
    uint64_t h = hash_word(e->kind, (uint64_t)e->dtype << 32 | (uint64_t)e->op << 8 | e->saturate);
    h = hash_word(h, (uint64_t)e->buffer << 32 | e->local);
    h = hash_word(h, (uint64_t)e->rank << 32 | id_of_index(e->index));
    h = hash_word(h, (uint64_t)id_of(e->a) << 32 | id_of(e->b));
    h = hash_word(hash_word(h, id_of(e->c)), (uint64_t)e->value.i);
    if (dtype_is_complex(e->dtype))
        h = hash_bytes(&e->value.c.im, sizeof e->value.c.im, h);
    for (uint32_t k = 0; e->at && k < e->rank; k++)
        h = hash_word(h, id_of_index(e->at[k]));
    for (uint32_t k = 0; e->vars && k < e->rank; k++)
        h = hash_word(h, e->vars[k]);
    return hash_end(h);
}

static bool same_expr(const Expr *x, const Expr *y)
{
    double a = imaginary(x), b = imaginary(y);
    if (memcmp(&a, &b, sizeof a) != 0)
        return false;
    if (x->kind != y->kind || x->dtype != y->dtype || x->op != y->op ||
        x->saturate != y->saturate || x->buffer != y->buffer || x->local != y->local ||
        x->rank != y->rank || x->value.i != y->value.i || x->index != y->index || x->a != y->a ||
        x->b != y->b || x->c != y->c || !x->at != !y->at || !x->vars != !y->vars)
        return false;
    for (uint32_t k = 0; x->at && k < x->rank; k++)
        if (x->at[k] != y->at[k])
            return false;
    return !x->vars || memcmp(x->vars, y->vars, x->rank * sizeof *x->vars) == 0;
}

static const Expr *intern(Module *mod, Expr key)
{
    struct ExprTable *t = mod->table;
    const uint32_t hash = hash_expr(&key);
    IdSlot *s = id_table_first(&t->ids, mod->arena, hash);
    for (; s->used; s = id_table_next(&t->ids, s))
        if (s->hash == hash && same_expr(t->all.at[s->id], &key))
            return t->all.at[s->id];
    Expr *e = NEW(mod->arena, Expr);
    *e = key;
    e->id = t->all.len;
    if (key.at) {
        Index *at = NEWS(mod->arena, Index, key.rank);
        memcpy(at, key.at, key.rank * sizeof *at);
        e->at = at;
    }
    if (key.vars) {
        LoopId *vars = NEWS(mod->arena, LoopId, key.rank);
        memcpy(vars, key.vars, key.rank * sizeof *vars);
        e->vars = vars;
    }
    id_table_take(&t->ids, s, hash, e->id);
    vec_push(mod->arena, &t->all, e);
    mod->nexprs = t->all.len;
    return e;
}

const Expr *expr_as_written(Module *mod, Expr key)
{
    return intern(mod, key);
}

// ---- constructors

static bool is_const(const Expr *e, double f, int64_t i)
{
    if (e->kind != EX_CONST)
        return false;
    if (dtype_is_complex(e->dtype))
        return false;
    return dtype_is_float(e->dtype) ? e->value.f == f : e->value.i == i;
}

const Expr *expr_const(Module *mod, DType t, Scalar v)
{
    return intern(mod, (Expr){.kind = EX_CONST, .dtype = t, .value = v});
}

const Expr *expr_index(Module *mod, Index i)
{
    int64_t k;
    if (poly_is_const(i, &k))
        return expr_const(mod, DT_I64, (Scalar){.i = k});
    const Atom *only = i->nterms == 1 && i->terms[0].natoms == 1 && i->terms[0].coeff == 1
                           ? i->terms[0].atoms[0]
                           : NULL;
    if (only && only->kind == ATOM_EXPR && only->e->dtype == DT_I64)
        return only->e;
    return intern(mod, (Expr){.kind = EX_INDEX, .dtype = DT_I64, .index = i});
}

Index expr_as_index(Module *mod, const Expr *e)
{
    return e->kind == EX_INDEX                         ? e->index
           : e->kind == EX_CONST && e->dtype == DT_I64 ? poly_const(mod->polys, e->value.i)
                                                       : NULL;
}

const Expr *expr_load(Module *mod, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(mod, b);
    return intern(mod, (Expr){.kind = EX_LOAD,
                              .dtype = buf->dtype,
                              .buffer = b,
                              .rank = buf->rank,
                              .at = buf->rank ? at : NULL});
}

const Expr *expr_local(Module *mod, LocalId v, DType t, uint32_t rank, const Index *at)
{
    return intern(
        mod,
        (Expr){.kind = EX_LOCAL, .dtype = t, .local = v, .rank = rank, .at = rank ? at : NULL});
}

Index *one_index(Module *mod, Index i)
{
    Index *at = NEWS(mod->arena, Index, 1);
    at[0] = i;
    return at;
}

const Expr *expr_unary(Module *mod, UnaryOp op, const Expr *a)
{
    assert(op != U_NOT || a->dtype == DT_BOOL);
    if (op == U_NOT && a->kind == EX_CONST)
        return expr_const(mod, DT_BOOL, (Scalar){.i = !a->value.i});
    if (op == U_NEG && a->kind == EX_CONST && dtype_is_integer(a->dtype))
        return expr_const(mod, a->dtype,
                          scalar_cast(DT_I64, a->dtype,
                                      (Scalar){.i = (int64_t)(0 - (uint64_t)a->value.i)}, false));
    if ((op == U_NOT || op == U_NEG) && a->kind == EX_UNARY && a->op == op)
        return a->a;
    DType t = op == U_ISNAN || op == U_ISINF ? DT_BOOL : a->dtype;
    return intern(mod, (Expr){.kind = EX_UNARY, .dtype = t, .op = (uint8_t)op, .a = a});
}

// Identities that hold bit for bit; NULL if none applies.
static const Expr *simplify_binary(BinaryOp op, const Expr *a, const Expr *b)
{
    bool integer = dtype_is_integer(a->dtype);
    switch (op) {
    case B_ADD:
        return integer && is_const(b, 0, 0) ? a : integer && is_const(a, 0, 0) ? b : NULL;
    case B_SUB:
        return integer && is_const(b, 0, 0) ? a : NULL;
    case B_MUL:
        return is_const(b, 1, 1) ? a : is_const(a, 1, 1) ? b : NULL;
    case B_DIV:
        return is_const(b, 1, 1) ? a : NULL;
    case B_MIN:
    case B_AND:
        if (a->dtype == DT_BOOL)
            return a == b                ? a
                   : a->kind == EX_CONST ? (a->value.i ? b : a)
                   : b->kind == EX_CONST ? (b->value.i ? a : b)
                                         : NULL;
        return NULL;
    case B_MAX:
    case B_OR:
        if (a->dtype == DT_BOOL)
            return a == b                ? a
                   : a->kind == EX_CONST ? (a->value.i ? a : b)
                   : b->kind == EX_CONST ? (b->value.i ? b : a)
                                         : NULL;
        return NULL;
    default:
        return NULL;
    }
}

const Expr *expr_binary(Module *mod, BinaryOp op, const Expr *a, const Expr *b)
{
    assert(a->dtype == b->dtype);
    const Expr *simple = simplify_binary(op, a, b);
    if (simple)
        return simple;
    bool swaps = op == B_ADD || op == B_MUL || op == B_AND || op == B_OR || op == B_XOR;
    if (swaps && a->id > b->id) {
        const Expr *t = a;
        a = b;
        b = t;
    }
    return intern(mod,
                  (Expr){.kind = EX_BINARY, .dtype = a->dtype, .op = (uint8_t)op, .a = a, .b = b});
}

static bool known_indices(const Expr *a, const Expr *b)
{
    bool x = a->kind == EX_INDEX || (a->kind == EX_CONST && a->dtype == DT_I64);
    bool y = b->kind == EX_INDEX || (b->kind == EX_CONST && b->dtype == DT_I64);
    return x && y;
}

static Index as_index(Module *mod, const Expr *e)
{
    return e->kind == EX_INDEX ? e->index : poly_const(mod->polys, e->value.i);
}

const Expr *expr_compare(Module *mod, CompareOp op, const Expr *a, const Expr *b)
{
    assert(a->dtype == b->dtype);
    if (a == b && !dtype_has_nan(a->dtype))
        return expr_const(mod, DT_BOOL, (Scalar){.i = op == C_EQ || op == C_LE});
    if (known_indices(a, b)) {
        Index x = as_index(mod, a), y = as_index(mod, b);
        Index gap = poly_sub(mod->polys, y, x);
        int64_t k = 0;
        int known = -1;
        if (poly_is_const(gap, &k))
            known = op == C_EQ ? k == 0 : op == C_NE ? k != 0 : op == C_LT ? k > 0 : k >= 0;
        else if (op == C_LT || op == C_LE)
            known =
                poly_nonnegative(mod->polys, poly_add_const(mod->polys, gap, op == C_LT ? -1 : 0))
                    ? 1
                : poly_nonnegative(mod->polys,
                                   poly_add_const(mod->polys, poly_scale(mod->polys, gap, -1),
                                                  op == C_LT ? 0 : -1))
                    ? 0
                    : -1;
        if (known >= 0)
            return expr_const(mod, DT_BOOL, (Scalar){.i = known});
    }
    if (a == b && !dtype_has_nan(a->dtype)) // a float may be NaN
        return expr_const(mod, DT_BOOL, (Scalar){.i = op == C_EQ || op == C_LE});
    if (dtype_info(a->dtype)->kind == KIND_UNSIGNED) { // nothing is below 0
        if (op == C_LE && a->kind == EX_CONST && a->value.i == 0)
            return expr_const(mod, DT_BOOL, (Scalar){.i = 1});
        if (op == C_LT && b->kind == EX_CONST && b->value.i == 0)
            return expr_const(mod, DT_BOOL, (Scalar){.i = 0});
    }
    return intern(mod,
                  (Expr){.kind = EX_COMPARE, .dtype = DT_BOOL, .op = (uint8_t)op, .a = a, .b = b});
}

const Expr *expr_select(Module *mod, const Expr *cond, const Expr *yes, const Expr *no)
{
    assert(cond->dtype == DT_BOOL && yes->dtype == no->dtype);
    if (cond->kind == EX_CONST)
        return cond->value.i ? yes : no;
    if (yes == no)
        return yes;
    return intern(mod,
                  (Expr){.kind = EX_SELECT, .dtype = yes->dtype, .a = cond, .b = yes, .c = no});
}

const Expr *expr_cast(Module *mod, DType to, const Expr *a, bool saturate)
{
    if (a->dtype == to)
        return a;
    saturate = saturate && dtype_is_float(to) && dtype_info(to)->bits <= 8; // else it says nothing
    if (a->kind == EX_CONST)
        return expr_const(mod, to, scalar_cast(a->dtype, to, a->value, saturate));
    return intern(mod, (Expr){.kind = EX_CAST, .dtype = to, .a = a, .saturate = saturate});
}

const Expr *expr_bitcast(Module *mod, DType to, const Expr *a)
{
    return a->dtype == to ? a : intern(mod, (Expr){.kind = EX_BITCAST, .dtype = to, .a = a});
}

const Expr *expr_reduce(Module *mod, ReduceOp op, uint32_t nvars, const LoopId *vars,
                        const Expr *where, const Expr *body)
{
    if (where && where->kind == EX_CONST && where->value.i)
        where = NULL;
    if (nvars == 0 && op != R_ARGMAX && op != R_ARGMIN && !where)
        return body;
    DType t = op == R_ARGMAX || op == R_ARGMIN ? DT_I64 : body->dtype;
    return intern(mod, (Expr){.kind = EX_REDUCE,
                              .dtype = t,
                              .op = (uint8_t)op,
                              .rank = nvars,
                              .vars = nvars ? vars : NULL,
                              .a = where,
                              .b = body});
}

// ---- mapping

typedef struct Mapping {
    Module *mod;
    const ExprMap *map;
    Memo *memo;          // by id of the old expression
    VEC(LoopId) renamed; // pairs: old, new
} Mapping;

static const Expr *map_expr(Mapping *m, const Expr *e);

static Index map_atom_of(void *context, const Atom *a)
{
    Mapping *m = context;
    if (a->kind == ATOM_LOOP)
        for (uint32_t i = 0; i < m->renamed.len; i += 2)
            if (m->renamed.at[i] == a->var)
                return poly_loop(m->mod->polys, m->renamed.at[i + 1]);
    Index replaced = m->map->atom ? m->map->atom(m->map->context, a) : NULL;
    if (replaced || a->kind != ATOM_EXPR)
        return replaced;
    const Expr *e = map_expr(m, a->e);
    return e->kind == EX_INDEX   ? e->index
           : e->kind == EX_CONST ? poly_const(m->mod->polys, e->value.i)
                                 : poly_expr(m->mod->polys, e);
}

static Index map_index(Mapping *m, Index i)
{
    return poly_map(m->mod->polys, i, map_atom_of, m);
}

static LoopId loop_of(Index i)
{
    bool single = i && i->nterms == 1 && i->terms[0].coeff == 1 && i->terms[0].natoms == 1;
    return single && i->terms[0].atoms[0]->kind == ATOM_LOOP ? i->terms[0].atoms[0]->var : 0;
}

static const Expr *map_reduce(Mapping *m, const Expr *e)
{
    LoopId vars[64];
    assert(e->rank <= 64);
    for (uint32_t i = 0; i < e->rank; i++) {
        Index extent = loop_extent(m->mod->polys, e->vars[i]);
        Index fresh = map_index(m, extent);
        LoopId same = loop_of(map_index(m, poly_loop(m->mod->polys, e->vars[i])));
        vars[i] = same ? same : e->vars[i];
        if (vars[i] == e->vars[i] && fresh != extent) {
            vars[i] = loop_new(m->mod->polys, fresh);
            vec_push(m->mod->arena, &m->renamed, e->vars[i]);
            vec_push(m->mod->arena, &m->renamed, vars[i]);
        }
    }
    const Expr *where = e->a ? map_expr(m, e->a) : NULL;
    return expr_reduce(m->mod, (ReduceOp)e->op, e->rank, vars, where, map_expr(m, e->b));
}

static const Expr *rebuild(Mapping *m, const Expr *e)
{
    Module *mod = m->mod;
    Index at[64];
    assert(!e->at || e->rank <= 64);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        at[i] = map_index(m, e->at[i]);
    switch (e->kind) {
    case EX_CONST:
        return e;
    case EX_INDEX:
        return expr_index(mod, map_index(m, e->index));
    case EX_LOAD:
        return expr_load(mod, e->buffer, at);
    case EX_LOCAL:
        return expr_local(mod, e->local, e->dtype, e->rank, at);
    case EX_UNARY:
        return expr_unary(mod, (UnaryOp)e->op, map_expr(m, e->a));
    case EX_BINARY:
        return expr_binary(mod, (BinaryOp)e->op, map_expr(m, e->a), map_expr(m, e->b));
    case EX_COMPARE:
        return expr_compare(mod, (CompareOp)e->op, map_expr(m, e->a), map_expr(m, e->b));
    case EX_SELECT:
        return expr_select(mod, map_expr(m, e->a), map_expr(m, e->b), map_expr(m, e->c));
    case EX_CAST:
        return expr_cast(mod, e->dtype, map_expr(m, e->a), e->saturate);
    case EX_BITCAST:
        return expr_bitcast(mod, e->dtype, map_expr(m, e->a));
    case EX_REDUCE:
        return map_reduce(m, e);
    }
    return e;
}

static const Expr *map_expr(Mapping *m, const Expr *e)
{
    Memo *memo = m->memo;
    if (e->id < memo->cap && memo->stamp[e->id] == memo->round)
        return memo->value[e->id];
    const Expr *out = m->map->leaf ? m->map->leaf(m->map->context, e) : NULL;
    if (!out)
        out = rebuild(m, e);
    if (e->id < memo->cap) {
        memo->stamp[e->id] = memo->round;
        memo->value[e->id] = out;
    }
    return out;
}

const Expr *expr_map(Module *mod, const Expr *e, const ExprMap *map)
{
    Mapping m = {.mod = mod, .map = map, .memo = memo_take(mod)};
    const Expr *out = map_expr(&m, e);
    memo_give_back(mod, m.memo);
    return out;
}

const Expr *expr_swap(void *context, const Expr *e)
{
    const ExprSwap *s = context;
    return e == s->from ? s->to : NULL;
}

Index loop_swap(void *context, const Atom *a)
{
    const LoopSwap *s = context;
    return a->kind == ATOM_LOOP && a->var == s->from ? s->to : NULL;
}

Index index_map(Module *mod, Index i, const ExprMap *map)
{
    Mapping m = {.mod = mod, .map = map, .memo = memo_take(mod)};
    Index out = map_index(&m, i);
    memo_give_back(mod, m.memo);
    return out;
}

typedef struct Renaming {
    Module *mod;
    VEC(LoopId) pairs; // old, new
} Renaming;

static Index rename_loop(void *context, const Atom *a)
{
    Renaming *r = context;
    if (a->kind == ATOM_LOOP)
        for (uint32_t i = 0; i < r->pairs.len; i += 2)
            if (r->pairs.at[i] == a->var)
                return poly_loop(r->mod->polys, r->pairs.at[i + 1]);
    return NULL;
}

static void collect_vars(void *context, const Expr *e)
{
    Renaming *r = context;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        vec_push(r->mod->arena, &r->pairs, e->vars[i]), vec_push(r->mod->arena, &r->pairs, 0u);
}

const Expr *expr_fresh(Module *mod, const Expr *e)
{
    Renaming r = {.mod = mod};
    expr_walk(mod, e, collect_vars, &r);
    if (r.pairs.len == 0)
        return e;
    // Operands come first in a walk, so outer variables come last: rename from the outside in.
    Renaming done = {.mod = mod};
    for (uint32_t i = r.pairs.len; i >= 2; i -= 2) {
        ExprMap extents = {&done, NULL, rename_loop};
        LoopId fresh = loop_new(
            mod->polys, index_map(mod, loop_extent(mod->polys, r.pairs.at[i - 2]), &extents));
        vec_push(mod->arena, &done.pairs, r.pairs.at[i - 2]);
        vec_push(mod->arena, &done.pairs, fresh);
    }
    ExprMap all = {&done, NULL, rename_loop};
    return expr_map(mod, e, &all);
}

// ---- walking

typedef struct Walk {
    Memo *seen;
    void (*visit)(void *context, const Expr *e);
    void *context;
} Walk;

static void walk(Walk *w, const Expr *e);

static bool walk_atom(void *context, const Atom *a)
{
    if (a->kind == ATOM_EXPR)
        walk(context, a->e);
    return false;
}

static void walk(Walk *w, const Expr *e)
{
    if (e->id < w->seen->cap) {
        if (w->seen->stamp[e->id] == w->seen->round)
            return;
        w->seen->stamp[e->id] = w->seen->round;
    }
    if (e->index)
        poly_any(e->index, walk_atom, w);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], walk_atom, w);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            walk(w, operands[i]);
    w->visit(w->context, e);
}

void expr_walk(Module *mod, const Expr *e, void (*visit)(void *context, const Expr *e),
               void *context)
{
    Walk w = {memo_take(mod), visit, context};
    walk(&w, e);
    memo_give_back(mod, w.seen);
}

typedef struct ReadTest {
    BufferId buffer;
    bool found;
} ReadTest;

static void test_read(void *context, const Expr *e)
{
    ReadTest *t = context;
    t->found |= e->kind == EX_LOAD && e->buffer == t->buffer;
}

bool expr_reads(Module *mod, const Expr *e, BufferId b)
{
    ReadTest t = {b, false};
    expr_walk(mod, e, test_read, &t);
    return t.found;
}

typedef struct LoopTest {
    LoopId var;
    bool found;
} LoopTest;

static bool atom_is_loop(void *context, const Atom *a)
{
    LoopTest *t = context;
    return a->kind == ATOM_LOOP && a->var == t->var;
}

static void test_loop(void *context, const Expr *e)
{
    LoopTest *t = context;
    if (e->index)
        t->found |= poly_any(e->index, atom_is_loop, t);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        t->found |= poly_any(e->at[i], atom_is_loop, t);
}

bool expr_uses_loop(Module *mod, const Expr *e, LoopId v)
{
    LoopTest t = {v, false};
    expr_walk(mod, e, test_loop, &t);
    return t.found;
}
