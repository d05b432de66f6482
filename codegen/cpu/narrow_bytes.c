// Tiles of products of bytes with factors of few bits, for processors that multiply four bytes and
// add them to 32 bits, or codes of up to 4 bits and add two of them to 16.
//
// Codes are unsigned there and numbers of the rows signed: what a code of 0 stands for is taken
// from the sums before they begin. They are integers over a block of k, whose end makes them
// floats, takes what zero points add and multiplies by both scales. Where two products are added in
// 16 bits (`whole`), so are those of up to eight words of k, at most 8 * 2 * 15 * 127; the sums of
// 32 bits, which wait in memory, take them then.

#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/processor.h"

enum { ROWS = 4, MOST_BLOCK = 256, LEAST_K = 32 };
enum { TURN = 4, HELD = 8 }; // words of k, of which sums of 16 bits hold what they add

typedef struct DotTarget {
    const char *test, *header; // of the preprocessor; what declares the instructions
    const char *dot;           // adds to c of codes u and numbers s
    const char *whole;         // adds sums of 16 bits to c; NULL: dot adds to 32
    int lanes, vectors, bits;  // bits: of the largest codes
} DotTarget;

// The compiler is to keep the order of additions to 16 bits: else it moves sums to memory.
static const DotTarget targets[] = {
    {"defined(__AVX512VNNI__)", "immintrin.h",
     "c = (cameo_codes)_mm512_dpbusd_epi32((__m512i)c, (__m512i)u, (__m512i)s);", NULL, 16, 3, 8},
    {"defined(__AVX512BW__)", "immintrin.h",
     "u = (cameo_codes)_mm512_maddubs_epi16((__m512i)u, (__m512i)s);\n"
     "    c = (cameo_codes)_mm512_add_epi16((__m512i)c, (__m512i)u);\n"
     "    __asm__(\"\" : \"+v\"(c));",
     "c + (cameo_codes)_mm512_madd_epi16((__m512i)halves, _mm512_set1_epi16(1))", 16, 3, 4},
    {"defined(__AVXVNNI__) && !defined(__AVX512F__)", "immintrin.h",
     "c = (cameo_codes)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)u, (__m256i)s);", NULL, 8, 3,
     8},
    {"defined(__AVX2__) && !defined(__AVX512F__)", "immintrin.h",
     "u = (cameo_codes)_mm256_maddubs_epi16((__m256i)u, (__m256i)s);\n"
     "    c = (cameo_codes)_mm256_add_epi16((__m256i)c, (__m256i)u);\n"
     "    __asm__(\"\" : \"+x\"(c));",
     "c + (cameo_codes)_mm256_madd_epi16((__m256i)halves, _mm256_set1_epi16(1))", 8, 2, 4},
    {"defined(__ARM_FEATURE_MATMUL_INT8)", "arm_neon.h",
     "c = (cameo_codes)vusdotq_s32((int32x4_t)c, (uint8x16_t)u, (int8x16_t)s);", NULL, 4, 3, 8},
    {"defined(__ARM_FEATURE_DOTPROD)", "arm_neon.h",
     "c = (cameo_codes)vdotq_s32((int32x4_t)c, (int8x16_t)u, (int8x16_t)s);", NULL, 4, 3, 4},
};
enum { NTARGETS = sizeof targets / sizeof *targets };

bool narrow_bytes_fit(const Narrow *w, int64_t coarse)
{
    return coarse && coarse <= MOST_BLOCK && w->block <= coarse && !w->exact && w->k >= LEAST_K &&
           w->bits <= 8;
}

uint32_t narrow_bytes_kind(uint32_t bits)
{
    return bits == 2 ? NARROW_BYTES_2 : bits == 4 ? NARROW_BYTES_4 : NARROW_BYTES_8;
}

bool narrow_bytes_any(const Step *s)
{
    return (narrow_kinds(s) & NARROW_BYTES) != 0;
}

// ---- tiles -------------------------------------------------------------------------------------

static void print_each(Buf *out, int vectors, const char *text)
{
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, text, r, v, r, v, r, v);
}

