// How loops are divided among blocks and threads.
//
// 1. The outermost parallel loops of a kernel are collapsed into one range of points.
// 2. Where a reduction depends on some of them only (a row's sum, needed by each element of the
//    row), each point of those is a block: its threads compute the reduction together and then
//    divide the loops that remain. Few points with long reductions are blocks too.
// 3. Else each point is a thread, or the column of a block: threads that divide its reduction, as
//    many as fill the device, which is known when it is launched.
// 4. What is no such nest is the work of one block: all threads run its statements alike, a store
//    is the first thread's, a parallel loop is divided among them.

#include "codegen/cuda/cuda.h"
#include "codegen/print_parts.h"

#include <string.h>

enum {
    FEW_POINTS = 4096,
    LONG_REDUCTION = 64,
    SLICED_REDUCTION = 32,
    // Threads of a point that pay. Measured on an H200 over the convolutions of six models: four
    // take up to 1.9 times as long as one whose loop is unrolled, eight a third to 0.85 of that;
    // the loops of windows are not unrolled well, and two take 0.55.
    LEAST_OF_LOOP = 8,
    LEAST_OF_WINDOW = 2
};

typedef struct Nest {
    const Stmt *loops[MAX_LOOPS];
    uint32_t n;
    const Stmt *body; // of the innermost
} Nest;

static bool depends_on_loops(void *context, const Atom *a)
{
    const Nest *nest = context;
    if (a->kind == ATOM_EXPR)
        return true;
    for (uint32_t i = 0; i < nest->n; i++)
        if (a->kind == ATOM_LOOP && a->var == nest->loops[i]->var)
            return true;
    return false;
}

// Loops directly inside each other whose extents do not depend on one another.
static void nest_collect(Printer *p, const Stmt *s, Nest *nest)
{
    *nest = (Nest){.body = s};
    while (s && s->kind == S_FOR && s->par && (nest->n == 0 || !s->next) && nest->n < MAX_LOOPS) {
        if (nest->n && poly_any(loop_extent(p->mod->polys, s->var), depends_on_loops, nest))
            break;
        nest->loops[nest->n++] = s;
        s = nest->body = s->body;
    }
}

static void bind_loops(Printer *p, const Nest *nest, uint32_t from, uint32_t to, int by)
{
    for (uint32_t i = from; i < to; i++)
        print_bind_loop(p, nest->loops[i]->var, by);
}

static bool has_inner_loop(const Stmt *s)
{
    for (; s; s = s->next)
        if ((s->kind == S_FOR && s->par) || has_inner_loop(s->body) || has_inner_loop(s->other))
            return true;
    return false;
}

// ---- choosing ----------------------------------------------------------------------------------

static bool has_hoists(Printer *p, const Stmt *s)
{
    bool found = false;
    p->found_hoist = &found;
    print_hoisted(p, s);
    p->found_hoist = NULL;
    return found;
}

typedef struct Longest {
    Printer *p;
    int64_t size;  // of the longest reduction; INT64_MAX where unknown
    int64_t parts; // of its longest loop, which threads divide
    bool window;   // it has other loops
    bool ordered;  // there is one that they may not
    bool rereads;  // something is read that the kernel writes
} Longest;

static void measure(void *context, const Expr *e)
{
    Longest *l = context;
    int64_t size = 1, parts = 1;
    l->rereads |= e->kind == EX_LOAD && l->p->written[e->buffer];
    if (e->kind != EX_REDUCE)
        return;
    l->ordered |= !print_any_order(e);
    for (uint32_t i = 0; i < e->rank; i++) {
        int64_t n = INT64_MAX;
        poly_is_const(loop_extent(l->p->mod->polys, e->vars[i]), &n);
        if (n > parts)
            parts = n;
        if (__builtin_mul_overflow(size, n, &size))
            size = INT64_MAX;
    }
    if (size > l->size) {
        l->size = size;
        l->parts = parts;
        l->window = !print_is_one_loop(l->p, e);
    }
}

static Longest longest_of(Printer *p, const Stmt *body)
{
    Longest longest = {.p = p};
    for (const Stmt *s = body; s; s = s->next)
        if (s->value)
            expr_walk(p->mod, s->value, measure, &longest);
    return longest;
}

