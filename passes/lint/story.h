// What findings about dtypes say: where a dtype begins, how it comes here, what mends it.
#ifndef CAMEO_PASSES_LINT_STORY_H
#define CAMEO_PASSES_LINT_STORY_H

#include "passes/lint/lint.h"
#include "passes/lint/origin.h"

// The dtype of a tensor as inferred; DT_NONE for 0, for what is no tensor, and where none is known.
DType lint_dtype(const Model *m, ValueId v);
// The same, or of a sequence or an optional value the dtype of the tensors that it holds.
DType lint_held(const Model *m, ValueId v);
// Does a Cast from the one to the other lose nothing, and is it one?
bool lint_widens(DType from, DType to);

// "weight W" or "input X": what the schema calls operand i; of a variadic one, the value's name.
Str lint_operand_words(Lint *l, const Node *n, uint32_t i);
// "initializer "std" (3 elements)", "Cast node[/Cast]", "input "x"".
Str lint_source_words(Lint *l, ValueId v);

// Notes: "float64 begins at ..., written by ..." (and the finding's origin); the way from the
// origin to node `place` (and the finding's chain); what part of the weights has dtype `side`.
void lint_note_begin(Lint *l, Diag *d, DType have, ValueId origin);
void lint_note_path(Lint *l, Diag *d, const Origin *o, NodeId place);
void lint_note_side(Lint *l, Diag *d, DType side);
// The shape of a value of known rank: "[N,16,7]", escaped.
Str lint_shape_words(Lint *l, const Value *v);
// All three for value v, which has dtype `have` where `want` is asked for (DT_NONE: no side), and
// the cheapest repair. `with`: further values whose sources have to be given `want` too.
void lint_tell(Lint *l, Diag *d, ValueId v, DType want, NodeId place, const ValueId *with,
               uint32_t nwith);

// What gives v the dtype `want`: sources stored or cast otherwise, or one Cast.
void lint_offer(Lint *l, Diag *d, const Origin *o, ValueId v, DType want);

// A repair of the value is one of what the finding says.
void lint_blame(Lint *l, Diag *d, ValueId v);

// Float weights by dtype, in l->weight_bytes and l->weight_count.
void lint_weigh(Lint *l);

#endif
