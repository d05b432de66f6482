// Functions of one byte: what depends on an element of 8 bits alone has 256 values.
#ifndef CAMEO_CODEGEN_BYTE_FUNCTION_H
#define CAMEO_CODEGEN_BYTE_FUNCTION_H

#include "ir/kernel.h"

enum { BYTE_VALUES = 256, BYTE_LEAST = 8 * BYTE_VALUES }; // elements that a table is made for

// The load of int8 or uint8 that e is a function of, without loops, rows and other loads; NULL: it
// is no such thing. The load itself is none.
const Expr *byte_function(const Expr *e);
// The same where one look-up is cheaper than what e computes.
const Expr *byte_dear(const Expr *e);
// A weight of e for each of the 256 bytes, as the interpreter has it, by the bits of the byte; 0:
// e, of float32 or 8 bits, is no function of one byte.
BufferId byte_table(Module *mod, const Expr *e, Str name);
// The element that e, a look-up in such a table, looks up; NULL: it is none.
const Expr *byte_looked_up(const Module *mod, const Expr *e);

#endif
