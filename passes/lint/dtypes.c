// DT001, DT002, DT003, DT004, DT005, DT015, QN001: dtypes that do not fit, and where they began.

#include "passes/lint/lint.h"
#include "passes/lint/faults.h"
#include "passes/lint/tensors.h"

#include <math.h>
#include <string.h>

static DType result_dtype(const Model *m, const Node *n, uint32_t operand)
{
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o] && params_are_tied(param_of_operand(n, operand), param_of_result(n, o)))
            return lint_held(m, n->out[o]);
    return DT_NONE;
}

bool lint_conflict(const Model *m, NodeId id, uint32_t *from, Conflict *c)
{
    const Node *n = node_at(m, id);
    for (; *from < n->nin; ++*from)
        for (uint32_t k = 0; k < *from; k++) {
            DType a = lint_held(m, n->in[*from]), b = lint_held(m, n->in[k]);
            if (a == DT_NONE || b == DT_NONE ||
                !params_are_tied(param_of_operand(n, *from), param_of_operand(n, k)))
                continue;
            if (a == b) // and so are all before: they agree with each other
                break;
            // The side gives way that is not the result's dtype (the declared one, if it is one of
            // the two); else what is not the model's dominant dtype; else float64; else the first.
            DType t = result_dtype(m, n, *from);
            bool second = b == m->dominant || (a != m->dominant && a == DT_F64);
            second = t == a ? false : t == b ? true : second;
            *c = (Conflict){id, second ? *from : k, second ? k : *from};
            ++*from;
            return true;
        }
    return false;
}

// ---- what is told of every fault ----------------------------------------------------------------

// What the frameworks say of the same fault.
static void help_frameworks(Lint *l, Diag *d, const Node *n)
{
    bool conv = node_is(n, "Conv") || node_is(n, "ConvTranspose");
    bool product = node_is(n, "MatMul") || node_is(n, "Gemm");
    diag_help(l->diags, d, "see `cameo explain %s`%s", d->rule,
              conv      ? "; PyTorch: \"Input type and weight type should be the same\""
              : product ? "; PyTorch: \"mat1 and mat2 must have the same dtype\""
                        : "");
}

static Str spot_path(Lint *l, const FaultSpot *s)
{
    return !s->node    ? location_value(l->m, l->arena, s->value)
           : s->result ? location_result(l->m, l->arena, s->node, s->index)
                       : location_operand(l->m, l->arena, s->node, s->index);
}

// Where else the fault shows: how often, and the first places. Copies of a function's body are one.
static void note_reach(Lint *l, Diag *d, const Fault *f, const char *what)
{
    enum { FIRST = sizeof f->also.first / sizeof *f->also.first };
    const FaultReach *r = &f->also;
    Str told[FIRST + 1] = {d->path};
    uint32_t n = 1;
    Buf text = {0};
    for (uint32_t i = 0; i < r->count && i < FIRST; i++) {
        Str path = spot_path(l, &r->first[i]);
        bool again = false;
        for (uint32_t k = 0; k < n; k++)
            again |= str_eq(told[k], path);
        if (again)
            continue;
        told[n++] = path;
        uint32_t skip = str_starts(path, "graph/node[") ? 6 : 0;
        buf_printf(&text, "%s%.*s", n > 2 ? ", " : ": ", (int)(path.len - skip), path.at + skip);
    }
    if (r->count)
        diag_note(l->diags, d, "it reaches %u further %s%s that differ%s%.*s%s", r->count, what,
                  r->count == 1 ? "" : "s", r->count == 1 ? "s" : "", (int)text.len,
                  text.at ? text.at : "", n > 1 && r->count > FIRST ? ", ..." : "");
    buf_free(&text);
}

// Of several places it is not the first in the file that tells a fault from others, but the first
// by names: nodes may be sorted anew.
static void mark_least(Lint *l, Diag *d, const Fault *f)
{
    const FaultSpot own = fault_spot(f), *least = &f->also.least;
    if (!f->also.count || fault_spot_before(l->m, &own, least))
        return;
    d->mark_path = spot_path(l, least);
    d->mark_op = least->node ? str_escaped(l->arena, node_at(l->m, least->node)->op) : STR("");
    d->mark_value = lint_name(l, fault_spot_value(l->m, least));
}

