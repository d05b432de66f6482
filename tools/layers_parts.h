// What the files of cameo verify --layers share.
#ifndef CAMEO_TOOLS_LAYERS_PARTS_H
#define CAMEO_TOOLS_LAYERS_PARTS_H

#include "tools/inputs.h"
#include "tools/layers.h"

typedef struct Runner Runner;
struct Runner {
    const Tool *tool;
    LayersOptions *o;
    Session s;
    ShadowReport report;
    bool overflows; // a compact shadow did not hold what it stands for
    Layers layers;
    cameo_context *context; // of all data; NULL: none yet
    double fastest, work;   // run, and the least processor time of one, in seconds
    // Takes the figures of a run from its outputs.
    int (*collect)(Runner *r, const cameo_context *x, const Inputs *in);
    struct Beside *beside; // --against MODEL2, --against-values; NULL: the shadow
};

// Compiles the model with every value as an output, and MODEL2 where there is one.
int layers_open_beside(Runner *r);
void layers_close_beside(Runner *r);

#endif
