/* Memory for values that live at different times: where each stands in one arena. Used by the
 * compiler for fixed sizes and by compiled programs where sizes are known only when they run. */
#ifndef CAMEO_PLAN_H
#define CAMEO_PLAN_H

#include <stdint.h>

#ifndef CAMEO_FN
#define CAMEO_FN static inline __attribute__((unused))
#endif

enum { CAMEO_ALIGN = 64 };

/* One value: bytes, and the first and last step at which it must be whole. */
typedef struct cameo_life {
    int64_t size;
    int32_t first, last;
} cameo_life;

CAMEO_FN int64_t cameo_aligned(int64_t size)
{
    return (size + CAMEO_ALIGN - 1) / CAMEO_ALIGN * CAMEO_ALIGN;
}

/* Where value v fits best among those already placed: the smallest hole that holds it. */
CAMEO_FN int64_t cameo_best_fit(int32_t n, const cameo_life *life, const int64_t *offset, int32_t v)
{
    int64_t size = cameo_aligned(life[v].size), best = -1, best_hole = INT64_MAX, low = 0;
    for (;;) {
        /* the lowest placed value at or above `low` that lives at the same time */
        int32_t next = -1;
        for (int32_t i = 0; i < n; i++) {
            int together = offset[i] >= 0 && life[i].first <= life[v].last &&
                           life[v].first <= life[i].last && life[i].size > 0;
            if (together && offset[i] + cameo_aligned(life[i].size) > low &&
                (next < 0 || offset[i] < offset[next]))
                next = i;
        }
        int64_t hole = next < 0 ? INT64_MAX : offset[next] - low;
        if (hole >= size && hole < best_hole) {
            best = low;
            best_hole = hole;
        }
        if (next < 0)
            return best < 0 ? low : best;
        low = offset[next] + cameo_aligned(life[next].size);
    }
}

/* Places all values, in the order `by`: 0 greatest size first, 1 longest life first, 2 by first
 * step. Offsets are multiples of CAMEO_ALIGN. The bytes needed in all. `placed` has n elements. */
CAMEO_FN int64_t cameo_plan_in_order(int32_t n, const cameo_life *life, int64_t *offset, int by)
{
    int64_t peak = 0;
    for (int32_t i = 0; i < n; i++)
        offset[i] = -1;
    for (int32_t k = 0; k < n; k++) {
        int32_t v = -1;
        for (int32_t i = 0; i < n; i++) {
            if (offset[i] >= 0)
                continue;
            if (v < 0) {
                v = i;
                continue;
            }
            int64_t a = life[i].last - (int64_t)life[i].first;
            int64_t b = life[v].last - (int64_t)life[v].first;
            int better = by == 0   ? life[i].size > life[v].size
                         : by == 1 ? a > b || (a == b && life[i].size > life[v].size)
                                   : life[i].first < life[v].first;
            if (better)
                v = i;
        }
        offset[v] = cameo_best_fit(n, life, offset, v);
        int64_t end = offset[v] + cameo_aligned(life[v].size);
        peak = end > peak ? end : peak;
    }
    return peak;
}

/* The best of the orders; the bytes needed in all. */
CAMEO_FN int64_t cameo_plan(int32_t n, const cameo_life *life, int64_t *offset)
{
    int64_t best = INT64_MAX;
    int order = 0;
    for (int by = 0; by < 3; by++) {
        int64_t peak = cameo_plan_in_order(n, life, offset, by);
        if (peak < best) {
            best = peak;
            order = by;
        }
    }
    return cameo_plan_in_order(n, life, offset, order);
}

/* No plan can need less: the greatest sum of what lives at one step. */
CAMEO_FN int64_t cameo_plan_bound(int32_t n, const cameo_life *life)
{
    int64_t most = 0;
    for (int32_t k = 0; k < n; k++) {
        int64_t sum = 0;
        for (int32_t i = 0; i < n; i++)
            if (life[i].first <= life[k].first && life[k].first <= life[i].last)
                sum += cameo_aligned(life[i].size);
        most = sum > most ? sum : most;
    }
    return most;
}

#endif
