// Products of matrices of bytes: packing when compiling, and calls.

#include "codegen/cpu/byte_product.h"

#include "codegen/cpu/tiles.h"

#include <stdlib.h>

enum { BLOCK = 128, WIDTH = TILE_COLUMNS }; // CAMEO_BYTES_M, CAMEO_TILE_COLUMNS

typedef struct Sizes {
    int64_t n, k, bn, bk;
} Sizes;

// Is w a constant matrix of known size, of which nothing but n and k chooses the element?
static bool read_sizes(Printer *p, const Override *o, Sizes *s)
{
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, o->b->buffer);
    Index rest = linear_index(p, b->rank, b->dims, o->b->at);
    rest = poly_sub(polys, rest, poly_mul(polys, o->bk, poly_loop(polys, o->k)));
    rest = poly_sub(polys, rest, poly_mul(polys, o->bn, override_column(polys, o)));
    return poly_equals(rest, 0) && poly_is_const(o->columns, &s->n) &&
           poly_is_const(loop_extent(polys, o->k), &s->k) && poly_is_const(o->bn, &s->bn) &&
           poly_is_const(o->bk, &s->bk) && s->n > 0 && s->k > 0 && s->n < INT32_MAX / 64 &&
           s->k < ((int64_t)1 << 30) / (s->n + WIDTH);
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
    for (int64_t j = 0; j < s->n; j++) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < s->k; i++)
            sum += (uint32_t)(bytes_weight(b, from, i * s->bk + j * s->bn) - zeros[j]);
        totals[j] = (int32_t)(sum * (uint32_t)factor);
    }
}

static BufferId pack(Module *mod, const Bytes *b, const void *from, const Sizes *s)
{
    int64_t columns = (s->n + 15) / 16 * 16, groups = (s->k + 3) / 4;
    if (columns <= 0 || groups <= 0)
        return 0;
    int8_t *to = calloc((size_t)columns * (size_t)groups, 4);
    if (!to)
        return 0;
    for (int64_t j = 0; j < s->n; j++) {
        int64_t begin = j / WIDTH * WIDTH, left = columns - begin;
        int64_t width = left < WIDTH ? left : WIDTH;
        for (int64_t i = 0; i < s->k; i++)
            to[4 * (begin * groups + i / 4 * width + j - begin) + i % 4] =
                bytes_weight(b, from, i * s->bk + j * s->bn);
    }
    BufferId packed = bytes_buffer(mod, DT_I8, 4 * columns * groups, to);
    free(to);
    return packed;
}

// The sum for row m and column n: what tiles made, less what zero points add to it.
static const Expr *sum_of(Printer *p, const Override *o, const Bytes *b, bool scaled)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    Index column = override_column(polys, o), zero = poly_const(polys, 0);
    Index row = o->m ? poly_sub(polys, poly_loop(polys, o->m), poly_loop(polys, b->m0)) : zero;
    Index at = poly_add(polys, poly_scale(polys, row, WIDTH),
                        poly_sub(polys, column, poly_loop(polys, b->n0)));
    const Expr *e = expr_load(mod, b->sums, &at);
    const Expr *totals = expr_load(mod, b->totals, &column);
    if (!scaled)
        totals = expr_binary(mod, B_MUL, bytes_zero(mod, b), totals);
    e = expr_binary(mod, B_SUB, e, totals);
    if (!b->row_sum)
        return e;
    const Expr *middle = expr_const(mod, DT_I32, (Scalar){.i = 128});
    const Expr *point = b->w.zero ? b->w.zero : expr_const(mod, DT_I32, (Scalar){.i = 0});
    if (b->w.load->dtype == DT_U8)
        point = expr_binary(mod, B_SUB, point, middle);
    return expr_binary(mod, B_SUB, e,
                       expr_binary(mod, B_MUL, point, expr_load(mod, b->row_sum, &row)));
}

static void add_scratch(Printer *p, const Override *o, Bytes *b, const Sizes *s, bool row_sum)
{
    Module *mod = p->mod;
    int64_t rows = BLOCK;
    if (poly_is_const(o->rows, &rows))
        rows = rows < BLOCK ? (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS : BLOCK;
    else
        rows = BLOCK;
    Index n = poly_const(mod->polys, rows);
    b->rows = bytes_scratch(mod, DT_I32, poly_scale(mod->polys, n, (s->k + 3) / 4));
    b->sums = bytes_scratch(mod, DT_I32, poly_scale(mod->polys, n, WIDTH));
    if (row_sum)
        b->row_sum = bytes_scratch(mod, DT_I32, n);
    b->m0 = loop_new(mod->polys, o->rows);
    b->n0 = loop_new(mod->polys, o->columns);
}

bool byte_product_find(Printer *p, const Override *o, Bytes *b, bool *found, Str *error)
{
    Sizes s;
    *found = false;
    if (o->b != b->w.load || o->reduce->rank != 1 || !read_sizes(p, o, &s) ||
        (b->x.zero && expr_uses_loop(p->mod, b->x.zero, o->k)))
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
        b->depth = s.k;
        sum_columns(b, from, &s, zeros, known ? zero->value.i : 1, totals);
        b->packed = pack(p->mod, b, from, &s);
        *found = b->packed != 0;
        if (*found) {
            b->totals = bytes_buffer(p->mod, DT_I32, s.n, totals);
            add_scratch(p, o, b, &s, row_sum);
            b->value = sum_of(p, o, b, known);
        }
    }
    free(zeros);
    free(totals);
    return true;
}

void byte_product_print(Printer *p, const Override *o)
{
    const Bytes *b = o->bytes;
    const char *rows = print_index(p, o->rows), *columns = print_index(p, o->columns);
    const LoopId n[] = {o->outer_n ? o->outer_n : o->n, o->n};
    const Buffer *x = buffer_at(p->mod, o->a->buffer);
    Index at = linear_index(p, x->rank, x->dims, o->a->at);
    access_note(p->arena, &p->printed.buffers, o->a->buffer, ACCESS_READ);
    const char *start = str_printf(p->arena, "b%u + %s", o->a->buffer, print_index(p, at)).at;
    const char *am = print_index_bare(p, o->am), *ak = print_index_bare(p, o->ak);
    override_zero(p, o, false);
    print_line(p, "for (int64_t m0 = 0, m1; m0 < %s; m0 = m1) {", rows);
    p->indent++;
    print_line(p, "m1 = %s - m0 < CAMEO_BYTES_M ? %s : m0 + CAMEO_BYTES_M;", rows, rows);
    print_line(p, "cameo_bytes_rows(m1 - m0, %lld, %s + m0 * %s, %s, %s, %s, (void *)%s, %s);",
               (long long)b->depth, start, print_index(p, o->am), am, ak,
               b->flip ? "CAMEO_BYTES_SIGN" : "0", bytes_name(p, b->rows),
               bytes_name(p, b->row_sum));
    print_line(p, "for (int64_t n0 = 0, n1; n0 < %s; n0 = n1) {", columns);
    p->indent++;
    print_line(p, "n1 = cameo_bytes_columns(m1 - m0, %s, %lld, n0, (const void *)%s, %s, %s);",
               columns, (long long)b->depth, bytes_name(p, b->rows), bytes_name(p, b->packed),
               bytes_name(p, b->sums));
    block_print_epilogue(p, (Block){b->m0, b->n0}, o->epilogue, o->m, o->outer_n ? n : n + 1,
                         o->outer_n ? 2 : 1);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}
