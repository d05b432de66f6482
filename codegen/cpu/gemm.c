// Products of matrices, told by structure: one sum of the product of two loads, whose parallel
// variables are in one factor or in the other.
//
// 1. n is the variable along which y's elements are neighbours; it must be in one factor only,
//    which is called b. m is an inner variable of the other factor. k is the longest summed one.
//    Where rows go on in the next element of another variable, as those of a batch do, and b is a
//    weight, they are rows of one product; where they do not, those of the longer one are.
// 2. All other variables become loops around the product; further summed ones add to it.
// 3. What stands around the sum is applied to y in place by the kernel's own loops.

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/layouts.h"
#include "codegen/cpu/chain.h"
#include "codegen/cpu/constants.h"

#include "codegen/cpu/byte_product.h"
#include "codegen/cpu/half_conv.h"
#include "codegen/cpu/halves.h"
#include "codegen/cpu/away.h"
#include "codegen/cpu/heads.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/cpu/tiles.h"
#include "codegen/cpu/wide.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARS = 32, WIDTH = TILE_COLUMNS, TURNED = 4 };

typedef struct Want {
    GemmKind kind;
    const ConvChoice *how;
} Want;

typedef struct Match {
    Printer *p; // for facts and linear indices; prints nothing
    Module *mod;
    Arena *arena; // of the module
    const Stmt *store;
    const Stmt *loops[MAX_PARS];
    uint32_t nloops;
    const Expr *reduce;
    Bytes *bytes;    // what its factors are, if bytes
    const Expr *sum; // what stands for the sum around it; NULL: y
    Index la, lb, ly;
    bool apart; // loops stay as they are
    Override o;
} Match;

// ---- the sum -----------------------------------------------------------------------------------

typedef struct Sums {
    Match *m;
    const Expr *first;
    bool several, guarded; // more than one; one that is not evaluated for each element
} Sums;

// Reductions of e. `lazy`: under a guard or inside an index.
static void find_sums(Sums *s, const Expr *e, bool lazy)
{
    if (!expr_facts(s->m->p, e)->reduces)
        return;
    if (e->kind == EX_REDUCE) {
        s->several |= s->first && s->first != e;
        s->guarded |= lazy && s->first != e;
        s->first = s->first ? s->first : e;
        return;
    }
    bool arms = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (!e->a)
        s->guarded = true; // inside an index
    if (e->a)
        find_sums(s, e->a, lazy);
    if (e->b)
        find_sums(s, e->b, lazy || arms);
    if (e->c)
        find_sums(s, e->c, lazy || arms);
}

static bool is_real_load(const Expr *e)
{
    return e->kind == EX_LOAD &&
           (e->dtype == DT_F32 || e->dtype == DT_F64 || halves_dtype(e->dtype));
}

static bool find_structure(Match *m, const Kernel *k)
{
    const Stmt *s = k->body;
    for (; s && s->kind == S_FOR && s->par && !s->next && m->nloops < MAX_PARS; s = s->body)
        m->loops[m->nloops++] = s;
    if (!s || s->kind != S_STORE || s->next || m->nloops == 0)
        return false;
    m->store = s;
    Sums sums = {.m = m};
    find_sums(&sums, s->value, false);
    const Expr *r = sums.first;
    if (!r || sums.several || sums.guarded || r->op != R_ADD || r->a || r->b->kind != EX_BINARY ||
        r->b->op != B_MUL)
        return false;
    const Expr *a = r->b->a, *b = r->b->b;
    m->bytes = bytes_of(m->mod, r);
    if (m->bytes) {
        a = m->bytes->x.load;
        b = m->bytes->w.load;
    } else {
        a = halves_load(a) ? halves_load(a) : a;
        b = halves_load(b) ? halves_load(b) : b;
        if (!is_real_load(a) || !is_real_load(b))
            return false;
    }
    if (a == b || a->buffer == s->buffer || b->buffer == s->buffer)
        return false;
    m->reduce = r;
    m->o.a = a;
    m->o.b = b;
    return true;
}

