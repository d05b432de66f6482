// Sequences of tensors: made, taken apart, joined, mapped.

#include "ir/ops/control.h"
#include "ir/ops/lists.h"

// ---- shape rules

// A rank that the declaration of a value says, where nothing else does.
static Item declared_item(Infer *s, ValueId v, Item item)
{
    const Type *t = value_at(s->model, v)->declared;
    if (item.rank >= 0 || !t || t->kind != TYPE_TENSOR || !t->has_shape || t->rank > MAX_RANK)
        return item;
    Item declared = {(int32_t)t->rank, NEWS(s->arena, Index, t->rank)};
    for (uint32_t i = 0; i < t->rank; i++)
        declared.dims[i] = dim_varies(s->model);
    return declared;
}

void infer_take(Infer *s, ValueId v, const Type *type, Item item)
{
    if (!v || !type)
        return;
    if (type->kind == TYPE_TENSOR)
        infer_taken(s, v, type_leaf(type), declared_item(s, v, item));
    else
        infer_list(s, v, type, item);
}

static ValueId result(Infer *s, uint32_t o)
{
    return o < s->n->nout ? s->n->out[o] : 0;
}

// Output 0 is a sequence of these, known one by one.
static void infer_sequence_of(Infer *s, const Type *type, uint32_t n, const Item *items)
{
    Item all = item_none();
    for (uint32_t i = 0; i < n; i++)
        item_join(s->model, &all, items[i]);
    infer_list(s, result(s, 0), type, all);
    infer_items(s, 0, n, items);
}

static void infer_construct(Infer *s)
{
    const Value *first = infer_in(s, 0);
    Item *items = NEWS(s->arena, Item, s->n->nin);
    if (!first || first->dtype == DT_NONE)
        return;
    for (uint32_t i = 0; i < s->n->nin; i++)
        items[i] = item_of(infer_in(s, i));
    infer_sequence_of(s, type_around(s->arena, TYPE_SEQUENCE, type_tensor(s->arena, first->dtype)),
                      s->n->nin, items);
}

static void infer_empty(Infer *s)
{
    int64_t t = node_int(s->n, "dtype", DT_F32);
    if (t <= 0 || t >= DT_COUNT) {
        infer_error(s, "dtype %lld is none", (long long)t);
        return;
    }
    infer_sequence_of(s, type_around(s->arena, TYPE_SEQUENCE, type_tensor(s->arena, (DType)t)), 0,
                      NULL);
}

// Where input i points in a list of n: a number of `places`, or -1 where that is not known (then
// *known is false) or out of range.
static int64_t known_position(Infer *s, uint32_t i, int64_t n, int64_t places, bool *known)
{
    uint32_t len;
    int64_t at;
    const Index *content = infer_content(s, i, &len);
    *known = content && len == 1 && poly_is_const(content[0], &at);
    if (!*known)
        return -1;
    if (at < -n || at >= places) {
        infer_error(s, "position %lld is out of range for a sequence of %lld", (long long)at,
                    (long long)n);
        return -1;
    }
    return at < 0 ? at + n : at;
}

static void infer_insert(Infer *s)
{
    const Value *list = infer_in(s, 0), *x = infer_in(s, 1);
    if (!list || list->kind != TYPE_SEQUENCE || !x)
        return;
    Item all = item_of(list);
    item_join(s->model, &all, item_of(x));
    bool known = true;
    const Type *type = list->type;
    uint32_t n = list->nitems;
    int64_t at = n;
    if (list->items && infer_in(s, 2))
        at = known_position(s, 2, n, (int64_t)n + 1, &known);
    if (!list->items || !known || at < 0 || n >= MAX_ITEMS) {
        infer_list(s, result(s, 0), type, all);
        return;
    }
    Item *items = NEWS(s->arena, Item, n + 1);
    for (uint32_t i = 0; i <= n; i++)
        items[i] = i == at ? item_of(x) : list->items[i - (i > at)];
    infer_sequence_of(s, type, n + 1, items);
}

