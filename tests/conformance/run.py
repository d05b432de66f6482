#!/usr/bin/env python3
"""Runs the backend suite through compiled C and prints passes, refusals and failures by operator.

    python3 run.py --cameo PATH --suite DIR [--filter RE] [--every N] [--jobs N] [--json OUT] [--floor FILE]
                   [--compiler gcc|clang-19] [--sanitize] [--gemm HOW] [--no-override] [--no-fuse]
                   [--threads N]
                   [--via batch|run] [--device cpu|cuda] [--checked]

A case passes when every output of every data set is equal within the case's own tolerance. It is refused when
cameo says so, before anything runs, naming what is not supported. Anything else is a failure, also C that the
compiler warns of. There is no list of exceptions to skip, but the one case that CMakeLists.txt leaves out of
--gemm openblas and says why; where expected values are noise (generate.NOISE) the table
says so. The floor in the repository may only rise.

`batch` (the default) compiles each case to C and a few hundred of them in one translation unit. `run` goes through
`cameo verify`, one process and one just-in-time compilation a case. `--device cuda` runs the kernels under the
emulator of tests/cuda, no GPU being needed; `--via run` runs them on a real one.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import batch
import cuda  # noqa: F401: adds its target


def verify_case(options, case):
    """Through `cameo verify`: the comparison is Cameo's own."""
    command = [options.cameo, "verify", str(case.folder / "model.onnx"), "--rtol", str(case.rtol),
               "--atol", str(case.atol)]
    command += ["--device", options.device] if options.device != "cpu" else []
    command += ["--no-override"] if options.no_override else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, errors="replace")
    except subprocess.TimeoutExpired:
        return case.end("failed", "takes over 300 s")
    said = (done.stderr + done.stdout).strip().splitlines()
    if done.returncode == 0:
        return case.end("passed")
    if done.returncode == 1 and "not supported" in done.stderr:
        return case.end("refused", next(line for line in said if "not supported" in line))
    kind = "crashed" if done.returncode < 0 or done.returncode > 100 else "failed"
    return case.end(kind, f"exit {done.returncode}: " + " | ".join(said[-4:]))


def run_all(options, root, cases):
    """Seconds by stage."""
    begin = time.monotonic()
    if options.via == "run":
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda c: verify_case(options, c), cases))
        return {"verify": time.monotonic() - begin}
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return batch.build_and_run(options, root, options.keep.resolve(), cases)
    with tempfile.TemporaryDirectory(prefix="conformance-") as work:
        return batch.build_and_run(options, root, pathlib.Path(work), cases)


def print_table(cases):
    rows = collections.defaultdict(collections.Counter)
    for case in cases:
        kinds = sorted({n.op_type for n in case.model.graph.node})
        rows[kinds[0] if len(kinds) == 1 else "(several)"][case.status] += 1
    print(f"{'operator':32} passed refused failed crashed")
    for op in sorted(rows):
        c = rows[op]
        if c["refused"] or c["failed"] or c["crashed"]:
            print(f"{op:32} {c['passed']:6} {c['refused']:7} {c['failed']:6} {c['crashed']:7}")


def judged_draws(cases):
    """The cases that were judged rather than compared, by the operators that draw in them."""
    rows = collections.defaultdict(list)
    for case in cases:
        for op in sorted({n.op_type for n in case.drawn.nodes}) if case.drawn else ():
            rows[op].append(case.name)
    return rows


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo", required=True)
    p.add_argument("--suite", required=True, type=pathlib.Path)
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--via", default="batch", choices=["batch", "run"])
    p.add_argument("--filter", default="", help="a regular expression of case names")
    p.add_argument("--every", type=int, default=1, help="only every Nth case")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    p.add_argument("--unit", type=int, default=250, help="cases to a translation unit")
    p.add_argument("--limit", type=int, help="seconds a data set may take (default 120; 1200 with --sanitize)")
    p.add_argument("--compiler", default="gcc")
    p.add_argument("--optimize", default="-O1", help="for the C compiler, as in --optimize=-O3")
    p.add_argument("--sanitize", action="store_true", help="AddressSanitizer and UndefinedBehaviorSanitizer")
    p.add_argument("--gemm", choices=["auto", "packed", "openblas", "loops"])
    p.add_argument("--checked", action="store_true", help="cuda: every access of the emulated kernels is checked")
    p.add_argument("--threads", type=int, default=1, help="of each program; all kernels are divided among them")
    p.add_argument("--no-override", action="store_true")
    p.add_argument("--no-fuse", action="store_true")
    p.add_argument("--keep", type=pathlib.Path, help="leave emitted C and programs there")
    p.add_argument("--json", type=pathlib.Path)
    p.add_argument("--floor", type=pathlib.Path)
    p.add_argument("--verbose", action="store_true", help="print why cases are refused")
    options = p.parse_args()
    options.limit = options.limit or (1200 if options.sanitize else 120)
    return options


def below_floor(options, passed):
    """The floor holds for the whole suite only; where more pass it asks to be raised."""
    if not options.floor or options.filter or options.every > 1:
        return False
    floor = json.loads(options.floor.read_text()).get(options.device, 0)
    if passed < floor:
        print(f"below the floor of {floor}")
    elif passed > floor:
        print(f"above the floor of {floor}: raise it in {options.floor.name}")
    return passed < floor


def main():
    options = arguments()
    options.cameo = str(pathlib.Path(options.cameo).resolve())
    options.suite = options.suite.resolve()
    root = pathlib.Path(__file__).resolve().parents[2]
    rows = [r for r in json.loads((options.suite / "cases.json").read_text())
            if re.search(options.filter, r["name"])][::options.every]
    cases = [batch.Case(i, options.suite / r["name"], r["kind"]) for i, r in enumerate(rows)]
    if options.via == "run":
        apart = [c.name for c in cases if batch.draws.is_judged(c.folder, c.model)]
        print(f"left out, since they are judged through batch only: {', '.join(apart) or 'none'}")
        cases = [c for c in cases if c.name not in apart]
    seconds = run_all(options, root, cases)
    counts = collections.Counter(c.status for c in cases)
    print_table(cases)
    for case in sorted(cases, key=lambda c: c.name):
        if case.status in ("failed", "crashed") or (options.verbose and case.status == "refused"):
            print(f"{case.status} {case.name}: {case.reason}")
    for case in cases:
        if case.noise:
            print(f"judged with atol {case.atol:g}: {case.name}")
    for op, names in sorted(judged_draws(cases).items()):
        print(f"judged by what {op} draws: {', '.join(names)}")
    if options.json:
        options.json.write_text(json.dumps({c.name: [c.status, c.reason] for c in cases}, indent=1))
    bad = counts["failed"] + counts["crashed"] + below_floor(options, counts["passed"])
    print("seconds: " + ", ".join(f"{k} {v:.1f}" for k, v in seconds.items()))
    print(f"{len(cases)} cases: {counts['passed']} passed, {counts['refused']} refused, "
          f"{counts['failed']} failed, {counts['crashed']} crashed ({options.device})")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
