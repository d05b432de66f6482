"""Writes a model of N Ifs in a row, each of which gives its operand or its sum over an axis."""
import sys

import onnx
from onnx import TensorProto as T, helper as h

n, path = int(sys.argv[1]), sys.argv[2]
nodes, last = [], "x"
for i in range(n):
    kept = h.make_graph([h.make_node("Identity", [last], [f"k{i}"])], "kept", [],
                        [h.make_tensor_value_info(f"k{i}", T.FLOAT, None)])
    more = h.make_graph([h.make_node("Unsqueeze", [last, "zero"], [f"m{i}"])], "more", [],
                        [h.make_tensor_value_info(f"m{i}", T.FLOAT, None)])
    nodes.append(h.make_node("If", [f"c{i}"], [f"v{i}"], name=f"if{i}", then_branch=kept,
                             else_branch=more))
    last = f"v{i}"
nodes.append(h.make_node("ReduceSum", [last], ["y"], keepdims=0))
inputs = [h.make_tensor_value_info(f"c{i}", T.BOOL, []) for i in range(n)]
inputs.append(h.make_tensor_value_info("x", T.FLOAT, [3]))
graph = h.make_graph(nodes, "row", inputs, [h.make_tensor_value_info("y", T.FLOAT, [])],
                     [h.make_tensor("zero", T.INT64, [1], [0])])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), path)
