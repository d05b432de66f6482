// EXPECT: race
// RUN: 4 32 0 4950
// Adds n numbers into one; broken: the addition is not atomic.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
#ifdef BROKEN
    y[0] += x[i];
#else
    atomicAdd(y, x[i]);
#endif
}
