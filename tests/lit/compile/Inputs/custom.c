// Functions of custom operators for custom.test.
#include <stddef.h>
#include <stdint.h>

struct options {
    int a;
};

// Elements by turns, to two outputs.
void cut(const float *x, float *even, float *odd, size_t n_x)
{
    for (size_t i = 0; i < n_x; i++)
        *(i % 2 ? &odd[i / 2] : &even[i / 2]) = x[i];
}

// Weighted where there are weights; fails on request.
int mean_of(const float *x, const float *weights, float *y, int32_t x_len, int fail)
{
    y[0] = 0;
    for (int i = 0; i < x_len; i++)
        y[0] += x[i] * (weights ? weights[i] : 1) / (float)x_len;
    return fail;
}

void with_struct(const float *x, float *y, struct options o)
{
    y[0] = x[0] + (float)o.a;
}

void sizes(const float *x, float *y, int a, int b, int c)
{
    y[0] = x[a + b + c];
}

void attr(const float *x, float *y, float scale)
{
    y[0] = x[0] * scale;
}

void same(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i];
}

static void hidden(const float *x, float *y)
{
    y[0] = x[0];
}

void uses_hidden(const float *x, float *y)
{
    hidden(x, y);
}
