// Lines for a terminal: none wider than it is, what continues one indented.
#ifndef CAMEO_BASE_WRAP_H
#define CAMEO_BASE_WRAP_H

#include "base/str.h"

// Columns of the terminal that fd is: what COLUMNS says, else what the system does. 0: it is none,
// or nobody knows, and lines stay as long as they are.
uint32_t terminal_width(int fd);

// Appends `text`, which begins at column `indent` of a line and continues there, and a line's end.
// Lines end at spaces, and at none that belongs to a name, a path or a command: within "...",
// `...`, [...] and in1(...). width 0: one line. Each line is between `on` and `off`, the codes of
// its colour.
void wrap_text(Buf *out, Str text, uint32_t indent, uint32_t width, const char *on,
               const char *off);

#endif
