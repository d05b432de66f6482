// Gradient of ai.onnx.preview.training, once passes/bind_gradients.c has copied what it
// differentiates.
#ifndef CAMEO_IR_OPS_GRADIENT_H
#define CAMEO_IR_OPS_GRADIENT_H

#include "ir/graph.h"

struct Lower;

#define TRAINING_DOMAIN "ai.onnx.preview.training"
// An operator of our own: its result equals its operand and counts as independent of it.
#define VARIABLE_OP "Variable"

bool node_is_training(const Node *n, const char *op); // an operator of that domain
bool node_is_gradient(const Node *n);
bool node_is_variable(const Node *n);
bool model_has_gradient(const Model *m);
// May what this lowering makes be derived? Then it is kernels without variables, and no call.
bool may_be_derived(const struct Lower *l);
// Has the node its copy? Its inputs are then a Variable for each of xs, values for zs, and y.
bool gradient_is_bound(const Node *n, uint32_t *nxs, uint32_t *nzs);

// Of an optimizer (Adam, Adagrad, Momentum) how many tensors it updates: behind R and T its
// operands are groups of so many X, their G, then their states. 0: it is none.
uint32_t optimizer_group(const Node *n);

#endif
