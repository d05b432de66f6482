// What the values of a model were when it ran on calibration data.
#ifndef CAMEO_PASSES_MEASURED_H
#define CAMEO_PASSES_MEASURED_H

#include "ir/graph.h"

enum { MEASURED_RANKS = 8 };

// One value, over all data and all iterations of loops around it.
typedef struct Measured {
    Str name;    // the value's, whose id it is listed by
    DType dtype; // that it had
    NodeId node; // that gave it; 0: an input
    // Elements: how many; of these 0, NaN, +inf and -inf. count 0: it was never computed.
    double count, zeros, nans, above, below;
    double least, greatest;      // of finite elements; least > greatest: none
    double tiny;                 // least magnitude of a finite element that is not 0; 0: none
    int32_t rank;                // -1: more than are kept
    double dims[MEASURED_RANKS]; // the greatest that each was
} Measured;

typedef struct MeasuredSet {
    Measured *at;     // by ValueId of the model as it was loaded, its functions inlined
    uint32_t n;       // listed
    uint32_t nvalues; // of the model before it was repaired; 0: nothing was
    uint32_t sets;    // of data
    const char *from; // the folder
} MeasuredSet;

// What was measured of a value of m (Model.measured); NULL: nothing. A value that is not the one
// that was measured, by name, dtype or node, has nothing either; nor has, in a model that a repair
// added values to, what was not finite: that may be what was mended.
const Measured *measured_of(const Model *m, ValueId v);

#endif
