#include "codegen/cpu/centre.h"
#include "codegen/cpu/layouts_parts.h"
#include "codegen/cpu/pixel_planes.h"

#include <string.h>

enum { BOTH = 1 << PLANES | 1 << PIXELS };
enum { LEAST_PART = 4, VECTOR = 16 }; // a pixel has channels for 1 / LEAST_PART of it
// What an element costs, in tenths of nanoseconds: moved to another layout; read by a convolution
// of planes, bfloat16 or bytes, which copies it; stored by that; stored where lanes are no
// neighbours.
enum { MOVED = 4, COPIED = 4, COPIED_BYTE = 2, STORED = 5, STORED_BYTE = 2, APART = 4 };

// ---- what may lie in pixels --------------------------------------------------------------------

static bool dims_fit(const Buffer *b, Laid *v)
{
    const int64_t lanes = pixel_lanes(b->dtype);
    if (b->kind != BUF_TEMP || b->rank != RANK || !lanes)
        return false;
    for (uint32_t i = 1; i < RANK; i++)
        if (!poly_is_const(b->dims[i], &v->dims[i]) || v->dims[i] < 1 || v->dims[i] > 1 << 20)
            return false;
    v->lanes = lanes;
    v->blocks = (v->dims[1] + lanes - 1) / lanes;
    return v->dims[1] >= lanes / LEAST_PART && v->dims[2] * v->dims[3] > 1;
}

static void refuse(Layouts *l, BufferId b)
{
    l->values[b].fits = false;
}

static void refuse_uses(Layouts *l, const KernelUses *u)
{
    for (uint32_t i = 0; i < u->buffers.len; i++)
        refuse(l, u->buffers.at[i].id);
}

// Whatever steps inside of others touch stays in planes, and what conditions and calls read.
static void refuse_inside(Layouts *l, const Step *s, bool top)
{
    for (; s; s = s->next) {
        KernelUses u = {.arena = l->arena};
        if (s->kernel && (!top || s->kernel->on_host))
            u = kernel_uses(l->mod, l->arena, s->kernel);
        uses_add_index(l->mod, &u, s->value);
        uses_add_expr(l->mod, &u, s->cond);
        uses_add_call(l->mod, &u, s->call);
        refuse_uses(l, &u);
        refuse_inside(l, s->body, false);
        refuse_inside(l, s->other, false);
    }
}

// ---- kernels -----------------------------------------------------------------------------------

static uint32_t group_of(const Layouts *l, uint32_t i)
{
    while (l->sites[i].group != i)
        i = l->sites[i].group;
    return i;
}

// Parts of a value that may be pixels lie as the whole, and nobody reads it before all are made.
static void count_writers(Layouts *l, const Stmt *s, Site *site)
{
    for (; s; s = s->next) {
        if (s->kind == S_STORE || s->kind == S_UPDATE) {
            Laid *v = &l->values[s->buffer];
            const uint32_t own = group_of(l, (uint32_t)(site - l->sites));
            v->fits &= s->kind == S_STORE && !v->read;
            if (v->maker && v->fits)
                l->sites[own].group = group_of(l, (uint32_t)(v->maker - l->sites));
            v->maker = site;
        }
        count_writers(l, s->body, site);
        count_writers(l, s->other, site);
    }
}

const Stmt *site_body(const Site *site)
{
    const Kernel *k = site->step->kernel;
    return site->body ? site->body : k->point ? k->point : k->body;
}

static void read_nest(Site *site)
{
    const Stmt *s = site_body(site);
    for (; s && s->kind == S_FOR && s->par && !s->next && site->nloops < MAX_NEST; s = s->body)
        site->loops[site->nloops++] = s;
    site->store = s && s->kind == S_STORE && !s->next ? s : NULL;
}

// Channels that fill no whole pixels take the rest of one too: of values that have nothing else
// there, and no more lanes are written than are read.
static bool takes_whole(const Layouts *l, const Site *site, BufferId b, int64_t channels)
{
    const BufferId y = site->store->buffer;
    const int64_t lanes = pixel_lanes(buffer_at(l->mod, b)->dtype);
    const int64_t made = l->values[y].fits ? pixel_lanes(buffer_at(l->mod, y)->dtype) : lanes;
    if (channels % lanes == 0 && channels % made == 0)
        return true;
    return l->values[b].dims[1] == channels &&
           (l->values[y].fits ? lanes >= made : layouts_fills(l, site));
}

