// An order of expressions that survives printing and reading: by what they say, not by their ids.

#include "ir/kernel_text.h"

#include <string.h>

const char *const kernel_unary[U_COUNT] = {
    "neg",   "abs",   "not",   "bitnot", "sqrt",  "exp",   "log",   "sin",   "cos",   "tan",
    "asin",  "acos",  "atan",  "sinh",   "cosh",  "tanh",  "asinh", "acosh", "atanh", "erf",
    "expm1", "log1p", "floor", "ceil",   "round", "trunc", "isnan", "isinf"};
const char *const kernel_binary[B_COUNT] = {"+",   "-", "*", "/", "mod", "fmod", "min",  "max",
                                            "pow", "&", "|", "^", "<<",  ">>",   "atan2"};
const char *const kernel_compare[4] = {"==", "!=", "<", "<="};
const char *const kernel_reduce[8] = {"add", "mul", "max", "min", "and", "or", "argmax", "argmin"};
const char *const kernel_pair[ATOM_EXPR] = {
    [ATOM_FLOORDIV] = "div", [ATOM_MOD] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};

bool kernel_commutes(const Expr *e)
{
    return e->kind == EX_BINARY &&
           (e->op == B_ADD || e->op == B_MUL || e->op == B_AND || e->op == B_OR || e->op == B_XOR);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t order_atom(Order *o, const Atom *a)
{
    uint64_t h = mix(17, a->kind);
    if (a->kind == ATOM_DIM || a->kind == ATOM_LOOP)
        return mix(h, a->var);
    if (a->kind == ATOM_EXPR)
        return mix(h, order_expr(o, a->e));
    uint64_t x = order_index(o, a->a), y = order_index(o, a->b);
    bool commutes = a->kind == ATOM_MIN || a->kind == ATOM_MAX;
    return mix(mix(h, commutes && y < x ? y : x), commutes && y < x ? x : y);
}

uint64_t order_index(Order *o, Index i)
{
    while (o->polys.len <= i->id)
        vec_push(o->arena, &o->polys, 0u);
    if (o->polys.at[i->id])
        return o->polys.at[i->id];
    uint64_t sum = i->nterms + 1;
    for (uint32_t n = 0; n < i->nterms; n++) {
        uint64_t product = 1;
        for (uint32_t k = 0; k < i->terms[n].natoms; k++)
            product += mix(3, order_atom(o, i->terms[n].atoms[k]));
        sum += mix(mix(5, (uint64_t)i->terms[n].coeff), product);
    }
    sum += sum == 0;
    o->polys.at[i->id] = sum;
    return sum;
}

uint64_t order_expr(Order *o, const Expr *e)
{
    while (o->exprs.len <= e->id)
        vec_push(o->arena, &o->exprs, 0u);
    if (o->exprs.at[e->id])
        return o->exprs.at[e->id];
    uint64_t h = mix(mix(mix(7, e->kind), e->dtype), e->op * 2u + e->saturate);
    h = mix(mix(mix(mix(h, (uint64_t)e->value.i), e->buffer), e->local), e->rank);
    if (e->kind == EX_CONST && dtype_is_complex(e->dtype)) {
        Scalar imaginary = {.f = e->value.c.im};
        h = mix(h, (uint64_t)imaginary.i);
    }
    if (e->index)
        h = mix(h, order_index(o, e->index));
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        h = mix(h, order_index(o, e->at[i]));
    for (uint32_t i = 0; e->vars && i < e->rank; i++)
        h = mix(h, e->vars[i]);
    const Expr *a = e->a, *b = e->b;
    if (kernel_commutes(e) && order_swaps(o, a, b))
        a = e->b, b = e->a;
    h = mix(h, a ? order_expr(o, a) : 1);
    h = mix(h, b ? order_expr(o, b) : 2);
    h = mix(h, e->c ? order_expr(o, e->c) : 3);
    h += h == 0;
    o->exprs.at[e->id] = h;
    return h;
}

bool order_swaps(Order *o, const Expr *a, const Expr *b)
{
    if ((a->kind == EX_CONST) != (b->kind == EX_CONST))
        return a->kind == EX_CONST;
    return order_expr(o, b) < order_expr(o, a);
}

static int compare_atoms(Order *o, const Atom *a, const Atom *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->var != b->var)
        return a->var < b->var ? -1 : 1;
    uint64_t x = order_atom(o, a), y = order_atom(o, b);
    return x < y ? -1 : x > y;
}

static int compare_terms(Order *o, const Term *a, const Term *b)
{
    if (!a->natoms || !b->natoms)
        return a->natoms ? -1 : b->natoms ? 1 : 0;
    for (uint32_t i = 0; i < a->natoms && i < b->natoms; i++) {
        int c = compare_atoms(o, a->atoms[i], b->atoms[i]);
        if (c)
            return c;
    }
    return a->natoms < b->natoms ? -1 : a->natoms > b->natoms;
}

static const Atom *const *sorted_atoms(Order *o, const Term *t)
{
    const Atom **out = NEWS(o->arena, const Atom *, t->natoms);
    for (uint32_t i = 0; i < t->natoms; i++) {
        uint32_t k = i;
        for (; k && compare_atoms(o, t->atoms[i], out[k - 1]) < 0; k--)
            out[k] = out[k - 1];
        out[k] = t->atoms[i];
    }
    return out;
}

void order_terms(Order *o, Index i, Term *out)
{
    for (uint32_t n = 0; n < i->nterms; n++) {
        Term t = i->terms[n];
        t.atoms = sorted_atoms(o, &t);
        uint32_t k = n;
        for (; k && compare_terms(o, &t, &out[k - 1]) < 0; k--)
            out[k] = out[k - 1];
        out[k] = t;
    }
}

typedef struct Ordinals {
    uint32_t *at, count;
} Ordinals;

static void count_node(void *context, NodeId n)
{
    Ordinals *o = context;
    o->at[n] = ++o->count;
}

uint32_t *node_ordinals(const Model *m, Arena *a, uint32_t *count)
{
    Ordinals o = {NEWS(a, uint32_t, m->nodes.len + 1), 0};
    if (m->main)
        graph_walk(m, m->main, count_node, &o);
    *count = o.count;
    return o.at;
}