static void tell_fault(Lint *l, Diag *d, const Fault *f)
{
    d->value = lint_name(l, f->value);
    lint_about_node(l, d, f->node);
    lint_tell(l, d, f->value, f->want, f->node, f->with.at, f->with.len);
    for (uint32_t i = 0; i < f->said.len; i++)
        diag_note(l->diags, d, "\"%.*s\" is declared as %s too",
                  STR_ARG(lint_name(l, f->said.at[i])),
                  dtype_name((DType)value_at(l->m, f->said.at[i])->declared->elem));
    note_reach(l, d, f, "operand");
    mark_least(l, d, f);
}

static void report_each(Lint *l, FaultKind kind, void (*report)(Lint *l, const Fault *f))
{
    const Faults *faults = lint_faults(l);
    for (uint32_t i = 0; i < faults->all.len; i++)
        if (faults->all.at[i].kind == kind)
            report(l, &faults->all.at[i]);
}

// ---- DT001, DT015

// A constant whose dtype nobody wrote (DT014): a note of the conflict.
static void note_default(Lint *l, Diag *d, ValueId v)
{
    ValueId origin = origin_find(lint_origins(l), v).value;
    const Value *at = value_at(l->m, origin);
    const char *attr = at->def == DEF_NODE ? lint_default_dtype(node_at(l->m, at->node)) : NULL;
    if (attr)
        diag_note(l->diags, d, "%s is what %.*s gives without attribute \"%s\"",
                  dtype_name(at->dtype),
                  STR_ARG(str_escaped(l->arena, node_at(l->m, at->node)->op)), attr);
}

// Which node makes the operand that the other one is held to.
static void note_maker(Lint *l, Diag *d, ValueId v)
{
    const Value *at = value_at(l->m, v);
    if (at->def == DEF_NODE && !at->constant)
        diag_note(l->diags, d, "\"%.*s\" (%s) is made by %.*s %.*s", STR_ARG(lint_name(l, v)),
                  dtype_name(at->dtype),
                  STR_ARG(str_escaped(l->arena, node_at(l->m, at->node)->op)),
                  STR_ARG(lint_short(l, at->node)));
}

static void report_conflict(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    bool captured = f->kind == FAULT_CAPTURED;
    Str operand = lint_operand_words(l, n, f->index);
    if (captured)
        operand = str_printf(l->arena, "%.*s (\"%.*s\" of the graph around)", STR_ARG(operand),
                             STR_ARG(lint_name(l, f->value)));
    Diag *d =
        diag(l->diags, captured ? "DT015" : "DT001", SEV_ERROR,
             location_operand(l->m, l->arena, f->node, f->index), "%.*s %.*s is %s but %.*s is %s",
             STR_ARG(str_escaped(l->arena, n->op)), STR_ARG(operand), dtype_name(f->have),
             STR_ARG(lint_operand_words(l, n, f->other)), dtype_name(f->want));
    tell_fault(l, d, f);
    note_maker(l, d, n->in[f->other]);
    note_default(l, d, f->value);
    help_frameworks(l, d, n);
}

void lint_operands(Lint *l)
{
    report_each(l, FAULT_OPERAND, report_conflict);
}

void lint_captured(Lint *l)
{
    report_each(l, FAULT_CAPTURED, report_conflict);
}

// ---- DT004

static void report_branch(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    const char *branch = f->other ? "then_branch" : "else_branch";
    const Value *v = value_at(l->m, f->value);
    Diag *d = diag(l->diags, "DT004", SEV_ERROR, location_result(l->m, l->arena, f->node, f->index),
                   "If gives %s in its %s but %s in its %s", dtype_name(f->have), branch,
                   dtype_name(f->want), f->other ? "else_branch" : "then_branch");
    tell_fault(l, d, f);
    d->value = lint_name(l, n->out[f->index]);
    diag_note(l->diags, d, "the %s gives \"%.*s\"", branch, STR_ARG(lint_name(l, f->value)));
    if (v->def != DEF_NODE)
        diag_note(l->diags, d, "which comes from the graph around as it is");
    diag_help(l->diags, d, "see `cameo explain DT004`");
}

