// Tiles over bytes: a number is four values of k, and one instruction multiplies them with those
// of the other factor and adds the four products to a sum of 32 bits.
//
//     cameo_dot(c, u, s): c + sum over i < 4 of u[i] * s[i]      u: no sign, s: signed
//
// What a target lacks is made of two multiplications of pairs of 16 bits, or of plain arithmetic:
// every form gives the same integers. Lanes and vectors are those of tiles.c, since both read the
// same panels.

#include "codegen/cpu/tiles.h"

#include <string.h>

typedef struct ByteTarget {
    TileTarget tile;
    const char *dot; // the body of cameo_dot
    bool intrinsics; // of x86
} ByteTarget;

static const char plain[] = "    const cameo_words v = (cameo_words)u, w = (cameo_words)s;\n"
                            "    c += (cameo_sums)(v & 255) * ((cameo_sums)(w << 24) >> 24);\n"
                            "    c += (cameo_sums)(v >> 8 & 255) * ((cameo_sums)(w << 16) >> 24);\n"
                            "    c += (cameo_sums)(v >> 16 & 255) * ((cameo_sums)(w << 8) >> 24);\n"
                            "    return c + (cameo_sums)(v >> 24) * (s >> 24);\n";

// Bytes 0 and 2 of each number as pairs of 16 bits, then bytes 1 and 3.
static const char pairs_512[] =
    "    const __m512i v = (__m512i)u, w = (__m512i)s;\n"
    "    const __m512i even = _mm512_madd_epi16(_mm512_and_si512(v, _mm512_set1_epi16(255)),\n"
    "        _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8));\n"
    "    const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(v, 8), "
    "_mm512_srai_epi16(w, 8));\n"
    "    return c + (cameo_sums)even + (cameo_sums)odd;\n";
static const char pairs_256[] =
    "    const __m256i v = (__m256i)u, w = (__m256i)s;\n"
    "    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(v, _mm256_set1_epi16(255)),\n"
    "        _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));\n"
    "    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(v, 8), "
    "_mm256_srai_epi16(w, 8));\n"
    "    return c + (cameo_sums)even + (cameo_sums)odd;\n";
static const char pairs_128[] =
    "    const __m128i v = (__m128i)u, w = (__m128i)s;\n"
    "    const __m128i even = _mm_madd_epi16(_mm_and_si128(v, _mm_set1_epi16(255)),\n"
    "        _mm_srai_epi16(_mm_slli_epi16(w, 8), 8));\n"
    "    const __m128i odd = _mm_madd_epi16(_mm_srli_epi16(v, 8), _mm_srai_epi16(w, 8));\n"
    "    return c + (cameo_sums)even + (cameo_sums)odd;\n";

// Rows are fewer where halves of the operands take registers too.
static const ByteTarget targets[] = {
    {{"defined(__AVX512VNNI__)", 16, 8, 3, 2, 32},
     "    return (cameo_sums)_mm512_dpbusd_epi32((__m512i)c, (__m512i)u, (__m512i)s);\n",
     true},
    {{"defined(__AVX512BW__)", 16, 4, 3, 2, 32}, pairs_512, true},
    {{"defined(__AVX512F__)", 16, 4, 3, 2, 32}, plain, false},
    {{"defined(__AVXVNNI__)", 8, 4, 3, 4, 32},
     "    return (cameo_sums)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)u, (__m256i)s);\n",
     true},
    {{"defined(__AVX2__)", 8, 2, 3, 4, 32}, pairs_256, true},
    {{"defined(__AVX__)", 8, 2, 3, 4, 32}, plain, false},
    {{"defined(__aarch64__)", 4, 4, 3, 2, 32}, plain, false},
    {{"defined(__SSE2__)", 4, 2, 2, 4, 32}, pairs_128, true},
    {{"1", 4, 2, 2, 4, 32}, plain, false},
};

static const TileKind of_products = {TILES_OF_BYTES, "cameo_byte_tile", "cameo_word",
                                     "int32_t",      "cameo_sums",      DOT_FIRST,  false},
                      of_windows = {TILES_OF_WINDOWS, "cameo_window_tile", "cameo_word",
                                    "int32_t",        "cameo_sums",        DOT_SECOND, false};

static void print_type(Buf *out, const TileKind *kind)
{
    buf_printf(out,
               "typedef void %s(int64_t k, const cameo_word *a, const cameo_word *b,\n"
               "    const int64_t *at, int64_t ahead, int32_t *c, int64_t ldc, int64_t width,\n"
               "    int more);\n",
               kind->name);
    tile_print_edge(out, kind);
}

static void print_target(Buf *out, const ByteTarget *t, bool first)
{
    const int bytes = 4 * t->tile.lanes;
    buf_printf(out, "#%sif %s\n", first ? "" : "el", t->tile.test);
    if (t->intrinsics)
        buf_printf(out, "#include <immintrin.h>\n");
    buf_printf(out,
               "enum { CAMEO_BYTE_ROWS = %d };\n"
               "typedef int32_t cameo_sums __attribute__((vector_size(%d), aligned(4), "
               "may_alias));\n"
               "typedef uint32_t cameo_words __attribute__((vector_size(%d)));\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_dot(\n"
               "    cameo_sums c, cameo_sums u, cameo_sums s)\n{\n%s}\n\n",
               t->tile.rows, bytes, bytes, t->dot);
}

// Where bytes are multiplied by one instruction, which leaves registers to sums.
static void print_streams(Buf *out, const ByteTarget *t)
{
    const int most = strstr(t->tile.test, "VNNI") ? tile_streams(&t->tile) : 1;
    buf_printf(out, "enum { CAMEO_BYTE_STREAMS = %d };\n", most);
    tile_print_stream(out, &of_products, &t->tile, "cameo_byte_stream", most);
    buf_printf(out, "#define CAMEO_BYTE_STREAM cameo_byte_stream_%d\n\n", most);
}

void byte_tiles_print(Buf *out, bool products, bool windows, const TileUses *uses)
{
    buf_printf(out, "/* Tiles over bytes: sums of 32 bits, each number four values of k. */\n"
                    "#ifndef CAMEO_BYTE_TILES_H\n#define CAMEO_BYTE_TILES_H\n"
                    "typedef int32_t cameo_word __attribute__((may_alias));\n");
    if (products)
        print_type(out, &of_products);
    if (windows)
        print_type(out, &of_windows);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        print_target(out, &targets[i], i == 0);
        if (products) {
            print_streams(out, &targets[i]);
            tile_print_table(out, &of_products, &targets[i].tile, uses);
        }
        if (windows)
            tile_print_table(out, &of_windows, &targets[i].tile, uses);
    }
    buf_printf(out, "#endif\n#endif\n\n");
}
