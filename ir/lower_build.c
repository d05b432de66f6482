// Building kernels: statements of the open kernel, and the expressions of ir/lower.h.

#include "ir/lower_state.h"

#include <ctype.h>
#include <string.h>

// ---- kernels

// An identifier from a name: letters, digits and underscores, lower case.
static Str identifier(Arena *a, const char *name)
{
    size_t n = strlen(name);
    char *s = arena_copy(a, name, n);
    for (size_t i = 0; i < n; i++)
        s[i] = isalnum((unsigned char)s[i]) ? (char)tolower((unsigned char)s[i]) : '_';
    return (Str){s, n};
}

void kernel(Lower *l, const char *name)
{
    LowerState *s = l->state;
    if (s->kernel)
        kernel_end(l);
    Kernel *k = NEW(l->arena, Kernel);
    k->id = l->module->nkernels++;
    k->name = identifier(l->arena, name);
    k->node = l->node;
    vec_push(l->arena, &k->fused, l->node);
    lower_step(l, STEP_KERNEL)->kernel = k;
    s->kernel = k;
    s->stmt_tail = &k->body;
    s->nopen_stmts = 0;
}

void kernel_rest(Lower *l)
{
    l->state->kernel->rest = true;
}

void kernel_end(Lower *l)
{
    l->state->kernel = NULL;
    l->state->nopen_stmts = 0;
}

static Stmt *statement(Lower *l, StmtKind kind)
{
    Stmt *s = NEW(l->arena, Stmt);
    s->kind = kind;
    *l->state->stmt_tail = s;
    l->state->stmt_tail = &s->next;
    return s;
}

static Stmt *open_statement(Lower *l, StmtKind kind)
{
    Stmt *s = statement(l, kind);
    if (l->state->nopen_stmts == MAX_NESTING) {
        not_supported(l, "loops nested deeper than %d", MAX_NESTING);
        return s;
    }
    l->state->open_stmts[l->state->nopen_stmts++] = s;
    l->state->stmt_tail = &s->body;
    return s;
}

static Index open_loop(Lower *l, Index extent, bool parallel)
{
    if (!lower_indices_fit(l, 1, &extent))
        extent = ix(l, 1);
    Stmt *s = open_statement(l, S_FOR);
    s->par = parallel;
    s->var = loop_new(l->polys, extent);
    return poly_loop(l->polys, s->var);
}

Index par(Lower *l, Index extent)
{
    return open_loop(l, extent, true);
}

Index seq(Lower *l, Index extent)
{
    return open_loop(l, extent, false);
}

void par_all(Lower *l, Tensor y, Index *o)
{
    for (uint32_t i = 0; i < y.rank; i++)
        o[i] = poly_equals(y.dims[i], 1) ? ix(l, 0) : par(l, y.dims[i]);
}

void if_(Lower *l, const Expr *cond)
{
    open_statement(l, S_IF)->value = cond;
}

void else_(Lower *l)
{
    l->state->stmt_tail = &l->state->open_stmts[l->state->nopen_stmts - 1]->other;
}

void while_(Lower *l, const Expr *cond)
{
    open_statement(l, S_WHILE)->value = cond;
}

void end(Lower *l)
{
    Stmt *s = l->state->open_stmts[--l->state->nopen_stmts];
    l->state->stmt_tail = &s->next;
}

static LocalId new_local(Lower *l, DType t, uint32_t rank)
{
    LowerState *s = l->state;
    LocalId v = l->module->nlocals++;
    if (v >= s->local_cap) {
        uint32_t cap = s->local_cap ? s->local_cap * 2 : 64;
        while (cap <= v)
            cap *= 2;
        DType *types = NEWS(l->arena, DType, cap);
        uint32_t *ranks = NEWS(l->arena, uint32_t, cap);
        if (s->local_cap) {
            memcpy(types, s->local_types, s->local_cap * sizeof *types);
            memcpy(ranks, s->local_ranks, s->local_cap * sizeof *ranks);
        }
        s->local_types = types;
        s->local_ranks = ranks;
        s->local_cap = cap;
    }
    s->local_types[v] = t;
    s->local_ranks[v] = rank;
    return v;
}

const Expr *let(Lower *l, const Expr *value)
{
    Stmt *s = statement(l, S_LET);
    s->local = new_local(l, value->dtype, 0);
    s->dtype = value->dtype;
    s->value = value;
    return expr_local(l->module, s->local, value->dtype, 0, NULL);
}

