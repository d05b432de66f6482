#!/usr/bin/env python3
"""convert.py CAMEO [--suite DIR [--every N]] [--models DIR] [--exporters DIR] [--only RE] [--matrix] [--verbose]: models
that `cameo convert` writes, judged by others.

Each model is converted to float16, bfloat16, mixed precision and float64, by each policy; with --matrix by all of them to
all of these, and for each target. Of what comes out: onnx.checker accepts it with full_check; its interface is the same;
nodes are in order; every stored constant is bit for bit what NumPy (ml_dtypes for bfloat16) makes of the model's own; ONNX
Runtime loads it with its optimizations and without (bfloat16 only where it has kernels) and computes outputs that are near
those of the model as it was, within what the precision allows.

Models: small ones written here (branches, loops, functions, quantisation, recurrent cells, masks, captured values),
the nodes of the backend suite that are more than one (--suite), the real models (--models, or CAMEO_MODELS), and what
exporters wrote (--exporters: folders of model.onnx and data_0.npz).
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import decisions
import runs
import samples
from runs import distance

NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64, "mixed": np.float16}
ELEMENT = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f64": TensorProto.DOUBLE,
           "mixed": TensorProto.FLOAT16}
POLICIES, TARGETS = ["cameo", "all", "autocast"], ["cpu-x86-64", "cuda-sm80", "tensorrt-strongly-typed", "onnxruntime-cpu",
                                               "onnxruntime-cuda"]
# Relative to the size of the output: units of the dtype, times what a few dozen nodes make of them.
NEAR = {"f16": 0.02, "bf16": 0.15, "f64": 1e-3, "mixed": 0.02}


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(a.g)


def turns_half(model):
    """Is there a float16 Transpose that brings the first axis last but one, as ONNX Runtime's CPU provider ends at in front of a MatMul?"""
    types = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    for n in (n for g in graphs_of(model.graph) for n in g.node if n.op_type == "Transpose"):
        perm = [list(a.ints) for a in n.attribute if a.name == "perm"]
        if perm and 0 in perm[0][-2:] and len(perm[0]) > 2 and types.get(n.output[0]) == TensorProto.FLOAT16:
            return True
    return False


def constants_of(model):
    """name -> tensor, of initializers and Constant nodes."""
    found = {}
    for graph in [g for top in [model.graph] for g in graphs_of(top)]:
        for t in graph.initializer:
            found[t.name] = t
        for node in graph.node:
            for a in node.attribute:
                if node.op_type == "Constant" and a.name == "value":
                    found[node.output[0]] = a.t
    return found


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def constant_faults(before, after, precision):
    was, low = constants_of(before), NUMPY[precision]
    for name, t in constants_of(after).items():
        origin = was.get(name) or was.get(re.sub(r"_(f16|bf16|f64)(_\d+)?$", "", name))
        if origin is None or t.data_type == origin.data_type or t.data_type != ELEMENT[precision]:
            continue
        with np.errstate(over="ignore"):
            want = numpy_helper.to_array(origin).astype(low)
        have = numpy_helper.to_array(t)
        have = have.view(low) if have.dtype != want.dtype and have.itemsize == want.itemsize else have
        fits = np.isfinite(want.astype(np.float64)) | ~np.isfinite(numpy_helper.to_array(origin).astype(np.float64))
        if not same_bits(np.where(fits, have, 0).astype(low), np.where(fits, want, 0).astype(low)):
            yield f"constant {name} is not rounded to nearest"


def interface_of(model):
    weights = {t.name for t in model.graph.initializer}
    return [(v.name, v.type.tensor_type.elem_type) for v in [*model.graph.input, *model.graph.output]
            if v.name not in weights]


