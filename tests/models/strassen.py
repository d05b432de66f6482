#!/usr/bin/env python3
"""strassen.py CAMEO [--programs N] [--nodes N] [--seed S]: convolutions in seven products for eight agree with float64.

Convolutions of many channels, of windows of 1 x 1, 3 x 3 and 1 x 5, strides, borders, groups and batches, several in each
program, some beside the sizes from which on the form is taken. The expected results are computed by NumPy in float64 from
the definition. What is compared is the rms of the difference over the rms of the result, with what `compile --report json`
says of each convolution, and the greatest difference with thirty times as much; each program gives the same bits with one
thread and with three. Programs take turns in the target, the C compiler and the address sanitizer.
"""
import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import contractions
import programs
import winograd


class Net(programs.Network):
    opsets = {"": 18}
    ir_version = 9

    def __init__(self, random):
        super().__init__(random)
        self.wanted = []

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def weight(self, value):
        self.weights.append(numpy_helper.from_array(value, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def convolution(self):
        i = len(self.inputs)
        group = self.one_of(1, 1, 1, 2)
        window = self.one_of((1, 1), (1, 1), (1, 1), (3, 3), (1, 5))
        stride = self.one_of(1, 2) if window != (1, 1) else 1
        inside = self.one_of(64, 68, 128, 200, 256, 260, 320, 512, 600)
        inside = inside // window[0] // 4 * 4
        outside = self.one_of(16, 128, 192, 208, 256, 264, 384, 400, 512)
        pads = [self.one_of(0, 1, 2) * (w > 1) for w in window * 2]
        size = [int(self.random.integers(10, 36)) for _ in range(2)]
        if window != (1, 1) and stride == 1 and window[0] == 3:
            stride = 2  # else Winograd's
        self.node(i, group, inside, outside, size, window, pads, stride)

    def node(self, i, group, inside, outside, size, window, pads, stride):
        x, w = self.normal(self.one_of(1, 1, 2), group * inside, *size), self.normal(group * outside, inside, *window)
        x += np.float32(self.one_of(0, 0, 1))
        w *= np.float32((w[0].size) ** -0.5)
        bias = self.normal(group * outside) if self.random.integers(2) else None
        want, out = winograd.exact(x, w, bias, pads, group, stride), f"v{i}"
        names = [self.weight(w)] + ([self.weight(bias)] if bias is not None else [])
        self.nodes.append(helper.make_node("Conv", [f"x{i}", *names], [out], pads=pads, group=group, strides=[stride] * 2))
        kind = self.random.integers(5)
        if kind in (2, 3):
            other = self.normal(*want.shape)
            self.feeds[f"r{i}"] = other
            self.inputs.append(helper.make_tensor_value_info(f"r{i}", TensorProto.FLOAT, other.shape))
            self.nodes.append(helper.make_node("Add", [out, f"r{i}"], [f"a{i}"]))
            want, out = want + other, f"a{i}"
        if kind in (1, 2):
            self.nodes.append(helper.make_node("Relu", [out], [f"y{i}"]))
            want, out = np.maximum(want, 0), f"y{i}"
        elif kind == 4:
            self.nodes.append(helper.make_node("Sigmoid", [out], [f"s{i}"]))
            self.nodes.append(helper.make_node("Mul", [out, f"s{i}"], [f"y{i}"]))
            want, out = want / (1 + np.exp(-want)), f"y{i}"
        self.feeds[f"x{i}"] = x
        self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, x.shape))
        self.outputs.append(helper.make_tensor_value_info(out, TensorProto.FLOAT, None))
        self.wanted.append((want, inside))


def variants(scratch):
    targets = [["--cpu", "x86-64-v4"]] if programs.X86 and programs.has_flag("avx512dq") else []
    fast = [v for v in contractions.variants(scratch) if "--no-override" not in v]
    return [*targets, *fast, *([[*targets[0], "--cc", "clang-19"]] if targets else [])]


def main():
    args = programs.arguments(programs=6, nodes=6)

    def draw(random, i):
        net = Net(random)
        for _ in range(args.nodes):
            net.convolution()
        return net

    def check(net, scratch, options):
        told = programs.build(args.cameo, net, scratch, ["--report", "json", "--grain", "1", *options])
        forms = {f["output"]: f for f in json.loads(told)["convolutions"]}
        outputs, others = programs.differ_by_threads(net, scratch, options)
        worst, failed = winograd.compare(net, outputs, forms)
        sevens = sum(f["form"] == "Strassen" for f in forms.values())
        print(f"{len(net.outputs)} nodes, {sevens} in seven products for eight, {' '.join(options)}: at most {worst:.2f} of the "
              f"error told, {failed} fail, {others} by threads", flush=True)
        return np.array([len(net.outputs), sevens, failed + others])

    total, sevens, failures = programs.in_turns(args, variants, draw, check)
    print(f"{total} convolutions, {sevens} in seven products for eight, {failures} fail")
    lanes = programs.X86 and programs.has_flag("avx2")
    return 1 if failures or (lanes and not args.rows and sevens < total // 4) else 0


if __name__ == "__main__":
    sys.exit(main())
