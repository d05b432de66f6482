// Rows that walk until a condition of their own fails, as each of a forest's rows does down each
// tree, wait for one load after the other. Eight walk side by side:
//
//     par i < n { row v; before; while (c) { body }; after }
//  -> par b < n div 8 {
//       row v[8]; for r < 8 { before }
//       row any; any = true
//       while (any) { any = false; for r < 8 { if (c) { body }; any = any or c } }
//       for r < 8 { after }
//     }
//
// with i = 8b + r, and the rows behind the last eight by a kernel that is as it was. Loops around
// the walk that all rows have in common stay around all eight.

#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"
#include "codegen/printer.h"

enum { ABREAST = 8, LEAST = 2 * ABREAST, ROOM = 64 };

typedef struct Abreast {
    Fuse fuse;
    LoopId rows; // the loop
    Index first; // of the eight
    Index row;   // the one that is mapped
    Index lane;  // its number among them
    bool *wide;  // by local: each of the eight has its own, an element of one row
    ExprMap map;
} Abreast;

// ---- what can go so ----------------------------------------------------------------------------

static const Stmt *walk_of(const Stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == S_WHILE || (s->kind == S_FOR && !s->par && walk_of(s->body)))
            return s;
    return NULL;
}

static bool is_rows(void *context, const Atom *a)
{
    return (a->kind == ATOM_LOOP && a->var == *(const LoopId *)context) || a->kind == ATOM_EXPR;
}

static bool fixed_loops(const Module *mod, const Stmt *s, LoopId rows)
{
    for (; s; s = s->next)
        if ((s->kind == S_FOR && poly_any(loop_extent(mod->polys, s->var), is_rows, &rows)) ||
            !fixed_loops(mod, s->body, rows) || !fixed_loops(mod, s->other, rows))
            return false;
    return true;
}

// A row of few elements, as many whatever the loops are.
static bool is_small(const Stmt *row)
{
    int64_t size = 1, n;
    for (uint32_t i = 0; i < row->rank; i++) {
        if (!poly_is_const(row->at[i], &n) || n > ROOM)
            return false;
        size *= n;
    }
    return size <= ROOM;
}

// What is named before the walk is seen behind it: rows, which each of the eight can have.
static bool goes_abreast(const Stmt *list)
{
    const Stmt *walk = walk_of(list);
    for (const Stmt *s = list; s != walk; s = s->next)
        if (s->kind == S_LET || (s->kind == S_ROW && !is_small(s)))
            return false;
    return walk->kind == S_WHILE || goes_abreast(walk->body);
}

static bool is_worth(const Module *mod, const Kernel *k)
{
    const Stmt *s = k->body;
    int64_t n;
    return !k->on_host && !k->override && s && s->kind == S_FOR && s->par && !s->next &&
           walk_of(s->body) && goes_abreast(s->body) && !stmts_hold(s, S_UPDATE) &&
           fixed_loops(mod, s, s->var) &&
           !(poly_is_const(loop_extent(mod->polys, s->var), &n) && n < LEAST);
}

// ---- rewriting ---------------------------------------------------------------------------------

static Index *with_first(Module *mod, Index first, uint32_t rank, const Index *at)
{
    Index *all = NEWS(mod->arena, Index, rank + 1);
    all[0] = first;
    for (uint32_t i = 0; i < rank; i++)
        all[i + 1] = at[i];
    return all;
}

static const Expr *map_local(void *context, const Expr *e)
{
    Abreast *x = context;
    Module *mod = x->fuse.mod;
    if (e->kind != EX_LOCAL || !x->wide[e->local])
        return NULL;
    Index *at = with_first(mod, x->lane, e->rank, e->at);
    for (uint32_t i = 1; i <= e->rank; i++)
        at[i] = index_map(mod, at[i], &x->map);
    return expr_local(mod, e->local, e->dtype, e->rank + 1, at);
}

static Index map_row(void *context, const Atom *a)
{
    const Abreast *x = context;
    return a->kind == ATOM_LOOP && a->var == x->rows ? x->row : NULL;
}

static void widen_sets(Abreast *x, Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_SET && x->wide[s->local])
            s->at = with_first(x->fuse.mod, x->lane, s->rank++, s->at);
        widen_sets(x, s->body);
        widen_sets(x, s->other);
    }
}

// The statements of one of the eight.
static Stmt *of_lane(Abreast *x, const Stmt *s)
{
    Stmt *copy = stmts_map(&x->fuse, s, &x->map);
    widen_sets(x, copy);
    return copy;
}

static Stmt *made(Abreast *x, Stmt ***tail, Stmt s)
{
    Stmt *to = NEW(x->fuse.mod->arena, Stmt);
    *to = s;
    to->next = NULL;
    **tail = to;
    *tail = &to->next;
    return to;
}

