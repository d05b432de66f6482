// EXPECT: access outside every region .shared.|uninitialised read of shared memory
// RUN: 1 64 0 1 62 63
// Neighbours through shared memory; broken: the last thread reads one past what was written.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    static __shared__ int t[64];
    int i = (int)threadIdx.x, last = 63;
    t[i] = i < n ? x[i] : 0;
    __syncthreads();
#ifdef BROKEN
    last = 64;
#endif
    y[i] = i < last ? t[i + 1] : 0;
}
