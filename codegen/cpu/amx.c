// The microkernel of matrix registers. There are eight, each of 16 rows of 64 bytes: six are sums
// (two rows of tiles by three columns of them, which a panel's 48 columns are), one holds a tile of
// the first factor and one of the second. Tiles are walked to and fro, so that of two products that
// follow one another one operand stays where it is: seven loads for six products, each half as long
// as a product from the first cache.

#include "codegen/cpu/amx.h"

enum { ROWS = 2, FIRST = 6, SECOND = 7 }; // rows of tiles of sums; last registers of the factors

// How the second factor lies, and the first. Where it is packed a panel of two columns of tiles to
// each step, four registers hold a step's factors, each loaded once.
typedef struct AmxForm {
    const char *name;
    bool placed;   // the first factor's tiles lie at places of their own
    int columns;   // of tiles of sums
    int column;    // bytes from one to the next
    int registers; // of each factor
} AmxForm;

static const AmxForm lying = {"", false, 3, 64, 1}, placed = {"_placed", true, 2, 1024, 2};

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
static void print_products(Buf *out, const AmxRow *kind, const AmxForm *f, int rows, int columns)
{
    int held[ROWS + 1] = {-1, -1, -1};
    for (int v = 0; v < columns; v++) {
        const int second = SECOND - (f->registers - 1) + v % f->registers;
        buf_printf(out, "        CAMEO_AMX_LOAD(%d, b + %d, ldb);\n", second, f->column * v);
        for (int i = 0; i < rows; i++) {
            const int r = v % 2 ? rows - 1 - i : i, slot = r % f->registers;
            const int first = FIRST - 2 * (f->registers - 1) + slot;
            if (held[slot] != r)
                buf_printf(out, "        CAMEO_AMX_LOAD(%d, x%s, a->row);\n", first,
                           r ? " + a->tile" : "");
            held[slot] = r;
            buf_printf(out, "        CAMEO_AMX_PRODUCT(\"%s\", %d, %d, %d);\n", kind->instruction,
                       r * f->columns + v, first, second);
        }
    }
}

static void print_sums(Buf *out, const char *what, const AmxForm *f, int rows, int columns,
                       const char *indent)
{
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < columns; v++)
            buf_printf(out, "%s%s(%d, c + %d * ldc + %d, ldc);\n", indent, what, r * f->columns + v,
                       16 * r, 64 * v);
}

static void print_tile(Buf *out, const AmxRow *kind, const AmxForm *f, int rows, int columns)
{
    buf_printf(
        out,
        "static __attribute__((noinline, unused)) void cameo_amx_%s%s_%d_%d(\n"
        "    int64_t steps, const cameo_amx_rows *a, const char *b, int64_t ldb,\n"
        "    const cameo_amx_soon *soon, char *c, int64_t ldc, int more)\n{\n"
        "    const char *x = a->at, *next = soon->at;\n"
        "    _Alignas(64) char awake[1024];\n"
        "    const int64_t streams = soon->streams, each = soon->each, apart = soon->apart;\n"
        "    if (%s) {\n",
        kind->name, f->name, rows, columns, f->placed ? "!more" : "more");
    if (!f->placed) {
        print_sums(out, "CAMEO_AMX_LOAD", f, rows, columns, "        ");
        buf_printf(out, "    } else {\n");
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < columns; v++)
            buf_printf(out, "        CAMEO_AMX_ZERO(%d);\n", r * f->columns + v);
    buf_printf(
        out,
        "    }\n    for (%s; steps > 0; steps--, %s, b += %d * ldb) {\n%s"
        "        for (int64_t i = 0; i < streams; i++)\n"
        "            for (int64_t j = 0; j < each; j++)\n"
        "                __builtin_prefetch(next + i * apart + 64 * j, 0, 2);\n"
        "        next += 64 * each;\n"
        "        if (steps %% 8 == 4 && steps < 24)\n            CAMEO_AMX_AWAKE(%d, awake);\n",
        f->placed ? "const int64_t *at = a->places" : "", f->placed ? "at++" : "x += a->step",
        f->placed ? 16 * f->columns : 16, f->placed ? "        x = a->at + *at;\n" : "", SECOND);
    print_products(out, kind, f, rows, columns);
    buf_printf(out, "    }\n%s", f->placed ? "    if (c) {\n" : "");
    print_sums(out, "CAMEO_AMX_STORE", f, rows, columns, f->placed ? "        " : "    ");
    buf_printf(out, "%s}\n\n", f->placed ? "    }\n" : "");
}

// A table's row: the functions cameo_WHAT_... of so many rows, by columns.
static void print_row(Buf *out, const char *what, const char *name, const AmxForm *f, int rows)
{
    buf_printf(out, "    {");
    for (int v = 1; v <= f->columns; v++)
        buf_printf(out, "%scameo_%s_%s%s_%d_%d", v > 1 ? ", " : "", what, name, f->name, rows, v);
    buf_printf(out, "},\n");
}

