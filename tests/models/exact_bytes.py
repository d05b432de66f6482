"""Models as ONNX Runtime computes them exactly on any processor.

Where one has no instruction that adds four products of bytes in 32 bits (VNNI), ONNX Runtime adds two products of uint8 by int8 in
16 bits, which saturate. Factors that are both uint8 it multiplies exactly: int8 is the same 128 further, its zero point too.
"""
import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper, shape_inference

# of each operator: where its factors stand, and their zero points
FACTORS = {"MatMulInteger": ((0, 2), (1, 3)), "ConvInteger": ((0, 2), (1, 3)), "QLinearMatMul": ((3, 5),), "QLinearConv": ((3, 5),),
           "MatMulIntegerToFloat": ((0, 4), (1, 5)), "DynamicQuantizeMatMul": ((1, 3),), "QGemm": ((3, 5),),
           "DynamicQuantizeLSTM": ((1, 9), (2, 11))}


class Rewriting:
    """Of a graph. known: dtypes of the values around it."""

    def __init__(self, graph, known=()):
        self.graph, self.nodes, self.dtypes = graph, [], dict(known)
        self.constants = {w.name: w for w in graph.initializer}
        for v in [*graph.input, *graph.output, *graph.value_info]:
            self.dtypes[v.name] = v.type.tensor_type.elem_type
        self.dtypes.update((w.name, w.data_type) for w in graph.initializer)

    def further(self, value):
        """As uint8, 128 more."""
        name = f"{value}/u8"
        if name in self.dtypes:
            return name
        self.dtypes[name] = TensorProto.UINT8
        if value in self.constants:
            array = numpy_helper.to_array(self.constants[value])
            self.graph.initializer.append(numpy_helper.from_array((array.astype(np.int32) + 128).astype(np.uint8), name))
            return name
        self.graph.initializer.append(numpy_helper.from_array(np.array(128, np.int32), f"{name}/128"))
        self.nodes += [helper.make_node("Cast", [value], [f"{name}/wide"], to=TensorProto.INT32),
                       helper.make_node("Add", [f"{name}/wide", f"{name}/128"], [f"{name}/sum"]),
                       helper.make_node("Cast", [f"{name}/sum"], [name], to=TensorProto.UINT8)]
        return name

    def multiply(self, node, factor, zero):
        if len(node.input) <= factor or self.dtypes.get(node.input[factor]) != TensorProto.INT8:
            return
        node.input[factor] = self.further(node.input[factor])
        node.input.extend([""] * (zero + 1 - len(node.input)))
        if node.input[zero]:
            node.input[zero] = self.further(node.input[zero])
        else:
            node.input[zero] = f"{node.output[0]}/zero{zero}"
            self.graph.initializer.append(numpy_helper.from_array(np.array(128, np.uint8), node.input[zero]))

    def rewrite(self):
        for node in self.graph.node:
            for a in node.attribute:
                if a.type == AttributeProto.GRAPH:
                    Rewriting(a.g, self.dtypes).rewrite()
            # Those that give bytes have kernels for int8 on all sides alone, whose sums are whole.
            signed = node.op_type.startswith("Q") and self.dtypes.get(node.input[0]) != TensorProto.UINT8
            for factor, zero in FACTORS.get(node.op_type, ()) if not signed else ():
                self.multiply(node, factor, zero)
            self.nodes.append(node)
        kept = [type(n).FromString(n.SerializeToString()) for n in self.nodes]
        del self.graph.node[:]
        self.graph.node.extend(kept)


def exact(model):
    """A model of the same values, and some more, of which ONNX Runtime saturates no sum of products of bytes."""
    model = shape_inference.infer_shapes(model)
    Rewriting(model.graph).rewrite()
    return model