static Index points_of(Printer *p, const Nest *nest, uint32_t from, uint32_t to)
{
    Polys *polys = p->mod->polys;
    Index n = poly_const(polys, 1);
    for (uint32_t i = from; i < to; i++)
        n = poly_mul(polys, n, loop_extent(polys, nest->loops[i]->var));
    return n;
}

static uint32_t least_of(const Longest *longest)
{
    return longest->window ? LEAST_OF_WINDOW : LEAST_OF_LOOP;
}

// May threads share a point? Only what is plainly computed and stored: a block's points do not
// take the same way through anything else, and all of its threads meet.
static bool shares_points(const Nest *nest, const Longest *longest)
{
    for (const Stmt *s = nest->body; s; s = s->next)
        if (s->kind != S_LET && s->kind != S_STORE)
            return false;
    return longest->size >= SLICED_REDUCTION && longest->parts >= least_of(longest) &&
           !longest->ordered && !longest->rereads;
}

// How many of the loops are divided among blocks; 0 with *flat: all among threads, of which a point
// may be several if grid->parts.
static uint32_t choose_depth(Printer *p, const Nest *nest, bool *flat, CudaGrid *grid)
{
    *flat = false;
    if (has_inner_loop(nest->body))
        return nest->n;
    for (uint32_t depth = nest->n; depth > 0; depth--) {
        bind_loops(p, nest, 0, depth - 1, 1);
        bool hoists = has_hoists(p, nest->loops[depth - 1]);
        bind_loops(p, nest, 0, depth - 1, -1);
        if (hoists)
            return depth - 1;
    }
    int64_t points;
    const Longest longest = longest_of(p, nest->body);
    bind_loops(p, nest, 0, nest->n, 1);
    bool hoists = has_hoists(p, nest->body);
    bind_loops(p, nest, 0, nest->n, -1);
    bool few = poly_is_const(points_of(p, nest, 0, nest->n), &points) && points < FEW_POINTS;
    const bool sliced = hoists && shares_points(nest, &longest);
    *flat = !few || !hoists || longest.size < LONG_REDUCTION ||
            (sliced && longest.parts < LONG_REDUCTION);
    if (*flat && sliced) {
        grid->parts = longest.parts < UINT16_MAX ? (uint32_t)longest.parts : UINT16_MAX;
        grid->least = least_of(&longest);
    }
    return *flat ? 0 : nest->n;
}

// ---- printing ----------------------------------------------------------------------------------

// The variable that counts the points of loops from..to: that of the loop, if it is one.
static const char *point_name(Printer *p, const Nest *nest, uint32_t from, uint32_t to, uint32_t *g)
{
    const bool one = to - from == 1;
    *g = one ? nest->loops[from]->var : ++p->ntemps;
    return str_printf(p->arena, "%c%u", one ? 'i' : 'g', *g).at;
}

// The variables of the loops of point `name`, `g` by number.
static void print_point(Printer *p, const Nest *nest, uint32_t from, uint32_t to, const char *name,
                        uint32_t g)
{
    int64_t n;
    bool small = poly_is_const(points_of(p, nest, from, to), &n) && n < INT32_MAX;
    if (to - from > 1) {
        const char *type = small ? "uint32_t" : "int64_t";
        print_line(p, "%s r%u = (%s)%s;", type, g, type, name);
        for (uint32_t i = to; i > from; i--) {
            LoopId v = nest->loops[i - 1]->var;
            const char *extent = print_index(p, loop_extent(p->mod->polys, v));
            if (i - 1 == from)
                print_line(p, "const int64_t i%u = r%u;", v, g);
            else
                print_line(p, "const int64_t i%u = r%u %% %s;", v, g, extent);
            if (i - 1 > from)
                print_line(p, "r%u /= %s;", g, extent);
        }
    }
    bind_loops(p, nest, from, to, 1);
}

// for each point of loops from..to, beginning at `first`, by `step`.
static uint32_t points_begin(Printer *p, const Nest *nest, uint32_t from, uint32_t to,
                             const char *first, const char *step)
{
    const char *bound = print_index(p, points_of(p, nest, from, to));
    uint32_t g;
    const char *name = point_name(p, nest, from, to, &g);
    print_line(p, "for (int64_t %s = %s; %s < %s; %s += %s) {", name, first, name, bound, name,
               step);
    uint32_t mark = print_block_begin(p);
    print_point(p, nest, from, to, name, g);
    return mark;
}

