#include "ir/ops/all.h"

#include <stddef.h>

#define FAMILY(name) extern const OpDef ops_##name[];
#include "ir/ops/families.def"
#undef FAMILY

#define FAMILY(name) ops_##name,
const OpDef *const op_families[] = {
#include "ir/ops/families.def"
    NULL};
#undef FAMILY
