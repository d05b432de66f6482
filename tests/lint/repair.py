#!/usr/bin/env python3
"""repair.py CAMEO ROOT [--suite DIR] [--only FAULT] [--keep DIR]: faults put into valid models, and repaired.

Each repair is checked: `cameo lint` finds no error any more; onnx.checker accepts the model with full_check; onnxruntime
loads it where it loads the model before the fault; outputs are that model's, bit for bit where --fix alone mended it and
within 1e-4 otherwise; repairing again changes nothing; nothing but the repair was changed; and the number of nodes
inserted is the lower bound wherever that is said to be reached.

A fault that lint does not see though the checker does is no repair: it is counted as unseen, and a failure in the samples.
Samples are built here; models of a generated backend suite and real models join in where they are found.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

import faults
import samples
from compare import changes

SUITE_EVERY, PER_FAULT_SUITE, PER_FAULT_REAL = 16, 1, 1
COLUMNS = ["faults", "valid", "unseen", "safe", "unsafe", "casts", "transfers", "bound", "failed"]


class Failed(Exception):
    pass


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def run(model, inputs):
    try:
        return session(model).run(None, inputs)
    except Exception as error:  # onnxruntime raises many kinds
        return str(error)


def lint(cameo, source, out, flag):
    # What the model itself has that nothing uses stays: the repair of a fault is to change nothing else.
    command = [cameo, "lint", flag, "--ignore", "ST006", "--format", "json", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        raise Failed(f"exit {done.returncode}: {done.stderr.strip()}")
    return done.returncode, json.loads(done.stdout)


def require(good, what):
    if not good:
        raise Failed(what)


def same_results(expected, got, exact):
    require(not isinstance(got, str), f"does not run: {got}")
    for k, (a, b) in enumerate(zip(expected, got)):
        if not isinstance(a, numpy.ndarray):
            continue
        # onnxruntime computes float16 in float32 between nodes as it likes.
        half = a.dtype == numpy.float16
        # A declared output dtype that was the fault is the interface now: numbers are compared.
        close = numpy.array_equal(a, b.astype(a.dtype), equal_nan=a.dtype.kind == "f") if exact and not half \
            else numpy.allclose(a, b, rtol=1e-2 if half else 1e-4, atol=1e-2 if half else 1e-4, equal_nan=True)
        require(close, f"output {k} differs" + (" in bits" if exact else ""))


class Bench:
    def __init__(self, cameo, keep):
        self.cameo = cameo
        self.folder = pathlib.Path(keep or tempfile.mkdtemp())
        self.folder.mkdir(exist_ok=True)
        self.table = collections.defaultdict(collections.Counter)
        self.failures = []

    def repair(self, faulty, row):
        """The repaired model and whether safe fixes were enough; None where lint has nothing to mend."""
        source, fixed, again = (self.folder / n for n in ("faulty.onnx", "fixed.onnx", "again.onnx"))
        onnx.save(faulty, source)
        status, report = lint(self.cameo, source, fixed, "--fix")
        safe = status == 0
        if not safe:
            status, report = lint(self.cameo, source, fixed, "--unsafe-fixes")
        summary = report["summary"]
        errors = [f["message"] for f in report["findings"] if f["severity"] == "error"]
        require(status == 0, f"not mended: {errors}")
        repaired = onnx.load(fixed)
        if repaired == faulty:
            return None, safe
        inserted = summary["casts_inserted"] + summary["transfers_inserted"]
        wrong = changes(faulty, repaired, summary["casts_inserted"], summary["transfers_inserted"])
        require(not wrong, f"changed: {wrong}")
        lint(self.cameo, fixed, again, "--fix" if safe else "--unsafe-fixes")
        require(onnx.load(again) == repaired, "repairing again changes the model")
        require(summary["lower_bound"] <= inserted, "more is said to be needed than was done")
        require(summary["proved_minimal"] == (summary["lower_bound"] == inserted), "minimal or not?")
        row.update({"safe" if safe else "unsafe": 1, "casts": summary["casts_inserted"],
                    "transfers": summary["transfers_inserted"], "bound": summary["lower_bound"]})
        return repaired, safe

    def check(self, model, faulty, inputs, exact, row, own):
        repaired, safe = self.repair(faulty, row)
        if repaired is None:
            try:
                onnx.checker.check_model(faulty, full_check=True)
                row["valid"] += 1
            except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
                row["unseen"] += 1
                require(not own, "not seen")
            return
        onnx.checker.check_model(repaired, full_check=True)
        expected, got = run(model, inputs[0]), run(repaired, inputs[1])
        # onnxruntime lacks kernels for some dtypes that the standard allows.
        lacking = isinstance(got, str) and "NOT_IMPLEMENTED" in got and not own
        if not isinstance(expected, str) and not lacking:
            same_results(expected, got, exact and safe)

    def try_model(self, name, model, inputs, only, most, own=False):
        for fault in faults.FAULTS:
            if only and fault.__name__ != only:
                continue
            row = self.table[fault.__name__]
            for i, (what, faulty, feeds) in enumerate(fault(model)):
                if i == most:
                    break
                fed = {k: v.astype(feeds.get(k, v.dtype)) for k, v in inputs.items()}
                row["faults"] += 1
                try:
                    # What is fed in float64 may be computed in it until it meets what is not.
                    exact = fault is not faults.input_f64
                    self.check(model, faulty, (inputs, fed), exact, row, own)
                except (Failed, onnx.checker.ValidationError, onnx.shape_inference.InferenceError,
                        subprocess.TimeoutExpired) as error:
                    row["failed"] += 1
                    self.failures.append(f"{name}, {fault.__name__} ({what}): {error}")

    def print(self):
        print("fault".ljust(18) + "".join(c.rjust(10) for c in COLUMNS))
        for name, row in self.table.items():
            print(name.ljust(18) + "".join(str(row[c]).rjust(10) for c in COLUMNS))
        total = sum(self.table.values(), collections.Counter())
        print("total".ljust(18) + "".join(str(total[c]).rjust(10) for c in COLUMNS))
        for failure in self.failures:
            print("FAILED:", failure[:600])


def data_set(folder, model):
    """Inputs of the first data set, None where some input is no tensor or has no file."""
    inputs = {}
    weights = {t.name for t in model.graph.initializer}
    entries = [i for i in model.graph.input if i.name not in weights]
    for i, entry in enumerate(entries):
        path = folder / "test_data_set_0" / f"input_{i}.pb"
        if not entry.type.HasField("tensor_type") or not path.is_file():
            return None
        inputs[entry.name] = numpy_helper.to_array(onnx.load_tensor(path))
    return inputs


def can_be_mended(model):
    """Has the model Cast at all, and dtypes that only tensors have? BitCast takes its operand's bits as they are."""
    operators = {n.op_type for g in faults.graphs(model.graph) for n in g.node}
    has_cast = any(o.domain in ("", "ai.onnx") for o in model.opset_import)
    return has_cast and "BitCast" not in operators and not any("Sequence" in o for o in operators)


