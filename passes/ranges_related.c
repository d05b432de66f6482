// Bounds of an operation whose operands are computed from one another. Intervals alone take each
// operand to be anything within its bounds, whatever the other is.

#include "passes/ranges_state.h"

#include <math.h>

static ValueId operand(const Node *n, uint32_t i)
{
    return n && i < n->nin ? n->in[i] : 0;
}

// ---- x * sigmoid(x)

// x times a factor of x that grows from 0 to 1 is at least `least`, and at most x or 0.
static Range gated(RangeWalk *w, Range x, double least)
{
    Range y = x;
    (void)w;
    y.integer = false;
    y.bits = 0;
    y.lo = x.lo >= 0 ? 0 : fmax(least, x.lo);
    y.lo_by = x.lo < least ? (uint8_t)RANGE_PROVED : x.lo_by;
    y.hi = fmax(x.hi, 0);
    y.nan = isinf(x.lo) && !x.nan ? (uint8_t)NAN_BY_OVERFLOW : x.nan; // 0 times infinity
    return y;
}

static Range silu(RangeWalk *w, Range x)
{
    return gated(w, x, -0.2785);
}

static Range hard_silu(RangeWalk *w, Range x)
{
    return gated(w, x, -0.376);
}

// The operand that the factor of operand `i` is computed from, if it is the other one.
static RangeOfOne *gate(RangeWalk *w, uint32_t i)
{
    ValueId x = w->n->in[1 - i];
    const Node *soft = range_made_by(w, w->n->in[i], "Sigmoid");
    const Node *hard = range_made_by(w, w->n->in[i], "HardSigmoid");
    bool sixth = hard && fabs(node_float(hard, "alpha", 0.2) - 1.0 / 6) < 1e-6 &&
                 node_float(hard, "beta", 0.5) == 0.5;
    return x && operand(soft, 0) == x ? silu : sixth && operand(hard, 0) == x ? hard_silu : NULL;
}

// ---- x over what is at least as large

bool range_related_quotient(RangeWalk *w)
{
    return w->n->nin == 2 && range_covered(w, w->n->in[0], w->n->in[1], false);
}

bool range_related_product(RangeWalk *w)
{
    for (uint32_t i = 0; i < 2 && w->n->nin == 2; i++) {
        Range x = walk_in(w, 1 - i);
        RangeOfOne *f = gate(w, i);
        if (f && x.known && x.lo <= x.hi) {
            walk_give(w, 0, range_each(w, x, f), ROUND_LOOSE);
            return true;
        }
        const Node *reciprocal = range_made_by(w, w->n->in[i], "Reciprocal");
        const Node *quotient = range_made_by(w, w->n->in[i], "Div");
        const ConstantStats *one = range_stats(w->r, operand(quotient, 0));
        bool inverse = one->read && one->lo == 1 && one->hi == 1;
        ValueId root = reciprocal ? operand(reciprocal, 0) : inverse ? operand(quotient, 1) : 0;
        if (root && range_covered(w, w->n->in[1 - i], root, true))
            return true;
    }
    return false;
}

// ---- softmax(s) * v

// The rounding of the weights, of their sum and of the products.
Range range_weighted(RangeWalk *w, Range x, double n)
{
    RangeBasis by;
    double unit = ldexp(1, -range_digits(walk_result(w, 0)));
    double error = 2 * range_sum_error(walk_result(w, 0), n) + 0x1p-18 + 4 * unit;
    x.integer = false;
    x.bits = 0;
    return range_rounded(x, range_magnitude(&x, &by) * error);
}

static Range weighted(RangeWalk *w, Range x)
{
    RangeBasis by;
    return range_weighted(w, x, walk_count(w, 0, -1, &by));
}

// Rows that sum to 1 give numbers between the least and the greatest of a column.
bool range_related_matmul(RangeWalk *w)
{
    const Node *softmax = range_made_by(w, w->n->in[0], "Softmax");
    const Value *p = walk_value(w, 0), *v = walk_value(w, 1);
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    Range x = walk_in(w, 1);
    RangeBasis by;
    if (!softmax || !y || y->rank < 2 || p->rank < 2 || v->rank < 2 ||
        isinf(walk_count(w, 0, -1, &by)))
        return false;
    bool old = softmax->def && softmax->def->since < 13;
    int64_t axis = node_int(softmax, "axis", old ? 1 : -1);
    if (axis != -1 && axis != p->rank - 1)
        return false;
    bool columns = x.channels && x.channels->axis + 1 == (uint32_t)v->rank;
    x = columns ? range_on_axis(w, x, (uint32_t)y->rank - 1) : range_plain(x);
    x = range_each(w, x, weighted);
    x.nan = walk_in(w, 0).nan > x.nan ? walk_in(w, 0).nan : x.nan;
    walk_give(w, 0, x, ROUND_LOOSE);
    return true;
}
