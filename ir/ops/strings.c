// Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch. What they do
// to the bytes is in runtime/cameo_strings.h and the files beside it.

#include "ir/ops/common.h"
#include "runtime/cameo_regex.h"

// A buffer of one int64 that a call writes.
static Tensor number(Lower *l, const char *name)
{
    return temp(l, name, DT_I64, 0, NULL);
}

static Tensor table_of_one(Lower *l, const char *name, Str s)
{
    return table(l, name, DT_STRING, 1, &s);
}

// ---- StringConcat

static void lower_string_concat(Lower *l)
{
    Tensor x[2] = {input(l, 0), input(l, 1)}, y = output(l, 0);
    step_call(l, "string_concat", 2, x, 1, &y, 0, NULL);
}

// ---- StringSplit

static void infer_string_split(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK + 1] = {0};
    if (!x || x->rank < 0 || x->rank >= MAX_RANK)
        return;
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    dims[x->rank] = infer_data_dim(s, 0, (uint32_t)x->rank, "pieces");
    infer_shape(s, 0, (uint32_t)x->rank + 1, dims);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
    infer_dtype(s, 1, DT_I64);
}

static void lower_string_split(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), z = output(l, 1);
    Index splits = ix(l, node_has_attr(l->n, "maxsplit") ? node_int(l->n, "maxsplit", -1) : -1);
    Tensor reads[2] = {x, table_of_one(l, "delimiter", node_str(l->n, "delimiter", ""))};
    Tensor writes[2] = {z.buffer ? z : temp(l, "pieces", DT_I64, x.rank, x.dims),
                        number(l, "most")};
    step_call(l, "string_split_sizes", 2, reads, 2, writes, 1, &splits);
    if (!y.buffer)
        return;
    define_dim(l, y.dims[x.rank], to_index(l, load(l, writes[1], NULL)));
    step_call(l, "string_split", 2, reads, 1, &y, 1, &splits);
}

// ---- StringNormalizer

static void infer_string_normalizer(Infer *s)
{
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0)
        return;
    if (x->rank != 1 && x->rank != 2) {
        infer_error(s, "its input has rank %d, not 1 or 2", (int)x->rank);
        return;
    }
    Index dims[2] = {poly_const(s->polys, 1), infer_data_dim(s, 0, (uint32_t)x->rank - 1, "words")};
    if (x->rank == 2)
        infer_require(s, x->dims[0], dims[0]);
    infer_shape(s, 0, (uint32_t)x->rank, x->rank == 2 ? dims : dims + 1);
}

static void lower_string_normalizer(Lower *l)
{
    static const char *const actions[] = {"NONE", "LOWER", "UPPER"};
    const Attr *stop = attr_find(l->n, "stopwords");
    Str action = node_str(l->n, "case_change_action", "NONE");
    int change = 0;
    while (change < 3 && !str_is(action, actions[change]))
        change++;
    if (change == 3) {
        not_supported(l, "StringNormalizer with case_change_action \"%.*s\"",
                      STR_ARG(str_escaped(l->arena, action)));
        return;
    }
    Index how[2] = {ix(l, change), ix(l, node_int(l->n, "is_case_sensitive", 0) != 0)};
    Tensor y = output(l, 0), count = number(l, "words");
    Tensor reads[2] = {input(l, 0), table(l, "stopwords", DT_STRING, stop ? stop->nstrings : 0,
                                          stop ? stop->strings : NULL)};
    step_call(l, "string_normalize_count", 2, reads, 1, &count, 2, how);
    define_dim(l, y.dims[y.rank - 1], to_index(l, load(l, count, NULL)));
    step_call(l, "string_normalize", 2, reads, 1, &y, 2, how);
}

// ---- RegexFullMatch

// NULL, or what is wrong with the expression.
static const char *regex_fault(Str pattern)
{
    cameo_objects *o = calloc(1, sizeof *o);
    cameo_re r = {0};
    int32_t start;
    if (!o)
        return "no memory";
    cameo_str text = {pattern.at, (int64_t)pattern.len};
    const char *fault = cameo_re_read(&r, o, text, &start);
    cameo_re_free(&r);
    cameo_objects_free(o);
    return fault;
}

static void lower_regex_full_match(Lower *l)
{
    Str pattern = node_str(l->n, "pattern", "");
    const char *fault = regex_fault(pattern);
    Tensor y = output(l, 0);
    if (fault) {
        not_supported(l, "RegexFullMatch with pattern \"%.*s\": %s",
                      STR_ARG(str_escaped(l->arena, pattern)), fault);
        return;
    }
    Tensor reads[2] = {input(l, 0), table_of_one(l, "pattern", pattern)};
    step_call(l, "string_match", 2, reads, 1, &y, 0, NULL);
}

const OpDef ops_strings[] = {
    {"StringConcat", 20, broadcast, lower_string_concat, {NULL}, NULL},
    {"StringSplit", 20, infer_string_split, lower_string_split, {NULL}, NULL},
    {"StringNormalizer", 10, infer_string_normalizer, lower_string_normalizer, {NULL}, NULL},
    {"RegexFullMatch", 20, same_as_0, lower_regex_full_match, {NULL}, NULL},
    {0},
};
