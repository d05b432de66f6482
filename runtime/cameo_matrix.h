/* The matrix registers of a core (AMX): eight, each of 16 rows of 64 bytes. The instructions are
 * written out, since compilers know them only where all of a file may use them. */
#ifndef CAMEO_MATRIX_H
#define CAMEO_MATRIX_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__linux__)
#define CAMEO_AMX 1
#include <cpuid.h>

/* Rows at p, `stride` bytes apart, to register t and back; 0 to all of it; c += a times b, by the
 * instruction `name`. */
#define CAMEO_AMX_LOAD(t, p, stride)                                                               \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"(stride) : "memory")
#define CAMEO_AMX_STORE(t, p, stride)                                                              \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"(stride) : "memory")
#define CAMEO_AMX_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::: "memory")
#define CAMEO_AMX_PRODUCT(name, c, a, b)                                                           \
    __asm__ volatile(name " %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::: "memory")
/* Any tile to 1024 bytes at p. Where none was stored for 0.8 us the next one takes 0.3 us longer to
 * its place (measured on Sapphire Rapids; other stores make no difference), so long loops of
 * products store one that nobody reads in time for those of the sums. */
#define CAMEO_AMX_AWAKE(t, p) CAMEO_AMX_STORE(t, p, 64L)

enum {
    CAMEO_AMX_ASK = 0x1023, /* ARCH_REQ_XCOMP_PERM */
    CAMEO_AMX_DATA = 18,    /* of the state that is asked for */
    CAMEO_AMX_CALL = 158    /* arch_prctl */
};

/* Has the processor the registers and their products, and does the system let this process use
 * them? Linux gives them to a process that asks, with all of its threads. */
static inline __attribute__((unused)) int cameo_amx_ask(void)
{
    enum { OS_SAVES = 1 << 27, STATE = 0x60000, NEEDED = 1 << 22 | 1 << 24 | 1 << 25 };
    uint32_t a, b, c, d, on, high;
    long r = CAMEO_AMX_CALL;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OS_SAVES))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(on), "=d"(high) : "c"(0));
    if ((on & STATE) != STATE || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & NEEDED) != NEEDED)
        return 0;
    __asm__ volatile("syscall"
                     : "+a"(r)
                     : "D"((long)CAMEO_AMX_ASK), "S"((long)CAMEO_AMX_DATA)
                     : "rcx", "r11", "memory");
    return r == 0;
}

#if defined CAMEO_CPU_SQUARES && !CAMEO_CPU_SQUARES
/* The processor's row has none. */
static inline __attribute__((always_inline, unused)) int cameo_amx_on(void)
{
    return 0;
}
#else
/* The same, asked once; programs ask before their threads begin. */
static __attribute__((noinline, unused)) int cameo_amx_on(void)
{
    static int known; /* 1: no, 2: yes */
    int now = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!now) {
        now = 1 + cameo_amx_ask();
        __atomic_store_n(&known, now, __ATOMIC_RELAXED);
    }
    return now == 2;
}
#endif

/* All registers are 16 rows of 64 bytes. */
static inline __attribute__((unused)) void cameo_amx_begin(void)
{
    static const struct {
        _Alignas(64) uint8_t palette;
        uint8_t row, none[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } all = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("ldtilecfg %0" ::"m"(all));
}

static inline __attribute__((unused)) void cameo_amx_end(void)
{
    __asm__ volatile("tilerelease" ::: "memory");
}

#else

static inline __attribute__((unused)) int cameo_amx_on(void)
{
    return 0;
}

#endif
#endif
