/* LeakyBias: y = x + b where that is positive, alpha times that elsewhere. */
#include <stdint.h>

void leaky_bias(const float *x, const float *b, float *y, int64_t x_dim0, int64_t x_dim1,
                float alpha)
{
    for (int64_t i = 0; i < x_dim0; i++)
        for (int64_t k = 0; k < x_dim1; k++) {
            float v = x[i * x_dim1 + k] + b[k];
            y[i * x_dim1 + k] = v > 0 ? v : alpha * v;
        }
}
