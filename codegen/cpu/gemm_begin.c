// What a product begins with: what is added to its sum first is where y starts, so that no pass
// over y clears it and none adds a bias or a residual.

#include "codegen/cpu/gemm.h"
#include "codegen/parts.h"

typedef struct Search {
    const Expr *sum;
    const Expr *parent; // the only one of the sum
    bool several;
    BufferId own[3]; // of y and of the factors
    bool reads_own;
} Search;

static void find_parent(void *context, const Expr *e)
{
    Search *s = context;
    if (e->a != s->sum && e->b != s->sum && e->c != s->sum)
        return;
    s->several |= s->parent != NULL;
    s->parent = e;
}

static void find_own(void *context, const Expr *e)
{
    Search *s = context;
    for (int i = 0; i < 3; i++)
        s->reads_own |= e->kind == EX_LOAD && e->buffer == s->own[i];
}

// What is added to the sum, where nothing else is done to it; NULL: nothing.
static const Expr *find_added(Module *mod, Search *s, const Expr *value)
{
    s->parent = NULL;
    s->several = s->reads_own = false;
    expr_walk(mod, value, find_parent, s);
    const Expr *e = s->parent;
    if (!e || s->several || e->kind != EX_BINARY || e->op != B_ADD || e->a == e->b)
        return NULL;
    const Expr *added = e->a == s->sum ? e->b : e->a;
    expr_walk(mod, added, find_own, s);
    return s->reads_own ? NULL : added;
}

const Expr *gemm_find_begin(Module *mod, Override *o)
{
    Search s = {.sum = o->reduce, .own = {o->store->buffer, o->a->buffer, o->b->buffer}};
    const Expr *begin = NULL, *added;
    if (o->reduce->dtype != DT_F32 || o->outer_n)
        return s.sum;
    while ((added = find_added(mod, &s, o->store->value))) {
        begin = begin ? expr_binary(mod, B_ADD, begin, added) : added;
        s.sum = s.parent;
    }
    if (begin) {
        Stmt *store = NEW(mod->arena, Stmt);
        *store = *o->store;
        store->value = begin;
        o->begin = store;
    }
    return s.sum;
}

static void print_zeros(Printer *p, const Override *o, bool part)
{
    override_zero(p, o, true);
    const char *y = gemm_start(p, o->store->buffer, o->store->at);
    print_line(p, "for (int64_t row = %s; row < %s; row++)", part ? "r.m0" : "0",
               part ? "r.m1" : print_index_bare(p, o->rows));
    print_line(p, "    memset(%s%s + row * %s, 0, (size_t)%s * sizeof *b%u);", y,
               part ? " + r.n0" : "", print_index(p, o->ym),
               part ? "(r.n1 - r.n0)" : print_index(p, o->columns), o->store->buffer);
    override_zero(p, o, false);
}

void gemm_print_each(Printer *p, const Override *o, const Stmt *store, bool part)
{
    Bounds b = {.n = 0};
    if (o->m) {
        b.low[0] = part ? "r.m0" : NULL;
        b.high[0] = part ? "r.m1" : NULL;
        b.vars[b.n++] = o->m;
    }
    b.low[b.n] = part ? "r.n0" : NULL;
    b.high[b.n] = part ? "r.n1" : NULL;
    b.vars[b.n++] = o->n;
    nest_begin(p, &b, NULL);
    print_stmts(p, store);
    nest_end(p, &b);
}

bool gemm_is_first(const Override *o)
{
    return !o->begin && !o->packed && !o->narrow && !o->wide && !o->split &&
           o->kind == GEMM_PACKED && o->reduce->rank == 1;
}

void gemm_print_begin(Printer *p, const Override *o, bool part)
{
    if (o->begin)
        gemm_print_each(p, o, o->begin, part);
    else if (!gemm_is_first(o))
        print_zeros(p, o, part);
}
