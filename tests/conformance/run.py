#!/usr/bin/env python3
"""Runs the backend suite through cameo and prints passes, refusals and failures by operator.

    python3 run.py --cameo PATH --suite DIR [--device cpu|cuda] [--filter RE] [-j N] [--json OUT] [--floor FILE]

A case passes when `cameo verify` finds every output equal within the case's own tolerance. It is refused when
cameo says so, before anything runs, naming what is not supported. Anything else is a failure. There is no list
of exceptions to skip; where expected values are noise (NOISE below) the table says so. The floor may only rise.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys


# Cases whose expected values are rounding noise of NumPy's float32 FFT, where zero is right: judged to 1e-6.
NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


def operators(folder):
    import onnx
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    return sorted({n.op_type for n in model.graph.node})


def run_case(args, folder):
    tolerance = json.loads((folder / "tolerance.json").read_text())
    atol = NOISE.get(folder.name, tolerance["atol"])
    command = [args.cameo, "verify", str(folder / "model.onnx"), "--rtol", str(tolerance["rtol"]), "--atol", str(atol), "--device", args.device]
    if args.device == "cpu":
        command = command[:-2]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, errors="replace")
    except subprocess.TimeoutExpired:
        return "failed", "takes over 300 s"
    said = done.stderr + done.stdout
    if done.returncode == 0:
        return "passed", ""
    if done.returncode == 1 and re.search(r"not supported", done.stderr):
        return "refused", next(line for line in said.splitlines() if "not supported" in line)
    kind = "crashed" if done.returncode < 0 or done.returncode > 100 else "failed"
    return kind, f"exit {done.returncode}: " + (" | ".join(said.strip().splitlines()[-4:]))[:600]


def table(results, suite):
    rows = collections.defaultdict(collections.Counter)
    for name, (status, _) in results.items():
        rows[operators_cached(suite / name)][status] += 1
    print(f"{'operator':32} passed refused failed crashed")
    for op in sorted(rows):
        c = rows[op]
        if c["refused"] or c["failed"] or c["crashed"]:
            print(f"{op:32} {c['passed']:6} {c['refused']:7} {c['failed']:6} {c['crashed']:7}")


def operators_cached(folder):
    ops = operators(folder)
    return ops[0] if len(ops) == 1 else "(several)"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--suite", required=True, type=pathlib.Path)
    p.add_argument("--device", default="cpu")
    p.add_argument("--filter", default="")
    p.add_argument("-j", type=int, default=2)
    p.add_argument("--json", type=pathlib.Path)
    p.add_argument("--floor", type=pathlib.Path)
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    names = [c["name"] for c in json.loads((args.suite / "cases.json").read_text())]
    names = [n for n in names if re.search(args.filter, n)]
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        results = dict(zip(names, pool.map(lambda n: run_case(args, args.suite / n), names)))
    counts = collections.Counter(status for status, _ in results.values())
    table(results, args.suite)
    for name, (status, why) in sorted(results.items()):
        if status in ("failed", "crashed") or (args.verbose and status == "refused"):
            print(f"{status} {name}: {why}")
    for name in sorted(NOISE.keys() & results.keys()):
        print(f"judged with atol {NOISE[name]:g}: {name}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(f"{len(names)} cases: {counts['passed']} passed, {counts['refused']} refused, "
          f"{counts['failed']} failed, {counts['crashed']} crashed ({args.device})")
    bad = counts["failed"] + counts["crashed"]
    if args.floor and not args.filter:
        floor = json.loads(args.floor.read_text()).get(args.device, 0)
        if counts["passed"] < floor:
            print(f"below the floor of {floor}")
            bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
