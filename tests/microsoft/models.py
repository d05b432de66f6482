#!/usr/bin/env python3
"""models.py CAMEO ROOT WORK [--all] [--filter RE]: real models as onnxruntime's tools write them, against onnxruntime.

Quantised by its quantisation tool (static as QDQ and as QOperator, dynamic), calibrated on the models' own inputs;
passed through its optimizer at the extended level, as are small relatives of well-known networks; and quantised models
passed through the optimizer (those whose operators the others do not have, or all of them with --all).

What is asked of each output, against onnxruntime with its optimizations off:
  static     at most one step of the output's scale; how many elements are a step off is printed. Where a network is so
             deep that one rounding inside moves many outputs by many steps: no further away, root mean square, and in
             no more elements than twice what onnxruntime itself moves when float inputs change by a thousandth
  dynamic    no further away than twice what onnxruntime itself moves when float inputs change by a millionth, or
             than a thousandth of the output's range: each tensor is quantised by its own range, so that a rounding
             moves all that follows
  otherwise  the tolerance of the real model

The real models are looked for as tests/models/real.py does; where there are none the rest runs.
"""
import argparse
import collections
import concurrent.futures
import logging
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "models"), str(TESTS / "conformance"), str(TESTS / "cuda")]
import real  # noqa: E402
from exact_bytes import exact  # noqa: E402

QUANTISED = ("mnist", "magika_v3_3", "ultraface_rfb_320", "yolox_nano")
FORMS = ("qdq", "qoperator", "dynamic")
# Operators that only these have: QLinearSigmoid, QLinearConcat, QLinearSoftmax of QDQ, DynamicQuantizeMatMul.
SMALL = ("resnet50", "mobilenetv2", "bert", "bert_whole", "gpt2_token")
OPTIMIZED = ("mnist.qdq", "magika_v3_3.qdq", "magika_v3_3.dynamic", "ultraface_rfb_320.qdq", "yolox_nano.qdq")
VIEWS = ("Reshape", "Transpose", "Slice", "Concat", "Identity", "Flatten", "Squeeze")
Level = onnxruntime.GraphOptimizationLevel
onnxruntime.set_default_logger_severity(4)
logging.disable(logging.WARNING)


def input_names(model):
    weights = {i.name for i in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in weights]


def feeds_of(model, data):
    return {n: numpy_helper.to_array(onnx.load_tensor(data / f"input_{k}.pb")) for k, n in enumerate(input_names(model))}


class Inputs(CalibrationDataReader):
    def __init__(self, folder):
        model = onnx.load(folder / "model.onnx")
        self.left = iter([feeds_of(model, d) for d in real.sets_of(folder)])

    def get_next(self):
        return next(self.left, None)


