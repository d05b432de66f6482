// What runs a model: which operators have a kernel for which dtypes, where, and in what they
// accumulate. Tables only (targets.def); nothing here depends on the machine.
#ifndef CAMEO_PASSES_TARGET_H
#define CAMEO_PASSES_TARGET_H

#include "ir/registry.h"

typedef struct Target {
    const char *name, *doc;
    const char *device;               // where its kernels run: "cpu" or "cuda:0"
    bool strongly_typed;              // it runs every operator in the dtype that the graph says
    DType acc_f16, acc_bf16, acc_f32; // sums of products of these; DT_NONE: no such kernels
    TypeSet types;                    // dtypes that any of its kernels takes
    int family;                       // whose rows of the table hold
} Target;

const Target *target_find(Str name); // NULL: there is none of that name
const char *target_meant(Str name);  // the one whose name is nearly that; NULL: none
const Target *target_at(uint32_t i); // all of them in order; NULL past the end

// The dtypes of the first operand for which a target that lists its kernels has one; 0: none.
TypeSet target_types(const Target *t, Str op);

// Has the target a kernel for the node? Types have to be inferred. *lacks: the dtype for which
// there is none; DT_NONE where there is none for any.
bool target_has_kernel(const Target *t, const Model *m, NodeId n, DType *lacks);

// Why the target runs the node on the host though it has a kernel; NULL: it does not.
const char *target_host_reason(const Target *t, const Node *n);

// Does the target put Casts around every node whose dtype it has no kernel for?
bool target_casts_around(const Target *t);
// Does it sum pairs of products of uint8 and int8 in 16 bits, where they saturate?
bool target_pairs_in_16_bits(const Target *t);
// Does it crash while it optimizes a Transpose of 16 bits that brings the first axis last but one
// in front of a MatMul whose other operand has another rank, and end where 16 bits are scattered
// with a reduction?
bool target_ends_at_half_turns(const Target *t);

// Does the target sum a normalization's squares in float16 where its operands are? How it is told
// to do so in float32; NULL: it does.
const char *target_low_sums(const Target *t, const Node *n);

// Published figures, for estimates: gigabytes a second of its memory and to the host (0: it is the
// host), float32 gigaflops.
typedef struct TargetSpeed {
    const char *name;
    double memory, link, flops;
} TargetSpeed;
const TargetSpeed *target_speed(const Target *t); // NULL: not known

#endif
