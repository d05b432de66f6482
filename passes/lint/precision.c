// PR001 to PR004: constants that a narrower dtype does not hold, and what that does.

#include "passes/lint/rewrite.h"
#include "passes/lint/story.h"

#include <math.h>
#include <string.h>

enum { MAX_CHAIN = 8, MAX_VISITS = 64 };

// ---- constants that are narrowed

typedef struct Narrowed {
    ValueId constant;
    NodeId reader;    // reads the constant, directly or by way of what moves it to the Cast
    uint32_t operand; // which of its operands
    bool alone;       // nothing else reads what lies between
    const ConstantStats *stats;
} Narrowed;

// May a number of the dtype be beyond what float16 holds?
static bool exceeds_f16(DType t)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    return hi >= 65520 || range_digits(t) >= 24;
}

// The constant that a Cast to float16 converts, by way of what only moves it.
static bool find_narrowed(NumberFacts *x, NodeId cast, Narrowed *f)
{
    const Node *n = node_at(x->m, cast);
    ValueId v = numbers_in(x, cast, 0);
    if ((!node_is(n, "Cast") && !node_is(n, "CastLike")) || !n->out[0] ||
        numbers_dtype(x, n->out[0]) != DT_F16 || !exceeds_f16(numbers_dtype(x, v)))
        return false;
    f->reader = cast;
    f->operand = 0;
    f->alone = true;
    for (int i = 0; i < MAX_CHAIN; i++) {
        const Value *value = value_at(x->m, v);
        bool made = value->def == DEF_NODE && !node_is(node_at(x->m, value->node), "Constant");
        if (!made && value->constant) {
            f->constant = v;
            f->stats = range_stats(x->ranges, v);
            return f->stats->read;
        }
        if (!made || !numbers_moves(node_at(x->m, value->node)))
            return false;
        f->alone = f->alone && numbers_use_count(x, v) == 1;
        f->reader = value->node;
        v = numbers_in(x, value->node, 0);
        if (!v)
            return false;
    }
    return false;
}

// Does a value reach a Softmax, through additions and selections?
static NodeId softmax_behind(const NumberFacts *x, ValueId v)
{
    ValueId seen[MAX_VISITS] = {v};
    uint32_t n = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = x->uses.first[seen[i]]; k < x->uses.first[seen[i] + 1]; k++) {
            NodeId id = x->uses.uses[k].node;
            const Node *user = id ? node_at(x->m, id) : NULL;
            if (!user || user->dead)
                continue;
            if (node_is(user, "Softmax") || node_is(user, "LogSoftmax"))
                return id;
            bool on = numbers_moves(user) || node_is(user, "Add") || node_is(user, "Where") ||
                      node_is(user, "Mul") || node_is(user, "Cast");
            if (on && user->out[0] && n < MAX_VISITS)
                seen[n++] = user->out[0];
        }
    return 0;
}

static const char *many(uint64_t n)
{
    return n == 1 ? "" : "s";
}

// ---- PR001

// How many elements of a float16 weight are `limit` in magnitude, if none is more and some are
// neither that nor 0; 0 otherwise.
static uint64_t count_clamped(NumberFacts *x, ValueId v, double limit)
{
    const ConstantStats *s = range_stats(x->ranges, v);
    uint64_t at_limit = 0, others = 0;
    if (!s->read || s->nans || s->lo < -limit || s->hi > limit ||
        (s->lo != -limit && s->hi != limit))
        return 0;
    const Elements of = elements_of(x->m, v);
    for (uint64_t i = 0; i < of.n; i++) {
        double e = fabs(element_at(&of, i));
        at_limit += e == limit;
        others += e != limit && e != 0;
    }
    return others ? at_limit : 0;
}

