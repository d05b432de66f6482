// A convolution of float64 that only figures read, computed a block at a time in front of them.

#include "codegen/cpu/conv.h"
#include "codegen/cpu/figures_join.h"
#include "codegen/cpu/gemm.h"

// Bytes of a block, at most: it stays in the second cache, beside what else its stretches read. And
// of all that the convolution makes, at least: less than that stays there until it is read.
enum { MOST = 1 << 19, LEAST = 1 << 20 };

// The kernel's convolution of float64 whose sums nothing is done to, or NULL.
static const Conv *product_of(const Kernel *k)
{
    const Conv *c = k && k->override ? k->override->conv : NULL;
    return c && c->wide && !c->epilogue && !c->finish ? c : NULL;
}

// Is the buffer made once, and read by figures of this run alone?
static bool is_measured(const Joining *j, BufferId b)
{
    const Buffer *buf = buffer_at(j->mod, b);
    if (buf->kind != BUF_TEMP || buf->dtype != DT_F64 || j->kept[b] || j->writes[b] != 1 ||
        j->reads[b] != j->inner[b] || j->list[b] != j->here || !joining_same_dims(j, buf))
        return false;
    uint32_t calls = 0;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        const Call *c = j->steps.at[i]->call;
        bool reads = false;
        for (uint32_t n = 0; c && n < c->nreads; n++)
            reads = reads || c->reads[n] == b;
        calls += reads;
    }
    return calls == j->reads[b];
}

// May the step wait until those up to `run` are done? They write nothing that it reads.
static bool may_wait(Joining *j, const Step *step, const Step *run)
{
    const KernelUses own = joining_uses(j, step);
    for (const Step *s = step->next; s != run; s = s->next) {
        if (s->kind != STEP_KERNEL && s->kind != STEP_CALL)
            return false;
        const KernelUses u = joining_uses(j, s);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            if ((u.buffers.at[i].bits & ACCESS_WRITE) &&
                access_bits(&own.buffers, u.buffers.at[i].id))
                return false;
    }
    return true;
}

Step **figures_block_find(Joining *j, Step **first, const Step *run)
{
    for (Step **at = first; *at != run; at = &(*at)->next) {
        const Conv *c = product_of((*at)->kernel);
        if (!c || !is_measured(j, c->store->buffer) || !may_wait(j, *at, run))
            continue;
        j->product = (*at)->kernel;
        return at;
    }
    return NULL;
}

// The loops around the convolution that are run more than once: there is none, or it is *only.
static bool outer_loops(const Joining *j, const Conv *c, LoopId *only)
{
    *only = 0;
    for (const Stmt *s = j->product->body; s->kind == S_FOR; s = s->body) {
        if (conv_owns(c, s->var) || poly_equals(loop_extent(j->mod->polys, s->var), 1))
            continue;
        if (*only)
            return false;
        *only = s->var;
    }
    return true;
}

// Tiles of a line look at all of x before they begin.
static bool has_lines(const Conv *c)
{
    bool steps = false;
    for (uint32_t i = 0; i < c->rank; i++)
        steps = steps || c->stride[i] > 1;
    return c->lines && !steps;
}

bool figures_block_choose(Joining *j)
{
    Polys *polys = j->mod->polys;
    const Conv *c = j->product ? product_of(j->product) : NULL;
    int64_t channels, places, rows;
    LoopId plane;
    if (!c || j->made->nloops != 2 || !outer_loops(j, c, &plane) || c->depthwise != (plane != 0) ||
        !poly_is_const(j->dims[0], &channels) || !poly_is_const(conv_places(polys, c), &places) ||
        !poly_is_const(c->rows, &rows))
        return false;
    const Index own = c->depthwise ? loop_extent(polys, plane) : c->rows;
    Index size = poly_const(polys, 1), column = poly_const(polys, 0);
    for (uint32_t i = j->rank; i-- > 1;) {
        column = poly_add(polys, column, poly_mul(polys, size, j->start[i]));
        size = poly_mul(polys, size, j->dims[i]);
    }
    const int64_t high = c->depthwise ? 1 : channels, wide = c->depthwise ? places : j->room;
    if (!poly_equals(own, channels) || !poly_equals(size, places) ||
        (!c->depthwise && (has_lines(c) || !poly_equals(c->row, places))) ||
        high * wide > MOST / (int64_t)sizeof(double) ||
        channels * places < LEAST / (int64_t)sizeof(double))
        return false;
    const Index dims[] = {poly_const(polys, high), poly_const(polys, wide)};
    const Index from = poly_scale(polys, poly_loop(polys, j->made->loops[0]), wide);
    FigureBlock *b = NEW(j->mod->arena, FigureBlock);
    *b = (FigureBlock){.kernel = j->product,
                       .value = c->store->buffer,
                       .plane = plane,
                       .column = column,
                       .at = c->depthwise ? column : from};
    b->rows = buffer_new(j->mod, BUF_TEMP, STR("scratch"), DT_F64, 2, dims);
    vec_push(j->mod->arena, &j->made->rows, ((FigureRow){b->value, 0, b->rows}));
    j->kept[b->value] = true; // nothing takes its place
    j->made->block = b;
    return true;
}
