/* What is done to the sums of a convolution beside a clip: a function of CAMEO_CURVE_LANES numbers,
 * of which compilers make vectors, over rows of any length. */
#ifndef CAMEO_CURVE_H
#define CAMEO_CURVE_H

#include <stdint.h>
#include <string.h>

enum { CAMEO_CURVE_LANES = 16 };
typedef void cameo_curve_lanes(float *y, const float *added);

/* n neighbours in each of `rows` rows of y, `row` apart. added: as y, or NULL. What is past the
 * last whole vector of a row goes through one beside it. */
static inline __attribute__((always_inline, unused)) void
cameo_curve_rows(cameo_curve_lanes *curve, float *y, const float *added, int64_t rows, int64_t row,
                 int64_t n)
{
    const int64_t whole = n / CAMEO_CURVE_LANES * CAMEO_CURVE_LANES;
    for (int64_t r = 0; r < rows; r++) {
        float *to = y + r * row, last[CAMEO_CURVE_LANES] = {0}, beside[CAMEO_CURVE_LANES] = {0};
        const float *with = added ? added + r * row : NULL;
        for (int64_t i = 0; i < whole; i += CAMEO_CURVE_LANES)
            curve(to + i, with ? with + i : NULL);
        if (whole == n)
            continue;
        for (int64_t i = whole; i < n; i++)
            last[i - whole] = to[i];
        for (int64_t i = whole; i < n && with; i++)
            beside[i - whole] = with[i];
        curve(last, beside);
        for (int64_t i = whole; i < n; i++)
            to[i] = last[i - whole];
    }
}

#endif
