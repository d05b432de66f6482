// Gathered adjoints: see ir/adjoint_gather.h.
//
// y[o] = sum over r of x[f(o, r)] * w[g(o, r)] gives dx[j] = sum over what is left of o and r of
// dy[o] * w[g(o, r)], with the variables for which f(o, r) = j is solved taken from j:
//
//     v                  v = j
//     s*v + the rest     v = (j - rest) / s where that is whole, v the longest variable in it
//
// and every solution has to lie within its loop. So the adjoint of a convolution of stride 1 is a
// convolution, that of a matrix product one, and that of a bias a sum.

#include "ir/adjoint_gather.h"

// The variables of a part while they are solved for.
typedef struct Solve {
    Lower *l;
    const GatherPart *part;
    bool dry; // nothing is built: can it be done?
    uint32_t n;
    LoopId var[GATHER_VARS];
    bool known[GATHER_VARS];
    Index to[GATHER_VARS]; // what it is in the new kernel
    uint32_t nsums;
    Index sums[GATHER_VARS];
    const Expr *where;
} Solve;

static int find_var(const Solve *s, LoopId v)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->var[i] == v)
            return (int)i;
    return -1;
}

static bool is_one(const Solve *s, uint32_t i)
{
    return poly_equals(loop_extent(s->l->polys, s->var[i]), 1);
}

// ---- places ------------------------------------------------------------------------------------

// A place as constant + sum of coeff[i] * var[i].
typedef struct Place {
    Index constant;
    int64_t coeff[GATHER_VARS];
    uint32_t nvars;
} Place;

static bool place_of(const Solve *s, Index at, Place *p)
{
    *p = (Place){.constant = at};
    for (uint32_t t = 0; t < at->nterms; t++) {
        const Term *term = &at->terms[t];
        bool loops = false;
        for (uint32_t k = 0; k < term->natoms; k++)
            loops = loops || term->atoms[k]->kind == ATOM_LOOP;
        if (!loops)
            continue;
        int v = term->natoms == 1 ? find_var(s, term->atoms[0]->var) : -1;
        if (v < 0)
            return false;
        p->coeff[v] = term->coeff;
        p->nvars++;
        p->constant =
            poly_sub(s->l->polys, p->constant,
                     poly_scale(s->l->polys, poly_loop(s->l->polys, s->var[v]), term->coeff));
    }
    return !poly_varies(p->constant);
}

// The variable that a place is solved for: the longest of those that are not known; -1: none.
static int chosen(const Solve *s, const Place *p)
{
    int best = -1;
    int64_t most = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t extent = INT64_MAX;
        poly_is_const(loop_extent(s->l->polys, s->var[i]), &extent);
        if (s->known[i] || p->coeff[i] <= 0 || extent <= most)
            continue;
        best = (int)i;
        most = extent;
    }
    return best;
}

static void give(Solve *s, uint32_t i, Index to)
{
    s->known[i] = true;
    s->to[i] = to;
}

// A variable that stays one of a sum; turned round where its coefficient is positive, so that what
// is read of the adjoint goes up with it.
static void sum_over(Solve *s, uint32_t i, bool turned)
{
    Lower *l = s->l;
    Index to = NULL;
    if (!s->dry) {
        Index extent = loop_extent(l->polys, s->var[i]), v = red(l, extent);
        s->sums[s->nsums++] = v;
        to = turned ? ix_sub(l, ix_addc(l, extent, -1), v) : v;
    }
    give(s, i, to);
}

static void require(Solve *s, const Expr *where)
{
    s->where = both(s->l, s->where, where);
}

static void solve_place(Solve *s, const Place *p, Index j)
{
    Lower *l = s->l;
    int v = chosen(s, p);
    for (uint32_t i = 0; i < s->n; i++)
        if (p->coeff[i] && !s->known[i] && (int)i != v)
            sum_over(s, i, p->coeff[i] > 0);
    if (s->dry) {
        if (v >= 0)
            s->known[v] = true;
        return;
    }
    Index rest = ix_sub(l, j, p->constant);
    for (uint32_t i = 0; i < s->n; i++)
        if (p->coeff[i] && (int)i != v)
            rest = ix_sub(l, rest, ix_scale(l, s->to[i], p->coeff[i]));
    if (v < 0) {
        if (!poly_equals(rest, 0))
            require(s, index_eq(l, rest, ix(l, 0)));
        return;
    }
    Index step = ix(l, p->coeff[v]);
    if (p->coeff[v] != 1)
        require(s, index_eq(l, ix_mod(l, rest, step), ix(l, 0)));
    give(s, (uint32_t)v, p->coeff[v] == 1 ? rest : ix_div(l, rest, step));
    require(s, inside(l, s->to[v], loop_extent(l->polys, s->var[v])));
}

