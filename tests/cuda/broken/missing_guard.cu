// EXPECT: access outside every region
// Doubles n numbers with more threads than numbers; broken: the rest of them are not held back.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
#ifdef BROKEN
    n = 128;
#endif
    if (i < n) y[i] = 2 * x[i];
}

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(4), dim3(32), [&] { k(x, y, 100); });
    return y[99] == 198 ? 0 : 1;
}
#endif
