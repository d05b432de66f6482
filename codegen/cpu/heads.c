// Heads of attention: which kernels they are made of, and what is printed for them.

#include "codegen/cpu/heads.h"
#include "codegen/parts.h"

// Rows of a band, and what all rows are at most where they are one band; a few more than a band are
// one too. Of fewer heads threads share the columns of each product.
// Where rows have masks, bands are lower: less of them is masked.
enum { BAND = 128, WHOLE = 256, FEW = 8, LEAST_HEADS = 4, MASKED_BAND = 64 };

// Steps at most from a kernel to the one that reads what it stores.
enum { APART = 16 };

uint32_t heads_before(const Kernel *k, const Kernel *before[HEADS_BEFORE])
{
    const Heads *h = k && k->override ? k->override->heads : NULL;
    if (!h)
        return 0;
    before[0] = h->scores;
    before[1] = h->parts;
    return HEADS_BEFORE;
}

BufferId heads_between(const Kernel *k)
{
    const Stmt *s = k->body;
    while (s->kind == S_FOR)
        s = s->body;
    return s->buffer;
}

// ---- finding -----------------------------------------------------------------------------------

typedef struct Find {
    Module *mod;
    Printer *p;
    uint32_t *reads, *writes; // by BufferId: kernels and other steps that do
} Find;

// A product of two matrices of float32 that sets y.
static const Override *product_of(const Kernel *k)
{
    const Override *o = k ? k->override : NULL;
    return o && !o->conv && !o->figures && !o->bytes && !o->half && !o->heads && gemm_is_first(o) &&
                   o->m && !o->outer_n && o->a->dtype == DT_F32 && o->b->dtype == DT_F32
               ? o
               : NULL;
}

static bool is_loop(Polys *polys, Index i, LoopId v)
{
    return i == poly_loop(polys, v);
}

typedef struct Loads {
    const Find *f;
    BufferId buffer;
    uint32_t rank;
    const Index *at; // of the row
    Index last;      // of the element; NULL: any
    bool other;      // there is a load of another row or element
} Loads;

static void test_load(void *context, const Expr *e)
{
    Loads *l = context;
    if (e->kind != EX_LOAD || e->buffer != l->buffer)
        return;
    for (uint32_t i = 0; i + 1 < l->rank; i++)
        l->other |= e->at[i] != l->at[i];
    l->other |= l->last && e->at[l->rank - 1] != l->last;
}

// rank, at: of the row.
static bool loads_row(const Find *f, const Expr *e, BufferId b, uint32_t rank, const Index *at,
                      Index last)
{
    Loads l = {f, b, rank, at, last, false};
    expr_walk(f->mod, e, test_load, &l);
    return !l.other;
}

typedef struct FirstLoad {
    BufferId buffer;
    const Expr *load; // NULL: none yet
} FirstLoad;

static void note_load(void *context, const Expr *e)
{
    FirstLoad *l = context;
    if (e->kind == EX_LOAD && e->buffer == l->buffer && !l->load)
        l->load = e;
}

typedef struct Band {
    Module *mod;
    BufferId from[2], band;
    Index row; // of the band
    const Heads *heads;
} Band;

static const Expr *in_band(void *context, const Expr *e)
{
    const Band *b = context;
    if (e->kind != EX_LOAD || (e->buffer != b->from[0] && e->buffer != b->from[1]))
        return NULL;
    const Index at[] = {b->row, e->at[e->rank - 1]};
    return expr_load(b->mod, b->band, at);
}

typedef struct Placed {
    BufferId from;
    const Expr *to;
} Placed;

static const Expr *placed_load(void *context, const Expr *e)
{
    const Placed *t = context;
    return e->kind == EX_LOAD && e->buffer == t->from ? t->to : NULL;
}

typedef struct End {
    const Stmt *store;
    bool other; // it hangs on more than the element
} End;