class Judge:
    def __init__(self, options):
        self.options, self.counts, self.faults, self.worst = options, collections.Counter(), [], {}

    def fault(self, what, text):
        self.faults.append(f"{what}: {text}")
        if self.options.verbose:
            print(f"FAULT {what}: {text}", flush=True)

    def calibrated(self, what, path, feeds, want, precision, near):
        """Ranges that were only assumed broke: with the data they are measured, and nothing may."""
        with tempfile.TemporaryDirectory() as folder:
            data, out = pathlib.Path(folder) / "data", pathlib.Path(folder) / "out.onnx"
            data.mkdir()
            for k, v in enumerate(feeds.values()):
                (data / f"input_{k}.pb").write_bytes(numpy_helper.from_array(v).SerializeToString())
            r = self.convert(path, out, precision, "cameo", ["--calib", str(data)])
            if r.returncode:
                self.fault(what, f"--calib: status {r.returncode}: {r.stderr.strip()[:300]}")
                return
            off = max(distance(g, w) for g, w in zip(runs.run(out, feeds), want) if isinstance(w, np.ndarray))
        self.counts["overflow without data, none with them" if off < np.inf else "overflow with data"] += 1
        if off > NEAR[precision] * near:
            self.fault(what, f"--calib: outputs are {off:.3g} away")

    def convert(self, path, out, precision, policy, more=()):
        command = [self.options.cameo, "convert", str(path), "--precision", precision, "--policy", policy, "-o", str(out)]
        return subprocess.run([*command, *more], capture_output=True, text=True, check=False)

    def judge(self, what, path, feeds, near=1.0):
        """One model in every precision. `near` widens what its numbers may differ by."""
        before = onnx.load(path)
        try:
            want = runs.run(path, feeds)
        except Exception:  # pylint: disable=broad-except
            self.counts["models that ONNX Runtime does not run"] += 1
            return
        for precision, policy, target in self.ways():
            name = f"{what} {precision} {policy} {target}".strip()
            self.one(name, path, before, feeds, want, (precision, policy, target), near)

    def ways(self):
        few = [("f16", "cameo"), ("f16", "all"), ("f16", "autocast"), ("bf16", "cameo"), ("mixed", "cameo"), ("f64", "cameo")]
        if not self.options.matrix:
            return [(*way, "") for way in few]
        return [(p, policy, "") for p in NUMPY for policy in POLICIES] + [(p, "cameo", t) for p in NUMPY for t in TARGETS]

    def one(self, what, path, before, feeds, want, way, near):
        precision, policy, target = way
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.onnx"
            r = self.convert(path, out, precision, policy, ["--target", target] if target else [])
            if r.returncode == 1 and ("gives no" in r.stderr or "do not fit" in r.stderr):
                self.counts["refused: " + ("opset" if "gives no" in r.stderr else "operands")] += 1
                return
            if r.returncode:
                self.fault(what, f"status {r.returncode}: {r.stderr.strip()[:300]}")
                return
            self.counts["converted"] += 1
            try:
                onnx.checker.check_model(str(out), full_check=True)
            except Exception as e:  # pylint: disable=broad-except
                self.fault(what, f"checker: {str(e)[:300]}")
                return
            after = onnx.load(out)
            if interface_of(before) != interface_of(after):
                self.fault(what, f"interface {interface_of(before)} became {interface_of(after)}")
            for text in constant_faults(before, after, precision):
                self.fault(what, text)
            for optimized in [False, True]:
                self.run(what, path, out, feeds, want, way, near, optimized)

    def decided(self, path, feeds, outputs, precision, near):
        """Are the outputs' rows nearly all there, and says drift that a decision may flip?"""
        low = "bf16" if precision == "bf16" else "f16"
        return (decisions.rows_matched(*outputs, NEAR[precision] * near) >= 1 - decisions.MOST
                and bool(decisions.may_flip(self.options.cameo, path, feeds, low)))

    def run(self, what, path, out, feeds, want, way, near, optimized):
        precision, policy, target = way
        key = f"{precision} {policy} {target}".strip() + (" optimized" if optimized else "")
        try:
            got = runs.run(out, feeds, optimized)
        except RuntimeError as e:
            if optimized and isinstance(e, runs.Ended) and target not in ("", "onnxruntime-cpu") and turns_half(onnx.load(out)):
                self.counts["ends ONNX Runtime's CPU provider, which its target is not"] += 1
                return
            missing = precision in ("bf16", "f64") and re.search("NOT_IMPLEMENTED|does not support double", str(e))
            if missing and target != "onnxruntime-cpu":
                self.counts[f"{precision}: no kernel in ONNX Runtime"] += 1
            else:
                self.fault(what, f"ONNX Runtime{' optimized' if optimized else ''}: {str(e)[:300]}")
            return
        self.counts[f"{key} run"] += 1
        pairs = [(np.asarray(g), w) for g, w in zip(got, want) if isinstance(w, np.ndarray)]
        if any(g.shape != w.shape for g, w in pairs):
            self.counts["outputs of another shape: what is chosen by numbers fell otherwise"] += 1
            return
        off = max((distance(g, w) for g, w in pairs), default=0.0)
        if off == np.inf and policy == "cameo":
            if not optimized:
                self.calibrated(what, path, feeds, want, precision, near)
            return
        beyond = off > NEAR[precision] * near and policy == "cameo"
        if beyond and self.decided(path, feeds, (got, want), precision, near):
            self.counts["rows of outputs in another order, or one in ten others: cameo drift names the decision"] += 1
            return
        self.worst[key] = max(self.worst.get(key, (0, "")), (off, what))
        if beyond:
            self.fault(what, f"outputs are {off:.3g} away{' optimized' if optimized else ''}")


