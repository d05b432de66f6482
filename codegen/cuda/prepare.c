// Makes a module fit for CUDA: one launch for each nest of parallel loops, since a launch is the
// only barrier that all blocks share; memory instead of arrays whose size is not constant; a kernel
// that stores each value by which the host decides, where that lies on the device.

#include "codegen/cuda/cuda.h"
#include "codegen/print_parts.h"
#include "ir/infer.h"

enum { HOST_DEVICE = 1, SHARED_BYTES = 32 * 1024, LOCAL_BYTES = 2048 };

typedef struct Prepare {
    Module *mod;
    Diags *diags;
    const Step *step;
    VEC(Index) pars; // variables of the parallel loops around
    VEC(LoopId) vars;
    BufferId *row_buffer; // by LocalId: what a row became, 0: it stays
    uint32_t *row_pars;   // by LocalId: parallel loops around it
    uint32_t nlocals, nrows;
    ExprMap map;
} Prepare;

static void not_on_device(Prepare *c, const char *what)
{
    diag(c->diags, "", SEV_ERROR, location_node(c->mod->model, c->mod->arena, c->step->node),
         "not supported: %s on a CUDA device", what);
}

// ---- what the host may evaluate ----------------------------------------------------------------

typedef struct DeviceReads {
    Module *mod;
    bool found;
} DeviceReads;

static void note_read(void *context, const Expr *e)
{
    DeviceReads *d = context;
    if (e->kind != EX_LOAD)
        return;
    BufferKind kind = buffer_at(d->mod, e->buffer)->kind;
    d->found |= kind != BUF_INPUT && kind != BUF_WEIGHT;
}

static bool note_atom(void *context, const Atom *a)
{
    DeviceReads *d = context;
    if (a->kind == ATOM_EXPR)
        expr_walk(d->mod, a->e, note_read, d);
    return d->found;
}

bool cuda_host_knows(Module *mod, const Step *s)
{
    DeviceReads d = {mod, false};
    if (s->value)
        poly_any(s->value, note_atom, &d);
    if (s->cond)
        expr_walk(mod, s->cond, note_read, &d);
    return !d.found;
}

static Kernel *kernel_new(Module *mod, const char *name, NodeId node, Stmt *body)
{
    Kernel *k = NEW(mod->arena, Kernel);
    *k = (Kernel){.id = mod->nkernels++, .name = str_of(name), .node = node, .body = body};
    return k;
}

// A step that stores what `s` decides by, to be put before it.
static Step *probe_step(Module *mod, Step *s)
{
    BufferId b = buffer_new(mod, BUF_TEMP, STR("probe"), DT_I64, 0, NULL);
    Stmt *store = NEW(mod->arena, Stmt);
    store->kind = S_STORE;
    store->buffer = b;
    store->value = s->cond ? expr_cast(mod, DT_I64, s->cond, false) : expr_index(mod, s->value);
    Step *probe = NEW(mod->arena, Step);
    *probe = (Step){.kind = STEP_KERNEL, .node = s->node};
    probe->kernel = kernel_new(mod, "probe", s->node, store);
    const Expr *read = expr_load(mod, b, NULL);
    if (s->cond)
        s->cond = expr_compare(mod, C_NE, read, expr_const(mod, DT_I64, (Scalar){.i = 0}));
    else
        s->value = poly_expr(mod->polys, read);
    return probe;
}

// ---- rows --------------------------------------------------------------------------------------

static bool reads_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR || a->kind == ATOM_LOOP;
}

static bool stays_row(Prepare *c, const Stmt *row)
{
    int64_t size = dtype_stored_bytes(row->dtype), n;
    for (uint32_t i = 0; i < row->rank; i++)
        if (!poly_is_const(row->at[i], &n) || __builtin_mul_overflow(size, n, &size))
            return false;
    return size <= (c->vars.len ? LOCAL_BYTES : SHARED_BYTES);
}

static void convert_row(Prepare *c, const Stmt *row)
{
    Module *mod = c->mod;
    Index dims[MAX_RANK + MAX_LOOPS];
    uint32_t n = 0;
    bool fits = c->vars.len + row->rank < MAX_RANK;
    for (uint32_t i = 0; fits && i < c->vars.len; i++)
        dims[n++] = loop_extent(mod->polys, c->vars.at[i]);
    for (uint32_t i = 0; fits && i < row->rank; i++)
        dims[n++] = row->at[i];
    for (uint32_t i = 0; i < n; i++)
        fits &= !poly_any(dims[i], reads_data, NULL);
    if (!fits) {
        not_on_device(c, "memory for each thread whose size is known only there");
        return;
    }
    c->row_buffer[row->local] = buffer_new(mod, BUF_TEMP, STR("row"), row->dtype, n, dims);
    c->row_pars[row->local] = c->vars.len;
    c->nrows++;
}

