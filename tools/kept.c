#include "tools/kept.h"
#include "tools/lint.h"

#include <string.h>

bool kept_take(Results *r, const char *model, const CompileOptions *o, Diags *diags)
{
    Arena *a = diags->arena;
    Config config = {0};
    LintResult said;
    Str bytes = STR_NONE;
    Diags unused;
    diags_init(&unused, a, STR_NONE);
    *r = (Results){0};
    if (strcmp(model, "-") == 0 || !config_read(a, model, &config, &unused) ||
        !results_open(r, a, model, &config, o) || !results_take(r, &bytes) ||
        !lint_unpack(a, bytes, &said))
        return false;
    for (uint32_t i = 0; i < said.found.len; i++)
        vec_push(a, &diags->all, said.found.at[i]);
    return true;
}

void kept_keep(Results *r, const Model *m, const CompileReport *report, const Diags *diags)
{
    LintResult said = {0};
    Buf bytes = {0};
    for (uint32_t i = 0; i < diags->all.len; i++)
        vec_push(diags->arena, &said.found, diags->all.at[i]);
    lint_pack(&said, &bytes);
    results_keep(r, m, report, (Str){bytes.at, bytes.len});
    buf_free(&bytes);
}
