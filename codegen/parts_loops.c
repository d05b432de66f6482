// Loops as parts: how much work they are, and which of them threads divide.

#include "codegen/parts.h"

#include <string.h>

enum {
    UNIT = 64,   // neighbours that one thread computes together: whole vectors of any dtype, and
    SUMS = 16,   // of what reductions add up
    MANY = 32,   // units are enough for any division
    DEEPEST = 8, // loops of a part
    OPEN = 512,
    UNKNOWN = 64, // the extent of a loop that changes on the way
    LITTLE = 64   // less work than it is to find the place of a unit
};

// ---- work --------------------------------------------------------------------------------------

typedef struct Work {
    Printer *p;
    const LoopId *bound;
    uint32_t nbound;
    Index sum;
} Work;

static Index extent_of(Printer *p, LoopId v)
{
    Index n = print_extent(p, v);
    return poly_varies(n) ? poly_const(p->mod->polys, UNKNOWN) : n;
}

static bool is_bound(const Work *w, LoopId v)
{
    for (uint32_t i = 0; i < w->nbound; i++)
        if (w->bound[i] == v)
            return true;
    return w->p->zeroed[v];
}

static int64_t price_of(const Expr *e)
{
    switch (e->kind) {
    case EX_CONST:
    case EX_INDEX:
    case EX_LOCAL:
        return 0;
    case EX_LOAD:
        return 2;
    case EX_UNARY:
        return e->op == U_NEG || e->op == U_ABS || e->op == U_NOT || e->op == U_BITNOT ? 1 : 8;
    case EX_BINARY:
        return e->op == B_DIV || e->op == B_MOD || e->op == B_FMOD ? 4 : e->op == B_POW ? 30 : 1;
    default:
        return 1;
    }
}

static void add_expr(void *context, const Expr *e)
{
    Work *w = context;
    Polys *polys = w->p->mod->polys;
    const ExprFacts *f = expr_facts(w->p, e);
    Index times = poly_const(polys, price_of(e));
    for (uint32_t i = 0; i < f->nloops; i++)
        if (!is_bound(w, f->loops[i]))
            times = poly_mul(polys, times, extent_of(w->p, f->loops[i]));
    w->sum = poly_add(polys, w->sum, times);
}

// `around`: the product of the loops within the part.
static void add_stmts(Work *w, const Stmt *s, Index around)
{
    Polys *polys = w->p->mod->polys;
    for (; s; s = s->next) {
        Index inner = around;
        if (s->kind == S_FOR && !is_bound(w, s->var))
            inner = poly_mul(polys, inner, extent_of(w->p, s->var));
        if (s->kind == S_WHILE)
            inner = poly_scale(polys, inner, UNKNOWN);
        if (s->value)
            expr_walk(w->p->mod, s->value, add_expr, w);
        if (s->kind == S_STORE || s->kind == S_SET)
            w->sum = poly_add(polys, w->sum, poly_scale(polys, inner, 2));
        add_stmts(w, s->body, inner);
        add_stmts(w, s->other, inner);
    }
}

Index parts_work(Printer *p, const Stmt *body, uint32_t n, const LoopId *bound)
{
    Work w = {p, bound, n, poly_const(p->mod->polys, 0)};
    add_stmts(&w, body, poly_const(p->mod->polys, 1));
    return w.sum;
}

static double size_of(Index a);

// Sizes that are open count as one that is neither small nor large.
static double size_of_atom(const Atom *a)
{
    double x = a->a ? size_of(a->a) : OPEN, y = a->b ? size_of(a->b) : OPEN;
    switch (a->kind) {
    case ATOM_FLOORDIV:
        return y > 1 ? x / y : x;
    case ATOM_MOD:
    case ATOM_MIN:
        return x < y ? x : y;
    case ATOM_MAX:
        return x > y ? x : y;
    default:
        return OPEN;
    }
}

