// NS001 to NS006: formulas that lose all digits, overflow or divide by zero where another form of
// the same formula does not.
//
// Each rule finds its pattern by what nodes compute, never by names; the repair of a rule finds it
// the same way and writes the other form.

#include "passes/lint/rewrite.h"

#include <math.h>

// The greatest operand of Exp whose result is finite, and how far below 0 one may be for a result
// that is not 0.
static double exp_limit(DType t)
{
    return t == DT_F16    ? 11.0898664
           : t == DT_BF16 ? 88.7189
           : t == DT_F64  ? 709.782712893384
                          : 88.7228391;
}

static double exp_floor(DType t)
{
    return t == DT_F16    ? 17.3286795
           : t == DT_BF16 ? 92.8
           : t == DT_F64  ? 745.1332191019412
                          : 103.972077;
}

static double largest(DType t)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    return hi;
}

// ---- NS001: Log(Softmax(x))

typedef struct LogSoftmax {
    NodeId softmax;
    Range logits;
    NodeId reader; // of the Softmax, on the way to the Log; 0: the Log itself
    bool alone;    // nothing else reads what lies between
} LogSoftmax;

// The Softmax whose probabilities, moved or cast, v is.
static NodeId softmax_before(const NumberFacts *x, ValueId v, LogSoftmax *f)
{
    enum { MAX_STEPS = 8 };
    f->reader = 0;
    f->alone = true;
    for (int i = 0; v && i < MAX_STEPS; i++) {
        NodeId softmax = numbers_made_by(x, v, "Softmax");
        const Value *value = value_at(x->m, v);
        const Node *n = value->def == DEF_NODE ? node_at(x->m, value->node) : NULL;
        if (softmax || !n || n->dead || !(numbers_moves(n) || node_is(n, "Cast")))
            return softmax;
        f->alone = f->alone && n->nout == 1 && numbers_use_count(x, v) == 1;
        f->reader = value->node;
        v = numbers_in(x, value->node, 0);
    }
    return 0;
}

// Does a Where take something else than a where p is 0? Another that looks for NaN may stand
// before.
static bool is_chosen_by(const NumberFacts *x, ValueId a, ValueId p)
{
    const Uses *u = &x->uses;
    if (u->first[a + 1] - u->first[a] != 1 || !u->uses[u->first[a]].node)
        return false;
    const Node *n = node_at(x->m, u->uses[u->first[a]].node);
    const Value *c = node_is(n, "Where") && n->in[0] ? value_at(x->m, n->in[0]) : NULL;
    const Node *by = c && c->def == DEF_NODE ? node_at(x->m, c->node) : NULL;
    if (!by || !by->nin || (by->in[0] != p && (by->nin < 2 || by->in[1] != p)))
        return false;
    return !node_is(by, "IsNaN") || is_chosen_by(x, n->out[0], p);
}

// p * Log(p), and where p is 0 something else: an entropy that says what 0 * Log(0) is.
static bool is_guarded_entropy(const NumberFacts *x, ValueId p, ValueId log)
{
    const Uses *u = &x->uses;
    bool all = u->first[log] < u->first[log + 1];
    for (uint32_t k = u->first[log]; k < u->first[log + 1] && all; k++) {
        const Node *n = u->uses[k].node ? node_at(x->m, u->uses[k].node) : NULL;
        all = n && node_is(n, "Mul") && (n->in[0] == p || n->in[1] == p) &&
              is_chosen_by(x, n->out[0], p);
    }
    return all;
}

static bool find_log_softmax(NumberFacts *x, NodeId id, LogSoftmax *f)
{
    if (!node_is(node_at(x->m, id), "Log"))
        return false;
    f->softmax = softmax_before(x, numbers_in(x, id, 0), f);
    DType t = f->softmax ? numbers_dtype(x, numbers_in(x, f->softmax, 0)) : DT_NONE;
    if (!range_digits(t) || is_guarded_entropy(x, numbers_in(x, id, 0), node_at(x->m, id)->out[0]))
        return false;
    ValueId logits = numbers_in(x, f->softmax, 0);
    f->logits = range_of(x->ranges, logits);
    // The least probability: one logit as low as may be, all others of the row as high.
    const Value *v = value_at(x->m, logits);
    int64_t axis = node_int(node_at(x->m, f->softmax), "axis", -1);
    axis = axis < 0 ? axis + v->rank : axis;
    RangeBasis by;
    const Node *softmax = node_at(x->m, f->softmax);
    bool flat = softmax->def && softmax->def->since < 13; // all dims from the axis on are a row
    axis = flat && !node_has_attr(softmax, "axis") ? 1 : axis;
    double others = axis >= 0 && axis < v->rank ? 1 : INFINITY;
    for (int64_t k = axis; k >= 0 && k < (flat ? v->rank : axis + 1) && k < v->rank; k++)
        others *= range_of_axis(x->ranges, logits, (int32_t)k, &by);
    others -= 1;
    double spread = f->logits.hi - f->logits.lo + log(fmax(others, 1));
    return !(f->logits.known && spread < exp_floor(t));
}

