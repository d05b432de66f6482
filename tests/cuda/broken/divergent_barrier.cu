// EXPECT: divergent barrier
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

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(1), dim3(64), [&] { k(x, y, 100); });
    return y[63] == 63 ? 0 : 1;
}
#endif
