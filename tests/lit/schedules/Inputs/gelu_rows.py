"""CAMEO DIR: gelu((x - 128) @ w * scale + bias) of bytes, in programs for several targets, and with three threads."""
import math
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

cameo, folder = sys.argv[1:]
random = np.random.default_rng(3)
normal = np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))

for columns in (100, 500):
    w = random.integers(-127, 128, (40, columns)).astype("i1")
    bias = random.normal(size=columns).astype("f4")
    scale = np.float32(2e-4)
    constants = {"w": w, "zero": np.uint8(128), "none": np.int8(0), "scale": scale, "bias": bias,
                 "root": np.float32(math.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    steps = [("MatMulInteger", "x w zero none", "s"), ("Cast", "s", "f"), ("Mul", "f scale", "m"), ("Add", "m bias", "v"),
             ("Div", "v root", "d"), ("Erf", "d", "e"), ("Add", "e one", "a"), ("Mul", "v a", "p"), ("Mul", "p half", "y")]
    nodes = [helper.make_node(op, i.split(), [o], **({"to": 1} if op == "Cast" else {})) for op, i, o in steps]
    graph = helper.make_graph(nodes, "gelu", [helper.make_tensor_value_info("x", TensorProto.UINT8, ["N", 40])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", columns])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), f"{folder}/net.onnx")
    subprocess.run([cameo, "compile", "-q", f"{folder}/net.onnx", "-o", f"{folder}/net.c"], check=True)
    for options in (["--cpu", "native"], ["--cpu", "x86-64-v3"], ["--strict-fp"]):
        subprocess.run([cameo, "compile", "-q", *options, f"{folder}/net.onnx", "-o", f"{folder}/net"], check=True)
        for rows in (1, 9, 131):
            x = random.integers(0, 256, (rows, 40)).astype("u1")
            np.save(f"{folder}/x.npy", x)
            v = (x.astype("i4") - 128) @ w.astype("i4") * float(scale) + bias
            for threads in "1", "3":
                subprocess.run([f"{folder}/net", f"{folder}/x.npy", "--threads", threads, "-o", f"{folder}/out"], check=True)
                y = np.load(f"{folder}/out/y.npy")
                assert (np.abs(y - v * normal(v)) <= 4e-7 * (1 + np.abs(v))).all(), (columns, options, rows)
