// Computes when compiling what depends on constants only: such a node goes, its results become
// initializers.
//
// The interpreter runs the node's own lowering, so that a folded result is what the program would
// have computed; products of float32 are summed in the same order by a loop of their own. A node
// is left alone where that would make the model larger (an Expand, weights that are kept in few
// bits, but for those of convolutions, which would be widened in each run), takes too long, or
// gives an output of the model or of a branch. What grows and is read by
// nodes of constants alone (places that a ScatterND is told one by one) is known while the pass
// runs, so that what comes of it in the end is compared with the constants that it began with.
// Layers that make the same of the same have it computed once. What reads a result is inferred anew
// before its turn comes, so that a size that folding made a number (pads that exporters compute in
// floats) is one for the layers that follow. The effort of the whole pass is
// bounded by budgets: of bytes, and of multiplications.

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
    BUDGET = 1500000000,       // bytes and table entries that the pass may touch
    SMALL_BUDGET = 10000000,   // of nodes of few bytes, a budget apart
    LARGEST = 8000000,         // elements of an operand
    SMALL = 4096,              // bytes of such a node's operands and results
    MOST_FAILURES = 16,        // nodes that the interpreter may give up, of either budget
    MAX_OPERATIONS = 20000000, // of one node
    MAY_GROW = 1 << 16,        // bytes by which results may be larger than operands and a half
    MAY_SWELL = 1 << 22,       // bytes of results that are known for the time of the pass
    MAY_WIDEN = 16,            // times as large as what they are made of windows may be
    MAX_PORTS = 64,
};

enum { AS_WINDOW = 1, ELSE = 2 }; // how a value is needed: by a convolution as its window

static const int64_t MULTIPLICATIONS = 16000000000; // of all products of matrices

typedef struct Fold {
    Model *m;
    Arena *scratch;
    VEC(NodeId) nodes;
    uint8_t *kept;    // by value: an output of some graph
    uint8_t *needed;  // by value: how nodes that run in the program read it
    uint8_t *news;    // by value: more is known of it than before the pass
    int64_t *rests;   // by value that is known for the time of the pass: bytes that it is made of
    VEC(ValueId) swollen; // these values
    VEC(NodeId) done; // nodes of large constants that were computed
    int64_t budget, small_budget, multiplications;
    bool changed;
} Fold;

static void collect(void *context, NodeId n)
{
    Fold *f = context;
    vec_push(f->scratch, &f->nodes, n);
}

static bool has_bodies(const Node *n)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g || n->attrs[i].ngraphs)
            return true;
    return false;
}

// May the node be computed now, once its operands are known?
static bool is_plain(const Fold *f, const Node *n)
{
    if (has_bodies(n))
        return false;
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && (f->kept[n->out[i]] || kind_is_list(value_at(f->m, n->out[i])->kind)))
            return false;
    if (n->dead || node_is_random(n) || node_is_variable(n) || node_is_widen(n))
        return false;
    return n->nout && n->def && n->def->lower && !n->fault.at;
}

static bool is_window(const Node *n, uint32_t operand)
{
    return operand == 1 && (node_is(n, "Conv") || node_is(n, "ConvTranspose"));
}

// How do nodes that are not of constants alone read each value?
static void find_needed(Fold *f)
{
    uint8_t *known = NEWS(f->scratch, uint8_t, f->m->values.len);
    for (uint32_t i = 0; i < f->nodes.len; i++) {
        const Node *n = node_at(f->m, f->nodes.at[i]);
        bool all = n->nin > 0 && is_plain(f, n);
        for (uint32_t k = 0; k < n->nin && all; k++)
            all = !n->in[k] || known[n->in[k]] || value_at(f->m, n->in[k])->constant;
        for (uint32_t k = 0; k < n->nin && !all; k++)
            f->needed[n->in[k]] |= is_window(n, k) ? AS_WINDOW : ELSE;
        for (uint32_t k = 0; k < n->nout && all; k++)
            known[n->out[k]] = 1;
    }
}

typedef struct Bytes {
    int64_t all, rest; // of the operands; of the constants that these are made of. -1: unknown
} Bytes;

