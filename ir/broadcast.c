// Broadcasting of dims that only the running program knows.
//
// Dims that fit are all one number, or 1. What they give is that number: the greatest of them, or 0
// where one of them is 0. So of symbols a, b, c that nothing tells apart the result is
//
//   max(max(a, b), c) * min(min(min(a, b), c), 1)
//
// always of the whole set, in order of the symbols' ids: broadcasting again gives the dim of the
// joined sets, whose size is linear in them, and the same dim where nothing joins.
//
// A dim that is never 1, as what is twice as long as something, is what it gives with any other.

#include "ir/infer.h"

enum { MAX_PARTS = 32 };

typedef struct Parts {
    Index at[MAX_PARTS]; // by id
    uint32_t n;
    bool full;
} Parts;

static void parts_add(Parts *s, Index a)
{
    uint32_t i = 0;
    while (i < s->n && s->at[i]->id < a->id)
        i++;
    if (i < s->n && s->at[i] == a)
        return;
    if (s->n == MAX_PARTS) {
        s->full = true;
        return;
    }
    for (uint32_t k = s->n++; k > i; k--)
        s->at[k] = s->at[k - 1];
    s->at[i] = a;
}

static const Atom *only_atom(Index a)
{
    bool one = a->nterms == 1 && a->terms[0].natoms == 1 && a->terms[0].coeff == 1;
    return one ? a->terms[0].atoms[0] : NULL;
}

// What a chain of max (or min) takes, without the 1 that ends that of min.
static void add_operands(Parts *s, AtomKind kind, Index a)
{
    const Atom *of = only_atom(a);
    if (of && of->kind == kind && !s->full) {
        add_operands(s, kind, of->a);
        add_operands(s, kind, of->b);
    } else if (kind == ATOM_MAX || !poly_equals(a, 1)) {
        parts_add(s, a);
    }
}

// Something simpler that is 0 where a is: a slice of at most 1000 of n is empty where n is 0.
static Index empty_with(Index a)
{
    int64_t c;
    for (const Atom *min = only_atom(a); min && min->kind == ATOM_MIN; min = only_atom(a))
        if (poly_is_const(min->b, &c) && c >= 1)
            a = min->a;
        else if (poly_is_const(min->a, &c) && c >= 1)
            a = min->b;
        else
            break;
    return a;
}

// Is a 0 wherever `factor` is?
static bool is_multiple(Index a, Index factor)
{
    const Atom *of = only_atom(factor);
    bool all = of != NULL;
    for (uint32_t i = 0; all && i < a->nterms; i++) {
        bool has = false;
        for (uint32_t k = 0; k < a->terms[i].natoms; k++)
            has |= a->terms[i].atoms[k] == of;
        all = has;
    }
    return all;
}

// Is it never 1, whatever its variables are? false: not proved.
static bool is_never_one(Polys *p, Index a)
{
    const Atom *name = only_atom(a);
    Index means = name && name->kind == ATOM_DIM ? dim_means(p, name->var) : NULL;
    int64_t common = 0;
    a = means ? means : a;
    for (uint32_t i = 0; i < a->nterms; i++)
        common = greatest_divisor(common, a->terms[i].coeff);
    return (common != 1 && common != -1) || poly_nonnegative(p, poly_add_const(p, a, -2));
}

static Index joined(Polys *p, const Parts *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (is_never_one(p, s->at[i]))
            return s->at[i];
    Index most = s->at[0], least = empty_with(s->at[0]);
    for (uint32_t i = 1; i < s->n; i++) {
        most = poly_max(p, most, s->at[i]);
        least = poly_min(p, least, empty_with(s->at[i]));
    }
    if (most == least || is_multiple(most, least))
        return most;
    return poly_mul(p, most, poly_min(p, least, poly_const(p, 1)));
}

