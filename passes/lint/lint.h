// The linter: rules over an inferred model. A rule never changes the graph; repairs are passes of
// their own.
#ifndef CAMEO_PASSES_LINT_LINT_H
#define CAMEO_PASSES_LINT_LINT_H

#include "base/diag.h"
#include "ir/registry.h"

typedef struct Lint {
    Model *m;
    Diags *diags;
    Arena *arena;
} Lint;

typedef struct LintRule {
    const char *id, *name;
    Severity severity;
    bool on;
    const char *fix, *doc;
    void (*run)(Lint *l);
} LintRule;

extern const LintRule lint_rules[]; // in the order of rules.def; ends with a NULL id

// Does a list such as "DT001,ST" name the rule (by id or by family)? NULL: no.
bool lint_listed(const char *list, const LintRule *r);

// Infers, then runs the rules that `select` names (NULL: the default ones) but for those of
// `ignore`.
void lint_model(Model *m, Diags *diags, const char *select, const char *ignore);

// A place where operands of one type variable differ in dtype: `culprit` should have what `other`
// has.
typedef struct Conflict {
    NodeId node;
    uint32_t culprit, other; // operand numbers
} Conflict;
// The next conflict of a node from operand *from on; false if there is none.
bool lint_conflict(const Model *m, NodeId n, uint32_t *from, Conflict *c);
// Where a value's dtype begins: follows the edges of inference back to a source.
ValueId lint_origin(const Model *m, ValueId v);
// Has every element of the tensor an exact value in t? *count: elements.
bool lint_exact(Model *m, TensorData *d, DType t, uint64_t *count);
// The device that a value lies on, 0 if nothing says.
DeviceId lint_device(Model *m, ValueId v);
DeviceId lint_node_device(Model *m, NodeId n);

#define RULE(id, name, severity, on, fix, doc, fn) void fn(Lint *l);
#include "passes/lint/rules.def"
#undef RULE

#endif
