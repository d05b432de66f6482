// Products of float64 as calls of runtime/cameo_wide.h.
//
// A float64 shadow multiplies the model's own weights and values: what widens them is a kernel that
// fusion leaves alone, since a product's factors are loads. Here such a load is traced back to what
// is float32, which is then widened block by block where it is packed, and the kernel goes.

#include "codegen/cpu/wide.h"

#include "codegen/cpu/figures.h"
#include "codegen/fuse_parts.h"
#include "codegen/parts.h"

enum {
    MACS = 5,           // multiplications and additions in a tenth of a nanosecond
    LARGE_PLANE = 2048, // places
    OWN_STEPS = 2,      // between windows, and elements of a row of a plane that has tiles of its
    OWN_WIDTH = 8,      // own: as many as the longest vector
    // Of fewer rows and places tiles of a line do not make up for what is done to x and to windows:
    // with 16 rows 196 places took 1.2 of the direct time, 43,264 places 0.9 (measured with
    // AVX-512). Where rows of x are transformed once for all rows of a window, 16 rows of 196
    // places take 0.6 of it with a window of 5 x 5, 24 rows 0.75 with one of 3 x 3 (with AVX2).
    LINE_ROWS = 32,
    LINE_PLACES = 2048
};

// ---- what is widened ---------------------------------------------------------------------------

// y[i, ..] = (float64)x[i, ..] for all of y, x being of float32; else NULL.
static const Expr *widens(Module *mod, const Kernel *k)
{
    const Stmt *s = k->body;
    uint32_t loops = 0, places = 0;
    for (; s && s->kind == S_FOR && s->par && !s->next; s = s->body)
        loops++;
    if (!s || s->kind != S_STORE || s->next || s->value->kind != EX_CAST ||
        s->value->dtype != DT_F64 || s->value->a->kind != EX_LOAD)
        return NULL;
    const Expr *load = s->value->a;
    const Buffer *w = buffer_at(mod, load->buffer), *y = buffer_at(mod, s->buffer);
    if ((w->kind == BUF_WEIGHT && !w->data) || w->dtype != DT_F32 || y->kind != BUF_TEMP ||
        y->rank != w->rank)
        return NULL;
    for (uint32_t i = 0; i < y->rank; i++) {
        if (s->at[i] != load->at[i] || y->dims[i] != w->dims[i])
            return NULL;
        bool whole = poly_equals(s->at[i], 0) && poly_equals(y->dims[i], 1);
        for (const Stmt *f = k->body; f != s && !whole; f = f->body)
            if (s->at[i] == poly_loop(mod->polys, f->var) &&
                loop_extent(mod->polys, f->var) == y->dims[i]) {
                whole = true;
                places++;
            }
        if (!whole)
            return NULL;
    }
    return places == loops ? load : NULL;
}

typedef struct Writers {
    Widened *found;
    Module *mod;
    uint32_t *count; // by BufferId
    uint32_t *then;  // by BufferId of what is widened: how often what it is of was written before
} Writers;

// `inside`: of a loop or a branch, where what comes first may be later too.
static void find_writers(Writers *x, const Step *s, bool inside)
{
    for (; s; s = s->next) {
        const Call *c = s->call;
        for (uint32_t i = 0; c && i < c->nwrites; i++)
            x->count[c->writes[i]]++;
        if (s->kernel) {
            KernelUses u = kernel_uses(x->mod, x->found->arena, s->kernel);
            const Expr *load = widens(x->mod, s->kernel);
            for (uint32_t i = 0; i < u.buffers.len; i++) {
                BufferId b = u.buffers.at[i].id;
                if (!(u.buffers.at[i].bits & ACCESS_WRITE))
                    continue;
                x->count[b]++;
                x->found->by[b] = load ? s->kernel : NULL;
                x->found->from[b] = load;
                x->then[b] = load && !inside ? x->count[load->buffer] : 1;
            }
        }
        find_writers(x, s->body, true);
        find_writers(x, s->other, true);
    }
}