static void print_kind(Buf *out, const AmxRow *kind, const AmxForm *f)
{
    const char *name = kind->name, *how = f->name;
    buf_printf(out, "#ifndef CAMEO_AMX_%s%s\n#define CAMEO_AMX_%s%s\n", name, how, name, how);
    for (int r = 1; r <= ROWS; r++)
        for (int v = 1; v <= f->columns; v++)
            print_tile(out, kind, f, r, v);
    buf_printf(out,
               "static __attribute__((unused)) cameo_amx_tile *const cameo_amx_%s%s[%d][%d] = {\n",
               name, how, ROWS, f->columns);
    for (int r = 1; r <= ROWS; r++)
        print_row(out, "amx", name, f, r);
    buf_printf(out, "};\n#endif\n");
}

void amx_tiles_print(Buf *out, uint32_t which, uint32_t at_places)
{
    buf_printf(
        out,
        "/* Tiles of products in matrix registers: c[16 rows][16 columns] = (or += where more) "
        "the\n"
        " * sum over steps of a times 16 rows of words at b, ldb bytes apart. Strides are in "
        "bytes. */\n"
        "#ifndef CAMEO_AMX_TILES_H\n#define CAMEO_AMX_TILES_H\n"
        "#include <stdint.h>\n"
        "/* Rows of the first factor in tiles of 16: bytes from a row to the next one in its "
        "tile,\n"
        " * from a tile to the one of the next values of k, to the one of the next rows. places: "
        "of\n"
        " * functions called placed, where the tile of each step of k begins, instead of step; "
        "their\n"
        " * b is packed, two tiles of 1024 bytes for each step, and their sums stay in registers "
        "from\n * call to call: more goes on with them, and c NULL does not store them. */\n"
        "typedef struct cameo_amx_rows {\n"
        "    const char *at;\n    int64_t row, step, tile;\n    const int64_t *places;\n"
        "} cameo_amx_rows;\n"
        "/* What is asked for meanwhile, for it is read soon: with each step `each` lines of each "
        "of\n"
        " * so many streams, whose first lines are `apart` bytes apart. */\n"
        "typedef struct cameo_amx_soon {\n"
        "    const char *at;\n    int64_t streams, each, apart;\n"
        "} cameo_amx_soon;\n"
        "typedef void cameo_amx_tile(int64_t steps, const cameo_amx_rows *a, const char *b,\n"
        "    int64_t ldb, const cameo_amx_soon *soon, char *c, int64_t ldc, int more);\n"
        "enum { CAMEO_AMX_TILES = %d, CAMEO_AMX_COLUMNS = %d }; /* rows, columns of tiles */\n"
        "#endif\n#ifdef CAMEO_AMX\n",
        ROWS, lying.columns);
    for (int i = 0; i < AMX_KINDS; i++) {
        if (which & 1u << i)
            print_kind(out, &kinds[i], &lying);
        if (at_places & 1u << i)
            print_kind(out, &kinds[i], &placed);
    }
    buf_printf(out, "#endif\n\n");
}

// ---- the same by vectors

// The instruction of s8u8 has its unsigned factor first.
static const char *const word_kinds[AMX_KINDS] = {
    [AMX_BF16] = "BF16", [AMX_U8S8] = "U8S8", [AMX_S8S8] = "S8S8"};

// Functions of 4, 6 and 8 rows by as many vectors as a panel has.
static void print_words(Buf *out, AmxKind kind, const AmxForm *f)
{
    const char *name = kinds[kind].name, *how = f->name;
    buf_printf(out, "#ifndef CAMEO_WORDS_%s%s\n#define CAMEO_WORDS_%s%s\n", name, how, name, how);
    for (int rows = 4; rows <= 8; rows += 2)
        for (int v = 1; v <= f->columns; v++)
            buf_printf(out,
                       "static __attribute__((noinline, unused)) void cameo_words_%s%s_%d_%d(\n"
                       "    const cameo_words_steps *steps, const char *const *rows,\n"
                       "    const cameo_words_panel *b, char *c, int64_t ldc,\n"
                       "    const cameo_words_vector *less)\n{\n"
                       "    cameo_words_of(CAMEO_WORDS_%s, %d, %d, %d, steps, rows, b, c, ldc, "
                       "less);\n}\n\n",
                       name, how, rows, v, word_kinds[kind], f->placed, rows, v);
    buf_printf(out, "static __attribute__((unused)) cameo_words_table cameo_words_%s%s[] = {\n",
               name, how);
    for (int rows = 4; rows <= 8; rows += 2)
        print_row(out, "words", name, f, rows);
    buf_printf(out, "};\n#endif\n");
}

void amx_words_print(Buf *out, uint32_t which, uint32_t at_places)
{
    buf_printf(out, "#ifdef CAMEO_AMX\n");
    for (int i = 0; i < AMX_KINDS; i++) {
        if (which & 1u << i && word_kinds[i])
            print_words(out, (AmxKind)i, &lying);
        if (at_places & 1u << i && word_kinds[i])
            print_words(out, (AmxKind)i, &placed);
    }
    buf_printf(out, "#endif\n\n");
}

