// Depthwise convolutions in pixels. A pixel of 32 channels becomes two vectors of float32, each by
// one operation that interleaves it with zeros: of each eight channels the first has four, the
// second the others; weights lie so too. The functions are printed for a width, a step and a
// dilation: each pixel of a line is widened once for all the windows that it is in. Where vectors
// multiply words, two lines of the window go together: a pixel is interleaved with the one below
// it, and weights are such words; a last line by itself is float32 as ever.

#include "codegen/cpu/pixel_windows.h"

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/pixel_byte_windows.h"
#include "codegen/cpu/pixel_finish.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY = 7, // CAMEO_PIXEL_WINDOWS; the rows of most image networks are multiples
    LANES = 32,
    HALF = LANES / 2,
    MOST_COLUMNS = 9,
    MOST_APART = 4 // pixels
};

bool pixel_windows_fit(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to)
{
    int64_t columns;
    Index zero = c->c ? poly_loop(mod->polys, c->c) : poly_const(mod->polys, 0); // its only value
    to->channel = poly_lone_loop(c->group);
    to->channels = w->groups;
    const int64_t lanes = pixel_lanes(to->dtype);
    to->planes = (w->groups + lanes - 1) / lanes;
    return to->channel && poly_sub(mod->polys, c->x->at[1], zero) == c->group &&
           poly_is_const(c->taps[1], &columns) && columns <= MOST_COLUMNS &&
           c->stride[1] <= MOST_APART && c->dilation[1] <= MOST_APART;
}

// Lines of weights: pairs of lines of the window, and what is left, where words are multiplied.
static int64_t packed_lines(const PixelConv *c)
{
    return c->anywhere ? (c->taps[0] + 1) / 2 : c->taps[0];
}

// A number of bfloat16 is the upper half of one of float32: so is that of a pair's second line, and
// the first one's stands below it.
bool pixel_windows_pack(Module *mod, const ByteWeights *w, const StoredU16 *from, PixelConv *to)
{
    const int64_t columns = to->taps[1], block = packed_lines(to) * columns * LANES;
    const int64_t n = to->planes * block;
    uint32_t *packed = calloc((size_t)n, sizeof *packed);
    if (!packed)
        return false;
    for (int64_t c = 0; c < w->groups; c++)
        for (int64_t t = 0; t < w->taps; t++) {
            const StoredU16 *at = from + w->start + w->group_at[c] + w->k_at[t];
            const int64_t lane = c % 8 / 4 * HALF + c % LANES / 8 * 4 + c % 4, line = t / columns;
            const bool below = to->anywhere && line % 2 == 0 && line + 1 < to->taps[0];
            const int64_t row = to->anywhere ? line / 2 : line;
            packed[c / LANES * block + (row * columns + t % columns) * LANES + lane] |=
                (uint32_t)*at << (below ? 0 : 16);
        }
    to->packed = bytes_buffer(mod, DT_F32, n, packed);
    free(packed);
    return true;
}

// ---- functions ---------------------------------------------------------------------------------

// What each pixel of a line, or of a pair of them, adds to the sums of n windows.
static void print_line_of(Buf *out, const PixelConv *c, int64_t n, bool pair)
{
    const int64_t taps = c->taps[1], s = c->stride[1], d = c->dilation[1];
    const char *type = pair ? "cameo_pixel_window_bits" : "cameo_pixel_window_vec";
    for (int64_t t = 0; t < taps; t++)
        buf_printf(out,
                   "        const %s u%lld = *(const %s *)(w + %lld);\n"
                   "        const %s v%lld = *(const %s *)(w + %lld);\n",
                   type, (long long)t, type, (long long)(t * LANES), type, (long long)t, type,
                   (long long)(t * LANES + HALF));
    for (int64_t at = 0; at <= (n - 1) * s + (taps - 1) * d; at++) {
        bool read = false;
        for (int64_t i = 0; i < n; i++) {
            const int64_t t = (at - i * s) / d;
            if (at < i * s || (at - i * s) % d != 0 || t >= taps)
                continue;
            if (!read)
                buf_printf(out, "        CAMEO_PIXEL_WINDOW_%s(x + %lld);\n",
                           pair ? "PAIR" : "READ", (long long)(at * PIXEL_BYTES));
            read = true;
            buf_printf(out,
                       pair ? "        CAMEO_PIXEL_WINDOW_DOT(a%lld, low, u%lld);\n"
                              "        CAMEO_PIXEL_WINDOW_DOT(b%lld, high, v%lld);\n"
                            : "        a%lld += low * u%lld, b%lld += high * v%lld;\n",
                       (long long)i, (long long)t, (long long)i, (long long)t);
        }
    }
}