static void infer_erase(Infer *s)
{
    const Value *list = infer_in(s, 0);
    if (!list || list->kind != TYPE_SEQUENCE)
        return;
    bool known = true;
    uint32_t n = list->nitems;
    int64_t at = (int64_t)n - 1;
    if (list->items && infer_in(s, 1))
        at = known_position(s, 1, n, n, &known);
    else if (list->items && n == 0)
        infer_error(s, "the sequence is empty");
    if (!list->items || !known || at < 0) {
        infer_list(s, result(s, 0), list->type, item_of(list));
        return;
    }
    Item *items = NEWS(s->arena, Item, n);
    for (uint32_t i = 0; i + 1 < n; i++)
        items[i] = list->items[i + (i >= at)];
    infer_sequence_of(s, list->type, n - 1, items);
}

static void infer_at(Infer *s)
{
    const Value *list = infer_in(s, 0);
    if (!list || list->kind != TYPE_SEQUENCE)
        return;
    bool known = false;
    Item item = item_of(list);
    int64_t at = list->items ? known_position(s, 1, list->nitems, list->nitems, &known) : -1;
    if (known && at < 0)
        return;
    infer_take(s, result(s, 0), list->type->sub, known ? list->items[at] : item);
}

static void infer_length(Infer *s)
{
    const Value *list = infer_in(s, 0);
    infer_shape(s, 0, 0, NULL);
    if (!list || list->kind != TYPE_SEQUENCE)
        return;
    Index n = list->items ? poly_const(s->polys, list->nitems) : infer_data_dim(s, 0, 0, "length");
    infer_set_content(s, 0, 1, &n);
}

// ---- SplitToSequence

// The sizes of the parts along the axis, where they are known: how many, or -1.
static int64_t known_parts(Infer *s, Index size, int64_t *parts)
{
    uint32_t n;
    int64_t total, each = 1, sum = 0;
    const Index *content = infer_content(s, 1, &n);
    bool sized = poly_is_const(size, &total);
    if (infer_in(s, 1) && (!content || infer_rank(s, 1) < 0))
        return -1;
    if (!infer_in(s, 1) || infer_rank(s, 1) == 0) {
        if (content && !poly_is_const(content[0], &each))
            return -1;
        if (each <= 0) {
            infer_error(s, "parts of size %lld", (long long)each);
            return -1;
        }
        int64_t count = sized ? total / each + (total % each != 0) : MAX_ITEMS + 1;
        for (int64_t i = 0; i < count && count <= MAX_ITEMS; i++)
            parts[i] = i + 1 < count ? each : total - each * i;
        return count <= MAX_ITEMS ? count : -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t part;
        if (n > MAX_ITEMS || !poly_is_const(content[i], &part))
            return -1;
        if (part < 0 || part > INT64_MAX - sum) {
            infer_error(s, "split[%u] is %lld", i, (long long)part);
            return -1;
        }
        sum += parts[i] = part;
    }
    if (sized && sum != total) {
        infer_error(s, "the parts have %lld in all, but the axis has %lld", (long long)sum,
                    (long long)total);
        return -1;
    }
    return n;
}

// The size that every part has, however many they are, or NULL: parts of one element each, sizes
// that are one, or a tensor of any length that is filled with one.
static Index size_of_any_part(Infer *s)
{
    uint32_t n;
    const Value *split = infer_in(s, 1);
    const Index *content = infer_content(s, 1, &n);
    if (!split)
        return poly_const(s->polys, 1);
    if (content && n > 0) {
        for (uint32_t i = 1; i < n; i++)
            if (content[i] != content[0])
                return NULL;
        return split->rank == 1 || poly_equals(content[0], 1) ? content[0] : NULL;
    }
    const Node *fill = split->def == DEF_NODE ? node_at(s->model, split->node) : NULL;
    const Attr *value = fill && node_is(fill, "ConstantOfShape") ? attr_find(fill, "value") : NULL;
    Str error;
    const void *at = value && value->t ? tensor_elements(s->model, value->t, &error) : NULL;
    if (!at || tensor_count(value->t) != 1 || split->rank != 1 ||
        !dtype_is_integer((DType)value->t->dtype))
        return NULL;
    int64_t each = scalar_load((DType)value->t->dtype, at).i;
    return each >= 0 ? poly_const(s->polys, each) : NULL;
}

