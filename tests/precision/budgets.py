#!/usr/bin/env python3
"""Does a budget hold on data that were not calibrated on?

Each random network of predict.py is converted to float16 by `cameo convert --calib --budget` on some of its inputs (1, 2, 4 and
8 of them in turn), held to a part of what float16 everywhere is said to be off at most, so that there is something to choose. ONNX Runtime
runs the network and what came of it on the four others and 16 more like them (--held): a check for each of these and each
output. Printed are, for each number of inputs that were calibrated on, the checks, how many were beyond the budget and by how much, and the share of the multiply-adds
in float16. Networks with nothing to choose and budgets that cannot be met are counted; a conversion that fails otherwise is an error, and so is
a run without a single check. Exit 1: an error, or a budget was broken although eight inputs or more were given.

    budgets.py PROGRAM [--random N] [--seed S] [--part LEAST,MOST] [--sets N,...] [--held N] [--verbose]
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import predict
import runs

NONE = {"choice": "nothing to choose", "unmet": "the budget cannot be met"}
TAIL = 8  # inputs whose errors show how they fall off


def convert(program, folder, more=()):
    command = [program, "convert", folder / "m.onnx", "--precision", "f16", "--calib", folder / "data", "--format", "json",
               "-o", folder / "o.onnx", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):  # an unmet budget is exit 1 with a report
        raise RuntimeError(f"convert: exit {done.returncode}, {(done.stderr.strip().splitlines() or ['no word'])[0][:160]}")
    return json.loads(done.stdout), done.returncode


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


def more_like(feeds, count, rng):
    """The networks' inputs are normal; these are as large."""
    size = np.std([f["x"] for f in feeds])
    return [{"x": (size * rng.normal(size=feeds[0]["x"].shape)).astype(np.float32)} for _ in range(count)]


def check(program, seed, sets, part, more):
    """(error by budget of each check, share in float16), or why there is no check: a key of NONE. RuntimeError: convert fails."""
    model, feeds = predict.random_network(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "data").mkdir()
        onnx.save(model, folder / "m.onnx")
        for k, f in enumerate(feeds[:sets]):
            np.savez(folder / "data" / f"{k}.npz", **f)
        report, status = convert(program, folder)
        if status:
            raise RuntimeError("convert without a budget: exit 1")
        bound = max((e["bound"] for e in report["errors"]), default=0)
        if not 0 < bound < np.inf:
            return "choice"
        report, status = convert(program, folder, ["--budget", repr(part * bound)])
        if status:
            if not any(e["bound"] > part * bound for e in report["errors"]):
                raise RuntimeError("convert: exit 1, and every bound is within its budget")
            return "unmet"
        if share_of(report) == 0:
            return "choice"
        held = feeds[TAIL:] + more_like(feeds, more, np.random.default_rng(seed))
        return excesses(folder, held, part * bound), share_of(report)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--random", type=int, default=8)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--part", default="0.4,0.95")
    p.add_argument("--sets", default="1,2,4,8")
    p.add_argument("--held", type=int, default=16, help="inputs that are made beside the four others")
    p.add_argument("--verbose", action="store_true")
    a = p.parse_args()
    counts = [int(n) for n in a.sets.split(",")]
    least, most = (float(x) for x in a.part.split(","))
    found = {n: ([], []) for n in counts}
    without, errors = collections.Counter(), []
    for seed in range(a.seed, a.seed + a.random):
        sets = counts[seed % len(counts)]
        try:
            answer = check(a.program, seed, sets, np.random.default_rng(seed).uniform(least, most), a.held)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            answer = f"ERROR: {e}"
            errors.append(f"random {seed}: {e}")
        if isinstance(answer, tuple):
            found[sets][0].extend(answer[0])
            found[sets][1].append(answer[1])
        elif answer in NONE:
            without[answer] += 1
        if a.verbose:
            print(f"random {seed}, {sets} inputs:", NONE.get(answer, answer) if isinstance(answer, str) else
                  f"{100 * answer[1]:.1f} %, at most {max(answer[0]):.3f} of the budget", flush=True)
    broken = 0
    for n, (over, shares) in found.items():
        beyond = [x for x in over if x > 1]
        print(f"{n} inputs: {len(shares)} networks, {len(over)} checks, {len(beyond)} beyond the budget, at most {max(over, default=0):.3g} of it, "
              f"{100 * np.mean(shares) if shares else 0:.1f} % in float16")
        broken += len(beyond) if n >= TAIL else 0
    print("no check:", ", ".join(f"{NONE[k]} {without[k]}" for k in NONE))
    for e in errors:
        print("error:", e)
    return 1 if broken or errors or not any(over for over, _ in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
