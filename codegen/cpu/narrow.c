// Packing factors of few bits, and calls of products with them.
//
// A panel has TILE_COLUMNS columns, the last one as many as vectors of 16 allow. It is blocks of k
// one after the other, and all of a block lies together, so that it is read from the first byte
// to the last: rows of words of 32 bits, each 32 / bits elements of a column that follow one
// another in k, less the middle of their range, the first in the lowest bits; a row of scales;
// where there are any, a row of zero points less the same middle. Numbers of 16 bits are pairs in
// words likewise, without scales.

#include "codegen/cpu/narrow.h"

#include "codegen/cpu/constants.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/tiles.h"
#include "passes/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16, MOST_BLOCK = 4096, WIDTH = TILE_COLUMNS };
#define MOST_ELEMENTS ((int64_t)1 << 32)

typedef struct Form {      // (q - z) * s
    const Expr *q, *z, *s; // z: an integer or a float32, NULL: 0
} Form;

typedef struct Codes {
    int64_t n, k, bn, bk, groups; // groups: of GRAIN values of k
    int64_t most;                 // values of k that may have one scale
    uint8_t *q;                   // as the factor lies, less the sign
    float *s, *z;                 // [groups][n]
    uint8_t *seen;
    int64_t done, low, high; // elements stored; the least and greatest of q
} Codes;

// ---- the form ----------------------------------------------------------------------------------

static const Expr *under_casts(const Expr *e)
{
    while (e->kind == EX_CAST && dtype_is_integer(e->dtype) && dtype_is_integer(e->a->dtype) &&
           dtype_info(e->a->dtype)->bits < dtype_info(e->dtype)->bits)
        e = e->a;
    return e;
}

// e = q or q - z, of numbers that began as integers of at most 8 bits.
static bool read_codes(const Expr *e, Form *f)
{
    f->z = NULL;
    if (e->kind == EX_BINARY && e->op == B_SUB) {
        f->z = e->b;
        e = e->a;
    }
    if (e->kind == EX_CAST && e->dtype == DT_F32 && dtype_is_integer(e->a->dtype))
        e = under_casts(e->a);
    if (e->kind == EX_BINARY && e->op == B_SUB && !f->z) {
        f->z = e->b;
        e = under_casts(e->a);
    }
    f->q = e;
    return dtype_is_integer(e->dtype) && dtype_info(e->dtype)->bits <= 8;
}

static bool read_form(const Iterations *x, const Expr *e, Form *f)
{
    if (e->kind != EX_BINARY || e->op != B_MUL || e->dtype != DT_F32)
        return false;
    f->s = e->b;
    if (!read_codes(e->a, f)) {
        f->s = e->a;
        if (!read_codes(e->b, f))
            return false;
    }
    return constant_computes(x, f->q) && constant_computes(x, f->s) && f->s->dtype == DT_F32 &&
           (!f->z || constant_computes(x, f->z));
}

// ---- its elements ------------------------------------------------------------------------------

// The scale and the zero point of column n at a group of GRAIN values of k.
static bool keep_scale(Codes *c, int64_t group, int64_t n, float s, float z)
{
    const int64_t at = group * c->n + n;
    if (c->seen[at] && (c->s[at] != s || c->z[at] != z))
        return false;
    c->seen[at] = 1;
    c->s[at] = s;
    c->z[at] = z;
    return isfinite(s) && isfinite(z);
}

static void keep_codes(Codes *c, const int64_t *places, uint32_t n, const int64_t *q)
{
    int64_t low = c->low, high = c->high;
    for (uint32_t i = 0; i < n; i++) {
        low = q[i] < low ? q[i] : low;
        high = q[i] > high ? q[i] : high;
        c->q[places[i]] = (uint8_t)q[i];
    }
    c->low = low;
    c->high = high;
    c->done += n;
}

// Elements of the buffer at these lanes; s and z: one for each `step` of them.
static bool keep(Codes *c, const int64_t *places, uint32_t n, uint32_t step, const float *s,
                 const float *z)
{
    const int64_t other = c->bk == 1 ? c->k : c->n;
    const bool whole = step == GRAIN && c->bk == 1 && c->k % GRAIN == 0;
    for (uint32_t i = 0; i < n;) {
        const int64_t row = places[i] / other, at = places[i] - row * other;
        const int64_t k = c->bk == 1 ? at : row, column = c->bk == 1 ? row : at;
        bool group = whole && at % GRAIN == 0 && i % GRAIN == 0 && i + GRAIN <= n;
        for (uint32_t l = 1; group && l < GRAIN; l++)
            group = places[i + l] == places[i] + l;
        if (!keep_scale(c, k / GRAIN, column, s[i / step], z[i / step]))
            return false;
        i += group ? GRAIN : 1;
    }
    return true;
}