// What one part is: `size` along the axis, or without that axis (NULL).
static Item part_of(Infer *s, const Value *x, int64_t axis, Index size)
{
    Item item = {x->rank - !size, NEWS(s->arena, Index, x->rank)};
    for (int32_t i = 0, k = 0; i < x->rank; i++)
        if (i != axis || size)
            item.dims[k++] = i == axis ? size : x->dims[i];
    return item;
}

static void infer_split(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (!x || x->dtype == DT_NONE)
        return;
    const Type *type = type_around(s->arena, TYPE_SEQUENCE, type_tensor(s->arena, x->dtype));
    if (x->rank < 0) {
        infer_list(s, result(s, 0), type, (Item){-1, NULL});
        return;
    }
    int64_t parts[MAX_ITEMS], axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank);
    if (axis < 0)
        return;
    bool drops = !infer_in(s, 1) && node_int(s->n, "keepdims", 1) == 0;
    int64_t n = known_parts(s, x->dims[axis], parts);
    if (s->failed)
        return;
    if (n < 0) {
        Index any = size_of_any_part(s);
        Index size = drops ? NULL : any ? any : dim_varies(s->model);
        infer_list(s, result(s, 0), type, part_of(s, x, axis, size));
        return;
    }
    Item *items = NEWS(s->arena, Item, n);
    for (int64_t i = 0; i < n; i++)
        items[i] = part_of(s, x, axis, drops ? NULL : poly_const(s->polys, parts[i]));
    infer_sequence_of(s, type, (uint32_t)n, items);
}

// ---- ConcatFromSequence

static void infer_concat(Infer *s)
{
    const Value *list = infer_in(s, 0);
    Index dims[MAX_RANK + 1] = {0};
    if (!list || list->kind != TYPE_SEQUENCE || !result(s, 0))
        return;
    infer_dtype(s, 0, list->dtype);
    bool stacks = node_int(s->n, "new_axis", 0) != 0;
    if (list->items && list->nitems == 0) {
        infer_error(s, "the sequence is empty");
        return;
    }
    Item item = item_of(list);
    if (item.rank < 0) {
        Item declared = declared_item(s, result(s, 0), item);
        item = (Item){declared.rank - stacks, declared.dims};
    }
    int32_t rank = item.rank + stacks;
    if (item.rank < 0 || rank > MAX_RANK)
        return;
    if (rank == 0) {
        infer_error(s, "scalars need a new axis");
        return;
    }
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 0), rank);
    if (axis < 0)
        return;
    Index sum = poly_const(s->polys, stacks ? list->nitems : 0);
    for (uint32_t i = 0; list->items && !stacks && i < list->nitems; i++)
        sum = poly_add(s->polys, sum, list->items[i].dims[axis]);
    for (int32_t i = 0; i < rank; i++) {
        int32_t from = i - (stacks && i > axis);
        if (i == axis)
            dims[i] = list->items ? sum : infer_data_dim(s, 0, (uint32_t)i, "joined");
        else
            dims[i] = dim_is_varied(s->model, item.dims[from])
                          ? infer_data_dim(s, 0, (uint32_t)i, "joined")
                          : item.dims[from];
    }
    infer_shape(s, 0, (uint32_t)rank, dims);
}

// ---- SequenceMap

// What the body sees of input i: an item of a sequence, or a tensor whole.
static void map_in(Infer *s, uint32_t i, ValueId inner)
{
    const Value *v = infer_in(s, i);
    if (!v)
        return;
    if (v->kind == TYPE_SEQUENCE)
        infer_take(s, inner, v->type->sub, item_of(v));
    else if (kind_is_list(v->kind))
        infer_list(s, inner, v->type, item_of(v));
    else
        infer_value(s, inner, v->dtype, v->rank, v->dims);
}