// `sum`: the letter of the variables of sums.
static void print_group(Buf *out, int vectors, char sum)
{
    buf_printf(out, "            const cameo_codes ");
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%su%d = ((const cameo_codes *)b)[%d]", v ? ", " : "", v, v);
    buf_printf(out, ";\n");
    for (int r = 0; r < ROWS; r++) {
        buf_printf(out, "            { const cameo_codes x = zero + a[%d];", r);
        for (int v = 0; v < vectors; v++)
            buf_printf(out, " %c%d%d = cameo_narrow_dot(%c%d%d, u%d, x);", sum, r, v, sum, r, v, v);
        buf_printf(out, " }\n");
    }
}

// The loop over `turns` of a block; around it that over as many as sums of 16 bits hold, which have
// been opened by then: `some` of them.
static void open_turns(Buf *out, const DotTarget *t, const char *turns, int step)
{
    buf_printf(out, "        for (int64_t t = 0; t < %s; t++, b += row, a += %d) {\n",
               t->whole ? "some" : turns, step);
}

static void open_halves(Buf *out, const char *turns)
{
    buf_printf(out,
               "        for (int64_t left = %s, some; left > 0; left -= some) {\n"
               "        some = left < %d ? left : %d;\n",
               turns, HELD, HELD);
}

// Sums of a block, in variables d.
static void print_groups(Buf *out, const DotTarget *t, int vectors)
{
    if (t->whole) {
        open_halves(out, "groups");
        print_each(out, vectors, "        cameo_codes e%d%d = zero;\n");
    }
    open_turns(out, t, "groups", ROWS);
    print_group(out, vectors, t->whole ? 'e' : 'd');
    for (int i = 1; i < TURN && t->whole; i++) {
        buf_printf(out, "            t++, b += row, a += %d;\n            {\n", ROWS);
        print_group(out, vectors, 'e');
        buf_printf(out, "            }\n");
    }
    buf_printf(out, "        }\n");
    if (t->whole) {
        print_each(out, vectors, "        d%d%d = cameo_narrow_whole(d%d%d, e%d%d);\n");
        buf_printf(out, "        }\n");
    }
}

static void print_block(Buf *out, const DotTarget *t, int vectors)
{
    buf_printf(out,
               "        const cameo_narrow_float *scale = (const cameo_narrow_float *)a, *sum = "
               "scale + %d;\n"
               "        const int32_t *begin = a + %d;\n",
               ROWS, 2 * ROWS);
    for (int r = 0; r < ROWS; r++) {
        buf_printf(out, "        cameo_codes ");
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "%sd%d%d = zero + begin[%d]", v ? ", " : "", r, v, r);
        buf_printf(out, ";\n");
    }
    buf_printf(out, "        a += %d;\n", 3 * ROWS);
    print_groups(out, t, vectors);
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out,
                       "        cameo_vec f%d%d = (cameo_vec)__builtin_convertvector(d%d%d, "
                       "cameo_numbers);\n",
                       r, v, r, v);
    buf_printf(out, "        if (zeros) {\n");
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "            f%d%d -= sum[%d] * ((const cameo_vec *)(s + row))[%d];\n",
                       r, v, r, v);
    buf_printf(out, "        }\n");
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "        c%d%d += f%d%d * (scale[%d] * ((const cameo_vec *)s)[%d]);\n",
                       r, v, r, v, r, v);
    buf_printf(out, "        s += step;\n");
}

static void print_tile(Buf *out, const DotTarget *t, int vectors)
{
    const int width = vectors * t->lanes;
    buf_printf(
        out,
        "static __attribute__((noinline, unused)) void cameo_narrow_bytes_by_%d(\n"
        "    int64_t blocks, int64_t groups, const int32_t *restrict a,\n"
        "    const int32_t *restrict b, const float *restrict s, int64_t row, int64_t step,\n"
        "    int zeros, int64_t rows, int64_t width, float *restrict c, int64_t ldc)\n{\n"
        "    const cameo_codes zero = {0};\n    const cameo_vec none = {0};\n    cameo_vec ",
        vectors);
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "%sc%d%d = none", r + v ? ", " : "", r, v);
    buf_printf(out, ";\n    for (; blocks > 0; blocks--) {\n");
    print_block(out, t, vectors);
    buf_printf(out, "    }\n    if (rows == %d && width == %d) {\n", ROWS, width);
    print_each(out, vectors, "        ((cameo_vec *)(c + %d * ldc))[%d] += c%d%d;\n");
    buf_printf(out, "        return;\n    }\n    float edge[%d];\n", ROWS * width);
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "    ((cameo_vec *)edge)[%d] = c%d%d;\n", r * vectors + v, r, v);
    buf_printf(out, "    cameo_tile_edge(rows, width, edge, %d, c, ldc, 1, NULL);\n}\n\n", width);
}

