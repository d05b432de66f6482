// Chains of convolutions: which kernels they are made of, and what is printed for one.

#include "codegen/cpu/chain.h"
#include "codegen/cpu/chain_terms.h"
#include "codegen/cpu/curve.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/tiles.h"
#include "codegen/parts.h"

enum {
    SLACK = 64,        // CAMEO_CONV_SLACK
    LANES = 16,        // planes of a band begin at multiples of
    LEAST_ROWS = 12,   // of y: fewer are not worth bands
    SIDE = 32,         // CAMEO_SPLIT_SIDE
    MOST_COLUMNS = 16, // of a window that is read where it lies
    MOST_DEPTH = 32    // values of k of a first convolution that reads a copy
};

const Conv *chain_link(const Kernel *k)
{
    return k && k->override ? k->override->conv : NULL;
}

uint32_t chain_before(const Kernel *k, const Kernel *before[CHAIN_BEFORE])
{
    const Conv *c = chain_link(k);
    uint32_t n = 0;
    if (c && c->chain && c->chain->expand)
        before[n++] = c->chain->expand;
    if (c && c->chain)
        before[n++] = c->chain->windows;
    return n;
}

bool chain_curves(const Conv *c)
{
    const Chain *chain = c->chain;
    return c->curve || (chain && (chain_link(chain->windows)->curve ||
                                  (chain->expand && chain_link(chain->expand)->curve)));
}

// ---- finding -----------------------------------------------------------------------------------

typedef struct Chaining {
    Module *mod;
    Printer *p;
    const ConvChoice *how;
    uint32_t *reads, *writes; // by BufferId: kernels and other steps that do
} Chaining;

// Overrides note what they write as read too: only the definition tells.
KernelUses chain_step_uses(Module *mod, Arena *a, const Step *s)
{
    KernelUses u = {.arena = a};
    if (s->kernel) {
        Kernel plain = *s->kernel;
        plain.override = NULL;
        u = kernel_uses(mod, a, &plain);
        const Kernel *before[CHAIN_BEFORE];
        for (uint32_t i = chain_before(s->kernel, before); i-- > 0;) {
            const KernelUses own = kernel_uses(mod, a, before[i]);
            for (uint32_t k = 0; k < own.buffers.len; k++)
                access_note(a, &u.buffers, own.buffers.at[k].id, own.buffers.at[k].bits);
        }
    }
    uses_add_index(mod, &u, s->value);
    uses_add_expr(mod, &u, s->cond);
    uses_add_call(mod, &u, s->call);
    return u;
}

void chain_count_uses(Module *mod, Arena *a, const Step *s, uint32_t *reads, uint32_t *writes)
{
    for (; s; s = s->next) {
        const KernelUses u = chain_step_uses(mod, a, s);
        for (uint32_t i = 0; i < u.buffers.len; i++) {
            reads[u.buffers.at[i].id] += (u.buffers.at[i].bits & ACCESS_READ) != 0;
            writes[u.buffers.at[i].id] += (u.buffers.at[i].bits & ACCESS_WRITE) != 0;
        }
        chain_count_uses(mod, a, s->body, reads, writes);
        chain_count_uses(mod, a, s->other, reads, writes);
    }
}

static int64_t number(Index i)
{
    int64_t n = 0;
    poly_is_const(i, &n);
    return n;
}

static bool is_number(Index i, int64_t *n)
{
    return i && poly_is_const(i, n);
}

// Sizes are known, along two dims; what surrounds the sum is done in registers.
static bool is_link(const Conv *c)
{
    int64_t n;
    if (!c || c->bytes || c->half || c->pixels || c->wide || c->computed || c->tile ||
        c->rank != 2 || !c->finish || c->chain)
        return false;
    for (uint32_t i = 0; i < c->rank; i++)
        if (!is_number(c->out[i], &n) || !is_number(c->taps[i], &n) || !is_number(c->in[i], &n) ||
            !is_number(c->pad[i], &n) || !is_number(c->step[i], &n))
            return false;
    return true;
}

