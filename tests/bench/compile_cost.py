#!/usr/bin/env python3
"""What compiling costs Cameo itself (no C compiler): seconds and memory for transformers of many nodes.

    python3 compile_cost.py --cameo PATH [--nodes 1000 3000 10000 100000]

The network is a chain of transformer layers in pieces, as exporters write them (31 nodes a layer, batch and length
dynamic), which share their weights, so that nothing but the graph grows. Prints one line a size and, between sizes,
the exponent: 1 is linear.
"""
import argparse
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS = 64, 4


class Chain:
    def __init__(self):
        self.nodes = []

    def add(self, op, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=f"{op}_{len(self.nodes)}", **attributes))
        return out

    def heads(self, x):
        t = self.add("Add", self.add("MatMul", x, "w"), "b")
        return self.add("Transpose", self.add("Reshape", t, "split"), perm=[0, 2, 1, 3])

    def normalise(self, x):
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", centred, "two"), axes=[-1])
        scaled = self.add("Div", centred, self.add("Sqrt", self.add("Add", variance, "epsilon")))
        return self.add("Add", self.add("Mul", scaled, "b"), "b")

    def layer(self, x):
        q, k, v = self.heads(x), self.heads(x), self.heads(x)
        weights = self.add("Softmax", self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
        mixed = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        x = self.normalise(self.add("Add", self.add("MatMul", self.add("Reshape", mixed, "join"), "w"), x))
        hidden = self.add("Add", self.add("MatMul", x, "w"), "b")
        return self.add("Add", self.add("MatMul", self.add("Mul", self.add("Erf", hidden), hidden), "w"), x)


def network(nodes):
    random, chain, x = np.random.default_rng(1), Chain(), "x"
    while len(chain.nodes) < nodes:
        x = chain.layer(x)
    weights = {"w": random.random((WIDTH, WIDTH), np.float32), "b": random.random(WIDTH, np.float32),
               "epsilon": np.float32(1e-5), "two": np.float32(2),
               "split": np.array([0, 0, HEADS, WIDTH // HEADS]), "join": np.array([0, 0, WIDTH])}
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["B", "S", WIDTH]) for n in ("x", x)]
    graph = helper.make_graph(chain.nodes, "chain", info[:1], info[1:],
                              [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def cost(command):
    begin = time.perf_counter()
    child = subprocess.Popen(list(map(str, command)))
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cameo", required=True)
    p.add_argument("--nodes", type=int, nargs="+", default=[1000, 3000, 10000, 100000])
    args, last = p.parse_args(), None
    with tempfile.TemporaryDirectory() as folder:
        model, out = pathlib.Path(folder) / "chain.onnx", pathlib.Path(folder) / "chain.c"
        for nodes in args.nodes:
            graph = network(nodes)
            onnx.save(graph, model)
            wall, cpu, memory = min(cost([args.cameo, "compile", model, "-o", out, "--no-cache"]) for _ in range(3))
            growth = f", exponent {math.log(cpu / last[1]) / math.log(nodes / last[0]):.2f}" if last else ""
            print(f"{len(graph.graph.node)} nodes: {cpu:.2f} s of processor time ({wall:.2f} s), {memory:.0f} MB, "
                  f"{out.stat().st_size / 1024:.0f} KB of C{growth}", flush=True)
            last = nodes, cpu


if __name__ == "__main__":
    main()
