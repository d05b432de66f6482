// What the files of the interpreter share.
#ifndef CAMEO_IR_INTERP_STATE_H
#define CAMEO_IR_INTERP_STATE_H

#include "ir/infer.h"
#include "ir/interp.h"

typedef struct Memory { // of one buffer
    const unsigned char *at;
    unsigned char *own; // malloc'ed; NULL for inputs and weights
    uint64_t bytes;     // readable at `at`
    int64_t dims[MAX_RANK];
    uint64_t dims_epoch; // when dims were evaluated
    uint64_t reserved;   // the epoch in which `own` was made large enough
} Memory;

typedef struct Local {
    Scalar value; // of a let or a row of rank 0
    Scalar *row;
    int64_t dims[MAX_RANK];
    uint64_t room; // Scalars at row
} Local;

// The value of a reduction for the loop variables that it depends on, within one kernel.
typedef struct Memo {
    uint32_t kernel; // serial number of the kernel that it was made in
    bool usable, filled;
    VEC(LoopId) vars;
    int64_t *at;
    Scalar value;
} Memo;

typedef struct Interp {
    Module *mod;
    Arena *arena;
    Memory *memory;   // by BufferId
    Local *locals;    // by LocalId
    Memo *memos;      // by expression id
    int64_t *dims;    // by DimId
    int64_t *loops;   // by LoopId
    uint8_t *written; // by BufferId: by the kernel that runs
    uint32_t nexprs, nlocals, nloops, ndims;
    uint32_t kernel; // serial number of the kernel that runs
    uint64_t epoch;  // changes when a dim does
    uint64_t bytes, operations;
    uint32_t depth;
    struct cameo_objects *objects; // NULL: the module has none
    InterpLimits limits;
    bool failed;
    Str *error;
} Interp;

void interp_fail(Interp *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
// bytes more are taken; false where that passes the limit.
bool interp_take(Interp *s, uint64_t bytes);

Scalar interp_expr(Interp *s, const Expr *e);
int64_t interp_index(Interp *s, Index i);
// The position of `at` in a tensor of these dims; UINT64_MAX, with the error set, if it is outside.
uint64_t interp_position(Interp *s, uint32_t rank, const int64_t *dims, const Index *at,
                         const char *what, uint32_t id);
// The dims of a buffer now.
const int64_t *interp_dims(Interp *s, BufferId b);
void interp_kernel(Interp *s, const Kernel *k);
// Makes a buffer large enough for its dims; keeps what it holds.
bool interp_reserve(Interp *s, BufferId b);

// Strings and lists (ir/interp_call.c).
void interp_begin_objects(Interp *s);
void interp_end_objects(Interp *s);
void interp_call(Interp *s, const Step *step);
// The buffer holds the numbers of these strings from now on.
void interp_bind_strings(Interp *s, BufferId b, const Str *strings, uint64_t n);
// An array of Str with the bytes behind it, malloc'ed as one, of what the buffer holds.
void *interp_take_strings(Interp *s, BufferId b, uint64_t n);
// The same of lists (ir/interp_lists.c): the buffer refers to this value; the value, malloc'ed.
void interp_bind_list(Interp *s, BufferId b, const void *object);
void *interp_take_list(Interp *s, BufferId b);

// One operation in a dtype, exactly as ir/kernel.h says (ir/interp_scalar.c).
Scalar scalar_unary(UnaryOp op, DType t, Scalar a);
Scalar scalar_binary(BinaryOp op, DType t, Scalar a, Scalar b);
bool scalar_compare(CompareOp op, DType t, Scalar a, Scalar b);
// What a reduction of no elements gives.
Scalar scalar_neutral(ReduceOp op, DType t);

#endif
