#!/usr/bin/env python3
"""bits.py CAMEO ROOT [--filter RE] [--models DIR] [--grain N] [--seeds FIRST LAST]: the same bits for any number of threads.

Each model is compiled once and run by 1, 2, 3 and 7 threads, and by one again, on its first data set; every output file
must be the same bytes. With --grain 1 all kernels are divided, however little their work is, and a model of kernels of
every kind comes first; with --seeds random networks do. The models are looked for in $CAMEO_MODELS, then in ../shared/models beside the checkout; where neither exists
the test says so and passes.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_models

THREADS = (1, 2, 3, 7)


def find_models(root):
    for place in (os.environ.get("CAMEO_MODELS"), root.parent / "shared" / "models"):
        if place and pathlib.Path(place).is_dir():
            return pathlib.Path(place)
    return None


def write_kernels(folder, batch):
    """Sizes that no unit divides; `batch` is a name where it is open."""
    rng = np.random.default_rng(5)
    weights, inputs, nodes, outputs = [], [], [], []

    def weight(*dims):
        value = rng.standard_normal(dims).astype(np.float32)
        weights.append(numpy_helper.from_array(value, f"w{len(weights)}"))
        return weights[-1].name

    def given(name, *dims, dtype=TensorProto.FLOAT):
        inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def node(op, *operands, **attributes):
        name = f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, operands, [name], **attributes))
        outputs.append(name)
        return name

    x, a = given("x", batch, 24, 19, 23), given("a", batch, 3, 70, 130)
    b, t, u = given("b", batch, 3, 130, 90), given("t", batch, 600, 40), given("u", batch, 300, 200)
    node("Gelu", x)
    node("Softmax", a, axis=3)
    node("Softmax", a, axis=2)
    node("LayerNormalization", t, weight(40), axis=-1)
    node("Conv", x, weight(24, 1, 3, 3), group=24, pads=[1] * 4)
    node("Conv", x, weight(24, 1, 3, 3), group=24, pads=[3] * 4, dilations=[3, 3])
    node("Conv", x, weight(77, 24, 3, 3), pads=[1] * 4)
    node("Relu", node("Conv", x, weight(77, 24, 3, 3), pads=[1] * 4, strides=[2, 2]))
    node("Relu", node("Conv", x, weight(300, 24, 1, 1), weight(300)))
    node("Conv", x, weight(40, 6, 3, 3), group=4)
    small = given("small", batch, 65, 7, 5)  # rows shorter than vectors: a copy of one writes into the next
    node("Conv", small, weight(97, 65, 3, 3), pads=[1] * 4)
    node("Conv", small, weight(70, 65, 5, 5), pads=[2] * 4)
    node("Conv", small, weight(70, 65, 5, 5), pads=[4, 2, 0, 2])  # the last row is not of the border
    node("Conv", small, weight(70, 65, 3, 3), pads=[1, 1, 0, 1], strides=[2, 2])
    node("Conv", small, weight(70, 65, 1, 1), strides=[2, 2])
    node("Relu", node("Conv", small, weight(12, 65, 3, 3), weight(12), pads=[1] * 4))  # rows with their border between them
    middle = given("middle", batch, 40, 12, 10)  # one block of columns: threads make its panels together
    node("Conv", middle, weight(100, 40, 5, 5), pads=[2] * 4)
    node("Conv", middle, weight(72, 40, 3, 3), pads=[1] * 4, strides=[1, 2])
    node("Relu", node("Conv", middle, weight(260, 40, 1, 1), weight(260)))
    node("Conv", middle, weight(40, 40, 5, 5), pads=[2] * 4)
    node("Conv", middle, weight(14, 40, 3, 3), pads=[1] * 4)
    node("Relu", node("Conv", given("deep", batch, 128, 14, 14), weight(192, 128, 1, 1), weight(192)))  # seven products for eight,
    broad = given("broad", batch, 128, 33, 30)
    node("Conv", broad, weight(192, 128, 1, 1))  # of one block, and of several
    node("Relu", node("Conv", broad, weight(40, 128, 3, 3), weight(40), pads=[1] * 4, strides=[2, 2]))  # several rows of tiles
    plane = given("plane", batch, 80, 26, 26)  # two blocks of tiles whose channels are shared, rows of 7 tiles
    node("Relu", node("Conv", plane, weight(100, 80, 3, 3), weight(100), pads=[1] * 4))
    line = given("line", batch, 64, 4500)  # several blocks of tiles in a line
    node("Relu", node("Conv", line, weight(72, 64, 5), weight(72), pads=[2] * 2))
    node("Conv", line, weight(100, 64, 3), pads=[0, 1])
    inner = len(outputs)  # chains, of which each value is read once
    wide = node("Relu", node("Conv", x, weight(48, 24, 1, 1), weight(48)))
    wide = node("Relu", node("Conv", wide, weight(48, 1, 3, 3), weight(48), group=48, pads=[1] * 4))
    del outputs[inner:]
    node("Add", node("Conv", wide, weight(24, 48, 1, 1), weight(24)), x)
    inner = len(outputs) - 2
    del outputs[inner]
    inner = len(outputs)
    wide = node("Relu", node("Conv", x, weight(24, 1, 5, 5), weight(24), group=24, pads=[2] * 4, strides=[2, 2]))
    del outputs[inner:]
    node("Conv", wide, weight(40, 24, 1, 1), weight(40))
    node("MatMul", a, b)
    node("Add", node("MatMul", t, weight(40, 50)), weight(50))
    node("Gelu", node("MatMul", a, weight(130, 100)))
    node("MatMul", given("tall", 513, 40), weight(40, 100))  # one row more than whole blocks
    node("MatMul", node("ReduceMean", t, "ones", keepdims=1), weight(40, 330))
    node("Transpose", u, perm=[0, 2, 1])
    node("ReduceSum", t, "ones")
    node("ArgMax", t, axis=1)
    node("CumSum", t, "one")
    node("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4)
    node("GlobalAveragePool", x)
    node("Concat", a, a, axis=2)
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "ones"))
    weights.append(numpy_helper.from_array(np.array(1, np.int64), "one"))
    graph = helper.make_graph(nodes, "kernels", inputs, [
        helper.make_tensor_value_info(o, TensorProto.INT64 if o.startswith("argmax") else TensorProto.FLOAT, None)
        for o in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    (folder / "test_data_set_0").mkdir()
    for k, i in enumerate(inputs):
        dims = [d.dim_value or 2 for d in i.type.tensor_type.shape.dim]
        value = numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), i.name)
        (folder / "test_data_set_0" / f"input_{k}.pb").write_bytes(value.SerializeToString())
    return folder


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=900)
    return None if done.returncode == 0 else f"exit {done.returncode}: " + (done.stderr + done.stdout)[-800:]


def compare(cameo, folder, grain, scratch):
    """None, or what is wrong."""
    program = scratch / "program"  # of one name, so that compilers' caches know a model again
    command = [cameo, "compile", folder / "model.onnx", "-o", program]
    command += ["--grain", str(grain)] if grain else []
    why = call(command + (["--winograd", "4", "--no-split"] if folder.name == "winograd" else []))
    data = sorted(folder.glob("test_data_set_*"))
    given = sorted(data[0].glob("input_*.pb"), key=lambda f: int(f.stem.rpartition("_")[2])) if data else ["--random"]
    for n in THREADS:
        why = why or call([program, *given, "-o", scratch / str(n), "--threads", str(n)])
    why = why or call([program, *given, "-o", scratch / "again"])
    for file in sorted((scratch / "1").glob("*")) if not why else []:
        for n in (*THREADS[1:], "again"):
            if (scratch / str(n) / file.name).read_bytes() != file.read_bytes():
                return f"{file.name} of {n} threads differs from that of one" if n in THREADS else f"{file.name} differs in a second run"
    return why


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("root", type=pathlib.Path)
    p.add_argument("--filter", default="")
    p.add_argument("--models", type=pathlib.Path, help="another folder of models")
    p.add_argument("--grain", type=int)
    p.add_argument("--seeds", type=int, nargs=2, help="of random networks, the first and the last")
    options = p.parse_args()
    models = options.models or find_models(options.root.resolve())
    failed = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folders = [m.parent for m in sorted(models.glob("*/model.onnx"))] if models else []
        if options.grain == 1:
            folders = [write_kernels(scratch / "kernels", 2), write_kernels(scratch / "winograd", 2),
                       write_kernels(scratch / "open", "batch"), *folders]
        if options.seeds:
            folders = [random_models.write(scratch / f"random{s}", s)
                       for s in range(options.seeds[0], options.seeds[1] + 1)] + folders
        if not folders:
            print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
            sys.exit(77)
        for folder in folders:
            if not re.search(options.filter, folder.name):
                continue
            (scratch / f"{folder.name}.out").mkdir()
            why = compare(options.cameo, folder, options.grain, scratch / f"{folder.name}.out")
            print(f"{folder.name:24} {why or 'the same bits'}", flush=True)
            failed += why is not None
            count += 1
    print(f"{count} models by {', '.join(map(str, THREADS))} threads: {count - failed} the same bits, {failed} not")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
