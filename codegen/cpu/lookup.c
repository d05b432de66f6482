// A dear function of one element of 8 bits (a quantised sigmoid) has 256 values: where there are
// many elements it is evaluated for each value once, and looked up.

#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"

enum { VALUES = 256, LEAST = 8 * VALUES };

typedef struct Byte {
    const Expr *load; // the one element
    bool fits, dear;
} Byte;

static void visit(void *context, const Expr *e)
{
    Byte *b = context;
    if (e->kind == EX_LOAD) {
        b->fits = b->fits && !b->load && (e->dtype == DT_U8 || e->dtype == DT_I8);
        b->load = e;
    }
    b->fits = b->fits && e->kind != EX_INDEX && e->kind != EX_LOCAL && e->kind != EX_REDUCE;
    b->dear |= (e->kind == EX_UNARY && e->op >= U_EXP && e->op <= U_LOG1P) ||
               (e->kind == EX_BINARY && e->op == B_POW);
}

static bool are_many(Module *mod, const Point *p)
{
    int64_t n = 1, k;
    for (uint32_t i = 0; i < p->nloops && n < LEAST; i++)
        if (poly_is_const(loop_extent(mod->polys, p->loops[i]->var), &k))
            n = k < LEAST ? n * k : LEAST;
    return n >= LEAST;
}

static Stmt *statement(Module *mod, Stmt s)
{
    Stmt *made = NEW(mod->arena, Stmt);
    *made = s;
    return made;
}

static void rewrite(Module *mod, Kernel *k)
{
    Point p = point_of(k->body);
    Byte b = {.fits = true};
    Polys *polys = mod->polys;
    if (!p.store || !are_many(mod, &p))
        return;
    DType t = p.store->value->dtype;
    expr_walk(mod, p.store->value, visit, &b);
    if (!b.fits || !b.dear || !b.load || (t != DT_U8 && t != DT_I8 && t != DT_F32))
        return;
    int64_t least = b.load->dtype == DT_I8 ? -VALUES / 2 : 0;
    LoopId v = loop_new(polys, poly_const(polys, VALUES));
    LocalId row = mod->nlocals++;
    Index *at = NEWS(mod->arena, Index, 2);
    at[0] = poly_loop(polys, v);
    at[1] = poly_const(polys, VALUES);
    const Expr *value = expr_index(mod, poly_add_const(polys, at[0], least));
    ExprSwap r = {b.load, expr_cast(mod, b.load->dtype, value, false)};
    ExprMap map = {&r, expr_swap, NULL};
    Stmt *set = statement(mod, (Stmt){.kind = S_SET, .local = row, .rank = 1, .at = at});
    set->value = expr_map(mod, p.store->value, &map);
    Stmt *fill = statement(mod, (Stmt){.kind = S_FOR, .par = true, .var = v, .body = set});
    Stmt *table = statement(
        mod,
        (Stmt){.kind = S_ROW, .local = row, .dtype = t, .rank = 1, .at = at + 1, .next = fill});
    Index place = poly_expr(polys, expr_cast(mod, DT_I64, b.load, false));
    place = poly_add_const(polys, place, -least);
    Stmt *body = statement(mod, *p.store);
    body->value = expr_local(mod, row, t, 1, &place);
    for (uint32_t i = p.nloops; i > 0; i--) {
        Stmt *loop = statement(mod, *p.loops[i - 1]);
        loop->body = body;
        body = loop;
    }
    fill->next = body;
    k->body = table;
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
