// cuemu.h: enough of CUDA C++ for one .cu file to run on the host, unchanged.
//
//   g++ -std=c++20 -x c++ -include tests/cuda/cuemu.h kernels.cu -x none cuemu.cc
//
// Each thread of a block is a fiber; the order of blocks and threads follows CUEMU_SEED. With
// -fsanitize=thread --param tsan-instrument-func-entry-exit=0 every access is checked as well
// (cuemu.cc defines the callbacks; libtsan is never linked).
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define CUEMU 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ __attribute__((section("cuemu_shared")))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

// Runs `body` once per thread of the grid. A fault is printed and ends the process with status 3.
void cuemu_launch(dim3 grid, dim3 block, const std::function<void()> &body);
// Device memory with unowned bytes on both sides, filled with a pattern. Owned by the emulator.
void *cuemu_alloc(size_t bytes);
// Marks an access as atomic: it races with plain accesses only.
void cuemu_atomic(const void *at, size_t bytes);
void cuemu_warp_wait(unsigned mask);
void cuemu_block_wait(int line);
uint64_t cuemu_exchange(unsigned mask, uint64_t mine, int lane);
int cuemu_lane();

#define CUEMU_OUTSIDE __attribute__((noinline, no_sanitize("thread")))

// A barrier is known by its line: the compiler may copy a call, so its address says nothing.
[[maybe_unused]] static void __syncthreads(int line = __builtin_LINE())
{
    cuemu_block_wait(line);
}
[[maybe_unused]] static void __syncwarp(unsigned mask = ~0u)
{
    cuemu_warp_wait(mask);
}

template <class T> CUEMU_OUTSIDE T cuemu_shuffle(unsigned mask, T v, int lane)
{
    static_assert(sizeof(T) <= 8);
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = cuemu_exchange(mask, bits, lane);
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <class T> T __shfl_sync(unsigned m, T v, int lane, int width = 32)
{
    int me = cuemu_lane();
    return cuemu_shuffle(m, v, (me & ~(width - 1)) | (lane & (width - 1)));
}
template <class T> T __shfl_xor_sync(unsigned m, T v, int bits, int width = 32)
{
    int me = cuemu_lane(), to = me ^ bits;
    return cuemu_shuffle(m, v, (to & ~(width - 1)) <= me ? to : me);
}
template <class T> T __shfl_down_sync(unsigned m, T v, unsigned by, int width = 32)
{
    int me = cuemu_lane(), to = me + (int)by;
    return cuemu_shuffle(m, v, (me & (width - 1)) + (int)by < width ? to : me);
}
template <class T> T __shfl_up_sync(unsigned m, T v, unsigned by, int width = 32)
{
    int me = cuemu_lane();
    return cuemu_shuffle(m, v, (me & (width - 1)) >= (int)by ? me - (int)by : me);
}

#define CUEMU_RMW(name, next)                                                                      \
    template <class T> CUEMU_OUTSIDE T name(T *at, std::type_identity_t<T> v)                      \
    {                                                                                              \
        cuemu_atomic(at, sizeof *at);                                                              \
        T old = *at;                                                                               \
        *at = (next);                                                                              \
        return old;                                                                                \
    }
CUEMU_RMW(atomicAdd, old + v)
CUEMU_RMW(atomicMin, v < old ? v : old)
CUEMU_RMW(atomicMax, v > old ? v : old)
CUEMU_RMW(atomicExch, v)
CUEMU_RMW(atomicAnd, old &v)
CUEMU_RMW(atomicOr, old | v)
CUEMU_RMW(atomicXor, old ^ v)
template <class T>
CUEMU_OUTSIDE T atomicCAS(T *at, std::type_identity_t<T> want, std::type_identity_t<T> v)
{
    cuemu_atomic(at, sizeof *at);
    T old = *at;
    if (old == want)
        *at = v;
    return old;
}
