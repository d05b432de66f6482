#!/usr/bin/env python3
"""Casts, bit for bit: every pattern of every dtype of 16 bits and fewer to every dtype, and millions of float32 and
float64 patterns to the narrow ones, against NumPy and ml_dtypes.

    python3 casts.py --cameo PATH [--interp PATH] [--cuda] [--patterns N]

Each pair of dtypes is a case of the suite's runner: a Cast whose values are compared, and one followed by BitCast, whose
bits are (of what is no NaN). What the specification leaves undefined (integers out of range) is compiled and run, and
left out of the comparison by casting 0 in its place.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

import draw
import fuzz

FLOATS = ("float", "double", "float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
          "float8e5m2fnuz", *draw.FINITE)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int4", "uint4", "int2", "uint2")
BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
PACKED = ("int4", "uint4", "int2", "uint2", *draw.FINITE)


def bits_of(name):
    return {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4e2m1": 4, "float6e2m3": 6,
            "float6e3m2": 6}.get(name, draw.numpy_of(name).itemsize * 8)


def decode(name):
    """float64 of every pattern of a float dtype of at most 16 bits."""
    width = bits_of(name)
    return np.arange(1 << width).astype(f"u{max(1, width // 8)}").view(draw.numpy_of(name))


def borders(name, kind):
    """Numbers around which a wider float dtype rounds to one or the other number of this one."""
    values = np.unique(decode(name).astype(np.float64))
    values = values[np.isfinite(values)]
    middle = np.concatenate([values, (values[1:] + values[:-1]) / 2, [values[-1] * 1.03125, values[-1] * 1.0625]])
    middle = np.concatenate([middle, -middle]).astype(kind)
    with np.errstate(all="ignore"):
        return np.concatenate([middle, np.nextafter(middle, kind(np.inf)), np.nextafter(middle, kind(-np.inf))])


def patterns(name, to, count):
    """What is cast: all patterns of a narrow dtype; of a wide one borders of the target, and random bits."""
    kind = draw.numpy_of(name)
    rng = np.random.default_rng([count, draw.SCHEMA_NAMES[name], draw.SCHEMA_NAMES[to]])
    width = bits_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in ("int4", "uint4", "int2", "uint2"):
        low, high = draw.limits(name)
        return np.arange(low, high + 1).astype(np.int8).astype(kind)
    if width <= 16:
        return decode(name)
    random = rng.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind)
    if name not in ("float", "double"):
        return np.concatenate([random, random >> (width // 2), np.array([0, 1, -1 if name[0] == "i" else 2]).astype(kind)])
    some = [random, np.array(draw.specials(name)).astype(kind), rng.normal(size=count // 4).astype(kind) * 100]
    if bits_of(to) <= 16 and to in FLOATS:
        some.append(borders(to, kind.type))
    return np.concatenate(some)


def rounded(x, to):
    """x rounded once to a float dtype of at most 16 bits, ties to even; beyond its range as ml_dtypes does."""
    kind = draw.numpy_of(to)
    with np.errstate(all="ignore"):
        near = x.astype(np.float32).astype(kind)
    if x.dtype != np.float64:
        return near
    # Two roundings, by way of float32, may miss by one: the nearer of the neighbours is taken.
    table = np.unique(decode(to).astype(np.float64))
    table = table[np.isfinite(table)]
    inside = np.isfinite(x) & (np.abs(x) <= table[-1])
    safe = np.where(inside, x, 0.0)
    above = np.clip(np.searchsorted(table, safe), 1, len(table) - 1)
    low, high = table[above - 1], table[above]
    down, up = safe - low, high - safe
    even = (low.astype(np.float32).astype(kind).view(f"u{kind.itemsize}") & 1) == 0
    best = np.where((down < up) | ((down == up) & even), low, high)
    best = np.where(best == 0, np.copysign(0.0, safe), best).astype(np.float32).astype(kind)
    return np.where(inside, best, near)


def cast_float(x, to, saturate):
    """The tables of Cast for float targets."""
    kind = draw.numpy_of(to)
    wide = x if x.dtype in (np.float32, np.float64) else (
        x.astype(np.float64) if x.dtype.kind in "iub" and x.dtype.itemsize < 8 else x)
    with np.errstate(all="ignore"):
        if to in ("float", "double", "float16"):
            return (x.astype(np.float32) if "float" in x.dtype.name and x.dtype.itemsize < 4 else x).astype(kind)
        if wide.dtype.kind in "iu":
            wide = wide.astype(np.float64)
        if wide.dtype not in (np.float32, np.float64):
            wide = wide.astype(np.float32)
        if to.startswith("float8") and saturate or to in draw.FINITE:
            most = float(draw.ml_dtypes.finfo(kind).max)
            wide = np.where(np.isnan(wide), wide, np.clip(wide, -most, most)).astype(wide.dtype)
        return rounded(wide, to)


def defined(x, to):
    """Where the specification says what the cast gives."""
    if to in FLOATS or to == "bool" or x.dtype.kind in "iub" or x.dtype.name in PACKED[:4]:
        wide = x.astype(np.float64)
        return ~np.isnan(wide) if to in draw.FINITE else np.ones(x.shape, bool)
    low, high = draw.limits(to)
    wide = np.trunc(x.astype(np.float64))
    return np.isfinite(wide) & (wide >= low) & (wide <= (high if high < 1 << 53 else high - (high >> 53)))


def cast_integer(x, to):
    wide = x
    if x.dtype.name in PACKED[:4]:
        wide = x.astype(np.int64)
    elif x.dtype.kind not in "iub":
        wide = np.trunc(x.astype(np.float64))
        wide = wide.astype(np.uint64 if to == "uint64" else np.int64)
    if to == "bool":
        return wide != 0
    width = bits_of(to)
    if width >= 8:
        return wide.astype(draw.numpy_of(to))
    wide = wide.astype(np.int64) & ((1 << width) - 1)
    if to.startswith("int"):
        wide = np.where(wide >> (width - 1), wide - (1 << width), wide)
    return wide.astype(np.int8).astype(draw.numpy_of(to))


def cast_scale(x, saturate, mode):
    """A power of two for each number that is not negative: the text and the table of Cast-24 for float8e8m0."""
    wide = x.astype(np.float64)
    least, most = 2.0 ** -127, 2.0 ** 127
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(wide) & (wide > 0), wide, 1.0))
        up = {"up": mantissa > 0.5, "down": np.zeros(x.shape, bool), "nearest": mantissa >= 0.75}[mode]
        near = np.clip(np.ldexp(1.0, exponent - 1 + up), least, most)
    near = np.where(wide > most, most, np.where(wide < least, least, near))
    outside = np.isnan(wide) | ((wide > most) | (wide < least) if not saturate else False)
    return np.where(outside, np.nan, near).astype(np.float32).astype(draw.numpy_of("float8e8m0"))


def write_scale(suite, source, saturate, mode, count):
    x = patterns(source, "float8e8m0", count)
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
        x = x[~(np.signbit(wide) & (wide == wide))]  # what is negative, -0 too, is not specified
    name = f"cast_{source}_float8e8m0_{mode}" + ("" if saturate else "_unsaturated")
    attrs = {"round_mode": mode} if mode != "up" else {}
    write(suite / name, source, "float8e8m0", saturate, x, cast_scale(x, saturate, mode), None, attrs)
    return [name]


def is_nan(x):
    return np.isnan(x.astype(np.float64)) if x.dtype.name not in PACKED else np.zeros(x.shape, bool)


def write_pair(suite, source, to, saturate, count):
    """The cases of a pair of dtypes; their names."""
    x = patterns(source, to, count)
    x = np.where(defined(x, to), x, np.zeros_like(x))
    if to == "bool" and (source in FLOATS or source == "float8e8m0"):
        y = x.astype(np.float64) != 0
    else:
        y = cast_float(x, to, saturate) if to in FLOATS else cast_integer(x, to)
    names = [f"cast_{source}_{to}" + ("" if saturate else "_unsaturated")]
    write(suite / names[0], source, to, saturate, x, y, None)
    if to in FLOATS and to not in PACKED:
        names.append(names[0] + "_bits")
        keep = ~is_nan(y)
        kind = BITS[y.dtype.itemsize]
        write(suite / names[1], source, to, saturate, x[keep], y[keep].view(draw.numpy_of(kind)), kind)
    return names


def write(folder, source, to, saturate, x, y, bits, attrs=None):
    attrs = {"to": draw.SCHEMA_NAMES[to]} | ({} if saturate else {"saturate": 0}) | (attrs or {})
    nodes = [helper.make_node("Cast", ["x"], ["c" if bits else "y"], **attrs)]
    if bits:
        nodes.append(helper.make_node("BitCast", ["c"], ["y"], to=draw.SCHEMA_NAMES[bits]))
    result = bits or to
    graph = helper.make_graph(nodes, "casts", [helper.make_tensor_value_info("x", draw.SCHEMA_NAMES[source], ["N"])],
                              [helper.make_tensor_value_info("y", draw.SCHEMA_NAMES[result], ["N"])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)
    fuzz.write_case(folder, model, (0.0, 0.0))
    fuzz.write_set(folder / "test_data_set_0", [("x", source, x)], [("y", result, y)])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cameo", required=True)
    p.add_argument("--interp")
    p.add_argument("--cuda", action="store_true")
    p.add_argument("--extra", default="", help="more options of the suite's runner")
    p.add_argument("--patterns", type=int, default=200000, help="random patterns of a dtype of 32 or 64 bits")
    p.add_argument("--suite", type=pathlib.Path)
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="casts-") as work:
        suite = options.suite or pathlib.Path(work)
        names = []
        for source in (*FLOATS, *INTEGERS, "bool", "float8e8m0"):
            for to in (*FLOATS, *INTEGERS, "bool"):
                for saturate in ([True, False] if to.startswith("float8") else [True]):
                    if source != to:
                        names += write_pair(suite, source, to, saturate, options.patterns)
            for mode in ("up", "down", "nearest") if source != "float8e8m0" else ():
                names += write_scale(suite, source, True, mode, options.patterns)
                names += write_scale(suite, source, False, mode, options.patterns)
        (suite / "cases.json").write_text(json.dumps([{"name": n, "kind": "node"} for n in names]))
        bad = 0
        ways = [("c", fuzz.conformance, options.extra.split())]
        ways += [("interp", fuzz.interpreted, [])] if options.interp else []
        ways += [("cuda", fuzz.conformance, ["--device", "cuda", *options.extra.split()])] if options.cuda else []
        for way, runner, extra in ways:
            for name, (status, why) in sorted(runner(options, suite, *extra).items()):
                if status != "passed":
                    bad += 1
                    print(f"{way}: {status} {name}: {why}")
    print(f"{len(names)} casts in {len(ways)} ways: {bad} not as they should be")
    return 1 if bad else 0


assert onnx
if __name__ == "__main__":
    sys.exit(main())
