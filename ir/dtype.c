// Element types: names, sizes, and their numbers' exact rounding.

#include "ir/dtype.h"

#include <math.h>
#include <string.h>

static const DTypeInfo infos[DT_COUNT] = {
    [DT_NONE] = {"unknown", "?", "undefined", KIND_NONE, 0, 0},
    [DT_F32] = {"float32", "f32", "float", KIND_FLOAT, 32, 4},
    [DT_U8] = {"uint8", "u8", "uint8", KIND_UNSIGNED, 8, 1},
    [DT_I8] = {"int8", "i8", "int8", KIND_SIGNED, 8, 1},
    [DT_U16] = {"uint16", "u16", "uint16", KIND_UNSIGNED, 16, 2},
    [DT_I16] = {"int16", "i16", "int16", KIND_SIGNED, 16, 2},
    [DT_I32] = {"int32", "i32", "int32", KIND_SIGNED, 32, 4},
    [DT_I64] = {"int64", "i64", "int64", KIND_SIGNED, 64, 8},
    [DT_STRING] = {"string", "str", "string", KIND_STRING, 0, sizeof(Str)},
    [DT_BOOL] = {"bool", "b8", "bool", KIND_BOOL, 8, 1},
    [DT_F16] = {"float16", "f16", "float16", KIND_FLOAT, 16, 2},
    [DT_F64] = {"float64", "f64", "double", KIND_FLOAT, 64, 8},
    [DT_U32] = {"uint32", "u32", "uint32", KIND_UNSIGNED, 32, 4},
    [DT_U64] = {"uint64", "u64", "uint64", KIND_UNSIGNED, 64, 8},
    [DT_C64] = {"complex64", "c64", "complex64", KIND_COMPLEX, 64, 8},
    [DT_C128] = {"complex128", "c128", "complex128", KIND_COMPLEX, 128, 16},
    [DT_BF16] = {"bfloat16", "bf16", "bfloat16", KIND_FLOAT, 16, 2},
    [DT_F8E4M3FN] = {"float8e4m3fn", "f8e4m3fn", "float8e4m3fn", KIND_FLOAT, 8, 1},
    [DT_F8E4M3FNUZ] = {"float8e4m3fnuz", "f8e4m3fnuz", "float8e4m3fnuz", KIND_FLOAT, 8, 1},
    [DT_F8E5M2] = {"float8e5m2", "f8e5m2", "float8e5m2", KIND_FLOAT, 8, 1},
    [DT_F8E5M2FNUZ] = {"float8e5m2fnuz", "f8e5m2fnuz", "float8e5m2fnuz", KIND_FLOAT, 8, 1},
    [DT_U4] = {"uint4", "u4", "uint4", KIND_UNSIGNED, 4, 1},
    [DT_I4] = {"int4", "i4", "int4", KIND_SIGNED, 4, 1},
    [DT_F4E2M1] = {"float4e2m1", "f4e2m1", "float4e2m1", KIND_FLOAT, 4, 1},
    [DT_F8E8M0] = {"float8e8m0", "f8e8m0", "float8e8m0", KIND_FLOAT, 8, 1},
    [DT_U2] = {"uint2", "u2", "uint2", KIND_UNSIGNED, 2, 1},
    [DT_I2] = {"int2", "i2", "int2", KIND_SIGNED, 2, 1},
    [DT_F6E2M3] = {"float6e2m3", "f6e2m3", "float6e2m3", KIND_FLOAT, 6, 1},
    [DT_F6E3M2] = {"float6e3m2", "f6e3m2", "float6e3m2", KIND_FLOAT, 6, 1},
};

const DTypeInfo *dtype_info(DType t)
{
    static const DTypeInfo object = {"object", "obj", "object", KIND_OBJECT, 0, 8};
    static const DTypeInfo pair = {"float64x2", "f64x2", "float64x2", KIND_FLOAT, 128, 16};
    if (t == DT_F64X2)
        return &pair;
    return t == DT_OBJECT ? &object : &infos[(unsigned)t < DT_COUNT ? t : DT_NONE];
}

DType dtype_of(Str name)
{
    for (int t = 1; t < DT_COUNT; t++)
        if (str_is(name, infos[t].onnx) || str_is(name, infos[t].abbrev) ||
            str_is(name, infos[t].name))
            return (DType)t;
    return DT_NONE;
}

// ---- small floats

