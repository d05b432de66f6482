// Values and their figures a stretch at a time: what is printed for them, and what it uses.

#include "codegen/cpu/figures.h"
#include "codegen/cpu/conv.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/wide.h"
#include "codegen/parts.h"
#include "runtime/cameo_drift.h"

enum {
    FIGURE_WORK = 20 // of an element, in tenths of a nanosecond
};

FigureRow figures_row(const Figures *f, BufferId b)
{
    for (uint32_t i = 0; i < f->rows.len; i++)
        if (f->rows.at[i].buffer == b)
            return f->rows.at[i];
    return (FigureRow){b, 0, b};
}

static void note_row(const Figures *f, BufferId b, uint8_t how, KernelUses *u)
{
    const FigureRow row = figures_row(f, b);
    if (!row.local)
        access_note(u->arena, &u->buffers, row.over, how);
}

void figures_uses(Module *mod, const Figures *f, KernelUses *u)
{
    for (uint32_t i = 0; i < f->all.len; i++) {
        const Call *c = f->all.at[i].call;
        for (uint32_t n = 0; n < c->nreads; n++)
            note_row(f, c->reads[n], ACCESS_READ, u);
        for (uint32_t n = 0; n < c->nwrites; n++)
            note_row(f, c->writes[n], ACCESS_WRITE, u);
    }
    if (f->numbers)
        access_note(u->arena, &u->buffers, f->numbers, ACCESS_READ | ACCESS_WRITE);
    if (f->block) {
        const KernelUses product = kernel_uses(mod, u->arena, f->block->kernel);
        for (uint32_t i = 0; i < product.buffers.len; i++)
            if (product.buffers.at[i].id != f->block->value)
                access_note(u->arena, &u->buffers, product.buffers.at[i].id,
                            product.buffers.at[i].bits);
        access_note(u->arena, &u->buffers, f->block->rows, ACCESS_READ | ACCESS_WRITE);
    }
    uses_add_index(mod, u, f->first);
    uses_add_index(mod, u, f->count);
}

static void print_view(Printer *p, const Figures *f, BufferId b, const char *comma)
{
    const FigureRow row = figures_row(f, b);
    const int dtype = (int)buffer_at(p->mod, b)->dtype;
    const char *count = print_index_bare(p, f->count);
    if (row.local) {
        buf_printf(p->out, "%s{v%u, %d, 1, (const int64_t[]){%s}}", comma, row.local, dtype, count);
        return;
    }
    access_note(p->arena, &p->printed.buffers, row.over, ACCESS_READ | ACCESS_WRITE);
    const Index at = f->block && f->block->value == b ? f->block->at : f->first;
    buf_printf(p->out, "%s{b%u + %s, %d, 1, (const int64_t[]){%s}}", comma, row.over,
               print_index(p, at), dtype, count);
}

// "unit": the number of the stretch.
static const char *unit_name(Printer *p, const Figures *f)
{
    return f->nloops > 1 ? "unit" : str_printf(p->arena, "i%u", f->loops[0]).at;
}

// Where the numbers of a stretch are that what runs this has already done, or NULL: text.
static const char *before_text(Printer *p, const Figures *f, BufferId to, uint32_t k)
{
    const long long step = (long long)f->all.len * DRIFT_FIELDS;
    if (!f->numbers)
        return "NULL";
    if (f->block)
        return str_printf(p->arena, "done >= 0 ? b%u + done * %lld + %d : NULL", to, step,
                          (int)k * DRIFT_FIELDS)
            .at;
    return str_printf(p->arena, "%s > from ? (const double *)writes[0].at - %lld : NULL",
                      unit_name(p, f), step)
        .at;
}

