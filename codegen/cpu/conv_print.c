// A convolution in C: what its sizes are, and a call for each block of its output, on which what
// surrounds the sum is applied while it is in the cache.

#include "codegen/cpu/byte_conv.h"
#include "codegen/cpu/winograd.h"

static void use_all(Module *mod, KernelUses *u, const Index *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        uses_add_index(mod, u, at[i]);
}

typedef struct LoadSearch {
    BufferId buffer;
    bool found;
} LoadSearch;

static void find_load(void *context, const Expr *e)
{
    LoadSearch *s = context;
    s->found |= e->kind == EX_LOAD && e->buffer == s->buffer;
}

void conv_uses(Module *mod, const Conv *c, KernelUses *u)
{
    if (c->bytes)
        bytes_uses(mod, c->bytes, c->epilogue, u);
    else
        access_note(u->arena, &u->buffers, c->store->buffer, ACCESS_READ | ACCESS_WRITE);
    const BufferId beside[] = {c->padded, c->panel};
    for (int i = 0; i < 2; i++)
        if (beside[i])
            access_note(u->arena, &u->buffers, beside[i], ACCESS_READ | ACCESS_WRITE);
    const Index *const dims[] = {c->out, c->taps, c->pad, c->in, c->step};
    for (int i = 0; i < 5; i++)
        use_all(mod, u, dims[i], c->rank);
    const Index others[] = {c->rows, c->channels, c->channel, c->row};
    use_all(mod, u, others, 4);
    if (c->depthwise)
        use_all(mod, u, buffer_at(mod, c->x->buffer)->dims, buffer_at(mod, c->x->buffer)->rank);
    if (!c->packed || c->bytes)
        return;
    access_note(u->arena, &u->buffers, c->packed, ACCESS_READ);
    LoadSearch s = {c->w->buffer, false};
    const Stmt *e = c->epilogue;
    while (e && e->kind == S_FOR)
        e = e->body;
    if (e)
        expr_walk(mod, e->value, find_load, &s);
    if (!s.found)
        access_drop(&u->buffers, c->w->buffer);
}

// ---- printing
// ------------------------------------------------------------------------------------

static void set_own(Printer *p, const Kernel *k, const Conv *c, bool on)
{
    uint32_t n = 0;
    LoopId vars[MAX_LOOPS];
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        vars[n++] = s->var;
    for (uint32_t i = 0; i < c->reduce->rank && n < MAX_LOOPS; i++)
        vars[n++] = c->reduce->vars[i];
    for (uint32_t i = 0; i < n; i++) {
        bool sum = i >= n - c->reduce->rank;
        if (sum || conv_owns(c, vars[i])) {
            p->zeroed[vars[i]] = on;
            p->nzeroed += on ? 1 : -1u;
        }
    }
}

static const char *start_of(Printer *p, BufferId b, Index i)
{
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    return poly_equals(i, 0) ? str_printf(p->arena, "b%u", b).at
                             : str_printf(p->arena, "b%u + %s", b, print_index(p, i)).at;
}

static const char *buffer_name(Printer *p, BufferId b)
{
    return b ? start_of(p, b, poly_const(p->mod->polys, 0)) : "NULL";
}

static Index linear(Printer *p, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(p->mod, b);
    return linear_index(p, buf->rank, buf->dims, at);
}

// ".name = {1, 3, 3}": dims that there are not are before those that there are.
static void print_dims(Printer *p, const char *name, const Index *at, uint32_t rank, int64_t other)
{
    const char *text[CONV_SPACE];
    for (uint32_t i = 0; i < CONV_SPACE; i++)
        text[i] = i + rank < CONV_SPACE ? str_printf(p->arena, "%lld", (long long)other).at
                                        : print_index_bare(p, at[i + rank - CONV_SPACE]);
    print_line(p, "    .%s = {%s, %s, %s},", name, text[0], text[1], text[2]);
}

