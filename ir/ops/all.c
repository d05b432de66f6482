#include "ir/ops/all.h"

// One line a family, in alphabetical order: declared here, listed below.
extern const OpDef ops_activation[];
extern const OpDef ops_arithmetic[];
extern const OpDef ops_cast[];
extern const OpDef ops_compare[];
extern const OpDef ops_constant[];
extern const OpDef ops_control[];
extern const OpDef ops_movement[];
extern const OpDef ops_parts[];

const OpDef *const op_families[] = {
    ops_activation,
    ops_arithmetic,
    ops_cast,
    ops_compare,
    ops_constant,
    ops_control,
    ops_movement,
    ops_parts,
    NULL,
};
