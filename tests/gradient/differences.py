#!/usr/bin/env python3
"""differences.py DIR [SEED]: cases of Gradient for every operator that has derivatives, for tests/conformance/run.py.

Each model is y = sum of w * op(x...) in float64 with random w, and Gradient of y. Expected are central differences of
the reference evaluator's y; kinks are kept away from by the choice of x. Whole steps of training (steps.py) stand beside.
"""
import json
import math
import pathlib
import sys
import warnings

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import steps

STEP, OPSET = 1e-5, 23


class Erf(OpRun):
    """The evaluator's own has float32 results only."""
    op_domain = ""

    def _run(self, x):
        return (np.vectorize(math.erf, otypes=[np.float64])(x),)


def build(nodes, xs, extra, out, w):
    """`xs` are derived for, `extra` are constants; `out` is what w weighs."""
    inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, v.shape) for n, v in xs.items()]
    constants = [numpy_helper.from_array(v, n) for n, v in {**extra, "w_": w}.items()]
    nodes = [*nodes, helper.make_node("Mul", [out, "w_"], ["weighed_"]),
             helper.make_node("ReduceSum", ["weighed_"], ["y_"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y_", TensorProto.DOUBLE, [])], constants)
    return helper.make_model(graph, ir_version=11, opset_imports=[
        helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.preview.training", 1)])


def differences(model, xs):
    session, results = ReferenceEvaluator(model, new_ops=[Erf]), []
    for name, x in xs.items():
        g = np.zeros_like(x)
        for i in np.ndindex(*x.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = x.copy()
                moved[i] += step
                ends.append(float(session.run(None, {**xs, name: moved})[0]))
            g[i] = (ends[0] - ends[1]) / (2 * STEP)
        results.append(g)
    return results


class Suite:
    def __init__(self, folder, rng):
        self.folder, self.rng, self.rows = folder, rng, []

    def add(self, name, op, xs, extra=None, out="out", outs=None, nodes=None, order=None, rtol=1e-6, **attributes):
        extra = extra or {}
        operands = order or [*xs, *extra]
        nodes = nodes or [helper.make_node(op, operands, outs or [out], **attributes)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probe = build(nodes, xs, extra, out, np.ones(()))
            probe.graph.output[0].name = out
            w = self.rng.normal(size=ReferenceEvaluator(probe).run([out], dict(xs))[0].shape)
            model = build(nodes, xs, extra, out, w)
            expected = differences(model, xs)
        grads = [f"d_{n}" for n in xs]
        model.graph.node.append(derive(xs, "y_", grads))
        self.write(name, model, xs, dict(zip(grads, expected)), rtol)

    def write(self, name, model, xs, expected, rtol):
        del model.graph.output[:]
        model.graph.output.extend(helper.make_tensor_value_info(g, TensorProto.DOUBLE, v.shape) for g, v in expected.items())
        self.save(name, model, xs, expected, rtol)

    def save(self, name, model, xs, expected, rtol, atol=1e-7):
        data = self.folder / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (self.folder / name / "model.onnx").write_bytes(model.SerializeToString())
        (self.folder / name / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
        for kind, values in (("input", xs.values()), ("output", expected.values())):
            for i, v in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(v).SerializeToString())
        self.rows.append({"name": name, "kind": "node"})


def derive(xs, y, outputs, inputs=None, **attributes):
    return helper.make_node("Gradient", inputs or list(xs), outputs, domain="ai.onnx.preview.training", xs=list(xs), y=y,
                            **attributes)


def orders(s, rng):
    """What the operator's text shows beyond plain use; expected by formula."""
    x, v, at = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    w = rng.normal(size=(2, 3))
    # y = sum of w * exp(x), z = sum of v * dy/dx: dz/dx = v * w * exp(x).
    model = build([helper.make_node("Exp", ["x"], ["out"])], {"x": x, "v": v}, {}, "out", w)
    model.graph.node.extend([
        derive(["x"], "y_", ["first"]), helper.make_node("Mul", ["first", "v"], ["mixed"]),
        helper.make_node("ReduceSum", ["mixed"], ["z"], keepdims=0), derive(["x"], "z", ["second"], zs=["v"], inputs=["x", "v"])])
    s.write("second_order", model, {"x": x, "v": v}, {"first": w * np.exp(x), "second": v * w * np.exp(x)}, 1e-9)
    # At another value than the tensor's own, of a tensor in the middle.
    model = build([helper.make_node("Sin", ["x"], ["h"]), helper.make_node("Exp", ["h"], ["out"])], {"x": x, "at": at}, {}, "out", w)
    model.graph.node.append(derive(["h"], "y_", ["d"], inputs=["at"]))
    s.write("elsewhere", model, {"x": x, "at": at}, {"d": w * np.exp(at)}, 1e-9)
    # With respect to a weight of the model, and to what y does not depend on.
    model = build([helper.make_node("Mul", ["x", "k"], ["out"])], {"x": x, "at": at}, {"k": v}, "out", w)
    model.graph.node.append(derive(["k", "at"], "y_", ["dk", "none"]))
    s.write("weight", model, {"x": x, "at": at}, {"dk": w * x, "none": np.zeros_like(at)}, 1e-9)


def elementwise(s, rng):
    x = lambda low=-2.0, high=2.0, shape=(2, 3): rng.uniform(low, high, size=shape)  # noqa: E731
    ranges = {"Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Acosh": (1.1, 3), "Sqrt": (0.2, 2), "Log": (0.2, 2),
              "Tan": (-1, 1), "Reciprocal": (0.3, 2)}
    for op in ("Abs Neg Exp Log Sqrt Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sigmoid Softplus "
               "Softsign Relu LeakyRelu Elu Selu HardSigmoid HardSwish Mish ThresholdedRelu Identity").split():
        s.add(op.lower(), op, {"x": x(*ranges.get(op, (-2.0, 2.0)))})
    half = [helper.make_node("Mul", ["x", "scale"], ["u"]), helper.make_node("Erf", ["u"], ["v"]),
            helper.make_node("Add", ["v", "one"], ["w"]), helper.make_node("Mul", ["x", "w"], ["out"])]
    s.add("gelu_by_erf", None, {"x": x()}, {"scale": np.array(0.5 ** 0.5), "one": np.array(1.0)}, nodes=half)
    s.add("gelu_tanh", "Gelu", {"x": x()}, approximate="tanh")
    s.add("clip", "Clip", {"x": x()}, {"low": np.array(-0.7), "high": np.array(0.9)})
    for op in ("Add", "Sub", "Mul", "Div", "PRelu"):
        s.add(op.lower(), op, {"a": x(), "b": x(0.5, 2, (3,))})
    s.add("pow", "Pow", {"a": x(0.3, 2), "b": x(-1, 2, (3,))})
    s.add("max", "Max", {"a": x(), "b": x(), "c": x()})
    s.add("min", "Min", {"a": x(), "b": x(shape=(3,))})
    s.add("mean", "Mean", {"a": x(), "b": x()})
    s.add("sum", "Sum", {"a": x(), "b": x(), "c": x(shape=(1, 3))})
    s.add("where", "Where", {"a": x(), "b": x()}, {"c": np.array([[True, False, True]] * 2)}, order=["c", "a", "b"])
    s.add("mod", "Mod", {"a": x(1, 5), "b": x(0.6, 0.9)}, fmod=1)


def contractions(s, rng):
    n = lambda *shape: rng.normal(size=shape)  # noqa: E731
    s.add("matmul", "MatMul", {"a": n(2, 3, 4), "b": n(4, 2)})
    s.add("gemm", "Gemm", {"a": n(4, 3), "b": n(2, 4), "c": n(2)}, transA=1, transB=1, alpha=0.5, beta=2.0)
    s.add("einsum", "Einsum", {"a": n(2, 3), "b": n(3, 4)}, equation="ij,jk->ki")
    s.add("conv", "Conv", {"x": n(1, 2, 6, 5), "w": n(3, 2, 3, 2), "b": n(3)}, strides=[2, 1], pads=[1, 0, 1, 1])
    s.add("conv_groups", "Conv", {"x": n(1, 4, 6), "w": n(4, 2, 2)}, group=2, dilations=[2])
    s.add("conv_transpose", "ConvTranspose", {"x": n(1, 2, 3, 3), "w": n(2, 2, 2, 2), "b": n(2)}, strides=[2, 2])
    s.add("attention", "Attention", {"q": n(1, 2, 3, 4), "k": n(1, 2, 5, 4), "v": n(1, 2, 5, 4)})
    s.add("chain", None, {"a": n(2, 3), "b": n(3, 3)}, nodes=[
        helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Tanh", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "b"], ["e"]), helper.make_node("Add", ["e", "a"], ["f"]),
        helper.make_node("Softmax", ["f"], ["out"])])


def normalizations(s, rng):
    n = lambda *shape: rng.normal(size=shape)  # noqa: E731
    for axis in (0, 1, -1):
        s.add(f"softmax_{axis}", "Softmax", {"x": n(2, 3, 2)}, axis=axis)
    s.add("log_softmax", "LogSoftmax", {"x": n(3, 4)})
    s.add("layer_normalization", "LayerNormalization", {"x": n(2, 4), "g": n(4), "b": n(4)})
    s.add("rms_normalization", "RMSNormalization", {"x": n(2, 4), "g": n(4)})
    s.add("batch_normalization", "BatchNormalization", {"x": n(2, 3, 2), "g": n(3), "b": n(3)},
          {"m": n(3), "v": np.abs(n(3)) + 0.5})
    s.add("instance_normalization", "InstanceNormalization", {"x": n(2, 3, 4), "g": n(3), "b": n(3)})
    s.add("group_normalization", "GroupNormalization", {"x": n(1, 4, 3), "g": n(4), "b": n(4)}, num_groups=2, stash_type=TensorProto.DOUBLE)
    s.add("lp_normalization", "LpNormalization", {"x": n(2, 4)}, p=2)
    s.add("lrn", "LRN", {"x": n(4, 4, 1, 2)}, size=3)  # the evaluator takes as many channels as there are batches
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
               "ReduceLogSumExp", "ReduceSumSquare"):
        s.add(op.lower(), op, {"x": np.abs(n(2, 3, 2)) + 0.2}, {"axes": np.array([1])})
    s.add("reduceprod_zero", "ReduceProd", {"x": np.array([[1.0, 0.0, 3.0], [2.0, 0.5, -1.0]])}, {"axes": np.array([1])})
    s.add("average_pool", "AveragePool", {"x": n(1, 2, 5, 5)}, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    s.add("max_pool", "MaxPool", {"x": n(1, 2, 5, 5)}, kernel_shape=[2, 2], strides=[2, 1])
    s.add("lp_pool", "LpPool", {"x": n(1, 1, 4, 4)}, kernel_shape=[2, 2])
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        s.add(op.lower(), op, {"x": n(1, 2, 3, 3)})
    labels = np.array([1, 0, 2])
    s.add("cross_entropy", "SoftmaxCrossEntropyLoss", {"x": n(3, 4)}, {"t": labels})
    s.add("negative_log_likelihood", "NegativeLogLikelihoodLoss", {"x": n(3, 4)}, {"t": labels}, reduction="none")


def movement(s, rng):
    n = lambda *shape: rng.normal(size=shape)  # noqa: E731
    x = {"x": n(2, 3, 4)}
    s.add("transpose", "Transpose", x, perm=[2, 0, 1])
    s.add("reshape", "Reshape", x, {"s": np.array([4, -1])})
    s.add("flatten", "Flatten", x, axis=2)
    s.add("expand", "Expand", {"x": n(3, 1)}, {"s": np.array([2, 3, 4])})
    s.add("tile", "Tile", x, {"r": np.array([1, 2, 2])})
    s.add("concat", "Concat", {"a": n(2, 2), "b": n(2, 3)}, axis=1)
    s.add("split", "Split", x, {"s": np.array([1, 3])}, outs=["other", "out"], axis=2)
    s.add("slice", "Slice", x, {"b": np.array([2, 3]), "e": np.array([0, -100]), "a": np.array([1, 2]), "t": np.array([-1, -2])})
    for mode in ("constant", "reflect", "edge", "wrap"):
        s.add(f"pad_{mode}", "Pad", {"x": n(3, 4)}, {"p": np.array([1, 2, 0, 1])}, mode=mode)
    s.add("gather", "Gather", x, {"i": np.array([[0, 2], [2, -1]])}, axis=1)
    s.add("gather_elements", "GatherElements", {"x": n(3, 2)}, {"i": np.array([[0, 2], [1, 2]])}, axis=0)
    s.add("gather_nd", "GatherND", {"x": n(3, 2)}, {"i": np.array([[0, 1], [2, 0], [0, 1]])})
    s.add("scatter_add", "ScatterElements", {"x": n(3, 2), "u": n(2, 2)}, {"i": np.array([[0, 2], [0, 1]])}, order=["x", "i", "u"],
          reduction="add")
    s.add("squeeze", "Squeeze", {"x": n(2, 1, 3)}, {"a": np.array([1])})
    s.add("unsqueeze", "Unsqueeze", {"x": n(2, 3)}, {"a": np.array([0, 3])})
    s.add("depth_to_space", "DepthToSpace", {"x": n(1, 4, 2, 2)}, blocksize=2)
    s.add("space_to_depth", "SpaceToDepth", {"x": n(1, 1, 4, 2)}, blocksize=2)
    s.add("trilu", "Trilu", {"x": n(3, 4)})
    for mode in ("nearest", "linear", "cubic"):
        s.add(f"resize_{mode}", "Resize", {"x": n(1, 1, 3, 4)}, {"s": np.array([1, 1, 2, 1.5], np.float32)}, mode=mode,
              rtol=1e-4, order=["x", "", "s"])
    s.add("global", "ReduceSum", {"x": n(2, 2)}, keepdims=0)


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    s = Suite(folder, rng)
    for part in (orders, elementwise, contractions, normalizations, movement, steps.train):
        part(s, rng)
    (folder / "cases.json").write_text(json.dumps(s.rows))
    print(f"{len(s.rows)} cases in {folder}")


if __name__ == "__main__":
    main()
