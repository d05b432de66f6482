// Functions of products of matrices, of convolutions and of what they call: which of runtime/ a
// module needs, and where their text goes.

#include "codegen/emit_products.h"
#include "codegen/cpu/amx.h"
#include "codegen/cpu/byte_product.h"
#include "codegen/cpu/chain.h"
#include "codegen/cpu/half_product.h"
#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/pixel_byte_windows.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/cpu/pixel_windows.h"
#include "codegen/cpu/pixel_winograd.h"
#include "codegen/cpu/tiles.h"
#include "codegen/cpu/wide.h"
#include "codegen/cpu/winograd.h"
#include "codegen/units.h"

// ---- what a module needs -----------------------------------------------------------------------

static bool has_products(const Override *o, GemmKind kind)
{
    return o && o->kind == kind && !(o->conv ? o->conv->wide || o->conv->pixels : o->wide);
}

bool products_any(const Step *s, GemmKind kind)
{
    for (; s; s = s->next)
        if ((s->kernel && has_products(s->kernel->override, kind)) || products_any(s->body, kind) ||
            products_any(s->other, kind))
            return true;
    return false;
}

typedef enum ConvForm {
    ANY_FORM,
    DEPTHWISE_FORM,
    TALL_FORM,
    ACROSS_FORM,
    CHAIN_FORM,
    CHAIN_TERMS_FORM,
    CURVE_FORM,
    TILE_FORM,
    TWO_FORM,
    LINE_FORM,
    PLANE_FORM,
    MADE_FORM,
    HALF_FORM,
    SEVENS_FORM,
    SPLIT_FORM
} ConvForm;

static bool has_form(const Conv *c, ConvForm form)
{
    if (c->wide || c->pixels)
        return false;
    if (form == HALF_FORM)
        return c->half != NULL;
    if (form == SPLIT_FORM)
        return c->split != SPLIT_NONE;
    if (form == CHAIN_FORM)
        return c->chain != NULL;
    if (form == CHAIN_TERMS_FORM)
        return c->chain && c->chain->terms;
    if (form == CURVE_FORM)
        return chain_curves(c);
    if (form == DEPTHWISE_FORM)
        return c->chain || (c->depthwise && !c->bytes);
    if (form == TALL_FORM)
        return conv_has_windows(c->chain ? chain_link(c->chain->windows) : c);
    if (form == ACROSS_FORM)
        return c->across;
    if (form == LINE_FORM || form == PLANE_FORM)
        return c->tile > 0 && c->line > 0 && c->plane == (form == PLANE_FORM);
    if (form == TWO_FORM)
        return c->tile > 0 && winograd_steps(c);
    if (form == MADE_FORM)
        return c->made != NULL;
    if (form == SEVENS_FORM)
        return c->sevens;
    return form == ANY_FORM || c->tile > 0;
}

static bool uses_convolutions(const Step *s, ConvForm form)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if ((o && o->conv && has_form(o->conv, form)) || uses_convolutions(s->body, form) ||
            uses_convolutions(s->other, form))
            return true;
    }
    return false;
}

// Of what a program's products are made.
typedef struct Wants {
    bool packed, split, products, windows; // products, windows: of bytes
    bool halves, registers;                // products of bfloat16; in matrix registers
    bool planes, byte_planes;              // windows in pixels, and those of bytes
    bool pixel_tiles;                      // convolutions in pixels by Winograd's tiles
    bool forms[SPLIT_FORM + 1], wide;
    uint32_t narrow, pixels; // kinds, a bit each
} Wants;

static Wants wants_of(const Step *s)
{
    Wants w = {.packed = products_any(s, GEMM_PACKED), .split = splits_any(s)};
    w.products = byte_products_any(s, false);
    w.windows = byte_products_any(s, true);
    w.narrow = narrow_kinds(s);
    w.halves = half_products_any(s);
    w.registers = half_registers_any(s);
    w.planes = pixel_windows_any(s);
    w.byte_planes = pixel_byte_windows_any(s);
    w.pixels = pixel_convs_kinds(s);
    w.pixel_tiles = pixel_winograd_any(s);
    w.wide = wide_used(s);
    for (ConvForm f = ANY_FORM; f <= SPLIT_FORM; f++)
        w.forms[f] = uses_convolutions(s, f);
    return w;
}

// All but windows in pixels, whose tiles are made for their sizes.
static Wants wants_all(void)
{
    Wants w = {.packed = true, .split = true, .products = true, .windows = true, .halves = true};
    w.registers = w.wide = w.pixel_tiles = true;
    w.narrow = w.pixels = UINT32_MAX;
    memset(w.forms, true, sizeof w.forms);
    return w;
}

