#!/usr/bin/env python3
"""memory.py CAMEO: compiling a model with 256 MB of weights takes little more memory than the weights once.

Packed weights are the one copy that has to be there, and for a while one tensor in three forms; the pages of the file,
the blob and the program pass through.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SIZE, LAYERS, ROOM_MB = 2048, 16, 200


def write_model(path):
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    row = np.arange(SIZE, dtype=np.float32) / SIZE
    weights = [numpy_helper.from_array(np.add.outer(row, k - row).astype(np.float32), f"w{k}") for k in range(LAYERS)]
    nodes = [helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]) for k in range(LAYERS)]
    ends = [helper.make_tensor_value_info(n, 1, ["rows", SIZE]) for n in ("x0", f"x{LAYERS}")]
    graph = helper.make_graph(nodes, "wide", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    if sys.argv[1] == "--write":
        return write_model(sys.argv[2])
    cameo = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        model = pathlib.Path(work) / "wide.onnx"
        # In a process of its own: the peak that a process reports begins with that of the one it was forked from.
        subprocess.run([sys.executable, __file__, "--write", model], check=True)
        child = subprocess.Popen([cameo, "compile", model, "-o", f"{work}/wide"])
        _, status, usage = os.wait4(child.pid, 0)
        most, weights = usage.ru_maxrss / 1024, model.stat().st_size / 2**20
        size = os.path.getsize(f"{work}/wide") / 2**20
    print(f"weights {weights:.0f} MB, program {size:.0f} MB, greatest memory of compiling {most:.0f} MB")
    sys.exit(status != 0 or most > weights + ROOM_MB or size < weights)


if __name__ == "__main__":
    main()
