// Loops of open sizes cut as parts.c cuts those of known ones. Where min, max, mod and div in the
// place of what is read change their form is told at typical sizes; the same cuts are made at
// expressions of the dims, every form chosen so asks something of the dims that the program
// compares, and where that does not hold the loop runs as it was.
//
// An operand that broadcasts where its dim is 1 is read at the least of v and its last place: such
// a loop has one form more for each of up to three such operands, in which that one is one element.

#include "codegen/cpu/parts.h"

#include <string.h>

enum { TYPICAL = 509, LEAST = 32, MOST_OPEN_PARTS = 8, WRAPS = 3, MOST_ASKED = 32, NARROW = 3 };
enum { BORDERS = 8 };

typedef struct OpenPart {
    Module *mod;
    LoopId v;     // the loop that is cut; 0: one around it, of which only mod and div are told
    int64_t size; // of a typical dim
    Index narrow; // the last place of an operand of one element; NULL: there is none
    Index at;     // where the second part begins; NULL: nowhere
    bool settled; // an atom took its form
    bool worth;   // one of v did
    bool fails;   // what is asked cannot be written, or a sum is made anew for each element
    uint32_t nasked;
    const Expr *asked[MOST_ASKED]; // what the forms ask of dims
} OpenPart;

static bool is_dim(void *context, const Atom *a)
{
    return a->kind == ATOM_DIM && a->var == *(const DimId *)context;
}

// Has a buffer a size of it? What is none, as a pad read from data, is short.
static bool is_size(const Module *mod, DimId d)
{
    for (BufferId b = 1; b < mod->buffers.len; b++)
        for (uint32_t i = 0; i < buffer_at(mod, b)->rank; i++)
            if (poly_any(buffer_at(mod, b)->dims[i], is_dim, &d))
                return true;
    return false;
}

// One size for all, as dims that broadcast have.
static int64_t typical_atom(void *context, const Atom *a)
{
    const OpenPart *x = context;
    if (a->kind != ATOM_DIM)
        return 0;
    const int64_t least = dim_least(x->mod->polys, a->var);
    const int64_t size = is_size(x->mod, a->var) ? x->size : 1;
    return least < size ? size : least;
}

static int64_t typical(const OpenPart *x, Index i)
{
    return poly_eval(i, typical_atom, (void *)(uintptr_t)x);
}

// A few times what a border adds to a dim.
static int64_t size_around(const OpenPart *x, LoopId v)
{
    Index extent = loop_extent(x->mod->polys, v);
    const bool added = extent->nterms > 1 && extent->terms[0].natoms == 0;
    const int64_t more = added ? extent->terms[0].coeff : 0;
    return more > TYPICAL / BORDERS && more < INT32_MAX ? BORDERS * more : TYPICAL;
}

static void ask(OpenPart *x, const Expr *cond)
{
    if (cond->kind == EX_CONST && cond->value.i)
        return;
    for (uint32_t i = 0; i < x->nasked; i++)
        if (x->asked[i] == cond)
            return;
    x->fails |= x->nasked == MOST_ASKED;
    if (!x->fails)
        x->asked[x->nasked++] = cond;
}

static const Expr *at_least_0(OpenPart *x, Index i)
{
    Module *mod = x->mod;
    const Expr *zero = expr_index(mod, poly_const(mod->polys, 0));
    x->fails |= poly_is_overflow(i);
    if (poly_nonnegative(mod->polys, i))
        return expr_compare(mod, C_EQ, zero, zero);
    return expr_compare(mod, C_LE, zero, expr_index(mod, i));
}

// i = k * v + c, where k is a number and c made of dims alone.
typedef struct Line {
    LoopId v;
    int64_t k;
    Index c;
} Line;

