/* Strings at the inputs and outputs of a compiled model. */
#ifndef CAMEO_BOUNDARY_H
#define CAMEO_BOUNDARY_H

#include "cameo_objects.h"
#include "cameo_runtime.h"

/* The table of a run that begins, with the strings that the model knows. */
CAMEO_FN int cameo_objects_begin(cameo_context *c, const cameo_str *constants, int64_t n)
{
    cameo_objects *o = (cameo_objects *)c->objects;
    if (!o) {
        o = (cameo_objects *)calloc(1, sizeof *o);
        c->objects = o;
        c->free_objects = cameo_objects_free;
        if (!o)
            return cameo_fail(c, "no memory");
    }
    return cameo_objects_reset(o, constants, n) == 0 ? 0 : cameo_fail(c, "%s", o->error);
}

CAMEO_FN int cameo_call_failed(cameo_context *c, const char *where)
{
    return cameo_fail(c, "%s: %s", where, ((cameo_objects *)c->objects)->error);
}

/* The numbers of an input's strings; NULL with the error set. */
CAMEO_FN const int64_t *cameo_object_input(cameo_context *c, int32_t i)
{
    cameo_objects *o = (cameo_objects *)c->objects;
    const cameo_value *v = &c->inputs[i];
    const cameo_str *from = (const cameo_str *)v->at;
    int64_t count = cameo_bytes(1, v->rank, v->dims);
    int64_t *to = count < 0 ? NULL : (int64_t *)cameo_objects_alloc(o, count * 8);
    for (int64_t k = 0; to && k < count; k++) {
        to[k] = from[k].len < 0 ? -1 : cameo_intern(o, from[k].at, from[k].len, 0);
        if (to[k] < 0) {
            cameo_fail(c, "input %s: %s", c->program->model->inputs[i].name,
                       from[k].len < 0 ? "a string of negative length" : o->error);
            return NULL;
        }
    }
    if (!to)
        cameo_fail(c, "input %s: %s", c->program->model->inputs[i].name, o->error);
    return to;
}

/* Output i of the run, from the numbers of its strings. */
CAMEO_FN int cameo_object_output(cameo_context *c, int32_t i, const int64_t *from, int32_t rank,
                                 const int64_t *dims)
{
    cameo_objects *o = (cameo_objects *)c->objects;
    int64_t count = cameo_bytes(1, rank, dims);
    cameo_str *to =
        count < 0 ? NULL : (cameo_str *)cameo_objects_alloc(o, count * (int64_t)sizeof *to);
    if (!to)
        return cameo_fail(c, "output %s: no memory", c->program->model->outputs[i].name);
    for (int64_t k = 0; k < count; k++)
        to[k] = cameo_string_of(o, from[k]);
    cameo_show_output(c, i, to, rank, dims);
    return 0;
}

#endif
