/* Tiles of matrix registers, and with CHECK_WORDS those of vectors, beside plain loops, over random
 * shapes: rows that are and are not whole tiles, read where they lie or copied, all widths of a
 * panel, sums begun and continued. */

#include "runtime/cameo_matrix.h"

#include "amx_tiles.h"

#include "runtime/cameo_words.h"

#include "amx_words.h"

#include "runtime/cameo_amx.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef CAMEO_AMX

#ifdef CHECK_WORDS
typedef const cameo_words_table *Tiles;
#define TILES(name) cameo_words_##name
#define WHAT "vectors"
#else
typedef cameo_amx_tile *const (*Tiles)[CAMEO_AMX_COLUMNS];
#define TILES(name) cameo_amx_##name
#define WHAT "matrix registers"
#endif

typedef struct Kind {
    const char *name;
    Tiles tiles;
    int size, flip, a_signed, b_signed; /* bytes of an element; 0x80 where a is flipped */
} Kind;

typedef struct Shape {
    int64_t m, n, k, am, ak; /* am, ak: strides in elements */
    int lies;
} Shape;

static const Kind kinds[] = {
    {"bf16", TILES(bf16), 2, 0, 1, 1},    {"u8s8", TILES(u8s8), 1, 0, 0, 1},
    {"u8s8", TILES(u8s8), 1, 0x80, 0, 1}, {"s8s8", TILES(s8s8), 1, 0, 1, 1},
#ifndef CHECK_WORDS
    {"s8u8", TILES(s8u8), 1, 0, 1, 0},
#endif
};

#ifdef CHECK_WORDS
static int can(void)
{
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
}

static void multiply(const Kind *kind, const Shape *s, cameo_amx_rows *from, const void *panel,
                     int64_t ldb, int64_t next, void *c, int64_t ldc, int more)
{
    /* a begins 128 higher than bytes with signs are: what is taken off again is the caller's */
    cameo_words_vector less[CAMEO_WORDS_VECTORS] = {{0}};
    const int64_t columns = ldb / 64, whole = CAMEO_AMX_LINE / kind->size;
    const cameo_words_steps steps = {(s->k + whole - 1) / whole, s->k / whole, 16, NULL, 0};
    const cameo_words_panel b = {(const char *)panel, 16 * ldb, ldb, 64, NULL, 0};
    if (kind->a_signed && kind->size == 1)
        cameo_words_less(&steps, columns, &b, less);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < 16 * columns; j++) {
            int32_t before, by;
            memcpy(&before, (char *)c + i * ldc + 4 * j, sizeof before);
            memcpy(&by, (char *)less + 4 * j, sizeof by);
            before = (int32_t)((more ? (uint32_t)before : 0) + (uint32_t)by);
            memcpy((char *)c + i * ldc + 4 * j, &before, sizeof before);
        }
    cameo_words_product(kind->tiles, s->m, columns, s->k, kind->size, from, panel, ldb, next, c,
                        ldc, 1);
}
#else
static int can(void)
{
    return cameo_amx_on();
}

static void multiply(const Kind *kind, const Shape *s, cameo_amx_rows *from, const void *panel,
                     int64_t ldb, int64_t next, void *c, int64_t ldc, int more)
{
    const int64_t steps = (s->k * kind->size + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE;
    cameo_amx_begin();
    cameo_amx_panel(kind->tiles, s->m, ldb / 64, steps, from, panel, ldb, next, c, ldc, more);
    cameo_amx_end();
}
#endif

static uint64_t state = 88172645463325252u;

static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 16) % n;
}

static double bf16(uint16_t h)
{
    const uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Small numbers of 8 bits of mantissa, whose products float32 adds up without much error. */
static uint16_t some_bf16(void)
{
    const float f = (float)(below(511) - 255) / 128.0f;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)(u >> 16);
}

static double element(const Kind *kind, const void *at, int64_t i, int is_signed, int flip)
{
    if (kind->size == 2)
        return bf16(((const uint16_t *)at)[i]);
    const uint8_t x = ((const uint8_t *)at)[i] ^ (uint8_t)flip;
    return is_signed ? (int8_t)x : x;
}

static void fill(const Kind *kind, void *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (kind->size == 2)
            ((uint16_t *)at)[i] = some_bf16();
        else
            ((uint8_t *)at)[i] = (uint8_t)below(256);
}

/* b[k][n] as a panel: rows of words for each 4 / size values of k. */
static void pack(const Kind *kind, const Shape *s, const void *b, int64_t ldb, unsigned char *panel)
{
    const int64_t each = 4 / kind->size;
    for (int64_t k = 0; k < s->k; k++)
        for (int64_t n = 0; n < s->n; n++)
            memcpy(panel + k / each * ldb + 4 * n + k % each * kind->size,
                   (const unsigned char *)b + (k * s->n + n) * kind->size, (size_t)kind->size);
}

