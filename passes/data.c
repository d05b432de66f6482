// Data files beside the inputs of a model.

#include "passes/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool data_converts(DType from, DType to)
{
    DTypeKind f = dtype_info(from)->kind, t = dtype_info(to)->kind;
    bool number = f == KIND_FLOAT || f == KIND_SIGNED || f == KIND_UNSIGNED || f == KIND_BOOL;
    bool into = t == KIND_FLOAT || t == KIND_SIGNED || t == KIND_UNSIGNED || t == KIND_BOOL;
    return (from != DT_NONE && from == to) || (number && into);
}

Scalar data_element(const DataTensor *d, uint64_t i)
{
    return scalar_load(d->dtype, d->elements + i * dtype_info(d->dtype)->bytes);
}

// ---- values

typedef enum Fate { KEPT, ROUNDED, CUT, NOT_A_NUMBER, BEYOND } Fate; // the worst last

static bool unsigned_fits(uint64_t v, DType to)
{
    uint32_t bits = dtype_info(to)->bits - dtype_is_signed(to);
    return bits >= 64 || v >> bits == 0;
}

static bool signed_fits(int64_t v, DType to)
{
    if (v >= 0 || !dtype_is_signed(to))
        return v >= 0 && unsigned_fits((uint64_t)v, to);
    return v >= -1 - (int64_t)((UINT64_C(1) << (dtype_info(to)->bits - 1)) - 1);
}

static Fate integer_to_float(Scalar s, bool negative, DType from, DType to, double *difference)
{
    double v = negative ? (double)s.i : (double)(uint64_t)s.i;
    Scalar r = scalar_cast(from, to, s, false);
    if (isinf(r.f))
        return BEYOND;
    // A double holds 2^64 itself, which no integer here is.
    bool same = negative                       ? (int64_t)r.f == s.i
                : r.f < 18446744073709551616.0 ? (uint64_t)r.f == (uint64_t)s.i
                                               : false;
    *difference = fabs(r.f - v);
    return same ? KEPT : ROUNDED;
}

static Fate float_to_integer(double v, DType to)
{
    if (!isfinite(v))
        return NOT_A_NUMBER;
    double magnitude = ldexp(1, dtype_info(to)->bits - dtype_is_signed(to));
    double low = dtype_is_signed(to) ? -magnitude : 0;
    if (trunc(v) < low || v >= magnitude)
        return BEYOND;
    return v == trunc(v) ? KEPT : CUT;
}

static Fate fate_of(Scalar s, DType from, DType to, double *difference)
{
    *difference = 0;
    if (from == to)
        return KEPT;
    if (dtype_is_float(from)) {
        if (to == DT_BOOL)
            return s.f == 0 || s.f == 1 ? KEPT : isnan(s.f) ? NOT_A_NUMBER : CUT;
        if (dtype_is_integer(to))
            return float_to_integer(s.f, to);
        Scalar r = scalar_cast(from, to, s, false);
        if (r.f == s.f || (isnan(r.f) && isnan(s.f)))
            return KEPT;
        double bound = fabs(r.f - s.f);
        *difference = bound;
        return isfinite(r.f) ? ROUNDED : BEYOND;
    }
    bool negative = dtype_is_signed(from) && s.i < 0;
    if (to == DT_BOOL)
        return s.i == 0 || s.i == 1 ? KEPT : CUT;
    if (dtype_is_float(to))
        return integer_to_float(s, negative, from, to, difference);
    return (negative ? signed_fits(s.i, to) : unsigned_fits((uint64_t)s.i, to)) ? KEPT : BEYOND;
}

