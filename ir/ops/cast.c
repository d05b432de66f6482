// Casts. Rounding, saturation and what is out of range: expr_cast, scalar_cast.

#include "ir/ops/common.h"

#include <math.h>

// x as a power of two that float8e8m0 holds, by its bits as a float64: the fraction is dropped
// after what makes it carry was added. Out of range: the nearest one, or NaN without saturation, as
// for 0. Below 0 the standard says nothing; NaN here. Spec: Cast-24.
static const Expr *power_of_two(Lower *l, const Expr *x, Str mode, bool saturate)
{
    const int64_t fraction = ((int64_t)1 << 52) - 1;
    bool up = str_is(mode, "up"), down = str_is(mode, "down");
    const Expr *v = cast(l, DT_F64, x);
    const Expr *bits = add(l, expr_bitcast(l->module, DT_I64, v),
                           int_(l, DT_I64,
                                up     ? fraction
                                : down ? 0
                                       : (int64_t)1 << 51));
    const Expr *power =
        expr_bitcast(l->module, DT_F64, binary(l, B_AND, bits, int_(l, DT_I64, ~fraction)));
    const Expr *least = num(l, DT_F64, 0x1p-127), *most = num(l, DT_F64, 0x1p127);
    const Expr *nan_ = num(l, DT_F64, (double)NAN);
    const Expr *fits = both(l, le(l, least, v), le(l, v, most));
    const Expr *outside = saturate ? select_(l, lt(l, most, v), most, least) : nan_;
    const Expr *known = select_(l, fits, min_(l, power, most), outside);
    return select_(l, le(l, zero(l, DT_F64), v), known, nan_);
}

static void lower_cast(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK];
    bool saturate = node_int(l->n, "saturate", 1) != 0;
    Str mode = node_str(l->n, "round_mode", "up");
    bool rounds = y.dtype == DT_F8E8M0 && x.dtype != DT_F8E8M0;
    if (rounds && !str_is(mode, "up") && !str_is(mode, "down") && !str_is(mode, "nearest")) {
        not_supported(l, "%.*s with round_mode \"%.*s\"", STR_ARG(str_escaped(l->arena, l->n->op)),
                      STR_ARG(str_escaped(l->arena, mode)));
        return;
    }
    kernel(l, "cast");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    e = rounds ? power_of_two(l, e, mode, saturate) : e;
    store(l, y, o, expr_cast(l->module, y.dtype, e, saturate));
    kernel_end(l);
}

static void lower_bitcast(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK];
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
        infer_error(s, "to = %lld is no element type", (long long)node_int(s->n, "to", 0));
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
    infer_cast_to(s, node_dtype(s->n, "to", DT_NONE));
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
