// One description of a microkernel, printed for each target and each size of tile.
//
// A tile keeps rows * vectors sums in registers. For each k it loads `vectors` neighbouring vectors
// of one factor, and multiplies them by `rows` numbers of the other:
//
//     c[i][v] += a[i] * b[v]      a += TILE_ROWS, b = start + at[k]
//
// So many sums that the latency of multiply-and-add is hidden (4 cycles, two of them each cycle:
// 8), and as many as registers hold beside the vectors and one broadcast number.

#include "codegen/cpu/strassen.h"
#include "codegen/cpu/tile_strips.h"

enum { LINE = 64 }; // bytes that come from memory together

// Where sums, vectors and the number take every register, a turn of the loop is one value of k: of
// several gcc makes numbers of the next where sums of this one are, and moves sums to memory.
static const TileTarget targets[] = {
    {"defined(__AVX512F__)", 16, 8, 3, 2, 96}, // 32 registers: 24 sums, 3 vectors, 1 number
    {"defined(__AVX__)", 8, 4, 3, 1, 32},      // 16 registers: 12 sums, 3 vectors, 1 number
    {"defined(__aarch64__)", 4, 8, 3, 2, 96},  // 32 registers
    {"1", 4, 4, 2, 4, 32},                     // 16 registers, products beside the sums
};

// The greater and the less of two vectors, the second where one is no number, as gcc has it, which
// makes several instructions of a choice by a comparison where clang makes one. By lanes; others
// have none.
typedef struct Extremes {
    int lanes;
    const char *greater, *less;
} Extremes;

static const Extremes extremes[] = {
    {16, "__builtin_ia32_maxps512_mask(a, b, b, (unsigned short)-1, 4)",
     "__builtin_ia32_minps512_mask(a, b, b, (unsigned short)-1, 4)"},
    {8, "__builtin_ia32_maxps256(a, b)", "__builtin_ia32_minps256(a, b)"},
};

const TileKind tile_floats = {TILES_OF_FLOATS, "cameo_tile", "float", "float",    "float",
                              "cameo_vec",     DOT_NONE,     false,   FORM_WORDS, 1};
// Two rows of a convolution's output that are no longer than a vector each: alone, a vector takes
// as many loads of the other factor as it has products.
static const TileKind pairs = {TILES_OF_FLOATS, "cameo_pair", "float", "float",    "float",
                               "cameo_vec",     DOT_NONE,     true,    FORM_WORDS, 1};

// Sums of even and of odd k are apart where there are too few to hide the latency.
static int chains_of(const TileTarget *t, int rows, int vectors)
{
    return rows * vectors < 8 && 2 * rows * vectors <= t->rows * t->vectors ? 2 : 1;
}

// What is asked for while a tile is multiplied. Where rows are so few that b is read once, and in
// tiles of bytes: lines of b. Else a line for every two values of k: a panel of rows, of which each
// tile asks for as much as it reads itself, so that what comes from memory comes evenly. Into the
// second cache: the first one waits for fewer lines at once than it takes to read at the memory's
// speed.
static void print_ahead(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors,
                        int k)
{
    const bool few = 2 * rows <= t->rows;
    const int lines = few ? (vectors * t->lanes * 4 + LINE - 1) / LINE : 1;
    if (!few && kind->dot == DOT_NONE) {
        if (k % 2 == 0)
            buf_printf(out, "            __builtin_prefetch((const char *)x + ahead, 0, 2);\n");
        return;
    }
    for (int i = 0; i < lines; i++)
        buf_printf(out, "            __builtin_prefetch((const char *)y + ahead + %d, 0, 2);\n",
                   i * LINE);
}

// sum += number i of a row of a * vector v of b
void tile_print_sum(Buf *out, const TileKind *kind, char sum, int i, int v)
{
    if (kind->dot == DOT_NONE)
        buf_printf(out, " %c%d%d += x[%d] * b%d;", sum, i, v, i, v);
    else if (kind->form == FORM_WIDE)
        buf_printf(out, " %c%d%d = cameo_wide_dot(%c%d%d, a%d, b%d);", sum, i, v, sum, i, v, i, v);
    else if (kind->form == FORM_NEAR)
        buf_printf(out,
                   " %c%d%d = cameo_near(%c%d%d, zero + x[%d], zero + x[%d + CAMEO_TILE_ROWS], "
                   "b%d, z[%d]);",
                   sum, i, v, sum, i, v, i, i, v, v);
    else if (kind->dot == DOT_FIRST)
        buf_printf(out, " %c%d%d = cameo_dot(%c%d%d, zero + x[%d], b%d);", sum, i, v, sum, i, v, i,
                   v);
    else
        buf_printf(out, " %c%d%d = cameo_dot(%c%d%d, b%d, zero + x[%d]);", sum, i, v, sum, i, v, v,
                   i);
}

