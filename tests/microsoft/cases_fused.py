"""Products, convolutions, activations and normalizations of com.microsoft."""
import itertools
import math

import numpy as np

from suite import generator, integers, normal


def matmuls(s):
    shapes = [((5, 7), (7, 3)), ((2, 5, 7), (2, 7, 3)), ((2, 3, 5, 7), (7, 4)), ((7,), (7, 3)), ((2, 5, 7), (7,))]
    for k, (a, b) in enumerate(shapes):
        for ta, tb in itertools.product((0, 1), (0, 1)):
            if (ta and len(a) < 2) or (tb and len(b) < 2):
                continue
            name = f"fused_matmul_{k}_{ta}{tb}"
            r = generator(name)
            turned = lambda shape, t: shape[:-2] + (shape[-1], shape[-2]) if t else shape  # noqa: E731
            left, right = normal(r, *turned(a, ta)), normal(r, *turned(b, tb))
            # onnxruntime reads a batch of transposed matrices by a vector in the wrong order.
            numpy = [np.swapaxes(left, -1, -2) @ right] if ta and len(b) == 1 else None
            s.node(name, "FusedMatMul", [("A", left), ("B", right)], expected=numpy,
                   attrs={"transA": ta, "transB": tb, "alpha": 0.5 if k % 2 else 1.0}, dynamic=k == 1)
    for ba, bb, ta, tb in itertools.product((0, 1), repeat=4):
        if not (ba or bb):
            continue
        name = f"fused_matmul_batch_{ba}{bb}{ta}{tb}"
        r = generator(name)
        a, b = normal(r, 2, 3, 5, 7), normal(r, 2, 3, 7, 4)
        a = np.swapaxes(a, -1, -2) if ta else a
        b = np.swapaxes(b, -1, -2) if tb else b
        a = np.moveaxis(a, 2, 0) if ba else a  # the first dim goes behind the batch
        b = np.moveaxis(b, 2, 0) if bb else b
        s.node(name, "FusedMatMul", [("A", np.ascontiguousarray(a)), ("B", np.ascontiguousarray(b))],
               attrs={"transA": ta, "transB": tb, "transBatchA": ba, "transBatchB": bb, "alpha": 1.5})
    r = generator("fused_matmul_weight")
    s.node("fused_matmul_weight", "FusedMatMul", [("A", normal(r, 2, 9, 16)), ("B", normal(r, 24, 16))],
           attrs={"transB": 1, "alpha": 0.125}, weights=("B",))
    s.node("transpose_matmul", "TransposeMatMul", [("A", normal(r, 4, 9)), ("B", normal(r, 4, 3))],
           attrs={"transA": 1})


def gemms(s):
    activations = {"Relu": {}, "LeakyRelu": {"activation_alpha": 0.2}, "Tanh": {}, "Sigmoid": {},
                   "Elu": {"activation_alpha": 0.7}, "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
                   "Softplus": {}, "Softsign": {}, "ThresholdedRelu": {"activation_alpha": 0.5},
                   "Selu": {"activation_alpha": 1.6, "activation_gamma": 1.05}}
    for i, (name, attrs) in enumerate(activations.items()):
        case = f"fused_gemm_{name.lower() or 'plain'}"
        r = generator(case)
        ta, tb = i % 2, i // 2 % 2
        a, b = normal(r, *((6, 4) if ta else (4, 6))), normal(r, *((5, 6) if tb else (6, 5)))
        c = [None, normal(r, 5), normal(r, 4, 5)][i % 3]
        more = {"activation": name} if name else {}
        s.node(case, "FusedGemm", [("A", a), ("B", b), ("C", c)],
               attrs={"transA": ta, "transB": tb, "alpha": 0.5, "beta": 2.0, **attrs, **more})