static const Index *keep(Lower *l, uint32_t n, const Index *at)
{
    Index *kept = NEWS(l->arena, Index, n);
    bool fit = lower_indices_fit(l, n, at);
    for (uint32_t i = 0; i < n; i++)
        kept[i] = fit ? at[i] : ix(l, 0);
    return kept;
}

LocalId row(Lower *l, DType t, uint32_t rank, const Index *dims)
{
    Stmt *s = statement(l, S_ROW);
    s->local = new_local(l, t, rank);
    s->dtype = t;
    s->rank = rank;
    s->at = keep(l, rank, dims);
    return s->local;
}

const Expr *get(Lower *l, LocalId v, const Index *at)
{
    return expr_local(l->module, v, l->state->local_types[v], l->state->local_ranks[v], at);
}

void set(Lower *l, LocalId v, const Index *at, const Expr *value)
{
    Stmt *s = statement(l, S_SET);
    s->local = v;
    s->dtype = value->dtype;
    s->rank = l->state->local_ranks[v];
    s->at = keep(l, s->rank, at);
    s->value = value;
}

static Stmt *write_to(Lower *l, StmtKind kind, Tensor y, const Index *at, const Expr *value)
{
    Stmt *s = statement(l, kind);
    if (!y.buffer)
        lower_unfit(l, "a required output is missing");
    else if (value->dtype != y.dtype)
        lower_unfit(l, "the dtypes of its operands and results do not fit");
    s->buffer = y.buffer;
    s->dtype = y.dtype;
    s->rank = y.rank;
    s->at = keep(l, y.rank, at);
    s->value = value;
    return s;
}

void store(Lower *l, Tensor y, const Index *at, const Expr *value)
{
    write_to(l, S_STORE, y, at, value);
}

void update(Lower *l, BinaryOp op, Tensor y, const Index *at, const Expr *value)
{
    const char *misuse = update_misuse(y.dtype, op);
    if (misuse && !l->failed)
        not_supported(l, "%.*s: %s", STR_ARG(str_escaped(l->arena, l->n->op)), misuse);
    write_to(l, S_UPDATE, y, at, value)->op = op;
}

void copy_tensor(Lower *l, Tensor y, Tensor x)
{
    Index o[MAX_RANK];
    kernel(l, "copy");
    par_all(l, y, o);
    store(l, y, o, load(l, x, o));
    kernel_end(l);
}

// ---- reductions

Index red(Lower *l, Index extent)
{
    if (!lower_indices_fit(l, 1, &extent))
        extent = ix(l, 1);
    return poly_loop(l->polys, loop_new(l->polys, extent));
}

const Expr *reduce(Lower *l, ReduceOp op, uint32_t n, const Index *vars, const Expr *where,
                   const Expr *body)
{
    LoopId ids[64];
    uint32_t kept = 0;
    bool arg = op == R_ARGMAX || op == R_ARGMIN;
    if (n > 64)
        lower_unfit(l, "a sum over more than 64 dimensions");
    if (!lower_indices_fit(l, n, vars))
        return body;
    for (uint32_t i = 0; i < n && i < 64; i++)
        if (vars[i]->nterms == 1 && vars[i]->terms[0].atoms[0]->kind == ATOM_LOOP)
            ids[kept++] = vars[i]->terms[0].atoms[0]->var;
    if (kept == 0 && !where && !arg)
        return body;
    return expr_reduce(l->module, op, kept, ids, where, body);
}

const Expr *reduce_add(Lower *l, uint32_t n, const Index *vars, const Expr *where, const Expr *body)
{
    return reduce(l, R_ADD, n, vars, where, body);
}

// ---- expressions

// An index that a lowering left out, because an operand has another rank than it takes.
static Index there(Lower *l, Index i)
{
    if (!i)
        lower_unfit(l, "an operand has a rank that does not fit");
    return i ? i : ix(l, 0);
}

const Expr *load(Lower *l, Tensor x, const Index *at)
{
    if (!x.buffer) {
        lower_unfit(l, "a required input is missing");
        return zero(l, DT_F32);
    }
    if (!lower_indices_fit(l, buffer_at(l->module, x.buffer)->rank, at))
        return zero(l, x.dtype);
    return expr_load(l->module, x.buffer, at);
}

