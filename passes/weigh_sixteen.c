// Sums over floats of four bits (weigh_sixteen.h): the numbers of sixteen words at a time, the
// first of each, then the second ones, are one pick from the vector of all that there are.

#include "passes/weigh_sixteen.h"
#include "base/host.h"
#include "base/sixteen.h"
#include "passes/weigh_lanes.h"

enum { IN_WORD = 8 }; // numbers

bool weigh_looks_up(const WordForm *form)
{
    return form->bits == 4 && form->digits && host_lanes() == SIXTEEN;
}

// 2^n, of what a float has as a normal number.
static inline float power_of_two(int n)
{
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

void weigh_sixteen_numbers(WordForm *form)
{
    const unsigned sign = SIXTEEN / 2, above = 1u << form->digits;
    for (unsigned code = 0; code < sign; code++) {
        const unsigned exponent = code >> form->digits;
        const unsigned digits = code % above + (exponent ? above : 0);
        const int up = (exponent ? (int)exponent : 1) - form->bias - (int)form->digits;
        form->numbers[code] = (float)digits * power_of_two(up);
        form->numbers[code + sign] = -form->numbers[code];
    }
}

// The next numbers of sixteen words.
HOST_SIXTEEN_INLINE Sixteen next_of(SixteenWords *words, Sixteen numbers)
{
    const Sixteen v = sixteen_pick(numbers, *words);
    *words >>= 4;
    return v;
}

// The place of numbers t of the words from `word` on.
static inline uint64_t place_of(uint64_t word, unsigned t)
{
    return word / WORDS * (WORDS * IN_WORD) + t * WORDS + word % WORDS;
}

typedef struct Three {
    Sixteen middle, radius, most;
} Three;

// Of the sixteen words at k.
HOST_SIXTEEN_INLINE void add_words(Sixteen numbers, const unsigned char *at, uint64_t k,
                                   const float *scale, const ShortIntervals *x, Three *sum,
                                   const bool all)
{
    Three own = {{0}, {0}, {0}};
    SixteenWords word = sixteen_words_at(at + k * sizeof(uint32_t));
    for (unsigned t = 0; t < IN_WORD; t++) {
        const uint64_t of = place_of(k, t);
        const Sixteen v = next_of(&word, numbers), size = sixteen_sizes(v);
        own.middle += v * sixteen_at(x->middle + of);
        own.radius += size * sixteen_at(x->radius + of);
        if (all)
            own.most += size * sixteen_at(x->most + of);
    }
    const Sixteen none = {0}, s = scale ? sixteen_at(scale + k) : none + 1;
    sum->middle += s * own.middle;
    sum->radius += sixteen_sizes(s) * own.radius;
    if (all)
        sum->most += sixteen_sizes(s) * own.most;
}

HOST_SIXTEEN_INLINE double add_both(Sixteen low, Sixteen high)
{
    float lanes[WORDS];
    sixteen_put(lanes, low);
    sixteen_put(lanes + SIXTEEN, high);
    return add_floats(lanes);
}

HOST_SIXTEEN_INLINE void row_of(Sixteen numbers, const unsigned char *at, uint64_t words,
                                const float *scale, const ShortIntervals *x, double *sum,
                                const bool all)
{
    Three low = {{0}, {0}, {0}}, high = low;
    for (uint64_t k = 0; k < words; k += WORDS) {
        add_words(numbers, at, k, scale, x, &low, all);
        add_words(numbers, at, k + SIXTEEN, scale, x, &high, all);
    }
    sum[0] += add_both(low.middle, high.middle);
    sum[1] += add_both(low.radius, high.radius);
    if (all)
        sum[2] += add_both(low.most, high.most);
}

HOST_SIXTEEN void weigh_sixteen_row(const WordForm *form, const unsigned char *at, uint64_t words,
                                    const float *scale, const ShortIntervals *x, double *sum)
{
    const Sixteen numbers = sixteen_at(form->numbers);
    if (x->most)
        row_of(numbers, at, words, scale, x, sum, true);
    else
        row_of(numbers, at, words, scale, x, sum, false);
}

HOST_SIXTEEN_INLINE void add_to(float *to, const Sixteen *v, const float *x)
{
    Sixteen sum = sixteen_at(to);
    for (int j = 0; j < 4; j++)
        sum += v[j] * x[3 * j];
    sixteen_put(to, sum);
}

// What is asked for comes while the sums of what is there are added, a line for each of theirs.
HOST_SIXTEEN_INLINE void rows_of(Sixteen numbers, const unsigned char *const *row, uint64_t words,
                                 uint64_t ahead, const float *x, float *restrict a,
                                 float *restrict b, float *restrict c, const bool all)
{
    for (uint64_t k = 0; k < words; k += SIXTEEN) {
        SixteenWords word[4];
        for (int j = 0; j < 4; j++) {
            const unsigned char *at = row[j] + k * sizeof(uint32_t);
            word[j] = sixteen_words_at(at);
            __builtin_prefetch(at + ahead);
        }
        for (unsigned t = 0; t < IN_WORD; t++) {
            const uint64_t to = place_of(k, t);
            Sixteen v[4], size[4];
            for (int j = 0; j < 4; j++) {
                v[j] = next_of(&word[j], numbers);
                size[j] = sixteen_sizes(v[j]);
            }
            add_to(a + to, v, x);
            add_to(b + to, size, x + 1);
            if (all)
                add_to(c + to, size, x + 2);
        }
    }
}

HOST_SIXTEEN void weigh_sixteen_rows(const WordForm *form, const unsigned char *const *row,
                                     uint64_t words, uint64_t ahead, const float *x,
                                     const ShortIntervals *sums)
{
    const Sixteen numbers = sixteen_at(form->numbers);
    float own[12];
    memcpy(own, x, sizeof own);
    if (sums->most)
        rows_of(numbers, row, words, ahead, own, sums->middle, sums->radius, sums->most, true);
    else
        rows_of(numbers, row, words, ahead, own, sums->middle, sums->radius, NULL, false);
}