// Weights that a converter moved to its limit before they came into this file.
static void lint_clamped(Lint *l)
{
    enum { CONVERTERS_LIMIT = 10000 };
    NumberFacts *x = lint_numbers(l);
    for (ValueId v = 1; v < l->m->values.len; v++) {
        const Value *value = value_at(l->m, v);
        if (!value->constant || value->copy_of || value->constant->dtype != DT_F16 ||
            value->dtype != DT_F16 || !numbers_product(x, v))
            continue;
        uint64_t n = count_clamped(x, v, CONVERTERS_LIMIT);
        if (n < 2) // one may be what was trained
            continue;
        Diag *d = diag(l->diags, "PR001", SEV_WARNING, location_value(l->m, l->arena, v),
                       "%llu of %llu values of \"%.*s\" are %d in magnitude and none is more "
                       "(proved): they were clamped",
                       (unsigned long long)n, (unsigned long long)range_stats(x->ranges, v)->count,
                       STR_ARG(lint_name(l, v)), CONVERTERS_LIMIT);
        d->value = lint_name(l, v);
        diag_note(
            l->diags, d,
            "converters to float16 move what is beyond %d there, though float16 goes to 65504",
            CONVERTERS_LIMIT);
        diag_help(l->diags, d, "convert the float32 model again, with a limit of 65504");
    }
}

// The greatest number of the dtype that float16 holds: bfloat16 has none between 65280 and 65536.
static double greatest_as(DType t)
{
    return t == DT_BF16 ? 65280 : 65504;
}

void lint_f16_overflow(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Narrowed f;
    lint_clamped(l);
    const NodeIds of = LINT_NODES(l, "Cast", "CastLike");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_narrowed(x, id, &f) || !f.stats->over_f16)
            continue;
        double worst =
            fabs(f.stats->lo) > fabs(f.stats->hi) || isinf(f.stats->hi) ? f.stats->lo : f.stats->hi;
        Diag *d = numbers_report(l, "PR001", id, 0,
                                 "%llu of %llu value%s of \"%.*s\" become%s infinite in float16 "
                                 "(proved): %.6g is beyond 65504",
                                 (unsigned long long)f.stats->over_f16,
                                 (unsigned long long)f.stats->count, many(f.stats->count),
                                 STR_ARG(lint_name(l, f.constant)),
                                 f.stats->over_f16 == 1 ? "s" : "", worst);
        if (!d)
            continue;
        NodeId softmax = softmax_behind(x, node_at(l->m, id)->out[0]);
        diag_note(l->diags, d, "numbers of 65520 and more in magnitude round to infinity there");
        if (softmax)
            diag_note(l->diags, d,
                      "it reaches %.*s %.*s, which gives NaN for a row of nothing else",
                      STR_ARG(str_escaped(l->arena, node_at(l->m, softmax)->op)),
                      STR_ARG(lint_short(l, softmax)));
        double limit = greatest_as(numbers_dtype(x, f.constant));
        diag_fix(l->diags, d, false, "store %s clamped to [%.0f, %.0f]: 0 casts added",
                 f.stats->over_f16 == 1 ? "it" : "them", -limit, limit);
    }
}

// A copy of a constant whose elements are moved into [lo, hi]; of its own for one reader.
static ValueId clamped(Rewrite *e, ValueId v, double lo, double hi)
{
    const Elements of = elements_of(e->m, v); // they were measured: they can be read
    size_t width = dtype_info(of.dtype)->bytes;
    unsigned char *to = arena_array(e->m->arena, of.n + 1, width);
    for (uint64_t i = 0; i < of.n; i++) {
        Scalar s = element_scalar(&of, i);
        if (dtype_is_float(of.dtype))
            s.f = s.f < lo ? lo : s.f > hi ? hi : s.f;
        else if (element_at(&of, i) < lo || element_at(&of, i) > hi)
            s.i = (int64_t)(element_at(&of, i) < lo ? lo : hi);
        scalar_store(of.dtype, to + i * width, s);
    }
    return rewrite_constant(e, tensor_new(e->m->arena, of.dtype, of.rank, of.dims, to));
}

static uint32_t mend_overflow(Rewrite *e, NodeId id)
{
    Narrowed f;
    if (!find_narrowed(e->numbers, id, &f) || !f.stats->over_f16 || !f.alone ||
        (f.reader != id && !rewrite_take(e, f.reader)) || !rewrite_take(e, id))
        return 0;
    e->at = f.reader;
    double limit = greatest_as(numbers_dtype(e->numbers, f.constant));
    node_at(e->m, f.reader)->in[f.operand] = clamped(e, f.constant, -limit, limit);
    return 1;
}

uint32_t repair_f16_overflow(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_overflow);
}

