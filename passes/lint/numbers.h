// What the rules about numbers share: ranges, uses, patterns of nodes, and words for bounds.
#ifndef CAMEO_PASSES_LINT_NUMBERS_H
#define CAMEO_PASSES_LINT_NUMBERS_H

#include "passes/lint/lint.h"
#include "passes/measured.h"
#include "passes/ranges.h"

// Channels whose variance is negative, or which are divided by 0: the first, how many, its
// variance.
typedef struct BadVariances {
    uint64_t first, n;
    double value;
} BadVariances;

// Of one model as it stands; both rules and their repairs ask it.
typedef struct NumberFacts {
    Model *m;
    Arena *a;
    Ranges *ranges, *proofs; // `proofs` heed no data: what is safe does not rest on them
    Uses uses;
    uint32_t nvalues;  // values that the above know of
    uint8_t *counting; // by value: 1: a constant of integers in a row, 2: not, 0: not looked yet
    Map variances;     // of BatchNormalization, and whether epsilon is 0: index in `bad`
    VEC(BadVariances) bad;
    Map told; // rule and node of a function's body: copies by other calls are not told again
} NumberFacts;

NumberFacts *numbers_open(Model *m, Arena *a);
NumberFacts *lint_numbers(Lint *l); // made when first asked for

// ---- patterns
// The node that makes v, if it is a live one of the standard operator; 0 otherwise.
NodeId numbers_made_by(const NumberFacts *x, ValueId v, const char *op);
// The other operand, where v is one plus something; 0: it is not.
ValueId numbers_beside_one(const NumberFacts *x, ValueId v);
ValueId numbers_in(const NumberFacts *x, NodeId n, uint32_t operand); // 0: absent
DType numbers_dtype(const NumberFacts *x, ValueId v);                 // DT_NONE: no tensor, unknown
// v, or what it is a rearrangement of: through Identity, Reshape, Unsqueeze, Expand ...
ValueId numbers_moved(const NumberFacts *x, ValueId v);
bool numbers_moves(const Node *n);
// A constant, or a Cast of one, whose elements are all one number: as v has it.
bool numbers_constant(const NumberFacts *x, ValueId v, double *number);
// x * x or Pow(x, 2): x; 0 otherwise.
ValueId numbers_square_of(const NumberFacts *x, ValueId v);
// The axes that a reduction names, if they are known: sorted, not negative. false: they are not.
enum { MAX_AXES = 16 };
bool numbers_axes(const NumberFacts *x, NodeId n, int64_t axes[MAX_AXES], uint32_t *count);
// A live MatMul, Gemm, Conv or ConvTranspose that v is a factor of; 0: there is none.
NodeId numbers_product(const NumberFacts *x, ValueId v);
uint32_t numbers_use_count(const NumberFacts *x, ValueId v);
// Live nodes of a graph that runs; rules look at no others.
bool numbers_alive(const NumberFacts *x, NodeId n);

// ---- words
// "[-3, 40] (proved)", "any float32 (assumed)".
Str numbers_words(Arena *a, const Range *x, DType t);
// With calibration data: how many elements v had, the least and the greatest, and how many were 0,
// NaN or infinite.
void numbers_note_measured(Lint *l, Diag *d, ValueId v);
// A warning about a node, or one of its operands (UINT32_MAX: the node itself). NULL: a copy of the
// node was reported already.
Diag *numbers_report(Lint *l, const char *rule, NodeId n, uint32_t operand, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