def session(path, level, save=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, 1
    if save:
        options.optimized_model_filepath = str(save)
    model = str(path) if save else exact(onnx.load(path)).SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def prepare(folder, path):
    """In the form that the quantisation tool takes: no weights among the inputs, opset 11 or newer."""
    model = onnx.load(folder / "model.onnx")
    if model.opset_import[0].version < 11:
        model = version_converter.convert_version(model, 13)
    kept = [i for i in model.graph.input if i.name in input_names(model)]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.ir_version = max(model.ir_version, 8)
    onnx.save(model, path)


def quantize(folder, form, work):
    source, path = work / f"{folder.name}.onnx", work / f"{folder.name}.{form}.onnx"
    prepare(folder, source)
    if form == "dynamic":
        quantize_dynamic(source, path)
    else:
        quantize_static(source, path, Inputs(folder), quant_format=QuantFormat.QDQ if form == "qdq" else QuantFormat.QOperator)
    return path


def optimize(source, name, work):
    path = work / f"{name}.optimized.onnx"
    session(source, Level.ORT_ENABLE_EXTENDED, path)
    return path


def step_of(model, name):
    """The scale of what an output is dequantised from, or None."""
    makers = {o: n for n in model.graph.node for o in n.output}
    node = makers.get(name)
    while node is not None and node.op_type in VIEWS:
        node = makers.get(node.input[0])
    if node is None or node.op_type != "DequantizeLinear":
        return None
    return float(numpy_helper.to_array(next(i for i in model.graph.initializer if i.name == node.input[1])))


def moved(path, feeds, expected, part):
    """How far each of onnxruntime's outputs goes when every float input changes by that part of it."""
    near = {n: (a * np.float32(1 + part)).astype(a.dtype) if a.dtype == np.float32 else a for n, a in feeds.items()}
    results = session(path, Level.ORT_DISABLE_ALL).run(None, near)
    return [np.abs(a.astype(np.float64) - b) for a, b in zip(results, expected)]


def as_moved(path, feeds, expected, k, far, step):
    """Is output k no further away than onnxruntime's own results are from one another?"""
    reach = moved(path, feeds, expected, 1e-3)[k]
    return np.sqrt(np.mean(far ** 2)) <= 2 * np.sqrt(np.mean(reach ** 2)) and \
        np.sum(far > 1.01 * step) <= 2 * np.sum(reach > 1.01 * step)


def judge(model, path, folder, data, out):
    """What is wrong with one data set's outputs, and how many elements are off by a step or more than rounding."""
    feeds = feeds_of(model, data)
    expected = session(path, Level.ORT_DISABLE_ALL).run(None, feeds)
    rtol, atol = real.tolerance_of(folder)
    wrong, off, total = [], 0, 0
    reach = [r.max(initial=0) for r in moved(path, feeds, expected, 1e-6)] if ".dynamic" in path.name else None
    for k, info in enumerate(model.graph.output):
        got, want = numpy_helper.to_array(onnx.load_tensor(out / f"output_{k}.pb")), expected[k]
        far = np.abs(got.astype(np.float64) - want)
        step = step_of(model, info.name)
        if step is not None:
            over, limit = far > 0.5 * step, np.full(far.shape, 1.01 * step)
        elif reach is not None:
            limit = atol + rtol * np.abs(want)
            over, limit = far > limit, np.maximum(limit, max(2 * reach[k], 1e-3 * float(np.abs(want).max())))
        else:
            limit = atol + rtol * np.abs(want)
            over = far > limit
        off, total = off + int(over.sum()), total + far.size
        if got.shape == want.shape and step is not None and not np.all(far <= limit) and \
                as_moved(path, feeds, expected, k, far, step):
            continue
        if got.shape != want.shape or not np.all(far <= limit):
            wrong.append(f"{data.name}, output {info.name}: {int((far > limit).sum())} of {far.size} differ, by {far.max():.3g}")
    return wrong, off, total


def check(cameo, path, folder):
    model = onnx.load(path)
    counts, wrong, off, total = collections.Counter(n.domain for n in model.graph.node), [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "program"
        done = real.call([cameo, "compile", path, "-o", program])
        if done.returncode:
            return path.stem, [real.said(done)], ""
        for data in real.sets_of(folder)[:3]:
            out = pathlib.Path(scratch) / data.name
            files = [data / f"input_{k}.pb" for k in range(len(input_names(model)))]
            done = real.call([program, *files, "-o", out, "--format", "pb"])
            if done.returncode:
                return path.stem, [real.said(done)], ""
            faults, o, t = judge(model, path, folder, data, out)
            wrong, off, total = wrong + faults, off + o, total + t
    return path.stem, wrong, f"{counts['com.microsoft']:3} of {sum(counts.values()):4} nodes com.microsoft; {off} of {total} off"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("root", type=pathlib.Path)
    p.add_argument("work", type=pathlib.Path)
    p.add_argument("--all", action="store_true")
    p.add_argument("--filter", default="")
    options = p.parse_args()
    models = real.find_models(options.root.resolve())
    options.work.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, TESTS / "bench" / "make_models.py", options.work / "small", *SMALL, "--small"], check=True,
                   stdout=subprocess.DEVNULL)
    jobs, floats = [], sorted((options.work / "small").glob("*/model.onnx"))
    if models:
        jobs = [(models / n, quantize(models / n, f, options.work)) for n in QUANTISED for f in FORMS
                if re.search(options.filter, f"{n}.{f}")]
        jobs += [(f, optimize(q, q.stem, options.work)) for f, q in jobs if options.all or q.stem in OPTIMIZED]
        floats += sorted(models.glob("*/model.onnx"))
    jobs += [(m.parent, optimize(m, m.parent.name, options.work)) for m in floats
             if re.search(options.filter, f"{m.parent.name}.optimized")]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, wrong, said in pool.map(lambda j: check(options.cameo, j[1], j[0]), jobs):
            failed += bool(wrong)
            print(f"{name:36} {'FAILED' if wrong else 'agrees'}  {said}", *wrong, sep="\n    " if wrong else "", flush=True)
    print(f"{len(jobs)} models: {len(jobs) - failed} agree with onnxruntime, {failed} failed")
    if not models:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
    sys.exit(1 if failed else 0 if models else 77)


if __name__ == "__main__":
    main()
