#include "codegen/cpu/iterations.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 40 };
#define INNER_MOST ((int64_t)1 << 18) // 2 MB of a table

struct Lanes {
    Lanes *next;
    const void *key;        // the index, or the indices of a place
    Index outer, part;      // its terms of outer loops, and those of inner ones
    bool mixed;             // some term has both: `part` is all of it, tabled at each turn
    int64_t low, high, add; // the least and the greatest of values; the value of `outer`
    uint64_t tabled, added; // the turns of these
    int64_t values[];       // of `part`
};

// ---- the nest ----------------------------------------------------------------------------------

bool iterations_begin(Iterations *x, Module *mod, uint32_t nloops, const LoopId *vars, int64_t most)
{
    int64_t count = 1;
    *x = (Iterations){.mod = mod, .nloops = nloops, .nouter = nloops, .turn = 1, .step = 1};
    if (nloops > CONSTANT_LOOPS)
        return false;
    for (uint32_t i = 0; i < nloops; i++) {
        x->vars[i] = vars[i];
        if (!poly_is_const(loop_extent(mod->polys, vars[i]), &x->extents[i]) || x->extents[i] < 1 ||
            x->extents[i] > most / count)
            return false;
        count *= x->extents[i];
    }
    x->all = 1;
    while (x->nouter > 0 &&
           (x->nouter == nloops || x->extents[x->nouter - 1] <= INNER_MOST / x->all))
        x->all *= x->extents[--x->nouter];
    x->inner = x->all < INNER_MOST ? x->all : INNER_MOST;
    x->values = calloc(nloops + 1, sizeof *x->values);
    return x->values != NULL;
}

static int64_t tabled(const Iterations *x)
{
    return x->all - x->first < x->inner ? x->all - x->first : x->inner;
}

static bool next_turn(Iterations *x)
{
    x->from = 0;
    x->turn++;
    x->first += x->inner;
    if (x->first < x->all)
        return true;
    x->first = 0;
    for (uint32_t k = x->nouter; k > 0; k--) {
        if (++x->next[k - 1] < x->extents[k - 1])
            return true;
        x->next[k - 1] = 0;
    }
    return false;
}

bool iterations_next(Iterations *x)
{
    if (x->from == tabled(x) && !next_turn(x))
        return false;
    const int64_t left = tabled(x) - x->from;
    x->at = (uint32_t)x->from;
    x->n = (uint32_t)(left < CONSTANT_LANES ? left : CONSTANT_LANES);
    x->step = 1;
    x->from += x->n;
    return true;
}

void iterations_step(Iterations *x, uint32_t step)
{
    x->n = (x->n * x->step + step - 1) / step;
    x->step = step;
}

void iterations_end(Iterations *x)
{
    while (x->known) {
        Lanes *next = x->known->next;
        free(x->known);
        x->known = next;
    }
    free(x->values);
    x->values = NULL;
}

// ---- what can be computed ----------------------------------------------------------------------

static bool index_fits(const Iterations *x, Index i, int depth)
{
    if (!i || poly_is_overflow(i) || depth > MAX_DEPTH)
        return false;
    for (uint32_t t = 0; t < i->nterms; t++)
        for (uint32_t k = 0; k < i->terms[t].natoms; k++) {
            const Atom *a = i->terms[t].atoms[k];
            bool known = false;
            for (uint32_t v = 0; a->kind == ATOM_LOOP && v < x->nloops; v++)
                known |= x->vars[v] == a->var;
            if (a->kind == ATOM_DIM || a->kind == ATOM_EXPR || (a->kind == ATOM_LOOP && !known) ||
                (a->kind != ATOM_LOOP &&
                 !(index_fits(x, a->a, depth + 1) && index_fits(x, a->b, depth + 1))))
                return false;
        }
    return true;
}

bool iterations_know(const Iterations *x, Index i)
{
    return index_fits(x, i, 0);
}

