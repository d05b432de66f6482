/* cuda_min.h: what clang needs to compile emitted kernels as CUDA without the toolkit's headers.
 * clang's own headers bring the built-in variables, the warp functions and the mathematics of
 * libdevice. */
#pragma once
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>

#define CUDA_VERSION 12030
#define __CUDA_ARCH_FEAT_SM90_ALL
#define __DEVICE__ static __device__ __forceinline__
#include <__clang_cuda_libdevice_declares.h>

#undef __DEVICE__
#define __DEVICE__ static __device__ __inline__ __attribute__((always_inline))
__DEVICE__ void __syncwarp(unsigned mask = 0xffffffffu)
{
    __nvvm_bar_warp_sync(mask);
}
__DEVICE__ int __syncthreads_count(int v)
{
    return __nvvm_bar0_popc(v);
}
__DEVICE__ int __syncthreads_or(int v)
{
    return __nvvm_bar0_or(v);
}
__DEVICE__ int __syncthreads_and(int v)
{
    return __nvvm_bar0_and(v);
}
__DEVICE__ unsigned __ballot_sync(unsigned mask, int v)
{
    return __nvvm_vote_ballot_sync(mask, v);
}
__DEVICE__ int __any_sync(unsigned mask, int v)
{
    return __nvvm_vote_any_sync(mask, v);
}
__DEVICE__ int __all_sync(unsigned mask, int v)
{
    return __nvvm_vote_all_sync(mask, v);
}

#define SHUFFLE(name, builtin, limit)                                                              \
    __DEVICE__ int name(unsigned mask, int v, int lane, int width = 32)                            \
    {                                                                                              \
        return builtin(mask, v, lane, ((32 - width) << 8) | limit);                                \
    }                                                                                              \
    __DEVICE__ unsigned name(unsigned mask, unsigned v, int lane, int width = 32)                  \
    {                                                                                              \
        return (unsigned)name(mask, (int)v, lane, width);                                          \
    }                                                                                              \
    __DEVICE__ float name(unsigned mask, float v, int lane, int width = 32)                        \
    {                                                                                              \
        return __builtin_bit_cast(float, name(mask, __builtin_bit_cast(int, v), lane, width));     \
    }                                                                                              \
    __DEVICE__ unsigned long name(unsigned mask, unsigned long v, int lane, int width = 32)        \
    {                                                                                              \
        unsigned low = name(mask, (unsigned)v, lane, width);                                       \
        unsigned high = name(mask, (unsigned)(v >> 32), lane, width);                              \
        return (unsigned long)high << 32 | low;                                                    \
    }                                                                                              \
    __DEVICE__ unsigned long long name(unsigned mask, unsigned long long v, int lane,              \
                                       int width = 32)                                             \
    {                                                                                              \
        return name(mask, (unsigned long)v, lane, width);                                          \
    }                                                                                              \
    __DEVICE__ long name(unsigned mask, long v, int lane, int width = 32)                          \
    {                                                                                              \
        return (long)name(mask, (unsigned long)v, lane, width);                                    \
    }                                                                                              \
    __DEVICE__ long long name(unsigned mask, long long v, int lane, int width = 32)                \
    {                                                                                              \
        return (long long)name(mask, (unsigned long)v, lane, width);                               \
    }                                                                                              \
    __DEVICE__ double name(unsigned mask, double v, int lane, int width = 32)                      \
    {                                                                                              \
        unsigned long bits = name(mask, __builtin_bit_cast(unsigned long, v), lane, width);        \
        return __builtin_bit_cast(double, bits);                                                   \
    }
SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 0x1f)
SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 0x1f)
SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 0x1f)
SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0)
#undef SHUFFLE

#define ATOMIC(name, T, how)                                                                       \
    __DEVICE__ T name(T *at, T v)                                                                  \
    {                                                                                              \
        return how(at, v, __ATOMIC_RELAXED);                                                       \
    }
#define ATOMICS(T)                                                                                 \
    ATOMIC(atomicAdd, T, __atomic_fetch_add)                                                       \
    ATOMIC(atomicMin, T, __atomic_fetch_min)                                                       \
    ATOMIC(atomicMax, T, __atomic_fetch_max)                                                       \
    ATOMIC(atomicAnd, T, __atomic_fetch_and)                                                       \
    ATOMIC(atomicOr, T, __atomic_fetch_or)                                                         \
    ATOMIC(atomicXor, T, __atomic_fetch_xor)                                                       \
    ATOMIC(atomicExch, T, __atomic_exchange_n)                                                     \
    __DEVICE__ T atomicCAS(T *at, T want, T v)                                                     \
    {                                                                                              \
        __atomic_compare_exchange_n(at, &want, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);      \
        return want;                                                                               \
    }
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(unsigned long long)
ATOMIC(atomicAdd, float, __atomic_fetch_add)
ATOMIC(atomicAdd, double, __atomic_fetch_add)
#undef ATOMIC
#undef ATOMICS

template <class T> __DEVICE__ T __ldg(const T *p)
{
    return *p;
}
__DEVICE__ int __float_as_int(float v)
{
    return __builtin_bit_cast(int, v);
}
__DEVICE__ unsigned __float_as_uint(float v)
{
    return __builtin_bit_cast(unsigned, v);
}
__DEVICE__ float __int_as_float(int v)
{
    return __builtin_bit_cast(float, v);
}
__DEVICE__ float __uint_as_float(unsigned v)
{
    return __builtin_bit_cast(float, v);
}
__DEVICE__ long long __double_as_longlong(double v)
{
    return __builtin_bit_cast(long long, v);
}
__DEVICE__ double __longlong_as_double(long long v)
{
    return __builtin_bit_cast(double, v);
}
__DEVICE__ float __expf(float v)
{
    return __nv_fast_expf(v);
}
__DEVICE__ float __logf(float v)
{
    return __nv_fast_logf(v);
}
__DEVICE__ float __fmaf_rn(float a, float b, float c)
{
    return __nv_fmaf_rn(a, b, c);
}
__DEVICE__ float __fdividef(float a, float b)
{
    return __nv_fast_fdividef(a, b);
}
__DEVICE__ int __popc(unsigned v)
{
    return __nv_popc((int)v);
}
__DEVICE__ int __clz(int v)
{
    return __nv_clz(v);
}
__DEVICE__ void __threadfence()
{
    __nvvm_membar_gl();
}

__DEVICE__ long long __float2ll_rn(float v)
{
    return __nv_float2ll_rn(v);
}
__DEVICE__ long long __double2ll_rn(double v)
{
    return __nv_double2ll_rn(v);
}
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#include <__clang_cuda_math.h>
template <class T> __DEVICE__ T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> __DEVICE__ T max(T a, T b)
{
    return a < b ? b : a;
}
__DEVICE__ void *memcpy(void *to, const void *from, size_t n)
{
    return __builtin_memcpy(to, from, n);
}
