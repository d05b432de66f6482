// Values and their figures a stretch at a time: which steps are joined, and what is printed for
// them.

#include "codegen/cpu/figures.h"
#include "codegen/cpu/gemm.h"
#include "codegen/fuse_parts.h"
#include "codegen/parts.h"
#include "ir/infer.h"
#include "runtime/cameo_drift.h"

enum {
    STRETCH = 1024,   // elements: what is known of one stays in the first two caches
    VECTOR = 16,      // elements: a stretch is whole vectors where it may be
    FIGURE_WORK = 20, // of an element, in tenths of a nanosecond
    LEAST_LEVEL = 2   // a dim is cut where that leaves stretches this much of what they may be
};

// ---- joining -----------------------------------------------------------------------------------

typedef struct Joining {
    Module *mod;
    Arena *arena;
    Fuse fuse;
    uint32_t *reads, *writes; // by BufferId: steps that do
    bool *kept;               // by BufferId: an output of the module
    uint32_t *list;           // by BufferId: the number of the list of steps that writes it
    uint32_t nlists, here;    // lists seen, of the run's number
    // The run at hand.
    uint32_t rank; // dims of its values that are not 1
    Index dims[MAX_RANK];
    uint8_t *written; // by BufferId: 1 by the run
    uint32_t *inner;  // by BufferId: steps of the run that read it
    VEC(const Step *) steps;
    // What it becomes.
    Figures *made;
    Index at[MAX_RANK]; // of an element of the stretch, by dim
    LoopId loops[MAX_RANK + 1];
    Index start[MAX_RANK]; // of a stretch, by dim
    uint32_t nloops;       // within a stretch
    int64_t room;          // of a row
    Index place;           // of an element in it
} Joining;

static bool figures_are(const Call *c)
{
    return c && str_is(str_of(c->what->name), "drift");
}

static uint32_t long_dims(const Buffer *b, Index *dims)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->rank; i++)
        if (!poly_equals(b->dims[i], 1))
            dims[n++] = b->dims[i];
    return n;
}

static bool same_dims(const Joining *j, const Buffer *b)
{
    Index dims[MAX_RANK];
    if (long_dims(b, dims) != j->rank)
        return false;
    for (uint32_t i = 0; i < j->rank; i++)
        if (dims[i] != j->dims[i])
            return false;
    return true;
}

// Is it the element that is stored?
static bool same_place(const Module *mod, const Expr *load, const Stmt *store)
{
    uint32_t k = 0;
    const Buffer *x = buffer_at(mod, load->buffer), *y = buffer_at(mod, store->buffer);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (poly_equals(x->dims[i], 1) && poly_equals(load->at[i], 0))
            continue;
        while (k < y->rank && poly_equals(y->dims[k], 1))
            k++;
        if (k == y->rank || load->at[i] != store->at[k++])
            return false;
    }
    return true;
}

typedef struct LoadCheck {
    const Joining *j;
    const Stmt *store;
    BufferId of; // this buffer; 0: all that the run makes
    bool fits;
} LoadCheck;

// What is looked at is read where it is stored; nothing is summed.
static void check_load(void *context, const Expr *e)
{
    LoadCheck *c = context;
    if (e->kind == EX_REDUCE || e->kind == EX_LOCAL)
        c->fits = false;
    if (e->kind == EX_LOAD && (c->of ? e->buffer == c->of : c->j->written[e->buffer]))
        c->fits &= same_place(c->j->mod, e, c->store);
}

// A kernel that gives each element of a value by itself.
static bool joins_kernel(Joining *j, const Kernel *k)
{
    LoopId vars[MAX_RANK];
    if (k->override || k->on_host)
        return false;
    const Point p = point_of(k->body);
    if (!p.store || p.nloops > MAX_RANK || !point_defines(&j->fuse, &p, vars))
        return false;
    const Buffer *y = buffer_at(j->mod, p.store->buffer);
    if (!same_dims(j, y) || j->writes[p.store->buffer] != 1 || j->written[p.store->buffer] ||
        dtype_is_reference(y->dtype) || dtype_is_complex(y->dtype) || y->dtype == DT_F64X2)
        return false;
    LoadCheck check = {j, p.store, 0, true};
    expr_walk(j->mod, p.store->value, check_load, &check);
    return check.fits;
}