static void test_end(void *context, const Expr *e)
{
    End *x = context;
    x->other |= e->kind == EX_INDEX || e->kind == EX_REDUCE;
    x->other |= e->kind == EX_LOAD && e->buffer != x->store->buffer;
    for (uint32_t i = 0; e->kind == EX_LOAD && !x->other && i < e->rank; i++)
        x->other |= e->at[i] != x->store->at[i];
}

// What the product does to an element of y besides, of that element alone, as caps on scores are:
// NULL with *fits false if it is more.
static const Stmt *end_of(Module *mod, const Override *o, bool *fits)
{
    End x = {o->epilogue, false};
    while (x.store && x.store->kind == S_FOR)
        x.store = x.store->next ? NULL : x.store->body;
    *fits = !o->epilogue;
    if (!x.store || x.store->kind != S_STORE || x.store->next ||
        x.store->buffer != o->store->buffer)
        return NULL;
    expr_walk(mod, x.store->value, test_end, &x);
    *fits = !x.other;
    return *fits ? x.store : NULL;
}

// The same for a row of the band.
static const Stmt *ends_of(Band *b, const Stmt *end, Index columns)
{
    Module *mod = b->mod;
    const LoopId v = loop_new(mod->polys, columns);
    const Index at[] = {b->row, poly_loop(mod->polys, v)};
    Placed t = {end->buffer, expr_load(mod, b->band, at)};
    const ExprMap map = {&t, placed_load, NULL};
    Stmt *store = NEW(mod->arena, Stmt), *loop = NEW(mod->arena, Stmt);
    *store = (Stmt){.kind = S_STORE, .buffer = b->band, .rank = 2, .at = t.to->at};
    store->value = expr_map(mod, end->value, &map);
    *loop = (Stmt){.kind = S_FOR, .par = true, .var = v, .body = store};
    return loop;
}

// The statements of a row, in the band.
static const Stmt *rows_of(Band *b, const Stmt *s)
{
    if (!s)
        return NULL;
    const ExprMap map = {b, in_band, NULL};
    Stmt *to = NEW(b->mod->arena, Stmt);
    *to = *s;
    to->next = (Stmt *)(uintptr_t)rows_of(b, s->next);
    to->body = (Stmt *)(uintptr_t)rows_of(b, s->body);
    to->value = s->value ? expr_map(b->mod, s->value, &map) : NULL;
    if (s->kind == S_STORE) {
        const Index at[] = {b->row, s->at[s->rank - 1]};
        to->buffer = b->band;
        to->rank = 2;
        to->at = expr_load(b->mod, b->band, at)->at;
    }
    return to;
}

// Are the statements those of a Softmax, which reads a row of s and stores one? Returns a load of
// that row; NULL: they are not.
static const Expr *are_rows(const Find *f, const Stmt *fill, BufferId s)
{
    const Stmt *store = fill->body, *let = fill->next, *last = let ? let->next : NULL;
    if (!powers_fit(f->p, fill) || !last || last->next || last->kind != S_FOR || !last->body ||
        last->body->kind != S_STORE || last->body->next || last->var != fill->var ||
        last->body->buffer != store->buffer || last->body->rank != store->rank ||
        store->buffer == s || !is_loop(f->mod->polys, store->at[store->rank - 1], fill->var))
        return NULL;
    const Index last_at = store->at[store->rank - 1];
    for (uint32_t i = 0; i < store->rank; i++)
        if (last->body->at[i] != store->at[i])
            return NULL;
    const Expr *raised = store->value->a, *divided = last->body->value;
    FirstLoad first = {s, NULL};
    expr_walk(f->mod, raised->a, note_load, &first);
    const Expr *row = first.load;
    return row && row->rank >= 2 && row->at[row->rank - 1] == last_at &&
                   loads_row(f, store->value, s, row->rank, row->at, NULL) &&
                   loads_row(f, raised->a, s, row->rank, row->at, last_at) &&
                   loads_row(f, divided, store->buffer, store->rank, store->at, last_at) &&
                   divided->op == B_DIV && divided->kind == EX_BINARY &&
                   divided->a->kind == EX_LOAD && divided->a->buffer == store->buffer
               ? row
               : NULL;
}

