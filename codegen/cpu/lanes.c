// A sum, product, maximum or minimum along neighbouring elements is taken in a fixed number of
// lanes, which are joined at the end: compilers make a vector of the lanes. The order is the same
// on every machine and in every run.
//
// A maximum is NaN where one element is. The lanes take the greatest of the numbers, which is one
// instruction, and beside them it is noted whether there was a NaN.
//
// The place of the first of the greatest is looked for when the greatest is known.
//
// Whether all of a run of indices lie in a range is asked before a kernel that goes by them, in
// text that is compiled briefly: a function that has vectors looks at them.

#include "codegen/cpu/halves.h"
#include "codegen/print_parts.h"

#include <string.h>

// Two vectors of AVX-512 hide the latency of an addition; gcc unrolls loops of up to 16 iterations
// before it looks for vectors, and finds none then.
// Rows of fewer elements than NARROW are quicker one by one.
enum { LANES = 32, FEWEST = 4, LONGEST = 128, NARROW = 8 };

typedef struct Neighbours {
    Printer *p;
    LoopId v;
    bool near;
} Neighbours;

static void test_load(void *context, const Expr *e)
{
    Neighbours *n = context;
    if (e->kind != EX_LOAD || !n->near)
        return;
    const Buffer *b = buffer_at(n->p->mod, e->buffer);
    Index factor;
    int64_t k;
    n->near = factor_of(n->p, linear_index(n->p, b->rank, b->dims, e->at), n->v, &factor) &&
              poly_is_const(factor, &k) && k >= 0 && k <= 1;
}

static bool reduces_inside(void *context, const Atom *a)
{
    return a->kind == ATOM_EXPR && holds_reduce(context, a->e);
}

bool holds_reduce(Printer *p, const Expr *e)
{
    if (p->temp_of[e->id] || !expr_facts(p, e)->reduces)
        return false;
    if (e->kind == EX_REDUCE || (e->index && poly_any(e->index, reduces_inside, p)))
        return true;
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        if (poly_any(e->at[i], reduces_inside, p))
            return true;
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i] && holds_reduce(p, operands[i]))
            return true;
    return false;
}

static bool is_place(const Expr *e)
{
    return e->op == R_ARGMAX || e->op == R_ARGMIN;
}

static bool is_greatest(const Expr *e)
{
    return e->op == R_MAX || e->op == R_ARGMAX;
}

static bool is_extreme(const Expr *e)
{
    return e->op != R_ADD && e->op != R_MUL;
}

static bool joins(Printer *p, const Expr *e)
{
    DType t = e->b->dtype;
    bool real = t == DT_F32 || t == DT_F64;
    bool known = !is_extreme(e) || e->op == R_MAX || e->op == R_MIN ||
                 (is_place(e) && (e->b->kind == EX_LOAD || halves_load(e->b)));
    return p->dialect->rows && real && known && !e->a && e->rank > 0 && e->rank <= MAX_LOOPS &&
           !holds_reduce(p, e->b);
}

// Along the last variable, far enough.
static bool runs_along(Printer *p, const Expr *e)
{
    Neighbours n = {p, e->vars[e->rank - 1], true};
    int64_t extent;
    if (poly_is_const(print_extent(p, n.v), &extent) && extent < LANES)
        return false;
    expr_walk(p->mod, e->b, test_load, &n);
    return n.near;
}

// Variables before the last whose elements lie behind one another become one with it: how many.
static uint32_t join_vars(Printer *p, const Expr *e)
{
    uint32_t n = 0;
    while (n + 1 < e->rank &&
           loops_collapse(p, e->vars[e->rank - 2 - n], e->vars[e->rank - 1], e->b))
        n++;
    return n;
}

static void part_vars(Printer *p, const Expr *e, uint32_t joined)
{
    for (uint32_t i = 0; i < joined; i++)
        loops_restore(p, e->vars[e->rank - 2 - i], e->vars[e->rank - 1]);
}

// acc = op(acc, v) of a lane; for extremes, odd |= v is NaN.
static void print_lane(Printer *p, const Expr *e, const char *acc, const char *odd)
{
    if (!is_extreme(e)) {
        print_accumulate(p, e, acc);
        return;
    }
    const char *v = without_parentheses(p, print_expr(p, e->b));
    uint32_t x = ++p->ntemps;
    print_line(p, "const %s x%u = %s;", type_of_value(p, e->b->dtype), x, v);
    print_line(p, "%s = x%u %s %s ? x%u : %s;", acc, x, is_greatest(e) ? ">" : "<", acc, x, acc);
    print_line(p, "%s |= x%u != x%u;", odd, x, x);
}