static int64_t buffer_lanes(const Layouts *l, BufferId b)
{
    return pixel_lanes(buffer_at(l->mod, b)->dtype);
}

// Is it the loop's variable and a number, which is not below 0?
static bool first_of(Polys *polys, Index channel, LoopId v, int64_t *first)
{
    return poly_is_const(poly_sub(polys, channel, poly_loop(polys, v)), first) && *first >= 0;
}

// Is the channel a loop's variable, and behind that so many whole pixels?
static bool is_channel_at(const Layouts *l, BufferId b, Index channel, LoopId v)
{
    int64_t first;
    return first_of(l->mod->polys, channel, v, &first) &&
           (first == 0 || !l->values[b].fits || first % buffer_lanes(l, b) == 0);
}

// Is the channel a loop's variable whose values are so many lanes of one pixel?
static bool is_within(const Layouts *l, BufferId b, Index channel, LoopId v, int64_t lanes)
{
    int64_t first;
    Polys *polys = l->mod->polys;
    const int64_t pixel = buffer_lanes(l, b);
    return l->values[b].fits && first_of(polys, channel, v, &first) &&
           first % pixel + lanes <= pixel;
}

// Site.part, v being the channel. What nobody makes of a last pixel would have to be made 0.
static int64_t part_of(const Layouts *l, const Site *site, LoopId v)
{
    const BufferId y = site->store ? site->store->buffer : 0;
    const int64_t lanes = buffer_lanes(l, y);
    int64_t extent;
    const bool part = y && poly_is_const(loop_extent(l->mod->polys, v), &extent) &&
                      extent < lanes && extent % VECTOR == 0 &&
                      buffer_at(l->mod, y)->dtype == DT_BF16 && l->values[y].dims[1] % lanes == 0 &&
                      is_within(l, y, site->store->at[1], v, extent);
    return part ? extent : 0;
}

// The channel of a value in pixels must be one loop's variable, the same for all: so lanes become
// the innermost loop.
static void test_access(Layouts *l, BufferId b, const Index *at)
{
    Site *site = l->site;
    Polys *polys = l->mod->polys;
    LoopId v = 0;
    for (uint32_t i = 0; i < site->nloops; i++)
        if (site->part ? is_within(l, b, at[1], site->loops[i]->var, site->part)
                       : is_channel_at(l, b, at[1], site->loops[i]->var))
            v = site->loops[i]->var;
    int64_t extent;
    const bool same = v && site->store && (!site->channel || site->channel == v) &&
                      poly_is_const(loop_extent(polys, v), &extent) &&
                      (site->part ? extent == site->part : takes_whole(l, site, b, extent));
    const int64_t lanes = pixel_lanes(buffer_at(l->mod, b)->dtype);
    site->lanes = site->lanes && site->lanes < lanes ? site->lanes : lanes;
    site->channel = same ? v : site->channel;
    site->allowed &= same ? BOTH : 1 << PLANES;
}

static bool is_channel(void *context, const Atom *a)
{
    const Site *site = context;
    return a->kind == ATOM_LOOP && a->var == site->channel;
}

static bool is_product(const Expr *e)
{
    const Expr *f = e->kind == EX_REDUCE ? e->b : NULL;
    return f && f->kind == EX_BINARY && f->op == B_MUL && f->a->kind != EX_CONST &&
           f->b->kind != EX_CONST;
}

// Products stay as they are recognised elsewhere, but for convolutions of pixels.
static void test_load(void *context, const Expr *e)
{
    Layouts *l = context;
    if (is_product(e) && !l->site->pixels)
        l->site->allowed = 1 << PLANES;
    if (e->kind == EX_LOAD && l->values[e->buffer].fits &&
        !(l->site->pixels && e == l->site->conv.x))
        test_access(l, e->buffer, e->at);
}

static void test_beside(void *context, const Expr *e)
{
    Layouts *l = context;
    int64_t n;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        l->site->taps *= poly_is_const(loop_extent(l->mod->polys, e->vars[i]), &n) ? n : 1;
    for (uint32_t i = 0; e->kind == EX_LOAD && !l->values[e->buffer].fits && i < e->rank; i++) {
        const bool channel = poly_any(e->at[i], is_channel, l->site);
        l->site->beside |= channel;
        l->site->apart += channel && i + 1 < e->rank && poly_varies(e->at[e->rank - 1]);
    }
}

