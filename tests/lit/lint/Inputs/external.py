"""external.py FOLDER: m.onnx, whose weights lie in two files beside it, w.bin (float32) and b.bin (float64), among other bytes.

The model has texts, metadata, imports of other domains, a quantization annotation, training information and fields that no
schema knows.
"""
import pathlib
import sys

import numpy
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])


def external(name, dtype, dims, location, **where):
    tensor = TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL, doc_string=f"of {name}")
    for key, value in {"location": location, **where}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


weights = numpy.arange(4096, dtype=numpy.float32)
(folder / "w.bin").write_bytes(bytes(64) + weights.tobytes() + b"more")
(folder / "b.bin").write_bytes(numpy.arange(64, dtype=numpy.float64).tobytes())
nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="mm", doc_string="a product"),
         helper.make_node("Add", ["m", "b"], ["a"], name="add"), helper.make_node("Mul", ["a", "c"], ["y"], name="mul")]
nodes[0].metadata_props.add(key="namespace", value="a/b")
graph = helper.make_graph(
    nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64], "what is given")],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])],
    [external("w", TensorProto.FLOAT, [64, 64], "w.bin", offset=64, length=weights.nbytes),
     external("b", TensorProto.DOUBLE, [64], "b.bin"), numpy_helper.from_array(numpy.full(64, 0.5, numpy.float32), "c")],
    doc_string="a graph", value_info=[helper.make_tensor_value_info("m", TensorProto.FLOAT, [2, 64])])
graph.quantization_annotation.add(tensor_name="m").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="c")
imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.acme", 7), helper.make_opsetid("ai.onnx.ml", 3)]
model = helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="me", doc_string="two\nlines", domain="acme")
model.metadata_props.add(key="k", value="v\0v")
training = model.training_info.add()
training.algorithm.name = "step"
training.algorithm.node.append(helper.make_node("Identity", ["m"], ["next"]))
training.update_binding.add(key="w", value="next")
# Fields 500 (bytes) and 511 (a number) of ModelProto.
(folder / "m.onnx").write_bytes(model.SerializeToString() + b"\xa2\x1f\x05hello" + b"\xf8\x1f\x2a")
