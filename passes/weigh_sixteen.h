// Sums over floats of four bits, which are sixteen numbers: each is looked up (weigh.h).
#ifndef CAMEO_PASSES_WEIGH_SIXTEEN_H
#define CAMEO_PASSES_WEIGH_SIXTEEN_H

#include "passes/weigh.h"

// Are a form's numbers looked up on this machine?
bool weigh_looks_up(const WordForm *form);
// The numbers of a form that has sixteen, by what stores them.
void weigh_sixteen_numbers(WordForm *form);
// What weigh_word_row adds, of whole WORDS words.
void weigh_sixteen_row(const WordForm *form, const unsigned char *at, uint64_t words,
                       const float *scale, const ShortIntervals *x, double *sum);
// What weigh_word_rows adds of four rows, whose intervals are x[0..2], x[3..5] ..
void weigh_sixteen_rows(const WordForm *form, const unsigned char *const *row, uint64_t words,
                        uint64_t ahead, const float *x, const ShortIntervals *sums);

#endif