static int differs(const Kind *kind, const Shape *s, const void *a, const void *b, const void *c,
                   int64_t ldc, double before)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = before, most = 1;
            for (int64_t k = 0; k < s->k; k++) {
                const double x =
                    element(kind, a, i * s->am + k * s->ak, kind->a_signed, kind->flip);
                const double y = element(kind, b, k * s->n + j, kind->b_signed, 0);
                sum += x * y;
                most += x * y < 0 ? -x * y : x * y;
            }
            const char *at = (const char *)c + i * ldc + 4 * j;
            float f;
            int32_t n;
            memcpy(&f, at, sizeof f);
            memcpy(&n, at, sizeof n);
            const double is = kind->size == 2 ? (double)f : (double)n, error = is - sum;
            const double bound = kind->size == 2 ? most * 1e-6 : 0;
            if (!(error <= bound && -error <= bound)) {
                printf("%s %d x %d x %d lies %d flip %d: [%d,%d] is %g, not %g\n", kind->name,
                       (int)s->m, (int)s->n, (int)s->k, s->lies, kind->flip, (int)i, (int)j, is,
                       sum);
                return 1;
            }
        }
    return 0;
}

static int try(const Kind *kind, const Shape *s)
{
    enum { AHEAD = 64 };
    const int64_t steps = (s->k * kind->size + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE;
    const int64_t columns = (s->n + 15) / 16, ldb = 64 * columns, ldc = ldb + 64 * below(2);
    const int64_t rows = (s->m + 15) / 16 * 16, elements = s->m * s->am + s->k * s->ak;
    unsigned char *a = aligned_alloc(64, (size_t)(elements * kind->size + 127) / 64 * 64);
    unsigned char *copy = aligned_alloc(64, (size_t)cameo_amx_size(s->m, s->k * kind->size));
    unsigned char *b = malloc((size_t)(s->k * s->n * kind->size));
    unsigned char *panel = aligned_alloc(64, (size_t)(16 * steps * ldb + AHEAD));
    unsigned char *c = aligned_alloc(64, (size_t)(rows * ldc));
    if (!a || !copy || !b || !panel || !c)
        return 1;
    fill(kind, a, elements);
    fill(kind, b, s->k * s->n);
    memset(panel, 0, (size_t)(16 * steps * ldb));
    pack(kind, s, b, ldb, panel);
    const int more = (int)below(2);
    for (int64_t i = 0; i < rows * ldc / 4; i++) {
        const float f = 2.0f;
        const int32_t n = 2;
        memcpy(c + 4 * i, kind->size == 2 ? (const void *)&f : (const void *)&n, 4);
    }
    cameo_amx_rows from = cameo_amx_lying(a, s->am * kind->size);
    if (!s->lies) {
        cameo_amx_pack(s->m, s->k, kind->size, a, s->am, s->ak, kind->flip, copy);
        from = cameo_amx_packed(copy, s->k * kind->size);
    }
    multiply(kind, s, &from, panel, ldb, AHEAD, c, ldc, more);
    const int wrong = differs(kind, s, a, b, c, ldc, more ? 2 : 0);
    free(a);
    free(copy);
    free(b);
    free(panel);
    free(c);
    return wrong;
}

int main(int argc, char **argv)
{
    const int tries = argc > 1 ? atoi(argv[1]) : 400;
    int wrong = 0, all = 0;
    if (!can()) {
        printf("SKIPPED: this machine gives no " WHAT " that multiply words, nothing was tested\n");
        return 77;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int t = 0; t < tries; t++, all++) {
            const Kind *kind = &kinds[i];
            Shape s = {1 + below(100), 1 + below(48), 1 + below(300), 0, 1, 0};
            s.lies = !kind->flip && below(2);
            if (s.lies) {
                s.m = (s.m + 15) / 16 * 16;
                s.k = (s.k + 63) / 64 * 64;
                s.am = s.k + 64 * below(3);
            } else if (below(3)) {
                s.am = s.k + below(5);
            } else {
                s.am = 1;
                s.ak = s.m + below(5);
            }
            wrong += try(kind, &s);
        }
    printf("%d of %d products of " WHAT " are what plain loops give\n", all - wrong, all);
    return wrong ? 1 : 0;
}

#else

int main(void)
{
    printf("SKIPPED: compiled for a processor without AVX-512, nothing was tested\n");
    return 77;
}

#endif
