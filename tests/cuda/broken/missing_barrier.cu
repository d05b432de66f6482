// EXPECT: race|uninitialised read
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

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(1), dim3(64), [&] { k(x, y, 100); });
    return y[0] == 63 && y[63] == 0 ? 0 : 1;
}
#endif
