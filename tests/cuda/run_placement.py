#!/usr/bin/env python3
"""Nodes placed on the host and on a device by turns: `lint --fix` puts in the transfers, the program runs each kernel
where its node is placed, on the emulated device, and gives what NumPy computes. Accesses are checked."""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import build
import program

ROOT = pathlib.Path(__file__).resolve().parents[2]


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def place(node, device):
    entry = node.metadata_props.add()
    entry.key, entry.value = "cameo.device", device
    return node


def chain(rng):
    """A model of random steps with random places, and the same as a function of NumPy's."""
    weight = np.random.default_rng(rng.randrange(1 << 30)).standard_normal((8, 8)).astype(np.float32)
    steps = {"MatMul": (["w"], lambda v: v @ weight), "Relu": ([], lambda v: np.maximum(v, 0)),
             "Softmax": ([], softmax), "Add": (["x"], None), "Tanh": ([], np.tanh)}
    nodes, kinds, value = [], [], "x"
    for i in range(rng.randint(4, 8)):
        kind = rng.choice(sorted(steps))
        out = f"v{i}"
        nodes.append(place(helper.make_node(kind, [value, *steps[kind][0]], [out], name=f"n{i}"),
                           rng.choice(["cpu", "cuda:0"]) if i else "cuda:0"))
        kinds.append(kind)
        value = out

    def expected(x):
        v = x
        for kind in kinds:
            v = v + x if kind == "Add" else steps[kind][1](v)
        return v

    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["N", 8])],
                              [helper.make_tensor("w", TensorProto.FLOAT, [8, 8], weight.ravel())])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), expected, value


def try_one(cameo, seed, tools, folder):
    """None, or what is wrong."""
    model, expected, output = chain(random.Random(seed))
    onnx.save(model, folder / "placed.onnx")
    mended = subprocess.run([cameo, "lint", folder / "placed.onnx", "--fix", "-o", folder / "mended.onnx"],
                            capture_output=True, text=True)
    if mended.returncode:
        return mended.stderr + mended.stdout
    try:
        path, env = program.emulated(cameo, ROOT, folder / "mended.onnx", folder, checked=True, tools=tools)
    except RuntimeError as problem:
        return str(problem)
    env["CAMEO_EMU_LEAKS"] = "1"
    env["CAMEO_EMU_SEED"] = str(seed)
    x = np.random.default_rng(seed).standard_normal((3, 8)).astype(np.float32)
    np.save(folder / "x.npy", x)
    ran = subprocess.run([path, folder / "x.npy", "-o", folder], capture_output=True, text=True, env=env)
    if ran.returncode:
        return f"exit {ran.returncode}: {ran.stderr}"
    got, want = np.load(folder / f"{output}.npy"), expected(x)
    return None if np.allclose(got, want, 1e-4, 1e-5) else f"differs by {np.abs(got - want).max()}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--models", type=int, default=8)
    options = p.parse_args()
    tools, wrong = build.Tools(), 0
    for seed in range(1, options.models + 1):
        with tempfile.TemporaryDirectory() as folder:
            why = try_one(options.cameo, seed, tools, pathlib.Path(folder))
        if why:
            wrong += 1
            print(f"model {seed}: {why}")
    print(f"{options.models} models in two places, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
