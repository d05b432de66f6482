// Where a dtype begins: the sources that a value's dtype follows from, and the way from there.
#ifndef CAMEO_PASSES_LINT_ORIGIN_H
#define CAMEO_PASSES_LINT_ORIGIN_H

#include "ir/registry.h"

// The parameter of operand i, of result o; NULL where the schema has none.
const SchemaParam *param_of_operand(const Node *n, uint32_t i);
const SchemaParam *param_of_result(const Node *n, uint32_t o);
// Has the result its dtype from an operand?
bool result_is_tied(const Node *n, uint32_t o);
// Do operands with these two parameters have to agree?
bool params_are_tied(const SchemaParam *a, const SchemaParam *b);

// One step of the way: the operand by which the dtype enters a node.
typedef struct Step {
    NodeId node;
    uint32_t operand;
} Step;

typedef struct Origin {
    uint32_t count;      // of sources, with `value`
    ValueId value;       // the source to name: of the fewest bytes, of those the first
    VEC(ValueId) others; // further sources that would have to be retyped with it
    VEC(Step) path;      // the nodes between it and the value, in order of execution
} Origin;

// Working memory for a model; one for all questions.
typedef struct Origins Origins;
Origins *origins_of(Model *m, Arena *a);

// The sources of a value's dtype, by the schemas' type variables, branches and carried values.
// `others` and `path` stay empty.
Origin origin_find(Origins *o, ValueId v);
// Fills them, of the value last asked for.
void origin_trace(Origins *o, ValueId v, Origin *r);
// And adds the sources of what control flow gives beside that: other branches, what a loop begins
// with and what its body makes. For what is told only, since one walk goes one way through them.
void origin_trace_beside(Origins *o, ValueId v, Origin *r);
// The first marked value (by id) on the way from r->value to v, the value last asked for, and v
// itself; 0: none.
ValueId origin_comes_by(const Origins *o, ValueId v, const Origin *r, const bool *marked);
// Does the dtype of the value last asked for follow from a marked one, on whatever way?
bool origin_meets(const Origins *o, const bool *marked);

// Would the model fit where `want` is expected if this source alone had that dtype, at every call
// of the function that it is in? Where its own dtype is asked for as well, by an operand of another
// origin or a declaration, it would not. With the dtype that it has: does all that follows fit?
bool origin_mends(Origins *o, const Uses *uses, ValueId source, DType want);

// The same of a value's sources together (origin_trace): would all fit if they and what follows
// from them had that dtype, and inner declarations with them?
bool origin_mends_together(Origins *o, const Uses *uses, const Origin *all, DType want);

// Bytes of a value of its dims and this dtype; UINT64_MAX where dims are open.
uint64_t origin_bytes(const Model *m, ValueId v, DType dtype);

// Which of two sources is named where either would do: that of fewer bytes, else the first.
bool origin_is_before(const Model *m, ValueId a, ValueId b);

// "initializer", "constant", "input", "cast", "attribute", "node": what a source is.
const char *origin_kind(const Model *m, ValueId v);
// Its payload where it is stored in the file; NULL for what is computed or given.
TensorData *origin_payload(const Model *m, ValueId v);

#endif
