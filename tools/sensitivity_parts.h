// What the files of tools/sensitivity.h share.
#ifndef CAMEO_TOOLS_SENSITIVITY_PARTS_H
#define CAMEO_TOOLS_SENSITIVITY_PARTS_H

#include "passes/taken_branches.h"
#include "tools/sensitivity.h"

enum { MAX_BRANCH_ROUNDS = 6, MAX_CHOOSING_SETS = 4096 };

// The branches that the first data set takes, from the outermost inwards.
typedef struct BranchChoices {
    int8_t taken[MAX_BRANCH_ROUNDS][MAX_ASKED];
    uint32_t count[MAX_BRANCH_ROUNDS];
    uint32_t rounds, first;
    bool other[MAX_CHOOSING_SETS]; // data sets that take another branch somewhere
} BranchChoices;

// 0, or an exit status with everything said.
int branches_choose(const Tool *t, const SensOptions *o, BranchChoices *c);
// Puts the branches chosen in the places of their Ifs.
bool branches_apply(const BranchChoices *c, Model *m, Diags *diags);

#endif
