// DT011 to DT013: Casts whose target does not hold every number that may come.

#include "passes/lint/rewrite.h"

#include <math.h>

enum { MAX_SENTINELS = 64 }; // starts and ends of a Slice are few

typedef struct Narrowing {
    DType from, to;
    Range range;
} Narrowing;

static bool find_cast(NumberFacts *x, NodeId id, Narrowing *f)
{
    const Node *n = node_at(x->m, id);
    ValueId v = numbers_in(x, id, 0);
    if (!node_is(n, "Cast") || !v || !n->out[0])
        return false;
    f->from = numbers_dtype(x, v);
    f->to = numbers_dtype(x, n->out[0]);
    f->range = range_of(x->ranges, v);
    return f->from != DT_NONE && f->to != DT_NONE && f->range.known;
}

// Is it a position that PR010 speaks of?
static bool is_position(const NumberFacts *x, NodeId id)
{
    return numbers_made_by(x, numbers_moved(x, numbers_in(x, id, 0)), "Range") != 0;
}

// ---- DT011

static bool find_inexact(NumberFacts *x, NodeId id, Narrowing *f)
{
    RangeBasis by;
    if (!find_cast(x, id, f) || !dtype_is_integer(f->from) || !range_digits(f->to))
        return false;
    int digits = range_digits(f->to);
    bool held = f->range.bits && f->range.bits <= digits;
    return !held && range_magnitude(&f->range, &by) > ldexp(1, digits);
}

void lint_int_to_float(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Narrowing f;
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_inexact(x, id, &f) ||
            (is_position(x, id) && range_digits(f.to) < 24))
            continue;
        Diag *d = numbers_report(l, "DT011", id, 0,
                                 "%s holds integers up to %.0f exactly, and these are %.*s",
                                 dtype_name(f.to), ldexp(1, range_digits(f.to)),
                                 STR_ARG(numbers_words(l->arena, &f.range, f.from)));
        if (!d)
            continue;
        diag_note(l->diags, d, "larger ones are rounded to %d significant bits",
                  range_digits(f.to));
        diag_help(l->diags, d,
                  range_digits(f.to) < 53 ? "%s would hold more of them"
                                          : "integers stay exact in %s",
                  range_digits(f.to) < 24   ? "float32"
                  : range_digits(f.to) < 53 ? "float64"
                                            : dtype_name(f.from));
    }
}

// ---- DT012

// The least and the greatest number of the float dtype that the integer dtype holds.
static void held_bounds(DType from, DType to, double *lo, double *hi)
{
    double top, floats, least;
    range_of_dtype(to, lo, &top);
    range_of_dtype(from, &least, &floats);
    // Of 2^31 - 1 the next float32 below is 2^31 - 128.
    double step = ldexp(1, dtype_info(to)->bits - dtype_is_signed(to) - range_digits(from));
    *hi = step > 1 ? top + 1 - step : top;
    *hi = fmin(*hi, floats);
    *lo = fmax(*lo, -floats);
}

// Are all numbers, their fractions cut off, integers of the target?
static bool is_held(const Narrowing *f)
{
    double lo, hi;
    range_of_dtype(f->to, &lo, &hi);
    bool above = f->range.lo >= lo || f->range.lo > lo - 1;
    return above && f->range.hi < hi + 1;
}

static bool find_out_of_range(NumberFacts *x, NodeId id, Narrowing *f)
{
    if (!find_cast(x, id, f) || !range_digits(f->from) || !dtype_is_integer(f->to))
        return false;
    return !is_held(f) || f->range.nan == NAN_MADE;
}

void lint_float_to_int(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Narrowing f;
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        double lo, hi;
        if (!numbers_alive(x, id) || !find_out_of_range(x, id, &f))
            continue;
        range_of_dtype(f.to, &lo, &hi);
        bool within = is_held(&f);
        Str words = numbers_words(l->arena, &f.range, f.from);
        Diag *d = within
                      ? numbers_report(l, "DT012", id, 0,
                                       "what is cast to %s may be NaN (proved), which the standard "
                                       "leaves undefined",
                                       dtype_name(f.to))
                      : numbers_report(l, "DT012", id, 0,
                                       "%s holds [%.6g, %.6g], and what is cast to it is %.*s",
                                       dtype_name(f.to), lo, hi, STR_ARG(words));
        if (!d)
            continue;
        diag_note(l->diags, d, "%s different integers on different targets",
                  within ? "NaN gives" : "what is outside gives");
        held_bounds(f.from, f.to, &lo, &hi);
        if (f.range.nan != NAN_MADE)
            diag_fix(l->diags, d, false, "Clip to [%.9g, %.9g] in front of it: 1 node", lo, hi);
        else
            diag_help(l->diags, d,
                      "say what NaN is to become: Where(IsNaN(x), 0, x) in front of it, say");
    }
}

