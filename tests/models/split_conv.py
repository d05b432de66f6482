#!/usr/bin/env python3
"""split_conv.py CAMEO [--programs N] [--nodes N] [--seed S] [--apart]: convolutions of float32 by three terms of bfloat16 agree with float64.

Convolutions of random channels, windows, steps, groups and batches, several in each program, each followed by what the program may
join to it: normal factors, factors of many magnitudes, tiny ones. Expected are NumPy's sums in float64, bounds those of split.py:
2^-24 of the sum of |x||w|, beside the same program with --no-split, and what `compile --report json` says. Places that a window
reaches of an infinity, a NaN or float32's greatest number are those of --no-split but for their roundings. Bits are those of any
number of threads. Without matrix registers both are tiles of float32, and the last line says so.
"""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import split

# A row for which terms are always expected to be quicker, so that small shapes and odd ones go by them too.
ROW = """PROCESSOR(" terms ", .lanes = 16, .squares = 1, .products = 1, .moves = 16, .bytes = 64, .direct = 0.05, .transformed = 0.05,
          .second = 2097152, .halves = 1, .split = 80, .terms = 64)
"""


class Convolution:
    """y{i} of x{i}: places by what a window reaches of x, that by rows of y, for each image and group."""

    def __init__(self, random, i):
        self.kind = str(random.choice(["normal", "normal", "graded", "tiny", "special"]))
        side, stride = int(random.choice([1, 1, 3])), int(random.integers(1, 3))
        self.images, self.groups = int(random.choice([1, 1, 2])), int(random.choice([1, 1, 1, 2]))
        channels, rows = int(random.integers(24, 1400 // side**2 + 24)), int(random.integers(16, 300))
        height, width = (int(random.integers(9, 40)) * stride for _ in range(2))
        factor, many = "graded" if self.kind == "graded" else "normal", self.images * self.groups
        self.x = split.factors(random, self.kind, many * channels, height * width, 1)[0]
        self.x = self.x.reshape(self.images, self.groups * channels, height, width)
        w = split.factors(random, factor, 1, channels * side**2, self.groups * rows)[1]
        self.bias = np.zeros(self.groups * rows, np.float32)
        self.weights = [numpy_helper.from_array(np.ascontiguousarray(w.T).reshape(self.groups * rows, channels, side, side), f"w{i}"),
                        numpy_helper.from_array(self.bias, f"b{i}")]
        self.added = bool(random.integers(2)) and self.kind != "special"
        self.nodes = [helper.make_node("Conv", [f"x{i}", f"w{i}", f"b{i}"], [f"c{i}" if self.added else f"y{i}"],
                                       pads=[side // 2] * 4, strides=[stride] * 2, group=self.groups)]
        if self.added:  # zeros are added, which leaves sums alone and goes through a convolution's end
            self.nodes.append(helper.make_node("Add", [f"c{i}", f"z{i}"], [f"y{i}"]))
        padded = np.pad(self.x, [(0, 0), (0, 0), (side // 2,) * 2, (side // 2,) * 2])
        views = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(2, 3))[:, :, ::stride, ::stride]
        self.down, self.across = views.shape[2:4]
        self.rows, self.shape = rows, [self.images, self.groups * rows, self.down, self.across]
        views = views.reshape(self.images, self.groups, channels, self.down, self.across, side**2)
        self.places = views.transpose(0, 1, 3, 4, 2, 5).reshape(many, self.down * self.across, -1)
        self.w = w.reshape(-1, self.groups, rows).transpose(1, 0, 2)
        self.name = f"y{i} {self.kind} {self.groups}x{rows}x{channels}x{side}x{side} by {stride}, {self.images}x{self.down}x{self.across}"

    def pieces(self, *results):
        """For each image and group its factors and results, places by rows."""
        turned = [y.reshape(self.images * self.groups, self.rows, -1).transpose(0, 2, 1) for y in results]
        for n in range(self.images * self.groups):
            yield self.places[n], self.w[n % self.groups], *(y[n] for y in turned)


def program(random, nodes, _):
    all = [Convolution(random, i) for i in range(nodes)]
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, c.x.shape) for i, c in enumerate(all)]
    inputs += [helper.make_tensor_value_info(f"z{i}", TensorProto.FLOAT, c.shape) for i, c in enumerate(all) if c.added]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(nodes)]
    graph = helper.make_graph([n for c in all for n in c.nodes], "convolutions", inputs, outputs, [w for c in all for w in c.weights])
    data = {f"x{i}": c.x for i, c in enumerate(all)} | {f"z{i}": np.zeros(c.shape, np.float32) for i, c in enumerate(all) if c.added}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), [(c.name, c) for c in all], data


def bounds_of(report):
    return {c["output"]: c["error_rms"] for c in report["convolutions"] if c["form"] == "terms"}


def check(name, c, terms, plain, bound):
    faults = []
    if c.kind == "special":
        near = [~(np.abs(places) < 1e38).all(axis=1) for places in c.places]
        for n, (places, w, *both) in enumerate(c.pieces(terms, plain)):
            with np.errstate(invalid="ignore"):
                if not np.allclose(*(y[near[n]] for y in both), rtol=1e-5, atol=0, equal_nan=True):
                    faults.append(f"{name}: not what tiles of float32 give where x is not finite")
            far = [y[~near[n]] for y in both]
            faults += split.check(name, ("normal", places[~near[n]], w), *far, None) if len(far[0]) else []
        return faults
    places, w, both = [], [], []
    for piece in c.pieces(terms, plain):
        places, w, both = [*places, piece[0]], [*w, piece[1]], [*both, piece[2:]]
    for n in range(len(places)):
        faults += split.check(name, (c.kind, places[n], w[n]), *both[n], bound)
    return faults


def main():
    with tempfile.TemporaryDirectory() as folder:
        row = pathlib.Path(folder, "row.def")
        row.write_text(ROW)
        tuned = ["--no-winograd", "--tuning", str(row)]
        turns = [tuned, ["--cc", "clang-19", *tuned], ["--no-winograd", "--cpu", "x86-64-v3,native"], ["--no-winograd"]]
        return split.hold(__doc__, "convolutions", program, turns, bounds_of, check)


if __name__ == "__main__":
    sys.exit(main())
