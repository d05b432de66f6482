// The kernel IR: what every operator means. Printers, the interpreter and the fusion read this,
// nothing else.
//
// A module is a list of steps over buffers; most steps are kernels: parallel loops over an output
// with one store, reductions inside the expression. Expressions are hash-consed per module: equal
// ones are one pointer.
#ifndef CAMEO_IR_KERNEL_H
#define CAMEO_IR_KERNEL_H

#include "ir/graph.h"

typedef uint32_t BufferId; // 0 is none
typedef uint32_t LocalId;  // a let, a scalar variable or a row of a kernel; 0 is none

// ---- expressions

typedef enum ExprKind {
    EX_CONST,   // value
    EX_INDEX,   // index as an int64
    EX_LOAD,    // buffer[at...]; at has the buffer's rank
    EX_LOCAL,   // a let (no indices), or an element of a row
    EX_UNARY,   // uop(a)
    EX_BINARY,  // bop(a, b): a, b and the result have one dtype (shifts too)
    EX_COMPARE, // cop(a, b): bool
    EX_SELECT,  // a ? b : c; lazy: only the chosen arm is evaluated
    EX_CAST, // ONNX Cast: rounds to nearest even, float8 saturates if `saturate`; out of range see
             // scalar_cast
    EX_BITCAST, // same bytes
    EX_REDUCE   // rop over vars where a (or always) of b
} ExprKind;

// Floats narrower than 32 bits: every operation converts to float32, computes, and rounds back.
typedef enum UnaryOp {
    U_NEG,
    U_ABS,
    U_NOT /* bool */,
    U_BITNOT,
    U_SQRT,
    U_EXP,
    U_LOG,
    U_SIN,
    U_COS,
    U_TAN,
    U_ASIN,
    U_ACOS,
    U_ATAN,
    U_SINH,
    U_COSH,
    U_TANH,
    U_ASINH,
    U_ACOSH,
    U_ATANH,
    U_ERF,
    U_EXPM1,
    U_LOG1P,
    U_FLOOR,
    U_CEIL,
    U_ROUND /* to even */,
    U_TRUNC,
    U_ISNAN /* bool */,
    U_ISINF /* bool */,
    U_COUNT
} UnaryOp;
typedef enum BinaryOp {
    B_ADD,
    B_SUB,
    B_MUL,
    B_DIV,  // integers: toward zero; by 0 gives 0, INT_MIN / -1 wraps
    B_MOD,  // sign of the divisor (floor); floats too; integers by 0 give 0
    B_FMOD, // sign of the dividend (trunc)
    B_MIN,
    B_MAX, // floats: NaN if either is NaN
    B_POW,
    B_AND,
    B_OR,
    B_XOR, // bool or integers (bitwise)
    B_SHL,
    B_SHR, // unsigned and signed integers; a count >= bits gives 0
    B_ATAN2,
    B_COUNT
} BinaryOp;
typedef enum CompareOp { C_EQ, C_NE, C_LT, C_LE } CompareOp;
// Of no elements: 0, 1, lowest or -inf, highest or inf, true, false, -1. Order unspecified; ARG:
// the first of equals (in the order of the one variable), value is that variable as int64; NaN
// counts as extreme, as NumPy.
typedef enum ReduceOp { R_ADD, R_MUL, R_MAX, R_MIN, R_AND, R_OR, R_ARGMAX, R_ARGMIN } ReduceOp;

struct Expr {
    ExprKind kind;
    DType dtype; // of the result
    uint8_t op;  // UnaryOp, BinaryOp, CompareOp, ReduceOp
    bool saturate;
    uint32_t id; // dense per module, in order of creation
    Scalar value;
    Index index;
    BufferId buffer;
    LocalId local;
    uint32_t rank;      // of at, or number of vars
    const Index *at;    // LOAD, LOCAL
    const LoopId *vars; // REDUCE
    const Expr *a, *b, *c;
};

// ---- statements

typedef enum StmtKind {
    S_FOR,    // for var in 0..extent(var): body; par: iterations are independent
    S_LET,    // local = value, once, immutable
    S_ROW,    // a mutable array local to the iteration (rank 0: a mutable scalar); uninitialised
    S_SET,    // row[at] = value
    S_STORE,  // buffer[at] = value
    S_UPDATE, // buffer[at] = op(buffer[at], value); atomic where a parallel loop is around it
    S_IF,
    S_WHILE // while value: body
} StmtKind;

typedef struct Stmt Stmt;
struct Stmt {
    StmtKind kind;
    Stmt *next;
    bool par;
    LoopId var;         // FOR
    LocalId local;      // LET, ROW, SET
    BufferId buffer;    // STORE, UPDATE
    BinaryOp op;        // UPDATE: ADD, MUL, MIN, MAX
    DType dtype;        // ROW
    uint32_t rank;      // of at; ROW: of dims
    const Index *at;    // SET, STORE, UPDATE; ROW: its dims
    const Expr *value;  // LET, SET, STORE, UPDATE; condition of IF, WHILE
    Stmt *body, *other; // FOR, IF, WHILE; other: IF's else
};