static uint32_t mend_float_to_int(Rewrite *e, NodeId id)
{
    Narrowing f;
    double lo, hi;
    if (!find_out_of_range(e->numbers, id, &f) || f.range.nan == NAN_MADE || !rewrite_take(e, id))
        return 0;
    held_bounds(f.from, f.to, &lo, &hi);
    node_at(e->m, id)->in[0] = rewrite_limit(e, node_at(e->m, id)->in[0], f.from, lo, hi);
    return 1;
}

uint32_t repair_float_to_int(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_float_to_int);
}

// ---- DT013

// Constants that mean "to the end" in a Slice, and nothing else beyond what fits.
static bool are_sentinels(NumberFacts *x, NodeId id, const Narrowing *f)
{
    const ConstantStats *s = range_stats(x->ranges, numbers_in(x, id, 0));
    double lo, hi;
    range_of_dtype(f->to, &lo, &hi);
    if (!s->read || s->count > MAX_SENTINELS)
        return false;
    const Elements of = elements_of(x->m, numbers_in(x, id, 0));
    for (uint64_t i = 0; i < of.n; i++) {
        int64_t e = element_scalar(&of, i).i;
        if (((double)e < lo || (double)e > hi) && e < INT64_MAX - 1 && e > INT64_MIN + 1)
            return false;
    }
    return of.dtype == DT_I64;
}

// Fewer bits, or as many of which one is the sign.
static bool is_narrower(DType to, DType from)
{
    int lost = dtype_info(from)->bits - dtype_info(to)->bits;
    return lost > 0 || (lost == 0 && dtype_is_signed(to) && !dtype_is_signed(from));
}

static bool find_int_narrowing(NumberFacts *x, NodeId id, Narrowing *f)
{
    double lo, hi;
    if (!find_cast(x, id, f) || !dtype_is_integer(f->from) || !dtype_is_integer(f->to) ||
        !is_narrower(f->to, f->from))
        return false;
    range_of_dtype(f->to, &lo, &hi);
    return (f->range.lo < lo || f->range.hi > hi) && !are_sentinels(x, id, f);
}

// The bounds of the target that the dtype in front of it exceeds; infinite: it does not. Those that
// it does not exceed it may not hold.
static void exceeded_bounds(const Narrowing *f, double *lo, double *hi)
{
    double least, most;
    range_of_dtype(f->from, &least, &most);
    range_of_dtype(f->to, lo, hi);
    *lo = *lo > least ? *lo : -INFINITY;
    *hi = *hi < most ? *hi : INFINITY;
}

void lint_int_narrowing(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Narrowing f;
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        double lo, hi;
        if (!numbers_alive(x, id) || !find_int_narrowing(x, id, &f))
            continue;
        range_of_dtype(f.to, &lo, &hi);
        Diag *d = numbers_report(
            l, "DT013", id, 0, "%s holds [%.0f, %.0f], and what is cast to it is %.*s",
            dtype_name(f.to), lo, hi, STR_ARG(numbers_words(l->arena, &f.range, f.from)));
        if (!d)
            continue;
        diag_note(l->diags, d, "what is outside loses its upper bits: 2^32 becomes 0 in int32");
        exceeded_bounds(&f, &lo, &hi);
        diag_fix(l->diags, d, false, "%s in front of it, so that it saturates: %s",
                 isinf(lo)   ? "Min"
                 : isinf(hi) ? "Max"
                             : "Max and Min",
                 isinf(lo) || isinf(hi) ? "1 node" : "2 nodes");
    }
}

static uint32_t mend_int_narrowing(Rewrite *e, NodeId id)
{
    Narrowing f;
    double lo, hi;
    if (!find_int_narrowing(e->numbers, id, &f) || !rewrite_can_limit(e, f.from) ||
        !rewrite_take(e, id))
        return 0;
    exceeded_bounds(&f, &lo, &hi);
    node_at(e->m, id)->in[0] = rewrite_limit(e, node_at(e->m, id)->in[0], f.from, lo, hi);
    return 1;
}

uint32_t repair_int_narrowing(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_int_narrowing);
}
