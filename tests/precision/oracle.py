#!/usr/bin/env python3
"""Holds the figures of `cameo drift` to an oracle: derivatives by central differences of the reference evaluator.

Each value of a small model becomes an input of what stands behind it, in float64, and each of its elements is moved up and
down: the differences of the outputs are one column of the Jacobian. Errors of rounding come from NumPy and ml_dtypes. Outputs
have at most 32 elements, so that the program's own figures are exact sums over them.

    oracle.py PROGRAM [SEED [NAME...]]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "shadow"))
import oracle as shadow  # noqa: E402  (tests/shadow/oracle.py)

F32 = TensorProto.FLOAT
NARROW = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
BITS = {"f16": 13, "bf16": 10, "made": 52}  # of a significand: elements that agree in them are rounded alike


def tail_of(model, name, value):
    """What the model's outputs are of one value, everything else as it was."""
    tail = onnx.ModelProto()
    tail.CopyFrom(model)
    graph = tail.graph
    for node in graph.node:
        for k, o in enumerate(node.output):
            if o == name:
                node.output[k] = name + "#before"
    for k in range(len(graph.initializer) - 1, -1, -1):
        if graph.initializer[k].name == name:
            del graph.initializer[k]
    for k in range(len(graph.input) - 1, -1, -1):
        if graph.input[k].name == name:
            del graph.input[k]
    graph.input.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, value.shape))
    return ReferenceEvaluator(tail, new_ops=[shadow.LayerNormalization])


def jacobian(model, feeds, name, value, output):
    run = tail_of(model, name, value)
    others = {n: v for n, v in feeds.items() if n != name}
    columns = []
    for k in range(value.size):
        step = 1e-6 * max(1.0, abs(value.flat[k]))
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved.flat[k] += sign * step
            ends.append(run.run([output], {**others, name: moved})[0].ravel())
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, axis=1)  # [outputs, elements]


def report_of(program, folder, model, feeds):
    onnx.save(model, folder / "m.onnx")
    files = []
    for n, v in feeds.items():
        np.save(folder / f"{n}.npy", v)
        files += ["--data", f"{n}={folder / n}.npy"]
    done = subprocess.run([program, "drift", folder / "m.onnx", *files, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cameo drift: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def rounded(v, dtype):
    return v.astype(np.float32).astype(dtype).astype(np.float64)


def variance_of(moved, local, bits):
    """moved: what each element's error moves each output by. Elements that are rounded alike add up before they are squared."""
    keys = local.ravel().astype(np.float64).view(np.uint64)
    if bits < 52:
        keys = (keys + np.uint64(1 << (51 - bits))) >> np.uint64(52 - bits)
    return sum(float((moved[:, keys == k].sum(axis=1) ** 2).sum()) for k in np.unique(keys))


def check_value(failures, where, row, k, scale, columns, y, local, made):
    """columns: the Jacobian by this value; local: the node in float64 on what y was computed of."""
    e = {f: rounded(local, t) - local for f, t in NARROW.items()}
    if made:
        e["made"] = y - local
    got = row["outputs"][k]

    def close(what, a, b):
        failures.checked += 1
        if not abs(a - b) <= 2e-3 * abs(b) + 1e-14:
            failures.texts.append(f"{where}: {what} is {a!r}, should be {b!r}")

    close("bar", got["bar"] * scale, float((columns ** 2).sum()))
    for f, error in e.items():
        moved = columns * error.ravel()
        close(f, np.sqrt(got[f] * scale), float(np.sqrt(variance_of(moved, local, BITS[f]))))
        close(f"signed {f}", np.sqrt(got[f"signed_{f}"] * scale), float(np.sqrt((moved.sum(axis=1) ** 2).sum())))


def check_model(failures, program, name, model, feeds, made=True):
    """made: compare the errors of float32 too, which hang on the order in which a program sums up: two programs may differ."""
    with tempfile.TemporaryDirectory() as folder:
        report = report_of(program, pathlib.Path(folder), model, feeds)
        _, values = shadow.report_of(program, pathlib.Path(folder), model, feeds)
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    shadow.widen_graph(twin.graph)
    wide = {n: shadow.wide(v) for n, v in feeds.items()}
    exact = {**shadow.run_all(twin, wide), **wide, **{t.name: onnx.numpy_helper.to_array(t) for t in twin.graph.initializer}}
    own = {n: shadow.wide(v) for n, v in {**feeds, **values}.items()}
    own.update({t.name: onnx.numpy_helper.to_array(t) for t in twin.graph.initializer})
    local = dict(own)
    for node in twin.graph.node:
        if node.op_type not in ("If", "Loop", "Scan"):
            local.update(shadow.run_node(node, twin, own))
    floats = [o.name for o in model.graph.output if o.type.tensor_type.elem_type == F32]
    for row in report["values"]:
        v = row["value"]
        if v not in exact or row["exact"] and v not in values:
            continue
        for k, out in enumerate(floats):
            scale = float((values[out].astype(np.float64) ** 2).sum())
            columns = jacobian(twin, wide, v, exact[v], out) if v != out else np.eye(exact[v].size)
            base = own[v] if row["exact"] else local[v]
            check_value(failures, f"{name}: {v} -> {out}", row, k, scale, columns, own[v], base, made)


def small(rng):
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1), helper.make_node("Softplus", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["s"]), helper.make_node("Tanh", ["s"], ["t"]),
             helper.make_node("Mul", ["t", "t"], ["u"]), helper.make_node("Add", ["u", "s"], ["a"]),
             helper.make_node("LayerNormalization", ["a", "g"], ["n"]), helper.make_node("Softmax", ["n"], ["p"], axis=1)]
    c = {"w": rng.normal(size=(8, 5)), "b": rng.normal(size=8), "v": rng.normal(size=(8, 4)), "g": rng.normal(size=4)}
    feeds = {"x": rng.normal(size=(3, 5)).astype(np.float32)}
    return shadow.model_of(nodes, feeds, [("p", F32), ("s", F32)], {k: v.astype(np.float32) for k, v in c.items()}), feeds


