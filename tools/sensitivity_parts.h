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

// The sizes of the first data set's inputs, where a program is compiled for these alone.
typedef struct FirstSizes {
    Arena *arena;
    bool known;
    uint32_t n;
    int32_t input[MAX_FIXED];
    cameo_tensor shapes[MAX_FIXED]; // rank and dims
    const char *texts[MAX_FIXED];   // "x=1x3x224x224"
} FirstSizes;

// Of every input that is a tensor with dims, but input `probe`.
void sizes_note(FirstSizes *s, const cameo_model *m, const Inputs *in, int32_t probe);
// Adds them to what the program is compiled with.
void sizes_fix(const FirstSizes *s, CompileOptions *o);
// Has this data set the same ones? Where none are known: yes.
bool sizes_fit(const FirstSizes *s, const Inputs *in);

#endif
