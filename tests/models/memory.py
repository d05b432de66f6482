#!/usr/bin/env python3
"""memory.py CAMEO: compiling a model with 256 MB of weights, in its file or beside it, takes little more memory than the
weights once, and the weights lie in the program and in memory at the same place of a huge page, so that the system can map
such pages.

Packed weights are the one copy that has to be there, and for a while one tensor in three forms; the pages of the file,
the blob and the program pass through.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SIZE, LAYERS, ROOM_MB, HUGE_PAGE = 2048, 16, 200, 1 << 21


def write_model(path, beside):
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    row = np.arange(SIZE, dtype=np.float32) / SIZE
    weights = [numpy_helper.from_array(np.add.outer(row, k - row).astype(np.float32), f"w{k}") for k in range(LAYERS)]
    nodes = [helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]) for k in range(LAYERS)]
    ends = [helper.make_tensor_value_info(n, 1, ["rows", SIZE]) for n in ("x0", f"x{LAYERS}")]
    graph = helper.make_graph(nodes, "wide", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path,
              save_as_external_data=beside, location="weights")


def misplaced(program):
    """What is wrong with the segment of the weights, the largest one of an ELF file of 64 bits."""
    with open(program, "rb") as file:
        head = file.read(4096)
    at, = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", head, at + k * size) for k in range(count)]
    _, flags, offset, address, _, length, _, align = max((s for s in segments if s[0] == 1), key=lambda s: s[5])
    if flags != 4 or offset + length != program.stat().st_size:
        return "it is not read alone, or does not end the program"
    return "" if align == HUGE_PAGE and offset % align == address % align else "it does not fit huge pages"


def fits(cameo, beside):
    with tempfile.TemporaryDirectory() as work:
        model = pathlib.Path(work) / "wide.onnx"
        # In a process of its own: the peak that a process reports begins with that of the one it was forked from.
        subprocess.run([sys.executable, __file__, "--write", model, *(["beside"] if beside else [])], check=True)
        weights = sum(path.stat().st_size for path in model.parent.iterdir()) / 2**20
        child = subprocess.Popen([cameo, "compile", model, "-o", f"{work}/wide"])
        _, status, usage = os.wait4(child.pid, 0)
        most = usage.ru_maxrss / 1024
        size = os.path.getsize(f"{work}/wide") / 2**20
        wrong = misplaced(pathlib.Path(work) / "wide")
    print(f"weights {weights:.0f} MB{' beside the file' if beside else ''}, program {size:.0f} MB, "
          f"greatest memory of compiling {most:.0f} MB")
    if wrong:
        print(f"the segment of the weights: {wrong}")
    return not wrong and status == 0 and most <= weights + ROOM_MB and size >= weights


def main():
    if sys.argv[1] == "--write":
        return write_model(sys.argv[2], len(sys.argv) > 3)
    cameo = pathlib.Path(sys.argv[1]).resolve()
    sys.exit(not all([fits(cameo, beside) for beside in (False, True)]))


if __name__ == "__main__":
    main()