static void infer_map(Infer *s)
{
    GraphId g = node_graph(s->n, "body");
    const Value *first = infer_in(s, 0);
    if (!g || !first)
        return;
    const Graph *body = graph_at(s->model, g);
    if (body->inputs.len != s->n->nin || body->outputs.len < s->n->nout) {
        infer_error(s, "the body has %u inputs and %u outputs for %u and %u", body->inputs.len,
                    body->outputs.len, s->n->nin, s->n->nout);
        return;
    }
    for (uint32_t i = 0; i < s->n->nin; i++)
        map_in(s, i, body->inputs.at[i].value);
    infer_graph(s, g);
    if (infer_body_fails(s, g))
        return;
    for (uint32_t o = 0; o < s->n->nout; o++) {
        const Value *y = value_at(s->model, graph_at(s->model, g)->outputs.at[o].value);
        const Type *type = value_type(s->arena, y);
        if (type)
            infer_list(s, result(s, o), type_around(s->arena, TYPE_SEQUENCE, type),
                       item_outside(s, item_of(y), g));
    }
}

// ---- lowering

static void store_empty(Lower *l, Tensor list)
{
    kernel(l, "empty");
    store(l, list, NULL, expr_const(l->module, DT_OBJECT, (Scalar){.i = 0}));
    kernel_end(l);
}

static void lower_construct(Lower *l)
{
    Tensor *items = NEWS(l->arena, Tensor, l->n->nin);
    for (uint32_t i = 0; i < l->n->nin; i++) {
        items[i] = input(l, i);
        if (items[i].dtype != items[0].dtype) {
            not_supported(l, "SequenceConstruct of tensors of several dtypes");
            return;
        }
    }
    list_of(l, output(l, 0), l->n->nin, items);
}

static void lower_empty(Lower *l)
{
    store_empty(l, output(l, 0));
}

static void lower_insert(Lower *l)
{
    Tensor reads[3] = {input(l, 0), input(l, 1)}, y = output(l, 0);
    if (reads[1].dtype != value_at(l->model, l->n->in[0])->dtype) {
        not_supported(l, "SequenceInsert of a tensor of another dtype than the sequence's");
        return;
    }
    if (has_input(l, 2))
        reads[2] = position_of(l, 2);
    step_call(l, has_input(l, 2) ? "list_insert" : "list_append", has_input(l, 2) ? 3 : 2, reads, 1,
              &y, 0, NULL);
}

static void lower_erase(Lower *l)
{
    Tensor reads[2] = {input(l, 0), has_input(l, 1) ? position_of(l, 1) : number(l, ix(l, -1))};
    Tensor y = output(l, 0);
    step_call(l, "list_erase", 2, reads, 1, &y, 0, NULL);
}

static void lower_at(Lower *l)
{
    Tensor list = input(l, 0);
    list_take(l, output(l, 0), list, position_of(l, 1));
}

static void lower_length(Lower *l)
{
    const Value *y = value_at(l->model, l->n->out[0]);
    Index n = list_length(l, input(l, 0));
    if (y->content)
        define_dim(l, y->content[0], n);
    kernel(l, "length");
    store(l, output(l, 0), NULL, from_index(l, y->content ? y->content[0] : n, DT_I64));
    kernel_end(l);
}

// The sizes of the parts as int64.
static Tensor split_sizes(Lower *l)
{
    const int64_t one_ = 1;
    Index o[MAX_RANK] = {0};
    if (!has_input(l, 1))
        return table(l, "split", DT_I64, 1, &one_);
    Tensor x = input(l, 1), sizes = temp(l, "split", DT_I64, x.rank, x.dims);
    kernel(l, "split");
    par_all(l, sizes, o);
    store(l, sizes, o, cast(l, DT_I64, load(l, x, o)));
    kernel_end(l);
    return sizes;
}

static void lower_split(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), reads[2] = {x, split_sizes(l)};
    int64_t axis = node_int(l->n, "axis", 0);
    bool alike = !has_input(l, 1) || input(l, 1).rank == 0;
    bool drops = !has_input(l, 1) && node_int(l->n, "keepdims", 1) == 0;
    if (axis < -(int64_t)x.rank || axis >= (int64_t)x.rank) {
        not_supported(l, "SplitToSequence along axis %lld of rank %u", (long long)axis, x.rank);
        return;
    }
    Index numbers[3] = {ix(l, axis < 0 ? axis + x.rank : axis), ix(l, alike), ix(l, drops)};
    step_call(l, "list_split", 2, reads, 1, &y, 3, numbers);
}