// The loops around a product.
static uint32_t loops_around(const Kernel *k, const Override *o, LoopId vars[HEADS_DIMS])
{
    uint32_t n = 0;
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!override_owns(o, s->var) && n++ < HEADS_DIMS)
            vars[n - 1] = s->var;
    return n;
}

static uint32_t loops_of_parts(const Kernel *k, LoopId row, LoopId vars[HEADS_DIMS])
{
    uint32_t n = 0;
    for (const Stmt *s = k->body; s->var != row; s = s->body)
        if (n++ < HEADS_DIMS)
            vars[n - 1] = s->var;
    return n;
}

static Index place_of(void *context, const Atom *a)
{
    const Heads *h = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < h->n; i++)
        if (h->around[i].var == a->var)
            return h->around[i].at;
    return NULL;
}

static bool is_placed(const Heads *h, LoopId v)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (h->around[i].var == v)
            return true;
    return false;
}

// Finds where the loops around a kernel stand: at, where it stores or reads along a dim, is `own`
// of the last product. One loop goes over all that several do, or each as far as another.
static bool find_places(const Find *f, Index at, Index own, const LoopId *vars, uint32_t count,
                        const LoopId *last, uint32_t nlast, Heads *h)
{
    Polys *polys = f->mod->polys;
    for (uint32_t i = 0; i < count; i++) {
        Index by, other;
        if (!factor_of(f->p, at, vars[i], &by) || poly_equals(by, 0))
            continue;
        Index place = is_loop(polys, at, vars[i]) ? own : NULL;
        for (uint32_t k = 0; !place && k < nlast; k++)
            if (loop_extent(polys, last[k]) == loop_extent(polys, vars[i]) &&
                factor_of(f->p, own, last[k], &other) && other == by)
                place = poly_loop(polys, last[k]);
        if (!place || h->n == HEADS_BEFORE * HEADS_DIMS || is_placed(h, vars[i]))
            return false;
        h->around[h->n++] = (HeadsLoop){vars[i], place};
    }
    return poly_map(polys, at, place_of, h) == own;
}

// Where a row lies: in the kernel that stores it, and in the one that reads it.
typedef struct Rows {
    uint32_t rank;
    const Index *stored, *read;
} Rows;

// Do all three go over the same heads? last: the product after the others.
static bool are_heads(const Find *f, const Kernel *const k[3], const Override *last,
                      const Rows *scores, const Rows *parts, Heads *h)
{
    Polys *polys = f->mod->polys;
    LoopId vars[3][HEADS_DIMS];
    const uint32_t count[] = {loops_around(k[0], k[0]->override, vars[0]),
                              loops_of_parts(k[1], h->row, vars[1]),
                              loops_around(k[2], last, vars[2])};
    if (count[0] > HEADS_DIMS || count[1] > HEADS_DIMS || count[2] > HEADS_DIMS)
        return false;
    for (uint32_t i = 0; i + 2 < parts->rank; i++)
        if (!find_places(f, parts->stored[i], parts->read[i], vars[1], count[1], vars[2], count[2],
                         h))
            return false;
    for (uint32_t i = 0; i + 2 < scores->rank; i++)
        if (!find_places(f, scores->stored[i], poly_map(polys, scores->read[i], place_of, h),
                         vars[0], count[0], vars[2], count[2], h))
            return false;
    int64_t heads = 1, extent;
    for (uint32_t i = 0; i < count[2]; i++) {
        bool told = false; // which head the loop goes over
        Index by;
        for (uint32_t d = 0; d + 2 < parts->rank; d++)
            told |= factor_of(f->p, parts->read[d], vars[2][i], &by) && !poly_equals(by, 0);
        if (!told)
            return false;
        if (poly_is_const(loop_extent(polys, vars[2][i]), &extent) && heads < LEAST_HEADS)
            heads *= extent;
    }
    return heads >= LEAST_HEADS && h->n == count[0] + count[1];
}

