// ST003 of sparse tensors, and DT003 of sparse initializers that nodes read as dense ones.
// Spec: onnx.proto, SparseTensorProto.

#include "ir/builder.h"
#include "passes/elements.h"
#include "passes/lint/origin.h"
#include "passes/lint/tensors.h"

void lint_each_sparse(Lint *l, SparseVisit visit)
{
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(l->m, g)->sparse.len; i++)
            if (graph_at(l->m, g)->sparse.at[i].data)
                visit(l, graph_at(l->m, g)->sparse.at[i].data,
                      str_printf(l->arena, "%.*s/sparse_initializer[%u]",
                                 STR_ARG(location_graph(l->m, l->arena, g)), i));
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        for (uint32_t i = 0; !n->dead && i < n->nattrs; i++) {
            const Attr *a = &n->attrs[i];
            if (!a->sparse && !a->nsparses)
                continue;
            Str where =
                str_printf(l->arena, "%.*s:%.*s", STR_ARG(location_node(l->m, l->arena, id)),
                           STR_ARG(str_escaped(l->arena, a->name)));
            if (a->sparse)
                visit(l, a->sparse, where);
            for (uint32_t k = 0; k < a->nsparses; k++)
                visit(l, a->sparses[k], where);
        }
    }
}

// What is wrong with the parts, before any index is read; NULL: nothing.
static const char *parts_fault(const SparseData *s)
{
    const TensorData *v = s->values, *at = s->indices;
    if (!v || !at)
        return v ? "there are no indices" : "there are no values";
    if (s->rank == 0)
        return "there are no dims";
    if (v->rank != 1)
        return "its values have not rank 1";
    if (at->dtype != DT_I64)
        return "its indices are not int64";
    if (at->rank < 1 || at->rank > 2 || at->dims[0] != v->dims[0])
        return "there are not as many indices as values";
    if (at->rank == 2 && at->dims[1] != (int64_t)s->rank)
        return "an index has not as many coordinates as there are dims";
    return NULL;
}

// Where the entry stands, row-major; UINT64_MAX: outside of the dims.
static uint64_t entry_place(const SparseData *s, const int64_t *index, uint64_t count)
{
    uint64_t at = 0;
    if (s->indices->rank == 1)
        return (uint64_t)*index < count ? (uint64_t)*index : UINT64_MAX;
    for (uint32_t k = 0; k < s->rank; k++) {
        if (index[k] < 0 || index[k] >= s->dims[k])
            return UINT64_MAX;
        at = at * (uint64_t)s->dims[k] + (uint64_t)index[k];
    }
    return at;
}

static Str index_fault(Lint *l, const SparseData *s)
{
    uint64_t count = tensor_count(&(TensorData){.rank = s->rank, .dims = s->dims}), before = 0;
    // What cannot be read check_payload tells.
    const Elements of = elements_in(l->m, count == UINT64_MAX ? NULL : s->indices);
    const int64_t *at = of.dtype == DT_I64 ? (const void *)of.at : NULL;
    uint64_t width = s->indices->rank == 2 ? s->rank : 1;
    for (uint64_t i = 0; at && i < tensor_count(s->values); i++) {
        uint64_t place = entry_place(s, at + i * width, count);
        const char *fault = place == UINT64_MAX        ? "is outside of the dims"
                            : i > 0 && place == before ? "is given twice"
                            : i > 0 && place < before  ? "is less than the one before it"
                                                       : NULL;
        if (fault)
            return str_printf(l->arena, "index %llu %s", (unsigned long long)i, fault);
        before = place;
    }
    return STR_NONE;
}

static void check_sparse(Lint *l, const SparseData *s, Str where)
{
    const char *parts = parts_fault(s);
    Str fault = parts ? str_of(parts) : index_fault(l, s);
    if (!fault.len)
        return;
    Str name = str_escaped(l->arena, s->values ? s->values->name : STR(""));
    Diag *d = diag(l->diags, "ST003", SEV_ERROR, where, "sparse tensor \"%.*s\": %.*s",
                   STR_ARG(name), STR_ARG(fault));
    d->value = name;
    diag_note(l->diags, d, "indices are int64, one each or one for each dim, and ascend");
    diag_help(l->diags, d,
              parts ? "export the model again, or store the tensor as a dense one"
                    : "sort the entries by index, each once and inside of the dims, or store the "
                      "tensor as a dense one");
}

void lint_sparse_payloads(Lint *l)
{
    lint_each_sparse(l, check_sparse);
}

// ---- DT003

static bool is_standard(const Node *n)
{
    return n->schema && (n->domain.len == 0 || str_is(n->domain, "ai.onnx.ml"));
}

// No operator of the standard has a sparse tensor among its types; who takes sparse initializers
// for another way to store dense ones (ONNX Runtime, Cameo) computes, who does not refuses.
void lint_sparse_operands(Lint *l)
{
    const Uses *u = lint_uses(l);
    for (ValueId v = 1; v < l->m->values.len; v++) {
        const SparseData *s = value_at(l->m, v)->sparse_init;
        uint32_t count = 0;
        Use first = {0};
        for (uint32_t k = u->first[v]; s && k < u->first[v + 1]; k++)
            if (u->uses[k].node && is_standard(node_at(l->m, u->uses[k].node))) {
                first = count++ ? first : u->uses[k];
            }
        if (!count || !lint_first_time(l, "DT003", first.node))
            continue;
        const Node *n = node_at(l->m, first.node);
        Diag *d =
            diag(l->diags, "DT003", SEV_WARNING,
                 location_operand(l->m, l->arena, first.node, first.index),
                 "%.*s input %s is a sparse initializer, and no operator of the standard takes one",
                 STR_ARG(str_escaped(l->arena, n->op)), param_of_operand(n, first.index)->name);
        d->value = lint_name(l, v);
        d->origin_kind = STR("initializer");
        d->origin_name = d->value;
        lint_about_node(l, d, first.node);
        diag_note(
            l->diags, d,
            "onnx.checker with full_check refuses it; ONNX Runtime and Cameo compute with the "
            "dense tensor");
        if (count > 1)
            diag_note(l->diags, d, "%u operands are so", count);
        diag_fix(l->diags, d, false, "store \"%.*s\" dense: %.*s instead of %.*s",
                 STR_ARG(d->value), STR_ARG(lint_shown_bytes(l, lint_bytes(l->m, v))),
                 STR_ARG(lint_shown_bytes(l, lint_sparse_bytes(s))));
    }
}

double lint_sparse_bytes(const SparseData *s)
{
    const TensorData *parts[] = {s->values, s->indices};
    double bytes = 0;
    for (size_t i = 0; i < 2; i++) {
        uint64_t n = parts[i] ? tensor_count(parts[i]) : UINT64_MAX;
        if (n != UINT64_MAX)
            bytes += (double)n * dtype_info((DType)parts[i]->dtype)->bits / 8;
    }
    return bytes;
}

uint32_t repair_sparse_operands(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    for (GraphId g = 1; unsafe && g < m->graphs.len; g++) {
        Graph *graph = graph_at(m, g);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < graph->sparse.len; i++) {
            SparseInitializer *at = &graph->sparse.at[i];
            Str error;
            const TensorData *dense =
                at->value && at->data ? sparse_dense(m, at->data, &error) : NULL;
            if (!dense) {
                graph->sparse.at[kept++] = *at;
                continue;
            }
            TensorData *t = NEW(m->arena, TensorData);
            *t = *dense;
            value_initialize(m, g, at->value, t);
            value_at(m, at->value)->sparse_init = NULL;
            changes++;
        }
        graph->sparse.len = kept;
    }
    return changes;
}
