// Operators that draw random numbers: RandomUniform, RandomNormal and their Like forms, Bernoulli,
// Multinomial, Dropout in training.
//
// One generator, written here in the kernel IR, so that every target gives the same numbers:
// Philox4x32-10 of J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11). It keeps
// no state: an element's four words are a function of a key, the seed, and of a counter, which is
// the element's place and the iterations of the loops around the node.
//
// Key: the bits of the seed. Without a seed it is the node's number in the model, with a 1 in the
// second word: runs of a program are repeatable, and its nodes draw different numbers.

#include "ir/ops/random.h"
#include "ir/lower_state.h"
#include "ir/ops/common.h"

#include <string.h>

typedef struct Words {
    const Expr *at[4]; // uint32
} Words;

bool node_is_random(const Node *n)
{
    static const char *const names[] = {"RandomUniform",    "RandomNormal", "RandomUniformLike",
                                        "RandomNormalLike", "Bernoulli",    "Multinomial",
                                        "Dropout"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (node_is(n, names[i]))
            return true;
    return false;
}

// ---- the generator

static void key_of(Lower *l, uint32_t *key)
{
    const Attr *a = attr_find(l->n, "seed");
    key[0] = l->node;
    key[1] = 1;
    if (a && a->type == ATTR_INT) {
        key[0] = (uint32_t)a->i;
        key[1] = (uint32_t)((uint64_t)a->i >> 32);
    } else if (a) {
        memcpy(key, &a->f, sizeof a->f);
        key[1] = 0;
    }
}

static const Expr *word(Lower *l, Index i)
{
    return cast(l, DT_U32, from_index(l, i, DT_I64));
}

// The counter: the place of the element, then the iterations of the loops around. Two loops have a
// word each; those within them are mixed into these.
static Words counter(Lower *l, Index place)
{
    const Expr *mix = int_(l, DT_U32, 0x9E3779B1);
    const Expr *high = binary(l, B_SHR, from_index(l, place, DT_I64), int_(l, DT_I64, 32));
    Words c = {{word(l, place), cast(l, DT_U32, high), zero(l, DT_U32), zero(l, DT_U32)}};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < l->state->nopen_steps; i++) {
        const Step *s = l->state->open_steps[i];
        if (s->kind != STEP_LOOP)
            continue;
        const Expr **at = &c.at[2 + depth++ % 2];
        *at = add(l, mul(l, *at, mix), word(l, poly_dim(l->polys, s->dim)));
    }
    return c;
}

static const Expr *product(Lower *l, uint32_t factor, const Expr *word)
{
    return let(l, mul(l, int_(l, DT_U64, factor), cast(l, DT_U64, word)));
}

static const Expr *high_word(Lower *l, const Expr *p)
{
    return cast(l, DT_U32, binary(l, B_SHR, p, int_(l, DT_U64, 32)));
}

// Four words for the element at `place` of the open kernel's output.
static Words philox(Lower *l, Index place)
{
    enum { ROUNDS = 10 };
    uint32_t key[2];
    key_of(l, key);
    Words c = counter(l, place);
    for (int round = 0; round < ROUNDS; round++) {
        const Expr *p = product(l, 0xD2511F53, c.at[0]), *q = product(l, 0xCD9E8D57, c.at[2]);
        const Expr *k0 = int_(l, DT_U32, key[0]), *k1 = int_(l, DT_U32, key[1]);
        c = (Words){{let(l, xor_(l, xor_(l, high_word(l, q), c.at[1]), k0)), cast(l, DT_U32, q),
                     let(l, xor_(l, xor_(l, high_word(l, p), c.at[3]), k1)), cast(l, DT_U32, p)}};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return c;
}

// 0 <= u < 1 of float64, from 53 bits of two words.
static const Expr *unit(Lower *l, const Expr *high, const Expr *low)
{
    const Expr *bits = binary(l, B_SHL, cast(l, DT_U64, high), int_(l, DT_U64, 32));
    bits = binary(l, B_SHR, or_(l, bits, cast(l, DT_U64, low)), int_(l, DT_U64, 11));
    return mul(l, cast(l, DT_F64, bits), num(l, DT_F64, 0x1p-53));
}

static const Expr *unit_at(Lower *l, Tensor y, const Index *o)
{
    Words w = philox(l, ix_linear(l, y.rank, y.dims, o));
    return unit(l, w.at[0], w.at[1]);
}

// ---- RandomUniform, RandomNormal

static bool is_uniform(const Node *n)
{
    return node_is(n, "RandomUniform") || node_is(n, "RandomUniformLike");
}

static void infer_random(Infer *s)
{
    const int64_t *shape;
    uint32_t n;
    Index dims[MAX_RANK] = {0};
    infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_F32));
    if (!node_ints(s->n, "shape", &shape, &n))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (shape[i] < 0) {
            infer_error(s, "dimension %u is negative", i);
            return;
        }
    if (n > MAX_RANK)
        return;
    for (uint32_t i = 0; i < n; i++)
        dims[i] = poly_const(s->polys, shape[i]);
    infer_shape(s, 0, n, dims);
}

