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

/* to[i * to_step + k] = from[k * from_step + i] for i and k below 16; steps in elements. */
CAMEO_FN void cameo_transpose_1(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    cameo_v16u8 a[16], b[16];
    for (int i = 0; i < 16; i++)
        memcpy(&a[i], (const char *)from + i * from_step, 16);
    cameo_join_1(b, a);
    cameo_join_1(a, b);
    cameo_join_1(b, a);
    cameo_join_1(a, b);
    for (int i = 0; i < 16; i++)
        memcpy((char *)to + i * to_step, &a[i], 16);
}

/* The same of elements of 2 bytes, four tiles of 8 by 8. */
CAMEO_FN void cameo_transpose_2(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    for (int t = 0; t < 4; t++) {
        const char *source = (const char *)from + 16 * (t & 1) + 16 * (t >> 1) * from_step;
        char *target = (char *)to + 16 * (t >> 1) + 16 * (t & 1) * to_step;
        cameo_v8u16 a[8], b[8];
        for (int i = 0; i < 8; i++)
            memcpy(&a[i], source + 2 * i * from_step, 16);
        cameo_join_2(b, a);
        cameo_join_2(a, b);
        cameo_join_2(b, a);
        for (int i = 0; i < 8; i++)
            memcpy(target + 2 * i * to_step, &b[i], 16);
    }
}

/* The same of elements of 4 bytes, sixteen tiles of 4 by 4. */
CAMEO_FN void cameo_transpose_4(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    for (int t = 0; t < 16; t++) {
        const char *source = (const char *)from + 16 * (t & 3) + 16 * (t >> 2) * from_step;
        char *target = (char *)to + 16 * (t >> 2) + 16 * (t & 3) * to_step;
        cameo_v4u32 a[4], b[4];
        for (int i = 0; i < 4; i++)
            memcpy(&a[i], source + 4 * i * from_step, 16);
        cameo_join_4(b, a);
        cameo_join_4(a, b);
        for (int i = 0; i < 4; i++)
            memcpy(target + 4 * i * to_step, &a[i], 16);
    }
}
#else
CAMEO_FN void cameo_transpose(char *to, int64_t to_step, const char *from, int64_t from_step,
                                   int64_t size)
{
    for (int64_t i = 0; i < 16; i++)
        for (int64_t k = 0; k < 16; k++)
            memcpy(to + (i * to_step + k) * size, from + (k * from_step + i) * size, (size_t)size);
}
CAMEO_FN void cameo_transpose_1(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    cameo_transpose(to, to_step, from, from_step, 1);
}
CAMEO_FN void cameo_transpose_2(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    cameo_transpose(to, to_step, from, from_step, 2);
}
CAMEO_FN void cameo_transpose_4(void *to, int64_t to_step, const void *from, int64_t from_step)
{
    cameo_transpose(to, to_step, from, from_step, 4);
}
#endif

#endif
