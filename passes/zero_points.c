// QuantizeLinear without zero point and output_dtype gives uint8. Where those that read it have
// zero points of another dtype, nobody meant that: it gets the zero point of the first of them. One
// that has both gets its zero point stored in the dtype that output_dtype says.

#include "ir/builder.h"
#include "passes/insert_casts.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

// The zero point of a DequantizeLinear that reads the use; 0: it is none, or not visible there.
static ValueId zero_point_of(const Model *m, const Use *u, GraphId graph)
{
    const Node *n = u->node ? node_at(m, u->node) : NULL;
    ValueId z = n && node_is(n, "DequantizeLinear") && u->index == 0 && n->nin > 2 ? n->in[2] : 0;
    return z && value_at(m, z)->graph == graph && value_at(m, z)->constant ? z : 0;
}

static ValueId wanted(const Model *m, const Uses *uses, NodeId id)
{
    const Node *n = node_at(m, id);
    ValueId found = 0;
    if (n->dead || !node_is(n, "QuantizeLinear") || n->nout != 1 || !n->out[0] || n->nin < 2 ||
        (n->nin > 2 && n->in[2]) || node_has_attr(n, "output_dtype"))
        return 0;
    for (uint32_t k = uses->first[n->out[0]]; k < uses->first[n->out[0] + 1]; k++) {
        ValueId z = zero_point_of(m, &uses->uses[k], n->graph);
        if (!z || (found && lint_dtype(m, z) != lint_dtype(m, found)))
            return 0;
        found = found ? found : z;
    }
    DType t = lint_dtype(m, found);
    const SchemaParam *p = n->schema && n->schema->ninputs > 2 ? &n->schema->inputs[2] : NULL;
    bool one = found && value_at(m, found)->rank == value_at(m, n->in[1])->rank;
    return one && t != DT_U8 && p && (p->types >> t & 1) ? found : 0;
}

static bool heed_output_dtype(Model *m, NodeId id, Repair *r)
{
    const Node *n = node_at(m, id);
    if (n->dead || !node_is(n, "QuantizeLinear") || n->nin < 3 || !n->in[2])
        return false;
    DType said = node_dtype(n, "output_dtype", DT_NONE);
    TensorData *z = constant_data(m, n->in[2]);
    const SchemaParam *p = param_of_operand(n, 2);
    if (said == DT_NONE || !z || z->dtype == (int32_t)said || !p || !(p->types >> said & 1) ||
        (!r->unsafe && !constant_is_exact(m, z, said)) || !constant_retype(m, n->in[2], said))
        return false;
    r->retyped++;
    return true;
}

// A constant of a function's body is not seen outside of it: the same one for the node.
static ValueId seen_from(Model *m, Builder *b, NodeId id, ValueId z)
{
    const Value *v = value_at(m, z);
    const Node *n = node_at(m, id);
    Str error;
    if (v->def != DEF_NODE || node_at(m, v->node)->call == n->call)
        return z;
    TensorData *d = constant_data(m, z);
    const void *at = d ? tensor_elements(m, d, &error) : NULL;
    return at ? builder_constant(b, n->graph, value_at(m, n->out[0])->name, "zero_point",
                                 tensor_new(m->arena, (DType)d->dtype, d->rank, d->dims, at))
              : 0;
}

bool give_zero_points(Model *m, Repair *r)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Builder names = builder_of(m, a);
    bool any = false, retyped = false;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        retyped |= heed_output_dtype(m, id, r);
        ValueId z = wanted(m, &uses, id);
        z = z ? seen_from(m, &names, id, z) : 0;
        Node *n = node_at(m, id);
        if (!z)
            continue;
        ValueId *in = NEWS(m->arena, ValueId, 3);
        in[0] = n->in[0];
        in[1] = n->in[1];
        in[2] = z;
        n->in = in;
        n->nin = 3;
        r->retyped++;
        any = true;
    }
    if (any)
        model_sort(m, a);
    arena_free(a);
    return any || retyped;
}