const SmallFloat *dtype_small_float(DType t)
{
    static const SmallFloat f16 = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, false};
    static const SmallFloat bf16 = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false};
    static const SmallFloat e4m3fn = {4, 3, 7, 0x7e, -1, 0x7f, false};
    static const SmallFloat e4m3fnuz = {4, 3, 8, 0x7f, -1, 0x80, true};
    static const SmallFloat e5m2 = {5, 2, 15, 0x7b, 0x7c, 0x7e, false};
    static const SmallFloat e5m2fnuz = {5, 2, 16, 0x7f, -1, 0x80, true};
    static const SmallFloat e2m1 = {2, 1, 1, 0x7, -1, -1, false};
    static const SmallFloat e2m3 = {2, 3, 1, 0x1f, -1, -1, false};
    static const SmallFloat e3m2 = {3, 2, 3, 0x1f, -1, -1, false};
    switch (t) {
    case DT_F16:
        return &f16;
    case DT_BF16:
        return &bf16;
    case DT_F8E4M3FN:
        return &e4m3fn;
    case DT_F8E4M3FNUZ:
        return &e4m3fnuz;
    case DT_F8E5M2:
        return &e5m2;
    case DT_F8E5M2FNUZ:
        return &e5m2fnuz;
    case DT_F4E2M1:
        return &e2m1;
    case DT_F6E2M3:
        return &e2m3;
    case DT_F6E3M2:
        return &e3m2;
    default:
        return NULL;
    }
}

static double decode_small(const SmallFloat *f, uint32_t code)
{
    uint32_t sign_bit = 1u << (f->exponent + f->mantissa), magnitude = code & (sign_bit - 1);
    double sign = code & sign_bit ? -1.0 : 1.0;
    if (f->nan == (int32_t)sign_bit
            ? code == sign_bit
            : f->nan >= 0 && magnitude > (uint32_t)(f->inf >= 0 ? f->inf : (int32_t)f->max))
        return (double)NAN;
    if (f->inf >= 0 && magnitude == (uint32_t)f->inf)
        return sign * (double)INFINITY;
    int e = (int)(magnitude >> f->mantissa);
    double m = (double)(magnitude & ((1u << f->mantissa) - 1));
    return sign * (e ? ldexp(m + (double)(1u << f->mantissa), e - f->bias - f->mantissa)
                     : ldexp(m, 1 - f->bias - f->mantissa));
}

// |v| in units of the last place at its exponent, rounded to even, is the code.
static uint32_t encode_small(const SmallFloat *f, double v, bool saturate)
{
    uint32_t sign_bit = 1u << (f->exponent + f->mantissa);
    uint32_t sign = signbit(v) ? sign_bit : 0;
    if (isnan(v))
        return f->nan < 0 ? sign : f->nan == (int32_t)sign_bit ? sign_bit : (uint32_t)f->nan | sign;
    double a = fabs(v);
    uint32_t code = UINT32_MAX;
    if (!isinf(a)) {
        int e = 0;
        frexp(a, &e);
        int least = 1 - f->bias; // exponent of the least normal number
        int unit = (a == 0 || e - 1 < least ? least : e - 1) - f->mantissa;
        double q = nearbyint(ldexp(a, -unit)); // at most 2^(mantissa + 1), exact
        double base = (double)(unit + f->mantissa - least) * (double)(1u << f->mantissa);
        code = base + q > (double)f->max ? UINT32_MAX : (uint32_t)(base + q);
    }
    if (code == UINT32_MAX) {
        if (saturate || (f->inf < 0 && f->nan < 0))
            code = f->max;
        else if (f->inf >= 0)
            code = (uint32_t)f->inf;
        else
            return f->nan == (int32_t)sign_bit ? sign_bit : (uint32_t)f->nan | sign;
    }
    return code == 0 && f->no_negative_zero ? 0 : code | sign;
}

// Powers of two: code e is 2^(e - 127), 255 is NaN. Rounds to nearest, ties up.
static uint32_t encode_e8m0(double v)
{
    if (isnan(v) || v < 0)
        return 255;
    if (v == 0)
        return 0;
    if (isinf(v))
        return 254;
    int e;
    double m = frexp(v, &e); // m in [0.5, 1)
    e += m >= 0.75 ? 0 : -1;
    return e < -127 ? 0 : e > 127 ? 254 : (uint32_t)(e + 127);
}

// ---- loading and storing

static int64_t wrap_integer(DType t, int64_t v)
{
    int bits = dtype_info(t)->bits;
    if (bits == 64 || dtype_is_reference(t))
        return v;
    uint64_t mask = ((uint64_t)1 << bits) - 1, u = (uint64_t)v & mask;
    bool negative = dtype_is_signed(t) && u >> (bits - 1);
    return (int64_t)(negative ? u | ~mask : u);
}

