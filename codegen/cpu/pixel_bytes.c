#include "codegen/cpu/pixel_bytes.h"

#include "codegen/cpu/constants.h"
#include "codegen/cpu/pixel_byte_windows.h"

#include <math.h>
#include <stdlib.h>

enum { VECTOR = 16, MOST_CONSTANTS = 1 << 20 };

typedef struct Terms {
    Module *mod;
    const PixelConv *c;
    PixelBytes *f;
} Terms;

static bool is_number(const Expr *e)
{
    return e->kind == EX_CONST && e->dtype == DT_F32 && isfinite(e->value.f);
}

static bool is_binary(const Expr *e, BinaryOp op)
{
    return e->kind == EX_BINARY && e->op == op && e->dtype == DT_F32;
}

// ---- steps of quantisation ---------------------------------------------------------------------

// Takes min and max with numbers off *e: the bounds, the inner one last.
static bool take_bounds(const Expr **e, float *low, float *high)
{
    bool least = false, most = false;
    *low = -INFINITY;
    *high = INFINITY;
    while (is_binary(*e, B_MIN) || is_binary(*e, B_MAX)) {
        const Expr *x = is_number((*e)->b) ? (*e)->a : (*e)->b;
        const Expr *bound = is_number((*e)->b) ? (*e)->b : (*e)->a;
        bool *seen = (*e)->op == B_MIN ? &most : &least;
        if (!is_number(bound) || *seen)
            return false;
        *seen = true;
        *((*e)->op == B_MIN ? high : low) = (float)bound->value.f;
        *e = x;
    }
    return *low <= *high;
}

static float least_of(DType t)
{
    return t == DT_I8 ? -128 : 0;
}

static float most_of(DType t)
{
    return t == DT_I8 ? 127 : 255;
}

// What is rounded to the byte e; NULL: it is made in another way.
static const Expr *read_step(const Expr *e, ByteStep *to)
{
    float low, high;
    if (e->kind != EX_CAST || (e->dtype != DT_U8 && e->dtype != DT_I8) || e->a->dtype != DT_F32)
        return NULL;
    to->dtype = e->dtype;
    to->zero = 0;
    e = e->a;
    if (!take_bounds(&e, &low, &high) || low != least_of(to->dtype) || high != most_of(to->dtype))
        return NULL;
    if (is_binary(e, B_ADD)) {
        const Expr *zero = is_number(e->b) ? e->b : e->a;
        if (!is_number(zero) || zero->value.f != floor(zero->value.f) || zero->value.f < low ||
            zero->value.f > high)
            return NULL;
        to->zero = (int64_t)zero->value.f;
        e = zero == e->b ? e->a : e->b;
    }
    if (e->kind != EX_UNARY || e->op != U_ROUND || e->dtype != DT_F32)
        return NULL;
    e = e->a;
    return take_bounds(&e, &to->low, &to->high) ? e : NULL;
}

// ---- constants of a channel --------------------------------------------------------------------

static BufferId table(const Terms *t, DType type, const void *elements)
{
    return bytes_buffer(t->mod, type, t->c->filled, elements);
}

// The greatest magnitude in such a table.
static double greatest(const Terms *t, BufferId b)
{
    const TensorData *data = buffer_at(t->mod, b)->data;
    Str error;
    const float *at = tensor_elements(t->mod->model, (TensorData *)(uintptr_t)data, &error);
    double most = at ? 0 : INFINITY;
    for (uint64_t i = 0; at && i < data->nelements; i++)
        most = isfinite(at[i]) ? fmax(most, fabs(at[i])) : INFINITY;
    return most;
}

// Is e a number of each place, the same for all channels, and those of an image side by side?
static bool is_beside(const Terms *t, const Expr *e)
{
    Polys *polys = t->mod->polys;
    const PixelConv *c = t->c;
    if (e->kind != EX_LOAD || e->dtype != DT_I32 || e->rank != 4 || e->buffer == c->sums)
        return false;
    const Index *dims = buffer_at(t->mod, e->buffer)->dims;
    return poly_is_const(e->at[1], NULL) && poly_equals(dims[2], c->out[0]) &&
           poly_equals(dims[3], c->out[1]) && e->at[2] == poly_loop(polys, c->n[0]) &&
           e->at[3] == poly_loop(polys, c->n[1]);
}

