// How far what an operator gives is moved by what moved its operands, in float32:
//
//     Y - y = f(X) - f(x)    of y = f(x) and the differences d = X - x, without f(X)
//
// Each formula keeps the digits of d, however small it is beside x: no two numbers are subtracted
// that both hold x. Of what is no finite number the difference is X itself (ir/ops/shadow.h); where
// it leads to a finite y it counts as none, or gives what f gives of it.

#include "ir/ops/apart.h"
#include "ir/ops/common.h"
#include "ir/ops/shadow.h"

#include <float.h>

typedef struct Apart {
    Lower *l;
    const Expr *y;           // f(x), in float64 where the formula asks for it
    const Expr *x[2], *d[2]; // operands and their differences; NULL: none
} Apart;

typedef struct Formula {
    const char *op;
    const Expr *(*of)(const Apart *a);
    uint32_t operands; // as many are there; an optional one may be absent
    bool wide;         // y is that of float64
} Formula;

static const Expr *f32(Lower *l, double v)
{
    return num(l, DT_F32, v);
}

static const Expr *is_finite(Lower *l, const Expr *x)
{
    return expr_compare(l->module, C_LE, abs_(l, x), f32(l, FLT_MAX));
}

static const Expr *finite_or_none(Lower *l, const Expr *x)
{
    return select_(l, is_finite(l, x), x, f32(l, 0));
}

// The difference of what has none: 0, and what is no finite number itself.
static const Expr *of_exact(Lower *l, const Expr *x)
{
    return select_(l, is_finite(l, x), f32(l, 0), x);
}

static const Expr *sum(const Apart *a)
{
    return !a->d[0] ? a->d[1] : !a->d[1] ? a->d[0] : add(a->l, a->d[0], a->d[1]);
}

static const Expr *difference(const Apart *a)
{
    return !a->d[1] ? a->d[0] : !a->d[0] ? neg(a->l, a->d[1]) : sub(a->l, a->d[0], a->d[1]);
}

// d * Z + x * e of the factors x and z, moved by d and e
static const Expr *product(const Apart *a)
{
    Lower *l = a->l;
    const Expr *z = a->d[0] && a->d[1] ? add(l, a->x[1], a->d[1]) : a->x[1];
    const Expr *first = a->d[0] ? mul(l, a->d[0], z) : NULL;
    const Expr *second = a->d[1] ? mul(l, a->x[0], a->d[1]) : NULL;
    return !first ? second : !second ? first : add(l, first, second);
}

// (d - y * e) / Z
static const Expr *quotient(const Apart *a)
{
    Lower *l = a->l;
    const Expr *e = a->d[1] ? finite_or_none(l, a->d[1]) : NULL;
    const Expr *z = e ? add(l, a->x[1], e) : a->x[1], *moved = e ? mul(l, a->y, e) : NULL;
    const Expr *over = !e ? a->d[0] : !a->d[0] ? neg(l, moved) : sub(l, a->d[0], moved);
    return div_(l, over, z);
}

static const Expr *reciprocal(const Apart *a)
{
    Lower *l = a->l;
    const Expr *d = finite_or_none(l, a->d[0]);
    return div_(l, neg(l, mul(l, a->y, d)), add(l, a->x[0], d));
}

// d / (sqrt(X) + y)
static const Expr *square_root(const Apart *a)
{
    Lower *l = a->l;
    const Expr *below = add(l, sqrt_(l, add(l, a->x[0], a->d[0])), a->y);
    return select_(l, eq(l, a->d[0], f32(l, 0)), a->d[0], div_(l, a->d[0], below));
}

static const Expr *exponential(const Apart *a)
{
    return mul(a->l, a->y, unary(a->l, U_EXPM1, finite_or_none(a->l, a->d[0])));
}

// w * y / (1 - w), where w = (1 - y) * (1 - e^-d)
static const Expr *logistic(const Apart *a)
{
    Lower *l = a->l;
    const Expr *rest = cast(l, DT_F32, sub(l, num(l, DT_F64, 1), a->y));
    const Expr *grown = unary(l, U_EXPM1, neg(l, finite_or_none(l, a->d[0])));
    const Expr *w = neg(l, mul(l, rest, grown));
    return div_(l, mul(l, w, cast(l, DT_F32, a->y)), sub(l, f32(l, 1), w));
}

