#!/usr/bin/env python3
"""What the specification leaves undefined must be defined in the emitted C: every operator on values that it was not
made for, under AddressSanitizer and UndefinedBehaviorSanitizer.

    python3 undefined.py --cameo PATH [--seed S] [--count N] [--ops RE]

Nodes are those of fuzz.py; what the running program is given are extreme integers, infinities, NaN and bits at random,
as indices, shapes and lengths too. A program may give any result, or end with an error of its own (exit 1); it may not
crash, hang, or do what a sanitizer reports.
"""
import argparse
import os
import pathlib
import sys
import tempfile

import json

import numpy as np

import draw
import fuzz
import oracle
import recipes


def hostile(rng, i):
    """Values of an input that pay no heed to what they mean."""
    name, shape = i.dtype, i.shape
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    values = np.array(draw.wild(rng, name, shape))
    if not draw.is_float(name):
        low, high = draw.limits(name)
        pool = np.array([low, high, low + 1, -1 if low else high, 0, 1, 2, 7, high // 2 + 1, high // 8], object)
        values = np.asarray(pool[rng.integers(0, len(pool), shape)]).astype(values.dtype).reshape(shape)
    return values


def make_case(folder, op, seed):
    function, options = recipes.TABLE[op]
    d = draw.Draw(op, seed)
    function(d, **options)
    for i in d.inputs:  # nothing that the running program could be given is a weight
        if i is not None and not i.whole:
            i.constant = False
    if not any(i is not None and not i.constant for i in d.inputs):
        raise oracle.NoOracle("nothing is given to the program")
    results = oracle.expected(d, d.data_set(0))
    fuzz.write_case(folder, draw.make_model(d, results), (0.0, 0.0))
    for k in range(3):
        rng = np.random.default_rng([seed, k, 80])
        given = [(i.name, i.dtype, hostile(rng, i)) for i in d.inputs if i is not None and not i.constant]
        outs = [(f"y{j}", d.output_dtype(j), np.zeros(0, r.dtype)) for j, r in enumerate(results)]
        fuzz.write_set(folder / f"test_data_set_{k}", given, outs)


def is_bad(status, why):
    """A result that is not as expected is what one expects here."""
    return status == "crashed" or status == "failed" and ("compile" in why or "unit" in why)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=250)
    p.add_argument("--ops", default="")
    p.add_argument("--only")
    p.add_argument("--keep", type=pathlib.Path)
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    options = p.parse_args()
    options.extra, options.interp = "", None
    recipes.load()
    # A size of some 10^9 is a fair request: it must end for want of memory, not take its time.
    os.environ["ASAN_OPTIONS"] = "max_allocation_size_mb=256"
    with tempfile.TemporaryDirectory(prefix="undefined-") as work:
        suite, names = pathlib.Path(work), []
        for op, seed in fuzz.chosen(options):
            try:
                if op != "graph":
                    make_case(suite / f"{op}-{seed}", op, seed)
                    names.append(f"{op}-{seed}")
            except oracle.NoOracle:
                continue
        (suite / "cases.json").write_text(json.dumps([{"name": n, "kind": "node"} for n in names]))
        results = fuzz.conformance(options, suite, "--sanitize", "--compiler", "clang-19", "--limit", "20")
        bad = {n: r for n, r in results.items() if is_bad(*r)}
        for name, (status, why) in sorted(bad.items()):
            print(f"{name}: {status}: {why}")
            if options.keep and (suite / name).exists() and not (options.keep / name).exists():
                options.keep.mkdir(parents=True, exist_ok=True)
                (suite / name).rename(options.keep / name)
    print(f"{len(names)} nodes on values that they were not made for: {len(bad)} undefined")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
