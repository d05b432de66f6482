// x divided by what is at least as large: x / max(|x|, e), rows over their norm, their greatest
// magnitude or their sum, root mean squares, scales of what is quantised as the model runs.

#include "passes/ranges_state.h"

#include <math.h>

// Above this no square and no scaled number that matters has vanished, where exponents have 8 bits.
static const double LEAST = 0x1p-60;
enum { STEPS = 64 }; // values looked at for one quotient

typedef struct Cover {
    RangeWalk *w;
    ValueId x;
    double unit;   // relative error of one rounding
    uint32_t left; // of STEPS
    bool exact;    // nothing was rounded down
    uint8_t by;    // RangeBasis of what was taken for granted
} Cover;

// The least c that was found so that |x|^power <= c * v at every index to which x and v are
// broadcast; INFINITY: none.
static double covers(Cover *c, ValueId v, int power);

static ValueId operand(const Node *n, uint32_t i)
{
    return n && i < n->nin ? n->in[i] : 0;
}

static void rests_on(Cover *c, uint8_t by)
{
    c->by = by > c->by ? by : c->by;
}

// What was computed with a rounding may be less than it should be.
static double rounded(Cover *c, double factor)
{
    c->exact = false;
    return factor * (1 + 4 * c->unit);
}

static bool is_number(Cover *c, ValueId v, double number)
{
    const ConstantStats *s = range_stats(c->w->r, v);
    return s->read && !s->nans && s->lo == number && s->hi == number;
}

// The least of what the operands cover: a greatest number is at least each of them.
static double any_operand(Cover *c, const Node *n, int power)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < n->nin && isinf(best); i++)
        best = covers(c, n->in[i], power);
    return best;
}

// A sum is at least each of its terms where none is negative.
static double of_sum(Cover *c, const Node *n, int power)
{
    uint8_t by = RANGE_PROVED;
    uint32_t negative = 0, which = 0;
    for (uint32_t i = 0; i < n->nin; i++) {
        Range x = n->in[i] ? *range_at(c->w->r, n->in[i]) : range_none();
        bool least = x.known && x.lo >= 0;
        by = least && x.lo_by > by ? x.lo_by : by;
        which = least ? which : i;
        negative += !least;
    }
    double best = negative > 1    ? INFINITY
                  : negative == 1 ? covers(c, n->in[which], power)
                                  : any_operand(c, n, power);
    if (!isinf(best))
        rests_on(c, by);
    return best;
}

// One operand times or divided by numbers that are bounded away from 0.
static double scaled(Cover *c, const Node *n, int power, bool divided)
{
    for (uint32_t i = 0; i < (divided ? 1u : 2u) && n->nin == 2; i++) {
        Range k = n->in[1 - i] ? *range_at(c->w->r, n->in[1 - i]) : range_none();
        double least = !k.known || k.nan ? 0 : divided ? 1 / k.hi : k.lo;
        if (!(k.lo > 0) || !(least >= 0x1p-30) || !(least <= 0x1p30))
            continue;
        double factor = covers(c, n->in[i], power);
        if (isinf(factor))
            continue;
        rests_on(c, divided ? k.hi_by : k.lo_by);
        return rounded(c, factor / least);
    }
    return INFINITY;
}

// Of how many numbers result 0 holds one for each; 0: an index of it is not one of all of theirs.
static double reduced(Cover *c, const Node *n)
{
    const Value *from = value_at(c->w->m, n->in[0]), *to = value_at(c->w->m, n->out[0]);
    double count = 1;
    if (from->rank < 0 || (to->rank != from->rank && to->rank != 0))
        return 0;
    for (int32_t k = 0; k < from->rank; k++) {
        RangeBasis by;
        if (to->rank && to->dims[k] == from->dims[k])
            continue;
        if (to->rank && !poly_equals(to->dims[k], 1))
            return 0;
        count *= range_of_dim(c->w->r, from->dims[k], &by);
        rests_on(c, (uint8_t)by);
    }
    return count;
}

