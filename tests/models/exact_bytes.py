"""Models as ONNX Runtime computes them exactly on any processor.

Where one has no instruction that adds four products of bytes in 32 bits (VNNI), ONNX Runtime adds two products of uint8 by int8 in
16 bits, which saturate. Factors that are both uint8 it multiplies exactly: int8 is the same 128 further, its zero point too.
"""
from onnx import AttributeProto, TensorProto, helper, shape_inference

FACTORS = {"MatMulInteger": ((0, 2), (1, 3)), "ConvInteger": ((0, 2), (1, 3)), "QLinearMatMul": ((0, 2), (3, 5)), "QLinearConv": ((0, 2), (3, 5))}


def dtypes_of(graph, known=()):
    """Of the values that it names, and of those around it."""
    found = dict(known)
    for v in [*graph.input, *graph.output, *graph.value_info]:
        found[v.name] = v.type.tensor_type.elem_type
    return found | {w.name: w.data_type for w in graph.initializer}


def further(nodes, value):
    """As uint8, 128 more."""
    name = f"{value}/u8"
    if all(name not in n.output for n in nodes):
        wide, more, sum_ = f"{name}/wide", f"{name}/128", f"{name}/sum"
        nodes += [helper.make_node("Cast", [value], [wide], to=TensorProto.INT32),
                  helper.make_node("Constant", [], [more], value_int=128),
                  helper.make_node("Cast", [more], [f"{more}/i32"], to=TensorProto.INT32),
                  helper.make_node("Add", [wide, f"{more}/i32"], [sum_]),
                  helper.make_node("Cast", [sum_], [name], to=TensorProto.UINT8)]
    return name


def rewrite(graph, around):
    dtypes, nodes = dtypes_of(graph, around), []
    for n in graph.node:
        for a in n.attribute:
            if a.type == AttributeProto.GRAPH:
                rewrite(a.g, dtypes)
        for factor, zero in FACTORS.get(n.op_type, ()) if n.domain in ("", "ai.onnx") else ():
            if dtypes.get(n.input[factor]) != TensorProto.INT8:
                continue
            n.input[factor] = further(nodes, n.input[factor])
            n.input.extend([""] * (zero + 1 - len(n.input)))
            if n.input[zero]:
                n.input[zero] = further(nodes, n.input[zero])
            else:
                n.input[zero] = f"{n.output[0]}/zero{zero}"
                nodes.append(helper.make_node("Constant", [], [n.input[zero]],
                                              value=helper.make_tensor("zero", TensorProto.UINT8, [], [128])))
        nodes.append(n)
    kept = [type(n).FromString(n.SerializeToString()) for n in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def exact(model):
    """A model of the same values, and some more, of which ONNX Runtime saturates no sum of products of bytes."""
    model = shape_inference.infer_shapes(model)
    rewrite(model.graph, {})
    return model
