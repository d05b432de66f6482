// Statements, reductions and kernels.

#include "codegen/cpu/gemm.h"
#include "codegen/parts.h"
#include "codegen/print_parts.h"

#include <math.h>
#include <string.h>

enum { LONG_ROW = 64 }; // elements

void print_line(Printer *p, const char *format, ...)
{
    buf_printf(p->out, "%*s", (int)p->indent * 4, "");
    va_list args;
    va_start(args, format);
    buf_vprintf(p->out, format, args);
    va_end(args);
    buf_char(p->out, '\n');
}

// ---- blocks ----------------------------------------------------------------------------------

uint32_t print_block_begin(Printer *p)
{
    p->indent++;
    return p->memos.len;
}

static void forget_to(Printer *p, uint32_t mark)
{
    while (p->memos.len > mark) {
        Memo m = p->memos.at[--p->memos.len];
        p->temp_of[m.expr] = m.old;
    }
}

void print_block_end(Printer *p, uint32_t mark)
{
    forget_to(p, mark);
    p->indent--;
}

// ---- how often a statement uses an expression --------------------------------------------------

static void count_expr(Printer *p, const Expr *e);

static bool count_atom(void *context, const Atom *a)
{
    if (a->kind == ATOM_EXPR)
        count_expr(context, a->e);
    return false;
}

static void count_expr(Printer *p, const Expr *e)
{
    if (p->temp_of[e->id] || p->uses[e->id]++)
        return;
    vec_push(p->arena, &p->counted, e->id);
    if (e->index)
        poly_any(e->index, count_atom, p);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], count_atom, p);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        poly_any(loop_extent(p->mod->polys, e->vars[i]), count_atom, p);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            count_expr(p, operands[i]);
}

void print_statement_begin(Printer *p, const Expr *value, const Index *at, uint32_t rank)
{
    if (value)
        count_expr(p, value);
    for (uint32_t i = 0; i < rank; i++)
        poly_any(at[i], count_atom, p);
}

void print_statement_end(Printer *p)
{
    for (uint32_t i = 0; i < p->counted.len; i++)
        p->uses[p->counted.at[i]] = 0;
    p->counted.len = 0;
    for (uint32_t i = p->memos.len; i > 0; i--)
        if (p->memos.at[i - 1].changes)
            p->temp_of[p->memos.at[i - 1].expr] = 0;
}

// ---- hoisting: what an inner loop would compute again and again -------------------------------

static bool hoist_atom(void *context, const Atom *a)
{
    if (a->kind == ATOM_EXPR)
        print_hoisted_expr(context, a->e);
    return false;
}

static bool is_hoisted(Printer *p, const Expr *e)
{
    const ExprFacts *f = expr_facts(p, e);
    return f->reduces || (p->hoists_rounded && f->rounds);
}

// Computes here the largest parts of e that hold a reduction, or round to integers where that is
// asked for, are always evaluated, and need nothing but what is bound already.
void print_hoisted_expr(Printer *p, const Expr *e)
{
    if (p->temp_of[e->id] || !is_hoisted(p, e))
        return;
    if (!expr_changes(p, e) && expr_ready(p, e)) {
        if (p->found_hoist) {
            *p->found_hoist = true;
            return;
        }
        bool alone = p->counted.len == 0;
        if (alone)
            print_statement_begin(p, e, NULL, 0);
        const char *v = print_expr(p, e);
        if (!p->temp_of[e->id]) {
            uint32_t t = ++p->ntemps;
            print_line(p, "const %s t%u = %s;", type_of_value(p, e->dtype), t,
                       without_parentheses(p, v));
            memo_add(p, e, t);
        }
        if (alone)
            print_statement_end(p);
        return;
    }
    if (e->index)
        poly_any(e->index, hoist_atom, p);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], hoist_atom, p);
    if (e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL)) {
        print_hoisted_expr(p, e->a);
    } else if (e->kind == EX_REDUCE && e->a) {
        return; // never above a guard
    } else {
        const Expr *operands[] = {e->a, e->b, e->c};
        for (int i = 0; i < 3; i++)
            if (operands[i])
                print_hoisted_expr(p, operands[i]);
    }
}