// The last product with the rows of scores as its own: which are heads that share a factor where
// it found these first. false: it cannot have them.
static bool take_rows(const Find *f, Override *o, LoopId row)
{
    Printer *p = f->p;
    const Buffer *a = buffer_at(f->mod, o->a->buffer), *b = buffer_at(f->mod, o->b->buffer),
                 *y = buffer_at(f->mod, o->store->buffer);
    Index in_b, am, ym;
    int64_t rows, heads;
    if (o->m == row)
        return true;
    if (!row || o->outer_m ||
        (poly_is_const(loop_extent(f->mod->polys, row), &rows) && poly_is_const(o->rows, &heads) &&
         rows < heads) ||
        !factor_of(p, linear_index(p, b->rank, b->dims, o->b->at), row, &in_b) ||
        !poly_equals(in_b, 0) ||
        !factor_of(p, linear_index(p, a->rank, a->dims, o->a->at), row, &am) ||
        !factor_of(p, linear_index(p, y->rank, y->dims, o->store->at), row, &ym))
        return false;
    o->m = row;
    o->rows = loop_extent(f->mod->polys, row);
    o->am = am;
    o->ym = ym;
    return true;
}

static bool steps_by(const Find *f, const Expr *e, LoopId v, Index *step)
{
    const Buffer *b = buffer_at(f->mod, e->buffer);
    return factor_of(f->p, linear_index(f->p, b->rank, b->dims, e->at), v, step);
}

// Finds heads that share the factors of both products but their rows: v goes over them.
static void find_group(const Find *f, const Override *first, const Override *last, LoopId v,
                       Heads *h)
{
    Polys *polys = f->mod->polys;
    const Buffer *y = buffer_at(f->mod, last->store->buffer);
    int64_t all, rows;
    LoopId own = 0;
    Index step;
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->around[i].var == v)
            return;
        if (is_loop(polys, h->around[i].at, v))
            own = h->around[i].var; // those of the first product come last
    }
    if (!own || !poly_is_const(loop_extent(polys, v), &all) || all < 2 || all > BAND ||
        poly_is_const(first->rows, &rows) || !steps_by(f, last->b, v, &step) ||
        !poly_equals(step, 0) || !steps_by(f, first->b, own, &step) || !poly_equals(step, 0) ||
        !steps_by(f, first->a, own, &h->group_a) || poly_equals(h->group_a, 0) ||
        !factor_of(f->p, linear_index(f->p, y->rank, y->dims, last->store->at), v, &h->group_y))
        return;
    h->group = v;
    h->turn = loop_new(polys, loop_extent(polys, v));
}

// The loop around the kernel whose variable an index is; 0: there is none.
static LoopId loop_at(const Find *f, const Kernel *k, Index at)
{
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (is_loop(f->mod->polys, at, s->var))
            return s->var;
    return 0;
}

// Is a buffer only what one of these kernels hands to the next?
static bool is_between(const Find *f, BufferId b, uint32_t reads)
{
    const Buffer *buffer = buffer_at(f->mod, b);
    return buffer->kind == BUF_TEMP && buffer->dtype == DT_F32 && buffer->rank >= 2 &&
           f->reads[b] == reads && f->writes[b] == 1;
}

