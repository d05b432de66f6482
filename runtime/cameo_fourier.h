/* Transforms of a length that only the program knows.
 *
 * As ir/ops/fourier.c has them for lengths that are known: a stage for each factor, each of which
 * writes where the next one reads in order, and a convolution where a prime factor is large. A few
 * signals side by side go through all stages while they are in a cache. */
#ifndef CAMEO_FOURIER_H
#define CAMEO_FOURIER_H

#include "cameo_objects.h"

#include <math.h>

enum {
    CAMEO_FOURIER_NEAR = 1 << 13, /* numbers of a block, if it has CAMEO_FOURIER_LANES signals */
    CAMEO_FOURIER_LANES = 8,
    CAMEO_FOURIER_SUMS = 64, /* the largest prime factor that is no convolution */
    CAMEO_FOURIER_FACTORS = 64
};

/* Complex numbers, real and imaginary parts apart. */
typedef struct cameo_waves {
    double *re, *im;
} cameo_waves;

typedef struct cameo_fourier_plan {
    int64_t n, factor[CAMEO_FOURIER_FACTORS];
    int count;               /* of factors */
    cameo_waves turns;       /* e^(-2 pi i k / n) */
    cameo_waves chirp, with; /* of a convolution: e^(-pi i k^2 / n), and what it multiplies by */
    struct cameo_fourier_plan *inner; /* the transform of a convolution; NULL: by factors */
} cameo_fourier_plan;

/* One stage: r numbers m * run apart, r * m * s numbers in all, of which run is s times the signals
 * side by side. */
typedef struct cameo_fourier_stage {
    int64_t r, m, s, run, n;
    cameo_waves x, y, turns;
} cameo_fourier_stage;

CAMEO_FN int cameo_waves_take(cameo_objects *o, int64_t n, cameo_waves *w)
{
    w->re = n < INT64_MAX / 32 ? (double *)cameo_objects_alloc(o, 2 * n * (int64_t)sizeof(double))
                               : NULL;
    w->im = w->re ? w->re + n : NULL;
    return w->re ? 0 : cameo_objects_fail(o, "no memory for a transform");
}

/* e^(-2 pi i t / n), from an angle of at most an eighth of a turn. */
CAMEO_FN void cameo_fourier_turn(int64_t t, int64_t n, double *re, double *im)
{
    const int64_t quarter = 4 * t / n, rest = 4 * t % n;
    const int swap = 2 * rest > n;
    const double angle = 1.57079632679489661923 * (double)(swap ? n - rest : rest) / (double)n;
    const double a = swap ? sin(angle) : cos(angle), b = swap ? cos(angle) : sin(angle);
    *re = quarter == 0 ? a : quarter == 1 ? -b : quarter == 2 ? -a : b;
    *im = quarter == 0 ? -b : quarter == 1 ? -a : quarter == 2 ? b : a;
}

/* All n turns: few are computed, the others are products of two of these. */
CAMEO_FN int cameo_fourier_turns(cameo_objects *o, int64_t n, cameo_waves *to)
{
    int64_t few = 1;
    cameo_waves fine;
    while (few * few < n)
        few *= 2;
    if (cameo_waves_take(o, n, to) || cameo_waves_take(o, few, &fine))
        return -1;
    for (int64_t k = 0; k < few && k < n; k++)
        cameo_fourier_turn(k, n, &fine.re[k], &fine.im[k]);
    for (int64_t k = 0; k < n; k += few) {
        double c, s;
        cameo_fourier_turn(k, n, &c, &s);
        for (int64_t i = 0; i < few && k + i < n; i++) {
            to->re[k + i] = c * fine.re[i] - s * fine.im[i];
            to->im[k + i] = c * fine.im[i] + s * fine.re[i];
        }
    }
    return 0;
}

/* ---- stages ------------------------------------------------------------------------------- */

