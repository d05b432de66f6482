// Reductions that several elements of a kernel share: the mean of a row that is normalised, the
// greatest number and the sum of a Softmax. Derived where each element computes them anew, each
// would go back over the whole row; stored once for a row, the row's adjoint is summed first.
#ifndef CAMEO_IR_ADJOINT_ROWS_H
#define CAMEO_IR_ADJOINT_ROWS_H

#include "ir/lower.h"

typedef VEC(const Kernel *) Kernels;

// Emits a kernel for each reduction that elements of k share and that `counts`, which stores it in
// a buffer of its own, and appends them to `made`, in the order of execution. Returns k, or a copy
// of it, which is no kernel of the module, that reads these buffers. k of another form than loops
// around one store stays as it is.
const Kernel *rows_apart(Lower *l, const Kernel *k, bool (*counts)(void *user, const Expr *e),
                         void *user, Kernels *made);

#endif
