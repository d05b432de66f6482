// A reduction over windows of a plane (pooling),
//
//   y[.., i, j] = f(reduce op r, q where inside : e(s*i + d*r - p, t*j + c*q - b)),
//
// reads every element many times, under bounds that break its rows up. Here e is evaluated once
// into a plane with a border of neutral elements, which is reduced along its columns, then along
// its rows. Both are loops over the whole plane as one row, so that short rows cost nothing. A wide
// window is put together from windows of a power of two:
//
//   w2[n] = op(w1[n], w1[n + 1]),  w4[n] = op(w2[n], w2[n + 2]),  w5[n] = op(w4[n], w1[n + 4]).
//
// Windows of rows that do not overlap need no plane: their columns are reduced as e is evaluated,
// so that only the rows, which are in the cache then, are read at a step. Neither do extremes over
// a few wide rows of what is only loaded. A row behind the border is then the nearest one of e.
//
// A sum is taken as often as its element is in the window, never added and taken away again.
// Planes lie on the stack; one that is large is walked in bands of rows. Of a size that only the
// program knows bands have rows enough that few are taken twice, and more where the plane is
// narrow; where columns are too many for a plane of them then, the windows are reduced as they
// stand.
//
// A layout whose neighbours are channels (layouts.h) does without: what stood there before is kept
// for it, where windows are small.

#include "codegen/cpu/windows.h"
#include "codegen/cpu/windows_body.h"
#include "codegen/fuse_parts.h"

#include <math.h>

enum { DIRECT = 4, LEVELS = 24, MOST_SPARED = 9 };
enum { FEWEST = 4, MANY = 14 }; // rows of a band of open sizes
// Columns of open sizes for which a plane costs more, where windows are one row apart, and farther.
enum { WIDE = 64, APART = 12 };

// ---- planes ----------------------------------------------------------------------------------

// A row of `size` elements; window[n] is the row whose element i is op over i, i + step ... (n of
// them).
typedef struct Plane {
    const Expr *reduce;
    Index size, step;
    LocalId window[LEVELS]; // of 1, 2, 4 ... elements
    uint32_t levels;
} Plane;

static const Expr *element(Body *b, const Plane *p, uint32_t level, Index at)
{
    return expr_local(b->mod, p->window[level], p->reduce->dtype, 1, &at);
}

static void double_windows(Body *b, Plane *p, int64_t taps)
{
    Polys *polys = b->mod->polys;
    if (taps <= DIRECT)
        return;
    for (int64_t n = 1; 2 * n <= taps; n *= 2) {
        Stmt *loop;
        LocalId v = body_row(b, p->reduce->dtype, p->size);
        Index i =
            body_loop(b, poly_sub(polys, p->size, poly_scale(polys, p->step, 2 * n - 1)), &loop);
        Index far = poly_add(polys, i, poly_scale(polys, p->step, n));
        Body inner = body_of(b->mod);
        body_set(&inner, v, i,
                 window_joined(b->mod, p->reduce, element(b, p, p->levels - 1, i),
                               element(b, p, p->levels - 1, far)));
        loop->body = inner.first;
        p->window[p->levels++] = v;
    }
}

// Over `taps` elements from `at` on. Elements count once in a sum; of extremes windows may overlap.
static const Expr *window_value(Body *b, const Plane *p, Index at, int64_t taps)
{
    const Expr *e = NULL;
    Polys *polys = b->mod->polys;
    int64_t from = 0;
    if (p->levels > 1 && p->reduce->op != R_ADD) {
        int64_t rest = taps - ((int64_t)1 << (p->levels - 1));
        e = element(b, p, p->levels - 1, at);
        at = poly_add(polys, at, poly_scale(polys, p->step, rest));
        return rest ? window_joined(b->mod, p->reduce, e, element(b, p, p->levels - 1, at)) : e;
    }
    for (uint32_t level = p->levels; level > 0 && from < taps; level--)
        for (int64_t n = (int64_t)1 << (level - 1); from + n <= taps; from += n)
            e = window_joined(
                b->mod, p->reduce, e,
                element(b, p, level - 1, poly_add(polys, at, poly_scale(polys, p->step, from))));
    return e;
}

