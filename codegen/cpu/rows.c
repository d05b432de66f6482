// Row schedules: which loops run together, and with what innermost.
//
// 1. Parallel loops over neighbouring dims that every index takes as one (an elementwise kernel, a
//    1x1 convolution) are one loop.
// 2. y[.., v] = f(sum over r of a[.., r] * b[r, v]) as written keeps one sum and walks r. Turned
//    inside out it keeps a row of sums and walks v, whose elements lie next to each other:
//    compilers make vectors of that. What surrounds the sum is applied to the row at the end.
//
// Sums are added in the order of r either way, so that results are the same bits, but for those of
// a few neighbours (codegen/cpu/few.c), which have several lanes each.

#include "codegen/byte_function.h"
#include "codegen/cpu/halves.h"
#include "codegen/print_parts.h"

#include <string.h>

enum { ROW = 256 }; // elements of a row: it stays in the first-level cache beside the operands

// ---- the factor of a loop variable in an index -----------------------------------------------

static bool is_loop(void *context, const Atom *a)
{
    return a->kind == ATOM_LOOP && a->var == *(LoopId *)context;
}

typedef struct LoopSearch {
    Printer *p;
    LoopId v;
} LoopSearch;

static bool holds_loop(void *context, const Atom *a)
{
    LoopSearch *s = context;
    if (a->kind == ATOM_EXPR) {
        const ExprFacts *f = expr_facts(s->p, a->e);
        for (uint32_t i = 0; i < f->nloops; i++)
            if (f->loops[i] == s->v)
                return true;
    }
    return a->kind == ATOM_LOOP && a->var == s->v;
}

static Index atom_poly(Polys *polys, const Atom *a)
{
    switch (a->kind) {
    case ATOM_DIM:
        return poly_dim(polys, a->var);
    case ATOM_LOOP:
        return poly_loop(polys, a->var);
    case ATOM_EXPR:
        return poly_expr(polys, a->e);
    case ATOM_FLOORDIV:
        return poly_floordiv(polys, a->a, a->b);
    case ATOM_MOD:
        return poly_mod(polys, a->a, a->b);
    case ATOM_MIN:
        return poly_min(polys, a->a, a->b);
    case ATOM_MAX:
        break;
    }
    return poly_max(polys, a->a, a->b);
}

bool factor_of(Printer *p, Index i, LoopId v, Index *factor)
{
    Polys *polys = p->mod->polys;
    LoopSearch search = {p, v};
    *factor = poly_const(polys, 0);
    if (poly_is_overflow(i))
        return false;
    for (uint32_t k = 0; k < i->nterms; k++) {
        const Term *t = &i->terms[k];
        Index rest = poly_const(polys, t->coeff);
        uint32_t times = 0;
        for (uint32_t n = 0; n < t->natoms; n++) {
            if (is_loop(&v, t->atoms[n])) {
                times++;
                continue;
            }
            Index atom = atom_poly(polys, t->atoms[n]);
            if (poly_any(atom, holds_loop, &search))
                return false;
            rest = poly_mul(polys, rest, atom);
        }
        if (times > 1)
            return false;
        if (times)
            *factor = poly_add(polys, *factor, rest);
    }
    return true;
}

// ---- collapsing ------------------------------------------------------------------------------

typedef struct Collapse {
    Printer *p;
    LoopId outer, inner;
    bool possible;
} Collapse;

static void test_index(Collapse *c, Index i)
{
    Index a, b;
    if (!factor_of(c->p, i, c->outer, &a) || !factor_of(c->p, i, c->inner, &b) ||
        a != poly_mul(c->p->mod->polys, b, print_extent(c->p, c->inner)))
        c->possible = false;
}

// Expressions in the index are visited themselves.
static void test_free(Collapse *c, Index i)
{
    if (poly_any(i, is_loop, &c->outer) || poly_any(i, is_loop, &c->inner))
        c->possible = false;
}

static bool is_row_element(Printer *p, const Expr *e)
{
    return e->kind == EX_LOCAL && e->rank > 0 && p->is_row[e->local] == p->round &&
           p->rows[e->local]->rank == e->rank;
}

