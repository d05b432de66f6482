// Functions of the sums of convolutions, as functions of C.

#include "codegen/cpu/curve.h"
#include "codegen/emit_c.h"

enum { LANES = 16 }; // CAMEO_CURVE_LANES

// ---- finding -----------------------------------------------------------------------------------

typedef struct Search {
    Module *mod;
    const Expr *inner, *y, *added_load, *added; // what is replaced, and by what
    bool (*lies_as_y)(void *context, const Expr *load);
    void *context;
    bool plain;
} Search;

static const Expr *replace(void *context, const Expr *e)
{
    Search *s = context;
    if (e == s->inner)
        return s->y;
    if (e->kind != EX_LOAD || (s->added_load && s->added_load != e) || !s->lies_as_y(s->context, e))
        return NULL;
    s->added_load = e;
    return s->added;
}

static void test(void *context, const Expr *e)
{
    Search *s = context;
    const bool known = e->kind == EX_LOAD && (e == s->y || e == s->added);
    const bool scalar = e->kind == EX_CONST || e->kind == EX_UNARY || e->kind == EX_BINARY ||
                        e->kind == EX_COMPARE || e->kind == EX_SELECT || e->kind == EX_CAST;
    s->plain &= known || scalar;
}

Curve *curve_find(Module *mod, const Expr *value, const Expr *inner,
                  bool (*lies_as_y)(void *context, const Expr *load), void *context,
                  const Expr **added)
{
    Index size = poly_const(mod->polys, LANES);
    Curve *c = NEW(mod->arena, Curve);
    c->y = buffer_new(mod, BUF_TEMP, STR("y"), DT_F32, 1, &size);
    c->added = buffer_new(mod, BUF_TEMP, STR("added"), DT_F32, 1, &size);
    c->at = loop_new(mod->polys, size);
    Index at = poly_loop(mod->polys, c->at);
    Search s = {.mod = mod, .inner = inner, .lies_as_y = lies_as_y, .context = context};
    s.y = expr_load(mod, c->y, &at);
    s.added = expr_load(mod, c->added, &at);
    s.plain = true;
    const ExprMap map = {&s, replace, NULL};
    c->value = expr_map(mod, value, &map);
    expr_walk(mod, c->value, test, &s);
    *added = s.added_load;
    c->adds = s.added_load != NULL;
    return s.plain ? c : NULL;
}

// ---- printing ----------------------------------------------------------------------------------

const char *curve_name(Printer *p, int link)
{
    return str_printf(p->arena, "%s_curve%d", kernel_name(p, p->kernel), link).at;
}

void curve_print(Printer *p, const Curve *c, int link)
{
    Index at = poly_loop(p->mod->polys, c->at);
    Stmt store = {.kind = S_STORE, .buffer = c->y, .rank = 1, .at = &at, .value = c->value};
    const KernelUses printed = p->printed;
    const uint32_t indent = p->indent;
    Buf *out = p->out;
    p->printed = (KernelUses){.arena = p->arena};
    p->out = &p->before;
    p->indent = 0;
    const char *name = curve_name(p, link);
    print_line(p, "static inline void %s_of(float *restrict b%u, const float *restrict b%u)", name,
               c->y, c->added);
    print_line(p, "{");
    p->indent++;
    if (!c->adds)
        print_line(p, "(void)b%u;", c->added);
    Bounds all = {.n = 1, .vars = {c->at}};
    nest_begin(p, &all, NULL);
    print_stmts(p, &store);
    nest_end(p, &all);
    p->indent--;
    print_line(p, "}");
    print_line(p,
               "static void %s(float *y, const float *added, int64_t rows, int64_t row, int64_t n)",
               name);
    print_line(p, "{");
    print_line(p, "    cameo_curve_rows(%s_of, y, %s, rows, row, n);", name,
               c->adds ? "added" : "NULL");
    print_line(p, "    (void)added;");
    print_line(p, "}");
    buf_char(p->out, '\n');
    p->out = out;
    p->indent = indent;
    p->printed = printed;
}
