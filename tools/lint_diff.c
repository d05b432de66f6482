// The difference of two texts, line by line, as a unified diff: the shortest edit by Myers' greedy
// algorithm between the common beginning and the common end. Where the edit is longer than
// MAX_EDITS lines, all of what lies between is shown as replaced.

#include "tools/lint.h"

#include <string.h>

enum { MAX_EDITS = 2000, CONTEXT = 3 };

typedef struct Lines {
    Str *at;
    uint32_t len, cap;
} Lines;

static Lines lines_of(Arena *a, Str text)
{
    Lines lines = {0};
    for (size_t i = 0; i < text.len;) {
        const char *end = memchr(text.at + i, '\n', text.len - i);
        size_t n = end ? (size_t)(end - text.at) - i : text.len - i;
        vec_push(a, &lines, ((Str){text.at + i, n}));
        i += n + 1;
    }
    return lines;
}

typedef struct Diff {
    Lines old, new;
    bool *gone, *fresh; // by line: in one of the texts only
} Diff;

// Marks the lines of old[from..] and new[from..] (n and m of them) that the shortest edit removes
// and adds. False: it is too long.
static bool shortest_edit(Arena *a, Diff *d, uint32_t from, int64_t n, int64_t m)
{
    int64_t most = n + m < MAX_EDITS ? n + m : MAX_EDITS, end = -1;
    int64_t *v = NEWS(a, int64_t, (size_t)(2 * most + 3));
    VEC(int64_t *) steps = {0};
    for (int64_t e = 0; e <= most && end < 0; e++) {
        int64_t *kept = NEWS(a, int64_t, (size_t)(2 * e + 3));
        for (int64_t k = -e; k <= e; k += 2) {
            bool down = k == -e || (k != e && v[most + k] < v[most + k + 2]);
            int64_t x = down ? v[most + k + 2] : v[most + k] + 1, y = x - k;
            while (x < n && y < m && str_eq(d->old.at[from + x], d->new.at[from + y]))
                x++, y++;
            v[most + k + 1] = x;
            if (x >= n && y >= m)
                end = e;
        }
        for (int64_t k = -e; k <= e; k++)
            kept[k + e] = v[most + k + 1];
        vec_push(a, &steps, kept);
    }
    int64_t x = n, y = m;
    for (int64_t e = end; e > 0; e--) {
        const int64_t *last = steps.at[e - 1] + (e - 1);
        int64_t k = x - y;
        bool down = k == -e || (k != e && last[k - 1] < last[k + 1]);
        int64_t before = down ? last[k + 1] : last[k - 1];
        if (down)
            d->fresh[from + (before - (k + 1))] = true;
        else
            d->gone[from + before] = true;
        x = before;
        y = before - (down ? k + 1 : k - 1);
    }
    return end >= 0;
}

static void compare(Arena *a, Diff *d)
{
    uint32_t from = 0, n = d->old.len, m = d->new.len;
    while (from < n && from < m && str_eq(d->old.at[from], d->new.at[from]))
        from++;
    while (n > from && m > from && str_eq(d->old.at[n - 1], d->new.at[m - 1]))
        n--, m--;
    if (shortest_edit(a, d, from, (int64_t)n - from, (int64_t)m - from))
        return;
    for (uint32_t i = from; i < n; i++)
        d->gone[i] = true;
    for (uint32_t i = from; i < m; i++)
        d->fresh[i] = true;
}

static bool is_same(const Diff *d, uint32_t i, uint32_t k)
{
    return i < d->old.len && k < d->new.len && !d->gone[i] && !d->fresh[k];
}

// The hunk that begins with the change at (*i, *k); both stand behind it afterwards.
static void put_hunk(const Diff *d, uint32_t *i, uint32_t *k, Buf *out)
{
    uint32_t back = *i < *k ? *i : *k;
    back = back < CONTEXT ? back : CONTEXT;
    uint32_t i0 = *i - back, k0 = *k - back, same = 0;
    Buf body = {0};
    for (uint32_t c = i0; c < *i; c++)
        buf_printf(&body, " %.*s\n", STR_ARG(d->old.at[c]));
    while ((*i < d->old.len || *k < d->new.len) && same < 2 * CONTEXT) {
        if (is_same(d, *i, *k)) {
            buf_printf(&body, " %.*s\n", STR_ARG(d->old.at[*i]));
            ++*i, ++*k, same++;
            continue;
        }
        same = 0;
        bool old = *i < d->old.len && d->gone[*i];
        buf_printf(&body, "%c%.*s\n", old ? '-' : '+',
                   STR_ARG(old ? d->old.at[*i] : d->new.at[*k]));
        ++*(old ? i : k);
    }
    buf_printf(out, "@@ -%u,%u +%u,%u @@\n", i0 + (*i > i0), *i - i0, k0 + (*k > k0), *k - k0);
    buf_put(out, body.at, body.len);
    buf_free(&body);
}

void lint_compare(Arena *a, const Str *old, uint32_t n, const Str *new, uint32_t m, bool *gone,
                  bool *fresh)
{
    Diff d = {{(Str *)(uintptr_t)old, n, n}, {(Str *)(uintptr_t)new, m, m}, gone, fresh};
    compare(a, &d);
}

void lint_diff(Str before, Str after, const char *name, Buf *out)
{
    Arena *a = arena_new();
    Diff d = {.old = lines_of(a, before), .new = lines_of(a, after)};
    d.gone = NEWS(a, bool, d.old.len + 1u);
    d.fresh = NEWS(a, bool, d.new.len + 1u);
    compare(a, &d);
    bool any = false;
    for (uint32_t i = 0, k = 0; i < d.old.len || k < d.new.len;) {
        if (is_same(&d, i, k)) {
            i++, k++;
            continue;
        }
        if (!any)
            buf_printf(out, "--- %s\n+++ %s (repaired)\n", name, name);
        any = true;
        put_hunk(&d, &i, &k, out);
    }
    arena_free(a);
}
