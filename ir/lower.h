// Building kernels: the vocabulary in which an operator's lowering is written.
//
//   static void lower_relu(Lower *l)            // what UNARY(relu) expands to, by hand
//   {
//       Tensor x = input(l, 0), y = output(l, 0);
//       Index o[MAX_RANK];
//       kernel(l, "relu");
//       par_all(l, y, o);
//       store(l, y, o, max_(l, load(l, x, o), zero(l, x.dtype)));
//       kernel_end(l);
//   }
//
// A lowering may open several kernels one after another and use temporaries between them. Prefer
// point form (parallel loops over the output, reductions inside the expression, one store): only
// that is fused.
#ifndef CAMEO_IR_LOWER_H
#define CAMEO_IR_LOWER_H

#include "ir/infer.h"
#include "ir/kernel.h"

struct Lower {
    Model *model;
    Module *module;
    Polys *polys;
    Arena *arena;
    Diags *diags;
    NodeId node;
    const Node *n;           // the node being lowered
    int64_t opset;           // of its domain
    const struct Part *part; // what stands for its operands, if it is part of another's lowering
    struct LowerState *state;
    bool failed;
};

// A buffer as a lowering sees it. buffer == 0: an absent optional input or output.
typedef struct Tensor {
    BufferId buffer;
    DType dtype;
    uint32_t rank;
    const Index *dims;
} Tensor;

// Lowers a whole model (functions inlined, types and shapes inferred). NULL with diagnostics (rule
// "", "not supported: ...", with the node's location) if something cannot be lowered; all such
// places are reported.
Module *lower_model(Model *m, Diags *diags);
// Lowers one node alone, its inputs as the module's inputs: for constant folding and tests.
Module *lower_node_alone(Model *m, NodeId n, Diags *diags);

