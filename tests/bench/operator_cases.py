"""What operators.py measures: one node each, at sizes of real networks, and the nodes of whole models.

A case has a name, an operator, its operands and attributes. An operand in `K(...)` is a constant of the model (shapes,
axes, pads); all others are inputs of the program.
"""
import pathlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

CONTRACTIONS = {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "MatMul", "Gemm", "MatMulInteger", "QLinearMatMul",
                "Einsum", "LSTM", "GRU", "RNN", "Attention", "DeformConv", "FusedConv", "FusedMatMul"}
SKIPPED = {"If", "Loop", "Scan", "Constant", "Shape", "Size", "Identity"}
OPSET = 22
RANDOM = np.random.default_rng(7)
IMAGE, TOKENS, HEADS, VECTOR = (1, 64, 56, 56), (1, 128, 768), (1, 12, 128, 128), (200000,)


class K:
    def __init__(self, array):
        self.array = np.asarray(array)


def ints(*values):
    return K(np.array(values, np.int64))


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def positive(*shape):
    return (0.1 + np.abs(RANDOM.standard_normal(shape))).astype(np.float32)


def between(low, high, *shape, dtype=np.float32):
    if np.issubdtype(dtype, np.integer):
        return RANDOM.integers(low, high, shape).astype(dtype)
    return (low + (high - low) * RANDOM.random(shape)).astype(dtype)


def below(n, *shape):
    return between(0, n, *shape, dtype=np.int64)


def flags(*shape):
    return RANDOM.random(shape) < 0.5


class Case:
    def __init__(self, what, op, *operands, outputs=1, version=OPSET, domain="", **attributes):
        self.what, self.op, self.operands, self.outputs = what, op, operands, outputs
        self.opset, self.domain, self.attributes = version, domain, attributes

    def model(self):
        """The model of one node, and what to feed it."""
        names, inputs, weights, feeds = [], [], [], {}
        for i, x in enumerate(self.operands):
            names.append("" if x is None else f"x{i}")
            if isinstance(x, K):
                weights.append(numpy_helper.from_array(x.array, f"x{i}"))
            elif x is not None:
                x = np.asarray(x)
                feeds[f"x{i}"] = x
                dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
                inputs.append(helper.make_tensor_value_info(f"x{i}", dtype, x.shape))
        outputs = [onnx.ValueInfoProto(name=f"y{i}") for i in range(self.outputs)]
        node = helper.make_node(self.op, names, [o.name for o in outputs], name=self.op, domain=self.domain,
                                **self.attributes)
        graph = helper.make_graph([node], "one", inputs, outputs, weights)
        domains = [helper.make_opsetid("", self.opset)]
        if self.domain:
            domains.append(helper.make_opsetid(self.domain, 5 if self.domain == "ai.onnx.ml" else 1))
        model = helper.make_model(graph, opset_imports=domains, ir_version=10)
        try:
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except onnx.shape_inference.InferenceError:
            pass
        return model, feeds


# ---- the operators, at sizes that networks have ----------------------------------------------------------------


def unary():
    for op in ("Abs Atan Ceil Celu Cos Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Mish Neg Reciprocal Relu "
               "Round Selu Sigmoid Sign Sin Sinh Cosh Softplus Softsign Tan Tanh ThresholdedRelu Asinh Gelu").split():
        yield Case("image", op, normal(*IMAGE))
    for op in "Log Sqrt".split():
        yield Case("image", op, positive(*IMAGE))
    for op in "Acos Asin Atanh".split():
        yield Case("image", op, between(-0.99, 0.99, *IMAGE))
    yield Case("image", "Acosh", 1 + positive(*IMAGE))
    yield Case("tanh, tokens", "Gelu", normal(1, 128, 3072), approximate="tanh")
    yield Case("image", "Clip", normal(*IMAGE), K(np.float32(0)), K(np.float32(6)))
    for op in "IsNaN IsInf".split():
        yield Case("image", op, normal(*IMAGE))
    yield Case("vector", "Not", flags(*VECTOR))
    for op in "Abs Neg Relu Sign".split():
        yield Case("int32", op, between(-99, 99, *VECTOR, dtype=np.int32))
    for op in "Abs Neg".split():
        yield Case("int64", op, between(-99, 99, *VECTOR, dtype=np.int64))
    for op in "Abs Neg Relu Sigmoid Tanh Exp Sqrt".split():
        yield Case("float16", op, np.abs(normal(*VECTOR, dtype=np.float16)))
    yield Case("uint8", "BitwiseNot", between(0, 255, *VECTOR, dtype=np.uint8))
    for op in "Exp Log Sqrt Tanh".split():
        yield Case("float64", op, positive(*VECTOR).astype(np.float64))