static bool line_of(const OpenPart *x, Index i, Line *line)
{
    Polys *p = x->mod->polys;
    *line = (Line){0};
    for (uint32_t t = 0; t < i->nterms; t++)
        for (uint32_t k = 0; k < i->terms[t].natoms; k++)
            if (i->terms[t].atoms[k]->kind == ATOM_LOOP) {
                if (line->v || i->terms[t].natoms != 1)
                    return false;
                line->v = i->terms[t].atoms[k]->var;
                line->k = i->terms[t].coeff;
            }
    if (!line->v || line->k <= -INT32_MAX || line->k >= INT32_MAX ||
        poly_varies(loop_extent(p, line->v)) || (x->v && line->v != x->v))
        return false;
    line->c = poly_sub(p, i, poly_scale(p, poly_loop(p, line->v), line->k));
    return !poly_varies(line->c) && !poly_is_overflow(line->c);
}

static Index end_of(const OpenPart *x, const Line *line)
{
    Polys *p = x->mod->polys;
    Index last = poly_add_const(p, loop_extent(p, line->v), -1);
    return poly_add(p, line->c, poly_scale(p, last, line->k));
}

// A line is at least 0 over its loop.
static void ask_line(OpenPart *x, const Line *line)
{
    Module *mod = x->mod;
    Polys *p = mod->polys;
    Index extent = loop_extent(p, line->v);
    const Expr *none = at_least_0(x, poly_scale(p, extent, -1));
    if (poly_less(p, poly_const(p, 0), extent))
        none = expr_const(mod, DT_BOOL, (Scalar){.i = 0});
    ask(x, expr_binary(mod, B_OR, at_least_0(x, line->c), none));
    ask(x, expr_binary(mod, B_OR, at_least_0(x, end_of(x, line)), none));
}

// ---- forms --------------------------------------------------------------------------------------

static Line shifted_line(const OpenPart *x, Line l, Index by, int64_t sign)
{
    Polys *p = x->mod->polys;
    l.k *= sign;
    l.c = poly_add(p, poly_scale(p, l.c, sign), by);
    return l;
}

// The quotient of what div and mod divide, where it is one number over the loop.
static bool quotient_of(OpenPart *x, const Atom *a, const Line *l, int64_t *q)
{
    const int64_t n = typical(x, a->b);
    if (n < LEAST)
        return false;
    *q = floor_divide(typical(x, l->c), n);
    return *q == floor_divide(typical(x, end_of(x, l)), n);
}

// 0 <= l - q * n < n.
static void ask_quotient(OpenPart *x, const Line *l, Index n, int64_t q, bool from_0)
{
    Polys *p = x->mod->polys;
    const Line above = shifted_line(x, *l, poly_scale(p, n, -q), 1),
               below = shifted_line(x, *l, poly_add_const(p, poly_scale(p, n, q + 1), -1), -1);
    if (from_0)
        ask_line(x, &above);
    ask_line(x, &below);
}

static Index settle_quotient(OpenPart *x, const Atom *a)
{
    Polys *p = x->mod->polys;
    Line l, second;
    int64_t q;
    if (poly_varies(a->b))
        return NULL;
    if (line_of(x, a->a, &l)) {
        if (!quotient_of(x, a, &l, &q))
            return NULL;
        ask_quotient(x, &l, a->b, q, true);
        x->worth |= x->v != 0;
    } else { // the greater of a line and its mirror image, as a distance is
        const Atom *max =
            a->a->nterms == 1 && a->a->terms[0].natoms == 1 && a->a->terms[0].coeff == 1
                ? a->a->terms[0].atoms[0]
                : NULL;
        if (!max || max->kind != ATOM_MAX || !line_of(x, max->a, &l) ||
            !line_of(x, max->b, &second) || !poly_nonnegative(p, poly_add(p, max->a, max->b)))
            return NULL;
        const int64_t n = typical(x, a->b);
        if (typical(x, l.c) >= n || typical(x, end_of(x, &l)) >= n || typical(x, second.c) >= n ||
            typical(x, end_of(x, &second)) >= n)
            return NULL;
        q = 0;
        ask_quotient(x, &l, a->b, 0, false);
        ask_quotient(x, &second, a->b, 0, false);
    }
    return a->kind == ATOM_FLOORDIV ? poly_const(p, q) : poly_sub(p, a->a, poly_scale(p, a->b, q));
}

