#!/usr/bin/env python3
"""half.py CAMEO ROOT [--filter RE]: float16 versions of the real models against ONNX Runtime, every data set.

Weights, constants and what is computed become float16; inputs and outputs stay float32 behind casts, as do what the
schema wants in float32 (scales of Resize) and nodes around values too great for float16 (sums of squares). ONNX Runtime computes most nodes in float32 between casts and
Cameo rounds once a node, so that neither is the truth: the greatest distance from the float64 outputs may be at most
twice ONNX Runtime's, or a hundredth of the greatest output. The models are looked for as tests/models/real.py does.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "models"), str(TESTS / "conformance"), str(TESTS / "cuda")]
import real  # noqa: E402

MODELS = ("mnist", "magika_v3_3", "ultraface_rfb_320", "yolox_nano")
KEPT = {("Resize", 1), ("Resize", 2), ("Upsample", 1)}  # inputs that are float32 by schema
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
onnxruntime.set_default_logger_severity(4)


def halved(tensor):
    a = numpy_helper.to_array(tensor)
    low = float(np.finfo(np.float16).max)
    return numpy_helper.from_array(np.where(np.isinf(a), a, a.clip(-low, low)).astype(np.float16), tensor.name)


def half_attributes(node):
    for a in node.attribute:
        if a.HasField("t") and a.t.data_type == FLOAT:
            a.t.CopyFrom(halved(a.t))
        if node.op_type == "Cast" and a.name == "to" and a.i == FLOAT:
            a.i = HALF
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1, np.float16))))


def too_great(model, feeds):
    """Types of the float values of a float32 model, and the names of those that float16 cannot hold."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    kept = [o for n in model.graph.node for o in n.output if o]
    del every.graph.output[:]
    every.graph.output.extend(onnx.ValueInfoProto(name=o) for o in kept)
    results = dict(zip(kept, run_reference(every.SerializeToString(), feeds)))
    floats = {n for n, a in results.items() if a.dtype == np.float32} | {n for n, a in feeds.items() if a.dtype == np.float32}
    floats |= {w.name for w in model.graph.initializer if w.data_type == FLOAT}
    return floats, {n for n, a in results.items() if n in floats and np.max(np.abs(a[np.isfinite(a)]), initial=0) > 3e4}


def stays_wide(node, floats, wide):
    """The node in float32, with casts before and behind it."""
    before, after = [], []
    for k, name in enumerate(node.input):
        if name in floats and name not in wide:
            node.input[k] = f"{name}_to_{node.output[0]}"
            before.append(helper.make_node("Cast", [name], [node.input[k]], to=FLOAT))
    for k, name in enumerate(node.output):
        if name in floats and name not in wide:
            node.output[k] = f"{name}_wide"
            after.append(helper.make_node("Cast", [node.output[k]], [name], to=HALF))
    return [*before, node, *after]


def convert(model, feeds):
    """The float16 version, made in place."""
    graph, (floats, wide) = model.graph, too_great(model, feeds)
    kept = {n.input[k] for n in graph.node for op, k in KEPT if n.op_type == op and k < len(n.input)}
    weights = {w.name for w in graph.initializer}
    for w in graph.initializer:
        if w.data_type == FLOAT and w.name not in kept:
            w.CopyFrom(halved(w))
    for n in graph.node:
        if not (n.op_type == "Constant" and n.output[0] in kept) and not wide & {*n.input, *n.output}:
            half_attributes(n)
    middle = [m for n in graph.node for m in (stays_wide(n, floats, wide) if wide & {*n.input, *n.output} else [n])]
    inputs = [i for i in graph.input if i.name not in weights]
    before, after, renamed = [], [], {}
    for i in inputs:
        if i.type.tensor_type.elem_type == FLOAT:
            renamed[i.name] = i.name + "_half"
            before.append(helper.make_node("Cast", [i.name], [renamed[i.name]], to=HALF))
    for o in graph.output:
        if o.type.tensor_type.elem_type == FLOAT:
            renamed[o.name] = o.name + "_half"
            after.append(helper.make_node("Cast", [renamed[o.name]], [o.name], to=FLOAT))
    for n in middle:
        n.input[:] = [renamed.get(v, v) for v in n.input]
        n.output[:] = [renamed.get(v, v) for v in n.output]
    nodes = before + middle + after
    for field in (graph.node, graph.input, graph.value_info):
        del field[:]
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 7)
    return model


def run_reference(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def check(cameo, folder, scratch):
    """Lines of what is wrong; prints the distances of each data set."""
    path, wrong = scratch / f"{folder.name}.onnx", []
    model = onnx.load(folder / "model.onnx")
    weights = {w.name for w in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in weights]
    read = lambda data: {n: numpy_helper.to_array(onnx.load_tensor(data / f"input_{k}.pb")) for k, n in enumerate(names)}  # noqa: E731
    onnx.save(convert(model, read(real.sets_of(folder)[0])), path)
    done = real.call([cameo, "lint", path])
    wrong += [f"lint: {real.said(done)}"] if done.returncode else []
    done = real.call([cameo, "compile", path, "-o", scratch / folder.name])
    if done.returncode:
        return [*wrong, f"compile: {real.said(done)}"]
    for data in real.sets_of(folder):
        theirs = run_reference(str(path), read(data))
        out = scratch / f"{folder.name}.{data.name}"
        done = real.call([scratch / folder.name, "--inputs-from", data, "-o", out, "--format", "pb"])
        if done.returncode:
            wrong.append(f"{data.name}: {real.said(done)}")
            continue
        for k, their in enumerate(theirs):
            ours = numpy_helper.to_array(onnx.load_tensor(out / f"output_{k}.pb"))
            truth = np.load(data / f"output_{k}_f64.npy")
            far, their_far = (float(np.max(np.abs(a.astype(np.float64) - truth), initial=0)) for a in (ours, their))
            limit = max(2 * their_far, 1e-2 * float(np.abs(truth).max()))
            print(f"{folder.name} {data.name} output {k}: {far:.3g} from float64, onnxruntime {their_far:.3g}")
            if ours.shape != their.shape or ours.dtype != their.dtype or not far <= limit:
                wrong.append(f"{data.name}, output {k}: {far:.3g} is more than {limit:.3g}")
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("root", type=pathlib.Path)
    p.add_argument("--filter", default="")
    options = p.parse_args()
    models = real.find_models(options.root.resolve())
    if models is None:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
        sys.exit(77)
    bad = 0
    for name in (m for m in MODELS if re.search(options.filter, m)):
        with tempfile.TemporaryDirectory() as scratch:
            for line in check(options.cameo, models / name, pathlib.Path(scratch)):
                print(f"WRONG {name}: {line}")
                bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
