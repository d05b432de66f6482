// The functions in float64. Where the C library has them for vectors (glibc from 2.35 on, x86-64,
// gcc) these are taken, whose errors are at most 4 units in the last place of float64: 2^-27 of one
// of float32.
#include "tests/functions/functions.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define VECTORS __attribute__((simd("notinbranch")))
VECTORS double exp(double), expm1(double), log(double), log1p(double), erf(double);
VECTORS double sin(double), cos(double), tan(double), asin(double), acos(double), atan(double);
VECTORS double sinh(double), cosh(double), tanh(double), asinh(double), acosh(double);
VECTORS double atanh(double);
#endif
#endif

static inline double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static inline double silu(double x)
{
    return x / (1 + exp(-x));
}

static inline double gelu(double x)
{
    return 0.5 * x * erfc(x * -0.70710678118654752440);
}

// What is not above 0 in a row whose greatest number is 0.
static inline double power(double x)
{
    return x > 0 ? 1 : x < -87 ? 0 : exp(x);
}

#define FUNCTION(name, ours, theirs, limit)                                                        \
    static void run_##name(const float *restrict x, double *restrict y, long n)                    \
    {                                                                                              \
        for (long i = 0; i < n; i++)                                                               \
            y[i] = theirs((double)x[i]);                                                           \
    }
#include "tests/functions/functions.def"
#undef FUNCTION

const Reference references[F_COUNT] = {
#define FUNCTION(name, ours, theirs, limit) run_##name,
#include "tests/functions/functions.def"
#undef FUNCTION
};
