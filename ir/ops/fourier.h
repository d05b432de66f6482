// Fast Fourier transforms of a length that is known when compiling, as kernels.
#ifndef CAMEO_IR_OPS_FOURIER_H
#define CAMEO_IR_OPS_FOURIER_H

#include "ir/ops/common.h"

// `batch` signals of `n` complex numbers side by side: element k of signal b is at k * batch + b of
// both tensors, which are float64 of rank 1. im.buffer 0: the signals are real.
typedef struct Waves {
    Tensor re, im;
    int64_t n;
    Index batch;
} Waves;

// Room for waves; im too unless they are real.
Waves waves_new(Lower *l, int64_t n, Index batch, bool real);
Index waves_at(Lower *l, const Waves *w, Index k, Index b);
// sum over k of w[k] * e^(-2 pi i j k / n), with + where inverse; not divided by n. No kernel may
// be open.
Waves waves_transform(Lower *l, Waves w, bool inverse);
// The longest signal that is transformed so.
#define WAVES_MAX ((int64_t)1 << 40)

#endif
