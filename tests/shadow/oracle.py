#!/usr/bin/env python3
"""oracle.py CAMEO [SEED [WIDTH]]: what `cameo verify --layers` says of small models, against the reference evaluator in float64.

Every value of a float32 model is taken from Cameo itself (`cameo instrument`, run without fusion but for Softmax). The same model with
every float in float64 is run by the reference evaluator: the shadow Y. Each node alone, in float64 on the float32
values, gives L. total = y - Y, made = y - L and inherited = L - Y are then computed here and compared with the report.
Values inside branches and bodies are compared by writing the same computation without them, or by the numbers of
iterations that a loop unrolled by hand has. WIDTH is what the shadow is computed in, f64 or dd.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

class LayerNormalization(OpRun):
    """The evaluator's own computes in float32 alone."""
    op_domain = ""

    def _run(self, x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1):  # pylint: disable=unused-argument
        axes = tuple(range(axis % x.ndim, x.ndim))
        away = x - x.mean(axis=axes, keepdims=True)
        y = away / np.sqrt((away * away).mean(axis=axes, keepdims=True) + float(np.float32(epsilon))) * scale
        return (y if bias is None else y + bias,)


F32, F64, I64, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.BOOL
OPSET = 17


def model_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
        [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)])


def widen_graph(graph):
    """Every float32 of the graph in float64, in place."""
    for t in graph.initializer:
        if t.data_type == F32:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    for info in [*graph.input, *graph.output, *graph.value_info]:
        if info.type.tensor_type.elem_type == F32:
            info.type.tensor_type.elem_type = F64
    for node in graph.node:
        for a in node.attribute:
            if a.name in ("to", "dtype", "stash_type") and a.i == F32:
                a.i = F64
            if a.type == onnx.AttributeProto.TENSOR and a.t.data_type == F32:
                a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float64), a.t.name))
            if a.type == onnx.AttributeProto.GRAPH:
                widen_graph(a.g)
        if node.op_type == "LayerNormalization" and not any(a.name == "stash_type" for a in node.attribute):
            node.attribute.append(helper.make_attribute("stash_type", F64))


def wide(v):
    return v.astype(np.float64) if v.dtype == np.float32 else v