def feeds_of(model, folder):
    weights = {t.name for t in model.graph.initializer}
    names = [v.name for v in model.graph.input if v.name not in weights]
    feeds = {}
    for k, name in enumerate(names):
        t = onnx.TensorProto()
        t.ParseFromString((folder / f"input_{k}.pb").read_bytes())
        feeds[name] = numpy_helper.to_array(t)
    return feeds


def judge_exporters(judge, options):
    for path in sorted(pathlib.Path(options.exporters).glob("*/model.onnx")):
        if not re.search(options.only, path.parent.name):
            continue
        weights = {t.name for t in onnx.load(path, load_external_data=False).graph.initializer}
        feeds = {k: v for k, v in np.load(path.parent / "data_0.npz").items() if k not in weights}
        judge.judge(path.parent.name, path, feeds, near=3)


def judge_suite(judge, options):
    cases = sorted(p for p in pathlib.Path(options.suite).iterdir() if (p / "model.onnx").exists())
    several = []
    for case in cases:
        model = onnx.load(case / "model.onnx")
        if len(model.graph.node) > 1 or model.functions:
            several.append((case, model))
    for case, model in several[::options.every]:
        if not re.search(options.only, case.name):
            continue
        try:
            feeds = feeds_of(model, case / "test_data_set_0")
        except Exception:  # pylint: disable=broad-except
            judge.counts["inputs that are no tensors"] += 1
            continue
        judge.judge(case.name, case / "model.onnx", feeds, near=5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo")
    parser.add_argument("--suite")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--models", default=os.environ.get("CAMEO_MODELS"))
    parser.add_argument("--exporters")
    parser.add_argument("--matrix", action="store_true", help="every precision by every policy, and for every target")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    judge = Judge(options)
    with tempfile.TemporaryDirectory() as folder:
        for name, model, feeds in samples.models():
            if re.search(options.only, name):
                path = pathlib.Path(folder) / f"{name}.onnx"
                onnx.save(model, path)
                judge.judge(name, path, feeds, near=5 if name == "quantised" else 1)  # one step of 0.05
    if options.suite:
        judge_suite(judge, options)
    if options.exporters:
        judge_exporters(judge, options)
    if options.models:
        for path in sorted(pathlib.Path(options.models).glob("*/model.onnx")):
            if re.search(options.only, path.parent.name):
                judge.judge(path.parent.name, path, feeds_of(onnx.load(path), path.parent / "test_data_set_0"), near=3)
    else:
        print("SKIPPED: the real models, CAMEO_MODELS is not set")
    for k, n in sorted(judge.counts.items()):
        print(f"{n:6d} {k}")
    for k, (off, what) in sorted(judge.worst.items()):
        print(f"worst of {k}: {off:.3g} ({what})")
    for text in judge.faults:
        print("FAULT", text)
    print(f"{len(judge.faults)} faults")
    return 1 if judge.faults else 0


if __name__ == "__main__":
    sys.exit(main())
