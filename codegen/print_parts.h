// What the files of the printer share among themselves.
#ifndef CAMEO_CODEGEN_PRINT_PARTS_H
#define CAMEO_CODEGEN_PRINT_PARTS_H

#include "codegen/printer.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MAX_LOOPS = 64 }; // variables of one reduction

const char *print_index_bare(Printer *p, Index i); // without parentheses around a sum
// Without the parentheses that hold all of it.
const char *without_parentheses(Printer *p, const char *s);
Index linear_index(Printer *p, uint32_t rank, const Index *dims, const Index *at);
// An S_IF or S_WHILE whose statements are printed by what is given.
typedef void (*PrintStmts)(Printer *p, const Stmt *s);
void print_if(Printer *p, const Stmt *s, PrintStmts block);
void print_while(Printer *p, const Stmt *s, PrintStmts body);
const char *print_row_element(Printer *p, const Stmt *set);
const char *print_binary_op(Printer *p, BinaryOp op, DType t, const char *a, const char *b);
const char *type_of_value(Printer *p, DType t);
// The type in which a dtype's arithmetic is done: "f32", "f64", "i32", "u32", "i64", "u64".
const char *arithmetic_suffix(DType t);
// Has runtime/cameo_vector.h this function?
bool unary_is_arithmetic(UnaryOp op, DType t);
// From here to the end of the block, variable t`temp` holds e.
void memo_add(Printer *p, const Expr *e, uint32_t temp);
uint32_t index_weight(Printer *p, Index i, uint32_t limit);
const char *print_reduce(Printer *p, const Expr *e);
bool print_any_order(const Expr *reduce); // may threads share the work of it?
// Has but one of its loops more than one iteration?
bool print_is_one_loop(Printer *p, const Expr *reduce);
// The value of a reduction over nothing; acc = op(acc, what is reduced), which is printed before.
const char *print_neutral(Printer *p, const Expr *reduce);
void print_accumulate(Printer *p, const Expr *reduce, const char *acc);
// A product that is used once, as "cameo_muladd_f32(a, b, c)", where c is added: `negative`, with
// another sign. NULL: e is no such product, or the dialect has no text for it.
const char *print_product_added(Printer *p, const Expr *e, bool negative, const char *c);
void print_bind_loop(Printer *p, LoopId v, int by);
Index print_extent(const Printer *p, LoopId v);

// ---- loop nests under a guard (codegen/print_bounds.c) ----------------------------------------
// Conjuncts of a guard that are linear in a loop variable become bounds of its loop; the others are
// tested as soon as all they need is bound.
typedef struct Bounds {
    uint32_t n;
    LoopId vars[MAX_LOOPS + 1];                           // outermost first
    const char *low[MAX_LOOPS + 1], *high[MAX_LOOPS + 1]; // NULL: 0 and the extent
    uint32_t shared; // number + 1 of the variable whose loop a group of threads divides; 0: none
    VEC(const Expr *) tests;
    VEC(uint32_t) levels; // of each test: how many variables it needs
    VEC(uint32_t) marks;
} Bounds;
void bounds_read(Printer *p, Bounds *b, const Expr *guard);
// Opens the loops. `body`: what may be hoisted out of them, or NULL.
void nest_begin(Printer *p, Bounds *b, const Expr *body);
void nest_end(Printer *p, Bounds *b);

// i = *factor * v + (what is free of v), or false (codegen/cpu/rows.c).
bool factor_of(Printer *p, Index i, LoopId v, Index *factor);

// A cheaper form of an operation (codegen/cpu/forms.c); NULL: there is none.
const char *forms_print(Printer *p, const Expr *e);
// x of 1 / (1 + exp(-x)), or NULL.
const Expr *forms_sigmoid(const Expr *e);
// z of 1 / (1 + exp(z)), or NULL.
const Expr *forms_logistic(const Expr *e);
// Is it a product of two floats that is used once, and printed as such?
bool forms_is_product(Printer *p, const Expr *e);

// x of its GELU in float32, or NULL; between print_statement_begin and its end.
const Expr *forms_gelu(Printer *p, const Expr *e);
// Is e x(v) - max over k of x(k)? Does the loop store e^ that?
bool forms_subtracts_most(Printer *p, const Expr *e, LoopId v);
bool forms_stores_powers(Printer *p, const Stmt *s);
// m of m == v ? w : m, as Attention has for rows that are masked throughout; else e itself.
const Expr *forms_but_for(const Expr *e, double v, double w);

// Is this float32 a number of float16, so that rounding to that leaves it as it is?
bool forms_is_half(const Expr *e);

// ---- lanes (codegen/cpu/lanes.c)
// Prints a reduction into variable t`t`, which holds its neutral element, in lanes; false: it does
// not run along neighbouring elements, and nothing was printed.
bool lanes_print(Printer *p, const Expr *e, uint32_t t);
bool lanes_fit(Printer *p, const Expr *e); // would it?
// Does e hold a reduction that is not computed yet?
bool holds_reduce(Printer *p, const Expr *e);