// The place of an operand that has one element or all: the one that is none of v and the last.
static Index last_of(const OpenPart *x, const Atom *a)
{
    if (a->kind != ATOM_MIN || !x->v)
        return NULL;
    const bool first = poly_lone_loop(a->a) == x->v;
    const Index last = first ? a->b : a->a, extent = loop_extent(x->mod->polys, x->v);
    return (first || poly_lone_loop(a->b) == x->v) && !poly_varies(last) &&
                   typical(x, last) + 1 >= typical(x, extent)
               ? last
               : NULL;
}

static Index settle_extreme(OpenPart *x, const Atom *a)
{
    Polys *p = x->mod->polys;
    const Index gap = poly_sub(p, a->b, a->a);
    Line l;
    if (!poly_varies(gap)) {
        const bool first = (typical(x, gap) >= 0) == (a->kind == ATOM_MIN);
        ask(x, at_least_0(x, poly_scale(p, gap, typical(x, gap) >= 0 ? 1 : -1)));
        return first ? a->a : a->b;
    }
    if (!x->v || !line_of(x, gap, &l))
        return NULL;
    x->worth = true;
    if (x->narrow && x->narrow == last_of(x, a)) {
        ask(x, at_least_0(x, poly_scale(p, x->narrow, -1)));
        return poly_const(p, 0);
    }
    const bool first = typical(x, l.c) + typical(x, end_of(x, &l)) >= 0, less = a->kind == ATOM_MIN;
    l = first ? l : shifted_line(x, l, poly_const(p, 0), -1); // b - a, or a - b
    ask_line(x, &l);
    return first == less ? a->a : a->b;
}

static Index settle_atom(void *context, const Atom *a)
{
    OpenPart *x = context;
    Index form = a->kind == ATOM_MIN || a->kind == ATOM_MAX        ? settle_extreme(x, a)
                 : a->kind == ATOM_MOD || a->kind == ATOM_FLOORDIV ? settle_quotient(x, a)
                                                                   : NULL;
    x->settled |= form != NULL;
    return form;
}

// ---- cuts ---------------------------------------------------------------------------------------

// The first v above 0 where the line is on the other side of `level`: below it, or not below.
static Index crossing(const OpenPart *x, const Line *l, Index level)
{
    Polys *p = x->mod->polys;
    Index gap = poly_sub(p, l->c, level);
    return l->k > 0 ? poly_ceildiv(p, poly_scale(p, gap, -1), poly_const(p, l->k))
                    : poly_add_const(p, poly_floordiv(p, gap, poly_const(p, -l->k)), 1);
}

// Where both are 0 at an end, either form does there.
static bool changes_sign(const OpenPart *x, const Line *l)
{
    const int64_t first = typical(x, l->c), last = typical(x, end_of(x, l));
    return (first < 0 && last > 0) || (first > 0 && last < 0);
}

static bool find_cut(void *context, const Atom *a)
{
    OpenPart *x = context;
    Polys *p = x->mod->polys;
    const int64_t extent = typical(x, loop_extent(p, x->v));
    Index at = NULL;
    Line l;
    if (a->kind == ATOM_MIN || a->kind == ATOM_MAX) {
        if (line_of(x, poly_sub(p, a->a, a->b), &l) && changes_sign(x, &l))
            at = crossing(x, &l, poly_const(p, 0));
    } else if ((a->kind == ATOM_FLOORDIV || a->kind == ATOM_MOD) && !poly_varies(a->b) &&
               line_of(x, a->a, &l)) {
        const int64_t n = typical(x, a->b);
        if (n >= LEAST && (l.k < 0 ? -l.k : l.k) <= WRAPS * n / extent)
            at = crossing(x, &l, poly_scale(p, a->b, floor_divide(typical(x, l.c), n) + (l.k > 0)));
    }
    if (at && typical(x, at) > 0 && typical(x, at) < extent)
        x->at = at;
    return x->at != NULL;
}