static void keep_numbers(Iterations *x, const Expr *e, float *to)
{
    int64_t whole[CONSTANT_LANES];
    if (e->dtype == DT_F32) {
        constant_floats(x, e, to);
        return;
    }
    constant_integers(x, e, whole);
    for (uint32_t i = 0; i < x->n; i++)
        to[i] = (float)whole[i];
}

static bool keep_store(Iterations *x, const Buffer *to, const Stmt *store, const Form *f, Codes *c)
{
    int64_t places[CONSTANT_LANES], q[CONSTANT_LANES];
    float s[CONSTANT_LANES], z[CONSTANT_LANES] = {0};
    uint32_t step = 0;
    while (iterations_next(x)) {
        const uint32_t n = x->n;
        if (!step)
            step = constant_even(x, f->s, GRAIN) && (!f->z || constant_even(x, f->z, GRAIN)) ? GRAIN
                                                                                             : 1;
        iterations_places(x, to->rank, to->dims, store->at, places);
        constant_integers(x, f->q, q);
        iterations_step(x, step);
        constant_floats(x, f->s, s);
        if (f->z)
            keep_numbers(x, f->z, z);
        if (x->failed || !keep(c, places, n, step, s, z))
            return false;
        keep_codes(c, places, n, q);
    }
    constant_forget(x, f->q);
    return true;
}

typedef struct Search {
    Module *mod;
    BufferId buffer;
    Codes *codes;
    Buf *text; // not NULL: what would be evaluated is described, and nothing is
    LoopId vars[CONSTANT_LOOPS];
    uint32_t nvars;
} Search;

static void describe(const Iterations *x, const Stmt *store, const Form *f, Buf *out)
{
    iterations_describe_nest(x, out);
    for (uint32_t i = 0; i < store->rank; i++) {
        buf_printf(out, "[");
        iterations_describe(x, store->at[i], out);
        buf_printf(out, "]");
    }
    const Expr *const of[] = {f->q, f->s, f->z};
    for (int i = 0; i < 3; i++) {
        buf_printf(out, "\n");
        if (of[i])
            constant_describe(x, of[i], out);
    }
}

// Evaluates what is stored in the buffer by these statements; false: not all of it can be.
static bool evaluate(Search *s, const Stmt *body)
{
    for (; body; body = body->next) {
        if (body->kind == S_FOR) {
            if (s->nvars == CONSTANT_LOOPS)
                return false;
            s->vars[s->nvars++] = body->var;
            bool fits = evaluate(s, body->body);
            s->nvars--;
            if (!fits)
                return false;
        } else if (body->kind != S_STORE) {
            return false;
        } else if (body->buffer == s->buffer) {
            const Buffer *to = buffer_at(s->mod, s->buffer);
            Iterations x;
            Form f;
            bool fits = iterations_begin(&x, s->mod, s->nvars, s->vars, MOST_ELEMENTS) &&
                        read_form(&x, body->value, &f);
            for (uint32_t i = 0; fits && i < body->rank; i++)
                fits = iterations_know(&x, body->at[i]);
            if (fits && s->text)
                describe(&x, body, &f, s->text);
            else
                fits = fits && keep_store(&x, to, body, &f, s->codes);
            iterations_end(&x);
            if (!fits)
                return false;
        }
    }
    return true;
}

static bool stores_to(const Stmt *s, BufferId b)
{
    for (; s; s = s->next)
        if (((s->kind == S_STORE || s->kind == S_UPDATE) && s->buffer == b) ||
            stores_to(s->body, b) || stores_to(s->other, b))
            return true;
    return false;
}

static bool steps_store(const Step *s, BufferId b)
{
    for (; s; s = s->next) {
        if ((s->kernel && stores_to(s->kernel->body, b)) || steps_store(s->body, b) ||
            steps_store(s->other, b))
            return true;
        for (uint32_t i = 0; s->call && i < s->call->nwrites; i++)
            if (s->call->writes[i] == b)
                return true;
    }
    return false;
}

// All elements of the buffer, from the kernels that store them, once each.
static bool evaluate_buffer(Module *mod, BufferId b, Codes *c, Buf *text)
{
    Search s = {.mod = mod, .buffer = b, .codes = c, .text = text};
    for (const Step *step = mod->steps; step; step = step->next) {
        if (step->kernel && stores_to(step->kernel->body, b)) {
            if (step->kernel->override || !evaluate(&s, step->kernel->body))
                return false;
        } else if (!step->kernel && (steps_store(step->body, b) || steps_store(step->other, b) ||
                                     (step->call && steps_store(step, b)))) {
            return false;
        }
    }
    return text || c->done == c->n * c->k;
}

