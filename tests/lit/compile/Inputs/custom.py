"""custom.py FOLDER: the models of custom.test and their inputs."""
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as oh

OUT = pathlib.Path(sys.argv[1])
OUT.mkdir(exist_ok=True)
FLOAT = onnx.TensorProto.FLOAT


def value(name, dims, dtype=FLOAT):
    return oh.make_tensor_value_info(name, dtype, dims)


def save(name, nodes, outputs, inputs=None):
    graph = oh.make_graph(nodes, "g", inputs or [value("x", [4])], outputs)
    opsets = [oh.make_opsetid("", 20), oh.make_opsetid("d", 1)]
    onnx.save(oh.make_model(graph, ir_version=10, opset_imports=opsets), OUT / f"{name}.onnx")


def node(op, outputs=("y",), inputs=("x",), **attributes):
    return oh.make_node(op, list(inputs), list(outputs), domain="d", **attributes)


save("split", [node("Split", ["even", "odd"])], [value("even", [2]), value("odd", [2])])
save("fails", [node("Mean", inputs=["x", ""], fail=1)], [value("y", [1])])
mean = oh.make_graph([node("Mean", ["a"], ["x", ""], fail=0)], "yes", [], [value("a", [1])])
first = oh.make_graph([oh.make_node("Slice", ["x", "from", "to"], ["b"])], "no", [], [value("b", [1])])
save("branch", [oh.make_node("Constant", [], ["from"], value_ints=[0]), oh.make_node("Constant", [], ["to"], value_ints=[1]),
                oh.make_node("If", ["c"], ["y"], then_branch=mean, else_branch=first)], [value("y", [1])],
     [value("x", [4]), value("c", [], onnx.TensorProto.BOOL)])
save("struct", [oh.make_node("WithStruct", ["x"], ["y"], domain="d")], [value("y", [1])])
save("sizes", [node("Sizes")], [value("y", [1])])
save("attr", [node("Attr")], [value("y", [1])])
save("dims", [node("Same")], [value("y", ["other"])])
save("good", [node("Same")], [value("y", [4])])
save("static", [node("Hidden")], [value("y", [1])])
np.save(OUT / "x.npy", np.arange(4, dtype=np.float32))
np.save(OUT / "yes.npy", np.array(True))
np.save(OUT / "no.npy", np.array(False))