// Vectors of registers for one of b.
static int parts_of(const TileKind *kind)
{
    return kind->form == FORM_WIDE ? 2 : 1;
}

static void print_vector(Buf *out, const TileKind *kind, int v)
{
    if (kind->form == FORM_WIDE)
        buf_printf(out, "cameo_wide_%s((const cameo_word *)y + %d * (CAMEO_LANES / 2))",
                   kind->dot == DOT_FIRST ? "signed" : "unsigned", v);
    else if (kind->apart)
        buf_printf(out, "*(const %s *)(y + %d * next)", kind->vector, v);
    else
        buf_printf(out, "y[%d]", v);
}

// Several numbers of k, one after the other, whose products are added in 16 bits: each number of a
// is read once for all vectors, and each vector of b once for all rows.
static void print_near_step(Buf *out, const TileKind *kind, int rows, int vectors, int k, char sum)
{
    buf_printf(out, "        {\n            cameo_sums ");
    for (int i = 0; i < rows * vectors; i++)
        buf_printf(out, "%ss%d%d", i ? ", " : "", i / vectors, i % vectors);
    buf_printf(out, ";\n            __builtin_prefetch((const char *)a + ahead, 0, 2);\n");
    for (int n = kind->together * k; n < kind->together * (k + 1); n++) {
        const bool first = n == kind->together * k;
        buf_printf(out, "            {\n                const %s *y = (const %s *)(b + at[%d]), ",
                   kind->vector, kind->vector, n);
        for (int v = 0; v < vectors; v++)
            buf_printf(out, "%sb%d = y[%d]", v ? ", " : "", v, v);
        buf_printf(out, ";\n");
        for (int i = 0; i < rows; i++) {
            buf_printf(out,
                       "                {\n                    const %s w = "
                       "cameo_near_word(a[%d * CAMEO_TILE_ROWS + %d]);\n                   ",
                       kind->vector, n, i);
            for (int v = 0; v < vectors; v++)
                if (first)
                    buf_printf(out, " s%d%d = cameo_near_first(b%d, w);", i, v, v);
                else
                    buf_printf(out, " s%d%d = cameo_near_add(s%d%d, b%d, w);", i, v, i, v, v);
            buf_printf(out, "\n                }\n");
        }
        buf_printf(out, "            }\n");
    }
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "           ");
        for (int v = 0; v < vectors; v++)
            buf_printf(out, " %c%d%d = cameo_near_join(%c%d%d, s%d%d);", sum, i, v, sum, i, v, i,
                       v);
        buf_printf(out, "\n");
    }
    buf_printf(out, "        }\n");
}

static void print_step(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors,
                       int k, char sum)
{
    const int numbers = kind->together;
    if (kind->form == FORM_NEAR && kind->dot == DOT_SECOND) {
        print_near_step(out, kind, rows, vectors, k, sum);
        return;
    }
    buf_printf(out, "        {\n            const %s *x = a + %d * CAMEO_TILE_ROWS;\n", kind->first,
               numbers * k);
    if (kind->apart)
        buf_printf(out, "            const %s *y = b + at[%d];\n", kind->element, k);
    else
        for (int i = 0; i < numbers; i++)
            buf_printf(out, "            const %s *%c = (const %s *)(b + at[%d]);\n", kind->vector,
                       "yz"[i], kind -> vector, numbers *k + i);
    print_ahead(out, kind, t, rows, vectors, k);
    buf_printf(out, "            const %s ", kind->vector);
    for (int v = 0; v < vectors * parts_of(kind); v++) {
        buf_printf(out, "%sb%d = ", v ? ", " : "", v);
        print_vector(out, kind, v);
    }
    buf_printf(out, ";\n");
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "           ");
        if (kind->form == FORM_WIDE)
            buf_printf(out, " const %s a%d = cameo_wide_number(x[%d]);", kind->vector, i, i);
        for (int v = 0; v < vectors * parts_of(kind); v++)
            tile_print_sum(out, kind, sum, i, v);
        buf_printf(out, "\n");
    }
    buf_printf(out, "        }\n");
}