// ---- packing -----------------------------------------------------------------------------------

// As many groups to a block as have the same scale and zero point.
static int64_t block_of(const Codes *c)
{
    int64_t block = 1;
    for (bool same = true; same && block < c->groups && block * 2 * GRAIN <= c->most;) {
        for (int64_t g = 0; same && g + block < c->groups; g += 2 * block)
            for (int64_t n = 0; same && n < c->n; n++) {
                const int64_t p = g * c->n + n, q = (g + block) * c->n + n;
                same = c->s[p] == c->s[q] && c->z[p] == c->z[q];
            }
        block *= same ? 2 : 1;
    }
    const int64_t all = c->groups < block ? c->groups : block;
    return all * GRAIN;
}

static void choose_bits(const Codes *c, Narrow *w, int64_t *middle)
{
    *middle = 0;
    for (w->bits = 2; w->bits <= 8; w->bits *= 2) {
        const int64_t half = (int64_t)1 << (w->bits - 1);
        if (c->low >= -half && c->high < half)
            return;
        *middle = half;
        if (c->low >= 0 && c->high < 2 * half)
            return;
        *middle = 0;
    }
}

static void pack_block(const Codes *c, const Narrow *w, int64_t middle, int64_t from, int64_t n0,
                       int64_t width, uint32_t *to)
{
    const int64_t each = 32 / w->bits, turns = w->block / each;
    const int64_t left = c->n - n0 < width ? c->n - n0 : width;
    const uint32_t mask = w->bits == 8 ? 255 : (1u << w->bits) - 1;
    for (int64_t k = from; k < from + w->block && k < c->k; k++)
        for (int64_t n = 0; n < left; n++) {
            const uint32_t code = (uint32_t)(c->q[k * c->bk + (n0 + n) * c->bn] - middle) & mask;
            to[(k - from) / each * width + n] |= code << (k % each * w->bits);
        }
    float *numbers = (float *)(to + turns * width);
    for (int64_t n = 0; n < left; n++) {
        const int64_t at = from / GRAIN * c->n + n0 + n;
        numbers[n] = c->s[at];
        if (w->zeros)
            numbers[width + n] = c->z[at] - (float)middle;
    }
}

static bool has_zeros(const Codes *c, int64_t middle)
{
    for (int64_t i = 0; i < c->groups * c->n; i++)
        if (c->z[i] != (float)middle)
            return true;
    return false;
}

int64_t narrow_words(const Narrow *w)
{
    const int64_t numbers = w->bits == 16 ? 0 : 1 + w->zeros;
    return (w->k + w->block - 1) / w->block * (w->block * w->bits / 32 + numbers);
}

static bool pack_codes(Module *mod, const Codes *c, Narrow *w)
{
    int64_t middle;
    choose_bits(c, w, &middle);
    if (w->bits > 8)
        return false;
    w->block = block_of(c);
    w->zeros = has_zeros(c, middle);
    const int64_t columns = (c->n + 15) / 16 * 16, words = narrow_words(w);
    uint32_t *to = arena_lend(mod->arena, (size_t)columns * (size_t)words * sizeof *to);
    for (int64_t n0 = 0; n0 < columns; n0 += WIDTH) {
        const int64_t width = columns - n0 < WIDTH ? columns - n0 : WIDTH;
        uint32_t *at = to + n0 * words;
        for (int64_t k = 0; k < c->k; k += w->block) {
            pack_block(c, w, middle, k, n0, width, at);
            at += width * (w->block * w->bits / 32 + 1 + w->zeros);
        }
    }
    w->packed = bytes_keep(mod, DT_I32, columns * words, to);
    return true;
}

// Is the factor a whole buffer, a matrix read along its rows or columns?
static bool read_matrix(Printer *p, const Override *o, Codes *c)
{
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, o->b->buffer);
    Index rest = linear_index(p, b->rank, b->dims, o->b->at);
    rest = poly_sub(polys, rest, poly_mul(polys, o->bk, poly_loop(polys, o->k)));
    rest = poly_sub(polys, rest, poly_mul(polys, o->bn, override_column(polys, o)));
    int64_t size = 1;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t dim;
        if (!poly_is_const(b->dims[i], &dim) || dim < 1 || dim > MOST_ELEMENTS / size)
            return false;
        size *= dim;
    }
    return o->reduce->rank == 1 && poly_equals(rest, 0) && poly_is_const(o->columns, &c->n) &&
           poly_is_const(loop_extent(polys, o->k), &c->k) && poly_is_const(o->bn, &c->bn) &&
           poly_is_const(o->bk, &c->bk) && c->n > 0 && c->k > 0 && c->n <= size / c->k &&
           size == c->n * c->k && ((c->bk == 1 && c->bn == c->k) || (c->bn == 1 && c->bk == c->n));
}

