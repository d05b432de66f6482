#!/usr/bin/env python3
"""silence.py CAMEO FOLDER... [--most N] [--write FILE]: what `cameo lint` says of models that people and tools made.

A folder holds models as NAME/model.onnx; of each the N with the most nodes are linted. Of a model that onnx.checker
accepts an error is a failure, unless judged.txt says what is wrong with it; how many of the warnings that are on by default
each rule gives is counted, and judged.txt beside this says of each whether it is true and of use: one that nobody judged is a
failure. Of what the checker refuses, lint has to say something.
"""
import argparse
import collections
import fnmatch
import json
import pathlib
import statistics
import subprocess
import sys

import onnx

from faults import graphs
from repair import checker_error

MARKS = ["<!-- silence: begin -->", "<!-- silence: end -->"]
HERE = pathlib.Path(__file__).resolve().parent
Model = collections.namedtuple("Model", "name path nodes refused")


def judgements(path):
    """Lines of RULE FOLDER/MODEL VERDICT reason; the first that matches a finding holds."""
    rows = [line.split(None, 3) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 4 or row[2] not in ("use", "idle", "false", "fault"):
            sys.exit(f"{path}: not RULE MODEL use|idle|false|fault REASON: {' '.join(row)}")
    return rows


def verdict_of(rows, rule, model):
    return next((verdict for r, glob, verdict, _ in rows if r == rule and fnmatch.fnmatch(model, glob)), None)


def nodes_of(path):
    model = onnx.load(path, load_external_data=False)
    return sum(len(g.node) for g in graphs(model.graph)) + sum(len(f.node) for f in model.functions)


def models_of(name, folder, most):
    """The largest first; those of one node last."""
    paths = sorted(folder.glob("*/model.onnx"))
    counted = sorted(((nodes_of(p), str(p)) for p in paths if p.stat().st_size < 1 << 29), reverse=True)
    models = []
    for nodes, path in counted:
        if sum(not m.refused for m in models) == most:
            break
        refused = bool(checker_error(onnx.load(path)))
        models.append(Model(f"{name}/{pathlib.Path(path).parent.name}", path, nodes, refused))
    return models


def findings_of(cameo, path):
    done = subprocess.run([cameo, "lint", "--format", "json", "--max-per-rule", "0", path], capture_output=True,
                          text=True, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"{path}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["findings"]


class Table:
    """What is counted over all folders."""

    def __init__(self, rows):
        self.judged, self.failures = rows, []
        self.rules = collections.defaultdict(collections.Counter)
        self.models, self.faults, self.refused = [], [], []

    def warn(self, rule, model, count):
        """The rates are of models: alike findings of one model are one headline, and one owner's to judge."""
        verdict = verdict_of(self.judged, rule, model)
        if not verdict:
            self.failures.append(f"{model}: {rule}: nobody judged it")
        self.rules[rule].update({"all": count, "models": 1, verdict: 1})

    def refuse(self, model, found):
        kinds = {f["severity"] for f in found}
        self.refused.append("error" if "error" in kinds else "warning" if "warning" in kinds else "nothing")
        if self.refused[-1] == "nothing" and not verdict_of(self.judged, "-", model.name):
            self.failures.append(f"{model.name}: onnx.checker refuses it, and lint says nothing")

    def add(self, model, found):
        """The model's number of warnings; None where it is not valid."""
        if model.refused:
            self.refuse(model, found)
            return None
        errors = [f for f in found if f["severity"] == "error"]
        for f in errors:
            if verdict_of(self.judged, f["rule"], model.name) != "fault":
                self.failures.append(f"{model.name}: {f['rule']} {f['message']}")
        if errors:
            self.faults.append(model.name)
            return None
        warnings = [f["rule"] for f in found if f["severity"] == "warning"]
        for rule, count in collections.Counter(warnings).items():
            self.warn(rule, model.name, count)
        self.models.append(len(warnings))
        return len(warnings)


def row_of(name, models, counts):
    nodes = [m.nodes for m, c in zip(models, counts) if c is not None]
    warnings = [c for c in counts if c is not None]
    return [name, len(warnings), statistics.median(nodes) if nodes else 0, max(nodes, default=0), 0,
            statistics.median(warnings) if warnings else 0, sum(w == 0 for w in warnings)]


def default_warnings(cameo):
    table = json.loads(subprocess.run([cameo, "rules", "--format", "json"], capture_output=True, text=True,
                                      check=True).stdout)["rules"]
    return [r["id"] for r in table if r["severity"] == "warning" and r.get("default", r.get("on"))]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


def lines_of(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|",
            *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def page(rows, table, ids):
    count = len(table.models)
    text = lines_of(["models", "number", "nodes, median", "nodes, most", "errors", "warnings, median", "models without any"], rows)
    told = [(rule, table.rules[rule]) for rule in sorted(set(ids) | set(table.rules)) if table.rules[rule]["all"]]
    text += lines_of(["rule, on by default", "warnings", "models", "of all models", "of use in", "true, of no use in", "false in",
                      "false, rate", "of no use, rate"],
                     [[rule, c["all"], c["models"], share(c["models"], count), c["use"], c["idle"], c["false"],
                       share(c["false"], c["models"]), share(c["idle"], c["models"])] for rule, c in told])
    quiet = [rule for rule in ids if not table.rules[rule]["all"]]
    said = collections.Counter(table.refused)
    return "\n".join(text) + (
        f"\nOf none of them say anything, so that no rate of theirs is above 1 in {count}: {', '.join(quiet)}.\n\n"
        f"Of the models that the tools wrote, onnx.checker refuses {len(table.refused)} more: lint gives an error for {said['error']} of them, a "
        f"warning for {said['warning']}, nothing for {said['nothing']}. Errors that the checker does not see: "
        f"{', '.join(sorted(table.faults)) or 'none'}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("folders", nargs="+", help="NAME=FOLDER or FOLDER")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    rows, table = [], Table(judgements(HERE / "judged.txt"))
    for text in options.folders:
        name, _, folder = text.rpartition("=")
        name = name or pathlib.Path(folder).name
        models = models_of(name, pathlib.Path(folder), options.most)
        rows.append(row_of(name, models, [table.add(m, findings_of(options.cameo, m.path)) for m in models]))
    rows.append(["all", len(table.models), "", "", 0, statistics.median(table.models), sum(w == 0 for w in table.models)])
    text = page(rows, table, default_warnings(options.cameo))
    print(text)
    if options.write:
        before, _, rest = options.write.read_text().partition(MARKS[0])
        options.write.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{rest.partition(MARKS[1])[2]}")
    for failure in table.failures:
        print("FAILED:", failure)
    sys.exit(1 if table.failures or statistics.median(table.models) > 1 else 0)


if __name__ == "__main__":
    main()