static void test_expr(void *context, const Expr *e)
{
    Collapse *c = context;
    if (!c->possible || byte_looked_up(c->p->mod, e)) // by an element that is visited itself
        return;
    if (e->kind == EX_LOAD) {
        const Buffer *b = buffer_at(c->p->mod, e->buffer);
        test_index(c, linear_index(c->p, b->rank, b->dims, e->at));
    } else if (is_row_element(c->p, e)) {
        const Stmt *row = c->p->rows[e->local];
        test_index(c, linear_index(c->p, row->rank, row->at, e->at));
    } else {
        if (e->index)
            test_free(c, e->index);
        for (uint32_t i = 0; e->at && i < e->rank; i++)
            test_free(c, e->at[i]);
    }
    LoopSearch outer = {c->p, c->outer}, inner = {c->p, c->inner};
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++) {
        Index extent = loop_extent(c->p->mod->polys, e->vars[i]);
        if (poly_any(extent, holds_loop, &outer) || poly_any(extent, holds_loop, &inner))
            c->possible = false;
    }
}

static const Stmt *statement_below(const Stmt *s, StmtKind kind)
{
    while (s && s->kind == S_FOR && s->par && !s->next)
        s = s->body;
    return s && s->kind == kind && !s->next ? s : NULL;
}

static bool is_nest(const Stmt *loop)
{
    const Stmt *inner = loop->body;
    return inner && inner->kind == S_FOR && inner->par && !inner->next;
}

// The loops of outer and inner count as one, the inner one's, from here to loops_restore.
static void collapse(Printer *p, LoopId outer, LoopId inner)
{
    p->extent[inner] = poly_mul(p->mod->polys, print_extent(p, outer), print_extent(p, inner));
    p->zeroed[outer] = 1;
    p->nzeroed++;
    print_bind_loop(p, outer, 1);
}

bool loops_collapse(Printer *p, LoopId outer, LoopId inner, const Expr *body)
{
    Collapse c = {p, outer, inner, true};
    LoopSearch s = {p, outer};
    if (poly_any(print_extent(p, inner), holds_loop, &s))
        return false;
    expr_walk(p->mod, body, test_expr, &c);
    if (c.possible)
        collapse(p, outer, inner);
    return c.possible;
}

void loops_restore(Printer *p, LoopId outer, LoopId inner)
{
    p->extent[inner] = NULL;
    p->zeroed[outer] = 0;
    p->nzeroed--;
    print_bind_loop(p, outer, -1);
}

// What stands outside the value for hoisted parts was computed already and is not looked into.
bool rows_collapse(Printer *p, const Stmt *loop)
{
    const Stmt *inner = loop->body,
               *store = loop->par ? statement_below(loop->body, S_STORE) : NULL;
    if (!store || !is_nest(loop))
        return false;
    Collapse c = {p, loop->var, inner->var, true};
    const Buffer *b = buffer_at(p->mod, store->buffer);
    test_index(&c, linear_index(p, b->rank, b->dims, store->at));
    return c.possible && loops_collapse(p, loop->var, inner->var, store->value);
}

bool sets_collapse(Printer *p, const Stmt *loop)
{
    const Stmt *inner = loop->body, *set = loop->par ? statement_below(loop->body, S_SET) : NULL;
    if (!set || !is_nest(loop))
        return false;
    const Expr e = {.kind = EX_LOCAL, .local = set->local, .rank = set->rank, .at = set->at};
    if (!is_row_element(p, &e))
        return false;
    Collapse c = {p, loop->var, inner->var, true};
    const Stmt *row = p->rows[set->local];
    test_index(&c, linear_index(p, row->rank, row->at, set->at));
    return c.possible && loops_collapse(p, loop->var, inner->var, set->value);
}

void rows_restore(Printer *p, const Stmt *loop)
{
    loops_restore(p, loop->var, loop->body->var);
}

// ---- rows --------------------------------------------------------------------------------------

typedef struct Rows {
    Printer *p;
    LoopId v;
    VEC(const Expr *) reduces;
    VEC(Index) places; // open sizes along which places are found
    bool possible;
} Rows;

static bool depends(Rows *r, const Expr *e)
{
    const ExprFacts *f = expr_facts(r->p, e);
    for (uint32_t i = 0; i < f->nloops; i++)
        if (f->loops[i] == r->v)
            return true;
    return false;
}

// Elements that neighbours along v read must be neighbours too, or the same one.
static void test_stride(void *context, const Expr *e)
{
    Rows *r = context;
    if (e->kind != EX_LOAD)
        return;
    const Buffer *b = buffer_at(r->p->mod, e->buffer);
    Index factor;
    int64_t k;
    if (!factor_of(r->p, linear_index(r->p, b->rank, b->dims, e->at), r->v, &factor) ||
        !poly_is_const(factor, &k) || k < -2 || k > 2)
        r->possible = false;
}

