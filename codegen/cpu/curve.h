// A function of each sum of a convolution that is no clip (SiLU, HardSwish, GELU ..), with what is
// added to it: a C function of its own, called for rows of y while they are in the first cache.
#ifndef CAMEO_CODEGEN_CPU_CURVE_H
#define CAMEO_CODEGEN_CPU_CURVE_H

#include "codegen/cpu/conv.h"

// The function of y that rows have (runtime/cameo_silu.h): y by its sigmoid, that itself, and that
// of -y.
typedef enum CurveRows { ROWS_NONE, ROWS_SILU, ROWS_SIGMOID, ROWS_NEGATED } CurveRows;

// The function's text is that of one store: element `at` of y becomes `value`, which reads that
// element and the one of `added` alone. Both are buffers that stand for its parameters.
typedef struct Curve {
    const Expr *value;
    BufferId y, added;
    LoopId at;
    bool adds;        // value reads `added`
    CurveRows rows;   // value is such a function of y, and then `rest` of its results
    const Expr *rest; // NULL: these are value
} Curve;

// The function that `value` is of `inner`, a part of it, and of loads that lie as y does. NULL: it
// depends on something else. lies_as_y: of a load, with `context`; *added: that load, or NULL.
Curve *curve_find(Module *mod, const Expr *value, const Expr *inner,
                  bool (*lies_as_y)(void *context, const Expr *load), void *context,
                  const Expr **added);

// Prints the function in front of the kernel that is printed, under the name curve_name, for link
// number `link` of its chain.
void curve_print(Printer *p, const Curve *c, int link);
const char *curve_name(Printer *p, int link);

#endif