// less[channel] -= sign * e, a whole number that the channel decides.
static bool add_less(const Terms *t, const Expr *e, int32_t sign, int32_t *less)
{
    const LoopId vars[] = {t->c->block, t->c->lane};
    Iterations loops;
    if (e->dtype != DT_I32 || !iterations_begin(&loops, t->mod, 2, vars, MOST_CONSTANTS))
        return false;
    bool done = constant_computes(&loops, e);
    int64_t to[CONSTANT_LANES];
    for (int32_t *at = less; done && iterations_next(&loops); at += loops.n) {
        constant_integers(&loops, e, to);
        for (uint32_t i = 0; i < loops.n; i++)
            at[i] = (int32_t)((uint32_t)at[i] - (uint32_t)sign * (uint32_t)to[i]);
    }
    done = done && !loops.failed;
    iterations_end(&loops);
    return done;
}

// Is e such a number, times a whole one that the channel decides?
static bool take_beside(const Terms *t, const Expr *e)
{
    const bool product = e->kind == EX_BINARY && e->op == B_MUL && e->dtype == DT_I32;
    const Expr *one = expr_const(t->mod, DT_I32, (Scalar){.i = 1});
    const Expr *number = product && is_beside(t, e->a) ? e->a : product ? e->b : e;
    const Expr *often = !product ? one : number == e->a ? e->b : e->a;
    if (t->f->beside || t->c->windows || !is_beside(t, number))
        return false;
    int32_t *to = calloc((size_t)t->c->filled, sizeof *to);
    const bool read = to && add_less(t, often, -1, to);
    t->f->beside = read ? number : NULL;
    t->f->often = read ? table(t, DT_I32, to) : 0;
    free(to);
    return read;
}

// Is e the sum with whole numbers added? *sums: how often it was met.
static bool read_whole(const Terms *t, const Expr *e, int32_t sign, int32_t *less, int *sums)
{
    if (e->kind == EX_LOAD && e->buffer == t->c->sums) {
        *sums += 1;
        return sign == 1;
    }
    const bool difference = e->kind == EX_BINARY && e->op == B_SUB && e->dtype == DT_I32;
    if (difference || (e->kind == EX_BINARY && e->op == B_ADD && e->dtype == DT_I32))
        return read_whole(t, e->a, sign, less, sums) &&
               read_whole(t, e->b, difference ? -sign : sign, less, sums);
    return (sign == 1 && take_beside(t, e)) || add_less(t, e, sign, less);
}

static bool take_sum(Terms *t, const Expr *e)
{
    int sums = 0;
    if (e->kind != EX_CAST || e->dtype != DT_F32 || e->a->dtype != DT_I32)
        return false;
    int32_t *less = calloc((size_t)t->c->filled, sizeof *less);
    const bool read = less && read_whole(t, e->a, 1, less, &sums) && sums == 1;
    t->f->less = read ? table(t, DT_I32, less) : 0;
    free(less);
    return read;
}

// sum * scale + bias, so small that it is rounded to 32 bits.
static bool take_scaled(Terms *t, const Expr *e)
{
    const Expr *product = e, *bias = NULL;
    if (is_binary(e, B_ADD)) {
        const bool first = pixel_conv_table(t->mod, t->c, e->b) != 0;
        product = first ? e->a : e->b;
        bias = first ? e->b : e->a;
    }
    if (!is_binary(product, B_MUL))
        return false;
    const bool first = product->a->kind == EX_CAST;
    const Expr *zero = expr_const(t->mod, DT_F32, (Scalar){.f = 0});
    t->f->scale = pixel_conv_table(t->mod, t->c, first ? product->b : product->a);
    t->f->bias = pixel_conv_table(t->mod, t->c, bias ? bias : zero);
    return t->f->scale && t->f->bias && take_sum(t, first ? product->a : product->b) &&
           greatest(t, t->f->scale) * ldexp(1, 31) + greatest(t, t->f->bias) < ldexp(1, 31) - 512;
}

// ---- residuals ---------------------------------------------------------------------------------

