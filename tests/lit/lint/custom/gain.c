#include <stdint.h>
void gain(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
}
void wide(const float *x, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = 2.0 * x[i];
}
