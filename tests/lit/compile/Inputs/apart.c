// For apart.test: y = x, and one element beside x, w or y is read or written.
#include <stddef.h>

void beyond(const float *x, const float *w, float *y, size_t n_x, int where)
{
    for (size_t i = 0; i < n_x; i++)
        y[i] = x[i] + w[i];
    if (where == 1)
        y[0] = x[n_x];
    if (where == 2)
        y[0] = w[n_x];
    if (where == 3)
        y[n_x] = 0;
}