static void print_lines(Buf *out, const PixelConv *c, int64_t n)
{
    const long long step = (long long)(c->taps[1] * LANES);
    if (c->anywhere) {
        buf_printf(out,
                   "    for (; lines > 1; lines -= 2, x += 2 * line, w += %lld) {\n"
                   "        cameo_pixel_window_bits low, high;\n",
                   step);
        print_line_of(out, c, n, true);
        buf_printf(out, "    }\n");
    }
    buf_printf(out,
               "    for (; lines > 0; lines--, x += line, w += %lld) {\n"
               "        cameo_pixel_window_vec low, high;\n",
               step);
    print_line_of(out, c, n, false);
    buf_printf(out, "    }\n");
}

// What is done to sums in registers, of the functions of one name.
enum { ENDS_CLIP = 1, ENDS_SILU = 2 };

// What the sums of c are finished by there; 0: they are not.
static int ends_of(const PixelConv *c)
{
    const PixelFinish *f = c->finish;
    if (!f || f->added || c->part || (f->silu && pixel_conv_lanes(c) < LANES))
        return 0;
    return f->silu ? ENDS_SILU : ENDS_CLIP;
}

static void print_end(Buf *out, int64_t n, const char *how)
{
    buf_printf(out, "        CAMEO_PIXEL_WINDOW_BEGIN_%s(ends);\n", how);
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "        CAMEO_PIXEL_WINDOW_%s(to + %lld, a%lld, b%lld);\n", how,
                   (long long)(i * PIXEL_BYTES), (long long)i, (long long)i);
    buf_printf(out, "        return;\n");
}

static void print_tile(Buf *out, const PixelConv *c, const char *name, int64_t n, int ends)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) void %s_%lld(\n"
               "    int64_t lines, int64_t line, const char *x, const float *w, float *sums,\n"
               "    char *to, const cameo_pixel_window_ends *ends)\n{\n",
               name, (long long)n);
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "    cameo_pixel_window_vec a%lld = {0}, b%lld = {0};\n", (long long)i,
                   (long long)i);
    print_lines(out, c, n);
    buf_printf(out, "    (void)to, (void)ends;\n#ifdef CAMEO_PIXEL_WINDOW_CLIP\n");
    for (int how = ENDS_CLIP; how <= ENDS_SILU; how++)
        if (ends & how) {
            buf_printf(out, "    if (ends && %sends->silu) {\n", how == ENDS_SILU ? "" : "!");
            print_end(out, n, how == ENDS_SILU ? "SILU" : "CLIP");
            buf_printf(out, "    }\n");
        }
    buf_printf(out, "#endif\n");
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "    CAMEO_PIXEL_WINDOW_WRITE(sums + %lld, a%lld, b%lld);\n",
                   (long long)(i * LANES), (long long)i, (long long)i);
    buf_printf(out, "}\n\n");
}

static const char *name_of(Arena *a, const PixelConv *c)
{
    return str_printf(a, "cameo_pixel_line%s_%lld_%lld_%lld", c->anywhere ? "s" : "",
                      (long long)c->taps[1], (long long)c->stride[1], (long long)c->dilation[1])
        .at;
}

// Of all those whose functions have this name.
static int all_ends(const Step *s, const char *name, Arena *names)
{
    int ends = 0;
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
        if (c && c->windows && c->dtype == DT_BF16 && !strcmp(name_of(names, c), name))
            ends |= ends_of(c);
        ends |= all_ends(s->body, name, names) | all_ends(s->other, name, names);
    }
    return ends;
}

// Those of `s`, of all that are in `all`.
static void print_tiles(Buf *out, const Step *s, const Step *all, Arena *names)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
        if (c && c->windows && c->dtype != DT_BF16) {
            pixel_byte_windows_tiles(out, c, names);
        } else if (c && c->windows) {
            const char *name = name_of(names, c);
            const int ends = all_ends(all, name, names);
            buf_printf(out, "#ifndef %s\n#define %s\n", name, name);
            print_tile(out, c, name, MANY, ends);
            print_tile(out, c, name, 1, ends);
            buf_printf(out, "#endif\n");
        }
        print_tiles(out, s->body, all, names);
        print_tiles(out, s->other, all, names);
    }
}