static Index linear(Match *m, const Expr *load)
{
    const Buffer *b = buffer_at(m->mod, load->buffer);
    return linear_index(m->p, b->rank, b->dims, load->at);
}

// ---- roles -------------------------------------------------------------------------------------

static Index factor(Match *m, Index i, LoopId v)
{
    Index f;
    return factor_of(m->p, i, v, &f) ? f : NULL;
}

static bool is_zero(Index i)
{
    return i && poly_equals(i, 0);
}

// All indices are sums of a constant times each variable, but that what a run computes may be read
// in any way along a loop around the product: heads that share keys, as many as a run tells.
static bool all_linear(Match *m)
{
    const Index all[] = {m->la, m->lb, m->ly};
    const Expr *const from[] = {m->o.a, m->o.b, NULL};
    for (int i = 0; i < 3; i++) {
        const Buffer *b = from[i] ? buffer_at(m->mod, from[i]->buffer) : NULL;
        const bool any = !m->apart && b && b->kind != BUF_WEIGHT && b->dtype == DT_F32;
        for (uint32_t k = 0; k < m->nloops && !any; k++)
            if (!factor(m, all[i], m->loops[k]->var))
                return false;
        for (uint32_t k = 0; k < m->reduce->rank; k++)
            if (!factor(m, all[i], m->reduce->vars[k]))
                return false;
    }
    return true;
}

static void swap_factors(Match *m)
{
    const Expr *e = m->o.a;
    m->o.a = m->o.b;
    m->o.b = e;
    Index i = m->la;
    m->la = m->lb;
    m->lb = i;
}

static bool choose_n(Match *m)
{
    for (uint32_t i = m->nloops; i > 0; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (!poly_equals(factor(m, m->ly, v), 1))
            continue;
        Index a = factor(m, m->la, v), b = factor(m, m->lb, v);
        bool in_a = !is_zero(a), in_b = !is_zero(b);
        if (!a || !b || in_a == in_b)
            return false;
        if (in_a)
            swap_factors(m);
        m->o.n = v;
        return true;
    }
    return false;
}

static void choose_m(Match *m)
{
    for (uint32_t i = m->nloops; i > 0 && !m->o.m; i--) {
        LoopId v = m->loops[i - 1]->var;
        Index a = factor(m, m->la, v);
        if (v != m->o.n && a && !is_zero(a) && is_zero(factor(m, m->lb, v)))
            m->o.m = v;
    }
}

// A variable that runs on where n ends, in b and in y, and is not in a.
static void choose_outer_n(Match *m)
{
    Polys *polys = m->mod->polys;
    Index extent = loop_extent(polys, m->o.n);
    for (uint32_t i = m->nloops; i > 0 && !m->o.outer_n; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (v == m->o.n || v == m->o.m || !is_zero(factor(m, m->la, v)))
            continue;
        if (factor(m, m->ly, v) == extent &&
            factor(m, m->lb, v) == poly_mul(polys, extent, factor(m, m->lb, m->o.n)))
            m->o.outer_n = v;
    }
}

// A variable that runs on where m ends, in all that is read but b, a weight, and in y.
static void choose_outer_m(Match *m)
{
    Polys *polys = m->mod->polys;
    if (m->apart || !m->o.m || buffer_at(m->mod, m->o.b->buffer)->kind != BUF_WEIGHT)
        return;
    Index extent = loop_extent(polys, m->o.m);
    for (uint32_t i = m->nloops; i > 0 && !m->o.outer_m; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (override_owns(&m->o, v) || !is_zero(factor(m, m->lb, v)) ||
            factor(m, m->ly, v) != poly_mul(polys, extent, factor(m, m->ly, m->o.m)) ||
            !loops_collapse(m->p, v, m->o.m, m->store->value))
            continue;
        loops_restore(m->p, v, m->o.m);
        m->o.outer_m = v;
    }
}