// Channels of a site that fill no whole pixel; 0: they do.
static int64_t rest_of(Layouts *l, const Site *site, int64_t lanes)
{
    int64_t extent = 0;
    poly_is_const(loop_extent(l->mod->polys, site->channel), &extent);
    return extent % lanes;
}

// Channels at a time whose results go to planes; windows leave them where x has them.
static int64_t block_of(const PixelConv *c)
{
    return c->windows ? pixel_lanes(c->dtype) : PIXEL_PANEL;
}

// May a convolution store pixels, or into planes from them?
static bool stores_fit(const Layouts *l, const Site *site, const PixelConv *c)
{
    const BufferId y = site->conv.store->buffer;
    const int64_t block = block_of(c), made = buffer_lanes(l, y);
    if (site->part)
        return !c->windows;
    if (!is_channel_at(l, y, site->conv.store->at[1], c->channel))
        return false;
    return l->values[y].fits ? (!c->windows || made == block) &&
                                   (l->values[y].dims[1] == c->channels || c->channels % made == 0)
                             : c->channels % block == 0 ||
                                   (!c->windows &&
                                    pixel_planes_fit(l->mod, c, site->conv.store, c->channel));
}

// The only channel becomes that of a loop that runs once, as of others, for the form in pixels.
static void give_channel(Layouts *l, Site *site)
{
    Module *mod = l->mod;
    const Stmt *store = site->store;
    if (!store || site->conv.store != store || store->rank != RANK || site->nloops == MAX_NEST)
        return;
    site->conv.m = loop_new(mod->polys, poly_const(mod->polys, 1));
    Index *at = NEWS(mod->arena, Index, RANK);
    memcpy(at, store->at, RANK * sizeof *at);
    at[1] = poly_add(mod->polys, at[1], poly_loop(mod->polys, site->conv.m));
    Stmt *s = NEW(mod->arena, Stmt);
    *s = *store;
    s->at = at;
    site->store = site->conv.store = s;
    site->loops[site->nloops++] = laid_loop(mod, site->conv.m, s);
}

static void map_loop(Layouts *l, Site *site, LoopId from, Index to)
{
    Module *mod = l->mod;
    LoopSwap map = {from, to};
    const ExprMap by = {&map, NULL, loop_swap};
    Stmt *s = NEW(mod->arena, Stmt);
    Index *at = NEWS(mod->arena, Index, RANK);
    *s = *site->store;
    for (uint32_t i = 0; i < RANK; i++)
        at[i] = index_map(mod, s->at[i], &by);
    s->at = at;
    s->value = expr_map(mod, s->value, &by);
    site->conv.reduce = expr_map(mod, site->conv.reduce, &by);
    site->conv.x = expr_map(mod, site->conv.x, &by);
    site->body = site->store = site->conv.store = s;
}

// Loops over groups and over the channels of one become a loop over all channels, for the form in
// pixels.
static void join_groups(Layouts *l, Site *site)
{
    Polys *polys = l->mod->polys;
    const Conv *c = &site->conv;
    const LoopId group = poly_lone_loop(c->group);
    const int64_t rows = site->weights.rows;
    const Stmt *store = site->store;
    uint32_t found = 0, n = 0;
    for (uint32_t i = 0; i < site->nloops; i++)
        found += site->loops[i]->var == group || site->loops[i]->var == c->m;
    if (!store || c->store != store || store->rank != RANK || !group || !c->m || found != 2 ||
        store->at[1] != poly_add(polys, poly_scale(polys, poly_loop(polys, group), rows),
                                 poly_loop(polys, c->m)))
        return;
    const LoopId m = c->m, all = loop_new(polys, poly_const(polys, site->weights.groups * rows));
    Index first = poly_scale(polys, poly_loop(polys, group), rows), by = poly_const(polys, rows);
    map_loop(l, site, m, poly_sub(polys, poly_loop(polys, all), first));
    map_loop(l, site, group, poly_floordiv(polys, poly_loop(polys, all), by));
    for (uint32_t i = 0; i < site->nloops; i++)
        if (site->loops[i]->var != m)
            site->loops[n++] =
                site->loops[i]->var == group ? laid_loop(l->mod, all, NULL) : site->loops[i];
    site->nloops = n;
    site->conv.m = all;
}