def conv(rng):
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1], strides=[1, 2]),
             helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["n"]),
             helper.make_node("MaxPool", ["n"], ["q"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Sigmoid", ["q"], ["z"]), helper.make_node("Transpose", ["z"], ["zt"], perm=[0, 2, 3, 1]),
             helper.make_node("ReduceMean", ["zt"], ["y"], axes=[1, 2], keepdims=0)]
    c = {"w": rng.normal(size=(3, 2, 3, 3)), "s": rng.normal(size=3), "b": rng.normal(size=3), "m": rng.normal(size=3),
         "v": rng.uniform(0.5, 2, size=3)}
    feeds = {"x": rng.normal(size=(1, 2, 6, 8)).astype(np.float32)}
    return shadow.model_of(nodes, feeds, [("y", F32)], {k: v.astype(np.float32) for k, v in c.items()}), feeds


def recurrent(rng):
    """Steps of an LSTM that goes both ways, of a GRU and of an RNN, each derived step by step."""
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b", "", "", "", "p"], ["all", "", ""], hidden_size=3, direction="bidirectional"),
             helper.make_node("Reshape", ["all", "flat"], ["z"]),
             helper.make_node("GRU", ["z", "gw", "gr", "gb"], ["g", ""], hidden_size=4, linear_before_reset=1),
             helper.make_node("Squeeze", ["g", "one"], ["gs"]),
             helper.make_node("RNN", ["gs", "rw", "rr"], ["", "h"], hidden_size=3, direction="reverse"),
             helper.make_node("Exp", ["h"], ["e"]), helper.make_node("ReduceSum", ["e", "zero"], ["o"], keepdims=0)]
    c = {"w": rng.normal(size=(2, 12, 3)), "r": rng.normal(size=(2, 12, 3)), "b": rng.normal(size=(2, 24)), "p": rng.normal(size=(2, 9)),
         "gw": rng.normal(size=(1, 12, 6)), "gr": rng.normal(size=(1, 12, 4)), "gb": rng.normal(size=(1, 24)),
         "rw": rng.normal(size=(1, 3, 4)), "rr": rng.normal(size=(1, 3, 3))}
    c = {k: v.astype(np.float32) for k, v in c.items()}
    c.update(zero=np.array([0], np.int64), one=np.array([1], np.int64), flat=np.array([4, 2, 6], np.int64))
    feeds = {"x": rng.normal(size=(4, 2, 3)).astype(np.float32)}
    return shadow.model_of(nodes, feeds, [("o", F32)], c), feeds


def rows_alike(rng):
    """Most rows of x are the same row: their errors do not average out."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("ReduceMean", ["t"], ["m"], axes=[0], keepdims=1), helper.make_node("MatMul", ["m", "v"], ["y"])]
    c = {"w": rng.normal(size=(6, 5)).astype(np.float32), "v": rng.normal(size=(5, 3)).astype(np.float32)}
    x = rng.normal(size=(12, 6)).astype(np.float32)
    x[3:] = x[3]
    return shadow.model_of(nodes, {"x": x}, [("y", F32)], c), {"x": x}


def windows(rng):
    """Strides, dilations, groups, a transposed convolution: places that solve for a loop, and such that do not."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 3]),
             helper.make_node("Conv", ["a", "g"], ["c"], group=2, pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["c", "d"], ["e"], group=4, strides=[1, 2]),
             helper.make_node("ConvTranspose", ["e", "u"], ["f"], strides=[2, 2]),
             helper.make_node("MaxPool", ["f"], ["t"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             helper.make_node("AveragePool", ["t"], ["q"], kernel_shape=[2, 3], pads=[1, 1, 0, 0], strides=[2, 2]),
             helper.make_node("Slice", ["q", "from", "to", "axes", "steps"], ["s"]),
             helper.make_node("ReduceSum", ["s", "last"], ["y"], keepdims=0)]
    c = {"w": rng.normal(size=(4, 2, 3, 2)), "b": rng.normal(size=4), "g": rng.normal(size=(4, 2, 3, 3)), "d": rng.normal(size=(4, 1, 2, 2)),
         "u": rng.normal(size=(4, 3, 2, 2))}
    c = {k: v.astype(np.float32) for k, v in c.items()}
    c.update({k: np.array(v, np.int64) for k, v in {"from": [1, 0], "to": [99, 99], "axes": [2, 3], "steps": [1, 2], "last": [2, 3]}.items()})
    feeds = {"x": rng.normal(size=(1, 2, 7, 6)).astype(np.float32)}
    return shadow.model_of(nodes, feeds, [("y", F32)], c), feeds


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failures = shadow.Failures()
    only = sys.argv[3:]
    for make in (small, conv, windows, rows_alike, recurrent):
        if only and make.__name__ not in only:
            continue
        model, feeds = make(np.random.default_rng(seed))
        check_model(failures, program, make.__name__, model, feeds, made=make not in (windows, recurrent))
    for text in failures.texts:
        print(text)
    print(f"{failures.checked} figures, {len(failures.texts)} wrong (seed {seed})")
    return 1 if failures.texts else 0


if __name__ == "__main__":
    sys.exit(main())
