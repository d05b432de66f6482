// Constant: a weight with the value that its attribute gives.

#include "ir/lower.h"

#include <string.h>

static const TensorData *strings_tensor(Infer *s, const Str *at, uint32_t rank, int64_t n)
{
    TensorData *t = NEW(s->arena, TensorData);
    int64_t *dims = NEWS(s->arena, int64_t, 1);
    dims[0] = n;
    *t = (TensorData){.dtype = DT_STRING,
                      .rank = rank,
                      .dims = dims,
                      .payload = PAYLOAD_STRING,
                      .count = (uint64_t)n,
                      .strings = at};
    return t;
}

static const TensorData *constant_of(Infer *s, const Attr *a)
{
    int64_t n;
    Str error;
    if (str_is(a->name, "value"))
        return a->t;
    if (str_is(a->name, "sparse_value") && a->sparse) {
        const TensorData *dense = sparse_dense(s->model, a->sparse, &error);
        if (!dense)
            infer_error(s, "%.*s", STR_ARG(error));
        return dense;
    }
    if (str_is(a->name, "value_float"))
        return tensor_new(s->arena, DT_F32, 0, NULL, &a->f);
    if (str_is(a->name, "value_int"))
        return tensor_new(s->arena, DT_I64, 0, NULL, &a->i);
    n = a->nfloats;
    if (str_is(a->name, "value_floats"))
        return tensor_new(s->arena, DT_F32, 1, &n, a->floats);
    n = a->nints;
    if (str_is(a->name, "value_ints"))
        return tensor_new(s->arena, DT_I64, 1, &n, a->ints);
    if (str_is(a->name, "value_string"))
        return strings_tensor(s, &a->s, 0, 1);
    if (str_is(a->name, "value_strings"))
        return strings_tensor(s, a->strings, 1, a->nstrings);
    return NULL;
}

static void infer_constant_node(Infer *s)
{
    for (uint32_t i = 0; i < s->n->nattrs; i++) {
        const TensorData *t = constant_of(s, &s->n->attrs[i]);
        if (t) {
            infer_set_constant(s, 0, t);
            return;
        }
    }
}

// A Constant with a dense value is a weight and never comes here.
static void lower_constant(Lower *l)
{
    not_supported(
        l, "Constant with %.*s",
        STR_ARG(l->n->nattrs ? str_escaped(l->arena, l->n->attrs[0].name) : STR("no value")));
}

const OpDef ops_constant[] = {
    {"Constant", 1, infer_constant_node, lower_constant, {NULL}, NULL},
    {0},
};