// Rows that are a batch's, each of a place in all its sequences, as where what is multiplied lies
// turned: the places of a sequence are the rows then, if b is a weight, which all read.
static void turn_rows(Match *m)
{
    const BufferId a = m->o.a->buffer;
    if (m->apart || !m->o.m || m->o.outer_m || gemm_rows_likely(m->mod, a, m->o.m) > TURNED ||
        buffer_at(m->mod, m->o.b->buffer)->kind != BUF_WEIGHT)
        return;
    for (uint32_t i = m->nloops; i > 0; i--) {
        LoopId v = m->loops[i - 1]->var;
        if (!override_owns(&m->o, v) && !is_zero(factor(m, m->la, v)) &&
            is_zero(factor(m, m->lb, v)) &&
            gemm_rows_likely(m->mod, a, v) > gemm_rows_likely(m->mod, a, m->o.m))
            m->o.m = v;
    }
}

static void choose_k(Match *m)
{
    int64_t best = -1;
    for (uint32_t i = 0; i < m->reduce->rank; i++) {
        LoopId v = m->reduce->vars[i];
        int64_t n = INT64_MAX;
        poly_is_const(loop_extent(m->mod->polys, v), &n);
        if (n > best && !is_zero(factor(m, m->la, v)) && !is_zero(factor(m, m->lb, v))) {
            best = n;
            m->o.k = v;
        }
    }
}

// No extent may depend on another variable, since loops change places.
static bool plain_extents(Match *m)
{
    for (uint32_t i = 0; i < m->nloops + m->reduce->rank; i++) {
        LoopId v = i < m->nloops ? m->loops[i]->var : m->reduce->vars[i - m->nloops];
        if (poly_varies(loop_extent(m->mod->polys, v)))
            return false;
    }
    return true;
}

static bool is_short(Index extent, int64_t least)
{
    int64_t n;
    return poly_is_const(extent, &n) && n < least;
}

// A tile of few columns multiplies by zeros beside them, and still does more at once than loops do
// where sums are long and rows are several.
static bool worth_tiles(Match *m)
{
    const Override *o = &m->o;
    Index k = loop_extent(m->mod->polys, o->k);
    if (!is_short(o->columns, 8))
        return !is_short(k, 4);
    return !is_short(o->columns, 2) && !is_short(k, 16) && !is_short(o->rows, 4);
}

// A variable of the sum that is 0, as those of a window of one place are.
static Index single_to_zero(void *context, const Atom *a)
{
    const Match *m = context;
    for (uint32_t k = 0; a->kind == ATOM_LOOP && k < m->reduce->rank; k++)
        if (m->reduce->vars[k] == a->var && poly_equals(loop_extent(m->mod->polys, a->var), 1))
            return poly_const(m->mod->polys, 0);
    return NULL;
}

static bool choose_roles(Match *m)
{
    Override *o = &m->o;
    Polys *polys = m->mod->polys;
    ExprMap map = {m, NULL, single_to_zero};
    o->a = expr_map(m->mod, o->a, &map);
    o->b = expr_map(m->mod, o->b, &map);
    const Buffer *y = buffer_at(m->mod, m->store->buffer);
    m->la = linear(m, o->a);
    m->lb = linear(m, o->b);
    m->ly = linear_index(m->p, y->rank, y->dims, m->store->at);
    if (!all_linear(m) || !plain_extents(m) || !choose_n(m))
        return false;
    choose_m(m);
    choose_outer_n(m);
    choose_outer_m(m);
    turn_rows(m);
    choose_k(m);
    if (!o->k)
        return false;
    Index zero = poly_const(polys, 0), one = poly_const(polys, 1);
    o->columns = loop_extent(polys, o->n);
    if (o->outer_n)
        o->columns = poly_mul(polys, o->columns, loop_extent(polys, o->outer_n));
    o->rows = o->m ? loop_extent(polys, o->m) : one;
    if (o->outer_m)
        o->rows = poly_mul(polys, o->rows, loop_extent(polys, o->outer_m));
    o->am = o->m ? factor(m, m->la, o->m) : zero;
    o->ym = o->m ? factor(m, m->ly, o->m) : zero;
    o->ak = factor(m, m->la, o->k);
    o->bk = factor(m, m->lb, o->k);
    o->bn = factor(m, m->lb, o->n);
    return worth_tiles(m);
}

// ---- what BLAS takes

