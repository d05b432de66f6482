// What the operators of sequences, optionals and maps share.
#ifndef CAMEO_IR_OPS_LISTS_H
#define CAMEO_IR_OPS_LISTS_H

#include "ir/lists.h"
#include "ir/lower.h"

// The value v is what a list of `type` gives when one item is taken out. Where the list does not
// know its items' rank, v has the declared one, which the program checks.
void infer_take(Infer *s, ValueId v, const Type *type, Item item);

// ---- lowering
bool is_list(Lower *l, ValueId v);
Tensor object_temp(Lower *l, const char *name);
// One int64 with the value of an integer input of one element.
Tensor position_of(Lower *l, uint32_t i);
Tensor number(Lower *l, Index value); // one int64
void list_of(Lower *l, Tensor list, uint32_t n, const Tensor *items);
void list_append(Lower *l, Tensor list, Tensor item); // in place
Index list_length(Lower *l, Tensor list);
// y = the item at a position: a list, or a tensor, whose data dims are defined.
void list_take(Lower *l, Tensor y, Tensor list, Tensor position);
// x, a value of one kind, as what `to` is: an optional made of what is none, or the other way.
Tensor list_fit(Lower *l, ValueId to, ValueId from, Tensor x);

#endif
