// Categories of ai.onnx.ml: LabelEncoder, CategoryMapper, OneHotEncoder.

#include "ir/ops/common.h"

#include <math.h>
#include <string.h>

// ---- LabelEncoder

// A list of constants from whichever attribute holds it.
typedef struct Labels {
    DType dtype; // DT_NONE: there is none
    uint64_t n;
    const void *at; // elements, strings: Str
} Labels;

static Labels labels_of(Model *m, const Node *n, const char *what)
{
    static const struct {
        const char *ending;
        DType dtype;
    } forms[] = {{"_strings", DT_STRING}, {"_int64s", DT_I64}, {"_floats", DT_F32}};
    char name[32];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", what, forms[i].ending);
        const Attr *a = attr_find(n, name);
        if (a && a->nstrings + a->nints + a->nfloats > 0)
            return (Labels){forms[i].dtype,
                            i == 0   ? a->nstrings
                            : i == 1 ? a->nints
                                     : a->nfloats,
                            i == 0   ? (const void *)a->strings
                            : i == 1 ? (const void *)a->ints
                                     : a->floats};
    }
    snprintf(name, sizeof name, "%s_tensor", what);
    const Attr *a = attr_find(n, name);
    Str error;
    const void *at = a && a->t ? tensor_elements(m, a->t, &error) : NULL;
    return at ? (Labels){(DType)a->t->dtype, a->t->nelements, at} : (Labels){0};
}

// Version 1 has one list of strings, whose positions are the numbers.
static bool is_version_1(const Node *n)
{
    return n->schema && n->schema->since < 2;
}

static DType encoded_dtype(Model *m, const Node *n, DType x)
{
    if (is_version_1(n))
        return x == DT_STRING ? DT_I64 : DT_STRING;
    return labels_of(m, n, "values").dtype;
}

static void infer_label_encoder(Infer *s)
{
    const Value *x = infer_in(s, 0);
    DType t = x ? encoded_dtype(s->model, s->n, x->dtype) : DT_NONE;
    same_as_0(s);
    if (t != DT_NONE)
        infer_dtype(s, 0, t);
}

static const Expr *constant(Lower *l, DType t, const void *at, uint64_t i)
{
    if (t == DT_STRING)
        return string_(l, ((const Str *)at)[i]);
    return expr_const(l->module, t, scalar_load(t, (const char *)at + i * dtype_info(t)->bytes));
}

static const Expr *default_label(Lower *l, DType t)
{
    const Attr *a = attr_find(l->n, "default_tensor");
    Str error;
    const void *at = a && a->t ? tensor_elements(l->model, a->t, &error) : NULL;
    if (at && (DType)a->t->dtype == t && a->t->nelements > 0)
        return constant(l, t, at, 0);
    if (t == DT_STRING)
        return string_(l, node_str(l->n, "default_string", "_Unused"));
    if (dtype_is_float(t))
        return num(l, t, node_float(l->n, "default_float", -0.0));
    return int_(l, t, node_int(l->n, "default_int64", -1));
}

// The position of a string among the keys, or -1. Strings that the module knows have the first
// numbers, so that a table by number answers.
static const Expr *find_string(Lower *l, const Expr *x, const Labels *keys)
{
    const Str *at = keys->at;
    for (uint64_t i = 0; i < keys->n; i++)
        module_symbol(l->module, at[i]);
    uint32_t n = l->module->symbols.len;
    int64_t *places = NEWS(l->arena, int64_t, n);
    memset(places, 0xff, n * sizeof *places);
    for (uint64_t i = 0; i < keys->n; i++)
        places[module_symbol(l->module, at[i])] = (int64_t)i;
    Tensor by_number = table(l, "places", DT_I64, n, places);
    const Expr *number = expr_bitcast(l->module, DT_I64, x);
    Index place = to_index(l, number);
    return select_(l, lt(l, number, int_(l, DT_I64, n)), load(l, by_number, &place),
                   int_(l, DT_I64, -1));
}

