// Reading the expressions and indices of the "kernels" section, exactly as written.

#include "ir/kernel_parse.h"

#include <math.h>
#include <string.h>

static const Expr *nothing(KernelParser *k)
{
    return expr_const(k->mod, DT_BOOL, (Scalar){.i = 0});
}

static void raise_height(KernelParser *k, uint32_t below)
{
    if (below > k->height)
        k->height = below;
}

// ---- locals

void local_define(KernelParser *k, LocalId v, DType t, uint32_t rank, bool row)
{
    if (k->p->failed)
        return;
    while (k->locals.len <= v)
        vec_push(k->p->arena, &k->locals, (LocalInfo){0});
    k->locals.at[v] = (LocalInfo){t, rank, row};
    if (v >= k->mod->nlocals)
        k->mod->nlocals = v + 1;
}

const LocalInfo *local_info(KernelParser *k, LocalId v)
{
    return v < k->locals.len && k->locals.at[v].dtype ? &k->locals.at[v] : NULL;
}

// ---- indices

DimId parse_dim(KernelParser *k)
{
    Parser *p = k->p;
    if (p->tok == TOK_NAME)
        parse_next(p); // the name is for people
    parse_expect(p, "$");
    uint32_t id = parse_small(k, dim_count(k->mod->polys) + 1);
    if (!p->failed && id == 0)
        parse_fail(p, "there is no dim $0");
    return id;
}

LoopId parse_loop_binder(KernelParser *k)
{
    Parser *p = k->p;
    Polys *q = k->mod->polys;
    LoopId v = parse_id(k, 'i', KERNEL_MAX_IDS);
    parse_expect(p, "<");
    Index extent = parse_index(k);
    if (p->failed)
        return v;
    if (v > loop_count(q) || !loop_extent(q, v)) {
        loop_define(q, v, extent);
        poly_loop(q, v);
    } else if (loop_extent(q, v) != extent) {
        parse_fail(p, "the loop variable has another extent elsewhere; before this");
    }
    return v;
}

static const Atom *only_atom(Index i)
{
    bool one = i->nterms == 1 && i->terms[0].natoms == 1 && i->terms[0].coeff == 1;
    return one ? i->terms[0].atoms[0] : NULL;
}

static Index parse_pair(KernelParser *k, AtomKind kind)
{
    parse_expect(k->p, "(");
    Index a = parse_index(k);
    uint32_t height = k->height;
    parse_expect(k->p, ",");
    Index b = parse_index(k);
    raise_height(k, height);
    parse_expect(k->p, ")");
    return poly_pair(k->mod->polys, kind, a, b);
}

// One factor that is no number, as an index of one atom.
static Index parse_factor(KernelParser *k)
{
    Parser *p = k->p;
    Polys *q = k->mod->polys;
    k->height = 0;
    if (parse_take(p, "[")) {
        const Expr *e = parse_typed_expr(k, DT_I64);
        parse_expect(p, "]");
        return poly_expr(q, e);
    }
    Str s = p->lexeme;
    bool loop = p->tok == TOK_NAME && s.len > 1 && s.at[0] == 'i';
    for (size_t i = 1; loop && i < s.len; i++)
        loop = s.at[i] >= '0' && s.at[i] <= '9';
    bool dim = p->at < p->text.len && p->text.at[p->at] == '$'; // as in "i3$1", "min$2"
    for (int kind = ATOM_FLOORDIV; !dim && kind <= ATOM_MAX; kind++)
        if (parse_take(p, kernel_pair[kind]))
            return parse_pair(k, (AtomKind)kind);
    if (!loop || dim)
        return poly_dim(q, parse_dim(k));
    LoopId v = parse_id(k, 'i', loop_count(q) + 1);
    if (!p->failed && !loop_extent(q, v))
        parse_fail(p, "no loop binds the variable before this");
    return p->failed ? poly_const(q, 0) : poly_loop(q, v);
}

static void parse_term(KernelParser *k, Term *t, bool negative)
{
    Parser *p = k->p;
    const Atom **atoms = NEWS(p->arena, const Atom *, KERNEL_MAX_RANK);
    uint64_t size = 1;
    uint32_t height = 0;
    do {
        if (p->tok == TOK_NUMBER) {
            if (__builtin_mul_overflow(size, parse_unsigned(p), &size))
                parse_fail(p, "a number over 63 bits before this");
            continue;
        }
        const Atom *a = only_atom(parse_factor(k));
        height = k->height > height ? k->height : height;
        if (a && t->natoms < KERNEL_MAX_RANK)
            atoms[t->natoms++] = a;
        else
            parse_fail(p, "too many factors before this");
    } while (!p->failed && parse_take(p, "*"));
    t->atoms = atoms;
    t->coeff = negative ? (int64_t)(0 - size) : (int64_t)size;
    if (size > (uint64_t)INT64_MAX + negative)
        parse_fail(p, "a number over 63 bits before this");
    k->height = height;
}