// ---- PR004

void lint_weight_flush(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Narrowed f;
    const NodeIds of = LINT_NODES(l, "Cast", "CastLike");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_narrowed(x, id, &f))
            continue;
        uint64_t lost = f.stats->flushed_f16;
        if (lost == 0 || lost * 100 <= f.stats->count || f.stats->count < 2)
            continue;
        Diag *d = numbers_report(l, "PR004", id, 0,
                                 "%llu of %llu values of \"%.*s\" (%.1f%%) become 0 in float16 "
                                 "(proved)",
                                 (unsigned long long)lost, (unsigned long long)f.stats->count,
                                 STR_ARG(lint_name(l, f.constant)),
                                 100.0 * (double)lost / (double)f.stats->count);
        if (!d)
            continue;
        diag_note(l->diags, d,
                  "numbers of at most 2.98e-8 in magnitude round to 0 there; the "
                  "least of the tensor is %.3g",
                  f.stats->least);
        diag_help(l->diags, d,
                  "leave it in float32 or bfloat16, or scale it up and what it gives down");
    }
}

// ---- PR002: an epsilon that float16 does not hold

typedef struct Epsilon {
    uint32_t operand; // of the Add, Max or Clip; UINT32_MAX: an attribute
    uint32_t beside;  // the operand that it guards
    double value;     // as written
    bool known;       // `value` is what it was before it was narrowed
    NodeId guarded;   // Sqrt, Div, Log, Pow, Reciprocal
} Epsilon;

// A divisor, a root or a logarithm that the value goes into without anything between.
static NodeId guarded_by(const NumberFacts *x, ValueId v)
{
    ValueId seen[MAX_CHAIN] = {v};
    uint32_t n = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = x->uses.first[seen[i]]; k < x->uses.first[seen[i] + 1]; k++) {
            const Use *u = &x->uses.uses[k];
            const Node *user = u->node ? node_at(x->m, u->node) : NULL;
            double e;
            if (!user || user->dead)
                continue;
            if (node_is(user, "Sqrt") || node_is(user, "Log") || node_is(user, "Reciprocal") ||
                (node_is(user, "Div") && u->index == 1) ||
                (node_is(user, "Pow") && u->index == 0 &&
                 numbers_constant(x, numbers_in(x, u->node, 1), &e) && e < 1))
                return u->node;
            if (numbers_moves(user) && user->out[0] && n < MAX_CHAIN)
                seen[n++] = user->out[0];
        }
    return 0;
}

static bool is_epsilon(NumberFacts *x, ValueId v, Epsilon *f)
{
    double stored, written;
    NodeId cast = numbers_made_by(x, numbers_moved(x, v), "Cast");
    if (cast && range_digits(numbers_dtype(x, numbers_in(x, cast, 0))) >= 24 &&
        numbers_constant(x, numbers_in(x, cast, 0), &written)) {
        f->value = written;
        f->known = true;
        return written > 0 && written <= 0x1p-25;
    }
    f->value = 0;
    f->known = false;
    return numbers_constant(x, v, &stored) && stored == 0;
}

// A Clip or Max at 0 of what is never below changes nothing: an epsilon stood there. It has to be a
// divisor's or a logarithm's, since the root of 0 is a number, and to leave what is above alone.
static bool is_idle_zero(NumberFacts *x, ValueId v, ValueId most, NodeId guarded)
{
    Range of = range_of(x->ranges, v);
    double top = INFINITY;
    bool open = !most || numbers_constant(x, most, &top);
    const Node *g = guarded ? node_at(x->m, guarded) : NULL;
    return g && (node_is(g, "Div") || node_is(g, "Reciprocal") || node_is(g, "Log")) && of.known &&
           of.lo == 0 && open && of.hi <= top;
}

