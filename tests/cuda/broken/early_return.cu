// EXPECT: divergent barrier: part of the block has ended
// RUN: 1 64 0 49 49 0
// Reverses 50 numbers; broken: threads without a number leave before the barrier.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    static __shared__ int t[64];
    int i = (int)threadIdx.x;
    n = 50;
#ifdef BROKEN
    if (i >= n) return;
#endif
    if (i < n) t[i] = x[i];
    __syncthreads();
    if (i < n) y[i] = t[n - 1 - i];
}
