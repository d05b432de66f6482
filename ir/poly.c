// Polynomials in normal form, hash-consed: terms sorted by their atoms, no zero coefficient.

#include "ir/poly.h"
#include "base/id_table.h"
#include "ir/kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct DimVar {
    Str name;
    int64_t least;
    Index means; // NULL: nothing but itself
} DimVar;

struct Polys {
    Arena *arena;
    VEC(const Poly *) polys;
    VEC(const Atom *) atoms;
    VEC(DimVar) dims;
    VEC(Index) loops; // extents
    IdTable poly_table, atom_table;
    Index overflow;
    int depth; // of nested proofs
};

enum { MAX_TERMS = 256, MAX_POWER = 64, MAX_PROOF_DEPTH = 6 };

// ---- interning

// By ids, not by addresses: the same input probes the same slots in every process.
static uint32_t hash_poly(const Term *terms, uint32_t n)
{
    uint64_t h = hash_word(0, n);
    for (uint32_t i = 0; i < n; i++) {
        h = hash_word(h, (uint64_t)terms[i].coeff);
        for (uint32_t k = 0; k < terms[i].natoms; k++)
            h = hash_word(h, terms[i].atoms[k]->id);
    }
    return hash_end(h);
}

static bool same_atoms(const Term *x, const Term *y)
{
    for (uint32_t k = 0; k < x->natoms; k++)
        if (x->atoms[k] != y->atoms[k])
            return false;
    return true;
}