// Rows are whole tiles: a place's sum does not depend on where bands end.
static bool is_product(const Conv *c)
{
    int64_t rows, channels;
    return is_link(c) && !c->depthwise && c->m && c->c && is_number(c->rows, &rows) &&
           is_number(c->channels, &channels) && rows % TILE_ROWS == 0;
}

static bool is_pointwise(const Conv *c)
{
    if (!is_product(c) || c->copy)
        return false;
    for (uint32_t i = 0; i < c->rank; i++)
        if (!poly_equals(c->taps[i], 1) || c->stride[i] != 1)
            return false;
    return true;
}

// A first convolution that copies x for each band: the copy is no more than what is not written,
// and its windows are few numbers, since every eight planes read all of it again.
static bool is_first(Polys *polys, const Conv *c)
{
    return is_product(c) && !c->added &&
           (!c->copy ||
            (number(conv_depth(polys, c)) <= MOST_DEPTH &&
             number(conv_copy_size(polys, c)) <= number(c->rows) * number(conv_places(polys, c))));
}

static bool are_windows(const Conv *c)
{
    int64_t taps, rows;
    return is_link(c) && c->depthwise && c->packed && !c->added &&
           poly_is_const(c->taps[1], &taps) && taps <= MOST_COLUMNS && c->stride[1] <= 2 &&
           poly_equals(c->step[1], 1) && poly_is_const(c->out[0], &rows) && rows >= LEAST_ROWS;
}

// The loops around a convolution, without that over its planes: at most one is left, over images.
// false: there are more. `images`, `planes`: 0 where there is none.
static bool find_around(const Kernel *k, const Conv *c, LoopId *images, LoopId *planes)
{
    LoopId around[2] = {0};
    uint32_t n = 0;
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var)) {
            if (n == 2)
                return false;
            around[n++] = s->var;
        }
    *planes = c->depthwise && n > 0 ? around[--n] : 0;
    *images = n == 1 ? around[0] : 0;
    return n < 2 && (!c->depthwise || *planes);
}

typedef struct Strides {
    Index image, plane, row, column; // from one to the next, in elements
    bool found;
} Strides;

static Strides strides_of(Chaining *s, BufferId b, const Index *at, LoopId image, LoopId plane,
                          const LoopId *n)
{
    const Buffer *buf = buffer_at(s->mod, b);
    Index i = linear_index(s->p, buf->rank, buf->dims, at);
    Strides p = {0};
    p.image = p.plane = poly_const(s->mod->polys, 0);
    p.found = (!image || factor_of(s->p, i, image, &p.image)) &&
              (!plane || factor_of(s->p, i, plane, &p.plane)) && factor_of(s->p, i, n[0], &p.row) &&
              factor_of(s->p, i, n[1], &p.column);
    return p;
}

// Does `next` read, of every image and plane, what `c` wrote there, and nobody else?
static bool are_linked(Chaining *s, const Kernel *kc, const Kernel *kn)
{
    const Conv *c = chain_link(kc), *next = chain_link(kn);
    const BufferId b = c->store->buffer;
    LoopId image, plane, next_image, next_plane;
    int64_t a, z;
    if (b != next->x->buffer || buffer_at(s->mod, b)->kind != BUF_TEMP || s->reads[b] != 1 ||
        s->writes[b] != 1 || !find_around(kc, c, &image, &plane) ||
        !find_around(kn, next, &next_image, &next_plane) || (image == 0) != (next_image == 0))
        return false;
    const Strides to = strides_of(s, b, c->store->at, image, c->depthwise ? plane : c->m, c->n);
    const Strides from =
        strides_of(s, b, next->x->at, next_image, next->depthwise ? next_plane : next->c, next->n);
    Polys *polys = s->mod->polys;
    bool same = to.found && from.found && to.image == from.image && to.plane == from.plane &&
                poly_equals(to.column, 1) && next->step[1] == to.column &&
                next->step[0] == to.row && to.row == c->out[1] &&
                to.plane == poly_mul(polys, c->out[0], c->out[1]);
    for (uint32_t i = 0; i < 2; i++)
        same = same && poly_is_const(c->out[i], &a) && poly_is_const(next->in[i], &z) && a == z;
    Index planes = c->depthwise ? loop_extent(polys, plane) : c->rows;
    return same && planes == (next->depthwise ? loop_extent(polys, next_plane) : next->channels) &&
           (!image || loop_extent(polys, image) == loop_extent(polys, next_image));
}

