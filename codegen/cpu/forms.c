// Operations whose operands allow a cheaper form, one that compilers make vectors of.
//
// 1. min and max with what is never NaN are one instruction each; compilers that see one inside the
//    other make more of them than of two tests of the same number.
// 2. A float clipped to a range within int32 needs no clamp when it is cast.
// 3. Powers of a constant whole number up to 8 are products.
// 4. A sigmoid, or x times it, takes a shorter form of exp, and one without division where it is
//    rounded to bfloat16 next; x times the normal distribution, as GELU is, takes it without erf,
//    and in fewer terms where it is rounded so. What a Softmax raises e to is not above 0.
// 5. What is clipped to 8 or 16 bits and widened again to float32, as a quantised value is that is
//    dequantised at once, never becomes an integer.
// 6. What is divided by a constant scale, rounded and clipped to 8 or 16 bits is clipped first,
//    multiplied by the scale's inverse and corrected, which gives the same number; the integer is
//    then the last bits of the sum with 1.5 * 2^23.
// 7. A float32 that is rounded to float16 or bfloat16 and widened again is rounded in place; what
//    is such a number already stays.

#include "codegen/cpu/heads.h"
#include "codegen/print_parts.h"

#include <math.h>

static bool is_number(const Expr *e, double *v)
{
    if (e->kind != EX_CONST || (e->dtype != DT_F32 && e->dtype != DT_F64) || isnan(e->value.f))
        return false;
    *v = e->value.f;
    return true;
}

// Does e say that x is at most some number, and so none that is no number?
static bool bounds_size(const Expr *e, const Expr *x)
{
    double most;
    return e->kind == EX_COMPARE && (e->op == C_LE || e->op == C_LT) && is_number(e->b, &most) &&
           e->a->kind == EX_UNARY && e->a->op == U_ABS && e->a->a == x;
}

// Is e a number, whatever its operands are?
static bool is_never_nan(const Expr *e)
{
    double number;
    if (e->kind == EX_SELECT)
        return (bounds_size(e->a, e->b) || is_never_nan(e->b)) && is_never_nan(e->c);
    if (e->kind == EX_UNARY && (e->op == U_NEG || e->op == U_ABS))
        return is_never_nan(e->a);
    if (e->kind == EX_BINARY && (e->op == B_MIN || e->op == B_MAX))
        return is_never_nan(e->a) && is_never_nan(e->b);
    return is_number(e, &number);
}

// Is e used nowhere but in the expression that is being printed?
static bool is_own(Printer *p, const Expr *e)
{
    return !p->temp_of[e->id] && p->uses[e->id] <= 1;
}

static const char *joined(Printer *p, const char *function, DType t, const char *a, const char *b)
{
    return str_printf(p->arena, "cameo_%s_%s(%s, %s)", function, dtype_suffix(t), a, b).at;
}

// The operand of min or max whose other one is a number, which is *constant.
static const Expr *bounded(const Expr *e, BinaryOp op, const Expr **constant)
{
    double c;
    if (e->kind != EX_BINARY || e->op != op)
        return NULL;
    *constant = is_number(e->b, &c) ? e->b : is_number(e->a, &c) ? e->a : NULL;
    return !*constant ? NULL : *constant == e->b ? e->a : e->b;
}

// min of max of x, or max of min, where the bounds are in order: both say the same.
static const char *print_clip(Printer *p, const Expr *e)
{
    const BinaryOp other = e->op == B_MIN ? B_MAX : B_MIN;
    const Expr *outer, *inner, *of = bounded(e, (BinaryOp)e->op, &outer);
    const Expr *x = of ? bounded(of, other, &inner) : NULL;
    if (!x || p->temp_of[of->id] || p->uses[of->id] > 1)
        return NULL;
    const Expr *low = e->op == B_MIN ? inner : outer, *high = e->op == B_MIN ? outer : inner;
    if (low->value.f > high->value.f)
        return NULL;
    const char *v = print_expr(p, x), *l = print_expr(p, low);
    return str_printf(p->arena, "cameo_clip_%s(%s, %s, %s)", dtype_suffix(e->dtype), v, l,
                      print_expr(p, high))
        .at;
}