CAMEO_FN void cameo_fourier_2(const cameo_fourier_stage *g)
{
    const int64_t run = g->run, half = g->m * run;
    for (int64_t p = 0; p < g->m; p++) {
        const double c = g->turns.re[p * g->s], s = g->turns.im[p * g->s];
        const double *restrict re = g->x.re + p * run, *restrict im = g->x.im + p * run;
        double *restrict to_re = g->y.re + 2 * p * run, *restrict to_im = g->y.im + 2 * p * run;
        for (int64_t t = 0; t < run; t++) {
            const double a = re[t] - re[t + half], b = im[t] - im[t + half];
            to_re[t] = re[t] + re[t + half];
            to_im[t] = im[t] + im[t + half];
            to_re[t + run] = a * c - b * s;
            to_im[t + run] = a * s + b * c;
        }
    }
}

CAMEO_FN void cameo_fourier_3(const cameo_fourier_stage *g)
{
    const int64_t run = g->run, third = g->m * run;
    const double sine = 0.86602540378443864676;
    for (int64_t p = 0; p < g->m; p++) {
        const double *turn = g->turns.re + p * g->s, *turn_im = g->turns.im + p * g->s;
        const double c1 = turn[0], s1 = turn_im[0], c2 = turn[p * g->s], s2 = turn_im[p * g->s];
        const double *restrict re = g->x.re + p * run, *restrict im = g->x.im + p * run;
        double *restrict to_re = g->y.re + 3 * p * run, *restrict to_im = g->y.im + 3 * p * run;
        for (int64_t t = 0; t < run; t++) {
            const double a = re[t + third] + re[t + 2 * third];
            const double b = im[t + third] + im[t + 2 * third];
            const double c = sine * (re[t + third] - re[t + 2 * third]);
            const double d = sine * (im[t + third] - im[t + 2 * third]);
            const double e = re[t] - 0.5 * a, f = im[t] - 0.5 * b;
            to_re[t] = re[t] + a;
            to_im[t] = im[t] + b;
            to_re[t + run] = (e + d) * c1 - (f - c) * s1;
            to_im[t + run] = (e + d) * s1 + (f - c) * c1;
            to_re[t + 2 * run] = (e - d) * c2 - (f + c) * s2;
            to_im[t + 2 * run] = (e - d) * s2 + (f + c) * c2;
        }
    }
}

CAMEO_FN void cameo_fourier_4(const cameo_fourier_stage *g)
{
    const int64_t run = g->run, part = g->m * run;
    for (int64_t p = 0; p < g->m; p++) {
        const int64_t k = p * g->s;
        const double c1 = g->turns.re[k], s1 = g->turns.im[k], c2 = g->turns.re[2 * k],
                     s2 = g->turns.im[2 * k], c3 = g->turns.re[3 * k], s3 = g->turns.im[3 * k];
        const double *restrict re = g->x.re + p * run, *restrict im = g->x.im + p * run;
        double *restrict to_re = g->y.re + 4 * p * run, *restrict to_im = g->y.im + 4 * p * run;
        for (int64_t t = 0; t < run; t++) {
            const double a = re[t] + re[t + 2 * part], b = re[t] - re[t + 2 * part];
            const double c = re[t + part] + re[t + 3 * part], d = re[t + part] - re[t + 3 * part];
            const double e = im[t] + im[t + 2 * part], f = im[t] - im[t + 2 * part];
            const double h = im[t + part] + im[t + 3 * part], i = im[t + part] - im[t + 3 * part];
            to_re[t] = a + c;
            to_im[t] = e + h;
            to_re[t + run] = (b + i) * c1 - (f - d) * s1;
            to_im[t + run] = (b + i) * s1 + (f - d) * c1;
            to_re[t + 2 * run] = (a - c) * c2 - (e - h) * s2;
            to_im[t + 2 * run] = (a - c) * s2 + (e - h) * c2;
            to_re[t + 3 * run] = (b - i) * c3 - (f + d) * s3;
            to_im[t + 3 * run] = (b - i) * s3 + (f + d) * c3;
        }
    }
}

/* n numbers times c + i s. */
CAMEO_FN void cameo_fourier_turned(double *restrict re, double *restrict im, int64_t n, double c,
                                   double s)
{
    for (int64_t t = 0; t < n; t++) {
        const double a = re[t], b = im[t];
        re[t] = a * c - b * s;
        im[t] = a * s + b * c;
    }
}

