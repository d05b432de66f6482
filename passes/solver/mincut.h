// Minimum cuts of directed graphs, by Dinic's algorithm.
#ifndef CAMEO_PASSES_SOLVER_MINCUT_H
#define CAMEO_PASSES_SOLVER_MINCUT_H

#include "base/arena.h"

#include <stdbool.h>

typedef int64_t Cost; // capacities and prices; never negative unless said so
// What may not be cut. Finite costs of one problem stay below it in sum.
#define COST_NEVER ((Cost)1 << 61)

typedef struct Cut Cut;
enum { CUT_SOURCE = 0, CUT_SINK = 1 }; // two vertices that every graph has

// A graph of those two vertices, living in the arena.
Cut *cut_new(Arena *a);
uint32_t cut_vertex(Cut *c);
// Cutting it, `from` on the source's side and `to` on the sink's, costs `capacity`.
void cut_arc(Cut *c, uint32_t from, uint32_t to, Cost capacity);
// The cost of the least cut, once: arcs are used up by it. At least COST_NEVER: every cut goes
// through an arc that may not be cut. *work counts down by arcs looked at; where it would fall
// below 0 the search ends and false is returned.
bool cut_solve(Cut *c, Cost *least, int64_t *work);
// After cut_solve: does v lie on the sink's side of the least cut (of several, the one with fewest
// vertices on the source's side)?
bool cut_is_sink_side(const Cut *c, uint32_t v);

#endif
