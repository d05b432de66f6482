// Functions of the sums of convolutions, as functions of C.

#include "codegen/cpu/curve.h"
#include "codegen/emit_c.h"
#include "codegen/print_parts.h"

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

// ---- functions of rows -------------------------------------------------------------------------

typedef struct Known {
    BufferId y;
    const Expr *load; // of y
    CurveRows rows;
    bool alone; // y is read by nothing else
} Known;

static bool is_silu(const Known *s, const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != B_MUL)
        return false;
    for (int i = 0; i < 2; i++) {
        const Expr *x = i ? e->b : e->a;
        if (x == s->load && forms_sigmoid(i ? e->a : e->b) == x)
            return true;
    }
    return false;
}

static CurveRows rows_of(const Known *s, const Expr *e)
{
    if (e->dtype != DT_F32)
        return ROWS_NONE;
    if (is_silu(s, e))
        return ROWS_SILU;
    return forms_sigmoid(e) == s->load    ? ROWS_SIGMOID
           : forms_logistic(e) == s->load ? ROWS_NEGATED
                                          : ROWS_NONE;
}

static void find_load(void *context, const Expr *e)
{
    Known *s = context;
    if (e->kind == EX_LOAD && e->buffer == s->y)
        s->load = e;
}

static const Expr *without_rows(void *context, const Expr *e)
{
    Known *s = context;
    if (e == s->load || e->kind == EX_CAST) { // what is rounded next has a form of its own
        s->alone = false;
        return e;
    }
    const CurveRows rows = rows_of(s, e);
    if (!rows)
        return NULL;
    s->alone &= !s->rows || s->rows == rows;
    s->rows = rows;
    return s->load;
}

// Finds c->rows and c->rest: expressions are made, which is not done any more while text is
// printed.
static void find_rows(Module *mod, Curve *c)
{
    Known s = {.y = c->y, .alone = true};
    expr_walk(mod, c->value, find_load, &s);
    const ExprMap map = {&s, without_rows, NULL};
    const Expr *rest = s.load ? expr_map(mod, c->value, &map) : NULL;
    if (!s.rows || !s.alone)
        return;
    c->rows = s.rows;
    c->rest = rest == s.load ? NULL : rest;
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
    if (!s.plain)
        return NULL;
    find_rows(mod, c);
    return c;
}

// Is what is done to the results of SiLU a sum with what lies as they do?
static bool is_sum(const Curve *c)
{
    const Expr *rest = c->rest;
    if (c->rows != ROWS_SILU || !rest || rest->kind != EX_BINARY || rest->op != B_ADD ||
        rest->dtype != DT_F32 || rest->a->kind != EX_LOAD || rest->b->kind != EX_LOAD)
        return false;
    const BufferId a = rest->a->buffer, b = rest->b->buffer;
    return (a == c->y && b == c->added) || (a == c->added && b == c->y);
}

// ---- printing ----------------------------------------------------------------------------------

const char *curve_name(Printer *p, int link)
{
    return str_printf(p->arena, "%s_curve%d", kernel_name(p, p->kernel), link).at;
}

// The function of CAMEO_CURVE_LANES numbers.
static void print_lanes(Printer *p, const Curve *c, const Expr *value, const char *name)
{
    Index at = poly_loop(p->mod->polys, c->at);
    Stmt store = {.kind = S_STORE, .buffer = c->y, .rank = 1, .at = &at, .value = value};
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
}

void curve_print(Printer *p, const Curve *c, int link)
{
    static const char *const names[] = {
        [ROWS_SILU] = "silu", [ROWS_SIGMOID] = "sigmoid", [ROWS_NEGATED] = "logistic"};
    const KernelUses printed = p->printed;
    const uint32_t indent = p->indent;
    Buf *out = p->out;
    p->printed = (KernelUses){.arena = p->arena};
    p->out = &p->before;
    p->indent = 0;
    const char *name = curve_name(p, link);
    const bool sum = is_sum(c), lanes = !c->rows || (c->rest && !sum);
    if (lanes)
        print_lanes(p, c, c->rows ? c->rest : c->value, name);
    print_line(p,
               "static void %s(float *y, const float *added, int64_t rows, int64_t row, int64_t n)",
               name);
    print_line(p, "{");
    if (sum)
        print_line(p, "    cameo_silu_rows_with(y, added, rows, row, n);");
    else if (c->rows)
        print_line(p, "    cameo_%s_rows(y, rows, row, n);", names[c->rows]);
    if (lanes)
        print_line(p, "    cameo_curve_rows(%s_of, y, %s, rows, row, n);", name,
                   c->adds ? "added" : "NULL");
    print_line(p, "    (void)added;");
    print_line(p, "}");
    buf_char(p->out, '\n');
    p->silus |= c->rows != ROWS_NONE;
    p->out = out;
    p->indent = indent;
    p->printed = printed;
}