// The place of x among int64 keys that lie close together, by a table from the least to the
// greatest; NULL: they do not.
static const Expr *find_close(Lower *l, const Expr *x, const Labels *keys)
{
    const int64_t *at = keys->at;
    int64_t least = INT64_MAX, most = INT64_MIN, span;
    for (uint64_t i = 0; keys->dtype == DT_I64 && i < keys->n; i++) {
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
    }
    if (least > most || __builtin_sub_overflow(most, least, &span) || span / 8 > (int64_t)keys->n)
        return NULL;
    int64_t *places = NEWS(l->arena, int64_t, (size_t)span + 1);
    memset(places, 0xff, ((size_t)span + 1) * sizeof *places);
    for (uint64_t i = 0; i < keys->n; i++)
        places[at[i] - least] = (int64_t)i;
    Tensor close = table(l, "places", DT_I64, (uint64_t)span + 1, places);
    Index place = to_index(l, sub(l, x, int_(l, DT_I64, least)));
    const Expr *inside_ =
        and_(l, le(l, int_(l, DT_I64, least), x), le(l, x, int_(l, DT_I64, most)));
    return select_(l, inside_, load(l, close, &place), int_(l, DT_I64, -1));
}

// The last of the keys that x is equal to, or a negative number. From version 4 on NaN is found
// too.
static const Expr *find_number(Lower *l, const Expr *x, const Labels *keys)
{
    const Expr *close = find_close(l, x, keys);
    if (close)
        return close;
    Tensor all = table(l, "keys", keys->dtype, keys->n, keys->at);
    Index k = red(l, all.dims[0]);
    const Expr *key = load(l, all, &k), *same = eq(l, x, key);
    if (dtype_is_float(x->dtype) && l->n->schema && l->n->schema->since >= 4)
        same = or_(l, same, and_(l, unary(l, U_ISNAN, x), unary(l, U_ISNAN, key)));
    return reduce(l, R_MAX, 1, &k, same, expr_index(l->module, k));
}

// y = values[place], or the default where the place is none.
static void store_label(Lower *l, Tensor y, const Index *o, const Expr *place, Tensor values)
{
    const Expr *z = zero(l, DT_I64);
    Index at = to_index(l, place);
    store(l, y, o, select_(l, le(l, z, place), load(l, values, &at), default_label(l, y.dtype)));
}

static void lower_label_encoder_1(Lower *l, Tensor x, Tensor y)
{
    const Attr *classes = attr_find(l->n, "classes_strings");
    Labels keys = {DT_STRING, classes ? classes->nstrings : 0, classes ? classes->strings : NULL};
    Index o[MAX_RANK] = {0};
    if (x.dtype == DT_STRING) {
        kernel(l, "label_encoder");
        par_all(l, y, o);
        const Expr *place = let(l, find_string(l, load(l, x, o), &keys));
        store(l, y, o, select_(l, le(l, zero(l, DT_I64), place), place, default_label(l, DT_I64)));
    } else {
        Tensor values = table(l, "classes", DT_STRING, keys.n, keys.at);
        kernel(l, "label_encoder");
        par_all(l, y, o);
        const Expr *n = int_(l, DT_I64, (int64_t)keys.n), *place = cast(l, DT_I64, load(l, x, o));
        store_label(l, y, o, select_(l, lt(l, place, n), place, int_(l, DT_I64, -1)), values);
    }
    kernel_end(l);
}

static void lower_label_encoder(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Labels keys = labels_of(l->model, l->n, "keys"), values = labels_of(l->model, l->n, "values");
    Index o[MAX_RANK] = {0};
    if (is_version_1(l->n)) {
        lower_label_encoder_1(l, x, y);
        return;
    }
    if (keys.dtype != x.dtype || values.dtype != y.dtype || keys.n != values.n) {
        not_supported(l, "LabelEncoder with %llu keys of dtype %s and %llu values of dtype %s",
                      (unsigned long long)keys.n, dtype_name(keys.dtype),
                      (unsigned long long)values.n, dtype_name(values.dtype));
        return;
    }
    Tensor labels = table(l, "values", values.dtype, values.n, values.at);
    kernel(l, "label_encoder");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    const Expr *place =
        let(l, x.dtype == DT_STRING ? find_string(l, e, &keys) : find_number(l, e, &keys));
    store_label(l, y, o, place, labels);
    kernel_end(l);
}

// ---- CategoryMapper-1: strings to numbers, or numbers to strings, by two lists of equal length.