bool lanes_fit(Printer *p, const Expr *e)
{
    return e->kind == EX_REDUCE && joins(p, e) && runs_along(p, e);
}

static void print_body(Printer *p, const Expr *e, const char *acc, const char *odd, uint32_t mark)
{
    print_lane(p, e, acc, odd);
    print_block_end(p, mark);
    print_bind_loop(p, e->vars[e->rank - 1], -1);
    print_line(p, "}");
}

// The elements from `low` to below `high`, no more than there are lanes.
static void print_elements(Printer *p, const Expr *e, uint32_t t, const char *low, const char *high)
{
    LoopId v = e->vars[e->rank - 1];
    const HalfLoads halves =
        half_loads_print(p, v, e->b, low, str_printf(p->arena, "%s - (%s)", high, low).at, LANES);
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++) {", v, low, v, high, v);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p);
    half_loads_read(p, &halves, str_printf(p->arena, "i%u - (%s)", v, low).at);
    print_body(p, e, str_printf(p->arena, "lane%u[i%u - (%s)]", t, v, low).at,
               str_printf(p->arena, "odd%u[i%u - (%s)]", t, v, low).at, mark);
}

// All lanes once, from element `from` on. A loop of known length counts the lanes: gcc keeps them
// in registers then, and stores them at every step where it asks how many elements there are. Of a
// sum of a known number of elements it does not ask, and would store what the lanes begin with.
static void print_whole(Printer *p, const Expr *e, uint32_t t)
{
    LoopId v = e->vars[e->rank - 1];
    int64_t fixed;
    if (!is_extreme(e) && poly_is_const(print_extent(p, v), &fixed)) {
        print_elements(p, e, t, str_printf(p->arena, "from%u", t).at,
                       str_printf(p->arena, "from%u + %d", t, LANES).at);
        return;
    }
    const HalfLoads halves = half_loads_print(p, v, e->b, str_printf(p->arena, "from%u", t).at,
                                              str_printf(p->arena, "%d", LANES).at, LANES);
    print_line(p, "for (int64_t l%u = 0; l%u < %d; l%u++) {", t, t, LANES, t);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p);
    half_loads_read(p, &halves, str_printf(p->arena, "l%u", t).at);
    if (expr_uses_loop(p->mod, e->b, v)) {
        print_line(p, "const int64_t i%u = from%u + l%u;", v, t, t);
        print_line(p, "(void)i%u;", v);
    }
    print_body(p, e, str_printf(p->arena, "lane%u[l%u]", t, t).at,
               str_printf(p->arena, "odd%u[l%u]", t, t).at, mark);
}

static void print_begin(Printer *p, const Expr *e, uint32_t t)
{
    print_line(p, "%s lane%u[%d];", type_of_value(p, e->b->dtype), t, LANES);
    if (is_extreme(e))
        print_line(p, "int odd%u[%d] = {0};", t, LANES);
    print_line(p, "for (int l = 0; l < %d; l++)", LANES);
    if (is_place(e))
        print_line(p, "    lane%u[l] = %sINFINITY;", t, is_greatest(e) ? "-" : "");
    else
        print_line(p, "    lane%u[l] = t%u;", t, t);
}

// The first element that is what the lanes gave; NaN is none that equals.
static void print_place(Printer *p, const Expr *e, uint32_t t, const char *n)
{
    LoopId v = e->vars[0];
    print_line(p, "best%u = cameo_lanes_%s_%s(lane%u, odd%u);", t, is_greatest(e) ? "max" : "min",
               dtype_suffix(e->b->dtype), t, t);
    print_line(p, "for (int64_t i%u = 0; i%u < %s; i%u++) {", v, v, n, v);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p), x = ++p->ntemps;
    print_line(p, "const %s x%u = %s;", type_of_value(p, e->b->dtype), x,
               without_parentheses(p, print_expr(p, e->b)));
    print_line(p, "if (x%u == best%u || (odd%u[0] && x%u != x%u)) {", x, t, t, x, x);
    print_line(p, "    t%u = i%u;", t, v);
    print_line(p, "    break;");
    print_line(p, "}");
    print_block_end(p, mark);
    print_bind_loop(p, v, -1);
    print_line(p, "}");
}

