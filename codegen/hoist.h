// Values that are computed once and kept: in buffers of their own, or in the row that they end in.
#ifndef CAMEO_CODEGEN_HOIST_H
#define CAMEO_CODEGEN_HOIST_H

#include "codegen/fuse_parts.h"

// Gives reductions that skip an outer parallel loop of their kernel a kernel and a buffer of their
// own, through the whole module. The kernels before are in point form, those after too.
void hoist_reductions(Fuse *f);

// y[n] = f(e(n), reduce k : g(e(k))) with a dear e, as loops that keep e in y meanwhile; apart: in
// *apart, a new buffer of one row, where e is float32 (NULL: never). Returns body itself where it
// is of another form.
Stmt *share_row(Fuse *f, Stmt *body, BufferId *apart);

#endif