// Lines of `length` elements, `stride` apart, do not overlap.
static bool lines_apart(Polys *polys, Index stride, Index length)
{
    return poly_nonnegative(polys, poly_sub(polys, stride, length));
}

// One stride of each matrix is 1, and the other at least as long as a line of it: a window that
// slides over a row is no matrix that BLAS can take.
static bool blas_fits(Polys *polys, const Override *o)
{
    Index k = loop_extent(polys, o->k);
    bool a = (poly_equals(o->ak, 1) && lines_apart(polys, o->am, k)) ||
             (poly_equals(o->am, 1) && lines_apart(polys, o->ak, o->rows));
    bool b = (poly_equals(o->bn, 1) && lines_apart(polys, o->bk, o->columns)) ||
             (poly_equals(o->bk, 1) && lines_apart(polys, o->bn, k));
    bool row = is_zero(o->am) && lines_apart(polys, o->ak, poly_const(polys, 1));
    return b && (row || (a && lines_apart(polys, o->ym, o->columns)));
}

// ---- packing -----------------------------------------------------------------------------------

// at: of the first element, as where a tensor holds the weights of both directions.
static bool packs(const Match *m, int64_t *n, int64_t *k, int64_t *bn, int64_t *bk, int64_t *at)
{
    const Override *o = &m->o;
    Polys *polys = m->mod->polys;
    const Buffer *b = buffer_at(m->mod, o->b->buffer);
    Index rest = poly_sub(polys, m->lb, poly_mul(polys, o->bk, poly_loop(polys, o->k)));
    rest = poly_sub(polys, rest, poly_mul(polys, o->bn, poly_loop(polys, o->n)));
    return b->kind == BUF_WEIGHT && b->data && !o->outer_n && poly_is_const(rest, at) &&
           poly_is_const(o->columns, n) && poly_is_const(loop_extent(polys, o->k), k) &&
           poly_is_const(o->bn, bn) && poly_is_const(o->bk, bk) && *n > 0 && *k > 0 &&
           *n < INT64_MAX / 64 && *k < ((int64_t)1 << 32) / (*n + WIDTH);
}

// Panels of WIDTH columns, each k rows side by side, the last as narrow as vectors of 16 allow and
// padded with zeros.
static bool pack_weights(Match *m, Str *error)
{
    int64_t n, k, bn, bk, first;
    if (!packs(m, &n, &k, &bn, &bk, &first))
        return true;
    Buffer *b = buffer_at(m->mod, m->o.b->buffer);
    const StoredF32 *from = tensor_elements(m->mod->model, (TensorData *)(uintptr_t)b->data, error);
    if (!from)
        return false;
    from += first;
    int64_t columns = (n + 15) / 16 * 16, dims[] = {k, columns};
    float *to = arena_lend(m->mod->arena, (size_t)(k * columns) * sizeof *to);
    for (int64_t begin = 0; begin < n; begin += WIDTH) {
        const int64_t left = columns - begin, width = left < WIDTH ? left : WIDTH;
        const int64_t used = n - begin < width ? n - begin : width;
        for (int64_t i = 0; i < k; i++) {
            float *row = to + begin * k + i * width;
            const StoredF32 *at = from + i * bk + begin * bn;
            for (int64_t j = 0; j < used; j++)
                row[j] = at[j * bn];
        }
    }
    m->o.split = m->o.split && split_takes(to, k * columns);
    m->o.packed = constants_weight(m->mod, m->o.b->buffer, 2, dims, to);
    model_forget(m->mod->model, from, (size_t)(n * k) * sizeof *from);
    return true;
}

// ---- overriding --------------------------------------------------------------------------------

static const Expr *sum_to_load(void *context, const Expr *e)
{
    Match *m = context;
    if (e == m->reduce && m->sum)
        return m->sum;
    return e == m->reduce ? expr_load(m->mod, m->store->buffer, m->store->at) : NULL;
}

static Stmt *copy_loops(Match *m, uint32_t i, const Expr *value)
{
    if (i < m->nloops && m->o.outer_m && m->loops[i]->var == m->o.outer_m)
        return copy_loops(m, i + 1, value);
    Stmt *s = NEW(m->mod->arena, Stmt);
    *s = i < m->nloops ? *m->loops[i] : *m->store;
    if (i < m->nloops)
        s->body = copy_loops(m, i + 1, value);
    else
        s->value = value;
    return s;
}