def found_models(folder, every, most_bytes):
    """Models with data that the checker accepts, in order, each `every`th."""
    paths = [p for p in sorted(folder.glob("*/model.onnx")) if p.stat().st_size < most_bytes]
    for path in paths[::every]:
        model = onnx.load(path)
        inputs = data_set(path.parent, model) if can_be_mended(model) else None
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            continue
        if inputs:
            yield path.parent.name, model, inputs


def real_folder(root):
    for place in [os.environ.get("CAMEO_MODELS"), root.parent / "shared" / "models"]:
        if place and pathlib.Path(place).is_dir():
            return pathlib.Path(place)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--keep", help="a folder for the models of the last check")
    options = parser.parse_args()
    bench = Bench(options.cameo, options.keep)
    for name, model, inputs in samples.own_samples():
        bench.try_model(name, model, inputs, options.only, 100, own=True)
    if options.suite and options.suite.is_dir():
        for name, model, inputs in found_models(options.suite, SUITE_EVERY, 1 << 20):
            bench.try_model(name, model, inputs, options.only, PER_FAULT_SUITE)
    else:
        print("SKIPPED: no generated suite here")
    real = real_folder(options.root.resolve())
    if real:
        for name, model, inputs in found_models(real, 1, 1 << 26):
            bench.try_model(name, model, inputs, options.only, PER_FAULT_REAL)
    else:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
    bench.print()
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
