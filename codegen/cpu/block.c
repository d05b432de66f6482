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
    if (done == 0) {
        around.low[around.n] = "n0";
        around.high[around.n] = "n1";
        around.vars[around.n++] = n[rank - 1];
        nest_begin(p, &around, NULL);
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
