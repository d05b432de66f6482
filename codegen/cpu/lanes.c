// A sum, maximum or minimum along neighbouring elements is taken in a fixed number of lanes, which
// are joined at the end: compilers make a vector of the lanes. The order is the same on every
// machine and in every run.

#include "codegen/print_parts.h"

#include <string.h>

enum { LANES = 16 };

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

static bool fits(Printer *p, const Expr *e)
{
    bool real = e->dtype == DT_F32 || e->dtype == DT_F64;
    bool joins = e->op == R_ADD || e->op == R_MAX || e->op == R_MIN;
    if (!p->dialect->rows || !real || !joins || e->a || e->rank == 0 || e->rank > MAX_LOOPS ||
        expr_facts(p, e->b)->reduces)
        return false;
    Neighbours n = {p, e->vars[e->rank - 1], true};
    int64_t extent;
    if (poly_is_const(print_extent(p, n.v), &extent) && extent < 2 * LANES)
        return false;
    expr_walk(p->mod, e->b, test_load, &n);
    return n.near;
}

// A loop over v from `low` to below `high`; acc = op(acc, body).
static void print_part(Printer *p, const Expr *e, const char *low, const char *high,
                       const char *acc)
{
    LoopId v = e->vars[e->rank - 1];
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++) {", v, low, v, high, v);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p);
    print_accumulate(p, e, acc, without_parentheses(p, print_expr(p, e->b)));
    print_block_end(p, mark);
    print_bind_loop(p, v, -1);
    print_line(p, "}");
}

bool lanes_print(Printer *p, const Expr *e, uint32_t t)
{
    if (!fits(p, e))
        return false;
    Bounds outer = {.n = e->rank - 1};
    memcpy(outer.vars, e->vars, outer.n * sizeof *e->vars);
    print_line(p, "%s lane%u[%d];", type_of_value(p, e->dtype), t, LANES);
    print_line(p, "for (int l = 0; l < %d; l++)", LANES);
    print_line(p, "    lane%u[l] = t%u;", t, t);
    nest_begin(p, &outer, e->b);
    print_hoisted_expr(p, e->b);
    const char *n = print_index(p, print_extent(p, e->vars[e->rank - 1]));
    print_line(p, "for (int64_t from%u = 0; from%u + %d <= %s; from%u += %d)", t, t, LANES, n, t,
               LANES);
    p->indent++;
    print_part(p, e, str_printf(p->arena, "from%u", t).at,
               str_printf(p->arena, "from%u + %d", t, LANES).at,
               str_printf(p->arena, "lane%u[i%u - from%u]", t, e->vars[e->rank - 1], t).at);
    p->indent--;
    print_part(p, e, str_printf(p->arena, "%s - %s %% %d", n, n, LANES).at, n,
               str_printf(p->arena, "t%u", t).at);
    nest_end(p, &outer);
    print_line(p, "for (int l = 0; l < %d; l++)", LANES);
    p->indent++;
    print_accumulate(p, e, str_printf(p->arena, "t%u", t).at,
                     str_printf(p->arena, "lane%u[l]", t).at);
    p->indent--;
    return true;
}
