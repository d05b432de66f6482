// What the files of the printer share among themselves.
#ifndef CAMEO_CODEGEN_PRINT_PARTS_H
#define CAMEO_CODEGEN_PRINT_PARTS_H

#include "codegen/printer.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MAX_LOOPS = 64 }; // variables of one reduction

const char *print_index_bare(Printer *p, Index i); // without parentheses around a sum
// Without the parentheses that hold all of it.
const char *without_parentheses(Printer *p, const char *s);
Index linear_index(Printer *p, uint32_t rank, const Index *dims, const Index *at);
const char *print_row_element(Printer *p, const Stmt *set);
const char *print_binary_op(Printer *p, BinaryOp op, DType t, const char *a, const char *b);
const char *type_of_value(Printer *p, DType t);
// From here to the end of the block, variable t`temp` holds e.
void memo_add(Printer *p, const Expr *e, uint32_t temp);
uint32_t index_weight(Printer *p, Index i, uint32_t limit);
const char *print_reduce(Printer *p, const Expr *e);

#endif
