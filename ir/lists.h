// Values that hold others: sequences, optionals and maps ("lists").
//
// Value.type of such a value is its whole type. Value.dtype, rank and dims describe the tensors
// that it holds in the end (a map's values): what all of them have in common. A list that holds
// nothing has no rank of its own (RANK_NONE) and takes any; where ranks differ the rank is unknown,
// and a dim that differs is Model.varies, which gets a name of its own when an item is taken out.
#ifndef CAMEO_IR_LISTS_H
#define CAMEO_IR_LISTS_H

#include "ir/infer.h"

enum { RANK_NONE = -2, MAX_ITEMS = 256 };

static inline bool kind_is_list(TypeKind k)
{
    return k == TYPE_SEQUENCE || k == TYPE_OPTIONAL || k == TYPE_MAP;
}

// ---- types
const Type *value_type(Arena *a, const Value *v); // NULL where unknown
const Type *type_tensor(Arena *a, DType t);
const Type *type_around(Arena *a, TypeKind kind, const Type *sub);
// The dtype of the tensors that a value of this type holds in the end; DT_NONE where it is not
// said.
DType type_leaf(const Type *t);
// Kinds and dtypes alone: shapes do not count.
bool type_same(const Type *a, const Type *b);
// The type that takes values of both, or NULL: optional(T) takes what is a T, too.
const Type *type_join(const Type *a, const Type *b);

// The variable by which a parameter's dtype is tied to those of others, NULL where it is fixed.
// What a list holds is tied to the tensors that go in or come out, which the standard's constraints
// cannot say: they have S for the one and T for the other.
const char *param_variable(const SchemaParam *p);

// ---- what lists hold
Index dim_varies(Model *m);
bool dim_is_varied(const Model *m, Index dim);
Item item_none(void);
Item item_of(const Value *v); // of a list: what all of its items have in common
// What holds for both. true: `into` has changed.
bool item_join(Model *m, Item *into, Item other);
// As seen from outside of g: dims that its nodes define differ.
Item item_outside(Infer *s, Item item, GraphId g);

// ---- what rules say
void infer_list(Infer *s, ValueId v, const Type *type, Item item);
void infer_items(Infer *s, uint32_t o, uint32_t n, const Item *items); // of a list: one by one
// A tensor that is taken out of a list: dims that differ are data dims of the value.
void infer_taken(Infer *s, ValueId v, DType t, Item item);
// By the declaration, which may say less, or (rank 0) nothing, of shapes.
void infer_declared_list(Model *m, ValueId v, const Type *t);

#endif