void lint_branches(Lint *l)
{
    report_each(l, FAULT_BRANCH, report_branch);
}

// ---- DT005

static void report_carried(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    const char *op = node_is(n, "Loop") ? "Loop" : "Scan";
    Str name = lint_name(l, n->in[f->index]), made = lint_name(l, f->value);
    // Where the body takes offence at what it is given, that is wrong, not the declaration.
    bool lies = f->other == 3 && !f->also.count;
    Fault given = *f;
    given.value = n->in[f->index];
    Buf text = {0};
    if (f->other >= 2)
        buf_printf(&text, "%s is given \"%.*s\" as %s but its body declares it as %s", op,
                   STR_ARG(name), dtype_name(f->have), dtype_name(f->want));
    else if (f->other == 1)
        buf_printf(&text, "%s carries \"%.*s\" on as %s but it begins as %s", op, STR_ARG(name),
                   dtype_name(f->want), dtype_name(f->have));
    else
        buf_printf(&text, "%s carries \"%.*s\" as %s but its body makes it %s", op, STR_ARG(name),
                   dtype_name(f->want), dtype_name(f->have));
    Diag *d = diag(l->diags, "DT005", SEV_ERROR,
                   location_operand(l->m, l->arena, f->node, f->index), "%s", text.at);
    buf_free(&text);
    if (lies) {
        lint_about_node(l, d, f->node);
        d->origin_kind = STR("value_info");
        d->origin_name = made;
        lint_blame(l, d, f->value);
        diag_note(l->diags, d, "%s begins at the declaration of \"%.*s\" in the body",
                  dtype_name(f->want), STR_ARG(made));
        diag_fix(l->diags, d, true, "declare it as %s: 0 casts added", dtype_name(f->have));
    } else {
        tell_fault(l, d, f->other == 3 ? &given : f);
    }
    d->value = name;
    if (f->other == 0)
        diag_note(l->diags, d, "the body gives \"%.*s\"", STR_ARG(made));
    diag_help(l->diags, d, "see `cameo explain DT005`");
}

static void report_condition(Lint *l, const Fault *f)
{
    Diag *d = diag(l->diags, "DT005", SEV_ERROR, location_value(l->m, l->arena, f->value),
                   "Loop goes on by \"%.*s\" of its body, which is %s and has to be bool",
                   STR_ARG(lint_name(l, f->value)), dtype_name(f->have));
    tell_fault(l, d, f);
    diag_help(l->diags, d, "see `cameo explain DT005`");
}

void lint_carried(Lint *l)
{
    report_each(l, FAULT_CARRIED, report_carried);
    report_each(l, FAULT_CONDITION, report_condition);
}

// ---- QN001

static void report_zero_point(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    Str op = str_escaped(l->arena, n->op);
    Diag *d;
    if (node_is(n, "QuantizeLinear")) {
        d = diag(l->diags, "QN001", SEV_ERROR, location_operand(l->m, l->arena, f->node, f->index),
                 "QuantizeLinear has a zero point of %s but its output_dtype is %s",
                 dtype_name(f->have), dtype_name(f->want));
    } else {
        bool zero_point = f->index > f->other;
        d = diag(l->diags, "QN001", SEV_ERROR, location_operand(l->m, l->arena, f->node, f->index),
                 zero_point ? "%.*s zero point %s is %s but what it belongs to, %s, is %s"
                            : "%.*s input %s is %s but its zero point %s is %s",
                 STR_ARG(op), param_of_operand(n, f->index)->name, dtype_name(f->have),
                 param_of_operand(n, f->other)->name, dtype_name(f->want));
    }
    tell_fault(l, d, f);
    ValueId origin = origin_find(lint_origins(l), f->value).value;
    const Value *v = value_at(l->m, origin);
    if (v->def == DEF_NODE && node_is(node_at(l->m, v->node), "QuantizeLinear")) {
        diag_note(l->diags, d, "without zero point and output_dtype QuantizeLinear gives uint8");
        d->fixes.len = 0;
        diag_fix(l->diags, d, true, "give QuantizeLinear %.*s a zero point of %s: 0 casts added",
                 STR_ARG(lint_short(l, v->node)), dtype_name(f->want));
    }
    diag_help(l->diags, d, "see `cameo explain QN001`");
}