static void print_loop(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors)
{
    const int chains = chains_of(t, rows, vectors * parts_of(kind)), numbers = kind->together;
    // Few sums leave registers free, and two chains of them take turns.
    const int step = t->step == 1 && chains == 2 ? 4 : t->step;
    if (step > 1) {
        buf_printf(out, "    for (; k >= %d; k -= %d) {\n", step, step);
        buf_printf(out, "        __builtin_prefetch(a + %d * CAMEO_TILE_ROWS);\n", t->ahead);
        for (int k = 0; k < step; k++)
            print_step(out, kind, t, rows, vectors, k, k % 2 && chains == 2 ? 'd' : 'c');
        buf_printf(out, "        a += %d * CAMEO_TILE_ROWS;\n        at += %d;\n    }\n",
                   numbers * step, numbers * step);
    }
    buf_printf(out, "    for (; k > 0; k--) {\n");
    print_step(out, kind, t, rows, vectors, 0, 'c');
    buf_printf(out, "        a += %d * CAMEO_TILE_ROWS;\n        at += %d;\n    }\n", numbers,
               numbers);
}

static const char *finish_parameter(const TileKind *kind)
{
    return kind->dot == DOT_NONE ? ", const cameo_finish *finish" : "";
}

// Where vector v of row i is, of those that begin at `base` with rows `row` apart.
static void print_place(Buf *out, const TileKind *kind, const char *base, const char *row, int i,
                        int v)
{
    if (kind->apart)
        buf_printf(out, "*(%s *)(%s + %d * %s + %d * width)", kind->vector, base, i, row, v);
    else
        buf_printf(out, "((%s *)(%s + %d * %s))[%d]", kind->vector, base, i, row, v);
}

// Each sum is added to from there, or stored there.
void tile_print_moves(Buf *out, const TileKind *kind, const char *base, const char *row, int rows,
                      int vectors, bool stores)
{
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "       ");
        for (int v = 0; v < vectors; v++) {
            buf_printf(out, stores ? " " : " c%d%d += ", i, v);
            print_place(out, kind, base, row, i, v);
            if (stores)
                buf_printf(out, " = c%d%d", i, v);
            buf_printf(out, ";");
        }
        buf_printf(out, "\n");
    }
}

// No sum passes a bound of the finish, if that is one: cameo_less(high, sum).
static void print_bound(Buf *out, int rows, int vectors, const char *bound, const char *test,
                        const char *keep)
{
    buf_printf(out,
               "        if (finish->%s %s) {\n"
               "            const cameo_vec %s = zero + finish->%s;\n",
               bound, test, bound, bound);
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "           ");
        for (int v = 0; v < vectors; v++)
            buf_printf(out, " c%d%d = cameo_%s(%s, c%d%d);", i, v, keep, bound, i, v);
        buf_printf(out, "\n");
    }
    buf_printf(out, "        }\n");
}

// The last values of k are summed: bias, what is added, the clip. Of a tile that is not whole it is
// done here where neither what c holds comes before it nor anything is added, which may end with
// the tile.
static void print_finish(Buf *out, const TileKind *kind, int rows, int vectors)
{
    buf_printf(out, "    if (finish && (whole || !(more || finish->added))) {\n"
                    "        const float *bias = finish->bias, *added = finish->added;\n");
    for (int i = 0; i < rows; i++) {
        buf_printf(out, "       ");
        for (int v = 0; v < vectors; v++)
            buf_printf(out, " c%d%d += bias[%d];", i, v, i);
        buf_printf(out, "\n");
    }
    buf_printf(out, "        if (added) {\n");
    tile_print_moves(out, kind, "added", "ldc", rows, vectors, false);
    buf_printf(out, "        }\n");
    print_bound(out, rows, vectors, "low", "> -__builtin_inff()", "greater");
    print_bound(out, rows, vectors, "high", "< __builtin_inff()", "less");
    buf_printf(out, "        finish = NULL;\n    }\n");
}