def run_all(model, feeds):
    """Every value of the main graph, by the reference evaluator."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    have = {o.name for o in whole.graph.output}
    for node in whole.graph.node:
        for o in node.output:
            if o and o not in have:
                whole.graph.output.append(helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None))
                have.add(o)
    names = [o.name for o in whole.graph.output]
    return dict(zip(names, ReferenceEvaluator(whole, new_ops=[LayerNormalization]).run(names, feeds)))


def run_node(node, model, values):
    one = onnx.NodeProto()
    one.CopyFrom(node)
    names = [n for n in dict.fromkeys(node.input) if n]
    graph = helper.make_graph([one], "one", [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in names],
                              [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in node.output if o])
    alone = helper.make_model(graph, ir_version=8, opset_imports=model.opset_import)
    return dict(zip([o for o in node.output if o], ReferenceEvaluator(alone, new_ops=[LayerNormalization]).run(None, {n: values[n] for n in names})))


def cameo(program, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cameo {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


AGAINST = sys.argv[3] if __name__ == "__main__" and len(sys.argv) > 3 else "f64"  # tests/precision imports this file


def report_of(program, folder, model, feeds):
    onnx.save(model, folder / "m.onnx")
    files = []
    for n, v in feeds.items():
        np.save(folder / f"{n}.npy", v)
        files.append(f"{n}={folder / n}.npy")
    report = json.loads(cameo(program, "verify", folder / "m.onnx", *files, "--layers", "--against", AGAINST, "--format", "json"))
    cameo(program, "instrument", folder / "m.onnx", "-o", folder / "all.onnx", "-q")
    cameo(program, "run", folder / "all.onnx", *files, "--no-fuse", "-o", folder / "values")
    values = {p.stem: np.load(p) for p in (folder / "values").glob("*.npy")}
    softmax = [n.output[0] for n in model.graph.node if n.op_type == "Softmax"]  # in one kernel its powers are those of a function
    if softmax:
        cameo(program, "run", folder / "all.onnx", *files, "-o", folder / "fused")
        values |= {n: np.load(folder / "fused" / f"{n}.npy") for n in softmax}
    return report["values"], values


class Failures:
    def __init__(self):
        self.texts, self.checked = [], 0

    def close(self, where, what, got, want, scale):
        """Both are small differences of large numbers: compared up to rounding in float64 of what they differ from."""
        self.checked += 1
        if not abs(got - want) <= 1e-6 * abs(want) + 1e-13 * scale:
            self.texts.append(f"{where}: {what} is {got!r}, should be {want!r}")

    def equal(self, where, what, got, want):
        self.checked += 1
        if got != want:
            self.texts.append(f"{where}: {what} is {got!r}, should be {want!r}")


def rms(x):
    return float(np.sqrt(np.mean(np.square(x)))) if x.size else 0.0


def check_layer(failures, where, layer, y, exact, local):
    total = y.astype(np.float64) - exact
    scale = float(np.abs(exact).max(initial=0))
    failures.close(where, "greatest", layer["greatest"], float(np.abs(total).max(initial=0)), scale)
    failures.close(where, "rms", layer["rms"], rms(total), scale)
    failures.close(where, "shadow_rms", layer["shadow_rms"], rms(exact), scale)
    unit = np.spacing(np.maximum(np.abs(exact), 2.0 ** -126).astype(np.float64)) * 2.0 ** 29
    failures.close(where, "ulp", layer["ulp"], float((np.abs(total) / unit).max(initial=0)), scale / unit.min())
    failures.equal(where, "count", layer["count"], y.size)
    if layer["kind"] == "computed":
        failures.close(where, "made_rms", layer["made_rms"], rms(y.astype(np.float64) - local), scale)
        failures.close(where, "inherited_rms", layer["inherited_rms"], rms(local - exact), scale)
    elif layer["kind"] == "exact":
        failures.equal(where, "made at an exact node", bool((y.astype(np.float64) == local).all()), True)


def check_model(failures, program, name, model, feeds):
    with tempfile.TemporaryDirectory() as folder:
        layers, values = report_of(program, pathlib.Path(folder), model, feeds)
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    widen_graph(twin.graph)
    exact = run_all(twin, {n: wide(v) for n, v in feeds.items()})
    own = {n: wide(v) for n, v in {**feeds, **values}.items()}
    own.update({t.name: numpy_helper.to_array(t) for t in twin.graph.initializer})
    seen = {layer["value"]: layer for layer in layers}
    for node in twin.graph.node:
        control = node.op_type in ("If", "Loop", "Scan")
        local = {} if control else run_node(node, twin, own)
        for o in node.output:
            if not o or o not in values or values[o].dtype != np.float32:
                continue
            if o not in seen:
                failures.texts.append(f"{name}: nothing is said of {o}")
                continue
            failures.equal(f"{name}: {o}", "kind", seen[o]["kind"] == "control", control)
            check_layer(failures, f"{name}: {o}", seen[o], values[o], exact[o], local.get(o))


# ---- models --------------------------------------------------------------------------------------

def mlp(rng):
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["s"]), helper.make_node("Tanh", ["s"], ["t"]),
             helper.make_node("Softmax", ["t"], ["p"], axis=1), helper.make_node("LayerNormalization", ["t", "g"], ["n"]),
             helper.make_node("ArgMax", ["p"], ["k"], axis=1)]
    c = {"w": rng.normal(size=(130, 17)), "b": rng.normal(size=130), "v": rng.normal(size=(130, 40)), "g": rng.normal(size=40)}
    c = {k: v.astype(np.float32) for k, v in c.items()}
    feeds = {"x": rng.normal(size=(5, 17)).astype(np.float32)}
    return model_of(nodes, feeds, [("p", F32), ("n", F32), ("k", I64)], c), feeds


def conv(rng):
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["n"]),
             helper.make_node("MaxPool", ["n"], ["q"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["q", "u"], ["e"], pads=[2, 2, 2, 2], strides=[1, 2]),
             helper.make_node("Sigmoid", ["e"], ["z"]), helper.make_node("GlobalAveragePool", ["z"], ["y"])]
    c = {"u": rng.normal(size=(40, 6, 5, 5)), "w": rng.normal(size=(6, 3, 3, 3)), "s": rng.normal(size=6), "b": rng.normal(size=6), "m": rng.normal(size=6),
         "v": rng.uniform(0.5, 2, size=6)}
    feeds = {"x": rng.normal(size=(2, 3, 8, 10)).astype(np.float32)}
    return model_of(nodes, feeds, [("y", F32)], {k: v.astype(np.float32) for k, v in c.items()}), feeds


def variance(rng):
    """E[x^2] - E[x]^2 of numbers far from 0: what is inherited is much more than what is made."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["xx"]), helper.make_node("ReduceMean", ["xx"], ["e2"], axes=[1]),
             helper.make_node("ReduceMean", ["x"], ["e"], axes=[1]), helper.make_node("Mul", ["e", "e"], ["ee"]),
             helper.make_node("Sub", ["e2", "ee"], ["var"])]
    feeds = {"x": (1000 + rng.normal(size=(7, 50))).astype(np.float32)}
    return model_of(nodes, feeds, [("var", F32)], {}), feeds


