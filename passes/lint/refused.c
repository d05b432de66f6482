// DT003 of dtypes that the schema allows and that who loads the model refuses all the same.
//
// tests/lint/indices.py asks onnx.checker and ONNX Runtime for every input of the standard that may
// be int32 or int64, and holds the table to what they say.

#include "passes/lint/rewrite.h"
#include "passes/lint/story.h"
#include "passes/lint/tensors.h"
#include "passes/retype.h"

#include <string.h>

// An input that is int64 for everybody and int32 for the schema alone.
static const struct Refused {
    const char *op;
    uint32_t operand;
    bool constant; // only where its elements are known, since it is those that are read as int64
    const char *by;
} refused[] = {
    {"Pad", 3, true,
     "onnx.checker with full_check and ONNX Runtime read it as int64 and refuse it"},
    {"CenterCropPad", 1, false,
     "ONNX Runtime expands the operator to nodes that join it with int64 and refuses it"},
};

// The row that operand i falls under, NULL: none.
static const struct Refused *refused_as(const Model *m, const Node *n, uint32_t i)
{
    const Value *v = n->in[i] ? value_at(m, n->in[i]) : NULL;
    if (!v || n->dead || v->kind != TYPE_TENSOR || v->dtype != DT_I32)
        return NULL;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (refused[k].operand == i && node_is(n, refused[k].op) &&
            (!refused[k].constant || v->init || v->constant))
            return &refused[k];
    return NULL;
}

static void report(Lint *l, NodeId id, uint32_t i, const struct Refused *row)
{
    const Node *n = node_at(l->m, id);
    ValueId v = n->in[i];
    TensorData *t = origin_payload(l->m, v);
    Diag *d = diag(l->diags, "DT003", SEV_WARNING, location_operand(l->m, l->arena, id, i),
                   "%s input %s is int32, which the schema allows and other programs refuse",
                   row->op, param_of_operand(n, i)->name);
    d->value = lint_name(l, v);
    lint_about_node(l, d, id);
    lint_tell(l, d, v, DT_NONE, id, NULL, 0);
    diag_note(l->diags, d, "%s; Cameo computes with it", row->by);
    if (t)
        diag_fix(l->diags, d, true, "store \"%.*s\" as int64: 0 casts added", STR_ARG(d->value));
    else
        diag_fix(l->diags, d, true, "insert 1 Cast to int64 in front of it")->casts = 1;
}

void lint_refused_operands(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        for (uint32_t i = 0; i < node_at(l->m, id)->nin; i++) {
            const struct Refused *row = refused_as(l->m, node_at(l->m, id), i);
            if (row && lint_first_time(l, "DT003", id))
                report(l, id, i, row);
        }
}

static bool is_read_once(const Rewrite *e, ValueId v)
{
    const Uses *u = &e->numbers->uses;
    return u->first[v + 1] - u->first[v] == 1;
}

// What nothing else reads is stored anew; what something else reads gets a second constant.
static ValueId as_int64(Rewrite *e, ValueId v)
{
    TensorData *t = constant_data(e->m, v), *wide = t ? tensor_cast(e->m, t, DT_I64) : NULL;
    if (!wide)
        return rewrite_cast(e, v, DT_I64);
    if (is_read_once(e, v) && constant_retype(e->m, v, DT_I64))
        return v;
    return rewrite_constant(e, wide);
}

static uint32_t mend(Rewrite *e, NodeId id)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < node_at(e->m, id)->nin; i++) {
        if (!refused_as(e->m, node_at(e->m, id), i) || (!made && !rewrite_take(e, id)))
            continue;
        ValueId fresh = as_int64(e, node_at(e->m, id)->in[i]);
        Node *n = node_at(e->m, id);
        ValueId *in = NEWS(e->m->arena, ValueId, n->nin + 1);
        memcpy(in, n->in, n->nin * sizeof *in);
        in[i] = fresh;
        n->in = in;
        made++;
    }
    return made;
}

uint32_t repair_operands(Model *m, bool unsafe)
{
    // Every int32 has its value in int64.
    return repair_sparse_operands(m, unsafe) + rewrite_model(m, true, mend);
}
