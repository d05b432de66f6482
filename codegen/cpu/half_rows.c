// An innermost parallel loop over neighbours of float16 goes a row of them at a time: what it reads
// is widened first, what it stores is narrowed at last, and between these it is loops of float32,
// one up to each value that is rounded. Compilers do not find the instructions for that in one
// loop.

#include "codegen/print_parts.h"

enum { ROW = 128, SHORTEST = 16 }; // elements of a row, of a loop
enum { MOST = 8, LOOKS = 4096 };   // rows, and operands that are looked at for them

// What a row holds: neighbours that are loaded, or float32 rounded to float16.
typedef struct HalfRows {
    Printer *p;
    LoopId v;
    const Expr *at[MOST]; // casts to float32 of a load, or of a cast of float32; operands first
    uint32_t n;
    uint32_t first;        // number of the first row
    uint32_t looks;        // at operands that are left: shared ones are looked at again and again
    bool only_loads, sums; // sums: what is evaluated holds some, or is part of one
} HalfRows;

bool print_runs_along(Printer *p, LoopId v, BufferId buffer, const Index *at)
{
    const Buffer *b = buffer_at(p->mod, buffer);
    Index factor;
    return factor_of(p, linear_index(p, b->rank, b->dims, at), v, &factor) &&
           poly_equals(factor, 1);
}

static bool is_load(const Expr *e)
{
    return e->a->kind == EX_LOAD;
}

// Where data say, which are read in the loop that holds the sums of a row too.
static bool is_picked(const Expr *load)
{
    bool picked = false;
    for (uint32_t i = 0; i < load->rank; i++)
        picked |= poly_reads_data(load->at[i]);
    return picked;
}

static void add_row(HalfRows *h, const Expr *e)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (h->at[i] == e)
            return;
    if (h->n < MOST)
        h->at[h->n++] = e;
}

// Rows of what is evaluated of e whatever the elements are.
static void find_rows(HalfRows *h, const Expr *e)
{
    Printer *p = h->p;
    if (h->looks == 0)
        return;
    h->looks--;
    if (p->temp_of[e->id] || e->kind == EX_REDUCE || e->kind == EX_LOAD || e->kind == EX_LOCAL)
        return;
    const bool widens = e->kind == EX_CAST && e->dtype == DT_F32 && e->a->dtype == DT_F16;
    if (widens && is_load(e)) {
        if (!(h->sums && is_picked(e->a)) && print_runs_along(p, h->v, e->a->buffer, e->a->at))
            add_row(h, e);
        return;
    }
    const bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->a)
        find_rows(h, e->a);
    if (e->b && !lazy)
        find_rows(h, e->b);
    if (e->c && !lazy)
        find_rows(h, e->c);
    if (!h->only_loads && widens && e->a->kind == EX_CAST && e->a->a->dtype == DT_F32 &&
        expr_uses_loop(p->mod, e, h->v) && !forms_is_half(e->a->a))
        add_row(h, e);
}

const char *print_row_first(Printer *p, LoopId v, BufferId b, const Index *at)
{
    p->zeroed[v]++;
    p->nzeroed++;
    const char *first = print_element(p, b, at);
    p->zeroed[v]--;
    p->nzeroed--;
    return first;
}

// Where the row that begins at low%u lies.
static const char *print_start(Printer *p, LoopId v, BufferId b, const Index *at)
{
    return str_printf(p->arena, "&%s + low%u", print_row_first(p, v, b, at), v).at;
}

// Sets used[i] for each of the n rows that e reads itself.
static void find_used(const HalfRows *h, uint32_t n, const Expr *e, bool *used, uint32_t *looks)
{
    if (*looks == 0)
        return;
    --*looks;
    for (uint32_t i = 0; i < n; i++)
        if (h->at[i] == e) {
            used[i] = true;
            return;
        }
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            find_used(h, n, operands[i], used, looks);
}

// The loop that makes row `made` (NULL: that does s) of `value`, with the n rows before it.
static void print_inner(const HalfRows *h, uint32_t n, const Stmt *s, const Expr *value,
                        uint32_t made)
{
    Printer *p = h->p;
    const uint32_t v = h->v;
    bool used[MOST] = {false};
    uint32_t looks = LOOKS;
    find_used(h, n, value ? value : s->value, used, &looks);
    print_line(p, "for (int64_t i%u = low%u; i%u < high%u; i%u++) {", v, v, v, v, v);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p);
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) {
            const uint32_t t = ++p->ntemps;
            print_line(p, "const float t%u = half%u[i%u - low%u];", t, h->first + i, v, v);
            memo_add(p, h->at[i], t);
        }
    if (value) {
        print_statement_begin(p, value, NULL, 0);
        print_line(p, "half%u[i%u - low%u] = %s;", made, v, v,
                   without_parentheses(p, print_expr(p, value)));
        print_statement_end(p);
    } else {
        print_stmts(p, s);
    }
    print_block_end(p, mark);
    print_bind_loop(p, v, -1);
    print_line(p, "}");
}