static void infer_like(Infer *s)
{
    if (node_has_attr(s->n, "dtype"))
        infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_F32));
    else
        infer_dtype_of(s, 0, 0);
    same_as_0(s);
}

// low + (high - low) u, or mean + scale z with z = sqrt(-2 ln(1 - u)) cos(2 pi v) (Box and Muller).
static void lower_random(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    DType t = y.dtype == DT_F64 ? DT_F64 : DT_F32, f = DT_F64;
    if (!dtype_is_float(y.dtype) || dtype_info(y.dtype)->bits < 16) {
        not_supported(l, "%.*s of %s", STR_ARG(str_escaped(l->arena, l->n->op)),
                      dtype_info(y.dtype)->name);
        return;
    }
    kernel(l, "random");
    par_all(l, y, o);
    Words w = philox(l, ix_linear(l, y.rank, y.dims, o));
    const Expr *u = unit(l, w.at[0], w.at[1]), *v = unit(l, w.at[2], w.at[3]), *e;
    if (is_uniform(l->n)) {
        double low = node_float(l->n, "low", 0), high = node_float(l->n, "high", 1);
        // Float32 has 24 bits of u, so that 1 is not reached.
        const Expr *top = binary(l, B_SHR, w.at[0], int_(l, DT_U32, 8));
        const Expr *fine = t == f ? u : mul(l, cast(l, t, top), num(l, t, 0x1p-24));
        e = add(l, num(l, t, low), mul(l, num(l, t, high - low), fine));
    } else {
        const Expr *radius = sqrt_(l, mul(l, num(l, f, -2), log_(l, sub(l, one(l, f), u))));
        const Expr *angle = mul(l, num(l, f, 6.283185307179586477), v);
        e = mul(l, radius, unary(l, U_COS, angle));
        e = add(l, attr_num(l, f, "mean", 0), mul(l, attr_num(l, f, "scale", 1), e));
    }
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// ---- Bernoulli, Multinomial

// 1 with the probability that x says.
static void lower_bernoulli(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "bernoulli");
    par_all(l, y, o);
    const Expr *hit = lt(l, unit_at(l, y, o), cast(l, DT_F64, load(l, x, o)));
    store(l, y, o, cast(l, y.dtype, hit));
    kernel_end(l);
}

static void infer_multinomial(Infer *s)
{
    const Value *x = infer_in(s, 0);
    infer_dtype(s, 0, node_dtype(s->n, "dtype", DT_I32));
    if (!x || x->rank != 2)
        return;
    int64_t n = node_int(s->n, "sample_size", 1);
    Index dims[2] = {x->dims[0], poly_const(s->polys, n < 0 ? 0 : n)};
    if (n < 0)
        infer_error(s, "sample_size is negative");
    infer_shape(s, 0, 2, dims);
}