// Weights are read for every band, by every thread: they are to be little beside what a chain
// saves.
static bool is_worth(Polys *polys, const Conv *first, const Conv *windows, const Conv *last)
{
    const int64_t planes = number(last->channels);
    const int64_t places = number(windows->in[0]) * number(windows->in[1]);
    const int64_t depth = first ? number(conv_depth(polys, first)) : 0;
    const int64_t weights = planes * (number(last->rows) + depth);
    return weights <= planes * places;
}

// Elements of a plane with its border, as whole lines.
static int64_t border_of(Polys *polys, const Conv *windows)
{
    return (number(conv_copy_size(polys, windows)) + LANES - 1) / LANES * LANES;
}

static int64_t depth_of(Polys *polys, const Conv *first)
{
    return first ? number(conv_depth(polys, first)) : 0;
}

// What a plane that the windows read counts for, as many of them as are there at a time.
static int64_t planes_of(Polys *polys, const Chain *chain)
{
    const Conv *first = chain_link(chain->expand);
    return !first ? 0 : chain->terms ? chain_terms_planes(depth_of(polys, first)) : TILE_ROWS;
}

// Planes behind the windows, with those that fill up values of k.
static int64_t held_of(const Chain *chain, const Conv *last)
{
    const int64_t planes = number(last->channels);
    return chain->terms ? (planes + SIDE - 1) / SIDE * SIDE : planes;
}

static BufferId chain_scratch(Chaining *s, const Chain *chain, const Conv *last)
{
    const Conv *first = chain_link(chain->expand), *windows = chain_link(chain->windows);
    const int64_t band = s->how->band / 4; // CAMEO_CHAIN_SIZE
    const int64_t reach = windows->dilation[0] * (number(windows->taps[0]) - 1) + 1;
    const int64_t read = reach * number(windows->in[1]) + 2 * LANES;
    int64_t least = number(last->channels) * (read + number(windows->out[1]));
    if (chain->terms)
        least += planes_of(s->mod->polys, chain) * (read + SIDE);
    const int64_t border = number(conv_copy_size(s->mod->polys, windows));
    const int64_t copy =
        first && first->copy ? number(conv_copy_size(s->mod->polys, first)) + SLACK : 0;
    int64_t filled = (held_of(chain, last) - number(last->channels)) *
                     (number(windows->out[0]) * number(windows->out[1]) + LANES);
    if (chain->terms)
        filled += planes_of(s->mod->polys, chain) * SIDE;
    Index size = poly_const(s->mod->polys, chain->panel + border + copy + filled +
                                               (least > band ? least : band) + 4 * SLACK);
    return buffer_new(s->mod, BUF_TEMP, STR("scratch"), DT_F32, 1, &size);
}

void kernel_prepend_nodes(Module *mod, Kernel *k, const Kernel *before)
{
    Kernel all = {0};
    for (uint32_t i = 0; i < before->fused.len; i++)
        vec_push(mod->arena, &all.fused, before->fused.at[i]);
    for (uint32_t i = 0; i < k->fused.len; i++)
        vec_push(mod->arena, &all.fused, k->fused.at[i]);
    k->fused.at = all.fused.at;
    k->fused.len = all.fused.len;
    k->fused.cap = all.fused.cap;
}

// k with another convolution, which is its own.
static void replace_conv(Module *mod, Kernel *k, const Conv *c)
{
    Override *o = NEW(mod->arena, Override);
    *o = *k->override;
    o->conv = c;
    k->override = o;
}

