// EXPECT: divergent barrier
// RUN: 1 64 63 63
// Broken: only half of the block reaches the barrier.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)threadIdx.x;
#ifdef BROKEN
    if (i < 32) __syncthreads();
#else
    __syncthreads();
#endif
    if (i < n) y[i] = x[i];
}
