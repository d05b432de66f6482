#!/usr/bin/env python3
"""ranges.py RANGES_MAIN [--models N] [--seed S] [--suite DIR]: every computed value lies within its range.

Random small models from a table of operators run in ONNX Runtime with all their values as outputs, on inputs that reach to
the ends of what the analysis takes them to be; where a range says so, no value is NaN and all are integers. With --suite the
models of a generated conformance suite are run on their own data instead.
"""
import argparse
import collections
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ort.set_default_logger_severity(4)
F = TensorProto.FLOAT

UNARY = ["Neg", "Abs", "Relu", "Exp", "Log", "Sqrt", "Sigmoid", "Tanh", "Erf", "Atan", "Sinh", "Asinh", "Cosh", "Sin", "Cos",
         "Softplus", "Softsign", "Reciprocal", "Sign", "Floor", "Ceil", "Round", "HardSwish", "Acos", "Asin", "Identity", "Mish",
         "Gelu", "Softmax", "LogSoftmax", "Hardmax"]
WITH_ALPHA = {"LeakyRelu": (0.01, 2), "Elu": (0.1, 2), "HardSigmoid": (0.05, 0.6), "ThresholdedRelu": (0.1, 2), "Celu": (0.5, 2)}
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Mod", "PRelu", "Less", "Equal", "Greater"]
REDUCE = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]
MOVE = ["Transpose", "Reshape", "Slice", "Concat", "Pad", "Expand", "Tile", "Unsqueeze", "Gather", "Trilu"]
LAYERS = ["Conv", "ConvTranspose", "MatMul", "Gemm", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
          "MaxPool", "AveragePool", "GlobalAveragePool", "CumSum", "Clip", "Where", "Cast", "Resize", "TopK", "ArgMax", "Shape",
          "If", "Loop", "Scan", "MatMul2", "Quantize"]
DIMS = [2, 4, 3, 3]


