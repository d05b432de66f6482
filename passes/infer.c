#include "ir/infer.h"
#include "passes/devices.h"
#include "passes/pass.h"

bool pass_infer(Model *m, PassContext *c)
{
    uint32_t before = c->diags ? c->diags->errors : 0;
    infer_model(m, c->diags);
    devices_place(m);
    return !c->diags || c->diags->errors == before;
}