static void print_figure(Printer *p, const Figures *f, uint32_t k)
{
    const Call *c = f->all.at[k].call;
    const char *unit = unit_name(p, f);
    const int64_t step = (int64_t)f->all.len * DRIFT_FIELDS;
    print_line(p, "{");
    buf_printf(p->out, "%*sconst cameo_view reads[] = {", (int)p->indent * 4 + 4, "");
    for (uint32_t i = 0; i < c->nreads; i++)
        print_view(p, f, c->reads[i], i ? ", " : "");
    buf_printf(p->out, "};\n%*sconst cameo_view writes[] = {", (int)p->indent * 4 + 4, "");
    const BufferId to = f->numbers ? f->numbers : c->writes[0];
    access_note(p->arena, &p->printed.buffers, to, ACCESS_READ | ACCESS_WRITE);
    buf_printf(p->out, "{b%u", to);
    if (f->numbers)
        buf_printf(p->out, " + %s * %lld + %d", unit, (long long)step, (int)k * DRIFT_FIELDS);
    buf_printf(p->out, ", %d, 1, (const int64_t[]){%d}}", DT_F64, DRIFT_FIELDS);
    for (uint32_t i = 1; i < c->nwrites; i++)
        print_view(p, f, c->writes[i], ", ");
    buf_printf(p->out, "};\n%*sconst int64_t n[] = {", (int)p->indent * 4 + 4, "");
    for (uint32_t i = 0; i < c->nnumbers; i++)
        buf_printf(p->out, "%s%s", i ? ", " : "", print_index_bare(p, c->numbers[i]));
    buf_printf(p->out, "};\n");
    const char *before = before_text(p, f, to, k);
    print_line(p, "    cameo_drift_stretch(&(const cameo_call){reads, writes, n, %u, %u, %u},",
               c->nreads, c->nwrites, c->nnumbers);
    print_line(p, "        %s, %s);", print_index_bare(p, f->first), before);
    print_line(p, "}");
}

static void print_figures_after(Printer *p, const Figures *f, const Stmt *s)
{
    for (uint32_t i = 0; i < f->all.len; i++)
        if (f->all.at[i].after == s)
            print_figure(p, f, i);
}

typedef struct Mixture {
    bool narrows, plain;
} Mixture;

static void look_at(void *context, const Expr *e)
{
    Mixture *m = context;
    m->narrows |= e->kind == EX_CAST && e->dtype == DT_F32 && e->a->dtype == DT_F64;
    m->plain &= e->kind != EX_REDUCE;
    if (e->kind == EX_UNARY)
        m->plain &= e->op == U_EXPM1 || e->op == U_TANH || e->op == U_NEG || e->op == U_ABS;
    if (e->kind == EX_BINARY)
        m->plain &= e->op == B_ADD || e->op == B_SUB || e->op == B_MUL || e->op == B_DIV;
}

// Is it a loop that reads float64 and does most of its work in float32? Compilers make its vectors
// as many lanes as float64 has.
static bool is_mixture(const Printer *p, const Stmt *s)
{
    const Stmt *store = s->kind == S_FOR ? s->body : NULL;
    if (!store || (store->kind != S_STORE && store->kind != S_SET) || store->value->dtype != DT_F32)
        return false;
    Mixture m = {false, true};
    expr_walk(p->mod, store->value, look_at, &m);
    return m.narrows && m.plain;
}

// One stretch, whose loops are open.
static void print_stretch(Printer *p, const Figures *f)
{
    uint32_t mark = print_block_begin(p);
    print_figures_after(p, f, NULL);
    for (const Stmt *s = f->stretch; s; s = s->next) {
        if (is_mixture(p, s))
            print_line(p, "CAMEO_DRIFT_NARROW_LOOP");
        print_stmt(p, s);
        print_figures_after(p, f, s);
    }
    print_block_end(p, mark);
}

// The part of the convolution that the stretches read which follow.
static void print_product(Printer *p, const Figures *f)
{
    const FigureBlock *b = f->block;
    const Conv *c = b->kernel->override->conv;
    access_note(p->arena, &p->printed.buffers, b->rows, ACCESS_READ | ACCESS_WRITE);
    const char *y = str_printf(p->arena, "b%u", b->rows).at, *begin = "0";
    Index end = conv_places(p->mod->polys, c);
    print_line(p, "{");
    uint32_t mark = print_block_begin(p);
    p->indent++;
    if (b->plane) {
        print_line(p, "const int64_t i%u = i%u;", b->plane, f->loops[0]);
        print_bind_loop(p, b->plane, 1);
    } else {
        begin = print_index_bare(p, b->column);
        end = poly_add(p->mod->polys, b->column, f->count);
        y = str_printf(p->arena, "cameo_wide_columns_from(%s, %s)", y, begin).at;
    }
    const WidePart part = {.m0 = "0",
                           .m1 = print_index_bare(p, c->rows),
                           .n0 = begin,
                           .n1 = print_index_bare(p, end),
                           .y = y,
                           .row = print_index(p, buffer_at(p->mod, b->rows)->dims[1])};
    wide_print_part(p, b->kernel, c, &part);
    if (b->plane)
        print_bind_loop(p, b->plane, -1);
    p->indent--;
    print_block_end(p, mark);
    print_line(p, "}");
}

