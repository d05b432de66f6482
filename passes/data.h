// Data files as they are given to the inputs of a model: do shape and values fit, and what becomes
// of those that do not.
#ifndef CAMEO_PASSES_DATA_H
#define CAMEO_PASSES_DATA_H

#include "ir/graph.h"

enum { DATA_MAX_RANK = 16 };

// One tensor of a file.
typedef struct DataTensor {
    Str file, member; // as the user named it; which array of an .npz or column of a .csv, or absent
    ValueId input;    // which of the model it is for
    DType dtype;      // DT_NONE: elements that no tensor holds
    DType turned;     // what the elements are once their bytes are turned round; DT_NONE: nothing
    Str type;         // what the file calls its elements: "<f8", "record"; absent: by the dtype
    bool by_text;     // a .csv: the dtype is the one that pandas.read_csv makes
    bool columns;     // elements stand column by column
    uint32_t rank;
    int64_t dims[DATA_MAX_RANK];
    uint64_t count;
    const unsigned char *elements; // in memory's form, of any alignment
    Str hint;                      // what to know of how it was read; absent: nothing
} DataTensor;

// What was given to one model (Model.data).
typedef struct DataSet {
    VEC(DataTensor) all;
} DataSet;

// What happens to the values where they become another dtype.
typedef struct DataFit {
    uint64_t count;
    uint64_t rounded;      // get another value, near by
    uint64_t cut;          // fractions where integers are held; numbers but 0 and 1 where bool is
    uint64_t beyond;       // outside of what the dtype holds
    uint64_t nans;         // NaN and infinities where integers are held
    uint64_t without;      // NaN that the file holds
    uint64_t endless;      // infinities that it holds
    uint64_t no_number_at; // the first of these
    uint64_t at;   // the first element of the worst of these kinds, as it stands in the file
    double lo, hi; // least and greatest that is not NaN; lo > hi: there is none
    bool integer;  // every element is an integer
    double worst;  // the greatest difference of those rounded
} DataFit;

// Can one dtype be made of the other at all? Numbers of numbers, anything of itself.
bool data_converts(DType from, DType to);
// One pass over the elements. The tensor's dtype has to convert.
DataFit data_fit(const DataTensor *d, DType to);
static inline uint64_t data_changes(const DataFit *f)
{
    return f->rounded + f->cut + f->beyond + f->nans;
}
// Element i, as it stands in the file.
Scalar data_element(const DataTensor *d, uint64_t i);
// "[0, 2]": the place of element i, as it stands in the file. "3.5": its value.
Str data_place(Arena *a, const DataTensor *d, uint64_t i);
Str data_value(Arena *a, const DataTensor *d, uint64_t i);

// How the dims of data have to be changed to be the input's.
typedef enum DataShape {
    DATA_FITS,
    DATA_EXPANDS,  // dims of 1 are missing in front or behind
    DATA_SQUEEZES, // dims of 1 are too many there
    DATA_LAYOUT,   // channels stand last instead of behind the batch, or the other way
    DATA_MISFIT
} DataShape;

typedef struct DataPlan {
    DataShape shape;
    uint32_t rank;                // of the result
    int64_t dims[DATA_MAX_RANK];  // of the result
    uint32_t from[DATA_MAX_RANK]; // LAYOUT: the axis, of the data with a dim of 1 in front where
                                  // `expanded`, that becomes this one
    bool expanded;
    const char *have, *want; // LAYOUT: "NHWC", "NCHW"
    uint32_t wrong;          // MISFIT of equal ranks: the first dim that differs
} DataPlan;

// The sizes that an input has to have, -1 where any will do: its own dims, and the channels that a
// Conv right behind it has weights for (*by: that node, 0 where the input says all). False: its
// rank is not known. The model is inferred.
bool data_dims(const Model *m, const Uses *uses, ValueId input, uint32_t *rank,
               int64_t dims[DATA_MAX_RANK], NodeId *by);
DataPlan data_plan(const DataTensor *d, uint32_t rank, const int64_t *dims);

// "[1, ?, 224, 224]"
Str data_shown_dims(Arena *a, uint32_t rank, const int64_t *dims);
// "x.npy", "x.npz (array "x")", as messages say it.
Str data_shown_file(Arena *a, const DataTensor *d);

#endif