// The dims that a was broadcast of; a alone where it was not. A dim that is itself the greatest (or
// the least) of some is whole in only one of the two chains.
static Parts parts_of(Polys *p, Index a)
{
    const Atom *name = only_atom(a);
    Index means = name && name->kind == ATOM_DIM ? dim_means(p, name->var) : NULL;
    if (means) {
        const Parts s = parts_of(p, means);
        return s.n > 1 ? s : (Parts){{a}, 1, false};
    }
    bool product = a->nterms == 1 && a->terms[0].natoms == 2 && a->terms[0].coeff == 1;
    for (uint32_t i = 0; product && i < 2; i++) {
        const Atom *chain = a->terms[0].atoms[i];
        Parts s = {.n = 0};
        if (chain->kind != ATOM_MAX && chain->kind != ATOM_MIN)
            break;
        add_operands(&s, chain->kind, chain->a);
        add_operands(&s, chain->kind, chain->b);
        if (s.n > 1 && !s.full && joined(p, &s) == a)
            return s;
    }
    return (Parts){{a}, 1, false};
}

// The parts of both; `more` where b has some that a has not.
static Parts parts_of_both(Polys *p, Index a, Index b, bool *more)
{
    Parts all = parts_of(p, a), of_b = parts_of(p, b);
    uint32_t before = all.n;
    for (uint32_t i = 0; i < of_b.n; i++)
        parts_add(&all, of_b.at[i]);
    *more = all.n > before || all.full;
    if (all.full) { // too many to tell apart: a and b as they are
        all = (Parts){{a}, 1, false};
        parts_add(&all, b);
    }
    return all;
}

Index dims_broadcast(Polys *p, Index a, Index b)
{
    bool more;
    if (a == b || poly_equals(b, 1))
        return a;
    if (poly_equals(a, 1) || poly_is_const(b, NULL))
        return poly_is_const(a, NULL) && !poly_equals(a, 1) ? a : b;
    if (poly_is_const(a, NULL))
        return a;
    Parts all = parts_of_both(p, a, b, &more);
    return more ? joined(p, &all) : a;
}

Index infer_broadcast_dim(Infer *s, Index a, Index b)
{
    int64_t x, y;
    bool p = poly_is_const(a, &x), q = poly_is_const(b, &y), more = true;
    if (a == b || (p && x == 1) || (q && y == 1))
        return dims_broadcast(s->polys, a, b);
    if (p && q) {
        infer_error(s, "dimensions %lld and %lld do not broadcast", (long long)x, (long long)y);
        return a;
    }
    if (!p && !q)
        parts_of_both(s->polys, a, b, &more);
    if (more) // else b is one of those that give a, which were compared then
        infer_note(s, a, b,
                   is_never_one(s->polys, a) && is_never_one(s->polys, b) ? FIT_SAME
                                                                          : FIT_BROADCAST);
    return dims_broadcast(s->polys, a, b);
}

bool infer_broadcast(Infer *s, uint32_t first, uint32_t last, uint32_t *rank, Index *dims)
{
    *rank = 0;
    for (uint32_t i = first; i < last; i++) {
        const Value *v = infer_in(s, i);
        if (!v)
            continue;
        if (v->rank < 0 || v->rank > MAX_RANK)
            return false;
        while (*rank < (uint32_t)v->rank) { // shift to the right
            for (uint32_t k = (*rank)++; k > 0; k--)
                dims[k] = dims[k - 1];
            dims[0] = poly_const(s->polys, 1);
        }
        for (uint32_t k = 0; k < (uint32_t)v->rank; k++) {
            uint32_t at = *rank - (uint32_t)v->rank + k;
            dims[at] = infer_broadcast_dim(s, dims[at], v->dims[k]);
        }
    }
    return true;
}

void broadcast(Infer *s)
{
    uint32_t rank;
    Index dims[MAX_RANK + 1];
    if (infer_broadcast(s, 0, s->n->nin, &rank, dims))
        infer_shape(s, 0, rank, dims);
}