def binary():
    a, b = normal(*IMAGE), positive(*IMAGE)
    for op in "Add Sub Mul Div Max Min PRelu".split():
        yield Case("image, same shape", op, a, b)
    for op in "Add Mul".split():
        yield Case("image, a channel", op, a, normal(64, 1, 1))
        yield Case("image, a scalar", op, a, normal())
        yield Case("tokens, last dim", op, normal(*TOKENS), normal(768))
        yield Case("tokens, all but last dim", op, normal(*TOKENS), normal(1, 128, 1))
        yield Case("heads, mask", op, normal(*HEADS), normal(1, 1, 1, 128))
        yield Case("outer", op, normal(512, 1), normal(1, 512))
        yield Case("float16", op, normal(*VECTOR, dtype=np.float16), normal(*VECTOR, dtype=np.float16))
    yield Case("image, a channel", "PRelu", a, normal(64, 1, 1))
    yield Case("tokens, all but last dim", "Sub", normal(*TOKENS), normal(1, 128, 1))
    yield Case("tokens, all but last dim", "Div", normal(*TOKENS), positive(1, 128, 1))
    yield Case("squares", "Pow", a, K(np.float32(2)))
    yield Case("cubes", "Pow", a, K(np.float32(3)))
    yield Case("roots", "Pow", b, K(np.float32(0.5)))
    yield Case("image, same shape", "Pow", b, a)
    yield Case("fmod", "Mod", a, b, fmod=1)
    for op in "Sum Mean Max Min".split():
        yield Case("three", op, a, b, a)
    for t in (np.int64, np.int32, np.uint8, np.int8):
        x, y = between(0, 120, *VECTOR, dtype=t), between(1, 100, *VECTOR, dtype=t)
        for op in "Add Mul Div Max".split():
            if not (op == "Max" and t in (np.uint8, np.int8)) and (np.dtype(t).itemsize > 1 or op == "Add"):
                yield Case(np.dtype(t).name, op, x, y)
        yield Case(np.dtype(t).name, "Mod", x, y)
        yield Case(np.dtype(t).name, "BitwiseAnd", x, y)
    x = between(0, 120, *VECTOR, dtype=np.int64)
    yield Case("int64, by a scalar", "Div", x, K(np.int64(7)))
    yield Case("int64, by a scalar", "Mod", x, K(np.int64(7)))
    yield Case("int64 squares", "Pow", x, K(np.int64(2)))
    for op in "Equal Greater Less GreaterOrEqual LessOrEqual".split():
        yield Case("image", op, a, b)
        yield Case("int64", op, x, below(120, *VECTOR))
    for op in "And Or Xor".split():
        yield Case("vector", op, flags(*VECTOR), flags(*VECTOR))
    yield Case("uint32", "BitShift", between(0, 99, *VECTOR, dtype=np.uint32), between(0, 9, *VECTOR, dtype=np.uint32),
               direction="LEFT")
    yield Case("image", "Where", flags(*IMAGE), a, b)
    yield Case("heads, mask and scalar", "Where", flags(1, 1, 128, 128), normal(*HEADS), normal())
    yield Case("int64", "Where", flags(*VECTOR), x, x)


