#!/usr/bin/env python3
"""mutants.py CAMEO ROOT [--suite DIR] [--each N] [--seed N] [--only KIND] [--write FILE]: the mutation test of `cameo lint`.

Valid models get one fault each (faults.py), and it is measured whether lint finds it, by the right rule, with the right
origin, and what its repair is worth (repair.py). A fault is a mutant only if something else than Cameo says that the model
is no longer valid; see is_invalid. What rule and origin are right is known from the fault, by typeflow.py.

Models: samples.py, models made at random (generated.py), the generated backend suite's of two nodes and more, and real ones
from CAMEO_MODELS or ../shared/models. --each is how many mutants of each kind are made, where there are so many.
"""
import argparse
import collections
import itertools
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

import faults
import generated
import origins
import samples
from repair import CHECKER_ERRORS, Failed, Repairs, checker_error, load_error
from typeflow import Flow
from witness import DRAWN, EVALUATOR, RUNTIME, SECOND

COLUMNS = ["mutants", "detected", "rule right", "origin right", "repairable", "repaired", "safe", "same bits", "casts", "bound reached",
           "brute force"]
MARKS = ["<!-- mutants: begin -->", "<!-- mutants: end -->"]
# Nothing but the standard's words and Cameo's own metadata say that these are wrong.
BY_CONSTRUCTION = {"QN002", "QN004", "DV001", "DV008", "ST008"}


def is_invalid(fault, control, rule):
    """Is the mutant's model invalid, by something else than Cameo?

    dtypes: onnx.checker with full_check refuses it, or onnxruntime, which loads the model before the fault, refuses it
    for another reason than a kernel that it lacks. Scales, devices, what a Scan carries, what training's operators give: by
    construction, since both accept them.
    """
    operators = {n.op_type if n.domain in ("", "ai.onnx") else n.domain for n in fault.model.graph.node}
    if fault.rule in BY_CONSTRUCTION or (rule == "DT005" and "Scan" in operators) or \
            (rule and "ai.onnx.preview.training" in operators):
        return True
    if checker_error(fault.model):
        return True
    error = load_error(fault.model)
    return bool(error) and "NOT_IMPLEMENTED" not in error and load_error(control) is None


class Bench:
    def __init__(self, options):
        self.options = options
        self.repairs = Repairs(options.cameo, options.keep or tempfile.mkdtemp())
        self.table = collections.defaultdict(collections.Counter)
        self.failures, self.controls, self.alarms, self.still_valid, self.misnamed = [], 0, 0, 0, 0
        self.used = set()

    def parts(self):
        return dict(self.table), self.failures, self.used, self.alarms, self.still_valid, self.misnamed, self.repairs.told_same

    def merge(self, parts):
        table, failures, used, alarms, still_valid, misnamed, told_same = parts
        self.table.update(table)
        self.repairs.told_same += told_same
        self.failures += failures
        self.used |= used
        self.alarms += alarms
        self.still_valid += still_valid
        self.misnamed += misnamed
        self.controls = len(self.used)

    def fail(self, where, what):
        self.failures.append(f"{where}: {what}")

    # ---- what is right ---------------------------------------------------------------------------

    def errors(self, model, files={}, warned=None):
        """Findings that are errors, or warnings of the rule `warned`."""
        _, report = self.repairs.find(model, files)
        return [f for f in report["findings"] if f["severity"] == "error" or f["rule"] == warned]

    def check_control(self, name, model, files={}):
        """The model as it is has no error."""
        found = self.errors(model, files)
        if found:
            self.alarms += 1
            self.fail(name, f"an error in a valid model: {found[0]['rule']} {found[0]['message']}")

    def judge(self, kind, where, fault, control, inputs):
        row = self.table[kind]
        flow = Flow(fault.model, Flow(control))
        rule = fault.rule or flow.rule()
        invalid = is_invalid(fault, control, rule)
        found = self.errors(fault.model, fault.files, "DT003" if flow.refused else None)
        if not invalid:
            self.still_valid += 1
            if found:
                self.alarms += 1
                self.fail(where, f"an error though the model is still valid: {found[0]['rule']} {found[0]['message']}")
            return False
        if rule is None:
            self.fail(where, "the test does not know what is wrong: " + str(checker_error(fault.model)
                                                                          or load_error(fault.model))[:300])
            return False
        row["mutants"] += 1
        row["detected"] += bool(found)
        rules = sorted({f["rule"] for f in found})
        row["rule right"] += rules == [rule]
        if rules != [rule]:
            self.fail(where, f"found by {rules}, not {rule}: " + "; ".join(f["message"] for f in found))
        right = bool(found) and origins.is_right(fault, flow, control, found)
        row["origin right"] += right
        if found and not right:
            self.misnamed += 1
            self.fail(where, f"begins at {found[0].get('origin')}, not {sorted(map(str, origins.of(fault, flow)))}: "
                             f"{found[0]['message']}")
        if fault.mends and not self.options.no_repair:
            self.judge_repair(row, where, fault, control, inputs)
        return True

    def judge_repair(self, row, where, fault, control, inputs):
        row["repairable"] += 1
        try:
            row.update(self.repairs.check(fault, control, inputs, self.options.tries))
            row["repaired"] += 1
        except (Failed, *CHECKER_ERRORS) as error:
            self.fail(where, f"repair: {error}")

    # ---- choosing --------------------------------------------------------------------------------

    def kind(self, fault_kind, models, rng):
        """Mutants of one kind: of each model in turn, until there are enough."""
        kind, made = fault_kind.__name__, 0
        most = self.options.per_model
        for name, model, inputs in models:
            if made >= self.options.each:
                return
            sites = list(fault_kind(model))
            for what, make in rng.sample(sites, min(most, len(sites))):
                where = f"{name}, {kind} ({what})"
                fault = make(numpy.random.default_rng(rng.randrange(1 << 30)))
                if self.options.where and self.options.where not in where:
                    continue
                control = fault.control or model
                if name not in self.used:
                    self.used.add(name)
                    self.controls += 1
                    self.check_control(name, model)
                if fault.control:
                    self.check_control(where, fault.control, fault.control_files)
                try:
                    made += self.judge(kind, where, fault, control, inputs)
                except Failed as error:
                    self.fail(where, error)

    # ---- figures ---------------------------------------------------------------------------------

    def lines(self):
        total = sum(self.table.values(), collections.Counter())
        yield "fault", COLUMNS
        for kind, row in self.table.items():
            yield kind.replace("_", " "), [row[c] for c in COLUMNS]
        yield "all", [total[c] for c in COLUMNS]

    def witnesses(self):
        """How often outputs were compared, and who said that they are the same bits."""
        told = self.repairs.told_same
        return f"Outputs compared: {told.total() - told[DRAWN]} times (both repairs of a mutant). The same bits by ONNX Runtime: {told[RUNTIME]}; by onnx's " \
               f"evaluator where it does not run the model: {told[EVALUATOR]}, where it gave others: {told[SECOND]}; other bits within the " \
               f"precision: {told[None]}. Of models that draw random numbers without a seed, shapes alone: {told[DRAWN]}."

    def write(self, path):
        """The table and the counts below it, between the marks of a page."""
        rows = [[name, *map(str, cells)] for name, cells in self.lines()]
        rows.insert(1, ["---"] + ["---:"] * len(COLUMNS))
        text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
        text += f"\n\nModels without a fault: {self.controls}. Changes that leave the model valid, and are no mutants: " \
                f"{self.still_valid}. Of both, with an error: {self.alarms}.\n\n{self.witnesses()}\n"
        before, _, rest = path.read_text().partition(MARKS[0])
        _, _, after = rest.partition(MARKS[1])
        path.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{after}")

    def print(self):
        for name, cells in self.lines():
            print(name.ljust(18) + "".join(str(c).rjust(15) for c in cells))
        print(f"{self.controls} models without a fault, {self.still_valid} changes that leave the model valid: "
              f"{self.alarms} with an error")
        print(self.witnesses())
        for failure in self.failures:
            print("FAILED:", failure[:700])


