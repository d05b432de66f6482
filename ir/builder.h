// New nodes and constants for a model that a pass changes, with names that nothing has yet.
#ifndef CAMEO_IR_BUILDER_H
#define CAMEO_IR_BUILDER_H

#include "ir/graph.h"

typedef struct Builder {
    Model *m;
    Map names; // of all values
} Builder;

// Knows the names of the values that the model has now; lives in `scratch`.
Builder builder_of(Model *m, Arena *scratch);

// "base_what", or "base_what_1" and so on where that is taken; taken from now on.
Str builder_name(Builder *b, Str base, const char *what);

// Makes `id` an initializer of graph g: t, which is its own afterwards.
void value_initialize(Model *m, GraphId g, ValueId id, TensorData *t);
// The initializer t of graph g, named after `base` as above. t is the initializer's own afterwards.
ValueId builder_constant(Builder *b, GraphId g, Str base, const char *what, TensorData *t);

// A further input of the graph: a vector of n elements, typed.
ValueId builder_vector_input(Model *m, GraphId g, const char *name, DType t, int64_t n);

// A node that stands for `origin` (its name, place in the file, call), not yet in g's order. Its
// result is named after what `origin` makes, and `op`.
NodeId builder_node(Builder *b, GraphId g, NodeId origin, const char *op, const ValueId *in,
                    uint32_t nin);

// The same of one result, in g's order before `origin`, whose graph g is; its result.
ValueId builder_before(Builder *b, NodeId origin, const char *op, const ValueId *in, uint32_t nin);

// A constant vector of the graph of `origin`, named after what that makes, and `what`.
ValueId builder_integers(Builder *b, NodeId origin, const char *what, uint32_t n,
                         const int64_t *from);

// `made`, a node of one result, makes in future what the first result of `old` was; `old` goes.
void builder_replace(Builder *b, NodeId old, NodeId made);

#endif
