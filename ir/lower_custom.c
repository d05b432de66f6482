// A node of a custom operator as a call of the C function that its contract names.
//
// Pointers take the node's inputs and outputs in order. An integer is, by its name: an attribute of
// the node; "n_x", "x_size", "x_len", "x_count": the elements of pointer parameter x; "x_dim0",
// "x_d0": its dim. Of integers that are none of these, one alone is the number of elements of the
// first output, and as many as that has dims are its dims in order.

#include "ir/contract.h"
#include "ir/lower_state.h"

#include <string.h>

static Str op_of(Lower *l)
{
    return str_printf(l->arena, "%.*s::%.*s", STR_ARG(str_escaped(l->arena, l->n->domain)),
                      STR_ARG(str_escaped(l->arena, l->n->op)));
}

// The tensor of pointer parameter i; false: it is an input that is absent.
static bool tensor_of_param(Lower *l, const CustomFunction *f, uint32_t i, Tensor *t)
{
    uint32_t k = 0;
    for (uint32_t j = 0; j < i; j++)
        k += f->params[j].kind == f->params[i].kind;
    *t = f->params[i].kind == CUSTOM_INPUT ? input(l, k) : output(l, k);
    return t->buffer != 0;
}

// Is `name` made of this pointer's name and a word for a size? The size then.
static Index size_by_name(Lower *l, const CustomFunction *f, Str name)
{
    static const char *const words[] = {"_size", "_len", "_count", "_n"};
    for (uint32_t i = 0; i < f->nparams; i++) {
        const CustomParam *p = &f->params[i];
        Tensor t;
        if ((p->kind != CUSTOM_INPUT && p->kind != CUSTOM_OUTPUT) || !p->name.len ||
            !tensor_of_param(l, f, i, &t))
            continue;
        bool counts = name.len == p->name.len + 2 && str_starts(name, "n_") &&
                      memcmp(name.at + 2, p->name.at, p->name.len) == 0;
        bool begins = name.len > p->name.len && memcmp(name.at, p->name.at, p->name.len) == 0;
        Str rest = begins ? (Str){name.at + p->name.len, name.len - p->name.len} : STR("");
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            counts |= str_is(rest, words[k]);
        if (counts)
            return ix_product(l, t.rank, t.dims);
        size_t skip = str_starts(rest, "_dim") ? 4 : str_starts(rest, "_d") ? 2 : rest.len;
        bool digit = rest.len == skip + 1 && rest.at[skip] >= '0' && rest.at[skip] <= '9';
        if (digit && (uint32_t)(rest.at[skip] - '0') < t.rank)
            return t.dims[rest.at[skip] - '0'];
    }
    return NULL;
}

static Index size_of(Lower *l, const CustomFunction *f, Str name)
{
    for (uint32_t i = 0; i < l->n->nattrs; i++)
        if (str_eq(l->n->attrs[i].name, name) && l->n->attrs[i].type == ATTR_INT)
            return ix(l, l->n->attrs[i].i);
    return size_by_name(l, f, name);
}

// The function's integers in order; false: it is not known what one is.
static bool find_sizes(Lower *l, const CustomFunction *f, Index *sizes)
{
    uint32_t n = 0, open = 0, next = 0;
    Tensor y = output(l, 0);
    for (uint32_t i = 0; i < f->nparams; i++)
        if (f->params[i].kind == CUSTOM_SIZE)
            open += (sizes[n++] = size_of(l, f, f->params[i].name)) == NULL;
    if (open > 1 && open != y.rank)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!sizes[i])
            sizes[i] = open == 1 ? ix_product(l, y.rank, y.dims) : y.dims[next++];
    return true;
}

// Dims of results that the model declares by the name of a dim of its inputs.
static bool define_dims(Lower *l, uint32_t o)
{
    Tensor y = output(l, o);
    const Value *v = value_at(l->model, l->n->out[o]);
    for (uint32_t k = 0; k < y.rank; k++) {
        if (poly_is_const(y.dims[k], NULL))
            continue;
        const DeclDim *d = v->declared && k < v->declared->rank ? &v->declared->dims[k] : NULL;
        const uint32_t *dim =
            d && d->kind == DIM_PARAM ? map_get(&l->model->dim_params, d->param) : NULL;
        if (!dim || !dim_is_input(l->model, *dim)) {
            not_supported(l, "%.*s: dim %u of output %u is neither a number nor a dim of an input",
                          STR_ARG(op_of(l)), k, o);
            return false;
        }
        define_dim(l, y.dims[k], poly_dim(l->polys, *dim));
    }
    return true;
}

static const char *param_fault(Lower *l, const CustomParam *p)
{
    for (uint32_t i = 0; p->kind == CUSTOM_FLOAT && i < l->n->nattrs; i++)
        if (str_eq(l->n->attrs[i].name, p->name) && l->n->attrs[i].type == ATTR_FLOAT)
            return NULL;
    return p->kind == CUSTOM_FLOAT   ? "the node has no such attribute"
           : p->is_vector            ? "nothing says whether sizes count elements or vectors"
           : p->kind == CUSTOM_OTHER ? "it is neither a tensor, a size nor an attribute"
                                     : NULL;
}

void lower_custom(Lower *l)
{
    const CustomFunction *f = custom_function_of(l->model, l->arena, l->node);
    Tensor reads[64], writes[64];
    Index sizes[64];
    uint32_t nreads = 0, nwrites = 0;
    if (!f || f->gives_other) {
        not_supported(l, "%.*s: its sources have no C function that other C can call%s",
                      STR_ARG(op_of(l)), l->model->for_device ? ", and no CUDA kernel" : "");
        return;
    }
    for (uint32_t o = 0; o < l->n->nout; o++)
        if (!has_output(l, o) || !define_dims(l, o))
            return;
    for (uint32_t i = 0; i < f->nparams && i < 64; i++) {
        const CustomParam *p = &f->params[i];
        const char *fault = param_fault(l, p);
        Tensor t;
        if (fault) {
            not_supported(l, "%.*s: parameter \"%.*s\" of %.*s: %s", STR_ARG(op_of(l)),
                          STR_ARG(str_escaped(l->arena, p->name)),
                          STR_ARG(str_escaped(l->arena, f->symbol)), fault);
            return;
        }
        if (p->kind == CUSTOM_INPUT && tensor_of_param(l, f, i, &t))
            reads[nreads++] = t;
        else if (p->kind == CUSTOM_OUTPUT && tensor_of_param(l, f, i, &t))
            writes[nwrites++] = t;
        if ((p->kind == CUSTOM_INPUT || p->kind == CUSTOM_OUTPUT) && tensor_of_param(l, f, i, &t) &&
            dtype_is_reference(t.dtype)) {
            not_supported(l, "%.*s: strings and lists are not handed to C functions",
                          STR_ARG(op_of(l)));
            return;
        }
    }
    if (!find_sizes(l, f, sizes))
        not_supported(l,
                      "%.*s: which sizes the integers of %.*s are is not known; name them after "
                      "attributes or as x_size and x_dim0 after pointers",
                      STR_ARG(op_of(l)), STR_ARG(str_escaped(l->arena, f->symbol)));
    else
        step_call(l, "custom", nreads, reads, nwrites, writes, custom_count(f, CUSTOM_SIZE), sizes);
}
