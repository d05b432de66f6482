// cameo: dispatch to the subcommands of tools.def, and their help.

#include "base/temporary.h"
#include "tools/tool.h"

#include <string.h>
#include <unistd.h>

#define TOOL(name) extern const Tool tool_##name;
#include "tools/tools.def"
#undef TOOL

#define TOOL(name) &tool_##name,
const Tool *const tools[] = {
#include "tools/tools.def"
    NULL};
#undef TOOL

static const Tool *find_tool(const char *name)
{
    for (const Tool *const *t = tools; *t; t++)
        if (strcmp((*t)->name, name) == 0)
            return *t;
    return NULL;
}

static void print_overview(FILE *f)
{
    fprintf(f, "usage: cameo COMMAND [ARGUMENTS]\n\ncommands:\n");
    for (const Tool *const *t = tools; *t; t++)
        fprintf(f, "  %-12s %s\n", (*t)->name, (*t)->doc);
    fprintf(f, "  %-12s %s\n", "help", "says how a command is used");
}

static int help(int argc, char **argv)
{
    bool man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= man;
    argv += man;
    const Tool *t = argc > 0 ? find_tool(argv[0]) : NULL;
    if (argc > 0 && !t) {
        fprintf(stderr, "cameo help: error: there is no command %s\n", argv[0]);
        return EXIT_USAGE;
    }
    if (t)
        (man ? tool_man : tool_help)(t, stdout);
    else
        (man ? tool_man_overview : print_overview)(stdout);
    return EXIT_CLEAN;
}

static void out_of_memory(void)
{
    fprintf(stderr, "cameo: error: not enough memory\n");
    temporary_end();
    _exit(EXIT_BYTES);
}

int main(int argc, char **argv)
{
    arena_on_exhausted(out_of_memory);
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("cameo %s\n", CAMEO_VERSION);
        return EXIT_CLEAN;
    }
    const Tool *t = find_tool(argv[1]);
    if (!t) {
        fprintf(stderr, "cameo: error: there is no command %s (see cameo help)\n", argv[1]);
        return EXIT_USAGE;
    }
    int status = t->run(t, argc - 2, argv + 2);
    const bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == EXIT_CLEAN)
        status = tool_error(t, EXIT_BYTES, "cannot write to stdout");
    return status;
}