static const Expr *neutral(Module *mod, const Expr *reduce)
{
    DType t = reduce->b->dtype;
    if (reduce->op == R_ADD)
        return expr_const(mod, t, (Scalar){.f = 0});
    bool most = reduce->op == R_MIN;
    if (dtype_is_float(t))
        return expr_const(mod, t, (Scalar){.f = most ? (double)INFINITY : -(double)INFINITY});
    unsigned bits = dtype_info(t)->bits;
    uint64_t all = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t top = dtype_is_signed(t) ? all >> 1 : all, low = dtype_is_signed(t) ? ~top : 0;
    return expr_const(mod, t, (Scalar){.i = (int64_t)(most ? top : low)});
}

typedef struct Substitute {
    const Window *w;
    Index place[2];
} Substitute;

static const Expr *at_places(void *context, const Expr *e)
{
    const Substitute *s = context;
    if (e->kind != EX_LOAD)
        return NULL;
    Index *at = NEWS(s->w->mod->arena, Index, e->rank);
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = e->at[i] == s->w->axis[0].place   ? s->place[0]
                : e->at[i] == s->w->axis[1].place ? s->place[1]
                                                  : e->at[i];
    return expr_load(s->w->mod, e->buffer, at);
}

static bool depends_on_window(Window *w, const Expr *e)
{
    bool found = false;
    for (int i = 0; i < 2; i++)
        found |= expr_uses_loop(w->mod, e, w->axis[i].o) || expr_uses_loop(w->mod, e, w->axis[i].r);
    return found;
}

// e at a place.
static const Expr *evaluated(const Window *w, Index row, Index column)
{
    Substitute s = {w, {row, column}};
    ExprMap map = {&s, at_places, NULL};
    return expr_map(w->mod, w->reduce->b, &map);
}

// A parallel loop over n rows, of which those are taken that `low <= base + row < high` (NULL: no
// bound). Its body is where *inner is put.
static Index append_rows(Body *b, Index n, Index base, Index low, Index high, Stmt ***inner)
{
    Stmt *loop;
    Index row = body_loop(b, n, &loop);
    const Expr *taken = window_within(b->mod, low, poly_add(b->mod->polys, base, row), high);
    *inner = &loop->body;
    if (taken) {
        Body guarded = body_of(b->mod);
        Stmt *guard = body_append(&guarded, S_IF);
        guard->value = taken;
        loop->body = guarded.first;
        *inner = &guard->body;
    }
    return row;
}

// Rows of y from `first` on that are done together. All: no other rows are. Past: some may be none
// of y's. Direct: there is no plane.
typedef struct Band {
    Index first;
    int64_t rows;
    bool all, past, direct;
} Band;

// The plane of e for the places of a band; false: e holds more than places.
static bool fill_plane(Body *b, Window *w, const Band *band, Plane *p)
{
    Module *mod = w->mod;
    Polys *polys = mod->polys;
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Stmt *loop, **inner;
    const bool border = window_has_border(w), bounded = !band->all && (border || band->past);
    const int64_t rows = y->s * (band->rows - 1) + y->d * (y->taps - 1) + 1;
    Index top = poly_add_const(polys, poly_scale(polys, band->first, y->s), y->first);
    p->size = poly_scale(polys, x->extent, rows);
    p->window[p->levels++] = body_row(b, w->reduce->dtype, p->size);
    if (border || band->past) {
        Index i = body_loop(b, p->size, &loop);
        Body cell = body_of(mod);
        body_set(&cell, p->window[0], i, neutral(mod, w->reduce));
        loop->body = cell.first;
    }
    Index skip = band->all ? poly_add_const(polys, y->low, -y->first) : body_fixed(b, 0);
    Index count = band->all ? poly_sub(polys, y->high, y->low) : body_fixed(b, rows);
    Index row = append_rows(b, count, poly_add(polys, top, skip), bounded ? y->low : NULL,
                            bounded ? y->high : NULL, &inner);
    row = poly_add(polys, row, skip);
    Body columns = body_of(mod), cell = body_of(mod);
    Index column = body_loop(&columns, poly_sub(polys, x->high, x->low), &loop);
    const Expr *e = evaluated(w, poly_add(polys, top, row), poly_add(polys, column, x->low));
    Index at = poly_add(polys, poly_mul(polys, row, x->extent),
                        poly_add(polys, column, poly_add_const(polys, x->low, -x->first)));
    body_set(&cell, p->window[0], at, e);
    loop->body = cell.first;
    *inner = columns.first;
    return !depends_on_window(w, e);
}

