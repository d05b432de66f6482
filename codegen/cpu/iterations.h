// Iterations of a nest of loops when compiling, many at once, and what indices are at them.
//
// The inner loops of the nest, as many as have few enough iterations in all, are run through again
// and again: what an index is at each of their iterations is tabled once, less its terms of outer
// loops, which are one number until the next iteration of these.
#ifndef CAMEO_CODEGEN_CPU_ITERATIONS_H
#define CAMEO_CODEGEN_CPU_ITERATIONS_H

#include "ir/kernel.h"

enum { CONSTANT_LANES = 256, CONSTANT_LOOPS = 24 };

typedef struct Lanes Lanes; // an index at the iterations of the inner loops

// Iterations in order, up to CONSTANT_LANES of them at a time.
typedef struct Iterations {
    Module *mod;
    uint32_t nloops, nouter;     // nouter: the first of them are outer loops
    LoopId vars[CONSTANT_LOOPS]; // outermost first
    int64_t extents[CONSTANT_LOOPS], next[CONSTANT_LOOPS];
    int64_t all, inner;   // iterations of the inner loops; how many of them are tabled at once
    int64_t first, from;  // the first of what is tabled; of these, the first of the next lanes
    uint64_t turn;        // counts what is tabled, and the iterations of outer loops
    uint32_t at, n, step; // the lanes: the first of what is tabled, how many, how far apart
    Lanes *known;
    int64_t (*values)[CONSTANT_LANES]; // of each variable, to table an index
    bool failed;                       // an element outside of its tensor was asked for
} Iterations;

// Loops by their variables, the outermost first. false: the number of iterations is not known, 0,
// or beyond `most`. iterations_end is due in either case.
bool iterations_begin(Iterations *x, Module *mod, uint32_t nloops, const LoopId *vars,
                      int64_t most);
// The next ones; false: there are none.
bool iterations_next(Iterations *x);
void iterations_end(Iterations *x);

// Can i be computed where only these variables run?
bool iterations_know(const Iterations *x, Index i);
// Adds a text of i, which they know, and of the nest: where it is the same, so are the values of i.
void iterations_describe(const Iterations *x, Index i, Buf *out);
void iterations_describe_nest(const Iterations *x, Buf *out);
// Is i, which they know, the same at each `step` lanes from a multiple of step on? step divides
// CONSTANT_LANES. After iterations_next.
bool iterations_even(Iterations *x, Index i, uint32_t step);
// Until the next lanes each step-th of these alone.
void iterations_step(Iterations *x, uint32_t step);

// The values of i at these lanes.
void iterations_index(Iterations *x, Index i, int64_t *to);
// The element of a tensor of these constant dims at each; 0, and x->failed, where some are outside.
// `at` stays as it is until iterations_end.
void iterations_places(Iterations *x, uint32_t rank, const Index *dims, const Index *at,
                       int64_t *to);

#endif
