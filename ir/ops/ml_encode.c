// Labels and categories: LabelEncoder, OneHotEncoder. Spec: ai.onnx.ml 1, 2, 4.
//
// A look-up is an argument of the maximum over the keys: the place of the last one that is equal.

#include "ir/ops/ml.h"

#include <string.h>

// Keys, values or a default, from whichever attribute gives them. count 0: none does.
typedef struct Listed {
    uint32_t count;
    DType dtype;
    const void *elements; // as tensor_new takes them
} Listed;

// `prefix` with "s" for the lists ("keys_", "values_"), without for one value ("default_").
static Listed listed(Model *m, const Node *n, const char *prefix, bool list)
{
    Arena *a = m->arena;
    const char *end = list ? "s" : "";
    Str error;
    const Attr *t = attr_find(n, str_printf(a, "%stensor", prefix).at),
               *ints = attr_find(n, str_printf(a, "%sint64%s", prefix, end).at),
               *floats = attr_find(n, str_printf(a, "%sfloat%s", prefix, end).at),
               *strings = attr_find(n, str_printf(a, "%sstring%s", prefix, end).at);
    if (t && t->t) {
        const void *elements = tensor_elements(m, t->t, &error);
        uint64_t count = elements ? t->t->nelements : 0;
        return (Listed){count > INT32_MAX ? 0 : (uint32_t)count, (DType)t->t->dtype, elements};
    }
    if (ints)
        return list ? (Listed){ints->nints, DT_I64, ints->ints} : (Listed){1, DT_I64, &ints->i};
    if (floats)
        return list ? (Listed){floats->nfloats, DT_F32, floats->floats}
                    : (Listed){1, DT_F32, &floats->f};
    if (strings)
        return list ? (Listed){strings->nstrings, DT_STRING, strings->strings}
                    : (Listed){1, DT_STRING, &strings->s};
    return (Listed){0};
}

// What a key that is not listed becomes, of the values' dtype, by the schema where the node does
// not say.
static Listed default_of(Lower *l, DType t)
{
    static const Str unused = {"_Unused", 7};
    static const float negative_zero = -0.0f;
    static const double negative_zero_wide = -0.0;
    static const int64_t minus_one = -1;
    static const int32_t minus_one_32 = -1;
    static const int16_t minus_one_16 = -1;
    const Attr *a = attr_find(l->n, t == DT_STRING ? "default_string"
                                    : t == DT_F32  ? "default_float"
                                    : t == DT_I64  ? "default_int64"
                                                   : "default_tensor");
    Listed any = listed(l->model, l->n, "default_", false);
    if (any.count == 1 && any.dtype == t)
        return any;
    const void *own = a ? t == DT_STRING ? (const void *)&a->s
                          : t == DT_F32  ? (const void *)&a->f
                          : t == DT_I64  ? (const void *)&a->i
                                         : NULL
                        : NULL;
    const void *schema = t == DT_STRING ? (const void *)&unused
                         : t == DT_F32  ? (const void *)&negative_zero
                         : t == DT_F64  ? (const void *)&negative_zero_wide
                         : t == DT_I64  ? (const void *)&minus_one
                         : t == DT_I32  ? (const void *)&minus_one_32
                                        : (const void *)&minus_one_16;
    return (Listed){1, t, own ? own : schema};
}

static void infer_label_encoder(Infer *s)
{
    Listed values = listed(s->model, s->n, "values_", true);
    if (values.count)
        infer_dtype(s, 0, values.dtype);
    same_as_0(s);
}

// The place of the last key that is x, or -1. A NaN is any NaN.
static const Expr *place_of(Lower *l, Tensor keys, const Expr *x)
{
    Index k = red(l, keys.dims[0]);
    const Expr *key = ml_at(l, keys, k), *same = eq(l, x, key);
    if (dtype_is_float(x->dtype))
        same = or_(l, same, and_(l, unary(l, U_ISNAN, x), unary(l, U_ISNAN, key)));
    return reduce(l, R_MAX, 1, &k, NULL,
                  select_(l, same, expr_index(l->module, k), int_(l, DT_I64, -1)));
}

