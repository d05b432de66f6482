#!/usr/bin/env python3
"""Cases of the forms that kernels take for speed, as folders that tests/conformance/run.py reads.

    python3 generate.py OUT

Transforms of every length up to 40 and of lengths of each kind beyond, against NumPy in float64; windows of all sizes and
steps over planes of all sizes (with borders, NaN, bands), mirrored and repeated places, transpositions of elements of
each size with rests of tiles, regions of a few elements, places of the greatest: against NumPy too.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(11)
LENGTHS = [*range(1, 41), 45, 49, 64, 67, 77, 81, 97, 100, 121, 127, 128, 134, 143, 169, 202, 243, 256, 400, 480, 512, 625,
           1009, 1024]


def ints(*v):
    return np.array(v, np.int64)


class Suite:
    def __init__(self, out):
        self.out, self.rows = out, []

    def add(self, name, op, inputs, expected, weights=(), opset=22, rtol=0.0, atol=0.0, operands=None, **attributes):
        """inputs and weights: dicts of operands by name, in the node's order unless `operands` says it."""
        weights = dict(weights)
        operands = operands or [*inputs, *weights]
        expected = expected if isinstance(expected, list) else [expected]
        names = [f"y{k}" for k in range(len(expected))]
        node = helper.make_node(op, operands, names, name="node", **attributes)
        info = lambda k, v: helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        graph = helper.make_graph([node], "case", [info(k, v) for k, v in inputs.items()],
                                  [info(k, v) for k, v in zip(names, expected)],
                                  [numpy_helper.from_array(v, k) for k, v in weights.items()])
        data = self.out / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        onnx.save(model, self.out / name / "model.onnx")
        for kind, values in (("input", inputs), ("output", dict(zip(names, expected)))):
            for k, (key, v) in enumerate(values.items()):
                (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(v), key).SerializeToString())
        (self.out / name / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
        self.rows.append({"name": name, "kind": "node"})

    def quantized(self, name, q, scale, zero, y):
        """Sigmoid between DequantizeLinear and QuantizeLinear of the same dtype, y in float64; scale of the result 1 / 100."""
        to = np.float32(0.01)
        info = np.iinfo(q.dtype)
        expected = np.clip(np.rint(y / to) + 3, info.min, info.max).astype(q.dtype)
        nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]), helper.make_node("Sigmoid", ["a"], ["b"]),
                 helper.make_node("QuantizeLinear", ["b", "t", "z"], ["y0"])]
        code = helper.np_dtype_to_tensor_dtype(q.dtype)
        graph = helper.make_graph(nodes, "case", [helper.make_tensor_value_info("x", code, q.shape)],
                                  [helper.make_tensor_value_info("y0", code, q.shape)],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in (("s", scale), ("z", zero), ("t", to))])
        data = self.out / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
                  self.out / name / "model.onnx")
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(q, "x").SerializeToString())
        (data / "output_0.pb").write_bytes(numpy_helper.from_array(expected, "y0").SerializeToString())
        (self.out / name / "tolerance.json").write_text(json.dumps({"rtol": 0, "atol": 0}))
        self.rows.append({"name": name, "kind": "node"})


# ---- transforms ------------------------------------------------------------------------------------------------


def pair(z, dtype=np.float64):
    return np.stack([z.real, z.imag], -1).astype(dtype)


def transforms(s):
    close = {"rtol": 0.0, "atol": 2e-13}
    for n in LENGTHS:
        batch = (2, 3) if n % 3 else (5,)
        z = random.standard_normal((*batch, n)) + 1j * random.standard_normal((*batch, n))
        last, scale = ints(len(batch)).reshape(()), {**close, "atol": close["atol"] * n}
        weights = {"axis": last}
        s.add(f"dft_{n}", "DFT", {"x": pair(z)}, pair(np.fft.fft(z)), weights, operands=["x", "", "axis"], **scale)
        if n % 2 == 0 or n > 40:
            s.add(f"dft_inverse_{n}", "DFT", {"x": pair(z)}, pair(np.fft.ifft(z)), weights, operands=["x", "", "axis"],
                  inverse=1, **close)
            s.add(f"rfft_{n}", "DFT", {"x": z.real[..., None].copy()}, pair(np.fft.rfft(z.real)), weights,
                  operands=["x", "", "axis"], onesided=1, **scale)
        if n % 2 or n > 40:
            half = z[..., :n // 2 + 1]
            s.add(f"irfft_{n}", "DFT", {"x": pair(half)}, np.fft.irfft(half, n)[..., None],
                  {"length": ints(n).reshape(()), "axis": last}, operands=["x", "length", "axis"], onesided=1, inverse=1,
                  **close)
    z = random.standard_normal((3, 20, 4)) + 1j * random.standard_normal((3, 20, 4))
    for length in (12, 24):  # cut, or with zeros behind
        s.add(f"dft_axis_{length}", "DFT", {"x": pair(z)}, pair(np.fft.fft(z, length, 1)),
              {"length": ints(length).reshape(()), "axis": ints(1).reshape(())}, operands=["x", "length", "axis"],
              **{**close, "atol": 1e-12})
    wave, window = random.standard_normal((2, 900)), np.hanning(60)
    frames = np.stack([wave[:, k:k + 60] * window for k in range(0, 841, 25)], 1)
    s.add("stft", "STFT", {"x": wave[..., None], "w": window}, pair(np.fft.rfft(frames)),
          {"step": ints(25).reshape(()), "length": ints(60).reshape(())}, operands=["x", "step", "w", "length"],
          **{**close, "atol": 1e-11})


# ---- windows ---------------------------------------------------------------------------------------------------


def windows_of(x, size, step, pads, dilation, fill):
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=fill)
    span = [d * (k - 1) + 1 for k, d in zip(size, dilation)]
    v = np.lib.stride_tricks.sliding_window_view(x, span, (2, 3))
    return v[:, :, ::step[0], ::step[1], ::dilation[0], ::dilation[1]]


