#include "codegen/cpu/pixel_finish.h"

#include "codegen/print_parts.h"

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
           x->at[4] == poly_loop(polys, t->c->lane) &&
           (t->c->part || x->at[1] == poly_loop(polys, t->c->block)) &&
           poly_is_const(poly_sub(polys, x->at[2], poly_loop(polys, t->c->n[0])), NULL) &&
           poly_is_const(poly_sub(polys, x->at[3], poly_loop(polys, t->c->n[1])), NULL);
}

// The sum, or what is added, times a constant of the channel.
static bool take_product(Terms *t, const Expr *e)
{
    const bool sum = is_sum(t, e->a) || is_sum(t, e->b);
    const Expr *by = (sum ? is_sum(t, e->a) : is_added(t, e->a)) ? e->b : e->a;
    const Expr *x = by == e->b ? e->a : e->b;
    const BufferId table = pixel_conv_table(t->mod, t->c, by);
    if (!table || (sum ? t->sum : t->f->added || !is_added(t, x)))
        return false;
    if (sum) {
        t->sum = true;
        t->f->scale = table;
    } else {
        t->f->added = x->a;
        t->f->by = table;
    }
    return true;
}

static bool take_term(Terms *t, const Expr *e)
{
    if (e->kind == EX_BINARY && e->op == B_ADD)
        return take_term(t, e->a) && take_term(t, e->b);
    if (e->kind == EX_BINARY && e->op == B_MUL)
        return take_product(t, e);
    if (is_sum(t, e) && !t->sum)
        return t->sum = true;
    if (is_added(t, e) && !t->f->added) {
        t->f->added = e->a;
        return true;
    }
    return !t->f->bias && (t->f->bias = pixel_conv_table(t->mod, t->c, e)) != 0;
}

const Expr *pixel_finish_silu_of(const Expr *e)
{
    for (int i = 0; e->kind == EX_BINARY && e->op == B_MUL && i < 2; i++) {
        const Expr *x = i ? e->b : e->a;
        if (forms_sigmoid(i ? e->a : e->b) == x)
            return x;
    }
    return NULL;
}

// silu(sum * scale + bias), or with what is added to that; false: it is none, and *f is unchanged.
static bool take_silu(Terms *t, const Expr *e)
{
    const Expr *added = NULL, *x = pixel_finish_silu_of(e);
    for (int i = 0; !x && e->kind == EX_BINARY && e->op == B_ADD && i < 2; i++) {
        added = i ? e->a : e->b;
        x = is_added(t, added) ? pixel_finish_silu_of(i ? e->b : e->a) : NULL;
    }
    PixelFinish f = {.silu = true, .low = -INFINITY, .high = INFINITY};
    Terms inside = {.mod = t->mod, .c = t->c, .f = &f};
    if (!x || x->dtype != DT_F32 || !take_term(&inside, x) || !inside.sum || f.added)
        return false;
    f.added = added ? added->a : NULL;
    *t->f = f;
    return true;
}

PixelFinish *pixel_finish_of(Module *mod, const PixelConv *c, const Expr *e)
{
    PixelFinish f = {0};
    Terms t = {.mod = mod, .c = c, .f = &f};
    if (!take_silu(&t, e) && (c->part || !take_bounds(&e, &f) || !take_term(&t, e) || !t.sum))
        return NULL;
    PixelFinish *to = NEW(mod->arena, PixelFinish);
    *to = f;
    return to;
}

// ---- printing ----------------------------------------------------------------------------------

static const char *print_table(Printer *p, const PixelConv *c, BufferId b)
{
    return b ? str_printf(p->arena, "%s + %s * i%u", bytes_name(p, b), print_size(p, c->columns),
                          c->block)
                   .at
             : "NULL";
}

static const char *print_bound(Printer *p, float bound)
{
    return print_literal(p, DT_F32, (Scalar){.f = bound});
}

static void print_ends(Printer *p, const PixelConv *c)
{
    const PixelFinish *f = c->finish;
    const char *low = print_bound(p, f->low), *high = print_bound(p, f->high);
    const Expr *x = f->added;
    const char *added =
        x ? str_printf(p->arena, "&%s", print_element(p, x->buffer, x->at)).at : "NULL";
    print_line(p, "const cameo_pixel_ends ends = {%s, %s, %s, %s, %s, %s};",
               print_table(p, c, f->scale), print_table(p, c, f->bias), added,
               print_table(p, c, f->by), low, high);
}

void pixel_finish_print_window(Printer *p, const PixelConv *c)
{
    const PixelFinish *f = c->finish;
    print_line(p, "const cameo_pixel_window_ends ends = {%s, %s, %s, %s, %d};",
               print_table(p, c, f->scale), print_table(p, c, f->bias), print_bound(p, f->low),
               print_bound(p, f->high), f->silu);
}

static void print_finish(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const PixelFinish *f = c->finish;
    print_ends(p, c);
    const char *to = print_element(p, conv->store->buffer, conv->store->at);
    const char *sums = print_element(p, c->sums, c->store->at);
    if (f->silu)
        print_line(p, "cameo_pixel_silu(&%s, &%s, high - low, %lld, %d, &ends);", to, sums,
                   (long long)pixel_conv_lanes(c), c->part == 0);
    else
        print_line(p, "cameo_pixel_finish(&%s, &%s, high - low, &ends);", to, sums);
}

void pixel_finish_begin_y(Printer *p, const Conv *conv, const char *name)
{
    const PixelFinish *f = conv->pixels->finish;
    pixel_conv_begin_y(p, conv, f->added, name, f->silu ? ", 1" : ", 0");
    print_ends(p, conv->pixels);
}

void pixel_finish_print_fused(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    pixel_conv_begin_fused(p, conv, c->finish->silu ? "sigmoid" : "clip");
    print_ends(p, c);
    print_line(p, "cameo_pixel_fused_halves(&groups, &h, &cut, %s, %s, &fuse, &ends);", from, to);
    pixel_conv_end_fused(p, conv);
}

void pixel_finish_print(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    if (c->finish->silu)
        print_line(p, "#ifdef CAMEO_PIXEL_SILU");
    print_line(p, "const int64_t i%u = low, i%u = 0;", c->n[1], c->lane);
    print_bind_loop(p, c->n[1], 1);
    print_bind_loop(p, c->lane, 1);
    print_finish(p, conv);
    print_bind_loop(p, c->n[1], -1);
    print_bind_loop(p, c->lane, -1);
    if (c->finish->silu)
        print_line(p, "#endif");
}

// ---- channels that fill up a block -------------------------------------------------------------

// Sums, tables and other values in pixels are 0 there; what else is read by its channel is not.
static const Expr *nothing(void *context, const Expr *e)
{
    const Terms *t = context;
    if (e->kind != EX_LOAD)
        return NULL;
    const bool zero =
        e->buffer == t->c->sums || e->rank == 5 || e->at[0] == pixel_conv_channel(t->mod, t->c);
    return zero ? expr_const(t->mod, e->dtype, (Scalar){0}) : NULL;
}

bool pixel_finish_fills(Module *mod, const PixelConv *c)
{
    const Expr *e = c->store->value;
    if (e->kind == EX_CAST && e->a->dtype == DT_F32)
        e = e->a;
    Terms t = {.mod = mod, .c = c};
    ExprMap map = {&t, nothing, NULL};
    Scalar v;
    e = expr_map(mod, e, &map);
    return e->dtype == DT_F32 && expr_number(e, &v) && v.f == 0;
}
