// Nodes that keep their dtype because of what other nodes do to the numbers.

#include "passes/convert_parts.h"
#include "passes/retype.h"

#include <math.h>

enum { MAX_STEPS = 16 }; // nodes in a row
enum { MIN_TERMS = 8 };  // of a sum whose weights are looked at

static bool is_any(const Node *n, const char *const *names)
{
    for (; *names; names++)
        if (node_is(n, *names))
            return true;
    return false;
}

// Is its result as large as its operand, as far as is known?
static bool keeps_size(const Node *n)
{
    static const char *const names[] = {"Add",       "Sub",        "Mul",      "Sum",
                                        "Mean",      "MatMul",     "Gemm",     "Neg",
                                        "ReduceSum", "ReduceMean", "ReduceL1", NULL};
    return convert_moves(n) || is_any(n, names);
}

// What the node around a graph makes of its output: of a Loop's, the first of which says whether it
// goes on, of a Scan's and of a branch's. 0: nothing.
static ValueId given_by(const Conversion *c, const Use *output)
{
    const NodeId owner = graph_at(c->m, output->graph)->owner;
    const Node *n = owner ? node_at(c->m, owner) : NULL;
    const uint32_t i = output->index - (n && node_is(n, "Loop"));
    return n && i < n->nout ? n->out[i] : 0;
}

// A Cast of it to float16 would overflow where the node does not.
static void forbid_uses(Conversion *c, ValueId v, uint32_t steps)
{
    for (uint32_t i = c->t->first_use[v]; i < c->t->first_use[v + 1]; i++) {
        const Use *use = &c->t->uses.at[i].use;
        const NodeId id = use->node;
        const Node *n = id ? node_at(c->m, id) : NULL;
        const ValueId outside = n ? 0 : given_by(c, use);
        if (outside && steps)
            forbid_uses(c, outside, steps - 1);
        if (!n || node_is(n, "Cast") || c->of_node[id] == NO_TIE)
            continue;
        convert_forbid(c, c->t->uses.at[i].tie, STR("it reads what nothing bounds"), v);
        const ValueId y = n->nout ? n->out[0] : 0;
        if (y && steps && keeps_size(n) && !convert_is_bounded(c, y))
            forbid_uses(c, y, steps - 1);
    }
}

void convert_forbid_readers(Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    if (n->nout && n->out[0])
        forbid_uses(c, n->out[0], MAX_STEPS);
}

static const char *const differences[] = {"Add", "Sub", "Sum", NULL};

// The nodes that v is a sum of, and those that compute what is added.
static void forbid_terms(Conversion *c, ValueId v, Str why, ValueId under, uint32_t steps)
{
    const Value *value = v ? value_at(c->m, v) : NULL;
    const NodeId id = value && value->def == DEF_NODE ? value->node : 0;
    const Node *n = id ? node_at(c->m, id) : NULL;
    if (!n || c->of_node[id] == NO_TIE || node_is(n, "Cast"))
        return;
    convert_forbid(c, c->of_node[id], why, under);
    if (steps && (is_any(n, differences) || convert_moves(n)))
        for (uint32_t i = 0; i < n->nin; i++)
            forbid_terms(c, n->in[i], why, under, steps - 1);
}

// Where terms cancel, as in |x|^2 - 2 x c + |c|^2 or a variance as a difference of means, a
// rounding of the terms is as large as the result, or makes it negative.
void convert_forbid_difference(Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    const ValueId x = n->nin ? n->in[0] : 0;
    const Value *value = x ? value_at(c->m, x) : NULL;
    if (!value || (!node_is(n, "Sqrt") && !node_is(n, "Log")) || value->def != DEF_NODE ||
        !is_any(node_at(c->m, value->node), differences))
        return;
    const Range r = range_of(c->facts->ranges, x);
    if (r.known && r.lo >= 0)
        return;
    const Str why = STR("terms may cancel under a Sqrt or Log: rounded, they may be negative");
    convert_forbid(c, c->of_node[id], why, x);
    forbid_terms(c, x, why, x, MAX_STEPS);
}

// ---- weights that add up to nothing -------------------------------------------------------------

typedef struct Column {
    double sum, squares;
} Column;

// Do the weights of every column of w [rows, columns] (transposed: [columns, rows]) nearly cancel?
// Of numbers that are alike, each rounded by a relative e, their sum has lost e |w|_2 / |sum w|:
// here more than 64 e. Weights at random do so in one column of 80.
static bool columns_cancel(const Conversion *c, const TensorData *d, bool transposed)
{
    Str error;
    const unsigned char *at = tensor_elements(c->m, (TensorData *)d, &error);
    const DType t = (DType)d->dtype;
    const bool matrix = d->rank == 2;
    const uint64_t rows = (uint64_t)d->dims[transposed && matrix ? 1 : 0];
    const uint64_t columns = matrix ? (uint64_t)d->dims[transposed ? 0 : 1] : 1;
    if (!at || rows < MIN_TERMS || !columns)
        return false;
    for (uint64_t k = 0; k < columns; k++) {
        Column sums = {0};
        for (uint64_t i = 0; i < rows; i++) {
            const uint64_t place = transposed ? k * rows + i : i * columns + k;
            const double w = scalar_load(t, at + place * dtype_info(t)->bytes).f;
            sums.sum += w;
            sums.squares += w * w;
        }
        if (!(fabs(sums.sum) * 64 < sqrt(sums.squares)))
            return false;
    }
    return true;
}

// The nodes of the formula that computes v, up to products and inputs.
static void forbid_formula(Conversion *c, ValueId v, Str why, ValueId of, uint32_t steps)
{
    const Value *value = v ? value_at(c->m, v) : NULL;
    const NodeId id = value && value->def == DEF_NODE ? value->node : 0;
    const Node *n = id ? node_at(c->m, id) : NULL;
    if (!n || c->of_node[id] == NO_TIE || node_is(n, "Cast") || convert_products(c->m, id) > 0)
        return;
    convert_forbid(c, c->of_node[id], why, of);
    for (uint32_t i = 0; steps && i < n->nin; i++)
        forbid_formula(c, n->in[i], why, of, steps - 1);
}

// A sum of numbers of one sign and known size by weights that cancel, as a Gaussian process sums
// its kernel: what is left is as small as the roundings.
void convert_forbid_cancelled(Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    const bool gemm = node_is(n, "Gemm");
    if ((!gemm && !node_is(n, "MatMul")) || n->nin < 2 || !n->in[0] || !n->in[1])
        return;
    const TensorData *d = constant_data(c->m, n->in[1]);
    const Range r = range_of(c->facts->ranges, n->in[0]);
    double lo, hi;
    range_of_dtype(DT_F32, &lo, &hi);
    const bool positive = r.known && r.lo >= 0 && r.hi < hi;
    if (!d || d->rank < 1 || d->rank > 2 || !positive || constant_data(c->m, n->in[0]) ||
        !columns_cancel(c, d, gemm && node_int(n, "transB", 0)))
        return;
    const Str why = STR("summed by weights that cancel one another: what is left may be roundings");
    convert_forbid(c, c->of_node[id], why, n->in[1]);
    forbid_formula(c, n->in[0], why, n->in[1], MAX_STEPS);
}
