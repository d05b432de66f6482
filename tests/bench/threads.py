#!/usr/bin/env python3
"""What two cores give, and what is left of it where another process keeps one of them busy.

    python3 threads.py --cameo PATH MODEL_FOLDER... [--rounds 9] [--least 1.85] [--most 1.4]

Of each model, as make_models.py writes them, three times in ms of a run: one thread on the first core, two threads on two,
and two threads while a process that never waits is pinned to the second one. Turns alternate. The speedup is of the least
times; what a busy neighbour costs is the median of two threads beside it over the median of one thread on the core that is free,
in the same turn. Exit 1 where a speedup is below --least or a cost above --most.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from floors import pinned


def run(program, data, runs, threads):
    """The least and the median time of so many runs."""
    line = json.loads(pinned([program, "--inputs-from", data, "--bench", runs, "--threads", threads], threads).stdout)
    return line["min_ms"], line["median_ms"]


def beside_neighbour(core, *arguments):
    """The same while the core is busy: one thread, which has the other one for itself, and two."""
    with subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) as busy:
        try:
            return run(*arguments, 1)[1], run(*arguments, 2)[1]
        finally:
            busy.kill()


def measure(program, data, rounds, core):
    runs = max(3, min(2000, int(200 / run(program, data, 3, 1)[0])))
    alone, beside = {1: [], 2: []}, []
    for _ in range(rounds):
        for threads, times in alone.items():
            times.append(run(program, data, runs, threads)[0])
        beside.append(beside_neighbour(core, program, data, runs))
    return min(alone[1]), min(alone[2]), statistics.median(two / one for one, two in beside)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--least", type=float, default=1.85)
    p.add_argument("--most", type=float, default=1.4)
    args = p.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("threads.py: there is one core")
    missed = 0
    print("| model | one thread, ms | two threads, ms | speedup | beside a busy neighbour over one thread |\n|---|---|---|---|---|")
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as scratch:
            program = pathlib.Path(scratch) / "net"
            subprocess.run([args.cameo, "compile", folder / "model.onnx", "-o", program], check=True)
            one, two, cost = measure(program, folder / "test_data_set_0", args.rounds, cores[1])
        missed += one / two < args.least or cost > args.most
        print(f"| {folder.name} | {one:.3f} | {two:.3f} | {one / two:.2f} | {cost:.2f} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
