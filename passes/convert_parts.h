// What the files of convert_precision share.
#ifndef CAMEO_PASSES_CONVERT_PARTS_H
#define CAMEO_PASSES_CONVERT_PARTS_H

#include "passes/convert_precision.h"
#include "passes/lint/numbers.h"
#include "passes/ties.h"

enum { LABEL_LOW, LABEL_OWN, CONVERT_LABELS };

// A use that no tie speaks of (a call, a list, an operator without schema): it keeps its dtype.
typedef struct LooseUse {
    Use use;
    ValueId value;
} LooseUse;

typedef struct Conversion {
    Model *m;
    Arena *a;
    const ConvertOptions *o;
    ConvertReport *r;
    Ties *t;
    Uses uses;
    NumberFacts *facts;
    uint32_t nnodes;   // of the model as it was
    DType *own;        // by tie: its float dtype now; DT_NONE: none that this is about
    uint32_t *group;   // by tie: the tie that stands for all float ties of a node
    Str *why;          // by group: why it must not be in `to`; empty: it may
    ValueId *of;       // by group: the value that `why` is about; 0: the node itself
    NodeId *node;      // by tie: the node it belongs to; 0: a constant, an interface
    uint32_t *of_node; // by node: its group, NO_TIE: none
    bool *clamp;       // by value: a constant that is stored without infinities
    double *weight;    // by tie: elements that it reads and writes
    bool *priced;      // by group: are both labels open to it?
    bool *makes;       // by group: does it give a float?
    VEC(LooseUse) loose;
    uint32_t *first_loose; // by value, into `loose`
    Labels *l;
    uint32_t *variable; // by group
    uint32_t *value;    // by value: its number in the problem
    uint32_t fixed[CONVERT_LABELS];
} Conversion;

// Does a tie's dtype change to `to`, if it may?
bool convert_is_from(const Conversion *c, DType t);
bool convert_is_float(const Conversion *c, uint32_t tie); // own is that, or `to` already
uint32_t convert_group(const Conversion *c, uint32_t tie);

// Fills `why`, `clamp`.
void convert_find_allowed(Conversion *c);
// Notes why a tie's group keeps its dtype, and of which value that is said (0: of the node itself);
// the first reason stays.
void convert_forbid(Conversion *c, uint32_t tie, Str why, ValueId of);
// Are the elements known to stay within what `to` holds?
bool convert_is_bounded(const Conversion *c, ValueId v);
// What follows for others from what a node does to numbers (passes/convert_follows.c): who reads a
// result that nothing bounds keeps its dtype, and so does what a Sqrt or Log takes a difference of,
// and what is summed by weights that cancel.
void convert_forbid_readers(Conversion *c, NodeId id);
void convert_forbid_difference(Conversion *c, NodeId id);
void convert_forbid_cancelled(Conversion *c, NodeId id);
// Why the node must stay as it is for the file to load where it is meant to; absent: it need not
// (passes/convert_loads.c).
Str convert_load_fault(const Conversion *c, NodeId id);
// Lets nodes of older opsets take what opset 22 gave their operators beside
// (passes/convert_newer.c): all whose definition is else the same, and a node that is made.
void convert_take_newer(Model *m);
void convert_bind_newer(Model *m, NodeId n);

// Is bfloat16 chosen by what Cameo's own kernels take of time (ConvertHalves), and this node's by
// that? The time, in multiply-adds of float32, of such a node; of a Cast to `label`
// (passes/convert_kernels.c).
const ConvertHalves *convert_kernels(const Conversion *c);
bool convert_by_kernel(const Conversion *c, NodeId n);
double convert_kernel_price(const Conversion *c, NodeId n, uint32_t label);
double convert_kernel_cast(const Conversion *c, ValueId v, uint32_t label);

// Poses the label problem and solves it.
void convert_choose(Conversion *c);
// After that: has a tie `to`? Does the value come to have it, and has another dtype now? Does it,
// or is it cast to it where it is read?
bool convert_is_low(const Conversion *c, uint32_t tie);
bool convert_becomes_low(const Conversion *c, ValueId v);
bool convert_is_rounded(const Conversion *c, ValueId v);

bool convert_is_measured(const Conversion *c, ValueId v);
// Elements that are made of v in a run: measured, else as value_weight assumes.
double convert_weight(const Conversion *c, ValueId v);
double convert_noise(const Conversion *c, ValueId v); // as ConvertOptions.noise
// A constant that may be stored twice.
bool convert_is_initializer(const Conversion *c, ValueId v);

// Once that is chosen: fills ConvertReport.kept, and writes into each such node's metadata why it
// keeps its dtype (passes/convert_reasons.c).
void convert_note_kept(Conversion *c);

// Changes the model as chosen; types are inferred again.
void convert_rewrite(Conversion *c);

#endif
