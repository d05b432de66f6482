// Values and their figures a stretch at a time: the joined kernel.

#include "codegen/cpu/figures_join.h"
#include "codegen/cpu/gemm.h"
#include "codegen/parts.h"
#include "runtime/cameo_drift.h"

enum {
    VECTOR = 16,    // elements: a stretch is whole vectors where it may be
    LEAST_LEVEL = 2 // a dim is cut where that leaves stretches this much of what they may be
};

// So many elements of the dim, whose parts are `inner` long, are a stretch.
static int64_t part_of(Index dim, int64_t inner)
{
    int64_t most = FIGURE_STRETCH / inner, n, best = 1;
    if (!poly_is_const(dim, &n))
        return most;
    for (int64_t by = 1; by <= most; by++)
        best = n % by == 0 ? by : best;
    const int64_t pieces = (n + most - 1) / most;
    return best * LEAST_LEVEL >= most ? best : (n + pieces - 1) / pieces;
}

static void add_outer(Joining *j, LoopId v)
{
    j->made->loops[j->made->nloops++] = v;
}

static LoopId add_inner(Joining *j, Index extent)
{
    return j->loops[j->nloops++] = loop_new(j->mod->polys, extent);
}

// A dim of n elements is cut: a loop over parts of `by` of them, and one within a part.
static void cut_dim(Joining *j, uint32_t i, Index n, Index by)
{
    Polys *polys = j->mod->polys;
    LoopId v = loop_new(polys, poly_ceildiv(polys, n, by));
    add_outer(j, v);
    j->start[i] = poly_mul(polys, poly_loop(polys, v), by);
    Index left = poly_sub(polys, n, j->start[i]);
    LoopId w = add_inner(j, poly_min(polys, by, left));
    j->at[i] = poly_add(polys, j->start[i], poly_loop(polys, w));
}

// So many of the dim before one whose size only the running program knows make a stretch of `part`
// elements; 1 where that dim is cut itself.
static Index rows_of(Joining *j, Index dim, int64_t part)
{
    Polys *polys = j->mod->polys;
    Index one = poly_const(polys, 1);
    return poly_max(polys, one,
                    poly_floordiv(polys, poly_const(polys, part), poly_max(polys, one, dim)));
}

// Loops over stretches and within one: the last dims that a stretch holds whole, and of the dim
// before them a part.
static void choose_loops(Joining *j)
{
    Polys *polys = j->mod->polys;
    int64_t inner = 1, n;
    uint32_t whole = j->rank;
    while (whole > 0 && poly_is_const(j->dims[whole - 1], &n) && n > 0 &&
           inner * n <= FIGURE_STRETCH) {
        inner *= n;
        whole--;
    }
    const int64_t part = whole ? part_of(j->dims[whole - 1], inner) : 1;
    const bool open = whole > 1 && !poly_is_const(j->dims[whole - 1], NULL);
    for (uint32_t i = 0; i < whole; i++) {
        if (open && i + 2 == whole) {
            cut_dim(j, i, j->dims[i], rows_of(j, j->dims[i + 1], part));
        } else if (i + 1 == whole && part > 1) {
            cut_dim(j, i, j->dims[i], poly_const(polys, part));
        } else {
            LoopId v = loop_new(polys, j->dims[i]);
            add_outer(j, v);
            j->start[i] = j->at[i] = poly_loop(polys, v);
        }
    }
    if (!whole)
        add_outer(j, loop_new(polys, poly_const(polys, 1)));
    for (uint32_t i = whole; i < j->rank; i++) {
        j->start[i] = poly_const(polys, 0);
        j->at[i] = poly_loop(polys, add_inner(j, j->dims[i]));
    }
    j->room = part * inner;
}

static bool is_loop(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_LOOP;
}

// What is read is the element that is stored, in a buffer of the same dims, or the same for all.
static void check_flat(void *context, const Expr *e)
{
    JoiningCheck *c = context;
    bool same = e->kind == EX_LOAD && joining_same_dims(c->j, buffer_at(c->j->mod, e->buffer)) &&
                joining_same_place(c->j->mod, e, c->store);
    for (uint32_t i = 0; e->kind == EX_LOAD && !same && i < e->rank; i++)
        c->fits &= !poly_any(e->at[i], is_loop, NULL);
    c->fits &= e->kind != EX_INDEX;
}