Widened *widened_find(Module *mod, Arena *scratch)
{
    Widened *w = NEW(scratch, Widened);
    w->arena = scratch;
    w->nbuffers = mod->buffers.len;
    w->by = NEWS(scratch, const Kernel *, w->nbuffers);
    w->from = NEWS(scratch, const Expr *, w->nbuffers);
    Writers x = {w, mod, NEWS(scratch, uint32_t, w->nbuffers),
                 NEWS(scratch, uint32_t, w->nbuffers)};
    find_writers(&x, mod->steps, false);
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        w->by[mod->outputs.at[i]] = NULL;
    for (BufferId b = 1; b < w->nbuffers; b++) // what is written no more is what it was then
        if (w->by[b] && (x.count[b] != 1 || (x.count[w->from[b]->buffer] > 1 &&
                                             x.count[w->from[b]->buffer] != x.then[b])))
            w->by[b] = NULL;
    return w;
}

const Expr *widened_source(const Widened *w, Module *mod, const Expr *load)
{
    if (!w || load->kind != EX_LOAD || load->buffer >= w->nbuffers || !w->by[load->buffer])
        return load;
    return expr_load(mod, w->from[load->buffer]->buffer, load->at);
}

typedef struct Reading {
    const Widened *w;
    Module *mod;
    bool any;
} Reading;

static const Expr *read_narrow(void *context, const Expr *e)
{
    Reading *r = context;
    const Expr *from = e->kind == EX_LOAD ? widened_source(r->w, r->mod, e) : e;
    if (from == e)
        return NULL;
    r->any = true;
    return expr_cast(r->mod, DT_F64, from, true);
}

bool widened_read(const Widened *w, Module *mod, Step *s)
{
    Fuse fuse = {.mod = mod, .arena = w->arena};
    Reading r = {w, mod, false};
    const ExprMap map = {&r, read_narrow, NULL};
    for (; s; s = s->next) {
        if (s->kernel && !s->kernel->override && !s->kernel->on_host)
            s->kernel->body = stmts_map(&fuse, s->kernel->body, &map);
        const bool body = widened_read(w, mod, s->body), other = widened_read(w, mod, s->other);
        r.any |= body || other;
    }
    return r.any;
}

// ---- panels ------------------------------------------------------------------------------------

// Products of float32 of constant matrices, by the buffer of that matrix; those of one follow one
// another.
typedef struct Packed {
    const Override *of;
    struct Packed *next;
} Packed;

static BufferId matrix_of(const Override *o)
{
    return o->conv ? o->conv->w->buffer : o->b->buffer;
}

// A product of float32, or a convolution, whose packed weights are those of its matrix.
static bool is_packed(const Override *o)
{
    return o && !o->figures &&
           (o->conv ? !o->conv->wide && o->conv->panels && o->conv->packed
                    : o->packed && o->whole && !o->bytes && !o->narrow && !o->half);
}

static void find_packed(Packed **by, Arena *scratch, const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if (is_packed(o)) {
            Packed *p = NEW(scratch, Packed);
            *p = (Packed){o, by[matrix_of(o)]};
            by[matrix_of(o)] = p;
        }
        find_packed(by, scratch, s->body);
        find_packed(by, scratch, s->other);
    }
}

static bool same_matrix(const Module *mod, const Override *a, const Override *b)
{
    return a->whole && b->whole && a->columns == b->columns && a->bn == b->bn && a->bk == b->bk &&
           loop_extent(mod->polys, a->k) == loop_extent(mod->polys, b->k);
}

// The product with the panels of another one where these hold its matrix, else as it is.
static const Override *with_panels(Module *mod, const Override *o, const Packed *p)
{
    while (p && !(o->conv ? p->of->conv && conv_same_panels(o->conv, p->of->conv)
                          : !p->of->conv && same_matrix(mod, o, p->of)))
        p = p->next;
    if (!p)
        return o;
    Override *to = NEW(mod->arena, Override);
    *to = *o;
    to->packed = o->conv ? 0 : p->of->packed;
    if (o->conv) {
        Conv *c = NEW(mod->arena, Conv);
        *c = *o->conv;
        c->packed = p->of->conv->packed;
        c->block = p->of->conv->block;
        to->conv = c;
    }
    return to;
}

static void share(Module *mod, Packed *const *by, Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if (o && !o->figures && (o->conv ? o->conv->wide : o->wide))
            s->kernel->override = with_panels(mod, o, by[matrix_of(o)]);
        share(mod, by, s->body);
        share(mod, by, s->other);
    }
}

void wide_share_panels(Module *mod)
{
    Arena *scratch = arena_new();
    Packed **by = NEWS(scratch, Packed *, mod->buffers.len);
    find_packed(by, scratch, mod->steps);
    share(mod, by, mod->steps);
    arena_free(scratch);
}

