#!/usr/bin/env python3
"""What a compact shadow (differences kept in float32) says beside a whole one in double-double.

    python3 compact.py CAMEO [MODEL...]

Every figure of `verify --layers --against f64` is held to that of `--against dd`, which keeps no differences and computes each
value twice, in 31 digits. What is compared is relative to the figure itself, down to 1e-10 of the value's own size. Without models a chain of convolutions, SiLU and normalizations is drawn, forty layers
deep, so that what is kept is kept often, one of every operator that has a formula of differences, and one of windows of many sizes. Inputs are a data set beside the model (test_data_set_0, data_0.npz) or made up.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FIGURES = ["greatest", "rms", "made_greatest", "made_rms", "inherited_greatest", "inherited_rms", "shadow_greatest", "shadow_rms"]
LIMIT = 1e-4  # of a figure
FLOOR = 1e-10  # of the value's size: of what is less float64's own errors are a part


def deep_network(seed, layers=40, channels=12, size=17):
    rng = np.random.default_rng(seed)
    nodes, constants, x = [], {}, "x"
    for k in range(layers):
        c = channels
        constants[f"w{k}"] = rng.normal(size=(c, c, 3, 3)) / np.sqrt(9 * c)
        constants[f"b{k}"] = rng.normal(size=(c,)) * 0.1
        constants[f"s{k}"], constants[f"t{k}"] = np.ones(c), np.zeros(c)
        nodes += [helper.make_node("Conv", [x, f"w{k}", f"b{k}"], [f"c{k}"], pads=[1, 1, 1, 1]),
                  helper.make_node("Sigmoid", [f"c{k}"], [f"g{k}"]), helper.make_node("Mul", [f"c{k}", f"g{k}"], [f"m{k}"]),
                  helper.make_node("InstanceNormalization", [f"m{k}", f"s{k}", f"t{k}"], [f"n{k}"]),
                  helper.make_node("Add", [x, f"n{k}"], [f"a{k}"])]
        x = f"a{k}"
    nodes += [helper.make_node("Flatten", [x], ["f"]), helper.make_node("Softmax", ["f"], ["y"])]
    shape = (1, channels, size, size)
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(v.astype(np.float32), n) for n, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), rng.normal(size=shape)


def operators(seed, size=(3, 37, 29)):
    """Every operator whose differences have a formula, of two values that a product made: both signs, and zeros by Relu."""
    rng = np.random.default_rng(seed)
    make, nodes = helper.make_node, []
    nodes += [make("MatMul", ["x", "w"], ["a"]), make("MatMul", ["x", "v"], ["b"]), make("Relu", ["a"], ["r"]),
              make("Abs", ["b"], ["p"]), make("Neg", ["b"], ["n"]), make("Add", ["p", "one"], ["q"]), make("Sqrt", ["q"], ["s"]),
              make("Sqrt", ["r"], ["sr"]), make("Reciprocal", ["q"], ["i"]), make("Div", ["a", "q"], ["d"]),
              make("Div", ["one", "q"], ["e"]), make("Div", ["a", "two"], ["h"]), make("Mul", ["a", "b"], ["m"]),
              make("Mul", ["a", "a"], ["aa"]), make("Mul", ["a", "two"], ["m2"]), make("Sub", ["a", "b"], ["ab"]),
              make("Sub", ["one", "b"], ["ob"]), make("Exp", ["a"], ["ex"]), make("Sigmoid", ["a"], ["sg"]),
              make("Tanh", ["b"], ["th"]), make("Max", ["a", "b"], ["mx"]), make("Min", ["a", "one"], ["mn"]),
              make("Concat", ["a", "x2", "b"], ["cc"], axis=1), make("Transpose", ["cc"], ["tr"], perm=[0, 2, 1]),
              make("Pad", ["sg", "pads", "low"], ["pd"]), make("ReduceMean", ["th"], ["rm"], axes=[2]),
              make("BatchNormalization", ["sg", "c1", "c2", "c3", "c4"], ["bn"])]
    constants = {"w": rng.normal(size=(size[2], 23)), "v": rng.normal(size=(size[2], 23)), "one": np.array(1.0), "two": np.array(0.3),
                 "low": np.array(-np.inf), "x2": rng.normal(size=(size[0], 2, 23)), "c1": rng.normal(size=37), "c2": rng.normal(size=37),
                 "c3": rng.normal(size=37), "c4": rng.uniform(0.5, 2, size=37)}
    tensors = [numpy_helper.from_array(v.astype(np.float32), n) for n, v in constants.items()]
    tensors.append(numpy_helper.from_array(np.array([0, 1, 0, 0, 0, 2], np.int64), "pads"))
    read = {i for n in nodes for i in n.input}
    outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for n in nodes for o in n.output if o not in read]
    graph = helper.make_graph(nodes, "operators", [helper.make_tensor_value_info("x", TensorProto.FLOAT, size)], outputs, tensors)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), rng.normal(size=size)


def windows(seed):
    """Convolutions whose products in float64 are made by tiles of a line: windows of 3 to 7 places, lines of all remainders,
    more tiles and channels than a block has, rows that fill no tile, groups, columns and steps from line to line. A product comes
    first, so that what they read is not exact, and Relu leaves half of it 0."""
    rng = np.random.default_rng(seed)
    cases = [("a", (1, 20, 9, 61), (33, 20, 3, 3), {"pads": [1, 1, 1, 1]}), ("b", (2, 90, 1, 100), (76, 45, 1, 5), {"group": 2, "pads": [0, 2, 0, 2]}),
             ("c", (1, 17, 1, 531), (32, 17, 1, 4), {}), ("d", (1, 24, 75, 1), (41, 24, 7, 1), {"pads": [3, 0, 2, 0]}),
             ("e", (1, 8, 40, 50), (40, 8, 4, 6), {"strides": [2, 1], "dilations": [3, 1], "pads": [4, 3, 2, 0]}),
             ("f", (1, 70, 21, 208), (48, 70, 3, 3), {"pads": [1, 1, 1, 1]}), ("g", (2, 40, 15, 14), (36, 20, 5, 5), {"group": 2, "pads": [2, 2, 2, 2]}),
             ("h", (1, 11, 30, 65), (19, 11, 3, 5), {"dilations": [4, 1], "pads": [4, 2, 3, 0]})]
    nodes, constants, inputs, data = [], {}, [], {}
    for name, x, w, attributes in cases:
        m = rng.normal(size=(x[1], x[1], 1, 1)) / np.sqrt(x[1])
        constants |= {f"m{name}": m, f"w{name}": rng.normal(size=w) / np.sqrt(w[1] * w[2] * w[3]), f"b{name}": rng.normal(size=w[0])}
        nodes += [helper.make_node("Conv", [f"x{name}", f"m{name}"], [f"p{name}"]), helper.make_node("Relu", [f"p{name}"], [f"r{name}"]),
                  helper.make_node("Conv", [f"r{name}", f"w{name}", f"b{name}"], [f"y{name}"], **attributes)]
        inputs.append(helper.make_tensor_value_info(f"x{name}", TensorProto.FLOAT, x))
        data[f"x{name}"] = rng.normal(size=x)
    graph = helper.make_graph(nodes, "windows", inputs, [helper.make_tensor_value_info(f"y{c[0]}", TensorProto.FLOAT, None) for c in cases],
                              [numpy_helper.from_array(v.astype(np.float32), n) for n, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), data


def report(cameo, model, data, against):
    done = subprocess.run([cameo, "verify", model, *data, "--layers", "--against", against, "--format", "json", "-q"], text=True,
                          stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{model}: --against {against} exits with {done.returncode}")
    return json.loads(done.stdout)["values"]


def compare(name, compact, whole):
    """How many figures were compared; the worst, and where it is."""
    assert [v["value"] for v in compact] == [v["value"] for v in whole], "other values"
    count, worst, where = 0, 0.0, ""
    for a, b in zip(compact, whole):
        assert a.get("count") == b.get("count"), a["value"]
        size = max(b.get("shadow_greatest", 0), 1e-300)
        for figure in (f for f in FIGURES if f in a and f in b):
            x, y = a[figure], b[figure]
            count += 1
            if max(x, y) > FLOOR * size and abs(x - y) > worst * y:
                worst, where = abs(x - y) / y if y else float("inf"), f"{figure} of {a['value']} ({a['op']}): {x:.6g}, {y:.6g}"
    print(f"{name}: {len(compact)} values, {count} figures, worst {worst:.2g} {where}", flush=True)
    return worst


def data_of(model):
    if (model.parent / "test_data_set_0").is_dir():
        return [model.parent / "test_data_set_0"]
    return [model.parent / "data_0.npz"] if (model.parent / "data_0.npz").exists() else []


def main():
    cameo, models, worst = sys.argv[1], [pathlib.Path(m) for m in sys.argv[2:]], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        jobs = [(m, data_of(m)) for m in (m / "model.onnx" if m.is_dir() else m for m in models)]
        for seed in range(0 if models else 2):
            for make in (deep_network, operators, windows):
                model, x = make(seed)
                name = f"{make.__name__}{seed}"
                save(model, folder / f"{name}.onnx")
                x = x if isinstance(x, dict) else {"x": x}
                np.savez(folder / f"{name}.npz", **{n: v.astype(np.float32) for n, v in x.items()})
                jobs.append((folder / f"{name}.onnx", [folder / f"{name}.npz"]))
        for model, data in jobs:
            name = model.parent.name if model.name == "model.onnx" else model.stem
            worst.append(compare(name, *(report(cameo, model, data, w) for w in ("f64", "dd"))))
    return max(worst) > LIMIT


if __name__ == "__main__":
    sys.exit(main())
