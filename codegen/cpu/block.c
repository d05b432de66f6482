// The loops of an epilogue over one block of a product.

#include "codegen/cpu/block.h"

// Each column by itself, its variables told apart by division.
static void print_by_column(Printer *p, const Stmt *store, const LoopId *n, uint32_t rank,
                            Bounds *rows)
{
    nest_begin(p, rows, NULL);
    print_line(p, "for (int64_t n = n0; n < n1; n++) {");
    p->indent++;
    const char *rest = "n";
    for (uint32_t i = rank; i > 0; i--) {
        const char *extent = print_index(p, print_extent(p, n[i - 1]));
        if (i > 1)
            print_line(p, "const int64_t i%u = %s %% %s;", n[i - 1], rest, extent);
        else
            print_line(p, "const int64_t i%u = %s;", n[i - 1], rest);
        rest = str_printf(p->arena, "%s / %s", rest, extent).at;
        print_bind_loop(p, n[i - 1], 1);
    }
    print_stmts(p, store);
    for (uint32_t i = 0; i < rank; i++)
        print_bind_loop(p, n[i], -1);
    p->indent--;
    print_line(p, "}");
    nest_end(p, rows);
}

// x of an element that is stored in its place of a row of y as its GELU, or NULL.
static const Expr *gelu_of(Printer *p, const Stmt *store, LoopId n)
{
    const Buffer *y = buffer_at(p->mod, store->buffer);
    Index by;
    if (store->kind != S_STORE || store->next || y->dtype != DT_F32 ||
        !factor_of(p, linear_index(p, y->rank, y->dims, store->at), n, &by) || !poly_equals(by, 1))
        return NULL;
    print_statement_begin(p, store->value, NULL, 0);
    const Expr *x = forms_gelu(p, store->value);
    print_statement_end(p);
    return x;
}

// What GELU is taken of goes to a few rows that stay in the first cache, and these through a
// function that keeps its many constants in registers.
static void print_gelu(Printer *p, const Stmt *store, const Expr *x, LoopId m, LoopId n)
{
    const Buffer *y = buffer_at(p->mod, store->buffer);
    const uint32_t t = ++p->ntemps;
    Index row = NULL;
    factor_of(p, linear_index(p, y->rank, y->dims, store->at), m, &row);
    print_line(p, "const int64_t few%u = CAMEO_GELU_ROOM / (n1 - n0);", t);
    print_line(p, "for (int64_t low%u = m0, high%u; low%u < m1; low%u = high%u) {", t, t, t, t, t);
    p->indent++;
    print_line(p, "float x%u[CAMEO_GELU_ROOM];", t);
    print_line(p, "high%u = m1 - low%u < few%u ? m1 : low%u + few%u;", t, t, t, t, t);
    Bounds around = {.n = 2, .vars = {m, n}};
    around.low[0] = str_printf(p->arena, "low%u", t).at;
    around.high[0] = str_printf(p->arena, "high%u", t).at;
    around.low[1] = "n0";
    around.high[1] = "n1";
    nest_begin(p, &around, NULL);
    print_statement_begin(p, x, NULL, 0);
    const char *value = without_parentheses(p, print_expr(p, x));
    print_line(p, "x%u[(i%u - low%u) * (n1 - n0) + i%u - n0] = %s;", t, m, t, n, value);
    print_statement_end(p);
    nest_end(p, &around);
    const LoopId own[] = {m, n};
    for (int i = 0; i < 2; i++)
        p->zeroed[own[i]]++, p->nzeroed++;
    const char *first = print_element(p, store->buffer, store->at);
    for (int i = 0; i < 2; i++)
        p->zeroed[own[i]]--, p->nzeroed--;
    const char *step = print_index(p, row);
    print_line(p, "cameo_gelu_rows(x%u, &%s + low%u * %s + n0, high%u - low%u, %s, n1 - n0);", t,
               first, t, step, t, t, step);
    p->indent--;
    print_line(p, "}");
    p->gelus = true;
}

void block_print_epilogue(Printer *p, Block b, const Stmt *epilogue, LoopId m, const LoopId *n,
                          uint32_t rank)
{
    const Stmt *loops[MAX_LOOPS] = {NULL}, *store = epilogue;
    for (; store->kind == S_FOR; store = store->body)
        for (uint32_t i = 0; i < rank; i++)
            if (store->var == n[i])
                loops[i] = store;
    print_line(p, "const int64_t i%u = m0, i%u = n0;", b.m0, b.n0);
    print_line(p, "(void)i%u, (void)i%u;", b.m0, b.n0);
    print_bind_loop(p, b.m0, 1);
    print_bind_loop(p, b.n0, 1);
    Bounds around = {.n = 0};
    if (m) {
        around.low[0] = "m0";
        around.high[0] = "m1";
        around.vars[around.n++] = m;
    }
    uint32_t done = rank - 1;
    while (done > 0 && loops[done - 1]->body == loops[done] && rows_collapse(p, loops[done - 1]))
        done--;
    const Expr *gelu = done == 0 && m && b.narrow ? gelu_of(p, store, n[rank - 1]) : NULL;
    if (gelu) {
        print_gelu(p, store, gelu, m, n[rank - 1]);
    } else if (done == 0) {
        around.low[around.n] = "n0";
        around.high[around.n] = "n1";
        around.vars[around.n++] = n[rank - 1];
        p->hoists_rounded = true; // the branches of a cast keep compilers from vectors
        nest_begin(p, &around, store->kind == S_STORE ? store->value : NULL);
        p->hoists_rounded = false;
        print_stmts(p, store);
        nest_end(p, &around);
    }
    uint32_t collapsed = done;
    for (; collapsed < rank - 1; collapsed++)
        rows_restore(p, loops[collapsed]);
    if (done > 0)
        print_by_column(p, store, n, rank, &around);
    print_bind_loop(p, b.n0, -1);
    print_bind_loop(p, b.m0, -1);
}
