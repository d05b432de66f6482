// Vectors of sixteen numbers that are picked from a table of as many, one instruction where the
// processor's vectors are that long (host_lanes).
#ifndef CAMEO_BASE_SIXTEEN_H
#define CAMEO_BASE_SIXTEEN_H

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SIXTEEN = 16 };
typedef float Sixteen __attribute__((vector_size(64)));
typedef uint32_t SixteenWords __attribute__((vector_size(64)));

// In front of functions over them, which are called only where the processor has them.
#if defined(__x86_64__)
#define HOST_SIXTEEN __attribute__((target("avx512f")))
#else
#define HOST_SIXTEEN
#endif
#define HOST_SIXTEEN_INLINE HOST_SIXTEEN static inline __attribute__((always_inline))

// Of the table's numbers those at the places that are each word's four lowest bits.
HOST_SIXTEEN_INLINE Sixteen sixteen_pick(Sixteen table, SixteenWords places)
{
#if defined(__x86_64__)
    return (Sixteen)_mm512_permutexvar_ps((__m512i)places, (__m512)table);
#else
    Sixteen v;
    for (int i = 0; i < SIXTEEN; i++)
        v[i] = table[places[i] & (SIXTEEN - 1)];
    return v;
#endif
}

HOST_SIXTEEN_INLINE Sixteen sixteen_at(const float *at)
{
    Sixteen v;
    memcpy(&v, at, sizeof v);
    return v;
}

HOST_SIXTEEN_INLINE SixteenWords sixteen_words_at(const unsigned char *at)
{
    SixteenWords v;
    memcpy(&v, at, sizeof v);
    return v;
}

HOST_SIXTEEN_INLINE void sixteen_put(float *at, Sixteen v)
{
    memcpy(at, &v, sizeof v);
}

HOST_SIXTEEN_INLINE Sixteen sixteen_sizes(Sixteen v)
{
    return (Sixteen)((SixteenWords)v & UINT32_C(0x7fffffff));
}

#endif
