// EXPECT: race|uninitialised read
// RUN: 1 32 7 496 31 496
// Neighbours swap within a warp, and a shuffle sums them; broken: no __syncwarp between.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    static __shared__ int t[32];
    int i = (int)threadIdx.x;
    t[i] = i < n ? x[i] : 0;
#ifndef BROKEN
    __syncwarp();
#endif
    int v = t[i ^ 1];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    y[i] = v;
}
