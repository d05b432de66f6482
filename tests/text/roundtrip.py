#!/usr/bin/env python3
"""roundtrip.py CAMEO SUITE: models through the text form (.cir) and back.

`cameo lint --fix -o OUT` writes a copy in OUT's form where nothing has to change; of the rules only one without a repair is
asked. The copy read from text and exported must equal the original field by field, and text printed from text must be the
same text.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx


def copy(cameo, source, target):
    done = subprocess.run([cameo, "lint", "--select", "ST005", "--fix", "-o", target, source], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}")
    return "fixed[" in done.stdout


def check(cameo, model, scratch):
    first, second, back = scratch / "a.cir", scratch / "b.cir", scratch / "back.onnx"
    if copy(cameo, model, first):
        return "lint repaired a model of the suite"
    copy(cameo, first, back)
    copy(cameo, first, second)
    if first.read_bytes() != second.read_bytes():
        return "text printed from text differs"
    equal = onnx.load(model, load_external_data=False) == onnx.load(back, load_external_data=False)
    return None if equal else "the exported model differs"


def main():
    cameo, suite = sys.argv[1], pathlib.Path(sys.argv[2])
    names = [c["name"] for c in json.loads((suite / "cases.json").read_text())]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            try:
                fault = check(cameo, suite / name / "model.onnx", pathlib.Path(scratch))
            except RuntimeError as e:
                fault = str(e)
            if fault:
                bad += 1
                print(f"{name}: {fault}")
    print(f"{len(names) - bad} of {len(names)} models come back equal from text")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