static void find_rows(Prepare *c, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_ROW && s->rank > 0 && !stays_row(c, s))
            convert_row(c, s);
        bool par = s->kind == S_FOR && s->par;
        if (par) {
            vec_push(c->mod->arena, &c->vars, s->var);
            vec_push(c->mod->arena, &c->pars, poly_loop(c->mod->polys, s->var));
        }
        find_rows(c, s->body);
        find_rows(c, s->other);
        if (par)
            c->vars.len--, c->pars.len--;
    }
}

// The place of an element of a row in its buffer: the first loops around are its outer dims.
static const Index *row_place(Prepare *c, LocalId v, uint32_t rank, const Index *at)
{
    uint32_t n = c->row_pars[v];
    Index *place = NEWS(c->mod->arena, Index, n + rank);
    for (uint32_t i = 0; i < n; i++)
        place[i] = c->pars.at[i];
    for (uint32_t i = 0; i < rank; i++)
        place[n + i] = index_map(c->mod, at[i], &c->map);
    return place;
}

static const Expr *row_load(void *context, const Expr *e)
{
    Prepare *c = context;
    if (e->kind != EX_LOCAL || e->rank == 0 || !c->row_buffer[e->local])
        return NULL;
    return expr_load(c->mod, c->row_buffer[e->local], row_place(c, e->local, e->rank, e->at));
}

static void rewrite_rows(Prepare *c, Stmt **list)
{
    while (*list) {
        Stmt *s = *list;
        if (s->kind == S_ROW && c->row_buffer[s->local]) {
            *list = s->next;
            continue;
        }
        bool par = s->kind == S_FOR && s->par;
        if (s->value)
            s->value = expr_map(c->mod, s->value, &c->map);
        if (s->kind == S_SET && s->rank > 0 && c->row_buffer[s->local]) {
            s->at = row_place(c, s->local, s->rank, s->at);
            s->rank += c->row_pars[s->local];
            s->kind = S_STORE;
            s->buffer = c->row_buffer[s->local];
        } else if (s->rank > 0) {
            Index *at = NEWS(c->mod->arena, Index, s->rank);
            for (uint32_t i = 0; i < s->rank; i++)
                at[i] = index_map(c->mod, s->at[i], &c->map);
            s->at = at;
        }
        if (par)
            vec_push(c->mod->arena, &c->pars, poly_loop(c->mod->polys, s->var));
        rewrite_rows(c, &s->body);
        rewrite_rows(c, &s->other);
        if (par)
            c->pars.len--;
        list = &s->next;
    }
}

// ---- updates of small floats -------------------------------------------------------------------

static bool has_small_update(const Stmt *s)
{
    for (; s; s = s->next)
        if ((s->kind == S_UPDATE && dtype_is_small_float(s->value->dtype)) ||
            has_small_update(s->body) || has_small_update(s->other))
            return true;
    return false;
}

// They are read, changed and written by the legal form, which only one thread may do.
static void make_sequential(Stmt *s)
{
    for (; s; s = s->next) {
        s->par = false;
        make_sequential(s->body);
        make_sequential(s->other);
    }
}

// ---- one launch for each part ------------------------------------------------------------------

typedef struct WrittenRead {
    const KernelUses *uses;
    bool found;
} WrittenRead;

static void note_written(void *context, const Expr *e)
{
    WrittenRead *w = context;
    w->found |= e->kind == EX_LOAD && (access_bits(&w->uses->buffers, e->buffer) & ACCESS_WRITE);
}

static bool can_split(Prepare *c, const Kernel *k)
{
    KernelUses uses = kernel_uses(c->mod, c->mod->arena, k);
    WrittenRead w = {&uses, false};
    uint32_t parts = 0;
    for (const Stmt *s = k->body; s; s = s->next) {
        if (s->kind == S_ROW || s->kind == S_SET)
            return false;
        if (s->kind == S_LET)
            expr_walk(c->mod, s->value, note_written, &w);
        parts += s->kind != S_LET;
    }
    return parts > 1 && !w.found;
}