// Weights of a chain by terms; false: they cannot be read.
static bool pack_terms(Module *mod, Kernel *expand, Kernel *last)
{
    const Conv *first = chain_link(expand), *c = chain_link(last);
    if ((first && !chain_terms_pack(mod, first, &first)) || !chain_terms_pack(mod, c, &c))
        return false;
    if (expand)
        replace_conv(mod, expand, first);
    replace_conv(mod, last, c);
    return true;
}

// A link as a chain computes it.
static const Conv *directly(Module *mod, const Conv *c)
{
    Conv *direct = NEW(mod->arena, Conv);
    *direct = *c;
    direct->sevens = false;
    return direct;
}

static void join(Chaining *s, Kernel *expand, const Kernel *windows, Kernel *last, bool terms)
{
    Conv *c = NEW(s->mod->arena, Conv);
    *c = *last->override->conv;
    Chain *chain = NEW(s->mod->arena, Chain);
    *chain = (Chain){.expand = expand, .windows = windows, .terms = terms};
    chain->panel = terms ? chain_terms_room(number(c->channels),
                                            depth_of(s->mod->polys, chain_link(expand)), c) /
                               4
                         : conv_panel_size();
    if (expand)
        replace_conv(s->mod, expand, directly(s->mod, chain_link(expand)));
    chain->scratch = chain_scratch(s, chain, c);
    c->chain = chain;
    c->panel = c->shared = 0;
    c->sevens = false;
    replace_conv(s->mod, last, c);
    kernel_prepend_nodes(s->mod, last, windows);
    if (expand)
        kernel_prepend_nodes(s->mod, last, expand);
    last->name = str_printf(s->mod->arena, "chain_%.*s", (int)last->name.len, last->name.at);
}

// Joins what can be: by terms where that is quicker, in float32 where no link is by terms alone.
static bool try_join(Chaining *s, Kernel *expand, Kernel *windows, Kernel *last)
{
    Module *mod = s->mod;
    const Conv *first = chain_link(expand), *planes = chain_link(windows), *c = chain_link(last);
    if (!is_worth(mod->polys, first, planes, c))
        return false;
    const bool terms =
        chain_terms_worth(mod, s->how, first, planes, c) && pack_terms(mod, expand, last);
    if (!terms && ((first && first->split) || c->split))
        return false;
    join(s, expand, windows, last, terms);
    return true;
}

static void find_in(Chaining *s, Step **at)
{
    Polys *polys = s->mod->polys;
    for (; *at; at = &(*at)->next) {
        find_in(s, &(*at)->body);
        find_in(s, &(*at)->other);
        Step *first = *at, *second = first->next, *third = second ? second->next : NULL;
        const Conv *a = chain_link(first->kernel), *b = second ? chain_link(second->kernel) : NULL;
        const Conv *c = third ? chain_link(third->kernel) : NULL;
        if (are_windows(a) && is_pointwise(b) && are_linked(s, first->kernel, second->kernel) &&
            try_join(s, NULL, first->kernel, second->kernel))
            *at = second;
        else if (is_first(polys, a) && are_windows(b) && is_pointwise(c) &&
                 are_linked(s, first->kernel, second->kernel) &&
                 are_linked(s, second->kernel, third->kernel) &&
                 try_join(s, first->kernel, second->kernel, third->kernel))
            *at = third;
    }
}

void chains_find(Module *mod, Printer *p, const ConvChoice *how)
{
    Chaining s = {mod, p, how, NEWS(p->arena, uint32_t, mod->buffers.len),
                  NEWS(p->arena, uint32_t, mod->buffers.len)};
    chain_count_uses(mod, p->arena, mod->steps, s.reads, s.writes);
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        s.reads[mod->outputs.at[i]]++;
    find_in(&s, &mod->steps);
}

// ---- uses --------------------------------------------------------------------------------------

