// Repair of dtype conflicts.
#ifndef CAMEO_PASSES_INSERT_CASTS_H
#define CAMEO_PASSES_INSERT_CASTS_H

#include "base/diag.h"
#include "ir/graph.h"

typedef struct Repair {
    bool unsafe; // apply what is not safe too
    uint32_t casts, transfers, retyped;
    uint32_t retargeted;  // Casts that were there and got another target
    uint32_t others;      // changes by repairs of single rules
    uint32_t lower_bound; // casts and transfers that no repair of the kind allowed can do without
} Repair;

// Mends operand conflicts (DT001), declarations that are not what is computed (DT002), dtypes that
// an operator does not take (DT003), branches and carried values that differ: constants are stored
// in the other dtype, anything else gets one Cast for each dtype, shared by all its uses. What may
// be done follows `unsafe`. true if something changed.
bool insert_casts(Model *m, Repair *r);
// What insert_casts begins with: a QuantizeLinear that gives uint8 only because nothing says
// otherwise gets the zero point of those that read it, where that has another dtype.
bool give_zero_points(Model *m, Repair *r);
// Behind that: a constant or Cast that nothing but declarations contradicts, and that is to blame,
// gets the dtype that they say.
bool retype_belied(Model *m, Repair *r);
// QuantizeLinear takes a scale of another dtype than what it scales since opset 23, but not every
// runtime does. Does it read v with a scale of the dtype that a declaration of v says? Then the
// declaration is right, and stays.
bool says_scale(const Model *m, const Uses *uses, ValueId v, DType said);
// By value: the dtype that such a declaration says of what is of another, where no constant or Cast
// decides it that retype_belied could mend; else DT_NONE. The table belongs to the arena.
DType *belied_scaled(Model *m, Arena *a);
// What insert_casts ends with: declarations of values inside of the model say the dtypes that were
// inferred. Its own inputs and outputs are its interface and stay, but, with `unsafe`, for a
// default that its input's declaration contradicts: no runtime loads such a model. true if
// something changed.
bool declare_types(Model *m, bool unsafe);
// One Identity with metadata "cameo.device" for each (value, device) that crosses (DV001); nodes
// that nothing places run where that takes fewest. Adds to r->lower_bound, as insert_casts does.
bool insert_transfers(Model *m, Repair *r);

#endif