static bool same_terms(const Poly *p, const Term *terms, uint32_t n)
{
    if (p->nterms != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (p->terms[i].coeff != terms[i].coeff || p->terms[i].natoms != terms[i].natoms ||
            !same_atoms(&p->terms[i], &terms[i]))
            return false;
    return true;
}

static Index intern(Polys *p, const Term *terms, uint32_t n)
{
    const uint32_t hash = hash_poly(terms, n);
    IdSlot *s = id_table_first(&p->poly_table, p->arena, hash);
    for (; s->used; s = id_table_next(&p->poly_table, s))
        if (s->hash == hash && same_terms(p->polys.at[s->id], terms, n))
            return p->polys.at[s->id];
    Poly *q = NEW(p->arena, Poly);
    Term *kept = NEWS(p->arena, Term, n);
    if (n)
        memcpy(kept, terms, n * sizeof *terms);
    *q = (Poly){.id = p->polys.len, .nterms = n, .terms = kept};
    id_table_take(&p->poly_table, s, hash, p->polys.len);
    vec_push(p->arena, &p->polys, q);
    return q;
}

static uint32_t hash_atom(const Atom *a)
{
    uint64_t h = hash_word((uint64_t)a->kind << 32 | a->var, a->a ? a->a->id + 1u : 0);
    h = hash_word(h, a->b ? a->b->id + 1u : 0);
    return hash_end(hash_word(h, a->e ? a->e->id + 1u : 0));
}

static bool same_atom(const Atom *x, const Atom *y)
{
    return x->kind == y->kind && x->var == y->var && x->a == y->a && x->b == y->b && x->e == y->e;
}

static const Atom *intern_atom(Polys *p, Atom key)
{
    const uint32_t hash = hash_atom(&key);
    IdSlot *s = id_table_first(&p->atom_table, p->arena, hash);
    for (; s->used; s = id_table_next(&p->atom_table, s))
        if (s->hash == hash && same_atom(p->atoms.at[s->id], &key))
            return p->atoms.at[s->id];
    Atom *a = NEW(p->arena, Atom);
    *a = key;
    a->id = p->atoms.len;
    id_table_take(&p->atom_table, s, hash, a->id);
    vec_push(p->arena, &p->atoms, a);
    return a;
}

static Index of_atom(Polys *p, Atom key)
{
    const Atom **list = NEWS(p->arena, const Atom *, 1);
    list[0] = intern_atom(p, key);
    Term t = {1, 1, list};
    return intern(p, &t, 1);
}

Polys *polys_new(Arena *a)
{
    Polys *p = NEW(a, Polys);
    p->arena = a;
    vec_push(a, &p->dims, (DimVar){0});
    vec_push(a, &p->loops, NULL);
    intern(p, NULL, 0);
    p->overflow = of_atom(p, (Atom){.kind = ATOM_DIM, .var = 0});
    return p;
}

// ---- atoms as polynomials

Index poly_const(Polys *p, int64_t v)
{
    Term t = {v, 0, NULL};
    return intern(p, &t, v != 0);
}

DimId dim_new(Polys *p, Str name, int64_t least)
{
    vec_push(p->arena, &p->dims, ((DimVar){str_copy(p->arena, name), least, NULL}));
    return p->dims.len - 1;
}

Str dim_name(const Polys *p, DimId d)
{
    return p->dims.at[d].name;
}

int64_t dim_least(const Polys *p, DimId d)
{
    return p->dims.at[d].least;
}

DimId dim_named(Polys *p, Index a, Str name)
{
    for (DimId d = 1; d < p->dims.len; d++)
        if (p->dims.at[d].means == a)
            return d;
    const DimId d = dim_new(p, name, poly_nonnegative(p, poly_add_const(p, a, -1)));
    p->dims.at[d].means = a;
    return d;
}

Index dim_means(const Polys *p, DimId d)
{
    return p->dims.at[d].means;
}

uint32_t dim_count(const Polys *p)
{
    return p->dims.len - 1;
}

Index poly_dim(Polys *p, DimId d)
{
    return of_atom(p, (Atom){.kind = ATOM_DIM, .var = d});
}

LoopId loop_new(Polys *p, Index extent)
{
    vec_push(p->arena, &p->loops, extent);
    return p->loops.len - 1;
}

Index loop_extent(const Polys *p, LoopId v)
{
    return p->loops.at[v];
}

LoopId poly_lone_loop(Index i)
{
    const Term *t = i->nterms == 1 && i->terms[0].coeff == 1 ? i->terms : NULL;
    return t && t->natoms == 1 && t->atoms[0]->kind == ATOM_LOOP ? t->atoms[0]->var : 0;
}

uint32_t loop_count(const Polys *p)
{
    return p->loops.len - 1;
}

Index poly_loop(Polys *p, LoopId v)
{
    return of_atom(p, (Atom){.kind = ATOM_LOOP, .var = v, .a = p->loops.at[v]});
}

Index poly_expr(Polys *p, const Expr *e)
{
    return of_atom(p, (Atom){.kind = ATOM_EXPR, .e = e});
}

// ---- arithmetic

static int compare_monomials(const Term *x, const Term *y)
{
    if (x->natoms != y->natoms)
        return x->natoms < y->natoms ? -1 : 1;
    for (uint32_t i = 0; i < x->natoms; i++)
        if (x->atoms[i] != y->atoms[i])
            return x->atoms[i]->id < y->atoms[i]->id ? -1 : 1;
    return 0;
}

static Index scaled_sum(Polys *p, Index a, Index b, int64_t k)
{
    if (a == p->overflow || b == p->overflow || a->nterms + b->nterms > MAX_TERMS)
        return p->overflow;
    Term out[MAX_TERMS];
    uint32_t n = 0, i = 0, j = 0;
    while (i < a->nterms || j < b->nterms) {
        int c = i == a->nterms   ? 1
                : j == b->nterms ? -1
                                 : compare_monomials(&a->terms[i], &b->terms[j]);
        out[n] = c <= 0 ? a->terms[i] : b->terms[j];
        int64_t scaled = 0;
        if (c >= 0 && __builtin_mul_overflow(b->terms[j].coeff, k, &scaled))
            return p->overflow;
        if (c > 0)
            out[n].coeff = scaled;
        else if (c == 0 && __builtin_add_overflow(a->terms[i].coeff, scaled, &out[n].coeff))
            return p->overflow;
        i += c <= 0;
        j += c >= 0;
        n += out[n].coeff != 0;
    }
    return intern(p, out, n);
}

static const Atom *single_atom(Index a)
{
    return a->nterms == 1 && a->terms[0].natoms == 1 && a->terms[0].coeff == 1
               ? a->terms[0].atoms[0]
               : NULL;
}

// (x div a) div b is x div (a * b).
static Index quotient_atom(Polys *p, Index a, Index b)
{
    const Atom *inner = single_atom(a);
    if (!inner || inner->kind != ATOM_FLOORDIV)
        return of_atom(p, (Atom){.kind = ATOM_FLOORDIV, .a = a, .b = b});
    Index both = poly_mul(p, inner->b, b);
    return both == p->overflow
               ? both
               : of_atom(p, (Atom){.kind = ATOM_FLOORDIV, .a = inner->a, .b = both});
}

// k * (x div k) + (x mod k) -> x, for every such pair of terms.
static Index join_mods(Polys *p, Index a)
{
    for (uint32_t i = 0; i < a->nterms; i++) {
        const Term *t = &a->terms[i];
        for (uint32_t k = 0; k < t->natoms; k++) {
            const Atom *m = t->atoms[k];
            if (m->kind != ATOM_MOD)
                continue;
            const Atom **rest = NEWS(p->arena, const Atom *, t->natoms);
            memcpy(rest, t->atoms, k * sizeof *rest);
            memcpy(rest + k, t->atoms + k + 1, (t->natoms - k - 1) * sizeof *rest);
            Term factor = {t->coeff, t->natoms - 1, rest};
            Index f = intern(p, &factor, 1);
            Index quotient = quotient_atom(p, m->a, m->b);
            Index pair = poly_mul(p, f, poly_mul(p, m->b, quotient));
            if (pair->nterms != 1)
                continue;
            for (uint32_t j = 0; j < a->nterms; j++)
                if (a->terms[j].coeff == pair->terms[0].coeff &&
                    compare_monomials(&a->terms[j], &pair->terms[0]) == 0) {
                    Index less = scaled_sum(p, scaled_sum(p, a, pair, -1), intern(p, t, 1), -1);
                    return poly_add(p, less, poly_mul(p, f, m->a));
                }
        }
    }
    return a;
}

Index poly_add(Polys *p, Index a, Index b)
{
    return join_mods(p, scaled_sum(p, a, b, 1));
}

Index poly_sub(Polys *p, Index a, Index b)
{
    return join_mods(p, scaled_sum(p, a, b, -1));
}

Index poly_scale(Polys *p, Index a, int64_t k)
{
    return scaled_sum(p, poly_const(p, 0), a, k);
}

Index poly_add_const(Polys *p, Index a, int64_t k)
{
    return scaled_sum(p, a, poly_const(p, k), 1);
}

static Index mul_term(Polys *p, const Term *x, const Term *y)
{
    Term out = {0, x->natoms + y->natoms, NULL};
    if (out.natoms > MAX_POWER || __builtin_mul_overflow(x->coeff, y->coeff, &out.coeff))
        return p->overflow;
    const Atom **atoms = NEWS(p->arena, const Atom *, out.natoms);
    for (uint32_t i = 0, j = 0; i + j < out.natoms;) {
        bool first = j == y->natoms || (i < x->natoms && x->atoms[i]->id <= y->atoms[j]->id);
        atoms[i + j] = first ? x->atoms[i] : y->atoms[j];
        i += first;
        j += !first;
    }
    out.atoms = atoms;
    return intern(p, &out, 1);
}

Index poly_mul(Polys *p, Index a, Index b)
{
    int64_t k;
    if (a == p->overflow || b == p->overflow)
        return p->overflow;
    if (poly_is_const(a, &k))
        return poly_scale(p, b, k);
    if (poly_is_const(b, &k))
        return poly_scale(p, a, k);
    Index sum = poly_const(p, 0);
    for (uint32_t i = 0; i < a->nterms; i++)
        for (uint32_t j = 0; j < b->nterms; j++)
            sum = scaled_sum(p, sum, mul_term(p, &a->terms[i], &b->terms[j]), 1);
    return join_mods(p, sum);
}

bool poly_is_const(Index a, int64_t *v)
{
    bool is = a->nterms == 0 || (a->nterms == 1 && a->terms[0].natoms == 0);
    if (is && v)
        *v = a->nterms ? a->terms[0].coeff : 0;
    return is;
}

bool poly_equals(Index a, int64_t v)
{
    int64_t k;
    return poly_is_const(a, &k) && k == v;
}

bool poly_is_overflow(Index a)
{
    for (uint32_t i = 0; i < a->nterms; i++)
        for (uint32_t k = 0; k < a->terms[i].natoms; k++)
            if (a->terms[i].atoms[k]->kind == ATOM_DIM && a->terms[i].atoms[k]->var == 0)
                return true;
    return false;
}

// ---- as written

static int compare_atom_ids(const void *x, const void *y)
{
    const Atom *a = *(const Atom *const *)x, *b = *(const Atom *const *)y;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_terms(const void *x, const void *y)
{
    return compare_monomials(x, y);
}

Index poly_as_written(Polys *p, uint32_t nterms, const Term *terms)
{
    Term out[MAX_TERMS];
    uint32_t n = 0;
    if (nterms > MAX_TERMS)
        return p->overflow;
    for (uint32_t i = 0; i < nterms; i++) {
        const Atom **atoms = NEWS(p->arena, const Atom *, terms[i].natoms);
        if (terms[i].natoms > MAX_POWER)
            return p->overflow;
        if (terms[i].natoms)
            memcpy(atoms, terms[i].atoms, terms[i].natoms * sizeof *atoms);
        qsort(atoms, terms[i].natoms, sizeof *atoms, compare_atom_ids);
        out[i] = (Term){terms[i].coeff, terms[i].natoms, atoms};
    }
    qsort(out, nterms, sizeof *out, compare_terms);
    for (uint32_t i = 0; i < nterms; i++) {
        if (n && compare_monomials(&out[n - 1], &out[i]) == 0) {
            if (__builtin_add_overflow(out[n - 1].coeff, out[i].coeff, &out[n - 1].coeff))
                return p->overflow;
        } else {
            out[n++] = out[i];
        }
        n -= out[n - 1].coeff == 0;
    }
    return intern(p, out, n);
}

Index poly_pair(Polys *p, AtomKind kind, Index a, Index b)
{
    if ((kind == ATOM_MIN || kind == ATOM_MAX) && a->id > b->id) // as extreme() does
        return of_atom(p, (Atom){.kind = kind, .a = b, .b = a});
    return of_atom(p, (Atom){.kind = kind, .a = a, .b = b});
}

void loop_define(Polys *p, LoopId v, Index extent)
{
    while (p->loops.len <= v)
        vec_push(p->arena, &p->loops, NULL);
    p->loops.at[v] = extent;
}

// ---- division

// t / lead as a polynomial, or NULL where lead does not divide t.
static Index divide_term(Polys *p, const Term *t, const Term *lead)
{
    if (t->natoms < lead->natoms || t->coeff == INT64_MIN || t->coeff % lead->coeff != 0)
        return NULL;
    const Atom **rest = NEWS(p->arena, const Atom *, t->natoms + 1);
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < t->natoms; i++) {
        if (j < lead->natoms && t->atoms[i] == lead->atoms[j])
            j++;
        else
            rest[n++] = t->atoms[i];
    }
    Term out = {t->coeff / lead->coeff, n, rest};
    return j == lead->natoms ? intern(p, &out, 1) : NULL;
}

// a = q * b + r with as much in q as divides term by term.
static void divide(Polys *p, Index a, Index b, Index *q, Index *r)
{
    const Term *lead = &b->terms[b->nterms - 1];
    *q = poly_const(p, 0);
    *r = a;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = (*r)->nterms; i-- > 0 && !again;) {
            Index part = divide_term(p, &(*r)->terms[i], lead);
            if (!part)
                continue;
            Index less = scaled_sum(p, *r, poly_mul(p, part, b), -1);
            if (less->nterms < (*r)->nterms && less != p->overflow) {
                *q = scaled_sum(p, *q, part, 1);
                *r = less;
                again = true;
            }
        }
    }
    int64_t c, k;
    bool constant = (*r)->nterms && (*r)->terms[0].natoms == 0;
    if (constant && poly_is_const(b, &k) && k > 0 && (*r)->terms[0].coeff != INT64_MIN) {
        c = (*r)->terms[0].coeff; // keep 0 <= constant < k, so that equal quotients look equal
        int64_t whole = c / k - (c % k < 0);
        *q = poly_add_const(p, *q, whole);
        *r = poly_add_const(p, poly_add_const(p, *r, -c), c % k < 0 ? c % k + k : c % k);
    }
}