def lstm(rng):
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=6),
             helper.make_node("Squeeze", ["h"], ["o"])]
    c = {"w": rng.normal(size=(1, 24, 4)), "r": rng.normal(size=(1, 24, 6)), "b": rng.normal(size=(1, 48))}
    feeds = {"x": rng.normal(size=(8, 3, 4)).astype(np.float32)}
    return model_of(nodes, feeds, [("y", F32), ("o", F32)], {k: v.astype(np.float32) for k, v in c.items()}), feeds


def body_of(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(n, t, None if s is None else s) for n, t, s in inputs],
                             [helper.make_tensor_value_info(n, t, None if s is None else s) for n, t, s in outputs],
                             [numpy_helper.from_array(v, n) for n, v in constants])


def loop(rng):
    """x is captured, s is carried, its square is gathered."""
    body = body_of([helper.make_node("MatMul", ["s", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["t"]),
                    helper.make_node("Add", ["t", "x"], ["s1"]), helper.make_node("Mul", ["s1", "s1"], ["s2"]),
                    helper.make_node("ReduceSum", ["s2", "axes"], ["q"], keepdims=0),
                    helper.make_node("Identity", ["go"], ["go1"])],
                   [("i", I64, []), ("go", BOOL, []), ("s", F32, [2, 4])],
                   [("go1", BOOL, []), ("s1", F32, [2, 4]), ("q", F32, [4])])
    nodes = [helper.make_node("Sigmoid", ["x0"], ["x"]), helper.make_node("Loop", ["n", "yes", "x"], ["last", "all"], body=body),
             helper.make_node("ReduceSum", ["all"], ["y"], keepdims=0)]
    c = {"w": rng.normal(size=(4, 4)).astype(np.float32), "n": np.array(6, np.int64), "yes": np.array(True),
         "axes": np.array([0], np.int64)}
    feeds = {"x0": rng.normal(size=(2, 4)).astype(np.float32)}
    return model_of(nodes, feeds, [("last", F32), ("y", F32)], c), feeds


def branches(rng):
    def branch(op):
        return helper.make_graph([helper.make_node(op, ["h"], [f"b{op}"]), helper.make_node("Mul", [f"b{op}", "h"], [f"m{op}"])],
                                 op, [], [helper.make_tensor_value_info(f"m{op}", F32, [3, 5])])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("ReduceSum", ["h"], ["s"], keepdims=0),
             helper.make_node("Less", ["s", "zero"], ["c"]),
             helper.make_node("If", ["c"], ["y"], then_branch=branch("Sin"), else_branch=branch("Exp")),
             helper.make_node("Sqrt", ["y2"], ["z"])]
    nodes.insert(4, helper.make_node("Abs", ["y"], ["y2"]))
    c = {"w": rng.normal(size=(4, 5)).astype(np.float32), "zero": np.array(0, np.float32)}
    feeds = {"x": rng.normal(size=(3, 4)).astype(np.float32)}
    return model_of(nodes, feeds, [("z", F32)], c), feeds


