// Where dtypes differ: which side gives way.
#ifndef CAMEO_PASSES_LINT_JUDGE_H
#define CAMEO_PASSES_LINT_JUDGE_H

#include "passes/lint/lint.h"
#include "passes/lint/sides.h"

typedef struct Judge {
    Lint *l;
    TypeSet *said; // by value as written: the dtypes that declarations of what begins there say
    Sides *sides;  // made when first asked for
} Judge;

// The tensor dtype of a type, and of what a value is declared as; DT_NONE: none.
DType judge_type_dtype(const Type *t);
DType judge_declared_dtype(const Model *m, ValueId v);

// The dtype that the part of v ought to have and, where count is not NULL, how many sources stand
// against it (sides_right); DT_NONE: no few sources mend it.
DType judge_right(Judge *j, ValueId v, uint32_t *count);

// May a repair give a source another dtype: a constant, a Cast, an input?
bool judge_is_retypable(const Model *m, ValueId source);
// Is a side's only source to blame, so that the model would fit if that had the other dtype?
bool judge_is_mended_by(Judge *j, ValueId side, DType want);

// The first result of n that has its dtype from operand i; 0: none.
ValueId judge_tied_result(const Node *n, uint32_t i);
// Does what the node makes meet others that it does not fit, where in the culprit's dtype it would?
bool judge_result_at_fault(Judge *j, const Node *n, const Conflict *c);

// Turns the conflict round if the other side is the culprit. One source that mends all gives way
// before several, several that do before what does not: a constant of a function gives way to one
// call only if the other calls let it. What the result is declared as does not. Of two dtypes of
// which neither is the model's own nor float64 that one gives way which has fewer sources, or the
// smaller.
void judge_conflict(Judge *j, const Node *n, Conflict *c);

// Of two values that should be of one dtype, v of a and another of b, does v give way? To what a
// few sources of its part say, else to what is declared, else to the model's own; float64 does.
bool judge_first_wrong(Judge *j, ValueId v, DType a, DType b, DType declared);

#endif
