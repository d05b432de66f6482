// Fast Fourier transforms.
//
// 1. n = r1 * r2 * ... A stage for each factor: r numbers that lie n / r apart are transformed, and
//    turned by a power of e^(2 pi i / n). Each stage writes its results where the next one finds
//    them in order (Stockham), so nothing is permuted. Signals lie side by side: the innermost loop
//    of a stage runs over neighbours.
// 2. Factors are 4, then primes up to 13, whose sums are written out, then other primes by sums.
// 3. A length with a greater prime factor than LARGEST is a convolution with e^(i pi k^2 / n)
//    (Bluestein), taken by transforms of a power of two.
// 4. Of a length that only the program knows runtime/cameo_fourier.h does the same.

#include "ir/ops/fourier.h"
#include "ir/ops/gradient.h"

#include <math.h>
#include <stdlib.h>

enum { WRITTEN_OUT = 13, LARGEST = 64, TABLE = 1 << 16, FACTORS = 64 };

static const double pi = 3.14159265358979323846;

typedef struct Turn {
    double re, im;
} Turn;

// e^(2 pi i t / n), from an angle of at most an eighth of a turn.
static Turn turn_of(int64_t t, int64_t n)
{
    int64_t quarter = 4 * (t % n) / n, rest = 4 * (t % n) % n;
    bool swap = 2 * rest > n;
    double angle = pi / 2 * (double)(swap ? n - rest : rest) / (double)n;
    Turn e = swap ? (Turn){sin(angle), cos(angle)} : (Turn){cos(angle), sin(angle)};
    switch (quarter) {
    case 0:
        return e;
    case 1:
        return (Turn){-e.im, e.re};
    case 2:
        return (Turn){-e.re, -e.im};
    default:
        return (Turn){e.im, -e.re};
    }
}

// ---- complex expressions; im NULL: a real number -----------------------------------------------

typedef struct Cx {
    const Expr *re, *im;
} Cx;

static const Expr *plus(Lower *l, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : add(l, a, b);
}

static const Expr *minus(Lower *l, const Expr *a, const Expr *b)
{
    return !b ? a : !a ? neg(l, b) : sub(l, a, b);
}

static const Expr *times(Lower *l, const Expr *a, double k)
{
    return a ? mul(l, a, num(l, DT_F64, k)) : NULL;
}

static const Expr *kept(Lower *l, const Expr *e)
{
    return e ? let(l, e) : NULL;
}

static Cx cx_add(Lower *l, Cx a, Cx b)
{
    return (Cx){kept(l, plus(l, a.re, b.re)), kept(l, plus(l, a.im, b.im))};
}

static Cx cx_sub(Lower *l, Cx a, Cx b)
{
    return (Cx){kept(l, minus(l, a.re, b.re)), kept(l, minus(l, a.im, b.im))};
}

static Cx cx_mul(Lower *l, Cx a, Cx b)
{
    const Expr *re = mul(l, a.re, b.re), *im = mul(l, a.re, b.im);
    if (a.im) {
        re = sub(l, re, mul(l, a.im, b.im));
        im = add(l, im, mul(l, a.im, b.re));
    }
    return (Cx){re, im};
}

// a + i * b and a - i * b.
static Cx cx_plus_i(Lower *l, Cx a, Cx b)
{
    return (Cx){minus(l, a.re, b.im), plus(l, a.im, b.re)};
}

static Cx cx_minus_i(Lower *l, Cx a, Cx b)
{
    return (Cx){plus(l, a.re, b.im), minus(l, a.im, b.re)};
}

// ---- transforms of few numbers -----------------------------------------------------------------

static void transform_4(Lower *l, Cx *x, bool inverse)
{
    Cx a = cx_add(l, x[0], x[2]), b = cx_sub(l, x[0], x[2]), c = cx_add(l, x[1], x[3]),
       d = cx_sub(l, x[1], x[3]);
    x[0] = cx_add(l, a, c);
    x[2] = cx_sub(l, a, c);
    x[1] = inverse ? cx_plus_i(l, b, d) : cx_minus_i(l, b, d);
    x[3] = inverse ? cx_minus_i(l, b, d) : cx_plus_i(l, b, d);
}