// ---- float32 as three terms of bfloat16

// Rows and columns of tiles of sums; which term of each factor, 0 the greatest, in the order in
// which their products are summed: small ones first, of all steps, so that a sum rounds to the size
// of the result only where it takes the last.
enum { SPLIT_SUMS = 4, SPLIT_COLUMNS = 2, SPLIT_SMALL = 5, SPLIT_PRODUCTS = 6 };
static const int split_terms[SPLIT_PRODUCTS][2] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}};

// Four products follow one another before a sum is used again, as long as one takes.
static void print_split_products(Buf *out, int rows, int columns, int from, int to)
{
    int held[8]; // what registers 4 and 5, of a, and 6 and 7, of b, hold
    for (int i = 0; i < 8; i++)
        held[i] = -1;
    for (int i = from, done = 0; i < to; i++)
        for (int v = 0; v < columns; v++)
            for (int r = 0; r < rows; r++) {
                const int ta = split_terms[i][0], tb = split_terms[i][1];
                const int a = 4 + r % 2, b = 6 + (columns > 1 ? v : i % 2);
                if (held[a] != 3 * r + ta)
                    buf_printf(out, "        CAMEO_AMX_LOAD(%d, a + %d * tile + %d, line);\n", a, r,
                               1024 * ta);
                if (held[b] != 3 * v + tb)
                    buf_printf(out, "        CAMEO_AMX_LOAD(%d, b + %d * column + %d, line);\n", b,
                               v, 1024 * tb);
                held[a] = 3 * r + ta;
                held[b] = 3 * v + tb;
                buf_printf(out, "        CAMEO_AMX_PRODUCT(\"tdpbf16ps\", %d, %d, %d);\n",
                           r * columns + v, a, b);
                if (to == SPLIT_SMALL && ++done % SPLIT_SMALL == 0)
                    buf_printf(out, "        cameo_split_turn(f);\n");
            }
}

static void print_split_tile(Buf *out, int rows, int columns)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void\n"
               "cameo_split_%d_%d(int64_t steps, const char *a, int64_t tile, const char *b,\n"
               "    int64_t column, char *c, int64_t ldc, cameo_split_feed *feed)\n{\n"
               "    const int64_t line = 64;\n"
               "    const char *const end = a + steps * CAMEO_SPLIT_STEP;\n"
               "    cameo_split_feed now = *feed, *f = &now;\n    (void)tile, (void)column;\n",
               rows, columns);
    for (int i = 0; i < rows * columns; i++)
        buf_printf(out, "    CAMEO_AMX_ZERO(%d);\n", i);
    buf_printf(out, "    for (; a < end; a += CAMEO_SPLIT_STEP, b += CAMEO_SPLIT_STEP) {\n");
    print_split_products(out, rows, columns, 0, SPLIT_SMALL);
    buf_printf(out, "    }\n    *feed = now;\n    a -= steps * CAMEO_SPLIT_STEP;\n"
                    "    b -= steps * CAMEO_SPLIT_STEP;\n"
                    "    for (; a < end; a += CAMEO_SPLIT_STEP, b += CAMEO_SPLIT_STEP) {\n");
    print_split_products(out, rows, columns, SPLIT_SMALL, SPLIT_PRODUCTS);
    buf_printf(out, "    }\n");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < columns; v++)
            buf_printf(out, "    CAMEO_AMX_STORE(%d, c + %d * ldc + %d, ldc);\n", r * columns + v,
                       16 * r, 64 * v);
    buf_printf(out, "}\n\n");
}

void amx_split_print(Buf *out)
{
    buf_printf(out,
               "/* Tiles of products of float32, each factor three terms of bfloat16: a's tiles "
               "of 16 rows are\n"
               " * `tile` bytes apart, b's of 16 columns `column`, both of a step 3072. c = their "
               "sum,\n * rows ldc bytes apart. After each five products of small terms f has a "
               "turn. */\n#if defined(CAMEO_AMX) && !defined(CAMEO_SPLIT_TILES)\n"
               "#define CAMEO_SPLIT_TILES\n"
               "typedef void cameo_split_tile(int64_t steps, const char *a, int64_t tile,\n"
               "    const char *b, int64_t column, char *c, int64_t ldc,\n"
               "    cameo_split_feed *feed);\n");
    for (int v = 1; v <= SPLIT_COLUMNS; v++)
        for (int r = 1; r * v <= SPLIT_SUMS; r++)
            print_split_tile(out, r, v);
    buf_printf(out,
               "static __attribute__((unused)) cameo_split_tile *const cameo_split_tiles[%d][%d] = "
               "{\n",
               SPLIT_SUMS, SPLIT_COLUMNS);
    for (int r = 1; r <= SPLIT_SUMS; r++)
        buf_printf(out,
                   r * SPLIT_COLUMNS <= SPLIT_SUMS ? "    {cameo_split_%d_1, cameo_split_%d_2},\n"
                                                   : "    {cameo_split_%d_1, NULL},\n",
                   r, r);
    buf_printf(out, "};\n#endif\n\n");
}
