// What com.microsoft's kinds of attention share.
#ifndef CAMEO_IR_OPS_MS_ATTENTION_H
#define CAMEO_IR_OPS_MS_ATTENTION_H

#include "ir/ops/microsoft.h"

// Where queries, keys or values are: in a tensor [batch, position, channels of all heads] from
// channel `offset` on, [batch, head, position, channel], or [batch, position, head, part, channel]
// with part `offset`. A bias has one number for each channel of all heads, from `bias_offset` on.
typedef struct HeadSource {
    Tensor t, bias;
    Index heads, length, channels, offset, bias_offset;
} HeadSource;

const Expr *ms_head_element(Lower *l, const HeadSource *h, Index b, Index head, Index i, Index c);
// [batch, position, head * channel].
Tensor ms_queries(Lower *l, const HeadSource *h);
// [batch, head, position, channel]: what is cached, then what is new; into y if it is given. A
// cache of rank 5 holds keys (`which` 0) and values (1) in its first dim.
Tensor ms_joined(Lower *l, Tensor y, Tensor cached, uint32_t which, const HeadSource *h);

#endif