// The plane's columns reduced, for `rows` of y.
static Plane reduce_columns(Body *b, const Window *w, Plane *p, int64_t rows)
{
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Polys *polys = b->mod->polys;
    Plane out = {.reduce = w->reduce,
                 .size = poly_scale(polys, x->extent, rows),
                 .step = body_fixed(b, x->d),
                 .levels = 1};
    Body inner = body_of(b->mod);
    Stmt *loop;
    p->step = poly_scale(polys, x->extent, y->d);
    double_windows(b, p, y->taps);
    out.window[0] = body_row(b, w->reduce->dtype, out.size);
    if (y->s == 1) {
        Index i = body_loop(b, out.size, &loop);
        body_set(&inner, out.window[0], i, window_value(b, p, i, y->taps));
        loop->body = inner.first;
        return out;
    }
    Index row = body_loop(b, body_fixed(b, rows), &loop);
    Stmt *outer = loop;
    Body line = body_of(b->mod);
    Index i = body_loop(&line, x->extent, &loop), width = poly_mul(polys, row, x->extent);
    body_set(&inner, out.window[0], poly_add(polys, width, i),
             window_value(b, p, poly_add(polys, poly_scale(polys, width, y->s), i), y->taps));
    loop->body = inner.first;
    outer->body = line.first;
    return out;
}

// Columns from .. to of so many rows of v are neutral.
static void append_border(Body *b, const Window *w, LocalId v, int64_t rows, Index from, Index to)
{
    Polys *polys = b->mod->polys;
    Body line = body_of(b->mod), cell = body_of(b->mod);
    Stmt *outer, *loop;
    int64_t n;
    if (poly_is_const(poly_sub(polys, to, from), &n) && n <= 0)
        return;
    Index row = body_loop(b, body_fixed(b, rows), &outer);
    Index i = body_loop(&line, poly_sub(polys, to, from), &loop);
    body_set(&cell, v,
             poly_add(polys, poly_mul(polys, row, w->axis[1].extent), poly_add(polys, i, from)),
             neutral(b->mod, w->reduce));
    loop->body = cell.first;
    outer->body = line.first;
}

// The row of e that a tap of a band sees: of one that is a single row, maybe behind the border, the
// nearest that there is; of open sizes each tap's.
static Index seen_row(const Window *w, const Band *band, Index place)
{
    int64_t at, low, high;
    const Axis *y = &w->axis[0];
    Polys *polys = w->mod->polys;
    if (band->direct && band->past)
        return poly_max(polys, y->low, poly_min(polys, place, poly_add_const(polys, y->high, -1)));
    if (!poly_is_const(place, &at) || !poly_is_const(y->low, &low) ||
        !poly_is_const(y->high, &high))
        return place;
    return poly_const(polys, at < low ? low : at < high ? at : high - 1);
}

// The same with e in place of the plane.
static bool reduce_directly(Body *b, Window *w, const Band *band, Plane *out)
{
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Polys *polys = w->mod->polys;
    Index top = poly_add_const(polys, poly_scale(polys, band->first, y->s), y->first);
    *out = (Plane){.reduce = w->reduce,
                   .size = poly_scale(polys, x->extent, band->rows),
                   .step = body_fixed(b, x->d),
                   .levels = 1};
    out->window[0] = body_row(b, w->reduce->dtype, out->size);
    Stmt **outer = NULL, *loop;
    Body line = body_of(w->mod), inner = body_of(w->mod);
    Index left = poly_add_const(polys, x->low, -x->first);
    if (band->direct) {
        append_border(b, w, out->window[0], band->rows, body_fixed(b, 0), left);
        append_border(b, w, out->window[0], band->rows, poly_add_const(polys, x->high, -x->first),
                      x->extent);
    }
    const bool single = band->rows == 1 && !band->past;
    Index row = single ? body_fixed(b, 0)
                       : append_rows(b, body_fixed(b, band->rows), band->first, NULL,
                                     band->past ? y->outs : NULL, &outer);
    Index i = body_loop(&line, poly_sub(polys, x->high, x->low), &loop);
    i = poly_add(polys, i, left);
    const Expr *value = NULL;
    bool fits = true;
    for (int64_t r = 0; r < y->taps; r++) {
        Index place = poly_add_const(polys, poly_scale(polys, row, y->s), r * y->d);
        const Expr *e = evaluated(w, seen_row(w, band, poly_add(polys, top, place)),
                                  poly_add_const(polys, i, x->first));
        fits = fits && !depends_on_window(w, e);
        value = window_joined(b->mod, out->reduce, value, e);
    }
    body_set(&inner, out->window[0], poly_add(polys, poly_mul(polys, row, x->extent), i), value);
    loop->body = inner.first;
    *(single ? b->tail : outer) = line.first;
    b->tail = single ? line.tail : b->tail;
    return fits;
}

