// Mixtures of data sets with the mean and the covariances of these.

#include "tools/mixtures.h"
#include "ir/dtype.h"
#include "tools/tails.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of an input's elements in all sets.
typedef struct MixturesSpan {
    double least, greatest;
    bool mixed; // they are floats, all of them finite
    bool integers;
} Span;

// More than that is not copied.
static const size_t MOST_BYTES = (size_t)256 << 20;

static size_t size_of(const cameo_tensor *t)
{
    return (size_t)t->count * dtype_info((DType)t->dtype)->bytes;
}

static bool is_like(const cameo_tensor *a, const cameo_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool may_mix(const Mixtures *x, const Inputs *set)
{
    for (int32_t i = 0; i < set->n; i++) {
        const cameo_tensor *t = &set->tensors[i];
        bool list = x->model->input_types && x->model->input_types[i];
        if (list || !set->given[i] || t->count < 0 || t->text ||
            dtype_info((DType)t->dtype)->kind == KIND_STRING)
            return false;
        if (x->sets.len && !is_like(t, &x->sets.at[0].tensors[i]))
            return false;
    }
    return true;
}

static Inputs copy_of(Arena *a, const Inputs *set)
{
    Inputs copy = {.tensors = NEWS(a, cameo_tensor, (size_t)set->n + 1),
                   .given = NEWS(a, bool, set->n + 1),
                   .n = set->n};
    for (int32_t i = 0; i < set->n; i++) {
        size_t n = size_of(&set->tensors[i]);
        copy.tensors[i] = set->tensors[i];
        copy.tensors[i].elements = arena_array(a, n + 1, 1);
        copy.given[i] = true;
        if (n)
            memcpy(copy.tensors[i].elements, set->tensors[i].elements, n);
    }
    return copy;
}

void mixtures_take(Mixtures *x, const Inputs *set)
{
    x->unlike = x->unlike || !may_mix(x, set);
    for (int32_t i = 0; !x->unlike && i < set->n; i++)
        x->bytes += size_of(&set->tensors[i]);
    x->unlike = x->unlike || x->bytes > MOST_BYTES;
    if (!x->unlike && x->sets.len < MIXTURES_ALL)
        vec_push(x->arena, &x->sets, copy_of(x->arena, set));
}

uint32_t mixtures_count(const Mixtures *x)
{
    bool floats = false;
    if (x->unlike || x->sets.len < TAILS_LEAST)
        return 0;
    for (int32_t i = 0; i < x->sets.at[0].n; i++)
        floats = floats || (dtype_is_float((DType)x->sets.at[0].tensors[i].dtype) &&
                            x->sets.at[0].tensors[i].count > 0);
    uint32_t all = MIXTURES_EACH * x->sets.len;
    all = all < MIXTURES_ALL ? all : MIXTURES_ALL;
    return floats ? all - x->sets.len : 0;
}

// From 0 to 1, both left out.
static double uniform(Mixtures *x)
{
    return ((double)inputs_draw(&x->seed) + 0.5) / (1 << 24);
}

// A direction that no other is preferred to: normal numbers (Box and Muller, Annals of
// Mathematical Statistics 29, 1958) of length 1. Returns the number of the greatest.
static uint32_t draw_weights(Mixtures *x)
{
    uint32_t n = x->sets.len, greatest = 0;
    double squares = 0;
    for (uint32_t k = 0; k < n; k++) {
        double length = sqrt(-2 * log(uniform(x)));
        x->weights[k] = length * cos(2 * acos(-1) * uniform(x));
        squares += x->weights[k] * x->weights[k];
        greatest = fabs(x->weights[k]) > fabs(x->weights[greatest]) ? k : greatest;
    }
    for (uint32_t k = 0; k < n; k++)
        x->weights[k] *= sqrt(n / (n - 1.0) / squares);
    return greatest;
}

static double element(const Mixtures *x, uint32_t set, int32_t input, int64_t at)
{
    const cameo_tensor *t = &x->sets.at[set].tensors[input];
    size_t width = dtype_info((DType)t->dtype)->bytes;
    return scalar_load((DType)t->dtype, (const char *)t->elements + (size_t)at * width).f;
}

static Span span_of(const Mixtures *x, int32_t input)
{
    const DType dtype = (DType)x->sets.at[0].tensors[input].dtype;
    Span s = {INFINITY, -INFINITY, dtype_is_float(dtype), true};
    for (uint32_t k = 0; s.mixed && k < x->sets.len; k++)
        for (int64_t at = 0; at < x->sets.at[k].tensors[input].count; at++) {
            double v = element(x, k, input, at);
            s.mixed = s.mixed && isfinite(v);
            s.integers = s.integers && v == rint(v);
            s.least = fmin(s.least, v);
            s.greatest = fmax(s.greatest, v);
        }
    return s;
}

static void mix(Mixtures *x, int32_t input)
{
    const Span *s = &x->spans[input];
    cameo_tensor *to = &x->made.tensors[input];
    uint32_t n = x->sets.len;
    for (int64_t at = 0; at < to->count; at++) {
        double mean = 0, v = 0;
        for (uint32_t k = 0; k < n; k++)
            mean += element(x, k, input, at) / n;
        for (uint32_t k = 0; k < n; k++)
            v += x->weights[k] * (element(x, k, input, at) - mean);
        v = fmin(fmax(mean + v, s->least), s->greatest);
        v = s->integers ? rint(v) : v;
        scalar_store((DType)to->dtype,
                     (char *)to->elements + (size_t)at * dtype_info((DType)to->dtype)->bytes,
                     (Scalar){.f = v});
    }
}

static void begin(Mixtures *x)
{
    x->seed = 0x9e3779b97f4a7c15u;
    x->weights = NEWS(x->arena, double, x->sets.len);
    x->made = copy_of(x->arena, &x->sets.at[0]);
    x->spans = NEWS(x->arena, Span, (size_t)x->made.n + 1);
    for (int32_t i = 0; i < x->made.n; i++)
        x->spans[i] = span_of(x, i);
}

const Inputs *mixtures_next(Mixtures *x)
{
    if (!x->weights)
        begin(x);
    uint32_t greatest = draw_weights(x);
    for (int32_t i = 0; i < x->made.n; i++) {
        const cameo_tensor *t = &x->sets.at[greatest].tensors[i];
        if (x->spans[i].mixed)
            mix(x, i);
        else if (size_of(t))
            memcpy(x->made.tensors[i].elements, t->elements, size_of(t));
    }
    return &x->made;
}
