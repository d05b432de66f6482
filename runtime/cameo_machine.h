/* Does the machine have the instructions that the program was compiled for? */
#ifndef CAMEO_MACHINE_H
#define CAMEO_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* For what asks before it is known what the machine has: nothing of the program's processor is in
 * it. It must call nothing that is without it. */
#define CAMEO_ANY_X86 __attribute__((target("arch=x86-64")))

/* Where CPUID says that the machine has it: bit `bit` of register `part` (0 for EAX .. 3) of a
 * leaf. `state`: what of XCR0 the system must have turned on. */
typedef struct cameo_feature {
    const char *name;
    uint32_t leaf, sub, part, bit, state;
} cameo_feature;

/* What CPUID said last. Under a hypervisor each question is a way out of the machine and back, 7
 * microseconds and more, so that one is asked once for all bits of its answer. */
typedef struct cameo_leaf {
    uint32_t leaf, sub, r[4];
} cameo_leaf;

static inline CAMEO_ANY_X86 __attribute__((unused)) void
cameo_read_leaf(uint32_t leaf, uint32_t sub, cameo_leaf *last)
{
    uint32_t most, b, c, d;
    if (last->leaf == leaf && last->sub == sub)
        return;
    *last = (cameo_leaf){leaf, sub, {0}};
    __cpuid(leaf & 0x80000000, most, b, c, d);
    if (leaf <= most)
        __cpuid_count(leaf, sub, last->r[0], last->r[1], last->r[2], last->r[3]);
}

enum { CAMEO_YMM = 6, CAMEO_ZMM = 0xe6 };

/* The instructions that this program was compiled for, by leaves. */
static const cameo_feature cameo_needed[] = {
    {"sse", 1, 0, 3, 25, 0},
#ifdef __SSE3__
    {"sse3", 1, 0, 2, 0, 0},
#endif
#ifdef __SSSE3__
    {"ssse3", 1, 0, 2, 9, 0},
#endif
#ifdef __SSE4_1__
    {"sse4.1", 1, 0, 2, 19, 0},
#endif
#ifdef __SSE4_2__
    {"sse4.2", 1, 0, 2, 20, 0},
#endif
#ifdef __POPCNT__
    {"popcnt", 1, 0, 2, 23, 0},
#endif
#ifdef __MOVBE__
    {"movbe", 1, 0, 2, 22, 0},
#endif
#ifdef __AVX__
    {"avx", 1, 0, 2, 28, CAMEO_YMM},
#endif
#ifdef __F16C__
    {"f16c", 1, 0, 2, 29, CAMEO_YMM},
#endif
#ifdef __FMA__
    {"fma", 1, 0, 2, 12, CAMEO_YMM},
#endif
#ifdef __BMI__
    {"bmi", 7, 0, 1, 3, 0},
#endif
#ifdef __BMI2__
    {"bmi2", 7, 0, 1, 8, 0},
#endif
#ifdef __AVX2__
    {"avx2", 7, 0, 1, 5, CAMEO_YMM},
#endif
#ifdef __AVX512F__
    {"avx512f", 7, 0, 1, 16, CAMEO_ZMM},
#endif
#ifdef __AVX512DQ__
    {"avx512dq", 7, 0, 1, 17, CAMEO_ZMM},
#endif
#ifdef __AVX512IFMA__
    {"avx512ifma", 7, 0, 1, 21, CAMEO_ZMM},
#endif
#ifdef __AVX512PF__
    {"avx512pf", 7, 0, 1, 26, CAMEO_ZMM},
#endif
#ifdef __AVX512ER__
    {"avx512er", 7, 0, 1, 27, CAMEO_ZMM},
#endif
#ifdef __AVX512CD__
    {"avx512cd", 7, 0, 1, 28, CAMEO_ZMM},
#endif
#ifdef __AVX512BW__
    {"avx512bw", 7, 0, 1, 30, CAMEO_ZMM},
#endif
#ifdef __AVX512VL__
    {"avx512vl", 7, 0, 1, 31, CAMEO_ZMM},
#endif
#ifdef __AVX512VBMI__
    {"avx512vbmi", 7, 0, 2, 1, CAMEO_ZMM},
#endif
#ifdef __AVX512VBMI2__
    {"avx512vbmi2", 7, 0, 2, 6, CAMEO_ZMM},
#endif
#ifdef __AVX512VNNI__
    {"avx512vnni", 7, 0, 2, 11, CAMEO_ZMM},
#endif
#ifdef __AVX512BITALG__
    {"avx512bitalg", 7, 0, 2, 12, CAMEO_ZMM},
#endif
#ifdef __AVX512VPOPCNTDQ__
    {"avx512vpopcntdq", 7, 0, 2, 14, CAMEO_ZMM},
#endif
#ifdef __AVX512VP2INTERSECT__
    {"avx512vp2intersect", 7, 0, 3, 8, CAMEO_ZMM},
#endif
#ifdef __AVX512FP16__
    {"avx512fp16", 7, 0, 3, 23, CAMEO_ZMM},
#endif
#ifdef __AVXVNNI__
    {"avxvnni", 7, 1, 0, 4, CAMEO_YMM},
#endif
#ifdef __AVX512BF16__
    {"avx512bf16", 7, 1, 0, 5, CAMEO_ZMM},
#endif
#ifdef __SSE4A__
    {"sse4a", 0x80000001, 0, 2, 6, 0},
#endif
#ifdef __LZCNT__
    {"lzcnt", 0x80000001, 0, 2, 5, 0},
#endif
#ifdef __XOP__
    {"xop", 0x80000001, 0, 2, 11, CAMEO_YMM},
#endif
#ifdef __FMA4__
    {"fma4", 0x80000001, 0, 2, 16, CAMEO_YMM},
#endif
#ifdef __TBM__
    {"tbm", 0x80000001, 0, 2, 21, 0},
#endif
};

/* What of the processor this program does not have: the first of the instructions that it was
 * compiled for, or NULL. Matrix registers are asked for where they are used (cameo_amx.h). */
static CAMEO_ANY_X86 __attribute__((noinline, unused)) const char *cameo_lacks(void)
{
    enum { OS_SAVES = 1 << 27 };
    cameo_leaf known = {0};
    uint32_t on = 0, high;
    cameo_read_leaf(1, 0, &known);
    if (known.r[2] & OS_SAVES)
        __asm__ volatile("xgetbv" : "=a"(on), "=d"(high) : "c"(0));
    for (size_t i = 0; i < sizeof cameo_needed / sizeof *cameo_needed; i++) {
        const cameo_feature *f = &cameo_needed[i];
        cameo_read_leaf(f->leaf, f->sub, &known);
        if (!(known.r[f->part] >> f->bit & 1) || (on & f->state) != f->state)
            return f->name;
    }
    return NULL;
}
#else
static __attribute__((noinline, unused)) const char *cameo_lacks(void)
{
    return NULL;
}
#endif

#endif
