// Tiles of products with factors of few bits, dequantised in registers.
//
// A vector of words holds 32 / bits values of k for each of its columns. What is in place j of them
// becomes a vector of floats in one look-up of 16 entries, where the target has one, else by two
// shifts and a conversion. Sums of a block of k are multiplied by its scale at once, and zero
// points by the sum over a, so that neither is met within a block.

#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/tiles.h"

enum { LINE = 64 }; // bytes that come from memory together
static const int tile_rows[] = {1, 2, 4};
enum { NROWS = sizeof tile_rows / sizeof *tile_rows };

// One row reads a panel whole where registers hold its sums: memory delivers more of lines in
// order.
typedef struct NarrowTarget {
    const char *test;   // of the preprocessor
    int lanes, vectors; // those of tiles.c
    int of_one;         // vectors of one row
    bool looks_up;      // a look-up of 16 floats by the lowest bits of each word
} NarrowTarget;

static const NarrowTarget targets[] = {
    {"defined(__AVX512F__)", 16, 3, 3, true},
    {"defined(__AVX__)", 8, 3, 6, false},
    {"defined(__aarch64__)", 4, 3, 3, false},
    {"1", 4, 2, 2, false},
};

static int most_vectors(const NarrowTarget *t, int rows)
{
    return rows == 1 ? t->of_one : t->vectors;
}

typedef struct NarrowKind {
    const char *name; // of its functions: cameo_narrow_4 ...
    int bits;
    const char *at; // the body of cameo_narrow_.._at; NULL: codes with scales
} NarrowKind;

// float16 without its sign, as a float32, has an exponent that is 112 too small: as many powers of
// two bring numbers that are not normal right too.
static const NarrowKind kinds[] = {
    {"2", 2, NULL},
    {"4", 4, NULL},
    {"8", 8, NULL},
    {"bf16", 16,
     "    const cameo_code_words w = (cameo_code_words)x;\n"
     "    return (cameo_vec)(j ? w & 0xffff0000u : w << 16);\n"},
    {"f16", 16,
     "    const cameo_codes w = (cameo_codes)((cameo_code_words)x << (16 - 16 * j)) >> 3;\n"
     "    return (cameo_vec)((cameo_code_words)w & 0x8fffe000u) * 0x1p112f;\n"},
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

// cameo_narrow_4_at(x, j): place j of the words x as floats.
static void print_at(Buf *out, const NarrowTarget *t, const NarrowKind *kind)
{
    const int bits = kind->bits;
    buf_printf(out,
               "static inline __attribute__((always_inline, unused)) cameo_vec cameo_narrow_%s_at("
               "\n    cameo_codes x, int j)\n{\n",
               kind->name);
    if (kind->at) {
        buf_printf(out, "%s}\n\n", kind->at);
        return;
    }
    if (t->looks_up && bits <= 4) {
        buf_printf(out, "    const __m512 table = _mm512_setr_ps(");
        for (int i = 0; i < 16; i++) {
            const int code = i % (1 << bits), half = 1 << (bits - 1);
            buf_printf(out, "%s%d", i ? ", " : "", code < half ? code : code - 2 * half);
        }
        buf_printf(out,
                   ");\n    return (cameo_vec)_mm512_permutexvar_ps("
                   "_mm512_srli_epi32((__m512i)x, (unsigned)(%d * j)), table);\n}\n\n",
                   bits);
        return;
    }
    buf_printf(out,
               "    const cameo_codes w = (cameo_codes)((cameo_code_words)x << (%d - %d * j)) >> "
               "%d;\n    return (cameo_vec)__builtin_convertvector(w, cameo_numbers);\n}\n\n",
               32 - bits, bits, 32 - bits);
}

// Numbers of 16 bits have sums of even and of odd k apart where rows are too few to hide latency.
static int chains_of(const NarrowKind *kind, int rows)
{
    return kind->at && rows == 1 ? 2 : 1;
}

static void print_turn(Buf *out, const NarrowKind *kind, int rows, int vectors, int lanes)
{
    buf_printf(out, "            const cameo_codes ");
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%sx%d = ((const cameo_codes *)b)[%d]", v ? ", " : "", v, v);
    buf_printf(out, ";\n");
    for (int i = 0; i * LINE < vectors * lanes * 4; i++)
        buf_printf(out, "            cameo_once_ask((const char *)b + ahead + %d, past);\n",
                   i * LINE);
    for (int j = 0; j < 32 / kind->bits; j++)
        for (int v = 0; v < vectors; v++) {
            const char sum = kind->at && !(j && chains_of(kind, rows) == 2) ? 'c' : 'd';
            buf_printf(out, "            { const cameo_vec w = cameo_narrow_%s_at(x%d, %d);",
                       kind->name, v, j);
            for (int r = 0; r < rows; r++)
                buf_printf(out, " %c%d%d += a[%d] * w;", sum, r, v, j * rows + r);
            buf_printf(out, " }\n");
        }
}

static void print_sums(Buf *out, char name, int rows, int vectors, const char *indent)
{
    buf_printf(out, "%scameo_vec ", indent);
    for (int i = 0; i < rows * vectors; i++)
        buf_printf(out, "%s%c%d%d = zero", i ? ", " : "", name, i / vectors, i % vectors);
    buf_printf(out, ";\n");
}

// What a block adds: its sums times the scale, less the zero point times the sum over a.
static void print_end_of_block(Buf *out, int rows, int vectors)
{
    buf_printf(out, "        const cameo_vec *s = (const cameo_vec *)b, *z = (const cameo_vec *)(b "
                    "+ row);\n        if (zeros) {\n");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "            d%d%d -= sums[%d] * z[%d];\n", r, v, r, v);
    buf_printf(out, "            b += row;\n        }\n");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "        c%d%d += d%d%d * s[%d];\n", r, v, r, v, v);
    buf_printf(out, "        b += row;\n        sums += %d;\n", rows);
}