// t * (1 - y^2) / (1 + t * y), where t = tanh(d)
static const Expr *tangent(const Apart *a)
{
    Lower *l = a->l;
    const Expr *rest = cast(l, DT_F32, sub(l, num(l, DT_F64, 1), mul(l, a->y, a->y)));
    const Expr *t = tanh_(l, finite_or_none(l, a->d[0]));
    return div_(l, mul(l, t, rest), add(l, f32(l, 1), mul(l, t, cast(l, DT_F32, a->y))));
}

// X - y, where y is what x was moved to or another number.
static const Expr *ahead(const Apart *a, int i)
{
    Lower *l = a->l;
    const Expr *x = a->x[i], *y = finite_or_none(l, a->y);
    const Expr *away = select_(l, is_finite(l, x), sub(l, x, y), f32(l, 0));
    return add(l, away, a->d[i] ? a->d[i] : of_exact(l, x));
}

// max(X, 0) - y as max(X - y, -y), where x - y is x below 0 and y is x above
static const Expr *rectified(const Apart *a)
{
    Lower *l = a->l;
    const Expr *x = finite_or_none(l, a->x[0]), *none = f32(l, 0);
    return max_(l, add(l, min_(l, x, none), a->d[0]), min_(l, neg(l, x), none));
}

static const Expr *greater(const Apart *a)
{
    return max_(a->l, ahead(a, 0), ahead(a, 1));
}

static const Expr *less(const Apart *a)
{
    return min_(a->l, ahead(a, 0), ahead(a, 1));
}

static const Expr *negative(const Apart *a)
{
    return neg(a->l, a->d[0]);
}

// d or, where X is beyond 0, -d - 2x; both the other way round where x is negative
static const Expr *magnitude(const Apart *a)
{
    Lower *l = a->l;
    const Expr *down = lt(l, a->x[0], f32(l, 0));
    const Expr *d = select_(l, down, neg(l, a->d[0]), a->d[0]);
    const Expr *twice = mul(l, f32(l, 2), abs_(l, a->x[0]));
    return max_(l, d, sub(l, neg(l, d), twice));
}

static const Expr *nothing(const Apart *a)
{
    return of_exact(a->l, a->x[0]);
}

static const Formula formulas[] = {
    {"Add", sum, 2, false},
    {"Sub", difference, 2, false},
    {"Mul", product, 2, false},
    {"Div", quotient, 2, false},
    {"Reciprocal", reciprocal, 1, false},
    {"Sqrt", square_root, 1, false},
    {"Exp", exponential, 1, false},
    {"Sigmoid", logistic, 1, true},
    {"Tanh", tangent, 1, true},
    {"Relu", rectified, 1, false},
    {"Max", greater, 2, false},
    {"Min", less, 2, false},
    {"Neg", negative, 1, false},
    {"Abs", magnitude, 1, false},
    {"Identity", nothing, 1, false},
};

static const Formula *formula_of(Str op)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (str_is(op, formulas[i].op))
            return &formulas[i];
    return NULL;
}

bool apart_has(const Node *n)
{
    const Formula *f = formula_of(n->op);
    return f && f->of != nothing && n->nin == f->operands;
}

bool apart_is_wide(const Node *n)
{
    const Formula *f = formula_of(n->op);
    return f && f->wide;
}

static const Expr *element_of(Lower *l, uint32_t i, Tensor y, const Index *o)
{
    return has_input(l, i) ? load_broadcast(l, input(l, i), y.rank, o) : NULL;
}

void lower_apart(Lower *l)
{
    const Formula *f = formula_of(node_str(l->n, "of", ""));
    const Tensor y = output(l, 0);
    if (!f || l->n->nin != 1 + 2 * f->operands || y.dtype != DT_F32) {
        lower_unfit(l, "what an operator reads and what moved it are expected");
        return;
    }
    for (uint32_t i = 0; i < l->n->nin; i++)
        if (has_input(l, i) && input(l, i).dtype != (i == 0 && f->wide ? DT_F64 : DT_F32)) {
            lower_unfit(l, "float32 is expected");
            return;
        }
    Index o[MAX_RANK] = {0};
    kernel(l, "apart");
    par_all(l, y, o);
    Apart a = {.l = l, .y = element_of(l, 0, y, o)};
    bool any = f->of == nothing;
    for (uint32_t i = 0; i < f->operands; i++) {
        a.x[i] = element_of(l, 1 + i, y, o);
        a.d[i] = element_of(l, 1 + f->operands + i, y, o);
        any = any || a.d[i];
    }
    if (any && a.x[0] && (f->operands == 1 || a.x[1]))
        store(l, y, o, f->of(&a));
    else
        lower_unfit(l, "what an operator reads and what moved it are expected");
    kernel_end(l);
}