static bool override_conv(Printer *p, Kernel *k, Conv *c)
{
    Match m = {.mod = p->mod, .p = p, .reduce = c->reduce, .store = c->store};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        m.loops[m.nloops++] = s;
    m.sum = c->bytes ? c->bytes->value : c->half ? c->half->value : NULL;
    if (m.sum || (c->store->value != c->reduce && !c->finish && !wide_find_bias(p, c))) {
        ExprMap map = {&m, sum_to_load, NULL};
        c->epilogue = copy_loops(&m, 0, expr_map(p->mod, c->store->value, &map));
    }
    Override *o = NEW(p->mod->arena, Override);
    o->kind = GEMM_PACKED;
    o->conv = c;
    k->override = o;
    return true;
}

static bool override_bytes(Match *m, Kernel *k, Str *error)
{
    bool found;
    m->o.kind = GEMM_PACKED;
    m->o.reduce = m->reduce;
    m->o.store = m->store;
    if (!byte_product_find(m->p, &m->o, m->bytes, &found, error))
        return false;
    if (!found)
        return true;
    m->sum = m->bytes->value;
    ExprMap map = {m, sum_to_load, NULL};
    m->o.epilogue = copy_loops(m, 0, expr_map(m->mod, m->store->value, &map));
    m->o.bytes = m->bytes;
    Override *kept = NEW(m->mod->arena, Override);
    *kept = m->o;
    k->override = kept;
    return true;
}

// A product of bfloat16, or a convolution, which stays in 16 bits.
static bool override_halves(Printer *p, Kernel *k, const ConvChoice *how, Str *error)
{
    Match m = {.mod = p->mod, .p = p};
    Conv *conv;
    if (k->override) // of pixels
        return true;
    if (!conv_find_half(p, k, how, &conv, error))
        return false;
    if (conv)
        return override_conv(p, k, conv);
    if (!find_structure(&m, k) || m.bytes || !choose_roles(&m) || m.o.a->dtype != DT_BF16 ||
        m.o.b->dtype != DT_BF16 || m.reduce->dtype != DT_F32)
        return true;
    m.o.kind = GEMM_PACKED;
    m.o.reduce = m.reduce;
    m.o.store = m.store;
    m.o.narrow = narrow_pack_halves(p, &m.o, error);
    if (!m.o.narrow && (error->len || !half_product_fits(p->mod->polys, &m.o, how->cpu)))
        return !error->len;
    m.o.packed = m.o.narrow ? m.o.narrow->packed : 0;
    m.o.half = half_product_new(p->mod, &m.o);
    m.sum = m.o.half->value;
    ExprMap map = {&m, sum_to_load, NULL};
    m.o.epilogue = copy_loops(&m, 0, expr_map(m.mod, m.store->value, &map));
    Override *kept = NEW(m.mod->arena, Override);
    *kept = m.o;
    k->override = kept;
    return true;
}

static bool override_halves_of(Printer *p, Step *s, const ConvChoice *how, Str *error)
{
    for (; s; s = s->next)
        if ((s->kernel && !s->kernel->on_host && !override_halves(p, s->kernel, how, error)) ||
            !override_halves_of(p, s->body, how, error) ||
            !override_halves_of(p, s->other, how, error))
            return false;
    return true;
}

// Panels of few bits, or of float32, or none.
static bool choose_packing(Match *m, const ConvChoice *how, Str *error)
{
    m->o.split = !how->exact && !how->unsplit && m->o.a->dtype == DT_F32 &&
                 m->o.b->dtype == DT_F32 && split_fits(m->mod->polys, &m->o, how->cpu);
    m->o.narrow = halves_dtype(m->o.b->dtype) ? narrow_pack_halves(m->p, &m->o, error)
                                              : narrow_pack(m->p, &m->o, how->exact);
    if (m->o.narrow || halves_dtype(m->o.b->dtype)) {
        m->o.split = false;
        return m->o.narrow || !error->len;
    }
    return pack_weights(m, error);
}