// second: the last product, which changes.
static Heads *find_heads(Find *f, Kernel *scores, const Kernel *parts, const Kernel *last,
                         Override *second)
{
    Polys *polys = f->mod->polys;
    const Override *first = product_of(scores);
    bool fits = false;
    const Stmt *end = first ? end_of(f->mod, first, &fits) : NULL;
    if (!fits || second->epilogue || !parts || parts->override || parts->on_host || !parts->body)
        return NULL;
    const Stmt *row = parts->body;
    while (row->kind == S_FOR && row->par && !row->next && row->body->kind == S_FOR &&
           !row->body->next)
        row = row->body;
    const BufferId s = first->store->buffer, q = second->a->buffer;
    if (row->kind != S_FOR || !row->par || row->next || !is_between(f, s, 1) ||
        !is_between(f, q, 2))
        return NULL;
    const Expr *score = are_rows(f, row->body, s);
    const Stmt *store = row->body->body;
    if (!score || store->buffer != q)
        return NULL;
    const LoopId shared = second->m;
    const Rows own = {score->rank, first->store->at, score->at};
    const Rows divided = {store->rank, store->at, second->a->at};
    const uint32_t m = own.rank - 2, n = divided.rank - 2;
    const Kernel *const all[] = {scores, parts, last};
    Heads h = {.scores = scores, .parts = parts, .row = row->var};
    if (!take_rows(f, second, loop_at(f, last, divided.read[n])) ||
        !is_loop(polys, own.stored[m], first->m) || !is_loop(polys, own.stored[m + 1], first->n) ||
        !is_loop(polys, own.read[m], row->var) || !is_loop(polys, divided.stored[n], row->var) ||
        !is_loop(polys, divided.read[n], second->m) ||
        !is_loop(polys, divided.read[n + 1], second->k) || first->rows != second->rows ||
        loop_extent(polys, row->var) != first->rows ||
        loop_extent(polys, row->body->var) != first->columns ||
        loop_extent(polys, second->k) != first->columns ||
        !are_heads(f, all, second, &own, &divided, &h))
        return NULL;
    int64_t rows;
    if (!poly_is_const(first->rows, &rows) || rows < 1)
        rows = WHOLE;
    Index dims[] = {poly_const(polys, rows > WHOLE ? BAND + FEW : rows), first->columns};
    if (poly_reads_data(first->columns) || poly_is_overflow(poly_mul(polys, dims[0], dims[1])))
        return NULL;
    h.band = buffer_new(f->mod, BUF_TEMP, STR("scratch"), DT_F32, 2, dims);
    h.first = loop_new(polys, first->rows);
    Band b = {f->mod, {s, q}, h.band, NULL, NULL};
    b.row = poly_sub(polys, poly_loop(polys, h.row), poly_loop(polys, h.first));
    h.ends = end ? ends_of(&b, end, first->columns) : NULL;
    h.rows = rows_of(&b, row->body);
    if (shared != second->m)
        find_group(f, first, second, shared, &h);
    heads_find_mask(f->mod, &h, first->columns);
    Heads *kept = NEW(f->mod->arena, Heads);
    *kept = h;
    return kept;
}

static void join(Find *f, const Heads *h, Kernel *last, Override *o)
{
    o->heads = h;
    last->override = o;
    kernel_prepend_nodes(f->mod, last, h->parts);
    kernel_prepend_nodes(f->mod, last, h->scores);
    last->name = str_printf(f->mod->arena, "heads_%.*s", (int)last->name.len, last->name.at);
}

// The kernel behind s that reads b, which no other step does: kernels, checks and numbers may stand
// before it. NULL: there is none near.
static Step *reader_of(const Find *f, const Step *s, BufferId b)
{
    Step *at = s->next;
    for (uint32_t n = 0; at && n < APART; n++, at = at->next) {
        if (at->kind != STEP_KERNEL && at->kind != STEP_CHECK && at->kind != STEP_DIM)
            return NULL;
        const KernelUses u = chain_step_uses(f->mod, f->p->arena, at);
        if (access_bits(&u.buffers, b))
            return at->kernel ? at : NULL;
    }
    return NULL;
}

