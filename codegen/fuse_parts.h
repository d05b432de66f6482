// What the files of the fusion share among themselves.
#ifndef CAMEO_CODEGEN_FUSE_PARTS_H
#define CAMEO_CODEGEN_FUSE_PARTS_H

#include "codegen/fuse.h"

enum { FUSE_MAX_LOOPS = 48, FUSE_UNKNOWN = 512 };

// Facts of an expression that hold wherever it stands.
typedef struct ExprFree {
    const LoopId *loops; // free loop variables
    uint32_t nloops;
    bool known, reduces, local; // holds a reduction; reads a let or a row
} ExprFree;

typedef struct Fuse {
    Module *mod;
    Arena *arena; // scratch, for the whole pass
    const FuseTarget *target;
    int64_t unknown;     // what a dim that is not known counts as
    VEC(ExprFree) free;  // by Expr.id
    VEC(uint8_t) marked; // by Expr.id: counted already (codegen/fuse_work.c)
    VEC(uint32_t) depth; // by LoopId: 1 + how deep its loop stands while it is open
} Fuse;

const ExprFree *expr_free(Fuse *f, const Expr *e);
bool expr_depends(Fuse *f, const Expr *e, LoopId v);
bool index_depends(Fuse *f, Index i, LoopId v);
double fuse_eval(Fuse *f, Index i);

// Scalar operations of a kernel's statements (codegen/fuse_work.c).
double fuse_work(Fuse *f, const Stmt *body);

// ---- the shape of a kernel (codegen/fuse_shape.c)
// Parallel loops, one in the other, around one store.
typedef struct Point {
    const Stmt *loops[FUSE_MAX_LOOPS];
    uint32_t nloops;
    const Stmt *store; // NULL: the kernel is of another form
} Point;
Point point_of(const Stmt *body);
// All elements of the stored buffer, each at its own loop variables: vars[i] is the variable of dim
// i, or 0 where the dim is 1 and the index 0.
bool point_defines(Fuse *f, const Point *p, LoopId *vars);

typedef struct Shape {
    bool point;            // a Point
    uint32_t reduces;      // distinct reductions
    const Expr *product;   // a contraction among them
    bool always;           // every reduction is evaluated for each element, under no guard
    bool rows;             // reductions run along the innermost loop with strides of at most 2
    bool apart;            // what a row's reduction takes one after the other are no neighbours
    bool matrices;         // the contraction is a product of matrices as products are recognised
    Index neighbours;      // then: as many elements of its result are neighbours; else NULL
    bool across;           // neighbours of the contraction's results hang on a weight alone
    uint32_t outside;      // loops that choose windows, around all that choose some of the weight
    uint32_t places;       // loops that choose windows and nothing of the weight
    bool nested;           // a reduction is made for each element of another one
    uint32_t weight_loops; // loops that the indices of its weights depend on
    uint32_t divisions;    // div, mod, min and max of loop variables in indices
    bool linear;           // the contraction's factors stand at linear indices
    bool overflows;        // an index cannot be written
    bool data_extents;     // the extent of a loop is read from data
} Shape;
Shape shape_of(Fuse *f, const Stmt *body);
// Is `e` a contraction that reads the buffer as one of its two factors?
bool kernel_multiplies(Fuse *f, const Stmt *body, BufferId b);
// The position of an element.
Index fuse_linear(Fuse *f, BufferId b, const Index *at);

// What e is, where it reads what is known of weights, or is a square (codegen/fuse_fold.c); NULL:
// it stays. Its operands are mapped.
const Expr *fuse_folded(Fuse *f, const Expr *e, const ExprMap *map);
// What is so known becomes constants and indices in all kernels, and integers that kernels compute
// of places are computed where they are read (codegen/fuse_known.c).
void fuse_known(Fuse *f);

// ---- look-ups (codegen/fuse_lookup.c)
bool is_condition(const Expr *e); // integers are equal
bool is_one_hot(const Expr *e);   // 1 where integers are equal, else 0
// One-hot products in a copy of the statements become look-ups.
Stmt *solve_lookups(Fuse *f, Stmt *body);

// ---- scales of factors (codegen/fuse_scales.c)
// The load that e multiplies by a number, or divides by one; NULL: it is no such thing.
const Expr *fuse_scaled_load(const Expr *e);
// A copy of the statements in which such numbers multiply sums of products, not their factors.
Stmt *fuse_scales_out(Fuse *f, Stmt *body);

// ---- rewriting (codegen/fuse_rewrite.c)
// A copy of statements with every expression and index mapped.
Stmt *stmts_map(Fuse *f, const Stmt *s, const ExprMap *map);
// A copy in which loads of p's buffer are what p stores there.
Stmt *inline_point(Fuse *f, const Stmt *body, const Point *p, const LoopId *vars);
// Splits parallel loops v = t*v1 + v0 where v div t or v mod t stands in an index and t divides v's
// extent. Returns body itself where nothing is to be split.
Stmt *split_loops(Fuse *f, Stmt *body);
// A statement's expressions, those in indices and extents not included.
void stmts_walk(Fuse *f, const Stmt *s, void (*visit)(void *context, const Expr *e), void *context);

#endif
