#!/usr/bin/env python3
"""judge.py CAMEO CACHE [--filter RE] [--write FILE] [--no-run]: models that PyTorch's exporters wrote, against ONNX Runtime.

CACHE is what export.py left. Each model is linted (no error may be reported), compiled to one program, and run with
every set of inputs, whose sizes differ; `cameo run` does the first set too. Outputs are compared with those of ONNX
Runtime without optimizations: rtol 1e-3, atol 1e-4; where the network asks for another atol (detectors, whose
boxes are in pixels, and logarithms of small sums) the table says so. --write puts the table into a document.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "conformance"))
import values  # noqa: E402

RTOL = 1e-3
onnxruntime.set_default_logger_severity(4)
MARK = "<!-- table: written by tests/exporters/judge.py -->"


def call(*command, limit=300):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"takes over {limit} s")


def said(done):
    lines = (done.stderr + done.stdout).strip().splitlines()
    return f"exit {done.returncode}: " + " | ".join(lines[:3])


def expected(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def count_nodes(model):
    """Nodes of the graph, of its subgraphs and of the functions of the model."""
    def of(nodes):
        return sum(1 + sum(of(a.g.node) for a in n.attribute if a.HasField("g")) for n in nodes)
    return of(model.graph.node) + sum(of(f.node) for f in model.functions)


def compare(model, out, want, atol):
    for k, info in enumerate(model.graph.output):
        path = out / f"output_{k}.pb"
        if not path.exists():
            return f"output {info.name} is not there"
        why = values.difference(values.read(path, values.kind_of(info)), want[k], RTOL, atol)
        if why:
            return f"output {info.name}: {why}"
    return None


def judge_set(options, folder, model, program, data, atol, scratch):
    """What is wrong with one set of inputs, or None."""
    path = folder / "model.onnx"
    with np.load(data) as held:
        feeds = {n: held[n] for n in held.files}
    try:
        want = expected(path, feeds)
    except Exception as e:  # noqa: BLE001: an exporter that fixed a size wrote a model for that size only
        return "onnxruntime", str(e).splitlines()[0][:160]
    ways = [("program", [program])]
    if data.stem == "data_0" and not options.no_run:
        ways.append(("run", [options.cameo, "run", path]))
    for name, command in ways:
        out = scratch / f"{data.stem}.{name}"
        done = call(*command, data, "-o", out, "--format", "pb")
        if done.returncode:
            return "wrong", f"{data.stem}, {name}: {said(done)}"
        why = compare(model, out, want, atol)
        if why:
            return "wrong", f"{data.stem}, {name}: {why}"
    return None


def judge(options, folder):
    """One row of the table: status, and what is to be said."""
    about = json.loads((folder / "about.json").read_text())
    row = {"name": about["name"], "exporter": about["exporter"], "nodes": "", "sizes": "", "note": "", "torch": about["torch"]}
    if "refused" in about:
        return row | {"status": "not exported", "note": about["refused"]}
    path, atol = folder / "model.onnx", about["atol"]
    model = onnx.load(path)
    row["nodes"] = count_nodes(model)
    lint = call(options.cameo, "lint", path)
    if lint.returncode:
        return row | {"status": "lint", "note": said(lint)}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        begin = time.monotonic()
        done = call(options.cameo, "compile", path, "-o", scratch / "program")
        row["seconds"] = time.monotonic() - begin
        if done.returncode:
            return row | {"status": "refused" if done.returncode == 1 else "failed", "note": said(done)}
        sets, beyond = sorted(folder.glob("data_*.npz")), []
        for data in sets:
            wrong = judge_set(options, folder, model, scratch / "program", data, atol, scratch)
            if wrong and wrong[0] == "wrong":
                return row | {"status": "wrong", "note": wrong[1]}
            beyond += [wrong[1]] if wrong else []
    row["sizes"] = len(sets) - len(beyond)
    note = [f"atol {atol:g}"] if atol != 1e-4 else []
    note += [f"{len(beyond)} sizes that ONNX Runtime refuses too: {beyond[0]}"] if beyond else []
    return row | {"status": "agrees" if row["sizes"] else "no size runs", "note": "; ".join(note)}


def table_of(rows):
    lines = ["| model | exporter | nodes | sizes | result |", "|---|---|---|---|---|"]
    for r in rows:
        note = re.sub(r"/\S*/", "", r["note"]).replace("|", "/")
        lines.append(f"| {r['name']} | {r['exporter']} | {r['nodes']} | {r['sizes']} | {r['status']}{': ' if note else ''}{note} |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("cache", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("--write", type=pathlib.Path)
    p.add_argument("--no-run", action="store_true", help="leave `cameo run` out")
    p.add_argument("-j", "--jobs", type=int, default=2)
    options = p.parse_args()
    options.cameo = str(pathlib.Path(options.cameo).resolve())
    folders = sorted(a.parent for a in options.cache.glob("*/about.json") if re.search(options.filter, a.parent.name))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda f: judge(options, f), folders))
    print(table_of(rows))
    bad = [r for r in rows if r["status"] not in ("agrees", "not exported")]
    good = sum(r["status"] == "agrees" for r in rows)
    line = f"{good} models agree, {len(bad)} do not, {len(rows) - good - len(bad)} could not be exported (torch {rows[0]['torch']})"
    print(line)
    if options.write:
        before = options.write.read_text().partition(MARK)[0]
        options.write.write_text(f"{before}{MARK}\n\n{line}.\n\n{table_of(rows)}\n")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
