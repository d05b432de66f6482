#include "ir/ops/all.h"

// One line a family, in alphabetical order: declared here, listed below.
extern const OpDef ops_constant[];
extern const OpDef ops_control[];

const OpDef *const op_families[] = {
    ops_constant,
    ops_control,
    NULL,
};
