// A parallel loop over neighbours around sequential loops with a scalar for each neighbour (a
// running sum down the columns) is turned inside out: the scalar becomes a row, and the neighbours
// are walked innermost, where their elements lie next to each other. What one neighbour does stays
// in order.

#include "codegen/print_parts.h"

enum { ROW = 256 };

typedef struct Strides {
    Printer *p;
    LoopId v;
    bool near;
} Strides;

static void test_index(Strides *s, uint32_t rank, const Index *dims, const Index *at)
{
    Index factor;
    int64_t k;
    if (!factor_of(s->p, linear_index(s->p, rank, dims, at), s->v, &factor) ||
        !poly_is_const(factor, &k) || k < 0 || k > 1)
        s->near = false;
}

static void test_expr(void *context, const Expr *e)
{
    Strides *s = context;
    if (e->kind == EX_LOAD) {
        const Buffer *b = buffer_at(s->p->mod, e->buffer);
        test_index(s, b->rank, b->dims, e->at);
    }
    s->near = s->near && e->kind != EX_REDUCE && !(e->kind == EX_LOCAL && e->rank);
}

// Scalars, assignments, stores, and sequential loops of such; how many loops and scalars.
static bool fits(Strides *s, const Stmt *body, uint32_t *loops, uint32_t *scalars)
{
    for (; body && s->near; body = body->next) {
        if (body->kind == S_ROW && body->rank == 0) {
            ++*scalars;
        } else if (body->kind == S_FOR && !body->par) {
            LoopId v = s->v;
            Index factor, extent = loop_extent(s->p->mod->polys, body->var);
            ++*loops;
            if (!factor_of(s->p, extent, v, &factor) || !poly_equals(factor, 0) ||
                !fits(s, body->body, loops, scalars))
                return false;
        } else if ((body->kind == S_SET && body->rank == 0) || body->kind == S_STORE) {
            expr_walk(s->p->mod, body->value, test_expr, s);
            if (body->kind == S_STORE) {
                const Buffer *b = buffer_at(s->p->mod, body->buffer);
                test_index(s, b->rank, b->dims, body->at);
            }
        } else {
            return false;
        }
    }
    return s->near;
}

static void print_turned(Printer *p, LoopId v, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_ROW) {
            print_line(p, "%s v%u[%d];", type_of_value(p, s->dtype), s->local, ROW);
            p->is_row[s->local] = p->round;
            p->rows[s->local] = s;
            continue;
        }
        LoopId var = s->kind == S_FOR ? s->var : v;
        if (s->kind == S_FOR)
            print_line(p, "for (int64_t i%u = 0; i%u < %s; i%u++) {", var, var,
                       print_index_bare(p, print_extent(p, var)), var);
        else
            print_line(p, "for (int64_t i%u = low%u; i%u < high%u; i%u++) {", v, v, v, v, v);
        print_bind_loop(p, var, 1);
        uint32_t mark = print_block_begin(p);
        if (s->kind == S_FOR)
            print_turned(p, v, s->body);
        else
            print_stmt(p, s);
        print_block_end(p, mark);
        print_bind_loop(p, var, -1);
        print_line(p, "}");
    }
}

bool interchange_print(Printer *p, const Stmt *loop)
{
    Strides s = {p, loop->var, true};
    uint32_t loops = 0, scalars = 0;
    if (!loop->par || p->turned || !fits(&s, loop->body, &loops, &scalars) || !loops || !scalars)
        return false;
    LoopId v = loop->var;
    const char *n = loop_high(p, v);
    print_line(p, "for (int64_t low%u = %s; low%u < %s; low%u += %d) {", v, loop_low(p, v), v, n, v,
               ROW);
    uint32_t mark = print_block_begin(p);
    print_line(p, "const int64_t high%u = cameo_min_i64(low%u + %d, %s);", v, v, ROW, n);
    p->turned = v;
    print_turned(p, v, loop->body);
    p->turned = 0;
    print_block_end(p, mark);
    print_line(p, "}");
    return true;
}
