#!/usr/bin/env python3
"""pixels.py CAMEO [--programs N] [--nodes N] [--seed S] [--variant K]: networks whose values lie in pixels are right.

Each program is one chain of convolutions of bfloat16, or of bytes, with what stands between them: residuals, pooling, clips, values
that several nodes read, windows of each channel, channels that are few or make no whole pixel, sizes around those of tiles, batches of
open size. Chains of bytes, of quantised
operators or dequantised and quantised again, have scales that are powers of two, so every step is exact and all bits have to be NumPy's; those of bfloat16
are rounded once a node, and held to NumPy in float64. Programs take turns in the variants of integers.py; bits are those of any number of threads.
"""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import integers
import programs

ROUNDED, SPREAD = 2.0 ** -7, 2.0 ** -6  # a node's error, of an element and of the rms of all
LANES = {"bf16": 32, "u8": 64, "i8": 64}
DTYPE = {"bf16": TensorProto.BFLOAT16, "u8": TensorProto.UINT8, "i8": TensorProto.INT8}


class Chain(programs.Network):
    opsets = {"": 22}

    def __init__(self, random, kind):
        super().__init__(random)
        self.kind, self.depth, self.expected, self.earlier = kind, 0, [], []
        self.bytes = kind != "bf16"
        self.edge = np.iinfo({"u8": np.uint8, "i8": np.int8}[kind]) if self.bytes else None

    def weight(self, value, dtype=None):
        name = f"w{len(self.weights)}"
        if dtype == TensorProto.BFLOAT16:
            self.weights.append(helper.make_tensor(name, dtype, value.shape, value.flatten().tolist()))
        else:
            self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def rounded(self, value):
        return value if self.bytes else value.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)

    def node(self, op, inputs, value, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.depth += 1
        self.name, self.value = name, self.rounded(value)

    def begin(self):
        lanes = LANES[self.kind]
        n = int(self.one_of(1, 1, 2))
        c = int(self.one_of(lanes, 2 * lanes, 3 * lanes, 16, 24, 72, 1, 3, 3, 4, 7))
        h, w = (int(self.one_of(4, 7, 8, 13, 14, 17, 28)) for _ in range(2))
        x = self.random.standard_normal((n, c, h, w))
        self.feeds["x"] = x.astype(np.float32)
        dims = [n, c, h, w] if self.random.integers(2) else [None, c, h, w]
        self.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, dims))
        if self.bytes:
            self.zero = int(self.one_of(0, 3, 128 if self.kind == "u8" else -7))
            x = np.clip(np.rint(self.feeds["x"] / np.float32(2 ** -5)) + self.zero, self.edge.min, self.edge.max)
            self.node("QuantizeLinear", ["x", self.weight(np.float32(2 ** -5)), self.number(self.zero)], x.astype(np.int64))
        else:
            self.node("Cast", ["x"], self.feeds["x"].astype(np.float64), to=TensorProto.BFLOAT16)

    def squares(self):
        """Rows and columns one behind the other become channels, by Slices or at once; a convolution reads them."""
        x, b = self.value, 2
        if self.bytes or x.shape[2] % b or x.shape[3] % b or x.shape[1] > 4:
            return
        places = [(i, j) for i in range(b) for j in range(b)]
        value = lambda: np.concatenate([x[:, :, i::b, j::b] for i, j in places], 1)
        if self.random.integers(2):
            self.node("SpaceToDepth", [self.name], value(), blocksize=b)
        else:
            self.random.shuffle(places)
            self.node("Concat", [self.every(b, i, j) for i, j in places], value(), axis=1)
        self.convolution()

    def every(self, b, i, j):
        """The columns from j on of the rows from i on, each b-th, by one Slice or two."""
        name, axes = self.name, [[2, 3]] if self.random.integers(2) else [[-2], [3]]
        for axis in axes:
            first = [j if a == 3 else i for a in axis]
            made = f"{self.name}_{len(self.nodes)}"
            numbers = [self.weight(np.array(v)) for v in (first, [2 ** 31] * len(axis), axis, [b] * len(axis))]
            self.nodes.append(helper.make_node("Slice", [name, *numbers], [made]))
            name = made
        return name

    def number(self, zero):
        return self.weight(np.array(zero, self.edge.dtype))

    def window(self):
        t = [int(self.one_of(1, 1, 3, 3, 5, 4)) for _ in range(2)]
        s, d = [int(self.one_of(1, 1, 1, 2, 3)) for _ in range(2)], [int(self.one_of(1, 1, 2)) for _ in range(2)]
        pads = [int(self.random.integers(0, v)) for v in t + t] if self.random.integers(2) else [v // 2 for v in t + t]
        fits = all(self.value.shape[2 + i] + pads[i] + pads[2 + i] >= (t[i] - 1) * d[i] + 1 for i in range(2))
        return (t, dict(strides=s, dilations=d, pads=pads)) if fits else ([1, 1], dict(strides=[1, 1], dilations=[1, 1], pads=[0] * 4))

    def convolution(self):
        m = int(self.one_of(1, 2, 2, 3)) * LANES[self.kind] if self.random.integers(3) else int(self.one_of(9, 16, 24, 40, 96))
        self.convolve(m, self.value.shape[1], 1)

    def windows(self):
        self.convolve(self.value.shape[1], 1, self.value.shape[1])

    def groups(self):
        """Of several channels, as many of y, and now and then of others."""
        width, c = int(self.one_of(4, 8, 16, 32, 64, 2, 3, 12)), self.value.shape[1]
        if c % width == 0 and c > width:
            rows = width if self.random.integers(4) else int(self.one_of(4, 16))
            self.convolve(c // width * rows, width, c // width)

    def convolve(self, m, c, groups, window=None):
        taps, sizes = window or self.window()
        scale = float(c * np.prod(taps)) ** -0.5
        if self.bytes:
            self.quantised_convolution(m, c, groups, taps, sizes)
            return
        w = self.rounded(self.random.standard_normal((m, c, *taps)) * scale)
        b = self.rounded(self.random.standard_normal(m))
        y = integers.convolved(self.value, w, groups, **sizes) + b.reshape(-1, 1, 1)
        self.node("Conv", [self.name, self.weight(w, TensorProto.BFLOAT16), self.weight(b, TensorProto.BFLOAT16)], y, group=groups, **sizes)
        after = self.random.integers(3)
        if after == 1:
            self.node("Relu", [self.name], np.maximum(self.value, 0))
        elif after == 2:
            x, name = self.value, self.name
            self.node("Sigmoid", [name], 1 / (1 + np.exp(-x)))
            self.node("Mul", [name, self.name][::int(self.one_of(1, -1))], x * self.value)

    def quantised_convolution(self, m, c, groups, taps, sizes):
        w, zero = self.quantised_weights(m, c, taps)
        shift = int(np.ceil(np.log2((c * np.prod(taps)) ** 0.5 * 70)))
        sums = integers.convolved(self.value - self.zero, w.astype(np.int64) - np.reshape(zero, (-1, 1, 1, 1)).astype(np.int64), groups, **sizes)
        bias = self.random.integers(-9999, 9999, m, np.int32)
        sums += bias.reshape(-1, 1, 1)
        after = int(self.one_of(self.zero, 0, 5))
        if self.random.integers(2):
            self.dequantised_convolution(w, zero, sums - bias.reshape(-1, 1, 1), bias, groups, shift, after, sizes)
            return
        y = self.quantised(sums.astype(np.float32), 2.0 ** -shift, after)
        one, by = self.weight(np.float32(1)), self.weight(np.float32(2.0 ** shift))
        scale = self.weight(np.ones(zero.shape, np.float32))
        self.node("QLinearConv", [self.name, one, self.number(self.zero), self.weight(w), scale, self.weight(zero), by,
                                  self.number(after), self.weight(bias)], y, group=groups, **sizes)
        self.zero = after

    def quantised_weights(self, m, c, taps):
        """And their zero points: none, one for all or one for each channel, near the middle or anywhere."""
        if self.random.integers(2):
            return self.random.integers(-127, 128, (m, c, *taps), np.int8), np.int8(0)
        dtype = (np.int8, np.uint8)[self.random.integers(2)]
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        middle, away = (low + high + 1) // 2, int(self.one_of(0, 1, 20, 100, 128))
        zero = np.array(self.random.integers(max(low, middle - away), min(high, middle + away) + 1, m if self.random.integers(2) else ()), dtype)
        near = max(low, int(zero.max()) - 127), min(high, int(zero.min()) + 127)
        if near[0] <= near[1] and not self.random.integers(3):
            low, high = near
        return self.random.integers(low, high + 1, (m, c, *taps), dtype), zero

    def quantised(self, x, by, zero):
        return np.clip(np.rint(x * np.float32(by)) + zero, self.edge.min, self.edge.max).astype(np.int64)

    def dequantize(self, name, zero, scale=1, **attributes):
        made = f"d{len(self.nodes)}"
        self.nodes.append(helper.make_node("DequantizeLinear", [name, self.weight(np.float32(scale)), self.weight(zero)], [made], **attributes))
        return made

    def dequantize_value(self, name, zero, scale=1):
        return self.dequantize(name, np.array(zero, self.edge.dtype), scale)

    def quantize(self, op, inputs, value, scale, zero, **attributes):
        """The node between what was dequantised and what is quantised again, with a Relu or without."""
        made = f"f{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [made], **attributes))
        if self.random.integers(2):
            self.nodes.append(helper.make_node("Relu", [made], [made + "r"]))
            made, value = made + "r", np.maximum(value, 0)
        y = self.quantised(value, 1 / scale, zero)
        self.node("QuantizeLinear", [made, self.weight(np.float32(scale)), self.number(zero)], y)
        self.zero = zero

    def dequantised_convolution(self, w, zero, sums, bias, groups, shift, after, sizes):
        value = sums.astype(np.float32) + bias.astype(np.float32).reshape(-1, 1, 1)
        factor = self.dequantize(self.weight(w), zero, np.ones(zero.shape), axis=0)
        inputs = [self.dequantize_value(self.name, self.zero), factor, self.weight(bias.astype(np.float32))]
        self.quantize("Conv", inputs, value, 2.0 ** shift, after, group=groups, **sizes)

    def pooling(self):
        x = np.pad(self.value, [(0, 0), (0, 0), (1, 1), (1, 1)],
                   constant_values=self.edge.min if self.bytes else -np.inf)
        s = int(self.one_of(1, 2))
        parts = [x[:, :, i:i + (self.value.shape[2] - 1) // s * s + 1:s, j:j + (self.value.shape[3] - 1) // s * s + 1:s]
                 for i in range(3) for j in range(3)]
        self.node("MaxPool", [self.name], np.max(parts, 0), kernel_shape=[3, 3], strides=[s, s], pads=[1] * 4)

    def residual(self):
        same = [v for v in self.earlier if v[1].shape == self.value.shape and v[0] != self.name]
        if not same:
            return
        name, value, zero = same[self.random.integers(len(same))]
        if not self.bytes:
            kept = self.name, self.value
            if self.random.integers(2):
                by = self.rounded(self.random.standard_normal((value.shape[1], 1, 1)))
                self.node("Mul", [name, self.weight(by, TensorProto.BFLOAT16)], value * by)
                name, value = self.name, self.value
            self.name, self.value = kept
            self.node("Add", [self.name, name], self.value + value)
            return
        added = (self.value - self.zero).astype(np.float32) + (value - zero).astype(np.float32) / 2
        inputs = [self.dequantize_value(self.name, self.zero), self.dequantize_value(name, zero, 0.5)]
        self.quantize("Add", inputs[::int(self.one_of(1, -1))], added, 2.0, int(self.one_of(0, 5, self.zero)))

    def joined(self):
        same = [v for v in self.earlier if v[1].shape[2:] == self.value.shape[2:] and v[2] == getattr(self, "zero", 0)]
        if same:
            name, value, _ = same[self.random.integers(len(same))]
            self.node("Concat", [self.name, name], np.concatenate([self.value, value], 1), axis=1)

    def halves(self):
        """Convolutions that make a part of a pixel each, with a residual or not, and Concat makes pixels of them."""
        x, name, made, window = self.value, self.name, [], self.window()
        for _ in range(0 if self.bytes else int(self.one_of(2, 4))):
            self.name, self.value = name, x
            self.convolve(16, x.shape[1], 1, window)
            if made and self.random.integers(2):
                self.node("Add", [self.name, made[0][0]], self.value + made[0][1])
            made.append((self.name, self.value))
        if made:
            self.node("Concat", [n for n, _ in made], np.concatenate([v for _, v in made], 1), axis=1)

    def step(self):
        self.earlier.append((self.name, self.value, getattr(self, "zero", 0)))
        self.one_of(self.convolution, self.convolution, self.convolution, self.windows, self.groups, self.pooling, self.residual, self.joined, self.halves)()

    def end(self):
        to = TensorProto.INT32 if self.bytes else TensorProto.FLOAT
        self.nodes.append(helper.make_node("Cast", [self.name], ["y"], to=to))
        self.outputs.append(helper.make_tensor_value_info("y", to, [None] * 4))


def compare(net, outputs, options):
    got, y = outputs[0].astype(np.float64), net.value.astype(np.float64)
    rms = np.sqrt(np.mean(y * y))
    allowed = 0 if net.bytes else net.depth * (ROUNDED * np.abs(y) + SPREAD * rms)
    wrong = np.count_nonzero(~(np.abs(got - y) <= allowed)) if got.shape == y.shape else -1
    if wrong:
        shapes = [n.op_type for n in net.nodes]
        print(f"{net.kind} {net.feeds['x'].shape} {shapes}: {wrong} of {y.size} are wrong, with {options}")
    return wrong != 0


def main():
    args = programs.arguments(programs=36, nodes=7)

    def draw(random, i):
        net = Chain(random, ("bf16", "u8", "i8")[(i // 9 + i) % 3])
        net.begin()
        net.squares()
        for _ in range(args.nodes):
            net.step()
        net.end()
        return net

    check = programs.check_for_any_threads(args.cameo, compare)

    def check_wide(net, scratch, options):
        """As the model is, or with what --precision allows between its nodes: sums that are rounded once, and shorter functions."""
        wide = not net.bytes and net.random.integers(2)
        return check(net, scratch, options + ["--precision", "bf16"] * int(wide))

    wrong = programs.in_turns(args, integers.variants, draw, check_wide)
    programs.say_where_no_registers_are()
    print(f"{args.programs} chains, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