static const char *print_extreme(Printer *p, const Expr *e)
{
    const char *clip = print_clip(p, e);
    if (clip)
        return clip;
    const char *name = e->op == B_MIN ? "atmost" : "atleast";
    if (is_never_nan(e->b)) {
        const char *a = print_expr(p, e->a);
        return joined(p, name, e->dtype, a, print_expr(p, e->b));
    }
    if (is_never_nan(e->a)) {
        const char *b = print_expr(p, e->b);
        return joined(p, name, e->dtype, b, print_expr(p, e->a));
    }
    return NULL;
}

// lowest <= e <= highest where e is no NaN?
static bool clipped(const Expr *e, double lowest, double highest)
{
    bool low = false, high = false;
    for (int depth = 0; depth < 2 && e->kind == EX_BINARY; depth++) {
        double c;
        const Expr *rest = is_number(e->b, &c) ? e->a : is_number(e->a, &c) ? e->b : NULL;
        if (!rest || c < lowest || c > highest)
            return false;
        if (e->op == B_MIN)
            high = true;
        else if (e->op == B_MAX)
            low = true;
        else
            return false;
        e = rest;
    }
    return low && high;
}

// What e clips to lowest .. highest exactly; NULL: it clips to other bounds.
static const Expr *inside_clip(const Expr *e, double lowest, double highest)
{
    for (int depth = 0; depth < 2; depth++) {
        double c;
        const Expr *rest = is_number(e->b, &c) ? e->a : is_number(e->a, &c) ? e->b : NULL;
        if (!rest || c != (e->op == B_MIN ? highest : lowest))
            return NULL;
        e = rest;
    }
    return e;
}

// What QuantizeLinear gives before it is clipped: round(x / scale) + zero, or round(x) + zero.
typedef struct Steps {
    const Expr *x, *scale; // scale: a constant; NULL: none
    int64_t zero;
} Steps;

static bool is_scale(const Expr *e)
{
    double d;
    return is_number(e, &d) && d >= ldexp(1, -100) && d <= ldexp(1, 100);
}

// Of integers from `least` to `most`.
static bool steps_of(Printer *p, const Expr *e, double least, double most, Steps *s)
{
    double zero = 0;
    if (e->kind == EX_BINARY && e->op == B_ADD && is_own(p, e)) {
        const Expr *rest = is_number(e->a, &zero) ? e->b : is_number(e->b, &zero) ? e->a : NULL;
        if (!rest || zero != floor(zero) || zero < least || zero > most)
            return false;
        e = rest;
    }
    if (e->kind != EX_UNARY || e->op != U_ROUND || e->dtype != DT_F32 || !is_own(p, e))
        return false;
    *s = (Steps){e->a, NULL, (int64_t)zero};
    if (e->a->kind == EX_BINARY && e->a->op == B_DIV && is_scale(e->a->b) && is_own(p, e->a))
        *s = (Steps){e->a->a, e->a->b, (int64_t)zero};
    return true;
}

static const char *print_steps(Printer *p, const char *what, DType t, const Steps *s)
{
    const char *x = without_parentheses(p, print_expr(p, s->x));
    const char *scale = s->scale ? str_printf(p->arena, "%s, ", print_expr(p, s->scale)).at : "";
    return str_printf(p->arena, "cameo_%s_%s(%s, %s%lld)", what, dtype_suffix(t), x, scale,
                      (long long)s->zero)
        .at;
}

// The one element of a buffer that no loop chooses from.
static bool is_single(Printer *p, const Expr *e)
{
    return e->kind == EX_LOAD && buffer_at(p->mod, e->buffer)->rank == 0;
}