void iterations_describe(const Iterations *x, Index i, Buf *out)
{
    for (uint32_t t = 0; t < i->nterms; t++) {
        buf_printf(out, "%+lld", (long long)i->terms[t].coeff);
        for (uint32_t k = 0; k < i->terms[t].natoms; k++) {
            const Atom *a = i->terms[t].atoms[k];
            for (uint32_t v = 0; a->kind == ATOM_LOOP && v < x->nloops; v++)
                if (x->vars[v] == a->var)
                    buf_printf(out, "*i%u", v);
            if (a->kind == ATOM_LOOP)
                continue;
            buf_printf(out, "*%d(", a->kind);
            iterations_describe(x, a->a, out);
            buf_printf(out, ",");
            iterations_describe(x, a->b, out);
            buf_printf(out, ")");
        }
    }
}

void iterations_describe_nest(const Iterations *x, Buf *out)
{
    for (uint32_t i = 0; i < x->nloops; i++)
        buf_printf(out, "for %lld ", (long long)x->extents[i]);
}

// ---- tables ------------------------------------------------------------------------------------

static void add_index(const Iterations *x, Index i, uint32_t n, int64_t *to);

static void eval_atom(const Iterations *x, const Atom *a, uint32_t n, int64_t *to)
{
    int64_t other[CONSTANT_LANES] = {0};
    for (uint32_t v = 0; a->kind == ATOM_LOOP && v < x->nloops; v++)
        if (x->vars[v] == a->var)
            memcpy(to, x->values[v], n * sizeof *to);
    if (a->kind == ATOM_LOOP)
        return;
    memset(to, 0, n * sizeof *to);
    add_index(x, a->a, n, to);
    add_index(x, a->b, n, other);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t p = to[i], q = other[i];
        if (a->kind == ATOM_FLOORDIV)
            to[i] = floor_divide(p, q);
        else if (a->kind == ATOM_MOD)
            to[i] = q ? p - q * floor_divide(p, q) : 0;
        else
            to[i] = (a->kind == ATOM_MIN) == (p < q) ? p : q;
    }
}

// to += index, at n values of the variables.
static void add_index(const Iterations *x, Index index, uint32_t n, int64_t *to)
{
    for (uint32_t t = 0; t < index->nterms; t++) {
        const Term *term = &index->terms[t];
        int64_t product[CONSTANT_LANES], atom[CONSTANT_LANES];
        for (uint32_t i = 0; i < n; i++)
            product[i] = term->coeff;
        for (uint32_t k = 0; k < term->natoms; k++) {
            eval_atom(x, term->atoms[k], n, atom);
            for (uint32_t i = 0; i < n; i++)
                product[i] = (int64_t)((uint64_t)product[i] * (uint64_t)atom[i]);
        }
        for (uint32_t i = 0; i < n; i++)
            to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)product[i]);
    }
}

// The variables at n iterations of the inner loops from `at` on.
static void set_values(Iterations *x, int64_t at, uint32_t n)
{
    int64_t now[CONSTANT_LOOPS];
    memcpy(now, x->next, sizeof now);
    for (uint32_t k = x->nloops; k > x->nouter; k--) {
        now[k - 1] = at % x->extents[k - 1];
        at /= x->extents[k - 1];
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < x->nloops; k++)
            x->values[k][i] = now[k];
        for (uint32_t k = x->nloops; k > x->nouter && ++now[k - 1] == x->extents[k - 1]; k--)
            now[k - 1] = 0;
    }
}

static void fill(Iterations *x, Lanes *l)
{
    const int64_t count = tabled(x);
    memset(l->values, 0, (size_t)count * sizeof *l->values);
    for (int64_t at = 0; at < count; at += CONSTANT_LANES) {
        const uint32_t n = (uint32_t)(count - at < CONSTANT_LANES ? count - at : CONSTANT_LANES);
        set_values(x, x->first + at, n);
        add_index(x, l->part, n, l->values + at);
    }
    l->low = l->high = l->values[0];
    for (int64_t i = 1; i < count; i++) {
        l->low = l->values[i] < l->low ? l->values[i] : l->low;
        l->high = l->values[i] > l->high ? l->values[i] : l->high;
    }
}

static bool is_inner(void *context, const Atom *a)
{
    const Iterations *x = context;
    for (uint32_t k = x->nouter; a->kind == ATOM_LOOP && k < x->nloops; k++)
        if (x->vars[k] == a->var)
            return true;
    return false;
}

static bool is_outer(void *context, const Atom *a)
{
    const Iterations *x = context;
    for (uint32_t k = 0; a->kind == ATOM_LOOP && k < x->nouter; k++)
        if (x->vars[k] == a->var)
            return true;
    return false;
}