static void lower_label_encoder(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Listed keys = listed(l->model, l->n, "keys_", true),
           values = listed(l->model, l->n, "values_", true);
    Index o[MAX_RANK];
    if (keys.count == 0 || keys.count != values.count) {
        not_supported(l, "LabelEncoder with %u keys for %u values", keys.count, values.count);
        return;
    }
    if (keys.dtype != x.dtype || values.dtype != y.dtype) {
        not_supported(l, "LabelEncoder with keys of %s for an input of %s",
                      dtype_info(keys.dtype)->name, dtype_info(x.dtype)->name);
        return;
    }
    Tensor k = table(l, "keys", keys.dtype, keys.count, keys.elements),
           v = table(l, "values", values.dtype, values.count, values.elements),
           other = table(l, "default", y.dtype, 1, default_of(l, y.dtype).elements);
    kernel(l, "label_encoder");
    par_all(l, y, o);
    const Expr *at = let(l, place_of(l, k, load(l, x, o)));
    store(l, y, o,
          select_(l, lt(l, at, zero(l, DT_I64)), ml_at(l, other, ix(l, 0)),
                  ml_at(l, v, to_index(l, at))));
    kernel_end(l);
}

// Version 1: the keys are the places in classes_strings, or their values are.
static void infer_label_encoder_1(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (x && x->dtype != DT_NONE)
        infer_dtype(s, 0, x->dtype == DT_STRING ? DT_I64 : DT_STRING);
    same_as_0(s);
}

static void lower_label_encoder_1(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    const Attr *classes = attr_find(l->n, "classes_strings");
    Index o[MAX_RANK];
    if (!classes || classes->nstrings == 0) {
        not_supported(l, "LabelEncoder without classes_strings");
        return;
    }
    int64_t n = classes->nstrings;
    Tensor names = table(l, "classes", DT_STRING, classes->nstrings, classes->strings);
    kernel(l, "label_encoder");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    if (x.dtype == DT_STRING) {
        const Expr *at = let(l, place_of(l, names, e));
        const Expr *none = int_(l, DT_I64, node_int(l->n, "default_int64", -1));
        store(l, y, o, select_(l, lt(l, at, zero(l, DT_I64)), none, at));
    } else {
        const Expr *known = and_(l, le(l, zero(l, DT_I64), e), lt(l, e, int_(l, DT_I64, n)));
        store(l, y, o,
              select_(l, known, ml_at(l, names, to_index(l, e)),
                      string_(l, node_str(l->n, "default_string", "_Unused"))));
    }
    kernel_end(l);
}

// ---- OneHotEncoder
// ------------------------------------------------------------------------------------

static void infer_one_hot(Infer *s)
{
    const Value *x = infer_in(s, 0);
    uint32_t n = ml_label_count(s->n, "cats_int64s", "cats_strings");
    Index dims[MAX_RANK + 1];
    infer_dtype(s, 0, DT_F32);
    if (!x || x->rank < 0 || x->rank >= MAX_RANK)
        return;
    if (x->rank)
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = poly_const(s->polys, n);
    infer_shape(s, 0, (uint32_t)x->rank + 1, dims);
}

static void lower_one_hot(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    const Attr *strings = attr_find(l->n, "cats_strings"), *ints = attr_find(l->n, "cats_int64s");
    bool text = x.dtype == DT_STRING;
    uint32_t n = text ? (strings ? strings->nstrings : 0) : ints ? ints->nints : 0;
    Index o[MAX_RANK], vars[MAX_RANK];
    if (n == 0) {
        not_supported(l, "OneHotEncoder without categories of its input's type");
        return;
    }
    Tensor cats = text ? table(l, "categories", DT_STRING, n, strings->strings)
                       : table(l, "categories", DT_I64, n, ints->ints);
    if (!node_int(l->n, "zeros", 1)) {
        for (uint32_t k = 0; k < x.rank; k++)
            vars[k] = red(l, x.dims[k]);
        const Expr *e = load(l, x, vars);
        Index k = red(l, ix(l, n));
        const Expr *same = eq(l, text ? e : cast(l, DT_I64, e), ml_at(l, cats, k));
        const Expr *known = reduce(l, R_OR, 1, &k, NULL, same);
        check(l, reduce(l, R_AND, x.rank, vars, NULL, known),
              "OneHotEncoder: an entry is of no category");
    }
    kernel(l, "one_hot_encoder");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    const Expr *same = eq(l, text ? e : cast(l, DT_I64, e), ml_at(l, cats, o[x.rank]));
    store(l, y, o, cast(l, DT_F32, same));
    kernel_end(l);
}

const OpDef ops_ml_encode[] = {
    {"LabelEncoder", 1, infer_label_encoder_1, lower_label_encoder_1, {NULL}, ML_DOMAIN},
    {"LabelEncoder", 2, infer_label_encoder, lower_label_encoder, {NULL}, ML_DOMAIN},
    {"OneHotEncoder", 1, infer_one_hot, lower_one_hot, {NULL}, ML_DOMAIN},
    {0},
};