void print_hoisted(Printer *p, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_FOR)
            print_hoisted(p, s->body);
        if (s->kind == S_WHILE || s->kind == S_ROW)
            continue;
        for (uint32_t i = 0; i < s->rank; i++)
            poly_any(s->at[i], hoist_atom, p);
        if (s->value)
            print_hoisted_expr(p, s->value);
    }
}

// An element that is there whatever the loops do, at constants and variables of loops around: a
// compiler may not read it where a select might not, so it is read before them.
typedef struct Steady {
    Printer *p;
    bool selects;
    VEC(const Expr *) loads;
} Steady;

// Is it a place of a dim of that size, the same for all turns of loops that are not open yet?
static bool is_steady(Printer *p, const ExprFacts *f, Index at, Index dim)
{
    Polys *polys = p->mod->polys;
    int64_t n, size;
    if (!poly_is_const(dim, &size))
        return false;
    if (poly_is_const(at, &n))
        return n >= 0 && n < size;
    for (uint32_t i = 0; i < f->nloops; i++) {
        const LoopId v = f->loops[i];
        if (v < p->nloops && p->loop_bound[v] && at == poly_loop(polys, v))
            return poly_is_const(loop_extent(polys, v), &n) && n <= size;
    }
    return false;
}

static void find_steady(void *context, const Expr *e)
{
    Steady *x = context;
    Printer *p = x->p;
    x->selects |= e->kind == EX_SELECT;
    if (e->kind != EX_LOAD || p->written[e->buffer] || p->temp_of[e->id] || e->dtype == DT_BOOL)
        return;
    const Buffer *b = buffer_at(p->mod, e->buffer);
    for (uint32_t i = 0; i < e->rank; i++)
        if (!is_steady(p, expr_facts(p, e), e->at[i], b->dims[i]))
            return;
    vec_push(p->arena, &x->loads, e);
}

void print_steady(Printer *p, const Stmt *loop)
{
    const Stmt *s = loop;
    while (s && s->kind == S_FOR && s->par && !s->next)
        s = s->body;
    if (!s || s->kind != S_STORE || s->next)
        return;
    Steady x = {.p = p};
    expr_walk(p->mod, s->value, find_steady, &x);
    for (uint32_t i = 0; x.selects && i < x.loads.len; i++) {
        const Expr *e = x.loads.at[i];
        uint32_t t = ++p->ntemps;
        print_line(p, "const %s t%u = %s;", type_of_value(p, e->dtype), t,
                   print_element(p, e->buffer, e->at));
        memo_add(p, e, t);
    }
}

// ---- reductions ------------------------------------------------------------------------------

static const char *neutral_name(ReduceOp op, DType t)
{
    bool real = dtype_is_float(t);
    switch (op) {
    case R_ADD:
    case R_OR:
        return t == DT_F32 ? "0.0f" : "0";
    case R_MUL:
    case R_AND:
        return t == DT_F32 ? "1.0f" : "1";
    case R_MAX:
        return real ? "-INFINITY" : NULL;
    case R_MIN:
        return real ? "INFINITY" : NULL;
    default:
        return "-1";
    }
}

static const char *least_or_greatest(Printer *p, ReduceOp op, DType t)
{
    unsigned bits = t == DT_BOOL ? 1 : dtype_info(t)->bits;
    uint64_t all = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t most = dtype_is_signed(t) ? all >> 1 : all;
    uint64_t least = dtype_is_signed(t) ? ~most : 0;
    return print_literal(p, t, (Scalar){.i = (int64_t)(op == R_MAX ? least : most)});
}

static double neutral_pair(ReduceOp op)
{
    double extreme = op == R_MAX ? -(double)INFINITY : (double)INFINITY;
    return op == R_ADD ? 0 : op == R_MUL ? 1 : extreme;
}

const char *print_neutral(Printer *p, const Expr *reduce)
{
    DType t = reduce->b->dtype;
    if (dtype_is_complex(t))
        return print_literal(p, t, (Scalar){.c = {reduce->op == R_MUL, 0}});
    const bool place = reduce->op == R_ARGMAX || reduce->op == R_ARGMIN;
    if (t == DT_F64X2 && !place)
        return print_literal(p, t, (Scalar){.f = neutral_pair((ReduceOp)reduce->op)});
    const char *start = neutral_name((ReduceOp)reduce->op, reduce->b->dtype);
    return start ? start : least_or_greatest(p, (ReduceOp)reduce->op, reduce->b->dtype);
}