// round(x / scale) + zero, all three as they lie, the last two single numbers that inputs decide,
// as DynamicQuantizeLinear makes them; e is clipped to bytes without a sign. NULL: e is something
// else. The text leaves division as soon as the scale is seen to allow it, which is outside of
// loops.
static const char *print_quantized_by(Printer *p, const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != B_ADD || !is_own(p, e))
        return NULL;
    const Expr *zero = e->a->kind == EX_CAST ? e->a : e->b, *round = zero == e->a ? e->b : e->a;
    if (zero->kind != EX_CAST || zero->a->dtype != DT_U8 || !is_single(p, zero->a) ||
        round->kind != EX_UNARY || round->op != U_ROUND || round->dtype != DT_F32 ||
        !is_own(p, round))
        return NULL;
    const Expr *quotient = round->a;
    if (quotient->kind != EX_BINARY || quotient->op != B_DIV || !is_own(p, quotient) ||
        quotient->a->kind != EX_LOAD || !is_single(p, quotient->b))
        return NULL;
    const char *x = without_parentheses(p, print_expr(p, quotient->a));
    const char *scale = print_expr(p, quotient->b);
    return str_printf(p->arena, "cameo_quantize_by_u8(%s, %s, %s)", x, scale,
                      print_expr(p, zero->a))
        .at;
}

// The least and the greatest of an integer of 8 or 16 bits; false: t is another dtype.
static bool holds(DType t, double *least, double *most)
{
    const uint32_t bits = dtype_info(t)->bits;
    const bool is_signed = dtype_is_signed(t);
    *most = ldexp(1, (int)bits - is_signed) - 1;
    *least = is_signed ? -*most - 1 : 0;
    return dtype_is_integer(t) && t != DT_BOOL && (bits == 8 || bits == 16);
}

// To an integer that int32 holds, from float32 that is clipped to what the integer holds.
static const char *print_clipped_cast(Printer *p, const Expr *e)
{
    double least, most;
    if (e->a->dtype != DT_F32 || !holds(e->dtype, &least, &most))
        return NULL;
    if (!clipped(e->a, least, most))
        return NULL;
    const Expr *inside = inside_clip(e->a, least, most);
    Steps s;
    if (inside && steps_of(p, inside, least, most, &s))
        return print_steps(p, s.scale ? "quantize" : "nearest", e->dtype, &s);
    inside = dtype_info(e->dtype)->bits == 8 ? inside : NULL;
    const char *by = inside && e->dtype == DT_U8 ? print_quantized_by(p, inside) : NULL;
    if (by)
        return by;
    if (inside)
        return str_printf(p->arena, "cameo_clip_%s(%s)", dtype_suffix(e->dtype),
                          without_parentheses(p, print_expr(p, inside)))
            .at;
    return str_printf(p->arena, "(%s)cameo_within_i32(%s)", p->dialect->type[e->dtype],
                      print_expr(p, e->a))
        .at;
}

// An integer of clipped float32 that is float32 again, less a zero point or not: whole numbers,
// exact.
static const char *print_widened_clip(Printer *p, const Expr *e)
{
    const Expr *zero = NULL, *wide = e->a;
    if (wide->kind == EX_BINARY && wide->op == B_SUB && wide->b->kind == EX_CONST) {
        zero = wide->b;
        wide = is_own(p, wide) ? wide->a : NULL;
    }
    if (e->dtype != DT_F32 || !wide || wide->kind != EX_CAST || !is_own(p, wide))
        return NULL;
    const Expr *whole = wide->dtype == DT_I32 ? wide->a : wide;
    double least, most;
    if (whole->kind != EX_CAST || !holds(whole->dtype, &least, &most) ||
        whole->a->dtype != DT_F32 || !is_own(p, whole) || !is_own(p, whole->a))
        return NULL;
    const Expr *inside = clipped(whole->a, least, most) ? inside_clip(whole->a, least, most) : NULL;
    Steps s;
    if (inside && steps_of(p, inside, least, most, &s) && s.zero == (zero ? zero->value.i : 0))
        return print_steps(p, s.scale ? "quantized" : "rounded", whole->dtype, &s);
    if (!inside || dtype_info(whole->dtype)->bits != 8 ||
        (zero && (zero->value.i < -256 || zero->value.i > 256)))
        return NULL;
    const char *v = str_printf(p->arena, "cameo_clipped_%s(%s)", dtype_suffix(whole->dtype),
                               without_parentheses(p, print_expr(p, inside)))
                        .at;
    return zero ? str_printf(p->arena, "(%s - %lld.0f)", v, (long long)zero->value.i).at : v;
}

