// NS010: Log(1 + x) and Exp(x) - 1 where x is near 0. 1 + x has the digits of x that lie within
// those of 1, Exp(x) - 1 those that Exp(x) has beyond 1: of x = 1e-4 in float32 three are left of
// seven.
//
// ONNX has neither log1p nor expm1, which exporters of both write so; but it has Atanh and Tanh,
// which keep all digits near 0, and
//
//     log(1 + x) = 2 atanh(x / (2 + x))          exp(x) - 1 = tanh(x / 2) (exp(x) + 1)
//
// (Abramowitz and Stegun, 4.6.22 and 4.5.4). The second holds everywhere. The first loses digits as
// x / (2 + x) nears 1: it is taken where |x| < 1/2, beyond that Log(1 + x) is as good.

#include "passes/lint/rewrite.h"

#include <math.h>

enum { SINCE_WHERE = 9 };

typedef struct NearZero {
    ValueId x;
    NodeId exp; // 0: it is Log(1 + x)
    Range range;
} NearZero;

// The Exp of which the node takes 1; 0: it does not.
static NodeId less_one(const NumberFacts *x, NodeId id)
{
    double one;
    const Node *n = node_at(x->m, id);
    for (uint32_t i = 0; i < 2; i++) {
        bool takes = node_is(n, "Sub") ? i == 1 : node_is(n, "Add");
        if (takes && numbers_constant(x, numbers_in(x, id, i), &one) &&
            one == (node_is(n, "Sub") ? 1 : -1))
            return numbers_made_by(x, numbers_in(x, id, 1 - i), "Exp");
    }
    return 0;
}

// Is v only taken where a condition says so, as the repair has it?
static bool is_chosen(const NumberFacts *x, ValueId v)
{
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++)
        if (!x->uses.uses[i].node || !node_is(node_at(x->m, x->uses.uses[i].node), "Where"))
            return false;
    return x->uses.first[v] < x->uses.first[v + 1];
}

static bool find_near_zero(NumberFacts *x, NodeId id, NearZero *f)
{
    const Node *n = node_at(x->m, id);
    *f = (NearZero){.exp = less_one(x, id)};
    f->x = f->exp              ? numbers_in(x, f->exp, 0)
           : node_is(n, "Log") ? numbers_beside_one(x, numbers_in(x, id, 0))
                               : 0;
    DType t = f->x ? numbers_dtype(x, f->x) : DT_NONE;
    if ((t != DT_F16 && t != DT_F32 && t != DT_F64) || opset_of(x->m, n) < SINCE_WHERE)
        return false;
    if (!f->exp && (numbers_made_by(x, f->x, "Exp") || is_chosen(x, n->out[0])))
        return false; // NS006's; or mended
    f->range = range_of(x->ranges, f->x);
    // Beyond the root of a unit half of the digits are left.
    double near = exp2(-range_digits(t) / 2.0);
    return !(f->range.known && (f->range.lo >= near || f->range.hi <= -near));
}

void lint_near_zero(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    NearZero f;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        if (!numbers_alive(x, id) || !find_near_zero(x, id, &f))
            continue;
        DType t = numbers_dtype(x, f.x);
        double unit = exp2(-range_digits(t));
        Diag *d =
            numbers_report(l, "NS010", id, UINT32_MAX,
                           f.exp ? "Exp(x) - 1 has half of its digits where x is %.2g, and is "
                                   "0 below %.2g (proved: %s)"
                                 : "Log(1 + x) has half of its digits where x is %.2g, and "
                                   "is 0 below %.2g (proved: %s)",
                           sqrt(unit), unit, dtype_name(t));
        if (!d)
            continue;
        diag_note(l->diags, d, "x is \"%.*s\" and lies in %.*s", STR_ARG(lint_name(l, f.x)),
                  STR_ARG(numbers_words(l->arena, &f.range, t)));
        numbers_note_measured(l, d, f.x);
        diag_fix(l->diags, d, false,
                 f.exp ? "Tanh(x / 2) * (Exp(x) + 1): 3 nodes, 0 casts added"
                       : "2 * Atanh(x / (2 + x)) where |x| < 0.5: 7 nodes, 0 casts added");
    }
}

static ValueId two(Rewrite *e, const char *op, ValueId a, ValueId b)
{
    return rewrite_node(e, op, (ValueId[]){a, b}, 2);
}

// Of Exp(x) - 1. For great x it overflows where Exp does, for small ones it is -1.
static ValueId expm1_of(Rewrite *e, const NearZero *f, DType t)
{
    ValueId half = two(e, "Mul", f->x, rewrite_number(e, t, 0.5));
    ValueId sum = two(e, "Add", node_at(e->m, f->exp)->out[0], rewrite_number(e, t, 1));
    return two(e, "Mul", rewrite_node(e, "Tanh", &half, 1), sum);
}

// Of Log(1 + x): `log` is as it was.
static ValueId log1p_of(Rewrite *e, const NearZero *f, DType t, ValueId log)
{
    ValueId ratio = two(e, "Div", f->x, two(e, "Add", f->x, rewrite_number(e, t, 2)));
    ValueId near = two(e, "Mul", rewrite_node(e, "Atanh", &ratio, 1), rewrite_number(e, t, 2));
    ValueId is_near = two(e, "Less", rewrite_node(e, "Abs", &f->x, 1), rewrite_number(e, t, 0.5));
    return rewrite_node(e, "Where", (ValueId[]){is_near, near, log}, 3);
}

static uint32_t mend_near_zero(Rewrite *e, NodeId id)
{
    NearZero f;
    if (!find_near_zero(e->numbers, id, &f) || !rewrite_take(e, id))
        return 0;
    DType t = numbers_dtype(e->numbers, f.x);
    ValueId sum = numbers_in(e->numbers, id, 0);
    if (f.exp) {
        rewrite_replace(e, id, expm1_of(e, &f, t));
        return 1;
    }
    ValueId log = rewrite_node(e, "Log", &sum, 1);
    rewrite_replace(e, id, log1p_of(e, &f, t, log));
    return 1;
}

uint32_t repair_near_zero(Model *m, bool unsafe)
{
    return rewrite_model(m, unsafe, mend_near_zero);
}
