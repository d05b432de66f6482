#include "codegen/offsets.h"

enum { FEW = 3 }; // dims whose sum stays where it is

typedef struct Offset {
    Index sum, dim;
} Offset;

typedef struct Offsets {
    Module *mod;
    VEC(Offset) known; // defined by earlier steps of the list in question
    Step **place;      // where the next definition goes
} Offsets;

// The terms of i that are dims, added as often as they count; NULL: they are few.
static Index dims_of(Polys *p, Index i)
{
    Index sum = poly_const(p, 0);
    uint32_t n = 0;
    for (uint32_t t = 0; t < i->nterms; t++) {
        const Term *term = &i->terms[t];
        if (term->natoms != 1 || term->atoms[0]->kind != ATOM_DIM || term->coeff < 0)
            continue;
        Index dim = poly_dim(p, term->atoms[0]->var);
        sum = poly_add(p, sum, poly_scale(p, dim, term->coeff));
        n++;
    }
    return n > FEW ? sum : NULL;
}

static Index named(Offsets *o, Index sum, NodeId node)
{
    Polys *p = o->mod->polys;
    Index value = sum;
    for (uint32_t i = o->known.len; i-- > 0;) {
        Index rest = poly_sub(p, sum, o->known.at[i].sum);
        if (poly_equals(rest, 0))
            return o->known.at[i].dim;
        if (rest->nterms <= FEW && value == sum)
            value = poly_add(p, o->known.at[i].dim, rest);
    }
    Step *s = NEW(o->mod->arena, Step);
    *s = (Step){.kind = STEP_DIM, .node = node, .next = *o->place, .value = value};
    s->dim = dim_new(p, STR("offset"), 0);
    *o->place = s;
    o->place = &s->next;
    Offset offset = {sum, poly_dim(p, s->dim)};
    vec_push(o->mod->arena, &o->known, offset);
    return offset.dim;
}

static void name_stores(Offsets *o, Stmt *s, NodeId node)
{
    Polys *p = o->mod->polys;
    for (; s; s = s->next) {
        Index *at = s->kind == S_STORE ? NEWS(o->mod->arena, Index, s->rank) : NULL;
        for (uint32_t k = 0; at && k < s->rank; k++) {
            Index sum = dims_of(p, s->at[k]);
            at[k] = sum ? poly_add(p, poly_sub(p, s->at[k], sum), named(o, sum, node)) : s->at[k];
        }
        s->at = at ? at : s->at;
        name_stores(o, s->body, node);
        name_stores(o, s->other, node);
    }
}

static bool is_dim(void *context, const Atom *a)
{
    return a->kind == ATOM_DIM && a->var == *(const DimId *)context;
}

// Sums of a dim that is defined anew are others from here on.
static void forget(Offsets *o, DimId dim)
{
    for (uint32_t i = 0; i < o->known.len; i++)
        if (poly_any(o->known.at[i].sum, is_dim, &dim))
            o->known.len = 0;
}

// Bodies define dims, and may not run.
static void name_steps(Module *mod, Step **list)
{
    Offsets o = {.mod = mod};
    for (Step *s = *list; s; list = &s->next, s = s->next) {
        o.place = list;
        if (s->kind == STEP_DIM)
            forget(&o, s->dim);
        if (s->body || s->other)
            o.known.len = 0;
        if (s->kernel && !s->kernel->override && !s->kernel->point)
            name_stores(&o, s->kernel->body, s->node);
        name_steps(mod, &s->body);
        name_steps(mod, &s->other);
    }
}

void name_offsets(Module *mod)
{
    name_steps(mod, &mod->steps);
}