// An odd number of them: x[j] and x[r - j] have cosines in common and sines up to the sign.
static void transform_odd(Lower *l, Cx *x, int64_t r, bool inverse)
{
    Cx both[WRITTEN_OUT], apart[WRITTEN_OUT], first = x[0];
    for (int64_t j = 1; 2 * j < r; j++) {
        both[j] = cx_add(l, x[j], x[r - j]);
        apart[j] = cx_sub(l, x[j], x[r - j]);
        x[0] = (Cx){plus(l, x[0].re, both[j].re), plus(l, x[0].im, both[j].im)};
    }
    for (int64_t k = 1; 2 * k < r; k++) {
        Cx a = first, b = {NULL, NULL};
        for (int64_t j = 1; 2 * j < r; j++) {
            Turn e = turn_of(j * k, r);
            a = (Cx){plus(l, a.re, times(l, both[j].re, e.re)),
                     plus(l, a.im, times(l, both[j].im, e.re))};
            b = (Cx){plus(l, b.re, times(l, apart[j].re, e.im)),
                     plus(l, b.im, times(l, apart[j].im, e.im))};
        }
        a = (Cx){kept(l, a.re), kept(l, a.im)};
        b = (Cx){kept(l, b.re), kept(l, b.im)};
        x[k] = inverse ? cx_plus_i(l, a, b) : cx_minus_i(l, a, b);
        x[r - k] = inverse ? cx_minus_i(l, a, b) : cx_plus_i(l, a, b);
    }
}

static void transform_few(Lower *l, Cx *x, int64_t r, bool inverse)
{
    if (r == 2) {
        Cx a = x[0];
        x[0] = cx_add(l, a, x[1]);
        x[1] = cx_sub(l, a, x[1]);
    } else if (r == 4) {
        transform_4(l, x, inverse);
    } else {
        transform_odd(l, x, r, inverse);
    }
}

// ---- waves -------------------------------------------------------------------------------------

Waves waves_new(Lower *l, Index n, Index batch, bool real)
{
    Index size = ix_mul(l, batch, n);
    Waves w = {.n = n, .batch = batch};
    w.re = temp(l, "re", DT_F64, 1, &size);
    if (!real)
        w.im = temp(l, "im", DT_F64, 1, &size);
    return w;
}

Index waves_at(Lower *l, const Waves *w, Index k, Index b)
{
    return ix_add(l, ix_mul(l, k, w->batch), b);
}

static Cx wave_load(Lower *l, const Waves *w, Index at)
{
    return (Cx){load(l, w->re, &at), w->im.buffer ? load(l, w->im, &at) : NULL};
}

static void wave_store(Lower *l, const Waves *w, Index at, Cx e)
{
    store(l, w->re, &at, e.re);
    store(l, w->im, &at, e.im ? e.im : zero(l, DT_F64));
}

// e^(+-2 pi i k / n) for k below n: constants, or computed by the program where they are many.
static Waves turns_of(Lower *l, int64_t n, bool inverse)
{
    if (n > TABLE) {
        Waves w = waves_new(l, ix(l, n), ix(l, 1), false);
        kernel(l, "turns");
        Index k = par(l, ix(l, n));
        const Expr *share = div_(l, from_index(l, k, DT_F64), num(l, DT_F64, (double)n));
        const Expr *angle = mul(l, share, num(l, DT_F64, inverse ? 2 * pi : -2 * pi));
        wave_store(l, &w, k, (Cx){unary(l, U_COS, angle), unary(l, U_SIN, angle)});
        kernel_end(l);
        return w;
    }
    double *re = arena_alloc(l->arena, (size_t)n * sizeof *re),
           *im = arena_alloc(l->arena, (size_t)n * sizeof *im);
    for (int64_t k = 0; k < n; k++) {
        Turn e = turn_of(k, n);
        re[k] = e.re;
        im[k] = inverse ? e.im : -e.im;
    }
    return (Waves){.re = table(l, "turns", DT_F64, (uint64_t)n, re),
                   .im = table(l, "turns", DT_F64, (uint64_t)n, im),
                   .n = ix(l, n),
                   .batch = ix(l, 1)};
}

typedef struct Stage {
    int64_t n, r, m, s; // n = r * m * s: r numbers, m * s apart; transformed already: s
    Index p, t;         // of m, and of s * batch
    Index run;          // s * batch
} Stage;