static bool joins_call(Joining *j, const Call *c)
{
    if (!figures_are(c) || !dtype_is_float(buffer_at(j->mod, c->reads[0])->dtype))
        return false;
    for (uint32_t i = 0; i < c->nreads; i++)
        if (!same_dims(j, buffer_at(j->mod, c->reads[i])) ||
            buffer_at(j->mod, c->reads[i])->dtype == DT_F64X2)
            return false;
    for (uint32_t i = 0; i < c->nnumbers; i++)
        if (!poly_is_const(c->numbers[i], NULL))
            return false;
    return true;
}

static KernelUses step_uses(Joining *j, const Step *s)
{
    KernelUses u = {.arena = j->arena};
    if (s->kernel)
        u = kernel_uses(j->mod, j->arena, s->kernel);
    uses_add_index(j->mod, &u, s->value);
    uses_add_expr(j->mod, &u, s->cond);
    uses_add_call(j->mod, &u, s->call);
    return u;
}

// What a product writes it is said to read too.
static void note(const KernelUses *u, uint32_t *reads, uint32_t *writes)
{
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        reads[u->buffers.at[i].id] += u->buffers.at[i].bits == ACCESS_READ;
        writes[u->buffers.at[i].id] += (u->buffers.at[i].bits & ACCESS_WRITE) != 0;
    }
}

// Lists are numbered as find_in sees them.
static void note_steps(Joining *j, const Step *s)
{
    const uint32_t list = ++j->nlists;
    for (; s; s = s->next) {
        const KernelUses u = step_uses(j, s);
        note(&u, j->reads, j->writes);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            if (u.buffers.at[i].bits & ACCESS_WRITE)
                j->list[u.buffers.at[i].id] = list;
        note_steps(j, s->body);
        note_steps(j, s->other);
    }
}

// ---- the joined kernel -------------------------------------------------------------------------