static bool index_reduces(void *context, const Atom *a)
{
    return a->kind == ATOM_EXPR && expr_facts(context, a->e)->reduces;
}

static bool is_place(const Expr *e)
{
    return e->op == R_ARGMAX || e->op == R_ARGMIN;
}

// A place is a row of the greatest and one of their places, which fit 32 bits as vectors of floats:
// of open sizes the program asks.
static bool has_row(Rows *r, const Expr *e)
{
    int64_t n;
    if (!is_place(e))
        return e->op == R_ADD || e->op == R_MUL || e->op == R_MAX || e->op == R_MIN;
    Index extent = print_extent(r->p, e->vars[0]);
    const bool known = poly_is_const(extent, &n);
    if (e->rank != 1 || e->a || !r->p->dialect->rows ||
        (e->b->kind != EX_LOAD && !halves_load(e->b)) || (known && (n <= 0 || n >= INT32_MAX)))
        return false;
    if (!known)
        vec_push(r->p->arena, &r->places, extent);
    return true;
}

static void add_reduce(Rows *r, const Expr *e)
{
    for (uint32_t i = 0; i < r->reduces.len; i++)
        if (r->reduces.at[i] == e)
            return;
    DType t = e->b->dtype;
    const bool compared = e->op == R_MAX || e->op == R_MIN;
    bool simple = (t == DT_F32 || t == DT_F64 || t == DT_I32 || t == DT_I64 ||
                   (compared && (t == DT_U8 || t == DT_I8 || t == DT_I16))) &&
                  has_row(r, e) && !expr_facts(r->p, e->b)->reduces &&
                  !(e->a && expr_facts(r->p, e->a)->reduces) && e->rank < MAX_LOOPS &&
                  depends(r, e) && !expr_changes(r->p, e);
    LoopSearch s = {r->p, r->v};
    for (uint32_t i = 0; i < e->rank; i++)
        simple = simple && !poly_any(loop_extent(r->p->mod->polys, e->vars[i]), holds_loop, &s);
    if (!simple)
        r->possible = false;
    else
        expr_walk(r->p->mod, e->b, test_stride, r);
    vec_push(r->p->arena, &r->reduces, e);
}

// Reductions of e that are always evaluated; others make a row impossible.
static void find_reduces(Rows *r, const Expr *e)
{
    if (!r->possible || r->p->temp_of[e->id] || !expr_facts(r->p, e)->reduces)
        return;
    if (e->kind == EX_REDUCE) {
        add_reduce(r, e);
        return;
    }
    if (e->index && poly_any(e->index, index_reduces, r->p))
        r->possible = false;
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        if (poly_any(e->at[i], index_reduces, r->p))
            r->possible = false;
    bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->a)
        find_reduces(r, e->a);
    const Expr *rest[] = {e->b, e->c};
    for (int i = 0; i < 2; i++) {
        if (rest[i] && lazy && expr_facts(r->p, rest[i])->reduces)
            r->possible = false;
        else if (rest[i])
            find_reduces(r, rest[i]);
    }
}

// What every number is at least, or at most.
static const char *print_most(Printer *p, const Expr *e)
{
    Expr most = *e;
    most.op = e->op == R_ARGMAX ? R_MAX : R_MIN;
    return print_neutral(p, &most);
}

static void print_place(Printer *p, const Expr *e, const char *row, const char *value)
{
    uint32_t x = ++p->ntemps;
    bool greatest = e->op == R_ARGMAX;
    print_line(p, "const %s x%u = %s;", type_of_value(p, e->b->dtype), x, value);
    if (dtype_is_float(e->b->dtype))
        print_line(p, "const int y%u = cameo_%s_%s(x%u, best%s);", x, greatest ? "above" : "below",
                   dtype_suffix(e->b->dtype), x, row);
    else
        print_line(p, "const int y%u = x%u %s best%s;", x, x, greatest ? ">" : "<", row);
    print_line(p, "best%s = y%u ? x%u : best%s;", row, x, x, row);
    print_line(p, "%s = y%u ? (int32_t)i%u : %s;", row, x, e->vars[0], row);
}