// The least number that a Clip lets through: as normalizations guard what they divide by.
static bool find_least(NumberFacts *x, NodeId id, Epsilon *f)
{
    const Node *n = node_at(x->m, id);
    if (!node_is(n, "Clip") || !n->nin || !n->in[0] || !n->out[0] ||
        numbers_dtype(x, n->out[0]) != DT_F16)
        return false;
    f->operand = node_has_attr(n, "min") ? UINT32_MAX : 1;
    f->beside = 0;
    f->value = node_float(n, "min", 0);
    f->known = f->value > 0 && f->value <= 0x1p-25;
    if (f->operand == 1 && !(numbers_in(x, id, 1) && is_epsilon(x, numbers_in(x, id, 1), f)))
        return false;
    Range of = range_of(x->ranges, n->in[0]);
    f->guarded = guarded_by(x, n->out[0]);
    ValueId most = f->operand == 1 && n->nin > 2 ? n->in[2] : 0;
    return f->known ? f->guarded && !(of.known && of.lo > 0)
                    : !node_has_attr(n, "max") && is_idle_zero(x, n->in[0], most, f->guarded);
}

static bool find_epsilon(NumberFacts *x, NodeId id, Epsilon *f)
{
    const Node *n = node_at(x->m, id);
    if (find_least(x, id, f))
        return true;
    bool add = node_is(n, "Add"), max = node_is(n, "Max") && n->nin == 2;
    if ((!add && !max) || n->nin != 2 || !n->in[0] || !n->in[1] || !n->out[0] ||
        numbers_dtype(x, n->out[0]) != DT_F16)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        Range other;
        if (!is_epsilon(x, numbers_in(x, id, i), f) || value_at(x->m, n->in[1 - i])->constant)
            continue;
        f->operand = i;
        f->beside = 1 - i;
        f->guarded = guarded_by(x, n->out[0]);
        other = range_of(x->ranges, numbers_in(x, id, 1 - i));
        if (!f->guarded || (other.known && other.lo > 0))
            return false;
        // Max with 0 in front of a root is what it says; so is a sum that needs no guard.
        bool log_ = node_is(node_at(x->m, f->guarded), "Log");
        return f->known || (add && !log_) || is_idle_zero(x, n->in[1 - i], 0, f->guarded);
    }
    return false;
}

static const char divide_through[] =
    "Sqrt Reciprocal Pow Identity Unsqueeze Squeeze Reshape Expand Transpose";

static Stretch epsilon_stretch(const NumberFacts *x, NodeId id)
{
    return stretch_from(x, id, divide_through, "Div Mul Log");
}

// Does the operator compute in float32 whatever its operand is (stash_type)?
static bool is_stashed(const Node *n)
{
    bool has = node_is(n, "LayerNormalization") || node_is(n, "RMSNormalization") ||
               node_is(n, "GroupNormalization");
    return has && node_int(n, "stash_type", DT_F32) == DT_F32;
}

// The attribute of an operator that computes in its operand's dtype; 0: it does not vanish there.
static double vanishing_attribute(const NumberFacts *x, NodeId id)
{
    static const char *const known[] = {"BatchNormalization", "InstanceNormalization",
                                        "LayerNormalization", "RMSNormalization",
                                        "GroupNormalization"};
    const Node *n = node_at(x->m, id);
    bool normal = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        normal = normal || node_is(n, known[i]);
    if (!normal || !n->nin || !n->in[0] || !node_has_attr(n, "epsilon"))
        return 0;
    double epsilon = node_float(n, "epsilon", 1e-5);
    bool vanishes =
        numbers_dtype(x, n->in[0]) == DT_F16 && !is_stashed(n) && epsilon > 0 && epsilon <= 0x1p-25;
    return vanishes ? epsilon : 0;
}

static void lint_epsilon_attribute(Lint *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    const Stretch s = {.nodes = {id}, .n = 1};
    double epsilon = vanishing_attribute(lint_numbers(l), id);
    if (epsilon <= 0)
        return;
    Diag *d = numbers_report(l, "PR002", id, UINT32_MAX,
                             "epsilon %.3g becomes 0 in float16, so %.*s can divide by 0", epsilon,
                             STR_ARG(str_escaped(l->arena, n->op)));
    if (!d)
        return;
    diag_note(l->diags, d, "values of at most 2.98e-8 round to 0 in float16 (proved)");
    if (stretch_is_simple(l->m, &s))
        diag_fix(l->diags, d, false, "run this node in float32: +%u casts",
                 stretch_casts(lint_numbers(l), &s, DT_F16));
    diag_help(l->diags, d, "do not raise epsilon silently: 1e-7 is %.0f times larger",
              1e-7 / epsilon);
}

