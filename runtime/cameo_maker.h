/* Who made the processor, where one program is for those of several makers. */
#ifndef CAMEO_MAKER_H
#define CAMEO_MAKER_H

#ifdef __x86_64__
#include <cpuid.h>
#include <stdint.h>

/* Of those with AVX-512 the ones that have SSE4A too: Zen 4 and its successors. Asked once. */
static __attribute__((noinline, unused)) int cameo_maker_is_zen(void)
{
    enum { SSE4A = 1 << 6 };
    static int known; /* 1: no, 2: yes */
    int now = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!now) {
        uint32_t a, b, c, d;
        now = 1 + (__get_cpuid(0x80000001, &a, &b, &c, &d) && (c & SSE4A));
        __atomic_store_n(&known, now, __ATOMIC_RELAXED);
    }
    return now == 2;
}
#else
static inline __attribute__((unused)) int cameo_maker_is_zen(void)
{
    return 0;
}
#endif

#endif
