// Convolutions of several channels a group in pixels of bytes. A group's channels are 1, 2, 4, 8 or
// 16 words of a pixel. Sums of channels lie as windows have them: vector v has of each quarter of a
// pixel the four channels of word v. So an instruction that repeats one word of each quarter four
// times makes of a pixel what all sums of v are multiplied by, for groups of up to a quarter; those
// of two or four read the pixel with its quarters in other orders as well. Nothing is multiplied
// that is not in the group.

#include "codegen/cpu/pixel_byte_groups.h"

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/pixel_byte_windows.h"

#include <stdlib.h>

enum {
    LANES = 64, // of a pixel
    WORD = 4,   // channels of a word
    QUARTER = 16,
    PARTS = 4,           // vectors of words of a pixel, and words of a quarter
    MOST_APART = 4,      // pixels
    MOST_PRODUCTS = 320, // columns of a window times channels of a group: what is printed for them
    MIDDLE = 128
};

bool pixel_byte_groups_fit(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to)
{
    Polys *polys = mod->polys;
    const int64_t width = w->channels;
    int64_t columns;
    if (!c->bytes || !c->m || !c->c || w->rows != width || width < WORD || LANES % width ||
        !poly_is_const(c->taps[1], &columns) || columns * width > MOST_PRODUCTS ||
        c->stride[1] > MOST_APART || c->dilation[1] > MOST_APART)
        return false;
    Index first = poly_scale(
        polys, poly_floordiv(polys, poly_loop(polys, c->m), poly_const(polys, width)), width);
    to->channel = c->m;
    to->channels = w->groups * width;
    to->planes = (to->channels + LANES - 1) / LANES;
    to->width = width;
    to->windows = true;
    return c->x->at[1] == poly_add(polys, first, poly_loop(polys, c->c));
}

// ---- words -------------------------------------------------------------------------------------

static int64_t words_of(const PixelConv *c)
{
    return c->width / WORD;
}

// Of a group's words, number `word`: where it is read in a quarter, for sums of vector v.
static int64_t in_quarter(const PixelConv *c, int64_t v, int64_t word)
{
    const int64_t words = words_of(c) < PARTS ? words_of(c) : PARTS;
    return v / words * words + word % PARTS;
}

// The channel, of the 64 of a pixel, that such a word begins with, for the sum of channel `lane`.
static int64_t channel_of(const PixelConv *c, int64_t lane, int64_t word)
{
    const int64_t quarter = lane / QUARTER ^ word / PARTS;
    return quarter * QUARTER + in_quarter(c, lane / WORD % PARTS, word) * WORD;
}

// Of a block 64 words that sums begin with, and for each place of the window and word 64 more.
bool pixel_byte_groups_pack(Module *mod, const Conv *conv, const ByteWeights *w, const void *from,
                            PixelConv *to)
{
    const int64_t words = words_of(to), block = (1 + w->taps * words) * LANES;
    int32_t *packed = calloc((size_t)(to->planes * block), sizeof *packed);
    if (!packed)
        return false;
    for (int64_t c = 0; c < to->channels; c++) {
        const int64_t lane = c % LANES, group = c / to->width, in_block = group * to->width % LANES;
        const int64_t row = w->start + w->group_at[group] + c % to->width * w->row;
        int32_t *at = packed + c / LANES * block + pixel_byte_windows_lane((int)lane);
        int32_t sum = 0;
        for (int64_t i = 0; i < w->taps * to->width; i++) {
            const int64_t t = i / to->width, word = i % to->width / WORD;
            const int64_t k = channel_of(to, lane, word) + i % WORD - in_block;
            const int8_t v = bytes_weight(conv->bytes, from, row + w->k_at[k * w->taps + t]);
            ((int8_t *)(at + (1 + t * words + word) * LANES))[i % WORD] = v;
            sum += v;
        }
        *at = to->dtype == DT_I8 ? -MIDDLE * sum : 0;
    }
    to->packed = bytes_buffer(mod, DT_I32, to->planes * block, packed);
    free(packed);
    return true;
}

// ---- functions ---------------------------------------------------------------------------------

void pixel_byte_groups_begin(Buf *out)
{
    buf_printf(out,
               "#if defined(CAMEO_PIXEL_BYTE_READ) && !defined(CAMEO_PIXEL_BYTE_REPEAT)\n"
               "/* Word v of each quarter of a pixel, four times; quarters in another order. */\n"
               "#define CAMEO_PIXEL_BYTE_REPEAT(type, to, pixel, v) \\\n"
               "    type##_pixel to; \\\n"
               "    __asm__(\"vpshufd %%2, %%1, %%0\" : \"=v\"(to) : \"v\"(pixel), "
               "\"i\"(0x55 * (v)))\n"
               "#define CAMEO_PIXEL_BYTE_QUARTERS(type, to, pixel, order) \\\n"
               "    type##_pixel to; \\\n"
               "    __asm__(\"vshufi32x4 %%2, %%1, %%1, %%0\" : \"=v\"(to) : \"v\"(pixel), "
               "\"i\"(order))\n"
               "#endif\n");
}