// Is e a value in pixels of bytes whose places along a row are neighbours, as y's?
static bool is_added(const Terms *t, const Expr *e)
{
    Polys *polys = t->mod->polys;
    return e->kind == EX_LOAD && (e->dtype == DT_U8 || e->dtype == DT_I8) && e->rank == 5 &&
           poly_equals(buffer_at(t->mod, e->buffer)->dims[4], t->c->columns) &&
           e->at[4] == poly_loop(polys, t->c->lane) && e->at[1] == poly_loop(polys, t->c->block) &&
           poly_is_const(poly_sub(polys, e->at[2], poly_loop(polys, t->c->n[0])), NULL) &&
           poly_is_const(poly_sub(polys, e->at[3], poly_loop(polys, t->c->n[1])), NULL);
}

// One of the two: a byte as a float, times a number or not.
static bool take_byte(Terms *t, const Expr *e, bool *first)
{
    float by = 1;
    if (is_binary(e, B_MUL)) {
        const Expr *number = is_number(e->b) ? e->b : e->a;
        if (!is_number(number))
            return false;
        by = (float)number->value.f;
        e = number == e->b ? e->a : e->b;
    }
    if (e->kind != EX_CAST || e->dtype != DT_F32)
        return false;
    *first = !is_added(t, e->a);
    if (!*first) {
        t->f->by = by;
        return !t->f->added && (t->f->added = e->a);
    }
    t->f->factor = by;
    const Expr *x = read_step(e->a, &t->f->first);
    return x && !t->f->scale && take_scaled(t, x);
}

// (a number + one product) + the other.
static bool take_residual(Terms *t, const Expr *e)
{
    if (!is_binary(e, B_ADD))
        return false;
    const bool swapped = is_binary(e->a, B_ADD);
    const Expr *rest = swapped ? e->a : e->b, *last = swapped ? e->b : e->a;
    bool inner = false;
    if (!is_binary(rest, B_ADD))
        return false;
    const Expr *number = is_number(rest->b) ? rest->b : rest->a;
    t->f->number = (float)number->value.f;
    return is_number(number) && take_byte(t, number == rest->b ? rest->a : rest->b, &inner) &&
           take_byte(t, last, &t->f->last) && inner != t->f->last && t->f->added && t->f->scale;
}

// The elements of a table as sums of windows have them; of any 32 bits.
static BufferId turned(const Terms *t, BufferId from, DType type)
{
    const TensorData *data = buffer_at(t->mod, from)->data;
    Str error;
    const uint32_t *at = tensor_elements(t->mod->model, (TensorData *)(uintptr_t)data, &error);
    uint32_t *to = at ? calloc((size_t)t->c->filled, sizeof *to) : NULL;
    if (!to)
        return 0;
    for (int64_t i = 0; i < t->c->filled; i++) {
        const int lane = (int)(i % t->c->columns);
        to[i - lane + pixel_byte_windows_lane(lane)] = at[i];
    }
    const BufferId b = table(t, type, to);
    free(to);
    return b;
}

static bool turn(Terms *t)
{
    PixelBytes *f = t->f;
    f->scale = turned(t, f->scale, DT_F32);
    f->bias = turned(t, f->bias, DT_F32);
    f->less = turned(t, f->less, DT_I32);
    return f->scale && f->bias && f->less;
}

PixelBytes *pixel_bytes_of(Module *mod, const PixelConv *c, const Stmt *store, Index place)
{
    PixelBytes f = {0};
    Terms t = {.mod = mod, .c = c, .f = &f};
    const Buffer *y = buffer_at(mod, store->buffer);
    if (y->rank != 5 || !poly_equals(y->dims[4], c->columns) || pixel_lanes(y->dtype) != c->columns)
        return NULL;
    const Expr *x = read_step(store->value, &f.y);
    if (!x)
        return NULL;
    if (!take_scaled(&t, x)) {
        f = (PixelBytes){.y = f.y};
        if (c->windows || !take_residual(&t, x))
            return NULL;
    }
    if (c->windows && !turn(&t))
        return NULL;
    PixelBytes *to = NEW(mod->arena, PixelBytes);
    *to = f;
    to->place = place;
    return to;
}