const Expr *load_broadcast(Lower *l, Tensor x, uint32_t rank, const Index *at)
{
    Index own[MAX_RANK];
    if (x.rank > rank) {
        if (!l->failed)
            not_supported(l, "%.*s: an operand has more dimensions than the result",
                          STR_ARG(str_escaped(l->arena, l->n->op)));
        return zero(l, x.dtype);
    }
    for (uint32_t i = 0; i < x.rank; i++) {
        Index o = at[rank - x.rank + i];
        if (!lower_indices_fit(l, 1, &o))
            return zero(l, x.dtype);
        // Which of two symbolic dims is 1 shows when the program runs: the least of the two indices
        // is right.
        own[i] = poly_equals(x.dims[i], 0) ? o : ix_min(l, o, ix_addc(l, x.dims[i], -1));
    }
    return load(l, x, own);
}

const Expr *num(Lower *l, DType t, double v)
{
    return expr_const(l->module, t, scalar_cast(DT_F64, t, (Scalar){.f = v}, true));
}

const Expr *int_(Lower *l, DType t, int64_t v)
{
    return expr_const(l->module, t, scalar_cast(DT_I64, t, (Scalar){.i = v}, true));
}

const Expr *zero(Lower *l, DType t)
{
    return int_(l, t, 0);
}

const Expr *one(Lower *l, DType t)
{
    return int_(l, t, 1);
}

const Expr *string_(Lower *l, Str s)
{
    return expr_const(l->module, DT_STRING, (Scalar){.i = module_symbol(l->module, s)});
}

const Expr *attr_num(Lower *l, DType t, const char *name, double otherwise)
{
    return num(l, t, node_float(l->n, name, otherwise));
}

const Expr *from_index(Lower *l, Index i, DType t)
{
    return cast(l, t, expr_index(l->module, there(l, i)));
}

Index to_index(Lower *l, const Expr *e)
{
    if (e->kind == EX_INDEX)
        return e->index;
    if (e->kind == EX_CONST && e->dtype != DT_U64)
        return ix(l, e->value.i);
    if (e->dtype == DT_I64 && e->kind == EX_BINARY && (e->op == B_ADD || e->op == B_SUB)) {
        Index a = to_index(l, e->a), b = to_index(l, e->b);
        return e->op == B_ADD ? ix_add(l, a, b) : ix_sub(l, a, b);
    }
    return poly_expr(l->polys, cast(l, DT_I64, e));
}

const Expr *cast(Lower *l, DType to, const Expr *a)
{
    return expr_cast(l->module, to, a, true);
}

// Do two operands have one dtype? Both are refused where not.
static bool agree(Lower *l, const Expr *a, const Expr *b)
{
    if (a->dtype != b->dtype)
        lower_unfit(l, "the dtypes of its operands differ");
    return a->dtype == b->dtype;
}

static const Expr *condition(Lower *l, const Expr *e)
{
    if (e->dtype != DT_BOOL)
        lower_unfit(l, "a condition is no bool");
    return cast(l, DT_BOOL, e);
}

const Expr *unary(Lower *l, UnaryOp op, const Expr *a)
{
    if (op == U_NOT)
        a = condition(l, a);
    return expr_unary(l->module, op, a);
}

const Expr *binary(Lower *l, BinaryOp op, const Expr *a, const Expr *b)
{
    return expr_binary(l->module, op, a, agree(l, a, b) ? b : a);
}

const Expr *add(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_ADD, a, b);
}

const Expr *sub(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_SUB, a, b);
}

const Expr *mul(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_MUL, a, b);
}

const Expr *div_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_DIV, a, b);
}

const Expr *mod_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_MOD, a, b);
}

const Expr *fmod_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_FMOD, a, b);
}

const Expr *min_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_MIN, a, b);
}

const Expr *max_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_MAX, a, b);
}

const Expr *pow_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_POW, a, b);
}

const Expr *and_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_AND, a, b);
}

const Expr *or_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_OR, a, b);
}

const Expr *xor_(Lower *l, const Expr *a, const Expr *b)
{
    return binary(l, B_XOR, a, b);
}

const Expr *eq(Lower *l, const Expr *a, const Expr *b)
{
    return expr_compare(l->module, C_EQ, a, agree(l, a, b) ? b : a);
}

const Expr *ne(Lower *l, const Expr *a, const Expr *b)
{
    return expr_compare(l->module, C_NE, a, agree(l, a, b) ? b : a);
}

const Expr *lt(Lower *l, const Expr *a, const Expr *b)
{
    return expr_compare(l->module, C_LT, a, agree(l, a, b) ? b : a);
}

