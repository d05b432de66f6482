#!/usr/bin/env python3
"""measured.py CAMEO [--models N] [--seed N]: what findings say was measured is what NumPy computes.

Models are drawn of the shapes that rules about numbers look for, in float32 and float16, with one to three data sets whose
magnitudes are drawn, too. `cameo lint --calib` runs on them; NumPy computes every value in float64 from the values before, rounded to
the value's dtype. Each figure
that a finding gives of data has to be its figure: elements, data sets, the least, the greatest, what is nearest to 0, how many are
0, inf, -inf and NaN, and the ends of an interval that are called measured. An end that is called proved holds for the data, and
no finding states a number about values without saying what it rests on (marks.py).
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from marks import unmarked

NUMBER = r"(-?(?:inf|nan|[\d.]+(?:e[+-]?\d+)?))"
NOTE = re.compile(rf'measured: "([^"]+)" has (\d+) elements? in (\d+) data sets?(?:, the least {NUMBER}, the greatest {NUMBER})?'
                  rf'(?:, nearest to 0 {NUMBER})?((?:; \d+ (?:is|are) \S+)*)$')
ENDS = rf"\[{NUMBER}(?: \((\w+)\))?, {NUMBER}(?: \((\w+)\))?\](?: \((\w+)\))?"
NAMED = [re.compile(rf'"([^"]+)"(?: lie)?,? in {ENDS}'), re.compile(rf'"([^"]+)" is inf [^"]*, and it is {ENDS}')]
OWN = re.compile(rf"(?:it|its operand|operand) is {ENDS}")

# Nodes by what a rule looks for: {v} is the input, {n} the number of the shape, {t} the dtype; numbers are drawn.
SHAPES = [
    "p{n} = Softmax({v}) l{n} = Log(p{n})",
    "e{n} = Exp({v}) s{n} = ReduceSum(e{n}, last) y{n} = Div(e{n}, s{n})",
    "a{n} = Mul({v}, k{n}) y{n} = Exp(a{n})",
    "r{n} = Relu({v}) q{n} = Div({v}, r{n})",
    "a{n} = Add({v}, k{n}) q{n} = Sqrt(a{n})",
    "a{n} = Add({v}, k{n}) q{n} = Log(a{n})",
    "m{n} = ReduceMean({v}, last) d{n} = Mul({v}, {v}) w{n} = ReduceMean(d{n}, last) b{n} = Mul(m{n}, m{n}) var{n} = Sub(w{n}, b{n})",
    "s{n} = Sigmoid({v}) l{n} = Log(s{n})",
    "f{n} = Where(keep, {v}, low) p{n} = Softmax(f{n})",
    "d{n} = Mul({v}, {v}) s{n} = ReduceSum(d{n}, last) q{n} = Sqrt(s{n}) y{n} = Div({v}, q{n})",
    "a{n} = Abs({v}) r{n} = Reciprocal(a{n})",
]


def draw(rng):
    """A model's text and its data sets."""
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(2, 9))
    nodes, weights, outputs = [], [], []
    for n in range(int(rng.integers(2, 4))):
        shape, half = SHAPES[rng.integers(len(SHAPES))], rng.random() < 0.4
        nodes.append(shape.format(v="h" if half else "x", n=n).replace("low", "low16" if half else "low32"))
        kind = "float16" if half else "float"
        value = np.float16(rng.normal() * 4)
        weights.append(f"{kind} k{n} = {{{int(value.view(np.uint16)) if half else float(value)}}}")
    sizes = f"[{rows},{columns}]"
    names = re.findall(r"(\w+) = ", " ".join(nodes))
    text = (f'<ir_version: 10, opset_import: ["" : 20]> g (float{sizes} x, float16{sizes} h, bool{sizes} keep) => '
            f'({", ".join(f"float{sizes} {o}" for o in names[-1:])}) <int64[1] last = {{-1}}, float low32 = {{-1e30}}, float16 low16 = {{64511}}, '
            f'{", ".join(weights)}> {{ {" ".join(nodes)} }}')
    model = onnx.parser.parse_model(text)
    del model.graph.output[:]
    for name in names:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    model = onnx.shape_inference.infer_shapes(model)
    data = []
    for _ in range(int(rng.integers(1, 4))):
        x = rng.normal(size=(rows, columns)) * 10.0 ** rng.uniform(-1, 3)
        h = rng.normal(size=(rows, columns)) * 10.0 ** rng.uniform(-2, 3.5)
        x[rng.random(x.shape) < 0.1] = 0
        data.append({"x": x.astype(np.float32), "h": h.astype(np.float16), "keep": rng.random(x.shape) < 0.7})
    return model, data


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


MEANING = {"Softmax": softmax, "Log": np.log, "Exp": np.exp, "Sqrt": np.sqrt, "Abs": np.abs, "Div": np.divide, "Mul": np.multiply,
           "Add": np.add, "Sub": np.subtract, "Where": np.where, "Reciprocal": lambda x: 1 / x, "Relu": lambda x: np.maximum(x, 0),
           "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "ReduceSum": lambda x, _: x.sum(-1, keepdims=True),
           "ReduceMean": lambda x, _: x.mean(-1, keepdims=True)}


def values_of(model, data):
    """All elements of every value over the data sets."""
    weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    all_of = {}
    for given in data:
        values = {**weights, **given}
        for node in model.graph.node:
            operands = [values[name] for name in node.input]
            dtype = operands[-1 if node.op_type == "Where" else 0].dtype
            with np.errstate(all="ignore"):
                wide = [x if x.dtype == bool else x.astype(np.float64) for x in operands]
                values[node.output[0]] = np.asarray(MEANING[node.op_type](*wide)).astype(dtype)
        for name in [*given, *(n.output[0] for n in model.graph.node)]:
            all_of.setdefault(name, []).append(values[name].ravel())
    return {name: np.concatenate(parts) for name, parts in all_of.items()}