void pixel_bytes_uses(Module *mod, const PixelBytes *b, KernelUses *u)
{
    if (b->added)
        uses_add_expr(mod, u, b->added);
    if (b->beside)
        uses_add_expr(mod, u, b->beside);
    const BufferId tables[] = {b->scale, b->bias, b->less, b->often};
    for (int i = 0; i < (b->beside ? 4 : 3); i++)
        access_note(u->arena, &u->buffers, tables[i], ACCESS_READ);
}

// ---- printing ----------------------------------------------------------------------------------

static const char *print_number(Printer *p, float v)
{
    return print_literal(p, DT_F32, (Scalar){.f = v});
}

// A bound of y as a byte without a sign.
static int bound_of(const ByteStep *s, float bound, int flip)
{
    const float least = least_of(s->dtype), most = most_of(s->dtype);
    const float whole = rintf(bound) + (float)s->zero; // infinite, or exact where it counts
    return (int)(whole < least ? least : whole > most ? most : whole) + flip;
}

static void print_added(Printer *p, const PixelBytes *f)
{
    const ByteStep *q = &f->first;
    const float zero = (float)q->zero;
    print_line(p, "    .added = (const unsigned char *)&%s, .sign = %d, .last = %d,",
               print_element(p, f->added->buffer, f->added->at), f->added->dtype == DT_I8, f->last);
    print_line(p, "    .low = %s, .high = %s, .start = %s,",
               print_number(p, fmaxf(q->low, least_of(q->dtype) - zero)),
               print_number(p, fminf(q->high, most_of(q->dtype) - zero)), print_number(p, zero));
    print_line(p, "    .factor = %s, .number = %s, .by = %s,", print_number(p, f->factor),
               print_number(p, f->number), print_number(p, f->by));
}

static const char *print_vectors(Printer *p, const PixelConv *c)
{
    const int64_t all = c->columns / VECTOR, rest = (c->channels - 1) % c->columns / VECTOR + 1;
    if (rest == all)
        return str_printf(p->arena, "%lld", (long long)all).at;
    return str_printf(p->arena, "i%u == %lld ? %lld : %lld", c->block,
                      (long long)(c->filled / c->columns - 1), (long long)rest, (long long)all)
        .at;
}

void pixel_bytes_print_ends(Printer *p, const PixelConv *c)
{
    const PixelBytes *f = c->ends;
    const int flip = f->y.dtype == DT_I8 ? 128 : 0;
    const long long columns = (long long)c->columns;
    print_line(p, "const cameo_pixel_byte_ends ends = {");
    print_line(p, "    .scale = %s + %lld * i%u, .bias = %s + %lld * i%u, .less = %s + %lld * i%u,",
               bytes_name(p, f->scale), columns, c->block, bytes_name(p, f->bias), columns,
               c->block, bytes_name(p, f->less), columns, c->block);
    if (f->beside)
        print_line(p, "    .beside = &%s, .often = %s + %lld * i%u,",
                   print_element(p, f->beside->buffer, f->beside->at), bytes_name(p, f->often),
                   columns, c->block);
    if (f->added)
        print_added(p, f);
    print_line(p, "    .vectors = %s, .zero = %lld, .least = %d, .most = %d, .flip = %d};",
               print_vectors(p, c), (long long)f->y.zero + flip, bound_of(&f->y, f->y.low, flip),
               bound_of(&f->y, f->y.high, flip), flip);
}

void pixel_bytes_print_fused(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    const char *type = c->dtype == DT_U8 ? "u8" : "s8";
    pixel_conv_begin_fused(p, conv,
                           str_printf(p->arena, "%s%s", type, c->ends->beside ? "_beside" : "").at);
    pixel_bytes_print_ends(p, c);
    print_line(p, "cameo_pixel_fused_bytes(&groups, &h, &cut, %s, %s, &fuse, &ends);", from, to);
    pixel_conv_end_fused(p, conv);
}

void pixel_bytes_print(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const char *sums = print_element(p, c->sums, &c->ends->place);
    pixel_bytes_print_ends(p, c);
    if (c->ends->beside)
        print_line(p, "cameo_pixel_bytes_beside(&%s, high - low, &ends);", sums);
    print_line(p, "cameo_pixel_bytes(&%s, &%s, high - low, &ends);",
               print_element(p, conv->store->buffer, conv->store->at), sums);
}
