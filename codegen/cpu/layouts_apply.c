// Kernels rewritten for the layouts that were chosen, and those that move values between two.

#include "codegen/byte_function.h"
#include "codegen/cpu/layouts_parts.h"
#include "codegen/cpu/pixel_finish.h"
#include "codegen/cpu/pixel_winograd.h"

#include <string.h>

// ---- rewriting ---------------------------------------------------------------------------------

static Step *insert_kernel(Module *mod, Step *after, const char *name, Stmt *body)
{
    Kernel *k = NEW(mod->arena, Kernel);
    *k = (Kernel){.id = mod->nkernels++, .name = str_of(name), .node = after->kernel->node};
    k->body = body;
    Step *s = NEW(mod->arena, Step);
    *s = (Step){.kind = STEP_KERNEL, .node = after->node, .kernel = k, .next = after->next};
    after->next = s;
    return s;
}

typedef struct Rewrite {
    Layouts *l;
    uint32_t label;
    LoopId channel; // is lanes * block + lane; 0: stays
    Index as, most; // and its last value, for what lies in planes; NULL: no lane is beyond
    Rows rows;
    LoopId lane;
    ExprMap map;
} Rewrite;

static Index at_channel(void *context, const Atom *a)
{
    const Rewrite *r = context;
    return r->channel && a->kind == ATOM_LOOP && a->var == r->channel ? r->as : NULL;
}

// What fills up pixels reads the last channel of what lies in planes; a table of all bytes has an
// element for whatever that is.
static const Expr *inside_load(const Rewrite *r, const Expr *e)
{
    Module *mod = r->l->mod;
    if (byte_looked_up(mod, e))
        return NULL;
    Rewrite clipped = *r;
    clipped.as = poly_min(mod->polys, r->as, r->most);
    clipped.map.context = &clipped;
    Index *at = NEWS(mod->arena, Index, e->rank + 1);
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = index_map(mod, e->at[i], &clipped.map);
    return expr_load(mod, e->buffer, at);
}

static const Expr *moved_load(void *context, const Expr *e)
{
    Rewrite *r = context;
    const Expr *row = layouts_row_at(r->l->mod, &r->rows, r->lane, e);
    if (row || e->kind != EX_LOAD)
        return row;
    if (!r->l->values[e->buffer].fits)
        return r->most ? inside_load(r, e) : NULL;
    Index at[RANK];
    for (uint32_t i = 0; i < RANK; i++)
        at[i] = index_map(r->l->mod, e->at[i], &r->map);
    const Laid *v = &r->l->values[e->buffer];
    return expr_load(r->l->mod, v->in[r->label],
                     r->label == PIXELS ? laid_in_pixels(r->l->mod, v, at) : at);
}

static Stmt *map_stmts(Rewrite *r, const Stmt *s)
{
    Module *mod = r->l->mod;
    Stmt *first = NULL, **tail = &first;
    for (; s; s = s->next, tail = &(*tail)->next) {
        Stmt *copy = NEW(mod->arena, Stmt);
        *copy = *s;
        copy->value = s->value ? expr_map(mod, s->value, &r->map) : NULL;
        Index *at = NEWS(mod->arena, Index, s->rank + 1);
        for (uint32_t i = 0; i < s->rank; i++)
            at[i] = index_map(mod, s->at[i], &r->map);
        copy->at = at;
        copy->body = map_stmts(r, s->body);
        copy->other = map_stmts(r, s->other);
        *tail = copy;
    }
    return first;
}

// Nothing is stored to planes for what fills up the last block.
static Stmt *guard(const Rewrite *r, Stmt *store)
{
    Module *mod = r->l->mod;
    Stmt *s = NEW(mod->arena, Stmt);
    *s = (Stmt){.kind = S_IF, .body = store};
    s->value = expr_compare(mod, C_LE, expr_index(mod, r->as), expr_index(mod, r->most));
    return s;
}