// row[k] op= body, v inside the reduction's loops; `low` and `high` bound v.
static void print_row_reduce(Printer *p, const Expr *e, LoopId v, const char *row, const char *low,
                             const char *high)
{
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++)", v, low, v, high, v);
    print_line(p, "    %s = %s;", row, is_place(e) ? "0" : print_neutral(p, e));
    if (is_place(e)) {
        print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++)", v, low, v, high, v);
        print_line(p, "    best%s = %s;", row, print_most(p, e));
    }
    Bounds b = {.n = e->rank + 1};
    memcpy(b.vars, e->vars, e->rank * sizeof *e->vars);
    b.vars[e->rank] = v;
    b.low[e->rank] = low;
    b.high[e->rank] = high;
    print_statement_begin(p, e->b, NULL, 0);
    bounds_read(p, &b, e->a);
    nest_begin(p, &b, NULL);
    if (is_place(e))
        print_place(p, e, row, without_parentheses(p, print_expr(p, e->b)));
    else
        print_accumulate(p, e, row);
    nest_end(p, &b);
    print_statement_end(p);
}

// One sum or extreme of each lane.
static void print_lane(Printer *p, const void *with, const char *lane)
{
    const Expr *e = with;
    print_accumulate(p, e, str_printf(p->arena, "wide[%s]", lane).at);
}

static bool is_few(Printer *p, const Expr *e, LoopId v, Few *f)
{
    return p->dialect->rows && !is_place(e) && e->rank == 1 && !e->a && loop_low(p, v)[0] == '0' &&
           few_find(p, e->vars[0], v, e->b, f);
}

// The same of a few neighbours, in lanes over them and what lies behind them, joined in the end.
static void print_few_reduce(Printer *p, const Expr *e, LoopId v, const char *row)
{
    static const BinaryOp joins[] = {
        [R_ADD] = B_ADD, [R_MUL] = B_MUL, [R_MAX] = B_MAX, [R_MIN] = B_MIN};
    Few f;
    is_few(p, e, v, &f);
    const char *type = type_of_value(p, e->dtype);
    uint32_t mark = print_block_begin(p);
    print_line(p, "%s wide[%d];", type, (int)f.wide);
    print_line(p, "for (int l = 0; l < %d; l++)", (int)f.wide);
    print_line(p, "    wide[l] = %s;", print_neutral(p, e));
    const char *high = print_index_bare(p, print_extent(p, e->vars[0]));
    print_statement_begin(p, e->b, NULL, 0);
    few_begin(&f);
    few_loops(&f, "0", high, print_lane, e);
    few_end(&f);
    print_statement_end(p);
    print_line(p, "for (int64_t i%u = 0; i%u < %d; i%u++)", v, v, (int)f.n, v);
    print_line(p, "    %s = wide[i%u];", row, v);
    print_line(p, "for (int l = %d; l < %d; l += %d)", (int)f.n, (int)f.wide, (int)f.n);
    print_line(p, "    for (int64_t i%u = 0; i%u < %d; i%u++)", v, v, (int)f.n, v);
    const char *lane = str_printf(p->arena, "wide[l + i%u]", v).at;
    print_line(p, "        %s = %s;", row,
               without_parentheses(p, print_binary_op(p, joins[e->op], e->dtype, row, lane)));
    print_block_end(p, mark);
}

// Of an open size the program asks whether there is enough for pieces.
static void print_row_or_few(Printer *p, const Expr *e, LoopId v, const char *row, const char *low,
                             const char *high)
{
    Few f;
    int64_t n;
    if (!is_few(p, e, v, &f)) {
        print_row_reduce(p, e, v, row, low, high);
        return;
    }
    const bool known = poly_is_const(print_extent(p, e->vars[0]), &n);
    if (known)
        print_line(p, "{");
    else
        print_line(p, "if (%s >= %d) {", print_index(p, print_extent(p, e->vars[0])),
                   (int)few_least(&f));
    print_few_reduce(p, e, v, row);
    if (!known) {
        print_line(p, "} else {");
        uint32_t mark = print_block_begin(p);
        print_row_reduce(p, e, v, row, low, high);
        print_block_end(p, mark);
    }
    print_line(p, "}");
}