static void find_in_load(void *context, const Expr *e)
{
    OpenPart *x = context;
    x->fails |= e->kind == EX_REDUCE;
    for (uint32_t i = 0; e->kind == EX_LOAD && !x->at && i < e->rank; i++)
        poly_any(e->at[i], find_cut, x);
}

static Stmt *cut(OpenPart *x, Stmt *loop, uint32_t room)
{
    Polys *p = x->mod->polys;
    x->v = loop->var;
    const ExprMap settle = {x, NULL, settle_atom};
    for (;;) {
        x->at = NULL;
        if (room > 1)
            expr_walk(x->mod, loop->body->value, find_in_load, x);
        if (x->at)
            break;
        x->settled = false;
        const Expr *value = expr_map(x->mod, loop->body->value, &settle);
        if (!x->settled)
            return loop;
        Stmt *part = NEW(x->mod->arena, Stmt), *store = NEW(x->mod->arena, Stmt);
        *store = *loop->body;
        store->value = value;
        *part = *loop;
        part->body = store;
        loop = part;
    }
    x->worth = true;
    Index extent = loop_extent(p, loop->var), at = x->at, rest = poly_sub(p, extent, at);
    ask(x, at_least_0(x, at));
    ask(x, at_least_0(x, rest));
    Stmt *first = cut(x, part_of(x->mod, loop, poly_const(p, 0), at), room / 2), *last = first;
    while (last->next)
        last = last->next;
    last->next = cut(x, part_of(x->mod, loop, at, rest), room / 2);
    return first;
}

static const Expr *all_asked(const OpenPart *x)
{
    const Expr *all = x->asked[0];
    for (uint32_t i = 1; i < x->nasked; i++)
        all = expr_binary(x->mod, B_AND, all, x->asked[i]);
    return all;
}

// The form of a loop in which the operand that ends at `narrow` is one element (NULL: none); where
// it cannot be, `other`.
static Stmt *form_of(Module *mod, Stmt *loop, Index narrow, Stmt *other)
{
    OpenPart x = {.mod = mod, .narrow = narrow};
    x.size = size_around(&x, loop->var);
    const ExprMap settle = {&x, NULL, settle_atom};
    Stmt *part = NEW(mod->arena, Stmt), *store = NEW(mod->arena, Stmt);
    *store = *loop->body;
    store->value = expr_map(mod, store->value, &settle);
    *part = *loop;
    part->body = store;
    Stmt *parts = cut(&x, part, MOST_OPEN_PARTS);
    if (x.fails || !x.worth)
        return other;
    if (x.nasked == 0)
        return parts;
    Stmt *either = NEW(mod->arena, Stmt);
    *either = (Stmt){.kind = S_IF, .value = all_asked(&x), .body = parts, .other = other};
    return either;
}

typedef struct Narrow {
    OpenPart part;
    Index last[NARROW];
    uint32_t n;
} Narrow;

static bool find_last(void *context, const Atom *a)
{
    Narrow *f = context;
    const Index last = last_of(&f->part, a);
    bool known = !last || poly_is_const(last, NULL);
    for (uint32_t i = 0; i < f->n; i++)
        known |= f->last[i] == last;
    if (!known && f->n < NARROW)
        f->last[f->n++] = last;
    return false;
}

static void find_narrow(void *context, const Expr *e)
{
    for (uint32_t i = 0; e->kind == EX_LOAD && i < e->rank; i++)
        poly_any(e->at[i], find_last, context);
}

Stmt *cut_open_loop(Module *mod, Stmt *loop)
{
    Narrow f = {.part = {.mod = mod, .v = loop->var}};
    Index extent = loop_extent(mod->polys, loop->var);
    f.part.size = size_around(&f.part, loop->var);
    if (poly_varies(extent) || typical(&f.part, extent) < LEAST)
        return loop;
    expr_walk(mod, loop->body->value, find_narrow, &f);
    Stmt *form = loop;
    for (uint32_t i = f.n; i > 0; i--)
        form = form_of(mod, loop, f.last[i - 1], form);
    return form_of(mod, loop, NULL, form);
}