Index parse_index(KernelParser *k)
{
    Parser *p = k->p;
    VEC(Term) terms = {0};
    uint32_t height = 0;
    bool negative = parse_take(p, "-");
    if (++p->depth > KERNEL_MAX_DEPTH)
        parse_fail(p, "nested too deeply");
    do {
        Term t = {0};
        parse_term(k, &t, negative);
        vec_push(p->arena, &terms, t);
        height = k->height > height ? k->height : height;
        negative = parse_is(p, "-");
    } while (!p->failed && (parse_take(p, "+") || parse_take(p, "-")));
    p->depth--;
    k->height = height;
    if (p->failed)
        return poly_const(k->mod->polys, 0);
    Index sum = poly_as_written(k->mod->polys, terms.len, terms.at);
    if (poly_is_overflow(sum))
        parse_fail(p, "too long a sum before this");
    return sum;
}

const Index *parse_at(KernelParser *k, uint32_t *rank)
{
    Parser *p = k->p;
    VEC(Index) at = {0};
    uint32_t height = 0;
    parse_expect(p, "[");
    while (!p->failed && !parse_is(p, "]")) {
        vec_push(p->arena, &at, parse_index(k));
        height = k->height > height ? k->height : height;
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, "]");
    if (at.len > KERNEL_MAX_RANK)
        parse_fail(p, "too many indices before this");
    k->height = height;
    *rank = p->failed ? 0 : at.len;
    return at.at;
}

// ---- constants, loads and locals

// A real number, a NaN by its bits.
static double parse_part(Parser *p)
{
    bool negative = parse_take(p, "-"), bits = parse_take(p, "bits");
    if (!bits) {
        double v = parse_real(p);
        return negative ? -v : v;
    }
    parse_expect(p, "(");
    negative = parse_take(p, "-");
    uint64_t u = parse_unsigned(p);
    parse_expect(p, ")");
    Scalar v = {.i = (int64_t)(negative ? 0 - u : u)};
    return v.f;
}

// Behind "complex".
static const Expr *parse_complex(KernelParser *k)
{
    Scalar v = {0};
    parse_expect(k->p, "(");
    v.c.re = parse_part(k->p);
    parse_expect(k->p, ",");
    v.c.im = parse_part(k->p);
    parse_expect(k->p, ")");
    parse_expect(k->p, ":");
    DType t = parse_dtype(k);
    if (!k->p->failed && !dtype_is_complex(t))
        parse_fail(k->p, "a complex number of a dtype that is not; before this");
    return k->p->failed ? nothing(k) : expr_const(k->mod, t, v);
}

static const Expr *parse_const(KernelParser *k)
{
    Parser *p = k->p;
    Scalar v = {0};
    bool negative = parse_take(p, "-"), bits = parse_take(p, "bits");
    Parser before = *p;
    if (bits) {
        parse_expect(p, "(");
        negative = parse_take(p, "-");
        before = *p;
        parse_real(p);
        parse_expect(p, ")");
    } else {
        parse_real(p);
    }
    parse_expect(p, ":");
    DType t = parse_dtype(k);
    if (p->failed)
        return nothing(k);
    if (dtype_is_complex(t))
        parse_fail(p, "one number where complex(re, im) is expected; before this");
    // The dtype stands behind the number and says how to read it.
    if (dtype_is_float(t) && !bits) {
        v.f = parse_real(&before);
        v.f = negative ? -v.f : v.f;
    } else {
        uint64_t u = parse_unsigned(&before);
        v.i = (int64_t)(negative ? 0 - u : u);
        if (bits && !isnan(v.f))
            parse_fail(p, "only a NaN is written by its bits; before this");
    }
    if (before.failed) {
        p->failed = true;
        p->tok = TOK_END;
    }
    return p->failed ? nothing(k) : expr_const(k->mod, t, v);
}

static const Expr *parse_load(KernelParser *k)
{
    Expr key = {.kind = EX_LOAD};
    key.buffer = parse_buffer_id(k);
    key.at = parse_at(k, &key.rank);
    if (k->p->failed)
        return nothing(k);
    const Buffer *b = buffer_at(k->mod, key.buffer);
    if (b->rank != key.rank)
        parse_fail(k->p, "indices before this are not as many as the buffer's dims");
    key.dtype = b->dtype;
    if (!key.rank)
        key.at = NULL;
    return expr_as_written(k->mod, key);
}