// (g*x + c) div (g*k) -> (x + c div g) div k
static Index reduce_common(Polys *p, Index r, Index b)
{
    int64_t k, g, c = 0;
    if (!poly_is_const(b, &k) || k <= 0)
        return NULL;
    g = k;
    for (uint32_t i = 0; i < r->nterms; i++) {
        if (r->terms[i].coeff == INT64_MIN)
            return NULL;
        if (r->terms[i].natoms == 0)
            c = r->terms[i].coeff;
        else
            g = greatest_divisor(r->terms[i].coeff, g);
    }
    if (g <= 1)
        return NULL;
    Index x = poly_const(p, c / g - (c % g < 0));
    for (uint32_t i = 0; i < r->nterms; i++)
        if (r->terms[i].natoms) {
            Term t = r->terms[i];
            t.coeff /= g;
            x = scaled_sum(p, x, intern(p, &t, 1), 1);
        }
    return poly_floordiv(p, x, poly_const(p, k / g));
}

// Is r = k*q + rest with 0 <= rest < k where coefficients beyond k are divided too (rows of 129 cut
// into rows of 128: 129*i + j, i + j below 128)?
static bool divide_coefficients(Polys *p, Index r, Index b, Index *q, Index *rest)
{
    int64_t k;
    if (!poly_is_const(b, &k) || k <= 0)
        return false;
    *q = poly_const(p, 0);
    for (uint32_t i = 0; i < r->nterms; i++) {
        Term t = r->terms[i];
        t.coeff = t.natoms ? floor_divide(t.coeff, k) : 0;
        if (t.coeff && t.coeff != INT64_MIN)
            *q = scaled_sum(p, *q, intern(p, &t, 1), 1);
    }
    if ((*q)->nterms == 0)
        return false;
    *rest = scaled_sum(p, r, *q, -k);
    return *rest != p->overflow && poly_nonnegative(p, *rest) && poly_less(p, *rest, b);
}

