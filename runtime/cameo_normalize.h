/* StringNormalizer: stop words and case. */
#ifndef CAMEO_NORMALIZE_H
#define CAMEO_NORMALIZE_H

#include "cameo_case.h"
#include "cameo_strings.h"

enum { CAMEO_CASE_KEEP, CAMEO_CASE_LOWER, CAMEO_CASE_UPPER };

/* A string in another case, character by character (Unicode's simple mappings); -1: no memory. */
CAMEO_FN int64_t cameo_string_in_case(cameo_objects *o, int64_t symbol, int64_t change)
{
    cameo_str s = cameo_string_of(o, symbol);
    if (change == CAMEO_CASE_KEEP || s.len == 0)
        return symbol;
    char *text = (char *)cameo_objects_alloc(o, 2 * s.len + 4), *to = text;
    if (!text)
        return -1;
    for (int64_t i = 0; i < s.len;) {
        uint32_t ch;
        int n = cameo_decode_utf8(s.at + i, s.len - i, &ch);
        if (ch == CAMEO_NO_CHARACTER)
            *to++ = s.at[i];
        else
            to += cameo_encode_utf8(change == CAMEO_CASE_LOWER ? cameo_lower(ch) : cameo_upper(ch),
                                    to);
        i += n;
    }
    return cameo_intern(o, text, to - text, 1);
}

/* The elements of x that are no stop words, in the case asked for, written to y unless that is
 * NULL; how many, or -1. Stop words are compared as they stand, or (not sensitive) in one case. */
CAMEO_FN int64_t cameo_normalize(cameo_objects *o, const cameo_call *c, int64_t *y, int64_t room)
{
    const cameo_view *x = &c->reads[0], *stop = &c->reads[1];
    int64_t change = c->n[0], kept = 0, count = cameo_view_count(x), nstop = cameo_view_count(stop);
    int64_t compare = c->n[1]                      ? CAMEO_CASE_KEEP
                      : change == CAMEO_CASE_UPPER ? CAMEO_CASE_UPPER
                                                   : CAMEO_CASE_LOWER;
    int64_t *stops = (int64_t *)cameo_objects_alloc(o, nstop * 8);
    if (!stops)
        return -1;
    for (int64_t k = 0; k < nstop; k++)
        if ((stops[k] = cameo_string_in_case(o, cameo_symbols_in(stop)[k], compare)) < 0)
            return -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t own = cameo_symbols_in(x)[i], word = own, k = 0;
        if (nstop > 0 && (word = cameo_string_in_case(o, own, compare)) < 0)
            return -1;
        while (k < nstop && stops[k] != word)
            k++;
        if (k < nstop)
            continue;
        if (y && (kept >= room || (y[kept] = cameo_string_in_case(o, own, change)) < 0))
            return -1;
        kept++;
    }
    if (kept == 0 && y && room > 0)
        y[0] = 0;
    return kept ? kept : 1; /* nothing left: one "" */
}

/* (x, stop words) => (elements left) [case, sensitive] */
CAMEO_FN int cameo_string_normalize_count(cameo_objects *o, const cameo_call *c)
{
    int64_t n = cameo_normalize(o, c, NULL, 0);
    *(int64_t *)(uintptr_t)c->writes[0].at = n;
    return n < 0 ? -1 : 0;
}

/* (x, stop words) => (y) [case, sensitive] */
CAMEO_FN int cameo_string_normalize(cameo_objects *o, const cameo_call *c)
{
    int64_t room = cameo_view_count(&c->writes[0]);
    return cameo_normalize(o, c, cameo_symbols_out(&c->writes[0]), room) < 0 ? -1 : 0;
}

#endif
