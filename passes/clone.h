// Copies of nodes and of the graphs that they hold, values of copied nodes mapped to fresh ones.
#ifndef CAMEO_PASSES_CLONE_H
#define CAMEO_PASSES_CLONE_H

#include "ir/graph.h"

typedef struct Clone {
    Model *m;
    ValueId *map; // by value that existed before: its copy, 0 where it stands for itself
    uint32_t nmap;
    // Inlining: the call that the copies are made for; they know it, and what they were copied
    // from, and own their constants. 0 elsewhere.
    NodeId call;
    Arena *scratch; // where clone_map notes what clone_forget is to undo; NULL: nothing is noted
    VEC(ValueId) touched;
    Str prefix;       // put before the names of copied values, where not empty
    bool at_position; // copies stand where `position` says, else where their originals do
    uint32_t position;
    bool moved; // copies outside bodies of loops are marked Node.moved
    // What an attribute that refers to one of a function's stands for; NULL: nothing, it goes.
    const Attr *(*argument)(void *context, Str name);
    void *context;
    uint32_t copies, limit; // nodes made so far, and allowed
    bool failed;            // the limit was reached: copies are incomplete
} Clone;

#define CLONE_NOTHING UINT32_MAX // in the map: an empty name
void clone_map(Clone *c, ValueId v, ValueId to);
void clone_forget(Clone *c); // empties the map, in time by what was noted
ValueId clone_mapped(const Clone *c, ValueId v);
// A copy of the node, not yet in the list of graph `to`. Results that are not mapped yet get fresh
// values there.
NodeId clone_node(Clone *c, NodeId from, GraphId to);
// A copy of a graph that a node of `parent` is going to hold; the caller sets its owner.
GraphId clone_graph(Clone *c, GraphId from, GraphId parent);

#endif
