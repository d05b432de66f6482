#!/usr/bin/env python3
"""sums.py RANGES_MAIN [--models N] [--seed S]: bounds of products with constant weights, held to NumPy's.

A product of each kind (MatMul, Gemm with transB, Conv, ConvTranspose, MatMulNBits, MatMulInteger) with weights of each dtype, stored
and quantized (one scale, one for each output or input, one for blocks), of sizes around those that are added at a time. Its operand
has bounds of its own, one interval or one for each channel, as ranges_main prints them. Bounds of each result have to hold the sums of
the least and of the greatest products, in longdouble, and to be no wider than what rounding of the dtype explains. Those of the weights,
which are taken in the same pass, are exact.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
INTEGERS = {"int8": (np.int8, 8), "uint8": (np.uint8, 8), "int4": (ml_dtypes.int4, 4), "uint4": (ml_dtypes.uint4, 4), "int16": (np.int16, 16),
            "float8e4m3fn": (ml_dtypes.float8_e4m3fn, 8), "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8), "float8e5m2": (ml_dtypes.float8_e5m2, 8),
            "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8), "float4e2m1": (ml_dtypes.float4_e2m1fn, 4)}
SMALL = {np.dtype(INTEGERS[name][0]): name.upper() for name in INTEGERS if name.startswith("float")}
SIZES = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 130, 511, 513, 1025, 2049]
SCALES = ["one", "outputs", "inputs", "blocks"]


class Case:
    """A model of one product: x -> operand -> y; and its weights as [outputs, terms] with the input channel of each term."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.stored = rng, [], [], {}
        self.op = str(rng.choice(["MatMul", "MatMul", "Gemm", "Conv", "ConvTranspose", "MatMulNBits", "MatMulInteger"]))
        self.groups = int(rng.choice([1, 1, 2, 3])) if "Conv" in self.op else 1
        most = 40 if "Conv" in self.op else 2100
        pick = [s for s in SIZES if s < most]
        self.outs, self.ins = (int(rng.choice(pick)) * self.groups for _ in range(2))
        self.taps = int(rng.choice([1, 3, 4])) if "Conv" in self.op else 1
        while self.outs * self.ins * self.taps > 600000:
            self.outs = max(self.outs // 2, 1)
        self.dtype = np.dtype(np.float32)

    def constant(self, name, array):
        small = SMALL.get(array.dtype)
        kind = TensorProto.DataType.Value(small) if small else helper.np_dtype_to_tensor_dtype(array.dtype)
        if kind in (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1):
            flat = (array.view(np.uint8) if small else array.astype(np.int8)).ravel() & 15
            flat = np.append(flat, np.zeros(flat.size % 2, np.int8)).astype(np.uint8)
            raw = (flat[0::2] | flat[1::2] << 4).tobytes()
        else:
            raw = array.tobytes()
        t = TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=raw)
        self.weights.append(t)
        self.stored[name] = array.astype(np.float64)
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def dims(self):
        """As weights are stored, the axis of outputs and that of inputs."""
        per = self.ins // self.groups, self.outs // self.groups
        if self.op == "Conv":
            return (self.outs, per[0], self.taps), 0, 1
        if self.op == "ConvTranspose":
            return (self.ins, per[1], self.taps), 1, 0
        return ((self.outs, self.ins), 0, 1) if self.op == "Gemm" else ((self.ins, self.outs), 1, 0)

    def integers(self, dtype, bits, dims):
        if bits == 16:
            return self.rng.integers(-3000, 3000, dims).astype(dtype)
        raw = self.rng.integers(0, 1 << bits, dims)
        if np.dtype(dtype) in SMALL:
            raw = raw.astype(np.uint8).view(dtype)
            return np.where(np.isfinite(raw.astype(np.float32)), raw, np.zeros(1, dtype))
        signed = np.dtype(dtype).name.startswith("int")
        return (raw - (1 << bits - 1) * signed).astype(np.int64).astype(dtype)

    def scaled(self, dims, out, into):
        """A DequantizeLinear and what it gives, exactly as it is rounded."""
        name = str(self.rng.choice(list(INTEGERS)))
        dtype, bits = INTEGERS[name]
        kind = str(self.rng.choice(SCALES))
        axis = out if kind == "outputs" else into
        block = int(self.rng.choice([2, 16, 32, 64, 96])) if kind == "blocks" else 0
        of = {"one": (), "outputs": (dims[out],), "inputs": (dims[into],),
              "blocks": tuple(-(-d // block) if k == axis else d for k, d in enumerate(dims)) if block else ()}[kind]
        q = self.integers(dtype, bits, dims)
        scale = (self.rng.uniform(0.2, 1, of) * self.rng.choice([1e-3, 0.02, 3])).astype(np.float32) * self.rng.choice([1, 1, -1])
        scale = scale.astype(np.float32)
        inputs = [self.constant("q", q), self.constant("scale", np.asarray(scale))]
        zero = np.zeros(of, np.float64)
        if bits <= 8 and name[0] != "f" and self.rng.random() < 0.6:
            point = self.integers(dtype, bits, of)
            inputs.append(self.constant("point", np.asarray(point)))
            zero = point.astype(np.float64)
        w = self.node("DequantizeLinear", inputs, axis=axis, **({"block_size": block} if block else {}))

        def spread(p):
            if kind == "one":
                return p
            if kind == "blocks":
                return np.take(np.repeat(p, block, axis), range(dims[axis]), axis)
            return p.reshape([-1 if k == axis else 1 for k in range(len(dims))])
        return w, ((q.astype(np.float64) - spread(zero)) * spread(scale.astype(np.float64))).astype(np.float32)

    def operand(self):
        """x, bounded as a whole or by channel."""
        rank, axis = (3, 1) if "Conv" in self.op else (2, 1)
        self.shape = [2, self.ins] + [5] * (rank - 2)
        y = self.node("Tanh", ["x"])
        if self.rng.random() < 0.6:
            shape = [self.ins] + [1] * (rank - 1 - axis)
            for op in ("Mul", "Add"):
                of = self.rng.standard_normal(shape) * self.rng.choice([0.01, 1, 30])
                y = self.node(op, [y, self.constant(op, of.astype(self.dtype))])
        elif self.rng.random() < 0.5:
            y = self.node("Relu", [y])
        return y

    def bits(self, x):
        """MatMulNBits: rows of blocks."""
        bits, block = int(self.rng.choice([2, 4, 8])), int(self.rng.choice([16, 32, 64]))
        self.ins = self.shape[1] = -(-self.ins // block) * block
        blocks = self.ins // block
        q = self.rng.integers(0, 1 << bits, (self.outs, self.ins))
        per = 8 // bits
        raw = sum(q[:, k::per] << bits * k for k in range(per)).astype(np.uint8).reshape(self.outs, blocks, block // per)
        scale = self.rng.uniform(0.01, 1, (self.outs, blocks)).astype(np.float32)
        zero = np.full((self.outs, blocks), 1 << bits - 1)
        inputs = ["b", "s"]
        self.constant("b", raw), self.constant("s", scale)
        if self.rng.random() < 0.5:
            zero = self.rng.integers(0, 1 << bits, (self.outs, blocks))
            padded = np.zeros((self.outs, -(-blocks // per) * per), np.int64)
            padded[:, :blocks] = zero
            self.constant("z", sum(padded[:, k::per] << bits * k for k in range(per)).astype(np.uint8).ravel())
            inputs.append("z")
        self.node("MatMulNBits", [x, *inputs], domain="com.microsoft", K=self.ins, N=self.outs, bits=bits, block_size=block)
        w = (q - np.repeat(zero, block, 1)) * np.repeat(scale.astype(np.float64), block, 1)
        return w.astype(np.float32)

    def whole(self, x):
        """MatMulInteger: sums are exact."""
        dtype = self.rng.choice([np.int8, np.uint8])
        scales = [self.constant("xs", np.float32(0.05)), self.constant("xz", np.uint8(self.rng.integers(0, 255)))]
        x = self.node("QuantizeLinear", [x, *scales])
        q = self.integers(dtype, 8, (self.ins, self.outs))
        self.node("MatMulInteger", [x, self.constant("q", q)])
        self.dtype = np.dtype(np.int32)
        return q.T.astype(np.float64), x

    def build(self):
        if self.op not in ("MatMulNBits", "MatMulInteger") and self.rng.random() < 0.45:
            name = str(self.rng.choice(list(KINDS)))
            self.dtype = np.dtype(KINDS[name])
        elif self.op == "MatMulNBits":
            self.ins = -(-self.ins // 64) * 64
        x = self.operand()
        dims, out, into = self.dims()
        if self.op == "MatMulNBits":
            self.terms = self.bits(x)
        elif self.op == "MatMulInteger":
            self.terms, x = self.whole(x)
        else:
            if self.dtype != np.float32 or self.rng.random() < 0.3:
                w = (self.rng.standard_normal(dims) * self.rng.choice([1e-6, 0.02, 1])).astype(self.dtype)
                name, w = self.constant("w", w), w.astype(np.float64)
            else:
                name, w = self.scaled(dims, out, into)
            attributes = {"Gemm": {"transB": 1}, "Conv": {"group": self.groups}, "ConvTranspose": {"group": self.groups}}.get(self.op, {})
            self.node(self.op, [x, name], **attributes)
            self.terms = w
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(np.float32) if self.dtype == np.int32 else self.dtype)
        graph = helper.make_graph(self.nodes, "sums", [helper.make_tensor_value_info("x", kind, self.shape)],
                                  [onnx.ValueInfoProto(name=self.nodes[-1].output[0])], self.weights)
        self.x, self.y = x, self.nodes[-1].output[0]
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def exact(self, lo, hi):
        """(low, high, magnitude) of each output: sums in longdouble."""
        w = self.terms.astype(np.longdouble)
        if self.op == "MatMul":
            w = w.T
        lo, hi = lo.astype(np.longdouble), hi.astype(np.longdouble)
        per_in, per_out = self.ins // self.groups, self.outs // self.groups
        found = []
        for g in range(self.groups):
            a, b = lo[g * per_in:][:per_in], hi[g * per_in:][:per_in]
            if self.op == "Conv":
                part, axes = w[g * per_out:][:per_out], (1, 2)
                a, b = a[None, :, None], b[None, :, None]
            elif self.op == "ConvTranspose":
                part, axes = w[g * per_in:][:per_in], (0, 2)
                a, b = a[:, None, None], b[:, None, None]
            else:
                part, axes = w, 1
            found.append([np.minimum(part * a, part * b).sum(axes), np.maximum(part * a, part * b).sum(axes),
                          (np.abs(part) * np.maximum(np.abs(a), np.abs(b))).sum(axes)])
        return np.concatenate(found, 1)


def read_ranges(main, path):
    done = subprocess.run([main, str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"ranges_main exits {done.returncode}")
    return {line.split("\t")[0]: line.split("\t")[1:] for line in done.stdout.splitlines()}


def bounds(fields, n, joined):
    """For each of n channels; joined: what is outside of a picture is 0."""
    lo, hi = np.full(n, float(fields[0])), np.full(n, float(fields[1]))
    if len(fields) > 7 and (len(fields) - 10) // 2 == n:
        both = np.array(fields[10:], np.float64).reshape(-1, 2)
        lo, hi = np.maximum(lo, both[:, 0]), np.minimum(hi, both[:, 1])
    return (np.minimum(lo, 0), np.maximum(hi, 0)) if joined else (lo, hi)


def judge(main, case, path):
    """What is wrong; None if nothing is."""
    onnx.save(case.build(), path)
    found = read_ranges(main, path)
    if case.y not in found:
        return "no bounds"
    for name, array in case.stored.items():  # what the pass that sums also says of each constant
        own = found[name]
        if array.size and (float(own[0]), float(own[1]), own[5]) != (array.min(), array.max(), str(int((array == np.trunc(array)).all()))):
            return f"{name}: {own}, not {array.min()!r} to {array.max()!r}"
    integer = case.dtype == np.int32
    fields = found[case.y]
    if case.outs > 1 and len(fields) <= 7:
        return "no channels"
    low, high, size = case.exact(*bounds(found[case.x], case.ins, case.op == "ConvTranspose"))
    lo, hi = bounds(fields, case.outs, False)
    if (lo > low).any() or (hi < high).any():
        k = int(np.argmax(np.maximum(lo - low, high - hi)))
        return f"channel {k}: [{lo[k]!r}, {hi[k]!r}] does not hold [{low[k]!r}, {high[k]!r}]"
    terms = case.ins // case.groups * case.taps
    # Sums of the dtype, those that found these bounds, a factor's own rounding, the result's.
    wide = 0 if integer else {"bfloat16": 2.0 ** -4, "float16": 2.0 ** -7, "float32": 2.0 ** -14, "float64": 2.0 ** -44}[case.dtype.name]
    slack = size * (0 if integer else wide + (terms + 4) * (2.0 ** -50 if case.dtype == np.float64 else 2.0 ** -23)) + (0 if integer else 1e-4 if case.dtype == np.float16 else 1e-37)
    if (low - lo > slack).any() or (hi - high > slack).any():
        k = int(np.argmax(np.maximum(low - lo, hi - high) - slack))
        return f"channel {k}: [{lo[k]!r}, {hi[k]!r}] is wider than [{low[k]!r}, {high[k]!r}] by more than {slack if integer else slack[k]!r}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("main")
    parser.add_argument("--models", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.models):
            case = Case(np.random.default_rng([options.seed, number]))
            wrong = judge(options.main, case, pathlib.Path(folder) / "model.onnx")
            if wrong or options.verbose:
                what = ", ".join(f"{t.name} {TensorProto.DataType.Name(t.data_type)}{list(t.dims)}" for t in case.weights)
                print(f"model {number} (seed {options.seed}): {case.op}, {case.dtype}, groups {case.groups}, {what}: {wrong}")
            failed += wrong is not None
    print(f"{options.models} products, bounds of {failed} wrong")
    return 1 if failed or not options.models else 0


if __name__ == "__main__":
    sys.exit(main())
