/* What steps ask of strings: joining, splitting, order. Bytes that are no UTF-8 stay as they are.
 */
#ifndef CAMEO_STRINGS_H
#define CAMEO_STRINGS_H

#include "cameo_objects.h"
#include "cameo_text.h"

CAMEO_FN const int64_t *cameo_symbols_in(const cameo_view *v)
{
    return (const int64_t *)v->at;
}

CAMEO_FN int64_t *cameo_symbols_out(const cameo_view *v)
{
    return (int64_t *)(uintptr_t)v->at;
}

/* The element of v, broadcast to y as in NumPy, that stands at element i of y. */
CAMEO_FN int64_t cameo_broadcast(const cameo_view *v, const cameo_view *y, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int32_t k = y->rank; k-- > 0;) {
        int32_t own = k - (y->rank - v->rank);
        int64_t place = i % y->dims[k];
        i /= y->dims[k];
        if (own < 0)
            continue;
        at += v->dims[own] == 1 ? 0 : place * stride;
        stride *= v->dims[own];
    }
    return at;
}

/* The functions before trust the sizes that a model's steps give them; a text of kernels may lie.
 */
CAMEO_FN int cameo_same_count(cameo_objects *o, const cameo_view *a, const cameo_view *b)
{
    return cameo_view_count(a) == cameo_view_count(b)
               ? 0
               : cameo_objects_fail(o, "operands of two sizes");
}

/* (a, b) => (y): a and b, which broadcast to y, one after the other. */
CAMEO_FN int cameo_string_concat(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *a = &c->reads[0], *b = &c->reads[1], *y = &c->writes[0];
    for (int v = 0; v < 2; v++)
        for (int32_t k = 0; k < c->reads[v].rank; k++) {
            int32_t at = k + y->rank - c->reads[v].rank;
            if (at < 0 || (c->reads[v].dims[k] != 1 && c->reads[v].dims[k] != y->dims[at]))
                return cameo_objects_fail(o, "operands that do not broadcast");
        }
    int64_t count = cameo_view_count(y);
    for (int64_t i = 0; i < count; i++) {
        cameo_str first = cameo_string_of(o, cameo_symbols_in(a)[cameo_broadcast(a, y, i)]);
        cameo_str second = cameo_string_of(o, cameo_symbols_in(b)[cameo_broadcast(b, y, i)]);
        char *text = (char *)cameo_objects_alloc(o, first.len + second.len);
        if (!text)
            return -1;
        if (first.len)
            memcpy(text, first.at, (size_t)first.len);
        if (second.len)
            memcpy(text + first.len, second.at, (size_t)second.len);
        int64_t symbol = cameo_intern(o, text, first.len + second.len, 1);
        if (symbol < 0)
            return -1;
        cameo_symbols_out(y)[i] = symbol;
    }
    return 0;
}

/* ---- splitting */

typedef struct cameo_pieces {
    cameo_str rest, by; /* by "": white space, of which the ends of the text do not count */
    int64_t splits;     /* that may still be made; negative: any number */
    int over;
} cameo_pieces;

/* Bytes before the first white space, or (`skip`) before the first of what is none. */
CAMEO_FN int64_t cameo_space_span(cameo_str s, int skip)
{
    int64_t i = 0;
    while (i < s.len) {
        uint32_t ch;
        int n = cameo_decode_utf8(s.at + i, s.len - i, &ch);
        if (cameo_is_space(ch) != skip)
            break;
        i += n;
    }
    return i;
}

/* Where `by`, which is not empty, begins in s; s.len: nowhere. */
CAMEO_FN int64_t cameo_find(cameo_str s, cameo_str by)
{
    for (int64_t i = 0; i + by.len <= s.len; i++) {
        const char *at = (const char *)memchr(s.at + i, by.at[0], (size_t)(s.len - by.len - i + 1));
        if (!at)
            break;
        if (memcmp(at, by.at, (size_t)by.len) == 0)
            return at - s.at;
        i = at - s.at;
    }
    return s.len;
}

