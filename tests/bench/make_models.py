#!/usr/bin/env python3
"""Writes well-known networks with random weights, each with one data set, as the backend suite lays them out.

    python3 make_models.py OUT [NAME...] [--small]

    resnet50       He et al. 2015, with the stride in the 3x3 convolutions; BatchNormalization as nodes
    mobilenetv2    Sandler et al. 2018
    bert           Devlin et al. 2018, base: LayerNorm and GELU in pieces, as PyTorch exports them for opset 13
    bert_whole     the same with LayerNormalization and Gelu as one node each, opset 20
    gpt2_token     Radford et al. 2019, small: one token after 256 cached ones

    resnet50_int8, mobilenetv2_int8      quantised by ONNX Runtime's tool: QDQ, BatchNormalization folded first, uint8
                                         activations calibrated on the data set, int8 weights with a scale a channel
    bert_int8, gpt2_token_int8           the same tool, dynamic: int8 weights, activations quantised in each run

    llama_q4, ...                        language.py: only where they are named, or small

The architectures are those of the papers; weights come from a fixed seed and are scaled so that activations stay near
one. Expected outputs are ONNX Runtime's without optimisations; of quantised models any runtime's differ by steps of the
quantisation that fall on the other side of a rounding, 1 to 3 % of the rms. --small writes narrow and shallow ones of the same
structure for tests, named NAME_small.
"""
import argparse
import logging
import math
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
import exact_bytes
import language


class Net:
    """A graph under construction. Every method that adds a node returns the names of its outputs."""

    def __init__(self, name, opset, seed):
        self.name, self.opset, self.random = name, opset, np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs, self.feeds = [], [], [], [], {}

    def add(self, op, *inputs, count=1, **attributes):
        stem = f"{op.lower()}{len(self.nodes)}"
        names = [stem] if count == 1 else [f"{stem}.{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=stem, **attributes))
        return names[0] if count == 1 else names

    def constant(self, array, name=None):
        name = name or f"weight{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def normal(self, *shape, scale=1.0, mean=0.0):
        return self.constant((mean + scale * self.random.standard_normal(shape)).astype(np.float32))

    def scalar(self, value):
        return self.constant(np.float32(value))

    def input(self, name, shape, array):
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        self.feeds[name] = array
        return name

    def output(self, value, shape):
        self.outputs.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, shape))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def save(self, out):
        folder = out / self.name
        folder.mkdir(parents=True, exist_ok=True)
        self.store(folder / "model.onnx")
        return self.write_data(folder)

    def store(self, path):
        onnx.save(self.model(), path)

    def check(self, path):
        onnx.checker.check_model(str(path), full_check=True)

    def write_data(self, folder):
        data = folder / "test_data_set_0"
        data.mkdir(exist_ok=True)
        self.check(folder / "model.onnx")
        for k, (name, array) in enumerate(self.feeds.items()):
            (data / f"input_{k}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        for k, (info, value) in enumerate(zip(self.outputs, self.expected(folder))):
            (data / f"output_{k}.pb").write_bytes(numpy_helper.from_array(value, info.name).SerializeToString())
        return (folder / "model.onnx").stat().st_size

    def expected(self, folder):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        model = exact_bytes.exact(onnx.load(folder / "model.onnx"))
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, self.feeds)


# ---- convolutional networks ------------------------------------------------------------------------------------