static void lower_concat(Lower *l)
{
    Tensor list = input(l, 0), y = output(l, 0);
    int64_t axis = node_int(l->n, "axis", 0);
    bool stacks = node_int(l->n, "new_axis", 0) != 0;
    Index rank = ix(l, y.rank);
    Index numbers[3] = {ix(l, axis < 0 ? axis + y.rank : axis), ix(l, stacks), ix(l, y.dtype)};
    Tensor reads[2] = {list, temp(l, "dims", DT_I64, 1, &rank)};
    step_call(l, "list_joined_dims", 1, &list, 1, &reads[1], 3, numbers);
    for (uint32_t i = 0; i < y.rank; i++) {
        Index at = ix(l, i);
        define_dim(l, y.dims[i], to_index(l, load(l, reads[1], &at)));
    }
    step_call(l, "list_join", 2, reads, 1, &y, 2, numbers);
}

// What the body reads of input i in iteration t.
static void lower_map_in(Lower *l, uint32_t i, ValueId inner, Index t)
{
    Tensor x = input(l, i);
    if (value_at(l->model, l->n->in[i])->kind == TYPE_SEQUENCE)
        list_take(l, tensor_of_value(l, inner), x, number(l, t));
    else
        bind_value(l, inner, x);
}

// SequenceMap-17: the body once for each item of the first sequence, results gathered in order.
static void lower_map(Lower *l)
{
    GraphId g = node_graph(l->n, "body");
    const Graph *body = g ? graph_at(l->model, g) : NULL;
    if (!body || body->inputs.len != l->n->nin || body->outputs.len < l->n->nout ||
        !is_list(l, l->n->in[0])) {
        not_supported(l, "SequenceMap whose body has other inputs or outputs than the node");
        return;
    }
    Index n = list_length(l, input(l, 0));
    for (uint32_t i = 1; i < l->n->nin; i++)
        if (value_at(l->model, l->n->in[i])->kind == TYPE_SEQUENCE)
            check(l, index_eq(l, n, list_length(l, input(l, i))),
                  "SequenceMap: the sequences have different lengths");
    for (uint32_t o = 0; o < l->n->nout; o++)
        if (has_output(l, o))
            store_empty(l, output(l, o));
    Index t = step_loop(l, n);
    for (uint32_t i = 0; i < l->n->nin; i++) {
        ValueId inner = body->inputs.at[i].value;
        const Value *v = value_at(l->model, inner);
        if (!is_list(l, inner) && v->rank < 0) {
            not_supported(l, "SequenceMap over a sequence of items of unknown rank (input %u)", i);
            return;
        }
        lower_map_in(l, i, inner, t);
    }
    lower_graph(l, g);
    for (uint32_t o = 0; o < l->n->nout; o++) {
        Tensor y = tensor_of_value(l, graph_at(l->model, g)->outputs.at[o].value);
        if (has_output(l, o) && y.buffer)
            list_append(l, output(l, o), y);
    }
    step_end(l);
}

const OpDef ops_sequence[] = {
    {"SequenceConstruct", 11, infer_construct, lower_construct, {NULL}, NULL},
    {"SequenceEmpty", 11, infer_empty, lower_empty, {NULL}, NULL},
    {"SequenceInsert", 11, infer_insert, lower_insert, {NULL}, NULL},
    {"SequenceErase", 11, infer_erase, lower_erase, {NULL}, NULL},
    {"SequenceAt", 11, infer_at, lower_at, {NULL}, NULL},
    {"SequenceLength", 11, infer_length, lower_length, {NULL}, NULL},
    {"SplitToSequence", 11, infer_split, lower_split, {NULL}, NULL},
    {"ConcatFromSequence", 11, infer_concat, lower_concat, {NULL}, NULL},
    {"SequenceMap", 17, infer_map, lower_map, {NULL}, NULL},
    {0},
};
