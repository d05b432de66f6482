// ranges_main MODEL [--whole] [--input NAME LO HI]...: the range of every value of a model, one
// line each: name, lower and upper bound, what they rest on, NaN (0, 1, 2), integer, significant
// bits; where it has channels, their axis, what they rest on, and the bounds of each. --whole:
// without channels.
#include "frontend/load.h"
#include "ir/infer.h"
#include "passes/config.h"
#include "passes/lint/lint.h"
#include "passes/ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_value(const Model *m, ValueId v, const Range *x)
{
    const Channels *c = x->channels;
    printf("%.*s\t%.17g\t%.17g\t%d\t%d\t%d\t%d\t%d", STR_ARG(value_at(m, v)->name), x->lo, x->hi,
           x->lo_by, x->hi_by, x->nan, x->integer, x->bits);
    if (c)
        printf("\t%u\t%d\t%d", c->axis, c->lo_by, c->hi_by);
    for (uint32_t k = 0; c && k < c->n; k++)
        printf("\t%.17g\t%.17g", c->lo[k], c->hi[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    Arena *a = arena_new();
    Diags diags;
    Config config = {0};
    int status = 0;
    bool whole = false;
    diags_init(&diags, a, STR("model"));
    Model *m = argc >= 2 ? load_model(a, argv[1], &diags, &status) : NULL;
    if (!m)
        return 2;
    for (int i = 2; i < argc; i++) {
        whole = whole || strcmp(argv[i], "--whole") == 0;
        if (strcmp(argv[i], "--input") || argc - i < 4)
            continue;
        ConfigRange r = {.input = str_of(argv[i + 1]), .lo = atof(argv[i + 2])};
        r.hi = atof(argv[i + 3]);
        vec_push(a, &config.ranges, r);
    }
    m->config = &config;
    lint_prepare(m, &diags);
    Ranges *r = whole ? ranges_of_whole(m, a) : ranges_of(m, a);
    for (ValueId v = 1; v < m->values.len; v++) {
        Range x = range_of(r, v);
        if (x.known && value_at(m, v)->name.len)
            print_value(m, v, &x);
    }
    load_close(m);
    arena_free(a);
    return 0;
}
