// Statements of the schedules of windows (windows.c, windows_flat.c), put one behind the other.
#ifndef CAMEO_CODEGEN_CPU_WINDOWS_BODY_H
#define CAMEO_CODEGEN_CPU_WINDOWS_BODY_H

#include "codegen/cpu/windows_match.h"

enum { PLANE = 4096 }; // elements of a plane on the stack

typedef struct Body {
    Module *mod;
    Stmt *first, **tail;
} Body;

Body body_of(Module *mod);
Stmt *body_append(Body *b, StmtKind kind);
Index body_fixed(Body *b, int64_t k);
// Room for n elements; for as many as a plane has where only the program knows.
LocalId body_row(Body *b, DType t, Index n);
// A parallel loop over n, whose body is filled by way of *loop.
Index body_loop(Body *b, Index n, Stmt **loop);
void body_set(Body *b, LocalId v, Index at, const Expr *value);

// What a window's reduction makes of two elements; x NULL: of none and y.
const Expr *window_joined(Module *mod, const Expr *reduce, const Expr *x, const Expr *y);
// The condition low <= i < high; NULL: no bounds.
const Expr *window_within(Module *mod, Index low, Index i, Index high);

// What puts a value in place of a window's reduction, and a row and a column in place of the loops
// over y's.
typedef struct WindowAt {
    const Window *w;
    const Expr *value;
    Index row, column;
} WindowAt;
ExprMap window_map(WindowAt *at);

// Extremes and sums over a few rows and columns of whole planes that lie one behind the other, as
// rows of many planes (windows_flat.c): what takes the place of all of the kernel's loops, `other`
// being done where planes are not such as the program may ask. NULL: the window is of another form,
// or that is no gain.
Stmt *window_flat(Window *w, Stmt *other);

#endif