static void print_joined(Printer *p, const Expr *e, uint32_t t)
{
    const char *type = dtype_suffix(e->dtype);
    if (is_place(e))
        return;
    if (e->op == R_ADD) {
        print_line(p, "t%u = cameo_lanes_add_%s(lane%u);", t, type, t);
    } else if (e->op == R_MUL) {
        print_line(p, "for (int half = %d; half > 0; half /= 2)", LANES / 2);
        print_line(p, "    for (int l = 0; l < half; l++)");
        print_line(p, "        lane%u[l] *= lane%u[l + half];", t, t);
        print_line(p, "t%u = lane%u[0];", t, t);
    } else {
        print_line(p, "t%u = cameo_lanes_%s_%s(lane%u, odd%u);", t, e->op == R_MAX ? "max" : "min",
                   type, t, t);
    }
}

// Neighbours that are only read, of an open number or few enough for registers
// (runtime/cameo_short.h). Sums of whole lanes need no function, and what is known to be fewer
// elements than lanes is added in order.
static bool is_short(Printer *p, const Expr *e)
{
    const Buffer *b = e->b->kind == EX_LOAD ? buffer_at(p->mod, e->b->buffer) : NULL;
    const LoopId v = e->vars[e->rank - 1];
    int64_t n;
    Index by;
    if (!b || b->dtype != DT_F32 || e->op == R_MUL ||
        !factor_of(p, linear_index(p, b->rank, b->dims, e->b->at), v, &by) || !poly_equals(by, 1))
        return false;
    if (!poly_is_const(print_extent(p, v), &n))
        return true;
    if (e->op == R_ADD)
        return n > LANES && n <= LONGEST && n % LANES;
    return n >= FEWEST && (is_place(e) || n <= LONGEST);
}

static void print_short(Printer *p, const Expr *e, uint32_t t)
{
    const LoopId v = e->vars[e->rank - 1];
    const char *first = print_row_first(p, v, e->b->buffer, e->b->at);
    const char *n = print_index_bare(p, print_extent(p, v));
    p->shorts = true;
    int64_t known;
    const bool in_registers = poly_is_const(print_extent(p, v), &known) && known <= 64;
    if (is_place(e))
        print_line(p, "(void)best%u;", t);
    if (e->op == R_ADD)
        print_line(p, "t%u = cameo_short_add_f32(&%s, %s);", t, first, n);
    else
        print_line(p, "t%u = cameo_%s_f32(&%s, %s, %d);", t,
                   !is_place(e)   ? "short_extreme"
                   : in_registers ? "short_place"
                                  : "row_place",
                   first, n, !is_greatest(e));
}

// Windows of several dims whose size only the program knows, as regions have, may be rows of a few
// elements each. The order of a sum stays that of lanes.
static bool may_be_narrow(Printer *p, const Expr *e, const Bounds *outer)
{
    const Index n = print_extent(p, e->vars[e->rank - 1]);
    int64_t known;
    Index by;
    for (uint32_t i = 0; i < outer->n; i++)
        if (!factor_of(p, n, outer->vars[i], &by) || !poly_equals(by, 0))
            return false;
    return outer->n > 0 && is_extreme(e) && !is_place(e) && !poly_is_const(n, &known);
}

// Where rows are narrow: one element after another. Opens the block of other rows.
static void print_narrow(Printer *p, const Expr *e, const Bounds *outer, uint32_t t)
{
    const LoopId v = e->vars[e->rank - 1];
    Bounds all = {.n = outer->n + 1};
    memcpy(all.vars, outer->vars, outer->n * sizeof *all.vars);
    all.vars[outer->n] = v;
    print_line(p, "if (%s < %d) {", print_index(p, print_extent(p, v)), NARROW);
    uint32_t mark = print_block_begin(p);
    print_line(p, "int odd%u = 0;", t);
    nest_begin(p, &all, e->b);
    print_lane(p, e, str_printf(p->arena, "t%u", t).at, str_printf(p->arena, "odd%u", t).at);
    nest_end(p, &all);
    print_line(p, "t%u = odd%u ? NAN : t%u;", t, t, t);
    print_block_end(p, mark);
    print_line(p, "} else {");
}

// Is it low <= k and k < high for the elements k that `load` reads?
typedef struct Within {
    const Expr *load, *low, *high;
} Within;

