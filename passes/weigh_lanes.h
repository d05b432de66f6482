// Lanes of the loops of weigh.h. To be included where these are.
#ifndef CAMEO_PASSES_WEIGH_LANES_H
#define CAMEO_PASSES_WEIGH_LANES_H

#define INLINE static inline __attribute__((always_inline))

// What so many lanes add up to, in a tree: a chain would take longer than a row of weights.
#define LANES 32
#define ADD_LANES(name, real)                                                                      \
    INLINE double name(const real *x)                                                              \
    {                                                                                              \
        double sum[LANES / 4];                                                                     \
        for (int j = 0; j < LANES / 4; j++)                                                        \
            sum[j] = ((double)x[j] + (double)x[j + LANES / 4]) +                                   \
                     ((double)x[j + LANES / 2] + (double)x[j + 3 * LANES / 4]);                    \
        for (int half = LANES / 8; half; half /= 2)                                                \
            for (int j = 0; j < half; j++)                                                         \
                sum[j] += sum[j + half];                                                           \
        return sum[0];                                                                             \
    }
ADD_LANES(add_doubles, double)
ADD_LANES(add_floats, float)

#endif
