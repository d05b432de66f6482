// Shape rules: what an operator's row says of its outputs, given its inputs.
//
// infer_model runs the rules over the whole model in order, forward, into subgraphs and (after
// inlining) functions; dtypes follow the schema's type variables, a rule only sets what the schema
// leaves open.
#ifndef CAMEO_IR_INFER_H
#define CAMEO_IR_INFER_H

#include "ir/registry.h"

struct Infer {
    Model *model;
    Polys *polys;
    Arena *arena;
    Diags *diags; // findings about shapes and dtypes; may be NULL
    NodeId node;
    const Node *n; // the node in question; invalid after something is added to the model
    bool failed;   // infer_error was called
};

// dtypes, symbolic shapes, symbolic contents and constants of every value, each with its Why. Runs
// registry_bind first. Conflicts are left to the lint rules: inference takes the declared type,
// else the dominant side's, and goes on. Shape errors are reported as DT-less errors through diags
// (rule "ST012").
void infer_model(Model *m, Diags *diags);
// The same for one node whose inputs are known (passes that insert nodes use it).
void infer_node(Model *m, NodeId n, Diags *diags);
// Of a value that is a constant: dtype, dims and content are those of t, which the value keeps. why
// is a WHY_...
void infer_tensor(Model *m, ValueId v, const TensorData *t, int why);

// What inference takes for the model's own float dtype (Model.dominant).
DType infer_dominant_dtype(const Model *m);

// What a rule may ask. i counts inputs; absent inputs (past the end, or empty name) are NULL.
const Value *infer_in(Infer *s, uint32_t i);
int32_t infer_rank(Infer *s, uint32_t i); // -1: unknown or absent
Index infer_dim(Infer *s, uint32_t i,
                int64_t axis); // axis may be negative; only where the rank is known
// The elements of a small integer input, known symbolically (a constant's are polynomials too);
// NULL if not.
const Index *infer_content(Infer *s, uint32_t i, uint32_t *len);
// A constant input's elements, decoded (Value.constant and tensor_elements), or NULL.
const void *infer_constant(Infer *s, uint32_t i, const TensorData **data);
// An axis of rank `rank` from an attribute: negative counts from the end; out of range is an error
// (returns -1).
int64_t infer_axis(Infer *s, int64_t axis, int64_t rank);

// What a rule may say. o counts outputs; those that are absent are ignored.
void infer_shape(Infer *s, uint32_t o, uint32_t rank, const Index *dims); // copied
void infer_same(Infer *s, uint32_t o, uint32_t i);                        // the shape of input i
void infer_dtype(Infer *s, uint32_t o, DType t);
// The dtype of input i, where that is known: output o follows it.
void infer_dtype_of(Infer *s, uint32_t o, uint32_t i);
void infer_set_content(Infer *s, uint32_t o, uint32_t len, const Index *elements); // copied
void infer_set_constant(Infer *s, uint32_t o, const TensorData *t);
// A dim that is known only when the program runs, once this node has run. The lowering defines it
// (lower_define_dim). Asking again for the same (output, k) of a node gives the same dim.
Index infer_data_dim(Infer *s, uint32_t o, uint32_t k, const char *name);
// Two dims that must be one: false where they are known to differ, which the rule then reports.
// What is not known when compiling the program checks before it runs the node.
bool infer_require(Infer *s, Index a, Index b);
// The same, where a may be 1 instead: it broadcasts to b.
bool infer_require_into(Infer *s, Index a, Index b);
// Has the program check that a and b fit in that way, before it runs the node.
void infer_note(Infer *s, Index a, Index b, Fit fit);
// Input i, where it is given and has that rank, must have these dims; NULL: any. An error where one
// is known to differ.
void infer_fits(Infer *s, uint32_t i, uint32_t rank, const Index *dims);
// The dim that two broadcast dims give, whatever of 0, 1 and more they turn out to be; a mismatch
// of constants is an error.
Index infer_broadcast_dim(Infer *s, Index a, Index b);
Index dims_broadcast(Polys *p, Index a, Index b); // the same of two that fit
// The shape that inputs first..last-1 broadcast to (numpy); false if some rank is unknown.
bool infer_broadcast(Infer *s, uint32_t first, uint32_t last, uint32_t *rank, Index *dims);
void infer_error(Infer *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Contents: output 0 element by element from inputs 0 and 1 (broadcast over rank 0 and 1), where
// both are known.
typedef Index (*ContentFn)(Polys *p, Index a, Index b);
void infer_content_binary(Infer *s, ContentFn fn);
// Output o has the content of input i (Cast between integers, Identity, Reshape to rank <= 1 ...).
void infer_content_copy(Infer *s, uint32_t o, uint32_t i);

// Control flow: infers the nodes of a subgraph whose inputs have been given types. Where one of
// them has a fault (Node.fault), it becomes Graph.fails and nothing is known of what stands after
// it.
void infer_graph(Infer *s, GraphId g);
// The node inside g, in whichever branch, that Graph.fails stands for.
NodeId infer_failing_node(const Model *m, GraphId g);
// The type of output o of an If from what its branches give, which is known already.
void infer_if_output(Model *m, NodeId n, uint32_t o);
// Does the dim depend on a dim variable that nodes of g (or of graphs in it) define?
bool infer_dim_is_local(Infer *s, Index dim, GraphId g);
// Gives a subgraph's input a type. dims are copied.
void infer_value(Infer *s, ValueId v, DType t, int32_t rank, const Index *dims);
// A data dim that belongs to a subgraph's value rather than to an output of this node.
Index infer_dim_of_value(Infer *s, ValueId v, uint32_t k, const char *name);

enum { MAX_RANK = 16 }; // more is refused

// Shared rules.
void same_as_0(Infer *s); // every output has the shape of input 0
void broadcast(Infer *s); // output 0: all inputs broadcast

#endif
