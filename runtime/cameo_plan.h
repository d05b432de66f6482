/* Memory for values that live at different times: where each stands in one arena. Used by the
 * compiler for fixed sizes and by compiled programs where sizes are known only when they run. */
#ifndef CAMEO_PLAN_H
#define CAMEO_PLAN_H

#include <stdint.h>

#ifndef CAMEO_FN
#define CAMEO_FN static inline __attribute__((unused))
#endif
/* What a program has once, for whatever processors it is compiled: in a unit of its own
 * (cameo_context.c), or here where there is none. */
#ifndef CAMEO_ONCE
#define CAMEO_ONCE static __attribute__((noinline, unused))
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

/* How often cameo_plan may look at a placed value: when compiling, and when a program runs, where
 * dims that change should not cost more than the run. */
enum { CAMEO_PLAN_PATIENCE = 100000000, CAMEO_PLAN_HASTE = 2000000 };

/* Where v fits best among the `placed` values, which are listed by offset: the smallest hole that
 * holds it. *looks counts. */
CAMEO_FN int64_t cameo_best_fit(const cameo_life *life, const int64_t *offset,
                                const int32_t *by_offset, int32_t placed, int32_t v, int64_t *looks)
{
    int64_t size = cameo_aligned(life[v].size), best = -1, best_hole = INT64_MAX, low = 0;
    *looks += placed;
    for (int32_t k = 0; k < placed; k++) {
        int32_t i = by_offset[k];
        if (life[i].first > life[v].last || life[v].first > life[i].last)
            continue;
        int64_t hole = offset[i] - low, end = offset[i] + cameo_aligned(life[i].size);
        if (hole >= size && hole < best_hole) {
            best = low;
            best_hole = hole;
        }
        low = end > low ? end : low;
    }
    return best < 0 ? low : best;
}

/* Places the values in this order. Offsets are multiples of CAMEO_ALIGN. The bytes needed in all.
 */
CAMEO_ONCE int64_t cameo_plan_in_order(int32_t n, const cameo_life *life, int64_t *offset,
                                       const int32_t *order, int32_t *by_offset, int64_t *looks)
{
    int64_t peak = 0;
    for (int32_t placed = 0; placed < n; placed++) {
        int32_t v = order[placed], at = placed;
        offset[v] = cameo_best_fit(life, offset, by_offset, placed, v, looks);
        for (; at > 0 && offset[by_offset[at - 1]] > offset[v]; at--)
            by_offset[at] = by_offset[at - 1];
        by_offset[at] = v;
        int64_t end = offset[v] + cameo_aligned(life[v].size);
        peak = end > peak ? end : peak;
    }
    return peak;
}

/* Does a come before b: 0 greater size first, 1 longer life first, 2 by first step, 3 by last? */
CAMEO_FN int cameo_plan_before(const cameo_life *a, const cameo_life *b, int by)
{
    int64_t x = a->last - (int64_t)a->first, y = b->last - (int64_t)b->first;
    return by == 0   ? a->size > b->size || (a->size == b->size && x > y)
           : by == 1 ? x > y || (x == y && a->size > b->size)
           : by == 2 ? a->first < b->first
                     : a->last > b->last;
}

CAMEO_ONCE void cameo_plan_sift(const cameo_life *life, int32_t *order, int32_t n, int32_t i,
                                int by)
{
    int32_t v = order[i];
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && cameo_plan_before(&life[order[child]], &life[order[child + 1]], by))
            child++;
        if (!cameo_plan_before(&life[v], &life[order[child]], by))
            break;
        order[i] = order[child];
    }
    order[i] = v;
}

CAMEO_ONCE void cameo_plan_sort(int32_t n, const cameo_life *life, int32_t *order, int by)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    for (int32_t i = n / 2; i-- > 0;)
        cameo_plan_sift(life, order, n, i, by);
    for (int32_t i = n; i-- > 1;) {
        int32_t top = order[0];
        order[0] = order[i];
        order[i] = top;
        cameo_plan_sift(life, order, i, 0, by);
    }
}

/* Takes the value at `from` out of the order and puts it in before the one at `to`. */
CAMEO_FN void cameo_plan_move(int32_t *order, int32_t from, int32_t to)
{
    int32_t v = order[from];
    for (; from > to; from--)
        order[from] = order[from - 1];
    for (; from < to; from++)
        order[from] = order[from + 1];
    order[from] = v;
}

/* No plan can need less: the greatest sum of what lives at one step. */
CAMEO_ONCE int64_t cameo_plan_bound(int32_t n, const cameo_life *life)
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

/* The place in the order of the first value that ends at the peak. */
CAMEO_ONCE int32_t cameo_plan_top(int32_t n, const cameo_life *life, const int64_t *offset,
                                  const int32_t *order, int64_t peak)
{
    int32_t i = 0;
    while (i < n - 1 && offset[order[i]] + cameo_aligned(life[order[i]].size) < peak)
        i++;
    return i;
}

/* The best plan found: from the best of four orders on, a value that ends at the peak is placed
 * earlier, now and then another one elsewhere too, and what is no worse is kept; until the peak is
 * the bound or `effort` looks were needed. The bytes needed in all. `work` has room for 3 * n. */
CAMEO_ONCE int64_t cameo_plan(int32_t n, const cameo_life *life, int64_t *offset, int32_t *work,
                              int64_t effort)
{
    int32_t *order = work, *by_offset = work + n, *kept = work + 2 * (int64_t)n, top;
    int64_t best = INT64_MAX, bound = cameo_plan_bound(n, life), looks = 0, peak;
    uint32_t dice = 1;
    int chosen = 0;
    if (n == 0)
        return 0;
    for (int by = 0; by < 4 && best > bound; by++) {
        cameo_plan_sort(n, life, order, by);
        peak = cameo_plan_in_order(n, life, offset, order, by_offset, &looks);
        chosen = peak < best ? by : chosen;
        best = peak < best ? peak : best;
    }
    cameo_plan_sort(n, life, order, chosen);
    best = cameo_plan_in_order(n, life, offset, order, by_offset, &looks);
    top = cameo_plan_top(n, life, offset, order, best);
    for (; best > bound && looks < effort; looks += n) {
        for (int32_t i = 0; i < n; i++)
            kept[i] = order[i];
        dice = dice * 1664525u + 1013904223u;
        cameo_plan_move(order, top, (int32_t)((dice >> 8) % (uint32_t)(top + 1)));
        if (dice >> 30 == 0)
            cameo_plan_move(order, (int32_t)((dice >> 4) % (uint32_t)n),
                            (int32_t)((dice >> 12) % (uint32_t)n));
        peak = cameo_plan_in_order(n, life, offset, order, by_offset, &looks);
        if (peak <= best) {
            best = peak;
            top = cameo_plan_top(n, life, offset, order, best);
            continue;
        }
        for (int32_t i = 0; i < n; i++)
            order[i] = kept[i];
    }
    return cameo_plan_in_order(n, life, offset, order, by_offset, &looks);
}

#endif
