/* The least and the greatest of a row of numbers, in one pass over it. */
#ifndef CAMEO_EXTREMES_H
#define CAMEO_EXTREMES_H

/* *least and *greatest of x[0 .. n), in the lanes that a reduction along neighbours has, so that
 * they are the same bits; infinite where n is 0, NaN where one of x is. Of two elements of a lane
 * it is noted at once whether there is a NaN, since that takes one comparison. */
static __attribute__((noinline, unused)) void cameo_extremes_f32(const float *x, int64_t n,
                                                                 float *least, float *greatest)
{
    enum { LANES = 32 };
    float low[LANES], high[LANES];
    int odd[LANES];
    int64_t i = 0;
    for (int l = 0; l < LANES; l++) {
        low[l] = INFINITY;
        high[l] = -INFINITY;
        odd[l] = 0;
    }
    for (; i + 2 * LANES <= n; i += 2 * LANES)
        for (int l = 0; l < LANES; l++) {
            const float a = x[i + l], b = x[i + l + LANES];
            low[l] = a < low[l] ? a : low[l];
            high[l] = a > high[l] ? a : high[l];
            low[l] = b < low[l] ? b : low[l];
            high[l] = b > high[l] ? b : high[l];
            odd[l] |= __builtin_isunordered(a, b);
        }
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const float a = x[i + l];
            low[l] = a < low[l] ? a : low[l];
            high[l] = a > high[l] ? a : high[l];
            odd[l] |= a != a;
        }
    if (i < n && n >= LANES) { /* the last LANES, each in the lane of its place: some once more */
        float twice[2 * LANES];
        for (int l = 0; l < LANES; l++)
            twice[l] = twice[l + LANES] = x[n - LANES + l];
        const float *last = twice + LANES - n % LANES;
        for (int l = 0; l < LANES; l++) {
            low[l] = last[l] < low[l] ? last[l] : low[l];
            high[l] = last[l] > high[l] ? last[l] : high[l];
            odd[l] |= last[l] != last[l];
        }
        i = n;
    }
    for (; i < n; i++) {
        const int64_t l = i % LANES;
        low[l] = x[i] < low[l] ? x[i] : low[l];
        high[l] = x[i] > high[l] ? x[i] : high[l];
        odd[l] |= x[i] != x[i];
    }
    *least = cameo_lanes_min_f32(low, odd);
    *greatest = cameo_lanes_max_f32(high, odd);
}

#endif