// What the pixel `at` behind x adds, where quarters are in order number `turn`.
static void print_turn(Buf *out, const PixelConv *c, const char *type, int64_t n, int64_t at,
                       int64_t turn)
{
    static const int orders[] = {0xe4, 0xb1, 0x4e, 0x1b}; // quarter i is quarter i ^ turn
    const int64_t s = c->stride[1], d = c->dilation[1], words = words_of(c);
    const int64_t last = words < PARTS * (turn + 1) ? words : PARTS * (turn + 1);
    buf_printf(out, "            {\n");
    if (turn)
        buf_printf(out, "            CAMEO_PIXEL_BYTE_QUARTERS(%s, r, p, %d);\n", type,
                   orders[turn]);
    for (int v = 0; v < PARTS; v++)
        buf_printf(out, "            CAMEO_PIXEL_BYTE_REPEAT(%s, q%d, %s, %d);\n", type, v,
                   turn ? "r" : "p", v);
    for (int64_t word = PARTS * turn; word < last; word++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t t = (at - i * s) / d;
            if (at < i * s || (at - i * s) % d != 0 || t >= c->taps[1])
                continue;
            for (int v = 0; v < PARTS; v++)
                buf_printf(out,
                           "            CAMEO_PIXEL_BYTE_DOT(%s, s%lld_%d, q%lld, w + %lld);\n",
                           type, (long long)i, v, (long long)in_quarter(c, v, word),
                           (long long)(((t * words + word) * PARTS + v) * PIXEL_BYTES));
        }
    buf_printf(out, "            }\n");
}

void pixel_byte_groups_line(Buf *out, const PixelConv *c, const char *type, int64_t n)
{
    const int64_t taps = c->taps[1], s = c->stride[1], d = c->dilation[1];
    buf_printf(out, "    for (; lines > 0; lines--, x += line, w += %lld) {\n",
               (long long)(taps * words_of(c) * PARTS * PIXEL_BYTES));
    for (int64_t at = 0; at <= (n - 1) * s + (taps - 1) * d; at++) {
        bool read = false;
        for (int64_t i = 0; i < n; i++)
            read |= at >= i * s && (at - i * s) % d == 0 && (at - i * s) / d < taps;
        if (!read)
            continue;
        buf_printf(out, "        {\n            CAMEO_PIXEL_BYTE_LOAD(%s, p, x + %lld, %d);\n",
                   type, (long long)(at * PIXEL_BYTES), c->dtype == DT_I8 ? MIDDLE : 0);
        for (int64_t turn = 0; turn * PARTS < words_of(c); turn++)
            print_turn(out, c, type, n, at, turn);
        buf_printf(out, "        }\n");
    }
    buf_printf(out, "    }\n");
}

void pixel_byte_groups_plain(Buf *out, const PixelConv *c)
{
    const int64_t words = words_of(c), some = words < PARTS ? words : PARTS;
    const char *type = c->dtype == DT_I8 ? "int8_t" : "uint8_t";
    buf_printf(out,
               "        for (int64_t t = 0; t < lines * %lld; t++)\n"
               "            for (int k = 0; k < %lld; k++) {\n",
               (long long)c->taps[1], (long long)words);
    buf_printf(out,
               "                const int quarter = lane / 16 ^ k / 4;\n"
               "                const int word = lane / 4 %% 4 / %lld * %lld + k %% 4;\n"
               "                const %s *from = (const %s *)(x + t / %lld * line + (i / 64 * %lld "
               "+ t %% %lld * %lld) * 64 + quarter * 16 + word * 4);\n"
               "                const int8_t *by = (const int8_t *)(w + 256 + ((t * %lld + k) * 64 "
               "+ at) * 4);\n",
               (long long)some, (long long)some, type, type, (long long)c->taps[1],
               (long long)c->stride[1], (long long)c->taps[1], (long long)c->dilation[1],
               (long long)words);
    buf_printf(out,
               "                for (int b = 0; b < 4; b++)\n"
               "                    sum += (uint32_t)((from[b] + %d) * by[b]);\n"
               "            }\n",
               c->dtype == DT_I8 ? MIDDLE : 0);
}