static void print_sizes(Printer *p, const Conv *c)
{
    Polys *polys = p->mod->polys;
    Index stride[CONV_SPACE], dilation[CONV_SPACE];
    for (uint32_t i = 0; i < c->rank; i++) {
        stride[i] = poly_const(polys, c->stride[i]);
        dilation[i] = poly_const(polys, c->dilation[i]);
    }
    print_line(p, "const cameo_conv sizes = {");
    print_line(p, "    .rows = %s, .channels = %s, .channel = %s, .row = %s, .copy = %d,",
               print_index_bare(p, c->rows), print_index_bare(p, c->channels),
               print_index_bare(p, c->channel), print_index_bare(p, c->row), c->copy);
    print_dims(p, "out", c->out, c->rank, 1);
    print_dims(p, "taps", c->taps, c->rank, 1);
    print_dims(p, "stride", stride, c->rank, 1);
    print_dims(p, "dilation", dilation, c->rank, 1);
    print_dims(p, "pad", c->pad, c->rank, 0);
    print_dims(p, "in", c->in, c->rank, 1);
    print_dims(p, "step", c->step, c->rank, 0);
    print_line(p, "};");
}

// The loops of the epilogue over what this block holds. false: the output's places do not stand in
// it as one variable, and nothing was printed.
static bool print_epilogue(Printer *p, const Conv *c)
{
    const Stmt *loops[CONV_SPACE] = {NULL}, *store = c->epilogue;
    for (; store->kind == S_FOR; store = store->body)
        for (uint32_t i = 0; i < c->rank; i++)
            if (store->var == c->n[i])
                loops[i] = store;
    uint32_t done = c->rank - 1;
    while (done > 0 && rows_collapse(p, loops[done - 1]))
        done--;
    bool possible = done == 0;
    if (possible) {
        Bounds b = {.n = 0};
        if (c->m) {
            b.low[0] = c->depthwise ? NULL : "m0";
            b.high[0] = c->depthwise ? NULL : "m1";
            b.vars[b.n++] = c->m;
        }
        b.low[b.n] = "n0";
        b.high[b.n] = "n1";
        b.vars[b.n++] = c->n[c->rank - 1];
        nest_begin(p, &b, NULL);
        print_stmts(p, store);
        nest_end(p, &b);
    }
    for (; done < c->rank - 1; done++)
        rows_restore(p, loops[done]);
    return possible;
}

static void print_blocks(Printer *p, const Conv *c, const char *places, const char *x,
                         const char *w, const char *y)
{
    if (c->depthwise) {
        print_line(p, "const int64_t n0 = 0, n1 = %s;", places);
        print_line(p, "cameo_depthwise(&planes, %s, %s, %s, %s);", x, w, buffer_name(p, c->padded),
                   y);
        print_line(p, "(void)n0, (void)n1;");
        return;
    }
    print_line(p, "cameo_conv_begin(&sizes, %s, %s, &image);", x, buffer_name(p, c->padded));
    print_line(p, "for (int64_t n0 = 0, n1; n0 < %s; n0 = n1) {", places);
    p->indent++;
    print_line(p, "n1 = cameo_conv_end(n0, %s, image.width);", places);
    print_line(p, "cameo_conv_block block;");
    print_line(p, "cameo_conv_start(&image, %s, n0, n1, %s, %s, %s, %s, &block);",
               print_index_bare(p, c->rows), w, y, print_index_bare(p, c->row),
               buffer_name(p, c->panel));
    print_line(p, "for (int64_t m0 = 0, m1; m0 < %s; m0 = m1) {", print_index(p, c->rows));
    p->indent++;
    print_line(p, "m1 = cameo_conv_rows_end(&block, m0);");
}

// The same by tiles: after each block the places of y that it finishes are n0 .. n1.
static void print_tiles(Printer *p, const Conv *c, const char *x, const char *w, const char *y)
{
    print_line(p, "for (int64_t tile0 = 0, tile1; tile0 < form.tiles; tile0 = tile1) {");
    p->indent++;
    print_line(p, "tile1 = cameo_winograd_end(&form, tile0);");
    print_line(p, "cameo_winograd_block block;");
    print_line(p, "cameo_winograd_begin(&form, %s, tile0, tile1, %s, &block);", x,
               buffer_name(p, c->panel));
    print_line(p, "const int64_t n0 = block.n0, n1 = block.n1;");
    print_line(p, "(void)n0, (void)n1;");
    print_line(p, "for (int64_t m0 = 0, m1; m0 < %s; m0 = m1) {", print_index(p, c->rows));
    p->indent++;
    print_line(p, "m1 = cameo_winograd_rows(&block, m0, %s, %s);", w, y);
}