void lint_log_softmax(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    LogSoftmax f;
    const NodeIds of = LINT_NODES(l, "Log");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_log_softmax(x, id, &f))
            continue;
        DType t = numbers_dtype(x, numbers_in(x, f.softmax, 0));
        Diag *d = numbers_report(l, "NS001", id, 0,
                                 "Log of Softmax is -inf where a logit lies %.4g or more below the "
                                 "largest (proved: %s)",
                                 exp_floor(t), dtype_name(t));
        if (!d)
            continue;
        diag_note(l->diags, d, "the logits are made by %.*s and lie in %.*s",
                  STR_ARG(lint_short(l, f.softmax)),
                  STR_ARG(numbers_words(l->arena, &f.logits, t)));
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_note(l->diags, d,
                  "Softmax gives 0 there, and Log of that is -inf; of [0, -110] it "
                  "gives -inf where -110 is right");
        if (!f.reader)
            diag_fix(l->diags, d, false, "LogSoftmax instead of the two nodes: 0 casts added");
        else if (f.alone && numbers_use_count(x, node_at(l->m, f.softmax)->out[0]) == 1)
            diag_fix(l->diags, d, false, "LogSoftmax instead of %.*s, and no Log: 0 casts added",
                     STR_ARG(lint_short(l, f.softmax)));
        else
            diag_help(l->diags, d, "take LogSoftmax of the logits where the logarithm is read");
    }
}

static uint32_t mend_log_softmax(Rewrite *e, NodeId id)
{
    LogSoftmax f;
    NumberFacts *x = e->numbers;
    if (!find_log_softmax(x, id, &f) ||
        (f.reader && (!f.alone || numbers_use_count(x, node_at(e->m, f.softmax)->out[0]) != 1 ||
                      !rewrite_take(e, f.reader))) ||
        !rewrite_take(e, id))
        return 0;
    ValueId in = numbers_in(x, f.softmax, 0), p = numbers_in(x, id, 0);
    e->at = f.reader ? f.reader : id;
    ValueId y = rewrite_node(e, "LogSoftmax", &in, 1);
    rewrite_copy_attr(e, y, f.softmax, "axis");
    if (f.reader)
        node_at(e->m, f.reader)->in[0] = y;
    rewrite_replace(e, id, f.reader ? p : y);
    rewrite_drop_unused(e, f.reader ? node_at(e->m, f.softmax)->out[0] : p);
    return 1;
}

uint32_t repair_log_softmax(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_log_softmax);
}

// ---- NS002: Exp(x) / ReduceSum(Exp(x))

typedef struct ByHand {
    NodeId exp, sum;
    bool guarded; // something is added to the sum
    ValueId logits;
    Range range;
    double terms;
} ByHand;

static bool takes_maximum_off(const NumberFacts *x, ValueId v)
{
    NodeId sub = numbers_made_by(x, numbers_moved(x, v), "Sub");
    ValueId m = sub ? numbers_moved(x, numbers_in(x, sub, 1)) : 0;
    return m && (numbers_made_by(x, m, "ReduceMax") || numbers_made_by(x, m, "Max") ||
                 numbers_made_by(x, m, "ReduceLogSumExp") || numbers_made_by(x, m, "TopK"));
}

// What is divided, and by what: Div, or Mul by a Reciprocal.
static bool find_quotient(const NumberFacts *x, NodeId id, ValueId *e, ValueId *s)
{
    const Node *n = node_at(x->m, id);
    *e = numbers_in(x, id, 0);
    *s = numbers_moved(x, numbers_in(x, id, 1));
    if (node_is(n, "Div"))
        return true;
    for (uint32_t i = 0; node_is(n, "Mul") && i < 2; i++) {
        NodeId reciprocal =
            numbers_made_by(x, numbers_moved(x, numbers_in(x, id, i)), "Reciprocal");
        *e = numbers_in(x, id, 1 - i);
        *s = reciprocal ? numbers_moved(x, numbers_in(x, reciprocal, 0)) : 0;
        if (reciprocal)
            return true;
    }
    return false;
}

