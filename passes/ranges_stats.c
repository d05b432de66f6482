// What constants hold, read once when first asked for.

#include "base/file.h"
#include "ir/payload.h"
#include "passes/known.h"
#include "passes/ranges_state.h"
#include "passes/times.h"

enum { MANY = 1 << 18 }; // bytes

// Their place, and what is kept of it; NULL: nothing is.
static const void **place_of(Ranges *r, TensorData *d)
{
    Str bytes;
    const DType t = d->dtype > 0 && d->dtype < DT_COUNT ? (DType)d->dtype : DT_NONE;
    return tensor_packed(r->m, d, &bytes) ? known_of(r->m, bytes.at, tensor_count(d), t, DT_NONE)
                                          : NULL;
}

// Elements of 6 bits share bytes with two others, and are taken apart first.
static void read_all(Ranges *r, TensorData *d, ConstantStats *s)
{
    Str bytes;
    DType t = d->dtype > 0 && d->dtype < DT_COUNT ? (DType)d->dtype : DT_NONE;
    if (dtype_info(t)->bits != 6 && tensor_packed(r->m, d, &bytes)) {
        if (bytes.len >= MANY)
            file_expect(bytes.at, bytes.len);
        elements_measure(t, bytes.at, tensor_count(d), true, s);
        return;
    }
    const Elements of = elements_in(r->m, d);
    elements_measure(t, of.at, of.n, false, s);
    s->read = s->read && of.at;
}

uint64_t range_more_work(uint64_t count)
{
    return 2 * count;
}

static void settle(Ranges *r, ValueId v, const ConstantStats *s)
{
    r->most += r->later[v] == RANGE_NOW ? range_more_work(s->count) : 0;
    r->stats[v] = s;
}

static void keep(Ranges *r, ValueId v, const ConstantStats *s)
{
    const void **place = place_of(r, (TensorData *)(uintptr_t)value_at(r->m, v)->constant);
    if (place) {
        ConstantStats *kept = NEW(r->m->arena, ConstantStats);
        *kept = *s;
        *place = kept;
    }
    settle(r, v, s);
}

// Did somebody else look at it?
static bool take_known(Ranges *r, ValueId v, const TensorData *d)
{
    const void **place = place_of(r, (TensorData *)(uintptr_t)d);
    if (place && *place)
        settle(r, v, *place);
    return place && *place;
}

bool range_stats_known(Ranges *r, ValueId v)
{
    return r->stats[v] != NULL;
}

ElementsPass *range_stats_open(Ranges *r, ValueId v, bool packed)
{
    const TensorData *d = v && v < r->n ? value_at(r->m, v)->constant : NULL;
    Str bytes;
    if (!d || r->stats[v] || take_known(r, v, d))
        return NULL;
    if (tensor_packed(r->m, d, &bytes) && bytes.len >= MANY)
        file_expect(bytes.at, bytes.len);
    return elements_open(r->a, (DType)d->dtype, packed);
}

void range_stats_close(Ranges *r, ValueId v, ElementsPass *pass)
{
    ConstantStats *s = NEW(r->a, ConstantStats);
    elements_close(pass, s);
    keep(r, v, s);
}

const ConstantStats *range_stats(Ranges *r, ValueId v)
{
    static const ConstantStats nothing;
    const TensorData *d = v && v < r->n ? value_at(r->m, v)->constant : NULL;
    if (!d || value_at(r->m, v)->kind != TYPE_TENSOR)
        return &nothing;
    if (!r->stats[v] && !take_known(r, v, d)) {
        ConstantStats *s = NEW(r->a, ConstantStats);
        Times *times = r->m->times;
        const double begin = times ? times_now() : 0;
        read_all(r, (TensorData *)(uintptr_t)d, s);
        if (times) {
            times->weights += times_now() - begin;
            times->weight_bytes += s->count * dtype_info((DType)d->dtype)->bits / 8;
        }
        keep(r, v, s);
    }
    return r->stats[v];
}