static Bytes operands_of(const Fold *f, const Node *n)
{
    const Bytes none = {-1, -1};
    Bytes sum = {0, 0};
    bool any = false;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        const TensorData *t = value_at(f->m, n->in[i])->constant;
        uint64_t count = t ? tensor_count(t) : UINT64_MAX;
        if (count > LARGEST)
            return none;
        int64_t bytes = (int64_t)(count * dtype_info((DType)t->dtype)->bytes);
        sum.all += bytes;
        sum.rest += f->rests[n->in[i]] ? f->rests[n->in[i]] - 1 : bytes;
        any = true;
    }
    return any && is_plain(f, n) ? sum : none;
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
static void make_initializer(Fold *f, ValueId id, const TensorData *of)
{
    Value *v = value_at(f->m, id);
    TensorData *data = NEW(f->m->arena, TensorData);
    *data = *of;
    data->name = v->name;
    data->has |= TENSOR_HAS_NAME;
    v->def = DEF_INITIALIZER;
    v->node = 0;
    v->init = data;
    v->content = NULL; // said in dims of the nodes that go
    v->ncontent = 0;
    infer_tensor(f->m, id, data, WHY_INITIALIZER);
    f->news[id] = 1;
    vec_push(f->m->arena, &graph_at(f->m, v->graph)->initializers, ((Initializer){id, data}));
}

static int64_t bytes_of(const InterpTensor *t)
{
    int64_t bytes = dtype_info(t->dtype)->bytes;
    for (uint32_t k = 0; k < t->rank; k++)
        bytes *= t->dims[k];
    return bytes;
}

// What a node makes, as far as it makes it.
typedef struct Results {
    uint32_t n;
    ValueId at[MAX_PORTS];
    const TensorData *data[MAX_PORTS];
} Results;

static bool is_worth(const Fold *f, const Results *r, int64_t bytes, int64_t rest)
{
    bool windows = true;
    for (uint32_t i = 0; i < r->n; i++)
        windows = windows && f->needed[r->at[i]] == AS_WINDOW;
    return bytes <= rest + rest / 2 + MAY_GROW || (windows && bytes / MAY_WIDEN <= rest);
}

static bool may_swell(const Fold *f, const Results *r, int64_t bytes)
{
    bool apart = bytes <= MAY_SWELL;
    for (uint32_t i = 0; i < r->n; i++)
        apart = apart && !f->needed[r->at[i]];
    return apart;
}

// Takes the node's place, or lets the pass know it where that is not worth its bytes.
static void keep_results(Fold *f, NodeId id, const Results *r, int64_t bytes, int64_t rest)
{
    if (is_worth(f, r, bytes, rest)) {
        graph_remove(f->m, id);
        for (uint32_t i = 0; i < r->n; i++)
            make_initializer(f, r->at[i], r->data[i]);
        f->changed = true;
    } else if (may_swell(f, r, bytes)) {
        for (uint32_t i = 0; i < r->n; i++) {
            value_at(f->m, r->at[i])->constant = r->data[i];
            f->rests[r->at[i]] = rest + 1;
            vec_push(f->scratch, &f->swollen, r->at[i]);
        }
    }
}

// ---- nodes that were computed before ----------------------------------------------------------

static bool same_bytes(const void *a, const void *b, uint64_t n)
{
    return n == 0 || a == b || memcmp(a, b, n) == 0;
}

static bool same_attr(const Attr *a, const Attr *b)
{
    const bool simple = !a->t && !b->t && !a->sparse && !b->sparse && !a->tp && !b->tp &&
                        a->ntensors + b->ntensors + a->nsparses + b->nsparses + a->ntypes +
                                b->ntypes + a->nstrings + b->nstrings ==
                            0;
    return simple && str_eq(a->name, b->name) && str_eq(a->s, b->s) && a->type == b->type &&
           same_bytes(&a->f, &b->f, sizeof a->f) && a->i == b->i && a->nfloats == b->nfloats &&
           a->nints == b->nints && same_bytes(a->floats, b->floats, a->nfloats * sizeof(float)) &&
           same_bytes(a->ints, b->ints, a->nints * sizeof(int64_t));
}

static bool same_constant(const Fold *f, ValueId a, ValueId b)
{
    if (!a || !b || a == b)
        return a == b;
    TensorData *x = (TensorData *)(uintptr_t)value_at(f->m, a)->constant;
    TensorData *y = (TensorData *)(uintptr_t)value_at(f->m, b)->constant;
    if (!x || !y || x->dtype != y->dtype || x->rank != y->rank || x->dtype == DT_STRING ||
        !same_bytes(x->dims, y->dims, x->rank * sizeof *x->dims))
        return false;
    Str error;
    const void *of_x = tensor_elements(f->m, x, &error), *of_y = tensor_elements(f->m, y, &error);
    return of_x && of_y &&
           same_bytes(of_x, of_y, tensor_count(x) * dtype_info((DType)x->dtype)->bytes);
}