static uint32_t add_convolutions(const Wants *w, const char **parts, uint32_t n)
{
    if (w->forms[CURVE_FORM])
        parts[n++] = "cameo_curve.h";
    if (w->forms[ANY_FORM]) {
        parts[n++] = "cameo_columns.h", parts[n++] = "cameo_conv_copy.h";
        parts[n++] = "cameo_conv_panels.h", parts[n++] = "cameo_conv.h";
        parts[n++] = "cameo_conv_share.h";
    }
    if (w->forms[MADE_FORM])
        parts[n++] = "cameo_conv_pack.h";
    if (w->forms[SEVENS_FORM])
        parts[n++] = "cameo_strassen.h";
    if (w->forms[SPLIT_FORM])
        parts[n++] = "cameo_split_conv.h";
    if (w->forms[HALF_FORM])
        parts[n++] = "cameo_half_conv.h";
    if (w->forms[DEPTHWISE_FORM])
        parts[n++] = "cameo_planes.h";
    if (w->forms[TALL_FORM])
        parts[n++] = "cameo_tall.h";
    if (w->forms[ACROSS_FORM])
        parts[n++] = "cameo_across.h";
    if (w->forms[DEPTHWISE_FORM])
        parts[n++] = "cameo_depthwise.h";
    if (w->forms[CHAIN_FORM])
        parts[n++] = "cameo_chain.h";
    if (w->forms[CHAIN_TERMS_FORM])
        parts[n++] = "cameo_chain_terms.h";
    return n;
}

// The files of runtime/, `parts` ending with NULL; how many.
static uint32_t list_parts(const Wants *w, const char **parts)
{
    uint32_t n = 0;
    if (w->pixels || w->forms[ANY_FORM])
        parts[n++] = "cameo_brief.h";
    if (w->packed || w->products)
        parts[n++] = "cameo_turn.h";
    if (w->packed)
        parts[n++] = "cameo_gemm.h";
    if (w->split)
        parts[n++] = "cameo_split.h";
    if (w->narrow)
        parts[n++] = "cameo_narrow.h";
    if (w->narrow & NARROW_BYTES)
        parts[n++] = "cameo_narrow_bytes.h";
    if (w->registers || w->products || w->windows || w->pixels || w->planes)
        parts[n++] = "cameo_amx.h";
    if (w->pixels || w->planes)
        parts[n++] = "cameo_pixel_silu.h", parts[n++] = "cameo_pixel_conv.h",
        parts[n++] = "cameo_pixel_bytes.h", parts[n++] = "cameo_pixel_fused.h";
    if (w->pixels)
        parts[n++] = "cameo_pixel_few.h";
    if (w->pixel_tiles)
        parts[n++] = "cameo_pixel_winograd.h";
    if (w->planes)
        parts[n++] = "cameo_pixel_bands.h", parts[n++] = "cameo_pixel_windows.h";
    if (w->halves)
        parts[n++] = "cameo_half.h";
    n = add_convolutions(w, parts, n);
    if (w->wide)
        n = emit_add_part(parts, n, "cameo_wide.h");
    if (w->products)
        parts[n++] = "cameo_near.h", parts[n++] = "cameo_bytes.h";
    if (w->windows)
        parts[n++] = "cameo_byte_pairs.h", parts[n++] = "cameo_near_conv.h",
        parts[n++] = "cameo_byte_conv.h", parts[n++] = "cameo_byte_squares.h";
    if (w->forms[TILE_FORM])
        parts[n++] = "cameo_winograd.h";
    if (w->forms[TWO_FORM])
        parts[n++] = "cameo_winograd_two.h";
    if (w->forms[LINE_FORM])
        parts[n++] = "cameo_lines.h";
    if (w->forms[PLANE_FORM])
        parts[n++] = "cameo_plane_lines.h";
    parts[n] = NULL;
    return n;
}

// Tiles, but for those of windows in pixels.
static void print_tiles(const Wants *w, const TileUses *uses, const EmitOptions *o, Buf *tiles)
{
    static const char *const split[] = {"cameo_matrix.h", "cameo_split_words.h", NULL};
    static const char *const once[] = {"cameo_maker.h", "cameo_once.h", NULL};
    processors_define(tiles, o->rows, o->nrows);
    if (w->packed || w->products || w->narrow)
        emit_runtime(tiles, once);
    if (w->packed)
        tiles_print(tiles, uses, o->rows, o->nrows);
    if (w->products || w->windows)
        byte_tiles_print(tiles, w->products, w->windows, uses);
    if (w->narrow)
        narrow_tiles_print(tiles, w->narrow);
    if (w->split) {
        emit_runtime(tiles, split);
        amx_split_print(tiles);
    }
}

static void print_squares(const Wants *w, Buf *tiles)
{
    static const char *const matrix[] = {"cameo_matrix.h", NULL};
    static const char *const words[] = {"cameo_words.h", NULL};
    if (!(w->registers || w->products || w->windows || w->pixels || w->planes))
        return;
    emit_runtime(tiles, matrix);
    const uint32_t halves = w->registers ? 1u << AMX_BF16 : 0;
    amx_tiles_print(tiles, halves | (w->products ? 1u << AMX_U8S8 : 0), w->pixels);
    emit_runtime(tiles, words);
    amx_words_print(tiles, halves, w->pixels);
}

