// NS007 and NS008: constants that hold what is no number, or numbers that targets flush to 0.

#include "passes/lint/rewrite.h"

#include <math.h>

// An initializer or the result of a Constant that something uses.
static bool is_used_constant(const NumberFacts *x, ValueId v)
{
    const Value *value = value_at(x->m, v);
    if (!value->constant || !range_digits(value->dtype) || !numbers_use_count(x, v))
        return false;
    return value->def != DEF_NODE ||
           (!node_at(x->m, value->node)->dead && node_is(node_at(x->m, value->node), "Constant"));
}

// Operators to which infinities are operands like others.
static bool takes_infinity(const NumberFacts *x, const Use *u)
{
    static const char *const known[] = {
        "Min",     "Max",     "Clip",  "Where",           "Pad",
        "Equal",   "Less",    "IsInf", "Greater",         "IsNaN",
        "Add",     "Concat",  "Cast",  "ScatterND",       "Expand",
        "Softmax", "Trilu",   "Loop",  "ScatterElements", "CastLike",
        "If",      "Identity"};
    const Node *n = u->node ? node_at(x->m, u->node) : NULL;
    for (size_t i = 0; n && i < sizeof known / sizeof *known; i++)
        if (node_is(n, known[i]))
            return true;
    return !n || numbers_moves(n);
}

static NodeId bad_use(const NumberFacts *x, ValueId v)
{
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++)
        if (!takes_infinity(x, &x->uses.uses[i]))
            return x->uses.uses[i].node;
    return 0;
}

// NaN and nothing else, which a Where or Pad puts where there is no number: it says so on purpose.
static bool is_marker(const NumberFacts *x, ValueId v, int depth)
{
    enum { MAX_DEPTH = 8 };
    bool marks = depth < MAX_DEPTH && numbers_use_count(x, v) > 0;
    for (uint32_t i = x->uses.first[v]; marks && i < x->uses.first[v + 1]; i++) {
        const Use *u = &x->uses.uses[i];
        const Node *n = u->node ? node_at(x->m, u->node) : NULL;
        bool chosen =
            n && ((node_is(n, "Where") && u->index > 0) || (node_is(n, "Pad") && u->index == 2));
        bool passed = n && u->index == 0 && n->nout && n->out[0] &&
                      (numbers_moves(n) || node_is(n, "Cast") || node_is(n, "CastLike"));
        marks = chosen || (passed && is_marker(x, n->out[0], depth + 1));
    }
    return marks;
}

static void report_constant(Lint *l, ValueId v, const ConstantStats *s, NodeId user)
{
    uint64_t n = s->nans ? s->nans : s->infinities;
    Str of = s->count == 1 ? STR("")
                           : str_printf(l->arena, "%llu of %llu values of ", (unsigned long long)n,
                                        (unsigned long long)s->count);
    Diag *d = diag(l->diags, "NS007", SEV_WARNING, location_value(l->m, l->arena, v),
                   "%.*s\"%.*s\" %s %s (proved)", STR_ARG(of), STR_ARG(lint_name(l, v)),
                   n == 1 ? "is" : "are", s->nans ? "NaN" : "infinite");
    d->value = lint_name(l, v);
    if (user)
        diag_note(l->diags, d, "used by %.*s %.*s",
                  STR_ARG(str_escaped(l->arena, node_at(l->m, user)->op)),
                  STR_ARG(lint_short(l, user)));
    diag_note(l->diags, d,
              s->nans ? "whatever is computed with it is NaN: training diverged, or the file is "
                        "damaged"
                      : "outside of masks, Min, Max, Clip and Where an infinity gives infinities "
                        "or NaN; a conversion to a narrower dtype may have made it");
    if (!s->nans && value_at(l->m, v)->dtype == DT_F16)
        diag_note(l->diags, d,
                  "float16 ends at 65504: numbers of bfloat16 or float32 do not all fit");
    diag_help(l->diags, d,
              s->nans ? "look for the first checkpoint that holds it, and export an earlier one"
                      : "convert the original again, to a dtype that holds its numbers");
}

void lint_nonfinite(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    bool infinities = lint_named(l, "NS007");
    for (ValueId v = 1; v < l->m->values.len; v++) {
        if (!is_used_constant(x, v) || value_at(l->m, v)->copy_of)
            continue;
        const ConstantStats *s = range_stats(x->ranges, v);
        NodeId user = x->uses.uses[x->uses.first[v]].node;
        if (s->nans && !(s->nans == s->count && is_marker(x, v, 0)))
            report_constant(l, v, s, user);
        else if (!s->nans && s->infinities &&
                 ((user = numbers_product(x, v)) || (infinities && (user = bad_use(x, v)))))
            report_constant(l, v, s, user);
    }
}

// ---- NS008

void lint_denormals(Lint *l)
{
    NumberFacts *x = lint_numbers(l);
    for (ValueId v = 1; v < l->m->values.len; v++) {
        const Value *value = value_at(l->m, v);
        const ConstantStats *s = is_used_constant(x, v) && value->dtype == DT_F32 && !value->copy_of
                                     ? range_stats(x->ranges, v)
                                     : NULL;
        if (!s || !s->subnormal)
            continue;
        Diag *d = diag(l->diags, "NS008", SEV_INFO, location_value(l->m, l->arena, v),
                       "%llu of %llu values of \"%.*s\" are denormal (proved): the least is %.3g",
                       (unsigned long long)s->subnormal, (unsigned long long)s->count,
                       STR_ARG(lint_name(l, v)), s->least);
        d->value = lint_name(l, v);
        diag_note(l->diags, d,
                  "targets that flush denormals to 0 (GPUs, -ffast-math, ARM NEON) "
                  "compute something else, others are slow on them");
        diag_fix(l->diags, d, false, "store them as 0");
    }
}

static uint32_t flush(Model *m, NumberFacts *x, ValueId v)
{
    const ConstantStats *s = range_stats(x->ranges, v);
    const Elements of = s->subnormal ? elements_of(m, v) : (Elements){0};
    TensorData *d = (TensorData *)(uintptr_t)value_at(m, v)->constant;
    TensorData kept = *d;
    if (!of.n)
        return 0;
    float *to = arena_array(m->arena, of.n, sizeof *to);
    for (uint64_t i = 0; i < of.n; i++) {
        to[i] = (float)element_at(&of, i);
        to[i] = fpclassify(to[i]) == FP_SUBNORMAL ? copysignf(0, to[i]) : to[i];
    }
    *d = *tensor_new(m->arena, DT_F32, kept.rank, kept.dims, to);
    d->name = kept.name;
    d->doc = kept.doc;
    d->metadata = kept.metadata;
    d->unknown = kept.unknown;
    d->has |= kept.has & (TENSOR_HAS_NAME | TENSOR_HAS_DOC);
    return 1;
}

uint32_t repair_denormals(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Arena *scratch = arena_new();
    NumberFacts *x = unsafe ? numbers_open(m, scratch) : NULL;
    for (ValueId v = 1; unsafe && v < m->values.len; v++)
        if (is_used_constant(x, v) && value_at(m, v)->dtype == DT_F32 && value_at(m, v)->init)
            changes += flush(m, x, v);
    arena_free(scratch);
    return changes;
}