// What is written of a tile that is not whole goes by the edge, a pair's vector by vector.
static void print_end(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors)
{
    const int lanes = vectors * t->lanes, parts = kind->apart ? vectors : 1;
    const char *const finish = kind->dot == DOT_NONE ? ", finish" : "";
    if (kind->apart) {
        buf_printf(out, "    if (whole) {\n");
        tile_print_moves(out, kind, "c", "ldc", rows, vectors, true);
        buf_printf(out, "        return;\n    }\n    float edge[%d];\n", rows * lanes);
        for (int i = 0; i < rows * vectors; i++)
            buf_printf(out, "    ((%s *)edge)[%d] = c%d%d;\n", kind->vector, i, i / vectors,
                       i % vectors);
        buf_printf(out,
                   "    cameo_finish second;\n    if (finish) {\n        second = *finish;\n"
                   "        second.added = second.added ? second.added + width : NULL;\n    }\n");
    } else {
        tile_print_moves(out, kind, "to", "ldt", rows, vectors, true);
        buf_printf(out, "    if (!whole)\n    ");
    }
    for (int v = 0; v < parts; v++)
        buf_printf(out, "    %s_edge(%d, width, edge + %d, %d, c + %d * width, ldc, more%s);\n",
                   kind->apart ? tile_floats.name : kind->name, rows, v * t->lanes, lanes, v,
                   v ? ", finish ? &second : NULL" : finish);
    buf_printf(out, "}\n\n");
}

void tile_print(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors)
{
    const char *vec = kind->vector, *number = kind->number;
    const int chains = chains_of(t, rows, vectors * parts_of(kind)),
              held = vectors * parts_of(kind);
    buf_printf(out,
               "static __attribute__((noinline, unused)) void %s_%d_%d(\n"
               "    int64_t k, const %s *restrict a, const %s *restrict b,%s\n"
               "    const int64_t *restrict at, int64_t ahead, %s *restrict c, int64_t ldc,\n"
               "    int64_t width, %sint more%s)\n{\n"
               "    const %s zero = {0};\n    %s ",
               kind->name, rows, vectors, kind->first, kind->element,
               kind->apart ? " int64_t next," : "", number, kind->apart ? "int whole, " : "",
               finish_parameter(kind), vec, vec);
    for (int i = 0; i < chains * rows * held; i++)
        buf_printf(out, "%s%c%d%d = zero", i ? ", " : "", i < rows * held ? 'c' : 'd',
                   i / held % rows, i % held);
    buf_printf(out, ";\n");
    print_loop(out, kind, t, rows, vectors);
    for (int i = 0; i < rows * held && chains == 2; i++)
        buf_printf(out, "    c%d%d += d%d%d;\n", i / held, i % held, i / held, i % held);
    for (int i = 0; i < rows * vectors && kind->form == FORM_WIDE; i++)
        buf_printf(out, "    c%d%d = cameo_wide_join(c%d%d, c%d%d);\n", i / vectors, i % vectors,
                   i / vectors, 2 * (i % vectors), i / vectors, 2 * (i % vectors) + 1);
    if (!kind->apart)
        buf_printf(out,
                   "    %s edge[%d];\n"
                   "    const int whole = width == %d;\n"
                   "    %s *to = whole ? c : edge;\n"
                   "    const int64_t ldt = whole ? ldc : %d;\n",
                   number, rows * vectors * t->lanes, vectors * t->lanes, number,
                   vectors * t->lanes);
    buf_printf(out, "    if (whole && more) {\n");
    tile_print_moves(out, kind, "c", "ldc", rows, vectors, false);
    buf_printf(out, "    }\n");
    if (kind->dot == DOT_NONE)
        print_finish(out, kind, rows, vectors);
    print_end(out, kind, t, rows, vectors);
}