// ---- operands
bool has_input(Lower *l, uint32_t i);
bool has_output(Lower *l, uint32_t i);
Tensor input(Lower *l, uint32_t i);  // absent: {0}
Tensor output(Lower *l, uint32_t i); // absent: {0}
Tensor temp(Lower *l, const char *name, DType t, uint32_t rank, const Index *dims);
// An input that is known when compiling; NULL otherwise. Elements as in memory, see dtype_info.
const void *constant_input(Lower *l, uint32_t i, const TensorData **data);
// A constant of rank 1 that the lowering makes, elements as tensor_new takes them (strings: Str).
Tensor table(Lower *l, const char *name, DType t, uint64_t n, const void *elements);
// The elements of a small integer input as indices, loads where they are not known (rank 0 or 1).
Index input_element(Lower *l, uint32_t i, uint32_t k);
// This node cannot be lowered: "not supported: Resize with coordinate_transformation_mode \"x\"".
void not_supported(Lower *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The node's operands or attributes do not fit each other: "not supported: Resize: what", once a
// node. The builders below say so too where an index is absent or too large or dtypes differ; what
// is built after it stays defined, but is not used.
void lower_unfit(Lower *l, const char *what);

// ---- operators made of others
// An operator of the standard domain as one step of another's lowering: a fused operator is its
// parts one after another on temporaries, and fusion makes the kernels one again. Its tensors'
// shapes must be what the operator's shape rule would give.
typedef struct Part {
    const char *op;
    Tensor in[8], out[4]; // buffer 0: absent
    const Attr *attrs;
    uint32_t nattrs;
    int64_t opset; // 0: the newest
} Part;
// No kernel may be open.
void lower_part(Lower *l, const Part *p);
Attr attr_int(const char *name, int64_t v);
Attr attr_float(const char *name, double v);

// ---- program level
// -------------------------------------------------------------------------------------- The value
// of a data dim (infer_data_dim), as the program finds it. `dim` must be that dim alone.
void define_dim(Lower *l, Index dim, Index value);
void check(Lower *l, const Expr *cond, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Control flow: steps made between belong to the branch or the body.
void step_if(Lower *l, const Expr *cond);
void step_else(Lower *l);
void step_end(Lower *l);
Index step_loop(Lower *l, Index trip); // returns the counter; trip NULL: until a break
void step_break(Lower *l, const Expr *cond);
// Asks objects: an intrinsic by name, whole buffers that it reads and writes, numbers of dims and
// constants (other numbers go in buffers of rank 0).
void step_call(Lower *l, const char *intrinsic, uint32_t nreads, const Tensor *reads,
               uint32_t nwrites, const Tensor *writes, uint32_t nnumbers, const Index *numbers);
// A dim variable that steps may assign again and again (loop-carried shapes).
// Lowers the nodes of a subgraph here. Its inputs must have been given buffers with bind_value.
void lower_graph(Lower *l, GraphId g);
void bind_value(Lower *l, ValueId v, Tensor t);
Tensor tensor_of_value(Lower *l, ValueId v);
// y = x, element by element (a kernel); shapes must agree.
void copy_tensor(Lower *l, Tensor y, Tensor x);

// ---- kernels
void kernel(Lower *l, const char *name);
void kernel_end(Lower *l);                  // closes all that is open
void kernel_rest(Lower *l);                 // constants it stores are for elements without meaning
Index par(Lower *l, Index extent);          // opens a parallel loop
void par_all(Lower *l, Tensor y, Index *o); // one for each dim of y
Index seq(Lower *l, Index extent);          // opens a sequential loop
void if_(Lower *l, const Expr *cond);
void else_(Lower *l);
void while_(Lower *l, const Expr *cond);
void end(Lower *l);                           // closes the innermost loop, if or while
const Expr *let(Lower *l, const Expr *value); // evaluated once, here
LocalId row(Lower *l, DType t, uint32_t rank, const Index *dims); // rank 0: a mutable scalar
const Expr *get(Lower *l, LocalId v, const Index *at);
void set(Lower *l, LocalId v, const Index *at, const Expr *value);
void store(Lower *l, Tensor y, const Index *at, const Expr *value);
void update(Lower *l, BinaryOp op, Tensor y, const Index *at, const Expr *value);

// ---- reductions: variables are made first, then used in the body, then bound by reduce
Index red(Lower *l, Index extent);
const Expr *reduce(Lower *l, ReduceOp op, uint32_t n, const Index *vars, const Expr *where,
                   const Expr *body);
const Expr *reduce_add(Lower *l, uint32_t n, const Index *vars, const Expr *where,
                       const Expr *body);

// ---- expressions (mixed dtypes are a bug of the caller; cast first)
const Expr *load(Lower *l, Tensor x, const Index *at);
// x[at] with numpy broadcasting: at indexes a tensor of rank `rank` that x broadcasts to.
const Expr *load_broadcast(Lower *l, Tensor x, uint32_t rank, const Index *at);
const Expr *num(Lower *l, DType t, double v);
const Expr *int_(Lower *l, DType t, int64_t v);
const Expr *zero(Lower *l, DType t);
const Expr *one(Lower *l, DType t);
const Expr *string_(Lower *l, Str s); // of dtype DT_STRING
const Expr *attr_num(Lower *l, DType t, const char *name,
                     double otherwise);              // a float attribute as a constant
const Expr *from_index(Lower *l, Index i, DType t);  // an index as a number
Index to_index(Lower *l, const Expr *e);             // an integer expression as an index
const Expr *cast(Lower *l, DType to, const Expr *a); // no-op where the dtype is the same
const Expr *add(Lower *l, const Expr *a, const Expr *b);
const Expr *sub(Lower *l, const Expr *a, const Expr *b);
const Expr *mul(Lower *l, const Expr *a, const Expr *b);
const Expr *div_(Lower *l, const Expr *a, const Expr *b);
const Expr *mod_(Lower *l, const Expr *a, const Expr *b);
const Expr *fmod_(Lower *l, const Expr *a, const Expr *b);
const Expr *min_(Lower *l, const Expr *a, const Expr *b);
const Expr *max_(Lower *l, const Expr *a, const Expr *b);
const Expr *pow_(Lower *l, const Expr *a, const Expr *b);
const Expr *and_(Lower *l, const Expr *a, const Expr *b);
const Expr *or_(Lower *l, const Expr *a, const Expr *b);
const Expr *xor_(Lower *l, const Expr *a, const Expr *b);
const Expr *unary(Lower *l, UnaryOp op, const Expr *a);
const Expr *binary(Lower *l, BinaryOp op, const Expr *a, const Expr *b);
const Expr *eq(Lower *l, const Expr *a, const Expr *b);
const Expr *ne(Lower *l, const Expr *a, const Expr *b);
const Expr *lt(Lower *l, const Expr *a, const Expr *b);
const Expr *le(Lower *l, const Expr *a, const Expr *b);
const Expr *not_(Lower *l, const Expr *a);
const Expr *neg(Lower *l, const Expr *a);
const Expr *exp_(Lower *l, const Expr *a);
const Expr *log_(Lower *l, const Expr *a);
const Expr *sqrt_(Lower *l, const Expr *a);
const Expr *tanh_(Lower *l, const Expr *a);
const Expr *select_(Lower *l, const Expr *cond, const Expr *yes, const Expr *no);
// Comparisons of indices as bool expressions.
const Expr *index_lt(Lower *l, Index a, Index b);
const Expr *index_le(Lower *l, Index a, Index b);
const Expr *index_eq(Lower *l, Index a, Index b);
// 0 <= i < n, or NULL where that is proved.
const Expr *inside(Lower *l, Index i, Index n);
const Expr *both(Lower *l, const Expr *a, const Expr *b); // and; NULL counts as true

// ---- indices: arithmetic of ir/poly.h with the lowering's table
Index ix(Lower *l, int64_t v);
Index ix_add(Lower *l, Index a, Index b);
Index ix_sub(Lower *l, Index a, Index b);
Index ix_mul(Lower *l, Index a, Index b);
Index ix_addc(Lower *l, Index a, int64_t k);
Index ix_scale(Lower *l, Index a, int64_t k);
Index ix_div(Lower *l, Index a, Index b); // floor
Index ix_mod(Lower *l, Index a, Index b);
Index ix_min(Lower *l, Index a, Index b);
Index ix_max(Lower *l, Index a, Index b);
Index ix_known(Index a, Index b); // of two equal sizes the one that is a constant, else a
Index ix_product(Lower *l, uint32_t n, const Index *dims);
// Row-major: the position of at in a tensor of these dims, and back.
Index ix_linear(Lower *l, uint32_t rank, const Index *dims, const Index *at);
void ix_delinear(Lower *l, Index position, uint32_t rank, const Index *dims, Index *at);
// An index read from data that may be negative (counted from the end of n): n + i where i < 0. Not
// checked.
Index ix_wrap(Lower *l, Index i, Index n);

#endif
