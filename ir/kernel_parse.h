// Shared by the files that read the kernel IR's text.
#ifndef CAMEO_IR_KERNEL_PARSE_H
#define CAMEO_IR_KERNEL_PARSE_H

#include "ir/kernel_text.h"

// Text may name ids up to this, nest to this depth, and share expressions to this height: tables
// and recursion stay small whatever it says.
enum { KERNEL_MAX_IDS = 1 << 20, KERNEL_MAX_DEPTH = 1500, KERNEL_MAX_HEIGHT = 2000 };

typedef struct LocalInfo {
    DType dtype; // DT_NONE: not defined
    uint32_t rank;
    bool row;
} LocalInfo;

typedef struct NamedExpr {
    const Expr *e;
    uint32_t height;
} NamedExpr;

typedef struct KernelParser {
    Parser *p;
    Module *mod;
    NodeId *nodes; // by ordinal; [0] is none
    uint32_t nnodes;
    VEC(LocalInfo) locals; // by LocalId
    VEC(NamedExpr) names;  // %1 ... of this statement; nnames of them hold
    uint32_t nnames;
    uint32_t height; // of the expressions in what was read last
} KernelParser;

uint32_t parse_id(KernelParser *k, char letter, uint32_t limit);
uint32_t parse_small(KernelParser *k, uint32_t limit);
BufferId parse_buffer_id(KernelParser *k);
DType parse_dtype(KernelParser *k);
DType kernel_dtype_of(Str name); // of a number or a list; DT_NONE: it is none

void local_define(KernelParser *k, LocalId v, DType t, uint32_t rank, bool row);
const LocalInfo *local_info(KernelParser *k, LocalId v); // NULL: not defined before

DimId parse_dim(KernelParser *k);                       // "batch$3" or "$3"
LoopId parse_loop_binder(KernelParser *k);              // "i3 < extent"
Index parse_index(KernelParser *k);                     // the constant 0 where it fails
const Index *parse_at(KernelParser *k, uint32_t *rank); // "[...]"
const Expr *parse_expr(KernelParser *k);                // never NULL; a constant where it fails
const Expr *parse_typed_expr(KernelParser *k, DType t);

#endif
