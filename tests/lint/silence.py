#!/usr/bin/env python3
"""silence.py CAMEO FOLDER... [--most N] [--write FILE]: what `cameo lint` says of valid models.

A folder holds models as NAME/model.onnx; of each the N with the most nodes are linted, if onnx.checker accepts them. An error is
a failure; how many of the warnings that are on by default each rule gives is counted.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys

import onnx

from faults import graphs
from repair import checker_error

MARKS = ["<!-- silence: begin -->", "<!-- silence: end -->"]


def nodes_of(path):
    model = onnx.load(path, load_external_data=False)
    return sum(len(g.node) for g in graphs(model.graph)) + sum(len(f.node) for f in model.functions)


def valid_models(folder, most):
    """(nodes, path), the largest first; those of one node last."""
    paths = sorted(folder.glob("*/model.onnx"))
    counted = sorted(((nodes_of(p), str(p)) for p in paths if p.stat().st_size < 1 << 29), reverse=True)
    valid = []
    for nodes, path in counted:
        if len(valid) == most:
            break
        if not checker_error(onnx.load(path)):
            valid.append((nodes, path))
    return valid


def findings_of(cameo, path):
    done = subprocess.run([cameo, "lint", "--format", "json", "--max-per-rule", "0", path], capture_output=True,
                          text=True, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"{path}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["findings"]


def row_of(cameo, name, models):
    """A row of the table, the rules' counts, errors."""
    rules, warnings, errors = collections.Counter(), [], []
    for _, path in models:
        found = findings_of(cameo, path)
        errors += [f"{path}: {f['rule']} {f['message']}" for f in found if f["severity"] == "error"]
        told = [f["rule"] for f in found if f["severity"] == "warning"]
        rules.update(told)
        rules.update({f"{rule} models": 1 for rule in set(told)})
        warnings.append(len(told))
    nodes = [n for n, _ in models]
    row = [name, len(models), statistics.median(nodes) if nodes else 0, max(nodes, default=0), len(errors),
           statistics.median(warnings) if warnings else 0, sum(w == 0 for w in warnings)]
    return row, rules, errors, warnings


def default_warnings(cameo):
    table = json.loads(subprocess.run([cameo, "rules", "--format", "json"], capture_output=True, text=True,
                                      check=True).stdout)["rules"]
    return [r["id"] for r in table if r["severity"] == "warning" and r.get("default", r.get("on"))]


def page(rows, rules, ids, count):
    head = ["models", "number", "nodes, median", "nodes, most", "errors", "warnings, median", "models without any"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines += ["", "| rule, on by default | warnings | models | of all models |", "|---|---:|---:|---:|"]
    for rule in ids:
        models = rules[f"{rule} models"]
        if models:
            lines.append(f"| {rule} | {rules[rule]} | {models} | {100 * models / count:.1f} % |")
    quiet = [rule for rule in ids if not rules[rule]]
    return "\n".join(lines) + f"\n\nOf none of them say anything: {', '.join(quiet)}.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("folders", nargs="+", help="NAME=FOLDER or FOLDER")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    rows, rules, errors, warnings = [], collections.Counter(), [], []
    for text in options.folders:
        name, _, folder = text.rpartition("=")
        row, told, wrong, counts = row_of(options.cameo, name or pathlib.Path(folder).name,
                                          valid_models(pathlib.Path(folder), options.most))
        rows.append(row)
        rules.update(told)
        errors += wrong
        warnings += counts
    rows.append(["all", len(warnings), "", "", len(errors), statistics.median(warnings), sum(w == 0 for w in warnings)])
    text = page(rows, rules, default_warnings(options.cameo), len(warnings))
    print(text)
    if options.write:
        before, _, rest = options.write.read_text().partition(MARKS[0])
        options.write.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{rest.partition(MARKS[1])[2]}")
    for error in errors:
        print("FAILED:", error)
    sys.exit(1 if errors or statistics.median(warnings) > 1 else 0)


if __name__ == "__main__":
    main()
