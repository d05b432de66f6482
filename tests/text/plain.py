#!/usr/bin/env python3
"""plain.py CAMEO SUITE: `cameo dump --format onnxtxt` of every model is read by onnx.parser.parse_model.

What comes back means what the original means, or what was left out is named on stderr. "Means": which of a tensor's
fields holds the payload, and whether an empty field is present, is not looked at.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnx.parser
import plain_models
from onnx import numpy_helper


def meaning(m):
    """A message as nested dicts, empty fields left out, tensors by their elements."""
    if isinstance(m, onnx.TensorProto) and m.data_location != onnx.TensorProto.EXTERNAL:
        try:
            a = numpy_helper.to_array(m)
            return [m.name, m.doc_string, m.data_type, list(m.dims),
                    a.tobytes() if a.dtype != object else a.tolist()]
        except (ValueError, TypeError, KeyError):
            return [m.name, m.SerializeToString()]  # a payload that does not fit
    fields = {}
    for field, value in m.ListFields():
        if field.message_type:
            many = not hasattr(value, "ListFields")
            fields[field.name] = [meaning(v) for v in value] if many else meaning(value)
        elif not isinstance(value, (str, bytes)) or value:
            fields[field.name] = repr(value)  # NaN is not equal to itself
    return fields


def check(cameo, data, scratch):
    model = scratch / "m.onnx"
    model.write_bytes(data)
    done = subprocess.run([cameo, "dump", "--format", "onnxtxt", model], capture_output=True, timeout=60)
    named = done.stderr.decode(errors="replace").count("left out: ")
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr[-200:]}"
    try:
        back = onnx.parser.parse_model(done.stdout.decode())
    except (onnx.parser.ParseError, UnicodeDecodeError) as e:
        return f"rejected: {e}"
    equal = meaning(onnx.load_from_string(data)) == meaning(back)
    if not equal and not named:
        return "something is left out and not named"
    strict = subprocess.run([cameo, "dump", "--strict", "--format", "onnxtxt", model], capture_output=True, timeout=60)
    if strict.returncode != (1 if named else 0):
        return f"--strict exits {strict.returncode} where {named} things are left out"
    return "equal" if equal else "named"


def main():
    cameo, suite = sys.argv[1], pathlib.Path(sys.argv[2])
    names = [c["name"] for c in json.loads((suite / "cases.json").read_text())]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, models in (("of the suite", ((n, (suite / n / "model.onnx").read_bytes()) for n in names)),
                             ("with odd traits", ((n, m.SerializeToString()) for n, m in plain_models.models()))):
            counts = collections.Counter()
            for name, data in models:
                found = check(cameo, data, pathlib.Path(folder))
                counts[found if found in ("equal", "named") else "bad"] += 1
                if found not in ("equal", "named"):
                    bad += 1
                    print(f"{name}: {found}")
            print(f"{sum(counts.values())} models {kind}: {counts['equal']} equal, {counts['named']} with what is left "
                  f"out named, {counts['bad']} bad")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
