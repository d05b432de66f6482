#!/usr/bin/env python3
"""ranges.py RANGES_MAIN [--models N] [--seed S] [--suite DIR]: every computed value lies within its range.

Random small models from a table of operators run in ONNX Runtime with all their values as outputs, on inputs that reach to
the ends of what the analysis takes them to be. Elements of a channel that has bounds of its own lie within these; where a range
says so, no value is NaN and all are integers. Bounds that are called proved hold although what was said of the
inputs does not. ONNX Runtime lacks kernels of bfloat16: there the model runs in float32, each value rounded to bfloat16
by Casts behind it. With --suite the models of a generated conformance suite are run on their own data instead.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile
import typing

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from draw import DIMS, Draw

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
from exact_bytes import exact

ort.set_default_logger_severity(4)
def feeds(rng, t, dtype):
    most = float(ml_dtypes.finfo(dtype).max)
    x = [rng.uniform(-1, 1, DIMS) * min(rng.choice([1, 10, 1000, 1e30]), most), rng.uniform(0, 3, DIMS)]
    if t == 1:
        x[0] = np.full(DIMS, most) * rng.choice([-1, 1, 0.5], DIMS)
    return {"x0": x[0].astype(dtype), "x1": x[1].astype(dtype), "free": np.zeros((rng.integers(1, 9), 2), dtype)}


def retyped(graph, dtype):
    """A graph of float32, weights, Casts and bodies included, in another dtype; weights that this does not hold become its greatest."""
    to, limit = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), float(ml_dtypes.finfo(dtype).max)
    for t in graph.initializer:
        if t.data_type == onnx.TensorProto.FLOAT:
            values = numpy_helper.to_array(t).astype(np.float64)
            t.CopyFrom(numpy_helper.from_array(np.clip(values, -limit, limit).astype(dtype), t.name))
    for v in (*graph.input, *graph.output):
        if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            v.type.tensor_type.elem_type = to
    for node in graph.node:
        for a in node.attribute:
            if a.name == "to" and a.i == onnx.TensorProto.FLOAT:
                a.i = to
            if a.HasField("g"):
                retyped(a.g, dtype)


def rounded(model):
    """The model in float32, each of its weights and values rounded to bfloat16; what bodies compute is rounded where they end."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    kinds = {o.name: o.type for o in session_of(model).get_outputs()}
    for t in model.graph.initializer:
        if t.data_type == onnx.TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(ml_dtypes.bfloat16).astype(np.float32), t.name))
    nodes, wide = [], set()  # what ai.onnx.ml gives is float32 always, and what is computed of it
    for node in model.graph.node:
        nodes.append(node)
        if node.domain == "ai.onnx.ml" or wide.intersection(node.input):
            wide.update(node.output)
        for k, name in enumerate(node.output):
            if kinds.get(name) == "tensor(float)" and name not in wide:
                node.output[k] = f"{name} exact"
                nodes.append(helper.make_node("Cast", [f"{name} exact"], [f"{name} short"], to=onnx.TensorProto.BFLOAT16))
                nodes.append(helper.make_node("Cast", [f"{name} short"], [name], to=onnx.TensorProto.FLOAT))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def session_of(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(exact(model).SerializeToString(), options, providers=["CPUExecutionProvider"])


class Found(typing.NamedTuple):
    """What ranges_main prints of a value; channels: the axis, and (n, 2) bounds. *_by: 0 proved, 1 measured, 2 assumed."""
    lo: float
    hi: float
    lo_by: int
    hi_by: int
    nan: int
    integer: int
    bits: int
    channels: tuple | None


def read_ranges(main, path, *arguments):
    done = subprocess.run([main, str(path), *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"ranges_main exits {done.returncode}")
    found = {}
    for line in done.stdout.splitlines():
        name, lo, hi, *rest = line.split("\t")
        channels = (int(rest[5]), np.array(rest[8:], np.float64).reshape(-1, 2), *map(int, rest[6:8])) if len(rest) > 5 else None
        found[name] = Found(float(lo), float(hi), *map(int, rest[:5]), channels)
    return found


def only_proved(found):
    """What is left of a range if nothing that was assumed holds."""
    channels = found.channels
    if channels:
        axis, bounds, lo_by, hi_by = channels
        bounds = np.stack([bounds[:, 0] if lo_by == 0 else np.full(len(bounds), -np.inf),
                           bounds[:, 1] if hi_by == 0 else np.full(len(bounds), np.inf)], 1)
        channels = (axis, bounds, 0, 0)
    return found._replace(lo=found.lo if found.lo_by == 0 else -np.inf, hi=found.hi if found.hi_by == 0 else np.inf, nan=2, integer=0,
                          bits=0, channels=channels)


def outside_channels(v, axis, bounds, *_):
    if axis >= v.ndim or v.shape[axis] != len(bounds):
        return f"{len(bounds)} channels along axis {axis} of {v.shape}"
    for k, (lo, hi) in enumerate(bounds):
        part = np.take(v, k, axis)
        part = part[~np.isnan(part)]
        if part.size and (part.min() < lo or part.max() > hi):
            return f"channel {k} of axis {axis}: [{part.min():.9g}, {part.max():.9g}] not in [{lo:.9g}, {hi:.9g}]"
    return None


def outside(ranges, name, value):
    """What is wrong with a computed value; None if nothing is."""
    if name not in ranges or value.dtype == object or value.size == 0:
        return None
    lo, hi, _, _, nan, integer, bits, channels = ranges[name]
    v = value.astype(np.float64)
    numbers = v[~np.isnan(v)]
    if numbers.size < v.size and nan == 0:
        return "NaN"
    if numbers.size and (numbers.min() < lo or numbers.max() > hi):
        return f"[{numbers.min():.9g}, {numbers.max():.9g}] not in [{lo:.9g}, {hi:.9g}]"
    if channels:
        wrong = outside_channels(v, *channels)
        if wrong:
            return wrong
    finite = numbers[np.isfinite(numbers)]
    if integer and (finite != np.round(finite)).any():
        return "not an integer"
    if bits and finite.size:
        scaled = np.ldexp(np.frexp(finite)[0], bits)
        if (scaled != np.round(scaled)).any():
            return f"needs more than {bits} bits"
    return None


def maker(model, name):
    return next((n.op_type for n in model.graph.node if name in n.output), "input")


def of_nan(model, values):
    """Names of what is NaN somewhere, or is computed from such: a Cast or a pool makes numbers of it."""
    found = {n for n, v in values.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f" and np.isnan(v).any()}
    for node in model.graph.node:
        if found.intersection(node.input):
            found.update(node.output)
    return found


def try_model(main, model, path, inputs, count, tight, runs=None):
    """What is wrong with the model's ranges; None if nothing is. `runs`: what computes its values instead of itself."""
    path.write_bytes(model.SerializeToString())
    ranges = read_ranges(main, path)
    # What is said of inputs here is not so: what is called proved must not rest on it.
    said = read_ranges(main, path, "--input", "x0", "-0.25", "0.5", "--input", "x1", "1", "1.125")
    proved = {name: only_proved(found) for name, found in said.items()}
    session = session_of(runs or model)
    names = [o.name for o in session.get_outputs()]
    for feed in inputs:
        values = dict(zip(names, session.run(None, feed)))
        broken = of_nan(model, values)
        for name, value in values.items():
            if not isinstance(value, np.ndarray):
                continue
            count["values"] += 1
            op = maker(model, name)
            count["op " + op] += 1
            found = ranges.get(name)
            tight[op] += bool(found and abs(found.lo) < 1e30 and abs(found.hi) < 1e30)
            count["with channels"] += bool(found and found.channels)
            wrong = outside(ranges, name, value)
            if wrong:
                return f"{op} {name}: {wrong}"
            # Whether there is NaN is said of the inputs as they are claimed to be, and is not marked.
            wrong = outside(proved, name, value) if name not in broken else None
            if wrong:
                return f"{op} {name}, called proved: {wrong}"
    return None


def random_models(args, count, tight):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.models):
            rng = np.random.default_rng([args.seed, number])
            draw = Draw(rng)
            for _ in range(rng.integers(3, 12)):
                draw.grow()
            path = pathlib.Path(folder) / "m.onnx"
            try:
                model, dtype = draw.model(), np.dtype(args.dtype)
                runs = rounded(model) if args.dtype == "bfloat16" else None
                if dtype != np.float32:
                    retyped(model.graph, dtype)
                inputs = [feeds(rng, t, dtype) for t in range(3)]
                if runs:
                    inputs = [{name: x.astype(np.float32) for name, x in one.items()} for one in inputs]
                wrong = try_model(args.main, model, path, inputs, count, tight, runs)
            except (ort.capi.onnxruntime_pybind11_state.Fail, ort.capi.onnxruntime_pybind11_state.NotImplemented,
                    ort.capi.onnxruntime_pybind11_state.InvalidGraph, ort.capi.onnxruntime_pybind11_state.InvalidArgument) as e:
                count["refused"] += 1
                if args.verbose:
                    print(f"model {number}: {e}")
                continue
            if wrong:
                failed += 1
                print(f"model {number} (seed {args.seed}): {wrong}")
                if args.keep:
                    (pathlib.Path(args.keep) / f"{number}.onnx").write_bytes(path.read_bytes())
    return failed


def suite_models(args, count, tight):
    failed = 0
    for folder in sorted(pathlib.Path(args.suite).iterdir()):
        path = folder / "model.onnx"
        data = sorted(folder.glob("test_data_set_*"))
        if not path.exists() or not data:
            continue
        try:
            ranges = read_ranges(args.main, path)
            model = onnx.load(path)
            given = [numpy_helper.to_array(onnx.load_tensor(f)) for f in data[0].glob("input_*.pb")]
            if any(g.dtype.kind not in "biu" and not np.isfinite(g.astype(np.float64)).all() for g in given):
                count["not finite"] += 1
                continue
            for k, o in enumerate(model.graph.output):
                t = onnx.load_tensor(data[0] / f"output_{k}.pb")
                wrong = outside(ranges, o.name, numpy_helper.to_array(t))
                count["values"] += 1
                if wrong:
                    failed += 1
                    print(f"{folder.name}: {o.name}: {wrong}")
        except (ValueError, TypeError, OSError, onnx.onnx_cpp2py_export.checker.ValidationError, Exception) as e:
            count["refused"] += 1
            if args.verbose:
                print(f"{folder.name}: {e}")
    return failed


def long_constants():
    """(name, values): more elements than are looked at one by one, and few of them (expected is the same)."""
    rng = np.random.default_rng(5)
    for n in (70000, 300):
        for dtype in (np.int32, np.uint32, np.int64, np.uint64):
            info = np.iinfo(dtype)
            for low, high in ((0, 100), (info.min, info.max), (0, 1), (5, 1 << 20)):
                yield np.dtype(dtype).name, rng.integers(low, high, n, dtype, endpoint=True)
            yield np.dtype(dtype).name, rng.integers(0, 100, n).astype(dtype) * 4096
        for x in (rng.standard_normal(n), np.round(rng.standard_normal(n) * 1e6), rng.standard_normal(n).astype(np.float32),
                  np.zeros(n), rng.integers(-9, 9, n) * 1e300, 2.0 ** 51 + rng.integers(0, 9, n) * 0.5, rng.standard_normal(n) * 1e-9):
            yield "float64", np.asarray(x, np.float64)
            odd = np.array(x, np.float64)
            odd[[3, n // 2]] = np.inf, -np.inf
            yield "float64 with infinities", odd
            odd = odd.copy()
            odd[n - 2:] = np.nan
            yield "float64 with NaN", odd


def constants(args, count):
    """Bounds, integrality and significant bits of constants, which are exact."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, values in long_constants():
            tensor = onnx.numpy_helper.from_array(values, "w")
            kind = helper.make_tensor_value_info("y", tensor.data_type, [len(values)])
            graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "constants", [], [kind], [tensor])
            path = pathlib.Path(folder) / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
            lo, hi, _, _, nan, integer, bits, _ = read_ranges(args.main, path)["w"]
            numbers = values[values == values].astype(np.float64)
            finite = numbers[np.isfinite(numbers)]
            fractions = np.frexp(np.abs(finite))[0]
            needed = next(b for b in range(1, 54) if (np.ldexp(fractions, b) == np.round(np.ldexp(fractions, b))).all())
            wide = name[-2:] == "64" and name[0] in "iu" and np.abs(numbers).max() >= 2.0 ** 53
            right = (numbers.min(), numbers.max(), bool((finite == np.round(finite)).all()), 64 if wide else needed)
            count["values"] += 1
            if (lo, hi, bool(integer), bits) != right or bool(nan) != (numbers.size < values.size):
                failed += 1
                print(f"{len(values)} of {name}: {(lo, hi, integer, bits)}, not {right}")
    return failed


def near_zero(args, count):
    """Functions that runtimes compute as differences, of numbers between two bounds close to 0."""
    failed = 0
    rng = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(40):
            low, high = np.sort(-np.float32(10) ** rng.uniform(-5, -1, 2).astype(np.float32))
            kinds = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [512]) for name in ("x0", "y0", "y1", "y2")]
            nodes = [helper.make_node("Clip", ["x0", "low", "high"], ["c"]), helper.make_node("Elu", ["c"], ["y0"], alpha=float(rng.uniform(0.1, 2))),
                     helper.make_node("Celu", ["c"], ["y1"], alpha=float(rng.uniform(0.1, 2))), helper.make_node("Selu", ["c"], ["y2"])]
            graph = helper.make_graph(nodes, "near_zero", kinds[:1], kinds[1:], [numpy_helper.from_array(low, "low"), numpy_helper.from_array(high, "high")])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
            feed = {"x0": np.linspace(low, high, 512, dtype=np.float32)}
            wrong = try_model(args.main, model, pathlib.Path(folder) / "m.onnx", [feed], count, collections.Counter())
            if wrong:
                failed += 1
                print(f"[{low}, {high}]: {wrong}")
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("main")
    p.add_argument("--models", type=int, default=400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--dtype", default="float32", choices=["float16", "bfloat16", "float32", "float64"], help="of what is drawn; runtimes lack operators in others")
    p.add_argument("--suite")
    p.add_argument("--keep")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    count, tight = collections.Counter(), collections.Counter()
    failed = suite_models(args, count, tight) if args.suite else random_models(args, count, tight)
    failed += 0 if args.suite else constants(args, count) + near_zero(args, count)
    if args.verbose:
        for key in sorted(count):
            if key.startswith("op "):
                print(f"{key[3:]:24} {count[key]:6} values, {tight[key[3:]]:6} with bounds")
    print(f"{count['values']} values checked, {count['with channels']} with channels, {failed} models with one outside of its range, {count['refused']} not run")
    enough = args.suite or count["refused"] * (5 if args.dtype == "float32" else 1.5) < args.models
    return 1 if failed or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
