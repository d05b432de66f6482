// cuemu.h: enough of CUDA C++ for one .cu file to run on the host, unchanged.
//
//   g++ -std=c++20 -include cuemu.h -c wrapper.cc     (wrapper.cc: #include "kernels.cu", then
//                                                      CUEMU_MODULE(CUEMU_KERNEL(a), ...); see
//                                                      build.py)
//
// Each thread of a block is a fiber; the order of blocks and threads follows a seed. With
// -fsanitize=thread and CUEMU_CHECKED every access is checked as well (cuemu_check.cc defines the
// callbacks; libtsan is never linked).
#pragma once
#include "cuemu_abi.h"
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#define CUEMU 1
#ifdef CUEMU_CHECKED // one access, one callback: nothing of a kernel may end up in unchecked code
#define __global__ __attribute__((noinline))
#define CUEMU_QUIET __attribute__((noinline, no_sanitize("thread")))
#else
#define __global__
#define CUEMU_QUIET inline
#endif
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __shared__ __attribute__((section("cuemu_shared"), aligned(16)))

#define CUEMU_VECTOR(T, name)                                                                      \
    struct name##2                                                                                 \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct name##3                                                                                 \
    {                                                                                              \
        T x, y, z;                                                                                 \
    };                                                                                             \
    struct alignas(sizeof(T) * 4 < 16 ? sizeof(T) * 4 : 16) name##4                                \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    static inline name##2 make_##name##2(T x, T y)                                                 \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    static inline name##3 make_##name##3(T x, T y, T z)                                            \
    {                                                                                              \
        return {x, y, z};                                                                          \
    }                                                                                              \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                       \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
CUEMU_VECTOR(signed char, char)
CUEMU_VECTOR(unsigned char, uchar)
CUEMU_VECTOR(short, short)
CUEMU_VECTOR(unsigned short, ushort)
CUEMU_VECTOR(int, int)
CUEMU_VECTOR(unsigned, uint)
CUEMU_VECTOR(long long, longlong)
CUEMU_VECTOR(unsigned long long, ulonglong)
CUEMU_VECTOR(float, float)
CUEMU_VECTOR(double, double)
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static constexpr int warpSize = 32;

// What a warp does together: waits, exchanges one value each, or votes.
enum CuemuWarp { CUEMU_SYNC, CUEMU_SHUFFLE, CUEMU_BALLOT };
uint64_t cuemu_warp(CuemuWarp what, unsigned mask, uint64_t mine, int lane);
// Waits for the whole block; gives the number of threads whose `vote` is true.
int cuemu_block(int line, bool vote);
int cuemu_lane();
// Marks an access as atomic: it races with plain accesses only.
#ifdef CUEMU_CHECKED
void cuemu_atomic(const void *at, size_t bytes);
#else
static inline void cuemu_atomic(const void *, size_t) {}
#endif
[[noreturn]] void cuemu_fault(const char *what, const void *at);