def conv_norm(net, x, channels, out, size, stride=1, groups=1, gain=1.0):
    fan_in = size * size * channels // groups
    w = net.normal(out, channels // groups, size, size, scale=math.sqrt(2 / fan_in))
    y = net.add("Conv", x, w, kernel_shape=[size, size], strides=[stride, stride], group=groups,
                pads=[size // 2] * 4)
    parts = [net.normal(out, scale=0.05, mean=gain), net.normal(out, scale=0.05), net.normal(out, scale=0.05),
             net.constant(net.random.uniform(0.8, 1.2, out).astype(np.float32))]
    return net.add("BatchNormalization", y, *parts, epsilon=1e-5)


def image(net, side):
    pixels = net.random.standard_normal((1, 3, side, side)).astype(np.float32)
    return net.input("image", ["batch", 3, side, side], pixels)


def classifier(net, x, channels, classes):
    pooled = net.add("Flatten", net.add("GlobalAveragePool", x), axis=1)
    w = net.normal(classes, channels, scale=1 / math.sqrt(channels))
    net.output(net.add("Gemm", pooled, w, net.normal(classes, scale=0.1), transB=1), ["batch", classes])


def bottleneck(net, x, channels, width, stride):
    y = net.add("Relu", conv_norm(net, x, channels, width, 1))
    y = net.add("Relu", conv_norm(net, y, width, width, 3, stride))
    y = conv_norm(net, y, width, 4 * width, 1, gain=0.4)
    if stride != 1 or channels != 4 * width:
        x = conv_norm(net, x, channels, 4 * width, 1, stride)
    return net.add("Relu", net.add("Add", y, x))


def resnet50(name, small):
    net = Net(name, 17, 50)
    base, blocks, side = (16, (1, 2, 1, 1), 64) if small else (64, (3, 4, 6, 3), 224)
    x = net.add("Relu", conv_norm(net, image(net, side), 3, base, 7, 2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = base
    for stage, count in enumerate(blocks):
        for block in range(count):
            width = base << stage
            x = bottleneck(net, x, channels, width, 2 if stage and not block else 1)
            channels = 4 * width
    classifier(net, x, channels, 1000)
    return net


def clipped(net, x):
    return net.add("Clip", x, net.scalar(0), net.scalar(6))


def mobilenetv2(name, small):
    net = Net(name, 17, 2)
    plan = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    side, plan = (64, plan[:3]) if small else (224, plan)
    x, channels = clipped(net, conv_norm(net, image(net, side), 3, 32, 3, 2)), 32
    for expand, out, count, first_stride in plan:
        for block in range(count):
            stride, wide, y = first_stride if block == 0 else 1, channels * expand, x
            if expand > 1:
                y = clipped(net, conv_norm(net, y, channels, wide, 1))
            y = clipped(net, conv_norm(net, y, wide, wide, 3, stride, groups=wide))
            y = conv_norm(net, y, wide, out, 1, gain=0.7)
            x = net.add("Add", x, y) if stride == 1 and channels == out else y
            channels = out
    last = 4 * channels
    classifier(net, clipped(net, conv_norm(net, x, channels, last, 1)), last, 1000)
    return net


# ---- transformers ----------------------------------------------------------------------------------------------


def linear(net, x, inputs, outputs, scale=1.0):
    w = net.normal(inputs, outputs, scale=scale / math.sqrt(inputs))
    return net.add("Add", net.add("MatMul", x, w), net.normal(outputs, scale=0.02))


def layer_norm(net, x, width, whole, epsilon):
    gamma, beta = net.normal(width, scale=0.05, mean=1.0), net.normal(width, scale=0.05)
    if whole:
        return net.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)
    centred = net.add("Sub", x, net.add("ReduceMean", x, axes=[-1]))
    variance = net.add("ReduceMean", net.add("Pow", centred, net.scalar(2)), axes=[-1])
    deviation = net.add("Sqrt", net.add("Add", variance, net.scalar(epsilon)))
    return net.add("Add", net.add("Mul", net.add("Div", centred, deviation), gamma), beta)


def gelu(net, x, whole):
    if whole:
        return net.add("Gelu", x)
    y = net.add("Erf", net.add("Div", x, net.scalar(math.sqrt(2))))
    return net.add("Mul", net.add("Mul", x, net.add("Add", y, net.scalar(1))), net.scalar(0.5))


def gelu_tanh(net, x):
    """The form that GPT-2 was trained with."""
    cube = net.add("Mul", net.add("Pow", x, net.scalar(3)), net.scalar(0.044715))
    inner = net.add("Mul", net.add("Add", x, cube), net.scalar(math.sqrt(2 / math.pi)))
    return net.add("Mul", net.add("Mul", x, net.scalar(0.5)), net.add("Add", net.add("Tanh", inner), net.scalar(1)))


def heads_of(net, x, heads, width, perm):
    shape = net.constant(np.array([0, 0, heads, width // heads], np.int64))
    return net.add("Transpose", net.add("Reshape", x, shape), perm=perm)


def attention(net, q, k_transposed, v, width, heads, mask=None):
    scores = net.add("Div", net.add("MatMul", q, k_transposed), net.scalar(math.sqrt(width // heads)))
    scores = net.add("Add", scores, mask) if mask else scores
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
    shape = net.constant(np.array([0, 0, width], np.int64))
    return net.add("Reshape", net.add("Transpose", mixed, perm=[0, 2, 1, 3]), shape)


def embeddings(net, ids, words, width):
    table = net.normal(words, width, scale=0.7)
    return net.add("Gather", table, ids, axis=0)


def bert(name, small, whole=False):
    net = Net(name, 20 if whole else 13, 12)
    layers, width, heads, words, length = (2, 64, 4, 200, 20) if small else (12, 768, 12, 30522, 128)
    dims = ["batch", "sequence"]
    ids = net.input("input_ids", dims, net.random.integers(0, words, (1, length)))
    keep = np.ones((1, length), np.int64)
    keep[:, length - length // 8:] = 0
    keep = net.input("attention_mask", dims, keep)
    kinds = net.input("token_type_ids", dims, (np.arange(length)[None] > length // 2).astype(np.int64))
    places = net.add("Range", net.constant(np.int64(0)), net.add("Gather", net.add("Shape", ids), net.constant(np.int64(1))),
                     net.constant(np.int64(1)))
    x = net.add("Add", embeddings(net, ids, words, width), embeddings(net, kinds, 2, width))
    x = layer_norm(net, net.add("Add", x, embeddings(net, places, 512, width)), width, whole, 1e-12)
    mask = net.add("Unsqueeze", keep, net.constant(np.array([1, 2], np.int64)))
    mask = net.add("Sub", net.scalar(1), net.add("Cast", mask, to=TensorProto.FLOAT))
    mask = net.add("Mul", mask, net.scalar(-10000))
    for _ in range(layers):
        q = heads_of(net, linear(net, x, width, width), heads, width, [0, 2, 1, 3])
        k = heads_of(net, linear(net, x, width, width), heads, width, [0, 2, 3, 1])
        v = heads_of(net, linear(net, x, width, width), heads, width, [0, 2, 1, 3])
        y = linear(net, attention(net, q, k, v, width, heads, mask), width, width)
        x = layer_norm(net, net.add("Add", y, x), width, whole, 1e-12)
        y = linear(net, gelu(net, linear(net, x, width, 4 * width), whole), 4 * width, width)
        x = layer_norm(net, net.add("Add", y, x), width, whole, 1e-12)
    first = net.add("Gather", x, net.constant(np.int64(0)), axis=1)
    net.output(x, ["batch", "sequence", width])
    net.output(net.add("Tanh", linear(net, first, width, width)), ["batch", width])
    return net


def gpt2_token(name, small):
    net = Net(name, 17, 117)
    layers, width, heads, words, past = (2, 64, 4, 200, 7) if small else (12, 768, 12, 50257, 256)
    ids = net.input("input_ids", ["batch", 1], net.random.integers(0, words, (1, 1)))
    places = net.input("position_ids", ["batch", 1], np.full((1, 1), past, np.int64))
    x = net.add("Add", embeddings(net, ids, words, width), embeddings(net, places, 1024, width))
    cached, present = ["batch", heads, "past", width // heads], []
    for i in range(layers):
        both = [net.input(f"past.{i}.{part}", cached, net.random.standard_normal(
            (1, heads, past, width // heads)).astype(np.float32)) for part in ("key", "value")]
        joined = linear(net, layer_norm(net, x, width, True, 1e-5), width, 3 * width)
        sizes = net.constant(np.array([width] * 3, np.int64))
        q, k, v = net.add("Split", joined, sizes, count=3, axis=2)
        q, k, v = (heads_of(net, part, heads, width, [0, 2, 1, 3]) for part in (q, k, v))
        k, v = (net.add("Concat", old, new, axis=2) for old, new in zip(both, (k, v)))
        present += [k, v]
        mixed = attention(net, q, net.add("Transpose", k, perm=[0, 1, 3, 2]), v, width, heads)
        x = net.add("Add", x, linear(net, mixed, width, width, scale=0.5))
        y = gelu_tanh(net, linear(net, layer_norm(net, x, width, True, 1e-5), width, 4 * width))
        x = net.add("Add", x, linear(net, y, 4 * width, width, scale=0.5))
    x = layer_norm(net, x, width, True, 1e-5)
    net.output(net.add("MatMul", x, net.normal(width, words, scale=1 / math.sqrt(width))), ["batch", 1, words])
    for value in present:
        net.output(value, ["batch", heads, "past + 1", width // heads])
    return net


# ---- quantised ---------------------------------------------------------------------------------------------------


class Calibration:
    """The data set of a folder, once, as ONNX Runtime's tool asks for it."""

    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


class Quantised(Net):
    """A net written in float32 first, then quantised; its data set is the net's."""

    def __init__(self, net, static):
        self.__dict__.update(net.__dict__)
        self.static, self.name = static, net.name

    def save(self, out):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            super().save(folder)
            model = folder / self.name / "model.onnx"
            (out / self.name).mkdir(parents=True, exist_ok=True)
            logging.disable(logging.WARNING)  # the tool's advice to run shape inference, which the next lines do
            self.quantise(model, folder / "folded.onnx", out / self.name / "model.onnx")
            logging.disable(logging.NOTSET)
        return self.write_data(out / self.name)

    def quantise(self, model, folded, path):
        from onnxruntime import quantization
        if not self.static:
            quantization.quantize_dynamic(model, path, weight_type=quantization.QuantType.QInt8)
            return
        quantization.quant_pre_process(model, folded, skip_symbolic_shape=True)
        quantization.quantize_static(
            folded, path, Calibration(self.feeds), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


MODELS = {
    "resnet50": resnet50,
    "mobilenetv2": mobilenetv2,
    "bert": bert,
    "bert_whole": lambda name, small: bert(name, small, whole=True),
    "gpt2_token": gpt2_token,
    "resnet50_int8": lambda name, small: Quantised(resnet50(name, small), True),
    "mobilenetv2_int8": lambda name, small: Quantised(mobilenetv2(name, small), True),
    "bert_int8": lambda name, small: Quantised(bert(name, small), False),
    "gpt2_token_int8": lambda name, small: Quantised(gpt2_token(name, small), False),
}
LANGUAGE = language.models(Net)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("names", nargs="*", help="of " + ", ".join(MODELS | LANGUAGE))
    p.add_argument("--small", action="store_true")
    options = p.parse_args()
    for name in options.names or [*MODELS, *(language.FOR_TESTS if options.small else [])]:
        net = (MODELS | LANGUAGE)[name](name + ("_small" if options.small else ""), options.small)
        size = net.save(options.out)
        print(f"{net.name}: {len(net.nodes)} nodes, {size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