// Word i of what a word of codes becomes: bytes without a sign, four values of k of a column. Of 4
// bits they are the even ones of eight, then the odd ones; of 2 bits every fourth one of sixteen.
static void print_spread(Buf *out, int bits, int i)
{
    static const int masks[] = {0x03030303, 0x0f0f0f0f}, signs[] = {0x02020202, 0x08080808};
    if (bits == 8)
        buf_printf(out, "x ^ (int32_t)0x80808080");
    else
        buf_printf(out, "(x >> %d & 0x%08x) ^ 0x%08x", bits * i, masks[bits / 4], signs[bits / 4]);
}

static void print_spread_turn(Buf *out, int bits)
{
    buf_printf(out, "        for (int64_t v = 0; v < row; v += CAMEO_LANES) {\n"
                    "            const cameo_codes x = *(const cameo_codes *)(b + v);\n");
    for (int i = 0; i < 8 / bits; i++) {
        buf_printf(out, "            *(cameo_codes *)(to + %d * row + v) = ", i);
        print_spread(out, bits, i);
        buf_printf(out, ";\n");
    }
    buf_printf(out, "        }\n");
}

// One row reads codes from the first to the last and makes bytes of them in registers.
static void print_turn_of_one(Buf *out, const DotTarget *t, int bits, int vectors)
{
    for (int i = 0; i * 64 < vectors * t->lanes * 4; i++)
        buf_printf(out, "            cameo_once_ask((const char *)b + ahead + %d, past);\n",
                   i * 64);
    for (int i = 0; i < 8 / bits; i++)
        buf_printf(out, "            const cameo_codes k%d = zero + a[%d];\n", i, i);
    for (int v = 0; v < vectors; v++) {
        buf_printf(out, "            { const cameo_codes x = ((const cameo_codes *)b)[%d];\n", v);
        for (int i = 0; i < 8 / bits; i++) {
            const char sum = (t->whole ? "gh" : "de")[i % 2];
            buf_printf(out, "            %c%d = cameo_narrow_dot(%c%d, ", sum, v, sum, v);
            print_spread(out, bits, i);
            buf_printf(out, ", k%d);\n", i);
        }
        buf_printf(out, "            }\n");
    }
}

// Sums of a block, in variables d and e. Of each g and h two words of 2 bits are added in a turn.
static void print_turns_of_one(Buf *out, const DotTarget *t, int bits, int vectors)
{
    if (t->whole) {
        open_halves(out, "turns");
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "        cameo_codes g%d = zero, h%d = zero;\n", v, v);
    }
    open_turns(out, t, "turns", 8 / bits);
    print_turn_of_one(out, t, bits, vectors);
    buf_printf(out, "        }\n");
    for (int v = 0; v < vectors && t->whole; v++)
        buf_printf(out,
                   "        d%d = cameo_narrow_whole(d%d, g%d);\n"
                   "        e%d = cameo_narrow_whole(e%d, h%d);\n",
                   v, v, v, v, v, v);
    if (t->whole)
        buf_printf(out, "        }\n");
}

static void print_end_of_one(Buf *out, int vectors, int lanes)
{
    buf_printf(out,
               "        const cameo_vec *s = (const cameo_vec *)b, *z = (const cameo_vec *)(b + "
               "row);\n");
    for (int v = 0; v < vectors; v++)
        buf_printf(out,
                   "        cameo_vec f%d = (cameo_vec)__builtin_convertvector(d%d + e%d, "
                   "cameo_numbers);\n"
                   "        if (zeros)\n            f%d -= sum * z[%d];\n"
                   "        c%d += f%d * (scale * s[%d]);\n",
                   v, v, v, v, v, v, v, v);
    buf_printf(out, "        b += row * (1 + zeros);\n    }\n    if (width == %d) {\n",
               vectors * lanes);
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "        ((cameo_vec *)c)[%d] += c%d;\n", v, v);
    buf_printf(out, "        return;\n    }\n    float edge[%d];\n", vectors * lanes);
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "    ((cameo_vec *)edge)[%d] = c%d;\n", v, v);
    buf_printf(out, "    cameo_tile_edge(1, width, edge, %d, c, 0, 1, NULL);\n}\n\n",
               vectors * lanes);
}

