// Functions of runtime/ in a unit of their own, compiled beside the model's: its text depends on
// which parts a model needs, which of their functions it calls, and on nothing else of it.
//
// What may stand apart says so in its declaration: functions that are
// `static __attribute__((noinline, unused))` and tables that are `static __attribute__((unused))`,
// at the beginning of a line. In one unit they are just that, and so are those that no other unit
// names: what nobody needs is not compiled. `static inline` functions are part of every unit.
#ifndef CAMEO_CODEGEN_UNITS_H
#define CAMEO_CODEGEN_UNITS_H

#include "base/str.h"

#include <stdbool.h>

// The text with those functions and tables defined for other units of the program that the n texts
// `users` name, themselves or by inline functions of the text.
void unit_define(Buf *out, Str text, const Str *users, uint32_t n);
// The text with those kinds defined for other units, whoever names them, and declarations in place
// of the others. UNIT_OF_TARGET: their names end with CAMEO_TARGET (unit_targets).
enum { UNIT_FUNCTIONS = 1, UNIT_TABLES = 2, UNIT_OF_TARGET = 4 };
void unit_share(Buf *out, Str text, unsigned defined);
// The text of a whole unit without what nothing in it needs: inline functions and tables that no
// function names, macros of the runtime (CAMEO_...) and names of types likewise, and the compiler's
// header of instructions, which takes longer to read than all of the text, where no name is left
// that is one of its own (_mm..., __m...).
void unit_prune(Buf *out, Str text);
// What names of a target are made with: before the first text that has them.
void unit_targets(Buf *out);

#endif
