"""Models whose outputs have names that files cannot have, or that other files have: outputs.py FOLDER."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])


def save(name, outputs, **how):
    nodes = [helper.make_node("Mul", ["x", f"w{i}"], [y]) for i, y in enumerate(outputs)]
    weights = [numpy_helper.from_array(np.float32([i + 2, i + 3]), f"w{i}") for i in range(len(outputs))]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ["x", *outputs]]
    graph = helper.make_graph(nodes, name, ports[:1], ports[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), folder / f"{name}.onnx", **how)


long = "n" * 300
save("names", ["a/b", "a_b", "a_b-2", "a:b", "\u00e9", "\u00e8", long + "1", long + "2", "..", "A_b"])
save("over", ["y"])
save("external", ["y"], save_as_external_data=True, location="y.npy", size_threshold=0)
np.save(folder / "x.npy", np.float32([1, 10]))
