#include "base/host.h"

#include <stdint.h>
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