static const char *print_combined(Printer *p, BinaryOp op, DType t, const char *acc, const char *v)
{
    char *inner = arena_alloc(p->arena, strlen(v) + 3);
    sprintf(inner, "(%s)", v);
    return without_parentheses(p, print_binary_op(p, op, t, acc, inner));
}

void print_accumulate(Printer *p, const Expr *e, const char *acc)
{
    DType type = e->b->dtype;
    const char *sum = e->op == R_ADD ? print_product_added(p, e->b, false, acc) : NULL;
    if (sum) {
        print_line(p, "%s = %s;", acc, sum);
        return;
    }
    const char *v = without_parentheses(p, print_expr(p, e->b));
    bool real = type == DT_F32 || type == DT_F64;
    const char *small = dtype_is_small_float(type) ? dtype_info(type)->abbrev : NULL;
    switch ((ReduceOp)e->op) {
    case R_ADD:
    case R_MUL:
        if (small)
            print_line(p, "%s = cameo_cast_f32_%s(cameo_cast_%s_f32(%s) %s cameo_cast_%s_f32(%s));",
                       acc, small, small, acc, e->op == R_ADD ? "+" : "*", small, v);
        else if (real)
            print_line(p, "%s %s= %s;", acc, e->op == R_ADD ? "+" : "*", v);
        else
            print_line(p, "%s = %s;", acc,
                       print_combined(p, e->op == R_ADD ? B_ADD : B_MUL, type, acc, v));
        break;
    case R_MAX:
    case R_MIN:
        print_line(p, "%s = %s;", acc,
                   print_combined(p, e->op == R_MAX ? B_MAX : B_MIN, type, acc, v));
        break;
    case R_AND:
    case R_OR:
        print_line(p, "%s = %s;", acc,
                   print_combined(p, e->op == R_AND ? B_AND : B_OR, type, acc, v));
        break;
    case R_ARGMAX:
    case R_ARGMIN:
        break;
    }
}

static void combine(Printer *p, const Expr *e, uint32_t t)
{
    DType type = e->b->dtype;
    if (e->op != R_ARGMAX && e->op != R_ARGMIN) {
        char acc[16];
        snprintf(acc, sizeof acc, "t%u", t);
        print_accumulate(p, e, acc);
        return;
    }
    const char *v = without_parentheses(p, print_expr(p, e->b));
    print_line(p, "const %s x%u = %s;", type_of_value(p, type), t, v);
    if (dtype_is_float(type))
        print_line(p, "if (t%u < 0 || cameo_%s_%s(x%u, best%u)) {", t,
                   e->op == R_ARGMAX ? "above" : "below", dtype_suffix(type), t, t);
    else
        print_line(p, "if (t%u < 0 || x%u %s best%u) {", t, t, e->op == R_ARGMAX ? ">" : "<", t);
    print_line(p, "    best%u = x%u;", t, t);
    print_line(p, "    t%u = i%u;", t, e->vars[0]);
    print_line(p, "}");
}

// The variable whose loop a group of threads divides: the longest.
static uint32_t longest_of(Printer *p, const Expr *e)
{
    uint32_t best = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < e->rank; i++) {
        int64_t n = INT64_MAX;
        poly_is_const(loop_extent(p->mod->polys, e->vars[i]), &n);
        if (n > most) {
            most = n;
            best = i;
        }
    }
    return best;
}

static void print_reduce_loops(Printer *p, const Expr *e, uint32_t t, bool together)
{
    Bounds b = {.n = e->rank, .shared = together ? longest_of(p, e) + 1 : 0};
    memcpy(b.vars, e->vars, e->rank * sizeof *e->vars);
    bounds_read(p, &b, e->a);
    nest_begin(p, &b, e->a ? NULL : e->b);
    combine(p, e, t);
    nest_end(p, &b);
}

// Blocks have no sums of complex numbers. Sums in small floats round at each addition, in order;
// the first of equals needs the order too.
bool print_any_order(const Expr *e)
{
    return e->op != R_ARGMAX && e->op != R_ARGMIN && !dtype_is_small_float(e->dtype) &&
           !dtype_is_complex(e->dtype);
}

