// What the float64 shadow of a program is compared by, and what values are measured by.

#include "ir/ops/shadow.h"
#include "ir/float_form.h"
#include "ir/lower.h"
#include "ir/ops/apart.h"
#include "runtime/cameo_measure.h"

bool node_is_widen(const Node *n)
{
    return str_is(n->op, WIDEN_OP) && str_is(n->domain, SHADOW_DOMAIN);
}

static void infer_widen(Infer *s)
{
    same_as_0(s);
    infer_dtype(s, 0, DT_F64);
}

static const Expr *widen(Lower *l, const Expr *x)
{
    return cast(l, DT_F64, x);
}

// Where y is no finite number `apart` is Y itself.
static const Expr *beside(Lower *l, const Expr *y, const Expr *apart)
{
    Module *mod = l->module;
    const Expr *most = num(l, DT_F32, FLT_MAX), *none = num(l, DT_F64, 0);
    const Expr *finite = expr_compare(mod, C_LE, expr_unary(mod, U_ABS, y), most);
    const Expr *number = expr_select(mod, finite, cast(l, DT_F64, y), none);
    return add(l, number, cast(l, DT_F64, apart));
}

static void infer_drift(Infer *s)
{
    Index dims[1] = {poly_const(s->polys, DRIFT_FIELDS)};
    const Value *y = infer_in(s, 0);
    for (uint32_t i = 1; y && i < s->n->nin; i++) {
        const Value *other = infer_in(s, i);
        if (!other || other->rank != y->rank)
            continue;
        for (int32_t k = 0; k < y->rank; k++)
            if (!infer_require(s, y->dims[k], other->dims[k]))
                infer_error(s, "dimension %d of input %u is not that of input 0", k, i);
    }
    infer_dtype(s, 0, DT_F64);
    infer_shape(s, 0, 1, dims);
    if (y && y->rank >= 0 && s->n->nout > 1) {
        infer_dtype(s, 1, DT_F32);
        infer_shape(s, 1, (uint32_t)y->rank, y->dims);
    }
}

static bool given_fits(int64_t given, uint32_t nin)
{
    return given == DRIFT_IS_SHADOW ||
           (given >= DRIFT_IS_BROUGHT && given <= DRIFT_IS_LOCAL && nin == 3) ||
           (given >= DRIFT_IS_APART && given <= DRIFT_IS_MADE && nin == 2);
}

static bool is_difference(int64_t given, uint32_t i)
{
    return (i == 2 && given != DRIFT_IS_SHADOW) || (i == 1 && given == DRIFT_IS_APART);
}

static void infer_apart(Infer *s)
{
    same_as_0(s);
    infer_dtype(s, 0, DT_F32);
}

static void lower_drift(Lower *l)
{
    uint32_t n = l->n->nin, nout = l->n->nout;
    Tensor reads[3] = {{0}}, writes[2] = {output(l, 0)};
    FloatForm p = float_form(node_dtype(l->n, "dtype", DT_F32));
    const int64_t given = node_int(l->n, "given", 0);
    Index numbers[4] = {ix(l, p.bits), ix(l, p.least), ix(l, node_int(l->n, "decides", 0) != 0),
                        ix(l, given)};
    bool fits = n >= 1 && n <= 3 && given_fits(given, n);
    for (uint32_t i = 0; fits && i < n; i++) {
        reads[i] = input(l, i);
        fits = reads[i].buffer != 0 && !dtype_is_complex(reads[i].dtype) &&
               !dtype_is_reference(reads[i].dtype);
    }
    bool floats = fits && dtype_is_float(reads[0].dtype);
    for (uint32_t i = 1; fits && i < n; i++)
        fits = reads[i].dtype == (is_difference(given, i) ? DT_F32
                                  : floats                ? DT_F64
                                                          : reads[0].dtype);
    if (nout > 1 || given || n == 1)
        fits = fits && nout <= 2 && reads[0].dtype == DT_F32;
    if (fits && nout > 1)
        writes[1] = output(l, 1);
    if (floats && reads[0].dtype != DT_F32 && reads[0].dtype != DT_F16 &&
        reads[0].dtype != DT_BF16 && reads[0].dtype != DT_F64)
        fits = false;
    if (fits)
        step_call(l, "drift", n, reads, nout, writes, 4, numbers);
    else
        lower_unfit(l, "a value and its shadow are expected");
}

static void infer_join(Infer *s)
{
    Index dims[1] = {poly_const(s->polys, DRIFT_FIELDS)};
    infer_dtype(s, 0, DT_F64);
    infer_shape(s, 0, 1, dims);
}

static void lower_join(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    if (x.rank == 2 && x.dtype == DT_F64 && poly_equals(x.dims[1], DRIFT_FIELDS))
        step_call(l, "drift_join", 1, &x, 1, &y, 0, NULL);
    else
        lower_unfit(l, "numbers of iterations are expected");
}

bool dtype_is_measured(DType t)
{
    return t == DT_F32 || t == DT_F16 || t == DT_BF16 || t == DT_F64 ||
           (dtype_is_integer(t) && dtype_info(t)->bits >= 8);
}

static void infer_measure(Infer *s)
{
    Index dims[1] = {poly_const(s->polys, MEASURE_FIELDS)};
    infer_dtype(s, 0, DT_F64);
    infer_shape(s, 0, 1, dims);
}

static void lower_measure(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    if (x.buffer && dtype_is_measured(x.dtype))
        step_call(l, "measure", 1, &x, 1, &y, 0, NULL);
    else
        lower_unfit(l, "a tensor of numbers is expected");
}

static void lower_measure_join(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    if (x.rank == 2 && x.dtype == DT_F64 && poly_equals(x.dims[1], MEASURE_FIELDS))
        step_call(l, "measure_join", 1, &x, 1, &y, 0, NULL);
    else
        lower_unfit(l, "numbers of iterations are expected");
}

const OpDef ops_shadow[] = {
    {WIDEN_OP, 1, infer_widen, UNARY(widen), SHADOW_DOMAIN},
    {BESIDE_OP, 1, infer_widen, BINARY(beside), SHADOW_DOMAIN},
    {APART_OP, 1, infer_apart, lower_apart, {NULL}, SHADOW_DOMAIN},
    {DRIFT_OP, 1, infer_drift, lower_drift, {NULL}, SHADOW_DOMAIN},
    {DRIFT_JOIN_OP, 1, infer_join, lower_join, {NULL}, SHADOW_DOMAIN},
    {MEASURE_OP, 1, infer_measure, lower_measure, {NULL}, SHADOW_DOMAIN},
    {MEASURE_JOIN_OP, 1, infer_measure, lower_measure_join, {NULL}, SHADOW_DOMAIN},
    {0},
};
