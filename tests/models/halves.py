#!/usr/bin/env python3
"""halves.py CAMEO [--programs N] [--nodes N] [--seed S] [--variant K]: convolutions of bfloat16, of random shapes, are right.

Each program holds many: windows, strides, dilations, borders, rows and channels around those of tiles of matrix registers. Results
are compared with NumPy in float64: one rounding to bfloat16, and float32's of the sum. Programs take turns in the variants of
integers.py: matrix registers, the same weights where the system does not give them, vectors, plain loops, both compilers,
sanitizers; bits are those of any number of threads.
"""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

import integers
import programs

ROUNDED, SUMMED = 2.0 ** -8, 1e-5  # of the result; of the sum of magnitudes


class Net(programs.Network):
    opsets = {"": 22}

    def __init__(self, random):
        super().__init__(random)
        self.expected = []

    def halves(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(ml_dtypes.bfloat16).astype(np.float64)

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.BFLOAT16, value.shape, value.flatten().tolist()))
        return name

    def convolution(self):
        i, rank = len(self.outputs), int(self.one_of(1, 2, 2, 2))
        c, m = int(self.one_of(1, 3, 8, 16, 17, 24, 64)), int(self.one_of(7, 16, 17, 32, 48, 130, 256))
        taps = [int(self.one_of(1, 1, 2, 3, 3, 5, 7)) for _ in range(rank)]
        strides = [int(self.one_of(1, 1, 2, 3)) for _ in range(rank)]
        dilations = [int(self.one_of(1, 1, 2)) for _ in range(rank)]
        pads = [int(self.random.integers(0, t)) for t in taps + taps]
        least = [(t - 1) * d + 1 for t, d in zip(taps, dilations)]
        size = [int(v + self.one_of(0, 3, 6, 7, 13, 20, 33)) for v in least]
        x = self.halves(int(self.one_of(1, 1, 2)), c, *size)
        w, b = self.halves(m, c, *taps, scale=(c * np.prod(taps)) ** -0.5), self.halves(m)
        sizes = dict(strides=strides, dilations=dilations, pads=pads)
        column = b.reshape([-1] + [1] * rank)
        y = np.maximum(integers.convolved(x, w, 1, strides, dilations, pads) + column, 0)
        scale = integers.convolved(np.abs(x), np.abs(w), 1, strides, dilations, pads) + np.abs(column)
        self.expected.append((f"x {x.shape}, w {w.shape}, {sizes}", y, scale))
        dims = list(x.shape) if self.random.integers(2) else [None, c] + [None] * rank
        self.feeds[f"x{i}"] = x.astype(np.float32)
        self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
        self.nodes += [helper.make_node("Cast", [f"x{i}"], [f"h{i}"], to=TensorProto.BFLOAT16),
                       helper.make_node("Conv", [f"h{i}", self.weight(w), self.weight(b)], [f"c{i}"], **sizes),
                       helper.make_node("Relu", [f"c{i}"], [f"r{i}"]),
                       helper.make_node("Cast", [f"r{i}"], [f"y{i}"], to=TensorProto.FLOAT)]
        self.outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [None] * (rank + 2)))


def compare(net, outputs, options):
    wrong = 0
    for (what, expected, scale), got in zip(net.expected, outputs):
        off = np.abs(got - expected) - ROUNDED * expected - SUMMED * scale if got.shape == expected.shape else np.ones(1)
        if not np.all(off <= 0):
            print(f"{what}: {np.count_nonzero(~(off <= 0))} of {off.size} are wrong, with {options}")
            wrong += 1
    return wrong


def main():
    args = programs.arguments(programs=9, nodes=8)

    def draw(random, _):
        net = Net(random)
        for _ in range(args.nodes):
            net.convolution()
        return net

    wrong = programs.in_turns(args, integers.variants, draw, programs.check_for_any_threads(args.cameo, compare))
    programs.say_where_no_registers_are()
    print(f"{args.programs * args.nodes} convolutions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