static bool find_softmax(NumberFacts *x, NodeId id, ByHand *f)
{
    ValueId e, s;
    RangeBasis by;
    double epsilon;
    if (!find_quotient(x, id, &e, &s))
        return false;
    NodeId add = numbers_made_by(x, s, "Add");
    f->guarded = false;
    for (uint32_t i = 0; add && !f->guarded && i < 2; i++)
        f->guarded = numbers_constant(x, numbers_in(x, add, i), &epsilon);
    for (uint32_t i = 0; f->guarded && i < 2; i++)
        if (!numbers_constant(x, numbers_in(x, add, i), &epsilon))
            s = numbers_moved(x, numbers_in(x, add, i));
    f->exp = numbers_made_by(x, e, "Exp");
    f->sum = numbers_made_by(x, s, "ReduceSum");
    if (f->exp && !f->sum)
        f->sum = numbers_made_by(x, s, "ReduceL1");
    if (!f->exp || !f->sum || numbers_in(x, f->sum, 0) != e)
        return false;
    f->logits = numbers_in(x, f->exp, 0);
    DType t = numbers_dtype(x, f->logits);
    if (!range_digits(t) || takes_maximum_off(x, f->logits))
        return false;
    f->range = range_of(x->ranges, f->logits);
    int64_t axes[MAX_AXES];
    uint32_t n;
    f->terms = 1;
    if (numbers_axes(x, f->sum, axes, &n))
        for (uint32_t i = 0; i < n; i++)
            f->terms *= range_of_axis(x->ranges, e, (int32_t)axes[i], &by);
    return !(f->range.known && exp(f->range.hi) * f->terms < largest(t));
}

void lint_softmax_by_hand(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    ByHand f;
    const NodeIds of = LINT_NODES(l, "Div", "Mul");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_softmax(x, id, &f))
            continue;
        DType t = numbers_dtype(x, f.logits);
        Diag *d = numbers_report(l, "NS002", f.exp, 0,
                                 "a softmax without the maximum taken off is NaN where a logit is "
                                 "above %.4g (proved: %s)",
                                 exp_limit(t), dtype_name(t));
        if (!d)
            continue;
        diag_note(l->diags, d, "Exp gives inf there, and %.*s divides inf by inf",
                  STR_ARG(lint_short(l, id)));
        diag_note(l->diags, d, "the logits \"%.*s\" lie in %.*s", STR_ARG(lint_name(l, f.logits)),
                  STR_ARG(numbers_words(l->arena, &f.range, t)));
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        if (!f.guarded) // beside a sum that is scaled the same number is another
            diag_fix(
                l->diags, d, false,
                "subtract ReduceMax over the axes of %.*s in front of Exp: 2 nodes, 0 casts added",
                STR_ARG(lint_short(l, f.sum)));
        else
            diag_help(l->diags, d,
                      "subtract ReduceMax in front of Exp, and scale what is added to the sum by "
                      "Exp of that, negated; or use Softmax");
    }
}

// Every use of Exp's result belongs to the softmax.
static bool serves_only(const NumberFacts *x, NodeId exp, NodeId a, NodeId b)
{
    ValueId v = node_at(x->m, exp)->out[0];
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++)
        if (x->uses.uses[i].node != a && x->uses.uses[i].node != b)
            return false;
    return true;
}

static uint32_t mend_softmax(Rewrite *e, NodeId id)
{
    ByHand f;
    int64_t axes[MAX_AXES];
    uint32_t n;
    NumberFacts *x = e->numbers;
    if (!find_softmax(x, id, &f) || f.guarded || !numbers_axes(x, f.sum, axes, &n) ||
        !serves_only(x, f.exp, id, f.sum) || !rewrite_take(e, f.exp))
        return 0;
    e->at = f.exp;
    ValueId most = rewrite_reduction(e, "ReduceMax", f.logits, axes, n, true);
    node_at(e->m, f.exp)->in[0] = rewrite_node(e, "Sub", (ValueId[]){f.logits, most}, 2);
    return 1;
}

uint32_t repair_softmax_by_hand(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_softmax);
}

// ---- NS006: Log(Sigmoid(x)), Log(1 + Exp(x))

typedef struct Unfused {
    NodeId inner;          // Sigmoid or Exp
    bool sigmoid, without; // Sigmoid(x); 1 - Sigmoid(x)
    ValueId operand;
    Range range;
} Unfused;

static NodeId one_plus_exp(const NumberFacts *x, ValueId v)
{
    return numbers_made_by(x, numbers_beside_one(x, v), "Exp");
}

