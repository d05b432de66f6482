// Tiles over bytes: a number is four values of k, and one instruction multiplies them with those
// of the other factor and adds the four products to a sum of 32 bits.
//
//     cameo_dot(c, u, s): c + sum over i < 4 of u[i] * s[i]      u: no sign, s: signed
//
// What a target lacks is made of two multiplications of pairs of 16 bits, or of plain arithmetic:
// every form gives the same integers. Lanes are those of tiles.c, since both read the same panels.
//
// Without that instruction a tile is wide: numbers of a are four values of 16 bits, made so before
// (cameo_bytes_widen), and half a vector of b becomes one of 16 bits, once for all rows. So what is
// left for each row is to multiply pairs and to add, 16 values at a time with vectors of 256 bits.
// A sum is of every other pair until the end, where neighbours are added.
//
// A near tile takes three operations of a multiplier for 64 bytes of each factor, not four, and
// widens nothing: products of bytes are added by twos and fours in 16 bits, which saturate.
//
//     cameo_near(c, u, v, s, t): c + sums over i < 2 of u and s, v and t, at 2 i and 2 i + 1
//
// It is for constants of which all but a few sums can't leave 16 bits, and those few are done again
// (runtime/cameo_near.h). Of windows a near tile adds products of two or four numbers without
// saturation (cameo_near_first, cameo_near_add), for weights of which those that could leave 16
// bits are left out (runtime/cameo_near_conv.h), and their sums to those of 32 (cameo_near_join).

#include "codegen/cpu/tiles.h"

#include <string.h>

typedef struct ByteTarget {
    TileTarget tile;
    const char *dot;    // the body of cameo_dot
    const char *header; // what declares its instructions; NULL: there are none
    const char *wide;   // what a wide tile is made of; NULL: it goes by cameo_dot
    const char *near;   // the body of cameo_near; NULL: there are no near tiles
    bool streams;       // one row reads several panels side by side
} ByteTarget;

static const char x86[] = "immintrin.h", arm[] = "arm_neon.h";

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

// A product of 9 bits and a sign is one of 16, of which neighbours are added to 32.
static const char pairs_arm[] =
    "    const uint16x8_t v = (uint16x8_t)u;\n"
    "    const int16x8_t w = (int16x8_t)s, low = vshrq_n_s16(vshlq_n_s16(w, 8), 8);\n"
    "    const int16x8_t even = vmulq_s16((int16x8_t)vandq_u16(v, vdupq_n_u16(255)), low);\n"
    "    const int16x8_t odd = vmulq_s16((int16x8_t)vshrq_n_u16(v, 8), vshrq_n_s16(w, 8));\n"
    "    return (cameo_sums)vpadalq_s16(vpadalq_s16((int32x4_t)c, even), odd);\n";
// u with a sign is 128 less: the sums lack s times that much, which compilers compute once for all
// that s is multiplied with.
static const char dots_signed[] =
    "    const int8x16_t w = (int8x16_t)s, least = vdupq_n_s8(-128);\n"
    "    const int8x16_t v = veorq_s8((int8x16_t)u, least);\n"
    "    const int32x4_t more = vdotq_s32(vdupq_n_s32(0), w, least);\n"
    "    __asm__(\"sdot %0.4s, %1.16b, %2.16b\" : \"+w\"(c) : \"w\"(v), \"w\"(w));\n"
    "    return c - (cameo_sums)more;\n";

