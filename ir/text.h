// The textual forms of a model.
//
// CIR ("cameo.ir/1", files ending .cir) is ONNX's own textual syntax extended with result types,
// devices and, in "@{ ... }" after an element, all that the plain syntax has no place for. It
// round-trips: what is parsed from it and exported equals what was printed. PLAIN is the syntax
// that onnx.parser reads; it can't carry everything.
#ifndef CAMEO_IR_TEXT_H
#define CAMEO_IR_TEXT_H

#include "base/diag.h"
#include "ir/graph.h"

typedef enum TextForm { TEXT_CIR, TEXT_PLAIN } TextForm;

// What the form could not carry, for people: "metadata_props of node[/conv1/Conv]". Empty for CIR.
typedef VEC(Str) Dropped;

// Prints a whole model. `types`: inferred result types and devices too (CIR only). Tensors over 64
// elements become references into Model.source where their bytes lie there.
void text_print(const Model *m, TextForm form, bool types, Buf *out, Dropped *dropped);

// Parses either form; `path` is for locations and for what the text refers to. NULL with a
// diagnostic
// ("line:column") on the first error.
Model *text_parse(Arena *a, const char *path, Str text, Diags *diags);

#endif
