// Fast Fourier transforms: of a length that is known when compiling as kernels, of any other by a
// call of runtime/cameo_fourier.h.
#ifndef CAMEO_IR_OPS_FOURIER_H
#define CAMEO_IR_OPS_FOURIER_H

#include "ir/ops/common.h"

// `batch` signals of `n` complex numbers side by side: element k of signal b is at k * batch + b of
// both tensors, which are float64 of rank 1. im.buffer 0: the signals are real.
typedef struct Waves {
    Tensor re, im;
    Index n, batch;
} Waves;

// Room for waves; im too unless they are real.
Waves waves_new(Lower *l, Index n, Index batch, bool real);
Index waves_at(Lower *l, const Waves *w, Index k, Index b);
// sum over k of w[k] * e^(-2 pi i j k / n), with + where inverse; not divided by n. No kernel may
// be open. Waves of an open length are not real.
Waves waves_transform(Lower *l, Waves w, bool inverse);
// Can waves of this length be transformed? Not of an open one where derivatives are asked for: a
// call has none.
bool waves_can(Lower *l, Index n);

#endif
