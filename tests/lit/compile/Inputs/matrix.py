"""A model that multiplies its input by a matrix of 256 x 256: matrix.py OUT SEED [EXTERNAL]."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

out, seed = sys.argv[1], int(sys.argv[2])
w = numpy_helper.from_array(np.random.default_rng(seed).random((256, 256), np.float32), "w")
ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 256]) for n in "xy"]
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "matrix", ports[:1], ports[1:], [w])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
if len(sys.argv) > 3:
    onnx.save(model, out, save_as_external_data=True, location=sys.argv[3], size_threshold=0)
else:
    onnx.save(model, out)