Scalar scalar_load(DType t, const void *at)
{
    uint64_t bits = 0;
    float f;
    double d;
    uint32_t width = dtype_stored_bytes(t);
    float pair[2];
    memcpy(&bits, at, width <= 8 ? width : 8);
    switch (t) {
    case DT_C64:
        memcpy(pair, at, sizeof pair);
        return (Scalar){.c = {(double)pair[0], (double)pair[1]}};
    case DT_C128: {
        Scalar v;
        memcpy(&v.c, at, sizeof v.c);
        return v;
    }
    case DT_F32:
        memcpy(&f, at, 4);
        return (Scalar){.f = (double)f};
    case DT_F64:
        memcpy(&d, at, 8);
        return (Scalar){.f = d};
    case DT_F8E8M0:
        return (Scalar){.f = bits == 255 ? (double)NAN : ldexp(1, (int)bits - 127)};
    case DT_BOOL:
        return (Scalar){.i = bits != 0};
    default:
        if (dtype_is_float(t))
            return (Scalar){.f = decode_small(dtype_small_float(t), (uint32_t)bits)};
        return (Scalar){.i = wrap_integer(t, (int64_t)bits)};
    }
}

void scalar_store(DType t, void *at, Scalar v)
{
    if (dtype_is_complex(t)) {
        float pair[2] = {(float)v.c.re, (float)v.c.im};
        memcpy(at, t == DT_C64 ? (void *)pair : (void *)&v.c, dtype_info(t)->bytes);
        return;
    }
    float f = (float)v.f;
    uint64_t bits = (uint64_t)v.i;
    if (t == DT_F32)
        memcpy(&bits, &f, 4);
    else if (t == DT_F8E8M0)
        bits = encode_e8m0(v.f);
    else if (dtype_is_small_float(t))
        bits = encode_small(dtype_small_float(t), v.f, false);
    else if (t == DT_BOOL)
        bits = v.i != 0;
    else if (t != DT_F64)
        bits = (uint64_t)wrap_integer(t, v.i);
    memcpy(at, &bits, dtype_stored_bytes(t));
}

// ---- casts

static Scalar round_float(DType to, double v, bool saturate)
{
    if (to == DT_F64 || to == DT_F64X2)
        return (Scalar){.f = v};
    if (to == DT_F32)
        return (Scalar){.f = (double)(float)v};
    if (to == DT_F8E8M0) {
        uint32_t code = encode_e8m0(v);
        return (Scalar){.f = code == 255 ? (double)NAN : ldexp(1, (int)code - 127)};
    }
    // Saturation is for the float8 kinds; float16 and bfloat16 overflow to infinity.
    bool clamps = saturate && dtype_info(to)->bits <= 8;
    return (Scalar){
        .f = decode_small(dtype_small_float(to), encode_small(dtype_small_float(to), v, clamps))};
}

static int64_t float_to_integer(DType to, double v)
{
    const DTypeInfo *info = dtype_info(to);
    int bits = info->bits < 8 ? 64 : info->bits; // narrower ones wrap what an int64 holds
    bool is_signed = info->kind == KIND_SIGNED || info->bits < 8;
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits);
    if (isnan(v))
        return 0;
    v = trunc(v);
    if (v <= low)
        return is_signed ? (int64_t)(-(uint64_t)1 << (bits - 1)) : 0;
    if (v >= high)
        return is_signed    ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1)
               : bits == 64 ? -1
                            : (int64_t)(((uint64_t)1 << bits) - 1);
    return is_signed ? (int64_t)v : (int64_t)(uint64_t)v;
}

Scalar scalar_cast(DType from, DType to, Scalar v, bool saturate)
{
    if (to == from)
        return v;
    if (dtype_is_complex(to)) {
        DType part = to == DT_C64 ? DT_F32 : DT_F64;
        bool real = !dtype_is_complex(from);
        Scalar re = {.f = v.c.re}, im = {.f = real ? 0 : v.c.im};
        return (Scalar){.c = {scalar_cast(real ? from : DT_F64, part, real ? v : re, false).f,
                              scalar_cast(DT_F64, part, im, false).f}};
    }
    if (dtype_is_complex(from))
        return scalar_cast(DT_F64, to, (Scalar){.f = v.c.re}, saturate);
    if (dtype_is_float(from)) {
        if (dtype_is_float(to))
            return round_float(to, v.f, saturate);
        if (to == DT_BOOL)
            return (Scalar){.i = v.f != 0};
        return (Scalar){.i = wrap_integer(to, float_to_integer(to, v.f))};
    }
    if (to == DT_F32) // straight from the integer: one rounding
        return (Scalar){.f = (double)(from == DT_U64 ? (float)(uint64_t)v.i : (float)v.i)};
    if (dtype_is_float(to))
        return round_float(to, from == DT_U64 ? (double)(uint64_t)v.i : (double)v.i, saturate);
    if (to == DT_BOOL)
        return (Scalar){.i = v.i != 0};
    return (Scalar){.i = wrap_integer(to, v.i)};
}
