#!/usr/bin/env python3
"""run_slices.py CAMEO: reductions that several threads of a point divide, on the emulated device.

One program of all that may be divided (one loop, windows, integers that wrap, sums of float16) and of what may not (arms of
a select that differ between the points of a block, the place of the greatest), over no, few and many points: what NumPy
computes, in every order of threads, without races.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

import build
import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
slices (float[N,64,5,5] x, int32[N,40,6] t, float16[N,40,6] h)
  => (float[N,8,5,5] loop, float[N,4,5,5] window, float[N,5,5] most, int32[N,6] whole, float[N,5,5] arms, float16[N,6] half,
      int64[N,5,5] place) {
    axis = Constant<value_ints = [1]>()
    one = Conv(x, w, b)
    loop = Relu(one)
    window = Conv<pads = [1, 1, 1, 1]>(x, v)
    most = ReduceMax<keepdims = 0>(x, axis)
    whole = ReduceSum<keepdims = 0>(t, axis)
    first = Constant<value_int = 0>()
    zero = Constant<value_float = 0.0>()
    x0 = Gather<axis = 1>(x, first)
    above = Greater(x0, zero)
    squares = Mul(x, x)
    sum = ReduceSum<keepdims = 0>(squares, axis)
    least = ReduceMin<keepdims = 0>(x, axis)
    arms = Where(above, sum, least)
    half = ReduceSum<keepdims = 0>(h, axis)
    place = ArgMax<axis = 1, keepdims = 0>(x)
}
"""


def weights(rng):
    return {"w": rng.standard_normal((8, 64, 1, 1)).astype(np.float32), "b": rng.standard_normal(8).astype(np.float32),
            "v": rng.standard_normal((4, 64, 3, 3)).astype(np.float32)}


def inputs(rng, n):
    return {"x": rng.standard_normal((n, 64, 5, 5)).astype(np.float32),
            "t": rng.integers(-2**31, 2**31, (n, 40, 6)).astype(np.int32),
            "h": rng.standard_normal((n, 40, 6)).astype(np.float16)}


def expected(w, feed):
    x, t, h = feed["x"].astype(np.float64), feed["t"], feed["h"]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    window = sum(np.einsum("ncyx,oc->noyx", padded[:, :, i:i + 5, j:j + 5], w["v"][:, :, i, j].astype(np.float64))
                 for i in range(3) for j in range(3))
    one = np.einsum("ncyx,oc->noyx", x, w["w"][:, :, 0, 0].astype(np.float64)) + w["b"][:, None, None]
    return {"loop": np.maximum(one, 0), "window": window, "most": x.max(1), "whole": t.sum(1, dtype=np.int32),
            "arms": np.where(x[:, 0] > 0, (x * x).sum(1), x.min(1)), "half": h.sum(1, dtype=np.float64),
            "place": x.argmax(1)}


def check(path, env, folder, feed, want):
    """None, or what is wrong."""
    for name, value in feed.items():
        np.save(folder / f"{name}.npy", value)
    ran = subprocess.run([path, *(f"{n}={folder / n}.npy" for n in feed), "-o", folder], capture_output=True, text=True, env=env)
    if ran.returncode:
        return f"exit {ran.returncode}: {ran.stderr[-400:]}"
    for name, value in want.items():
        got = np.load(folder / f"{name}.npy")
        tolerance = 1e-3 if got.dtype == np.float16 else 1e-4
        if got.shape != value.shape or not np.allclose(got, value, tolerance, tolerance):
            return f"{name} differs"
        if value.dtype != np.float64 and got.tobytes() != value.tobytes():
            return f"{name} is not the same to the last bit"
    return None


def main():
    cameo, rng, wrong, runs = sys.argv[1], np.random.default_rng(7), [], 0
    w, model = weights(rng), onnx.parser.parse_model(MODEL)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in w.items())
    for checked in (False, True):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(model, folder / "slices.onnx")
            tools = build.Tools()
            path, _ = program.emulated(cameo, ROOT, folder / "slices.onnx", folder, checked=checked, tools=tools)
            host, kernels = (folder / "emulated.c").read_text(), (folder / "emulated.cu").read_text()
            divided = host.count("    cameo_cuda_launch_slices(c, ")
            if divided != 6 or kernels.count(" = cameo_slices_") != 5:
                wrong.append("schedule")
                print(f"WRONG: {divided} launches may divide points")
            for n in (0, 1, 3) if checked else (0, 1, 3, 200):
                feed = inputs(rng, n)
                want = expected(w, feed)
                for seed in range(1 if n == 200 else 3):
                    why, runs = check(path, tools.environment(checked=checked, seed=seed, leaks=1), folder, feed, want), runs + 1
                    if why:
                        wrong.append(why)
                        print(f"WRONG: N = {n}, seed {seed}{', checked' if checked else ''}: {why}")
    print(f"{runs} runs, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