static double size_of(Index a)
{
    double sum = 0;
    for (uint32_t i = 0; i < a->nterms; i++) {
        double product = (double)a->terms[i].coeff;
        for (uint32_t k = 0; k < a->terms[i].natoms; k++)
            product *= size_of_atom(a->terms[i].atoms[k]);
        sum += product;
    }
    return sum;
}

bool parts_worth(Printer *p, Index units, Index work)
{
    Index all = poly_mul(p->mod->polys, units, work);
    int64_t n;
    if (poly_is_overflow(units) || poly_is_overflow(work) || poly_is_overflow(all))
        return false;
    if (poly_is_const(units, &n) && n < 2)
        return false;
    return size_of(all) >= 2.0 * (double)p->parts->much;
}

// ---- loops over units --------------------------------------------------------------------------

Index parts_units(Printer *p, uint32_t n, const LoopId *vars)
{
    Index units = poly_const(p->mod->polys, 1);
    for (uint32_t i = 0; i < n; i++)
        units = poly_mul(p->mod->polys, units, print_extent(p, vars[i]));
    return units;
}

void parts_print_places(Printer *p, uint32_t n, const LoopId *vars)
{
    Index below = poly_const(p->mod->polys, 1);
    for (uint32_t i = n; i-- > 0;) {
        const char *div = poly_equals(below, 1)
                              ? "unit"
                              : str_printf(p->arena, "unit / %s", print_index(p, below)).at;
        const char *mod =
            i ? str_printf(p->arena, " %% %s", print_index(p, print_extent(p, vars[i]))).at : "";
        print_line(p, "const int64_t i%u = %s%s;", vars[i], div, mod);
        below = poly_mul(p->mod->polys, below, print_extent(p, vars[i]));
    }
    for (uint32_t i = 0; i < n; i++)
        print_bind_loop(p, vars[i], 1);
}

void parts_nest_begin(Printer *p, uint32_t n, const LoopId *vars)
{
    if (n == 1) {
        print_line(p, "for (int64_t i%u = from; i%u < to; i%u++) {", vars[0], vars[0], vars[0]);
        print_bind_loop(p, vars[0], 1);
        return;
    }
    print_line(p, "for (int64_t unit = from; unit < to; unit++) {");
    p->indent++;
    parts_print_places(p, n, vars);
    p->indent--;
}

// Places of units of open sizes are counted: a division a loop takes longer than a short row.
static bool walks(Printer *p, uint32_t n, const LoopId *vars)
{
    bool open = false;
    for (uint32_t i = 1; i < n; i++)
        open |= !poly_is_const(print_extent(p, vars[i]), NULL);
    return open;
}

// Counters of the place of unit `from`.
static void walk_from(Printer *p, uint32_t n, const LoopId *vars)
{
    Index below = poly_const(p->mod->polys, 1);
    for (uint32_t i = n; i-- > 0;) {
        Index size = print_extent(p, vars[i]);
        const char *div = i == n - 1 ? "" : str_printf(p->arena, " / %s", print_index(p, below)).at;
        const char *mod = i ? str_printf(p->arena, " %% %s", print_index(p, size)).at : "";
        print_line(p, "int64_t i%u = from < to ? from%s%s : 0;", vars[i], div, mod);
        below = poly_mul(p->mod->polys, below, print_extent(p, vars[i]));
    }
    for (uint32_t i = 0; i < n; i++)
        print_bind_loop(p, vars[i], 1);
}

// To the next place.
static void walk_on(Printer *p, uint32_t n, const LoopId *vars)
{
    for (uint32_t i = n - 1; i > 0; i--, p->indent++) {
        print_line(p, "    if (++i%u == %s) {", vars[i], print_index(p, print_extent(p, vars[i])));
        print_line(p, "        i%u = 0;", vars[i]);
    }
    print_line(p, "    i%u++;", vars[0]);
    for (uint32_t i = 1; i < n; i++) {
        p->indent--;
        print_line(p, "    }");
    }
}

static void walk_begin(Printer *p, uint32_t n, const LoopId *vars)
{
    walk_from(p, n, vars);
    print_line(p, "for (int64_t unit = from; unit < to; unit++) {");
}

