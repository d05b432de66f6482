#!/usr/bin/env python3
"""bits.py CAMEO [FILE...]: what `--fix` alone does to a model that runs changes no bit of its outputs.

The models of tests/lint/rules/*.txt are repaired with their rule selected, safe fixes only. Where ONNX Runtime runs the
model as it is, it runs the repaired one too, on numbers that rounding shows (large, small, infinite, NaN, next to the middle
between two of a narrower dtype), and outputs are equal bit by bit.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

from rules import HERE, models

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1e-8, 6e-8, -1e-40, 100000.0, -3e38, 65520.0, numpy.inf, -numpy.inf, numpy.nan,
           1 + 2.0 ** -11, 1 + 2.0 ** -11 + 2.0 ** -23, 2.0 ** -25]


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feed(model, random):
    weights = {t.name for t in model.graph.initializer}
    fed = {}
    for entry in model.graph.input:
        kind = entry.type.tensor_type
        if entry.name in weights:
            continue
        shape = [d.dim_value or 3 for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f" or dtype.name == "bfloat16":
            with numpy.errstate(all="ignore"):
                fed[entry.name] = random.choice(SPECIAL, shape).astype(dtype)
        elif dtype.kind == "b":
            fed[entry.name] = numpy.ones(shape, dtype)
        else:
            fed[entry.name] = random.integers(0, 3, shape).astype(dtype)
    return fed


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":  # a NaN is a NaN
        a, b = (numpy.where(numpy.isnan(x), numpy.nan, x).astype(x.dtype) for x in (a, b))
    return a.tobytes() == b.tobytes()


def check(cameo, rule, text, args, folder):
    """What differs, None if nothing does, "" where there is nothing to compare."""
    source = folder / ("model.cir" if text.startswith("cameo.ir/1") else "model.onnxtxt")
    source.write_text(text)
    before, after = folder / "before.onnx", folder / "after.onnx"
    # ST005 repairs nothing: a copy.
    for select, out in (("ST005", before), (rule, after)):
        subprocess.run([cameo, "lint", "--select", select, *args, str(source), "--fix", "-o", str(out)],
                       capture_output=True, timeout=60)
    if not before.exists() or not after.exists() or before.read_bytes() == after.read_bytes():
        return ""
    fed = feed(onnx.load(before), numpy.random.default_rng(1))
    try:
        expected = session(before).run(None, fed)
    except Exception:  # what does not run as it is has no bits to keep
        return ""
    got = session(after).run(None, fed)
    for i, (a, b) in enumerate(zip(expected, got)):
        if not same_bits(a, b):
            return f"output {i}: {a.ravel()[:8]} became {b.ravel()[:8]}"
    return None


def main():
    cameo = str(pathlib.Path(sys.argv[1]).resolve())
    files = [pathlib.Path(f) for f in sys.argv[2:]] or sorted((HERE / "rules").glob("*.txt"))
    compared = failed = 0
    for path in files:
        for line, heads, text in models(path):
            args = [a for h in heads if h.startswith("args ") for a in h[5:].split()]
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(cameo, path.stem, text, args, pathlib.Path(folder))
            compared += wrong != ""
            if wrong:
                failed += 1
                print(f"{path.name}:{line}: {wrong}")
    print(f"{compared} repaired models compared, {failed} differ")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
