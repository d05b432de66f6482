#!/usr/bin/env python3
"""converters.py CAMEO MODELS... [--only RE] [--budget REL] [--without RE] [--limit S] [--json OUT] [--markdown]: converters side
by side. MODELS: folders of models with data sets (test_data_set_N, or data_N.npz).

Each real model that has data sets is converted to float16 by cameo (policies cameo, autocast and all; with a budget,
too), by onnxconverter-common (float16, auto_mixed_precision) and by ONNX Runtime's own converter, where these are
installed (`pip install onnxconverter-common`). Of each result: the share of multiply-adds whose node computes in
float16 (shapes by a run of the model), Casts added, error of the outputs (rms by rms, the worst output) on the data
sets that were held out, whether onnx.checker accepts it with full_check and ONNX Runtime loads it, wall time. Every
second data set is what calibration is given, the first of them what trial runs are; the others are held out (a model that
has but one is judged on a copy of it with each input scaled by 0.9).
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import runs

PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN"}


def feeds_of(model, folder):
    weights = {t.name for t in model.graph.initializer}
    feeds = {}
    for k, name in enumerate(v.name for v in model.graph.input if v.name not in weights):
        t = onnx.TensorProto()
        t.ParseFromString((folder / f"input_{k}.pb").read_bytes())
        feeds[name] = numpy_helper.to_array(t)
    return feeds


def scaled(feeds):
    return {k: (v * v.dtype.type(0.9) if v.dtype.kind == "f" else v) for k, v in feeds.items()}


def all_graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from all_graphs(a.g)


def dtypes_of(model):
    """Value -> element type, of what type inference and declarations say; subgraphs too."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {}
    for g in all_graphs(inferred.graph):
        for v in [*g.input, *g.value_info, *g.output]:
            types[v.name] = v.type.tensor_type.elem_type
        for t in g.initializer:
            types[t.name] = t.data_type
        for n in g.node:
            for a in n.attribute:
                if n.op_type == "Constant" and a.name == "value":
                    types[n.output[0]] = a.t.data_type
    return types


def counts_of(original, feeds):
    """Multiply-adds by the name of a product's first result, by the shapes that ONNX Runtime gives its operands: the
    main graph's; of branches and bodies, by the shapes of their weights alone."""
    inferred = onnx.shape_inference.infer_shapes(original, data_prop=True)
    shapes = {}
    for g in all_graphs(inferred.graph):
        for v in [*g.input, *g.value_info, *g.output]:
            shapes[v.name] = [d.dim_value or 1 for d in v.type.tensor_type.shape.dim]
        for t in g.initializer:
            shapes[t.name] = list(t.dims)
        for n in g.node:
            for a in n.attribute:
                if n.op_type == "Constant" and a.name == "value":
                    shapes[n.output[0]] = list(a.t.dims)
    for k, v in feeds.items():
        shapes[k] = list(v.shape)
    found = {}
    for g in all_graphs(inferred.graph):
        for n in g.node:
            if n.op_type not in PRODUCTS or n.output[0] == "":
                continue
            x, w = shapes.get(n.input[0], [1]), shapes.get(n.input[1], [1])
            y = np.prod(shapes.get(n.output[0]) or [1])
            if n.op_type == "Conv":
                found[n.output[0]] = y * np.prod(w[1:])
            elif n.op_type == "ConvTranspose":
                found[n.output[0]] = np.prod(x) * np.prod(w[1:])
            elif n.op_type in ("MatMul", "Gemm"):
                found[n.output[0]] = y * (x[-1] if x else 1)
            else:
                found[n.output[0]] = (x[0] if x else 1) * (np.prod(w) + np.prod(shapes.get(n.input[2], [1])))
    return found


def low_share(original, converted, feeds):
    """Products keep the names of their results but for suffixes; paired by their order in the file."""
    counts = list(counts_of(original, feeds).values())
    types = dtypes_of(converted)
    low = [types.get(n.input[0]) == TensorProto.FLOAT16 or types.get(n.input[1]) == TensorProto.FLOAT16
           for g in all_graphs(converted.graph) for n in g.node if n.op_type in PRODUCTS]
    if len(low) != len(counts):
        return float("nan")
    return float(sum(c for c, l in zip(counts, low) if l) / max(sum(counts), 1))


def casts_in(model):
    return sum(n.op_type == "Cast" for g in all_graphs(model.graph) for n in g.node)


def error_of(model, sets, wants, optimized):
    worst = 0.0
    for got, want in zip(runs.run_all(model.SerializeToString(), sets, optimized), wants):
        worst = max([worst, *(runs.distance(g, w) for g, w in zip(got, want))])
    return float(worst)


def sets_of(model, folder):
    """[(feeds, path)]: those that fit the dims that the model declares."""
    found = [(feeds_of(model, f), f) for f in sorted(folder.glob("test_data_set_*"))]
    found += [(dict(np.load(f)), f) for f in sorted(folder.glob("data_*.npz"))]
    dims = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
    return [(x, f) for x, f in found if all(d in (0, n) for k, v in x.items() for d, n in zip(dims.get(k, []), v.shape))]


# ---- converters: each gives a model


def cameo(options, path, more):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.onnx"
        r = subprocess.run([options.cameo, "convert", str(path), "--precision", "f16", "-o", str(out), *more],
                           capture_output=True, text=True, check=False)
        if not out.exists():
            raise RuntimeError(r.stderr.strip()[:200])
        return onnx.load(out)