// What is summed of each channel is stored for all lanes of the last pixel too, in a buffer that
// has them, from which a kernel of its own takes the channels.
static void fill_up(const Rewrite *r, const Site *site, Stmt *store, int64_t channels)
{
    Module *mod = r->l->mod;
    const Buffer y = *buffer_at(mod, store->buffer);
    Index *dims = NEWS(mod->arena, Index, y.rank);
    memcpy(dims, y.dims, y.rank * sizeof *dims);
    dims[1] = poly_const(mod->polys, channels);
    Stmt *copy = NEW(mod->arena, Stmt);
    *copy = *site->store;
    store->buffer = buffer_new(mod, BUF_TEMP, y.name, y.dtype, y.rank, dims);
    copy->value = expr_load(mod, store->buffer, site->store->at);
    for (uint32_t i = site->nloops; i > 0; i--)
        copy = laid_loop(mod, site->loops[i - 1]->var, copy);
    insert_kernel(mod, site->step, "channels", copy);
}

// Rows for what hangs on channels and on no pixel of a line.
static void make_rows(Rewrite *r, const Site *site, bool rest)
{
    Rows rows;
    if (!layouts_find_rows(r->l, site, rest, &rows))
        return;
    for (uint32_t i = 0; i < rows.n; i++) {
        rows.local[i] = r->l->mod->nlocals++;
        rows.made[i] = expr_map(r->l->mod, rows.of[i], &r->map);
    }
    r->rows = rows;
}

// The kernel's store and the loops around it, lanes innermost. *block, *lane: what the channel
// became.
static void rewrite_nest(Rewrite *r, Site *site, int64_t lanes, LoopId *block, LoopId *lane)
{
    Layouts *l = r->l;
    Module *mod = l->mod;
    Polys *polys = mod->polys;
    int64_t extent;
    poly_is_const(loop_extent(polys, site->channel), &extent);
    *block = loop_new(polys, poly_const(polys, (extent + lanes - 1) / lanes));
    *lane = loop_new(polys, poly_const(polys, lanes));
    r->channel = site->channel;
    r->as = poly_loop(polys, *lane);
    if (!site->part)
        r->as = poly_add(polys, poly_scale(polys, poly_loop(polys, *block), lanes), r->as);
    r->most = extent % lanes ? poly_const(polys, extent - 1) : NULL;
    r->lane = *lane;
    make_rows(r, site, extent % lanes != 0);
    Stmt *store = map_stmts(r, site->store);
    if (l->values[store->buffer].fits) {
        store->at = laid_in_pixels(mod, &l->values[store->buffer], store->at);
        store->rank = RANK + 1;
        store->buffer = l->values[store->buffer].in[PIXELS];
    }
    const bool guarded = r->most && !l->values[site->store->buffer].fits;
    const bool filled = guarded && layouts_fills(l, site);
    if (filled)
        fill_up(r, site, store, (extent + lanes - 1) / lanes * lanes);
    Stmt *body = laid_loop(mod, *lane, guarded && !filled ? guard(r, store) : store);
    for (uint32_t i = site->nloops; i > 0; i--) {
        const LoopId v = site->loops[i - 1]->var;
        body = laid_loop(mod, v == site->channel ? *block : v, body);
        if (i == site->nloops)
            body = layouts_fill_rows(mod, &r->rows, *lane, body);
    }
    site->store = store;
    site->step->kernel->body = body;
}

static bool make_conv(Layouts *l, Rewrite *r, Site *site, LoopId block, LoopId lane, Str *error)
{
    Module *mod = l->mod;
    Conv *c = NEW(mod->arena, Conv);
    PixelConv *to = site->pixels;
    *c = site->conv;
    to->wide = l->how->wide;
    to->part = site->part;
    to->columns = to->part ? PIXEL_PANEL : site_lanes(l, site);
    to->border = to->few ? pixel_conv_border(to) : l->values[c->x->buffer].border;
    to->lines = to->in[0] + 2 * to->border;
    to->across = to->in[1] + 2 * to->border;
    to->block = block;
    to->lane = lane;
    c->reduce = expr_map(mod, c->reduce, &r->map);
    c->x = expr_map(mod, c->x, &r->map);
    c->store = site->store;
    to->filled = (to->channels + to->columns - 1) / to->columns * to->columns;
    if (c->bytes && !pixel_conv_pack(mod, c, &site->weights, to, error)) // sums read its totals
        return false;
    pixel_conv_finish(mod, site->step->kernel, c, to);
    if (pixel_winograd_choose(mod, c, to, l->how))
        return pixel_winograd_pack(mod, c, &site->weights, to, error);
    return c->bytes || pixel_conv_pack(mod, c, &site->weights, to, error);
}