static bool same_node(const Fold *f, const Node *a, const Node *b)
{
    bool same = a->def == b->def && a->nin == b->nin && a->nout == b->nout &&
                a->nattrs == b->nattrs && a->types_opset == b->types_opset;
    for (uint32_t i = 0; i < a->nattrs && same; i++)
        same = same_attr(&a->attrs[i], &b->attrs[i]);
    for (uint32_t i = 0; i < a->nout && same; i++)
        same = !a->out[i] == !b->out[i];
    for (uint32_t i = 0; i < a->nin && same; i++)
        same = same_constant(f, a->in[i], b->in[i]);
    return same;
}

static bool take_twin(Fold *f, NodeId id, Bytes operands)
{
    const Node *n = node_at(f->m, id);
    for (uint32_t i = 0; i < f->done.len; i++) {
        const Node *twin = node_at(f->m, f->done.at[i]);
        if (!same_node(f, n, twin))
            continue;
        Results r = {.n = 0};
        int64_t bytes = 0;
        for (uint32_t k = 0; k < n->nout && k < MAX_PORTS; k++) {
            const TensorData *t = n->out[k] ? value_at(f->m, twin->out[k])->constant : NULL;
            if (n->out[k] && !t)
                return true; // nothing came of that one
            if (!t)
                continue;
            bytes += (int64_t)(tensor_count(t) * dtype_info((DType)t->dtype)->bytes);
            r.at[r.n] = n->out[k];
            r.data[r.n++] = t;
        }
        keep_results(f, id, &r, bytes, operands.rest);
        return true;
    }
    return false;
}

// ---- computing one ----------------------------------------------------------------------------

// y = a b, where b is [k, n] and a some rows of k numbers; each sum in the order of k.
static void multiply(float *restrict y, const StoredF32 *a, const StoredF32 *b, int64_t rows,
                     int64_t k, int64_t n)
{
    enum { DEEP = 64 }; // rows of b that stay in a cache
    for (int64_t low = 0; low < k; low += DEEP)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t d = low; d < low + DEEP && d < k; d++) {
                const float factor = a[i * k + d];
                for (int64_t c = 0; c < n; c++)
                    y[i * n + c] += factor * b[d * n + c];
            }
}

// A product of a matrix, or of several, with one; false: it is none, or there were too many.
static bool fold_product(Fold *f, NodeId id, Bytes operands)
{
    const Node *n = node_at(f->m, id);
    if (!str_is(n->op, "MatMul") || n->domain.len || n->nin != 2)
        return false;
    TensorData *a = (TensorData *)(uintptr_t)value_at(f->m, n->in[0])->constant;
    TensorData *b = (TensorData *)(uintptr_t)value_at(f->m, n->in[1])->constant;
    if (a->dtype != DT_F32 || b->dtype != DT_F32 || a->rank < 2 || a->rank > MAX_RANK ||
        b->rank != 2 || a->dims[a->rank - 1] != b->dims[0] || tensor_count(a) == 0)
        return false;
    int64_t dims[MAX_RANK], k = b->dims[0], rows = (int64_t)tensor_count(a) / k;
    int64_t count = rows * b->dims[1], bytes = count * (int64_t)sizeof(float);
    Str error;
    const StoredF32 *of_a = tensor_elements(f->m, a, &error);
    const StoredF32 *of_b = tensor_elements(f->m, b, &error);
    if (!of_a || !of_b || count == 0 || count > LARGEST || count * k > f->multiplications)
        return false;
    f->multiplications -= count * k;
    float *y = NEWS(f->m->arena, float, (size_t)count);
    multiply(y, of_a, of_b, rows, k, b->dims[1]);
    memcpy(dims, a->dims, a->rank * sizeof *dims);
    dims[a->rank - 1] = b->dims[1];
    Results r = {1, {n->out[0]}, {tensor_around(f->m->arena, DT_F32, a->rank, dims, y)}};
    keep_results(f, id, &r, bytes, operands.rest);
    return true;
}

