// Convolutions in pixels of few channels.
//
// Places of the window in one line are neighbours, so they are words of one row of a tile: no lane
// is wasted on channels that are not there, but for those that make their number a power of two,
// and where vectors multiply, which leave out words that hold nothing, not for these if that makes
// fewer words. What a row holds behind the window has weights of 0.

#include "codegen/cpu/pixel_few.h"

#include "codegen/fuse_parts.h"

enum { MOST_FEW = 8 }; // channels

static int64_t size_of(const PixelConv *c)
{
    return c->dtype == DT_BF16 ? 2 : 1;
}

// Words of a line of the window.
static int64_t words_of(const PixelConv *c, int64_t lanes)
{
    return (lanes * ((c->taps[1] - 1) * c->dilation[1] + 1) * size_of(c) + 3) / 4;
}

bool pixel_few_fit(PixelConv *to, int64_t channels)
{
    int64_t lanes = 1;
    while (lanes < channels)
        lanes *= 2;
    if (to->anywhere && words_of(to, channels) < words_of(to, lanes))
        lanes = channels;
    to->words = words_of(to, lanes);
    to->few = channels <= MOST_FEW && to->words <= PIXEL_BYTES / 4 ? lanes : 0;
    to->planes = 1;
    return to->few > 0;
}

int64_t pixel_few_step(const PixelConv *c, int64_t t)
{
    return t / c->taps[1];
}

int64_t pixel_few_lane(const PixelConv *c, int64_t t, int64_t channel)
{
    return t % c->taps[1] * c->dilation[1] * c->few + channel;
}

int64_t pixel_few_lines(const PixelConv *c)
{
    return c->in[0] + 2 * c->border;
}

void pixel_few_buffer(Module *mod, PixelConv *to, Index channels)
{
    to->lines = pixel_few_lines(to);
    to->across = to->in[1] + 2 * to->border;
    const int64_t bytes = to->lines * to->across * to->few * size_of(to) + PIXEL_BYTES;
    to->copy = bytes_scratch(mod, DT_I32, poly_const(mod->polys, (bytes + 3) / 4));
    poly_is_const(channels, &to->given);
}

// Does the kernel round all elements of an input of float32, each where it lies, to this buffer?
static const Expr *rounded_by(Module *mod, const Kernel *k, BufferId rounded)
{
    const Point p = point_of(k->body);
    const Expr *cast = p.store && p.store->buffer == rounded ? p.store->value : NULL;
    const Expr *e = cast && cast->kind == EX_CAST ? cast->a : NULL;
    if (!e || e->kind != EX_LOAD || e->dtype != DT_F32 || e->rank != p.store->rank ||
        buffer_at(mod, e->buffer)->kind != BUF_INPUT || buffer_at(mod, e->buffer)->dtype != DT_F32)
        return NULL;
    for (uint32_t i = 0; i < e->rank; i++)
        if (e->at[i] != p.store->at[i] ||
            buffer_at(mod, e->buffer)->dims[i] != buffer_at(mod, rounded)->dims[i])
            return NULL;
    return e;
}

void pixel_few_read_input(Module *mod, Conv *c, PixelConv *to)
{
    const Expr *from = NULL;
    for (const Step *s = mod->steps; s && !from; s = s->next)
        from = s->kernel ? rounded_by(mod, s->kernel, c->x->buffer) : NULL;
    if (!from)
        return;
    to->rounded = c->x->buffer;
    c->x = expr_load(mod, from->buffer, c->x->at);
}

void pixel_few_print(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    const Expr *zero = conv->bytes ? conv->bytes->x.zero : NULL;
    print_line(p, "const cameo_pixel_few few = {");
    print_line(p,
               "    .size = %lld, .channels = %lld, .lanes = %lld, .in = {%lld, %lld}, .border = "
               "%lld,",
               (long long)size_of(c), (long long)c->given, (long long)c->few, (long long)c->in[0],
               (long long)c->in[1], (long long)c->border);
    print_line(p, "    .around = (int)%s%s};", zero ? print_expr(p, zero) : "0",
               c->rounded ? ", .wide = 1" : "");
    print_line(p, "cameo_pixel_few_copy(&few, %s + %s, %s, %s, %s);",
               bytes_name(p, conv->x->buffer), print_index(p, c->start), from, to,
               bytes_name(p, c->copy));
}