static void separate(Iterations *x, Index i, Lanes *l)
{
    Polys *polys = x->mod->polys;
    l->part = poly_const(polys, 0);
    for (uint32_t t = 0; t < i->nterms; t++) {
        Index term = poly_as_written(polys, 1, &i->terms[t]);
        if (poly_any(term, is_inner, x))
            l->part = poly_add(polys, l->part, term);
        l->mixed |= poly_any(term, is_inner, x) && poly_any(term, is_outer, x);
    }
    if (l->mixed)
        l->part = i;
    l->outer = poly_sub(polys, i, l->part);
}

static int64_t outer_value(void *context, const Atom *a)
{
    const Iterations *x = context;
    for (uint32_t k = 0; a->kind == ATOM_LOOP && k < x->nouter; k++)
        if (x->vars[k] == a->var)
            return x->next[k];
    return 0;
}

// What an index is at the iterations of this turn; NULL, and x->failed: there is no memory for it.
static Lanes *lanes_of(Iterations *x, const void *key, Index i)
{
    Lanes *l = x->known;
    while (l && l->key != key)
        l = l->next;
    if (!l) {
        l = malloc(sizeof *l + (size_t)x->inner * sizeof *l->values);
        x->failed |= !l;
        if (!l)
            return NULL;
        *l = (Lanes){.next = x->known, .key = key};
        x->known = l;
        separate(x, i, l);
    }
    if (l->tabled != x->turn && (!l->tabled || l->mixed || x->inner < x->all)) {
        fill(x, l);
        l->tabled = x->turn;
    }
    if (l->added != x->turn) {
        l->add = poly_eval(l->outer, outer_value, x);
        l->added = x->turn;
    }
    return l;
}

// ---- values ------------------------------------------------------------------------------------

bool iterations_even(Iterations *x, Index i, uint32_t step)
{
    const Lanes *l = lanes_of(x, i, i);
    if (!l || l->mixed || x->inner < x->all || x->all % step)
        return false;
    for (int64_t k = 0; k < x->all; k++)
        if (l->values[k] != l->values[k / step * step])
            return false;
    return true;
}

static void put_values(const Iterations *x, const Lanes *l, int64_t *to)
{
    const int64_t *from = l->values + x->at, add = l->add;
    const uint32_t n = x->n, step = x->step;
    for (uint32_t i = 0; step == 1 && i < n; i++)
        to[i] = (int64_t)((uint64_t)add + (uint64_t)from[i]);
    for (uint32_t i = 0; step > 1 && i < n; i++)
        to[i] = (int64_t)((uint64_t)add + (uint64_t)from[i * step]);
}

void iterations_index(Iterations *x, Index i, int64_t *to)
{
    const Lanes *l = lanes_of(x, i, i);
    if (l)
        put_values(x, l, to);
    else
        memset(to, 0, x->n * sizeof *to);
}

// The place in a tensor of these dims: row by row.
static Index place(Polys *polys, uint32_t rank, const Index *dims, const Index *at)
{
    Index sum = poly_const(polys, 0);
    for (uint32_t k = 0; k < rank; k++)
        sum = poly_add(polys, poly_mul(polys, sum, dims[k]), at[k]);
    return sum;
}

void iterations_places(Iterations *x, uint32_t rank, const Index *dims, const Index *at,
                       int64_t *to)
{
    for (uint32_t k = 0; k < rank; k++) {
        const Lanes *l = lanes_of(x, at[k], at[k]);
        int64_t dim = 0;
        poly_is_const(dims[k], &dim);
        x->failed |= !l || l->add + l->low < 0 || l->add + l->high >= dim;
    }
    if (rank == 1 && !x->failed) {
        iterations_index(x, at[0], to);
        return;
    }
    Lanes *l = x->known;
    while (l && l->key != (const void *)at)
        l = l->next;
    Index whole = l || x->failed ? NULL : place(x->mod->polys, rank, dims, at);
    x->failed |= whole && poly_is_overflow(whole);
    l = x->failed ? NULL : lanes_of(x, at, whole);
    if (l)
        put_values(x, l, to);
    else
        memset(to, 0, x->n * sizeof *to);
}