def casts():
    kinds = {"float32": 9 * normal(*VECTOR), "float16": 9 * normal(*VECTOR, dtype=np.float16),
             "float64": normal(*VECTOR, dtype=np.float64), "int64": below(200, *VECTOR),
             "int32": between(0, 200, *VECTOR, dtype=np.int32), "uint8": between(0, 255, *VECTOR, dtype=np.uint8),
             "int8": between(-99, 99, *VECTOR, dtype=np.int8), "bool": flags(*VECTOR)}
    pairs = ("float32 float16, float16 float32, float32 int64, int64 float32, float32 uint8, uint8 float32, "
             "bool float32, float32 bool, int64 int32, int32 int64, float32 float64, float64 float32, float32 int32, "
             "int32 float32, int64 bool, bool int64, float32 int8, int8 float32, float32 bfloat16")
    for pair in pairs.split(", "):
        source, to = pair.split()
        yield Case(f"{source} to {to}", "Cast", kinds[source], to=getattr(onnx.TensorProto, {
            "float32": "FLOAT", "float64": "DOUBLE"}.get(to, to.upper())))


def reductions():
    image, tokens = positive(*IMAGE), positive(*TOKENS)
    for op in "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split():
        few = op in ("ReduceSum", "ReduceMean", "ReduceMax")
        yield Case("tokens, last axis", op, tokens, ints(-1))
        yield Case("tokens, middle axis", op, tokens, ints(1))
        if few:
            yield Case("image, rows and columns", op, image, ints(2, 3))
            yield Case("image, channels", op, image, ints(1))
            yield Case("image, all", op, image)
            yield Case("matrix, first axis", op, positive(2048, 100), ints(0))
            yield Case("small last axis", op, positive(20000, 4), ints(-1))
    for t in (np.int64, np.int32):
        yield Case(np.dtype(t).name, "ReduceSum", between(0, 9, 256, 784, dtype=t), ints(-1))
        yield Case(np.dtype(t).name, "ReduceMax", between(0, 9, 256, 784, dtype=t), ints(-1))
    yield Case("float16", "ReduceMean", normal(256, 784, dtype=np.float16), ints(-1))
    for op in "ArgMax ArgMin".split():
        yield Case("classes", op, normal(200, 1000), axis=-1)
        yield Case("image, channels", op, normal(*IMAGE), axis=1)
        yield Case("language", op, normal(1, 50257), axis=-1)
        yield Case("int32", op, between(0, 99, 200, 1000, dtype=np.int32), axis=-1)
    yield Case("last axis", "CumSum", normal(256, 784), K(np.int64(1)))
    yield Case("first axis", "CumSum", normal(256, 784), K(np.int64(0)))
    yield Case("int64", "CumSum", below(3, 8, 20000), K(np.int64(1)))


def normalizations():
    image, tokens = normal(*IMAGE), normal(*TOKENS)
    c = 64
    yield Case("heads", "Softmax", normal(*HEADS), axis=-1)
    yield Case("classes", "Softmax", normal(8, 1000), axis=-1)
    yield Case("channels", "Softmax", image, axis=1)
    yield Case("two classes", "Softmax", normal(1, 40000, 2), axis=-1)
    yield Case("float16", "Softmax", normal(*HEADS, dtype=np.float16), axis=-1)
    yield Case("language", "LogSoftmax", normal(4, 50257), axis=-1)
    yield Case("channels", "LogSoftmax", image, axis=1)
    yield Case("classes", "Hardmax", normal(200, 1000), axis=-1)
    yield Case("tokens", "LayerNormalization", tokens, normal(768), normal(768), axis=-1)
    yield Case("narrow", "LayerNormalization", normal(1, 3136, 96), normal(96), normal(96), axis=-1)
    yield Case("tokens", "RMSNormalization", tokens, normal(768), axis=-1, version=23)
    yield Case("image", "BatchNormalization", image, normal(c), normal(c), normal(c), positive(c))
    yield Case("image", "InstanceNormalization", image, normal(c), normal(c))
    yield Case("image", "GroupNormalization", image, normal(c), normal(c), num_groups=8)
    yield Case("two images", "InstanceNormalization", normal(2, 16, 128, 128), normal(16), normal(16))
    yield Case("tokens", "LpNormalization", tokens, axis=-1, p=2)
    yield Case("image", "MeanVarianceNormalization", image)
    yield Case("image", "LRN", image, size=5)