static void points_end(Printer *p, const Nest *nest, uint32_t from, uint32_t to, uint32_t mark)
{
    bind_loops(p, nest, from, to, -1);
    print_block_end(p, mark);
    print_line(p, "}");
}

static void threads_body(Printer *p, const Stmt *body)
{
    bool group = p->in_group;
    p->in_group = false;
    p->parallel++;
    print_stmts(p, body);
    p->parallel--;
    p->in_group = group;
}

static void print_values(Printer *p, const Stmt *s)
{
    p->together = true;
    print_hoisted(p, &(Stmt){.kind = s->kind, .value = s->value, .at = s->at, .rank = s->rank});
    p->together = false;
}

// Each column of a block is a point, whose threads divide its reductions; the first of them stores.
// All columns take part, as all threads of the block meet: those behind the last point compute it
// too.
static void print_sliced(Printer *p, const Nest *nest)
{
    const char *bound = print_index(p, points_of(p, nest, 0, nest->n));
    const uint32_t first = ++p->ntemps;
    uint32_t g;
    const char *name = point_name(p, nest, 0, nest->n, &g);
    print_line(p,
               "for (int64_t g%u = (int64_t)blockIdx.x * blockDim.x; g%u < %s; "
               "g%u += cameo_threads()) {",
               first, first, bound, first);
    uint32_t mark = print_block_begin(p);
    print_line(p, "const int64_t %s = cameo_min_i64(g%u + threadIdx.x, %s - 1);", name, first,
               bound);
    print_point(p, nest, 0, nest->n, name, g);
    p->slices = true;
    p->parallel++;
    for (const Stmt *s = nest->body; s; s = s->next) {
        if (s->kind == S_LET) {
            p->together = true;
            print_stmt(p, s);
            p->together = false;
            continue;
        }
        print_values(p, s);
        print_line(p, "if (threadIdx.y == 0 && g%u + threadIdx.x < %s) {", first, bound);
        uint32_t inner = print_block_begin(p);
        print_stmt(p, s);
        print_block_end(p, inner);
        print_line(p, "}");
    }
    p->parallel--;
    p->slices = false;
    points_end(p, nest, 0, nest->n, mark);
}

static void sync(Printer *p)
{
    print_line(p, "__syncthreads();");
}

static void print_group(Printer *p, const Stmt *s);

static void group_block(Printer *p, const Stmt *body)
{
    uint32_t mark = print_block_begin(p);
    print_group(p, body);
    print_block_end(p, mark);
}

// The first thread does what changes memory; all wait before and after it.
static void print_first(Printer *p, const Stmt *s)
{
    print_values(p, s);
    sync(p);
    print_line(p, "if (threadIdx.x == 0) {");
    uint32_t mark = print_block_begin(p);
    p->parallel++;
    print_stmt(p, s);
    p->parallel--;
    print_block_end(p, mark);
    print_line(p, "}");
    sync(p);
}

static void print_divided(Printer *p, const Stmt *loop)
{
    Nest nest;
    Stmt alone = *loop;
    alone.next = NULL;
    nest_collect(p, &alone, &nest);
    if (poly_equals(points_of(p, &nest, 0, nest.n), 0))
        return;
    p->together = true;
    print_hoisted(p, &alone);
    p->together = false;
    sync(p);
    uint32_t mark = points_begin(p, &nest, 0, nest.n, "threadIdx.x", "blockDim.x");
    threads_body(p, nest.body);
    points_end(p, &nest, 0, nest.n, mark);
    sync(p);
}

static void print_group_loop(Printer *p, const Stmt *s)
{
    const char *high = print_index_bare(p, loop_extent(p->mod->polys, s->var));
    print_line(p, "for (int64_t i%u = 0; i%u < %s; i%u++) {", s->var, s->var, high, s->var);
    print_bind_loop(p, s->var, 1);
    group_block(p, s->body);
    print_bind_loop(p, s->var, -1);
    print_line(p, "}");
}