static void walk_end(Printer *p, uint32_t n, const LoopId *vars)
{
    walk_on(p, n, vars);
    parts_nest_end(p, n, vars);
}

void parts_nest_end(Printer *p, uint32_t n, const LoopId *vars)
{
    for (uint32_t i = 0; i < n; i++)
        print_bind_loop(p, vars[i], -1);
    print_line(p, "}");
}

// ---- parallel loops ----------------------------------------------------------------------------

// What stands before the loops may be needed in them.
static bool any_local(const Stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == S_LET || s->kind == S_ROW || s->kind == S_WHILE || s->kind == S_IF)
            return true;
    return false;
}

static bool hoists(Printer *p, const Stmt *s)
{
    bool found = false;
    p->found_hoist = &found;
    print_hoisted(p, s);
    p->found_hoist = NULL;
    return found;
}

static const Stmt *next_loop(const Stmt *s)
{
    const Stmt *inner = s->body;
    return inner && inner->kind == S_FOR && inner->par && !inner->next ? inner : NULL;
}

static bool any_parallel(const Stmt *s)
{
    for (; s; s = s->next)
        if ((s->kind == S_FOR && s->par) || any_parallel(s->body) || any_parallel(s->other))
            return true;
    return false;
}

static bool any_reduction(Printer *p, const Stmt *s)
{
    for (; s; s = s->next)
        if ((s->value && expr_facts(p, s->value)->reduces) || any_reduction(p, s->body) ||
            any_reduction(p, s->other))
            return true;
    return false;
}

typedef struct Lanes {
    Printer *p;
    LoopId around;
    bool found, shared;
} Lanes;

static void test_lanes(void *context, const Expr *e)
{
    Lanes *l = context;
    if (e->kind != EX_REDUCE)
        return;
    const ExprFacts *f = expr_facts(l->p, e);
    bool own = false;
    for (uint32_t i = 0; i < f->nloops; i++)
        own |= f->loops[i] == l->around;
    l->found |= own && lanes_fit(l->p, e);
    l->shared |= !own;
}

// Whatever each of its iterations stores is of a sum along neighbours, and of none that others take
// too: it has no neighbours of its own.
static bool holds_lanes(Printer *p, const Stmt *s)
{
    for (const Stmt *store = s->body; store; store = store->next) {
        Lanes l = {p, s->var, false, false};
        if (store->kind == S_STORE)
            expr_walk(p->mod, store->value, test_lanes, &l);
        if (!l.found || l.shared)
            return false;
    }
    return s->body != NULL;
}

// Is each iteration some rows of elements that are moved (codegen/cpu/beside.c)?
static bool holds_moves(const Stmt *s)
{
    const Stmt *row = s->body;
    while (row && row->kind == S_FOR && row->body && row->body->kind == S_STORE &&
           !row->body->next && row->body->value->kind == EX_LOAD)
        row = row->next;
    return s->body && !row;
}

// Whether iterations of inner make units of their own: they do not if they are neighbours. One that
// holds several nests, as pools in tiles do, is taken only if there is nothing to divide so far: it
// loses what schedules make of the whole loop, which is nothing for rows that are moved.
static bool is_divisible(Printer *p, const Stmt *inner, int64_t units)
{
    return next_loop(inner) || holds_lanes(p, inner) || (units == 1 && any_parallel(inner->body)) ||
           (any_parallel(inner->body) && holds_moves(inner));
}

// An iteration of it, within those of n loops, does less than it takes to tell which one it is.
static bool is_little(Printer *p, const Stmt *inner, uint32_t n, const LoopId *around)
{
    LoopId bound[DEEPEST + 1];
    int64_t work;
    memcpy(bound, around, n * sizeof *bound);
    bound[n] = inner->var;
    return poly_is_const(parts_work(p, inner->body, n + 1, bound), &work) && work < LITTLE;
}

