// Which of two sides that meet gives way. A few sources that mend all decide (sides.c); where there
// are none, what the sides begin with, what is declared, and what the node's result meets.

#include "passes/lint/judge.h"

#include "ir/said.h"
#include "passes/lint/origin.h"
#include "passes/lint/story.h"

#include <string.h>

DType judge_right(Judge *j, ValueId v, uint32_t *count)
{
    uint32_t ignored;
    if (!j->sides)
        j->sides = sides_of(j->l->m, j->l->arena);
    return sides_right(j->sides, v, count ? count : &ignored);
}

DType judge_type_dtype(const Type *t)
{
    bool known = t && t->kind == TYPE_TENSOR && t->elem > 0 && t->elem < DT_COUNT;
    return known ? (DType)t->elem : DT_NONE;
}

DType judge_declared_dtype(const Model *m, ValueId v)
{
    return v ? judge_type_dtype(value_at(m, v)->declared) : DT_NONE;
}

bool judge_is_retypable(const Model *m, ValueId source)
{
    const char *kind = origin_kind(m, source);
    return origin_payload(m, source) || strcmp(kind, "cast") == 0 || strcmp(kind, "input") == 0;
}

// The sources of a node's operands that have dtype t where operand i is tied: how many, and the
// first to name.
static ValueId sources_of_side(Judge *j, const Node *n, uint32_t i, DType t, uint32_t *count)
{
    const Model *m = j->l->m;
    ValueId first = 0, seen[8];
    uint32_t nseen = 0;
    *count = 0;
    for (uint32_t k = 0; k < n->nin && nseen < 8; k++) {
        if (!params_are_tied(param_of_operand(n, i), param_of_operand(n, k)) ||
            lint_held(m, n->in[k]) != t)
            continue;
        Origin o = origin_find(lint_origins(j->l), n->in[k]);
        bool known = false;
        for (uint32_t s = 0; s < nseen; s++)
            known |= seen[s] == o.value;
        if (known)
            continue;
        seen[nseen++] = o.value;
        *count += o.count;
        first = !first || origin_is_before(m, o.value, first) ? o.value : first;
    }
    return first;
}

bool judge_is_mended_by(Judge *j, ValueId side, DType want)
{
    Origin o = origin_find(lint_origins(j->l), side);
    return o.count == 1 && judge_is_retypable(j->l->m, o.value) &&
           origin_mends(lint_origins(j->l), lint_uses(j->l), o.value, want);
}

// Would all fit if the sources of a side had the other dtype, all of them?
static bool is_mended_together(Judge *j, ValueId side, DType want)
{
    Origin o = origin_find(lint_origins(j->l), side);
    origin_trace(lint_origins(j->l), side, &o);
    bool all = judge_is_retypable(j->l->m, o.value);
    for (uint32_t i = 0; i < o.others.len; i++)
        all = all && judge_is_retypable(j->l->m, o.others.at[i]);
    return all && origin_mends_together(lint_origins(j->l), lint_uses(j->l), &o, want);
}

ValueId judge_tied_result(const Node *n, uint32_t i)
{
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o] && params_are_tied(param_of_operand(n, i), param_of_result(n, o)))
            return n->out[o];
    return 0;
}

bool judge_result_at_fault(Judge *j, const Node *n, const Conflict *c)
{
    const Model *m = j->l->m;
    DType a = lint_held(m, n->in[c->culprit]), b = lint_held(m, n->in[c->other]);
    ValueId made = judge_tied_result(n, c->culprit);
    if (!made || lint_held(m, made) != b)
        return false;
    return origin_mends(lint_origins(j->l), lint_uses(j->l), made, a) &&
           !origin_mends(lint_origins(j->l), lint_uses(j->l), made, b);
}

// Do declarations say that what a side begins with ought to have the other dtype? To mend that one
// mends them too.
static bool is_belied_by(Judge *j, ValueId side, DType want)
{
    Origin o = origin_find(lint_origins(j->l), side);
    return j->said[value_written(j->l->m, o.value)] == (TypeSet)1 << want;
}

void judge_conflict(Judge *j, const Node *n, Conflict *c)
{
    const Model *m = j->l->m;
    ValueId low = n->in[c->culprit], high = n->in[c->other];
    DType a = lint_held(m, low), b = lint_held(m, high), right = judge_right(j, low, NULL);
    if (right == a || right == b) {
        *c = right == a ? (Conflict){c->node, c->other, c->culprit} : *c;
        return;
    }
    uint32_t na, nb;
    bool declared = said_dtype(j->l->m, judge_tied_result(n, c->culprit)) == b;
    bool belied = is_belied_by(j, high, a) && !is_belied_by(j, low, b);
    bool mends = judge_is_mended_by(j, high, a);
    if (mends ? belied || !judge_is_mended_by(j, low, b)
              : !judge_is_mended_by(j, low, b) && (judge_result_at_fault(j, n, c) ||
                                                   (!declared && !is_mended_together(j, low, b) &&
                                                    is_mended_together(j, high, a)))) {
        *c = (Conflict){c->node, c->other, c->culprit};
        return;
    }
    if (a == m->dominant || b == m->dominant || a == DT_F64 || b == DT_F64)
        return;
    for (uint32_t o = 0; o < n->nout; o++)
        if (params_are_tied(param_of_operand(n, c->culprit), param_of_result(n, o)))
            return;
    ValueId s = sources_of_side(j, n, c->culprit, a, &na),
            t = sources_of_side(j, n, c->culprit, b, &nb);
    if (s && t && (na != nb ? nb < na : origin_is_before(m, t, s)))
        *c = (Conflict){c->node, c->other, c->culprit};
}

// Of two dtypes that should be one, does the first give way? To what is declared, to the model's
// own; float64 does.
static bool gives_way(const Model *m, DType a, DType b, DType declared)
{
    if (declared == a || declared == b)
        return declared == b;
    return b == m->dominant || (a != m->dominant && a == DT_F64);
}

bool judge_first_wrong(Judge *j, ValueId v, DType a, DType b, DType declared)
{
    DType right = judge_right(j, v, NULL);
    return right == a || right == b ? right == b : gives_way(j->l->m, a, b, declared);
}
