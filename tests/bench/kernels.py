#!/usr/bin/env python3
"""Each kind of contraction alone: GFLOP/s and the share of the peak that was measured in the same run.

    python3 kernels.py --cameo PATH [--only REGEX] [--runs 200] [--rounds 3] [--peer] [--direct] [-- OPTIONS of cameo compile]

Every row is a model of one node, compiled and run by itself, pinned to one core, in turns with what it is compared with; the
best of its runs counts. --peer times ONNX Runtime on the same model, --direct the same convolution with --no-winograd. Work
is that of the definition: a convolution by Winograd's tiles may do more than the peak's.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

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


def convolution(c, h, w, m, k, stride, group):
    random = np.random.default_rng(1)
    weights = random.standard_normal((m, c // group, k, k)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride] * 2, pads=[k // 2] * 4, group=group)
    h2, w2 = ((n + 2 * (k // 2) - k) // stride + 1 for n in (h, w))
    feeds = {"x": random.standard_normal((1, c, h, w)).astype(np.float32)}
    return node, {"w": weights}, feeds, (1, m, h2, w2), 2 * m * h2 * w2 * (c // group) * k * k


def product(batch, m, n, k, constant):
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(s).astype(np.float32) for s in ((batch, m, k), (batch, k, n)))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    if constant:
        return node, {"w": b[0]}, {"x": a[0]}, (m, n), 2 * m * n * k
    return node, {}, {"x": a, "w": b}, (batch, m, n), 2 * batch * m * n * k


def write_model(folder, node, weights, feeds, shape):
    def info(name, dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph([node], "kernel", [info(n, v.shape) for n, v in feeds.items()], [info("y", shape)],
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
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
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--peer", action="store_true")
    p.add_argument("--direct", action="store_true")
    p.add_argument("options", nargs="*")
    args = p.parse_args()
    if args.peer:
        os.sched_setaffinity(0, {0})
    makers = [(n, convolution, a) for n, a in CONVOLUTIONS.items()] + [(n, product, a) for n, a in PRODUCTS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        source = pathlib.Path(__file__).parent / "peak.c"
        subprocess.run(["gcc", "-O3", "-march=native", source, "-o", scratch / "peak"], check=True)
        peak = max(best([scratch / "peak"])["gflops"] for _ in range(3))
        print(f"{'peak of one core':24} {'':10} {peak:8.1f} GFLOP/s")
        for name, make, arguments in makers:
            if not re.search(args.only, name):
                continue
            node, weights, feeds, shape, work = make(*arguments)
            write_model(scratch, node, weights, feeds, shape)
            forms = {"net": args.options, **({"direct": [*args.options, "--no-winograd"]} if args.direct else {})}
            for form, options in forms.items():
                subprocess.run([args.cameo, "compile", scratch / "model.onnx", "-o", scratch / form, *options], check=True)
            peer = Peer(scratch, feeds) if args.peer else None
            least = dict.fromkeys([*forms, "peer"], float("inf"))
            for _ in range(args.rounds):
                for form in forms:
                    line = best([scratch / form, "--inputs-from", scratch, "--bench", args.runs // args.rounds + 1])
                    least[form] = min(least[form], line["min_ms"])
                if peer:
                    least["peer"] = min(least["peer"], peer.ms(args.runs // args.rounds + 1))
            ms = least.pop("net")
            text = f"{name:24} {1e3 * ms:9.1f}u {1e-6 * work / ms:8.1f} GFLOP/s {1e-6 * work / ms / peak:5.0%}"
            for other, t in least.items():
                if t < float("inf"):
                    text += f"  {other} {1e-6 * work / t / peak:5.0%}  {t / ms:5.2f}x"
            print(text, flush=True)


if __name__ == "__main__":
    main()
