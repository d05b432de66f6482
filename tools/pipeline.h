// Running passes by name, and writing what comes of it: what `dump` and `opt` share.
#ifndef CAMEO_TOOLS_PIPELINE_H
#define CAMEO_TOOLS_PIPELINE_H

#include "passes/pass.h"
#include "tools/tool.h"

// The forms of `--format`; FORM_BAD for what is none.
typedef enum ModelForm {
    FORM_TEXT,
    FORM_PLAIN,
    FORM_JSON,
    FORM_DOT,
    FORM_BINARY,
    FORM_BAD
} ModelForm;
ModelForm form_of(const char *name);
// By a file's ending; FORM_TEXT where it says nothing.
ModelForm form_by_ending(const char *path);

// Appends the model in that form. `types`: what was inferred, too. What the plain form cannot carry
// is named on stderr and counted in *dropped. False with a message where it cannot be written.
bool form_print(const Tool *t, const Model *m, ModelForm form, bool types, Buf *out,
                uint32_t *dropped);

// --print-after: prints the model as text on stderr where `pass` is what was asked for, or "all"
// was. A hook for PassContext.after and CompileOptions.after; user is a PrintAfter.
typedef struct PrintAfter {
    const Tool *tool;
    const char *pass;
} PrintAfter;
void print_after(void *user, const char *pass, const Model *m);
bool pass_is_printable(const char *name); // a pass, or "all"

void dot_print(const Model *m, Buf *out);  // Graphviz: a box for each node, an edge for each use
void json_print(const Model *m, Buf *out); // cameo.dump/1
// "f32[N,16,8]"; what is not known is "?".
void type_print(const Model *m, const Value *v, Buf *out);

// To a file, whole or not at all and never over what the model (NULL: none) is read from; to stdout
// where `path` is NULL.
int output_write(const Tool *t, Arena *a, const char *path, Model *m, const Buf *out);

#endif
