// A repair in the text that somebody wrote.
#ifndef CAMEO_TOOLS_REWRITE_TEXT_H
#define CAMEO_TOOLS_REWRITE_TEXT_H

#include "base/str.h"

// Appends the text `written` (of the form that the path's ending says) as a repair leaves it: what
// the repair does not touch stays as it is written. `before` and `after` are its model as it is
// printed. Where no place can be told for what differs, it is `after`.
void text_rewrite(const char *path, Str written, Str before, Str after, Buf *out);

#endif
