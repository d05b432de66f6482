// The data that a command runs a model on, one set of inputs at a time.
#ifndef CAMEO_TOOLS_DATASETS_H
#define CAMEO_TOOLS_DATASETS_H

#include "tools/inputs.h"

typedef struct DataSets {
    const Tool *tool;
    Arena *arena;
    const cameo_model *model;
    const char *path; // of the model: where data sets are looked for if none is given
    // Folders; an .npz is one set; other files and NAME=FILE, which are one set together. Data sets
    // of a folder, in the order of names: itself where it holds input_K.pb, or NAME.npy or NAME.pb
    // of its inputs ('/' and what file names lack as '_'); each .npz with arrays of the inputs'
    // names; each folder in it of the first kind; or, for a model of one input, each other .npy or
    // .pb.
    const char *const *data;
    int ndata;
    void *user;
    // Gives inputs that no file has; may be NULL.
    int (*prepare)(void *user, Inputs *in);
    int (*run)(void *user, Inputs *in);
} DataSets;

// Calls run for each set, in order, until it fails. Without data: input_K.pb or folders
// test_data_set_N beside the model, else numbers that are made up (*made_up). 0, or an exit status
// with everything said.
int datasets_each(const DataSets *d, bool *made_up);

#endif