typedef struct Kernel {
    uint32_t id;
    Str name;          // an identifier made from the operator's name: "softmax"
    NodeId node;       // what it was lowered from (the last of those fused)
    VEC(NodeId) fused; // all nodes whose work it does
    Stmt *body;
    Stmt *point;                     // the body before a schedule of a plane's windows; or NULL
    bool on_host;                    // where the others run on a device
    bool rest; // constants that it stores are for elements without meaning: others may be there
    BufferId row;                    // that each turn of the outer loops fills anew, 0: none
    const struct Override *override; // a faster form that a target's table chose; NULL: the body
} Kernel;

// ---- modules

typedef enum BufferKind { BUF_INPUT, BUF_OUTPUT, BUF_WEIGHT, BUF_TEMP } BufferKind;

typedef struct Buffer {
    BufferKind kind;
    Str name;      // of the value; not unique
    ValueId value; // 0 for intermediates of a lowering
    DType dtype;
    uint32_t rank;
    const Index *dims;
    const TensorData *data; // WEIGHT
    uint32_t port;          // INPUT, OUTPUT: its number among the program's
    BufferId shares;        // OUTPUT: it may lie where this INPUT does, see share_outputs; 0: none
    BufferId in_place;      // TEMP: it lies where this one does; 0: in a place of its own
    DeviceId device;
    int64_t coarse; // of a factor of products: so many values of k of the other factor may be bytes
                    // with a scale of their own, where that is quicker; 0: floats only
} Buffer;

// What a step may ask of objects (ir/intrinsics.def): a function cameo_NAME of a file of runtime/,
// which the interpreter calls too. Operands are buffers, whole, and numbers. `reads` and `writes`
// have a letter for each buffer: 'l' a list, 'n' one int64, 'i' int64, 's' strings, 'b' bool, 'f'
// float32, 'd' float64, 't' tensors and lists of any kind; '*' at the end repeats the letter before
// it any number of times, 0 too.
typedef struct Intrinsic {
    const char *name, *header, *reads, *writes;
    uint32_t numbers; // INTRINSIC_ANY: as many as the call has
} Intrinsic;
#define INTRINSIC_ANY UINT32_MAX
extern const Intrinsic intrinsics[]; // ends with a NULL name
const Intrinsic *intrinsic_find(Str name);

typedef struct Call {
    const Intrinsic *what;
    uint32_t nreads, nwrites, nnumbers;
    const BufferId *reads, *writes;
    const Index *numbers; // of dims and constants only
} Call;
// A call of the function that a custom operator's source defines (ir/contract.h): that of the
// step's node. Its numbers are the function's sizes in order.
bool call_is_custom(const Call *c);

typedef enum StepKind {
    STEP_KERNEL,
    STEP_DIM,   // dim = value; loads read buffers already written (a host read-back on a GPU)
    STEP_CHECK, // error unless cond
    STEP_IF,    // cond: then, else other
    STEP_LOOP,  // dim = 0, 1, ... while dim < trip (NULL: no bound): body; ended by BREAK too
    STEP_BREAK, // leaves the innermost loop if cond
    STEP_CALL   // an intrinsic; always on the host
} StepKind;

typedef struct Step Step;
struct Step {
    StepKind kind;
    Step *next;
    NodeId node; // what it was lowered from
    Kernel *kernel;
    DimId dim;        // DIM; LOOP: the counter
    Index value;      // DIM; LOOP: trip count or NULL
    const Expr *cond; // CHECK, IF, BREAK: a bool without free loop variables
    Str message;      // CHECK: what the program says ("Gather: index out of range")
    const Call *call; // CALL; KERNEL: an intrinsic that its text calls, without operands
    Step *body, *other;
};

typedef struct Module {
    Arena *arena;
    Model *model;
    Polys *polys;
    VEC(Buffer) buffers; // [0] unused
    VEC(BufferId)
    inputs, outputs; // in the order of the graph's (inputs without those that are weights)
    Step *steps;
    uint32_t nkernels, nexprs, nlocals;
    VEC(Str) symbols;        // strings that are known when compiling, by number; [0] is ""
    Map symbol_ids;          // the number of each
    struct ExprTable *table; // for hash-consing
} Module;

// An element of dtype DT_STRING is the number of a string in a table of the run, equal strings
// having equal numbers; of DT_OBJECT the number of a list. They are loaded, stored, selected,
// compared by C_EQ and C_NE, and bitcast to and from DT_I64, nothing else. A weight of strings
// holds the strings; what a load of it gives is their numbers.
//
// Complex numbers are loaded, stored, selected, negated, added, subtracted, multiplied, reduced by
// sum and product, compared by C_EQ and C_NE, cast from real and complex ones, and bitcast.

