// Calibration data: what the values of a model are when it runs on files.
#ifndef CAMEO_TOOLS_CALIB_H
#define CAMEO_TOOLS_CALIB_H

#include "passes/measured.h"
#include "tools/tool.h"

// Runs the model of the file on data sets, in this process: it is compiled, and its clang and its
// code run. The data are a folder, an .npz, or a FILE or NAME=FILE of a model with one input. The
// result is in `a`, by the ids of the model as the file is loaded.
// 0, or an exit status with everything said: EXIT_FINDINGS: the model cannot be compiled; else the
// data (tools/datasets.h) cannot be used, or the model stopped on them.
int calib_measure(const Tool *t, const char *model, const char *data, Arena *a, MeasuredSet **set);

#endif
