#!/usr/bin/env python3
"""Stands where nvcc is expected, in tests: FILE.cu becomes an object of emulated kernels instead of a fatbin.

The emulated driver takes such an object as an image, so a program that embeds it runs unchanged. Options for the
device are read and left; CAMEO_EMU_CHECK=1 builds with checks. Prints errors as a compiler does and exits 1.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from build import Tools  # noqa: E402


def main():
    out, source, arguments = None, None, iter(sys.argv[1:])
    for a in arguments:
        if a == "-o":
            out = next(arguments, None)
        elif a.endswith(".cu"):
            source = a
        elif a in ("--version", "-V"):
            print("emulated nvcc: no device code")
            return 0
    if not source:
        print("nvcc: no .cu file", file=sys.stderr)
        return 1
    try:
        Tools().kernels(source, out or pathlib.Path(source).with_suffix(".fatbin"),
                        os.environ.get("CAMEO_EMU_CHECK") == "1")
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
