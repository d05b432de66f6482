// Sorting inside a kernel: places in the order of what they hold, by merging runs of 1, 2, 4 ...

#include "ir/ops/common.h"

// Merges [low, middle) and [middle, high) of order into spare.
static void merge_runs(Lower *l, Tensor order, Tensor spare, const Expr *low, const Expr *middle,
                       const Expr *high, PlaceBefore before, void *context)
{
    const Expr *step = one(l, DT_I64);
    LocalId left = row(l, DT_I64, 0, NULL), right = row(l, DT_I64, 0, NULL),
            second = row(l, DT_BOOL, 0, NULL);
    set(l, left, NULL, low);
    set(l, right, NULL, middle);
    Index k = seq(l, to_index(l, sub(l, high, low)));
    const Expr *a = let(l, get(l, left, NULL)), *b = let(l, get(l, right, NULL));
    set(l, second, NULL, le(l, middle, a));
    if_(l, and_(l, lt(l, a, middle), lt(l, b, high)));
    Index at_a = to_index(l, a), at_b = to_index(l, b);
    set(l, second, NULL,
        before(l, context, let(l, load(l, order, &at_b)), let(l, load(l, order, &at_a))));
    end(l);
    Index to = ix_add(l, to_index(l, low), k);
    if_(l, get(l, second, NULL));
    store(l, spare, &to, load(l, order, &at_b));
    set(l, right, NULL, add(l, b, step));
    else_(l);
    store(l, spare, &to, load(l, order, &at_a));
    set(l, left, NULL, add(l, a, step));
    end(l);
    end(l);
}

void sort_places(Lower *l, Tensor order, Tensor spare, const Expr *n, PlaceBefore before,
                 void *context)
{
    LocalId width = row(l, DT_I64, 0, NULL), from = row(l, DT_I64, 0, NULL);
    set(l, width, NULL, one(l, DT_I64));
    while_(l, lt(l, get(l, width, NULL), n));
    const Expr *w = let(l, get(l, width, NULL));
    set(l, from, NULL, zero(l, DT_I64));
    while_(l, lt(l, get(l, from, NULL), n));
    const Expr *low = let(l, get(l, from, NULL)), *middle = let(l, min_(l, add(l, low, w), n)),
               *high = let(l, min_(l, add(l, middle, w), n));
    merge_runs(l, order, spare, low, middle, high, before, context);
    set(l, from, NULL, high);
    end(l);
    Index i = seq(l, to_index(l, n));
    store(l, order, &i, load(l, spare, &i));
    end(l);
    set(l, width, NULL, add(l, w, w));
    end(l);
}
