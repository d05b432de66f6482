// Casts. Rounding, saturation and what is out of range: expr_cast, scalar_cast.

#include "ir/ops/common.h"

#include <math.h>

// x as float8e8m0, which has powers of two from 2^-127 to 2^127 and NaN. "up" and "down" take the
// power beside x from the exponent's bits; the cast itself rounds to nearest, ties up. Without
// saturation what lies out of range is NaN, zero too. Spec: Cast-24.
static const Expr *cast_to_power(Lower *l, Str mode, const Expr *x, bool saturate)
{
    const Expr *v = cast(l, DT_F64, x), *nan_ = num(l, DT_F64, NAN), *e = v;
    if (!str_is(mode, "nearest")) {
        const Expr *exponent = int_(l, DT_I64, 0x7FF0000000000000);
        const Expr *bits = and_(l, expr_bitcast(l->module, DT_I64, v), exponent);
        e = expr_bitcast(l->module, DT_F64, bits);
        if (str_is(mode, "up"))
            e = select_(l, lt(l, e, v), add(l, e, e), e);
        e = select_(l, le(l, zero(l, DT_F64), v), e, nan_);
    }
    if (!saturate) {
        const Expr *low = num(l, DT_F64, 0x1p-127), *high = num(l, DT_F64, 0x1p127);
        e = select_(l, and_(l, le(l, low, v), le(l, v, high)), e, nan_);
    }
    return cast(l, DT_F8E8M0, e);
}

static Tensor converted(Lower *l, Tensor x, DType t)
{
    Tensor y = temp(l, "number", t, x.rank, x.dims);
    Index o[MAX_RANK] = {0};
    kernel(l, "cast");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    store(l, y, o, e->dtype == DT_U64 ? expr_bitcast(l->module, t, e) : cast(l, t, e));
    kernel_end(l);
    return y;
}

// Numbers are read from text as float64 or int64, and written from these.
static void lower_cast_from_string(Lower *l, Tensor x, Tensor y, bool saturate)
{
    bool integer = dtype_is_integer(y.dtype), bits = y.dtype == DT_U64;
    Tensor wide = temp(l, "number", integer ? DT_I64 : DT_F64, x.rank, x.dims);
    Index how = ix(l, integer ? !bits : (int64_t)y.dtype), o[MAX_RANK] = {0};
    step_call(l, integer ? "string_to_integer" : "string_to_float", 1, &x, 1, &wide, 1, &how);
    kernel(l, "cast");
    par_all(l, y, o);
    const Expr *e = load(l, wide, o);
    store(l, y, o,
          bits ? expr_bitcast(l->module, DT_U64, e) : expr_cast(l->module, y.dtype, e, saturate));
    kernel_end(l);
}

static void lower_cast_to_string(Lower *l, Tensor x, Tensor y)
{
    bool real = dtype_is_float(x.dtype);
    Index how = ix(l, real ? (int64_t)x.dtype : x.dtype == DT_BOOL ? 2 : x.dtype != DT_U64);
    Tensor wide = converted(l, x, real ? DT_F64 : DT_I64);
    step_call(l, real ? "float_to_string" : "integer_to_string", 1, &wide, 1, &y, 1, &how);
}

void cast_tensor(Lower *l, Tensor y, Tensor x, bool saturate)
{
    Index o[MAX_RANK] = {0};
    if (x.dtype != y.dtype && x.dtype == DT_STRING) {
        lower_cast_from_string(l, x, y, saturate);
        return;
    }
    if (x.dtype != y.dtype && y.dtype == DT_STRING) {
        lower_cast_to_string(l, x, y);
        return;
    }
    kernel(l, "cast");
    par_all(l, y, o);
    store(l, y, o, expr_cast(l->module, y.dtype, load(l, x, o), saturate));
    kernel_end(l);
}

static void lower_cast(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    bool saturate = node_int(l->n, "saturate", 1) != 0, power = y.dtype == DT_F8E8M0;
    Str mode = node_str(l->n, "round_mode", "up");
    if (power && !str_is(mode, "nearest") && !str_is(mode, "up") && !str_is(mode, "down")) {
        not_supported(l, "Cast to float8e8m0 with round_mode \"%.*s\"",
                      STR_ARG(str_escaped(l->arena, mode)));
        return;
    }
    if (!power || x.dtype == y.dtype || x.dtype == DT_STRING) {
        cast_tensor(l, y, x, saturate);
        return;
    }
    kernel(l, "cast");
    par_all(l, y, o);
    store(l, y, o, cast_to_power(l, mode, load(l, x, o), saturate));
    kernel_end(l);
}

static void lower_bitcast(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (dtype_info(x.dtype)->bits != dtype_info(y.dtype)->bits) {
        not_supported(l, "BitCast between widths");
        return;
    }
    kernel(l, "bitcast");
    par_all(l, y, o);
    store(l, y, o, expr_bitcast(l->module, y.dtype, load(l, x, o)));
    kernel_end(l);
}

static void infer_cast_to(Infer *s, DType to)
{
    const Value *x = infer_in(s, 0);
    if (to <= DT_NONE || to >= DT_COUNT) {
        infer_error(s, "to = %d is no element type", (int)to);
        return;
    }
    infer_dtype(s, 0, to);
    same_as_0(s);
    bool integers = x && (dtype_is_integer(x->dtype) || x->dtype == DT_BOOL);
    if (integers && (to == DT_I64 || to == DT_I32))
        infer_content_copy(s, 0, 0);
}

static void infer_cast(Infer *s)
{
    infer_cast_to(s, (DType)node_int(s->n, "to", 0));
}

static void infer_cast_like(Infer *s)
{
    const Value *like = infer_in(s, 1);
    if (like && like->dtype != DT_NONE)
        infer_cast_to(s, like->dtype);
}

const OpDef ops_cast[] = {
    {"Cast", 6, infer_cast, lower_cast, {NULL}, NULL},
    {"CastLike", 15, infer_cast_like, lower_cast, {NULL}, NULL},
    {"BitCast", 26, infer_cast, lower_bitcast, {NULL}, NULL},
    {0},
};
