// Contracts of custom operators beside the nodes of a graph.

#include "ir/contract.h"

static Str key_of(Arena *a, Str domain, Str op)
{
    return str_printf(a, "%.*s%c%.*s", STR_ARG(domain), '\0', STR_ARG(op));
}

const CustomOp *contract_of(const Contracts *c, Arena *scratch, const Node *n)
{
    if (!c || !c->ops.len)
        return NULL;
    const uint32_t *at = map_get(&c->by_name, key_of(scratch, n->domain, n->op));
    return at ? &c->ops.at[*at - 1] : NULL;
}

void contract_add(Contracts *c, Arena *a, CustomOp op)
{
    c->by_name.arena = a;
    vec_push(a, &c->ops, op);
    *map_put(&c->by_name, key_of(a, op.domain, op.op), NULL) = c->ops.len;
}

uint32_t custom_count(const CustomFunction *f, CustomKind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->nparams; i++)
        n += f->params[i].kind == kind;
    return n;
}

ValueId custom_value(const CustomFunction *f, const Node *n, uint32_t i)
{
    const CustomKind kind = f->params[i].kind;
    uint32_t k = 0;
    for (uint32_t before = 0; before < i; before++)
        k += f->params[before].kind == kind;
    return kind == CUSTOM_INPUT ? n->in[k] : kind == CUSTOM_OUTPUT ? n->out[k] : 0;
}

const char *custom_type_name(DType t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F32] = "float",          [DT_F64] = "double",        [DT_F16] = "__half",
        [DT_BF16] = "__nv_bfloat16", [DT_I8] = "int8_t",         [DT_I16] = "int16_t",
        [DT_I32] = "int32_t",        [DT_I64] = "int64_t",       [DT_U8] = "uint8_t",
        [DT_U16] = "uint16_t",       [DT_U32] = "uint32_t",      [DT_U64] = "uint64_t",
        [DT_BOOL] = "bool",          [DT_F8E4M3FN] = "fp8_e4m3", [DT_F8E5M2] = "fp8_e5m2"};
    return t > DT_NONE && t < DT_COUNT && names[t] ? names[t] : dtype_name(t);
}

// Bytes in memory: bool is a byte of 0 or 1 in both, so uint8_t takes it.
static bool same_type(DType have, DType want)
{
    return have == want || (have == DT_BOOL && want == DT_U8);
}

static ValueId operand_value(const Node *n, uint32_t i)
{
    return i < n->nin ? n->in[i] : n->out[i - n->nin];
}

bool custom_misfit(const Model *m, const CustomFunction *f, NodeId id, CustomMisfit *what)
{
    const Node *n = node_at(m, id);
    uint32_t in = 0, out = 0, bound[16];
    *what = (CustomMisfit){.operand = UINT32_MAX, .other = UINT32_MAX};
    for (uint32_t i = 0; i < 16; i++)
        bound[i] = UINT32_MAX;
    if (custom_count(f, CUSTOM_INPUT) != n->nin || custom_count(f, CUSTOM_OUTPUT) != n->nout)
        return true;
    for (uint32_t i = 0; i < f->nparams; i++) {
        const CustomParam *p = &f->params[i];
        if (p->kind != CUSTOM_INPUT && p->kind != CUSTOM_OUTPUT)
            continue;
        uint32_t operand = p->kind == CUSTOM_INPUT ? in++ : n->nin + out++;
        ValueId v = operand_value(n, operand);
        DType have = v ? value_at(m, v)->dtype : DT_NONE;
        if (have == DT_NONE)
            continue;
        *what = (CustomMisfit){operand, have, p->dtype, NULL, UINT32_MAX};
        if (p->dtype != DT_NONE && !same_type(have, p->dtype))
            return true;
        if (p->variable < 0 || p->variable >= 16)
            continue;
        what->variable = &f->variables[p->variable];
        if (what->variable->types && !(what->variable->types >> have & 1))
            return true;
        uint32_t *first = &bound[p->variable];
        what->other = *first;
        what->want = *first == UINT32_MAX ? DT_NONE : value_at(m, operand_value(n, *first))->dtype;
        if (*first != UINT32_MAX && what->want != have)
            return true;
        *first = operand;
    }
    return false;
}

const CustomFunction *custom_fitting(const Model *m, const CustomOp *op, NodeId id,
                                     const CustomFunction **nearest, CustomMisfit *misfit)
{
    *nearest = NULL;
    for (uint32_t i = 0; i < op->functions.len; i++) {
        CustomMisfit x;
        if (!custom_misfit(m, op->functions.at[i], id, &x))
            return op->functions.at[i];
        if (!*nearest || (misfit->operand == UINT32_MAX && x.operand != UINT32_MAX)) {
            *nearest = op->functions.at[i];
            *misfit = x;
        }
    }
    return NULL;
}

const CustomFunction *custom_function_of(const Model *m, Arena *scratch, NodeId id)
{
    const CustomOp *op = contract_of(m->contracts, scratch, node_at(m, id));
    CustomMisfit misfit;
    bool on_device = m->for_device && node_at(m, id)->device != 1; // 1: the host
    for (uint32_t i = 0; op && on_device && i < op->functions.len; i++) {
        const CustomFunction *f = op->functions.at[i];
        if (f->is_kernel && !custom_misfit(m, f, id, &misfit))
            return f;
    }
    for (uint32_t i = 0; op && i < op->functions.len; i++) {
        const CustomFunction *f = op->functions.at[i];
        if (f->is_c && !custom_misfit(m, f, id, &misfit))
            return f;
    }
    return NULL;
}
