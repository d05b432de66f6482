// TopK, ties in the order of the input. A number and its place are one integer, an *entry*, the
// greater the earlier it comes: no load and no tie decides a comparison. Numbers of 64 bits leave
// no room for a place, which is their entry then.
//
// The greatest entry of each block of neighbours is kept. The greatest of these comes next, and its
// block is looked through for what comes behind it: no branch depends on data. Where a good part of
// a line is asked for, all of it is sorted by its digits instead.

#include "ir/ops/common.h"

#include <string.h>

// A line of SHORTEST elements or more, of which one in SHARE or more is asked for, is sorted, by
// DIGIT bits at a time. BLOCK: the fewest elements of a block.
enum { SHORTEST = 128, SHARE = 4, BLOCK = 32, DIGIT = 8, DIGITS = 1 << DIGIT };
#define MOST_PLACES ((int64_t)1 << 32) // that an entry has room for

static void infer_topk(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t n;
    int64_t most, have;
    if (!x || x->rank < 1 || x->rank > MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", -1), x->rank);
    const Index *k = infer_content(s, 1, &n);
    if (axis < 0)
        return;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[axis] = k && n == 1                ? k[0]
                 : node_has_attr(s->n, "k") ? poly_const(s->polys, node_int(s->n, "k", 0))
                                            : infer_data_dim(s, 0, (uint32_t)axis, "k");
    if (poly_is_const(dims[axis], &most) && poly_is_const(x->dims[axis], &have) && most > have) {
        infer_error(s, "k is %lld, and axis %lld has %lld elements", (long long)most,
                    (long long)axis, (long long)have);
        return;
    }
    infer_shape(s, 0, (uint32_t)x->rank, dims);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
    infer_dtype(s, 1, DT_I64);
}

typedef struct Top {
    Lower *l;
    Tensor x, places;
    Tensor entries;     // of a line, the last dim being their number
    Index at[MAX_RANK]; // of the line in x and places
    uint32_t axis;
    bool largest, sorted, packed;
    Index nk, nn;         // k, and the elements of a line
    const Expr *k, *n;    // the same
    const Expr *size;     // elements of a block
    LocalId from, counts; // of the digits
} Top;

// ---- entries

// A signed integer of 32 or 64 bits that is the greater the earlier x comes. NaN is the greatest
// of numbers, and there is one 0.
static const Expr *key_of(Top *top, const Expr *x)
{
    Lower *l = top->l;
    DType t = x->dtype, to = dtype_info(t)->bits > 32 ? DT_I64 : DT_I32;
    const bool half = t == DT_F16 || t == DT_BF16;
    const Expr *key = x;
    if (dtype_is_float(t)) {
        if (!half && t != DT_F64)
            x = cast(l, DT_F32, x);
        key = expr_bitcast(l->module, half ? DT_I16 : to, x);
        key = half ? mul(l, cast(l, to, key), int_(l, to, 1 << 16)) : key;
        const Expr *least = int_(l, to, to == DT_I64 ? INT64_MIN : INT32_MIN);
        const Expr *most = unary(l, U_BITNOT, least);
        const Expr *infinite = int_(l, to,
                                    t == DT_F64   ? (int64_t)0x7ff << 52
                                    : t == DT_F16 ? 0x7c00 << 16
                                                  : 0x7f800000);
        const Expr *odd = lt(l, infinite, and_(l, key, most));
        if (t == DT_F64) { // of selects of 64 bits gcc makes branches, and no vectors
            const Expr *below = neg(l, cast(l, to, lt(l, key, zero(l, to))));
            const Expr *none = neg(l, cast(l, to, odd));
            key = sub(l, xor_(l, key, and_(l, below, most)), below);
            key = or_(l, and_(l, key, unary(l, U_BITNOT, none)), and_(l, none, most));
        } else {
            key = select_(l, lt(l, key, zero(l, to)), sub(l, least, key), key);
            key = select_(l, odd, most, key);
        }
    } else if (t == DT_U32 || t == DT_U64) {
        key = xor_(l, x, int_(l, t, t == DT_U64 ? INT64_MIN : (int64_t)1 << 31));
        key = expr_bitcast(l->module, to, key);
    } else {
        key = cast(l, to, x);
    }
    return top->largest ? key : unary(l, U_BITNOT, key);
}

static const Expr *key_at(Top *top, const Expr *place)
{
    top->at[top->axis] = to_index(top->l, place);
    return key_of(top, load(top->l, top->x, top->at));
}

static const Expr *entry_at(Top *top, const Expr *place)
{
    Lower *l = top->l;
    if (!top->packed)
        return place;
    const Expr *key = mul(l, cast(l, DT_I64, key_at(top, place)), int_(l, DT_I64, MOST_PLACES));
    return add(l, key, sub(l, int_(l, DT_I64, MOST_PLACES - 1), place));
}

static const Expr *place_of(Top *top, const Expr *entry)
{
    Lower *l = top->l;
    const Expr *low = int_(l, DT_I64, MOST_PLACES - 1);
    return top->packed ? sub(l, low, and_(l, entry, low)) : entry;
}

static void line_at(Top *top, const Expr *i, Index *at)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < top->x.rank; d++)
        if (d != top->axis)
            at[n++] = top->at[d];
    at[n] = to_index(top->l, i);
}

