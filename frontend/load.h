// A model from whatever file the user names.
#ifndef CAMEO_FRONTEND_LOAD_H
#define CAMEO_FRONTEND_LOAD_H

#include "frontend/import.h"

// Loads MODEL: by its ending .onnx, .onnxtxt or .cir; a file with another ending, or "-" for
// standard input, is text if its first bytes are those of a textual form. NULL with diagnostics and
// *exit_status 3: it cannot be read, decoded or parsed, or is over a limit.
// The file stays mapped until load_close.
Model *load_model(Arena *a, const char *path, Diags *diags, int *exit_status);
// The same within other limits than the default ones.
Model *load_model_within(Arena *a, const char *path, const ImportLimits *limits, Diags *diags,
                         int *exit_status);
// The text of a model that stands in memory, as an editor holds it: `path` is for locations, its
// ending for the form, and its folder for external data. The text has to stay as long as the model.
Model *load_text(Arena *a, const char *path, Str text, Diags *diags, int *exit_status);
// The model of the same bytes once more, as it was when loaded; it reads what `m` has mapped, and
// is closed before that (model_close). NULL with diagnostics.
Model *load_copy(Arena *a, const Model *m, Diags *diags);
void load_close(Model *m);

#endif
