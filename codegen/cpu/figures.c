// Values and their figures a stretch at a time: which steps are joined.

#include "codegen/cpu/figures_join.h"
#include "codegen/cpu/gemm.h"

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

bool joining_same_dims(const Joining *j, const Buffer *b)
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
bool joining_same_place(const Module *mod, const Expr *load, const Stmt *store)
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

// What is looked at is read where it is stored; nothing is summed.
void joining_check_load(void *context, const Expr *e)
{
    JoiningCheck *c = context;
    if (e->kind == EX_REDUCE || e->kind == EX_LOCAL)
        c->fits = false;
    if (e->kind == EX_LOAD && (c->of ? e->buffer == c->of : c->j->written[e->buffer]))
        c->fits &= joining_same_place(c->j->mod, e, c->store);
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
    if (!joining_same_dims(j, y) || j->writes[p.store->buffer] != 1 ||
        j->written[p.store->buffer] || dtype_is_reference(y->dtype) || dtype_is_complex(y->dtype) ||
        y->dtype == DT_F64X2)
        return false;
    JoiningCheck check = {j, p.store, 0, true};
    expr_walk(j->mod, p.store->value, joining_check_load, &check);
    return check.fits;
}

static bool joins_call(Joining *j, const Call *c)
{
    if (!figures_are(c) || !dtype_is_float(buffer_at(j->mod, c->reads[0])->dtype))
        return false;
    for (uint32_t i = 0; i < c->nreads; i++)
        if (!joining_same_dims(j, buffer_at(j->mod, c->reads[i])) ||
            buffer_at(j->mod, c->reads[i])->dtype == DT_F64X2)
            return false;
    for (uint32_t i = 0; i < c->nnumbers; i++)
        if (!poly_is_const(c->numbers[i], NULL))
            return false;
    return true;
}

KernelUses joining_uses(Joining *j, const Step *s)
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
        const KernelUses u = joining_uses(j, s);
        note(&u, j->reads, j->writes);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            if (u.buffers.at[i].bits & ACCESS_WRITE)
                j->list[u.buffers.at[i].id] = list;
        note_steps(j, s->body);
        note_steps(j, s->other);
    }
}

static void take(Joining *j, const Step *s)
{
    const KernelUses u = joining_uses(j, s);
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
        const KernelUses u = joining_uses(j, j->steps.at[n]);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            j->inner[u.buffers.at[i].id] = j->written[u.buffers.at[i].id] = 0;
    }
    j->steps.len = 0;
    j->product = NULL;
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

// The run from *at to `end` as one step. Returns where it stands.
static Step **join(Joining *j, Step **first, Step **at, Step *end)
{
    Call *call = NEW(j->mod->arena, Call);
    Step *joined = NEW(j->mod->arena, Step), **product = figures_block_find(j, first, *at);
    call->what = intrinsic_find(STR("drift"));
    *joined = (Step){.kind = STEP_KERNEL, .next = end, .call = call};
    joined->kernel = joining_make(j);
    joined->node = joined->kernel->node;
    if (product && j->made->block) {
        at = at == &(*product)->next ? product : at;
        *product = (*product)->next;
    }
    *at = joined;
    return at;
}

static void find_in(Joining *j, Step **at)
{
    const uint32_t list = ++j->nlists;
    Step **const first = at;
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
        if (figures)
            at = join(j, first, at, end);
        forget(j);
    }
}

void figures_find(Module *mod)
{
    if (!figures_taken(mod->steps))
        return; // a run takes some: of a long chain each step would be the first of one
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

const Kernel *figures_convolution(const Kernel *k)
{
    const Figures *f = k->override ? k->override->figures : NULL;
    return f && f->block ? f->block->kernel : NULL;
}

bool figures_taken(const Step *s)
{
    for (; s; s = s->next)
        if (figures_are(s->call) || figures_taken(s->body) || figures_taken(s->other))
            return true;
    return false;
}

bool figures_used(const Step *s)
{
    for (; s; s = s->next)
        if ((s->kernel && s->kernel->override && s->kernel->override->figures) ||
            figures_used(s->body) || figures_used(s->other))
            return true;
    return false;
}
