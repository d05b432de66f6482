#!/usr/bin/env python3
"""formulas.py CAMEO: what repairs of the rules about numbers write computes what the formula means.

Each model is repaired with `--fix --unsafe-fixes`. Before, the reference evaluator's result is off from NumPy's in float64 on
the given inputs (or is no number); afterwards it is not, the model passes the checker, and nothing of the rule is left.
"""
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
X = np.array([[0.0, -110.0, 3.0, 1.0], [100.0, 1.0, 2.0, -90.0]])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, eps):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps)


def rotary(f, n):
    return np.cos(np.arange(n)[:, None] * f)


# rule, model, inputs, what it means in float64, tolerance
CASES = [
    ("NS001", "g (float[2,4] x) => (float[2,4] y) { p = Softmax(x) y = Log(p) }", X, lambda x: np.log(softmax(np.longdouble(x))), 1e-5),
    ("NS002", "g (float[2,4] x) => (float[2,4] y) <int64[1] a = {1}> { e = Exp(x) s = ReduceSum(e, a) y = Div(e, s) }", X, softmax, 1e-5),
    ("NS002", "g (float16[2,4] x) => (float16[2,4] y) <int64[1] a = {-1}> { e = Exp(x) s = ReduceSum(e, a) y = Div(e, s) }", X / 8,
     softmax, 2e-3),
    ("NS003", "g (float[2,4] x) => (float[2,4] y) { y = Exp(x) }", X, lambda x: np.minimum(np.exp(x), 3.4e38), 1e-3),
    ("NS003", "<ir_version: 3, opset_import: [\"\" : 7]> g (float[2,4] x) => (float[2,4] y) { y = Exp(x) }", X,
     lambda x: np.minimum(np.exp(x), 3.4e38), 1e-3),
    ("NS004", "g (float[2,4] x) => (float[2,4] y) { s = Sin(x) y = Sqrt(s) }", X, lambda x: np.sqrt(np.maximum(np.sin(x), 0)), 1e-4),
    ("NS005", "g (float[2,4] x) => (float[2,1] y) <int64[1] a = {-1}> { m = ReduceMean(x, a) q = Mul(x, x) p = ReduceMean(q, a) "
              "b = Mul(m, m) y = Sub(p, b) }", X / 100 + 5000, lambda x: x.var(-1, keepdims=True), 2e-3),
    ("NS006", "g (float[2,4] x) => (float[2,4] y) { s = Sigmoid(x) y = Log(s) }", X, lambda x: -np.logaddexp(0, -x), 1e-5),
    ("NS006", "g (float[2,4] x) => (float[2,4] y) <float one = {1}> { e = Exp(x) s = Add(e, one) y = Log(s) }", X,
     lambda x: np.logaddexp(0, x), 1e-5),
    ("NS001", "g (float[2,4] x) => (float[2,2] y) <int64[2,2] i = {0, 1, 2, 3}> { p = Softmax(x) c = GatherElements<axis = 1>(p, i) y = Log(c) }", X,
     lambda x: np.take_along_axis(np.log(softmax(np.longdouble(x))), np.array([[0, 1], [2, 3]]), 1), 1e-5),
    ("NS001", "g (float16[2,4] x) => (float[2,4] y) { p = Softmax(x) c = Cast<to = 1>(p) y = Log(c) }", X,
     lambda x: np.log(softmax(np.longdouble(x))), 2e-3),
    ("NS002", "g (float[2,4] x) => (float[2,4] y) <int64[1] a = {1}> { e = Exp(x) s = ReduceSum(e, a) r = Reciprocal(s) y = Mul(r, e) }", X,
     softmax, 1e-5),
    ("NS005", "g (float[2,4] x) => (float[2,1] y) <int64[1] a = {-1}, float n = {4}> { m = ReduceMean(x, a) s = ReduceSumSquare(x, a) "
              "p = Div(s, n) b = Mul(m, m) y = Sub(p, b) }", X / 100 + 5000, lambda x: x.var(-1, keepdims=True), 2e-3),
    ("NS005", "g (float[1,2,2,2] x) => (float[1,2,1,1] y) { m = GlobalAveragePool(x) q = Mul(x, x) p = GlobalAveragePool(q) b = Mul(m, m) "
              "y = Sub(p, b) }", X.reshape(1, 2, 2, 2) / 100 + 5000, lambda x: x.var((2, 3), keepdims=True), 2e-3),
    ("NS006", "g (float[2,4] x) => (float[2,4] y) <float one = {1}> { s = Sigmoid(x) c = Sub(one, s) y = Log(c) }", X,
     lambda x: -np.logaddexp(0, x), 1e-5),
    ("PR001", "g (float16[2,4] x) => (float16[2,4] y) <bfloat16 m = {51311}> { h = Cast<to = 10>(m) s = Add(x, h) y = Softmax(s) }",
     X * 0, softmax, 2e-3),
    ("PR002", "g (float16[2,4] x) => (float16[2,4] y) <float e = {0.000000000001}, int64[1] a = {-1}> { n = ReduceL2(x, a) h = Cast<to = 10>(e) "
              "c = Clip(n, h) y = Div(x, c) }", X * 0, lambda x: x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12), 1e-3),
    ("PR003", "g (float[2,4] x) => (float16[2,4] y) <bool[4] c = {0, 0, 0, 0}, float m = {-1000000000}> { s = Where(c, x, m) h = Cast<to = 10>(s) "
              "y = Softmax(h) }", X, lambda x: softmax(x * 0), 2e-3),
    ("QN003", "g (float[2,2] x) => (float[2,2] y) <float[2] a = {0.5, 20}> { q = QuantizeLinear<axis = 0>(x, a) y = DequantizeLinear<axis = 1>(q, a) }",
     abs(X[:, :2]) % 100, lambda x: np.rint(x / [[0.5], [20]]) * [[0.5], [20]], 1e-5),
    ("PR001", "g (float16[2,4] x) => (float16[2,4] y) <float m = {-1000000000.0}> { h = Cast<to = 10>(m) s = Add(x, h) y = Softmax(s) }",
     X * 0, softmax, 2e-3),
    ("PR002", "g (float16[2,4] x) => (float16[2,4] y) <float e = {0.000000000001}, int64[1] a = {-1}> { m = ReduceMean(x, a) "
              "d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, a) h = Cast<to = 10>(e) s = Add(v, h) r = Sqrt(s) y = Div(d, r) }",
     X * 0 + 1, lambda x: norm(x, 1e-12), 1e-3),
    ("PR003", "g (float[2,4] x) => (float[2,4] y) <float m = {-3.4028234663852886e38}> { s = Add(x, m) y = Softmax(s) }", X * 0 - 1e32,
     softmax, 1e-6),
    ("PR006", "g (float16[2,5000] x) => (float16[2,1] y) <int64[1] a = {-1}> { y = CumSum(x, a) }".replace(
        "(float16[2,1] y) <int64[1] a = {-1}>", "(float16[2,5000] y) <int64 a = {1}>"), np.ones((2, 5000)), lambda x: x.cumsum(1), 1e-3),
    ("PR007", "g (float16[2,4] x) => (float16[2,4] y) <float16 e = {168}, int64[1] a = {-1}> { q = Mul(x, x) v = ReduceMean(q, a) "
              "s = Add(v, e) r = Sqrt(s) y = Div(x, r) }", X * 9, lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), 2e-3),
    ("PR010", "g (float16[1,4] f) => (float16[4096,4] y) <int64 z = {0}, int64 n = {4096}, int64 d = {1}, int64[1] a = {1}> { "
              "p = Range(z, n, d) h = Cast<to = 10>(p) c = Unsqueeze(h, a) t = Mul(c, f) y = Cos(t) }",
     np.array([[1.0, 0.5, 0.25, 0.125]]), lambda f: rotary(f, 4096), 2e-3),
    ("DT012", "g (float[2,4] x) => (uint8[2,4] y) { y = Cast<to = 2>(x) }", X * 3, lambda x: np.clip(np.trunc(x), 0, 255), 0),
    ("DT013", "g (int64[4] x) => (int32[4] y) { y = Cast<to = 6>(x) }", np.array([1, 2**40, -2**40, 7]),
     lambda x: np.clip(x, -2**31, 2**31 - 1), 0),
    ("NS008", "g (float[2] x) => (float[2] y) <float[2] w = {1e-40, 1}> { y = Mul(x, w) }", np.array([1e38, 1]),
     lambda x: x * np.array([0, 1]), 0),
]


