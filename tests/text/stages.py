#!/usr/bin/env python3
"""stages.py CAMEO SUITE [--every N] [--stages A,B]: text of every stage reads back as what was printed.

For each model of the suite (each Nth; default 1) and each pass of `cameo passes`, the text after that pass is read
and printed again and must be the same text. A pass over kernels that reads the text of the pass before it must give what
the compiler has after it, but for the numbers of loop variables.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def cameo(args, *argv):
    return subprocess.run([args.cameo, *argv], capture_output=True, text=True, timeout=120)


def passes(args):
    return json.loads(cameo(args, "passes", "--format", "json").stdout)["passes"]


def check(args, model, stage, scratch):
    first, second = scratch / f"{stage}.cir", scratch / "second.cir"
    made = cameo(args, "dump", "--after", stage, "-o", first, model)
    if made.returncode == 1 and "not supported" in made.stderr and "VERIFY" not in made.stderr:
        return "refused"
    if made.returncode:
        return f"dump: exit {made.returncode}: {made.stderr[-300:]}"
    read = cameo(args, "opt", "-o", second, first)
    if read.returncode:
        return f"opt: exit {read.returncode}: {read.stderr[-300:]}"
    return "equal" if first.read_bytes() == second.read_bytes() else "text printed from text differs"


def replay(args, before, stage, scratch):
    """A pass over kernels, run on the text before it and in the compiler."""
    again = scratch / "again.cir"
    done = cameo(args, "opt", "--passes", stage, "-o", again, scratch / f"{before}.cir")
    if done.returncode:
        return f"{stage} on text: exit {done.returncode}: {done.stderr[-300:]}"
    same = anonymous(scratch / f"{stage}.cir") == anonymous(again)
    return None if same else f"{stage} on text differs from the compiler's"


def anonymous(path):
    """Each line's words, loop variables without their numbers: a pass that splits loops takes them in the order in
    which indices were made, which text does not keep, so their numbers and the order of terms may differ."""
    lines = path.read_text().split("\n")
    return [sorted(re.findall(r"\w+|[^\w\s]", re.sub(r"\bi\d+\b", "i", line))) for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo")
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--stages")
    args = parser.parse_args()
    names = [c["name"] for c in json.loads((args.suite / "cases.json").read_text())][::args.every]
    stages = args.stages.split(",") if args.stages else [p["name"] for p in passes(args)]
    on_kernels = [p["name"] for p in passes(args) if "lowered" in p["needs"] + p["gives"] and p["name"] in stages]
    table, bad = collections.Counter(), 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            found = {s: check(args, args.suite / name / "model.onnx", s, scratch) for s in stages}
            faults = [f"{s}: {f}" for s, f in found.items() if f not in ("equal", "refused")]
            for before, stage in zip(on_kernels, on_kernels[1:]):
                if found[before] == "equal" and found[stage] == "equal":
                    faults += filter(None, [replay(args, before, stage, scratch)])
            for stage, result in found.items():
                table[stage, result if result in ("equal", "refused") else "bad"] += 1
            bad += bool(faults)
            for fault in faults:
                print(f"{name}: {fault}")
    for stage in stages:
        counts = ", ".join(f"{table[stage, k]} {k}" for k in ("equal", "refused", "bad") if table[stage, k])
        print(f"{stage:18} {counts}")
    print(f"{len(names) - bad} of {len(names)} models come back equal from the text of every stage")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
