/* Square tiles of what is only moved, transposed in registers: rows are joined element by element,
 * the first with the middle one and so on, until elements of one column lie together. */
#ifndef CAMEO_TRANSPOSE_H
#define CAMEO_TRANSPOSE_H

#include "cameo_math.h"

#include <string.h>

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define CAMEO_TRANSPOSE_VECTORS
#endif
#endif

#ifdef CAMEO_TRANSPOSE_VECTORS
typedef uint8_t cameo_v16u8 __attribute__((vector_size(16)));
typedef uint16_t cameo_v8u16 __attribute__((vector_size(16)));
typedef uint32_t cameo_v4u32 __attribute__((vector_size(16)));

CAMEO_FN void cameo_join_1(cameo_v16u8 *to, const cameo_v16u8 *from)
{
    for (int i = 0; i < 8; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
}

CAMEO_FN void cameo_join_2(cameo_v8u16 *to, const cameo_v8u16 *from)
{
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

CAMEO_FN void cameo_join_4(cameo_v4u32 *to, const cameo_v4u32 *from)
{
    for (int i = 0; i < 2; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + 2], 0, 4, 1, 5);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 2], 2, 6, 3, 7);
    }
}

/* Into its caller, so that n is a constant and all is registers. */
#define CAMEO_TRANSPOSE static inline __attribute__((unused, always_inline))

/* to[i * to_step + k] = from[k * from_step + i] for i below 16 and k below n, which is 1 to 16;
 * steps in elements. */
CAMEO_TRANSPOSE void cameo_transpose_1(void *to, int64_t to_step, const void *from,
                                       int64_t from_step, const int n)
{
    cameo_v16u8 a[16] = {{0}}, b[16];
    for (int i = 0; i < n; i++)
        memcpy(&a[i], (const char *)from + i * from_step, 16);
    cameo_join_1(b, a);
    cameo_join_1(a, b);
    cameo_join_1(b, a);
    cameo_join_1(a, b);
    for (int i = 0; i < 16; i++)
        memcpy((char *)to + i * to_step, &a[i], (size_t)n);
}

/* n up to 8, steps in bytes; i below 8. */
CAMEO_TRANSPOSE void cameo_transpose_8(char *to, int64_t to_step, const char *from,
                                       int64_t from_step, const int n)
{
    cameo_v8u16 a[8] = {{0}}, b[8];
    for (int i = 0; i < n; i++)
        memcpy(&a[i], from + i * from_step, 16);
    cameo_join_2(b, a);
    cameo_join_2(a, b);
    cameo_join_2(b, a);
    for (int i = 0; i < 8; i++)
        memcpy(to + i * to_step, &b[i], 2 * (size_t)n);
}

/* As cameo_transpose_1, of elements of 2 bytes. */
CAMEO_TRANSPOSE void cameo_transpose_2(void *to, int64_t to_step, const void *from,
                                       int64_t from_step, const int n)
{
    for (int t = 0; t < 2; t++) {
        char *target = (char *)to + 16 * t * to_step;
        const char *source = (const char *)from + 16 * t;
        cameo_transpose_8(target, 2 * to_step, source, 2 * from_step, n < 8 ? n : 8);
        if (n > 8)
            cameo_transpose_8(target + 16, 2 * to_step, source + 16 * from_step, 2 * from_step,
                              n - 8);
    }
}

/* n up to 4, steps in bytes; i below 4. */
CAMEO_TRANSPOSE void cameo_transpose_16(char *to, int64_t to_step, const char *from,
                                        int64_t from_step, const int n)
{
    cameo_v4u32 a[4] = {{0}}, b[4];
    for (int i = 0; i < n; i++)
        memcpy(&a[i], from + i * from_step, 16);
    cameo_join_4(b, a);
    cameo_join_4(a, b);
    for (int i = 0; i < 4; i++)
        memcpy(to + i * to_step, &a[i], 4 * (size_t)n);
}

/* As cameo_transpose_1, of elements of 4 bytes. */
CAMEO_TRANSPOSE void cameo_transpose_4(void *to, int64_t to_step, const void *from,
                                       int64_t from_step, const int n)
{
    for (int t = 0; t < 4; t++) {
        char *target = (char *)to + 16 * t * to_step;
        const char *source = (const char *)from + 16 * t;
        cameo_transpose_16(target, 4 * to_step, source, 4 * from_step, n < 4 ? n : 4);
        for (int k = 4; k + 4 <= n; k += 4)
            cameo_transpose_16(target + 4 * k, 4 * to_step, source + 4 * k * from_step,
                               4 * from_step, 4);
        if (n > 4 && n % 4)
            cameo_transpose_16(target + 4 * (n & ~3), 4 * to_step,
                               source + 4 * (n & ~3) * from_step, 4 * from_step, n % 4);
    }
}
#else
CAMEO_FN void cameo_transpose(char *to, int64_t to_step, const char *from, int64_t from_step,
                              int64_t size, int64_t n)
{
    for (int64_t i = 0; i < 16; i++)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + (i * to_step + k) * size, from + (k * from_step + i) * size, (size_t)size);
}
CAMEO_FN void cameo_transpose_1(void *to, int64_t to_step, const void *from, int64_t from_step,
                                const int n)
{
    cameo_transpose(to, to_step, from, from_step, 1, n);
}
CAMEO_FN void cameo_transpose_2(void *to, int64_t to_step, const void *from, int64_t from_step,
                                const int n)
{
    cameo_transpose(to, to_step, from, from_step, 2, n);
}
CAMEO_FN void cameo_transpose_4(void *to, int64_t to_step, const void *from, int64_t from_step,
                                const int n)
{
    cameo_transpose(to, to_step, from, from_step, 4, n);
}
#endif

/* A whole tile, 16 by 16: about as much code as a kernel has around it, and called in no more time
 * than one of its lines takes. */
#define CAMEO_TRANSPOSE_TILE(bytes)                                                                \
    static __attribute__((noinline, unused)) void cameo_transpose_tile_##bytes(                    \
        void *to, int64_t to_step, const void *from, int64_t from_step)                            \
    {                                                                                              \
        cameo_transpose_##bytes(to, to_step, from, from_step, 16);                                 \
    }
CAMEO_TRANSPOSE_TILE(1)
CAMEO_TRANSPOSE_TILE(2)
CAMEO_TRANSPOSE_TILE(4)

#endif
