// Operators whose definition at opset 22 is the one before with bfloat16 added to its types. Where
// no file is written, a model of an older opset has them in bfloat16 too: what they compute is what
// its own opset says.

#include "passes/convert_parts.h"

enum { OPSET = 22, LEAST = 11 }; // the first of whose definitions of all of them were so

void convert_bind_newer(Model *m, NodeId id)
{
    Node *n = node_at(m, id);
    int64_t opset = n->dead || !is_standard_domain(n->domain) ? OPSET : opset_of(m, n);
    if (opset < LEAST || opset >= OPSET)
        return;
    n->types_opset = OPSET;
    registry_bind_node(m, id);
}

void convert_take_newer(Model *m)
{
    static const char *const names[] = {"AveragePool",
                                        "Cast",
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
    for (NodeId id = 1; id < m->nodes.len; id++)
        for (uint32_t i = 0; names[i]; i++)
            if (str_is(node_at(m, id)->op, names[i]))
                convert_bind_newer(m, id);
}