DataFit data_fit(const DataTensor *d, DType to)
{
    DataFit f = {.count = d->count, .lo = INFINITY, .hi = -INFINITY, .integer = true};
    Fate worst = KEPT;
    DTypeKind kind = dtype_info(d->dtype)->kind;
    if (kind == KIND_STRING || kind == KIND_COMPLEX)
        return f;
    bool is_float = dtype_is_float(d->dtype);
    for (uint64_t i = 0; i < d->count; i++) {
        Scalar s = data_element(d, i);
        double v = is_float             ? s.f
                   : d->dtype == DT_U64 ? (double)(uint64_t)s.i
                                        : (double)s.i,
               difference;
        f.lo = v < f.lo ? v : f.lo;
        f.hi = v > f.hi ? v : f.hi;
        f.integer &= v == trunc(v);
        if (is_float && !isfinite(v)) {
            f.no_number_at = f.without + f.endless ? f.no_number_at : i;
            f.without += isnan(v);
            f.endless += isinf(v) != 0;
        }
        Fate fate = fate_of(s, d->dtype, to, &difference);
        if (fate == KEPT)
            continue;
        f.rounded += fate == ROUNDED;
        f.cut += fate == CUT;
        f.nans += fate == NOT_A_NUMBER;
        f.beyond += fate == BEYOND;
        bool further = fate == ROUNDED && worst == ROUNDED && difference > f.worst;
        if (fate > worst || further)
            f.at = i;
        if (fate == ROUNDED && difference > f.worst)
            f.worst = difference;
        worst = fate > worst ? fate : worst;
    }
    return f;
}

Str data_place(Arena *a, const DataTensor *d, uint64_t i)
{
    uint64_t at[DATA_MAX_RANK];
    for (uint32_t k = 0; k < d->rank; k++) {
        uint32_t axis = d->columns ? k : d->rank - 1 - k;
        at[axis] = i % (uint64_t)d->dims[axis];
        i /= (uint64_t)d->dims[axis];
    }
    Buf b = {0};
    for (uint32_t k = 0; k < d->rank; k++)
        buf_printf(&b, "%s%llu", k ? ", " : "", (unsigned long long)at[k]);
    Str s = str_printf(a, "[%s]", b.at ? b.at : "");
    buf_free(&b);
    return s;
}

Str data_value(Arena *a, const DataTensor *d, uint64_t i)
{
    Scalar s = data_element(d, i);
    if (dtype_is_float(d->dtype)) { // in as few digits as read back as the same number
        char text[40];
        int digits = 1;
        do
            snprintf(text, sizeof text, "%.*g", digits, s.f);
        while (digits++ < 17 && strtod(text, NULL) != s.f);
        return str_printf(a, "%s", text);
    }
    if (d->dtype == DT_U64)
        return str_printf(a, "%llu", (unsigned long long)s.i);
    return str_printf(a, "%lld", (long long)s.i);
}

// ---- shapes

bool data_dims(const Model *m, const Uses *uses, ValueId input, uint32_t *rank,
               int64_t dims[DATA_MAX_RANK], NodeId *by)
{
    const Value *v = value_at(m, input);
    *by = 0;
    if (v->rank < 0 || v->rank > DATA_MAX_RANK)
        return false;
    *rank = (uint32_t)v->rank;
    for (uint32_t k = 0; k < *rank; k++)
        if (!poly_is_const(v->dims[k], &dims[k]))
            dims[k] = -1;
    for (uint32_t i = uses->first[input]; i < uses->first[input + 1]; i++) {
        const Use *u = &uses->uses[i];
        const Node *n = u->node ? node_at(m, u->node) : NULL;
        int64_t channels;
        if (!n || u->index != 0 || !node_is(n, "Conv") || n->nin < 2 || !n->in[1] || *rank < 3 ||
            dims[1] >= 0)
            continue;
        const Value *w = value_at(m, n->in[1]);
        const Attr *group = attr_find(n, "group");
        int64_t groups = group ? group->i : 1;
        if (w->rank < 2 || !poly_is_const(w->dims[1], &channels) || channels < 1 || groups < 1 ||
            groups > INT32_MAX || channels > INT32_MAX)
            continue;
        dims[1] = channels * groups;
        *by = u->node;
    }
    return true;
}

static bool dims_fit(uint32_t rank, const int64_t *have, const int64_t *want, uint32_t *wrong)
{
    for (uint32_t k = 0; k < rank; k++)
        if (want[k] >= 0 && have[k] != want[k]) {
            *wrong = k;
            return false;
        }
    return true;
}

