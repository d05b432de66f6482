// DT001, DT002, DT003: dtypes that do not fit, and where they began.

#include "passes/lint/lint.h"

#include <math.h>
#include <string.h>

static const SchemaParam *param_of(const Node *n, uint32_t i)
{
    const Schema *s = n->schema;
    if (!s || i >= n->nin)
        return NULL;
    if (i < s->ninputs)
        return &s->inputs[i];
    return s->ninputs && s->inputs[s->ninputs - 1].option == PARAM_VARIADIC
               ? &s->inputs[s->ninputs - 1]
               : NULL;
}

static DType tensor_dtype(const Model *m, ValueId v)
{
    return v && value_at(m, v)->kind == TYPE_TENSOR ? value_at(m, v)->dtype : DT_NONE;
}

static bool same_var(const SchemaParam *a, const SchemaParam *b)
{
    bool free_form = a && a == b && a->option == PARAM_VARIADIC && !a->homogeneous;
    return a && b && a->type_var && b->type_var && !free_form &&
           strcmp(a->type_var, b->type_var) == 0;
}

bool lint_conflict(const Model *m, NodeId id, uint32_t *from, Conflict *c)
{
    const Node *n = node_at(m, id);
    for (; *from < n->nin; ++*from)
        for (uint32_t k = 0; k < *from; k++) {
            DType a = tensor_dtype(m, n->in[*from]), b = tensor_dtype(m, n->in[k]);
            if (!same_var(param_of(n, *from), param_of(n, k)) || a == b || a == DT_NONE ||
                b == DT_NONE)
                continue;
            // The side that is not the model's dominant dtype gives way; else float64 does; else
            // the first.
            bool second = b == m->dominant || (a != m->dominant && a == DT_F64);
            *c = (Conflict){id, second ? *from : k, second ? k : *from};
            ++*from;
            return true;
        }
    return false;
}

ValueId lint_origin(const Model *m, ValueId v)
{
    for (uint32_t steps = 0; steps < m->values.len; steps++) {
        const Value *value = value_at(m, v);
        bool follows = value->why_dtype.kind == WHY_OPERAND || value->why_dtype.kind == WHY_BRANCH;
        if (!follows || !value->why_dtype.from || value->why_dtype.from == v ||
            value->def != DEF_NODE)
            return v;
        v = value->why_dtype.from;
    }
    return v;
}

bool lint_exact(Model *m, TensorData *d, DType t, uint64_t *count)
{
    Str error;
    DType from = (DType)d->dtype;
    const unsigned char *at = tensor_elements(m, d, &error);
    *count = d->nelements;
    if (!at || !dtype_is_float(from))
        return false;
    for (uint64_t i = 0; i < d->nelements; i++) {
        Scalar s = scalar_load(from, at + i * dtype_info(from)->bytes),
               r = scalar_cast(from, t, s, false);
        if (r.f != s.f && !(isnan(r.f) && isnan(s.f)))
            return false;
    }
    return true;
}

static const char *origin_kind(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->init)
        return value->def == DEF_INPUT ? "input" : "initializer";
    if (value->def == DEF_INPUT)
        return "input";
    if (value->def != DEF_NODE)
        return "value_info";
    const Node *n = node_at(m, value->node);
    return node_is(n, "Constant")                   ? "constant"
           : node_is(n, "Cast")                     ? "cast"
           : value->why_dtype.kind == WHY_ATTRIBUTE ? "attribute"
                                                    : "node";
}

// "weight W" or "input X": what the schema calls the operand.
static Str operand_words(Lint *l, const Node *n, uint32_t i)
{
    const SchemaParam *p = param_of(n, i);
    bool weight = value_at(l->m, n->in[i])->init != NULL;
    return str_printf(l->arena, "%s %s", weight ? "weight" : "input", p ? p->name : "");
}