Module *module_new(Model *m);
// Where a module stands, and: is anything made since (an expression, a loop or a buffer) of an
// index that is absent or overflows?
typedef struct ModuleMark {
    uint32_t nexprs, nloops, nbuffers;
} ModuleMark;
ModuleMark module_mark(const Module *mod);
bool module_overflows(const Module *mod, const ModuleMark *since);
// What is done to a number that cannot be ("arithmetic on strings"); NULL: nothing. Of anything
// made since; of an update.
const char *expr_misuse(const Expr *e);
const char *module_misuse(const Module *mod, const ModuleMark *since);
const char *update_misuse(DType t, BinaryOp op);
// Is the tensor larger than any memory (MAX_ELEMENTS), or one of its dims negative, as far as they
// are known? An empty one is not.
#define MAX_ELEMENTS ((int64_t)1 << 44)
bool dims_are_too_large(uint32_t rank, const Index *dims);
// The number of a string, which joins the module's if it is none of them.
int64_t module_symbol(Module *mod, Str s);
// Does a buffer or a step need the table of objects?
bool module_has_objects(const Module *mod);
static inline Buffer *buffer_at(const Module *mod, BufferId b)
{
    return &mod->buffers.at[b];
}
BufferId buffer_new(Module *mod, BufferKind kind, Str name, DType t, uint32_t rank,
                    const Index *dims);

// Constructors fold constants, apply identities that hold bit for bit, and intern.
const Expr *expr_const(Module *mod, DType t, Scalar v);
const Expr *expr_index(Module *mod, Index i);
// The inverse: the integer that e is, of an index or a constant of int64; NULL: it is neither.
Index expr_as_index(Module *mod, const Expr *e);
const Expr *expr_load(Module *mod, BufferId b, const Index *at);
const Expr *expr_local(Module *mod, LocalId v, DType t, uint32_t rank, const Index *at);
// The indices of an element of one dim, in the module's arena.
Index *one_index(Module *mod, Index i);
const Expr *expr_unary(Module *mod, UnaryOp op, const Expr *a);
const Expr *expr_binary(Module *mod, BinaryOp op, const Expr *a, const Expr *b);
const Expr *expr_compare(Module *mod, CompareOp op, const Expr *a, const Expr *b);
const Expr *expr_select(Module *mod, const Expr *cond, const Expr *yes, const Expr *no);
const Expr *expr_cast(Module *mod, DType to, const Expr *a, bool saturate);
const Expr *expr_bitcast(Module *mod, DType to, const Expr *a);
const Expr *expr_reduce(Module *mod, ReduceOp op, uint32_t nvars, const LoopId *vars,
                        const Expr *where, const Expr *body);

// An expression exactly as given, interned; nothing folded, no operands swapped. For reading text.
const Expr *expr_as_written(Module *mod, Expr key);

// Rebuilds an expression bottom-up: `leaf` may replace any node (NULL: rebuild it from its mapped
// operands); `atom` does the same for atoms inside indices (NULL function: none). Reduction
// variables stay the same ids.
typedef struct ExprMap {
    void *context;
    const Expr *(*leaf)(void *context, const Expr *e);
    Index (*atom)(void *context, const Atom *a);
} ExprMap;
const Expr *expr_map(Module *mod, const Expr *e, const ExprMap *map);
Index index_map(Module *mod, Index i, const ExprMap *map); // through EXPR atoms too
// A leaf that puts `to` for `from`; its context is an ExprSwap.
typedef struct ExprSwap {
    const Expr *from, *to;
} ExprSwap;
const Expr *expr_swap(void *context, const Expr *e);
// An atom that puts `to` for a loop; its context is a LoopSwap.
typedef struct LoopSwap {
    LoopId from;
    Index to;
} LoopSwap;
Index loop_swap(void *context, const Atom *a);
// Does it load an element of the buffer, indices included?
bool expr_reads(Module *mod, const Expr *e, BufferId b);
// The value of an expression of numbers alone, as the interpreter has it; false: it is another.
bool expr_number(const Expr *e, Scalar *v);
// A copy with fresh reduction variables, for using an expression twice.
const Expr *expr_fresh(Module *mod, const Expr *e);
// Visits e and all below it once each, indices' expressions included, operands first.
void expr_walk(Module *mod, const Expr *e, void (*visit)(void *context, const Expr *e),
               void *context);
bool expr_uses_loop(Module *mod, const Expr *e, LoopId v);

// The section "kernels { ... }" of the textual form, read back by text_parse into Model.kernels.
// What does not depend on the order in which expressions were made: the terms of a sum, the
// operands of what commutes, is sorted, so that text read and printed again is the same text.
void module_print(const Module *mod, Buf *out);

// Faults of a module (an unbound variable, a rank that differs, a dtype that differs); false with
// *error.
bool module_verify(const Module *mod, Str *error);

#endif