static void infer_category_mapper(Infer *s)
{
    const Value *x = infer_in(s, 0);
    same_as_0(s);
    if (x && x->dtype != DT_NONE)
        infer_dtype(s, 0, x->dtype == DT_STRING ? DT_I64 : DT_STRING);
}

static void lower_category_mapper(Lower *l)
{
    const Attr *ints = attr_find(l->n, "cats_int64s"), *text = attr_find(l->n, "cats_strings");
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (!ints || !text || ints->nints != text->nstrings ||
        (x.dtype != DT_STRING && x.dtype != DT_I64)) {
        not_supported(l, "CategoryMapper of %s with %u numbers and %u strings", dtype_name(x.dtype),
                      ints ? ints->nints : 0, text ? text->nstrings : 0);
        return;
    }
    Labels numbers = {DT_I64, ints->nints, ints->ints};
    Labels strings = {DT_STRING, text->nstrings, text->strings};
    const Labels *values = x.dtype == DT_STRING ? &numbers : &strings;
    Tensor to = table(l, "values", values->dtype, values->n, values->at);
    kernel(l, "category_mapper");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    const Expr *place =
        let(l, x.dtype == DT_STRING ? find_string(l, e, &strings) : find_number(l, e, &numbers));
    store_label(l, y, o, place, to);
    kernel_end(l);
}

// ---- OneHotEncoder

static Labels categories_of(const Node *n)
{
    const Attr *strings = attr_find(n, "cats_strings"), *ints = attr_find(n, "cats_int64s");
    if (strings && strings->nstrings)
        return (Labels){DT_STRING, strings->nstrings, strings->strings};
    return ints ? (Labels){DT_I64, ints->nints, ints->ints} : (Labels){0};
}

static void infer_one_hot_encoder(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK + 1] = {0};
    if (!x || x->rank < 0 || x->rank >= MAX_RANK)
        return;
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    dims[x->rank] = poly_const(s->polys, (int64_t)categories_of(s->n).n);
    infer_shape(s, 0, (uint32_t)x->rank + 1, dims);
    infer_dtype(s, 0, DT_F32);
}

static void lower_one_hot_encoder(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Labels cats = categories_of(l->n);
    Index o[MAX_RANK] = {0}, vars[MAX_RANK] = {0};
    if ((cats.dtype == DT_STRING) != (x.dtype == DT_STRING) || cats.n == 0) {
        not_supported(l, "OneHotEncoder of %s with categories of %s", dtype_name(x.dtype),
                      dtype_name(cats.dtype));
        return;
    }
    Tensor all = table(l, "categories", cats.dtype, cats.n, cats.at);
    if (node_int(l->n, "zeros", 1) == 0) {
        for (uint32_t k = 0; k < x.rank; k++)
            vars[k] = red(l, x.dims[k]);
        Index c = red(l, all.dims[0]);
        const Expr *e = load(l, x, vars);
        const Expr *known = eq(l, x.dtype == DT_STRING ? e : cast(l, DT_I64, e), load(l, all, &c));
        known = reduce(l, R_OR, 1, &c, NULL, known);
        Tensor ok = temp(l, "known", DT_BOOL, 0, NULL);
        kernel(l, "known_categories");
        store(l, ok, NULL, x.rank ? reduce(l, R_AND, x.rank, vars, NULL, known) : known);
        kernel_end(l);
        check(l, load(l, ok, NULL), "OneHotEncoder: an element that is no category");
    }
    kernel(l, "one_hot");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    e = x.dtype == DT_STRING ? e : cast(l, DT_I64, e);
    store(l, y, o, cast(l, DT_F32, eq(l, e, load(l, all, o + x.rank))));
    kernel_end(l);
}

const OpDef ops_labels[] = {
    {"LabelEncoder", 1, infer_label_encoder, lower_label_encoder, {NULL}, "ai.onnx.ml"},
    {"CategoryMapper", 1, infer_category_mapper, lower_category_mapper, {NULL}, "ai.onnx.ml"},
    {"OneHotEncoder", 1, infer_one_hot_encoder, lower_one_hot_encoder, {NULL}, "ai.onnx.ml"},
    {0},
};