// Each factor is named once: x, its square, its fourth power.
static const char *print_power(Printer *p, const Expr *e)
{
    double n;
    if (!is_number(e->b, &n) || n != floor(n) || n < 2 || n > 8 || p->in_arm)
        return NULL;
    const char *x = print_expr(p, e->a), *product = NULL;
    const char *type = type_of_value(p, e->dtype);
    for (int bit = 0, k = (int)n; k; bit++, k >>= 1) {
        uint32_t t = ++p->ntemps;
        const char *name = str_printf(p->arena, "t%u", t).at;
        if (bit == 0)
            print_line(p, "const %s %s = %s;", type, name, without_parentheses(p, x));
        else
            print_line(p, "const %s %s = %s * %s;", type, name, x, x);
        x = name;
        if (k & 1)
            product = product ? str_printf(p->arena, "%s * %s", product, x).at : x;
    }
    return str_printf(p->arena, "(%s)", product).at;
}

// Is the float32 e a number of the small float t?
static bool is_exact(const Expr *e, DType t)
{
    if (e->kind == EX_CAST)
        return e->a->dtype == t;
    if (e->kind == EX_UNARY)
        return (e->op == U_NEG || e->op == U_ABS) && is_exact(e->a, t);
    if (e->kind == EX_BINARY)
        return (e->op == B_MIN || e->op == B_MAX) && is_exact(e->a, t) && is_exact(e->b, t);
    if (e->kind == EX_SELECT)
        return is_exact(e->b, t) && is_exact(e->c, t);
    return e->kind == EX_CONST &&
           scalar_cast(t, DT_F32, scalar_cast(DT_F32, t, e->value, false), false).f == e->value.f;
}

bool forms_is_half(const Expr *e)
{
    return is_exact(e, DT_F16);
}

// float32 to a small float and back, where the small float is used nowhere else.
static const char *print_rounded(Printer *p, const Expr *e)
{
    DType t = e->a->dtype;
    const Expr *x = e->a->a;
    if (e->dtype != DT_F32 || e->a->kind != EX_CAST || (t != DT_F16 && t != DT_BF16) ||
        x->dtype != DT_F32 || p->temp_of[e->a->id] || p->uses[e->a->id] > 1)
        return NULL;
    const char *v = print_expr(p, x);
    return is_exact(x, t) ? v : str_printf(p->arena, "cameo_round_%s(%s)", dtype_suffix(t), v).at;
}

static bool is_one(const Expr *e)
{
    double c;
    return is_number(e, &c) && c == 1;
}

// e^z of 1 / (1 + e^z), or NULL.
static const Expr *power_of(const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != B_DIV || !is_one(e->a) || e->b->kind != EX_BINARY ||
        e->b->op != B_ADD)
        return NULL;
    const Expr *f = is_one(e->b->a) ? e->b->b : is_one(e->b->b) ? e->b->a : NULL;
    return f && f->kind == EX_UNARY && f->op == U_EXP ? f : NULL;
}

static bool is_negated(const Expr *e)
{
    return e->kind == EX_UNARY && e->op == U_NEG;
}

const Expr *forms_sigmoid(const Expr *e)
{
    const Expr *z = forms_logistic(e);
    return z && is_negated(z) ? z->a : NULL;
}

const Expr *forms_logistic(const Expr *e)
{
    const Expr *f = power_of(e);
    return f ? f->a : NULL;
}

// The same of what is used nowhere else.
static const Expr *sigmoid_of(Printer *p, const Expr *e)
{
    const Expr *f = power_of(e);
    const bool own = f && is_own(p, e->b) && is_own(p, f) && is_own(p, f->a);
    return own && is_negated(f->a) ? f->a->a : NULL;
}

