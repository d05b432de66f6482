// Compiles what is the same for all models, for targets, into the folder where cameo looks for it
// (codegen/shelf.h): a step of the build. cameo_units FOLDER CC CPU...
#include "codegen/shelf.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 4 || argc - 3 > MAX_CPUS) {
        fprintf(stderr, "usage: cameo_units FOLDER CC CPU...\n");
        return 2;
    }
    Arena *a = arena_new();
    const CompileOptions o = {.kind = EMIT_EXE, .cc = argv[2]};
    CompileReport report = {0};
    Build b = {.arena = a, .o = &o, .report = &report, .prefix = "cameo"};
    for (int i = 3; i < argc; i++)
        b.cpus[b.ncpus++] = argv[i];
    int status = dir_temporary(a, &b.dir, &report.error) ? shelf_fill(&b, argv[1]) : 3;
    if (b.dir)
        dir_remove(b.dir);
    if (status)
        fprintf(stderr, "cameo_units: %.*s\n", STR_ARG(report.error));
    arena_free(a);
    return status;
}
