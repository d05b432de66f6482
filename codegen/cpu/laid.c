#include "codegen/cpu/laid.h"

Stmt *laid_loop(Module *mod, LoopId v, Stmt *body)
{
    Stmt *loop = NEW(mod->arena, Stmt);
    *loop = (Stmt){.kind = S_FOR, .par = true, .var = v, .body = body};
    return loop;
}

static Stmt *new_store(Module *mod, BufferId to, uint32_t rank, const Index *at, const Expr *value)
{
    Stmt *s = NEW(mod->arena, Stmt);
    *s = (Stmt){.kind = S_STORE, .buffer = to, .rank = rank, .at = at, .value = value};
    return s;
}

const Index *laid_in_pixels(Module *mod, const Laid *v, const Index *at)
{
    Polys *polys = mod->polys;
    Index lanes = poly_const(polys, v->lanes);
    Index *to = NEWS(mod->arena, Index, LAID_RANK + 1);
    to[0] = at[0];
    to[1] = poly_floordiv(polys, at[1], lanes);
    to[2] = poly_add_const(polys, at[2], v->border);
    to[3] = poly_add_const(polys, at[3], v->border);
    to[4] = poly_mod(polys, at[1], lanes);
    return to;
}

// Moves blocks first .. first + blocks of a value, so many lanes of each, from one layout to the
// other.
static Stmt *move_blocks(Module *mod, const Laid *v, uint32_t to, int64_t first, int64_t blocks,
                         int64_t lanes)
{
    Polys *polys = mod->polys;
    const Buffer *planes = buffer_at(mod, v->in[PLANES]);
    const int64_t whole = v->lanes;
    const LoopId n = loop_new(polys, planes->dims[0]);
    const LoopId block = loop_new(polys, poly_const(polys, blocks));
    const LoopId i = loop_new(polys, planes->dims[2]), j = loop_new(polys, planes->dims[3]);
    const LoopId lane = loop_new(polys, poly_const(polys, lanes));
    Index *at = NEWS(mod->arena, Index, LAID_RANK);
    at[0] = poly_loop(polys, n);
    at[1] = poly_scale(polys, poly_add_const(polys, poly_loop(polys, block), first), whole);
    at[1] = poly_add(polys, at[1], poly_loop(polys, lane));
    at[2] = poly_loop(polys, i);
    at[3] = poly_loop(polys, j);
    const Index *pixel = laid_in_pixels(mod, v, at);
    const bool pixels = to == PIXELS;
    const Expr *value = expr_load(mod, v->in[!to], pixels ? at : pixel);
    Stmt *s =
        new_store(mod, v->in[to], pixels ? LAID_RANK + 1 : LAID_RANK, pixels ? pixel : at, value);
    const LoopId vars[] = {n, block, i, pixels ? j : lane, pixels ? lane : j};
    for (int k = 5; k > 0; k--)
        s = laid_loop(mod, vars[k - 1], s);
    return s;
}

Stmt *laid_move(Module *mod, const Laid *v, uint32_t to)
{
    const int64_t lanes = v->lanes;
    const int64_t blocks = v->dims[1] / lanes, rest = v->dims[1] % lanes;
    Stmt *tail = rest ? move_blocks(mod, v, to, blocks, 1, rest) : NULL;
    if (blocks == 0)
        return tail;
    Stmt *s = move_blocks(mod, v, to, 0, blocks, lanes);
    s->next = tail;
    return s;
}

Stmt *laid_blank(Module *mod, const Laid *v)
{
    Polys *polys = mod->polys;
    const Buffer *buf = buffer_at(mod, v->in[PIXELS]);
    const int64_t lanes = v->lanes, rest = v->dims[1] % lanes;
    const LoopId vars[] = {loop_new(polys, buf->dims[0]), loop_new(polys, buf->dims[2]),
                           loop_new(polys, buf->dims[3]),
                           loop_new(polys, poly_const(polys, lanes - rest))};
    Index *at = NEWS(mod->arena, Index, LAID_RANK + 1);
    at[0] = poly_loop(polys, vars[0]);
    at[1] = poly_const(polys, v->blocks - 1);
    at[2] = poly_loop(polys, vars[1]);
    at[3] = poly_loop(polys, vars[2]);
    at[4] = poly_add_const(polys, poly_loop(polys, vars[3]), rest);
    Stmt *s =
        new_store(mod, v->in[PIXELS], LAID_RANK + 1, at, expr_const(mod, buf->dtype, (Scalar){0}));
    for (int i = 4; i > 0; i--)
        s = laid_loop(mod, vars[i - 1], s);
    return s;
}

// Loops over the border's lines of one side and the other, all of a line, of block vars[1] of image
// vars[0]; or the same of columns.
static Stmt *border_side(Module *mod, const Laid *v, uint32_t dim, LoopId *vars, const Expr *value)
{
    Polys *polys = mod->polys;
    const Buffer *buf = buffer_at(mod, v->in[PIXELS]);
    Index *low = NEWS(mod->arena, Index, LAID_RANK + 1),
          *high = NEWS(mod->arena, Index, LAID_RANK + 1);
    for (uint32_t i = 0; i < LAID_RANK + 1; i++) {
        if (i >= 2)
            vars[i] = loop_new(polys, i == dim ? poly_const(polys, v->border) : buf->dims[i]);
        low[i] = high[i] = poly_loop(polys, vars[i]);
    }
    high[dim] = poly_add_const(polys, low[dim], v->border + v->dims[dim]);
    Stmt *s = new_store(mod, v->in[PIXELS], LAID_RANK + 1, low, value);
    s->next = new_store(mod, v->in[PIXELS], LAID_RANK + 1, high, value);
    for (uint32_t i = LAID_RANK + 1; i > 2; i--)
        s = laid_loop(mod, vars[i - 1], s);
    return s;
}

Stmt *laid_border(Module *mod, const Laid *v)
{
    const DType t = buffer_at(mod, v->in[PIXELS])->dtype;
    const Expr *value =
        v->around ? expr_cast(mod, t, v->around, false) : expr_const(mod, t, (Scalar){0});
    const Buffer *buf = buffer_at(mod, v->in[PIXELS]);
    LoopId vars[LAID_RANK + 1] = {loop_new(mod->polys, buf->dims[0]),
                                  loop_new(mod->polys, buf->dims[1])};
    Stmt *body = border_side(mod, v, 2, vars, value);
    body->next = border_side(mod, v, 3, vars, value);
    return laid_loop(mod, vars[0], laid_loop(mod, vars[1], body));
}
