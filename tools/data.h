// Data files that lint and convert-data look at: .npy, .npz, serialized TensorProto, .csv.
#ifndef CAMEO_TOOLS_DATA_H
#define CAMEO_TOOLS_DATA_H

#include "base/file.h"
#include "passes/data.h"

// What was read for a model. Tensors are views into the files, which stay mapped until data_close.
typedef struct DataFiles {
    Arena *arena;
    Model *m;
    DataSet set;
    VEC(FileView) views;
    int status;    // of a failure: 2 the argument cannot be used, 3 the file cannot be read
    bool bytes;    // ... because of what is in it
    ValueId input; // ... that it was for; 0: not known
    Str error;
} DataFiles;

// Takes "NAME=FILE", split at the longest name of an input, or "FILE": an .npz or .csv by the names
// inside, others in the order of the inputs. Types of the model are inferred. False: `error` says
// why.
bool data_take(DataFiles *f, const char *argument);
// A file for one input.
bool data_take_file(DataFiles *f, const char *path, ValueId input);
void data_close(DataFiles *f);
// The input of the main graph with this name; 0: there is none.
ValueId data_input(const Model *m, Str name);

// ---- for data_csv.c
bool data_fail(DataFiles *f, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Adds the table, or the column named as the input, as a tensor for `input`; 0: every column for
// the input of its name.
bool data_take_csv(DataFiles *f, const char *path, Str text, ValueId input);

#endif
