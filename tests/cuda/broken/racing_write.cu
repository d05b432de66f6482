// EXPECT: race
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

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(4), dim3(32), [&] { k(x, y, 100); });
    return y[0] == 4950 ? 0 : 1;
}
#endif