void lint_zero_points(Lint *l)
{
    report_each(l, FAULT_ZERO_POINT, report_zero_point);
}

// ---- DT002

static void report_declared(Lint *l, const Fault *f)
{
    const Value *v = value_at(l->m, f->value);
    Str name = lint_name(l, f->value);
    Diag *d = diag(l->diags, "DT002", SEV_ERROR, location_value(l->m, l->arena, f->value),
                   "%s \"%.*s\" is declared as %s but is %s", f->output ? "output" : "value",
                   STR_ARG(name), dtype_name(f->want), dtype_name(f->have));
    Origin o = origin_find(lint_origins(l), f->value);
    origin_trace(lint_origins(l), f->value, &o);
    d->value = name;
    lint_blame(l, d, f->value);
    vec_push(l->arena, &d->blamed, f->value); // a call's result, which is its own where calls stand
    lint_blame(l, d, o.value);
    if (v->node)
        lint_about_node(l, d, v->node);
    lint_note_begin(l, d, f->have, o.value);
    lint_note_path(l, d, &o, v->node);
    note_reach(l, d, f, "place");
    mark_least(l, d, f);
    // What a branch or body declares is nobody's interface.
    bool outer = f->output && !graph_at(l->m, v->graph)->owner;
    if (!f->other) {
        lint_offer(l, d, &o, f->value, f->want);
        if (outer)
            diag_fix(l->diags, d, false, "declare the output as %s: 0 casts added",
                     dtype_name(f->have));
        return;
    }
    d->origin_kind = f->output ? STR("output") : STR("value_info");
    d->origin_name = name;
    if (outer && f->want)
        diag_fix(l->diags, d, lint_widens(f->have, f->want),
                 "insert 1 Cast to %s in front of the output", dtype_name(f->want))
            ->casts = 1;
    // What callers see is the interface: to change that is the user's to say.
    if (v->def == DEF_INPUT)
        diag_note(l->diags, d,
                  "its default, the initializer of that name, is %s; both say what the "
                  "input is",
                  dtype_name(f->have));
    bool interface = outer || (v->def == DEF_INPUT && !value_is_weight(l->m, f->value));
    diag_fix(l->diags, d, !interface, "declare %sas %s: 0 casts added",
             outer ? "the output " : "it ", dtype_name(f->have));
}

void lint_declared(Lint *l)
{
    report_each(l, FAULT_DECLARED, report_declared);
}

// ---- DT003