def convs(s):
    activations = {"": [], "Relu": [], "Tanh": [], "Sigmoid": [], "LeakyRelu": [0.1], "Clip": [-0.5, 0.75],
                   "HardSigmoid": [0.2, 0.5]}
    for i, (name, params) in enumerate(activations.items()):
        for z in (False, True):
            case = f"fused_conv_{name.lower() or 'plain'}{'_z' if z else ''}"
            r = generator(case)
            group = 2 if i % 2 else 1
            attrs = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1 + i % 2] * 2, "group": group}
            size = 4 if i % 2 else 8
            more = {"activation": name} if name else {}
            more |= {"activation_params": params} if params else {}
            s.node(case, "FusedConv",
                   [("X", normal(r, 2, 4, 8, 8)), ("W", normal(r, 6, 4 // group, 3, 3)),
                    ("B", normal(r, 6) if i % 3 else None), ("Z", normal(r, 2, 6, size, size) if z else None)],
                   attrs={**attrs, **more}, weights=("W", "B"))
    r = generator("fused_conv_1d")
    s.node("fused_conv_1d", "FusedConv", [("X", normal(r, 1, 3, 20)), ("W", normal(r, 5, 3, 3)), ("B", normal(r, 5))],
           attrs={"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_UPPER", "activation": "Relu"})


def pools(s):
    for k, (dtype, attrs) in enumerate(
            [(np.int8, {}), (np.uint8, {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
             (np.uint8, {"dilations": [2, 1], "ceil_mode": 1, "strides": [2, 3]}), (np.int8, {"auto_pad": "SAME_LOWER"})]):
        r = generator(f"nhwc_max_pool_{k}")
        low, high = (-128, 128) if dtype == np.int8 else (0, 256)
        s.node(f"nhwc_max_pool_{k}", "NhwcMaxPool", [("x", integers(r, low, high, (2, 9, 10, 3), dtype))],
               attrs={"kernel_shape": [3, 2], **attrs})


def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def activations(s):
    for op, with_bias in (("Gelu", 0), ("QuickGelu", 0), ("FastGelu", 0), ("FastGelu", 1), ("BiasGelu", 1)):
        case = f"{op.lower()}{'_bias' if with_bias and op == 'FastGelu' else ''}"
        r = generator(case)
        inputs = [("X", normal(r, 2, 5, 19) * 3)] + ([("bias", normal(r, 19))] if with_bias else [])
        s.node(case, op, inputs)
        s.node(f"{case}_dynamic", op, inputs, dynamic=True)
    r = generator("quickgelu_alpha")
    s.node("quickgelu_alpha", "QuickGelu", [("X", normal(r, 4, 33))], attrs={"alpha": 1.0})
    s.node("affine", "Affine", [("X", normal(r, 4, 33))], attrs={"alpha": 0.5, "beta": 2.0}, domain="", opset=9)
    x = normal(r, 3, 8, dtype=np.float16)
    wide = x.astype(np.float64)
    s.node("gelu_float16", "Gelu", [("X", x)], rtol=4e-3, atol=2e-3,
           expected=[(wide * 0.5 * (1 + erf(wide / math.sqrt(2)))).astype(np.float16)])
    for upper in (0, 1):
        for k in (None, -1, 2):
            s.node(f"trilu_{upper}_{'none' if k is None else k + 1}", "Trilu",
                   [("X", normal(r, 2, 4, 5)), ("k", None if k is None else np.array(k, np.int64))],
                   attrs={"upper": upper})


def norms(s):
    r = generator("norms")
    x = normal(r, 2, 5, 16)
    skips = {"same": normal(r, 2, 5, 16), "batch": normal(r, 1, 5, 16), "flat": normal(r, 5, 16)}
    gamma, beta, bias = normal(r, 16), normal(r, 16), normal(r, 16)
    for k, skip in skips.items():
        for with_beta, with_bias in itertools.product((0, 1), (0, 1)):
            for outputs in (("Y",), ("Y", "", "", "sum")):
                name = f"skip_layer_norm_{k}_{with_beta}{with_bias}{len(outputs)}"
                s.node(name, "SkipLayerNormalization",
                       [("input", x), ("skip", skip), ("gamma", gamma), ("beta", beta if with_beta else None),
                        ("bias", bias if with_bias else None)], outputs, {"epsilon": 1e-5}, dynamic=k == "same")
        for with_bias in (0, 1):
            s.node(f"skip_simplified_norm_{k}_{with_bias}", "SkipSimplifiedLayerNormalization",
                   [("input", x), ("skip", skip), ("gamma", gamma), ("bias", bias if with_bias else None)],
                   ("Y", "", "", "sum") if with_bias else ("Y",))
    s.node("skip_layer_norm_2d", "SkipLayerNormalization",
           [("input", x[0]), ("skip", skips["flat"]), ("gamma", gamma), ("beta", beta)])
    total = (x + skips["same"]).astype(np.float64)
    mean, deviation = total.mean(-1, keepdims=True), total.std(-1, keepdims=True)
    s.node("skip_layer_norm_statistics", "SkipLayerNormalization",
           [("input", x), ("skip", skips["same"]), ("gamma", gamma)], ("Y", "mean", "inverse"),
           expected=[((total - mean) / deviation * gamma).astype(np.float32), mean.astype(np.float32),
                     (1 / deviation).astype(np.float32)])
    for axis in (-1, 1, 2):
        for outputs in (("Y",), ("Y", "inverse")):
            s.node(f"simplified_norm_{axis + 1}_{len(outputs)}", "SimplifiedLayerNormalization",
                   [("X", x), ("scale", normal(r, *x.shape[axis:]))], outputs, {"axis": axis, "epsilon": 1e-3}, domain="",
                   dynamic=axis == 2)


def embeddings(s):
    for segment, mask, places, total in itertools.product((0, 1), (0, 1), (0, 1, 2), (0, 1)):
        name = f"embed_norm_{segment}{mask}{places}{total}"
        r = generator(name)
        ids = [("input_ids", integers(r, 0, 30, (3, 6), np.int32)),
               ("segment_ids", integers(r, 0, 2, (3, 6), np.int32) if segment else None),
               ("word", normal(r, 30, 12)), ("position", normal(r, 9, 12)),
               ("segment", normal(r, 2, 12) if segment else None), ("gamma", normal(r, 12)), ("beta", normal(r, 12)),
               ("mask", (np.arange(6)[None] < [[6], [4], [1]]).astype(np.int32) if mask else None),
               ("position_ids", [None, integers(r, 0, 9, (3, 6), np.int32), integers(r, 0, 9, (1, 6), np.int32)][places])]
        s.node(name, "EmbedLayerNormalization", ids, ("Y", "mask_index", "sum") if total else ("Y", "mask_index"),
               weights=("word", "position", "segment", "gamma", "beta") if places == 0 else (),
               dynamic=places == 0 and total == 0)


def elders(s):
    """What came into the standard later."""
    for mode in ("bilinear", "nearest", "bicubic", None):
        for pad in ("zeros", "border", "reflection"):
            for align in (0, 1):
                name = f"grid_sample_{mode or 'default'}_{pad}_{align}"
                r = generator(name)
                s.node(name, "GridSample", [("X", normal(r, 2, 3, 7, 5)), ("Grid", normal(r, 2, 4, 6, 2) * 0.8)],
                       attrs={"padding_mode": pad, "align_corners": align, **({"mode": mode} if mode else {})},
                       dynamic=pad == "border")
    for k, (shape, dtype) in enumerate([((4, 2), np.int64), ((2, 3, 1), np.int32), ((5, 3), np.int32)]):
        r = generator(f"gather_nd_{k}")
        s.node(f"gather_nd_{k}", "GatherND", [("data", normal(r, 4, 5, 6)), ("indices", integers(r, -4, 4, shape, dtype))],
               dynamic=k == 1)
    for dtype in (np.int16, np.int32, np.int64, np.float32, np.float64):
        for start, limit, delta in ((2, 9, None), (9, -4, -3), (5, 5, 1), (5, 2, None), (1, 12, 4)):
            name = f"range_{np.dtype(dtype).name}_{start}_{limit}_{delta}"
            ends = [(n, None if v is None else np.array(v, dtype))
                    for n, v in (("start", start), ("limit", limit), ("delta", delta))]
            s.node(name, "Range", ends)
            s.node(f"{name}_weights", "Range", ends, weights=("limit", "delta"))
            s.node(f"{name}_fixed", "Range", ends, weights=("start", "limit", "delta"))


def write(s):
    for part in (matmuls, gemms, convs, pools, activations, norms, embeddings, elders):
        part(s)
