// Printing kernels in a dialect: expressions become C expressions, reductions become loops before
// the statement that needs them, and what several places need is computed once, in the innermost
// block that holds them all, never above a guard.
#ifndef CAMEO_CODEGEN_PRINTER_H
#define CAMEO_CODEGEN_PRINTER_H

#include "codegen/dialect.h"

// A C variable that holds the value of an expression, while its block is open.
typedef struct Memo {
    uint32_t expr; // Expr.id
    uint32_t old;  // what stood for it outside
    bool changes;  // reads what the kernel writes: forgotten after the statement
} Memo;

typedef struct ExprFacts {
    const LoopId *loops; // free loop variables, sorted
    uint32_t nloops;
    bool known, reduces; // reduces: holds an EX_REDUCE
    bool rounds;         // holds a cast from float to integer
} ExprFacts;

// What is used of the things that have numbers, in order of number.
enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_OUTPUT = 4 };
typedef struct Access {
    uint32_t id;
    uint8_t bits; // ACCESS_*
} Access;
typedef VEC(Access) Accesses;
void access_note(Arena *a, Accesses *u, uint32_t id, uint8_t bits);
uint8_t access_bits(const Accesses *u, uint32_t id); // 0: not used
void access_keep(Accesses *u, const Accesses *only); // what both have
void access_drop(Accesses *u, uint32_t id);

// What a kernel, an expression or a step needs from outside. The arena holds the lists.
typedef struct KernelUses {
    Arena *arena;
    Accesses buffers, dims; // by BufferId, by DimId
} KernelUses;

struct Printer {
    Module *mod;
    const Dialect *dialect;
    Arena *arena; // scratch: texts of expressions
    Buf *out;
    const char *prefix; // of all names at file scope
    uint32_t indent, depth;
    const Kernel *kernel;    // NULL while steps are printed
    uint32_t parallel;       // parallel loops around
    const Expr *rounded;     // whoever reads what is stored rounds it to bfloat16
    bool transposes;         // what was printed calls runtime/cameo_transpose.h
    bool silus;              // or runtime/cameo_silu.h
    bool planes;             // or runtime/cameo_pixel_planes.h
    bool half_rows;          // or runtime/cameo_half_rows.h
    bool half_heads;         // or runtime/cameo_half_heads.h
    bool look_ups;           // or runtime/cameo_look_up.h
    bool powers;             // or runtime/cameo_powers.h
    bool shorts;             // or runtime/cameo_short.h
    bool gelus;              // or runtime/cameo_gelu.h
    bool extremes;           // or runtime/cameo_extremes.h
    bool away;               // or runtime/cameo_away.h
    bool withins;            // or runtime/cameo_within.h
    uint32_t in_arm;         // inside text that may be skipped: no statement may be made
    void *target;            // what the dialect keeps for itself
    struct Parts *parts;     // of kernels that threads share (codegen/parts.h); NULL: none does
    struct Repeats *repeats; // kernels printed so far (codegen/repeats.h); NULL: each stands alone
    bool marks;              // sizes in the text are marked, so that others may stand for them
    Buf before;              // functions of the kernel that is printed, in front of it
    size_t text_at;          // in `out`, where the kernel's text begins behind its comment
    bool in_group;           // rows declared here belong to a group of threads
    bool together;           // a group of threads runs this text: it shares the work of reductions
    bool slices;             // that group is the threads of one point; other points may differ
    bool hoists_rounded; // print_hoisted also computes what rounds
    bool *found_hoist; // not NULL: print_hoisted only tells whether there is anything to hoist

    VEC(Memo) memos;
    uint32_t *temp_of;     // by Expr.id: number of the variable, 0 none
    uint32_t *uses;        // by Expr.id: within the statement
    VEC(uint32_t) counted; // ids of those with uses
    ExprFacts *facts;      // by Expr.id
    uint32_t nfacts;
    // What is known of expressions and locals of one kernel is marked with that kernel's round, so
    // that nothing has to be cleared for the next.
    uint32_t round;
    uint32_t *changes; // by Expr.id: 2 * round no, 2 * round + 1 yes, else not known
    uint32_t ntemps;
    uint8_t *loop_bound; // by LoopId: depth of bindings
    uint32_t nloops;
    Index *extent;   // by LoopId: NULL its own; else that of all loops collapsed into it
    uint8_t *zeroed; // by LoopId: collapsed into the next inner loop
    uint32_t nzeroed;
    LoopId
        turned; // scalars of the kernel are rows over this loop (codegen/cpu/interchange.c); 0: no
    uint32_t *is_let, *is_row;  // by LocalId: round, where it is declared as such
    uint32_t *local_used;       // by LocalId: round, where something of the kernel needs it
    const Stmt **rows;          // by LocalId
    KernelUses printed;         // by the text of the kernel so far
    VEC(KernelUses) of_kernels; // by Kernel.id, what was printed
    uint8_t *written;           // by BufferId: the kernel writes it
};

