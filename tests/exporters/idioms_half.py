"""float16 versions of real structure, with casts at the borders or without. ONNX Runtime computes most of these in
float32 between casts and Cameo rounds where a node ends, so that the tolerances are those of float16: 2e-2 relative."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from idioms_graphs import info, model, node

H = TensorProto.FLOAT16
LOOSE = {"rtol": 2e-2, "atol": 1e-2}


def half(name, *shape, seed=0, scale=0.3):
    return numpy_helper.from_array((np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float16), name)


def drawn(*shapes):
    return [lambda r, s=s: {"X": r.standard_normal(s).astype(np.float16)} for s in shapes]


def conv_block():
    w = [half("w", 6, 3, 3, 3), half("b", 6, seed=1), half("scale", 6, seed=2), half("shift", 6, seed=3), half("mean", 6, seed=4),
         numpy_helper.from_array(np.linspace(0.5, 1.5, 6).astype(np.float16), "var"), half("w2", 6, 1, 3, 3, seed=5)]
    nodes = [node("Conv", ["X", "w", "b"], ["c"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
             node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"]), node("Relu", ["n"], ["r"]),
             node("Conv", ["r", "w2"], ["d"], group=6, strides=[2, 2], pads=[1, 1, 1, 1]), node("HardSwish", ["d"], ["h"]),
             node("GlobalAveragePool", ["h"], ["p"]), node("Flatten", ["p"], ["Y"])]
    return model(nodes, [info("X", H, ["n", 3, "h", "w"])], [info("Y", H, ["n", 6])], w)


def attention_block():
    w = [half(f"w{k}", 8, 8, seed=i) for i, k in enumerate("qkvo")]
    w += [numpy_helper.from_array(np.array([0, 0, 2, 4], np.int64), "split"), numpy_helper.from_array(np.array([0, 0, 8], np.int64), "join"),
          numpy_helper.from_array(np.float16(2.0), "root"), numpy_helper.from_array(np.float16(-np.inf), "low"),
          numpy_helper.from_array(np.int64(1), "one")]
    nodes = []
    for k in "qkv":
        nodes += [node("MatMul", ["X", "w" + k], [k + "0"]), node("Reshape", [k + "0", "split"], [k + "1"]),
                  node("Transpose", [k + "1"], [k], perm=[0, 2, 3, 1] if k == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["q", "k"], ["s0"]), node("Div", ["s0", "root"], ["s"]), node("Shape", ["s"], ["size"], start=2),
              node("Expand", ["low", "size"], ["all"]), node("Trilu", ["all", "one"], ["mask"], upper=1), node("Add", ["s", "mask"], ["m"]),
              node("Softmax", ["m"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["o0"]), node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
              node("Reshape", ["o1", "join"], ["o"]), node("MatMul", ["o", "wo"], ["y"]), node("Add", ["X", "y"], ["Y"])]
    return model(nodes, [info("X", H, ["n", "l", 8])], [info("Y", H, ["n", "l", 8])], w)


def norm_in_pieces():
    w = [half("g", 12), half("b", 12, seed=1), numpy_helper.from_array(np.float16(1e-3), "eps"), numpy_helper.from_array(np.float16(2), "two")]
    nodes = [node("ReduceMean", ["X"], ["m"], axes=[-1]), node("Sub", ["X", "m"], ["d"]), node("Pow", ["d", "two"], ["q"]),
             node("ReduceMean", ["q"], ["v"], axes=[-1]), node("Add", ["v", "eps"], ["e"]), node("Sqrt", ["e"], ["r"]), node("Div", ["d", "r"], ["n"]),
             node("Mul", ["n", "g"], ["s"]), node("Add", ["s", "b"], ["Y"])]
    return model(nodes, [info("X", H, ["n", 12])], [info("Y", H, ["n", 12])], w)


def bordered():
    """Weights in float16, inputs and outputs in float32: casts at the borders and around what stays in float32."""
    w = [half("w", 6, 5), half("b", 5, seed=1)]
    nodes = [node("Cast", ["X"], ["x"], to=H), node("Gemm", ["x", "w", "b"], ["h"]), node("Cast", ["h"], ["h32"], to=1),
             node("Softmax", ["h32"], ["p32"], axis=-1), node("Cast", ["p32"], ["p"], to=H), node("Mul", ["p", "h"], ["y"]), node("Cast", ["y"], ["Y"], to=1)]
    return model(nodes, [info("X", 1, ["n", 6])], [info("Y", 1, ["n", 5])], w)


def single(op, shape, *weights, opset=20, **attributes):
    def build():
        return model([node(op, ["X", *(w.name for w in weights)], ["Y"], **attributes)], [info("X", H, shape)], [info("Y", H, None)], weights, opset, ir=9)
    return build


def typed_weights():
    """float16 and bfloat16 as the integers of int32_data."""
    a = np.array([[1, -2], [0.5, 3]], np.float16)
    t = helper.make_tensor("w", H, [2, 2], a.view(np.uint16).ravel().tolist(), raw=False)
    t.ClearField("int32_data")
    t.int32_data.extend(a.view(np.uint16).ravel().tolist())
    t.ClearField("raw_data")
    b = onnx_bfloat("v", [1.0, -2.5])
    nodes = [node("MatMul", ["X", "w"], ["h"]), node("Cast", ["v"], ["f"], to=1), node("Cast", ["h"], ["g"], to=1), node("Add", ["g", "f"], ["Y"])]
    return model(nodes, [info("X", H, ["n", 2])], [info("Y", 1, ["n", 2])], [t, b])


def onnx_bfloat(name, values):
    t = TensorProto(name=name, data_type=TensorProto.BFLOAT16, dims=[len(values)])
    t.int32_data.extend((np.array(values, np.float32).view(np.uint32) >> 16).tolist())
    return t


def write(s):
    s.model("half_conv_norm_relu", conv_block, *drawn((1, 3, 8, 8), (2, 3, 5, 6), (3, 3, 4, 4)), **LOOSE)
    s.model("half_attention", attention_block, *drawn((2, 5, 8), (1, 1, 8), (3, 4, 8)), **LOOSE)
    s.model("half_norm_in_pieces", norm_in_pieces, *drawn((2, 12), (1, 12), (0, 12)), **LOOSE)
    s.model("half_between_casts", bordered, *({"X": np.random.default_rng(b).standard_normal((b, 6)).astype(np.float32)} for b in (1, 4)), **LOOSE)
    s.model("half_typed_weights", typed_weights, *drawn((2, 2), (1, 2)), **LOOSE)
    s.model("half_layer_norm", single("LayerNormalization", ["n", 12], half("g", 12), half("b", 12, seed=1)), *drawn((2, 12), (3, 12)), **LOOSE)
    s.model("half_gelu", single("Gelu", ["n", 12], approximate="tanh"), *drawn((2, 12)), **LOOSE)
    s.model("half_softmax", single("Softmax", ["n", 40], axis=-1), *drawn((2, 40), (1, 40)), rtol=2e-2, atol=1e-3)
    s.model("half_instance_norm", single("InstanceNormalization", ["n", 3, "h", "w"], half("g", 3), half("b", 3, seed=1)), *drawn((2, 3, 4, 5), (1, 3, 8, 8)), **LOOSE)
    s.model("half_average_pool", single("AveragePool", ["n", 2, "h", "w"], kernel_shape=[2, 2], strides=[2, 2]), *drawn((1, 2, 4, 6)), **LOOSE)
    s.model("half_resize", single("Resize", ["n", 2, "h", "w"], numpy_helper.from_array(np.zeros(0, np.float16), "roi"),
                                  numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"), mode="linear"), *drawn((1, 2, 4, 6)), **LOOSE)
    s.model("half_reduce_of_many", single("ReduceSum", ["n", 4096], numpy_helper.from_array(np.array([1], np.int64), "axes"), keepdims=0),
            lambda r: {"X": (r.random((2, 4096)) * 4).astype(np.float16)}, rtol=2e-2, atol=1)
    s.model("half_einsum", single("Einsum", ["n", 3, 4], half("w", 4, 5), equation="nij,jk->nki"), *drawn((2, 3, 4)), **LOOSE)