// So many elements of the dim, whose parts are `inner` long, are a stretch.
static int64_t part_of(Index dim, int64_t inner)
{
    int64_t most = STRETCH / inner, n, best = 1;
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
    while (whole > 0 && poly_is_const(j->dims[whole - 1], &n) && n > 0 && inner * n <= STRETCH) {
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
    LoadCheck *c = context;
    bool same = e->kind == EX_LOAD && same_dims(c->j, buffer_at(c->j->mod, e->buffer)) &&
                same_place(c->j->mod, e, c->store);
    for (uint32_t i = 0; e->kind == EX_LOAD && !same && i < e->rank; i++)
        c->fits &= !poly_any(e->at[i], is_loop, NULL);
    c->fits &= e->kind != EX_INDEX;
}

// Are dims of no concern to the run?
static bool is_flat(const Joining *j)
{
    LoadCheck check = {j, NULL, 0, j->rank > 0};
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
    j->room = STRETCH;
    if (poly_is_const(all, &n) && n > 0) {
        const int64_t pieces = (n + STRETCH - 1) / STRETCH, part = (n + pieces - 1) / pieces;
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

static FigureRow row_of(const Figures *f, BufferId b)
{
    for (uint32_t i = 0; i < f->rows.len; i++)
        if (f->rows.at[i].buffer == b)
            return f->rows.at[i];
    return (FigureRow){b, 0, b};
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
    const FigureRow row = row_of(r->j->made, e->buffer);
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

static const Index *one_index(Joining *j, Index i)
{
    Index *at = NEWS(j->mod->arena, Index, 1);
    at[0] = i;
    return at;
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
    const FigureRow row = row_of(j->made, s->buffer);
    if (row.local) {
        s->kind = S_SET;
        s->local = row.local;
        s->buffer = 0;
        s->rank = 1;
        s->at = one_index(j, j->place);
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
    if (from->kind != BUF_TEMP || from->dtype != to->dtype || buffer_bytes(from) < 0 ||
        j->written[x] || j->kept[x] || j->writes[x] != 1 || j->list[x] != j->here ||
        j->reads[x] != j->inner[x] || !same_dims(j, from))
        return false;
    for (uint32_t i = 0; i < j->made->rows.len; i++)
        if (j->made->rows.at[i].over == x)
            return false;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        const Step *s = j->steps.at[i];
        const KernelUses u = step_uses(j, s);
        if (!(access_bits(&u.buffers, x) & ACCESS_READ))
            continue;
        if (i > at || (i == at && s->call)) // figures may be taken of an element again
            return false;
        if (!s->kernel)
            continue;
        const Point p = point_of(s->kernel->body);
        LoadCheck check = {j, p.store, x, true};
        expr_walk(j->mod, p.store->value, check_load, &check);
        if (!check.fits)
            return false;
    }
    return true;
}

// What is written over another buffer lies there for all that read it later.
static void write_over(Joining *j, BufferId b, uint32_t at)
{
    for (uint32_t i = 0; i <= at; i++) {
        const KernelUses u = step_uses(j, j->steps.at[i]);
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
        Stmt *row = new_stmt(j, S_ROW);
        row->local = j->mod->nlocals++;
        row->dtype = buf->dtype;
        row->rank = 1;
        row->at = one_index(j, poly_const(j->mod->polys, j->room));
        vec_push(j->mod->arena, &j->made->rows, ((FigureRow){b, row->local, 0}));
        **tail = row;
        *tail = &row->next;
        last = row;
    }
    return last;
}

static Kernel *join_steps(Joining *j)
{
    Module *mod = j->mod;
    Kernel *k = NEW(mod->arena, Kernel);
    Stmt *first = NULL, **tail = &first;
    *k = (Kernel){.id = mod->nkernels++, .name = STR("figures")};
    j->made = NEW(mod->arena, Figures);
    j->nloops = 0;
    j->made->flat = is_flat(j);
    if (j->made->flat)
        choose_flat_loops(j);
    else
        choose_loops(j);
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

// ---- runs --------------------------------------------------------------------------------------

static void take(Joining *j, const Step *s)
{
    const KernelUses u = step_uses(j, s);
    vec_push(j->arena, &j->steps, s);
    for (uint32_t i = 0; i < u.buffers.len; i++) {
        const Access *a = &u.buffers.at[i];
        j->inner[a->id] += a->bits == ACCESS_READ;
        if (a->bits & ACCESS_WRITE)
            j->written[a->id] = 1;
    }
}

static void forget(Joining *j)
{
    for (uint32_t n = 0; n < j->steps.len; n++) {
        const KernelUses u = step_uses(j, j->steps.at[n]);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            j->inner[u.buffers.at[i].id] = j->written[u.buffers.at[i].id] = 0;
    }
    j->steps.len = 0;
}

// What a run that begins with this step is a run of. false: none does.
static bool begin(Joining *j, const Step *s)
{
    BufferId b = figures_are(s->call) ? s->call->reads[0] : 0;
    if (s->kernel && !s->kernel->override) {
        const Point p = point_of(s->kernel->body);
        b = p.store ? p.store->buffer : 0;
    }
    if (!b || buffer_at(j->mod, b)->rank > FIGURE_LOOPS)
        return false;
    j->rank = long_dims(buffer_at(j->mod, b), j->dims);
    return true;
}

static bool fits(Joining *j, const Step *s)
{
    return s->kind == STEP_KERNEL ? joins_kernel(j, s->kernel)
                                  : s->kind == STEP_CALL && joins_call(j, s->call);
}

static void find_in(Joining *j, Step **at)
{
    const uint32_t list = ++j->nlists;
    for (; *at; at = &(*at)->next) {
        Step *end = *at;
        uint32_t figures = 0;
        find_in(j, &(*at)->body);
        find_in(j, &(*at)->other);
        j->here = list;
        if (!begin(j, *at))
            continue;
        for (; end && fits(j, end); end = end->next) {
            figures += end->call != NULL;
            take(j, end);
        }
        if (figures) {
            Call *call = NEW(j->mod->arena, Call);
            Step *joined = NEW(j->mod->arena, Step);
            call->what = intrinsic_find(STR("drift"));
            *joined = (Step){.kind = STEP_KERNEL, .next = end, .call = call};
            joined->kernel = join_steps(j);
            joined->node = joined->kernel->node;
            *at = joined;
        }
        forget(j);
    }
}

void figures_find(Module *mod)
{
    Arena *a = arena_new();
    const uint32_t n = mod->buffers.len;
    Joining j = {.mod = mod, .arena = a, .fuse = {.mod = mod, .arena = a}};
    j.reads = NEWS(a, uint32_t, n);
    j.writes = NEWS(a, uint32_t, n);
    j.inner = NEWS(a, uint32_t, n);
    j.kept = NEWS(a, bool, n);
    j.list = NEWS(a, uint32_t, n);
    j.written = NEWS(a, uint8_t, n);
    note_steps(&j, mod->steps);
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        j.kept[mod->outputs.at[i]] = true;
    j.nlists = 0;
    find_in(&j, &mod->steps);
    arena_free(a);
}

bool figures_used(const Step *s)
{
    for (; s; s = s->next)
        if ((s->kernel && s->kernel->override && s->kernel->override->figures) ||
            figures_used(s->body) || figures_used(s->other))
            return true;
    return false;
}

static void note_row(const Figures *f, BufferId b, uint8_t how, KernelUses *u)
{
    const FigureRow row = row_of(f, b);
    if (!row.local)
        access_note(u->arena, &u->buffers, row.over, how);
}

void figures_uses(Module *mod, const Figures *f, KernelUses *u)
{
    for (uint32_t i = 0; i < f->all.len; i++) {
        const Call *c = f->all.at[i].call;
        for (uint32_t n = 0; n < c->nreads; n++)
            note_row(f, c->reads[n], ACCESS_READ, u);
        for (uint32_t n = 0; n < c->nwrites; n++)
            note_row(f, c->writes[n], ACCESS_WRITE, u);
    }
    if (f->numbers)
        access_note(u->arena, &u->buffers, f->numbers, ACCESS_READ | ACCESS_WRITE);
    uses_add_index(mod, u, f->first);
    uses_add_index(mod, u, f->count);
}

// ---- printing ----------------------------------------------------------------------------------

static void print_view(Printer *p, const Figures *f, BufferId b, const char *comma)
{
    const FigureRow row = row_of(f, b);
    const int dtype = (int)buffer_at(p->mod, b)->dtype;
    const char *count = print_index_bare(p, f->count);
    if (row.local) {
        buf_printf(p->out, "%s{v%u, %d, 1, (const int64_t[]){%s}}", comma, row.local, dtype, count);
        return;
    }
    access_note(p->arena, &p->printed.buffers, row.over, ACCESS_READ | ACCESS_WRITE);
    buf_printf(p->out, "%s{b%u + %s, %d, 1, (const int64_t[]){%s}}", comma, row.over,
               print_index(p, f->first), dtype, count);
}

// "unit": the number of the stretch.
static const char *unit_name(Printer *p, const Figures *f)
{
    return f->nloops > 1 ? "unit" : str_printf(p->arena, "i%u", f->loops[0]).at;
}

static void print_figure(Printer *p, const Figures *f, uint32_t k)
{
    const Call *c = f->all.at[k].call;
    const char *unit = unit_name(p, f);
    const int64_t step = (int64_t)f->all.len * DRIFT_FIELDS;
    print_line(p, "{");
    buf_printf(p->out, "%*sconst cameo_view reads[] = {", (int)p->indent * 4 + 4, "");
    for (uint32_t i = 0; i < c->nreads; i++)
        print_view(p, f, c->reads[i], i ? ", " : "");
    buf_printf(p->out, "};\n%*sconst cameo_view writes[] = {", (int)p->indent * 4 + 4, "");
    const BufferId to = f->numbers ? f->numbers : c->writes[0];
    access_note(p->arena, &p->printed.buffers, to, ACCESS_READ | ACCESS_WRITE);
    buf_printf(p->out, "{b%u", to);
    if (f->numbers)
        buf_printf(p->out, " + %s * %lld + %d", unit, (long long)step, (int)k * DRIFT_FIELDS);
    buf_printf(p->out, ", %d, 1, (const int64_t[]){%d}}", DT_F64, DRIFT_FIELDS);
    for (uint32_t i = 1; i < c->nwrites; i++)
        print_view(p, f, c->writes[i], ", ");
    buf_printf(p->out, "};\n%*sconst int64_t n[] = {", (int)p->indent * 4 + 4, "");
    for (uint32_t i = 0; i < c->nnumbers; i++)
        buf_printf(p->out, "%s%s", i ? ", " : "", print_index_bare(p, c->numbers[i]));
    buf_printf(p->out, "};\n");
    const char *before =
        f->numbers ? str_printf(p->arena, "%s > from ? (const double *)writes[0].at - %lld : NULL",
                                unit, (long long)step)
                         .at
                   : "NULL";
    print_line(p, "    cameo_drift_stretch(&(const cameo_call){reads, writes, n, %u, %u, %u},",
               c->nreads, c->nwrites, c->nnumbers);
    print_line(p, "        %s, %s);", print_index_bare(p, f->first), before);
    print_line(p, "}");
}

static void print_figures_after(Printer *p, const Figures *f, const Stmt *s)
{
    for (uint32_t i = 0; i < f->all.len; i++)
        if (f->all.at[i].after == s)
            print_figure(p, f, i);
}

typedef struct Mixture {
    bool narrows, plain;
} Mixture;

static void look_at(void *context, const Expr *e)
{
    Mixture *m = context;
    m->narrows |= e->kind == EX_CAST && e->dtype == DT_F32 && e->a->dtype == DT_F64;
    m->plain &= e->kind != EX_REDUCE;
    if (e->kind == EX_UNARY)
        m->plain &= e->op == U_EXPM1 || e->op == U_TANH || e->op == U_NEG || e->op == U_ABS;
    if (e->kind == EX_BINARY)
        m->plain &= e->op == B_ADD || e->op == B_SUB || e->op == B_MUL || e->op == B_DIV;
}

// Is it a loop that reads float64 and does most of its work in float32? Compilers make its vectors
// as many lanes as float64 has.
static bool is_mixture(const Printer *p, const Stmt *s)
{
    const Stmt *store = s->kind == S_FOR ? s->body : NULL;
    if (!store || (store->kind != S_STORE && store->kind != S_SET) || store->value->dtype != DT_F32)
        return false;
    Mixture m = {false, true};
    expr_walk(p->mod, store->value, look_at, &m);
    return m.narrows && m.plain;
}

static void print_stretches(Printer *p, const Figures *f)
{
    parts_nest_begin(p, f->nloops, f->loops);
    p->depth++;
    p->parallel++;
    uint32_t mark = print_block_begin(p);
    print_figures_after(p, f, NULL);
    for (const Stmt *s = f->stretch; s; s = s->next) {
        if (is_mixture(p, s))
            print_line(p, "CAMEO_DRIFT_NARROW_LOOP");
        print_stmt(p, s);
        print_figures_after(p, f, s);
    }
    print_block_end(p, mark);
    p->parallel--;
    p->depth--;
    parts_nest_end(p, f->nloops, f->loops);
}

void figures_print(Printer *p, const Figures *f)
{
    Polys *polys = p->mod->polys;
    Index units = parts_units(p, f->nloops, f->loops);
    Index work = parts_work(p, f->stretch, f->nloops, f->loops);
    work = poly_add(polys, work,
                    poly_const(polys, STRETCH * (int64_t)(FIGURE_WORK * (f->all.len + 1))));
    const char *n = print_index_bare(p, units);
    if (p->parts && parts_worth(p, units, work)) {
        parts_begin(p, 0);
        print_stretches(p, f);
        parts_end(p, n, parts_grain(p, work));
    } else {
        print_line(p, "const int64_t from = 0, to = %s;", n);
        print_stretches(p, f);
    }
    for (uint32_t i = 0; f->numbers && i < f->all.len; i++) {
        access_note(p->arena, &p->printed.buffers, f->numbers, ACCESS_READ | ACCESS_WRITE);
        access_note(p->arena, &p->printed.buffers, f->all.at[i].call->writes[0], ACCESS_WRITE);
        print_line(p, "cameo_drift_gather(b%u + %d, %d, %s, b%u);", f->numbers,
                   (int)i * DRIFT_FIELDS, (int)f->all.len * DRIFT_FIELDS, n,
                   f->all.at[i].call->writes[0]);
    }
}
