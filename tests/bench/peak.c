// The measured peak of one core (runtime/cameo_peaks.h) as one line of JSON: float32 multiply-adds
// in vectors; pairs of bfloat16 and four bytes in vectors and in matrix registers, 0 where the
// processor has no such instruction; bytes read from memory.
//
//     gcc -O3 -march=native -I runtime tests/bench/peak.c -o peak && ./peak

#include "cameo_peaks.h"

#include <stdio.h>

int main(void)
{
    const double read = cameo_peak_read((size_t)256 << 20, 0);
    double f32 = 0;
    for (int i = 0; i < 20; i++) { // short ones: the best of them had the core alone
        const double rate = cameo_peak();
        f32 = rate > f32 ? rate : f32;
    }
    printf(
        "{\"f32\": %.1f, \"bf16\": %.1f, \"int8\": %.1f, \"amx_bf16\": %.1f, \"amx_int8\": %.1f, "
        "\"read_gb_s\": %.1f}\n",
        f32, cameo_peak_of_pairs(), cameo_peak_of_words(), cameo_peak_of_squares(0),
        cameo_peak_of_squares(1), read);
    return 0;
}