static const Expr *parse_local(KernelParser *k)
{
    Expr key = {.kind = EX_LOCAL};
    key.local = parse_id(k, 'v', KERNEL_MAX_IDS);
    if (parse_is(k->p, "["))
        key.at = parse_at(k, &key.rank);
    const LocalInfo *v = local_info(k, key.local);
    if (!v || v->rank != key.rank)
        parse_fail(k->p, "no local of that rank is defined before this");
    if (k->p->failed)
        return nothing(k);
    key.dtype = v->dtype;
    if (!key.rank)
        key.at = NULL;
    return expr_as_written(k->mod, key);
}

// "%3", or "%3=" and what it names.
static const Expr *parse_named(KernelParser *k)
{
    uint32_t n = parse_small(k, k->nnames + 2);
    if (!parse_take(k->p, "=")) {
        if (n == 0 || n > k->nnames || !k->names.at[n - 1].e)
            parse_fail(k->p, "nothing has that name before this");
        if (k->p->failed)
            return nothing(k);
        k->height = k->names.at[n - 1].height;
        return k->names.at[n - 1].e;
    }
    if (n != k->nnames + 1)
        parse_fail(k->p, "names of a statement are numbered from %1 without a gap; before this");
    if (k->names.len == k->nnames)
        vec_push(k->p->arena, &k->names, (NamedExpr){0});
    k->names.at[k->nnames++].e = NULL; // not while it is read
    const Expr *e = parse_expr(k);
    if (n && n <= k->names.len)
        k->names.at[n - 1] = (NamedExpr){e, k->height};
    return e;
}

// ---- calls

static const Expr *make_binary(KernelParser *k, BinaryOp op, const Expr *a, const Expr *b)
{
    Expr key = {.kind = EX_BINARY, .dtype = a->dtype, .op = (uint8_t)op, .a = a, .b = b};
    if (a->dtype != b->dtype)
        parse_fail(k->p, "operands of two dtypes before this");
    if (kernel_commutes(&key) && a->id > b->id) { // as expr_binary does
        key.a = b;
        key.b = a;
    }
    return expr_as_written(k->mod, key);
}

static const Expr *parse_unary(KernelParser *k, UnaryOp op)
{
    const Expr *a = parse_expr(k);
    bool flag = op == U_ISNAN || op == U_ISINF || op == U_NOT;
    if (op == U_NOT && a->dtype != DT_BOOL)
        parse_fail(k->p, "not needs a bool; before this");
    return expr_as_written(
        k->mod,
        (Expr){.kind = EX_UNARY, .dtype = flag ? DT_BOOL : a->dtype, .op = (uint8_t)op, .a = a});
}

static const Expr *parse_cast(KernelParser *k, Str name)
{
    bool bits = str_starts(name, "bits_"), sat = str_starts(name, "sat_");
    size_t skip = bits ? 5 : sat ? 4 : 0;
    DType t = kernel_dtype_of((Str){name.at + skip, name.len - skip});
    DTypeKind kind = dtype_info(t)->kind;
    if (kind == KIND_NONE || kind == KIND_STRING || kind == KIND_COMPLEX || kind == KIND_OBJECT)
        parse_fail(k->p, "nothing is called as the word before this is");
    Expr key = {.kind = bits ? EX_BITCAST : EX_CAST, .dtype = t, .saturate = sat};
    key.a = parse_expr(k);
    return expr_as_written(k->mod, key);
}

static const Expr *parse_call(KernelParser *k)
{
    Parser *p = k->p;
    Str name = parse_name(p);
    const Expr *e = NULL;
    parse_expect(p, "(");
    for (int op = 0; !e && op < U_COUNT; op++)
        if (str_is(name, kernel_unary[op]))
            e = parse_unary(k, (UnaryOp)op);
    for (int op = 0; !e && op < B_COUNT; op++)
        if (str_is(name, kernel_binary[op])) {
            const Expr *a = parse_expr(k);
            uint32_t height = k->height;
            parse_expect(p, ",");
            const Expr *b = parse_expr(k);
            raise_height(k, height);
            e = make_binary(k, (BinaryOp)op, a, b);
        }
    if (!e)
        e = parse_cast(k, name);
    parse_expect(p, ")");
    return e;
}

// ---- what stands in parentheses

