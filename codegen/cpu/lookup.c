// A dear function of one element of 8 bits (a quantised sigmoid) has 256 values: where there are
// many elements they are a constant table, computed when compiling, in which bytes are looked up,
// a row of neighbours at a time (runtime/cameo_look_up.h).

#include "codegen/byte_function.h"
#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"
#include "codegen/print_parts.h"

#include <string.h>

static bool are_many(Module *mod, const Point *p)
{
    int64_t n = 1, k;
    for (uint32_t i = 0; i < p->nloops && n < BYTE_LEAST; i++)
        if (!poly_is_const(loop_extent(mod->polys, p->loops[i]->var), &k))
            n *= FUSE_UNKNOWN;
        else
            n = k < BYTE_LEAST ? n * k : BYTE_LEAST;
    return n >= BYTE_LEAST;
}

static Stmt *statement(Module *mod, const Stmt *s)
{
    Stmt *made = NEW(mod->arena, Stmt);
    *made = *s;
    return made;
}

static void rewrite(Module *mod, Kernel *k)
{
    const Point p = point_of(k->body);
    if (!p.store || !are_many(mod, &p))
        return;
    const Expr *byte = byte_dear(p.store->value);
    const BufferId table = byte ? byte_table(mod, p.store->value, k->name) : 0;
    if (!table)
        return;
    if (byte->dtype == DT_I8)
        byte = expr_bitcast(mod, DT_U8, byte);
    const Index place = poly_expr(mod->polys, expr_cast(mod, DT_I64, byte, false));
    Stmt *body = statement(mod, p.store);
    body->value = expr_load(mod, table, &place);
    for (uint32_t i = p.nloops; i > 0; i--) {
        Stmt *loop = statement(mod, p.loops[i - 1]);
        loop->body = body;
        body = loop;
    }
    k->body = body;
}

static void rewrite_steps(Module *mod, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            rewrite(mod, s->kernel);
        rewrite_steps(mod, s->body);
        rewrite_steps(mod, s->other);
    }
}

void lookup_module(Module *mod)
{
    rewrite_steps(mod, mod->steps);
}

enum { SHORTEST = 16 }; // elements of a row

bool look_up_print(Printer *p, const Stmt *loop)
{
    const Stmt *s = loop->body;
    const LoopId v = loop->var;
    int64_t n;
    if (!loop->par || !s || s->kind != S_STORE || s->next || p->temp_of[s->value->id] ||
        (poly_is_const(print_extent(p, v), &n) && n < SHORTEST))
        return false;
    const Expr *of = byte_looked_up(p->mod, s->value);
    if (!of || s->value->dtype == DT_F32 || !print_runs_along(p, v, of->buffer, of->at) ||
        !print_runs_along(p, v, s->buffer, s->at))
        return false;
    p->look_ups = true;
    access_note(p->arena, &p->printed.buffers, s->value->buffer, ACCESS_READ);
    const char *low = loop_low(p, v), *from = print_row_first(p, v, of->buffer, of->at);
    const char *to = print_row_first(p, v, s->buffer, s->at);
    if (strcmp(low, "0") == 0)
        print_line(p, "cameo_look_up(%s, &%s, &%s, b%u);", loop_high(p, v), from, to,
                   s->value->buffer);
    else
        print_line(p, "cameo_look_up(%s - %s, &%s + %s, &%s + %s, b%u);", loop_high(p, v), low,
                   from, low, to, low, s->value->buffer);
    return true;
}