// May a step be done right before `end` instead? Nothing between writes what it reads.
static bool may_wait(const Find *f, const Step *s, const Step *end)
{
    const KernelUses own = chain_step_uses(f->mod, f->p->arena, s);
    for (const Step *at = s->next; at != end; at = at->next) {
        const KernelUses u = chain_step_uses(f->mod, f->p->arena, at);
        for (uint32_t i = 0; i < own.buffers.len; i++) {
            const Access *a = &own.buffers.at[i];
            if ((a->bits & ACCESS_READ) && (access_bits(&u.buffers, a->id) & ACCESS_WRITE))
                return false;
        }
    }
    return true;
}

// Joins the heads whose first product is the step; returns whether it is one of some.
static bool find_from(Find *f, Step **at)
{
    Step *first = *at;
    const Override *o = product_of(first->kernel);
    if (!o || !is_between(f, o->store->buffer, 1))
        return false;
    Step *second = reader_of(f, first, o->store->buffer);
    Step *third = second && second->kernel->body && !second->kernel->override
                      ? reader_of(f, second, heads_between(second->kernel))
                      : NULL;
    if (!third || !may_wait(f, first, third) || !may_wait(f, second, third))
        return false;
    if (!product_of(third->kernel))
        return false;
    Override *last = NEW(f->mod->arena, Override);
    *last = *third->kernel->override;
    const Heads *h = find_heads(f, first->kernel, second->kernel, third->kernel, last);
    if (!h)
        return false;
    join(f, h, third->kernel, last);
    Step *before = first;
    while (before->next != second)
        before = before->next;
    before->next = second->next;
    *at = first->next;
    return true;
}

static void find_in(Find *f, Step **at)
{
    while (*at) {
        find_in(f, &(*at)->body);
        find_in(f, &(*at)->other);
        if (!find_from(f, at))
            at = &(*at)->next;
    }
}

// Factors that are only what 16 bits are widened to, for one product of heads, are read where these
// lie.
static void read_halves(const Find *f, Step **list)
{
    for (Step *s = *list; s; s = s->next) {
        const Heads *h = s->kernel && s->kernel->override ? s->kernel->override->heads : NULL;
        read_halves(f, &s->body);
        read_halves(f, &s->other);
        if (h && is_between(f, h->scores->override->b->buffer, 1))
            heads_read_half(f->p, list, s, h->scores, true);
        if (h && is_between(f, s->kernel->override->b->buffer, 1))
            heads_read_half(f->p, list, s, s->kernel, false);
    }
}

void heads_find(Module *mod, Printer *p)
{
    Find f = {mod, p, NEWS(p->arena, uint32_t, mod->buffers.len),
              NEWS(p->arena, uint32_t, mod->buffers.len)};
    chain_count_uses(mod, p->arena, mod->steps, f.reads, f.writes);
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        f.reads[mod->outputs.at[i]]++;
    find_in(&f, &mod->steps);
    read_halves(&f, &mod->steps);
}

// ---- uses --------------------------------------------------------------------------------------

void heads_uses(Module *mod, const Heads *h, KernelUses *u)
{
    const Kernel *const before[] = {h->scores, h->parts};
    for (int k = 0; k < HEADS_BEFORE; k++) {
        const KernelUses own = kernel_uses(mod, u->arena, before[k]);
        for (uint32_t i = 0; i < own.buffers.len; i++)
            access_note(u->arena, &u->buffers, own.buffers.at[i].id, own.buffers.at[i].bits);
        for (uint32_t i = 0; i < own.dims.len; i++)
            access_note(u->arena, &u->dims, own.dims.at[i].id, own.dims.at[i].bits);
    }
    for (int k = 0; k < HEADS_BEFORE; k++)
        access_drop(&u->buffers, heads_between(before[k]));
    access_note(u->arena, &u->buffers, h->band, ACCESS_READ | ACCESS_WRITE);
}

// ---- printing ----------------------------------------------------------------------------------

static Index turn_of(void *context, const Atom *a)
{
    const Band *b = context;
    const Heads *h = b->heads;
    return a->kind == ATOM_LOOP && a->var == h->group ? poly_loop(b->mod->polys, h->turn) : NULL;
}

