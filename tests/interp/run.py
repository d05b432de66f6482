#!/usr/bin/env python3
"""Runs the backend suite through the interpreter, the definition of the kernel IR.

    python3 run.py --interp PATH --suite DIR [--fused] [--filter RE] [-j N] [--verbose]

Exit 1 if a case that is lowered differs from its expected outputs; with --fused, if the fused module gives other
bits than the module as lowered.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import draws  # noqa: E402

STATUS = {0: "passed", 1: "refused", 2: "failed", 3: "too large"}


def run_case(interp, folder, fused):
    command = [interp, "--fused", str(folder)] if fused else [interp, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return "failed", "takes over 120 s"
    said = (done.stdout + done.stderr).strip().splitlines()
    return STATUS.get(done.returncode, "crashed"), said[-1][:300] if said else ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--interp", required=True)
    p.add_argument("--suite", required=True, type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("-j", type=int, default=2)
    p.add_argument("--fused", action="store_true")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    names = [c["name"] for c in json.loads((args.suite / "cases.json").read_text())]
    names = [n for n in names if re.search(args.filter, n)]
    if not args.fused:
        apart = [n for n in names if draws.is_judged(args.suite / n, onnx.load(args.suite / n / "model.onnx"))]
        print(f"left out, since they draw (conformance-draws has such): {', '.join(apart) or 'none'}")
        names = [n for n in names if n not in apart]
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        results = dict(zip(names, pool.map(lambda n: run_case(args.interp, args.suite / n, args.fused), names)))
    for name, (status, why) in sorted(results.items()):
        if status in ("failed", "crashed", "too large") or args.verbose and status == "refused":
            print(f"{status} {name}: {why}")
    counts = collections.Counter(status for status, _ in results.values())
    print(f"{len(names)} cases {'fused' if args.fused else 'interpreted'}: {counts['passed']} passed, {counts['refused']} refused, "
          f""
          f"{counts['too large']} too large, {counts['failed']} failed, {counts['crashed']} crashed")
    sys.exit(1 if counts["failed"] + counts["crashed"] else 0)


if __name__ == "__main__":
    main()