static bool override_kernel(Printer *p, Kernel *k, const Want *want, Str *error)
{
    Module *mod = p->mod;
    Match m = {.mod = mod, .p = p, .apart = want->kind == GEMM_CUBLASLT};
    Conv *conv = NULL;
    GemmKind kind = want->kind;
    if (k->override) // in 16 bits
        return true;
    if (kind != GEMM_CUBLASLT && !conv_find(p, k, want->how, &conv, error))
        return false;
    if (conv)
        return override_conv(p, k, conv);
    if (!find_structure(&m, k) || !choose_roles(&m))
        return true;
    bool library = kind == GEMM_CUBLASLT;
    if (m.bytes)
        return library || override_bytes(&m, k, error);
    if (buffer_at(mod, m.store->buffer)->dtype != m.reduce->dtype)
        return true;
    bool blas = (kind == GEMM_OPENBLAS || library) && blas_fits(mod->polys, &m.o) &&
                !halves_dtype(m.o.a->dtype) && !halves_dtype(m.o.b->dtype);
    if (library && (!blas || m.reduce->rank != 1))
        return true;
    m.o.kind = blas ? kind : GEMM_PACKED;
    m.o.wide = !blas && m.reduce->dtype == DT_F64;
    if (m.o.wide) {
        m.o.a = widened_source(want->how->widened, mod, m.o.a);
        m.o.b = widened_source(want->how->widened, mod, m.o.b);
    }
    const bool panels = !blas && !m.o.wide;
    int64_t n, depth, bn, bk, first;
    m.o.whole = packs(&m, &n, &depth, &bn, &bk, &first) && first == 0;
    m.o.reduce = m.reduce;
    m.o.store = m.store;
    if (panels && !choose_packing(&m, want->how, error))
        return false;
    if (halves_dtype(m.o.a->dtype) || (halves_dtype(m.o.b->dtype) && !m.o.narrow))
        return true;
    if (m.o.narrow)
        m.o.packed = m.o.narrow->packed;
    if (panels)
        m.o.block = gemm_block(mod, &m.o);
    if (!want->how->exact && !library)
        m.reduce = gemm_find_begin(mod, &m.o); // with what y begins with
    if (m.store->value != m.reduce) {
        ExprMap map = {&m, sum_to_load, NULL};
        m.o.epilogue = copy_loops(&m, 0, expr_map(mod, m.store->value, &map));
    }
    if (library)
        k->body = copy_loops(&m, 0, m.reduce);
    Override *kept = NEW(mod->arena, Override);
    *kept = m.o;
    k->override = kept;
    return true;
}

static bool override_steps(Printer *p, Step *s, const Want *want, Str *error)
{
    for (; s; s = s->next)
        if ((s->kernel && !s->kernel->on_host && !override_kernel(p, s->kernel, want, error)) ||
            !override_steps(p, s->body, want, error) || !override_steps(p, s->other, want, error))
            return false;
    return true;
}

bool override_module(Module *mod, GemmKind kind, const ConvChoice *how, Str *error)
{
    Arena *scratch = arena_new();
    if (kind != GEMM_CUBLASLT && !how->exact && !layouts_module(mod, how, error)) {
        arena_free(scratch);
        return false;
    }
    Printer *p = printer_new(mod, &dialect_c, scratch, NULL, "");
    if (kind != GEMM_CUBLASLT && ((!how->exact && !override_halves_of(p, mod->steps, how, error)) ||
                                  !halves_widen(mod, error))) {
        arena_free(scratch);
        return false;
    }
    ConvChoice choice = *how;
    choice.shadow = figures_taken(mod->steps);
    choice.widened = kind == GEMM_CUBLASLT ? NULL : widened_find(mod, scratch);
    const Want want = {kind, &choice};
    bool ok = override_steps(p, mod->steps, &want, error);
    if (ok)
        wide_share_panels(mod);
    if (ok && kind != GEMM_CUBLASLT)
        chains_find(mod, p, how);
    if (ok && kind != GEMM_CUBLASLT && kind != GEMM_OPENBLAS && !how->exact && !choice.shadow)
        heads_find(mod, p), away_find(mod, p);
    const bool read = ok && choice.widened && widened_read(choice.widened, mod, mod->steps);
    arena_free(scratch);
    if (ok && (read || wide_used(mod->steps) || narrow_kinds(mod->steps)))
        steps_drop_unread(mod);
    if (ok && kind != GEMM_CUBLASLT)
        figures_find(mod);
    return ok;
}

