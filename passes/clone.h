// Copies of nodes and of the graphs that they hold, values of copied nodes mapped to fresh ones.
#ifndef CAMEO_PASSES_CLONE_H
#define CAMEO_PASSES_CLONE_H

#include "ir/graph.h"

typedef struct Clone {
    Model *m;
    ValueId *map; // by value that existed before: its copy, 0 where it stands for itself
    uint32_t nmap;
    Arena *scratch; // not NULL: `touched` notes what clone_forget takes out of the map
    VEC(ValueId) touched;
    Str prefix;       // put before the names of copied values, where not empty
    bool at_position; // copies stand where `position` says, else where their originals do
    uint32_t position;
    bool own_data; // tensors are copied too: a repair may store them otherwise in each copy
    NodeId call;   // of a function: noted in copies with what they were made from; 0: nothing is
    bool moved;    // copies outside bodies of loops are marked Node.moved
    // What an attribute that refers to one of a function's stands for; NULL: nothing, it goes.
    const Attr *(*argument)(void *context, Str name);
    void *context;
    uint32_t copies, limit; // nodes made so far, and allowed
    bool failed;            // the limit was reached: copies are incomplete
} Clone;

// In a map: no value at all, an empty name.
#define CLONE_ABSENT UINT32_MAX

ValueId clone_mapped(const Clone *c, ValueId v);
void clone_set(Clone *c, ValueId v, ValueId to);
// Takes all out of the map that was put there, so that the next copy starts anew.
void clone_forget(Clone *c);
// A copy of the node, not yet in the list of graph `to`. Results that are not mapped yet get fresh
// values there.
NodeId clone_node(Clone *c, NodeId from, GraphId to);
// A copy of a graph that a node of `parent` is going to hold; the caller sets its owner.
GraphId clone_graph(Clone *c, GraphId from, GraphId parent);

#endif
