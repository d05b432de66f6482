#include "base/host.h"

#include <stdint.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int host_lanes(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("avx2") ? 8 : 4;
#else
    return 4;
#endif
}

const char *host_processor(void)
{
#if defined(__x86_64__)
    uint32_t a, b, c, d;
    __builtin_cpu_init();
    if (host_multiplies_squares())
        return "sapphirerapids";
    if (!__builtin_cpu_supports("avx2"))
        return "x86-64-v2";
    if (!__builtin_cpu_supports("avx512f"))
        return __builtin_cpu_is("amd")                                   ? "x86-64-v3"
               : __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1) ? "alderlake" // AVX-VNNI
                                                                         : "haswell";
    if (__builtin_cpu_is("amd"))
        return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1) ? "znver5" : "znver4";
    return __builtin_cpu_supports("avx512vbmi2") ? "icelake-server" : "skylake-avx512";
#else
    return "";
#endif
}

int64_t host_second_cache(void)
{
#if defined(_SC_LEVEL2_CACHE_SIZE)
    const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? size : 0;
#else
    return 0;
#endif
}

bool host_multiplies_squares(void)
{
#if defined(__x86_64__)
    enum { OS_SAVES = 1 << 27, TILES = 1 << 24, BYTES = 1 << 25, STATE = 0x60000 };
    uint32_t a, b, c, d, low, high;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !(c & OS_SAVES) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & TILES) || !(d & BYTES))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & STATE) == STATE;
#else
    return false;
#endif
}
