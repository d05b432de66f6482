#!/usr/bin/env python3
"""contractions.py CAMEO [--programs N] [--seed S]: convolutions and products of random shapes agree with onnxruntime.

Many small nodes go into each program: windows, constant or computed, strides, dilations, borders, groups, ranks, batches and sizes around those of
tiles, transposed ones, each with something behind it that may become its epilogue; and mobile networks' three convolutions in a row. Programs
take turns in their target (native, AVX2, several in one program), plain loops, the C compiler, fixed and open sizes, and the
address sanitizer. What is compared is the greatest difference of a tensor, over its greatest element; bits are those of any
number of threads.
"""
import shutil
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import programs


class Net(programs.Network):
    opsets = {"": 18}
    ir_version = 9

    def __init__(self, random, open_sizes):
        super().__init__(random)
        self.open_sizes = open_sizes

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.feeds[name] = self.normal(*shape)
        dims = [f"{name}_{i}" for i in range(len(shape))] if self.open_sizes else list(shape)
        if self.open_sizes and len(shape) > 2:
            dims[1] = shape[1]
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        scale = np.float32(max(1, np.prod(shape[1:])) ** -0.5)  # sums stay near one
        self.weights.append(numpy_helper.from_array(scale * self.normal(*shape), name))
        return name

    def windows(self, *shape):
        """Weights of a convolution, which may be computed."""
        if self.random.integers(4):
            return self.weight(*shape)
        name = f"x{len(self.inputs)}"
        self.feeds[name] = np.float32(max(1, np.prod(shape[1:])) ** -0.5) * self.normal(*shape)
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def size(self):
        return int(self.one_of(1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 47, 48, 49, 50, 64, 97, 200))

    def epilogue(self, v, channels, rank):
        kind = self.random.integers(11)
        if kind == 1:
            v = self.add("Relu", v)
        elif kind == 2:
            v = self.add("Mul", v, self.add("Sigmoid", v))
        elif kind == 3:
            v = self.add("Tanh", self.add("Add", v, self.weight(channels, *[1] * (rank - 2)) if rank > 2 else
                                          self.weight(channels)))
        elif kind == 4:
            v = self.add("Add", v, self.add("Abs", v))
        elif kind > 8:
            v = self.curved(v)
            v = self.add("Add", self.add("Identity", self.add("Sin", v)), v) if kind == 9 else v
        elif kind > 4 and rank > 2:
            v = self.normalized(v, channels, kind)
        self.outputs.append(helper.make_tensor_value_info(v, TensorProto.FLOAT, None))

    def normalized(self, v, channels, kind):
        """What becomes part of the tiles: a normalisation, a clip, what is added."""
        spread = numpy_helper.from_array(np.abs(self.normal(channels)) + np.float32(0.5), f"w{len(self.weights)}")
        self.weights.append(spread)
        if kind != 7:
            v = self.add("BatchNormalization", v, self.weight(channels), self.weight(channels), self.weight(channels),
                         spread.name)
        if kind == 8:
            v = self.add("Add", self.add("Identity", self.add("Sin", v)), v)
        elif kind > 5:
            low, high = (numpy_helper.from_array(np.float32(x), f"w{len(self.weights) + i}") for i, x in enumerate((-0.3, 1)))
            self.weights += [low, high]
            v = self.add("Clip", v, low.name, high.name)
        return v

    def image(self, batch, channels, space):
        """What a convolution reads; channels may lie last."""
        if self.random.integers(4):
            return self.input(batch, channels, *space)
        last = len(space) + 1
        return self.add("Transpose", self.input(batch, *space, channels), perm=[0, last, *range(1, last)])

    def convolution(self):
        rank = int(self.one_of(1, 2, 2, 2, 2, 3))
        window = [int(self.one_of(1, 1, 2, 3, 3, 3, 5, 7, 9)) for _ in range(rank)]
        if self.random.integers(3):
            window = [window[0]] * rank
        stride = [int(self.one_of(1, 1, 1, 2, 3)) for _ in range(rank)]
        if self.random.integers(2):
            stride = [stride[0]] * rank
        dilation = [int(self.one_of(1, 1, 1, 2, 3)) for _ in range(rank)]
        reach = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
        limit = {1: 300, 2: 40, 3: 12}[rank]
        space = [int(r + self.random.integers(limit)) for r in reach]
        pads = [int(self.random.integers(min(r, 4))) if self.random.integers(2) else 0 for r in reach + reach]
        group = int(self.one_of(1, 1, 1, 2, 3, 5, 16))
        inside, outside = int(self.one_of(1, 1, 2, 3, 8, 17)), int(self.one_of(1, 1, 2, 3, 7, 8, 9, 20))
        if group == 1:
            some = lambda: self.random.integers(1, 98)
            inside, outside = int(self.one_of(1, 3, 4, 16, 31, 64, some())), int(self.one_of(1, 5, 8, 12, 16, 30, 70, some()))
        elif self.random.integers(2):
            inside = outside = 1
        batch = int(self.one_of(1, 1, 1, 2, 3))
        x, w = self.image(batch, group * inside, space), self.windows(group * outside, inside, *window)
        bias = [self.weight(group * outside)] if self.random.integers(2) else []
        v = self.add("Conv", x, w, *bias, strides=stride, dilations=dilation, pads=pads, group=group)
        if self.random.integers(4) == 0 and not self.open_sizes:
            out = [(n + a + b - r) // t + 1 for n, a, b, r, t in
                   zip(space, pads[:rank], pads[rank:], reach, stride)]
            v = self.add("Relu", self.add("Add", v, self.input(batch, group * outside, *out)))
        self.epilogue(v, group * outside, rank + 2)

    def transposed(self):
        """Windows that overlap, touch, leave places that none reaches; strides that divide them and others."""
        rank = int(self.one_of(1, 2, 2, 2, 3))
        stride = [int(self.one_of(1, 2, 2, 3, 4)) for _ in range(rank)]
        window = [int(self.one_of(1, 2, 3, 4, 5, s)) for s in stride]
        if self.random.integers(2):
            window, stride = [int(self.one_of(2, 3, 4))] * rank, [2] * rank
        if self.random.integers(4) == 0:
            window = stride
        dilation = [int(self.one_of(1, 1, 1, 1, 2, 3)) for _ in range(rank)]
        space = [int(self.random.integers(2, {1: 200, 2: 24, 3: 9}[rank])) for _ in range(rank)]
        reach = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
        pads = [int(self.random.integers(min(r, 3))) if self.random.integers(2) else 0 for r in reach + reach]
        more = [int(self.random.integers(s)) if self.random.integers(3) == 0 else 0 for s in stride]
        sized = {"pads": pads, "output_padding": more}
        if self.random.integers(5) == 0 and not self.open_sizes and all(r >= s for r, s in zip(reach, stride)):
            sized = self.one_of({"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"},
                                {"output_shape": [n * s for n, s in zip(space, stride)]})
        group = int(self.one_of(1, 1, 1, 2, 4))
        inside, outside = int(self.one_of(1, 3, 8, 24)), int(self.one_of(1, 3, 8, 20))
        x = self.image(int(self.one_of(1, 1, 2)), group * inside, space)
        bias = [self.weight(group * outside)] if self.random.integers(2) else []
        v = self.add("ConvTranspose", x, self.windows(group * inside, outside, *window), *bias, strides=stride,
                     dilations=dilation, group=group, **sized)
        self.epilogue(v, group * outside, rank + 2)

    def chain(self):
        """1 x 1 to more channels, planes by their own windows, 1 x 1 to fewer, functions between them; the first may be missing."""
        inside, outside = int(self.one_of(8, 16, 24, 30)), int(self.one_of(8, 16, 24, 40))
        wide, window, stride = int(self.one_of(inside, 48, 96)), int(self.one_of(3, 3, 5)), int(self.one_of(1, 1, 2))
        space = [int(self.random.integers(8, 45)) for _ in range(2)]
        x = v = self.input(int(self.one_of(1, 1, 2)), inside, *space)
        if wide != inside:
            v = self.bent(self.add("Conv", v, self.weight(wide, inside, 1, 1), self.weight(wide)))
        pads = [int(self.one_of(window // 2, 0, 1)) for _ in range(4)]
        v = self.add("Conv", v, self.weight(wide, 1, window, window), self.weight(wide), group=wide, pads=pads, strides=[stride] * 2)
        v = self.add("Conv", self.bent(v), self.weight(outside, wide, 1, 1), self.weight(outside))
        v = self.curved(v) if self.random.integers(2) else v
        if stride == 1 and inside == outside and pads == [window // 2] * 4:
            v = self.add("Add", v, x)
        self.outputs.append(helper.make_tensor_value_info(v, TensorProto.FLOAT, None))

    def bent(self, v):
        return self.curved(v) if self.random.integers(2) else self.clipped(v)

    def curved(self, v):
        """A function that is no clip: HardSwish, LeakyRelu, SiLU, Elu."""
        kind = self.one_of("HardSwish", "LeakyRelu", "Sigmoid", "Elu")
        return self.add("Mul", v, self.add(kind, v)) if kind == "Sigmoid" else self.add(kind, v)

    def clipped(self, v):
        if self.random.integers(2):
            return self.add("Relu", v)
        low, high = (numpy_helper.from_array(np.float32(x), f"w{len(self.weights) + i}") for i, x in enumerate((0, 1)))
        self.weights += [low, high]
        return self.add("Clip", v, low.name, high.name)

    def product(self):
        m, n, k = self.size(), self.size(), self.one_of(self.size(), self.size(), 255, 256, 257, 600)
        batch = [int(self.one_of(1, 2, 3))] if self.random.integers(3) == 0 else []
        kind = self.random.integers(4)
        if kind == 0:
            v = self.add("MatMul", self.input(*batch, m, k), self.input(*batch, k, n))
        elif kind == 1 and not self.open_sizes:
            v = self.add("MatMul", self.input(*batch, m, k),
                         self.add("Transpose", self.input(*batch, n, k), perm=[0, 2, 1] if batch else [1, 0]))
        elif kind == 2:
            v = self.add("Gemm", self.input(m, k), self.weight(n, k), transB=1)
            batch = []
        else:
            v = self.add("MatMul", self.input(*batch, m, k), self.weight(k, n))
        self.epilogue(v, n, 2)

    def describe(self, output):
        """Prints the nodes that compute it, last one first."""
        producers = {n.output[0]: n for n in self.nodes}
        reached = [output]
        while reached:
            n = producers.get(reached.pop())
            if n:
                print(helper.printable_node(n), [self.feeds[i].shape for i in n.input if i in self.feeds],
                      [tuple(w.dims) for w in self.weights if w.name in n.input])
                reached.extend(n.input)


def variants(scratch):
    """Options of cameo compile, in turn."""
    checked = programs.sanitized(scratch)
    return [[], ["--cpu", "x86-64-v3"] if programs.X86 else [], ["--no-override"], ["--cpu", "portable"],
            *([["--cc", "clang-19"]] if shutil.which("clang-19") else []), *([["--cc", checked]] if checked else [])]


def compare(net, outputs, scratch):
    """How many outputs there are, the greatest error, and how many are wrong."""
    session = onnxruntime.InferenceSession(str(scratch / "net.onnx"), providers=["CPUExecutionProvider"])
    worst, failed = 0.0, 0
    for output, got, want in zip(net.outputs, outputs, session.run(None, net.feeds)):
        if got.shape != want.shape:
            print(f"{output.name}: {got.shape}, not {want.shape}")
            failed += 1
            continue
        error = float(np.max(np.abs(got - want), initial=0) / (1 + np.max(np.abs(want), initial=0)))
        if not error < 2e-5:
            print(f"{output.name}: differs by {error}")
            net.describe(output.name)
            failed += 1
        worst = max(worst, error)
    return len(net.outputs), worst, failed


def main():
    args = programs.arguments(programs=6, nodes=40)

    def draw(random, i):
        net = Net(random, open_sizes=i % 5 == 3)
        for _ in range(args.nodes):
            net.one_of(net.convolution, net.convolution, net.convolution, net.product, net.chain, net.transposed)()
        return net

    def check(net, scratch, options):
        programs.build(args.cameo, net, scratch, ["--grain", "1", *options])
        outputs, others = programs.differ_by_threads(net, scratch, options)
        count, worst, failed = compare(net, outputs, scratch)
        failed += others
        print(f"{count} nodes, {' '.join(options) or 'default'}: greatest error {worst:.1e}, {failed} fail", flush=True)
        return np.array([count, failed])

    total, failures = programs.in_turns(args, variants, draw, check)
    print(f"{total} contractions, {failures} fail")
    return 1 if failures or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