static const char wide_256[] =
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_signed(\n"
    "    const cameo_word *b)\n{\n"
    "    return (cameo_sums)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b));\n}\n\n"
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_unsigned(\n"
    "    const cameo_word *b)\n{\n"
    "    return (cameo_sums)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)b));\n}\n\n"
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_dot(\n"
    "    cameo_sums c, cameo_sums a, cameo_sums b)\n{\n"
    "    return c + (cameo_sums)_mm256_madd_epi16((__m256i)a, (__m256i)b);\n}\n\n";
static const char wide_128[] =
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_signed(\n"
    "    const cameo_word *b)\n{\n"
    "    return (cameo_sums)_mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)b));\n}\n\n"
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_unsigned(\n"
    "    const cameo_word *b)\n{\n"
    "    return (cameo_sums)_mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)b));\n}\n\n"
    "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_dot(\n"
    "    cameo_sums c, cameo_sums a, cameo_sums b)\n{\n"
    "    return c + (cameo_sums)_mm_madd_epi16((__m128i)a, (__m128i)b);\n}\n\n";

static const char near_256[] =
    "    const __m256i even = _mm256_maddubs_epi16((__m256i)u, (__m256i)s);\n"
    "    const __m256i odd = _mm256_maddubs_epi16((__m256i)v, (__m256i)t);\n"
    "    return c + (cameo_sums)_mm256_madd_epi16(_mm256_adds_epi16(even, odd),\n"
    "                                             _mm256_set1_epi16(1));\n";
static const char near_128[] =
    "    const __m128i even = _mm_maddubs_epi16((__m128i)u, (__m128i)s);\n"
    "    const __m128i odd = _mm_maddubs_epi16((__m128i)v, (__m128i)t);\n"
    "    return c + (cameo_sums)_mm_madd_epi16(_mm_adds_epi16(even, odd), _mm_set1_epi16(1));\n";

// Instructions of aarch64 are written out, since gcc moves sums between registers around its own.
// Rows are fewer where halves of the operands take registers too. A wide tile has eight sums: an
// addition takes a cycle, and with more of them a compiler keeps less of what it multiplies.
static const ByteTarget targets[] = {
    {{"defined(__AVX512VNNI__)", 16, 8, 3, 2, 32},
     "    return (cameo_sums)_mm512_dpbusd_epi32((__m512i)c, (__m512i)u, (__m512i)s);\n",
     x86,
     NULL,
     NULL,
     true},
    {{"defined(__AVX512BW__)", 16, 4, 3, 2, 32}, pairs_512, x86, NULL, NULL, false},
    {{"defined(__AVX512F__)", 16, 4, 3, 2, 32}, plain, NULL, NULL, NULL, false},
    {{"defined(__AVXVNNI__)", 8, 4, 3, 4, 32},
     "    return (cameo_sums)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)u, (__m256i)s);\n",
     x86,
     NULL,
     NULL,
     true},
    {{"defined(__AVX2__)", 8, 4, 1, 1, 32}, pairs_256, x86, wide_256, near_256, true},
    {{"defined(__AVX__)", 8, 2, 3, 4, 32}, plain, NULL, NULL, NULL, false},
    {{"defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)", 4, 8, 3, 1, 32},
     "    __asm__(\"usdot %0.4s, %1.16b, %2.16b\" : \"+w\"(c) : \"w\"(u), \"w\"(s));\n"
     "    return c;\n",
     NULL,
     NULL,
     NULL,
     true},
    {{"defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)", 4, 4, 3, 1, 32},
     dots_signed,
     arm,
     NULL,
     NULL,
     true},
    {{"defined(__aarch64__)", 4, 4, 3, 2, 32}, pairs_arm, arm, NULL, NULL, false},
    {{"defined(__SSE4_1__)", 4, 4, 1, 1, 32}, pairs_128, x86, wide_128, near_128, false},
    {{"defined(__SSE2__)", 4, 2, 2, 4, 32}, pairs_128, x86, NULL, NULL, false},
    {{"1", 4, 2, 2, 4, 32}, plain, NULL, NULL, NULL, false},
};

static const TileKind
    of_products = {TILES_OF_BYTES, "cameo_byte_tile", "cameo_number", "cameo_word", "int32_t",
                   "cameo_sums",   DOT_FIRST,         false,          FORM_WORDS,   1},
    of_windows = {TILES_OF_WINDOWS, "cameo_window_tile", "cameo_number", "cameo_word", "int32_t",
                  "cameo_sums",     DOT_SECOND,          false,          FORM_WORDS,   1};

static const TileKind nearly = {TILES_OF_BYTES, "cameo_near_tile",
                                "cameo_word",   "cameo_word",
                                "int32_t",      "cameo_sums",
                                DOT_FIRST,      false,
                                FORM_NEAR,      2},
                      near_pairs = {TILES_OF_WINDOWS, "cameo_near_pair_tile",
                                    "cameo_word",     "cameo_word",
                                    "int32_t",        "cameo_sums",
                                    DOT_SECOND,       false,
                                    FORM_NEAR,        2},
                      near_windows = {TILES_OF_WINDOWS, "cameo_near_window_tile",
                                      "cameo_word",     "cameo_word",
                                      "int32_t",        "cameo_sums",
                                      DOT_SECOND,       false,
                                      FORM_NEAR,        4};
// An addition takes a cycle: eight sums are as good as twelve, and all else has a register. Of
// windows the sums of 16 bits have registers beside those of 32.
enum { NEAR_ROWS = 4, NEAR_VECTORS = 2, WINDOW_ROWS = 2, WINDOW_VECTORS = 3 };

static void print_type(Buf *out, const TileKind *kind)
{
    buf_printf(out,
               "typedef void %s(int64_t k, const %s *a, const cameo_word *b,\n"
               "    const int64_t *at, int64_t ahead, int32_t *c, int64_t ldc, int64_t width,\n"
               "    int more);\n",
               kind->name, kind->first);
}

static void print_table(Buf *out, const TileKind *kind, const ByteTarget *t, const TileUses *uses)
{
    TileKind own = *kind;
    own.form = t->wide ? FORM_WIDE : FORM_WORDS;
    print_type(out, &own);
    tile_print_edge(out, &own);
    tile_print_table(out, &own, &t->tile, uses);
}

// Words as numbers of a wide tile, so many that vectors are whole; one of them in all lanes; both
// halves' sums as the vector's.
static void print_wide(Buf *out, const ByteTarget *t)
{
    buf_printf(out,
               "#define CAMEO_BYTE_WIDE\n"
               "enum { CAMEO_BYTE_DEEP = 128 }; /* words of k that are widened at once */\n%s"
               "static inline __attribute__((unused)) void cameo_bytes_widen(\n"
               "    int64_t n, const cameo_word *from, int sign, cameo_number *to)\n{\n"
               "    for (int64_t i = 0; i < n; i += CAMEO_LANES / 2)\n"
               "        *(cameo_sums *)(to + i) =\n"
               "            sign ? cameo_wide_signed(from + i) : cameo_wide_unsigned(from + i);\n"
               "}\n\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums\n"
               "cameo_wide_number(cameo_number x)\n{\n"
               "    typedef int64_t numbers __attribute__((vector_size(%d)));\n"
               "    return (cameo_sums)((numbers){0} + x);\n}\n\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_wide_join(\n"
               "    cameo_sums low, cameo_sums high)\n{\n"
               "    return (cameo_sums)cameo_even((cameo_vec)low, (cameo_vec)high) +\n"
               "           (cameo_sums)cameo_odd((cameo_vec)low, (cameo_vec)high);\n}\n\n",
               t->wide, 4 * t->tile.lanes);
}

static void print_target(Buf *out, const ByteTarget *t, bool first)
{
    const int bytes = 4 * t->tile.lanes;
    buf_printf(out, "#%sif %s\n", first ? "" : "el", t->tile.test);
    if (t->header)
        buf_printf(out, "#include <%s>\n", t->header);
    buf_printf(out,
               "enum { CAMEO_BYTE_ROWS = %d, CAMEO_BYTE_VECTORS = %d };\n"
               "typedef %s cameo_number __attribute__((may_alias));\n"
               "typedef int32_t cameo_sums __attribute__((vector_size(%d), aligned(4), "
               "may_alias));\n"
               "typedef uint32_t cameo_words __attribute__((vector_size(%d)));\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_dot(\n"
               "    cameo_sums c, cameo_sums u, cameo_sums s)\n{\n%s}\n\n",
               t->tile.rows, t->tile.vectors, t->wide ? "int64_t" : "int32_t", bytes, bytes,
               t->dot);
    if (t->wide)
        print_wide(out, t);
}

// Several where bytes are multiplied by one instruction, which leaves registers to sums, and with
// vectors of 8, where a few sums that don't stay in them cost less than one stream does.
static void print_streams(Buf *out, const ByteTarget *t)
{
    const int most = t->streams ? tile_streams(&t->tile) : 1;
    buf_printf(out, "enum { CAMEO_BYTE_STREAMS = %d };\n", most);
    tile_print_stream(out, &of_products, &t->tile, "cameo_byte_stream", most);
    buf_printf(out, "#define CAMEO_BYTE_STREAM cameo_byte_stream_%d\n\n", most);
}

static void print_near(Buf *out, const ByteTarget *t)
{
    buf_printf(out,
               "#define CAMEO_NEAR\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_near(\n"
               "    cameo_sums c, cameo_sums u, cameo_sums v, cameo_sums s, cameo_sums t)\n"
               "{\n%s}\n\n",
               t->near);
}

// The compiler is to keep the order of additions and to read a word once: else it adds products of
// all numbers at the end, and moves them to memory until then.
static void print_near_windows(Buf *out, const ByteTarget *t)
{
    const int bits = 32 * t->tile.lanes;
    const char *op = bits == 256 ? "_mm256" : "_mm";
    buf_printf(out,
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_near_word(\n"
               "    cameo_word w)\n{\n    cameo_sums all = (cameo_sums){0} + w;\n"
               "    __asm__(\"\" : \"+x\"(all));\n    return all;\n}\n\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_near_first(\n"
               "    cameo_sums u, cameo_sums s)\n{\n"
               "    return (cameo_sums)%s_maddubs_epi16((__m%di)u, (__m%di)s);\n}\n\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_near_add(\n"
               "    cameo_sums c, cameo_sums u, cameo_sums s)\n{\n"
               "    cameo_sums sum = (cameo_sums)%s_add_epi16((__m%di)c,\n"
               "                                              (__m%di)cameo_near_first(u, s));\n"
               "    __asm__(\"\" : \"+x\"(sum));\n    return sum;\n}\n\n"
               "static inline __attribute__((always_inline, unused)) cameo_sums cameo_near_join(\n"
               "    cameo_sums c, cameo_sums s)\n{\n"
               "    return c + (cameo_sums)%s_madd_epi16((__m%di)s, %s_set1_epi16(1));\n}\n\n",
               op, bits, bits, op, bits, bits, op, bits, op);
}

static void print_near_table(Buf *out, const TileKind *kind, const ByteTarget *t, int rows,
                             int vectors, const TileUses *uses)
{
    TileTarget tile = t->tile;
    tile.rows = rows;
    tile.vectors = vectors;
    print_type(out, kind);
    tile_print_edge(out, kind);
    tile_print_table(out, kind, &tile, uses);
}

static void print_near_tables(Buf *out, const ByteTarget *t, bool products, bool windows,
                              const TileUses *uses)
{
    print_near(out, t);
    if (products) {
        buf_printf(out, "enum { CAMEO_NEAR_ROWS = %d, CAMEO_NEAR_VECTORS = %d };\n", NEAR_ROWS,
                   NEAR_VECTORS);
        print_near_table(out, &nearly, t, NEAR_ROWS, NEAR_VECTORS, uses);
    }
    if (windows) {
        print_near_windows(out, t);
        buf_printf(out, "enum { CAMEO_WINDOW_ROWS = %d, CAMEO_WINDOW_VECTORS = %d };\n",
                   WINDOW_ROWS, WINDOW_VECTORS);
        print_near_table(out, &near_pairs, t, WINDOW_ROWS, WINDOW_VECTORS, uses);
        print_near_table(out, &near_windows, t, WINDOW_ROWS, WINDOW_VECTORS, uses);
    }
}

void byte_tiles_print(Buf *out, bool products, bool windows, const TileUses *uses)
{
    buf_printf(out, "/* Tiles over bytes: sums of 32 bits, each number four values of k. */\n"
                    "#ifndef CAMEO_BYTE_TILES_H\n#define CAMEO_BYTE_TILES_H\n"
                    "typedef int32_t cameo_word __attribute__((may_alias));\n");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        print_target(out, &targets[i], i == 0);
        if (products) {
            print_streams(out, &targets[i]);
            print_table(out, &of_products, &targets[i], uses);
        }
        if (windows)
            print_table(out, &of_windows, &targets[i], uses);
        if (targets[i].near)
            print_near_tables(out, &targets[i], products, windows, uses);
    }
    buf_printf(out, "#endif\n#endif\n\n");
}
