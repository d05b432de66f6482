// Dims of what a convolution reads. Tokens that are the places of a plane, or one row that holds
// all channels, are one dim of their buffer, and a Reshape that made planes of them is nothing but
// an index: column + length of a row * (row + ...). The guard of the sum says how long a row is, or
// the other variables' factors do.

#include "codegen/cpu/conv_dims.h"

#include "codegen/print_parts.h"

enum { MAX_BOUNDS = 8 };

// 0 <= at, at < size, as far as the guard says so.
typedef struct Bound {
    Index at, size;
    bool low;
} Bound;

typedef struct Cut {
    Printer *p;
    Polys *polys;
    const LoopId *vars;
    uint32_t nvars, nbounds;
    Bound bounds[MAX_BOUNDS];
} Cut;

static Bound *bound_of(Cut *s, Index at)
{
    for (uint32_t i = 0; i < s->nbounds; i++)
        if (s->bounds[i].at == at)
            return &s->bounds[i];
    if (s->nbounds == MAX_BOUNDS)
        return NULL;
    s->bounds[s->nbounds] = (Bound){.at = at};
    return &s->bounds[s->nbounds++];
}

static void read_bounds(Cut *s, const Expr *e)
{
    if (e && e->kind == EX_BINARY && e->op == B_AND) {
        read_bounds(s, e->a);
        read_bounds(s, e->b);
        return;
    }
    if (!e || e->kind != EX_COMPARE || (e->op != C_LT && e->op != C_LE))
        return;
    Index a = expr_as_index(s->p->mod, e->a), b = expr_as_index(s->p->mod, e->b);
    const int64_t more = e->op == C_LT;
    if (!a || !b || poly_varies(a) == poly_varies(b))
        return;
    Bound *bound = bound_of(s, poly_varies(a) ? a : b);
    if (!bound)
        return;
    if (poly_varies(a))
        bound->size = poly_add_const(s->polys, b, 1 - more);
    else
        bound->low |= poly_nonnegative(s->polys, poly_add_const(s->polys, a, more));
}

// a / b where that is one term and leaves nothing; NULL: it is not.
static Index term_quotient(Cut *s, Index a, Index b)
{
    if (poly_equals(a, 0) || b->nterms == 0)
        return b->nterms ? a : NULL;
    const Term *of = &b->terms[b->nterms - 1];
    for (uint32_t i = 0; i < a->nterms; i++) {
        const Term *t = &a->terms[i];
        const Atom **left = NEWS(s->p->arena, const Atom *, t->natoms + 1);
        uint32_t n = 0, used = 0;
        for (uint32_t k = 0; k < t->natoms; k++)
            if (used < of->natoms && t->atoms[k] == of->atoms[used])
                used++;
            else
                left[n++] = t->atoms[k];
        if (used < of->natoms || t->coeff % of->coeff != 0)
            continue;
        const Term q = {t->coeff / of->coeff, n, left};
        Index quotient = poly_as_written(s->polys, 1, &q);
        if (poly_mul(s->polys, quotient, b) == a)
            return quotient;
    }
    return NULL;
}

// The same for the factors of all variables, and what no variable is in.
static Index quotient_of(Cut *s, Index a, Index b)
{
    Index all = poly_const(s->polys, 0), rest = a, f, q;
    for (uint32_t i = 0; i < s->nvars; i++) {
        if (!factor_of(s->p, a, s->vars[i], &f) || !(q = term_quotient(s, f, b)))
            return NULL;
        Index v = poly_loop(s->polys, s->vars[i]);
        all = poly_add(s->polys, all, poly_mul(s->polys, q, v));
        rest = poly_sub(s->polys, rest, poly_mul(s->polys, f, v));
    }
    q = term_quotient(s, rest, b);
    return q && !poly_varies(q) ? poly_add(s->polys, all, q) : NULL;
}

static bool cut_at(Cut *s, ConvDims *d, uint32_t dim, Index at, Index size)
{
    const Bound *b = bound_of(s, at);
    Index whole = term_quotient(s, d->dims[dim], size);
    Index rest = quotient_of(s, poly_sub(s->polys, d->at[dim], at), size);
    bool low = (b && b->low) || poly_nonnegative(s->polys, at);
    bool high = (b && b->size == size) || poly_less(s->polys, at, size);
    if (!whole || !rest || !low || !high || d->rank == CONV_DIMS)
        return false;
    for (uint32_t i = d->rank++; i > dim; i--) {
        d->at[i] = d->at[i - 1];
        d->dims[i] = d->dims[i - 1];
    }
    d->at[dim] = rest;
    d->dims[dim] = whole;
    d->at[dim + 1] = at;
    d->dims[dim + 1] = size;
    return true;
}

// By the places that the guard names.
static bool cut_by_guard(Cut *s, ConvDims *d, uint32_t dim, LoopId n)
{
    Index size;
    for (uint32_t i = 0, all = s->nbounds; i < all; i++) {
        const Bound b = s->bounds[i];
        if (!poly_has_loop(b.at, n) || b.at == d->at[dim])
            continue;
        if (b.size && cut_at(s, d, dim, b.at, b.size))
            return true;
        Index rest = poly_sub(s->polys, d->at[dim], b.at);
        for (uint32_t k = 0; k < s->nvars; k++)
            if (factor_of(s->p, rest, s->vars[k], &size) && !poly_equals(size, 0) &&
                cut_at(s, d, dim, b.at, size))
                return true;
    }
    return false;
}