// x holds logarithms of what classes weigh: the first class whose sum of weights, with all before
// it, exceeds u of the whole.
static void lower_multinomial(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), sums = temp(l, "sums", DT_F64, 2, x.dims);
    Index o[MAX_RANK] = {0}, k = red(l, x.dims[1]), last = ix_addc(l, x.dims[1], -1);
    if (y.dtype != DT_I32 && y.dtype != DT_I64) {
        not_supported(l, "Multinomial of %s", dtype_info(y.dtype)->name);
        return;
    }
    check(l, index_le(l, ix(l, 1), x.dims[1]), "Multinomial: there is no class");
    kernel(l, "multinomial_sums");
    Index b = par(l, x.dims[0]);
    const Expr *most =
        let(l, reduce(l, R_MAX, 1, &k, NULL, cast(l, DT_F64, load(l, x, (Index[]){b, k}))));
    LocalId sum = row(l, DT_F64, 0, NULL);
    set(l, sum, NULL, zero(l, DT_F64));
    k = seq(l, x.dims[1]);
    const Expr *weight = exp_(l, sub(l, cast(l, DT_F64, load(l, x, (Index[]){b, k})), most));
    set(l, sum, NULL, add(l, get(l, sum, NULL), weight));
    store(l, sums, (Index[]){b, k}, get(l, sum, NULL));
    kernel_end(l);
    kernel(l, "multinomial");
    par_all(l, y, o);
    const Expr *u = let(l, mul(l, unit_at(l, y, o), load(l, sums, (Index[]){o[0], last})));
    k = red(l, last);
    const Expr *below = le(l, load(l, sums, (Index[]){o[0], k}), u);
    store(l, y, o, cast(l, y.dtype, reduce_add(l, 1, &k, NULL, cast(l, DT_I64, below))));
    kernel_end(l);
}

// ---- Dropout

static void infer_dropout(Infer *s)
{
    infer_same(s, 0, 0);
    infer_same(s, 1, 0);
    if (opset_of(s->model, s->n) >= 10)
        infer_dtype(s, 1, DT_BOOL);
    else
        infer_dtype_of(s, 1, 0);
}

static const Expr *first_of(Lower *l, Tensor t)
{
    Index at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < t.rank; i++)
        at[i] = ix(l, 0);
    return load(l, t, at);
}

// Hands its input on unless it trains; then what is kept, all but `ratio`, is made greater by as
// much as the rest is missed. Spec: Dropout-7, -12.
static void lower_dropout(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), mask = output(l, 1);
    Index o[MAX_RANK] = {0};
    const unsigned char *known = constant_input(l, 2, NULL);
    bool trains = has_input(l, 2) && (!known || *known);
    DType f = DT_F64, acc = accumulator(x.dtype);
    const Expr *ratio = has_input(l, 1) ? cast(l, f, first_of(l, input(l, 1))) : num(l, f, 0.5);
    const Expr *kept = int_(l, DT_BOOL, 1);
    Tensor shape = y.buffer ? y : mask;
    if (!shape.buffer)
        return;
    kernel(l, "dropout");
    par_all(l, shape, o);
    const Expr *e = load(l, x, o);
    if (trains) {
        kept = le(l, ratio, unit_at(l, shape, o));
        if (!known)
            kept = or_(l, not_(l, first_of(l, input(l, 2))), kept);
        kept = let(l, kept);
        const Expr *scale = cast(l, acc, div_(l, one(l, f), sub(l, one(l, f), ratio)));
        if (!known)
            scale = select_(l, first_of(l, input(l, 2)), scale, one(l, acc));
        e = cast(l, x.dtype, mul(l, cast(l, acc, e), scale));
        e = select_(l, kept, e, zero(l, x.dtype));
    }
    if (y.buffer)
        store(l, y, o, e);
    if (mask.buffer)
        store(l, mask, o, cast(l, mask.dtype, kept));
    kernel_end(l);
}

const OpDef ops_random[] = {
    {"RandomUniform", 1, infer_random, lower_random, {NULL}, NULL},
    {"RandomNormal", 1, infer_random, lower_random, {NULL}, NULL},
    {"RandomUniformLike", 1, infer_like, lower_random, {NULL}, NULL},
    {"RandomNormalLike", 1, infer_like, lower_random, {NULL}, NULL},
    {"Bernoulli", 15, infer_like, lower_bernoulli, {NULL}, NULL},
    {"Multinomial", 7, infer_multinomial, lower_multinomial, {NULL}, NULL},
    {"Dropout", 1, infer_dropout, lower_dropout, {NULL}, NULL},
    {0},
};