// A loop over the eight, one of which is mapped from here on.
static Stmt *over_lanes(Abreast *x, Stmt ***tail)
{
    Polys *polys = x->fuse.mod->polys;
    const LoopId r = loop_new(polys, poly_const(polys, ABREAST));
    x->lane = poly_loop(polys, r);
    x->row = poly_add(polys, x->first, x->lane);
    return made(x, tail, (Stmt){.kind = S_FOR, .var = r});
}

// Statements from .. end, but for rows that all eight have.
static void some(Abreast *x, const Stmt *from, const Stmt *end, Stmt ***tail)
{
    Stmt *copies = NULL, **last = &copies;
    for (const Stmt *s = from; s != end; s = s->next)
        if (!end || s->kind != S_ROW)
            made(x, &last, *s);
    if (copies) {
        Stmt *loop = over_lanes(x, tail);
        loop->body = of_lane(x, copies);
    }
}

static void walk(Abreast *x, const Stmt *s, Stmt ***tail)
{
    Module *mod = x->fuse.mod;
    const LocalId any = mod->nlocals++;
    const Expr *no = expr_const(mod, DT_BOOL, (Scalar){.i = 0});
    const Expr *yes = expr_const(mod, DT_BOOL, (Scalar){.i = 1});
    const Expr *going = expr_local(mod, any, DT_BOOL, 0, NULL);
    made(x, tail, (Stmt){.kind = S_ROW, .local = any, .dtype = DT_BOOL});
    made(x, tail, (Stmt){.kind = S_SET, .local = any, .value = yes});
    Stmt *loop = made(x, tail, (Stmt){.kind = S_WHILE, .value = going}), **at = &loop->body;
    made(x, &at, (Stmt){.kind = S_SET, .local = any, .value = no});
    loop = over_lanes(x, &at);
    at = &loop->body;
    const Expr *on = expr_map(mod, s->value, &x->map);
    loop = made(x, &at, (Stmt){.kind = S_IF, .value = on});
    loop->body = of_lane(x, s->body);
    const Expr *either = expr_binary(mod, B_OR, going, on);
    made(x, &at, (Stmt){.kind = S_SET, .local = any, .value = either});
}

static void abreast(Abreast *x, const Stmt *list, Stmt ***tail)
{
    Module *mod = x->fuse.mod;
    const Index eight = poly_const(mod->polys, ABREAST);
    const Stmt *through = walk_of(list);
    for (const Stmt *s = list; s != through; s = s->next)
        if (s->kind == S_ROW) {
            Stmt *row = made(x, tail, *s);
            x->wide[s->local] = true;
            row->at = with_first(mod, eight, row->rank++, s->at);
        }
    some(x, list, through, tail);
    if (through->kind == S_WHILE) {
        walk(x, through, tail);
    } else {
        Stmt *loop = made(x, tail, (Stmt){.kind = S_FOR, .var = through->var}), **at = &loop->body;
        abreast(x, through->body, &at);
    }
    some(x, through->next, NULL, tail);
}

// The first rows, eight at a time; what is left to k.
static Kernel *split_rows(Module *mod, Kernel *k)
{
    Polys *polys = mod->polys;
    const Stmt *rows = k->body;
    const Index n = loop_extent(polys, rows->var);
    const Index eights = poly_floordiv(polys, n, poly_const(polys, ABREAST));
    const LoopId block = loop_new(polys, eights);
    Abreast x = {.fuse = {.mod = mod, .arena = mod->arena}, .rows = rows->var};
    x.map = (ExprMap){&x, map_local, map_row};
    x.wide = NEWS(mod->arena, bool, mod->nlocals);
    x.first = poly_scale(polys, poly_loop(polys, block), ABREAST);
    Kernel *first = NEW(mod->arena, Kernel);
    *first = *k;
    first->id = mod->nkernels++;
    Stmt **tail = &first->body;
    Stmt *loop = made(&x, &tail, (Stmt){.kind = S_FOR, .par = true, .var = block});
    tail = &loop->body;
    abreast(&x, rows->body, &tail);
    // the others, each by itself
    const Index done = poly_scale(polys, eights, ABREAST);
    const LoopId rest = loop_new(polys, poly_sub(polys, n, done));
    LoopSwap swap = {rows->var, poly_add(polys, done, poly_loop(polys, rest))};
    const ExprMap map = {&swap, NULL, loop_swap};
    Stmt *others = NEW(mod->arena, Stmt);
    *others = *rows;
    others->var = rest;
    others->body = stmts_map(&x.fuse, rows->body, &map);
    k->body = others;
    return first;
}

void abreast_module(Module *mod)
{
    for (Step **at = &mod->steps; *at; at = &(*at)->next) {
        Step *s = *at;
        if (s->kind != STEP_KERNEL || !is_worth(mod, s->kernel))
            continue;
        int64_t left;
        Step *before = NEW(mod->arena, Step);
        *before = *s;
        before->kernel = split_rows(mod, s->kernel);
        before->next = s;
        const Index rest = loop_extent(mod->polys, s->kernel->body->var);
        if (poly_is_const(rest, &left) && left == 0)
            before->next = s->next;
        *at = before;
        if (before->next == s)
            at = &before->next;
    }
}
