// Products of matrices that a library may do (codegen/cpu/gemm.c finds them).

#include "codegen/cuda/cuda.h"
#include "codegen/cpu/gemm.h"
#include "codegen/print_parts.h"

static void split_steps(Module *mod, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel && s->kernel->override && s->kernel->override->epilogue) {
            Override *o = NEW(mod->arena, Override);
            *o = *s->kernel->override;
            Kernel *k = NEW(mod->arena, Kernel);
            *k = *s->kernel;
            k->id = mod->nkernels++;
            k->override = NULL;
            k->body = o->epilogue;
            o->epilogue = NULL;
            s->kernel->override = o;
            Step *next = NEW(mod->arena, Step);
            *next = (Step){.kind = STEP_KERNEL, .node = s->node, .kernel = k, .next = s->next};
            s->next = next;
        }
        split_steps(mod, s->body);
        split_steps(mod, s->other);
    }
}

void cuda_split_products(Module *mod)
{
    split_steps(mod, mod->steps);
}

// ---- printing ----------------------------------------------------------------------------------

static Index place(Printer *p, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(p->mod, b);
    return linear_index(p, buf->rank, buf->dims, at);
}

static const char *stride(Printer *p, BufferId b, const Index *at, LoopId v)
{
    Index f = NULL;
    if (!v || !factor_of(p, place(p, b, at), v, &f))
        return "0";
    return print_index_bare(p, f);
}

static const char *start(Printer *p, BufferId b, const Index *at, const char *size)
{
    Index i = place(p, b, at);
    return poly_equals(i, 0)
               ? str_printf(p->arena, "g%u", b).at
               : str_printf(p->arena, "g%u + %s * (uint64_t)(%s)", b, size, print_index_bare(p, i))
                     .at;
}

// The innermost loop around the product is its batch, those outside of it are loops here.
void cuda_print_product(Printer *p, const Kernel *k, const char *launch)
{
    const Override *o = k->override;
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!override_owns(o, s->var))
            outer.vars[outer.n++] = s->var;
    LoopId batch = outer.n ? outer.vars[--outer.n] : 0;
    Polys *polys = p->mod->polys;
    bool is_double = o->reduce->dtype == DT_F64;
    bool row = poly_equals(o->am, 0);
    bool at = !row && !poly_equals(o->ak, 1), bt = !poly_equals(o->bn, 1);
    Index depth = loop_extent(polys, o->k);
    const BufferId a = o->a->buffer, b = o->b->buffer, y = o->store->buffer;
    uint32_t done = ++p->ntemps;
    print_line(p, "int done%u = 1;", done);
    nest_begin(p, &outer, NULL);
    override_zero(p, o, true);
    const char *strides[] = {stride(p, a, o->a->at, batch), stride(p, b, o->b->at, batch),
                             stride(p, y, o->store->at, batch)};
    if (batch)
        p->zeroed[batch] = 1, p->nzeroed++;
    const char *size = is_double ? "8" : "4";
    print_line(p, "done%u = done%u && cameo_cuda_product(c, &(const cameo_product){", done, done);
    print_line(p, "    %d, %s, %s, %s, %s,", is_double, print_index_bare(p, o->rows),
               print_index_bare(p, o->columns), print_index_bare(p, depth),
               batch ? print_index_bare(p, loop_extent(polys, batch)) : "1");
    print_line(p, "    %d, %d, %s, %s, %s,", at, bt,
               print_index_bare(p, row  ? depth
                                   : at ? o->ak
                                        : o->am),
               print_index_bare(p, bt ? o->bn : o->bk),
               print_index_bare(p, poly_equals(o->rows, 1) ? o->columns : o->ym));
    print_line(p, "    %s, %s, %s,", strides[0], strides[1], strides[2]);
    print_line(p, "    %s, %s, %s});", start(p, a, o->a->at, size), start(p, b, o->b->at, size),
               start(p, y, o->store->at, size));
    if (batch)
        p->zeroed[batch] = 0, p->nzeroed--;
    override_zero(p, o, false);
    nest_end(p, &outer);
    print_line(p, "if (!done%u)", done);
    print_line(p, "    %s", launch);
}