/* The next piece; 0: there is none. */
CAMEO_FN int cameo_next_piece(cameo_pieces *p, cameo_str *piece)
{
    if (p->over)
        return 0;
    if (p->by.len == 0) {
        int64_t skip = cameo_space_span(p->rest, 1);
        p->rest = (cameo_str){p->rest.at + skip, p->rest.len - skip};
        if (p->rest.len == 0)
            return 0;
    }
    int64_t n = p->splits == 0   ? p->rest.len
                : p->by.len == 0 ? cameo_space_span(p->rest, 0)
                                 : cameo_find(p->rest, p->by);
    *piece = (cameo_str){p->rest.at, n};
    p->over = n == p->rest.len;
    p->splits -= p->splits > 0;
    n += p->over ? 0 : p->by.len;
    p->rest = (cameo_str){p->rest.at + n, p->rest.len - n};
    return 1;
}

CAMEO_FN cameo_pieces cameo_pieces_of(const cameo_objects *o, const cameo_call *c, int64_t i)
{
    cameo_pieces p = {{"", 0}, {"", 0}, c->n[0], 0};
    p.rest = cameo_string_of(o, cameo_symbols_in(&c->reads[0])[i]);
    if (cameo_view_count(&c->reads[1]) > 0)
        p.by = cameo_string_of(o, cameo_symbols_in(&c->reads[1])[0]);
    return p;
}

/* (x, delimiter[1]) => (pieces of each, most pieces) [most splits] */
CAMEO_FN int cameo_string_split_sizes(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]), most = 0;
    int64_t *sizes = (int64_t *)(uintptr_t)c->writes[0].at;
    if (cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        cameo_pieces p = cameo_pieces_of(o, c, i);
        cameo_str piece;
        for (sizes[i] = 0; cameo_next_piece(&p, &piece);)
            sizes[i]++;
        most = sizes[i] > most ? sizes[i] : most;
    }
    *(int64_t *)(uintptr_t)c->writes[1].at = most;
    return 0;
}

/* (x, delimiter[1]) => (y) [most splits]: y has one dim more, as long as the most pieces. */
CAMEO_FN int cameo_string_split(cameo_objects *o, const cameo_call *c)
{
    int64_t count = cameo_view_count(&c->reads[0]);
    int64_t all = cameo_view_count(&c->writes[0]), most = count ? all / count : 0;
    int64_t *y = cameo_symbols_out(&c->writes[0]);
    for (int64_t i = 0; i < count; i++) {
        cameo_pieces p = cameo_pieces_of(o, c, i);
        for (int64_t k = 0; k < most; k++) {
            cameo_str piece;
            int64_t symbol = 0;
            if (cameo_next_piece(&p, &piece))
                symbol = cameo_intern(o, piece.at, piece.len, 1);
            if (symbol < 0)
                return -1;
            y[i * most + k] = symbol;
        }
    }
    return 0;
}

/* ---- order */

/* (x) => (ranks): strings ordered by their bytes have ranks that are ordered so, from 0 on. */
CAMEO_FN int cameo_string_rank(cameo_objects *o, const cameo_call *c)
{
    int64_t n = cameo_view_count(&c->reads[0]), rank = 0;
    const int64_t *x = cameo_symbols_in(&c->reads[0]);
    int64_t *ranks = (int64_t *)(uintptr_t)c->writes[0].at;
    int64_t *a = (int64_t *)cameo_objects_alloc(o, 16 * n), *b = a ? a + n : NULL;
    if (!a || cameo_same_count(o, &c->reads[0], &c->writes[0]))
        return -1;
    for (int64_t i = 0; i < n; i++)
        a[i] = i;
    for (int64_t half = 1; half < n; half *= 2) { /* runs of `half` from a are merged into b */
        for (int64_t from = 0; from < n; from += 2 * half) {
            int64_t middle = from + half < n ? from + half : n;
            int64_t end = middle + half < n ? middle + half : n, i = from, k = middle;
            for (int64_t to = from; to < end; to++) {
                int first =
                    k == end || (i < middle && cameo_compare_str(cameo_string_of(o, x[a[i]]),
                                                                 cameo_string_of(o, x[a[k]])) <= 0);
                b[to] = first ? a[i++] : a[k++];
            }
        }
        int64_t *swap = a;
        a = b;
        b = swap;
    }
    for (int64_t i = 0; i < n; i++) {
        rank += i > 0 && x[a[i]] != x[a[i - 1]];
        ranks[a[i]] = rank;
    }
    return 0;
}

#endif
