#!/usr/bin/env python3
"""real.py RANGES_MAIN NAME=FOLDER... [--write FILE]: ranges of real models, held to what they compute.

A folder holds models as NAME/model.onnx with data sets beside them (test_data_set_K/input_K.pb, or data_K.npz by name). Inputs are
said to lie between the least and the greatest number of these data and nothing else is measured. Every value of the main graph
that ONNX Runtime computes has to lie within its range, each channel within its own, with and without channels; how wide ranges
are beside what was computed is counted.
"""
import argparse
import math
import pathlib
import statistics
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

from ranges import outside, read_ranges

ort.set_default_logger_severity(4)
MARKS = ["<!-- ranges: begin -->", "<!-- ranges: end -->"]
WIDE = 1e30  # as good as nothing


def data_sets(folder, model):
    names = [i.name for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]
    for one in sorted(folder.glob("test_data_set_*")):
        files = sorted(one.glob("input_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
        if len(files) == len(names):
            yield {n: numpy_helper.to_array(onnx.load_tensor(f)) for n, f in zip(names, files)}
    for one in sorted(folder.glob("data_*.npz")):
        held = np.load(one)
        if set(names) <= set(held.files):
            yield {n: held[n] for n in names}


def with_all_outputs(model):
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
                known.add(name)
    return model


def run_all(model, sets, place):
    """(data set, name, array) of all that the main graph computes, one data set at a time."""
    path = pathlib.Path(place) / "all.onnx"
    onnx.save(with_all_outputs(model), path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    for k, given in enumerate(sets):
        for name, value in zip(names, session.run(None, given)):
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
                yield k, name, value


def said_of(sets):
    """--input for each input of numbers: the bounds of the data."""
    arguments = []
    for name in sets[0]:
        values = [s[name].astype(np.float64) for s in sets]
        lo, hi = min(v.min() for v in values if v.size), max(v.max() for v in values if v.size)
        arguments += ["--input", name, repr(float(lo)), repr(float(hi))]
    return arguments


def width(found):
    """The mean width of the channels, or that of the whole; None: as good as not bounded."""
    if found is None or not (abs(found.lo) < WIDE and abs(found.hi) < WIDE):
        return None
    if found.channels:
        lo, hi = np.maximum(found.channels[1][:, 0], found.lo), np.minimum(found.channels[1][:, 1], found.hi)
        return float((hi - lo).mean())
    return found.hi - found.lo


def judge(main, folder):
    """(figures, what is wrong) of one model."""
    path = folder / "model.onnx"
    model = onnx.load(path)
    sets = list(data_sets(folder, model))
    if not sets:
        return None, []
    arguments, wrong, seen = said_of(sets), [], {}
    apart, whole = read_ranges(main, path, *arguments), read_ranges(main, path, "--whole", *arguments)
    with tempfile.TemporaryDirectory() as place:
        for k, name, value in run_all(model, sets, place):
            for kind, ranges in (("with channels", apart), ("whole", whole)):
                fault = outside(ranges, name, value)
                if fault:
                    wrong.append(f"{folder.name}, data set {k}, {name}, {kind}: {fault}")
            numbers = value[np.isfinite(value)].astype(np.float64)
            if numbers.size:
                before = seen.get(name, (math.inf, -math.inf))
                seen[name] = min(before[0], float(numbers.min())), max(before[1], float(numbers.max()))
    ratios = []
    for name, (lo, hi) in seen.items():
        a, b = width(apart.get(name)), width(whole.get(name))
        if a is not None and hi > lo:
            ratios.append((a / (hi - lo), math.inf if b is None else b / (hi - lo)))
    bounded = sum(width(whole.get(name)) is not None for name in seen)
    return {"values": len(seen), "bounded": sum(width(apart.get(n)) is not None for n in seen), "bounded whole": bounded,
            "channels": sum(bool(apart.get(n) and apart[n].channels) for n in seen), "sets": len(sets),
            "whole": median([r[1] for r in ratios]),
            "apart": median([r[0] for r in ratios]),
            "near": sum(r[0] <= 4 for r in ratios), "near whole": sum(r[1] <= 4 for r in ratios),
            "halved": sum(r[0] <= r[1] / 2 for r in ratios)}, wrong


def median(numbers):
    known = [x for x in numbers if not math.isnan(x)]
    return statistics.median(known) if known else math.nan


def page(rows):
    head = ["models", "number", "data sets", "values", "bounded, whole", "bounded, by channels", "width, whole", "width, by channels", "within 4 times, whole",
            "within 4 times, by channels", "at most half as wide"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for name, n, f in rows:
        widths = " | ".join("" if math.isnan(f[k]) else f"{f[k]:.3g}" for k in ("whole", "apart"))
        lines.append(f"| {name} | {n} | {f['sets']} | {f['values']} | {f['bounded whole']} | {f['bounded']} | {widths} | "
                     f"{f['near whole']} | {f['near']} | {f['halved']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("main")
    parser.add_argument("folders", nargs="+", help="NAME=FOLDER of models")
    parser.add_argument("--each", action="store_true", help="a row for each model of the first folder")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    rows, wrong, count = [], [], 0
    for number, text in enumerate(options.folders):
        name, _, folder = text.partition("=")
        figures = []
        for one in sorted(p.parent for p in pathlib.Path(folder).glob("*/model.onnx")):
            try:
                f, faults = judge(options.main, one)
            except Exception as e:  # what ONNX Runtime refuses is told, not hidden
                print(f"not run: {one.name}: {str(e).splitlines()[0]}")
                continue
            if f is None:
                continue
            wrong += faults
            count += f["values"] * f["sets"]
            print(one.name, f, flush=True)
            figures.append((one.name, f))
        rows += table_rows(name, figures, options.each and number == 0)
    text = page(rows)
    print(text)
    if options.write:
        before, _, rest = options.write.read_text().partition(MARKS[0])
        options.write.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{rest.partition(MARKS[1])[2]}")
    for fault in wrong[:20]:
        print("FAILED:", fault)
    print(f"{count} values checked, {len(wrong)} outside of their range")
    sys.exit(1 if wrong or not count else 0)


def table_rows(name, figures, each):
    if each or not figures:
        return [(model, 1, f) for model, f in figures]
    fields = figures[0][1]
    total = {k: (median if k in ("whole", "apart") else sum)([f[k] for _, f in figures]) for k in fields}
    return [(name, len(figures), total)]


if __name__ == "__main__":
    main()