static const Expr *parse_reduce(KernelParser *k)
{
    Parser *p = k->p;
    LoopId vars[KERNEL_MAX_RANK];
    Expr key = {.kind = EX_REDUCE};
    uint32_t op = 0, height = 0;
    while (op < 8 && !parse_is(p, kernel_reduce[op]))
        op++;
    if (op == 8)
        parse_fail(p, "expected add, mul, max, min, and, or, argmax or argmin");
    parse_next(p);
    while (!p->failed && p->tok == TOK_NAME && !parse_is(p, "where")) {
        if (key.rank == KERNEL_MAX_RANK)
            parse_fail(p, "too many variables before this");
        else
            vars[key.rank++] = parse_loop_binder(k);
        height = k->height > height ? k->height : height;
        if (!parse_take(p, ","))
            break;
    }
    if (parse_take(p, "where"))
        key.a = parse_typed_expr(k, DT_BOOL);
    height = key.a && k->height > height ? k->height : height;
    parse_expect(p, ":");
    key.b = parse_expr(k);
    raise_height(k, height);
    bool arg = op == R_ARGMAX || op == R_ARGMIN;
    if (arg && key.rank != 1)
        parse_fail(p, "one variable is reduced by argmax and argmin; before this");
    if (p->failed)
        return nothing(k);
    key.op = (uint8_t)op;
    key.dtype = arg ? DT_I64 : key.b->dtype;
    key.vars = key.rank ? vars : NULL;
    return expr_as_written(k->mod, key);
}

static const Expr *parse_select(KernelParser *k, const Expr *cond)
{
    Expr key = {.kind = EX_SELECT, .a = cond};
    uint32_t height = k->height;
    key.b = parse_expr(k);
    height = k->height > height ? k->height : height;
    parse_expect(k->p, ":");
    key.c = parse_expr(k);
    raise_height(k, height);
    key.dtype = key.b->dtype;
    if (cond->dtype != DT_BOOL || key.b->dtype != key.c->dtype)
        parse_fail(k->p, "a condition that is no bool, or arms of two dtypes, before this");
    return expr_as_written(k->mod, key);
}

static const Expr *parse_infix(KernelParser *k)
{
    Parser *p = k->p;
    if (parse_take(p, "reduce"))
        return parse_reduce(k);
    const Expr *a = parse_expr(k);
    uint32_t height = k->height;
    if (parse_take(p, "?"))
        return parse_select(k, a);
    int compare = 0, binary = 0;
    while (compare < 4 && !parse_is(p, kernel_compare[compare]))
        compare++;
    while (binary < B_COUNT && !parse_is(p, kernel_binary[binary]))
        binary++;
    if ((compare == 4 && binary == B_COUNT) || p->tok != TOK_PUNCT) {
        parse_fail(p, "expected an operator");
        return a;
    }
    parse_next(p);
    const Expr *b = parse_expr(k);
    raise_height(k, height);
    if (compare == 4)
        return make_binary(k, (BinaryOp)binary, a, b);
    if (a->dtype != b->dtype)
        parse_fail(p, "operands of two dtypes before this");
    return expr_as_written(
        k->mod,
        (Expr){.kind = EX_COMPARE, .dtype = DT_BOOL, .op = (uint8_t)compare, .a = a, .b = b});
}

// Is the token a letter and digits, as "b12"?
static bool is_numbered(const Parser *p, char letter)
{
    bool is = p->tok == TOK_NAME && p->lexeme.len > 1 && p->lexeme.at[0] == letter;
    for (size_t i = 1; is && i < p->lexeme.len; i++)
        is = p->lexeme.at[i] >= '0' && p->lexeme.at[i] <= '9';
    return is;
}

static const Expr *parse_primary(KernelParser *k)
{
    Parser *p = k->p;
    bool call = p->at < p->text.len && p->text.at[p->at] == '(';
    if (parse_take(p, "%"))
        return parse_named(k);
    if (parse_take(p, "(")) {
        const Expr *e = parse_infix(k);
        parse_expect(p, ")");
        return e;
    }
    if (parse_take(p, "{")) {
        Index i = parse_index(k);
        parse_expect(p, "}");
        return expr_as_written(k->mod, (Expr){.kind = EX_INDEX, .dtype = DT_I64, .index = i});
    }
    if (p->tok == TOK_NUMBER || parse_is(p, "-") || parse_is(p, "inf") || parse_is(p, "bits"))
        return parse_const(k);
    if (parse_take(p, "complex"))
        return parse_complex(k);
    if (is_numbered(p, 'b') && !call)
        return parse_load(k);
    if (is_numbered(p, 'v') && !call)
        return parse_local(k);
    return parse_call(k);
}

const Expr *parse_expr(KernelParser *k)
{
    Parser *p = k->p;
    const Expr *e = nothing(k);
    k->height = 0;
    if (++p->depth > KERNEL_MAX_DEPTH)
        parse_fail(p, "nested too deeply");
    if (!p->failed)
        e = parse_primary(k);
    if (++k->height > KERNEL_MAX_HEIGHT)
        parse_fail(p, "expressions shared too deeply before this");
    p->depth--;
    return e;
}

const Expr *parse_typed_expr(KernelParser *k, DType t)
{
    const Expr *e = parse_expr(k);
    if (!k->p->failed && e->dtype != t)
        parse_fail(k->p, "another dtype is needed before this");
    return e;
}
