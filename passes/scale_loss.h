// Loss scaling for training in float16.
#ifndef CAMEO_PASSES_SCALE_LOSS_H
#define CAMEO_PASSES_SCALE_LOSS_H

#include "base/diag.h"
#include "ir/graph.h"

// Multiplies what each Gradient derives by `scale`, a power of two, and divides what it gives by
// it; where an optimizer takes a gradient that is not finite, its results are its operands. In a
// model without optimizers the gradients of a Gradient are 0 where one of them is not finite. The
// main graph gets the output "gradients_finite" if gradients are looked at in it. A model that
// multiplies a loss by a constant above 1 or an input of one number scales by itself and stays as
// it is. The graph is inferred before, sorted but not inferred after. false with an error in
// `diags` where the opset has no Where, or a Gradient's y is not to be found.
bool scale_loss(Model *m, Diags *diags, double scale);

#endif