static NodeId one_less_sigmoid(const NumberFacts *x, ValueId v)
{
    NodeId sub = numbers_made_by(x, v, "Sub");
    double one;
    bool from_one = sub && numbers_constant(x, numbers_in(x, sub, 0), &one) && one == 1;
    return from_one ? numbers_made_by(x, numbers_in(x, sub, 1), "Sigmoid") : 0;
}

static bool find_unfused(NumberFacts *x, NodeId id, Unfused *f)
{
    if (!node_is(node_at(x->m, id), "Log"))
        return false;
    ValueId v = numbers_in(x, id, 0);
    f->inner = numbers_made_by(x, v, "Sigmoid");
    f->sigmoid = f->inner != 0;
    f->inner = f->inner ? f->inner : one_plus_exp(x, v);
    f->without = !f->inner;
    f->inner = f->inner ? f->inner : one_less_sigmoid(x, v);
    DType t = f->inner ? numbers_dtype(x, v) : DT_NONE;
    if (!range_digits(t))
        return false;
    f->operand = numbers_in(x, f->inner, 0);
    f->range = range_of(x->ranges, f->operand);
    // Near 0 both forms are as good.
    double most = log(2) * range_digits(t) / 2;
    return !(f->range.known && f->range.lo > -most && f->range.hi < most);
}

void lint_unfused_log(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Unfused f;
    const NodeIds of = LINT_NODES(l, "Log");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_unfused(x, id, &f))
            continue;
        DType t = numbers_dtype(x, f.operand);
        Diag *d =
            f.sigmoid
                ? numbers_report(l, "NS006", id, 0,
                                 "Log of Sigmoid is -inf below %.4g (proved: %s); Softplus says it "
                                 "for every operand",
                                 -exp_floor(t), dtype_name(t))
            : f.without
                ? numbers_report(l, "NS006", id, 0,
                                 "Log of 1 - Sigmoid is -inf above %.4g (proved: %s); Softplus "
                                 "says it for every operand",
                                 log(2) * (range_digits(t) + 1), dtype_name(t))
                : numbers_report(l, "NS006", id, 0,
                                 "Log of 1 + Exp is inf above %.4g and 0 below %.4g (proved: %s); "
                                 "Softplus says it for every operand",
                                 exp_limit(t), -log(2) * range_digits(t), dtype_name(t));
        if (!d)
            continue;
        diag_note(l->diags, d, "the operand of %.*s lies in %.*s", STR_ARG(lint_short(l, f.inner)),
                  STR_ARG(numbers_words(l->arena, &f.range, t)));
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_fix(l->diags, d, false, "%s: 0 casts added",
                 f.sigmoid   ? "Neg(Softplus(Neg(x)))"
                 : f.without ? "Neg(Softplus(x))"
                             : "Softplus(x)");
    }
}

static uint32_t mend_unfused(Rewrite *e, NodeId id)
{
    Unfused f;
    if (!find_unfused(e->numbers, id, &f) || !rewrite_take(e, id))
        return 0;
    ValueId v = f.operand, p = numbers_in(e->numbers, id, 0);
    if (f.sigmoid)
        v = rewrite_node(e, "Neg", &v, 1);
    v = rewrite_node(e, "Softplus", &v, 1);
    if (f.sigmoid || f.without)
        v = rewrite_node(e, "Neg", &v, 1);
    rewrite_replace(e, id, v);
    rewrite_drop_unused(e, p);
    return 1;
}

uint32_t repair_unfused_log(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_unfused);
}

// ---- NS003: Exp whose operand may be too large

// 1 / (1 + Exp(x)): inf gives 0, as it should.
static bool only_divides(const NumberFacts *x, ValueId v)
{
    double one;
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++) {
        NodeId add = x->uses.uses[i].node;
        if (!add || !node_is(node_at(x->m, add), "Add") ||
            !(numbers_constant(x, numbers_in(x, add, 0), &one) ||
              numbers_constant(x, numbers_in(x, add, 1), &one)))
            return false;
        ValueId sum = node_at(x->m, add)->out[0];
        for (uint32_t k = x->uses.first[sum]; sum && k < x->uses.first[sum + 1]; k++) {
            const Use *u = &x->uses.uses[k];
            const Node *n = u->node ? node_at(x->m, u->node) : NULL;
            if (!n || !(node_is(n, "Reciprocal") || (node_is(n, "Div") && u->index == 1)))
                return false;
        }
    }
    return numbers_use_count(x, v) > 0;
}

