// Symbolic integers: polynomials over dims and loop variables, always in normal form.
//
// One type serves shapes (dims of a graph's values), sizes of buffers, and indices of kernels.
// Polynomials are hash-consed: equal ones are the same pointer, so `p == q` decides equality of
// normal forms. They are signed 64-bit; a constant that would overflow makes the result
// poly_overflow (checked by callers at the door: poly_is_overflow).
#ifndef CAMEO_IR_POLY_H
#define CAMEO_IR_POLY_H

#include "base/arena.h"
#include "base/str.h"

typedef struct Polys Polys; // the table of one compilation
typedef struct Poly Poly;   // immutable
typedef const Poly *Index;  // an integer: a dim, a size, or an index of a kernel
typedef struct Expr Expr;   // ir/kernel.h
typedef uint32_t DimId;     // a dim variable; 0 is none
typedef uint32_t LoopId;    // a loop or reduction variable; 0 is none

typedef enum AtomKind {
    ATOM_DIM,  // a dim variable: an input's dim, or an integer read from data when the program runs
    ATOM_LOOP, // a loop variable, 0 <= v < extent
    ATOM_FLOORDIV, // floor(a / b), b > 0
    ATOM_MOD,      // a - b * floor(a / b), b > 0
    ATOM_MIN,
    ATOM_MAX,
    ATOM_EXPR // an integer expression of a kernel (a load from data, a rounding of a coordinate
              // ...)
} AtomKind;

typedef struct Atom {
    AtomKind kind;
    uint32_t id;   // order of creation; DIM and LOOP: see var
    uint32_t var;  // DimId or LoopId
    Index a, b;    // operands of FLOORDIV, MOD, MIN, MAX; a is the extent of LOOP
    const Expr *e; // EXPR
} Atom;

typedef struct Term {
    int64_t coeff;            // never 0
    uint32_t natoms;          // 0: the constant term
    const Atom *const *atoms; // sorted by id, repeated for powers
} Term;

struct Poly {
    uint32_t id;       // dense, in order of creation
    uint32_t nterms;   // 0: the constant 0
    const Term *terms; // sorted; the constant term first where there is one
};

Polys *polys_new(Arena *a);

Index poly_const(Polys *p, int64_t v);
// A new dim variable, >= 0 (at least `least`). The name is for people ("batch"); hints need not be
// unique.
DimId dim_new(Polys *p, Str name, int64_t least);
Str dim_name(const Polys *p, DimId d);
int64_t dim_least(const Polys *p, DimId d);
// The dim variable that stands for a, made the first time, after all dims in a: sizes made of sizes
// stay short. The program defines it by a before all else. dim_means: what d stands for; NULL: it
// is a variable.
DimId dim_named(Polys *p, Index a, Str name);
Index dim_means(const Polys *p, DimId d);
uint32_t dim_count(const Polys *p); // ids are 1..dim_count
Index poly_dim(Polys *p, DimId d);
// A new loop variable with 0 <= v < extent.
LoopId loop_new(Polys *p, Index extent);
Index loop_extent(const Polys *p, LoopId v);
// The loop whose variable alone the index is; 0: it is something else.
LoopId poly_lone_loop(Index i);
uint32_t loop_count(const Polys *p); // ids are 1..loop_count
Index poly_loop(Polys *p, LoopId v);
Index poly_expr(Polys *p, const Expr *e); // equal pointers e give equal atoms

Index poly_add(Polys *p, Index a, Index b);
Index poly_sub(Polys *p, Index a, Index b);
Index poly_mul(Polys *p, Index a, Index b);
Index poly_scale(Polys *p, Index a, int64_t k);
Index poly_add_const(Polys *p, Index a, int64_t k);
// Simplified with what is known of ranges: (a*k+r) div k -> a if 0 <= r < k; k*(p div k) + (p mod
// k) -> p.
Index poly_floordiv(Polys *p, Index a, Index b);
Index poly_ceildiv(Polys *p, Index a, Index b);
Index poly_mod(Polys *p, Index a, Index b);
Index poly_min(Polys *p, Index a, Index b);
Index poly_max(Polys *p, Index a, Index b);

bool poly_is_const(Index a, int64_t *v); // v may be NULL
bool poly_equals(Index a, int64_t v);
bool poly_is_overflow(Index a);
// Is a >= 0 (a < b) for every value of dims and loop variables? false: not proved.
bool poly_nonnegative(Polys *p, Index a);
bool poly_less(Polys *p, Index a, Index b);

// For reading text back: a sum of terms, an atom of two operands (FLOORDIV to MAX) and a loop
// variable exactly as given, nothing simplified. Terms and their atoms may stand in any order; the
// lists of atoms must live as long as p. loop_define gives v (made now with all before it) its
// extent, before poly_loop(v) is used.
Index poly_as_written(Polys *p, uint32_t nterms, const Term *terms);
Index poly_pair(Polys *p, AtomKind kind, Index a, Index b);
void loop_define(Polys *p, LoopId v, Index extent);

// a with every atom replaced by what `map` returns for it (NULL: keep, but its operands are
// mapped).
Index poly_map(Polys *p, Index a, Index (*map)(void *context, const Atom *atom), void *context);
// Does any atom of a (operands of atoms included) satisfy the test?
bool poly_any(Index a, bool (*test)(void *context, const Atom *atom), void *context);
// How many atoms its text has, at least most + 1 if there are more.
uint32_t poly_weight(Index a, uint32_t most);
// Does it vary with a loop variable, or with an expression of a kernel?
bool poly_varies(Index a);
// With an expression of a kernel: data or a rounding, at any depth?
bool poly_reads_data(Index a);
// Does v occur in it?
bool poly_has_loop(Index a, LoopId v);
// a / b rounded down, as poly_floordiv means it; 0 where b is 0.
int64_t floor_divide(int64_t a, int64_t b);
// Of both, up to its sign; b where a is 0.
int64_t greatest_divisor(int64_t a, int64_t b);
// The value of a; `value` gives that of DIM, LOOP and EXPR atoms. Division by 0 gives 0.
int64_t poly_eval(Index a, int64_t (*value)(void *context, const Atom *atom), void *context);

// "2*batch+1", loop variables as i1, i2 ...: for dumps and messages.
void poly_print(const Polys *p, Index a, Buf *out);

#endif
