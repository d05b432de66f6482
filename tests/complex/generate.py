#!/usr/bin/env python3
"""Cases of complex numbers, as folders that tests/conformance/run.py reads.

    python3 generate.py OUT

Nearly every operator that takes them is linear in them: what it makes of a + bi is what it makes of a plus i times what
it makes of b, and for real operands there are ONNX Runtime and the reference evaluator. The others are computed here.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

PART = {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64}
generator = np.random.default_rng(7)


def z(dtype, *shape):
    v = generator.integers(-8, 9, shape) + 1j * generator.integers(-8, 9, shape)
    return (v / 4).astype(dtype)


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, list(outputs), name="node", **attributes)


def infos(values):
    return [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype),
                                          [f"{k}{i}" if d > 1 else d for i, d in enumerate(v.shape)])
            for k, v in values.items()]


def model_of(nodes, inputs, outputs, weights, opset, types=None):
    graph = helper.make_graph(nodes, "case", infos(inputs), types or [onnx.ValueInfoProto(name=o) for o in outputs],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def evaluate(model, inputs):
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:  # what it has no kernel for
        return ReferenceEvaluator(model).run(None, inputs)


def part(value, imaginary):
    if isinstance(value, onnx.GraphProto):
        return value
    value = np.asarray(value)
    if value.dtype not in PART:
        return value
    return np.ascontiguousarray(value.imag if imaginary else value.real)


def parts(nodes, real, given, kept, outputs, opset):
    """The results of the real parts and those of the imaginary ones."""
    def of(values, i):
        return {k: v.astype(real) if v.dtype.kind == "f" and k in complex_ones else v
                for k, v in ((k, part(v, i)) for k, v in values.items())}
    complex_ones = {k for values in (given, kept) for k, v in values.items() if np.asarray(v).dtype in PART}
    return [evaluate(model_of(nodes(np.dtype(real)), of(given, i), outputs, of(kept, i), opset), of(given, i))
            for i in (False, True)]


class Suite:
    def __init__(self, out):
        self.out, self.rows = out, []

    def add(self, name, nodes, inputs, expected=None, outputs=("y",), weights=(), opset=24, exact=True, types=None):
        """One model for each complex dtype: `nodes`, inputs and weights are functions of it. expected None: by parts."""
        for dtype in PART:
            given, kept = inputs(dtype), weights(dtype) if weights else {}
            made = nodes(dtype)
            if expected:
                results = expected(dtype, given, kept)
            else:
                try:
                    of = parts(nodes, PART[dtype], given, kept, outputs, opset)
                except Exception:  # no kernel for float64
                    of = parts(nodes, np.float32, given, kept, outputs, opset)
                results = [(re + 1j * im).astype(dtype) if re.dtype.kind == "f" else re for re, im in zip(*of)]
            full = f"{name}_{dtype.name}"
            self.write(full, model_of(made, given, outputs, kept, opset,
                                      types(dtype) if types else infos(dict(zip(outputs, results)))),
                       given, dict(zip(outputs, results)), exact)

    def write(self, name, model, inputs, outputs, exact):
        data = self.out / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, self.out / name / "model.onnx")
        for kind, values in (("input", inputs), ("output", outputs)):
            for k, (key, v) in enumerate(values.items()):
                (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(v), key).SerializeToString())
        tolerance = 0 if exact else 1e-5  # evaluators have weights and places in float32
        (self.out / name / "tolerance.json").write_text(json.dumps({"rtol": tolerance, "atol": tolerance}))
        self.rows.append({"name": name, "kind": "node"})


def ints(*v):
    return np.array(v, np.int64)


def movement(s):
    x = lambda d: {"x": z(d, 2, 3, 4)}
    one = lambda name, op, weights=None, inputs=("x",), outputs=("y",), data=x, opset=24, **a: s.add(
        name, lambda d: [node(op, inputs, outputs, **a)], data, None, outputs,
        (lambda d: weights(d) if callable(weights) else weights) if weights else (), opset)
    one("identity", "Identity")
    one("transpose", "Transpose", perm=[2, 0, 1])
    one("reshape", "Reshape", {"to": ints(4, -1)}, ("x", "to"))
    one("flatten", "Flatten", axis=2)
    one("squeeze", "Squeeze", {"a": ints(1)}, ("x", "a"), data=lambda d: {"x": z(d, 3, 1, 2)})
    one("unsqueeze", "Unsqueeze", {"a": ints(0, 3)}, ("x", "a"))
    one("slice", "Slice", {"b": ints(-1, 3), "e": ints(-9, 0), "a": ints(1, 2), "t": ints(-2, -1)},
        ("x", "b", "e", "a", "t"))
    one("split", "Split", {"n": ints(1, 3)}, ("x", "n"), ("y", "w"), axis=2)
    one("concat", "Concat", inputs=("x", "w", "x"), data=lambda d: {"x": z(d, 2, 3, 4), "w": z(d, 2, 1, 4)}, axis=1)
    one("expand", "Expand", {"to": ints(2, 3, 1, 4)}, ("x", "to"), data=lambda d: {"x": z(d, 3, 1, 4)})
    one("tile", "Tile", {"n": ints(1, 2, 3)}, ("x", "n"))
    one("gather", "Gather", {"i": ints(2, -1, 0)}, ("x", "i"), axis=1)
    one("gather_elements", "GatherElements", {"i": np.array([[[0, 1, -1, 0]]], np.int64)}, ("x", "i"), axis=1)
    one("gather_nd", "GatherND", {"i": np.array([[0, 1], [1, -1]], np.int64)}, ("x", "i"))
    one("compress", "Compress", {"c": np.array([True, False, True])}, ("x", "c"), axis=1)
    one("trilu", "Trilu", {"k": np.array(1, np.int64)}, ("x", "k"), upper=0)
    one("reverse_sequence", "ReverseSequence", {"n": ints(1, 2, 0)}, ("x", "n"), data=lambda d: {"x": z(d, 2, 3, 4)})
    one("depth_to_space", "DepthToSpace", data=lambda d: {"x": z(d, 1, 8, 2, 3)}, blocksize=2, mode="CRD")
    one("space_to_depth", "SpaceToDepth", data=lambda d: {"x": z(d, 1, 2, 4, 6)}, blocksize=2)
    one("center_crop_pad", "CenterCropPad", {"to": ints(4, 2)}, ("x", "to"), axes=[0, 2])
    one("where", "Where", {"c": np.array([[True], [False], [True]])}, ("c", "x", "w"),
        data=lambda d: {"x": z(d, 2, 3, 4), "w": z(d, 4)})
    one("shape", "Shape")
    one("size", "Size")
    for mode in ("constant", "edge", "reflect", "wrap"):
        one(f"pad_{mode}", "Pad", lambda d: {"n": ints(0, 1, 2, 0, 1, 1), "v": np.asarray(z(d, 1)[0])}, ("x", "n", "v"),
            mode=mode)
    one("pad_zero", "Pad", {"n": ints(0, 1, -2, 0, 1, 1)}, ("x", "n"))
    one("scatter_elements", "ScatterElements", {"i": np.array([[[1, 0, 1, 0]], [[1, 0, 0, 0]]], np.int64)},
        ("x", "i", "w"), data=lambda d: {"x": z(d, 2, 3, 4), "w": z(d, 2, 1, 4)}, axis=1)
    one("scatter_elements_add", "ScatterElements", {"i": np.array([[[1, 0, 1, 0]] * 2] * 2, np.int64).reshape(2, 2, 4)},
        ("x", "i", "w"), data=lambda d: {"x": z(d, 2, 3, 4), "w": z(d, 2, 2, 4)}, axis=1, reduction="add")
    one("scatter_nd_add", "ScatterND", {"i": np.array([[1], [0], [1]], np.int64)}, ("x", "i", "w"),
        data=lambda d: {"x": z(d, 2, 4), "w": z(d, 3, 4)}, reduction="add")
    one("one_hot", "OneHot", {"n": np.array(3, np.int64)}, ("i", "n", "v"),
        data=lambda d: {"i": ints(0, 2, -1, 7), "v": z(d, 2)})


def resampled(s):
    def one(name, op, inputs, weights, data, opset=24, **a):
        s.add(name, lambda d: [node(op, inputs, **a)], data, None, ("y",), weights, opset, False)
    image = lambda d: {"x": z(d, 1, 2, 4, 5)}
    sizes = lambda d: {"n": ints(1, 2, 7, 3)}
    for mode in ("nearest", "linear", "cubic"):
        one(f"resize_{mode}", "Resize", ("x", "", "", "n"), sizes, image, 19, mode=mode)
    one("resize_antialias", "Resize", ("x", "", "", "n"), sizes, image, 19, mode="linear", antialias=1)
    one("upsample", "Upsample", ("x", "k"), lambda d: {"k": np.array([1, 1, 2, 3], np.float32)}, image, 9, mode="linear")
    grid = lambda d: {"g": generator.uniform(-1.2, 1.2, (1, 3, 4, 2)).astype(np.float32)}
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "reflection"):
            one(f"grid_sample_{mode}_{padding}", "GridSample", ("x", "g"), grid, image, 20, mode=mode, padding_mode=padding)
    one("col2im", "Col2Im", ("x", "n", "b"), lambda d: {"n": ints(5, 5), "b": ints(2, 3)},
        lambda d: {"x": z(d, 1, 12, 12)}, 18)


def computed(s):
    x = lambda d: {"x": z(d, 2, 3)}
    other = {np.dtype(np.complex64): (np.int64, np.uint64, np.float64), np.dtype(np.complex128): ()}
    s.add("non_zero", lambda d: [node("NonZero", ["x"])],
          lambda d: {"x": (np.array([[0, 1j, 0], [-0.0, 2, np.nan]], d))}, lambda d, g, w: [np.array(np.nonzero(g["x"]))])
    s.add("scatter_nd_mul", lambda d: [node("ScatterND", ["x", "i", "w"], reduction="mul")],
          lambda d: {"x": z(d, 3), "w": z(d, 4)},
          lambda d, g, w: [np.array([g["x"][0] * g["w"][1], g["x"][1], g["x"][2] * g["w"][0] * g["w"][2] * g["w"][3]], d)],
          weights=lambda d: {"i": np.array([[2], [0], [2], [2]], np.int64)}, exact=False)
    s.add("unique_as_found", lambda d: [node("Unique", ["x"], ["y", "at", "back", "count"], sorted=0)],
          lambda d: {"x": np.array([1j, 2, 1j, -1, 2, 2j], d)},
          lambda d, g, w: [np.array([1j, 2, -1, 2j], d), ints(0, 1, 3, 5), ints(0, 1, 0, 2, 1, 3), ints(2, 2, 1, 1)],
          ("y", "at", "back", "count"))
    for to in (np.int64, np.uint64, np.float64, np.complex64):
        if to == np.complex64:
            name, frm = "back", np.float64
            given = lambda d: {"x": z(np.complex64, 4).view(np.float64)}
        else:
            name, frm = np.dtype(to).name, np.complex64
            given = lambda d: {"x": z(np.complex64, 4)}
        code = helper.np_dtype_to_tensor_dtype(np.dtype(to))
        s.add(f"bit_cast_{name}", lambda d, c=code: [node("BitCast", ["x"], to=c)], given,
              lambda d, g, w, t=to: [g["x"].view(t)], opset=26)
    s.add("constant", lambda d: [node("Constant", [], ["c"], value=numpy_helper.from_array(
              np.array([1 + 2j, np.inf - 1j, complex(0, np.nan)], d))), node("Concat", ["x", "c"], axis=0)],
          lambda d: {"x": z(d, 2)},
          lambda d, g, w: [np.concatenate([g["x"], np.array([1 + 2j, np.inf - 1j, complex(0, np.nan)], d)])])
    s.add("constant_element", lambda d: [node("Gather", ["c", "i"], ["e"]), node("Where", ["b", "x", "e"])],
          lambda d: {"b": np.array([True, False]), "x": z(d, 2)},
          lambda d, g, w: [np.where(g["b"], g["x"], w["c"][1])],
          weights=lambda d: {"c": np.array([1, 2 - 3j], d), "i": np.array(1, np.int64)})
    s.add("typed_data", lambda d: [node("Concat", ["x", "c"], axis=0)], lambda d: {"x": z(d, 2)},
          lambda d, g, w: [np.concatenate([g["x"], np.array([1 + 2j, 3 - 4j], d)])],
          weights=lambda d: {})


def typed_weights(s):
    """The initializer of typed_data as pairs in float_data or double_data."""
    for dtype in PART:
        path = s.out / f"typed_data_{dtype.name}" / "model.onnx"
        model = onnx.load(path)
        model.graph.initializer.append(helper.make_tensor("c", helper.np_dtype_to_tensor_dtype(dtype), [2],
                                                          [1 + 2j, 3 - 4j]))
        assert not model.graph.initializer[0].HasField("raw_data")
        onnx.save(model, path)


def control(s):
    code = helper.np_dtype_to_tensor_dtype
    info = helper.make_tensor_value_info
    x = lambda d: {"x": z(d, 3)}

    def loop(d):
        body = helper.make_graph(
            [node("Gather", ["v", "order"], ["v2"]), node("Identity", ["c"], ["c2"]), node("Identity", ["v"], ["scan"])],
            "body", [info("n", T.INT64, []), info("c", T.BOOL, []), info("v", code(d), [3])],
            [info("c2", T.BOOL, []), info("v2", code(d), [3]), info("scan", code(d), [3])],
            [numpy_helper.from_array(ints(1, 2, 0), "order")])
        return [node("Loop", ["t", "", "x"], ["y", "all"], body=body)]
    s.add("loop", loop, lambda d: {"x": z(d, 3), "t": np.array(4, np.int64)},
          lambda d, g, w: [np.roll(g["x"], -4), np.array([np.roll(g["x"], -k) for k in range(4)])], ("y", "all"))

    def scan(d):
        body = helper.make_graph([node("Where", ["b", "e", "s"], ["s2"]), node("Identity", ["s"], ["o"])], "body",
                                 [info("s", code(d), []), info("e", code(d), []), info("b", T.BOOL, [])],
                                 [info("s2", code(d), []), info("o", code(d), [])])
        return [node("Scan", ["i", "x", "b"], ["y", "all"], body=body, num_scan_inputs=2)]
    s.add("scan", scan, lambda d: {"i": np.asarray(z(d, 1)[0]), "x": z(d, 3), "b": np.array([True, False, True])},
          lambda d, g, w: [g["x"][2], np.array([g["i"], g["x"][0], g["x"][0]])], ("y", "all"))

    def branch(d):
        parts = [helper.make_graph([node("Slice", ["x", f"b{k}", f"e{k}"], [f"o{k}"])], f"g{k}", [],
                                   [info(f"o{k}", code(d), [None])],
                                   [numpy_helper.from_array(ints(k), f"b{k}"), numpy_helper.from_array(ints(3), f"e{k}")])
                 for k in (0, 1)]
        return [node("If", ["b"], then_branch=parts[0], else_branch=parts[1])]
    for b in (True, False):
        s.add(f"if_{b}", branch, lambda d, b=b: {"b": np.array(b), "x": z(d, 3)},
              lambda d, g, w, b=b: [g["x"] if b else g["x"][1:]])
    s.add("sequence", lambda d: [node("SequenceConstruct", ["x", "w"], ["q"]), node("SequenceInsert", ["q", "x"], ["r"]),
                                 node("SequenceAt", ["r", "i"], ["a"]), node("ConcatFromSequence", ["r"], ["b"], axis=0),
                                 node("Concat", ["a", "b"], axis=0)],
          lambda d: {"x": z(d, 2, 2), "w": z(d, 2, 2)},
          lambda d, g, w: [np.concatenate([g["w"], g["x"], g["w"], g["x"]])], weights=lambda d: {"i": np.array(1, np.int64)})
    s.add("split_to_sequence", lambda d: [node("SplitToSequence", ["x", "n"], ["q"], axis=0),
                                          node("ConcatFromSequence", ["q"], axis=1)],
          lambda d: {"x": z(d, 4, 2)}, lambda d, g, w: [np.concatenate([g["x"][:2], g["x"][2:]], 1)],
          weights=lambda d: {"n": ints(2, 2)})
    s.add("optional", lambda d: [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]),
                                 node("OptionalGetElement", ["o"])], x, lambda d, g, w: [g["x"], np.array(True)], ("y", "h"))
    s.add("chain", lambda d: [node("Transpose", ["x"], ["a"]), node("Reshape", ["a", "to"], ["b"]),
                              node("Where", ["c", "b", "k"])], lambda d: {"x": z(d, 3, 4)},
          lambda d, g, w: [np.where(w["c"], g["x"].T.reshape(2, 6), w["k"])],
          weights=lambda d: {"to": ints(2, 6), "c": np.array([True, False, True, False, False, True]),
                             "k": np.asarray(z(d, 1)[0])})


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    s = Suite(out)
    for part_of in (movement, resampled, computed, control, typed_weights):
        part_of(s)
    (out / "cases.json").write_text(json.dumps(s.rows))
    print(len(s.rows), "cases")


if __name__ == "__main__":
    main()
