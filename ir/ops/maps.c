// Maps of ai.onnx.ml: DictVectorizer, CastMap, ZipMap.
//
// A row of one sample is what ONNX Runtime gives for a map, a vector what the specification says:
// the output's declaration decides which.

#include "ir/ops/common.h"
#include "ir/ops/lists.h"

static uint32_t declared_rank(Infer *s, uint32_t otherwise)
{
    const Type *t = s->n->out[0] ? value_at(s->model, s->n->out[0])->declared : NULL;
    bool says = t && t->kind == TYPE_TENSOR && t->has_shape && (t->rank == 1 || t->rank == 2);
    return says ? t->rank : otherwise;
}

static void infer_vector(Infer *s, DType t, Index n, uint32_t rank)
{
    Index dims[2] = {poly_const(s->polys, 1), n};
    infer_dtype(s, 0, t);
    infer_shape(s, 0, rank, rank == 2 ? dims : dims + 1);
}

// A tensor of any shape seen as one of n elements: the same elements, in a buffer of its own.
static void copy_flat(Lower *l, Tensor y, Tensor x)
{
    Index o[MAX_RANK] = {0}, at[1] = {0};
    kernel(l, "copy");
    par_all(l, y, o);
    at[0] = ix_linear(l, y.rank, y.dims, o);
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// ---- keys of attributes

typedef struct Keys {
    DType dtype; // DT_NONE: neither or both are given
    uint32_t n;
    const void *at;
} Keys;

static Keys keys_of(const Node *n, const char *strings, const char *ints)
{
    const Attr *s = attr_find(n, strings), *i = attr_find(n, ints);
    bool has_strings = s && s->nstrings, has_ints = i && i->nints;
    if (has_strings == has_ints)
        return (Keys){DT_NONE, 0, NULL};
    return has_strings ? (Keys){DT_STRING, s->nstrings, s->strings}
                       : (Keys){DT_I64, i->nints, i->ints};
}

static bool keys_fit(Lower *l, Keys keys, DType wanted)
{
    if (keys.dtype != DT_NONE && (wanted == DT_NONE || keys.dtype == wanted))
        return true;
    not_supported(l, "%.*s with keys of dtype %s for a map of %s",
                  STR_ARG(str_escaped(l->arena, l->n->op)), dtype_name(keys.dtype),
                  dtype_name(wanted));
    return false;
}

static DType key_of(Lower *l, ValueId v)
{
    const Type *t = value_at(l->model, v)->type;
    return t && t->kind == TYPE_MAP ? (DType)t->elem : DT_NONE;
}

// ---- DictVectorizer-1: what the map has for each word of the vocabulary.

static Keys vocabulary(const Node *n)
{
    return keys_of(n, "string_vocabulary", "int64_vocabulary");
}

static void infer_dict_vectorizer(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (x && x->dtype != DT_NONE)
        infer_vector(s, x->dtype, poly_const(s->polys, vocabulary(s->n).n), declared_rank(s, 1));
}

static void lower_dict_vectorizer(Lower *l)
{
    Keys keys = vocabulary(l->n);
    Tensor y = output(l, 0);
    if (!keys_fit(l, keys, key_of(l, l->n->in[0])))
        return;
    Tensor reads[2] = {input(l, 0), table(l, "vocabulary", keys.dtype, keys.n, keys.at)};
    Tensor found = temp(l, "found", y.dtype, 1, &y.dims[y.rank - 1]);
    step_call(l, "map_look_up", 2, reads, 1, &found, 0, NULL);
    copy_flat(l, y, found);
}

// ---- CastMap-1: the values in the order of their keys, or (SPARSE) each at its key.

static bool is_sparse(const Node *n)
{
    return str_is(node_str(n, "map_form", "DENSE"), "SPARSE");
}

static void infer_cast_map(Infer *s)
{
    Str to = node_str(s->n, "cast_to", "TO_FLOAT");
    DType t = str_is(to, "TO_FLOAT")    ? DT_F32
              : str_is(to, "TO_STRING") ? DT_STRING
              : str_is(to, "TO_INT64")  ? DT_I64
                                        : DT_NONE;
    int64_t max = node_int(s->n, "max_map", 1);
    Str form = node_str(s->n, "map_form", "DENSE");
    if (t == DT_NONE || (!is_sparse(s->n) && !str_is(form, "DENSE")))
        infer_error(s, "cast_to \"%.*s\" with map_form \"%.*s\"",
                    STR_ARG(str_escaped(s->arena, to)), STR_ARG(str_escaped(s->arena, form)));
    else if (is_sparse(s->n) && max < 0)
        infer_error(s, "max_map is %lld", (long long)max);
    else
        infer_vector(
            s, t, is_sparse(s->n) ? poly_const(s->polys, max) : infer_data_dim(s, 0, 0, "entries"),
            declared_rank(s, 2));
}

static void lower_cast_map(Lower *l)
{
    Tensor map = input(l, 0), y = output(l, 0);
    Index n = y.dims[y.rank - 1], sparse = ix(l, is_sparse(l->n));
    DType t = value_at(l->model, l->n->in[0])->dtype;
    if (key_of(l, l->n->in[0]) != DT_I64) {
        not_supported(l, "CastMap of a map whose keys are not int64");
        return;
    }
    if (!is_sparse(l->n)) {
        Tensor size = temp(l, "entries", DT_I64, 0, NULL);
        Index dtype = ix(l, t);
        step_call(l, "map_size", 1, &map, 1, &size, 1, &dtype);
        define_dim(l, n, to_index(l, load(l, size, NULL)));
    }
    Tensor writes[2] = {temp(l, "values", t, 1, &n), temp(l, "present", DT_BOOL, 1, &n)};
    step_call(l, "map_spread", 1, &map, 2, writes, 1, &sparse);
    Tensor all = temp(l, "cast", y.dtype, 1, &n);
    Index o[1] = {0};
    if (t == DT_STRING && y.dtype != DT_STRING) { // places without an entry hold no number
        Tensor text = temp(l, "text", DT_STRING, 1, &n);
        kernel(l, "pad");
        par_all(l, text, o);
        store(l, text, o,
              select_(l, load(l, writes[1], o), load(l, writes[0], o), string_(l, STR("0"))));
        kernel_end(l);
        writes[0] = text;
    }
    cast_tensor(l, all, writes[0], true);
    copy_flat(l, y, all);
}

// ---- ZipMap-1: a map for each row of a matrix.

static Keys labels(const Node *n)
{
    return keys_of(n, "classlabels_strings", "classlabels_int64s");
}

static void infer_zip_map(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Keys keys = labels(s->n);
    Index n = poly_const(s->polys, keys.n);
    if (keys.dtype == DT_NONE) {
        infer_error(s, "one of classlabels_strings and classlabels_int64s has to be given");
        return;
    }
    if (x && x->rank > 0 && !infer_require(s, infer_dim(s, 0, -1), n))
        infer_error(s, "the number of columns is not that of the %u keys", keys.n);
    Type *map = (Type *)(uintptr_t)type_around(s->arena, TYPE_MAP, type_tensor(s->arena, DT_F32));
    map->elem = (int32_t)keys.dtype;
    map->has_elem = true;
    infer_list(s, s->n->out[0], type_around(s->arena, TYPE_SEQUENCE, map), (Item){1, &n});
}

static void lower_zip_map(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Keys keys = labels(l->n);
    if (!keys_fit(l, keys, DT_NONE))
        return;
    if (x.rank < 1 || x.rank > 2 || x.dtype != DT_F32) {
        not_supported(l, "ZipMap of a tensor of rank %u and dtype %s", x.rank, dtype_name(x.dtype));
        return;
    }
    Index dims[2] = {x.rank == 2 ? x.dims[0] : ix(l, 1), x.dims[x.rank - 1]}, o[2] = {0};
    Tensor rows = temp(l, "rows", x.dtype, 2, dims);
    kernel(l, "rows");
    par_all(l, rows, o);
    store(l, rows, o, load(l, x, x.rank == 2 ? o : o + 1));
    kernel_end(l);
    Tensor reads[2] = {table(l, "keys", keys.dtype, keys.n, keys.at), rows};
    step_call(l, "map_rows", 2, reads, 1, &y, 0, NULL);
}

const OpDef ops_maps[] = {
    {"DictVectorizer", 1, infer_dict_vectorizer, lower_dict_vectorizer, {NULL}, "ai.onnx.ml"},
    {"CastMap", 1, infer_cast_map, lower_cast_map, {NULL}, "ai.onnx.ml"},
    {"ZipMap", 1, infer_zip_map, lower_zip_map, {NULL}, "ai.onnx.ml"},
    {0},
};
