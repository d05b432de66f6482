// cameo instrument: a model whose every value is an output, so that any runtime can write them.

#include "frontend/load.h"
#include "passes/instrument.h"
#include "passes/pass.h"
#include "tools/config.h"
#include "tools/pipeline.h"

enum { OPT_OUT };

static const ToolOption options[] = {
    [OPT_OUT] = {"-o", "OUT", "the file to write (needed)"},
    {0},
};

static int work(const Tool *t, const char *path, const char *out)
{
    Arena *arena = arena_new();
    Diags diags;
    int status = EXIT_CLEAN;
    diags_init(&diags, arena, str_of(path));
    Model *m = tool_load(t, arena, path, &diags, &status);
    uint32_t before = diags.all.len, left = 0;
    PassContext c = {.diags = &diags};
    if (m && !tool_config_of_program(t, arena, path, m))
        status = EXIT_USAGE;
    else if (m && !pass_run_needed(pass_find(STR("infer")), m, &c))
        status = c.broken ? EXIT_BUG : EXIT_FINDINGS;
    if (m && diags.all.len > before)
        tool_print_diags(&diags);
    if (m && !status) {
        Buf bytes = {0};
        uint32_t dropped, added = instrument_model(m, &left);
        bool printed = form_print(t, m, form_by_ending(out), false, &bytes, &dropped);
        status = printed ? output_write(t, arena, out, m, &bytes) : EXIT_BYTES;
        buf_free(&bytes);
        if (!status && !tool_style.quiet)
            fprintf(stderr, "%u outputs added%s\n", added, left ? "" : ", all values");
        if (!status && left)
            fprintf(stderr, "left out: %u values in branches and bodies, or without a known type\n",
                    left);
    }
    if (m)
        load_close(m);
    arena_free(arena);
    return status;
}

static int run(const Tool *t, int argc, char **argv)
{
    Args args = args_of(t, argc, argv);
    const char *value, *model = NULL, *out = NULL;
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP || option == ARG_BAD)
            return option == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (option == ARG_FILE)
            model = value;
        else
            out = value;
    }
    if (!model || !out)
        return tool_error(t, EXIT_USAGE, "a MODEL and -o OUT are needed");
    return work(t, model, out);
}

const Tool tool_instrument = {"instrument", "MODEL -o OUT",
                              "makes every value of a model an output, for verify --against-values",
                              options, run};