// r = a*x + rest with 0 <= rest < a, where b = a*k: r div b is x div k, and r mod b the rest and
// a * (x mod k). As channels of an open length are cut into groups: (L*c + i) div (32*L). False: b
// has no such factor a.
static bool divide_factor(Polys *p, Index r, Index b, Index *quotient, Index *rest)
{
    if (b->nterms != 1 || b->terms[0].natoms == 0)
        return false;
    const Term *whole = b->terms;
    for (uint32_t j = whole->coeff == 1; j <= whole->natoms; j++) {
        const Atom **atoms = NEWS(p->arena, const Atom *, whole->natoms);
        Term left = {1, 0, atoms}, out = {whole->coeff, j > 0, whole->atoms + j - (j > 0)};
        for (uint32_t i = 0; i < whole->natoms; i++)
            if (i + 1 != j)
                atoms[left.natoms++] = whole->atoms[i];
        if (left.natoms == 0)
            continue;
        Index a = intern(p, &left, 1), k = intern(p, &out, 1), x = poly_const(p, 0);
        for (uint32_t i = 0; i < r->nterms; i++) {
            Index part = divide_term(p, &r->terms[i], a->terms);
            x = part ? scaled_sum(p, x, part, 1) : x;
        }
        *rest = scaled_sum(p, r, poly_mul(p, a, x), -1);
        if (x->nterms == 0 || *rest == p->overflow || !poly_nonnegative(p, *rest) ||
            !poly_less(p, *rest, a))
            continue;
        *quotient = poly_floordiv(p, x, k);
        *rest = poly_add(p, *rest, poly_mul(p, a, poly_mod(p, x, k)));
        return true;
    }
    return false;
}

