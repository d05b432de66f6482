#!/usr/bin/env python3
"""The same network exported with operators as one node and as a dozen: how long each takes, by turns.

    python3 pairs.py --cameo PATH [--only REGEX] [--rounds 9] [--threads 1] [--limit 1.03]

Each row is a part or a layer of a transformer with random weights, in up to three forms: `whole` (LayerNormalization, Gelu,
Attention, RMSNormalization, RotaryEmbedding, as opset 23 has them), `pieces` as torch.onnx's older exporter writes them
(opset 13 or 17, the square as Pow), and `dynamo`, as its newer one does (axes as inputs, the scale on both factors of the scores,
the square as a product, Reciprocal of Sqrt). Programs are compiled once, run by turns on the same input, pinned to as many
cores as threads; the least times count. Outputs of the forms are compared first: they may differ by rounding alone.
Printed are the times, and each form's over the quickest one's. Exit 1 where one is beyond --limit.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from make_models import Net

TOKENS, WIDTH, HEADS = 128, 768, 12
FORMS = {"whole": 23, "pieces": 17, "dynamo": 18}


class Form(Net):
    """A graph in one of the forms. The same seed gives the same weights."""

    def __init__(self, form):
        super().__init__("pair", FORMS[form], 7)
        self.form = form

    def axes(self, *axes):
        return self.constant(np.array(axes, np.int64))

    def mean(self, x):
        if self.form == "dynamo":
            return self.add("ReduceMean", x, self.axes(-1), keepdims=1)
        return self.add("ReduceMean", x, axes=[-1], keepdims=1)

    def square(self, x):
        return self.add("Mul", x, x) if self.form == "dynamo" else self.add("Pow", x, self.scalar(2))

    def shape(self, x, *dims):
        return self.add("Reshape", x, self.constant(np.array(dims, np.int64)))

    def layer_norm(self, x):
        gamma, beta = self.normal(WIDTH, scale=0.05, mean=1.0), self.normal(WIDTH, scale=0.05)
        if self.form != "pieces":  # both newer exporters have it as one node from opset 17 on
            return self.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=1e-5)
        centred = self.add("Sub", x, self.mean(x))
        deviation = self.add("Sqrt", self.add("Add", self.mean(self.square(centred)), self.scalar(1e-5)))
        return self.add("Add", self.add("Mul", self.add("Div", centred, deviation), gamma), beta)

    def rms_norm(self, x):
        gamma = self.normal(WIDTH, scale=0.05, mean=1.0)
        if self.form == "whole":
            return self.add("RMSNormalization", x, gamma, axis=-1, epsilon=1e-5)
        root = self.add("Sqrt", self.add("Add", self.mean(self.square(x)), self.scalar(1e-5)))
        scaled = self.add("Div", x, root) if self.form == "pieces" else self.add("Mul", x, self.add("Reciprocal", root))
        return self.add("Mul", gamma, scaled)

    def gelu(self, x):
        if self.form == "whole":
            return self.add("Gelu", x)
        if self.form == "pieces":
            y = self.add("Erf", self.add("Div", x, self.scalar(math.sqrt(2))))
            return self.add("Mul", self.add("Mul", x, self.add("Add", y, self.scalar(1))), self.scalar(0.5))
        y = self.add("Erf", self.add("Mul", x, self.scalar(1 / math.sqrt(2))))
        return self.add("Mul", self.add("Mul", x, self.scalar(0.5)), self.add("Add", y, self.scalar(1)))

    def gelu_tanh(self, x):
        if self.form == "whole":
            return self.add("Gelu", x, approximate="tanh")
        cube = self.add("Pow", x, self.scalar(3)) if self.form == "pieces" else self.add("Mul", self.add("Mul", x, x), x)
        inner = self.add("Add", x, self.add("Mul", cube, self.scalar(0.044715)))
        y = self.add("Add", self.add("Tanh", self.add("Mul", inner, self.scalar(math.sqrt(2 / math.pi)))), self.scalar(1))
        return self.add("Mul", self.add("Mul", x, self.scalar(0.5)), y)

    def silu(self, x):
        return self.add("Swish", x, alpha=1.0) if self.opset >= 24 else self.add("Mul", x, self.add("Sigmoid", x))

    def linear(self, x, inputs, outputs, bias=True):
        w = self.normal(inputs, outputs, scale=1 / math.sqrt(inputs))
        y = self.add("MatMul", x, w)
        return self.add("Add", y, self.normal(outputs, scale=0.02)) if bias else y

    def heads(self, x, transposed=False):
        split = self.shape(x, 1, TOKENS, HEADS, WIDTH // HEADS)
        return self.add("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def rotate(self, x):
        """x as [1, heads, tokens, size]; the halves of a head are turned against each other."""
        half = WIDTH // HEADS // 2
        angles = np.outer(np.arange(TOKENS), 10000.0 ** (-np.arange(half) / half))
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        if self.form == "whole":
            return self.add("RotaryEmbedding", x, self.constant(cos[None]), self.constant(sin[None]))
        cos, sin = (self.constant(np.concatenate([v, v], 1)[None, None]) for v in (cos, sin))
        if self.form == "pieces":
            starts, ends = (self.axes(0), self.axes(half)), (self.axes(half), self.axes(2 ** 63 - 1))
            first, second = (self.add("Slice", x, *bounds, self.axes(3), self.axes(1)) for bounds in (starts, ends))
        else:
            first, second = self.add("Split", x, self.axes(half, half), count=2, axis=3)
        turned = self.add("Concat", self.add("Neg", second), first, axis=3)
        return self.add("Add", self.add("Mul", x, cos), self.add("Mul", turned, sin))

    def attention(self, q, k, v, causal, rotary=False):
        size = WIDTH // HEADS
        if self.form == "whole" and not rotary:
            return self.add("Attention", q, k, v, q_num_heads=HEADS, kv_num_heads=HEADS, is_causal=int(causal))
        if self.form == "whole":
            q, k, v = self.rotate(self.heads(q)), self.rotate(self.heads(k)), self.heads(v)
            mixed = self.add("Attention", q, k, v, is_causal=int(causal))
            return self.shape(self.add("Transpose", mixed, perm=[0, 2, 1, 3]), 1, TOKENS, WIDTH)
        turned = self.rotate if rotary else lambda x: x
        q, v = turned(self.heads(q)), self.heads(v)
        k = self.add("Transpose", turned(self.heads(k)), perm=[0, 1, 3, 2]) if rotary else self.heads(k, True)
        if self.form == "dynamo":  # as scaled_dot_product_attention is taken apart
            root = self.scalar(size ** -0.25)
            scores = self.add("MatMul", self.add("Mul", q, root), self.add("Mul", k, root))
        else:
            scores = self.add("Div", self.add("MatMul", q, k), self.scalar(math.sqrt(size)))
        if causal:
            mask = np.triu(np.full((TOKENS, TOKENS), -np.inf if self.form == "dynamo" else -1e9, np.float32), 1)
            scores = self.add("Add", scores, self.constant(mask[None, None]))
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        return self.shape(self.add("Transpose", mixed, perm=[0, 2, 1, 3]), 1, TOKENS, WIDTH)


def bert_layer(net, x):
    q, k, v = (net.linear(x, WIDTH, WIDTH) for _ in range(3))
    x = net.layer_norm(net.add("Add", net.linear(net.attention(q, k, v, False), WIDTH, WIDTH), x))
    y = net.linear(net.gelu(net.linear(x, WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
    return net.layer_norm(net.add("Add", y, x))


def gpt2_layer(net, x):
    y = net.linear(net.layer_norm(x), WIDTH, 3 * WIDTH)
    q, k, v = net.add("Split", y, net.axes(WIDTH, WIDTH, WIDTH), count=3, axis=2)
    x = net.add("Add", net.linear(net.attention(q, k, v, True), WIDTH, WIDTH), x)
    return net.add("Add", net.linear(net.gelu_tanh(net.linear(net.layer_norm(x), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH), x)


def llama_layer(net, x):
    y = net.rms_norm(x)
    q, k, v = (net.linear(y, WIDTH, WIDTH, False) for _ in range(3))
    x = net.add("Add", net.linear(net.attention(q, k, v, True, rotary=True), WIDTH, WIDTH, False), x)
    y = net.rms_norm(x)
    gate, up = (net.linear(y, WIDTH, 2 * WIDTH, False) for _ in range(2))
    return net.add("Add", net.linear(net.add("Mul", net.silu(gate), up), 2 * WIDTH, WIDTH, False), x)


PARTS = {
    "LayerNormalization": lambda net, x: net.layer_norm(x),
    "RMSNormalization": lambda net, x: net.rms_norm(x),
    "Gelu": lambda net, x: net.gelu(x),
    "Gelu, tanh": lambda net, x: net.gelu_tanh(x),
    "RotaryEmbedding": lambda net, x: net.rotate(net.heads(x)),
    "Attention": lambda net, x: net.attention(x, x, x, False),
    "Attention, causal": lambda net, x: net.attention(x, x, x, True),
    "BERT layer": bert_layer,
    "GPT-2 layer": gpt2_layer,
    "Llama layer": llama_layer,
}


def write(folder, form, make):
    net = Form(form)
    x = net.input("x", [1, TOKENS, WIDTH], np.random.default_rng(3).standard_normal((1, TOKENS, WIDTH)).astype(np.float32))
    y = make(net, x)
    net.nodes[-1].output[0] = "y"
    net.output("y", None)
    net.name = form
    net.write_data = lambda _: 0  # no expected outputs: the forms are compared with one another
    net.save(folder)
    assert y
    np.save(folder / "x.npy", net.feeds["x"])


def pinned(cores, *command):
    return subprocess.run(["taskset", "-c", cores, *map(str, command)], capture_output=True, text=True, check=True).stdout


def measure(args, folder, name, make, cores):
    """Least times in ms by form; None where outputs are not the same."""
    outputs = {}
    for form in FORMS:
        write(folder, form, make)
        subprocess.run([args.cameo, "compile", folder / form / "model.onnx", "-o", folder / form / "net"], check=True)
        pinned(cores, folder / form / "net", f"x={folder / 'x.npy'}", "-o", folder / form)
        outputs[form] = np.load(folder / form / "y.npy").astype(np.float64)
    first = outputs["whole"]
    for form, y in outputs.items():
        apart = np.sqrt(np.mean((y - first) ** 2) / np.mean(first ** 2))
        if not apart < 1e-4:
            print(f"{name}: {form} is {apart:.1e} of the rms away from whole")
            return None
    least, runs = dict.fromkeys(FORMS, math.inf), 20
    for turn in range(args.rounds + 1):
        for form in FORMS:
            line = json.loads(pinned(cores, folder / form / "net", f"x={folder / 'x.npy'}", "--bench", runs, "--threads",
                                     args.threads))
            least[form] = min(least[form], line["min_ms"])
        runs = max(3, min(2000, int(60 / min(least.values()))))
    return least


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--limit", type=float, default=1.03)
    args = p.parse_args()
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:args.threads]))
    failed = 0
    print(f"{'':20}" + "".join(f"{form:>18}" for form in FORMS))
    for name, make in PARTS.items():
        if not re.search(args.only, name):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            least = measure(args, pathlib.Path(scratch), name, make, cores)
        failed += least is None or max(least.values()) > args.limit * min(least.values())
        if least:
            best = min(least.values())
            print(f"{name:20}" + "".join(f"{ms:10.3f} ms {ms / best:4.2f}" for ms in least.values()), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
