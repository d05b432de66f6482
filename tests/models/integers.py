#!/usr/bin/env python3
"""integers.py CAMEO [--programs N] [--seed S]: quantised products and convolutions of random shapes are exact.

Each program holds many small nodes of all forms (MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv), sizes around those
of tiles, zero points and signs of every kind. Sums are compared bit by bit with int64 in NumPy, what is requantised with the
schema's formula in float32. Programs take turns in their target (native, x86-64-v2, v3, v4), with and without matrix
registers, plain loops, the C compiler and the address and undefined-behaviour sanitizers. All run with one thread and
with three that share whatever can be shared.
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import programs


class Net(programs.Network):
    def __init__(self, random):
        super().__init__(random)
        self.expected = []

    def size(self):
        return int(self.one_of(1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 47, 48, 49, 50, 64, 97, 200))

    def bytes(self, dtype, *shape):
        edge = np.iinfo(dtype)
        return self.random.integers(edge.min, edge.max, shape, dtype, endpoint=True)

    def gathered(self, dtype, *shape):
        """Most of them near the middle, as weights are, so that few sums of neighbours are large; some are greatest."""
        edge = np.iinfo(dtype)
        middle = (int(edge.min) + int(edge.max) + 1) / 2
        spread = self.random.normal(middle, self.one_of(10, 30), shape)
        spread[self.random.random(shape) < 0.01] = edge.max
        return np.clip(np.rint(spread), edge.min, edge.max).astype(dtype)

    def narrowed(self, x):
        """x [n, c, ...] whose channels lie between bounds of their own, as activations do."""
        edge, shape = np.iinfo(x.dtype), (1, x.shape[1]) + (1,) * (x.ndim - 2)
        width = self.random.integers(0, self.one_of(16, 100, 256), shape)
        low = self.random.integers(0, 256 - width) if self.random.integers(2) else np.zeros(shape, np.int64)
        return (edge.min + low + (x.astype(np.int64) - edge.min) % (width + 1)).astype(x.dtype)

    def input(self, value):
        name = f"x{len(self.inputs)}"
        self.feeds[name] = value
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        return name

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, inputs, expected, **attributes):
        name = f"y{len(self.outputs)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(expected.dtype),
                                                          expected.shape))
        self.expected.append((f"{op} {expected.shape} {attributes}", expected))

    def zero(self, dtype, *shape):
        kind = self.random.integers(3)
        if kind == 0:
            return np.full(shape, 128 if dtype == np.uint8 else 0, dtype)
        return self.bytes(dtype, *shape)

    def requantised(self, sums, scale, zero):
        """saturate(round(sum * scale) + zero) as the schema says, every step in float32."""
        edge = np.iinfo(zero.dtype)
        y = np.rint(sums.astype(np.float32) * scale) + np.float32(zero)
        return np.clip(y, edge.min, edge.max).astype(zero.dtype)

    def product(self):
        m, n, k = self.size(), self.size(), int(self.one_of(4, 5, 6, 7, 8, 30, 65, 200, 1030, 1100))
        ta, tb = self.one_of(np.uint8, np.int8), self.one_of(np.uint8, np.int8)
        batch = self.one_of((), (), (2,))
        a, b = self.bytes(ta, *batch, m, k), (self.bytes if self.random.integers(2) else self.gathered)(tb, k, n)
        if self.random.integers(2):
            a[..., self.random.random(k) < 0.5] = np.iinfo(ta).max
        za, zb = self.zero(ta), self.zero(tb, *self.one_of((), (n,)))
        sums = (a.astype(np.int64) - za.astype(np.int64)) @ (b.astype(np.int64) - zb.astype(np.int64))
        za = self.input(za) if self.random.integers(3) == 0 else self.weight(za)
        if self.random.integers(2):
            self.add("MatMulInteger", [self.input(a), self.weight(b), za, self.weight(zb)], sums.astype(np.int32))
            return
        sa, sb, sy = (np.float32(self.random.uniform(0.5, 2)) for _ in range(3))
        sy *= np.float32(k ** 0.5 * 40)
        zy = self.bytes(ta)
        y = self.requantised(sums, sa * sb / sy, zy)
        if zb.ndim:
            sb = np.full(zb.shape, sb)
        self.add("QLinearMatMul", [self.input(a), self.weight(sa), za, self.weight(b), self.weight(sb), self.weight(zb),
                                   self.weight(sy), self.weight(zy)], y)

    def convolution(self):
        rank, group = int(self.one_of(1, 2, 2, 2, 3)), int(self.one_of(1, 1, 1, 2, 3))
        c, m = int(self.one_of(1, 2, 3, 4, 5, 8, 13, 64, 100)), int(self.one_of(1, 2, 7, 8, 9, 17, 40, 72))
        if rank < 3 and c == 1 and self.random.integers(2):
            group, m = int(self.one_of(2, 8, 19)), 1
        taps = [int(self.one_of(1, 2, 3, 3, 5)) for _ in range(rank)]
        strides = [int(self.one_of(1, 1, 1, 2, 3)) for _ in range(rank)]
        dilations = [int(self.one_of(1, 1, 1, 2)) for _ in range(rank)]
        pads = [int(self.random.integers(0, t)) for t in taps + taps]
        least = [(t - 1) * d + 1 for t, d in zip(taps, dilations)]
        size = [int(v + self.one_of(0, 3, 6, 7, 13, 20, 50 if rank < 3 else 8)) for v in least]
        tx, tw = self.one_of(np.uint8, np.int8), self.one_of(np.uint8, np.int8)
        x = self.bytes(tx, int(self.one_of(1, 1, 2)), group * c, *size)
        if self.random.integers(2):
            x = self.narrowed(x)
        w = (self.bytes if self.random.integers(2) else self.gathered)(tw, group * m, c, *taps)
        zx, per_row = self.zero(tx), self.random.integers(2)
        zw = self.zero(tw, *((group * m,) if per_row else ()))
        if self.random.integers(2):
            zw = np.full(zw.shape, 128 if tw == np.uint8 else 0, tw)
        sums = convolved(x.astype(np.int64) - int(zx), w.astype(np.int64) - zw.astype(np.int64).reshape([-1] + [1] * (rank + 1)),
                         group, strides, dilations, pads)
        shape = dict(strides=strides, dilations=dilations, pads=pads, group=group)
        if self.random.integers(2):
            zx = self.input(zx) if self.random.integers(3) == 0 else self.weight(zx)
            self.add("ConvInteger", [self.input(x), self.weight(w), zx, self.weight(zw)], sums.astype(np.int32), **shape)
            return
        sx, sy = (np.float32(self.random.uniform(0.5, 2)) for _ in range(2))
        sw = self.random.uniform(0.5, 2, zw.shape).astype(np.float32)
        sy *= np.float32((c * np.prod(taps)) ** 0.5 * 40)
        zy, bias = self.bytes(tx), self.random.integers(-9999, 9999, group * m, np.int32)
        scale = (sx * sw / sy).reshape([-1] + [1] * rank)
        y = self.requantised(sums + bias.reshape([-1] + [1] * rank), scale, zy)
        self.add("QLinearConv", [self.input(x), self.weight(sx), self.weight(zx), self.weight(w), self.weight(sw),
                                 self.weight(zw), self.weight(sy), self.weight(zy), self.weight(bias)], y, **shape)


def convolved(x, w, group, strides, dilations, pads):
    rank = len(strides)
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pads[:rank], pads[rank:])))
    taps, per = w.shape[2:], w.shape[0] // group
    out = [(x.shape[2 + i] - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    y = np.zeros([x.shape[0], w.shape[0], *out], x.dtype)
    for t in np.ndindex(*taps):
        at = tuple(slice(t[i] * dilations[i], t[i] * dilations[i] + (out[i] - 1) * strides[i] + 1, strides[i])
                   for i in range(rank))
        for g in range(group):
            part = x[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1]), *at)]
            rows = w[(slice(g * per, (g + 1) * per), slice(None), *t)]
            y[:, g * per:(g + 1) * per] += np.moveaxis(np.tensordot(rows, part, (1, 1)), 0, 1)
    return y


def variants(scratch):
    x86, clang, checked = programs.X86, programs.clang(), programs.sanitized(scratch)
    # As on a system that does not give the matrix registers away: what is packed for them is multiplied by vectors.
    without = programs.compiler(scratch, "without_registers", "gcc -U__linux__")
    return [["--cpu", "native"], ["--cpu", "x86-64-v3"] if x86 else [], ["--cpu", "x86-64"] if x86 else [],
            ["--cpu", "x86-64-v2"] if x86 else [], ["--no-override"],
            ["--cpu", "native", "--cc", clang], ["--cpu", "x86-64-v3", "--cc", clang] if x86 else [],
            ["--cpu", "x86-64-v4"] if x86 and programs.has_flag("avx512bw") else [],
            ["--cpu", "native", "--cc", without]] + ([["--cpu", "native", "--cc", checked]] if checked else [])


def compare(net, outputs, options):
    wrong = 0
    for (what, expected), got in zip(net.expected, outputs):
        # A requantised sum may lie on the other side of a tie: the formula's products are not ordered by the schema.
        allowed = 0 if expected.dtype == np.int32 else 1
        off = np.abs(got.astype(np.int64) - expected)
        if off.max(initial=0) > allowed or np.count_nonzero(off) > 0.001 * off.size + (1 if allowed else 0):
            print(f"{what}: {np.count_nonzero(off)} of {off.size} differ, at most by {off.max()}, with {options}")
            wrong += 1
    return wrong


def main():
    args = programs.arguments(programs=10, nodes=15)

    def draw(random, _):
        net = Net(random)
        for _ in range(args.nodes):
            net.convolution() if net.random.integers(2) else net.product()
        return net

    wrong = programs.in_turns(args, variants, draw, programs.check_for_any_threads(args.cameo, compare))
    print(f"{args.programs * args.nodes} nodes in {args.programs} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
