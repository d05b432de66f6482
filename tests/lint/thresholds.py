#!/usr/bin/env python3
"""thresholds.py CAMEO: rules about numbers fire where NumPy shows the fault, and one number below do not.

Each case is a model with a number in it and what NumPy makes of that number in the model's dtype. The least number at which the
fault shows is looked for among all of the dtype's; the rule has to fire there and to be silent at the next one towards no fault.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

np.seterr(all="ignore")
TYPES = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}


def model(dtype, weights, nodes, dims):
    """nodes: (operator, inputs, outputs, attributes); x goes in, y comes out."""
    graph = helper.make_graph(
        [helper.make_node(op, ins.split(), outs.split(), **attrs) for op, ins, outs, attrs in nodes], "g",
        [helper.make_tensor_value_info("x", TYPES[dtype], dims)], [helper.make_value_info("y", onnx.TypeProto())],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()])
    graph.output[0].ClearField("type")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def clipped(dtype, lo, hi, nodes, dims=(4,), **weights):
    weights = {"lo": dtype(lo), "hi": dtype(hi), **weights}
    return model(dtype, weights, [("Clip", "x lo hi", "c", {}), *nodes], dims)


def total(values):
    """The sum in the order of the elements, each rounded."""
    last = values.dtype.type(0)
    for v in values:
        last = last + v
    return last


def softmax(x):
    e = np.exp(x - x.max())
    return e / total(e)


def row(dtype, n, low, high):
    """One logit as low as may be, the others as high."""
    return np.array([low] + [high] * (n - 1), dtype)


AXES = np.array([-1], np.int64)


# rule, dtype, from (no fault) to (fault), model of a number, is it a fault?
def cases():
    for t, most in ((np.float16, 20), (np.float32, 100), (np.float64, 800)):
        yield ("NS003", t, 1, most, lambda c, t=t: clipped(t, 0, c, [("Exp", "c", "y", {})]), lambda c: np.isinf(np.exp(c)))
        for n in (2, 4) if t is not np.float64 else (2,):  # of four the rule's own sum in float64 rounds
            yield ("NS001", t, 1, 8 * most,
                   lambda c, t=t, n=n: clipped(t, 0, c, [("Softmax", "c", "p", {}), ("Log", "p", "y", {})], [3, n]),
                   lambda c, t=t, n=n: softmax(row(t, n, 0, c))[0] == 0)
            yield ("NS002", t, 1, most,
                   lambda c, t=t, n=n: clipped(t, 0, c, [("Exp", "c", "e", {}), ("ReduceSum", "e axes", "s", {}), ("Div", "e s", "y", {})],
                                               [3, n], axes=AXES),
                   lambda c, t=t, n=n: np.isinf(total(np.exp(np.full(n, c, t)))))
        yield ("NS004", t, 1, 0, lambda c, t=t: clipped(t, c, 9, [("Div", "x c", "y", {})]), lambda c, t=t: np.isinf(t(1) / c) and c == 0)
        yield ("NS004", t, 1, 0, lambda c, t=t: clipped(t, c, 9, [("Log", "c", "y", {})]), lambda c: np.isneginf(np.log(c)))
        yield ("NS004", t, 1, -1, lambda c, t=t: clipped(t, c, 9, [("Sqrt", "c", "y", {})]), lambda c: np.isnan(np.sqrt(c)))
    h, f = np.float16, np.float32
    yield ("PR007", h, 1, 1000, lambda c: clipped(h, -c, c, [("Mul", "c c", "y", {})]), lambda c: np.isinf(c * c))
    yield ("PR007", h, 1, 1000, lambda c: clipped(h, -c, c, [("Pow", "c two", "y", {})], two=h(2)), lambda c: np.isinf(c * c))
    yield ("PR001", f, 1, 1e6, lambda c: model(h, {"w": np.array([c, 1], f)}, [("Cast", "w", "k", {"to": TYPES[h]}), ("Add", "x k", "y", {})], [2]),
           lambda c: np.isinf(np.float16(c)))
    guard = [("Cast", "e", "k", {"to": TYPES[h]}), ("ReduceMean", "x axes", "m", {}), ("Sub", "x m", "d", {}), ("Mul", "d d", "q", {}),
             ("ReduceMean", "q axes", "v", {}), ("Add", "v k", "a", {}), ("Sqrt", "a", "r", {}), ("Div", "d r", "y", {})]
    yield ("PR002", f, 1e-3, 1e-12, lambda c: model(h, {"e": f(c), "axes": AXES}, guard, [2, 8]), lambda c: np.float16(c) == 0)
    least = [("ReduceL2", "x axes", "n", {}), ("Cast", "e", "k", {"to": TYPES[h]}), ("Clip", "n k", "m", {}), ("Div", "x m", "y", {})]
    yield ("PR002", f, 1e-3, 1e-12, lambda c: model(h, {"e": f(c), "axes": AXES}, least, [2, 8]), lambda c: np.float16(c) == 0)
    yield ("PR003", h, -1, -65504, lambda c: model(h, {"low": h(c)}, [("Add", "x low", "s", {}), ("Softmax", "s", "y", {})], [2, 4]),
           # A row of nothing but what is masked, its scores below 0, by no more than half a step of the lowest numbers.
           lambda c: np.isnan(softmax(np.full(4, c + h(-16), h))[0]))


def keys(dtype):
    """Numbers as integers in their order, and back."""
    word = {np.float16: np.int16, np.float32: np.int32, np.float64: np.int64}[dtype]
    least = int(np.iinfo(word).min)

    def key(x):
        k = int(np.asarray(dtype(x)).view(word))
        return k if k >= 0 else least - k

    def number(k):
        return np.asarray(k if k >= 0 else least - k, word).view(dtype)[()]
    return key, number


def edge(dtype, good, bad, faulty):
    """(the last number without the fault, the first with it), next to each other."""
    key, number = keys(dtype)
    good, bad = key(good), key(bad)
    if faulty(number(good)) or not faulty(number(bad)):
        sys.exit("the ends are not what they should be")
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        if faulty(number(middle)):
            bad = middle
        else:
            good = middle
    return number(good), number(bad)


def fires(cameo, rule, proto, folder):
    path = folder / "m.onnx"
    onnx.save(proto, path)
    done = subprocess.run([cameo, "lint", "--select", rule, "--format", "json", str(path)], capture_output=True, text=True, timeout=60)
    return any(f["rule"] == rule for f in json.loads(done.stdout)["findings"])


def sums(cameo, folder):
    """PR006: of how many ones the sum is not their number."""
    for dtype, digits in ((np.float16, 11), ("bfloat16", 8)):
        n = 1 << digits
        if dtype == np.float16 and (int(total(np.ones(n, dtype))) != n or int(total(np.ones(n + 1, dtype))) == n + 1):
            yield "NumPy's sums of ones are not what they should be"
        kind = TensorProto.BFLOAT16 if dtype == "bfloat16" else TensorProto.FLOAT16
        for count in (n, n + 1):
            x, y = (helper.make_tensor_value_info(v, kind, d) for v, d in (("x", [2, count]), ("y", [2, 1])))
            axes = numpy_helper.from_array(AXES, "axes")
            proto = helper.make_model(helper.make_graph([helper.make_node("ReduceSum", ["x", "axes"], ["y"])], "g", [x], [y], [axes]),
                                      opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
            if fires(cameo, "PR006", proto, folder) != (count > n):
                yield f"PR006 {dtype}: {count} elements"


def main():
    cameo, wrong, count = str(pathlib.Path(sys.argv[1]).resolve()), [], 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for rule, dtype, good, bad, make, faulty in cases():
            below, above = edge(dtype, good, bad, faulty)
            count += 1
            for number, expected in ((below, False), (above, True)):
                if fires(cameo, rule, make(number), folder) != expected:
                    wrong.append(f"{rule} {np.dtype(dtype).name}: {'silent' if expected else 'fires'} at {number!r}")
        wrong += sums(cameo, folder)
    print(*wrong, f"{count + 2} edges, {len(wrong)} wrong", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