// Places of one variable come first: they leave nothing to be summed over.
static bool solve(Solve *s, const Index *j)
{
    const Expr *x = s->part->load;
    for (uint32_t i = 0; i < s->n; i++)
        if (is_one(s, i))
            give(s, i, s->dry ? NULL : ix(s->l, 0));
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t d = 0; d < x->rank; d++) {
            Place p;
            if (!place_of(s, x->at[d], &p))
                return false;
            if ((p.nvars <= 1) == (pass == 0))
                solve_place(s, &p, j ? j[d] : NULL);
        }
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->known[i])
            sum_over(s, i, false);
    return true;
}

// false: there are more variables than there is room for.
static bool begin(Solve *s, const GatherPlan *plan, const GatherPart *part, bool dry)
{
    *s = (Solve){.l = plan->l, .part = part, .dry = dry};
    if (plan->nloops + part->nvars > GATHER_VARS)
        return false;
    for (uint32_t i = 0; i < plan->nloops; i++)
        s->var[s->n++] = plan->loops[i];
    for (uint32_t i = 0; i < part->nvars; i++)
        s->var[s->n++] = part->vars[i];
    return true;
}

// ---- the new kernel ----------------------------------------------------------------------------

static Index map_var(void *context, const Atom *a)
{
    const Solve *s = context;
    int v = a->kind == ATOM_LOOP ? find_var(s, a->var) : -1;
    return v < 0 ? NULL : s->to[v];
}

static Index mapped_index(Solve *s, Index i)
{
    ExprMap map = {s, NULL, map_var};
    return index_map(s->l->module, i, &map);
}

static const Expr *mapped(Solve *s, const Expr *e)
{
    ExprMap map = {s, NULL, map_var};
    return expr_map(s->l->module, e, &map);
}

// A guard in the new variables, without what is proved; NULL: all of it.
static const Expr *mapped_guard(Solve *s, const Expr *e)
{
    Lower *l = s->l;
    if (e->kind == EX_BINARY && e->op == B_AND)
        return both(l, mapped_guard(s, e->a), mapped_guard(s, e->b));
    bool compares = e->kind == EX_COMPARE && (e->op == C_LE || e->op == C_LT);
    if (compares && e->a->kind == EX_INDEX && e->b->kind == EX_INDEX) {
        Index a = mapped_index(s, e->a->index), b = mapped_index(s, e->b->index);
        Index slack = ix_addc(l, ix_sub(l, b, a), e->op == C_LT ? -1 : 0);
        if (poly_nonnegative(l->polys, slack))
            return NULL;
        return e->op == C_LT ? index_lt(l, a, b) : index_le(l, a, b);
    }
    return mapped(s, e);
}

