// Nodes that keep their dtype because of what loads the file: valid in float16, but what it is
// loaded by ends there.

#include "passes/convert_parts.h"

// [1, .., 0, r-1] or [1, .., r-1, 0]: the first axis comes to stand last but one.
static bool sinks_first_axis(const Node *n)
{
    const int64_t *perm;
    uint32_t rank;
    if (!node_is(n, "Transpose") || !node_ints(n, "perm", &perm, &rank) || rank < 3)
        return false;
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (perm[i] != i + 1)
            return false;
    return perm[rank - 2] == 0 || perm[rank - 1] == 0;
}

static bool is_fixed(const Value *v)
{
    bool fixed = v->rank >= 0;
    for (int32_t i = 0; i < v->rank; i++)
        fixed = fixed && poly_is_const(v->dims[i], NULL);
    return fixed;
}

// A MatMul of fixed dims by a matrix that only an Add reads is a Gemm before Transposes are looked
// at.
static bool becomes_gemm(const Conversion *c, const Node *n, ValueId v, int32_t other)
{
    const ValueId y = n->nout ? n->out[0] : 0;
    const uint32_t first = y ? c->uses.first[y] : 0, uses = y ? c->uses.first[y + 1] - first : 0;
    return uses == 1 && c->uses.uses[first].node && other == 2 && is_fixed(value_at(c->m, v)) &&
           node_is(node_at(c->m, c->uses.uses[first].node), "Add");
}

// Is v an operand of a MatMul whose other one has another rank, as it is or through Casts?
static bool feeds_unlike(const Conversion *c, ValueId v, int32_t rank)
{
    for (uint32_t i = c->uses.first[v]; i < c->uses.first[v + 1]; i++) {
        const Node *n = c->uses.uses[i].node ? node_at(c->m, c->uses.uses[i].node) : NULL;
        if (n && node_is(n, "Cast") && n->nout && n->out[0] && feeds_unlike(c, n->out[0], rank))
            return true;
        if (!n || !node_is(n, "MatMul") || n->nin != 2 || !n->in[0] || !n->in[1])
            continue;
        int32_t other = value_at(c->m, n->in[1 - c->uses.uses[i].index])->rank;
        if ((other < 0 || other != rank) && !becomes_gemm(c, n, v, other))
            return true;
    }
    return false;
}

// Does it add to, multiply or compare with what is there? Of the elements' maximum and minimum
// there are kernels.
static bool scatters_half(const Node *n)
{
    const Attr *a = attr_find(n, "reduction");
    const bool elements = node_is(n, "ScatterElements");
    if (!a || (!elements && !node_is(n, "ScatterND")) || str_is(a->s, "none"))
        return false;
    return !elements || str_is(a->s, "add") || str_is(a->s, "mul");
}

Str convert_load_fault(const Conversion *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    const Target *loader = c->o->target ? c->o->target : target_find(STR("onnxruntime-cpu"));
    const char *other = c->o->target ? "" : " (a --target that is another takes it)";
    if (c->o->to != DT_F16 || c->o->in_memory || !target_ends_at_half_turns(loader) || !n->nin ||
        !n->in[0] || !n->nout || !n->out[0])
        return STR_NONE;
    if (scatters_half(n))
        return str_printf(c->m->arena, "%s ends at a float16 %.*s that reduces%s", loader->name,
                          STR_ARG(str_escaped(c->m->arena, n->op)), other);
    if (!sinks_first_axis(n) || !feeds_unlike(c, n->out[0], value_at(c->m, n->out[0])->rank))
        return STR_NONE;
    return str_printf(c->m->arena,
                      "%s crashes where it optimizes a float16 Transpose in front of a MatMul%s",
                      loader->name, other);
}
