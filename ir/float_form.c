// How the floats of a dtype are made up.

#include "ir/float_form.h"

FloatForm float_form(DType t)
{
    const SmallFloat *small = dtype_small_float(t);
    if (small)
        return (FloatForm){small->mantissa, 1 - small->bias};
    return t == DT_F64      ? (FloatForm){52, -1022}
           : t == DT_F8E8M0 ? (FloatForm){0, -127}
                            : (FloatForm){23, -126};
}