// Is factor i of a product the sigmoid of the other one?
static bool is_silu(Printer *p, const Expr *product, int i)
{
    const Expr *factors[] = {product->a, product->b};
    return product->dtype == DT_F32 && is_own(p, factors[i]) &&
           sigmoid_of(p, factors[i]) == factors[1 - i];
}

// The sigmoid of x, or x times that; rounded: it is rounded to bfloat16 next, and not used else.
static const char *print_sigmoid(Printer *p, const Expr *e, bool rounded)
{
    const Expr *x = sigmoid_of(p, e);
    const char *name = "sigmoid";
    for (int i = 0; i < 2 && !x && e->op == B_MUL; i++)
        if (is_silu(p, e, i)) {
            x = i ? e->a : e->b;
            name = "silu";
        }
    return x ? str_printf(p->arena, "cameo_%s%s_%s(%s)", name,
                          rounded && e->dtype == DT_F32 ? "_short" : "", dtype_suffix(e->dtype),
                          print_expr(p, x))
                   .at
             : NULL;
}

// Is e a number within a few units in the last place of c?
static bool is_near(const Expr *e, double c)
{
    double v;
    return is_number(e, &v) && fabs(v - c) < 4e-7 * c;
}

// v of 1 + erf(v / sqrt(2)), or NULL.
static const Expr *twice_normal_of(Printer *p, const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != B_ADD || !is_own(p, e))
        return NULL;
    const Expr *f = is_one(e->a) ? e->b : is_one(e->b) ? e->a : NULL;
    if (!f || f->kind != EX_UNARY || f->op != U_ERF || !is_own(p, f) || f->a->kind != EX_BINARY ||
        !is_own(p, f->a))
        return NULL;
    const Expr *v = f->a;
    if (v->op == B_DIV)
        return is_near(v->b, sqrt(2)) ? v->a : NULL;
    const double c = sqrt(0.5);
    return v->op != B_MUL ? NULL : is_near(v->b, c) ? v->a : is_near(v->a, c) ? v->b : NULL;
}

// x of x * 0.5 * (1 + erf(x / sqrt(2))), in any order, or NULL.
static const Expr *gelu_of(Printer *p, const Expr *e)
{
    for (int i = 0; i < 2; i++) { // the product of two of them, and the third
        const Expr *two = i ? e->b : e->a, *third = i ? e->a : e->b;
        if (two->kind != EX_BINARY || two->op != B_MUL || !is_own(p, two))
            continue;
        const Expr *all[] = {two->a, two->b, third};
        for (int k = 0; k < 3; k++) {
            const Expr *x = twice_normal_of(p, all[k]);
            const Expr *u = all[(k + 1) % 3], *v = all[(k + 2) % 3];
            double c = 0;
            if (x && ((u == x && is_number(v, &c)) || (v == x && is_number(u, &c))) && c == 0.5)
                return x;
        }
    }
    return NULL;
}

const Expr *forms_gelu(Printer *p, const Expr *e)
{
    return e->kind == EX_BINARY && e->dtype == DT_F32 && e->op == B_MUL ? gelu_of(p, e) : NULL;
}

static const char *print_gelu(Printer *p, const Expr *e, bool rounded)
{
    const Expr *x = forms_gelu(p, e);
    const char *name = rounded ? "gelu_short" : "gelu";
    return x ? str_printf(p->arena, "cameo_%s_f32(%s)", name, print_expr(p, x)).at : NULL;
}

// ---- parts of a sum

// m of m == v ? w : m, as Attention has for rows that are masked throughout; else e itself.
const Expr *forms_but_for(const Expr *e, double v, double w)
{
    double a, b;
    const Expr *is = e->kind == EX_SELECT ? e->a : NULL;
    const bool fits = is && is->kind == EX_COMPARE && is->op == C_EQ && is->a == e->c &&
                      is_number(is->b, &a) && is_number(e->b, &b) && a == v && b == w;
    return fits ? e->c : e;
}

