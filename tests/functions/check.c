// check [--all] [--samples N] [--filter NAME] [--build NAME] [-j N]: the elementary functions of
// float32, as emitted programs compute them, beside the C library's in float64.
//
// Errors are in units in the last place of the exact result: the distance from it, in units of the
// float32 at its exponent (2^-149 where it is subnormal). An infinite float32 stands for 2^128, so
// that an overflow where the exact result rounds to the greatest float32 is no more than its
// distance. NaN has to be NaN, and signs have to be right, also of zeros. What is sampled is taken
// with other numbers beside it too, which may not change its bits.
//
// --all takes all 2^32 floats, in two builds: without and with multiply-and-add. Otherwise each of
// the 512 pairs of sign and exponent has N mantissas: its ends, and others from a fixed sequence.
// --build takes one build alone: plain, strict, fma, wide, divided or asked.

#include "tests/functions/functions.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, MAX_BUILDS = 6, MAX_JOBS = 256 };

typedef struct Function {
    const char *name;
    double limit;
    bool library; // one build says it all
    bool of_x;    // units of half of the argument where that is greater than the result
} Function;

static const Function functions[F_COUNT] = {
#define FUNCTION(name, ours, theirs, limit) {#name, limit, false, false},
#define LIBRARY(name, ours, theirs, limit) {#name, limit, true, false},
#define OF_X(name, ours, theirs, limit) {#name, limit, false, true},
#define ROW_OF_X OF_X
#include "tests/functions/functions.def"
#undef FUNCTION
};

typedef struct Worst {
    double error; // units in the last place, of results that are not the exact one rounded
    uint32_t at;  // the float's bits
    uint64_t apart, faults;
    uint32_t fault_at; // of a NaN or a sign that is wrong
} Worst;