// Are dims of no concern to the run?
static bool is_flat(const Joining *j)
{
    JoiningCheck check = {j, NULL, 0, j->rank > 0};
    for (uint32_t i = 0; check.fits && i < j->steps.len; i++) {
        if (!j->steps.at[i]->kernel)
            continue;
        check.store = point_of(j->steps.at[i]->kernel->body).store;
        expr_walk(j->mod, check.store->value, check_flat, &check);
    }
    return check.fits;
}

// The same where dims are of no concern: the last one counts on through all of them.
static void choose_flat_loops(Joining *j)
{
    Polys *polys = j->mod->polys;
    Index all = poly_const(polys, 1);
    int64_t n;
    for (uint32_t i = 0; i < j->rank; i++) {
        all = poly_mul(polys, all, j->dims[i]);
        j->start[i] = j->at[i] = poly_const(polys, 0);
    }
    j->room = FIGURE_STRETCH;
    if (poly_is_const(all, &n) && n > 0) {
        const int64_t pieces = (n + FIGURE_STRETCH - 1) / FIGURE_STRETCH,
                      part = (n + pieces - 1) / pieces;
        j->room = pieces > 1 ? (part + VECTOR - 1) / VECTOR * VECTOR : n;
    }
    cut_dim(j, j->rank - 1, all, poly_const(polys, j->room));
}

// The element's place in a row of the stretch, and that of the first in the value.
static void choose_places(Joining *j)
{
    Polys *polys = j->mod->polys;
    Index place = poly_const(polys, 0), size = poly_const(polys, 1), first = place;
    for (uint32_t i = j->nloops; i-- > 0;) {
        place = poly_add(polys, place, poly_mul(polys, size, poly_loop(polys, j->loops[i])));
        size = poly_mul(polys, size, loop_extent(polys, j->loops[i]));
    }
    j->place = place;
    j->made->count = size;
    Index stride = poly_const(polys, 1);
    for (uint32_t i = j->rank; i-- > 0;) {
        first = poly_add(polys, first, poly_mul(polys, stride, j->start[i]));
        stride = poly_mul(polys, stride, j->dims[i]);
    }
    j->made->first = first;
}

// The stretch's element of a buffer of the run's dims.
static const Index *element_of(Joining *j, BufferId b)
{
    const Buffer *buf = buffer_at(j->mod, b);
    Index *at = NEWS(j->mod->arena, Index, buf->rank + 1u);
    for (uint32_t i = 0, k = 0; i < buf->rank; i++)
        at[i] = poly_equals(buf->dims[i], 1) ? poly_const(j->mod->polys, 0) : j->at[k++];
    return at;
}

typedef struct Rewrite {
    Joining *j;
    const LoopId *vars; // of the kernel, by dim of what it stores
    uint32_t rank;
} Rewrite;

static Index to_element(void *context, const Atom *a)
{
    const Rewrite *r = context;
    for (uint32_t i = 0, k = 0; a->kind == ATOM_LOOP && i < r->rank; i++) {
        if (r->vars[i] == a->var)
            return r->j->at[k];
        k += r->vars[i] != 0;
    }
    return NULL;
}

static const Expr *to_row(void *context, const Expr *e)
{
    const Rewrite *r = context;
    if (e->kind != EX_LOAD)
        return NULL;
    const FigureRow row = figures_row(r->j->made, e->buffer);
    if (row.local)
        return expr_local(r->j->mod, row.local, e->dtype, 1, &r->j->place);
    return row.over == e->buffer ? NULL
                                 : expr_load(r->j->mod, row.over, element_of(r->j, row.over));
}

static Stmt *new_stmt(Joining *j, StmtKind kind)
{
    Stmt *s = NEW(j->mod->arena, Stmt);
    s->kind = kind;
    return s;
}