static void print_row(const HalfRows *h, uint32_t i)
{
    Printer *p = h->p;
    const Expr *e = h->at[i]->a;
    const uint32_t v = h->v, row = h->first + i;
    print_line(p, "float half%u[%d];", row, ROW);
    if (is_load(h->at[i])) {
        print_line(p, "cameo_half_widen(high%u - low%u, %s, half%u);", v, v,
                   print_start(p, v, e->buffer, e->at), row);
        return;
    }
    print_inner(h, i, NULL, e->a, row);
    print_line(p, "cameo_half_round(high%u - low%u, half%u);", v, v, row);
}

// ---- rows of what lanes add up -----------------------------------------------------------------

HalfLoads half_loads_print(Printer *p, LoopId v, const Expr *e, const char *from, const char *n,
                           int most)
{
    HalfRows rows = {.p = p, .v = v, .looks = LOOKS, .only_loads = true, .sums = true};
    HalfLoads h = {.first = p->ntemps + 1};
    if (p->dialect->rows)
        find_rows(&rows, e);
    for (; h.n < rows.n && h.n < HALF_LOADS && rows.looks > 0; h.n++)
        h.at[h.n] = rows.at[h.n];
    p->ntemps += h.n;
    for (uint32_t i = 0; i < h.n; i++) {
        const Expr *load = h.at[i]->a;
        p->half_rows = true;
        print_line(p, "float half%u[%d];", h.first + i, most);
        print_line(p, "cameo_half_widen(%s, &%s + %s, half%u);", n,
                   print_row_first(p, v, load->buffer, load->at), from, h.first + i);
    }
    return h;
}

void half_loads_read(Printer *p, const HalfLoads *loads, const char *place)
{
    for (uint32_t i = 0; i < loads->n; i++) {
        const uint32_t t = ++p->ntemps;
        print_line(p, "const float t%u = half%u[%s];", t, loads->first + i, place);
        memo_add(p, loads->at[i], t);
    }
}

// Neighbours that are only widened, or only narrowed, pass through no row. False: they are not.
static bool print_moved(const HalfRows *h, const Stmt *s, bool narrows)
{
    Printer *p = h->p;
    const Expr *from = s->value->a;
    const bool widens =
        h->n == 1 && h->at[0] == s->value && s->kind == S_STORE && is_load(h->at[0]);
    if (!(narrows && from->kind == EX_LOAD && !p->temp_of[from->id]) && !widens)
        return false;
    if (!print_runs_along(p, h->v, from->buffer, from->at) ||
        !print_runs_along(p, h->v, s->buffer, s->at))
        return false;
    p->half_rows = true;
    print_line(p, "{");
    uint32_t mark = print_block_begin(p);
    print_line(p, "const int64_t low%u = %s;", h->v, loop_low(p, h->v));
    print_line(p, "cameo_half_%s(%s - low%u, %s, %s);", narrows ? "narrow" : "widen",
               loop_high(p, h->v), h->v, print_start(p, h->v, from->buffer, from->at),
               print_start(p, h->v, s->buffer, s->at));
    print_block_end(p, mark);
    print_line(p, "}");
    return true;
}

bool half_rows_print(Printer *p, const Stmt *loop)
{
    const Stmt *s = loop->body;
    int64_t n;
    if (!loop->par || !s || (s->kind != S_STORE && s->kind != S_SET) || s->next ||
        holds_reduce(p, s->value) ||
        (poly_is_const(print_extent(p, loop->var), &n) && n < SHORTEST))
        return false;
    HalfRows h = {.p = p, .v = loop->var, .looks = LOOKS};
    h.sums = expr_facts(p, s->value)->reduces;
    const Expr *e = s->value;
    const bool narrows = s->kind == S_STORE && e->kind == EX_CAST && e->dtype == DT_F16 &&
                         e->a->dtype == DT_F32 && !p->temp_of[e->id] &&
                         print_runs_along(p, h.v, s->buffer, s->at);
    find_rows(&h, narrows ? e->a : e);
    if ((h.n == 0 && !narrows) || h.looks == 0)
        return false;
    if (print_moved(&h, s, narrows))
        return true;
    const uint32_t v = h.v, last = p->ntemps + h.n + 1;
    h.first = p->ntemps + 1;
    p->ntemps += h.n + narrows;
    p->half_rows = true;
    print_line(p, "for (int64_t low%u = %s; low%u < %s; low%u += %d) {", v, loop_low(p, v), v,
               loop_high(p, v), v, ROW);
    uint32_t mark = print_block_begin(p);
    print_line(p, "const int64_t high%u = cameo_min_i64(low%u + %d, %s);", v, v, ROW,
               loop_high(p, v));
    for (uint32_t i = 0; i < h.n; i++)
        print_row(&h, i);
    if (narrows)
        print_line(p, "float half%u[%d];", last, ROW);
    print_inner(&h, h.n, s, narrows ? e->a : NULL, last);
    if (narrows)
        print_line(p, "cameo_half_narrow(high%u - low%u, half%u, %s);", v, v, last,
                   print_start(p, v, s->buffer, s->at));
    print_block_end(p, mark);
    print_line(p, "}");
    return true;
}