bool pixel_windows_any(const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
        if ((c && c->windows) || pixel_windows_any(s->body) || pixel_windows_any(s->other))
            return true;
    }
    return false;
}

// Words of pixels of two lines, and what they add to sums.
static void print_pairs_of(Buf *out)
{
    buf_printf(
        out,
        "#define CAMEO_PIXEL_WINDOW_PAIR(at) \\\n"
        "    CAMEO_PIXEL_WINDOW_WOVEN(*(const cameo_pixel_window_halves *)(at), \\\n"
        "        *(const cameo_pixel_window_halves *)((at) + line), cameo_pixel_window_bits)\n"
        "#if defined(__AVX512BF16__) && defined(__x86_64__)\n"
        "#define CAMEO_PIXEL_WINDOW_DOT(sum, x, w) \\\n"
        "    __asm__(\"vdpbf16ps %%2, %%1, %%0\" : \"+v\"(sum) : \"v\"(x), \"v\"(w))\n"
        "#else\n"
        "#define CAMEO_PIXEL_WINDOW_DOT(sum, x, w) \\\n"
        "    sum += (cameo_pixel_window_vec)((x) << 16) * (cameo_pixel_window_vec)((w) << 16) + "
        "\\\n"
        "        (cameo_pixel_window_vec)((x)&0xffff0000u) * \\\n"
        "            (cameo_pixel_window_vec)((w)&0xffff0000u)\n"
        "#endif\n");
}

// From sums to a pixel, both of its vectors rounded by one operation.
static void print_ends_of(Buf *out)
{
    buf_printf(
        out,
        "#if defined(CAMEO_PIXEL_SILU) && defined(__AVX512BW__)\n"
        "#define CAMEO_PIXEL_WINDOW_SPLIT(first, second, table, other) \\\n"
        "    cameo_pixel_window_vec first = (cameo_pixel_window_vec){0} + other, second = first; "
        "\\\n"
        "    if (table) { \\\n"
        "        const cameo_pixel_window_vec *at = (const cameo_pixel_window_vec *)(table); \\\n"
        "        first = __builtin_shufflevector(at[0], at[1], 0, 1, 2, 3, 8, 9, 10, \\\n"
        "            11, 16, 17, 18, 19, 24, 25, 26, 27); \\\n"
        "        second = __builtin_shufflevector(at[0], at[1], 4, 5, 6, 7, 12, 13, \\\n"
        "            14, 15, 20, 21, 22, 23, 28, 29, 30, 31); \\\n"
        "    }\n"
        "#define CAMEO_PIXEL_WINDOW_BEGIN(e) \\\n"
        "    CAMEO_PIXEL_WINDOW_SPLIT(scale_a, scale_b, (e)->scale, 1.0f) \\\n"
        "    CAMEO_PIXEL_WINDOW_SPLIT(bias_a, bias_b, (e)->bias, 0.0f) \\\n"
        "    const cameo_pixel_window_halves order = {0, 1, 2, 3, 16, 17, 18, 19, 4, \\\n"
        "            5, 6, 7, 20, 21, 22, 23, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, \\\n"
        "            14, 15, 28, 29, 30, 31}\n"
        "#define CAMEO_PIXEL_WINDOW_STORE(at, a, b) \\\n"
        "    do { \\\n"
        "        cameo_pixel_window_halves both; \\\n"
        "        __asm__(\"vcvtne2ps2bf16 %%1, %%2, %%0\" : \"=v\"(both) : \"v\"(a), \"v\"(b)); "
        "\\\n"
        "        __asm__(\"vpermw %%0, %%1, %%0\" : \"+v\"(both) : \"v\"(order)); \\\n"
        "        *(cameo_pixel_window_halves *)(at) = both; \\\n"
        "    } while (0)\n"
        "#define CAMEO_PIXEL_WINDOW_BEGIN_CLIP(e) \\\n"
        "    CAMEO_PIXEL_WINDOW_BEGIN(e); \\\n"
        "    const cameo_pixel_window_vec least = (e)->low - (cameo_pixel_window_vec){0}; \\\n"
        "    const cameo_pixel_window_vec most = (e)->high - (cameo_pixel_window_vec){0}\n"
        "#define CAMEO_PIXEL_WINDOW_BOUND(x, scale, bias) \\\n"
        "    __asm__(\"vfmadd213ps %%2, %%1, %%0\" : \"+v\"(x) : \"v\"(scale), \"v\"(bias)); \\\n"
        "    __asm__(\"vmaxps %%0, %%1, %%0\" : \"+v\"(x) : \"v\"(least)); \\\n"
        "    __asm__(\"vminps %%0, %%1, %%0\" : \"+v\"(x) : \"v\"(most))\n"
        "#define CAMEO_PIXEL_WINDOW_CLIP(at, a, b) \\\n"
        "    CAMEO_PIXEL_WINDOW_BOUND(a, scale_a, bias_a); \\\n"
        "    CAMEO_PIXEL_WINDOW_BOUND(b, scale_b, bias_b); \\\n"
        "    CAMEO_PIXEL_WINDOW_STORE(at, a, b)\n"
        "#define CAMEO_PIXEL_WINDOW_BEGIN_SILU(e) \\\n"
        "    CAMEO_PIXEL_WINDOW_BEGIN(e); \\\n"
        "    scale_a *= CAMEO_PIXEL_SILU_BY, scale_b *= CAMEO_PIXEL_SILU_BY; \\\n"
        "    bias_a *= CAMEO_PIXEL_SILU_BY, bias_b *= CAMEO_PIXEL_SILU_BY\n"
        "#define CAMEO_PIXEL_WINDOW_SILU(at, a, b) \\\n"
        "    a = cameo_pixel_silu_of(cameo_pixel_muladd(a, scale_a, bias_a)); \\\n"
        "    b = cameo_pixel_silu_of(cameo_pixel_muladd(b, scale_b, bias_b)); \\\n"
        "    CAMEO_PIXEL_WINDOW_STORE(at, a, b)\n"
        "#endif\n");
}