// Eight columns at a time or four, the last of them once more with those before: what c held there
// is read before it is written.
static void print_edge_part(Buf *out, const TileKind *kind, int lanes)
{
    const char *test = lanes == 8 ? "width >= 8" : "width >= 4 && width < 8";
    buf_printf(out,
               "        if (%s) {\n"
               "            typedef %s lanes __attribute__((vector_size(%d), aligned(4), "
               "may_alias));\n"
               "            lanes last = *(const lanes *)(from + width - %d);\n"
               "            if (more)\n"
               "                last += *(const lanes *)(c + width - %d);\n"
               "            for (int64_t j = 0; j + %d < width; j += %d) {\n"
               "                lanes v = *(const lanes *)(from + j);\n"
               "                if (more)\n"
               "                    v += *(const lanes *)(c + j);\n"
               "                *(lanes *)(c + j) = v;\n"
               "            }\n"
               "            *(lanes *)(c + width - %d) = last;\n"
               "        }\n",
               test, kind->number, 4 * lanes, lanes, lanes, lanes, lanes, lanes);
}

void tile_print_edge(Buf *out, const TileKind *kind)
{
    buf_printf(out,
               "static __attribute__((noinline, unused)) void %s_edge(\n"
               "    int rows, int64_t width, const %s *from, int64_t ldf, %s *c, int64_t ldc,\n"
               "    int more%s)\n{\n"
               "    for (int i = 0; i < rows; i++, from += ldf, c += ldc) {\n",
               kind->name, kind->number, kind->number, finish_parameter(kind));
    print_edge_part(out, kind, 8);
    print_edge_part(out, kind, 4);
    buf_printf(out, "        for (int64_t j = 0; j < width && width < 4; j++)\n"
                    "            c[j] = more ? c[j] + from[j] : from[j];\n");
    if (kind->dot == DOT_NONE)
        buf_printf(out, "        for (int64_t j = 0; j < width && finish; j++)\n"
                        "            c[j] = cameo_finished(finish, i, i * ldc + j, c[j]);\n");
    buf_printf(out, "    }\n}\n\n");
}

void tile_print_table(Buf *out, const TileKind *kind, const TileTarget *t, const TileUses *uses)
{
    for (int rows = 1; rows <= t->rows; rows++)
        for (int v = 1; v <= t->vectors; v++)
            if (tile_needed(uses, kind->table, t, rows, v))
                tile_print(out, kind, t, rows, v);
    buf_printf(out, "static __attribute__((unused)) %s *const %ss[%d][%d] = {\n", kind->name,
               kind->name, t->rows, t->vectors);
    for (int rows = 1; rows <= t->rows; rows++) {
        buf_printf(out, "    {");
        for (int v = 1; v <= t->vectors; v++)
            if (tile_needed(uses, kind->table, t, rows, v))
                buf_printf(out, "%s%s_%d_%d", v > 1 ? ", " : "", kind->name, rows, v);
            else
                buf_printf(out, "%sNULL", v > 1 ? ", " : "");
        buf_printf(out, "},\n");
    }
    buf_printf(out, "};\n");
}

// A function that chooses lanes of two vectors: lane i is number `at(lanes, i)` of both, the
// first's before the second's.
static void print_shuffle(Buf *out, const TileTarget *t, const char *name, int (*at)(int, int))
{
    buf_printf(out,
               "static inline __attribute__((unused)) cameo_vec cameo_%s(cameo_vec a, "
               "cameo_vec b)\n{\n#ifdef __clang__\n"
               "    return __builtin_shufflevector(a, b",
               name);
    for (int i = 0; i < t->lanes; i++)
        buf_printf(out, ", %d", at(t->lanes, i));
    buf_printf(out,
               ");\n#else\n    typedef int places __attribute__((vector_size(%d)));\n"
               "    return __builtin_shuffle(a, b, (places){",
               4 * t->lanes);
    for (int i = 0; i < t->lanes; i++)
        buf_printf(out, "%s%d", i ? ", " : "", at(t->lanes, i));
    buf_printf(out, "});\n#endif\n}\n\n");
}

static void print_extreme(Buf *out, const TileTarget *t, bool greater)
{
    const char *name = greater ? "greater" : "less", *sign = greater ? ">" : "<", *built = NULL;
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
        if (extremes[i].lanes == t->lanes)
            built = greater ? extremes[i].greater : extremes[i].less;
    buf_printf(out,
               "static inline __attribute__((always_inline, unused)) cameo_vec cameo_%s(\n"
               "    cameo_vec a, cameo_vec b)\n{\n",
               name);
    if (built)
        buf_printf(out, "#ifndef __clang__\n    return %s;\n#else\n", built);
    buf_printf(out,
               "    typedef int chosen __attribute__((vector_size(%d)));\n"
               "    const chosen first = a %s b;\n"
               "    return (cameo_vec)(((chosen)a & first) | ((chosen)b & ~first));\n%s}\n\n",
               4 * t->lanes, sign, built ? "#endif\n" : "");
}

