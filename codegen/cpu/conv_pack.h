// Weights of convolutions in panels (conv_packed_at): packed when compiling if they are constants,
// else by the program, before the convolution.
#ifndef CAMEO_CODEGEN_CPU_CONV_PACK_H
#define CAMEO_CODEGEN_CPU_CONV_PACK_H

#include "codegen/cpu/conv.h"
#include "codegen/cpu/finish.h"

enum { CONV_PARS = 32 };

// A place in w: for each variable its extent and stride, the outermost first.
typedef struct Walk {
    uint32_t n;
    LoopId var[CONV_PARS];
    int64_t extent[CONV_PARS], stride[CONV_PARS];
    int64_t size; // of all
} Walk;

// Weights of `groups` groups, each of `rows` rows of k.size values of k.
typedef struct Panels {
    Walk groups, k;
    int64_t rows, row; // extent and stride of m
    int64_t start;
} Panels;

int64_t walk_at(const Walk *w, int64_t i);
// The weight of row i of a group and of value k, times what the sum is multiplied by.
float conv_scaled(const Panels *w, const Finish *f, int64_t group, int64_t i, int64_t k,
                  const StoredF32 *from);
// All of `from`, the elements of w, to `to`, as panels or as what Winograd's tiles read. false: no
// memory.
void conv_pack_panels(const Conv *c, const Panels *w, const Finish *f, const StoredF32 *from,
                      float *to);
bool conv_pack_tiles(const Conv *c, const Panels *w, const Finish *f, const StoredF32 *from,
                     float *to);

// ---- by the program (runtime/cameo_conv_pack.h)
// Can it pack weights that lie so?
bool conv_pack_fits(const Panels *w);
// All of c's weights, as a part that threads share where p has such, else by one.
void conv_pack_print(Printer *p, const Kernel *k, const Conv *c, bool part);

#endif
