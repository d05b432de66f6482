// Products of float32 on matrix registers that multiply bfloat16: which they are.
//
// Both factors are taken apart while the program runs (runtime/cameo_split.h), so that packed
// weights are those of float32 and any machine reads them. The second factor, a constant or not, is
// taken apart again for each block of rows, which pays from so many rows on as the processor's row
// says.

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/tiles.h"

#include <math.h>

enum { LEAST = 2 * 16 }; // columns and values of k: less would be tiles mostly of zeros

static bool is_fewer(Index i, double than)
{
    int64_t n;
    return poly_is_const(i, &n) && (double)n < than;
}

bool split_fits(Polys *polys, const Override *o, const Processor *cpu)
{
    return cpu->split > 0 && !is_fewer(o->rows, cpu->split) && !is_fewer(o->columns, LEAST) &&
           !is_fewer(loop_extent(polys, o->k), LEAST);
}

bool split_takes(const float *b, int64_t all)
{
    const float most = 0x1.fep127f; // rounds to what bfloat16 has
    for (int64_t i = 0; i < all; i++)
        if (!(fabsf(b[i]) <= most))
            return false;
    return true;
}

static bool splits_some(const Step *s)
{
    const Override *o = s->kernel ? s->kernel->override : NULL;
    return o && (o->split || (o->conv && o->conv->split));
}

bool splits_any(const Step *s)
{
    for (; s; s = s->next)
        if (splits_some(s) || splits_any(s->body) || splits_any(s->other))
            return true;
    return false;
}
