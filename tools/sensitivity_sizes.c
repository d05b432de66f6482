// Programs compiled for the sizes of one data set.

#include "tools/sensitivity_parts.h"

#include <string.h>

void sizes_note(FirstSizes *s, const cameo_model *m, const Inputs *in, int32_t probe)
{
    s->known = true;
    for (int32_t i = 0; i < in->n && s->n < MAX_FIXED; i++) {
        const cameo_tensor *t = &in->tensors[i];
        if (i == probe || !in->given[i] || t->rank == 0 || (m->input_types && m->input_types[i]))
            continue;
        Str text = str_printf(s->arena, "%s=", m->inputs[i].name);
        for (int32_t k = 0; k < t->rank; k++)
            text = str_printf(s->arena, "%s%s%lld", text.at, k ? "x" : "", (long long)t->dims[k]);
        s->input[s->n] = i;
        s->shapes[s->n].rank = t->rank;
        memcpy(s->shapes[s->n].dims, t->dims, sizeof t->dims);
        s->texts[s->n++] = text.at;
    }
}

void sizes_fix(const FirstSizes *s, CompileOptions *o)
{
    for (uint32_t i = 0; i < s->n && o->nfixed < MAX_FIXED; i++)
        o->fixed[o->nfixed++] = (FixedSize){s->texts[i], true};
}

bool sizes_fit(const FirstSizes *s, const Inputs *in)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const cameo_tensor *t = &in->tensors[s->input[i]], *first = &s->shapes[i];
        if (t->rank != first->rank ||
            memcmp(t->dims, first->dims, (size_t)t->rank * sizeof *t->dims) != 0)
            return false;
    }
    return true;
}
