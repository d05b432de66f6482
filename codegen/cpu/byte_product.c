// Products of matrices of bytes: packing when compiling, and calls. A second factor that is
// computed, or one of several constant matrices, is packed when the product runs.

#include "codegen/cpu/byte_product.h"

#include "codegen/cpu/tiles.h"
#include "codegen/parts.h"

#include <stdlib.h>

enum { BLOCK = 128, UNIT = 16, WIDTH = TILE_COLUMNS }; // as in the runtime
enum { WORDS = 16 }; // that a tile of matrix registers reads at once
// Of so many pairs of words and halves one may leave 16 bits: each costs some cycles for 128 rows.
enum { NEAR_MOST = 16 };
enum {
    MACS = 100,   // multiplications and additions in a tenth of a nanosecond,
    READ = 2,     // bytes of w that memory delivers meanwhile
    FINISHED = 3, // tenths for an element of y
    PACKED = 1    // and of x
};

typedef struct Sizes {
    int64_t n, k, bn, bk;
    int64_t start; // of the first element
} Sizes;

// Are all elements among `size` of them?
static bool is_within(const Sizes *s, int64_t size)
{
    const int64_t columns = (s->n - 1) * s->bn, rows = (s->k - 1) * s->bk;
    const int64_t low = s->start + (columns < 0 ? columns : 0) + (rows < 0 ? rows : 0);
    const int64_t high = s->start + (columns > 0 ? columns : 0) + (rows > 0 ? rows : 0);
    return low >= 0 && high < size;
}

// Is w a constant matrix of known size, of which nothing but n and k chooses the element?
static bool read_sizes(Printer *p, const Override *o, Sizes *s)
{
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, o->b->buffer);
    Index rest = linear_index(p, b->rank, b->dims, o->b->at);
    rest = poly_sub(polys, rest, poly_mul(polys, o->bk, poly_loop(polys, o->k)));
    rest = poly_sub(polys, rest, poly_mul(polys, o->bn, override_column(polys, o)));
    return poly_is_const(rest, &s->start) && poly_is_const(o->columns, &s->n) &&
           poly_is_const(loop_extent(polys, o->k), &s->k) && poly_is_const(o->bn, &s->bn) &&
           poly_is_const(o->bk, &s->bk) && s->n > 0 && s->k > 0 && s->n < INT32_MAX / 64 &&
           s->k < ((int64_t)1 << 30) / (s->n + WIDTH) &&
           is_within(s, (int64_t)b->data->nelements);
}

// The zero point of each column, less what makes w signed. *any: one of them is not 0.
static bool read_zeros(Printer *p, const Override *o, const Bytes *b, int64_t n, int64_t *zeros,
                       bool *any)
{
    int64_t one, middle = b->w.load->dtype == DT_U8 ? 128 : 0;
    bool single = !b->w.zero || bytes_constant(p, b->w.zero, 0, 1, &one);
    if (b->w.zero && !single && (o->outer_n || !bytes_constant(p, b->w.zero, o->n, n, zeros)))
        return false;
    for (int64_t i = 0; i < n; i++) {
        zeros[i] = (single ? b->w.zero ? one : 0 : zeros[i]) - middle;
        *any |= zeros[i] != 0;
    }
    return true;
}

// What (w - zw) sum up to, times x's zero point where it is known.
static void sum_columns(const Bytes *b, const void *from, const Sizes *s, const int64_t *zeros,
                        int64_t factor, int32_t *totals)
{
    for (int64_t begin = 0; begin < s->n; begin += WIDTH) { // lines of memory are read once
        const int64_t used = s->n - begin < WIDTH ? s->n - begin : WIDTH;
        uint32_t sums[WIDTH] = {0};
        for (int64_t i = 0; i < s->k; i++)
            for (int64_t j = 0; j < used; j++)
                sums[j] += (uint32_t)bytes_weight(
                    b, from, s->start + i * s->bk + (begin + j) * s->bn);
        for (int64_t j = 0; j < used; j++)
            totals[begin + j] = (int32_t)((sums[j] - (uint32_t)s->k * (uint32_t)zeros[begin + j]) *
                                          (uint32_t)factor);
    }
}

