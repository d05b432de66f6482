// Convolutions, told by structure: one sum of the product of two loads, one of which (w) is a
// constant, while places of the other (x) are sums of a variable of the output and one of the sum.
//
// 1. n are the variables along which y's elements are neighbours; each must be in one dim of x and
//    in no index of w. m is in w and y only.
// 2. A dim of x with an n is s * n + d * t + constant: t slides the window. The guard of the sum
//    may say no more than where such dims begin and end.
// 3. One summed variable may be left: the channel c. All other variables are loops around.

#include "codegen/cpu/byte_conv.h"
#include "codegen/cpu/constants.h"
#include "codegen/cpu/conv_dims.h"
#include "codegen/cpu/conv_images.h"
#include "codegen/cpu/conv_pack.h"
#include "codegen/cpu/finish.h"
#include "codegen/cpu/half_conv.h"
#include "codegen/cpu/halves.h"
#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/strassen.h"
#include "codegen/cpu/winograd.h"
#include "codegen/cpu/tiles.h"
#include "codegen/cpu/wide.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PLACES = 2, // of y
    LEAST_PLANE = 8,  // of planes by their own windows: of fewer loops are quicker
    CONV_N = 192,
    SLACK = 64,
    TAPS = 128,
    PHASES = 8,
    MOST_TRANSFORMED = 1 << 25 // weights
};

typedef struct Match {
    Printer *p;
    Module *mod;
    Polys *polys;
    const Stmt *loops[CONV_PARS];
    uint32_t nloops;
    Index lx, lw, ly;
    Index at[CONV_SPACE], low[CONV_SPACE], high[CONV_SPACE]; // of each n: its dim of x
    int64_t places; // of y, along all n; 0: it is not known how many
    bool guarded;
    Bytes *bytes; // what the factors are, if bytes
    const Widened *widened;
    // The factors must be of bfloat16; n begins with what numbers images; n are two dims at most; w
    // is not the constant factor, or the second one, but the other one.
    bool half, images, planes, other;
    Conv c;
} Match;

