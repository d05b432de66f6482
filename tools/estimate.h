// How far outputs may be off: the budgets of cameo.yaml or --budget, held to calibration data.
#ifndef CAMEO_TOOLS_ESTIMATE_H
#define CAMEO_TOOLS_ESTIMATE_H

#include "passes/config.h"
#include "passes/estimate.h"
#include "tools/tool.h"

// Runs the model of the file and its derivatives on the data sets of the folder (tools/calib.h says
// which those are). 0, or an exit status with everything said: EXIT_FINDINGS: the model cannot be
// compiled; EXIT_USAGE: a budget names no output of floats.
int estimate_outputs(const Tool *t, const Config *config, const char *model, const char *folder,
                     Arena *a, EstimateSet **set);

// OUT=REL, or REL for every output, into the configuration. False, with it said: it is neither.
bool estimate_take_budget(const Tool *t, Arena *a, Config *config, const char *text);

#endif
