// Rules that fail do so by themselves.
#ifndef CAMEO_PASSES_LINT_GUARD_H
#define CAMEO_PASSES_LINT_GUARD_H

#include "passes/lint/lint.h"

// From now on a signal that a rule raises (a bad access, a division by 0, an assert) ends that rule
// alone. Off at first: who looks for such faults wants the process to end. One thread only.
void lint_guard_rules(bool guarded);

// Runs a rule's function: 0, or the signal that ended it.
int lint_run_guarded(void (*run)(Lint *l), Lint *l);

// Runs a rule. One that fails is an error that names it, and l->diags->broken.
void lint_run_rule(const LintRule *rule, Lint *l);

#endif
