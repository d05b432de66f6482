// EXPECT: access outside every region
// RUN: 4 32 99 198
// Doubles n numbers with more threads than numbers; broken: the rest of them are not held back.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
#ifdef BROKEN
    n = 128;
#endif
    if (i < n) y[i] = 2 * x[i];
}
