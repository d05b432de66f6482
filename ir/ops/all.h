// The families of operators: the one place that lists them.
#ifndef CAMEO_IR_OPS_ALL_H
#define CAMEO_IR_OPS_ALL_H

#include "ir/registry.h"

extern const OpDef *const op_families[]; // ends with NULL

#endif
