// Strips: several of the largest tiles of float32 one after the other, for sums of few values of k.

#include "codegen/cpu/tile_strips.h"

enum { LINE = 64 }; // bytes that come from memory together

// A row of a strip's sums as it is stored. It is kept where it stands: compilers would rather begin
// with what all rows have in common, and no register is free for the next tile until they are done.
static void print_row(Buf *out, const TileTarget *t, int i, bool added, bool clips)
{
    for (int v = 0; v < t->vectors && t->lanes > 8; v++)
        buf_printf(out, "%s\"+v\"(c%d%d)%s", v ? ", " : "            __asm__ volatile(\"\" : ", i,
                   v, v + 1 < t->vectors ? "" : " : : \"memory\");\n");
    for (int v = 0; v < t->vectors; v++) {
        buf_printf(out, "            ((cameo_vec *)(c + %d * ldc))[%d] = %s(c%d%d + bias[%d])", i,
                   v, clips ? "cameo_clip(" : "", i, v, i);
        if (added)
            buf_printf(out, " + ((cameo_vec *)(added + %d * ldc))[%d]", i, v);
        buf_printf(out, clips ? ", low, high);\n" : ";\n");
    }
}

// The sums of one more column as they are stored, a row after the other.
static void print_column_end(Buf *out, const TileTarget *t)
{
    buf_printf(out,
               "        float last[%d];\n        *(cameo_strip_rows *)last = column;\n"
               "        float *to = c + beyond;\n"
               "        for (int i = 0; i < %d; i++) {\n"
               "            float v = (more ? to[i * ldc] + last[i] : last[i]) + bias[i];\n"
               "            v = added ? v + added[i * ldc + beyond] : v;\n"
               "            v = of[0][0] > v ? of[0][0] : v;\n"
               "            to[i * ldc] = of[1][0] < v ? of[1][0] : v;\n        }\n",
               t->rows, t->rows);
}

// A strip's sums as they are stored: one after the other, so that the next tile's registers are
// free early. Bounds are read anew: they would take registers of the sums.
static void print_end(Buf *out, const TileTarget *t, bool column)
{
    static const char *const when[] = {"if (added && clips) {\n", "} else if (added) {\n",
                                       "} else if (clips) {\n", "} else {\n"};
    buf_printf(out, "        if (more) {\n");
    tile_print_moves(out, &tile_floats, "c", "ldc", t->rows, t->vectors, false);
    buf_printf(out, "        }\n        const cameo_vec *of = bounds;\n"
                    "        __asm__(\"\" : \"+r\"(of));\n"
                    "        const cameo_vec low = of[0], high = of[1];\n");
    for (int w = 0; w < 4; w++) {
        buf_printf(out, "        %s", when[w]);
        for (int i = 0; i < t->rows; i++)
            print_row(out, t, i, w < 2, w % 2 == 0);
    }
    buf_printf(out, "        }\n");
    if (column)
        print_column_end(out, t);
    buf_printf(out, "        added = added ? added + beside : NULL;\n");
}

// The sums of a strip's tile; ask: what is done beside each value of k. Vectors of b are held: with
// as many sums as registers gcc would read each again for each row.
void tile_strip_print_sums(Buf *out, const TileTarget *t, const char *ask)
{
    const int rows = t->rows, vectors = t->vectors;
    buf_printf(out, "        const float *x = rows, *y = b;\n        cameo_vec ");
    for (int i = 0; i < rows * vectors; i++)
        buf_printf(out, "%sc%d%d = zero", i ? ", " : "", i / vectors, i % vectors);
    buf_printf(out, ";\n        for (int64_t k = depth; k > 0; k--) {\n%s            cameo_vec ",
               ask);
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%sb%d = ((const cameo_vec *)y)[%d]", v ? ", " : "", v, v);
    buf_printf(out, ";\n            __asm__(\"\" : ");
    for (int v = 0; v < vectors; v++)
        buf_printf(out, "%s\"+%c\"(b%d)", v ? ", " : "", t->lanes > 8 ? 'v' : 'x', v);
    buf_printf(out, ");\n");
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "           ");
        for (int v = 0; v < vectors; v++)
            tile_print_sum(out, &tile_floats, 'c', i, v);
        buf_printf(out, "\n");
    }
    buf_printf(out, "            x += CAMEO_TILE_ROWS;\n            y += step;\n        }\n");
}

// The rows that follow `row` of a panel of rows.
static void print_next_rows(Buf *out, const TileTarget *t, const char *indent)
{
    buf_printf(out,
               "%srow += %d;\n"
               "%srows += row %% CAMEO_TILE_ROWS ? %d : CAMEO_TILE_ROWS * (depth - 1) + %d;\n",
               indent, t->rows, indent, t->rows, t->rows);
}

