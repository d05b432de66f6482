// What this machine can do at most (runtime/cameo_peaks.h), as one line of JSON. Without arguments
// products of one core: float32 multiply-adds in vectors; pairs of bfloat16 and four bytes in
// vectors and in matrix registers, 0 where the processor has no such instruction. With BYTES
// THREADS: how fast so many bytes, each thread its part of them, are read again and again.
//
//     gcc -O3 -march=native -pthread -I runtime tests/bench/peak.c -o peak && ./peak

#include "cameo_peaks.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

enum { ROUNDS = 6, MOST_THREADS = 64, PAGE = 2 << 20 };

typedef struct Reader {
    const char *at;
    size_t bytes, ahead, turns;
    double best; // nanoseconds of a round, from all threads' start to the end of the last
    volatile float sum;
} Reader;

static pthread_barrier_t together;

static void *read_part(void *of)
{
    Reader *r = of;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        const double begin = cameo_peak_now();
        for (size_t t = 0; t < r->turns; t++) {
            __asm__ volatile("" ::"r"(r->at) : "memory");
            r->sum = r->sum + cameo_peak_sum(r->at, r->bytes, r->ahead);
        }
        pthread_barrier_wait(&together);
        const double took = cameo_peak_now() - begin;
        r->best = round && (round == 1 || took < r->best) ? took : r->best;
    }
    return NULL;
}

// GB/s of the best round, asking so many bytes ahead (0: not at all); 0 where a thread fails.
static double read_rate(const char *at, size_t bytes, size_t ahead, int threads)
{
    static Reader readers[MOST_THREADS];
    pthread_t others[MOST_THREADS];
    const size_t part = bytes / (size_t)threads / 256 * 256;
    const size_t turns = bytes < PAGE ? 16 * (size_t)PAGE / bytes : bytes < 16 * PAGE ? 8 : 1;
    double longest = 0;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        readers[i] = (Reader){at + (size_t)i * part, part, ahead, turns, 0, 0};
        if (pthread_create(&others[i], NULL, read_part, &readers[i]) != 0)
            return 0;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(others[i], NULL);
        longest = readers[i].best > longest ? readers[i].best : longest;
    }
    pthread_barrier_destroy(&together);
    return (double)(turns * part * (size_t)threads) / longest;
}

// In huge pages where the system has some: small ones cost a third of the rate.
static int print_reading(size_t bytes, int threads)
{
    const size_t aheads[] = {0, 512, 1024, 2048, 4096}, size = (bytes / PAGE + 1) * PAGE;
    char *at = threads > 0 && threads <= MOST_THREADS && bytes / (size_t)threads >= 4096
                   ? aligned_alloc(PAGE, size)
                   : NULL;
    double best = 0;
    if (!at) {
        fprintf(stderr, "peak: not so many bytes by so many threads\n");
        return 1;
    }
#ifdef MADV_HUGEPAGE
    madvise(at, size, MADV_HUGEPAGE);
#endif
    memset(at, 0, size);
    for (size_t i = 0; i < sizeof aheads / sizeof *aheads; i++) {
        const double rate = read_rate(at, bytes, aheads[i], threads);
        best = rate > best ? rate : best;
    }
    free(at);
    printf("{\"read_gb_s\": %.1f}\n", best);
    return best > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    double f32 = 0;
    if (argc == 3)
        return print_reading(strtoull(argv[1], NULL, 10), atoi(argv[2]));
    for (int i = 0; i < 20; i++) { // short ones: the best of them had the core alone
        const double rate = cameo_peak();
        f32 = rate > f32 ? rate : f32;
    }
    printf(
        "{\"f32\": %.1f, \"bf16\": %.1f, \"int8\": %.1f, \"amx_bf16\": %.1f, \"amx_int8\": %.1f}\n",
        f32, cameo_peak_of_pairs(), cameo_peak_of_words(), cameo_peak_of_squares(0),
        cameo_peak_of_squares(1));
    return 0;
}