// Is there more in an index than n and one summed variable?
static bool is_joined(Cut *s, const Conv *c, Index at, LoopId n)
{
    uint32_t summed = 0, others = 0;
    for (uint32_t i = 0; i < s->nvars; i++) {
        bool sum = false;
        for (uint32_t k = 0; k < c->reduce->rank; k++)
            sum |= c->reduce->vars[k] == s->vars[i];
        if (s->vars[i] != n && poly_has_loop(at, s->vars[i])) {
            summed += sum;
            others += !sum;
        }
    }
    return others > 0 || summed > 1;
}

// By the factor of another variable: what is no multiple of it are places of n.
static bool cut_by_factor(Cut *s, const Conv *c, ConvDims *d, uint32_t dim, LoopId n)
{
    Index size, f;
    for (uint32_t k = 0; k < s->nvars; k++) {
        if (s->vars[k] == n || !factor_of(s->p, d->at[dim], s->vars[k], &size) ||
            poly_equals(size, 0) || poly_equals(size, 1))
            continue;
        Index at = poly_const(s->polys, 0);
        for (uint32_t i = 0; i < s->nvars; i++)
            if (factor_of(s->p, d->at[dim], s->vars[i], &f) && !term_quotient(s, f, size))
                at = poly_add(s->polys, at, poly_mul(s->polys, f, poly_loop(s->polys, s->vars[i])));
        if (poly_has_loop(at, n) && !is_joined(s, c, at, n) && cut_at(s, d, dim, at, size))
            return true;
    }
    return false;
}

bool conv_dims(Printer *p, const Conv *c, const Expr *guard, uint32_t nvars, const LoopId *vars,
               ConvDims *d)
{
    Cut s = {.p = p, .polys = p->mod->polys, .vars = vars, .nvars = nvars};
    const Buffer *b = buffer_at(p->mod, c->x->buffer);
    if (c->x->rank > CONV_DIMS)
        return false;
    d->rank = c->x->rank;
    for (uint32_t i = 0; i < d->rank; i++) {
        d->at[i] = c->x->at[i];
        d->dims[i] = b->dims[i];
    }
    for (uint32_t i = c->rank; i > 0; i--)
        for (uint32_t dim = d->rank; dim > 0; dim--) {
            if (!poly_has_loop(d->at[dim - 1], c->n[i - 1]) ||
                !is_joined(&s, c, d->at[dim - 1], c->n[i - 1]))
                continue;
            if (!s.nbounds)
                read_bounds(&s, guard);
            if (!cut_by_guard(&s, d, dim - 1, c->n[i - 1]))
                cut_by_factor(&s, c, d, dim - 1, c->n[i - 1]);
            break;
        }
    return true;
}

void conv_skip_between(Polys *polys, Conv *c)
{
    for (uint32_t i = 0; i < c->rank && !c->depthwise; i++)
        if (c->stride[i] > 1 && poly_equals(c->taps[i], 1) && poly_equals(c->pad[i], 0)) {
            Index s = poly_const(polys, c->stride[i]);
            c->step[i] = poly_mul(polys, c->step[i], s);
            c->in[i] = poly_ceildiv(polys, c->in[i], s);
            c->stride[i] = 1;
        }
}

// Does v stand in one dim of x, alone there but for what is outside of the convolution?
static bool is_alone(Printer *p, const Conv *c, const ConvDims *x, uint32_t dim, LoopId v)
{
    Index f;
    int64_t step;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != dim && poly_has_loop(x->at[i], v))
            return false;
    for (uint32_t i = 0; i < c->reduce->rank; i++)
        if (c->reduce->vars[i] != v && poly_has_loop(x->at[dim], c->reduce->vars[i]))
            return false;
    return factor_of(p, x->at[dim], v, &f) && poly_is_const(f, &step) && step > 0;
}

static bool stands_with_n(const Conv *c, const ConvDims *x, LoopId v)
{
    for (uint32_t i = 0; i < x->rank; i++)
        for (uint32_t k = 0; k < c->rank; k++)
            if (poly_has_loop(x->at[i], v) && poly_has_loop(x->at[i], c->n[k]))
                return true;
    return false;
}

void conv_whole_dims(Printer *p, Conv *c, const ConvDims *x)
{
    const Expr *r = c->reduce;
    uint32_t more = 0, first = 0;
    while (first < x->rank && !poly_has_loop(x->at[first], c->n[0]))
        first++;
    for (uint32_t i = 0; i < r->rank; i++)
        more += !poly_equals(loop_extent(p->mod->polys, r->vars[i]), 1) &&
                !stands_with_n(c, x, r->vars[i]);
    for (uint32_t dim = first; r->a && !c->image && dim > 0 && more > 1; dim--)
        for (uint32_t i = 0; i < r->rank; i++) {
            const LoopId v = r->vars[i];
            if (poly_equals(loop_extent(p->mod->polys, v), 1) ||
                !poly_has_loop(x->at[dim - 1], v) || !is_alone(p, c, x, dim - 1, v) ||
                c->rank == CONV_SPACE)
                continue;
            for (uint32_t k = c->rank++; k > 0; k--) {
                c->n[k] = c->n[k - 1];
                c->t[k] = c->t[k - 1];
            }
            c->n[0] = 0;
            c->t[0] = v;
            more--;
            break;
        }
}

Index conv_flat_place(Polys *polys, const Conv *c)
{
    Index flat = poly_const(polys, 0);
    for (uint32_t i = conv_ones(c); i < c->rank; i++)
        flat = poly_add(polys, poly_mul(polys, flat, c->out[i]), poly_loop(polys, c->n[i]));
    return flat;
}