/* Any number of them, by sums; the last step turns. */
CAMEO_FN void cameo_fourier_sums(const cameo_fourier_stage *g)
{
    const int64_t run = g->run, r = g->r, part = g->n / r;
    for (int64_t p = 0; p < g->m; p++)
        for (int64_t k = 0; k < r; k++) {
            double *restrict to_re = g->y.re + (p * r + k) * run;
            double *restrict to_im = g->y.im + (p * r + k) * run;
            for (int64_t t = 0; t < run; t++)
                to_re[t] = to_im[t] = 0;
            for (int64_t j = 0; j < r; j++) {
                const double c = g->turns.re[j * k % r * part], s = g->turns.im[j * k % r * part];
                const double *restrict re = g->x.re + (j * g->m + p) * run;
                const double *restrict im = g->x.im + (j * g->m + p) * run;
                for (int64_t t = 0; t < run; t++) {
                    to_re[t] += re[t] * c - im[t] * s;
                    to_im[t] += re[t] * s + im[t] * c;
                }
            }
            cameo_fourier_turned(to_re, to_im, run, g->turns.re[p * k * g->s],
                                 g->turns.im[p * k * g->s]);
        }
}

/* ---- transforms --------------------------------------------------------------------------- */

/* Of `lanes` signals in x; the result is in the one of x and y that is returned. */
CAMEO_FN cameo_waves cameo_fourier_factors(const cameo_fourier_plan *p, cameo_waves x,
                                           cameo_waves y, int64_t lanes)
{
    cameo_fourier_stage g = {.m = p->n, .s = 1, .n = p->n, .turns = p->turns};
    for (int i = 0; i < p->count; i++) {
        g.r = p->factor[i];
        g.m /= g.r;
        g.run = g.s * lanes;
        g.x = x;
        g.y = y;
        if (g.r == 4)
            cameo_fourier_4(&g);
        else if (g.r == 3)
            cameo_fourier_3(&g);
        else if (g.r == 2)
            cameo_fourier_2(&g);
        else
            cameo_fourier_sums(&g);
        g.s *= g.r;
        x = g.y;
        y = g.x;
    }
    return x;
}

/* x times a number for each of its n rows. */
CAMEO_FN void cameo_fourier_multiply(cameo_waves x, cameo_waves by, int64_t n, int64_t lanes)
{
    for (int64_t k = 0; k < n; k++)
        cameo_fourier_turned(x.re + k * lanes, x.im + k * lanes, lanes, by.re[k], by.im[k]);
}

/* j k = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution, where the plan has one. */
CAMEO_FN cameo_waves cameo_fourier_transform(const cameo_fourier_plan *p, cameo_waves x,
                                             cameo_waves y, int64_t lanes)
{
    if (!p->inner)
        return cameo_fourier_factors(p, x, y, lanes);
    const int64_t m = p->inner->n;
    cameo_fourier_multiply(x, p->chirp, p->n, lanes);
    for (int64_t i = p->n * lanes; i < m * lanes; i++)
        x.re[i] = x.im[i] = 0;
    const cameo_waves z = cameo_fourier_factors(p->inner, x, y, lanes);
    const cameo_waves other = z.re == x.re ? y : x;
    cameo_fourier_multiply(z, p->with, m, lanes);
    /* Parts that change places make it the inverse. */
    const cameo_waves back = cameo_fourier_factors(p->inner, (cameo_waves){z.im, z.re},
                                                   (cameo_waves){other.im, other.re}, lanes);
    x = (cameo_waves){back.im, back.re};
    cameo_fourier_multiply(x, p->chirp, p->n, lanes);
    return x;
}

/* The factors of n, 4 first; returns the greatest. */
CAMEO_FN int64_t cameo_fourier_factor(int64_t n, cameo_fourier_plan *p)
{
    *p = (cameo_fourier_plan){.n = n};
    for (; n % 4 == 0; n /= 4)
        p->factor[p->count++] = 4;
    for (int64_t f = 2; n > 1; f += 1 + (f > 2)) {
        if (f > CAMEO_FOURIER_SUMS && f * f > n)
            f = n;
        for (; n % f == 0; n /= f)
            p->factor[p->count++] = f;
    }
    return p->count ? p->factor[p->count - 1] : 1;
}

