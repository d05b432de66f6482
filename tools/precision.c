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

static void aim(void *precision, const Processor *best)
{
    Precision *p = precision;
    p->halves = (ConvertHalves){best->halves, best->copied, processor_has_words(best)};
}

static bool rewrite(void *precision, Model *m, Diags *diags)
{
    Precision *p = precision;
    ConvertOptions *o = &p->convert;
    ConvertReport r;
    o->halves = m->for_device ? NULL : &p->halves;
    o->in_memory = true;
    o->target = target_find(m->for_device ? STR("cuda-sm90") : STR("cpu-x86-64"));
    return convert_precision(m, o, diags, &r);
}

bool precision_compile(const char *name, Precision *p, CompileOptions *o)
{
    if (strcmp(name, "f32") == 0)
        return true;
    o->rewrite = rewrite;
    o->aim = aim;
    o->rewriter = p;
    o->wide = true;
    return precision_of(name, &p->convert);
}
