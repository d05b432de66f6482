#!/usr/bin/env python3
"""pixel_winograd.py CAMEO [--programs N] [--nodes N] [--seed S]: convolutions in pixels of bfloat16 by tiles agree with float64.

A program is several branches: a convolution by single places makes a value of bfloat16, which is an output too, and one of 3 x 3 that
moves by one or two reads it, with what may follow: Relu, a clip, a residual with a factor for each channel or without, SiLU. A third one, of weights 1 and 0, makes an
output of that, so that it lies in pixels too. What the second one gives is
computed by NumPy in float64 from the first one's output and the weights as bfloat16 has them, so that it alone is judged: sums are off
by what `compile --report json` says (`error_rms`) of their rms, what follows makes at most 1.1 times as much of that (SiLU's slope),
and what is stored is rounded once, or twice where a residual is added by a kernel of its own. The greatest error may be eight times the rms one. Sizes are odd and even, images smaller than a tile
and larger than a block of them, channels fill pixels or do not. Bits are those of 1, 2 and 3 threads.
"""
import json
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import programs
from winograd import exact

SLOPE, ROUNDED = 1.1, 2.0 ** -8  # the greatest of SiLU; half a unit of bfloat16's last place over the number
MOST = 8
FORM = "F(2x2,3x3)"
WORDS = "x86-64-v4+avx512vnni+avx512bf16"  # also where there are matrix registers, whose form is the direct one


def has_words():
    return programs.has_flag("avx512_bf16") and programs.has_flag("avx512_vnni")


def narrow(value):
    return value.astype(ml_dtypes.bfloat16).astype(np.float64)


class Net(programs.Network):
    opsets = {"": 22}

    def __init__(self, random):
        super().__init__(random)
        self.checks = []

    def normal(self, *shape, scale=1.0):
        return narrow(self.random.standard_normal(shape) * scale)

    def weight(self, value):
        self.weights.append(numpy_helper.from_array(value.astype(np.float32), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def output(self, name):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        return len(self.outputs) - 1

    def places(self, x, inside, outside, stride=1):
        w = self.normal(outside, inside, 1, 1, scale=inside ** -0.5)
        return self.node("Conv", x, self.weight(w), strides=[stride] * 2)

    def branch(self):
        n, few, i = self.one_of(1, 1, 2), int(self.one_of(32, 64)), len(self.inputs)
        inside, outside = (int(self.one_of(16, 24, 32, 40, 48, 64, 96, 160)) for _ in range(2))
        h, w = (int(self.one_of(3, 4, 5, 7, 8, 14, 15, 28, 31)) for _ in range(2))
        pads = [int(self.random.integers(0, 3)) for _ in range(4)] if self.random.integers(3) == 0 else [1] * 4
        stride = int(self.one_of(1, 1, 2))
        self.feeds[f"x{i}"] = self.normal(n, few, h, w).astype(np.float32)
        dims = [n, few, h, w] if self.random.integers(2) else [f"N{i}", few, h, w]
        self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
        x = self.places(f"x{i}", few, inside)
        window = self.normal(outside, inside, 3, 3, scale=(9 * inside) ** -0.5)
        bias = self.normal(outside) if self.random.integers(2) else None
        y = self.node("Conv", x, self.weight(window), *([self.weight(bias)] if bias is not None else []), pads=pads,
                      strides=[stride] * 2)
        sums = y
        what, added, by = self.random.integers(6), None, None
        if what == 4 or (what == 5 and h + pads[0] + pads[2] == h + 2 and w + pads[1] + pads[3] == w + 2):
            s = self.node("Sigmoid", y)
            y = self.node("Mul", y, s)
        if what in (2, 3, 5) and pads[0] + pads[2] == pads[1] + pads[3] == 2:
            added = self.places(f"x{i}", few, outside, stride)
            other = added
            if what == 3:
                by = self.normal(outside, 1, 1)
                other = self.node("Mul", added, self.weight(by))
            y = self.node("Add", y, other)
        if what in (1, 2):
            y = self.node("Relu", y)
        elif what == 3:
            y = self.node("Clip", y, self.weight(np.float64(-0.5)), self.weight(np.float64(0.75)))
        last = self.node("Conv", y, self.weight(np.eye(outside).reshape(outside, outside, 1, 1)))
        self.checks.append({"x": self.output(x), "y": self.output(last), "name": y, "added": self.output(added) if added else None, "by": by,
                            "window": window, "bias": bias, "pads": pads, "stride": stride, "what": what, "silu": y != sums and what in (4, 5)})

    def expected(self, check, outputs):
        sums = exact(outputs[check["x"]], check["window"], None, check["pads"], 1, check["stride"])
        y = sums if check["bias"] is None else sums + check["bias"].reshape(-1, 1, 1)
        if check["silu"]:
            y = y / (1 + np.exp(-y))
        before = y if check["added"] is not None else 0 * y
        if check["added"] is not None:
            y = y + outputs[check["added"]] * (1 if check["by"] is None else check["by"])
        if check["what"] in (1, 2):
            y = np.maximum(y, 0)
        elif check["what"] == 3:
            y = np.clip(y, -0.5, 0.75)
        return sums, y, np.abs(y) + np.abs(before)


def rms(x):
    return np.sqrt(np.mean(x * x))


def compare(net, outputs, errors, options):
    wrong = 0
    for check in net.checks:
        sums, y, stored = net.expected(check, outputs)
        off = np.abs(outputs[check["y"]] - y)
        bound = SLOPE * errors.get(check["name"], 1e-6) * rms(sums)  # of a few places sums are loops
        if not (rms(off) <= bound + ROUNDED / 2 * rms(stored) and np.all(off <= MOST * bound + ROUNDED * stored)):
            print(f"{net.outputs[check['y']].name} {y.shape} {check['window'].shape} {check['pads']} {check['stride']} {check['what']}: rms {rms(off):.1e}, "
                  f"greatest {off.max():.1e}, allowed {bound:.1e} and {ROUNDED / 2 * rms(stored):.1e}, with {options}")
            wrong += 1
    return wrong


def variants(scratch):
    clang, checked = programs.clang(), programs.sanitized(scratch)
    without = programs.compiler(scratch, "without_words", "gcc -U__linux__")
    kinds = [[], ["--cc", clang], ["--cc", without], ["--cc", programs.compiler(scratch, "O1", "gcc -O1")]]
    return kinds + ([["--cc", checked]] if checked else [])


def main():
    args = programs.arguments(programs=10, nodes=4)
    tiled = [0]

    def draw(random, i):
        net = Net(random)
        for _ in range(args.nodes):
            net.branch()
        return net

    def check(net, scratch, options):
        how = ["--cpu", WORDS] if has_words() else []
        how += ["--winograd", "2"] if net.random.integers(4) else []
        options = ["--precision", "bf16", "--report", "json", "--grain", "1", *how, *options]
        forms = json.loads(programs.build(args.cameo, net, scratch, options))["convolutions"]
        tiled[0] += sum(f["form"] == FORM and f["layout"] == "pixels" for f in forms)
        errors = {f["output"]: f["error_rms"] for f in forms}
        one, others = programs.differ_by_threads(net, scratch, options)
        two = programs.run(net, scratch, 2)
        others += sum(a.tobytes() != b.tobytes() for a, b in zip(one, two))
        return compare(net, [o.astype(np.float64) for o in one], errors, options) + others

    wrong = programs.in_turns(args, variants, draw, check)
    print(f"{args.programs * args.nodes} branches in {args.programs} programs, {tiled[0]} by tiles in pixels, {wrong} wrong")
    if has_words() and not tiled[0]:
        print("none was computed by tiles")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
