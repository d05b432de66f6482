// The data that a command runs a model on, one set of inputs at a time.
#ifndef CAMEO_TOOLS_DATASETS_H
#define CAMEO_TOOLS_DATASETS_H

#include "tools/inputs.h"

typedef struct DataSets {
    const Tool *tool;
    Arena *arena;
    const cameo_model *model;
    const char *path; // of the model: where data sets are looked for if none is given
    // Folders with input_0.pb or test_data_set_N; files and NAME=FILE, which are one set together.
    const char *const *data;
    int ndata;
    void *user;
    // Gives inputs that no file has; may be NULL.
    int (*prepare)(void *user, Inputs *in);
    int (*run)(void *user, Inputs *in);
} DataSets;

// Calls run for each set, in order, until it fails. Without data: the data sets beside the model,
// else numbers that are made up (*made_up). 0, or an exit status with everything said.
int datasets_each(const DataSets *d, bool *made_up);

#endif