def windows():
    image, big = normal(*IMAGE), normal(1, 64, 112, 112)
    yield Case("3x3, step 2", "MaxPool", big, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield Case("2x2, step 2", "MaxPool", big, kernel_shape=[2, 2], strides=[2, 2])
    yield Case("5x5, step 1", "MaxPool", normal(1, 128, 13, 13), kernel_shape=[5, 5], pads=[2, 2, 2, 2])
    yield Case("13x13, step 1", "MaxPool", normal(1, 128, 13, 13), kernel_shape=[13, 13], pads=[6, 6, 6, 6])
    yield Case("with indices", "MaxPool", image, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    video = normal(1, 32, 16, 32, 32)
    yield Case("3x3x3, step 2", "MaxPool", video, kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1] * 6)
    yield Case("1x3x3, step 2", "MaxPool", video, kernel_shape=[1, 3, 3], strides=[1, 2, 2], pads=[0, 1, 1, 0, 1, 1])
    yield Case("1 dim", "MaxPool", normal(1, 64, 4000), kernel_shape=[3], strides=[2])
    yield Case("3x3, step 2", "AveragePool", big, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield Case("3x3, step 1", "AveragePool", image, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    yield Case("2x2, step 2", "AveragePool", big, kernel_shape=[2, 2], strides=[2, 2])
    yield Case("3x3, step 2", "LpPool", image, kernel_shape=[3, 3], strides=[2, 2], p=2)
    yield Case("image", "GlobalAveragePool", image)
    yield Case("7x7", "GlobalAveragePool", normal(1, 2048, 7, 7))
    yield Case("image", "GlobalMaxPool", image)
    yield Case("boxes", "RoiAlign", normal(1, 32, 50, 50), between(0, 40, 20, 4).cumsum(-1).astype(np.float32),
               np.zeros(20, np.int64), output_height=7, output_width=7, sampling_ratio=2, version=16)
    yield Case("boxes", "MaxRoiPool", normal(1, 32, 50, 50),
               np.concatenate([np.zeros((20, 1)), np.tile([[2, 3, 30, 40]], (20, 1))], 1).astype(np.float32),
               pooled_shape=[7, 7], version=21)
    x, two = normal(1, 32, 64, 64), K(np.array([1, 1, 2, 2], np.float32))
    for mode in "nearest linear cubic".split():
        yield Case(f"{mode}, twice", "Resize", x, None, two, mode=mode)
        yield Case(f"{mode}, to 100x90", "Resize", x, None, None, ints(1, 32, 100, 90), mode=mode)
    yield Case("linear, half", "Resize", x, None, K(np.array([1, 1, 0.5, 0.5], np.float32)), mode="linear")
    yield Case("cubic, antialias", "Resize", normal(1, 3, 224, 224), None, K(np.array([1, 1, 0.3, 0.3], np.float32)), mode="cubic",
               antialias=1)
    yield Case("nearest, floor", "Resize", x, None, two, mode="nearest", nearest_mode="floor",
               coordinate_transformation_mode="asymmetric")
    yield Case("linear, align corners", "Resize", x, None, None, ints(1, 32, 128, 128), mode="linear",
               coordinate_transformation_mode="align_corners")
    grid = between(-1, 1, 1, 64, 64, 2)
    for mode in "linear nearest cubic".split():
        yield Case(mode, "GridSample", x, grid, mode=mode)
    offsets, mask = normal(1, 18, 28, 28), positive(1, 9, 28, 28)
    yield Case("3x3", "DeformConv", normal(1, 64, 28, 28), K(normal(64, 64, 3, 3)), offsets, K(normal(64)), mask, pads=[1] * 4)
    corners = between(0, 30, 100, 2)
    yield Case("many channels", "RoiAlign", normal(1, 256, 50, 50), np.concatenate([corners, corners + 15], 1),
               np.zeros(100, np.int64), output_height=7, output_width=7, sampling_ratio=2, version=16)
    yield Case("image", "AffineGrid", normal(1, 2, 3), ints(1, 3, 224, 224))
    yield Case("3x3", "Col2Im", normal(1, 16 * 9, 62 * 62), ints(64, 64), ints(3, 3))


def movement():
    image = normal(*IMAGE)
    yield Case("NCHW to NHWC", "Transpose", image, perm=[0, 2, 3, 1])
    yield Case("NHWC to NCHW", "Transpose", normal(1, 56, 56, 64), perm=[0, 3, 1, 2])
    yield Case("split heads", "Transpose", normal(1, 128, 12, 64), perm=[0, 2, 1, 3])
    yield Case("keys", "Transpose", normal(1, 12, 128, 64), perm=[0, 1, 3, 2])
    yield Case("keys of tokens", "Transpose", normal(1, 128, 12, 64), perm=[0, 2, 3, 1])
    yield Case("matrix", "Transpose", normal(512, 512), perm=[1, 0])
    yield Case("matrix, uint8", "Transpose", between(0, 255, 512, 512, dtype=np.uint8), perm=[1, 0])
    yield Case("matrix, float16", "Transpose", normal(512, 512, dtype=np.float16), perm=[1, 0])
    yield Case("shuffle", "Transpose", normal(1, 2, 58, 28, 28), perm=[0, 2, 1, 3, 4])
    yield Case("windows", "Transpose", normal(1, 8, 7, 8, 7, 96), perm=[0, 1, 3, 2, 4, 5])
    yield Case("tokens", "Reshape", normal(*TOKENS), ints(1, 128, 12, 64))
    yield Case("channels", "Concat", image, image, axis=1)
    yield Case("last dim", "Concat", normal(1, 128, 384), normal(1, 128, 384), axis=-1)
    yield Case("small last dim", "Concat", normal(10000, 4), normal(10000, 1), normal(10000, 2), axis=-1)
    yield Case("channels", "Split", image, ints(32, 32), outputs=2, axis=1)
    yield Case("last dim", "Split", normal(1, 128, 2304), ints(768, 768, 768), outputs=3, axis=-1)
    yield Case("last dim", "Slice", normal(1, 128, 768), ints(64), ints(700), ints(2))
    yield Case("rows and columns", "Slice", image, ints(3, 3), ints(50, 50), ints(2, 3))
    yield Case("step 2", "Slice", normal(1, 12, 224, 224), ints(0, 0), ints(224, 224), ints(2, 3), ints(2, 2))
    yield Case("backwards", "Slice", normal(256, 784), ints(-1), ints(-(1 << 40)), ints(1), ints(-1))
    for mode in "constant reflect edge wrap".split():
        yield Case(mode, "Pad", image, ints(0, 0, 1, 1, 0, 0, 1, 1), mode=mode)
    yield Case("wide", "Pad", normal(8, 16000), ints(0, 512, 0, 512), mode="reflect")
    yield Case("rows", "Gather", normal(30000, 64), below(30000, 1, 2000), axis=0)
    yield Case("few rows", "Gather", normal(30522, 768), below(30522, 1, 128), axis=0)
    yield Case("middle axis", "Gather", normal(8, 400, 64), below(400, 300), axis=1)
    yield Case("last axis", "Gather", normal(500, 784), below(784, 300), axis=-1)
    yield Case("one of a row", "Gather", normal(2, 400, 300), K(np.int64(1)), axis=0)
    yield Case("last axis", "GatherElements", normal(500, 784), below(784, 500, 300), axis=-1)
    yield Case("first axis", "GatherElements", normal(500, 784), below(500, 300, 784), axis=0)
    yield Case("rows", "GatherND", normal(100, 100, 64), below(100, 2000, 2))
    yield Case("elements", "GatherND", normal(500, 784), below(500, 100000, 2))
    yield Case("last axis", "ScatterElements", normal(500, 784), np.tile(RANDOM.permutation(784)[:300], (500, 1)),
               normal(500, 300), axis=-1)
    yield Case("add", "ScatterElements", normal(500, 784), below(784, 500, 300), normal(500, 300), axis=-1, reduction="add")
    places = np.stack([RANDOM.permutation(2000)[:1000]], -1)
    yield Case("rows", "ScatterND", normal(2000, 64), places, normal(1000, 64))
    yield Case("add", "ScatterND", normal(2000, 64), places, normal(1000, 64), reduction="add")
    yield Case("tokens", "Tile", normal(1, 128, 384), ints(2, 1, 2))
    yield Case("last dim", "Tile", normal(20000, 1), ints(1, 16))
    yield Case("mask", "Expand", normal(1, 1, 1, 128), ints(1, 12, 128, 128))
    yield Case("last dim", "Expand", normal(1, 128, 1), ints(8, 128, 384))
    yield Case("int64", "Expand", below(9, 1, 128), ints(1000, 128))
    for mode in "DCR CRD".split():
        yield Case(mode, "DepthToSpace", normal(1, 64, 56, 56), blocksize=2, mode=mode)
    yield Case("image", "SpaceToDepth", normal(1, 16, 112, 112), blocksize=2)
    yield Case("tokens", "ReverseSequence", normal(128, 8, 256), between(1, 128, 8, dtype=np.int64))
    yield Case("rows", "Compress", normal(2000, 128), flags(2000), axis=0)
    yield Case("last axis", "Compress", normal(500, 400), flags(400), axis=-1)
    yield Case("elements", "Compress", normal(*VECTOR), flags(*VECTOR))
    yield Case("lower", "Trilu", normal(12, 128, 128), upper=0)
    yield Case("matrix", "EyeLike", normal(500, 500))
    yield Case("tokens", "OneHot", below(1000, 256), K(np.int64(1000)), K(np.array([0, 1], np.float32)))
    yield Case("int64", "Range", np.int64(0), np.int64(200000), np.int64(1))
    yield Case("float32", "ConstantOfShape", np.array([500, 400], np.int64))
    yield Case("image", "CenterCropPad", normal(3, 300, 300), ints(224, 224), axes=[1, 2])


def searches():
    boxes = np.sort(between(0, 100, 1, 1000, 2, 2), axis=2).reshape(1, 1000, 4).astype(np.float32)
    yield Case("5 of 1000", "TopK", normal(200, 1000), ints(5), outputs=2)
    yield Case("all of 1000", "TopK", normal(100, 1000), ints(1000), outputs=2)
    yield Case("100 of 100000", "TopK", normal(1, 100000), ints(100), outputs=2)
    yield Case("40 of 50257", "TopK", normal(1, 50257), ints(40), outputs=2)
    yield Case("half true", "NonZero", flags(500, 400))
    yield Case("float32", "NonZero", np.maximum(normal(500, 400), 0))
    yield Case("elements", "Unique", below(5000, 100000), outputs=4)
    yield Case("float32", "Unique", normal(50000), outputs=1)
    yield Case("rows", "Unique", below(4, 2000, 4), outputs=2, axis=0)
    yield Case("1000 boxes", "NonMaxSuppression", boxes, between(0, 1, 1, 4, 1000), ints(100), K(np.float32(0.5)),
               K(np.float32(0.3)))
    centres, sizes = between(0, 600, 1, 8400, 2), between(5, 80, 1, 8400, 2)
    boxes = np.concatenate([centres - sizes, centres + sizes], -1)
    yield Case("8400 boxes, 80 classes", "NonMaxSuppression", boxes, between(0, 1, 1, 80, 8400) ** 8, ints(100),
               K(np.float32(0.65)), K(np.float32(0.25)))
    yield Case("matrices", "Det", normal(2000, 4, 4))
    yield Case("big matrices", "Det", normal(20, 64, 64))


def quantized():
    image, tokens = normal(*IMAGE), normal(*TOKENS)
    for t in (np.uint8, np.int8):
        q = between(-99 if t is np.int8 else 0, 99, *IMAGE, dtype=t)
        name = np.dtype(t).name
        yield Case(name, "QuantizeLinear", image, K(np.float32(0.02)), K(t(3)))
        yield Case(f"{name}, by channels", "QuantizeLinear", image, positive(64), np.zeros(64, t), axis=1)
        yield Case(name, "DequantizeLinear", q, K(np.float32(0.02)), K(t(3)))
        yield Case(f"{name}, by channels", "DequantizeLinear", q, positive(64), np.zeros(64, t), axis=1)
    yield Case("int32", "DequantizeLinear", between(-999, 999, *VECTOR, dtype=np.int32), K(np.float32(0.02)))
    yield Case("int8, last axis", "DequantizeLinear", between(-99, 99, 768, 768, dtype=np.int8), positive(768), axis=1)
    yield Case("tokens", "DynamicQuantizeLinear", tokens, outputs=3)
    q = between(0, 255, *IMAGE, dtype=np.uint8)
    s, z = K(np.float32(0.02)), K(np.uint8(128))
    ms = {"domain": "com.microsoft"}
    for op in "QLinearAdd QLinearMul".split():
        yield Case("uint8", op, q, s, z, q, s, z, s, z, **ms)
    yield Case("uint8", "QLinearSigmoid", q, s, z, s, z, **ms)
    yield Case("uint8", "QLinearLeakyRelu", q, s, z, s, z, alpha=0.1, **ms)
    yield Case("uint8", "QLinearGlobalAveragePool", q, s, z, s, z, **ms)
    yield Case("3x3, uint8", "QLinearAveragePool", q, s, z, s, z, kernel_shape=[3, 3], **ms)
    yield Case("uint8", "QLinearSoftmax", between(0, 255, 200, 1000, dtype=np.uint8), s, z, K(np.float32(1 / 256)),
               K(np.uint8(0)), axis=-1, opset=13, **ms)
    yield Case("uint8", "QLinearConcat", s, z, q, s, z, q, s, z, axis=1, **ms)


def transformers():
    ms, tokens = {"domain": "com.microsoft"}, normal(*TOKENS)
    yield Case("tokens", "SkipLayerNormalization", tokens, tokens, normal(768), normal(768), normal(768), **ms)
    yield Case("tokens", "SkipSimplifiedLayerNormalization", tokens, tokens, normal(768), **ms)
    yield Case("tokens", "BiasGelu", normal(1, 128, 3072), normal(3072), **ms)
    yield Case("tokens", "FastGelu", normal(1, 128, 3072), normal(3072), **ms)
    yield Case("image", "QuickGelu", normal(*IMAGE), **ms)
    x, angles = normal(1, 128, 768), normal(128, 32)
    yield Case("heads", "RotaryEmbedding", x, np.cos(angles), np.sin(angles), np.arange(128, dtype=np.int64)[None],
               num_heads=12, version=23)
    yield Case("window 400", "STFT", normal(1, 16000, 1), K(np.int64(160)), K(np.hanning(400).astype(np.float32)),
               K(np.int64(400)))
    yield Case("length 512", "DFT", normal(64, 512, 1), None, K(np.int64(1)))
    yield Case("length 400", "DFT", normal(64, 400, 1), None, K(np.int64(1)))
    yield Case("wide", "HannWindow", np.int64(100000))


def learning():
    ml = {"domain": "ai.onnx.ml"}
    x = normal(5000, 40)
    yield Case("table", "Scaler", x, offset=[0.5] * 40, scale=[2.0] * 40, **ml)
    yield Case("table", "Normalizer", x, norm="L2", **ml)
    yield Case("table", "Binarizer", x, threshold=0.0, **ml)
    yield Case("table", "Imputer", x, imputed_value_floats=[0.0] * 40, replaced_value_float=1.0, **ml)
    yield Case("int64", "LabelEncoder", below(100, 50000), keys_int64s=list(range(90)),
               values_floats=[float(i) for i in range(90)], default_float=-1.0, **ml)
    yield Case("table", "LinearRegressor", x, coefficients=[0.1] * 40, intercepts=[0.0], **ml)


GROUPS = [unary, binary, casts, reductions, normalizations, windows, movement, searches, quantized, transformers, learning]


def listed():
    return [c for group in GROUPS for c in group()]


# ---- the nodes of whole models ---------------------------------------------------------------------------------


def run_all(path, feeds):
    """Every value of a model's main graph, by ONNX Runtime without optimisations."""
    import onnxruntime as ort
    model = onnx.load(path)
    model = onnx.shape_inference.infer_shapes(model)
    known = {o.name for o in model.graph.output}
    names = [o for n in model.graph.node for o in n.output if o and o not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    weights = {t.name: numpy_helper.to_array(t, str(pathlib.Path(path).parent)) for t in model.graph.initializer}
    return model, {**weights, **feeds, **values}, set(weights)


def feeds_of(folder):
    session_inputs = {}
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    weights = {t.name for t in model.graph.initializer}
    data = next(iter(sorted(folder.glob("test_data_set_*"))))
    infos = [i for i in model.graph.input if i.name not in weights]
    for i, info in enumerate(infos):
        t = onnx.TensorProto()
        t.ParseFromString((data / f"input_{i}.pb").read_bytes())
        session_inputs[info.name] = numpy_helper.to_array(t)
    return session_inputs


def of_model(folder, least=20000):
    """The dearest node of each operator, and of each other form of it, that makes at least so many elements."""
    model, values, weights = run_all(folder / "model.onnx", feeds_of(folder))
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    constants = {n.output[0] for n in model.graph.node if n.op_type == "Constant"}
    best = {}
    for n in model.graph.node:
        outputs = [values.get(o) for o in n.output]
        if n.op_type in CONTRACTIONS | SKIPPED or not outputs or not all(isinstance(v, np.ndarray) for v in outputs):
            continue
        inputs = [values.get(i) if i else None for i in n.input]
        work = sum(v.size for v in outputs + inputs if isinstance(v, np.ndarray) and v.dtype != object)
        if work < least or any(i and v is None for i, v in zip(n.input, inputs)):
            continue
        fixed = [i in weights | constants for i in n.input]
        operands = [K(v) if f and v.size < 100 else v for v, f in zip(inputs, fixed)]
        attributes = {a.name: helper.get_attribute_value(a) for a in n.attribute}
        shapes = " ".join("x".join(map(str, v.shape)) or "scalar" for v in inputs if v is not None and v.size > 16)
        form = (n.op_type, tuple(v.ndim for v in inputs if v is not None), str(outputs[0].dtype),
                tuple(sorted((k, str(v)) for k, v in attributes.items())))
        case = Case(f"{folder.name}, {shapes}", n.op_type, *operands, outputs=len(outputs), version=opset, domain=n.domain,
                    **attributes)
        if form not in best or best[form][0] < work:
            best[form] = work, case
    return [c for _, c in best.values()]
