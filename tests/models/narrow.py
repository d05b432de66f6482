#!/usr/bin/env python3
"""narrow.py CAMEO [--programs N] [--seed S]: products with weights of 2, 4, 8 and 16 bits, of random shapes, are right.

Each program holds many products: MatMulNBits, DequantizeLinear of constants in front of MatMul and Gemm, bfloat16; bits, blocks,
zero points and sizes around those of tiles; of two computed factors of bfloat16. Results are compared with NumPy in float64, within a few units of float32's
rounding of the sum of magnitudes, and where a model lets rows be rounded to bytes (accuracy_level 4) within half a step of each, or a
seventh of that for all results together. Programs take turns in their target, plain loops, --strict-fp, the C compiler and the
address and undefined-behaviour sanitizers; bits are those of any number of threads.
"""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import programs

TOLERANCE = 4e-6  # of the sum of magnitudes


class Net(programs.Network):
    opsets = {"": 21, "com.microsoft": 1}

    def __init__(self, random):
        super().__init__(random)
        self.expected = []

    def input(self, *shape):
        value = self.random.standard_normal(shape).astype(np.float32)
        name = f"x{len(self.inputs)}"
        self.feeds[name] = value
        dims = [None if self.random.integers(3) == 0 and i + 1 < len(shape) else d for i, d in enumerate(shape)]
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name, value

    def weight(self, value, dtype=None):
        name = f"w{len(self.weights)}"
        value = np.asarray(value)
        self.weights.append(helper.make_tensor(name, dtype, value.shape, value.flatten().tolist()) if dtype
                            else numpy_helper.from_array(value, name))
        return name

    def add(self, op, inputs, a, w, bias=None, domain="", coarse=0, **attributes):
        name = f"y{len(self.outputs)}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        expected = a.astype(np.float64) @ w
        scale = np.abs(a).astype(np.float64) @ np.abs(w)
        if bias is not None:
            expected, scale = expected + bias, scale + np.abs(bias)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * expected.ndim))
        step = 0
        if coarse:  # what a byte of a row is, for each block of k
            most = np.abs(np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, -a.shape[-1] % coarse)])).reshape(*a.shape[:-1], -1, coarse).max(-1)
            step = np.repeat(most / 127, coarse, -1)[..., :a.shape[-1]].astype(np.float64) @ np.abs(w) / 2
        self.expected.append((f"{op} {a.shape} x {w.shape} {attributes}", expected, scale, step))

    def scales(self, *shape):
        return (self.random.uniform(0.01, 1, shape) * self.one_of(1, 1e-3, 30)).astype(np.float32)

    def rows(self):
        m = int(self.one_of(1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 130))
        return self.one_of((m,), (m,), (2, m))

    def nbits(self):
        bits, block = int(self.one_of(2, 4, 4, 4, 8)), int(self.one_of(16, 32, 64, 128, 256))
        n, k = int(self.one_of(8, 10, 16, 33, 48, 49, 64, 97, 150)), int(self.one_of(16, 32, 40, 65, 128, 256, 300, 520))
        blocks, kind = (k + block - 1) // block, self.random.integers(3)
        q = self.random.integers(0, 1 << bits, (n, blocks * block))
        packed = sum(q.reshape(n, blocks, -1, 8 // bits)[..., i] << (bits * i) for i in range(8 // bits)).astype(np.uint8)
        s, zero, points = self.scales(n, blocks), np.full((n, blocks), float(1 << (bits - 1))), ""
        if kind == 1:
            codes = self.random.integers(0, 1 << bits, (n, blocks))
            zero, each = codes.astype(float), 8 // bits
            codes = np.pad(codes, [(0, 0), (0, -blocks % each)]).reshape(n, -1, each)
            points = self.weight(sum(codes[..., i] << (bits * i) for i in range(each)).astype(np.uint8))
        elif kind == 2:
            zero = self.random.uniform(0, 1 << bits, (n, blocks)).astype(np.float32)
            points = self.weight(zero.flatten() if self.random.integers(2) else zero)
        w = (q - np.repeat(zero, block, 1)) * np.repeat(s, block, 1)
        x, a = self.input(*self.rows(), k)
        bias = self.random.standard_normal(n).astype(np.float32) if self.random.integers(2) else None
        inputs = [x, self.weight(packed), self.weight(s), points, "", "" if bias is None else self.weight(bias)]
        level = int(self.one_of(0, 4))
        attributes = dict(N=n, K=k, bits=bits, block_size=block, accuracy_level=level)
        coarse = block if level == 4 and kind != 2 and (bits != 2 or 32 <= block <= 128) else 0
        if self.random.integers(4) == 0 and kind != 2:
            self.half_bits(inputs, a, q, zero, s, bias, coarse, attributes)
            return
        self.add("MatMulNBits", inputs, a, w[:, :k].T, bias, "com.microsoft", coarse, **attributes)

    def half_bits(self, inputs, a, q, zero, s, bias, coarse, attributes):
        """The same in float16, between casts."""
        k, block = attributes["K"], attributes["block_size"]
        a, s = a.astype(np.float16).astype(np.float32), (s / (1 << attributes["bits"])).astype(np.float16)
        w = ((q - np.repeat(zero, block, 1)) * np.repeat(s.astype(np.float64), block, 1))[:, :k].T
        if bias is not None:
            bias = bias.astype(np.float16)
        cast, product = (f"h{len(self.nodes)}{part}" for part in "ab")
        inputs = [cast, inputs[1], self.weight(s), inputs[3], "", "" if bias is None else self.weight(bias)]
        self.nodes += [helper.make_node("Cast", [self.inputs[-1].name], [cast], to=TensorProto.FLOAT16),
                       helper.make_node("MatMulNBits", inputs, [product], domain="com.microsoft", **attributes)]
        self.add("Cast", [product], a, w, bias, coarse=coarse, to=TensorProto.FLOAT)
        what, expected, scale, step = self.expected.pop()
        off = (np.abs(expected) * 2.0 ** -10 + 2.0 ** -24) / TOLERANCE
        self.expected.append((f"{what} {attributes}", expected, scale + off, step))

    def dequantized(self):
        dtype = self.one_of(TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4)
        low, high = {TensorProto.INT8: (-128, 127), TensorProto.UINT8: (0, 255), TensorProto.INT4: (-8, 7),
                     TensorProto.UINT4: (0, 15)}[dtype]
        n, k = int(self.one_of(16, 97, 150, 200)), int(self.one_of(128, 200, 320, 520))
        transposed, form = self.random.integers(2), self.random.integers(4)
        q = self.random.integers(low, high, (k, n), endpoint=True)
        if form == 0:  # one scale
            shape, attributes = (), {}
        elif form < 3:  # each column
            shape, attributes = (n,), {"axis": 0 if transposed else 1}
        else:
            block = int(self.one_of(16, 32, 128))
            shape, attributes = (-(-k // block), n), {"axis": 1 if transposed else 0, "block_size": block}
        s, points = self.scales(*shape), None
        if self.random.integers(2):
            points = self.random.integers(low, high, shape, endpoint=True)
        spread = (lambda v: np.repeat(v, block, 0)[:k]) if form == 3 else (lambda v: v)
        w = (q - (0 if points is None else spread(points))) * spread(s.astype(np.float64))
        turn = (lambda v: v.T if transposed and np.ndim(v) == 2 else v)
        inputs = [self.weight(turn(q), dtype), self.weight(turn(s))]
        inputs += [] if points is None else [self.weight(turn(points), dtype)]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [f"d{len(self.nodes)}"], **attributes))
        made = self.nodes[-1].output[0]
        rows = self.rows()
        x, a = self.input(*(rows[-1:] if transposed else rows), k)
        if transposed:
            bias = self.random.standard_normal(n).astype(np.float32)
            self.add("Gemm", [x, made, self.weight(bias)], a, w, bias, transB=1)
        else:
            self.add("MatMul", [x, made], a, w)

    def halves(self):
        """A product in bfloat16 or float16, between casts: the sum is float32's, the result is rounded."""
        dtype, kind, unit = self.one_of((TensorProto.BFLOAT16, ml_dtypes.bfloat16, 2.0 ** -8),
                                        (TensorProto.FLOAT16, np.float16, 2.0 ** -11))
        n, k = int(self.one_of(8, 17, 48, 49, 97, 150)), int(self.one_of(4, 16, 31, 65, 300, 520))
        x, a = self.input(*self.rows(), k)
        a, w = (v.astype(kind) for v in (a, self.random.standard_normal((k, n)) * self.one_of(1, 1e-4, 30)))
        cast, made, product = (f"h{len(self.nodes)}{part}" for part in "abc")
        self.nodes.append(helper.make_node("Cast", [x], [cast], to=dtype))
        weight = self.weight(w.astype(np.float32), dtype)
        if self.random.integers(4) == 0:  # both computed: no panels
            self.nodes.append(helper.make_node("Abs", [weight], [made]))
            weight, w = made, np.abs(w)
        self.nodes.append(helper.make_node("MatMul", [cast, weight], [product]))
        self.add("Cast", [product], a.astype(np.float64), w.astype(np.float64), to=TensorProto.FLOAT)
        what, expected, scale, _ = self.expected.pop()
        self.expected.append((what, expected, scale + (np.abs(expected) * unit + 2.0 ** -24) / TOLERANCE, 0))

    def both(self):
        """Products of two inputs in bfloat16, a few side by side, either factor turned or not; as attention has them."""
        heads, shape = int(self.one_of(1, 2, 3)), lambda: int(self.one_of(16, 17, 31, 48, 64, 96, 97, 130, 150))
        m, n, k = shape(), shape(), int(self.one_of(16, 31, 64, 65, 512, 600))
        factors, names = [], []
        for rows, columns in ((m, k), (k, n)):
            name, turned = f"h{len(self.nodes)}", self.random.integers(2)
            x, value = self.input(*((heads, columns, rows) if turned else (heads, rows, columns)))
            self.nodes.append(helper.make_node("Cast", [x], [name], to=TensorProto.BFLOAT16))
            if turned:
                self.nodes.append(helper.make_node("Transpose", [name], [name + "t"], perm=[0, 2, 1]))
                name, value = name + "t", value.transpose(0, 2, 1)
            names.append(name)
            factors.append(value.astype(ml_dtypes.bfloat16).astype(np.float64))
        product = f"h{len(self.nodes)}"
        self.nodes.append(helper.make_node("MatMul", names, [product]))
        self.add("Cast", [product], *factors, to=TensorProto.FLOAT)
        what, expected, scale, _ = self.expected.pop()
        self.expected.append((what, expected, scale + np.abs(expected) * 2.0 ** -8 / TOLERANCE, 0))


def variants(scratch):
    x86, clang, checked = programs.X86, programs.clang(), programs.sanitized(scratch)
    return [["--cpu", "native"], ["--cpu", "x86-64-v3"] if x86 else [],
            *([["--cpu", "native", "--cc", checked]] if checked else []), ["--cpu", "native", "--strict-fp"],
            ["--cpu", "x86-64"] if x86 else [], ["--no-override"], ["--cpu", "native", "--cc", clang],
            ["--cpu", "x86-64-v3", "--cc", clang] if x86 else []]


def compare(net, outputs, options):
    wrong = 0
    for (what, expected, scale, step), got in zip(net.expected, outputs):
        error, off = np.inf, 0
        if got.shape == expected.shape:
            if {"--strict-fp", "--no-override"} & set(options):
                step = 0
            off = np.abs(got - expected)
            error = (off / (scale + step / TOLERANCE + 1e-30)).max()
            if off.size >= 16 and np.ndim(step):
                error = max(error, np.sqrt(np.mean(off ** 2)) / np.sqrt(np.mean((scale + step / 7 / TOLERANCE) ** 2)))
        if not error < TOLERANCE:
            print(f"{what}: error {error:.1e} of the magnitudes, with {options}")
            wrong += 1
    return wrong


def main():
    args = programs.arguments(programs=2, nodes=10)

    def draw(random, _):
        net = Net(random)
        for _ in range(args.nodes):
            net.one_of(net.nbits, net.nbits, net.dequantized, net.halves, net.both)()
        return net

    wrong = programs.in_turns(args, variants, draw, programs.check_for_any_threads(args.cameo, compare))
    print(f"{args.programs * args.nodes} nodes in {args.programs} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