// A barrier is known by its line: the compiler may copy a call, so its address says nothing.
static inline void __syncthreads(int line = __builtin_LINE())
{
    cuemu_block(line, false);
}
static inline int __syncthreads_count(int v, int line = __builtin_LINE())
{
    return cuemu_block(line, v);
}
static inline int __syncthreads_or(int v, int line = __builtin_LINE())
{
    return cuemu_block(line, v) > 0;
}
static inline int __syncthreads_and(int v, int line = __builtin_LINE())
{
    return cuemu_block(line, !v) == 0;
}
static inline void __syncwarp(unsigned mask = ~0u)
{
    cuemu_warp(CUEMU_SYNC, mask, 0, 0);
}
static inline unsigned __ballot_sync(unsigned mask, int v)
{
    return (unsigned)cuemu_warp(CUEMU_BALLOT, mask, v != 0, 0);
}
static inline int __any_sync(unsigned mask, int v)
{
    return __ballot_sync(mask, v) != 0;
}
static inline int __all_sync(unsigned mask, int v)
{
    return __ballot_sync(mask, !v) == 0;
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
[[noreturn]] static inline void __trap()
{
    cuemu_fault("trap", nullptr);
}

template <class T> CUEMU_QUIET T cuemu_shuffle(unsigned mask, T v, int lane)
{
    static_assert(sizeof(T) <= 8);
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = cuemu_warp(CUEMU_SHUFFLE, mask, bits, lane);
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
    template <class T> CUEMU_QUIET T name(T *at, std::type_identity_t<T> v)                        \
    {                                                                                              \
        cuemu_atomic(at, sizeof *at);                                                              \
        T old = *at;                                                                               \
        *at = (T)(next);                                                                           \
        return old;                                                                                \
    }
CUEMU_RMW(atomicAdd, old + v)
CUEMU_RMW(atomicSub, old - v)
CUEMU_RMW(atomicMin, v < old ? v : old)
CUEMU_RMW(atomicMax, v > old ? v : old)
CUEMU_RMW(atomicExch, v)
CUEMU_RMW(atomicAnd, old &v)
CUEMU_RMW(atomicOr, old | v)
CUEMU_RMW(atomicXor, old ^ v)
CUEMU_RMW(atomicInc, old >= v ? 0 : old + 1)
template <class T>
CUEMU_QUIET T atomicCAS(T *at, std::type_identity_t<T> want, std::type_identity_t<T> v)
{
    static_assert(std::is_integral_v<T> && sizeof(T) >= 2,
                  "CAS is for integers of 16 bits or more");
    cuemu_atomic(at, sizeof *at);
    T old = *at;
    if (old == want)
        *at = v;
    return old;
}

template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class To, class From> static inline To cuemu_bits(From v)
{
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, v);
}
#define CUEMU_MAP(result, name, argument, value)                                                   \
    static inline result name(argument a)                                                          \
    {                                                                                              \
        return value;                                                                              \
    }
CUEMU_MAP(int, __float_as_int, float, cuemu_bits<int>(a))
CUEMU_MAP(unsigned, __float_as_uint, float, cuemu_bits<unsigned>(a))
CUEMU_MAP(float, __int_as_float, int, cuemu_bits<float>(a))
CUEMU_MAP(float, __uint_as_float, unsigned, cuemu_bits<float>(a))
CUEMU_MAP(long long, __double_as_longlong, double, cuemu_bits<long long>(a))
CUEMU_MAP(double, __longlong_as_double, long long, cuemu_bits<double>(a))
// The C library has functions of these names inside.
#define __expf(a) expf(a)
#define __logf(a) logf(a)
#define __log2f(a) log2f(a)
#define __log10f(a) log10f(a)
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __tanf(a) tanf(a)
#define __exp10f(a) exp10f(a)
#define __powf(a, b) powf(a, b)
CUEMU_MAP(float, __frcp_rn, float, 1.0f / a)
CUEMU_MAP(float, __fsqrt_rn, float, sqrtf(a))
CUEMU_MAP(float, __frsqrt_rn, float, 1.0f / sqrtf(a))
CUEMU_MAP(float, rsqrtf, float, 1.0f / sqrtf(a))
CUEMU_MAP(double, rsqrt, double, 1.0 / sqrt(a))
CUEMU_MAP(float, __saturatef, float, a > 0 ? a < 1 ? a : 1.0f : 0.0f)
CUEMU_MAP(int, __popc, unsigned, __builtin_popcount(a))
CUEMU_MAP(int, __popcll, unsigned long long, __builtin_popcountll(a))
CUEMU_MAP(int, __clz, int, a ? __builtin_clz((unsigned)a) : 32)
CUEMU_MAP(int, __clzll, long long, a ? __builtin_clzll((unsigned long long)a) : 64)
CUEMU_MAP(int, __ffs, int, __builtin_ffs(a))
CUEMU_MAP(int, __float2int_rn, float, (int)nearbyintf(a))
CUEMU_MAP(int, __float2int_rz, float, (int)a)
CUEMU_MAP(float, __int2float_rn, int, (float)a)
#define CUEMU_MAP2(T, name, value)                                                                 \
    static inline T name(T a, T b)                                                                 \
    {                                                                                              \
        return value;                                                                              \
    }
CUEMU_MAP2(float, __fadd_rn, a + b)
CUEMU_MAP2(float, __fsub_rn, a - b)
CUEMU_MAP2(float, __fmul_rn, a *b)
CUEMU_MAP2(float, __fdiv_rn, a / b)
CUEMU_MAP2(float, __fdividef, a / b)
CUEMU_MAP2(double, __dadd_rn, a + b)
CUEMU_MAP2(double, __dsub_rn, a - b)
CUEMU_MAP2(double, __dmul_rn, a *b)
CUEMU_MAP2(double, __ddiv_rn, a / b)
CUEMU_MAP2(int, __mulhi, (int)((long long)a *b >> 32))
CUEMU_MAP2(unsigned, __umulhi, (unsigned)((unsigned long long)a *b >> 32))
CUEMU_MAP2(unsigned long long, __umul64hi, (unsigned long long)((unsigned __int128)a *b >> 64))
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
// min and max as CUDA overloads them, the mixed ones too.
#define CUEMU_MINMAX(T)                                                                            \
    CUEMU_MAP2(T, min, b < a ? b : a)                                                              \
    CUEMU_MAP2(T, max, a < b ? b : a)
CUEMU_MINMAX(int)
CUEMU_MINMAX(unsigned)
CUEMU_MINMAX(long)
CUEMU_MINMAX(unsigned long)
CUEMU_MINMAX(long long)
CUEMU_MINMAX(unsigned long long)
CUEMU_MAP2(float, min, fminf(a, b))
CUEMU_MAP2(float, max, fmaxf(a, b))
CUEMU_MAP2(double, min, fmin(a, b))
CUEMU_MAP2(double, max, fmax(a, b))

// ---- from the driver's array of pointers to arguments to a call ----

template <class T> CUEMU_QUIET T cuemu_argument(void *at, ptrdiff_t shift)
{
    T v;
    memcpy(&v, at, sizeof v);
    if constexpr (std::is_pointer_v<T>) {
        if (v)
            v = (T)((uintptr_t)v + (uintptr_t)shift);
    }
    return v;
}
template <auto Kernel, class Signature> struct CuemuThunk;
template <auto Kernel, class... A> struct CuemuThunk<Kernel, void (*)(A...)> {
    template <size_t... I>
    CUEMU_QUIET static void unpack([[maybe_unused]] void **args, [[maybe_unused]] ptrdiff_t shift,
                                   std::index_sequence<I...>)
    {
        Kernel(cuemu_argument<A>(args[I], shift)...);
    }
    CUEMU_QUIET static void call(void **args, ptrdiff_t shift)
    {
        unpack(args, shift, std::index_sequence_for<A...>());
    }
    static constexpr CuemuArg args[sizeof...(A) + 1] = {
        {(uint32_t)sizeof(A), std::is_pointer_v<A>, std::is_const_v<std::remove_pointer_t<A>>}...,
        {0, false, false}};
    static constexpr CuemuKernel row(const char *name)
    {
        return {name, call, args, sizeof...(A)};
    }
};
#define CUEMU_KERNEL(k) CuemuThunk<&k, decltype(&k)>::row(#k)
#define CUEMU_MODULE(...)                                                                          \
    extern const CuemuKernel cuemu_kernels[] = {__VA_ARGS__ __VA_OPT__(, ) CuemuKernel{}};         \
    extern const size_t cuemu_kernel_count = sizeof cuemu_kernels / sizeof *cuemu_kernels - 1;
// Storage for `extern __shared__`, whose size each launch gives.
constexpr size_t CUEMU_DYNAMIC = 227 << 10;
#define CUEMU_EXTERN_SHARED(T, name)                                                               \
    __shared__ T name[CUEMU_DYNAMIC / sizeof(T)];                                                  \
    extern char *const cuemu_dynamic = (char *)name;
#define CUEMU_NO_EXTERN_SHARED extern char *const cuemu_dynamic = nullptr;
