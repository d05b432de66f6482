// EXPECT: race between blocks
// RUN: 4 25 99 99
// Copies; broken: the first thread of a block looks at what the block before it wrote.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = x[i];
#ifdef BROKEN
    if (i < n && i && threadIdx.x == 0) y[i] = y[i - 1] + 1;
#endif
}