typedef struct Work {
    const Build *builds[MAX_BUILDS];
    int nbuilds, function;
    uint64_t blocks, samples; // samples of each pair of sign and exponent; 0: all floats
    _Atomic uint64_t next;
    pthread_mutex_t lock;
    Worst worst[MAX_BUILDS];
} Work;

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint64_t bits_of_double(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static double power_of_two(int e)
{
    uint64_t u = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// Units in the last place of float32 between y and the exact result, or of `beside` where that is
// greater; -1: NaN or sign is wrong.
static double distance(float y, double exact, double beside)
{
    if (isnan(exact) || isnan(y))
        return isnan(exact) && isnan(y) ? 0 : -1;
    if (!signbit(y) != !signbit(exact))
        return -1;
    double got = isinf(y) ? 0x1p128 : fabs((double)y), want = fmin(fabs(exact), 0x1p128);
    int e = (int)(bits_of_double(fmax(want, beside)) >> 52) - 1023;
    e = e < -126 ? -126 : e > 127 ? 127 : e;
    return fabs(got - want) * power_of_two(23 - e);
}

// The k-th float that is looked at.
static uint32_t sample(const Work *w, uint64_t k)
{
    if (!w->samples)
        return (uint32_t)k;
    uint64_t pair = k / w->samples, i = k % w->samples, half = w->samples / 4;
    uint32_t mantissa = i < half       ? (uint32_t)i
                        : i < 2 * half ? 0x7fffffu - (uint32_t)(i - half)
                                       : (uint32_t)((k * 0x9e3779b97f4a7c15u) >> 41);
    return (uint32_t)pair << 23 | mantissa;
}

static int builds_of(const Work *w)
{
    return functions[w->function].library ? 1 : w->nbuilds;
}

static void note(Worst *worst, uint32_t at, float y, double exact, bool of_x)
{
    double d = distance(y, exact, of_x ? 0.5 * fabs((double)float_of(at)) : 0);
    if (d < 0 && !worst->faults++)
        worst->fault_at = at;
    if (d > worst->error) {
        worst->error = d;
        worst->at = at;
    }
}

// A result has the same bits whatever lies beside its number: one in seven is made large.
static void compare_beside(const Work *w, const Evaluate evaluate, float *x, const float *y,
                           uint64_t from, Worst *worst)
{
    static _Thread_local float beside[BLOCK];
    for (long i = 0; i < BLOCK; i += 7)
        x[i] = i % 2 ? -1000 : 1000;
    evaluate(x, beside, BLOCK);
    for (long i = 0; i < BLOCK; i++) {
        if (i % 7 && bits_of(beside[i]) != bits_of(y[i]) && !(isnan(y[i]) && isnan(beside[i])) &&
            !worst->faults++)
            worst->fault_at = sample(w, from + (uint64_t)i);
        x[i] = float_of(sample(w, from + (uint64_t)i));
    }
}

static void compare(const Work *w, uint64_t from, Worst *worst)
{
    static _Thread_local float x[BLOCK], y[BLOCK], rounded[BLOCK];
    static _Thread_local double exact[BLOCK];
    for (long i = 0; i < BLOCK; i++)
        x[i] = float_of(sample(w, from + (uint64_t)i));
    references[w->function](x, exact, BLOCK);
    for (long i = 0; i < BLOCK; i++)
        rounded[i] = (float)exact[i];
    for (int b = 0; b < builds_of(w); b++) {
        w->builds[b]->evaluate[w->function](x, y, BLOCK);
        if (w->samples)
            compare_beside(w, w->builds[b]->evaluate[w->function], x, y, from, &worst[b]);
        for (long i = 0; i < BLOCK; i++) {
            if (functions[w->function].of_x && y[i] == 0) // less than its units: has no sign
                y[i] = (float)copysign(0.0, exact[i]);
            if (bits_of(y[i]) == bits_of(rounded[i]))
                continue;
            worst[b].apart += !isnan(exact[i]) || !isnan(y[i]);
            note(&worst[b], sample(w, from + (uint64_t)i), y[i], exact[i],
                 functions[w->function].of_x);
        }
    }
}

static void join(Worst *sum, const Worst *part)
{
    if (part->error > sum->error || (part->error == sum->error && part->at < sum->at)) {
        sum->error = part->error;
        sum->at = part->at;
    }
    if (part->faults && (!sum->faults || part->fault_at < sum->fault_at))
        sum->fault_at = part->fault_at;
    sum->apart += part->apart;
    sum->faults += part->faults;
}

static void *job(void *context)
{
    Work *w = context;
    Worst worst[MAX_BUILDS] = {{0}};
    for (uint64_t k; (k = w->next++) < w->blocks;)
        compare(w, k * BLOCK, worst);
    pthread_mutex_lock(&w->lock);
    for (int b = 0; b < builds_of(w); b++)
        join(&w->worst[b], &worst[b]);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// Prints a line for each build; false: an error beyond the limit.
static bool check(Work *w, int function, int jobs)
{
    pthread_t threads[MAX_JOBS];
    bool fits = true;
    w->function = function;
    w->next = 0;
    memset(w->worst, 0, sizeof w->worst);
    for (int j = 1; j < jobs; j++)
        if (pthread_create(&threads[j], NULL, job, w))
            jobs = j;
    job(w);
    for (int j = 1; j < jobs; j++)
        pthread_join(threads[j], NULL);
    for (int b = 0; b < builds_of(w); b++) {
        const Worst *worst = &w->worst[b];
        double share = 100.0 - 100.0 * (double)worst->apart / (double)(w->blocks * BLOCK);
        printf("%-8s %-7s %8.3f units at %-14a %9.4f %% correctly rounded",
               functions[function].name,
               functions[function].library ? "library" : w->builds[b]->name, worst->error,
               (double)float_of(worst->at), share);
        if (worst->faults)
            printf("  WRONG NaN, sign or beside others %llu times, first at %a",
                   (unsigned long long)worst->faults, (double)float_of(worst->fault_at));
        bool good = worst->error <= functions[function].limit && !worst->faults;
        printf("%s\n", good ? "" : "  FAILED");
        fits = fits && good;
    }
    fflush(stdout);
    return fits;
}

static long number(const char *s, long most)
{
    char *end;
    errno = 0;
    long n = s ? strtol(s, &end, 10) : 0;
    if (!s || errno || *end || n < 1 || n > most) {
        fprintf(stderr, "a number from 1 to %ld, not \"%s\"\n", most, s ? s : "");
        exit(2);
    }
    return n;
}

static bool has_wide(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

// `only` is the one that is asked for, NULL: those that say most.
static void add_build(Work *w, const Build *b, const char *only, bool by_default)
{
    if (only ? strcmp(only, b->name) == 0 : by_default)
        w->builds[w->nbuilds++] = b;
}

static void add_builds(Work *w, const char *only)
{
    add_build(w, &build_plain, only, true);
#if defined(__x86_64__)
    bool fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"), wide = has_wide();
    if (!fma)
        return;
    add_build(w, &build_fma, only, !wide || w->samples);
    if (wide) {
        add_build(w, &build_wide, only, true);
        add_build(w, &build_divided, only, w->samples);
        add_build(w, &build_asked, only, w->samples);
    }
    add_build(w, &build_strict, only, w->samples);
#else
    add_build(w, &build_strict, only, true);
#endif
}

int main(int argc, char **argv)
{
    Work w = {.samples = 2048, .lock = PTHREAD_MUTEX_INITIALIZER};
    const char *filter = NULL, *only = NULL;
    int jobs = 1, failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            w.samples = 0;
        } else if (strcmp(argv[i], "--samples") == 0) {
            w.samples = (uint64_t)number(argv[++i], 1 << 22);
        } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            filter = argv[++i];
        } else if (strcmp(argv[i], "--build") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "-j") == 0) {
            jobs = (int)number(argv[++i], MAX_JOBS);
        } else {
            fprintf(stderr,
                    "usage: check [--all] [--samples N] [--filter NAME] [--build NAME] [-j N]\n");
            return 2;
        }
    }
    add_builds(&w, only);
    if (!w.nbuilds) {
        fprintf(stderr, "check: %s is no build that this machine runs\n", only);
        return 2;
    }
    w.blocks = (w.samples ? w.samples * 512 : (uint64_t)1 << 32) / BLOCK;
    for (int f = 0; f < F_COUNT; f++) {
        if (filter && strcmp(filter, functions[f].name) != 0)
            continue;
        failed += !check(&w, f, jobs);
        count++;
    }
    printf("%d functions at %llu floats each: %d beyond their limits\n", count,
           (unsigned long long)(w.blocks * BLOCK), failed);
    return failed || !count;
}