bool print_is_one_loop(Printer *p, const Expr *e)
{
    uint32_t longer = 0;
    for (uint32_t i = 0; i < e->rank; i++)
        longer += !poly_equals(loop_extent(p->mod->polys, e->vars[i]), 1);
    return longer == 1;
}

// A point may have but one thread. A compiler unrolls one loop over all of a sum, which takes a
// third of the time of one whose step it does not know.
static void print_reduce_alone_or_together(Printer *p, const Expr *e, uint32_t t)
{
    print_line(p, "if (%s == 1) {", p->dialect->nslices);
    uint32_t mark = print_block_begin(p);
    print_reduce_loops(p, e, t, false);
    print_block_end(p, mark);
    print_line(p, "} else {");
    mark = print_block_begin(p);
    print_reduce_loops(p, e, t, true);
    print_block_end(p, mark);
    print_line(p, "}");
}

const char *print_reduce(Printer *p, const Expr *e)
{
    uint32_t t = ++p->ntemps;
    ReduceOp op = (ReduceOp)e->op;
    print_line(p, "%s t%u = %s;", type_of_value(p, e->dtype), t, print_neutral(p, e));
    if (op == R_ARGMAX || op == R_ARGMIN)
        print_line(p, "%s best%u = %s;", type_of_value(p, e->b->dtype), t,
                   e->b->dtype == DT_F64X2 ? print_literal(p, DT_F64X2, (Scalar){.f = 0}) : "0");
    bool group = p->together, together = group && print_any_order(e);
    p->together = false;
    if (together && p->slices && print_is_one_loop(p, e))
        print_reduce_alone_or_together(p, e, t);
    else if (!lanes_print(p, e, t))
        print_reduce_loops(p, e, t, together);
    p->together = group;
    if (together) {
        static const char *const names[] = {"add", "mul", "max", "min", "min", "max"};
        print_line(p, "t%u = cameo_%s_%s_%s(t%u);", t, p->slices ? "slices" : "block", names[op],
                   arithmetic_suffix(e->dtype), t);
    }
    memo_add(p, e, t);
    char *name = arena_alloc(p->arena, 16);
    sprintf(name, "t%u", t);
    return name;
}

// ---- statements ------------------------------------------------------------------------------

bool schedules_print(Printer *p, const Stmt *loop)
{
    return rows_print(p, loop) || squares_print(p, loop) || few_print(p, loop) ||
           interchange_print(p, loop) || look_up_print(p, loop) || half_rows_print(p, loop);
}

static bool is_extreme(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_MIN || a->kind == ATOM_MAX;
}

// Where a loop begins. A bound that is the lesser or greater of sizes is found before it: in it,
// compilers count turns no more, and gather what are neighbours.
static void print_for_line(Printer *p, LoopId v)
{
    Index extent = print_extent(p, v);
    const char *high = print_index_bare(p, extent), *type = p->dialect->index;
    if (poly_any(extent, is_extreme, NULL))
        print_line(p, "for (%s i%u = 0, end%u = %s; i%u < end%u; i%u++) {", type, v, v, high, v, v,
                   v);
    else
        print_line(p, "for (%s i%u = 0; i%u < %s; i%u++) {", type, v, v, high, v);
}

static void print_for(Printer *p, const Stmt *s)
{
    if (p->parts && parts_print_for(p, s))
        return;
    print_hoisted(p, s);
    if (p->dialect->rows)
        print_steady(p, s);
    if (p->dialect->rows && (rows_collapse(p, s) || sets_collapse(p, s))) {
        print_for(p, s->body);
        rows_restore(p, s);
        return;
    }
    if (p->dialect->rows && schedules_print(p, s))
        return;
    print_for_line(p, s->var);
    print_bind_loop(p, s->var, 1);
    p->depth++;
    p->parallel += s->par;
    uint32_t mark = print_block_begin(p);
    print_stmts(p, s->body);
    print_block_end(p, mark);
    p->parallel -= s->par;
    p->depth--;
    print_bind_loop(p, s->var, -1);
    print_line(p, "}");
}

static void print_block(Printer *p, const Stmt *body)
{
    uint32_t mark = print_block_begin(p);
    print_stmts(p, body);
    print_block_end(p, mark);
}

