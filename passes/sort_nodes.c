// Stable topological order of every graph's nodes (ir/sort.c); what lies on a cycle stays where it
// is.

#include "passes/pass.h"

bool pass_sort_nodes(Model *m, PassContext *c)
{
    Arena *scratch = arena_new();
    (void)c; // a cycle is a finding of lint, not a failure here
    model_sort(m, scratch);
    arena_free(scratch);
    return true;
}