// Does a condition hold only where v is at most some number within the limit (`upper`), or fail
// only there?
static bool bounds_from(const NumberFacts *x, ValueId condition, ValueId v, bool upper,
                        double limit)
{
    static const char *const less[] = {"Less", "LessOrEqual"}, *const greater[] = {
                                                                   "Greater", "GreaterOrEqual"};
    double number;
    for (int k = 0; k < 2; k++) {
        NodeId a = numbers_made_by(x, condition, upper ? less[k] : greater[k]);
        NodeId b = numbers_made_by(x, condition, upper ? greater[k] : less[k]);
        if ((a && numbers_in(x, a, 0) == v && numbers_constant(x, numbers_in(x, a, 1), &number)) ||
            (b && numbers_in(x, b, 1) == v && numbers_constant(x, numbers_in(x, b, 0), &number)))
            return number <= limit;
    }
    return false;
}

// Exp(v), with constants added or multiplied, that Where takes only where v is not large: a
// function with a branch, as exporters write Elu.
static bool only_chosen(const NumberFacts *x, ValueId v, ValueId e)
{
    enum { MAX_STEPS = 4 };
    double number, limit = exp_limit(numbers_dtype(x, v));
    for (int step = 0; step < MAX_STEPS && numbers_use_count(x, e) == 1; step++) {
        const Use *u = &x->uses.uses[x->uses.first[e]];
        const Node *n = u->node ? node_at(x->m, u->node) : NULL;
        if (n && node_is(n, "Where"))
            return (u->index == 1 && bounds_from(x, n->in[0], v, true, limit)) ||
                   (u->index == 2 && bounds_from(x, n->in[0], v, false, limit));
        bool on = n && u->index < 2 && n->nin == 2 && n->out[0] &&
                  (node_is(n, "Sub") || node_is(n, "Add") || node_is(n, "Mul")) &&
                  numbers_constant(x, n->in[1 - u->index], &number);
        if (!on)
            return false;
        e = n->out[0];
    }
    return false;
}

static bool belongs_to_other(NumberFacts *x, NodeId exp)
{
    ValueId v = node_at(x->m, exp)->out[0];
    ByHand softmax;
    Unfused log;
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++) {
        NodeId user = x->uses.uses[i].node;
        if (user && find_softmax(x, user, &softmax) && softmax.exp == exp)
            return true;
        if (!user || !node_is(node_at(x->m, user), "Add") || !node_at(x->m, user)->out[0])
            continue;
        ValueId sum = node_at(x->m, user)->out[0];
        for (uint32_t k = x->uses.first[sum]; k < x->uses.first[sum + 1]; k++)
            if (x->uses.uses[k].node && find_unfused(x, x->uses.uses[k].node, &log) &&
                log.inner == exp)
                return true;
    }
    return false;
}

static bool find_large_exp(NumberFacts *x, NodeId id, Range *r)
{
    ValueId v = numbers_in(x, id, 0);
    DType t = numbers_dtype(x, v);
    if (!node_is(node_at(x->m, id), "Exp") || !range_digits(t) || !node_at(x->m, id)->out[0])
        return false;
    *r = range_of(x->ranges, v);
    return r->known && r->hi > exp_limit(t) && !takes_maximum_off(x, v) &&
           !only_divides(x, node_at(x->m, id)->out[0]) &&
           !only_chosen(x, v, node_at(x->m, id)->out[0]) && !belongs_to_other(x, id);
}

void lint_large_exp(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    Range r;
    const NodeIds of = LINT_NODES(l, "Exp");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!numbers_alive(x, id) || !find_large_exp(x, id, &r))
            continue;
        DType t = numbers_dtype(x, numbers_in(x, id, 0));
        Diag *d = numbers_report(
            l, "NS003", id, 0, "Exp is inf above %.4g in %s, and its operand is %.*s", exp_limit(t),
            dtype_name(t), STR_ARG(numbers_words(l->arena, &r, t)));
        if (!d)
            continue;
        numbers_note_measured(l, d, node_at(l->m, id)->out[0]);
        diag_note(l->diags, d, "nothing on the way bounds it: no Min, Clip, Sigmoid or Tanh");
        diag_fix(l->diags, d, false, "Min with %.4g in front of it: 1 node, 0 casts added",
                 exp_limit(t));
    }
}

static uint32_t mend_large_exp(Rewrite *e, NodeId id)
{
    Range r;
    if (!find_large_exp(e->numbers, id, &r) || !rewrite_take(e, id))
        return 0;
    ValueId v = numbers_in(e->numbers, id, 0);
    DType t = numbers_dtype(e->numbers, v);
    double most = exp_limit(t) * (1 - ldexp(4, -range_digits(t)));
    node_at(e->m, id)->in[0] = rewrite_limit(e, v, t, -INFINITY, most);
    return 1;
}

uint32_t repair_large_exp(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_large_exp);
}