const Expr *le(Lower *l, const Expr *a, const Expr *b)
{
    return expr_compare(l->module, C_LE, a, agree(l, a, b) ? b : a);
}

const Expr *not_(Lower *l, const Expr *a)
{
    return unary(l, U_NOT, a);
}

const Expr *neg(Lower *l, const Expr *a)
{
    return unary(l, U_NEG, a);
}

const Expr *exp_(Lower *l, const Expr *a)
{
    return unary(l, U_EXP, a);
}

const Expr *log_(Lower *l, const Expr *a)
{
    return unary(l, U_LOG, a);
}

const Expr *sqrt_(Lower *l, const Expr *a)
{
    return unary(l, U_SQRT, a);
}

const Expr *tanh_(Lower *l, const Expr *a)
{
    return unary(l, U_TANH, a);
}

const Expr *select_(Lower *l, const Expr *cond, const Expr *yes, const Expr *no)
{
    return expr_select(l->module, condition(l, cond), yes, agree(l, yes, no) ? no : yes);
}

const Expr *index_lt(Lower *l, Index a, Index b)
{
    return lt(l, expr_index(l->module, there(l, a)), expr_index(l->module, there(l, b)));
}

const Expr *index_le(Lower *l, Index a, Index b)
{
    return le(l, expr_index(l->module, there(l, a)), expr_index(l->module, there(l, b)));
}

const Expr *index_eq(Lower *l, Index a, Index b)
{
    return eq(l, expr_index(l->module, there(l, a)), expr_index(l->module, there(l, b)));
}

const Expr *both(Lower *l, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : and_(l, a, b);
}

const Expr *inside(Lower *l, Index i, Index n)
{
    const Expr *low = poly_nonnegative(l->polys, i) ? NULL : index_le(l, ix(l, 0), i);
    const Expr *high = poly_less(l->polys, i, n) ? NULL : index_lt(l, i, n);
    return both(l, low, high);
}

// ---- indices

Index ix(Lower *l, int64_t v)
{
    return poly_const(l->polys, v);
}

Index ix_add(Lower *l, Index a, Index b)
{
    return poly_add(l->polys, there(l, a), there(l, b));
}

Index ix_sub(Lower *l, Index a, Index b)
{
    return poly_sub(l->polys, there(l, a), there(l, b));
}

Index ix_mul(Lower *l, Index a, Index b)
{
    return poly_mul(l->polys, there(l, a), there(l, b));
}

Index ix_addc(Lower *l, Index a, int64_t k)
{
    return poly_add_const(l->polys, there(l, a), k);
}

Index ix_scale(Lower *l, Index a, int64_t k)
{
    return poly_scale(l->polys, there(l, a), k);
}

Index ix_div(Lower *l, Index a, Index b)
{
    return poly_floordiv(l->polys, there(l, a), there(l, b));
}

Index ix_mod(Lower *l, Index a, Index b)
{
    return poly_mod(l->polys, there(l, a), there(l, b));
}

Index ix_min(Lower *l, Index a, Index b)
{
    return poly_min(l->polys, there(l, a), there(l, b));
}

Index ix_max(Lower *l, Index a, Index b)
{
    return poly_max(l->polys, there(l, a), there(l, b));
}

Index ix_known(Index a, Index b)
{
    return poly_is_const(b, NULL) ? b : a;
}

Index ix_product(Lower *l, uint32_t n, const Index *dims)
{
    Index p = ix(l, 1);
    for (uint32_t i = 0; i < n; i++)
        p = ix_mul(l, p, dims[i]);
    return p;
}

Index ix_linear(Lower *l, uint32_t rank, const Index *dims, const Index *at)
{
    Index p = ix(l, 0);
    for (uint32_t i = 0; i < rank; i++)
        p = ix_add(l, ix_mul(l, p, dims[i]), at[i]);
    return p;
}

void ix_delinear(Lower *l, Index position, uint32_t rank, const Index *dims, Index *at)
{
    for (uint32_t i = rank; i-- > 0;) {
        at[i] = i ? ix_mod(l, position, dims[i]) : position;
        if (i)
            position = ix_div(l, position, dims[i]);
    }
}

Index ix_wrap(Lower *l, Index i, Index n)
{
    if (poly_nonnegative(l->polys, there(l, i)))
        return i;
    const Expr *e = expr_index(l->module, i);
    const Expr *wrapped = expr_index(l->module, ix_add(l, i, n));
    return to_index(l, select_(l, lt(l, e, zero(l, DT_I64)), wrapped, e));
}