// The loops from s on that make the units; one over neighbours stays what it is. Loops of open
// sizes may be few iterations, but are enough where the next one would give units of next to
// nothing.
static uint32_t choose_loops(Printer *p, const Stmt *s, LoopId *vars, const Stmt **last)
{
    uint32_t n = 0;
    int64_t units = 1, extent;
    bool open = false, further = true;
    for (const Stmt *inner = s; further; s = inner) {
        vars[n++] = s->var;
        *last = s;
        bool known = poly_is_const(print_extent(p, s->var), &extent);
        if ((known && (extent <= 0 || units > MANY / extent)) || n == DEEPEST)
            break;
        units *= known ? extent : 1;
        open |= !known;
        inner = next_loop(s);
        for (uint32_t i = 0; i < n; i++) // what depends on them may stand between them and inner
            print_bind_loop(p, vars[i], 1);
        further = inner && is_divisible(p, inner, units) && !hoists(p, inner) &&
                  !(open && is_little(p, inner, n, vars)) && !squares_fit(p, inner) &&
                  !few_fit(p, inner) && !poly_varies(print_extent(p, inner->var));
        for (uint32_t i = 0; i < n; i++)
            print_bind_loop(p, vars[i], -1);
    }
    return n;
}

static void print_body(Printer *p, const Stmt *body)
{
    p->depth++;
    p->parallel++;
    uint32_t mark = print_block_begin(p);
    print_stmts(p, body);
    print_block_end(p, mark);
    p->parallel--;
    p->depth--;
}

// Schedules of whole loops keep their form between low and high.
static void print_divided(Printer *p, const Stmt *s)
{
    p->parts->divided = s->var;
    if (!schedules_print(p, s)) {
        print_line(p, "for (int64_t i%u = low; i%u < high; i%u++) {", s->var, s->var, s->var);
        print_bind_loop(p, s->var, 1);
        print_body(p, s->body);
        print_bind_loop(p, s->var, -1);
        print_line(p, "}");
    }
    p->parts->divided = 0;
}

// Units of neighbours.
static void print_neighbours(Printer *p, const Stmt *s, Index work)
{
    Polys *polys = p->mod->polys;
    Index extent = print_extent(p, s->var);
    const int unit = any_reduction(p, s->body) ? SUMS : UNIT;
    parts_begin(p, 0);
    print_line(p, "const int64_t low = from * %d, high = cameo_min_i64(to * %d, %s);", unit, unit,
               print_index_bare(p, extent));
    print_steady(p, s);
    print_divided(p, s);
    Index units = poly_ceildiv(polys, extent, poly_const(polys, unit));
    parts_end(p, print_index_bare(p, units), parts_grain(p, poly_scale(polys, work, unit)));
}

// ---- runs of short rows ------------------------------------------------------------------------

// Units that are rows, where the last loops of them and the row's own are neighbours but those
// around them are not: of NCHW with something for each channel, H and W. Where units follow each
// other their rows are one, as long as the outer places stay: a compiler makes vectors of long rows
// alone, and only the program knows how long one is.
typedef struct Runs {
    uint32_t n, joined; // loops of the units; how many of them the row takes in
    const Stmt *loops[DEEPEST];
    const Stmt *row;
    Index size; // of one row
} Runs;

static void runs_restore(Printer *p, Runs *r)
{
    for (; r->joined > 0; r->joined--)
        rows_restore(p, r->loops[r->n - r->joined]);
}

// Joins all loops from k on with the row.
static bool join_from(Printer *p, Runs *r, uint32_t k)
{
    const uint32_t all = r->n;
    for (r->n = k, r->joined = 0; r->n < all; r->n++, r->joined++)
        if (!rows_collapse(p, r->loops[r->n])) {
            runs_restore(p, r);
            r->n = all;
            return false;
        }
    return true;
}

