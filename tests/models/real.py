#!/usr/bin/env python3
"""real.py CAMEO ROOT [--filter RE] [--models DIR]: real models against their reference outputs, every data set.

Each model goes five ways: a program compiled with gcc, one compiled with clang, `cameo run`, a program on the emulated
CUDA device (tests/cuda), `cameo verify`. Outputs of the first four are compared here, with NumPy, by the tolerance beside the model (else rtol 1e-3, atol 1e-5). Where
a data set holds the outputs in float64 too, the greatest distance from them is printed for Cameo and for the
reference.

The models are looked for in $CAMEO_MODELS, then in ../shared/models beside the checkout. Where neither exists the
test says so and passes: users do not have them.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "conformance"), str(TESTS / "cuda")]
import program as cuda  # noqa: E402
import values  # noqa: E402


def find_models(root):
    for place in (os.environ.get("CAMEO_MODELS"), root.parent / "shared" / "models"):
        if place and pathlib.Path(place).is_dir():
            return pathlib.Path(place)
    return None


def tolerance_of(folder):
    path = folder / "tolerance.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    return stored.get("rtol", 1e-3), stored.get("atol", 1e-5)


def call(command, env=None):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600, env=env)


def said(done):
    return f"exit {done.returncode}: " + " | ".join((done.stderr + done.stdout).strip().splitlines()[-3:])


def sets_of(folder):
    return sorted(folder.glob("test_data_set_*"), key=lambda p: int(p.name.rpartition("_")[2]))


def distance(value, exact):
    return float(np.max(np.abs(value.astype(np.float64) - exact), initial=0))


def compare_set(folder, outputs, data, out, worst):
    """None, or the first difference of one data set; `worst` collects distances from float64."""
    rtol, atol = tolerance_of(folder)
    for k, info in enumerate(outputs):
        got = values.read(out / f"output_{k}.pb", values.kind_of(info))
        want = values.read(data / f"output_{k}.pb", values.kind_of(info))
        why = values.difference(got, want, rtol, atol)
        if why:
            return f"{data.name}, output {info.name}: {why}"
        exact = data / f"output_{k}_f64.npy"
        if exact.exists():
            exact = np.load(exact)
            worst[0] = max(worst[0], distance(got, exact))
            worst[1] = max(worst[1], distance(want, exact))
    return None


def inputs_of(data):
    return sorted(data.glob("input_*.pb"), key=lambda p: int(p.stem.rpartition("_")[2]))


def run_way(cameo, folder, way, scratch, worst):
    """None where every data set agrees, else what is wrong."""
    model = folder / "model.onnx"
    outputs = onnx.load(model).graph.output
    if way == "verify":
        done = call([cameo, "verify", model])
        return None if done.returncode == 0 else said(done)
    program, env = scratch / way, None
    if way == "cuda":
        try:
            program, env = cuda.emulated(cameo, TESTS.parent, model, scratch)
        except RuntimeError as problem:
            return str(problem)[-600:]
    elif way != "run":
        done = call([cameo, "compile", model, "-o", program, "--cc", way])
        if done.returncode != 0:
            return said(done)
    for data in sets_of(folder):
        out = scratch / f"{way}.{data.name}"
        command = [cameo, "run", model] if way == "run" else [program]
        done = call([*command, *inputs_of(data), "-o", out, "--format", "pb"], env)
        why = said(done) if done.returncode else compare_set(folder, outputs, data, out, worst)
        if why:
            return why
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("root", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("--models", type=pathlib.Path, help="another folder of models")
    options = p.parse_args()
    models = options.models or find_models(options.root.resolve())
    if models is None:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
        sys.exit(77)
    ways, counts = ("gcc", "clang-19", "run", "cuda", "verify"), {"agree": 0, "FAILED": 0}
    for model in sorted(models.glob("*/model.onnx")):
        if not re.search(options.filter, model.parent.name):
            continue
        folder, worst = model.parent, [0.0, 0.0]
        with tempfile.TemporaryDirectory() as scratch:
            faults = {w: run_way(options.cameo, folder, w, pathlib.Path(scratch), worst) for w in ways}
        faults = {w: f for w, f in faults.items() if f}
        state = "FAILED" if faults else "agree"
        counts[state] += 1
        print(f"{folder.name:24} {len(sets_of(folder))} data sets by {', '.join(ways)}: {state}; "
              f"from float64: {worst[0]:.2g}, reference {worst[1]:.2g}", flush=True)
        for fault in sorted(set(faults.values())):
            print(f"    {', '.join(w for w in ways if faults.get(w) == fault)}: {fault}")
    print(f"whole models: {counts['agree']} agree with their references, {counts['FAILED']} failed")
    sys.exit(1 if counts["FAILED"] else 0)


if __name__ == "__main__":
    main()
