// What the operators of sequences, optionals and maps share.
#ifndef CAMEO_IR_OPS_LISTS_H
#define CAMEO_IR_OPS_LISTS_H

#include "ir/lists.h"
#include "ir/lower.h"

// The value v is what a list of `type` gives when one item is taken out. Where the list does not
// know its items' rank, v has the declared one, which the program checks.
void infer_take(Infer *s, ValueId v, const Type *type, Item item);

#endif
