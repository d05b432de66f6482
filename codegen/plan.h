// Where each buffer of a module stands in memory, from when it lives.
#ifndef CAMEO_CODEGEN_PLAN_H
#define CAMEO_CODEGEN_PLAN_H

#include "ir/kernel.h"
#include "runtime/cameo_plan.h"

typedef enum Place {
    PLACE_NOWHERE, // never touched
    PLACE_INPUT,   // the caller's memory
    PLACE_WEIGHT,
    PLACE_ARENA, // number `slot` of the planned values
    PLACE_BLOCK  // number `slot` of the growing blocks: the size is known in the middle of a run,
                 // or each value has memory of its own
} Place;

typedef struct Plan {
    Place *place;       // by BufferId
    uint32_t *slot;     // by BufferId
    uint8_t *data_dim;  // by DimId: steps define it (else inputs do); 2: several of them
    uint8_t *input_dim; // by DimId: stands alone as a dim of an input, or the first steps make it
                        // of such ones
    VEC(BufferId) planned, blocks;
    cameo_life *lives;      // by slot; size where fixed
    int64_t *offset;        // by slot, where fixed
    bool fixed;             // all planned sizes are constant
    bool apart;             // no arena: each value is a block of its own, as large as it is
    int64_t peak;           // bytes of the arena, where fixed
    int64_t bound;          // no plan can need less
    int64_t *weight_offset; // by BufferId, within the blob
    int64_t weights_size;   // of the blob
    int64_t weights_end;    // of what this module has of it (codegen/lowered.h); else the same
    const bool *elsewhere;  // by BufferId: another module puts it there; NULL: none does
    const char *fault; // a module that cannot be planned: a bug of a lowering
} Plan;

// patience: of the search for the least memory, CAMEO_PLAN_PATIENCE or CAMEO_PLAN_HASTE. apart: see
// there.
Plan *plan_module(Module *mod, int64_t patience, bool apart, Arena *a);

// Is the size of this buffer known in the middle of a run only?
bool plan_grows(const Plan *p, const Buffer *b);

// Bytes of a buffer whose dims are constant; -1 if they are not.
int64_t buffer_bytes(const Buffer *b);

#endif