// What to cast to: the model's dominant dtype where the operand takes it, else the widest float,
// else the first that it takes.
static DType allowed_dtype(const Model *m, TypeSet types)
{
    static const DType floats[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
    if (m->dominant != DT_NONE && (types >> m->dominant & 1))
        return m->dominant;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (types >> floats[i] & 1)
            return floats[i];
    for (int t = 1; t < DT_COUNT; t++)
        if (types >> t & 1)
            return (DType)t;
    return DT_NONE;
}

// TR001 says it of an optimizer's parameters, gradients and states.
static bool is_training_half(const Node *n, const Fault *f)
{
    return f->index >= 2 && (f->have == DT_F16 || f->have == DT_BF16) &&
           !str_is(n->op, "Gradient") && str_is(n->domain, "ai.onnx.preview.training");
}

static void note_allowed(Lint *l, Diag *d, const Node *n, TypeSet types)
{
    Buf allowed = {0};
    for (int k = 1; k < DT_COUNT; k++)
        if (types >> k & 1)
            buf_printf(&allowed, "%s%s", allowed.len ? ", " : "", dtype_name((DType)k));
    diag_note(l->diags, d, "since opset %d the schema allows %s (the model imports %lld)",
              n->schema->since, allowed.len ? allowed.at : "no tensor",
              (long long)opset_of(l->m, n));
    buf_free(&allowed);
}

// The first later version of the node's operator whose result i, or input i, may be t; 0: none.
static int version_with(const Node *n, bool result, uint32_t i, DType t)
{
    const Schema *now = n->schema, *s;
    for (uint32_t k = 0; (s = schema_at(k)); k++)
        if (s->since > now->since && strcmp(s->name, now->name) == 0 &&
            strcmp(s->domain, now->domain) == 0 && !s->deprecated &&
            i < (result ? s->noutputs : s->ninputs) &&
            ((result ? s->outputs : s->inputs)[i].types >> t & 1))
            return s->since;
    return 0;
}

// A dtype that an attribute chooses, and that the operator does not give at this opset.
static void report_unsupported_result(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    Str op = str_escaped(l->arena, n->op);
    Diag *d = diag(l->diags, "DT003", SEV_ERROR, location_result(l->m, l->arena, f->node, f->index),
                   "%.*s gives no %s at opset %lld", STR_ARG(op), dtype_name(f->have),
                   (long long)opset_of(l->m, n));
    int later = version_with(n, true, f->index, f->have);
    tell_fault(l, d, f);
    note_allowed(l, d, n, param_of_result(n, f->index)->types);
    if (later)
        diag_help(l->diags, d, "%.*s gives %s since opset %d: export the model for that one",
                  STR_ARG(op), dtype_name(f->have), later);
    else
        diag_help(l->diags, d, "let it give one of these, and cast that");
}

// Does Cast convert one to the other at the node's opset?
static bool is_castable(const Model *m, const Node *n, DType from, DType to)
{
    const Schema *cast = schema_find(STR(""), STR("Cast"), opset_of(m, n));
    return cast && (cast->inputs[0].types >> from & 1) && (cast->outputs[0].types >> to & 1);
}

static void report_unsupported(Lint *l, const Fault *f)
{
    const Node *n = node_at(l->m, f->node);
    if (f->output) {
        report_unsupported_result(l, f);
        return;
    }
    if (is_training_half(n, f))
        return;
    const SchemaParam *p = param_of_operand(n, f->index);
    DType scaled =
        node_is(n, "QuantizeLinear") && f->index == 1 ? lint_dtype(l->m, n->in[0]) : DT_NONE;
    DType to = f->want != DT_NONE                              ? f->want
               : scaled != DT_NONE && (p->types >> scaled & 1) ? scaled
                                                               : allowed_dtype(l->m, p->types);
    const bool named = strcmp(p->name, "input") != 0;
    Diag *d =
        diag(l->diags, "DT003", SEV_ERROR, location_operand(l->m, l->arena, f->node, f->index),
             "%.*s takes no %s for its input%s%s", STR_ARG(str_escaped(l->arena, n->op)),
             dtype_name(f->have), named ? " " : "", named ? p->name : "");
    Fault without = *f;
    without.want = DT_NONE;
    tell_fault(l, d, &without);
    note_allowed(l, d, n, p->types);
    if (f->want != DT_NONE)
        diag_note(l->diags, d, "%.*s is %s, and both must have one dtype",
                  STR_ARG(lint_operand_words(l, n, f->other)), dtype_name(f->want));
    int later = version_with(n, false, f->index, f->have);
    if (later)
        diag_help(l->diags, d, "%.*s takes %s since opset %d: export the model for that one",
                  STR_ARG(str_escaped(l->arena, n->op)), dtype_name(f->have), later);
    else if (f->have == DT_STRING)
        diag_help(l->diags, d, "no Cast makes numbers of words: give it indices of them");
    if (to == DT_NONE || f->have == DT_STRING)
        return;
    if (origin_payload(l->m, f->value)) {
        Origin o = {.value = f->value};
        lint_offer(l, d, &o, f->value, to);
        return;
    }
    if (is_castable(l->m, n, f->have, to))
        diag_fix(l->diags, d, false, "insert 1 Cast to %s in front of it", dtype_name(to))->casts =
            1;
}

void lint_allowed(Lint *l)
{
    report_each(l, FAULT_UNSUPPORTED, report_unsupported);
    lint_sparse_operands(l);
    lint_refused_operands(l);
}