// ---- interchange (codegen/cpu/interchange.c)
// Prints a parallel loop over neighbours around sequential ones; false: this is no such loop, and
// nothing was printed.
bool interchange_print(Printer *p, const Stmt *loop);

// ---- squares (codegen/cpu/squares.c)
// Prints two innermost parallel loops that transpose; false: they do not, and nothing was printed.
bool squares_print(Printer *p, const Stmt *loop);
bool squares_fit(Printer *p, const Stmt *loop); // would it?

// ---- rows (codegen/cpu/rows.c) ----------------------------------------------------------------
// Is `loop` one with the loop inside it, as far as all indices can tell? Then it counts as 0 and
// the inner one runs over both, until rows_restore.
bool rows_collapse(Printer *p, const Stmt *loop);
void rows_restore(Printer *p, const Stmt *loop);
// The same of a nest that sets elements of a row.
bool sets_collapse(Printer *p, const Stmt *loop);
// The same of the variables of a reduction with this body.
bool loops_collapse(Printer *p, LoopId outer, LoopId inner, const Expr *body);
void loops_restore(Printer *p, LoopId outer, LoopId inner);
// Prints an innermost parallel loop whose value holds reductions with the loop inside them; false:
// this is no such loop, and nothing was printed.
bool rows_print(Printer *p, const Stmt *loop);

// ---- few (codegen/cpu/few.c): two loops, the inner one over a few neighbours
typedef struct Few {
    Printer *p;
    LoopId outer, inner;
    int64_t n, wide;            // neighbours, and elements of a piece
    VEC(const Expr *) repeated; // what differs between the neighbours alone
    uint32_t first;             // number of the array of its first
    bool fits;
} Few;
// Prints what is done with an element; `lane` is its place in the piece.
typedef void (*FewBody)(Printer *p, const void *with, const char *lane);
// May both loops run as one over value, and has it enough of pieces?
bool few_find(Printer *p, LoopId outer, LoopId inner, const Expr *value, Few *f);
int64_t few_least(const Few *f); // turns of the outer loop that are enough
void few_begin(Few *f);
void few_loops(Few *f, const char *low, const char *high, FewBody body, const void *with);
void few_end(Few *f);
// Prints two innermost parallel loops of that kind; false: these are none.
bool few_print(Printer *p, const Stmt *loop);
bool few_fit(Printer *p, const Stmt *loop); // would it?

// ---- half rows (codegen/cpu/half_rows.c)
// Prints an innermost parallel loop over neighbours of float16 by rows of float32; false: this is
// no such loop, and nothing was printed.
bool half_rows_print(Printer *p, const Stmt *loop);
// Rows of what e loads of float16 along v and casts to float32, before a loop over these elements:
// `n` of them, text, from element `from` on, at most `most`. In the loop each is the element at
// `place` of its row.
enum { HALF_LOADS = 4 };
typedef struct HalfLoads {
    const Expr *at[HALF_LOADS];
    uint32_t n, first;
} HalfLoads;
HalfLoads half_loads_print(Printer *p, LoopId v, const Expr *e, const char *from, const char *n,
                           int most);
void half_loads_read(Printer *p, const HalfLoads *loads, const char *place);
// Are the elements neighbours where v runs?
bool print_runs_along(Printer *p, LoopId v, BufferId buffer, const Index *at);
// The element where v is 0.
const char *print_row_first(Printer *p, LoopId v, BufferId b, const Index *at);

// ---- look-ups (codegen/cpu/lookup.c)
// Prints an innermost parallel loop over neighbours of 8 bits that are looked up in a table; false:
// this is no such loop, and nothing was printed.
bool look_up_print(Printer *p, const Stmt *loop);

// ---- powers (codegen/cpu/powers.c)
// Prints a loop that fills the row of a Softmax and the sum behind it, with a short row what is
// divided by the sum as well, and returns the last statement of these; NULL: this is no such loop,
// and nothing was printed.
const Stmt *powers_print(Printer *p, const Stmt *loop);
bool powers_fit(Printer *p, const Stmt *loop); // would it, inside of another loop?
// t = the sum that e is, if that is one of such powers of neighbours that are only read.
bool powers_print_sum(Printer *p, const Expr *e, uint32_t t);

// ---- extremes (codegen/cpu/extremes.c)
// Prints s and the store behind it, if they store the least and the greatest of the same row, and
// returns the latter; NULL: they do not, and nothing was printed.
const Stmt *extremes_print(Printer *p, const Stmt *s);

// ---- parts (codegen/parts_loops.c) ------------------------------------------------------------
// Where a loop begins and ends: "0" and its extent, or the bounds of what a thread does of it.
const char *loop_low(const Printer *p, LoopId v);
const char *loop_high(Printer *p, LoopId v);

// Prints a loop by the first of the schedules above that takes it; false: none does, and nothing
// was printed (codegen/print_stmt.c).
bool schedules_print(Printer *p, const Stmt *loop);

// Reads before a loop what is there whatever it does (codegen/print_stmt.c).
void print_steady(Printer *p, const Stmt *loop);

#endif
