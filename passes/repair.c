// The repairs of lint as passes. Only what is safe is done here: nobody is there to be asked.

#include "ir/infer.h"
#include "passes/insert_casts.h"
#include "passes/pass.h"

static bool infer_again(Model *m, PassContext *c, bool changed)
{
    uint32_t before = c->diags ? c->diags->errors : 0;
    if (changed)
        infer_model(m, c->diags);
    return !c->diags || c->diags->errors == before;
}

bool pass_insert_casts(Model *m, PassContext *c)
{
    Repair r = {0};
    return infer_again(m, c, insert_casts(m, &r));
}

bool pass_insert_transfers(Model *m, PassContext *c)
{
    Repair r = {0};
    return infer_again(m, c, insert_transfers(m, &r));
}