static const Expr *entry_load(Top *top, const Expr *i)
{
    Index at[MAX_RANK];
    line_at(top, i, at);
    return load(top->l, top->entries, at);
}

static void entry_store(Top *top, const Expr *i, const Expr *entry)
{
    Index at[MAX_RANK];
    line_at(top, i, at);
    store(top->l, top->entries, at, entry);
}

static void place_store(Top *top, const Expr *i, const Expr *place)
{
    top->at[top->axis] = to_index(top->l, i);
    store(top->l, top->places, top->at, place);
}

static const Expr *count(Top *top, int64_t v)
{
    return int_(top->l, DT_I64, v);
}

// ---- the greatest of the greatest of blocks

// `e` where `cond` is true, else `other`: of a select beside a reduction gcc makes a branch.
static const Expr *masked(Top *top, const Expr *cond, const Expr *e, int64_t other)
{
    Lower *l = top->l;
    const Expr *mask = neg(l, cast(l, DT_I64, cond));
    return or_(l, and_(l, e, mask), and_(l, count(top, other), unary(l, U_BITNOT, mask)));
}

static Index in_block(Top *top, const Expr *low)
{
    int64_t n;
    const Expr *size = top->size;
    if (!poly_is_const(top->nn, &n) || n % size->value.i)
        size = min_(top->l, size, sub(top->l, top->n, low));
    return red(top->l, to_index(top->l, size));
}

// The greatest entry of the block from `low` on, or the greatest key where these are places; of
// those that come behind the entry `than`, or behind the place `place` of the key `than`.
static const Expr *best_of_block(Top *top, const Expr *low, const Expr *than, const Expr *place)
{
    Lower *l = top->l;
    Index i = in_block(top, low);
    const Expr *at = add(l, low, expr_index(l->module, i));
    const Expr *best = top->packed ? entry_at(top, at) : key_at(top, at);
    const Expr *behind = than ? lt(l, best, than) : NULL;
    if (than && !top->packed)
        behind = or_(l, behind, and_(l, eq(l, best, than), lt(l, place, at)));
    best = than ? masked(top, behind, best, INT64_MIN) : best;
    return let(l, reduce(l, R_MAX, 1, &i, NULL, best));
}

// Blocks have as many elements as there are blocks, or a few times fewer: a power of two.
static const Expr *block_size(Top *top)
{
    Lower *l = top->l;
    int64_t n, known = BLOCK;
    if (poly_is_const(top->nn, &n)) {
        while (4 * known * known <= n)
            known *= 2;
        return count(top, known);
    }
    LocalId size = row(l, DT_I64, 0, NULL);
    set(l, size, NULL, count(top, BLOCK));
    const Expr *now = get(l, size, NULL);
    while_(l, le(l, mul(l, count(top, 4), mul(l, now, now)), top->n));
    set(l, size, NULL, add(l, now, now));
    end(l);
    return let(l, now);
}

// The greatest entries of blocks. Returns how many these are.
static Index begin_blocks(Top *top)
{
    Lower *l = top->l;
    top->size = block_size(top);
    const Expr *more = add(l, top->n, sub(l, top->size, one(l, DT_I64)));
    Index blocks = to_index(l, let(l, div_(l, more, top->size)));
    Index b = seq(l, blocks);
    const Expr *low = let(l, mul(l, expr_index(l->module, b), top->size));
    entry_store(top, expr_index(l->module, b), best_of_block(top, low, NULL, NULL));
    end(l);
    return blocks;
}

static const Expr *best_block(Top *top, Index blocks)
{
    Lower *l = top->l;
    Index v = red(l, blocks);
    return let(l, reduce(l, R_MAX, 1, &v, NULL, entry_load(top, expr_index(l->module, v))));
}

static void best_of_blocks(Top *top)
{
    Lower *l = top->l;
    Index blocks = begin_blocks(top), i = seq(l, top->nk);
    const Expr *best = best_block(top, blocks), *place = let(l, place_of(top, best));
    place_store(top, expr_index(l->module, i), place);
    const Expr *block = let(l, div_(l, place, top->size));
    const Expr *low = let(l, mul(l, block, top->size));
    entry_store(top, block, best_of_block(top, low, best, NULL));
    end(l);
}

