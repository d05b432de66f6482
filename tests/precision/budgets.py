#!/usr/bin/env python3
"""Does a budget hold on data that were not calibrated on?

Each random network of predict.py is converted to float16 by `cameo convert --calib --budget` on some of its inputs (1, 2, 4 and
8 of them in turn), held to a part of what float16 everywhere is said to be off at most, so that there is something to choose. ONNX Runtime
runs the network and what came of it on the four others and 16 more like them: a check for each of these and each output. Printed are, for each
number of inputs that were calibrated on, the checks, how many were beyond the budget and by how much, and the share of the multiply-adds
in float16. Exit 1: a budget was broken although eight inputs or more were given.

    budgets.py PROGRAM [--random N] [--seed S] [--part LEAST,MOST] [--sets N,...] [--verbose]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import predict
import runs

HELD = 16
TAIL = 8  # inputs whose errors show how they fall off


def convert(program, folder, more=()):
    command = [program, "convert", folder / "m.onnx", "--precision", "f16", "--calib", folder / "data", "--format", "json",
               "-o", folder / "o.onnx", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return (json.loads(done.stdout) if done.stdout.startswith("{") else None), done.returncode


def share_of(report):
    return report["low_products"] / max(report["products"], 1)


def excesses(folder, feeds, budget):
    """Error by budget of each output on each of the inputs."""
    found = []
    for want, got in zip(runs.run_all(folder / "m.onnx", feeds), runs.run_all(folder / "o.onnx", feeds)):
        for w, g in zip(want, got):
            scale = float(np.sqrt(np.sum(w.astype(np.float64) ** 2)))
            if scale > 0:
                found.append(float(np.sqrt(np.sum((g.astype(np.float64) - w) ** 2))) / scale / budget)
    return found


def more_like(feeds, rng):
    """The networks' inputs are normal; these are as large."""
    size = np.std([f["x"] for f in feeds])
    return [{"x": (size * rng.normal(size=feeds[0]["x"].shape)).astype(np.float32)} for _ in range(HELD)]


def check(program, seed, sets, part):
    """(error by budget of each check, share in float16); None: nothing is to choose, or the budget cannot be met."""
    model, feeds = predict.random_network(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "data").mkdir()
        onnx.save(model, folder / "m.onnx")
        for k, f in enumerate(feeds[:sets]):
            np.savez(folder / "data" / f"{k}.npz", **f)
        report, status = convert(program, folder)
        bound = max((e["bound"] for e in report["errors"]), default=0) if report else 0
        if status or not 0 < bound < np.inf:
            return None
        report, status = convert(program, folder, ["--budget", repr(part * bound)])
        if status or not report or share_of(report) == 0:
            return None
        held = feeds[TAIL:] + more_like(feeds, np.random.default_rng(seed))
        return excesses(folder, held, part * bound), share_of(report)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--random", type=int, default=8)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--part", default="0.4,0.95")
    p.add_argument("--sets", default="1,2,4,8")
    p.add_argument("--verbose", action="store_true")
    a = p.parse_args()
    counts = [int(n) for n in a.sets.split(",")]
    least, most = (float(x) for x in a.part.split(","))
    found = {n: ([], []) for n in counts}
    for seed in range(a.seed, a.seed + a.random):
        sets = counts[seed % len(counts)]
        answer = check(a.program, seed, sets, np.random.default_rng(seed).uniform(least, most))
        if a.verbose:
            print(f"random {seed}, {sets} inputs:", "nothing" if answer is None else
                  f"{100 * answer[1]:.1f} %, at most {max(answer[0]):.3f} of the budget", flush=True)
        if answer:
            found[sets][0].extend(answer[0])
            found[sets][1].append(answer[1])
    broken = 0
    for n, (over, shares) in found.items():
        beyond = [x for x in over if x > 1]
        print(f"{n} inputs: {len(shares)} networks, {len(over)} checks, {len(beyond)} beyond the budget, at most {max(over, default=0):.3g} of it, "
              f"{100 * np.mean(shares) if shares else 0:.1f} % in float16")
        broken += len(beyond) if n >= TAIL else 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
