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

const PixelPlanes *pixel_planes_of(Module *mod, const PixelConv *c, Index at, Stmt *store)
{
    const int64_t apart = step_along(mod, store, c->lane);
    if (c->dtype != DT_BF16 || store->value->dtype != DT_F32 || store->next ||
        buffer_at(mod, store->buffer)->dtype != DT_F32 || c->channels % c->columns != 0 ||
        apart < SIDE || step_along(mod, store, c->n[1]) != 1)
        return NULL;
    PixelPlanes *planes = NEW(mod->arena, PixelPlanes);
    Index *to = NEW(mod->arena, Index);
    *to = at;
    planes->apart = apart;
    const Expr *value = inner_of(store->value, &planes->rows);
    *store = (Stmt){.kind = S_STORE, .buffer = c->sums, .rank = 1, .at = to, .value = value};
    return planes;
}

void pixel_planes_print(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const char *sums = print_element(p, c->sums, c->store->at);
    if (c->flat->rows)
        print_line(p, "cameo_%s_rows(&%s, 1, 0, (high - low) * %lld);", c->flat->rows, sums,
                   (long long)c->columns);
    print_line(p, "cameo_pixel_planes(&%s, %s, &%s, %lld, high - low);",
               print_element(p, conv->store->buffer, conv->store->at),
               print_size(p, c->flat->apart), sums, (long long)c->columns);
    p->silus |= c->flat->rows != NULL;
    p->planes = true;
}
