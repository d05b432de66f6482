#!/usr/bin/env python3
"""builds.py CAMEO [--builds RE]: what the same operators give in builds that may differ, beside float64.

One model holds sums and products of several lengths, windows of 3 x 3 in each form, normalisations and functions. It is
compiled with each set of options and run on the same data; the table says for each output the rms of the difference from
the definition in float64 over the rms of the output, then the greatest difference over the same. For the quantised product it
says what share of the results is not the step that the exact result rounds to. An error over the limit of an output fails.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

BUILDS = {
    "default": [],
    "clang": ["--cc", "clang-19"],
    "v3": ["--cpu", "x86-64-v3"],
    "v2": ["--cpu", "x86-64-v2"],
    "winograd 4": ["--winograd", "4"],
    "winograd 2": ["--winograd", "2"],
    "no winograd": ["--no-winograd"],
    "loops": ["--no-override", "--no-winograd"],
    "strict": ["--strict-fp"],
    "strict loops": ["--strict-fp", "--gemm", "loops"],
}
LIMIT = 3e-6  # rms of any output, of builds without Winograd's tiles of 4


def draw(rng, *dims):
    return rng.standard_normal(dims).astype(np.float32)


def build(rng):
    """The model, its inputs, and the names of its outputs."""
    nodes, weights, inputs, outputs = [], [], {}, []

    def given(name, *dims):
        inputs[name] = draw(rng, *dims)
        return name

    def weight(value):
        weights.append(numpy_helper.from_array(np.asarray(value), f"w{len(weights)}"))
        return weights[-1].name

    def output(name, op, *operands, **attributes):
        nodes.append(helper.make_node(op, operands, [name], **attributes))
        outputs.append(name)

    for k in (64, 512, 4096):
        output(f"product of {k}", "MatMul", given(f"a{k}", 24, k), weight(draw(rng, k, 96)))
    last = weight(np.array([1], np.int64))
    output("sum of 10000", "ReduceSum", given("long", 32, 10000), last)
    output("mean of squares", "ReduceSumSquare", "long", last)
    output("Softmax", "Softmax", given("wide", 64, 1000))
    output("LayerNormalization", "LayerNormalization", given("rows", 64, 768), weight(draw(rng, 768)), weight(draw(rng, 768)))
    output("Gelu", "Gelu", "rows")
    output("Sigmoid", "Sigmoid", "rows")
    output("window, 16 channels", "Conv", given("few", 1, 16, 40, 40), weight(draw(rng, 32, 16, 3, 3)), pads=[1] * 4)
    output("window, 256 channels", "Conv", given("many", 1, 256, 26, 26), weight(draw(rng, 64, 256, 3, 3)), pads=[1] * 4)
    scales = [weight(np.float32(s)) for s in (0.02, 0.01, 0.15)]
    zero, low = weight(np.uint8(128)), weight(np.int8(0))
    w8 = weight(rng.integers(-127, 128, (512, 96)).astype(np.int8))
    nodes.extend([helper.make_node("QuantizeLinear", ["a512", scales[0], zero], ["q"]),
                  helper.make_node("DequantizeLinear", ["q", scales[0], zero], ["dq"]),
                  helper.make_node("DequantizeLinear", [w8, scales[1], low], ["dw"]),
                  helper.make_node("MatMul", ["dq", "dw"], ["sums"])])
    output("quantised product", "QuantizeLinear", "sums", scales[2], zero)
    graph = helper.make_graph(
        nodes, "builds", [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in inputs.items()],
        [helper.make_tensor_value_info(o, TensorProto.UINT8 if o[0] == "q" else TensorProto.FLOAT, None) for o in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model), inputs, outputs


def in_float64(model, inputs):
    """The results of the same model with all floats float64, scales as they are."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for w in wide.graph.initializer:
        if w.data_type == TensorProto.FLOAT:
            w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w).astype(np.float64), w.name))
    for value in (*wide.graph.input, *wide.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del wide.graph.value_info[:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(wide).run(None, {n: v.astype(np.float64) for n, v in inputs.items()})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("--builds", default="")
    options = p.parse_args()
    model, inputs, outputs = build(np.random.default_rng(4))
    exact, table, failed = in_float64(model, inputs), {o: {} for o in outputs}, 0
    chosen = {n: o for n, o in BUILDS.items() if re.search(options.builds, n)}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        onnx.save(model, scratch / "m.onnx")
        for n, v in inputs.items():
            np.save(scratch / f"{n}.npy", v)
        files = [scratch / f"{n}.npy" for n in inputs]
        for name, extra in chosen.items():
            subprocess.run([options.cameo, "compile", "-q", scratch / "m.onnx", "-o", scratch / "p", *extra], check=True)
            subprocess.run([scratch / "p", *files, "-o", scratch / name, "--format", "pb"], check=True)
            results = sorted((scratch / name).iterdir(), key=lambda f: int(re.findall(r"\d+", f.stem)[-1]))
            for o, want, file in zip(outputs, exact, results):
                got = numpy_helper.to_array(TensorProto.FromString(file.read_bytes()))
                if got.dtype == np.uint8:
                    table[o][name] = f"{100 * np.mean(got != want):.3f} %"
                    failed += np.max(np.abs(got.astype(int) - want.astype(int))) > 1
                    continue
                scale = np.sqrt(np.mean(want ** 2))
                rms, most = np.sqrt(np.mean((got - want) ** 2)) / scale, np.max(np.abs(got - want)) / scale
                table[o][name] = f"{rms:.1e} {most:.1e}"
                failed += not rms < (2 * LIMIT if name == "winograd 4" else LIMIT)
    print("| output | " + " | ".join(chosen) + " |\n" + "|---" * (len(chosen) + 1) + "|")
    for o, row in table.items():
        print(f"| {o} | " + " | ".join(row.values()) + " |")
    print(f"{len(outputs)} outputs of {len(chosen)} builds: {failed} beyond their limits")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