void lint_epsilon(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Epsilon f;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        if (!numbers_alive(x, id))
            continue;
        lint_epsilon_attribute(l, id);
        if (!find_epsilon(x, id, &f))
            continue;
        Str what = f.known ? str_printf(l->arena, "epsilon %.3g becomes 0 in float16", f.value)
                           : STR("an epsilon of 0 in float16 guards nothing");
        const Node *g = node_at(l->m, f.guarded);
        bool root = node_is(g, "Sqrt"), log_ = node_is(g, "Log");
        NodeId by = root && g->out[0] ? guarded_by(x, g->out[0]) : 0;
        by = by && (node_is(node_at(l->m, by), "Div") || node_is(node_at(l->m, by), "Reciprocal"))
                 ? by
                 : 0;
        Str then =
            by ? str_printf(l->arena, " and %.*s inf", STR_ARG(node_at(l->m, by)->op)) : STR("");
        Diag *d = numbers_report(l, "PR002", id, f.operand, "%.*s, so %.*s can return %s%.*s",
                                 STR_ARG(what), STR_ARG(str_escaped(l->arena, g->op)),
                                 root   ? "0"
                                 : log_ ? "-inf"
                                        : "inf",
                                 STR_ARG(then));
        if (!d)
            continue;
        diag_note(l->diags, d, "values of at most 2.98e-8 round to 0 in float16 (proved)");
        NodeId cast = numbers_made_by(x, numbers_moved(x, numbers_in(x, id, f.operand)), "Cast");
        if (cast)
            lint_note_begin(l, d, DT_F16, node_at(l->m, cast)->out[0]);
        diag_note(l->diags, d, "reaches %.*s%s%.*s%s; no Clip or Max between",
                  STR_ARG(lint_short(l, f.guarded)), by ? " -> " : "",
                  STR_ARG(by ? lint_short(l, by) : STR("")),
                  by && node_is(node_at(l->m, by), "Div") ? ":in1" : "");
        numbers_note_measured(l, d, numbers_in(x, id, f.beside));
        Stretch s = epsilon_stretch(x, id);
        if (f.known) {
            diag_fix(l->diags, d, false,
                     "run these %u nodes in float32: +%u casts, 0 extra weight bytes", s.n,
                     stretch_casts(x, &s, DT_F16));
            diag_help(l->diags, d, "do not raise epsilon silently: 1e-7 is %.0f times larger",
                      1e-7 / f.value);
        } else {
            diag_note(l->diags, d, "what it was before it was narrowed is not in the file");
            diag_help(l->diags, d,
                      "convert the original again, with these %u nodes left in float32", s.n);
        }
    }
}

static uint32_t mend_epsilon(Rewrite *e, NodeId id)
{
    Epsilon f;
    Stretch s = {.nodes = {id}, .n = 1};
    if (find_epsilon(e->numbers, id, &f) && f.known)
        s = epsilon_stretch(e->numbers, id);
    else if (vanishing_attribute(e->numbers, id) <= 0)
        return 0;
    return stretch_widen(e, &s, DT_F16);
}

uint32_t repair_epsilon(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_epsilon);
}

// ---- PR003: masks

typedef struct Mask {
    ValueId constant;
    NodeId reader;
    uint32_t operand;
    double lo; // in the dtype in which it comes to the Softmax
    bool added;
    DType narrowed; // made infinite by a Cast to that dtype; DT_NONE: not
} Mask;

