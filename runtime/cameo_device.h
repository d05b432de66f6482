/* What kernels on a CUDA device share: their place in the grid, reductions by all threads of a
 * block, updates of an element that several threads may meet at. Part of every emitted .cu. */
#ifndef CAMEO_DEVICE_H
#define CAMEO_DEVICE_H

#include <stdint.h>

CAMEO_FN int64_t cameo_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
CAMEO_FN int64_t cameo_threads(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* ---- reductions: each thread gives a part, all get the whole: all threads of a block, which is
 * whole warps then, or those of a column, which share a point (threadIdx.x). */

enum { CAMEO_SLICED_THREADS = 256 }; /* of such a block at most; cameo_cuda.h launches them */

#define CAMEO_BLOCK(op, suffix, type, combined)                                                    \
    CAMEO_FN type cameo_block_##op##_##suffix(type a)                                              \
    {                                                                                              \
        static __shared__ type parts[32];                                                          \
        for (int step = 16; step > 0; step /= 2) {                                                 \
            const type b = __shfl_xor_sync(0xffffffffu, a, step);                                  \
            a = combined;                                                                          \
        }                                                                                          \
        __syncthreads();                                                                           \
        if (threadIdx.x % 32 == 0)                                                                 \
            parts[threadIdx.x / 32] = a;                                                           \
        __syncthreads();                                                                           \
        a = parts[0];                                                                              \
        for (unsigned i = 1; i < blockDim.x / 32; i++) {                                           \
            const type b = parts[i];                                                               \
            a = combined;                                                                          \
        }                                                                                          \
        return a;                                                                                  \
    }                                                                                              \
    CAMEO_FN type cameo_slices_##op##_##suffix(type a)                                             \
    {                                                                                              \
        static __shared__ type parts[CAMEO_SLICED_THREADS];                                        \
        if (blockDim.y > 1) {                                                                      \
            __syncthreads();                                                                       \
            parts[threadIdx.y * blockDim.x + threadIdx.x] = a;                                     \
            __syncthreads();                                                                       \
            a = parts[threadIdx.x];                                                                \
            for (unsigned i = 1; i < blockDim.y; i++) {                                            \
                const type b = parts[i * blockDim.x + threadIdx.x];                                \
                a = combined;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return a;                                                                                  \
    }

#define CAMEO_BLOCKS(suffix, type)                                                                 \
    CAMEO_BLOCK(add, suffix, type, a + b)                                                          \
    CAMEO_BLOCK(mul, suffix, type, a *b)                                                           \
    CAMEO_BLOCK(min, suffix, type, cameo_min_##suffix(a, b))                                       \
    CAMEO_BLOCK(max, suffix, type, cameo_max_##suffix(a, b))

CAMEO_BLOCKS(f32, float)
CAMEO_BLOCKS(f64, double)
CAMEO_BLOCKS(u32, uint32_t)
CAMEO_BLOCKS(u64, uint64_t)
CAMEO_BLOCK(min, i32, int32_t, cameo_min_i32(a, b))
CAMEO_BLOCK(max, i32, int32_t, cameo_max_i32(a, b))
CAMEO_BLOCK(min, i64, int64_t, cameo_min_i64(a, b))
CAMEO_BLOCK(max, i64, int64_t, cameo_max_i64(a, b))

/* Signed sums and products wrap, as unsigned ones do. */
#define CAMEO_SIGNED(group, op, width)                                                             \
    CAMEO_FN int##width##_t cameo_##group##_##op##_i##width(int##width##_t a)                      \
    {                                                                                              \
        return (int##width##_t)cameo_##group##_##op##_u##width((uint##width##_t)a);                \
    }

CAMEO_SIGNED(block, add, 32)
CAMEO_SIGNED(block, mul, 32)
CAMEO_SIGNED(block, add, 64)
CAMEO_SIGNED(block, mul, 64)
CAMEO_SIGNED(slices, add, 32)
CAMEO_SIGNED(slices, mul, 32)
CAMEO_SIGNED(slices, add, 64)
CAMEO_SIGNED(slices, mul, 64)

/* ---- updates: compare and swap until nobody was faster */

#define CAMEO_ATOMIC(op, suffix, type, word, to_word, from_word, combined)                         \
    CAMEO_FN void cameo_atomic_##op##_##suffix(type *at, type b)                                   \
    {                                                                                              \
        word *cell = (word *)at, old = atomicCAS(cell, (word)0, (word)0), seen;                    \
        do {                                                                                       \
            seen = old;                                                                            \
            const type a = from_word(seen);                                                        \
            old = atomicCAS(cell, seen, to_word((type)(combined)));                                \
        } while (old != seen);                                                                     \
    }

#define CAMEO_ATOMICS(suffix, wide, type, word, to_word, from_word)                                \
    CAMEO_ATOMIC(add, suffix, type, word, to_word, from_word, a + b)                               \
    CAMEO_ATOMIC(mul, suffix, type, word, to_word, from_word, a *b)                                \
    CAMEO_ATOMIC(min, suffix, type, word, to_word, from_word, cameo_min_##wide(a, b))              \
    CAMEO_ATOMIC(max, suffix, type, word, to_word, from_word, cameo_max_##wide(a, b))

#define CAMEO_WORD32(v) ((unsigned)(v))
#define CAMEO_WORD64(v) ((unsigned long long)(v))
#define CAMEO_WORD_F64(v) ((unsigned long long)cameo_bits_f64_u64(v))
#define CAMEO_REAL_F64(v) cameo_bits_u64_f64((uint64_t)(v))

CAMEO_ATOMICS(f32, f32, float, unsigned, cameo_bits_f32_u32, cameo_bits_u32_f32)
CAMEO_ATOMICS(f64, f64, double, unsigned long long, CAMEO_WORD_F64, CAMEO_REAL_F64)
CAMEO_ATOMICS(u32, u32, uint32_t, unsigned, CAMEO_WORD32, CAMEO_WORD32)
CAMEO_ATOMICS(u64, u64, uint64_t, unsigned long long, CAMEO_WORD64, CAMEO_WORD64)
CAMEO_ATOMIC(min, i32, int32_t, unsigned, CAMEO_WORD32, (int32_t), cameo_min_i32(a, b))
CAMEO_ATOMIC(max, i32, int32_t, unsigned, CAMEO_WORD32, (int32_t), cameo_max_i32(a, b))
CAMEO_ATOMIC(min, i64, int64_t, unsigned long long, CAMEO_WORD64, (int64_t), cameo_min_i64(a, b))
CAMEO_ATOMIC(max, i64, int64_t, unsigned long long, CAMEO_WORD64, (int64_t), cameo_max_i64(a, b))

#define CAMEO_ATOMIC_SIGNED(op, suffix, of, type, utype)                                           \
    CAMEO_FN void cameo_atomic_##op##_##suffix(type *at, type b)                                   \
    {                                                                                              \
        cameo_atomic_##op##_##of((utype *)at, (utype)b);                                           \
    }
CAMEO_ATOMIC_SIGNED(add, i32, u32, int32_t, uint32_t)
CAMEO_ATOMIC_SIGNED(mul, i32, u32, int32_t, uint32_t)
CAMEO_ATOMIC_SIGNED(add, i64, u64, int64_t, uint64_t)
CAMEO_ATOMIC_SIGNED(mul, i64, u64, int64_t, uint64_t)

/* Elements of one or two bytes: part of an aligned word of four. */
#define CAMEO_ATOMIC_PART(op, suffix, type, combined)                                              \
    CAMEO_FN void cameo_atomic_##op##_##suffix(type *at, type b)                                   \
    {                                                                                              \
        const unsigned low = (unsigned)((uintptr_t)at & 3) * 8;                                    \
        const unsigned mask = (sizeof(type) == 1 ? 0xffu : 0xffffu) << low;                        \
        unsigned *cell = (unsigned *)((uintptr_t)at & ~(uintptr_t)3);                              \
        unsigned old = atomicCAS(cell, 0u, 0u), seen;                                              \
        do {                                                                                       \
            seen = old;                                                                            \
            const type a = (type)(seen >> low);                                                    \
            const unsigned next = (seen & ~mask) | (((unsigned)(type)(combined) << low) & mask);   \
            old = atomicCAS(cell, seen, next);                                                     \
        } while (old != seen);                                                                     \
    }

#define CAMEO_ATOMIC_PARTS(suffix, type)                                                           \
    CAMEO_ATOMIC_PART(add, suffix, type, (unsigned)a + (unsigned)b)                                \
    CAMEO_ATOMIC_PART(mul, suffix, type, (unsigned)a *(unsigned)b)                                 \
    CAMEO_ATOMIC_PART(min, suffix, type, a < b ? a : b)                                            \
    CAMEO_ATOMIC_PART(max, suffix, type, a > b ? a : b)

CAMEO_ATOMIC_PARTS(u8, uint8_t)
CAMEO_ATOMIC_PARTS(i8, int8_t)
CAMEO_ATOMIC_PARTS(u16, uint16_t)
CAMEO_ATOMIC_PARTS(i16, int16_t)
CAMEO_ATOMIC_PARTS(bool, uint8_t)

#endif