// The sums to c, or where the columns are not whole vectors by way of `edge`.
static void print_end(Buf *out, int rows, int vectors, int lanes)
{
    buf_printf(out, "    if (width == %d) {\n", vectors * lanes);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "        ((cameo_vec *)(c + %d * ldc))[%d] += c%d%d;\n", r, v, r, v);
    buf_printf(out, "        return;\n    }\n    float edge[%d];\n", rows * vectors * lanes);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "    ((cameo_vec *)edge)[%d] = c%d%d;\n", r * vectors + v, r, v);
    buf_printf(out, "    cameo_tile_edge(%d, width, edge, %d, c, ldc, 1, NULL);\n}\n\n", rows,
               vectors * lanes);
}

static void print_head(Buf *out, const NarrowKind *kind, const char *as, int rows, int vectors)
{
    buf_printf(
        out,
        "static %s__attribute__((%s, unused)) void cameo_narrow_%s%s_%d_%d(\n"
        "    int64_t blocks, int64_t turns, const float *restrict a,\n"
        "    const float *restrict sums, const int32_t *restrict b, int64_t row, int zeros,\n"
        "    float *restrict c, int64_t ldc, int64_t width",
        *as ? "inline " : "", *as ? "always_inline" : "noinline", kind->name, as, rows, vectors);
}

