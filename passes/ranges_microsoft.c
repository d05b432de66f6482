// Interval rules of what ONNX Runtime adds: products with what stands around them, normalizations
// behind sums, products with weights of few bits.

#include "passes/ranges_state.h"

#include <math.h>
#include <string.h>

#define MS "com.microsoft::"

// ---- normalizations behind sums

// (input + skip + bias) normalized, times gamma, plus beta; output 3 is the sum.
static void skip_norm(RangeWalk *w)
{
    bool plain = str_is(w->n->op, "SkipSimplifiedLayerNormalization");
    const uint32_t bias = plain ? 3 : 4;
    RangeBasis by;
    double n = walk_count(w, 0, -1, &by);
    range_normalized(w, sqrt(n), by, -1, 2, plain ? UINT32_MAX : 3);
    Range sum = range_fold(w, 0, 2, range_add);
    if (sum.known && walk_value(w, bias)) {
        Range b = walk_in(w, bias);
        sum = b.known ? range_add(w, range_plain(sum), range_plain(b)) : range_none();
    }
    if (sum.known && sum.lo <= sum.hi && walk_result(w, 3) != DT_NONE)
        walk_give(w, 3, sum, ROUND_LOOSE);
    Range x = walk_in(w, 0), y = w->n->out[0] ? w->r->at[w->n->out[0]] : range_none();
    if (y.known && !y.nan && (!sum.known || sum.nan || range_is_large(&sum) || !x.known))
        w->r->at[w->n->out[0]].nan = NAN_BY_OVERFLOW;
}

// Rows of tables, summed and normalized.
static void embed_norm(RangeWalk *w)
{
    RangeBasis by;
    double n = walk_count(w, 2, -1, &by);
    range_normalized(w, sqrt(n), by, -1, 5, 6);
    Range y = w->n->out[0] ? w->r->at[w->n->out[0]] : range_none();
    if (y.known && !y.nan) // what is summed are operands of their own
        w->r->at[w->n->out[0]].nan = NAN_BY_OVERFLOW;
}

// ---- products

static void fused_matmul(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    double alpha = node_float(w->n, "alpha", 1);
    bool ta = node_int(w->n, "transA", 0), tb = node_int(w->n, "transB", 0);
    const Value *u = walk_value(w, 0), *v = walk_value(w, 1);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || range_is_large(&a) ||
        range_is_large(&b) || !isfinite(alpha) || node_int(w->n, "transBatchA", 0) ||
        node_int(w->n, "transBatchB", 0) || !u || !v || u->rank < 2 || v->rank < 2)
        return;
    const Bias none = {UINT32_MAX, false, alpha, 1};
    if (range_matrix(w, a, &(Matrix){false, tb, ta}, &none) ||
        range_matrix(w, b, &(Matrix){true, ta, !tb}, &none))
        return;
    double n = walk_count(w, 0, ta ? -2 : -1, &by);
    Range y = range_products(w, range_plain(a), range_plain(b), n, by);
    if (y.known)
        walk_give(w, 0, range_mul(w, y, range_between(alpha, alpha)), ROUND_LOOSE);
}

// ---- MatMulNBits

// Zero points, one to a block, as they are or packed in rows of bytes. None: they do not fit.
static Elements points_of(RangeWalk *w, uint64_t rows, uint64_t per_row, uint32_t bits)
{
    Elements p = walk_constant(w, 3);
    const uint64_t bytes = (per_row * bits + 7) / 8;
    if (p.dtype != DT_U8)
        return p.n == rows * per_row ? p : (Elements){0};
    if (p.n != rows * bytes)
        return (Elements){0};
    if (bits == 8)
        return p;
    unsigned char *to = NEWS(w->r->a, unsigned char, rows *per_row);
    for (uint64_t r = 0; r < rows; r++)
        weigh_unpack(p.at + r * bytes, 0, per_row, bits, false, to + r * per_row);
    p.at = to;
    p.n = rows * per_row;
    return p;
}

// B as blocks of few bits along K, without elements behind K. false: it is another form.
static bool few_bits(RangeWalk *w, Factor *f, Weights *at)
{
    int64_t n = node_int(w->n, "N", 0), k = node_int(w->n, "K", 0),
            size = node_int(w->n, "block_size", 0), bits = node_int(w->n, "bits", 4);
    const Elements b = walk_constant(w, 1), scale = walk_constant(w, 2);
    if (n < 1 || k < 1 || size < 1 || k % size || (bits != 2 && bits != 4 && bits != 8) ||
        walk_value(w, 4) || node_int(w->n, "weight_prepacked", 0) || b.dtype != DT_U8 ||
        b.n > UINT64_MAX / 8 || (uint64_t)n > b.n * 8 / (uint64_t)k / (uint64_t)bits ||
        b.n * 8 != (uint64_t)n * (uint64_t)k * (uint64_t)bits ||
        scale.n != (uint64_t)(n * (k / size)) || !walk_afford(w, 2 * scale.n))
        return false;
    *f = (Factor){.data = b,
                  .value = w->n->in[1],
                  .dtype = walk_dtype(w, 0),
                  .scaled = true,
                  .packed = bits < 8 ? (uint32_t)bits : 0};
    f->data.n = (uint64_t)(n * k);
    f->nscales = scale.n;
    f->inner = 1;
    f->along = f->data.n;
    f->block = (uint64_t)size;
    f->scale = scale;
    f->middle = (double)(1 << (bits - 1));
    *at = (Weights){f, (uint64_t)n, (uint64_t)k, 1, 1, false};
    if (!walk_value(w, 3))
        return true;
    f->zero = points_of(w, (uint64_t)n, (uint64_t)(k / size), (uint32_t)bits);
    return f->zero.n > 0;
}

static void matmul_few_bits(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *a = walk_value(w, 0);
    int64_t level = node_int(w->n, "accuracy_level", 0);
    RangeBasis by;
    Factor f;
    Weights at;
    Sums s;
    if (!x.known || x.lo > x.hi || range_is_large(&x) || !a || a->rank < 1 || !few_bits(w, &f, &at))
        return;
    x.channels = x.channels && x.channels->axis + 1 == (uint32_t)a->rank ? x.channels : NULL;
    if (level) // A is rounded to fewer digits, at level 4 to int8
        x = range_rounded(range_plain(x), range_magnitude(&x, &by) * 0x1p-6);
    if (range_weigh(w, &at, &x, &s))
        range_give_sums(w, &s, x, (uint32_t)a->rank - 1, &(Bias){5, true, 1, 1});
}

const RangeRow ranges_microsoft[] = {
    {MS "SkipLayerNormalization", skip_norm, {NULL}, 0},
    {MS "SkipSimplifiedLayerNormalization", skip_norm, {NULL}, 0},
    {MS "EmbedLayerNormalization", embed_norm, {NULL}, 0},
    {MS "FusedMatMul", fused_matmul, {NULL}, 0},
    {MS "TransposeMatMul", fused_matmul, {NULL}, 0},
    {MS "MatMulNBits", matmul_few_bits, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
