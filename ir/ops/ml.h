// What the operators of ai.onnx.ml share: rows of features, attributes that are tables, scores,
// labels.
#ifndef CAMEO_IR_OPS_ML_H
#define CAMEO_IR_OPS_ML_H

#include "ir/ops/common.h"

#define ML_DOMAIN "ai.onnx.ml"

// In the order in which TreeEnsemble-5 numbers them.
typedef enum Post {
    POST_NONE,
    POST_SOFTMAX,
    POST_LOGISTIC,
    POST_SOFTMAX_ZERO,
    POST_PROBIT,
    POST_COUNT
} Post;

// A batch of feature vectors: input 0 of dims [N, F], or [F] for one alone.
typedef struct Rows {
    Tensor x;
    Index n, f;
} Rows;
Rows ml_rows(Lower *l);                                            // another rank: not_supported
const Expr *ml_feature(Lower *l, const Rows *r, Index n, Index f); // as stored
DType ml_score_type(DType x); // float64 for float64 features, else float32

// Output `labels` has dims [N], output `scores` has [N, columns]; UINT32_MAX: there is none.
void ml_infer_rows(Infer *s, uint32_t labels, uint32_t scores, Index columns);

// FLOATS attribute `name`, or the TENSOR attribute `name`_as_tensor, as doubles in the arena; NULL
// and *n = 0 where neither is given or the tensor cannot be read.
const double *ml_numbers(Model *m, const Node *n, const char *name, uint32_t *len);
// A TENSOR attribute of numbers as doubles.
const double *ml_tensor_numbers(Model *m, const Node *n, const char *name, uint32_t *len);
Tensor ml_table(Lower *l, const char *name, DType t, uint32_t n, const double *values);
Tensor ml_table_ints(Lower *l, const char *name, DType t, uint32_t n, const int64_t *values);
const Expr *ml_at(Lower *l, Tensor table, Index i);

// post_transform as a string; false (not_supported said) where it is none of the five.
bool ml_post(Lower *l, Post *post);
// y[n, k] = transform of the row raw[n, ...]: one kernel. y may be absent.
void ml_store_scores(Lower *l, Tensor y, Tensor raw, Post post);
// Two classes told apart by one margin, margin[n, 0] (positive: the second): y[n, 0..1]. Without
// transform the first class has 1 - margin where `complement`, else -margin.
void ml_store_margin(Lower *l, Tensor y, Tensor margin, Post post, bool complement);

// classlabels_* of a classifier: `count` is 0 where there are none of a kind that stands.
typedef struct Labels {
    uint32_t count;
    Tensor table;
    DType dtype;
} Labels;
uint32_t ml_label_count(const Node *n, const char *ints, const char *strings);
DType ml_label_dtype(const Node *n, const char *strings);
Labels ml_labels(Lower *l, const char *ints, const char *strings);
// The label with the first greatest of raw[n, ...].
void ml_store_top(Lower *l, Tensor y, const Labels *labels, Tensor raw);
// The second label where margin[n, 0] > threshold, else the first.
void ml_store_side(Lower *l, Tensor y, const Labels *labels, Tensor margin, double threshold);

#endif
