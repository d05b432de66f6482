// A power law through the greatest of a few figures.

#include "tools/tails.h"

#include <math.h>

// The r-th greatest, r from 0, by counting: there are few.
static double ranked(const double *x, uint32_t n, uint32_t r)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < n; j++)
            before += x[j] > x[i] || (x[j] == x[i] && j < i);
        if (before == r)
            return x[i];
    }
    return 0;
}

double tails_rare(const double *x, uint32_t n)
{
    uint32_t positive = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return 0;
        positive += x[i] > 0;
    }
    if (positive < TAILS_LEAST)
        return 0;
    uint32_t k = n / 4 > 2 ? n / 4 : 2;
    k = k < positive ? k : positive - 1;
    double u = ranked(x, n, k), g = 0;
    for (uint32_t i = 0; i < n; i++)
        g += x[i] > u ? log(x[i] / u) / k : 0;
    return u * pow((double)k * TAILS_RARE / n, g);
}

double tails_mixed(const double *x, uint32_t mixed, uint32_t n)
{
    double rare = tails_rare(x, n);
    for (uint32_t i = 0; i < mixed; i++)
        rare = fmax(rare, TAILS_OF_MIXED * x[i]);
    return rare;
}