static void read_conv(Layouts *l, Site *site)
{
    PixelConv c;
    conv_read_narrow(l->p, site->step->kernel, &site->conv, &site->weights);
    const Conv *conv = &site->conv;
    if (conv->reduce && !conv->depthwise && !conv->m && site->weights.rows == 1)
        give_channel(l, site);
    if (conv->reduce && conv->bytes && site->weights.groups > 1 && site->weights.rows > 1)
        join_groups(l, site);
    if (!conv->reduce || !pixel_conv_fits(l->p, conv, &site->weights, l->how->cpu,
                                          !l->values[conv->x->buffer].fits, &c))
        return;
    site->part = part_of(l, site, c.channel);
    if (!stores_fit(l, site, &c))
        return;
    site->pixels = NEW(l->mod->arena, PixelConv);
    *site->pixels = c;
    site->channel = c.channel;
}

void site_walk(Layouts *l, const Stmt *s, void (*visit)(void *context, const Expr *e))
{
    for (; s; s = s->next) {
        if (s->value)
            expr_walk(l->mod, s->value, visit, l);
        site_walk(l, s->body, visit);
        site_walk(l, s->other, visit);
    }
}

static void note_read(void *context, const Expr *e)
{
    Layouts *l = context;
    if (e->kind == EX_LOAD)
        l->values[e->buffer].read = true;
}

static void read_sites(Layouts *l)
{
    for (Step *s = l->mod->steps; s; s = s->next)
        l->nsites += s->kind == STEP_KERNEL && !s->kernel->on_host;
    l->sites = NEWS(l->arena, Site, l->nsites + 1);
    uint32_t n = 0;
    for (Step *s = l->mod->steps; s; s = s->next)
        if (s->kind == STEP_KERNEL && !s->kernel->on_host) {
            Site *site = &l->sites[n++];
            site->step = s;
            site->group = n - 1;
            read_nest(site);
            count_writers(l, s->kernel->body, site);
            site_walk(l, s->kernel->body, note_read);
        }
    for (uint32_t i = 0; i < l->nsites; i++)
        read_conv(l, &l->sites[i]);
}

// ---- choosing ----------------------------------------------------------------------------------

// With what fills up the last pixels.
static Cost elements_of(const Layouts *l, BufferId b)
{
    const Laid *v = &l->values[b];
    return v->blocks * pixel_lanes(buffer_at(l->mod, b)->dtype) * v->dims[2] * v->dims[3];
}

static void add_use(void *context, const Expr *e)
{
    Layouts *l = context;
    if (e->kind == EX_LOAD && l->values[e->buffer].fits && l->values[e->buffer].maker)
        labels_use(l->labels, l->values[e->buffer].id, l->site->variable);
}

// Zero points of one value's readers that differ have no border in common.
static void agree_around(Layouts *l, Site *site)
{
    if (!site->pixels || site->pixels->few || !pixel_conv_border(site->pixels))
        return;
    const Conv *c = &site->conv;
    Laid *v = &l->values[c->x->buffer];
    const Expr *zero = c->bytes ? c->bytes->x.zero : NULL;
    if (v->border && v->around != zero) {
        site->pixels = NULL;
        return;
    }
    v->border = 1;
    v->around = zero;
}

int64_t site_lanes(Layouts *l, const Site *site)
{
    const Laid *y = &l->values[site->store->buffer];
    if (site->part)
        return site->part;
    if (y->fits)
        return pixel_lanes(buffer_at(l->mod, site->store->buffer)->dtype);
    if (site->pixels)
        return block_of(site->pixels);
    return site->lanes ? site->lanes : pixel_lanes(DT_BF16);
}

static Cost read_by(const Layouts *l, const Site *site)
{
    const PixelConv *c = site->pixels;
    return c->few ? c->few * c->in[0] * c->in[1] : elements_of(l, site->conv.x->buffer);
}

static const Laid *made_by(const Layouts *l, const Site *site)
{
    return site->store ? &l->values[site->store->buffer] : NULL;
}

