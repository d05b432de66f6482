// The microkernel of matrix registers. There are eight, each of 16 rows of 64 bytes: six are sums
// (two rows of tiles by three columns of them, which a panel's 48 columns are), one holds a tile of
// the first factor and one of the second. Tiles are walked to and fro, so that of two products that
// follow one another one operand stays where it is: seven loads for six products, each half as long
// as a product from the first cache.

#include "codegen/cpu/amx.h"

enum { ROWS = 2, COLUMNS = 3, FIRST = 6, SECOND = 7 }; // tiles of sums; registers of the factors

typedef struct AmxRow {
    const char *name, *instruction;
} AmxRow;

static const AmxRow kinds[AMX_KINDS] = {
    [AMX_BF16] = {"bf16", "tdpbf16ps"},
    [AMX_U8S8] = {"u8s8", "tdpbusd"},
    [AMX_S8U8] = {"s8u8", "tdpbsud"},
    [AMX_S8S8] = {"s8s8", "tdpbssd"},
};

// The products of one step of k, by columns of tiles, the rows of each in turn and then backwards.
static void print_products(Buf *out, const AmxRow *kind, int rows, int columns)
{
    int loaded = -1;
    for (int v = 0; v < columns; v++) {
        buf_printf(out, "        CAMEO_AMX_LOAD(%d, b + %d, ldb);\n", SECOND, 64 * v);
        for (int i = 0; i < rows; i++) {
            const int r = v % 2 ? rows - 1 - i : i;
            if (r != loaded)
                buf_printf(out, "        CAMEO_AMX_LOAD(%d, x%s, a->row);\n", FIRST,
                           r ? " + a->tile" : "");
            loaded = r;
            buf_printf(out, "        CAMEO_AMX_PRODUCT(\"%s\", %d, %d, %d);\n", kind->instruction,
                       r * COLUMNS + v, FIRST, SECOND);
        }
    }
}

static void print_sums(Buf *out, const char *what, int rows, int columns, const char *indent)
{
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < columns; v++)
            buf_printf(out, "%s%s(%d, c + %d * ldc + %d, ldc);\n", indent, what, r * COLUMNS + v,
                       16 * r, 64 * v);
}

static void print_tile(Buf *out, const AmxRow *kind, bool placed, int rows, int columns)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) void cameo_amx_%s%s_%d_%d(\n"
               "    int64_t steps, const cameo_amx_rows *a, const char *b, int64_t ldb,\n"
               "    int64_t ahead, int64_t lines, char *c, int64_t ldc, int more)\n{\n"
               "    const char *x = a->at;\n    if (more) {\n",
               kind->name, placed ? "_placed" : "", rows, columns);
    print_sums(out, "CAMEO_AMX_LOAD", rows, columns, "        ");
    buf_printf(out, "    } else {\n");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < columns; v++)
            buf_printf(out, "        CAMEO_AMX_ZERO(%d);\n", r * COLUMNS + v);
    buf_printf(out,
               "    }\n    for (%s; steps > 0; steps--, %s, b += 16 * ldb) {\n%s"
               "        for (int64_t i = 0; i < lines; i++)\n"
               "            __builtin_prefetch(b + ahead + 64 * i, 0, 2);\n",
               placed ? "const int64_t *at = a->places" : "", placed ? "at++" : "x += a->step",
               placed ? "        x = a->at + *at;\n" : "");
    print_products(out, kind, rows, columns);
    buf_printf(out, "    }\n");
    print_sums(out, "CAMEO_AMX_STORE", rows, columns, "    ");
    buf_printf(out, "}\n\n");
}

static void print_kind(Buf *out, const AmxRow *kind, bool placed)
{
    const char *name = kind->name, *how = placed ? "_placed" : "";
    buf_printf(out, "#ifndef CAMEO_AMX_%s%s\n#define CAMEO_AMX_%s%s\n", name, how, name, how);
    for (int r = 1; r <= ROWS; r++)
        for (int v = 1; v <= COLUMNS; v++)
            print_tile(out, kind, placed, r, v);
    buf_printf(out,
               "static __attribute__((unused)) cameo_amx_tile *const cameo_amx_%s%s[%d][%d] = {\n",
               name, how, ROWS, COLUMNS);
    for (int r = 1; r <= ROWS; r++) {
        buf_printf(out, "    {");
        for (int v = 1; v <= COLUMNS; v++)
            buf_printf(out, "%scameo_amx_%s%s_%d_%d", v > 1 ? ", " : "", name, how, r, v);
        buf_printf(out, "},\n");
    }
    buf_printf(out, "};\n#endif\n");
}

void amx_tiles_print(Buf *out, uint32_t which, uint32_t placed)
{
    buf_printf(
        out,
        "/* Tiles of products in matrix registers: c[16 rows][16 columns] = (or += where more) "
        "the\n"
        " * sum over steps of a times 16 rows of words at b, ldb bytes apart. lines: how many "
        "lines\n"
        " * behind b + ahead are asked for with each step. Strides are in bytes. */\n"
        "#ifndef CAMEO_AMX_TILES_H\n#define CAMEO_AMX_TILES_H\n"
        "#include <stdint.h>\n"
        "/* Rows of the first factor in tiles of 16: bytes from a row to the next one in its "
        "tile,\n"
        " * from a tile to the one of the next values of k, to the one of the next rows. places: "
        "of\n"
        " * functions called placed, where the tile of each step of k begins, instead of step. */\n"
        "typedef struct cameo_amx_rows {\n"
        "    const char *at;\n    int64_t row, step, tile;\n    const int64_t *places;\n"
        "} cameo_amx_rows;\n"
        "typedef void cameo_amx_tile(int64_t steps, const cameo_amx_rows *a, const char *b,\n"
        "    int64_t ldb, int64_t ahead, int64_t lines, char *c, int64_t ldc, int more);\n"
        "enum { CAMEO_AMX_TILES = %d, CAMEO_AMX_COLUMNS = %d }; /* rows, columns of tiles */\n"
        "#endif\n#ifdef CAMEO_AMX\n",
        ROWS, COLUMNS);
    for (int i = 0; i < AMX_KINDS; i++) {
        if (which & 1u << i)
            print_kind(out, &kinds[i], false);
        if (placed & 1u << i)
            print_kind(out, &kinds[i], true);
    }
    buf_printf(out, "#endif\n\n");
}
