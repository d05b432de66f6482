#include "codegen/kernel_pass.h"
#include "codegen/cpu/windows.h"
#include "codegen/fuse.h"
#include "codegen/printer.h"
#include "codegen/share_outputs.h"
#include "ir/lower.h"
#include "ir/pairs.h"

#define PASS(pass, text, ...)
#define KERNEL_PASS(pass, text, ...) static bool pass_##pass(Model *m, PassContext *c);
#include "passes/passes.def"
#undef KERNEL_PASS

const Pass kernel_passes[] = {
#define KERNEL_PASS(pass, text, ...) {.name = #pass, .doc = text, .run = pass_##pass, __VA_ARGS__},
#include "passes/passes.def"
#undef KERNEL_PASS
#undef PASS
    {.name = NULL},
};

const Pass *any_pass_find(Str name)
{
    for (const Pass *p = kernel_passes; p->name; p++)
        if (str_is(name, p->name))
            return p;
    return pass_find(name);
}

static bool pass_lower(Model *m, PassContext *c)
{
    m->kernels = lower_model(m, c->diags);
    return m->kernels && !c->diags->errors;
}

static bool pass_pairs(Model *m, PassContext *c)
{
    (void)c;
    pairs_module(m->kernels);
    return true;
}

static bool pass_fuse(Model *m, PassContext *c)
{
    FuseReport report;
    FuseTarget target = c->on_device ? fuse_target_cuda : fuse_target_cpu;
    target.scales = !c->on_device && !c->strict;
    fuse_module(m->kernels, &target, c->fused ? c->fused : &report);
    return true;
}

static bool pass_legalize(Model *m, PassContext *c)
{
    legalize_module(m->kernels, c->wide);
    return true;
}

// On a device outputs are copied to the caller's memory.
static bool pass_share_outputs(Model *m, PassContext *c)
{
    if (!c->on_device)
        share_outputs_module(m->kernels);
    return true;
}

// Schedules of the CPU: a device's threads do without.
static bool pass_unread_ends(Model *m, PassContext *c)
{
    if (!c->on_device)
        unread_ends_module(m->kernels);
    return true;
}

static bool pass_joined(Model *m, PassContext *c)
{
    if (!c->on_device)
        joined_module(m->kernels);
    return true;
}

static bool pass_beside(Model *m, PassContext *c)
{
    if (!c->on_device)
        beside_module(m->kernels);
    return true;
}

static bool pass_windows(Model *m, PassContext *c)
{
    if (!c->on_device)
        windows_module(m->kernels);
    return true;
}

static bool pass_parts(Model *m, PassContext *c)
{
    if (!c->on_device)
        parts_module(m->kernels);
    return true;
}

static bool pass_abreast(Model *m, PassContext *c)
{
    if (!c->on_device)
        abreast_module(m->kernels);
    return true;
}

static bool pass_lookup(Model *m, PassContext *c)
{
    if (!c->on_device)
        lookup_module(m->kernels);
    return true;
}
