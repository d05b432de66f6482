#include "tools/precision.h"

#include <string.h>

bool precision_of(const char *name, ConvertOptions *o)
{
    static const struct {
        const char *name;
        DType to;
        bool mixed;
    } known[] = {{"f16", DT_F16, false},
                 {"bf16", DT_BF16, false},
                 {"mixed", DT_F16, true},
                 {"f64", DT_F64, false}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            o->to = known[i].to;
            o->mixed = known[i].mixed;
            return true;
        }
    return false;
}

static bool rewrite(void *options, Model *m, Diags *diags)
{
    ConvertOptions *o = options;
    ConvertReport r;
    o->in_memory = true;
    o->target = target_find(m->for_device ? STR("cuda-sm90") : STR("cpu-x86-64"));
    return convert_precision(m, o, diags, &r);
}

bool precision_compile(const char *name, ConvertOptions *o, CompileOptions *compile)
{
    if (strcmp(name, "f32") == 0)
        return true;
    compile->rewrite = rewrite;
    compile->rewriter = o;
    compile->wide = true;
    return precision_of(name, o);
}
