// What differs between the languages that kernels are printed in: data and a few hooks. The
// printer (codegen/print_expr.c, codegen/print_stmt.c) is the same for all.
#ifndef CAMEO_CODEGEN_DIALECT_H
#define CAMEO_CODEGEN_DIALECT_H

#include "ir/kernel.h"

typedef struct Printer Printer; // codegen/printer.h

typedef struct Dialect {
    const char *name;
    const char *type[DT_COUNT]; // of an element in memory; NULL: the dtype must be legalised away
    const char *index;          // of dims and indices
    const char *row;            // before the type of a row that a group shares: "__shared__ "
    const char *restrict_;      // between '*' and a parameter's name
    bool rows; // loops may be collapsed, reductions computed for a row of outputs at a time, exp,
               // tanh and erf of float32 are arithmetic that becomes vectors, and the text says
               // which products are added without being rounded (cameo_muladd of cameo_math.h)
    // Opens a kernel: comment, signature, '{'. Closes it: '}'.
    void (*kernel_begin)(Printer *p, const Kernel *k);
    void (*kernel_end)(Printer *p, const Kernel *k);
    // Prints the body of a kernel. NULL: its statements one after another.
    void (*body)(Printer *p, const Kernel *k);
    const char *lane, *lanes;    // of a group that computes reductions together (Printer.together)
    const char *slice, *nslices; // the same of the threads of one point (Printer.slices)
    // Prints an update (scatter) of `at` with `value`, both text; NULL: at = op(at, value).
    // `parallel`: a parallel loop is around it.
    void (*update)(Printer *p, const Stmt *s, const char *at, const char *value, bool parallel);
} Dialect;

extern const Dialect dialect_c;

#endif