void print_if(Printer *p, const Stmt *s, PrintStmts block)
{
    print_statement_begin(p, s->value, NULL, 0);
    const char *cond = print_expr(p, s->value);
    print_statement_end(p);
    print_line(p, "if (%s) {", without_parentheses(p, cond));
    block(p, s->body);
    if (s->other) {
        print_line(p, "} else {");
        block(p, s->other);
    }
    print_line(p, "}");
}

void print_while(Printer *p, const Stmt *s, PrintStmts body)
{
    print_line(p, "for (;;) {");
    uint32_t mark = print_block_begin(p);
    print_statement_begin(p, s->value, NULL, 0);
    print_line(p, "if (!%s)", print_expr(p, s->value));
    print_line(p, "    break;");
    print_statement_end(p);
    body(p, s->body);
    print_block_end(p, mark);
    print_line(p, "}");
}

// Vectors of long rows lie within cache lines, which saves a twentieth of what figures take.
static const char *row_place(const Printer *p, int64_t n)
{
    if (p->in_group)
        return p->dialect->row;
    return p->dialect->rows && n >= LONG_ROW ? "_Alignas(64) " : "";
}

static void print_row(Printer *p, const Stmt *s)
{
    p->is_row[s->local] = p->round;
    p->rows[s->local] = s;
    const char *type = type_of_value(p, s->dtype);
    if (s->rank == 0) {
        print_line(p, "%s v%u = 0;", type, s->local);
        return;
    }
    Polys *polys = p->mod->polys;
    Index n = poly_const(polys, 1);
    for (uint32_t i = 0; i < s->rank; i++)
        n = poly_mul(polys, n, s->at[i]);
    int64_t k = 0;
    if (poly_is_const(n, &k) && k <= 0)
        n = poly_const(polys, 1);
    const bool marks = p->marks;
    p->marks = false;
    print_line(p, "%s%s v%u[%s];", row_place(p, k), type, s->local, print_index_bare(p, n));
    p->marks = marks;
}

static void print_update(Printer *p, const Stmt *s)
{
    const char *v = print_expr(p, s->value);
    const char *at = print_element(p, s->buffer, s->at);
    if (p->dialect->update)
        p->dialect->update(p, s, at, v, p->parallel > 0);
    else
        print_line(p, "%s = %s;", at, print_binary_op(p, s->op, s->value->dtype, at, v));
}

void print_stmt(Printer *p, const Stmt *s)
{
    switch (s->kind) {
    case S_FOR:
        print_for(p, s);
        return;
    case S_IF:
        print_if(p, s, print_block);
        return;
    case S_WHILE:
        print_while(p, s, print_stmts);
        return;
    case S_ROW:
        print_row(p, s);
        return;
    case S_LET:
    case S_SET:
    case S_STORE:
    case S_UPDATE:
        break;
    }
    if (s->kind == S_LET && p->local_used[s->local] != p->round)
        return;
    print_statement_begin(p, s->value, s->at, s->rank);
    if (s->kind == S_UPDATE) {
        print_update(p, s);
    } else {
        const char *v = without_parentheses(p, print_expr(p, s->value));
        if (s->kind == S_LET)
            print_line(p, "const %s v%u = %s;", type_of_value(p, s->value->dtype), s->local, v);
        else if (s->kind == S_SET) {
            const char *to = print_row_element(p, s);
            if (strcmp(to, v) != 0) // a sum to which nothing is left to add
                print_line(p, "%s = %s;", to, v);
        } else
            print_line(p, "%s = %s;", print_element(p, s->buffer, s->at), v);
    }
    print_statement_end(p);
    if (s->kind == S_LET)
        p->is_let[s->local] = p->round;
}

void print_stmts(Printer *p, const Stmt *s)
{
    for (; s; s = s->next) {
        const Stmt *last = powers_print(p, s);
        last = last ? last : extremes_print(p, s);
        if (last)
            s = last;
        else
            print_stmt(p, s);
    }
}

// ---- kernels ---------------------------------------------------------------------------------

static void find_rows(Printer *p, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_ROW)
            p->is_row[s->local] = p->round, p->rows[s->local] = s;
        find_rows(p, s->body);
        find_rows(p, s->other);
    }
}

static bool mark_atom(void *context, const Atom *a);