# ---- models --------------------------------------------------------------------------------------

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


def found_models(folder, fewest, most_bytes, rng=None):
    """Models with data that the checker accepts, of so many nodes or more; in an order of chance if there is one."""
    paths = sorted(folder.glob("*/model.onnx"))
    if rng:
        rng.shuffle(paths)
    for path in paths:
        if path.stat().st_size > most_bytes:
            continue
        model = onnx.load(path)
        inputs = data_set(path.parent, model) if len(model.graph.node) >= fewest and can_be_mended(model) else None
        if inputs and not checker_error(model):
            yield path.parent.name, model, inputs


def real_folder(root):
    for place in [os.environ.get("CAMEO_MODELS"), root.parent / "shared" / "models"]:
        if place and pathlib.Path(place).is_dir():
            return pathlib.Path(place)
    return None


def all_models(options, rng):
    made = list(samples.own_samples()) + list(generated.generated_models(options.seed, options.generated))
    if options.suite and options.suite.is_dir():
        made += itertools.islice(found_models(options.suite, 2, 1 << 20, rng), options.suite_models)
    else:
        print("SKIPPED: no generated suite here")
    real = real_folder(options.root.resolve())
    if not real:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
    return made, list(found_models(real, 1, 1 << 26)) if real and options.real else []


def call_one(k):
    return run_one(k)


def run_kind(options, kind, others, real):
    rng = random.Random(f"{options.seed} {kind.__name__}")
    bench = Bench(options)
    # Real models first: they have their part in each kind.
    first = rng.sample(real, min(options.real, len(real)))
    bench.kind(kind, first + rng.sample(others, len(others)), rng)
    return bench


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=80, help="mutants of each kind")
    parser.add_argument("--per-model", type=int, default=2, help="of these, at most so many in one model")
    parser.add_argument("--generated", type=int, default=150, help="models made at random")
    parser.add_argument("--suite-models", type=int, default=1000, help="at most so many of the suite")
    parser.add_argument("--real", type=int, default=6, help="at most so many real models for each kind")
    parser.add_argument("--no-repair", action="store_true", help="find faults only")
    parser.add_argument("--tries", type=int, default=20000, help="steps of a search for fewer Casts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="kinds of faults, separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with kinds of its own")
    parser.add_argument("--where", help="only faults whose description contains this")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this page, between its marks")
    parser.add_argument("--keep", help="a folder for the models of the last check")
    options = parser.parse_args()
    others, real = all_models(options, random.Random(options.seed))
    kinds = [kind for kind in faults.FAULTS if not options.only or kind.__name__ in options.only.split(",")]
    bench = Bench(options)
    if options.jobs > 1:
        # Children inherit the models; each kind is drawn by a seed of its own.
        global run_one
        run_one = lambda k: run_kind(options, kinds[k], others, real).parts()  # noqa: E731
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            for parts in pool.imap(call_one, range(len(kinds)), chunksize=1):
                bench.merge(parts)
    else:
        for kind in kinds:
            bench.merge(run_kind(options, kind, others, real).parts())
    bench.print()
    if options.write:
        bench.write(options.write)
    print(f"{sum(os.times()[:4]):.0f} s of CPU")
    # All of it has to be right, of the origins 98 %.
    mutants = sum(row["mutants"] for row in bench.table.values())
    sys.exit(1 if len(bench.failures) > bench.misnamed or bench.misnamed > 0.02 * mutants else 0)


if __name__ == "__main__":
    main()