def pools(s):
    cases = [((13, 13), 5, 1, 2, 1), ((13, 13), 13, 1, 6, 1), ((9, 40), (3, 7), 1, (1, 3), 1), ((30, 31), 3, 2, 1, 1),
             ((60, 61), (4, 5), (2, 3), 2, 1), ((21, 17), 3, 1, 2, 2), ((150, 200), 3, 1, 1, 1), ((97, 300), (9, 6), 2, 0, 1),
             ((7, 5), (6, 2), 1, (3, 1), 1), ((40, 2000), 5, 1, 2, 1), ((64, 70), 2, 1, 0, 1)]
    for k, (shape, *rest) in enumerate(cases):
        size, step, pad, dilation = [v if isinstance(v, tuple) else (v, v) for v in rest]
        pads = [*pad, *pad]
        a = {"kernel_shape": size, "strides": step, "pads": pads}
        x = random.standard_normal((2, 3, *shape)).astype(np.float32)
        x[0, 1, shape[0] // 2, 3] = np.nan
        x[1, 2, :4] = -np.inf
        with np.errstate(invalid="ignore"):
            s.add(f"max_{k}", "MaxPool", {"x": x}, windows_of(x, size, step, pads, dilation, -np.inf).max((-1, -2)),
                  dilations=dilation, **a)
        small = random.integers(-128, 128, (1, 2, *shape)).astype(np.int8)
        s.add(f"max_int8_{k}", "MaxPool", {"x": small}, windows_of(small, size, step, pads, dilation, -128).max((-1, -2)),
              dilations=dilation, **a)
        if k % 3 == 0:
            half = x.astype(np.float16)
            s.add(f"max_float16_{k}", "MaxPool", {"x": half},
                  windows_of(half, size, step, pads, dilation, -np.inf).max((-1, -2)), dilations=dilation, **a)
        x = random.standard_normal((2, 3, *shape))
        sums = windows_of(x, size, step, pads, dilation, 0).sum((-1, -2))
        counts = windows_of(np.ones_like(x), size, step, pads, dilation, 0).sum((-1, -2))
        s.add(f"average_{k}", "AveragePool", {"x": x.astype(np.float32)}, (sums / counts).astype(np.float32), rtol=2e-6,
              atol=2e-6, dilations=dilation, **a)
        s.add(f"average_padded_{k}", "AveragePool", {"x": x}, sums / (size[0] * size[1]), rtol=1e-14, atol=1e-14,
              count_include_pad=1, dilations=dilation, **a)
        squares = windows_of(x * x, size, step, pads, dilation, 0).sum((-1, -2))
        s.add(f"norm_{k}", "LpPool", {"x": x}, np.sqrt(squares), rtol=1e-13, atol=1e-14, p=2, dilations=dilation, **a)


def regions(s):
    x = random.standard_normal((2, 3, 12, 15)).astype(np.float32)
    x[1, 0, 5, 5] = np.nan
    rois = np.array([[0, 1, 2, 9, 7], [1, -4, -3, 30, 20], [1, 5, 5, 5, 5], [0, 14, 11, 20, 30], [0, 9, 8, 3, 2],
                     [1, 100, 100, 120, 130], [1, 2.5, 3.49, 7.5, 6.5]], np.float32)
    y = np.zeros((len(rois), 3, 4, 3), np.float32)
    for r, (batch, *box) in enumerate(rois):
        x0, y0, x1, y1 = (np.sign(v) * np.floor(np.abs(v) + np.float32(0.5)) for v in box)
        height, width = max(y1 - y0 + 1, 1), max(x1 - x0 + 1, 1)
        bh, bw = np.float32(height) / np.float32(4), np.float32(width) / np.float32(3)
        for i in range(4):
            for j in range(3):
                rows = np.clip([y0 + np.floor(i * bh), y0 + np.ceil((i + 1) * bh)], 0, 12).astype(int)
                cols = np.clip([x0 + np.floor(j * bw), x0 + np.ceil((j + 1) * bw)], 0, 15).astype(int)
                part = x[int(batch), :, rows[0]:rows[1], cols[0]:cols[1]]
                if part.size:
                    y[r, :, i, j] = part.max((1, 2))
    s.add("regions", "MaxRoiPool", {"x": x, "rois": rois}, y, opset=21, pooled_shape=[4, 3])


# ---- movement --------------------------------------------------------------------------------------------------


def movement(s):
    x = random.standard_normal((2, 3, 40, 70)).astype(np.float32)
    for mode, pads in (("reflect", (2, 5, 3, 40)), ("edge", (1, 33, 0, 45)), ("wrap", (1, 9, 2, 60)), ("wrap", (0, 200, 0, 7)),
                       ("reflect", (0, -3, 0, 6)), ("reflect", (39, 69, 39, 69))):
        top, left, bottom, right = pads
        cut = x[..., max(0, -left):]
        y = np.pad(cut, [(0, 0), (0, 0), (top, bottom), (max(0, left), right)], mode=mode)
        s.add(f"pad_{mode}_{left}", "Pad", {"x": x}, y, {"pads": ints(0, 0, top, left, 0, 0, bottom, right)}, mode=mode)
    for dtype in (np.uint8, np.bool_, np.float16, np.int16, np.float32, np.int32, np.float64, np.int64):
        for shape in ((48, 64), (3, 16, 33), (2, 50, 17), (1, 19, 85)):
            x = random.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)
            perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            s.add(f"transpose_{np.dtype(dtype).name}_{len(shape)}_{shape[-1]}", "Transpose", {"x": x}, x.transpose(perm),
                  perm=perm)
    x = random.standard_normal((1, 2, 6, 40)).astype(np.float32)
    scales = lambda *v: {"s": np.array(v, np.float32)}
    for name, repeat in (("asymmetric", (2, 3)), ("half_pixel", (3, 2)), ("half_pixel", (4, 1))):
        s.add(f"nearest_{name}_{repeat[0]}", "Resize", {"x": x}, x.repeat(repeat[0], 2).repeat(repeat[1], 3),
              scales(1, 1, *repeat), operands=["x", "", "s"], mode="nearest", coordinate_transformation_mode=name,
              nearest_mode="floor" if name == "asymmetric" else "round_prefer_floor")
    s.add("nearest_down", "Resize", {"x": x}, x[:, :, ::2, ::4], scales(1, 1, 0.5, 0.25), operands=["x", "", "s"],
          mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def elements(s):
    x = random.integers(-4, 5, (5, 90, 70)).astype(np.float32)  # with many equal ones
    x[0, 3, 40] = x[1, :, 5] = x[2, 7, 64:] = np.nan
    x[3] = -np.inf
    for dtype in (np.float32, np.float64, np.int32, np.int8):
        v = np.nan_to_num(x, posinf=9, neginf=-9).astype(dtype) if np.issubdtype(dtype, np.integer) else x.astype(dtype)
        for axis in (1, 2):
            for op, of in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
                s.add(f"{op.lower()}_{np.dtype(dtype).name}_{axis}", op, {"x": v}, of(v, axis), axis=axis, keepdims=0)
    mask, one = random.random((1, 90, 70)) < 0.5, np.array(2.5, np.float32)
    s.add("where", "Where", {"m": mask, "x": x, "s": one}, np.where(mask, x, one))
    a = np.array([-2**31, 2**31 - 1, -2**31, 7, -7, 7, -7, 0] * 50 + [*random.integers(-2**31, 2**31, 3000)], np.int32)
    b = np.array([-1, 1, 3, 2, 2, -2, -2, 5] * 50 + [*random.integers(1, 2**31, 1500), *random.integers(1, 100, 1500)], np.int32)
    quotient = np.sign(a).astype(np.int64) * np.sign(b) * (np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64)))
    s.add("divide", "Div", {"a": a, "b": b}, quotient.astype(np.int32))
    for dtype in (np.uint8, np.int8):
        q, zero = random.integers(0, 256, (3, 40, 50)).astype(np.uint8).view(dtype), dtype(3)
        scale = np.float32(0.05)
        y = 1 / (1 + np.exp(-(q.astype(np.float64) - 3) * scale))
        s.quantized(f"quantized_sigmoid_{np.dtype(dtype).name}", q, scale, zero, y)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    s = Suite(out)
    for part in (transforms, pools, regions, movement, elements):
        part(s)
    (out / "cases.json").write_text(json.dumps(s.rows))
    print(len(s.rows), "cases")


if __name__ == "__main__":
    main()
