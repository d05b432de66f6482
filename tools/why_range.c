// The chain of a bound: what was measured of the value, then, as without data, from operand to
// operand back to the constant, the input or the operator that set it.

#include "tools/why_range.h"
#include "passes/config.h"
#include "passes/measured.h"
#include "passes/ranges.h"

#include <math.h>

enum { MAX_STEPS = 256 };

static void put_line(Model *m, ValueId v, double bound, uint8_t by, bool upper, Str because)
{
    Buf line = {0};
    buf_quoted(&line, value_shown_name(m, v));
    buf_printf(&line, " is at %s %.9g (%s)  (%.*s): %.*s", upper ? "most" : "least", bound,
               range_basis(by), STR_ARG(location_value(m, m->arena, v)), STR_ARG(because));
    printf("  %s\n", line.at);
    buf_free(&line);
}

static bool configured(const Model *m, ValueId v)
{
    const Config *c = m->config;
    for (uint32_t i = 0; c && i < c->ranges.len; i++)
        if (str_eq(c->ranges.at[i].input, value_at(m, v)->name))
            return true;
    return false;
}

// Why the value has the bound where no other value's decides it.
static Str origin_of(Ranges *r, Model *m, ValueId v, bool bounded)
{
    const Value *value = value_at(m, v);
    Arena *a = m->arena;
    const ConstantStats *s = range_stats(r, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    if (s->read && s->count)
        return str_printf(a, "%s of %llu element%s", value->init ? "an initializer" : "a constant",
                          (unsigned long long)s->count, s->count == 1 ? "" : "s");
    if (value->content && value->ncontent)
        return STR("follows from shapes");
    if (value->def == DEF_INPUT && bounded && configured(m, v))
        return STR("an input, of which cameo.yaml says so");
    if (!n && value->graph != m->main)
        return str_printf(a, "what a body is given: any %s", dtype_name(value->dtype));
    if (!n)
        return str_printf(a, "an input: any %s", dtype_name(value->dtype));
    Str op = str_escaped(a, n->op);
    if (!range_has_row(r, value->node))
        return str_printf(a, "nothing bounds what %.*s gives: any %s", STR_ARG(op),
                          dtype_name(value->dtype));
    return bounded ? str_printf(a, "by %.*s itself, whatever it reads", STR_ARG(op))
                   : str_printf(a, "%.*s bounds nothing here: any %s", STR_ARG(op),
                                dtype_name(value->dtype));
}

// Follows what decides the bound, at most once through each of so many values.
static void put_chain(Ranges *r, Model *m, ValueId v, bool upper)
{
    for (uint32_t steps = 0; v && steps < MAX_STEPS; steps++) {
        Range x = range_of(r, v);
        DType t = value_at(m, v)->dtype;
        ValueId from = range_source(r, v, upper);
        const Node *n = from ? node_at(m, value_at(m, v)->node) : NULL;
        bool bounded = upper ? range_has_hi(&x, t) : range_has_lo(&x, t);
        Buf name = {0};
        if (from)
            buf_quoted(&name, value_shown_name(m, from));
        put_line(m, v, upper ? x.hi : x.lo, upper ? x.hi_by : x.lo_by, upper,
                 from ? str_printf(m->arena, "%.*s, from %s", STR_ARG(str_escaped(m->arena, n->op)),
                                   name.at)
                      : origin_of(r, m, v, bounded));
        buf_free(&name);
        v = from == v ? 0 : from;
    }
}

static void put_measured(Model *m, ValueId v, const Range *x, bool upper)
{
    const Measured *data = measured_of(m, v);
    uint8_t by = upper ? x->hi_by : x->lo_by;
    if (by != RANGE_MEASURED || !data)
        return;
    put_line(m, v, upper ? x->hi : x->lo, by, upper,
             str_printf(m->arena, "%s of %.0f elements in %u data set%s%s",
                        upper ? "the greatest" : "the least", data->count, m->measured->sets,
                        m->measured->sets == 1 ? "" : "s", "; without data:"));
}

void why_range(Model *m, ValueId v)
{
    Arena *scratch = arena_new();
    Ranges *r = ranges_of(m, scratch);
    Ranges *proofs = m->measured ? ranges_without_data(m, scratch) : r;
    Range x = range_of(r, v);
    Buf name = {0};
    buf_quoted(&name, value_shown_name(m, v));
    if (!x.known) {
        printf("%s has no range: it is no tensor of numbers, or nothing was found of it\n",
               name.at);
    } else {
        static const char *const nans[] = {"no element is NaN",
                                           "NaN only where something overflows on the way",
                                           "elements may be NaN"};
        printf("%s is %s in [%.9g (%s), %.9g (%s)]; %s\n", name.at,
               dtype_name(value_at(m, v)->dtype), x.lo, range_basis(x.lo_by), x.hi,
               range_basis(x.hi_by), nans[x.nan]);
        for (int upper = 1; upper >= 0; upper--) {
            printf("%s bound:\n", upper ? "upper" : "lower");
            put_measured(m, v, &x, upper);
            put_chain(proofs, m, v, upper);
        }
    }
    buf_free(&name);
    arena_free(scratch);
}
