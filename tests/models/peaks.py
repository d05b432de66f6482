#!/usr/bin/env python3
"""peaks.py CAMEO ROOT: the memory plan of each real model needs no more than the greatest sum of live bytes.

Sizes are fixed to those of each data set's inputs. Models are found as real.py finds them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

from real import find_models


def shapes_of(model, folder):
    weights = {w.name for w in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in weights]
    for k, name in enumerate(inputs):
        tensor = onnx.TensorProto.FromString((folder / f"input_{k}.pb").read_bytes())
        if tensor.dims:
            yield name, tuple(tensor.dims)


def main():
    cameo, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    models = find_models(root)
    if models is None:
        print("SKIPPED: no real models here; set CAMEO_MODELS to a folder of them")
        sys.exit(77)
    bad = 0
    for path in sorted(models.glob("*/model.onnx")):
        model = onnx.load(path)
        sets = path.parent.glob("test_data_set_*")
        for shapes in sorted({tuple(shapes_of(model, s)) for s in sets}):
            fixed = [a for name, dims in shapes for a in ("--shape", f"{name}={'x'.join(map(str, dims))}")]
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([cameo, "compile", "-v", path, "-o", f"{folder}/net.c", *fixed],
                                      capture_output=True, text=True)
            found = re.search(r"arena (\d+) bytes \(bound (\d+)\)", done.stderr)
            good = found is not None and found[1] == found[2]
            print(f"{path.parent.name} {' '.join(fixed[1::2])}: {found[0] if found else done.stderr.strip()}")
            bad += not good
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
