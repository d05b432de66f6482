"""split_conv.py FILE: three convolutions: of many places, of many rows, of few places."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

nodes, inputs, outputs, weights = [], [], [], []
for name, rows, channels, side in (("wide", 128, 256, 28), ("rows", 512, 512, 14), ("few", 512, 512, 7)):
    values = np.random.default_rng(0).standard_normal((rows, channels, 1, 1)).astype(np.float32)
    weights.append(numpy_helper.from_array(values, f"w_{name}"))
    nodes.append(helper.make_node("Conv", [f"x_{name}", f"w_{name}"], [name]))
    inputs.append(helper.make_tensor_value_info(f"x_{name}", TensorProto.FLOAT, [1, channels, side, side]))
    outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, rows, side, side]))
graph = helper.make_graph(nodes, "convolutions", inputs, outputs, weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), sys.argv[1])