// ---- uses --------------------------------------------------------------------------------------

void wide_uses(Module *mod, const Expr *reduce, const Expr *a, const Expr *b, const Stmt *epilogue,
               KernelUses *u)
{
    const BufferId now[] = {a->buffer, b->buffer};
    const BufferId before[] = {reduce->b->a->buffer, reduce->b->b->buffer};
    for (int i = 0; i < 2; i++)
        if (before[i] != now[0] && before[i] != now[1])
            uses_drop_packed(mod, u, before[i], epilogue);
    for (int i = 0; i < 2; i++)
        access_note(u->arena, &u->buffers, now[i], ACCESS_READ);
}

bool wide_used(const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if ((o && (o->conv ? o->conv->wide : o->wide)) ||
            (s->kernel && figures_convolution(s->kernel)) || wide_used(s->body) ||
            wide_used(s->other))
            return true;
    }
    return false;
}

// ---- printing ----------------------------------------------------------------------------------

// "narrow_a = b3 + 64 * i1"
static const char *factor_text(Printer *p, const char *name, BufferId b, const char *start)
{
    bool narrow = buffer_at(p->mod, b)->dtype == DT_F32;
    return str_printf(p->arena, ".%s%s = %s", narrow ? "narrow_" : "", name, start).at;
}

// "b3 + 64 * i1", or "b3" where the index is 0.
static const char *start_of(Printer *p, BufferId b, Index i)
{
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    return poly_equals(i, 0) ? str_printf(p->arena, "b%u", b).at
                             : str_printf(p->arena, "b%u + %s", b, print_index(p, i)).at;
}

// The factor that is a constant matrix: in panels, or as it lies.
static const char *panels_text(Printer *p, const char *name, const char *at, Index lines,
                               Index depth)
{
    return str_printf(p->arena, ".%s = {%s, %s, %s}", name, at, print_index_bare(p, lines),
                      print_index_bare(p, depth))
        .at;
}

void wide_print_product(Printer *p, const Override *o, const char *part)
{
    Index depth = print_extent(p, o->k);
    print_line(p, "cameo_wide_multiply(");
    print_line(p, "    &(const cameo_wide){.rows = %s, .columns = %s, .depth = %s,",
               print_index_bare(p, o->rows), print_index_bare(p, o->columns),
               print_index_bare(p, depth));
    print_line(p, "        %s, .am = %s, .ak = %s,",
               factor_text(p, "a", o->a->buffer, gemm_start(p, o->a->buffer, o->a->at)),
               print_index_bare(p, o->am), print_index_bare(p, o->ak));
    print_line(p, "        %s, .bk = %s, .bn = %s,",
               o->packed
                   ? panels_text(p, "broad", start_of(p, o->packed, poly_const(p->mod->polys, 0)),
                                 o->columns, depth)
                   : factor_text(p, "b", o->b->buffer, gemm_start(p, o->b->buffer, o->b->at)),
               print_index_bare(p, o->bk), print_index_bare(p, o->bn));
    print_line(p, "        .y = %s, .ym = %s},", gemm_start(p, o->store->buffer, o->store->at),
               print_index_bare(p, o->ym));
    print_line(p, "    %s);", part);
}

static Index linear(Printer *p, const Expr *load)
{
    const Buffer *b = buffer_at(p->mod, load->buffer);
    return linear_index(p, b->rank, b->dims, load->at);
}

// A number of each row, the same for all its columns, that is added to the sum: c's bias, of
// float32 where it is widened here.
static const Expr *row_number(Printer *p, const Conv *c, const Expr *e, Index *step)
{
    Index at, none;
    if (e->dtype == DT_F64 && e->kind == EX_CAST && e->a->dtype == DT_F32)
        e = e->a;
    else if (e->dtype != DT_F64)
        return NULL;
    if (e->kind != EX_LOAD || e->buffer == c->store->buffer)
        return NULL;
    at = linear(p, e);
    *step = poly_const(p->mod->polys, 0);
    if (c->m && !factor_of(p, at, c->m, step))
        return NULL;
    for (uint32_t i = 0; i < c->rank; i++)
        if (c->n[i] && (!factor_of(p, at, c->n[i], &none) || !poly_equals(none, 0)))
            return NULL;
    return e;
}

