// Weights of convolutions in panels, and how a program packs those that it computes.

#include "codegen/cpu/conv_pack.h"

#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/tiles.h"
#include "codegen/cpu/winograd.h"
#include "codegen/parts.h"
#include "codegen/repeats.h"

#include <stdlib.h>

enum { DIMS = 4 }; // of groups and of k, in what the program is told

int64_t walk_at(const Walk *w, int64_t i)
{
    int64_t at = 0;
    for (uint32_t k = w->n; k > 0; i /= w->extent[k - 1], k--)
        at += i % w->extent[k - 1] * w->stride[k - 1];
    return at;
}

// Where the weights of a group begin, those of its rows and its values of k.
static const StoredF32 *column_of(const Panels *w, const StoredF32 *from, int64_t group, int64_t k)
{
    return from + w->start + walk_at(&w->groups, group) + walk_at(&w->k, k);
}

static bool same_walk(const Walk *a, const Walk *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->extent[i] == b->extent[i] && a->stride[i] == b->stride[i];
    return same;
}

bool conv_same_panels(const Conv *a, const Conv *b)
{
    const Panels *w = a->panels, *v = b->panels;
    return w && v && a->w->buffer == b->w->buffer && w->rows == v->rows && w->row == v->row &&
           w->start == v->start && same_walk(&w->groups, &v->groups) && same_walk(&w->k, &v->k);
}

static float scaled(const Panels *w, const Finish *f, int64_t group, int64_t i,
                    const StoredF32 *from)
{
    return f->scale ? (float)(f->scale[group * w->rows + i] * (double)*from) : *from;
}

float conv_scaled(const Panels *w, const Finish *f, int64_t group, int64_t i, int64_t k,
                  const StoredF32 *from)
{
    return scaled(w, f, group, i, column_of(w, from, group, k) + i * w->row);
}

// Rows of one panel after the other: so many lines of memory are read and one is written at a time.
void conv_pack_panels(const Conv *c, const Panels *w, const Finish *f, const StoredF32 *from,
                      float *to)
{
    const int64_t panels = (w->rows + TILE_ROWS - 1) / TILE_ROWS, size = w->k.size;
    for (int64_t g = 0; g < w->groups.size; g++)
        for (int64_t begin = 0; begin < w->rows; begin += TILE_ROWS) {
            const int64_t end = begin + TILE_ROWS < w->rows ? begin + TILE_ROWS : w->rows;
            for (int64_t k = 0; k < size; k++) {
                const StoredF32 *column = column_of(w, from, g, k);
                float *panel = to + g * c->block;
                if (!c->split)
                    panel += conv_packed_at(panels, size, begin, k) - begin;
                for (int64_t i = begin; i < end; i++)
                    panel[c->split ? split_conv_at(w->rows, size, i, k) : i] =
                        scaled(w, f, g, i, column + i * w->row);
            }
        }
}

bool conv_pack_tiles(const Conv *c, const Panels *w, const Finish *f, const StoredF32 *from,
                     float *to)
{
    const int64_t channels = w->k.size / winograd_window(c);
    float *plain = malloc((size_t)(w->groups.size * w->rows * w->k.size) * sizeof *plain), *p;
    if (!plain)
        return false;
    p = plain;
    for (int64_t g = 0; g < w->groups.size; g++)
        for (int64_t i = 0; i < w->rows; i++)
            for (int64_t k = 0; k < w->k.size; k++)
                *p++ = conv_scaled(w, f, g, i, k, from);
    winograd_pack(c, w->groups.size, w->rows, channels, plain, to);
    free(plain);
    return true;
}

// ---- by the program ----------------------------------------------------------------------------

// The same places with neighbours that run on as one. false: more than DIMS are left.
static bool join_walk(const Walk *w, Walk *to)
{
    *to = (Walk){.size = w->size};
    for (uint32_t i = 0; i < w->n; i++) {
        Walk *t = to;
        if (w->extent[i] == 1)
            continue;
        if (t->n > 0 && t->stride[t->n - 1] == w->stride[i] * w->extent[i]) {
            t->extent[t->n - 1] *= w->extent[i];
            t->stride[t->n - 1] = w->stride[i];
            continue;
        }
        t->extent[t->n] = w->extent[i];
        t->stride[t->n++] = w->stride[i];
    }
    return to->n <= DIMS;
}

bool conv_pack_fits(const Panels *w)
{
    Walk joined;
    return join_walk(&w->groups, &joined) && join_walk(&w->k, &joined);
}

// ".k = {1, 1, 64, 9}, .apart = {0, 0, 9, 1},"
static void print_walk(Printer *p, const Walk *w, const char *extents, const char *strides)
{
    Walk joined;
    join_walk(w, &joined);
    int64_t n[DIMS] = {1, 1, 1, 1}, by[DIMS] = {0};
    for (uint32_t i = 0; i < joined.n; i++) {
        n[DIMS - joined.n + i] = joined.extent[i];
        by[DIMS - joined.n + i] = joined.stride[i];
    }
    print_line(p, "    .%s = {%s, %s, %s, %s},", extents, print_size(p, n[0]), print_size(p, n[1]),
               print_size(p, n[2]), print_size(p, n[3]));
    print_line(p, "    .%s = {%s, %s, %s, %s},", strides, print_size(p, by[0]),
               print_size(p, by[1]), print_size(p, by[2]), print_size(p, by[3]));
}

void conv_pack_print(Printer *p, const Kernel *k, const Conv *c, bool part)
{
    enum { EACH = 5 * TILE_ROWS }; // tenths of nanoseconds for a value of k of a panel
    const Panels *w = c->made;
    const int64_t panels = (w->rows + TILE_ROWS - 1) / TILE_ROWS * w->groups.size;
    if (part)
        parts_begin(p, 0);
    else
        print_line(p, "{");
    p->indent += !part;
    conv_set_own(p, k, c, true);
    print_line(p, "%sconst cameo_conv_packing packing = {",
               p->marks ? repeats_mark(p, MARK_STATIC) : "static ");
    print_line(p, "    .rows = %s, .row = %s,", print_size(p, w->rows), print_size(p, w->row));
    print_walk(p, &w->groups, "groups", "group");
    print_walk(p, &w->k, "k", "apart");
    print_line(p, "};");
    const char *from = conv_buffer(p, c->w->buffer), *to = conv_buffer(p, c->packed);
    if (w->start)
        from = str_printf(p->arena, "%s + %s", from, print_size(p, w->start)).at;
    const char *all = print_size(p, panels);
    print_line(p, "cameo_conv_pack_weights(&packing, %s, %s, %s, %s);", from, to,
               part ? "from" : "0", part ? "to" : all);
    conv_set_own(p, k, c, false);
    p->indent -= !part;
    if (part)
        parts_end(p, all, parts_grain(p, poly_const(p->mod->polys, w->k.size * EACH)));
    else
        print_line(p, "}");
}
