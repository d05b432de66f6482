// A forest of decision trees as flat tables: what both encodings of tree ensembles become.
#ifndef CAMEO_IR_OPS_ML_FOREST_H
#define CAMEO_IR_OPS_ML_FOREST_H

#include "ir/ops/ml.h"

// As TreeEnsemble-5 numbers them.
typedef enum NodeMode { MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODE_MEMBER } Mode;

// Inner nodes 0 .. nnodes-1, leaves 0 .. nleaves-1. A place (child or root) is an inner node, or
// -1 - leaf.
typedef struct Forest {
    uint32_t nnodes, nleaves, ntrees, nvotes, nmembers;
    int64_t *feature, *mode, *yes, *no;
    int64_t *missing;      // 1: NaN goes to yes, whatever the mode says
    double *threshold;     // of nodes that are no MEMBER
    int64_t *first_member; // nnodes + 1: members[first_member[i]] and after
    double *members;
    int64_t *roots;
    int64_t *first_vote; // nleaves + 1
    int64_t *target;     // by vote
    double *weight;
    int64_t features; // 1 + the greatest feature read
    bool wide;        // numbers given as float64
} Forest;

// The operator's attributes, checked: lengths fit, places exist, no walk runs in a circle, targets
// lie below `targets`. NULL with not_supported otherwise.
const Forest *forest_read_nodes(Lower *l, const char *votes, uint32_t targets); // "class", "target"
const Forest *forest_read_5(Lower *l, uint32_t targets);

#endif
