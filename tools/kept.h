// What `cameo compile` made and said before (codegen/results.h).
#ifndef CAMEO_TOOLS_KEPT_H
#define CAMEO_TOOLS_KEPT_H

#include "codegen/results.h"

// Was the same asked for before, and is all of it in its place again? Then `diags` has what was
// said. Else r->key is NULL where what comes of it is not to be kept.
bool kept_take(Results *r, const char *model, const CompileOptions *o, Diags *diags);
void kept_keep(Results *r, const Model *m, const CompileReport *report, const Diags *diags);

#endif
