"""byte_factors.py CAMEO SCRATCH: products of two computed factors of bytes, and of batches of constants, against NumPy."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CAMEO, SCRATCH = sys.argv[1:]
TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
RANDOM = np.random.default_rng(3)


def some(t, *shape):
    return RANDOM.integers(np.iinfo(t).min, np.iinfo(t).max, shape, endpoint=True).astype(t)


def build(name, a, b, turned, zeros, constant):
    """The model's file: dims of computed factors are open."""
    around = [f"B{i}" for i in range(a.ndim - 2)] if not constant else list(b.shape[:-2])
    sizes = [b.shape[-1], b.shape[-2]] if turned else list(b.shape[-2:])
    k, n = sizes if constant else ("K", sizes[1] if zeros[1].ndim else "N")
    inputs = [helper.make_tensor_value_info("a", TYPES[a.dtype.type], [*around, "M", k])]
    weights = [numpy_helper.from_array(z, f"z{i}") for i, z in enumerate(zeros)]
    if constant:
        weights.append(numpy_helper.from_array(b, "b"))
    else:
        inputs.append(helper.make_tensor_value_info("b", TYPES[b.dtype.type], [*around, *((n, k) if turned else (k, n))]))
    order = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
    nodes = [helper.make_node("Transpose", ["b"], ["t"], perm=order)] if turned else []
    nodes.append(helper.make_node("MatMulInteger", ["a", "t" if turned else "b", "z0", "z1"], ["y"]))
    y = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    graph = helper.make_graph(nodes, "net", inputs, [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{SCRATCH}/{name}.onnx")


def check(index, signs, m, k, n, batch, turned, constant, by_column):
    ta, tb = signs
    a, b = some(ta, *batch, m, k), some(tb, *batch, *((n, k) if turned else (k, n)))
    zeros = [np.array(some(ta, 1)[0]), some(tb, n) if by_column else np.array(128 if tb is np.uint8 else 0, tb)]
    build("net", a, b, turned, zeros, constant)
    right = (np.swapaxes(b, -1, -2) if turned else b).astype(np.int64)
    want = ((a.astype(np.int64) - int(zeros[0])) @ (right - zeros[1].astype(np.int64))).astype(np.int32)
    np.savez(f"{SCRATCH}/net.npz", a=a, **({} if constant else {"b": b}))
    subprocess.run([CAMEO, "compile", f"{SCRATCH}/net.onnx", "-o", f"{SCRATCH}/net.c"], check=True)
    with open(f"{SCRATCH}/net.c") as text:
        calls = [line for line in text if line.startswith("    ") and "cameo_bytes_pack(" in line]
    assert calls, (index, "is not packed")
    for options in (["--cpu", "native"], ["--cpu", "x86-64-v2", "--grain", "1", "--threads", "3"]):
        subprocess.run([CAMEO, "compile", "-q", f"{SCRATCH}/net.onnx", "-o", f"{SCRATCH}/net", *options], check=True)
        subprocess.run([f"{SCRATCH}/net", f"{SCRATCH}/net.npz", "-o", f"{SCRATCH}/out"], check=True)
        y = np.load(f"{SCRATCH}/out/y.npy")
        assert np.array_equal(y, want), (index, options, np.argwhere(y != want)[:5])


U, I = np.uint8, np.int8
check(0, (U, I), 9, 64, 32, (3,), False, False, False)
check(1, (I, U), 130, 37, 101, (2,), True, False, True)
check(2, (U, U), 5, 70, 49, (), False, False, True)
check(3, (I, I), 17, 66, 97, (2, 2), True, True, False)
check(4, (U, I), 40, 19, 48, (3,), False, True, True)
