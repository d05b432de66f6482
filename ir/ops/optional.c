// Optionals: a value that is there or is not.

#include "ir/ops/lists.h"

// Optional-15, 18, 28: of what is given, or empty, of the type that the attribute says.
static void infer_optional(Infer *s)
{
    const Value *x = infer_in(s, 0);
    const Attr *a = attr_find(s->n, "type");
    if (!x && (!a || !a->tp)) {
        infer_error(s, "without an input the attribute \"type\" has to say what it may hold");
        return;
    }
    const Type *type = x ? value_type(s->arena, x) : a->tp;
    Item item = x ? item_of(x) : item_none();
    if (!type)
        return;
    infer_list(s, s->n->out[0], type_around(s->arena, TYPE_OPTIONAL, type), item);
    infer_items(s, 0, x ? 1 : 0, &item);
}

// OptionalHasElement-15, 18, 28: what is no optional is there if it is given.
static void infer_has_element(Infer *s)
{
    const Value *x = infer_in(s, 0);
    infer_shape(s, 0, 0, NULL);
    if (x && (x->kind == TYPE_NONE || (x->kind == TYPE_OPTIONAL && !x->items)))
        return;
    unsigned char has = x && (x->kind != TYPE_OPTIONAL || x->nitems);
    infer_set_constant(s, 0, tensor_new(s->arena, DT_BOOL, 0, NULL, &has));
}

// OptionalGetElement-15, 18, 28: what is no optional is its own element.
static void infer_get_element(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (!x || x->kind == TYPE_NONE || s->n->nout == 0 || !s->n->out[0])
        return;
    if (x->kind == TYPE_OPTIONAL) {
        if (x->items && x->nitems == 0)
            infer_error(s, "the optional is empty");
        else
            infer_take(s, s->n->out[0], x->type->sub, x->items ? x->items[0] : item_of(x));
    } else if (x->kind == TYPE_TENSOR) {
        infer_dtype_of(s, 0, 0);
        infer_same(s, 0, 0);
        infer_content_copy(s, 0, 0);
        if (x->constant)
            infer_set_constant(s, 0, x->constant);
    } else {
        infer_list(s, s->n->out[0], x->type, item_of(x));
        if (x->items)
            infer_items(s, 0, x->nitems, x->items);
    }
}

static void lower_optional(Lower *l)
{
    Tensor x = input(l, 0);
    list_of(l, output(l, 0), has_input(l, 0), &x);
}

static void lower_has_element(Lower *l)
{
    Index n = list_length(l, input(l, 0));
    kernel(l, "has_element");
    store(l, output(l, 0), NULL, index_lt(l, ix(l, 0), n));
    kernel_end(l);
}

static void lower_get_element(Lower *l)
{
    ValueId from = l->n->in[0];
    Tensor x = input(l, 0), y = output(l, 0);
    if (value_at(l->model, from)->kind != TYPE_OPTIONAL) {
        copy_tensor(l, y, x);
        return;
    }
    check(l, index_eq(l, list_length(l, x), ix(l, 1)), "OptionalGetElement: the optional is empty");
    list_take(l, y, x, number(l, ix(l, 0)));
}

const OpDef ops_optional[] = {
    {"Optional", 15, infer_optional, lower_optional, {NULL}, NULL},
    {"OptionalHasElement", 15, infer_has_element, lower_has_element, {NULL}, NULL},
    {"OptionalGetElement", 15, infer_get_element, lower_get_element, {NULL}, NULL},
    {0},
};
