// ST003 of sparse tensors. Spec: onnx.proto, SparseTensorProto.

#include "passes/elements.h"
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
}

void lint_sparse_payloads(Lint *l)
{
    lint_each_sparse(l, check_sparse);
}