// What was packed of the same constants before, as for another processor, is found by their text.
typedef struct Packed {
    Narrow narrow;
    const void *words;
} Packed;

static const void **packed_before(Module *mod, BufferId b, Codes *c)
{
    Buf text = {0};
    buf_printf(&text, "narrow %lld %lld %lld %lld %lld ", (long long)c->n, (long long)c->k,
               (long long)c->bn, (long long)c->bk, (long long)c->most);
    const bool fits = evaluate_buffer(mod, b, c, &text);
    const void **place =
        fits ? known_named(mod->model, (Str){(const char *)text.at, text.len}) : NULL;
    buf_free(&text);
    return place;
}

// Evaluates and packs; false: not all of it can be.
static bool pack(Module *mod, BufferId b, Codes *c, Narrow *w)
{
    c->groups = (c->k + GRAIN - 1) / GRAIN;
    c->q = calloc((size_t)(c->n * c->k), sizeof *c->q);
    c->s = calloc((size_t)(c->groups * c->n), sizeof *c->s);
    c->z = calloc((size_t)(c->groups * c->n), sizeof *c->z);
    c->seen = calloc((size_t)(c->groups * c->n), 1);
    const bool packed = c->q && c->s && c->z && c->seen && evaluate_buffer(mod, b, c, NULL) &&
                        pack_codes(mod, c, w);
    free(c->q);
    free(c->s);
    free(c->z);
    free(c->seen);
    return packed;
}

Narrow *narrow_pack(Printer *p, const Override *o, bool exact)
{
    Module *mod = p->mod;
    Codes c = {0};
    const Buffer *b = buffer_at(mod, o->b->buffer);
    if (b->kind != BUF_TEMP || b->dtype != DT_F32 || !read_matrix(p, o, &c))
        return NULL;
    c.most = b->coarse ? b->coarse : MOST_BLOCK;
    const int64_t coarse = b->coarse;
    const void **before = packed_before(mod, o->b->buffer, &c);
    if (!before)
        return NULL;
    const Packed *there = *before;
    Narrow *w = NEW(mod->arena, Narrow);
    *w = there ? there->narrow : (Narrow){.n = c.n, .k = c.k};
    w->exact = exact;
    if (there) {
        const int64_t words = (c.n + 15) / 16 * 16 * narrow_words(w);
        w->packed = bytes_around(mod, DT_I32, words, there->words);
        w->bytes = narrow_bytes_fit(w, coarse);
        return w;
    }
    if (!pack(mod, o->b->buffer, &c, w))
        return NULL;
    w->bytes = narrow_bytes_fit(w, coarse);
    Packed *kept = NEW(mod->arena, Packed);
    Str error;
    TensorData *data = (TensorData *)(uintptr_t)buffer_at(mod, w->packed)->data;
    *kept = (Packed){*w, tensor_elements(mod->model, data, &error)};
    *before = kept;
    return w;
}

// ---- numbers of 16 bits ------------------------------------------------------------------------

// Pairs of values of k in words of 32 bits, the first in the lower half.
static void pack_halves(const Codes *c, const StoredU16 *from, uint32_t *to)
{
    const int64_t columns = (c->n + 15) / 16 * 16,
                  words = (c->k + NARROW_PAIRS - 1) / NARROW_PAIRS * NARROW_PAIRS / 2;
    for (int64_t n0 = 0; n0 < c->n; n0 += WIDTH) {
        const int64_t left = columns - n0, width = left < WIDTH ? left : WIDTH;
        const int64_t used = c->n - n0 < width ? c->n - n0 : width;
        uint32_t *row = to + n0 * words;
        const StoredU16 *at = from + n0 * c->bn;
        for (int64_t k = 0; k < c->k; k += 2, row += width, at += 2 * c->bk)
            for (int64_t n = 0; n < used; n++)
                row[n] = at[n * c->bn] | (k + 1 < c->k ? (uint32_t)at[n * c->bn + c->bk] << 16 : 0);
    }
}