static bool find_within(Printer *p, const Expr *e, Within *w)
{
    const Expr *both = e->op == R_AND && !e->a ? e->b : NULL;
    if (!both || both->kind != EX_BINARY || both->op != B_AND || both->a->kind != EX_COMPARE ||
        both->b->kind != EX_COMPARE)
        return false;
    const bool least = both->a->op == C_LE;
    const Expr *from = least ? both->a : both->b, *below = least ? both->b : both->a, *k = from->b;
    if (from->op != C_LE || below->op != C_LT || k != below->a || k->dtype != DT_I64)
        return false;
    *w = (Within){k->kind == EX_CAST ? k->a : k, from->a, below->b};
    const DType of = w->load->dtype;
    for (uint32_t i = 0; i < e->rank; i++)
        if (expr_uses_loop(p->mod, w->low, e->vars[i]) ||
            expr_uses_loop(p->mod, w->high, e->vars[i]))
            return false;
    return w->load->kind == EX_LOAD && (of == DT_I64 || of == DT_I32) &&
           !holds_reduce(p, w->load) && !holds_reduce(p, w->low) && !holds_reduce(p, w->high);
}

// Of a step; kernels have vectors of their own. `by` elements are between two that are read.
static bool print_within(Printer *p, const Expr *e, uint32_t t)
{
    Within w;
    if (p->kernel || !p->dialect->rows || e->rank < 1 || e->rank > MAX_LOOPS ||
        !find_within(p, e, &w))
        return false;
    const uint32_t joined = join_vars(p, e);
    const LoopId v = e->vars[e->rank - 1];
    const Buffer *b = buffer_at(p->mod, w.load->buffer);
    Index by;
    const bool fits = joined + 1 == e->rank &&
                      factor_of(p, linear_index(p, b->rank, b->dims, w.load->at), v, &by);
    if (fits) {
        const Index n = print_extent(p, v);
        const char *of = print_index_bare(p, n), *step = print_index_bare(p, by);
        const char *low = without_parentheses(p, print_expr(p, w.low));
        const char *high = without_parentheses(p, print_expr(p, w.high));
        const char *first = print_row_first(p, v, w.load->buffer, w.load->at);
        p->withins = true;
        const bool any = poly_less(p->mod->polys, poly_const(p->mod->polys, 0), n);
        print_line(p, "%st%u = cameo_all_within_%s(&%s, %s, %s, %s, %s);",
                   any ? "" : str_printf(p->arena, "if (%s > 0) ", of).at, t,
                   dtype_suffix(b->dtype), first, of, step, low, high);
    }
    part_vars(p, e, joined);
    return fits;
}

// In lanes, with what is `outer` around the last variable.
static void print_lanes(Printer *p, const Expr *e, Bounds *outer, uint32_t t)
{
    print_begin(p, e, t);
    nest_begin(p, outer, e->b);
    print_hoisted_expr(p, e->b);
    LoopId v = e->vars[e->rank - 1];
    const char *n = print_index(p, print_extent(p, v));
    print_line(p, "for (int64_t from%u = 0; from%u + %d <= %s; from%u += %d) {", t, t, LANES, n, t,
               LANES);
    p->indent++;
    print_whole(p, e, t);
    p->indent--;
    print_line(p, "}");
    int64_t fixed;
    if (!poly_is_const(print_extent(p, v), &fixed) || fixed % LANES) {
        // Not n - n % LANES: gcc 12 warns at -O3 that such a loop might count past all int64_t.
        print_elements(p, e, t, str_printf(p->arena, "%s / %d * %d", n, LANES, LANES).at, n);
    }
    if (is_place(e))
        print_place(p, e, t, n);
    nest_end(p, outer);
    print_joined(p, e, t);
}

bool lanes_print(Printer *p, const Expr *e, uint32_t t)
{
    if (print_within(p, e, t))
        return true;
    if (p->dialect->rows && !e->a)
        print_hoisted_expr(p, e->b);
    if (joins(p, e) && powers_print_sum(p, e, t))
        return true;
    uint32_t joined = joins(p, e) ? join_vars(p, e) : 0;
    if (joins(p, e) && joined + 1 == e->rank && is_short(p, e)) {
        print_short(p, e, t);
        part_vars(p, e, joined);
        return true;
    }
    if (!joins(p, e) || !runs_along(p, e)) {
        part_vars(p, e, joined);
        return false;
    }
    Bounds outer = {.n = e->rank - 1 - joined};
    memcpy(outer.vars, e->vars, outer.n * sizeof *e->vars);
    const bool narrow = may_be_narrow(p, e, &outer);
    uint32_t mark = 0;
    if (narrow) {
        print_narrow(p, e, &outer, t);
        mark = print_block_begin(p);
    }
    print_lanes(p, e, &outer, t);
    if (narrow) {
        print_block_end(p, mark);
        print_line(p, "}");
    }
    part_vars(p, e, joined);
    return true;
}