static bool rewrite(Layouts *l, Site *site, Str *error)
{
    Rewrite r = {.l = l, .label = labels_of(l->labels, site->variable)};
    r.map = (ExprMap){&r, moved_load, at_channel};
    if (r.label == PLANES) {
        site->step->kernel->body = map_stmts(&r, site->step->kernel->body);
        return true;
    }
    LoopId block, lane;
    const int64_t lanes = site_lanes(l, site);
    rewrite_nest(&r, site, lanes, &block, &lane);
    return !site->pixels || make_conv(l, &r, site, block, lane, error);
}

// ---- rewriting all ------------------------------------------------------------------------------

// The buffers in which a value lies, now that all labels are known.
static void place(Layouts *l, BufferId b)
{
    Module *mod = l->mod;
    Polys *polys = mod->polys;
    Laid *v = &l->values[b];
    const uint32_t made = labels_of(l->labels, v->maker->variable);
    const Buffer planes = *buffer_at(mod, b);
    const int64_t lanes = pixel_lanes(planes.dtype);
    Index *dims = NEWS(mod->arena, Index, RANK + 1);
    dims[0] = planes.dims[0];
    dims[1] = poly_const(polys, v->blocks);
    dims[2] = poly_const(polys, v->dims[2] + 2 * v->border);
    dims[3] = poly_const(polys, v->dims[3] + 2 * v->border);
    dims[4] = poly_const(polys, lanes);
    v->in[made] = b;
    const bool wanted = v->in[!made] != 0;
    if (wanted)
        v->in[!made] =
            buffer_new(mod, BUF_TEMP, planes.name, planes.dtype, made == PIXELS ? RANK : RANK + 1,
                       made == PIXELS ? planes.dims : dims);
    if (made == PIXELS) {
        buffer_at(mod, b)->rank = RANK + 1;
        buffer_at(mod, b)->dims = dims;
    }
}

// Which layouts of a value are asked for, and the border that is.
static void note_use(void *context, const Expr *e)
{
    Layouts *l = context;
    Laid *v = e->kind == EX_LOAD ? &l->values[e->buffer] : NULL;
    const uint32_t label = labels_of(l->labels, l->site->variable);
    if (!v || !v->fits)
        return;
    v->in[label] = e->buffer;
    if (label == PIXELS && l->site->pixels && e == l->site->conv.x) {
        const int64_t border = pixel_conv_border(l->site->pixels);
        v->border = border > v->border ? border : v->border;
    }
}

// Is what fills up the pixels of a value to be made 0? A weight of 0 makes nothing of it where it
// is no infinity and no NaN; bytes are neither, and convolutions may give 0 by themselves.
static bool is_blank(Layouts *l, BufferId b, uint32_t made)
{
    const Laid *v = &l->values[b];
    const DType t = buffer_at(l->mod, v->in[PIXELS])->dtype;
    if (t != DT_BF16 || v->dims[1] % pixel_lanes(t) == 0)
        return false;
    return made == PLANES || !v->maker->pixels || !pixel_finish_fills(l->mod, v->maker->pixels);
}

bool layouts_apply(Layouts *l, Str *error)
{
    const uint32_t nbuffers = l->mod->buffers.len;
    for (uint32_t i = 0; i < l->nsites; i++) {
        l->site = &l->sites[i];
        site_walk(l, site_body(l->site), note_use);
    }
    for (BufferId b = 1; b < nbuffers; b++)
        if (l->values[b].fits)
            place(l, b);
    for (uint32_t i = 0; i < l->nsites; i++)
        if (!rewrite(l, &l->sites[i], error))
            return false;
    for (BufferId b = 1; b < nbuffers; b++) {
        const Laid *v = &l->values[b];
        if (!v->fits)
            continue;
        Step *after = v->maker->step;
        const uint32_t made = labels_of(l->labels, v->maker->variable);
        if (v->in[!made])
            after = insert_kernel(l->mod, after, made == PIXELS ? "to_planes" : "to_pixels",
                                  laid_move(l->mod, v, !made));
        if (v->in[PIXELS] && v->border)
            insert_kernel(l->mod, after, "border", laid_border(l->mod, v));
        if (v->in[PIXELS] && is_blank(l, b, made))
            insert_kernel(l->mod, after, "blank", laid_blank(l->mod, v));
    }
    return true;
}
