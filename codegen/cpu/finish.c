#include "codegen/cpu/finish.h"

#include <math.h>
#include <stdlib.h>

enum { LOADS = 16, FAR = 64 }; // constants of an expression; binary exponent of a scale

// A constant of each channel: where it is for each variable.
typedef struct Known {
    const Expr *load;
    const StoredF32 *data;
    int64_t start, stride[FINISH_VARS];
} Known;

typedef struct Search {
    Printer *p;
    Module *mod;
    const Conv *c;
    const FinishVars *v;
    bool exact;
    uint32_t constants, nknown;
    Known known[LOADS];
    int64_t at[FINISH_VARS]; // the channel that is evaluated
} Search;

static Index linear(Search *s, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(s->mod, b);
    return linear_index(s->p, buf->rank, buf->dims, at);
}

// ---- constants ---------------------------------------------------------------------------------

static int64_t elements_of(const Buffer *b)
{
    int64_t all = 1, n;
    for (uint32_t i = 0; i < b->rank; i++) {
        if (!poly_is_const(b->dims[i], &n) || n < 0 || __builtin_mul_overflow(all, n, &all))
            return 0;
    }
    return all;
}

// Notes a load of weights at a place that the variables give, and no others.
static bool know(Search *s, const Expr *load)
{
    const Buffer *b = buffer_at(s->mod, load->buffer);
    Polys *polys = s->mod->polys;
    Str error;
    if (b->kind != BUF_WEIGHT || !b->data || load->dtype != DT_F32 || s->nknown == LOADS)
        return false;
    Known *k = &s->known[s->nknown];
    Index at = linear(s, load->buffer, load->at);
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < s->v->n; i++) {
        Index f;
        if (!factor_of(s->p, at, s->v->var[i], &f) || !poly_is_const(f, &k->stride[i]))
            return false;
        at = poly_sub(polys, at, poly_scale(polys, poly_loop(polys, s->v->var[i]), k->stride[i]));
        const int64_t reach = k->stride[i] * (s->v->extent[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (!poly_is_const(at, &k->start) || k->start + low < 0 || k->start + high >= elements_of(b))
        return false;
    k->load = load;
    k->data = tensor_elements(s->mod->model, (TensorData *)(uintptr_t)b->data, &error);
    s->nknown += k->data != NULL;
    return k->data != NULL;
}

static bool is_constant(Search *s, const Expr *e)
{
    if (e->dtype != DT_F32)
        return false;
    if (e->kind == EX_CONST)
        return true;
    if (e->kind == EX_LOAD)
        return know(s, e);
    if (s->exact)
        return false;
    if (e->kind == EX_UNARY)
        return (e->op == U_SQRT || e->op == U_NEG) && is_constant(s, e->a);
    return e->kind == EX_BINARY &&
           (e->op == B_ADD || e->op == B_SUB || e->op == B_MUL || e->op == B_DIV) &&
           is_constant(s, e->a) && is_constant(s, e->b);
}

static double joined(BinaryOp op, double a, double b)
{
    return op == B_ADD ? a + b : op == B_SUB ? a - b : op == B_MUL ? a * b : a / b;
}

static double value_of(const Search *s, const Expr *e)
{
    if (e->kind == EX_CONST)
        return e->value.f;
    if (e->kind == EX_UNARY)
        return e->op == U_SQRT ? sqrt(value_of(s, e->a)) : -value_of(s, e->a);
    if (e->kind == EX_BINARY)
        return joined((BinaryOp)e->op, value_of(s, e->a), value_of(s, e->b));
    for (uint32_t k = 0; k < s->nknown; k++) {
        if (s->known[k].load != e)
            continue;
        int64_t at = s->known[k].start;
        for (uint32_t i = 0; i < s->v->n; i++)
            at += s->known[k].stride[i] * s->at[i];
        return s->known[k].data[at];
    }
    return NAN;
}

// ---- linear functions of the sum ---------------------------------------------------------------

static bool has_sum(Search *s, const Expr *e)
{
    return expr_facts(s->p, e)->reduces;
}

static bool is_linear(Search *s, const Expr *e)
{
    if (e == s->c->reduce)
        return true;
    if (e->kind == EX_UNARY && e->op == U_NEG && !s->exact)
        return is_linear(s, e->a);
    if (e->kind != EX_BINARY || e->dtype != DT_F32 || has_sum(s, e->a) == has_sum(s, e->b))
        return false;
    const bool left = has_sum(s, e->a);
    const Expr *sum = left ? e->a : e->b, *other = left ? e->b : e->a;
    const bool adds = e->op == B_ADD || (e->op == B_SUB && left);
    const bool scales = e->op == B_SUB || e->op == B_MUL || (e->op == B_DIV && left);
    if ((!adds && (!scales || s->exact)) || (s->exact && s->constants++ > 0))
        return false;
    return is_constant(s, other) && is_linear(s, sum);
}

// e is *scale * sum + *bias.
static void read_linear(Search *s, const Expr *e, double *scale, double *bias)
{
    if (e == s->c->reduce) {
        *scale = 1;
        *bias = -0.0; // added to any number, gives that number
        return;
    }
    const bool left = e->kind == EX_UNARY || has_sum(s, e->a);
    read_linear(s, left ? e->a : e->b, scale, bias);
    if (e->kind == EX_UNARY) {
        *scale = -*scale;
        *bias = -*bias;
        return;
    }
    const double k = value_of(s, left ? e->b : e->a);
    const BinaryOp op = (BinaryOp)e->op;
    if (op == B_ADD || (op == B_SUB && left)) {
        *bias = op == B_ADD ? *bias + k : *bias - k;
    } else if (op == B_SUB) {
        *scale = -*scale;
        *bias = k - *bias;
    } else {
        *scale = joined(op, *scale, k);
        *bias = joined(op, *bias, k);
    }
}

static bool read_channels(Search *s, const Expr *e, Finish *f)
{
    for (int64_t i = 0; i < s->v->channels; i++) {
        int64_t rest = i;
        for (uint32_t k = s->v->n; k > 0; rest /= s->v->extent[k - 1], k--)
            s->at[k - 1] = rest % s->v->extent[k - 1];
        read_linear(s, e, &f->scale[i], &f->bias[i]);
        const double scale = fabs(f->scale[i]);
        if (!isfinite((float)f->bias[i]) || !(scale <= ldexp(1, FAR)) ||
            (scale > 0 && scale < ldexp(1, -FAR)))
            return false;
    }
    return true;
}

// ---- around it ---------------------------------------------------------------------------------

static const Expr *without_clip(const Expr *e, Finish *f)
{
    f->low = -INFINITY;
    f->high = INFINITY;
    while (e->kind == EX_BINARY && (e->op == B_MIN || e->op == B_MAX)) {
        const Expr *bound = e->b->kind == EX_CONST ? e->b : e->a;
        double *limit = e->op == B_MIN ? &f->high : &f->low;
        if (bound->kind != EX_CONST || isnan(bound->value.f) || isfinite(*limit))
            return NULL;
        *limit = bound->value.f + 0.0;
        e = bound == e->b ? e->a : e->b;
    }
    return f->low <= f->high ? e : NULL;
}

// Is it a load of one element for each of y, in the same order?
static bool lies_as_y(Search *s, const Expr *load)
{
    const Conv *c = s->c;
    if (load->kind != EX_LOAD || load->dtype != DT_F32 || load->buffer == c->store->buffer ||
        buffer_at(s->mod, load->buffer)->dtype != DT_F32)
        return false;
    Index at = linear(s, load->buffer, load->at);
    Index y = linear(s, c->store->buffer, c->store->at);
    LoopId own[CONV_SPACE + 1] = {c->m};
    for (uint32_t i = 0; i < c->rank; i++)
        own[i + 1] = c->n[i];
    for (uint32_t i = 0; i <= c->rank; i++) {
        Index a, b;
        if (own[i] &&
            (!factor_of(s->p, at, own[i], &a) || !factor_of(s->p, y, own[i], &b) || a != b))
            return false;
    }
    return true;
}

// The linear function around the sum, with all that belongs to it.
static const Expr *linear_part(Search *s, const Expr *e)
{
    for (; e; e = has_sum(s, e->a) ? e->a : e->b && has_sum(s, e->b) ? e->b : e->c) {
        s->constants = s->nknown = 0;
        if (is_linear(s, e))
            return e;
        if (!e->a)
            return NULL;
    }
    return NULL;
}

// The same without what was done last.
static const Expr *linear_below(Search *s, const Expr *e)
{
    if (e == s->c->reduce)
        return NULL;
    return linear_part(s, e->kind == EX_UNARY || has_sum(s, e->a) ? e->a : e->b);
}

static bool lies(void *context, const Expr *load)
{
    return lies_as_y(context, load);
}

// A linear function of which all else is a curve; NULL: there is none.
static const Expr *find_curve(Search *s, Finish *f)
{
    const Expr *e = s->c->store->value;
    f->low = -INFINITY;
    f->high = INFINITY;
    for (e = linear_part(s, e); e; e = linear_below(s, e)) {
        f->curve = curve_find(s->mod, s->c->store->value, e, lies, s, &f->added);
        if (f->curve)
            return e;
    }
    return NULL;
}

static const Expr *find_clip(Search *s, bool adds, Finish *f)
{
    const Expr *e = without_clip(s->c->store->value, f);
    if (e && adds && e->kind == EX_BINARY && e->op == B_ADD) {
        const Expr *added = lies_as_y(s, e->a) ? e->a : lies_as_y(s, e->b) ? e->b : NULL;
        f->added = added;
        e = !added ? e : added == e->a ? e->b : e->a;
    }
    return e && is_linear(s, e) ? e : NULL;
}

bool finish_find(Printer *p, const Conv *c, const FinishVars *v, bool exact, bool adds, Finish *f)
{
    Search s = {.p = p, .mod = p->mod, .c = c, .v = v, .exact = exact};
    *f = (Finish){0};
    if (c->store->value == c->reduce || c->store->value->dtype != DT_F32)
        return false;
    const Expr *e = find_clip(&s, adds, f);
    if (!e) {
        *f = (Finish){0};
        e = find_curve(&s, f);
    }
    if (!e)
        return false;
    f->scale = calloc((size_t)v->channels, sizeof *f->scale);
    f->bias = calloc((size_t)v->channels, sizeof *f->bias);
    if (f->scale && f->bias && read_channels(&s, e, f))
        return true;
    free(f->scale);
    free(f->bias);
    *f = (Finish){0};
    return false;
}