// Statements that all threads of a block run alike.
static void print_group(Printer *p, const Stmt *s)
{
    for (; s; s = s->next) {
        switch (s->kind) {
        case S_FOR:
            if (s->par)
                print_divided(p, s);
            else
                print_group_loop(p, s);
            break;
        case S_IF:
            print_if(p, s, group_block);
            break;
        case S_WHILE:
            print_while(p, s, print_group);
            break;
        case S_STORE:
        case S_UPDATE:
            print_first(p, s);
            break;
        case S_SET:
            if (s->rank > 0) {
                print_first(p, s);
                break;
            }
            print_stmt(p, s);
            break;
        case S_LET:
            p->together = true;
            print_stmt(p, s);
            p->together = false;
            break;
        case S_ROW:
            print_stmt(p, s);
            break;
        }
    }
}

static bool is_device_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

// As many threads as the longest work that they share has parts, in whole warps.
static uint32_t threads_for(Printer *p, const Stmt *body, Index inner)
{
    int64_t n;
    for (const Stmt *s = body; s; s = s->next)
        if (s->kind == S_FOR || s->kind == S_IF || s->kind == S_WHILE)
            return CUDA_THREADS;
    Longest longest = longest_of(p, body);
    if (inner && (!poly_is_const(inner, &n) || n > longest.size))
        longest.size = poly_is_const(inner, &n) ? n : INT64_MAX;
    return longest.size >= CUDA_THREADS ? CUDA_THREADS : ((uint32_t)longest.size + 32) / 32 * 32;
}

static void note_grid(Printer *p, const Kernel *k, CudaGrid grid)
{
    CudaTarget *t = p->target;
    while (t->grids.len <= k->id)
        vec_push(t->arena, &t->grids, (CudaGrid){0});
    if (poly_any(grid.points, is_device_data, NULL))
        grid.points = NULL;
    t->grids.at[k->id] = grid;
}

static void print_nest(Printer *p, const Kernel *k, const Stmt *loop)
{
    Nest nest;
    nest_collect(p, loop, &nest);
    bool flat;
    CudaGrid grid = {0};
    uint32_t depth = choose_depth(p, &nest, &flat, &grid), n = nest.n;
    if (poly_equals(points_of(p, &nest, 0, n), 0)) {
        note_grid(p, k, (CudaGrid){.points = poly_const(p->mod->polys, 0)});
        return;
    }
    Index inner = depth && depth < n ? points_of(p, &nest, depth, n) : NULL;
    grid.points = points_of(p, &nest, 0, depth ? depth : n);
    grid.threads = depth ? threads_for(p, nest.body, inner) : 0;
    note_grid(p, k, grid);
    if (grid.parts) {
        print_sliced(p, &nest);
        return;
    }
    if (depth == 0) {
        p->together = true;
        print_hoisted(p, loop);
        p->together = false;
        uint32_t mark = points_begin(p, &nest, 0, n, "cameo_thread()", "cameo_threads()");
        threads_body(p, nest.body);
        points_end(p, &nest, 0, n, mark);
        return;
    }
    uint32_t mark = points_begin(p, &nest, 0, depth, "blockIdx.x", "gridDim.x");
    if (depth < n) {
        p->together = true;
        print_hoisted(p, nest.loops[depth]);
        p->together = false;
        uint32_t inner = points_begin(p, &nest, depth, n, "threadIdx.x", "blockDim.x");
        threads_body(p, nest.body);
        points_end(p, &nest, depth, n, inner);
    } else {
        print_group(p, nest.body);
    }
    points_end(p, &nest, 0, depth, mark);
}

void cuda_print_body(Printer *p, const Kernel *k)
{
    const Stmt *s = k->body;
    while (s && s->kind == S_LET)
        s = s->next;
    bool is_nest = s && s->kind == S_FOR && s->par && !s->next;
    p->in_group = true;
    if (!is_nest)
        note_grid(p, k,
                  (CudaGrid){.points = poly_const(p->mod->polys, 1), .threads = CUDA_THREADS});
    if (!is_nest) {
        print_group(p, k->body);
    } else {
        p->together = true;
        for (const Stmt *let = k->body; let != s; let = let->next)
            print_stmt(p, let);
        p->together = false;
        print_nest(p, k, s);
    }
    p->in_group = false;
}