static void print_parameters(Buf *out, const TileTarget *t, bool column)
{
    buf_printf(
        out,
        "static __attribute__((noinline, unused)) void cameo_strip%s_%d_%d(\n"
        "    int64_t depth, const float *restrict rows, const float *restrict b, int64_t step,\n"
        "    int64_t next, int64_t tiles, int64_t down, const float *ask, int64_t along,\n",
        column ? "_column" : "", t->rows, t->vectors);
    if (column)
        buf_printf(out, "    const float *few, const int64_t *at, int64_t beyond,\n");
    buf_printf(out,
               "    float *restrict c, int64_t ldc, int more, const cameo_finish *finish)\n{\n"
               "    static const float none[%d] = {",
               t->rows);
    for (int i = 0; i < t->rows; i++)
        buf_printf(out, "%s-0.0f", i ? ", " : "");
    buf_printf(out,
               "};\n    const cameo_vec zero = {0};\n"
               "    const float infinity = __builtin_inff();\n"
               "    const float *bias = finish ? finish->bias : none;\n"
               "    const float *added = finish ? finish->added : NULL;\n"
               "    const cameo_vec bounds[2] = {zero + (finish ? finish->low : -infinity),\n"
               "                                 zero + (finish ? finish->high : infinity)};\n"
               "    const int clips = bounds[0][0] > -infinity || bounds[1][0] < infinity;\n"
               "    const int64_t beside = down ? %d * ldc : %d;\n",
               t->rows, t->vectors * t->lanes);
}

// Several of the largest tiles, one after the other, all of them whole, whose vectors are the same
// distance from one value of k to the next: panels beside one another for the same rows, or, down,
// the next rows for the same panel. So a tile's products begin while the one before it is still
// stored, which where values of k are few takes as long as a third of its products. column: each
// panel has one more column besides, the first one's `beyond` numbers behind its own, of which
// value k of the other factor is few[at[k]]; a panel's rows are a vector that its sums take.
static void print_strip(Buf *out, const TileTarget *t, bool column)
{
    static const char ask[] =
        "            __builtin_prefetch(ask, 0, 2);\n            ask += along;\n";
    static const char both[] =
        "            __builtin_prefetch(ask, 0, 2);\n            ask += along;\n"
        "            column += few[*place++] * *(const cameo_strip_rows *)x;\n";
    print_parameters(out, t, column);
    buf_printf(out, "    for (int64_t row = down - 1; tiles > 0; tiles--) {\n");
    if (column)
        buf_printf(out, "        const int64_t *place = at;\n"
                        "        cameo_strip_rows column = {0};\n");
    tile_strip_print_sums(out, t, column ? both : ask);
    buf_printf(out, "        along = 0;\n");
    print_end(out, t, column);
    buf_printf(out,
               "        c += beside;\n"
               "        if (down) {\n            bias += finish ? %d : 0;\n",
               t->rows);
    print_next_rows(out, t, "            ");
    buf_printf(out, "        } else {\n            b += next;\n%s        }\n    }\n}\n\n",
               column ? "            few++;\n            beyond += 1 - beside;\n" : "");
}

void tile_strip_print(Buf *out, const TileTarget *t, bool columns)
{
    print_strip(out, t, false);
    buf_printf(out, "#define CAMEO_STRIP cameo_strip_%d_%d\n", t->rows, t->vectors);
    if (!columns || t->rows != TILE_ROWS || t->lanes < 16)
        return;
    buf_printf(out, "typedef float cameo_strip_rows\n"
                    "    __attribute__((vector_size(4 * CAMEO_TILE_ROWS), aligned(4), "
                    "may_alias));\n");
    print_strip(out, t, true);
    buf_printf(out, "#define CAMEO_STRIP_COLUMN cameo_strip_column_%d_%d\n", t->rows, t->vectors);
}

// The same down the rows of a product, whose sums are added to what is there, or stand for it.
void tile_strip_print_down(Buf *out, const TileTarget *t)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) void cameo_sums_%d_%d(\n"
               "    int64_t depth, const float *restrict rows, const float *restrict b, int64_t "
               "step,\n"
               "    const float *next, int64_t lines, int64_t tiles, float *restrict c, int64_t "
               "ldc, int more)\n{\n"
               "    const cameo_vec zero = {0};\n"
               "    for (int64_t row = 0; tiles > 0; tiles--) {\n"
               "        for (int64_t line = 0; line < lines; line++, next += %d)\n"
               "            __builtin_prefetch(next, 0, 2);\n",
               t->rows, t->vectors, LINE / 4);
    tile_strip_print_sums(out, t, "");
    for (int added = 1; added >= 0; added--) {
        buf_printf(out, added ? "        if (more) {\n" : "        } else {\n");
        for (int i = 0; i < t->rows; i++) {
            buf_printf(out, "           ");
            for (int v = 0; v < t->vectors; v++)
                buf_printf(out, " ((cameo_vec *)(c + %d * ldc))[%d] %s c%d%d;", i, v,
                           added ? "+=" : "=", i, v);
            buf_printf(out, "\n");
        }
    }
    buf_printf(out, "        }\n");
    buf_printf(out, "        c += %d * ldc;\n", t->rows);
    print_next_rows(out, t, "        ");
    buf_printf(out, "    }\n}\n\n#define CAMEO_SUMS cameo_sums_%d_%d\n", t->rows, t->vectors);
}