// Can the products of a near tile leave 16 bits, these being the weights of one lane? x is 255 at
// most: sums of those that are positive, and of those that are not, are what counts.
static bool may_saturate(const int8_t *const w[2])
{
    int above = 0, below = 0;
    for (int i = 0; i < 4; i++) {
        const int e = w[i / 2][i % 2];
        above += e > 0 ? e : 0;
        below += e < 0 ? e : 0;
    }
    return 255 * above > INT16_MAX || 255 * below < INT16_MIN;
}

// Where it may, of w as it is packed: for each panel where its places begin, and behind the panels
// these places, in order; a place is pair of words * 2 * WIDTH + 2 * column + half. 0: that is more
// than one in NEAR_MOST, or words are no pairs.
static BufferId find_near(Module *mod, const int8_t *w, const Sizes *s)
{
    const int64_t groups = (s->k + 3) / 4, panels = (s->n + WIDTH - 1) / WIDTH;
    const int64_t most = s->n * groups / NEAR_MOST;
    int32_t *to = groups % 2 == 0 ? calloc((size_t)(panels + 1 + most), sizeof *to) : NULL;
    int64_t len = panels + 1;
    BufferId near = 0;
    for (int64_t p = 0; to && p < panels; p++) {
        const int64_t left = s->n - p * WIDTH, columns = left < WIDTH ? left : WIDTH;
        const int64_t ldb = 4 * ((columns + 15) / 16 * 16);
        const int8_t *panel = w + 4 * p * WIDTH * groups;
        to[p] = (int32_t)len;
        for (int64_t pair = 0; pair < groups / 2; pair++)
            for (int64_t lane = 0; lane < 2 * columns; lane++) {
                const int8_t *at = panel + 2 * pair * ldb + 2 * lane;
                const int8_t *const four[] = {at, at + ldb};
                if (!may_saturate(four))
                    continue;
                if (len == panels + 1 + most) {
                    free(to);
                    return 0;
                }
                to[len++] = (int32_t)(pair * 2 * WIDTH + lane);
            }
    }
    if (to) {
        to[panels] = (int32_t)len;
        near = bytes_buffer(mod, DT_I32, len, to);
    }
    free(to);
    return near;
}

static BufferId pack(Module *mod, Bytes *b, const void *from, const Sizes *s)
{
    int64_t columns = (s->n + 15) / 16 * 16, groups = (s->k + 3) / 4;
    if (columns <= 0 || groups <= 0)
        return 0;
    const int64_t all = columns * groups + WORDS * WIDTH; // what a tile reads past the last panel
    int8_t *to = calloc((size_t)all, 4);
    if (!to)
        return 0;
    for (int64_t begin = 0; begin < s->n; begin += WIDTH) {
        const int64_t left = columns - begin, width = left < WIDTH ? left : WIDTH;
        const int64_t used = s->n - begin < width ? s->n - begin : width;
        for (int64_t i = 0; i < s->k; i++) {
            int8_t *row = to + 4 * (begin * groups + i / 4 * width) + i % 4;
            for (int64_t j = 0; j < used; j++)
                row[4 * j] = bytes_weight(b, from, s->start + i * s->bk + (begin + j) * s->bn);
        }
    }
    BufferId packed = bytes_buffer(mod, DT_I8, 4 * all, to);
    b->near = find_near(mod, to, s);
    free(to);
    return packed;
}

// w's zero point, less what makes w signed.
static const Expr *point_of(Module *mod, const Bytes *b)
{
    const Expr *middle = expr_const(mod, DT_I32, (Scalar){.i = 128});
    const Expr *point = b->w.zero ? b->w.zero : expr_const(mod, DT_I32, (Scalar){.i = 0});
    return b->w.load->dtype == DT_U8 ? expr_binary(mod, B_SUB, point, middle) : point;
}

