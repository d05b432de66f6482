#include "codegen/stages.h"

#include <string.h>
#include <time.h>

double stage_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void stage_end(Arena *a, Stages *s, const char *name, double *since)
{
    const double now = stage_clock();
    vec_push(a, s, ((Stage){name, now - *since}));
    *since = now;
}

void stage_more(Arena *a, Stages *s, const char *name, double *since)
{
    for (uint32_t i = 0; i < s->len; i++) {
        if (strcmp(s->at[i].name, name) != 0)
            continue;
        const double now = stage_clock();
        s->at[i].seconds += now - *since;
        *since = now;
        return;
    }
    stage_end(a, s, name, since);
}
