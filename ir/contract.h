// What the sources of a custom operator's kernels say of it: the functions that take its tensors,
// as they are declared.
#ifndef CAMEO_IR_CONTRACT_H
#define CAMEO_IR_CONTRACT_H

#include "ir/graph.h"

// Parameters of a kernel: pointers to const are the node's inputs in order, other pointers its
// outputs; integers are sizes (custom_size says which), floats attributes of the node.
typedef enum CustomKind {
    CUSTOM_INPUT,
    CUSTOM_OUTPUT,
    CUSTOM_SIZE,
    CUSTOM_FLOAT,
    CUSTOM_OTHER
} CustomKind;

typedef struct CustomParam {
    CustomKind kind;
    DType dtype;      // of pointers: what they point to; DT_NONE: any (void, or a type variable)
    int32_t variable; // of the function's type variables, -1: none
    bool is_vector;   // of pointers: to several elements at once (float4)
    Str name, type;   // as written: "x", "const float *"
    uint32_t bits;    // of integers and floats
} CustomParam;

// A type variable of a template, and the dtypes that it stands for.
typedef struct CustomVariable {
    Str name;
    uint64_t types; // bit t for dtype t; 0: nothing says
    Str by;         // what says so: "AT_DISPATCH_FLOATING_TYPES"; absent: uses and instantiations
} CustomVariable;

typedef struct CustomFunction {
    Str symbol, path;
    uint32_t line, column;
    Str text;       // the declaration, on one line: "__global__ void fused(const float *x, ...)"
    bool is_kernel; // __global__: it runs on a CUDA device
    bool is_device; // __device__ only: nobody launches it
    bool is_cuda;   // its source is a .cu
    bool is_c;      // its source is a .c, and other sources can call it
    bool gives_int; // it gives an integer, 0 where nothing failed; otherwise nothing
    bool gives_other;
    uint32_t source; // index in Contracts.sources
    CustomParam *params;
    uint32_t nparams;
    CustomVariable *variables;
    uint32_t nvariables;
} CustomFunction;

// An operator of a domain that cameo.yaml gives sources for.
typedef struct CustomOp {
    Str domain, op, symbol;
    uint32_t line;                         // of cameo.yaml
    VEC(const CustomFunction *) functions; // of that name, in the order of the sources
} CustomOp;

typedef struct Contracts {
    const char *config; // path of cameo.yaml
    VEC(CustomFunction *) functions;
    VEC(CustomOp) ops;
    VEC(Str) sources; // that were read
    VEC(Str) faults;  // by source: where it does not parse first, "1:60: expected ')'"; absent
    Map by_name;      // domain, NUL, op: 1 + index in ops
} Contracts;

// The contract of a node's operator; NULL: there is none (contracts may be NULL).
const CustomOp *contract_of(const Contracts *c, Arena *scratch, const Node *n);
void contract_add(Contracts *c, Arena *a, CustomOp op);

// How many parameters are of a kind.
uint32_t custom_count(const CustomFunction *f, CustomKind kind);
// The value of a node whose numbers of operands the function has that parameter i points to; 0: it
// is left out, or no pointer.
ValueId custom_value(const CustomFunction *f, const Node *n, uint32_t i);
// Why the function cannot be the node's: another number of inputs or outputs, a dtype, types that a
// template is not made for. False: it can. `operand` is of the node's inputs, then its outputs;
// UINT32_MAX: the whole. Values' types are inferred; what is not known fits.
typedef struct CustomMisfit {
    uint32_t operand;
    DType have, want; // want DT_NONE: `variable` says
    const CustomVariable *variable;
    uint32_t other; // the operand that bound the variable otherwise; UINT32_MAX: none
} CustomMisfit;
bool custom_misfit(const Model *m, const CustomFunction *f, NodeId n, CustomMisfit *what);

// The function of the operator that fits the node; NULL with the misfit of the one that comes
// nearest (NULL: there is none): the first that has its numbers of inputs and outputs, else the
// first.
const CustomFunction *custom_fitting(const Model *m, const CustomOp *op, NodeId n,
                                     const CustomFunction **nearest, CustomMisfit *misfit);
// What stands for a node's operator where the model is compiled: its CUDA kernel where the node
// runs on a device, otherwise its C function. NULL: there is none.
const CustomFunction *custom_function_of(const Model *m, Arena *scratch, NodeId n);

// Dtypes as the sources call them: "float", "__half".
const char *custom_type_name(DType t);

#endif