def scan(rng):
    body = body_of([helper.make_node("Mul", ["s", "k"], ["sk"]), helper.make_node("Add", ["sk", "x1"], ["s1"]),
                    helper.make_node("Exp", ["s1"], ["o"])],
                   [("s", F32, [3]), ("x1", F32, [3])], [("s1", F32, [3]), ("o", F32, [3])], [("k", np.array(0.3, np.float32))])
    nodes = [helper.make_node("Tanh", ["s0"], ["st"]),
             helper.make_node("Scan", ["st", "x"], ["last", "all"], body=body, num_scan_inputs=1),
             helper.make_node("Softmax", ["all"], ["y"], axis=0)]
    feeds = {"s0": rng.normal(size=3).astype(np.float32), "x": rng.normal(size=(9, 3)).astype(np.float32)}
    return model_of(nodes, feeds, [("y", F32), ("last", F32)], {}), feeds


def iterations(failures, program, rng):
    """A loop's values, iteration by iteration, beside the loop written out."""
    w, n = rng.normal(size=(3, 3)).astype(np.float32), 5
    step = [helper.make_node("MatMul", ["s", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["s1"])]
    body = body_of([*step, helper.make_node("Identity", ["go"], ["go1"])], [("i", I64, []), ("go", BOOL, []), ("s", F32, [2, 3])],
                   [("go1", BOOL, []), ("s1", F32, [2, 3])])
    feeds = {"x": rng.normal(size=(2, 3)).astype(np.float32)}
    looped = model_of([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], feeds, [("y", F32)],
                      {"w": w, "n": np.array(n, np.int64)})
    nodes = []
    for k in range(n):
        nodes += [helper.make_node("MatMul", [f"t{k - 1}" if k else "x", "w"], [f"m{k}"]), helper.make_node("Tanh", [f"m{k}"], [f"t{k}"])]
    plain = model_of(nodes, feeds, [(f"t{n - 1}", F32)], {"w": w})
    with tempfile.TemporaryDirectory() as folder:
        one, _ = report_of(program, pathlib.Path(folder), looped, feeds)
        two, _ = report_of(program, pathlib.Path(folder), plain, feeds)
    rows = {v["value"]: v for v in one}
    flat = {v["value"]: v for v in two}
    for inner, outer in (("m", "m"), ("s1", "t")):
        got = rows[inner]["iterations"]
        failures.equal("iterations", f"number for {inner}", len(got), n)
        for k, row in enumerate(got):
            want = flat[f"{outer}{k}"]
            failures.close(f"iterations: {inner} {k}", "greatest", row["greatest"], want["greatest"], want["shadow_greatest"])
        worst = max(range(n), key=lambda k: got[k]["greatest"])
        failures.equal(f"iterations: {inner}", "worst", rows[inner]["worst_iteration"], worst)


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failures = Failures()
    for make in (mlp, conv, variance, lstm, loop, branches, scan):
        model, feeds = make(np.random.default_rng(seed))
        check_model(failures, program, make.__name__, model, feeds)
    iterations(failures, program, np.random.default_rng(seed))
    for text in failures.texts:
        print(text)
    print(f"{failures.checked} figures, {len(failures.texts)} wrong (seed {seed})")
    return 1 if failures.texts else 0


if __name__ == "__main__":
    sys.exit(main())