// The kernel's store for each element of the stretch.
static Stmt *element_loops(Joining *j, const Kernel *k)
{
    LoopId vars[MAX_RANK] = {0};
    const Point p = point_of(k->body);
    point_defines(&j->fuse, &p, vars);
    Rewrite r = {j, vars, p.store->rank};
    ExprMap map = {&r, to_row, to_element};
    Stmt *s = stmts_map(&j->fuse, p.store, &map);
    const FigureRow row = figures_row(j->made, s->buffer);
    if (row.local) {
        s->kind = S_SET;
        s->local = row.local;
        s->buffer = 0;
        s->rank = 1;
        s->at = one_index(j->mod, j->place);
    } else if (row.over != s->buffer) {
        s->buffer = row.over;
        s->rank = buffer_at(j->mod, row.over)->rank;
        s->at = element_of(j, row.over);
    }
    for (uint32_t i = j->nloops; i-- > 0;) {
        Stmt *loop = new_stmt(j, S_FOR);
        loop->var = j->loops[i];
        loop->par = true;
        loop->body = s;
        s = loop;
    }
    return s;
}

// What a step of the run makes, numbers apart; 0: nothing.
static BufferId made_by(const Step *s)
{
    if (s->kernel)
        return point_of(s->kernel->body).store->buffer;
    return s->call->nwrites > 1 ? s->call->writes[1] : 0;
}

// May `b` be written over `x` by step `at` of the run: are both alike, is x read for the last time,
// each element where b's is written or before? What is made outside of a loop or branch is read
// again.
static bool may_replace(Joining *j, BufferId b, BufferId x, uint32_t at)
{
    const Buffer *to = buffer_at(j->mod, b), *from = buffer_at(j->mod, x);
    if (from->kind != BUF_TEMP || from->dtype != to->dtype || j->written[x] || j->kept[x] ||
        j->writes[x] != 1 || j->list[x] != j->here || j->reads[x] != j->inner[x] ||
        !joining_same_dims(j, from))
        return false;
    for (uint32_t i = 0; i < j->made->rows.len; i++)
        if (j->made->rows.at[i].over == x)
            return false;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        const Step *s = j->steps.at[i];
        const KernelUses u = joining_uses(j, s);
        if (!(access_bits(&u.buffers, x) & ACCESS_READ))
            continue;
        if (i > at || (i == at && s->call)) // figures may be taken of an element again
            return false;
        if (!s->kernel)
            continue;
        const Point p = point_of(s->kernel->body);
        JoiningCheck check = {j, p.store, x, true};
        expr_walk(j->mod, p.store->value, joining_check_load, &check);
        if (!check.fits)
            return false;
    }
    return true;
}

// What is written over another buffer lies there for all that read it later.
static void write_over(Joining *j, BufferId b, uint32_t at)
{
    for (uint32_t i = 0; i <= at; i++) {
        const KernelUses u = joining_uses(j, j->steps.at[i]);
        for (uint32_t n = 0; n < u.buffers.len; n++) {
            const BufferId x = u.buffers.at[n].id;
            if (!may_replace(j, b, x, at))
                continue;
            const BufferId lies = buffer_at(j->mod, x)->in_place;
            buffer_at(j->mod, b)->in_place = lies ? lies : x;
            vec_push(j->mod->arena, &j->made->rows, ((FigureRow){b, 0, x}));
            return;
        }
    }
}

// Is b made and read for the last time in front of step `at` of the run?
static bool is_past(Joining *j, BufferId b, uint32_t at)
{
    for (uint32_t i = at; i < j->steps.len; i++) {
        const KernelUses u = joining_uses(j, j->steps.at[i]);
        if (made_by(j->steps.at[i]) == b || access_bits(&u.buffers, b))
            return false;
    }
    return true;
}