// One row reads what is lost to the caches before it is read again; more rows do so in turns.
static void print_tile_as(Buf *out, const NarrowTarget *t, const NarrowKind *kind, int rows,
                          int vectors)
{
    const bool two = chains_of(kind, rows) == 2;
    print_head(out, kind, "_as", rows, vectors);
    buf_printf(out,
               ", const int past)\n{\n    const cameo_vec zero = {0};\n"
               "    const int64_t ahead = CAMEO_CPU_STREAM + (past ? CAMEO_CPU_STREAM / 2 : 0);\n");
    print_sums(out, 'c', rows, vectors, "    ");
    if (two)
        print_sums(out, 'd', rows, vectors, "    ");
    if (kind->at)
        buf_printf(out, "    (void)sums, (void)zeros;\n"
                        "    for (turns *= blocks, blocks = 1; blocks > 0; blocks--) {\n");
    else
        buf_printf(out, "    for (; blocks > 0; blocks--) {\n");
    if (!kind->at)
        print_sums(out, 'd', rows, vectors, "        ");
    buf_printf(out, "        for (int64_t t = 0; t < turns; t++, b += row, a += %d) {\n",
               32 / kind->bits * rows);
    print_turn(out, kind, rows, vectors, t->lanes);
    buf_printf(out, "        }\n");
    if (!kind->at)
        print_end_of_block(out, rows, vectors);
    buf_printf(out, "    }\n");
    for (int i = 0; two && i < rows * vectors; i++)
        buf_printf(out, "    c%d%d += d%d%d;\n", i / vectors, i % vectors, i / vectors,
                   i % vectors);
    print_end(out, rows, vectors, t->lanes);
}

static void print_tile(Buf *out, const NarrowTarget *t, const NarrowKind *kind, int rows,
                       int vectors)
{
    static const char values[] = "(blocks, turns, a, sums, b, row, zeros, c, ldc, width, ";
    print_tile_as(out, t, kind, rows, vectors);
    print_head(out, kind, "", rows, vectors);
    buf_printf(out, ")\n{\n");
    if (rows == 1)
        buf_printf(out,
                   "    if (cameo_once_past()) {\n        cameo_narrow_%s_as_%d_%d%s1);\n"
                   "        return;\n    }\n",
                   kind->name, rows, vectors, values);
    buf_printf(out, "    cameo_narrow_%s_as_%d_%d%s0);\n}\n\n", kind->name, rows, vectors, values);
}

// Values of k from .. from + depth of a panel as rows of floats.
static void print_unpack(Buf *out, const NarrowKind *kind)
{
    const int each = 32 / kind->bits;
    buf_printf(out,
               "static __attribute__((noinline, unused)) void cameo_narrow_%s_unpack(\n"
               "    int64_t from, int64_t depth, int64_t turns, const int32_t *restrict panel,\n"
               "    int64_t row, int zeros, float *restrict to)\n{\n"
               "    const int64_t words = turns%s;\n"
               "    for (int64_t t = from / %d; t * %d < from + depth; t++, to += %d * row) {\n"
               "        const int32_t *block = panel + t / turns * words * row;\n"
               "        const int32_t *x = block + t %% turns * row;\n",
               kind->name, kind->at ? "" : " + 1 + zeros", each, each, each - 1);
    if (!kind->at)
        buf_printf(out, "        const int32_t *s = block + turns * row;\n"
                        "        const cameo_vec none = {0};\n");
    buf_printf(out, "        for (int64_t v = 0; v < row; v += CAMEO_LANES, to += CAMEO_LANES) {\n"
                    "            const cameo_codes q = *(const cameo_codes *)(x + v);\n");
    if (!kind->at)
        buf_printf(out,
                   "            const cameo_vec scale = *(const cameo_vec *)(s + v);\n"
                   "            const cameo_vec z = zeros ? *(const cameo_vec *)(s + row + v) : "
                   "none;\n");
    for (int j = 0; j < each; j++)
        buf_printf(out,
                   "            *(cameo_vec *)(to + %d * row) = %scameo_narrow_%s_at(q, %d)%s;\n",
                   j, kind->at ? "" : "(", kind->name, j, kind->at ? "" : " - z) * scale");
    buf_printf(out, "        }\n    }\n    (void)zeros;\n}\n\n");
}

