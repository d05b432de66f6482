#include "codegen/cpu/pixel_finish.h"

#include <math.h>
#include <stdlib.h>

typedef struct Terms {
    Module *mod;
    const PixelConv *c;
    PixelFinish *f;
    bool sum; // it was met
} Terms;

static bool is_number(const Expr *e)
{
    return e->kind == EX_CONST && e->dtype == DT_F32 && !isnan(e->value.f);
}

// Takes bounds off *e, the inner one last; false: they are out of order.
static bool take_bounds(const Expr **e, PixelFinish *f)
{
    f->low = -INFINITY;
    f->high = INFINITY;
    bool low = false, high = false;
    while ((*e)->kind == EX_BINARY && ((*e)->op == B_MIN || (*e)->op == B_MAX)) {
        const Expr *x = is_number((*e)->b) ? (*e)->a : (*e)->b;
        const Expr *bound = is_number((*e)->b) ? (*e)->b : (*e)->a;
        bool *seen = (*e)->op == B_MIN ? &high : &low;
        if (!is_number(bound) || *seen)
            return false;
        *seen = true;
        *((*e)->op == B_MIN ? &f->high : &f->low) = (float)bound->value.f;
        *e = x;
    }
    return f->low <= f->high;
}

static bool is_sum(const Terms *t, const Expr *e)
{
    return e->kind == EX_LOAD && e->buffer == t->c->sums;
}

// Is e a value in pixels of bfloat16 whose places along a row are neighbours, as y's?
static bool is_added(const Terms *t, const Expr *e)
{
    Polys *polys = t->mod->polys;
    const Expr *x = e->kind == EX_CAST ? e->a : e;
    return e->kind == EX_CAST && e->dtype == DT_F32 && x->kind == EX_LOAD && x->dtype == DT_BF16 &&
           x->rank == 5 && poly_equals(buffer_at(t->mod, x->buffer)->dims[4], t->c->columns) &&
           x->at[4] == poly_loop(polys, t->c->lane) && x->at[1] == poly_loop(polys, t->c->block) &&
           poly_is_const(poly_sub(polys, x->at[2], poly_loop(polys, t->c->n[0])), NULL) &&
           poly_is_const(poly_sub(polys, x->at[3], poly_loop(polys, t->c->n[1])), NULL);
}

static bool take_product(Terms *t, const Expr *e)
{
    const bool first = is_sum(t, e->a);
    if (!first && !is_sum(t, e->b))
        return false;
    t->sum = true;
    return (t->f->scale = pixel_conv_table(t->mod, t->c, first ? e->b : e->a)) != 0;
}

static bool take_term(Terms *t, const Expr *e)
{
    if (e->kind == EX_BINARY && e->op == B_ADD)
        return take_term(t, e->a) && take_term(t, e->b);
    if (e->kind == EX_BINARY && e->op == B_MUL && !t->sum)
        return take_product(t, e);
    if (is_sum(t, e) && !t->sum)
        return t->sum = true;
    if (is_added(t, e) && !t->f->added) {
        t->f->added = e->a;
        return true;
    }
    return !t->f->bias && (t->f->bias = pixel_conv_table(t->mod, t->c, e)) != 0;
}

PixelFinish *pixel_finish_of(Module *mod, const PixelConv *c, const Expr *e)
{
    PixelFinish f = {0};
    Terms t = {.mod = mod, .c = c, .f = &f};
    if (!take_bounds(&e, &f) || !take_term(&t, e) || !t.sum)
        return NULL;
    PixelFinish *to = NEW(mod->arena, PixelFinish);
    *to = f;
    return to;
}

// ---- printing ----------------------------------------------------------------------------------

static const char *print_table(Printer *p, const PixelConv *c, BufferId b)
{
    return b ? str_printf(p->arena, "%s + %lld * i%u", bytes_name(p, b), (long long)c->columns,
                          c->block)
                   .at
             : "NULL";
}

static const char *print_bound(Printer *p, float bound)
{
    return print_literal(p, DT_F32, (Scalar){.f = bound});
}

void pixel_finish_print(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const PixelFinish *f = c->finish;
    const char *low = print_bound(p, f->low), *high = print_bound(p, f->high);
    const Expr *x = f->added;
    const char *added =
        x ? str_printf(p->arena, "&%s", print_element(p, x->buffer, x->at)).at : "NULL";
    print_line(p, "const cameo_pixel_ends ends = {%s, %s, %s, %s, %s};",
               print_table(p, c, f->scale), print_table(p, c, f->bias), added, low, high);
    print_line(p, "cameo_pixel_finish(&%s, &%s, high - low, &ends);",
               print_element(p, conv->store->buffer, conv->store->at),
               print_element(p, c->sums, c->store->at));
}
