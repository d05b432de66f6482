// Layouts of values: planes, as the model has them, or pixels.
//
// A value [N, C, H, W] in pixels is a buffer [N, C / lanes, H + 2 b, W + 2 b, lanes]: `lanes`
// neighbouring channels, 64 bytes, are neighbours, and a border of b pixels holds what a
// convolution takes for places outside. Indices of loads and stores are rewritten where a layout is
// chosen, so a kernel means what it meant, in any layout; nothing behind this pass knows of it but
// convolutions on matrix registers (pixel_conv.h), which read pixels where they lie.
//
// A value may be made in parts, as a Concat is: kernels that make parts of it have one label.
//
// A kernel is a variable whose label is the layout of all that it reads and makes, a value's
// adaptor is a kernel that moves it. With two labels the cheapest choice is one minimum cut
// (passes/solver/labels.h).
#ifndef CAMEO_CODEGEN_CPU_LAYOUTS_H
#define CAMEO_CODEGEN_CPU_LAYOUTS_H

#include "codegen/cpu/conv.h"

// Chooses, rewrites the kernels, and overrides the convolutions that read pixels. false with *error
// where weights cannot be read.
bool layouts_module(Module *mod, const ConvChoice *how, Str *error);

#endif
