/* Are all indices of a run in a range? Asked before a kernel that goes by them. */
#ifndef CAMEO_WITHIN_H
#define CAMEO_WITHIN_H

#include "cameo_math.h"

/* low <= k < high for each k of n elements that are `by` apart. Where the range is no longer than
 * half of what an int64_t holds, one of k - low and high - 1 - k has its sign set, though it may
 * wrap, if and only if k is outside: compilers make vectors of that for any processor. A function
 * of its own, since the steps that call it are compiled without vectors. */
#define CAMEO_WITHIN(name, type)                                                                   \
    static __attribute__((noinline, unused)) int name(const type *k, int64_t n, int64_t by,        \
                                                      int64_t low, int64_t high)                   \
    {                                                                                              \
        const uint64_t first = (uint64_t)low, last = (uint64_t)high - 1;                           \
        uint64_t outside = 0;                                                                      \
        if (low >= high || low < INT64_MIN / 4 || high > INT64_MAX / 4)                            \
            for (int64_t i = 0; i < n; i++)                                                        \
                outside |= (uint64_t)(k[i * by] < low || k[i * by] >= high) << 63;                 \
        else if (by == 1)                                                                          \
            for (int64_t i = 0; i < n; i++)                                                        \
                outside |= ((uint64_t)(int64_t)k[i] - first) | (last - (uint64_t)(int64_t)k[i]);   \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                outside |= ((uint64_t)(int64_t)k[i * by] - first) |                                \
                           (last - (uint64_t)(int64_t)k[i * by]);                                  \
        return outside >> 63 == 0;                                                                 \
    }
CAMEO_WITHIN(cameo_all_within_i32, int32_t)
CAMEO_WITHIN(cameo_all_within_i64, int64_t)
#undef CAMEO_WITHIN

#endif
