// The measured peak of one core: float32 multiply-adds in registers, and bytes read from memory.
//
//     gcc -O3 -march=native peak.c -o peak && ./peak      {"gflops": ..., "read_gb_s": ...}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float Vector __attribute__((vector_size(LANES * 4)));
enum { CHAINS = 12, ROUNDS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double gflops(void)
{
    const long n = 200000;
    Vector a[CHAINS], m, c;
    for (int i = 0; i < LANES; i++)
        m[i] = 0.999f, c[i] = 0.001f;
    for (int k = 0; k < CHAINS; k++)
        a[k] = c;
    double begin = now();
    for (long i = 0; i < n; i++)
        for (int k = 0; k < CHAINS; k++)
            a[k] = a[k] * m + c;
    double seconds = now() - begin;
    volatile float sink = 0;
    for (int k = 0; k < CHAINS; k++)
        sink += a[k][0];
    return 2.0 * LANES * CHAINS * (double)n / seconds * 1e-9;
}

static double read_gb_s(void)
{
    const size_t bytes = (size_t)256 << 20;
    char *at = malloc(bytes);
    if (!at)
        return 0;
    memset(at, 1, bytes);
    Vector sum = {0};
    double begin = now();
    for (size_t i = 0; i < bytes; i += sizeof(Vector))
        sum += *(const Vector *)(at + i);
    double seconds = now() - begin;
    volatile float sink = sum[0];
    (void)sink;
    free(at);
    return (double)bytes / seconds * 1e-9;
}

int main(void)
{
    double best = 0, read = 0;
    for (int i = 0; i < ROUNDS * 100; i++) { /* short ones: the best of them had the core alone */
        double g = gflops();
        best = g > best ? g : best;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double r = read_gb_s();
        read = r > read ? r : read;
    }
    printf("{\"gflops\": %.1f, \"read_gb_s\": %.1f}\n", best, read);
    return 0;
}