// The rows of what the columns gave, and what y makes of them.
static void store_rows(Body *b, const Window *w, Plane *p, const Band *band)
{
    const Axis *x = &w->axis[1];
    Module *mod = w->mod;
    Polys *polys = mod->polys;
    const Stmt *old = w->point->store;
    Stmt **outer, *loop;
    double_windows(b, p, x->taps);
    Index row = append_rows(b, body_fixed(b, band->rows), band->first, NULL,
                            band->past ? w->axis[0].outs : NULL, &outer);
    Body line = body_of(mod), inner = body_of(mod);
    Index column = body_loop(&line, x->outs, &loop);
    Index from = poly_add(polys, poly_mul(polys, row, x->extent), poly_scale(polys, column, x->s));
    WindowAt r = {w, window_value(b, p, from, x->taps), poly_add(polys, band->first, row), column};
    const ExprMap map = window_map(&r);
    Stmt *store = body_append(&inner, S_STORE);
    store->buffer = old->buffer;
    store->rank = old->rank;
    Index *at = NEWS(mod->arena, Index, old->rank);
    for (uint32_t i = 0; i < old->rank; i++)
        at[i] = index_map(mod, old->at[i], &map);
    store->at = at;
    store->value = expr_map(mod, old->value, &map);
    loop->body = inner.first;
    *outer = line.first;
}

// So many bands like `band`, from row `from` of y on.
static bool append_bands(Body *b, Window *w, int64_t from, Index bands, Band band)
{
    Polys *polys = w->mod->polys;
    Body inner = body_of(w->mod);
    Stmt *loop = NULL;
    const bool one = poly_equals(bands, 1);
    band.first = body_fixed(b, from);
    if (!one)
        band.first =
            poly_add_const(polys, poly_scale(polys, body_loop(b, bands, &loop), band.rows), from);
    Body *body = one ? b : &inner;
    Plane p = {.reduce = w->reduce}, columns;
    bool fits;
    if (band.direct || window_needs_no_plane(w)) {
        fits = reduce_directly(body, w, &band, &columns);
    } else {
        fits = fill_plane(body, w, &band, &p);
        columns = reduce_columns(body, w, &p, band.rows);
    }
    store_rows(body, w, &columns, &band);
    if (loop)
        loop->body = inner.first;
    return fits;
}

// The loops around a window, with `body` in place of the two innermost.
static Stmt *loops_around(const Window *w, Stmt *body)
{
    for (uint32_t i = w->point->nloops - 2; i > 0; i--) {
        Stmt *loop = NEW(w->mod->arena, Stmt);
        *loop = *w->point->loops[i - 1];
        loop->body = body;
        body = loop;
    }
    return body;
}

// Rows of a plane beside those that windows of one row of y begin at.
static int64_t tail_of(const Axis *y)
{
    return y->d * (y->taps - 1) + 1;
}

// Rows from .. to of y in bands of up to `most` rows without a plane, of as many rows each where
// that leaves bands of FEWEST.
static bool append_direct(Body *b, Window *w, int64_t from, int64_t to, int64_t most)
{
    const int64_t n = to - from, least = (n + most - 1) / most;
    int64_t bands = least;
    while (bands * FEWEST <= n && n % bands)
        bands++;
    bands = bands * FEWEST <= n ? bands : least;
    const int64_t rows = (n + bands - 1) / bands, last = n % rows;
    Band band = {.rows = rows, .direct = true};
    bool fits = append_bands(b, w, from, body_fixed(b, n / rows), band);
    band.rows = last;
    return (!last || append_bands(b, w, to - last, body_fixed(b, 1), band)) && fits;
}

// The whole of a plane of known size, each row that meets the border by itself. NULL: e holds more
// than places.
static Stmt *without_plane(Window *w, int64_t outs, int64_t extent)
{
    int64_t from = 0, to = 0;
    Body body = body_of(w->mod);
    bool fits = window_inner_rows(w, outs, &from, &to);
    for (int64_t i = 0, next; i < outs; i = next) {
        next = i == from && from < to ? to : i + 1;
        fits = append_direct(&body, w, i, next, PLANE / extent) && fits;
    }
    return fits ? body.first : NULL;
}