// The row of a value of the dtype that is read no more in front of step `at`, and that no other
// value has taken; 0: there is none. Few rows stay in the first cache.
static LocalId free_row(Joining *j, DType dtype, uint32_t at)
{
    const Figures *f = j->made;
    for (uint32_t i = 0; i < f->rows.len; i++) {
        const FigureRow row = f->rows.at[i];
        bool latest = row.local != 0;
        for (uint32_t k = i + 1; k < f->rows.len; k++)
            latest = latest && f->rows.at[k].local != row.local;
        if (latest && buffer_at(j->mod, row.buffer)->dtype == dtype && is_past(j, row.buffer, at))
            return row.local;
    }
    return 0;
}

// Values that nothing but the run reads are rows; others take the place of what is read no more.
// Returns the last row's statement, NULL: there is none.
static const Stmt *choose_rows(Joining *j, Stmt ***tail)
{
    const Stmt *last = NULL;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        const BufferId b = made_by(j->steps.at[i]);
        const Buffer *buf = buffer_at(j->mod, b);
        if (!b || buf->kind != BUF_TEMP || j->kept[b])
            continue;
        if (j->reads[b] != j->inner[b] || (buf->dtype != DT_F32 && buf->dtype != DT_F64)) {
            write_over(j, b, i);
            continue;
        }
        const LocalId taken = free_row(j, buf->dtype, i);
        if (taken) {
            vec_push(j->mod->arena, &j->made->rows, ((FigureRow){b, taken, 0}));
            continue;
        }
        Stmt *row = new_stmt(j, S_ROW);
        row->local = j->mod->nlocals++;
        row->dtype = buf->dtype;
        row->rank = 1;
        row->at = one_index(j->mod, poly_const(j->mod->polys, j->room));
        vec_push(j->mod->arena, &j->made->rows, ((FigureRow){b, row->local, 0}));
        **tail = row;
        *tail = &row->next;
        last = row;
    }
    return last;
}

Kernel *joining_make(Joining *j)
{
    Module *mod = j->mod;
    Kernel *k = NEW(mod->arena, Kernel);
    Stmt *first = NULL, **tail = &first;
    *k = (Kernel){.id = mod->nkernels++, .name = STR("figures")};
    j->made = NEW(mod->arena, Figures);
    j->nloops = 0;
    choose_loops(j);
    if (!figures_block_choose(j) && is_flat(j)) {
        j->made->flat = true;
        j->made->nloops = j->nloops = 0;
        choose_flat_loops(j);
    }
    choose_places(j);
    const Stmt *last = choose_rows(j, &tail);
    for (uint32_t i = 0; i < j->steps.len; i++) {
        const Step *s = j->steps.at[i];
        if (s->call) {
            vec_push(mod->arena, &j->made->all, ((Figure){last, s->call}));
            continue;
        }
        for (uint32_t n = 0; n < s->kernel->fused.len; n++)
            vec_push(mod->arena, &k->fused, s->kernel->fused.at[n]);
        k->node = s->kernel->node;
        Stmt *loops = element_loops(j, s->kernel);
        *tail = loops;
        tail = &loops->next;
        last = loops;
    }
    j->made->stretch = first;
    if (j->made->block) {
        const Kernel *product = j->made->block->kernel;
        for (uint32_t n = 0; n < product->fused.len; n++)
            vec_push(mod->arena, &k->fused, product->fused.at[n]);
    }
    k->node = k->node ? k->node : j->steps.at[0]->node;
    Stmt *body = first;
    Polys *polys = mod->polys;
    Index stretches = poly_const(polys, 1);
    for (uint32_t i = j->made->nloops; i-- > 0;) {
        Stmt *loop = new_stmt(j, S_FOR);
        loop->var = j->made->loops[i];
        loop->par = true;
        loop->body = body;
        body = loop;
        stretches = poly_mul(polys, stretches, loop_extent(polys, loop->var));
    }
    k->body = body;
    if (!poly_equals(stretches, 1)) {
        Index size = poly_scale(polys, stretches, (int64_t)j->made->all.len * DRIFT_FIELDS);
        j->made->numbers = buffer_new(mod, BUF_TEMP, STR("scratch"), DT_F64, 1, &size);
    }
    Override *o = NEW(mod->arena, Override);
    o->figures = j->made;
    k->override = o;
    return k;
}
