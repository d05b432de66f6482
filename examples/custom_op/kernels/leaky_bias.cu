/* LeakyBias on a device: a thread for each element. Cameo launches at least as many threads as the
 * output has elements, in one dim. */
#include <stdint.h>

template <typename T>
__global__ void leaky_bias(const T *__restrict__ x, const T *__restrict__ b, T *__restrict__ y,
                           int64_t y_size, int64_t b_size, float alpha)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= y_size)
        return;
    T v = x[i] + b[i % b_size];
    y[i] = v > T(0) ? v : T(alpha) * v;
}
