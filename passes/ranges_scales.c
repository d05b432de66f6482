// Scales and zero points of weights that are added as integers (ranges_weigh.h).

#include "base/host.h"
#include "passes/ranges_weigh.h"

#include <math.h>
#include <string.h>

// Those of n weights from index i on.
static void scales_of(const Factor *f, uint64_t i, uint64_t n, float *to)
{
    for (uint64_t k = 0; k < n;) {
        const FactorRun run = factor_run(f, i + k, n - k);
        if (run.step)
            factor_scales(f, run.k, run.n, to + k);
        for (uint64_t j = 0; !run.step && j < run.n; j++)
            to[k + j] = j ? to[k] : (float)factor_scale(f, run.k);
        k += run.n;
    }
}

static void zeros_of(const Factor *f, uint64_t i, uint64_t n, float *to)
{
    for (uint64_t k = 0; k < n;) {
        const FactorRun run = factor_run(f, i + k, n - k);
        factor_zeros(f, run.k, run.step ? run.n : 1, to + k);
        for (uint64_t j = run.step ? run.n : 1; j < run.n; j++)
            to[k + j] = to[k];
        k += run.n;
    }
}

// ---- words of a row

void weighing_point(Weighing *g, double point)
{
    if (point == g->filled)
        return;
    for (uint64_t k = 0; k < CHUNK; k++) {
        g->s->word_zero[k] = (float)(WORD_HELD + point);
        g->s->points[k] = (uint32_t)point * UINT32_C(0x01010101);
    }
    g->filled = point;
}

// from[k] for each word of block k: the first block has `first` words, others `block`, all `words`.
static void spread(const float *from, uint64_t first, uint64_t block, uint64_t words, float *to)
{
    enum { FOUR = 4 };
    const uint64_t in_fours = words / FOUR * FOUR;
    uint64_t end = first < words ? first : words, word = 0, k = 0;
    if (first % FOUR == 0 && block == FOUR) { // the usual 32 integers of 4 bits
        for (; word < end; word++)
            to[word] = from[0];
        for (k = first > 0; word < in_fours; word += FOUR, k++)
            for (int j = 0; j < FOUR; j++)
                to[word + (uint64_t)j] = from[k];
        end = words;
    }
    for (; word < words; k++) {
        const float four[FOUR] = {from[k], from[k], from[k], from[k]};
        for (; word + FOUR <= end; word += FOUR)
            memcpy(to + word, four, sizeof four);
        for (; word < end; word++)
            to[word] = from[k];
        end = words - end < block ? words : end + block;
    }
}

HOST_VECTORS
static void hold_points(double offset, uint64_t words, float *restrict held,
                        uint32_t *restrict points)
{
    for (uint64_t k = 0; k < words; k++) {
        const float point = held[k] + (float)offset;
        points[k] = (uint32_t)(int)point * UINT32_C(0x01010101);
        held[k] = point + (float)WORD_HELD;
    }
}

void weighing_blocks(Weighing *g, const FactorRun *run, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const uint64_t per = 32 / g->word.bits, words = (n + per - 1) / per, block = g->f->block / per;
    const uint64_t blocks = (n - run->n + g->f->block - 1) / g->f->block + 1;
    factor_scales(g->f, run->k, blocks, s->parameters);
    spread(s->parameters, run->n / per, block, words, s->word_scale);
    if (!g->f->zero.n) {
        weighing_point(g, factor_zero(g->f, 0) + g->offset);
        return;
    }
    g->filled = NAN;
    factor_zeros(g->f, run->k, blocks, s->parameters);
    spread(s->parameters, run->n / per, block, words, s->word_zero);
    hold_points(g->offset, words, s->word_zero, s->points);
}

// ---- columns

// To the low halves' places, then to the high ones'.
HOST_VECTORS
static void place_halves(const float *restrict from, uint64_t n, float *restrict low,
                         float *restrict high)
{
    for (uint64_t k = 0; k < n / 2; k++) {
        low[k] = from[2 * k];
        high[k] = from[2 * k + 1];
    }
}

HOST_VECTORS
static void make_bytes(const float *restrict from, uint64_t n, float offset,
                       unsigned char *restrict to)
{
    for (uint64_t k = 0; k < n; k++)
        to[k] = (unsigned char)(int)(from[k] + offset);
}

void weighing_columns(Weighing *g, uint64_t i, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const Factor *f = g->f;
    const bool halves = g->way == AS_HALVES;
    scales_of(f, i, n, halves ? s->parameters : s->scale);
    if (halves)
        place_halves(s->parameters, n, s->scale, s->scale + n / 2);
    if (f->zero.n < 2) {
        memset(s->zero, (unsigned char)(factor_zero(f, 0) + g->offset), n);
        return;
    }
    float *zeros = s->parameters;
    zeros_of(f, i, n, zeros);
    if (halves) {
        zeros = s->word_zero;
        place_halves(s->parameters, n, zeros, zeros + n / 2);
    }
    make_bytes(zeros, n, (float)g->offset, s->zero);
}

void weighing_word_columns(Weighing *g, uint64_t i, uint64_t n)
{
    struct WeighScratch *s = g->s;
    scales_of(g->f, i, n, s->parameters);
    weigh_place(&g->word, s->parameters, n, s->word_scale);
    if (g->f->zero.n < 2) {
        weighing_point(g, factor_zero(g->f, 0) + g->offset);
        return;
    }
    g->filled = NAN;
    zeros_of(g->f, i, n, s->parameters);
    for (uint64_t k = 0; k < n; k++)
        s->parameters[k] += (float)(WORD_HELD + g->offset);
    weigh_place(&g->word, s->parameters, n, s->word_zero);
}