static void add_link(Module *mod, const Kernel *k, KernelUses *u)
{
    if (!k)
        return;
    const Conv *c = chain_link(k);
    const KernelUses own = kernel_uses(mod, u->arena, k);
    for (uint32_t i = 0; i < own.buffers.len; i++)
        access_note(u->arena, &u->buffers, own.buffers.at[i].id, own.buffers.at[i].bits);
    for (uint32_t i = 0; i < own.dims.len; i++)
        access_note(u->arena, &u->dims, own.dims.at[i].id, own.dims.at[i].bits);
    const BufferId gone[] = {c->store->buffer, c->panel, c->padded, c->shared};
    for (int i = 0; i < 4; i++)
        if (gone[i])
            access_drop(&u->buffers, gone[i]);
}

void chain_uses(Module *mod, const Conv *c, KernelUses *u)
{
    access_drop(&u->buffers, c->x->buffer);
    add_link(mod, c->chain->windows, u);
    add_link(mod, c->chain->expand, u);
    if (c->added)
        access_note(u->arena, &u->buffers, c->added->buffer, ACCESS_READ);
    access_note(u->arena, &u->buffers, c->chain->scratch, ACCESS_READ | ACCESS_WRITE);
}

// ---- printing ----------------------------------------------------------------------------------

// The variables of a link: its own count as 0, its plane is the first one, that of its images is
// the last one's.
static void set_link(Printer *p, const Kernel *k, LoopId images, bool on)
{
    const Conv *c = chain_link(k);
    LoopId image, plane;
    conv_set_own(p, k, c, on);
    find_around(k, c, &image, &plane);
    if (plane) {
        if (on)
            print_line(p, "const int64_t i%u = 0;", plane);
        print_bind_loop(p, plane, on ? 1 : -1);
    }
    if (image && image != images) {
        if (on) {
            print_line(p, "const int64_t i%u = i%u;", image, images);
            print_line(p, "(void)i%u;", image);
        }
        print_bind_loop(p, image, on ? 1 : -1);
    }
}

enum { EXPAND, WINDOWS, PROJECT }; // numbers of links

static void print_link(Printer *p, const Conv *c, int link, const char *name, const char *sizes)
{
    print_line(p, "    .%s = {&%s, %s, %s},", name, sizes, conv_weights(p, c),
               conv_finish(p, c, link));
}

// From one plane of what windows read to the next.
static Index plane_of(Printer *p, const Kernel *k)
{
    const Conv *c = chain_link(k);
    const Buffer *x = buffer_at(p->mod, c->x->buffer);
    LoopId image, plane;
    Index by;
    find_around(k, c, &image, &plane);
    factor_of(p, linear_index(p, x->rank, x->dims, c->x->at), plane, &by);
    return by;
}

// Of `mode` bands those from .. to.
static void print_bands(Printer *p, const Kernel *k, const Conv *c)
{
    const Chain *chain = c->chain;
    const Conv *expand = chain_link(chain->expand), *windows = chain_link(chain->windows);
    const Kernel *links[] = {c->chain->expand, c->chain->windows, k};
    LoopId images, planes;
    find_around(k, c, &images, &planes);
    for (int i = 0; i < 3; i++)
        if (links[i])
            set_link(p, links[i], images, true);
    if (expand)
        conv_print_sizes(p, expand, "wider");
    conv_print_sizes(p, windows, "windows");
    conv_print_sizes(p, c, "sizes");
    print_line(p, "cameo_chain chain = {");
    print_line(p, "    .side = %s, .held = %s,",
               chain->terms ? "CAMEO_CHAIN_SIDE" : "CAMEO_CHAIN_PLANES",
               print_size(p, held_of(chain, c)));
    if (expand)
        print_link(p, expand, EXPAND, "expand", "wider");
    print_link(p, windows, WINDOWS, "windows", "windows");
    print_link(p, c, PROJECT, "project", "sizes");
    print_line(p, "};");
    const Conv *first = expand ? expand : windows;
    const Buffer *x = buffer_at(p->mod, first->x->buffer);
    Index size = poly_const(p->mod->polys, 1);
    for (uint32_t i = 0; i < x->rank; i++)
        size = poly_mul(p->mod->polys, size, x->dims[i]);
    access_note(p->arena, &p->printed.buffers, c->chain->scratch, ACCESS_READ | ACCESS_WRITE);
    access_note(p->arena, &p->printed.buffers, first->x->buffer, ACCESS_READ);
    print_line(p, "cameo_chain_plan(&chain, mode, b%u, b%u + %s, %s, %s, b%u);", first->x->buffer,
               first->x->buffer, print_index(p, size), print_size(p, c->chain->panel),
               print_size(p, border_of(p->mod->polys, windows)), c->chain->scratch);
    if (!expand)
        print_line(p, "chain.channel = %s;", print_index_bare(p, plane_of(p, c->chain->windows)));
    const char *how =
        !chain->terms ? "share(&chain"
                      : str_printf(p->arena, "terms_share(&chain, %s, (char *)b%u",
                                   print_size(p, depth_of(p->mod->polys, expand)), chain->scratch)
                            .at;
    print_line(p, "cameo_chain_%s, %s, %s, %s, from, to);", how, conv_image(p, first),
               conv_output(p, c), print_index_bare(p, c->row));
    for (int i = 3; i-- > 0;)
        if (links[i])
            set_link(p, links[i], images, false);
}

