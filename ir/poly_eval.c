// What stands in a polynomial, what it is for given values, and as people read it.

#include "ir/poly.h"

int64_t floor_divide(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t greatest_divisor(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t < 0 ? -t : t;
    }
    return a;
}

static int64_t eval_atom(const Atom *x, int64_t (*value)(void *, const Atom *), void *context)
{
    if (x->kind == ATOM_DIM || x->kind == ATOM_LOOP || x->kind == ATOM_EXPR)
        return value(context, x);
    int64_t a = poly_eval(x->a, value, context), b = poly_eval(x->b, value, context);
    switch (x->kind) {
    case ATOM_FLOORDIV:
        return floor_divide(a, b);
    case ATOM_MOD:
        return b ? (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)floor_divide(a, b)) : 0;
    case ATOM_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

int64_t poly_eval(Index a, int64_t (*value)(void *context, const Atom *atom), void *context)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < a->nterms; i++) {
        uint64_t product = (uint64_t)a->terms[i].coeff;
        for (uint32_t k = 0; k < a->terms[i].natoms; k++)
            product *= (uint64_t)eval_atom(a->terms[i].atoms[k], value, context);
        sum += product;
    }
    return (int64_t)sum;
}

static void print_atom(const Polys *p, const Atom *x, Buf *out)
{
    static const char *const words[] = {
        [ATOM_FLOORDIV] = "div", [ATOM_MOD] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};
    switch (x->kind) {
    case ATOM_DIM:
        if (dim_name(p, x->var).len)
            buf_escaped(out, dim_name(p, x->var));
        else
            buf_printf(out, "d%u", x->var);
        return;
    case ATOM_LOOP:
        buf_printf(out, "i%u", x->var);
        return;
    case ATOM_EXPR:
        buf_printf(out, "e%u", x->id);
        return;
    default:
        buf_printf(out, "%s(", words[x->kind]);
        poly_print(p, x->a, out);
        buf_printf(out, ", ");
        poly_print(p, x->b, out);
        buf_char(out, ')');
    }
}

void poly_print(const Polys *p, Index a, Buf *out)
{
    if (a->nterms == 0)
        buf_char(out, '0');
    // The constant term comes first in memory and last on the page.
    uint32_t from = a->nterms && a->terms[0].natoms == 0 ? 1 : 0;
    for (uint32_t n = 0; n < a->nterms; n++) {
        const Term *t = &a->terms[(n + from) % a->nterms];
        uint64_t size = t->coeff < 0 ? 0 - (uint64_t)t->coeff : (uint64_t)t->coeff;
        buf_printf(out, "%s", t->coeff < 0 ? "-" : n ? "+" : "");
        if (t->natoms == 0 || size != 1)
            buf_printf(out, "%llu%s", (unsigned long long)size, t->natoms ? "*" : "");
        for (uint32_t k = 0; k < t->natoms; k++) {
            if (k)
                buf_char(out, '*');
            print_atom(p, t->atoms[k], out);
        }
    }
}

bool poly_any(Index a, bool (*test)(void *context, const Atom *atom), void *context)
{
    for (uint32_t i = 0; i < a->nterms; i++)
        for (uint32_t k = 0; k < a->terms[i].natoms; k++) {
            const Atom *x = a->terms[i].atoms[k];
            if (test(context, x))
                return true;
            bool pair = x->kind >= ATOM_FLOORDIV && x->kind <= ATOM_MAX;
            if (pair && (poly_any(x->a, test, context) || poly_any(x->b, test, context)))
                return true;
        }
    return false;
}

uint32_t poly_weight(Index a, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->nterms && n <= most; i++)
        for (uint32_t k = 0; k < a->terms[i].natoms && n <= most; k++) {
            const Atom *x = a->terms[i].atoms[k];
            n++;
            if (x->kind >= ATOM_FLOORDIV && x->kind <= ATOM_MAX && n <= most)
                n += poly_weight(x->a, most - n);
            if (x->kind >= ATOM_FLOORDIV && x->kind <= ATOM_MAX && n <= most)
                n += poly_weight(x->b, most - n);
        }
    return n;
}

static bool is_variable(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_LOOP || a->kind == ATOM_EXPR;
}

bool poly_varies(Index a)
{
    return poly_any(a, is_variable, NULL);
}

static bool is_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

bool poly_reads_data(Index a)
{
    return poly_any(a, is_data, NULL);
}

static bool is_loop_of(void *context, const Atom *a)
{
    return a->kind == ATOM_LOOP && a->var == *(const LoopId *)context;
}

bool poly_has_loop(Index a, LoopId v)
{
    return poly_any(a, is_loop_of, &v);
}
