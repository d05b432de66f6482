// Repair of dtype conflicts.
#ifndef CAMEO_PASSES_INSERT_CASTS_H
#define CAMEO_PASSES_INSERT_CASTS_H

#include "base/diag.h"
#include "ir/graph.h"

typedef struct Repair {
    bool unsafe; // apply what is not safe too
    uint32_t casts, transfers, retyped;
    uint32_t lower_bound; // casts and transfers that no repair can do without
} Repair;

// Mends operand conflicts (DT001) and outputs that are not what they are declared as (DT002):
// constants are stored in the other dtype, anything else gets one Cast shared by all its uses. What
// may be done follows `unsafe`. true if something changed.
bool insert_casts(Model *m, Repair *r);
// One Identity with metadata "cameo.device" for each (value, device) that crosses (DV001).
bool insert_transfers(Model *m, Repair *r);

#endif
