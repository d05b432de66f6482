// The least and the greatest of a row, stored one behind the other, as DynamicQuantizeLinear asks
// for both: a function of the runtime reads the row once, since compilers do not join the two
// loops.

#include "codegen/print_parts.h"

enum { LEAST = 32 }; // lanes of the function

// Does s store the least or the greatest (op) of a row of float32, element by element?
static const Expr *extreme_of(Printer *p, const Stmt *s, ReduceOp op)
{
    const Expr *e = s && s->kind == S_STORE ? s->value : NULL;
    return e && p->dialect->rows && e->kind == EX_REDUCE && e->op == op && !e->a && e->rank > 0 &&
                   e->dtype == DT_F32 && e->b->kind == EX_LOAD && e->b->dtype == DT_F32 &&
                   e->b->buffer != s->buffer && !p->temp_of[e->id] &&
                   !expr_facts(p, e->b)->reduces &&
                   buffer_at(p->mod, s->buffer)->dtype == DT_F32 &&
                   buffer_at(p->mod, e->b->buffer)->dtype == DT_F32
               ? e
               : NULL;
}

typedef struct Row {
    Index begin, length;
} Row;

// The elements that e reads; false: they are no row of neighbours, or known to be fewer than LEAST.
static bool read_row(Printer *p, const Expr *e, Row *r)
{
    const Buffer *b = buffer_at(p->mod, e->b->buffer);
    Polys *polys = p->mod->polys;
    Index at = linear_index(p, b->rank, b->dims, e->b->at), by;
    int64_t known;
    *r = (Row){at, poly_const(polys, 1)};
    for (uint32_t i = e->rank; i > 0; i--) {
        LoopId v = e->vars[i - 1];
        if (!factor_of(p, at, v, &by) || by != r->length || poly_varies(print_extent(p, v)))
            return false;
        r->begin = poly_sub(polys, r->begin, poly_mul(polys, by, poly_loop(polys, v)));
        r->length = poly_mul(polys, r->length, print_extent(p, v));
    }
    return !poly_is_const(r->length, &known) || known >= LEAST;
}

const Stmt *extremes_print(Printer *p, const Stmt *s)
{
    const Expr *low = extreme_of(p, s, R_MIN);
    const Expr *high = low ? extreme_of(p, s->next, R_MAX) : NULL;
    Row row, other;
    if (!high || low->b->buffer != high->b->buffer || s->buffer == s->next->buffer ||
        s->buffer == high->b->buffer || s->next->buffer == low->b->buffer ||
        !read_row(p, low, &row) || !read_row(p, high, &other) || row.begin != other.begin ||
        row.length != other.length)
        return NULL;
    p->extremes = true;
    access_note(p->arena, &p->printed.buffers, low->b->buffer, ACCESS_READ);
    print_line(p, "cameo_extremes_f32(b%u + %s, %s, &%s, &%s);", low->b->buffer,
               print_index(p, row.begin), print_index_bare(p, row.length),
               print_element(p, s->buffer, s->at), print_element(p, s->next->buffer, s->next->at));
    return s->next;
}