def is_near(said, right, name, elements, digits):
    """As printed with so many digits; operations are rounded once or twice more or less than NumPy's. A logarithm of what is near 1,
    and has an error of its unit of the last place, has that as its own."""
    if not math.isfinite(right) or not math.isfinite(said):
        return said == right
    off = 4e-3 if elements.dtype == np.float16 else 2e-5
    tiny = 1.01 * np.finfo(elements.dtype).eps if name.startswith("l") else 2e-7 if elements.dtype == np.float16 else 1e-40
    return abs(said - right) <= (off + 10.0 ** (1 - digits)) * abs(right) + tiny


def undecided(name, x):
    """Elements that count as 0 or not by their operand's last place: logarithms of what is next to 1."""
    return (x != 0) & (np.abs(x) <= np.finfo(x.dtype).eps) if name.startswith("l") else np.zeros(x.shape, bool)


def wrong_in_note(note, values, sets):
    match = NOTE.match(note)
    if not match:
        return "does not read as figures"
    name, count, said_sets, least, greatest, nearest, kinds = match.groups()
    x = values[name]
    finite = x[np.isfinite(x)].astype(np.float64)
    if int(count) != x.size or int(said_sets) != sets:
        return f"{x.size} elements in {sets} data sets"
    told = {what: int(n) for n, what in re.findall(r"; (\d+) (?:is|are) ([^;\s]+)", kinds)}
    right = {"0": int((x == 0).sum()), "NaN": int(np.isnan(x).sum()), "inf": int((x == np.inf).sum()), "-inf": int((x == -np.inf).sum())}
    off = told.get("0", 0) - right["0"]
    if 0 <= off <= undecided(name, x).sum():
        right["0"] += off
    if told != {what: n for what, n in right.items() if n}:
        return f"{right}"
    if (least is None) != (finite.size == 0):
        return f"{finite.size} finite elements"
    if name.startswith("var") or finite.size == 0:  # digits cancel
        return None
    if not is_near(float(least), finite.min(), name, x, 6) or not is_near(float(greatest), finite.max(), name, x, 6):
        return f"in [{finite.min():.6g}, {finite.max():.6g}]"
    others = np.abs(x[np.isfinite(x) & (x != 0) & ~(undecided(name, x) & (off > 0))].astype(np.float64))
    if nearest and not is_near(float(nearest), others.min(), name, x, 3):
        return f"nearest to 0 {others.min():.3g}"
    return None


def wrong_in_ends(name, ends, values):
    low, low_by, high, high_by, both = ends
    if name not in values:
        return None
    x = values[name].astype(np.float64)
    x = x[~np.isnan(x)]
    if not x.size:
        return None
    for said, by, right, sign in ((float(low), low_by or both, x.min(), 1), (float(high), high_by or both, x.max(), -1)):
        if by == "measured" and not is_near(said, right, name, values[name], 6):
            return f'"{name}" is in [{x.min():.6g}, {x.max():.6g}]'
        if by == "proved" and sign * (right - said) < -1e-5 * abs(said):
            return f'"{name}" reaches {right:.6g}'
    return None


def intervals(finding):
    """(name, ends) of every interval that is said of a value."""
    for text in [finding["message"], *finding["notes"]]:
        for pattern in NAMED:
            for match in pattern.finditer(text):
                yield match.group(1), match.groups()[1:]
    match = OWN.search(finding["message"])
    if match and finding["value"] and not NAMED[1].search(finding["message"]):
        yield finding["value"], match.groups()


def check(finding, values, sets):
    """(number of figures, what is wrong with them)."""
    figures, wrong = 0, []
    bare = unmarked(finding)
    if bare:
        wrong.append(f"no mark: {bare}")
    for note in finding["notes"]:
        if note.startswith('measured: "'):
            figures += 1
            fault = wrong_in_note(note, values, sets)
            wrong += [f"{note} -- NumPy: {fault}"] if fault else []
    for name, ends in intervals(finding):
        figures += 1
        fault = wrong_in_ends(name, ends, values)
        wrong += [f"{finding['message']} {finding['notes']} -- NumPy: {fault}"] if fault else []
    return figures, [f"{finding['rule']}: {text}" for text in wrong]


def lint(cameo, folder, model, data):
    onnx.save(model, folder / "m.onnx")
    sets = folder / "data"
    sets.mkdir(exist_ok=True)
    for old in sets.iterdir():
        old.unlink()
    for k, given in enumerate(data):
        np.savez(sets / f"{k}.npz", **given)
    done = subprocess.run([cameo, "lint", "--format", "json", "--select", "NS,PR", "--max-per-rule", "0", "--calib", sets, folder / "m.onnx"],
                          capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1):
        sys.exit(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["findings"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cameo")
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    findings = figures = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.models):
            model, data = draw(np.random.default_rng([options.seed, k]))
            values = values_of(model, data)
            for finding in lint(options.cameo, pathlib.Path(folder), model, data):
                count, wrong = check(finding, values, len(data))
                findings += 1
                figures += count
                failed += len(wrong)
                for text in wrong:
                    print(f"model {k}: {text}")
    print(f"{options.models} models, {findings} findings, {figures} figures, {failed} wrong")
    sys.exit(1 if failed or figures < options.models else 0)


if __name__ == "__main__":
    main()