bool forms_subtracts_most(Printer *p, const Expr *e, LoopId v)
{
    const bool less = e->kind == EX_BINARY && e->op == B_SUB;
    const Expr *m = less ? forms_but_for(e->b, -INFINITY, 0) : NULL;
    if (!m || m->kind != EX_REDUCE || m->op != R_MAX || m->a || m->rank != 1)
        return false;
    LoopSwap rename = {v, poly_loop(p->mod->polys, m->vars[0])};
    ExprMap map = {&rename, NULL, loop_swap};
    return expr_map(p->mod, e->a, &map) == m->b;
}

bool forms_stores_powers(Printer *p, const Stmt *s)
{
    const Expr *e = s->kind == S_FOR && s->body && s->body->kind == S_STORE ? s->body->value : NULL;
    return e && e->kind == EX_UNARY && e->op == U_EXP && forms_subtracts_most(p, e->a, s->var);
}

// Is v the sum of a row of b, as a Softmax fills it?
static bool sums_powers(Printer *p, const Stmt *s, LocalId v, BufferId b)
{
    for (; s; s = s->next) {
        const Stmt *let = s->next;
        if (let && let->kind == S_LET && let->local == v) {
            const Expr *sum = let->value;
            return sum->kind == EX_REDUCE && sum->op == R_ADD && !sum->a && sum->rank == 1 &&
                   sum->b->kind == EX_LOAD && sum->b->buffer == b && s->kind == S_FOR && s->body &&
                   s->body->buffer == b && forms_stores_powers(p, s);
        }
        if (s->kind == S_FOR && sums_powers(p, s->body, v, b))
            return true;
    }
    return false;
}

// Is e what a loop of the list stores, a number to a power that is not above 0?
static bool is_power_below(Printer *p, const Stmt *s, const Expr *e)
{
    for (; s; s = s->next)
        if (s->kind == S_FOR && s->body &&
            ((s->body->value == e && forms_stores_powers(p, s)) || is_power_below(p, s->body, e)))
            return true;
    return false;
}

static const char *print_power_below(Printer *p, const Expr *e)
{
    const bool is =
        e->dtype == DT_F32 && e->op == U_EXP && p->kernel && is_power_below(p, p->kernel->body, e);
    return is ? str_printf(p->arena, "cameo_exp_below_f32(%s)", print_expr(p, e->a)).at : NULL;
}

// What a Softmax divides by the sum of its row, which is at least 1, or by 1 where that is 0.
static const char *print_part(Printer *p, const Expr *e)
{
    if (e->dtype != DT_F32 || e->op != B_DIV || e->a->kind != EX_LOAD || !p->kernel)
        return NULL;
    const Expr *sum = forms_but_for(e->b, 0, 1);
    if (sum->kind != EX_LOCAL || sum->rank ||
        !sums_powers(p, p->kernel->body, sum->local, e->a->buffer))
        return NULL;
    const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
    return str_printf(p->arena, "cameo_part_f32(%s, %s)", a, b).at;
}

// A square root, which is 0, infinite or of 2^-75 to 2^64, or what it is at least.
static bool is_root(const Expr *e)
{
    double least;
    if (e->kind == EX_BINARY && e->op == B_MAX)
        return (is_root(e->a) && is_number(e->b, &least) && least > 0x1p-75 && least < 0x1p64) ||
               (is_root(e->b) && is_number(e->a, &least) && least > 0x1p-75 && least < 0x1p64);
    return e->kind == EX_UNARY && e->op == U_SQRT;
}

// What a normalisation divides by a root that is one of all of its row.
static const char *print_over_root(Printer *p, const Expr *e)
{
    if (e->dtype != DT_F32 || e->op != B_DIV || !p->temp_of[e->b->id] || !is_root(e->b) ||
        !expr_facts(p, e->b)->reduces)
        return NULL;
    const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
    return str_printf(p->arena, "cameo_over_root_f32(%s, %s)", a, b).at;
}