static const char *layout_name(uint32_t rank, bool first)
{
    static const char *const names[][2] = {{"NLC", "NCL"}, {"NHWC", "NCHW"}, {"NDHWC", "NCDHW"}};
    return names[rank - 3][first];
}

// Channels behind the batch instead of last, or last instead of behind the batch.
static bool plan_layout(const int64_t *have, uint32_t rank, const int64_t *want, DataPlan *p)
{
    uint32_t fits = 0, ignored;
    DataPlan found[2];
    for (uint32_t to_first = 0; to_first < 2 && rank >= 3 && rank <= 5; to_first++) {
        DataPlan *q = &found[to_first];
        *q = (DataPlan){.shape = DATA_LAYOUT, .rank = rank};
        q->have = layout_name(rank, !to_first);
        q->want = layout_name(rank, to_first);
        for (uint32_t k = 1; k < rank; k++)
            q->from[k] = to_first ? (k == 1 ? rank - 1 : k - 1) : (k == rank - 1 ? 1 : k + 1);
        for (uint32_t k = 0; k < rank; k++)
            q->dims[k] = have[q->from[k]];
        if (dims_fit(rank, q->dims, want, &ignored)) {
            fits++;
            *p = *q;
        }
    }
    return fits == 1;
}

// Dims of 1 more or less, all in front or all behind; only if one of the two fits.
static bool plan_ones(const DataTensor *d, uint32_t rank, const int64_t *want, DataPlan *p)
{
    uint32_t few = d->rank < rank ? d->rank : rank, fits = 0, ignored;
    uint32_t more = d->rank < rank ? rank - d->rank : d->rank - rank;
    for (uint32_t front = 0; front < 2 && more; front++) {
        DataPlan q = {.shape = d->rank < rank ? DATA_EXPANDS : DATA_SQUEEZES, .rank = rank};
        bool ones = true;
        for (uint32_t k = 0; k < rank && d->rank < rank; k++) {
            bool added = front ? k < more : k >= few;
            q.dims[k] = added ? 1 : d->dims[front ? k - more : k];
        }
        for (uint32_t k = 0; k < d->rank && d->rank > rank; k++) {
            bool dropped = front ? k < more : k >= few;
            ones &= !dropped || d->dims[k] == 1;
            if (!dropped)
                q.dims[front ? k - more : k] = d->dims[k];
        }
        if (ones && dims_fit(rank, q.dims, want, &ignored)) {
            fits++;
            *p = q;
        }
    }
    return fits == 1;
}

DataPlan data_plan(const DataTensor *d, uint32_t rank, const int64_t *want)
{
    DataPlan p = {.shape = DATA_FITS, .rank = d->rank}, misfit = {.shape = DATA_MISFIT};
    int64_t batch[DATA_MAX_RANK + 1] = {1};
    memcpy(p.dims, d->dims, sizeof p.dims);
    if (d->rank == rank) {
        if (dims_fit(rank, d->dims, want, &misfit.wrong) || plan_layout(d->dims, rank, want, &p))
            return p;
        return misfit;
    }
    if (plan_ones(d, rank, want, &p))
        return p;
    if (d->rank + 1 == rank) { // one picture without a batch
        memcpy(batch + 1, d->dims, d->rank * sizeof *batch);
        if (plan_layout(batch, rank, want, &p)) {
            p.expanded = true;
            return p;
        }
    }
    return misfit;
}

// ---- words

Str data_shown_dims(Arena *a, uint32_t rank, const int64_t *dims)
{
    Buf b = {0};
    for (uint32_t k = 0; k < rank; k++) {
        buf_printf(&b, "%s", k ? ", " : "");
        if (dims[k] < 0)
            buf_char(&b, '?');
        else
            buf_printf(&b, "%lld", (long long)dims[k]);
    }
    Str s = str_printf(a, "[%s]", b.at ? b.at : "");
    buf_free(&b);
    return s;
}

Str data_shown_file(Arena *a, const DataTensor *d)
{
    Str file = str_escaped(a, d->file);
    if (!d->member.at)
        return file;
    return str_printf(a, "%.*s (%s \"%.*s\")", STR_ARG(file), d->by_text ? "column" : "array",
                      STR_ARG(str_escaped(a, d->member)));
}