static void print_one(Buf *out, const DotTarget *t, int bits, int vectors)
{
    static const char taken[] = "(\n    int64_t blocks, int64_t turns, const int32_t *restrict a, "
                                "const int32_t *restrict b,\n"
                                "    int64_t row, int zeros, int64_t width, float *restrict c";
    static const char given[] = "(blocks, turns, a, b, row, zeros, width, c, ";
    buf_printf(out,
               "static inline __attribute__((always_inline, unused)) void "
               "cameo_narrow_bytes_%d_one_as_%d%s, const int past)\n{\n"
               "    const cameo_codes zero = {0};\n    const cameo_vec none = {0};\n"
               "    const int64_t ahead = CAMEO_CPU_STREAM + (past ? CAMEO_CPU_STREAM / 2 : 0);\n"
               "    cameo_vec ",
               bits, vectors, taken);
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%sc%d = none", v ? ", " : "", v);
    buf_printf(out, ";\n    for (; blocks > 0; blocks--) {\n"
                    "        const cameo_narrow_float *of = (const cameo_narrow_float *)a;\n"
                    "        const float scale = of[0], sum = of[1];\n        cameo_codes ");
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%sd%d = zero + a[2], e%d = zero", v ? ", " : "", v, v);
    buf_printf(out, ";\n        a += 3;\n");
    print_turns_of_one(out, t, bits, vectors);
    print_end_of_one(out, vectors, t->lanes);
    buf_printf(out,
               "static __attribute__((noinline, unused)) void cameo_narrow_bytes_%d_one_%d%s)\n{\n"
               "    if (cameo_once_past())\n        cameo_narrow_bytes_%d_one_as_%d%s1);\n"
               "    else\n        cameo_narrow_bytes_%d_one_as_%d%s0);\n}\n\n",
               bits, vectors, taken, bits, vectors, given, bits, vectors, given);
}

static void print_kind(Buf *out, const DotTarget *t, int bits)
{
    buf_printf(out, "#ifndef CAMEO_NARROW_BYTES_%d\n#define CAMEO_NARROW_BYTES_%d\n", bits, bits);
    for (int v = 1; v <= t->vectors; v++)
        print_one(out, t, bits, v);
    buf_printf(out,
               "static __attribute__((noinline, unused)) void cameo_narrow_%d_spread(\n"
               "    int64_t turns, int64_t row, const int32_t *restrict b, int32_t *restrict to)\n"
               "{\n    for (; turns > 0; turns--, b += row, to += %d * row) {\n",
               bits, 8 / bits);
    print_spread_turn(out, bits);
    buf_printf(out,
               "    }\n}\n\n"
               "static __attribute__((unused)) const cameo_narrow_bytes cameo_narrow_bytes_%d = {\n"
               "    &cameo_narrow_%d, cameo_narrow_%d_spread, {",
               bits, bits, bits);
    for (int v = 1; v <= t->vectors; v++)
        buf_printf(out, "%scameo_narrow_bytes_by_%d", v > 1 ? ", " : "", v);
    buf_printf(out, "}, {");
    for (int v = 1; v <= t->vectors; v++)
        buf_printf(out, "%scameo_narrow_bytes_%d_one_%d", v > 1 ? ", " : "", bits, v);
    buf_printf(out, "},\n};\n#endif\n\n");
}

static void print_none(Buf *out, int bits)
{
    buf_printf(out,
               "#ifndef CAMEO_NARROW_BYTES_%d\n#define CAMEO_NARROW_BYTES_%d\n"
               "static __attribute__((unused)) const cameo_narrow_bytes cameo_narrow_bytes_%d = {\n"
               "    &cameo_narrow_%d, NULL, {NULL}, {NULL},\n};\n#endif\n\n",
               bits, bits, bits, bits);
}