static void take_results(Fold *f, NodeId id, Module *mod, InterpTensor *out, int64_t *budget,
                         int64_t rest)
{
    Results r = {.n = mod->outputs.len};
    int64_t bytes = 0;
    for (uint32_t i = 0; i < r.n; i++) {
        bytes += bytes_of(&out[i]);
        r.at[i] = buffer_at(mod, mod->outputs.at[i])->value;
    }
    const bool kept = is_worth(f, &r, bytes, rest) || may_swell(f, &r, bytes);
    for (uint32_t i = 0; i < r.n; i++) {
        if (kept)
            r.data[i] = tensor_new(f->m->arena, out[i].dtype, out[i].rank, out[i].dims,
                                   out[i].elements);
        interp_free(&out[i]);
    }
    *(bytes <= SMALL ? budget : &f->budget) -= bytes;
    if (kept)
        keep_results(f, id, &r, bytes, rest);
}

static void interpret(Fold *f, NodeId id, Bytes operands)
{
    const bool small = operands.all <= SMALL;
    int64_t *budget = small ? &f->small_budget : &f->budget;
    if (*budget <= 0)
        return;
    Diags quiet;
    diags_init(&quiet, f->scratch, STR_NONE);
    *budget -= operands.all + f->m->values.len;
    Module *mod = lower_node_alone(f->m, id, &quiet);
    if (!mod || quiet.errors || mod->inputs.len > MAX_PORTS || mod->outputs.len > MAX_PORTS)
        return;
    InterpTensor in[MAX_PORTS], out[MAX_PORTS];
    for (uint32_t i = 0; i < mod->inputs.len; i++)
        if (!bind_operand(f, buffer_at(mod, mod->inputs.at[i]), &in[i]))
            return;
    InterpLimits limits = {.max_bytes = (uint64_t)(operands.all + MAY_SWELL) * 4,
                           .max_operations = MAX_OPERATIONS};
    Str error;
    if (interp_run(mod, in, out, &limits, &error))
        take_results(f, id, mod, out, budget, operands.rest);
    else
        // the program will say what is wrong, where it comes so far
        *budget -= (small ? SMALL_BUDGET : BUDGET) / MOST_FAILURES;
}

// Infers the node once more, if more is known now of what it reads. What a node with bodies gives
// hangs on all of their nodes, and waits for the end of the pass.
static void learn(Fold *f, NodeId id)
{
    const Node *n = node_at(f->m, id);
    bool any = false;
    for (uint32_t i = 0; i < n->nin && !has_bodies(n); i++)
        any = any || f->news[n->in[i]];
    if (!any)
        return;
    infer_node(f->m, id, NULL); // what does not fit is reported when the pass ends
    n = node_at(f->m, id);
    for (uint32_t i = 0; i < n->nout; i++)
        f->news[n->out[i]] = 1;
}

static void fold_node(Fold *f, NodeId id)
{
    learn(f, id);
    const Node *n = node_at(f->m, id);
    const Bytes operands = operands_of(f, n);
    bool known = true; // by their shapes alone: nothing to compute
    for (uint32_t i = 0; i < n->nout; i++)
        known = known && (!n->out[i] || value_at(f->m, n->out[i])->constant);
    if (operands.rest < 0 || known || (operands.all > SMALL && take_twin(f, id, operands)))
        return;
    if (!fold_product(f, id, operands))
        interpret(f, id, operands);
    if (operands.all > SMALL)
        vec_push(f->scratch, &f->done, id);
}

bool pass_fold_constants(Model *m, PassContext *c)
{
    Fold f = {.m = m,
              .scratch = arena_new(),
              .budget = BUDGET,
              .small_budget = SMALL_BUDGET,
              .multiplications = MULTIPLICATIONS};
    f.kept = NEWS(f.scratch, uint8_t, m->values.len);
    f.needed = NEWS(f.scratch, uint8_t, m->values.len);
    f.news = NEWS(f.scratch, uint8_t, m->values.len);
    f.rests = NEWS(f.scratch, int64_t, m->values.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
            f.kept[graph_at(m, g)->outputs.at[i].value] = 1;
    graph_walk(m, m->main, collect, &f);
    find_needed(&f);
    for (uint32_t i = 0; i < f.nodes.len; i++)
        fold_node(&f, f.nodes.at[i]);
    for (uint32_t i = 0; i < f.swollen.len; i++)
        value_at(m, f.swollen.at[i])->constant = NULL;
    arena_free(f.scratch);
    return !f.changed || pass_infer(m, c); // shapes that hung on folded values are known now
}
