#!/usr/bin/env python3
"""Cameo's own time for each case of the backend suite: from a model to its C, no C compiler.

    python3 case_cost.py --cameo PATH --suite FOLDER [--every N] [--rounds 3]

Counts processor time of the whole process, start included, the least of the rounds; prints median, 95th percentile and
the dearest ten with the size of their C. Exits 1 where the median is over --limit milliseconds.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile


def cost(command):
    """Milliseconds of processor time, or None where the command fails."""
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return None if status else 1e3 * (usage.ru_utime + usage.ru_stime)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--suite", required=True, type=pathlib.Path)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--limit", type=float, default=30)
    args, costs, refused = p.parse_args(), [], 0
    folders = sorted(f.parent for f in args.suite.glob("*/model.onnx"))[::args.every]
    with tempfile.TemporaryDirectory() as work:
        out = pathlib.Path(work) / "case.c"
        for folder in folders:
            command = [args.cameo, "compile", str(folder / "model.onnx"), "--emit", "c", "-o", str(out)]
            times = [cost(command) for _ in range(args.rounds)]
            if None in times:
                refused += 1
            else:
                costs.append((min(times), out.stat().st_size, folder.name))
    costs.sort(reverse=True)
    times = [c[0] for c in costs]
    median = statistics.median(times)
    print(f"{len(costs)} cases ({refused} not compiled): median {median:.1f} ms, 95th percentile "
          f"{times[len(times) // 20]:.1f} ms, greatest {times[0]:.1f} ms; C of the median case "
          f"{statistics.median(c[1] for c in costs) / 1024:.1f} KB")
    for ms, size, name in costs[:10]:
        print(f"  {ms:8.1f} ms  {size / 1024:8.1f} KB  {name}")
    sys.exit(1 if median > args.limit else 0)


if __name__ == "__main__":
    main()
