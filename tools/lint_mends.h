// What a repair of dtypes did, to be told in the words in which it is offered.
#ifndef CAMEO_TOOLS_LINT_MENDS_H
#define CAMEO_TOOLS_LINT_MENDS_H

#include "base/diag.h"
#include "ir/graph.h"

// A model's constants and Casts as they were, and what became of them.
typedef struct Mends Mends;

// Remembers the model before insert_casts; lives in `a`.
Mends *mends_begin(Model *m, Arena *a);
// Compares it with what it became. Calls may have been inlined before mends_begin, and put back.
void mends_end(Mends *w, Model *m);

// Does the text of a fix name all that was done, and no more? Constants and Casts are held to their
// names, a new Cast to the place that it is said to stand at.
bool mends_agree(const Mends *w, const Fix *f);
// What was done, as `help:` says it; absent where nothing was.
Str mends_words(const Mends *w);
uint32_t mends_casts(const Mends *w);

#endif
