#include "passes/target.h"

#include <string.h>

// Bits of the tables.

#define BIT(t) ((TypeSet)1 << (t))
#define F32 BIT(DT_F32)
#define F64 BIT(DT_F64)
#define F16 BIT(DT_F16)
#define BF16 BIT(DT_BF16)
#define I8 BIT(DT_I8)
#define I16 BIT(DT_I16)
#define I32 BIT(DT_I32)
#define I64 BIT(DT_I64)
#define U8 BIT(DT_U8)
#define U16 BIT(DT_U16)
#define U32 BIT(DT_U32)
#define U64 BIT(DT_U64)
#define I4 BIT(DT_I4)
#define U4 BIT(DT_U4)
#define BOOL BIT(DT_BOOL)
#define STRING BIT(DT_STRING)
#define E4M3 BIT(DT_F8E4M3FN)
#define FP8                                                                                        \
    (BIT(DT_F8E4M3FN) | BIT(DT_F8E4M3FNUZ) | BIT(DT_F8E5M2) | BIT(DT_F8E5M2FNUZ) | BIT(DT_F8E8M0))
#define FP4 BIT(DT_F4E2M1)
#define INT32_64 (I32 | I64)
#define INTEGERS (I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
#define PLAIN (F32 | F64 | F16 | BF16 | INTEGERS | BOOL)
#define EVERY (~(TypeSet)0)

typedef enum Family { cpu, cuda, trt, ort_cpu, ort_cuda, ort_webgpu } Family;

typedef struct KernelRow {
    Family family;
    TypeSet types;
    const char *ops; // separated by blanks
} KernelRow;

typedef struct HostRow {
    Family family;
    const char *op, *why;
} HostRow;

typedef struct HabitRow {
    Family family;
    bool casts_around, pairs_in_16_bits, half_turns_end;
} HabitRow;

typedef struct LowSumRow {
    Family family;
    const char *domain, *ops, *remedy;
} LowSumRow;

#define KERNELS(family, types, ops) {family, types, ops},
static const KernelRow kernels[] = {
#include "passes/targets.def"
};

#define HOST(family, op, why) {family, op, why},
static const HostRow hosts[] = {
#include "passes/targets.def"
};

#define HABITS(family, ...) {family, __VA_ARGS__},
static const HabitRow habits[] = {
#include "passes/targets.def"
};

#define LOW_SUMS(family, domain, ops, remedy) {family, domain, ops, remedy},
static const LowSumRow low_sums[] = {
#include "passes/targets.def"
};

#define SPEED(name, memory, link, flops) {name, memory, link, flops},
static const TargetSpeed speeds[] = {
#include "passes/targets.def"
};

#define ACC_F32 DT_F32
#define ACC_NONE DT_NONE
#define TARGET(family, name, device, typed, f16, bf16, f32, types, doc)                            \
    {name, doc, device, typed, ACC_##f16, ACC_##bf16, ACC_##f32, types, family},
static const Target targets[] = {
#include "passes/targets.def"
};

enum {
    NKERNELS = sizeof kernels / sizeof *kernels,
    NHOSTS = sizeof hosts / sizeof *hosts,
    NTARGETS = sizeof targets / sizeof *targets
};

const Target *target_at(uint32_t i)
{
    return i < NTARGETS ? &targets[i] : NULL;
}

const Target *target_find(Str name)
{
    for (uint32_t i = 0; i < NTARGETS; i++)
        if (str_is(name, targets[i].name))
            return &targets[i];
    return NULL;
}

const char *target_meant(Str name)
{
    const char *names[NTARGETS];
    for (uint32_t i = 0; i < NTARGETS; i++)
        names[i] = targets[i].name;
    return str_nearest(name, names, NTARGETS);
}

static bool lists(const char *ops, Str op)
{
    while (*ops) {
        size_t n = strcspn(ops, " ");
        if (n == op.len && memcmp(ops, op.at, n) == 0)
            return true;
        ops += n + (ops[n] == ' ');
    }
    return false;
}

static bool has_rows(const Target *t)
{
    return t->family != cpu && t->family != cuda;
}

TypeSet target_types(const Target *t, Str op)
{
    TypeSet found = 0;
    for (uint32_t i = 0; i < NKERNELS; i++)
        if (kernels[i].family == (Family)t->family && lists(kernels[i].ops, op))
            found |= kernels[i].types;
    return found & t->types;
}

// The operand by whose dtype kernels are chosen: the first; of an operator without, its result.
static DType deciding_dtype(const Model *m, const Node *n)
{
    ValueId v = n->nin && n->in[0] ? n->in[0] : n->nin ? 0 : n->nout ? n->out[0] : 0;
    return v && value_at(m, v)->kind == TYPE_TENSOR ? value_at(m, v)->dtype : DT_NONE;
}

const char *target_host_reason(const Target *t, const Node *n)
{
    if (!is_standard_domain(n->domain))
        return NULL;
    for (uint32_t i = 0; i < NHOSTS; i++)
        if (hosts[i].family == (Family)t->family && str_is(n->op, hosts[i].op))
            return hosts[i].why;
    return NULL;
}

bool target_has_kernel(const Target *t, const Model *m, NodeId id, DType *lacks)
{
    const Node *n = node_at(m, id);
    DType d = deciding_dtype(m, n);
    *lacks = DT_NONE;
    if (!is_standard_domain(n->domain) && has_rows(t))
        return false;
    TypeSet types = has_rows(t) ? target_types(t, n->op) : n->def && n->def->lower ? t->types : 0;
    if (!types)
        return false;
    if (d == DT_NONE || types >> d & 1)
        return true;
    *lacks = d;
    return false;
}

static const HabitRow *habits_of(const Target *t)
{
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (habits[i].family == (Family)t->family)
            return &habits[i];
    return NULL;
}

bool target_casts_around(const Target *t)
{
    const HabitRow *h = habits_of(t);
    return h && h->casts_around;
}

bool target_pairs_in_16_bits(const Target *t)
{
    const HabitRow *h = habits_of(t);
    return h && h->pairs_in_16_bits;
}

bool target_ends_at_half_turns(const Target *t)
{
    const HabitRow *h = habits_of(t);
    return h && h->half_turns_end;
}

const char *target_low_sums(const Target *t, const Node *n)
{
    for (size_t i = 0; i < sizeof low_sums / sizeof *low_sums; i++)
        if (low_sums[i].family == (Family)t->family && str_is(n->domain, low_sums[i].domain) &&
            lists(low_sums[i].ops, n->op))
            return low_sums[i].remedy;
    return NULL;
}

const TargetSpeed *target_speed(const Target *t)
{
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (strcmp(speeds[i].name, t->name) == 0)
            return &speeds[i];
    return NULL;
}
