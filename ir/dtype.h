// Element types. The numbers are TensorProto.DataType's.
#ifndef CAMEO_IR_DTYPE_H
#define CAMEO_IR_DTYPE_H

#include "base/str.h"

typedef enum DType {
    DT_NONE = 0,
    DT_F32 = 1,
    DT_U8 = 2,
    DT_I8 = 3,
    DT_U16 = 4,
    DT_I16 = 5,
    DT_I32 = 6,
    DT_I64 = 7,
    DT_STRING = 8,
    DT_BOOL = 9,
    DT_F16 = 10,
    DT_F64 = 11,
    DT_U32 = 12,
    DT_U64 = 13,
    DT_C64 = 14,
    DT_C128 = 15,
    DT_BF16 = 16,
    DT_F8E4M3FN = 17,
    DT_F8E4M3FNUZ = 18,
    DT_F8E5M2 = 19,
    DT_F8E5M2FNUZ = 20,
    DT_U4 = 21,
    DT_I4 = 22,
    DT_F4E2M1 = 23,
    DT_F8E8M0 = 24,
    DT_U2 = 25,
    DT_I2 = 26,
    DT_F6E2M3 = 27, // only where the pinned onnx package has it; see schema.inc
    DT_F6E3M2 = 28,
    DT_COUNT,
    // A double-double number as the kernel IR holds it (ir/pairs.h), never in a file.
    DT_F64X2 = 61,
    // A sequence, optional or map as the kernel IR holds it: a reference, never in a file.
    DT_OBJECT = 62
} DType;

typedef enum DTypeKind {
    KIND_NONE,
    KIND_FLOAT,
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_BOOL,
    KIND_STRING,
    KIND_COMPLEX,
    KIND_OBJECT
} DTypeKind;

typedef struct DTypeInfo {
    const char *name;   // "float32": what messages say
    const char *abbrev; // "f32": what dumps say
    const char *onnx;   // "float": what onnxtxt says
    DTypeKind kind;
    uint8_t bits;  // of one element in a file; strings: 0
    uint8_t bytes; // of one element in memory (sub-byte types take one byte there)
} DTypeInfo;

// Facts of a dtype; DT_NONE and out-of-range numbers give {"unknown", "?", "undefined", ...}.
const DTypeInfo *dtype_info(DType t);
static inline const char *dtype_name(DType t)
{
    return dtype_info(t)->name;
}
static inline bool dtype_is_float(DType t)
{
    return dtype_info(t)->kind == KIND_FLOAT;
}
static inline bool dtype_is_integer(DType t)
{
    return dtype_info(t)->kind == KIND_SIGNED || dtype_info(t)->kind == KIND_UNSIGNED;
}
static inline bool dtype_is_signed(DType t)
{
    return dtype_info(t)->kind == KIND_SIGNED;
}
static inline bool dtype_is_complex(DType t)
{
    return dtype_info(t)->kind == KIND_COMPLEX;
}
// How floats of at most 16 bits are coded: sign, exponent and mantissa bits from the top; what
// stands for what is not finite differs. NULL: of other dtypes, and of float8e8m0, which is an
// exponent.
typedef struct SmallFloat {
    int exponent, mantissa, bias;
    uint32_t max;     // greatest finite code
    int32_t inf, nan; // codes, -1: there is none
    bool no_negative_zero;
} SmallFloat;
const SmallFloat *dtype_small_float(DType t);
// Has it numbers that are not equal to themselves?
static inline bool dtype_has_nan(DType t)
{
    return dtype_is_float(t) || dtype_is_complex(t);
}
// Floats narrower than 32 bits: stored as bits, computed in float32 with an explicit round.
static inline bool dtype_is_small_float(DType t)
{
    return dtype_is_float(t) && dtype_info(t)->bits < 32;
}
// Strings and objects: what a buffer of the kernel IR holds of them is a 64-bit reference into a
// table of the run (runtime/cameo_objects.h).
static inline bool dtype_is_reference(DType t)
{
    return t == DT_STRING || t == DT_OBJECT;
}
// Bytes of an element in such a buffer, and the dtype that it is stored as.
static inline uint32_t dtype_stored_bytes(DType t)
{
    return dtype_is_reference(t) ? 8 : dtype_info(t)->bytes;
}
static inline DType dtype_stored(DType t)
{
    return dtype_is_reference(t) ? DT_I64 : t;
}
// By onnx name, abbreviation or long name; DT_NONE if there is none such.
DType dtype_of(Str name);

// One number of any dtype: floats in f, integers and bool in i (uint64 as its bit pattern), complex
// ones in c.
typedef union Scalar {
    double f;
    int64_t i;
    struct {
        double re, im;
    } c;
} Scalar;

// The bits of one element in memory (dtype_stored_bytes of them) to its number and back. Storing
// rounds to nearest even from f (a float32 result passed as double is exact) and wraps integers.
Scalar scalar_load(DType t, const void *at);
void scalar_store(DType t, void *at, Scalar v);

// The number nearest to v in t, rounding and saturating as ONNX Cast does (saturate: float8
// clamps). A real number becomes a complex one without imaginary part, a complex one its real part.
// Casting float to integer out of range is clamped, NaN gives 0: defined where the spec
// leaves it open.
Scalar scalar_cast(DType from, DType to, Scalar v, bool saturate);

#endif
