#include "codegen/cpu/pixel_byte_windows.h"

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/pixel_byte_groups.h"
#include "codegen/cpu/pixel_bytes.h"
#include "codegen/cpu/pixel_windows.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY = 4,   // CAMEO_PIXEL_BYTE_WINDOWS
    LINES = 4,  // of the window, a word
    LANES = 64, // of a pixel
    PARTS = 4,  // vectors of words of a pixel
    WORDS = 16, // of a vector
    MIDDLE = 128,
    MOST = 127
};

int pixel_byte_windows_lane(int lane)
{
    return lane / 4 % PARTS * WORDS + lane / WORDS * 4 + lane % 4;
}

// ---- packing -----------------------------------------------------------------------------------

// Words of four lines of a window: weights, or two that are added.
static int64_t four_columns(const PixelConv *c)
{
    return c->taps[1] * (c->zeros ? 2 : 1);
}

int64_t pixel_byte_windows_words(const PixelConv *c)
{
    if (c->width)
        return 1 + c->taps[0] * c->taps[1] * (c->width / 4);
    return 1 + (c->taps[0] + LINES - 1) / LINES * four_columns(c);
}

// Bytes with a sign are read without one, 128 more: what that adds to a sum is where it begins.
bool pixel_byte_windows_pack(Module *mod, const Conv *conv, const ByteWeights *w, const void *from,
                             PixelConv *to)
{
    if (to->width)
        return pixel_byte_groups_pack(mod, conv, w, from, to);
    const int64_t columns = to->taps[1], block = pixel_byte_windows_words(to) * LANES;
    int32_t *packed = calloc((size_t)(to->planes * block), sizeof *packed);
    if (!packed)
        return false;
    for (int64_t c = 0; c < w->groups; c++) {
        int32_t *at = packed + c / LANES * block + pixel_byte_windows_lane((int)(c % LANES));
        int32_t sum = 0;
        for (int64_t t = 0; t < w->taps; t++) {
            const int64_t from_w = w->start + w->group_at[c] + w->k_at[t];
            const int v =
                bytes_weight(conv->bytes, from, from_w) - (to->zeros ? (int)to->zeros[c] : 0);
            const int first = v < -MIDDLE ? -MIDDLE : v > MOST ? MOST : v;
            const int64_t line = t / columns, four = line / LINES * four_columns(to) + t % columns;
            ((int8_t *)(at + (1 + four) * LANES))[line % LINES] = (int8_t)first;
            if (to->zeros)
                ((int8_t *)(at + (1 + four + columns) * LANES))[line % LINES] = (int8_t)(v - first);
            sum += v;
        }
        *at = to->dtype == DT_I8 ? -MIDDLE * sum : 0;
    }
    to->packed = bytes_buffer(mod, DT_I32, to->planes * block, packed);
    free(packed);
    return true;
}

// ---- functions ---------------------------------------------------------------------------------

static bool is_one(const Step *s)
{
    const Override *o = s->kernel ? s->kernel->override : NULL;
    const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
    return c && c->windows && c->dtype != DT_BF16;
}

bool pixel_byte_windows_any(const Step *s)
{
    for (; s; s = s->next)
        if (is_one(s) || pixel_byte_windows_any(s->body) || pixel_byte_windows_any(s->other))
            return true;
    return false;
}

