// Operators whose definition at opset 22 is the one before with bfloat16 added to its types. Where
// no file is written, a model of an older opset has them in bfloat16 too: what they compute is what
// its own opset says.

#include "passes/convert_parts.h"

enum { OPSET = 22, LEAST = 11 }; // the first of whose definitions of all of them were so

// Convolutions of planes by themselves are bound by what they read and write, and are no quicker in
// fewer bits; dense ones between them gain less than the casts cost.
static bool has_groups(const Model *m)
{
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        if (!n->dead && node_is(n, "Conv") && node_int(n, "group", 1) != 1)
            return true;
    }
    return false;
}

void convert_take_newer(Model *m)
{
    static const char *const names[] = {"AveragePool",
                                        "Conv",
                                        "ConvTranspose",
                                        "Cos",
                                        "Elu",
                                        "GlobalLpPool",
                                        "GlobalMaxPool",
                                        "HardSigmoid",
                                        "HardSwish",
                                        "InstanceNormalization",
                                        "LpPool",
                                        "MaxPool",
                                        "Mish",
                                        "Round",
                                        "Selu",
                                        "Sin",
                                        "Softplus",
                                        "Softsign",
                                        "GlobalAveragePool",
                                        "ThresholdedRelu",
                                        NULL};
    if (has_groups(m))
        return;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        const int64_t opset = n->dead || !is_standard_domain(n->domain) ? OPSET : opset_of(m, n);
        for (uint32_t i = 0; opset >= LEAST && opset < OPSET && names[i]; i++)
            if (str_is(n->op, names[i]))
                n->types_opset = OPSET;
        if (n->types_opset)
            registry_bind_node(m, id);
    }
}