// ---- where the text goes -----------------------------------------------------------------------

static Str str_of_buf(const Buf *b)
{
    return (Str){b->at ? b->at : "", b->len};
}

// Vectors of C have no function that multiplies and adds. Here each is written out and whole, so
// that compilers do the same with all of them and may join the two.
static void joins_begin(const EmitOptions *o, Buf *out)
{
    if (!o->strict)
        buf_printf(out, "#if defined(__clang__)\n#pragma clang fp contract(fast)\n"
                        "#elif defined(__GNUC__)\n#pragma GCC push_options\n"
                        "#pragma GCC optimize(\"fp-contract=fast\")\n#endif\n");
}

static void joins_end(const EmitOptions *o, Buf *out)
{
    if (!o->strict)
        buf_printf(out, "#if defined(__clang__)\n#pragma clang fp contract(off)\n"
                        "#elif defined(__GNUC__)\n#pragma GCC pop_options\n#endif\n\n");
}

// Each in the unit itself or, where there are others, declared.
static void place_products(const EmitOptions *o, Arena *a, Str tiles, Str products, Buf *out,
                           Apart *apart)
{
    if (tiles.len + products.len == 0)
        return;
    if (!o->products && !o->kept) {
        joins_begin(o, out);
        buf_str(out, tiles);
        buf_str(out, products);
        joins_end(o, out);
        return;
    }
    if (o->kept) {
        unit_targets(out);
        unit_share(out, tiles, UNIT_TABLES | UNIT_OF_TARGET);
        unit_share(out, products, UNIT_OF_TARGET);
        return;
    }
    *apart = (Apart){str_copy(a, tiles), str_copy(a, products), out->len, 0};
    unit_share(out, tiles, 0);
    unit_share(out, products, 0);
    apart->end = out->len;
}

void products_define(const EmitOptions *o, const Apart *apart, const Buf *out)
{
    if (!apart->end)
        return;
    const Str users[] = {
        apart->products, {out->at, apart->begin}, {out->at + apart->end, out->len - apart->end}};
    joins_begin(o, o->tiles);
    unit_define(o->tiles, apart->tiles, users, 3);
    joins_end(o, o->tiles);
    unit_share(o->products, apart->tiles, 0);
    joins_begin(o, o->products);
    unit_define(o->products, apart->products, users + 1, 2);
    joins_end(o, o->products);
}

void products_emit(const Module *mod, Arena *scratch, const EmitOptions *o, Buf *out, Apart *apart)
{
    static const char *const byte_windows[] = {"cameo_pixel_bytes.h", "cameo_pixel_bands.h",
                                               "cameo_pixel_byte_windows.h", NULL};
    static const char *const windows[] = {"cameo_pixel_silu.h", NULL};
    const char *parts[MAX_PARTS + 1];
    const TileUses uses = o->shared ? tile_uses_all(scratch) : tile_uses(scratch, mod->steps);
    Wants w = wants_of(mod->steps);
    Buf tiles = {0}, text = {0};
    if (o->kept && w.pixels) // whose functions name the tables of all kinds
        w.pixels = UINT32_MAX;
    if (list_parts(&w, parts))
        print_tiles(&w, &uses, o, &tiles);
    if (w.byte_planes)
        emit_runtime(&tiles, byte_windows);
    if (w.planes)
        emit_runtime(&tiles, windows);
    pixel_windows_tiles(&tiles, mod->steps);
    print_squares(&w, &tiles);
    emit_runtime(&text, parts);
    place_products(o, scratch, str_of_buf(&tiles), str_of_buf(&text), out, apart);
    buf_free(&tiles);
    buf_free(&text);
}

bool products_kept(const Module *mod)
{
    return !pixel_windows_any(mod->steps);
}

void products_of_target(const Processor *row, Buf *tiles, Buf *products)
{
    Arena *scratch = arena_new();
    const char *parts[MAX_PARTS + 1];
    const TileUses uses = tile_uses_all(scratch);
    const EmitOptions o = {.rows = row, .nrows = 1};
    const Wants w = wants_all();
    Buf head = {0}, text = {0};
    list_parts(&w, parts);
    print_tiles(&w, &uses, &o, &head);
    print_squares(&w, &head);
    emit_runtime(&text, parts);
    unit_targets(tiles);
    joins_begin(&o, tiles);
    unit_share(tiles, str_of_buf(&head), UNIT_FUNCTIONS | UNIT_OF_TARGET);
    joins_end(&o, tiles);
    unit_targets(products);
    unit_share(products, str_of_buf(&head), UNIT_OF_TARGET);
    joins_begin(&o, products);
    unit_share(products, str_of_buf(&text), UNIT_FUNCTIONS | UNIT_TABLES | UNIT_OF_TARGET);
    joins_end(&o, products);
    buf_free(&head);
    buf_free(&text);
    arena_free(scratch);
}