// The sum for row m and column n: what tiles made, less what zero points add to it.
static const Expr *sum_of(Printer *p, const Override *o, const Bytes *b, bool scaled)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    Index column = override_column(polys, o), zero = poly_const(polys, 0);
    Index whole = o->m ? poly_loop(polys, o->m) : zero;
    Index row = o->m ? poly_sub(polys, whole, poly_loop(polys, b->m0)) : zero;
    Index at = poly_add(polys, poly_scale(polys, row, WIDTH),
                        poly_sub(polys, column, poly_loop(polys, b->n0)));
    const Expr *e = expr_load(mod, b->sums, &at);
    const Expr *totals = expr_load(mod, b->totals, &column);
    const Expr *point = b->row_sum ? point_of(mod, b) : NULL;
    if (b->computed && point) {
        const Expr *all = expr_cast(mod, DT_I32, expr_index(mod, b->depth), false);
        totals = expr_binary(mod, B_SUB, totals, expr_binary(mod, B_MUL, all, point));
    }
    if (!scaled)
        totals = expr_binary(mod, B_MUL, bytes_zero(mod, b), totals);
    e = expr_binary(mod, B_SUB, e, totals);
    return !point ? e
                  : expr_binary(mod, B_SUB, e,
                                expr_binary(mod, B_MUL, point, expr_load(mod, b->row_sum, &whole)));
}

// x whole as it is multiplied, the sums of a block, sums over x.
static void add_scratch(Printer *p, const Override *o, Bytes *b, bool row_sum)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    int64_t rows = BLOCK;
    Index words =
        poly_scale(polys, poly_ceildiv(polys, b->depth, poly_const(polys, 4 * WORDS)), WORDS);
    if (poly_is_const(o->rows, &rows))
        rows = rows < BLOCK ? (rows + UNIT - 1) / UNIT * UNIT : BLOCK;
    else
        rows = BLOCK;
    Index all = poly_ceildiv(polys, o->rows, poly_const(polys, UNIT));
    // behind the rows of x, what is greatest in each unit of them
    Index unit = poly_scale(polys, words, UNIT + (b->near != 0));
    b->rows = bytes_scratch(mod, DT_I32, poly_mul(polys, all, unit));
    b->sums = bytes_scratch(mod, DT_I32, poly_const(polys, rows * WIDTH));
    if (row_sum)
        b->row_sum = bytes_scratch(mod, DT_I32, o->rows);
    b->m0 = loop_new(polys, o->rows);
    b->n0 = loop_new(polys, o->columns);
}

static bool is_fewer(Index i, int64_t than)
{
    int64_t n;
    return poly_is_const(i, &n) && n < than;
}

// w is packed when the product runs, where rows enough of x are multiplied by it.
static bool find_computed(Printer *p, const Override *o, Bytes *b)
{
    enum { LEAST_ROWS = 4, LEAST = 16 };
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    const bool swapped = o->b == b->x.load;
    if (swapped && bytes_known(mod, b->w.load))
        return false;
    if (swapped) {
        const ByteFactor x = b->w;
        b->w = b->x;
        b->x = x;
        b->flip = x.load->dtype == DT_I8;
    }
    b->depth = loop_extent(polys, o->k);
    const Expr *zeros[] = {b->x.zero, b->w.zero};
    for (int i = 0; i < 2; i++)
        if (zeros[i] && expr_uses_loop(mod, zeros[i], o->k))
            return false;
    if (!o->m || is_fewer(o->rows, LEAST_ROWS) || is_fewer(o->columns, LEAST) ||
        is_fewer(b->depth, LEAST))
        return false;
    const int64_t middle = b->w.load->dtype == DT_U8 ? 128 : 0;
    const bool even = b->w.zero ? bytes_all_are(p, b->w.zero, middle) : middle == 0;
    Index columns =
        poly_scale(polys, poly_ceildiv(polys, o->columns, poly_const(polys, UNIT)), UNIT);
    Index words =
        poly_mul(polys, columns, poly_ceildiv(polys, b->depth, poly_const(polys, 4)));
    b->computed = true;
    b->packed = bytes_scratch(mod, DT_I32, poly_add_const(polys, words, WORDS * WIDTH));
    b->totals = bytes_scratch(mod, DT_I32, columns);
    add_scratch(p, o, b, !even);
    b->value = sum_of(p, o, b, false);
    return true;
}

