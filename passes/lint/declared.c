// ST013: shapes, and kinds of values, that are declared otherwise than they are computed.

#include "passes/lint/story.h"

#include <string.h>

typedef struct Declared {
    ValueInfo *info;
    bool interface; // of the main graph: what callers go by
} Declared;

static const char *const kinds[] = {
    [TYPE_TENSOR] = "tensor", [TYPE_SPARSE] = "sparse tensor", [TYPE_SEQUENCE] = "sequence",
    [TYPE_MAP] = "map",       [TYPE_OPTIONAL] = "optional",    [TYPE_OPAQUE] = "opaque value",
};

// Is it known by something else than its declaration?
static bool is_computed(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->def == DEF_INITIALIZER || value->init)
        return true;
    return (value->def == DEF_NODE || value->def == DEF_INPUT) &&
           value->why_shape.kind != WHY_DECLARED;
}

static bool dim_differs(const DeclDim *said, Index dim)
{
    int64_t k;
    return said->kind == DIM_VALUE && said->value >= 0 && poly_is_const(dim, &k) &&
           k != said->value;
}

static bool kind_differs(const Value *v, const Type *t)
{
    bool known = v->kind == TYPE_TENSOR || v->kind == TYPE_SEQUENCE || v->kind == TYPE_OPTIONAL;
    return known && t->kind != TYPE_NONE && t->kind != TYPE_SPARSE && v->kind != t->kind &&
           v->def == DEF_NODE;
}

static bool shape_differs(const Value *v, const Type *t)
{
    if (v->kind != TYPE_TENSOR || t->kind != TYPE_TENSOR || !t->has_shape || v->rank < 0)
        return false;
    bool differs = t->rank != (uint32_t)v->rank;
    for (uint32_t i = 0; i < t->rank && !differs; i++)
        differs = dim_differs(&t->dims[i], v->dims[i]);
    return differs;
}

static bool is_contradicted(const Model *m, const ValueInfo *info)
{
    const Value *v = value_at(m, info->value);
    return info->type && is_computed(m, info->value) &&
           (kind_differs(v, info->type) || shape_differs(v, info->type));
}

static Str shown_declared(Lint *l, const Type *t)
{
    Buf b = {0};
    for (uint32_t i = 0; i < t->rank; i++) {
        const DeclDim *d = &t->dims[i];
        buf_char(&b, i ? ',' : '[');
        if (d->kind == DIM_VALUE)
            buf_printf(&b, "%lld", (long long)d->value);
        else
            buf_printf(&b, "%.*s",
                       STR_ARG(d->kind == DIM_PARAM ? str_escaped(l->arena, d->param) : STR("?")));
    }
    buf_printf(&b, t->rank ? "]" : "[]");
    Str s = str_copy(l->arena, (Str){b.at, b.len});
    buf_free(&b);
    return s;
}

// The value whose shape this one's follows, as far back as inference says.
static ValueId shape_origin(const Model *m, ValueId v)
{
    for (uint32_t steps = 0; steps < m->values.len; steps++) {
        const Why *w = &value_at(m, v)->why_shape;
        if ((w->kind != WHY_OPERAND && w->kind != WHY_BRANCH) || !w->from || w->from == v)
            break;
        v = w->from;
    }
    return v;
}

static void note_origin(Lint *l, Diag *d, ValueId v)
{
    ValueId from = shape_origin(l->m, v);
    const Value *at = value_at(l->m, from);
    if (from == v || at->rank < 0)
        return;
    bool input = at->def == DEF_INPUT && !value_is_weight(l->m, from);
    d->origin_kind = input ? STR("input") : at->def == DEF_NODE ? STR("node") : STR("initializer");
    d->origin_name = lint_name(l, from);
    diag_note(l->diags, d, "it follows from %.*s \"%.*s\", which is %.*s", STR_ARG(d->origin_kind),
              STR_ARG(d->origin_name), STR_ARG(lint_shape_words(l, at)));
}

// Of what classical models compute onnx.checker infers no shape, and runtimes give it all the same.
static bool is_refused(const Model *m, const Value *v)
{
    return v->def != DEF_NODE || !str_is(node_at(m, v->node)->domain, "ai.onnx.ml");
}