// Units are channels, or stretches of all of them; the figures' numbers lie as if they were
// stretches of one channel after another.
static void print_blocks(Printer *p, const Figures *f)
{
    print_line(p, "int64_t done = -1;");
    const LoopId outer = f->loops[f->block->plane ? 0 : 1],
                 inner = f->loops[f->block->plane ? 1 : 0];
    parts_nest_begin(p, 1, &outer);
    p->indent++;
    print_product(p, f);
    Bounds b = {.n = 1, .vars = {inner}};
    nest_begin(p, &b, NULL);
    print_line(p, "const int64_t unit = i%u * %s + i%u;", f->loops[0],
               print_index(p, loop_extent(p->mod->polys, f->loops[1])), f->loops[1]);
    print_stretch(p, f);
    print_line(p, "done = unit;");
    nest_end(p, &b);
    p->indent--;
    parts_nest_end(p, 1, &outer);
}

static void print_stretches(Printer *p, const Figures *f)
{
    p->depth++;
    p->parallel++;
    if (f->block) {
        print_blocks(p, f);
    } else {
        parts_nest_begin(p, f->nloops, f->loops);
        print_stretch(p, f);
        parts_nest_end(p, f->nloops, f->loops);
    }
    p->parallel--;
    p->depth--;
}

// The work of a stretch, or of a block and the stretches that read it.
static Index work_of(Printer *p, const Figures *f)
{
    Polys *polys = p->mod->polys;
    Index work = parts_work(p, f->stretch, f->nloops, f->loops);
    work = poly_add(polys, work,
                    poly_const(polys, FIGURE_STRETCH * (int64_t)(FIGURE_WORK * (f->all.len + 1))));
    if (!f->block)
        return work;
    const bool planes = f->block->plane != 0;
    Index product = wide_work(p, f->block->kernel->override->conv);
    if (!planes)
        product = poly_floordiv(polys, product, loop_extent(polys, f->loops[1]));
    return poly_add(polys, product,
                    poly_mul(polys, work, loop_extent(polys, f->loops[planes ? 1 : 0])));
}

void figures_print(Printer *p, const Figures *f)
{
    const Index work = work_of(p, f), all = parts_units(p, f->nloops, f->loops);
    const Index units =
        f->block ? loop_extent(p->mod->polys, f->loops[f->block->plane ? 0 : 1]) : all;
    const BufferId own = f->block ? f->block->rows : 0;
    const char *n = print_index_bare(p, units);
    if (p->parts && parts_worth(p, units, work) && (!own || parts_may_own(p, own))) {
        parts_begin(p, own);
        print_stretches(p, f);
        parts_end(p, n, parts_grain(p, work));
    } else {
        print_line(p, "const int64_t from = 0, to = %s;", n);
        print_stretches(p, f);
    }
    for (uint32_t i = 0; f->numbers && i < f->all.len; i++) {
        access_note(p->arena, &p->printed.buffers, f->numbers, ACCESS_READ | ACCESS_WRITE);
        access_note(p->arena, &p->printed.buffers, f->all.at[i].call->writes[0], ACCESS_WRITE);
        print_line(p, "cameo_drift_gather(b%u + %d, %d, %s, b%u);", f->numbers,
                   (int)i * DRIFT_FIELDS, (int)f->all.len * DRIFT_FIELDS, print_index_bare(p, all),
                   f->all.at[i].call->writes[0]);
    }
}
