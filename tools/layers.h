// cameo verify --layers: every value of a model beside another computation of it.
#ifndef CAMEO_TOOLS_LAYERS_H
#define CAMEO_TOOLS_LAYERS_H

#include "passes/shadow.h"
#include "runtime/cameo_drift.h"
#include "tools/session.h"

typedef enum LayersFormat { LAYERS_TEXT, LAYERS_JSON, LAYERS_CSV } LayersFormat;

typedef struct LayersOptions {
    CompileOptions compile;
    const char *model, **data; // MODEL, and what follows it: folders, files, NAME=FILE
    int ndata;
    const char *against, *values, *plot; // a model; a folder of values; an SVG to write. NULL: none
    double threshold;                    // relative; negative: not given
    LayersFormat format;
} LayersOptions;

// One value, over all data.
typedef struct Layer {
    ShadowValue value;
    double numbers[DRIFT_FIELDS]; // of all data joined; iterations too
    double *rows;                 // of the last data, a row an iteration; NULL: not in a loop
    int64_t nrows;
    const char *partner; // what it was compared with, where that has a name of its own
    bool missing;        // there is nothing to compare it with
    const char *why;     // it is missing; NULL: nothing is known of that
} Layer;

typedef struct Layers {
    VEC(Layer) all; // in order of execution
    const char *model, *against;
    double threshold; // relative: greatest |total| / greatest |shadow|
    uint32_t sets;
    uint32_t alone; // values of MODEL2 that are beside no value of the model
    bool made_up;   // the inputs were
    // Where a value is not finite: the first input that was given such elements (NULL: none), and
    // the first of them.
    const char *input;
    int64_t input_at;
} Layers;

// Figures of a layer; 0 where nothing was computed.
double layer_rms(const Layer *l, int sum); // root of the mean of a DRIFT_SUM_*
// What is off beside a shadow that is 0 throughout is infinitely so.
double layer_relative(const Layer *l); // rms of total / rms of the shadow
double layer_spread(const Layer *l);   // greatest |total| / greatest |shadow|
double layer_share(const Layer *l);    // rms of made / rms of the shadow
bool layer_is_over(const Layers *s, const Layer *l);
const char *layer_kind(const Layer *l); // "computed", "exact", "control", "decides", "restarts"

int layers_run(const Tool *t, LayersOptions *o);
void layers_print_text(const Layers *s, Buf *out);
void layers_print_json(const Layers *s, Buf *out);
void layers_print_csv(const Layers *s, Buf *out);
void layers_plot(const Layers *s, Buf *out); // SVG

#endif
