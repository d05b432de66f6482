// The ranks that the standard fixes for operands.
#ifndef CAMEO_IR_OPS_RANKS_H
#define CAMEO_IR_OPS_RANKS_H

#include "ir/registry.h"

enum { ANY_RANK = 255, LIKE_FIRST = 254, NUMBER = 253 };

// Input `input` of the operator has a rank from least to most. As least: LIKE_FIRST, the rank of
// input 0; NUMBER, one element of any rank up to most.
typedef struct RankRule {
    const char *op; // NULL ends a list
    uint8_t input, least, most;
} RankRule;
extern const RankRule ms_ranks[]; // domain com.microsoft

// What is wrong with the ranks of a node's operands (all known), NULL if nothing is.
const char *rank_fault(const Model *m, const Node *n);
// Does any rule speak of the node's operator? The others have no rank_fault.
bool ranks_has(const Node *n);
// The same for their kinds (tensor, sequence, optional, map), where they are known.
const char *kind_fault(const Model *m, const Node *n);

// May the value be one number, of a rank up to `most`, as far as its dims are known?
bool rank_is_number(const Value *v, int32_t most);

// Does the operator take one number as that input (a scalar, or a vector of one element)?
bool rank_wants_number(const Node *n, uint32_t input);

// The rank that a value of unknown rank must have for the nodes of the main graph that use it, by
// ValueId: what the standard fixes, and what is asked of a result that has its operand's shape.
typedef struct WantedRank {
    int32_t rank; // -1: any
    NodeId by;
} WantedRank;
WantedRank *ranks_wanted(const Model *m); // m->values.len of them, in m->arena

#endif
