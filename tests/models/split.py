#!/usr/bin/env python3
"""split.py CAMEO [--programs N] [--nodes N] [--seed S] [--apart]: products of float32 by three terms of bfloat16 agree with float64.

Products of random shapes, several in each program, by constants and by what is given to the program, turned or not: normal factors,
factors of many magnitudes, sums that cancel, tiny ones. Expected are NumPy's sums in float64. The error is held against 2^-24 of
the sum of |x||w|, beside that of the same program with --no-split, whose rms it must not exceed; the rms of normal factors also
against what `compile --report json` says. Rows of x, and columns of w, with an infinity, a NaN or float32's greatest number give
what they give with --no-split. Programs take turns in the C compiler, open sizes and several targets; bits are those of any number
of threads. Without matrix registers both are tiles of float32, and the last line says so.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import programs

ROWS = (80, 81, 95, 96, 97, 112, 127, 128, 129, 130, 200, 255, 256, 300, 511, 512, 513, 590, 600, 700)
WORST, TINY = 16, 2.0**-126
TURNS = ([], ["--cc", "clang-19"], ["--cpu", "x86-64-v3,native"], [])


def factors(random, kind, m, k, n):
    x, w = random.standard_normal((m, k)), random.standard_normal((k, n))
    if kind == "graded":
        x, w = x * np.exp2(random.integers(-30, 30, (m, k))), w * np.exp2(random.integers(-30, 30, (k, n)))
    if kind == "cancels":
        half = k // 2
        x[:, half:2 * half] = -x[:, :half]
        w[half:2 * half] = w[:half] * (1 + 1e-4 * random.standard_normal((half, n)))
    if kind == "tiny":
        x = x * np.exp2(random.integers(-149, -100, (m, k)))
    if kind == "tiny w":
        w = w * np.exp2(random.integers(-149, -100, (k, n)))
    x, w = x.astype(np.float32), w.astype(np.float32)
    if kind == "special":
        for value in (np.inf, -np.inf, np.nan, np.finfo(np.float32).max):
            x[random.integers(m), random.integers(k)] = value
    if kind == "special w":
        w[random.integers(k), random.integers(n)] = random.choice([np.inf, -np.inf, np.nan, np.finfo(np.float32).max])
    return x, w


def program(random, nodes, number):
    open_sizes = number % 4 == 3
    made, inputs, outputs, weights, cases, data = [], [], [], [], [], {}
    for i in range(nodes):
        given = bool(random.integers(2))
        kind = random.choice(["normal", "normal", "graded", "cancels", "tiny", "tiny w", "special", *["special w"] * given])
        m, k, n = int(random.choice(ROWS)), int(random.integers(32, 1100)), int(random.integers(32, 400))
        x, w = factors(random, kind, m, k, n)
        turned = bool(random.integers(2))
        lies = np.ascontiguousarray(w.T) if turned else w
        data[f"x{i}"] = x
        if given:
            data[f"w{i}"] = lies
            inputs.append(helper.make_tensor_value_info(f"w{i}", TensorProto.FLOAT, lies.shape if not open_sizes else
                                                        [f"n{i}", k] if turned else [k, f"n{i}"]))
        else:
            weights.append(numpy_helper.from_array(lies, f"w{i}"))
        made.append(helper.make_node("Gemm", [f"x{i}", f"w{i}"], [f"y{i}"], transB=1) if turned else
                    helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]))
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [f"m{i}" if open_sizes else m, k]))
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None))
        cases.append((f"y{i} {m}x{k}x{n}", (kind, x, w)))
    graph = helper.make_graph(made, "products", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), cases, data


def run(cameo, folder, options, threads, nodes):
    """What the program gives by each number of threads, and the report."""
    done = subprocess.run([cameo, "compile", "m.onnx", "-o", "m", "-q", "--report", "json", *options], cwd=folder, check=True, capture_output=True)
    results = []
    for t in threads:
        subprocess.run(["./m", "x.npz", "-o", "out", "--threads", str(t)], cwd=folder, check=True, env=programs.filled(t))
        results.append([np.load(folder / "out" / f"y{i}.npy") for i in range(nodes)])
    return results, json.loads(done.stdout)


def bounds_of(report):
    return {s["output"]: s["error_rms"] for s in report["split_products"]}


def check(name, case, split, plain, bound):
    kind, x, w = case
    if kind == "special":  # rows that are not finite, or near it, are float32's; those around them may be
        near = ~(np.abs(x) < 1e38).all(axis=1)
        if not np.array_equal(split[near], plain[near], equal_nan=True):
            return [f"{name}: not what tiles of float32 give where x is not finite"]
        x, split, plain = x[~near], split[~near], plain[~near]
    if kind == "special w":
        near = ~(np.abs(w) < 1e38).all(axis=0)
        if not np.array_equal(split[:, near], plain[:, near], equal_nan=True):
            return [f"{name}: not what tiles of float32 give where w is not finite"]
        w, split, plain = w[:, ~near], split[:, ~near], plain[:, ~near]
    x, w = x.astype(np.float64), w.astype(np.float64)
    exact, size = x @ w, np.abs(x) @ np.abs(w)
    flushed = TINY * (x.shape[1] + np.abs(w).sum(axis=0) + np.abs(x).sum(axis=1)[:, None])
    off, before = ((np.maximum(np.abs(v - exact) - flushed, 0) / size * 2**24) for v in (split, plain))
    rms, rms_before = (float(np.sqrt(np.mean(v * v))) for v in (off, before))
    relative = np.sqrt(np.mean((split - exact) ** 2) / np.mean(exact**2))
    faults = []
    if not off.max() <= WORST:
        faults.append(f"{name} {kind}: off by {off.max():.2f} * 2^-24 of the sum of |x||w|")
    if not rms <= 1.05 * rms_before + 1e-3:
        faults.append(f"{name} {kind}: rms {rms:.3f}, of tiles of float32 {rms_before:.3f}")
    if bound and kind == "normal" and not relative <= bound:
        faults.append(f"{name} {kind}: rms {relative:.2e} of the result's, reported {bound:.2e}")
    return faults


def apart(options, folder):
    """The options, but by gcc and with each value in memory of its own."""
    at = options.index("--cc") if "--cc" in options else len(options)
    return options[:at] + options[at + 2:] + programs.apart(folder)


def hold(doc, what, program, turns, bounds_of, check):
    """What main is to programs of products and of convolutions: `program` makes a model, its cases by name and data, `bounds_of` finds
    in a report what goes by terms, `check` names the faults of a case."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("--programs", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--apart", action="store_true", help="each value in memory of its own, under the address sanitizer")
    args = parser.parse_args()
    cameo, faults, by_terms = pathlib.Path(args.cameo).resolve(), [], 0
    for i in range(args.programs):
        model, cases, data = program(np.random.default_rng([args.seed, i]), args.nodes, i)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            options = apart(turns[i % len(turns)], folder) if args.apart else turns[i % len(turns)]
            onnx.save(model, folder / "m.onnx")
            np.savez(folder / "x.npz", **data)
            (terms, *others), report = run(cameo, folder, options, (1, 2, 3), args.nodes)
            (plain,), _ = run(cameo, folder, [*options, "--no-split"], (1,), args.nodes)
        bounds = bounds_of(report)
        by_terms += len(bounds)
        if not programs.has_flag("amx_bf16"):  # tiles of float32, which err as these do
            bounds = {}
        for n, (name, case) in enumerate(cases):
            faults += check(f"program {i}, {name}", case, terms[n], plain[n], bounds.get(f"y{n}"))
            if any(terms[n].tobytes() != other[n].tobytes() for other in others):
                faults.append(f"program {i}, {name}: other bits with other threads")
    print("\n".join(faults + [f"{args.programs * args.nodes} {what}, {by_terms} of them by terms, {len(faults)} faults"]))
    if not (by_terms and programs.has_flag("amx_bf16")):
        print("no matrix registers here: tiles of float32 were compared with themselves")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(hold(__doc__, "products", program, TURNS, bounds_of, check))
