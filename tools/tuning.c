#include "tools/tuning.h"

bool tuning_take(const Tool *t, const char *path, CompileOptions *o)
{
    Arena *arena = arena_new();
    Str error;
    const bool ok = processor_read(arena, path, &o->tuned, &error);
    if (!ok)
        tool_error(t, 0, "%.*s", STR_ARG(error));
    arena_free(arena);
    return ok;
}
