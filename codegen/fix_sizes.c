// --dim and --shape: declared dims get values before anything is inferred.

#include "codegen/fix_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool fail(Model *m, Str *error, const char *what, const char *text)
{
    *error = str_printf(m->arena, "%s: %s", text, what);
    return false;
}

static bool read_size(const char *text, const char **end, int64_t *size)
{
    char *stop;
    errno = 0;
    *size = strtoll(text, &stop, 10);
    *end = stop;
    return stop != text && !errno && *size >= 0;
}

static uint32_t fix_dim_in(const Type *t, Str name, int64_t size)
{
    uint32_t found = 0;
    for (; t; t = t->sub)
        for (uint32_t k = 0; k < t->rank; k++)
            if (t->dims[k].kind == DIM_PARAM && str_eq(t->dims[k].param, name)) {
                t->dims[k].kind = DIM_VALUE;
                t->dims[k].value = size;
                found++;
            }
    return found;
}

static bool fix_dim(Model *m, const char *text, Str *error)
{
    const char *equals = strrchr(text, '='), *end;
    int64_t size;
    if (!equals || !read_size(equals + 1, &end, &size) || *end)
        return fail(m, error, "is not NAME=SIZE", text);
    Str name = {text, (size_t)(equals - text)};
    uint32_t found = 0;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = &m->graphs.at[g];
        for (uint32_t i = 0; i < graph->inputs.len; i++)
            found += fix_dim_in(graph->inputs.at[i].type, name, size);
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            found += fix_dim_in(graph->outputs.at[i].type, name, size);
        for (uint32_t i = 0; i < graph->infos.len; i++)
            found += fix_dim_in(graph->infos.at[i].type, name, size);
    }
    return found ? true : fail(m, error, "the model has no dim of this name", text);
}

// An input declared without a shape has as many dims as sizes are given.
static void open_shape(Model *m, Type *t, const char *sizes)
{
    t->has_shape = true;
    t->rank = 1;
    for (const char *at = sizes; *at; at++)
        t->rank += *at == 'x';
    t->dims = NEWS(m->arena, DeclDim, t->rank);
}

static bool fix_shape(Model *m, const char *text, Str *error)
{
    const char *equals = strrchr(text, '=');
    if (!equals)
        return fail(m, error, "is not INPUT=1x3x224x224", text);
    Str name = {text, (size_t)(equals - text)};
    Graph *g = &m->graphs.at[m->main];
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        Type *t = g->inputs.at[i].type;
        if (!str_eq(value_at(m, g->inputs.at[i].value)->name, name))
            continue;
        if (!t || t->kind != TYPE_TENSOR)
            return fail(m, error, "this input is no tensor", text);
        const char *at = equals + 1;
        if (!t->has_shape)
            open_shape(m, t, at);
        for (uint32_t k = 0; k < t->rank; k++) {
            int64_t size;
            bool ok = read_size(at, &at, &size) && *at == (k + 1 < t->rank ? 'x' : 0);
            if (!ok || (t->dims[k].kind == DIM_VALUE && t->dims[k].value != size))
                return fail(m, error, "does not fit the declared shape", text);
            at += *at == 'x';
            t->dims[k].kind = DIM_VALUE;
            t->dims[k].value = size;
        }
        return true;
    }
    return fail(m, error, "the model has no such input", text);
}

bool fix_sizes(Model *m, const CompileOptions *o, Str *error)
{
    for (uint32_t i = 0; i < o->nfixed; i++) {
        const FixedSize *f = &o->fixed[i];
        if (!(f->is_shape ? fix_shape : fix_dim)(m, f->text, error))
            return false;
    }
    return true;
}