static bool is_expression(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

static Index factor(Match *m, Index i, LoopId v)
{
    Index f;
    return factor_of(m->p, i, v, &f) ? f : NULL;
}

static Index extent(Match *m, LoopId v)
{
    return v ? loop_extent(m->polys, v) : poly_const(m->polys, 1);
}

static Index linear(Match *m, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(m->mod, b);
    return linear_index(m->p, buf->rank, buf->dims, at);
}

// ---- the sum -----------------------------------------------------------------------------------

typedef struct Sums {
    Match *m;
    const Expr *first;
    bool fault; // several, or one that is not always evaluated
} Sums;

static void find_sums(Sums *s, const Expr *e, bool lazy)
{
    if (!expr_facts(s->m->p, e)->reduces)
        return;
    if (e->kind == EX_REDUCE) {
        s->fault |= (s->first && s->first != e) || (lazy && !s->first);
        s->first = e;
        return;
    }
    bool arms = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    s->fault |= !e->a; // inside an index
    const Expr *parts[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (parts[i])
            find_sums(s, parts[i], lazy || (arms && i > 0));
}

static bool is_constant(Match *m, const Expr *load)
{
    const Buffer *b = buffer_at(m->mod, load->buffer);
    return b->kind == BUF_WEIGHT && b->data;
}

static bool find_sum(Match *m, const Kernel *k)
{
    const Stmt *s = k->body;
    for (; s && s->kind == S_FOR && s->par && !s->next && m->nloops < CONV_PARS; s = s->body)
        m->loops[m->nloops++] = s;
    if (!s || s->kind != S_STORE || s->next || m->nloops == 0)
        return false;
    Sums sums = {.m = m};
    find_sums(&sums, s->value, false);
    const Expr *r = sums.first;
    if (!r || sums.fault || r->op != R_ADD || r->b->kind != EX_BINARY || r->b->op != B_MUL)
        return false;
    m->c.reduce = r;
    m->c.store = s;
    m->bytes = bytes_of(m->mod, r);
    if (m->bytes) {
        m->c.x = m->bytes->x.load;
        m->c.w = m->bytes->w.load;
        return is_constant(m, m->c.w) && m->c.x->buffer != s->buffer;
    }
    const Expr *x = r->b->a, *w = r->b->b;
    if (m->half) {
        x = halves_load(x);
        w = halves_load(w);
        if (!x || !w || x->dtype != DT_BF16 || w->dtype != DT_BF16)
            return false;
    }
    m->c.wide = r->dtype == DT_F64;
    if ((r->dtype != DT_F32 && !m->c.wide) || x->kind != EX_LOAD || w->kind != EX_LOAD ||
        x->buffer == w->buffer || (!m->half && buffer_at(m->mod, s->buffer)->dtype != r->dtype))
        return false;
    if (m->c.wide) {
        x = widened_source(m->widened, m->mod, x);
        w = widened_source(m->widened, m->mod, w);
    }
    bool swap = is_constant(m, x) != m->other;
    m->c.x = swap ? w : x;
    m->c.w = swap ? x : w;
    m->c.computed = !is_constant(m, m->c.w);
    if (m->c.computed && (m->half || m->c.wide || m->c.w->buffer == s->buffer))
        return false;
    const DType read = buffer_at(m->mod, m->c.x->buffer)->dtype;
    return m->c.x->buffer != s->buffer &&
           (m->half || read == r->dtype || (m->c.wide && read == DT_F32));
}

// ---- roles -------------------------------------------------------------------------------------

// No extent depends on another variable, and all indices but those of x are linear.
static bool plain_loops(Match *m)
{
    const Expr *r = m->c.reduce;
    for (uint32_t i = 0; i < m->nloops + r->rank; i++) {
        LoopId v = i < m->nloops ? m->loops[i]->var : r->vars[i - m->nloops];
        int64_t k;
        Index w = factor(m, m->lw, v);
        if (poly_varies(extent(m, v)) || !factor(m, m->ly, v) || !w || !factor(m, m->lx, v) ||
            (!poly_equals(w, 0) && !poly_is_const(extent(m, v), &k)))
            return false;
    }
    return !poly_any(m->lx, is_expression, NULL);
}

// From the last loop outward: variables of x and not of w whose elements of y are neighbours.
static bool choose_n(Match *m)
{
    LoopId found[CONV_SPACE];
    uint32_t n = 0, most = m->planes ? 2 : CONV_SPACE;
    Index next = poly_const(m->polys, 1);
    for (uint32_t i = m->nloops; i > 0 && n < most; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (factor(m, m->ly, v) != next || !poly_equals(factor(m, m->lw, v), 0) ||
            poly_equals(factor(m, m->lx, v), 0))
            break;
        next = poly_mul(m->polys, next, extent(m, v));
        found[n++] = v;
    }
    for (uint32_t i = 0; m->images && n < CONV_SPACE && !m->c.image && i < m->nloops - n; i++) {
        LoopId v = m->loops[i]->var;
        if (poly_equals(factor(m, m->lw, v), 0) && !poly_equals(factor(m, m->lx, v), 0)) {
            m->c.image = factor(m, m->ly, v);
            found[n++] = v;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        m->c.n[i] = found[n - 1 - i];
    m->c.rank = n;
    return n > 0 && (!poly_is_const(next, &m->places) || m->places >= LEAST_PLACES);
}

// The dim of x in which n[i] stands, or t[i] alone, and what else does.
static bool read_dim(Match *m, const ConvDims *x, uint32_t i)
{
    const LoopId v = m->c.n[i] ? m->c.n[i] : m->c.t[i];
    Index step = poly_const(m->polys, 1), at = NULL;
    for (uint32_t d = x->rank; d > 0; d--) {
        if (poly_has_loop(x->at[d - 1], v)) {
            if (at)
                return false;
            at = x->at[d - 1];
            m->c.step[i] = step;
            m->high[i] = x->dims[d - 1];
        }
        step = poly_mul(m->polys, step, x->dims[d - 1]);
    }
    for (uint32_t k = 0; at && k < m->c.rank; k++)
        if (k != i && poly_has_loop(at, m->c.n[k]))
            return false;
    Index s = !at ? NULL : m->c.n[i] ? factor(m, at, v) : poly_const(m->polys, 1);
    m->at[i] = at;
    m->low[i] = poly_const(m->polys, 0);
    return s && poly_is_const(s, &m->c.stride[i]) && m->c.stride[i] > 0 && m->c.stride[i] < 65536;
}

static bool read_dims(Match *m)
{
    const Expr *r = m->c.reduce;
    LoopId vars[2 * CONV_PARS];
    uint32_t n = 0;
    ConvDims x;
    if (m->nloops + r->rank > 2 * CONV_PARS)
        return false;
    for (uint32_t i = 0; i < m->nloops; i++)
        vars[n++] = m->loops[i]->var;
    for (uint32_t i = 0; i < r->rank; i++)
        vars[n++] = r->vars[i];
    if (!conv_dims(m->p, &m->c, r->a, n, vars, &x))
        return false;
    conv_whole_dims(m->p, &m->c, &x);
    for (uint32_t i = 0; i < m->c.rank; i++)
        if (!read_dim(m, &x, i))
            return false;
    return true;
}

static bool read_window(Match *m)
{
    Conv *c = &m->c;
    for (uint32_t k = 0; k < c->reduce->rank; k++) {
        LoopId v = c->reduce->vars[k];
        bool slides = false;
        for (uint32_t i = 0; i < c->rank; i++) {
            if (!poly_has_loop(m->at[i], v))
                continue;
            Index d = factor(m, m->at[i], v);
            if (slides || (c->t[i] && c->t[i] != v) || !d || !poly_is_const(d, &c->dilation[i]) ||
                c->dilation[i] <= 0 || c->dilation[i] >= 65536)
                return false;
            c->t[i] = v;
            slides = true;
        }
        if (slides || (c->c && poly_equals(extent(m, v), 1)))
            continue;
        if (c->c && !poly_equals(extent(m, c->c), 1))
            return false;
        c->c = v;
    }
    return true;
}

// difference >= 0 must be where the place of an n begins or ends.
static bool read_bound(Match *m, Index difference)
{
    Polys *polys = m->polys;
    for (uint32_t i = 0; i < m->c.rank; i++) {
        if (!poly_has_loop(difference, m->c.n[i]) && !poly_has_loop(difference, m->c.t[i]))
            continue;
        Index low = poly_sub(polys, m->at[i], difference);
        Index high = poly_add_const(polys, poly_add(polys, m->at[i], difference), 1);
        m->guarded = true;
        if (!poly_varies(low) && (poly_equals(m->low[i], 0) || m->low[i] == low)) {
            m->low[i] = low;
            return true;
        }
        if (poly_varies(high))
            return false;
        m->high[i] = high;
        return true;
    }
    return false;
}

static bool read_guard(Match *m, const Expr *e)
{
    if (!e)
        return true;
    if (e->kind == EX_BINARY && e->op == B_AND)
        return read_guard(m, e->a) && read_guard(m, e->b);
    if (e->kind != EX_COMPARE || (e->op != C_LT && e->op != C_LE))
        return false;
    Index a = expr_as_index(m->mod, e->a), b = expr_as_index(m->mod, e->b);
    if (!a || !b)
        return false;
    return read_bound(m,
                      poly_add_const(m->polys, poly_sub(m->polys, b, a), e->op == C_LT ? -1 : 0));
}

// Without the convolution's own variables.
static Index without_own(Match *m, Index i)
{
    for (uint32_t k = 0; k < m->c.rank; k++) {
        const LoopId own[] = {m->c.n[k], m->c.t[k]};
        for (int j = 0; j < 2; j++)
            if (own[j])
                i = poly_sub(m->polys, i,
                             poly_mul(m->polys, factor(m, i, own[j]), poly_loop(m->polys, own[j])));
    }
    return i;
}

static bool fill_dims(Match *m)
{
    Conv *c = &m->c;
    for (uint32_t i = 0; i < c->rank; i++) {
        Index start = without_own(m, m->at[i]);
        if (poly_varies(start))
            return false;
        c->dilation[i] = c->t[i] ? c->dilation[i] : 1;
        c->out[i] = extent(m, c->n[i]);
        c->taps[i] = extent(m, c->t[i]);
        c->pad[i] = poly_sub(m->polys, m->low[i], start);
        c->in[i] = poly_sub(m->polys, m->high[i], m->low[i]);
        c->wt[i] = c->t[i] ? factor(m, m->lw, c->t[i]) : poly_const(m->polys, 0);
        int64_t taps;
        if (!poly_is_const(c->taps[i], &taps))
            return false;
    }
    return true;
}

static void choose_m(Match *m)
{
    for (uint32_t i = m->nloops; i > 0; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (poly_equals(factor(m, m->lx, v), 0) && !poly_equals(factor(m, m->lw, v), 0) &&
            (!m->c.m || poly_equals(extent(m, m->c.m), 1)))
            m->c.m = v;
    }
}

static bool choose_roles(Match *m)
{
    Conv *c = &m->c;
    m->lx = linear(m, c->x->buffer, c->x->at);
    m->lw = linear(m, c->w->buffer, c->w->at);
    m->ly = linear(m, c->store->buffer, c->store->at);
    if (!plain_loops(m) || !choose_n(m))
        return false;
    if (!read_dims(m) || !read_window(m) || !read_guard(m, c->reduce->a) || !fill_dims(m))
        return false;
    choose_m(m);
    Index zero = poly_const(m->polys, 0);
    c->rows = extent(m, c->m);
    c->channels = extent(m, c->c);
    c->channel = c->c ? factor(m, m->lx, c->c) : zero;
    c->row = c->m ? factor(m, m->ly, c->m) : zero;
    int64_t taps = 1, n;
    for (uint32_t i = 0; i < c->rank; i++) {
        poly_is_const(c->taps[i], &n);
        taps = taps < TAPS + 1 ? taps * n : taps;
    }
    uint32_t last = c->rank - 1;
    c->depthwise = poly_equals(c->rows, 1) && poly_equals(c->channels, 1) && taps <= TAPS &&
                   c->stride[last] <= PHASES;
    conv_skip_between(m->polys, c);
    c->copy = m->guarded || c->depthwise || c->stride[last] != 1 || !poly_equals(c->step[last], 1);
    return !c->depthwise || !m->places || m->places >= LEAST_PLANE;
}

// ---- packing -----------------------------------------------------------------------------------

static bool walk_add(Match *m, Walk *w, LoopId v)
{
    int64_t n = 1, s = 0;
    if (v && (!poly_is_const(extent(m, v), &n) || !poly_is_const(factor(m, m->lw, v), &s)))
        return false;
    if (w->n == CONV_PARS || n <= 0 || w->size > ((int64_t)1 << 28) / n)
        return false;
    w->var[w->n] = v;
    w->extent[w->n] = n;
    w->stride[w->n++] = s;
    w->size *= n;
    return true;
}

// The variables around that w depends on number its blocks.
static bool walk_groups(Match *m, Walk *groups)
{
    m->c.group = poly_const(m->polys, 0);
    for (uint32_t i = 0; i < m->nloops; i++) {
        LoopId v = m->loops[i]->var;
        if (conv_owns(&m->c, v) || poly_equals(factor(m, m->lw, v), 0))
            continue;
        if (!walk_add(m, groups, v))
            return false;
        m->c.group = poly_add(m->polys, poly_mul(m->polys, m->c.group, extent(m, v)),
                              poly_loop(m->polys, v));
    }
    return true;
}

static bool read_panels(Match *m, Panels *w)
{
    Index start = m->lw;
    *w = (Panels){.groups.size = 1, .k.size = 1, .rows = 1};
    bool ok = walk_groups(m, &w->groups) && walk_add(m, &w->k, m->c.c);
    for (uint32_t i = 0; ok && i < m->c.rank; i++)
        ok = walk_add(m, &w->k, m->c.t[i]);
    if (m->c.m)
        ok = ok && poly_is_const(m->c.rows, &w->rows) &&
             poly_is_const(factor(m, m->lw, m->c.m), &w->row);
    for (uint32_t i = 0; ok && i < m->nloops + m->c.reduce->rank; i++) {
        LoopId v = i < m->nloops ? m->loops[i]->var : m->c.reduce->vars[i - m->nloops];
        start = poly_sub(m->polys, start,
                         poly_mul(m->polys, factor(m, m->lw, v), poly_loop(m->polys, v)));
    }
    return ok && poly_is_const(start, &w->start) && w->rows > 0 &&
           w->groups.size <= ((int64_t)1 << 28) / (w->rows + TILE_ROWS) / w->k.size;
}

static bool pack_weights(Match *m, const Panels *w, const Finish *f, Str *error)
{
    Buffer *b = buffer_at(m->mod, m->c.w->buffer);
    const StoredF32 *from = tensor_elements(m->mod->model, (TensorData *)(uintptr_t)b->data, error);
    if (!from)
        return false;
    int64_t panels = (w->rows + TILE_ROWS - 1) / TILE_ROWS, tile = m->c.tile;
    int64_t k = tile ? w->k.size / winograd_window(&m->c) * winograd_places(&m->c) : w->k.size;
    split_conv_whole(&m->c, &panels, &k);
    m->c.block = panels * k * TILE_ROWS;
    int64_t dims[] = {w->groups.size, panels, k, TILE_ROWS};
    float *to = arena_lend(m->mod->arena, (size_t)(w->groups.size * m->c.block) * sizeof *to);
    if (tile && !conv_pack_tiles(&m->c, w, f, from, to))
        arena_run_out();
    bool scales = m->c.split != SPLIT_NONE;
    for (int64_t i = 0; f->scale && i < w->groups.size * w->rows; i++)
        scales |= f->scale[i] != 1;
    if (!tile) {
        conv_pack_panels(&m->c, w, f, from, to);
        m->c.panels = scales ? NULL : memcpy(NEW(m->mod->arena, Panels), w, sizeof *w);
    }
    m->c.packed = constants_weight(m->mod, m->c.w->buffer, 4, dims, to);
    model_forget(m->mod->model, from,
                 (size_t)(w->groups.size * w->rows * w->k.size) * sizeof *from);
    return true;
}

static BufferId scratch(Match *m, Index size)
{
    return buffer_new(m->mod, BUF_TEMP, m->c.w->rank ? STR("scratch") : STR(""), DT_F32, 1, &size);
}

// Room for those that the program packs.
static void make_room(Match *m, const Panels *w)
{
    m->c.block = (w->rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS * w->k.size;
    m->c.made = memcpy(NEW(m->mod->arena, Panels), w, sizeof *w);
    m->c.packed = scratch(m, poly_const(m->polys, w->groups.size * m->c.block));
}

// Windows of planes stay as they lie, times what their sums are multiplied by.
static bool scale_windows(Match *m, const Panels *w, const Finish *f, Str *error)
{
    Buffer *b = buffer_at(m->mod, m->c.w->buffer);
    const StoredF32 *from = tensor_elements(m->mod->model, (TensorData *)(uintptr_t)b->data, error);
    if (!from)
        return false;
    float *to = arena_lend(m->mod->arena, (size_t)(w->groups.size * w->k.size) * sizeof *to);
    for (int64_t g = 0; g < w->groups.size; g++)
        for (int64_t k = 0; k < w->k.size; k++)
            to[g * w->k.size + k] = conv_scaled(w, f, g, 0, k, from);
    const int64_t dims[] = {w->groups.size, w->k.size};
    m->c.packed = constants_weight(m->mod, m->c.w->buffer, 2, dims, to);
    m->c.block = w->k.size;
    for (uint32_t i = m->c.rank, stride = 1; i > 0; i--) {
        int64_t n;
        m->c.wt[i - 1] = poly_const(m->polys, stride);
        poly_is_const(m->c.taps[i - 1], &n);
        stride *= (uint32_t)n;
    }
    return true;
}

// ---- what surrounds the sum --------------------------------------------------------------------

static bool find_finish(Match *m, const Panels *w, bool exact, Finish *f)
{
    Conv *c = &m->c;
    FinishVars v = {.channels = w->groups.size * w->rows};
    for (uint32_t i = 0; i < w->groups.n; i++) {
        v.var[v.n] = w->groups.var[i];
        v.extent[v.n++] = w->groups.extent[i];
    }
    if (c->m) {
        v.var[v.n] = c->m;
        v.extent[v.n++] = w->rows;
    }
    return finish_find(m->p, c, &v, exact, !c->depthwise && !c->tile, f);
}

// Sets c's finish where it has one; f holds what the weights are multiplied by then.
static void choose_finish(Match *m, const Panels *w, const ConvChoice *how, Finish *f)
{
    Conv *c = &m->c;
    if (!find_finish(m, w, how->exact || c->computed, f)) // no weight is there to be scaled
        return;
    c->biases = c->depthwise ? 1 : (w->rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    const int64_t dims[] = {w->groups.size, c->biases};
    float *bias = arena_lend(m->mod->arena, (size_t)(w->groups.size * c->biases) * sizeof *bias);
    for (int64_t g = 0; g < w->groups.size; g++)
        for (int64_t i = 0; i < w->rows; i++)
            bias[g * c->biases + i] = (float)f->bias[g * w->rows + i];
    c->bias = constants_weight(m->mod, m->c.w->buffer, 2, dims, bias);
    c->finish = true;
    c->added = f->added;
    c->low = (float)f->low;
    c->high = (float)f->high;
    c->curve = f->curve;
}

// ---- float64 -----------------------------------------------------------------------------------

// Of float64: nothing is packed before, w is read as it lies, its channel and window as one
// variable.
static void find_wide(Match *m, const Panels *w, const ConvChoice *how, Conv **found)
{
    int64_t stride = 0, next = 0;
    for (uint32_t i = w->k.n; i > 0; i--) {
        if (w->k.extent[i - 1] == 1)
            continue;
        stride = next ? stride : w->k.stride[i - 1];
        if (next && w->k.stride[i - 1] != next)
            return;
        next = w->k.stride[i - 1] * w->k.extent[i - 1];
    }
    if (wide_leaves(m->mod, &m->c) || stride < 0)
        return;
    m->c.wm = poly_const(m->polys, m->c.m ? w->row : 0);
    m->c.wk = poly_const(m->polys, stride);
    m->c.lines = how->shadow && !how->direct && wide_has_lines(m->mod, &m->c);
    m->c.panels = memcpy(NEW(m->mod->arena, Panels), w, sizeof *w);
    *found = NEW(m->mod->arena, Conv);
    **found = m->c;
}

// ---- buffers beside ----------------------------------------------------------------------------

static int64_t *walk_places(const Walk *w)
{
    int64_t *at = calloc((size_t)w->size, sizeof *at);
    for (int64_t i = 0; at && i < w->size; i++)
        at[i] = walk_at(w, i);
    return at;
}

// Places of the weights along groups and k, malloc'ed.
static void list_places(Match *m, const Panels *w, ByteWeights *all)
{
    int64_t channels = 1, columns = 1;
    if (m->c.c)
        poly_is_const(m->c.channels, &channels);
    poly_is_const(m->c.taps[m->c.rank - 1], &columns);
    int64_t *groups = walk_places(&w->groups), *k = walk_places(&w->k);
    *all = (ByteWeights){.groups = w->groups.size,
                         .rows = w->rows,
                         .row = w->row,
                         .channels = channels,
                         .taps = w->k.size / channels,
                         .columns = columns,
                         .start = w->start,
                         .group_at = groups,
                         .k_at = k};
    if (!groups || !k)
        arena_run_out();
}

void conv_free_weights(ByteWeights *all)
{
    free((void *)(uintptr_t)all->group_at);
    free((void *)(uintptr_t)all->k_at);
}

// Of bytes: x always goes through a copy, and four channels count as one.
static bool find_bytes(Match *m, const Panels *w, const Processor *cpu, Conv **found, Str *error)
{
    ByteWeights all;
    Conv *c = &m->c;
    bool packed = false;
    if (!byte_conv_fits(m->p, c, m->bytes))
        return true;
    c->copy = true;
    list_places(m, w, &all);
    const bool ok = byte_conv_pack(m->p, c, m->bytes, &all, cpu, &packed, error);
    if (packed) {
        m->bytes->channels = c->channels;
        c->channels = poly_const(m->polys, byte_conv_planes(m->bytes, &all));
        if (!c->depthwise) { // behind the planes two words of each
            const Index behind = poly_scale(m->polys, c->channels, 2);
            c->padded = bytes_scratch(m->mod, DT_I32,
                                      poly_add(m->polys, conv_copy_size(m->polys, c), behind));
        }
        c->channels = poly_ceildiv(m->polys, m->bytes->channels, poly_const(m->polys, 4));
        c->bytes = m->bytes;
        *found = NEW(m->mod->arena, Conv);
        **found = *c;
    }
    conv_free_weights(&all);
    return ok;
}

// The form of the convolution, and what it needs beside x, w and y.
static void choose_form(Match *m, const Panels *w, const ConvChoice *how)
{
    Conv *c = &m->c;
    if (c->image) {
        c->sums = scratch(m, poly_mul(m->polys, c->rows, conv_places(m->polys, c)));
    } else if (!c->computed) {
        if (w->groups.size * w->rows * w->k.size <= MOST_TRANSFORMED)
            winograd_choose(c, how);
        split_conv_choose(m->mod, c, how, w->rows, w->k.size);
        strassen_choose(c, how, w->rows, w->k.size);
    }
    c->copy = c->tile ? c->line && !c->plane : c->copy;
    if (c->copy)
        c->padded = scratch(m, conv_copy_size(m->polys, &m->c));
    if (c->tile)
        c->panel = scratch(m, winograd_scratch(m->polys, c));
    Index made = !c->tile  ? NULL
                 : c->line ? winograd_block(m->polys, c)
                           : winograd_made(m->polys, c);
    c->shared = made ? scratch(m, made) : c->shared;
    if (c->tile || c->depthwise || c->split)
        return;
    const int64_t plain = conv_panel_size(), sevens = c->sevens ? strassen_panel(w->k.size) : 0;
    c->panel = scratch(m, poly_const(m->polys, sevens > plain ? sevens : plain));
    // Pairs of panels are seven quarters of what they are made of.
    Index shared = conv_shared_size(m->polys, c, w->rows, w->k.size * (c->sevens ? 2 : 1));
    c->shared = shared ? scratch(m, shared) : 0;
}

// Of a window whose places are far apart each reads only the border for many blocks of y: values of
// k are such a place and then its channel, so that a block leaves out those of whole places.
static void choose_outer(Conv *c, Panels *w)
{
    enum { FAR = 6 };
    const uint32_t last = w->k.n - 1;
    if (c->rank != 2 || !c->copy || c->computed || c->depthwise || c->tile || c->split ||
        c->image || !c->c || c->wide || (c->dilation[0] < FAR && c->dilation[1] < FAR))
        return;
    c->outer = true;
    const Walk k = w->k;
    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t from = i < last ? i + 1 : 0;
        w->k.var[i] = k.var[from];
        w->k.extent[i] = k.extent[from];
        w->k.stride[i] = k.stride[from];
    }
}

// Groups of little work each are what threads share, as are many groups: then nothing waits between
// one and the next, and a thread keeps the copy of x and its panels where it keeps its scratch.
static void choose_apart(Match *m, const Panels *w)
{
    enum { MANY = 16, MOST = 20000000, LITTLE = 100000, EVEN = 16 };
    Conv *c = &m->c;
    int64_t work, copied = 0, panel;
    const int64_t groups = w->groups.size;
    if (c->depthwise || c->split || c->line || c->image || (c->tile && c->shared) || groups < 2 ||
        !poly_is_const(conv_work(m->polys, c), &work) || work > (groups < MANY ? LITTLE : MOST) ||
        !poly_is_const(buffer_at(m->mod, c->panel)->dims[0], &panel) ||
        (c->copy && !poly_is_const(conv_copy_size(m->polys, c), &copied)))
        return;
    c->apart = true;
    c->shared = 0;
    if (!c->copy)
        return;
    c->behind = (panel + EVEN - 1) / EVEN * EVEN;
    c->padded = 0;
    c->panel = scratch(m, poly_const(m->polys, c->behind + copied));
}

// The same with places of all images as its columns, where that is less work.
static void join_images(Match *m, Panels *w, Kernel *k, const ConvChoice *how)
{
    Match all = {.p = m->p, .mod = m->mod, .polys = m->polys, .images = true, .other = m->other};
    Panels v;
    Finish f;
    if (m->c.depthwise || !find_sum(&all, k) || !choose_roles(&all) || !read_panels(&all, &v) ||
        !all.c.image || !conv_images_worth(m->polys, &m->c, &all.c, how, v.rows, v.k.size))
        return;
    const bool finishes = find_finish(&all, &v, how->exact || all.c.computed, &f);
    free(f.scale);
    free(f.bias);
    if (finishes ? !f.curve || !f.added : all.c.store->value == all.c.reduce) {
        *m = all;
        *w = v;
    }
}

// The same for each of several planes, where tiles of Winograd's are less work then.
static void part_planes(Match *m, Panels *w, Kernel *k, const ConvChoice *how)
{
    Match one = {.p = m->p, .mod = m->mod, .polys = m->polys, .widened = m->widened};
    Panels v;
    one.planes = true;
    one.other = m->other;
    if (m->c.rank == CONV_SPACE && !m->c.image && !m->c.computed && find_sum(&one, k) &&
        choose_roles(&one) && read_panels(&one, &v) &&
        conv_planes_worth(&one.c, &m->c, how, v.rows, v.k.size)) {
        *m = one;
        *w = v;
    }
}

// Computed weights are worth a pass over them where windows are more than elements of x, or reach
// beyond them: anything else is a product of matrices. So is one row of windows inside of x.
static bool is_worth(const Match *m, const Panels *w)
{
    bool window = false;
    for (uint32_t i = 0; i < m->c.rank; i++)
        window |= m->c.stride[i] != 1 || !poly_equals(m->c.taps[i], 1);
    return !m->c.computed || m->c.depthwise ||
           ((m->guarded || (window && w->rows > 1)) && conv_pack_fits(w));
}

// Either factor may be w.
static bool match(Match *m, const Kernel *k, const ConvChoice *how, Panels *w)
{
    const Match none = {.p = m->p, .mod = m->mod, .polys = m->polys, .widened = how->widened};
    for (int other = 0; other < 2; other++) {
        *m = none;
        m->other = other;
        if (!find_sum(m, k))
            return false;
        if (choose_roles(m) && read_panels(m, w) && is_worth(m, w))
            return true;
    }
    return false;
}

bool conv_find(Printer *p, Kernel *k, const ConvChoice *how, Conv **found, Str *error)
{
    Match m = {.p = p, .mod = p->mod, .polys = p->mod->polys};
    Panels w;
    *found = NULL;
    if (!match(&m, k, how, &w))
        return true;
    if (m.bytes)
        return find_bytes(&m, &w, how->cpu, found, error);
    if (m.c.wide) {
        find_wide(&m, &w, how, found);
        return true;
    }
    Finish finish;
    join_images(&m, &w, k, how);
    part_planes(&m, &w, k, how);
    choose_form(&m, &w, how);
    choose_outer(&m.c, &w);
    choose_apart(&m, &w);
    choose_finish(&m, &w, how, &finish);
    m.c.across = conv_has_across(m.mod, &m.c);
    bool packed = true;
    if (m.c.computed && !m.c.depthwise)
        make_room(&m, &w);
    else if (!m.c.computed && !m.c.depthwise)
        packed = pack_weights(&m, &w, &finish, error);
    else if (!m.c.computed && m.c.finish)
        packed = scale_windows(&m, &w, &finish, error);
    free(finish.scale);
    free(finish.bias);
    if (!packed)
        return false;
    *found = NEW(m.mod->arena, Conv);
    **found = m.c;
    return true;
}

void conv_read_narrow(Printer *p, Kernel *k, Conv *c, ByteWeights *weights)
{
    Match m = {.p = p, .mod = p->mod, .polys = p->mod->polys, .half = true};
    Panels w;
    *c = (Conv){0};
    *weights = (ByteWeights){0};
    if (!find_sum(&m, k) || m.c.wide || m.c.computed || !choose_roles(&m) || !read_panels(&m, &w))
        return;
    *c = m.c;
    c->bytes = m.bytes;
    list_places(&m, &w, weights);
}