static void print_kind(Buf *out, const NarrowTarget *t, const NarrowKind *kind)
{
    print_at(out, t, kind);
    for (int r = 0; r < NROWS; r++)
        for (int v = 1; v <= most_vectors(t, tile_rows[r]); v++)
            print_tile(out, t, kind, tile_rows[r], v);
    print_unpack(out, kind);
    buf_printf(out,
               "static __attribute__((unused)) const cameo_narrow cameo_narrow_%s = {\n"
               "    %d, %d, cameo_narrow_%s_unpack, {\n",
               kind->name, kind->bits, !kind->at, kind->name);
    for (int r = 0; r < NROWS; r++) {
        buf_printf(out, "        {");
        for (int v = 1; v <= most_vectors(t, tile_rows[r]); v++)
            buf_printf(out, "%scameo_narrow_%s_%d_%d", v > 1 ? ", " : "", kind->name, tile_rows[r],
                       v);
        buf_printf(out, "},\n");
    }
    buf_printf(out, "    },\n};\n\n");
}

static void print_test(Buf *out, const NarrowTarget *t)
{
    buf_printf(out, "#%sif %s\n", t == targets ? "" : "el", t->test);
}

static void print_vectors(Buf *out, const NarrowTarget *t)
{
    const int bytes = 4 * t->lanes;
    print_test(out, t);
    if (t->looks_up)
        buf_printf(out, "#include <immintrin.h>\n");
    buf_printf(out,
               "enum { CAMEO_NARROW_VECTORS = %d }; /* of one row */\n"
               "typedef int32_t cameo_codes __attribute__((vector_size(%d), aligned(4), "
               "may_alias));\n"
               "typedef uint32_t cameo_code_words __attribute__((vector_size(%d)));\n"
               "typedef float cameo_numbers __attribute__((vector_size(%d)));\n",
               t->of_one, bytes, bytes, bytes);
}

// Once in a unit, whichever kinds the texts joined in it need.
static void print_kinds(Buf *out, uint32_t which)
{
    for (int i = 0; i < NKINDS; i++) {
        if (!(which & 1u << i))
            continue;
        buf_printf(out, "#ifndef CAMEO_NARROW_%s_TILES\n#define CAMEO_NARROW_%s_TILES\n",
                   kinds[i].name, kinds[i].name);
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            print_test(out, &targets[t]);
            print_kind(out, &targets[t], &kinds[i]);
        }
        buf_printf(out, "#endif\n#endif\n\n");
    }
}

void narrow_tiles_print(Buf *out, uint32_t which)
{
    buf_printf(
        out,
        "/* Tiles of products with factors of few bits: c[rows][width] += over blocks of k\n"
        " * (the sum of a * q - sums * zero point) * scale. a: for each k the numbers of all "
        "rows;\n"
        " * sums: over a, for each block those of all rows; b: words of a panel, `row` of them "
        "for\n"
        " * each of `turns`, then scales, then zero points if there are any. */\n"
        "#ifndef CAMEO_NARROW_TILES_H\n#define CAMEO_NARROW_TILES_H\n"
        "#include <stddef.h>\n");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        print_vectors(out, &targets[i]);
    buf_printf(
        out,
        "#endif\n\n"
        "typedef void cameo_narrow_tile(int64_t blocks, int64_t turns, const float *a,\n"
        "    const float *sums, const int32_t *b, int64_t row, int zeros, float *c, int64_t ldc,\n"
        "    int64_t width);\n"
        "typedef struct cameo_narrow {\n"
        "    int32_t bits, scales; /* scales: behind the words of each block */\n"
        "    void (*unpack)(int64_t from, int64_t depth, int64_t turns, const int32_t *panel,\n"
        "                   int64_t row, int zeros, float *to);\n"
        "    cameo_narrow_tile *tiles[%d][CAMEO_NARROW_VECTORS]; /* of 1, 2 and 4 rows */\n"
        "} cameo_narrow;\n#endif\n\n",
        NROWS);
    print_kinds(out, which);
    narrow_bytes_print(out, which);
}
