// Words that an attribute may be.
#ifndef CAMEO_PASSES_LINT_CHOICES_H
#define CAMEO_PASSES_LINT_CHOICES_H

#include "ir/graph.h"

// The words that a string attribute of an operator of the standard may be, between spaces, where it
// is none of them; NULL: it is one, or may be anything. Source: the texts of ONNX's operators.
const char *lint_choices(const Node *n, const Attr *a);

#endif