// The nodes between the origin and here, as notes and as the chain.
static void note_path(Lint *l, Diag *d, ValueId from, ValueId to, Str origin)
{
    VEC(Str) path = {0};
    for (ValueId v = to; v != from && value_at(l->m, v)->def == DEF_NODE;
         v = value_at(l->m, v)->why_dtype.from)
        vec_push(l->arena, &path, location_node(l->m, l->arena, value_at(l->m, v)->node));
    vec_push(l->arena, &d->chain, origin);
    Buf line = {0};
    buf_printf(&line, "%.*s", STR_ARG(origin));
    for (uint32_t i = path.len; i-- > 0;) {
        vec_push(l->arena, &d->chain, path.at[i]);
        Str shown = str_starts(path.at[i], "graph/") ? (Str){path.at[i].at + 6, path.at[i].len - 6}
                                                     : path.at[i];
        buf_printf(&line, " -> %.*s", STR_ARG(shown));
    }
    if (path.len)
        diag_note(l->diags, d, "  %s -> here", line.at);
    buf_free(&line);
}

static void note_dominant(Lint *l, Diag *d, DType side)
{
    uint64_t all = 0, own = 0, count = 0, mine = 0;
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(l->m, g)->initializers.len; i++) {
            const TensorData *t = graph_at(l->m, g)->initializers.at[i].data;
            uint64_t n = tensor_count(t);
            if (t->dtype <= 0 || t->dtype >= DT_COUNT || n == UINT64_MAX ||
                !dtype_is_float((DType)t->dtype))
                continue;
            uint64_t bytes = n * dtype_info((DType)t->dtype)->bytes;
            all += bytes;
            count++;
            own += (DType)t->dtype == side ? bytes : 0;
            mine += (DType)t->dtype == side;
        }
    if (all)
        diag_note(l->diags, d, "%s side: %llu of %llu weights (%.2f%% of weight bytes)",
                  dtype_name(side), (unsigned long long)mine, (unsigned long long)count,
                  100.0 * (double)own / (double)all);
}

// What mends it, and its price: a constant is stored in the other dtype, anything else gets one
// Cast.
static void offer_fix(Lint *l, Diag *d, ValueId origin, DType want, const char *kind, Str name)
{
    Value *v = value_at(l->m, origin);
    TensorData *data = v->init       ? v->init
                       : v->constant ? (TensorData *)(uintptr_t)v->constant
                                     : NULL;
    uint64_t n;
    if (data && strcmp(kind, "input") != 0) {
        bool exact = lint_exact(l->m, data, want, &n);
        diag_fix(l->diags, d, exact, "store \"%.*s\" as %s (%s): 0 casts added", STR_ARG(name),
                 dtype_name(want), exact ? "every value exact" : "some values are rounded");
        return;
    }
    bool widens = dtype_is_float(v->dtype) && dtype_is_float(want) &&
                  dtype_info(want)->bits > dtype_info(v->dtype)->bits;
    Fix *f = diag_fix(l->diags, d, widens,
                      "insert 1 Cast to %s right after %s \"%.*s\", shared by all its uses",
                      dtype_name(want), kind, STR_ARG(name));
    f->casts = 1;
}

void lint_operands(Lint *l)
{
    unsigned char *told = NEWS(l->arena, unsigned char, l->m->values.len);
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        uint32_t from = 0;
        Conflict c;
        const Node *n = node_at(l->m, id);
        if (n->dead || !lint_conflict(l->m, id, &from, &c))
            continue;
        ValueId culprit = n->in[c.culprit], origin = lint_origin(l->m, culprit);
        DType have = value_at(l->m, culprit)->dtype, want = value_at(l->m, n->in[c.other])->dtype;
        if (told[origin]++)
            continue; // one fault, one finding
        Str op = str_escaped(l->arena, n->op),
            name = str_escaped(l->arena, value_at(l->m, origin)->name);
        Diag *d = diag(
            l->diags, "DT001", SEV_ERROR, location_operand(l->m, l->arena, id, c.culprit),
            "%.*s %.*s is %s but %.*s is %s", STR_ARG(op), STR_ARG(operand_words(l, n, c.culprit)),
            dtype_name(have), STR_ARG(operand_words(l, n, c.other)), dtype_name(want));
        const char *kind = origin_kind(l->m, origin);
        d->op = op;
        d->node = str_escaped(l->arena, n->name);
        d->value = str_escaped(l->arena, value_at(l->m, culprit)->name);
        d->origin_kind = str_of(kind);
        d->origin_name = name;
        const Value *v = value_at(l->m, origin);
        uint64_t count = v->init ? tensor_count(v->init) : 0;
        if (count && count != UINT64_MAX)
            diag_note(l->diags, d, "%s begins at %s \"%.*s\" (%llu element%s)", dtype_name(have),
                      kind, STR_ARG(name), (unsigned long long)count, count == 1 ? "" : "s");
        else
            diag_note(l->diags, d, "%s begins at %s \"%.*s\"", dtype_name(have), kind,
                      STR_ARG(name));
        note_path(l, d, origin, culprit, name);
        note_dominant(l, d, want);
        offer_fix(l, d, origin, want, kind, name);
    }
}