CAMEO_FN int cameo_fourier_convolution(cameo_objects *o, cameo_fourier_plan *p)
{
    const int64_t n = p->n;
    int64_t m = 1;
    cameo_waves turns, with, spare;
    while (m < 2 * n - 1)
        m *= 2;
    p->inner = (cameo_fourier_plan *)cameo_objects_alloc(o, (int64_t)sizeof *p->inner);
    if (!p->inner || cameo_fourier_turns(o, 2 * n, &turns) || cameo_waves_take(o, n, &p->chirp) ||
        cameo_waves_take(o, m, &with) || cameo_waves_take(o, m, &spare))
        return cameo_objects_fail(o, "no memory for a transform");
    cameo_fourier_factor(m, p->inner);
    if (cameo_fourier_turns(o, m, &p->inner->turns))
        return -1;
    memset(with.re, 0, (size_t)m * sizeof *with.re);
    memset(with.im, 0, (size_t)m * sizeof *with.im);
    for (int64_t k = 0, square = 0; k < n; k++) { /* square: k * k modulo 2 n */
        p->chirp.re[k] = turns.re[square];
        p->chirp.im[k] = turns.im[square];
        const int64_t mirror = k ? m - k : 0;
        with.re[k] = with.re[mirror] = turns.re[square] / (double)m;
        with.im[k] = with.im[mirror] = -turns.im[square] / (double)m;
        square = (square + 2 * k + 1) % (2 * n);
    }
    p->with = cameo_fourier_factors(p->inner, with, spare, 1);
    return 0;
}

/* (re, im) => (re, im) [n, batch, inverse]: sums over k of x[k] e^(-2 pi i j k / n), + where
 * inverse; element k of signal b is at k * batch + b. */
CAMEO_FN int cameo_fourier(cameo_objects *o, const cameo_call *c)
{
    const int64_t n = c->n[0], batch = c->n[1];
    const int back = c->n[2] != 0;
    const double *from[2] = {(const double *)c->reads[back].at, (const double *)c->reads[!back].at};
    double *to[2] = {(double *)(uintptr_t)c->writes[back].at,
                     (double *)(uintptr_t)c->writes[!back].at};
    cameo_fourier_plan p;
    cameo_waves x, y;
    if (n < 1 || batch < 1)
        return 0;
    const int apart = cameo_fourier_factor(n, &p) > CAMEO_FOURIER_SUMS;
    if (apart ? cameo_fourier_convolution(o, &p) : cameo_fourier_turns(o, n, &p.turns))
        return -1;
    const int64_t rows = p.inner ? p.inner->n : n, near = CAMEO_FOURIER_NEAR / rows;
    int64_t block = near > CAMEO_FOURIER_LANES ? near : CAMEO_FOURIER_LANES;
    block = block < batch ? block : batch;
    if (rows > INT64_MAX / 32 / block || cameo_waves_take(o, rows * block, &x) ||
        cameo_waves_take(o, rows * block, &y))
        return cameo_objects_fail(o, "no memory for a transform");
    for (int64_t b = 0; b < batch; b += block) {
        const int64_t lanes = batch - b < block ? batch - b : block;
        for (int64_t k = 0; k < n; k++) {
            memcpy(x.re + k * lanes, from[0] + k * batch + b, (size_t)lanes * sizeof *x.re);
            memcpy(x.im + k * lanes, from[1] + k * batch + b, (size_t)lanes * sizeof *x.im);
        }
        const cameo_waves z = cameo_fourier_transform(&p, x, y, lanes);
        for (int64_t k = 0; k < n; k++) {
            memcpy(to[0] + k * batch + b, z.re + k * lanes, (size_t)lanes * sizeof *x.re);
            memcpy(to[1] + k * batch + b, z.im + k * lanes, (size_t)lanes * sizeof *x.im);
        }
    }
    return 0;
}

#endif