static void open_stage(Lower *l, Stage *g)
{
    int64_t run;
    bool few = poly_is_const(g->run, &run) && run < 4; // neighbours are then those along p
    kernel(l, "fft");
    if (few)
        g->t = run == 1 ? ix(l, 0) : par(l, g->run);
    g->p = g->m == 1 ? ix(l, 0) : par(l, ix(l, g->m));
    if (!few)
        g->t = par(l, g->run);
}

static Index from_place(Lower *l, const Stage *g, Index j)
{
    Index row = ix_add(l, ix_scale(l, j, g->m), g->p);
    return ix_add(l, ix_mul(l, row, g->run), g->t);
}

static Index to_place(Lower *l, const Stage *g, Index k)
{
    Index row = ix_add(l, ix_scale(l, g->p, g->r), k);
    return ix_add(l, ix_mul(l, row, g->run), g->t);
}

static Cx turned(Lower *l, const Stage *g, const Waves *turns, Index k, Cx e)
{
    if (g->m == 1 || poly_equals(k, 0))
        return e;
    return cx_mul(l, e, wave_load(l, turns, ix_scale(l, ix_mul(l, g->p, k), g->s)));
}

static void stage_of_few(Lower *l, Stage *g, const Waves *x, const Waves *y, const Waves *turns,
                         bool inverse)
{
    Cx e[WRITTEN_OUT];
    open_stage(l, g);
    for (int64_t j = 0; j < g->r; j++) {
        e[j] = wave_load(l, x, from_place(l, g, ix(l, j)));
        e[j] = (Cx){kept(l, e[j].re), kept(l, e[j].im)};
    }
    transform_few(l, e, g->r, inverse);
    for (int64_t k = 0; k < g->r; k++)
        wave_store(l, y, to_place(l, g, ix(l, k)), turned(l, g, turns, ix(l, k), e[k]));
    kernel_end(l);
}

static void stage_of_sums(Lower *l, Stage *g, const Waves *x, const Waves *y, const Waves *turns)
{
    open_stage(l, g);
    Index k = par(l, ix(l, g->r)), j = red(l, ix(l, g->r)),
          angle = ix_mod(l, ix_mul(l, j, k), ix(l, g->r));
    Cx e = cx_mul(l, wave_load(l, x, from_place(l, g, j)),
                  wave_load(l, turns, ix_scale(l, angle, g->n / g->r)));
    Cx sum = {let(l, reduce_add(l, 1, &j, NULL, e.re)), let(l, reduce_add(l, 1, &j, NULL, e.im))};
    wave_store(l, y, to_place(l, g, k), turned(l, g, turns, k, sum));
    kernel_end(l);
}

static uint32_t factors_of(int64_t n, int64_t *factor)
{
    uint32_t count = 0;
    for (; n % 4 == 0; n /= 4)
        factor[count++] = 4;
    for (int64_t p = 2; n > 1; p += 1 + (p > 2)) {
        if (p > LARGEST && p * p > n)
            p = n;
        for (; n % p == 0; n /= p)
            factor[count++] = p;
    }
    return count;
}

static Waves by_factors(Lower *l, Waves w, int64_t n, bool inverse, const int64_t *factor,
                        uint32_t count)
{
    Waves turns = turns_of(l, n, inverse);
    Stage g = {.n = n, .m = n, .s = 1};
    for (uint32_t i = 0; i < count; i++) {
        Waves y = waves_new(l, w.n, w.batch, false);
        g.r = factor[i];
        g.m /= g.r;
        g.run = ix_scale(l, w.batch, g.s);
        if (g.r <= WRITTEN_OUT)
            stage_of_few(l, &g, &w, &y, &turns, inverse);
        else
            stage_of_sums(l, &g, &w, &y, &turns);
        g.s *= g.r;
        w = y;
    }
    return w;
}

// ---- any length by convolution -----------------------------------------------------------------

// The transform of a power of two numbers, in place: even and odd places apart, then joined.
static void transform_now(Turn *x, Turn *spare, int64_t n, int64_t step)
{
    if (step >= n)
        return;
    transform_now(spare, x, n, 2 * step);
    transform_now(spare + step, x + step, n, 2 * step);
    for (int64_t k = 0; k < n; k += 2 * step) {
        Turn e = turn_of(n - k / 2, n), a = spare[k], b = spare[k + step];
        Turn c = {b.re * e.re - b.im * e.im, b.re * e.im + b.im * e.re};
        x[k / 2] = (Turn){a.re + c.re, a.im + c.im};
        x[(k + n) / 2] = (Turn){a.re - c.re, a.im - c.im};
    }
}

