// EXPECT: race|uninitialised read
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

#ifdef CUEMU
int main()
{
    int *x = (int *)cuemu_alloc(100 * sizeof(int)), *y = (int *)cuemu_alloc(100 * sizeof(int));
    for (int i = 0; i < 100; i++) x[i] = i, y[i] = 0;
    cuemu_launch(dim3(1), dim3(32), [&] { k(x, y, 100); });
    return y[7] == 496 ? 0 : 1;
}
#endif
