// The least and the greatest of a row, stored one behind the other, as DynamicQuantizeLinear asks
// for both: a function of the runtime reads the row once, since compilers do not join the two
// loops.

#include "codegen/print_parts.h"

// Does s store the least or the greatest (op) of a row of float32, element by element?
static const Expr *extreme_of(Printer *p, const Stmt *s, ReduceOp op)
{
    const Expr *e = s && s->kind == S_STORE ? s->value : NULL;
    Index by;
    if (!e || e->kind != EX_REDUCE || e->op != op || e->rank != 1 || e->dtype != DT_F32 ||
        e->b->kind != EX_LOAD || e->b->dtype != DT_F32 || e->b->buffer == s->buffer ||
        p->temp_of[e->id] || !lanes_fit(p, e))
        return NULL;
    const Buffer *b = buffer_at(p->mod, e->b->buffer);
    Index at = linear_index(p, b->rank, b->dims, e->b->at);
    return buffer_at(p->mod, s->buffer)->dtype == DT_F32 && b->dtype == DT_F32 &&
                   factor_of(p, at, e->vars[0], &by) && poly_equals(by, 1)
               ? e
               : NULL;
}

// Where the row begins.
static Index begin_of(Printer *p, const Expr *e)
{
    const Buffer *b = buffer_at(p->mod, e->b->buffer);
    Polys *polys = p->mod->polys;
    Index at = linear_index(p, b->rank, b->dims, e->b->at);
    return poly_sub(polys, at, poly_loop(polys, e->vars[0]));
}

const Stmt *extremes_print(Printer *p, const Stmt *s)
{
    const Expr *low = p->dialect->rows ? extreme_of(p, s, R_MIN) : NULL;
    const Expr *high = low ? extreme_of(p, s->next, R_MAX) : NULL;
    if (!high || low->b->buffer != high->b->buffer || s->buffer == s->next->buffer ||
        s->buffer == high->b->buffer || s->next->buffer == low->b->buffer ||
        print_extent(p, low->vars[0]) != print_extent(p, high->vars[0]) ||
        begin_of(p, low) != begin_of(p, high))
        return NULL;
    p->extremes = true;
    access_note(p->arena, &p->printed.buffers, low->b->buffer, ACCESS_READ);
    print_line(p, "cameo_extremes_f32(b%u + %s, %s, &%s, &%s);", low->b->buffer,
               print_index(p, begin_of(p, low)), print_index_bare(p, print_extent(p, low->vars[0])),
               print_element(p, s->buffer, s->at), print_element(p, s->next->buffer, s->next->at));
    return s->next;
}