static Waves constants(Lower *l, const Turn *e, int64_t n, double scale)
{
    double *re = arena_alloc(l->arena, (size_t)n * sizeof *re),
           *im = arena_alloc(l->arena, (size_t)n * sizeof *im);
    for (int64_t k = 0; k < n; k++) {
        re[k] = e[k].re * scale;
        im[k] = e[k].im * scale;
    }
    return (Waves){.re = table(l, "chirp", DT_F64, (uint64_t)n, re),
                   .im = table(l, "chirp", DT_F64, (uint64_t)n, im),
                   .n = ix(l, n),
                   .batch = ix(l, 1)};
}

// y = x * by, element by element up to `used`, then 0.
static Waves multiplied(Lower *l, const Waves *x, const Waves *by, int64_t n, int64_t used)
{
    Waves y = waves_new(l, ix(l, n), x->batch, false);
    Index parts[2] = {ix(l, 0), ix(l, used)};
    int64_t sizes[2] = {used, n - used};
    kernel(l, "chirp");
    for (int i = 0; i < 2 && sizes[i] > 0; i++) {
        Index k = ix_add(l, par(l, ix(l, sizes[i])), parts[i]), b = par(l, x->batch);
        Cx e = {zero(l, DT_F64), zero(l, DT_F64)};
        if (i == 0)
            e = cx_mul(l, wave_load(l, x, waves_at(l, x, k, b)), wave_load(l, by, k));
        wave_store(l, &y, waves_at(l, &y, k, b), e);
        end(l);
        end(l);
    }
    kernel_end(l);
    return y;
}

// j k = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution.
static Waves by_convolution(Lower *l, Waves w, int64_t n, bool inverse)
{
    int64_t m = 1;
    while (m < 2 * n - 1)
        m *= 2;
    Turn *chirp = NEWS(l->arena, Turn, (size_t)n), *other = NEWS(l->arena, Turn, (size_t)m),
         *spare = NEWS(l->arena, Turn, (size_t)m);
    for (int64_t k = 0; k < n; k++) {
        Turn e = turn_of(k * k % (2 * n), 2 * n);
        chirp[k] = (Turn){e.re, inverse ? e.im : -e.im};
        other[k] = (Turn){e.re, -chirp[k].im};
        if (k > 0)
            other[m - k] = other[k];
    }
    for (int64_t k = 0; k < m; k++)
        spare[k] = other[k];
    transform_now(other, spare, m, 1);
    Waves by = constants(l, chirp, n, 1), with = constants(l, other, m, 1 / (double)m);
    Waves x = multiplied(l, &w, &by, m, n);
    x = waves_transform(l, x, false);
    x = multiplied(l, &x, &with, m, m);
    x = waves_transform(l, x, true);
    return multiplied(l, &x, &by, n, n);
}

// ---- open lengths

static Waves by_call(Lower *l, Waves w, bool inverse)
{
    Waves y = waves_new(l, w.n, w.batch, false);
    step_call(l, "fourier", 2, (Tensor[]){w.re, w.im}, 2, (Tensor[]){y.re, y.im}, 3,
              (Index[]){w.n, w.batch, ix(l, inverse)});
    return y;
}

// The longest signal that kernels transform.
#define WAVES_MAX ((int64_t)1 << 40)

bool waves_can(Lower *l, Index n)
{
    int64_t known;
    if (poly_is_const(n, &known))
        return known > 0 && known <= WAVES_MAX;
    return !may_be_derived(l);
}

Waves waves_transform(Lower *l, Waves w, bool inverse)
{
    int64_t factor[FACTORS], n;
    if (!poly_is_const(w.n, &n))
        return by_call(l, w, inverse);
    uint32_t count = factors_of(n, factor);
    if (count && factor[count - 1] > LARGEST && n <= TABLE)
        return by_convolution(l, w, n, inverse);
    return by_factors(l, w, n, inverse, factor, count);
}