bool wide_find_bias(Printer *p, Conv *c)
{
    const Expr *v = c->store->value;
    if (!c->wide || v->kind != EX_BINARY || v->op != B_ADD)
        return false;
    const Expr *other = v->a == c->reduce ? v->b : v->b == c->reduce ? v->a : NULL;
    c->start = other ? row_number(p, c, other, &c->startm) : NULL;
    return c->start != NULL;
}

// What computes the part of y that `part` says, as rows and columns.
static void print_windows(Printer *p, const Conv *c, const WidePart *part)
{
    Polys *polys = p->mod->polys;
    Index stride[CONV_SPACE], dilation[CONV_SPACE], x = linear(p, c->x);
    for (uint32_t i = 0; i < c->rank; i++) {
        stride[i] = poly_const(polys, c->stride[i]);
        dilation[i] = poly_const(polys, c->dilation[i]);
        x = poly_add(polys, x, poly_mul(polys, c->pad[i], c->step[i]));
    }
    const Buffer *b = buffer_at(p->mod, c->store->buffer);
    const char *y =
        part->y ? part->y
                : start_of(p, c->store->buffer, linear_index(p, b->rank, b->dims, c->store->at));
    const char *row = part->row ? part->row : print_index(p, c->row);
    const char *bias = "";
    if (c->start)
        bias = str_printf(p->arena, ", %s, .bm = %s",
                          factor_text(p, "bias", c->start->buffer,
                                      start_of(p, c->start->buffer, linear(p, c->start))),
                          print_index_bare(p, c->startm))
                   .at;
    print_line(p, "const cameo_wide_window window = {");
    conv_print_dims(p, "out", c->out, c->rank, 1);
    conv_print_dims(p, "taps", c->taps, c->rank, 1);
    conv_print_dims(p, "stride", stride, c->rank, 1);
    conv_print_dims(p, "dilation", dilation, c->rank, 1);
    conv_print_dims(p, "pad", c->pad, c->rank, 0);
    conv_print_dims(p, "in", c->in, c->rank, 1);
    conv_print_dims(p, "step", c->step, c->rank, 0);
    print_line(p, "    .channel = %s,", print_index_bare(p, c->channel));
    print_line(p, "};");
    print_line(p, "cameo_wide_multiply(");
    print_line(p, "    &(const cameo_wide){.rows = %s, .columns = %s, .depth = %s,",
               print_index_bare(p, c->rows), print_index_bare(p, conv_places(p->mod->polys, c)),
               print_index_bare(p, conv_depth(p->mod->polys, c)));
    print_line(p, "        %s, .am = %s, .ak = %s,",
               c->packed
                   ? panels_text(p, "high",
                                 start_of(p, c->packed, poly_scale(polys, c->group, c->block)),
                                 c->rows, conv_depth(p->mod->polys, c))
                   : factor_text(p, "a", c->w->buffer, start_of(p, c->w->buffer, linear(p, c->w))),
               print_index_bare(p, c->wm), print_index_bare(p, c->wk));
    print_line(p, "        %s, .window = &window, .y = %s, .ym = %s,",
               factor_text(p, "b", c->x->buffer, start_of(p, c->x->buffer, x)), y, row);
    print_line(p, "        .fresh = 1%s%s},", c->lines ? ", .lines = 1" : "", bias);
    print_line(p, "    %s, %s, %s, %s);", part->m0, part->m1, part->n0, part->n1);
}

// Has a plane tiles of several rows (runtime/cameo_wide_own.h)? They take 0.55 to 0.75 of the time
// of loops and of other planes (measured with AVX-512).
static bool has_own_tiles(Module *mod, const Conv *c)
{
    int64_t taps, wide;
    bool square = c->rank == 2 && poly_is_const(c->taps[1], &taps) && (taps == 3 || taps == 5) &&
                  poly_equals(c->taps[0], taps) && poly_equals(c->step[1], 1) &&
                  c->stride[0] == c->stride[1] && c->stride[0] <= OWN_STEPS &&
                  poly_is_const(c->out[1], &wide) && wide >= OWN_WIDTH;
    for (uint32_t i = 0; i < c->rank; i++)
        square = square && c->dilation[i] == 1;
    return square && buffer_at(mod, c->x->buffer)->dtype == DT_F32;
}