static bool runs_begin(Printer *p, uint32_t n, const Stmt *s, const Stmt *last, Runs *r)
{
    enum { LONG = 8 * UNIT };
    int64_t size;
    *r = (Runs){.n = n, .row = next_loop(last)};
    if (n < 2 || !r->row || any_parallel(r->row->body) || poly_varies(print_extent(p, r->row->var)))
        return false;
    r->size = print_extent(p, r->row->var);
    if (poly_is_const(r->size, &size) && size >= LONG)
        return false;
    for (uint32_t i = 0; i < n; i++, s = s->body)
        r->loops[i] = s;
    for (uint32_t k = 1; k < n; k++)
        if (join_from(p, r, k))
            return true;
    return false;
}

// The loops that the row took in are one, of the last one's variable.
static void print_runs(Printer *p, Runs *r)
{
    const uint32_t outer = r->n - r->joined;
    const LoopId v = r->loops[r->n - 1]->var;
    LoopId vars[DEEPEST];
    for (uint32_t i = 0; i < outer; i++)
        vars[i] = r->loops[i]->var;
    vars[outer] = v;
    walk_from(p, outer + 1, vars);
    const char *rows = print_index(p, print_extent(p, v));
    print_line(p, "for (int64_t unit = from; unit < to;) {");
    p->indent++;
    p->depth++;
    p->parallel++;
    print_line(p, "const int64_t end = cameo_min_i64(%s, i%u + to - unit);", rows, v);
    print_line(p, "const int64_t low = %s * i%u, high = %s * end;", print_index(p, r->size), v,
               print_index(p, r->size));
    print_divided(p, r->row);
    print_line(p, "unit += end - i%u;", v);
    p->parallel--;
    p->depth--;
    p->indent--;
    print_line(p, "    i%u = 0;", v);
    walk_on(p, outer, vars);
    for (uint32_t i = 0; i < outer + 1; i++)
        print_bind_loop(p, vars[i], -1);
    print_line(p, "}");
    runs_restore(p, r);
}

static bool print_part(Printer *p, const Stmt *s)
{
    Runs runs;
    LoopId vars[DEEPEST];
    const Stmt *last = s;
    if (hoists(p, s) || poly_varies(print_extent(p, s->var)))
        return false;
    bool neighbours = !any_parallel(s->body) || squares_fit(p, s) || few_fit(p, s);
    uint32_t n = neighbours ? 1 : choose_loops(p, s, vars, &last);
    vars[0] = s->var;
    Index units = parts_units(p, n, vars), work = parts_work(p, last->body, n, vars);
    if (!parts_worth(p, units, work))
        return false;
    int64_t extent;
    if (neighbours && poly_is_const(units, &extent) && extent <= SUMS)
        return false;
    if (neighbours) {
        print_neighbours(p, s, work);
        return true;
    }
    parts_begin(p, p->kernel->row);
    print_steady(p, s);
    if (away_print(p, last, n, vars)) {
        // what it copies was joined there
    } else if (runs_begin(p, n, s, last, &runs)) {
        print_runs(p, &runs);
    } else {
        (walks(p, n, vars) ? walk_begin : parts_nest_begin)(p, n, vars);
        print_body(p, last->body);
        (walks(p, n, vars) ? walk_end : parts_nest_end)(p, n, vars);
    }
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    return true;
}

bool parts_print_for(Printer *p, const Stmt *s)
{
    const Stmt *joined[DEEPEST];
    uint32_t n = 0;
    if (!s->par || p->parts->inside || p->indent != 1 || p->depth || p->nzeroed || !p->kernel ||
        stmts_hold(s->body, S_UPDATE) || any_local(p->kernel->body))
        return false;
    const Stmt *loop = s;
    for (; n < DEEPEST && rows_collapse(p, loop); loop = loop->body)
        joined[n++] = loop;
    bool printed = print_part(p, loop);
    while (n > 0)
        rows_restore(p, joined[--n]);
    return printed;
}

const char *loop_low(const Printer *p, LoopId v)
{
    return p->parts && p->parts->divided == v ? "low" : "0";
}

const char *loop_high(Printer *p, LoopId v)
{
    return p->parts && p->parts->divided == v ? "high" : print_index_bare(p, print_extent(p, v));
}
