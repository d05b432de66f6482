// How the floats of a dtype are made up.
#ifndef CAMEO_IR_FLOAT_FORM_H
#define CAMEO_IR_FLOAT_FORM_H

#include "ir/dtype.h"

typedef struct FloatForm {
    int bits;  // of the fraction
    int least; // exponent of the least normal number
} FloatForm;

// Of what is no float of at most 64 bits: float32's.
FloatForm float_form(DType t);

#endif