static void print_plan(Printer *p, const Conv *c)
{
    if (c->depthwise && c->bytes)
        return;
    if (c->cost[0] > 0)
        print_line(p, "/* %s; cycles expected directly %.0f, by tiles of 2 %.0f, of 4 %.0f */",
                   winograd_form(c->tile), c->cost[0], c->cost[1], c->cost[2]);
    if (c->tile) {
        print_line(p, "cameo_winograd form;");
        print_line(p, "cameo_winograd_plan(&sizes, %lld, &form);", (long long)c->tile);
        return;
    }
    if (!c->depthwise) {
        print_line(p, "cameo_conv_view image;");
        print_line(p, "cameo_conv_plan(&sizes, &image);");
        if (!c->bytes)
            return;
        print_line(p, "image.width = cameo_byte_width(image.channels * %s);",
                   "image.taps[0] * image.taps[1] * image.taps[2]");
        print_line(p, "cameo_byte_places(&image, %s);", bytes_name(p, c->bytes->places));
        return;
    }
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, c->x->buffer);
    Index size = poly_const(polys, 1);
    for (uint32_t i = 0; i < b->rank; i++)
        size = poly_mul(polys, size, b->dims[i]);
    const char *wt[CONV_SPACE] = {"0", "0", "0"};
    for (uint32_t i = 0; i < c->rank; i++)
        wt[i + CONV_SPACE - c->rank] = print_index_bare(p, c->wt[i]);
    print_line(p, "cameo_planes planes;");
    print_line(p, "cameo_planes_plan(&sizes, (const int64_t[]){%s, %s, %s}, %s, %s, &planes);",
               wt[0], wt[1], wt[2], buffer_name(p, c->x->buffer), start_of(p, c->x->buffer, size));
}

void conv_print(Printer *p, const Kernel *k, const Conv *c)
{
    Polys *polys = p->mod->polys;
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    set_own(p, k, c, true);
    print_sizes(p, c);
    print_plan(p, c);
    nest_begin(p, &outer, NULL);
    Index x = linear(p, c->x->buffer, c->x->at), places = poly_const(polys, 1);
    for (uint32_t i = 0; i < c->rank; i++) {
        if (c->copy || c->tile)
            x = poly_add(polys, x, poly_mul(polys, c->pad[i], c->step[i]));
        places = poly_mul(polys, places, c->out[i]);
    }
    const char *n = print_index_bare(p, places);
    const char *y = start_of(p, c->store->buffer, linear(p, c->store->buffer, c->store->at));
    const char *w = c->bytes       ? NULL
                    : c->depthwise ? start_of(p, c->w->buffer, linear(p, c->w->buffer, c->w->at))
                                   : start_of(p, c->packed, poly_scale(polys, c->group, c->block));
    print_line(p, "if (%s > 0) {", n);
    p->indent++;
    if (c->bytes)
        byte_conv_print(p, c, start_of(p, c->x->buffer, x), n);
    else if (c->tile)
        print_tiles(p, c, start_of(p, c->x->buffer, x), w, y);
    else
        print_blocks(p, c, n, start_of(p, c->x->buffer, x), w, y);
    set_own(p, k, c, false);
    bool whole = c->epilogue && !c->bytes && !print_epilogue(p, c);
    if (c->bytes)
        bytes_print_epilogue(p, c->bytes, c->epilogue, c->m, c->n, c->rank);
    for (int i = c->depthwise && !c->bytes ? 2 : 0; i < 3; i++) {
        p->indent--;
        print_line(p, "}");
    }
    nest_end(p, &outer);
    if (whole)
        print_stmts(p, c->epilogue);
}