// "restrict ", of a pointer that the kernel takes; "": another one points there too.
const char *print_restrict(const Printer *p, BufferId b);
// What the text of a kernel takes from outside: its parameters, in order of id.
KernelUses printer_kernel_uses(Printer *p, const Kernel *k); // after printer_kernel

// A printer over a module whose expressions are complete (legalised): none is made from here on.
Printer *printer_new(Module *mod, const Dialect *d, Arena *scratch, Buf *out, const char *prefix);
void printer_kernel(Printer *p, const Kernel *k);

// ---- for dialects and for the printing of steps --------------------------------------------
// A line at the current indentation.
void print_line(Printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Text (in the scratch arena) of the value of e, of an index, of an element. May print statements
// before. Compound text is in parentheses.
const char *print_expr(Printer *p, const Expr *e);
const char *print_index(Printer *p, Index i);
const char *print_element(Printer *p, BufferId b, const Index *at);
const char *print_literal(Printer *p, DType t, Scalar v);
// A size that no loop over elements is made for: where p->marks, marked as one that may differ
// between kernels with one function.
const char *print_size(Printer *p, int64_t size);
// A block: what is computed in it is forgotten at its end.
uint32_t print_block_begin(Printer *p);
void print_block_end(Printer *p, uint32_t mark);
void print_stmt(Printer *p, const Stmt *s); // without those that follow it
void print_stmts(Printer *p, const Stmt *s);
// Counts uses, then prints; call around the printing of every statement or step.
void print_statement_begin(Printer *p, const Expr *value, const Index *at, uint32_t rank);
void print_statement_end(Printer *p);
// Reductions in `s` that do not depend on what it binds, computed here (before its loops).
void print_hoisted(Printer *p, const Stmt *s);
void print_hoisted_expr(Printer *p, const Expr *e);

KernelUses kernel_uses(Module *mod, Arena *a, const Kernel *k);
// Takes out the kernels that do nothing but store what nothing reads, as their uses are now.
void steps_drop_unread(Module *mod);
void uses_add_expr(Module *mod, KernelUses *u, const Expr *e);
void uses_add_index(Module *mod, KernelUses *u, Index i);
// A factor whose packed form is read in its place is used no more, unless the loops around one
// store that are left of the kernel (NULL: none) read it.
void uses_drop_packed(Module *mod, KernelUses *u, BufferId factor, const Stmt *epilogue);
void uses_add_call(Module *mod, KernelUses *u, const Call *call); // NULL: nothing
// Of a step with those inside it: buffers alone of kernels.
void uses_add_step(Module *mod, KernelUses *u, const Step *s);
// Is one of the statements, or of those within them, of that kind?
bool stmts_hold(const Stmt *s, StmtKind kind);

// Do kernels or conditions call functions of runtime/cameo_vector.h, printed as C?
bool steps_call_functions(Module *mod, const Step *s);

// Facts of expressions.
const ExprFacts *expr_facts(Printer *p, const Expr *e);
bool expr_changes(Printer *p, const Expr *e); // reads a row or what the kernel writes
bool expr_ready(Printer *p, const Expr *e);   // all it needs is bound here

// "float32[N,3]" as a comment says it; escaped.
void print_buffer_type(Printer *p, const Buffer *b);
void print_comment_text(Buf *out, Str s); // a model's string inside a comment
void print_c_string(Buf *out, Str s);     // "..." with octal escapes
// The suffix of helper functions for a dtype: "f32", "i8".
const char *dtype_suffix(DType t);

// ---- legalize (codegen/legalize.c): small floats become arithmetic in float32 between explicit
// conversions, after each operation; those of bfloat16, if `wide`, where a kernel stores.
void legalize_module(Module *mod, bool wide);

#endif