void gather_emit(const GatherPlan *plan, uint32_t i, Tensor bar_y, Tensor bar_x, bool begun)
{
    Lower *l = plan->l;
    const GatherPart *part = &plan->parts[i];
    Solve s;
    Index j[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    kernel(l, "gather");
    par_all(l, bar_x, j);
    begin(&s, plan, part, false);
    solve(&s, j);
    if (part->where)
        require(&s, mapped_guard(&s, part->where));
    for (uint32_t d = 0; d < plan->store->rank; d++)
        at[d] = mapped_index(&s, plan->store->at[d]);
    const Expr *e = load(l, bar_y, at);
    bool outside = part->scale && part->scale->kind == EX_CONST;
    if (part->other)
        e = mul(l, e, mapped(&s, part->other));
    if (part->scale && !outside)
        e = mul(l, e, mapped(&s, part->scale));
    if (s.nsums)
        e = reduce_add(l, s.nsums, s.sums, s.where, e);
    else if (s.where)
        e = select_(l, s.where, e, zero(l, e->dtype));
    if (outside)
        e = mul(l, e, part->scale);
    if (begun)
        e = add(l, load(l, bar_x, j), e);
    store(l, bar_x, j, e);
    kernel_end(l);
}

// ---- taking a kernel apart ---------------------------------------------------------------------

typedef struct Split {
    GatherPlan *plan;
    const uint8_t *active;
    uint32_t nbuffers;
    DType dtype;
    bool found, full;
} Split;

static void note_load(void *context, const Expr *e)
{
    Split *s = context;
    s->found = s->found || (e->kind == EX_LOAD && e->buffer < s->nbuffers && s->active[e->buffer]);
}

static bool depends(Split *s, const Expr *e)
{
    s->found = false;
    expr_walk(s->plan->l->module, e, note_load, s);
    return s->found;
}

static void leave(Split *s, const Expr *e)
{
    if (s->plan->nrest == GATHER_PARTS)
        s->full = true;
    else
        s->plan->rest[s->plan->nrest++] = e;
}

// Is e a factor that a part may have: a load of the result's dtype, whose indices read no data?
static bool is_factor(const Split *s, const Expr *e)
{
    bool plain = e->kind == EX_LOAD && e->dtype == s->dtype;
    for (uint32_t i = 0; plain && i < e->rank; i++)
        for (uint32_t t = 0; plain && t < e->at[i]->nterms; t++)
            for (uint32_t k = 0; plain && k < e->at[i]->terms[t].natoms; k++)
                plain = e->at[i]->terms[t].atoms[k]->kind != ATOM_EXPR;
    return plain;
}

static bool can_solve(const Split *s, const GatherPart *part)
{
    Solve solved;
    return begin(&solved, s->plan, part, true) && solve(&solved, NULL);
}

// A load or a product of two, summed over the variables of `sum` (NULL: not summed).
static bool take_product(Split *s, const Expr *e, const Expr *sum, const Expr *scale)
{
    bool product = e->kind == EX_BINARY && e->op == B_MUL;
    const Expr *factors[2] = {product ? e->a : e, product ? e->b : NULL};
    GatherPart parts[2];
    uint32_t n = 0;
    if (!is_factor(s, factors[0]) || (product && !is_factor(s, factors[1])))
        return false;
    for (uint32_t k = 0; k < 1u + product; k++) {
        if (factors[k]->buffer >= s->nbuffers || !s->active[factors[k]->buffer])
            continue;
        parts[n] = (GatherPart){.load = factors[k], .other = factors[1 - k], .scale = scale};
        parts[n].other = product ? factors[1 - k] : NULL;
        parts[n].where = sum ? sum->a : NULL;
        parts[n].nvars = sum ? sum->rank : 0;
        parts[n].vars = sum ? sum->vars : NULL;
        if (!can_solve(s, &parts[n++]))
            return false;
    }
    if (s->plan->nparts + n > GATHER_PARTS)
        return false;
    for (uint32_t k = 0; k < n; k++)
        s->plan->parts[s->plan->nparts++] = parts[k];
    return true;
}

static void take_term(Split *s, const Expr *e, const Expr *scale)
{
    const Expr *whole = e;
    if (!depends(s, e))
        return;
    if (!scale && e->kind == EX_BINARY && e->op == B_ADD) {
        take_term(s, e->a, NULL);
        take_term(s, e->b, NULL);
        return;
    }
    if (!scale && e->kind == EX_BINARY && e->op == B_MUL && e->a->kind == EX_CONST) {
        scale = e->a;
        e = e->b;
    } else if (!scale && e->kind == EX_BINARY && e->op == B_MUL && e->b->kind == EX_CONST) {
        scale = e->b;
        e = e->a;
    }
    bool sum = e->kind == EX_REDUCE && e->op == R_ADD && e->dtype == s->dtype;
    if (!take_product(s, sum ? e->b : e, sum ? e : NULL, scale))
        leave(s, whole);
}

bool gather_plan(Lower *l, const Kernel *k, const uint8_t *active, uint32_t nbuffers,
                 GatherPlan *plan)
{
    const Stmt *st = k->body;
    Split s = {.plan = plan, .active = active, .nbuffers = nbuffers};
    *plan = (GatherPlan){.l = l};
    for (; st && st->kind == S_FOR && st->par && !st->next && plan->nloops < GATHER_VARS;
         st = st->body)
        plan->loops[plan->nloops++] = st->var;
    if (!st || st->kind != S_STORE || st->next)
        return false;
    for (uint32_t i = 0; i < plan->nloops; i++)
        if (poly_varies(loop_extent(l->polys, plan->loops[i])))
            return false;
    plan->store = st;
    s.dtype = st->value->dtype;
    take_term(&s, st->value, NULL);
    return plan->nparts > 0 && !s.full;
}