// A vector of two panels' rows.
static void print_join(Buf *out, const TileTarget *t)
{
    if (t->lanes != 2 * TILE_ROWS)
        return;
    buf_printf(out, "#if defined __has_builtin\n#if __has_builtin(__builtin_shufflevector)\n"
                    "#define CAMEO_JOINS\n"
                    "static inline __attribute__((always_inline, unused)) cameo_vec cameo_join(\n"
                    "    const float *low, const float *high)\n{\n"
                    "    typedef float half __attribute__((vector_size(4 * CAMEO_TILE_ROWS),\n"
                    "                                      aligned(4), may_alias));\n"
                    "    return __builtin_shufflevector(*(const half *)low, *(const half *)high");
    for (int i = 0; i < t->lanes; i++)
        buf_printf(out, ", %d", i);
    buf_printf(out, ");\n}\n#endif\n#endif\n\n");
}

// As many sums along k as a vector has lanes, of neighbours that lie along k themselves: pairs of
// lanes are added until each column has one, in order.
static void print_dots(Buf *out, const TileTarget *t)
{
    buf_printf(out, "static __attribute__((noinline, unused)) void cameo_dots(\n"
                    "    int64_t k, const float *restrict a, const float *restrict b, int64_t bn,\n"
                    "    int64_t last, float *restrict to)\n{\n"
                    "    const cameo_vec zero = {0};\n");
    for (int v = 0; v < t->lanes; v++)
        buf_printf(out,
                   "    const float *const b%d = b + (last < %d ? last : %d) * bn;\n"
                   "    cameo_vec c%d = zero;\n",
                   v, v, v, v);
    buf_printf(out, "    for (int64_t p = 0; p + CAMEO_LANES <= k; p += CAMEO_LANES) {\n"
                    "        const cameo_vec x = *(const cameo_vec *)(a + p);\n");
    for (int v = 0; v < t->lanes; v++)
        buf_printf(out, "        c%d += x * *(const cameo_vec *)(b%d + p);\n", v, v);
    buf_printf(out, "    }\n");
    for (int n = t->lanes / 2; n >= 1; n /= 2)
        for (int v = 0; v < n; v++)
            buf_printf(out, "    c%d = cameo_even(c%d, c%d) + cameo_odd(c%d, c%d);\n", v, 2 * v,
                       2 * v + 1, 2 * v, 2 * v + 1);
    buf_printf(out, "    *(cameo_vec *)to = c0;\n"
                    "    for (int64_t p = k / CAMEO_LANES * CAMEO_LANES; p < k; p++)\n"
                    "        for (int64_t v = 0; v <= last && v < CAMEO_LANES; v++)\n"
                    "            to[v] += a[p] * b[v * bn + p];\n"
                    "}\n\n");
}