// The loops around the other two kernels stand where those of the last one tell. turn: of the head
// of that turn.
static void set_around(Printer *p, const Heads *h, bool on, bool turn)
{
    Band of = {.mod = p->mod, .heads = h};
    for (uint32_t i = 0; i < h->n; i++) {
        const LoopId v = h->around[i].var;
        Index at = h->around[i].at;
        if (is_loop(p->mod->polys, at, v))
            continue;
        if (turn)
            at = poly_map(p->mod->polys, at, turn_of, &of);
        if (on) {
            print_line(p, "const int64_t i%u = %s;", v, print_index_bare(p, at));
            print_line(p, "(void)i%u;", v);
        }
        print_bind_loop(p, v, on ? 1 : -1);
    }
}

// "a + low * 768": where rows of a matrix begin.
static const char *from_row(Printer *p, const char *start, const Heads *h, Index by)
{
    return str_printf(p->arena, "%s + i%u * %s", start, h->first, print_index(p, by)).at;
}

static const char *band_of(Printer *p, const Heads *h)
{
    return str_printf(p->arena, "b%u", h->band).at;
}

// `rows` of a, which begin at `a` and lie `am` apart, times b.
static void print_scores(Printer *p, const Heads *h, const char *rows, const char *a, Index am,
                         Index columns)
{
    const Override *o = h->scores->override;
    const HeadsProduct x = {.rows = rows,
                            .columns = columns,
                            .depth = print_extent(p, o->k),
                            .a = a,
                            .am = am,
                            .ak = o->ak,
                            .y = band_of(p, h),
                            .ym = o->columns};
    heads_print_product(p, o, true, &x);
}

// What is done to a row, in a loop that the line before has opened.
static void print_row(Printer *p, const Heads *h)
{
    const Kernel *kernel = p->kernel;
    const Stmt *const parts[] = {h->ends, h->rows};
    Kernel rows = *h->parts; // as forms look for a Softmax in what is printed
    p->kernel = &rows;
    print_bind_loop(p, h->row, 1);
    p->depth++;
    for (int i = 0; i < 2; i++) {
        rows.body = (Stmt *)(uintptr_t)parts[i];
        const uint32_t mark = print_block_begin(p);
        print_stmts(p, parts[i]);
        print_block_end(p, mark);
    }
    p->depth--;
    print_bind_loop(p, h->row, -1);
    print_line(p, "}");
    p->kernel = kernel;
}

static void print_last(Printer *p, const Override *o, const char *rows, const char *y, Index ym,
                       Index columns)
{
    const HeadsProduct x = {.rows = rows,
                            .columns = o->columns,
                            .depth = columns,
                            .a = band_of(p, o->heads),
                            .am = print_extent(p, o->k),
                            .ak = poly_const(p->mod->polys, 1),
                            .y = y,
                            .ym = ym};
    heads_print_product(p, o, false, &x);
}