// By way of what a Softmax's operand is computed from, one constant that is too low.
static bool find_mask(NumberFacts *x, NodeId id, Mask *f)
{
    const Node *n = node_at(x->m, id);
    ValueId v = numbers_in(x, id, 0), seen[MAX_VISITS] = {v};
    bool added[MAX_VISITS] = {false};
    DType as[MAX_VISITS] = {numbers_dtype(x, v)}; // the narrowest on the way
    uint32_t len = 1;
    DType t = numbers_dtype(x, v);
    if ((!node_is(n, "Softmax") && !node_is(n, "LogSoftmax")) || !range_digits(t))
        return false;
    double lowest, most;
    range_of_dtype(t, &lowest, &most);
    for (uint32_t i = 0; i < len; i++) {
        const Value *value = value_at(x->m, seen[i]);
        const Node *by = value->def == DEF_NODE ? node_at(x->m, value->node) : NULL;
        bool sum = by && node_is(by, "Add");
        bool on = by && !value->constant &&
                  (sum || node_is(by, "Where") || node_is(by, "Mul") || node_is(by, "Cast") ||
                   numbers_moves(by));
        for (uint32_t k = 0; on && k < by->nin; k++) {
            ValueId in = by->in[k];
            const ConstantStats *s = in ? range_stats(x->ranges, in) : NULL;
            bool over = added[i] || sum;
            if (!in || (node_is(by, "Where") && k == 0) || (numbers_moves(by) && k > 0))
                continue;
            DType own = numbers_dtype(x, in), via = as[i];
            via = range_digits(own) && range_digits(own) < range_digits(via) ? own : via;
            double low =
                s->read ? scalar_cast(DT_F64, via, (Scalar){.f = s->lo}, false).f : INFINITY;
            if (s->read && s->count && range_digits(own) &&
                (isinf(low) || (over && low <= lowest * (1 - ldexp(1, -range_digits(t)))))) {
                const Measured *data = measured_of(x->m, v);
                *f = (Mask){in, value->node, k, low, over, isinf(s->lo) ? DT_NONE : via};
                // What is finite may still be so in a sum: bounds or data say.
                Range whole = range_of(x->ranges, v);
                bool stays = whole.known && isfinite(whole.lo);
                if (low < 0 && (isinf(low) || (!stays && (!data || data->below > 0))))
                    return true;
            }
            if (len < MAX_VISITS && !s->read) {
                added[len] = over;
                as[len] = via;
                seen[len++] = in;
            }
        }
    }
    return false;
}

void lint_mask(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Mask f;
    const NodeIds of = LINT_NODES(l, "LogSoftmax", "Softmax");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_mask(x, id, &f))
            continue;
        DType t = numbers_dtype(x, numbers_in(x, id, 0));
        Str op = str_escaped(l->arena, node_at(l->m, id)->op);
        // Half of the distance to the next number, were there one.
        double half = ldexp(1, ilogb(f.lo) - range_digits(t));
        Diag *d = isinf(f.lo) ? numbers_report(l, "PR003", id, 0,
                                               "mask value %.6g reaches %.*s (proved): a row that "
                                               "is masked as a whole is NaN",
                                               f.lo, STR_ARG(op))
                              : numbers_report(l, "PR003", id, 0,
                                               "mask value %.6g is added in front of %.*s "
                                               "(proved): what is %.4g or less makes it -inf",
                                               f.lo, STR_ARG(op), -half);
        if (!d)
            continue;
        diag_note(l->diags, d, "it is \"%.*s\", an operand of %.*s %.*s",
                  STR_ARG(lint_name(l, f.constant)),
                  STR_ARG(str_escaped(l->arena, node_at(l->m, f.reader)->op)),
                  STR_ARG(lint_short(l, f.reader)));
        double lo, hi;
        range_of_dtype(t, &lo, &hi);
        if (isinf(f.lo) && f.narrowed != DT_NONE)
            diag_note(l->diags, d, "it is finite in the file, and infinite from a Cast to %s on",
                      dtype_name(f.narrowed));
        diag_note(l->diags, d,
                  "the lowest %s is %.6g; Softmax of nothing but -inf is NaN, of equal "
                  "numbers it is uniform",
                  dtype_name(t), lo);
        numbers_note_measured(l, d, numbers_in(x, id, 0));
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_fix(l->diags, d, false, "mask with half of the lowest, %.6g: 0 casts added", lo / 2);
    }
}

static uint32_t mend_mask(Rewrite *e, NodeId id)
{
    Mask f;
    double lo, hi;
    if (!find_mask(e->numbers, id, &f) || !rewrite_take(e, f.reader))
        return 0;
    range_of_dtype(numbers_dtype(e->numbers, numbers_in(e->numbers, id, 0)), &lo, &hi);
    e->at = f.reader;
    node_at(e->m, f.reader)->in[f.operand] = clamped(e, f.constant, lo / 2, INFINITY);
    return 1;
}

uint32_t repair_mask(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_mask);
}
