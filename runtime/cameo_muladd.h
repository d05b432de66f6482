/* a * b + c, rounded once where the processor does it at once; twice where it does not, or where
 * CAMEO_EACH_ROUNDS says so. Compilers are told to join none by themselves (-ffp-contract=off):
 * what they join differs between vectors and the elements left over, and so what threads compute.
 * And a division that goes by a product. */
#ifndef CAMEO_MULADD_H
#define CAMEO_MULADD_H

#include "cameo_math.h"

#ifndef CAMEO_EACH_ROUNDS
#if defined __FMA__ || defined __ARM_FEATURE_FMA || defined __FP_FAST_FMAF
#define CAMEO_ROUNDS_ONCE
#endif
#endif

CAMEO_FN float cameo_muladd_f32(float a, float b, float c)
{
#ifdef CAMEO_ROUNDS_ONCE
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
CAMEO_FN double cameo_muladd_f64(double a, double b, double c)
{
#ifdef CAMEO_ROUNDS_ONCE
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* x / root for some numbers of a row and a square root, or the greater of one and a number that is
 * neither tiny nor huge: their product with its inverse, within 1.5 units in the last place of the
 * quotient. Compilers take the inverse out of the loop. */
CAMEO_FN float cameo_over_root_f32(float x, float root)
{
#ifdef CAMEO_EACH_ROUNDS
    return x / root;
#else
    return x * (1.0f / root);
#endif
}

#endif
