// Parts of ST011.
#ifndef CAMEO_PASSES_LINT_GIVEN_H
#define CAMEO_PASSES_LINT_GIVEN_H

#include "passes/lint/lint.h"

// What a node of a known operator lacks, or has too much, that numbers of operands do not tell.
void lint_given_node(Lint *l, NodeId id);
// Attributes of any node that refer to one of a function which does not have it.
void lint_given_references(Lint *l, NodeId id);
// A call of f with more operands or results than it has, or without an attribute.
void lint_given_call(Lint *l, NodeId id, const Function *f);

#endif
