"""Repairs of faulty models, and what is asked of each.

`cameo lint` finds no error any more; onnx.checker accepts the model with full_check; onnxruntime loads it where it loads
the model before the fault; outputs are that model's, bit for bit unless the model computes with float16 or the fault rounded to
it, and of the same shapes where it draws random numbers without a seed; repairing again changes nothing; nothing but the repair was changed; the number of nodes inserted is what is said, and no less would do.
"""
import collections
import json
import pathlib
import subprocess

import ml_dtypes
import numpy
import onnx

import faults
from compare import changes
from minimal import fewest_casts
from typeflow import Flow
from witness import DRAWN, EVALUATOR, draws, results, session, witness_of

CHECKER_ERRORS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError)


# Rules that may find something in the model before the fault, and have a repair of their own.
OTHERS = "ST006,ST010,SE,MP,NS,PR,PF,QN005,DT006,DT007,DT010,DV003,DV007"


class Failed(Exception):
    pass


def require(good, what):
    if not good:
        raise Failed(what)


def load_error(model):
    """What onnxruntime says to the model; None: it loads it."""
    try:
        session(model)
    except Exception as error:  # onnxruntime raises many kinds
        return str(error)
    return None


def checker_error(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except CHECKER_ERRORS as error:
        return str(error)
    return None


def lint(cameo, source, *arguments):
    command = [cameo, "lint", "--format", "json", str(source), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    require(done.returncode in (0, 1), f"exit {done.returncode}: {done.stderr.strip()}")
    return done.returncode, json.loads(done.stdout)


def require_close(expected, got, half):
    for k, (a, b) in enumerate(zip(expected, got)):
        if not isinstance(a, numpy.ndarray):
            continue
        short = a.dtype == ml_dtypes.bfloat16  # to NumPy no kind of number
        error = 1e-2 if half or short or a.dtype == numpy.float16 else 1e-4
        if short and b.dtype == a.dtype:
            a, b = a.astype(numpy.float32), b.astype(numpy.float32)
        same = numpy.allclose(a.astype(b.dtype), b, rtol=error, atol=error, equal_nan=True) \
            if a.dtype.kind in "fiub" else numpy.array_equal(a, b)
        require(same, f"output {k} differs")


def shapes(values):
    return [getattr(v, "shape", None) for v in values]


def same_casts(a, b):
    """Have two models Casts of the same targets, so that each operation is done in as many bits?"""
    def targets(model):
        nodes = [n for _, n in [*faults.all_nodes(model), *faults.body_nodes(model)]]
        return sorted(x.i for n in nodes if n.op_type == "Cast" for x in n.attribute if x.name == "to")
    return targets(a) == targets(b)


def has_half(model):
    """onnxruntime computes float16 in float32 between nodes as it likes."""
    half = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    return any(dtype in half for dtype in Flow(model).made.values())


def casts_in(model):
    return sum(n.op_type == "Cast" for n in model.graph.node)


class Repairs:
    """Repairs models in a folder of their own; `count` of each is a row of the table."""

    def __init__(self, cameo, folder):
        self.cameo, self.folder = cameo, pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True, parents=True)
        self.told_same = collections.Counter()  # by whom outputs were told to be the same bits; None: they are not

    def path(self, name):
        return self.folder / f"{name}.onnx"

    def put(self, files):
        """What lies beside the models: these files, and none from before."""
        for path in self.folder.iterdir():
            if path.suffix != ".onnx" and path.name not in files:
                path.unlink()
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def find(self, model, files={}):
        self.put(files)
        onnx.save(model, self.path("faulty"))
        return lint(self.cameo, self.path("faulty"))

    def mend(self, faulty, flag, out):
        onnx.save(faulty, self.path("faulty"))
        # What else the model itself has stays: the repair of a fault is to change nothing else.
        status, report = lint(self.cameo, self.path("faulty"), flag, "--ignore", OTHERS, "-o", self.path(out))
        return status, report, onnx.load(self.path(out))

    def check(self, fault, control, inputs, tries):
        """Counts of one repair: safe, casts, transfers, bound, ... Raises Failed."""
        self.put(fault.files)
        status, report, repaired = self.mend(fault.model, "--unsafe-fixes", "fixed")
        errors = [f["message"] for f in report["findings"] if f["severity"] == "error"]
        require(status == 0, f"not mended: {errors}")
        summary = report["summary"]
        casts, transfers = summary["casts_inserted"], summary["transfers_inserted"]
        by_rule = fault.most_casts is not None
        if not by_rule:
            self.check_offer(summary)
        wrong = changes(fault.model, repaired, casts, transfers)
        require(not wrong, f"changed: {wrong}")
        again, _, twice = self.mend(repaired, "--unsafe-fixes", "again")
        require(twice == repaired, "repairing again changes the model")
        error = checker_error(repaired)
        require(not error, f"the checker refuses: {error}")
        if by_rule:
            more = casts_in(repaired) - casts_in(control)
            require(more <= fault.most_casts, f"{more} Casts more than before the fault, {fault.most_casts} would do")
            return {"unsafe": 1, "casts": max(more, 0), "bound reached": 1}
        self.check_bound(summary)
        row = {"unsafe": 1, "casts": casts, "transfers": transfers,
               "bound reached": int(summary["proved_minimal"])}
        row.update(self.check_least(fault, casts, tries))
        half = fault.narrow or has_half(control)
        self.check_results(fault, control, repaired, inputs, not half, half)
        row.update(self.check_safe(fault, control, inputs))
        return row

    def check_offer(self, summary):
        """What one finding offers is what is done: as many Casts."""
        _, report = lint(self.cameo, self.path("faulty"))
        fixes = [f["fixes"][0] for f in report["findings"] if f["severity"] == "error" and f["fixes"]]
        if len(fixes) == 1 and fixes[0]["safety"] == "unsafe":
            require(fixes[0]["casts"] == summary["casts_inserted"],
                    f"offered: {fixes[0]['text']}; done: {summary['casts_inserted']} casts")

    def check_bound(self, summary):
        inserted = summary["casts_inserted"] + summary["transfers_inserted"]
        require(summary["lower_bound"] <= inserted, "more is said to be needed than was done")
        require(summary["proved_minimal"] == (summary["lower_bound"] == inserted), "minimal or not?")

    def check_least(self, fault, casts, tries):
        if fault.rule == "DV001":
            return {}
        least = fewest_casts(fault.model, casts, tries)
        require(least is None or least >= casts, f"{casts} casts inserted, {least} would do")
        return {"brute force": int(least is not None)}

    def check_results(self, fault, control, repaired, inputs, exact, half):
        """Are outputs the same bits, by a witness? exact: they have to be. Of a model that draws random numbers: of the same shapes."""
        fed = {k: v.astype(fault.feeds.get(k, v.dtype)) for k, v in inputs.items()}
        inputs = {k: fed[k].astype(v.dtype) for k, v in inputs.items()}
        found = results(control, repaired, (inputs, fed))
        who, expected, got = found
        if who == EVALUATOR:
            error = load_error(repaired)
            require(not error or load_error(control), f"onnxruntime does not load it: {error}")
        if expected is None:
            return False
        require(isinstance(got, list), f"does not run: {got}")
        if draws(control):
            require(shapes(expected) == shapes(got), "outputs of other shapes")
            self.told_same[DRAWN] += 1
            return False
        witness = witness_of(control, repaired, (inputs, fed), found)
        require(witness or not exact, "outputs differ in bits")
        require_close(expected, got, half)
        self.told_same[witness] += 1
        return witness is not None

    def check_safe(self, fault, control, inputs):
        """Where the safe fixes are enough: outputs are the same bits, unless the model computes with float16 and other Casts, or
        the fault changed values."""
        status, report, repaired = self.mend(fault.model, "--fix", "safe")
        if status != 0:
            return {}
        error = checker_error(repaired)
        require(not error, f"after --fix the checker refuses: {error}")
        if fault.most_casts is None:
            wrong = changes(fault.model, repaired, report["summary"]["casts_inserted"], report["summary"]["transfers_inserted"])
            require(not wrong, f"changed by --fix: {wrong}")
        _, _, twice = self.mend(repaired, "--fix", "again")
        require(twice == repaired, "--fix again changes the model")
        # A safe repair keeps what the fault rounded: behind QuantizeLinear that may be another step.
        valid = fault.rounded or control
        exact = fault.exact and (not has_half(control) or same_casts(fault.model, repaired))
        same = self.check_results(fault, valid, repaired, inputs, exact, fault.narrow or has_half(control))
        return {"safe": 1, "unsafe": 0, "same bits": int(same)}
