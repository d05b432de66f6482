#!/usr/bin/env python3
"""strict.py CAMEO ROOT [--filter RE] [--seeds FIRST LAST] [--builds RE]: with --strict-fp and --gemm loops the bits are
those of the model, not those of a compiler.

Kernels of every kind, random networks of the given seeds and the real models that the filter names are compiled by gcc
and by clang, for this machine and for plain x86-64-v2, and run on the same input: every output must be the same bytes,
but for the payload of a NaN. Real models are looked for in $CAMEO_MODELS, then in ../shared/models beside the checkout.
"""
import argparse
import pathlib
import platform
import re
import shutil
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import bits
import random_models

BUILDS = {"gcc": ["--cc", "gcc"], "clang": ["--cc", "clang-19"]}
if platform.machine() == "x86_64":
    BUILDS |= {"gcc, x86-64-v2": ["--cc", "gcc", "--cpu", "x86-64-v2"],
               "clang, x86-64-v2": ["--cc", "clang-19", "--cpu", "x86-64-v2"]}


def same(a, b):
    """Of two files of one tensor: are they the same bits, or both NaN?"""
    a, b = a.read_bytes(), b.read_bytes()
    if a == b:
        return True
    x, y = (numpy_helper.to_array(onnx.TensorProto.FromString(f)) for f in (a, b))
    if x.shape != y.shape or x.dtype != y.dtype or x.dtype.kind != "f":
        return False
    return bool(np.all((x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}")) | (np.isnan(x) & np.isnan(y))))


def compare(cameo, folder, builds, scratch):
    """None, or what is wrong."""
    data = sorted(folder.glob("test_data_set_*"))
    given = sorted(data[0].glob("input_*.pb"), key=lambda f: int(f.stem.rpartition("_")[2])) if data else ["--random"]
    program, first = scratch / "program", None
    for name, options in builds.items():
        out = scratch / f"out{len(list(scratch.iterdir()))}"
        why = bits.call([cameo, "compile", "-q", folder / "model.onnx", "-o", program, "--strict-fp", "--gemm", "loops", *options])
        why = why or bits.call([program, *given, "-o", out])
        if why:
            return f"{name}: {why}"
        first = first or (name, out)
        for file in sorted(first[1].iterdir()):
            if not same(file, out / file.name):
                return f"{file.name} of {name} differs from that of {first[0]}"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cameo")
    p.add_argument("root", type=pathlib.Path)
    p.add_argument("--filter", default="kernels|random")
    p.add_argument("--seeds", type=int, nargs=2, default=(1, 2))
    p.add_argument("--builds", default="")
    options = p.parse_args()
    builds = {n: o for n, o in BUILDS.items() if re.search(options.builds, n) and shutil.which(o[1])}
    models, failed, count = bits.find_models(options.root.resolve()), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folders = [bits.write_kernels(scratch / "kernels", 2)]
        folders += [random_models.write(scratch / f"random{s}", s) for s in range(options.seeds[0], options.seeds[1] + 1)]
        folders += [m.parent for m in sorted(models.glob("*/model.onnx"))] if models else []
        for folder in folders:
            if not re.search(options.filter, folder.name):
                continue
            (scratch / f"{folder.name}.out").mkdir()
            why = compare(options.cameo, folder, builds, scratch / f"{folder.name}.out")
            print(f"{folder.name:24} {why or 'the same bits'}", flush=True)
            failed += why is not None
            count += 1
    print(f"{count} models by {'; '.join(builds)}: {count - failed} the same bits, {failed} not")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
