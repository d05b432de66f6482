// What the emulator must do right: warp functions, atomics of all widths, shared memory, maths.
// Each kernel writes into y what run_features.c compares with its own arithmetic.
extern __shared__ int dynamic_memory[];

static __device__ __forceinline__ int warp_sum(int v)
{
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, (unsigned)d);
    return __shfl_sync(0xffffffffu, v, 0);
}

// y[i]: sum over the block of x, by warps and then by the first warp.
extern "C" __global__ void __launch_bounds__(256)
    block_sum(const int *__restrict__ x, int *__restrict__ y, long long n)
{
    static __shared__ int part[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int warps = ((int)blockDim.x + 31) / 32;
    int v = warp_sum(i < n ? x[i] : 0);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = warp_sum(lane < warps ? part[lane] : 0);
        if (lane == 0) part[0] = v;
    }
    __syncthreads();
    if (i < n) y[i] = part[0];
}

// y[i] = x[block's last - i], through shared memory whose size the launch gives.
extern "C" __global__ void reverse(const int *__restrict__ x, int *__restrict__ y, int n)
{
    int i = (int)threadIdx.x, at = (int)blockIdx.x * n + i;
    if (i < n) dynamic_memory[i] = x[at];
    __syncthreads();
    if (i < n) y[at] = dynamic_memory[n - 1 - i];
}

// y: votes, shuffles of parts of a warp, counts of a block.
extern "C" __global__ void votes(const int *x, int *y)
{
    int i = (int)threadIdx.x, v = x[i];
    unsigned odd = __ballot_sync(0xffffffffu, v & 1);
    int any = __any_sync(0xffffffffu, v > 30), all = __all_sync(0xffffffffu, v >= 0);
    int half;
    if (i % 32 < 16)
        half = __shfl_xor_sync(0x0000ffffu, v, 1);
    else
        half = __shfl_xor_sync(0xffff0000u, v, 2);
    int up = __shfl_up_sync(0xffffffffu, v, 1, 8), count = __syncthreads_count(v % 3 == 0);
    y[i] = (int)(odd % 1000) + any + 2 * all + 10 * half + 1000 * up + 100000 * count;
}

extern "C" __global__ void atomics(int *i, unsigned long long *u, float *f, double *d, unsigned *c)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&i[0], t);
    atomicMin(&i[1], -t);
    atomicMax(&i[2], t);
    atomicOr(&i[3], 1 << t % 31);
    atomicAdd(&u[0], 1ull << 32);
    atomicMax(&u[1], (unsigned long long)t);
    atomicAdd(f, 1.0f);
    atomicAdd(d, 0.5);
    // A sum by compare and swap, as is done for types that have no atomicAdd.
    unsigned seen, old = c[1] * 0;
    do {
        seen = old;
        old = atomicCAS(&c[0], seen, seen + 3u);
    } while (old != seen);
}

extern "C" __global__ void arithmetic(const float *x, float *y)
{
    int i = (int)threadIdx.x;
    float v = __ldg(x + i);
    y[i] = fmaf(v, 2.0f, __expf(0.0f)) + fmaxf(v, 0.0f) + __int_as_float(__float_as_int(v)) +
           (float)__popc((unsigned)i) + (float)min(i, 3) + rsqrtf(4.0f) + __fmaf_rn(v, 1.0f, 0.0f);
}
