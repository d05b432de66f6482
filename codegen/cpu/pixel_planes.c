#include "codegen/cpu/pixel_planes.h"
#include "codegen/cpu/pixel_finish.h"
#include "codegen/print_parts.h"

enum { SIDE = 4 }; // of what is turned in registers

typedef struct OneOn {
    Polys *polys;
    LoopId v;
} OneOn;

static Index one_on(void *context, const Atom *a)
{
    const OneOn *s = context;
    return a->kind == ATOM_LOOP && a->var == s->v
               ? poly_add_const(s->polys, poly_loop(s->polys, s->v), 1)
               : NULL;
}

// Elements between neighbours along v; 0: it is no such number.
static int64_t step_along(Module *mod, const Stmt *store, LoopId v)
{
    const Buffer *b = buffer_at(mod, store->buffer);
    Polys *polys = mod->polys;
    Index linear = poly_const(polys, 0);
    OneOn next = {polys, v};
    int64_t n;
    for (uint32_t i = 0; i < b->rank; i++)
        linear = poly_add(polys, poly_mul(polys, linear, b->dims[i]), store->at[i]);
    const Index moved = poly_sub(polys, poly_map(polys, linear, one_on, &next), linear);
    return poly_is_const(moved, &n) ? n : 0;
}

// x, where e is a function of rows of it, and which.
static const Expr *inner_of(const Expr *e, const char **rows)
{
    const Expr *silu = pixel_finish_silu_of(e), *x = silu ? silu : forms_sigmoid(e);
    *rows = silu ? "silu" : x ? "sigmoid" : NULL;
    return x ? x : e;
}

// Of float32 what is stored, of bfloat16 what is rounded to that; NULL: neither.
static const Expr *before_rounding(Module *mod, const Stmt *store)
{
    const DType t = buffer_at(mod, store->buffer)->dtype;
    const Expr *e = store->value;
    const Expr *x = t == DT_BF16 && e->kind == EX_CAST ? e->a : t == DT_F32 ? e : NULL;
    return x && x->dtype == DT_F32 ? x : NULL;
}

// As before_rounding; of bytes, whose sums are int32, what has the bits of what is stored.
static const Expr *in_place(Module *mod, const PixelConv *c, const Stmt *store)
{
    const Expr *e = store->value;
    if (c->dtype == DT_BF16)
        return before_rounding(mod, store);
    if (e->dtype != buffer_at(mod, store->buffer)->dtype)
        return NULL;
    return e->dtype == DT_F32 ? expr_bitcast(mod, DT_I32, e) : e->dtype == DT_I32 ? e : NULL;
}

bool pixel_planes_fit(Module *mod, const PixelConv *c, const Stmt *store, LoopId channel)
{
    return !store->next && in_place(mod, c, store) &&
           step_along(mod, store, channel) >= SIDE && step_along(mod, store, c->n[1]) == 1;
}

const PixelPlanes *pixel_planes_of(Module *mod, const PixelConv *c, Index at, Stmt *store)
{
    if (!pixel_planes_fit(mod, c, store, c->lane))
        return NULL;
    PixelPlanes *planes = NEW(mod->arena, PixelPlanes);
    Index *to = NEW(mod->arena, Index);
    *to = at;
    planes->apart = step_along(mod, store, c->lane);
    planes->halves = buffer_at(mod, store->buffer)->dtype == DT_BF16;
    const Expr *value = inner_of(in_place(mod, c, store), &planes->rows);
    *store = (Stmt){.kind = S_STORE, .buffer = c->sums, .rank = 1, .at = to, .value = value};
    return planes;
}

void pixel_planes_print(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const PixelPlanes *f = c->flat;
    const long long columns = (long long)c->columns;
    const char *sums = print_element(p, c->sums, c->store->at);
    const char *y = print_element(p, conv->store->buffer, conv->store->at);
    const char *apart = print_size(p, f->apart);
    const bool whole = c->channels % c->columns == 0; // else the last block has fewer channels
    if (f->rows && (whole || f->halves))
        print_line(p, "cameo_%s_rows(&%s, 1, 0, (high - low) * %lld);", f->rows, sums, columns);
    if (!whole)
        print_line(p, "const int64_t left = %s - %lld * i%u, some = left < %lld ? left : %lld;",
                   print_size(p, c->channels), columns, c->block, columns, columns);
    print_line(p, "cameo_pixel_planes%s(&%s, %s, &%s, %lld, %s, high - low);",
               f->halves ? "_bf16" : "", y, apart, sums, columns,
               whole ? str_printf(p->arena, "%lld", columns).at : "some");
    if (f->rows && !whole && !f->halves)
        print_line(p, "cameo_%s_rows(&%s, some, %s, high - low);", f->rows, y, apart);
    p->silus |= f->rows != NULL;
    p->planes |= !f->halves;
}
