// Elements that tables name: what is sampled at places that are data is found once for all
// channels.
//
// Places and weights do not depend on the channel. Tables of them, as wide as the output, leave of
// each channel loads, products and sums whose neighbours are neighbours in the tables and in y.

#include "ir/ops/common.h"

#include <string.h>

// A plane's positions, and -1 for none, in 32 bits where that is known to hold them.
static DType position_type(Index plane)
{
    int64_t n;
    return poly_is_const(plane, &n) && n <= INT32_MAX ? DT_I32 : DT_I64;
}

Taps taps_new(Lower *l, Tensor x, DType weight, uint32_t rank, const Index *dims)
{
    Taps t = {.x = x, .plane = ix_product(l, x.rank - 2, x.dims + 2)};
    t.place = temp(l, "places", position_type(t.plane), rank, dims);
    if (weight != DT_NONE)
        t.weight = temp(l, "weights", weight, rank, dims);
    return t;
}

void taps_store(Lower *l, Taps *t, const Index *at, const Index *in_plane, const Expr *where,
                const Expr *weight)
{
    const Expr *p = expr_index(l->module, ix_linear(l, t->x.rank - 2, t->x.dims + 2, in_plane));
    t->none |= where != NULL;
    if (where)
        p = select_(l, where, p, int_(l, DT_I64, -1));
    store(l, t->place, at, cast(l, t->place.dtype, p));
    if (t->weight.buffer)
        store(l, t->weight, at, weight);
}

const Expr *taps_load(Lower *l, const Taps *t, const Index *at, Index batch, Index channel,
                      DType as)
{
    Index from[MAX_RANK] = {batch, channel};
    DType pt = t->place.dtype;
    const Expr *p = load(l, t->place, at), *z = zero(l, pt);
    const Expr *last = cast(l, pt, expr_index(l->module, ix_addc(l, t->plane, -1)));
    Index flat = to_index(l, cast(l, DT_I64, max_(l, z, min_(l, p, last))));
    ix_delinear(l, flat, t->x.rank - 2, t->x.dims + 2, from + 2);
    const Expr *e = cast(l, as, load(l, t->x, from));
    if (t->none) // read in any case: no branch stands between neighbours
        e = select_(l, le(l, z, p), let(l, e), zero(l, as));
    return t->weight.buffer ? mul(l, e, cast(l, as, load(l, t->weight, at))) : e;
}
