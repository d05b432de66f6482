// DT014: dtypes that nobody wrote.

#include "passes/lint/edit.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <string.h>

const char *lint_default_dtype(const Node *n)
{
    static const char *const random[] = {"RandomNormal", "RandomUniform"};
    if (node_is(n, "ConstantOfShape"))
        return node_has_attr(n, "value") ? NULL : "value";
    for (size_t i = 0; i < sizeof random / sizeof *random; i++)
        if (node_is(n, random[i]))
            return node_has_attr(n, "dtype") ? NULL : "dtype";
    return NULL;
}

// A Cast to another float dtype, of what such a node makes, as it is or moved; 0: there is none.
// Regions that hold anything else are no default's any more.
static NodeId cast_of_default(const Regions *x, const Region *r, NodeId *maker, bool *all)
{
    const Model *m = x->m;
    NodeId found = 0;
    *maker = 0;
    *all = !r->used;
    if (r->enter.len)
        return 0;
    for (uint32_t i = 0; i < r->values.len; i++) {
        const Value *v = value_at(m, r->values.at[i]);
        const Node *n = v->def == DEF_NODE ? node_at(m, v->node) : NULL;
        if (n && motion_of(n) != MOTION_NONE)
            continue;
        if (!n || !lint_default_dtype(n) || *maker)
            return 0;
        *maker = v->node;
    }
    for (uint32_t i = 0; *maker && i < r->leave.len; i++) {
        DType to = cast_to(m, r->leave.at[i]);
        if (dtype_is_float(to) && to != r->dtype && !found)
            found = r->leave.at[i];
        *all &= found && to == cast_to(m, found);
    }
    *all &= found && region_allows(x, r, cast_to(m, found));
    return found;
}

void lint_default_dtypes(Lint *l)
{
    const Regions *x = lint_regions(l);
    for (uint32_t i = 0; i < x->len; i++) {
        bool all;
        NodeId maker, cast = cast_of_default(x, &x->at[i], &maker, &all);
        if (!cast || !lint_first_time(l, "DT014", maker))
            continue;
        const Node *n = node_at(l->m, maker);
        DType to = cast_to(l->m, cast);
        Diag *d = diag(l->diags, "DT014", SEV_INFO, location_node(l->m, l->arena, maker),
                       "%.*s makes %s because nothing says otherwise, and that is cast to %s",
                       STR_ARG(n->op), dtype_name(x->at[i].dtype), dtype_name(to));
        d->value = lint_name(l, n->out[0]);
        d->origin_kind = STR("attribute");
        d->origin_name = str_of(lint_default_dtype(n));
        lint_about_node(l, d, maker);
        diag_note(l->diags, d, "without attribute \"%s\" its dtype is float32; Cast %.*s follows",
                  lint_default_dtype(n), STR_ARG(lint_short(l, cast)));
        diag_fix(l->diags, d, false, "set the attribute to %s%s", dtype_name(to),
                 all ? " and delete the Cast" : "");
    }
}

static void set_default(Model *m, NodeId id, DType t)
{
    if (node_is(node_at(m, id), "ConstantOfShape"))
        constant_retype(m, node_at(m, id)->out[0], t);
    else
        node_set_int(m, id, "dtype", t);
}

uint32_t repair_default_dtypes(Model *m, bool unsafe)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Regions x = regions_of(m, &uses, a);
    Edit e = edit_begin(m);
    for (uint32_t i = 0; unsafe && i < x.len; i++) {
        const Region *r = &x.at[i];
        bool all;
        NodeId maker, cast = cast_of_default(&x, r, &maker, &all);
        if (!cast || !all)
            continue;
        DType to = cast_to(m, cast);
        set_default(m, maker, to);
        for (uint32_t k = 0; k < r->values.len; k++)
            edit_declare(&e, r->values.at[k], to);
        for (uint32_t k = 0; k < r->leave.len; k++)
            edit_drop(&e, r->leave.at[k], node_at(m, r->leave.at[k])->in[0]);
    }
    uint32_t made = edit_end(&e);
    arena_free(a);
    return made;
}
