// Calls that were inlined for a repair, put back where the repair did not touch what was copied.
#ifndef CAMEO_PASSES_RESTORE_CALLS_H
#define CAMEO_PASSES_RESTORE_CALLS_H

#include "passes/insert_casts.h"

// What the copies were like right after inline_functions; lives in `a`.
typedef struct Inlined Inlined;

// Remembers the copies of every call of an inlined model. `nopsets`: how many opset imports the
// model had before, since inlining adds those of the functions.
Inlined *inlined_remember(Model *m, Arena *a, uint32_t nopsets);

// Where a repair changed all copies of a body in the same way, changes the body, so that the copies
// are what they would be of it, and its calls can be put back: targets of Casts, constants, Casts
// added and deleted. `r` counts those of the body instead of the copies'. How many bodies changed.
uint32_t inlined_mend_bodies(Model *m, Inlined *before, Repair *r);

// Deletes Casts that copies alone have read, once inlined_restore has put their calls back.
void inlined_drop_casts(Model *m, const Inlined *before, Repair *r);

// Puts a call back for its copies if nothing of them was changed but what they take as the call's
// operands, and that alike in all places; else the calls within it, each on its own. How many
// calls stay inlined. Nodes are sorted; types are to be inferred again.
uint32_t inlined_restore(Model *m, const Inlined *before);

#endif
