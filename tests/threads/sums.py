#!/usr/bin/env python3
"""sums.py CAMEO [--programs N] [--nodes N] [--seed S]: the bits of sums hang on no compiler and on no number of threads.

Random nodes that add up products or elements (MatMul, Gemm, Einsum, Conv, ConvTranspose, reductions over any axes,
normalizations, Softmax, attention, pooling, recurrences), of few and of many columns, each with arithmetic behind it that may
be fused, all sizes fixed or all open. Programs take turns between packed products, plain loops and older processors. Each is
compiled by gcc and by clang, its kernels divided however small they are, and run by 1, 2, 3 and 5 threads: each output is
the same bytes for any number of threads, and where plain loops are asked for, by either compiler. Values are compared with
ONNX Runtime's too, so that bits which agree are those of the right sums.
"""
import pathlib
import shutil
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import programs  # noqa: E402

THREADS = (1, 2, 3, 5)


class Net(programs.Network):
    opsets = {"": 23}
    ir_version = 11

    def __init__(self, random, open_sizes):
        super().__init__(random)
        self.open_sizes = open_sizes

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def input(self, *shape, fixed=()):
        """`fixed`: axes whose size is known, though others are open."""
        name = f"x{len(self.inputs)}"
        self.feeds[name] = self.normal(*shape)
        dims = [f"{name}_{i}" if self.open_sizes and i not in fixed else n for i, n in enumerate(shape)]
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name

    def weight(self, *shape):
        return self.constant(self.normal(*shape) * np.float32(max(1, np.prod(shape[1:])) ** -0.5))

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(value, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op, *inputs, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0]

    def size(self):
        """Mostly what no vector divides."""
        return int(self.one_of(1, 2, 3, 4, 5, 7, 9, 13, 16, 17, 31, 33, 63, 64, 65, 100, 130))

    def rows(self):
        return int(self.one_of(1, 3, 17, 64, 130, 333, 1001))

    def behind(self, v):
        """Sums of products of what was summed: a compiler may join them, or not."""
        kind = self.random.integers(5)
        if kind == 1:
            v = self.add("Add", self.add("Mul", v, self.constant(np.float32(1.7))), self.constant(np.float32(-0.3)))
        elif kind == 2:
            v = self.add("Sub", self.add("Mul", v, v), self.add("Mul", v, self.constant(np.float32(0.37))))
        elif kind == 3:
            v = self.add("Gelu", v)
        elif kind == 4:
            v = self.add("Sigmoid", self.add("Sub", self.constant(np.float32(0.1)), self.add("Mul", v, self.constant(np.float32(3.3)))))
        self.outputs.append(helper.make_tensor_value_info(v, TensorProto.FLOAT, None))

    def product(self):
        m, k, n = self.rows(), self.size(), int(self.one_of(1, 2, 3, 4, 5, 8, 20, 50))
        batch = [int(self.one_of(2, 3))] if self.random.integers(3) == 0 else []
        if self.random.integers(2):
            return self.add("MatMul", self.input(*batch, m, k), self.input(*batch, k, n))
        return self.add("MatMul", self.input(*batch, m, k), self.weight(k, n))

    def gemm(self):
        m, k, n = self.rows(), self.size(), self.size()
        a, b = int(self.random.integers(2)), int(self.random.integers(2))
        return self.add("Gemm", self.input(*((k, m) if a else (m, k))), self.input(*((n, k) if b else (k, n))),
                        self.weight(1), transA=a, transB=b, alpha=0.7, beta=1.3)

    def einsum(self):
        a, b, c, d = (int(self.one_of(2, 3, 5, 17, 33)) for _ in range(4))
        equation, shapes = self.one_of(("abc,cd->abd", [(a, b, c), (c, d)]), ("abc,abd->cd", [(a, b, c), (a, b, d)]),
                                       ("ab,ac->bc", [(a, b), (a, c)]), ("abc,bc->a", [(a, b, c), (b, c)]),
                                       ("abcd,cb->da", [(a, b, c, d), (c, b)]))
        return self.add("Einsum", *(self.input(*s) for s in shapes), equation=equation)

    def convolution(self):
        rank = int(self.one_of(1, 2, 2))
        group, inside, outside = int(self.one_of(1, 1, 4)), int(self.one_of(1, 2, 3, 8)), int(self.one_of(1, 2, 3, 9))
        space, window = [int(self.one_of(7, 13, 33)) for _ in range(rank)], [int(self.one_of(1, 3, 5)) for _ in range(rank)]
        x = self.input(int(self.one_of(1, 3)), group * inside, *space, fixed=(1,))
        if self.random.integers(3) == 0:
            return self.add("ConvTranspose", x, self.weight(group * inside, outside, *window), group=group)
        return self.add("Conv", x, self.weight(group * outside, inside, *window), group=group,
                        strides=[int(self.one_of(1, 2))] * rank, pads=[w // 2 for w in window] * 2)

    def reduction(self):
        shape = [self.size() for _ in range(int(self.one_of(2, 2, 3)))]
        axes = sorted(self.random.choice(len(shape), int(self.random.integers(1, len(shape) + 1)), replace=False).tolist())
        op = self.one_of("ReduceSum", "ReduceMean", "ReduceL2", "ReduceSumSquare", "ReduceL1", "ReduceLogSumExp", "ReduceProd")
        x = self.input(*shape)
        if op == "ReduceProd":
            x = self.add("Sigmoid", x)
        return self.add(op, x, self.constant(np.array(axes, np.int64)), keepdims=int(self.random.integers(2)))

    def spread(self):
        """The variance of each row, as exporters write it in pieces."""
        x = self.input(self.rows(), self.size() + 1)
        axis = self.constant(np.array([-1], np.int64))
        d = self.add("Sub", x, self.add("ReduceMean", x, axis))
        square = self.add("Mul", d, d) if self.random.integers(2) else self.add("Pow", d, self.constant(np.float32(2)))
        variance = self.add("ReduceMean", square, axis)
        return self.add("Div", d, self.add("Sqrt", self.add("Add", variance, self.constant(np.float32(1e-3)))))

    def normalization(self):
        n, c, h = int(self.one_of(1, 3)), int(self.one_of(2, 4, 6)), int(self.one_of(5, 13, 40))
        kind = self.random.integers(4)
        if kind == 0:
            width = self.size() + 1
            return self.add("LayerNormalization", self.input(self.rows(), width, fixed=(1,)), self.weight(width), self.weight(width))
        if kind == 1:
            return self.add("InstanceNormalization", self.input(n, c, h, 7, fixed=(1,)), self.weight(c), self.weight(c))
        if kind == 2:
            return self.add("GroupNormalization", self.input(n, c, h, 7, fixed=(1,)), self.weight(c), self.weight(c), num_groups=2)
        return self.add("LpNormalization", self.input(self.rows(), self.size()), axis=int(self.one_of(0, -1)))

    def softmax(self):
        return self.add(self.one_of("Softmax", "LogSoftmax"), self.input(int(self.one_of(2, 7)), self.size(), self.size()),
                        axis=int(self.random.integers(3)))

    def attention(self):
        heads, n, m, width = int(self.one_of(1, 3)), self.size(), self.size(), int(self.one_of(4, 9, 16))
        q, k, v = (self.input(2, heads, rows, width, fixed=(1, 3)) for rows in (n, m, m))
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Softmax", self.add("Mul", scores, self.constant(np.float32(width ** -0.5))), axis=-1)
        return self.add("MatMul", scores, v)

    def pooling(self):
        return self.add(self.one_of("AveragePool", "LpPool"), self.input(2, int(self.one_of(1, 5)), 17, int(self.one_of(9, 40)), fixed=(1,)),
                        kernel_shape=[3, 3], strides=[int(self.one_of(1, 2))] * 2)

    def recurrence(self):
        steps, batch, width, states = int(self.one_of(1, 5)), int(self.one_of(1, 3)), int(self.one_of(3, 16)), int(self.one_of(3, 17))
        op, gates = self.one_of(("RNN", 1), ("GRU", 3), ("LSTM", 4))
        return self.add(op, self.input(steps, batch, width, fixed=(2,)), self.weight(1, gates * states, width),
                        self.weight(1, gates * states, states), hidden_size=states)


def compiled(args, net, scratch, options):
    """The outputs for each number of threads."""
    programs.build(args.cameo, net, scratch, ["-q", "--grain", "1", *options])
    return {n: programs.run(net, scratch, n) for n in THREADS}


def wrong(net, outputs, scratch):
    """Whose values are not ONNX Runtime's."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(scratch / "net.onnx"), options, providers=["CPUExecutionProvider"])
    return [o.name for o, got, want in zip(net.outputs, outputs, session.run(None, net.feeds))
            if got.shape != want.shape or not np.all(np.abs(got - want) <= 2e-4 * (1 + np.abs(want)))]


def main():
    args = programs.arguments(programs=6, nodes=30)
    forms = [[], ["--gemm", "loops"], ["--no-override", "--gemm", "loops"]]
    if programs.X86:
        forms += [["--cpu", "x86-64-v3", "--gemm", "loops"], ["--cpu", "x86-64-v2", "--gemm", "loops"]]
    compilers = [cc for cc in ("gcc", "clang-19") if shutil.which(cc)]

    def draw(random, i):
        net = Net(random, open_sizes=i % 2 == 1)
        for _ in range(args.nodes):
            net.behind(net.one_of(net.product, net.product, net.gemm, net.einsum, net.convolution, net.reduction, net.reduction, net.spread,
                                  net.normalization, net.softmax, net.attention, net.pooling, net.recurrence)())
        return net

    def check(net, scratch, options):
        made = {cc: compiled(args, net, scratch, [*options, "--cc", cc]) for cc in compilers}
        first = made[compilers[0]][1]
        others = [f"{o.name} by {n} threads with {cc}" for cc in compilers for n in THREADS[1:]
                  for o, a, b in zip(net.outputs, made[cc][1], made[cc][n]) if a.tobytes() != b.tobytes()]
        if "--gemm" in options:
            others += [f"{o.name} by {cc}" for cc in compilers[1:] for o, a, b in zip(net.outputs, first, made[cc][1])
                       if a.tobytes() != b.tobytes()]
        values = wrong(net, first, scratch)
        print(f"{len(first)} sums, {'open' if net.open_sizes else 'fixed'} sizes, {' '.join(options) or 'default'}: "
              f"{', '.join(others) or 'the same bits'}{'; wrong: ' + ', '.join(values) if values else ''}", flush=True)
        return np.array([len(first), len(others) + len(values)])

    total, failures = programs.in_turns(args, lambda scratch: forms, draw, check)
    print(f"{total} sums by {', '.join(map(str, THREADS))} threads and {' and '.join(compilers)}: {failures} differ")
    return 1 if failures or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