// Those whose result is at least each of the numbers, or their squares, or a part of that.
static bool reduces_to_more(const Node *n)
{
    static const char *const names[] = {"ReduceMax", "ReduceSum",  "ReduceL1",
                                        "ReduceL2",  "ReduceMean", "ReduceSumSquare"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (node_is(n, names[i]))
            return true;
    return false;
}

static double of_reduction(Cover *c, const Node *n, int power)
{
    uint8_t by = c->by; // the number of terms matters to means alone
    double count = n->nin && n->out[0] ? reduced(c, n) : 0;
    bool mean = node_is(n, "ReduceMean"), root = node_is(n, "ReduceL2");
    bool squares = node_is(n, "ReduceSumSquare");
    if (!(count >= 1))
        return INFINITY;
    c->by = mean ? c->by : by;
    if (mean)
        return rounded(c, covers(c, n->in[0], power) * count);
    if (n->in[0] == c->x && power == (squares ? 2 : 1) && (squares || root))
        return rounded(c, 1);
    if (n->in[0] == c->x && power == 1 && node_is(n, "ReduceL1"))
        return 1;
    return root || squares ? INFINITY : covers(c, n->in[0], power);
}

// Clip that only raises numbers.
static bool only_raises(Cover *c, const Node *n)
{
    double lo, most;
    range_of_dtype(value_at(c->w->m, n->out[0])->dtype, &lo, &most);
    return !operand(n, 2) && (!node_has_attr(n, "max") || node_float(n, "max", 0) >= most);
}

static double of_square(Cover *c, const Node *n)
{
    bool mul = node_is(n, "Mul") && operand(n, 0) == c->x && operand(n, 1) == c->x;
    bool pow = node_is(n, "Pow") && operand(n, 0) == c->x && is_number(c, operand(n, 1), 2);
    return mul || pow ? rounded(c, 1) : INFINITY;
}

static double of_node(Cover *c, const Node *n, int power)
{
    bool root = node_is(n, "Sqrt") || (node_is(n, "Pow") && is_number(c, operand(n, 1), 0.5));
    double square = power == 2 ? of_square(c, n) : INFINITY;
    if (!isinf(square))
        return square;
    if (node_is(n, "Abs") && power == 1)
        return operand(n, 0) == c->x ? 1 : covers(c, operand(n, 0), 1);
    if (root && power == 1)
        return rounded(c, sqrt(covers(c, operand(n, 0), 2)));
    if (node_is(n, "Max"))
        return any_operand(c, n, power);
    if (node_is(n, "Add") || node_is(n, "Sum"))
        return of_sum(c, n, power);
    if (node_is(n, "Mul") || node_is(n, "Div"))
        return scaled(c, n, power, node_is(n, "Div"));
    if (reduces_to_more(n))
        return of_reduction(c, n, power);
    bool kept = node_is(n, "Identity") || node_is(n, "Expand");
    kept = kept || (node_is(n, "Clip") && only_raises(c, n));
    return kept ? covers(c, operand(n, 0), power) : INFINITY;
}

static double covers(Cover *c, ValueId v, int power)
{
    const Value *value = v ? value_at(c->w->m, v) : NULL;
    if (!value || !c->left)
        return INFINITY;
    c->left--;
    const Range *x = range_at(c->w->r, v);
    if (v == c->x && power == 1 && x->known && x->lo >= 0) {
        rests_on(c, x->lo_by);
        return 1;
    }
    const Node *n = value->def == DEF_NODE && !value->index ? node_at(c->w->m, value->node) : NULL;
    return n ? of_node(c, n, power) : INFINITY;
}

bool range_covered(RangeWalk *w, ValueId x, ValueId divisor, bool inverse)
{
    DType t = walk_result(w, 0);
    double lo, most;
    range_of_dtype(t, &lo, &most);
    if (!x || !divisor || !dtype_is_float(t))
        return false;
    Cover c = {.w = w, .x = x, .left = STEPS, .exact = true};
    c.unit = ldexp(1, -range_digits(t));
    Range a = *range_at(w->r, x), d = *range_at(w->r, divisor);
    if (!a.known || !d.known || a.lo > a.hi || d.lo > d.hi)
        return false;
    double bound = covers(&c, divisor, 1);
    bool away = d.lo >= LEAST && most > 1e38;
    if (isinf(bound) || ((!c.exact || inverse) && !away))
        return false;
    bound = inverse ? rounded(&c, bound) : bound;
    Range y = inverse ? range_fold(w, 0, 2, range_mul) : range_fold(w, 0, 2, range_div);
    if (!y.known || (y.lo >= -bound && y.hi <= bound))
        return false;
    y = range_plain(y);
    if (a.lo >= 0 && y.lo < 0) {
        y.lo = 0;
        y.lo_by = a.lo_by > c.by ? a.lo_by : c.by;
    } else if (y.lo < -bound) {
        y.lo = -bound;
        y.lo_by = c.by;
    }
    if (y.hi > bound) {
        y.hi = bound;
        y.hi_by = c.by;
    }
    walk_give(w, 0, y, bound == 1 ? ROUND_NEAREST : ROUND_LOOSE);
    return true;
}