class Draw:
    """A model of some nodes over float32 values of shape [2, 4, 3, 3]."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.count = rng, [], [], 0
        self.values = ["x0", "x1"]

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *dims):
        scale = self.rng.choice([0.1, 1, 5, 50])
        kind = self.rng.integers(4)
        a = self.rng.uniform(-1, 1, dims) * scale
        return (abs(a) if kind == 0 else a + scale if kind == 1 else np.round(a) if kind == 2 else a).astype(np.float32)

    def node(self, op, inputs, outputs=1, **attrs):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attrs))
        return names[0]

    def pick(self):
        recent = self.values[-3:] if self.rng.random() < 0.7 else self.values
        return recent[self.rng.integers(len(recent))]

    def bounded(self):
        """A value that is not as large as its dtype allows."""
        x = self.pick()
        choice = self.rng.integers(4)
        if choice == 0:
            return self.node("Clip", [x, self.weight(np.float32(-3)), self.weight(np.float32(self.rng.choice([0, 2, 40])))])
        return self.node(["Sigmoid", "Tanh", "Sin"][choice - 1], [x])

    def grow(self):
        rng, kind = self.rng, self.rng.integers(10)
        x = self.bounded() if rng.random() < 0.6 else self.pick()
        if kind < 2:
            y = self.node(str(rng.choice(UNARY)), [x])
        elif kind == 2:
            op = str(rng.choice(list(WITH_ALPHA)))
            y = self.node(op, [x], alpha=float(rng.uniform(*WITH_ALPHA[op])))
        elif kind < 6:
            y = self.binary(x)
        elif kind == 6:
            y = self.reduce(x)
        elif kind == 7:
            y = self.move(x)
        else:
            y = getattr(self, "layer_" + str(rng.choice(LAYERS)).lower())(x)
        self.values.append(y)

    def binary(self, x):
        op = str(self.rng.choice(BINARY))
        shapes = [(), (4, 1, 1), (3,), (2, 4, 3, 3), (1, 4, 1, 1)]
        other = self.weight(self.floats(*shapes[self.rng.integers(5)])) if self.rng.random() < 0.6 else self.pick()
        if op == "Pow" and self.rng.random() < 0.5:
            other = self.weight(np.float32(self.rng.choice([2, 3, 0.5, -1, -0.5, 4])))
        pair = [x, other] if self.rng.random() < 0.8 or op == "PRelu" else [other, x]
        if op == "PRelu" and not other.startswith("w"):
            pair[1] = self.weight(self.floats(4, 1, 1))
        y = self.node(op, pair, **({"fmod": 1} if op == "Mod" else {}))
        if op in ("Less", "Equal", "Greater"):
            y = self.node("Cast", [y], to=F)
        return self.whole(y)

    def whole(self, y):
        """Expanded to the shape that all values have."""
        return self.node("Expand", [y, self.weight(np.array(DIMS, np.int64))])

    def reduce(self, x):
        axes = sorted(set(self.rng.integers(0, 4, self.rng.integers(1, 4)).tolist()))
        return self.whole(self.node(str(self.rng.choice(REDUCE)), [x, self.weight(np.array(axes, np.int64))]))

    def move(self, x):
        op = str(self.rng.choice(MOVE))
        if op == "Transpose":
            y = self.node(op, [x], perm=[2, 1, 0, 3])
            return self.node(op, [self.node("Relu", [y])], perm=[2, 1, 0, 3])
        if op == "Concat":
            y = self.node(op, [x, self.pick()], axis=1)
            return self.node("Gather", [y, self.weight(np.array([1, 3, 5, 7], np.int64))], axis=1)
        if op == "Pad":
            y = self.node(op, [x, self.weight(np.array([0, 0, 1, 1, 0, 0, 0, 0], np.int64)), self.weight(self.floats())])
            return self.slice(y)
        if op == "Tile":
            return self.slice(self.node(op, [x, self.weight(np.array([1, 1, 2, 2], np.int64))]))
        if op == "Gather":
            return self.node(op, [x, self.weight(np.array([2, 0, 1], np.int64))], axis=2)
        if op == "Trilu":
            return self.node(op, [x])
        y = self.node("Reshape", [x, self.weight(np.array([6, 12], np.int64))])
        return self.node("Reshape", [self.node("Tanh", [y]), self.weight(np.array(DIMS, np.int64))])

    def slice(self, x):
        ends = self.weight(np.array(DIMS, np.int64))
        return self.node("Slice", [x, self.weight(np.zeros(4, np.int64)), ends])

    def layer_conv(self, x):
        group = int(self.rng.choice([1, 2, 4]))
        inputs = [x, self.weight(self.floats(4, 4 // group, 3, 3))] + ([self.weight(self.floats(4))] if self.rng.random() < 0.7 else [])
        return self.node("Conv", inputs, pads=[1, 1, 1, 1], group=group)

    def layer_convtranspose(self, x):
        group = int(self.rng.choice([1, 2]))
        inputs = [x, self.weight(self.floats(4, 4 // group, 3, 3)), self.weight(self.floats(4))]
        return self.node("ConvTranspose", inputs, pads=[1, 1, 1, 1], group=group)

    def layer_matmul(self, x):
        return self.node("MatMul", [x, self.weight(self.floats(3, 3))])

    def layer_matmul2(self, x):
        return self.node("MatMul", [x, self.bounded()])

    def layer_gemm(self, x):
        flat = self.node("Reshape", [x, self.weight(np.array([8, 9], np.int64))])
        trans = int(self.rng.integers(2))
        y = self.node("Gemm", [flat, self.weight(self.floats(9, 9)), self.weight(self.floats(9))], transB=trans,
                      alpha=float(self.rng.choice([1, -0.5, 2])), beta=float(self.rng.choice([1, 0.5])))
        return self.node("Reshape", [y, self.weight(np.array(DIMS, np.int64))])

    def layer_batchnormalization(self, x):
        return self.node("BatchNormalization", [x, self.weight(self.floats(4)), self.weight(self.floats(4)),
                                                self.weight(self.floats(4)), self.weight(abs(self.floats(4)) + 0.01)])

    def layer_layernormalization(self, x):
        return self.node("LayerNormalization", [x, self.weight(self.floats(3, 3)), self.weight(self.floats(3, 3))], axis=2)

    def layer_instancenormalization(self, x):
        return self.node("InstanceNormalization", [x, self.weight(self.floats(4)), self.weight(self.floats(4))])

    def layer_maxpool(self, x):
        return self.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def layer_averagepool(self, x):
        return self.node("AveragePool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=int(self.rng.integers(2)))

    def layer_globalaveragepool(self, x):
        return self.whole(self.node("GlobalAveragePool", [x]))

    def layer_cumsum(self, x):
        return self.node("CumSum", [x, self.weight(np.array(self.rng.integers(4), np.int64))], exclusive=int(self.rng.integers(2)))

    def layer_clip(self, x):
        low, high = sorted(self.rng.uniform(-9, 9, 2).astype(np.float32))
        least = self.weight(np.float32(low)) if self.rng.random() < 0.7 else ""
        return self.node("Clip", [x, least, self.weight(np.float32(high))])

    def layer_where(self, x):
        c = self.node("Less", [x, self.weight(self.floats())])
        return self.whole(self.node("Where", [c, x, self.weight(self.floats())]))

    def layer_cast(self, x):
        to = [TensorProto.INT32, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8][self.rng.integers(4)]
        y = self.node("Cast", [self.bounded()], to=to)
        if to != TensorProto.FLOAT16:
            y = self.node("Add", [y, y])
            y = self.node("Mul", [y, y]) if to != TensorProto.UINT8 else y
        return self.node("Cast", [y], to=F)

    def layer_resize(self, x):
        mode = str(self.rng.choice(["nearest", "linear"]))
        return self.slice(self.node("Resize", [x, "", self.weight(np.array([1, 1, 2, 1.5], np.float32))], mode=mode))

    def layer_topk(self, x):
        y = self.node("TopK", [x, self.weight(np.array([3], np.int64))], outputs=2, axis=3)
        index = self.node("Cast", [self.nodes[-1].output[1]], to=F)
        return self.node("Add", [y, index])

    def layer_argmax(self, x):
        return self.whole(self.node("Cast", [self.node("ArgMax", [x], axis=1)], to=F))

    def layer_shape(self, x):
        y = self.node("Gather", [self.node("Shape", ["free"]), self.weight(np.array(0, np.int64))])
        y = self.node("Cast", [self.node("Mul", [y, self.weight(np.array(3, np.int64))])], to=F)
        return self.whole(self.node("Div", [y, self.weight(np.float32(7))]))

    def layer_quantize(self, x):
        scale, zero = self.weight(np.float32(0.05)), self.weight(np.uint8(7))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero]), scale, zero])

    def graph(self, name, nodes, inputs, outputs):
        of = lambda n: helper.make_tensor_value_info(n, TensorProto.BOOL if n.startswith("c") else
                                                     TensorProto.INT64 if n.startswith("i") else F, None)
        return helper.make_graph(nodes, name, [of(n) for n in inputs], [of(n) for n in outputs])

    def layer_if(self, x):
        c = self.node("Greater", [self.node("ReduceMax", [x], keepdims=0), self.weight(np.float32(0.5))])
        a, b = self.name(), self.name()
        yes = self.graph("yes", [helper.make_node("Exp", [self.bounded()], [a])], [], [a])
        no = self.graph("no", [helper.make_node("Neg", [x], [b])], [], [b])
        return self.node("If", [c], then_branch=yes, else_branch=no)

    def layer_loop(self, x):
        n = self.count = self.count + 1
        step = self.weight(self.floats())
        body = self.graph("body", [helper.make_node("Identity", [f"c{n}"], [f"cc{n}"]),
                                   helper.make_node(str(self.rng.choice(["Tanh", "Relu", "Exp", "Sin"])), [f"h{n}"], [f"t{n}"]),
                                   helper.make_node(str(self.rng.choice(["Mul", "Add"])), [f"t{n}", step], [f"hh{n}"]),
                                   helper.make_node("Cast", [f"i{n}"], [f"s{n}"], to=F)],
                          [f"i{n}", f"c{n}", f"h{n}"], [f"cc{n}", f"hh{n}", f"s{n}"])
        y = self.node("Loop", [self.weight(np.array(3, np.int64)), "", x], outputs=2, body=body)
        return self.whole(self.node("Add", [y, self.node("ReduceMax", [self.nodes[-1].output[1]], keepdims=0)]))

    def layer_scan(self, x):
        n = self.count = self.count + 1
        body = self.graph("body", [helper.make_node("Add", [f"h{n}", f"e{n}"], [f"t{n}"]), helper.make_node("Sin", [f"t{n}"], [f"hh{n}"]),
                                   helper.make_node("Abs", [f"hh{n}"], [f"s{n}"])], [f"h{n}", f"e{n}"], [f"hh{n}", f"s{n}"])
        first = self.node("Reshape", [self.slice_first(x), self.weight(np.array([4, 3, 3], np.int64))])
        self.node("Scan", [first, x], outputs=2, body=body, num_scan_inputs=1)
        return self.nodes[-1].output[1]

    def slice_first(self, x):
        one = self.weight(np.array([1], np.int64))
        return self.node("Slice", [x, self.weight(np.array([0], np.int64)), one, self.weight(np.array([0], np.int64))])

    def model(self):
        outputs = [helper.make_tensor_value_info(n, 0, None) for node in self.nodes for n in node.output]
        for o in outputs:
            o.ClearField("type")
        inputs = [helper.make_tensor_value_info("x0", F, DIMS), helper.make_tensor_value_info("x1", F, DIMS),
                  helper.make_tensor_value_info("free", F, ["N", 2])]
        graph = helper.make_graph(self.nodes, "ranges", inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def feeds(rng, t):
    x = [rng.uniform(-1, 1, DIMS) * rng.choice([1, 10, 1000, 1e30]), rng.uniform(0, 3, DIMS)]
    if t == 1:
        x[0] = np.full(DIMS, np.finfo(np.float32).max) * rng.choice([-1, 1, 0.5], DIMS)
    return {"x0": x[0].astype(np.float32), "x1": x[1].astype(np.float32), "free": np.zeros((rng.integers(1, 9), 2), np.float32)}


def read_ranges(main, path):
    done = subprocess.run([main, str(path)], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"ranges_main exits {done.returncode}")
    found = {}
    for line in done.stdout.splitlines():
        name, lo, hi, _, _, nan, integer, _, bits = line.rsplit(" ", 8)
        found[name] = (float(lo), float(hi), int(nan), int(integer), int(bits))
    return found


def outside(ranges, name, value):
    """What is wrong with a computed value; None if nothing is."""
    if name not in ranges or value.dtype == object or value.size == 0:
        return None
    lo, hi, nan, integer, bits = ranges[name]
    v = value.astype(np.float64)
    numbers = v[~np.isnan(v)]
    if numbers.size < v.size and nan == 0:
        return "NaN"
    if numbers.size and (numbers.min() < lo or numbers.max() > hi):
        return f"[{numbers.min():.9g}, {numbers.max():.9g}] not in [{lo:.9g}, {hi:.9g}]"
    finite = numbers[np.isfinite(numbers)]
    if integer and (finite != np.round(finite)).any():
        return "not an integer"
    if bits and finite.size:
        scaled = np.ldexp(np.frexp(finite)[0], bits)
        if (scaled != np.round(scaled)).any():
            return f"needs more than {bits} bits"
    return None


def maker(model, name):
    return next((n.op_type for n in model.graph.node if name in n.output), "input")


def try_model(main, model, path, inputs, count, tight):
    path.write_bytes(model.SerializeToString())
    ranges = read_ranges(main, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    for feed in inputs:
        for name, value in zip(names, session.run(None, feed)):
            if not isinstance(value, np.ndarray):
                continue
            count["values"] += 1
            op = maker(model, name)
            count["op " + op] += 1
            lo, hi = ranges.get(name, (-math.inf, math.inf))[:2]
            tight[op] += abs(lo) < 1e30 and abs(hi) < 1e30
            wrong = outside(ranges, name, value)
            if wrong:
                return f"{op} {name}: {wrong}"
    return None


def random_models(args, count, tight):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.models):
            rng = np.random.default_rng([args.seed, number])
            draw = Draw(rng)
            for _ in range(rng.integers(3, 12)):
                draw.grow()
            path = pathlib.Path(folder) / "m.onnx"
            try:
                wrong = try_model(args.main, draw.model(), path, [feeds(rng, t) for t in range(3)], count, tight)
            except (ort.capi.onnxruntime_pybind11_state.Fail, ort.capi.onnxruntime_pybind11_state.NotImplemented,
                    ort.capi.onnxruntime_pybind11_state.InvalidGraph, ort.capi.onnxruntime_pybind11_state.InvalidArgument) as e:
                count["refused"] += 1
                if args.verbose:
                    print(f"model {number}: {e}")
                continue
            if wrong:
                failed += 1
                print(f"model {number} (seed {args.seed}): {wrong}")
                if args.keep:
                    (pathlib.Path(args.keep) / f"{number}.onnx").write_bytes(path.read_bytes())
    return failed


def suite_models(args, count, tight):
    failed = 0
    for folder in sorted(pathlib.Path(args.suite).iterdir()):
        path = folder / "model.onnx"
        data = sorted(folder.glob("test_data_set_*"))
        if not path.exists() or not data:
            continue
        try:
            ranges = read_ranges(args.main, path)
            model = onnx.load(path)
            given = [numpy_helper.to_array(onnx.load_tensor(f)) for f in data[0].glob("input_*.pb")]
            if any(g.dtype.kind not in "biu" and not np.isfinite(g.astype(np.float64)).all() for g in given):
                count["not finite"] += 1
                continue
            for k, o in enumerate(model.graph.output):
                t = onnx.load_tensor(data[0] / f"output_{k}.pb")
                wrong = outside(ranges, o.name, numpy_helper.to_array(t))
                count["values"] += 1
                if wrong:
                    failed += 1
                    print(f"{folder.name}: {o.name}: {wrong}")
        except (ValueError, TypeError, OSError, onnx.onnx_cpp2py_export.checker.ValidationError, Exception) as e:
            count["refused"] += 1
            if args.verbose:
                print(f"{folder.name}: {e}")
    return failed


def long_constants():
    """(name, values): more elements than are looked at one by one, and few of them (expected is the same)."""
    rng = np.random.default_rng(5)
    for n in (70000, 300):
        for dtype in (np.int32, np.uint32, np.int64, np.uint64):
            info = np.iinfo(dtype)
            for low, high in ((0, 100), (info.min, info.max), (0, 1), (5, 1 << 20)):
                yield np.dtype(dtype).name, rng.integers(low, high, n, dtype, endpoint=True)
            yield np.dtype(dtype).name, rng.integers(0, 100, n).astype(dtype) * 4096
        for x in (rng.standard_normal(n), np.round(rng.standard_normal(n) * 1e6), rng.standard_normal(n).astype(np.float32),
                  np.zeros(n), rng.integers(-9, 9, n) * 1e300, 2.0 ** 51 + rng.integers(0, 9, n) * 0.5, rng.standard_normal(n) * 1e-9):
            yield "float64", np.asarray(x, np.float64)
            odd = np.array(x, np.float64)
            odd[[3, n // 2]] = np.inf, -np.inf
            yield "float64 with infinities", odd
            odd = odd.copy()
            odd[n - 2:] = np.nan
            yield "float64 with NaN", odd


def constants(args, count):
    """Bounds, integrality and significant bits of constants, which are exact."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, values in long_constants():
            tensor = onnx.numpy_helper.from_array(values, "w")
            kind = helper.make_tensor_value_info("y", tensor.data_type, [len(values)])
            graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "constants", [], [kind], [tensor])
            path = pathlib.Path(folder) / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
            lo, hi, nan, integer, bits = read_ranges(args.main, path)["w"]
            numbers = values[values == values].astype(np.float64)
            finite = numbers[np.isfinite(numbers)]
            fractions = np.frexp(np.abs(finite))[0]
            needed = next(b for b in range(1, 54) if (np.ldexp(fractions, b) == np.round(np.ldexp(fractions, b))).all())
            wide = name[-2:] == "64" and name[0] in "iu" and np.abs(numbers).max() >= 2.0 ** 53
            right = (numbers.min(), numbers.max(), bool((finite == np.round(finite)).all()), 64 if wide else needed)
            count["values"] += 1
            if (lo, hi, bool(integer), bits) != right or bool(nan) != (numbers.size < values.size):
                failed += 1
                print(f"{len(values)} of {name}: {(lo, hi, integer, bits)}, not {right}")
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("main")
    p.add_argument("--models", type=int, default=400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--suite")
    p.add_argument("--keep")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    count, tight = collections.Counter(), collections.Counter()
    failed = suite_models(args, count, tight) if args.suite else random_models(args, count, tight)
    failed += 0 if args.suite else constants(args, count)
    if args.verbose:
        for key in sorted(count):
            if key.startswith("op "):
                print(f"{key[3:]:24} {count[key]:6} values, {tight[key[3:]]:6} with bounds")
    print(f"{count['values']} values checked, {failed} models with one outside of its range, {count['refused']} not run")
    enough = args.suite or count["refused"] * 5 < args.models
    return 1 if failed or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
