// Scores behind a mask: what no row of a band sees is neither computed nor read.
//
// A score is masked where it is least by far whatever the product gave: causal masks and windows
// that indices tell, and those that a buffer holds. What a row raises is looked at with 0 in place
// of the product, some columns at a time from the last one on. A row that sees nothing at all has
// equal parts of all columns, so that they count for its band.

#include "codegen/cpu/heads.h"
#include "codegen/print_parts.h"

// Columns that are looked at together, and how many are worth it.
enum { STEP = 64, LEAST = 128 };
// Scores of numbers that mean something are greater.
#define MASKED "-1e37f"

typedef struct Kinds {
    BufferId scores;
    bool has, loads, selects; // scores; other loads; a choice between values
    Module *mod;
} Kinds;

typedef struct RowUse {
    LoopId row;
    bool used;
} RowUse;

static void note_kind(void *context, const Expr *e)
{
    Kinds *k = context;
    if (e->kind == EX_LOAD && e->buffer == k->scores)
        k->has = true;
    else if (e->kind == EX_LOAD)
        k->loads = true;
    k->selects |= e->kind == EX_SELECT;
}

static Kinds kinds_of(Module *mod, const Expr *e, BufferId scores)
{
    Kinds k = {.scores = scores};
    expr_walk(mod, e, note_kind, &k);
    return k;
}

// Is e no further from what it is for scores of 0 than a number times the scores?
static bool follows(Module *mod, const Expr *e, BufferId scores)
{
    if (!kinds_of(mod, e, scores).has || e->kind == EX_LOAD)
        return true;
    if (e->dtype != DT_F32)
        return false;
    if (e->kind == EX_SELECT)
        return !kinds_of(mod, e->a, scores).has && follows(mod, e->b, scores) &&
               follows(mod, e->c, scores);
    if (e->kind == EX_UNARY)
        return (e->op == U_NEG || e->op == U_TANH) && follows(mod, e->a, scores);
    if (e->kind != EX_BINARY)
        return false;
    if (e->op == B_ADD || e->op == B_SUB || e->op == B_MIN || e->op == B_MAX)
        return follows(mod, e->a, scores) && follows(mod, e->b, scores);
    const Kinds a = kinds_of(mod, e->a, scores), b = kinds_of(mod, e->b, scores);
    if (e->op != B_MUL && e->op != B_DIV)
        return false;
    return a.has ? !b.has && !b.loads && !b.selects && follows(mod, e->a, scores)
                 : e->op == B_MUL && !a.loads && !a.selects && follows(mod, e->b, scores);
}

// A product that is only scaled is 0, whatever is added to it.
static const Expr *without_product(void *context, const Expr *e)
{
    const Kinds *k = context;
    for (int i = 0; i < 2 && e->kind == EX_BINARY && e->op == B_ADD; i++) {
        const Kinds own = kinds_of(k->mod, i ? e->b : e->a, k->scores);
        const Expr *other = i ? e->a : e->b;
        if (own.has && !own.loads && !own.selects && !kinds_of(k->mod, other, k->scores).has)
            return other;
    }
    return e->kind == EX_LOAD && e->buffer == k->scores
               ? expr_const(k->mod, DT_F32, (Scalar){.f = 0})
               : NULL;
}

static bool is_row(void *context, const Atom *a)
{
    return a->kind == ATOM_LOOP && a->var == *(const LoopId *)context;
}

static void note_row(void *context, const Expr *e)
{
    RowUse *r = context;
    r->used |= e->index && poly_any(e->index, is_row, &r->row);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        r->used |= poly_any(e->at[i], is_row, &r->row);
}

void heads_find_mask(Module *mod, Heads *h, Index columns)
{
    const Stmt *fill = h->rows, *store = fill->body;
    const Expr *x = store->value->a->a; // what is raised, less the most of them
    Kinds k = kinds_of(mod, x, h->band);
    RowUse r = {h->row, false};
    int64_t n;
    k.mod = mod;
    if (store->value->a->op != B_SUB || !k.has || !(k.loads || k.selects) ||
        (poly_is_const(columns, &n) && n < LEAST) || !follows(mod, x, h->band) ||
        (h->ends && !follows(mod, h->ends->body->value, h->band)))
        return;
    const ExprMap map = {&k, without_product, NULL};
    const Expr *shown = expr_map(mod, x, &map);
    expr_walk(mod, shown, note_row, &r);
    if (!r.used)
        return;
    h->shown = shown;
    h->seen = loop_new(mod->polys, poly_add_const(mod->polys, columns, 1));
}

// ---- printing ----------------------------------------------------------------------------------

typedef struct Limits {
    Printer *p;
    Index columns, to;
} Limits;

static void limit(const Limits *l, LoopId v)
{
    if (loop_extent(l->p->mod->polys, v) == l->columns)
        l->p->extent[v] = l->to;
}

static void limit_sums(void *context, const Expr *e)
{
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        limit(context, e->vars[i]);
}

static void limit_loops(const Limits *l, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_FOR)
            limit(l, s->var);
        if (s->value)
            expr_walk(l->p->mod, s->value, limit_sums, (void *)(uintptr_t)l);
        limit_loops(l, s->body);
    }
}

void heads_limit(Printer *p, const Heads *h, bool on)
{
    const Limits l = {p, h->scores->override->columns,
                      on ? poly_loop(p->mod->polys, h->seen) : NULL};
    if (!h->seen)
        return;
    limit_loops(&l, h->ends);
    limit_loops(&l, h->rows);
}

// any = does the row see some of the columns from .. to?
static void print_look(Printer *p, const Heads *h, const char *from, const char *to)
{
    const LoopId v = h->rows->var;
    print_line(p, "int32_t any = 0;");
    print_line(p, "for (int64_t i%u = %s; i%u < %s; i%u++) {", v, from, v, to, v);
    print_bind_loop(p, v, 1);
    const uint32_t mark = print_block_begin(p); // what is shared is computed here, in each loop
    print_line(p, "any |= %s <= " MASKED " ? 0 : 1;", print_expr(p, h->shown));
    print_block_end(p, mark);
    print_bind_loop(p, v, -1);
    print_line(p, "}");
}

void heads_print_seen(Printer *p, const Heads *h)
{
    const char *columns = print_index(p, h->scores->override->columns);
    const uint32_t row = h->row, first = h->first, seen = h->seen;
    print_line(p, "int64_t i%u = 0;", seen);
    print_line(p, "for (int64_t i%u = i%u; i%u < high; i%u++) {", row, first, row, row);
    print_bind_loop(p, h->row, 1);
    p->indent++;
    print_line(p, "int64_t some = 0, end = %s;", columns);
    print_line(p, "for (int64_t low = 0, to; !some && low < %s; low = to) {", columns);
    p->indent++;
    print_line(p, "to = low + %d < %s ? low + %d : %s;", STEP, columns, STEP, columns);
    print_look(p, h, "low", "to");
    print_line(p, "some = any;");
    p->indent--;
    print_line(p, "}");
    print_line(p, "for (int64_t low; some && end > i%u; end = low) {", seen);
    p->indent++;
    print_line(p, "low = (end - 1) / %d * %d;", STEP, STEP);
    print_look(p, h, "low", "end");
    print_line(p, "if (any)");
    print_line(p, "    break;");
    p->indent--;
    print_line(p, "}");
    print_line(p, "i%u = end > i%u ? end : i%u;", seen, seen, seen);
    p->indent--;
    print_bind_loop(p, h->row, -1);
    print_line(p, "}");
}