void pixel_byte_windows_begin(Buf *out)
{
    buf_printf(
        out,
        "/* Windows in pixels of bytes: the words of four pixels, and what is made of sums. */\n"
        "#ifndef CAMEO_PIXEL_BYTE_READ\n"
        "#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512VNNI__) && "
        "defined(__x86_64__)\n"
        "#define CAMEO_PIXEL_BYTE_LOAD(type, to, at, flip) \\\n"
        "    const type##_pixel to = *(const type##_pixel *)(at) ^ (uint8_t)(flip)\n"
        "#define CAMEO_PIXEL_BYTE_PAIR(type, name, to, a, b) \\\n"
        "    type##_pixel to; \\\n"
        "    __asm__(name \" %%2, %%1, %%0\" : \"=v\"(to) : \"v\"(a), \"v\"(b))\n"
        "#define CAMEO_PIXEL_BYTE_READ(type, at, flip) \\\n"
        "    CAMEO_PIXEL_BYTE_LOAD(type, p0, x0 + (at), flip); \\\n"
        "    CAMEO_PIXEL_BYTE_LOAD(type, p1, x1 + (at), flip); \\\n"
        "    CAMEO_PIXEL_BYTE_LOAD(type, p2, x2 + (at), flip); \\\n"
        "    CAMEO_PIXEL_BYTE_LOAD(type, p3, x3 + (at), flip); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpcklbw\", u0, p0, p1); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpckhbw\", u1, p0, p1); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpcklbw\", v0, p2, p3); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpckhbw\", v1, p2, p3); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpcklwd\", q0, u0, v0); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpckhwd\", q1, u0, v0); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpcklwd\", q2, u1, v1); \\\n"
        "    CAMEO_PIXEL_BYTE_PAIR(type, \"vpunpckhwd\", q3, u1, v1)\n"
        "#define CAMEO_PIXEL_BYTE_DOT(type, sum, x, w) \\\n"
        "    __asm__(\"vpdpbusd %%2, %%1, %%0\" : \"+v\"(sum) : \"v\"(x), \\\n"
        "        \"m\"(*(const type##_pixel *)(w)))\n"
        "#define CAMEO_PIXEL_BYTE_BEGIN(type, to, v) \\\n"
        "    type##_ints to = *(const type##_ints *)(w + 64 * v); \\\n"
        "    if (e) \\\n"
        "        to = type##_less(to, *(const type##_ints *)(e->less + 16 * v))\n"
        "#define CAMEO_PIXEL_BYTE_NEAREST(type, v, sum) \\\n"
        "    type##_nearest(type##_scaled(sum, s##v, b##v))\n"
        "#define CAMEO_PIXEL_BYTE_STORE(type, at, bare, r0, r1, r2, r3) \\\n"
        "    *(type##_pixel *)(at) = type##_packed( \\\n"
        "        CAMEO_PIXEL_BYTE_NEAREST(type, 0, r0), CAMEO_PIXEL_BYTE_NEAREST(type, 1, r1), \\\n"
        "        CAMEO_PIXEL_BYTE_NEAREST(type, 2, r2), CAMEO_PIXEL_BYTE_NEAREST(type, 3, r3), \\\n"
        "        zero, least, most, flip, bare)\n"
        "#define CAMEO_PIXEL_BYTE_KEEP(at, v, sum) \\\n"
        "    for (int i = 0; i < 16; i++) \\\n"
        "        (at)[16 * (i / 4) + 4 * (v) + i %% 4] = (sum)[i]\n"
        "#endif\n"
        "#endif\n");
}

// Types of vectors, which name what is done to them.
static const char WHOLE[] = "cameo_pixel_byte", HALF[] = "cameo_pixel_byte_half";

static const char *name_of(Arena *a, const PixelConv *c, const char *half)
{
    const char *width = c->width ? str_printf(a, "_of_%lld", (long long)c->width).at : "";
    return str_printf(a, "cameo_pixel_line_%s_%lld_%lld_%lld%s%s%s", dtype_suffix(c->dtype),
                      (long long)c->taps[1], (long long)c->stride[1], (long long)c->dilation[1],
                      width, c->zeros ? "_twice" : "", half)
        .at;
}

// What each pixel of four lines adds to the sums of n windows. type: of vectors.
static void print_four_lines(Buf *out, const PixelConv *c, const char *type, int64_t n)
{
    const int64_t taps = c->taps[1], s = c->stride[1], d = c->dilation[1];
    for (int64_t at = 0; at <= (n - 1) * s + (taps - 1) * d; at++) {
        bool read = false;
        for (int64_t i = 0; i < n; i++) {
            const int64_t t = (at - i * s) / d;
            if (at < i * s || (at - i * s) % d != 0 || t >= taps)
                continue;
            if (!read)
                buf_printf(out, "        {\n            CAMEO_PIXEL_BYTE_READ(%s, %lld, %d);\n",
                           type, (long long)(at * PIXEL_BYTES), c->dtype == DT_I8 ? MIDDLE : 0);
            read = true;
            for (int64_t word = t; word < four_columns(c); word += taps)
                for (int v = 0; v < PARTS; v++)
                    buf_printf(
                        out, "            CAMEO_PIXEL_BYTE_DOT(%s, s%lld_%d, q%d, w + %lld);\n",
                        type, (long long)i, v, v, (long long)((word * PARTS + v) * PIXEL_BYTES));
        }
        if (read)
            buf_printf(out, "        }\n");
    }
}

