"""Random models of the operators that the interval analysis has rows for."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import draw_others
import draw_quantized

F = TensorProto.FLOAT
UNARY = ["Neg", "Abs", "Relu", "Exp", "Log", "Sqrt", "Sigmoid", "Tanh", "Erf", "Atan", "Sinh", "Asinh", "Cosh", "Sin", "Cos",
         "Softplus", "Softsign", "Reciprocal", "Sign", "Floor", "Ceil", "Round", "HardSwish", "Acos", "Asin", "Identity", "Mish",
         "Gelu", "Softmax", "LogSoftmax", "Hardmax", "Acosh", "Atanh", "Shrink"]
WITH_ALPHA = {"LeakyRelu": (0.01, 2), "Elu": (0.1, 2), "HardSigmoid": (0.05, 0.6), "ThresholdedRelu": (0.1, 2), "Celu": (0.5, 2)}
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Mod", "PRelu", "Less", "Equal", "Greater"]
REDUCE = ["ReduceProd", "ReduceLogSum", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]
MOVE = ["Transpose", "Reshape", "Slice", "Concat", "Pad", "Expand", "Tile", "Unsqueeze", "Gather", "Trilu"]
LAYERS = ["Conv", "ConvTranspose", "MatMul", "Gemm", "BatchNormalization", "LayerNormalization", "InstanceNormalization",
          "MaxPool", "AveragePool", "GlobalAveragePool", "CumSum", "Clip", "Where", "Cast", "Resize", "TopK", "ArgMax", "Shape",
          "If", "Loop", "Scan", "MatMul2", "Quantize", "Parts", "Shuffle", "Reversed", "Chosen", "Spatial", "Each", "Wider", "Last",
          "Attention", "Gated", "Rooted", "Scaled", "Covered", "Flat", "Groups", "Branches"]
DIMS = [2, 4, 3, 3]


class Draw(draw_quantized.Quantized, draw_others.Others):
    """A model of some nodes over float32 values of shape [2, 4, 3, 3]."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.count = rng, [], [], 0
        self.values, self.opset = ["x0", "x1"], 21

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *dims):
        scale = self.rng.choice([0.1, 1, 5, 50])
        kind = self.rng.integers(4)
        a = self.rng.uniform(-1, 1, dims) * scale
        return (abs(a) if kind == 0 else a + scale if kind == 1 else np.round(a) if kind == 2 else a).astype(np.float32)

    def node(self, op, inputs, outputs=1, **attrs):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attrs))
        return names[0]

    def pick(self):
        recent = self.values[-3:] if self.rng.random() < 0.7 else self.values
        return recent[self.rng.integers(len(recent))]

    def bounded(self):
        """A value that is not as large as its dtype allows."""
        x = self.pick()
        choice = self.rng.integers(4)
        if choice == 0:
            return self.node("Clip", [x, self.weight(np.float32(-3)), self.weight(np.float32(self.rng.choice([0, 2, 40])))])
        return self.node(["Sigmoid", "Tanh", "Sin"][choice - 1], [x])

    def grow(self):
        rng, kind = self.rng, self.rng.integers(10)
        x = self.bounded() if rng.random() < 0.6 else self.pick()
        if kind < 2:
            y = self.node(str(rng.choice(UNARY)), [x])
        elif kind == 2:
            op = str(rng.choice(list(WITH_ALPHA)))
            y = self.node(op, [x], alpha=float(rng.uniform(*WITH_ALPHA[op])))
        elif kind < 6:
            y = self.binary(x)
        elif kind == 6:
            y = self.reduce(x)
        elif kind == 7:
            y = self.move(x)
        else:
            layers = [LAYERS, LAYERS, draw_quantized.LAYERS, draw_others.LAYERS][rng.integers(4)]
            y = getattr(self, "layer_" + str(rng.choice(layers)).lower())(x)
        self.values.append(y)

    def binary(self, x):
        op = str(self.rng.choice(BINARY))
        shapes = [(), (4, 1, 1), (3,), (2, 4, 3, 3), (1, 4, 1, 1)]
        other = self.weight(self.floats(*shapes[self.rng.integers(5)])) if self.rng.random() < 0.6 else self.pick()
        if op == "Pow" and self.rng.random() < 0.5:
            other = self.weight(np.float32(self.rng.choice([2, 3, 0.5, -1, -0.5, 4])))
        pair = [x, other] if self.rng.random() < 0.8 or op == "PRelu" else [other, x]
        if op == "PRelu" and not other.startswith("w"):
            pair[1] = self.weight(self.floats(4, 1, 1))
        y = self.node(op, pair, **({"fmod": 1} if op == "Mod" else {}))
        if op in ("Less", "Equal", "Greater"):
            y = self.node("Cast", [y], to=F)
        return self.whole(y)

    def whole(self, y):
        """Expanded to the shape that all values have."""
        return self.node("Expand", [y, self.weight(np.array(DIMS, np.int64))])

    def reduce(self, x):
        axes = sorted(set(self.rng.integers(0, 4, self.rng.integers(1, 4)).tolist()))
        return self.whole(self.node(str(self.rng.choice(REDUCE)), [x, self.weight(np.array(axes, np.int64))]))

    def move(self, x):
        op = str(self.rng.choice(MOVE))
        if op == "Transpose":
            y = self.node(op, [x], perm=[2, 1, 0, 3])
            return self.node(op, [self.node("Relu", [y])], perm=[2, 1, 0, 3])
        if op == "Concat":
            y = self.node(op, [x, self.pick()], axis=1)
            return self.node("Gather", [y, self.weight(np.array([1, 3, 5, 7], np.int64))], axis=1)
        if op == "Pad":
            y = self.node(op, [x, self.weight(np.array([0, 0, 1, 1, 0, 0, 0, 0], np.int64)), self.weight(self.floats())])
            return self.slice(y)
        if op == "Tile":
            return self.slice(self.node(op, [x, self.weight(np.array([1, 1, 2, 2], np.int64))]))
        if op == "Gather":
            return self.node(op, [x, self.weight(np.array([2, 0, 1], np.int64))], axis=2)
        if op == "Trilu":
            return self.node(op, [x])
        y = self.node("Reshape", [x, self.weight(np.array([6, 12], np.int64))])
        return self.node("Reshape", [self.node("Tanh", [y]), self.weight(np.array(DIMS, np.int64))])

    def slice(self, x):
        ends = self.weight(np.array(DIMS, np.int64))
        return self.node("Slice", [x, self.weight(np.zeros(4, np.int64)), ends])

    def layer_conv(self, x):
        group = int(self.rng.choice([1, 2, 4]))
        inputs = [x, self.weight(self.floats(4, 4 // group, 3, 3))] + ([self.weight(self.floats(4))] if self.rng.random() < 0.7 else [])
        return self.node("Conv", inputs, pads=[1, 1, 1, 1], group=group)

    def layer_convtranspose(self, x):
        group = int(self.rng.choice([1, 2]))
        inputs = [x, self.weight(self.floats(4, 4 // group, 3, 3)), self.weight(self.floats(4))]
        return self.node("ConvTranspose", inputs, pads=[1, 1, 1, 1], group=group)

    def layer_matmul(self, x):
        return self.node("MatMul", [x, self.weight(self.floats(3, 3))])

    def layer_matmul2(self, x):
        return self.node("MatMul", [x, self.bounded()])

    def layer_gemm(self, x):
        flat = self.node("Reshape", [x, self.weight(np.array([8, 9], np.int64))])
        trans = int(self.rng.integers(2))
        y = self.node("Gemm", [flat, self.weight(self.floats(9, 9)), self.weight(self.floats(9))], transB=trans,
                      alpha=float(self.rng.choice([1, -0.5, 2])), beta=float(self.rng.choice([1, 0.5])))
        return self.node("Reshape", [y, self.weight(np.array(DIMS, np.int64))])

    def layer_batchnormalization(self, x):
        return self.node("BatchNormalization", [x, self.weight(self.floats(4)), self.weight(self.floats(4)),
                                                self.weight(self.floats(4)), self.weight(abs(self.floats(4)) + 0.01)])

    def layer_layernormalization(self, x):
        return self.node("LayerNormalization", [x, self.weight(self.floats(3, 3)), self.weight(self.floats(3, 3))], axis=2)

    def layer_instancenormalization(self, x):
        return self.node("InstanceNormalization", [x, self.weight(self.floats(4)), self.weight(self.floats(4))])

    def layer_maxpool(self, x):
        return self.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def layer_averagepool(self, x):
        return self.node("AveragePool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=int(self.rng.integers(2)))

    def layer_globalaveragepool(self, x):
        return self.whole(self.node("GlobalAveragePool", [x]))

    def layer_cumsum(self, x):
        return self.node("CumSum", [x, self.weight(np.array(self.rng.integers(4), np.int64))], exclusive=int(self.rng.integers(2)))

    def layer_clip(self, x):
        low, high = sorted(self.rng.uniform(-9, 9, 2).astype(np.float32))
        least = self.weight(np.float32(low)) if self.rng.random() < 0.7 else ""
        return self.node("Clip", [x, least, self.weight(np.float32(high))])

    def layer_where(self, x):
        c = self.node("Less", [x, self.weight(self.floats())])
        return self.whole(self.node("Where", [c, x, self.weight(self.floats())]))

    def layer_cast(self, x):
        to = [TensorProto.INT32, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8][self.rng.integers(4)]
        y = self.node("Cast", [self.bounded()], to=to)
        if to != TensorProto.FLOAT16:
            y = self.node("Add", [y, y])
            y = self.node("Mul", [y, y]) if to != TensorProto.UINT8 else y
        return self.node("Cast", [y], to=F)

    def layer_resize(self, x):
        mode = str(self.rng.choice(["nearest", "linear"]))
        return self.slice(self.node("Resize", [x, "", self.weight(np.array([1, 1, 2, 1.5], np.float32))], mode=mode))

    def layer_topk(self, x):
        y = self.node("TopK", [x, self.weight(np.array([3], np.int64))], outputs=2, axis=3)
        index = self.node("Cast", [self.nodes[-1].output[1]], to=F)
        return self.node("Add", [y, index])

    def layer_argmax(self, x):
        return self.whole(self.node("Cast", [self.node("ArgMax", [x], axis=1)], to=F))

    def layer_shape(self, x):
        y = self.node("Gather", [self.node("Shape", ["free"]), self.weight(np.array(0, np.int64))])
        y = self.node("Cast", [self.node("Mul", [y, self.weight(np.array(3, np.int64))])], to=F)
        return self.whole(self.node("Div", [y, self.weight(np.float32(7))]))

    def layer_quantize(self, x):
        scale, zero = self.weight(np.float32(0.05)), self.weight(np.uint8(7))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero]), scale, zero])

    def graph(self, name, nodes, inputs, outputs):
        of = lambda n: helper.make_tensor_value_info(n, TensorProto.BOOL if n.startswith("c") else
                                                     TensorProto.INT64 if n.startswith("i") else F, [] if n[0] in "ci" else None)
        return helper.make_graph(nodes, name, [of(n) for n in inputs], [of(n) for n in outputs])

    def layer_if(self, x):
        c = self.node("Greater", [self.node("ReduceMax", [x], keepdims=0), self.weight(np.float32(0.5))])
        a, b = self.name(), self.name()
        yes = self.graph("yes", [helper.make_node("Exp", [self.bounded()], [a])], [], [a])
        no = self.graph("no", [helper.make_node("Neg", [x], [b])], [], [b])
        return self.node("If", [c], then_branch=yes, else_branch=no)

    def layer_loop(self, x):
        n = self.count = self.count + 1
        step = self.weight(self.floats())
        body = self.graph("body", [helper.make_node("Identity", [f"c{n}"], [f"cc{n}"]),
                                   helper.make_node(str(self.rng.choice(["Tanh", "Relu", "Exp", "Sin"])), [f"h{n}"], [f"t{n}"]),
                                   helper.make_node(str(self.rng.choice(["Mul", "Add"])), [f"t{n}", step], [f"hh{n}"]),
                                   helper.make_node("Cast", [f"i{n}"], [f"s{n}"], to=F)],
                          [f"i{n}", f"c{n}", f"h{n}"], [f"cc{n}", f"hh{n}", f"s{n}"])
        y = self.node("Loop", [self.weight(np.array(3, np.int64)), "", x], outputs=2, body=body)
        return self.whole(self.node("Add", [y, self.node("ReduceMax", [self.nodes[-1].output[1]], keepdims=0)]))

    def layer_scan(self, x):
        n = self.count = self.count + 1
        body = self.graph("body", [helper.make_node("Add", [f"h{n}", f"e{n}"], [f"t{n}"]), helper.make_node("Sin", [f"t{n}"], [f"hh{n}"]),
                                   helper.make_node("Abs", [f"hh{n}"], [f"s{n}"])], [f"h{n}", f"e{n}"], [f"hh{n}", f"s{n}"])
        first = self.node("Reshape", [self.slice_first(x), self.weight(np.array([4, 3, 3], np.int64))])
        self.node("Scan", [first, x], outputs=2, body=body, num_scan_inputs=1)
        return self.nodes[-1].output[1]

    def slice_first(self, x):
        one = self.weight(np.array([1], np.int64))
        return self.node("Slice", [x, self.weight(np.array([0], np.int64)), one, self.weight(np.array([0], np.int64))])

    # ---- what keeps, moves or mixes channels

    def dims(self, *dims):
        return self.weight(np.array(dims, np.int64))

    def channels(self, x):
        """x with bounds of its own for each channel."""
        x = self.node("Clip", [x, self.weight(np.float32(-2)), self.weight(np.float32(3))])
        y = self.node("Mul", [x, self.weight(self.floats(4, 1, 1))])
        return self.node("Add", [y, self.weight(self.floats(4, 1, 1))]) if self.rng.random() < 0.7 else y

    def unary(self, x):
        return self.node(str(self.rng.choice(["Relu", "Sigmoid", "Neg", "Exp", "Abs", "Softplus"])), [x])

    def layer_parts(self, x):
        axis = int(self.rng.choice([1, 1, 2]))
        sizes = [1, 3] if axis == 1 else [2, 1]
        a = self.node("Split", [self.channels(x), self.dims(*sizes)], outputs=2, axis=axis)
        b = self.nodes[-1].output[1]
        parts = [self.unary(a), b, self.weight(self.floats(*[2, 2 if axis == 1 else 4, 2 if axis == 2 else 3, 3]))]
        y = self.node("Concat", [parts[i] for i in self.rng.permutation(3)], axis=axis)
        return self.node("Slice", [y, self.dims(1 if axis == 1 else 2), self.dims(5), self.dims(axis)])

    def layer_shuffle(self, x):
        y = self.node("Reshape", [self.channels(x), self.dims(2, 2, 2, 3, 3)])
        y = self.node("Relu", [self.node("Transpose", [y], perm=[0, 2, 1, 3, 4])])
        return self.node("Reshape", [y, self.dims(*DIMS)])

    def layer_reversed(self, x):
        start, end = [(3, -5), (-1, -9), (9, -5)][self.rng.integers(3)]
        y = self.node("Slice", [self.channels(x), self.dims(start), self.dims(end), self.dims(1), self.dims(-1)])
        y = self.node("Slice", [self.node("Tile", [y, self.dims(1, 2, 1, 1)]), self.dims(3), self.dims(7), self.dims(1)])
        return self.node("Add", [y, self.weight(self.floats(4, 1, 1))])

    def layer_chosen(self, x):
        y = self.node("Gather", [self.channels(x), self.dims(*self.rng.integers(-4, 4, 4))], axis=1)
        one = self.node("Gather", [y, self.weight(np.array(self.rng.integers(4), np.int64))], axis=1)
        return self.node("Sub", [y, self.node("Unsqueeze", [one, self.dims(1)])])

    def layer_spatial(self, x):
        """Over the image: pools and reductions, with the axes kept or not."""
        y = self.channels(x)
        kind = self.rng.integers(4)
        if kind == 0:
            return self.whole(self.node(str(self.rng.choice(["GlobalMaxPool", "GlobalAveragePool"])), [y]))
        if kind == 1:
            op = str(self.rng.choice(["MaxPool", "AveragePool"]))
            return self.node(op, [y], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        axes, op = [[2, 3], [0, 3], [0], [1], [1, 2]][self.rng.integers(5)], str(self.rng.choice(REDUCE))
        if kind == 2:
            return self.whole(self.node(op, [y, self.dims(*axes)]))
        y = self.node("Abs", [self.node(op, [y, self.dims(*axes)], keepdims=0)])
        return self.whole(self.node("Unsqueeze", [y, self.dims(*axes)]))

    def layer_each(self, x):
        """Two operands with channels, or one with a constant that has some."""
        y = self.channels(x)
        op = str(self.rng.choice(["Min", "Max", "Sum", "Mean", "Where", "Pow", "Div", "Sub", "Mul"]))
        other = self.channels(self.pick()) if self.rng.random() < 0.5 else self.weight(self.floats(4, 1, 1))
        if op == "Where":
            return self.node(op, [self.node("Less", [x, self.weight(self.floats())]), y, other])
        if op == "Pow":
            return self.node(op, [y, self.weight(np.float32(self.rng.choice([2, 3, 0.5])))])
        extra = [self.weight(self.floats(3))] if op in ("Min", "Max", "Sum", "Mean") else []
        return self.node(op, [y, other] + extra)

    def layer_wider(self, x):
        where = [(0, 0, 1, 1, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0, 0)][self.rng.integers(2)]
        mode = str(self.rng.choice(["constant", "reflect", "edge"]))
        y = self.node("Pad", [self.channels(x), self.dims(*where)] + ([self.weight(self.floats())] if mode == "constant" else []), mode=mode)
        return self.slice(self.node("Mul", [y, self.weight(np.float32(0.5))]))

    def layer_last(self, x):
        """Channels along the last axis, where what pools an image mixes them."""
        y = self.node("MatMul", [self.bounded(), self.weight(self.floats(3, 3))])
        kind = self.rng.integers(4)
        if kind == 0:
            return self.node(str(self.rng.choice(["MaxPool", "AveragePool"])), [y], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if kind == 1:
            return self.node("CumSum", [y, self.weight(np.array(self.rng.integers(-4, 4), np.int64))])
        if kind == 2:
            return self.slice(self.node("Resize", [y, "", self.weight(np.array([1, 1, 1, 2], np.float32))]))
        return self.whole(self.node("GlobalMaxPool", [y]))

    def layer_attention(self, x):
        return self.node("MatMul", [self.node("Softmax", [self.bounded()]), self.node("MatMul", [self.bounded(), self.weight(self.floats(3, 3))])])

    def layer_gated(self, x):
        if self.rng.random() < 0.5:
            y = self.channels(x)
        else:
            y = self.bounded()
        gate = self.node("Sigmoid", [y]) if self.rng.random() < 0.5 else self.node("HardSigmoid", [y], alpha=1 / 6, beta=0.5)
        return self.node("Mul", [y, gate] if self.rng.random() < 0.5 else [gate, y])

    def layer_rooted(self, x):
        """A normalization as exporters spell it out."""
        axes = self.dims(*[[3], [1], [2, 3], [1, 2, 3]][self.rng.integers(4)])
        d = self.node("Sub", [x, self.node("ReduceMean", [x, axes])]) if self.rng.random() < 0.7 else x
        square = self.node("Mul", [d, d]) if self.rng.random() < 0.5 else self.node("Pow", [d, self.weight(np.float32(2))])
        mean = self.node("ReduceMean", [square, axes])
        root = self.node("Sqrt", [self.node("Add", [mean, self.weight(np.float32(self.rng.choice([1e-5, 1e-12, 1e-3])))])])
        kind = self.rng.integers(3)
        y = (self.node("Div", [d, root]) if kind == 0 else self.node("Mul", [d, self.node("Reciprocal", [root])]) if kind == 1 else
             self.node("Mul", [self.node("Div", [self.weight(np.float32(1)), root]), d]))
        return self.node("Mul", [y, self.weight(self.floats(4, 1, 1))])

    def layer_scaled(self, x):
        """Normalizations with a scale for each index."""
        if self.rng.random() < 0.5:
            return self.node("LayerNormalization", [x, self.weight(self.floats(3)), self.weight(self.floats(3))], axis=-1)
        return self.node("InstanceNormalization", [x, self.weight(self.floats(4)), self.weight(self.floats(4))])

    def layer_covered(self, x):
        """x over what is at least a part of its magnitude."""
        axes = self.dims(*[[3], [1], [0, 2], [0, 1, 2, 3]][self.rng.integers(4)])
        kind, tiny = self.rng.integers(9), self.weight(np.float32(self.rng.choice([1e-5, 1e-12, 0.5])))
        x = self.node("Exp", [x]) if kind == 0 else self.node("Relu", [x]) if kind == 1 else x
        large = (self.node("ReduceSum", [x, axes]) if kind == 0 else self.node("ReduceMax", [x, axes]) if kind == 1 else
                 self.node("Abs", [x]) if kind == 2 else self.node("ReduceMax", [self.node("Abs", [x]), axes]) if kind == 3 else
                 self.node("ReduceL1", [x, axes]) if kind == 4 else self.node("ReduceL2", [x, axes]) if kind == 5 else
                 self.node("Sqrt", [self.node("ReduceSumSquare", [x, axes])]) if kind == 6 else
                 self.node("ReduceMean", [self.node("Abs", [x]), axes]) if kind == 7 else
                 self.node("Sqrt", [self.node("Sum", [self.node("Mul", [x, x]), self.node("Abs", [self.pick()])])]))
        large = self.node("Div", [large, self.weight(np.float32(127))]) if self.rng.random() < 0.3 else large
        guard = self.rng.integers(4)
        large = (self.node("Max", [tiny, large]) if guard == 0 else self.node("Clip", [large, tiny]) if guard == 1 else
                 self.node("Add", [large, tiny]) if guard == 2 else large)
        if self.rng.random() < 0.3:
            return self.whole(self.node("Mul", [self.node("Reciprocal", [large]), x]))
        return self.whole(self.node("Div", [x, large]))

    def layer_flat(self, x):
        y = self.node("Flatten", [self.channels(x)])
        y = self.node("Gemm", [y, self.weight(self.floats(36, 36)), self.weight(self.floats(2, 1))])
        return self.node("Reshape", [y, self.dims(*DIMS)])

    def layer_groups(self, x):
        """Rows as many as columns: a bias of one column is none for each."""
        y = self.node("Gather", [self.node("Flatten", [self.bounded()]), self.dims(*[0, 1] * 18)])
        y = self.node("Gemm", [y, self.weight(self.floats(36, 36)), self.weight(self.floats(36, 1))], transB=1)
        y = self.node("Gather", [y, self.dims(0, 35)])
        return self.node("Reshape", [y, self.dims(*DIMS)])

    def layer_branches(self, x):
        c = self.node("Greater", [self.node("ReduceMax", [x], keepdims=0), self.weight(np.float32(0.5))])
        a, b = self.name(), self.name()
        yes = self.graph("yes", [helper.make_node("Identity", [self.channels(x)], [a])], [], [a])
        no = self.graph("no", [helper.make_node("Neg", [self.channels(self.pick())], [b])], [], [b])
        return self.node("If", [c], then_branch=yes, else_branch=no)

    def model(self):
        outputs = [helper.make_tensor_value_info(n, 0, None) for node in self.nodes for n in node.output]
        for o in outputs:
            o.ClearField("type")
        inputs = [helper.make_tensor_value_info("x0", F, DIMS), helper.make_tensor_value_info("x1", F, DIMS),
                  helper.make_tensor_value_info("free", F, ["N", 2])]
        graph = helper.make_graph(self.nodes, "ranges", inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1),
                                                       helper.make_opsetid("ai.onnx.ml", 3)], ir_version=11)
