"""Small valid models of the kinds that people have, each with inputs: what faults are put into.

Weights are multiples of 1/64 below 2, so that float16 holds them exactly.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Builder:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, name, *dims):
        values = self.random.integers(-64, 64, dims).astype(numpy.float32) / 64
        return self.tensor(name, values)

    def tensor(self, name, values):
        self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"/{output}", **attributes))
        return output

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(self.nodes, name, [info(*i) for i in inputs],
                                  [info(*o) for o in outputs], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9,
                                  producer_name="samples")
        return shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def info(name, dtype, dims):
    return helper.make_tensor_value_info(name, dtype, dims)


def floats(seed, *dims):
    return numpy.random.default_rng(seed).standard_normal(dims).astype(numpy.float32)


def conv_net():
    b = Builder(1)
    b.weight("w1", 4, 3, 3, 3), b.weight("b1", 4), b.weight("w2", 5, 64), b.weight("b2", 5)
    for name in ("scale", "shift", "mean"):
        b.weight(name, 4)
    b.tensor("variance", numpy.full(4, 0.5, numpy.float32))
    b.tensor("std", numpy.float32(0.5))
    b.node("Div", ["image", "std"], "scaled")
    b.node("Conv", ["scaled", "w1", "b1"], "c", pads=[1, 1, 1, 1])
    b.node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], "n")
    b.node("Relu", ["n"], "r")
    b.node("MaxPool", ["r"], "p", kernel_shape=[2, 2], strides=[2, 2])
    b.node("Flatten", ["p"], "f")
    b.node("Gemm", ["f", "w2", "b2"], "g", transB=1)
    b.node("Softmax", ["g"], "y")
    model = b.model("conv_net", [("image", FLOAT, ["N", 3, 8, 8])], [("y", FLOAT, ["N", 5])])
    return model, {"image": floats(2, 2, 3, 8, 8)}


def mlp():
    b = Builder(3)
    b.weight("w1", 6, 8), b.weight("b1", 8), b.weight("w2", 8, 4), b.weight("b2", 4)
    b.node("MatMul", ["x", "w1"], "h0")
    b.node("Add", ["h0", "b1"], "h1")
    b.node("Relu", ["h1"], "h2")
    b.node("Constant", [], "half", value=numpy_helper.from_array(numpy.float32(0.5)))
    b.node("Mul", ["h2", "half"], "h3")
    b.node("MatMul", ["h3", "w2"], "h4")
    b.node("Add", ["h4", "b2"], "y")
    b.node("Tanh", ["h1"], "z")
    model = b.model("mlp", [("x", FLOAT, ["N", 6])],
                    [("y", FLOAT, ["N", 4]), ("z", FLOAT, ["N", 8])])
    return model, {"x": floats(4, 3, 6)}


def attention():
    b = Builder(5)
    for name in ("wq", "wk", "wv", "wo"):
        b.weight(name, 8, 8)
    b.weight("table", 16, 8), b.weight("gamma", 8), b.weight("beta", 8)
    b.tensor("root", numpy.float32(4)), b.tensor("eps", numpy.float32(2 ** -14))
    b.tensor("axes", numpy.array([-1], numpy.int64))
    b.node("Gather", ["table", "ids"], "e")
    for name in "qkv":
        b.node("MatMul", ["e", f"w{name}"], name)
    b.node("Transpose", ["k"], "kt", perm=[0, 2, 1])
    b.node("MatMul", ["q", "kt"], "s")
    b.node("Div", ["s", "root"], "sd")
    b.node("Cast", ["mask"], "mf", to=FLOAT)
    b.node("Unsqueeze", ["mf", "first"], "m1")
    b.tensor("first", numpy.array([1], numpy.int64)), b.tensor("one", numpy.float32(1))
    b.tensor("far", numpy.float32(-1000))
    b.node("Sub", ["one", "m1"], "m2"), b.node("Mul", ["m2", "far"], "m3")
    b.node("Add", ["sd", "m3"], "sm"), b.node("Softmax", ["sm"], "a", axis=-1)
    b.node("MatMul", ["a", "v"], "av"), b.node("MatMul", ["av", "wo"], "o")
    b.node("Add", ["o", "e"], "r"), b.node("ReduceMean", ["r", "axes"], "mu")
    b.node("Sub", ["r", "mu"], "d"), b.node("Mul", ["d", "d"], "d2")
    b.node("ReduceMean", ["d2", "axes"], "va"), b.node("Add", ["va", "eps"], "ve")
    b.node("Sqrt", ["ve"], "sq"), b.node("Div", ["d", "sq"], "n")
    b.node("Mul", ["n", "gamma"], "ng"), b.node("Add", ["ng", "beta"], "y")
    model = b.model("attention", [("ids", INT64, ["N", "S"]), ("mask", INT64, ["N", "S"])],
                    [("y", FLOAT, ["N", "S", 8])])
    ids = numpy.random.default_rng(6).integers(0, 16, (2, 5))
    return model, {"ids": ids, "mask": numpy.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]])}


def branches():
    """If with captured values: x is used in both branches and outside of them."""
    b = Builder(7)
    b.weight("w", 4, 4), b.weight("bias", 4)
    then = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["t0"]),
                              helper.make_node("Add", ["t0", "bias"], ["t"])], "then", [],
                             [info("t", FLOAT, ["N", 4])])
    other = helper.make_graph([helper.make_node("Sub", ["x", "shift"], ["e"])], "else", [],
                              [info("e", FLOAT, ["N", 4])],
                              [numpy_helper.from_array(numpy.full(4, 0.25, numpy.float32), "shift")])
    b.node("If", ["flag"], "i", then_branch=then, else_branch=other)
    b.node("Relu", ["i"], "r"), b.node("Add", ["r", "x"], "y")
    model = b.model("branches", [("x", FLOAT, ["N", 4]), ("flag", BOOL, [])],
                    [("y", FLOAT, ["N", 4])])
    return model, {"x": floats(8, 3, 4), "flag": numpy.array(True)}


def loop():
    """A carried state, captured weights and a captured input, one gathered result."""
    b = Builder(9)
    b.weight("w", 4, 4), b.weight("start", 2, 4)
    b.tensor("times", numpy.int64(3)), b.tensor("go", numpy.array(True))
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond"], ["more"]),
         helper.make_node("MatMul", ["state", "w"], ["l0"]),
         helper.make_node("Add", ["l0", "x"], ["l1"]), helper.make_node("Tanh", ["l1"], ["next"]),
         helper.make_node("Mul", ["next", "x"], ["seen"])],
        "body", [info("i", INT64, []), info("cond", BOOL, []), info("state", FLOAT, [2, 4])],
        [info("more", BOOL, []), info("next", FLOAT, [2, 4]), info("seen", FLOAT, [2, 4])])
    b.nodes.append(helper.make_node("Loop", ["times", "go", "start"], ["last", "all"], name="/loop",
                                    body=body))
    b.node("Relu", ["last"], "y")
    model = b.model("loop", [("x", FLOAT, [2, 4])],
                    [("y", FLOAT, [2, 4]), ("all", FLOAT, [3, 2, 4])])
    return model, {"x": floats(10, 2, 4)}


def scan():
    b = Builder(11)
    b.weight("start", 4), b.weight("w", 4)
    body = helper.make_graph(
        [helper.make_node("Mul", ["item", "w"], ["s0"]),
         helper.make_node("Add", ["state", "s0"], ["next"]),
         helper.make_node("Identity", ["next"], ["seen"])],
        "body", [info("state", FLOAT, [4]), info("item", FLOAT, [4])],
        [info("next", FLOAT, [4]), info("seen", FLOAT, [4])])
    b.nodes.append(helper.make_node("Scan", ["start", "x"], ["sum", "sums"], name="/scan", body=body,
                                    num_scan_inputs=1))
    b.node("Neg", ["sum"], "y")
    model = b.model("scan", [("x", FLOAT, [5, 4])], [("y", FLOAT, [4]), ("sums", FLOAT, [5, 4])])
    return model, {"x": floats(12, 5, 4)}


def shapes():
    """Shape arithmetic: what frameworks make of view, slicing and padding."""
    b = Builder(13)
    b.weight("w", 6, 6), b.weight("offset", 6)
    b.tensor("zero", numpy.array([0], numpy.int64)), b.tensor("two", numpy.array([2], numpy.int64))
    b.tensor("rest", numpy.array([-1], numpy.int64)), b.tensor("ends", numpy.array([6], numpy.int64))
    b.tensor("axis", numpy.array([1], numpy.int64)), b.tensor("pads", numpy.array([0, 0, 0, 2]))
    b.node("Shape", ["x"], "s"), b.node("Gather", ["s", "zero"], "n")
    b.node("Mul", ["n", "two"], "n2"), b.node("Concat", ["n2", "rest"], "target", axis=0)
    b.node("Reshape", ["x", "target"], "v"), b.node("Pad", ["v", "pads"], "p")
    b.node("Slice", ["p", "zero", "ends", "axis"], "c"), b.node("MatMul", ["c", "w"], "m")
    b.node("Add", ["m", "offset"], "y")
    model = b.model("shapes", [("x", FLOAT, [3, 8])], [("y", FLOAT, None)])
    return model, {"x": floats(14, 3, 8)}


def two_inputs():
    """Results that only inputs decide: no weight says which dtype is meant."""
    b = Builder(15)
    b.node("Add", ["a", "b"], "s"), b.node("Exp", ["s"], "e"), b.node("Sub", ["e", "a"], "y")
    b.node("Cast", ["k"], "kf", to=FLOAT), b.node("Mul", ["e", "kf"], "z")
    model = b.model("two_inputs", [("a", FLOAT, [4]), ("b", FLOAT, [4]), ("k", INT64, [4])],
                    [("y", FLOAT, [4]), ("z", FLOAT, [4])])
    return model, {"a": floats(16, 4), "b": floats(17, 4), "k": numpy.arange(4)}


def listed():
    """As models were before IR version 4: weights are inputs too."""
    model, inputs = mlp()
    model.ir_version = 3
    model.graph.name = "listed"
    model.graph.input.extend(info(w.name, w.data_type, w.dims) for w in model.graph.initializer)
    return model, inputs


SAMPLES = [conv_net, mlp, attention, branches, loop, scan, shapes, two_inputs, listed]


def own_samples():
    for make in SAMPLES:
        model, inputs = make()
        onnx.checker.check_model(model, full_check=True)
        yield make.__name__, model, inputs