// Loops have no planes to make first, and the compiler unrolls their rows: of planes of 1,200
// places they took 0.8 of the time, of 2,700 1.45, of windows with a step 0.75 (measured with
// AVX-512).
bool wide_leaves(Module *mod, const Conv *c)
{
    int64_t places;
    bool plain = c->rank <= 2 && poly_is_const(conv_places(mod->polys, c), &places);
    for (uint32_t i = 0; i < c->rank; i++)
        plain = plain && c->stride[i] == 1;
    return c->depthwise && !has_own_tiles(mod, c) && (!plain || places < LARGE_PLANE);
}

// Windows of several rows that move by one row: cameo_wide_plane_lines.h.
static bool share_rows(const Conv *c)
{
    return c->rank > 1 && !poly_equals(c->taps[c->rank - 2], 1) && c->stride[c->rank - 2] == 1;
}

bool wide_has_lines(Module *mod, const Conv *c)
{
    bool any = false;
    int64_t rows, places;
    if (!share_rows(c) && poly_is_const(c->rows, &rows) &&
        poly_is_const(conv_places(mod->polys, c), &places) && rows < LINE_ROWS &&
        places < LINE_PLACES)
        return false;
    for (uint32_t i = 0; i < c->rank; i++)
        any = any || !poly_equals(c->taps[i], 1);
    return any && buffer_at(mod, c->x->buffer)->dtype == DT_F32;
}

Index wide_work(Printer *p, const Conv *c)
{
    Polys *polys = p->mod->polys;
    Index macs = conv_macs(polys, c);
    return poly_is_overflow(macs) ? macs : poly_floordiv(polys, macs, poly_const(polys, MACS));
}

void wide_print_part(Printer *p, const Kernel *k, const Conv *c, const WidePart *part)
{
    conv_set_own(p, k, c, true);
    print_windows(p, c, part);
    conv_set_own(p, k, c, false);
}

static void print_all(Printer *p, const Kernel *k, const Conv *c)
{
    const WidePart all = {.m0 = "0",
                          .m1 = print_index_bare(p, c->rows),
                          .n0 = "0",
                          .n1 = print_index_bare(p, conv_places(p->mod->polys, c))};
    wide_print_part(p, k, c, &all);
}

// Each plane by its own window is done by one thread. false: it is not worth it.
static bool print_planes(Printer *p, const Kernel *k, const Conv *c, const Bounds *outer)
{
    const Index units = parts_units(p, outer->n, outer->vars), work = wide_work(p, c);
    if (!c->depthwise || !outer->n || !parts_worth(p, units, work))
        return false;
    parts_begin(p, 0);
    parts_nest_begin(p, outer->n, outer->vars);
    p->indent++;
    print_all(p, k, c);
    p->indent--;
    parts_nest_end(p, outer->n, outer->vars);
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    return true;
}

// Rows or columns of one convolution after the other. false: it is not worth it.
static bool print_shares(Printer *p, const Kernel *k, const Conv *c, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    const Index two = poly_const(polys, 2), work = wide_work(p, c);
    if (c->depthwise || !parts_worth(p, two, poly_floordiv(polys, work, two)))
        return false;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    parts_begin(p, 0);
    conv_set_own(p, k, c, true);
    const char *rows = print_index_bare(p, c->rows),
               *n = print_index_bare(p, conv_places(p->mod->polys, c));
    const WidePart part = {"r.m0", "r.m1", "r.n0", "r.n1", NULL, NULL};
    print_line(p, "const cameo_wide_part r = cameo_wide_share(%s, %s, from, to);", rows, n);
    print_windows(p, c, &part);
    conv_set_own(p, k, c, false);
    const char *units = str_printf(p->arena, "cameo_wide_units(%s, %s)", rows, n).at;
    parts_end(p, units, parts_grain_of(p, work, units));
    parts_around(p, outer, false);
    nest_end(p, outer);
    return true;
}

void wide_print_conv(Printer *p, const Kernel *k, const Conv *c)
{
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    const bool may_share = p->parts && !p->parts->inside;
    if (!may_share || (!print_planes(p, k, c, &outer) && !print_shares(p, k, c, &outer))) {
        nest_begin(p, &outer, NULL);
        print_all(p, k, c);
        nest_end(p, &outer);
    }
    if (c->epilogue)
        print_stmts(p, c->epilogue);
}
