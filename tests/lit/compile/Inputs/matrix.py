"""A model that multiplies its input by a square matrix: matrix.py OUT SEED [EXTERNAL or "" [SIDE, 256]]."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

out, seed = sys.argv[1], int(sys.argv[2])
side = int(sys.argv[4]) if len(sys.argv) > 4 else 256
w = numpy_helper.from_array(np.random.default_rng(seed).random((side, side), np.float32), "w")
ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, side]) for n in "xy"]
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "matrix", ports[:1], ports[1:], [w])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
if len(sys.argv) > 3 and sys.argv[3]:
    onnx.save(model, out, save_as_external_data=True, location=sys.argv[3], size_threshold=0)
else:
    onnx.save(model, out)
