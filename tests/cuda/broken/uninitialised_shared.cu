// EXPECT: uninitialised read
// RUN: 1 64 1 34 31 94
// Sums two halves; broken: the upper half is never written.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    static __shared__ int t[64];
    int i = (int)threadIdx.x;
#ifdef BROKEN
    if (i < 32 && i < n) t[i] = x[i];
#else
    if (i < n) t[i] = x[i];
#endif
    __syncthreads();
    if (i < 32) y[i] = t[i] + t[i + 32];
}
