// Globs of cameo.yaml, and what they name.

#include "passes/config.h"

bool glob_match(Str pattern, Str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && (pattern.at[p] == '?' || pattern.at[p] == text.at[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) { // let the last star take one byte more
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

const ConfigPlace *config_place_of(const Config *c, Str location, Str node_name)
{
    for (uint32_t i = 0; c && i < c->places.len; i++) {
        const ConfigPlace *p = &c->places.at[i];
        if (!glob_match(p->at, str_starts(p->at, "/") ? node_name : location))
            continue;
        if (c->placed)
            c->placed[i] = true;
        return p;
    }
    return NULL;
}