// The same of numbers of 64 bits: the block of the greatest key is the first one, and the place the
// first in it that was not taken. The least key says of a block as well that all of it was taken:
// once it is the greatest, places that have it follow one another.
static void best_of_keys(Top *top)
{
    Lower *l = top->l;
    const Expr *least = count(top, INT64_MIN), *one_ = one(l, DT_I64);
    LocalId key = row(l, DT_I64, 0, NULL), last = row(l, DT_I64, 0, NULL);
    set(l, key, NULL, count(top, INT64_MAX));
    set(l, last, NULL, neg(l, one_));
    Index blocks = begin_blocks(top), i = seq(l, top->nk);
    const Expr *best = best_block(top, blocks);
    if_(l, ne(l, best, get(l, key, NULL)));
    set(l, key, NULL, best);
    set(l, last, NULL, neg(l, one_)); // none of this key was taken
    end(l);
    if_(l, eq(l, best, least));
    set(l, last, NULL, add(l, get(l, last, NULL), one_));
    while_(l, ne(l, key_at(top, get(l, last, NULL)), least));
    set(l, last, NULL, add(l, get(l, last, NULL), one_));
    end(l);
    else_(l);
    Index v = red(l, blocks);
    const Expr *block = expr_index(l->module, v);
    block = masked(top, eq(l, entry_load(top, block), best), block, INT64_MAX);
    block = let(l, reduce(l, R_MIN, 1, &v, NULL, block));
    const Expr *low = let(l, mul(l, block, top->size)), *before = let(l, get(l, last, NULL));
    Index e = in_block(top, low);
    const Expr *at = add(l, low, expr_index(l->module, e));
    const Expr *is = and_(l, eq(l, key_at(top, at), best), lt(l, before, at));
    const Expr *place = let(l, reduce(l, R_MIN, 1, &e, NULL, masked(top, is, at, INT64_MAX)));
    set(l, last, NULL, place);
    entry_store(top, block, best_of_block(top, low, best, place));
    end(l);
    place_store(top, expr_index(l->module, i), get(l, last, NULL));
    end(l);
}

// ---- a line sorted by its digits, the least of them first

static const Expr *digit_of(Top *top, const Expr *entry, const Expr *shift)
{
    Lower *l = top->l;
    const Expr *key = top->packed ? entry : key_at(top, entry);
    key = expr_bitcast(l->module, DT_U64, xor_(l, key, count(top, INT64_MIN)));
    key = binary(l, B_SHR, key, cast(l, DT_U64, shift));
    return sub(l, count(top, DIGITS - 1),
               cast(l, DT_I64, and_(l, key, int_(l, DT_U64, DIGITS - 1))));
}

static void step_count(Top *top, Index digit)
{
    set(top->l, top->counts, &digit,
        add(top->l, get(top->l, top->counts, &digit), one(top->l, DT_I64)));
}

// Moves the entries to the other half in the order of one digit; those of one digit stay in order.
static void sort_digit(Top *top, const Expr *here, const Expr *there, const Expr *shift)
{
    Lower *l = top->l;
    LocalId sum = row(l, DT_I64, 0, NULL);
    set(l, sum, NULL, zero(l, DT_I64));
    Index d = seq(l, ix(l, DIGITS));
    const Expr *many = let(l, get(l, top->counts, &d));
    set(l, top->counts, &d, get(l, sum, NULL));
    set(l, sum, NULL, add(l, get(l, sum, NULL), many));
    end(l);
    Index i = seq(l, to_index(l, top->n));
    const Expr *entry = let(l, entry_load(top, add(l, here, expr_index(l->module, i))));
    d = to_index(l, let(l, digit_of(top, entry, shift)));
    const Expr *to = let(l, get(l, top->counts, &d));
    entry_store(top, add(l, there, to), entry);
    step_count(top, d);
    end(l);
    set(l, top->from, NULL, there);
}