Index poly_floordiv(Polys *p, Index a, Index b)
{
    if (a == p->overflow || b == p->overflow)
        return p->overflow;
    if (poly_equals(b, 1) || a->nterms == 0)
        return a;
    if (b->nterms == 0)
        return b;
    Index q, r;
    divide(p, a, b, &q, &r);
    if (r->nterms == 0 || (poly_nonnegative(p, r) && poly_less(p, r, b)))
        return q;
    if (poly_equals(r, -1)) // b >= 1 wherever this is evaluated
        return poly_add_const(p, q, -1);
    Index more, rest;
    if (divide_coefficients(p, r, b, &more, &rest) || divide_factor(p, r, b, &more, &rest))
        return poly_add(p, q, more);
    Index reduced = reduce_common(p, r, b);
    if (reduced)
        return poly_add(p, q, reduced);
    const Atom *inner = single_atom(r);
    if (inner && inner->kind == ATOM_FLOORDIV)
        return poly_add(p, q, poly_floordiv(p, inner->a, poly_mul(p, inner->b, b)));
    return poly_add(p, q, of_atom(p, (Atom){.kind = ATOM_FLOORDIV, .a = r, .b = b}));
}

Index poly_ceildiv(Polys *p, Index a, Index b)
{
    return poly_floordiv(p, poly_add_const(p, poly_add(p, a, b), -1), b);
}