static Diag *report(Lint *l, const Declared *it)
{
    const Type *t = it->info->type;
    ValueId id = it->info->value;
    const Value *v = value_at(l->m, id);
    Str name = lint_name(l, id), where = location_value(l->m, l->arena, id);
    const char *what = v->def == DEF_INPUT && !v->init ? "input"
                       : v->def != DEF_NODE            ? "initializer"
                       : it->interface                 ? "output"
                                                       : "value";
    Diag *d;
    if (kind_differs(v, t))
        d = diag(l->diags, "ST013", SEV_ERROR, where, "%s \"%.*s\" is declared as a %s but is a %s",
                 what, STR_ARG(name), kinds[t->kind], kinds[v->kind]);
    else
        d = diag(l->diags, "ST013", is_refused(l->m, v) ? SEV_ERROR : SEV_WARNING, where,
                 "%s \"%.*s\" is declared with shape %.*s but has %.*s", what, STR_ARG(name),
                 STR_ARG(shown_declared(l, t)), STR_ARG(lint_shape_words(l, v)));
    if (v->def == DEF_NODE)
        lint_about_node(l, d, v->node);
    d->value = name;
    note_origin(l, d, id);
    if (kind_differs(v, t))
        diag_help(l->diags, d, "declare it as a %s, which is what whoever runs the model gets",
                  kinds[v->kind]);
    else
        diag_fix(l->diags, d, !it->interface, "declare it with shape %.*s",
                 STR_ARG(lint_shape_words(l, v)));
    return d;
}

typedef void (*Visit)(Model *m, const Declared *it, void *context);

static void visit_contradicted(Model *m, Visit visit, void *context)
{
    for (GraphId g = 1; g < m->graphs.len; g++) {
        Graph *graph = graph_at(m, g);
        bool main = g == m->main;
        if (graph->function)
            continue;
        for (uint32_t k = 0; k < graph->inputs.len; k++)
            if (is_contradicted(m, &graph->inputs.at[k]))
                visit(m, &(Declared){&graph->inputs.at[k], main}, context);
        for (uint32_t k = 0; k < graph->outputs.len; k++)
            if (is_contradicted(m, &graph->outputs.at[k]))
                visit(m, &(Declared){&graph->outputs.at[k], main}, context);
        for (uint32_t k = 0; k < graph->infos.len; k++)
            if (is_contradicted(m, &graph->infos.at[k]))
                visit(m, &(Declared){&graph->infos.at[k], false}, context);
    }
}

// Inside of the model one stale size makes a declaration of everything behind it wrong: the first
// in order of execution is told, the others are counted.
typedef struct Told {
    Lint *l;
    Declared first;
    bool *seen; // by value
    uint32_t more;
} Told;

static uint32_t place_of(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    return value->def == DEF_NODE ? node_at(m, value->node)->position + 1 : 0;
}

static void tell(Model *m, const Declared *it, void *context)
{
    Told *t = context;
    ValueId v = it->info->value;
    bool again = t->seen[v];
    t->seen[v] = true;
    if (it->interface)
        report(t->l, it);
    if (it->interface || again)
        return;
    const ValueInfo *first = t->first.info;
    t->more += first != NULL;
    if (!first || (value_at(m, v)->graph == value_at(m, first->value)->graph &&
                   place_of(m, v) < place_of(m, first->value)))
        t->first = *it;
}

void lint_declared_shapes(Lint *l)
{
    Told t = {.l = l, .seen = NEWS(l->arena, bool, l->m->values.len)};
    visit_contradicted(l->m, tell, &t);
    if (!t.first.info)
        return;
    Diag *d = report(l, &t.first);
    if (t.more)
        diag_note(l->diags, d,
                  "%u more declaration%s inside of the model differ%s from what is computed",
                  t.more, t.more == 1 ? "" : "s", t.more == 1 ? "s" : "");
}

typedef struct Repair {
    bool unsafe;
    uint32_t changes;
} Repair;

// The sizes that differ become what is computed; a shape of another rank becomes what is known.
static void correct(Model *m, const Declared *it, void *context)
{
    Repair *r = context;
    Type *t = it->info->type;
    const Value *v = value_at(m, it->info->value);
    if ((it->interface && !r->unsafe) || kind_differs(v, t))
        return;
    if (t->rank != (uint32_t)v->rank) {
        t->rank = (uint32_t)v->rank;
        t->dims = NEWS(m->arena, DeclDim, t->rank + 1);
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t k;
        if (poly_is_const(v->dims[i], &k))
            t->dims[i] = (DeclDim){.kind = DIM_VALUE, .value = k};
    }
    r->changes++;
}

uint32_t repair_declared_shapes(Model *m, bool unsafe)
{
    Repair r = {.unsafe = unsafe};
    visit_contradicted(m, correct, &r);
    return r.changes;
}
