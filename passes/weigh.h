// Sums over constant weights as they lie in memory: what each weight multiplies lies in an
// interval.
//
// A factor x within [middle - radius, middle + radius], of magnitude at most `most`, adds to a sum
// w * middle, and at most |w| * radius to either side of that. So three sums bound a sum of
// products: that of w * middle, of |w| * radius, and of |w| * most, of which what rounding adds is
// a share. All loops are vectors without a branch.
#ifndef CAMEO_PASSES_WEIGH_H
#define CAMEO_PASSES_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

// What weights multiply: arrays of the same length. Without `most` that sum is left out: where it
// is known to be at most so many times that of |w| * radius.
typedef struct Intervals {
    double *middle, *radius, *most;
} Intervals;
// The same, each at least as wide, for sums in float32.
typedef struct ShortIntervals {
    float *middle, *radius, *most;
} ShortIntervals;

// How weights are stored.
typedef enum WeightForm { WEIGHT_F64, WEIGHT_F32, WEIGHT_F16, WEIGHT_BF16 } WeightForm;

// What is read soon: while some weights are added, others come from memory.
static inline void weigh_expect(const unsigned char *at, uint64_t n)
{
    enum { LINE = 64 };
    for (uint64_t k = 0; k < n; k += LINE)
        __builtin_prefetch(at + k);
}

void weigh_read(WeightForm form, const unsigned char *at, uint64_t n, double *to);
// Adds to sum[0..2] the three sums of n weights next to each other, the kth times interval k. Of
// WEIGHT_F64 and WEIGHT_F32.
void weigh_row(WeightForm form, const unsigned char *at, uint64_t n, const Intervals *x,
               double *sum);
// Adds those of `rows` rows of n weights, `stride` bytes apart, row k times interval k, to n sums.
void weigh_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                uint64_t n, const Intervals *x, const Intervals *sums);

// ---- in float32
// What the sums of w * middle and of |w| * radius are off together is at most weigh_short_error of
// the number of terms, relative to that of |w| * most, and SHORT_LEAST for each term; exact where
// terms are halves of integers that add up to less than 2^23. It is not finite where it is beyond
// float32.
enum { SHORT_ROWS = 64 }; // at most so many rows are added at a time
double weigh_short_error(double terms);
#define SHORT_LEAST 0x1p-146
// The same of WEIGHT_F16 and WEIGHT_BF16.
void weigh_short_row(WeightForm form, const unsigned char *at, uint64_t n, const ShortIntervals *x,
                     double *sum);
void weigh_short_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                      uint64_t n, const ShortIntervals *x, const ShortIntervals *sums);

// ---- integers, one interval
// The byte q stands for (q ^ flip) - zero, zero between 0 and 255 as q ^ flip is; flip is 0x80 for
// int8, 0 for uint8. Sums are not of
// w, but of q ^ flip, and of |w|: where all of x is one interval these give the three.
enum { BYTE_ROWS = 128 }; // at most so many rows are added at a time
void weigh_bytes(const unsigned char *at, uint64_t n, unsigned char flip, unsigned char zero,
                 uint64_t *sum, uint64_t *magnitude);
// Zero points are those of columns.
void weigh_byte_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t n,
                     unsigned char flip, const unsigned char *zero, uint16_t *sum,
                     uint16_t *magnitude);

// ---- integers of 4 bits, one interval
// Two to a byte, the first in its low bits: each stands for (q ^ flip) - zero, zero between 0 and
// 15 as q ^ flip is; flip is 0x88 for int4, 0 for uint4. n is even, and rows begin with a byte.
//
// Adds the sums of w and of |w| of n <= WORD_RUN integers next to each other to sum[0..1]. Eight of
// them are a word, whose scale (NULL: 1) and zero point, in each byte of its own, are those of the
// word. What is added in float32 keeps to what is said there.
void weigh_half_row(const unsigned char *at, uint64_t n, unsigned char flip, const float *scale,
                    const uint32_t *zero, double *sum);
// Those of q ^ flip and of |w| of n columns, in at most BYTE_ROWS rows. Zero points and sums are in
// another order: those of columns 0, 2, 4 .., then of 1, 3, 5 ..
void weigh_half_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t n,
                     unsigned char flip, const unsigned char *zero, uint16_t *sum,
                     uint16_t *magnitude);

// ---- integers and floats of at most 8 bits, an interval each
// Bytes and halves of bytes are taken from words of 32 bits, all first ones of 32 words, then all
// second ones: in this order, which differs from theirs within 32 words, intervals, zero points and
// sums stand. What is added in float32 keeps to what is said there.
enum { WORDS = 32, WORD_RUN = 2048 };
// Integers that are `bits` wide (4 or 8), and how they are stored; `flip` as above. Or floats with
// so many digits behind the point (of 4 bits 1, of 8 bits 2 or 3) and such a bias of their
// exponent; what is infinite or NaN becomes some number.
typedef struct WordForm {
    unsigned bits;
    unsigned char flip;
    unsigned digits; // 0: integers
    int bias;
    float numbers[16]; // of floats of 4 bits (weigh_sixteen_numbers)
} WordForm;
// n numbers take so many places: what is over is never looked at, but has to be there.
uint64_t weigh_places(const WordForm *form, uint64_t n);
// n numbers in this order; what is over is 0.
void weigh_place(const WordForm *form, const float *from, uint64_t n, float *to);
// The place of the kth.
static inline uint64_t weigh_place_of(const WordForm *form, uint64_t k)
{
    const unsigned log = form->bits == 4 ? 3 : 2, in = k & ((WORDS << log) - 1);
    return k - in + (in & ((1u << log) - 1)) * WORDS + (in >> log);
}
// Zero points, which floats have none of, come with this number, whose float has an integer in its
// lowest bits.
#define WORD_HELD 0x1p23
// Adds the three sums of n <= WORD_RUN numbers next to each other to sum[0..2]; scales (NULL:
// none) and zero points are those of words.
void weigh_word_row(const WordForm *form, const unsigned char *at, uint64_t n, const float *scale,
                    const float *zero, const ShortIntervals *x, double *sum);
// Those of `rows` <= SHORT_ROWS rows, without their scales, row k times interval k, to n sums; zero
// points are those of columns. What lies `ahead` bytes behind them is read soon (0: nothing).
void weigh_word_rows(const WordForm *form, const unsigned char *at, uint64_t stride, uint64_t rows,
                     uint64_t n, uint64_t ahead, const float *zero, const ShortIntervals *x,
                     const ShortIntervals *sums);

// n integers of 2 or 4 bits from index `first` on, the first of a byte in its low bits, as bytes
// that keep their value; those with a sign are moved up by half of their range.
void weigh_unpack(const unsigned char *at, uint64_t first, uint64_t n, unsigned bits,
                  bool is_signed, unsigned char *to);

#endif
