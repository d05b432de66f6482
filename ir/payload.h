// The elements of large constants as the file holds them.
#ifndef CAMEO_IR_PAYLOAD_H
#define CAMEO_IR_PAYLOAD_H

#include "ir/graph.h"

// The bytes of a tensor whose elements lie in raw_data or an external file, in place: packed where
// they have fewer than 8 bits, at any alignment, truths other than 0 and 1 among them. false: they
// are held in another way, or cannot be read (tensor_elements says why).
bool tensor_packed(Model *m, const TensorData *t, Str *bytes);

#endif