def common_float16(path):
    from onnxconverter_common import float16  # pylint: disable=import-outside-toplevel
    return float16.convert_float_to_float16(onnx.load(path), keep_io_types=True)


def common_mixed(path, feeds, budget):
    from onnxconverter_common import auto_mixed_precision  # pylint: disable=import-outside-toplevel

    def near(want, got):
        pairs = [(w, g) for w, g in zip(want, got) if w.dtype.kind == "f"]
        return all(np.sqrt(np.mean((g - w) ** 2.0)) <= budget * np.sqrt(np.mean(w ** 2.0)) for w, g in pairs)
    return auto_mixed_precision.auto_convert_mixed_precision(onnx.load(path), feeds, validate_fn=near, keep_io_types=True)


def runtime_float16(path):
    from onnxruntime.transformers import float16  # pylint: disable=import-outside-toplevel
    return float16.convert_float_to_float16(onnx.load(path), keep_io_types=True)


def judge(name, make, original, sets, wants, limit):
    row = {"converter": name}
    start = time.monotonic()
    try:
        model = onnx.ModelProto.FromString(runs.alone(lambda: make().SerializeToString(), limit))
    except RuntimeError as e:
        return {**row, "seconds": time.monotonic() - start, "failed": str(e)[:160]}
    row["seconds"] = time.monotonic() - start
    row["casts"] = casts_in(model) - casts_in(original)
    try:
        onnx.checker.check_model(model, full_check=True)
        row["checker"] = "accepts"
    except Exception as e:  # pylint: disable=broad-except
        row["checker"] = f"refuses: {str(e)[:120]}"
    for optimized in [False, True]:
        try:
            row["error"] = max(error_of(model, sets, wants, optimized), row.get("error", 0))
        except RuntimeError as e:
            row["runtime"] = ("optimized: " if optimized else "") + str(e)[:160]
            break
    try:
        row["low"] = low_share(original, model, sets[0])
    except Exception:  # pylint: disable=broad-except
        pass  # types that do not fit each other: there is no telling
    return row


def show(model, row):
    if "failed" in row:
        text = f"fails: {row['failed']}"
    else:
        low, error = row.get("low", float("nan")), row.get("error", float("nan"))
        text = f"{100 * low:6.1f} % {row['casts']:6d} {error:10.3g}  {'valid' if row['checker'] == 'accepts' else 'INVALID'}"
        text += f"  {row['checker'][:90]!r}" if row["checker"] != "accepts" else ""
        text += f"  does not load: {row['runtime'][:90]}" if "runtime" in row else ""
    print(f"{model:24} {row['converter']:30} {text}  {row['seconds']:.1f} s", flush=True)


def show_row(model, row):
    """A row of the table in docs/precision.md."""
    if "failed" in row:
        cells = ["", "", "", "fails: " + re.sub(r"[^ -~]|\|", " ", row["failed"])[:70], "no"]
    else:
        low, error = row.get("low", float("nan")), row.get("error", float("nan"))
        valid = "yes" if row["checker"] == "accepts" else "no: not sorted" if "topolog" in row["checker"] else "no: types"
        cells = ["" if np.isnan(low) else f"{100 * low:.1f} %", str(row["casts"]), "" if np.isnan(error) else f"{error:.2g}", valid,
                 ("crash" if "ended" in row["runtime"] else "no") if "runtime" in row else "yes"]
    print(f"| {model} | {row['converter']} | " + " | ".join(cells) + f" | {row['seconds']:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--limit", type=int, default=300, help="seconds that a converter may take")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=1e-2)
    parser.add_argument("--without", default="^$", metavar="RE", help="leave out converters of these names")
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'model':24} {'converter':30} {'float16':>8} {'casts':>6} {'error':>10}")
    rows = []
    for path in [p for folder in options.models for p in sorted(pathlib.Path(folder).glob("*/model.onnx"))]:
        if not re.search(options.only, path.parent.name):
            continue
        original = onnx.load(path)
        every = sets_of(original, path.parent)
        if not every:
            print(f"{path.parent.name}: no data sets")
            continue
        first = every[0][0]
        calib = tempfile.TemporaryDirectory()
        for _, f in every[::2]:
            (pathlib.Path(calib.name) / f.name).symlink_to(f.resolve())
        sets = [x for x, _ in every[1::2]] or [scaled(first)]
        wants = runs.run_all(path, sets)
        data = ["--calib", calib.name]
        ways = [("cameo", lambda: cameo(options, path, [])),
                ("cameo --calib", lambda: cameo(options, path, data)),
                (f"cameo --budget {options.budget:g}", lambda: cameo(options, path, [*data, "--budget", f"{options.budget:g}"])),
                (f"cameo --budget {options.budget:g} --margin 1",
                 lambda: cameo(options, path, [*data, "--budget", f"{options.budget:g}", "--margin", "1"])),
                ("cameo --policy autocast", lambda: cameo(options, path, ["--policy", "autocast"])),
                ("cameo --policy all", lambda: cameo(options, path, ["--policy", "all"])),
                ("onnxconverter-common float16", lambda: common_float16(path)),
                ("ONNX Runtime float16", lambda: runtime_float16(path)),
                ("onnxconverter-common mixed", lambda: common_mixed(path, first, options.budget))]
        for name, make in ways:
            if re.search(options.without, name):
                continue
            row = {"model": path.parent.name, **judge(name, make, original, sets, wants, options.limit)}
            rows.append(row)
            (show_row if options.markdown else show)(path.parent.name, row)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
