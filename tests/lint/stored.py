#!/usr/bin/env python3
"""stored.py CAMEO: a weight of another dtype than the model, numbers at the edges of both: what lint says is lost where it is stored
as the model's, and what --fix stores, against NumPy's casts. Each pair of dtypes, few numbers and many."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"float64": numpy.float64, "float32": numpy.float32, "float16": numpy.float16, "bfloat16": ml_dtypes.bfloat16}
INTEGERS = {name: numpy.dtype(name).type for name in ("int64", "int32", "uint32", "uint64", "int16")}
PROTO = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}


def edges(to):
    """Numbers around those where storing as `to` begins to lose something: ties, the last digit, the least, the greatest, infinity."""
    info, least = ml_dtypes.finfo(to), float(ml_dtypes.finfo(to).smallest_subnormal)
    greatest, eps = float(info.max), float(info.eps)
    numbers = [0.0, 1.0, 1 + eps, 1 + eps / 2, 1 + 1.5 * eps, 1 - eps / 2, 1 - eps / 4, least, least / 2, 1.5 * least, least * 0.75,
               float(info.smallest_normal), float(info.smallest_normal) - least, float(info.smallest_normal) - least / 2,
               greatest, greatest * (1 - eps / 4), greatest * (1 + eps / 8), 0.1, 1 / 3, 5.0, 2049.0, 65519.0, 65520.0]
    if greatest < 1e300:
        numbers += [greatest * (1 + eps / 4), greatest * (1 + eps / 2), greatest * 2]
    with numpy.errstate(over="ignore"):
        near = [numpy.nextafter(numpy.float64(v), way) for v in numbers for way in (-numpy.inf, numpy.inf)]
    return numpy.array(numbers + near + [numpy.inf, numpy.nan])


def float_weight(stored, to, count):
    numbers = edges(FLOATS[to])
    with numpy.errstate(over="ignore"):
        numbers = numpy.concatenate([numbers, -numbers]).astype(FLOATS[stored])
    drawn = numpy.random.default_rng(5).standard_normal(max(count - numbers.size, 0)).astype(FLOATS[stored])
    return numpy.concatenate([numbers, drawn])


def integer_weight(stored, to, count):
    """Only where all of them fit is storing offered."""
    low, high = (max if k == 0 else min for k in (0, 1))
    least = low(int(numpy.iinfo(stored).min), int(numpy.iinfo(to).min))
    most = high(int(numpy.iinfo(stored).max), int(numpy.iinfo(to).max))
    drawn = numpy.random.default_rng(6).integers(0, most, max(count - 6, 0), dtype=numpy.uint64).astype(INTEGERS[stored])
    return numpy.concatenate([numpy.array([least, most, 0, 1, most // 2 + 1, most - 1], INTEGERS[stored]), drawn])


def model(path, weight, stored, to):
    kinds = [TensorProto.DataType.Value(n.upper()) if n not in PROTO else PROTO[n] for n in (stored, to)]
    graph = onnx.GraphProto(name="g")
    graph.initializer.add(name="w", data_type=kinds[0], dims=weight.shape, raw_data=weight.tobytes())
    graph.node.add(op_type="Add", input=["x", "w"], output=["y"])
    graph.input.append(helper.make_tensor_value_info("x", kinds[1], weight.shape))
    graph.output.append(helper.make_tensor_value_info("y", kinds[1], weight.shape))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def said(finding):
    """How many values of how many change; None: nothing was offered to be stored."""
    text = finding["fix"] if isinstance(finding.get("fix"), str) else json.dumps(finding)
    one = re.search(r"\((\d+) of (\d+) values? changes?(, to infinity|, some to infinity)?\)", text)
    if one:
        return int(one[1]), int(one[2]), one[3]
    exact = re.search(r"\(all (\d+) values exact\)", text)
    return (0, int(exact[1]), None) if exact else None


def same(a, b):
    return (a == b) | ((a != a) & (b != b))


def cast_to(weight, dtype):
    """ml_dtypes goes from float64 by float32 and rounds twice: what that drops is kept in its last bit."""
    if dtype != ml_dtypes.bfloat16 or weight.dtype != numpy.float64:
        return weight.astype(dtype)
    near = weight.astype(numpy.float32)
    toward = numpy.where(numpy.abs(near.astype(numpy.float64)) > numpy.abs(weight), numpy.nextafter(near, numpy.float32(0)), near)
    odd = toward.view(numpy.uint32) | (numpy.isfinite(weight) & (toward.astype(numpy.float64) != weight))
    return odd.astype(numpy.uint32).view(numpy.float32).astype(dtype)


def check(cameo, folder, weight, stored, to, dtype):
    path, out = folder / "m.onnx", folder / "out.onnx"
    model(path, weight, stored, to)
    done = subprocess.run([cameo, "lint", "--format", "json", path], capture_output=True, text=True)
    got = said(json.loads(done.stdout)) if done.returncode == 1 else None
    with numpy.errstate(over="ignore", invalid="ignore"):
        cast = cast_to(weight, dtype)
        back = cast.astype(numpy.float64) if numpy.issubdtype(weight.dtype, numpy.floating) or stored == "bfloat16" else cast
        held = weight.astype(numpy.float64) if back is not cast else weight
    lost = int((~same(held, back)).sum())
    overflows = int((numpy.isfinite(held) & numpy.isinf(back)).sum()) if back is not cast else 0
    ends = {0: None, lost: ", to infinity"}.get(overflows, ", some to infinity")
    if got != (lost, weight.size, ends if lost else None):
        return f"{stored} as {to}, {weight.size}: {got}, not {(lost, weight.size, ends)}"
    subprocess.run([cameo, "lint", "-q", "--fix", "--unsafe-fixes", "-o", out, path], capture_output=True)
    is_ = numpy_helper.to_array(onnx.load(out).graph.initializer[0])
    if is_.dtype != cast.dtype or not same(is_, cast).all() or (numpy.signbit(is_) != numpy.signbit(cast))[~numpy.isnan(cast.astype(numpy.float64))].any():
        return f"{stored} as {to}, {weight.size}: --fix stores other numbers than NumPy's cast"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    options = parser.parse_args()
    failed, checked = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for kinds, make in ((FLOATS, float_weight), (INTEGERS, integer_weight)):
            for stored, to in ((a, b) for a in kinds for b in kinds if a != b):
                for count in (0, 70000):
                    fault = check(options.cameo, pathlib.Path(folder), make(stored, to, count), stored, to, kinds[to])
                    failed += [fault] if fault else []
                    checked += 1
    print("\n".join([*failed, f"{checked} checked, {len(failed)} failed"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
