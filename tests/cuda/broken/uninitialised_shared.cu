// EXPECT: uninitialised read
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

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(1), dim3(64), [&] { k(x, y, 100); });
    return y[1] == 34 ? 0 : 1;
}
#endif
