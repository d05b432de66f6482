#!/usr/bin/env python3
"""winograd.py CAMEO [--programs N] [--nodes N] [--seed S]: convolutions by tiles agree with float64.

Convolutions of 3 x 3 windows that move by one or two, of 5 x 5, and of 3 or 5 places in a line, of random sizes, borders, channels, groups and batches, of one plane or several, several in each program. The expected
results are computed by NumPy in float64 from the definition. What is compared is the rms of the difference over the rms of
the result, with what `compile --report json` says of each convolution, and the greatest difference with thirty times as much.
Programs take turns in the size of tiles, the target, fixed and open sizes, the C compiler and the address sanitizer.
"""
import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import contractions
import programs


def exact(x, w, bias, pads, group, step):
    top, left, bottom, right = pads
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    window = w.shape[2:]
    views = np.lib.stride_tricks.sliding_window_view(x, window, axis=(2, 3))[:, :, ::step, ::step]
    n, c, h, v = views.shape[:4]
    views = views.reshape(n, group, c // group, h, v, *window)
    weights = w.astype(np.float64).reshape(group, -1, c // group, *window)
    y = np.einsum("ngchvrs,gkcrs->ngkhv", views, weights, optimize=True).reshape(n, -1, h, v)
    return y if bias is None else y + bias.astype(np.float64).reshape(1, -1, 1, 1)


def exact_planes(x, w, bias, pads, group, step):
    """Each plane of x by itself, where it has planes along a third dim, along which windows are one place."""
    if x.ndim == 4:
        return exact(x, w, bias, pads, group, step)
    n, c, d, *size = x.shape
    y = exact(x.transpose(0, 2, 1, 3, 4).reshape(n * d, c, *size), w[:, :, 0], bias, pads, group, step)
    return y.reshape(n, d, *y.shape[1:]).transpose(0, 2, 1, 3, 4)


class Net(programs.Network):
    opsets = {"": 18}
    ir_version = 9

    def __init__(self, random, open_sizes):
        super().__init__(random)
        self.open_sizes, self.wanted = open_sizes, []

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def weight(self, value):
        self.weights.append(numpy_helper.from_array(value, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def convolution(self):
        i = len(self.inputs)
        group = self.one_of(1, 1, 1, 2)
        inside = self.one_of(8, 9, 16, 31, 32, 64, 255, 256, 257)
        outside = self.one_of(8, 9, 15, 16, 31, 32, 33, 40, 64)
        pads = [self.one_of(0, 1, 1, 1, 2, 5) for _ in range(4)]
        if self.random.integers(2):
            pads = [1] * 4
        if self.random.integers(3) == 0:
            return self.line(group, inside, outside)
        limit = 60 if inside < 64 else 20
        window = self.one_of(3, 3, 5)
        low = [max(1, window - pads[0] - pads[2]), max(1, window - pads[1] - pads[3])]
        size = [int(self.random.integers(low[d], limit)) for d in range(2)]
        if self.random.integers(4) == 0:
            size[1] = int(self.random.integers(low[1], 200))
        step = self.one_of(1, 2) if window == 3 else 1
        if step == 2 and self.random.integers(2):
            size = [max(n, 12) for n in size]
        if self.random.integers(3) == 0:
            size, window = [self.one_of(1, 2, 3, 5), *(n // 2 + low[d] for d, n in enumerate(size))], (1, window, window)
            return self.node(group, inside, outside, size, window, pads, 0, step)
        self.node(group, inside, outside, size, (window, window), pads, 0, step)

    def line(self, group, inside, outside):
        """A window along one dim: of the only one, of the last, or of the first of two."""
        window = self.one_of(3, 5)
        pads = [self.one_of(0, 1, 2, 5), self.one_of(0, 1, 2, 5)]
        low = max(1, window - sum(pads))
        size = int(self.random.integers(low, self.one_of(40, 200, 6000) if inside < 64 else 80))
        across = self.one_of(True, False)
        self.node(group, inside, outside, (1, size) if across else (size, 1), (1, window) if across else (window, 1),
                  [0, pads[0], 0, pads[1]] if across else [pads[0], 0, pads[1], 0], 2 if across else 3)

    def node(self, group, inside, outside, size, window, pads, one, step=1):
        """one: the dim of x that has one place, 0 for none; half of them do without that dim."""
        i = len(self.inputs)
        x, w = self.normal(self.one_of(1, 1, 2), group * inside, *size), self.normal(group * outside, inside, *window)
        w *= np.float32((w[0].size) ** -0.5)
        bias = self.normal(group * outside) if self.random.integers(2) else None
        flat = one and self.random.integers(2)
        want, out = exact_planes(x, w, bias, pads, group, step), f"v{i}"
        if flat:
            x, w, want, pads = x.squeeze(one), w.squeeze(one), want.squeeze(one), [p for d, p in enumerate(pads) if d % 2 != one - 2]
        names = [self.weight(w)] + ([self.weight(bias)] if bias is not None else [])
        steps = {"strides": [step, step]} if step > 1 else {}
        if len(size) == 3:
            pads, steps = [0, *pads[:2], 0, *pads[2:]], {"strides": [1, step, step]}
        self.nodes.append(helper.make_node("Conv", [f"x{i}", *names], [f"v{i}"], pads=pads, group=group, **steps))
        kind = self.random.integers(4)
        if kind == 1:
            self.nodes.append(helper.make_node("Relu", [out], [f"y{i}"]))
            want, out = np.maximum(want, 0), f"y{i}"
        elif kind == 2:
            other = self.normal(*want.shape)
            self.feeds[f"r{i}"] = other
            self.inputs.append(helper.make_tensor_value_info(f"r{i}", TensorProto.FLOAT, other.shape))
            self.nodes.append(helper.make_node("Add", [out, f"r{i}"], [f"y{i}"]))
            want, out = want + other, f"y{i}"
        elif kind == 3:
            self.nodes.append(helper.make_node("Sigmoid", [out], [f"s{i}"]))
            self.nodes.append(helper.make_node("Mul", [out, f"s{i}"], [f"y{i}"]))
            want, out = want / (1 + np.exp(-want)), f"y{i}"
        self.feeds[f"x{i}"] = x
        dims = list(x.shape)
        if self.open_sizes and kind != 2:
            dims = [d if k in (1, one) and not (flat and k == one) else f"x{i}_{k}" for k, d in enumerate(dims)]
        self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
        self.outputs.append(helper.make_tensor_value_info(out, TensorProto.FLOAT, None))
        self.wanted.append((want, inside))


def compare(net, outputs, forms):
    """The greatest error, as a share of the one that is told of its convolution, and how many are wrong."""
    plain = {"tile": 0, "error_rms": 2e-6}  # a few places are computed by loops
    failed, worst = 0, 0.0
    for output, got, (want, inside) in zip(net.outputs, outputs, net.wanted):
        form = forms.get(output.name, plain)
        if form.get("form") == "terms" and not programs.has_flag("amx_bf16"):  # tiles of float32 instead
            form = {**form, "error_rms": max(form["error_rms"], 2.0 ** -24 * (2 + inside ** 0.5))}
        scale = np.sqrt(np.mean(want ** 2))
        rms, most = np.sqrt(np.mean((got - want) ** 2)) / scale, np.max(np.abs(got - want)) / scale
        bound = form["error_rms"]
        worst = max(worst, rms / bound)
        if not (rms <= bound and most <= 30 * bound):
            print(f"{output.name} {want.shape} of {inside} channels: rms {rms:.1e}, greatest {most:.1e}; {form}")
            failed += 1
    return worst, failed


def variants(scratch):
    fast = [v for v in contractions.variants(scratch) if "--no-override" not in v]
    return [["--winograd", size, *v] for size, v in zip("4 2 4 auto 4 2 4 auto".split(), fast + fast)]


def main():
    args = programs.arguments(programs=3, nodes=8)

    def draw(random, i):
        net = Net(random, open_sizes=i % 3 == 2)
        for _ in range(args.nodes):
            net.convolution()
        return net

    def check(net, scratch, options):
        told = programs.build(args.cameo, net, scratch, ["--report", "json", *options])
        forms = {f["output"]: f for f in json.loads(told)["convolutions"]}
        worst, failed = compare(net, programs.run(net, scratch), forms)
        tiles = sum(f["tile"] > 0 for f in forms.values())
        print(f"{len(net.outputs)} nodes, {tiles} by tiles, {' '.join(options)}: at most {worst:.2f} of the error told, "
              f"{failed} fail", flush=True)
        return np.array([len(net.outputs), tiles, failed])

    total, tiled, failures = programs.in_turns(args, variants, draw, check)
    print(f"{total} convolutions, {tiled} by tiles, {failures} fail")
    return 1 if failures or not args.rows and tiled < total // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
