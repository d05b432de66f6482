// ranges_main MODEL: the range of every value of a model's main graph, one line each:
// name, lower and upper bound, what they rest on, NaN (0, 1, 2), integer.
#include "frontend/load.h"
#include "ir/infer.h"
#include "passes/lint/lint.h"
#include "passes/ranges.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    Arena *a = arena_new();
    Diags diags;
    int status = 0;
    diags_init(&diags, a, STR("model"));
    Model *m = argc == 2 ? load_model(a, argv[1], &diags, &status) : NULL;
    if (!m)
        return 2;
    lint_prepare(m, &diags);
    Ranges *r = ranges_of(m, a);
    for (ValueId v = 1; v < m->values.len; v++) {
        Range x = range_of(r, v);
        if (x.known && value_at(m, v)->name.len)
            printf("%.*s %.17g %.17g %d %d %d %d %d %d\n", STR_ARG(value_at(m, v)->name), x.lo,
                   x.hi, x.lo_by, x.hi_by, x.nan, x.integer,
                   x.channels ? (int)x.channels->axis : -1, x.bits);
    }
    load_close(m);
    arena_free(a);
    return 0;
}