static void allow(Layouts *l, Site *site)
{
    l->site = site;
    site->allowed = site->store ? BOTH : 1 << PLANES;
    const Laid *y = made_by(l, site);
    for (uint32_t i = 0; !site->part && !site->pixels && i < site->nloops; i++)
        site->part = part_of(l, site, site->loops[i]->var);
    if (y && y->fits)
        test_access(l, site->store->buffer, site->store->at);
    site_walk(l, site_body(site), test_load);
    if (!site->channel)
        site->allowed = 1 << PLANES;
    site->taps = 1;
    if (site->channel && !site->pixels)
        site_walk(l, site_body(site), test_beside);
    Rows rows;
    if (site->beside && rest_of(l, site, site_lanes(l, site)) &&
        !layouts_find_rows(l, site, true, &rows))
        site->allowed = 1 << PLANES;
}

static void price(Layouts *l, Site *site)
{
    const Laid *y = made_by(l, site);
    int64_t apart = 1, n;
    for (uint32_t i = 1; y && i < buffer_at(l->mod, site->store->buffer)->rank; i++)
        apart *= poly_is_const(buffer_at(l->mod, site->store->buffer)->dims[i], &n) ? n : 1;
    const int64_t reads = y && y->fits ? 1 + APART * apart * site->apart * (site->taps - 1) : 1;
    labels_price(l->labels, site->variable, PIXELS, y && !y->fits ? APART * apart : reads);
    const bool bytes = site->conv.bytes != NULL;
    if (site->pixels)
        labels_price(l->labels, site->variable, PLANES,
                     (bytes ? COPIED_BYTE : COPIED) * read_by(l, site) +
                         (bytes ? STORED_BYTE : STORED) * apart);
}

static void choose(Layouts *l)
{
    l->labels = labels_new(l->arena, 2);
    for (uint32_t i = 0; i < l->nsites; i++)
        agree_around(l, &l->sites[i]);
    for (uint32_t i = 0; i < l->nsites; i++)
        allow(l, &l->sites[i]);
    for (uint32_t i = 0; i < l->nsites; i++)
        l->sites[group_of(l, i)].allowed &= l->sites[i].allowed;
    for (uint32_t i = 0; i < l->nsites; i++)
        if (group_of(l, i) == i)
            l->sites[i].variable = labels_variable(l->labels, l->sites[i].allowed);
    for (uint32_t i = 0; i < l->nsites; i++) {
        l->sites[i].variable = l->sites[group_of(l, i)].variable;
        price(l, &l->sites[i]);
    }
    for (BufferId b = 1; b < l->mod->buffers.len; b++) {
        Laid *v = &l->values[b];
        v->border = 0;
        if (!v->fits || !v->maker)
            continue;
        v->id = labels_value(l->labels, v->maker->variable);
        labels_adaptor(l->labels, v->id, PLANES, MOVED * elements_of(l, b));
        labels_adaptor(l->labels, v->id, PIXELS, MOVED * elements_of(l, b));
    }
    for (uint32_t i = 0; i < l->nsites; i++) {
        l->site = &l->sites[i];
        site_walk(l, site_body(l->site), add_use);
    }
    labels_solve(l->labels);
}

bool layouts_module(Module *mod, const ConvChoice *how, Str *error)
{
    Arena *arena = arena_new();
    Layouts l = {.mod = mod, .arena = arena, .how = how};
    l.p = printer_new(mod, &dialect_c, arena, NULL, "");
    if (!centre_weights(mod, l.p, how->cpu, error)) {
        arena_free(arena);
        return false;
    }
    l.values = NEWS(arena, Laid, mod->buffers.len + 1);
    for (BufferId b = 1; b < mod->buffers.len; b++)
        l.values[b].fits = dims_fit(buffer_at(mod, b), &l.values[b]);
    refuse_inside(&l, mod->steps, true);
    bool ok = true, any = false;
    read_sites(&l);
    for (uint32_t i = 0; ok && i < l.nsites; i++)
        any |= l.sites[i].pixels != NULL;
    for (BufferId b = 1; b < mod->buffers.len; b++)
        l.values[b].fits &= l.values[b].maker != NULL;
    if (ok && any) {
        choose(&l);
        ok = layouts_apply(&l, error);
        steps_drop_unread(mod);
    }
    for (uint32_t i = 0; i < l.nsites; i++)
        conv_free_weights(&l.sites[i].weights);
    arena_free(arena);
    return ok;
}