void pixel_windows_tiles(Buf *out, const Step *s)
{
    if (!pixel_windows_any(s))
        return;
    if (pixel_byte_windows_any(s))
        pixel_byte_windows_begin(out);
    buf_printf(
        out, "/* Sums of neighbouring windows in pixels of bfloat16, for each place those of 32\n"
             " * channels: lines of the window, bytes from one to the next. With ends they become "
             "pixels:\n"
             " * scale and bias may be NULL. */\n"
             "#ifndef CAMEO_PIXEL_WINDOW_READ\n"
             "#include <stdint.h>\n"
             "typedef struct cameo_pixel_window_ends {\n"
             "    const float *scale, *bias;\n"
             "    float low, high;\n"
             "    int silu; /* instead of bounds */\n"
             "} cameo_pixel_window_ends;\n"
             "typedef void cameo_pixel_window_tile(int64_t lines, int64_t line, const char *x,\n"
             "    const float *w, float *sums, char *to, const cameo_pixel_window_ends *ends);\n"
             "typedef float cameo_pixel_window_vec __attribute__((vector_size(64), aligned(4), "
             "may_alias));\n"
             "typedef uint32_t cameo_pixel_window_bits\n"
             "    __attribute__((vector_size(64), aligned(4), may_alias));\n"
             "typedef uint16_t cameo_pixel_window_halves\n"
             "    __attribute__((vector_size(64), aligned(2), may_alias));\n"
             "#define CAMEO_PIXEL_WINDOW_WOVEN(x, y, type) \\\n"
             "    do { \\\n"
             "        const cameo_pixel_window_halves above = x, below = y; \\\n"
             "        low = (type)__builtin_shufflevector(above, below, 0, 32, 1, 33, 2, \\\n"
             "            34, 3, 35, 8, 40, 9, 41, 10, 42, 11, 43, 16, 48, 17, 49, 18, \\\n"
             "            50, 19, 51, 24, 56, 25, 57, 26, 58, 27, 59); \\\n"
             "        high = (type)__builtin_shufflevector(above, below, 4, 36, 5, 37, 6, \\\n"
             "            38, 7, 39, 12, 44, 13, 45, 14, 46, 15, 47, 20, 52, 21, 53, 22, \\\n"
             "            54, 23, 55, 28, 60, 29, 61, 30, 62, 31, 63); \\\n"
             "    } while (0)\n"
             "#define CAMEO_PIXEL_WINDOW_READ(at) \\\n"
             "    CAMEO_PIXEL_WINDOW_WOVEN((cameo_pixel_window_halves){0}, \\\n"
             "        *(const cameo_pixel_window_halves *)(at), cameo_pixel_window_vec)\n"
             "#define CAMEO_PIXEL_WINDOW_WRITE(at, a, b) \\\n"
             "    do { \\\n"
             "        *(cameo_pixel_window_vec *)(at) = __builtin_shufflevector(a, b, 0, \\\n"
             "            1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23); \\\n"
             "        *(cameo_pixel_window_vec *)((at) + 16) = __builtin_shufflevector(a, b, \\\n"
             "            8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31); \\\n"
             "    } while (0)\n");
    print_pairs_of(out);
    print_ends_of(out);
    buf_printf(out, "#endif\n");
    Arena *names = arena_new();
    print_tiles(out, s, s, names);
    arena_free(names);
}

