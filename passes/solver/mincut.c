// Dinic: breadth-first levels from the source, then a blocking flow along them, until the sink is
// out of reach; what can be reached then is the source's side. No recursion: paths are as long as
// a model may be.

#include "passes/solver/mincut.h"

#include <string.h>

typedef struct Arc {
    uint32_t to, next; // next: of the same vertex, 0 ends (arcs 0 and 1 are unused)
    Cost left;
} Arc;

struct Cut {
    Arena *arena;
    VEC(Arc) arcs;       // arc i and i ^ 1 are each other's reverse
    VEC(uint32_t) first; // by vertex
    uint32_t *level;     // 1 + distance from the source, 0: out of reach
};

Cut *cut_new(Arena *a)
{
    Cut *c = NEW(a, Cut);
    c->arena = a;
    vec_push(a, &c->arcs, (Arc){0});
    vec_push(a, &c->arcs, (Arc){0});
    cut_vertex(c);
    cut_vertex(c);
    return c;
}

uint32_t cut_vertex(Cut *c)
{
    vec_push(c->arena, &c->first, 0);
    return c->first.len - 1;
}

static void push_arc(Cut *c, uint32_t from, uint32_t to, Cost capacity)
{
    Arc arc = {to, c->first.at[from], capacity};
    vec_push(c->arena, &c->arcs, arc);
    c->first.at[from] = c->arcs.len - 1;
}

void cut_arc(Cut *c, uint32_t from, uint32_t to, Cost capacity)
{
    if (from == to || capacity <= 0)
        return;
    push_arc(c, from, to, capacity);
    push_arc(c, to, from, 0);
}

// Levels of what the source reaches; is the sink among it?
static bool find_levels(Cut *c, uint32_t *queue, int64_t *work)
{
    uint32_t head = 0, tail = 0;
    memset(c->level, 0, c->first.len * sizeof *c->level);
    c->level[CUT_SOURCE] = 1;
    queue[tail++] = CUT_SOURCE;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t i = c->first.at[v]; i; i = c->arcs.at[i].next) {
            const Arc *arc = &c->arcs.at[i];
            --*work;
            if (arc->left <= 0 || c->level[arc->to])
                continue;
            c->level[arc->to] = c->level[v] + 1;
            queue[tail++] = arc->to;
        }
    }
    return c->level[CUT_SINK] != 0;
}

// Sends what fits along the path, and says how many of its arcs stay usable.
static uint32_t push_along(Cut *c, const uint32_t *path, uint32_t n, Cost *flow)
{
    Cost fits = COST_NEVER;
    uint32_t kept = n;
    for (uint32_t k = 0; k < n; k++)
        if (c->arcs.at[path[k]].left < fits)
            fits = c->arcs.at[path[k]].left;
    for (uint32_t k = n; k-- > 0;) {
        c->arcs.at[path[k]].left -= fits;
        c->arcs.at[path[k] ^ 1].left += fits;
        if (c->arcs.at[path[k]].left == 0)
            kept = k;
    }
    *flow = *flow > COST_NEVER - fits ? COST_NEVER : *flow + fits;
    return kept;
}

// A flow that uses up an arc of every path along the levels. `at` holds each vertex's next arc to
// try.
static void block(Cut *c, uint32_t *at, uint32_t *path, Cost *flow, int64_t *work)
{
    uint32_t n = 0, v = CUT_SOURCE;
    memcpy(at, c->first.at, c->first.len * sizeof *at);
    while (*flow < COST_NEVER && *work >= 0) {
        if (v == CUT_SINK) {
            n = push_along(c, path, n, flow);
            v = n ? c->arcs.at[path[n - 1]].to : CUT_SOURCE;
            continue;
        }
        while (at[v]) {
            const Arc *arc = &c->arcs.at[at[v]];
            --*work;
            if (arc->left > 0 && c->level[arc->to] == c->level[v] + 1)
                break;
            at[v] = arc->next;
        }
        if (at[v]) {
            path[n++] = at[v];
            v = c->arcs.at[at[v]].to;
            continue;
        }
        if (n == 0)
            return;
        n--; // a dead end: back, and past the arc that led here
        v = c->arcs.at[path[n] ^ 1].to;
        at[v] = c->arcs.at[at[v]].next;
    }
}

bool cut_solve(Cut *c, Cost *least, int64_t *work)
{
    uint32_t n = c->first.len;
    uint32_t *queue = NEWS(c->arena, uint32_t, n), *at = NEWS(c->arena, uint32_t, n);
    c->level = NEWS(c->arena, uint32_t, n);
    *least = 0;
    while (*least < COST_NEVER && find_levels(c, queue, work)) {
        if (*work < 0)
            return false;
        block(c, at, queue, least, work);
    }
    return *work >= 0;
}

bool cut_is_sink_side(const Cut *c, uint32_t v)
{
    return c->level[v] == 0;
}