def run(model, x):
    kind = onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    # The reference evaluator's LogSoftmax is Log(Softmax).
    if any(n.op_type == "LogSoftmax" for n in model.graph.node):
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {model.graph.input[0].name: x.astype(kind)})[0].astype(np.float64)
    return ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x.astype(kind)})[0].astype(np.float64)


def error(got, want):
    want = np.asarray(want, np.float64)
    if got.shape != want.shape or not np.isfinite(got).all():
        return np.inf
    return float((abs(got - want) / np.maximum(1, abs(want))).max())


def judge(cameo, case, folder):
    rule, text, x, meaning, tolerance = case
    faulty, fixed = folder / "m.onnx", folder / "f.onnx"
    model = onnx.parser.parse_model(text if text.startswith("<") else HEAD + text)
    onnx.save(model, faulty)
    done = subprocess.run([cameo, "lint", "--select", rule, "--fix", "--unsafe-fixes", faulty, "-o", fixed],
                          capture_output=True, text=True, timeout=60)
    if done.returncode or rule not in done.stdout:
        return f"exit {done.returncode}, or nothing repaired: {done.stdout[-300:]}{done.stderr[-300:]}"
    mended = onnx.load(fixed)
    onnx.checker.check_model(mended, full_check=True)
    given = model.graph.input[0].type.tensor_type.elem_type
    exact = x.astype(onnx.helper.tensor_dtype_to_np_dtype(given)).astype(np.float64)
    want = meaning(exact)
    before, after = error(run(model, x), want), error(run(mended, x), want)
    if after > tolerance:
        return f"off by {after:.3g} after the repair (before: {before:.3g})"
    if before <= tolerance:
        return f"the model computes the same before ({before:.3g}): it shows nothing"
    return None


def main():
    cameo, failed = str(pathlib.Path(sys.argv[1]).resolve()), 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            wrong = judge(cameo, case, pathlib.Path(folder))
        if wrong:
            failed += 1
            print(f"{case[0]}: {case[1][:60]}...: {wrong}")
    print(f"{len(CASES)} repairs run, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
