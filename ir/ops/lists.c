// Lowering of what looks inside lists: calls of runtime/cameo_objects.h and cameo_sequences.h.

#include "ir/ops/lists.h"
#include "ir/lower_state.h"

bool is_list(Lower *l, ValueId v)
{
    return v && kind_is_list(value_at(l->model, v)->kind);
}

Tensor object_temp(Lower *l, const char *name)
{
    return temp(l, name, DT_OBJECT, 0, NULL);
}

static Tensor int_buffer(Lower *l, const char *name, uint32_t rank, const Index *dims)
{
    return temp(l, name, DT_I64, rank, dims);
}

static void store_number(Lower *l, Tensor to, const Expr *value)
{
    kernel(l, "number");
    store(l, to, NULL, value);
    kernel_end(l);
}

Tensor number(Lower *l, Index value)
{
    Tensor to = int_buffer(l, "number", 0, NULL);
    store_number(l, to, from_index(l, value, DT_I64));
    return to;
}

Tensor position_of(Lower *l, uint32_t i)
{
    Tensor to = int_buffer(l, "position", 0, NULL), x = input(l, i);
    Index at[MAX_RANK] = {0};
    for (uint32_t k = 0; k < x.rank; k++) {
        at[k] = ix(l, 0);
        if (!poly_equals(x.dims[k], 1))
            check(l, index_eq(l, x.dims[k], ix(l, 1)), "%.*s: the position is no scalar",
                  STR_ARG(str_escaped(l->arena, l->n->op)));
    }
    store_number(l, to, cast(l, DT_I64, load(l, x, at)));
    return to;
}

void list_of(Lower *l, Tensor list, uint32_t n, const Tensor *items)
{
    step_call(l, "list_of", n, items, 1, &list, 0, NULL);
}

void list_append(Lower *l, Tensor list, Tensor item)
{
    Tensor reads[2] = {list, item};
    step_call(l, "list_append", 2, reads, 1, &list, 0, NULL);
}

Index list_length(Lower *l, Tensor list)
{
    Tensor length = int_buffer(l, "length", 0, NULL);
    step_call(l, "list_length", 1, &list, 1, &length, 0, NULL);
    return to_index(l, load(l, length, NULL));
}

static bool any_data_dim(Lower *l, Tensor y)
{
    for (uint32_t i = 0; i < y.rank; i++)
        if (!poly_is_const(y.dims[i], NULL))
            return true;
    (void)l;
    return false;
}

void list_take(Lower *l, Tensor y, Tensor list, Tensor position)
{
    Tensor reads[2] = {list, position};
    Index rank = ix(l, y.rank), dtype = ix(l, y.dtype);
    if (y.dtype != DT_OBJECT && any_data_dim(l, y)) {
        Tensor dims = int_buffer(l, "dims", 1, &rank);
        step_call(l, "list_dims", 2, reads, 1, &dims, 1, &dtype);
        for (uint32_t i = 0; i < y.rank; i++) {
            Index at = ix(l, i);
            define_dim(l, y.dims[i], to_index(l, load(l, dims, &at)));
        }
    }
    step_call(l, "list_get", 2, reads, 1, &y, 0, NULL);
}

Tensor list_fit(Lower *l, ValueId to, ValueId from, Tensor x)
{
    const Value *y = value_at(l->model, to), *v = value_at(l->model, from);
    if (!x.buffer || y->kind == v->kind)
        return x;
    Tensor fitted;
    if (y->kind == TYPE_OPTIONAL) {
        fitted = object_temp(l, "optional");
        list_of(l, fitted, 1, &x);
        return fitted;
    }
    if (v->kind != TYPE_OPTIONAL || y->rank > MAX_RANK || (!is_list(l, to) && y->rank < 0))
        return (Tensor){0};
    check(l, index_eq(l, list_length(l, x), ix(l, 1)), "%.*s: the optional is empty",
          STR_ARG(str_escaped(l->arena, l->n->op)));
    if (is_list(l, to)) {
        fitted = object_temp(l, "element");
    } else {
        Index dims[MAX_RANK] = {0};
        for (int32_t i = 0; i < y->rank; i++)
            dims[i] = poly_is_const(y->dims[i], NULL)
                          ? y->dims[i]
                          : poly_dim(l->polys, dim_new(l->polys, STR("element"), 0));
        fitted = temp(l, "element", y->dtype, (uint32_t)y->rank, dims);
    }
    list_take(l, fitted, x, number(l, ix(l, 0)));
    return fitted;
}