BufferId override_replaces(Module *mod, const Kernel *k, BufferId *y)
{
    const Conv *conv = k->override ? k->override->conv : NULL;
    if (!conv || !conv->pixels)
        return 0;
    *y = conv->store->buffer;
    return pixel_conv_replaces(mod, conv);
}

void override_uses(const Module *mod, const Kernel *k, KernelUses *u)
{
    const Override *o = k->override;
    if (o->figures) {
        figures_uses((Module *)(uintptr_t)mod, o->figures, u);
        return;
    }
    if (o->conv) {
        conv_uses((Module *)(uintptr_t)mod, o->conv, u);
        return;
    }
    if (o->bytes) {
        bytes_uses((Module *)(uintptr_t)mod, o->bytes, o->epilogue, u);
        return;
    }
    if (o->half) {
        half_product_uses((Module *)(uintptr_t)mod, o, u);
        return;
    }
    access_note(u->arena, &u->buffers, o->store->buffer, ACCESS_READ | ACCESS_WRITE);
    if (o->wide)
        wide_uses((Module *)(uintptr_t)mod, o->reduce, o->a, o->b, o->epilogue, u);
    if (o->block)
        access_note(u->arena, &u->buffers, o->block, ACCESS_READ | ACCESS_WRITE);
    if (o->heads)
        heads_uses((Module *)(uintptr_t)mod, o->heads, u);
    if (o->away)
        away_uses((Module *)(uintptr_t)mod, o->away, u);
    if (!o->packed)
        return;
    access_note(u->arena, &u->buffers, o->packed, ACCESS_READ);
    if (o->a->buffer != o->b->buffer)
        uses_drop_packed((Module *)(uintptr_t)mod, u, o->b->buffer, o->epilogue);
}

// ---- printing

const char *gemm_start(Printer *p, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(p->mod, b);
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    Index i = linear_index(p, buf->rank, buf->dims, at);
    return poly_equals(i, 0) ? str_printf(p->arena, "b%u", b).at
                             : str_printf(p->arena, "b%u + %s", b, print_index(p, i)).at;
}

static void print_blas(Printer *p, const Override *o, const char *a, const char *b, const char *y,
                       const char *k)
{
    bool is_double = o->reduce->dtype == DT_F64;
    bool at = !poly_equals(o->ak, 1) && !is_zero(o->am), bt = !poly_equals(o->bn, 1);
    const char *lda = at ? print_index(p, o->ak) : is_zero(o->am) ? k : print_index(p, o->am);
    const char *ldb = print_index(p, bt ? o->bn : o->bk), *rows = print_index(p, o->rows);
    const char *columns = print_index(p, o->columns);
    const char *one = is_double ? "1.0" : "1.0f";
    if (poly_equals(o->rows, 1)) { // y = op(b) a, by columns
        print_line(
            p, "cblas_%cgemv(101, %d, (int)%s, (int)%s, %s, %s, (int)%s, %s, (int)%s, %s, %s, 1);",
            is_double ? 'd' : 's', bt ? 111 : 112, bt ? columns : k, bt ? k : columns, one, b, ldb,
            a, print_index(p, o->ak), one, y);
        return;
    }
    print_line(p,
               "cblas_%cgemm(101, %d, %d, (int)%s, (int)%s, (int)%s, %s, %s, (int)%s, %s, (int)%s, "
               "%s, %s, (int)%s);",
               is_double ? 'd' : 's', at ? 112 : 111, bt ? 112 : 111, rows, columns, k, one, a, lda,
               b, ldb, one, y, print_index(p, o->ym));
}