static void best_sorted(Top *top)
{
    Lower *l = top->l;
    const int low = top->packed ? 32 : 0, digits = (64 - low) / DIGIT;
    const Index many = ix(l, DIGITS);
    const Expr *none = zero(l, DT_I64);
    if (!top->sorted) {
        if_(l, le(l, top->n, top->k));
        Index i = seq(l, top->nk);
        place_store(top, expr_index(l->module, i), expr_index(l->module, i));
        end(l);
        else_(l);
    }
    top->from = row(l, DT_I64, 0, NULL);
    top->counts = row(l, DT_I64, 1, &many);
    set(l, top->from, NULL, none);
    Index i = seq(l, to_index(l, top->n));
    entry_store(top, expr_index(l->module, i), entry_at(top, expr_index(l->module, i)));
    end(l);
    Index p = seq(l, ix(l, digits));
    const Expr *shift = let(l, expr_index(l->module, ix_addc(l, ix_scale(l, p, DIGIT), low)));
    const Expr *here = let(l, get(l, top->from, NULL)), *there = let(l, sub(l, top->n, here));
    Index d = seq(l, many);
    set(l, top->counts, &d, none);
    end(l);
    i = seq(l, to_index(l, top->n));
    const Expr *entry = let(l, entry_load(top, add(l, here, expr_index(l->module, i))));
    step_count(top, to_index(l, let(l, digit_of(top, entry, shift))));
    end(l);
    const Expr *first = let(l, digit_of(top, let(l, entry_load(top, here)), shift));
    d = to_index(l, first);
    if_(l, lt(l, get(l, top->counts, &d), top->n)); // else all have the same
    sort_digit(top, here, there, shift);
    end(l);
    end(l);
    here = let(l, get(l, top->from, NULL));
    i = seq(l, top->nk);
    const Expr *at = expr_index(l->module, i);
    place_store(top, at, place_of(top, entry_load(top, add(l, here, at))));
    end(l);
    if (!top->sorted)
        end(l);
}

// ---- the kernel

// Entries of each line: `many` of them.
static Tensor entries_of(Top *top, Index many)
{
    Index dims[MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < top->x.rank; d++)
        if (d != top->axis)
            dims[n++] = top->x.dims[d];
    dims[n++] = many;
    return temp(top->l, "entries", DT_I64, n, dims);
}

// Is the line sorted: never, always, or only where the program finds it so?
typedef enum Sorts { NEVER, ALWAYS, MAYBE } Sorts;

static Sorts sorts(const Top *top)
{
    int64_t k, n;
    const bool known_k = poly_is_const(top->nk, &k), known_n = poly_is_const(top->nn, &n);
    if ((known_k && k * SHARE < SHORTEST) || (known_n && n < SHORTEST))
        return NEVER;
    if (known_k && known_n)
        return n <= k * SHARE ? ALWAYS : NEVER;
    return MAYBE;
}

static void find_best(Top *top)
{
    Lower *l = top->l;
    const Sorts how = sorts(top);
    const Index blocks = ix_div(l, ix_addc(l, top->nn, BLOCK - 1), ix(l, BLOCK));
    Index many = blocks;
    if (how != NEVER) {
        Index both = ix_scale(l, how == ALWAYS ? top->nn : ix_scale(l, top->nk, SHARE), 2);
        many = how == ALWAYS ? both : ix_max(l, many, both);
    }
    top->entries = entries_of(top, many);
    kernel(l, "top_k");
    for (uint32_t i = 0; i < top->x.rank; i++)
        if (i != top->axis)
            top->at[i] = par(l, top->x.dims[i]);
    top->k = expr_index(l->module, top->nk);
    top->n = expr_index(l->module, top->nn);
    if_(l, index_lt(l, ix(l, 0), top->nk)); // of no place there is no root
    if (how == MAYBE)
        if_(l, and_(l, le(l, count(top, SHORTEST), top->n),
                    le(l, top->n, mul(l, top->k, count(top, SHARE)))));
    if (how != NEVER)
        best_sorted(top);
    if (how == MAYBE)
        else_(l);
    if (how != ALWAYS && top->packed)
        best_of_blocks(top);
    else if (how != ALWAYS)
        best_of_keys(top);
    kernel_end(l);
}

static void lower_topk(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), places = output(l, 1), any = y.buffer ? y : places;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    int64_t axis = node_int(l->n, "axis", -1), n;
    axis += axis < 0 ? x.rank : 0;
    if (has_input(l, 1)) {
        Index k = input_element(l, 1, 0);
        define_dim(l, any.dims[axis], k);
        check(l, both(l, index_le(l, ix(l, 0), k), index_le(l, k, x.dims[axis])),
              "TopK: k is negative or greater than the dimension");
    }
    Top top = {.l = l, .x = x, .axis = (uint32_t)axis};
    top.largest = node_int(l->n, "largest", 1) != 0;
    top.sorted = node_int(l->n, "sorted", 1) != 0;
    top.packed = dtype_info(x.dtype)->bits <= 32;
    top.nk = any.dims[axis];
    top.nn = x.dims[axis];
    if (top.packed && !(poly_is_const(top.nn, &n) && n <= MOST_PLACES))
        check(l, index_le(l, top.nn, ix(l, MOST_PLACES)),
              "TopK: more than 2^32 elements in a line");
    top.places = places.buffer ? places : temp(l, "places", DT_I64, any.rank, any.dims);
    find_best(&top);
    if (!y.buffer)
        return;
    kernel(l, "top_values");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    at[axis] = to_index(l, load(l, top.places, o));
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

const OpDef ops_topk[] = {
    {"TopK", 1, infer_topk, lower_topk, {NULL}, NULL},
    {0},
};