// The sums of n windows, line by line.
static void print_sums(Buf *out, const PixelConv *c, const char *type, int64_t n)
{
    if (c->width) {
        pixel_byte_groups_line(out, c, type, n);
        return;
    }
    buf_printf(out,
               "    for (; lines > 0; lines -= 4, x += 4 * line, w += %lld) {\n"
               "        const char *x0 = x, *x1 = lines > 1 ? x + line : x;\n"
               "        const char *x2 = lines > 2 ? x + 2 * line : x;\n"
               "        const char *x3 = lines > 3 ? x + 3 * line : x;\n",
               (long long)(four_columns(c) * PARTS * PIXEL_BYTES));
    print_four_lines(out, c, type, n);
    buf_printf(out, "    }\n");
}

static bool is_half(const char *type)
{
    return strcmp(type, HALF) == 0;
}

// The pixels of n sums; bare: what is left out (cameo_pixel_byte_packed). The other half of a pixel
// is 0.
static void print_stores(Buf *out, const char *type, int64_t n, const char *bare)
{
    for (int64_t i = 0; i < n; i++) {
        const long long at = (long long)(i * PIXEL_BYTES), p = (long long)i;
        buf_printf(
            out,
            "            CAMEO_PIXEL_BYTE_STORE(%s, to + %lld, %s, s%lld_0, s%lld_1, s%lld_2, "
            "s%lld_3);\n",
            type, at, bare, p, p, p, p);
        if (is_half(type))
            buf_printf(out, "            *(%s_pixel *)(to + %lld) = no_bytes;\n", type,
                       at + PIXEL_BYTES / 2);
    }
}

// Of halves nobody asks for sums.
static void print_results(Buf *out, const char *type, int64_t n)
{
    buf_printf(out, "    if (e) {\n        CAMEO_PIXEL_BYTE_BOUNDS(%s, e);\n", type);
    for (int v = 0; v < PARTS; v++)
        buf_printf(out, "        CAMEO_PIXEL_BYTE_TABLES(%s, %d);\n", type, v);
    buf_printf(out, "        if (cameo_pixel_byte_bare(e)) {\n");
    print_stores(out, type, n, "CAMEO_PIXEL_BYTE_BARE");
    buf_printf(out, "        } else {\n");
    print_stores(out, type, n, "0");
    buf_printf(out, "        }\n");
    buf_printf(out, is_half(type) ? "    }\n    (void)sums;\n" : "        return;\n    }\n");
    for (int64_t i = 0; i < n && !is_half(type); i++)
        for (int v = 0; v < PARTS; v++)
            buf_printf(out, "    CAMEO_PIXEL_BYTE_KEEP(sums + %lld, %d, s%lld_%d);\n",
                       (long long)(i * LANES), v, (long long)i, v);
}

// The same without vectors, for targets that lack the instructions.
static void print_plain_terms(Buf *out, const PixelConv *c)
{
    const char *type = c->dtype == DT_I8 ? "int8_t" : "uint8_t";
    buf_printf(
        out,
        "        for (int64_t t = 0; t < lines * %lld; t++) {\n"
        "            const int64_t row = t / %lld, column = t %% %lld;\n"
        "            const char *four = w + 256 + ((row / 4 * %lld + column) * 64 + at) * 4;\n"
        "            const char *byte = x + row * line + (i / 64 * %lld + column * %lld) * 64 + "
        "lane;\n",
        (long long)c->taps[1], (long long)c->taps[1], (long long)c->taps[1],
        (long long)four_columns(c), (long long)c->stride[1], (long long)c->dilation[1]);
    for (int64_t word = 0; word < four_columns(c); word += c->taps[1])
        buf_printf(out,
                   "            sum += (uint32_t)((*(const %s *)byte + %d) * "
                   "*(const int8_t *)(four + %lld + row %% 4));\n",
                   type, c->dtype == DT_I8 ? MIDDLE : 0, (long long)(word * LANES * 4));
    buf_printf(out, "        }\n");
}

static void print_plain(Buf *out, const PixelConv *c, int64_t n)
{
    buf_printf(
        out,
        "    const int32_t *begin = (const int32_t *)w;\n"
        "    for (int i = 0; i < %lld * 64; i++) {\n"
        "        const int lane = i %% 64, at = lane / 4 %% 4 * 16 + lane / 16 * 4 + lane %% 4;\n"
        "        uint32_t sum = (uint32_t)begin[at];\n",
        (long long)n);
    (c->width ? pixel_byte_groups_plain : print_plain_terms)(out, c);
    buf_printf(out, "        if (!e)\n"
                    "            sums[i] = (int32_t)sum;\n"
                    "        else\n"
                    "            to[i] = cameo_pixel_byte_one((int32_t)sum, at, NULL, e);\n"
                    "    }\n");
}

