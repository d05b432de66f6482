// Shared by the files that print and read the kernel IR's text.
#ifndef CAMEO_IR_KERNEL_TEXT_H
#define CAMEO_IR_KERNEL_TEXT_H

#include "ir/kernel.h"
#include "ir/text_parse.h"

// Names in the text, by UnaryOp, BinaryOp, CompareOp, ReduceOp, and by AtomKind (pairs only).
extern const char *const kernel_unary[U_COUNT];
extern const char *const kernel_binary[B_COUNT];
extern const char *const kernel_compare[4];
extern const char *const kernel_reduce[8];
extern const char *const kernel_pair[ATOM_EXPR];

enum { KERNEL_MAX_RANK = 64 };

bool kernel_commutes(const Expr *e);

// An order of expressions and indices that depends on what they say (ids of buffers, locals, dims
// and loops included), not on when they were made.
typedef struct Order {
    Arena *arena;
    VEC(uint64_t) exprs, polys; // by id; 0: not known yet
} Order;
uint64_t order_expr(Order *o, const Expr *e);
uint64_t order_index(Order *o, Index i);
// The terms of i as they are printed: the constant last, atoms sorted.
void order_terms(Order *o, Index i, Term *out);
// Of two operands of what commutes: does b come first?
bool order_swaps(Order *o, const Expr *a, const Expr *b);

// The nodes of a model counted from 1 as the text shows them: what "@12" means. By NodeId.
uint32_t *node_ordinals(const Model *m, Arena *a, uint32_t *count);

// Reads "kernels { ... }" (the word is taken already) into p->m->kernels.
void parse_kernels(Parser *p);

#endif