// A sigmoid, x times it or a GELU that is rounded to bfloat16.
static const char *print_short(Printer *p, const Expr *e)
{
    const Expr *a = e->a;
    if (e->dtype != DT_BF16 || a->dtype != DT_F32 || a->kind != EX_BINARY ||
        (a->op != B_DIV && a->op != B_MUL) || !is_own(p, a))
        return NULL;
    const char *s = print_gelu(p, a, true);
    s = s ? s : print_sigmoid(p, a, true);
    return s ? str_printf(p->arena, "cameo_cast_f32_bf16(%s)", s).at : NULL;
}

bool forms_is_product(Printer *p, const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != B_MUL || !is_own(p, e))
        return false;
    if (forms_gelu(p, e))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_silu(p, e, i))
            return false;
    return e->dtype == DT_F32 || e->dtype == DT_F64;
}

const char *forms_print(Printer *p, const Expr *e)
{
    bool real = e->dtype == DT_F32 || e->dtype == DT_F64;
    if (!p->dialect->rows)
        return NULL;
    if (e->kind == EX_BINARY && real && (e->op == B_MIN || e->op == B_MAX))
        return print_extreme(p, e);
    if (e->kind == EX_BINARY && real && (e->op == B_DIV || e->op == B_MUL)) {
        const char *form = print_gelu(p, e, e == p->rounded);
        form = form ? form : print_part(p, e);
        form = form ? form : print_over_root(p, e);
        return form ? form : print_sigmoid(p, e, e == p->rounded);
    }
    if (e->kind == EX_BINARY && real && e->op == B_POW)
        return print_power(p, e);
    if (e->kind == EX_BINARY && e->dtype == DT_I32 && e->op == B_DIV && e->b->kind != EX_CONST) {
        const char *a = print_expr(p, e->a), *b = print_expr(p, e->b);
        return joined(p, "quotient", e->dtype, a, b);
    }
    if (e->kind == EX_UNARY)
        return print_power_below(p, e);
    if (e->kind != EX_CAST)
        return NULL;
    const char *rounded = print_rounded(p, e);
    rounded = rounded ? rounded : print_short(p, e);
    rounded = rounded ? rounded : print_widened_clip(p, e);
    return rounded ? rounded : print_clipped_cast(p, e);
}

// ---- functions -------------------------------------------------------------------------------

static void test_function(void *context, const Expr *e)
{
    bool *found = context;
    *found |= e->kind == EX_UNARY && unary_is_arithmetic((UnaryOp)e->op, e->a->dtype);
}

static bool atom_calls(void *context, const Atom *a)
{
    Module *mod = context;
    bool found = false;
    if (a->kind == ATOM_EXPR)
        expr_walk(mod, a->e, test_function, &found);
    return found;
}

static bool stmts_call(Module *mod, const Stmt *s)
{
    for (; s; s = s->next) {
        bool found = false;
        if (s->value)
            expr_walk(mod, s->value, test_function, &found);
        for (uint32_t i = 0; i < s->rank && !found; i++)
            found = poly_any(s->at[i], atom_calls, mod);
        if (found || stmts_call(mod, s->body) || stmts_call(mod, s->other))
            return true;
    }
    return false;
}

static bool kernel_calls(Module *mod, const Kernel *k)
{
    const Kernel *before[CHAIN_BEFORE];
    for (uint32_t i = chain_before(k, before); i-- > 0;)
        if (kernel_calls(mod, before[i]))
            return true;
    for (uint32_t i = heads_before(k, before); i-- > 0;)
        if (kernel_calls(mod, before[i]))
            return true;
    return k && stmts_call(mod, k->body);
}

bool steps_call_functions(Module *mod, const Step *s)
{
    for (; s; s = s->next) {
        bool found = kernel_calls(mod, s->kernel);
        if (s->cond && !found)
            expr_walk(mod, s->cond, test_function, &found);
        if (found || (s->value && poly_any(s->value, atom_calls, mod)) ||
            steps_call_functions(mod, s->body) || steps_call_functions(mod, s->other))
            return true;
    }
    return false;
}