Index poly_mod(Polys *p, Index a, Index b)
{
    if (a == p->overflow || b == p->overflow)
        return p->overflow;
    if (poly_equals(b, 1) || b->nterms == 0)
        return poly_const(p, 0);
    Index q, r, rest;
    divide(p, a, b, &q, &r);
    if (r->nterms == 0 || (poly_nonnegative(p, r) && poly_less(p, r, b)))
        return r;
    if (divide_coefficients(p, r, b, &q, &rest) || divide_factor(p, r, b, &q, &rest))
        return rest;
    return of_atom(p, (Atom){.kind = ATOM_MOD, .a = r, .b = b});
}

static Index extreme(Polys *p, AtomKind kind, Index a, Index b)
{
    if (a == p->overflow || b == p->overflow)
        return p->overflow;
    if (a == b)
        return a;
    Index low = poly_nonnegative(p, poly_sub(p, b, a))   ? a
                : poly_nonnegative(p, poly_sub(p, a, b)) ? b
                                                         : NULL;
    if (low)
        return (kind == ATOM_MIN) == (low == a) ? a : b;
    if (a->id > b->id) {
        Index t = a;
        a = b;
        b = t;
    }
    return of_atom(p, (Atom){.kind = kind, .a = a, .b = b});
}

Index poly_min(Polys *p, Index a, Index b)
{
    return extreme(p, ATOM_MIN, a, b);
}

Index poly_max(Polys *p, Index a, Index b)
{
    return extreme(p, ATOM_MAX, a, b);
}

// ---- what can be proved
//
// To prove a >= 0: the youngest atom x that is no dim and stands linearly in a is replaced by its
// least value where its cofactor is >= 0, by its greatest where the cofactor is <= 0; what is left
// are dims, each written as least + d with d >= 0, and a polynomial in d whose coefficients are all
// >= 0 is >= 0.

// The part of a that x multiplies (linear), and the rest; false if x stands in a power.
static bool split_linear(Polys *p, Index a, const Atom *x, Index *cofactor, Index *rest)
{
    *cofactor = *rest = poly_const(p, 0);
    for (uint32_t i = 0; i < a->nterms; i++) {
        const Term *t = &a->terms[i];
        uint32_t power = 0;
        const Atom **others = NEWS(p->arena, const Atom *, t->natoms + 1);
        for (uint32_t k = 0; k < t->natoms; k++) {
            if (t->atoms[k] == x)
                power++;
            else
                others[k - power] = t->atoms[k];
        }
        if (power > 1)
            return false;
        Term part = {t->coeff, t->natoms - power, others};
        Index *to = power ? cofactor : rest;
        *to = scaled_sum(p, *to, intern(p, &part, 1), 1);
    }
    return true;
}

// A bound of x from below (or above), or NULL.
static Index bound_of(Polys *p, const Atom *x, bool below)
{
    switch (x->kind) {
    case ATOM_LOOP:
        return below ? poly_const(p, 0) : poly_add_const(p, x->a, -1);
    case ATOM_MOD:
        return below ? poly_const(p, 0) : poly_add_const(p, x->b, -1);
    case ATOM_FLOORDIV:
        if (below)
            return poly_nonnegative(p, x->a) ? poly_const(p, 0) : NULL;
        return poly_nonnegative(p, x->a) ? x->a : NULL;
    case ATOM_MIN:
        if (!below)
            return x->a;
        return poly_nonnegative(p, x->a) && poly_nonnegative(p, x->b) ? poly_const(p, 0) : NULL;
    case ATOM_MAX:
        if (below)
            return x->a;
        return NULL;
    case ATOM_DIM:
    case ATOM_EXPR:
        return NULL;
    }
    return NULL;
}