Narrow *narrow_pack_halves(Printer *p, const Override *o, Str *error)
{
    Module *mod = p->mod;
    Codes c = {0};
    if (!read_matrix(p, o, &c) || buffer_at(mod, o->b->buffer)->kind != BUF_WEIGHT)
        return NULL;
    const Buffer *b = buffer_at(mod, o->b->buffer);
    TensorData *data = (TensorData *)(uintptr_t)b->data;
    const bool half = b->dtype == DT_F16;
    const StoredU16 *from = data ? tensor_elements(mod->model, data, error) : NULL;
    for (int64_t i = 0; from && i < c.n * c.k; i++)
        if (half && (from[i] & 0x7c00) == 0x7c00)
            return NULL;
    Narrow w = {.n = c.n, .k = c.k, .block = NARROW_PAIRS, .bits = 16, .half = half};
    const int64_t size = (c.n + 15) / 16 * 16 * narrow_words(&w);
    if (!from)
        return NULL;
    uint32_t *to = arena_lend(mod->arena, (size_t)size * sizeof *to);
    pack_halves(&c, from, to);
    w.packed = bytes_keep(mod, DT_I32, size, to);
    Narrow *kept = NEW(mod->arena, Narrow);
    *kept = w;
    return kept;
}

// ---- printing ----------------------------------------------------------------------------------

uint32_t narrow_kinds(const Step *s)
{
    uint32_t kinds = 0;
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        kinds |= o && o->narrow ? o->narrow->bits / 2 << o->narrow->half : 0;
        kinds |= o && o->narrow && o->narrow->bytes ? narrow_bytes_kind(o->narrow->bits) : 0;
        kinds |= o && o->half ? 8 : 0; // bfloat16
        kinds |= narrow_kinds(s->body) | narrow_kinds(s->other);
    }
    return kinds;
}

static const char *narrow_name(const Narrow *w)
{
    return w->half ? "f16" : w->bits == 16 ? "bf16" : w->bits == 8 ? "8" : w->bits == 4 ? "4" : "2";
}

static void print_call(Printer *p, const Override *o, const char *function, const char *rows,
                       const char *columns)
{
    const Narrow *w = o->narrow;
    access_note(p->arena, &p->printed.buffers, w->packed, ACCESS_READ);
    print_line(p,
               "%s(&cameo_narrow_%s%s, (cameo_narrow_sizes){%s, %s, %lld, %lld, "
               "%d, %d, 0},",
               function, w->bytes ? "bytes_" : "", narrow_name(w), rows, columns, (long long)w->k,
               (long long)w->block, w->zeros, w->exact);
}

// The panels from a column on; NULL: all.
static const char *panels(Printer *p, const Narrow *w, const char *column)
{
    if (!column)
        return str_printf(p->arena, "b%u", w->packed).at;
    return str_printf(p->arena, "b%u + %s * %lld", w->packed, column, (long long)narrow_words(w))
        .at;
}

static void print_product(Printer *p, const Override *o, const char *function, const char *rows,
                          const char *columns, const char *a, const char *column, const char *y)
{
    print_call(p, o, function, rows, columns);
    print_line(p, "    %s, %s, %s, %s, %s, %s);", a, print_index_bare(p, o->am),
               print_index_bare(p, o->ak), panels(p, o->narrow, column), y,
               print_index_bare(p, o->ym));
}

void narrow_print(Printer *p, const Override *o, const char *rows, const char *columns,
                  const char *a, const char *column, const char *y)
{
    int64_t all;
    const bool known = poly_is_const(o->rows, &all), one = known ? all == 1 : true;
    if (!o->narrow->bytes) {
        print_product(p, o, "cameo_narrow_product", rows, columns, a, column, y);
        return;
    }
    if (!known) // not as many as this share has, so that bits are those of any number of threads
        print_line(p, "if (%s == 1)", print_index(p, o->rows));
    if (one)
        print_product(p, o, "cameo_narrow_bytes_one", rows, columns, a, column, y);
    if (!known)
        print_line(p, "else");
    if (!one || !known)
        print_product(p, o, "cameo_narrow_bytes_product", rows, columns, a, column, y);
}

void narrow_print_packed(Printer *p, const Override *o, const char *rows, const char *columns,
                         const char *column, const char *y)
{
    access_note(p->arena, &p->printed.buffers, o->block, ACCESS_READ | ACCESS_WRITE);
    print_call(p, o,
               o->narrow->bytes ? "    cameo_narrow_bytes_columns" : "    cameo_narrow_columns",
               rows, columns);
    print_line(p, "        b%u, %s, %s, %s);", o->block, panels(p, o->narrow, column), y,
               print_index_bare(p, o->ym));
}
