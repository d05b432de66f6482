// EXPECT: shuffle from a lane that takes no part
// RUN: 1 32 0 28 7 28
// Sums eight numbers by shuffles; broken: half of the warp takes part, and reads from the other half.
extern "C" __global__ void k(const int *x, int *y, int n)
{
    int i = (int)threadIdx.x, v = i < 8 && i < n ? x[i] : 0;
    if (i < 16) {
#ifdef BROKEN
        for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
#else
        for (int d = 8; d; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
#endif
        y[i] = v;
    }
}