static Index work_of(Printer *p, const Conv *c)
{
    enum { MACS = 10 }; // in a tenth of a nanosecond
    const Conv *windows = chain_link(c->chain->windows), *expand = chain_link(c->chain->expand);
    const int64_t places = number(c->out[0]) * number(c->out[1]), planes = number(c->channels);
    const int64_t read = number(windows->in[0]) * number(windows->in[1]);
    int64_t work = places * planes * (number(c->rows) + MACS);
    work += expand ? read * planes * number(conv_depth(p->mod->polys, expand)) : 0;
    return poly_const(p->mod->polys, work / MACS);
}

// How many bands there are, for so many threads.
static void print_mode(Printer *p, const Conv *c, const char *mode, const char *threads)
{
    const Kernel *const kernels[] = {c->chain->windows, c->chain->expand};
    static const char *const names[] = {"windows", "wider"};
    for (int i = 0; i < 2 && kernels[i]; i++) {
        conv_set_own(p, kernels[i], chain_link(kernels[i]), true);
        conv_print_sizes(p, chain_link(kernels[i]), names[i]);
        conv_set_own(p, kernels[i], chain_link(kernels[i]), false);
    }
    print_line(p, "%s = cameo_chain_bands(&windows, %s, %s, %s, %s);", mode,
               kernels[1] ? "&wider" : "NULL", print_index_bare(p, c->channels),
               print_size(p, planes_of(p->mod->polys, c->chain)), threads);
}

void chain_print(Printer *p, const Kernel *k, const Conv *c)
{
    const Conv *links[] = {chain_link(c->chain->expand), chain_link(c->chain->windows), c};
    for (int i = 0; i < 3; i++)
        if (links[i] && links[i]->curve)
            curve_print(p, links[i]->curve, i);
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    const bool parts = p->parts && !p->parts->inside && parts_may_own(p, c->chain->scratch);
    nest_begin(p, &outer, NULL);
    if (parts) {
        parts_around(p, &outer, true);
        print_mode(p, c, "args.mode", "threads->pool ? threads->pool->threads : 1");
        parts_begin(p, c->chain->scratch);
        print_bands(p, k, c);
        parts_end(p, "args.mode", parts_grain_of(p, work_of(p, c), "args.mode"));
        parts_around(p, &outer, false);
    } else {
        print_line(p, "{");
        p->indent++;
        print_mode(p, c, "const int64_t mode", "1");
        print_line(p, "const int64_t from = 0, to = mode;");
        print_line(p, "{");
        p->indent++;
        print_bands(p, k, c);
        for (int i = 0; i < 2; i++) {
            p->indent--;
            print_line(p, "}");
        }
    }
    nest_end(p, &outer);
}