// All bands of a head.
static void print_bands(Printer *p, const Override *o)
{
    const Heads *h = o->heads;
    const Override *first = h->scores->override;
    const char *rows = print_index(p, o->rows);
    const uint32_t v = h->first;
    const char *high = str_printf(p->arena, "high - i%u", v).at;
    set_around(p, h, true, false);
    const int most = h->seen ? BAND : WHOLE, each = h->seen ? MASKED_BAND : BAND;
    const Index columns = h->seen ? poly_loop(p->mod->polys, h->seen) : first->columns;
    int64_t all;
    if (poly_is_const(o->rows, &all))
        print_line(p, "const int64_t band = %lld;", (long long)(all <= most ? all : each));
    else
        print_line(p, "const int64_t band = %s <= %d ? %s : %d;", rows, most, rows, each);
    print_line(p, "for (int64_t i%u = 0, high; i%u < %s; i%u = high) {", v, v, rows, v);
    print_bind_loop(p, v, 1);
    p->indent++;
    print_line(p, "high = %s - i%u <= band + %d ? %s : i%u + band;", rows, v, FEW, rows, v);
    if (h->seen) {
        heads_print_seen(p, h);
        print_bind_loop(p, h->seen, 1);
    }
    override_zero(p, first, true);
    print_scores(p, h, high,
                 from_row(p, gemm_start(p, first->a->buffer, first->a->at), h, first->am),
                 first->am, columns);
    override_zero(p, first, false);
    print_line(p, "for (int64_t i%u = i%u; i%u < high; i%u++) {", h->row, v, h->row, h->row);
    heads_limit(p, h, true);
    print_row(p, h);
    heads_limit(p, h, false);
    override_zero(p, o, true);
    print_last(p, o, high, from_row(p, gemm_start(p, o->store->buffer, o->store->at), h, o->ym),
               o->ym, columns);
    override_zero(p, o, false);
    if (h->seen)
        print_bind_loop(p, h->seen, -1);
    p->indent--;
    print_bind_loop(p, v, -1);
    print_line(p, "}");
    set_around(p, h, false, false);
}

// One row of each head of a group, where the first of them stands.
static void print_group(Printer *p, const Override *o)
{
    const Heads *h = o->heads;
    const Override *first = h->scores->override;
    const char *heads = print_index_bare(p, loop_extent(p->mod->polys, h->turn));
    print_line(p, "{");
    p->indent++;
    set_around(p, h, true, false);
    override_zero(p, first, true);
    print_scores(p, h, heads, gemm_start(p, first->a->buffer, first->a->at), h->group_a,
                 first->columns);
    override_zero(p, first, false);
    set_around(p, h, false, false);
    p->indent--;
    print_line(p, "}");
    print_line(p, "for (int64_t i%u = 0; i%u < %s; i%u++) {", h->turn, h->turn, heads, h->turn);
    print_bind_loop(p, h->turn, 1);
    p->indent++;
    set_around(p, h, true, true);
    print_line(p, "const int64_t i%u = -i%u, i%u = 0;", h->first, h->turn, h->row);
    print_bind_loop(p, h->first, 1);
    p->indent--;
    print_row(p, h);
    print_bind_loop(p, h->first, -1);
    set_around(p, h, false, true);
    print_bind_loop(p, h->turn, -1);
    override_zero(p, o, true);
    print_last(p, o, heads, gemm_start(p, o->store->buffer, o->store->at), h->group_y,
               h->scores->override->columns);
    override_zero(p, o, false);
}

// One head.
static void print_head(Printer *p, const Override *o)
{
    const Heads *h = o->heads;
    access_note(p->arena, &p->printed.buffers, h->band, ACCESS_READ | ACCESS_WRITE);
    if (!h->group) {
        print_bands(p, o);
        return;
    }
    print_line(p, "if (%s > 1) {", print_index(p, o->rows));
    p->indent++;
    print_bands(p, o);
    p->indent--;
    print_line(p, "} else if (%s > 0 && i%u == 0) {", print_index(p, o->rows), h->group);
    p->indent++;
    print_group(p, o);
    p->indent--;
    print_line(p, "}");
}

void heads_print(Printer *p, const Override *o, Bounds *outer)
{
    Index units = parts_units(p, outer->n, outer->vars);
    Index work = poly_add(p->mod->polys, gemm_work(p, o), gemm_work(p, o->heads->scores->override));
    if (p->parts && !p->parts->inside && parts_may_own(p, o->heads->band) &&
        parts_worth(p, units, work)) {
        parts_begin(p, o->heads->band);
        parts_nest_begin(p, outer->n, outer->vars);
        p->indent++;
        print_head(p, o);
        p->indent--;
        parts_nest_end(p, outer->n, outer->vars);
        parts_end(p, print_index_bare(p, units), parts_grain(p, work));
        return;
    }
    nest_begin(p, outer, NULL);
    print_head(p, o);
    nest_end(p, outer);
}
