// EXPECT: race|uninitialised read
// RUN: 1 64 0 63 63 0
// Reverses 64 numbers through shared memory; broken: nothing waits for the writers.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    static __shared__ int t[64];
    int i = (int)threadIdx.x;
    t[i] = i < n ? x[i] : 0;
#ifndef BROKEN
    __syncthreads();
#endif
    y[i] = t[63 - i];
}
