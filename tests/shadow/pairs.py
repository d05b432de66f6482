#!/usr/bin/env python3
"""pairs.py CAMEO [SEED]: what `cameo verify --layers` says of float64 models, against 60 decimal digits.

The values of a model are Cameo's own (`cameo instrument`); what they should be is computed here with Python's decimal, from the
numbers as float64 holds them. Both differ in the last places of float64 alone, so that a shadow in float64, or one that lost
digits on its way, would give other figures.
"""
import decimal
import pathlib
import sys
import tempfile
from decimal import Decimal

import numpy as np
from onnx import helper

import oracle

decimal.getcontext().prec = 60
F64, F32, BOOL, I64 = oracle.F64, oracle.F32, oracle.BOOL, oracle.I64


def exact(v):
    return np.vectorize(lambda x: Decimal(float(x)), otypes=[object])(v)


def each(f):
    return np.vectorize(f, otypes=[object])


def erf(x):
    total = term = x
    n = 1
    while abs(term) > abs(total) * Decimal(10) ** -58:
        term = term * 2 * x * x / (2 * n + 1)
        total, n = total + term, n + 1
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
    return 2 / pi.sqrt() * (-x * x).exp() * total


def softmax(x):
    e = each(lambda v: v.exp())(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def norm(x, scale):
    away = x - x.sum(axis=-1, keepdims=True) / x.shape[-1]
    variance = (away * away).sum(axis=-1, keepdims=True) / x.shape[-1]
    return away / each(lambda v: v.sqrt())(variance + Decimal(float(np.float32(1e-5)))) * scale


def tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def gelu(x):
    return x * (1 + erf(x * Decimal("0.5").sqrt())) / 2


def chain(rng):
    c = {"w": rng.normal(size=(9, 7)), "g": rng.normal(size=7)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["p"]),
             helper.make_node("LayerNormalization", ["p", "g"], ["n"]), helper.make_node("Erf", ["n"], ["e"]),
             helper.make_node("Log", ["p"], ["l"]), helper.make_node("Mul", ["e", "l"], ["q"]),
             helper.make_node("Gelu", ["m"], ["u"]), helper.make_node("Sin", ["u"], ["s"]), helper.make_node("ReduceMean", ["q"], ["y"], keepdims=0)]

    def truth(x, w, g):
        v = {"m": x @ w}
        v["p"] = softmax(v["m"])
        v["n"] = norm(v["p"], g)
        v["e"] = each(erf)(v["n"])
        v["l"] = each(lambda a: a.ln())(v["p"])
        v["q"] = v["e"] * v["l"]
        v["u"] = each(gelu)(v["m"])
        v["y"] = v["q"].sum() / v["q"].size
        return v

    return nodes, c, {"x": rng.normal(size=(4, 9))}, truth, [("y", F64), ("s", F64)]


def loop(rng):
    """Five steps of x = tanh(x w + x), carried."""
    body = oracle.body_of([helper.make_node("MatMul", ["s", "w"], ["m"]), helper.make_node("Add", ["m", "s"], ["a"]),
                           helper.make_node("Tanh", ["a"], ["t"]), helper.make_node("Identity", ["go"], ["go1"])],
                          [("i", I64, []), ("go", BOOL, []), ("s", F64, [2, 3])], [("go1", BOOL, []), ("t", F64, [2, 3]), ("t", F64, [2, 3])])
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)]
    c = {"w": rng.normal(size=(3, 3)), "n": np.array(5, np.int64)}

    def truth(x, w, n):
        rows = []
        for _ in range(int(n)):
            x = each(tanh)(x @ w + x)
            rows.append(x)
        return {"last": x, "all": np.stack(rows)}

    return nodes, c, {"x": rng.normal(size=(2, 3))}, truth, [("last", F64), ("all", F64)]


def narrowed(rng):
    """float64 rounded to float32 and back."""
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Cast", ["e"], ["f"], to=F32), helper.make_node("Cast", ["f"], ["d"], to=F64),
             helper.make_node("Sqrt", ["d"], ["y"])]

    def truth(x):
        e = each(lambda v: v.exp())(x)
        return {"e": e, "f": e, "d": e, "y": each(lambda v: v.sqrt())(e)}

    return nodes, {}, {"x": rng.normal(size=(50,))}, truth, [("y", F64)]


def judge(failures, name, layers, values, want):
    seen = {layer["value"]: layer for layer in layers}
    for v, exactly in want.items():
        layer, away = seen[v], np.atleast_1d(exact(values[v]) - exactly)
        size = float(abs(np.atleast_1d(exactly)).max())
        greatest, rms = float(abs(away).max()), float(((away * away).sum() / away.size).sqrt())
        for what, is_, should in (("greatest", layer["greatest"], greatest), ("rms", layer["rms"], rms)):
            failures.checked += 1
            if not abs(is_ - should) <= 1e-9 * should + 1e-28 * size:
                failures.texts.append(f"{name}: {v}: {what} is {is_!r}, should be {should!r}")


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failures = oracle.Failures()
    for make in (chain, loop, narrowed):
        nodes, constants, feeds, truth, outputs = make(np.random.default_rng(seed))
        model = oracle.model_of(nodes, feeds, outputs, constants)
        model.opset_import[0].version = 20
        oracle.AGAINST = "dd" if make is narrowed else "f64"
        with tempfile.TemporaryDirectory() as folder:
            layers, values = oracle.report_of(program, pathlib.Path(folder), model, feeds)
        arguments = {n: exact(v) if v.dtype == np.float64 else v for n, v in {**feeds, **constants}.items()}
        judge(failures, make.__name__, layers, values, truth(**arguments))
    for text in failures.texts:
        print(text)
    print(f"{failures.checked} figures, {len(failures.texts)} wrong (seed {seed})")
    return 1 if failures.texts else 0


if __name__ == "__main__":
    sys.exit(main())