// ---- DT002
// ----------------------------------------------------------------------------------------------

static bool node_conflicts(const Model *m, NodeId n)
{
    uint32_t from = 0;
    Conflict c;
    return lint_conflict(m, n, &from, &c);
}

static void declared_entry(Lint *l, const ValueInfo *info, bool output)
{
    const Value *v = value_at(l->m, info->value);
    if (!info->type || info->type->kind != TYPE_TENSOR || v->def != DEF_NODE || v->dtype == DT_NONE)
        return;
    bool given = v->why_dtype.kind == WHY_DECLARED || !info->type->elem;
    if (given || info->type->elem == (int32_t)v->dtype || node_conflicts(l->m, v->node))
        return;
    Str name = str_escaped(l->arena, v->name);
    const char *declared = dtype_name((DType)info->type->elem);
    Diag *d = diag(l->diags, "DT002", SEV_ERROR, location_result(l->m, l->arena, v->node, v->index),
                   "%s \"%.*s\" is declared as %s but is %s", output ? "output" : "value",
                   STR_ARG(name), declared, dtype_name(v->dtype));
    ValueId origin = lint_origin(l->m, info->value);
    d->value = name;
    d->op = str_escaped(l->arena, node_at(l->m, v->node)->op);
    d->node = str_escaped(l->arena, node_at(l->m, v->node)->name);
    d->origin_kind = str_of(output ? "output" : "value_info");
    d->origin_name = name;
    diag_note(l->diags, d, "%s begins at %s \"%.*s\"", dtype_name(v->dtype),
              origin_kind(l->m, origin),
              STR_ARG(str_escaped(l->arena, value_at(l->m, origin)->name)));
    bool widens = dtype_info((DType)info->type->elem)->bits > dtype_info(v->dtype)->bits;
    if (output)
        diag_fix(l->diags, d, widens, "insert 1 Cast to %s in front of the output", declared)
            ->casts = 1;
    else
        diag_fix(l->diags, d, true, "declare it as %s", dtype_name(v->dtype));
}

void lint_declared(Lint *l)
{
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        const Graph *graph = graph_at(l->m, g);
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            declared_entry(l, &graph->outputs.at[i], true);
        for (uint32_t i = 0; i < graph->infos.len; i++)
            declared_entry(l, &graph->infos.at[i], false);
    }
}

// ---- DT003
// ----------------------------------------------------------------------------------------------

void lint_allowed(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        for (uint32_t i = 0; !n->dead && i < n->nin; i++) {
            const SchemaParam *p = param_of(n, i);
            DType t = tensor_dtype(l->m, n->in[i]);
            if (!p || t == DT_NONE || p->types == 0 || p->types >> t & 1 ||
                node_conflicts(l->m, id))
                continue;
            Str op = str_escaped(l->arena, n->op);
            Diag *d =
                diag(l->diags, "DT003", SEV_ERROR, location_operand(l->m, l->arena, id, i),
                     "%.*s takes no %s for its input %s", STR_ARG(op), dtype_name(t), p->name);
            Buf allowed = {0};
            for (int k = 1; k < DT_COUNT; k++)
                if (p->types >> k & 1)
                    buf_printf(&allowed, "%s%s", allowed.len ? ", " : "", dtype_name((DType)k));
            d->op = op;
            d->node = str_escaped(l->arena, n->name);
            d->value = str_escaped(l->arena, value_at(l->m, n->in[i])->name);
            ValueId origin = lint_origin(l->m, n->in[i]);
            d->origin_kind = str_of(origin_kind(l->m, origin));
            d->origin_name = str_escaped(l->arena, value_at(l->m, origin)->name);
            diag_note(l->diags, d, "%s begins at %.*s \"%.*s\"", dtype_name(t),
                      STR_ARG(d->origin_kind), STR_ARG(d->origin_name));
            diag_note(l->diags, d, "since opset %d the schema allows %s", n->schema->since,
                      allowed.len ? allowed.at : "no tensor");
            buf_free(&allowed);
        }
    }
}