// Copies of the lets among the first statements, up to `end`, then `part` alone.
static Stmt *part_body(Module *mod, const Stmt *from, Stmt *part)
{
    Stmt *first = NULL, **tail = &first;
    for (; from != part; from = from->next) {
        if (from->kind != S_LET)
            continue;
        *tail = NEW(mod->arena, Stmt);
        **tail = *from;
        tail = &(*tail)->next;
    }
    *tail = NEW(mod->arena, Stmt);
    **tail = *part;
    (*tail)->next = NULL;
    return first;
}

static void split_step(Prepare *c, Step *step)
{
    Module *mod = c->mod;
    Kernel *k = step->kernel;
    const Stmt *all = k->body;
    Step *at = NULL;
    for (Stmt *s = k->body; s; s = s->next) {
        if (s->kind == S_LET)
            continue;
        Kernel *part = NEW(mod->arena, Kernel);
        *part = *k;
        part->body = part_body(mod, all, s);
        if (!at) {
            step->kernel = part;
            at = step;
            continue;
        }
        part->id = mod->nkernels++;
        Step *next = NEW(mod->arena, Step);
        *next = (Step){.kind = STEP_KERNEL, .node = step->node, .kernel = part, .next = at->next};
        at = at->next = next;
    }
}

// ---- all of it ---------------------------------------------------------------------------------

static void prepare_kernel(Prepare *c, Step *step)
{
    Kernel *k = step->kernel;
    if (has_small_update(k->body))
        make_sequential(k->body);
    c->nrows = 0;
    find_rows(c, k->body);
    if (c->nrows)
        rewrite_rows(c, &k->body);
    if (can_split(c, k))
        split_step(c, step);
}

static void prepare_steps(Prepare *c, Step **list)
{
    for (; *list; list = &(*list)->next) {
        Step *s = *list;
        c->step = s;
        if (s->kernel) {
            if (!s->kernel->on_host)
                prepare_kernel(c, s);
        } else if (!s->call && !cuda_host_knows(c->mod, s)) {
            Step *probe = probe_step(c->mod, s);
            probe->next = s;
            *list = probe;
            list = &probe->next;
        }
        prepare_steps(c, &s->body);
        prepare_steps(c, &s->other);
    }
}

// References mean something in the host's table only; a device has no double-double numbers.
static bool is_for_host(Module *mod, const Kernel *k)
{
    Arena *scratch = arena_new();
    KernelUses u = kernel_uses(mod, scratch, k);
    bool found = false;
    for (uint32_t i = 0; i < u.buffers.len; i++)
        found |= dtype_is_reference(buffer_at(mod, u.buffers.at[i].id)->dtype) ||
                 buffer_at(mod, u.buffers.at[i].id)->dtype == DT_F64X2;
    arena_free(scratch);
    return found;
}

// Devices have no atomic update of a complex number.
static bool updates_complex(const Stmt *s)
{
    for (; s; s = s->next)
        if ((s->kind == S_UPDATE && dtype_is_complex(s->value->dtype)) ||
            updates_complex(s->body) || updates_complex(s->other))
            return true;
    return false;
}

static void place_steps(Module *mod, Step *s, bool references)
{
    for (; s; s = s->next) {
        if (s->kernel && s->kernel->node)
            s->kernel->on_host = node_at(mod->model, s->kernel->node)->device == HOST_DEVICE;
        if (s->kernel &&
            ((references && is_for_host(mod, s->kernel)) || updates_complex(s->kernel->body)))
            s->kernel->on_host = true;
        place_steps(mod, s->body, references);
        place_steps(mod, s->other, references);
    }
}

void cuda_place_kernels(Module *mod)
{
    place_steps(mod, mod->steps, module_has_objects(mod));
}

bool cuda_prepare_module(Module *mod, Diags *diags)
{
    Prepare c = {.mod = mod, .diags = diags, .nlocals = mod->nlocals};
    c.row_buffer = NEWS(mod->arena, BufferId, mod->nlocals + 1);
    c.row_pars = NEWS(mod->arena, uint32_t, mod->nlocals + 1);
    c.map = (ExprMap){&c, row_load, NULL};
    uint32_t before = diags->errors;
    prepare_steps(&c, &mod->steps);
    return diags->errors == before;
}