static void print_row_body(Printer *p, const Rows *r, const Stmt *store, const char *low,
                           const char *high, const char *at)
{
    uint32_t first = p->ntemps + 1;
    p->ntemps += r->reduces.len;
    for (uint32_t i = 0; i < r->reduces.len; i++) {
        const Expr *e = r->reduces.at[i];
        const char *row = str_printf(p->arena, "row%u[%s]", first + i, at).at;
        print_row_or_few(p, e, r->v, row, low, high);
    }
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++) {", r->v, low, r->v, high, r->v);
    print_bind_loop(p, r->v, 1);
    uint32_t mark = print_block_begin(p);
    for (uint32_t i = 0; i < r->reduces.len; i++) {
        const Expr *e = r->reduces.at[i];
        print_line(p, "const %s t%u = row%u[%s];", type_of_value(p, e->dtype), first + i, first + i,
                   at);
        memo_add(p, e, first + i);
    }
    print_stmts(p, store);
    print_block_end(p, mark);
    print_bind_loop(p, r->v, -1);
    print_line(p, "}");
}

static void declare_rows(Printer *p, const Rows *r, int64_t size)
{
    for (uint32_t i = 0; i < r->reduces.len; i++) {
        const Expr *e = r->reduces.at[i];
        uint32_t t = p->ntemps + 1 + i;
        print_line(p, "%s row%u[%lld];", is_place(e) ? "int32_t" : type_of_value(p, e->dtype), t,
                   (long long)size);
        if (is_place(e))
            print_line(p, "%s bestrow%u[%lld];", type_of_value(p, e->b->dtype), t, (long long)size);
    }
}

static void print_rows(Printer *p, const Rows *r, const Stmt *store)
{
    const uint32_t v = r->v;
    const char *begin = loop_low(p, v), *all = loop_high(p, v);
    int64_t n;
    uint32_t mark;
    if (poly_is_const(print_extent(p, v), &n) && n <= ROW) {
        print_line(p, "{");
        mark = print_block_begin(p);
        declare_rows(p, r, n);
        print_row_body(p, r, store, begin, all, str_printf(p->arena, "i%u", v).at);
    } else {
        print_line(p, "for (int64_t low%u = %s; low%u < %s; low%u += %d) {", v, begin, v, all, v,
                   ROW);
        mark = print_block_begin(p);
        print_line(p, "const int64_t high%u = cameo_min_i64(low%u + %d, %s);", v, v, ROW, all);
        declare_rows(p, r, ROW);
        print_row_body(p, r, store, str_printf(p->arena, "low%u", v).at,
                       str_printf(p->arena, "high%u", v).at,
                       str_printf(p->arena, "i%u - low%u", v, v).at);
    }
    print_block_end(p, mark);
    print_line(p, "}");
}

// Each neighbour by itself, where places are none or too many for rows.
static void print_alone(Printer *p, const Rows *r, const Stmt *store)
{
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++) {", r->v, loop_low(p, r->v), r->v,
               loop_high(p, r->v), r->v);
    print_bind_loop(p, r->v, 1);
    uint32_t mark = print_block_begin(p);
    print_stmts(p, store);
    print_block_end(p, mark);
    print_bind_loop(p, r->v, -1);
    print_line(p, "}");
}

bool rows_print(Printer *p, const Stmt *loop)
{
    const Stmt *store = loop->body;
    if (!loop->par || !store || store->kind != S_STORE || store->next)
        return false;
    Rows r = {.p = p, .v = loop->var, .possible = true};
    find_reduces(&r, store->value);
    for (uint32_t i = 0; i < store->rank; i++)
        if (poly_any(store->at[i], index_reduces, p))
            return false;
    int64_t n = -1;
    if (!r.possible || r.reduces.len == 0)
        return false;
    Few f;
    if (poly_is_const(print_extent(p, loop->var), &n) && n < 4) // no row by itself
        for (uint32_t i = 0; i < r.reduces.len; i++)
            if (!is_few(p, r.reduces.at[i], loop->var, &f))
                return false;
    const char *fits = NULL;
    for (uint32_t i = 0; i < r.places.len; i++) {
        const char *extent = print_index(p, r.places.at[i]);
        fits = str_printf(p->arena, "%s%s0 < %s && %s < INT32_MAX", fits ? fits : "",
                          fits ? " && " : "", extent, extent)
                   .at;
    }
    if (!fits) {
        print_rows(p, &r, store);
        return true;
    }
    print_line(p, "if (%s) {", fits);
    uint32_t mark = print_block_begin(p);
    print_rows(p, &r, store);
    print_block_end(p, mark);
    print_line(p, "} else {");
    mark = print_block_begin(p);
    print_alone(p, &r, store);
    print_block_end(p, mark);
    print_line(p, "}");
    return true;
}