static void print_tile(Buf *out, const PixelConv *c, const char *name, const char *type, int64_t n)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) void %s_%lld(\n"
               "    int64_t lines, int64_t line, const char *x, const char *w, int32_t *sums,\n"
               "    unsigned char *to, const cameo_pixel_byte_ends *e)\n{\n"
               "#ifdef CAMEO_PIXEL_BYTE_READ\n",
               name, (long long)n);
    for (int v = 0; v < PARTS; v++) {
        buf_printf(out, "    CAMEO_PIXEL_BYTE_BEGIN(%s, s0_%d, %d);\n", type, v, v);
        for (int64_t i = 1; i < n; i++)
            buf_printf(out, "    %s_ints s%lld_%d = s0_%d;\n", type, (long long)i, v, v);
    }
    buf_printf(out, "    w += 256;\n");
    print_sums(out, c, type, n);
    print_results(out, type, n);
    buf_printf(out, "#else\n");
    print_plain(out, c, n);
    buf_printf(out, "#endif\n}\n\n");
}

// Has the last block so few channels that half of a vector's lanes hold them?
static bool has_half(const PixelConv *c)
{
    return c->ends && (c->channels - 1) % LANES < LANES / 2;
}

static void print_tiles(Buf *out, const PixelConv *c, const char *name, const char *type)
{
    buf_printf(out, "#ifndef %s\n#define %s\n", name, name);
    if (c->width)
        pixel_byte_groups_begin(out);
    print_tile(out, c, name, type, MANY);
    print_tile(out, c, name, type, 1);
    buf_printf(out, "#endif\n");
}

void pixel_byte_windows_tiles(Buf *out, const PixelConv *c, Arena *names)
{
    print_tiles(out, c, name_of(names, c, ""), WHOLE);
    if (has_half(c))
        print_tiles(out, c, name_of(names, c, "_half"), HALF);
}

// ---- printing ----------------------------------------------------------------------------------

static void print_row(Printer *p, const Conv *conv, const char *low, const char *high,
                      const char *sums, const char *to)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "cameo_pixel_byte_row(&h, &tiles, %s + %s, %s, i%u, i%u, %s, %s, %s, %s);",
               bytes_name(p, conv->x->buffer), print_index(p, c->start), bytes_name(p, c->packed),
               c->block, c->n[0], low, high, sums, to);
}

// Whole rows from sums to y.
static void print_ends(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const LoopId bound[] = {c->block, c->n[0], c->n[1], c->lane};
    print_line(p, "const int64_t i%u = 0, i%u = 0;", c->n[1], c->lane);
    for (int i = 0; i < 4; i++)
        print_bind_loop(p, bound[i], 1);
    pixel_bytes_print_ends(p, c);
    const char *to = print_element(p, conv->store->buffer, conv->store->at);
    print_row(p, conv, "0", "h.row", "NULL", str_printf(p->arena, "&%s, &ends", to).at);
    for (int i = 0; i < 4; i++)
        print_bind_loop(p, bound[i], -1);
}

static void print_pieces(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "for (int64_t low = 0, high; low < h.row; low = high) {");
    p->indent++;
    print_line(p, "const int64_t i%u = -low;", c->at);
    print_line(p, "high = h.row - low < CAMEO_PIXEL_BYTE_PLACES ? h.row : low + "
                  "CAMEO_PIXEL_BYTE_PLACES;");
    print_row(p, conv, "low", "high", bytes_name(p, c->sums), "NULL, NULL");
    pixel_conv_print_piece(p, conv);
    p->indent--;
    print_line(p, "}");
}

void pixel_byte_windows_print_units(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    const char *name = name_of(p->arena, c, "");
    const char *last = name_of(p->arena, c, has_half(c) ? "_half" : "");
    print_line(p, "static const cameo_pixel_byte_tiles tiles = {{%s_%d, %s_%d}, {%s_1, %s_1}};",
               name, MANY, last, MANY, name, last);
    print_line(p, "for (int64_t u = %s; u < %s; u++) {", from, to);
    p->indent++;
    pixel_windows_print_unit(p, c);
    if (c->ends)
        print_ends(p, conv);
    else
        print_pieces(p, conv);
    p->indent--;
    print_line(p, "}");
}
