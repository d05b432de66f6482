// Computes when compiling what depends on constants only: such a node goes, its results become
// initializers.
//
// The interpreter runs the node's own lowering, so that a folded result is what the program would
// have computed. A node is left alone where that would make the model larger (an Expand, weights
// that are kept in few bits), takes too long, or gives an output of the model or of a branch. The
// effort of the whole pass is bounded by a budget of elements.

#include "ir/infer.h"
#include "ir/interp.h"
#include "ir/lists.h"
#include "ir/lower.h"
#include "ir/ops/gradient.h"
#include "ir/ops/random.h"
#include "ir/ops/shadow.h"
#include "passes/pass.h"

#include <string.h>

enum {
    BUDGET = 8000000,          // elements and table entries that the pass may touch
    COST_OF_FAILURE = 1000000, // of a node that the interpreter gave up
    MAX_OPERATIONS = 20000000, // of one node
    MAY_GROW = 1 << 16,        // bytes by which results may be larger than operands
    MAX_PORTS = 64,
};

typedef struct Fold {
    Model *m;
    Arena *scratch;
    VEC(NodeId) nodes;
    uint8_t *kept; // by value: an output of some graph
    int64_t budget;
    bool changed;
} Fold;

static void collect(void *context, NodeId n)
{
    Fold *f = context;
    vec_push(f->scratch, &f->nodes, n);
}

// Bytes of the operands, or -1 where the node cannot be folded.
static int64_t operands_of(const Fold *f, const Node *n)
{
    int64_t bytes = 0;
    bool any = false;
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g || n->attrs[i].ngraphs)
            return -1;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        const TensorData *t = value_at(f->m, n->in[i])->constant;
        uint64_t count = t ? tensor_count(t) : UINT64_MAX;
        if (count > BUDGET)
            return -1;
        bytes += (int64_t)(count * dtype_info((DType)t->dtype)->bytes);
        any = true;
    }
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && (f->kept[n->out[i]] || kind_is_list(value_at(f->m, n->out[i])->kind)))
            return -1;
    if (node_is_random(n) || node_is_variable(n) || node_is_widen(n))
        return -1;
    return any && n->nout && n->def && n->def->lower && !n->fault.at ? bytes : -1;
}

static bool bind_operand(const Fold *f, const Buffer *b, InterpTensor *t)
{
    TensorData *data = (TensorData *)(uintptr_t)value_at(f->m, b->value)->constant;
    Str error;
    const void *elements = data ? tensor_elements(f->m, data, &error) : NULL;
    if (!elements || data->rank > MAX_RANK)
        return false;
    *t = (InterpTensor){.dtype = (DType)data->dtype, .rank = data->rank};
    for (uint32_t k = 0; k < data->rank; k++)
        t->dims[k] = data->dims[k];
    t->elements = (void *)(uintptr_t)elements; // only read
    return true;
}

// A value that a node defined is from now on an initializer of its graph.
static void make_initializer(Fold *f, ValueId id, const InterpTensor *t)
{
    TensorData *data = tensor_new(f->m->arena, t->dtype, t->rank, t->dims, t->elements);
    Value *v = value_at(f->m, id);
    data->name = v->name;
    data->has |= TENSOR_HAS_NAME;
    v->def = DEF_INITIALIZER;
    v->node = 0;
    v->init = data;
    v->constant = data;
    v->content = NULL; // said in dims of the nodes that go
    v->ncontent = 0;
    vec_push(f->m->arena, &graph_at(f->m, v->graph)->initializers, ((Initializer){id, data}));
}

static int64_t bytes_of(const InterpTensor *t)
{
    int64_t bytes = dtype_info(t->dtype)->bytes;
    for (uint32_t k = 0; k < t->rank; k++)
        bytes *= t->dims[k];
    return bytes;
}

static void keep_results(Fold *f, NodeId n, Module *mod, InterpTensor *out, int64_t allowed)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        bytes += bytes_of(&out[i]);
    if (bytes <= allowed) {
        graph_remove(f->m, n);
        for (uint32_t i = 0; i < mod->outputs.len; i++)
            make_initializer(f, buffer_at(mod, mod->outputs.at[i])->value, &out[i]);
        f->changed = true;
    }
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        interp_free(&out[i]);
    f->budget -= bytes;
}

static void fold_node(Fold *f, NodeId id)
{
    const Node *n = node_at(f->m, id);
    int64_t bytes = n->dead ? -1 : operands_of(f, n);
    bool known = true; // by their shapes alone: nothing to compute
    for (uint32_t i = 0; i < n->nout; i++)
        known = known && (!n->out[i] || value_at(f->m, n->out[i])->constant);
    if (bytes < 0 || known)
        return;
    Diags quiet;
    diags_init(&quiet, f->scratch, STR_NONE);
    f->budget -= bytes + f->m->values.len;
    Module *mod = lower_node_alone(f->m, id, &quiet);
    if (!mod || quiet.errors || mod->inputs.len > MAX_PORTS || mod->outputs.len > MAX_PORTS)
        return;
    InterpTensor in[MAX_PORTS], out[MAX_PORTS];
    for (uint32_t i = 0; i < mod->inputs.len; i++)
        if (!bind_operand(f, buffer_at(mod, mod->inputs.at[i]), &in[i]))
            return;
    int64_t allowed = bytes + MAY_GROW;
    InterpLimits limits = {.max_bytes = (uint64_t)allowed * 4, .max_operations = MAX_OPERATIONS};
    Str error;
    if (interp_run(mod, in, out, &limits, &error))
        keep_results(f, id, mod, out, allowed);
    else
        f->budget -= COST_OF_FAILURE; // the program will say what is wrong, where it comes so far
}

bool pass_fold_constants(Model *m, PassContext *c)
{
    Fold f = {.m = m, .scratch = arena_new(), .budget = BUDGET};
    f.kept = NEWS(f.scratch, uint8_t, m->values.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
            f.kept[graph_at(m, g)->outputs.at[i].value] = 1;
    graph_walk(m, m->main, collect, &f);
    for (uint32_t i = 0; i < f.nodes.len && f.budget > 0; i++)
        fold_node(&f, f.nodes.at[i]);
    arena_free(f.scratch);
    return !f.changed || pass_infer(m, c); // shapes that hung on folded values are known now
}
