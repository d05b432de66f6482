#!/usr/bin/env python3
"""Runs the generated cases of every operator in every version and prints what came of each.

    python3 run.py --cameo PATH --suite DIR [--filter RE] [--floor FILE] [--all] [more options of conformance/run.py]

Cases are compiled and judged by tests/conformance/run.py. The table says operator, version, the opset of its models,
cases, and how many passed, were refused and failed: versions of which every case passed only with --all. Below it
stand the versions that have no case, each with the reason. Exit 1 where a case fails, or fewer pass than the floor.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def judge(options, rest, result):
    runner = pathlib.Path(__file__).resolve().parents[1] / "conformance" / "run.py"
    command = [sys.executable, runner, "--cameo", options.cameo, "--suite", options.suite, "--json", result,
               "--optimize=-O0", *rest]
    done = subprocess.run(command, capture_output=True, text=True)
    if not result.exists():
        sys.exit(f"the runner failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    seconds = [line for line in done.stdout.splitlines() if line.startswith("seconds")]
    return json.loads(result.read_text()), " ".join(seconds)


def row(version, results):
    got = [results[name][0] for name in version["cases"] if name in results]
    count = {s: got.count(s) for s in ("passed", "refused", "failed", "crashed")}
    return len(got), count["passed"], count["refused"], count["failed"] + count["crashed"]


def print_table(versions, results, everything):
    print(f"{'operator':36} since opset  cases passed refused failed")
    for v in versions:
        cases, passed, refused, failed = row(v, results)
        if cases and (everything or passed < cases):
            print(f"{v['operator']:36} {v['since']:5} {v['opset']:5} {cases:6} {passed:6} {refused:7} {failed:6}")
    without = [v for v in versions if not v["cases"]]
    for v in without:
        print(f"no case: {v['operator']} {v['since']}: {v['why'].splitlines()[0][:120]}")
    return without


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo", required=True)
    p.add_argument("--suite", required=True, type=pathlib.Path)
    p.add_argument("--floor", type=pathlib.Path)
    p.add_argument("--all", action="store_true", help="print every version")
    options, rest = p.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="versions-") as work:
        results, seconds = judge(options, rest, pathlib.Path(work) / "result.json")
    versions = json.loads((options.suite / "versions.json").read_text())
    without = print_table(versions, results, options.all)
    for name in sorted(results):
        status, reason = results[name]
        if status in ("failed", "crashed"):
            print(f"{status} {name}: {reason[:300]}")
    statuses = [status for status, _ in results.values()]
    counts = {s: statuses.count(s) for s in ("passed", "refused", "failed", "crashed")}
    whole = [v for v in versions if v["cases"] and row(v, results)[0] == row(v, results)[1] > 0]
    print(seconds)
    print(f"{len(versions)} versions: {len(whole)} whole, {len(versions) - len(whole) - len(without)} in part or refused, "
          f"{len(without)} without a case; {len(results)} cases: "
          + ", ".join(f"{n} {s}" for s, n in counts.items()))
    floor = json.loads(options.floor.read_text())["cases"] if options.floor else 0
    if counts["passed"] < floor:
        print(f"below the floor of {floor}")
    return 1 if counts["failed"] + counts["crashed"] or counts["passed"] < floor else 0


if __name__ == "__main__":
    sys.exit(main())