// A plane of a known size. NULL: it is not worth it, or e holds more than places.
static Stmt *known_size(Window *w, int64_t outs, int64_t extent)
{
    const Axis *y = &w->axis[0];
    if (extent <= PLANE && window_loads_again(w, outs, extent))
        return without_plane(w, outs, extent);
    const int64_t tail = tail_of(y), room = PLANE / extent;
    int64_t rows = room < tail ? 0 : (room - tail) / y->s + 1;
    rows = rows < outs ? rows : outs;
    if (rows < 1 || (rows < outs && rows * y->s < tail - y->s)) // most rows would be taken twice
        return NULL;
    Body body = body_of(w->mod);
    const Band band = {.rows = rows, .all = rows == outs};
    bool fits = append_bands(&body, w, 0, body_fixed(&body, outs / rows), band);
    if (outs % rows)
        fits = append_bands(&body, w, outs - outs % rows, body_fixed(&body, 1),
                            (Band){.rows = outs % rows}) &&
               fits;
    return fits ? body.first : NULL;
}

// Of one that the program finds out, in bands of so many rows; where it is too wide, `other`.
static Stmt *any_size(Window *w, int64_t rows, Stmt *other)
{
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Polys *polys = w->mod->polys;
    const int64_t widest = PLANE / (y->s * (rows - 1) + tail_of(y));
    Body body = body_of(w->mod), bands = body_of(w->mod);
    if (!append_bands(&bands, w, 0, poly_ceildiv(polys, y->outs, body_fixed(&body, rows)),
                      (Band){.rows = rows, .past = true}))
        return NULL;
    Stmt *either = body_append(&body, S_IF);
    either->value = window_within(w->mod, NULL, x->extent, body_fixed(&body, widest + 1));
    either->body = bands.first;
    either->other = other;
    return body.first;
}

// The same without a plane, where rows are wide and each window meets one, which the program asks.
static Stmt *any_size_direct(Window *w, Stmt *other)
{
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Polys *polys = w->mod->polys;
    Body body = body_of(w->mod), bands = body_of(w->mod);
    if (!append_bands(&bands, w, 0, poly_ceildiv(polys, y->outs, body_fixed(&body, FEWEST)),
                      (Band){.rows = FEWEST, .past = true, .direct = true}))
        return NULL;
    Index last = poly_add_const(polys, poly_scale(polys, y->outs, y->s), y->first - y->s);
    Stmt *either = body_append(&body, S_IF);
    const Expr *meets = expr_binary(w->mod, B_AND, window_within(w->mod, NULL, y->low, y->high),
                                    window_within(w->mod, NULL, last, y->high));
    Index room = body_fixed(&body, PLANE / FEWEST + 1);
    either->value = expr_binary(
        w->mod, B_AND,
        window_within(w->mod, body_fixed(&body, y->s > 1 ? APART : WIDE), x->extent, room), meets);
    either->body = bands.first;
    either->other = other;
    return body.first;
}

// Bands of as few rows as a wide plane has room for take some twice: narrow ones have more.
static Stmt *any_bands(Window *w, Stmt *as_is)
{
    const Axis *y = &w->axis[0];
    const int64_t tail = tail_of(y);
    const int64_t few = tail > FEWEST * y->s ? (tail + y->s - 1) / y->s : FEWEST;
    Stmt *wide = any_size(w, few, as_is);
    Stmt *all = wide && y->s == 1 && 2 * few <= MANY ? any_size(w, MANY, wide) : wide;
    return all && window_loads_any(w) ? any_size_direct(w, all) : all;
}

static void rewrite(Module *mod, Kernel *k)
{
    Point p = point_of(k->body);
    Window w = {.mod = mod, .point = &p};
    int64_t outs, extent;
    if (!window_recognise(&w))
        return;
    const bool known =
        poly_is_const(w.axis[0].outs, &outs) && poly_is_const(w.axis[1].extent, &extent);
    Stmt *as_is = NEW(mod->arena, Stmt);
    *as_is = *p.loops[p.nloops - 2];
    Stmt *body = known ? known_size(&w, outs, extent) : any_bands(&w, as_is);
    Stmt *around = body ? loops_around(&w, body) : k->body, *flat = window_flat(&w, around);
    if (!body && !flat)
        return;
    k->point = w.axis[0].taps * w.axis[1].taps <= MOST_SPARED ? k->body : NULL;
    k->body = flat ? flat : around;
}

static void rewrite_steps(Module *mod, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            rewrite(mod, s->kernel);
        rewrite_steps(mod, s->body);
        rewrite_steps(mod, s->other);
    }
}

void windows_module(Module *mod)
{
    rewrite_steps(mod, mod->steps);
}
