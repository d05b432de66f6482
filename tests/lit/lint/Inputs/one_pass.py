"""one_pass.py FILE: a product in float16 whose square is taken, with weights that are large enough to be looked at late."""
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

weights = numpy_helper.from_array(numpy.random.default_rng(1).standard_normal((256, 256)).astype(numpy.float16), "w")
nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("MatMul", ["t", "w"], ["h"]),
         helper.make_node("Mul", ["h", "h"], ["y"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 10, [1, 256])],
                          [helper.make_tensor_value_info("y", 10, [1, 256])], [weights])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), sys.argv[1])