// For x = y div k with constant k: k*x <= y, so k*x may be bounded by y more sharply than x alone.
static Index replace_quotient(Polys *p, const Atom *x, Index cofactor, Index rest)
{
    int64_t k, c;
    if (x->kind != ATOM_FLOORDIV || !poly_is_const(x->b, &k) || k <= 0 ||
        !poly_is_const(cofactor, &c) || c >= 0 || c % k)
        return NULL;
    return poly_add(p, rest, poly_scale(p, x->a, c / k));
}

static Index shift_dim(void *context, const Atom *a)
{
    Polys *p = context;
    if (a->kind != ATOM_DIM || a->var == 0 || p->dims.at[a->var].least == 0)
        return NULL;
    return poly_add_const(p, poly_dim(p, a->var), p->dims.at[a->var].least);
}

static const Atom *youngest(Index a)
{
    const Atom *best = NULL;
    for (uint32_t i = 0; i < a->nterms; i++)
        for (uint32_t k = 0; k < a->terms[i].natoms; k++) {
            const Atom *x = a->terms[i].atoms[k];
            if (x->kind != ATOM_DIM && (!best || x->id > best->id))
                best = x;
        }
    return best;
}

static bool all_positive(Index a)
{
    for (uint32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].coeff < 0)
            return false;
    return true;
}

static bool prove(Polys *p, Index a)
{
    for (int round = 0; round < 64; round++) {
        if (a == p->overflow || poly_is_overflow(a))
            return false;
        const Atom *x = youngest(a);
        if (!x)
            return all_positive(a) || all_positive(poly_map(p, a, shift_dim, p));
        Index cofactor, rest, bound;
        if (!split_linear(p, a, x, &cofactor, &rest))
            return false;
        Index sharper = replace_quotient(p, x, cofactor, rest);
        if (sharper) {
            a = sharper;
            continue;
        }
        if (poly_nonnegative(p, cofactor))
            bound = bound_of(p, x, true);
        else if (poly_nonnegative(p, poly_scale(p, cofactor, -1)))
            bound = bound_of(p, x, false);
        else
            return false;
        if (!bound)
            return false;
        a = poly_add(p, rest, poly_mul(p, cofactor, bound));
    }
    return false;
}

bool poly_nonnegative(Polys *p, Index a)
{
    int64_t k;
    if (poly_is_const(a, &k))
        return k >= 0;
    if (p->depth >= MAX_PROOF_DEPTH)
        return false;
    p->depth++;
    bool proved = prove(p, a);
    p->depth--;
    return proved;
}

bool poly_less(Polys *p, Index a, Index b)
{
    return poly_nonnegative(p, poly_add_const(p, poly_sub(p, b, a), -1));
}

// ---- mapping

static Index map_atom(Polys *p, const Atom *x, Index (*map)(void *, const Atom *), void *context)
{
    Index replaced = map(context, x);
    if (replaced)
        return replaced;
    if (x->kind == ATOM_DIM || x->kind == ATOM_LOOP || x->kind == ATOM_EXPR)
        return of_atom(p, *x);
    Index a = poly_map(p, x->a, map, context), b = poly_map(p, x->b, map, context);
    switch (x->kind) {
    case ATOM_FLOORDIV:
        return poly_floordiv(p, a, b);
    case ATOM_MOD:
        return poly_mod(p, a, b);
    case ATOM_MIN:
        return poly_min(p, a, b);
    default:
        return poly_max(p, a, b);
    }
}

Index poly_map(Polys *p, Index a, Index (*map)(void *context, const Atom *atom), void *context)
{
    if (poly_is_const(a, NULL) || a == p->overflow)
        return a;
    Index sum = poly_const(p, 0);
    for (uint32_t i = 0; i < a->nterms; i++) {
        Index product = poly_const(p, a->terms[i].coeff);
        for (uint32_t k = 0; k < a->terms[i].natoms; k++)
            product = poly_mul(p, product, map_atom(p, a->terms[i].atoms[k], map, context));
        sum = poly_add(p, sum, product);
    }
    return sum;
}