void gemm_print_product(Printer *p, const Override *o)
{
    if (o->wide) {
        wide_print_product(p, o,
                           str_printf(p->arena, "0, %s, 0, %s", print_index_bare(p, o->rows),
                                      print_index_bare(p, o->columns))
                               .at);
        return;
    }
    const char *a = gemm_start(p, o->a->buffer, o->a->at);
    const char *y = gemm_start(p, o->store->buffer, o->store->at);
    const char *k = print_index(p, print_extent(p, o->k));
    const char *rows = print_index_bare(p, o->rows), *columns = print_index_bare(p, o->columns);
    const char *ym = print_index_bare(p, o->ym);
    if (o->kind == GEMM_OPENBLAS) {
        print_blas(p, o, a, gemm_start(p, o->b->buffer, o->b->at), y, k);
    } else if (o->narrow) {
        narrow_print(p, o, rows, columns, a, NULL, y);
    } else if (o->packed) {
        access_note(p->arena, &p->printed.buffers, o->packed, ACCESS_READ | ACCESS_WRITE);
        print_line(p, "cameo_%s_packed(%s, %s, %s, %s, %s, %s, b%u, %s, %s);",
                   o->split ? "split" : "gemm", rows, columns, k, a, print_index_bare(p, o->am),
                   print_index_bare(p, o->ak), o->packed, y, ym);
    } else {
        print_line(p, "%s(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);", gemm_unpacked(o), rows,
                   columns, k, a, print_index_bare(p, o->am), print_index_bare(p, o->ak),
                   gemm_start(p, o->b->buffer, o->b->at), print_index_bare(p, o->bk),
                   print_index_bare(p, o->bn), y, ym);
    }
}

void override_zero(Printer *p, const Override *o, bool on)
{
    const LoopId own[] = {o->m, o->n, o->k, o->outer_n};
    for (int i = 0; i < 4; i++)
        if (own[i]) {
            p->zeroed[own[i]] = on;
            p->nzeroed += on ? 1 : -1u;
        }
}

Index override_column(Polys *polys, const Override *o)
{
    Index n = poly_loop(polys, o->n);
    if (!o->outer_n)
        return n;
    return poly_add(polys, n,
                    poly_mul(polys, poly_loop(polys, o->outer_n), loop_extent(polys, o->n)));
}

bool override_owns(const Override *o, LoopId v)
{
    return v == o->m || v == o->n || v == o->k || v == o->outer_m || v == o->outer_n;
}

static void print_override(Printer *p, const Kernel *k)
{
    const Override *o = k->override;
    Bounds outer = {.n = 0}, sums = {.n = 0};
    if (o->figures) {
        figures_print(p, o->figures);
        return;
    }
    if (o->conv) {
        conv_print(p, k, o->conv);
        return;
    }
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!override_owns(o, s->var))
            outer.vars[outer.n++] = s->var;
    for (uint32_t i = 0; i < o->reduce->rank; i++)
        if (!override_owns(o, o->reduce->vars[i]))
            sums.vars[sums.n++] = o->reduce->vars[i];
    if (o->half) {
        half_product_print(p, o, &outer);
        return;
    }
    if (o->bytes) {
        byte_product_print(p, o, &outer);
        return;
    }
    if (o->heads) {
        heads_print(p, o, &outer);
        return;
    }
    if (o->away) {
        away_print_product(p, o, &outer);
        return;
    }
    if (gemm_print_parts(p, o, &outer, &sums))
        return;
    nest_begin(p, &outer, NULL);
    gemm_print_begin(p, o, false);
    override_zero(p, o, true);
    nest_begin(p, &sums, NULL);
    gemm_print_product(p, o);
    nest_end(p, &sums);
    override_zero(p, o, false);
    nest_end(p, &outer);
    if (o->epilogue)
        print_stmts(p, o->epilogue);
}

void override_print(Printer *p, const Kernel *k)
{
    const Override *o = k->override;
    const bool joined = o->outer_m && loops_collapse(p, o->outer_m, o->m, o->store->value);
    print_override(p, k);
    if (joined)
        loops_restore(p, o->outer_m, o->m);
}