bool byte_product_find(Printer *p, const Override *o, Bytes *b, bool *found, Str *error)
{
    Sizes s;
    *found = false;
    if (o->reduce->rank != 1)
        return true;
    if (o->b != b->w.load || !bytes_known(p->mod, o->b) || !read_sizes(p, o, &s)) {
        *found = find_computed(p, o, b);
        return true;
    }
    if (b->x.zero && expr_uses_loop(p->mod, b->x.zero, o->k))
        return true;
    const Buffer *w = buffer_at(p->mod, o->b->buffer);
    const void *from = tensor_elements(p->mod->model, (TensorData *)(uintptr_t)w->data, error);
    if (!from)
        return false;
    int64_t *zeros = calloc((size_t)s.n, sizeof *zeros);
    int32_t *totals = calloc((size_t)s.n, sizeof *totals);
    bool row_sum = false;
    if (zeros && totals && read_zeros(p, o, b, s.n, zeros, &row_sum)) {
        const Expr *zero = bytes_zero(p->mod, b);
        bool known = zero->kind == EX_CONST;
        b->depth = loop_extent(p->mod->polys, o->k);
        sum_columns(b, from, &s, zeros, known ? zero->value.i : 1, totals);
        b->packed = pack(p->mod, b, from, &s);
        *found = b->packed != 0;
        if (*found) {
            b->totals = bytes_buffer(p->mod, DT_I32, s.n, totals);
            add_scratch(p, o, b, row_sum);
            b->value = sum_of(p, o, b, known);
        }
    }
    free(zeros);
    free(totals);
    return true;
}

bool byte_products_any(const Step *s, bool convolutions)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if ((o &&
             (convolutions ? o->conv && o->conv->bytes && !o->conv->pixels : o->bytes != NULL)) ||
            byte_products_any(s->body, convolutions) || byte_products_any(s->other, convolutions))
            return true;
    }
    return false;
}

// ---- printing ----------------------------------------------------------------------------------

static void print_rows(Printer *p, const Override *o, const char *from, const char *to)
{
    const Bytes *b = o->bytes;
    const Buffer *x = buffer_at(p->mod, o->a->buffer);
    override_zero(p, o, true);
    Index at = linear_index(p, x->rank, x->dims, o->a->at);
    access_note(p->arena, &p->printed.buffers, o->a->buffer, ACCESS_READ);
    print_line(p, "cameo_bytes_rows(%s, %s, b%u + %s, %s, %s, %s, (void *)%s, %s, %d, %s, %s);",
               print_index_bare(p, o->rows), print_index_bare(p, b->depth), o->a->buffer,
               print_index(p, at),
               print_index_bare(p, o->am), print_index_bare(p, o->ak),
               b->flip ? "CAMEO_BYTES_SIGN" : "0", bytes_name(p, b->rows),
               bytes_name(p, b->row_sum), b->near != 0, from, to);
    override_zero(p, o, false);
}

static const char *panels_of(Printer *p, const Override *o)
{
    return str_printf(p->arena, "cameo_bytes_units(1, %s, 1)", print_index_bare(p, o->columns)).at;
}

// Panels from .. to of w, where it is computed.
static void print_packing(Printer *p, const Override *o, const char *from, const char *to)
{
    const Bytes *b = o->bytes;
    override_zero(p, o, true);
    const char *w = gemm_start(p, o->b->buffer, o->b->at);
    print_line(p, "cameo_bytes_pack(%s, %s, %s, %s, %s, %s, (void *)%s, %s, %s, %s);",
               print_index_bare(p, o->columns), print_index_bare(p, b->depth), w,
               print_index_bare(p, o->bk), print_index_bare(p, o->bn),
               b->w.load->dtype == DT_U8 ? "CAMEO_BYTES_SIGN" : "0", bytes_name(p, b->packed),
               bytes_name(p, b->totals), from, to);
    override_zero(p, o, false);
}

