// External data of a model that is written to another folder.
#ifndef CAMEO_TOOLS_CARRY_H
#define CAMEO_TOOLS_CARRY_H

#include "ir/graph.h"

// The files that tensors of the model name as external data and that can be read, each once, as the
// model says them.
typedef struct Carried {
    VEC(Str) locations;
} Carried;
Carried carried_by(Model *m, Arena *a);

// Is `path` one of them, beside the model `from`?
bool carried_is(const Carried *c, const char *from, const char *path, Arena *a);

// Copies them from beside the model `from` to beside `to`, before that is written. What is there
// already with the same bytes stays; another file of the name is not overwritten: false, with
// *error set, and nothing was copied.
bool carry_data(const Carried *c, const char *from, const char *to, Str *error, Arena *a);

#endif
