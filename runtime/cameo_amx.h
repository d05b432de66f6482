/* Products on matrix registers (AMX). The second factor is panels of words as the tiles of vectors
 * read them; the first is read in tiles of 16 rows, 64 bytes of each: from where it lies if its
 * rows are whole and apart by a multiple of 64 bytes, else from a copy in the order of tiles.
 *
 * The registers are configured for each product and given back behind it, so that no thread keeps
 * them, and nothing depends on which thread ran before. */
#ifndef CAMEO_AMX_H
#define CAMEO_AMX_H

#include <stdint.h>
#include <string.h>

#ifdef CAMEO_AMX

#include <cpuid.h>

enum {
    CAMEO_AMX_ROWS = 16,                               /* of a tile */
    CAMEO_AMX_LINE = 64,                               /* bytes of each */
    CAMEO_AMX_BYTES = CAMEO_AMX_ROWS * CAMEO_AMX_LINE, /* of a tile */
    CAMEO_AMX_ASK = 0x1023,                            /* ARCH_REQ_XCOMP_PERM */
    CAMEO_AMX_DATA = 18,                               /* of the state that is asked for */
    CAMEO_AMX_CALL = 158                               /* arch_prctl */
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

/* Bytes of a copy of m rows of so many bytes in the order of tiles. */
static inline __attribute__((unused)) int64_t cameo_amx_size(int64_t m, int64_t bytes)
{
    return (m + CAMEO_AMX_ROWS - 1) / CAMEO_AMX_ROWS *
           ((bytes + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE) * CAMEO_AMX_BYTES;
}

/* Copies m rows of k elements of `size` bytes, 1 or 2, into the order of tiles, 0 where tiles have
 * more. am, ak: strides in elements; flip: what is XORed to each byte of those of size 1. */
static __attribute__((noinline, unused)) void cameo_amx_pack(int64_t m, int64_t k, int64_t size,
                                                             const void *from, int64_t am,
                                                             int64_t ak, int flip, void *to)
{
    const int64_t each = CAMEO_AMX_LINE / size, steps = (k + each - 1) / each;
    const int64_t rows = (m + CAMEO_AMX_ROWS - 1) / CAMEO_AMX_ROWS * CAMEO_AMX_ROWS;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t s = 0; s < steps; s++) {
            const int64_t first = s * each, left = k - first < each ? k - first : each;
            const unsigned char *a = (const unsigned char *)from + (i * am + first * ak) * size;
            unsigned char *t = (unsigned char *)to + i % CAMEO_AMX_ROWS * CAMEO_AMX_LINE +
                               (i / CAMEO_AMX_ROWS * steps + s) * CAMEO_AMX_BYTES;
            if (i >= m || left < each)
                memset(t, 0, CAMEO_AMX_LINE);
            if (i < m && ak == 1)
                memcpy(t, a, (size_t)(left * size));
            for (int64_t x = 0; i < m && ak != 1 && x < left; x++)
                memcpy(t + x * size, a + x * ak * size, (size_t)size);
            for (int64_t x = 0; flip && i < m && x < left; x++)
                t[x] ^= (unsigned char)flip;
        }
}

/* Rows that are read where they lie, `stride` bytes apart: whole lines of whole tiles. Where they
 * do not begin at multiples of 64 bytes that takes three times as long. */
static inline __attribute__((unused)) cameo_amx_rows cameo_amx_lying(const void *a, int64_t stride)
{
    return (cameo_amx_rows){(const char *)a, stride, CAMEO_AMX_LINE, CAMEO_AMX_ROWS * stride, NULL};
}

/* Rows of so many bytes that cameo_amx_pack copied. */
static inline __attribute__((unused)) cameo_amx_rows cameo_amx_packed(const void *a, int64_t bytes)
{
    const int64_t steps = (bytes + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE;
    return (cameo_amx_rows){(const char *)a, CAMEO_AMX_LINE, CAMEO_AMX_BYTES,
                            steps * CAMEO_AMX_BYTES, NULL};
}

/* m rows times one panel: `columns` tiles of 16 words side by side in rows ldb bytes apart, 16 rows
 * for each of `steps`. c: sums of 32 bits, ldc bytes from row to row, of whole tiles. next: bytes
 * from the panel to the one that is read after it, 0 if there is none; its lines are asked for
 * while this one is multiplied, each once. Between cameo_amx_begin and cameo_amx_end. */
static __attribute__((noinline, unused)) void
cameo_amx_panel(cameo_amx_tile *const (*tiles)[CAMEO_AMX_COLUMNS], int64_t m, int64_t columns,
                int64_t steps, cameo_amx_rows a, const void *b, int64_t ldb, int64_t next, void *c,
                int64_t ldc, int more)
{
    enum { ROWS = CAMEO_AMX_TILES * CAMEO_AMX_ROWS };
    const int64_t turns = (m + ROWS - 1) / ROWS, all = columns * CAMEO_AMX_ROWS;
    const int64_t lines = next ? (all + turns - 1) / turns : 0;
    for (int64_t i = 0; i < m; i += ROWS, a.at += CAMEO_AMX_TILES * a.tile) {
        const int64_t rows = m - i > CAMEO_AMX_ROWS ? 2 : 1;
        tiles[rows - 1][columns - 1](steps, &a, (const char *)b, ldb,
                                     next + i / ROWS * lines * CAMEO_AMX_LINE, lines,
                                     (char *)c + i * ldc, ldc, more);
    }
}

#else

static inline __attribute__((unused)) int cameo_amx_on(void)
{
    return 0;
}

#endif
#endif