// Units from .. to, in blocks of `block` rows.
static void print_units(Printer *p, const Override *o, const char *block, const char *from,
                        const char *to)
{
    const Bytes *b = o->bytes;
    const char *rows = print_index(p, o->rows), *columns = print_index(p, o->columns);
    const LoopId n[] = {o->outer_n ? o->outer_n : o->n, o->n};
    print_line(p, "const int64_t panels = cameo_bytes_units(1, %s, 1);", columns);
    print_line(p, "for (int64_t unit = %s, taken; unit < %s; unit += taken) {", from, to);
    p->indent++;
    print_line(p, "const int64_t m0 = unit / panels * %s;", block);
    print_line(p, "const int64_t n0 = unit %% panels * CAMEO_TILE_COLUMNS;");
    print_line(p, "const int64_t m1 = %s - m0 < %s ? %s : m0 + %s;", rows, block, rows, block);
    print_line(p, "taken = cameo_bytes_together(%s, %s, n0, %s - unit);", rows, columns, to);
    print_line(p,
               "const int64_t n1 = cameo_bytes_columns(%s, m0, m1, %s, %s, n0, taken, "
               "(const void *)%s, %s, %s, %s);",
               rows, columns, print_index_bare(p, b->depth), bytes_name(p, b->rows),
               bytes_name(p, b->packed), bytes_name(p, b->near), bytes_name(p, b->sums));
    block_print_epilogue(p, (Block){b->m0, b->n0, true}, o->epilogue, o->m, o->outer_n ? n : n + 1,
                         o->outer_n ? 2 : 1);
    p->indent--;
    print_line(p, "}");
}

// Threads share the rows of x, then rectangles of y. False: it is not worth it, and nothing was
// printed.
static bool print_parts(Printer *p, const Override *o)
{
    Polys *polys = p->mod->polys;
    const Bytes *b = o->bytes;
    Index elements = poly_mul(polys, o->rows, o->columns);
    Index work =
        poly_floordiv(polys, poly_mul(polys, elements, b->depth), poly_const(polys, MACS));
    work = poly_add(polys, work, poly_scale(polys, elements, FINISHED));
    work = poly_add(
        polys, work,
        poly_floordiv(polys, poly_mul(polys, o->columns, b->depth), poly_const(polys, READ)));
    if (!p->parts || p->parts->inside || !parts_may_own(p, b->sums) || poly_is_overflow(work) ||
        !parts_worth(p, poly_const(polys, 2), poly_floordiv(polys, work, poly_const(polys, 2))))
        return false;
    Index units = poly_ceildiv(polys, o->rows, poly_const(polys, UNIT));
    print_line(p, "args.mode = cameo_bytes_block(%s, cameo_parts(threads));",
               print_index_bare(p, o->rows));
    parts_begin(p, 0);
    print_rows(p, o, "from", "to");
    parts_end(p, print_index_bare(p, units),
              parts_grain(p, poly_scale(polys, b->depth, UNIT * PACKED)));
    if (b->computed) {
        parts_begin(p, 0);
        print_packing(p, o, "from", "to");
        parts_end(p, panels_of(p, o), parts_grain(p, poly_scale(polys, b->depth, WIDTH * PACKED)));
    }
    parts_begin(p, b->sums);
    print_units(p, o, "mode", "from", "to");
    const char *rectangles =
        str_printf(p->arena, "cameo_bytes_units(%s, %s, args.mode)", print_index_bare(p, o->rows),
                   print_index_bare(p, o->columns))
            .at;
    parts_end(p, rectangles, parts_grain_of(p, work, rectangles));
    return true;
}

void byte_product_print(Printer *p, const Override *o, Bounds *outer)
{
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    if (!print_parts(p, o)) {
        const char *rows = print_index(p, o->rows);
        print_rows(p, o, "0", str_printf(p->arena, "(%s + 15) / CAMEO_BYTES_UNIT", rows).at);
        if (o->bytes->computed)
            print_packing(p, o, "0", panels_of(p, o));
        print_units(p, o, "CAMEO_BYTES_M", "0",
                    str_printf(p->arena, "cameo_bytes_units(%s, %s, CAMEO_BYTES_M)", rows,
                               print_index(p, o->columns))
                        .at);
    }
    parts_around(p, outer, false);
    nest_end(p, outer);
}
