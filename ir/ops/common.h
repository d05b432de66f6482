// Shapes of lowerings that many operators share.
#ifndef CAMEO_IR_OPS_COMMON_H
#define CAMEO_IR_OPS_COMMON_H

#include "ir/lower.h"

// f(x_0[o], x_1[o] ...) over all inputs, two at a time from the left, broadcast, in a kernel that
// is left open to store it at *at, its loops. Of very many inputs kernels before it take a part.
const Expr *begin_variadic(Lower *l, BinaryFn f, const Index **at);
// y[o] = the same with the operator's function.
void lower_variadic(Lower *l);
// As lower_binary, for operators whose result is bool.
// The type that sums and means of t are taken in: float32 for narrower floats, else t.
DType accumulator(DType t);
// The type in which a Softmax of t adds up so many terms.
DType softmax_sum(DType t, Index terms);
// Reads the whole of a small integer attribute or input as axes of `rank`, normalised; false if
// unknown.
bool axes_of(Lower *l, uint32_t i, const char *attr, uint32_t rank, uint32_t *axes, uint32_t *n);
// Axes that only the running program knows, a tensor of rank 1; they count from either end of
// `rank` dims. Does an axis mean dim i; is dim i among them; and a check that all are in range.
const Expr *axis_is(Lower *l, const Expr *axis, int64_t i, int64_t rank);
const Expr *axis_is_listed(Lower *l, Tensor axes, int64_t i, int64_t rank);
void check_axes(Lower *l, Tensor axes, int64_t rank);
// y[o] = x[at(o)] with the same linear position: Reshape and its kin.
void lower_reshape(Lower *l);
// 2^x with x an integer constant, and constants of a dtype from a double.
const Expr *sigmoid(Lower *l, const Expr *x);
const Expr *erf_(Lower *l, const Expr *x);
const Expr *abs_(Lower *l, const Expr *x);
const Expr *leaky_relu(Lower *l, const Expr *x);                // by the node's alpha
const Expr *gelu_of(Lower *l, const Expr *x, bool approximate); // erf, or tanh where approximate

// Sorts the first n of `order` (int64, rank 1), which hold places, in the kernel that is open;
// stable. before(i, j): does the place i come before j? spare: as long as order.
typedef const Expr *(*PlaceBefore)(Lower *l, void *context, const Expr *i, const Expr *j);
void sort_places(Lower *l, Tensor order, Tensor spare, const Expr *n, PlaceBefore before,
                 void *context);

// Elements of x's planes (all dims but the first two), named by tables: where in the plane each is,
// and its weight where there are weights.
typedef struct Taps {
    Tensor x, place, weight;
    Index plane; // elements of a plane
    bool none;   // some name none
} Taps;
// Tables of these dims. No kernel may be open. weight: DT_NONE for none.
Taps taps_new(Lower *l, Tensor x, DType weight, uint32_t rank, const Index *dims);
// Fills a place of the tables: the element at in_plane, or none unless `where` (NULL: always).
void taps_store(Lower *l, Taps *t, const Index *at, const Index *in_plane, const Expr *where,
                const Expr *weight);
// What a place of the tables names in a channel, times its weight; 0 where it names none.
const Expr *taps_load(Lower *l, const Taps *t, const Index *at, Index batch, Index channel,
                      DType as);

// y = x in y's dtype, strings too.
void cast_tensor(Lower *l, Tensor y, Tensor x, bool saturate);

#endif