static void print_kinds(Buf *out, const DotTarget *t, uint32_t kinds)
{
    for (int bits = 2; bits <= 8; bits *= 2)
        if (kinds & narrow_bytes_kind((uint32_t)bits)) {
            if (t && bits <= t->bits)
                print_kind(out, t, bits);
            else
                print_none(out, bits);
        }
}

static void print_target(Buf *out, const DotTarget *t, bool first)
{
    static const char of[] = "static inline __attribute__((always_inline, unused)) cameo_codes ";
    buf_printf(out,
               "#%sif %s\n#include <%s>\nenum { CAMEO_BYTES_VECTORS = %d }; /* of a tile */\n"
               "%scameo_narrow_dot(\n    cameo_codes c, cameo_codes u, cameo_codes s)\n{\n"
               "    %s\n    return c;\n}\n\n",
               first ? "" : "el", t->test, t->header, t->vectors, of, t->dot);
    if (t->whole)
        buf_printf(out,
                   "%scameo_narrow_whole(\n    cameo_codes c, cameo_codes halves)\n{\n"
                   "    return %s;\n}\n\n",
                   of, t->whole);
    for (int v = 1; v <= t->vectors; v++)
        print_tile(out, t, v);
}

void narrow_bytes_print(Buf *out, uint32_t kinds)
{
    if (!(kinds & NARROW_BYTES))
        return;
    buf_printf(
        out,
        "/* Tiles of %d rows of bytes times codes: c[rows][width] += over blocks of k the sum of\n"
        " * products, less the sum of the row times the zero point, times both scales. a: of each\n"
        " * block scales, sums and what sums of products begin with, then for each four values of "
        "k\n"
        " * those of all rows; b: spread words, `row` of them for each four; s: scales of the "
        "first\n"
        " * block, then zero points if there are any; `step` numbers to those of the next. */\n"
        "#ifndef CAMEO_NARROW_BYTES_TILES_H\n#define CAMEO_NARROW_BYTES_TILES_H\n"
        "typedef float cameo_narrow_float __attribute__((may_alias));\n"
        "typedef void cameo_narrow_byte_tile(int64_t blocks, int64_t groups, const int32_t *a,\n"
        "    const int32_t *b, const float *s, int64_t row, int64_t step, int zeros, int64_t "
        "rows,\n"
        "    int64_t width, float *c, int64_t ldc);\n"
        "typedef void cameo_narrow_one_tile(int64_t blocks, int64_t turns, const int32_t *a,\n"
        "    const int32_t *b, int64_t row, int zeros, int64_t width, float *c);\n"
        "typedef struct cameo_narrow_bytes {\n"
        "    const cameo_narrow *floats;\n"
        "    void (*spread)(int64_t turns, int64_t row, const int32_t *b, int32_t *to); /* NULL: "
        "no "
        "bytes */\n"
        "    cameo_narrow_byte_tile *tiles[CAMEO_VECTORS];\n"
        "    cameo_narrow_one_tile *one[CAMEO_VECTORS]; /* of one row, whose b are words as packed "
        "*/\n"
        "} cameo_narrow_bytes;\n",
        ROWS);
    for (int i = 0; i < NTARGETS; i++)
        print_target(out, &targets[i], i == 0);
    buf_printf(out, "#else\nenum { CAMEO_BYTES_VECTORS = 1 };\n#endif\n#endif\n");
    for (int i = 0; i <= NTARGETS; i++) {
        if (i < NTARGETS)
            buf_printf(out, "#%sif %s\n", i ? "el" : "", targets[i].test);
        else
            buf_printf(out, "#else\n");
        print_kinds(out, i < NTARGETS ? &targets[i] : NULL, kinds);
    }
    buf_printf(out, "#endif\n\n");
}

// ---- calls -------------------------------------------------------------------------------------

void narrow_bytes_print_pack(Printer *p, const Override *o, const char *rows, const char *a)
{
    const Narrow *w = o->narrow;
    print_line(p,
               "cameo_narrow_bytes_pack(&cameo_narrow_bytes_%u, %s, %lld, %lld, %s, %s, %s, from, "
               "to, b%u);",
               w->bits, rows, (long long)w->k, (long long)w->block, a, print_index_bare(p, o->am),
               print_index_bare(p, o->ak), o->block);
}