static void mark_local(void *context, const Expr *e)
{
    Printer *p = context;
    if (e->kind == EX_LOCAL)
        p->local_used[e->local] = p->round;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        poly_any(loop_extent(p->mod->polys, e->vars[i]), mark_atom, p);
}

static bool mark_atom(void *context, const Atom *a)
{
    Printer *p = context;
    if (a->kind == ATOM_EXPR)
        expr_walk(p->mod, a->e, mark_local, p);
    return false;
}

// From the end to the beginning, so that a let which only dead lets need is dead too.
static void find_used(Printer *p, const Stmt *s)
{
    if (!s)
        return;
    find_used(p, s->next);
    find_used(p, s->body);
    find_used(p, s->other);
    if (s->kind == S_LET && p->local_used[s->local] != p->round)
        return;
    if (s->value)
        expr_walk(p->mod, s->value, mark_local, p);
    for (uint32_t i = 0; i < s->rank; i++)
        poly_any(s->at[i], mark_atom, p);
    if (s->kind == S_FOR)
        poly_any(loop_extent(p->mod->polys, s->var), mark_atom, p);
}

// Only what the text names: a dim may have cancelled out of all indices.
static void keep_uses(Printer *p, const Kernel *k, const KernelUses *uses)
{
    access_keep(&p->printed.buffers, &uses->buffers);
    while (p->of_kernels.len <= k->id)
        vec_push(p->arena, &p->of_kernels, (KernelUses){0});
    p->of_kernels.at[k->id] = p->printed;
    p->printed = (KernelUses){.arena = p->arena};
}

KernelUses printer_kernel_uses(Printer *p, const Kernel *k)
{
    return p->of_kernels.at[k->id];
}

void printer_kernel(Printer *p, const Kernel *k)
{
    KernelUses uses = kernel_uses(p->mod, p->arena, k);
    p->round++;
    find_used(p, k->body);
    for (uint32_t i = 0; i < uses.buffers.len; i++)
        p->written[uses.buffers.at[i].id] = (uses.buffers.at[i].bits & ACCESS_WRITE) != 0;
    find_rows(p, k->body);
    p->kernel = k;
    p->ntemps = 0;
    p->depth = p->parallel = 0;
    Buf body = {0}, *out = p->out;
    p->out = &body;
    uint32_t mark = print_block_begin(p);
    if (k->override && p->dialect->rows)
        override_print(p, k);
    else if (p->dialect->body)
        p->dialect->body(p, k);
    else
        print_stmts(p, k->body);
    print_block_end(p, mark);
    p->out = out;
    keep_uses(p, k, &uses);
    p->dialect->kernel_begin(p, k);
    buf_put(p->out, body.at ? body.at : "", body.len);
    p->dialect->kernel_end(p, k);
    buf_free(&body);
    p->kernel = NULL;
    p->round++;
    for (uint32_t i = 0; i < uses.buffers.len; i++)
        p->written[uses.buffers.at[i].id] = 0;
}

Printer *printer_new(Module *mod, const Dialect *d, Arena *scratch, Buf *out, const char *prefix)
{
    Printer *p = NEW(scratch, Printer);
    *p = (Printer){.mod = mod, .dialect = d, .arena = scratch, .out = out, .prefix = prefix};
    uint32_t n = mod->nexprs + 1;
    p->temp_of = NEWS(scratch, uint32_t, n);
    p->uses = NEWS(scratch, uint32_t, n);
    p->facts = NEWS(scratch, ExprFacts, n);
    p->nfacts = n;
    p->round = 1;
    p->changes = NEWS(scratch, uint32_t, n);
    p->nloops = loop_count(mod->polys) + 1;
    p->loop_bound = NEWS(scratch, uint8_t, p->nloops);
    p->is_let = NEWS(scratch, uint32_t, mod->nlocals + 1);
    p->is_row = NEWS(scratch, uint32_t, mod->nlocals + 1);
    p->local_used = NEWS(scratch, uint32_t, mod->nlocals + 1);
    p->rows = NEWS(scratch, const Stmt *, mod->nlocals + 1);
    p->written = NEWS(scratch, uint8_t, mod->buffers.len);
    p->printed = (KernelUses){.arena = p->arena};
    p->extent = NEWS(scratch, Index, p->nloops);
    p->zeroed = NEWS(scratch, uint8_t, p->nloops);
    return p;
}
