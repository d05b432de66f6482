#!/usr/bin/env python3
"""Writes cases of the operators that draw with the numbers that they have to give: philox.py OUT

The generator is written here a second time, in NumPy (Philox4x32-10, checked against a published answer), so that
interpreter, C and CUDA are held to the same numbers.
"""
import json
import pathlib
import struct
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

WORD = 0xFFFFFFFF
KNOWN = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # of counter 0 and key 0, by the authors' test vectors


def philox(counter, key):
    c, k = [np.asarray(w, np.uint64) for w in counter], list(key)
    low, shift = np.uint64(WORD), np.uint64(32)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> shift) ^ c[1] ^ np.uint64(k[0]), q & low, (p >> shift) ^ c[3] ^ np.uint64(k[1]), p & low]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def words(shape, seed, iteration=0):
    n = int(np.prod(shape))
    key = [seed & WORD, seed >> 32] if isinstance(seed, int) else [*struct.unpack("<I", struct.pack("<f", seed)), 0]
    zero = np.zeros(n, np.uint64)
    counter = [np.arange(n, dtype=np.uint64), zero, zero + np.uint64(iteration), zero]
    return [w.reshape(shape) for w in philox(counter, key)]


def unit(high, low):
    return (((high << np.uint64(32)) | low) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform(w, dtype, low, high):
    if dtype == np.float64:
        return low + (high - low) * unit(w[0], w[1])
    u = (w[0] >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)
    return (np.float32(low) + np.float32(high - low) * u).astype(dtype)


def normal(w, dtype, mean, scale):
    radius = np.sqrt(-2 * np.log(1 - unit(w[0], w[1])))
    return (mean + scale * radius * np.cos(2 * np.pi * unit(w[2], w[3]))).astype(dtype)


def of_shape(op, shape, **attributes):
    node = helper.make_node(op, [], ["y"], **attributes)
    node.attribute.append(helper.make_attribute("shape", list(shape), attr_type=onnx.AttributeProto.INTS))
    return node


def cases():
    """Name, node, inputs, expected outputs."""
    rng = np.random.default_rng(7)
    for d in (np.float32, np.float64, np.float16):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(d))
        for n, shape in enumerate(((2, 3), (7,), (0, 3), ())):
            name, seed = f"{np.dtype(d).name}_{n}", n + 0.5
            w, x = words(shape, seed), np.asarray(rng.random(shape)).astype(d)
            spread, bell = {"low": -1.0, "high": 2.5}, {"mean": 0.5, "scale": 2.0}
            yield "uniform_" + name, of_shape("RandomUniform", shape, seed=seed, dtype=kind, **spread), {}, [
                uniform(w, d, -1, 2.5)]
            yield "normal_" + name, of_shape("RandomNormal", shape, seed=seed, dtype=kind, **bell), {}, [
                normal(w, d, 0.5, 2)]
            yield ("like_" + name, helper.make_node("RandomUniformLike", ["x"], ["y"], seed=seed, **spread), {"x": x},
                   [uniform(w, d, -1, 2.5)])
            yield ("bernoulli_" + name, helper.make_node("Bernoulli", ["x"], ["y"], seed=seed, dtype=6), {"x": x},
                   [(unit(w[0], w[1]) < x).astype(np.int32)])
            w = words(shape, 5 + (9 << 32))
            kept = unit(w[0], w[1]) >= 0.25
            for trains in (False, True):
                node = helper.make_node("Dropout", ["x", "r", "t"], ["y", "m"], seed=5 + (9 << 32))
                given = {"x": x, "r": np.asarray(0.25, np.float32), "t": np.asarray(trains)}
                y = np.where(kept, x.astype(np.float64) / 0.75, 0).astype(d) if trains else x
                yield f"dropout_{name}_{int(trains)}", node, given, [y, kept | (not trains)]
    x = rng.standard_normal((2, 5)).astype(np.float32)
    w = words((2, 9), 3.0)
    sums = np.cumsum(np.exp(x.astype(np.float64) - x.max(1, keepdims=True)), 1)
    drawn = (sums[:, None, :-1] <= (unit(w[0], w[1]) * sums[:, -1:])[:, :, None]).sum(-1)
    yield ("multinomial", helper.make_node("Multinomial", ["x"], ["y"], sample_size=9, seed=3.0, dtype=7), {"x": x},
           [drawn.astype(np.int64)])
    infos = [helper.make_tensor_value_info(*v) for v in (("i", 7, []), ("c", 9, []), ("k", 9, []), ("y", 1, [3]))]
    draw = of_shape("RandomUniform", (3,), seed=1.0)
    body = helper.make_graph([draw, helper.make_node("Identity", ["c"], ["k"])], "body", infos[:2], infos[2:])
    yield ("loop", helper.make_node("Loop", ["n", ""], ["y"], body=body), {"n": np.asarray(4)},
           [np.stack([uniform(words((3,), 1.0, i), np.float32, 0, 1) for i in range(4)])])


def write(out, name, node, given, expected):
    def info(n, a):
        return helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)

    graph = helper.make_graph([node], name, [info(n, a) for n, a in given.items()],
                              [info(n, a) for n, a in zip(node.output, expected)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    data = out / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    for kind, arrays in (("input", given.values()), ("output", expected)):
        for k, array in enumerate(arrays):
            (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    (out / name / "tolerance.json").write_text(json.dumps({"rtol": 1e-3, "atol": 1e-6, "known_draws": True}))
    return {"name": name, "kind": "node"}


def main():
    if [int(w) for w in philox([0] * 4, [0, 0])] != KNOWN:
        sys.exit("the generator is wrong")
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = [write(out, *case) for case in cases()]
    (out / "cases.json").write_text(json.dumps(rows))
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