// One row times several panels at a time: memory gives more of several streams than of one, and
// each sum has a register. What is asked for is as far ahead as of one stream.
void tile_print_stream(Buf *out, const TileKind *kind, const TileTarget *t, const char *name,
                       int panels)
{
    const int vectors = TILE_COLUMNS / t->lanes;
    buf_printf(out,
               "static inline __attribute__((always_inline, unused)) void %s_as_%d(\n"
               "    int64_t k, const %s *restrict a, int64_t step, const %s *restrict b,\n"
               "    int64_t next, %s *restrict c, const int past)\n{\n"
               "    const %s zero = {0};\n",
               name, panels, kind->element, kind->element, kind->number, kind->vector);
    for (int v = 0; v < panels * vectors; v++)
        buf_printf(out, "    %s c%d = zero;\n", kind->vector, v);
    buf_printf(out, "    for (; k > 0; k--, a += step, b += CAMEO_TILE_COLUMNS) {\n");
    for (int p = 0; p < panels; p++)
        for (int line = 0; line < TILE_COLUMNS * 4; line += LINE)
            buf_printf(out,
                       "        cameo_once_ask((const char *)(b + %d * next) + "
                       "CAMEO_CPU_STREAM / %d + %d, past);\n",
                       p, panels, line);
    for (int v = 0; v < panels * vectors; v++) {
        if (kind->dot == DOT_NONE)
            buf_printf(out, "        c%d += *a * (", v);
        else
            buf_printf(out, "        c%d = cameo_dot(c%d, zero + *a, ", v, v);
        buf_printf(out, "((const %s *)(b + %d * next))[%d]);\n", kind->vector, v / vectors,
                   v % vectors);
    }
    buf_printf(out, "    }\n");
    for (int v = 0; v < panels * vectors; v++)
        buf_printf(out, "    ((%s *)c)[%d] += c%d;\n", kind->vector, v, v);
    buf_printf(out,
               "}\n\nstatic __attribute__((noinline, unused)) void %s_%d(\n"
               "    int64_t k, const %s *restrict a, int64_t step, const %s *restrict b,\n"
               "    int64_t next, %s *restrict c)\n{\n"
               "    if (cameo_once_past())\n        %s_as_%d(k, a, step, b, next, c, 1);\n"
               "    else\n        %s_as_%d(k, a, step, b, next, c, 0);\n}\n\n",
               name, panels, kind->element, kind->element, kind->number, name, panels, name,
               panels);
}

int tile_streams(const TileTarget *t)
{
    return 12 * t->lanes / TILE_COLUMNS;
}

static void print_streams(Buf *out, const TileTarget *t)
{
    const int most = tile_streams(t);
    buf_printf(out, "enum { CAMEO_STREAMS = %d };\n", most);
    tile_print_stream(out, &tile_floats, t, "cameo_stream", most);
    if (most > 1)
        tile_print_stream(out, &tile_floats, t, "cameo_stream", 1);
    buf_printf(out, "#define CAMEO_STREAM cameo_stream_%d\n\n", most);
}

static int even(int lanes, int i)
{
    (void)lanes;
    return 2 * i;
}

static int odd(int lanes, int i)
{
    (void)lanes;
    return 2 * i + 1;
}

static int zip_low(int lanes, int i)
{
    return i / 2 + i % 2 * lanes;
}

static int zip_high(int lanes, int i)
{
    return (i + lanes) / 2 + i % 2 * lanes;
}

static int after(int lanes, int i)
{
    (void)lanes;
    return i + 1;
}

static void print_target(Buf *out, const TileTarget *t, const TileUses *uses, bool first)
{
    buf_printf(out, "#%sif %s\n", first ? "" : "el", t->test);
    buf_printf(
        out,
        "enum { CAMEO_LANES = %d, CAMEO_ROWS = %d, CAMEO_VECTORS = %d, CAMEO_FEW_ROWS = %d };\n"
        "typedef float cameo_vec __attribute__((vector_size(%d), aligned(4), may_alias));\n",
        t->lanes, t->rows, t->vectors, t->rows / 2, 4 * t->lanes);
    print_shuffle(out, t, "even", even);
    print_shuffle(out, t, "odd", odd);
    print_shuffle(out, t, "zip_low", zip_low);
    print_shuffle(out, t, "zip_high", zip_high);
    print_shuffle(out, t, "after", after);
    print_extreme(out, t, true);
    print_extreme(out, t, false);
    buf_printf(out, "static inline __attribute__((always_inline, unused)) cameo_vec cameo_clip(\n"
                    "    cameo_vec v, cameo_vec low, cameo_vec high)\n{\n"
                    "    return cameo_less(high, cameo_greater(low, v));\n}\n\n");
    print_join(out, t);
    print_dots(out, t);
    print_streams(out, t);
    tile_print_table(out, &tile_floats, t, uses);
    if (chains_of(t, t->rows, 1) == 1 && tile_needed(uses, TILES_OF_FLOATS, t, t->rows, 1) &&
        tile_needed(uses, TILES_OF_FLOATS, t, t->rows, 2)) {
        tile_print(out, &pairs, t, t->rows, 2);
        buf_printf(out, "#define CAMEO_PAIR cameo_pair_%d_2\n", t->rows);
    }
    if (t->lanes >= 8 && tile_needed(uses, TILES_OF_FLOATS, t, t->rows, t->vectors)) {
        tile_strip_print(out, t, tile_ends_few(uses, t));
        if (uses->sevens)
            strassen_print_tile(out, t);
        if (t->lanes == 8)
            tile_strip_print_down(out, t);
    }
}

