#include "ir/ops/all.h"

// One line a family, in alphabetical order: declared here, listed below.
extern const OpDef ops_activation[];
extern const OpDef ops_arithmetic[];
extern const OpDef ops_attention[];
extern const OpDef ops_cast[];
extern const OpDef ops_columns[];
extern const OpDef ops_compare[];
extern const OpDef ops_constant[];
extern const OpDef ops_control[];
extern const OpDef ops_conv[];
extern const OpDef ops_einsum[];
extern const OpDef ops_gather[];
extern const OpDef ops_grid[];
extern const OpDef ops_labels[];
extern const OpDef ops_loss[];
extern const OpDef ops_maps[];
extern const OpDef ops_matmul[];
extern const OpDef ops_movement[];
extern const OpDef ops_normalization[];
extern const OpDef ops_optional[];
extern const OpDef ops_pad[];
extern const OpDef ops_parts[];
extern const OpDef ops_pool[];
extern const OpDef ops_quantize[];
extern const OpDef ops_recurrent[];
extern const OpDef ops_reduce[];
extern const OpDef ops_resize[];
extern const OpDef ops_select[];
extern const OpDef ops_sequence[];
extern const OpDef ops_shape[];
extern const OpDef ops_signal[];
extern const OpDef ops_softmax[];
extern const OpDef ops_sort[];
extern const OpDef ops_strings[];
extern const OpDef ops_tfidf[];
extern const OpDef ops_training[];

const OpDef *const op_families[] = {
    ops_activation, ops_arithmetic, ops_attention, ops_cast,     ops_columns,  ops_compare,
    ops_constant,   ops_control,    ops_conv,      ops_einsum,   ops_gather,   ops_grid,
    ops_labels,     ops_loss,       ops_maps,      ops_matmul,   ops_movement, ops_normalization,
    ops_optional,   ops_pad,        ops_parts,     ops_pool,     ops_quantize, ops_recurrent,
    ops_reduce,     ops_resize,     ops_select,    ops_sequence, ops_shape,    ops_signal,
    ops_softmax,    ops_sort,       ops_strings,   ops_tfidf,    ops_training, NULL,
};
