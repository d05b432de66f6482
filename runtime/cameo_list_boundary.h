/* Lists as inputs and outputs of a compiled model. */
#ifndef CAMEO_LIST_BOUNDARY_H
#define CAMEO_LIST_BOUNDARY_H

#include "cameo_boundary.h"
#include "cameo_list_ports.h"

CAMEO_FN int cameo_set_object(cameo_context *c, int32_t i, const cameo_object *object)
{
    const cameo_model *m = c->program->model;
    const char *fault = NULL;
    if (i < 0 || i >= m->ninputs)
        return cameo_fail(c, "there is no input %d: the model has %d", (int)i, (int)m->ninputs);
    if (!m->input_types || !m->input_types[i])
        return cameo_fail(c, "input %s is a tensor", m->inputs[i].name);
    if (cameo_check_object(object, m->input_types[i], &fault) != 0)
        return cameo_fail(c, "input %s: %s", m->inputs[i].name, fault);
    c->inputs[i].at = object;
    c->inputs[i].rank = 0;
    return 0;
}

/* The reference to an input; NULL with the error set. */
CAMEO_FN const int64_t *cameo_list_input(cameo_context *c, int32_t i)
{
    cameo_objects *o = (cameo_objects *)c->objects;
    int64_t *to = (int64_t *)cameo_objects_alloc(o, 8);
    cameo_item item = {CAMEO_OBJECT, 0, NULL, NULL, 0};
    if (!to || cameo_import_object(o, (const cameo_object *)c->inputs[i].at, &item) != 0) {
        cameo_fail(c, "input %s: %s", c->program->model->inputs[i].name, o->error);
        return NULL;
    }
    *to = item.list;
    return to;
}

CAMEO_FN int cameo_list_output(cameo_context *c, int32_t i, const int64_t *from)
{
    cameo_objects *o = (cameo_objects *)c->objects;
    cameo_object *to = (cameo_object *)cameo_objects_alloc(o, (int64_t)sizeof *to);
    cameo_item item = {CAMEO_OBJECT, 0, NULL, NULL, *from};
    if (!to || cameo_export_item(o, &item, c->program->model->output_types[i], to) != 0)
        return cameo_fail(c, "output %s: %s", c->program->model->outputs[i].name, o->error);
    cameo_show_output(c, i, to, 0, NULL);
    return 0;
}

CAMEO_FN const cameo_object *cameo_output_object(const cameo_context *c, int32_t i)
{
    const cameo_model *m = c->program->model;
    if (i < 0 || i >= m->noutputs || !m->output_types || !m->output_types[i])
        return NULL;
    return (const cameo_object *)c->outputs[i].at;
}

#endif
