// The equation of an Einsum.
#ifndef CAMEO_IR_OPS_EINSUM_H
#define CAMEO_IR_OPS_EINSUM_H

#include "ir/infer.h"

enum { MAX_OPERANDS = 16, LETTERS = 128, DOTS = MAX_RANK };

// A term as labels: letters, and LETTERS + k for the k-th dim of an ellipsis counted from the
// right.
typedef struct TermLabels {
    uint32_t label[MAX_RANK], n;
    uint32_t dots; // dims that its ellipsis stands for
    bool has_dots;
} TermLabels;

typedef struct Equation {
    TermLabels in[MAX_OPERANDS], out;
    uint32_t n, dots; // operands; the longest ellipsis
    Index dim[LETTERS + DOTS];
} Equation;

// Reads the attribute of a node whose operands have those ranks, each at least 0; q->dim stays
// empty. false: it is no equation of theirs.
bool einsum_read(const Node *n, const int32_t *ranks, Equation *q);

#endif