// ---- printing ----------------------------------------------------------------------------------

void pixel_windows_print_begin(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const int64_t origin = (c->border - c->pad[0]) * c->across + c->border - c->pad[1];
    const bool bytes = c->dtype != DT_BF16;
    const char *last = c->anywhere ? ", .pairs = 1" : "";
    if (bytes)
        last = str_printf(p->arena, ", .words = %s", print_size(p, pixel_byte_windows_words(c))).at;
    print_line(p, "const cameo_pixel_%swindows h = {", bytes ? "byte_" : "");
    print_line(p, "    .blocks = %s, .lines = %s, .across = %s, .rows = %s, .row = %s,",
               print_size(p, c->planes), print_size(p, c->lines), print_size(p, c->across),
               print_size(p, c->out[0]), print_size(p, c->out[1]));
    print_line(p, "    .taps = {%s, %s}, .stride = {%s, %s}, .dilation = %s, .origin = %s%s};",
               print_size(p, c->taps[0]), print_size(p, c->taps[1]), print_size(p, c->stride[0]),
               print_size(p, c->stride[1]), print_size(p, c->dilation[0]), print_size(p, origin),
               last);
}

// Whole rows from sums to y, where a processor rounds pairs of vectors. from: what is multiplied.
static void print_ends(Printer *p, const Conv *conv, const char *from)
{
    const PixelConv *c = conv->pixels;
    const LoopId bound[] = {c->block, c->n[0], c->n[1], c->lane};
    print_line(p, "#ifdef CAMEO_PIXEL_WINDOW_ENDS");
    print_line(p, "{");
    p->indent++;
    print_line(p, "const int64_t i%u = 0, i%u = 0;", c->n[1], c->lane);
    for (int i = 0; i < 4; i++)
        print_bind_loop(p, bound[i], 1);
    pixel_finish_print_window(p, c);
    print_line(p, "cameo_pixel_windows_sums(%s, 0, h.row, NULL, (char *)&%s, &ends);", from,
               print_element(p, conv->store->buffer, conv->store->at));
    print_line(p, "continue;");
    for (int i = 0; i < 4; i++)
        print_bind_loop(p, bound[i], -1);
    p->indent--;
    print_line(p, "}");
    print_line(p, "#endif");
}

void pixel_windows_print_unit(Printer *p, const PixelConv *c)
{
    print_line(p, "int64_t i%u, i%u;", c->block, c->n[0]);
    print_line(p, "cameo_pixel_band(h.blocks, h.rows, u, &i%u, &i%u);", c->block, c->n[0]);
}

void pixel_windows_print_units(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    if (c->dtype != DT_BF16) {
        pixel_byte_windows_print_units(p, conv, from, to);
        return;
    }
    const char *sums = bytes_name(p, c->sums), *name = name_of(p->arena, c);
    const char *from_x =
        str_printf(p->arena, "&h, &tiles, %s + %s, %s, i%u, i%u", bytes_name(p, conv->x->buffer),
                   print_index(p, c->start), bytes_name(p, c->packed), c->block, c->n[0])
            .at;
    print_line(p, "static const cameo_pixel_window_tiles tiles = {%s_%d, %s_1};", name, MANY, name);
    print_line(p, "for (int64_t u = %s; u < %s; u++) {", from, to);
    p->indent++;
    pixel_windows_print_unit(p, c);
    if (ends_of(c))
        print_ends(p, conv, from_x);
    print_line(p, "for (int64_t low = 0, high; low < h.row; low = high) {");
    p->indent++;
    print_line(p, "const int64_t i%u = -low;", c->at);
    print_line(p, "high = cameo_pixel_windows_next(&h, low);");
    print_line(p, "cameo_pixel_windows_sums(%s, low, high, %s, NULL, NULL);", from_x, sums);
    pixel_conv_print_piece(p, conv);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}