// What a processor's row says of its tiles; of several with as many lanes the best one.
static TileTarget of_processors(TileTarget t, const Processor *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if ((int)rows[i].lanes == t.lanes) {
            t.rows = rows[i].rows > 0 ? (int)rows[i].rows : t.rows;
            t.step = rows[i].step > 0 ? (int)rows[i].step : t.step;
            t.ahead = rows[i].ahead > 0 ? (int)rows[i].ahead : t.ahead;
        }
    return t;
}

void tiles_print(Buf *out, const TileUses *uses, const Processor *rows, uint32_t n)
{
    buf_printf(
        out,
        "/* Tiles of products: c[rows][width] = (or += where more) the sum over k of a, rows\n"
        " * numbers every CAMEO_TILE_ROWS, times the vectors at b + at[k]. width: the columns to\n"
        " * write, more than all but the last vector. ahead: bytes to what is read soon, from b's\n"
        " * vectors where rows are CAMEO_FEW_ROWS at most, else from a's. finish: what is done to\n"
        " * the sums before they are written, or NULL. cameo_dots: to[v] = the sum over k of a[k] "
        "*\n"
        " * b[v * bn + k], of no column behind the last one. cameo_stream_P: c += a times P panels "
        "of\n"
        " * CAMEO_TILE_COLUMNS that are `next` numbers from one another. CAMEO_PAIR, where there "
        "is\n"
        " * one: two vectors, `next` numbers from one another, of `width` columns each, which are\n"
        " * neighbours in c. whole: it may be written over where they end. CAMEO_STRIP, where "
        "there\n"
        " * is one: whole tiles one after the other, whose vectors are `step` numbers from one "
        "value\n"
        " * of k to the next: panels `next` numbers from one another, or, where `down` is not 0, "
        "the\n"
        " * rows that follow, the first of them number down - 1 of a panel of rows. CAMEO_SUMS:\n"
        " * the same down, from a panel's first row, each c += its sums; before each tile so many\n"
        " * lines are asked for from `next` on. */\n"
        "#ifndef CAMEO_TILES_H\n#define CAMEO_TILES_H\n"
        "#include <stddef.h>\n#include <stdint.h>\n"
        "enum { CAMEO_TILE_ROWS = %d, CAMEO_TILE_COLUMNS = %d };\n"
        "/* A function of n neighbours in each of `rows` rows of y, `row` apart, and of what is\n"
        " * added to them, which lies as y does (NULL: nothing). */\n"
        "typedef void cameo_curve(float *y, const float *added, int64_t rows, int64_t row,\n"
        "                         int64_t n);\n"
        "/* min(max(sum + bias + added, low), high), NaN kept. bias: of each row; added: as c, or\n"
        " * NULL. curve: of sum + bias and of what is added; NULL: none. It is not a tile's work. "
        "*/\n"
        "typedef struct cameo_finish {\n"
        "    const float *bias, *added;\n"
        "    float low, high;\n"
        "    cameo_curve *curve;\n"
        "} cameo_finish;\n"
        "typedef void cameo_tile(int64_t k, const float *a, const float *b, "
        "const int64_t *at,\n                        int64_t ahead, float *c, int64_t ldc, "
        "int64_t width, int more,\n                        const cameo_finish *finish);\n\n"
        "static inline __attribute__((unused)) float cameo_finished(const cameo_finish *f,\n"
        "                                                           int64_t row, int64_t at,\n"
        "                                                           float v)\n{\n"
        "    v += f->bias[row];\n"
        "    v = f->added && !f->curve ? v + f->added[at] : v;\n"
        "    v = f->low > v ? f->low : v;\n"
        "    return f->high < v ? f->high : v;\n}\n\n",
        TILE_ROWS, TILE_COLUMNS);
    tile_print_edge(out, &tile_floats);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const TileTarget t = of_processors(targets[i], rows, n);
        print_target(out, &t, uses, i == 0);
    }
    buf_printf(out, "#endif\n#endif\n\n");
}
