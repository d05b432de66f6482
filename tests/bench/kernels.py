#!/usr/bin/env python3
"""Each kind of contraction alone: GFLOP/s and the share of the peak that was measured in the same run.

    python3 kernels.py --cameo PATH [--only REGEX] [--types f32,bf16,int8] [--runs 200] [--rounds 3] [--peer] [--direct]
                       [-- OPTIONS of cameo compile]

The peak is that of what is multiplied: of float32, or of bfloat16 or bytes, in vectors or matrix registers, whichever do more
here. Bytes are QLinearConv and QLinearMatMul, and MatMulInteger where both factors are inputs; what they write is part of the time.
Every row is a model of one node, compiled and run by itself, pinned to one core, in turns with what it is compared with; the
best of its runs counts. --peer times ONNX Runtime on the same model (not in bfloat16, which it lacks), --direct the same
convolution with --no-winograd. Work is that of the definition: a convolution by Winograd's tiles may do more than the peak's.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from floors import Peak

# name: channels in, height, width, channels out, window, stride, group
CONVOLUTIONS = {
    "conv resnet 7x7/2 224": (3, 224, 224, 64, 7, 2, 1),
    "conv resnet 3x3 56": (64, 56, 56, 64, 3, 1, 1),
    "conv resnet 3x3 28": (128, 28, 28, 128, 3, 1, 1),
    "conv resnet 3x3/2 28": (128, 56, 56, 128, 3, 2, 1),
    "conv resnet 3x3 14": (256, 14, 14, 256, 3, 1, 1),
    "conv resnet 3x3 7": (512, 7, 7, 512, 3, 1, 1),
    "conv 1x1 56 64-256": (64, 56, 56, 256, 1, 1, 1),
    "conv 1x1 56 256-64": (256, 56, 56, 64, 1, 1, 1),
    "conv 1x1/2 28 256-512": (256, 56, 56, 512, 1, 2, 1),
    "conv 1x1 14 1024-256": (1024, 14, 14, 256, 1, 1, 1),
    "conv 1x1 7 2048-512": (2048, 7, 7, 512, 1, 1, 1),
    "conv 1x1 104 32-16": (32, 104, 104, 16, 1, 1, 1),
    "conv 1x1 13 64-64": (64, 13, 13, 64, 1, 1, 1),
    "conv 3x3 208 12-16": (12, 208, 208, 16, 3, 1, 1),
    "conv 3x3/2 240 3-16": (3, 240, 320, 16, 3, 2, 1),
    "conv 3x3 28 8-16": (8, 28, 28, 16, 3, 1, 1),
    "conv 3x3 60 32-32": (32, 60, 80, 32, 3, 1, 1),
    "conv 3x3 104 16-16": (16, 104, 104, 16, 3, 1, 1),
    "conv 3x3 52 32-32": (32, 52, 52, 32, 3, 1, 1),
    "conv 3x3 26 64-64": (64, 26, 26, 64, 3, 1, 1),
    "conv 3x3 13 128-128": (128, 13, 13, 128, 3, 1, 1),
    "conv grouped 3x3 28": (128, 28, 28, 128, 3, 1, 8),
    "depthwise 3x3 112": (96, 112, 112, 96, 3, 1, 96),
    "depthwise 3x3/2 56": (144, 112, 112, 144, 3, 2, 144),
    "depthwise 3x3 14": (384, 14, 14, 384, 3, 1, 384),
    "depthwise 3x3 7": (960, 7, 7, 960, 3, 1, 960),
    "depthwise 5x5 28": (120, 28, 28, 120, 5, 1, 120),
}
# of x, as above: channels in, height, width, channels out, window, stride
TRANSPOSED = {
    "up 2x2/2 56 64-32": (64, 56, 56, 32, 2, 2),
    "up 3x3/2 28 64-64": (64, 28, 28, 64, 3, 2),
    "up 4x4/2 16 128-64": (128, 16, 16, 64, 4, 2),
}
# name: batch, rows, columns, depth, is the second factor constant
PRODUCTS = {
    "gemm 128x768x768": (1, 128, 768, 768, True),
    "gemm 128x3072x768": (1, 128, 3072, 768, True),
    "gemm 128x768x3072": (1, 128, 768, 3072, True),
    "gemm 16x768x768": (1, 16, 768, 768, True),
    "gemm 4x768x768": (1, 4, 768, 768, True),
    "gemv 768x768": (1, 1, 768, 768, True),
    "gemv 3072x768": (1, 1, 3072, 768, True),
    "heads 12x128x128x64": (12, 128, 128, 64, False),
    "heads 12x128x64x128": (12, 128, 64, 128, False),
}


def element(kind, array, weights=False):
    """Random numbers in the dtype of a kind: bytes have a sign where they are weights."""
    if kind == "int8":
        return np.clip(np.round(array * 40), -127, 127).astype(np.int8) if weights else \
            np.clip(np.round(array * 40 + 128), 0, 255).astype(np.uint8)
    return array.astype(ml_dtypes.bfloat16 if kind == "bf16" else np.float32)


def node_of(op, kind, scale, **attributes):
    """The operator of a kind on x and w, and the constants that it takes beside them."""
    if kind != "int8":
        return helper.make_node(op, ["x", "w"], ["y"], **attributes), {}
    numbers = {"xs": np.float32(1 / 40), "xz": np.uint8(128), "ws": np.float32(1 / 40), "wz": np.int8(0),
               "ys": np.float32(scale / 40), "yz": np.uint8(128)}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    return helper.make_node("QLinear" + op, names, ["y"], **attributes), {n: np.asarray(v) for n, v in numbers.items()}


def convolution(kind, c, h, w, m, k, stride, group):
    random = np.random.default_rng(1)
    weights = element(kind, random.standard_normal((m, c // group, k, k)), True)
    depth = c // group * k * k
    node, numbers = node_of("Conv", kind, depth ** 0.5, strides=[stride] * 2, pads=[k // 2] * 4, group=group)
    h2, w2 = ((n + 2 * (k // 2) - k) // stride + 1 for n in (h, w))
    feeds = {"x": element(kind, random.standard_normal((1, c, h, w)))}
    return node, {"w": weights, **numbers}, feeds, (1, m, h2, w2), 2 * m * h2 * w2 * depth


def transposed(kind, c, h, w, m, k, stride):
    random = np.random.default_rng(1)
    weights = element(kind, random.standard_normal((c, m, k, k)))
    pad = (k - 1) // 2
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[stride] * 2, pads=[pad] * 4)
    h2, w2 = ((n - 1) * stride + k - 2 * pad for n in (h, w))
    return node, {"w": weights}, {"x": element(kind, random.standard_normal((1, c, h, w)))}, (1, m, h2, w2), 2 * c * h * w * m * k * k


def product(kind, batch, m, n, k, constant):
    random = np.random.default_rng(1)
    a = element(kind, random.standard_normal((batch, m, k)))
    b = element(kind, random.standard_normal((batch, k, n)), True)
    if not constant:
        op = "MatMulInteger" if kind == "int8" else "MatMul"
        return helper.make_node(op, ["x", "w"], ["y"]), {}, {"x": a, "w": b}, (batch, m, n), 2 * batch * m * n * k
    node, numbers = node_of("MatMul", kind, k ** 0.5)
    return node, {"w": b[0], **numbers}, {"x": a[0]}, (m, n), 2 * m * n * k


def write_model(folder, node, weights, feeds, shape):
    first = helper.np_dtype_to_tensor_dtype(feeds["x"].dtype)
    result = TensorProto.INT32 if node.op_type == "MatMulInteger" else first
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()]
    graph = helper.make_graph([node], "kernel", inputs, [helper.make_tensor_value_info("y", result, shape)],
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, folder / "model.onnx")
    for i, (name, v) in enumerate(feeds.items()):
        (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(v, name).SerializeToString())


def best(command):
    return json.loads(subprocess.run(["taskset", "-c", "0", *map(str, command)], capture_output=True, text=True,
                                     check=True).stdout)


class Peer:
    def __init__(self, folder, feeds):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.feeds = feeds

    def ms(self, runs):
        least = float("inf")
        for _ in range(runs):
            begin = time.perf_counter()
            self.session.run(None, self.feeds)
            least = min(least, time.perf_counter() - begin)
        return 1e3 * least


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--types", default="f32,bf16,int8")
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--peer", action="store_true")
    p.add_argument("--direct", action="store_true")
    p.add_argument("options", nargs="*")
    args = p.parse_args()
    if args.peer:
        os.sched_setaffinity(0, {0})
    makers = [(kind, n, make, a) for kind in args.types.split(",")
              for make, rows in ((convolution, CONVOLUTIONS), (transposed, TRANSPOSED), (product, PRODUCTS)) for n, a in rows.items()
              if make is not transposed or kind == "f32"]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        measured = Peak(scratch)
        print(f"peak of one core: {measured.said()}")
        for kind, name, make, arguments in makers:
            name = name if kind == "f32" else f"{kind} {name}"
            if not re.search(args.only, name):
                continue
            peak = measured.gflops(kind)
            node, weights, feeds, shape, work = make(kind, *arguments)
            write_model(scratch, node, weights, feeds, shape)
            forms = {"net": args.options, **({"direct": [*args.options, "--no-winograd"]} if args.direct else {})}
            for form, options in forms.items():
                subprocess.run([args.cameo, "compile", scratch / "model.onnx", "-o", scratch / form, "--cpu", "native", *options],
                               check=True)
            peer = Peer(scratch, feeds) if args.peer and kind != "bf16" else None
            least = dict.fromkeys([*forms, "peer"], float("inf"))
            for _ in range(args.rounds):
                for form in forms:
                    line = best([scratch / form, "--inputs-from", scratch, "--bench", args.runs // args.rounds + 1])
                    least[form] = min(least[form], line["min_ms"])
                if peer:
                    least["peer"] = min(least["peer"], peer.ms(args.runs // args.rounds + 1))
            ms = least.pop("net")
            text = f"{name:29} {1e3 * ms:9.1f}u {1e-6 * work / ms:8.1f} GFLOP/s {1e-6 * work / ms / peak:5.0%}"
            for other, t in least.items():
                if t < float("inf"):
                    text += f"  {other} {1e-6 * work / t / peak:5.0%}  {t / ms:5.2f}x"
            print(text, flush=True)


if __name__ == "__main__":
    main()
